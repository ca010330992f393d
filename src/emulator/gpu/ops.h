/* All instructions the interpreter knows, by name: the tables of the class files joined. */
#ifndef ROC_EMULATOR_GPU_OPS_H
#define ROC_EMULATOR_GPU_OPS_H

#include "emulator/gpu/inst.h"

/* One table a class file, its last entry without a name. */
extern const emu_op emu_salu_ops[], emu_flow_ops[], emu_smem_ops[], emu_valu_int_ops[],
    emu_valu_cmp_ops[], emu_valu_lane_ops[], emu_valu_float_ops[], emu_valu_double_ops[],
    emu_valu_half_ops[], emu_valu_convert_ops[], emu_valu_trans_ops[], emu_valu_packed_ops[],
    emu_lds_ops[], emu_flat_ops[], emu_buffer_ops[];

/* The instruction of that name (without encoding suffix) on that generation; NULL: not known. */
const emu_op *emu_op_find(const char *name, emu_generation generation);
/* The rows of all tables, one after the other; NULL behind the last. */
const emu_op *emu_op_at(unsigned index);

/* Executes the instruction as all are while MODE has EMU_MODE_INDEX set: M0 moves the vector
 * registers it names.  Whoever sets or clears that bit makes the wavefront EMU_PAUSED, since loops
 * over instructions look at it between turns. */
void emu_run_indexed(emu_wave *wave, const emu_inst *inst);

#endif
