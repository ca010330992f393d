/* Opening BLAS and LAPACK; see library.h. */
#include "runtime/linalg/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/opened.h"
#include "base/thread.h"
#include "device/cpu/pool.h"

static roc_lapack library;

static const roc_opened_function functions[] = {
#define ROC_LAPACK(name, params)                       \
  {"s" #name "_", offsetof(roc_lapack, float32.name)}, \
      {"d" #name "_", offsetof(roc_lapack, float64.name)},
#include "runtime/linalg/lapack.def"
#undef ROC_LAPACK
};

static roc_opened opened = {.variable = "ROCLUA_LAPACK_LIBRARY",
                            .files = {"libopenblas.so.0", "libopenblas64.so.0", "liblapack.so.3"},
                            .purpose = "roc.linalg",
                            .absent =
                                "roc.linalg needs LAPACK: install libopenblas0, or "
                                "liblapack3, or name a library in ROCLUA_LAPACK_LIBRARY",
                            .functions = functions,
                            .nfunctions = sizeof functions / sizeof *functions,
                            .table = &library};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_ready;

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

/* A factorisation of two rows writes 1 and 2: in one half, or in the first halves of two. */
static void measure_integers(void) {
  double unit[4] = {1, 0, 0, 1};
  roc_lapack_int two = 2, info = 0, pivots[2] = {0, 0};
  library.float64.getrf(&two, &two, unit, &two, pivots, &info);
  library.has_wide_integers = pivots[0] == 1;
}

/* OpenBLAS tells its version first, and for which processor it computes; of others LAPACK's version
 * is asked. */
static void describe(void) {
  char *(*config)(void), *(*core)(void);
  void (*version)(roc_lapack_int *, roc_lapack_int *, roc_lapack_int *);
  void *address = dlsym(opened.handle, "openblas_get_config");
  memcpy(&config, &address, sizeof config);
  address = dlsym(opened.handle, "openblas_get_corename");
  memcpy(&core, &address, sizeof core);
  address = dlsym(opened.handle, "ilaver_");
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
    snprintf(text, sizeof text, "LAPACK %d.%d.%d", (int)roc_lapack_value(&library, &parts[0], 0),
             (int)roc_lapack_value(&library, &parts[1], 0),
             (int)roc_lapack_value(&library, &parts[2], 0));
  }
  snprintf(library.name, sizeof library.name, "%s (%.60s)", text, roc_opened_file_name(&opened));
}

/* As many threads as run kernels on `cpu` are started now, and wait. */
static roc_status start_threads(roc_error *err) {
  ROC_TRY(roc_cpu_thread_count(&most_threads, err));
  void *address = dlsym(opened.handle, "openblas_set_num_threads");
  memcpy(&set_threads, &address, sizeof set_threads);
  if (!set_threads) return ROC_OK;
  set_threads((int)most_threads);
  set_threads(1);
  return ROC_OK;
}

static roc_status prepare(roc_error *err) {
  sigset_t old;
  ROC_TRY(roc_opened_load(&opened, err));
  roc_thread_block_signals(&old);
  roc_status status = start_threads(err);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (status != ROC_OK) return status;
  measure_integers();
  describe();
  is_ready = true;
  return ROC_OK;
}

roc_status roc_lapack_open(const roc_lapack **out_lapack, roc_error *err) {
  pthread_mutex_lock(&lock);
  roc_status status = is_ready ? ROC_OK : prepare(err);
  pthread_mutex_unlock(&lock);
  *out_lapack = &library;
  return status;
}
