/* Runs the kernels of a code object on the first GPU, once each, for bench/amdgpu.lua.
 *
 *   run_peer OBJECT INDEX_BYTES SUFFIX < LIST
 *
 * LIST has lines of "kernel NAME", "grid X Y Z", "workgroup X Y Z", then arguments in order:
 * "buffer FILE" (its bytes are copied to the GPU, and after the launch to FILE with SUFFIX added),
 * "index N" (an integer of INDEX_BYTES), "float X"; and "run". The arguments that a compiler adds
 * for the launch's sizes, in object version 5, follow them. */
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARGS = 1024, HIDDEN = 256, BUFFERS = 16, LINE = 512 };

typedef struct buffer {
  char path[LINE];
  void *bytes;
  size_t nbytes;
} buffer;

typedef struct launch {
  char kernel[LINE];
  uint32_t grid[3], workgroup[3], nbuffers;
  size_t nargs;
  buffer buffers[BUFFERS];
  char args[ARGS];
} launch;

static hsa_agent_t gpu, cpu;
static hsa_amd_memory_pool_t kernarg_pool;
static hsa_executable_t executable;
static hsa_queue_t *queue;

static void fail(const char *what, const char *which) {
  fprintf(stderr, "run_peer: %s: %s\n", what, which);
  exit(EXIT_FAILURE);
}

static void check(hsa_status_t status, const char *what) {
  if (status != HSA_STATUS_SUCCESS && status != HSA_STATUS_INFO_BREAK) fail("HSA", what);
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

/* Memory of the host that the GPU may access; never freed. */
static void *allocate(size_t nbytes) {
  void *bytes;
  check(hsa_amd_memory_pool_allocate(kernarg_pool, nbytes, 0, &bytes), "memory");
  check(hsa_amd_agents_allow_access(1, &gpu, NULL, bytes), "access");
  return bytes;
}

static void load(const char *path) {
  hsa_code_object_reader_t reader;
  FILE *file = fopen(path, "rb");
  if (!file) fail("cannot read", path);
  static unsigned char bytes[1 << 22];
  size_t nbytes = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  check(hsa_code_object_reader_create_from_memory(bytes, nbytes, &reader), "reader");
  check(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL,
                                  &executable),
        "executable");
  check(hsa_executable_load_agent_code_object(executable, gpu, reader, NULL, NULL), "load");
  check(hsa_executable_freeze(executable, NULL), "freeze");
}

static void open_gpu(const char *path) {
  check(hsa_init(), "hsa_init");
  check(hsa_iterate_agents(take_agent, NULL), "hsa_iterate_agents");
  check(hsa_amd_agent_iterate_memory_pools(cpu, take_pool, NULL), "pools");
  check(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX, &queue),
        "hsa_queue_create");
  load(path);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static void add_argument(launch *l, const void *bytes, size_t nbytes) {
  l->nargs = (l->nargs + nbytes - 1) / nbytes * nbytes;
  if (l->nargs + nbytes + HIDDEN > ARGS) fail("too many arguments", l->kernel);
  memcpy(l->args + l->nargs, bytes, nbytes);
  l->nargs += nbytes;
}

static void add_buffer(launch *l, const char *path) {
  if (l->nbuffers == BUFFERS) fail("too many buffers", l->kernel);
  buffer *b = &l->buffers[l->nbuffers++];
  snprintf(b->path, sizeof b->path, "%s", path);
  FILE *file = fopen(path, "rb");
  if (!file) fail("cannot read", path);
  fseek(file, 0, SEEK_END);
  b->nbytes = (size_t)ftell(file);
  rewind(file);
  b->bytes = allocate(b->nbytes);
  if (fread(b->bytes, 1, b->nbytes, file) != b->nbytes) fail("cannot read", path);
  fclose(file);
  add_argument(l, &b->bytes, sizeof b->bytes);
}

/* As object version 5 has them: counts of whole groups, sizes, remainders, offsets, dimensions. */
static void add_hidden(launch *l) {
  size_t at = (l->nargs + 7) / 8 * 8;
  for (int d = 0; d < 3; d++) {
    uint32_t groups = l->grid[d] / l->workgroup[d];
    uint16_t size = (uint16_t)l->workgroup[d], rest = (uint16_t)(l->grid[d] % l->workgroup[d]);
    memcpy(l->args + at + 4 * d, &groups, sizeof groups);
    memcpy(l->args + at + 12 + 2 * d, &size, sizeof size);
    memcpy(l->args + at + 18 + 2 * d, &rest, sizeof rest);
  }
  uint16_t dimensions = 3;
  memcpy(l->args + at + 64, &dimensions, sizeof dimensions);
}

/* ---- launches -------------------------------------------------------------------------------- */

static hsa_executable_symbol_t find(const char *kernel) {
  char name[LINE + 4];
  hsa_executable_symbol_t symbol;
  snprintf(name, sizeof name, "%s.kd", kernel);
  check(hsa_executable_get_symbol_by_name(executable, name, &gpu, &symbol), name);
  return symbol;
}

static void run(launch *l, const char *suffix) {
  hsa_signal_t done;
  hsa_executable_symbol_t symbol = find(l->kernel);
  add_hidden(l);
  char *args = allocate(ARGS);
  memcpy(args, l->args, ARGS);
  check(hsa_signal_create(1, 0, NULL, &done), "hsa_signal_create");
  uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  hsa_kernel_dispatch_packet_t *packet =
      (hsa_kernel_dispatch_packet_t *)queue->base_address + index % queue->size;
  memset((char *)packet + 4, 0, sizeof *packet - 4);
  packet->workgroup_size_x = (uint16_t)l->workgroup[0];
  packet->workgroup_size_y = (uint16_t)l->workgroup[1];
  packet->workgroup_size_z = (uint16_t)l->workgroup[2];
  packet->grid_size_x = l->grid[0];
  packet->grid_size_y = l->grid[1];
  packet->grid_size_z = l->grid[2];
  check(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                       &packet->kernel_object),
        "object");
  check(
      hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE,
                                     &packet->private_segment_size),
      "private bytes");
  check(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE,
                                       &packet->group_segment_size),
        "group bytes");
  packet->kernarg_address = args;
  packet->completion_signal = done;
  uint32_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH | 1 << HSA_PACKET_HEADER_BARRIER |
                    HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                    HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  __atomic_store_n((uint32_t *)packet, header | 3u << 16, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
  hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
  check(hsa_signal_destroy(done), "hsa_signal_destroy");
  for (uint32_t i = 0; i < l->nbuffers; i++) {
    char path[LINE + 64];
    snprintf(path, sizeof path, "%s%s", l->buffers[i].path, suffix);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(l->buffers[i].bytes, 1, l->buffers[i].nbytes, file) == 0) {
      fail("cannot write", path);
    }
    fclose(file);
  }
  memset(l, 0, sizeof *l);
}

static void read_line(launch *l, const char *line, size_t index_bytes, const char *suffix) {
  char word[LINE], rest[LINE] = "";
  if (sscanf(line, "%511s %511[^\n]", word, rest) < 1) return;
  uint32_t *sizes = !strcmp(word, "grid") ? l->grid : l->workgroup;
  if (!strcmp(word, "kernel")) {
    snprintf(l->kernel, sizeof l->kernel, "%s", rest);
  } else if (!strcmp(word, "grid") || !strcmp(word, "workgroup")) {
    if (sscanf(rest, "%u %u %u", &sizes[0], &sizes[1], &sizes[2]) != 3) fail("sizes", line);
  } else if (!strcmp(word, "buffer")) {
    add_buffer(l, rest);
  } else if (!strcmp(word, "index")) {
    int64_t n = strtoll(rest, NULL, 10);
    add_argument(l, &n, index_bytes);
  } else if (!strcmp(word, "float")) {
    float x = strtof(rest, NULL);
    add_argument(l, &x, sizeof x);
  } else if (!strcmp(word, "run")) {
    run(l, suffix);
  } else {
    fail("unknown word", word);
  }
}

int main(int argc, char **argv) {
  static launch l;
  char line[2 * LINE];
  if (argc != 4) return EXIT_FAILURE;
  open_gpu(argv[1]);
  while (fgets(line, sizeof line, stdin)) {
    read_line(&l, line, strtoul(argv[2], NULL, 10), argv[3]);
  }
  check(hsa_shut_down(), "hsa_shut_down");
  return EXIT_SUCCESS;
}
