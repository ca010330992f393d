/* roc.Array: host arrays in Lua; elements, and the methods that touch them.
 *
 * Views are in array_view.c, constructors in array_create.c, printing in lua/roc/array.lua.  Every
 * function that reads or writes elements first waits for queued work that uses them
 * (roc_array_sync).  Making an array may run finalizers, which may run any Lua code: the source is
 * checked again afterwards. */
#include <string.h>

#include "bindings/array/array_bind.h"

/* ---- elements ---------------------------------------------------------------------------- */

/* Element i (0-based, in range) of a 1-D array, once the host may touch it. */
static void *element_at(lua_State *L, const roc_array *a, int64_t i, bool for_write) {
  roc_array_sync(L, a, for_write);
  char *base = roc_buffer_host(a->buffer);
  return base + (a->offset + i * a->strides[0]) * (int64_t)roc_dtype_itemsize(a->dtype);
}

/* a.shape, a:fill(…): the name at stack index 2.  Upvalue 1: the methods. */
static int push_field(lua_State *L, const roc_array *a) {
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  if (roc_array_push_property(L, a, lua_tostring(L, 2))) return 1;
  return roc_array_fail_field(L, lua_upvalueindex(1));
}

/* A host array, of which fields and views need no elements. */
static const roc_array *check_described(lua_State *L) {
  const roc_array_box *box = roc_test_array_box(L, 1);
  if (!box || box->cls == &roc_device_array_class) return roc_check_array(L, 1);
  return roc_check_described_array(L, 1);
}

static int array_mm_index(lua_State *L) {
  const roc_array *a = check_described(L);
  if (lua_type(L, 2) == LUA_TSTRING) return push_field(L, a);
  if (roc_array_key_selects(L)) return roc_array_select(L);
  int64_t i;
  if (!roc_check_key(L, a, &i)) return 0;
  if (a->rank == 1) {
    a = roc_check_array(L, 1);
    roc_push_scalar(L, roc_dtype_load(a->dtype, element_at(L, a, i, false)));
  } else {
    roc_array_push_row(L, i);
  }
  return 1;
}

static int array_mm_newindex(lua_State *L) {
  const roc_array *a = roc_check_array(L, 1);
  if (roc_array_assigns_many(L, a)) return roc_array_assign(L);
  int64_t i = roc_check_assigned_key(L, a);
  roc_store_assigned(L, 3, a->dtype, element_at(L, a, i, true));
  return 0;
}

static int array_mm_len(lua_State *L) {
  lua_pushinteger(L, check_described(L)->extents[0]);
  return 1;
}

static int array_mm_gc(lua_State *L) {
  roc_array_box *box = roc_test_array_box(L, 1);
  if (box && box->cls != &roc_device_array_class) roc_array_release(&box->array);
  return 0;
}

static int array_m_get(lua_State *L) {
  int64_t indices[ROC_ARRAY_MAX_RANK];
  const roc_array *a = roc_check_array(L, 1);
  roc_check_indices(L, 2, a, indices);
  roc_array_sync(L, a, false);
  roc_push_scalar(L, roc_dtype_load(a->dtype, roc_array_at(a, indices)));
  return 1;
}

static int array_m_set(lua_State *L) {
  int64_t indices[ROC_ARRAY_MAX_RANK];
  const roc_array *a = roc_check_array(L, 1);
  luaL_checkany(L, 2);
  roc_check_indices(L, 3, a, indices);
  roc_array_sync(L, a, true);
  roc_store_arg(L, 2, a->dtype, roc_array_at(a, indices));
  return 0;
}

/* ---- whole arrays ------------------------------------------------------------------------ */

static int array_m_fill(lua_State *L) {
  unsigned char element[8];
  const roc_array *a = roc_check_array(L, 1);
  luaL_checkany(L, 2);
  roc_store_arg(L, 2, a->dtype, element);
  roc_array_sync(L, a, true);
  roc_array_fill_host(a, element);
  lua_settop(L, 1);
  return 1;
}

static int array_m_copy(lua_State *L) {
  const roc_array *a = roc_check_array(L, 1);
  roc_array_sync(L, a, false);
  roc_push_host_copy(L, a);
  return 1;
}

static int array_m_ravel(lua_State *L) {
  const roc_array *a = roc_check_array(L, 1);
  roc_order order = roc_opt_order(L, 2);
  if (roc_array_push_ravel(L, order)) return 1;
  roc_array_sync(L, a, false);
  int64_t size = roc_array_size(a);
  roc_array *flat = roc_new_host_array(L, a->dtype, 1, &size, ROC_ORDER_C, false);
  roc_check_array(L, 1);
  roc_array_pack(roc_buffer_host(flat->buffer), a, order);
  return 1;
}

static int array_m_astype(lua_State *L) {
  const roc_array *a = roc_check_array(L, 1);
  roc_dtype dtype = roc_check_dtype(L, 2);
  roc_array_sync(L, a, false);
  roc_array *converted = roc_new_host_array(L, dtype, a->rank, a->extents, ROC_ORDER_C, false);
  roc_check_array(L, 1);
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_array_convert_host(converted, a, &err), &err);
  return 1;
}

static int array_m_totable(lua_State *L) {
  const roc_array *a = roc_check_array(L, 1);
  roc_array_sync(L, a, false);
  roc_push_array_table(L, a);
  return 1;
}

static int array_m_tobytes(lua_State *L) {
  const roc_array *a = roc_check_array(L, 1);
  roc_array_sync(L, a, false);
  luaL_Buffer buffer;
  size_t nbytes = roc_array_nbytes(a);
  char *bytes = luaL_buffinitsize(L, &buffer, nbytes);
  roc_array_pack(bytes, roc_check_array(L, 1), ROC_ORDER_C);
  luaL_pushresultsize(&buffer, nbytes);
  return 1;
}

static const luaL_Reg array_methods[] = {
    {"get", array_m_get},         {"set", array_m_set},         {"fill", array_m_fill},
    {"copy", array_m_copy},       {"ravel", array_m_ravel},     {"astype", array_m_astype},
    {"totable", array_m_totable}, {"tobytes", array_m_tobytes}, {NULL, NULL}};

static const luaL_Reg array_meta[] = {{"__newindex", array_mm_newindex},
                                      {"__len", array_mm_len},
                                      {"__pairs", roc_array_mm_pairs},
                                      {"__gc", array_mm_gc},
                                      {NULL, NULL}};

/* core.Array: the metatable, whose __tostring the Lua side adds.  core.array_methods: its
 * methods. */
void roc_open_array(lua_State *L) {
  roc_open_array_class(L, ROC_META_ARRAY, array_meta, array_methods, array_mm_index);
  lua_setfield(L, -3, "array_methods");
  lua_setfield(L, -2, "Array");
}
