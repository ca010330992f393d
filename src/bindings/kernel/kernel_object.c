/* roc.CodeObject, and the methods of kernels that compile for any target: k:compile, k:resources.
 *
 * A code object owns the compiler's result until it is closed or collected; it needs no device. */
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "bindings/device/device_bind.h"
#include "bindings/kernel/kernel_bind.h"
#include "bindings/support/unknown.h"
#include "frontend/types/signature.h"
#include "jit/driver.h"
#include "jit/fit.h"
#include "jit/object.h"

#define META_CODE_OBJECT "roc.CodeObject"

typedef struct code_box {
  roc_codeobj *object; /* NULL: closed */
} code_box;

roc_codeobj **roc_push_code_object(lua_State *L) {
  code_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  box->object = NULL;
  luaL_setmetatable(L, META_CODE_OBJECT);
  return &box->object;
}

const roc_codeobj *roc_check_code_object(lua_State *L, int arg) {
  code_box *box = luaL_checkudata(L, arg, META_CODE_OBJECT);
  if (!box->object) luaL_argerror(L, arg, "closed code object");
  return box->object;
}

/* ---- k:compile --------------------------------------------------------------------------- */

/* "(float32[:], int64)" of the types at the arguments from `first` on, which are dtypes or texts,
 * or one text with all of them; pushed. */
static const char *push_signature(lua_State *L, int first) {
  int last = lua_gettop(L);
  if (first == last && lua_type(L, first) == LUA_TSTRING && lua_tostring(L, first)[0] == '(') {
    lua_pushvalue(L, first);
    return lua_tostring(L, -1);
  }
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  luaL_addchar(&text, '(');
  for (int i = first; i <= last; i++) {
    roc_dtype dtype;
    bool is_dtype = lua_type(L, i) == LUA_TUSERDATA && roc_test_dtype(L, i, &dtype);
    if (!is_dtype && lua_type(L, i) != LUA_TSTRING) {
      luaL_typeerror(L, i, "dtype or a type such as \"float32[:]\"");
    }
    if (i > first) luaL_addstring(&text, ", ");
    luaL_addstring(&text, is_dtype ? roc_dtype_name(dtype) : lua_tostring(L, i));
  }
  luaL_addchar(&text, ')');
  luaL_pushresult(&text);
  return lua_tostring(L, -1);
}

void roc_kernel_take_types(lua_State *L, roc_kernel_box *box, int first) {
  uint32_t nparams = box->kernel->nparams, ntypes;
  const char *text = push_signature(L, first);
  roc_arg_type *types = lua_newuserdatauv(L, (nparams + 1) * sizeof *types, 0);
  roc_array *arrays = lua_newuserdatauv(L, (nparams + 1) * sizeof *arrays, 0);
  memset(types, 0, (nparams + 1) * sizeof *types);
  memset(arrays, 0, (nparams + 1) * sizeof *arrays);
  roc_error err = ROC_ERROR_INIT;
  if (roc_fe_parse_signature(text, types, nparams + 1, &ntypes, &err) != ROC_OK) {
    luaL_argerror(L, first, err.message);
  }
  if (ntypes != nparams) {
    luaL_error(L, "kernel '%s' takes %d argument%s, got %s%d type%s", box->kernel->name,
               (int)nparams, nparams == 1 ? "" : "s", ntypes > nparams ? "at least " : "",
               (int)ntypes, ntypes == 1 ? "" : "s");
  }
  roc_arg_type *kept = box->signature;
  box->signature = types;
  roc_kernel_signature_values(box, arrays);
  box->signature = kept;
}

/* How to compile: argument 2 is a target, or a table {target =, level =, check =,
 * code_object_version =}. */
typedef struct order {
  const char *target;
  int level;               /* -1: the default */
  uint32_t object_version; /* 0: the default */
  bool check;              /* the kernel's own option unless the table has one */
} order;

static const char *const order_fields[] = {"target", "level", "check", "code_object_version"};

static void refuse_unknown_fields(lua_State *L) {
  enum { NFIELDS = sizeof order_fields / sizeof *order_fields };
  for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) {
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
    int i = 0;
    while (i < NFIELDS && !(name && strcmp(name, order_fields[i]) == 0)) i++;
    if (i < NFIELDS) continue;
    luaL_argerror(L, 2,
                  lua_pushfstring(L,
                                  "unknown option '%s'; known are target, level, check and "
                                  "code_object_version",
                                  luaL_tolstring(L, -2, NULL)));
  }
}

/* The integer field of the table, or `absent`. */
static int read_field(lua_State *L, const char *name, int low, int high, int absent) {
  int value = absent;
  if (lua_getfield(L, 2, name) != LUA_TNIL) {
    int is_integer;
    lua_Integer given = lua_tointegerx(L, -1, &is_integer);
    if (!is_integer || lua_type(L, -1) != LUA_TNUMBER || given < low || given > high) {
      luaL_argerror(L, 2,
                    lua_pushfstring(L, "%s: an integer from %d to %d expected", name, low, high));
    }
    value = (int)given;
  }
  lua_pop(L, 1);
  return value;
}

static order read_order(lua_State *L, const roc_kernel_box *box) {
  order o = {.level = -1, .check = box->kernel->options.check};
  if (lua_istable(L, 2)) {
    refuse_unknown_fields(L);
    o.level = read_field(L, "level", 0, 3, -1);
    o.object_version = (uint32_t)read_field(L, "code_object_version", 4, 6, 0);
    if (lua_getfield(L, 2, "check") != LUA_TNIL) o.check = lua_toboolean(L, -1);
    lua_getfield(L, 2, "target");
    lua_replace(L, 2);
    lua_pop(L, 1);
  }
  o.target = roc_kernel_check_target(L, 2);
  return o;
}

static roc_status build(roc_kernel_box *box, const order *o, bool has_types, roc_codeobj **out,
                        roc_error *err) {
  roc_cg_options options = roc_jit_options_for(o->target, o->level);
  options.object_version = o->object_version;
  bool own_check = box->kernel->options.check;
  box->kernel->options.check = o->check;
  roc_status status =
      has_types ? roc_jit_kernel_object_for(box->kernel, &options, ROC_JIT_COMMON, out, NULL, err)
                : roc_jit_kernel_object(box->kernel, &options, out, err);
  box->kernel->options.check = own_check;
  return status;
}

/* k:compile(target [, type…]) -> code object: for these types, else those of the signature, else of
 * the last launch. */
int roc_kernel_m_compile(lua_State *L) {
  roc_kernel_box *box = roc_check_kernel(L, 1);
  order o = read_order(L, box);
  bool has_types = lua_gettop(L) > 2 || (box->kernel->nparams == 0 && !box->kernel->has_classes);
  roc_kernel_read_cells(L, box, 1);
  if (has_types) roc_kernel_take_types(L, box, 3);
  roc_codeobj **out = roc_push_code_object(L);
  roc_error err = ROC_ERROR_INIT;
  roc_status status = build(box, &o, has_types, out, &err);
  if (status != ROC_OK) return roc_kernel_raise(L, box, &err);
  return 1;
}

/* ---- resources --------------------------------------------------------------------------- */

static void set_integer(lua_State *L, const char *name, lua_Integer value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, name);
}

static void push_occupancy(lua_State *L, const roc_target_facts *facts,
                           const roc_target_resources *r) {
  lua_createtable(L, 0, 4);
  set_integer(L, "waves", r->waves);
  set_integer(L, "max", r->max_waves);
  set_integer(L, "workgroup", r->workgroup);
  lua_pushstring(L, facts->limits[r->limit].name);
  lua_setfield(L, -2, "limit");
}

/* The workgroup is argument `arg`. */
static int push_resources(lua_State *L, const roc_codeobj *object, int arg, lua_Integer workgroup) {
  const roc_target_facts *facts;
  roc_target_resources r;
  roc_error err = ROC_ERROR_INIT;
  roc_status status = roc_jit_resources_of(object, (uint32_t)workgroup, &facts, &r, &err);
  if (status == ROC_INVALID) return luaL_argerror(L, arg, err.message);
  if (status != ROC_OK) return roc_lua_raise(L, &err);
  lua_createtable(L, 0, (int)facts->nnumbers + 3);
  for (uint32_t i = 0; i < facts->nnumbers; i++) {
    if (r.numbers[i] == ROC_TARGET_UNKNOWN) continue;
    set_integer(L, facts->numbers[i].name, (lua_Integer)r.numbers[i]);
  }
  set_integer(L, "code_object_bytes", (lua_Integer)object->nbytes);
  lua_pushstring(L, object->target);
  lua_setfield(L, -2, "target");
  push_occupancy(L, facts, &r);
  lua_setfield(L, -2, "occupancy");
  return 1;
}

static lua_Integer opt_workgroup(lua_State *L, int arg) {
  lua_Integer items = luaL_optinteger(L, arg, 0);
  luaL_argcheck(
      L, items >= 0 && items <= INT32_MAX, arg,
      "work-items of a workgroup expected, or 0 for the workgroup that roclua would choose");
  return items;
}

/* For the types of the last launch, or the signature; the object is pushed. */
static const roc_codeobj *push_object(lua_State *L, roc_kernel_box *box, const char *target) {
  roc_codeobj **out = roc_push_code_object(L);
  roc_cg_options options = roc_jit_options_for(target, -1);
  roc_error err = ROC_ERROR_INIT;
  roc_status status = roc_jit_kernel_object(box->kernel, &options, out, &err);
  if (status != ROC_OK) roc_kernel_raise(L, box, &err);
  return *out;
}

/* k:resources([target [, workgroup]]): for the types of the last launch, or the signature */
int roc_kernel_m_resources(lua_State *L) {
  lua_settop(L, 3);
  roc_kernel_box *box = roc_check_kernel(L, 1);
  const char *target = roc_kernel_check_target(L, 2);
  lua_Integer workgroup = opt_workgroup(L, 3);
  return push_resources(L, push_object(L, box, target), 3, workgroup);
}

int roc_kernel_push_form(lua_State *L, roc_kernel_box *box, const char *target, const char *form) {
  const roc_codeobj *object = push_object(L, box, target);
  roc_str *text = roc_kernel_push_text(L);
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_target_convert(target, form, object->bytes, object->nbytes, text, &err), &err);
  lua_pushlstring(L, roc_str_text(text), text->len);
  return 1;
}

/* ---- several kernels in one code object -------------------------------------------------- */

/* The list at argument 3, {{bitcode =, symbol =}, …}, in a block that is collected with the call;
 * the strings stay in the tables. */
static roc_cg_part *check_parts(lua_State *L, uint32_t *out_count) {
  luaL_checktype(L, 3, LUA_TTABLE);
  lua_Integer count = luaL_len(L, 3);
  luaL_argcheck(L, count > 0 && count <= UINT16_MAX, 3, "kernels expected");
  roc_cg_part *parts = lua_newuserdatauv(L, (size_t)count * sizeof *parts, 0);
  for (lua_Integer i = 0; i < count; i++) {
    bool is_good = lua_geti(L, 3, i + 1) == LUA_TTABLE;
    is_good = is_good && lua_getfield(L, -1, "bitcode") == LUA_TSTRING &&
              lua_getfield(L, -2, "symbol") == LUA_TSTRING;
    if (!is_good) luaL_argerror(L, 3, "{bitcode = string, symbol = string} expected");
    parts[i].bitcode = lua_tolstring(L, -2, &parts[i].nbytes);
    parts[i].symbol = lua_tostring(L, -1);
    lua_pop(L, 3);
  }
  *out_count = (uint32_t)count;
  return parts;
}

/* core.join_code(target, level, parts) -> bytes of one code object with all kernels; level nil: the
 * default */
static int join_code(lua_State *L) {
  const char *target = roc_kernel_check_target(L, 1);
  lua_Integer level = luaL_optinteger(L, 2, -1);
  luaL_argcheck(L, level >= -1 && level <= 3, 2, "a level from 0 to 3 expected");
  uint32_t nparts;
  const roc_cg_part *parts = check_parts(L, &nparts);
  roc_cg_options options = roc_jit_options_for(target, (int)level);
  roc_jit_let_interrupt(&options, roc_get_session(L));
  roc_str *bytes = roc_kernel_push_text(L);
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_jit_join(parts, nparts, &options, bytes, &err), &err);
  lua_pushlstring(L, roc_str_text(bytes), bytes->len);
  return 1;
}

/* ---- methods ----------------------------------------------------------------------------- */

static int code_m_resources(lua_State *L) {
  return push_resources(L, roc_check_code_object(L, 1), 2, opt_workgroup(L, 2));
}

/* co:save(path): writes the whole file or none */
static int code_m_save(lua_State *L) {
  const roc_codeobj *object = roc_check_code_object(L, 1);
  size_t len;
  const char *path = luaL_checklstring(L, 2, &len);
  luaL_argcheck(L, strlen(path) == len && len > 0, 2, "a file name expected");
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_file_write(path, object->bytes, object->nbytes, &err), &err);
  lua_settop(L, 1);
  return 1;
}

static int code_m_close(lua_State *L) {
  code_box *box = luaL_checkudata(L, 1, META_CODE_OBJECT);
  roc_codeobj *object = box->object;
  box->object = NULL;
  if (object) object->free(object);
  return 0;
}

static int field_bytes(lua_State *L, const roc_codeobj *object) {
  lua_pushlstring(L, (const char *)object->bytes, object->nbytes);
  return 1;
}

static int field_target(lua_State *L, const roc_codeobj *object) {
  lua_pushstring(L, object->target);
  return 1;
}

static int field_entry(lua_State *L, const roc_codeobj *object) {
  lua_pushstring(L, object->entry);
  return 1;
}

static int field_kernarg_bytes(lua_State *L, const roc_codeobj *object) {
  lua_pushinteger(L, object->kernarg_bytes);
  return 1;
}

static int field_shared_bytes(lua_State *L, const roc_codeobj *object) {
  lua_pushinteger(L, object->shared_bytes);
  return 1;
}

static const struct {
  const char *name;
  int (*push)(lua_State *L, const roc_codeobj *object);
} fields[] = {{"bytes", field_bytes},
              {"target", field_target},
              {"entry", field_entry},
              {"kernarg_bytes", field_kernarg_bytes},
              {"shared_bytes", field_shared_bytes}};

/* Upvalue 1: the methods. */
static int code_mm_index(lua_State *L) {
  luaL_checkudata(L, 1, META_CODE_OBJECT);
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    if (strcmp(name, fields[i].name) == 0) return fields[i].push(L, roc_check_code_object(L, 1));
  }
  if (lua_type(L, 2) != LUA_TSTRING) return 0;
  roc_near near = roc_near_to_key(L);
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    roc_near_offer(&near, fields[i].name, fields[i].name);
  }
  return roc_fail_field(L, META_CODE_OBJECT, NULL, lua_upvalueindex(1), &near);
}

static int code_mm_tostring(lua_State *L) {
  const code_box *box = luaL_checkudata(L, 1, META_CODE_OBJECT);
  if (!box->object) {
    lua_pushliteral(L, META_CODE_OBJECT ": closed");
  } else {
    lua_pushfstring(L, META_CODE_OBJECT ": %s for %s, %I bytes", box->object->entry,
                    box->object->target, (LUAI_UACINT)box->object->nbytes);
  }
  return 1;
}

static const luaL_Reg methods[] = {
    {"save", code_m_save}, {"close", code_m_close}, {"resources", code_m_resources}, {NULL, NULL}};
static const luaL_Reg meta[] = {{"__gc", code_m_close},
                                {"__close", code_m_close},
                                {"__tostring", code_mm_tostring},
                                {NULL, NULL}};

/* core.write_file(path, bytes): writes the whole file or none. */
static int write_file(lua_State *L) {
  size_t nbytes;
  const char *path = luaL_checkstring(L, 1), *bytes = luaL_checklstring(L, 2, &nbytes);
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_file_write(path, bytes, nbytes, &err), &err);
  return 0;
}

static const luaL_Reg functions[] = {
    {"join_code", join_code}, {"write_file", write_file}, {NULL, NULL}};

void roc_open_kernel_object(lua_State *L) {
  if (roc_class_new(L, META_CODE_OBJECT, meta)) {
    luaL_newlib(L, methods);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "methods");
    lua_pushcclosure(L, code_mm_index, 1);
    lua_setfield(L, -2, "__index");
  }
  lua_getfield(L, -1, "methods");
  lua_setfield(L, -3, "code_object_methods");
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
