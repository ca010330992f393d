/* The kernel function of the NVPTX target: arguments, ids and sizes of a work-item.
 *
 * Arguments are the fields of ir/layout.h as they lie in the kernarg block, then those of
 * roc_nvptx_hidden (base/nvptx_abi.h). */
#include <stddef.h>
#include <string.h>

#include "codegen/nvptx/nvptx.h"
#include "ir/check_elimination.h"
#include "ir/layout.h"

enum {
  CC_PTX_KERNEL = 71,
  OTHER_REGISTERS = 32, /* of a kernel with private arrays, for indices and the like */
  FOURTH_REGISTERS = 36 /* the same where a fourth block is to have room */
};

/* ---- the function -------------------------------------------------------------------------- */

/* The fields of roc_nvptx_hidden. */
static unsigned list_hidden(roc_cg *cg, LLVMTypeRef types[12]) {
  LLVMTypeRef report = LLVMPointerTypeInContext(cg->ctx, cg->target->global_space);
  unsigned count = 0;
  types[count++] = report;    /* fault */
  types[count++] = report;    /* print */
  types[count++] = cg->t.i64; /* counter */
  while (count < 11) types[count++] = cg->t.i32;
  return count;
}

/* What of the kernel lets others see its stores, or it theirs, while it runs. */
typedef struct meetings {
  bool has_order; /* atomics and fences: with other groups, launches and the host */
  bool has_group; /* barriers and operations of a wavefront: within a workgroup */
} meetings;

static meetings find_meetings(const roc_cg *cg) {
  meetings found = {false, false};
  for (uint32_t i = 0; i < cg->ir->insts.count; i++) {
    switch ((roc_ir_op)cg->ir->insts.items[i].op) {
      case ROC_IR_ATOMIC:
      case ROC_IR_FENCE: found.has_order = true; break;
      case ROC_IR_BARRIER:
      case ROC_IR_WAVE_BARRIER:
      case ROC_IR_WAVE: found.has_group = true; break;
      default: break;
    }
  }
  return found;
}

/* What is promised to be disjoint and is only read, LLVM loads through a cache that sees no store
 * (ld.global.nc), across barriers too; so there must be none to be seen. What is written it keeps
 * in registers across barriers, for calls of others, it thinks, cannot reach it. */
static bool may_promise(const roc_ir_param *param, meetings found) {
  if (param->type.is_alias) return false;
  if (param->is_written) return !found.has_order && !found.has_group;
  return !found.has_order && !param->type.is_host_memory;
}

static void mark_pointer(roc_cg *cg, unsigned arg, const roc_ir_param *param, meetings found) {
  LLVMAttributeIndex at = arg + 1;
  roc_cg_attr(cg, cg->fn, at, "noundef");
  if (!param) {
    roc_cg_attr(cg, cg->fn, at, "noalias");
    roc_cg_attr_int(cg, cg->fn, at, "align", 8);
    return;
  }
  roc_cg_attr_int(cg, cg->fn, at, "align", roc_dtype_itemsize(param->type.dtype));
  if (may_promise(param, found)) roc_cg_attr(cg, cg->fn, at, "noalias");
  if (!param->is_written) roc_cg_attr(cg, cg->fn, at, "readonly");
}

/* What private arrays take of an item's registers. */
typedef struct private_use {
  uint64_t registers;
  bool is_wide; /* of 64 bits: then the rest of the kernel takes more of them, too */
} private_use;

static private_use count_private(const roc_cg *cg) {
  private_use use = {0, false};
  for (uint32_t i = 0; i < cg->ir->arrays.count; i++) {
    const roc_ir_array *a = &cg->ir->arrays.items[i];
    if (a->kind != ROC_IR_ARRAY_PRIVATE) continue;
    bool is_wide = roc_dtype_itemsize(a->dtype) > 4;
    use.registers += (uint64_t)roc_ir_array_size(a) * (is_wide ? 2 : 1);
    use.is_wide |= is_wide;
  }
  return use;
}

/* Whether so many blocks of the most items have registers for their private arrays, and for as much
 * else as kernels with such arrays use beside them. */
static bool has_room(private_use use, uint64_t blocks, uint64_t most) {
  uint64_t others = blocks < 4 ? OTHER_REGISTERS : FOURTH_REGISTERS;
  return (use.registers + others) * blocks * most <= ROC_NVPTX_SM_REGISTERS;
}

/* How many blocks of the most items a multiprocessor should have room for; NULL: ptxas decides.
 * Without a word it saves registers for the sake of more wavefronts, and asks for one element at a
 * time in a loop of loads. A kernel whose items never meet gains more from loads that are asked for
 * together. Where blocks meet at barriers, one alone would leave nothing to do: that matters for
 * the largest, and for those whose private arrays would take all registers. Where these are most of
 * what an item has, or much of it, a third or fourth block keeps more of memory's accesses under
 * way. */
static const char *least_blocks(const roc_cg *cg, meetings found, uint64_t most) {
  bool has_shared = roc_nvptx_state_of(cg)->shared_bytes > 0;
  if (!found.has_group) return has_shared ? NULL : "1";
  if (most == ROC_NVPTX_MAX_WORKGROUP) return "2";
  private_use use = count_private(cg);
  if (use.registers == 0 || !has_room(use, 2, most)) return NULL;
  bool is_most = use.registers > OTHER_REGISTERS, is_much = 4 * use.registers > 3 * OTHER_REGISTERS;
  if (is_much && !use.is_wide && has_room(use, 4, most)) return "4";
  return is_most && !use.is_wide && has_room(use, 3, most) ? "3" : "2";
}

static void mark_function(roc_cg *cg, const roc_cg_field_list *fields) {
  meetings found = find_meetings(cg);
  for (unsigned arg = 0; arg < fields->count; arg++) {
    if (LLVMGetTypeKind(fields->types[arg]) != LLVMPointerTypeKind) continue;
    uint32_t param = fields->items[arg].param;
    mark_pointer(cg, arg, param == ROC_IR_NONE ? NULL : &cg->ir->params.items[param], found);
  }
  const uint32_t *promise = cg->ir->workgroup; /* dimensions after the promised ones are 1 */
  uint64_t most = promise[0] ? 1 : ROC_NVPTX_MAX_WORKGROUP;
  for (int d = 0; d < 3 && promise[0]; d++) {
    if (promise[d]) most *= promise[d];
    if (most > ROC_NVPTX_MAX_WORKGROUP) most = ROC_NVPTX_MAX_WORKGROUP;
  }
  /* Their product counts: it bounds the registers of a work-item. */
  const char *sizes = roc_arena_printf(&cg->arena, "%u,1,1", (unsigned)most);
  if (sizes) roc_cg_attr_text(cg, cg->fn, "nvvm.maxntid", sizes);
  const char *blocks = least_blocks(cg, found, most);
  if (blocks) roc_cg_attr_text(cg, cg->fn, "nvvm.minctasm", blocks);
  roc_cg_attr(cg, cg->fn, LLVMAttributeFunctionIndex, "nounwind");
}

static LLVMValueRef take_argument(roc_cg *cg, uint32_t param, LLVMTypeRef type, uint32_t offset) {
  (void)param, (void)type;
  return roc_cg_field_at(cg, roc_nvptx_state_of(cg)->fields, offset);
}

static bool open_state(roc_cg *cg) {
  roc_nvptx_state *state = ROC_ARENA_NEW(&cg->arena, roc_nvptx_state);
  if (!state) return false;
  cg->state = state;
  state->chip = roc_nvptx_chip_find(cg->options->target);
  state->entry = roc_cg_kernel_symbol(cg);
  state->shared_offsets = ROC_ARENA_ARRAY(&cg->arena, uint64_t, cg->ir->arrays.count + 1);
  if (!state->shared_offsets || !state->entry) return false;
  state->shared_bytes = roc_ir_layout_shared(cg->ir, state->shared_offsets);
  state->counts_groups = roc_nvptx_counts_groups(cg);
  if (state->counts_groups) state->shared_bytes += ROC_IR_SHARED_ALIGN;
  state->coarse = roc_nvptx_find_coarse(cg);
  if (!state->coarse) state->even = roc_nvptx_find_even(cg);
  state->gathers = roc_nvptx_find_gathers(cg);
  if (roc_ir_find_narrow(cg->ir, &roc_ir_limits_gpu, false, &cg->narrow, &cg->narrow_vars, NULL))
    cg->arena.failed = true;
  return !cg->arena.failed;
}

static void make_body(roc_cg *cg) {
  roc_cg_shared_fault faults;
  roc_cg_share_faults(cg, &faults);
  roc_cg_region(cg, 0);
  roc_cg_goto(cg, cg->exit);
  roc_cg_end_shared_faults(cg);
}

void roc_nvptx_kernel(roc_cg *cg) {
  if (!open_state(cg)) return;
  roc_nvptx_state *state = roc_nvptx_state_of(cg);
  LLVMTypeRef hidden[12];
  unsigned nhidden = list_hidden(cg, hidden);
  roc_cg_field_list fields = roc_cg_list_fields(cg, hidden, nhidden);
  if (cg->arena.failed) return;
  state->fields = &fields;
  state->hidden = fields.items[fields.count - nhidden].offset;
  LLVMTypeRef type = LLVMFunctionType(cg->t.none, fields.types, fields.count, 0);
  cg->fn = LLVMAddFunction(cg->mod, state->entry, type);
  LLVMSetFunctionCallConv(cg->fn, CC_PTX_KERNEL);
  mark_function(cg, &fields);
  roc_cg_debug_begin(cg);
  LLVMBasicBlockRef entry = roc_cg_block(cg, "entry"), start = roc_cg_block(cg, "start");
  LLVMBasicBlockRef body = roc_cg_block(cg, "body");
  cg->exit = roc_cg_block(cg, "exit");
  LLVMPositionBuilderAtEnd(cg->entry_b, entry);
  roc_cg_at(cg, entry);
  roc_cg_bind_args(cg, take_argument);
  cg->fault = roc_nvptx_hidden_field(cg, offsetof(roc_nvptx_hidden, fault));
  cg->print = roc_nvptx_hidden_field(cg, offsetof(roc_nvptx_hidden, print));
  roc_cg_at(cg, start);
  roc_nvptx_coarse_begin(cg);
  roc_nvptx_begin(cg, body);
  roc_cg_at(cg, body);
  if (!roc_nvptx_has_exits(cg)) roc_nvptx_find_live(cg);
  if (state->coarse) {
    roc_nvptx_coarse_body(cg, make_body);
  } else if (state->even) {
    roc_nvptx_even_body(cg, make_body);
  } else {
    make_body(cg);
  }
  roc_cg_at(cg, cg->exit);
  LLVMBuildRetVoid(cg->b);
  LLVMBuildBr(cg->entry_b, start);
  roc_cg_debug_end(cg);
}

/* ---- the launch ------------------------------------------------------------------------------ */

static LLVMValueRef hidden_size(roc_cg *cg, size_t offset, unsigned dim) {
  return roc_nvptx_hidden_field(cg, offset + 4 * dim);
}

LLVMValueRef roc_nvptx_launch_value(roc_cg *cg, roc_ir_op op, unsigned dim) {
  LLVMValueRef value;
  bool counts_from_0 = false;
  switch (op) {
    case ROC_IR_GLOBAL_ID: value = roc_nvptx_global_id(cg, dim), counts_from_0 = true; break;
    case ROC_IR_LOCAL_ID: value = roc_nvptx_local_id(cg, dim), counts_from_0 = true; break;
    case ROC_IR_GROUP_ID: value = roc_nvptx_group_id(cg, dim), counts_from_0 = true; break;
    case ROC_IR_LANE_ID: value = roc_nvptx_lane(cg), counts_from_0 = true; break;
    case ROC_IR_GLOBAL_SIZE: value = hidden_size(cg, offsetof(roc_nvptx_hidden, grid), dim); break;
    case ROC_IR_LOCAL_SIZE: value = roc_nvptx_local_size(cg, dim); break;
    case ROC_IR_NUM_GROUPS: value = hidden_size(cg, offsetof(roc_nvptx_hidden, groups), dim); break;
    case ROC_IR_WORK_DIM:
      value = roc_nvptx_hidden_field(cg, offsetof(roc_nvptx_hidden, rank));
      break;
    default: return roc_cg_i64(cg, ROC_NVPTX_WARP);
  }
  /* A grid has at most 2^32-1 items, so ids from 1 fit as well. */
  if (counts_from_0) value = LLVMBuildNUWAdd(cg->b, value, roc_cg_i32(cg, 1), "");
  return roc_cg_extend(cg, value, false);
}
