/* The null device's levers, for tests: counters, planted failures, work held back, loss.
 *
 * Copies and fills really happen, at once, in memory the host is told it cannot touch, so that the
 * paths of a GPU with its own memory are walked; launches do nothing.  One device; one thread at a
 * time pulls the levers. */
#ifndef ROC_DEVICE_NULL_NULL_H
#define ROC_DEVICE_NULL_NULL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef enum roc_null_call {
#define ROC_NULL_CALL(NAME, name) ROC_NULL_##NAME,
#include "device/null/null.def"
#undef ROC_NULL_CALL
  ROC_NULL_CALL_COUNT_
} roc_null_call;

const char *roc_null_call_name(roc_null_call call);
uint64_t roc_null_calls(roc_null_call call); /* since the last roc_null_clear */
/* Zero counts, nothing planted, nothing held, no limit. */
void roc_null_clear(void);
/* The n-th call of the kind from now (1 = the next) fails with `status`; 0 disarms.  LOST also
 * loses the device. */
void roc_null_fail_at(roc_null_call call, uint64_t nth, roc_status status);
/* While held, queued work stays incomplete; letting go completes it. */
void roc_null_hold(bool held);
void roc_null_lose(void);
/* Allocations that would make it more than `nbytes` fail for want of memory; 0: no limit. */
void roc_null_limit(int64_t nbytes);
/* Bytes allocated and not yet freed. */
int64_t roc_null_live_bytes(void);
/* Host memory registered and not yet unregistered. */
int64_t roc_null_registered(void);

#endif
