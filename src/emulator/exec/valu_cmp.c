/* Integer comparisons of vector instructions: v_cmp_* and v_cmpx_* of 16, 32 and 64 bits.
 *
 * A comparison writes a lane mask in which inactive lanes are 0.  v_cmpx sets EXEC to that mask, on
 * gfx9 beside its destination, on gfx10 in place of one: emu_put_mask (rows.c) does both, as the
 * table's flag says. */
#include "emulator/exec/ops.h"
#include "emulator/exec/rows.h"

/* What is compared, over every type and relation. */
#define COMPARISONS(T, view)                            \
  EMU_LANES_2(run_cmp_lt_##T, MASK, view, view, a < b)  \
  EMU_LANES_2(run_cmp_eq_##T, MASK, view, view, a == b) \
  EMU_LANES_2(run_cmp_le_##T, MASK, view, view, a <= b) \
  EMU_LANES_2(run_cmp_gt_##T, MASK, view, view, a > b)  \
  EMU_LANES_2(run_cmp_ne_##T, MASK, view, view, a != b) \
  EMU_LANES_2(run_cmp_ge_##T, MASK, view, view, a >= b)

COMPARISONS(i16, I16)
COMPARISONS(u16, U16)
COMPARISONS(i32, I32)
COMPARISONS(u32, U32)
COMPARISONS(i64, I64)
COMPARISONS(u64, U64)

static void put_constant(emu_wave *wave, const emu_inst *inst, uint64_t mask) {
  emu_row row;
  emu_spread_mask(mask, &row);
  emu_put_mask(wave, inst, 0, &row);
}

/* Never and always true. */
static void run_cmp_f(emu_wave *wave, const emu_inst *inst) {
  put_constant(wave, inst, 0);
}
static void run_cmp_t(emu_wave *wave, const emu_inst *inst) {
  put_constant(wave, inst, UINT64_MAX);
}

/* clang-format off */
#define RELATIONS(T, type)                                \
  EMU_COMPARE_ROWS("f_" #T, run_cmp_f, type, type),       \
  EMU_COMPARE_ROWS("lt_" #T, run_cmp_lt_##T, type, type), \
  EMU_COMPARE_ROWS("eq_" #T, run_cmp_eq_##T, type, type), \
  EMU_COMPARE_ROWS("le_" #T, run_cmp_le_##T, type, type), \
  EMU_COMPARE_ROWS("gt_" #T, run_cmp_gt_##T, type, type), \
  EMU_COMPARE_ROWS("ne_" #T, run_cmp_ne_##T, type, type), \
  EMU_COMPARE_ROWS("ge_" #T, run_cmp_ge_##T, type, type), \
  EMU_COMPARE_ROWS("t_" #T, run_cmp_t, type, type)

const emu_op emu_valu_cmp_ops[] = {
  RELATIONS(i16, EMU_B16),
  RELATIONS(u16, EMU_B16),
  RELATIONS(i32, EMU_B32),
  RELATIONS(u32, EMU_B32),
  RELATIONS(i64, EMU_I64),
  RELATIONS(u64, EMU_B64),
  {.name = NULL},
};
