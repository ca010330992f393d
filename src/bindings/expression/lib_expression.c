/* Element-wise operations on arrays: the path of an operation that has been made before.
 *
 * What an operation is, its rules of dtypes and its kernels' text, is in lua/roc/arrays.  Here the
 * operands are read, broadcast and given to a kernel that is kept by operation, kinds of operands
 * and loops, never by extents or numbers.  What is not plain (operands that are none, errors of
 * shape or dtype, smart arrays, host arrays beside device arrays, sim) goes to the Lua function
 * that knows all of it. */
#include <string.h>

#include "bindings/device/device_bind.h"
#include "bindings/expression/loops.h"
#include "bindings/kernel/kernel_bind.h"

enum { MAX_OPERANDS = ROC_LOOPS_MAX_ARRAYS - 1 };

/* What an operand is: a dtype, or a plain value. */
enum { KIND_INTEGER = ROC_DT_COUNT_, KIND_FLOAT, KIND_BOOLEAN, KIND_COUNT };

/* Results of kinds that are no dtype. */
enum { RESULT_UNKNOWN = -1, RESULT_REFUSED = -2 };

enum { OPERATION_UV_KERNELS = 1, OPERATION_UV_COUNT = OPERATION_UV_KERNELS };

/* A userdata; its uservalue has the kernels by key. */
typedef struct operation {
  uint32_t noperands;
  bool is_method;   /* the first operand must be an array */
  bool has_square;  /* a second operand that is a plain 2 makes it another operation */
  int8_t results[]; /* by kinds: a dtype, or as above */
} operation;

/* Upvalues of an operation's function. */
enum { UP_OPERATION = 1, UP_NAME, UP_GENERAL, UP_COUNT = UP_GENERAL };

/* Its address is the registry key of the table {result =, kernel =} of roc/arrays/elementwise.lua. */
static const char rules_key;

typedef struct call {
  operation *op;
  const roc_array *arrays[MAX_OPERANDS]; /* NULL: a number; in userdata on the stack */
  roc_scalar scalars[MAX_OPERANDS];
  uint8_t kinds[MAX_OPERANDS];
  bool is_square;
  roc_rt_device *owner; /* of device arrays; NULL: host arrays */
} call;

/* ---- operands -------------------------------------------------------------------------------- */

static uint8_t kind_of(roc_scalar value) {
  if (value.type == ROC_VT_BOOL) return KIND_BOOLEAN;
  return value.type == ROC_VT_INT ? KIND_INTEGER : KIND_FLOAT;
}

static bool is_two(roc_scalar value) {
  return (value.type == ROC_VT_INT && value.as.i == 2) ||
         (value.type == ROC_VT_F64 && value.as.f == 2);
}

static bool read_operand(lua_State *L, call *c, uint32_t i) {
  const roc_array_box *box = roc_test_array_box(L, (int)i + 1);
  if (box) {
    if (!box->array.buffer || box->cls == &roc_smart_array_class) return false;
    c->arrays[i] = &box->array;
    c->kinds[i] = (uint8_t)box->array.dtype;
    return true;
  }
  if (!roc_test_scalar(L, (int)i + 1, &c->scalars[i])) return false;
  c->kinds[i] = kind_of(c->scalars[i]);
  return true;
}

/* All arrays on the host, or all on one device; one at least. */
static bool find_owner(call *c) {
  bool has_array = false;
  for (uint32_t i = 0; i < c->op->noperands; i++) {
    if (!c->arrays[i]) continue;
    roc_rt_device *owner = roc_buffer_device(c->arrays[i]->buffer);
    if (has_array && owner != c->owner) return false;
    c->owner = owner;
    has_array = true;
  }
  return has_array;
}

static bool read_operands(lua_State *L, call *c) {
  if (lua_gettop(L) < (int)c->op->noperands) return false;
  for (uint32_t i = 0; i < c->op->noperands; i++) {
    if (!read_operand(L, c, i)) return false;
  }
  if (c->op->is_method && !c->arrays[0]) return false;
  c->is_square = c->op->has_square && !c->arrays[1] && is_two(c->scalars[1]);
  return find_owner(c);
}

/* Host arrays are computed on cpu.  NULL: it is for the general function to say where. */
static roc_rt_device *find_device(lua_State *L, const call *c) {
  roc_rt_device *device = c->owner ? c->owner : roc_current_device(L);
  const roc_device *driver = roc_rt_device_driver(device);
  if (driver->props.runs_in_lua) return NULL;
  if (c->owner || strcmp(driver->kind, "cpu") == 0) return device;
  uint32_t index;
  roc_error err;
  return roc_rt_device_find("cpu", &index, &err) == ROC_OK ? roc_open_device_at(L, index) : NULL;
}

/* ---- dtypes ---------------------------------------------------------------------------------- */

static void push_kind(lua_State *L, uint8_t kind) {
  static const char *const names[] = {"integer", "float", "boolean"};
  if (kind < ROC_DT_COUNT_) {
    roc_push_dtype(L, (roc_dtype)kind);
  } else {
    lua_pushstring(L, names[kind - KIND_INTEGER]);
  }
}

static void push_kinds(lua_State *L, const call *c) {
  lua_createtable(L, MAX_OPERANDS, 0);
  for (uint32_t i = 0; i < c->op->noperands; i++) {
    push_kind(L, c->kinds[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Pushes a function of the rules; false, and pushes nothing, before they are loaded. */
static bool push_rule(lua_State *L, const char *name) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &rules_key) != LUA_TTABLE) {
    lua_pop(L, 1);
    return false;
  }
  lua_getfield(L, -1, name);
  lua_remove(L, -2);
  return true;
}

static int8_t *result_of(const call *c) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < c->op->noperands; i++) at = at * KIND_COUNT + c->kinds[i];
  return &c->op->results[at];
}

/* False: the general function says what is wrong. */
static bool find_result(lua_State *L, const call *c, roc_dtype *out) {
  int8_t *result = result_of(c);
  if (*result == RESULT_UNKNOWN) {
    if (!push_rule(L, "result")) return false;
    lua_pushvalue(L, lua_upvalueindex(UP_NAME));
    push_kinds(L, c);
    lua_call(L, 2, 1);
    roc_dtype dtype;
    *result = roc_test_dtype(L, -1, &dtype) ? (int8_t)dtype : RESULT_REFUSED;
    lua_pop(L, 1);
  }
  if (*result == RESULT_REFUSED) return false;
  *out = (roc_dtype)*result;
  return true;
}

/* ---- the result ------------------------------------------------------------------------------ */

/* In Fortran order when all operands are, and not all of them in C order, too. */
static roc_order order_of(const roc_array *const *arrays, uint32_t n, uint32_t rank) {
  bool is_f_alone = false;
  for (uint32_t i = 0; i < n; i++) {
    if (!roc_array_is_f_contiguous(arrays[i])) return ROC_ORDER_C;
    is_f_alone |= arrays[i]->rank == rank && !roc_array_is_c_contiguous(arrays[i]);
  }
  return is_f_alone ? ROC_ORDER_F : ROC_ORDER_C;
}

/* Fills the loops' arrays, the result among them, which is pushed; NULL: the shapes do not
 * broadcast. */
static const roc_array *push_result(lua_State *L, const call *c, roc_dtype dtype,
                                    roc_loops *loops) {
  uint32_t rank;
  int64_t extents[ROC_ARRAY_MAX_RANK];
  const roc_array *const *operands = loops->arrays + 1;
  uint32_t n = 0;
  for (uint32_t i = 0; i < c->op->noperands; i++) {
    if (c->arrays[i]) loops->arrays[++n] = c->arrays[i];
  }
  if (!roc_loops_broadcast(operands, n, &rank, extents)) return NULL;
  roc_order order = order_of(operands, n, rank);
  const roc_array *result = c->owner
                                ? roc_new_device_array(L, c->owner, dtype, rank, extents, order)
                                : roc_new_host_array(L, dtype, rank, extents, order, false);
  loops->arrays[0] = result;
  loops->narrays = n + 1;
  return result;
}

static bool is_reversed(const roc_array *result) {
  return result->rank > 1 && roc_array_is_f_contiguous(result) &&
         !roc_array_is_c_contiguous(result);
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void push_loops(lua_State *L, const roc_loops *loops) {
  lua_createtable(L, (int)loops->count, 0);
  for (uint32_t l = 0; l < loops->count; l++) {
    lua_pushinteger(L, loops->extents[l]);
    lua_rawseti(L, -2, (lua_Integer)l + 1);
  }
}

/* A list for each array, the result's last: whether it moves along each loop. */
static void push_walks(lua_State *L, const roc_loops *loops) {
  lua_createtable(L, (int)loops->narrays, 0);
  for (uint32_t i = 0; i < loops->narrays; i++) {
    uint32_t array = (i + 1) % loops->narrays;
    lua_createtable(L, (int)loops->count, 0);
    for (uint32_t l = 0; l < loops->count; l++) {
      lua_pushboolean(L, loops->walks[array] >> l & 1);
      lua_rawseti(L, -2, (lua_Integer)l + 1);
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Pushes what tells kernels of the operation apart. */
static void push_key(lua_State *L, const call *c, const roc_loops *loops, bool has_one_row) {
  unsigned char key[MAX_OPERANDS + ROC_LOOPS_MAX_ARRAYS + 2];
  size_t n = 0;
  for (uint32_t i = 0; i < c->op->noperands; i++) key[n++] = c->kinds[i];
  for (uint32_t i = 0; i < loops->narrays; i++) key[n++] = loops->walks[i];
  key[n++] = (unsigned char)loops->count;
  key[n++] = (unsigned char)(has_one_row | c->is_square << 1);
  lua_pushlstring(L, (const char *)key, n);
}

/* Pushes the kernel; the result's dtype follows from the kinds. */
static void push_kernel(lua_State *L, const call *c, const roc_loops *loops, roc_dtype dtype,
                        bool has_one_row) {
  lua_getiuservalue(L, lua_upvalueindex(UP_OPERATION), OPERATION_UV_KERNELS);
  push_key(L, c, loops, has_one_row);
  lua_pushvalue(L, -1);
  if (lua_rawget(L, -3) == LUA_TNIL) {
    lua_pop(L, 1);
    push_rule(L, "kernel");
    lua_pushvalue(L, lua_upvalueindex(UP_NAME));
    lua_pushboolean(L, c->is_square);
    push_kinds(L, c);
    roc_push_dtype(L, dtype);
    push_loops(L, loops);
    push_walks(L, loops);
    lua_call(L, 6, 1);
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -2);
    lua_rawset(L, -5);
  }
  lua_insert(L, -3);
  lua_pop(L, 2);
}

static roc_kernel_operand array_operand(const roc_loops *loops, uint32_t i) {
  return (roc_kernel_operand){
      .source = loops->arrays[i], .view = loops->views[i], .is_result = i == 0};
}

/* Launches the kernel on top of the stack. */
static void launch(lua_State *L, const call *c, roc_rt_device *device, const roc_loops *loops,
                   const roc_ndrange *range, int64_t rows) {
  roc_kernel_operand operands[ROC_LOOPS_MAX_ARRAYS + 1];
  uint32_t n = 0, array = 1;
  for (uint32_t i = 0; i < c->op->noperands; i++) {
    if (c->arrays[i]) {
      operands[n++] = array_operand(loops, array++);
    } else {
      operands[n++] = (roc_kernel_operand){.scalar = c->scalars[i]};
    }
  }
  operands[n++] = array_operand(loops, 0);
  if (loops->count > 1) {
    operands[n++] = (roc_kernel_operand){.scalar = {.type = ROC_VT_INT, .as.i = rows}};
  }
  roc_kernel_launch_operands(L, lua_gettop(L), device, range, operands, n);
}

/* ---- the function ---------------------------------------------------------------------------- */

static int call_general(lua_State *L, int top) {
  lua_settop(L, top);
  lua_pushvalue(L, lua_upvalueindex(UP_GENERAL));
  lua_insert(L, 1);
  lua_call(L, top, 1);
  return 1;
}

static int call_operation(lua_State *L) {
  call c = {.op = lua_touserdata(L, lua_upvalueindex(UP_OPERATION))};
  roc_loops loops;
  roc_dtype dtype;
  int top = lua_gettop(L);
  if (!read_operands(L, &c)) return call_general(L, top);
  roc_rt_device *device = find_device(L, &c);
  if (!device || !find_result(L, &c, &dtype)) return call_general(L, top);
  const roc_array *result = push_result(L, &c, dtype, &loops);
  if (!result) return call_general(L, top);
  if (roc_array_size(result) == 0) return 1;
  int at = lua_gettop(L);
  roc_ndrange range;
  int64_t rows;
  roc_loops_plan(&loops, is_reversed(result));
  bool has_one_row = roc_loops_range(&loops, &range, &rows);
  push_kernel(L, &c, &loops, dtype, has_one_row);
  launch(L, &c, device, &loops, &range, rows);
  lua_settop(L, at);
  return 1;
}

static bool get_flag(lua_State *L, int table, const char *name) {
  lua_getfield(L, table, name);
  bool flag = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return flag;
}

/* core.elementwise(name, {operands =, method =, square =}, general): the operation as a function,
 * which calls `general` with its arguments where they are not plain. */
static int expression_elementwise(lua_State *L) {
  luaL_checktype(L, 1, LUA_TSTRING);
  luaL_checktype(L, 2, LUA_TTABLE);
  luaL_checktype(L, 3, LUA_TFUNCTION);
  lua_settop(L, 3);
  lua_getfield(L, 2, "operands");
  lua_Integer n = luaL_checkinteger(L, -1);
  luaL_argcheck(L, n >= 1 && n <= MAX_OPERANDS, 2, "1 to 3 operands expected");
  size_t nresults = 1;
  for (lua_Integer i = 0; i < n; i++) nresults *= KIND_COUNT;
  operation *op = lua_newuserdatauv(L, sizeof *op + nresults, OPERATION_UV_COUNT);
  *op = (operation){.noperands = (uint32_t)n,
                    .is_method = get_flag(L, 2, "method"),
                    .has_square = get_flag(L, 2, "square")};
  memset(op->results, RESULT_UNKNOWN, nresults);
  lua_newtable(L);
  lua_setiuservalue(L, -2, OPERATION_UV_KERNELS);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 3);
  lua_pushcclosure(L, call_operation, UP_COUNT);
  return 1;
}

/* core.set_elementwise_rules{result = of a name and kinds, kernel = of them and loops} */
static int expression_set_rules(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &rules_key);
  return 0;
}

static const luaL_Reg functions[] = {{"elementwise", expression_elementwise},
                                     {"set_elementwise_rules", expression_set_rules},
                                     {NULL, NULL}};

void roc_open_expression(lua_State *L) {
  luaL_setfuncs(L, functions, 0);
}
