/* See later.h.  The thread waits for a compiler thread, as any caller does: that is what makes the
 * work survive a fatal error of LLVM, and the end of the process. */
#include "jit/later.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "jit/cache.h"
#include "jit/driver.h"

enum { MOST_AT_ONCE = 2 };

struct roc_jit_later {
  roc_ir_module *module;
  roc_jit_program *program; /* NULL: the caller has it */
  roc_cg_options options;
  roc_codeobj *object;
  roc_status status;
  roc_error err;
  atomic_bool is_done;
  atomic_uint references; /* of the thread and of the caller */
  char target[];          /* of the options: the device's own may go with the device */
};

static atomic_uint nrunning;

static void release(roc_jit_later *later) {
  if (atomic_fetch_sub(&later->references, 1) > 1) return;
  if (later->object) later->object->free(later->object);
  roc_ir_module_free(later->module);
  roc_jit_program_free(later->program);
  roc_free(later);
}

static void *build(void *ud) {
  roc_jit_later *later = ud;
  roc_cg_times times;
  later->status =
      roc_jit_build(later->module, &later->options, &later->object, &times, &later->err);
  atomic_store(&later->is_done, true);
  atomic_fetch_sub(&nrunning, 1);
  release(later);
  return NULL;
}

static bool start(roc_jit_later *later) {
  pthread_t thread;
  if (atomic_fetch_add(&nrunning, 1) < MOST_AT_ONCE &&
      roc_thread_start(&thread, ROC_THREAD_STACK, build, later) == 0) {
    pthread_detach(thread);
    return true;
  }
  atomic_fetch_sub(&nrunning, 1);
  return false;
}

bool roc_jit_later_has_room(void) {
  return atomic_load(&nrunning) < MOST_AT_ONCE;
}

roc_jit_later *roc_jit_later_begin(roc_ir_module *module, const roc_cg_options *options) {
  size_t len = strlen(options->target) + 1;
  roc_jit_later *later = roc_zalloc(sizeof *later + len);
  if (!later) {
    roc_ir_module_free(module);
    return NULL;
  }
  later->module = module;
  later->options = *options;
  later->options.target = memcpy(later->target, options->target, len);
  roc_jit_let_interrupt(&later->options, NULL);
  atomic_init(&later->references, 2);
  if (start(later)) return later;
  atomic_init(&later->references, 1);
  release(later);
  return NULL;
}

bool roc_jit_later_is_done(const roc_jit_later *later) {
  return atomic_load(&later->is_done);
}

roc_status roc_jit_later_take(roc_jit_later *later, roc_codeobj **out_object, roc_error *err) {
  if (later->status != ROC_OK && err) *err = later->err;
  *out_object = later->object;
  later->object = NULL;
  return later->status;
}

void roc_jit_later_free(roc_jit_later *later, roc_jit_program *program) {
  if (!later) {
    roc_jit_program_free(program);
    return;
  }
  later->program = program;
  release(later);
}
