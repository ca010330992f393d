/* The CPU target: the entry that the runtime calls, the function that holds the groups, and the
 * hooks that the shared code asks for ids and memory.
 *
 * Two functions are made.  The entry (roc_cpu_entry of base/codeobj.h) reads the array pointers
 * from the kernarg block and hands them to the body as arguments, because only an argument can be
 * noalias.  The body does everything else. */
#include <string.h>

#include <llvm-c/IRReader.h>

#include "base/alloc.h"
#include "codegen/cpu/cpu.h"
#include "ir/check_elimination.h"
#include "ir/layout.h"
#include "ir/range.h"

/* Arguments of the entry, and of the body before the array pointers. */
enum { ARG_KERNARG, ARG_LAUNCH, ARG_FIRST, ARG_END, ARG_SHARED, ARG_FRAME, ARG_TURN, NARGS };

/* A body without loops has nothing to unroll or rotate: what the item loops need is enough, at half
 * of the time.  (On its own instcombine ends the process when one round was not enough, unless told
 * not to look.)  Stores to the same place in both branches of a condition become one, which needs no
 * mask; to two places they would become a scatter. */
static const char short_pipeline[] =
    "function(sroa,early-cse<memssa>,simplifycfg,mldst-motion,"
    "instcombine<no-verify-fixpoint>,loop-simplify,"
    "lcssa,loop-mssa(licm),before-vectorize,loop-vectorize,instcombine<no-verify-fixpoint>,"
    "simplifycfg)";

static const char *cpu_passes(const roc_cg *cg) {
  static const char *const levels[] = {"default<O0>", "default<O1>", "default<O2>", "default<O3>"};
  const cpu_state *s = cg->state;
  int level = cg->options->opt_level;
  if (level < 0 && !s->plan.has_loops) return short_pipeline;
  return levels[level < 0 || level > 3 ? 2 : level];
}

/* ---- frame and memory -------------------------------------------------------------------- */

static LLVMValueRef private_base(cpu_state *s, uint32_t a) {
  roc_cg *cg = s->cg;
  const roc_ir_array *array = &cg->ir->arrays.items[a];
  LLVMTypeRef type = roc_cg_storage_type(cg, array->dtype);
  uint64_t size = (uint64_t)roc_ir_array_size(array);
  if (s->plan.array_slotted[a]) {
    if (!s->array_slots[a].base) s->array_slots[a] = cpu_slot_new(s, type, size);
    cg->arrays[a].scale = s->slots;
    return cpu_slot_item(s, &s->array_slots[a]);
  }
  if (!s->array_slots[a].base) {
    s->array_slots[a].base = roc_cg_alloca(cg, LLVMArrayType2(type, size), array->name);
    cg->arrays[a].is_one_for_all = true;
  }
  return s->array_slots[a].base;
}

static LLVMValueRef cpu_array_base(roc_cg *cg, uint32_t a) {
  cpu_state *s = cpu_of(cg);
  const roc_ir_array *array = &cg->ir->arrays.items[a];
  if (array->kind == ROC_IR_ARRAY_PRIVATE) return private_base(s, a);
  uint64_t offset = array->kind == ROC_IR_ARRAY_SHARED
                        ? s->shared_offsets[a]
                        : s->shared_bytes + (uint64_t)array->first_byte;
  return roc_cg_byte_offset(cg, s->shared, roc_cg_i64(cg, (int64_t)offset));
}

static LLVMValueRef cpu_dynamic_bytes(roc_cg *cg) {
  return cpu_of(cg)->dynamic;
}

/* ---- ids --------------------------------------------------------------------------------- */

static LLVMValueRef from_1(roc_cg *cg, LLVMValueRef from_0) {
  LLVMValueRef id = LLVMBuildNSWAdd(cg->b, from_0, roc_cg_i64(cg, 1), "");
  if (LLVMIsAInstruction(id)) LLVMSetNUW(id, 1);
  return id;
}

/* For fault records, where nothing else knows it. */
static LLVMValueRef id_of_row(cpu_state *s, unsigned dim) {
  uint64_t offset = offsetof(roc_cpu_turn, row) + (dim - 1) * sizeof(uint64_t);
  LLVMValueRef place = roc_cg_byte_offset(s->cg, s->turn, roc_cg_i64(s->cg, (int64_t)offset));
  return LLVMBuildLoad2(s->cg->b, s->cg->t.i64, place, "row");
}

static LLVMValueRef global_id(cpu_state *s, unsigned dim, LLVMValueRef local) {
  if (dim > 0 && s->goes_by_rows) return id_of_row(s, dim);
  LLVMValueRef id = LLVMBuildNSWAdd(s->cg->b, s->group_first[dim], local, "");
  if (LLVMIsAInstruction(id)) LLVMSetNUW(id, 1);
  return from_1(s->cg, id);
}

static LLVMValueRef cpu_launch_value(roc_cg *cg, roc_ir_op op, unsigned dim) {
  cpu_state *s = cpu_of(cg);
  uint32_t width = cg->options->wave_size == 32 ? 32 : 64;
  LLVMValueRef local[3] = {NULL, NULL, NULL};
  if (s->run) local[0] = s->run->x, local[1] = s->run->y, local[2] = s->run->z;
  switch (op) {
    case ROC_IR_GLOBAL_ID: return global_id(s, dim, local[dim]);
    case ROC_IR_LOCAL_ID: return from_1(cg, local[dim]);
    case ROC_IR_GROUP_ID: return from_1(cg, s->group[dim]);
    case ROC_IR_GLOBAL_SIZE: return s->grid[dim];
    case ROC_IR_LOCAL_SIZE: return s->local[dim];
    case ROC_IR_NUM_GROUPS: return s->groups[dim];
    case ROC_IR_WORK_DIM: return s->rank;
    case ROC_IR_WAVE_SIZE: return roc_cg_i64(cg, width);
    default: /* LANE_ID */
      return from_1(cg, LLVMBuildAnd(cg->b, s->run->lin, roc_cg_i64(cg, width - 1), ""));
  }
}

/* ---- what one thread makes trivial ------------------------------------------------------- */

static void cpu_barrier(roc_cg *cg, const roc_ir_inst *inst) {
  (void)cg, (void)inst; /* a cut: never reached by an item's code */
}

static void cpu_fence(roc_cg *cg, int64_t scope) {
  if (scope & 2) LLVMBuildFence(cg->b, LLVMAtomicOrderingAcquireRelease, 0, "");
}

static LLVMValueRef cpu_no_wave(roc_cg *cg, const roc_ir_inst *inst, LLVMValueRef *args) {
  (void)args; /* a cut as well */
  return LLVMGetPoison(roc_cg_value_type(cg, (roc_value_type)inst->type));
}

/* Loops over items that have a loop in them are no vectors.  LLVM's own limit is of the size of all
 * rounds before it knows what constants make of them. */
static bool cpu_is_straightened(roc_cg *cg, const roc_ir_inst *loop) {
  const cpu_state *s = cpu_of(cg);
  bool is_vector = s->run && !s->run->is_scalar && !s->is_cold;
  return is_vector && cpu_is_short_for(cg->ir, loop);
}

/* ---- functions --------------------------------------------------------------------------- */

static LLVMValueRef cpu_field(roc_cg *cg, uint32_t param, LLVMTypeRef type, uint32_t offset) {
  cpu_state *s = cpu_of(cg);
  if (type == cg->t.ptr) return s->array_params[param];
  LLVMValueRef ptr = roc_cg_byte_offset(cg, s->kernarg, roc_cg_i64(cg, offset));
  return LLVMBuildLoad2(cg->b, type, ptr, cg->ir->params.items[param].name);
}

static void name_array_params(roc_cg *cg, LLVMValueRef fn) {
  cpu_state *s = cpu_of(cg);
  for (uint32_t i = 0, n = NARGS; i < cg->ir->params.count; i++) {
    const roc_ir_param *param = &cg->ir->params.items[i];
    if (!roc_arg_is_array(&param->type)) continue;
    s->array_params[i] = LLVMGetParam(fn, n++);
    LLVMSetValueName2(s->array_params[i], param->name, strlen(param->name));
    if (!param->type.is_alias) roc_cg_attr(cg, fn, n, "noalias"); /* parameter n-1 is attribute n */
    if (!param->is_written && !param->type.is_alias) roc_cg_attr(cg, fn, n, "readonly");
  }
}

/* Rows of items that meet are copied and filled in place where they are short: a call costs more,
 * and would be made for each of them. */
static void keep_short_rows(roc_cg *cg, LLVMValueRef fn) {
  enum { MOST = 1024 };
  if (!cg->ir->is_grid_whole || cg->ir->workgroup[0] > MOST) return;
  static const char *const calls[] = {"no-builtin-memcpy", "no-builtin-memmove",
                                      "no-builtin-memset"};
  for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
    roc_cg_attr_text(cg, fn, calls[i], "");
  }
}

static LLVMValueRef make_body(roc_cg *cg, uint32_t narrays) {
  cpu_state *s = cpu_of(cg);
  LLVMTypeRef *types = ROC_ARENA_ARRAY(&cg->arena, LLVMTypeRef, NARGS + narrays);
  if (!types) return NULL;
  for (uint32_t i = 0; i < NARGS + narrays; i++) types[i] = cg->t.ptr;
  types[ARG_FIRST] = types[ARG_END] = cg->t.i64;
  LLVMTypeRef type = LLVMFunctionType(cg->t.none, types, NARGS + narrays, 0);
  LLVMValueRef fn = LLVMAddFunction(cg->mod, "body", type);
  LLVMSetLinkage(fn, LLVMInternalLinkage);
  cpu_set_attributes(cg, fn);
  keep_short_rows(cg, fn);
  roc_cg_attr(cg, fn, LLVMAttributeFunctionIndex, "noinline");
  static const int restricted[] = {ARG_KERNARG, ARG_SHARED, ARG_FRAME};
  for (unsigned i = 0; i < 3; i++) roc_cg_attr(cg, fn, (unsigned)restricted[i] + 1, "noalias");
  roc_cg_attr(cg, fn, ARG_KERNARG + 1, "readonly");
  roc_cg_attr_int(cg, fn, ARG_SHARED + 1, "align", 64);
  roc_cg_attr_int(cg, fn, ARG_FRAME + 1, "align", 64);
  s->kernarg = LLVMGetParam(fn, ARG_KERNARG);
  s->launch = LLVMGetParam(fn, ARG_LAUNCH);
  s->first = LLVMGetParam(fn, ARG_FIRST);
  s->end = LLVMGetParam(fn, ARG_END);
  s->shared = LLVMGetParam(fn, ARG_SHARED);
  s->frame = LLVMGetParam(fn, ARG_FRAME);
  s->turn = LLVMGetParam(fn, ARG_TURN);
  name_array_params(cg, fn);
  return fn;
}

/* The exported function: array pointers out of the block, then the body.  Nothing of that gets
 * better by being optimised. */
static void make_entry(roc_cg *cg, LLVMValueRef body, const roc_arg_slot *slots, uint32_t narrays) {
  cpu_state *s = cpu_of(cg);
  LLVMTypeRef types[NARGS] = {cg->t.ptr, cg->t.ptr, cg->t.i64, cg->t.i64,
                              cg->t.ptr, cg->t.ptr, cg->t.ptr};
  LLVMTypeRef type = LLVMFunctionType(cg->t.none, types, NARGS, 0);
  LLVMValueRef fn = LLVMAddFunction(cg->mod, s->entry, type);
  cpu_set_attributes(cg, fn);
  roc_cg_attr(cg, fn, LLVMAttributeFunctionIndex, "noinline");
  roc_cg_attr(cg, fn, LLVMAttributeFunctionIndex, "optnone");
  LLVMValueRef *args = ROC_ARENA_ARRAY(&cg->arena, LLVMValueRef, NARGS + narrays);
  if (!args) return;
  LLVMPositionBuilderAtEnd(cg->b, LLVMAppendBasicBlockInContext(cg->ctx, fn, ""));
  uint32_t n = 0;
  for (; n < NARGS; n++) args[n] = LLVMGetParam(fn, n);
  for (uint32_t i = 0; i < cg->ir->params.count; i++) {
    if (!roc_arg_is_array(&cg->ir->params.items[i].type)) continue;
    LLVMValueRef ptr = roc_cg_byte_offset(cg, args[ARG_KERNARG], roc_cg_i64(cg, slots[i].offset));
    args[n++] = LLVMBuildLoad2(cg->b, cg->t.ptr, ptr, "");
  }
  LLVMBuildCall2(cg->b, LLVMGlobalGetValueType(body), body, args, n, "");
  LLVMBuildRetVoid(cg->b);
}

/* A distinct empty node; the C API makes only uniqued ones, so it is read from text. */
static LLVMMetadataRef make_access_group(roc_cg *cg) {
  static const char text[] = "!g = !{!0}\n!0 = distinct !{}\n";
  LLVMMemoryBufferRef buffer =
      LLVMCreateMemoryBufferWithMemoryRangeCopy(text, sizeof text - 1, "group");
  LLVMModuleRef mod;
  char *message = NULL;
  if (LLVMParseIRInContext2(cg->ctx, buffer, &mod, &message)) {
    LLVMDisposeMessage(message);
    LLVMDisposeMemoryBuffer(buffer);
    return NULL;
  }
  LLVMDisposeMemoryBuffer(buffer);
  LLVMValueRef node;
  LLVMGetNamedMetadataOperands(mod, "g", &node);
  LLVMMetadataRef group = LLVMValueAsMetadata(node);
  LLVMDisposeModule(mod);
  return group;
}

/* Only what an atomic operation gives can keep a workgroup waiting for another.  What kernels print
 * comes in the order of the workgroups, as far as they are in one. */
static bool is_unordered(const roc_ir_module *ir) {
  for (uint32_t id = 0; id < ir->insts.count; id++) {
    const roc_ir_inst *inst = &ir->insts.items[id];
    if (inst->op == ROC_IR_PRINT) return false;
    for (uint32_t n = 0; n < inst->nargs; n++) {
      const roc_ir_inst *operand = &ir->insts.items[roc_ir_arg(ir, inst, n)];
      bool is_param =
          operand->op == ROC_IR_ATOMIC && ir->arrays.items[operand->aux].kind == ROC_IR_ARRAY_PARAM;
      if (is_param) return false;
    }
  }
  return true;
}

/* Rows of work-items of which none can tell which it is in: they need no loop. Such rows of a
 * workgroup would run one after the other; now those of the whole launch do. */
static bool goes_by_rows(const cpu_state *s) {
  return s->is_unordered && !s->plan.knows_rows && s->plan.nruns <= 1;
}

static cpu_state *make_state(roc_cg *cg) {
  const roc_ir_module *ir = cg->ir;
  roc_arena *arena = &cg->arena;
  cpu_state *s = ROC_ARENA_NEW(arena, cpu_state);
  if (!s || !cpu_plan_make(ir, arena, cpu_has_lanes(cg), &s->plan)) return NULL;
  cg->state = s;
  s->cg = cg;
  s->is_unordered = is_unordered(ir);
  s->goes_by_rows = goes_by_rows(s);
  if (cpu_is_elementwise(s)) cg->counters = ROC_COUNTERS_KEPT;
  s->is_promised = ROC_ARENA_ARRAY(arena, bool, ir->insts.count + 1);
  s->spanned = ROC_IR_NONE;
  if (!s->is_promised) return NULL;
  if (!cpu_look_plan(s) || !cpu_inspect_plan(s) || !cpu_tallies_plan(s)) return NULL;
  s->array_params = ROC_ARENA_ARRAY(arena, LLVMValueRef, ir->params.count + 1);
  s->value_slots = ROC_ARENA_ARRAY(arena, cpu_slot, ir->insts.count + 1);
  s->var_slots = ROC_ARENA_ARRAY(arena, cpu_slot, ir->vars.count + 1);
  s->array_slots = ROC_ARENA_ARRAY(arena, cpu_slot, ir->arrays.count + 1);
  s->tuple_lengths = ROC_ARENA_ARRAY(arena, LLVMValueRef, ir->arrays.count + 1);
  s->is_settled = ROC_ARENA_ARRAY(arena, bool, ir->insts.count + 1);
  s->is_exit = ROC_ARENA_ARRAY(arena, bool, ir->insts.count + 1);
  s->divides_small = ROC_ARENA_ARRAY(arena, uint8_t, ir->insts.count + 1);
  s->read_once = ROC_ARENA_ARRAY(arena, LLVMValueRef, ir->insts.count + 1);
  s->advances = ROC_ARENA_ARRAY(arena, LLVMValueRef, ir->vars.count + 1);
  s->exits = ROC_ARENA_ARRAY(arena, roc_cg_exits, ir->insts.count + 1);
  s->epochs = ROC_ARENA_ARRAY(arena, uint32_t, ir->insts.count + 1);
  s->ways = ROC_ARENA_ARRAY(arena, uint8_t, ir->insts.count + 1);
  s->shared_offsets = ROC_ARENA_ARRAY(arena, uint64_t, ir->arrays.count + 1);
  /* The digits are a field that jit_load numbers, so that one object can be loaded more than once.
   */
  s->entry = cg->options->symbol ? cg->options->symbol : ROC_CPU_ENTRY_FIELD;
  return arena->failed ? NULL : s;
}

/* Few kernels gain by it, and the walk takes its time. */
static bool find_widths(roc_cg *cg) {
  if (!roc_ir_has_narrow_elements(cg->ir)) return true;
  roc_status status = roc_ir_find_widths(cg->ir, &roc_ir_limits_any, &cg->widths, NULL);
  if (status != ROC_OK) cg->arena.failed = true;
  return status == ROC_OK;
}

static bool rounds(const roc_cg *cg, uint32_t id) {
  uint8_t op = cg->ir->insts.items[id].op;
  return op == ROC_IR_FLOOR || op == ROC_IR_CEIL;
}

/* Likewise. */
static bool find_rounded(roc_cg *cg) {
  uint32_t id = 0;
  while (id < cg->ir->insts.count && !rounds(cg, id)) id++;
  if (id == cg->ir->insts.count) return true;
  uint8_t *facts, *vars;
  if (roc_ir_find_narrow(cg->ir, &roc_ir_limits_any, false, &facts, &vars, NULL)) return false;
  uint8_t *kept = ROC_ARENA_ARRAY(&cg->arena, uint8_t, cg->ir->insts.count);
  if (kept) memcpy(kept, facts, cg->ir->insts.count);
  roc_free(facts);
  roc_free(vars);
  cpu_of(cg)->rounded = kept;
  return kept != NULL;
}

/* Vectors are not converted to 64 bits, but one by one.  A check that fails reports the integer
 * itself. */
static bool cpu_rounds_to_32_bits(roc_cg *cg, const roc_ir_inst *inst) {
  const cpu_state *s = cpu_of(cg);
  if (!s->rounded || s->is_cold) return false;
  uint8_t facts = s->rounded[inst - cg->ir->insts.items];
  bool is_signed = (facts & ROC_IR_NARROW) && (facts & ROC_IR_NARROW_SIGNED);
  if (!is_signed && !(facts & (ROC_IR_INT32 | ROC_IR_SATURATES))) return false;
  for (uint32_t id = 0; cg->ir->check && id < cg->ir->insts.count; id++) {
    uint16_t flags = roc_ir_op_table[cg->ir->insts.items[id].op].flags;
    bool is_check = (flags & ROC_IRF_STOP) && !(flags & ROC_IRF_CONTROL);
    if (is_check && s->plan.home[id] && !cpu_is_settled(s, id)) return false;
  }
  return true;
}

/* A sum with 0, which LLVM cannot know. */
static LLVMValueRef opaque_sum(roc_cg *cg, LLVMValueRef value) {
  LLVMTypeRef type = LLVMFunctionType(cg->t.i64, &cg->t.i64, 1, 0);
  LLVMValueRef pass = LLVMGetInlineAsm(type, "", 0, "=r,0", 4, 0, 0, LLVMInlineAsmDialectATT, 0);
  LLVMValueRef zero = roc_cg_i64(cg, 0);
  return LLVMBuildNUWAdd(cg->b, value, LLVMBuildCall2(cg->b, type, pass, &zero, 1, ""), "");
}

/* Where items go down a column, the vectoriser would ask whether rows have one element, and make
 * vectors for that case alone, were their length a value of its own. */
static void hide_lengths(roc_cg *cg) {
  for (uint32_t a = 0; a < cg->ir->arrays.count; a++) {
    const roc_ir_array *array = &cg->ir->arrays.items[a];
    if (array->kind != ROC_IR_ARRAY_PARAM) continue;
    for (uint32_t d = 0; array->rank > 1 && d < array->rank; d++) {
      cg->arrays[a].lengths[d] = opaque_sum(cg, cg->arrays[a].extents[d]);
    }
  }
}

static void cpu_kernel(roc_cg *cg) {
  cpu_state *s = make_state(cg);
  roc_arg_slot *slots = ROC_ARENA_ARRAY(&cg->arena, roc_arg_slot, cg->ir->params.count + 1);
  if (!s || !slots) {
    cg->arena.failed = true;
    return;
  }
  roc_ir_layout_args(cg->ir, slots);
  s->shared_bytes = roc_ir_layout_shared(cg->ir, s->shared_offsets);
  s->parallel = make_access_group(cg);
  uint32_t narrays = 0;
  for (uint32_t i = 0; i < cg->ir->params.count; i++)
    narrays += roc_arg_is_array(&cg->ir->params.items[i].type);
  cg->fn = make_body(cg, narrays);
  if (!cg->fn || !find_widths(cg)) return;
  if (!find_rounded(cg)) {
    cg->arena.failed = true;
    return;
  }
  if (cg->is_listing) roc_cg_debug_begin(cg); /* no debugger sees the code that the device runs */
  LLVMBasicBlockRef entry = roc_cg_block(cg, "entry");
  LLVMPositionBuilderAtEnd(cg->entry_b, entry);
  LLVMPositionBuilderAtEnd(cg->b, entry);
  cpu_load_launch(s);
  s->frame_end = s->frame;
  roc_cg_bind_args(cg, cpu_field);
  hide_lengths(cg);
  cpu_emit_groups(s);
  roc_cg_debug_end(cg);
  make_entry(cg, cg->fn, slots, narrays);
}

enum { MAX_LOCAL_BYTES = 1 << 30 };

/* Memory that no machine would give is refused here; what merely is not there, at the launch. */
static roc_status cpu_finish(roc_cg *cg, roc_error *err) {
  const cpu_state *s = cpu_of(cg);
  if (s->frame_item > MAX_LOCAL_BYTES) {
    return roc_fail(err, ROC_COMPILE,
                    "kernel '%s' keeps %llu bytes per work-item (private arrays and values that "
                    "live across barriers); at most %d are possible",
                    cg->ir->name, (unsigned long long)s->frame_item, MAX_LOCAL_BYTES);
  }
  if (s->shared_bytes > MAX_LOCAL_BYTES) {
    return roc_fail(err, ROC_COMPILE,
                    "kernel '%s' declares %llu bytes of shared arrays; at most %d are possible",
                    cg->ir->name, (unsigned long long)s->shared_bytes, MAX_LOCAL_BYTES);
  }
  return ROC_OK;
}

static roc_status cpu_finish_module(roc_cg *cg, roc_error *err) {
  cpu_rewrite_vectors(cg);
  cpu_widen_masks(cg);
  if (!cpu_join_neighbours(cg) || !cpu_part_strided(cg))
    return roc_fail(err, ROC_OOM, "out of memory");
  return cpu_math_define(cg, err);
}

static void cpu_describe(roc_cg *cg, roc_codeobj *object) {
  cpu_state *s = cpu_of(cg);
  object->entry = s->entry;
  object->has_batches = s->has_batches;
  object->is_unordered = s->is_unordered;
  object->goes_by_rows = s->goes_by_rows;
  object->item_steps = s->item_steps;
  object->shared_bytes = (uint32_t)s->shared_bytes;
  object->frame_fixed_bytes = (uint32_t)s->frame_fixed;
  object->frame_item_bytes = (uint32_t)s->frame_item;
}

const roc_target roc_target_cpu = {
    .facts = &roc_target_facts_cpu,
    .device_scope = "",
    .group_scope = "",
    .system_scope = "",
    .splits_stores = true,
    .outlines_loops = true,
    .object_kind = LLVMObjectFile,
    .accepts = cpu_accepts,
    .initialise = cpu_initialise,
    .check_options = cpu_check_options,
    .machine = cpu_machine,
    .kernel = cpu_kernel,
    .finish = cpu_finish,
    .repair = cpu_finish_module,
    .passes = cpu_passes,
    .no_slp_passes =
        "default<O1>,function(loop-simplify,lcssa,before-vectorize,loop-vectorize,"
        "instcombine<no-verify-fixpoint>,simplifycfg)",
    .scalar_passes =
        "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
        "simplifycfg,loop-simplify,lcssa,before-vectorize,"
        "loop-vectorize<vectorize-forced-only;interleave-forced-only>,"
        "instcombine<no-verify-fixpoint>,simplifycfg,"
        "loop-unroll<O1;no-partial;no-runtime;no-peeling;no-upperbound>,sroa,"
        "early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)",
    .no_counter_passes =
        "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
        "simplifycfg)",
    .quick_passes = "function(sroa,early-cse)",
    .describe = cpu_describe,
    .launch_value = cpu_launch_value,
    .array_base = cpu_array_base,
    .dynamic_bytes = cpu_dynamic_bytes,
    .barrier = cpu_barrier,
    .fence = cpu_fence,
    .wave = cpu_no_wave,
    .math = cpu_math,
    .rounds_to_32_bits = cpu_rounds_to_32_bits,
    .is_straightened = cpu_is_straightened,
    .atomic_place = cpu_tally_place,
    .fuses = cpu_fuses,
    .fail = cpu_fail_hook,
    .operand = cpu_operand,
    .define = cpu_define,
    .intercept = cpu_intercept,
};
