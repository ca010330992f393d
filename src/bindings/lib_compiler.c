/* roc.core.compiler: the front end's stages as text, for specs, for bug reports, and for the source
 * finder.
 *
 * Each function parses argument 1 under the chunk name argument 2 and returns its stage; nil and
 * the rendered diagnostics when the text has errors.  A job's memory hangs on a userdata from the
 * start, so that an error raised by Lua on the way frees it. */
#include <stdint.h>

#include "base/alloc.h"
#include "base/file.h"
#include "bindings/support/bind.h"
#include "frontend/frontend.h"

static const char JOB_CLASS[] = "roc.CompilerJob";

typedef struct compiler_job {
  roc_diags diags;
  roc_ast_chunk *chunk;
  roc_str out;
} compiler_job;

static int job_mm_gc(lua_State *L) {
  compiler_job *job = luaL_checkudata(L, 1, JOB_CLASS);
  roc_fe_chunk_free(job->chunk);
  roc_diags_deinit(&job->diags);
  roc_str_deinit(&job->out);
  *job = (compiler_job){0};
  return 0;
}

static const luaL_Reg job_mm_fn[] = {{"__gc", job_mm_gc}, {NULL, NULL}};

/* A job without a chunk; stays on the stack above the three arguments. */
static compiler_job *open_job(lua_State *L) {
  lua_settop(L, 3);
  compiler_job *job = lua_newuserdatauv(L, sizeof *job, 0);
  *job = (compiler_job){0};
  roc_diags_init(&job->diags, NULL);
  luaL_setmetatable(L, JOB_CLASS);
  return job;
}

static const char *check_chunk_name(lua_State *L) {
  return luaL_optstring(L, 2, "?");
}

/* Pushes what the job has built and frees its memory at once. */
static int push_out(lua_State *L, compiler_job *job) {
  if (job->out.failed) {
    roc_error err;
    roc_fail(&err, ROC_OOM, "out of memory for the text of a compiler stage");
    return roc_lua_raise(L, &err);
  }
  lua_pushlstring(L, roc_str_text(&job->out), job->out.len);
  roc_str_deinit(&job->out);
  return 1;
}

/* nil and the diagnostics. */
static int push_diagnostics(lua_State *L, compiler_job *job) {
  lua_pushnil(L);
  roc_str_clear(&job->out);
  roc_diags_render(&job->diags, &job->out);
  return 1 + push_out(L, job);
}

/* Parses the arguments into job->chunk; false when there are diagnostics. */
static bool parse_job(lua_State *L, compiler_job *job) {
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  roc_error err = ROC_ERROR_INIT;
  roc_status status = roc_fe_parse(text, len, check_chunk_name(L), &job->diags, &job->chunk, &err);
  if (status == ROC_COMPILE) return false;
  ROC_LUA_TRY(L, status, &err);
  return true;
}

/* Argument 3: a function's number in the order of a dump, from 0, the chunk itself. */
static const roc_ast_func *check_function(lua_State *L, const compiler_job *job,
                                          lua_Integer fallback) {
  lua_Integer index = luaL_optinteger(L, 3, fallback);
  luaL_argcheck(L, index >= 0 && (lua_Unsigned)index < job->chunk->nfuncs, 3,
                "no such function in the chunk");
  return job->chunk->funcs[index];
}

/* tokens(text, chunkname) -> one token a line. */
static int compiler_tokens(lua_State *L) {
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  const char *name = check_chunk_name(L);
  compiler_job *job = open_job(L);
  roc_fe_dump_tokens(text, len, name, &job->diags, &job->out);
  return job->diags.count ? push_diagnostics(L, job) : push_out(L, job);
}

/* ast(text, chunkname [, function_index]) -> the function's tree. */
static int compiler_ast(lua_State *L) {
  compiler_job *job = open_job(L);
  if (!parse_job(L, job)) return push_diagnostics(L, job);
  roc_ast_dump(check_function(L, job, 0), &job->out);
  return push_out(L, job);
}

static void push_number_field(lua_State *L, const char *name, uint32_t value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, name);
}

/* functions(text, chunkname) -> {{index=, first_line=, last_line=, begin=, end=}, …} in the order
 * of a dump, the chunk first; the function's text is text:sub(begin + 1, end). */
static int compiler_functions(lua_State *L) {
  compiler_job *job = open_job(L);
  if (!parse_job(L, job)) return push_diagnostics(L, job);
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

/* read(path) -> the bytes of a file; nil and why not.  Never waits: only regular files are read. */
static int compiler_read(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  compiler_job *job = open_job(L);
  roc_error err = ROC_ERROR_INIT;
  unsigned char *bytes;
  size_t nbytes;
  if (roc_file_read(path, SIZE_MAX, &bytes, &nbytes, &err) != ROC_OK) {
    lua_pushnil(L);
    lua_pushstring(L, err.message);
    return 2;
  }
  roc_str_add(&job->out, (const char *)bytes, nbytes);
  roc_free(bytes);
  return push_out(L, job);
}

static const luaL_Reg compiler_fn[] = {
    {"read", compiler_read},
    {"tokens", compiler_tokens},
    {"ast", compiler_ast},
    {"functions", compiler_functions},
    {NULL, NULL},
};

/* Adds to roc.core.compiler, which other parts (the IR's) fill too. */
void roc_open_compiler(lua_State *L) {
  roc_class_new(L, JOB_CLASS, job_mm_fn);
  lua_pop(L, 1);
  luaL_getsubtable(L, -1, "compiler");
  luaL_setfuncs(L, compiler_fn, 0);
  lua_pop(L, 1);
}
