/* Arrays whose rows are short: points, colours, quaternions.
 *
 * `p[i][1]`, `p[i][2]` and `p[i][3]` lie as far apart from item to item as a row is long, which the
 * launch alone knows.  LLVM then gathers each of them.  A kernel that takes the elements of a row by
 * constants alone is most likely launched with rows of just that length: for these it has a version
 * in which the length is a constant.  There LLVM loads what neighbouring items have as it lies, and
 * parts it by shuffles. */
#include "codegen/cpu/cpu.h"
#include "ir/walk.h"

enum {
  MOST_LENGTH = 8, /* of rows that LLVM parts by shuffles */
  MAX_INSTS = 1000 /* a larger kernel is not emitted once more */
};

/* The dimension whose elements are neighbours; false: there is none, or no row. */
static bool row_dimension(const roc_cg *cg, uint32_t a, uint32_t *out_dim) {
  const roc_ir_array *array = &cg->ir->arrays.items[a];
  if (array->kind != ROC_IR_ARRAY_PARAM || array->rank < 2) return false;
  uint8_t layout = cg->ir->params.items[array->param].type.layout;
  *out_dim = layout == ROC_LAYOUT_C ? array->rank - 1u : 0;
  return layout != ROC_LAYOUT_STRIDED;
}

/* The largest value of an index that constants tell; 0: they do not. */
static int64_t largest_of(const cpu_state *s, uint32_t index) {
  const roc_ir_module *ir = s->cg->ir;
  const roc_ir_inst *inst = &ir->insts.items[index];
  if (inst->op == ROC_IR_CONST) return inst->k.i;
  uint32_t loop = inst->op == ROC_IR_GET ? s->plan.for_of[inst->aux] : ROC_IR_NONE;
  if (loop == ROC_IR_NONE || !cpu_is_short_for(ir, &ir->insts.items[loop])) return 0;
  const roc_ir_inst *first = &ir->insts.items[roc_ir_arg(ir, &ir->insts.items[loop], 0)];
  const roc_ir_inst *last = &ir->insts.items[roc_ir_arg(ir, &ir->insts.items[loop], 1)];
  return first->k.i > last->k.i ? first->k.i : last->k.i;
}

/* Whether neighbouring items take neighbouring rows. */
static bool goes_by_rows(const cpu_state *s, const uint32_t *indices, uint32_t rank, uint32_t row) {
  bool any = false;
  for (uint32_t d = 0; d < rank; d++) {
    int64_t slope;
    if (d == row) continue;
    bool is_next = d == (row ? row - 1 : 1);
    if (!cpu_slope(s, indices[d], &slope) || (!is_next && slope != 0)) return false;
    any |= is_next && slope == 1;
  }
  return any;
}

/* The length that rows of array `a` most likely have; 0: nothing tells. */
static int64_t likely_length(const cpu_state *s, uint32_t a) {
  const roc_ir_module *ir = s->cg->ir;
  uint32_t row, rank = ir->arrays.items[a].rank;
  if (!row_dimension(s->cg, a, &row)) return 0;
  int64_t length = 0;
  bool any = false;
  for (uint32_t id = 0; id < ir->insts.count; id++) {
    const roc_ir_inst *inst = &ir->insts.items[id];
    bool is_access =
        inst->op == ROC_IR_LOAD || inst->op == ROC_IR_STORE || inst->op == ROC_IR_ATOMIC;
    if (!s->plan.home[id] || !is_access || inst->aux != a) continue;
    uint32_t indices[ROC_MAX_RANK];
    uint32_t from = inst->op == ROC_IR_STORE;
    for (uint32_t d = 0; d < rank; d++) indices[d] = roc_ir_arg(ir, inst, from + d);
    int64_t largest = largest_of(s, indices[row]);
    if (largest < 1 || largest > MOST_LENGTH) return 0;
    if (largest > length) length = largest;
    any |= goes_by_rows(s, indices, rank, row);
  }
  return any && length > 1 ? length : 0;
}

LLVMValueRef cpu_tuples_fit(cpu_state *s) {
  roc_cg *cg = s->cg;
  LLVMValueRef all = NULL;
  if (cg->ir->insts.count > MAX_INSTS || cg->options->opt_level == 0) return NULL;
  for (uint32_t a = 0; a < cg->ir->arrays.count; a++) {
    uint32_t row;
    int64_t length = likely_length(s, a);
    if (!length || !row_dimension(cg, a, &row)) continue;
    s->tuple_lengths[a] = roc_cg_i64(cg, length);
    LLVMValueRef extent = cg->arrays[a].extents[row];
    LLVMValueRef fits = LLVMBuildICmp(cg->b, LLVMIntEQ, extent, s->tuple_lengths[a], "");
    all = all ? LLVMBuildAnd(cg->b, all, fits, "") : fits;
  }
  return all;
}

void cpu_tuples_swap(cpu_state *s) {
  for (uint32_t a = 0; a < s->cg->ir->arrays.count; a++) {
    uint32_t row;
    if (!s->tuple_lengths[a] || !row_dimension(s->cg, a, &row)) continue;
    LLVMValueRef *length = &s->cg->arrays[a].lengths[row], other = s->tuple_lengths[a];
    s->tuple_lengths[a] = *length;
    *length = other;
  }
}
