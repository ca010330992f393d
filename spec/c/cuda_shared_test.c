/* A GPU that another library uses as well, in the primary context: this program plays it, with the
 * driver's own functions.  For spec/c/cuda_shared_spec.lua, on an NVIDIA GPU.
 *
 * Usage: cuda_shared_test TEST; exit status 0 and "ok TEST", or a message and another status. */
#include <dlfcn.h>
#include <lauxlib.h>
#include <pthread.h>

#include "device/cuda/cuda_driver.h"
#include "embed_fixture.h"
#include "testing/testing.h"

#define OK(call) CHECK((call) == ROCLUA_OK)
#define CU(call) CHECK((call) == CUDA_SUCCESS)

enum { N = 1 << 20 };

static CUresult (*cuInit)(unsigned flags);
static CUresult (*cuDevicePrimaryCtxRetain)(CUcontext *out, CUdevice device);
static CUresult (*cuDevicePrimaryCtxGetState)(CUdevice device, unsigned *flags, int *is_active);
static CUresult (*cuCtxSetCurrent)(CUcontext context);
static CUresult (*cuCtxGetCurrent)(CUcontext *out);
static CUresult (*cuCtxCreate)(CUcontext *out, unsigned flags, CUdevice device);
static CUresult (*cuCtxDestroy)(CUcontext context);
static CUresult (*cuMemAlloc)(CUdeviceptr *out, size_t nbytes);
static CUresult (*cuMemFree)(CUdeviceptr block);
static CUresult (*cuMemcpyHtoD)(CUdeviceptr dst, const void *src, size_t nbytes);
static CUresult (*cuMemcpyDtoH)(void *dst, CUdeviceptr src, size_t nbytes);
static CUresult (*cuMemcpyDtoDAsync)(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream);
static CUresult (*cuStreamCreate)(CUstream *out, unsigned flags);
static CUresult (*cuStreamSynchronize)(CUstream stream);
static CUresult (*cuStreamDestroy)(CUstream stream);

static const struct {
  void *place;
  const char *name;
} FUNCTIONS[] = {
    {&cuInit, "cuInit"},
    {&cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain"},
    {&cuDevicePrimaryCtxGetState, "cuDevicePrimaryCtxGetState"},
    {&cuCtxSetCurrent, "cuCtxSetCurrent"},
    {&cuCtxGetCurrent, "cuCtxGetCurrent"},
    {&cuCtxCreate, "cuCtxCreate_v2"},
    {&cuCtxDestroy, "cuCtxDestroy_v2"},
    {&cuMemAlloc, "cuMemAlloc_v2"},
    {&cuMemFree, "cuMemFree_v2"},
    {&cuMemcpyHtoD, "cuMemcpyHtoD_v2"},
    {&cuMemcpyDtoH, "cuMemcpyDtoH_v2"},
    {&cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2"},
    {&cuStreamCreate, "cuStreamCreate"},
    {&cuStreamSynchronize, "cuStreamSynchronize"},
    {&cuStreamDestroy, "cuStreamDestroy_v2"},
};

static void open_library(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  CHECK(library);
  for (size_t i = 0; i < sizeof FUNCTIONS / sizeof *FUNCTIONS; i++) {
    void *function = dlsym(library, FUNCTIONS[i].name);
    CHECK(function);
    memcpy(FUNCTIONS[i].place, &function, sizeof function);
  }
}

/* As CUDA's runtime and what stands on it do. */
static CUcontext use_primary_context(void) {
  CUcontext context;
  open_library();
  CU(cuInit(0));
  CU(cuDevicePrimaryCtxRetain(&context, 0));
  CU(cuCtxSetCurrent(context));
  return context;
}

static CUcontext current(void) {
  CUcontext context;
  CU(cuCtxGetCurrent(&context));
  return context;
}

static lua_State *open_state(void) {
  lua_State *L = luaL_newstate();
  CHECK(L);
  roc_open_libraries(L);
  run(L,
      "roc = require 'roc' assert(roc.current_device().kind == 'cuda')\n"
      "double = roc.kernel 'function(a) local i = roc.get_global_id(1) a[i] = a[i] * 2 end'\n");
  return L;
}

static CUdeviceptr theirs(int64_t value) {
  static int64_t host[N];
  CUdeviceptr block;
  CU(cuMemAlloc(&block, sizeof host));
  for (int i = 0; i < N; i++) host[i] = value + i;
  CU(cuMemcpyHtoD(block, host, sizeof host));
  return block;
}

static void check_theirs(CUdeviceptr block, int64_t value, int64_t step) {
  static int64_t host[N];
  CU(cuMemcpyDtoH(host, block, sizeof host));
  for (int i = 0; i < N; i++) CHECK(host[i] == value + i * step);
}

static void push_theirs(lua_State *L, CUdeviceptr block, const char *name) {
  int64_t shape = N;
  roclua_memory memory = {.size = sizeof memory,
                          .dtype = "int64",
                          .rank = 1,
                          .shape = &shape,
                          .data = (void *)(uintptr_t)block,
                          .device = "cuda:1"};
  roclua_array *array;
  OK(roclua_array_wrap(&memory, &array));
  OK(roclua_array_push(L, array));
  roclua_array_release(array);
  lua_setglobal(L, name);
}

/* Their memory in our kernels, ours in their copies. */
static void test_memory(void) {
  use_primary_context();
  CUdeviceptr block = theirs(5);
  lua_State *L = open_state();
  push_theirs(L, block, "x");
  run(L,
      "double:forall(#x)(x) roc.current_device():synchronize()\n"
      "y = roc.to_device(roc.full(1048576, 3, 'int64')) double:forall(#y)(y)\n"
      "roc.current_device():synchronize() address = y.pointer");
  check_theirs(block, 10, 2);
  lua_getglobal(L, "address");
  check_theirs((CUdeviceptr)lua_tointeger(L, -1), 6, 0);
  lua_close(L);
  check_theirs(block, 10, 2);
  CU(cuMemFree(block));
}

/* Work of both on one stream of theirs, in the order in which it was queued. */
static void test_stream(void) {
  use_primary_context();
  CUstream stream;
  CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr block = theirs(1), other = theirs(0);
  lua_State *L = open_state();
  push_theirs(L, block, "x");
  lua_pushlightuserdata(L, stream);
  lua_setglobal(L, "native");
  run(L, "s = roc.stream_from(native) double:forall(#x, { stream = s })(x) s:synchronize()");
  check_theirs(block, 2, 2);
  for (int round = 0; round < 20; round++) {
    CU(cuMemcpyDtoDAsync(block, other, sizeof(int64_t) * N, stream));
    run(L, "double:forall(#x, { stream = s })(x)");
    CU(cuMemcpyDtoDAsync(other, block, sizeof(int64_t) * N, stream));
  }
  CU(cuStreamSynchronize(stream));
  check_theirs(other, 0, 1 << 20);
  run(L, "s:close()");
  lua_close(L);
  CU(cuStreamSynchronize(stream));
  CU(cuStreamDestroy(stream));
}

static const char EVERYTHING[] =
    "for i = 1, 20 do\n"
    "  local s <close> = roc.stream()\n"
    "  local a = roc.to_device(roc.full(1000, i, 'int64'), { stream = s })\n"
    "  local h = roc.zeros(1000, 'int64')\n"
    "  double:forall(1000, { stream = s })(a)\n"
    "  a:copy_to_host(h, s) s:synchronize() assert(h[1000] == 2 * i)\n"
    "  local r <close> = roc.register(h)\n"
    "  local p = roc.pinned_array(100)\n"
    "  a:slice(1, 1, 1000, 3):fill(4) a:close()\n"
    "end collectgarbage() collectgarbage() roc.trim_memory()";

static void *run_without_context(void *L) {
  CHECK(current() == NULL);
  run(L, EVERYTHING);
  CHECK(current() == NULL);
  return NULL;
}

/* Every call leaves the thread the context that it had: another one, the primary one, none. */
static void test_context(void) {
  CUcontext primary = use_primary_context(), other;
  lua_State *L = open_state();
  CHECK(current() == primary);
  run(L, EVERYTHING);
  CHECK(current() == primary);
  CU(cuCtxCreate(&other, 0, 0));
  CHECK(current() == other);
  run(L, EVERYTHING);
  CHECK(current() == other);
  CUdeviceptr block;
  CU(cuMemAlloc(&block, 4096));
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, run_without_context, L) == 0);
  pthread_join(thread, NULL);
  lua_close(L);
  CHECK(current() == other);
  CU(cuMemFree(block));
  CU(cuCtxDestroy(other));
}

/* What is theirs outlives roclua, in a context that is active. */
static void test_shutdown(void) {
  CUcontext primary = use_primary_context();
  CUdeviceptr block = theirs(7);
  lua_State *L = open_state();
  push_theirs(L, block, "x");
  run(L, "double:forall(#x)(x)");
  lua_close(L);
  OK(roclua_shutdown());
  unsigned flags;
  int is_active;
  CU(cuDevicePrimaryCtxGetState(0, &flags, &is_active));
  CHECK(is_active && current() == primary);
  check_theirs(block, 14, 2);
  CU(cuMemFree(block));
}

static const named_test TESTS[] = {
    {"memory", test_memory},
    {"stream", test_stream},
    {"context", test_context},
    {"shutdown", test_shutdown},
};

int main(int argc, char **argv) {
  return run_named(TESTS, sizeof TESTS / sizeof *TESTS, argc, argv);
}
