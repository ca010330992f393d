/* Assembler text of one instruction to emu_inst; isa/dual.h has those that are two. */
#ifndef ROC_EMULATOR_ISA_DECODE_H
#define ROC_EMULATOR_ISA_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "emulator/isa/inst.h"

/* Where execution goes after an instruction. */
typedef enum emu_flow {
  EMU_FLOW_NEXT,
  EMU_FLOW_BRANCH,      /* to the target */
  EMU_FLOW_CONDITIONAL, /* to the target or the next one; calls, too */
  EMU_FLOW_END          /* nowhere, or to an address in registers */
} emu_flow;

static inline bool emu_has_target(emu_flow flow) {
  return flow == EMU_FLOW_BRANCH || flow == EMU_FLOW_CONDITIONAL;
}

typedef struct emu_decoded {
  emu_inst inst; /* without index and target; offset and line are 0 */
  emu_flow flow;
  int32_t distance; /* BRANCH, CONDITIONAL: bytes from the instruction's start to its target's */
} emu_decoded;

/* Whether a mnemonic, or another part of an instruction's text, begins with `prefix`. */
static inline bool emu_starts_with(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The instruction of that name (without encoding suffix) on that generation; NULL: not known. */
typedef const emu_op *emu_op_lookup(const char *name, emu_generation generation);

/* What instructions are decoded for. */
typedef struct emu_decode_target {
  emu_op_lookup *find_op;
  emu_generation generation;
  unsigned wave_size;
} emu_decode_target;

/* Resolves `text`, the disassembly of the size bytes at `code`.  False when the instruction, an
 * operand or a modifier is not known: `why` then says so in a line that names the instruction, and
 * *out is meaningless.  Any thread. */
bool emu_decode(const emu_decode_target *target, const char *text, const uint8_t *code,
                unsigned size, emu_decoded *out, char *why, size_t why_size);

#endif
