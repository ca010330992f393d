/* The peer of the hsa rows of bench/launch.lua: what it costs in C to write a packet and ring the
 * doorbell.
 *
 *   hsa_launch OBJECT SYMBOL BYTES    prints nanoseconds a launch: the least of many rounds
 *
 * OBJECT is a code object of the first GPU, SYMBOL its kernel, BYTES what is copied as arguments.
 * Built by the bench and linked with ROCR; runs on the software GPU too. */
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 100, LAUNCHES = 2000, QUEUE = 4096, SLOT = 512 };

static hsa_agent_t gpu, cpu;
static hsa_amd_memory_pool_t kernarg_pool;

static void check(hsa_status_t status, const char *what) {
  if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK) return;
  fprintf(stderr, "%s: HSA status 0x%x\n", what, (unsigned)status);
  exit(EXIT_FAILURE);
}

static hsa_status_t take_agent(hsa_agent_t agent, void *unused) {
  (void)unused;
  hsa_device_type_t type;
  check(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type), "hsa_agent_get_info");
  if (type == HSA_DEVICE_TYPE_GPU && !gpu.handle) gpu = agent;
  if (type == HSA_DEVICE_TYPE_CPU && !cpu.handle) cpu = agent;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t take_pool(hsa_amd_memory_pool_t pool, void *unused) {
  (void)unused;
  uint32_t flags = 0;
  hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
  if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) kernarg_pool = pool;
  return HSA_STATUS_SUCCESS;
}

static uint64_t load_kernel(const char *path, const char *symbol) {
  char name[512];
  uint64_t object;
  hsa_executable_t executable;
  hsa_code_object_reader_t reader;
  hsa_executable_symbol_t found;
  FILE *file = fopen(path, "rb");
  if (!file) exit(EXIT_FAILURE);
  static unsigned char bytes[1 << 20];
  size_t nbytes = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  snprintf(name, sizeof name, "%s.kd", symbol);
  check(hsa_code_object_reader_create_from_memory(bytes, nbytes, &reader), "reader");
  check(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL,
                                  &executable),
        "executable");
  check(hsa_executable_load_agent_code_object(executable, gpu, reader, NULL, NULL), "load");
  check(hsa_executable_freeze(executable, NULL), "freeze");
  check(hsa_executable_get_symbol_by_name(executable, name, &gpu, &found), "symbol");
  check(hsa_executable_symbol_get_info(found, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object),
        "kernel");
  return object;
}

static void launch(hsa_queue_t *queue, uint64_t kernel, char *kernargs, const void *args,
                   size_t nbytes, hsa_signal_t done) {
  uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) continue;
  char *block = kernargs + index % QUEUE * SLOT;
  memcpy(block, args, nbytes);
  hsa_kernel_dispatch_packet_t *packet =
      (hsa_kernel_dispatch_packet_t *)queue->base_address + index % QUEUE;
  packet->workgroup_size_x = 64;
  packet->workgroup_size_y = packet->workgroup_size_z = 1;
  packet->grid_size_x = 64;
  packet->grid_size_y = packet->grid_size_z = 1;
  packet->private_segment_size = packet->group_segment_size = 0;
  packet->kernel_object = kernel;
  packet->kernarg_address = block;
  packet->completion_signal = done;
  uint32_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH | 1 << HSA_PACKET_HEADER_BARRIER |
                    HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                    HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  __atomic_store_n((uint32_t *)packet, header | 1u << 16, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int main(int argc, char **argv) {
  if (argc != 4) return EXIT_FAILURE;
  hsa_queue_t *queue;
  hsa_signal_t done;
  void *kernargs;
  static char args[SLOT];
  size_t nbytes = strtoul(argv[3], NULL, 10);
  if (nbytes > SLOT) return EXIT_FAILURE;
  check(hsa_init(), "hsa_init");
  check(hsa_iterate_agents(take_agent, NULL), "hsa_iterate_agents");
  check(hsa_amd_agent_iterate_memory_pools(cpu, take_pool, NULL), "pools");
  check(hsa_queue_create(gpu, QUEUE, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX,
                         &queue),
        "hsa_queue_create");
  check(hsa_signal_create(0, 0, NULL, &done), "hsa_signal_create");
  check(hsa_amd_memory_pool_allocate(kernarg_pool, (size_t)QUEUE * SLOT, 0, &kernargs), "memory");
  check(hsa_amd_agents_allow_access(1, &gpu, NULL, kernargs), "access");
  uint64_t kernel = load_kernel(argv[1], argv[2]), least = UINT64_MAX;
  for (int round = 0; round < ROUNDS; round++) {
    hsa_signal_store_relaxed(done, LAUNCHES);
    uint64_t begin = now_ns();
    for (int i = 0; i < LAUNCHES; i++) launch(queue, kernel, kernargs, args, nbytes, done);
    uint64_t took = now_ns() - begin;
    if (took < least) least = took;
    hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
  }
  printf("%.1f\n", (double)least / LAUNCHES);
  return EXIT_SUCCESS;
}
