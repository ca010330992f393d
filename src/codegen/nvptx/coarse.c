/* Thread coarsening: a thread that runs several neighbouring work-items, whose elements are one
 * access of 16 bytes.
 *
 * It is for element-wise kernels: those that work-items cannot tell it of, and that access arrays
 * at the id of dimension 1 in the innermost dimension, or where all the items of a thread do. The
 * launch decides (base/nvptx_abi.h); only the mapping of items to threads is another then, so ids,
 * checks and messages stay what they are.
 *
 * The code is there twice. When all items of the thread are in the grid and go through the kernel's
 * guards alike, each guard's condition is computed for all of them, and then their code is one
 * block, in which LLVM joins loads and stores. Otherwise, and in a launch that is not coarse, a
 * loop runs one after the other.
 *
 * Invariant: what is computed in front of the guards has no effect and may be computed for items
 * that are not to get there; of a condition after another the value is not looked at for these. */
#include <stddef.h>

#include "base/alloc.h"
#include "codegen/nvptx/nvptx.h"
#include "ir/walk.h"

enum {
  MAX_WEIGHT = 96, /* of a kernel: larger ones gain little, and their code multiplies */
  MATH_WEIGHT = 12,
  MAX_DEPTH = 16 /* of an index or a condition */
};

/* Which branch of an IF all items of the thread take together. */
typedef enum branch { BRANCH_NONE, BRANCH_THEN, BRANCH_ELSE } branch;

static const roc_ir_inst *inst_of(const roc_cg *cg, uint32_t id) {
  return &cg->ir->insts.items[id];
}

static const roc_ir_ids *region_of(const roc_cg *cg, uint32_t region) {
  return &cg->ir->regions.items[region];
}

static uint32_t taken_region(const roc_ir_inst *inst, uint8_t taken) {
  return inst->k.region[taken == BRANCH_THEN ? 0 : 1];
}

static uint32_t other_region(const roc_ir_inst *inst, uint8_t taken) {
  return inst->k.region[taken == BRANCH_THEN ? 1 : 0];
}

static bool ends_in_return(const roc_cg *cg, uint32_t region) {
  const roc_ir_ids *ids = region_of(cg, region);
  return ids->count && inst_of(cg, roc_vec_last(ids))->op == ROC_IR_RETURN;
}

/* What may stand in front of a guard. */
static bool is_idle(const roc_ir_inst *inst) {
  return inst->op == ROC_IR_GET || inst->op == ROC_IR_SET ||
         (roc_ir_op_table[inst->op].flags & ROC_IRF_PURE);
}

/* ---- which kernels ------------------------------------------------------------------------- */

typedef struct finder {
  roc_cg *cg;
  roc_nvptx_coarse *found;
  uint32_t weight, widest; /* bytes of the largest element that moves with the items */
  bool is_past_guards;     /* something other than conditions has been met */
  bool is_closed;          /* not all items that get here have taken the same branch */
  bool has_ended;
} finder;

/* How a value changes from an item of the thread to the next. */
typedef enum change { CHANGE_NONE, CHANGE_LINEAR, CHANGE_OTHER } change;

static change change_of(const roc_cg *cg, uint32_t id, unsigned depth) {
  const roc_ir_inst *inst = inst_of(cg, id);
  if (inst->op == ROC_IR_GLOBAL_ID || inst->op == ROC_IR_LOCAL_ID) {
    return inst->aux == 0 ? CHANGE_LINEAR : CHANGE_NONE;
  }
  bool is_pure = roc_ir_op_table[inst->op].flags & ROC_IRF_PURE;
  if (!is_pure || inst->op == ROC_IR_LANE_ID || depth == MAX_DEPTH) return CHANGE_OTHER;
  change all = CHANGE_NONE;
  for (uint32_t n = 0; n < inst->nargs; n++) {
    change of_arg = change_of(cg, roc_ir_arg(cg->ir, inst, n), depth + 1);
    if (of_arg > all) all = of_arg;
  }
  bool is_sum = inst->op == ROC_IR_ADD || inst->op == ROC_IR_SUB;
  return all == CHANGE_LINEAR && !(is_sum && inst->type == ROC_VT_INT) ? CHANGE_OTHER : all;
}

/* Whether few threads of a launch have items that differ in the condition. */
static bool is_guard(const roc_cg *cg, uint32_t cond, unsigned depth) {
  const roc_ir_inst *inst = inst_of(cg, cond);
  if (depth == MAX_DEPTH) return false;
  if (change_of(cg, cond, 0) == CHANGE_NONE) return true;
  bool is_order = inst->op == ROC_IR_LE || inst->op == ROC_IR_LT;
  bool is_logic = inst->op == ROC_IR_NOT || inst->op == ROC_IR_SELECT;
  if (!is_order && !is_logic) return false;
  for (uint32_t n = 0; n < inst->nargs; n++) {
    uint32_t arg = roc_ir_arg(cg->ir, inst, n);
    bool is_known = is_order ? change_of(cg, arg, 0) != CHANGE_OTHER : is_guard(cg, arg, depth + 1);
    if (!is_known) return false;
  }
  return true;
}

static ROC_IR_WALKS bool touches_memory(const roc_cg *cg, uint32_t region) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, cg->ir, region) {
    if (w.inst->op == ROC_IR_LOAD || w.inst->op == ROC_IR_STORE) return true;
  }
  return false;
}

static bool moves_with_items(const roc_cg *cg, uint32_t index) {
  const roc_ir_inst *inst = inst_of(cg, index);
  return inst->op == ROC_IR_GLOBAL_ID && inst->aux == 0;
}

/* False: the items' elements are neither neighbours nor the same one. */
static bool look_at_access(finder *f, uint32_t id) {
  const roc_cg *cg = f->cg;
  const roc_ir_inst *inst = inst_of(cg, id);
  const roc_ir_array *array = &cg->ir->arrays.items[inst->aux];
  if (f->is_closed || array->kind != ROC_IR_ARRAY_PARAM) return false;
  const roc_arg_type *type = &cg->ir->params.items[array->param].type;
  bool is_store = inst->op == ROC_IR_STORE;
  uint32_t inner = type->layout == ROC_LAYOUT_C ? array->rank - 1u : 0;
  bool moves = false;
  for (uint32_t d = 0; d < array->rank; d++) {
    uint32_t index = roc_ir_arg(cg->ir, inst, d + is_store);
    if (change_of(cg, index, 0) == CHANGE_NONE) continue;
    if (type->layout == ROC_LAYOUT_STRIDED || d != inner || !moves_with_items(cg, index)) {
      return false;
    }
    moves = true;
  }
  if (!moves) return !is_store;
  uint32_t itemsize = (uint32_t)roc_dtype_itemsize(array->dtype);
  if (itemsize > f->widest) f->widest = itemsize;
  f->found->element_bytes[id] = (uint8_t)itemsize;
  return true;
}

static bool look_at_region(finder *f, uint32_t region);

/* The branch that does something; on the other, the items do nothing, or (versions) all of the launch
 * goes there. */
static bool look_at_if(finder *f, uint32_t id) {
  roc_cg *cg = f->cg;
  const roc_ir_inst *inst = inst_of(cg, id);
  if (f->is_past_guards || !is_guard(cg, roc_ir_arg(cg->ir, inst, 0), 0)) return false;
  bool is_version = inst->aux == ROC_IR_IF_VERSIONS;
  bool is_else = !is_version && (ends_in_return(cg, inst->k.region[0]) ||
                                 region_of(cg, inst->k.region[0])->count == 0);
  uint8_t taken = is_else ? BRANCH_ELSE : BRANCH_THEN;
  uint32_t other = other_region(inst, taken);
  if (!is_version && touches_memory(cg, other)) return false;
  f->found->branches[id] = taken;
  if (!look_at_region(f, taken_region(inst, taken))) return false;
  f->is_closed |= !is_version && !ends_in_return(cg, other);
  return true;
}

static uint32_t weight_of(const roc_ir_inst *inst) {
  bool is_call = inst->op == ROC_IR_MATH || inst->op == ROC_IR_POW || inst->op == ROC_IR_MOD ||
                 inst->op == ROC_IR_FDIV || inst->op == ROC_IR_FLOORDIV;
  return is_call ? MATH_WEIGHT : inst->op != ROC_IR_CONST;
}

static bool look_at_region(finder *f, uint32_t region) {
  const roc_ir_ids *ids = region_of(f->cg, region);
  for (uint32_t i = 0; i < ids->count && !f->has_ended; i++) {
    uint32_t id = ids->items[i];
    const roc_ir_inst *inst = inst_of(f->cg, id);
    f->weight += weight_of(inst);
    switch ((roc_ir_op)inst->op) {
      case ROC_IR_IF:
        if (!look_at_if(f, id)) return false;
        break;
      case ROC_IR_LOAD:
      case ROC_IR_STORE:
        f->is_past_guards = true;
        if (!look_at_access(f, id)) return false;
        break;
      case ROC_IR_RETURN: f->has_ended = true; break;
      default:
        if (!is_idle(inst)) return false;
        break;
    }
  }
  return f->weight <= MAX_WEIGHT;
}

/* Whether items could tell which of them run in a thread, or wait for one another; and arrays that
 * overlap would keep their accesses apart. */
static bool is_sensitive(const roc_cg *cg) {
  for (uint32_t i = 0; i < cg->ir->insts.count; i++) {
    const roc_ir_inst *inst = &cg->ir->insts.items[i];
    switch ((roc_ir_op)inst->op) {
      case ROC_IR_ATOMIC:
      case ROC_IR_FENCE:
      case ROC_IR_BARRIER:
      case ROC_IR_WAVE_BARRIER:
      case ROC_IR_WAVE:
      case ROC_IR_LANE_ID:
      case ROC_IR_PRINT: return true;
      default: break;
    }
  }
  for (uint32_t i = 0; i < cg->ir->params.count; i++) {
    if (cg->ir->params.items[i].type.is_alias) return true;
  }
  return false;
}

roc_nvptx_coarse *roc_nvptx_find_coarse(roc_cg *cg) {
  roc_nvptx_coarse *found = ROC_ARENA_NEW(&cg->arena, roc_nvptx_coarse);
  if (!found) return NULL;
  found->branches = ROC_ARENA_ARRAY(&cg->arena, uint8_t, cg->ir->insts.count + 1);
  found->element_bytes = ROC_ARENA_ARRAY(&cg->arena, uint8_t, cg->ir->insts.count + 1);
  finder f = {.cg = cg, .found = found};
  if (!found->branches || !found->element_bytes || cg->options->opt_level == 0) return NULL;
  if (is_sensitive(cg) || !look_at_region(&f, 0) || !f.widest) return NULL;
  found->items = ROC_NVPTX_ACCESS_BYTES / f.widest;
  return found->items > 1 ? found : NULL;
}

/* ---- the code ------------------------------------------------------------------------------ */

static roc_nvptx_coarse *coarse_of(const roc_cg *cg) {
  return roc_nvptx_state_of(cg)->coarse;
}

bool roc_nvptx_coarse_intercept(roc_cg *cg, uint32_t id) {
  const roc_nvptx_coarse *coarse = coarse_of(cg);
  if (!coarse || !coarse->is_together) return false;
  const roc_ir_inst *inst = inst_of(cg, id);
  if (coarse->branches[id]) {
    roc_cg_region(cg, taken_region(inst, coarse->branches[id]));
    return true;
  }
  if (!coarse->is_first || !coarse->element_bytes[id]) return false;
  cg->element_align = coarse->items * coarse->element_bytes[id];
  if (inst->op == ROC_IR_LOAD) {
    roc_cg_define(cg, id, roc_cg_load_inst(cg, inst));
  } else {
    roc_cg_store_inst(cg, inst);
  }
  cg->element_align = 0;
  return true;
}

static LLVMValueRef also(roc_cg *cg, LLVMValueRef all, LLVMValueRef cond) {
  return LLVMBuildSelect(cg->b, all, cond, LLVMConstInt(cg->t.i1, 0, 0), "");
}

/* Adds the conditions of the current item to *all. False: what follows is no guard. */
static bool test_guards(roc_cg *cg, uint32_t region, LLVMValueRef *all) {
  const roc_nvptx_coarse *coarse = coarse_of(cg);
  const roc_ir_ids *ids = region_of(cg, region);
  for (uint32_t i = 0; i < ids->count; i++) {
    uint32_t id = ids->items[i];
    const roc_ir_inst *inst = inst_of(cg, id);
    uint8_t taken = coarse->branches[id];
    if (!taken && !is_idle(inst)) return false;
    if (!taken) {
      roc_cg_inst(cg, id);
      continue;
    }
    LLVMValueRef cond = roc_cg_operand(cg, inst, 0);
    *all = also(cg, *all, taken == BRANCH_THEN ? cond : LLVMBuildNot(cg->b, cond, ""));
    if (!test_guards(cg, taken_region(inst, taken), all)) return false;
  }
  return true;
}

static void set_item(roc_cg *cg, LLVMValueRef per_thread, LLVMValueRef item) {
  roc_nvptx_coarse *coarse = coarse_of(cg);
  coarse->per_thread = per_thread;
  coarse->item = item;
}

void roc_nvptx_keep_apart(roc_cg *cg) {
  LLVMTypeRef type = LLVMFunctionType(cg->t.none, NULL, 0, 0);
  LLVMValueRef nothing = LLVMGetInlineAsm(type, "", 0, "", 0, 1, 0, LLVMInlineAsmDialectATT, 0);
  LLVMBuildCall2(cg->b, type, nothing, NULL, 0, "");
}

/* From the block in which all items of the thread are known to be in the grid. */
static void run_together(roc_cg *cg, LLVMBasicBlockRef one_by_one, LLVMBasicBlockRef end) {
  roc_nvptx_coarse *coarse = coarse_of(cg);
  LLVMBasicBlockRef together = roc_cg_block(cg, "together");
  LLVMValueRef all = LLVMConstInt(cg->t.i1, 1, 0), count = roc_cg_i32(cg, coarse->items);
  for (uint32_t k = 0; k < coarse->items; k++) {
    set_item(cg, count, roc_cg_i32(cg, k));
    test_guards(cg, 0, &all);
  }
  roc_cg_branch_likely(cg, all, together, one_by_one);
  roc_cg_at(cg, together);
  coarse->is_together = true;
  for (uint32_t k = 0; k < coarse->items; k++) {
    set_item(cg, count, roc_cg_i32(cg, k));
    coarse->is_first = k == 0;
    cg->exit = roc_cg_block(cg, "item.end");
    roc_cg_region(cg, 0);
    roc_cg_goto(cg, cg->exit);
    roc_cg_at(cg, cg->exit);
  }
  coarse->is_together = false;
  roc_nvptx_keep_apart(cg); /* the last item's code and the loop's */
  LLVMBuildBr(cg->b, end);
}

/* From the current block on: items 0 … count-1 of the thread. */
static void run_one_by_one(roc_cg *cg, roc_nvptx_body *body, LLVMValueRef per_thread,
                           LLVMValueRef count, LLVMBasicBlockRef end) {
  LLVMBasicBlockRef before = LLVMGetInsertBlock(cg->b), loop = roc_cg_block(cg, "item");
  LLVMBuildBr(cg->b, loop);
  roc_cg_at(cg, loop);
  LLVMValueRef item = LLVMBuildPhi(cg->b, cg->t.i32, "item");
  set_item(cg, per_thread, item);
  cg->exit = roc_cg_block(cg, "item.next");
  body(cg);
  roc_cg_at(cg, cg->exit);
  LLVMValueRef next = LLVMBuildNUWAdd(cg->b, item, roc_cg_i32(cg, 1), "");
  LLVMValueRef again = LLVMBuildICmp(cg->b, LLVMIntULT, next, count, "");
  roc_cg_keep_rolled(cg, LLVMBuildCondBr(cg->b, again, loop, end));
  LLVMBasicBlockRef from[2] = {before, cg->exit};
  LLVMAddIncoming(item, (LLVMValueRef[2]){roc_cg_i32(cg, 0), next}, from, 2);
}

void roc_nvptx_coarse_begin(roc_cg *cg) {
  roc_nvptx_coarse *coarse = coarse_of(cg);
  if (!coarse) return;
  LLVMValueRef one = roc_cg_i32(cg, 1), items = roc_cg_i32(cg, coarse->items);
  LLVMValueRef is_coarse = roc_nvptx_has_flag(cg, ROC_NVPTX_COARSE);
  set_item(cg, LLVMBuildSelect(cg->b, is_coarse, items, one, ""), roc_cg_i32(cg, 0));
}

void roc_nvptx_coarse_body(roc_cg *cg, roc_nvptx_body *body) {
  roc_nvptx_coarse *coarse = coarse_of(cg);
  LLVMBasicBlockRef test = roc_cg_block(cg, "test"), one_by_one = roc_cg_block(cg, "one_by_one");
  LLVMBasicBlockRef end = cg->exit;
  LLVMValueRef per_thread = coarse->per_thread;
  LLVMValueRef grid = roc_nvptx_hidden_field(cg, offsetof(roc_nvptx_hidden, grid));
  LLVMValueRef left = LLVMBuildSub(cg->b, grid, roc_nvptx_global_id(cg, 0), "");
  LLVMValueRef args[2] = {left, per_thread};
  LLVMValueRef count = roc_cg_intrinsic(cg, "llvm.umin", &cg->t.i32, 1, args, 2);
  LLVMValueRef all_items = roc_cg_i32(cg, coarse->items);
  LLVMValueRef is_whole = LLVMBuildICmp(cg->b, LLVMIntEQ, count, all_items, "");
  roc_cg_branch_likely(cg, is_whole, test, one_by_one);
  roc_cg_at(cg, test);
  run_together(cg, one_by_one, end);
  roc_cg_at(cg, one_by_one);
  run_one_by_one(cg, body, per_thread, count, end);
  cg->exit = end;
}
