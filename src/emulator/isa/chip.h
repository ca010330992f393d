/* The GPUs that can be presented: what the topology says of them and what their wavefronts can do.
 * One row a chip in chips.def. */
#ifndef ROC_EMULATOR_ISA_CHIP_H
#define ROC_EMULATOR_ISA_CHIP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct emu_chip {
  const char *name; /* as LLVM calls it: "gfx90a" */
  const char *marketing_name;
  uint8_t generation; /* emu_generation (isa/inst.h) */
  uint8_t major, minor, stepping;
  uint8_t wave_size;       /* default; a kernel's descriptor may ask for 64 on gfx10 */
  uint8_t vgpr_granule[2]; /* of a wave64, of a wave32 kernel */
  bool has_accumulation;   /* VGPRs and AGPRs are one file (gfx90a) */
  bool has_packed_ids;     /* work-item ids come in one VGPR, 10 bits each (gfx90a, gfx11 on) */
  uint32_t lds_bytes;
  uint32_t compute_units, simds_per_cu, waves_per_simd;
  uint32_t family; /* the kernel driver's number of the chip's relatives */
  uint32_t device_id;
} emu_chip;

/* NULL when there is none of that name. */
const emu_chip *emu_chip_find(const char *name);
/* Chips in the order of the table; NULL after the last. */
const emu_chip *emu_chip_at(unsigned index);

#endif
