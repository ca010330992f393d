/* roc.Kernel: making kernels, and inspecting them.
 *
 * lua/roc/kernel.lua checks the script's arguments and describes the program; core.kernel_new makes
 * a kernel of that description. Launching is in kernel_launch.c. */
#include <string.h>

#include "base/alloc.h"
#include "bindings/device/device_bind.h"
#include "bindings/kernel/kernel_bind.h"
#include "bindings/support/unknown.h"
#include "frontend/types/signature.h"
#include "jit/driver.h"
#include "jit/fit.h"

/* ---- making ---- */

static bool flag(lua_State *L, int table, const char *name) {
  lua_getfield(L, table, name);
  bool value = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

/* Options as kernel.lua checked them; the name stays on the stack. */
static roc_fe_options read_options(lua_State *L, int desc) {
  roc_fe_options options = {.check = flag(L, desc, "check"),
                            .contract = flag(L, desc, "contract"),
                            .fastmath = flag(L, desc, "fastmath"),
                            .number_is_f32 = flag(L, desc, "number_is_f32")};
  if (lua_getfield(L, desc, "workgroup") == LUA_TTABLE) {
    for (int d = 0; d < 3; d++) {
      lua_rawgeti(L, -1, d + 1);
      options.workgroup[d] = (uint32_t)lua_tointeger(L, -1);
      lua_pop(L, 1);
    }
  }
  lua_pop(L, 1);
  lua_getfield(L, desc, "name");
  options.kernel_name = luaL_checkstring(L, -1);
  return options;
}

/* Room for one type more than there are parameters: one too many is then reported as a wrong
 * count. */
static void read_signature(lua_State *L, roc_kernel_box *box, int desc) {
  if (lua_getfield(L, desc, "signature") == LUA_TSTRING) {
    uint32_t nparams = box->kernel->nparams, ntypes;
    box->signature = roc_zalloc((nparams + 1) * sizeof *box->signature);
    if (!box->signature) luaL_error(L, "out of memory: no room for the signature");
    roc_error err = ROC_ERROR_INIT;
    roc_status status =
        roc_fe_parse_signature(lua_tostring(L, -1), box->signature, nparams + 1, &ntypes, &err);
    if (status != ROC_OK) luaL_error(L, "%s", err.message); /* kernel.lua adds the position */
    if (ntypes != nparams) {
      luaL_error(L, "bad signature (kernel '%s' has %d parameter%s, the signature %d)",
                 box->kernel->name, (int)nparams, nparams == 1 ? "" : "s", (int)ntypes);
    }
  }
  lua_pop(L, 1);
}

/* The specialisation for kernel->values on `device`; for a device that runs kernels in Lua the
 * types alone. */
static roc_status compile_now(roc_kernel_box *box, roc_rt_device *device, roc_error *err) {
  roc_jit_spec *spec;
  if (!roc_rt_device_driver(device)->props.runs_in_lua) {
    return roc_jit_kernel_select(box->kernel, device, NULL, &spec, err);
  }
  roc_jit_kernel_classify(box->kernel);
  roc_str text = ROC_STR_INIT;
  roc_status status = roc_jit_kernel_dump_types(box->kernel, &text, err);
  roc_str_deinit(&text);
  return status;
}

/* The specialisation for the signature's types, before the first launch; deferred: only the
 * types. */
static void compile_signature(lua_State *L, roc_kernel_box *box, int kernel, bool is_deferred) {
  if (!box->signature) return;
  roc_kernel_read_cells(L, box, kernel);
  roc_array *arrays = lua_newuserdatauv(L, (box->kernel->nparams + 1) * sizeof *arrays, 0);
  roc_kernel_signature_values(box, arrays);
  if (is_deferred) {
    roc_jit_kernel_classify(box->kernel);
  } else {
    roc_error err = ROC_ERROR_INIT;
    roc_status status = compile_now(box, roc_current_device(L), &err);
    if (status != ROC_OK) roc_kernel_raise(L, box, &err);
  }
  lua_pop(L, 1);
}

static void make_kernel(lua_State *L, roc_kernel_box *box, int desc, int program) {
  roc_kernel_describe(L, box, program);
  lua_setiuservalue(L, -2, KERNEL_UV_CELLS);
  roc_fe_options options = read_options(L, desc);
  box->kernel = roc_jit_kernel_new(&options, roc_kernel_take_program(box));
  lua_pop(L, 1);
  roc_kernel_commit_cells(box);
  if (box->kernel) box->stages = roc_zalloc((box->kernel->nparams + 1) * sizeof *box->stages);
  if (!box->stages) luaL_error(L, "out of memory: no room for a kernel");
  box->kernel->session = roc_get_session(L);
}

/* core.kernel_new{name=, fn=, program=, recollect=, params=, check=, …} */
static int kernel_new(lua_State *L) {
  static const struct {
    const char *field;
    int slot;
  } kept[] = {{"fn", KERNEL_UV_FUNCTION},
              {"program", KERNEL_UV_PROGRAM},
              {"recollect", KERNEL_UV_RECOLLECT},
              {"params", KERNEL_UV_PARAMS}};
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_getfield(L, 1, "program");
  roc_kernel_box *box = lua_newuserdatauv(L, sizeof *box, KERNEL_UV_COUNT);
  *box = (roc_kernel_box){.current = roc_get_current(L)};
  luaL_setmetatable(L, ROC_META_KERNEL);
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
    lua_getfield(L, 1, kept[i].field);
    lua_setiuservalue(L, 3, kept[i].slot);
  }
  make_kernel(L, box, 1, 2);
  read_signature(L, box, 1);
  compile_signature(L, box, 3, flag(L, 1, "deferred"));
  lua_settop(L, 3);
  return 1;
}

roc_jit_frozen *roc_kernel_freeze(lua_State *L, int idx) {
  const roc_kernel_box *box = roc_check_kernel(L, idx);
  idx = lua_absindex(L, idx);
  luaL_checkstack(L, 12, NULL);
  roc_kernel_box *copy = lua_newuserdatauv(L, sizeof *copy, KERNEL_UV_COUNT);
  int at = lua_gettop(L);
  *copy = (roc_kernel_box){.current = box->current};
  luaL_setmetatable(L, ROC_META_KERNEL);
  lua_getiuservalue(L, idx, KERNEL_UV_RECOLLECT);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, at, KERNEL_UV_RECOLLECT);
  lua_call(L, 0, 1);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, at, KERNEL_UV_PROGRAM);
  roc_kernel_describe(L, copy, -1);
  lua_setiuservalue(L, at, KERNEL_UV_CELLS);
  copy->kernel = roc_jit_kernel_new(&box->kernel->options, roc_kernel_take_program(copy));
  if (!copy->kernel) luaL_error(L, "out of memory: no room for a kernel");
  roc_kernel_commit_cells(copy);
  roc_kernel_read_cells(L, copy, at);
  roc_jit_kernel *taken = copy->kernel;
  copy->kernel = NULL;
  roc_jit_frozen *frozen = roc_jit_freeze(taken, box->signature);
  if (!frozen) luaL_error(L, "out of memory: no room for a kernel");
  lua_settop(L, at - 1);
  return frozen;
}

static int kernel_mm_gc(lua_State *L) {
  roc_kernel_box *box = luaL_checkudata(L, 1, ROC_META_KERNEL);
  if (box->stages) roc_kernel_drop_temporaries(box);
  roc_kernel_drop_constants(box);
  roc_jit_kernel_free(box->kernel);
  roc_jit_program_free(box->building);
  roc_free(box->cells);
  roc_free(box->new_cells);
  roc_free(box->signature);
  roc_free(box->stages);
  *box = (roc_kernel_box){0};
  return 0;
}

/* ---- inspecting ---- */

static int finish_text(lua_State *L, roc_kernel_box *box, roc_status status, const roc_str *text,
                       const roc_error *err) {
  if (status != ROC_OK) return roc_kernel_raise(L, box, err);
  lua_pushlstring(L, roc_str_text(text), text->len);
  return 1;
}

/* Classifies the arguments from index 2 on, as a launch would. */
static void classify_args(lua_State *L, roc_kernel_box *box) {
  int count = lua_gettop(L) - 1;
  do {
    roc_kernel_read_cells(L, box, 1);
  } while (!roc_kernel_read_args(L, box, 2, count, NULL, NULL)); /* only their types are used */
  roc_jit_kernel_classify(box->kernel);
}

/* k:inspect_types([args…]): of a launch with these arguments, else of the last one */
static int kernel_m_inspect_types(lua_State *L) {
  roc_kernel_box *box = roc_check_kernel(L, 1);
  if (lua_gettop(L) > 1) classify_args(L, box);
  roc_str *text = roc_kernel_push_text(L);
  roc_error err = ROC_ERROR_INIT;
  roc_status status = roc_jit_kernel_dump_types(box->kernel, text, &err);
  return finish_text(L, box, status, text, &err);
}

static int kernel_m_inspect_ir(lua_State *L) {
  roc_kernel_box *box = roc_check_kernel(L, 1);
  roc_str *text = roc_kernel_push_text(L);
  roc_error err = ROC_ERROR_INIT;
  roc_status status = roc_jit_kernel_dump_ir(box->kernel, text, &err);
  return finish_text(L, box, status, text, &err);
}

static int inspect(lua_State *L, roc_cg_stage stage, int level, uint32_t object_version,
                   const char *symbol) {
  roc_kernel_box *box = roc_check_kernel(L, 1);
  roc_cg_options options = roc_jit_options_for(roc_kernel_check_target(L, 2), level);
  options.object_version = object_version;
  options.symbol = symbol;
  roc_str *text = roc_kernel_push_text(L);
  roc_error err = ROC_ERROR_INIT;
  roc_status status = roc_jit_kernel_dump(box->kernel, &options, stage, text, &err);
  return finish_text(L, box, status, text, &err);
}

/* k:inspect_llvm([target [, "opt"]]): LLVM IR before or after LLVM's passes */
static int kernel_m_inspect_llvm(lua_State *L) {
  static const char *const stages[] = {"raw", "opt", NULL};
  int stage = roc_check_option(L, 3, "raw", stages);
  return inspect(L, stage ? ROC_CG_LLVM_OPT : ROC_CG_LLVM, -1, 0, NULL);
}

/* k:inspect_asm([target [, form]]): assembly; or a form of the code object that is text */
static int kernel_m_inspect_asm(lua_State *L) {
  if (lua_isnoneornil(L, 3)) return inspect(L, ROC_CG_ASM, -1, 0, NULL);
  const char *target = roc_kernel_check_target(L, 2), *form = luaL_checkstring(L, 3);
  return roc_kernel_push_form(L, roc_check_kernel(L, 1), target, form);
}

/* k:dump(target, stage [, level [, code object version [, symbol]]]): "llvm", "llvm.opt", "asm",
 * "obj" or "bitcode" (for core.join_code); for rocluac */
static int kernel_m_dump(lua_State *L) {
  roc_cg_stage stage;
  lua_Integer level = luaL_optinteger(L, 4, -1), version = luaL_optinteger(L, 5, 0);
  luaL_argcheck(L, roc_jit_stage_from_name(luaL_checkstring(L, 3), &stage), 3,
                "llvm, llvm.opt, asm, obj or bitcode expected");
  luaL_argcheck(L, level >= -1 && level <= 3, 4, "a level from 0 to 3 expected");
  luaL_argcheck(L, version == 0 || (version >= 4 && version <= 6), 5, "4, 5 or 6 expected");
  return inspect(L, stage, (int)level, (uint32_t)version, luaL_optstring(L, 6, NULL));
}

/* k:sim_source(args…): the typed kernel as Lua text for these arguments, then its captured
 * arrays. */
static int kernel_m_sim_source(lua_State *L) {
  roc_kernel_box *box = roc_check_kernel(L, 1);
  classify_args(L, box);
  roc_str *text = roc_kernel_push_text(L);
  roc_error err = ROC_ERROR_INIT;
  roc_status status = roc_jit_kernel_print_lua(box->kernel, text, &err);
  finish_text(L, box, status, text, &err);
  return 1 + roc_kernel_push_captured(L, box);
}

/* k:sim_names() -> of each captured array that k:sim_source gives, its name in the kernel */
static int kernel_m_sim_names(lua_State *L) {
  const roc_jit_program *program = roc_check_kernel(L, 1)->kernel->program;
  lua_createtable(L, (int)program->narrays, 0);
  for (uint32_t i = 0; i < program->narrays; i++) {
    lua_pushstring(L, program->arrays[i].name);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* k:sim_scalars() -> for each parameter that is no array, the number or boolean that the arguments
 * of k:sim_source gave it: the signature may have rounded it. */
static int kernel_m_sim_scalars(lua_State *L) {
  const roc_kernel_box *box = roc_check_kernel(L, 1);
  lua_createtable(L, (int)box->kernel->nparams, 0);
  for (uint32_t i = 0; i < box->kernel->nparams; i++) {
    const roc_jit_value *v = &box->kernel->values[i];
    if (v->array) continue;
    roc_push_scalar(L, v->scalar);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* k:sim_writes() -> for each parameter, whether the kernel stores to it; of the last launch's types
 */
static int kernel_m_sim_writes(lua_State *L) {
  roc_kernel_box *box = roc_check_kernel(L, 1);
  uint32_t count = box->kernel->nparams;
  bool *writes = lua_newuserdatauv(L, (count + 1) * sizeof *writes, 0);
  roc_error err = ROC_ERROR_INIT;
  if (roc_jit_kernel_writes(box->kernel, writes, &err)) return roc_kernel_raise(L, box, &err);
  lua_createtable(L, (int)count, 0);
  for (uint32_t i = 0; i < count; i++) {
    lua_pushboolean(L, writes[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* k:hints() -> list of hints: sentences about what is probably unintended */
static int kernel_m_hints(lua_State *L) {
  const roc_kernel_box *box = roc_check_kernel(L, 1);
  roc_jit_kernel_look_for_hints(box->kernel);
  lua_newtable(L);
  for (int i = 0; i < ROC_JIT_HINTS; i++) {
    const roc_str *hint = &box->kernel->hints[i];
    if (hint->len == 0) continue;
    lua_pushlstring(L, roc_str_text(hint), hint->len);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  }
  if (box->plain_copies >= KERNEL_HINT_COPIES) {
    roc_kernel_push_copy_hint(L, box);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  }
  return 1;
}

/* k:specialisations() -> how many are kept, how many were ever compiled */
static int kernel_m_specialisations(lua_State *L) {
  roc_kernel_box *box = roc_check_kernel(L, 1);
  lua_pushinteger(L, box->kernel->nspecs);
  lua_pushinteger(L, (lua_Integer)box->kernel->ncompiles);
  return 2;
}

/* k:times() -> milliseconds of each stage of the compile made last; nil before the first */
static int kernel_m_times(lua_State *L) {
  const roc_kernel_box *box = roc_check_kernel(L, 1);
  if (box->kernel->ncompiles == 0) return 0;
  const roc_jit_times *t = &box->kernel->times;
  const roc_cg_times *c = &t->codegen;
  const struct {
    const char *name;
    double ms;
  } stages[] = {{"front_end", t->front_end_ms},
                {"passes", t->passes_ms},
                {"open", t->back_end_ms - c->build_ms - c->verify_ms - c->opt_ms - c->emit_ms},
                {"build", c->build_ms},
                {"verify", c->verify_ms},
                {"optimise", c->opt_ms},
                {"emit", c->emit_ms},
                {"load", t->load_ms}};
  size_t count = sizeof stages / sizeof *stages;
  lua_createtable(L, 0, (int)count);
  for (size_t i = 0; i < count; i++) {
    lua_pushnumber(L, stages[i].ms);
    lua_setfield(L, -2, stages[i].name);
  }
  return 1;
}

static int kernel_m_params(lua_State *L) {
  roc_check_kernel(L, 1);
  lua_getiuservalue(L, 1, KERNEL_UV_PARAMS);
  return 1;
}

static int kernel_m_function(lua_State *L) {
  roc_check_kernel(L, 1);
  lua_getiuservalue(L, 1, KERNEL_UV_FUNCTION);
  return 1;
}

/* ---- the class ---- */

static int kernel_mm_index(lua_State *L) {
  if (lua_type(L, 2) == LUA_TTABLE) return roc_kernel_index_config(L);
  roc_kernel_box *box = roc_check_kernel(L, 1);
  if (lua_type(L, 2) != LUA_TSTRING) {
    const char *shown = roc_push_shown(L, 2);
    const char *meant =
        lua_type(L, 2) != LUA_TNUMBER
            ? ""
            : lua_pushfstring(L, ": write k[{%s, workgroup}](...), or k:forall(%s)(...)", shown,
                              shown);
    return luaL_error(L,
                      "bad launch configuration (k[{groups, workgroup [, stream [, shared]]}] "
                      "expected, got k[%s]%s)",
                      shown, meant);
  }
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  if (strcmp(lua_tostring(L, 2), "name") != 0) {
    roc_near near = roc_near_to_key(L);
    roc_near_offer(&near, "name", "name");
    return roc_fail_field(L, ROC_META_KERNEL, NULL, lua_upvalueindex(1), &near);
  }
  lua_pushstring(L, box->kernel->name);
  return 1;
}

static int kernel_mm_call(lua_State *L) {
  const roc_kernel_box *box = roc_check_kernel(L, 1);
  return luaL_error(
      L,
      "kernel '%s' is called without a launch configuration; write k[{groups, workgroup}](…), "
      "k:forall(n)(…) or k:launch({grid=n}, …)",
      box->kernel->name);
}

static int kernel_mm_tostring(lua_State *L) {
  const roc_kernel_box *box = luaL_checkudata(L, 1, ROC_META_KERNEL);
  lua_pushfstring(L, "roc.Kernel: %s", box->kernel ? box->kernel->name : "closed");
  return 1;
}

static const luaL_Reg methods[] = {{"launch", roc_kernel_m_launch},
                                   {"forall", roc_kernel_m_forall},
                                   {"inspect_types", kernel_m_inspect_types},
                                   {"inspect_ir", kernel_m_inspect_ir},
                                   {"inspect_llvm", kernel_m_inspect_llvm},
                                   {"inspect_asm", kernel_m_inspect_asm},
                                   {"hints", kernel_m_hints},
                                   {"dump", kernel_m_dump},
                                   {"compile", roc_kernel_m_compile},
                                   {"resources", roc_kernel_m_resources},
                                   {"show", roc_kernel_m_show},
                                   {"specialisations", kernel_m_specialisations},
                                   {"times", kernel_m_times},
                                   {"sim_source", kernel_m_sim_source},
                                   {"sim_names", kernel_m_sim_names},
                                   {"sim_scalars", kernel_m_sim_scalars},
                                   {"sim_writes", kernel_m_sim_writes},
                                   {"params", kernel_m_params},
                                   {"fn", kernel_m_function},
                                   {NULL, NULL}};
static const luaL_Reg meta[] = {{"__gc", kernel_mm_gc},
                                {"__call", kernel_mm_call},
                                {"__tostring", kernel_mm_tostring},
                                {NULL, NULL}};

void roc_open_kernel(lua_State *L) {
  if (roc_class_new(L, ROC_META_KERNEL, meta)) {
    luaL_newlib(L, methods);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "methods");
    lua_pushcclosure(L, kernel_mm_index, 1);
    lua_setfield(L, -2, "__index");
  }
  lua_getfield(L, -1, "methods");
  lua_setfield(L, -3, "kernel_methods");
  lua_pop(L, 1);
  lua_pushcfunction(L, kernel_new);
  lua_setfield(L, -2, "kernel_new");
  roc_open_kernel_capture(L);
  roc_open_kernel_args(L);
  roc_open_kernel_sim(L);
  roc_open_kernel_launch(L);
  roc_open_kernel_object(L);
  roc_open_kernel_ahead(L);
  roc_open_kernel_show(L);
  roc_open_tune(L);
}
