/* Vector operands: how a source of an instruction becomes a row of words, and how a computed row
 * reaches the destination.
 *
 * Everything that an encoding adds to an operation is done here: broadcasts of scalar operands,
 * SDWA's parts of registers, DPP's permutation of lanes, halves chosen by op_sel, signs.  The run
 * functions of the class files see plain rows.  Lanes that EXEC switches off are computed and not
 * written. */
#include "emulator/exec/rows.h"

#include <string.h>

enum { ROW = 16, BANK = 4 }; /* lanes of a DPP row and of a bank of it */

/* ---- lane masks ----------------------------------------------------------------------------- */

/* Lane masks are taken apart and collected 32 lanes at a time: each lane tests its own bit, which
 * vector units can do where they cannot shift by lane. */
static const uint32_t lane_bit[32] __attribute__((aligned(64))) = {
    1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,
    1u << 8,  1u << 9,  1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
    1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
    1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31};

static void spread_half(uint32_t half, uint32_t *words) {
  for (int i = 0; i < 32; i++) words[i] = (half & lane_bit[i]) == lane_bit[i] ? ~0u : 0;
}

static uint32_t collect_half(const uint32_t *words) {
  uint32_t half = 0;
  for (int i = 0; i < 32; i++) half |= words[i] != 0 ? lane_bit[i] : 0;
  return half;
}

void emu_spread_mask(uint64_t mask, emu_row *row) {
  spread_half((uint32_t)mask, row->u);
  spread_half((uint32_t)(mask >> 32), row->u + 32);
}

void emu_make_lanes(emu_wave *wave) {
  emu_spread_mask(emu_exec(wave), &wave->lanes);
  wave->lanes_stale = false;
}

uint64_t emu_ballot(emu_wave *wave, const emu_row *value) {
  uint64_t mask = collect_half(value->u);
  if (wave->width == 64) mask |= (uint64_t)collect_half(value->u + 32) << 32;
  return mask & emu_exec(wave);
}

/* ---- DPP ------------------------------------------------------------------------------------ */

/* The lane whose value `lane` gets, as the ISA guides list the patterns of DPP_CTRL; -1: none. */
static int find_source_lane(const emu_dpp *dpp, int lane, int width) {
  int arg = (int)dpp->arg, column = lane % ROW, row = lane - column;
  switch ((emu_dpp_kind)dpp->kind) {
    case EMU_DPP_QUAD_PERM: return (lane & ~3) | (int)(dpp->arg >> 2 * (lane & 3) & 3);
    case EMU_DPP_ROW_SHL: return column + arg < ROW ? lane + arg : -1;
    case EMU_DPP_ROW_SHR: return column >= arg ? lane - arg : -1;
    case EMU_DPP_ROW_ROR: return row | ((column - arg) & (ROW - 1));
    case EMU_DPP_WAVE_SHL: return lane + 1 < width ? lane + 1 : -1;
    case EMU_DPP_WAVE_ROL: return (lane + 1) & (width - 1);
    case EMU_DPP_WAVE_SHR: return lane - 1;
    case EMU_DPP_WAVE_ROR: return (lane - 1) & (width - 1);
    case EMU_DPP_ROW_BCAST_15: return row - 1;
    case EMU_DPP_ROW_BCAST_31: return lane >= 32 ? 31 : -1;
    case EMU_DPP_ROW_MIRROR: return lane ^ 15;
    case EMU_DPP_ROW_HALF_MIRROR: return lane ^ 7;
    case EMU_DPP_ROW_SHARE: return row | (arg & (ROW - 1));
    case EMU_DPP_ROW_XMASK: return lane ^ (arg & (ROW - 1));
    case EMU_DPP_DPP8: return (lane & ~7) | (int)(dpp->arg >> 3 * (lane & 7) & 7);
  }
  return -1;
}

/* What DPP makes of the lanes: where each value comes from (-1: it is 0), and which lanes are
 * written. */
typedef struct dpp_plan {
  int8_t from[EMU_LANES];
  uint64_t written;
} dpp_plan;

static bool is_in_masks(const emu_dpp *dpp, int lane) {
  if (dpp->kind == EMU_DPP_DPP8) return true; /* it has no masks */
  return dpp->row_mask >> lane / ROW & dpp->bank_mask >> lane % ROW / BANK & 1;
}

static void plan_dpp(const emu_wave *wave, const emu_dpp *dpp, dpp_plan *plan) {
  uint64_t exec = emu_exec(wave);
  bool zero_fills = dpp->bound_ctrl || dpp->kind == EMU_DPP_DPP8;
  plan->written = 0;
  for (int lane = 0; lane < wave->width; lane++) {
    int from = find_source_lane(dpp, lane, wave->width);
    if (from >= 0 && !dpp->fi && !(exec >> from & 1)) from = -1;
    plan->from[lane] = (int8_t)from;
    if (is_in_masks(dpp, lane) && (from >= 0 || zero_fills)) plan->written |= (uint64_t)1 << lane;
  }
  plan->written &= exec;
}

static bool has_dpp(const emu_inst *inst) {
  return inst->encoding == EMU_ENC_DPP || inst->encoding == EMU_ENC_DPP8;
}

uint64_t emu_written_lanes(emu_wave *wave, const emu_inst *inst) {
  if (!has_dpp(inst)) return emu_exec(wave);
  dpp_plan plan;
  plan_dpp(wave, &inst->dpp, &plan);
  return plan.written;
}

static void permute32(const emu_wave *wave, const emu_dpp *dpp, emu_row *row) {
  dpp_plan plan;
  emu_row old;
  plan_dpp(wave, dpp, &plan);
  memcpy(&old, row, wave->width * sizeof old.u[0]);
  for (int lane = 0; lane < wave->width; lane++) {
    row->u[lane] = plan.from[lane] < 0 ? 0 : old.u[plan.from[lane]];
  }
}

static void permute64(const emu_wave *wave, const emu_dpp *dpp, emu_row64 *row) {
  dpp_plan plan;
  emu_row64 old;
  plan_dpp(wave, dpp, &plan);
  memcpy(&old, row, wave->width * sizeof old.u[0]);
  for (int lane = 0; lane < wave->width; lane++) {
    row->u[lane] = plan.from[lane] < 0 ? 0 : old.u[plan.from[lane]];
  }
}

/* ---- sources -------------------------------------------------------------------------------- */

/* Position and width of the part of a register that SDWA, or byte_sel, names. */
typedef struct part {
  uint8_t shift, bits;
} part;

static const part parts[] = {
    [EMU_SEL_DWORD] = {0, 32},  [EMU_SEL_BYTE_0] = {0, 8},  [EMU_SEL_BYTE_1] = {8, 8},
    [EMU_SEL_BYTE_2] = {16, 8}, [EMU_SEL_BYTE_3] = {24, 8}, [EMU_SEL_WORD_0] = {0, 16},
    [EMU_SEL_WORD_1] = {16, 16}};

static void select_part(const emu_wave *wave, const emu_operand *operand, emu_row *row) {
  const part *sel = &parts[operand->sel];
  int up = 32 - sel->bits - sel->shift, down = 32 - sel->bits;
  if (operand->mods & EMU_SEXT) {
    EMU_FOR_LANES(wave) row->i[lane] = (int32_t)(row->u[lane] << up) >> down;
  } else {
    EMU_FOR_LANES(wave) row->u[lane] = row->u[lane] << up >> down;
  }
}

static void apply_signs32(const emu_wave *wave, const emu_operand *operand, uint8_t type,
                          emu_row *row) {
  uint32_t sign = emu_is_half(type) ? 0x8000 : 0x80000000;
  uint32_t kept = operand->mods & EMU_ABS ? ~sign : ~0u;
  uint32_t flipped = operand->mods & EMU_NEG ? sign : 0;
  EMU_FOR_LANES(wave) row->u[lane] = (row->u[lane] & kept) ^ flipped;
}

static const emu_row *make_src32(emu_wave *wave, const emu_inst *inst, unsigned n, emu_row *room) {
  const emu_operand *operand = &inst->src[n];
  uint8_t type = inst->op->src[n];
  if (operand->kind == EMU_OPERAND_VGPR) {
    memcpy(room, &wave->v[operand->reg], wave->width * sizeof room->u[0]);
  } else {
    uint32_t word = emu_s32(wave, operand);
    EMU_FOR_LANES(wave) room->u[lane] = word;
  }
  if (n == 0 && has_dpp(inst)) permute32(wave, &inst->dpp, room);
  if (operand->sel != EMU_SEL_DWORD) {
    select_part(wave, operand, room);
  } else if (inst->encoding != EMU_ENC_SDWA && emu_is_half(type) && inst->mod.op_sel >> n & 1) {
    EMU_FOR_LANES(wave) room->u[lane] >>= 16;
  }
  if (operand->mods & (EMU_NEG | EMU_ABS)) apply_signs32(wave, operand, type, room);
  return room;
}

const emu_row *emu_src32(emu_wave *wave, const emu_inst *inst, unsigned n, emu_row *room) {
  const emu_operand *operand = &inst->src[n];
  if (operand->kind == EMU_OPERAND_VGPR && operand->mods == 0 && operand->sel == EMU_SEL_DWORD &&
      inst->encoding <= EMU_ENC_E64 && inst->mod.op_sel == 0) {
    return &wave->v[operand->reg];
  }
  return make_src32(wave, inst, n, room);
}

const emu_row64 *emu_src64(emu_wave *wave, const emu_inst *inst, unsigned n, emu_row64 *room) {
  const emu_operand *operand = &inst->src[n];
  if (operand->kind == EMU_OPERAND_VGPR) {
    const emu_row *low = &wave->v[operand->reg], *high = low + 1;
    EMU_FOR_LANES(wave) room->u[lane] = low->u[lane] | (uint64_t)high->u[lane] << 32;
  } else {
    uint64_t word = emu_s64(wave, operand);
    EMU_FOR_LANES(wave) room->u[lane] = word;
  }
  if (n == 0 && has_dpp(inst)) permute64(wave, &inst->dpp, room);
  if (operand->mods & (EMU_NEG | EMU_ABS)) {
    uint64_t sign = (uint64_t)1 << 63;
    uint64_t kept = operand->mods & EMU_ABS ? ~sign : UINT64_MAX;
    uint64_t flipped = operand->mods & EMU_NEG ? sign : 0;
    EMU_FOR_LANES(wave) room->u[lane] = (room->u[lane] & kept) ^ flipped;
  }
  return room;
}

const emu_row *emu_src_mask(emu_wave *wave, const emu_inst *inst, unsigned n, emu_row *room) {
  uint64_t mask = emu_mask(wave, &inst->src[n]);
  spread_half((uint32_t)mask, room->u);
  if (wave->width == 64) spread_half((uint32_t)(mask >> 32), room->u + 32);
  return room;
}

/* ---- destinations --------------------------------------------------------------------------- */

/* The lanes to be written as a row. */
static const emu_row *find_written(emu_wave *wave, const emu_inst *inst, emu_row *room) {
  if (!has_dpp(inst)) return emu_lanes(wave);
  emu_spread_mask(emu_written_lanes(wave, inst), room);
  return room;
}

/* SDWA: the result goes to a part of the register; the rest is cleared, sign-filled or kept. */
static void insert_part(const emu_wave *wave, const emu_inst *inst, const emu_row *old,
                        emu_row *value) {
  const part *sel = &parts[inst->mod.dst_sel];
  int up = 32 - sel->bits, down = 32 - sel->bits - sel->shift;
  if (inst->mod.dst_unused == EMU_UNUSED_SEXT) {
    EMU_FOR_LANES(wave) value->i[lane] = (int32_t)(value->u[lane] << up) >> down;
    return;
  }
  uint32_t inside = ~0u >> up << sel->shift;
  uint32_t kept = inst->mod.dst_unused == EMU_UNUSED_PRESERVE ? ~inside : 0;
  EMU_FOR_LANES(wave) {
    value->u[lane] = (value->u[lane] << up >> down) | (old->u[lane] & kept);
  }
}

/* A 16-bit result: op_sel may send it to the high half, which keeps the other; the low half's
 * neighbour is kept on gfx10 and by some instructions of gfx9, and cleared by gfx9's others. */
static void insert_half(const emu_wave *wave, const emu_inst *inst, const emu_row *old,
                        emu_row *value) {
  if (inst->mod.op_sel & 8) {
    EMU_FOR_LANES(wave) value->u[lane] = value->u[lane] << 16 | (old->u[lane] & 0xffff);
    return;
  }
  bool keeps = inst->chip != EMU_GFX9 || (inst->op->flags & EMU_KEEPS_HIGH);
  uint32_t kept = keeps ? 0xffff0000 : 0;
  EMU_FOR_LANES(wave) value->u[lane] = (value->u[lane] & 0xffff) | (old->u[lane] & kept);
}

void emu_insert_byte(const emu_wave *wave, const emu_inst *inst, emu_row *value) {
  const emu_row *old = &wave->v[inst->dst[0].reg];
  unsigned shift = 8 * (inst->mod.op_sel >> 2 & 3);
  EMU_FOR_LANES(wave) {
    value->u[lane] = (old->u[lane] & ~(0xffu << shift)) | (value->u[lane] & 0xff) << shift;
  }
}

static bool is_whole(const emu_inst *inst, unsigned n) {
  return inst->encoding <= EMU_ENC_E64 && !emu_is_half(inst->op->dst[n]);
}

emu_row *emu_target32(emu_wave *wave, const emu_inst *inst, unsigned n, emu_row *room) {
  bool is_direct = is_whole(inst, n) && emu_exec(wave) == emu_all_lanes(wave);
  return is_direct ? &wave->v[inst->dst[n].reg] : room;
}

void emu_put32(emu_wave *wave, const emu_inst *inst, unsigned n, const emu_row *value) {
  emu_row *row = &wave->v[inst->dst[n].reg];
  if (value == row) return;
  if (is_whole(inst, n)) {
    emu_blend(wave, row, value, emu_lanes(wave));
    return;
  }
  emu_row merged, room;
  memcpy(&merged, value, wave->width * sizeof merged.u[0]);
  if (inst->encoding == EMU_ENC_SDWA) {
    if (emu_is_half(inst->op->dst[n])) EMU_FOR_LANES(wave) merged.u[lane] &= 0xffff;
    if (inst->mod.dst_sel != EMU_SEL_DWORD) insert_part(wave, inst, row, &merged);
  } else if (emu_is_half(inst->op->dst[n])) {
    insert_half(wave, inst, row, &merged);
  }
  emu_blend(wave, row, &merged, find_written(wave, inst, &room));
}

void emu_put64(emu_wave *wave, const emu_inst *inst, unsigned n, const emu_row64 *value) {
  emu_row *low = &wave->v[inst->dst[n].reg], *high = low + 1;
  emu_row room;
  const emu_row *lanes = find_written(wave, inst, &room);
  EMU_FOR_LANES(wave) {
    uint32_t kept = ~lanes->u[lane];
    low->u[lane] = ((uint32_t)value->u[lane] & ~kept) | (low->u[lane] & kept);
    high->u[lane] = ((uint32_t)(value->u[lane] >> 32) & ~kept) | (high->u[lane] & kept);
  }
}

void emu_put_mask(emu_wave *wave, const emu_inst *inst, unsigned n, const emu_row *value) {
  uint64_t mask = emu_ballot(wave, value);
  if (has_dpp(inst)) mask &= emu_written_lanes(wave, inst);
  if (inst->dst[n].kind == EMU_OPERAND_SGPR) emu_set_mask(wave, &inst->dst[n], mask);
  if (inst->op->flags & EMU_WRITES_EXEC) emu_set_exec(wave, mask);
}
