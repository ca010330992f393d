/* The table of chips and the look-up in it. */
#include "emulator/isa/chip.h"

#include <stddef.h>
#include <string.h>

#include "emulator/isa/inst.h"

#define CHIP(name_, marketing, generation_, major_, minor_, stepping_, wave, granule64, granule32, \
             accumulation, packed, lds, units, simds, waves, family_, id)                          \
  {.name = name_,                                                                                  \
   .marketing_name = marketing,                                                                    \
   .generation = generation_,                                                                      \
   .major = major_,                                                                                \
   .minor = minor_,                                                                                \
   .stepping = stepping_,                                                                          \
   .wave_size = wave,                                                                              \
   .vgpr_granule = {granule64, granule32},                                                         \
   .has_accumulation = accumulation,                                                               \
   .has_packed_ids = packed,                                                                       \
   .lds_bytes = lds,                                                                               \
   .compute_units = units,                                                                         \
   .simds_per_cu = simds,                                                                          \
   .waves_per_simd = waves,                                                                        \
   .family = family_,                                                                              \
   .device_id = id},

static const emu_chip chips[] = {
#include "emulator/isa/chips.def"
};

enum { CHIP_COUNT = sizeof chips / sizeof chips[0] };

const emu_chip *emu_chip_find(const char *name) {
  for (unsigned i = 0; i < CHIP_COUNT; i++) {
    if (strcmp(chips[i].name, name) == 0) return &chips[i];
  }
  return NULL;
}

const emu_chip *emu_chip_at(unsigned index) {
  return index < CHIP_COUNT ? &chips[index] : NULL;
}
