/* The sim device: memory and order for kernels that run in the Lua VM.
 *
 * lua/roc/sim.lua executes the work-items; what is left for a driver is host memory that can be
 * copied and filled.  Everything happens before the call returns, so every ticket is complete. */
#include <string.h>

#include "base/alloc.h"
#include "base/bulk.h"
#include "base/clock.h"
#include "base/env.h"
#include "device/common/common.h"
#include "device/device.h"

typedef struct sim_stream {
  roc_dev_stream base;
  roc_ticket last;
} sim_stream;

static roc_status sim_probe(uint32_t *out_count, roc_error *err) {
  (void)err;
  *out_count = 1;
  return ROC_OK;
}

/* ROCLUA_SIM and ROCLUA_SIM_CHECK are lua/roc/sim.lua's; what they cannot be is told here, as for
 * other variables. */
static roc_status check_mode(roc_error *err) {
  static const char *const modes[] = {"raw", "typed", NULL};
  unsigned mode;
  bool is_checked = false;
  ROC_TRY(roc_env_choice("ROCLUA_SIM", modes, &mode, err));
  return roc_env_switch("ROCLUA_SIM_CHECK", &is_checked, err);
}

static roc_status sim_open(uint32_t ordinal, roc_device **out_device, roc_error *err) {
  uint32_t wavefront;
  ROC_TRY(roc_host_wavefront(&wavefront, err));
  ROC_TRY(check_mode(err));
  roc_device *device = roc_zalloc(sizeof *device);
  if (!device) return roc_fail(err, ROC_OOM, "out of memory: cannot open the sim device");
  device->ops = &roc_sim_ops;
  device->kind = roc_sim_ops.kind;
  device->ordinal = ordinal;
  roc_host_describe(&device->props, "sim", "sim", wavefront);
  device->props.runs_in_lua = true;
  *out_device = device;
  return ROC_OK;
}

static void sim_close(roc_device *device) {
  roc_free(device);
}

static roc_status sim_reset(roc_device *device, roc_error *err) {
  (void)device;
  (void)err;
  return ROC_OK;
}

static roc_status sim_stream_create(roc_device *device, roc_dev_stream **out_stream,
                                    roc_error *err) {
  sim_stream *stream = roc_zalloc(sizeof *stream);
  if (!stream) return roc_fail(err, ROC_OOM, "out of memory: no room for a stream");
  stream->base.device = device;
  *out_stream = &stream->base;
  return ROC_OK;
}

static void sim_stream_destroy(roc_dev_stream *stream) {
  roc_free(stream);
}

static roc_status finish(roc_dev_stream *stream, roc_ticket *out_ticket) {
  *out_ticket = ++((sim_stream *)stream)->last;
  return ROC_OK;
}

static roc_status sim_copy(roc_dev_stream *stream, roc_devptr dst, roc_devptr src, size_t nbytes,
                           roc_copy_dir dir, roc_ticket *out_ticket, roc_error *err) {
  (void)dir;
  (void)err;
  if (nbytes) memmove((void *)(uintptr_t)dst, (const void *)(uintptr_t)src, nbytes);
  return finish(stream, out_ticket);
}

static roc_status sim_fill(roc_dev_stream *stream, roc_devptr dst, const void *pattern,
                           size_t pattern_bytes, size_t nbytes, roc_ticket *out_ticket,
                           roc_error *err) {
  (void)err;
  roc_fill((void *)(uintptr_t)dst, pattern, pattern_bytes, nbytes);
  return finish(stream, out_ticket);
}

static roc_status sim_launch(roc_dev_stream *stream, const roc_dev_launch *launch,
                             roc_ticket *out_ticket, roc_error *err) {
  (void)stream;
  (void)launch;
  (void)out_ticket;
  return roc_fail(err, ROC_UNSUPPORTED, "the sim device runs kernels in Lua, not compiled ones");
}

static roc_status sim_host_call(roc_dev_stream *stream, void (*fn)(void *ud), void *ud,
                                roc_ticket *out_ticket, roc_error *err) {
  (void)err;
  fn(ud);
  return finish(stream, out_ticket);
}

static roc_status sim_stream_wait(roc_dev_stream *stream, roc_dev_stream *other, roc_ticket ticket,
                                  roc_ticket *out_ticket, roc_error *err) {
  (void)stream;
  (void)other;
  (void)ticket;
  (void)err;
  *out_ticket = 0;
  return ROC_OK;
}

static roc_status sim_stamp(roc_dev_stream *stream, uint64_t *out_ns, roc_ticket *out_ticket,
                            roc_error *err) {
  (void)err;
  *out_ns = roc_clock_ns();
  return finish(stream, out_ticket);
}

static bool sim_is_done(roc_dev_stream *stream, roc_ticket ticket) {
  (void)stream;
  (void)ticket;
  return true;
}

static roc_status sim_wait(roc_dev_stream *stream, roc_ticket ticket, int64_t timeout_ns,
                           bool *out_done, roc_error *err) {
  (void)stream;
  (void)ticket;
  (void)timeout_ns;
  (void)err;
  *out_done = true;
  return ROC_OK;
}

static roc_status sim_module_load(roc_device *device, const roc_codeobj *object,
                                  roc_dev_module **out_module, roc_error *err) {
  (void)device;
  (void)object;
  (void)out_module;
  return roc_fail(err, ROC_UNSUPPORTED, "the sim device runs kernels in Lua, not compiled ones");
}

/* No module was ever loaded. */
static void sim_module_unload(roc_device *device, roc_dev_module *module) {
  (void)device;
  (void)module;
}

const roc_device_ops roc_sim_ops = {
    .kind = "sim",
    .probe = sim_probe,
    .open = sim_open,
    .close = sim_close,
    .reset = sim_reset,
    .memory_free = roc_host_memory_free,
    .alloc = roc_host_alloc,
    .free = roc_host_free,
    .alloc_host = roc_host_alloc_host,
    .free_host = roc_host_free_host,
    .stream_create = sim_stream_create,
    .stream_destroy = sim_stream_destroy,
    .copy = sim_copy,
    .fill = sim_fill,
    .launch = sim_launch,
    .host_call = sim_host_call,
    .stream_wait = sim_stream_wait,
    .stamp = sim_stamp,
    .is_done = sim_is_done,
    .wait = sim_wait,
    .module_load = sim_module_load,
    .module_unload = sim_module_unload,
};
