/* Fibers: functions with a stack of their own, which can be left in the middle and gone on with on
 * another thread.
 *
 * What runs in a fiber must not keep anything of its thread across roc_fiber_suspend: no lock, no
 * address of a thread's variable.  A fiber is used by one thread at a time. */
#ifndef ROC_BASE_FIBER_H
#define ROC_BASE_FIBER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct roc_fiber roc_fiber;

/* A fiber with so many bytes of stack, which take memory when they are touched.  NULL: there is no
 * memory. */
roc_fiber *roc_fiber_create(size_t stack_bytes);
/* Not while its function has begun and not returned.  NULL is fine. */
void roc_fiber_destroy(roc_fiber *fiber);

/* Calls body(ud) in the fiber, on this thread, until it returns (true) or suspends itself
 * (false). */
bool roc_fiber_call(roc_fiber *fiber, void (*body)(void *ud), void *ud);
/* Goes on with what was suspended, on this thread, until it returns (true) or suspends itself
 * again (false). */
bool roc_fiber_resume(roc_fiber *fiber);
/* In the fiber: goes back to the thread that called or resumed it.  Returns when resumed. */
void roc_fiber_suspend(roc_fiber *fiber);

#endif
