/* Scalar instructions on floats: each computes what the vector instruction of the same name does
 * for one lane, under the same mode, and is executed as that.
 *
 * The vector instruction gets lane 0 alone and, for its result, a row after those that a kernel can
 * name; of a result of 16 bits the upper half of the scalar register becomes 0.  AMD's RDNA 4 ISA
 * manual, "Scalar float". */
#include "emulator/exec/ops.h"
#include "emulator/isa/wave.h"

enum { ASIDE = EMU_VGPRS - 1 };

/* Executes `vector`, made of the scalar instruction, for lane 0. */
static void run_lane_0(emu_wave *wave, emu_inst *vector) {
  uint64_t exec = emu_exec(wave);
  emu_set_exec(wave, 1);
  vector->run(wave, vector);
  emu_set_exec(wave, exec);
}

static emu_inst make_vector(const emu_inst *inst) {
  emu_inst vector = *inst;
  vector.op = emu_vector_ops[inst->op - emu_salu_float_ops];
  vector.run = vector.op->run;
  return vector;
}

static void run_with(emu_wave *wave, const emu_inst *inst, uint32_t old, uint8_t op_sel) {
  emu_inst vector = make_vector(inst);
  vector.dst[0] = (emu_operand){.kind = EMU_OPERAND_VGPR, .nregs = 1, .reg = ASIDE};
  vector.mod.op_sel |= op_sel;
  wave->v[ASIDE].u[0] = old;
  run_lane_0(wave, &vector);
  bool is_half = inst->op->dst[0] == EMU_F16;
  uint32_t result = wave->v[ASIDE].u[0];
  emu_set_s32(wave, &inst->dst[0], is_half ? result & 0xffff : result);
}

static void run_op(emu_wave *wave, const emu_inst *inst) {
  run_with(wave, inst, 0, 0);
}

static void run_accumulate(emu_wave *wave, const emu_inst *inst) {
  run_with(wave, inst, emu_s32(wave, &inst->dst[0]), 0);
}

static void run_upper(emu_wave *wave, const emu_inst *inst) {
  run_with(wave, inst, 0, 1);
}

/* The mask goes to VCC, which is put back. */
static void run_compare(emu_wave *wave, const emu_inst *inst) {
  emu_inst vector = make_vector(inst);
  const emu_operand pair = {.kind = EMU_OPERAND_SGPR, .nregs = 2, .reg = EMU_SGPR_VCC};
  uint64_t vcc = emu_s64(wave, &pair);
  vector.dst[0] = pair;
  run_lane_0(wave, &vector);
  wave->scc = wave->s[EMU_SGPR_VCC] & 1;
  emu_set_s64(wave, &pair, vcc);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* clang-format off */
#define ROW(text, run, class, results, sources) \
  {text, run, EMU_GFX12, class, 0, {EMU_LIST results}, {EMU_LIST sources}},
#define SCALAR(name, run, results, sources) \
  ROW("s_" #name, run, EMU_CLASS_SALU, results, sources)
#define OP(name, vector, results, sources) SCALAR(name, run_op, results, sources)
#define ACCUMULATE(name, vector, type) SCALAR(name, run_accumulate, (type), (type, type))
#define UPPER(name, vector, results, sources) SCALAR(name, run_upper, results, sources)
#define COMPARE(name, type) SCALAR(cmp_##name, run_compare, (EMU_NONE), (type, type))
#define TRANS(name, type) ROW("v_s_" #name, run_op, EMU_CLASS_TRANS, (type), (type))

const emu_op emu_salu_float_ops[] = {
#include "emulator/exec/salu_float.def"
  {.name = NULL},
};
#undef OP
#undef ACCUMULATE
#undef UPPER
#undef COMPARE
#undef TRANS

#define OP(name, vector, results, sources) "v_" #vector,
#define ACCUMULATE(name, vector, type) "v_" #vector,
#define UPPER(name, vector, results, sources) "v_" #vector,
#define COMPARE(name, type) "v_cmp_" #name,
#define TRANS(name, type) "v_" #name,

const char *const emu_vector_names[] = {
#include "emulator/exec/salu_float.def"
};
/* clang-format on */

_Static_assert(sizeof emu_vector_names / sizeof emu_vector_names[0] == EMU_VECTOR_OPS,
               "there is a vector instruction for each scalar one");
const emu_op *emu_vector_ops[EMU_VECTOR_OPS];
