/* Neighbouring elements as one access: where a work-item asks for elements beside each other, from a
 * place that is a multiple of their number.
 *
 * LLVM joins such accesses when it knows how the first of them is aligned.  That follows from its
 * place where the array begins at a multiple of 16 bytes and its rows are multiples of 16 bytes long.
 * Arrays usually do, but views need not.  So a kernel with such accesses is there twice, and asks
 * when it begins. */
#include "base/alloc.h"
#include "codegen/nvptx/nvptx.h"
#include "ir/walk.h"

enum {
  MAX_INSTS = 1000,   /* of a kernel that may be there twice */
  MAX_ACCESSES = 128, /* that are compared with each other */
  MAX_DEPTH = 16,     /* of an index */
  MANY_ZEROS = 16
};

/* An index as a value and a constant. */
typedef struct place {
  uint32_t root;
  int64_t offset;
} place;

typedef struct finder {
  const roc_ir_module *ir;
  uint8_t *of_vars, *of_insts; /* of variables and results: low bits that are always 0 */
} finder;

static const roc_ir_inst *inst_of(const finder *f, uint32_t id) {
  return &f->ir->insts.items[id];
}

/* ---- low bits ------------------------------------------------------------------------------ */

static unsigned least(unsigned a, unsigned b) {
  return a < b ? a : b;
}

static unsigned most(unsigned a, unsigned b) {
  return a > b ? a : b;
}

static unsigned zeros_in(int64_t value) {
  return value ? least((unsigned)__builtin_ctzll((uint64_t)value), MANY_ZEROS) : MANY_ZEROS;
}

static unsigned zeros_of(const finder *f, const roc_ir_inst *inst, uint32_t n) {
  return f->of_insts[roc_ir_arg(f->ir, inst, n)];
}

/* Of the result, by those of the operands. */
static unsigned find_result(const finder *f, const roc_ir_inst *inst) {
  if (inst->type != ROC_VT_INT) return 0;
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_CONST: return zeros_in(inst->k.i);
    case ROC_IR_GET: return f->of_vars[inst->aux];
    case ROC_IR_NEG: return zeros_of(f, inst, 0);
    case ROC_IR_MUL: return least(zeros_of(f, inst, 0) + zeros_of(f, inst, 1), MANY_ZEROS);
    case ROC_IR_BAND: return most(zeros_of(f, inst, 0), zeros_of(f, inst, 1));
    case ROC_IR_ADD:
    case ROC_IR_SUB:
    case ROC_IR_MIN:
    case ROC_IR_MAX:
    case ROC_IR_MOD: return least(zeros_of(f, inst, 0), zeros_of(f, inst, 1));
    default: return 0;
  }
}

/* A variable has as many as all that it is set to.  False: it has less than was thought. */
static bool holds_for(finder *f, const roc_ir_inst *inst) {
  bool is_for = inst->op == ROC_IR_FOR;
  if (!is_for && inst->op != ROC_IR_SET) return true;
  unsigned zeros = zeros_of(f, inst, 0);
  if (is_for) zeros = least(zeros, zeros_of(f, inst, 2));
  bool holds = zeros >= f->of_vars[inst->aux];
  if (!holds) f->of_vars[inst->aux] = (uint8_t)zeros;
  return holds;
}

static ROC_IR_WALKS void find_zeros(finder *f) {
  for (uint32_t v = 0; v < f->ir->vars.count; v++) f->of_vars[v] = MANY_ZEROS;
  for (bool holds = false; !holds;) {
    holds = true;
    roc_ir_walk w;
    ROC_IR_FOR_EACH(w, f->ir, 0) {
      f->of_insts[w.id] = (uint8_t)find_result(f, w.inst);
      holds &= holds_for(f, w.inst);
    }
  }
}

/* ---- neighbours ---------------------------------------------------------------------------- */

static place place_of(const finder *f, uint32_t id) {
  place p = {id, 0};
  for (unsigned depth = 0; depth < MAX_DEPTH; depth++) {
    const roc_ir_inst *inst = inst_of(f, p.root);
    if (inst->op != ROC_IR_ADD && inst->op != ROC_IR_SUB) break;
    const roc_ir_inst *by = inst_of(f, roc_ir_arg(f->ir, inst, 1));
    if (by->op != ROC_IR_CONST || by->type != ROC_VT_INT) break;
    uint64_t k = (uint64_t)by->k.i, sum = (uint64_t)p.offset;
    p.offset = (int64_t)(inst->op == ROC_IR_ADD ? sum + k : sum - k);
    p.root = roc_ir_arg(f->ir, inst, 0);
  }
  return p;
}

static bool is_same(const finder *f, uint32_t a, uint32_t b) {
  const roc_ir_inst *x = inst_of(f, a), *y = inst_of(f, b);
  return a == b || (x->op == ROC_IR_GET && y->op == ROC_IR_GET && x->aux == y->aux);
}

static const roc_ir_array *packed_array(const roc_ir_module *ir, uint32_t index) {
  const roc_ir_array *array = &ir->arrays.items[index];
  if (array->kind != ROC_IR_ARRAY_PARAM) return NULL;
  const roc_arg_type *type = &ir->params.items[array->param].type;
  bool is_small = roc_dtype_itemsize(array->dtype) < ROC_NVPTX_ACCESS_BYTES;
  return type->layout != ROC_LAYOUT_STRIDED && !type->is_alias && is_small ? array : NULL;
}

/* The dimension in which elements lie beside each other. */
static uint32_t inner_of(const roc_ir_module *ir, const roc_ir_array *array) {
  return ir->params.items[array->param].type.layout == ROC_LAYOUT_C ? array->rank - 1u : 0;
}

/* Low bits of the element's place in its row, counted from 0, that are always 0. */
static unsigned zeros_of_place(const finder *f, place p) {
  unsigned zeros = zeros_in((int64_t)((uint64_t)p.offset - 1));
  return least(zeros, f->of_insts[p.root]);
}

/* Whether `b` is at the element after that of `a`, whose place from 0 is even. */
static bool are_pair(const finder *f, const roc_ir_inst *a, const roc_ir_inst *b) {
  if (a->op != b->op || a->aux != b->aux) return false;
  const roc_ir_array *array = &f->ir->arrays.items[a->aux];
  uint32_t first = a->op == ROC_IR_STORE, inner = inner_of(f->ir, array);
  for (uint32_t d = 0; d < array->rank; d++) {
    place of_a = place_of(f, roc_ir_arg(f->ir, a, first + d));
    place of_b = place_of(f, roc_ir_arg(f->ir, b, first + d));
    int64_t distance = d == inner;
    if (!is_same(f, of_a.root, of_b.root) || of_b.offset - of_a.offset != distance) return false;
    if (d == inner && zeros_of_place(f, of_a) == 0) return false;
  }
  return true;
}

static ROC_IR_WALKS uint32_t list_accesses(const roc_ir_module *ir, uint32_t *accesses) {
  uint32_t count = 0;
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, ir, 0) {
    if (w.inst->op != ROC_IR_LOAD && w.inst->op != ROC_IR_STORE) continue;
    if (!packed_array(ir, w.inst->aux)) continue;
    if (count == MAX_ACCESSES) return 0;
    accesses[count++] = w.id;
  }
  return count;
}

/* The bytes that an access is aligned to, where the array and its rows are. */
static uint32_t alignment_of(const finder *f, const roc_ir_inst *inst) {
  const roc_ir_array *array = &f->ir->arrays.items[inst->aux];
  uint32_t index = (inst->op == ROC_IR_STORE) + inner_of(f->ir, array);
  unsigned zeros = zeros_of_place(f, place_of(f, roc_ir_arg(f->ir, inst, index)));
  return least((unsigned)roc_dtype_itemsize(array->dtype) << zeros, ROC_NVPTX_ACCESS_BYTES);
}

static bool find_pairs(const finder *f, const uint32_t *accesses, uint32_t count, bool *arrays) {
  bool has_any = false;
  for (uint32_t i = 0; i < count; i++) {
    const roc_ir_inst *inst = inst_of(f, accesses[i]);
    for (uint32_t k = 0; k < count && !arrays[inst->aux]; k++) {
      arrays[inst->aux] = are_pair(f, inst, inst_of(f, accesses[k]));
    }
    has_any |= arrays[inst->aux];
  }
  return has_any;
}

roc_nvptx_even *roc_nvptx_find_even(roc_cg *cg) {
  const roc_ir_module *ir = cg->ir;
  if (ir->insts.count > MAX_INSTS || cg->options->opt_level == 0) return NULL;
  roc_nvptx_even *even = ROC_ARENA_NEW(&cg->arena, roc_nvptx_even);
  uint32_t *accesses = ROC_ARENA_ARRAY(&cg->arena, uint32_t, MAX_ACCESSES);
  finder f = {.ir = ir,
              .of_vars = ROC_ARENA_ARRAY(&cg->arena, uint8_t, ir->vars.count + 1),
              .of_insts = ROC_ARENA_ARRAY(&cg->arena, uint8_t, ir->insts.count + 1)};
  if (!even || !accesses || !f.of_vars || !f.of_insts) return NULL;
  even->arrays = ROC_ARENA_ARRAY(&cg->arena, bool, ir->arrays.count + 1);
  even->alignments = ROC_ARENA_ARRAY(&cg->arena, uint8_t, ir->insts.count + 1);
  if (!even->arrays || !even->alignments) return NULL;
  find_zeros(&f);
  uint32_t count = list_accesses(ir, accesses);
  if (!find_pairs(&f, accesses, count, even->arrays)) return NULL;
  for (uint32_t i = 0; i < count; i++) {
    const roc_ir_inst *inst = inst_of(&f, accesses[i]);
    if (even->arrays[inst->aux]) even->alignments[accesses[i]] = (uint8_t)alignment_of(&f, inst);
  }
  return even;
}

/* ---- the code ------------------------------------------------------------------------------ */

static LLVMValueRef or_bits(roc_cg *cg, LLVMValueRef all, LLVMValueRef value, int64_t unit) {
  LLVMValueRef bits = LLVMBuildAnd(cg->b, value, roc_cg_i64(cg, unit - 1), "");
  return LLVMBuildOr(cg->b, all, bits, "");
}

static LLVMValueRef are_even(roc_cg *cg, const bool *arrays) {
  LLVMValueRef all = roc_cg_i64(cg, 0);
  for (uint32_t a = 0; a < cg->ir->arrays.count; a++) {
    const roc_ir_array *array = &cg->ir->arrays.items[a];
    if (!arrays[a]) continue;
    LLVMValueRef address = LLVMBuildPtrToInt(cg->b, cg->arrays[a].base, cg->t.i64, "");
    all = or_bits(cg, all, address, ROC_NVPTX_ACCESS_BYTES);
    if (array->rank == 1) continue;
    int64_t unit = ROC_NVPTX_ACCESS_BYTES / (int64_t)roc_dtype_itemsize(array->dtype);
    all = or_bits(cg, all, cg->arrays[a].extents[inner_of(cg->ir, array)], unit);
  }
  return LLVMBuildICmp(cg->b, LLVMIntEQ, all, roc_cg_i64(cg, 0), "");
}

/* The array's begin, which LLVM does not take for that of the other version: it would move what both
 * access out of them, with the alignment of the other. */
static LLVMValueRef hide(roc_cg *cg, LLVMValueRef base) {
  LLVMTypeRef type = LLVMTypeOf(base), types[2] = {type, cg->t.i64};
  LLVMTypeRef of_bits = LLVMFunctionType(cg->t.i64, NULL, 0, 0);
  LLVMValueRef all_bits =
      LLVMGetInlineAsm(of_bits, "mov.b64 $0, -1;", 15, "=l", 2, 0, 0, LLVMInlineAsmDialectATT, 0);
  LLVMValueRef args[2] = {base, LLVMBuildCall2(cg->b, of_bits, all_bits, NULL, 0, "")};
  return roc_cg_intrinsic(cg, "llvm.ptrmask", types, 2, args, 2);
}

void roc_nvptx_even_body(roc_cg *cg, roc_nvptx_body *body) {
  roc_nvptx_even *even = roc_nvptx_state_of(cg)->even;
  LLVMBasicBlockRef yes = roc_cg_block(cg, "even"), no = roc_cg_block(cg, "uneven");
  LLVMBasicBlockRef end = cg->exit;
  LLVMValueRef *bases = ROC_ARENA_ARRAY(&cg->arena, LLVMValueRef, cg->ir->arrays.count + 1);
  if (!bases) return;
  roc_cg_branch_likely(cg, are_even(cg, even->arrays), yes, no);
  roc_cg_at(cg, yes);
  for (uint32_t a = 0; a < cg->ir->arrays.count; a++) {
    bases[a] = cg->arrays[a].base;
    if (even->arrays[a]) cg->arrays[a].base = hide(cg, bases[a]);
  }
  even->is_current = true;
  cg->exit = roc_cg_block(cg, "even.end");
  body(cg);
  even->is_current = false;
  for (uint32_t a = 0; a < cg->ir->arrays.count; a++) {
    if (even->arrays[a]) cg->arrays[a].base = bases[a];
  }
  roc_cg_at(cg, cg->exit);
  roc_nvptx_keep_apart(cg);
  LLVMBuildBr(cg->b, end);
  cg->exit = end;
  roc_cg_at(cg, no);
  body(cg);
}

bool roc_nvptx_even_intercept(roc_cg *cg, uint32_t id) {
  const roc_nvptx_even *even = roc_nvptx_state_of(cg)->even;
  if (!even || !even->is_current || !even->alignments[id]) return false;
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  cg->element_align = even->alignments[id];
  if (inst->op == ROC_IR_LOAD) {
    roc_cg_define(cg, id, roc_cg_load_inst(cg, inst));
  } else {
    roc_cg_store_inst(cg, inst);
  }
  cg->element_align = 0;
  return true;
}
