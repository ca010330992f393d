/* The back end's functions, each as a piece of work for a compiler thread; see driver.h. */
#include "jit/driver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/target.h"
#include "device/device.h"
#include "jit/library.h"
#include "jit/workers.h"

/* Set once, by open_on_thread. */
static const roc_codegen_api *_Atomic backend;

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
  w->status = backend->jit_load(w->object, &w->entry, &w->handle, w->err);
}

/* A loaded object as the runtime holds it: made at load, so that unloading never needs memory. */
typedef struct loaded {
  roc_jit_background_job unload; /* first */
  void *handle;
} loaded;

static void unload_on_thread(roc_jit_background_job *job) {
  loaded *l = (loaded *)job;
  backend->jit_unload(l->handle);
  roc_free(l);
}

static roc_status load_cpu(const roc_codeobj *object, roc_cpu_entry *out_entry, void **out_handle,
                           roc_error *err) {
  loaded *l = roc_zalloc(sizeof *l);
  if (!l) return roc_fail(err, ROC_OOM, "out of memory while loading a kernel");
  load_work w = {.object = object, .err = err};
  roc_status status = roc_jit_run(load_on_thread, &w, NULL, err);
  if (status == ROC_OK) status = w.status;
  if (status != ROC_OK) {
    roc_free(l);
    return status;
  }
  *l = (loaded){.unload = {.run = unload_on_thread}, .handle = w.handle};
  *out_entry = w.entry;
  *out_handle = l;
  return ROC_OK;
}

/* Any thread, never waits. */
static void unload_cpu(void *handle) {
  roc_jit_run_later(handle);
}

static const roc_cpu_loader cpu_loader = {load_cpu, unload_cpu};

/* ---- opening it ---- */

typedef struct open_work {
  roc_status status;
  roc_error *err;
} open_work;

/* Called by LLVM on a compiler thread, which never returns from it: the back end parks it. */
static void on_fatal(void *unused, roc_status status, const char *message) {
  (void)unused;
  roc_jit_worker_dies(status, message);
}

static roc_status open_library(roc_error *err) {
  const roc_codegen_api *opened = NULL;
  ROC_TRY(roc_jit_open_library(&opened, err));
  opened->set_fatal_handler(on_fatal, NULL);
  roc_cpu_set_loader(&cpu_loader);
  roc_jit_stop_before_exit();
  backend = opened;
  return ROC_OK;
}

/* Of several first callers one opens it, and the others wait for that. */
static void open_on_thread(void *ud) {
  static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
  open_work *w = ud;
  pthread_mutex_lock(&opening);
  w->status = backend ? ROC_OK : open_library(w->err);
  pthread_mutex_unlock(&opening);
}

roc_status roc_jit_open(roc_error *err) {
  if (backend) return ROC_OK;
  open_work w = {.err = err};
  ROC_TRY(roc_jit_run(open_on_thread, &w, NULL, err));
  return w.status;
}

/* ---- interrupts ---- */

static _Atomic uint64_t planted_interrupt; /* asks until one gets a yes; 0: none was planted */

void roc_jit_plant_interrupt(uint64_t nth) {
  planted_interrupt = nth;
}

static bool is_planted(void) {
  uint64_t n = atomic_load_explicit(&planted_interrupt, memory_order_relaxed);
  return n > 0 && --planted_interrupt == 0;
}

/* Called on the compiler thread. */
static bool wants_end(void *session) {
  return roc_rt_is_interrupted(session) || is_planted();
}

void roc_jit_let_interrupt(roc_cg_options *options, roc_rt_session *session) {
  options->wants_end = session ? wants_end : NULL;
  options->session = session;
}

/* What the caller gets of a function that options may end. */
static roc_status take_interrupt(const roc_cg_options *options, roc_status status) {
  if (status == ROC_INTERRUPTED && options->session) roc_rt_take_interrupt(options->session);
  return status;
}

/* ---- its functions ---- */

/* roc_jit_run of work that may take long, with a line that says so. */
static roc_status run_long(void (*fn)(void *ud), void *ud, const roc_cg_options *options,
                           const char *name, roc_error *err) {
  char title[ROC_RT_PROGRESS_TITLE_BYTES];
  snprintf(title, sizeof title, "compile %s", name);
  roc_rt_progress work;
  roc_rt_progress_begin_next(&work, options->session, title);
  roc_status status = roc_jit_run(fn, ud, &work, err);
  roc_rt_progress_end(&work);
  return status;
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
  w->status = backend->compile(w->module, w->options, &w->object, w->times, w->err);
}

roc_status roc_jit_compile(const roc_ir_module *module, const roc_cg_options *options,
                           roc_codeobj **out_object, roc_cg_times *times, roc_error *err) {
  ROC_TRY(roc_jit_open(err));
  compile_work w = {.module = module, .options = options, .times = times, .err = err};
  ROC_TRY(run_long(compile_on_thread, &w, options, module->name, err));
  if (w.status == ROC_OK) *out_object = w.object;
  return take_interrupt(options, w.status);
}

typedef struct fingerprint_work {
  const roc_cg_options *options;
  char *out;
  roc_status status;
  roc_error *err;
} fingerprint_work;

static void fingerprint_on_thread(void *ud) {
  fingerprint_work *w = ud;
  w->status = backend->fingerprint(w->options, w->out, w->err);
}

roc_status roc_jit_fingerprint(const roc_cg_options *options, char *out, roc_error *err) {
  ROC_TRY(roc_jit_open(err));
  roc_cg_options own = *options;
  roc_jit_let_interrupt(&own, NULL); /* it is short */
  fingerprint_work w = {.options = &own, .out = out, .err = err};
  ROC_TRY(roc_jit_run(fingerprint_on_thread, &w, NULL, err));
  return w.status;
}

bool roc_jit_is_open(void) {
  return backend != NULL;
}

void roc_jit_compiler_files(char out[ROC_CG_FILES_BYTES]) {
  out[0] = '\0';
  if (backend) backend->files(out);
}

uint32_t roc_jit_most_at_once(void) {
  return backend ? backend->most_at_once() : 0;
}

roc_status roc_jit_plant_failures(uint64_t first, uint64_t last, roc_error *err) {
  ROC_TRY(roc_jit_open(err));
  backend->plant_failures(first, last);
  return ROC_OK;
}

roc_status roc_jit_memory(roc_cg_memory *out, roc_error *err) {
  ROC_TRY(roc_jit_open(err));
  *out = backend->memory();
  return ROC_OK;
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
  w->status = backend->dump(w->module, w->options, w->stage, add_text, w->out, w->err);
}

roc_status roc_jit_dump(const roc_ir_module *module, const roc_cg_options *options,
                        roc_cg_stage stage, roc_str *out, roc_error *err) {
  ROC_TRY(roc_jit_open(err));
  dump_work w = {.module = module, .options = options, .stage = stage, .out = out, .err = err};
  ROC_TRY(run_long(dump_on_thread, &w, options, module->name, err));
  ROC_TRY(take_interrupt(options, w.status));
  if (out->failed) return roc_fail(err, ROC_OOM, "out of memory while printing a stage");
  return ROC_OK;
}

typedef struct join_work {
  const roc_cg_part *parts;
  uint32_t nparts;
  const roc_cg_options *options;
  roc_str *out;
  roc_status status;
  roc_error *err;
} join_work;

static void join_on_thread(void *ud) {
  join_work *w = ud;
  w->status = backend->join(w->parts, w->nparts, w->options, add_text, w->out, w->err);
}

roc_status roc_jit_join(const roc_cg_part *parts, uint32_t nparts, const roc_cg_options *options,
                        roc_str *out, roc_error *err) {
  ROC_TRY(roc_jit_open(err));
  join_work w = {.parts = parts, .nparts = nparts, .options = options, .out = out, .err = err};
  ROC_TRY(run_long(join_on_thread, &w, options, "joined kernels", err));
  ROC_TRY(take_interrupt(options, w.status));
  if (out->failed) return roc_fail(err, ROC_OOM, "out of memory for joined kernels");
  return ROC_OK;
}

/* ---- quirks ---- */

static _Atomic uint64_t quirks_off;

void roc_jit_set_quirks_off(uint64_t bits) {
  quirks_off = bits;
}

uint64_t roc_jit_quirks_off(void) {
  return quirks_off;
}

roc_status roc_jit_quirks(const roc_cg_quirk **out_rows, uint32_t *out_count, roc_error *err) {
  ROC_TRY(roc_jit_open(err));
  *out_rows = backend->quirks(out_count);
  return ROC_OK;
}

/* ---- names ---- */

bool roc_jit_stage_from_name(const char *name, roc_cg_stage *out) {
  static const struct {
    const char *name;
    roc_cg_stage stage;
  } stages[] = {{"llvm", ROC_CG_LLVM},
                {"llvm.opt", ROC_CG_LLVM_OPT},
                {"asm", ROC_CG_ASM},
                {"obj", ROC_CG_OBJ},
                {"bitcode", ROC_CG_BITCODE}};
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
  w->complaint = backend->check_target(w->target);
}

roc_status roc_jit_check_target(const char *target, roc_error *err) {
  const roc_target_facts *facts = roc_target_facts_of(target);
  if (facts && !facts->has_open_names) return ROC_OK;
  ROC_TRY(roc_jit_open(err));
  check_work w = {.target = target};
  ROC_TRY(roc_jit_run(check_on_thread, &w, NULL, err));
  if (w.complaint[0]) return roc_fail(err, ROC_INVALID, "%s", w.complaint);
  return ROC_OK;
}
