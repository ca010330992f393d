/* roc.trace([path]) -> roc.Trace: a timeline of the process, which ends with the value.
 *
 * The uservalue is the path, or nil. Collected, it ends without a file: only close waits. */
#include "bindings/device/device_bind.h"
#include "bindings/kernel/kernel_bind.h"
#include "bindings/support/unknown.h"
#include "runtime/trace.h"

#define META_TRACE "roc.Trace"

typedef struct trace_box {
  bool is_open;
} trace_box;

static trace_box *check_trace(lua_State *L) {
  return luaL_checkudata(L, 1, META_TRACE);
}

/* trace:close(): waits for this state's work, and writes the file; nothing the second time. */
static int trace_m_close(lua_State *L) {
  trace_box *box = check_trace(L);
  if (!box->is_open) return 0;
  box->is_open = false;
  roc_error err = ROC_ERROR_INIT;
  roc_status status = roc_rt_session_settle(roc_session(L), &err);
  lua_getiuservalue(L, 1, 1);
  roc_status written = roc_rt_trace_stop(lua_tostring(L, -1), status == ROC_OK ? &err : NULL);
  if (status == ROC_OK) status = written;
  roc_deliver_prints(L);
  if (status != ROC_OK) return roc_lua_raise(L, &err);
  return 0;
}

/* trace:summary() -> a table as text, of what is complete once this state's work is. */
static int trace_m_summary(lua_State *L) {
  trace_box *box = check_trace(L);
  luaL_argcheck(L, box->is_open, 1, "the trace is closed");
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_rt_session_settle(roc_session(L), &err), &err);
  roc_str *text = roc_kernel_push_text(L);
  roc_rt_trace_summarise(text);
  if (text->failed) {
    roc_fail(&err, ROC_OOM, "out of memory: no room for a summary");
    return roc_lua_raise(L, &err);
  }
  lua_pushlstring(L, roc_str_text(text), text->len);
  return 1;
}

static int trace_mm_gc(lua_State *L) {
  trace_box *box = check_trace(L);
  if (box->is_open) roc_rt_trace_stop(NULL, NULL);
  box->is_open = false;
  return 0;
}

static int trace_trace(lua_State *L) {
  const char *path = luaL_optstring(L, 1, NULL);
  trace_box *box = lua_newuserdatauv(L, sizeof *box, 1);
  *box = (trace_box){false};
  luaL_setmetatable(L, META_TRACE);
  if (path) {
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
  }
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_rt_trace_start(&err), &err);
  box->is_open = true;
  return 1;
}

static const luaL_Reg methods[] = {
    {"close", trace_m_close}, {"summary", trace_m_summary}, {NULL, NULL}};
static const luaL_Reg meta[] = {{"__gc", trace_mm_gc}, {"__close", trace_m_close}, {NULL, NULL}};

/* core.trace */
void roc_open_trace(lua_State *L) {
  if (roc_class_new(L, META_TRACE, meta)) {
    luaL_newlib(L, methods);
    roc_refuse_unknown(L, META_TRACE);
    lua_setfield(L, -2, "__index");
  }
  lua_pop(L, 1);
  lua_pushcfunction(L, trace_trace);
  lua_setfield(L, -2, "trace");
}
