/* The CPU target: the entry that the runtime calls, the loop over workgroups, and the hooks that
 * the shared code asks for ids and memory.
 *
 * Two functions are made.  The entry (roc_cpu_entry of base/codeobj.h) reads the array pointers
 * from the kernarg block and hands them to the body as arguments, because only an argument can be
 * noalias.  The body does everything else. */
#include <stdio.h>
#include <string.h>

#include <llvm-c/IRReader.h>
#include <llvm-c/Target.h>

#include "base/env.h"
#include "codegen/cpu/cpu.h"
#include "codegen/llvm/machine.h"
#include "codegen/llvm/processor.h"
#include "ir/layout.h"

/* Arguments of the entry, and of the body before the array pointers. */
enum { ARG_KERNARG, ARG_LAUNCH, ARG_FIRST, ARG_END, ARG_SHARED, ARG_FRAME, ARG_TURN, NARGS };

/* ---- machine ----------------------------------------------------------------------------- */

static void initialise(void) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
}

/* "cpu" is the processor this process runs on, or the one that ROCLUA_CPU names; "cpu:NAME" another
 * one.  NULL: this one, with all that LLVM finds of it. */
static const char *processor_of(const char *target) {
  return target[3] == ':' ? target + 4 : roc_env_text("ROCLUA_CPU");
}

static LLVMTargetMachineRef make_machine(LLVMTargetRef target, const char *triple, const char *cpu,
                                         LLVMCodeGenOptLevel level) {
  if (cpu) {
    return LLVMCreateTargetMachine(target, triple, cpu, "", level, LLVMRelocPIC,
                                   LLVMCodeModelSmall);
  }
  char *host = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
  LLVMTargetMachineRef tm = LLVMCreateTargetMachine(target, triple, host, features, level,
                                                    LLVMRelocPIC, LLVMCodeModelSmall);
  LLVMDisposeMessage(host);
  LLVMDisposeMessage(features);
  return tm;
}

/* The JIT lays out an object's sections side by side and reaches what is elsewhere through a
 * table. */
static LLVMTargetMachineRef cpu_machine(const roc_cg_options *options, roc_error *err) {
  LLVMCodeGenOptLevel level =
      options->opt_level == 0 ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault;
  char *triple = LLVMGetDefaultTargetTriple(), *message = NULL;
  LLVMTargetRef target;
  LLVMTargetMachineRef tm = NULL;
  if (LLVMGetTargetFromTriple(triple, &target, &message)) {
    roc_fail(err, ROC_UNAVAILABLE, "LLVM has no target for this machine: %s", message);
    LLVMDisposeMessage(message);
  } else {
    tm = make_machine(target, triple, processor_of(options->target), level);
    if (!tm) roc_fail(err, ROC_UNAVAILABLE, "LLVM makes no target machine for this processor");
  }
  LLVMDisposeMessage(triple);
  return tm;
}

static bool cpu_accepts(const char *name) {
  if (!roc_target_facts_cpu.accepts(name)) return false;
  if (!name[3]) return true;
  roc_machine_prepare();
  return roc_processor_is_known(name + 4);
}

/* That ROCLUA_CPU names a processor whose code runs on this one. */
static roc_status cpu_check_options(const roc_cg_options *options, roc_error *err) {
  const char *name = roc_env_text("ROCLUA_CPU");
  if (options->target[3] == ':' || !name) return ROC_OK;
  if (!roc_processor_is_known(name)) {
    return roc_fail(err, ROC_INVALID,
                    "ROCLUA_CPU is '%s', expected a processor that LLVM knows, such as x86-64-v3",
                    name);
  }
  char missing[256];
  roc_processor_missing(name, missing, sizeof missing);
  if (!*missing) return ROC_OK;
  return roc_fail(err, ROC_INVALID, "ROCLUA_CPU is '%s', which has what this processor lacks: %s",
                  name, missing);
}

/* A body without loops has nothing to unroll or rotate: what the item loops need is enough, at half
 * of the time.  (On its own instcombine ends the process when one round was not enough, unless told
 * not to look.) */
static const char short_pipeline[] =
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,loop-simplify,"
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

/* The builder works in the entry block until leave_entry. */
static LLVMBasicBlockRef enter_entry(roc_cg *cg) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(cg->b);
  LLVMPositionBuilderAtEnd(cg->b, LLVMGetInsertBlock(cg->entry_b));
  return here;
}

enum { SLOT_ALIGN = 64 };

cpu_slot cpu_slot_new(cpu_state *s, LLVMTypeRef type, uint64_t count) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef here = enter_entry(cg);
  LLVMTargetDataRef layout = LLVMGetModuleDataLayout(cg->mod);
  uint64_t item = LLVMABISizeOfType(layout, type) * count;
  cpu_slot slot = {.base = s->frame_end, .type = type};
  LLVMValueRef nbytes = LLVMBuildMul(cg->b, s->slots, roc_cg_i64(cg, (int64_t)item), "");
  nbytes = LLVMBuildAdd(cg->b, nbytes, roc_cg_i64(cg, SLOT_ALIGN - 1), "");
  nbytes = LLVMBuildAnd(cg->b, nbytes, roc_cg_i64(cg, -SLOT_ALIGN), "");
  s->frame_end = roc_cg_byte_offset(cg, s->frame_end, nbytes);
  s->frame_fixed += SLOT_ALIGN;
  s->frame_item += item;
  LLVMPositionBuilderAtEnd(cg->b, here);
  return slot;
}

LLVMValueRef cpu_slot_at(cpu_state *s, const cpu_slot *slot, LLVMValueRef lin) {
  LLVMValueRef index = lin;
  if (s->slot_first) index = LLVMBuildNUWAdd(s->cg->b, s->slot_first, lin, "");
  return LLVMBuildInBoundsGEP2(s->cg->b, slot->type, slot->base, &index, 1, "");
}

LLVMValueRef cpu_slot_item(cpu_state *s, const cpu_slot *slot) {
  return cpu_slot_at(s, slot, s->run->lin);
}

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

static LLVMValueRef global_id(cpu_state *s, unsigned dim, LLVMValueRef local) {
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

/* ---- functions --------------------------------------------------------------------------- */

static LLVMValueRef launch_field(cpu_state *s, LLVMTypeRef type, uint64_t offset) {
  roc_cg *cg = s->cg;
  LLVMValueRef ptr = roc_cg_byte_offset(cg, s->launch, roc_cg_i64(cg, (int64_t)offset));
  LLVMValueRef value = LLVMBuildLoad2(cg->b, type, ptr, "");
  return type == cg->t.i32 ? LLVMBuildZExt(cg->b, value, cg->t.i64, "") : value;
}

static LLVMValueRef cpu_field(roc_cg *cg, uint32_t param, LLVMTypeRef type, uint32_t offset) {
  cpu_state *s = cpu_of(cg);
  if (type == cg->t.ptr) return s->array_params[param];
  LLVMValueRef ptr = roc_cg_byte_offset(cg, s->kernarg, roc_cg_i64(cg, offset));
  return LLVMBuildLoad2(cg->b, type, ptr, cg->ir->params.items[param].name);
}

/* A kernel that does not divide has divisions all the same, for the place of a group.  To try a
 * shorter one first, as processors with a slow divider do, is not worth its branches there. */
static void set_features(roc_cg *cg, LLVMValueRef fn, const char *features) {
  const cpu_state *s = cg->state;
  const char *all = s->plan.divides ? features
                                    : roc_arena_printf(&cg->arena, "%s%s-idivq-to-divl", features,
                                                       *features ? "," : "");
  if (all) roc_cg_attr_text(cg, fn, "target-features", all);
}

void cpu_set_attributes(roc_cg *cg, LLVMValueRef fn) {
  char *cpu = LLVMGetTargetMachineCPU(cg->tm);
  char *features = LLVMGetTargetMachineFeatureString(cg->tm);
  roc_cg_attr_text(cg, fn, "target-cpu", cpu);
  set_features(cg, fn, features);
  if (roc_processor_has(cg->tm, "avx512f")) {
    roc_cg_attr_text(cg, fn, "prefer-vector-width", "512");
    roc_cg_attr_text(cg, fn, "min-legal-vector-width", "512");
  }
  roc_cg_attr(cg, fn, LLVMAttributeFunctionIndex, "nounwind");
  LLVMDisposeMessage(cpu);
  LLVMDisposeMessage(features);
}

static void name_array_params(roc_cg *cg, LLVMValueRef fn) {
  cpu_state *s = cpu_of(cg);
  for (uint32_t i = 0, n = NARGS; i < cg->ir->params.count; i++) {
    const roc_ir_param *param = &cg->ir->params.items[i];
    if (!param->is_array) continue;
    s->array_params[i] = LLVMGetParam(fn, n++);
    LLVMSetValueName2(s->array_params[i], param->name, strlen(param->name));
    if (!param->is_alias) roc_cg_attr(cg, fn, n, "noalias"); /* parameter n-1 is attribute n */
    if (!param->is_written && !param->is_alias) roc_cg_attr(cg, fn, n, "readonly");
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
    if (!cg->ir->params.items[i].is_array) continue;
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

static void load_sizes(cpu_state *s, LLVMValueRef grid[3], LLVMValueRef groups[3],
                       LLVMValueRef local[3]) {
  LLVMTypeRef i64 = s->cg->t.i64, i32 = s->cg->t.i32;
  for (unsigned d = 0; d < 3; d++) {
    grid[d] = launch_field(s, i64, offsetof(roc_cpu_launch, grid) + 8 * d);
    groups[d] = launch_field(s, i64, offsetof(roc_cpu_launch, groups) + 8 * d);
    local[d] = launch_field(s, i32, offsetof(roc_cpu_launch, local) + 4 * d);
  }
}

/* Values of the launch, in the entry block. */
static void load_launch(cpu_state *s) {
  roc_cg *cg = s->cg;
  LLVMTypeRef i32 = cg->t.i32;
  LLVMValueRef place =
      roc_cg_byte_offset(cg, s->turn, roc_cg_i64(cg, offsetof(roc_cpu_turn, budget)));
  s->budget = roc_cg_alloca(cg, cg->t.i64, "budget");
  LLVMBuildStore(cg->b, LLVMBuildLoad2(cg->b, cg->t.i64, place, ""), s->budget);
  load_sizes(s, s->grid, s->groups, s->local);
  s->rank = launch_field(s, i32, offsetof(roc_cpu_launch, rank));
  s->dynamic = launch_field(s, i32, offsetof(roc_cpu_launch, dynamic_shared_bytes));
  cg->fault = launch_field(s, cg->t.ptr, offsetof(roc_cpu_launch, fault));
  cg->print = launch_field(s, cg->t.ptr, offsetof(roc_cpu_launch, print));
  LLVMValueRef rows = LLVMBuildNUWMul(cg->b, s->local[1], s->local[2], "");
  s->items = LLVMBuildNUWMul(cg->b, s->local[0], rows, "");
  s->batch_at = cpu_batch_find(s);
  s->slots = s->items;
  if (s->batch_at == ROC_IR_NONE) return;
  s->batch = launch_field(s, i32, offsetof(roc_cpu_launch, batch));
  s->slots = LLVMBuildNUWMul(cg->b, s->items, s->batch, "");
  uint64_t rounding = ROC_IR_SHARED_ALIGN - 1; /* the static bytes are a multiple */
  LLVMValueRef nbytes =
      LLVMBuildNUWAdd(cg->b, s->dynamic, roc_cg_i64(cg, (int64_t)(s->shared_bytes + rounding)), "");
  s->shared_stride = LLVMBuildAnd(cg->b, nbytes, roc_cg_i64(cg, -(int64_t)(rounding + 1)), "");
}

/* Where group `g` lies, and how many of its items there are. The sizes are read for each group:
 * what is kept from one to the next takes registers from all that lies between. LLVM would keep
 * them, too, but for the faults of the slow version, of which it cannot tell where they are stored.
 */
static void place_group(cpu_state *s, LLVMValueRef g) {
  LLVMBuilderRef b = s->cg->b;
  LLVMValueRef grid[3], groups[3], local[3];
  load_sizes(s, grid, groups, local);
  LLVMValueRef rest = LLVMBuildUDiv(b, g, groups[0], "");
  s->group[0] = LLVMBuildURem(b, g, groups[0], "");
  s->group[1] = LLVMBuildURem(b, rest, groups[1], "");
  s->group[2] = LLVMBuildUDiv(b, rest, groups[1], "");
  for (unsigned d = 0; d < 3; d++) {
    s->group_first[d] = LLVMBuildNUWMul(b, s->group[d], local[d], "");
    LLVMValueRef args[2] = {LLVMBuildNUWSub(b, grid[d], s->group_first[d], ""), local[d]};
    s->count[d] = roc_cg_intrinsic(s->cg, "llvm.umin", &s->cg->t.i64, 1, args, 2);
  }
}

static void begin_live(cpu_state *s, cpu_level *level) {
  roc_cg *cg = s->cg;
  LLVMValueRef present = LLVMBuildMul(cg->b, s->count[0], s->count[1], "");
  present = LLVMBuildMul(cg->b, present, s->count[2], "");
  level->present = present;
  level->live_count = roc_cg_alloca(cg, cg->t.i64, "live");
  LLVMBuildStore(cg->b, present, level->live_count);
  if (!s->needs_live) return;
  if (!s->live.base) s->live = cpu_slot_new(s, cg->t.i8, 1);
  LLVMValueRef first = cpu_slot_at(s, &s->live, roc_cg_i64(cg, 0));
  LLVMBuildMemSet(cg->b, first, LLVMConstInt(cg->t.i8, 1, 0), s->items, 1);
}

static bool any_stop(const cpu_state *s) {
  for (uint32_t i = 0; i < s->cg->ir->insts.count; i++) {
    if (s->plan.stops[i]) return true;
  }
  return false;
}

void cpu_emit_body(cpu_state *s, uint32_t from, LLVMBasicBlockRef end) {
  cpu_level level = {.kind = CPU_LEVEL_GROUP, .end = end, .group_end = end};
  s->level = &level;
  s->may_be_dead = false;
  s->needs_live = s->plan.nruns > 1 && any_stop(s);
  begin_live(s, &level);
  const roc_ir_ids *body = &s->cg->ir->regions.items[0];
  cpu_emit_list(s, body->items + from, body->count - from);
  roc_cg_goto(s->cg, end);
}

/* The version in which settled checks hold: group by group, or `clear_count` groups side by side.
 */
static void emit_clear(cpu_state *s, LLVMValueRef clear_count, LLVMBasicBlockRef end) {
  if (clear_count && cpu_batch_may_run(s, s->batch_at)) {
    s->has_batches = true;
    LLVMBuildStore(s->cg->b, clear_count, s->taken);
    cpu_emit_batch(s, s->batch_at, clear_count, end);
  } else {
    cpu_emit_body(s, 0, end);
  }
}

/* Whether the checks that can be settled beforehand hold for group `g`; NULL: there are none.
 * Where groups may run side by side, for how many from `g` on. */
static LLVMValueRef settle_checks(cpu_state *s, LLVMValueRef g, LLVMValueRef *out_clear_count) {
  roc_cg *cg = s->cg;
  *out_clear_count = NULL;
  if (s->batch_at == ROC_IR_NONE) return cg->ir->check ? cpu_preflight(s) : NULL;
  LLVMValueRef limit = cpu_batch_limit(s, g);
  bool has_checks = false;
  *out_clear_count = cg->ir->check ? cpu_batch_preflight(s, limit, &has_checks) : limit;
  if (!has_checks) return NULL;
  return LLVMBuildICmp(cg->b, LLVMIntNE, *out_clear_count, roc_cg_i64(cg, 0), "");
}

/* The body in two versions, when there are checks that can be settled beforehand. */
static void emit_versions(cpu_state *s, LLVMValueRef g, LLVMBasicBlockRef end) {
  roc_cg *cg = s->cg;
  LLVMValueRef clear_count, is_clear = settle_checks(s, g, &clear_count);
  if (!is_clear) {
    emit_clear(s, clear_count, end);
    return;
  }
  LLVMBasicBlockRef clear = roc_cg_block(cg, "clear"), cold = roc_cg_block(cg, "cold");
  roc_cg_branch_likely(cg, is_clear, clear, cold);
  roc_cg_at(cg, clear);
  bool *stops = s->plan.stops;
  s->plan.stops = cpu_preflight_stops(s);
  if (!s->plan.stops) return;
  s->is_clear = true;
  emit_clear(s, clear_count, end);
  s->is_clear = false;
  s->plan.stops = stops;
  roc_cg_at(cg, cold);
  s->is_cold = true;
  cpu_emit_body(s, 0, end);
  s->is_cold = false;
}

static void emit_groups(cpu_state *s) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef entry = LLVMGetInsertBlock(cg->entry_b);
  LLVMBasicBlockRef head = roc_cg_block(cg, "group"), end = roc_cg_block(cg, "group.end");
  LLVMBasicBlockRef done = roc_cg_block(cg, "done");
  roc_cg_at(cg, head);
  LLVMValueRef g = LLVMBuildPhi(cg->b, cg->t.i64, "g");
  LLVMAddIncoming(g, &s->first, &entry, 1);
  s->stopped = done;
  place_group(s, g);
  s->taken = roc_cg_alloca(cg, cg->t.i64, "taken");
  LLVMBuildStore(cg->b, roc_cg_i64(cg, 1), s->taken);
  emit_versions(s, g, end);
  roc_cg_at(cg, end);
  LLVMValueRef taken = LLVMBuildLoad2(cg->b, cg->t.i64, s->taken, "");
  LLVMValueRef next = LLVMBuildNUWAdd(cg->b, g, taken, "");
  cpu_look_between(s, next);
  LLVMBasicBlockRef last = LLVMGetInsertBlock(cg->b);
  LLVMAddIncoming(g, &next, &last, 1);
  LLVMBuildCondBr(cg->b, LLVMBuildICmp(cg->b, LLVMIntULT, next, s->end, ""), head, done);
  roc_cg_at(cg, done);
  LLVMBuildRetVoid(cg->b);
  LLVMValueRef some = LLVMBuildICmp(cg->entry_b, LLVMIntULT, s->first, s->end, "");
  LLVMBuildCondBr(cg->entry_b, some, head, done);
}

static cpu_state *make_state(roc_cg *cg) {
  const roc_ir_module *ir = cg->ir;
  roc_arena *arena = &cg->arena;
  cpu_state *s = ROC_ARENA_NEW(arena, cpu_state);
  if (!s || !cpu_plan_make(ir, arena, &s->plan)) return NULL;
  cg->state = s;
  s->cg = cg;
  if (!cpu_look_plan(s)) return NULL;
  s->array_params = ROC_ARENA_ARRAY(arena, LLVMValueRef, ir->params.count + 1);
  s->value_slots = ROC_ARENA_ARRAY(arena, cpu_slot, ir->insts.count + 1);
  s->var_slots = ROC_ARENA_ARRAY(arena, cpu_slot, ir->vars.count + 1);
  s->array_slots = ROC_ARENA_ARRAY(arena, cpu_slot, ir->arrays.count + 1);
  s->is_settled = ROC_ARENA_ARRAY(arena, bool, ir->insts.count + 1);
  s->advances = ROC_ARENA_ARRAY(arena, LLVMValueRef, ir->vars.count + 1);
  s->exits = ROC_ARENA_ARRAY(arena, roc_cg_exits, ir->insts.count + 1);
  s->epochs = ROC_ARENA_ARRAY(arena, uint32_t, ir->insts.count + 1);
  s->shared_offsets = ROC_ARENA_ARRAY(arena, uint64_t, ir->arrays.count + 1);
  /* The digits are a field that jit_load numbers, so that one object can be loaded more than once.
   */
  s->entry = cg->options->symbol ? cg->options->symbol : ROC_CPU_ENTRY_FIELD;
  return arena->failed ? NULL : s;
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
  for (uint32_t i = 0; i < cg->ir->params.count; i++) narrays += cg->ir->params.items[i].is_array;
  cg->fn = make_body(cg, narrays);
  if (!cg->fn) return;
  LLVMBasicBlockRef entry = roc_cg_block(cg, "entry");
  LLVMPositionBuilderAtEnd(cg->entry_b, entry);
  LLVMPositionBuilderAtEnd(cg->b, entry);
  load_launch(s);
  s->frame_end = s->frame;
  roc_cg_bind_args(cg, cpu_field);
  emit_groups(s);
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

static void cpu_describe(roc_cg *cg, roc_codeobj *object) {
  cpu_state *s = cpu_of(cg);
  object->entry = s->entry;
  object->has_batches = s->has_batches;
  object->is_open_ended = s->is_open_ended;
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
    .accepts = cpu_accepts,
    .initialise = initialise,
    .check_options = cpu_check_options,
    .machine = cpu_machine,
    .kernel = cpu_kernel,
    .finish = cpu_finish,
    .repair = cpu_math_define,
    .passes = cpu_passes,
    .no_slp_passes =
        "default<O1>,function(loop-simplify,lcssa,before-vectorize,loop-vectorize,"
        "instcombine<no-verify-fixpoint>,simplifycfg)",
    .scalar_passes =
        "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
        "simplifycfg)",
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
    .fail = cpu_fail_hook,
    .operand = cpu_operand,
    .define = cpu_define,
    .intercept = cpu_intercept,
};
