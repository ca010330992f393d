/* Neighbouring elements as one access: where a work-item asks for elements beside each other, from a
 * place that is a multiple of their number.
 *
 * LLVM joins such accesses when it knows that the array begins at a multiple of 16 bytes and that
 * its rows are multiples of 16 bytes long.  Arrays usually do, but views need not.  So a kernel with
 * such accesses is there twice, and asks when it begins: in the first version the arrays' addresses
 * and lengths have their low bits masked away, which changes none of them there.
 *
 * What is found here decides only whether there are two versions.  What is one access, LLVM proves. */
#include "base/alloc.h"
#include "codegen/nvptx/nvptx.h"
#include "ir/walk.h"

enum {
  MAX_INSTS = 1000,   /* of a kernel that may be there twice */
  MAX_ACCESSES = 256, /* that are compared with each other */
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
  uint8_t *zeros; /* per variable: low bits that are always 0 */
} finder;

static const roc_ir_inst *inst_of(const finder *f, uint32_t id) {
  return &f->ir->insts.items[id];
}

/* ---- low bits ------------------------------------------------------------------------------ */

static unsigned least(unsigned a, unsigned b) {
  return a < b ? a : b;
}

static unsigned zeros_of(const finder *f, uint32_t id, unsigned depth) {
  const roc_ir_inst *inst = inst_of(f, id);
  unsigned zeros[2] = {0, 0};
  if (depth == MAX_DEPTH || inst->type != ROC_VT_INT) return 0;
  if (inst->op == ROC_IR_GET) return f->zeros[inst->aux];
  if (inst->op == ROC_IR_CONST) {
    return inst->k.i ? least((unsigned)__builtin_ctzll((uint64_t)inst->k.i), MANY_ZEROS)
                     : MANY_ZEROS;
  }
  for (unsigned n = 0; n < 2 && n < inst->nargs; n++) {
    zeros[n] = zeros_of(f, roc_ir_arg(f->ir, inst, n), depth + 1);
  }
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_ADD:
    case ROC_IR_SUB:
    case ROC_IR_MIN:
    case ROC_IR_MAX:
    case ROC_IR_MOD: return least(zeros[0], zeros[1]);
    case ROC_IR_MUL: return least(zeros[0] + zeros[1], MANY_ZEROS);
    case ROC_IR_BAND: return zeros[0] > zeros[1] ? zeros[0] : zeros[1];
    case ROC_IR_NEG: return zeros[0];
    default: return 0;
  }
}

static bool lower(finder *f, uint32_t var, unsigned zeros) {
  bool is_less = zeros < f->zeros[var];
  if (is_less) f->zeros[var] = (uint8_t)zeros;
  return is_less;
}

/* Each variable has as many as all that it is set to. */
static ROC_IR_WALKS void find_zeros(finder *f) {
  for (bool changes = true; changes;) {
    changes = false;
    roc_ir_walk w;
    ROC_IR_FOR_EACH(w, f->ir, 0) {
      bool is_for = w.inst->op == ROC_IR_FOR;
      if (!is_for && w.inst->op != ROC_IR_SET) continue;
      unsigned zeros = zeros_of(f, roc_ir_arg(f->ir, w.inst, 0), 0);
      if (is_for) zeros = least(zeros, zeros_of(f, roc_ir_arg(f->ir, w.inst, 2), 0));
      changes |= lower(f, w.inst->aux, zeros);
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
    bool is_even = of_a.offset % 2 != 0 && zeros_of(f, of_a.root, 0) > 0; /* indices are from 1 */
    if (d == inner && !is_even) return false;
  }
  return true;
}

static ROC_IR_WALKS uint32_t list_accesses(const roc_ir_module *ir, const roc_ir_inst **accesses) {
  uint32_t count = 0;
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, ir, 0) {
    if (w.inst->op != ROC_IR_LOAD && w.inst->op != ROC_IR_STORE) continue;
    if (!packed_array(ir, w.inst->aux)) continue;
    if (count == MAX_ACCESSES) return 0;
    accesses[count++] = w.inst;
  }
  return count;
}

bool *roc_nvptx_find_even(roc_cg *cg) {
  const roc_ir_module *ir = cg->ir;
  if (ir->insts.count > MAX_INSTS || cg->options->opt_level == 0) return NULL;
  bool *arrays = ROC_ARENA_ARRAY(&cg->arena, bool, ir->arrays.count + 1);
  const roc_ir_inst **accesses = ROC_ARENA_ARRAY(&cg->arena, const roc_ir_inst *, MAX_ACCESSES);
  finder f = {.ir = ir, .zeros = ROC_ARENA_ARRAY(&cg->arena, uint8_t, ir->vars.count + 1)};
  if (!arrays || !accesses || !f.zeros) return NULL;
  for (uint32_t v = 0; v < ir->vars.count; v++) f.zeros[v] = MANY_ZEROS;
  find_zeros(&f);
  uint32_t count = list_accesses(ir, accesses);
  bool has_any = false;
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t k = 0; k < count; k++) {
      if (!are_pair(&f, accesses[i], accesses[k])) continue;
      arrays[accesses[i]->aux] = has_any = true;
    }
  }
  return has_any ? arrays : NULL;
}

/* ---- the code ------------------------------------------------------------------------------ */

/* The low bits that are 0 in lengths of rows. */
static LLVMValueRef row_bits(roc_cg *cg, const roc_ir_array *array) {
  return roc_cg_i64(cg, ROC_NVPTX_ACCESS_BYTES / (int64_t)roc_dtype_itemsize(array->dtype) - 1);
}

static LLVMValueRef or_bits(roc_cg *cg, LLVMValueRef all, LLVMValueRef value, LLVMValueRef bits) {
  return LLVMBuildOr(cg->b, all, LLVMBuildAnd(cg->b, value, bits, ""), "");
}

/* The same bits, of which LLVM knows nothing: it would take masked values for those that they are
 * made of, and make one of both versions again. */
static LLVMValueRef hide(roc_cg *cg, LLVMValueRef bits) {
  LLVMTypeRef type = LLVMFunctionType(cg->t.i64, &cg->t.i64, 1, 0);
  LLVMValueRef same = LLVMGetInlineAsm(type, "", 0, "=l,0", 4, 0, 0, LLVMInlineAsmDialectATT, 0);
  return LLVMBuildCall2(cg->b, type, same, &bits, 1, "");
}

static LLVMValueRef are_even(roc_cg *cg, const bool *arrays) {
  LLVMValueRef all = roc_cg_i64(cg, 0), bits = roc_cg_i64(cg, ROC_NVPTX_ACCESS_BYTES - 1);
  for (uint32_t a = 0; a < cg->ir->arrays.count; a++) {
    const roc_ir_array *array = &cg->ir->arrays.items[a];
    if (!arrays[a]) continue;
    all = or_bits(cg, all, LLVMBuildPtrToInt(cg->b, cg->arrays[a].base, cg->t.i64, ""), bits);
    if (array->rank == 1) continue;
    LLVMValueRef length = cg->arrays[a].extents[inner_of(cg->ir, array)];
    all = or_bits(cg, all, length, row_bits(cg, array));
  }
  return LLVMBuildICmp(cg->b, LLVMIntEQ, hide(cg, all), roc_cg_i64(cg, 0), "");
}

static void mask(roc_cg *cg, uint32_t a) {
  const roc_ir_array *array = &cg->ir->arrays.items[a];
  roc_cg_array *own = &cg->arrays[a];
  uint32_t inner = inner_of(cg->ir, array);
  LLVMTypeRef types[2] = {LLVMTypeOf(own->base), cg->t.i64};
  LLVMValueRef args[2] = {own->base, roc_cg_i64(cg, -ROC_NVPTX_ACCESS_BYTES)};
  own->base = roc_cg_intrinsic(cg, "llvm.ptrmask", types, 2, args, 2);
  if (array->rank == 1) return;
  LLVMValueRef others = LLVMBuildNot(cg->b, row_bits(cg, array), "");
  own->lengths[inner] = LLVMBuildAnd(cg->b, own->extents[inner], others, "");
}

void roc_nvptx_even_body(roc_cg *cg, roc_nvptx_body *body) {
  const bool *arrays = roc_nvptx_state_of(cg)->even;
  LLVMBasicBlockRef even = roc_cg_block(cg, "even"), uneven = roc_cg_block(cg, "uneven");
  LLVMBasicBlockRef end = cg->exit;
  roc_cg_array *kept = ROC_ARENA_ARRAY(&cg->arena, roc_cg_array, cg->ir->arrays.count);
  if (!kept) return;
  roc_cg_branch_likely(cg, are_even(cg, arrays), even, uneven);
  roc_cg_at(cg, even);
  for (uint32_t a = 0; a < cg->ir->arrays.count; a++) {
    kept[a] = cg->arrays[a];
    if (arrays[a]) mask(cg, a);
  }
  cg->exit = roc_cg_block(cg, "even.end");
  body(cg);
  roc_cg_at(cg, cg->exit);
  roc_nvptx_keep_apart(cg);
  LLVMBuildBr(cg->b, end);
  cg->exit = end;
  for (uint32_t a = 0; a < cg->ir->arrays.count; a++) {
    if (arrays[a]) cg->arrays[a] = kept[a];
  }
  roc_cg_at(cg, uneven);
  body(cg);
}
