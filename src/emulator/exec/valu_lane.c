/* Instructions that move values between lanes, or to registers whose number is computed.
 *
 * v_readlane and its kin look at any lane, active or not; v_permlane reads inactive lanes only when
 * its first op_sel bit (FI, as DPP has it) is set.  gfx10's movrel family adds M0 to the number of
 * a register, gfx9's index mode does so for the vector instructions up to s_set_gpr_idx_off.  A
 * number that leaves the wavefront's registers reads v0 and writes nothing. */
#include "emulator/exec/mode.h"
#include "emulator/exec/ops.h"
#include "emulator/exec/rows.h"

/* ---- one lane ------------------------------------------------------------------------------ */

/* The lane that source `n` chooses; the hardware looks at as many bits as it has lanes. */
static uint32_t chosen_lane(const emu_wave *wave, const emu_inst *inst, unsigned n) {
  return emu_s32(wave, &inst->src[n]) & (wave->width - 1u);
}

static uint32_t read_lane(emu_wave *wave, const emu_operand *operand, uint32_t lane) {
  if (operand->kind != EMU_OPERAND_VGPR) return emu_s32(wave, operand);
  return wave->v[operand->reg].u[lane];
}

static void run_readlane_b32(emu_wave *wave, const emu_inst *inst) {
  uint32_t word = read_lane(wave, &inst->src[0], chosen_lane(wave, inst, 1));
  emu_set_s32(wave, &inst->dst[0], word);
}

/* The first active lane; lane 0 when there is none. */
static void run_readfirstlane_b32(emu_wave *wave, const emu_inst *inst) {
  uint64_t exec = emu_exec(wave);
  uint32_t first = exec == 0 ? 0 : (uint32_t)__builtin_ctzll(exec);
  emu_set_s32(wave, &inst->dst[0], read_lane(wave, &inst->src[0], first));
}

static void run_writelane_b32(emu_wave *wave, const emu_inst *inst) {
  uint32_t word = emu_s32(wave, &inst->src[0]);
  wave->v[inst->dst[0].reg].u[chosen_lane(wave, inst, 1)] = word;
}

/* ---- permutations within and between rows of 16 lanes -------------------------------------- */

enum { OP_SEL_FI = 1, OP_SEL_BOUND_CTRL = 2 };

/* Every lane reads, in its own row or (`across` = 16) in the other one of the pair, the lane that
 * its nibble of the two scalar sources names. */
static void permute_rows(emu_wave *wave, const emu_inst *inst, int across) {
  uint64_t selectors = emu_s32(wave, &inst->src[1]) | (uint64_t)emu_s32(wave, &inst->src[2]) << 32;
  uint64_t exec = emu_exec(wave);
  emu_row *row = &wave->v[inst->dst[0].reg];
  const emu_row old = wave->v[inst->src[0].reg];
  for (int lane = 0; lane < wave->width; lane++) {
    if (!(exec >> lane & 1)) continue;
    int from = ((lane & ~15) ^ across) | (int)(selectors >> 4 * (lane & 15) & 15);
    if ((exec >> from & 1) || (inst->mod.op_sel & OP_SEL_FI)) {
      row->u[lane] = old.u[from];
    } else if (inst->mod.op_sel & OP_SEL_BOUND_CTRL) {
      row->u[lane] = 0;
    }
  }
}

/* The same by a row of selectors, one a lane; inactive lanes are read. */
static void permute_rows_by_lane(emu_wave *wave, const emu_inst *inst, int across) {
  uint64_t exec = emu_exec(wave);
  emu_row *row = &wave->v[inst->dst[0].reg], room;
  const emu_row old = wave->v[inst->src[0].reg];
  const emu_row selectors = *emu_src32(wave, inst, 1, &room);
  for (int lane = 0; lane < wave->width; lane++) {
    int from = ((lane & ~15) ^ across) | (int)(selectors.u[lane] & 15);
    if (exec >> lane & 1) row->u[lane] = old.u[from];
  }
}

static void run_permlane16_var_b32(emu_wave *wave, const emu_inst *inst) {
  permute_rows_by_lane(wave, inst, 0);
}

static void run_permlanex16_var_b32(emu_wave *wave, const emu_inst *inst) {
  permute_rows_by_lane(wave, inst, 16);
}

static void run_permlane16_b32(emu_wave *wave, const emu_inst *inst) {
  permute_rows(wave, inst, 0);
}

static void run_permlanex16_b32(emu_wave *wave, const emu_inst *inst) {
  permute_rows(wave, inst, 16);
}

/* The two halves of a wavefront of 64 change places; inactive lanes are read. */
static void run_permlane64_b32(emu_wave *wave, const emu_inst *inst) {
  emu_row *out = &wave->v[inst->dst[0].reg];
  const emu_row old = wave->v[inst->src[0].reg], *lanes = emu_lanes(wave);
  for (int lane = 0; lane < wave->width && wave->width == 64; lane++) {
    if (lanes->u[lane]) out->u[lane] = old.u[lane ^ 32];
  }
}

/* Lanes of the source's lower rows change places with those of the destination's upper ones, a row
 * having `size` lanes. */
static void swap_rows(emu_wave *wave, const emu_inst *inst, int size) {
  emu_row *x = &wave->v[inst->dst[0].reg], *y = &wave->v[inst->src[0].reg];
  const emu_row old_x = *x, old_y = *y, *lanes = emu_lanes(wave);
  for (int lane = 0; lane < wave->width; lane++) {
    if (!lanes->u[lane]) continue;
    if (lane & size) {
      x->u[lane] = old_y.u[lane - size];
    } else {
      y->u[lane] = old_x.u[lane + size];
    }
  }
}

static void run_permlane16_swap_b32(emu_wave *wave, const emu_inst *inst) {
  swap_rows(wave, inst, 16);
}

static void run_permlane32_swap_b32(emu_wave *wave, const emu_inst *inst) {
  swap_rows(wave, inst, 32);
}

/* A half of one register changes places with a half of another. */
static void run_swap_b16(emu_wave *wave, const emu_inst *inst) {
  emu_row *x = &wave->v[inst->dst[0].reg], *y = &wave->v[inst->src[0].reg];
  unsigned x_shift = inst->mod.op_sel & 8 ? 16 : 0, y_shift = inst->mod.op_sel & 1 ? 16 : 0;
  const emu_row *lanes = emu_lanes(wave);
  for (int lane = 0; lane < wave->width; lane++) {
    if (!lanes->u[lane]) continue;
    uint32_t changed = (x->u[lane] >> x_shift ^ y->u[lane] >> y_shift) & 0xffff;
    x->u[lane] ^= changed << x_shift;
    y->u[lane] ^= changed << y_shift;
  }
}

/* ---- registers found through M0 ------------------------------------------------------------ */

/* What M0 adds to the number of the destination and of the source. */
typedef struct offsets {
  uint32_t dst, src;
} offsets;

static offsets split_m0(const emu_wave *wave) {
  uint32_t m0 = wave->s[EMU_SGPR_M0];
  return (offsets){m0 >> 16 & 0x3ff, m0 & 0x3ff};
}

static emu_row *find_row(emu_wave *wave, uint32_t reg, uint32_t offset) {
  uint64_t sum = (uint64_t)reg + offset;
  return sum < wave->nv ? &wave->v[sum] : NULL;
}

static void move_relative(emu_wave *wave, const emu_inst *inst, offsets by) {
  const emu_operand *operand = &inst->src[0];
  emu_row room;
  const emu_row *from;
  if (operand->kind == EMU_OPERAND_VGPR) {
    from = find_row(wave, operand->reg, by.src);
    if (from == NULL) from = &wave->v[0];
  } else {
    from = emu_src32(wave, inst, 0, &room);
  }
  emu_row *to = find_row(wave, inst->dst[0].reg, by.dst);
  if (to == NULL) return;
  const emu_row *lanes = emu_lanes(wave);
  EMU_FOR_LANES(wave) to->u[lane] = lanes->u[lane] ? from->u[lane] : to->u[lane];
}

static void run_movreld_b32(emu_wave *wave, const emu_inst *inst) {
  move_relative(wave, inst, (offsets){wave->s[EMU_SGPR_M0], 0});
}

static void run_movrels_b32(emu_wave *wave, const emu_inst *inst) {
  move_relative(wave, inst, (offsets){0, wave->s[EMU_SGPR_M0]});
}

static void run_movrelsd_b32(emu_wave *wave, const emu_inst *inst) {
  move_relative(wave, inst, (offsets){wave->s[EMU_SGPR_M0], wave->s[EMU_SGPR_M0]});
}

static void run_movrelsd_2_b32(emu_wave *wave, const emu_inst *inst) {
  move_relative(wave, inst, split_m0(wave));
}

static void run_swaprel_b32(emu_wave *wave, const emu_inst *inst) {
  offsets by = split_m0(wave);
  emu_row *x = find_row(wave, inst->dst[0].reg, by.dst);
  emu_row *y = find_row(wave, inst->src[0].reg, by.src);
  if (x == NULL || y == NULL) return;
  const emu_row *lanes = emu_lanes(wave);
  EMU_FOR_LANES(wave) {
    uint32_t changed = (x->u[lane] ^ y->u[lane]) & lanes->u[lane];
    x->u[lane] ^= changed;
    y->u[lane] ^= changed;
  }
}

/* ---- gfx9's index mode --------------------------------------------------------------------- */

/* AMD's Vega ISA manual, 3.9: MODE has the switch, M0 the index and, in bits 12 to 15, which
 * operands are indexed: sources 0 to 2, then the destination. */
enum { INDEXED_DST = 8 };

static void set_indexed(emu_wave *wave, int32_t which) {
  wave->s[EMU_SGPR_M0] = (wave->s[EMU_SGPR_M0] & ~0xf000u) | ((uint32_t)which & 15) << 12;
}

static void set_index(emu_wave *wave, const emu_inst *inst) {
  wave->s[EMU_SGPR_M0] = (wave->s[EMU_SGPR_M0] & ~0xffu) | (emu_s32(wave, &inst->src[0]) & 0xff);
}

/* Moves an operand by M0's index; false when that leaves the registers of its kind. */
static bool move_operand(const emu_wave *wave, emu_operand *operand) {
  if (operand->kind != EMU_OPERAND_VGPR) return true;
  uint32_t reg = operand->reg + (wave->s[EMU_SGPR_M0] & 0xff);
  uint32_t end = operand->reg < EMU_VGPRS / 2 ? wave->nv : EMU_VGPRS / 2 + wave->nacc;
  bool exists = reg + operand->nregs <= end;
  operand->reg = (uint16_t)(exists ? reg : 0);
  return exists;
}

void emu_run_indexed(emu_wave *wave, const emu_inst *inst) {
  bool is_vector = inst->op->class == EMU_CLASS_VALU || inst->op->class == EMU_CLASS_TRANS;
  if (inst->chip != EMU_GFX9 || !is_vector) {
    inst->run(wave, inst);
    return;
  }
  emu_inst moved = *inst;
  uint32_t which = wave->s[EMU_SGPR_M0] >> 12 & 15;
  for (unsigned n = 0; n < 3; n++) {
    if (which >> n & 1) move_operand(wave, &moved.src[n]);
  }
  if ((which & INDEXED_DST) && !move_operand(wave, &moved.dst[0])) return;
  moved.run(wave, &moved);
}

static void switch_index(emu_wave *wave, bool is_on) {
  wave->mode.raw = (wave->mode.raw & ~(uint32_t)EMU_MODE_INDEX) | (is_on ? EMU_MODE_INDEX : 0);
  if (wave->state == EMU_RUNNING) wave->state = EMU_PAUSED;
}

static void run_set_gpr_idx_on(emu_wave *wave, const emu_inst *inst) {
  set_index(wave, inst);
  set_indexed(wave, inst->imm);
  switch_index(wave, true);
}

static void run_set_gpr_idx_off(emu_wave *wave, const emu_inst *inst) {
  (void)inst;
  switch_index(wave, false);
}

static void run_set_gpr_idx_mode(emu_wave *wave, const emu_inst *inst) {
  set_indexed(wave, inst->imm);
}

static void run_set_gpr_idx_idx(emu_wave *wave, const emu_inst *inst) {
  set_index(wave, inst);
}

/* ---- the table ----------------------------------------------------------------------------- */

#define LANE(name, run, on, flags, ...)                 \
  {                                                     \
    name, run, on, EMU_CLASS_CROSS, flags, {EMU_B32}, { \
      __VA_ARGS__                                       \
    }                                                   \
  }
#define RELATIVE(name, run)                                             \
  {                                                                     \
    name, run, EMU_GFX10_ON, EMU_CLASS_VALU, EMU_READS_M0, {EMU_B32}, { \
      EMU_B32                                                           \
    }                                                                   \
  }
#define INDEXING(name, run, ...)                                     \
  {                                                                  \
    name, run, EMU_GFX9, EMU_CLASS_SALU, EMU_READS_M0, {EMU_NONE}, { \
      __VA_ARGS__                                                    \
    }                                                                \
  }

const emu_op emu_valu_lane_ops[] = {
    LANE("v_readlane_b32", run_readlane_b32, EMU_ALL, 0, EMU_B32, EMU_B32),
    LANE("v_readfirstlane_b32", run_readfirstlane_b32, EMU_ALL, 0, EMU_B32),
    LANE("v_writelane_b32", run_writelane_b32, EMU_ALL, 0, EMU_B32, EMU_B32),
    LANE("v_permlane16_b32", run_permlane16_b32, EMU_GFX10_ON, EMU_SELECTS, EMU_B32, EMU_B32,
         EMU_B32),
    LANE("v_permlanex16_b32", run_permlanex16_b32, EMU_GFX10_ON, EMU_SELECTS, EMU_B32, EMU_B32,
         EMU_B32),
    LANE("v_permlane16_var_b32", run_permlane16_var_b32, EMU_GFX12, 0, EMU_B32, EMU_B32),
    LANE("v_permlanex16_var_b32", run_permlanex16_var_b32, EMU_GFX12, 0, EMU_B32, EMU_B32),
    LANE("v_permlane16_swap_b32", run_permlane16_swap_b32, EMU_GFX9, 0, EMU_B32),
    LANE("v_permlane32_swap_b32", run_permlane32_swap_b32, EMU_GFX9, 0, EMU_B32),
    LANE("v_permlane64_b32", run_permlane64_b32, EMU_GFX11_ON, 0, EMU_B32),
    {"v_swap_b16", run_swap_b16, EMU_GFX11_ON, EMU_CLASS_VALU, 0, {EMU_B16}, {EMU_B16}},
    RELATIVE("v_movreld_b32", run_movreld_b32),
    RELATIVE("v_movrels_b32", run_movrels_b32),
    RELATIVE("v_movrelsd_b32", run_movrelsd_b32),
    RELATIVE("v_movrelsd_2_b32", run_movrelsd_2_b32),
    RELATIVE("v_swaprel_b32", run_swaprel_b32),
    INDEXING("s_set_gpr_idx_on", run_set_gpr_idx_on, EMU_B32),
    INDEXING("s_set_gpr_idx_idx", run_set_gpr_idx_idx, EMU_B32),
    INDEXING("s_set_gpr_idx_mode", run_set_gpr_idx_mode, EMU_NONE),
    INDEXING("s_set_gpr_idx_off", run_set_gpr_idx_off, EMU_NONE),
    {0}};
