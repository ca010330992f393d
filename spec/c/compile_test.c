/* Compiles of several threads at once, each thread with a Lua state of its own: the same code as
 * one thread makes, really at the same time, and the process left as it was.
 *
 * Usage: compile_test TEST; exit status 0 and "ok TEST", or a message and another status. Without
 * TEST it lists the tests. */
#include <dirent.h>
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "include/roclua.h"
#include "testing/testing.h"

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

enum { NTHREADS = 4, NTARGETS = 3, NKERNELS = 3, NOBJECTS = NTARGETS * NKERNELS };

/* Kernel text `n` (with math of the device library, shared memory, integers) for target `t`; `salt`
 * makes it another kernel. */
static const char setup[] =
    "roc = require 'roc'\n"
    "local targets = { 'gfx90a', 'gfx1030', 'cpu' }\n"
    "local texts = {\n"
    "  [[function(x, y) local i = roc.get_global_id(1)\n"
    "    if i <= #y then y[i] = math.exp(x[i]) * roc.math.erf(x[i]) + %d end end]],\n"
    "  [[function(x, y) local part = roc.shared.array(64, roc.float32)\n"
    "    local l = roc.get_local_id(1)\n"
    "    part[l] = x[l] + %d roc.barrier()\n"
    "    local sum = 0.0\n"
    "    for k = 1, 64 do sum = sum + part[k] end\n"
    "    y[roc.get_global_id(1)] = sum end]],\n"
    "  [[function(x, y) local i = roc.get_global_id(1)\n"
    "    local n = %d\n"
    "    for k = 1, i do n = n // k + (k ~ n) end\n"
    "    y[i] = x[i] + (n %% 7) end]],\n"
    "}\n"
    "function compile(n, t, salt)\n"
    "  local kernel = roc.kernel(texts[n + 1]:format(salt))\n"
    "  return kernel:compile(targets[t + 1], 'float32[:]', 'float32[:]').bytes\n"
    "end\n"
    "function try(n, t)\n"
    "  local ok, result = pcall(compile, n, t, 1)\n"
    "  return ok and result or result.code or tostring(result)\n"
    "end\n"
    "plant = require 'roc.core'.testing.fail_compiler\n"
    "function run(salt)\n"
    "  local d <close> = roc.on_device('cpu')\n"
    "  local x, y = roc.to_device(roc.ones(64, 'float32')), roc.to_device(roc.zeros(64, "
    "'float32'))\n"
    "  roc.kernel(texts[2]:format(salt))[{1, 64}](x, y)\n"
    "  assert(y[5] == 64 * (1 + salt), y[5])\n"
    "end\n"
    "function most() return require 'roc.core'.testing.most_compiles() end\n";

static lua_State *open_state(void) {
  lua_State *L = luaL_newstate();
  CHECK(L);
  roc_open_libraries(L);
  if (luaL_dostring(L, setup) != LUA_OK) {
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    exit(1);
  }
  return L;
}

static void call(lua_State *L, int nargs) {
  if (lua_pcall(L, nargs, 1, 0) == LUA_OK) return;
  fprintf(stderr, "%s\n", luaL_tolstring(L, -1, NULL));
  exit(1);
}

/* Leaves the bytes of code object `i` on the stack. */
static const char *compile(lua_State *L, int i, int salt, size_t *nbytes) {
  lua_getglobal(L, "compile");
  lua_pushinteger(L, i / NTARGETS);
  lua_pushinteger(L, i % NTARGETS);
  lua_pushinteger(L, salt);
  call(L, 3);
  return lua_tolstring(L, -1, nbytes);
}

static long most_at_once(lua_State *L) {
  lua_getglobal(L, "most");
  call(L, 0);
  long most = (long)lua_tointeger(L, -1);
  lua_settop(L, 0);
  return most;
}

/* ---- what one thread makes --------------------------------------------------------------- */

static struct {
  char *bytes;
  size_t nbytes;
} objects[NOBJECTS];

static void compile_alone(void) {
  lua_State *L = open_state();
  for (int i = 0; i < NOBJECTS; i++) {
    const char *bytes = compile(L, i, 1, &objects[i].nbytes);
    CHECK(objects[i].nbytes > 500 && (objects[i].bytes = malloc(objects[i].nbytes)));
    memcpy(objects[i].bytes, bytes, objects[i].nbytes);
    lua_settop(L, 0);
  }
  CHECK(most_at_once(L) == 1);
  lua_close(L);
}

static void check_object(lua_State *L, int i) {
  size_t nbytes;
  const char *bytes = compile(L, i, 1, &nbytes);
  CHECK(nbytes == objects[i].nbytes && !memcmp(bytes, objects[i].bytes, nbytes));
  lua_settop(L, 0);
}

static void forget_objects(void) {
  for (int i = 0; i < NOBJECTS; i++) free(objects[i].bytes);
}

/* ---- threads ----------------------------------------------------------------------------- */

static pthread_barrier_t start;

static void on_threads(void *(*work)(void *), int *numbers) {
  pthread_t threads[NTHREADS];
  pthread_barrier_init(&start, NULL, NTHREADS);
  for (int i = 0; i < NTHREADS; i++) {
    numbers[i] = i;
    CHECK(pthread_create(&threads[i], NULL, work, &numbers[i]) == 0);
  }
  for (int i = 0; i < NTHREADS; i++) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&start);
}

/* Each thread begins elsewhere, so that different targets meet. */
static void *compile_all(void *number) {
  lua_State *L = open_state();
  pthread_barrier_wait(&start);
  for (int i = 0; i < 2 * NOBJECTS; i++) {
    check_object(L, (i * 2 + *(int *)number) % NOBJECTS);
    if (i % 4 == 0) {
      lua_getglobal(L, "run");
      lua_pushinteger(L, i + *(int *)number * 100);
      call(L, 1);
      lua_settop(L, 0);
    }
  }
  lua_close(L);
  return NULL;
}

/* Threads give what one alone gives, and what is made for the cpu is loaded and runs meanwhile. */
static void test_same(void) {
  int numbers[NTHREADS];
  CHECK(setenv("ROCLUA_CACHE", "off", 1) == 0);
  compile_alone();
  on_threads(compile_all, numbers);
  forget_objects();
}

static _Atomic bool is_seen;

static void *compile_until_seen(void *number) {
  lua_State *L = open_state();
  pthread_barrier_wait(&start);
  for (int i = *(int *)number; !is_seen; i++) {
    check_object(L, i % NOBJECTS);
    if (most_at_once(L) >= 2) is_seen = true;
  }
  lua_close(L);
  return NULL;
}

/* Goes on until two threads were inside of code generation at the same moment; were they kept
 * apart, for ever. */
static void test_at_once(void) {
  int numbers[NTHREADS];
  CHECK(setenv("ROCLUA_CACHE", "off", 1) == 0);
  compile_alone();
  on_threads(compile_until_seen, numbers);
  forget_objects();
}

typedef struct first {
  lua_State *L;
  const char *bytes; /* on the stack */
  size_t nbytes;
} first;

static first firsts[NTHREADS];

static void *compile_first(void *number) {
  first *f = &firsts[*(int *)number];
  f->L = open_state();
  pthread_barrier_wait(&start);
  f->bytes = compile(f->L, *(int *)number, 1, &f->nbytes);
  return NULL;
}

/* Nothing is compiled before the threads begin: they open the compiler, read the device library and
 * make the first machines all at once. */
static void test_first(void) {
  int numbers[NTHREADS];
  CHECK(setenv("ROCLUA_CACHE", "off", 1) == 0);
  on_threads(compile_first, numbers);
  lua_State *L = open_state();
  for (int i = 0; i < NTHREADS; i++) {
    size_t nbytes;
    const char *bytes = compile(L, i, 1, &nbytes);
    CHECK(nbytes == firsts[i].nbytes && !memcmp(bytes, firsts[i].bytes, nbytes));
    lua_close(firsts[i].L);
  }
  lua_close(L);
}

/* ---- memory that runs out ---------------------------------------------------------------- */

static void plant(lua_State *L, int number) {
  lua_getglobal(L, "plant");
  lua_pushinteger(L, number);
  call(L, 1);
  lua_settop(L, 0);
}

/* Each thread lets an allocation fail now and then, of whichever thread comes to it. */
static void *compile_with_failures(void *number) {
  static _Atomic int nfailed;
  lua_State *L = open_state();
  pthread_barrier_wait(&start);
  for (int i = 0; i < 2 * NOBJECTS || nfailed < 2 * NTHREADS; i++) {
    int at = (i * 2 + *(int *)number) % NOBJECTS;
    if (i % 2) plant(L, 1 + i * 7919 % 30011);
    lua_getglobal(L, "try");
    lua_pushinteger(L, at / NTARGETS);
    lua_pushinteger(L, at % NTARGETS);
    call(L, 2);
    size_t nbytes;
    const char *result = lua_tolstring(L, -1, &nbytes);
    bool is_oom = strcmp(result, "oom") == 0;
    nfailed += is_oom;
    CHECK(is_oom ||
          (nbytes == objects[at].nbytes && memcmp(result, objects[at].bytes, nbytes) == 0));
    lua_settop(L, 0);
  }
  plant(L, 0);
  lua_close(L);
  return NULL;
}

/* A compile fails for lack of memory or is right, whatever becomes of those beside it. */
static void test_memory(void) {
  int numbers[NTHREADS];
  CHECK(setenv("ROCLUA_CACHE", "off", 1) == 0);
  compile_alone();
  on_threads(compile_with_failures, numbers);
  on_threads(compile_all, numbers);
  forget_objects();
}

/* ---- the cache on disk ------------------------------------------------------------------- */

static char folder[] = "/tmp/roclua-compile-test-XXXXXX";

static void use_new_cache(void) {
  CHECK(mkdtemp(folder));
  CHECK(setenv("XDG_CACHE_HOME", folder, 1) == 0);
  CHECK(unsetenv("ROCLUA_CACHE") == 0);
}

/* The number of files of the cache, which are removed. */
static int clear_cache(void) {
  char path[512];
  int n = 0;
  snprintf(path, sizeof path, "%s/roclua", folder);
  DIR *dir = opendir(path);
  CHECK(dir);
  for (struct dirent *item; (item = readdir(dir));) {
    if (item->d_name[0] != '.') n += unlinkat(dirfd(dir), item->d_name, 0) == 0;
  }
  closedir(dir);
  CHECK(rmdir(path) == 0 && rmdir(folder) == 0);
  return n;
}

/* All of them write, and read, the same few entries; the objects are right whoever made them. */
static void test_cache(void) {
  int numbers[NTHREADS];
  CHECK(setenv("ROCLUA_CACHE", "off", 1) == 0);
  compile_alone();
  use_new_cache();
  on_threads(compile_all, numbers);
  CHECK(clear_cache() >= NOBJECTS);
  forget_objects();
}

/* ---- the process ------------------------------------------------------------------------- */

static void on_signal(int number) {
  (void)number;
}

static long position(int fd) {
  return (long)lseek(fd, 0, SEEK_CUR);
}

static int count_open_files(void) {
  int n = 0;
  DIR *dir = opendir("/proc/self/fd");
  CHECK(dir);
  while (readdir(dir)) n++;
  closedir(dir);
  return n;
}

/* Handlers of all signals are the same, nothing was printed, no file stays open. */
static void test_process(void) {
  static struct sigaction before[NSIG], after[NSIG];
  int numbers[NTHREADS];
  CHECK(setenv("ROCLUA_CACHE", "off", 1) == 0);
  CHECK(freopen("/dev/null", "r", stdin));
  FILE *captured = tmpfile();
  CHECK(captured);
  int old_out = dup(1), old_err = dup(2);
  CHECK(dup2(fileno(captured), 1) == 1 && dup2(fileno(captured), 2) == 2);
  compile_alone();
  CHECK(signal(SIGUSR1, on_signal) != SIG_ERR && signal(SIGPIPE, SIG_IGN) != SIG_ERR);
  for (int n = 1; n < NSIG; n++) sigaction(n, NULL, &before[n]);
  int nfiles = count_open_files();
  on_threads(compile_all, numbers);
  for (int n = 1; n < NSIG; n++) {
    sigaction(n, NULL, &after[n]);
    CHECK(after[n].sa_handler == before[n].sa_handler && after[n].sa_flags == before[n].sa_flags);
  }
  CHECK(count_open_files() == nfiles);
  fflush(stdout);
  CHECK(position(1) == 0);
  dup2(old_out, 1);
  dup2(old_err, 2);
  fclose(captured);
  forget_objects();
}

static const struct {
  const char *name;
  void (*run)(void);
} tests[] = {
    {"same", test_same},   {"at_once", test_at_once}, {"first", test_first},
    {"cache", test_cache}, {"process", test_process}, {"memory", test_memory},
};

int main(int argc, char **argv) {
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
    if (argc < 2) {
      puts(tests[i].name);
    } else if (strcmp(argv[1], tests[i].name) == 0) {
      tests[i].run();
      printf("ok %s\n", argv[1]);
      return 0;
    }
  }
  return argc < 2 ? 0 : 2;
}
