/* From a typed program to a verified module: parameters, the kernel's body, the end. */
#include "frontend/lower/lower.h"

#include <string.h>

#include "base/alloc.h"
#include "ir/verify.h"

/* ---- parameters -------------------------------------------------------------------------- */

static uint32_t add_param(roc_lower *lx, uint32_t k) {
  const roc_fe_arg *arg = &lx->typed->args[k];
  const roc_ast_func *ast = lx->typed->kernel->fn->ast;
  const char *name = k < ast->nparams ? ast->params[k]->name.data : arg->name;
  roc_ir_param param = {.name = name ? name : "hidden", .type = arg->type};
  param.type.is_plain = false; /* inference has decided on its type */
  return roc_ir_add_param(&lx->b, &param);
}

static void add_params(roc_lower *lx) {
  lx->arg_arrays = ROC_ARENA_ARRAY(&lx->scratch, uint32_t, lx->typed->nargs + 1);
  if (!lx->arg_arrays) {
    lx->stop = true;
    return;
  }
  for (uint32_t k = 0; k < lx->typed->nargs; k++) {
    const roc_fe_arg *arg = &lx->typed->args[k];
    uint32_t param = add_param(lx, k);
    lx->arg_arrays[k] = ROC_IR_NONE;
    if (!roc_arg_is_array(&arg->type) || param == ROC_IR_NONE) continue;
    roc_ir_array array = {.kind = ROC_IR_ARRAY_PARAM,
                          .param = param,
                          .dtype = (roc_dtype)arg->type.dtype,
                          .rank = arg->type.rank,
                          .name = lx->b.module->params.items[param].name};
    lx->arg_arrays[k] = roc_ir_add_array(&lx->b, &array);
  }
}

static void declare_params(roc_lower *lx) {
  const roc_fe_instance *kernel = lx->typed->kernel;
  for (uint32_t k = 0; k < kernel->fn->ast->nparams && !lx->stop; k++) {
    const roc_ast_symbol *sym = kernel->fn->ast->params[k];
    roc_operand op = roc_operand_of(kernel->params[k], ROC_IR_NONE);
    if (roc_arg_is_array(&lx->typed->args[k].type)) {
      op.array.array = lx->arg_arrays[k];
    } else {
      op.id = roc_ir_param_value(&lx->b, k);
      op.id = roc_lower_as(lx, op, roc_lower_vt(lx, op.type));
    }
    roc_lower_declare(lx, sym, op);
  }
}

/* ---- the whole --------------------------------------------------------------------------- */

static void lower_kernel(roc_lower *lx) {
  const roc_fe_instance *kernel = lx->typed->kernel;
  roc_frame frame = {.inst = kernel, .block = ROC_IR_NONE, .loop = ROC_IR_NONE};
  frame.slots = ROC_ARENA_ARRAY(&lx->scratch, roc_slot, kernel->fn->ast->nsymbols + 1);
  if (!frame.slots) {
    lx->stop = true;
    return;
  }
  lx->frame = &frame;
  roc_ir_set_place(&lx->b, kernel->fn->chunk->name, kernel->fn->ast->span.line,
                   kernel->fn->ast->span.column);
  add_params(lx);
  declare_params(lx);
  if (!lx->stop) roc_lower_block(lx, &kernel->fn->ast->body);
  lx->frame = NULL;
}

static roc_status finish(roc_lower *lx, roc_error *err) {
  bool is_oom = lx->scratch.failed;
  roc_status status = roc_ir_builder_finish(&lx->b, err);
  roc_arena_deinit(&lx->scratch);
  roc_vec_deinit(&lx->labels);
  roc_vec_deinit(&lx->blocks);
  roc_vec_deinit(&lx->const_data);
  roc_vec_deinit(&lx->const_arrays);
  if (lx->diags->total > 0) {
    return roc_fail(err, ROC_COMPILE, "kernel '%s' has errors", lx->options->kernel_name);
  }
  if (is_oom || lx->stop) return roc_fail(err, ROC_OOM, "out of memory while lowering a kernel");
  return status;
}

static roc_status lower_typed(const roc_fe_typed *typed, roc_diags *diags, roc_ir_module *module,
                              roc_error *err) {
  const roc_fe_options *options = typed->options;
  roc_lower lx = {.typed = typed, .options = options, .diags = diags};
  module->check = options->check;
  module->contract = options->contract;
  module->fastmath = options->fastmath;
  for (int d = 0; d < 3; d++) module->workgroup[d] = options->workgroup[d];
  roc_arena_init(&lx.scratch, (size_t)1 << 28);
  roc_ir_builder_init(&lx.b, module);
  lower_kernel(&lx);
  if (typed->hint) {
    module->hint = roc_arena_strndup(&module->arena, typed->hint, strlen(typed->hint));
  }
  ROC_TRY(finish(&lx, err));
  return roc_ir_verify(module, err);
}

roc_status roc_fe_compile(const roc_fe_program *program, const roc_fe_arg *args, uint32_t nargs,
                          const roc_fe_options *options, roc_diags *diags,
                          roc_ir_module **out_module, roc_error *err) {
  roc_fe_typed *typed = NULL;
  ROC_TRY(roc_fe_infer(program, args, nargs, options, diags, &typed, err));
  roc_ir_module *module = roc_ir_module_new(options->kernel_name);
  roc_status status = module ? lower_typed(typed, diags, module, err)
                             : roc_fail(err, ROC_OOM, "out of memory while lowering a kernel");
  roc_fe_typed_free(typed);
  if (status != ROC_OK) {
    roc_ir_module_free(module);
    return status;
  }
  *out_module = module;
  return ROC_OK;
}
