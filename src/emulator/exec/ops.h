/* All instructions the interpreter knows, by name: the tables of the class files joined. */
#ifndef ROC_EMULATOR_EXEC_OPS_H
#define ROC_EMULATOR_EXEC_OPS_H

#include "emulator/isa/inst.h"

/* One table a class file, its last entry without a name. */
extern const emu_op emu_salu_ops[], emu_hwreg_ops[], emu_flow_ops[], emu_smem_ops[],
    emu_valu_int_ops[], emu_valu_byte_ops[], emu_valu_cmp_ops[], emu_valu_lane_ops[],
    emu_valu_float_ops[], emu_valu_double_ops[], emu_valu_half_ops[], emu_valu_convert_ops[],
    emu_valu_trans_ops[], emu_valu_packed_ops[], emu_lds_ops[], emu_flat_ops[], emu_buffer_ops[],
    emu_matrix_ops[], emu_wave_matrix_ops[], emu_salu_float_ops[], emu_valu_scaled_ops[];

/* The vector instructions that stand for the rows of emu_salu_float_ops, in their order: names, and
 * rows, which are found when the first instruction is looked for. */
enum { EMU_VECTOR_OPS = 72 };
extern const char *const emu_vector_names[];
extern const emu_op *emu_vector_ops[EMU_VECTOR_OPS];

/* A row; the types of its sources follow that of its destination. */
#define EMU_ROW(name_, run_, generations_, class_, flags_, to, ...)                            \
  {                                                                                            \
    .name = name_, .run = run_, .generations = generations_, .class = class_, .flags = flags_, \
    .dst = {to}, .src = {                                                                      \
      __VA_ARGS__                                                                              \
    }                                                                                          \
  }

/* What stands between the parentheses: `EMU_LIST (a, b)` is `a, b`. */
#define EMU_LIST(...) __VA_ARGS__

/* A comparison's rows: v_cmp, and v_cmpx, which writes EXEC: on gfx9 beside its destination, on
 * gfx10 in place of one. */
/* clang-format off */
#define EMU_COMPARE_ROWS(name, run, A, B)                                                  \
  {"v_cmp_" name, run, EMU_ALL, EMU_CLASS_VALU, 0, {EMU_MASK}, {A, B}},                     \
  {"v_cmpx_" name, run, EMU_GFX9, EMU_CLASS_VALU, EMU_WRITES_EXEC, {EMU_MASK}, {A, B}},     \
  {"v_cmpx_" name, run, EMU_GFX10_ON, EMU_CLASS_VALU, EMU_WRITES_EXEC, {EMU_NONE}, {A, B}},
/* clang-format on */

/* The instruction of that name (without encoding suffix) on that generation; NULL: not known. */
const emu_op *emu_op_find(const char *name, emu_generation generation);
/* The rows of all tables, one after the other; NULL after the last. */
const emu_op *emu_op_at(unsigned index);

/* Executes the instruction as all are while MODE has EMU_MODE_INDEX set: M0 moves the vector
 * registers it names. An instruction that sets or clears that bit also makes the wavefront
 * EMU_PAUSED, since loops over instructions look at the bit between turns. */
void emu_run_indexed(emu_wave *wave, const emu_inst *inst);

#endif
