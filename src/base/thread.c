/* Starting threads; see thread.h. */
#include "base/thread.h"

#include <stdbool.h>

/* A new thread inherits the mask of the one that starts it. */
void roc_thread_block_signals(sigset_t *out_old) {
  sigset_t set;
  sigfillset(&set);
  sigdelset(&set, SIGSEGV);
  sigdelset(&set, SIGBUS);
  sigdelset(&set, SIGFPE);
  sigdelset(&set, SIGILL);
  pthread_sigmask(SIG_SETMASK, &set, out_old);
}

int roc_thread_start(pthread_t *out_thread, size_t stack_bytes, void *(*body)(void *ud), void *ud) {
  pthread_attr_t attributes;
  int rc = pthread_attr_init(&attributes);
  if (rc) return rc;
  rc = pthread_attr_setstacksize(&attributes, stack_bytes);
  if (!rc) {
    sigset_t old;
    roc_thread_block_signals(&old);
    rc = pthread_create(out_thread, &attributes, body, ud);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
  }
  pthread_attr_destroy(&attributes);
  return rc;
}

int roc_thread_call(size_t stack_bytes, void *(*body)(void *ud), void *ud) {
  pthread_t thread;
  int rc = roc_thread_start(&thread, stack_bytes, body, ud);
  return rc ? rc : pthread_join(thread, NULL);
}

typedef struct part {
  void (*run)(void *ud, uint32_t part);
  void *ud;
  uint32_t index;
} part;

static void *run_part(void *ud) {
  const part *p = ud;
  p->run(p->ud, p->index);
  return NULL;
}

void roc_thread_each(uint32_t parts, void (*run)(void *ud, uint32_t part), void *ud) {
  pthread_t threads[ROC_THREAD_PARTS];
  part all[ROC_THREAD_PARTS];
  bool has_thread[ROC_THREAD_PARTS];
  for (uint32_t i = 0; i < parts; i++) {
    all[i] = (part){run, ud, i};
    has_thread[i] =
        i > 0 && roc_thread_start(&threads[i], ROC_THREAD_STACK, run_part, &all[i]) == 0;
  }
  for (uint32_t i = 0; i < parts; i++) {
    if (!has_thread[i]) run(ud, i);
  }
  for (uint32_t i = 0; i < parts; i++) {
    if (has_thread[i]) pthread_join(threads[i], NULL);
  }
}
