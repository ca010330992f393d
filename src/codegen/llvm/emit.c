/* From the optimised module to bytes, and from bytes to the code object the runtime gets.
 *
 * A code object is one arena: everything it points to was copied into it, so that it outlives
 * module and compile. */
#include "codegen/llvm/emit.h"

#include <string.h>

#include "base/alloc.h"
#include "codegen/llvm/machine.h"
#include "ir/layout.h"

roc_status roc_emit_fail(const roc_target *target, LLVMModuleRef mod, const char *diagnostics,
                         const char *kernel, const char *name, roc_error *err) {
  bool is_explained =
      target->explain_errors && target->explain_errors(mod, diagnostics, kernel, name, err);
  if (is_explained) return ROC_COMPILE;
  if (!kernel) return roc_fail(err, ROC_COMPILE, "joined kernels: %s", diagnostics);
  return roc_fail(err, ROC_COMPILE, "kernel '%s': %s", kernel, diagnostics);
}

roc_status roc_cg_emit(roc_cg *cg, LLVMCodeGenFileType kind, LLVMMemoryBufferRef *out,
                       roc_error *err) {
  *out = roc_machine_emit(cg->machine, cg->mod, kind, cg->counters);
  if (!*out) {
    return roc_fail(err, ROC_COMPILE, "kernel '%s': LLVM makes no such file", cg->ir->name);
  }
  if (!cg->nerrors) return ROC_OK;
  LLVMDisposeMemoryBuffer(*out);
  return roc_emit_fail(cg->target, cg->mod, roc_str_text(&cg->diagnostics), cg->ir->name,
                       cg->options->target, err);
}

static const char *copy_text(roc_arena *arena, const char *text) {
  return text ? roc_arena_strndup(arena, text, strlen(text)) : NULL;
}

static void copy_site(roc_arena *arena, roc_site *to, const roc_site *from) {
  *to = *from;
  to->file = copy_text(arena, from->file);
  to->name = copy_text(arena, from->name);
  roc_site_piece *pieces = ROC_ARENA_ARRAY(arena, roc_site_piece, from->npieces + 1);
  for (uint32_t p = 0; pieces && p < from->npieces; p++) {
    pieces[p] = from->pieces[p];
    pieces[p].text = copy_text(arena, from->pieces[p].text);
  }
  to->pieces = pieces;
}

/* The module's, then the target's. */
static void copy_sites(roc_cg *cg, roc_codeobj *object, roc_arena *arena) {
  uint32_t first = cg->ir->sites.count, count = first + cg->sites.count;
  roc_site *sites = ROC_ARENA_ARRAY(arena, roc_site, count + 1);
  for (uint32_t i = 0; sites && i < count; i++) {
    copy_site(arena, &sites[i], i < first ? &cg->ir->sites.items[i] : &cg->sites.items[i - first]);
  }
  object->sites = sites;
  object->nsites = count;
}

/* What the IR alone tells, and what of it was emitted. */
static void describe_module(roc_cg *cg, roc_codeobj *object, roc_arena *arena) {
  const roc_ir_module *ir = cg->ir;
  roc_arg_slot *slots = ROC_ARENA_ARRAY(arena, roc_arg_slot, ir->params.count + 1);
  if (slots) object->kernarg_bytes = roc_ir_layout_args(ir, slots);
  object->args = slots;
  object->nargs = ir->params.count;
  copy_sites(cg, object, arena);
  for (uint32_t i = 0; i < ir->insts.count; i++) {
    const roc_ir_op_info *info = &roc_ir_op_table[ir->insts.items[i].op];
    roc_ir_op op = (roc_ir_op)ir->insts.items[i].op;
    object->has_print |= op == ROC_IR_PRINT;
    object->has_barrier |= (info->flags & ROC_IRF_CUT_GROUP) != 0;
  }
  object->has_fault = cg->has_fault; /* checks that were eliminated are still in the list */
}

roc_status roc_cg_object(roc_cg *cg, roc_codeobj **out, roc_error *err) {
  LLVMMemoryBufferRef buffer;
  ROC_TRY(roc_cg_emit(cg, cg->target->object_kind, &buffer, err));
  size_t nbytes = LLVMGetBufferSize(buffer);
  unsigned char *bytes = roc_alloc(nbytes);
  if (bytes) memcpy(bytes, LLVMGetBufferStart(buffer), nbytes);
  LLVMDisposeMemoryBuffer(buffer);
  roc_status status = ROC_OK;
  if (bytes && cg->target->link) status = cg->target->link(cg->options, &bytes, &nbytes, err);
  roc_arena *arena = NULL;
  roc_codeobj *object = bytes && !status ? roc_codeobj_new(&arena) : NULL;
  if (object) {
    describe_module(cg, object, arena);
    cg->target->describe(cg, object);
    object->target = copy_text(arena, cg->options->target);
    object->entry = copy_text(arena, object->entry);
    unsigned char *copy = ROC_ARENA_ARRAY(arena, unsigned char, nbytes + 1);
    if (copy) memcpy(copy, bytes, nbytes);
    object->bytes = copy;
    object->nbytes = nbytes;
  }
  roc_free(bytes);
  if (status) return status;
  if (!object || arena->failed) {
    if (object) object->free(object);
    return roc_fail(err, ROC_OOM, "out of memory while compiling '%s'", cg->ir->name);
  }
  *out = object;
  return ROC_OK;
}
