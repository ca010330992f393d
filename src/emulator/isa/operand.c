/* Operand texts: modifiers around, then a register by its number or name, or a constant.
 *
 * Sources for the bits of constants: AMD's Vega ISA manual, 3.4 and 6.2 (scalar and vector operand
 * tables): inline integers are -16 … 64 in the operand's width, inline floats have the operand's
 * format, a literal is 32 bits. */
#include "emulator/isa/operand.h"

#include <stdlib.h>
#include <string.h>

#include "emulator/isa/wave.h"

typedef struct special {
  const char *name;
  uint8_t kind, nregs;
  uint16_t reg;
  uint64_t value;
} special;

#define SGPR(name, reg, n) \
  { name, EMU_OPERAND_SGPR, n, reg, 0 }
#define APERTURE(name, value) \
  { name, EMU_OPERAND_CONST, 0, 0, value }

static const special specials[] = {
    SGPR("vcc", EMU_SGPR_VCC, 2),
    SGPR("vcc_lo", EMU_SGPR_VCC, 1),
    SGPR("vcc_hi", EMU_SGPR_VCC + 1, 1),
    SGPR("exec", EMU_SGPR_EXEC, 2),
    SGPR("exec_lo", EMU_SGPR_EXEC, 1),
    SGPR("exec_hi", EMU_SGPR_EXEC + 1, 1),
    SGPR("m0", EMU_SGPR_M0, 1),
    SGPR("null", EMU_SGPR_NULL, 0), /* as wide as it is asked for */
    SGPR("flat_scratch", EMU_SGPR_FLAT_SCRATCH, 2),
    SGPR("flat_scratch_lo", EMU_SGPR_FLAT_SCRATCH, 1),
    SGPR("flat_scratch_hi", EMU_SGPR_FLAT_SCRATCH + 1, 1),
    SGPR("xnack_mask", EMU_SGPR_XNACK_MASK, 2),
    SGPR("xnack_mask_lo", EMU_SGPR_XNACK_MASK, 1),
    SGPR("xnack_mask_hi", EMU_SGPR_XNACK_MASK + 1, 1),
    {"off", EMU_OPERAND_NONE, 0, 0, 0},
    {"scc", EMU_OPERAND_SCC, 0, 0, 0},
    {"src_scc", EMU_OPERAND_SCC, 0, 0, 0},
    {"src_vccz", EMU_OPERAND_VCCZ, 0, 0, 0},
    {"src_execz", EMU_OPERAND_EXECZ, 0, 0, 0},
    /* 64-bit values; a 32-bit operand gets the low half of them, as on the hardware */
    APERTURE("src_shared_base", (uint64_t)EMU_SHARED_APERTURE << 32),
    APERTURE("src_shared_limit", (uint64_t)EMU_SHARED_APERTURE << 32 | 0xffffffff),
    APERTURE("src_private_base", (uint64_t)EMU_PRIVATE_APERTURE << 32),
    APERTURE("src_private_limit", (uint64_t)EMU_PRIVATE_APERTURE << 32 | 0xffffffff),
};

/* Inline floats, as the disassembler writes them without a sign. */
typedef struct inline_float {
  double value;
  uint16_t half;
  uint32_t single;
  uint64_t full;
} inline_float;

static const inline_float inline_floats[] = {
    {0.5, 0x3800, 0x3f000000, 0x3fe0000000000000},
    {1.0, 0x3c00, 0x3f800000, 0x3ff0000000000000},
    {2.0, 0x4000, 0x40000000, 0x4000000000000000},
    {4.0, 0x4400, 0x40800000, 0x4010000000000000},
    {0.15915494, 0x3118, 0x3e22f983, 0x3fc45f306dc9c882}, /* 1 / (2 pi) */
};

/* Registers an operand of the type spans; 0: any number. */
static unsigned width_of(emu_type type, unsigned wave_size) {
  switch (type) {
    case EMU_B64:
    case EMU_I64:
    case EMU_F64:
    case EMU_V2F32:
    case EMU_V2B32: return 2;
    case EMU_B96: return 3;
    case EMU_B128: return 4;
    case EMU_MASK: return wave_size / 32;
    case EMU_NONE:
    case EMU_ADDRESS:
    case EMU_DATA: return 0;
    default: return 1;
  }
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* A number of digits at *at, which is moved past it; -1 when there is none. */
static int read_number(const char **at) {
  if (!is_digit(**at)) return -1;
  int number = 0;
  for (; is_digit(**at) && number < 100000; ++*at) number = number * 10 + (**at - '0');
  return number;
}

/* The part of "v7", "s[4:5]", "a3", "ttmp[4:7]" after the letters: first register and how many. */
static bool read_range(const char *text, unsigned *first, unsigned *count) {
  bool is_range = *text == '[';
  if (is_range) text++;
  int low = read_number(&text), high = low;
  if (is_range && *text == ':') {
    text++;
    high = read_number(&text);
  }
  if (is_range && *text++ != ']') return false;
  if (low < 0 || high < low || *text) return false;
  *first = (unsigned)low;
  *count = (unsigned)(high - low) + 1;
  return true;
}

/* The files of registers by their letters. */
static const struct register_file {
  const char *letters;
  uint8_t kind;
  uint16_t base, size;
} register_files[] = {
    {"v", EMU_OPERAND_VGPR, 0, 256},
    {"s", EMU_OPERAND_SGPR, 0, 106},
    {"a", EMU_OPERAND_VGPR, 256, 256},
    {"ttmp", EMU_OPERAND_SGPR, EMU_SGPR_TTMP, 16},
};

static bool parse_register(const char *text, emu_operand *out) {
  for (size_t i = 0; i < sizeof register_files / sizeof register_files[0]; i++) {
    const struct register_file *file = &register_files[i];
    size_t length = strlen(file->letters);
    unsigned first, count;
    if (strncmp(text, file->letters, length) != 0) continue;
    if (!read_range(text + length, &first, &count) || first + count > file->size) continue;
    out->kind = file->kind;
    out->reg = (uint16_t)(file->base + first);
    out->nregs = (uint8_t)count;
    return true;
  }
  return false;
}

static bool parse_special(const char *text, emu_operand *out) {
  for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++) {
    if (strcmp(text, specials[i].name) != 0) continue;
    out->kind = specials[i].kind;
    out->reg = specials[i].reg;
    out->nregs = specials[i].nregs;
    out->value = specials[i].value;
    return true;
  }
  return false;
}

bool emu_parse_integer(const char *text, int64_t *out) {
  const char *digits = *text == '-' ? text + 1 : text;
  if (!is_digit(*digits)) return false;
  char *end;
  *out = strtoll(text, &end, 0);
  return *end == 0;
}

static uint64_t bits_of_float(const inline_float *number, bool is_negative, emu_type type) {
  switch (type) {
    case EMU_B16:
    case EMU_F16:
    case EMU_V2F16: /* the high half reads 0 */ return number->half | (uint64_t)is_negative << 15;
    case EMU_F64:
    case EMU_B64:
    case EMU_I64: return number->full | (uint64_t)is_negative << 63;
    default: return number->single | (uint64_t)is_negative << 31;
  }
}

static uint64_t bits_of_literal(uint32_t literal, emu_type type) {
  switch (type) {
    case EMU_F64: return (uint64_t)literal << 32;
    case EMU_I64: return (uint64_t)(int64_t)(int32_t)literal;
    case EMU_B16:
    case EMU_F16: return literal & 0xffff;
    default: return literal;
  }
}

static bool parse_float(const char *text, emu_type type, uint64_t *bits) {
  bool is_negative = *text == '-';
  char *end;
  double value = strtod(text + is_negative, &end);
  if (*end) return false;
  for (size_t i = 0; i < sizeof inline_floats / sizeof inline_floats[0]; i++) {
    double difference = value - inline_floats[i].value;
    if (difference > 1e-4 || difference < -1e-4) continue;
    *bits = bits_of_float(&inline_floats[i], is_negative, type);
    return true;
  }
  return false;
}

static bool parse_constant(const char *text, emu_type type, unsigned width, emu_operand *out) {
  const char *digits = *text == '-' ? text + 1 : text;
  if (!is_digit(*digits)) return false;
  int64_t integer;
  out->kind = EMU_OPERAND_CONST;
  if (!emu_parse_integer(text, &integer)) {
    if (!parse_float(text, type, &out->value)) return false;
  } else if (digits[0] == '0' && digits[1] == 'x') {
    out->value = bits_of_literal((uint32_t)integer, type);
  } else {
    out->value = (uint64_t)integer; /* inline, or a decimal field */
  }
  bool is_pair = type == EMU_V2F32 || type == EMU_V2B32; /* the constant is the low half */
  if (type == EMU_B16 || type == EMU_F16) {
    out->value &= 0xffff;
  } else if (width == 1 || is_pair) {
    out->value &= 0xffffffff;
  }
  return true;
}

/* Takes `open` … `close` from around the text in place; false when it is not there. */
static bool unwrap(char *text, const char *open, char close) {
  size_t length = strlen(text), prefix = strlen(open);
  if (length <= prefix || strncmp(text, open, prefix) != 0 || text[length - 1] != close) {
    return false;
  }
  memmove(text, text + prefix, length - prefix - 1);
  text[length - prefix - 1] = 0;
  return true;
}

static uint8_t take_modifiers(char *text) {
  uint8_t mods = 0;
  if (unwrap(text, "sext(", ')')) mods |= EMU_SEXT;
  if (*text == '-' && !is_digit(text[1])) {
    memmove(text, text + 1, strlen(text));
    mods |= EMU_NEG;
  } else if (unwrap(text, "neg(", ')')) {
    mods |= EMU_NEG;
  }
  if (unwrap(text, "|", '|') || unwrap(text, "abs(", ')')) mods |= EMU_ABS;
  unwrap(text, "lit(", ')');
  return mods;
}

/* Takes ".l" or ".h", by which gfx11 names the halves of a vector register, from the end. */
static uint8_t take_half(char *text) {
  size_t length = strlen(text);
  if (length < 3 || text[0] != 'v' || text[length - 2] != '.') return EMU_SEL_DWORD;
  char half = text[length - 1];
  if (half != 'l' && half != 'h') return EMU_SEL_DWORD;
  text[length - 2] = 0;
  return half == 'h' ? EMU_SEL_WORD_1 : EMU_SEL_WORD_0;
}

const char *emu_parse_operand(const char *text, emu_type type, unsigned wave_size,
                              emu_operand *out) {
  char room[64];
  size_t length = strlen(text);
  if (length >= sizeof room) return "is too long";
  memcpy(room, text, length + 1);
  *out = (emu_operand){.kind = EMU_OPERAND_NONE};
  out->mods = take_modifiers(room);
  out->sel = take_half(room);
  unsigned width = width_of(type, wave_size);
  if (parse_constant(room, type, width, out)) {
    out->nregs = width > 1 ? 2 : 1;
    return NULL;
  }
  if (!parse_register(room, out) && !parse_special(room, out)) return "is not known";
  if (out->nregs == 0) out->nregs = (uint8_t)(width ? width : 1);
  if (out->kind == EMU_OPERAND_CONST && width == 1) out->value &= 0xffffffff;
  bool has_registers = out->kind == EMU_OPERAND_VGPR || out->kind == EMU_OPERAND_SGPR;
  if (has_registers && width && out->nregs != width) return "spans another number of registers";
  return NULL;
}
