/* roc.Module: code objects of other compilers, and roc.ModuleKernel, their kernels.
 *
 * A module belongs to one device.  Its first kernel is loaded with it, and each other one beside
 * that, so that all share the global variables of the code. */
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "bindings/device/device_bind.h"
#include "bindings/kernel/module_bind.h"
#include "bindings/support/unknown.h"

enum { MAX_FILE_BYTES = 1 << 30 };

typedef struct module_box {
  roc_module *module;  /* NULL: closed */
  roc_rt_kernel *root; /* its first kernel */
  roc_rt_device *device;
} module_box;

/* ---- modules ------------------------------------------------------------- */

static module_box *check_module(lua_State *L) {
  module_box *box = luaL_checkudata(L, 1, ROC_META_MODULE);
  if (!box->module) luaL_argerror(L, 1, "the module is closed");
  return box;
}

/* Whether the string is a code object, a bundle of them or PTX, which has lines, and no path. */
static bool is_code(const char *text, size_t len) {
  static const char *const magics[] = {"\177ELF", "__CLANG_OFFLOAD_BUNDLE__", "CCOB"};
  for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
    size_t n = strlen(magics[i]);
    if (len >= n && memcmp(text, magics[i], n) == 0) return true;
  }
  return memchr(text, '\0', len) || memchr(text, '\n', len);
}

static roc_status load_module(module_box *box, const void *bytes, size_t nbytes, roc_error *err) {
  const roc_device_props *props = &roc_rt_device_driver(box->device)->props;
  ROC_TRY(roc_module_read(props->arch, bytes, nbytes, &box->module, err));
  const roc_module_kernel *first = &box->module->kernels[0];
  roc_codeobj *object = roc_module_object(box->module, first);
  if (!object) return roc_fail(err, ROC_OOM, "out of memory for a code object");
  roc_status status = roc_rt_kernel_load(box->device, object, first->name, &box->root, err);
  if (status == ROC_OK) return ROC_OK;
  object->free(object);
  if (err->code == ROC_INTERNAL) err->code = ROC_INVALID; /* the code is the caller's */
  return err->code;
}

static roc_status open_module(module_box *box, const char *text, size_t len, roc_error *err) {
  if (is_code(text, len)) return load_module(box, text, len, err);
  unsigned char *bytes;
  size_t nbytes;
  ROC_TRY(roc_file_read(text, MAX_FILE_BYTES, &bytes, &nbytes, err));
  roc_status status = load_module(box, bytes, nbytes, err);
  roc_free(bytes);
  if (status != ROC_INVALID) return status;
  roc_error why = *err;
  return roc_fail(err, status, "'%s': %s", text, why.message);
}

static void close_module(module_box *box) {
  roc_rt_kernel_release(box->root);
  roc_module_release(box->module);
  box->root = NULL;
  box->module = NULL;
}

/* roc.module(path | bytes [, device]) */
static int module_new(lua_State *L) {
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  roc_rt_device *device = roc_opt_device(L, 2);
  module_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = (module_box){.device = device};
  luaL_setmetatable(L, ROC_META_MODULE);
  roc_error err = ROC_ERROR_INIT;
  roc_status status = open_module(box, text, len, &err);
  if (status != ROC_OK) {
    close_module(box);
    roc_lua_raise_named(L, &err);
  }
  return 1;
}

static int module_m_close(lua_State *L) {
  close_module(luaL_checkudata(L, 1, ROC_META_MODULE));
  return 0;
}

static int module_mm_tostring(lua_State *L) {
  const module_box *box = luaL_checkudata(L, 1, ROC_META_MODULE);
  if (!box->module) {
    lua_pushliteral(L, ROC_META_MODULE " (closed)");
  } else {
    lua_pushfstring(L, ROC_META_MODULE ": %d kernel%s for %s", (int)box->module->nkernels,
                    box->module->nkernels == 1 ? "" : "s", box->module->target);
  }
  return 1;
}

/* m.kernels: a list of names, as the code object has them. */
static void push_names(lua_State *L, const roc_module *module) {
  lua_createtable(L, (int)module->nkernels, 0);
  for (uint32_t i = 0; i < module->nkernels; i++) {
    lua_pushstring(L, module->kernels[i].name);
    lua_rawseti(L, -2, i + 1);
  }
}

/* Upvalue 1: the methods. */
static int module_mm_index(lua_State *L) {
  luaL_checkudata(L, 1, ROC_META_MODULE);
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  const module_box *box = check_module(L);
  if (strcmp(name, "kernels") == 0) {
    push_names(L, box->module);
  } else if (strcmp(name, "device") == 0) {
    roc_push_device(L, roc_rt_device_index(box->device));
  } else {
    roc_near near = roc_near_to_key(L);
    roc_near_offer(&near, "kernels", "kernels");
    roc_near_offer(&near, "device", "device");
    return roc_fail_field(L, ROC_META_MODULE, NULL, lua_upvalueindex(1), &near);
  }
  return 1;
}

/* ---- kernels ------------------------------------------------------------- */

static const roc_module_kernel *find_kernel(lua_State *L, const roc_module *module, int arg) {
  size_t len;
  const char *name = luaL_checklstring(L, arg, &len);
  roc_near near = roc_near_to(name, len);
  for (uint32_t i = 0; i < module->nkernels; i++) {
    if (strcmp(module->kernels[i].name, name) == 0) return &module->kernels[i];
    roc_near_offer(&near, module->kernels[i].name, module->kernels[i].name);
  }
  luaL_argerror(L, arg,
                lua_pushfstring(L, "the module has no kernel '%s'%s", name,
                                roc_push_suggestion(L, NULL, &near)));
  return NULL;
}

static int bad_declaration(lua_State *L, lua_Integer i, const char *why) {
  return luaL_argerror(L, 3, lua_pushfstring(L, "entry %I: %s", (LUAI_UACINT)i, why));
}

/* What the entry at the top of the stack says of the i-th argument, from 1. */
static void read_declaration(lua_State *L, const roc_module_arg *arg, lua_Integer i,
                             roc_module_param *param) {
  static const char *const accesses[] = {"in", "out", "inout"};
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  if (arg->kind == ROC_MODULE_POINTER || arg->may_be_pointer) {
    for (int k = 0; k < 3; k++) {
      if (strcmp(text, accesses[k]) != 0) continue;
      param->is_written = k > 0;
      param->is_pointer = true;
      return;
    }
  }
  if (arg->kind == ROC_MODULE_POINTER) {
    bad_declaration(L, i, "a pointer: \"in\", \"out\" or \"inout\" expected");
  }
  if (arg->kind == ROC_MODULE_SHARED) bad_declaration(L, i, "shared memory has nothing to declare");
  if (!roc_test_dtype(L, -1, &param->dtype)) bad_declaration(L, i, "a value: a dtype expected");
  if (roc_dtype_itemsize(param->dtype) != arg->size) {
    bad_declaration(
        L, i,
        lua_pushfstring(L, "%s takes %d bytes, the argument %d", roc_dtype_name(param->dtype),
                        (int)roc_dtype_itemsize(param->dtype), (int)arg->size));
  }
  param->has_dtype = true;
}

/* The table at index 3, by the argument's number, or nothing. */
static void read_declarations(lua_State *L, roc_module_box *box) {
  const roc_module_kernel *k = box->kernel;
  for (uint32_t i = 0; i < k->nargs; i++) {
    const roc_module_arg *a = &k->args[i];
    box->params[i] = (roc_module_param){.is_pointer = a->kind == ROC_MODULE_POINTER,
                                        .is_written = !a->is_const,
                                        .has_dtype = a->has_dtype,
                                        .dtype = a->dtype};
  }
  if (lua_isnoneornil(L, 3)) return;
  luaL_checktype(L, 3, LUA_TTABLE);
  lua_pushnil(L);
  while (lua_next(L, 3)) {
    lua_Integer i = lua_isinteger(L, -2) ? lua_tointeger(L, -2) : 0;
    if (i < 1 || i > k->nargs) {
      lua_pop(L, 1);
      luaL_argerror(L, 3,
                    lua_pushfstring(L, "kernel '%s' has no argument %s (it has %d)", k->name,
                                    roc_push_shown(L, lua_gettop(L)), (int)k->nargs));
    }
    read_declaration(L, &k->args[i - 1], i, &box->params[i - 1]);
    lua_pop(L, 1);
  }
}

static void free_kernel(roc_module_box *box) {
  roc_rt_kernel_release(box->loaded);
  roc_free(box->params);
  roc_free(box->uses);
  roc_free(box->block);
  *box = (roc_module_box){0};
}

static roc_status load_kernel(const module_box *module, const roc_module_kernel *kernel,
                              roc_module_box *box, roc_error *err) {
  size_t n = kernel->nargs + 1;
  box->params = roc_zalloc(n * sizeof *box->params);
  box->uses = roc_zalloc(n * sizeof *box->uses);
  box->block = roc_zalloc(kernel->kernarg_bytes + 1);
  roc_codeobj *object = roc_module_object(module->module, kernel);
  if (!box->params || !box->uses || !box->block || !object) {
    if (object) object->free(object);
    return roc_fail(err, ROC_OOM, "out of memory: cannot load kernel '%s'", kernel->name);
  }
  roc_status status =
      roc_rt_kernel_load_beside(module->root, object, kernel->name, &box->loaded, err);
  if (status != ROC_OK) object->free(object);
  return status;
}

/* m:kernel(name [, declarations]) */
static int module_m_kernel(lua_State *L) {
  const module_box *module = check_module(L);
  const roc_module_kernel *kernel = find_kernel(L, module->module, 2);
  if (kernel->refused) {
    return luaL_error(L, "kernel '%s' needs what roclua does not have: %s", kernel->name,
                      kernel->refused);
  }
  lua_settop(L, 3);
  roc_module_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = (roc_module_box){.device = module->device, .kernel = kernel};
  luaL_setmetatable(L, ROC_META_MODULE_KERNEL);
  roc_error err = ROC_ERROR_INIT;
  if (load_kernel(check_module(L), kernel, box, &err) != ROC_OK) {
    free_kernel(box);
    roc_lua_raise_named(L, &err);
  }
  read_declarations(L, box);
  return 1;
}

static const char *kind_of(const roc_module_arg *a, const roc_module_param *param) {
  if (param->is_pointer) return "pointer";
  if (a->kind == ROC_MODULE_SHARED) return "shared";
  return roc_module_is_open(a, param) ? "pointer or value" : "value";
}

/* k.arguments: a list of {kind =, size =, dtype =, name =, is_written =}. */
static void push_arguments(lua_State *L, const roc_module_box *box) {
  const roc_module_kernel *k = box->kernel;
  lua_createtable(L, (int)k->nargs, 0);
  for (uint32_t i = 0; i < k->nargs; i++) {
    const roc_module_arg *a = &k->args[i];
    lua_createtable(L, 0, 4);
    lua_pushstring(L, kind_of(a, &box->params[i]));
    lua_setfield(L, -2, "kind");
    lua_pushinteger(L, a->size);
    lua_setfield(L, -2, "size");
    lua_pushstring(L, a->name);
    lua_setfield(L, -2, "name");
    if (box->params[i].has_dtype) {
      roc_push_dtype(L, box->params[i].dtype);
      lua_setfield(L, -2, "dtype");
    }
    if (box->params[i].is_pointer) {
      lua_pushboolean(L, box->params[i].is_written);
      lua_setfield(L, -2, "is_written");
    }
    lua_rawseti(L, -2, i + 1);
  }
}

/* Upvalue 1: the methods. */
static int kernel_mm_index(lua_State *L) {
  if (lua_type(L, 2) == LUA_TTABLE) return roc_module_index_config(L);
  const roc_module_box *box = roc_check_module_kernel(L);
  if (lua_type(L, 2) != LUA_TSTRING) {
    return luaL_error(L,
                      "bad launch configuration (k[{groups, workgroup [, stream [, shared]]}] "
                      "expected, got k[%s])",
                      roc_push_shown(L, 2));
  }
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  const char *name = lua_tostring(L, 2);
  if (strcmp(name, "name") == 0) {
    lua_pushstring(L, box->kernel->name);
  } else if (strcmp(name, "arguments") == 0) {
    push_arguments(L, box);
  } else {
    roc_near near = roc_near_to_key(L);
    roc_near_offer(&near, "name", "name");
    roc_near_offer(&near, "arguments", "arguments");
    return roc_fail_field(L, ROC_META_MODULE_KERNEL, NULL, lua_upvalueindex(1), &near);
  }
  return 1;
}

static int kernel_mm_call(lua_State *L) {
  return luaL_error(
      L,
      "kernel '%s' is called without a launch configuration; write k[{groups, workgroup}](…), "
      "k:forall(n)(…) or k:launch({grid=n}, …)",
      roc_check_module_kernel(L)->kernel->name);
}

static int kernel_mm_tostring(lua_State *L) {
  const roc_module_box *box = luaL_checkudata(L, 1, ROC_META_MODULE_KERNEL);
  lua_pushfstring(L, ROC_META_MODULE_KERNEL ": %s", box->loaded ? box->kernel->name : "closed");
  return 1;
}

static int kernel_mm_gc(lua_State *L) {
  free_kernel(luaL_checkudata(L, 1, ROC_META_MODULE_KERNEL));
  return 0;
}

/* ---- the classes --------------------------------------------------------- */

static const luaL_Reg module_methods[] = {
    {"kernel", module_m_kernel}, {"close", module_m_close}, {NULL, NULL}};
static const luaL_Reg module_meta[] = {{"__gc", module_m_close},
                                       {"__close", module_m_close},
                                       {"__tostring", module_mm_tostring},
                                       {NULL, NULL}};
static const luaL_Reg kernel_methods[] = {
    {"launch", roc_module_m_launch}, {"forall", roc_module_m_forall}, {NULL, NULL}};
static const luaL_Reg kernel_meta[] = {{"__gc", kernel_mm_gc},
                                       {"__call", kernel_mm_call},
                                       {"__tostring", kernel_mm_tostring},
                                       {NULL, NULL}};

static void make_class(lua_State *L, const char *name, const luaL_Reg *meta,
                       const luaL_Reg *methods, lua_CFunction index) {
  if (roc_class_new(L, name, meta)) {
    lua_newtable(L);
    luaL_setfuncs(L, methods, 0);
    lua_pushcclosure(L, index, 1);
    lua_setfield(L, -2, "__index");
  }
  lua_pop(L, 1);
}

void roc_open_module(lua_State *L) {
  make_class(L, ROC_META_MODULE, module_meta, module_methods, module_mm_index);
  make_class(L, ROC_META_MODULE_KERNEL, kernel_meta, kernel_methods, kernel_mm_index);
  roc_open_module_launch(L);
  lua_pushcfunction(L, module_new);
  lua_setfield(L, -2, "module");
}
