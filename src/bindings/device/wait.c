/* The end of a wait: prints of kernels, then their faults, then callbacks; see device_bind.h. */
#include "bindings/device/device_bind.h"

static int line_mm_gc(lua_State *L) {
  roc_str_deinit(luaL_checkudata(L, 1, "roc.PrintLine"));
  return 0;
}

static const luaL_Reg line_meta[] = {{"__gc", line_mm_gc}, {NULL, NULL}};

/* A userdata holds the line while Lua copies it, which may fail for want of memory. */
void roc_deliver_prints(lua_State *L) {
  roc_rt_session *session = roc_rt_has_print() ? roc_get_session(L) : NULL;
  if (!session) return;
  luaL_checkstack(L, 8, "too little stack to print");
  roc_str *line = lua_newuserdatauv(L, sizeof *line, 0);
  *line = (roc_str)ROC_STR_INIT;
  roc_class_new(L, "roc.PrintLine", line_meta);
  lua_setmetatable(L, -2);
  while (roc_rt_take_print(session, line)) {
    roc_push_print(L);
    lua_pushlstring(L, roc_str_text(line), line->len);
    roc_str_deinit(line);
    lua_call(L, 1, 0);
  }
  lua_pop(L, 1);
}

void roc_bind_after_wait(lua_State *L, roc_status status, const roc_error *err) {
  roc_deliver_prints(L);
  if (status != ROC_OK) roc_lua_raise(L, err);
  roc_deliver_callbacks(L);
}
