/* LLVM's disassembler for one GPU and wavefront width: bytes in, assembler text out. */
#ifndef ROC_EMULATOR_ISA_DISASM_H
#define ROC_EMULATOR_ISA_DISASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emulator/isa/chip.h"

enum {
  EMU_MAX_CODE = 20,  /* bytes of the longest instruction */
  EMU_DUAL_BYTES = 8, /* of a dual instruction (gfx11), less the constant that may follow */
  EMU_HARMLESS_CONSTANT = 0x1000
};

typedef struct emu_disasm emu_disasm;

/* For kernels of wave_size (32, 64) lanes.  NULL when LLVM does not know the chip or memory is out.
 * One thread at a time may use it. */
emu_disasm *emu_disasm_new(const emu_chip *chip, unsigned wave_size);
void emu_disasm_free(emu_disasm *disasm);
/* The text of the instruction that begins at `code`, of which nbytes can be read, at most size - 1
 * characters; its length in bytes, or 0 when there is none.  Numbers of branches are in dwords, as
 * encoded; the constant that emu_constant_source tells of is not the text's, and neither is the one
 * of a dual v_fmamk_f32 or v_fmaak_f32: the text has EMU_HARMLESS_CONSTANT for it. */
unsigned emu_disasm_text(emu_disasm *disasm, const uint8_t *code, size_t nbytes, char *text,
                         size_t size);
/* For an instruction with a constant of its own in the dword after it (v_fmamk_f32, v_madak_f16 …):
 * which source that is; else 0. */
unsigned emu_constant_source(uint32_t word, bool is_gfx9);

#endif
