/* Opening BLAS and LAPACK; see library.h. */
#include "runtime/linalg/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/thread.h"
#include "device/cpu/pool.h"

#define VARIABLE "ROCLUA_LAPACK_LIBRARY"

static const char *const files[] = {"libopenblas.so.0", "libopenblas64.so.0", "liblapack.so.3"};

static const struct {
  const char *name;
  size_t offset;
} functions[] = {
#define ROC_LAPACK(name, params) {#name, offsetof(roc_lapack_functions, name)},
#include "runtime/linalg/lapack.def"
#undef ROC_LAPACK
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static roc_lapack library;
static bool is_open;

/* Calls that share OpenBLAS's number of threads, 1, hold it shared; one that changes it, alone. */
static pthread_rwlock_t running = PTHREAD_RWLOCK_INITIALIZER;
static void (*set_threads)(int count); /* NULL: the library has no such function */
static uint32_t most_threads;

void roc_lapack_enter(bool is_large) {
  if (is_large && set_threads) {
    pthread_rwlock_wrlock(&running);
    set_threads((int)most_threads);
  } else {
    pthread_rwlock_rdlock(&running);
  }
}

void roc_lapack_leave(bool is_large) {
  if (is_large && set_threads) set_threads(1);
  pthread_rwlock_unlock(&running);
}

int64_t roc_lapack_value(const roc_lapack *lapack, const roc_lapack_int *written, int64_t place) {
  if (lapack->has_wide_integers) return written[place];
  int32_t value;
  memcpy(&value, (const char *)written + place * (int64_t)sizeof value, sizeof value);
  return value;
}

static roc_status find_functions(void *handle, const char *file, char precision,
                                 roc_lapack_functions *table, roc_error *err) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    char symbol[16];
    snprintf(symbol, sizeof symbol, "%c%s_", precision, functions[i].name);
    void *address = dlsym(handle, symbol); /* of what the file depends on as well */
    if (!address) {
      return roc_fail(err, ROC_UNAVAILABLE, "roc.linalg cannot use %s, which has no function '%s'",
                      file, symbol);
    }
    memcpy((char *)table + functions[i].offset, &address, sizeof address);
  }
  return ROC_OK;
}

/* A factorisation of two rows writes 1 and 2: in one half, or in the first halves of two. */
static void measure_integers(roc_lapack *lapack) {
  double unit[4] = {1, 0, 0, 1};
  roc_lapack_int two = 2, info = 0, pivots[2] = {0, 0};
  lapack->float64.getrf(&two, &two, unit, &two, pivots, &info);
  lapack->has_wide_integers = pivots[0] == 1;
}

/* OpenBLAS tells its version first, and for which processor it computes; of others LAPACK's version
 * is asked. */
static void describe(roc_lapack *lapack, void *handle, const char *file) {
  char *(*config)(void), *(*core)(void);
  void (*version)(roc_lapack_int *, roc_lapack_int *, roc_lapack_int *);
  void *address = dlsym(handle, "openblas_get_config");
  memcpy(&config, &address, sizeof config);
  address = dlsym(handle, "openblas_get_corename");
  memcpy(&core, &address, sizeof core);
  address = dlsym(handle, "ilaver_");
  memcpy(&version, &address, sizeof version);
  char text[64] = "LAPACK";
  if (config) {
    char first[24] = "", second[16] = "";
    if (sscanf(config(), "%23s %15s", first, second) == 2) {
      snprintf(text, sizeof text, "%s %s%s%.20s", first, second, core ? " " : "",
               core ? core() : "");
    }
  } else if (version) {
    roc_lapack_int parts[3] = {0};
    version(&parts[0], &parts[1], &parts[2]);
    snprintf(text, sizeof text, "LAPACK %d.%d.%d", (int)roc_lapack_value(lapack, &parts[0], 0),
             (int)roc_lapack_value(lapack, &parts[1], 0),
             (int)roc_lapack_value(lapack, &parts[2], 0));
  }
  const char *slash = strrchr(file, '/');
  snprintf(lapack->name, sizeof lapack->name, "%s (%.60s)", text, slash ? slash + 1 : file);
}

/* As many threads as run kernels on `cpu` are started now, and wait. */
static roc_status start_threads(void *handle, roc_error *err) {
  ROC_TRY(roc_cpu_thread_count(&most_threads, err));
  void *address = dlsym(handle, "openblas_set_num_threads");
  memcpy(&set_threads, &address, sizeof set_threads);
  if (!set_threads) return ROC_OK;
  set_threads((int)most_threads);
  set_threads(1);
  return ROC_OK;
}

static roc_status use(void *handle, const char *file, roc_error *err) {
  ROC_TRY(find_functions(handle, file, 's', &library.float32, err));
  ROC_TRY(find_functions(handle, file, 'd', &library.float64, err));
  ROC_TRY(start_threads(handle, err));
  measure_integers(&library);
  describe(&library, handle, file);
  return ROC_OK;
}

static roc_status open_file(const char *file, const char *what, roc_status absent, roc_error *err) {
  void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return roc_fail(err, absent, "%s", what);
  roc_status status = use(handle, file, err);
  if (status != ROC_OK) dlclose(handle);
  return status;
}

static roc_status open_any(roc_error *err) {
  const char *given = roc_env_text(VARIABLE);
  if (given) {
    char what[256];
    snprintf(what, sizeof what, VARIABLE " is '%.150s', which cannot be opened", given);
    return open_file(given, what, ROC_INVALID, err);
  }
  roc_status status = ROC_UNAVAILABLE;
  for (size_t i = 0; status == ROC_UNAVAILABLE && i < sizeof files / sizeof *files; i++) {
    status = open_file(files[i],
                       "roc.linalg needs LAPACK: install libopenblas0, or liblapack3, or name a "
                       "library in " VARIABLE,
                       ROC_UNAVAILABLE, err);
  }
  return status;
}

roc_status roc_lapack_open(const roc_lapack **out_lapack, roc_error *err) {
  pthread_mutex_lock(&lock);
  roc_status status = ROC_OK;
  if (!is_open) {
    sigset_t old;
    roc_thread_block_signals(&old); /* the library starts threads when it is opened */
    status = open_any(err);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    is_open = status == ROC_OK;
  }
  pthread_mutex_unlock(&lock);
  *out_lapack = &library;
  return status;
}
