/* Arrays of C programs: memory of the program as arrays, its release, and elements in C.  For
 * spec/c/array_spec.lua, on the device that ROCLUA_DEVICE names.
 *
 * Usage: array_test TEST; exit status 0 and "ok TEST", or a message and another status.  Without
 * TEST it lists the tests. */
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "embed/dlpack.h"
#include "embed_fixture.h"
#include "runtime/buffer.h"
#include "testing/testing.h"

#define OK(call) CHECK((call) == ROCLUA_OK)

enum { COUNT = 100 };

static const char setup[] =
    "roc = require 'roc'\n"
    "double = roc.kernel 'function(a) local i = roc.get_global_id(1) a[i] = a[i] * 2 end'\n"
    "number = roc.kernel [[function(a) local i, j = roc.get_global_id(1), roc.get_global_id(2)\n"
    "  a[i][j] = i * 10 + j end]]\n"
    "slow = roc.kernel [[function(a, n) local i, x = roc.get_global_id(1), 0\n"
    "  for j = 1, n do x = x * 31 + j end if x == 77 then a[i] = 0 else a[i] = a[i] + 1 end\n"
    "  end]]\n"
    "fail = roc.kernel 'function(a) a[1000] = 1 end'\n"
    "function sync() roc.current_device():synchronize() end\n";

static lua_State *open_state(void) {
  lua_State *L = luaL_newstate();
  CHECK(L);
  roc_open_libraries(L);
  run(L, setup);
  return L;
}

static roclua_memory describe(float *data, _Atomic int *releases) {
  static const int64_t count = COUNT;
  return memory_of(data, &count, releases);
}

static roclua_array *wrap(float *data, _Atomic int *releases) {
  roclua_memory memory = describe(data, releases);
  roclua_array *array = NULL;
  for (int i = 0; i < COUNT; i++) data[i] = (float)i;
  OK(roclua_array_wrap(&memory, &array));
  return array;
}

static void give(lua_State *L, roclua_array *array, const char *name) {
  int top = lua_gettop(L);
  OK(roclua_array_push(L, array));
  CHECK(lua_gettop(L) == top + 1);
  lua_setglobal(L, name);
}

static roclua_array *take(lua_State *L, const char *name) {
  roclua_array *array = NULL;
  lua_getglobal(L, name);
  OK(roclua_array_get(L, -1, &array));
  lua_pop(L, 1);
  return array;
}

static roclua_view map(roclua_array *array, int access, roclua_stream *stream) {
  roclua_view view = {.size = sizeof view};
  OK(roclua_array_map(array, access, stream, &view));
  return view;
}

/* ---- wrapping ------------------------------------------------------------ */

/* A kernel works on the program's own memory. */
static void test_wrap(void) {
  static float data[COUNT];
  static _Atomic int releases;
  lua_State *L = open_state();
  roclua_array *array = wrap(data, &releases);
  give(L, array, "a");
  run(L, "assert(#a == 100 and a.dtype == roc.float32 and a[8] == 7) double:forall(#a)(a)");
  roclua_view view = map(array, ROCLUA_READ, NULL);
  CHECK(view.data == data && view.rank == 1 && view.shape[0] == COUNT && view.strides[0] == 1);
  CHECK(strcmp(view.dtype, "float32") == 0 && data[99] == 198);
  OK(roclua_array_unmap(&view));
  roclua_array_release(array);
  CHECK(releases == 0);
  run(L, "a[1] = 5 a = nil collectgarbage() collectgarbage()");
  CHECK(releases == 1 && data[0] == 5);
  OK(roclua_close(L));
  lua_close(L);
  CHECK(releases == 1);
}

/* Whatever drops the last use. */
static void test_release(void) {
  static float data[5][COUNT];
  _Atomic int releases[5] = {0};
  lua_State *L = open_state();
  roclua_array *array = wrap(data[0], &releases[0]); /* C, after Lua */
  give(L, array, "a");
  run(L, "a = nil collectgarbage() collectgarbage()");
  CHECK(releases[0] == 0);
  roclua_array_retain(array);
  roclua_array_release(array);
  CHECK(releases[0] == 0);
  roclua_array_release(array);
  CHECK(releases[0] == 1);
  array = wrap(data[1], &releases[1]); /* a map */
  roclua_view view = map(array, ROCLUA_READ | ROCLUA_WRITE, NULL);
  roclua_array_release(array);
  CHECK(releases[1] == 0);
  OK(roclua_array_unmap(&view));
  CHECK(releases[1] == 1);
  array = wrap(data[2], &releases[2]); /* a view of it */
  give(L, array, "a");
  roclua_array_release(array);
  run(L, "b = a:slice(1, 11, 20) a = nil collectgarbage() collectgarbage() assert(b[1] == 10)");
  CHECK(releases[2] == 0);
  run(L, "b = nil collectgarbage() collectgarbage()");
  CHECK(releases[2] == 1);
  array = wrap(data[3], &releases[3]); /* work that is queued, and its wait */
  give(L, array, "a");
  roclua_array_release(array);
  run(L,
      "r = roc.register(a) slow:forall(100)(a, 3000000) a = nil r = nil\n"
      "collectgarbage() collectgarbage()");
  bool was_busy = releases[3] == 0;
  run(L, "sync()");
  CHECK(releases[3] == 1 && data[3][5] == 6);
  if (!was_busy) fprintf(stderr, "the kernel was over at once\n");
  array = wrap(data[4], &releases[4]); /* the state */
  give(L, array, "a");
  roclua_array_release(array);
  run(L, "r = roc.register(a) slow:forall(100)(a, 300000)");
  OK(roclua_close(L));
  CHECK(releases[4] == 0 && data[4][5] == 6);
  lua_close(L);
  CHECK(releases[4] == 1);
}

static void test_strides(void) {
  static int32_t data[64];
  int64_t shape[] = {3, 4}, strides[] = {-1, 5};
  lua_State *L = open_state();
  roclua_memory memory = {.size = sizeof memory,
                          .dtype = "int32",
                          .rank = 2,
                          .shape = shape,
                          .strides = strides,
                          .data = data + 10};
  roclua_array *array;
  OK(roclua_array_wrap(&memory, &array));
  give(L, array, "a");
  run(L, "number[{{1, 1}, {3, 4}}](a) assert(a[3][4] == 34) a[2][2] = 7");
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 4; j++) {
      int expected = i == 1 && j == 1 ? 7 : (i + 1) * 10 + j + 1;
      CHECK(data[10 - i + 5 * j] == expected);
    }
  }
  CHECK(data[7] == 0 && data[11] == 0 && data[26] == 0); /* what lies between is not touched */
  roclua_view view = {.size = sizeof view};
  OK(roclua_array_describe(array, &view));
  CHECK(!view.data && view.rank == 2 && view.strides[0] == -1 && view.strides[1] == 5);
  CHECK(roclua_array_unmap(&view) == ROCLUA_INVALID);
  int64_t empty[] = {0, 7};
  memory.shape = empty;
  memory.strides = NULL;
  memory.data = NULL;
  roclua_array *none;
  OK(roclua_array_wrap(&memory, &none));
  view = map(none, ROCLUA_READ | ROCLUA_WRITE, NULL);
  CHECK(!view.data && view.shape[0] == 0 && view.shape[1] == 7);
  OK(roclua_array_unmap(&view));
  roclua_array_release(none);
  roclua_array_release(array);
  OK(roclua_close(L));
  lua_close(L);
}

static void refuse(const roclua_memory *memory, int code, const char *why) {
  roclua_array *array = NULL;
  CHECK(roclua_array_wrap(memory, &array) == code && !array);
  if (!strstr(roclua_error(), why)) {
    fprintf(stderr, "'%s' expected, got '%s'\n", why, roclua_error());
    exit(1);
  }
}

static void test_refused(void) {
  static float data[COUNT];
  static _Atomic int releases;
  const roclua_memory good = describe(data, &releases);
  roclua_memory bad = good;
  int64_t negative[] = {-1}, huge[] = {INT64_MAX}, matrix[] = {5, 5}, zero[] = {0};
  int64_t overlapping[] = {5, 3}, far[] = {INT64_MAX / 2};
  bad.size = 8;
  refuse(&bad, ROCLUA_INVALID, "memory->size is 8");
  bad = good, bad.dtype = "float";
  refuse(&bad, ROCLUA_INVALID, "there is no dtype 'float'");
  bad = good, bad.dtype = NULL;
  refuse(&bad, ROCLUA_INVALID, "dtype is NULL");
  bad = good, bad.rank = 0;
  refuse(&bad, ROCLUA_INVALID, "rank of 1 to 8");
  bad = good, bad.rank = 9;
  refuse(&bad, ROCLUA_INVALID, "rank of 1 to 8");
  bad = good, bad.shape = NULL;
  refuse(&bad, ROCLUA_INVALID, "shape expected");
  bad = good, bad.shape = negative;
  refuse(&bad, ROCLUA_INVALID, "-1");
  bad = good, bad.shape = huge;
  refuse(&bad, ROCLUA_INVALID, "");
  bad = good, bad.data = NULL;
  refuse(&bad, ROCLUA_INVALID, "data is NULL");
  bad = good, bad.data = (char *)data + 2;
  refuse(&bad, ROCLUA_INVALID, "not aligned");
  bad = good, bad.strides = zero;
  refuse(&bad, ROCLUA_INVALID, "elements share memory");
  bad = good, bad.strides = far;
  refuse(&bad, ROCLUA_INVALID, "too far apart");
  bad = good, bad.rank = 2, bad.shape = matrix, bad.strides = overlapping;
  refuse(&bad, ROCLUA_INVALID, "elements share memory");
  bad = good, bad.device = "toaster";
  refuse(&bad, ROCLUA_UNAVAILABLE, "toaster");
  CHECK(releases == 0);
}

/* Memory of a device: here what the device's own array has, as of another library. */
static void test_device_memory(void) {
  static _Atomic int releases;
  lua_State *L = open_state();
  run(L, "d = roc.device_array(100, 'float32') d:fill(3) kind = roc.current_device().kind");
  roclua_array *own = take(L, "d");
  lua_getglobal(L, "kind");
  roclua_memory memory = describe(NULL, &releases);
  roclua_view view = map(own, ROCLUA_READ, NULL);
  if (strcmp(lua_tostring(L, -1), "cpu") == 0) { /* where the host knows the address */
    memory.data = view.data;
    memory.device = "cpu";
    roclua_array *array;
    OK(roclua_array_wrap(&memory, &array));
    give(L, array, "w");
    run(L, "double:forall(100)(w) sync() assert(w[100] == 6 and d[1] == 6 and w.device)");
    roclua_array_release(array);
    run(L, "slow:forall(100)(w, 100000) w = nil collectgarbage() collectgarbage() sync()");
    CHECK(releases == 1);
  }
  OK(roclua_array_unmap(&view));
  roclua_array_release(own);
  OK(roclua_close(L));
  lua_close(L);
}

/* Read-only memory of a device is refused to a map that would write it, and not by its end alone. */
static void test_read_only(void) {
  static float data[COUNT];
  lua_State *L = open_state();
  run(L, "d = roc.device_array(100, 'float32') d:fill(3) device = roc.current_device().kind");
  run(L, "address = device == 'sim' and 0 or d.pointer");
  lua_getglobal(L, "device");
  lua_getglobal(L, "address");
  roclua_memory memory = memory_of(data, &(int64_t){COUNT}, NULL);
  memory.release = NULL;
  memory.read_only = 1;
  if (lua_tointeger(L, -1)) {
    memory.device = lua_tostring(L, -2);
    memory.data = (void *)(uintptr_t)lua_tointeger(L, -1);
  }
  roclua_array *array;
  OK(roclua_array_wrap(&memory, &array));
  for (int access = ROCLUA_WRITE; access <= (ROCLUA_READ | ROCLUA_WRITE); access++) {
    roclua_view view = {.size = sizeof view};
    CHECK(roclua_array_map(array, access, NULL, &view) == ROCLUA_INVALID);
    CHECK(strstr(roclua_error(), "read-only") && !view.data);
  }
  roclua_view view = map(array, ROCLUA_READ, NULL);
  CHECK(*(float *)view.data == (memory.device ? 3 : 0));
  OK(roclua_array_unmap(&view));
  roclua_array_release(array);
  OK(roclua_close(L));
  lua_close(L);
}

/* An allocation after the other fails: the owner is told once, or never when the wrap failed. */
static void test_no_memory(void) {
  static float data[COUNT];
  lua_State *L = open_state();
  run(L, "local t = require 'roc.core'.testing fail_alloc = t.fail_alloc live = t.live_blocks");
  run(L, "double:forall(100)(roc.zeros(100, 'float32')) sync() before = live()");
  for (int n = 1; n <= 30; n++) {
    _Atomic int releases = 0;
    lua_getglobal(L, "fail_alloc");
    lua_pushinteger(L, n);
    lua_call(L, 1, 0);
    roclua_memory memory = describe(data, &releases);
    roclua_array *array = NULL;
    int code = roclua_array_wrap(&memory, &array);
    CHECK(code == ROCLUA_OK || (code == ROCLUA_OOM && !array));
    roclua_view view = {.size = sizeof view};
    if (code == ROCLUA_OK) {
      int pushed = roclua_array_push(L, array);
      CHECK(pushed == ROCLUA_OK || pushed == ROCLUA_OOM || pushed == ROCLUA_LUA);
      if (pushed == ROCLUA_OK) lua_setglobal(L, "a");
      (void)luaL_dostring(L, "r = roc.register(a) double:forall(100)(a)");
      lua_settop(L, 0);
      int mapped = roclua_array_map(array, ROCLUA_READ, NULL, &view);
      CHECK(mapped == ROCLUA_OK || mapped == ROCLUA_OOM);
      if (mapped == ROCLUA_OK) OK(roclua_array_unmap(&view));
    }
    run(L, "fail_alloc(0) a = nil r = nil collectgarbage() collectgarbage() sync()");
    CHECK(releases == 0);
    roclua_array_release(array);
    CHECK(releases == (code == ROCLUA_OK));
  }
  run(L, "collectgarbage() collectgarbage() assert(live() <= before + 40, live() - before)");
  OK(roclua_close(L));
  lua_close(L);
}

/* Ways an array of C's can die.  Each drops the reference it gets; what fails on the way is of no
 * matter. */
static void die_in_c(lua_State *L, roclua_array *array) {
  (void)L;
  roclua_array_release(array);
}

static void die_in_map(lua_State *L, roclua_array *array) {
  (void)L;
  roclua_view view = {.size = sizeof view};
  int mapped = roclua_array_map(array, ROCLUA_READ | ROCLUA_WRITE, NULL, &view);
  roclua_array_release(array);
  if (mapped == ROCLUA_OK) roclua_array_unmap(&view);
}

static void die_in_lua(lua_State *L, roclua_array *array) {
  if (roclua_array_push(L, array) == ROCLUA_OK) lua_setglobal(L, "a");
  roclua_array_release(array);
  (void)luaL_dostring(L, "b = a:slice(1, 11, 20) a = nil collectgarbage() b = nil");
  (void)luaL_dostring(L, "a, b = nil, nil collectgarbage() collectgarbage()");
}

static void die_in_work(lua_State *L, roclua_array *array) {
  if (roclua_array_push(L, array) == ROCLUA_OK) lua_setglobal(L, "a");
  roclua_array_release(array);
  (void)luaL_dostring(L, "r = roc.register(a) slow:forall(100)(a, 30000) r, a = nil, nil");
  (void)luaL_dostring(L, "r, a = nil, nil collectgarbage() collectgarbage() sync()");
}

static void die_in_fault(lua_State *L, roclua_array *array) {
  if (roclua_array_push(L, array) == ROCLUA_OK) lua_setglobal(L, "a");
  roclua_array_release(array);
  (void)luaL_dostring(L, "r = roc.register(a) fail:forall(1)(a) r, a = nil, nil");
  (void)luaL_dostring(L, "r, a = nil, nil collectgarbage() collectgarbage() sync()");
}

static void die_in_copy(lua_State *L, roclua_array *array) {
  if (roclua_array_push(L, array) == ROCLUA_OK) lua_setglobal(L, "a");
  roclua_array_release(array);
  (void)luaL_dostring(L, "d = roc.to_device(a) s = roc.smart_array(a) d:copy_to_host(a)");
  (void)luaL_dostring(L, "d, s, a = nil, nil, nil collectgarbage() collectgarbage() sync()");
}

static void die_in_kernel(lua_State *L, roclua_array *array) {
  roclua_kernel *kernel = NULL;
  if (roclua_array_push(L, array) == ROCLUA_OK) lua_setglobal(L, "a");
  roclua_array_release(array);
  (void)luaL_dostring(L, "local a = a k = roc.kernel(function(x) x[1] = a[1] end)");
  lua_getglobal(L, "k");
  roclua_kernel_get(L, -1, &kernel);
  lua_pop(L, 1);
  (void)luaL_dostring(L, "k, a = nil, nil collectgarbage() collectgarbage()");
  roclua_kernel_release(kernel);
}

static void die_with_state(lua_State *L, roclua_array *array) {
  if (roclua_array_push(L, array) == ROCLUA_OK) lua_setglobal(L, "a");
  roclua_array_release(array);
  (void)luaL_dostring(L, "r = roc.register(a) slow:forall(100)(a, 30000)");
  roclua_close(L);
}

/* However an array dies, and whichever allocation fails then, its owner is told once. */
static void test_deaths(void) {
  static void (*const ways[])(lua_State *, roclua_array *) = {
      die_in_c,     die_in_map,  die_in_lua,    die_in_work,
      die_in_fault, die_in_copy, die_in_kernel, die_with_state};
  static float data[COUNT];
  lua_State *other = open_state();
  run(other, "x = roc.zeros(100, 'float32')");
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    for (uint64_t n = 0; n <= 10; n++) { /* 0: none */
      _Atomic int releases = 0;
      lua_State *L = open_state();
      roclua_array *array = wrap(data, &releases);
      roc_alloc_fail_at(n);
      ways[i](L, array);
      roc_alloc_fail_at(0);
      CHECK(releases <= 1);
      lua_close(L);
      while (!releases) run(other, "double:forall(100)(x) sync()"); /* queued work, if any */
      run(other, "double:forall(100)(x) sync()");
      CHECK(releases == 1);
    }
  }
  OK(roclua_close(other));
  lua_close(other);
}

/* Memory that a lost device may still use is given back when the device has been reset. */
static void test_lost(void) {
  static float data[COUNT];
  static _Atomic int releases;
  lua_State *L = open_state();
  run(L, "roc.select_device 'null' t = require 'roc.core'.testing t.null_hold(true)");
  roclua_array *array = wrap(data, &releases);
  give(L, array, "a");
  run(L, "d = roc.device_array(100, 'float32') d:copy_from_host(a, roc.stream()) a = nil");
  roclua_array_release(array);
  run(L, "collectgarbage() collectgarbage()");
  CHECK(releases == 0);
  run(L,
      "t.null_lose() assert(not pcall(sync)) d = nil collectgarbage() collectgarbage()\n"
      "pcall(sync)");
  CHECK(releases == 0);
  run(L, "t.null_hold(false) roc.current_device():reset()");
  CHECK(releases == 1);
  lua_close(L);
  CHECK(releases == 1);
}

/* ---- elements ------------------------------------------------------------ */

static const char *const arrays[] = {
    "a = roc.range(1, 100):astype('float32')",
    "a = roc.smart_array(roc.range(1, 100):astype('float32'))",
    "a = roc.range(1, 100):astype('float32') r = roc.register(a)",
    "a = roc.to_device(roc.range(1, 100):astype('float32'))",
    "a = roc.zeros(300, 'float32'):slice(1, 2, 300, 3) for i = 1, 100 do a[i] = i end",
    ("b = roc.zeros(300, 'float32') for i = 1, 100 do b[3 * i - 1] = i end\n"
     "a = roc.to_device(b):slice(1, 2, 300, 3)"),
};

/* What C writes is what kernels and Lua read, and the other way round, with work pending. */
static void check_map(lua_State *L, roclua_stream *stream) {
  run(L, "double:forall(100)(a)");
  if (stream) run(L, "sync()"); /* a stream knows of its own work alone */
  roclua_array *array = take(L, "a");
  roclua_view view = map(array, ROCLUA_READ | ROCLUA_WRITE, stream);
  float *data = view.data;
  CHECK(view.rank == 1 && view.shape[0] == 100);
  for (int64_t i = 0; i < 100; i++) {
    CHECK(data[i * view.strides[0]] == (float)(2 * (i + 1)));
    data[i * view.strides[0]] = (float)(i + 1000);
  }
  OK(roclua_array_unmap(&view));
  CHECK(roclua_array_unmap(&view) == ROCLUA_INVALID);
  if (stream) OK(roclua_stream_synchronize(stream));
  run(L, "double:forall(100)(a) assert(a[1] == 2000 and a[100] == 2198, a[1])");
  view = map(array, ROCLUA_WRITE, NULL);
  data = view.data;
  for (int64_t i = 0; i < 100; i++) data[i * view.strides[0]] = 5;
  OK(roclua_array_unmap(&view));
  view = map(array, ROCLUA_READ, NULL);
  roclua_view second = map(array, ROCLUA_READ, NULL);
  CHECK(((float *)second.data)[0] == 5);
  OK(roclua_array_unmap(&view));
  OK(roclua_array_unmap(&second));
  roclua_array_release(array);
  run(L, "assert(a[50] == 5)");
}

static void test_map(void) {
  lua_State *L = open_state();
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    if (luaL_dostring(L, arrays[i]) != LUA_OK) {
      fprintf(stderr, "array %zu: %s\n", i, luaL_tolstring(L, -1, NULL));
      exit(1);
    }
    check_map(L, NULL);
  }
  for (int own = 0; own < 2; own++) {
    run(L, arrays[3]);
    roclua_stream *stream = NULL;
    run(L, "s = roc.stream() name = roc.current_device().kind");
    lua_getglobal(L, own ? "name" : "s");
    if (own) {
      OK(roclua_stream_create(lua_tostring(L, -1), &stream));
    } else {
      OK(roclua_stream_get(L, -1, &stream));
    }
    lua_pop(L, 1);
    run(L, "sync()");
    check_map(L, stream);
    roclua_stream_release(stream);
  }
  OK(roclua_close(L));
  lua_close(L);
}

/* ---- what is computed later ----------------------------------------------- */

static void set_lazy(lua_State *L) {
  run(L, "roc.select_device 'cpu' t = require 'roc.core'.testing t.lazy(1, 0)");
  run(L, "a = roc.ones(1) + 1"); /* loads what operations are */
}

/* C sees elements, and what it writes comes after what has been made of them before. */
static void test_pending(void) {
  lua_State *L = open_state();
  set_lazy(L);
  run(L, "x = roc.ones(100, 'float32') y = x + 1 n = t.pending()");
  roclua_array *array = take(L, "y");
  run(L, "assert(t.pending() == n - 1)");
  run(L, "z = x * 3 kept = y * 10 assert(t.pending() == n)"); /* C may write y, not x */
  roclua_view view = map(array, ROCLUA_READ | ROCLUA_WRITE, NULL);
  CHECK(((float *)view.data)[99] == 2);
  ((float *)view.data)[99] = 7;
  OK(roclua_array_unmap(&view));
  run(L, "assert(kept[100] == 20 and (y * 10)[100] == 70 and z[1] == 3)");
  roclua_array_release(array);
  array = take(L, "x");
  give(L, array, "pushed");
  run(L, "n = t.pending() w = pushed + 1 assert(t.pending() == n and w[1] == 2)");
  roclua_array_release(array);
  OK(roclua_close(L));
  lua_close(L);
}

/* In a forked child nothing can be computed: an error, not a hang. */
static void test_pending_child(void) {
  lua_State *L = open_state();
  set_lazy(L);
  run(L, "x = roc.ones(100, 'float32') y = x + 1 old = x * 2 assert(old[1] == 2)");
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(20);
    roclua_array *array;
    CHECK(luaL_dostring(L, "return y[1]") != LUA_OK);
    CHECK(strstr(luaL_tolstring(L, -1, NULL), "forked child"));
    lua_getglobal(L, "y");
    CHECK(roclua_array_get(L, -1, &array) != ROCLUA_OK);
    CHECK(strstr(roclua_error(), "forked child"));
    run(L, "x[1] = 5 assert(old[1] == 2 and x[1] == 5) y = nil collectgarbage()");
    roclua_close(L);
    lua_close(L);
    _exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  run(L, "assert(y[1] == 2)");
  OK(roclua_close(L));
  lua_close(L);
}

static void count_write(void *ud, roc_buffer *buffer, roc_rt_stream *stream) {
  (void)stream;
  if (buffer) ++*(int *)ud;
}

/* What is mapped in order to be written, or exported, is noted as a write. */
static void check_writes(lua_State *L, roclua_stream *stream) {
  int writes = 0;
  roclua_array *array = take(L, "a");
  struct DLManagedTensorVersioned *tensor;
  roc_buffer_observe_writes(count_write, &writes);
  roclua_view view = map(array, ROCLUA_WRITE, stream);
  OK(roclua_array_unmap(&view));
  CHECK(writes > 0);
  writes = 0;
  OK(roclua_array_to_dlpack(array, stream, &tensor));
  roc_buffer_observe_writes(NULL, NULL);
  CHECK(writes > 0);
  tensor->deleter(tensor);
  roclua_array_release(array);
}

static void test_writes(void) {
  lua_State *L = open_state();
  roclua_stream *stream = NULL;
  run(L, "a = roc.ones(100, 'float32')");
  check_writes(L, NULL);
  run(L, "a = roc.to_device(a) sync() s = roc.stream()");
  check_writes(L, NULL);
  lua_getglobal(L, "s");
  OK(roclua_stream_get(L, -1, &stream));
  lua_pop(L, 1);
  check_writes(L, stream);
  roclua_stream_release(stream);
  OK(roclua_close(L));
  lua_close(L);
}

/* A launch between map and unmap does not lose what C writes afterwards. */
static void test_smart(void) {
  lua_State *L = open_state();
  run(L, arrays[1]);
  roclua_array *array = take(L, "a");
  roclua_view view = map(array, ROCLUA_WRITE, NULL);
  run(L, "double:forall(100)(roc.In and a or a) sync()");
  for (int i = 0; i < 100; i++) ((float *)view.data)[i] = 9;
  OK(roclua_array_unmap(&view));
  run(L, "double:forall(100)(a) assert(a[3] == 18, a[3])");
  roclua_array_release(array);
  OK(roclua_close(L));
  lua_close(L);
}

static void test_fault(void) {
  lua_State *L = open_state();
  run(L, "a = roc.to_device(roc.zeros(100, 'float32')) fail:forall(1)(a)");
  roclua_array *array = take(L, "a");
  roclua_view view = {.size = sizeof view};
  CHECK(roclua_array_map(array, ROCLUA_READ, NULL, &view) == ROCLUA_FAULT);
  CHECK(strstr(roclua_error(), "index 1000") && !view.data);
  view = map(array, ROCLUA_READ, NULL); /* told once */
  OK(roclua_array_unmap(&view));
  run(L, "s = roc.stream() fail[{1, 1, s}](a)");
  roclua_stream *stream;
  lua_getglobal(L, "s");
  OK(roclua_stream_get(L, -1, &stream));
  CHECK(roclua_stream_synchronize(stream) == ROCLUA_FAULT);
  OK(roclua_stream_synchronize(stream));
  roclua_stream_release(stream);
  roclua_array_release(array);
  OK(roclua_close(L));
  lua_close(L);
}

static void *map_often(void *shared) {
  static _Atomic int releases;
  float data[COUNT];
  for (int n = 0; n < 200; n++) {
    int before = atomic_load(&releases);
    roclua_array *own = wrap(data, &releases);
    roclua_view view = map(own, ROCLUA_READ | ROCLUA_WRITE, NULL);
    ((float *)view.data)[0] += 1;
    roclua_view other = map(shared, ROCLUA_READ, NULL);
    CHECK(((float *)other.data)[7] == 3);
    OK(roclua_array_unmap(&other));
    OK(roclua_array_unmap(&view));
    roclua_array_retain(shared);
    roclua_array_release(own);
    CHECK(atomic_load(&releases) > before);
    roclua_array_release(shared);
  }
  return NULL;
}

/* Threads without a state, and an array that outlives its state. */
static void test_threads(void) {
  lua_State *L = open_state();
  run(L, "a = roc.to_device(roc.full(100, 3, 'float32')) double:forall(100)(roc.zeros(100))");
  roclua_array *shared = take(L, "a");
  OK(roclua_close(L));
  lua_close(L);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, map_often, shared) == 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  roclua_array_release(shared);
}

/* ---- every function ------------------------------------------------------ */

static roclua_view bad_view = {.size = 4};
static const char *text;

/* Calls with a missing argument; 0: the function cannot fail. */
#define CALLS(X)                                                                     \
  X(roclua_version, 0, (void)roclua_version())                                       \
  X(roclua_error, 0, text = roclua_error())                                          \
  X(roclua_components, 1, code = roclua_components(NULL, 0))                         \
  X(roclua_set_library_dir, 1, code = roclua_set_library_dir(NULL))                  \
  X(roclua_interrupt, 1, code = roclua_interrupt(NULL))                              \
  X(roclua_take_interrupt, 0, roclua_take_interrupt(NULL))                           \
  X(roclua_pending, 0, roclua_pending(NULL, 0))                                      \
  X(roclua_openlibs, 1, code = roclua_openlibs(NULL))                                \
  X(roclua_source, 1, code = roclua_source(NULL, NULL, NULL, 0))                     \
  X(roclua_close, 1, code = roclua_close(NULL))                                      \
  X(roclua_stream_create, 1, code = roclua_stream_create(NULL, NULL))                \
  X(roclua_stream_adopt, 1, code = roclua_stream_adopt(NULL, NULL, NULL))            \
  X(roclua_stream_get, 1, code = roclua_stream_get(NULL, 1, NULL))                   \
  X(roclua_stream_synchronize, 1, code = roclua_stream_synchronize(NULL))            \
  X(roclua_stream_release, 0, roclua_stream_release(NULL))                           \
  X(roclua_set_print, 0, roclua_set_print(NULL, NULL))                               \
  X(roclua_kernel_get, 1, code = roclua_kernel_get(NULL, 1, NULL))                   \
  X(roclua_kernel_load, 1, code = roclua_kernel_load(NULL, NULL, NULL))              \
  X(roclua_kernel_read, 1, code = roclua_kernel_read(NULL, 0, NULL, NULL))           \
  X(roclua_kernel_retain, 0, roclua_kernel_retain(NULL))                             \
  X(roclua_kernel_release, 0, roclua_kernel_release(NULL))                           \
  X(roclua_kernel_name, 0, text = roclua_kernel_name(NULL))                          \
  X(roclua_kernel_nargs, 0, (void)roclua_kernel_nargs(NULL))                         \
  X(roclua_kernel_set, 1, code = roclua_kernel_set(NULL, NULL, roclua_integer(1)))   \
  X(roclua_kernel_launch, 1, code = roclua_kernel_launch(NULL, NULL, NULL, NULL, 0)) \
  X(roclua_kernel_prepare, 1, code = roclua_kernel_prepare(NULL, NULL, NULL, 0))     \
  X(roclua_array_create, 1, code = roclua_array_create(NULL, NULL, 0, NULL, NULL))   \
  X(roclua_array_wrap, 1, code = roclua_array_wrap(NULL, NULL))                      \
  X(roclua_array_push, 1, code = roclua_array_push(NULL, NULL))                      \
  X(roclua_array_get, 1, code = roclua_array_get(NULL, 1, NULL))                     \
  X(roclua_array_retain, 0, roclua_array_retain(NULL))                               \
  X(roclua_array_release, 0, roclua_array_release(NULL))                             \
  X(roclua_array_describe, 1, code = roclua_array_describe(NULL, NULL))              \
  X(roclua_array_map, 1, code = roclua_array_map(NULL, 1, NULL, NULL))               \
  X(roclua_array_unmap, 1, code = roclua_array_unmap(NULL))                          \
  X(roclua_array_to_dlpack, 1, code = roclua_array_to_dlpack(NULL, NULL, NULL))      \
  X(roclua_array_to_dlpack_unversioned, 1,                                           \
    code = roclua_array_to_dlpack_unversioned(NULL, NULL, NULL))                     \
  X(roclua_array_from_dlpack, 1, code = roclua_array_from_dlpack(NULL, NULL, NULL))  \
  X(roclua_array_from_dlpack_unversioned, 1,                                         \
    code = roclua_array_from_dlpack_unversioned(NULL, NULL, NULL))

static void test_nulls(void) {
  int code;
#define CALL(name, fails, call) \
  code = -1;                    \
  call;                         \
  printf("called %s\n", #name); \
  CHECK(fails ? code == ROCLUA_INVALID &&roclua_error()[0] != '\0' : code == -1);
  CALLS(CALL)
}

/* Calls with closed objects, wrong kinds and sizes. */
static void test_closed(void) {
  lua_State *L = open_state();
  roclua_array *array = NULL;
  roclua_stream *stream = NULL;
  run(L, "a = roc.to_device(roc.zeros(3)) a:close() s = roc.stream() s:close()");
  lua_getglobal(L, "a");
  CHECK(roclua_array_get(L, -1, &array) == ROCLUA_INVALID && strstr(roclua_error(), "closed"));
  CHECK(roclua_stream_get(L, -1, &stream) == ROCLUA_INVALID);
  lua_getglobal(L, "s");
  CHECK(roclua_stream_get(L, -1, &stream) == ROCLUA_INVALID && strstr(roclua_error(), "closed"));
  CHECK(roclua_array_get(L, -1, &array) == ROCLUA_INVALID && strstr(roclua_error(), "userdata"));
  CHECK(roclua_array_get(L, 50, &array) == ROCLUA_INVALID);
  CHECK(roclua_stream_create("toaster", &stream) == ROCLUA_UNAVAILABLE);
  CHECK(!array && !stream);
  run(L, "a = roc.zeros(3)");
  array = take(L, "a");
  CHECK(roclua_array_describe(array, &bad_view) == ROCLUA_INVALID);
  CHECK(roclua_array_map(array, ROCLUA_READ, NULL, &bad_view) == ROCLUA_INVALID);
  CHECK(roclua_array_unmap(&bad_view) == ROCLUA_INVALID);
  roclua_view view = {.size = sizeof view};
  CHECK(roclua_array_map(array, 0, NULL, &view) == ROCLUA_INVALID);
  CHECK(roclua_array_map(array, 4, NULL, &view) == ROCLUA_INVALID);
  lua_State *plain = luaL_newstate(); /* no library in it */
  CHECK(roclua_array_push(plain, array) == ROCLUA_LUA && lua_gettop(plain) == 0);
  CHECK(strstr(roclua_error(), "call roclua_openlibs"));
  lua_close(plain);
  roclua_array_release(array);
  OK(roclua_close(L));
  lua_close(L);
}

static void expect_closed(lua_State *L, roclua_array *array, roclua_stream *stream) {
  static float data[COUNT];
  static _Atomic int releases;
  roclua_memory memory = describe(data, &releases);
  roclua_array *made;
  roclua_stream *queue;
  roclua_view view = {.size = sizeof view};
  CHECK(roclua_array_wrap(&memory, &made) == ROCLUA_CLOSED && releases == 0);
  CHECK(roclua_array_push(L, array) == ROCLUA_CLOSED);
  CHECK(roclua_array_map(array, ROCLUA_READ, NULL, &view) == ROCLUA_CLOSED);
  CHECK(roclua_stream_create("cpu", &queue) == ROCLUA_CLOSED);
  CHECK(roclua_stream_synchronize(stream) == ROCLUA_CLOSED);
  OK(roclua_array_describe(array, &view));
  roclua_stream_release(stream);
  roclua_array_release(array);
}

/* In a forked child, and after the shutdown. */
static void test_after_the_end(void) {
  lua_State *L = open_state();
  roclua_stream *stream;
  run(L, "a = roc.to_device(roc.zeros(100)) double:forall(100)(a)");
  roclua_array *array = take(L, "a");
  OK(roclua_stream_create("cpu", &stream));
  roclua_view view = map(array, ROCLUA_READ | ROCLUA_WRITE, NULL);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(20);
    CHECK(roclua_array_unmap(&view) == ROCLUA_CLOSED && strstr(roclua_error(), "forked child"));
    expect_closed(L, array, stream);
    _exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  OK(roclua_close(L));
  OK(roclua_shutdown());
  CHECK(roclua_array_unmap(&view) == ROCLUA_CLOSED && strstr(roclua_error(), "shut down"));
  expect_closed(L, array, stream);
  lua_close(L);
}

static const named_test tests[] = {
    {"wrap", test_wrap},
    {"release", test_release},
    {"strides", test_strides},
    {"refused", test_refused},
    {"device_memory", test_device_memory},
    {"read_only", test_read_only},
    {"no_memory", test_no_memory},
    {"deaths", test_deaths},
    {"lost", test_lost},
    {"map", test_map},
    {"pending", test_pending},
    {"pending_child", test_pending_child},
    {"writes", test_writes},
    {"smart", test_smart},
    {"fault", test_fault},
    {"threads", test_threads},
    {"nulls", test_nulls},
    {"closed", test_closed},
    {"after_the_end", test_after_the_end},
};

int main(int argc, char **argv) {
  return run_named(tests, sizeof tests / sizeof *tests, argc, argv);
}
