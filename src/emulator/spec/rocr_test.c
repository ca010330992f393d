/* The emulated GPU as Debian's ROCR sees it: memory, copies, signals, queues, kernels and errors.
 *
 * Linked to the emulator and to ROCR, which takes it for its driver.  Kernels are rocluac's, in the
 * folder that ROCR_TEST_OBJECTS names.  Usage: rocr_test TEST; exit status 0 and "ok TEST", or a
 * message and 1.  Without a name the tests are listed. */
#include <fcntl.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "emulator/include/emulator.h"

#define CHECK(condition)                                                                  \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      fprintf(stderr, "%s:%d: this does not hold: %s\n", __FILE__, __LINE__, #condition); \
      _exit(1);                                                                           \
    }                                                                                     \
  } while (0)
#define OK(call)                                                                          \
  do {                                                                                    \
    hsa_status_t status_ = (call);                                                        \
    if (status_ != HSA_STATUS_SUCCESS) {                                                  \
      fprintf(stderr, "%s:%d: %s: 0x%x\n", __FILE__, __LINE__, #call, (unsigned)status_); \
      _exit(1);                                                                           \
    }                                                                                     \
  } while (0)

enum { MAX_GPUS = 8, RING = 256 };

static hsa_agent_t cpu, gpus[MAX_GPUS];
static int gpu_count;
static hsa_amd_memory_pool_t vram, fine, kernargs;

/* ---- set-up --------------------------------------------------------------------------------- */

static hsa_status_t note_agent(hsa_agent_t agent, void *unused) {
  (void)unused;
  hsa_device_type_t type;
  OK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  if (type == HSA_DEVICE_TYPE_CPU) cpu = agent;
  if (type == HSA_DEVICE_TYPE_GPU) gpus[gpu_count++] = agent;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t note_pool(hsa_amd_memory_pool_t pool, void *on_gpu) {
  hsa_amd_segment_t segment;
  uint32_t flags = 0;
  OK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
  if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
  OK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
  if (on_gpu) {
    vram = pool;
  } else if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) {
    kernargs = pool;
  } else if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) {
    fine = pool;
  }
  return HSA_STATUS_SUCCESS;
}

static void start(void) {
  gpu_count = 0;
  OK(hsa_init());
  OK(hsa_iterate_agents(note_agent, NULL));
  CHECK(gpu_count > 0);
  OK(hsa_amd_agent_iterate_memory_pools(cpu, note_pool, NULL));
  OK(hsa_amd_agent_iterate_memory_pools(gpus[0], note_pool, gpus));
}

static unsigned long long held_memory(void) {
  return roc_emulator_live();
}

static void finish(void) {
  OK(hsa_shut_down());
}

static const char *fault_text(void) {
  static char text[512];
  roc_emulator_fault(text, sizeof text);
  return text;
}

static void sleep_ms(long ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, NULL);
}

static hsa_signal_t make_signal(hsa_signal_value_t value) {
  hsa_signal_t signal;
  OK(hsa_signal_create(value, 0, NULL, &signal));
  return signal;
}

/* Waits, at most 20 s, until the signal is 0 or less. */
static void wait_zero(hsa_signal_t signal) {
  uint64_t hz, begin, now;
  OK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &hz));
  OK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &begin));
  do {
    hsa_signal_value_t value =
        hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, hz, HSA_WAIT_STATE_BLOCKED);
    if (value < 1) return;
    OK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &now));
  } while (now - begin < 20 * hz);
  CHECK(!"the signal came within 20 s");
}

static void *alloc_on(hsa_amd_memory_pool_t pool, size_t nbytes) {
  void *memory;
  OK(hsa_amd_memory_pool_allocate(pool, nbytes, 0, &memory));
  OK(hsa_amd_agents_allow_access((uint32_t)gpu_count, gpus, NULL, memory));
  return memory;
}

/* ---- queues and packets --------------------------------------------------------------------- */

static hsa_queue_t *make_queue(uint32_t size, void (*callback)(hsa_status_t, hsa_queue_t *, void *),
                               void *data) {
  hsa_queue_t *queue;
  OK(hsa_queue_create(gpus[0], size, HSA_QUEUE_TYPE_MULTI, callback, data, UINT32_MAX, UINT32_MAX,
                      &queue));
  return queue;
}

/* Writes a packet, its header last, and rings. */
static void submit(hsa_queue_t *queue, const void *packet, uint16_t header, uint16_t setup) {
  uint64_t index = hsa_queue_add_write_index_scacq_screl(queue, 1);
  while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) {
  }
  char *slot = (char *)queue->base_address + 64 * (index & (queue->size - 1));
  memcpy(slot + 4, (const char *)packet + 4, 60);
  atomic_store_explicit((_Atomic uint32_t *)(void *)slot, header | (uint32_t)setup << 16,
                        memory_order_release);
  hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

static uint16_t header_of(hsa_packet_type_t type) {
  return (uint16_t)(type << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER |
                    HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                    HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
}

static void submit_barrier(hsa_queue_t *queue, bool is_or, int count, const hsa_signal_t *on,
                           hsa_signal_t completion) {
  hsa_barrier_and_packet_t packet = {0};
  for (int i = 0; i < count; i++) packet.dep_signal[i] = on[i];
  packet.completion_signal = completion;
  submit(queue, &packet,
         header_of(is_or ? HSA_PACKET_TYPE_BARRIER_OR : HSA_PACKET_TYPE_BARRIER_AND), 0);
}

/* What rocluac's kernels take: one array, then the addresses of two buffers they do not use. */
typedef struct arguments {
  void *data;
  uint64_t count, fault, print;
} arguments;

typedef struct kernel {
  hsa_executable_t executable;
  hsa_code_object_reader_t reader;
  uint64_t object;
  uint32_t kernarg_bytes, group_bytes, private_bytes;
  int file;
} kernel;

/* One of the kernels in the code object that $ROCR_TEST_OBJECTS has for the GPU. */
static kernel load_kernel_on(hsa_agent_t gpu, const char *name) {
  kernel loaded;
  char arch[64], path[512], symbol_name[64];
  const char *folder = getenv("ROCR_TEST_OBJECTS");
  CHECK(folder != NULL);
  OK(hsa_agent_get_info(gpu, HSA_AGENT_INFO_NAME, arch));
  snprintf(path, sizeof path, "%s/kernels-%s.hsaco", folder, arch);
  loaded.file = open(path, O_RDONLY | O_CLOEXEC);
  CHECK(loaded.file >= 0);
  OK(hsa_code_object_reader_create_from_file(loaded.file, &loaded.reader));
  OK(hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR, NULL,
                               &loaded.executable));
  OK(hsa_executable_load_agent_code_object(loaded.executable, gpu, loaded.reader, NULL, NULL));
  OK(hsa_executable_freeze(loaded.executable, NULL));
  hsa_executable_symbol_t symbol = {0};
  snprintf(symbol_name, sizeof symbol_name, "roc_%s.kd", name);
  OK(hsa_executable_get_symbol_by_name(loaded.executable, symbol_name, &gpu, &symbol));
#define SYMBOL_INFO(what, out) OK(hsa_executable_symbol_get_info(symbol, what, out))
  SYMBOL_INFO(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &loaded.object);
  SYMBOL_INFO(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &loaded.kernarg_bytes);
  SYMBOL_INFO(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &loaded.group_bytes);
  SYMBOL_INFO(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &loaded.private_bytes);
#undef SYMBOL_INFO
  CHECK(loaded.kernarg_bytes >= sizeof(arguments) && loaded.kernarg_bytes <= 512);
  return loaded;
}

static kernel load_kernel(const char *name) {
  return load_kernel_on(gpus[0], name);
}

static void unload_kernel(kernel *loaded) {
  OK(hsa_executable_destroy(loaded->executable));
  OK(hsa_code_object_reader_destroy(loaded->reader));
  close(loaded->file);
}

/* A kernarg block with the arguments; pool memory. */
static void *make_arguments(void *data, uint64_t count) {
  char *block = alloc_on(kernargs, 4096);
  memset(block, 0, 512);
  *(arguments *)(void *)block = (arguments){data, count, 0, 0};
  return block;
}

static void dispatch(hsa_queue_t *queue, const kernel *loaded, void *block, uint32_t grid,
                     uint16_t local, hsa_signal_t completion) {
  hsa_kernel_dispatch_packet_t packet = {.workgroup_size_x = local,
                                         .workgroup_size_y = 1,
                                         .workgroup_size_z = 1,
                                         .grid_size_x = grid,
                                         .grid_size_y = 1,
                                         .grid_size_z = 1,
                                         .private_segment_size = loaded->private_bytes,
                                         .group_segment_size = loaded->group_bytes,
                                         .kernel_object = loaded->object,
                                         .kernarg_address = block,
                                         .completion_signal = completion};
  submit(queue, &packet, header_of(HSA_PACKET_TYPE_KERNEL_DISPATCH), 1);
}

/* ---- tests: memory and copies --------------------------------------------------------------- */

static void test_agents(void) {
  start();
  char name[64] = "";
  OK(hsa_agent_get_info(gpus[0], HSA_AGENT_INFO_NAME, name));
  CHECK(strncmp(name, "gfx", 3) == 0);
  uint32_t wave = 0, caches[4] = {0}, units = 0;
  OK(hsa_agent_get_info(gpus[0], HSA_AGENT_INFO_WAVEFRONT_SIZE, &wave));
  CHECK(wave == 32 || wave == 64);
  OK(hsa_agent_get_info(gpus[0], HSA_AGENT_INFO_CACHE_SIZE, caches));
  CHECK(caches[0] > 0);
  OK(hsa_agent_get_info(cpu, HSA_AGENT_INFO_CACHE_SIZE, caches));
  OK(hsa_agent_get_info(gpus[0], (hsa_agent_info_t)HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, &units));
  CHECK(units > 0);
  size_t nbytes = 0;
  OK(hsa_amd_memory_pool_get_info(vram, HSA_AMD_MEMORY_POOL_INFO_SIZE, &nbytes));
  CHECK(nbytes >= 64u << 20);
  CHECK(fine.handle != 0 && kernargs.handle != 0);
  finish();
}

static void test_memory(void) {
  start();
  const hsa_amd_memory_pool_t pools[] = {vram, fine, kernargs};
  void *blocks[3][40];
  for (int p = 0; p < 3; p++) {
    for (int i = 0; i < 40; i++) {
      size_t nbytes = (size_t)4096 << i % 12;
      char *block = blocks[p][i] = alloc_on(pools[p], nbytes);
      block[0] = block[nbytes - 1] = (char)i;
      hsa_amd_pointer_info_t info = {.size = sizeof info};
      uint32_t naccess = 0;
      hsa_agent_t *access = NULL;
      OK(hsa_amd_pointer_info(block + nbytes / 2, &info, malloc, &naccess, &access));
      CHECK(info.type == HSA_EXT_POINTER_TYPE_HSA && naccess >= 1);
      CHECK((char *)info.agentBaseAddress <= block && info.sizeInBytes >= nbytes);
      CHECK(info.agentOwner.handle == (p == 0 ? gpus[0] : cpu).handle);
      free(access);
    }
  }
  for (int p = 0; p < 3; p++) {
    for (int i = 0; i < 40; i++) OK(hsa_amd_memory_pool_free(blocks[p][(i * 7) % 40]));
  }
  size_t nbytes = 0;
  OK(hsa_amd_memory_pool_get_info(vram, HSA_AMD_MEMORY_POOL_INFO_SIZE, &nbytes));
  void *most, *more;
  OK(hsa_amd_memory_pool_allocate(vram, nbytes - (64u << 20), 0, &most));
  CHECK(hsa_amd_memory_pool_allocate(vram, 128u << 20, 0, &more) != HSA_STATUS_SUCCESS);
  OK(hsa_amd_memory_pool_free(most));
  finish();
  CHECK(held_memory() == 0);
}

static void test_lock(void) {
  start();
  char *memory = malloc(1 << 20);
  CHECK(memory != NULL);
  for (int round = 0; round < 3; round++) {
    void *once, *again, *inside;
    OK(hsa_amd_memory_lock(memory + 13, 100001, gpus, gpu_count, &once));
    OK(hsa_amd_memory_lock(memory + 13, 100001, gpus, gpu_count, &again));
    OK(hsa_amd_memory_lock(memory + 5000, 77, gpus, gpu_count, &inside));
    CHECK(once == memory + 13 && again == once && inside == memory + 5000);
    hsa_amd_pointer_info_t info = {.size = sizeof info};
    OK(hsa_amd_pointer_info(memory + 90000, &info, NULL, NULL, NULL));
    CHECK(info.type == HSA_EXT_POINTER_TYPE_LOCKED && info.hostBaseAddress == memory + 13);
    OK(hsa_amd_memory_unlock(memory + 13));
    /* still locked once: the copy engine can reach it */
    char *target = alloc_on(fine, 4096);
    memset(memory + 70000, 40 + round, 4096);
    hsa_signal_t done = make_signal(1);
    OK(hsa_amd_memory_async_copy(target, gpus[0], memory + 70000, cpu, 4096, 0, NULL, done));
    wait_zero(done);
    CHECK(target[0] == 40 + round && target[4095] == 40 + round);
    OK(hsa_signal_destroy(done));
    OK(hsa_amd_memory_pool_free(target));
    OK(hsa_amd_memory_unlock(memory + 5000));
    OK(hsa_amd_memory_unlock(memory + 13));
  }
  free(memory);
  finish();
  CHECK(held_memory() == 0);
}

static void fill_pattern(uint32_t *words, size_t count, uint32_t seed) {
  for (size_t i = 0; i < count; i++) words[i] = (uint32_t)i * 2654435761u + seed;
}

/* Host to device, device to device, device to host, each waiting for the one before. */
static void test_copies(void) {
  start();
  enum { COUNT = 3 << 20 };
  size_t nbytes = COUNT * sizeof(uint32_t);
  uint32_t *from = alloc_on(fine, nbytes), *to = alloc_on(fine, nbytes);
  uint32_t *first = alloc_on(vram, nbytes), *second = alloc_on(vram, nbytes);
  OK(hsa_amd_profiling_async_copy_enable(true));
  for (uint32_t round = 0; round < 3; round++) {
    fill_pattern(from, COUNT, round);
    memset(to, 0, nbytes);
    hsa_signal_t up = make_signal(1), across = make_signal(1), down = make_signal(1);
    hsa_signal_t gate = make_signal(1);
    OK(hsa_amd_memory_async_copy(first, gpus[0], from, cpu, nbytes, 1, &gate, up));
    OK(hsa_amd_memory_async_copy(second, gpus[0], first, gpus[0], nbytes, 1, &up, across));
    OK(hsa_amd_memory_async_copy(to, cpu, second, gpus[0], nbytes, 1, &across, down));
    sleep_ms(5);
    CHECK(hsa_signal_load_scacquire(down) == 1 && hsa_signal_load_scacquire(up) == 1);
    hsa_signal_store_screlease(gate, 0);
    wait_zero(down);
    CHECK(memcmp(from, to, nbytes) == 0);
    hsa_amd_profiling_async_copy_time_t time = {0};
    OK(hsa_amd_profiling_get_async_copy_time(up, &time));
    CHECK(time.end >= time.start);
    OK(hsa_signal_destroy(up));
    OK(hsa_signal_destroy(across));
    OK(hsa_signal_destroy(down));
    OK(hsa_signal_destroy(gate));
  }
  memset(to, 0, nbytes); /* the waiting calls, with memory that is not locked */
  uint32_t *plain = malloc(nbytes);
  CHECK(plain != NULL);
  fill_pattern(plain, COUNT, 99);
  OK(hsa_memory_copy(first, plain, nbytes));
  memset(plain, 0, nbytes);
  OK(hsa_memory_copy(plain, first, nbytes));
  fill_pattern(to, COUNT, 99);
  CHECK(memcmp(plain, to, nbytes) == 0);
  free(plain);
  OK(hsa_amd_memory_pool_free(from));
  OK(hsa_amd_memory_pool_free(to));
  OK(hsa_amd_memory_pool_free(first));
  OK(hsa_amd_memory_pool_free(second));
  finish();
  CHECK(held_memory() == 0);
}

static void test_rect(void) {
  start();
  enum { SIDE = 64, DEPTH = 4 };
  size_t nbytes = SIDE * SIDE * DEPTH;
  unsigned char *from = alloc_on(fine, nbytes), *to = alloc_on(vram, nbytes);
  for (size_t i = 0; i < nbytes; i++) from[i] = (unsigned char)(i * 31 + i / 255);
  memset(to, 0, nbytes);
  hsa_pitched_ptr_t source = {from, SIDE, SIDE * SIDE}, target = {to, SIDE, SIDE * SIDE};
  hsa_dim3_t at = {8, 3, 1}, into = {4, 10, 0}, range = {24, 17, 3};
  hsa_signal_t done = make_signal(1);
  OK(hsa_amd_memory_async_copy_rect(&target, &into, &source, &at, &range, gpus[0], hsaHostToDevice,
                                    0, NULL, done));
  wait_zero(done);
  for (unsigned z = 0; z < DEPTH; z++) {
    for (unsigned y = 0; y < SIDE; y++) {
      for (unsigned x = 0; x < SIDE; x++) {
        bool is_in = x >= 4 && x < 28 && y >= 10 && y < 27 && z < 3;
        unsigned char expected =
            is_in ? from[((z + 1) * SIDE + (y - 10 + 3)) * SIDE + x - 4 + 8] : 0;
        CHECK(to[(z * SIDE + y) * SIDE + x] == expected);
      }
    }
  }
  OK(hsa_signal_destroy(done));
  finish();
}

static void test_fill(void) {
  start();
  uint32_t *memory = alloc_on(vram, 1 << 20);
  memset(memory, 0, 1 << 20);
  OK(hsa_amd_memory_fill(memory + 3, 0xabcd1234, 100001));
  CHECK(memory[2] == 0 && memory[3 + 100001] == 0);
  for (int i = 0; i < 100001; i++) CHECK(memory[3 + i] == 0xabcd1234);
  OK(hsa_amd_memory_pool_free(memory));
  finish();
}

/* Copies of several threads at once. */
static void *copy_often(void *unused) {
  (void)unused;
  enum { COUNT = 100000 };
  size_t nbytes = COUNT * sizeof(uint32_t);
  uint32_t *from = alloc_on(fine, nbytes), *to = alloc_on(fine, nbytes);
  uint32_t *device = alloc_on(vram, nbytes);
  for (uint32_t round = 0; round < 30; round++) {
    fill_pattern(from, COUNT, round);
    hsa_signal_t up = make_signal(1), down = make_signal(1);
    OK(hsa_amd_memory_async_copy(device, gpus[0], from, cpu, nbytes, 0, NULL, up));
    OK(hsa_amd_memory_async_copy(to, cpu, device, gpus[0], nbytes, 1, &up, down));
    wait_zero(down);
    CHECK(memcmp(from, to, nbytes) == 0);
    OK(hsa_signal_destroy(up));
    OK(hsa_signal_destroy(down));
  }
  OK(hsa_amd_memory_pool_free(from));
  OK(hsa_amd_memory_pool_free(to));
  OK(hsa_amd_memory_pool_free(device));
  return NULL;
}

static void test_threads(void) {
  start();
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, copy_often, NULL) == 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  finish();
  CHECK(held_memory() == 0);
}

/* ---- tests: signals and queues -------------------------------------------------------------- */

static bool count_down(hsa_signal_value_t value, void *data) {
  (void)value;
  atomic_fetch_add((_Atomic int *)data, 1);
  return false;
}

/* A thread that sleeps on a signal, and a handler of the runtime's own thread. */
static void test_signals(void) {
  start();
  hsa_queue_t *queue = make_queue(RING, NULL, NULL);
  _Atomic int handled = 0;
  for (int i = 0; i < 200; i++) {
    hsa_signal_t done = make_signal(1), seen = make_signal(1);
    OK(hsa_amd_signal_async_handler(seen, HSA_SIGNAL_CONDITION_LT, 1, count_down, &handled));
    submit_barrier(queue, false, 0, NULL, done);
    submit_barrier(queue, false, 1, &done, seen);
    wait_zero(seen);
    for (int waits = 0; atomic_load(&handled) <= i; waits++) {
      CHECK(waits < 20000);
      sleep_ms(1);
    }
    OK(hsa_signal_destroy(done));
    OK(hsa_signal_destroy(seen));
  }
  OK(hsa_queue_destroy(queue));
  finish();
  CHECK(held_memory() == 0);
}

static void test_barriers(void) {
  start();
  hsa_queue_t *queue = make_queue(RING, NULL, NULL), *other = make_queue(RING, NULL, NULL);
  hsa_signal_t a = make_signal(1), b = make_signal(1), done = make_signal(1), any = make_signal(1);
  const hsa_signal_t both[] = {a, b};
  submit_barrier(queue, false, 2, both, done);
  submit_barrier(other, true, 2, both, any);
  sleep_ms(10);
  CHECK(hsa_signal_load_scacquire(any) == 1);
  hsa_signal_store_screlease(b, 0);
  wait_zero(any);
  sleep_ms(10);
  CHECK(hsa_signal_load_scacquire(done) == 1);
  hsa_signal_store_screlease(a, 0);
  wait_zero(done);

  hsa_signal_store_screlease(done, 1); /* (a & 0xf0) >= 0x30 */
  hsa_amd_barrier_value_packet_t packet = {.signal = a,
                                           .value = 0x30,
                                           .mask = 0xf0,
                                           .cond = HSA_SIGNAL_CONDITION_GTE,
                                           .completion_signal = done};
  packet.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
  hsa_signal_store_screlease(a, 0xf2f);
  submit(queue, &packet, header_of(HSA_PACKET_TYPE_VENDOR_SPECIFIC),
         HSA_AMD_PACKET_TYPE_BARRIER_VALUE);
  sleep_ms(10);
  CHECK(hsa_signal_load_scacquire(done) == 1);
  hsa_signal_store_screlease(a, 0x30);
  wait_zero(done);
  OK(hsa_queue_destroy(queue));
  OK(hsa_queue_destroy(other));
  OK(hsa_signal_destroy(a));
  OK(hsa_signal_destroy(b));
  OK(hsa_signal_destroy(done));
  OK(hsa_signal_destroy(any));
  finish();
  CHECK(held_memory() == 0);
}

static void test_many_queues(void) {
  start();
  hsa_queue_t *queues[128];
  int count = 0;
  hsa_signal_t done = make_signal(62);
  for (; count < 62; count++) queues[count] = make_queue(64, NULL, NULL);
  for (int i = 0; i < 62; i++) submit_barrier(queues[i], false, 0, NULL, done);
  wait_zero(done);
  while (count < 128) { /* and then a clean end */
    hsa_status_t status = hsa_queue_create(gpus[0], 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL,
                                           UINT32_MAX, UINT32_MAX, &queues[count]);
    if (status != HSA_STATUS_SUCCESS) {
      CHECK(status == HSA_STATUS_ERROR_OUT_OF_RESOURCES);
      break;
    }
    count++;
  }
  CHECK(count < 128);
  while (count > 0) OK(hsa_queue_destroy(queues[--count]));
  OK(hsa_signal_destroy(done));
  finish();
  CHECK(held_memory() == 0);
}

/* All queues share one event, on which ROCR waits when it destroys a queue. */
static void test_churn(void) {
  start();
  for (int i = 0; i < 150; i++) {
    hsa_queue_t *queue = make_queue(64, NULL, NULL);
    if (i % 3 == 0) submit_barrier(queue, false, 0, NULL, (hsa_signal_t){0});
    OK(hsa_queue_destroy(queue));
  }
  finish();
  CHECK(held_memory() == 0);
}

static void test_stream(void) {
  start();
  enum { COUNT = 24000 };
  hsa_queue_t *queue = make_queue(1024, NULL, NULL);
  hsa_signal_t done = make_signal(COUNT);
  for (int i = 0; i < COUNT; i++) submit_barrier(queue, false, 0, NULL, done);
  wait_zero(done);
  CHECK(hsa_signal_load_scacquire(done) == 0);
  CHECK(hsa_queue_load_read_index_scacquire(queue) == COUNT);
  OK(hsa_queue_destroy(queue));
  OK(hsa_signal_destroy(done));
  finish();
}

static double seconds_of(struct timeval t) {
  return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/* Queues with nothing to do are looked at now and then, by a thread that sleeps in between, and
 * wake up again.  What a look costs is the machine's: the bound on the time tells sleeping from
 * polling alone. */
static void test_idle(void) {
  struct rusage before, after;
  start();
  hsa_queue_t *queues[4];
  for (int i = 0; i < 4; i++) queues[i] = make_queue(64, NULL, NULL);
  sleep_ms(250);
  getrusage(RUSAGE_SELF, &before);
  sleep_ms(2000);
  getrusage(RUSAGE_SELF, &after);
  long nsleeps = after.ru_nvcsw - before.ru_nvcsw;
  double used = seconds_of(after.ru_utime) + seconds_of(after.ru_stime) -
                seconds_of(before.ru_utime) - seconds_of(before.ru_stime);
  fprintf(stderr, "idle: %ld looks and %.3f s of a processor in 2 s\n", nsleeps, used);
  CHECK(nsleeps < 6000);
  CHECK(used < 1);
  for (int i = 0; i < 4; i++) {
    hsa_signal_t done = make_signal(1);
    submit_barrier(queues[i], false, 0, NULL, done);
    wait_zero(done);
    OK(hsa_signal_destroy(done));
    OK(hsa_queue_destroy(queues[i]));
  }
  finish();
}

static void test_reopen(void) {
  for (int i = 0; i < 4; i++) {
    start();
    OK(hsa_init()); /* nested */
    hsa_queue_t *queue = make_queue(64, NULL, NULL);
    hsa_signal_t done = make_signal(1);
    submit_barrier(queue, false, 0, NULL, done);
    wait_zero(done);
    OK(hsa_signal_destroy(done));
    OK(hsa_queue_destroy(queue));
    finish();
    finish();
    CHECK(held_memory() == 0);
  }
  start(); /* and an end without a shutdown */
  (void)make_queue(64, NULL, NULL);
}

/* The child cannot use the device, but nothing it calls waits for threads it has not. */
static void test_fork(void) {
  start();
  hsa_queue_t *queue = make_queue(64, NULL, NULL);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(20);
    void *memory;
    bool is_refused = hsa_amd_memory_pool_allocate(fine, 1 << 20, 0, &memory) != HSA_STATUS_SUCCESS;
    hsa_status_t status = hsa_queue_create(gpus[0], 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL,
                                           UINT32_MAX, UINT32_MAX, &queue);
    _exit(is_refused && status != HSA_STATUS_SUCCESS ? 0 : 1);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  hsa_signal_t done = make_signal(1);
  submit_barrier(queue, false, 0, NULL, done);
  wait_zero(done);
  OK(hsa_queue_destroy(queue));
  OK(hsa_signal_destroy(done));
  finish();
}

/* ---- tests: kernels and errors -------------------------------------------------------------- */

static void test_kernel(void) {
  start();
  enum { COUNT = 1000 };
  hsa_queue_t *queue = make_queue(RING, NULL, NULL);
  OK(hsa_amd_profiling_set_profiler_enabled(queue, 1));
  kernel add = load_kernel("add");
  float *data = alloc_on(vram, COUNT * sizeof *data);
  for (int i = 0; i < COUNT; i++) data[i] = (float)i;
  void *block = make_arguments(data, COUNT);
  for (int round = 1; round <= 5; round++) {
    hsa_signal_t done = make_signal(1);
    dispatch(queue, &add, block, COUNT, 64, done);
    wait_zero(done);
    for (int i = 0; i < COUNT; i++) CHECK(data[i] == (float)(i + round));
    hsa_amd_profiling_dispatch_time_t time = {0};
    OK(hsa_amd_profiling_get_dispatch_time(gpus[0], done, &time));
    uint64_t now;
    OK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &now));
    CHECK(time.end >= time.start && time.end <= now + 1000000 && now - time.end < 10000000000u);
    OK(hsa_signal_destroy(done));
  }
  OK(hsa_amd_memory_pool_free(block));
  OK(hsa_amd_memory_pool_free(data));
  unload_kernel(&add);
  OK(hsa_queue_destroy(queue));
  finish();
  CHECK(held_memory() == 0);
}

typedef struct error_note {
  _Atomic int status, count;
} error_note;

static void note_error(hsa_status_t status, hsa_queue_t *queue, void *data) {
  (void)queue;
  error_note *note = data;
  atomic_store(&note->status, (int)status);
  atomic_fetch_add(&note->count, 1);
}

static hsa_status_t await_error(error_note *note) {
  for (int i = 0; i < 20000 && atomic_load(&note->count) == 0; i++) sleep_ms(1);
  CHECK(atomic_load(&note->count) == 1);
  return (hsa_status_t)atomic_load(&note->status);
}

/* Each wrong packet stops its queue, with a code for ROCR and a text for us; others go on. */
static void test_errors(void) {
  start();
  static const struct {
    uint16_t type, setup, local;
    uint32_t grid, group_bytes;
    hsa_status_t expected;
    const char *text;
  } wrong[] = {
      {HSA_PACKET_TYPE_KERNEL_DISPATCH, 1, 1025, 2048, 0, HSA_STATUS_ERROR_INVALID_ARGUMENT,
       "1025"},
      {HSA_PACKET_TYPE_KERNEL_DISPATCH, 0, 64, 64, 0, HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
       "0 dimensions"},
      {HSA_PACKET_TYPE_KERNEL_DISPATCH, 1, 64, 64, 1 << 20, HSA_STATUS_ERROR_INVALID_ALLOCATION,
       "LDS"},
      {HSA_PACKET_TYPE_KERNEL_DISPATCH, 1, 64, 64, 0, HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
       "kernel object"},
      {HSA_PACKET_TYPE_AGENT_DISPATCH, 0, 0, 0, 0, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT,
       "type 4"},
      {HSA_PACKET_TYPE_VENDOR_SPECIFIC, 0x77, 0, 0, 0, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT,
       "format 119"},
  };
  hsa_queue_t *good = make_queue(64, NULL, NULL);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    error_note note = {0};
    hsa_queue_t *queue = make_queue(64, note_error, &note);
    hsa_kernel_dispatch_packet_t packet = {.workgroup_size_x = wrong[i].local,
                                           .workgroup_size_y = 1,
                                           .workgroup_size_z = 1,
                                           .grid_size_x = wrong[i].grid,
                                           .grid_size_y = 1,
                                           .grid_size_z = 1,
                                           .group_segment_size = wrong[i].group_bytes};
    submit(queue, &packet, header_of((hsa_packet_type_t)wrong[i].type), wrong[i].setup);
    hsa_status_t status = await_error(&note);
    if (status != wrong[i].expected || !strstr(fault_text(), wrong[i].text)) {
      fprintf(stderr, "case %zu: status 0x%x, text '%s'\n", i, (unsigned)status, fault_text());
      _exit(1);
    }
    hsa_signal_t done = make_signal(1);
    submit_barrier(queue, false, 0, NULL, done); /* frozen: nothing more happens */
    hsa_signal_t also = make_signal(1);
    submit_barrier(good, false, 0, NULL, also);
    wait_zero(also);
    CHECK(hsa_signal_load_scacquire(done) == 1);
    OK(hsa_queue_destroy(queue));
    OK(hsa_signal_destroy(done));
    OK(hsa_signal_destroy(also));
  }
  OK(hsa_queue_destroy(good));
  finish();
}

static _Atomic uint64_t fault_address;

static hsa_status_t note_fault(const hsa_amd_event_t *event, void *unused) {
  (void)unused;
  CHECK(event->event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT);
  CHECK(event->memory_fault.agent.handle == gpus[0].handle);
  atomic_store(&fault_address, event->memory_fault.virtual_address);
  return HSA_STATUS_SUCCESS;
}

static void test_memory_fault(void) {
  start();
  OK(hsa_amd_register_system_event_handler(note_fault, NULL));
  hsa_queue_t *queue = make_queue(RING, NULL, NULL);
  kernel add = load_kernel("add");
  uint64_t nowhere = 0x123456789000;
  void *block = make_arguments((void *)(uintptr_t)nowhere, 1000);
  hsa_signal_t done = make_signal(1);
  dispatch(queue, &add, block, 1000, 64, done);
  for (int i = 0; i < 20000 && atomic_load(&fault_address) == 0; i++) sleep_ms(1);
  CHECK(atomic_load(&fault_address) == nowhere);
  CHECK(strstr(fault_text(), "12345678") != NULL);
  CHECK(hsa_signal_load_scacquire(done) == 1);
  OK(hsa_queue_destroy(queue));
  OK(hsa_signal_destroy(done));
  unload_kernel(&add);
  OK(hsa_amd_memory_pool_free(block));
  finish();
  CHECK(held_memory() == 0);
}

/* Without interrupts ROCR has no event for it, and the queue tells of it. */
static void test_quiet_fault(void) {
  start();
  error_note note = {0};
  hsa_queue_t *queue = make_queue(RING, note_error, &note);
  kernel add = load_kernel("add");
  uint64_t nowhere = 0x123456789000;
  void *block = make_arguments((void *)(uintptr_t)nowhere, 1000);
  hsa_signal_t done = make_signal(1);
  dispatch(queue, &add, block, 1000, 64, done);
  CHECK((uint32_t)await_error(&note) == HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION);
  CHECK(strstr(fault_text(), "12345678") != NULL);
  OK(hsa_queue_destroy(queue));
  OK(hsa_signal_destroy(done));
  unload_kernel(&add);
  OK(hsa_amd_memory_pool_free(block));
  finish();
  CHECK(held_memory() == 0);
}

/* A kernel that waits for ever ends with its queue; one that waits for the host goes on. */
static void test_endless(void) {
  start();
  hsa_queue_t *queue = make_queue(RING, NULL, NULL);
  kernel spin = load_kernel("spin");
  _Atomic int64_t *flag = alloc_on(fine, 4096);
  atomic_store(flag, 0);
  void *block = make_arguments((void *)flag, 1);
  hsa_signal_t done = make_signal(1);
  dispatch(queue, &spin, block, 1, 1, done);
  sleep_ms(50);
  CHECK(hsa_signal_load_scacquire(done) == 1);
  atomic_store(flag, 1);
  wait_zero(done);
  atomic_store(flag, 0);
  hsa_signal_store_screlease(done, 1);
  dispatch(queue, &spin, block, 1, 1, done);
  sleep_ms(50);
  OK(hsa_queue_destroy(queue));
  CHECK(hsa_signal_load_scacquire(done) == 1);
  OK(hsa_signal_destroy(done));
  unload_kernel(&spin);
  OK(hsa_amd_memory_pool_free((void *)flag));
  OK(hsa_amd_memory_pool_free(block));
  finish();
  CHECK(held_memory() == 0);
}

/* Every GPU runs its own code, and copies to the next one. */
static void test_gpus(void) {
  start();
  CHECK(gpu_count == 2);
  enum { COUNT = 500 };
  for (int g = 0; g < gpu_count; g++) {
    vram.handle = 0;
    OK(hsa_amd_agent_iterate_memory_pools(gpus[g], note_pool, gpus));
    hsa_queue_t *queue;
    OK(hsa_queue_create(gpus[g], 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX,
                        &queue));
    kernel add = load_kernel_on(gpus[g], "add");
    float *data = alloc_on(vram, COUNT * sizeof *data),
          *copy = alloc_on(vram, COUNT * sizeof *data);
    for (int i = 0; i < COUNT; i++) data[i] = (float)i;
    void *block = make_arguments(data, COUNT);
    hsa_signal_t done = make_signal(1);
    dispatch(queue, &add, block, COUNT, 32, done);
    wait_zero(done);
    hsa_signal_store_screlease(done, 1);
    OK(hsa_amd_memory_async_copy(copy, gpus[1 - g], data, gpus[g], COUNT * sizeof *data, 0, NULL,
                                 done));
    wait_zero(done);
    for (int i = 0; i < COUNT; i++) CHECK(copy[i] == (float)(i + 1));
    OK(hsa_queue_destroy(queue));
    OK(hsa_signal_destroy(done));
    unload_kernel(&add);
    OK(hsa_amd_memory_pool_free(data));
    OK(hsa_amd_memory_pool_free(copy));
    OK(hsa_amd_memory_pool_free(block));
  }
  finish();
  CHECK(held_memory() == 0);
}

/* ---- all of them ---------------------------------------------------------------------------- */

static const struct {
  const char *name;
  void (*run)(void);
} tests[] = {
    {"agents", test_agents},
    {"memory", test_memory},
    {"lock", test_lock},
    {"copies", test_copies},
    {"rect", test_rect},
    {"fill", test_fill},
    {"threads", test_threads},
    {"signals", test_signals},
    {"barriers", test_barriers},
    {"many_queues", test_many_queues},
    {"churn", test_churn},
    {"stream", test_stream},
    {"idle", test_idle},
    {"reopen", test_reopen},
    {"fork", test_fork},
    {"kernel", test_kernel},
    {"errors", test_errors},
    {"memory_fault", test_memory_fault},
    {"quiet_fault", test_quiet_fault},
    {"endless", test_endless},
    {"gpus", test_gpus},
};

int main(int argc, char **argv) {
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
    if (argc < 2) {
      puts(tests[i].name);
    } else if (strcmp(argv[1], tests[i].name) == 0) {
      tests[i].run();
      printf("ok %s\n", tests[i].name);
      return 0;
    }
  }
  return argc < 2 ? 0 : 1;
}
