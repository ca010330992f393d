/* The kernel function of the AMDGPU target: arguments, ids, sizes and memory of a work-item.
 *
 * Arguments are the fields of ir/layout.h as they lie in the kernarg block, each at its natural
 * alignment; then two pointers, fault record and print buffer.  Sizes are read
 * from the dispatch packet, whose grid counts work-items: the hardware makes partial workgroups
 * itself, so no item has to be masked. */
#include <stdio.h>
#include <string.h>

#include "codegen/amdgpu/amdgpu.h"
#include "ir/check_elimination.h"
#include "ir/layout.h"
#include "ir/range.h"

/* Bytes from the start of hsa_kernel_dispatch_packet_t. */
enum {
  PACKET_SETUP = 2,          /* u16: dimensions in the low two bits */
  PACKET_WORKGROUP = 4,      /* u16[3] */
  PACKET_GRID = 12,          /* u32[3], work-items */
  PACKET_GROUP_SEGMENT = 28, /* u32: static and dynamic LDS bytes */
};

enum {
  MAX_WORKGROUP = ROC_GPU_MAX_WORKGROUP,
  CC_AMDGPU_KERNEL = 91,
  SHARED_ALIGN = ROC_IR_SHARED_ALIGN
};

/* ---- the function -------------------------------------------------------------------------- */

static bool is_of_param(const roc_cg *cg, const roc_ir_inst *inst) {
  return cg->ir->arrays.items[inst->aux].kind == ROC_IR_ARRAY_PARAM;
}

/* What the walk of reads_after_write has met of arguments' memory. */
typedef struct access_walk {
  bool writes; /* before this point, on some path */
  bool reads;  /* since the innermost loop around it began */
} access_walk;

static bool reads_after_write(const roc_cg *cg, uint32_t region, access_walk *walk);

/* Only a second round can read what the first one wrote later in the body. */
static bool loop_reads_after_write(const roc_cg *cg, uint32_t body, access_walk *walk) {
  bool reads = walk->reads;
  walk->reads = false;
  if (reads_after_write(cg, body, walk)) return true;
  if (walk->reads && walk->writes) return true;
  walk->reads |= reads;
  return false;
}

static bool if_reads_after_write(const roc_cg *cg, const roc_ir_inst *inst, access_walk *walk) {
  bool wrote = walk->writes;
  if (reads_after_write(cg, inst->k.region[0], walk)) return true;
  bool then_writes = walk->writes;
  walk->writes = wrote;
  if (reads_after_write(cg, inst->k.region[1], walk)) return true;
  walk->writes |= then_writes;
  return false;
}

/* Whether the region reads an argument's memory after a write to one. Each instruction is visited
 * once, however deep loops are nested. */
static bool reads_after_write(const roc_cg *cg, uint32_t region, access_walk *walk) {
  const roc_ir_ids *ids = &cg->ir->regions.items[region];
  bool is_found = false;
  for (uint32_t i = 0; i < ids->count && !is_found; i++) {
    const roc_ir_inst *inst = &cg->ir->insts.items[ids->items[i]];
    switch ((roc_ir_op)inst->op) {
      case ROC_IR_ATOMIC: is_found = true; break;
      case ROC_IR_LOAD:
        walk->reads |= is_of_param(cg, inst);
        is_found = walk->writes && is_of_param(cg, inst);
        break;
      case ROC_IR_STORE: walk->writes |= is_of_param(cg, inst); break;
      case ROC_IR_LOOP:
      case ROC_IR_FOR: is_found = loop_reads_after_write(cg, inst->k.region[0], walk); break;
      case ROC_IR_IF: is_found = if_reads_after_write(cg, inst, walk); break;
      default:
        is_found = roc_ir_has_regions(inst) && reads_after_write(cg, inst->k.region[0], walk);
    }
  }
  return is_found;
}

/* Disjointness holds where the launch has shown it; a kernel that only reads an array may read it
 * through any path. Where disjointness has no use the attribute is left out, as LLVM loads pointers
 * that have it one by one, each where it is used, and the others together. */
static void mark_pointer(roc_cg *cg, unsigned arg, const roc_ir_param *param, bool tells_disjoint) {
  LLVMAttributeIndex at = arg + 1;
  roc_cg_attr(cg, cg->fn, at, "noundef");
  if (!param) {
    roc_cg_attr(cg, cg->fn, at, "noalias");
    roc_cg_attr_int(cg, cg->fn, at, "align", 8);
    return;
  }
  roc_cg_attr_int(cg, cg->fn, at, "align", roc_dtype_itemsize(param->type.dtype));
  if (!param->type.is_alias && tells_disjoint) roc_cg_attr(cg, cg->fn, at, "noalias");
  if (!param->is_written) roc_cg_attr(cg, cg->fn, at, "readonly");
}

static void mark_function(roc_cg *cg, const roc_cg_field_list *fields) {
  access_walk walk = {0};
  bool tells_disjoint = reads_after_write(cg, 0, &walk);
  for (unsigned arg = 0; arg < fields->count; arg++) {
    if (LLVMGetTypeKind(fields->types[arg]) != LLVMPointerTypeKind) continue;
    uint32_t param = fields->items[arg].param;
    const roc_ir_param *of = param == ROC_IR_NONE ? NULL : &cg->ir->params.items[param];
    mark_pointer(cg, arg, of, tells_disjoint);
  }
  const uint32_t *promise = cg->ir->workgroup; /* dimensions after the promised ones are 1 */
  uint64_t most = promise[0] ? 1 : MAX_WORKGROUP;
  for (int d = 0; d < 3 && promise[0]; d++) {
    if (promise[d]) most *= promise[d];
    if (most > MAX_WORKGROUP) most = MAX_WORKGROUP;
  }
  const char *sizes = roc_arena_printf(&cg->arena, "1,%u", (unsigned)most);
  if (sizes) roc_cg_attr_text(cg, cg->fn, "amdgpu-flat-work-group-size", sizes);
  roc_cg_attr_text(cg, cg->fn, "uniform-work-group-size", "false");
  roc_cg_attr(cg, cg->fn, LLVMAttributeFunctionIndex, "nounwind");
  /* Its pass does not run; LLVM's others then make no load that a path of the kernel has not, which
   * would look like a race. */
  if (cg->options->is_watched) {
    roc_cg_attr(cg, cg->fn, LLVMAttributeFunctionIndex, "sanitize_thread");
  }
}

/* The default loads on any runtime since ROCm 5.2, where the assembler's needs a newer one. */
static void set_code_object_version(roc_cg *cg) {
  static const char name[] = "amdhsa_code_object_version";
  enum { DEFAULT_VERSION = 5 };
  uint32_t version = cg->options->object_version ? cg->options->object_version : DEFAULT_VERSION;
  LLVMAddModuleFlag(cg->mod, LLVMModuleFlagBehaviorError, name, sizeof name - 1,
                    LLVMValueAsMetadata(roc_cg_i32(cg, 100 * version)));
}

static LLVMValueRef take_argument(roc_cg *cg, uint32_t param, LLVMTypeRef type, uint32_t offset) {
  (void)param, (void)type;
  return roc_cg_field_at(cg, roc_amdgpu_state_of(cg)->fields, offset);
}

/* Pointers stay what they are, as LLVM knows much about them. */
static LLVMValueRef take_hidden(roc_cg *cg, uint32_t param, LLVMTypeRef type, uint32_t offset) {
  LLVMValueRef value = take_argument(cg, param, type, offset);
  bool is_kept = type == cg->t.i8 || LLVMGetTypeKind(type) == LLVMPointerTypeKind;
  return is_kept ? value : roc_amdgpu_opaque_uniform(cg, value);
}

void roc_amdgpu_opaque_launch(roc_cg *cg) {
  roc_amdgpu_state_of(cg)->slow = LLVMGetInsertBlock(cg->b);
  roc_cg_bind_args(cg, take_hidden);
}

static bool open_state(roc_cg *cg) {
  roc_amdgpu_state *state = ROC_ARENA_NEW(&cg->arena, roc_amdgpu_state);
  if (!state) return false;
  cg->state = state;
  state->chip = roc_gpu_chip_find(cg->options->target, NULL);
  state->entry = roc_cg_kernel_symbol(cg);
  uint64_t *offsets = ROC_ARENA_ARRAY(&cg->arena, uint64_t, cg->ir->arrays.count + 1);
  if (!offsets || !state->entry) return false;
  state->shared_bytes = roc_ir_layout_shared(cg->ir, offsets);
  if (roc_ir_find_narrow(cg->ir, &roc_ir_limits_gpu, true, &cg->narrow, &cg->narrow_vars, NULL))
    cg->arena.failed = true;
  return !cg->arena.failed;
}

static LLVMValueRef add_lds(roc_cg *cg, uint64_t nbytes, const char *name, LLVMLinkage linkage) {
  LLVMTypeRef type = LLVMArrayType2(cg->t.i8, nbytes);
  LLVMValueRef lds = LLVMAddGlobalInAddressSpace(cg->mod, type, name, cg->target->shared_space);
  LLVMSetLinkage(lds, linkage);
  LLVMSetAlignment(lds, SHARED_ALIGN);
  if (linkage == LLVMInternalLinkage) LLVMSetInitializer(lds, LLVMGetPoison(type));
  return lds;
}

/* LDS by which wavefronts compare conditions, where that is needed and there is room. */
static void make_agreed(roc_cg *cg) {
  roc_amdgpu_state *state = roc_amdgpu_state_of(cg);
  if (state->shared_bytes + SHARED_ALIGN > state->chip->max_shared_bytes) return;
  if (!roc_cg_agrees_in_group(cg)) return;
  state->agreed = add_lds(cg, SHARED_ALIGN, "roc.agreed", LLVMInternalLinkage);
  state->shared_bytes += SHARED_ALIGN;
  state->agreed_at = roc_cg_alloca(cg, cg->t.i32, "agreed.at");
  LLVMBuildStore(cg->entry_b, roc_cg_i32(cg, 0), state->agreed_at);
}

void roc_amdgpu_kernel(roc_cg *cg) {
  if (!open_state(cg)) return;
  LLVMTypeRef report = LLVMPointerTypeInContext(cg->ctx, cg->target->global_space);
  roc_cg_field_list fields = roc_cg_list_fields(cg, (LLVMTypeRef[2]){report, report}, 2);
  if (cg->arena.failed) return;
  roc_amdgpu_state_of(cg)->fields = &fields;
  set_code_object_version(cg);
  LLVMTypeRef type = LLVMFunctionType(cg->t.none, fields.types, fields.count, 0);
  cg->fn = LLVMAddFunction(cg->mod, roc_amdgpu_state_of(cg)->entry, type);
  LLVMSetFunctionCallConv(cg->fn, CC_AMDGPU_KERNEL);
  LLVMSetVisibility(cg->fn, LLVMProtectedVisibility);
  mark_function(cg, &fields);
  roc_cg_debug_begin(cg);
  LLVMBasicBlockRef entry = roc_cg_block(cg, "entry"), body = roc_cg_block(cg, "body");
  cg->exit = roc_cg_block(cg, "exit");
  LLVMPositionBuilderAtEnd(cg->entry_b, entry);
  roc_cg_at(cg, entry);
  make_agreed(cg);
  roc_cg_bind_args(cg, take_argument);
  cg->fault = LLVMGetParam(cg->fn, fields.count - 2);
  cg->print = LLVMGetParam(cg->fn, fields.count - 1);
  roc_cg_at(cg, body);
  roc_cg_find_final_choices(cg, 0);
  roc_cg_region(cg, 0);
  roc_cg_goto(cg, cg->exit);
  roc_cg_at(cg, cg->exit);
  LLVMBuildRetVoid(cg->b);
  LLVMBuildBr(cg->entry_b, body);
  roc_cg_debug_end(cg);
}

/* ---- the launch ------------------------------------------------------------------------------ */

static LLVMBasicBlockRef go_to_entry(roc_cg *cg) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(cg->b);
  roc_cg_at(cg, LLVMGetInsertBlock(cg->entry_b));
  return here;
}

/* Reads a field of the dispatch packet, or an id, where code is being made. */
typedef LLVMValueRef read_value(roc_cg *cg, bool is_item, unsigned at);

/* At the start of the fallback, which dominates all of it. */
static LLVMValueRef opaque_once(roc_cg *cg, roc_amdgpu_read *kept, bool is_same) {
  if (kept->hidden) return kept->hidden;
  LLVMBasicBlockRef here = LLVMGetInsertBlock(cg->b), head = roc_amdgpu_state_of(cg)->slow;
  LLVMValueRef end = LLVMGetBasicBlockTerminator(head);
  LLVMPositionBuilder(cg->b, head, end);
  kept->hidden = is_same ? roc_amdgpu_opaque_uniform(cg, kept->value)
                         : roc_amdgpu_opaque(cg, cg->b, kept->value);
  roc_cg_at(cg, here);
  return kept->hidden;
}

/* In a kernel of two versions the versioned one reads in the entry block, and the fallback takes
 * the same value, made opaque: so the read stays where it can be waited for together with others.
 * What only a fault record asks for is read in the fallback. */
static LLVMValueRef read_once(roc_cg *cg, roc_amdgpu_read *kept, read_value *read, bool is_item,
                              unsigned at) {
  if (!kept->value && cg->version != ROC_CG_VERSIONED) return read(cg, is_item, at);
  if (!kept->value) {
    LLVMBasicBlockRef here = go_to_entry(cg);
    kept->value = read(cg, is_item, at);
    roc_cg_at(cg, here);
  }
  if (cg->version == ROC_CG_FALLBACK) return opaque_once(cg, kept, !is_item);
  return cg->version == ROC_CG_FALLBACK_FAULTS && kept->hidden ? kept->hidden : kept->value;
}

static LLVMValueRef packet_of(roc_cg *cg) {
  roc_amdgpu_state *state = roc_amdgpu_state_of(cg);
  if (!state->packet) {
    LLVMBasicBlockRef here = go_to_entry(cg);
    state->packet = roc_cg_intrinsic(cg, "llvm.amdgcn.dispatch.ptr", NULL, 0, NULL, 0);
    roc_cg_at(cg, here);
  }
  return state->packet;
}

/* Always a whole word, as a scalar load reads no less on most chips. */
static LLVMValueRef read_packet(roc_cg *cg, bool is_item, unsigned at) {
  (void)is_item;
  LLVMValueRef ptr = roc_cg_byte_offset(cg, packet_of(cg), roc_cg_i64(cg, at & ~3u));
  LLVMValueRef load = LLVMBuildLoad2(cg->b, cg->t.i32, ptr, "");
  LLVMValueRef empty = LLVMMetadataAsValue(cg->ctx, LLVMMDNodeInContext2(cg->ctx, NULL, 0));
  LLVMSetMetadata(load, LLVMGetMDKindIDInContext(cg->ctx, "invariant.load", 14), empty);
  if (at >= PACKET_GRID) return load;
  if (at & 2) return LLVMBuildLShr(cg->b, load, roc_cg_i32(cg, 16), "");
  return LLVMBuildAnd(cg->b, load, roc_cg_i32(cg, UINT16_MAX), "");
}

/* A field of the dispatch packet, as i32. */
static LLVMValueRef packet_field(roc_cg *cg, unsigned offset) {
  return read_once(cg, &roc_amdgpu_state_of(cg)->packet_fields[offset], read_packet, false, offset);
}

static roc_ir_range size_range(const roc_cg *cg, unsigned dim) {
  return roc_ir_range_of_query(cg->ir, &roc_ir_limits_gpu, ROC_IR_LOCAL_SIZE, dim);
}

static LLVMValueRef group_size(roc_cg *cg, unsigned dim) {
  roc_ir_range size = size_range(cg, dim);
  if (size.low == size.high) return roc_cg_i32(cg, (uint32_t)size.low);
  return packet_field(cg, PACKET_WORKGROUP + 2 * dim);
}

static LLVMValueRef grid_size(roc_cg *cg, unsigned dim) {
  return packet_field(cg, PACKET_GRID + 4 * dim);
}

static LLVMValueRef read_id(roc_cg *cg, bool is_item, unsigned dim) {
  char name[64];
  snprintf(name, sizeof name, "llvm.amdgcn.%s.id.%c", is_item ? "workitem" : "workgroup",
           "xyz"[dim]);
  LLVMValueRef id = roc_cg_intrinsic(cg, name, NULL, 0, NULL, 0);
  if (is_item) roc_amdgpu_limit(cg, id, (uint32_t)size_range(cg, dim).high);
  return id;
}

static LLVMValueRef id_of(roc_cg *cg, bool is_item, unsigned dim) {
  if (is_item && size_range(cg, dim).high == 1) return roc_cg_i32(cg, 0);
  roc_amdgpu_read *kept = &roc_amdgpu_state_of(cg)->ids[is_item][dim];
  return read_once(cg, kept, read_id, is_item, dim);
}

/* A grid has fewer than 2^32 items in a dimension, so 32 bits hold the id. */
static LLVMValueRef global_id(roc_cg *cg, unsigned dim) {
  LLVMValueRef begin = LLVMBuildNUWMul(cg->b, id_of(cg, false, dim), group_size(cg, dim), "");
  return LLVMBuildNUWAdd(cg->b, begin, id_of(cg, true, dim), "");
}

static LLVMValueRef num_groups(roc_cg *cg, unsigned dim) {
  LLVMValueRef size = group_size(cg, dim);
  LLVMValueRef last = LLVMBuildSub(cg->b, grid_size(cg, dim), roc_cg_i32(cg, 1), "");
  LLVMValueRef before = LLVMBuildUDiv(cg->b, last, size, "");
  return LLVMBuildNUWAdd(cg->b, before, roc_cg_i32(cg, 1), "");
}

static LLVMValueRef work_dim(roc_cg *cg) {
  LLVMValueRef setup = packet_field(cg, PACKET_SETUP);
  return LLVMBuildAnd(cg->b, setup, roc_cg_i32(cg, 3), "");
}

LLVMValueRef roc_amdgpu_launch_value(roc_cg *cg, roc_ir_op op, unsigned dim) {
  LLVMValueRef value;
  bool counts_from_0 = false;
  switch (op) {
    case ROC_IR_GLOBAL_ID: value = global_id(cg, dim), counts_from_0 = true; break;
    case ROC_IR_LOCAL_ID: value = id_of(cg, true, dim), counts_from_0 = true; break;
    case ROC_IR_GROUP_ID: value = id_of(cg, false, dim), counts_from_0 = true; break;
    case ROC_IR_LANE_ID: value = roc_amdgpu_lane(cg), counts_from_0 = true; break;
    case ROC_IR_GLOBAL_SIZE: value = grid_size(cg, dim); break;
    case ROC_IR_LOCAL_SIZE: value = group_size(cg, dim); break;
    case ROC_IR_NUM_GROUPS: value = num_groups(cg, dim); break;
    case ROC_IR_WORK_DIM: value = work_dim(cg); break;
    default: return roc_cg_i64(cg, roc_amdgpu_state_of(cg)->chip->wave_size);
  }
  /* A grid has at most 2^32-1 items, so ids from 1 fit as well. */
  if (counts_from_0) value = LLVMBuildNUWAdd(cg->b, value, roc_cg_i32(cg, 1), "");
  return roc_cg_extend(cg, value, false);
}

/* ---- memory ------------------------------------------------------------------------------ */

static LLVMValueRef private_base(roc_cg *cg, uint32_t array) {
  const roc_ir_array *a = &cg->ir->arrays.items[array];
  LLVMTypeRef element = roc_cg_storage_type(cg, a->dtype);
  LLVMTypeRef type = LLVMArrayType2(element, (uint64_t)roc_ir_array_size(a));
  return cg->arrays[array].base = roc_cg_alloca(cg, type, a->name);
}

/* A global of its own per array, so that LLVM knows them disjoint. */
static LLVMValueRef shared_base(roc_cg *cg, uint32_t array) {
  const roc_ir_array *a = &cg->ir->arrays.items[array];
  uint64_t nbytes = (uint64_t)roc_ir_array_size(a) * roc_dtype_itemsize(a->dtype);
  return cg->arrays[array].base = add_lds(cg, nbytes, "roc.shared", LLVMInternalLinkage);
}

LLVMValueRef roc_amdgpu_array_base(roc_cg *cg, uint32_t array) {
  roc_amdgpu_state *state = roc_amdgpu_state_of(cg);
  const roc_ir_array *a = &cg->ir->arrays.items[array];
  if (a->kind == ROC_IR_ARRAY_PRIVATE) return private_base(cg, array);
  if (a->kind == ROC_IR_ARRAY_SHARED) return shared_base(cg, array);
  if (!state->dynamic_shared) {
    state->dynamic_shared = add_lds(cg, 0, "roc.dynamic_shared", LLVMExternalLinkage);
  }
  return roc_cg_byte_offset(cg, state->dynamic_shared, roc_cg_i64(cg, a->first_byte));
}

/* What the launch gave beyond the static arrays.  Each of those takes a multiple of SHARED_ALIGN
 * bytes, in whatever order, so the dynamic ones begin where roc_ir_layout_shared ends. */
LLVMValueRef roc_amdgpu_dynamic_bytes(roc_cg *cg) {
  LLVMValueRef all = packet_field(cg, PACKET_GROUP_SEGMENT);
  LLVMValueRef is_static = roc_cg_i32(cg, (uint32_t)roc_amdgpu_state_of(cg)->shared_bytes);
  return LLVMBuildZExt(cg->b, LLVMBuildSub(cg->b, all, is_static, ""), cg->t.i64, "");
}
