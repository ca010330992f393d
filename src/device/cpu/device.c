/* The cpu device: host memory, host threads, kernels as machine code that a loader makes callable.
 *
 * It is the reference for other drivers: every op of device.h that means something here is offered.
 * The loader belongs to the compiler (ORC) and is plugged in before the first module is loaded, so
 * that nothing here knows LLVM. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/target.h"
#include "device/common/common.h"
#include "device/cpu/model.h"
#include "device/cpu/queue.h"
#include "device/device.h"

enum { MAX_DEVICES = 16 };

typedef struct cpu_device {
  roc_device base;
  roc_cpu_queues queues;
} cpu_device;

static const roc_cpu_loader *code_loader;
static pthread_mutex_t loader_lock = PTHREAD_MUTEX_INITIALIZER; /* one load or unload at a time */

void roc_cpu_set_loader(const roc_cpu_loader *loader) {
  code_loader = loader;
}

static cpu_device *cpu_of(roc_device *device) {
  return (cpu_device *)device;
}

/* ROCLUA_CPU_DEVICES: into how many devices the cores are split. */
static roc_status count_devices(uint32_t *out_count, roc_error *err) {
  uint64_t count = 1;
  roc_status status = roc_env_number("ROCLUA_CPU_DEVICES", 1, MAX_DEVICES, &count, err);
  *out_count = (uint32_t)count;
  return status;
}

/* With a variable that makes no sense there is still a device, whose opening says so. */
static roc_status cpu_probe(uint32_t *out_count, roc_error *err) {
  (void)err;
  count_devices(out_count, NULL);
  return ROC_OK;
}

static void describe(roc_device *device, uint32_t ordinal, uint32_t count, uint32_t threads,
                     uint32_t wavefront) {
  device->ops = &roc_cpu_ops;
  device->kind = roc_cpu_ops.kind;
  device->ordinal = ordinal;
  roc_device_props *props = &device->props;
  roc_host_describe(props, "cpu", ROC_TARGET_HOST, wavefront);
  roc_cpu_describe_model(props->model, sizeof props->model);
  if (count > 1) snprintf(props->name, sizeof props->name, "cpu:%u", ordinal + 1);
  props->compute_units = threads;
}

static roc_status cpu_open(uint32_t ordinal, roc_device **out_device, roc_error *err) {
  uint32_t wavefront, count;
  ROC_TRY(roc_host_wavefront(&wavefront, err));
  ROC_TRY(count_devices(&count, err));
  cpu_device *cpu = roc_zalloc(sizeof *cpu);
  if (!cpu) return roc_fail(err, ROC_OOM, "out of memory: cannot open the cpu device");
  roc_status status = roc_cpu_pool_init(&cpu->queues.pool, ordinal, count, err);
  if (status != ROC_OK) {
    roc_free(cpu);
    return status;
  }
  describe(&cpu->base, ordinal, count, cpu->queues.pool.size, wavefront);
  *out_device = &cpu->base;
  return ROC_OK;
}

static void cpu_close(roc_device *device) {
  roc_cpu_fibers_deinit(&cpu_of(device)->queues);
  roc_cpu_queues_deinit(&cpu_of(device)->queues);
  roc_free(device);
}

static void cpu_quiesce(roc_device *device) {
  roc_cpu_pool_stop(&cpu_of(device)->queues.pool);
}

/* Nothing here can be lost; the caller has waited for the work. */
static roc_status cpu_reset(roc_device *device, roc_error *err) {
  (void)device;
  (void)err;
  return ROC_OK;
}

static roc_status cpu_stream_create(roc_device *device, roc_dev_stream **out_stream,
                                    roc_error *err) {
  roc_cpu_stream *stream;
  ROC_TRY(roc_cpu_stream_create(device, &cpu_of(device)->queues, &stream, err));
  *out_stream = (roc_dev_stream *)stream;
  return ROC_OK;
}

static void cpu_stream_destroy(roc_dev_stream *stream) {
  roc_cpu_stream_destroy((roc_cpu_stream *)stream);
}

static roc_status cpu_module_load(roc_device *device, const roc_codeobj *object,
                                  roc_dev_module **out_module, roc_error *err) {
  if (!code_loader) return roc_fail(err, ROC_INTERNAL, "the cpu device has no code loader yet");
  if (roc_target_facts_of(object->target) != roc_target_facts_of(device->props.arch)) {
    return roc_fail(err, ROC_INVALID, "a code object for '%s' cannot run on the cpu",
                    object->target);
  }
  roc_dev_module *module = roc_zalloc(sizeof *module);
  if (!module) return roc_fail(err, ROC_OOM, "out of memory: cannot load a kernel");
  pthread_mutex_lock(&loader_lock);
  roc_status status = code_loader->load(object, &module->entry, &module->handle, err);
  pthread_mutex_unlock(&loader_lock);
  if (status != ROC_OK) {
    roc_free(module);
    return status;
  }
  module->static_shared_bytes = object->shared_bytes;
  module->frame_fixed_bytes = object->frame_fixed_bytes;
  module->frame_item_bytes = object->frame_item_bytes;
  module->has_batches = object->has_batches;
  module->is_in_order = !object->is_unordered;
  module->goes_by_rows = object->goes_by_rows;
  module->item_steps = object->item_steps;
  *out_module = module;
  return ROC_OK;
}

static void cpu_module_unload(roc_device *device, roc_dev_module *module) {
  (void)device;
  pthread_mutex_lock(&loader_lock);
  code_loader->unload(module->handle);
  pthread_mutex_unlock(&loader_lock);
  roc_free(module);
}

const roc_device_ops roc_cpu_ops = {
    .kind = "cpu",
    .probe = cpu_probe,
    .open = cpu_open,
    .close = cpu_close,
    .quiesce = cpu_quiesce,
    .reset = cpu_reset,
    .memory_free = roc_host_memory_free,
    .alloc = roc_host_alloc,
    .free = roc_host_free,
    .alloc_host = roc_host_alloc_host,
    .free_host = roc_host_free_host,
    .stream_create = cpu_stream_create,
    .stream_destroy = cpu_stream_destroy,
    .copy = roc_cpu_queue_copy,
    .fill = roc_cpu_queue_fill,
    .launch = roc_cpu_queue_launch,
    .run_at_once = roc_cpu_run_at_once,
    .host_call = roc_cpu_queue_host_call,
    .stream_wait = roc_cpu_queue_wait_for,
    .stamp = roc_cpu_queue_stamp,
    .is_done = roc_cpu_is_done,
    .wait = roc_cpu_wait,
    .interrupt = roc_cpu_stream_interrupt,
    .module_load = cpu_module_load,
    .module_unload = cpu_module_unload,
};
