/* The nodes: the host, and the GPUs that ROCLUA_EMULATE names.
 *
 * A node lives from emu_nodes_open to emu_nodes_close; its interpreter is made for the first queue,
 * so that a process that only asks for the topology starts no threads. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/env.h"
#include "emulator/support/settings.h"
#include "emulator/thunk/thunk.h"

static emu_node nodes[EMU_MAX_NODES];
static uint32_t node_count = 1;
static _Atomic uint64_t executed_before; /* by GPUs that are gone */
static pthread_mutex_t gpu_lock = PTHREAD_MUTEX_INITIALIZER;

static const uint64_t mebi = 1 << 20, gibi = 1 << 30;

/* Memory of each GPU: ROCLUA_EMULATE_MEMORY (MiB), else half the host's, in GiB, at least one. */
static uint64_t choose_vram_bytes(void) {
  uint64_t asked = emu_asked_memory_mb();
  if (asked) return asked * mebi;
  uint64_t half = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
  half -= half % gibi;
  if (half < gibi) return gibi;
  return half > 64 * gibi ? 64 * gibi : half;
}

/* Workers of each interpreter beside the queues' own threads. */
static unsigned choose_workers(void) {
  uint32_t asked = emu_asked_threads();
  if (asked) return asked - 1;
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores > 256 ? 255 : cores > 0 ? (unsigned)cores - 1 : 0;
}

/* For programs that use ROCR directly; roclua has checked the settings before. */
static void warn_of_settings(void) {
  roc_error err = ROC_ERROR_INIT;
  if (emu_settings_check(&err) == ROC_OK) return;
  fprintf(stderr, "roclua's emulator: %s; the variable is ignored\n", err.message);
}

static void report_unknown(const char *name, size_t length) {
  char known[512];
  size_t used = 0;
  known[0] = 0;
  for (unsigned i = 0; emu_chip_at(i) && used < sizeof known; i++) {
    used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                             emu_chip_at(i)->name);
  }
  fprintf(stderr,
          "roclua's emulator: ROCLUA_EMULATE names '%.*s', which is not emulated; expected some of "
          "%s\n",
          (int)length, name, known);
}

/* Adds the GPU whose name is the next of the list; false when it is unknown or memory is out. */
static bool add_node(const char *name, size_t length, uint64_t vram_bytes) {
  char copy[32];
  snprintf(copy, sizeof copy, "%.*s", (int)length, name);
  const emu_chip *chip = length < sizeof copy ? emu_chip_find(copy) : NULL;
  if (!chip) {
    report_unknown(name, length);
    return false;
  }
  if (node_count == EMU_MAX_NODES) {
    fprintf(stderr, "roclua's emulator: ROCLUA_EMULATE names more than %d GPUs\n",
            EMU_MAX_NODES - 1);
    return false;
  }
  emu_node *node = &nodes[node_count];
  node->map = emu_map_new();
  if (!node->map) {
    fprintf(stderr, "roclua's emulator: no memory is left for the GPU %s\n", chip->name);
    return false;
  }
  node->id = node_count++;
  node->chip = chip;
  node->vram_bytes = vram_bytes;
  atomic_store(&node->vram_used, 0);
  return true;
}

void emu_nodes_open(void) {
  const char *names = roc_env_text("ROCLUA_EMULATE");
  if (!names) names = "gfx90a";
  warn_of_settings();
  uint64_t vram_bytes = choose_vram_bytes();
  for (const char *at = names; *at;) {
    size_t length = strcspn(at, ",");
    if (!add_node(at, length, vram_bytes)) {
      emu_nodes_close(); /* ROCR goes on, and finds no GPU */
      return;
    }
    at += length + (at[length] == ',');
  }
}

void emu_nodes_close(void) {
  for (uint32_t id = 1; id < node_count; id++) {
    emu_node *node = &nodes[id];
    emu_gpu *gpu = atomic_exchange(&node->gpu, NULL);
    if (gpu) {
      atomic_fetch_add(&executed_before, emu_gpu_executed(gpu));
      emu_gpu_free(gpu);
    }
    emu_map_free(node->map);
    node->map = NULL;
  }
  node_count = 1;
}

uint32_t emu_nodes_count(void) {
  return node_count;
}

emu_node *emu_node_at(uint32_t id) {
  return id > EMU_HOST_NODE && id < node_count ? &nodes[id] : NULL;
}

emu_gpu *emu_node_gpu(emu_node *node) {
  emu_gpu *gpu = atomic_load(&node->gpu);
  if (gpu) return gpu;
  pthread_mutex_lock(&gpu_lock);
  gpu = atomic_load(&node->gpu);
  if (!gpu) {
    gpu = emu_gpu_new(node->chip, node->map, choose_workers());
    atomic_store(&node->gpu, gpu);
  }
  pthread_mutex_unlock(&gpu_lock);
  return gpu;
}

bool emu_nodes_map_all(const void *address, uint64_t nbytes, bool allows) {
  unsigned access = allows ? EMU_PAGE_READ | EMU_PAGE_WRITE : 0;
  for (uint32_t id = 1; id < node_count; id++) {
    if (emu_map_set(nodes[id].map, (uintptr_t)address, nbytes, access)) continue;
    while (--id >= 1) emu_map_set(nodes[id].map, (uintptr_t)address, nbytes, 0);
    return false;
  }
  return true;
}

uint64_t emu_nodes_executed(void) {
  uint64_t sum = atomic_load(&executed_before);
  for (uint32_t id = 1; id < EMU_MAX_NODES; id++) {
    const emu_gpu *gpu = atomic_load(&nodes[id].gpu);
    if (gpu) sum += emu_gpu_executed(gpu);
  }
  return sum;
}

bool emu_node_allows(const emu_node *node, uint64_t address, uint64_t nbytes, unsigned access,
                     uint64_t *bad) {
  uint64_t end;
  if (__builtin_add_overflow(address, nbytes, &end)) {
    *bad = address;
    return false;
  }
  for (uint64_t at = address; at < end; at = (at | (EMU_PAGE_BYTES - 1)) + 1) {
    if ((emu_map_page(node->map, at) & access) != access) {
      *bad = at;
      return false;
    }
  }
  return true;
}
