/* Kernels compiled ahead of time by their signatures, for rocluac: as files that C programs load, and
 * as functions that they link. */
#include <string.h>

#include "bindings/kernel/kernel_bind.h"
#include "jit/ahead.h"
#include "jit/driver.h"
#include "jit/fit.h"
#include "jit/object.h"

/* ---- code objects ------------------------------------------------------------------------ */

/* (kernel, target, level or nil): the kernel with its captures read and kernel->values of its
 * signature, and the options. */
static roc_kernel_box *check_order(lua_State *L, roc_cg_options *out_options) {
  roc_kernel_box *box = roc_check_kernel(L, 1);
  const char *target = roc_kernel_check_target(L, 2);
  lua_Integer level = luaL_optinteger(L, 3, -1);
  luaL_argcheck(L, box->signature != NULL, 1, "a kernel with a signature expected");
  luaL_argcheck(L, level >= -1 && level <= 3, 3, "a level from 0 to 3 expected");
  roc_kernel_read_cells(L, box, 1);
  if (box->kernel->program->narrays > 0) {
    luaL_error(L, "kernel '%s' captures the array '%s', which no file holds: make it an argument",
               box->kernel->name, box->kernel->program->arrays[0].name);
  }
  roc_array *arrays = lua_newuserdatauv(L, (box->kernel->nparams + 1) * sizeof *arrays, 0);
  roc_kernel_signature_values(box, arrays);
  *out_options = roc_jit_options_for(target, (int)level);
  return box;
}

/* core.kernel_ahead(kernel, target, level or nil, is_general) -> code object for the signature */
static int kernel_ahead(lua_State *L) {
  roc_cg_options options;
  bool is_general = lua_toboolean(L, 4);
  roc_kernel_box *box = check_order(L, &options);
  roc_codeobj **out = roc_push_code_object(L);
  roc_error err = ROC_ERROR_INIT;
  roc_status status = roc_jit_kernel_object_for(
      box->kernel, &options, is_general ? ROC_JIT_GENERAL : ROC_JIT_COMMON, out, NULL, &err);
  if (status != ROC_OK) return roc_kernel_raise(L, box, &err);
  return 1;
}

static void set_integer(lua_State *L, const char *name, lua_Integer value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, name);
}

static void set_boolean(lua_State *L, const char *name, bool value) {
  lua_pushboolean(L, value);
  lua_setfield(L, -2, name);
}

/* core.kernel_signature(kernel) -> {{dtype = name, rank = dimensions, 0 for a scalar}, …} */
static int kernel_signature(lua_State *L) {
  const roc_kernel_box *box = roc_check_kernel(L, 1);
  luaL_argcheck(L, box->signature != NULL, 1, "a kernel with a signature expected");
  lua_createtable(L, (int)box->kernel->nparams, 0);
  for (uint32_t i = 0; i < box->kernel->nparams; i++) {
    lua_createtable(L, 0, 2);
    lua_pushstring(L, roc_dtype_name((roc_dtype)box->signature[i].dtype));
    lua_setfield(L, -2, "dtype");
    set_integer(L, "rank", box->signature[i].rank);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* ---- files ------------------------------------------------------------------------------- */

/* The code objects in the list on top, in a block that is collected with the call. */
static roc_jit_ahead_object *check_objects(lua_State *L, const char *host, uint32_t *out_count) {
  int list = lua_gettop(L);
  uint32_t count = (uint32_t)luaL_len(L, list);
  roc_jit_ahead_object *objects = lua_newuserdatauv(L, (count + 1) * sizeof *objects, 0);
  for (uint32_t i = 0; i < count; i++) {
    lua_geti(L, list, i + 1);
    objects[i].object = roc_check_code_object(L, lua_gettop(L));
    bool is_host = strcmp(objects[i].object->target, ROC_TARGET_HOST) == 0;
    objects[i].host = is_host ? host : NULL;
    lua_pop(L, 1);
  }
  *out_count = count;
  return objects;
}

static const char *push_host(lua_State *L) {
  char *host = lua_newuserdatauv(L, ROC_CG_FINGERPRINT_BYTES, 0);
  roc_cg_options options = roc_jit_options_for(ROC_TARGET_HOST, -1);
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_jit_fingerprint(&options, host, &err), &err);
  return host;
}

/* core.kernel_file{{kernel =, name =, objects = {code object, …}}, …} -> bytes, for jit/ahead.h */
static int kernel_file(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  uint32_t count = (uint32_t)luaL_len(L, 1);
  const char *host = push_host(L);
  roc_str *bytes = roc_kernel_push_text(L);
  size_t begin = roc_jit_ahead_begin(bytes, count);
  for (uint32_t i = 0; i < count; i++) {
    lua_settop(L, 3);
    lua_geti(L, 1, i + 1);
    lua_getfield(L, 4, "kernel");
    const roc_kernel_box *box = roc_check_kernel(L, 5);
    lua_getfield(L, 4, "name");
    const char *name = luaL_checkstring(L, 6);
    lua_getfield(L, 4, "objects");
    uint32_t nobjects;
    const roc_jit_ahead_object *objects = check_objects(L, host, &nobjects);
    roc_jit_ahead_add(bytes, name, box->kernel, box->signature, objects, nobjects);
  }
  roc_jit_ahead_end(bytes, begin);
  if (bytes->failed) return luaL_error(L, "out of memory: no room for a file of kernels");
  lua_pushlstring(L, roc_str_text(bytes), bytes->len);
  return 1;
}

/* ---- functions that a program links ------------------------------------------------------ */

/* What a failed check says, without the values that it had. */
static void push_site(lua_State *L, const roc_site *site) {
  static const char *const texts[] = {
      [ROC_SITE_INDEX] = "index out of range of '%s'",
      [ROC_SITE_DIVIDE] = "attempt to divide by zero",
      [ROC_SITE_MODULO] = "attempt to perform 'n%%%%0'",
      [ROC_SITE_NO_INTEGER] = "number has no integer representation",
      [ROC_SITE_ASSERT] = "assertion failed",
      [ROC_SITE_ERROR] = "error",
      [ROC_SITE_DIVERGENT] = "barrier in divergent control flow",
      [ROC_SITE_PRINT] = "print",
      [ROC_SITE_DIVERGENT_WAVE] = "wave operation in divergent control flow"};
  lua_pushfstring(L, "%s:%d: ", site->file ? site->file : "?", (int)site->line);
  lua_pushfstring(L, texts[site->kind], site->name ? site->name : "?");
  lua_concat(L, 2);
}

static void push_slot(lua_State *L, const roc_arg_slot *slot) {
  lua_createtable(L, 0, 7);
  set_integer(L, "offset", slot->offset);
  set_integer(L, "extents", slot->extents_offset);
  set_integer(L, "rank", slot->type.rank);
  set_integer(L, "layout", slot->type.layout);
  set_boolean(L, "is_written", slot->is_written);
}

/* Sets fields of the table on top. */
static void describe_object(lua_State *L, const roc_codeobj *object) {
  const struct {
    const char *name;
    uint32_t value;
  } fields[] = {{"kernarg_bytes", object->kernarg_bytes},
                {"shared_bytes", object->shared_bytes},
                {"frame_bytes", object->frame_fixed_bytes},
                {"frame_item_bytes", object->frame_item_bytes}};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    set_integer(L, fields[i].name, fields[i].value);
  }
  set_boolean(L, "has_print", object->has_print);
  lua_createtable(L, (int)object->nargs, 0);
  for (uint32_t i = 0; i < object->nargs; i++) {
    push_slot(L, &object->args[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "slots");
  lua_createtable(L, (int)object->nsites, 0);
  for (uint32_t i = 0; i < object->nsites; i++) {
    push_site(L, &object->sites[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "sites");
}

/* core.kernel_function(kernel, target, level or nil, symbol) -> what core.join_code takes for a
 * kernel of any size of arguments, and what a caller of its code has to know */
static int kernel_function(lua_State *L) {
  roc_cg_options options;
  const char *symbol = luaL_checkstring(L, 4);
  roc_kernel_box *box = check_order(L, &options);
  roc_codeobj **object = roc_push_code_object(L);
  roc_str *bitcode = roc_kernel_push_text(L);
  roc_error err = ROC_ERROR_INIT;
  options.symbol = symbol;
  roc_status status =
      roc_jit_kernel_object_for(box->kernel, &options, ROC_JIT_PLAIN, object, bitcode, &err);
  if (status != ROC_OK) return roc_kernel_raise(L, box, &err);
  lua_createtable(L, 0, 10);
  lua_pushlstring(L, roc_str_text(bitcode), bitcode->len);
  lua_setfield(L, -2, "bitcode");
  lua_pushstring(L, symbol);
  lua_setfield(L, -2, "symbol");
  lua_createtable(L, 3, 0);
  for (int d = 0; d < 3; d++) {
    lua_pushinteger(L, box->kernel->options.workgroup[d]);
    lua_rawseti(L, -2, d + 1);
  }
  lua_setfield(L, -2, "promise");
  describe_object(L, *object);
  return 1;
}

static const luaL_Reg functions[] = {{"kernel_ahead", kernel_ahead},
                                     {"kernel_signature", kernel_signature},
                                     {"kernel_file", kernel_file},
                                     {"kernel_function", kernel_function},
                                     {NULL, NULL}};

void roc_open_kernel_ahead(lua_State *L) {
  luaL_setfuncs(L, functions, 0);
}
