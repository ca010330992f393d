/* The page table's writing side: how often each page is held is counted beside its access byte.
 *
 * A leaf, once made, stays until the map is freed, so that readers need no lock. */
#include "emulator/support/map.h"

#include "base/alloc.h"

enum { LEAF_PAGES = 1 << EMU_LEAF_SHIFT };

/* Readers know the first member alone.  Mostly untouched zero pages of the host. */
typedef struct leaf {
  _Atomic uint8_t access[LEAF_PAGES];
  uint32_t holders[LEAF_PAGES];
} leaf;

enum { LEAF_COUNT = sizeof((emu_map *)0)->leaves / sizeof((emu_map *)0)->leaves[0] };

emu_map *emu_map_new(void) {
  return roc_zalloc(sizeof(emu_map));
}

static leaf *leaf_at(emu_map *map, uint64_t index) {
  return (leaf *)atomic_load_explicit(&map->leaves[index], memory_order_relaxed);
}

void emu_map_free(emu_map *map) {
  if (!map) return;
  for (uint32_t i = 0; i < LEAF_COUNT; i++) roc_free(leaf_at(map, i));
  roc_free(map);
}

static bool make_leaves(emu_map *map, uint64_t first, uint64_t last) {
  for (uint64_t i = first; i <= last; i++) {
    if (leaf_at(map, i)) continue;
    leaf *made = roc_zalloc(sizeof *made);
    if (!made) return false;
    atomic_store_explicit(&map->leaves[i], made->access, memory_order_release);
  }
  return true;
}

/* Two holders of a page may have asked for different access; it then has both until the last of
 * them lets go. */
static void set_page(leaf *pages, uint32_t index, unsigned access) {
  if (access) {
    pages->holders[index]++;
    atomic_fetch_or_explicit(&pages->access[index], (uint8_t)access, memory_order_release);
  } else if (pages->holders[index] > 0 && --pages->holders[index] == 0) {
    atomic_store_explicit(&pages->access[index], 0, memory_order_relaxed);
  }
}

bool emu_map_set(emu_map *map, uint64_t address, uint64_t nbytes, unsigned access) {
  if (nbytes == 0) return true;
  uint64_t last;
  if (__builtin_add_overflow(address, nbytes - 1, &last) || last >> EMU_ADDRESS_BITS) return false;
  uint64_t page = address >> EMU_PAGE_SHIFT, last_page = last >> EMU_PAGE_SHIFT;
  if (access && !make_leaves(map, page >> EMU_LEAF_SHIFT, last_page >> EMU_LEAF_SHIFT)) {
    return false;
  }
  for (; page <= last_page; page++) {
    leaf *pages = leaf_at(map, page >> EMU_LEAF_SHIFT);
    if (pages) set_page(pages, page & (LEAF_PAGES - 1), access);
  }
  return true;
}
