/* Which core a thread of a pool stays on. */
#ifndef ROC_DEVICE_CPU_PINNING_H
#define ROC_DEVICE_CPU_PINNING_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* ROCLUA_CPU_PINNED: whether threads stay each on one core.  INVALID: neither 0 nor 1. */
roc_status roc_cpu_is_pinned(bool *out, roc_error *err);

/* The thread stays on the nth of the cores that the calling thread may use, counted from 0 and
 * around; on all of them, where the system refuses. */
void roc_cpu_pin(pthread_t thread, uint32_t n);

#endif
