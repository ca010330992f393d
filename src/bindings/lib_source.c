/* roc.core's functions for the sources of kernels: reading a file, and a function's syntax tree as
 * text.
 *
 * Memory of the core hangs on a userdata from the start, so that an error raised by Lua on the way
 * frees it. */
#include <stdint.h>

#include "base/alloc.h"
#include "base/file.h"
#include "bindings/support/bind.h"
#include "frontend/frontend.h"

static const char JOB_CLASS[] = "roc.SourceJob";

typedef struct source_job {
  roc_diags diags;
  roc_ast_chunk *chunk;
  roc_str out;
} source_job;

static int job_mm_gc(lua_State *L) {
  source_job *job = luaL_checkudata(L, 1, JOB_CLASS);
  roc_fe_chunk_free(job->chunk);
  roc_diags_deinit(&job->diags);
  roc_str_deinit(&job->out);
  *job = (source_job){0};
  return 0;
}

static const luaL_Reg job_mm_fn[] = {{"__gc", job_mm_gc}, {NULL, NULL}};

/* A job without a chunk; stays on the stack above the three arguments. */
static source_job *open_job(lua_State *L) {
  lua_settop(L, 3);
  source_job *job = lua_newuserdatauv(L, sizeof *job, 0);
  *job = (source_job){0};
  roc_diags_init(&job->diags, NULL);
  luaL_setmetatable(L, JOB_CLASS);
  return job;
}

/* Pushes what the job has built and frees its memory at once. */
static int push_out(lua_State *L, source_job *job) {
  if (job->out.failed) {
    roc_error err;
    roc_fail(&err, ROC_OOM, "out of memory for the text of a source");
    return roc_lua_raise(L, &err);
  }
  lua_pushlstring(L, roc_str_text(&job->out), job->out.len);
  roc_str_deinit(&job->out);
  return 1;
}

/* nil and the diagnostics. */
static int push_diagnostics(lua_State *L, source_job *job) {
  lua_pushnil(L);
  roc_str_clear(&job->out);
  roc_diags_render(&job->diags, &job->out);
  return 1 + push_out(L, job);
}

/* Parses the arguments into job->chunk; false when there are diagnostics. */
static bool parse_job(lua_State *L, source_job *job) {
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  roc_error err = ROC_ERROR_INIT;
  roc_status status =
      roc_fe_parse(text, len, luaL_optstring(L, 2, "?"), &job->diags, &job->chunk, &err);
  if (status == ROC_COMPILE) return false;
  ROC_LUA_TRY(L, status, &err);
  return true;
}

/* Argument 3: a function's number in the order of a dump, from 0, the chunk itself. */
static const roc_ast_func *check_function(lua_State *L, const source_job *job) {
  lua_Integer index = luaL_optinteger(L, 3, 0);
  luaL_argcheck(L, index >= 0 && (lua_Unsigned)index < job->chunk->nfuncs, 3,
                "no such function in the chunk");
  return job->chunk->funcs[index];
}

/* core.ast(text, chunkname [, function_index]) -> the function's tree; nil and the diagnostics when
 * the text has errors. */
static int source_ast(lua_State *L) {
  source_job *job = open_job(L);
  if (!parse_job(L, job)) return push_diagnostics(L, job);
  roc_ast_dump(check_function(L, job), &job->out);
  return push_out(L, job);
}

/* core.read_file(path) -> the bytes of a file; nil and why not.  Never waits: only regular files
 * are read. */
static int source_read(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  source_job *job = open_job(L);
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

static const luaL_Reg functions[] = {{"read_file", source_read}, {"ast", source_ast}, {NULL, NULL}};

void roc_open_source(lua_State *L) {
  roc_class_new(L, JOB_CLASS, job_mm_fn);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
