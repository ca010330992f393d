/* DLPack: arrays given to another library and taken from it, which this program plays.  For
 * spec/c/dlpack_spec.lua, on the device that ROCLUA_DEVICE names.
 *
 * Usage: dlpack_test TEST; exit status 0 and "ok TEST", or a message and another status.  Without
 * TEST it lists the tests. */
#include <lauxlib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/alloc.h"
#include "embed/dlpack.h"
#include "embed_fixture.h"
#include "testing/testing.h"

#define OK(call) CHECK((call) == ROCLUA_OK)

typedef struct DLManagedTensorVersioned versioned;
typedef struct DLManagedTensor unversioned;

/* As dlpack.h lays them out on every machine of 64 bits. */
_Static_assert(sizeof(dlpack_tensor) == 48, "");
_Static_assert(offsetof(dlpack_tensor, ndim) == 16, "");
_Static_assert(offsetof(dlpack_tensor, dtype) == 20, "");
_Static_assert(offsetof(dlpack_tensor, shape) == 24, "");
_Static_assert(offsetof(dlpack_tensor, byte_offset) == 40, "");
_Static_assert(offsetof(versioned, manager_ctx) == 8, "");
_Static_assert(offsetof(versioned, deleter) == 16, "");
_Static_assert(offsetof(versioned, flags) == 24, "");
_Static_assert(offsetof(versioned, tensor) == 32, "");
_Static_assert(offsetof(unversioned, manager_ctx) == 48, "");
_Static_assert(offsetof(unversioned, deleter) == 56, "");

static const char setup[] =
    "roc = require 'roc'\n"
    "device = roc.current_device()\n"
    "double = roc.kernel 'function(a) local i = roc.get_global_id(1) a[i] = a[i] * 2 end'\n"
    "add = roc.kernel 'function(a, b) local i = roc.get_global_id(1) b[i] = b[i] + a[i] end'\n"
    "slow = roc.kernel [[function(a, n) local i, x = roc.get_global_id(1), 0\n"
    "  for j = 1, n do x = x * 31 + j end if x == 77 then a[i] = 0 else a[i] = a[i] + 1 end\n"
    "  end]]\n"
    "function sync() device:synchronize() end\n"
    "function collect() collectgarbage() collectgarbage() end\n"
    "function fails(text, f, ...) local ok, message = pcall(f, ...)\n"
    "  assert(not ok and tostring(message):find(text, 1, true), tostring(message)) end\n";

static lua_State *open_state(void) {
  lua_State *L = luaL_newstate();
  CHECK(L);
  roc_open_libraries(L);
  run(L, setup);
  return L;
}

static void close_state(lua_State *L) {
  OK(roclua_close(L));
  lua_close(L);
}

static void give(lua_State *L, roclua_array *array, const char *name) {
  OK(roclua_array_push(L, array));
  lua_setglobal(L, name);
}

static roclua_array *take(lua_State *L, const char *name) {
  roclua_array *array = NULL;
  lua_getglobal(L, name);
  OK(roclua_array_get(L, -1, &array));
  lua_pop(L, 1);
  return array;
}

/* ---- a producer ---------------------------------------------------------- */

enum { COUNT = 100 };

/* A tensor of this program's, which counts the calls of its deleter. */
typedef struct producer {
  versioned managed;
  unversioned old;
  int64_t shape[2], strides[2];
  float data[COUNT];
  _Atomic int deletions;
} producer;

static void delete_managed(versioned *self) {
  atomic_fetch_add(&((producer *)self->manager_ctx)->deletions, 1);
}

static void delete_old(unversioned *self) {
  atomic_fetch_add(&((producer *)self->manager_ctx)->deletions, 1);
}

static void produce(producer *p) {
  *p = (producer){.shape = {COUNT, 1}, .strides = {1, 1}};
  for (int i = 0; i < COUNT; i++) p->data[i] = (float)i;
  dlpack_tensor t = {.data = p->data, .ndim = 1, .shape = p->shape, .strides = p->strides};
  t.device.device_type = DLPACK_CPU;
  t.dtype.code = DLPACK_FLOAT;
  t.dtype.bits = 32;
  t.dtype.lanes = 1;
  p->managed.version.major = 1;
  p->managed.version.minor = 7;
  p->managed.manager_ctx = p->old.manager_ctx = p;
  p->managed.deleter = delete_managed;
  p->old.deleter = delete_old;
  p->managed.tensor = p->old.tensor = t;
}

static roclua_array *import(producer *p) {
  roclua_array *array = NULL;
  OK(roclua_array_from_dlpack(&p->managed, NULL, &array));
  return array;
}

/* ---- tests --------------------------------------------------------------- */

/* A kernel works on the producer's memory; the deleter comes once, with whatever drops the last
 * use. */
static void test_import(void) {
  static producer p;
  lua_State *L = open_state();
  produce(&p);
  roclua_array *array = import(&p);
  give(L, array, "a");
  run(L, "assert(#a == 100 and a.dtype == roc.float32 and a[8] == 7) double:forall(#a)(a) sync()");
  CHECK(p.data[99] == 198 && p.deletions == 0);
  roclua_array_release(array);
  run(L, "b = a:slice(1, 11, 20) a = nil collect() assert(b[1] == 20)");
  CHECK(p.deletions == 0);
  run(L, "b = nil collect()");
  CHECK(p.deletions == 1);
  produce(&p);
  OK(roclua_array_from_dlpack_unversioned(&p.old, NULL, &array));
  give(L, array, "a");
  roclua_array_release(array);
  run(L, "r = roc.register(a) slow:forall(100)(a, 30000) a, r = nil, nil collect() sync()");
  CHECK(p.deletions == 1 && p.data[5] == 6);
  produce(&p);
  p.managed.deleter = NULL; /* allowed: the memory needs none */
  roclua_array_release(import(&p));
  close_state(L);
}

static void test_shapes(void) {
  static producer p;
  lua_State *L = open_state();
  produce(&p);
  p.managed.tensor.ndim = 2; /* columns of 3, from the element with number 5 on, upwards */
  p.managed.tensor.byte_offset = 5 * sizeof(float);
  p.shape[0] = 4, p.shape[1] = 3;
  p.strides[0] = 10, p.strides[1] = -1;
  roclua_array *array = import(&p);
  give(L, array, "a");
  run(L, "assert(a[1][1] == 5 and a[4][3] == 33 and a.strides[2] == -1) a[2][2] = 7");
  CHECK(p.data[14] == 7);
  roclua_array_release(array);
  run(L, "a = nil collect()");
  produce(&p);
  p.managed.tensor.strides = NULL; /* C order */
  p.managed.tensor.ndim = 2;
  p.shape[0] = 20, p.shape[1] = 5;
  array = import(&p);
  give(L, array, "a");
  roclua_array_release(array);
  run(L, "assert(a[2][1] == 5 and a:is_c_contiguous()) a = nil collect()");
  produce(&p);
  p.managed.tensor.ndim = 0; /* one element */
  p.managed.tensor.shape = p.managed.tensor.strides = NULL;
  array = import(&p);
  give(L, array, "a");
  roclua_array_release(array);
  run(L, "assert(#a == 1 and a[1] == 0) a = nil collect()");
  CHECK(p.deletions == 1);
  produce(&p);
  p.shape[0] = 0; /* none */
  p.managed.tensor.data = NULL;
  roclua_array_release(import(&p));
  CHECK(p.deletions == 1);
  close_state(L);
}

/* dtypes both ways. */
static void test_dtypes(void) {
  static const struct {
    const char *name;
    uint8_t code, bits;
  } rows[] = {{"bool", 6, 8},    {"int8", 0, 8},     {"int16", 0, 16},    {"int32", 0, 32},
              {"int64", 0, 64},  {"uint8", 1, 8},    {"uint16", 1, 16},   {"uint32", 1, 32},
              {"uint64", 1, 64}, {"float16", 2, 16}, {"bfloat16", 4, 16}, {"float32", 2, 32},
              {"float64", 2, 64}};
  lua_State *L = open_state();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    lua_pushstring(L, rows[i].name);
    lua_setglobal(L, "name");
    run(L, "a = roc.zeros(3, name)");
    roclua_array *array = take(L, "a"), *again;
    versioned *t;
    OK(roclua_array_to_dlpack(array, NULL, &t));
    CHECK(t->tensor.dtype.code == rows[i].code && t->tensor.dtype.bits == rows[i].bits);
    CHECK(t->tensor.dtype.lanes == 1 && t->version.major == 1 && t->flags == 0);
    OK(roclua_array_from_dlpack(t, NULL, &again));
    give(L, again, "b");
    run(L, "assert(b.dtype == a.dtype and b.pointer == a.pointer)");
    roclua_array_release(array);
    roclua_array_release(again);
  }
  run(L, "a, b = nil, nil collect()");
  close_state(L);
}

/* An array of a state becomes a tensor, which outlives the state. */
static void test_export(void) {
  lua_State *L = open_state();
  run(L,
      "live = require 'roc.core'.testing.live_blocks a = roc.zeros({10, 4}, 'float32')\n"
      "double:forall(10)(roc.zeros(10)) sync() collect() before = live()\n"
      "b = a:transpose():slice(1, 4, 1, -1) b[1][2] = 7");
  roclua_array *array = take(L, "b");
  versioned *t;
  unversioned *old;
  OK(roclua_array_to_dlpack(array, NULL, &t));
  OK(roclua_array_to_dlpack_unversioned(array, NULL, &old));
  roclua_array_release(array);
  CHECK(t->tensor.ndim == 2 && t->tensor.shape[0] == 4 && t->tensor.shape[1] == 10);
  CHECK(t->tensor.strides[0] == -1 && t->tensor.strides[1] == 4 && t->tensor.byte_offset == 0);
  CHECK(t->tensor.device.device_type == DLPACK_CPU && t->tensor.device.device_id == 0);
  float *data = t->tensor.data;
  CHECK(data[4] == 7 && old->tensor.data == t->tensor.data);
  data[4] = 8;
  run(L, "assert(b[1][2] == 8) b = nil collect()");
  t->deleter(t);
  ((float *)old->tensor.data)[4] = 9;
  run(L, "assert(a[2][4] == 9)");
  old->deleter(old);
  run(L, "collect() assert(live() <= before, live() - before)");
  array = take(L, "a");
  OK(roclua_array_to_dlpack(array, NULL, &t));
  roclua_array_release(array);
  close_state(L);
  CHECK(((float *)t->tensor.data)[7] == 9);
  t->deleter(t);
}

/* The export waits for what works on the memory. */
static void test_waits(void) {
  lua_State *L = open_state();
  run(L,
      "a = roc.zeros(100, 'float32') r = roc.register(a) double:forall(100)(a) sync()\n"
      "slow:forall(100)(a, 300000)");
  roclua_array *array = take(L, "a");
  versioned *t;
  OK(roclua_array_to_dlpack(array, NULL, &t));
  for (int i = 0; i < COUNT; i++) CHECK(((float *)t->tensor.data)[i] == 1);
  t->deleter(t);
  roclua_array_release(array);
  run(L, "s = roc.smart_array(roc.zeros(100)) double:forall(100)(s)");
  array = take(L, "s");
  CHECK(roclua_array_to_dlpack(array, NULL, &t) == ROCLUA_UNSUPPORTED);
  CHECK(strstr(roclua_error(), "smart array"));
  roclua_array_release(array);
  close_state(L);
}

/* Memory of the device goes out and comes in again, in the order of a stream. */
static void test_device(void) {
  lua_State *L = open_state();
  run(L,
      "d = roc.to_device(roc.full(100, 3, 'float32')) s = roc.stream() other = roc.stream()\n"
      "kind = device.kind slow[{100, 1, other}](d, 30000)");
  roclua_array *array = take(L, "d"), *again;
  versioned *t;
  OK(roclua_array_to_dlpack(array, NULL, &t)); /* has waited */
  lua_getglobal(L, "kind");
  bool is_gpu = strcmp(lua_tostring(L, -1), "hsa") == 0;
  CHECK(t->tensor.device.device_type == (is_gpu ? DLPACK_ROCM : DLPACK_CPU));
  CHECK(t->tensor.device.device_id == 0);
  OK(roclua_array_from_dlpack(t, NULL, &again));
  give(L, again, "e");
  roclua_array_release(again);
  run(L,
      "assert(e.pointer == d.pointer and (e.device == nil) == (kind ~= 'hsa'))\n"
      "double:forall(100)(e) sync() assert(d[100] == 8 and e[1] == 8) e = nil collect()");
  roclua_stream *stream, *wrong;
  lua_getglobal(L, "s");
  OK(roclua_stream_get(L, -1, &stream));
  run(L, "slow[{100, 1, other}](d, 300000)");
  OK(roclua_array_to_dlpack(array, stream, &t)); /* what s does next comes later */
  OK(roclua_array_from_dlpack(t, stream, &again));
  give(L, again, "e");
  run(L, "double[{100, 1, s}](e)");
  if (is_gpu) run(L, "assert(e[100] == 18, e[100])"); /* waits for it, as for its own work */
  run(L, "sync() assert(e[100] == 18) e = nil collect()");
  roclua_array_release(again);
  if (is_gpu) {
    OK(roclua_stream_create("cpu", &wrong));
    CHECK(roclua_array_to_dlpack(array, wrong, &t) == ROCLUA_INVALID);
    CHECK(strstr(roclua_error(), "another device"));
    OK(roclua_array_to_dlpack(array, NULL, &t));
    roclua_array *none = NULL;
    CHECK(roclua_array_from_dlpack(t, wrong, &none) == ROCLUA_INVALID && !none);
    t->deleter(t); /* it stayed ours */
    roclua_stream_release(wrong);
  }
  roclua_stream_release(stream);
  roclua_array_release(array);
  close_state(L);
}

/* Read-only memory stays as it is, whatever call would write it. */
static void test_read_only(void) {
  static producer p;
  lua_State *L = open_state();
  produce(&p);
  p.managed.flags = DLPACK_READ_ONLY;
  roclua_array *array = import(&p);
  give(L, array, "a");
  run(L,
      "local b, what = roc.zeros(100, 'float32'), 'read-only'\n"
      "add:forall(100)(a, b) assert(b[100] == 99 and a:copy()[3] == 2)\n"
      "double:forall(100)(roc.In(a)) assert(a[3] == 2)\n"
      "fails(what, function() a[1] = 5 end) fails(what, a.set, a, 5, 1)\n"
      "fails(what, a.fill, a, 1) fails(what, a:slice(1, 3, 5).fill, a, 1)\n"
      "fails(\"kernel '\", double:forall(100), a) fails(what, double:forall(100), a)\n"
      "fails(what, add:forall(100), b, roc.InOut(a))\n"
      "fails(what, roc.smart_array, a)\n"
      "local d = roc.to_device(a) fails(what, d.copy_to_host, d, a)\n"
      "fails(what, d.copy_to_host, d, a, roc.stream()) assert(d[4] == 3)\n"
      "local r = roc.register(a) fails(what, double:forall(100), a) add:forall(100)(a, b)\n"
      "assert(b[100] == 198) assert(a[2] == 1)");
  roclua_view view = {.size = sizeof view};
  CHECK(roclua_array_map(array, ROCLUA_WRITE, NULL, &view) == ROCLUA_INVALID);
  OK(roclua_array_map(array, ROCLUA_READ, NULL, &view));
  OK(roclua_array_unmap(&view));
  versioned *t;
  unversioned *old;
  OK(roclua_array_to_dlpack(array, NULL, &t));
  CHECK(t->flags == DLPACK_READ_ONLY);
  t->deleter(t);
  CHECK(roclua_array_to_dlpack_unversioned(array, NULL, &old) == ROCLUA_UNSUPPORTED);
  CHECK(strstr(roclua_error(), "use roclua_array_to_dlpack"));
  roclua_array_release(array);
  for (int i = 0; i < COUNT; i++) CHECK(p.data[i] == (float)i);
  int64_t shape[] = {COUNT};
  roclua_memory memory = {.size = sizeof memory,
                          .dtype = "float32",
                          .rank = 1,
                          .shape = shape,
                          .data = p.data,
                          .read_only = 1};
  OK(roclua_array_wrap(&memory, &array));
  give(L, array, "a");
  roclua_array_release(array);
  run(L, "fails('read-only', a.fill, a, 1) a = nil collect()");
  CHECK(p.deletions == 1);
  close_state(L);
}

static void refuse(producer *p, int code, const char *why) {
  roclua_array *array = NULL;
  int got = roclua_array_from_dlpack(&p->managed, NULL, &array);
  if (got != code || array || !strstr(roclua_error(), why) || p->deletions > 0) {
    fprintf(stderr, "%d with '%s' expected, got %d: %s\n", code, why, got, roclua_error());
    exit(1);
  }
  produce(p);
}

static void test_refused(void) {
  static producer p;
  produce(&p);
  p.managed.version.major = 2;
  refuse(&p, ROCLUA_UNSUPPORTED, "DLPack 2.7");
  p.managed.tensor.dtype.lanes = 4;
  refuse(&p, ROCLUA_UNSUPPORTED, "4 lanes");
  p.managed.tensor.dtype.code = 5; /* complex */
  refuse(&p, ROCLUA_UNSUPPORTED, "code 5");
  p.managed.tensor.dtype.bits = 4;
  refuse(&p, ROCLUA_UNSUPPORTED, "4 bits");
  p.managed.tensor.device.device_type = 8; /* Metal */
  refuse(&p, ROCLUA_UNSUPPORTED, "device type 8");
  p.managed.tensor.device.device_type = DLPACK_CUDA;
  p.managed.tensor.device.device_id = 77;
  refuse(&p, ROCLUA_UNAVAILABLE, "");
  p.managed.tensor.byte_offset = 2;
  refuse(&p, ROCLUA_INVALID, "roclua_array_from_dlpack: data is not aligned");
  p.managed.tensor.ndim = 9;
  refuse(&p, ROCLUA_INVALID, "rank of 1 to 8");
  p.managed.tensor.ndim = -1;
  refuse(&p, ROCLUA_INVALID, "rank of 1 to 8");
  p.strides[0] = 0;
  refuse(&p, ROCLUA_INVALID, "elements share memory");
  p.managed.tensor.data = NULL;
  refuse(&p, ROCLUA_INVALID, "data is NULL");
}

/* An allocation after the other fails: the deleter is called once when the call took the tensor,
 * else never, and no array is lost. */
static void test_no_memory(void) {
  lua_State *L = open_state();
  run(L,
      "local t = require 'roc.core'.testing fail_alloc = t.fail_alloc live = t.live_blocks\n"
      "d = roc.to_device(roc.zeros(100, 'float32')) s = roc.stream() double:forall(100)(d)\n"
      "sync() collect() before = live()");
  roclua_array *array = take(L, "d"), *again;
  roclua_stream *stream;
  lua_getglobal(L, "s");
  OK(roclua_stream_get(L, -1, &stream));
  int made = 0;
  for (int n = 1; n <= 30; n++) {
    static producer p;
    versioned *t = NULL;
    roclua_array *own = NULL;
    produce(&p);
    roc_alloc_fail_at((uint64_t)n);
    int code = roclua_array_from_dlpack(&p.managed, NULL, &own);
    int sent = roclua_array_to_dlpack(array, stream, &t);
    int got = sent == ROCLUA_OK ? roclua_array_from_dlpack(t, stream, &again) : ROCLUA_OOM;
    roc_alloc_fail_at(0);
    CHECK(code == ROCLUA_OK ? own != NULL : code == ROCLUA_OOM && !own);
    CHECK(sent == ROCLUA_OK || (sent == ROCLUA_OOM && !t));
    CHECK(got == ROCLUA_OK || got == ROCLUA_OOM);
    CHECK(p.deletions == 0);
    roclua_array_release(own);
    CHECK(p.deletions == (code == ROCLUA_OK));
    if (got == ROCLUA_OK) {
      roclua_array_release(again);
    } else if (t) {
      t->deleter(t);
    }
    made += code == ROCLUA_OK && got == ROCLUA_OK;
    run(L, "sync()"); /* the device's signals go back to their pool */
  }
  CHECK(made > 0 && made < 30);
  roclua_array_release(array);
  roclua_stream_release(stream);
  run(L, "sync() collect() assert(live() <= before + 10, live() - before)");
  close_state(L);
}

static void *exchange_often(void *shared) {
  for (int n = 0; n < 200; n++) {
    versioned *t;
    roclua_array *again;
    OK(roclua_array_to_dlpack(shared, NULL, &t));
    OK(roclua_array_from_dlpack(t, NULL, &again));
    roclua_array_release(again);
  }
  return NULL;
}

static void test_threads(void) {
  lua_State *L = open_state();
  run(L, "a = roc.full(100, 3, 'float32')");
  roclua_array *shared = take(L, "a");
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, exchange_often, shared) == 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  run(L, "assert(a[100] == 3)");
  roclua_array_release(shared);
  close_state(L);
}

static const named_test tests[] = {
    {"import", test_import},       {"shapes", test_shapes},   {"dtypes", test_dtypes},
    {"export", test_export},       {"waits", test_waits},     {"device", test_device},
    {"read_only", test_read_only}, {"refused", test_refused}, {"no_memory", test_no_memory},
    {"threads", test_threads},
};

int main(int argc, char **argv) {
  return run_named(tests, sizeof tests / sizeof *tests, argc, argv);
}
