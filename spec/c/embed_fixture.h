/* What the C tests of the library share: a check that ends the program, and tests by name. */
#ifndef ROC_SPEC_EMBED_FIXTURE_H
#define ROC_SPEC_EMBED_FIXTURE_H

#include <lauxlib.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/roclua.h"

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: failed: %s (%s)\n", __FILE__, __LINE__, #condition, roclua_error()); \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

typedef struct named_test {
  const char *name;
  void (*run)(void);
} named_test;

static inline void run(lua_State *L, const char *text) {
  if (luaL_dostring(L, text) == LUA_OK) return;
  fprintf(stderr, "%s\n", luaL_tolstring(L, -1, NULL));
  exit(1);
}

static inline void count_release(void *ud) {
  atomic_fetch_add((_Atomic int *)ud, 1);
}

/* A vector of the program's floats; `*releases` counts how often they are given back. */
static inline roclua_memory memory_of(float *data, const int64_t *count, _Atomic int *releases) {
  return (roclua_memory){.size = sizeof(roclua_memory),
                         .dtype = "float32",
                         .rank = 1,
                         .shape = count,
                         .data = data,
                         .release = count_release,
                         .ud = releases};
}

/* main's: runs the test that the first argument names, or lists all. */
static inline int run_named(const named_test *tests, size_t count, int argc, char **argv) {
  for (size_t i = 0; i < count; i++) {
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

#endif
