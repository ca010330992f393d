/* What the files of embed that serve C programs share. */
#ifndef ROC_EMBED_HANDLE_H
#define ROC_EMBED_HANDLE_H

#include "include/roclua.h"
#include "runtime/array.h"
#include "runtime/device.h"
#include "runtime/session.h"
#include "runtime/stream.h"

/* The session of what a program does without a Lua state: one for the process, made on first use
 * and never released.  Any thread.  OOM; CLOSED; UNSUPPORTED: another copy of roclua is open. */
roc_status roc_embed_session(roc_rt_session **out_session, roc_error *err);

/* The open device of that name. */
roc_status roc_embed_device(const char *name, roc_rt_device **out_device, roc_error *err);

/* roclua_array_wrap of an argument that has been checked to be one; `function` begins the message of
 * a failure. */
roc_status roc_embed_wrap(const char *function, const roclua_memory *memory,
                          roclua_array **out_array, roc_error *err);
/* The handle's array; borrowed. */
roc_array *roc_embed_array_of(roclua_array *array);
/* Hands on what kernels of the program have printed, after a wait. */
void roc_embed_deliver_prints(void);

/* A handle of roclua.h is a stream of the runtime. */
static inline roc_rt_stream *roc_embed_stream_of(roclua_stream *stream) {
  return (roc_rt_stream *)stream;
}

#endif
