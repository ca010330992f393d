/* A decoded program as wavefronts and reports read it; core/program.c makes and keeps it.
 *
 * A program holds instructions in the order of their addresses, each followed in the array by the
 * one execution falls through to, so that a wavefront's next instruction is inst + 1 and a branch
 * is a difference of indices. Where there is no code to decode, where it is not understood or
 * cannot be read, an instruction stands that stops the wavefront and says so: execution needs no
 * check. */
#ifndef ROC_EMULATOR_ISA_PROGRAM_H
#define ROC_EMULATOR_ISA_PROGRAM_H

#include "emulator/isa/inst.h"

typedef struct emu_program emu_program;

/* Constant while a dispatch uses it. */
struct emu_program {
  uint64_t entry;        /* address; offsets of instructions count from here, modulo 2^32 */
  const emu_inst *first; /* the instruction there */
  const emu_inst *insts; /* those found by decoding from `entry`, with the indices 0 to ninsts - 1;
                            code that only registers lead to has indices from ninsts on */
  uint32_t ninsts;
  /* The instruction at an address that the kernel computed, decoded now if it was not known; never
   * NULL: where there is none it is one that stops the wavefront.  Any thread. */
  const emu_inst *(*find)(const emu_program *program, uint64_t address);
};

/* Where a branch leads. */
static inline const emu_inst *emu_target(const emu_inst *inst) {
  return inst + (int32_t)(inst->target - inst->index);
}

/* Where the instruction's bytes are. */
static inline uint64_t emu_program_address(const emu_program *program, const emu_inst *inst) {
  return program->entry + (uint64_t)(int64_t)(int32_t)inst->offset;
}

#endif
