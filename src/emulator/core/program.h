/* The decoded programs of a GPU: made once, kept, and compared with memory when that may have
 * changed.  isa/program.h says what a program is. */
#ifndef ROC_EMULATOR_CORE_PROGRAM_H
#define ROC_EMULATOR_CORE_PROGRAM_H

#include "emulator/isa/chip.h"
#include "emulator/isa/program.h"
#include "emulator/support/map.h"

typedef struct emu_programs emu_programs;

enum { EMU_MAX_INSTRUCTIONS = 1 << 20 /* of a program: no kernel is longer */ };

/* The registers that a kernel's descriptor asks for; an instruction that names others stops the
 * wavefront. */
typedef struct emu_register_limits {
  uint16_t wave_size;           /* lanes: 32 or 64 */
  uint16_t sgprs;               /* general ones */
  uint16_t vgprs, accumulators; /* of each kind, at most EMU_VGPRS / 2 */
} emu_register_limits;

/* The programs of one GPU.  NULL when memory is out. */
emu_programs *emu_programs_new(const emu_chip *chip, const emu_map *map);
/* All programs were released. */
void emu_programs_free(emu_programs *programs);
/* Memory that may hold code was written, freed or mapped again: each program is compared with
 * memory before its next use. Any thread. */
void emu_programs_changed(emu_programs *programs);

/* The program at `entry` for kernels with these limits, decoded now or found; to be released. Code
 * that cannot be read gives a program that stops at once. NULL when memory is out or LLVM does not
 * know the chip. Any thread. */
const emu_program *emu_programs_get(emu_programs *programs, uint64_t entry,
                                    const emu_register_limits *limits);
/* Gives back what emu_programs_get gave; NULL is ignored. */
void emu_program_release(const emu_program *program);

#endif
