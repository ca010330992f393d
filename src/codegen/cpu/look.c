/* Looks around: a kernel that runs for long asks now and then whether it is to go on.
 *
 * A thread has a budget of steps, some IR_PER_STEP instructions each, kept in a register.  Loops
 * charge it, and when it is used up the kernel asks (base/codeobj.h: roc_cpu_turn) and gets
 * another.  So that nothing of this is in a hot loop:
 *
 *   short loops      with few, constant iterations are part of what they stand in
 *   innermost FORs   of an item run in strips, each as long as the budget: an inner loop as LLVM
 *                    would have seen it; but not those that may be left early
 *   innermost LOOPs  of an item charge each iteration, short ones every few; where a counter ends
 *                    them they run in strips, too
 *   other loops      which hold one of these, or the items of a row, charge what their bodies take
 *                    beside that
 *
 * Invariant: between two questions an execution takes few more steps than the budget has. */
#include "codegen/cpu/cpu.h"
#include "ir/walk.h"

enum {
  BODY_COPIES = 4,       /* of a short LOOP */
  MAX_ADVANCE = 1 << 20, /* of a counter */
  IR_PER_STEP = 8,
  SHORT_STEPS = 1024, /* of a whole loop that is not looked at */
  MAX_STEPS = 1 << 24,
  CC_PRESERVE_ALL = 15, /* of LLVM */
  CALL_INSTS = 24       /* what a function of the math library counts as */
};

typedef enum look_kind { LOOK_NONE, LOOK_INNERMOST, LOOK_AROUND } look_kind;

/* ---- what takes how long ----------------------------------------------------------------- */

static uint64_t cap(uint64_t insts) {
  return insts < (uint64_t)MAX_STEPS * IR_PER_STEP ? insts : (uint64_t)MAX_STEPS * IR_PER_STEP;
}

static uint64_t weigh_op(const roc_ir_inst *inst) {
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_CONST:
    case ROC_IR_GET:
    case ROC_IR_PARAM:
    case ROC_IR_EXTENT: return 0;
    case ROC_IR_FDIV:
    case ROC_IR_FLOORDIV:
    case ROC_IR_MOD:
    case ROC_IR_ATOMIC: return CALL_INSTS / 2;
    case ROC_IR_POW:
    case ROC_IR_MATH:
    case ROC_IR_PRINT: return CALL_INSTS;
    default: return 1;
  }
}

static const roc_ir_inst *bound_of(const roc_ir_module *ir, const roc_ir_inst *inst, uint32_t n) {
  return &ir->insts.items[roc_ir_arg(ir, inst, n)];
}

/* Iterations of a FOR whose bounds are constants; UINT64_MAX for others. */
static uint64_t count_rounds(const roc_ir_module *ir, const roc_ir_inst *inst) {
  const roc_ir_inst *bounds[3];
  for (uint32_t i = 0; i < 3; i++) {
    bounds[i] = bound_of(ir, inst, i);
    if (bounds[i]->op != ROC_IR_CONST) return UINT64_MAX;
  }
  __int128 first = bounds[0]->k.i, last = bounds[1]->k.i, step = bounds[2]->k.i;
  if (step == 0) return UINT64_MAX;
  __int128 rounds = (last - first) / step + 1;
  if (step > 0 ? last < first : last > first) rounds = 0;
  return rounds < MAX_STEPS ? (uint64_t)rounds : UINT64_MAX;
}

static uint64_t weigh_region(cpu_state *s, uint32_t region, bool *out_is_looked);

/* The weight of what is not charged by loops inside; *out_is_looked: there are some. */
static uint64_t weigh(cpu_state *s, uint32_t id, bool *out_is_looked) {
  const roc_ir_module *ir = s->cg->ir;
  const roc_ir_inst *inst = &ir->insts.items[id];
  if (!roc_ir_has_regions(inst)) return weigh_op(inst);
  bool is_looked = false;
  uint64_t body = weigh_region(s, inst->k.region[0], &is_looked) + 1;
  if (inst->op == ROC_IR_IF) body += weigh_region(s, inst->k.region[1], &is_looked);
  if (inst->op == ROC_IR_IF || inst->op == ROC_IR_BLOCK) {
    *out_is_looked |= is_looked;
    return cap(body);
  }
  uint64_t rounds = inst->op == ROC_IR_FOR ? count_rounds(ir, inst) : UINT64_MAX, whole;
  bool is_short = !is_looked && !__builtin_mul_overflow(rounds, body, &whole) &&
                  whole <= SHORT_STEPS * IR_PER_STEP;
  s->steps[id] = (uint32_t)((cap(body) + IR_PER_STEP - 1) / IR_PER_STEP);
  if (is_short) return whole;
  s->looks[id] = is_looked ? LOOK_AROUND : LOOK_INNERMOST;
  *out_is_looked = true;
  return 1;
}

static uint64_t weigh_region(cpu_state *s, uint32_t region, bool *out_is_looked) {
  const roc_ir_ids *ids = &s->cg->ir->regions.items[region];
  uint64_t sum = 0;
  for (uint32_t i = 0; i < ids->count; i++) sum = cap(sum + weigh(s, ids->items[i], out_is_looked));
  return sum;
}

bool cpu_look_plan(cpu_state *s) {
  s->looks = ROC_ARENA_ARRAY(&s->cg->arena, uint8_t, s->cg->ir->insts.count + 1);
  s->steps = ROC_ARENA_ARRAY(&s->cg->arena, uint32_t, s->cg->ir->insts.count + 1);
  if (!s->looks || !s->steps) return false;
  bool is_looked = false;
  uint64_t insts = weigh_region(s, 0, &is_looked);
  s->item_steps = (uint32_t)((insts + IR_PER_STEP - 1) / IR_PER_STEP);
  if (s->item_steps == 0) s->item_steps = 1;
  return true;
}

/* ---- asking ------------------------------------------------------------------------------ */

static LLVMValueRef read_budget(cpu_state *s) {
  return LLVMBuildLoad2(s->cg->b, s->cg->t.i64, s->budget, "budget");
}

/* The question touches none of the kernel's memory, so that what is in registers may stay there. */
static void describe_question(roc_cg *cg, LLVMValueRef call) {
  enum { INACCESSIBLE_MEMORY = 3 << 2 };
  const struct {
    const char *name;
    uint64_t value;
  } attributes[] = {{"memory", INACCESSIBLE_MEMORY}, {"nounwind", 0}, {"cold", 0}};
  for (unsigned i = 0; i < 3; i++) {
    unsigned kind =
        LLVMGetEnumAttributeKindForName(attributes[i].name, __builtin_strlen(attributes[i].name));
    LLVMAttributeRef attribute = LLVMCreateEnumAttribute(cg->ctx, kind, attributes[i].value);
    LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex, attribute);
  }
}

/* In front of its return LLVM would clear the upper halves of the registers that it has restored. */
static void keep_upper_halves(roc_cg *cg, LLVMValueRef fn) {
  char *features = LLVMGetTargetMachineFeatureString(cg->tm);
  const char *all = roc_arena_printf(&cg->arena, "%s%s-vzeroupper", features, *features ? "," : "");
  if (all) roc_cg_attr_text(cg, fn, "target-features", all);
  LLVMDisposeMessage(features);
}

/* A function that calls its first argument with the others, and saves all registers: a loop that
 * asks keeps what it has in them. */
static LLVMValueRef asking_function(cpu_state *s, LLVMTypeRef ask_type) {
  roc_cg *cg = s->cg;
  if (s->asking) return s->asking;
  LLVMTypeRef types[3] = {cg->t.ptr, cg->t.ptr, cg->t.i64};
  s->asking = LLVMAddFunction(cg->mod, "roc.ask", LLVMFunctionType(cg->t.i64, types, 3, 0));
  LLVMSetLinkage(s->asking, LLVMInternalLinkage);
  LLVMSetFunctionCallConv(s->asking, CC_PRESERVE_ALL);
  cpu_set_attributes(cg, s->asking);
  keep_upper_halves(cg, s->asking);
  roc_cg_attr(cg, s->asking, LLVMAttributeFunctionIndex, "noinline");
  roc_cg_attr(cg, s->asking, LLVMAttributeFunctionIndex, "cold");
  LLVMBuilderRef b = LLVMCreateBuilderInContext(cg->ctx);
  LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(cg->ctx, s->asking, ""));
  LLVMValueRef args[2] = {LLVMGetParam(s->asking, 1), LLVMGetParam(s->asking, 2)};
  LLVMValueRef call = LLVMBuildCall2(b, ask_type, LLVMGetParam(s->asking, 0), args, 2, "");
  describe_question(cg, call);
  LLVMBuildRet(b, call);
  LLVMDisposeBuilder(b);
  return s->asking;
}

/* The look of an inspection, which may end here: what comes then asks at once. */
static void look_of_inspection(cpu_state *s) {
  if (!s->is_inspecting) return;
  LLVMBuildStore(s->cg->b, roc_cg_i64(s->cg, 0), s->budget);
  cpu_inspect_look(s);
}

/* Between two workgroups little is in registers: where no loop asks, the function that saves them is
 * not made, which takes a tenth of the time that the code of a short kernel takes. */
static LLVMValueRef call_question(cpu_state *s, LLVMValueRef next) {
  roc_cg *cg = s->cg;
  LLVMTypeRef types[2] = {cg->t.ptr, cg->t.i64};
  LLVMTypeRef ask_type = LLVMFunctionType(cg->t.i64, types, 2, 0);
  LLVMValueRef place = roc_cg_byte_offset(cg, s->turn, roc_cg_i64(cg, offsetof(roc_cpu_turn, ask)));
  LLVMValueRef ask = LLVMBuildLoad2(cg->b, cg->t.ptr, place, "ask");
  LLVMValueRef args[3] = {ask, s->turn, next ? next : roc_cg_i64(cg, -1)};
  if (next && !s->asking) return LLVMBuildCall2(cg->b, ask_type, ask, args + 1, 2, "");
  LLVMValueRef fn = asking_function(s, ask_type);
  LLVMValueRef call = LLVMBuildCall2(cg->b, LLVMGlobalGetValueType(fn), fn, args, 3, "");
  LLVMSetInstructionCallConv(call, CC_PRESERVE_ALL);
  return call;
}

/* Asks, and ends the kernel when it is told to; goes to `then`. */
static void emit_question(cpu_state *s, LLVMValueRef next, LLVMBasicBlockRef then) {
  roc_cg *cg = s->cg;
  look_of_inspection(s);
  LLVMValueRef call = call_question(s, next);
  describe_question(cg, call);
  LLVMBuildStore(cg->b, call, s->budget);
  LLVMValueRef goes_on = LLVMBuildICmp(cg->b, LLVMIntNE, call, roc_cg_i64(cg, 0), "");
  roc_cg_branch_likely(cg, goes_on, then, s->stopped);
}

/* Charges `steps`; the builder goes on in `enough`, and a question leads to `then`. */
static void charge(cpu_state *s, LLVMValueRef steps, LLVMValueRef next, LLVMBasicBlockRef enough,
                   LLVMBasicBlockRef then) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef look = roc_cg_block(cg, "look");
  LLVMValueRef budget = read_budget(s);
  LLVMBuildStore(cg->b, LLVMBuildSub(cg->b, budget, steps, ""), s->budget);
  roc_cg_branch_likely(cg, LLVMBuildICmp(cg->b, LLVMIntUGE, budget, steps, ""), enough, look);
  roc_cg_at(cg, look);
  emit_question(s, next, then);
}

static LLVMValueRef steps_of(cpu_state *s, uint32_t id) {
  return roc_cg_i64(s->cg, s->steps[id] ? s->steps[id] : 1);
}

void cpu_look(cpu_state *s, uint32_t id, LLVMValueRef items) {
  if (!s->looks[id]) return;
  LLVMBasicBlockRef on = roc_cg_block(s->cg, "looked");
  LLVMValueRef steps = steps_of(s, id);
  if (items) steps = LLVMBuildNUWMul(s->cg->b, steps, items, "");
  charge(s, steps, NULL, on, on);
  roc_cg_at(s->cg, on);
}

void cpu_look_between(cpu_state *s, LLVMValueRef next, LLVMValueRef taken) {
  LLVMBasicBlockRef on = roc_cg_block(s->cg, "looked");
  LLVMValueRef steps = LLVMBuildNUWMul(s->cg->b, s->items, roc_cg_i64(s->cg, s->item_steps), "");
  if (s->is_merging) steps = LLVMBuildNUWMul(s->cg->b, steps, taken, "");
  charge(s, steps, next, on, on);
  roc_cg_at(s->cg, on);
}

/* An iteration of a strip counts as 1 << shift steps. */
static unsigned shift_of(const cpu_state *s, uint32_t id) {
  unsigned shift = 0;
  while (shift < 20 && s->steps[id] >> (shift + 1)) shift++;
  return shift;
}

/* ---- loops of an item -------------------------------------------------------------------- */

/* ---- ways out of a loop ------------------------------------------------------------------- */

typedef struct exits {
  uint32_t id;
  unsigned count;
} exits;

static void count_exit(cpu_state *s, uint32_t target, bool is_next, void *ud) {
  exits *e = ud;
  bool is_for = s->cg->ir->insts.items[e->id].op == ROC_IR_FOR;
  if (!is_next || target != e->id || !is_for) e->count++;
}

static ROC_IR_WALKS unsigned count_returns(const roc_ir_module *ir, uint32_t region) {
  roc_ir_walk w;
  unsigned count = 0;
  ROC_IR_FOR_EACH(w, ir, region) count += w.inst->op == ROC_IR_RETURN;
  return count;
}

/* How often the body leaves the loop, or a LOOP's begins it anew, but by its end and by failing. */
static unsigned count_exits(cpu_state *s, uint32_t id) {
  const roc_ir_module *ir = s->cg->ir;
  uint32_t region = ir->insts.items[id].k.region[0];
  const roc_ir_ids *ids = &ir->regions.items[region];
  exits e = {.id = id, .count = count_returns(ir, region)};
  cpu_find_exits(s, ids->items, ids->count, count_exit, &e);
  return e.count;
}

/* ---- LOOPs --------------------------------------------------------------------------------- */

/* A short body is there several times, so that an iteration costs less than an instruction more. */
static void emit_innermost_loop(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef body = roc_cg_block(cg, "loop"), end = roc_cg_block(cg, "end");
  int copies = s->steps[id] > 2 || s->plan.stops[id] ? 1 : BODY_COPIES;
  cg->exits[id].leave = end;
  LLVMBuildBr(cg->b, body);
  roc_cg_at(cg, body);
  for (int i = 0; i < copies; i++) {
    LLVMBasicBlockRef next = roc_cg_block(cg, "next");
    cg->exits[id].next = next;
    roc_cg_region(cg, cg->ir->insts.items[id].k.region[0]);
    roc_cg_goto(cg, next);
    roc_cg_at(cg, next);
  }
  charge(s, steps_of(s, id), NULL, body, body);
  roc_cg_at(cg, end);
}

/* `while k <= n do … k = k + 1 end`: LLVM knows how long it runs, and makes vectors of it. */
typedef struct counted {
  uint32_t id, var, get, compare, bound;
} counted;

/* The value that decides where IF `inst` does nothing but leave loop `id`; *out_is_negated: when it
 * is false. */
static bool is_loop_end(const roc_ir_module *ir, uint32_t id, const roc_ir_inst *inst,
                        uint32_t *out_cond, bool *out_is_negated) {
  if (inst->op != ROC_IR_IF || ir->regions.items[inst->k.region[1]].count) return false;
  const roc_ir_ids *then = &ir->regions.items[inst->k.region[0]];
  if (then->count != 1) return false;
  const roc_ir_inst *leave = &ir->insts.items[then->items[0]];
  *out_cond = roc_ir_arg(ir, inst, 0);
  *out_is_negated = ir->insts.items[*out_cond].op == ROC_IR_NOT;
  if (*out_is_negated) *out_cond = roc_ir_arg(ir, &ir->insts.items[*out_cond], 0);
  return leave->op == ROC_IR_LEAVE && leave->aux == id;
}

/* Whether the loop ends once a variable has passed a bound. */
static bool find_end(const roc_ir_module *ir, counted *c, const roc_ir_inst *inst) {
  bool is_negated;
  if (!is_loop_end(ir, c->id, inst, &c->compare, &is_negated)) return false;
  const roc_ir_inst *compare = &ir->insts.items[c->compare];
  if (compare->op != ROC_IR_LE && compare->op != ROC_IR_LT) return false;
  c->get = roc_ir_arg(ir, compare, !is_negated);
  c->bound = roc_ir_arg(ir, compare, is_negated);
  c->var = ir->insts.items[c->get].aux;
  return ir->insts.items[c->get].op == ROC_IR_GET && ir->insts.items[c->get].type == ROC_VT_INT;
}

/* Whether it adds a small positive constant to the counter. */
static bool is_advance(const roc_ir_module *ir, const counted *c, const roc_ir_inst *inst) {
  if (inst->op != ROC_IR_SET || inst->aux != c->var) return false;
  const roc_ir_inst *sum = &ir->insts.items[roc_ir_arg(ir, inst, 0)];
  if (sum->op != ROC_IR_ADD) return false;
  const roc_ir_inst *get = bound_of(ir, sum, 0), *by = bound_of(ir, sum, 1);
  return get->op == ROC_IR_GET && get->aux == c->var && by->op == ROC_IR_CONST && by->k.i > 0 &&
         by->k.i <= MAX_ADVANCE;
}

static ROC_IR_WALKS unsigned count_sets(const roc_ir_module *ir, uint32_t var, uint32_t region) {
  roc_ir_walk w;
  unsigned count = 0;
  ROC_IR_FOR_EACH(w, ir, region) {
    count += (w.inst->op == ROC_IR_SET || w.inst->op == ROC_IR_FOR) && w.inst->aux == var;
  }
  return count;
}

static unsigned count_uses(const roc_ir_module *ir, uint32_t id) {
  unsigned count = 0;
  for (uint32_t i = 0; i < ir->insts.count; i++) {
    const roc_ir_inst *inst = &ir->insts.items[i];
    for (uint32_t n = 0; n < inst->nargs; n++) count += roc_ir_arg(ir, inst, n) == id;
  }
  return count;
}

static uint32_t position_of(const roc_ir_ids *ids, uint32_t id) {
  uint32_t i = 0;
  while (i < ids->count && ids->items[i] != id) i++;
  return i;
}

/* Whether it may be done once more. */
static bool is_repeatable(const roc_ir_inst *inst) {
  return inst->op == ROC_IR_GET || (roc_ir_op_table[inst->op].flags & ROC_IRF_PURE);
}

/* Whether the end stands where the loop can be left and begun again: in front of all that it does,
 * or after it, and what it looks at is what the counter is then. */
static bool is_well_placed(const roc_ir_module *ir, const counted *c, const roc_ir_ids *ids,
                           uint32_t end_at, uint32_t advance_at) {
  uint32_t n = 0;
  while (n < end_at && is_repeatable(&ir->insts.items[ids->items[n]])) n++;
  if (n == end_at) return true;
  uint32_t get_at = position_of(ids, c->get);
  return end_at == ids->count - 1 && advance_at < get_at && get_at < ids->count;
}

static bool find_counted(cpu_state *s, uint32_t id, counted *c) {
  const roc_ir_module *ir = s->cg->ir;
  uint32_t region = ir->insts.items[id].k.region[0];
  const roc_ir_ids *ids = &ir->regions.items[region];
  *c = (counted){.id = id};
  uint32_t end_at = 0, advance_at = 0;
  while (end_at < ids->count && !find_end(ir, c, &ir->insts.items[ids->items[end_at]])) end_at++;
  if (end_at == ids->count) return false;
  while (advance_at < ids->count && !is_advance(ir, c, &ir->insts.items[ids->items[advance_at]])) {
    advance_at++;
  }
  if (advance_at == ids->count || !is_well_placed(ir, c, ids, end_at, advance_at)) return false;
  bool is_fixed = position_of(ids, c->bound) == ids->count ||
                  (s->plan.is_remat[c->bound] && s->plan.is_stable[c->bound]);
  uint32_t cond = roc_ir_arg(ir, &ir->insts.items[ids->items[end_at]], 0);
  return is_fixed && count_sets(ir, c->var, region) == 1 && count_uses(ir, cond) == 1 &&
         count_uses(ir, c->compare) == 1 && count_exits(s, id) == 1;
}

bool cpu_emit_strip_end(cpu_state *s, uint32_t id) {
  if (!s->strip_bound || id != s->strip_compare) return false;
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  LLVMValueRef args[2];
  for (uint32_t n = 0; n < 2; n++) {
    bool is_bound = roc_ir_arg(cg->ir, inst, n) == s->strip_operand;
    args[n] = is_bound ? s->strip_bound : roc_cg_operand(cg, inst, n);
  }
  LLVMIntPredicate predicate = inst->op == ROC_IR_LE ? LLVMIntSLE : LLVMIntSLT;
  cpu_define(cg, id, LLVMBuildICmp(cg->b, predicate, args[0], args[1], ""));
  return true;
}

/* In strips, by a nearer bound: the loop as LLVM would have seen it, but for that. */
static void emit_counted_loop(cpu_state *s, const counted *c) {
  roc_cg *cg = s->cg;
  LLVMTypeRef i64 = cg->t.i64;
  LLVMBasicBlockRef strip = roc_cg_block(cg, "strip"), body = roc_cg_block(cg, "loop");
  LLVMBasicBlockRef done = roc_cg_block(cg, "strip.end"), end = roc_cg_block(cg, "end");
  LLVMBasicBlockRef look = roc_cg_block(cg, "look"), next = roc_cg_block(cg, "next");
  cg->exits[c->id] = (roc_cg_exits){.leave = done, .next = next};
  LLVMValueRef shift = roc_cg_i64(cg, shift_of(s, c->id)), bound = cpu_operand(cg, c->bound);
  LLVMBuildBr(cg->b, strip);
  roc_cg_at(cg, strip);
  LLVMValueRef from = roc_cg_get_var(cg, c->var);
  LLVMValueRef budget = read_budget(s);
  LLVMValueRef most[2] = {from, LLVMBuildLShr(cg->b, budget, shift, "")};
  LLVMValueRef ends[2] = {bound, roc_cg_intrinsic(cg, "llvm.sadd.sat", &i64, 1, most, 2)};
  s->strip_compare = c->compare;
  s->strip_operand = c->bound;
  s->strip_bound = roc_cg_intrinsic(cg, "llvm.smin", &i64, 1, ends, 2);
  LLVMBuildBr(cg->b, body);
  roc_cg_at(cg, body);
  s->is_in_strip = true;
  roc_cg_region(cg, cg->ir->insts.items[c->id].k.region[0]);
  s->is_in_strip = false;
  roc_cg_goto(cg, next);
  s->strip_bound = NULL;
  roc_cg_at(cg, next);
  LLVMBuildBr(cg->b, body);
  roc_cg_at(cg, done);
  LLVMValueRef to = roc_cg_get_var(cg, c->var);
  LLVMValueRef used = LLVMBuildShl(cg->b, LLVMBuildSub(cg->b, to, from, ""), shift, "");
  LLVMValueRef charged[2] = {budget, used};
  LLVMValueRef rest = roc_cg_intrinsic(cg, "llvm.usub.sat", &i64, 1, charged, 2);
  LLVMBuildStore(cg->b, rest, s->budget);
  bool is_le = cg->ir->insts.items[c->compare].op == ROC_IR_LE;
  bool is_left = roc_ir_arg(cg->ir, &cg->ir->insts.items[c->compare], 1) == c->bound;
  LLVMIntPredicate passed = is_le == is_left ? LLVMIntSGT : LLVMIntSGE;
  roc_cg_branch_likely(cg, LLVMBuildICmp(cg->b, passed, to, bound, ""), end, look);
  roc_cg_at(cg, look);
  emit_question(s, NULL, strip);
  roc_cg_at(cg, end);
}

static void emit_loop_around(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef body = roc_cg_block(cg, "loop"), end = roc_cg_block(cg, "end");
  LLVMBasicBlockRef next = roc_cg_block(cg, "next");
  cg->exits[id] = (roc_cg_exits){.leave = end, .next = next};
  LLVMBuildBr(cg->b, body);
  roc_cg_at(cg, body);
  roc_cg_region(cg, cg->ir->insts.items[id].k.region[0]);
  roc_cg_goto(cg, next);
  roc_cg_at(cg, next);
  charge(s, steps_of(s, id), NULL, body, body);
  roc_cg_at(cg, end);
}

/* ---- FORs ----------------------------------------------------------------------------------- */

/* A strip is an inner loop without another way out than its end. */
static LLVMValueRef emit_strip(cpu_state *s, uint32_t id, LLVMValueRef first, LLVMValueRef step,
                               LLVMValueRef count) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  LLVMBasicBlockRef before = LLVMGetInsertBlock(cg->b);
  LLVMBasicBlockRef body = roc_cg_block(cg, "for"), next = roc_cg_block(cg, "next");
  LLVMBasicBlockRef done = roc_cg_block(cg, "strip.end");
  cg->exits[id] = (roc_cg_exits){.leave = done, .next = next};
  LLVMBuildBr(cg->b, body);
  roc_cg_at(cg, body);
  LLVMValueRef left = LLVMBuildPhi(cg->b, cg->t.i64, "left");
  LLVMValueRef value = LLVMBuildPhi(cg->b, cg->t.i64, cg->ir->vars.items[inst->aux].name);
  LLVMBuildStore(cg->b, value, roc_cg_var(cg, inst->aux));
  s->is_in_strip = true;
  roc_cg_region(cg, inst->k.region[0]);
  s->is_in_strip = false;
  roc_cg_goto(cg, next);
  roc_cg_at(cg, next);
  LLVMValueRef left_next = LLVMBuildSub(cg->b, left, roc_cg_i64(cg, 1), "");
  LLVMValueRef value_next = LLVMBuildNSWAdd(cg->b, value, step, ""); /* unused after the last */
  LLVMValueRef again = LLVMBuildICmp(cg->b, LLVMIntNE, left_next, roc_cg_i64(cg, 0), "");
  LLVMValueRef branch = LLVMBuildCondBr(cg->b, again, body, done);
  if (s->plan.is_along[id]) roc_cg_keep_single(cg, branch); /* rows may be short */
  LLVMBasicBlockRef blocks[2] = {before, next};
  LLVMAddIncoming(left, (LLVMValueRef[2]){count, left_next}, blocks, 2);
  LLVMAddIncoming(value, (LLVMValueRef[2]){first, value_next}, blocks, 2);
  roc_cg_at(cg, done);
  return value_next;
}

/* In an inspector nothing but its own look ends a loop that goes on past what fails (cpu/inspector.c),
 * however large the budget. */
enum { INSPECTOR_STRIP = 4096 };

/* Each strip takes one iteration more than the budget has, so that one which takes fewer is the
 * last. */
static void emit_innermost_for(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  LLVMValueRef first = roc_cg_operand(cg, inst, 0), step = roc_cg_operand(cg, inst, 2);
  LLVMValueRef count = roc_cg_for_count(cg, first, roc_cg_operand(cg, inst, 1), step);
  LLVMValueRef zero = roc_cg_i64(cg, 0), shift = roc_cg_i64(cg, shift_of(s, id));
  LLVMBasicBlockRef before = LLVMGetInsertBlock(cg->b), head = roc_cg_block(cg, "strip");
  LLVMBasicBlockRef end = roc_cg_block(cg, "end"), more = roc_cg_block(cg, "strip.next");
  LLVMBuildCondBr(cg->b, LLVMBuildICmp(cg->b, LLVMIntNE, count, zero, ""), head, end);
  roc_cg_at(cg, head);
  LLVMValueRef left = LLVMBuildPhi(cg->b, cg->t.i64, ""), from = LLVMBuildPhi(cg->b, cg->t.i64, "");
  LLVMValueRef most = LLVMBuildLShr(cg->b, read_budget(s), shift, "");
  LLVMValueRef args[2] = {left, LLVMBuildNUWAdd(cg->b, most, roc_cg_i64(cg, 1), "")};
  LLVMValueRef rounds = roc_cg_intrinsic(cg, "llvm.umin", &cg->t.i64, 1, args, 2);
  if (s->is_inspecting) {
    LLVMValueRef few[2] = {rounds, roc_cg_i64(cg, INSPECTOR_STRIP)};
    rounds = roc_cg_intrinsic(cg, "llvm.umin", &cg->t.i64, 1, few, 2);
  }
  LLVMValueRef to = emit_strip(s, id, from, step, rounds);
  charge(s, LLVMBuildShl(cg->b, rounds, shift, ""), NULL, s->is_inspecting ? more : end, more);
  roc_cg_at(cg, more);
  look_of_inspection(s);
  more = LLVMGetInsertBlock(cg->b);
  LLVMValueRef rest = LLVMBuildNUWSub(cg->b, left, rounds, "");
  LLVMBuildCondBr(cg->b, LLVMBuildICmp(cg->b, LLVMIntNE, rest, zero, ""), head, end);
  LLVMBasicBlockRef blocks[2] = {before, more};
  LLVMAddIncoming(left, (LLVMValueRef[2]){count, rest}, blocks, 2);
  LLVMAddIncoming(from, (LLVMValueRef[2]){first, to}, blocks, 2);
  roc_cg_at(cg, end);
}

static void emit_for_around(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  LLVMValueRef first = roc_cg_operand(cg, inst, 0), step = roc_cg_operand(cg, inst, 2);
  LLVMValueRef count = roc_cg_for_count(cg, first, roc_cg_operand(cg, inst, 1), step);
  LLVMValueRef zero = roc_cg_i64(cg, 0);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(cg->b), body = roc_cg_block(cg, "for");
  LLVMBasicBlockRef next = roc_cg_block(cg, "next"), end = roc_cg_block(cg, "end");
  cg->exits[id] = (roc_cg_exits){.leave = end, .next = next};
  LLVMBuildCondBr(cg->b, LLVMBuildICmp(cg->b, LLVMIntNE, count, zero, ""), body, end);
  roc_cg_at(cg, body);
  LLVMValueRef left = LLVMBuildPhi(cg->b, cg->t.i64, "left");
  LLVMValueRef value = LLVMBuildPhi(cg->b, cg->t.i64, cg->ir->vars.items[inst->aux].name);
  LLVMBuildStore(cg->b, value, roc_cg_var(cg, inst->aux));
  roc_cg_region(cg, inst->k.region[0]);
  roc_cg_goto(cg, next);
  roc_cg_at(cg, next);
  cpu_look(s, id, NULL);
  look_of_inspection(s);
  LLVMValueRef left_next = LLVMBuildSub(cg->b, left, roc_cg_i64(cg, 1), "");
  LLVMValueRef value_next = LLVMBuildNSWAdd(cg->b, value, step, "");
  next = LLVMGetInsertBlock(cg->b);
  LLVMBuildCondBr(cg->b, LLVMBuildICmp(cg->b, LLVMIntNE, left_next, zero, ""), body, end);
  LLVMBasicBlockRef blocks[2] = {before, next};
  LLVMAddIncoming(left, (LLVMValueRef[2]){count, left_next}, blocks, 2);
  LLVMAddIncoming(value, (LLVMValueRef[2]){first, value_next}, blocks, 2);
  roc_cg_at(cg, end);
}

bool cpu_emit_looked_loop(cpu_state *s, uint32_t id) {
  bool is_for = s->cg->ir->insts.items[id].op == ROC_IR_FOR;
  counted c;
  if (s->looks[id] == LOOK_NONE) return false;
  if (s->looks[id] == LOOK_AROUND) {
    (is_for ? emit_for_around : emit_loop_around)(s, id);
  } else if (is_for) {
    (count_exits(s, id) ? emit_for_around : emit_innermost_for)(s, id);
  } else if (find_counted(s, id, &c)) {
    emit_counted_loop(s, &c);
  } else {
    emit_innermost_loop(s, id);
  }
  return true;
}
