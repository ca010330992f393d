/* The null device: accepts everything, counts, and fails on demand; see null.h. */
#include "device/null/null.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/bulk.h"
#include "base/target.h"
#include "device/common/common.h"
#include "device/device.h"

enum { BLOCK_HEAD = 256 /* keeps what follows aligned */ };

typedef struct null_stream {
  roc_dev_stream base;
  _Atomic roc_ticket queued, released; /* complete up to `released`, or all when nothing is held */
  struct null_stream *next;
} null_stream;

struct roc_dev_module {
  const roc_codeobj *object;
};

static struct {
  _Atomic uint64_t counts[ROC_NULL_CALL_COUNT_];
  uint64_t fail_in[ROC_NULL_CALL_COUNT_]; /* 0: not armed */
  roc_status fail_status[ROC_NULL_CALL_COUNT_];
  _Atomic bool is_held;
  _Atomic int64_t live_bytes, limit_bytes; /* limit 0: none */
  _Atomic int64_t registered;
  roc_device *device;
  null_stream *streams;
} state;

static const char *const call_names[] = {
#define ROC_NULL_CALL(NAME, name) name,
#include "device/null/null.def"
#undef ROC_NULL_CALL
};

const char *roc_null_call_name(roc_null_call call) {
  return call_names[call];
}

uint64_t roc_null_calls(roc_null_call call) {
  return atomic_load(&state.counts[call]);
}

void roc_null_fail_at(roc_null_call call, uint64_t nth, roc_status status) {
  state.fail_in[call] = nth;
  state.fail_status[call] = status;
}

void roc_null_hold(bool held) {
  for (null_stream *s = state.streams; s; s = s->next) atomic_store(&s->released, s->queued);
  atomic_store(&state.is_held, held);
}

void roc_null_limit(int64_t nbytes) {
  atomic_store(&state.limit_bytes, nbytes);
}

void roc_null_clear(void) {
  roc_null_hold(false);
  roc_null_limit(0);
  for (int i = 0; i < ROC_NULL_CALL_COUNT_; i++) {
    atomic_store(&state.counts[i], 0);
    state.fail_in[i] = 0;
  }
}

void roc_null_lose(void) {
  if (state.device) state.device->is_lost = true;
}

int64_t roc_null_live_bytes(void) {
  return atomic_load(&state.live_bytes);
}

int64_t roc_null_registered(void) {
  return atomic_load(&state.registered);
}

/* Counts the call; fails it when its time has come, or when the device is lost. */
static roc_status count_call(roc_null_call call, roc_error *err) {
  atomic_fetch_add(&state.counts[call], 1);
  if (state.device && state.device->is_lost) {
    return roc_fail(err, ROC_LOST, "'%s' on a lost null device", call_names[call]);
  }
  if (state.fail_in[call] == 0 || --state.fail_in[call] > 0) return ROC_OK;
  roc_status status = state.fail_status[call];
  if (status == ROC_LOST) roc_null_lose();
  return roc_fail(err, status, "planted failure of '%s' on the null device", call_names[call]);
}

static roc_status null_probe(uint32_t *out_count, roc_error *err) {
  (void)err;
  *out_count = 1;
  return ROC_OK;
}

static roc_status null_open(uint32_t ordinal, roc_device **out_device, roc_error *err) {
  roc_device *device = roc_zalloc(sizeof *device);
  if (!device) return roc_fail(err, ROC_OOM, "out of memory: cannot open the null device");
  device->ops = &roc_null_ops;
  device->kind = roc_null_ops.kind;
  device->ordinal = ordinal;
  roc_device_props *props = &device->props;
  roc_host_describe(props, "null", ROC_TARGET_HOST, 64); /* so that kernels compile */
  for (int d = 0; d < 3; d++) props->max_groups[d] = INT32_MAX;
  props->host_memory = false; /* so that copies are made, and counted */
  state.device = device;
  *out_device = device;
  return ROC_OK;
}

static void null_close(roc_device *device) {
  state.device = NULL;
  roc_free(device);
}

static roc_status null_reset(roc_device *device, roc_error *err) {
  (void)err;
  device->is_lost = false;
  roc_null_hold(false);
  return ROC_OK;
}

/* ---- memory -------------------------------------------------------------- */

static roc_status null_alloc(roc_device *device, size_t nbytes, roc_devptr *out_ptr,
                             roc_error *err) {
  ROC_TRY(count_call(ROC_NULL_ALLOC, err));
  int64_t limit = atomic_load(&state.limit_bytes);
  if (limit && atomic_load(&state.live_bytes) + (int64_t)nbytes > limit) {
    return roc_fail(err, ROC_OOM, "out of memory: %zu bytes are over the null device's limit",
                    nbytes);
  }
  roc_devptr block;
  ROC_TRY(roc_host_alloc(device, nbytes + BLOCK_HEAD, &block, err));
  *(size_t *)(uintptr_t)block = nbytes;
  atomic_fetch_add(&state.live_bytes, (int64_t)nbytes);
  *out_ptr = block + BLOCK_HEAD;
  return ROC_OK;
}

static void null_free(roc_device *device, roc_devptr ptr) {
  atomic_fetch_add(&state.counts[ROC_NULL_FREE], 1);
  roc_devptr block = ptr - BLOCK_HEAD;
  atomic_fetch_sub(&state.live_bytes, (int64_t) * (size_t *)(uintptr_t)block);
  roc_host_free(device, block);
}

static roc_status null_alloc_host(roc_device *device, size_t nbytes, void **out_ptr,
                                  roc_error *err) {
  ROC_TRY(count_call(ROC_NULL_ALLOC_HOST, err));
  return roc_host_alloc_host(device, nbytes, out_ptr, err);
}

static void null_free_host(roc_device *device, void *ptr) {
  atomic_fetch_add(&state.counts[ROC_NULL_FREE_HOST], 1);
  roc_host_free_host(device, ptr);
}

/* Kernels run nowhere, so the address is the host's. */
static roc_status null_host_register(roc_device *device, void *ptr, size_t nbytes,
                                     roc_devptr *out_ptr, roc_error *err) {
  (void)device;
  ROC_TRY(count_call(ROC_NULL_REGISTER, err));
  atomic_fetch_add(&state.registered, 1);
  (void)nbytes;
  *out_ptr = (roc_devptr)(uintptr_t)ptr;
  return ROC_OK;
}

static void null_host_unregister(roc_device *device, void *ptr) {
  (void)device;
  (void)ptr;
  atomic_fetch_add(&state.counts[ROC_NULL_UNREGISTER], 1);
  atomic_fetch_sub(&state.registered, 1);
}

/* ---- streams ------------------------------------------------------------- */

static roc_status null_stream_create(roc_device *device, roc_dev_stream **out_stream,
                                     roc_error *err) {
  ROC_TRY(count_call(ROC_NULL_STREAM_CREATE, err));
  null_stream *stream = roc_zalloc(sizeof *stream);
  if (!stream) return roc_fail(err, ROC_OOM, "out of memory: no room for a stream");
  stream->base.device = device;
  stream->next = state.streams;
  state.streams = stream;
  *out_stream = &stream->base;
  return ROC_OK;
}

static void null_stream_destroy(roc_dev_stream *base) {
  null_stream **link = &state.streams;
  while (&(*link)->base != base) link = &(*link)->next;
  *link = (*link)->next;
  roc_free(base);
}

static roc_status queue_call(roc_dev_stream *stream, roc_null_call call, roc_ticket *out_ticket,
                             roc_error *err) {
  ROC_TRY(count_call(call, err));
  null_stream *s = (null_stream *)stream;
  *out_ticket = atomic_load_explicit(&s->queued, memory_order_relaxed) + 1; /* one thread queues */
  atomic_store_explicit(&s->queued, *out_ticket, memory_order_release);
  return ROC_OK;
}

static roc_status null_copy(roc_dev_stream *stream, roc_devptr dst, roc_devptr src, size_t nbytes,
                            roc_copy_dir dir, roc_ticket *out_ticket, roc_error *err) {
  (void)dir;
  ROC_TRY(queue_call(stream, ROC_NULL_COPY, out_ticket, err));
  if (nbytes) memmove((void *)(uintptr_t)dst, (const void *)(uintptr_t)src, nbytes);
  return ROC_OK;
}

static roc_status null_fill(roc_dev_stream *stream, roc_devptr dst, const void *pattern,
                            size_t pattern_bytes, size_t nbytes, roc_ticket *out_ticket,
                            roc_error *err) {
  ROC_TRY(queue_call(stream, ROC_NULL_FILL, out_ticket, err));
  roc_fill((void *)(uintptr_t)dst, pattern, pattern_bytes, nbytes);
  return ROC_OK;
}

static roc_status null_scatter(roc_dev_stream *stream, const roc_dev_scatter *scatter,
                               roc_ticket *out_ticket, roc_error *err) {
  ROC_TRY(queue_call(stream, ROC_NULL_SCATTER, out_ticket, err));
  roc_host_scatter(scatter);
  return ROC_OK;
}

static roc_status null_launch(roc_dev_stream *stream, const roc_dev_launch *launch,
                              roc_ticket *out_ticket, roc_error *err) {
  (void)launch;
  return queue_call(stream, ROC_NULL_LAUNCH, out_ticket, err);
}

static roc_status null_host_call(roc_dev_stream *stream, void (*fn)(void *ud), void *ud,
                                 roc_ticket *out_ticket, roc_error *err) {
  ROC_TRY(queue_call(stream, ROC_NULL_HOST_CALL, out_ticket, err));
  fn(ud);
  return ROC_OK;
}

static roc_status null_stream_wait(roc_dev_stream *stream, roc_dev_stream *other, roc_ticket ticket,
                                   roc_ticket *out_ticket, roc_error *err) {
  (void)other;
  (void)ticket;
  return queue_call(stream, ROC_NULL_STREAM_WAIT, out_ticket, err);
}

static bool null_is_done(roc_dev_stream *stream, roc_ticket ticket) {
  return !atomic_load(&state.is_held) || ticket <= atomic_load(&((null_stream *)stream)->released);
}

/* Nothing completes by itself while held: a wait is over, or it is as long as its timeout. */
static roc_status null_wait(roc_dev_stream *stream, roc_ticket ticket, int64_t timeout_ns,
                            bool *out_done, roc_error *err) {
  ROC_TRY(count_call(ROC_NULL_WAIT, err));
  *out_done = null_is_done(stream, ticket);
  if (!*out_done && timeout_ns < 0) {
    return roc_fail(err, ROC_INTERNAL, "an endless wait for work the null device holds back");
  }
  if (!*out_done) {
    nanosleep(
        &(struct timespec){.tv_sec = timeout_ns / 1000000000, .tv_nsec = timeout_ns % 1000000000},
        NULL);
  }
  return ROC_OK;
}

/* ---- code ---------------------------------------------------------------- */

static roc_status null_module_load(roc_device *device, const roc_codeobj *object,
                                   roc_dev_module **out_module, roc_error *err) {
  (void)device;
  ROC_TRY(count_call(ROC_NULL_MODULE_LOAD, err));
  roc_dev_module *module = roc_alloc(sizeof *module);
  if (!module) return roc_fail(err, ROC_OOM, "out of memory: cannot load a kernel");
  module->object = object;
  *out_module = module;
  return ROC_OK;
}

static void null_module_unload(roc_device *device, roc_dev_module *module) {
  (void)device;
  atomic_fetch_add(&state.counts[ROC_NULL_MODULE_UNLOAD], 1);
  roc_free(module);
}

const roc_device_ops roc_null_ops = {
    .kind = "null",
    .probe = null_probe,
    .open = null_open,
    .close = null_close,
    .reset = null_reset,
    .memory_free = roc_host_memory_free,
    .alloc = null_alloc,
    .free = null_free,
    .alloc_host = null_alloc_host,
    .free_host = null_free_host,
    .host_register = null_host_register,
    .host_unregister = null_host_unregister,
    .stream_create = null_stream_create,
    .stream_destroy = null_stream_destroy,
    .copy = null_copy,
    .fill = null_fill,
    .scatter = null_scatter,
    .launch = null_launch,
    .host_call = null_host_call,
    .stream_wait = null_stream_wait,
    .is_done = null_is_done,
    .wait = null_wait,
    .module_load = null_module_load,
    .module_unload = null_module_unload,
};
