/* roc.core.testing.compiler: the front end's stages as text, for the specs.
 *
 * tokens, ast and functions take text and chunkname alone. The stages of a typed kernel, types, ir
 * and sim_text, need no Lua values for free names: builtins and dtypes are found by their path from
 * the globals, functions by their name in the chunk, and the rest are constants, hidden arguments
 * and arrays of the options.
 *
 *   ir(text, chunkname, signature [, options])
 *
 * options: { kernel = name, check =, contract =, fastmath =, number =,
 *            constants = {path = v}, hidden = {path = "int64"}, arrays = {path = n} }
 * The kernel is the function called `kernel` of the chunk (default: "kernel", else the first).
 * `hidden` names follow the parameters in alphabetical order.  Result: the text, or nil and the
 * diagnostics when the kernel has errors. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "bindings/support/bind.h"
#include "frontend/types/builtin.h"
#include "frontend/frontend.h"
#include "frontend/types/signature.h"
#include "ir/print.h"
#include "testing/testing.h"

static const char JOB_CLASS[] = "roc.StageJob";

enum { MAX_ARGS = 64, MAX_DATA = 256 };

typedef struct stage_job {
  roc_diags diags;
  roc_ast_chunk *chunk;
  roc_ir_module *module;
  roc_arena arena;
  roc_str out;
  roc_fe_function *funcs;
  uint32_t *index; /* chunk function -> program function */
  roc_fe_program program;
  roc_fe_arg args[MAX_ARGS];
  uint32_t nargs;
  roc_fe_options options;
} stage_job;

static int job_mm_gc(lua_State *L) {
  stage_job *job = luaL_checkudata(L, 1, JOB_CLASS);
  roc_ir_module_free(job->module);
  if (job->chunk) roc_fe_chunk_free(job->chunk);
  roc_diags_deinit(&job->diags);
  roc_arena_deinit(&job->arena);
  roc_str_deinit(&job->out);
  *job = (stage_job){0};
  return 0;
}

static const luaL_Reg job_mm_fn[] = {{"__gc", job_mm_gc}, {NULL, NULL}};

enum { OPTIONS = 4 };

static void *need(lua_State *L, void *block) {
  if (!block) luaL_error(L, "not enough memory");
  return block;
}

/* ---- bindings ---------------------------------------------------------------------------- */

static void path_text(const roc_fe_path *path, uint32_t nfields, roc_str *out) {
  roc_str_clear(out);
  roc_str_add(out, path->root, path->root_len);
  for (uint32_t i = 0; i < nfields; i++) {
    if (path->fields[i].name) {
      roc_str_printf(out, ".%s", path->fields[i].name);
    } else {
      roc_str_printf(out, ".%lld", (long long)path->fields[i].integer);
    }
  }
}

/* Pushes options[table][path]; false (nothing pushed) when there is none. */
static bool option_field(lua_State *L, const char *table, const char *path) {
  if (!lua_istable(L, OPTIONS)) return false;
  bool is_found =
      lua_getfield(L, OPTIONS, table) == LUA_TTABLE && lua_getfield(L, -1, path) != LUA_TNIL;
  if (is_found) {
    lua_remove(L, -2);
  } else {
    lua_settop(L, OPTIONS + 1);
  }
  return is_found;
}

static void bind_constant(lua_State *L, roc_fe_binding *b) {
  b->kind = ROC_BIND_CONSTANT;
  if (lua_isboolean(L, -1)) {
    b->as.scalar = (roc_scalar){.type = ROC_VT_BOOL, .as.b = lua_toboolean(L, -1)};
  } else if (lua_isinteger(L, -1)) {
    b->as.scalar = (roc_scalar){.type = ROC_VT_INT, .as.i = lua_tointeger(L, -1)};
  } else if (lua_isnumber(L, -1)) {
    b->as.scalar = (roc_scalar){.type = ROC_VT_F64, .as.f = lua_tonumber(L, -1)};
  } else {
    b->kind = ROC_BIND_OTHER;
    b->as.type_name = lua_typename(L, lua_type(L, -1));
  }
}

static void bind_hidden(lua_State *L, stage_job *job, const char *name, roc_fe_binding *b) {
  roc_error err = ROC_ERROR_INIT;
  for (uint32_t i = 0; i < job->nargs; i++) {
    if (job->args[i].name && strcmp(job->args[i].name, name) == 0) {
      b->as.arg = i;
      b->kind = roc_arg_is_array(&job->args[i].type) ? ROC_BIND_ARRAY : ROC_BIND_HIDDEN;
      return;
    }
  }
  uint32_t count;
  luaL_argcheck(L, job->nargs < MAX_ARGS, OPTIONS, "too many arguments");
  roc_fe_arg *arg = &job->args[job->nargs];
  ROC_LUA_TRY(L, roc_fe_parse_signature(luaL_checkstring(L, -1), &arg->type, 1, &count, &err),
              &err);
  arg->name = need(L, roc_arena_strndup(&job->arena, name, strlen(name)));
  b->as.arg = job->nargs++;
  b->kind = roc_arg_is_array(&arg->type) ? ROC_BIND_ARRAY : ROC_BIND_HIDDEN;
}

/* A constant array of `n` int64: 1, 2, … n. */
static void bind_const_array(lua_State *L, stage_job *job, roc_fe_binding *b) {
  lua_Integer n = luaL_checkinteger(L, -1);
  luaL_argcheck(L, n >= 1 && n <= MAX_DATA, OPTIONS, "bad size of a constant array");
  roc_fe_const_array *array = need(L, ROC_ARENA_NEW(&job->arena, roc_fe_const_array));
  int64_t *data = need(L, ROC_ARENA_ARRAY(&job->arena, int64_t, n));
  for (lua_Integer i = 0; i < n; i++) data[i] = i + 1;
  *array = (roc_fe_const_array){.dtype = ROC_DT_INT64, .rank = 1, .extents = {n}, .data = data};
  b->kind = ROC_BIND_CONST_ARRAY;
  b->as.const_array = array;
}

/* What the options say about the path, if anything. */
static bool bind_option(lua_State *L, stage_job *job, const char *name, roc_fe_binding *b) {
  if (option_field(L, "constants", name)) {
    bind_constant(L, b);
  } else if (option_field(L, "hidden", name)) {
    bind_hidden(L, job, name, b);
  } else if (option_field(L, "arrays", name)) {
    bind_const_array(L, job, b);
  } else {
    return false;
  }
  lua_settop(L, OPTIONS + 1);
  return true;
}

static bool bind_function(const stage_job *job, const char *name, roc_fe_binding *b) {
  for (uint32_t i = 0; i < job->program.nfuncs; i++) {
    if (strcmp(job->funcs[i].name, name) == 0) {
      *b = (roc_fe_binding){.kind = ROC_BIND_FUNCTION, .consumed = b->consumed, .as.function = i};
      return true;
    }
  }
  return false;
}

static bool bind_known(const char *name, roc_fe_binding *b) {
  roc_builtin builtin;
  roc_dtype dtype;
  if (roc_fe_builtin_from_name(name, strlen(name), &builtin)) {
    b->kind = ROC_BIND_BUILTIN;
    b->as.builtin = builtin;
    return true;
  }
  bool is_dtype =
      strncmp(name, "roc.", 4) == 0 && roc_dtype_from_name(name + 4, strlen(name + 4), &dtype);
  if (is_dtype) {
    b->kind = ROC_BIND_DTYPE;
    b->as.dtype = dtype;
  }
  return is_dtype;
}

/* `roc`, `roc.math`: a builtin's path continues after it. */
static bool is_namespace(const char *name) {
  size_t len = strlen(name);
  for (uint32_t i = 0; i < ROC_BUILTIN_COUNT_; i++) {
    const char *path = roc_builtin_table[i].path;
    if (strncmp(path, name, len) == 0 && path[len] == '.') return true;
  }
  return false;
}

static void bind_path(lua_State *L, stage_job *job, const roc_fe_path *path, roc_fe_binding *b) {
  for (uint32_t n = 0; n <= path->nfields; n++) {
    path_text(path, n, &job->out);
    if (job->out.failed) need(L, NULL);
    const char *name = roc_str_text(&job->out);
    b->consumed = n;
    if (bind_option(L, job, name, b) || bind_known(name, b) ||
        (n == 0 && bind_function(job, name, b))) {
      return;
    }
  }
  b->consumed = path->nfields;
  path_text(path, path->nfields, &job->out);
  b->kind = is_namespace(roc_str_text(&job->out)) ? ROC_BIND_NAMESPACE : ROC_BIND_NIL;
  b->as.shape = NULL;
}

/* ---- the program ------------------------------------------------------------------------- */

/* The function the chunk calls `name`; else the first one. */
static uint32_t find_kernel(const stage_job *job, const char *name) {
  for (uint32_t i = 1; i < job->chunk->nfuncs; i++) {
    if (strcmp(job->chunk->funcs[i]->name.data, name) == 0) return i;
  }
  return job->chunk->nfuncs > 1 ? 1 : 0;
}

static void build_program(lua_State *L, stage_job *job, const char *kernel) {
  uint32_t n = job->chunk->nfuncs, first = find_kernel(job, kernel);
  job->funcs = need(L, ROC_ARENA_ARRAY(&job->arena, roc_fe_function, n));
  job->program = (roc_fe_program){.funcs = job->funcs, .nfuncs = n};
  for (uint32_t i = 0; i < n; i++) {
    uint32_t from = i == 0 ? first : i == first ? 0 : i;
    roc_fe_function *fn = &job->funcs[i];
    const roc_ast_func *ast = job->chunk->funcs[from];
    *fn = (roc_fe_function){
        .chunk = job->chunk, .ast = ast, .name = ast->name.data ? ast->name.data : ""};
    if (!roc_fe_collect_paths(ast, &job->arena, &fn->paths)) need(L, NULL);
  }
  for (uint32_t i = 0; i < n; i++) {
    roc_fe_function *fn = &job->funcs[i];
    roc_fe_binding *bindings =
        need(L, ROC_ARENA_ARRAY(&job->arena, roc_fe_binding, fn->paths.count + 1));
    for (uint32_t k = 0; k < fn->paths.count; k++)
      bind_path(L, job, &fn->paths.items[k], &bindings[k]);
    fn->bindings = bindings;
  }
}

static bool option_flag(lua_State *L, const char *name, bool fallback) {
  if (!lua_istable(L, OPTIONS)) return fallback;
  lua_getfield(L, OPTIONS, name);
  bool flag = lua_isnil(L, -1) ? fallback : lua_toboolean(L, -1);
  lua_pop(L, 1);
  return flag;
}

static bool option_is(lua_State *L, const char *name, const char *value) {
  if (!lua_istable(L, OPTIONS)) return false;
  lua_getfield(L, OPTIONS, name);
  bool is_it = lua_isstring(L, -1) && strcmp(lua_tostring(L, -1), value) == 0;
  lua_pop(L, 1);
  return is_it;
}

static void read_options(lua_State *L, stage_job *job, const char *kernel) {
  job->options = (roc_fe_options){.kernel_name = kernel,
                                  .check = option_flag(L, "check", true),
                                  .contract = option_flag(L, "contract", true),
                                  .fastmath = option_flag(L, "fastmath", false),
                                  .number_is_f32 = option_is(L, "number", "float32")};
}

/* A job without a chunk; it stays on the stack. */
static stage_job *push_job(lua_State *L, const char *kernel) {
  stage_job *job = lua_newuserdatauv(L, sizeof *job, 0);
  memset(job, 0, sizeof *job);
  roc_diags_init(&job->diags, kernel);
  roc_arena_init(&job->arena, 0);
  luaL_setmetatable(L, JOB_CLASS);
  return job;
}

/* Parses the text and the signature; the job stays on the stack above the arguments.  NULL after
 * nil and diagnostics. */
static stage_job *open_job(lua_State *L) {
  size_t len;
  roc_error err = ROC_ERROR_INIT;
  const char *text = luaL_checklstring(L, 1, &len), *name = luaL_checkstring(L, 2);
  const char *signature = luaL_checkstring(L, 3);
  const char *kernel = "kernel";
  lua_settop(L, OPTIONS);
  if (lua_istable(L, OPTIONS) && lua_getfield(L, OPTIONS, "kernel") == LUA_TSTRING) {
    kernel = lua_tostring(L, -1); /* kept by the options */
  }
  lua_settop(L, OPTIONS);
  stage_job *job = push_job(L, kernel);
  roc_arg_type types[MAX_ARGS];
  ROC_LUA_TRY(L, roc_fe_parse_signature(signature, types, MAX_ARGS, &job->nargs, &err), &err);
  for (uint32_t i = 0; i < job->nargs; i++) job->args[i].type = types[i];
  roc_status status = roc_fe_parse(text, len, name, &job->diags, &job->chunk, &err);
  if (status == ROC_COMPILE) return job;
  ROC_LUA_TRY(L, status, &err);
  build_program(L, job, kernel);
  read_options(L, job, kernel);
  roc_str_clear(&job->out);
  return job;
}

static int push_out(lua_State *L, stage_job *job) {
  if (job->out.failed) return luaL_error(L, "not enough memory");
  lua_pushlstring(L, roc_str_text(&job->out), job->out.len);
  return 1;
}

/* The stage's text, or nil and the diagnostics. */
static int finish(lua_State *L, stage_job *job, roc_status status, const roc_error *err) {
  if (status == ROC_OK) return push_out(L, job);
  if (status != ROC_COMPILE) return roc_lua_raise(L, err);
  lua_pushnil(L);
  roc_str_clear(&job->out);
  roc_diags_render(&job->diags, &job->out);
  return 1 + push_out(L, job);
}

typedef roc_status stage_fn(stage_job *job, roc_error *err);

static roc_status stage_types(stage_job *job, roc_error *err) {
  return roc_fe_dump_types(&job->program, job->args, job->nargs, &job->options, &job->diags,
                           &job->out, err);
}

static roc_status stage_sim_text(stage_job *job, roc_error *err) {
  return roc_fe_print_lua(&job->program, job->args, job->nargs, &job->options, &job->diags,
                          &job->out, err);
}

static roc_status stage_ir(stage_job *job, roc_error *err) {
  ROC_TRY(roc_fe_compile(&job->program, job->args, job->nargs, &job->options, &job->diags,
                         &job->module, err));
  roc_ir_print(job->module, NULL, NULL, &job->out);
  return job->out.failed ? roc_fail(err, ROC_OOM, "out of memory for the text of the IR") : ROC_OK;
}

static int run_stage(lua_State *L, stage_fn *stage) {
  roc_error err = ROC_ERROR_INIT;
  stage_job *job = open_job(L);
  return finish(L, job, job->chunk ? stage(job, &err) : ROC_COMPILE, &err);
}

static int compiler_types(lua_State *L) {
  return run_stage(L, stage_types);
}
static int compiler_ir(lua_State *L) {
  return run_stage(L, stage_ir);
}
static int compiler_sim_text(lua_State *L) {
  return run_stage(L, stage_sim_text);
}

/* ---- stages of a chunk ------------------------------------------------------------------- */

/* tokens(text, chunkname) -> one token a line. */
static int compiler_tokens(lua_State *L) {
  size_t len;
  roc_error err = ROC_ERROR_INIT;
  const char *text = luaL_checklstring(L, 1, &len), *name = luaL_checkstring(L, 2);
  stage_job *job = push_job(L, NULL);
  roc_fe_dump_tokens(text, len, name, &job->diags, &job->out);
  return finish(L, job, job->diags.count ? ROC_COMPILE : ROC_OK, &err);
}

static void push_number_field(lua_State *L, const char *name, uint32_t value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, name);
}

/* functions(text, chunkname) -> {{index=, first_line=, last_line=, begin=, end=}, …} in the order
 * of a dump, the chunk first; the function's text is text:sub(begin + 1, end). */
static int compiler_functions(lua_State *L) {
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len), *name = luaL_checkstring(L, 2);
  stage_job *job = push_job(L, NULL);
  roc_error err = ROC_ERROR_INIT;
  roc_status status = roc_fe_parse(text, len, name, &job->diags, &job->chunk, &err);
  if (status != ROC_OK) return finish(L, job, status, &err);
  lua_createtable(L, (int)job->chunk->nfuncs, 0);
  for (uint32_t i = 0; i < job->chunk->nfuncs; i++) {
    const roc_ast_func *func = job->chunk->funcs[i];
    lua_createtable(L, 0, 5);
    push_number_field(L, "index", func->index);
    push_number_field(L, "first_line", func->span.line);
    push_number_field(L, "last_line", func->last_line);
    push_number_field(L, "begin", func->span.begin);
    push_number_field(L, "end", func->span.end);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static const luaL_Reg stages_fn[] = {
    {"tokens", compiler_tokens}, {"functions", compiler_functions}, {"types", compiler_types},
    {"ir", compiler_ir},         {"sim_text", compiler_sim_text},   {NULL, NULL}};

void roc_testing_add_stages(lua_State *L) {
  roc_class_new(L, JOB_CLASS, job_mm_fn);
  lua_pop(L, 1);
  luaL_setfuncs(L, stages_fn, 0);
}
