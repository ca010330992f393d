/* Signals that are used once and again: what a queue waits for, and what tells that a copy is done.
 *
 * A pool per device, so that nothing on the path of a copy creates one (an interrupt signal takes
 * one of the kernel driver's events).  A signal is taken with value 1 and done at 0.  It may be
 * held by several queues; each lets go when no packet of it can look at the signal any more.  Any
 * thread. */
#ifndef ROC_DEVICE_HSA_SIGNAL_H
#define ROC_DEVICE_HSA_SIGNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/status.h"
#include "device/hsa/dyn.h"

typedef struct roc_hsa_signal {
  hsa_signal_t hsa;
  hsa_agent_t ends[2]; /* of the copy that it was last used for */
  _Atomic uint32_t refs;
  _Atomic uint64_t nbytes, ahead; /* see roc_hsa_signal_expect */
  struct roc_hsa_signal *next;    /* in the pool */
} roc_hsa_signal;

typedef struct roc_hsa_signals {
  pthread_mutex_t lock;
  roc_hsa_signal *free;
} roc_hsa_signals;

void roc_hsa_signals_init(roc_hsa_signals *pool);
void roc_hsa_signals_deinit(roc_hsa_signals *pool); /* nothing is out any more, or is given up */

/* A signal of value 1, held once. */
roc_status roc_hsa_signal_take(roc_hsa_signals *pool, roc_hsa_signal **out_signal, roc_error *err);
/* The device will end work on so many bytes and then count the signal down; until the signal is
 * released it counts as under way. */
void roc_hsa_signal_expect(roc_hsa_signal *signal, uint64_t nbytes);
/* How long that may take, with all that was under way before it; UINT64_MAX: any time, for nothing
 * is expected of the device, or waits have no limit. */
uint64_t roc_hsa_signal_patience(const roc_hsa_signal *signal);
void roc_hsa_signal_retain(roc_hsa_signal *signal);
void roc_hsa_signal_release(roc_hsa_signals *pool, roc_hsa_signal *signal);

/* Waits at most timeout_ns until the value is below `bound`; sleeps after a short spin of ROCR's
 * own. True when it is. A wait that timed out has looked for lost devices: a caller that waits
 * again checks its own device first. */
bool roc_hsa_signal_await(hsa_signal_t signal, hsa_signal_value_t bound, uint64_t timeout_ns);

#endif
