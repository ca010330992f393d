/* Starting NVIDIA's driver, finding the GPUs, opening one; and the driver's table of ops. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cuda/driver.h"

enum {
  LEAST_VERSION = 11040, /* of the library: CUDA 11.4 */
  LEAST_MAJOR = 7,       /* of the GPU: what is compiled for begins at sm_70 */
};

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_started;
static uint32_t gpu_count;

/* ---- start ----------------------------------------------------------------- */

static roc_status check_version(roc_error *err) {
  int version = 0;
  CUresult result = roc_cuda.cuDriverGetVersion(&version);
  if (result != CUDA_SUCCESS) return roc_cuda_fail_start(result, err);
  if (version >= LEAST_VERSION) return ROC_OK;
  return roc_fail(err, ROC_UNAVAILABLE,
                  "NVIDIA's driver is too old: it has CUDA %d.%d, and 11.4 (driver 470) is needed",
                  version / 1000, version % 1000 / 10);
}

/* The library's threads inherit the mask: Ctrl-C must reach the thread that waits. */
static sigset_t block_signals(void) {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  return old;
}

static CUresult init_with_signals_blocked(void) {
  sigset_t old = block_signals();
  CUresult result = roc_cuda.cuInit(0);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return result;
}

/* start_lock held. */
static roc_status start(roc_error *err) {
  if (is_started) return ROC_OK;
  ROC_TRY(roc_cuda_load(err));
  ROC_TRY(check_version(err));
  int count = 0;
  CUresult result = init_with_signals_blocked();
  if (result == CUDA_SUCCESS) result = roc_cuda.cuDeviceGetCount(&count);
  if (result == CUDA_SUCCESS && count <= 0) result = CUDA_ERROR_NO_DEVICE;
  if (result != CUDA_SUCCESS) return roc_cuda_fail_start(result, err);
  gpu_count = count < ROC_CUDA_MAX_GPUS ? (uint32_t)count : ROC_CUDA_MAX_GPUS;
  is_started = true;
  return ROC_OK;
}

static roc_status cuda_probe(uint32_t *out_count, roc_error *err) {
  pthread_mutex_lock(&start_lock);
  roc_status status = start(err);
  *out_count = status == ROC_OK ? gpu_count : 0;
  pthread_mutex_unlock(&start_lock);
  return status;
}

/* ---- properties -------------------------------------------------------------- */

/* What a device must say of itself. */
typedef struct traits {
  int major, minor, wavefront, compute_units, max_workgroup, dims[3];
  int shared, shared_optin, has_pools, has_one_address, max_pitch;
} traits;

static CUresult read_traits(CUdevice handle, traits *t) {
  const struct {
    CUdevice_attribute attribute;
    int *out;
  } wanted[] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &t->major},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &t->minor},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, &t->wavefront},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &t->compute_units},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &t->max_workgroup},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, &t->dims[0]},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, &t->dims[1]},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, &t->dims[2]},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &t->shared},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &t->shared_optin},
      {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, &t->has_pools},
      {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, &t->has_one_address},
      {CU_DEVICE_ATTRIBUTE_MAX_PITCH, &t->max_pitch},
  };
  CUresult result = CUDA_SUCCESS;
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted && result == CUDA_SUCCESS; i++) {
    result = roc_cuda.cuDeviceGetAttribute(wanted[i].out, wanted[i].attribute, handle);
  }
  return result;
}

static roc_status check_traits(const traits *t, const char *name, roc_error *err) {
  if (t->major < LEAST_MAJOR) {
    return roc_fail(err, ROC_UNAVAILABLE,
                    "roclua does not compile for '%s', which is sm_%d%d: sm_%d0 or later is needed",
                    name, t->major, t->minor, LEAST_MAJOR);
  }
  if (!t->has_pools || !t->has_one_address) {
    return roc_fail(
        err, ROC_UNAVAILABLE, "'%s' has no %s here, which roclua needs (a virtual GPU may lack it)",
        name, t->has_pools ? "single address for page-locked memory" : "stream-ordered allocation");
  }
  return ROC_OK;
}

static void describe(roc_cuda_device *device, const traits *t) {
  roc_device_props *props = &device->base.props;
  snprintf(props->arch, sizeof props->arch, "sm_%d%d", t->major, t->minor);
  props->wavefront_size = (uint32_t)t->wavefront;
  props->compute_units = (uint32_t)t->compute_units;
  props->max_workgroup = (uint32_t)t->max_workgroup;
  for (int d = 0; d < 3; d++) {
    props->max_workgroup_dim[d] = (uint32_t)t->dims[d];
    props->max_groups[d] = d == 0 ? INT32_MAX : UINT32_MAX; /* roc_nvptx_plan_launch folds them */
  }
  device->default_shared_bytes = (uint32_t)t->shared;
  props->shared_bytes = (uint64_t)(t->shared_optin > t->shared ? t->shared_optin : t->shared);
  device->max_pitch = (uint64_t)t->max_pitch;
}

static roc_status read_device(roc_cuda_device *device, roc_error *err) {
  traits t = {0};
  roc_device_props *props = &device->base.props;
  size_t total = 0;
  CUresult result = roc_cuda.cuDeviceGet(&device->handle, (int)device->base.ordinal);
  if (result == CUDA_SUCCESS) {
    result = roc_cuda.cuDeviceGetName(props->name, sizeof props->name, device->handle);
  }
  if (result == CUDA_SUCCESS) result = roc_cuda.cuDeviceTotalMem(&total, device->handle);
  if (result == CUDA_SUCCESS) result = read_traits(device->handle, &t);
  if (result != CUDA_SUCCESS) {
    return roc_cuda_fail_plainly(err, result, "a GPU does not say what it is");
  }
  ROC_TRY(check_traits(&t, props->name, err));
  describe(device, &t);
  props->memory_total = total;
  return ROC_OK;
}

/* ---- opening and closing ------------------------------------------------------- */

/* A lost context takes what it holds along; releasing it is still ours to do. */
static void free_device(roc_cuda_device *device) {
  if (device->context) {
    if (!device->base.is_lost) {
      bool entered = roc_cuda_enter(device);
      roc_cuda_library_close(device);
      roc_cuda_clock_close(device);
      roc_cuda_close_memory(device);
      roc_cuda_leave(entered);
    }
    roc_cuda.cuDevicePrimaryCtxRelease(device->handle);
  }
  while (device->dead_jobs) {
    roc_cuda_job *job = device->dead_jobs;
    device->dead_jobs = job->next;
    roc_free(job);
  }
  roc_cuda_reaper_deinit(&device->reaper);
  pthread_mutex_destroy(&device->library.lock);
  pthread_mutex_destroy(&device->clock_lock);
  pthread_mutex_destroy(&device->lock);
  roc_free(device);
}

static roc_status open_context(roc_cuda_device *device, roc_error *err) {
  sigset_t old = block_signals();
  CUresult result = roc_cuda.cuDevicePrimaryCtxRetain(&device->context, device->handle);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (result != CUDA_SUCCESS) {
    device->context = NULL;
    roc_fail(err, ROC_UNAVAILABLE, "device '%s' cannot be opened: %s (CUDA error %d)",
             device->base.props.name, roc_cuda_text(result), (int)result);
    if (err) err->native = (int)result;
    return ROC_UNAVAILABLE;
  }
  bool entered = roc_cuda_enter(device);
  roc_status status = roc_cuda_open_memory(device, err);
  if (status == ROC_OK) status = roc_cuda_clock_open(device, err);
  roc_cuda_leave(entered);
  return status;
}

static roc_status cuda_open(uint32_t ordinal, roc_device **out_device, roc_error *err) {
  uint32_t count;
  ROC_TRY(cuda_probe(&count, err));
  if (ordinal >= count) {
    return roc_fail(err, ROC_UNAVAILABLE, "there are only %u NVIDIA GPUs", count);
  }
  roc_cuda_device *device = roc_zalloc(sizeof *device);
  if (!device) return roc_fail(err, ROC_OOM, "out of memory: cannot open an NVIDIA GPU");
  device->base.ops = &roc_cuda_ops;
  device->base.kind = roc_cuda_ops.kind;
  device->base.ordinal = ordinal;
  device->is_alone = count == 1;
  pthread_mutex_init(&device->lock, NULL);
  pthread_mutex_init(&device->clock_lock, NULL);
  pthread_mutex_init(&device->library.lock, NULL);
  roc_cuda_reaper_init(&device->reaper);
  roc_status status = read_device(device, err);
  if (status == ROC_OK) status = open_context(device, err);
  if (status != ROC_OK) {
    free_device(device);
    return status;
  }
  roc_cuda_list_device(device, true);
  *out_device = &device->base;
  return ROC_OK;
}

static void cuda_quiesce(roc_device *base) {
  roc_cuda_reaper_stop(roc_cuda_device_of(base));
}

static void cuda_close(roc_device *base) {
  roc_cuda_device *device = roc_cuda_device_of(base);
  roc_cuda_list_device(device, false);
  roc_cuda_reaper_stop(device);
  free_device(device);
}

/* The primary context is the whole program's: to end it would take along what other libraries have
 * in it, and the driver promises nothing of a context that comes after one that was lost. */
static roc_status cuda_reset(roc_device *base, roc_error *err) {
  if (!base->is_lost) return ROC_OK;
  return roc_fail(err, ROC_UNSUPPORTED, "device '%s' is lost (%s): only a new process helps",
                  base->props.name, base->lost_why);
}

const roc_device_ops roc_cuda_ops = {
    .kind = "cuda",
    .copies_between = true,
    .probe = cuda_probe,
    .open = cuda_open,
    .close = cuda_close,
    .quiesce = cuda_quiesce,
    .reset = cuda_reset,
    .memory_free = roc_cuda_memory_free,
    .alloc = roc_cuda_alloc,
    .free = roc_cuda_free,
    .alloc_host = roc_cuda_alloc_host,
    .free_host = roc_cuda_free_host,
    .host_register = roc_cuda_register,
    .host_unregister = roc_cuda_unregister,
    .stream_create = roc_cuda_stream_create,
    .stream_adopt = roc_cuda_stream_adopt,
    .stream_destroy = roc_cuda_stream_destroy,
    .has_room = roc_cuda_has_room,
    .copy = roc_cuda_copy,
    .fill = roc_cuda_fill,
    .scatter = roc_cuda_scatter,
    .launch = roc_cuda_launch,
    .host_call = roc_cuda_host_call,
    .stream_wait = roc_cuda_stream_wait,
    .stamp = roc_cuda_stamp_time,
    .known_done = roc_cuda_known_done,
    .is_done = roc_cuda_is_done,
    .wait = roc_cuda_wait,
    .watch = roc_cuda_watch,
    .describe = roc_cuda_describe,
    .library_open = roc_cuda_library_open,
    .multiply = roc_cuda_multiply,
    .solver_open = roc_cuda_solver_open,
    .factoring_size = roc_cuda_factoring_size,
    .factor = roc_cuda_factor,
    .module_load = roc_cuda_module_load,
    .module_unload = roc_cuda_module_unload,
    .module_load_beside = roc_cuda_module_load_beside,
};
