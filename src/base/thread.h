/* Starting threads of ours: with a stack of stated size, and without the program's signals. */
#ifndef ROC_BASE_THREAD_H
#define ROC_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

enum {
  ROC_THREAD_PARTS = 64,           /* at most, of roc_thread_each */
  ROC_THREAD_STACK = 1 << 20,      /* for our own code and what it calls of the system's */
  ROC_THREAD_DEEP_STACK = 8 << 20, /* for code that a user's text determines: kernels, compiles */
};

/* Starts body(ud) on a thread with so many bytes of stack, whatever `ulimit -s` says.  Signals stay
 * with the program's own threads (Ctrl-C must reach the one that waits); the new one takes those
 * alone that an instruction raises.  0, or the number of the system's error. */
int roc_thread_start(pthread_t *out_thread, size_t stack_bytes, void *(*body)(void *ud), void *ud);

/* Calls body(ud) on a thread with so many bytes of stack and waits for it: for recursion that the
 * caller's stack may be too small for.  0, or the number of the system's error: it was not called. */
int roc_thread_call(size_t stack_bytes, void *(*body)(void *ud), void *ud);

/* Calls run(ud, part) for 0 … parts - 1, at most ROC_THREAD_PARTS: each on a thread if there
 * is one, part 0 on the calling one; returns when all have returned. */
void roc_thread_each(uint32_t parts, void (*run)(void *ud, uint32_t part), void *ud);

/* Blocks the program's signals on the calling thread, as threads of ours have them, while code of
 * others starts threads; pthread_sigmask brings back what they were. */
void roc_thread_block_signals(sigset_t *out_old);

#endif
