/* Dual instructions taken apart, and put in an order in which nothing is overwritten too early. */
#include "emulator/isa/dual.h"

#include <stdio.h>

#include "emulator/isa/disasm.h"

enum { MAX_TEXT = 256, ASIDE = 256 /* the first accumulation register */ };

static const char prefix[] = "v_dual_", between[] = " :: ";

/* The half's text as that of an instruction by itself.  A selection's mask is always VCC. */
static bool make_text(const char *half, size_t length, char text[MAX_TEXT]) {
  size_t skipped = sizeof prefix - 1;
  if (length <= skipped || !emu_starts_with(half, prefix)) return false;
  bool selects = emu_starts_with(half + skipped, "cndmask_b32");
  int used = snprintf(text, MAX_TEXT, "v_%.*s%s", (int)(length - skipped), half + skipped,
                      selects ? ", vcc_lo" : "");
  return used < MAX_TEXT;
}

/* The constant that both halves share has a stand-in in the text: emu_disasm_text. */
static void put_constant(emu_inst *inst, const uint8_t *code, unsigned size) {
  uint32_t constant;
  if (size < EMU_DUAL_BYTES + sizeof constant) return;
  memcpy(&constant, code + EMU_DUAL_BYTES, sizeof constant);
  for (unsigned n = 0; n < EMU_MAX_SRC && inst->op->src[n] != EMU_NONE; n++) {
    emu_operand *operand = &inst->src[n];
    bool is_it = operand->kind == EMU_OPERAND_CONST && operand->value == EMU_HARMLESS_CONSTANT;
    if (is_it) operand->value = constant;
  }
}

static bool reads(const emu_inst *inst, const emu_operand *written) {
  for (unsigned n = 0; n < EMU_MAX_SRC && inst->op->src[n] != EMU_NONE; n++) {
    const emu_operand *operand = &inst->src[n];
    if (operand->kind == EMU_OPERAND_VGPR && operand->reg == written->reg) return true;
  }
  return false;
}

/* v_mov_b32 from the register to the one aside. */
static emu_decoded make_copy(const emu_decode_target *target, const emu_operand *from) {
  emu_decoded copy = {.flow = EMU_FLOW_NEXT};
  copy.inst.op = target->find_op("v_mov_b32", target->generation);
  copy.inst.run = copy.inst.op->run;
  copy.inst.chip = (uint8_t)target->generation;
  copy.inst.src[0] = *from;
  copy.inst.dst[0] = *from;
  copy.inst.dst[0].reg = ASIDE;
  return copy;
}

static void read_aside(emu_inst *inst, const emu_operand *written) {
  for (unsigned n = 0; n < EMU_MAX_SRC && inst->op->src[n] != EMU_NONE; n++) {
    emu_operand *operand = &inst->src[n];
    bool is_it = operand->kind == EMU_OPERAND_VGPR && operand->reg == written->reg;
    if (is_it) operand->reg = ASIDE;
  }
}

/* Orders x and y so that each reads what was there before both. */
static unsigned put_in_order(const emu_decode_target *target, emu_decoded *x, emu_decoded *y,
                             emu_decoded out[EMU_MAX_PARTS]) {
  unsigned n = 0;
  const emu_operand written = x->inst.dst[0];
  bool is_needed = reads(&y->inst, &written), is_swapped = is_needed;
  if (is_needed && reads(&x->inst, &y->inst.dst[0])) {
    out[n++] = make_copy(target, &written);
    read_aside(&y->inst, &written);
    is_swapped = false;
  }
  out[n++] = is_swapped ? *y : *x;
  out[n++] = is_swapped ? *x : *y;
  return n;
}

unsigned emu_decode_parts(const emu_decode_target *target, const char *text, const uint8_t *code,
                          unsigned size, emu_decoded out[EMU_MAX_PARTS], char *why,
                          size_t why_size) {
  while (*text == '\t' || *text == ' ') text++;
  const char *middle = strstr(text, between);
  if (!middle) return emu_decode(target, text, code, size, out, why, why_size) ? 1 : 0;
  const char *second = middle + sizeof between - 1;
  char first_text[MAX_TEXT], second_text[MAX_TEXT];
  if (!make_text(text, (size_t)(middle - text), first_text) ||
      !make_text(second, strlen(second), second_text)) {
    snprintf(why, why_size, "the emulator does not know the instruction '%s'", text);
    return 0;
  }
  emu_decoded x, y;
  if (!emu_decode(target, first_text, code, size, &x, why, why_size) ||
      !emu_decode(target, second_text, code, size, &y, why, why_size)) {
    return 0;
  }
  put_constant(&x.inst, code, size);
  put_constant(&y.inst, code, size);
  unsigned count = put_in_order(target, &x, &y, out);
  for (unsigned i = 0; i < count; i++) out[i].inst.size = (uint8_t)(i + 1 < count ? 0 : size);
  return count;
}
