/* States that share a process: what belongs to one goes to it, and to no other.  For
 * spec/c/states_spec.lua.
 *
 * Usage: states_test TEST; exit status 0 and "ok TEST", or a message and another status.  Without
 * TEST it lists the tests. */
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "embed_fixture.h"

/* `heard` collects what kernels print; `spin` runs until let_go, on another stream; `long` leaves
 * a[1] alone when it is interrupted. */
static const char setup[] =
    "roc = require 'roc'\n"
    "heard = {}\n"
    "function print(line) heard[#heard + 1] = line end\n"
    "a = roc.to_device(roc.zeros(64, 'int64'))\n"
    "say = roc.kernel 'function(a, n) print(\"I am\", n) a[1] = n end'\n"
    "fail = roc.kernel 'function(a, n) a[100 + n] = 1 end'\n"
    "add = roc.kernel 'function(a, n) local i = roc.get_global_id(1) a[i] = a[i] + n end'\n"
    "flag = roc.to_device(roc.zeros(1, 'int32'))\n"
    "spin = roc.kernel 'function(f) while roc.atomic.load(f, 1) == 0 do end end'\n"
    "set = roc.kernel 'function(f) roc.atomic.store(f, 1, 1) end'\n"
    "function let_go() set[{1, 1, roc.stream()}](flag) end\n"
    "long = roc.kernel 'function(a, n) local x = 1 for j = 1, n do x = x * 31 + j end\\\n"
    "  a[1] = x | 1 end'\n";

static lua_State *open_state(void) {
  lua_State *L = luaL_newstate();
  CHECK(L);
  roclua_openlibs(L);
  run(L, setup);
  return L;
}

static void test_prints(void) {
  lua_State *A = open_state(), *B = open_state();
  run(A, "say:forall(1)(a, 1)");
  run(B, "say:forall(1)(a, 2) roc.current_device():synchronize()");
  run(B, "assert(#heard == 1 and heard[1] == 'I am\\t2', heard[1])");
  run(A, "assert(#heard == 0) roc.current_device():synchronize()");
  run(A, "assert(#heard == 1 and heard[1] == 'I am\\t1')");
  run(A, "say:forall(1)(a, 3)");
  CHECK(roclua_close(B) == ROCLUA_OK);
  CHECK(roclua_close(A) == ROCLUA_OK); /* which delivers */
  run(A, "assert(#heard == 2 and heard[2] == 'I am\\t3')");
  run(B, "assert(#heard == 1)");
  lua_close(A);
  lua_close(B);
}

static void test_faults(void) {
  lua_State *A = open_state(), *B = open_state();
  run(A, "fail:forall(1)(a, 7)");
  run(B, "add:forall(64)(a, 1) roc.current_device():synchronize() assert(a[64] == 1)");
  run(B, "local s = roc.stream() add[{1, 1, s}](a, 1) s:synchronize()");
  CHECK(roclua_close(B) == ROCLUA_OK);
  CHECK(roclua_close(A) == ROCLUA_FAULT);
  CHECK(strstr(roclua_error(), "index 107"));
  CHECK(roclua_close(A) == ROCLUA_OK);
  lua_close(A);
  lua_close(B);
  CHECK(roclua_shutdown() == ROCLUA_OK);
}

/* Of a stream that was dropped, a fault is found by the state's next wait. */
static void test_dropped_stream(void) {
  lua_State *A = open_state(), *B = open_state();
  run(A, "do local s = roc.stream() fail[{1, 1, s}](a, 7) s:close() end collectgarbage()");
  run(B, "roc.current_device():synchronize()");
  run(A,
      "local ok, why = pcall(function() roc.current_device():synchronize() end)\n"
      "assert(not ok and why.code == 'fault', why)");
  lua_close(A);
  CHECK(roclua_close(B) == ROCLUA_OK);
  lua_close(B);
}

static pthread_barrier_t started;

/* Waits for a kernel that does not end before it is interrupted. */
static void *wait_interrupted(void *state) {
  lua_State *L = state;
  run(L, "spin:forall(1)(flag)");
  pthread_barrier_wait(&started);
  run(L,
      "local ok, why = pcall(function() roc.current_device():synchronize() end)\n"
      "assert(not ok and why.code == 'interrupted', why)\n"
      "roc.current_device():synchronize()"); /* the kernel has been ended */
  return NULL;
}

static void *wait_undisturbed(void *state) {
  lua_State *L = state;
  run(L, "long:forall(1)(roc.to_device(roc.zeros(1, 'int64')), 10)"); /* compiles */
  run(L, "long:forall(1)(a, 1000000000)");
  pthread_barrier_wait(&started);
  run(L, "roc.current_device():synchronize() assert(a[1] ~= 0)");
  return NULL;
}

/* An interrupt is for one state, whose kernels it ends. */
static void test_interrupt(void) {
  lua_State *A = open_state(), *B = open_state();
  pthread_t threads[2];
  pthread_barrier_init(&started, NULL, 3);
  CHECK(pthread_create(&threads[0], NULL, wait_interrupted, A) == 0);
  CHECK(pthread_create(&threads[1], NULL, wait_undisturbed, B) == 0);
  pthread_barrier_wait(&started);
  usleep(50000);
  CHECK(roclua_interrupt(A) == ROCLUA_OK);
  pthread_join(threads[0], NULL);
  char text[256];
  CHECK(roclua_pending(text, sizeof text) == 1 && text[0]); /* B's goes on */
  CHECK(roclua_close(A) == ROCLUA_OK);
  pthread_join(threads[1], NULL);
  CHECK(roclua_close(B) == ROCLUA_OK);
  lua_close(A);
  lua_close(B);
}

/* The end of a state waits for its own work alone. */
static void test_end(void) {
  lua_State *A = open_state(), *B = open_state();
  run(A, "spin:forall(1)(flag)");
  run(B, "for _ = 1, 100 do add:forall(64)(a, 1) end");
  CHECK(roclua_close(B) == ROCLUA_OK);
  run(B,
      "for _, f in ipairs { function() add:forall(64)(a, 1) end, roc.stream,\n"
      "    function() a:fill(1) end, function() a:copy_to_host() end } do\n"
      "  local ok, why = pcall(f)\n"
      "  assert(not ok and why.code == 'closed' and why.message:find 'closed in this', why)\n"
      "end\n"
      "assert(roc.ones(3)[2] == 1)");
  char text[256];
  CHECK(roclua_pending(text, sizeof text) == 1); /* A's goes on */
  lua_close(B);
  run(A, "let_go() roc.current_device():synchronize() add:forall(64)(a, 1) assert(a[5] == 1)");
  CHECK(roclua_close(A) == ROCLUA_OK);
  CHECK(roclua_pending(text, sizeof text) == 0);
  lua_close(A);
}

/* A state that is closed while its kernels run and print; the memory serves the next one. */
static void test_closed_running(void) {
  for (int i = 0; i < 50; i++) {
    lua_State *L = open_state();
    run(L, "for i = 1, 20 do say:forall(1)(a, i) add:forall(64)(a, 1) end");
    if (i % 2) run(L, "fail:forall(1)(a, 1)");
    lua_close(L);
  }
  lua_State *L = open_state();
  run(L, "roc.current_device():synchronize() assert(#heard == 0)");
  CHECK(roclua_close(L) == ROCLUA_OK);
  lua_close(L);
  CHECK(roclua_shutdown() == ROCLUA_OK);
}

/* A kernel that certainly runs while its state is closed, and after. */
static void test_closed_spinning(void) {
  lua_State *A = open_state(), *B = open_state();
  roclua_array *flag;
  char text[256];
  run(A, "spin:forall(1)(flag)");
  lua_getglobal(A, "flag");
  CHECK(roclua_array_get(A, -1, &flag) == ROCLUA_OK);
  CHECK(roclua_pending(text, sizeof text) == 1 && strstr(text, "spin"));
  lua_close(A);
  CHECK(roclua_pending(text, sizeof text) == 1 && strstr(text, "spin"));
  CHECK(roclua_array_push(B, flag) == ROCLUA_OK);
  lua_setglobal(B, "flag");
  roclua_array_release(flag);
  run(B, "add:forall(64)(a, 1) roc.current_device():synchronize() assert(a[9] == 1)");
  CHECK(roclua_pending(text, sizeof text) == 1);
  run(B, "let_go()");
  CHECK(roclua_close(B) == ROCLUA_OK);
  lua_close(B);
  CHECK(roclua_shutdown() == ROCLUA_OK); /* waits for the kernel */
  CHECK(roclua_pending(text, sizeof text) == 0);
}

static void *use_all(void *number) {
  for (int round = 0; round < 2; round++) {
    lua_State *L = open_state();
    lua_pushinteger(L, *(int *)number);
    lua_setglobal(L, "me");
    run(L,
        "local called = 0\n"
        "local s = roc.stream()\n"
        "for i = 1, 30 do\n"
        "  say:forall(1)(a, me) add[{1, 64, s}](a, 0)\n"
        "  s:callback(function(n) assert(n == me) called = called + 1 end, me)\n"
        "end\n"
        "s:synchronize() roc.current_device():synchronize()\n"
        "assert(called == 30 and #heard == 30, #heard)\n"
        "for _, line in ipairs(heard) do assert(line == 'I am\\t' .. me, line) end\n"
        "fail:forall(1)(a, me)\n"
        "local ok, why = pcall(function() roc.current_device():synchronize() end)\n"
        "assert(not ok and why.message:find('index ' .. 100 + me), why)\n"
        "local smart = roc.smart_array(roc.zeros(64, 'int64'))\n"
        "add:forall(64)(smart, me) assert(smart[3] == me)\n"
        "fail:forall(1)(a, me)");
    CHECK(roclua_interrupt(L) == ROCLUA_OK && roclua_take_interrupt(L) == 1);
    CHECK(roclua_close(L) == ROCLUA_FAULT);
    char expected[32];
    snprintf(expected, sizeof expected, "index %d", 100 + *(int *)number);
    CHECK(strstr(roclua_error(), expected));
    lua_close(L);
    CHECK(roclua_interrupt(L) == ROCLUA_INVALID || round == 0); /* the address may serve again */
  }
  return NULL;
}

/* A state a thread, all at once. */
static void test_eight(void) {
  enum { COUNT = 8 };
  pthread_t threads[COUNT];
  int numbers[COUNT];
  for (int i = 0; i < COUNT; i++) {
    numbers[i] = i + 1;
    CHECK(pthread_create(&threads[i], NULL, use_all, &numbers[i]) == 0);
  }
  for (int i = 0; i < COUNT; i++) pthread_join(threads[i], NULL);
  CHECK(roclua_shutdown() == ROCLUA_OK);
}

static void *use_none(void *state) {
  char text[64];
  CHECK(strcmp(roclua_error(), "") == 0);
  CHECK(strcmp(roclua_version(), ROCLUA_VERSION) == 0);
  CHECK(roclua_set_library_dir("/nowhere") == ROCLUA_INVALID && strstr(roclua_error(), "nowhere"));
  for (int i = 0; i < 100; i++) {
    roclua_pending(text, sizeof text);
    CHECK(roclua_interrupt(state) == ROCLUA_OK);
    roclua_take_interrupt(state);
  }
  CHECK(roclua_interrupt((lua_State *)text) == ROCLUA_INVALID);
  CHECK(roclua_take_interrupt((lua_State *)text) == 0);
  return NULL;
}

/* Threads of the application that never had a state. */
static void test_strangers(void) {
  lua_State *L = open_state();
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, use_none, L) == 0);
  for (int i = 0; i < 50; i++) {
    (void)luaL_dostring(L, "add:forall(64)(a, 1) roc.current_device():synchronize()");
  }
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  roclua_take_interrupt(L);
  run(L, "a:fill(3) assert(a[7] == 3)");
  CHECK(roclua_close(L) == ROCLUA_OK);
  lua_close(L);
}

/* Every function in a forked child: a code and a message where it would touch a device. */
static void test_child(void) {
  lua_State *L = open_state();
  run(L, "add:forall(64)(a, 1)");
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(20);
    char text[64];
    CHECK(roclua_close(L) == ROCLUA_CLOSED && strstr(roclua_error(), "forked child"));
    CHECK(roclua_pending(text, sizeof text) == 0);
    CHECK(roclua_interrupt(L) == ROCLUA_OK && roclua_take_interrupt(L) == 1);
    lua_State *M = luaL_newstate();
    lua_pushcfunction(M, luaopen_roc_core);
    CHECK(lua_pcall(M, 0, 1, 0) != LUA_OK);
    CHECK(strstr(luaL_tolstring(M, -1, NULL), "forked child"));
    lua_close(M);
    lua_close(L);
    CHECK(roclua_shutdown() == ROCLUA_OK);
    _exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(roclua_close(L) == ROCLUA_OK);
  lua_close(L);
}

/* Wrong arguments, and every order of the ends. */
static void test_misuse(void) {
  CHECK(roclua_close(NULL) == ROCLUA_INVALID && strstr(roclua_error(), "NULL"));
  CHECK(roclua_set_library_dir(NULL) == ROCLUA_INVALID);
  CHECK(roclua_pending(NULL, 10) == 0 && roclua_pending((char[1]){'x'}, 0) == 0);
  CHECK(roclua_interrupt(NULL) == ROCLUA_INVALID && roclua_take_interrupt(NULL) == 0);
  lua_State *plain = luaL_newstate();
  CHECK(roclua_close(plain) == ROCLUA_OK && roclua_interrupt(plain) == ROCLUA_INVALID);
  lua_close(plain);
  lua_State *L = open_state();
  lua_State *co = lua_newthread(L);
  CHECK(roclua_close(co) == ROCLUA_OK);
  CHECK(luaL_dostring(L, "add:forall(64)(a, 1)") != LUA_OK);
  lua_close(L);
  L = open_state();
  CHECK(roclua_shutdown() == ROCLUA_OK);
  CHECK(luaL_dostring(L, "add:forall(64)(a, 1)") != LUA_OK);
  CHECK(strstr(luaL_tolstring(L, -1, NULL), "shut down"));
  CHECK(roclua_close(L) == ROCLUA_OK);
  lua_close(L);
  L = luaL_newstate();
  lua_pushcfunction(L, luaopen_roc_core);
  CHECK(lua_pcall(L, 0, 1, 0) != LUA_OK && strstr(luaL_tolstring(L, -1, NULL), "shut down"));
  lua_close(L);
}

static const named_test tests[] = {
    {"prints", test_prints},
    {"faults", test_faults},
    {"dropped_stream", test_dropped_stream},
    {"interrupt", test_interrupt},
    {"end", test_end},
    {"closed_running", test_closed_running},
    {"closed_spinning", test_closed_spinning},
    {"eight", test_eight},
    {"strangers", test_strangers},
    {"child", test_child},
    {"misuse", test_misuse},
};

int main(int argc, char **argv) {
  return run_named(tests, sizeof tests / sizeof *tests, argc, argv);
}
