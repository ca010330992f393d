/* The hsa driver when a GPU is lost or a queue stops, and ROCR's word of it comes late; and between
 * the addresses that host and GPU know the same memory by.
 *
 * Usage: hsa_lost_test TEST; exit status 0 and "ok TEST", or a message and 1.  Without arguments
 * lists the tests. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "hsa_fixture.h"

/* ---- lost GPUs ----------------------------------------------------------- */

static _Atomic bool has_started; /* a copy, by one of the following */

/* Ends a test that cannot end as others do. */
static void leave(const char *test) {
  printf("ok %s\n", test);
  fflush(stdout);
  _Exit(EXIT_SUCCESS);
}

static hsa_status_t start_nothing(void *dst, hsa_agent_t dst_agent, const void *src,
                                  hsa_agent_t src_agent, size_t nbytes, uint32_t ndeps,
                                  const hsa_signal_t *deps, hsa_signal_t done) {
  (void)dst, (void)dst_agent, (void)src, (void)src_agent, (void)nbytes, (void)ndeps, (void)deps;
  (void)done;
  has_started = true;
  return HSA_STATUS_SUCCESS;
}

/* A GPU that is lost ends no copy: the one at the other end must not wait for it. */
static void test_orphan(void) {
  roc_ticket ticket = 0;
  open_devices();
  roc_hsa.hsa_amd_memory_async_copy = start_nothing;
  OK(ops->copy(gpu_streams[1], gpu_blocks[1], gpu_blocks[0], PEER_BYTES, ROC_COPY_D2D, &ticket,
               &err));
  while (!has_started) usleep(1000);
  snprintf(gpus[0]->lost_why, sizeof gpus[0]->lost_why, "the first GPU is gone");
  gpus[0]->is_lost = true;
  await(gpu_streams[1], ticket);
  CHECK(has_failed(gpu_streams[1], ticket));
  CHECK(strstr(err.message, "the first GPU is gone") && !gpus[1]->is_lost);
  leave("orphan"); /* what the first GPU has is given up */
}

static hsa_signal_t held_rectangle;

static hsa_status_t hold_rectangle(const hsa_pitched_ptr_t *dst, const hsa_dim3_t *dst_offset,
                                   const hsa_pitched_ptr_t *src, const hsa_dim3_t *src_offset,
                                   const hsa_dim3_t *range, hsa_agent_t agent,
                                   hsa_amd_copy_direction_t direction, uint32_t ndeps,
                                   const hsa_signal_t *deps, hsa_signal_t done) {
  (void)dst, (void)dst_offset, (void)src, (void)src_offset, (void)range, (void)agent;
  (void)direction, (void)ndeps, (void)deps;
  held_rectangle = done;
  has_started = true;
  return HSA_STATUS_SUCCESS;
}

/* Nor does it matter to a copy that it is no end of, whatever its signal was used for before. */
static void test_bystander(void) {
  enum { LOOKS_MS = 200 /* some times as long as a wait for a copy looks away */ };
  roc_ticket ticket = 0;
  open_devices();
  for (int i = 0; i < 3; i++) {
    OK(ops->copy(gpu_streams[1], gpu_blocks[1], gpu_blocks[0], PEER_BYTES, ROC_COPY_D2D, &ticket,
                 &err));
    await(gpu_streams[1], ticket);
  }
  snprintf(gpus[0]->lost_why, sizeof gpus[0]->lost_why, "the first GPU is gone");
  gpus[0]->is_lost = true;
  roc_hsa.hsa_amd_memory_async_copy_rect = hold_rectangle;
  roc_dev_scatter s = {
      .dst = gpu_blocks[1], .element_bytes = 8, .rank = 1, .extents = {1000}, .dst_steps = {16}};
  OK(ops->scatter(gpu_streams[1], &s, &ticket, &err));
  while (!has_started) usleep(1000);
  usleep(LOOKS_MS * 1000);
  roc_hsa.hsa_signal_store_screlease(held_rectangle, 0);
  await(gpu_streams[1], ticket);
  CHECK(!has_failed(gpu_streams[1], ticket) && !gpus[1]->is_lost);
  leave("bystander"); /* as above */
}

/* ---- faults that ROCR does not tell of ------------------------------------ */

static hsa_status_t ignore_event(const hsa_amd_event_t *event, void *ud) {
  (void)event, (void)ud;
  return HSA_STATUS_SUCCESS;
}

/* ROCR takes one handler. */
static hsa_status_t register_second(hsa_amd_system_event_callback_t callback, void *ud) {
  hsa_status_t status = real.hsa_amd_register_system_event_handler(ignore_event, NULL);
  CHECK(status == HSA_STATUS_SUCCESS);
  return real.hsa_amd_register_system_event_handler(callback, ud);
}

/* From where the GPU has no memory. */
static hsa_status_t copy_wildly(void *dst, hsa_agent_t dst_agent, const void *src,
                                hsa_agent_t src_agent, size_t nbytes, uint32_t ndeps,
                                const hsa_signal_t *deps, hsa_signal_t done) {
  (void)src;
  return real.hsa_amd_memory_async_copy(dst, dst_agent, (void *)4096, src_agent, nbytes, ndeps,
                                        deps, done);
}

/* Another part of the process has ROCR's one handler: every wait finds the fault by itself. */
static void test_deaf(void) {
  roc_ticket ticket = 0;
  bool is_done = false;
  roc_hsa.hsa_amd_register_system_event_handler = register_second;
  open_devices();
  roc_hsa.hsa_amd_memory_async_copy = copy_wildly;
  char *host = calloc(1, PEER_BYTES);
  CHECK(host);
  OK(ops->copy(gpu_streams[0], gpu_blocks[0], (roc_devptr)(uintptr_t)host, PEER_BYTES, ROC_COPY_H2D,
               &ticket, &err));
  CHECK(ops->wait(gpu_streams[0], ticket, 20000000000, &is_done, &err) == ROC_LOST);
  CHECK(strstr(err.message, "illegal access to memory at 0x1000 (nothing is mapped there)"));
  CHECK(gpus[0]->is_lost && !gpus[1]->is_lost && !gpus[2]->is_lost);
  leave("deaf"); /* what the GPU has is given up */
}

static _Atomic bool has_entered;

static hsa_status_t fill_for_ever(void *block, uint32_t word, size_t count) {
  (void)block, (void)word, (void)count;
  has_entered = true;
  while (has_entered) pause();
  return HSA_STATUS_SUCCESS;
}

/* A call of ROCR that never returns, because the GPU is lost, keeps neither waits nor the end of
 * the device waiting. */
static void test_stuck(void) {
  roc_ticket ticket, next;
  uint32_t word = 7;
  bool is_done;
  open_devices();
  roc_hsa.hsa_amd_memory_fill = fill_for_ever;
  OK(ops->fill(gpu_streams[0], gpu_blocks[0], &word, sizeof word, PEER_BYTES, &ticket, &err));
  OK(ops->fill(gpu_streams[0], gpu_blocks[0], &word, sizeof word, PEER_BYTES, &next, &err));
  while (!has_entered) usleep(1000);
  gpus[0]->is_lost = true;
  CHECK(ops->wait(gpu_streams[0], next, 20000000000, &is_done, &err) == ROC_LOST);
  for (int i = 0; i < GPUS; i++) ops->quiesce(gpus[i]);
  for (int i = 1; i < GPUS; i++) ops->free(gpus[i], gpu_blocks[i]);
  for (int i = 0; i < GPUS; i++) ops->stream_destroy(gpu_streams[i]);
  for (int i = 0; i < GPUS; i++) ops->close(gpus[i]);
  leave("stuck"); /* ROCR still runs */
}

/* ---- addresses ----------------------------------------------------------- */

static hsa_status_t move_locked(const void *ptr, hsa_amd_pointer_info_t *info,
                                void *(*alloc)(size_t), uint32_t *out_count, hsa_agent_t **agents) {
  hsa_status_t status = real.hsa_amd_pointer_info(ptr, info, alloc, out_count, agents);
  if (info->type == HSA_EXT_POINTER_TYPE_LOCKED) info->agentBaseAddress = (void *)4096;
  return status;
}

/* GPUs may know registered memory by an address that means nothing to the host. */
static void test_addresses(void) {
  enum { NBYTES = 10000 };
  open_device();
  roc_dev_stream *stream;
  roc_devptr mapped;
  roc_ticket ticket;
  char *locked = calloc(1, NBYTES), *other = calloc(1, NBYTES);
  CHECK(locked && other);
  OK(ops->stream_create(device, &stream, &err));
  OK(ops->host_register(device, locked, NBYTES, &mapped, &err));
  roc_hsa.hsa_amd_pointer_info = move_locked;
  memset(other, 1, NBYTES);
  OK(ops->copy(stream, (roc_devptr)(uintptr_t)locked, (roc_devptr)(uintptr_t)other, NBYTES,
               ROC_COPY_H2D, &ticket, &err));
  await(stream, ticket);
  CHECK(memcmp(locked, other, NBYTES) == 0);
  roc_hsa.hsa_amd_pointer_info = real.hsa_amd_pointer_info;
  ops->host_unregister(device, locked);
  ops->stream_destroy(stream);
  close_device();
  free(locked);
  free(other);
}

/* ---- queues that stop ---------------------------------------------------- */

static void (*tell_stop)(hsa_status_t, hsa_queue_t *, void *);
static void *told_queue;

static hsa_status_t note_callback(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                                  void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *ud,
                                  uint32_t private_bytes, uint32_t group_bytes,
                                  hsa_queue_t **out_queue) {
  tell_stop = callback;
  told_queue = ud;
  return real.hsa_queue_create(agent, size, type, callback, ud, private_bytes, group_bytes,
                               out_queue);
}

/* Of a lost device ROCR keeps the queues, and may tell of one after the device is closed. */
static void test_late(void) {
  roc_dev_stream *stream;
  roc_hsa.hsa_queue_create = note_callback;
  open_device();
  OK(ops->stream_create(device, &stream, &err));
  device->is_lost = true;
  ops->stream_destroy(stream);
  close_device();
  tell_stop(HSA_STATUS_ERROR_EXCEPTION, NULL, told_queue);
  tell_stop((hsa_status_t)HSA_STATUS_ERROR_MEMORY_FAULT, NULL, told_queue);
  leave("late"); /* ROCR still runs */
}

/* ---- locks --------------------------------------------------------------- */

/* The driver's own calls of it come here: see src/CMakeLists.txt. */
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);

/* A thread that asks for it halts before the n-th lock that it takes from then on. */
static _Thread_local int halts_in; /* 0: not */
static sem_t has_halted, may_go_on;

static void await_post(void *semaphore) {
  while (sem_wait(semaphore) != 0) continue;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
  if (halts_in > 0 && --halts_in == 0) {
    sem_post(&has_halted);
    await_post(&may_go_on);
  }
  return __real_pthread_mutex_lock(mutex);
}

static void *stop_slowly(void *unused) {
  (void)unused;
  halts_in = 3; /* the queue is stopped, and what was on it not yet given up */
  tell_stop(HSA_STATUS_ERROR_EXCEPTION, NULL, told_queue);
  CHECK(halts_in == 0);
  return NULL;
}

/* A thread that finds a queue stopped, and goes on only when the queue has been started over, must
 * not give up what has been queued since. */
static void test_stopped(void) {
  roc_dev_stream *stream;
  roc_ticket before, after;
  sem_t open, release; /* the first call may run or not before the queue is stopped */
  pthread_t thread;
  CHECK(sem_init(&has_halted, 0, 0) == 0 && sem_init(&may_go_on, 0, 0) == 0);
  CHECK(sem_init(&open, 0, 1) == 0 && sem_init(&release, 0, 0) == 0);
  roc_hsa.hsa_queue_create = note_callback;
  open_device();
  OK(ops->stream_create(device, &stream, &err));
  OK(ops->host_call(stream, await_post, &open, &before, &err));
  CHECK(pthread_create(&thread, NULL, stop_slowly, NULL) == 0);
  await_post(&has_halted);
  OK(ops->host_call(stream, await_post, &release, &after, &err));
  sem_post(&may_go_on);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(ops->is_done(stream, before) && !ops->is_done(stream, after));
  sem_post(&release);
  await(stream, after);
  CHECK(!has_failed(stream, after));
  ops->stream_destroy(stream);
  close_device();
}

static const struct {
  const char *name;
  void (*run)(void);
} tests[] = {{"orphan", test_orphan},
             {"bystander", test_bystander},
             {"deaf", test_deaf},
             {"stuck", test_stuck},
             {"addresses", test_addresses},
             {"late", test_late},
             {"stopped", test_stopped}};

int main(int argc, char **argv) {
  if (argc > 1) load_rocr();
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
    if (argc < 2) {
      puts(tests[i].name);
    } else if (strcmp(tests[i].name, argv[1]) == 0) {
      tests[i].run();
      printf("ok %s\n", argv[1]);
    }
  }
  return EXIT_SUCCESS;
}
