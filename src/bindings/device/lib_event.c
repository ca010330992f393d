/* roc.Event: a point in a stream, for waiting and for measuring time.
 *
 * The userdata contains the runtime's event.  A new event is complete; every function refuses a
 * closed one. */
#include "base/clock.h"
#include "bindings/device/device_bind.h"
#include "bindings/support/unknown.h"

typedef struct event_box {
  roc_rt_event event;
  bool is_closed;
} event_box;

static event_box *check_box(lua_State *L, int arg) {
  event_box *box = luaL_checkudata(L, arg, ROC_META_EVENT);
  if (box->is_closed) luaL_argerror(L, arg, "the event is closed");
  return box;
}

const roc_rt_event *roc_check_event(lua_State *L, int arg) {
  return &check_box(L, arg)->event;
}

/* roc.event() */
static int event_event(lua_State *L) {
  event_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = (event_box){.event = ROC_RT_EVENT_INIT};
  luaL_setmetatable(L, ROC_META_EVENT);
  return 1;
}

/* e:record([stream]) -> e */
static int event_m_record(lua_State *L) {
  event_box *box = check_box(L, 1);
  roc_rt_stream *stream = roc_opt_stream(L, 2, NULL);
  if (!stream) stream = roc_default_stream(L, roc_current_device(L));
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_rt_event_record(&box->event, stream, &err), &err);
  lua_settop(L, 1);
  return 1;
}

static int event_m_synchronize(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  roc_status status = roc_rt_event_synchronize(roc_check_event(L, 1), &err);
  roc_bind_after_wait(L, status, &err);
  return 0;
}

static int event_m_query(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  bool is_done = false;
  roc_status status = roc_rt_event_query(roc_check_event(L, 1), &is_done, &err);
  roc_bind_after_wait(L, status, &err);
  lua_pushboolean(L, is_done);
  return 1;
}

/* roc.elapsed(e1, e2) -> milliseconds */
static int event_elapsed(lua_State *L) {
  const roc_rt_event *first = roc_check_event(L, 1), *last = roc_check_event(L, 2);
  luaL_argcheck(L, first->stream, 1, "the event was never recorded");
  luaL_argcheck(L, last->stream, 2, "the event was never recorded");
  roc_error err = ROC_ERROR_INIT;
  double ms = 0;
  roc_status status = roc_rt_event_elapsed(first, last, &ms, &err);
  roc_bind_after_wait(L, status, &err);
  lua_pushnumber(L, ms);
  return 1;
}

/* roc.time() -> seconds since an unspecified start: a monotonic clock of the host. */
static int event_time(lua_State *L) {
  lua_pushnumber(L, (lua_Number)roc_clock_ns() / 1e9);
  return 1;
}

/* __gc, __close and close: never wait. */
static int event_m_close(lua_State *L) {
  event_box *box = luaL_checkudata(L, 1, ROC_META_EVENT);
  box->is_closed = true;
  roc_rt_event_deinit(&box->event);
  return 0;
}

static int event_mm_tostring(lua_State *L) {
  const event_box *box = luaL_checkudata(L, 1, ROC_META_EVENT);
  const char *state = box->is_closed ? " (closed)" : box->event.stream ? "" : " (not recorded)";
  lua_pushfstring(L, ROC_META_EVENT ": %p%s", (const void *)box, state);
  return 1;
}

static const luaL_Reg event_methods[] = {{"record", event_m_record},
                                         {"synchronize", event_m_synchronize},
                                         {"query", event_m_query},
                                         {"close", event_m_close},
                                         {NULL, NULL}};

static const luaL_Reg event_meta[] = {{"__gc", event_m_close},
                                      {"__close", event_m_close},
                                      {"__tostring", event_mm_tostring},
                                      {NULL, NULL}};

static const luaL_Reg event_functions[] = {
    {"event", event_event}, {"elapsed", event_elapsed}, {"time", event_time}, {NULL, NULL}};

/* core.event, elapsed, time; core.Event: the metatable. */
void roc_open_event(lua_State *L) {
  if (roc_class_new(L, ROC_META_EVENT, event_meta)) {
    luaL_newlib(L, event_methods);
    roc_refuse_unknown(L, ROC_META_EVENT);
    lua_setfield(L, -2, "__index");
  }
  lua_setfield(L, -2, "Event");
  luaL_setfuncs(L, event_functions, 0);
}
