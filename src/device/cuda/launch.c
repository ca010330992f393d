/* Launches: the arguments as one block (base/nvptx_abi.h), and one call of the library.
 *
 * Faults go to a ring of slots in the GPU's memory, which checkpoints copy; prints to a buffer
 * there that the launches of a stream take in turn, copied after each. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/nvptx_abi.h"
#include "device/cuda/driver.h"

enum { COUNTER_BYTES = 256, PRINT_BYTES = sizeof(roc_print_buffer) + ROC_PRINT_CAPACITY };

static roc_status fail_launch(roc_cuda_stream *stream, CUresult result, roc_error *err) {
  return roc_cuda_fail(roc_cuda_owner(stream), result, "a kernel is not queued", err);
}

/* ---- the context -------------------------------------------------------------- */

/* The library takes the context of a launch from its stream, whichever is the thread's, or none: so
 * does driver 580.  One that does not says so at the first launch. */
static bool says_other_context(CUresult result) {
  return result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_INVALID_HANDLE;
}

/* What a launch has to do first, or the handle of another's stream, which may stand for a stream of
 * the current context, needs the context. */
static bool needs_context(const roc_cuda_stream *stream, const roc_dev_launch *launch) {
  const roc_cuda_device *device = roc_cuda_owner(stream);
  return device->launches_in_context || stream->is_foreign || launch->print || !stream->counter ||
         (launch->fault && !stream->slots.targets) || stream->alloc_epoch != device->alloc_epoch;
}

/* ---- what a stream's launches share: context current ------------------------ */

static roc_status take_zeroed(roc_cuda_stream *stream, size_t nbytes, CUdeviceptr *out_ptr,
                              roc_error *err) {
  roc_device *device = stream->base.device;
  roc_devptr block;
  ROC_TRY(roc_cuda_alloc(device, nbytes, &block, err));
  roc_status status = roc_cuda_stream_ready(stream, err);
  if (status == ROC_OK) {
    CUresult result = roc_cuda.cuMemsetD8Async(block, 0, nbytes, stream->handle);
    if (result != CUDA_SUCCESS) status = fail_launch(stream, result, err);
  }
  if (status == ROC_OK) {
    *out_ptr = block;
  } else {
    roc_cuda_free(device, block);
  }
  return status;
}

static roc_status get_slots(roc_cuda_stream *stream, roc_error *err) {
  enum { NBYTES = ROC_CUDA_IN_FLIGHT * ROC_CUDA_SLOT_BYTES };
  roc_cuda_slots *slots = &stream->slots;
  if (slots->targets) return ROC_OK;
  if (!slots->host) {
    void *host;
    ROC_TRY(roc_cuda_alloc_host(stream->base.device, NBYTES, &host, err));
    slots->host = host;
  }
  if (!slots->device) ROC_TRY(take_zeroed(stream, NBYTES, &slots->device, err));
  slots->targets = roc_alloc(sizeof *slots->targets * ROC_CUDA_IN_FLIGHT);
  if (!slots->targets) return roc_fail(err, ROC_OOM, "out of memory: no room for fault records");
  return ROC_OK;
}

/* ---- reports ------------------------------------------------------------------ */

/* The slot that the launch is to use; it counts as used once the launch is queued. */
static roc_status prepare_fault(roc_cuda_stream *stream, roc_fault_record *target,
                                uint64_t *out_address, roc_error *err) {
  ROC_TRY(get_slots(stream, err));
  uint64_t slot = stream->slots.used % ROC_CUDA_IN_FLIGHT;
  stream->slots.targets[slot] = target;
  *out_address = stream->slots.device + slot * ROC_CUDA_SLOT_BYTES;
  return ROC_OK;
}

/* The buffer's head comes from the launch's own, whose memory is page-locked. */
static roc_status prepare_print(roc_cuda_stream *stream, const roc_print_buffer *print,
                                uint64_t *out_address, roc_error *err) {
  if (!stream->print) ROC_TRY(take_zeroed(stream, PRINT_BYTES, &stream->print, err));
  CUresult result = roc_cuda.cuMemcpyAsync(stream->print, (CUdeviceptr)(uintptr_t)print,
                                           sizeof *print, stream->handle);
  if (result != CUDA_SUCCESS) return fail_launch(stream, result, err);
  *out_address = stream->print;
  return ROC_OK;
}

/* ---- shape --------------------------------------------------------------------- */

static roc_status fail_registers(const roc_dev_launch *launch, roc_error *err) {
  return roc_fail(err, ROC_INVALID,
                  "a workgroup of %" PRIu64
                  " work-items has no room on the GPU: kernel '%s' takes %u registers each, so %u "
                  "are the most",
                  roc_ndrange_local_items(launch->range), launch->name, launch->module->registers,
                  launch->module->max_workgroup);
}

/* Once for each function: more shared memory than every launch gets has to be asked for. */
static roc_status opt_in(roc_cuda_device *device, roc_dev_module *module, roc_error *err) {
  int most = (int)(device->base.props.shared_bytes - module->shared_bytes);
  bool entered = roc_cuda_enter(device);
  CUresult result = roc_cuda.cuFuncSetAttribute(
      module->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most);
  roc_cuda_leave(entered);
  if (result != CUDA_SUCCESS) {
    return roc_cuda_fail(device, result, "a kernel is not given its shared memory", err);
  }
  module->has_opt_in = true;
  return ROC_OK;
}

/* ---- the op ---------------------------------------------------------------------- */

typedef struct arguments {
  _Alignas(16) unsigned char block[ROC_NVPTX_MAX_ARGUMENT_BYTES];
  size_t nbytes;
} arguments;

static void put_arguments(arguments *a, const roc_dev_launch *launch,
                          const roc_nvptx_hidden *hidden) {
  if (launch->kernarg_bytes) memcpy(a->block, launch->kernarg, launch->kernarg_bytes);
  a->nbytes = launch->kernarg_bytes;
  if (launch->module->object->is_foreign) return;
  memcpy(a->block + a->nbytes, hidden, sizeof *hidden);
  a->nbytes += sizeof *hidden;
}

static CUresult call_library(const roc_cuda_stream *stream, const roc_dev_module *module,
                             const roc_nvptx_shape *shape, uint32_t shared, arguments *a) {
  const uint32_t *blocks = shape->blocks, *threads = shape->threads;
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, a->block, CU_LAUNCH_PARAM_BUFFER_SIZE,
                   &a->nbytes, CU_LAUNCH_PARAM_END};
  return roc_cuda.cuLaunchKernel(module->function, blocks[0], blocks[1], blocks[2], threads[0],
                                 threads[1], threads[2], shared, stream->handle, NULL, extra);
}

static roc_status submit(roc_cuda_stream *stream, const roc_dev_launch *launch,
                         roc_nvptx_hidden *hidden, const roc_nvptx_shape *shape, roc_error *err) {
  roc_cuda_device *device = roc_cuda_owner(stream);
  roc_dev_module *module = launch->module;
  uint32_t shared = roc_nvptx_shared_bytes(module->object, launch->range->dynamic_shared_bytes);
  if (shared + module->shared_bytes > device->default_shared_bytes && !module->has_opt_in) {
    ROC_TRY(opt_in(device, module, err));
  }
  arguments a;
  put_arguments(&a, launch, hidden);
  CUresult result = call_library(stream, module, shape, shared, &a);
  if (says_other_context(result) && !device->launches_in_context) {
    bool entered = roc_cuda_enter(device);
    result = call_library(stream, module, shape, shared, &a);
    roc_cuda_leave(entered);
    device->launches_in_context = entered && result == CUDA_SUCCESS;
  }
  device->may_last = true;
  if (result == CUDA_SUCCESS) return ROC_OK;
  if (result == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES) return fail_registers(launch, err);
  return fail_launch(stream, result, err);
}

static roc_status launch_prepared(roc_cuda_stream *stream, const roc_dev_launch *launch,
                                  roc_nvptx_hidden *hidden, const roc_nvptx_shape *shape,
                                  roc_error *err) {
  if (!stream->counter) ROC_TRY(take_zeroed(stream, COUNTER_BYTES, &stream->counter, err));
  ROC_TRY(roc_cuda_stream_ready(stream, err));
  hidden->counter = stream->counter;
  if (launch->fault) ROC_TRY(prepare_fault(stream, launch->fault, &hidden->fault, err));
  if (launch->print) ROC_TRY(prepare_print(stream, launch->print, &hidden->print, err));
  ROC_TRY(submit(stream, launch, hidden, shape, err));
  if (launch->fault) stream->slots.used++;
  if (!launch->print) return ROC_OK;
  CUresult result = roc_cuda.cuMemcpyAsync((CUdeviceptr)(uintptr_t)launch->print, stream->print,
                                           PRINT_BYTES, stream->handle);
  if (result == CUDA_SUCCESS) return ROC_OK;
  /* The kernel runs; its output is lost, and its record is the caller's again. */
  if (launch->fault) stream->slots.targets[(stream->slots.used - 1) % ROC_CUDA_IN_FLIGHT] = NULL;
  roc_cuda_issue(stream, NULL);
  return fail_launch(stream, result, err);
}

roc_status roc_cuda_launch(roc_dev_stream *base, const roc_dev_launch *launch,
                           roc_ticket *out_ticket, roc_error *err) {
  roc_cuda_stream *stream = roc_cuda_stream_of(base);
  roc_nvptx_hidden hidden = {0};
  roc_nvptx_shape shape;
  if (launch->kernarg_bytes + sizeof hidden > ROC_NVPTX_MAX_ARGUMENT_BYTES) {
    return roc_fail(err, ROC_INVALID, "a kernel's arguments take %zu bytes, over the limit %d",
                    launch->kernarg_bytes + sizeof hidden, ROC_NVPTX_MAX_ARGUMENT_BYTES);
  }
  ROC_TRY(roc_nvptx_plan_launch(launch->module->object, launch->kernarg, launch->range, &hidden,
                                &shape, err));
  if (roc_ndrange_local_items(launch->range) > launch->module->max_workgroup) {
    return fail_registers(launch, err);
  }
  bool entered = needs_context(stream, launch) && roc_cuda_enter(roc_cuda_owner(stream));
  roc_status status = launch_prepared(stream, launch, &hidden, &shape, err);
  roc_cuda_leave(entered);
  ROC_TRY(status);
  *out_ticket = roc_cuda_issue(stream, launch);
  roc_cuda_check_in_passing(stream);
  return ROC_OK;
}
