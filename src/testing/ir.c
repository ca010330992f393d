/* roc.core.testing.compiler.ir_*: the IR's text form through reader, verifier, analyses and passes,
 * for the specs.
 *
 * Each takes a text and gives a text.  A job's memory hangs on a userdata from the start, so that
 * an error raised by Lua on the way frees it. */
#include "base/alloc.h"
#include "bindings/support/bind.h"
#include "ir/narrow_group_ids.h"
#include "ir/parallel_regions.h"
#include "ir/check_elimination.h"
#include "ir/counted_loops.h"
#include "ir/early_exits.h"
#include "ir/optimize.h"
#include "ir/private_scalars.h"
#include "ir/print.h"
#include "ir/read.h"
#include "ir/uniform.h"
#include "ir/verify.h"
#include "ir/combined_checks.h"
#include "ir/resumed_loops.h"
#include "ir/launch_versioning.h"
#include "ir/loop_versioning.h"
#include "jit/driver.h"
#include "jit/fit.h"
#include "testing/testing.h"

static const char JOB_CLASS[] = "roc.IRJob";

typedef struct ir_job {
  roc_ir_module *module;
  roc_ir_uniform uniform;
  uint8_t *cuts;
  roc_str out;
} ir_job;

static int job_mm_gc(lua_State *L) {
  ir_job *job = luaL_checkudata(L, 1, JOB_CLASS);
  roc_ir_module_free(job->module);
  roc_ir_uniform_deinit(&job->uniform);
  roc_free(job->cuts);
  roc_str_deinit(&job->out);
  *job = (ir_job){0};
  return 0;
}

static const luaL_Reg job_mm_fn[] = {{"__gc", job_mm_gc}, {NULL, NULL}};

/* Reads and verifies argument 1; leaves the job on the stack. */
static ir_job *open_job(lua_State *L) {
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  ir_job *job = lua_newuserdatauv(L, sizeof *job, 0);
  *job = (ir_job){0};
  luaL_setmetatable(L, JOB_CLASS);
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_ir_read(text, len, &job->module, &err), &err);
  ROC_LUA_TRY(L, roc_ir_verify(job->module, &err), &err);
  return job;
}

static int push_text(lua_State *L, ir_job *job, roc_ir_note note) {
  roc_error err = ROC_ERROR_INIT;
  roc_ir_print(job->module, note, job, &job->out);
  if (job->out.failed) {
    roc_fail(&err, ROC_OOM, "out of memory");
    return roc_lua_raise(L, &err);
  }
  lua_pushlstring(L, roc_str_text(&job->out), job->out.len);
  return 1;
}

/* ir_roundtrip(text) -> text: read, verified, printed. */
static int ir_roundtrip(lua_State *L) {
  return push_text(L, open_job(L), NULL);
}

static const char *note_uniformity(void *ud, uint32_t inst) {
  static const char *const words[] = {"varying", "wave", "group"};
  const ir_job *job = ud;
  const roc_ir_inst *of = &job->module->insts.items[inst];
  bool has_level = of->type != ROC_VT_NONE || (of->nargs && roc_ir_has_regions(of));
  return has_level ? words[job->uniform.insts[inst]] : NULL;
}

/* ir_uniform(text) -> text with the uniformity of each result as a comment. */
static int ir_uniform(lua_State *L) {
  ir_job *job = open_job(L);
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_ir_uniform_init(&job->uniform, job->module, &err), &err);
  return push_text(L, job, note_uniformity);
}

static const char *note_cuts(void *ud, uint32_t inst) {
  uint8_t bits = ((const ir_job *)ud)->cuts[inst];
  return bits & ROC_IRF_CUT_GROUP ? "cut group" : bits & ROC_IRF_CUT_WAVE ? "cut wave" : NULL;
}

/* ir_parallel_regions(text) -> text with a comment where items meet. */
static int ir_parallel_regions(lua_State *L) {
  ir_job *job = open_job(L);
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_ir_find_cuts(job->module, &job->cuts, &err), &err);
  return push_text(L, job, note_cuts);
}

static int push_changed(lua_State *L, roc_status (*pass)(roc_ir_module *, roc_error *)) {
  ir_job *job = open_job(L);
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, pass(job->module, &err), &err);
  ROC_LUA_TRY(L, roc_ir_verify(job->module, &err), &err);
  return push_text(L, job, NULL);
}

/* ir_eliminate_checks(text) -> text without the checks that are proved. */
static int ir_eliminate_checks(lua_State *L) {
  return push_changed(L, roc_ir_eliminate_checks);
}

static int push_versioned(lua_State *L,
                          roc_status (*pass)(roc_ir_module *, bool defers, roc_error *)) {
  bool defers = lua_toboolean(L, 2);
  lua_settop(L, 1);
  ir_job *job = open_job(L);
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, pass(job->module, defers, &err), &err);
  ROC_LUA_TRY(L, roc_ir_verify(job->module, &err), &err);
  return push_text(L, job, NULL);
}

/* ir_version_loops(text [, defers]) -> text with loops that need no checks beside loops with them;
 * defers: checks that can wait until after a loop do. */
static int ir_version_loops(lua_State *L) {
  return push_versioned(L, roc_ir_version_loops);
}

/* ir_fit(text, target) -> text as the target's code generator gets it, whose narrow values are
 * found, too. */
static int ir_fit(lua_State *L) {
  const char *target = luaL_checkstring(L, 2);
  ir_job *job = open_job(L);
  uint8_t *narrow_vars = NULL;
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_jit_fit_target(job->module, target, &err), &err);
  ROC_LUA_TRY(L, roc_ir_verify(job->module, &err), &err);
  ROC_LUA_TRY(
      L, roc_ir_find_narrow(job->module, &roc_ir_limits_gpu, false, &job->cuts, &narrow_vars, &err),
      &err);
  roc_free(narrow_vars);
  return push_text(L, job, NULL);
}

static roc_status version_launch(roc_ir_module *module, bool defers, roc_error *err) {
  return roc_ir_version_launch(module, defers, false, err);
}

/* ir_version_launch(text [, defers]) -> text with the kernel without checks beside the kernel with
 * them. */
static int ir_version_launch(lua_State *L) {
  return push_versioned(L, version_launch);
}

static roc_status combine_checks(roc_ir_module *module, roc_error *err) {
  return roc_ir_combine_checks(module, 0, &(roc_ir_ids){0}, err);
}

static roc_status resume_loops(roc_ir_module *module, roc_error *err) {
  roc_ir_ids left = {0};
  roc_status status = roc_ir_resume_loops(module, 0, ROC_IR_LOOP, &left, err);
  if (status == ROC_OK) status = roc_ir_resume_loops(module, 0, ROC_IR_FOR, &left, err);
  roc_vec_deinit(&left);
  return status;
}

/* ir_resume_loops(text) -> text with loops that a wavefront leaves before a check fails. */
static int ir_resume_loops(lua_State *L) {
  return push_changed(L, resume_loops);
}

/* ir_combine_checks(text) -> text with the checks of a region under one condition. */
static int ir_combine_checks(lua_State *L) {
  return push_changed(L, combine_checks);
}

/* ir_narrow_group_ids(text) -> text with group numbers that fit 32 bits where that does. */
static int ir_narrow_group_ids(lua_State *L) {
  return push_changed(L, roc_ir_narrow_group_ids);
}

static roc_status scalarize_private(roc_ir_module *module, roc_error *err) {
  bool is_changed;
  return roc_ir_scalarize_private(module, &is_changed, err);
}

static roc_status count_loops(roc_ir_module *module, roc_error *err) {
  bool is_changed;
  return roc_ir_count_loops(module, &is_changed, err);
}

/* ir_count_loops(text) -> text with FORs for LOOPs that count. */
static int ir_count_loops(lua_State *L) {
  return push_changed(L, count_loops);
}

/* ir_nest_early_exits(text) -> text with branches for jumps to where control goes anyway. */
static int ir_nest_early_exits(lua_State *L) {
  return push_changed(L, roc_ir_nest_early_exits);
}

/* ir_scalarize_private(text) -> text with variables for private arrays where that can be. */
static int ir_scalarize_private(lua_State *L) {
  return push_changed(L, scalarize_private);
}

/* ir_optimize(text) -> text after all passes. */
static int ir_optimize(lua_State *L) {
  return push_changed(L, roc_ir_optimize);
}

/* ir_dump(text, target, stage) -> the code generator's "llvm", "llvm.opt" or "asm", as the IR
 * stands. */
static int ir_dump(lua_State *L) {
  roc_cg_options options = {
      .target = luaL_checkstring(L, 2), .opt_level = -1, .quirks_off = roc_jit_quirks_off()};
  roc_cg_stage stage;
  const char *name = luaL_checkstring(L, 3);
  luaL_argcheck(L, roc_jit_stage_from_name(name, &stage), 3, "llvm, llvm.opt or asm expected");
  ir_job *job = open_job(L);
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_jit_check_target(options.target, &err), &err);
  ROC_LUA_TRY(L, roc_jit_dump(job->module, &options, stage, &job->out, &err), &err);
  lua_pushlstring(L, roc_str_text(&job->out), job->out.len);
  return 1;
}

static const luaL_Reg compiler_fn[] = {{"ir_roundtrip", ir_roundtrip},
                                       {"ir_uniform", ir_uniform},
                                       {"ir_parallel_regions", ir_parallel_regions},
                                       {"ir_eliminate_checks", ir_eliminate_checks},
                                       {"ir_fit", ir_fit},
                                       {"ir_version_loops", ir_version_loops},
                                       {"ir_version_launch", ir_version_launch},
                                       {"ir_combine_checks", ir_combine_checks},
                                       {"ir_resume_loops", ir_resume_loops},
                                       {"ir_narrow_group_ids", ir_narrow_group_ids},
                                       {"ir_count_loops", ir_count_loops},
                                       {"ir_nest_early_exits", ir_nest_early_exits},
                                       {"ir_scalarize_private", ir_scalarize_private},
                                       {"ir_optimize", ir_optimize},
                                       {"ir_dump", ir_dump},
                                       {NULL, NULL}};

void roc_testing_add_ir(lua_State *L) {
  roc_class_new(L, JOB_CLASS, job_mm_fn);
  lua_pop(L, 1);
  luaL_setfuncs(L, compiler_fn, 0);
}
