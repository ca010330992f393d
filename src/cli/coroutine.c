/* coroutine.resume, wrap and close that tell which coroutine runs, so that Ctrl-C finds it; what
 * they do is what Lua's do. */
#include <lauxlib.h>
#include <lualib.h>

#include "cli/call.h"

static lua_State *check_coroutine(lua_State *L) {
  lua_State *co = lua_tothread(L, 1);
  luaL_argexpected(L, co != NULL, 1, "coroutine");
  return co;
}

/* Resumes with the `nargs` values on top of L's stack.  Returns the number of results there, or -1:
 * the error is there. */
static int resume(lua_State *L, lua_State *co, int nargs) {
  if (!lua_checkstack(co, nargs)) {
    lua_pushliteral(L, "too many arguments to resume");
    return -1;
  }
  lua_xmove(L, co, nargs);
  int nresults = 0;
  cli_set_running(co);
  int status = lua_resume(co, L, nargs, &nresults);
  cli_set_running(L);
  if (status != LUA_OK && status != LUA_YIELD) {
    lua_xmove(co, L, 1);
    return -1;
  }
  if (!lua_checkstack(L, nresults + 1)) {
    lua_pop(co, nresults);
    lua_pushliteral(L, "too many results to resume");
    return -1;
  }
  lua_xmove(co, L, nresults);
  return nresults;
}

/* coroutine.resume(co, ...) */
static int coroutine_resume(lua_State *L) {
  lua_State *co = check_coroutine(L);
  int count = resume(L, co, lua_gettop(L) - 1);
  lua_pushboolean(L, count >= 0);
  lua_insert(L, count >= 0 ? -count - 1 : -2);
  return count >= 0 ? count + 1 : 2;
}

/* Raises the error on top, at the place that calls where it is a text. */
static int raise_here(lua_State *L) {
  if (lua_type(L, -1) == LUA_TSTRING) {
    luaL_where(L, 1);
    lua_insert(L, -2);
    lua_concat(L, 2);
  }
  return lua_error(L);
}

/* What coroutine.wrap returns; upvalue 1: the coroutine. */
static int call_wrapped(lua_State *L) {
  lua_State *co = lua_tothread(L, lua_upvalueindex(1));
  int count = resume(L, co, lua_gettop(L));
  if (count >= 0) return count;
  int status = lua_status(co);
  if (status != LUA_OK && status != LUA_YIELD) { /* the coroutine failed: closes its variables */
    cli_set_running(co);
    status = lua_resetthread(co);
    cli_set_running(L);
    lua_xmove(co, L, 1);
  }
  return status == LUA_ERRMEM ? lua_error(L) : raise_here(L);
}

/* coroutine.wrap(f); upvalue 1: coroutine.create. */
static int coroutine_wrap(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 1, 1);
  lua_pushcclosure(L, call_wrapped, 1);
  return 1;
}

/* coroutine.close(co), which runs what the coroutine has to close; upvalue 1: Lua's. */
static int coroutine_close(lua_State *L) {
  lua_State *co = check_coroutine(L);
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  cli_set_running(co);
  int status = lua_pcall(L, 1, LUA_MULTRET, 0);
  cli_set_running(L);
  return status == LUA_OK ? lua_gettop(L) : raise_here(L);
}

void cli_track_coroutines(lua_State *L) {
  lua_getglobal(L, LUA_COLIBNAME);
  lua_pushcfunction(L, coroutine_resume);
  lua_setfield(L, -2, "resume");
  lua_getfield(L, -1, "create");
  lua_pushcclosure(L, coroutine_wrap, 1);
  lua_setfield(L, -2, "wrap");
  lua_getfield(L, -1, "close");
  lua_pushcclosure(L, coroutine_close, 1);
  lua_setfield(L, -2, "close");
  lua_pop(L, 1);
}
