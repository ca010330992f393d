/* A host of plug-ins: scripts of others, each in a state of its own, with the memory of Lua, the
 * functions and the time that the host gives it.  A plug-in gets an array of the host's to work on.
 *
 *   cc plugins.c -o plugins $(pkg-config --cflags --libs roclua lua5.4) -lpthread
 *   ./plugins [-t MILLISECONDS] [brighten.lua ...]
 */
#include <lauxlib.h>
#include <lua.h>
#include <pthread.h>
#include <roclua.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef FOLDER
#define FOLDER "."
#endif

enum { MEMORY = 32 << 20, COUNT = 1000, NEXT_WAIT_MS = 20 };

static long limit_ms = 2000;

/* ---- memory ---- */

/* Lua's allocator with a limit; arrays are not Lua's memory, so the plug-in gets no function that
 * makes one. */
typedef struct budget {
  size_t used, most;
} budget;

static void *allocate(void *ud, void *block, size_t old_bytes, size_t new_bytes) {
  budget *b = ud;
  if (!block) old_bytes = 0; /* it is a type then */
  if (new_bytes > old_bytes && new_bytes - old_bytes > b->most - b->used) return NULL;
  if (new_bytes == 0) {
    free(block);
    b->used -= old_bytes;
    return NULL;
  }
  void *moved = realloc(block, new_bytes);
  if (moved) b->used += new_bytes - old_bytes;
  return moved;
}

/* ---- time ---- */

/* A thread that ends the plug-in when its time is over: waits for devices and kernels by
 * roclua_interrupt, Lua itself by a hook that looks at `is_late`. */
typedef struct watchdog {
  lua_State *L;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  bool is_over; /* the plug-in is */
} watchdog;

static _Atomic bool is_late; /* of the plug-in that runs */

/* From then on at each instruction, so that no pcall of the plug-in goes on. */
static void look(lua_State *L, lua_Debug *where) {
  (void)where;
  if (!atomic_load(&is_late)) return;
  lua_sethook(L, look, LUA_MASKCOUNT, 1);
  luaL_error(L, "its time is over");
}

static struct timespec after(long ms) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_sec += (t.tv_nsec / 1000000 + ms) / 1000;
  t.tv_nsec = (t.tv_nsec / 1000000 + ms) % 1000 * 1000000;
  return t;
}

static void *watch(void *ud) {
  watchdog *w = ud;
  struct timespec deadline = after(limit_ms);
  pthread_mutex_lock(&w->lock);
  while (!w->is_over) {
    if (pthread_cond_timedwait(&w->wake, &w->lock, &deadline) == 0 || w->is_over) continue;
    atomic_store(&is_late, true);
    roclua_interrupt(w->L); /* again and again: the plug-in may catch the error and go on */
    deadline = after(NEXT_WAIT_MS);
  }
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

static void begin_watch(watchdog *w, lua_State *L) {
  *w = (watchdog){.L = L};
  pthread_mutex_init(&w->lock, NULL);
  pthread_cond_init(&w->wake, NULL);
  atomic_store(&is_late, false);
  lua_sethook(L, look, LUA_MASKCOUNT, 10000);
  if (pthread_create(&w->thread, NULL, watch, w) != 0) abort();
}

static void end_watch(watchdog *w) {
  pthread_mutex_lock(&w->lock);
  w->is_over = true;
  pthread_cond_signal(&w->wake);
  pthread_mutex_unlock(&w->lock);
  pthread_join(w->thread, NULL);
  lua_sethook(w->L, NULL, 0, 0);
  roclua_take_interrupt(w->L);
  pthread_mutex_destroy(&w->lock);
  pthread_cond_destroy(&w->wake);
}

/* ---- plug-ins ---- */

/* (path) -> the function `run` of the plug-in, which sees only what is listed here. */
static const char open_plugin[] =
    "local path = ...\n"
    "local roc, allowed = require 'roc', {}\n"
    "for _, name in ipairs {'kernel', 'get_global_id', 'get_local_id', 'get_group_id',\n"
    "    'get_global_size', 'barrier', 'shared', 'private', 'atomic', 'math'} do\n"
    "  allowed[name] = roc[name]\n"
    "end\n"
    "local env = {roc = allowed, math = math, string = string, table = table, print = print,\n"
    "  pairs = pairs, ipairs = ipairs, tostring = tostring, pcall = pcall, error = error}\n"
    "assert(loadfile(path, 't', env))()\n"
    "local run = assert(env.run, 'no function run')\n"
    "return function(samples)\n"
    "  run(samples)\n"
    "  roc.current_device():synchronize() -- what it has queued counts, too\n"
    "end\n";

static float samples[COUNT]; /* the host's memory, which all plug-ins work on in turn */

static int give_samples(lua_State *L) {
  int64_t shape[] = {COUNT};
  roclua_memory memory = {
      .size = sizeof memory, .dtype = "float32", .rank = 1, .shape = shape, .data = samples};
  roclua_array *array;
  if (roclua_array_wrap(&memory, &array) != ROCLUA_OK) return ROCLUA_OOM;
  int code = roclua_array_push(L, array);
  roclua_array_release(array);
  return code;
}

static bool call_plugin(lua_State *L, const char *path) {
  if (roclua_openlibs(L) != ROCLUA_OK || luaL_loadstring(L, open_plugin) != LUA_OK) return false;
  lua_pushstring(L, path);
  return lua_pcall(L, 1, 1, 0) == LUA_OK && give_samples(L) == ROCLUA_OK &&
         lua_pcall(L, 1, 0, 0) == LUA_OK;
}

static void run_plugin(const char *path) {
  budget memory = {.most = MEMORY};
  lua_State *L = lua_newstate(allocate, &memory);
  if (!L) return;
  watchdog w;
  begin_watch(&w, L);
  bool is_done = call_plugin(L, path);
  end_watch(&w);
  memory.most = SIZE_MAX; /* for the message, and the end */
  const char *message = lua_gettop(L) > 0 ? luaL_tolstring(L, -1, NULL) : roclua_error();
  if (is_done) {
    printf("%s: done, the samples are %g to %g\n", path, samples[0], samples[COUNT - 1]);
  } else {
    printf("%s: stopped: %s\n", path, message);
  }
  roclua_close(L);
  lua_close(L);
}

int main(int argc, char **argv) {
  static const char *const own[] = {FOLDER "/brighten.lua", FOLDER "/greedy.lua",
                                    FOLDER "/endless.lua", FOLDER "/stuck.lua"};
  int first = 1;
  if (argc > 2 && strcmp(argv[1], "-t") == 0) {
    limit_ms = atol(argv[2]);
    first = 3;
  }
  for (int i = 0; i < COUNT; i++) samples[i] = (float)i;
  for (int i = first; i < argc; i++) run_plugin(argv[i]);
  for (int i = 0; first == argc && i < 4; i++) run_plugin(own[i]);
  return roclua_shutdown() == ROCLUA_OK ? 0 : 1;
}
