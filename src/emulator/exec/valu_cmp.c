/* Integer comparisons of vector instructions: v_cmp_* and v_cmpx_* of 16, 32 and 64 bits.
 *
 * A comparison writes a lane mask in which inactive lanes are 0.  v_cmpx sets EXEC to that mask, on
 * gfx9 beside its destination, on gfx10 in place of one: emu_put_mask (rows.c) does both, as the
 * table's flag says. */
#include "emulator/exec/ops.h"
#include "emulator/exec/rows.h"

/* The relations: X(name, type, view, condition of a and b). */
#define RELATIONS(X, type, view) \
  X(lt, type, view, a < b)       \
  X(eq, type, view, a == b)      \
  X(le, type, view, a <= b)      \
  X(gt, type, view, a > b)       \
  X(ne, type, view, a != b)      \
  X(ge, type, view, a >= b)
/* The types, and the views (rows.h) of their rows. */
#define TYPES(X) X(i16, I16) X(u16, U16) X(i32, I32) X(u32, U32) X(i64, I64) X(u64, U64)

#define DEFINE(relation, type, view, condition) \
  EMU_LANES_2(run_cmp_##relation##_##type, MASK, view, view, condition)
#define DEFINE_ALL(type, view) RELATIONS(DEFINE, type, view)
TYPES(DEFINE_ALL)

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
#define ROWS(relation, type, view, condition) \
  EMU_COMPARE_ROWS(#relation "_" #type, run_cmp_##relation##_##type, EMU_TYPE_##view, EMU_TYPE_##view)
#define ALL_ROWS(type, view)                                                      \
  EMU_COMPARE_ROWS("f_" #type, run_cmp_f, EMU_TYPE_##view, EMU_TYPE_##view)       \
  RELATIONS(ROWS, type, view)                                                     \
  EMU_COMPARE_ROWS("t_" #type, run_cmp_t, EMU_TYPE_##view, EMU_TYPE_##view)

const emu_op emu_valu_cmp_ops[] = {
  TYPES(ALL_ROWS)
  {.name = NULL},
};
