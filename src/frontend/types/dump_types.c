/* The `types` stage: each local of each specialised function with its type and where that came
 * from.
 *
 *   kernel saxpy
 *     param  a: float            3:17
 *     local  acc: float32        4:9   plain float, narrowed at 6:11
 *     result …
 */
#include <string.h>

#include "base/vec.h"
#include "frontend/types/types.h"

typedef roc_vec(const roc_fe_instance *) instance_list;

static void put_type(roc_str *out, roc_ty t) {
  char name[64];
  roc_str_puts(out, roc_ty_name(t, name, sizeof name));
}

static void put_place(roc_str *out, const char *text, roc_span span) {
  roc_str_printf(out, "%s%u:%u", text, span.line, span.column);
}

static void put_symbol(const roc_fe_instance *inst, const roc_ast_symbol *sym, roc_str *out) {
  const roc_fe_sym_info *info = roc_fe_sym(inst, sym);
  bool is_param = sym->id < inst->fn->ast->nparams;
  roc_str_printf(out, "  %s %s: ", is_param ? "param" : "local", sym->name.data);
  put_type(out, info->type);
  if (info->is_const && info->value.type == ROC_VT_INT) {
    roc_str_printf(out, " = %lld", (long long)info->value.as.i);
  }
  put_place(out, "  ; ", sym->span);
  if (info->narrowed_by) {
    put_place(out, ", plain float made float32 at ", info->narrowed_by->span);
  } else if (info->typed_by && info->first_type.kind != info->type.kind) {
    put_place(out, ", type from ", info->typed_by->span);
  }
  roc_str_putc(out, '\n');
}

/* A function of another file than the kernel's is followed by its file. */
static void put_instance(const roc_fe_instance *inst, const char *kernel_file, roc_str *out) {
  const char *file = inst->fn->chunk->name;
  roc_str_printf(out, "%s %s", inst->function == 0 ? "kernel" : "function", inst->fn->name);
  if (strcmp(file, kernel_file) != 0) roc_str_printf(out, "  ; %s", file);
  roc_str_putc(out, '\n');
  for (uint32_t i = 0; i < inst->fn->ast->nsymbols; i++) {
    put_symbol(inst, inst->fn->ast->symbols[i], out);
  }
  for (uint32_t k = 0; k < inst->nresults; k++) {
    roc_str_puts(out, "  result ");
    put_type(out, inst->results[k]);
    roc_str_putc(out, '\n');
  }
}

/* Callees are listed where they are first called; `found` grows while it is walked. */
static bool add_instance(instance_list *found, const roc_fe_instance *inst) {
  for (uint32_t i = 0; i < found->count; i++) {
    if (found->items[i] == inst) return true;
  }
  return roc_vec_push(found, inst);
}

static bool add_callees(instance_list *found, const roc_fe_instance *inst) {
  for (uint32_t id = 0; id < inst->fn->ast->nnodes; id++) {
    const roc_fe_call *call = inst->nodes[id].call;
    bool is_function = call && call->kind == ROC_CALLEE_FUNCTION;
    if (is_function && !add_instance(found, call->instance)) return false;
  }
  return true;
}

roc_status roc_fe_dump_types(const roc_fe_program *program, const roc_fe_arg *args, uint32_t nargs,
                             const roc_fe_options *options, roc_diags *diags, roc_str *out,
                             roc_error *err) {
  roc_fe_typed *typed = NULL;
  ROC_TRY(roc_fe_infer(program, args, nargs, options, diags, &typed, err));
  instance_list found = {0};
  bool is_ok = add_instance(&found, typed->kernel);
  for (uint32_t i = 0; is_ok && i < found.count; i++) {
    put_instance(found.items[i], typed->kernel->fn->chunk->name, out);
    is_ok = add_callees(&found, found.items[i]);
  }
  roc_vec_deinit(&found);
  roc_fe_typed_free(typed);
  if (!is_ok || out->failed) return roc_fail(err, ROC_OOM, "out of memory while listing types");
  return ROC_OK;
}
