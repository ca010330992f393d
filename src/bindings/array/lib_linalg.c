/* core.linalg: what roc/arrays/linalg.lua computes by a library, on arrays that it has made: stacks
 * of matrices of three dimensions in C order, whose memory the host can touch but for products.
 *
 * An operation gives true; or false, the number of a matrix that it has no result for, whether that
 * is one of the right side, and why. */
#include "runtime/linalg.h"

#include <string.h>

#include "bindings/array/array_bind.h"
#include "bindings/device/device_bind.h"
#include "runtime/device.h"
#include "runtime/product.h"

/* The array's elements, once no work is in the way. */
static void *elements_of(lua_State *L, int arg, bool for_write, const roc_array **out_array) {
  static double nothing; /* where there are none */
  const roc_array *a = roc_check_any_array(L, arg);
  const int64_t origin[ROC_ARRAY_MAX_RANK] = {0};
  roc_array_sync(L, a, for_write);
  if (out_array) *out_array = a;
  return roc_array_size(a) > 0 ? roc_array_at(a, origin) : &nothing;
}

/* Waits for the work on a script's array.  What is called meanwhile may close any array, so this
 * comes before the elements of several are looked at. */
static void settle(lua_State *L, int arg) {
  roc_array_sync(L, roc_check_any_array(L, arg), false);
}

typedef struct call {
  roc_linalg stack;
  const roc_array *a; /* argument 1 */
  void *memory;       /* its elements */
} call;

static call begin(lua_State *L) {
  call c;
  c.memory = elements_of(L, 1, true, &c.a);
  c.stack = (roc_linalg){.dtype = c.a->dtype, .count = c.a->extents[0], .failed = -1};
  return c;
}

static int finish(lua_State *L, const call *c, roc_status status, const roc_error *err) {
  if (status == ROC_INVALID && c->stack.failed >= 0) {
    lua_pushboolean(L, false);
    lua_pushinteger(L, c->stack.failed + 1);
    lua_pushboolean(L, c->stack.is_right_side);
    lua_pushstring(L, err->message);
    return 4;
  }
  ROC_LUA_TRY(L, status, err);
  lua_pushboolean(L, true);
  return 1;
}

/* solve(a, b): b's matrices transposed */
static int linalg_solve(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  call c = begin(L);
  const roc_array *right;
  void *b = elements_of(L, 2, true, &right);
  roc_status status =
      roc_linalg_solve(&c.stack, c.a->extents[1], right->extents[1], c.memory, b, &err);
  return finish(L, &c, status, &err);
}

static int linalg_inverse(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  call c = begin(L);
  roc_status status = roc_linalg_inverse(&c.stack, c.a->extents[1], c.memory, &err);
  return finish(L, &c, status, &err);
}

/* det(a, out) */
static int linalg_det(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  call c = begin(L);
  void *out = elements_of(L, 2, true, NULL);
  roc_status status = roc_linalg_det(&c.stack, c.a->extents[1], c.memory, out, &err);
  return finish(L, &c, status, &err);
}

static int linalg_cholesky(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  call c = begin(L);
  roc_status status = roc_linalg_cholesky(&c.stack, c.a->extents[1], c.memory, &err);
  return finish(L, &c, status, &err);
}

/* qr(a, full, q, r) */
static int linalg_qr(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  call c = begin(L);
  void *q = elements_of(L, 3, true, NULL), *r = elements_of(L, 4, true, NULL);
  roc_status status = roc_linalg_qr(&c.stack, c.a->extents[1], c.a->extents[2], lua_toboolean(L, 2),
                                    c.memory, q, r, &err);
  return finish(L, &c, status, &err);
}

/* svd(a, full, s [, u, v]) */
static int linalg_svd(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  call c = begin(L);
  bool has_vectors = !lua_isnoneornil(L, 4);
  void *s = elements_of(L, 3, true, NULL);
  void *u = has_vectors ? elements_of(L, 4, true, NULL) : NULL;
  void *v = has_vectors ? elements_of(L, 5, true, NULL) : NULL;
  roc_status status = roc_linalg_svd(&c.stack, c.a->extents[1], c.a->extents[2],
                                     lua_toboolean(L, 2), c.memory, u, s, v, &err);
  return finish(L, &c, status, &err);
}

/* eigh(a, vectors, w) */
static int linalg_eigh(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  call c = begin(L);
  void *w = elements_of(L, 3, true, NULL);
  roc_status status =
      roc_linalg_eigh(&c.stack, c.a->extents[1], lua_toboolean(L, 2), c.memory, w, &err);
  return finish(L, &c, status, &err);
}

/* lstsq(a, b, rcond, s, ranks): a's and b's matrices transposed, b's rows as long as m and n */
static int linalg_lstsq(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  call c = begin(L);
  const roc_array *right;
  void *b = elements_of(L, 2, true, &right), *s = elements_of(L, 4, true, NULL);
  int64_t *ranks = elements_of(L, 5, true, NULL);
  roc_status status =
      roc_linalg_lstsq(&c.stack, c.a->extents[2], c.a->extents[1], right->extents[1],
                       luaL_checknumber(L, 3), c.memory, b, s, ranks, &err);
  return finish(L, &c, status, &err);
}

/* LAPACK takes the device's (NULL: the host's) memory. */
static bool is_in_reach(roc_rt_device *device) {
  return !device || roc_rt_device_driver(device)->props.host_memory;
}

/* Of a factor for products of `count`: one matrix serves all. */
static int64_t stack_stride(const roc_array *a, int64_t count) {
  return a->extents[0] == count ? a->strides[0] : 0;
}

static roc_linalg_factor factor_at(lua_State *L, int arg, int64_t count) {
  const roc_array *a;
  const void *elements = elements_of(L, arg, false, &a);
  return (roc_linalg_factor){elements, stack_stride(a, count), a->strides[1], a->strides[2]};
}

static int multiply_on_host(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  settle(L, 2);
  settle(L, 3);
  call c = begin(L);
  roc_linalg_factor a = factor_at(L, 2, c.stack.count), b = factor_at(L, 3, c.stack.count);
  roc_status status =
      roc_linalg_multiply(&c.stack, c.a->extents[1], c.a->extents[2],
                          roc_check_any_array(L, 2)->extents[2], &a, &b, c.memory, &err);
  return finish(L, &c, status, &err);
}

static roc_devptr address_of(const roc_array *a) {
  int64_t itemsize = (int64_t)roc_dtype_itemsize(a->dtype);
  return roc_buffer_devptr(a->buffer) + (roc_devptr)(a->offset * itemsize);
}

static roc_dev_factor device_factor(const roc_array *a, int64_t count) {
  roc_linalg_layout layout =
      roc_linalg_layout_of(a->strides[1], a->strides[2], a->extents[1], a->extents[2]);
  return (roc_dev_factor){address_of(a), a->dtype, layout.stride, stack_stride(a, count),
                          layout.is_transposed};
}

/* The transposes, b first: see roc_linalg_layout. */
static roc_status queue_product(lua_State *L, roc_rt_device *device, roc_error *err) {
  /* what one of them computes may close another */
  for (int arg = 1; arg <= 3; arg++) roc_array_evaluate(L, roc_check_any_array(L, arg), NULL);
  const roc_array *c = roc_check_any_array(L, 1), *a = roc_check_any_array(L, 2);
  const roc_array *b = roc_check_any_array(L, 3);
  int64_t count = c->extents[0];
  roc_dev_product product = {.m = c->extents[2],
                             .n = c->extents[1],
                             .k = a->extents[2],
                             .count = count,
                             .a = device_factor(b, count),
                             .b = device_factor(a, count),
                             .c = address_of(c),
                             .dtype = c->dtype};
  roc_rt_use uses[] = {{a->buffer, false}, {b->buffer, false}, {c->buffer, true}};
  return roc_rt_product_queue(roc_session(L), device, &product, uses, err);
}

/* multiply(out, a, b) -> true; false: the library of GPUs has no such product.  No empty ones; rows
 * or columns of a and b are contiguous. */
static int linalg_multiply(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  roc_rt_device *device = roc_buffer_device(roc_check_any_array(L, 1)->buffer);
  if (is_in_reach(device)) return multiply_on_host(L);
  roc_status status = queue_product(L, device, &err);
  if (status != ROC_UNSUPPORTED) ROC_LUA_TRY(L, status, &err);
  lua_pushboolean(L, status == ROC_OK);
  return 1;
}

/* ---- factors on GPUs ------------------------------------------------------------------------ */

static const char *const steps[] = {
    [ROC_FACTORING_GETRF] = "getrf", [ROC_FACTORING_GETRS] = "getrs",
    [ROC_FACTORING_POTRF] = "potrf", [ROC_FACTORING_GEQRF] = "geqrf",
    [ROC_FACTORING_ORGQR] = "orgqr", [ROC_FACTORING_SYEVD] = "syevd",
    [ROC_FACTORING_GESVD] = "gesvd", [ROC_FACTORING_COUNT] = NULL};

/* Arguments of a step: its name, m, n, k, the option, then arrays whose first dimension is that of the
 * stack: the matrices, up to three others, and false for those that there are not. */
enum { STEP_ARRAYS = 6, STEP_WORK = STEP_ARRAYS + ROC_DEV_FACTORING_OPERANDS, STEP_INFO };

static roc_dev_stack stack_at(const roc_array *a) {
  return (roc_dev_stack){address_of(a), a->strides[0] * (int64_t)roc_dtype_itemsize(a->dtype)};
}

static roc_dev_factoring read_step(lua_State *L, roc_rt_device **out_device) {
  const roc_array *matrices = roc_check_any_array(L, STEP_ARRAYS);
  *out_device = roc_buffer_device(matrices->buffer);
  return (roc_dev_factoring){
      .step = (roc_dev_factoring_step)luaL_checkoption(L, 1, NULL, steps),
      .dtype = matrices->dtype,
      .m = luaL_checkinteger(L, 2),
      .n = luaL_checkinteger(L, 3),
      .k = luaL_checkinteger(L, 4),
      .option = (int)luaL_checkinteger(L, 5),
      .count = matrices->extents[0],
  };
}

/* factoring_size(step, m, n, k, option, matrices) -> how many elements of work it takes */
static int linalg_factoring_size(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  roc_rt_device *device;
  int64_t size = 0;
  roc_dev_factoring factoring = read_step(L, &device);
  ROC_LUA_TRY(L, roc_rt_factoring_size(device, &factoring, &size, &err), &err);
  lua_pushinteger(L, size);
  return 1;
}

/* factor(step, m, n, k, option, matrices, …, work, info): queues the step. */
static int linalg_factor(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  roc_rt_device *device;
  roc_rt_use uses[ROC_DEV_FACTORING_OPERANDS + 2];
  uint32_t nuses = 0;
  lua_settop(L, STEP_INFO);
  /* what one of them computes may close another */
  for (int arg = STEP_ARRAYS; arg <= STEP_INFO; arg++) roc_test_any_array(L, arg);
  roc_dev_factoring factoring = read_step(L, &device);
  for (int arg = STEP_ARRAYS; arg <= STEP_INFO; arg++) {
    if (!lua_toboolean(L, arg)) continue;
    const roc_array *a = roc_check_any_array(L, arg);
    uses[nuses++] = (roc_rt_use){a->buffer, true};
    if (arg < STEP_WORK) factoring.operands[arg - STEP_ARRAYS] = stack_at(a);
    if (arg == STEP_WORK) factoring.work = address_of(a);
    if (arg == STEP_WORK) factoring.work_size = roc_array_size(a);
    if (arg == STEP_INFO) factoring.info = address_of(a);
  }
  roc_status status = roc_rt_factoring_queue(roc_session(L), device, &factoring, uses, nuses, &err);
  ROC_LUA_TRY(L, status, &err);
  return 0;
}

/* ---- which library -------------------------------------------------------------------------- */

/* reaches(device): whether LAPACK takes the device's memory as the host's. */
static int linalg_reaches(lua_State *L) {
  lua_pushboolean(L, is_in_reach(roc_opt_device(L, 1)));
  return 1;
}

/* Whether the function named at index 2 is the product, which is the default. */
static bool check_is_product(lua_State *L) {
  static const char *const functions[] = {"matmul",   "solve", "lstsq", "inverse", "det",
                                          "cholesky", "qr",    "svd",   "eigh"};
  if (lua_isnoneornil(L, 2)) return true;
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    if (strcmp(name, functions[i]) == 0) return i == 0;
  }
  return luaL_error(L,
                    "bad argument #2 to 'roc.linalg.library' (a name such as \"solve\" "
                    "expected)");
}

/* The name of the library for arrays of the device at index 1, or of the host: that of the function
 * named at index 2, or of products; UNAVAILABLE: there is none. */
static roc_status find_library(lua_State *L, const char **out_name, roc_error *err) {
  bool is_product = check_is_product(L);
  roc_rt_device *device = lua_isnoneornil(L, 1) ? NULL : roc_opt_device(L, 1);
  if (is_in_reach(device)) return roc_linalg_library(out_name, err);
  return is_product ? roc_rt_product_library(device, out_name, err)
                    : roc_rt_solver_library(device, out_name, err);
}

static int push_library(lua_State *L, roc_status status, const char *name, const roc_error *err) {
  if (status == ROC_OK) {
    lua_pushstring(L, name);
    return 1;
  }
  lua_pushnil(L);
  lua_pushstring(L, err->message);
  lua_pushboolean(L, status != ROC_UNAVAILABLE);
  return 3;
}

/* find([device [, function]]) -> the name; or nil, why there is none, and whether that is a mistake. */
static int linalg_find(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  const char *name = NULL;
  roc_status status = find_library(L, &name, &err);
  return push_library(L, status, name, &err);
}

/* roc.linalg.library([device [, function]]) -> the name; or nil and why there is none. */
static int linalg_library(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  const char *name = NULL;
  roc_status status = find_library(L, &name, &err);
  if (status != ROC_UNAVAILABLE) ROC_LUA_TRY(L, status, &err);
  lua_settop(L, 0);
  push_library(L, status, name, &err);
  lua_settop(L, status == ROC_OK ? 1 : 2);
  return lua_gettop(L);
}

static const luaL_Reg functions[] = {{"library", linalg_library},
                                     {"find", linalg_find},
                                     {"reaches", linalg_reaches},
                                     {"solve", linalg_solve},
                                     {"inverse", linalg_inverse},
                                     {"det", linalg_det},
                                     {"cholesky", linalg_cholesky},
                                     {"qr", linalg_qr},
                                     {"svd", linalg_svd},
                                     {"eigh", linalg_eigh},
                                     {"lstsq", linalg_lstsq},
                                     {"multiply", linalg_multiply},
                                     {"factoring_size", linalg_factoring_size},
                                     {"factor", linalg_factor},
                                     {NULL, NULL}};

void roc_open_linalg(lua_State *L) {
  luaL_newlib(L, functions);
  lua_setfield(L, -2, "linalg");
}
