/* The compiler thread; see driver.h.  Lock order: `callers`, then `lock`; nothing else is locked
 * under them. */
#include "jit/driver.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/target.h"
#include "device/device.h"
#include "jit/library.h"

enum { COMPILER_STACK_BYTES = 8 << 20 };

/* One piece of work; lives on the stack of the caller, who waits until `done`. */
typedef struct request {
  void (*fn)(void *ud);
  void *ud;
  bool taken, done, died;
  char *message; /* LLVM's last words; owned by the request */
} request;

/* A loaded object as the runtime holds it: made at load, so that unloading never needs memory. */
typedef struct loaded {
  void *handle;
  struct loaded *next;
} loaded;

static struct {
  pthread_mutex_t callers; /* held by the one caller whose request is current */
  pthread_mutex_t lock;    /* guards what follows */
  pthread_cond_t work, finished;
  request *current;
  loaded *unloads;
  pthread_t thread;
  bool has_thread, is_stopping;
  _Atomic pid_t pid;                  /* of the process that made the thread; 0: none has */
  const roc_codegen_api *_Atomic api; /* set once, on the compiler thread */
} driver = {.callers = PTHREAD_MUTEX_INITIALIZER,
            .lock = PTHREAD_MUTEX_INITIALIZER,
            .work = PTHREAD_COND_INITIALIZER,
            .finished = PTHREAD_COND_INITIALIZER};

/* ---- the thread ---- */

static void finish(request *r) {
  r->done = true;
  driver.current = NULL;
  pthread_cond_broadcast(&driver.finished);
}

static void unload_all(loaded *list) {
  while (list) {
    loaded *next = list->next;
    driver.api->jit_unload(list->handle);
    roc_free(list);
    list = next;
  }
}

static void *compiler_main(void *unused) {
  (void)unused;
  pthread_mutex_lock(&driver.lock);
  for (;;) {
    if (driver.unloads) {
      loaded *list = driver.unloads;
      driver.unloads = NULL;
      pthread_mutex_unlock(&driver.lock);
      unload_all(list);
      pthread_mutex_lock(&driver.lock);
    } else if (driver.current && !driver.current->taken) {
      request *r = driver.current;
      r->taken = true;
      pthread_mutex_unlock(&driver.lock);
      r->fn(r->ud);
      pthread_mutex_lock(&driver.lock);
      finish(r);
    } else if (driver.is_stopping) {
      break;
    } else {
      pthread_cond_wait(&driver.work, &driver.lock);
    }
  }
  pthread_mutex_unlock(&driver.lock);
  return NULL;
}

/* Called by LLVM on the compiler thread, which never comes back: the back end parks it. */
static void on_fatal(void *unused, const char *message) {
  (void)unused;
  pthread_mutex_lock(&driver.lock);
  pthread_detach(driver.thread);
  driver.has_thread = false;
  if (driver.current && driver.current->taken) {
    request *r = driver.current;
    r->died = true;
    r->message = strdup(message);
    finish(r);
  }
  pthread_mutex_unlock(&driver.lock);
}

/* No more work, and the thread is gone.  Registered twice.  After the back end is opened, so as to
 * run before LLVM's destructors; and before it is opened, for an exit that begins on another thread
 * meanwhile: what the opening registers then runs after this. */
static void stop_at_exit(void) {
  if (driver.pid && driver.pid != getpid()) return; /* a child's exit: the thread is the parent's */
  pthread_mutex_lock(&driver.lock);
  driver.is_stopping = true;
  bool join = driver.has_thread && !pthread_equal(driver.thread, pthread_self());
  pthread_cond_broadcast(&driver.work);
  pthread_mutex_unlock(&driver.lock);
  if (join) pthread_join(driver.thread, NULL);
}

/* LLVM also registers destructors lazily, while it compiles, and those run before stop_at_exit.  Of
 * all that exit() runs, the destructors of the calling thread's thread-locals come first: so an exit
 * on the main thread, which is nearly every one, waits there for the compile in flight. */
extern int __cxa_thread_atexit_impl(void (*destructor)(void *), void *object, void *dso);
extern void *__dso_handle;

static void stop_first(void *unused) {
  (void)unused;
  stop_at_exit();
}

__attribute__((constructor)) static void watch_main_thread(void) {
  if (gettid() == getpid()) __cxa_thread_atexit_impl(stop_first, NULL, &__dso_handle);
}

/* Signals stay with the program's own threads: Ctrl-C must reach the one that waits. */
static int create_thread(void) {
  pthread_attr_t attr;
  int rc = pthread_attr_init(&attr);
  if (rc) return rc;
  sigset_t all, old;
  sigfillset(&all);
  rc = pthread_attr_setstacksize(&attr, COMPILER_STACK_BYTES);
  if (!rc) {
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&driver.thread, &attr, compiler_main, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
  }
  pthread_attr_destroy(&attr);
  return rc;
}

/* With the lock held. */
static roc_status ensure_thread(roc_error *err) {
  if (driver.is_stopping)
    return roc_fail(err, ROC_CLOSED, "the process is ending: nothing can be compiled");
  if (driver.has_thread) return ROC_OK;
  if (!driver.pid) atexit(stop_at_exit);
  int rc = create_thread();
  if (rc)
    return roc_fail(err, ROC_UNAVAILABLE, "cannot start the compiler thread: %s", strerror(rc));
  driver.has_thread = true;
  driver.pid = getpid();
  return ROC_OK;
}

roc_status roc_jit_run(void (*fn)(void *ud), void *ud, roc_error *err) {
  request r = {.fn = fn, .ud = ud};
  if (driver.pid && driver.pid != getpid()) { /* first: the locks may have been copied while held */
    return roc_fail(
        err, ROC_UNAVAILABLE,
        "roclua cannot be used in a process made by fork: use it in one of the two only");
  }
  pthread_mutex_lock(&driver.callers);
  pthread_mutex_lock(&driver.lock);
  roc_status status = ensure_thread(err);
  if (status == ROC_OK) {
    driver.current = &r;
    pthread_cond_signal(&driver.work);
    while (!r.done) pthread_cond_wait(&driver.finished, &driver.lock);
  }
  pthread_mutex_unlock(&driver.lock);
  pthread_mutex_unlock(&driver.callers);
  if (r.died) {
    status = roc_fail(err, ROC_COMPILE, "LLVM stopped with a fatal error: %s",
                      r.message ? r.message : "(no message: out of memory)");
    free(r.message);
  }
  return status;
}

/* ---- the cpu device's loader ---- */

typedef struct load_work {
  const roc_codeobj *object;
  roc_cpu_entry entry;
  void *handle;
  roc_status status;
  roc_error *err;
} load_work;

static void load_on_thread(void *ud) {
  load_work *w = ud;
  w->status = driver.api->jit_load(w->object, &w->entry, &w->handle, w->err);
}

static roc_status load_cpu(const roc_codeobj *object, roc_cpu_entry *out_entry, void **out_handle,
                           roc_error *err) {
  loaded *l = roc_zalloc(sizeof *l);
  if (!l) return roc_fail(err, ROC_OOM, "out of memory while loading a kernel");
  load_work w = {.object = object, .err = err};
  roc_status status = roc_jit_run(load_on_thread, &w, err);
  if (status == ROC_OK) status = w.status;
  if (status != ROC_OK) {
    roc_free(l);
    return status;
  }
  l->handle = w.handle;
  *out_entry = w.entry;
  *out_handle = l;
  return ROC_OK;
}

/* Any thread, never waits: the compiler thread unloads before its next piece of work. */
static void unload_cpu(void *handle) {
  loaded *l = handle;
  pthread_mutex_lock(&driver.lock);
  l->next = driver.unloads;
  driver.unloads = l;
  pthread_cond_signal(&driver.work);
  pthread_mutex_unlock(&driver.lock);
}

static const roc_cpu_loader cpu_loader = {load_cpu, unload_cpu};

/* ---- the back end's functions, each as a piece of work ---- */

typedef struct open_work {
  roc_status status;
  roc_error *err;
} open_work;

static void open_on_thread(void *ud) {
  open_work *w = ud;
  if (driver.api) return;
  const roc_codegen_api *api = NULL;
  w->status = roc_jit_open_library(&api, w->err);
  if (w->status != ROC_OK) return;
  api->set_fatal_handler(on_fatal, NULL);
  roc_cpu_set_loader(&cpu_loader);
  /* After the library's own static constructors, so that ours runs before its destructors. */
  atexit(stop_at_exit);
  driver.api = api;
}

static roc_status open_api(roc_error *err) {
  open_work w = {.err = err};
  ROC_TRY(roc_jit_run(open_on_thread, &w, err));
  return w.status;
}

typedef struct compile_work {
  const roc_ir_module *module;
  const roc_cg_options *options;
  roc_codeobj *object;
  roc_cg_times *times;
  roc_status status;
  roc_error *err;
} compile_work;

static void compile_on_thread(void *ud) {
  compile_work *w = ud;
  w->status = driver.api->compile(w->module, w->options, &w->object, w->times, w->err);
}

roc_status roc_jit_compile(const roc_ir_module *module, const roc_cg_options *options,
                           roc_codeobj **out_object, roc_cg_times *times, roc_error *err) {
  ROC_TRY(open_api(err));
  compile_work w = {.module = module, .options = options, .times = times, .err = err};
  ROC_TRY(roc_jit_run(compile_on_thread, &w, err));
  if (w.status == ROC_OK) *out_object = w.object;
  return w.status;
}

typedef struct fingerprint_work {
  const roc_cg_options *options;
  char *out;
  roc_status status;
  roc_error *err;
} fingerprint_work;

static void fingerprint_on_thread(void *ud) {
  fingerprint_work *w = ud;
  w->status = driver.api->fingerprint(w->options, w->out, w->err);
}

roc_status roc_jit_fingerprint(const roc_cg_options *options, char *out, roc_error *err) {
  ROC_TRY(open_api(err));
  fingerprint_work w = {.options = options, .out = out, .err = err};
  ROC_TRY(roc_jit_run(fingerprint_on_thread, &w, err));
  return w.status;
}

bool roc_jit_is_open(void) {
  return driver.api != NULL;
}

void roc_jit_compiler_files(char out[ROC_CG_FILES_BYTES]) {
  const roc_codegen_api *api = driver.api;
  out[0] = '\0';
  if (api) api->files(out);
}

typedef struct dump_work {
  const roc_ir_module *module;
  const roc_cg_options *options;
  roc_cg_stage stage;
  roc_str *out;
  roc_status status;
  roc_error *err;
} dump_work;

static void add_text(void *ud, const char *text, size_t len) {
  roc_str_add(ud, text, len);
}

static void dump_on_thread(void *ud) {
  dump_work *w = ud;
  w->status = driver.api->dump(w->module, w->options, w->stage, add_text, w->out, w->err);
}

roc_status roc_jit_dump(const roc_ir_module *module, const roc_cg_options *options,
                        roc_cg_stage stage, roc_str *out, roc_error *err) {
  ROC_TRY(open_api(err));
  dump_work w = {.module = module, .options = options, .stage = stage, .out = out, .err = err};
  ROC_TRY(roc_jit_run(dump_on_thread, &w, err));
  ROC_TRY(w.status);
  if (out->failed) return roc_fail(err, ROC_OOM, "out of memory while printing a stage");
  return ROC_OK;
}

bool roc_jit_stage_from_name(const char *name, roc_cg_stage *out) {
  static const struct {
    const char *name;
    roc_cg_stage stage;
  } stages[] = {{"llvm", ROC_CG_LLVM},
                {"llvm.opt", ROC_CG_LLVM_OPT},
                {"asm", ROC_CG_ASM},
                {"obj", ROC_CG_OBJ}};
  for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
    if (strcmp(name, stages[i].name) == 0) {
      *out = stages[i].stage;
      return true;
    }
  }
  return false;
}

typedef struct check_work {
  const char *target;
  const char *complaint;
} check_work;

static void check_on_thread(void *ud) {
  check_work *w = ud;
  w->complaint = driver.api->check_target(w->target);
}

roc_status roc_jit_check_target(const char *target, roc_error *err) {
  if (roc_gpu_chip_find(target, NULL)) return ROC_OK; /* known here, too */
  ROC_TRY(open_api(err));
  check_work w = {.target = target};
  ROC_TRY(roc_jit_run(check_on_thread, &w, err));
  if (w.complaint[0]) return roc_fail(err, ROC_INVALID, "%s", w.complaint);
  return ROC_OK;
}
