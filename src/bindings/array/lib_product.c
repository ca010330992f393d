/* Products of matrices of floats in host memory: core.multiply, which lua/roc/arrays/products.lua
 * calls, and core.matrix_product, the path of a:matmul(b) for two matrices in memory. */
#include "bindings/array/array_bind.h"
#include "bindings/device/device_bind.h"
#include "runtime/multiply.h"

static bool is_host_array(lua_State *L, int arg) {
  const roc_array_box *box = roc_test_array_box(L, arg);
  return box && box->cls == &roc_host_array_class;
}

/* A matrix as a stack of one. */
static roc_array stack_of(const roc_array *a) {
  roc_array stack = *a;
  if (a->rank == 3) return stack;
  stack.rank = 3;
  for (uint32_t i = 0; i < 2; i++) {
    stack.extents[i + 1] = a->extents[i];
    stack.strides[i + 1] = a->strides[i];
  }
  stack.extents[0] = 1;
  stack.strides[0] = 0;
  return stack;
}

/* The product of arguments 1 and 2 into the host array at `result`.  False: it is for kernels. */
static bool multiply_arguments(lua_State *L, int result) {
  uint32_t threads = roc_host_threads(L);
  roc_status status;
  roc_error err = ROC_ERROR_INIT;
  bool has_reclaimed = false;
  if (threads == 0) return false;
  do {
    for (int arg = 1; arg <= 2; arg++) roc_array_sync(L, roc_check_array(L, arg), false);
    roc_array_sync(L, roc_check_array(L, result), true);
    roc_array a = stack_of(roc_check_array(L, 1)), b = stack_of(roc_check_array(L, 2));
    roc_array c = stack_of(roc_check_array(L, result));
    roc_product product = {&a, &b, &c, threads};
    if (!roc_product_fits(&product)) return false;
    status = roc_multiply(&product, &err);
  } while (status == ROC_OOM && !has_reclaimed && (has_reclaimed = roc_gc_reclaim(L)));
  ROC_LUA_TRY(L, status, &err);
  return true;
}

/* multiply(a, b, c) -> whether the stacks c = a · b have been computed: none is empty, and c is new */
static int multiply(lua_State *L) {
  lua_settop(L, 3);
  bool are_host_arrays = is_host_array(L, 1) && is_host_array(L, 2) && is_host_array(L, 3);
  lua_pushboolean(L, are_host_arrays && multiply_arguments(L, 3));
  return 1;
}

static int call_general(lua_State *L, int nargs) {
  lua_settop(L, nargs);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, nargs, 1);
  return 1;
}

/* Whether two matrices in memory have a product that is computed here. */
static bool have_product(lua_State *L, roc_array *out_described) {
  const roc_array *a = roc_test_plain_array(L, 1), *b = roc_test_plain_array(L, 2);
  if (!a || !b || a->rank != 2 || b->rank != 2 || a->extents[1] != b->extents[0]) return false;
  roc_array left = stack_of(a), right = stack_of(b);
  *out_described =
      (roc_array){.dtype = a->dtype, .rank = 3, .extents = {1, a->extents[0], b->extents[1]}};
  roc_product product = {&left, &right, out_described, 1};
  return roc_product_fits(&product);
}

static int call_matrix_product(lua_State *L) {
  int nargs = lua_gettop(L);
  roc_array described;
  if (nargs != 2 || roc_host_threads(L) == 0 || !have_product(L, &described)) {
    return call_general(L, nargs);
  }
  roc_new_host_array(L, described.dtype, 2, described.extents + 1, ROC_ORDER_C, false);
  multiply_arguments(L, 3);
  return 1;
}

/* core.matrix_product(general): the method, which calls `general` with its arguments where they are
 * not plain. */
static int matrix_product(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_pushcclosure(L, call_matrix_product, 1);
  return 1;
}

static const luaL_Reg functions[] = {
    {"multiply", multiply}, {"matrix_product", matrix_product}, {NULL, NULL}};

void roc_open_product(lua_State *L) {
  luaL_setfuncs(L, functions, 0);
}
