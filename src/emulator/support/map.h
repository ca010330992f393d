/* The GPU's page table: which pages kernels may touch.
 *
 * GPU addresses are the process's own. A two-level table of one byte a page of 4 KiB, read without
 * a lock by running kernels (a change is seen at the latest by the next dispatch); written by the
 * thunk's memory calls under their own lock. A thread that sees a page in it also sees the memory
 * that was mapped there before. */
#ifndef ROC_EMULATOR_SUPPORT_MAP_H
#define ROC_EMULATOR_SUPPORT_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  EMU_PAGE_READ = 1,
  EMU_PAGE_WRITE = 2,
  EMU_PAGE_SHIFT = 12,
  EMU_LEAF_SHIFT = 20, /* pages of a leaf: 4 GiB of addresses */
  EMU_ADDRESS_BITS = 47
};

typedef struct emu_map {
  _Atomic(_Atomic uint8_t *) leaves[1u << (EMU_ADDRESS_BITS - EMU_PAGE_SHIFT - EMU_LEAF_SHIFT)];
} emu_map;

/* NULL when memory is out.  Empty: nothing may be touched. */
emu_map *emu_map_new(void);
void emu_map_free(emu_map *map);
/* Allows `access` (EMU_PAGE_* or 0 for none) on every page that [address, address + nbytes)
 * touches. Pages are counted: two ranges that share a page each hold it, and 0 lets go once. False
 * when memory is out; the map is then as before. */
bool emu_map_set(emu_map *map, uint64_t address, uint64_t nbytes, unsigned access);

static inline unsigned emu_map_page(const emu_map *map, uint64_t address) {
  if (address >> EMU_ADDRESS_BITS) return 0;
  uint64_t page = address >> EMU_PAGE_SHIFT;
  _Atomic uint8_t *leaf =
      atomic_load_explicit(&map->leaves[page >> EMU_LEAF_SHIFT], memory_order_acquire);
  if (!leaf) return 0;
  return atomic_load_explicit(&leaf[page & ((1u << EMU_LEAF_SHIFT) - 1)], memory_order_acquire);
}

/* Whether nbytes (at most a page) at address may be accessed so. */
static inline bool emu_map_allows(const emu_map *map, uint64_t address, uint32_t nbytes,
                                  unsigned access) {
  if ((emu_map_page(map, address) & access) != access) return false;
  uint64_t last = address + nbytes - 1;
  return last >> EMU_PAGE_SHIFT == address >> EMU_PAGE_SHIFT ||
         (emu_map_page(map, last) & access) == access;
}

#endif
