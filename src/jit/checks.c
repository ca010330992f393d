/* See checks.h. */
#include "jit/checks.h"

#include "base/alloc.h"
#include "base/target.h"
#include "ir/check_elimination.h"
#include "ir/print.h"
#include "ir/walk.h"
#include "jit/compile.h"
#include "jit/fit.h"
#include "jit/workers.h"

/* On a compiler thread, as the front end: passes recurse over regions. */
typedef struct explanation {
  const char *target;
  roc_ir_module *module; /* as the reasons are for */
  roc_ir_module *fitted; /* as code is made of it */
  roc_ir_check_reasons reasons;
  uint8_t *is_hot; /* per site: a check of it is not decided once for a launch */
  roc_str note;
  roc_str *out;
  roc_status status;
  roc_error *err;
} explanation;

/* A launch that takes the first region of ROC_IR_IF_VERSIONS meets no check of the second. */
static ROC_IR_WALKS void find_hot_sites(explanation *e) {
  roc_ir_walk walk;
  uint32_t region = 0;
  ROC_IR_FOR_EACH(walk, e->fitted, 0) {
    if (walk.inst->op == ROC_IR_IF && walk.inst->aux == ROC_IR_IF_VERSIONS) {
      region = walk.inst->k.region[0];
      break;
    }
  }
  ROC_IR_FOR_EACH(walk, e->fitted, region) {
    if (walk.inst->op == ROC_IR_CHECK_INDEX) e->is_hot[walk.inst->aux2] = 1;
  }
}

static const char *note_reason(void *ud, uint32_t inst) {
  explanation *e = ud;
  uint32_t begin = e->reasons.begins[inst];
  const roc_ir_inst *of = &e->module->insts.items[inst];
  if (begin == ROC_IR_NONE) return NULL;
  roc_str_clear(&e->note);
  if (of->op == ROC_IR_CHECK_INDEX && e->is_hot && !e->is_hot[of->aux2]) {
    roc_str_puts(&e->note, "decided once for a launch: ");
  }
  roc_str_puts(&e->note, roc_str_text(&e->reasons.text) + begin);
  return roc_str_text(&e->note);
}

static roc_status explain(explanation *e) {
  const roc_target_facts *facts = roc_target_facts_of(e->target);
  bool is_gpu = facts && facts->is_simt;
  if (is_gpu && e->module->check) {
    e->is_hot = roc_zalloc(e->fitted->sites.count + 1);
    if (!e->is_hot) return roc_fail(e->err, ROC_OOM, "out of memory");
    ROC_TRY(roc_jit_fit_target(e->fitted, e->target, e->err));
    find_hot_sites(e);
    ROC_TRY(roc_ir_eliminate_checks_gpu(e->module, e->err));
  } else {
    ROC_TRY(roc_jit_fit_target(e->module, e->target, e->err));
  }
  ROC_TRY(roc_ir_explain_checks(e->module, is_gpu ? &roc_ir_limits_gpu : &roc_ir_limits_any,
                                &e->reasons, e->err));
  roc_ir_print(e->module, note_reason, e, e->out);
  e->out->failed |= e->note.failed;
  return e->out->failed ? roc_fail(e->err, ROC_OOM, "out of memory") : ROC_OK;
}

static void run_explanation(void *ud) {
  explanation *e = ud;
  e->status = explain(e);
}

roc_status roc_jit_kernel_dump_checks(roc_jit_kernel *kernel, const char *target, roc_str *out,
                                      roc_error *err) {
  explanation e = {.target = target, .out = out, .err = err};
  roc_status status = roc_jit_kernel_check_classes(kernel, err);
  if (status == ROC_OK) status = roc_jit_lower(kernel, &e.module, err);
  if (status == ROC_OK) status = roc_jit_lower(kernel, &e.fitted, err);
  if (status == ROC_OK) status = roc_jit_run(run_explanation, &e, NULL, err);
  if (status == ROC_OK) status = e.status;
  roc_ir_check_reasons_deinit(&e.reasons);
  roc_ir_module_free(e.module);
  roc_ir_module_free(e.fitted);
  roc_free(e.is_hot);
  roc_str_deinit(&e.note);
  return status;
}
