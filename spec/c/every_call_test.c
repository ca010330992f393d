/* Every function of roclua.h with right arguments when it is too late for them: the state is
 * closed, the process is a forked child, roclua has shut down.  A code and a message, or what is
 * promised to go on.  For spec/c/every_call_spec.lua, which compares the list with the header.
 *
 * Usage: every_call_test TEST; exit status 0 and "ok TEST", or a message and another status.
 * Without TEST it lists the tests. */
#include <lauxlib.h>
#include <lualib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "embed_fixture.h"

enum { COUNT = 16 };

typedef enum moment { STATE_CLOSED, FORKED, SHUT_DOWN } moment;

/* What a program has in its hands then. */
static lua_State *L, *fresh;
static roclua_array *array;
static roclua_stream *stream;
static roclua_kernel *kernel;
static roclua_view view = {.size = sizeof view}; /* mapped */
static roclua_view second = {.size = sizeof second};
static struct DLManagedTensorVersioned *tensor;
static struct DLManagedTensor *old_tensor;
static float data[COUNT];
static _Atomic int releases;

static const int64_t shape[] = {COUNT};
static const roclua_launch launch = {.size = sizeof launch, .rank = 1, .grid = {COUNT}};
static roclua_value args[2];
static char text[4096];

/* What calls give; released at once. */
static roclua_array *out_array;
static roclua_stream *out_stream;
static roclua_kernel *out_kernel;
static struct DLManagedTensorVersioned *out_tensor;
static struct DLManagedTensor *out_old_tensor;

static void prepare(void) {
  L = luaL_newstate();
  fresh = luaL_newstate();
  CHECK(L && fresh && roclua_openlibs(L) == ROCLUA_OK);
  run(L,
      "roc = require 'roc'\n"
      "n = 2\n"
      "local n = 3\n"
      "k = roc.kernel('function(a, x) local i = roc.get_global_id(1) a[i] = a[i] + x + n end',\n"
      "  { name = 'k' })\n"
      "s, a = roc.stream(), roc.to_device(roc.zeros(16, 'float32'))\n"
      "k:forall(16)(a, 1)");
  lua_getglobal(L, "s");
  lua_getglobal(L, "k");
  lua_getglobal(L, "a"); /* at 1, 2, 3 */
  roclua_memory memory = memory_of(data, shape, &releases);
  memory.release = NULL;
  CHECK(roclua_array_wrap(&memory, &array) == ROCLUA_OK);
  CHECK(roclua_stream_create("cpu", &stream) == ROCLUA_OK);
  CHECK(roclua_kernel_get(L, 2, &kernel) == ROCLUA_OK);
  args[0] = roclua_of_array(array);
  args[1] = roclua_number(1);
  CHECK(roclua_kernel_launch(kernel, stream, &launch, args, 2) == ROCLUA_OK);
  CHECK(roclua_stream_synchronize(stream) == ROCLUA_OK);
  CHECK(roclua_array_to_dlpack(array, NULL, &tensor) == ROCLUA_OK);
  CHECK(roclua_array_to_dlpack_unversioned(array, NULL, &old_tensor) == ROCLUA_OK);
  CHECK(roclua_array_map(array, ROCLUA_READ | ROCLUA_WRITE, NULL, &view) == ROCLUA_OK);
}

static int wrap(void) {
  roclua_memory memory = memory_of(data, shape, &releases);
  return roclua_array_wrap(&memory, &out_array);
}

/* The one function that raises. */
static int open_core(void) {
  lua_State *M = luaL_newstate();
  lua_pushcfunction(M, luaopen_roc_core);
  int code = lua_pcall(M, 0, 1, 0) == LUA_OK ? ROCLUA_OK : ROCLUA_CLOSED;
  lua_close(M);
  return code;
}

static int push(void) {
  int top = lua_gettop(L), code = roclua_array_push(L, array);
  CHECK(lua_gettop(L) == top + (code == ROCLUA_OK));
  lua_settop(L, top);
  return code;
}

#define YES ROCLUA_OK
#define NO ROCLUA_CLOSED
#define BAD ROCLUA_INVALID
#define LUA ROCLUA_LUA

/* The codes with the state closed, in a forked child, after the shutdown. */
#define CALLS(X)                                                                                   \
  X(roclua_version, YES, YES, YES, strcmp(roclua_version(), ROCLUA_VERSION))                       \
  X(roclua_error, YES, YES, YES, !roclua_error())                                                  \
  X(roclua_components, YES, NO, NO, roclua_components(text, sizeof text))                          \
  X(roclua_set_library_dir, BAD, BAD, BAD, roclua_set_library_dir("/tmp"))                         \
  X(luaopen_roc_core, YES, NO, NO, open_core())                                                    \
  X(roclua_ignore_environment, YES, YES, YES, (roclua_ignore_environment(), 0))                    \
  X(roclua_openlibs, YES, LUA, LUA, roclua_openlibs(fresh))                                        \
  X(roclua_source, YES, YES, YES, roclua_source(L, "=line", "x = 1", 5))                           \
  X(roclua_interrupt, YES, YES, YES, roclua_interrupt(L))                                          \
  X(roclua_take_interrupt, YES, YES, YES, roclua_take_interrupt(L) != 1)                           \
  X(roclua_pending, YES, YES, YES, roclua_pending(text, sizeof text))                              \
  X(roclua_stream_create, YES, NO, NO, roclua_stream_create("cpu", &out_stream))                   \
  X(roclua_stream_adopt, ROCLUA_UNSUPPORTED, NO, NO,                                               \
    roclua_stream_adopt("cpu", &stream, &out_stream))                                              \
  X(roclua_stream_get, YES, YES, YES, roclua_stream_get(L, 1, &out_stream))                        \
  X(roclua_stream_synchronize, YES, NO, NO, roclua_stream_synchronize(stream))                     \
  X(roclua_set_print, YES, NO, NO, roclua_set_print(NULL, NULL))                                   \
  X(roclua_kernel_get, YES, NO, NO, roclua_kernel_get(L, 2, &out_kernel))                          \
  X(roclua_kernel_load, ROCLUA_IO, NO, NO,                                                         \
    roclua_kernel_load("/nowhere/k.kernels", NULL, &out_kernel))                                   \
  X(roclua_kernel_read, BAD, NO, NO, roclua_kernel_read("ROCK", 4, NULL, &out_kernel))             \
  X(roclua_kernel_retain, YES, YES, YES, (roclua_kernel_retain(kernel), 0))                        \
  X(roclua_kernel_release, YES, YES, YES, (roclua_kernel_release(kernel), 0))                      \
  X(roclua_kernel_name, YES, YES, YES, strcmp(roclua_kernel_name(kernel), "k"))                    \
  X(roclua_kernel_nargs, YES, YES, YES, roclua_kernel_nargs(kernel) != 2)                          \
  X(roclua_kernel_set, YES, NO, NO, roclua_kernel_set(kernel, "n", roclua_integer(4)))             \
  X(roclua_kernel_prepare, YES, NO, NO, roclua_kernel_prepare(kernel, stream, args, 2))            \
  X(roclua_array_create, YES, NO, NO, roclua_array_create("cpu", "float32", 1, shape, &out_array)) \
  X(roclua_array_wrap, YES, NO, NO, wrap())                                                        \
  X(roclua_array_push, YES, NO, NO, push())                                                        \
  X(roclua_array_get, YES, YES, YES, roclua_array_get(L, 3, &out_array))                           \
  X(roclua_array_retain, YES, YES, YES, (roclua_array_retain(array), 0))                           \
  X(roclua_array_release, YES, YES, YES, (roclua_array_release(array), 0))                         \
  X(roclua_array_describe, YES, YES, YES, roclua_array_describe(array, &second))                   \
  X(roclua_array_unmap, YES, NO, NO, roclua_array_unmap(&view))                                    \
  X(roclua_array_map, YES, NO, NO, roclua_array_map(array, ROCLUA_READ, NULL, &second))            \
  X(roclua_kernel_launch, YES, NO, NO, roclua_kernel_launch(kernel, stream, &launch, args, 2))     \
  X(roclua_array_to_dlpack, YES, NO, NO, roclua_array_to_dlpack(array, NULL, &out_tensor))         \
  X(roclua_array_to_dlpack_unversioned, YES, NO, NO,                                               \
    roclua_array_to_dlpack_unversioned(array, NULL, &out_old_tensor))                              \
  X(roclua_array_from_dlpack, YES, NO, NO, roclua_array_from_dlpack(tensor, NULL, &out_array))     \
  X(roclua_array_from_dlpack_unversioned, YES, NO, NO,                                             \
    roclua_array_from_dlpack_unversioned(old_tensor, NULL, &out_array))                            \
  X(roclua_stream_release, YES, YES, YES, (roclua_stream_release(stream), 0))                      \
  X(roclua_close, YES, NO, YES, roclua_close(L))                                                   \
  X(roclua_shutdown, YES, YES, YES, roclua_shutdown())

static void drop_results(void) {
  roclua_array_release(out_array);
  roclua_stream_release(out_stream);
  roclua_kernel_release(out_kernel);
  out_array = NULL;
  out_stream = NULL;
  out_kernel = NULL;
}

static bool is_as_expected(const char *name, int code, int expected) {
  bool is_right = code == expected && (code == ROCLUA_OK || roclua_error()[0]);
  if (!is_right) {
    fprintf(stderr, "%s: %d expected, got %d (%s)\n", name, expected, code, roclua_error());
  }
  printf("called %s\n", name);
  drop_results();
  return is_right;
}

static void call_all(moment now) {
  bool is_right = true;
#define CALL(name, closed, forked, ended, call)             \
  {                                                         \
    const int expected[] = {closed, forked, ended};         \
    int code = (call);                                      \
    is_right &= is_as_expected(#name, code, expected[now]); \
  }
  CALLS(CALL)
#undef CALL
  CHECK(is_right);
}

static void test_closed(void) {
  prepare();
  CHECK(roclua_close(L) == ROCLUA_OK);
  call_all(STATE_CLOSED);
  lua_close(L);
  lua_close(fresh);
  CHECK(releases == 1);
}

static void test_forked(void) {
  prepare();
  fflush(stdout);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(60);
    call_all(FORKED);
    lua_close(L);
    lua_close(fresh);
    CHECK(releases == 0);
    exit(0); /* with handlers: none of them waits */
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(roclua_close(L) == ROCLUA_OK);
  lua_close(L);
  lua_close(fresh);
}

static void test_shut_down(void) {
  prepare();
  CHECK(roclua_shutdown() == ROCLUA_OK);
  call_all(SHUT_DOWN);
  lua_close(L);
  lua_close(fresh);
  CHECK(releases == 0);
}

static const named_test tests[] = {
    {"closed", test_closed}, {"forked", test_forked}, {"shut_down", test_shut_down}};

int main(int argc, char **argv) {
  return run_named(tests, sizeof tests / sizeof *tests, argc, argv);
}
