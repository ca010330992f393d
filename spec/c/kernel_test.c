/* Kernels that a C program takes out of a state and launches itself.  For spec/c/kernel_spec.lua.
 *
 * Usage: kernel_test TEST; exit status 0 and "ok TEST", or a message and another status.  Without
 * TEST it lists the tests. */
#include <lualib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "embed_fixture.h"
#include "testing/testing.h"

enum { COUNT = 64 };

static const char *device_name(void) {
  return getenv("ROCLUA_DEVICE");
}

static lua_State *open_state(void) {
  lua_State *L = luaL_newstate();
  CHECK(L);
  CHECK(roclua_openlibs(L) == ROCLUA_OK);
  run(L, "roc = require 'roc'");
  return L;
}

/* The kernel that the text returns. */
static roclua_kernel *take(lua_State *L, const char *text) {
  roclua_kernel *kernel = NULL;
  run(L, text);
  CHECK(roclua_kernel_get(L, -1, &kernel) == ROCLUA_OK);
  lua_settop(L, 0);
  return kernel;
}

/* The same of a state that is closed before the kernel is used. */
static roclua_kernel *take_alone(const char *text) {
  lua_State *L = open_state();
  roclua_kernel *kernel = take(L, text);
  CHECK(roclua_close(L) == ROCLUA_OK);
  lua_close(L);
  return kernel;
}

static roclua_stream *make_stream(void) {
  roclua_stream *stream = NULL;
  CHECK(roclua_stream_create(device_name(), &stream) == ROCLUA_OK);
  return stream;
}

/* On the device, with those values from `first` on. */
static roclua_array *make_array(const char *dtype, int64_t first) {
  roclua_array *array;
  roclua_view view = {.size = sizeof view};
  CHECK(roclua_array_create(device_name(), dtype, 1, (int64_t[]){COUNT}, &array) == ROCLUA_OK);
  CHECK(roclua_array_map(array, ROCLUA_WRITE, NULL, &view) == ROCLUA_OK);
  for (int i = 0; i < COUNT; i++) {
    if (strcmp(dtype, "int64") == 0) ((int64_t *)view.data)[i] = first + i;
    if (strcmp(dtype, "int32") == 0) ((int32_t *)view.data)[i] = (int32_t)(first + i);
    if (strcmp(dtype, "float32") == 0) ((float *)view.data)[i] = (float)(first + i);
  }
  CHECK(roclua_array_unmap(&view) == ROCLUA_OK);
  return array;
}

/* Element `i`, from 0, of an int64 array. */
static int64_t element(roclua_array *array, int i) {
  roclua_view view = {.size = sizeof view};
  CHECK(roclua_array_map(array, ROCLUA_READ, NULL, &view) == ROCLUA_OK);
  CHECK(strcmp(view.dtype, "int64") == 0);
  int64_t value = ((int64_t *)view.data)[(int64_t)i * view.strides[0]];
  CHECK(roclua_array_unmap(&view) == ROCLUA_OK);
  return value;
}

static roclua_launch over(int64_t items) {
  return (roclua_launch){.size = sizeof(roclua_launch),
                         .rank = 1,
                         .grid = {items},
                         .file = "kernel_test.c",
                         .line = 7};
}

static int launch(roclua_kernel *kernel, roclua_stream *stream, const roclua_value *args,
                  int nargs) {
  roclua_launch shape = over(COUNT);
  return roclua_kernel_launch(kernel, stream, &shape, args, nargs);
}

/* ---- arguments and captures ---------------------------------------------- */

static void test_arguments(void) {
  roclua_kernel *kernel = take_alone(
      "return roc.kernel(function(a, n, f, b) local i = roc.get_global_id(1)\n"
      "  if b then a[i] = a[i] * n + math.floor(f * 2) else a[i] = -1 end end, {name = 'mix'})");
  CHECK(strcmp(roclua_kernel_name(kernel), "mix") == 0 && roclua_kernel_nargs(kernel) == 4);
  roclua_stream *stream = make_stream();
  roclua_array *wide = make_array("int64", 0), *narrow = make_array("int32", 0);
  roclua_value args[] = {roclua_of_array(wide), roclua_integer(3), roclua_number(2.5),
                         roclua_boolean(1)};
  CHECK(launch(kernel, stream, args, 4) == ROCLUA_OK);
  CHECK(element(wide, 10) == 35);
  args[1] = roclua_integer(INT64_C(1) << 40); /* another specialisation */
  CHECK(launch(kernel, stream, args, 4) == ROCLUA_OK);
  CHECK(element(wide, 10) == (INT64_C(35) << 40) + 5);
  args[0] = roclua_of_array(narrow);
  args[3] = roclua_boolean(0);
  CHECK(launch(kernel, stream, args, 4) == ROCLUA_OK);
  CHECK(roclua_stream_synchronize(stream) == ROCLUA_OK);
  roclua_launch grid = {.size = sizeof grid, .rank = 2, .grid = {8, 8}, .workgroup = {4, 4}};
  CHECK(roclua_kernel_launch(kernel, stream, &grid, args, 4) == ROCLUA_OK);
  roclua_launch nothing = over(0);
  CHECK(roclua_kernel_launch(kernel, stream, &nothing, args, 4) == ROCLUA_OK);
  CHECK(roclua_stream_synchronize(stream) == ROCLUA_OK);
  roclua_array_release(wide);
  roclua_array_release(narrow);
  roclua_stream_release(stream);
  roclua_kernel_retain(kernel);
  roclua_kernel_release(kernel);
  roclua_kernel_release(kernel);
}

static void test_captures(void) {
  lua_State *L = open_state();
  run(L,
      "n, cfg = 10, {scale = 2} local table = roc.array({5, 6, 7}, 'int64')\n"
      "big = roc.range(1, 20000) held = roc.to_device(roc.full(8, 100, 'int64'))\n"
      "local function plus(x) return x + n end\n"
      "k = roc.kernel(function(a) local i = roc.get_global_id(1)\n"
      "  a[i] = plus(cfg.scale) + table[3] + big[20000] + held[2] end)");
  run(L, "return k");
  roclua_kernel *kernel = NULL;
  CHECK(roclua_kernel_get(L, -1, &kernel) == ROCLUA_OK && lua_gettop(L) == 1);
  run(L, "n, cfg, big = 1000, nil, nil held:close() held = nil k = nil");
  lua_settop(L, 0);
  lua_gc(L, LUA_GCCOLLECT, 0);
  CHECK(roclua_close(L) == ROCLUA_OK);
  lua_close(L);
  roclua_stream *stream = make_stream();
  roclua_array *a = make_array("int64", 0);
  roclua_value args[] = {roclua_of_array(a)};
  CHECK(launch(kernel, stream, args, 1) == ROCLUA_OK);
  CHECK(element(a, 0) == 2 + 10 + 7 + 20000 + 100);
  for (int64_t n = 20; n < 25; n++) { /* constants, then an argument */
    CHECK(roclua_kernel_set(kernel, "n", roclua_integer(n)) == ROCLUA_OK);
    CHECK(roclua_kernel_set(kernel, "cfg.scale", roclua_integer(3)) == ROCLUA_OK);
    CHECK(launch(kernel, stream, args, 1) == ROCLUA_OK);
    CHECK(element(a, 63) == 3 + n + 7 + 20000 + 100);
  }
  CHECK(roclua_kernel_set(kernel, "m", roclua_integer(1)) == ROCLUA_INVALID);
  CHECK(strstr(roclua_error(), "captures no number or boolean 'm'"));
  CHECK(roclua_kernel_set(kernel, "held", roclua_integer(1)) == ROCLUA_INVALID);
  roclua_kernel_release(kernel);
  roclua_array_release(a);
  roclua_stream_release(stream);
}

/* Each of the first allocations fails in its turn: a code, nothing is lost, and the next try works. */
static void test_no_memory(void) {
  lua_State *L = luaL_newstate();
  roc_open_libraries(L);
  run(L, "roc = require 'roc'");
  roclua_stream *stream = make_stream();
  roclua_array *a = make_array("int64", 0);
  run(L,
      "local t = require 'roc.core'.testing fail_alloc = t.fail_alloc live = t.live_blocks\n"
      "held, n = roc.to_device(roc.zeros(3, 'int64')), 1\n"
      "k = roc.kernel(function(a, x) a[1] = x + n + held[1] end)");
  int64_t before = -1;
  for (int n = 1; n <= 60; n++) {
    roclua_kernel *kernel = NULL;
    roclua_value args[] = {roclua_of_array(a), roclua_integer(n)};
    lua_getglobal(L, "k");
    roc_alloc_fail_at((uint64_t)n);
    int code = roclua_kernel_get(L, -1, &kernel);
    CHECK(code == ROCLUA_OK || ((code == ROCLUA_OOM || code == ROCLUA_LUA) && !kernel));
    if (code == ROCLUA_OK) {
      code = launch(kernel, stream, args, 2);
      CHECK(code == ROCLUA_OK || code == ROCLUA_OOM);
      code = roclua_kernel_set(kernel, "n", roclua_integer(n));
      CHECK(code == ROCLUA_OK || code == ROCLUA_OOM);
      roc_alloc_fail_at(0);
      CHECK(roclua_kernel_set(kernel, "n", roclua_integer(7)) == ROCLUA_OK);
      CHECK(launch(kernel, stream, args, 2) == ROCLUA_OK && element(a, 0) == n + 7);
    }
    roc_alloc_fail_at(0);
    roclua_kernel_release(kernel);
    run(L, "collectgarbage() collectgarbage() return live()");
    if (n == 30) before = lua_tointeger(L, -1);
    if (n == 60) CHECK(lua_tointeger(L, -1) <= before + 20);
    lua_settop(L, 0);
  }
  roclua_array_release(a);
  roclua_stream_release(stream);
  CHECK(roclua_close(L) == ROCLUA_OK);
  lua_close(L);
}

static void test_names(void) {
  roclua_kernel *kernel = take_alone(
      "local n = 1 local f = function(x) return x + n end\n"
      "do local n = 2 return roc.kernel(function(a) a[1] = f(n) end, {name = 'two'}) end");
  CHECK(roclua_kernel_set(kernel, "n", roclua_integer(1)) == ROCLUA_INVALID);
  CHECK(strstr(roclua_error(), "kernel 'two' captures two variables called 'n'"));
  roclua_kernel_release(kernel);
}

/* More values than a launch keeps on its stack, and more specialisations than a kernel keeps. */
static void test_many(void) {
  char text[2000] = "return roc.kernel(function(a", sum[1000] = "";
  for (int i = 1; i <= 40; i++) {
    snprintf(text + strlen(text), sizeof text - strlen(text), ", x%d", i);
    snprintf(sum + strlen(sum), sizeof sum - strlen(sum), " + x%d", i);
  }
  snprintf(text + strlen(text), sizeof text - strlen(text), ") a[roc.get_global_id(1)] = 0%s end)",
           sum);
  roclua_kernel *kernel = take_alone(text);
  roclua_stream *stream = make_stream();
  roclua_array *a = make_array("int64", 0);
  roclua_value args[41] = {roclua_of_array(a)};
  for (int i = 1; i <= 40; i++) args[i] = roclua_integer(i);
  CHECK(launch(kernel, stream, args, 41) == ROCLUA_OK);
  CHECK(element(a, 5) == 820);
  roclua_kernel_release(kernel);
  kernel = take_alone(
      "local n = 1 return roc.kernel(function(a) local s = roc.shared.array(n, 'int64')\n"
      "  s[#s] = #s a[1] = s[n] end)");
  roclua_launch one = over(1);
  for (int round = 0; round < 2; round++) {
    for (int64_t n = 1; n <= 66; n++) {
      CHECK(roclua_kernel_set(kernel, "n", roclua_integer(n)) == ROCLUA_OK);
      CHECK(roclua_kernel_launch(kernel, stream, &one, args, 1) == ROCLUA_OK);
      CHECK(element(a, 0) == n);
    }
  }
  roclua_kernel_release(kernel);
  roclua_array_release(a);
  roclua_stream_release(stream);
}

static void test_signature(void) {
  roclua_kernel *kernel = take_alone(
      "return roc.kernel(function(a, x) a[1] = x end,\n"
      "  {name = 'k', signature = '(float32[:], int32)'})");
  roclua_stream *stream = make_stream();
  roclua_array *good = make_array("float32", 0), *bad = make_array("int64", 0);
  roclua_value args[] = {roclua_of_array(good), roclua_number(4.0)};
  CHECK(launch(kernel, stream, args, 2) == ROCLUA_OK);
  args[1] = roclua_number(4.5);
  CHECK(launch(kernel, stream, args, 2) == ROCLUA_INVALID);
  CHECK(strstr(roclua_error(), "bad argument #2 to kernel 'k' (int32 expected, got 4.5"));
  args[0] = roclua_of_array(bad);
  CHECK(launch(kernel, stream, args, 2) == ROCLUA_INVALID);
  CHECK(strstr(roclua_error(), "#1 to kernel 'k' (array of float32 expected, got int64)"));
  CHECK(roclua_kernel_prepare(kernel, stream, args, 2) == ROCLUA_INVALID);
  CHECK(roclua_stream_synchronize(stream) == ROCLUA_OK);
  roclua_array_release(good);
  roclua_array_release(bad);
  roclua_stream_release(stream);
  roclua_kernel_release(kernel);
}

static const char add[] =
    "return roc.kernel(function(a, n) local i = roc.get_global_id(1) a[i] = a[i] + n end,\n"
    "  {name = 'add'})";

/* Host memory in place where the device reaches it; a smart array on the device's side. */
static void test_host_arrays(void) {
  lua_State *L = open_state();
  roclua_kernel *kernel = take(L, add);
  roclua_stream *stream = make_stream();
  roclua_array *host, *smart;
  CHECK(roclua_array_create(NULL, "int64", 1, (int64_t[]){COUNT}, &host) == ROCLUA_OK);
  roclua_value args[] = {roclua_of_array(host), roclua_integer(5)};
  int code = launch(kernel, stream, args, 2);
  if (strcmp(device_name(), "cpu") == 0) {
    CHECK(code == ROCLUA_OK && element(host, 9) == 5);
  } else {
    CHECK(code == ROCLUA_INVALID && strstr(roclua_error(), "roclua_array_create"));
  }
  run(L, "s = roc.smart_array(64, 'int64') s[10] = 1 return s");
  CHECK(roclua_array_get(L, -1, &smart) == ROCLUA_OK);
  args[0] = roclua_of_array(smart);
  CHECK(launch(kernel, stream, args, 2) == ROCLUA_OK);
  CHECK(launch(kernel, stream, args, 2) == ROCLUA_OK);
  CHECK(element(smart, 9) == 11);
  run(L, "assert(s[10] == 11)");
  lua_close(L);
  roclua_array_release(host);
  roclua_array_release(smart);
  roclua_stream_release(stream);
  roclua_kernel_release(kernel);
}

/* ---- threads ------------------------------------------------------------- */

static roclua_kernel *shared_kernel;
static _Atomic bool is_over;

static void *launch_many(void *ud) {
  int64_t *first = ud;
  roclua_stream *stream = make_stream();
  roclua_array *a = make_array("int64", *first);
  roclua_value args[] = {roclua_of_array(a), roclua_integer(1)};
  for (int i = 0; i < 300; i++) {
    args[1].as.integer = i % 3 == 0 ? INT64_C(1) << 33 : i; /* two specialisations */
    CHECK(launch(shared_kernel, stream, args, 2) == ROCLUA_OK);
  }
  CHECK(roclua_stream_synchronize(stream) == ROCLUA_OK);
  CHECK(element(a, 1) == *first + 1 + (INT64_C(100) << 33) + 30000);
  roclua_array_release(a);
  roclua_stream_release(stream);
  return NULL;
}

static void *set_many(void *ud) {
  (void)ud;
  for (int64_t n = 0; !atomic_load(&is_over); n++) {
    CHECK(roclua_kernel_set(shared_kernel, "zero", roclua_number(n % 5 == 0 ? 0.0 : -0.0)) ==
          ROCLUA_OK);
    usleep(100);
  }
  return NULL;
}

static void test_threads(void) {
  pthread_t threads[4], setter;
  int64_t firsts[4] = {0, 1000, 2000, 3000};
  shared_kernel = take_alone(
      "local zero = 0.0 return roc.kernel(function(a, n) local i = roc.get_global_id(1)\n"
      "  if zero == 0 then a[i] = a[i] + n end end)");
  CHECK(pthread_create(&setter, NULL, set_many, NULL) == 0);
  for (int i = 0; i < 4; i++) {
    CHECK(pthread_create(&threads[i], NULL, launch_many, &firsts[i]) == 0);
  }
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  atomic_store(&is_over, true);
  pthread_join(setter, NULL);
  roclua_kernel_release(shared_kernel);
}

/* ---- prints, faults, losses ---------------------------------------------- */

static char heard[200];

static void hear(void *ud, const char *line, size_t nbytes) {
  CHECK(ud == heard && strlen(line) == nbytes);
  snprintf(heard + strlen(heard), sizeof heard - strlen(heard), "%s\n", line);
}

static void test_prints(void) {
  lua_State *L = open_state();
  run(L, "lines = {} function print(line) lines[#lines + 1] = line end");
  roclua_kernel *kernel =
      take(L,
           "return roc.kernel(function(n) if roc.get_global_id(1) == 3 then print('it is', n) end "
           "end)");
  roclua_stream *stream = make_stream(), *own;
  roclua_value args[] = {roclua_integer(1)};
  CHECK(launch(kernel, stream, args, 1) == ROCLUA_OK);
  CHECK(roclua_stream_synchronize(stream) == ROCLUA_OK); /* dropped */
  CHECK(roclua_set_print(hear, heard) == ROCLUA_OK);
  for (args[0].as.integer = 2; args[0].as.integer < 4; args[0].as.integer++) {
    CHECK(launch(kernel, stream, args, 1) == ROCLUA_OK);
  }
  CHECK(heard[0] == 0);
  CHECK(roclua_stream_synchronize(stream) == ROCLUA_OK);
  CHECK(strcmp(heard, "it is\t2\nit is\t3\n") == 0);
  run(L, "return roc.stream()"); /* a state's stream: its prints are the state's */
  CHECK(roclua_stream_get(L, -1, &own) == ROCLUA_OK);
  CHECK(launch(kernel, own, args, 1) == ROCLUA_OK);
  CHECK(roclua_stream_synchronize(own) == ROCLUA_OK);
  CHECK(strcmp(heard, "it is\t2\nit is\t3\n") == 0);
  CHECK(roclua_close(L) == ROCLUA_OK);
  run(L, "assert(#lines == 1 and lines[1] == 'it is\\t4', lines[1])");
  CHECK(launch(kernel, own, args, 1) == ROCLUA_CLOSED);
  lua_close(L);
  CHECK(launch(kernel, stream, args, 1) == ROCLUA_OK);
  roclua_stream_release(own);
  roclua_stream_release(stream);
  roclua_kernel_release(kernel);
  CHECK(roclua_shutdown() == ROCLUA_OK); /* which delivers */
  CHECK(strcmp(heard, "it is\t2\nit is\t3\nit is\t4\n") == 0);
}

static void test_faults(void) {
  roclua_kernel *kernel = take_alone(
      "return roc.kernel(function(a, i) if roc.get_global_id(1) == 1 then a[i] = 1 end end)");
  roclua_stream *stream = make_stream(), *other = make_stream();
  roclua_array *a = make_array("int64", 0), *b = make_array("int64", 7);
  roclua_value bad[] = {roclua_of_array(a), roclua_integer(COUNT + 1)};
  roclua_value good[] = {roclua_of_array(b), roclua_integer(2)};
  CHECK(launch(kernel, stream, bad, 2) == ROCLUA_OK);
  CHECK(launch(kernel, other, good, 2) == ROCLUA_OK);
  CHECK(roclua_stream_synchronize(other) == ROCLUA_OK);
  CHECK(roclua_stream_synchronize(stream) == ROCLUA_FAULT);
  CHECK(strstr(roclua_error(), "index 65") && strstr(roclua_error(), "kernel_test.c:7"));
  CHECK(roclua_stream_synchronize(stream) == ROCLUA_OK);
  CHECK(launch(kernel, stream, good, 2) == ROCLUA_OK && element(b, 1) == 1);
  roclua_kernel_release(kernel);
  kernel = take_alone("return roc.kernel(function(a, n) local x = {} a[1] = x .. n end)");
  CHECK(roclua_kernel_prepare(kernel, stream, good, 2) == ROCLUA_COMPILE);
  CHECK(launch(kernel, stream, good, 2) == ROCLUA_COMPILE && strlen(roclua_error()) > 20);
  roclua_kernel_release(kernel);
  roclua_array_release(a);
  roclua_array_release(b);
  roclua_stream_release(stream);
  roclua_stream_release(other);
}

typedef struct waiter {
  pthread_t thread;
  roclua_stream *stream;
  int code;
  atomic_bool is_done;
} waiter;

static void *synchronize(void *ud) {
  waiter *w = ud;
  w->code = roclua_stream_synchronize(w->stream);
  atomic_store(&w->is_done, true);
  return NULL;
}

/* Waits for the stream on a thread without a state, and interrupts everything every few seconds
 * while that lasts: a software GPU ends what runs, and a kernel may not have begun when an interrupt
 * comes. */
static int wait_interrupting(roclua_stream *stream) {
  enum { LOOK_US = 10000, LOOKS = 300 };
  waiter w = {.stream = stream};
  CHECK(pthread_create(&w.thread, NULL, synchronize, &w) == 0);
  for (int i = 1; !atomic_load(&w.is_done); i++) {
    usleep(LOOK_US);
    if (i % LOOKS == 0 && !atomic_load(&w.is_done)) CHECK(roclua_interrupt(NULL) == ROCLUA_OK);
  }
  pthread_join(w.thread, NULL);
  return w.code;
}

/* An interrupt of everything ends the wait of a thread that has no state, and the kernel. */
static void test_interrupted(void) {
  roclua_kernel *kernel =
      take_alone("return roc.kernel(function(a) while roc.atomic.load(a, 1) == 0 do end end)");
  roclua_stream *stream = make_stream();
  roclua_array *zeros = make_array("int64", 0), *ones = make_array("int64", 1);
  roclua_value endless[] = {roclua_of_array(zeros)}, short_one[] = {roclua_of_array(ones)};
  roclua_launch one = over(1);
  char text[256];
  int code;
  CHECK(roclua_kernel_launch(kernel, stream, &one, endless, 1) == ROCLUA_OK);
  CHECK(roclua_pending(text, sizeof text) == 1);
  CHECK(roclua_interrupt(NULL) == ROCLUA_OK);
  CHECK(wait_interrupting(stream) == ROCLUA_INTERRUPTED);
  CHECK(roclua_kernel_launch(kernel, stream, &one, short_one, 1) == ROCLUA_OK);
  do code = wait_interrupting(stream);
  while (code == ROCLUA_INTERRUPTED);
  CHECK(code == ROCLUA_OK);
  roclua_array_release(zeros);
  roclua_array_release(ones);
  roclua_stream_release(stream);
  roclua_kernel_release(kernel);
  CHECK(roclua_shutdown() == ROCLUA_OK);
}

/* What is prepared is launched without a compile: the compiler's folder is needed no more. */
static void test_prepare(void) {
  roclua_kernel *kernel = take_alone(add);
  roclua_stream *stream = make_stream();
  roclua_array *a = make_array("int64", 0);
  roclua_value args[] = {roclua_of_array(a), roclua_integer(1)};
  CHECK(roclua_kernel_prepare(kernel, stream, args, 2) == ROCLUA_OK);
  CHECK(element(a, 3) == 3);
  args[1].as.integer = 2;
  CHECK(roclua_kernel_prepare(kernel, stream, args, 2) == ROCLUA_OK);
  CHECK(launch(kernel, stream, args, 2) == ROCLUA_OK && element(a, 3) == 5);
  roclua_array_release(a);
  roclua_stream_release(stream);
  roclua_kernel_release(kernel);
}

static void *wait_for_loss(void *ud) {
  roclua_stream *stream = make_stream();
  roclua_array *a = make_array("int64", 0);
  roclua_value args[] = {roclua_of_array(a), roclua_integer(1)};
  int code = ROCLUA_OK;
  (void)ud;
  while (code == ROCLUA_OK) code = launch(shared_kernel, stream, args, 2);
  CHECK(code == ROCLUA_LOST && strstr(roclua_error(), "lost"));
  CHECK(roclua_stream_synchronize(stream) == ROCLUA_LOST);
  roclua_array_release(a);
  roclua_stream_release(stream);
  return NULL;
}

/* An unchecked kernel writes where nothing is, while other threads launch.  hsa alone. */
static void test_lost(void) {
  roclua_kernel *wild =
      take_alone("return roc.kernel(function(a, i) a[i] = 1 end, {check = false, name = 'wild'})");
  shared_kernel = take_alone(add);
  roclua_stream *stream = make_stream();
  roclua_array *a = make_array("int64", 0);
  roclua_value args[] = {roclua_of_array(a), roclua_integer(INT64_C(1) << 44)};
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, wait_for_loss, NULL) == 0);
  usleep(20000);
  CHECK(launch(wild, stream, args, 2) == ROCLUA_OK);
  CHECK(roclua_stream_synchronize(stream) == ROCLUA_LOST);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  CHECK(launch(wild, stream, args, 2) == ROCLUA_LOST);
  roclua_kernel_release(wild);
  roclua_kernel_release(shared_kernel);
  roclua_array_release(a);
  roclua_stream_release(stream);
}

/* ---- misuse -------------------------------------------------------------- */

static void refused(int code, const char *text) {
  if (code == ROCLUA_INVALID && strstr(roclua_error(), text)) return;
  fprintf(stderr, "code %d, '%s', not '%s'\n", code, roclua_error(), text);
  exit(1);
}

static void test_refused(void) {
  lua_State *L = open_state();
  roclua_kernel *kernel = take(L, add), *none;
  roclua_stream *stream = make_stream();
  roclua_array *a = make_array("int64", 0), *null_array = NULL;
  roclua_value args[] = {roclua_of_array(a), roclua_integer(1)};
  roclua_launch shape = over(8);
  refused(roclua_kernel_get(NULL, 1, &none), "the state is NULL");
  refused(roclua_kernel_get(L, 1, NULL), "out_kernel is NULL");
  refused(roclua_kernel_get(L, 1, &none), "roc.Kernel expected, got no value");
  run(L, "return {}, io.stdout");
  refused(roclua_kernel_get(L, -2, &none), "roc.Kernel expected, got table");
  refused(roclua_kernel_get(L, -1, &none), "roc.Kernel expected, got userdata");
  refused(roclua_kernel_set(NULL, "n", args[1]), "the kernel is NULL");
  refused(roclua_kernel_set(kernel, NULL, args[1]), "name is NULL");
  refused(roclua_kernel_set(kernel, "n", args[0]), "integer, number or boolean expected");
  refused(roclua_kernel_launch(NULL, stream, &shape, args, 2), "the kernel is NULL");
  refused(roclua_kernel_launch(kernel, NULL, &shape, args, 2), "the stream is NULL");
  refused(roclua_kernel_launch(kernel, stream, NULL, args, 2), "launch is NULL");
  refused(roclua_kernel_launch(kernel, stream, &shape, NULL, 2), "args is NULL");
  refused(roclua_kernel_launch(kernel, stream, &shape, args, 1), "takes 2 arguments, got 1");
  refused(roclua_kernel_launch(kernel, stream, &shape, args, -1), "takes 2 arguments, got -1");
  refused(roclua_kernel_prepare(kernel, stream, NULL, 2), "args is NULL");
  refused(roclua_kernel_prepare(kernel, NULL, args, 2), "the stream is NULL");
  shape.size = 8;
  refused(roclua_kernel_launch(kernel, stream, &shape, args, 2), "expected sizeof (roclua_launch)");
  shape = over(-1);
  refused(roclua_kernel_launch(kernel, stream, &shape, args, 2), "the grid is negative");
  shape = over(8);
  shape.rank = 4;
  refused(roclua_kernel_launch(kernel, stream, &shape, args, 2), "a rank of 1 to 3");
  shape.rank = 2;
  shape.workgroup[1] = 4;
  refused(roclua_kernel_launch(kernel, stream, &shape, args, 2), "or of 0 in all");
  shape = over(8);
  shape.workgroup[0] = 1 << 30;
  refused(roclua_kernel_launch(kernel, stream, &shape, args, 2), "workgroup");
  args[0] = roclua_of_array(null_array);
  refused(launch(kernel, stream, args, 2), "the array is NULL");
  args[0].kind = 77;
  refused(launch(kernel, stream, args, 2), "no roclua_kind");
  refused(roclua_array_create("cpu", NULL, 1, shape.grid, &null_array), "the dtype is NULL");
  refused(roclua_array_create("cpu", "x", 1, shape.grid, &null_array), "there is no dtype 'x'");
  refused(roclua_array_create("cpu", "int8", 9, shape.grid, &null_array), "a rank of 1 to 8");
  refused(roclua_array_create("cpu", "int8", 1, NULL, &null_array), "a shape expected");
  refused(roclua_array_create("cpu", "int8", 1, shape.grid, NULL), "out_array is NULL");
  CHECK(roclua_array_create("moon", "int8", 1, shape.grid, &null_array) == ROCLUA_UNAVAILABLE);
  CHECK(roclua_kernel_nargs(NULL) == -1 && *roclua_kernel_name(NULL) == 0);
  roclua_kernel_retain(NULL);
  roclua_kernel_release(NULL);
  roclua_stream *sim;
  CHECK(roclua_stream_create("sim", &sim) == ROCLUA_OK);
  args[0] = roclua_of_array(a);
  CHECK(launch(kernel, sim, args, 2) == ROCLUA_UNSUPPORTED && strstr(roclua_error(), "in Lua"));
  roclua_stream_release(sim);
  roclua_stream_release(stream);
  CHECK(roclua_stream_create(strcmp(device_name(), "cpu") ? "cpu" : "null", &stream) == ROCLUA_OK);
  refused(launch(kernel, stream, args, 2), "the array is on device");
  lua_close(L);
  roclua_array_release(a);
  roclua_stream_release(stream);
  roclua_kernel_release(kernel);
}

/* Every function on objects that were good. */
static void check_closed(lua_State *L, roclua_kernel *kernel, roclua_stream *stream,
                         roclua_array *a) {
  roclua_kernel *other;
  roclua_array *made;
  roclua_value args[] = {roclua_of_array(a), roclua_integer(1)};
  CHECK(roclua_kernel_get(L, -1, &other) == ROCLUA_CLOSED);
  CHECK(roclua_kernel_set(kernel, "n", roclua_integer(1)) == ROCLUA_CLOSED);
  CHECK(launch(kernel, stream, args, 2) == ROCLUA_CLOSED && *roclua_error());
  CHECK(roclua_kernel_prepare(kernel, stream, args, 2) == ROCLUA_CLOSED);
  CHECK(roclua_array_create("cpu", "int8", 1, (int64_t[]){1}, &made) == ROCLUA_CLOSED);
  CHECK(roclua_set_print(hear, NULL) == ROCLUA_CLOSED);
  CHECK(roclua_kernel_nargs(kernel) == 2 && strcmp(roclua_kernel_name(kernel), "add") == 0);
}

static void test_end(void) {
  lua_State *L = open_state();
  run(L, add);
  roclua_kernel *kernel;
  CHECK(roclua_kernel_get(L, -1, &kernel) == ROCLUA_OK);
  roclua_stream *stream = make_stream();
  roclua_array *a = make_array("int64", 0);
  roclua_value args[] = {roclua_of_array(a), roclua_integer(1)};
  CHECK(launch(kernel, stream, args, 2) == ROCLUA_OK);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    check_closed(L, kernel, stream, a);
    roclua_kernel_release(kernel);
    _exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(roclua_shutdown() == ROCLUA_OK);
  check_closed(L, kernel, stream, a);
  roclua_kernel_release(kernel);
  roclua_array_release(a);
  roclua_stream_release(stream);
  lua_close(L);
}

static const named_test tests[] = {
    {"arguments", test_arguments},     {"captures", test_captures}, {"names", test_names},
    {"no_memory", test_no_memory},     {"many", test_many},         {"signature", test_signature},
    {"host_arrays", test_host_arrays}, {"threads", test_threads},   {"prints", test_prints},
    {"faults", test_faults},           {"prepare", test_prepare},   {"lost", test_lost},
    {"interrupted", test_interrupted}, {"refused", test_refused},   {"end", test_end},
};

int main(int argc, char **argv) {
  return run_named(tests, sizeof tests / sizeof *tests, argc, argv);
}
