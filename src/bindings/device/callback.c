/* Callbacks of streams: Lua functions that are called once the work queued so far is complete.
 *
 * roclua's threads never enter Lua, so callbacks are kept in a queue of the Lua state, oldest
 * first, and are called at the end of the next wait or query that finds their work complete.  A
 * callback is removed from the queue before it is called: it may raise, wait, or add callbacks
 * itself. */
#include <stdatomic.h>

#include "bindings/device/device_bind.h"
#include "runtime/trace.h"

#define META_CALLBACK "roc.Callback"

enum { CALLBACK_UV_FUNCTION = 1, CALLBACK_UV_ARGS, CALLBACK_UV_COUNT = CALLBACK_UV_ARGS };

typedef struct callback {
  roc_rt_stream *stream; /* retained; NULL once called or dropped */
  roc_ticket ticket;
  int nargs;
  bool is_due;
} callback;

/* Its uservalue is a table: the callbacks at first … last, nil where one was called. */
typedef struct callback_queue {
  lua_Integer first, last;
} callback_queue;

static const char queue_key;           /* its address is the registry key of a state's queue */
static _Atomic uint32_t waiting_count; /* in all states; when 0, waits skip the queue */

static void drop(callback *c) {
  if (!c->stream) return;
  atomic_fetch_sub_explicit(&waiting_count, 1, memory_order_relaxed);
  roc_rt_stream_release(c->stream);
  c->stream = NULL;
}

static int callback_mm_gc(lua_State *L) {
  drop(luaL_checkudata(L, 1, META_CALLBACK));
  return 0;
}

static const luaL_Reg callback_meta[] = {{"__gc", callback_mm_gc}, {NULL, NULL}};

/* Pushes the state's table of callbacks. */
static callback_queue *push_queue(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &queue_key) == LUA_TNIL) {
    lua_pop(L, 1);
    callback_queue *made = lua_newuserdatauv(L, sizeof *made, 1);
    *made = (callback_queue){.first = 1};
    lua_newtable(L);
    lua_setiuservalue(L, -2, 1);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &queue_key);
  }
  callback_queue *queue = lua_touserdata(L, -1);
  lua_getiuservalue(L, -1, 1);
  lua_remove(L, -2); /* the registry keeps it */
  return queue;
}

void roc_add_callback(lua_State *L) {
  int nargs = lua_gettop(L) - 2;
  luaL_checkstack(L, 6, NULL);
  callback *c = lua_newuserdatauv(L, sizeof *c, CALLBACK_UV_COUNT);
  *c = (callback){.nargs = nargs};
  roc_class_new(L, META_CALLBACK, callback_meta);
  lua_setmetatable(L, -2);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, -2, CALLBACK_UV_FUNCTION);
  lua_createtable(L, nargs, 0);
  for (int i = 1; i <= nargs; i++) {
    lua_pushvalue(L, 2 + i);
    lua_rawseti(L, -2, i);
  }
  lua_setiuservalue(L, -2, CALLBACK_UV_ARGS);
  callback_queue *queue = push_queue(L);
  roc_rt_stream *stream = roc_opt_stream(L, 1, NULL);
  lua_insert(L, -2);
  lua_rawseti(L, -2, queue->last + 1);
  queue->last++;
  lua_pop(L, 1);
  roc_rt_stream_retain(stream);
  c->stream = stream;
  c->ticket = roc_rt_stream_last(stream);
  atomic_fetch_add_explicit(&waiting_count, 1, memory_order_relaxed);
}

/* The callback at index i of the table on top, which stays on the stack with it; or nothing. */
static callback *push_callback(lua_State *L, lua_Integer i) {
  lua_rawgeti(L, -1, i);
  callback *c = lua_touserdata(L, -1);
  if (!c) lua_pop(L, 1);
  return c;
}

/* Queries from the newest to the oldest, so that work which completes meanwhile cannot make a later
 * callback of a stream due while an earlier one is not. */
static void find_due(lua_State *L, const callback_queue *queue) {
  for (lua_Integer i = queue->last; i >= queue->first; i--) {
    callback *c = push_callback(L, i);
    if (!c) continue;
    if (!c->is_due) c->is_due = roc_rt_stream_is_done(c->stream, c->ticket);
    lua_pop(L, 1);
  }
}

/* The callback on top of the stack, popped. */
static void call(lua_State *L, callback *c) {
  int nargs = c->nargs;
  drop(c);
  luaL_checkstack(L, nargs + 3, "too many arguments of a callback");
  int self = lua_gettop(L);
  lua_getiuservalue(L, self, CALLBACK_UV_ARGS);
  lua_getiuservalue(L, self, CALLBACK_UV_FUNCTION);
  for (int i = 1; i <= nargs; i++) lua_rawgeti(L, self + 1, i);
  uint64_t begin_ns = roc_rt_is_traced() ? roc_clock_ns() : 0;
  lua_call(L, nargs, 0);
  if (begin_ns > 0) roc_rt_trace_host(ROC_TRACE_CALLBACK, "callback", begin_ns, 0);
  lua_settop(L, self - 1);
}

void roc_deliver_callbacks(lua_State *L) {
  if (atomic_load_explicit(&waiting_count, memory_order_relaxed) == 0) return;
  luaL_checkstack(L, 6, "too little stack for the callbacks of a stream");
  callback_queue *queue = push_queue(L);
  find_due(L, queue);
  for (lua_Integer i = queue->first; i <= queue->last; i++) {
    callback *c = push_callback(L, i);
    if (!c) continue;
    if (!c->is_due) {
      lua_pop(L, 1);
      continue;
    }
    lua_pushnil(L);
    lua_rawseti(L, -3, i);
    call(L, c);
  }
  while (queue->first <= queue->last && lua_rawgeti(L, -1, queue->first) == LUA_TNIL) {
    lua_pop(L, 1);
    queue->first++;
  }
  lua_settop(L, lua_gettop(L) - (queue->first <= queue->last ? 2 : 1));
}
