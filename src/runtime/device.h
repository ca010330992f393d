/* Open devices: a driver's device with its default stream, memory pool and streams. */
#ifndef ROC_RUNTIME_DEVICE_H
#define ROC_RUNTIME_DEVICE_H

#include "device/device.h"

typedef struct roc_rt_device roc_rt_device;
typedef struct roc_rt_stream roc_rt_stream;
typedef struct roc_rt_session roc_rt_session; /* runtime/session.h */

/* The process's devices, found once (ROCLUA_DEVICE is not read here).  Index from 0 in probe order:
 * GPUs, cpu, sim; null only when asked for. Opening is lazy: the first roc_rt_device_get of an
 * index opens it. */
uint32_t roc_rt_device_count(void);
roc_status roc_rt_device_get(uint32_t index, roc_rt_device **out_device, roc_error *err);
/* "cpu", "cpu:2", "hsa", "null": first of a kind, or the n-th from 1; a device's name works too. */
roc_status roc_rt_device_find(const char *name, uint32_t *out_index, roc_error *err);

/* The drivers without a device in the table, from index 0: the driver's kind, or NULL after the
 * last, and in err why there is none and what to do. */
const char *roc_rt_absent_kind(uint32_t index, roc_error *err);

/* What a driver's library is, or "hsa absent: why", of the drivers that need one, from index 0 on;
 * false after the last.  Looks for devices. */
bool roc_rt_describe_driver(uint32_t index, char *text, size_t size);

/* A held device's struct and properties stay valid after shutdown, when no operation does. */
void roc_rt_device_retain(roc_rt_device *device);
void roc_rt_device_release(roc_rt_device *device);
roc_device *roc_rt_device_driver(roc_rt_device *device);
/* For messages: its name, with kind and number where there are several of the kind, which may have
 * one name.  Valid for as long as the device is held. */
const char *roc_rt_device_label(const roc_rt_device *device);
/* Whether a stream of one can copy from and to memory of the other, or they are one. */
bool roc_rt_device_copies_between(roc_rt_device *a, roc_rt_device *b);
uint32_t roc_rt_device_index(const roc_rt_device *device);
/* CLOSED after shutdown and in a forked child; what queues work asks before it takes the lock. */
roc_status roc_rt_check_open(roc_error *err);
/* Waits for everything that the session has queued; reports the first contained fault of it not yet
 * reported.  INTERRUPTED. */
roc_status roc_rt_device_synchronize(roc_rt_device *device, roc_rt_session *session,
                                     roc_error *err);
/* Waits for everything that any session has queued, unless the device is lost, and makes it new.
 * INTERRUPTED: by an interrupt of `waiter`. */
roc_status roc_rt_device_reset(roc_rt_device *device, roc_rt_session *waiter, roc_error *err);
/* How often it was reset: memory of before a reset has undefined contents.  Any thread. */
uint32_t roc_rt_device_resets(roc_rt_device *device);
/* Gives cached blocks of freed arrays back to the driver. */
void roc_rt_device_trim(roc_rt_device *device);
/* The same on every open device, and the kept blocks of host arrays; the bytes given back. */
size_t roc_rt_trim_all(void);

typedef struct roc_rt_memory {
  uint64_t used;   /* bytes of arrays, and of closed ones that work still uses */
  uint64_t cached; /* of freed blocks, kept for the next arrays */
  uint64_t free, total;
} roc_rt_memory;
void roc_rt_device_memory(roc_rt_device *device, roc_rt_memory *out_memory);
/* At exit: waits for all devices, stops taking work, joins threads.  Idempotent. Returns FAULT with
 * the first unreported fault. */
roc_status roc_rt_shutdown(roc_error *err);
/* A tool of the host (the check of sim) has told of a fault in a kernel: roc_rt_shutdown says so, as
 * for the tools of drivers.  Any thread. */
void roc_rt_note_finding(void);

/* Writes what a device still works on, "kernel 'saxpy' (launched at a.lua:3)", at most `size` bytes
 * with the NUL.  False when all is done.  Any thread; waits for no device. */
bool roc_rt_describe_pending(char *text, size_t size);

#endif
