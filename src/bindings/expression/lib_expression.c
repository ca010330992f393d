/* Element-wise operations on arrays: the path of an operation that has been made before.
 *
 * What an operation is, its rules of dtypes and its kernels' text, is in lua/roc/arrays.  Here the
 * operands are read, broadcast and given to a kernel that is kept by operation, kinds of operands
 * and loops, never by extents or numbers.  What is not plain (operands that are none, errors of
 * shape or dtype, smart arrays, host arrays beside device arrays, sim) goes to the Lua function
 * that knows all of it. */
#include <pthread.h>
#include <string.h>

#include "base/env.h"
#include "bindings/device/device_bind.h"
#include "bindings/expression/expression.h"
#include "bindings/expression/loops.h"
#include "bindings/kernel/kernel_bind.h"

enum { MAX_OPERANDS = ROC_EXPRESSION_MAX_OPERANDS };

/* Results of kinds that are no dtype. */
enum { RESULT_UNKNOWN = -1, RESULT_REFUSED = -2 };

/* Upvalues of an operation's function. */
enum { UP_OPERATION = 1, UP_GENERAL, UP_COUNT = UP_GENERAL };

/* The call, and where its arrays are. */
typedef struct call {
  roc_expression_call plain;
  roc_rt_device *owner; /* of device arrays; NULL: host arrays */
} call;

/* ---- operands -------------------------------------------------------------------------------- */

static uint8_t kind_of(roc_scalar value) {
  if (value.type == ROC_VT_BOOL) return ROC_KIND_BOOLEAN;
  return value.type == ROC_VT_INT ? ROC_KIND_INTEGER : ROC_KIND_FLOAT;
}

static bool is_two(roc_scalar value) {
  return (value.type == ROC_VT_INT && value.as.i == 2) ||
         (value.type == ROC_VT_F64 && value.as.f == 2);
}

static bool read_operand(lua_State *L, call *c, uint32_t i) {
  const roc_array_box *box = roc_test_array_box(L, (int)i + 1);
  if (box) {
    if (!box->array.buffer || box->cls == &roc_smart_array_class) return false;
    c->plain.arrays[i] = &box->array;
    c->plain.kinds[i] = (uint8_t)box->array.dtype;
    return true;
  }
  if (!roc_test_scalar(L, (int)i + 1, &c->plain.scalars[i])) return false;
  c->plain.kinds[i] = kind_of(c->plain.scalars[i]);
  return true;
}

/* All arrays on the host, or all on one device; one at least. */
static bool find_owner(call *c) {
  bool has_array = false;
  for (uint32_t i = 0; i < c->plain.op->noperands; i++) {
    if (!c->plain.arrays[i]) continue;
    roc_rt_device *owner = roc_buffer_device(c->plain.arrays[i]->buffer);
    if (has_array && owner != c->owner) return false;
    c->owner = owner;
    has_array = true;
  }
  return has_array;
}

static bool read_operands(lua_State *L, call *c) {
  if (lua_gettop(L) < (int)c->plain.op->noperands) return false;
  for (uint32_t i = 0; i < c->plain.op->noperands; i++) {
    if (!read_operand(L, c, i)) return false;
  }
  if (c->plain.op->is_method && !c->plain.arrays[0]) return false;
  c->plain.is_square =
      c->plain.op->has_square && !c->plain.arrays[1] && is_two(c->plain.scalars[1]);
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

static int8_t *result_of(const call *c) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < c->plain.op->noperands; i++)
    at = at * ROC_KIND_COUNT + c->plain.kinds[i];
  return &c->plain.op->results[at];
}

/* False: the general function says what is wrong. */
static bool find_result(lua_State *L, const call *c, roc_dtype *out) {
  int8_t *result = result_of(c);
  if (*result == RESULT_UNKNOWN) {
    if (!roc_expression_push_rule(L, "result")) return false;
    lua_pushstring(L, c->plain.op->name);
    roc_expression_push_kinds(L, &c->plain);
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

static bool divides_integers(const call *c, roc_dtype dtype) {
  return c->plain.op->is_division && roc_dtype_table[dtype].kind != 'f';
}

/* Whether an operand is a reduction that is pending: what is computed of it is worth waiting for,
 * however small. */
static bool awaits_reduction(const call *c) {
  for (uint32_t i = 0; i < c->plain.op->noperands; i++) {
    const roc_array *a = c->plain.arrays[i];
    const roc_expression *inner = a ? roc_expression_of(a) : NULL;
    if (inner && inner->has_reduction) return true;
  }
  return false;
}

/* Whether the operation may be computed later: not integers over a plain 0, which fail at once. */
static bool can_wait(const call *c, roc_dtype dtype, uint32_t rank, const int64_t *extents) {
  int64_t size = 1;
  for (uint32_t k = 0; k < rank; k++) {
    if (__builtin_mul_overflow(size, extents[k], &size)) return false;
  }
  bool is_worth = size >= roc_expression_least() || awaits_reduction(c);
  if (c->plain.op->state->is_off || !is_worth) return false;
  return !divides_integers(c, dtype) || c->plain.arrays[1] || c->plain.scalars[1].as.i != 0;
}

static roc_array *push_memory(lua_State *L, const call *c, roc_dtype dtype, uint32_t rank,
                              const int64_t *extents, roc_order order) {
  return c->owner ? roc_new_device_array(L, c->owner, dtype, rank, extents, order)
                  : roc_new_host_array(L, dtype, rank, extents, order, false);
}

/* Fills the loops' arrays, the result among them, which is pushed, without memory if it may be
 * computed later; NULL: the shapes do not broadcast. */
static roc_array *push_result(lua_State *L, const call *c, roc_dtype dtype, roc_loops *loops,
                              bool *out_can_wait) {
  uint32_t rank;
  int64_t extents[ROC_ARRAY_MAX_RANK];
  const roc_array *const *operands = loops->arrays + 1;
  uint32_t n = 0;
  for (uint32_t i = 0; i < c->plain.op->noperands; i++) {
    if (c->plain.arrays[i]) loops->arrays[++n] = c->plain.arrays[i];
  }
  if (!roc_loops_broadcast(operands, n, &rank, extents)) return NULL;
  roc_order order = order_of(operands, n, rank);
  *out_can_wait = can_wait(c, dtype, rank, extents);
  roc_array *result = *out_can_wait ? roc_new_later_array(L, c->owner, dtype, rank, extents, order)
                                    : push_memory(L, c, dtype, rank, extents, order);
  loops->arrays[0] = result;
  loops->narrays = n + 1;
  return result;
}

/* ---- the function ---------------------------------------------------------------------------- */

static int call_general(lua_State *L, int top) {
  lua_settop(L, top);
  lua_pushvalue(L, lua_upvalueindex(UP_GENERAL));
  lua_insert(L, 1);
  lua_call(L, top, 1);
  return 1;
}

/* A finalizer may have closed one: making the result tells the collector of its memory. */
static void check_open(lua_State *L, const call *c) {
  for (uint32_t i = 0; i < c->plain.op->noperands; i++) {
    if (c->plain.arrays[i] && !c->plain.arrays[i]->buffer) {
      luaL_error(L, "an array was closed while it was computed with");
    }
  }
}

/* Operands that are pending become memory: `all`, or views of what is pending. */
static void evaluate_operands(lua_State *L, const call *c, bool all) {
  for (uint32_t i = 0; i < c->plain.op->noperands; i++) {
    const roc_array *a = c->plain.arrays[i];
    if (!a || !roc_buffer_pending(a->buffer)) continue;
    roc_rt_stream *stream = c->owner ? roc_default_stream(L, c->owner) : NULL;
    if (all || !roc_expression_of(a)) roc_expression_evaluate(L, a->buffer, stream);
    check_open(L, c); /* what has been printed meanwhile may run Lua code */
  }
}

/* The operands that are views of what is pending become expressions of their own, which stay on the
 * stack, where they can; but for those that broadcast, which would be computed again and again. */
static void view_operands(lua_State *L, call *c, int64_t result_size) {
  luaL_checkstack(L, MAX_OPERANDS + 4, NULL);
  const roc_array *given[MAX_OPERANDS];
  memcpy(given, c->plain.arrays, sizeof given);
  for (uint32_t i = 0; i < c->plain.op->noperands; i++) {
    const roc_array *a = given[i];
    if (!a || !roc_buffer_pending(a->buffer) || roc_expression_of(a)) continue;
    if (roc_array_size(a) != result_size) continue;
    uint32_t same = 0;
    while (given[same] != a) same++;
    const roc_array *view = same < i ? c->plain.arrays[same] : roc_expression_push_view(L, a);
    if (view) c->plain.arrays[i] = view;
  }
}

/* Fills the operands of an expression; false when one may not be read later. */
static bool take_operands(const call *c, roc_expression_operand *operands, size_t *out_bytes) {
  *out_bytes = 0;
  for (uint32_t i = 0; i < c->plain.op->noperands; i++) {
    const roc_array *a = c->plain.arrays[i];
    operands[i] =
        (roc_expression_operand){.scalar = c->plain.scalars[i], .kind = c->plain.kinds[i]};
    if (!a) continue;
    if (!roc_expression_takes(a)) return false;
    operands[i].array = *a;
    *out_bytes += roc_buffer_nbytes(a->buffer);
  }
  return true;
}

/* Makes the result pending; false: the operation is to be computed at once. */
static bool begin(lua_State *L, call c, roc_rt_device *device, const roc_array *result) {
  roc_expression_operand operands[MAX_OPERANDS];
  size_t nbytes;
  view_operands(L, &c, roc_array_size(result));
  evaluate_operands(L, &c, false);
  if (!take_operands(&c, operands, &nbytes)) return false;
  if (!roc_expression_fits(c.plain.op, operands)) {
    evaluate_operands(L, &c, true);
    if (!take_operands(&c, operands, &nbytes)) return false;
  }
  if (c.plain.arrays[1] && divides_integers(&c, result->dtype)) {
    c.plain.place.file = roc_launch_place(L, &c.plain.place.line);
  }
  uint32_t index = roc_rt_device_index(device);
  if (!roc_expression_begin(&c.plain, index, result, operands)) return false;
  roc_expression_limit(L, c.plain.op->state, nbytes);
  return true;
}

static int call_operation(lua_State *L) {
  call c = {.plain.op = lua_touserdata(L, lua_upvalueindex(UP_OPERATION))};
  roc_loops loops;
  roc_dtype dtype;
  int top = lua_gettop(L);
  if (!read_operands(L, &c)) return call_general(L, top);
  roc_rt_device *device = find_device(L, &c);
  if (!device || !find_result(L, &c, &dtype)) return call_general(L, top);
  bool may_wait;
  roc_array *result = push_result(L, &c, dtype, &loops, &may_wait);
  if (!result) return call_general(L, top);
  check_open(L, &c);
  int at = lua_gettop(L);
  if (roc_array_size(result) == 0) return 1;
  bool is_host = !c.owner && !may_wait;
  if (is_host) {
    roc_expression_flatten(L, &c.plain, result, &loops);
    check_open(L, &c);
    bool is_done = roc_expression_run_at_once(&c.plain, result, &c.plain.key);
    if (is_done) lua_settop(L, at);
    if (is_done) return 1;
  }
  bool is_pending = may_wait && begin(L, c, device, result);
  if (may_wait) lua_settop(L, at);
  if (is_pending) return 1;
  if (may_wait) roc_array_provide(L, result);
  evaluate_operands(L, &c, true);
  check_open(L, &c);
  roc_expression_run(L, &c.plain, device, NULL, &loops);
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
  for (lua_Integer i = 0; i < n; i++) nresults *= ROC_KIND_COUNT;
  roc_operation *op = lua_newuserdatauv(L, sizeof *op + nresults, ROC_OPERATION_UV_COUNT);
  const char *name = lua_tostring(L, 1);
  *op = (roc_operation){.noperands = (uint32_t)n,
                        .state = roc_expression_state_of(L),
                        .is_method = get_flag(L, 2, "method"),
                        .has_square = get_flag(L, 2, "square"),
                        .is_division = strcmp(name, "idiv") == 0 || strcmp(name, "mod") == 0};
  luaL_argcheck(L, strlen(name) < sizeof op->name, 1, "the name is too long");
  strcpy(op->name, name);
  memset(op->results, RESULT_UNKNOWN, nresults);
  lua_newtable(L);
  lua_setiuservalue(L, -2, ROC_OPERATION_UV_KERNELS);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, op); /* as long as the state: expressions refer to it */
  lua_pushvalue(L, 3);
  lua_pushcclosure(L, call_operation, UP_COUNT);
  return 1;
}

/* roc.eval(a, …) -> the arrays, which are in memory from now on; those of one shape, and what they
 * share, are computed together. */
static int expression_eval(lua_State *L) {
  int count = lua_gettop(L);
  roc_rt_device *device = NULL;
  for (int i = 1; i <= count; i++) {
    const roc_array *a = roc_check_described_array(L, i);
    if (!device) device = roc_buffer_device(a->buffer);
  }
  roc_expression_evaluate_all(L, 1, count, device ? roc_default_stream(L, device) : NULL);
  lua_settop(L, count);
  return count;
}

static const luaL_Reg functions[] = {{"elementwise", expression_elementwise},
                                     {"eval", expression_eval},
                                     {"run_pending", roc_expression_run_pending},
                                     {"run_elements", roc_expression_run_elements},
                                     {"later_reduction", roc_expression_new_reduction},
                                     {"set_elementwise_rules", roc_expression_set_rules},
                                     {NULL, NULL}};

static bool evaluate_array(lua_State *L, const roc_array *a, roc_rt_stream *stream) {
  if (!roc_buffer_pending(a->buffer)) return roc_expression_compute_reductions_of(L, a->buffer);
  roc_expression_evaluate(L, a->buffer, stream);
  return true;
}

static void open_process(void) {
  roc_expression_open();
  roc_array_set_evaluator(
      &(roc_array_evaluator){.one = evaluate_array, .all = roc_expression_evaluate_all});
}

void roc_open_expression(lua_State *L) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  bool is_lazy = true;
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_env_switch("ROCLUA_LAZY", &is_lazy, &err), &err);
  roc_expression_open_state(L, !is_lazy, roc_expression_mm_gc_guard);
  pthread_once(&once, open_process);
  luaL_setfuncs(L, functions, 0);
}
