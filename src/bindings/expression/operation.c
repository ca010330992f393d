/* One operation: its rules in Lua, and its kernels, which are kept by key; see expression.h. */
#include "bindings/device/device_bind.h"
#include "bindings/expression/expression.h"
#include "bindings/kernel/kernel_bind.h"

/* Its address is the registry key of the table {result =, kernel =} of roc/arrays/elementwise.lua. */
static const char rules_key;

/* ---- the state ------------------------------------------------------------------------------- */

/* Its address is the registry key of the state's userdata. */
static const char state_key;

roc_expression_state *roc_expression_state_of(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &state_key);
  roc_expression_state *state = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return state;
}

void roc_expression_open_state(lua_State *L, bool is_off, lua_CFunction at_close) {
  roc_expression_state *state = lua_newuserdatauv(L, sizeof *state, 0);
  *state =
      (roc_expression_state){.is_off = is_off, .session = roc_session(L), .at_close = at_close};
  lua_rawsetp(L, LUA_REGISTRYINDEX, &state_key);
}

void roc_expression_guard(lua_State *L) {
  const roc_expression_state *state = roc_expression_state_of(L);
  lua_newuserdatauv(L, 0, 0);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, state->at_close);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, state);
}

bool roc_expression_is_newest_guard(lua_State *L, int idx) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, roc_expression_state_of(L));
  bool is_newest = lua_rawequal(L, idx, -1);
  lua_pop(L, 1);
  return is_newest;
}

/* ---- rules ----------------------------------------------------------------------------------- */

void roc_expression_push_kind(lua_State *L, uint8_t kind) {
  static const char *const names[] = {"integer", "float", "boolean"};
  if (kind < ROC_DT_COUNT_) {
    roc_push_dtype(L, (roc_dtype)kind);
  } else {
    lua_pushstring(L, names[kind - ROC_KIND_INTEGER]);
  }
}

void roc_expression_push_kinds(lua_State *L, const roc_expression_call *c) {
  lua_createtable(L, ROC_EXPRESSION_MAX_OPERANDS, 0);
  for (uint32_t i = 0; i < c->op->noperands; i++) {
    roc_expression_push_kind(L, c->kinds[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Pushes a function of the rules; false, and pushes nothing, before they are loaded. */
bool roc_expression_push_rule(lua_State *L, const char *name) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &rules_key) != LUA_TTABLE) {
    lua_pop(L, 1);
    return false;
  }
  lua_getfield(L, -1, name);
  lua_remove(L, -2);
  return true;
}

/* core.set_elementwise_rules{result = of a name and kinds, kernel = of them and loops} */
int roc_expression_set_rules(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &rules_key);
  return 0;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* Pushes what tells kernels of the operation apart. */
static void push_key(lua_State *L, const roc_expression_call *c, const roc_loops *loops,
                     bool has_one_row) {
  unsigned char key[ROC_EXPRESSION_MAX_OPERANDS + ROC_LOOPS_MAX_ARRAYS + 2];
  size_t n = 0;
  for (uint32_t i = 0; i < c->op->noperands; i++) key[n++] = c->kinds[i];
  for (uint32_t i = 0; i < loops->narrays; i++) key[n++] = loops->walks[i];
  key[n++] = (unsigned char)loops->count;
  key[n++] = (unsigned char)(has_one_row | c->is_square << 1);
  lua_pushlstring(L, (const char *)key, n);
}

/* Pushes the kernel; the result's dtype follows from the kinds. */
static void push_kernel(lua_State *L, const roc_expression_call *c, const roc_loops *loops,
                        roc_dtype dtype, bool has_one_row) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, c->op);
  lua_getiuservalue(L, -1, ROC_OPERATION_UV_KERNELS);
  lua_remove(L, -2);
  push_key(L, c, loops, has_one_row);
  lua_pushvalue(L, -1);
  if (lua_rawget(L, -3) == LUA_TNIL) {
    lua_pop(L, 1);
    roc_expression_push_rule(L, "kernel");
    lua_pushstring(L, c->op->name);
    lua_pushboolean(L, c->is_square);
    roc_expression_push_kinds(L, c);
    roc_push_dtype(L, dtype);
    roc_loops_push(L, loops);
    lua_call(L, 6, 1);
    roc_expression_guard(L);
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -2);
    lua_rawset(L, -5);
  }
  lua_insert(L, -3);
  lua_pop(L, 2);
}

/* Launches the kernel on top of the stack. */
static void launch(lua_State *L, const roc_expression_call *c, roc_rt_device *device,
                   roc_rt_stream *stream, const roc_loops *loops, const roc_ndrange *range,
                   int64_t rows) {
  roc_kernel_operand operands[ROC_LOOPS_MAX_ARRAYS + 1];
  uint32_t n = 0, array = 1;
  for (uint32_t i = 0; i < c->op->noperands; i++) {
    if (c->arrays[i]) {
      operands[n++] = roc_loops_operand(loops, array++);
    } else {
      operands[n++] = (roc_kernel_operand){.scalar = c->scalars[i]};
    }
  }
  operands[n++] = roc_loops_operand(loops, 0);
  if (loops->count > 1) {
    operands[n++] = (roc_kernel_operand){.scalar = {.type = ROC_VT_INT, .as.i = rows}};
  }
  roc_kernel_launch_operands(L, lua_gettop(L), device, stream, range, c->place, operands, n, false);
}

bool roc_expression_run(lua_State *L, const roc_expression_call *c, roc_rt_device *device,
                        roc_rt_stream *stream, roc_loops *loops) {
  uint64_t before = roc_expression_changes();
  roc_ndrange range;
  int64_t rows;
  const roc_array *result = loops->arrays[0];
  roc_loops_plan(loops, roc_loops_is_reversed(result));
  bool has_one_row = roc_loops_range(loops, &range, &rows);
  push_kernel(L, c, loops, result->dtype, has_one_row);
  if (c->is_expression && roc_expression_changes() != before) return false;
  launch(L, c, device, stream, loops, &range, rows);
  if (c->key != 0) roc_expression_note_code(L, c->op, c->key);
  return true;
}

bool roc_expression_run_one(lua_State *L, const roc_expression *e, roc_rt_stream *stream) {
  roc_expression_call c = {
      .op = e->op, .is_square = e->is_square, .is_expression = true, .place = e->place};
  roc_loops loops;
  loops.narrays = 1;
  loops.arrays[0] = &e->result;
  for (uint32_t i = 0; i < e->noperands; i++) {
    const roc_expression_operand *o = &e->operands[i];
    c.kinds[i] = o->kind;
    c.scalars[i] = o->scalar;
    if (!o->array.buffer) continue;
    c.arrays[i] = &o->array;
    loops.arrays[loops.narrays++] = &o->array;
  }
  bool is_host = !stream && !e->place.file;
  if (is_host && roc_expression_run_at_once(&c, &e->result, &c.key)) return true;
  return roc_expression_run(L, &c, roc_open_device_at(L, e->device), stream, &loops);
}
