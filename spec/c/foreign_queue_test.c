/* Streams on an HSA queue that another library has made, and goes on using: this program plays it,
 * with ROCR's own functions.  For spec/c/foreign_queue_spec.lua, on the software GPU.
 *
 * Usage: foreign_queue_test TEST; exit status 0 and "ok TEST", or a message and another status. */
#include <dlfcn.h>
#include <hsa/hsa.h>
#include <lauxlib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "embed_fixture.h"
#include "testing/testing.h"

#define OK(call) CHECK((call) == ROCLUA_OK)

/* ROCR as roclua has opened it. */
#define USE(name) __typeof__(name) *use_##name = (__typeof__(name) *)dlsym(rocr, #name)

static void *rocr;

static lua_State *open_state(void) {
  lua_State *L = luaL_newstate();
  CHECK(L);
  roc_open_libraries(L);
  run(L,
      "roc = require 'roc' assert(roc.current_device().kind == 'hsa')\n"
      "a = roc.to_device(roc.full(1000, 1, 'int64'))\n"
      "double = roc.kernel 'function(a) local i = roc.get_global_id(1) a[i] = a[i] * 2 end'\n"
      "add = roc.kernel 'function(a, n) local i = roc.get_global_id(1) a[i] = a[i] + n end'\n"
      "double:forall(1000)(a) assert(a[1000] == 2)\n"
      "function sync() roc.current_device():synchronize() end");
  const char *named = getenv("ROCLUA_HSA_LIBRARY");
  rocr = dlopen(named ? named : "libhsa-runtime64.so.1", RTLD_NOW | RTLD_NOLOAD);
  CHECK(rocr);
  return L;
}

static hsa_status_t pick_gpu(hsa_agent_t agent, void *out) {
  hsa_device_type_t type;
  USE(hsa_agent_get_info);
  use_hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  if (type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
  *(hsa_agent_t *)out = agent;
  return HSA_STATUS_INFO_BREAK;
}

static hsa_queue_t *make_queue(uint32_t packets) {
  hsa_agent_t gpu = {0};
  hsa_queue_t *queue = NULL;
  USE(hsa_iterate_agents);
  USE(hsa_queue_create);
  CHECK(use_hsa_iterate_agents(pick_gpu, &gpu) == HSA_STATUS_INFO_BREAK);
  CHECK(use_hsa_queue_create(gpu, packets, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX,
                             &queue) == HSA_STATUS_SUCCESS);
  return queue;
}

static hsa_signal_t make_signal(hsa_signal_value_t value) {
  hsa_signal_t signal;
  USE(hsa_signal_create);
  CHECK(use_hsa_signal_create(value, 0, NULL, &signal) == HSA_STATUS_SUCCESS);
  return signal;
}

/* The other library's packet: waits for `after` (0: for what is before it), counts `done` down. */
static void queue_barrier(hsa_queue_t *queue, hsa_signal_t after, hsa_signal_t done) {
  USE(hsa_queue_add_write_index_scacq_screl);
  USE(hsa_queue_load_read_index_scacquire);
  USE(hsa_signal_store_screlease);
  uint64_t index = use_hsa_queue_add_write_index_scacq_screl(queue, 1);
  while (index - use_hsa_queue_load_read_index_scacquire(queue) >= queue->size) continue;
  hsa_barrier_and_packet_t *packet =
      (hsa_barrier_and_packet_t *)queue->base_address + (index & (queue->size - 1));
  memset((char *)packet + 4, 0, sizeof *packet - 4);
  packet->dep_signal[0] = after;
  packet->completion_signal = done;
  uint32_t header =
      HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER;
  __atomic_store_n((uint32_t *)packet, header, __ATOMIC_RELEASE);
  use_hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

static void await(hsa_signal_t signal) {
  USE(hsa_signal_wait_scacquire);
  use_hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                HSA_WAIT_STATE_BLOCKED);
}

static void give(lua_State *L, hsa_queue_t *queue, const char *name) {
  lua_pushlightuserdata(L, queue);
  lua_setglobal(L, "pointer");
  run(L, "made = roc.stream_from(pointer)");
  lua_getglobal(L, "made");
  lua_setglobal(L, name);
}

/* Kernels, copies, fills and events run after the other's packets before them, and before those
 * after. */
static void test_order(void) {
  lua_State *L = open_state();
  hsa_queue_t *queue = make_queue(256);
  hsa_signal_t gate = make_signal(1), passed = make_signal(1);
  USE(hsa_signal_store_screlease);
  USE(hsa_signal_load_scacquire);
  give(L, queue, "s");
  queue_barrier(queue, gate, (hsa_signal_t){0}); /* nothing goes on before the gate opens */
  run(L,
      "double[{1000, 1, s}](a) e = roc.event() e:record(s)\n"
      "b = roc.zeros(1000, 'int64') r = roc.register(b) a:copy_to_host(b, s)\n"
      "c = roc.device_array(1000, 'int64') c:fill(9, s) c:fill(8, s)\n"
      "assert(not s:query() and not e:query())");
  queue_barrier(queue, (hsa_signal_t){0}, passed);
  CHECK(use_hsa_signal_load_scacquire(passed) == 1);
  use_hsa_signal_store_screlease(gate, 0);
  await(passed); /* all of the stream's work was before it */
  run(L,
      "assert(s:query() and e:query()) assert(b[1000] == 4 and c[1000] == 8, b[1000])\n"
      "s:synchronize() assert(a[1] == 4)");
  OK(roclua_close(L));
  lua_close(L);
}

static _Atomic bool is_over;

static void *queue_often(void *queue) {
  hsa_signal_t done = make_signal(1000);
  for (int i = 0; i < 1000; i++) queue_barrier(queue, (hsa_signal_t){0}, done);
  await(done);
  atomic_store(&is_over, true);
  return NULL;
}

/* Two threads write packets into one small queue. */
static void test_producers(void) {
  lua_State *L = open_state();
  hsa_queue_t *queue = make_queue(64);
  pthread_t thread;
  give(L, queue, "s");
  CHECK(pthread_create(&thread, NULL, queue_often, queue) == 0);
  run(L,
      "for i = 1, 500 do add[{1000, 1, s}](a, i) end s:synchronize()\n"
      "assert(a[7] == 2 + 500 * 501 // 2, a[7])");
  pthread_join(thread, NULL);
  CHECK(is_over);
  OK(roclua_close(L));
  lua_close(L);
}

/* The queue outlives its streams: one after the other, and two at a time. */
static void test_again(void) {
  lua_State *L = open_state();
  USE(hsa_queue_destroy);
  for (int n = 0; n < 20; n++) {
    hsa_queue_t *queue = make_queue(128);
    roclua_stream *stream;
    OK(roclua_stream_adopt("hsa", queue, &stream));
    give(L, queue, "s");
    run(L,
        "add[{1000, 1, s}](a, 1) s:synchronize() s:close() s, made = nil, nil\n"
        "collectgarbage() collectgarbage()");
    OK(roclua_stream_synchronize(stream));
    roclua_stream_release(stream);
    hsa_signal_t done = make_signal(1);
    queue_barrier(queue, (hsa_signal_t){0}, done);
    await(done);
    CHECK(use_hsa_queue_destroy(queue) == HSA_STATUS_SUCCESS);
  }
  run(L, "assert(a[1000] == 22)");
  OK(roclua_close(L));
  lua_close(L);
}

static void test_refused(void) {
  lua_State *L = open_state();
  roclua_stream *stream = NULL;
  CHECK(roclua_stream_adopt("hsa", NULL, &stream) == ROCLUA_INVALID);
  CHECK(strstr(roclua_error(), "hsa_queue_t"));
  CHECK(roclua_stream_adopt("cpu", &stream, &stream) == ROCLUA_UNSUPPORTED);
  CHECK(roclua_stream_adopt("sim", &stream, &stream) == ROCLUA_UNSUPPORTED && !stream);
  run(L,
      "for _, pointer in ipairs { 0, -1, 8, 4096, 1 << 46 } do\n"
      "  ok, why = pcall(roc.stream_from, pointer)\n"
      "  assert(not ok and tostring(why):find 'hsa_queue_t')\n"
      "end\n"
      "ok, why = pcall(roc.stream_from, 'x') assert(not ok and why:find 'light userdata')\n"
      "ok, why = pcall(roc.stream_from, 8, 'cpu')\n"
      "assert(not ok and tostring(why):find 'no queues of other')");
  OK(roclua_close(L));
  lua_close(L);
}

static const named_test tests[] = {{"order", test_order},
                                   {"producers", test_producers},
                                   {"again", test_again},
                                   {"refused", test_refused}};

int main(int argc, char **argv) {
  return run_named(tests, sizeof tests / sizeof *tests, argc, argv);
}
