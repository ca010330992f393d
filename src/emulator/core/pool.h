/* The threads that help with dispatches.
 *
 * A task is run by its caller and by as many free workers as it asks for, all in the same function,
 * which takes shares of the work until none are left. */
#ifndef ROC_EMULATOR_CORE_POOL_H
#define ROC_EMULATOR_CORE_POOL_H

#include <stdint.h>

typedef struct emu_pool emu_pool;

typedef struct emu_task emu_task;
struct emu_task {
  /* Takes and runs shares until there are none; several threads at a time. */
  void (*run)(emu_task *task);
  /* The pool's own: */
  uint32_t wanted, inside;
  emu_task *next;
};

/* Starts up to nthreads workers, fewer where the system gives no more.  They take no signals.  NULL
 * when memory is out. */
emu_pool *emu_pool_new(unsigned nthreads);
/* No task is run any more. */
void emu_pool_free(emu_pool *pool);
/* Runs the task on this thread and on at most `helpers` workers; returns when all of them have left
 * it.  Any thread, several at once. */
void emu_pool_run(emu_pool *pool, emu_task *task, uint32_t helpers);

#endif
