/* Memory as ROCR asks for it: allocations (VRAM, host memory, scratch) and the user's memory that
 * is locked for GPUs.
 *
 * An address is the same to host and GPUs, so an allocation is fresh pages of the process, followed
 * by one page that must not be accessed. Two tables by address, each sorted, for binary search;
 * ranges are found by any address inside them. Allocations never overlap; registrations may, and
 * each carries how far the ranges up to it reach, so that the search stops early. What a GPU may
 * touch stands in its page map: this file sets a range there for each node it is mapped to. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "emulator/report/watch.h"
#include "emulator/thunk/thunk.h"

typedef struct emu_range {
  uint64_t begin, end;   /* as asked for */
  uint64_t mapped_bytes; /* allocations: pages of the process, the guard included */
  HsaMemFlags flags;
  uint32_t node;
  uint32_t registrations; /* 0: an allocation */
  uint32_t mappings;      /* of a registration: calls still to be undone */
  uint32_t nnodes;
  uint32_t nodes[EMU_MAX_NODES]; /* mapped to; ROCR reads it after the query */
  void *user_data;
} emu_range;

typedef struct emu_slot {
  uint64_t begin, reach; /* reach: largest end of this range and those before */
  emu_range *range;
} emu_slot;

typedef struct emu_table {
  emu_slot *slots;
  size_t count, room;
} emu_table;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static emu_table allocations, registrations;

/* ---- tables --------------------------------------------------------------------------------- */

/* The number of ranges that begin at or before the address. */
static size_t count_up_to(const emu_table *table, uint64_t address) {
  size_t low = 0, high = table->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (table->slots[middle].begin <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static void update_reach(emu_table *table, size_t first) {
  uint64_t reach = first > 0 ? table->slots[first - 1].reach : 0;
  for (size_t i = first; i < table->count; i++) {
    if (table->slots[i].range->end > reach) reach = table->slots[i].range->end;
    table->slots[i].reach = reach;
  }
}

static bool insert_range(emu_table *table, emu_range *range) {
  if (table->count == table->room) {
    size_t room = table->room ? 2 * table->room : 64;
    emu_slot *slots = roc_realloc(table->slots, room * sizeof *slots);
    if (!slots) return false;
    table->slots = slots;
    table->room = room;
  }
  size_t at = count_up_to(table, range->begin);
  memmove(&table->slots[at + 1], &table->slots[at], (table->count - at) * sizeof *table->slots);
  table->slots[at] = (emu_slot){.begin = range->begin, .range = range};
  table->count++;
  update_reach(table, at);
  return true;
}

static void remove_range(emu_table *table, const emu_range *range) {
  size_t at = count_up_to(table, range->begin);
  while (table->slots[--at].range != range) {
  }
  table->count--;
  memmove(&table->slots[at], &table->slots[at + 1], (table->count - at) * sizeof *table->slots);
  update_reach(table, at);
  if (table->count == 0) {
    roc_free(table->slots);
    *table = (emu_table){0};
  }
}

/* The innermost range that holds the address; NULL: none. */
static emu_range *find_containing(const emu_table *table, uint64_t address) {
  for (size_t i = count_up_to(table, address); i > 0; i--) {
    const emu_slot *slot = &table->slots[i - 1];
    if (slot->reach <= address) return NULL;
    if (slot->range->end > address) return slot->range;
  }
  return NULL;
}

/* The registration that begins there: of nbytes, or of any length when nbytes is 0. */
static emu_range *find_registration(uint64_t address, uint64_t nbytes) {
  for (size_t i = count_up_to(&registrations, address); i > 0; i--) {
    emu_range *range = registrations.slots[i - 1].range;
    if (range->begin != address) return NULL;
    if (nbytes == 0 || range->end - range->begin == nbytes) return range;
  }
  return NULL;
}

/* The range that a call means which names memory by an address. */
static emu_range *find_range(uint64_t address) {
  emu_range *range = find_containing(&allocations, address);
  if (!range) range = find_registration(address, 0);
  return range ? range : find_containing(&registrations, address);
}

/* ---- page maps ------------------------------------------------------------------------------ */

static bool set_pages(const emu_range *range, uint32_t node, unsigned access) {
  const emu_node *gpu = emu_node_at(node);
  return !gpu || range->flags.ui32.Scratch ||
         emu_map_set(gpu->map, range->begin, range->end - range->begin, access);
}

static bool has_node(const uint32_t *nodes, uint64_t nnodes, uint32_t node) {
  for (uint64_t i = 0; i < nnodes; i++) {
    if (nodes[i] == node) return true;
  }
  return false;
}

/* Adds what is missing of the list; false (and only some added) when memory is out. */
static bool map_more(emu_range *range, const uint32_t *nodes, uint64_t nnodes) {
  unsigned access = range->flags.ui32.ReadOnly ? EMU_PAGE_READ : EMU_PAGE_READ | EMU_PAGE_WRITE;
  for (uint64_t i = 0; i < nnodes; i++) {
    if (has_node(range->nodes, range->nnodes, nodes[i])) continue;
    if (!set_pages(range, nodes[i], access)) return false;
    range->nodes[range->nnodes++] = nodes[i];
  }
  return true;
}

/* Takes away what the list does not name. */
static void unmap_others(emu_range *range, const uint32_t *nodes, uint64_t nnodes) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < range->nnodes; i++) {
    uint32_t node = range->nodes[i];
    if (has_node(nodes, nnodes, node)) {
      range->nodes[kept++] = node;
    } else {
      set_pages(range, node, 0);
    }
  }
  range->nnodes = kept;
}

/* ---- allocations ---------------------------------------------------------------------------- */

/* The pages from `begin` to `end` are given back. */
static void unmap_pages(char *begin, const char *end) {
  if (begin < end) munmap(begin, (size_t)(end - begin));
}

/* `alignment`: a power of two, not less than a page; where no address is asked for. */
static void *map_pages(const void *wish, uint64_t nbytes, uint64_t alignment, bool is_fixed) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (is_fixed ? MAP_FIXED_NOREPLACE : 0);
  void *hint = is_fixed ? (void *)(uintptr_t)wish : NULL;
  uint64_t spare = is_fixed ? 0 : alignment - EMU_PAGE_BYTES, all = nbytes + EMU_PAGE_BYTES;
  char *block = mmap(hint, all + spare, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (block == MAP_FAILED) return NULL;
  char *pages = is_fixed ? block : block + (-(uintptr_t)block & (alignment - 1));
  unmap_pages(block, pages);
  unmap_pages(pages + all, block + all + spare);
  mprotect(pages + nbytes, EMU_PAGE_BYTES, PROT_NONE); /* a host access beyond the end faults */
  return pages;
}

/* VRAM is bounded: counts it, false when the GPU has not that much left. */
static bool take_vram(emu_node *node, uint64_t nbytes) {
  if (atomic_fetch_add(&node->vram_used, nbytes) + nbytes <= node->vram_bytes) return true;
  atomic_fetch_sub(&node->vram_used, nbytes);
  return false;
}

static void give_vram(const emu_range *range) {
  emu_node *node = emu_node_at(range->node);
  if (node && !range->flags.ui32.Scratch) {
    atomic_fetch_sub(&node->vram_used, range->end - range->begin);
  }
}

static void free_allocation(emu_range *range) {
  unmap_others(range, NULL, 0);
  remove_range(&allocations, range);
  give_vram(range);
  munmap((void *)(uintptr_t)range->begin, range->mapped_bytes);
  roc_free(range);
}

static HSAKMT_STATUS alloc_range(emu_range *range, uint64_t nbytes, uint64_t alignment,
                                 void **address) {
  void *pages = map_pages(*address, nbytes, alignment, range->flags.ui32.FixedAddress);
  if (!pages) return HSAKMT_STATUS_NO_MEMORY;
  range->begin = (uintptr_t)pages;
  range->end = range->begin + nbytes;
  range->mapped_bytes = nbytes + EMU_PAGE_BYTES;
  pthread_mutex_lock(&lock);
  bool is_in = insert_range(&allocations, range);
  pthread_mutex_unlock(&lock);
  if (!is_in) {
    munmap(pages, range->mapped_bytes);
    return HSAKMT_STATUS_NO_MEMORY;
  }
  *address = pages;
  return HSAKMT_STATUS_SUCCESS;
}

/* Flags of later headers: memory without an address, and an address without memory. */
static bool is_split(HsaMemFlags flags) {
  enum { NO_ADDRESS = 1 << 18, ONLY_ADDRESS = 1 << 19 };
  return (flags.Value & (NO_ADDRESS | ONLY_ADDRESS)) != 0;
}

HSAKMT_STATUS emu_memory_alloc(uint32_t node, uint64_t nbytes, uint64_t alignment,
                               HsaMemFlags flags, void **address) {
  if (alignment < EMU_PAGE_BYTES) alignment = EMU_PAGE_BYTES;
  if (is_split(flags)) return HSAKMT_STATUS_NOT_SUPPORTED;
  if ((alignment & (alignment - 1)) != 0 || alignment > 1ull << (EMU_ADDRESS_BITS - 2)) {
    return HSAKMT_STATUS_INVALID_PARAMETER;
  }
  if (nbytes == 0 || nbytes % EMU_PAGE_BYTES != 0 || nbytes > 1ull << (EMU_ADDRESS_BITS - 1)) {
    return HSAKMT_STATUS_INVALID_PARAMETER;
  }
  emu_node *gpu = emu_node_at(node);
  bool is_vram = gpu && !flags.ui32.Scratch;
  if (is_vram && !take_vram(gpu, nbytes)) return HSAKMT_STATUS_NO_MEMORY;
  emu_range *range = roc_zalloc(sizeof *range);
  HSAKMT_STATUS status = HSAKMT_STATUS_NO_MEMORY;
  if (range) {
    range->flags = flags;
    range->node = node;
    status = alloc_range(range, nbytes, alignment, address);
  }
  if (status != HSAKMT_STATUS_SUCCESS) {
    if (is_vram) atomic_fetch_sub(&gpu->vram_used, nbytes);
    roc_free(range);
  } else if (is_vram) {
    emu_watch_allocated(range->begin, nbytes);
  }
  return status;
}

HSAKMT_STATUS emu_memory_free(void *address) {
  pthread_mutex_lock(&lock);
  emu_range *range = find_containing(&allocations, (uintptr_t)address);
  bool is_found = range && range->begin == (uintptr_t)address;
  if (is_found) {
    emu_watch_freed(range->begin, range->end - range->begin);
    free_allocation(range);
  }
  pthread_mutex_unlock(&lock);
  return is_found ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_PARAMETER;
}

/* ---- registrations -------------------------------------------------------------------------- */

static HSAKMT_STATUS add_registration(uint64_t begin, uint64_t nbytes, HsaMemFlags flags) {
  emu_range *range = roc_zalloc(sizeof *range);
  if (!range) return HSAKMT_STATUS_NO_MEMORY;
  *range = (emu_range){.begin = begin, .end = begin + nbytes, .flags = flags, .registrations = 1};
  range->flags.ui32.Scratch = 0;
  if (!insert_range(&registrations, range)) {
    roc_free(range);
    return HSAKMT_STATUS_NO_MEMORY;
  }
  return HSAKMT_STATUS_SUCCESS;
}

static void free_registration(emu_range *range) {
  unmap_others(range, NULL, 0);
  remove_range(&registrations, range);
  roc_free(range);
}

HSAKMT_STATUS emu_memory_register(void *address, uint64_t nbytes, HsaMemFlags flags) {
  uint64_t begin = (uintptr_t)address, end;
  if (!address || nbytes == 0 || __builtin_add_overflow(begin, nbytes, &end) ||
      end >> EMU_ADDRESS_BITS) {
    return HSAKMT_STATUS_INVALID_PARAMETER;
  }
  HSAKMT_STATUS status = HSAKMT_STATUS_SUCCESS;
  pthread_mutex_lock(&lock);
  emu_range *range = find_registration(begin, nbytes);
  if (find_containing(&allocations, begin)) {
    status = HSAKMT_STATUS_MEMORY_ALREADY_REGISTERED; /* undoing it would unmap the allocation */
  } else if (range) {
    range->registrations++;
  } else {
    status = add_registration(begin, nbytes, flags);
  }
  pthread_mutex_unlock(&lock);
  return status;
}

HSAKMT_STATUS emu_memory_deregister(void *address) {
  pthread_mutex_lock(&lock);
  emu_range *range = find_registration((uintptr_t)address, 0);
  if (range && --range->registrations == 0) free_registration(range);
  pthread_mutex_unlock(&lock);
  return range ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_MEMORY_NOT_REGISTERED;
}

/* ---- mapping and queries -------------------------------------------------------------------- */

static bool are_nodes(const uint32_t *nodes, uint64_t nnodes) {
  for (uint64_t i = 0; i < nnodes; i++) {
    if (nodes[i] >= emu_nodes_count()) return false;
  }
  return true;
}

HSAKMT_STATUS emu_memory_map(void *address, uint64_t nbytes, const uint32_t *nodes,
                             uint64_t nnodes) {
  uint32_t all[EMU_MAX_NODES];
  if (nnodes == 0) {
    for (uint32_t id = 1; id < emu_nodes_count(); id++) all[nnodes++] = id;
    nodes = all;
  }
  if (!are_nodes(nodes, nnodes)) return HSAKMT_STATUS_INVALID_NODE_UNIT;
  HSAKMT_STATUS status = HSAKMT_STATUS_SUCCESS;
  pthread_mutex_lock(&lock);
  emu_range *range = find_containing(&allocations, (uintptr_t)address);
  if (!range) range = find_registration((uintptr_t)address, nbytes);
  if (!range) range = find_range((uintptr_t)address);
  if (!range) {
    status = HSAKMT_STATUS_INVALID_PARAMETER;
  } else if (!map_more(range, nodes, nnodes)) {
    status = HSAKMT_STATUS_NO_MEMORY;
  } else if (range->registrations > 0) {
    range->mappings++; /* two locks of one range: the first unlock leaves it mapped */
  } else {
    unmap_others(range, nodes, nnodes);
  }
  pthread_mutex_unlock(&lock);
  return status;
}

HSAKMT_STATUS emu_memory_unmap(void *address) {
  pthread_mutex_lock(&lock);
  emu_range *range = find_range((uintptr_t)address);
  bool is_last = range && (range->mappings == 0 || --range->mappings == 0);
  if (is_last) unmap_others(range, NULL, 0);
  pthread_mutex_unlock(&lock);
  return range ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_PARAMETER;
}

HSAKMT_STATUS emu_memory_query(const void *address, HsaPointerInfo *out) {
  memset(out, 0, sizeof *out);
  pthread_mutex_lock(&lock);
  const emu_range *range = find_range((uintptr_t)address);
  if (range) {
    out->Type = range->registrations ? HSA_POINTER_REGISTERED_USER : HSA_POINTER_ALLOCATED;
    out->Node = range->node;
    out->MemFlags = range->flags;
    out->CPUAddress = (void *)(uintptr_t)range->begin;
    out->GPUAddress = range->begin;
    out->SizeInBytes = range->end - range->begin;
    out->NMappedNodes = range->nnodes;
    out->MappedNodes = range->nodes;
    out->UserData = range->user_data;
  }
  pthread_mutex_unlock(&lock);
  return range ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_ERROR;
}

HSAKMT_STATUS emu_memory_set_user_data(const void *address, void *data) {
  pthread_mutex_lock(&lock);
  emu_range *range = find_range((uintptr_t)address);
  if (range) range->user_data = data;
  pthread_mutex_unlock(&lock);
  return range ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_PARAMETER;
}

uint64_t emu_memory_live(void) {
  pthread_mutex_lock(&lock);
  uint64_t count = allocations.count + registrations.count;
  pthread_mutex_unlock(&lock);
  return count;
}

void emu_memory_close(void) {
  pthread_mutex_lock(&lock);
  while (registrations.count > 0) free_registration(registrations.slots[0].range);
  while (allocations.count > 0) free_allocation(allocations.slots[0].range);
  pthread_mutex_unlock(&lock);
}
