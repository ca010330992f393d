/* k:show: what it takes is checked here, and lua/roc/show.lua makes its text. */
#include <string.h>

#include "bindings/kernel/kernel_bind.h"
#include "jit/checks.h"
#include "jit/compile.h"

static const char describe_key; /* its address is the registry key of show.lua's function */

/* core.set_kernel_describer(f): f(kernel, target) gives the text. */
static int set_kernel_describer(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &describe_key);
  return 0;
}

/* core.kernel_sources(kernel) -> {[chunk as messages show it] = text}, of all that it reaches */
static int kernel_sources(lua_State *L) {
  const roc_jit_program *program = roc_check_kernel(L, 1)->kernel->program;
  lua_newtable(L);
  for (uint32_t i = 0; i < program->fe.nfuncs; i++) {
    const roc_ast_chunk *chunk = program->chunks[i]->ast;
    lua_pushstring(L, chunk->text + chunk->lead);
    lua_setfield(L, -2, chunk->name);
  }
  return 1;
}

/* core.kernel_checks(kernel, target) -> its IR there, each check that stays with the reason as a
 * comment */
static int kernel_checks(lua_State *L) {
  roc_kernel_box *box = roc_check_kernel(L, 1);
  const char *target = roc_kernel_check_target(L, 2);
  roc_str *text = roc_kernel_push_text(L);
  roc_error err = ROC_ERROR_INIT;
  roc_status status = roc_jit_kernel_dump_checks(box->kernel, target, text, &err);
  if (status != ROC_OK) return roc_kernel_raise(L, box, &err);
  lua_pushlstring(L, roc_str_text(text), text->len);
  return 1;
}

/* The classes that a compile of a signature has: making the IR settles them. */
static roc_status settle(roc_jit_kernel *kernel, roc_error *err) {
  roc_ir_module *module = NULL;
  roc_jit_kernel_classify(kernel);
  ROC_TRY(roc_jit_compile_ir(kernel, &module, err));
  roc_ir_module_free(module);
  return ROC_OK;
}

/* (kernel, target, whether kernel->values are new types) -> text */
static int describe(lua_State *L) {
  roc_kernel_box *box = roc_check_kernel(L, 1);
  roc_error err = ROC_ERROR_INIT;
  roc_status status = lua_toboolean(L, 3) ? settle(box->kernel, &err)
                                          : roc_jit_kernel_check_classes(box->kernel, &err);
  if (status != ROC_OK) return roc_kernel_raise(L, box, &err);
  lua_settop(L, 2);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &describe_key);
  lua_insert(L, 1);
  lua_call(L, 2, 1);
  return 1;
}

/* A type is a dtype, or a text: the name of one, with a bracket or in parentheses. */
static bool is_type(lua_State *L, int arg) {
  roc_dtype dtype;
  if (lua_type(L, arg) != LUA_TSTRING) return !lua_isnoneornil(L, arg);
  size_t len;
  const char *text = lua_tolstring(L, arg, &len);
  return strpbrk(text, "([") || roc_dtype_from_name(text, len, &dtype);
}

/* k:show([target] [, type…]) -> text: for these types, as k:compile takes them, else for those of the
 * last launch or the signature.  The kernel's types are afterwards what they were. */
int roc_kernel_m_show(lua_State *L) {
  roc_kernel_box *box = roc_check_kernel(L, 1);
  int first = is_type(L, 2) ? 2 : 3, top = lua_gettop(L);
  const char *target = roc_kernel_check_target(L, first == 3 ? 2 : top + 1);
  roc_jit_kernel *kernel = box->kernel;
  bool has_types = top >= first || (kernel->nparams == 0 && !kernel->has_classes);
  roc_kernel_read_cells(L, box, 1);
  if (has_types) roc_kernel_take_types(L, box, first);
  uint32_t n = kernel->nparams + kernel->program->narrays;
  roc_arg_type *kept = lua_newuserdatauv(L, (n + 1) * sizeof *kept, 0);
  memcpy(kept, kernel->classes, n * sizeof *kept);
  bool had_classes = kernel->has_classes;
  lua_pushcfunction(L, describe);
  lua_pushvalue(L, 1);
  lua_pushstring(L, target);
  lua_pushboolean(L, has_types);
  int status = lua_pcall(L, 3, 1, 0);
  memcpy(kernel->classes, kept, n * sizeof *kept);
  kernel->has_classes = had_classes;
  return status == LUA_OK ? 1 : lua_error(L);
}

static const luaL_Reg functions[] = {{"set_kernel_describer", set_kernel_describer},
                                     {"kernel_sources", kernel_sources},
                                     {"kernel_checks", kernel_checks},
                                     {NULL, NULL}};

void roc_open_kernel_show(lua_State *L) {
  luaL_setfuncs(L, functions, 0);
}
