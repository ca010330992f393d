/* The stand-in for NVIDIA's driver library: books, devices, contexts, code and the control of it
 * all; see fake_cuda.h. */
#include <time.h>
#include <unistd.h>

#include "fake_cuda_state.h"

fake_state state = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* ---- books ---- */

static _Atomic uint64_t violation_count;
static _Thread_local CUcontext stack[64];
static _Thread_local int depth;
_Thread_local bool in_host_function;

static const char *const names[] = {
#define ROC_CUDA_FUNCTION(field, symbol, parameters) #symbol,
#include "device/cuda/cuda_api.def"
#undef ROC_CUDA_FUNCTION
};

void violate(const char *what) {
  violation_count++;
  fprintf(stderr, "fake_cuda: %s\n", what);
}

static int env_number(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text && *text ? atoi(text) : otherwise;
}

CUcontext current(void) {
  return depth > 0 ? stack[depth - 1] : NULL;
}

static bool is_sticky(CUresult result) {
  switch (result) {
#define PLAIN false
#define OOM false
#define LOST true
#define ROC_CUDA_ERROR(name, value, kind, text) \
  case CUDA_##name:                             \
    return kind;
#include "device/cuda/cuda_errors.def"
#undef ROC_CUDA_ERROR
#undef PLAIN
#undef OOM
#undef LOST
  }
  return false;
}

void add_object(object *o, fake_cuda_kind kind) {
  o->kind = kind;
  o->owner = current();
  o->next = state.objects;
  state.objects = o;
  state.live[kind]++;
}

void remove_object(object *o) {
  object **link = &state.objects;
  while (*link != o) link = &(*link)->next;
  *link = o->next;
  state.live[o->kind]--;
}

/* ---- calls ------------------------------------------------------------------------------------ */

/* Counts the call, and gives the planned failure when it is due.  The lock is held from now on. */
CUresult begin(fake_cuda_call call) {
  if (in_host_function) violate("a call from a host function");
  pthread_mutex_lock(&state.lock);
  state.calls[call]++;
  if (state.plan_nth == 0 || state.plan != call) return CUDA_SUCCESS;
  if (state.plan_nth != UINT64_MAX && --state.plan_nth > 0) return CUDA_SUCCESS;
  if (is_sticky(state.plan_result) && current()) current()->error = state.plan_result;
  return state.plan_result;
}

CUresult end(CUresult result) {
  pthread_mutex_unlock(&state.lock);
  return result;
}

/* The same for what needs a context that is well. */
CUresult begin_in_context(fake_cuda_call call) {
  CUresult result = begin(call);
  if (result != CUDA_SUCCESS) return result;
  if (!current() || current()->refs == 0) return CUDA_ERROR_INVALID_CONTEXT;
  return current()->error;
}

/* ---- start, devices --------------------------------------------------------------------------------- */

static void write_report(void);

CUresult cuInit(unsigned flags) {
  CUresult result = begin(FAKE_cuInit);
  if (result != CUDA_SUCCESS) return end(result);
  if (flags) return end(CUDA_ERROR_INVALID_VALUE);
  if (!state.is_started) atexit(write_report);
  state.is_started = true;
  return end(CUDA_SUCCESS);
}

CUresult cuDriverGetVersion(int *out_version) {
  CUresult result = begin(FAKE_cuDriverGetVersion);
  *out_version = env_number("FAKE_CUDA_VERSION", 13000);
  return end(result);
}

CUresult cuGetErrorName(CUresult result, const char **out_text) {
  *out_text = result == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_X";
  return end(begin(FAKE_cuGetErrorName));
}

CUresult cuGetErrorString(CUresult result, const char **out_text) {
  (void)result;
  *out_text = "a result of the stand-in";
  return end(begin(FAKE_cuGetErrorString));
}

static int count_devices(void) {
  return env_number("FAKE_CUDA_DEVICES", 2);
}

CUresult cuDeviceGetCount(int *out_count) {
  BEGIN(cuDeviceGetCount);
  *out_count = count_devices();
  return end(CUDA_SUCCESS);
}

CUresult cuDeviceGet(CUdevice *out_device, int ordinal) {
  BEGIN(cuDeviceGet);
  *out_device = ordinal;
  return end(ordinal < count_devices() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE);
}

CUresult cuDeviceGetName(char *out_name, int size, CUdevice device) {
  BEGIN(cuDeviceGetName);
  snprintf(out_name, (size_t)size, "stand-in %d", device);
  return end(CUDA_SUCCESS);
}

CUresult cuDeviceGetAttribute(int *out_value, CUdevice_attribute attribute, CUdevice device) {
  static const struct {
    CUdevice_attribute attribute;
    int value;
  } values[] = {
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, MAX_BLOCK},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, MAX_BLOCK},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, MAX_BLOCK},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, SHARED},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, SHARED_OPTIN},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
      {CU_DEVICE_ATTRIBUTE_MAX_PITCH, INT32_MAX},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4},
      {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
      {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
  };
  BEGIN(cuDeviceGetAttribute);
  (void)device;
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    if (values[i].attribute != attribute) continue;
    *out_value = values[i].value;
    return end(CUDA_SUCCESS);
  }
  return end(CUDA_ERROR_INVALID_VALUE);
}

CUresult cuDeviceTotalMem_v2(size_t *out_bytes, CUdevice device) {
  BEGIN(cuDeviceTotalMem);
  (void)device;
  *out_bytes = (size_t)1 << 30;
  return end(CUDA_SUCCESS);
}

CUresult cuDeviceCanAccessPeer(int *out_can, CUdevice device, CUdevice peer) {
  BEGIN(cuDeviceCanAccessPeer);
  *out_can = device != peer;
  return end(CUDA_SUCCESS);
}

/* ---- contexts ------------------------------------------------------------------------------------------ */

CUresult cuDevicePrimaryCtxRetain(CUcontext *out_context, CUdevice device) {
  BEGIN(cuDevicePrimaryCtxRetain);
  context *c = &state.contexts[device];
  if (c->error) return end(c->error);
  c->device = device;
  if (c->refs++ == 0) state.live[FAKE_CONTEXT]++;
  *out_context = c;
  return end(CUDA_SUCCESS);
}

static void drop_object(object *o) {
  if (o->kind == FAKE_STREAM) {
    drop_stream((CUstream)o);
  } else if (o->kind >= FAKE_MEMORY) {
    free_block((block *)o);
  } else {
    remove_object(o);
    if (o->kind == FAKE_MODULE) free(((CUmodule)o)->image);
    free(o);
  }
}

/* Takes all along that was made in it, once what runs has ended. */
static void end_context(context *c) {
  c->error = CUDA_ERROR_CONTEXT_IS_DESTROYED;
  while (is_running(c)) pthread_cond_wait(&state.changed, &state.lock);
  for (object *o = state.objects, *next; o; o = next) {
    next = o->next;
    if (o->owner == c) drop_object(o);
  }
  state.live[FAKE_CONTEXT]--;
  c->error = CUDA_SUCCESS;
}

/* Half a minute at most. */
static void await_file(const char *path) {
  for (int i = 0; i < 3000 && access(path, F_OK) != 0; i++) {
    nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
  }
  if (access(path, F_OK) != 0) violate("the file that a context's end waits for is not made");
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  const char *awaited = getenv("FAKE_CUDA_AWAIT");
  if (awaited) await_file(awaited);
  CUresult result = begin(FAKE_cuDevicePrimaryCtxRelease);
  context *c = &state.contexts[device];
  if (c->refs == 0) return end(CUDA_ERROR_INVALID_CONTEXT);
  if (--c->refs == 0) end_context(c); /* what is planned to fail does its work */
  return end(result);
}

CUresult cuCtxGetCurrent(CUcontext *out_context) {
  BEGIN(cuCtxGetCurrent);
  *out_context = current();
  return end(CUDA_SUCCESS);
}

/* A context that cannot be made current is gone, with what is queued in it. */
CUresult cuCtxPushCurrent_v2(CUcontext given) {
  CUresult result = begin(FAKE_cuCtxPushCurrent);
  if (result != CUDA_SUCCESS) given->error = CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (result != CUDA_SUCCESS) return end(result);
  if (depth == 64) violate("contexts are pushed and not popped");
  stack[depth++] = given;
  return end(CUDA_SUCCESS);
}

CUresult cuCtxPopCurrent_v2(CUcontext *out_context) {
  CUresult result = begin(FAKE_cuCtxPopCurrent);
  if (depth == 0) return end(CUDA_ERROR_INVALID_CONTEXT);
  *out_context = stack[--depth];
  return end(result);
}

/* ---- code ---------------------------------------------------------------------------------------------------------- */

CUresult cuModuleLoadDataEx(CUmodule *out_module, const void *image, unsigned noptions,
                            CUjit_option *options, void **values) {
  BEGIN_IN_CONTEXT(cuModuleLoadDataEx);
  if (strstr(image, "not ptx")) {
    for (unsigned i = 0; i < noptions; i++) {
      if (options[i] != CU_JIT_ERROR_LOG_BUFFER) continue;
      snprintf(values[i], 64, "line 3: syntax error (of the stand-in)");
    }
    return end(CUDA_ERROR_INVALID_PTX);
  }
  CUmodule module = calloc(1, sizeof *module);
  module->image = strdup(image);
  add_object(&module->base, FAKE_MODULE);
  *out_module = module;
  return end(CUDA_SUCCESS);
}

CUresult cuModuleUnload(CUmodule module) {
  BEGIN_IN_CONTEXT(cuModuleUnload);
  if (is_busy(current())) state.waits++;
  for (struct CUfunc_st **link = &state.functions; *link;) {
    struct CUfunc_st *f = *link;
    if (f->module == module) {
      *link = f->next;
      free(f);
    } else {
      link = &f->next;
    }
  }
  remove_object(&module->base);
  free(module->image);
  free(module);
  return end(CUDA_SUCCESS);
}

CUresult cuModuleGetFunction(CUfunction *out_function, CUmodule module, const char *name) {
  BEGIN_IN_CONTEXT(cuModuleGetFunction);
  if (!strstr(module->image, name)) return end(CUDA_ERROR_NOT_FOUND);
  CUfunction f = calloc(1, sizeof *f);
  f->module = module;
  snprintf(f->name, sizeof f->name, "%s", name);
  f->dynamic_bytes = SHARED;
  f->next = state.functions;
  state.functions = f;
  *out_function = f;
  return end(CUDA_SUCCESS);
}

CUresult cuFuncGetAttribute(int *out_value, CUfunction_attribute attribute, CUfunction function) {
  BEGIN_IN_CONTEXT(cuFuncGetAttribute);
  bool is_large = strstr(function->name, "large");
  *out_value = 0;
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) *out_value = is_large ? 256 : MAX_BLOCK;
  if (attribute == CU_FUNC_ATTRIBUTE_NUM_REGS) *out_value = is_large ? 255 : 32;
  return end(CUDA_SUCCESS);
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  BEGIN_IN_CONTEXT(cuFuncSetAttribute);
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value > SHARED_OPTIN) {
    return end(CUDA_ERROR_INVALID_VALUE);
  }
  function->dynamic_bytes = value;
  return end(CUDA_SUCCESS);
}

static void write_launch(const fake_cuda_launch *l, const unsigned char *arguments) {
  const char *path = getenv("FAKE_CUDA_LAUNCHES");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  fprintf(file, "%s %u %u %u %u %u %u %u ", l->function, l->grid[0], l->grid[1], l->grid[2],
          l->block[0], l->block[1], l->block[2], l->shared_bytes);
  for (size_t i = 0; i < l->argument_bytes; i++) fprintf(file, "%02x", arguments[i]);
  fputc('\n', file);
  fclose(file);
}

/* A launch is one of its stream's context, whichever is current, or none.  FAKE_CUDA_LAUNCH_CURRENT:
 * of the current one, and on its streams alone. */
static CUresult begin_launch(CUstream stream) {
  if (env_number("FAKE_CUDA_LAUNCH_CURRENT", 0)) {
    CUresult result = begin_in_context(FAKE_cuLaunchKernel);
    return result == CUDA_SUCCESS && !is_ours(stream) ? CUDA_ERROR_INVALID_HANDLE : result;
  }
  CUresult result = begin(FAKE_cuLaunchKernel);
  CUcontext owner = is_stream(stream) ? stream->base.owner : NULL;
  if (owner && is_sticky(result)) owner->error = result;
  if (result != CUDA_SUCCESS) return result;
  if (!owner) return CUDA_ERROR_INVALID_HANDLE;
  return owner->refs == 0 ? CUDA_ERROR_INVALID_CONTEXT : owner->error;
}

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared_bytes, CUstream stream,
                        void **params, void **extra) {
  CUresult begun = begin_launch(stream);
  if (begun != CUDA_SUCCESS) return end(begun);
  bool is_valid = !params && extra && gx && gy && gz && gx <= INT32_MAX &&
                  gy <= 65535 && gz <= 65535 && bx && by && bz && bx * by * bz <= MAX_BLOCK &&
                  bz <= 64 && shared_bytes <= (unsigned)function->dynamic_bytes &&
                  extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER &&
                  extra[2] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[4] == CU_LAUNCH_PARAM_END;
  if (!is_valid) return end(CUDA_ERROR_INVALID_VALUE);
  op *o = add_op(stream, OP_KERNEL);
  o->launch = (fake_cuda_launch){.function = function->name,
                                 .grid = {gx, gy, gz},
                                 .block = {bx, by, bz},
                                 .shared_bytes = shared_bytes,
                                 .argument_bytes = *(size_t *)extra[3]};
  memcpy(o->arguments, extra[1], o->launch.argument_bytes);
  write_launch(&o->launch, o->arguments);
  return end(CUDA_SUCCESS);
}

/* ---- control --------------------------------------------------------------------------------------------------------- */

static void control_fail(fake_cuda_call call, uint64_t nth, CUresult result) {
  pthread_mutex_lock(&state.lock);
  state.plan = call;
  state.plan_nth = nth;
  state.plan_result = result;
  pthread_mutex_unlock(&state.lock);
}

static uint64_t control_calls(fake_cuda_call call) {
  pthread_mutex_lock(&state.lock);
  uint64_t count = state.calls[call];
  pthread_mutex_unlock(&state.lock);
  return count;
}

static int64_t control_live(fake_cuda_kind kind) {
  pthread_mutex_lock(&state.lock);
  int64_t count = state.live[kind];
  pthread_mutex_unlock(&state.lock);
  return count;
}

static void control_hold(bool is_held) {
  pthread_mutex_lock(&state.lock);
  state.is_held = is_held;
  pthread_cond_broadcast(&state.changed);
  pthread_mutex_unlock(&state.lock);
}

static void control_lose(int device, CUresult result) {
  pthread_mutex_lock(&state.lock);
  state.contexts[device].error = result;
  pthread_cond_broadcast(&state.changed);
  pthread_mutex_unlock(&state.lock);
}

static uint64_t control_violations(void) {
  return violation_count;
}

static uint64_t control_waits(void) {
  pthread_mutex_lock(&state.lock);
  uint64_t count = state.waits;
  pthread_mutex_unlock(&state.lock);
  return count;
}

static void *control_look(CUdeviceptr ptr) {
  bool is_device;
  pthread_mutex_lock(&state.lock);
  char *there = reach(ptr, 1, &is_device);
  pthread_mutex_unlock(&state.lock);
  return is_device ? there : NULL;
}

static const char *control_name(fake_cuda_call call) {
  return names[call];
}

fake_cuda control = {.fail = control_fail,
                     .calls = control_calls,
                     .live = control_live,
                     .hold = control_hold,
                     .lose = control_lose,
                     .violations = control_violations,
                     .waits = control_waits,
                     .look = control_look,
                     .name = control_name};

API fake_cuda *fake_cuda_open(void);
fake_cuda *fake_cuda_open(void) {
  return &control;
}

/* After the program's own end: what it has not given back. */
static void write_report(void) {
  static const char *const kinds[] = {"contexts", "streams", "events",      "modules",
                                      "pools",    "memory",  "host memory", "registered"};
  const char *path = getenv("FAKE_CUDA_REPORT");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (!file) return;
  for (int i = 0; i < FAKE_KINDS; i++)
    fprintf(file, "%s %lld\n", kinds[i], (long long)state.live[i]);
  fprintf(file, "violations %llu\n", (unsigned long long)violation_count);
  for (int i = 0; i < FAKE_CALLS; i++) {
    fprintf(file, "%s %llu\n", names[i], (unsigned long long)state.calls[i]);
  }
  fclose(file);
}

__attribute__((constructor)) static void read_plan(void) {
  char name[64];
  unsigned long long nth;
  int result;
  const char *text = getenv("FAKE_CUDA_FAIL");
  if (!text || sscanf(text, "%63[^:]:%llu:%d", name, &nth, &result) != 3) return;
  for (int i = 0; i < FAKE_CALLS; i++) {
    if (strcmp(names[i], name) == 0)
      control_fail((fake_cuda_call)i, nth ? nth : UINT64_MAX, (CUresult)result);
  }
}
