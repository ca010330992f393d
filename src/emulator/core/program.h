/* Decoded code: the instructions that can be reached from an entry, and the cache that keeps them.
 *
 * A program holds instructions in the order of their addresses, each followed in the array by the
 * one execution falls through to, so that a wavefront's next instruction is inst + 1 and a branch
 * is a difference of indices. Where there is no code to decode, where it is not understood or
 * cannot be read, an instruction stands that stops the wavefront and says so: execution needs no
 * check. Code that only registers lead to is decoded when it is reached, in blocks of its own. */
#ifndef ROC_EMULATOR_CORE_PROGRAM_H
#define ROC_EMULATOR_CORE_PROGRAM_H

#include "emulator/isa/chip.h"
#include "emulator/isa/inst.h"
#include "emulator/support/map.h"

typedef struct emu_programs emu_programs;
typedef struct emu_decoded_block emu_decoded_block; /* decoded_block.h */

enum { EMU_MAX_INSTRUCTIONS = 1 << 20 /* of a program: what is longer is no code */ };

/* What a kernel's descriptor grants; code that names other registers stops there. */
typedef struct emu_register_limits {
  uint16_t wave_size;           /* lanes: 32 or 64 */
  uint16_t sgprs;               /* general ones */
  uint16_t vgprs, accumulators; /* of each kind, at most EMU_VGPRS / 2 */
} emu_register_limits;

typedef struct emu_program {
  uint64_t entry;        /* address; offsets of instructions count from here, modulo 2^32 */
  const emu_inst *first; /* the instruction there */
  const emu_inst *insts; /* those known from the begin; their indices are 0 … ninsts - 1 */
  uint32_t ninsts;
  emu_register_limits limits;
  emu_programs *owner;
  emu_decoded_block
      *blocks;      /* the code above, and what was reached later (indices from ninsts on) */
  uint64_t version; /* of the owner, at the last check against memory; under its lock */
  struct emu_program *next;
  uint32_t references;
} emu_program;

/* The programs of one GPU.  NULL when memory is out. */
emu_programs *emu_programs_new(const emu_chip *chip, const emu_map *map);
/* All programs were released. */
void emu_programs_free(emu_programs *programs);
/* Memory that may hold code was written, freed or mapped anew: each program is compared with memory
 * before its next use.  Any thread. */
void emu_programs_changed(emu_programs *programs);

/* The program at `entry` for kernels of that limits, decoded now or found; to be released. Code
 * that cannot be read gives a program that stops at once. NULL when memory is out or LLVM does not
 * know the chip. Any thread. */
const emu_program *emu_programs_get(emu_programs *programs, uint64_t entry,
                                    const emu_register_limits *limits);
void emu_program_release(const emu_program *program);

/* The instruction at `address`, decoded now if it was not known; never NULL: where there is none it
 * is one that stops the wavefront.  For s_setpc and s_swappc.  Any thread. */
const emu_inst *emu_program_at(const emu_program *program, uint64_t address);

/* Where a branch leads. */
static inline const emu_inst *emu_target(const emu_inst *inst) {
  return inst + (int32_t)(inst->target - inst->index);
}

/* Where the instruction's bytes are. */
static inline uint64_t emu_program_address(const emu_program *program, const emu_inst *inst) {
  return program->entry + (uint64_t)(int64_t)(int32_t)inst->offset;
}

#endif
