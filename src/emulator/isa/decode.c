/* The disassembler's text, taken apart: mnemonic and encoding suffix, operands between commas,
 * modifiers between spaces.
 *
 * The op's table says how many operands there are and of which types, and that tells which
 * modifiers have an effect. Whatever is not understood completely is refused, never guessed. The
 * 16-bit field of SOPP and SOPK instructions (counters, hardware registers, messages, distances) is
 * taken from the bits, not from its many spellings. */
#include "emulator/isa/decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/isa/disasm.h"
#include "emulator/isa/operand.h"

enum { MAX_TEXT = 256, MAX_OPERANDS = 8 };

/* An instruction while it is taken apart.  The texts lie in `room`. */
typedef struct parse {
  char room[MAX_TEXT];
  char *mnemonic;
  char *operands[MAX_OPERANDS], *modifiers[2 * MAX_OPERANDS];
  unsigned noperands, nmodifiers;
  uint32_t word; /* the first of the encoding */
  bool is_sopp, is_sopk;
  unsigned wave_size;
  emu_inst *inst;
  const char *original; /* for messages */
  char *why;
  size_t why_size;
} parse;

/* "the emulator cannot execute the instruction '…': operand 'v300' is not known". */
static bool refuse(const parse *p, const char *what, const char *part, const char *problem) {
  snprintf(p->why, p->why_size, "the emulator cannot execute the instruction '%s': %s '%s' %s",
           p->original, what, part, problem);
  return false;
}

/* ---- where modifiers have an effect ---------------------------------------------------------- */

static bool is_packed(uint8_t type) {
  return type == EMU_V2B16 || type == EMU_V2F16 || type == EMU_V2B32 || type == EMU_V2F32;
}

static bool is_real(uint8_t type) {
  return type == EMU_F16 || type == EMU_F32 || type == EMU_F64;
}

static bool is_packed_real(uint8_t type) {
  return type == EMU_V2F16 || type == EMU_V2F32;
}

static bool takes_omod(const emu_op *op) {
  return is_real(op->dst[0]) || op->dst[0] == EMU_V2F16;
}

/* A comparison's clamp is for exceptions, which are never enabled. */
static bool takes_clamp(const emu_op *op) {
  bool is_comparison = op->dst[0] == EMU_MASK || (op->flags & EMU_WRITES_EXEC);
  return is_real(op->dst[0]) || is_packed_real(op->dst[0]) || is_comparison ||
         (op->flags & EMU_CLAMPS);
}

/* Each of the bits must choose between halves. */
static bool takes_op_sel(const emu_op *op, unsigned bits) {
  if (op->flags & EMU_SELECTS) return true;
  if (op->flags & EMU_SELECTS_C) return bits == 4;
  if (op->flags & EMU_SELECTS_DST) return (bits & (emu_is_half(op->dst[0]) ? 7 : 3)) == 0;
  for (unsigned n = 0; n < 4; n++) {
    uint8_t type = n == 3 ? op->dst[0] : op->src[n];
    if ((bits >> n & 1) && !emu_is_half(type) && !is_packed(type)) return false;
  }
  return true;
}

static bool takes_op_sel_hi(const emu_op *op, unsigned bits) {
  (void)bits;
  return is_packed(op->src[0]) || (op->flags & EMU_SELECTS);
}

/* The third source of a sparse product is no number. */
static bool takes_packed_neg(const emu_op *op, unsigned bits) {
  bool negates = (op->flags & EMU_NEGATES) && (bits <= 3 || op->src[2] == EMU_DATA);
  return is_packed_real(op->src[0]) || negates;
}

static bool takes_neg_lo(const emu_op *op, unsigned bits) {
  bool signs = (op->flags & EMU_SIGNS) && bits <= 3; /* of the two factors */
  return signs || takes_packed_neg(op, bits);
}

/* Of doubles whole elements. */
static bool takes_neg(const emu_op *op, unsigned bits) {
  (void)bits;
  return (op->flags & EMU_NEGATES) != 0;
}

static bool takes_broadcast_a(const emu_op *op) {
  return (op->flags & EMU_BROADCASTS_A) != 0;
}

static bool takes_broadcast_b(const emu_op *op) {
  return (op->flags & EMU_BROADCASTS_B) != 0;
}

static bool takes_index_key(const emu_op *op) {
  return emu_starts_with(op->name, "v_swmmac_");
}

static bool takes_truth_table(const emu_op *op) {
  return emu_starts_with(op->name, "v_bitop3_");
}

/* Parts of registers make no pairs; where M0 counts registers, an encoding's extras are not known.
 */
static bool takes_encoding(const emu_op *op, uint8_t encoding) {
  if (encoding <= EMU_ENC_E64) return true;
  bool is_relative = (op->flags & EMU_READS_M0) != 0;
  return !is_relative && !(encoding == EMU_ENC_SDWA && is_packed(op->src[0]));
}

/* ---- modifiers ------------------------------------------------------------------------------ */

enum part { MODIFIERS, DPP };

/* Words that set a byte of emu_modifiers. */
static const struct word {
  const char *text;
  uint8_t offset;
  uint8_t value;
  bool (*fits)(const emu_op *op); /* NULL: whatever the disassembler prints them at */
} words[] = {
#define WORD(text, field, value) \
  { text, offsetof(emu_modifiers, field), value, NULL }
#define OUTPUT(text, field, value) \
  { text, offsetof(emu_modifiers, field), value, takes_##field }
    OUTPUT("clamp", clamp, 1),
    OUTPUT("mul:2", omod, 1),
    OUTPUT("mul:4", omod, 2),
    OUTPUT("div:2", omod, 3),
    WORD("glc", glc, 1),
    WORD("slc", slc, 1),
    WORD("dlc", dlc, 1),
    WORD("scc", scc, 1),
    WORD("sc0", glc, 1), /* gfx942's names */
    WORD("sc1", scc, 1),
    WORD("nt", slc, 1),
    WORD("offen", offen, 1),
    WORD("idxen", idxen, 1),
    WORD("dst_sel:DWORD", dst_sel, EMU_SEL_DWORD),
    WORD("dst_sel:BYTE_0", dst_sel, EMU_SEL_BYTE_0),
    WORD("dst_sel:BYTE_1", dst_sel, EMU_SEL_BYTE_1),
    WORD("dst_sel:BYTE_2", dst_sel, EMU_SEL_BYTE_2),
    WORD("dst_sel:BYTE_3", dst_sel, EMU_SEL_BYTE_3),
    WORD("dst_sel:WORD_0", dst_sel, EMU_SEL_WORD_0),
    WORD("dst_sel:WORD_1", dst_sel, EMU_SEL_WORD_1),
    WORD("dst_unused:UNUSED_PAD", dst_unused, EMU_UNUSED_PAD),
    WORD("dst_unused:UNUSED_SEXT", dst_unused, EMU_UNUSED_SEXT),
    WORD("dst_unused:UNUSED_PRESERVE", dst_unused, EMU_UNUSED_PRESERVE),
#undef WORD
#undef OUTPUT
};

static const char *const sel_names[] = {"DWORD",  "BYTE_0", "BYTE_1", "BYTE_2",
                                        "BYTE_3", "WORD_0", "WORD_1"};

/* "name:number". */
static const struct number {
  const char *name;
  enum part part;
  uint8_t offset, bytes;
  bool (*fits)(const emu_op *op); /* NULL: as with words */
} numbers[] = {
#define NUMBER_OF(name, field, fits) \
  { name, MODIFIERS, offsetof(emu_modifiers, field), sizeof((emu_modifiers *)0)->field, fits }
#define NUMBER(name, field) NUMBER_OF(name, field, NULL)
#define DPP_NUMBER(name, field) \
  { name, DPP, offsetof(emu_dpp, field), sizeof((emu_dpp *)0)->field, NULL }
    NUMBER_OF("cbsz:", cbsz, takes_broadcast_a),
    NUMBER_OF("abid:", abid, takes_broadcast_a),
    NUMBER_OF("blgp:", blgp, takes_broadcast_b),
    NUMBER_OF("index_key:", index_key, takes_index_key),
    NUMBER_OF("bitop3:", truth_table, takes_truth_table),
    NUMBER("offset:", offset),
    NUMBER("offset0:", offset),
    NUMBER("offset1:", offset1),
    DPP_NUMBER("row_mask:", row_mask),
    DPP_NUMBER("bank_mask:", bank_mask),
    DPP_NUMBER("fi:", fi),
#undef NUMBER_OF
#undef NUMBER
#undef DPP_NUMBER
};

/* "name:[b,b,…]": one bit a source. */
static const struct bit_list {
  const char *name;
  uint8_t offset;
  bool (*fits)(const emu_op *op, unsigned bits);
} bit_lists[] = {
    {"op_sel:", offsetof(emu_modifiers, op_sel), takes_op_sel},
    {"op_sel_hi:", offsetof(emu_modifiers, op_sel_hi), takes_op_sel_hi},
    {"neg:", offsetof(emu_modifiers, neg_lo), takes_neg},
    {"neg_lo:", offsetof(emu_modifiers, neg_lo), takes_neg_lo},
    {"neg_hi:", offsetof(emu_modifiers, neg_hi), takes_packed_neg},
};

/* Where a lane of a DPP instruction takes its source from.  With a colon: an argument follows. */
static const struct permutation {
  const char *name;
  emu_dpp_kind kind;
} permutations[] = {
    {"row_shl:", EMU_DPP_ROW_SHL},     {"row_shr:", EMU_DPP_ROW_SHR},
    {"row_ror:", EMU_DPP_ROW_ROR},     {"wave_shl:", EMU_DPP_WAVE_SHL},
    {"wave_rol:", EMU_DPP_WAVE_ROL},   {"wave_shr:", EMU_DPP_WAVE_SHR},
    {"wave_ror:", EMU_DPP_WAVE_ROR},   {"row_mirror", EMU_DPP_ROW_MIRROR},
    {"row_share:", EMU_DPP_ROW_SHARE}, {"row_half_mirror", EMU_DPP_ROW_HALF_MIRROR},
    {"row_xmask:", EMU_DPP_ROW_XMASK}, {"row_newbcast:", EMU_DPP_ROW_SHARE},
};

/* The numbers of "[1,0,…]", at most 8; how many, or 0 when it is no list. */
static unsigned read_list(const char *text, unsigned list[8]) {
  if (*text++ != '[') return 0;
  for (unsigned n = 0; n < 8;) {
    char *end;
    list[n++] = (unsigned)strtoul(text, &end, 0);
    if (end == text) return 0;
    if (*end == ']') return end[1] ? 0 : n;
    if (*end != ',') return 0;
    text = end + 1;
  }
  return 0;
}

static unsigned count_sources(const emu_op *op) {
  unsigned n = 0;
  while (n < EMU_MAX_SRC && op->src[n] != EMU_NONE) n++;
  return n;
}

static unsigned count_destinations(const emu_op *op) {
  unsigned n = 0;
  while (n < EMU_MAX_DST && op->dst[n] != EMU_NONE) n++;
  return n;
}

static bool apply_word(emu_inst *inst, const char *text) {
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (strcmp(text, words[i].text) != 0) continue;
    if (words[i].fits && !words[i].fits(inst->op)) return false;
    ((uint8_t *)&inst->mod)[words[i].offset] = words[i].value;
    return true;
  }
  return false;
}

static bool apply_number(emu_inst *inst, const char *text) {
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    int64_t value;
    const struct number *number = &numbers[i];
    if (!emu_starts_with(text, number->name)) continue;
    if (!emu_parse_integer(text + strlen(number->name), &value)) continue;
    if (number->fits && !number->fits(inst->op)) return false;
    uint8_t *base = number->part == DPP ? (uint8_t *)&inst->dpp : (uint8_t *)&inst->mod;
    int32_t narrow = (int32_t)value;
    memcpy(base + number->offset, &narrow, number->bytes);
    return true;
  }
  return false;
}

/* A list of fewer than four entries with one more than there are sources ends with the
 * destination's. */
static bool apply_bit_list(emu_inst *inst, const char *text) {
  for (size_t i = 0; i < sizeof bit_lists / sizeof bit_lists[0]; i++) {
    if (!emu_starts_with(text, bit_lists[i].name)) continue;
    unsigned list[8], n = read_list(text + strlen(bit_lists[i].name), list);
    unsigned bits = 0, nsources = count_sources(inst->op);
    for (unsigned k = 0; k < n && k < 4; k++)
      bits |= (list[k] & 1) << (k == nsources && n < 4 ? 3 : k);
    if (n == 0 || n > 4 || !bit_lists[i].fits(inst->op, bits)) return false;
    uint8_t *field = (uint8_t *)&inst->mod + bit_lists[i].offset;
    bool adds = field == &inst->mod.op_sel; /* to what the names of halves say */
    *field = (uint8_t)(bits | (adds ? *field : 0));
    return true;
  }
  return false;
}

static bool apply_lane_list(emu_dpp *dpp, const char *text, unsigned want, unsigned bits) {
  unsigned list[8], n = read_list(text, list);
  if (n != want) return false;
  dpp->arg = 0;
  for (unsigned k = 0; k < n; k++) dpp->arg |= (list[k] & ((1u << bits) - 1)) << (k * bits);
  return true;
}

static bool read_permutation(emu_dpp *dpp, const char *text) {
  if (emu_starts_with(text, "dpp8:")) {
    dpp->kind = EMU_DPP_DPP8;
    return apply_lane_list(dpp, text + 5, 8, 3);
  }
  if (emu_starts_with(text, "quad_perm:")) {
    dpp->kind = EMU_DPP_QUAD_PERM;
    return apply_lane_list(dpp, text + 10, 4, 2);
  }
  if (emu_starts_with(text, "row_bcast:")) {
    dpp->kind = strcmp(text + 10, "15") == 0 ? EMU_DPP_ROW_BCAST_15 : EMU_DPP_ROW_BCAST_31;
    return strcmp(text + 10, "15") == 0 || strcmp(text + 10, "31") == 0;
  }
  for (size_t i = 0; i < sizeof permutations / sizeof permutations[0]; i++) {
    int64_t arg = 0;
    size_t length = strlen(permutations[i].name);
    if (!emu_starts_with(text, permutations[i].name)) continue;
    bool has_arg = permutations[i].name[length - 1] == ':';
    if (has_arg ? !emu_parse_integer(text + length, &arg) : text[length] != 0) continue;
    dpp->kind = (uint8_t)permutations[i].kind;
    dpp->arg = (uint32_t)arg;
    return true;
  }
  return false;
}

/* Says the encoding, too: LLVM prints no suffix at gfx11's v_cmpx, and "_dpp" at dpp8 as well. */
static bool apply_permutation(emu_inst *inst, const char *text) {
  if (emu_starts_with(text, "bound_ctrl:")) {
    return inst->dpp.bound_ctrl = true; /* :0 and :1 mean the same */
  }
  if (!read_permutation(&inst->dpp, text)) return false;
  inst->encoding = inst->dpp.kind == EMU_DPP_DPP8 ? EMU_ENC_DPP8 : EMU_ENC_DPP;
  return true;
}

/* "src0_sel:WORD_1": kept for the operand. */
static bool apply_source_selection(emu_inst *inst, const char *text) {
  bool is_first = emu_starts_with(text, "src0_sel:");
  if (!is_first && !emu_starts_with(text, "src1_sel:")) return false;
  for (unsigned i = 0; i < sizeof sel_names / sizeof sel_names[0]; i++) {
    if (strcmp(text + 9, sel_names[i]) != 0) continue;
    inst->src[is_first ? 0 : 1].sel = (uint8_t)i;
    return true;
  }
  return false;
}

/* "byte_sel:1" of gfx12's conversions from 8-bit floats, and to them. */
static bool apply_byte_selection(emu_inst *inst, const char *text) {
  int64_t byte;
  bool is_source = emu_starts_with(inst->op->name, "v_cvt_f32_");
  if (!emu_starts_with(text, "byte_sel:") || (!is_source && !(inst->op->flags & EMU_SELECTS_DST))) {
    return false;
  }
  if (!emu_parse_integer(text + 9, &byte) || byte < 0 || byte > 3) return false;
  if (is_source) {
    inst->src[0].sel = (uint8_t)(EMU_SEL_BYTE_0 + byte);
  } else {
    inst->mod.op_sel |= (uint8_t)(byte << 2);
  }
  return true;
}

/* gfx12's words for caches, of which only an atomic's "return the old value" has an effect here. */
static bool apply_cache_hint(emu_inst *inst, const char *text) {
  if (emu_starts_with(text, "th:TH_ATOMIC_")) {
    inst->mod.glc = strstr(text, "RETURN") != NULL;
    return true;
  }
  return emu_starts_with(text, "scope:SCOPE_") || emu_starts_with(text, "th:TH_LOAD_") ||
         emu_starts_with(text, "th:TH_STORE_");
}

static bool apply_modifier(parse *p, const char *text) {
  emu_inst *inst = p->inst;
  if (emu_starts_with(text, "offset:swizzle(")) { /* many spellings of one field */
    inst->mod.offset = (int32_t)(p->word & 0xffff);
    return true;
  }
  return apply_word(inst, text) || apply_number(inst, text) || apply_bit_list(inst, text) ||
         apply_source_selection(inst, text) || apply_byte_selection(inst, text) ||
         apply_cache_hint(inst, text) || apply_permutation(inst, text);
}

/* ---- taking apart -----------------------------------------------------------------------------
 */

/* Encoding suffixes, and what they mean; "_e64_dpp" is gfx11's. */
static const struct suffix {
  const char *text;
  emu_encoding encoding;
} suffixes[] = {
    {"_e32", EMU_ENC_PLAIN},   {"_e64", EMU_ENC_E64}, {"_sdwa", EMU_ENC_SDWA},
    {"_e64_dpp", EMU_ENC_DPP}, {"_dpp", EMU_ENC_DPP},
};

static void take_suffix(parse *p) {
  size_t length = strlen(p->mnemonic);
  for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
    size_t n = strlen(suffixes[i].text);
    if (length <= n || strcmp(p->mnemonic + length - n, suffixes[i].text) != 0) continue;
    p->mnemonic[length - n] = 0;
    p->inst->encoding = (uint8_t)suffixes[i].encoding;
    return;
  }
}

/* The end of the part that begins at `at`: the next comma or space outside brackets. */
static char *end_of_part(char *at) {
  int depth = 0;
  for (; *at; at++) {
    if (*at == '[' || *at == '(') depth++;
    if (*at == ']' || *at == ')') depth--;
    if (depth == 0 && (*at == ',' || *at == ' ')) break;
  }
  return at;
}

/* Cuts the text at its commas and spaces.  What follows a comma is an operand, what follows a space
 * alone a modifier. */
static bool split(parse *p, const char *text) {
  while (*text == '\t' || *text == ' ') text++;
  size_t length = strlen(text);
  if (length >= sizeof p->room) return refuse(p, "its text", text, "is too long");
  memcpy(p->room, text, length + 1);
  for (char *c = p->room; *c; c++) *c = *c == '\t' ? ' ' : *c;
  while (length && p->room[length - 1] == ' ') p->room[--length] = 0;
  p->mnemonic = p->room;
  char *at = strchr(p->room, ' ');
  if (!at) return true;
  *at++ = 0;
  for (bool is_operand = true; *at;) {
    while (*at == ' ') at++;
    char *end = end_of_part(at), separator = *end;
    *end = 0;
    if (is_operand) {
      if (p->noperands == MAX_OPERANDS) return refuse(p, "operand", at, "is one too many");
      p->operands[p->noperands++] = at;
    } else {
      if (p->nmodifiers == 2 * MAX_OPERANDS) return refuse(p, "modifier", at, "is one too many");
      p->modifiers[p->nmodifiers++] = at;
    }
    is_operand = separator == ',';
    at = separator ? end + 1 : end;
  }
  return true;
}

/* Operands that stand for the 16-bit field, which inst->imm has, or for nothing: a wait adds a
 * register to the field, mostly this one. */
static bool is_field(const emu_op *op, const char *text) {
  return emu_starts_with(text, "hwreg(") || emu_starts_with(text, "sendmsg(") ||
         emu_starts_with(text, "gpr_idx(") ||
         (op->class == EMU_CLASS_WAIT && strcmp(text, "null") == 0);
}

/* Drops the operands that imm or distance stand for, and makes a modifier of a first word that is
 * one ("buffer_wbinvl1 glc"). */
static void drop_fields(parse *p, const emu_decoded *out) {
  unsigned kept = 0;
  for (unsigned i = 0; i < p->noperands; i++) {
    bool is_label = emu_has_target(out->flow) && i + 1 == p->noperands;
    bool is_dropped = is_label || is_field(p->inst->op, p->operands[i]);
    if (!is_dropped) p->operands[kept++] = p->operands[i];
  }
  p->noperands = p->is_sopp ? 0 : kept;
  p->nmodifiers = p->is_sopp ? 0 : p->nmodifiers;
  bool has_none = p->inst->op->dst[0] == EMU_NONE && p->inst->op->src[0] == EMU_NONE;
  if (has_none && p->noperands == 1 && apply_modifier(p, p->operands[0])) p->noperands = 0;
}

/* What the operand must not be here, or NULL.  LLVM reads gfx9's reserved 125 as "null", too. */
static const char *problem_of(const parse *p, const emu_operand *operand, emu_type type) {
  bool is_null = operand->kind == EMU_OPERAND_SGPR && operand->reg == EMU_SGPR_NULL;
  if (is_null && p->inst->chip == EMU_GFX9) return "is no register of this GPU";
  /* a pair's signs are neg_lo's and neg_hi's */
  return operand->mods && is_packed(type) ? "has a sign of its own" : NULL;
}

/* The half that an operand's text names becomes its bit of op_sel. NULL, or what is wrong. */
static const char *take_half(emu_inst *inst, emu_operand *operand, emu_type type, unsigned bit) {
  if (operand->sel == EMU_SEL_DWORD) return NULL;
  if (!emu_is_half(type)) return "is a half, where a whole register is known";
  if (operand->sel == EMU_SEL_WORD_1) inst->mod.op_sel |= (uint8_t)(1 << bit);
  operand->sel = EMU_SEL_DWORD;
  return NULL;
}

static bool parse_operands(parse *p) {
  const emu_op *op = p->inst->op;
  unsigned ndst = count_destinations(op), nsrc = count_sources(op), first = 0;
  bool may_lack_dst =
      (op->flags & EMU_OPTIONAL_DST) || ((op->flags & EMU_WRITES_EXEC) && op->dst[0] == EMU_MASK);
  if (p->noperands + 1 == ndst + nsrc && may_lack_dst) first = 1;
  bool has_extra = p->is_sopk && p->noperands == ndst + nsrc + 1; /* the field, in imm */
  if (!has_extra && p->noperands + first != ndst + nsrc) {
    return refuse(p, "its form of", p->mnemonic, "has another number of operands than known");
  }
  for (unsigned i = 0; i + first < ndst + nsrc; i++) {
    unsigned at = i + first;
    bool is_dst = at < ndst;
    emu_operand *operand = is_dst ? &p->inst->dst[at] : &p->inst->src[at - ndst];
    emu_type type = is_dst ? op->dst[at] : op->src[at - ndst];
    const char *wrong = emu_parse_operand(p->operands[i], type, p->wave_size, operand);
    if (!wrong) wrong = problem_of(p, operand, type);
    if (!wrong) wrong = take_half(p->inst, operand, type, is_dst ? 3 : at - ndst);
    if (wrong) return refuse(p, "operand", p->operands[i], wrong);
  }
  return true;
}

static void put_constant(emu_inst *inst, unsigned n, uint32_t value) {
  bool is_half = emu_is_half(inst->op->src[n]);
  inst->src[n] = (emu_operand){
      .kind = EMU_OPERAND_CONST, .nregs = 1, .value = is_half ? value & 0xffff : value};
}

/* The constant of v_fmamk and its like, which the text does not have; source 0 is the same constant
 * where its number (255) says literal. */
static void take_constant(parse *p, const uint8_t *code) {
  unsigned n = emu_constant_source(p->word, p->inst->chip == EMU_GFX9);
  uint32_t value;
  if (n == 0) return;
  memcpy(&value, code + sizeof p->word, sizeof value);
  put_constant(p->inst, n, value);
  if ((p->word & 0x1ff) == 0xff) put_constant(p->inst, 0, value);
}

/* ---- control flow -----------------------------------------------------------------------------
 */

static const struct flow_row {
  const char *prefix; /* of the mnemonic */
  emu_flow flow;
} flows[] = {
    {"s_branch", EMU_FLOW_BRANCH},     {"s_cbranch_", EMU_FLOW_CONDITIONAL},
    {"s_call_", EMU_FLOW_CONDITIONAL}, {"s_subvector_loop_", EMU_FLOW_CONDITIONAL},
    {"s_endpgm", EMU_FLOW_END},        {"s_setpc_", EMU_FLOW_END},
    {"s_rfe_", EMU_FLOW_END},
};

static emu_flow flow_of(const char *mnemonic) {
  if (mnemonic[0] != 's') return EMU_FLOW_NEXT;
  for (size_t i = 0; i < sizeof flows / sizeof flows[0]; i++) {
    if (emu_starts_with(mnemonic, flows[i].prefix)) return flows[i].flow;
  }
  return EMU_FLOW_NEXT;
}

/* Fields that are read from the bits.  AMD's Vega ISA manual, 13.1 (scalar formats). */
static void take_bits(parse *p, const uint8_t *code, emu_decoded *out) {
  memcpy(&p->word, code, sizeof p->word);
  p->is_sopp = p->word >> 23 == 0x17f;
  p->is_sopk = p->word >> 28 == 0xb && (p->word >> 23 & 0x1f) < 0x1d;
  int16_t field = (int16_t)(p->word & 0xffff);
  if (p->is_sopp) p->inst->imm = (uint16_t)field;
  if (p->is_sopk) p->inst->imm = field;
  if (strcmp(p->mnemonic, "s_set_gpr_idx_on") == 0) p->inst->imm = (int32_t)(p->word >> 8 & 0xff);
  if (emu_starts_with(p->mnemonic, "s_sendmsg_rtn_")) p->inst->imm = (int32_t)(p->word & 0xff);
  out->flow = flow_of(p->mnemonic);
  out->distance = 4 + 4 * (int32_t)field;
}

/* What the text leaves out when it has its usual value. */
static void set_defaults(emu_inst *inst) {
  if (is_packed(inst->op->src[0])) inst->mod.op_sel_hi = 7;
  inst->dpp.row_mask = inst->dpp.bank_mask = 0xf;
}

/* A constant is the low half of a packed pair; what the high half then is, the manuals leave open,
 * and compilers never ask for it. */
static bool check_pairs(const parse *p) {
  const emu_inst *inst = p->inst;
  unsigned high = inst->mod.op_sel;
  if (strcmp(inst->op->name, "v_pk_mov_b32") != 0) high |= inst->mod.op_sel_hi;
  for (unsigned n = 0; n < EMU_MAX_SRC; n++) {
    bool is_pair = inst->op->src[n] == EMU_V2F32 || inst->op->src[n] == EMU_V2B32;
    bool is_constant = inst->src[n].kind == EMU_OPERAND_CONST && inst->src[n].value;
    if (is_pair && is_constant && (high >> n & 1)) {
      return refuse(p, "the high half of a constant is read by", p->mnemonic, "");
    }
  }
  return true;
}

/* The modifier lds makes another instruction of a load: it becomes a part of the name. */
static const char *full_name(parse *p, char *room, size_t size) {
  for (unsigned i = 0; i < p->nmodifiers; i++) {
    if (strcmp(p->modifiers[i], "lds") != 0) continue;
    p->modifiers[i] = p->modifiers[--p->nmodifiers];
    snprintf(room, size, "%s" EMU_TO_LDS, p->mnemonic);
    return room;
  }
  return p->mnemonic;
}

bool emu_decode(const emu_decode_target *target, const char *text, const uint8_t *code,
                unsigned size, emu_decoded *out, char *why, size_t why_size) {
  while (*text == '\t' || *text == ' ') text++;
  *out = (emu_decoded){0};
  parse p = {.wave_size = target->wave_size,
             .inst = &out->inst,
             .original = text,
             .why = why,
             .why_size = why_size};
  if (!split(&p, text)) return false;
  take_suffix(&p);
  out->inst.size = (uint8_t)size;
  out->inst.chip = (uint8_t)target->generation;
  take_bits(&p, code, out);
  char name[MAX_TEXT];
  out->inst.op = target->find_op(full_name(&p, name, sizeof name), target->generation);
  if (!out->inst.op) {
    snprintf(why, why_size, "the emulator does not know the instruction '%s'", text);
    return false;
  }
  out->inst.run = out->inst.op->run;
  if (!takes_encoding(out->inst.op, out->inst.encoding)) {
    return refuse(&p, "this encoding of", p.mnemonic, "is not known");
  }
  set_defaults(&out->inst);
  drop_fields(&p, out);
  if (!parse_operands(&p)) return false;
  take_constant(&p, code);
  for (unsigned i = 0; i < p.nmodifiers; i++) {
    if (!apply_modifier(&p, p.modifiers[i])) {
      return refuse(&p, "modifier", p.modifiers[i], "is not known");
    }
  }
  return check_pairs(&p);
}
