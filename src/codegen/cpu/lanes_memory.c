/* Loads and stores of the lanes of a vector.
 *
 * Neighbours read and write memory in one piece, under the mask; what is at the same place for all
 * lanes is read once; anything else is gathered and scattered.  Addresses of lanes that are not in
 * the mask may be anything, and are not used. */
#include "codegen/cpu/lanes.h"

#include "ir/layout.h"

static const roc_ir_inst *inst_of(const cpu_state *s, uint32_t id) {
  return &s->cg->ir->insts.items[id];
}

/* How far, in elements, the place of an access lies from that of the lane before; the indices begin
 * at operand `first`. */
static int32_t stride_of_place(const cpu_state *s, const roc_ir_inst *inst, uint32_t first) {
  const roc_ir_module *ir = s->cg->ir;
  const roc_ir_array *array = &ir->arrays.items[inst->aux];
  roc_layout layout =
      array->kind == ROC_IR_ARRAY_PARAM ? ir->params.items[array->param].type.layout : ROC_LAYOUT_C;
  bool is_private = array->kind == ROC_IR_ARRAY_PRIVATE;
  int32_t stride = is_private; /* its lanes are neighbours, where they ask for the same element */
  for (uint32_t d = 0; d < array->rank; d++) {
    int32_t of_index = s->shapes->insts[roc_ir_arg(ir, inst, first + d)];
    if (of_index == 0) continue;
    bool is_fastest = layout == ROC_LAYOUT_C ? d == array->rank - 1u : d == 0;
    if (is_private || !is_fastest || layout == ROC_LAYOUT_STRIDED) return CPU_VARYING;
    stride = of_index;
  }
  return stride;
}

bool cpu_lanes_scatters(const cpu_state *s, uint32_t id) {
  const roc_ir_inst *inst = inst_of(s, id);
  bool is_store = inst->op == ROC_IR_STORE;
  if (!is_store && s->shapes->insts[id] == 0) return false;
  return stride_of_place(s, inst, is_store) != 1;
}

static void align_operand(cpu_state *s, LLVMValueRef call, unsigned operand, uint32_t a) {
  size_t itemsize = roc_dtype_itemsize(s->cg->ir->arrays.items[a].dtype);
  unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
  LLVMAttributeRef align = LLVMCreateEnumAttribute(s->cg->ctx, kind, itemsize);
  LLVMAddCallSiteAttribute(call, operand + 1, align);
}

/* A private array has its elements lane by lane: in the frame, or, small ones, on the stack. */
static LLVMValueRef private_base(cpu_state *s, uint32_t a, LLVMValueRef *out_scale) {
  roc_cg *cg = s->cg;
  cpu_lanes *l = s->lanes;
  const roc_ir_array *array = &cg->ir->arrays.items[a];
  if (s->plan.array_slotted[a]) {
    LLVMValueRef base = cg->target->array_base(cg, a);
    *out_scale = cg->arrays[a].scale;
    return base;
  }
  *out_scale = roc_cg_i64(cg, l->count);
  if (!l->arrays[a]) {
    uint64_t count = (uint64_t)roc_ir_array_size(array) * l->count;
    LLVMTypeRef type = LLVMArrayType2(roc_cg_storage_type(cg, array->dtype), count);
    l->arrays[a] = roc_cg_alloca(cg, type, array->name);
  }
  return l->arrays[a];
}

/* Of private arrays, likewise. */
static LLVMValueRef private_address(cpu_state *s, const roc_ir_inst *inst, uint32_t first) {
  roc_cg *cg = s->cg;
  unsigned lanes = cg->lanes;
  roc_cg_set_lanes(cg, 1);
  LLVMValueRef scale, base = private_base(s, inst->aux, &scale);
  LLVMTypeRef element = roc_cg_storage_type(cg, cg->ir->arrays.items[inst->aux].dtype);
  roc_cg_set_lanes(cg, lanes);
  LLVMValueRef index = roc_cg_element_index(cg, inst->aux, inst, first);
  index = LLVMBuildMul(cg->b, index, roc_cg_spread(cg, scale), "");
  if (lanes > 1) index = LLVMBuildAdd(cg->b, index, cpu_lanes_steps(s, 1), "");
  return LLVMBuildGEP2(cg->b, element, base, &index, 1, "");
}

/* The address of the first lane's element (while cg->lanes is 1), or those of all. */
static LLVMValueRef address(cpu_state *s, const roc_ir_inst *inst, uint32_t first) {
  roc_cg *cg = s->cg;
  LLVMValueRef base = cg->arrays[inst->aux].base;
  unsigned lanes = cg->lanes;
  if (cg->ir->arrays.items[inst->aux].kind == ROC_IR_ARRAY_PRIVATE) {
    return private_address(s, inst, first);
  }
  if (!base) {
    roc_cg_set_lanes(cg, 1);
    base = cg->target->array_base(cg, inst->aux);
    roc_cg_set_lanes(cg, lanes);
  }
  LLVMValueRef index = roc_cg_element_index(cg, inst->aux, inst, first);
  roc_cg_set_lanes(cg, 1);
  LLVMTypeRef element = roc_cg_storage_type(cg, cg->ir->arrays.items[inst->aux].dtype);
  roc_cg_set_lanes(cg, lanes);
  return LLVMBuildGEP2(cg->b, element, base, &index, 1, "");
}

/* A load with a mask must not be joined with a select after a later store (quirk MASKED_LOAD). */
static LLVMValueRef keep_in_place(cpu_state *s, const roc_ir_inst *inst, LLVMValueRef loaded) {
  const roc_cg *cg = s->cg;
  bool is_off = !roc_quirk_is_on(cg->options->quirks_off, ROC_QUIRK_MASKED_LOAD);
  return is_off || cpu_is_never_written(s, inst->aux) ? loaded : LLVMBuildFreeze(cg->b, loaded, "");
}

/* Whether the processor has an instruction for the access to elements of the dtype. */
static bool has_instruction(const cpu_state *s, roc_dtype dtype, bool is_piece) {
  size_t itemsize = roc_dtype_itemsize(dtype);
  return is_piece ? s->lanes->has_bits || itemsize >= 4 : s->lanes->has_bits && itemsize >= 4;
}

/* ---- loads ------------------------------------------------------------------------------- */

static LLVMValueRef load_neighbours(cpu_state *s, const roc_ir_inst *inst, LLVMTypeRef type) {
  roc_cg *cg = s->cg;
  roc_cg_set_lanes(cg, 1);
  LLVMValueRef ptr = address(s, inst, 0);
  roc_cg_set_lanes(cg, s->lanes->count);
  LLVMTypeRef types[2] = {type, cg->t.ptr};
  LLVMValueRef args[3] = {ptr, cpu_lanes_mask(s), LLVMConstNull(type)};
  LLVMValueRef call = roc_cg_intrinsic(cg, "llvm.masked.load", types, 2, args, 3);
  align_operand(s, call, 0, inst->aux);
  return call;
}

/* One by one: a lane that is not in the mask reads a zero of ours. */
static LLVMValueRef gather_each(cpu_state *s, LLVMValueRef ptrs, LLVMTypeRef type) {
  roc_cg *cg = s->cg;
  cpu_lanes *l = s->lanes;
  LLVMTypeRef i64 = LLVMInt64TypeInContext(cg->ctx);
  if (!l->nothing) {
    l->nothing = LLVMAddGlobal(cg->mod, i64, "");
    LLVMSetInitializer(l->nothing, LLVMConstNull(i64));
    LLVMSetGlobalConstant(l->nothing, 1);
    LLVMSetLinkage(l->nothing, LLVMPrivateLinkage);
  }
  ptrs = LLVMBuildSelect(cg->b, cpu_lanes_mask(s), ptrs, roc_cg_spread(cg, l->nothing), "");
  LLVMValueRef value = LLVMGetPoison(type);
  for (unsigned i = 0; i < l->count; i++) {
    LLVMValueRef at = roc_cg_immediate(cg, i);
    LLVMValueRef ptr = LLVMBuildExtractElement(cg->b, ptrs, at, "");
    LLVMValueRef one = LLVMBuildLoad2(cg->b, LLVMGetElementType(type), ptr, "");
    value = LLVMBuildInsertElement(cg->b, value, one, at, "");
  }
  return value;
}

static LLVMValueRef gather(cpu_state *s, const roc_ir_inst *inst, LLVMTypeRef type) {
  roc_cg *cg = s->cg;
  roc_dtype dtype = cg->ir->arrays.items[inst->aux].dtype;
  LLVMValueRef ptrs = address(s, inst, 0);
  if (!has_instruction(s, dtype, false)) return gather_each(s, ptrs, type);
  LLVMTypeRef types[2] = {type, LLVMTypeOf(ptrs)};
  LLVMValueRef args[3] = {ptrs, cpu_lanes_mask(s), LLVMConstNull(type)};
  LLVMValueRef call = roc_cg_intrinsic(cg, "llvm.masked.gather", types, 2, args, 3);
  align_operand(s, call, 0, inst->aux);
  return call;
}

LLVMValueRef cpu_lanes_load(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = inst_of(s, id);
  roc_dtype dtype = cg->ir->arrays.items[inst->aux].dtype;
  int32_t stride = stride_of_place(s, inst, 0);
  if (s->shapes->insts[id] == 0) return roc_cg_load_inst(cg, inst);
  roc_cg_set_lanes(cg, s->lanes->count);
  LLVMTypeRef type = roc_cg_storage_type(cg, dtype);
  bool is_piece = stride == 1 && has_instruction(s, dtype, true);
  LLVMValueRef element = is_piece ? load_neighbours(s, inst, type) : gather(s, inst, type);
  element = keep_in_place(s, inst, element);
  LLVMValueRef value = roc_cg_from_element(cg, dtype, element);
  roc_cg_set_lanes(cg, 1);
  return value;
}

/* ---- stores ------------------------------------------------------------------------------ */

/* One by one, without branches that guess wrong: a lane that is not in the mask writes 8 bytes that
 * nothing reads. */
static void scatter_each(cpu_state *s, LLVMValueRef value, LLVMValueRef ptrs) {
  roc_cg *cg = s->cg;
  cpu_lanes *l = s->lanes;
  if (!l->waste) l->waste = roc_cg_alloca(cg, LLVMInt64TypeInContext(cg->ctx), "waste");
  ptrs = LLVMBuildSelect(cg->b, cpu_lanes_mask(s), ptrs, roc_cg_spread(cg, l->waste), "");
  for (unsigned i = 0; i < l->count; i++) {
    LLVMValueRef at = roc_cg_immediate(cg, i);
    LLVMValueRef ptr = LLVMBuildExtractElement(cg->b, ptrs, at, "");
    LLVMBuildStore(cg->b, LLVMBuildExtractElement(cg->b, value, at, ""), ptr);
  }
}

/* Of lanes that store at the same place, the last one stays, as one after the other. */
void cpu_lanes_store(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = inst_of(s, id);
  roc_dtype dtype = cg->ir->arrays.items[inst->aux].dtype;
  uint32_t source = roc_ir_arg(cg->ir, inst, 0);
  LLVMValueRef value = cpu_lanes_all(s, source);
  bool is_piece = stride_of_place(s, inst, 1) == 1 && has_instruction(s, dtype, true);
  LLVMValueRef ptr = is_piece ? address(s, inst, 1) : NULL;
  roc_cg_set_lanes(cg, s->lanes->count);
  if (!is_piece) ptr = address(s, inst, 1);
  roc_value_type type = (roc_value_type)cg->ir->insts.items[source].type;
  value = roc_cg_to_element(cg, dtype, type, value);
  if (has_instruction(s, dtype, is_piece)) {
    align_operand(s, cpu_lanes_put(s, value, ptr, cpu_lanes_mask(s)), 1, inst->aux);
  } else {
    scatter_each(s, value, ptr);
  }
  roc_cg_set_lanes(cg, 1);
}
