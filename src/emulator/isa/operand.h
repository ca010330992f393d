/* One operand of the assembler's text, resolved. */
#ifndef ROC_EMULATOR_ISA_OPERAND_H
#define ROC_EMULATOR_ISA_OPERAND_H

#include <stdbool.h>
#include <stddef.h>

#include "emulator/isa/inst.h"

/* Makes *out of `text` ("-|v3|", "s[4:5]", "vcc_lo", "0.5", "0x3ff", "off"), a constant's bits
 * being those of `type`; out->sel is the half that is named ("v3.h"), else EMU_SEL_DWORD. NULL, or
 * what is wrong: a static string that continues "operand '…' ". */
const char *emu_parse_operand(const char *text, emu_type type, unsigned wave_size,
                              emu_operand *out);
/* An integer as the disassembler writes it: "12", "-0x4".  False when `text` is none. */
bool emu_parse_integer(const char *text, int64_t *out);

#endif
