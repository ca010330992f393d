/* See check_elimination.h.  Finds what variables hold (held_values.c), then walks once more
 * (check_walk.c) and removes checks, or takes down what is to be found. */
#include "ir/check_elimination.h"

#include <string.h>

#include "base/alloc.h"
#include "ir/check_walk.h"
#include "ir/low_bits.h"
#include "ir/motion.h"
#include "ir/range.h"
#include "ir/value_widths.h"

/* Without `removes` the module stays as it is. */
static bool open_walk(roc_ir_check_walk *w, roc_ir_module *module) {
  *w = (roc_ir_check_walk){.m = module};
  uint32_t nvars = module->vars.count;
  w->values = roc_zalloc(sizeof *w->values * module->insts.count);
  w->vars = roc_zalloc(sizeof *w->vars * nvars);
  w->stamps = roc_zalloc(sizeof *w->stamps * nvars);
  w->slots = roc_zalloc(sizeof *w->slots * nvars);
  w->held = roc_alloc(sizeof *w->held * (nvars + 1));
  bool made = w->values && w->vars && w->stamps && w->slots && w->held;
  for (uint32_t i = 0; made && i < nvars; i++) w->held[i] = roc_ir_range_all;
  return made;
}

/* Walks the module, unless `made` is false, and closes the walk. */
static roc_status run_walk(roc_ir_check_walk *w, bool made, const roc_ir_launch_limits *limits,
                           roc_error *err) {
  made = made && roc_ir_find_held(w, limits) && roc_ir_find_invariants(w, limits);
  for (uint32_t i = 0; made && w->narrow_vars && i < w->m->vars.count; i++) {
    if (w->m->vars.items[i].type == ROC_VT_INT)
      w->narrow_vars[i] = roc_ir_narrow_of_var(w->held[i]);
  }
  for (uint32_t i = 0; made && w->widths && i < w->m->vars.count; i++) {
    w->widths->vars[i] = roc_ir_width_of_var(w->held[i]);
  }
  w->is_last = true;
  made = made && roc_ir_check_walk_run(w, limits) && roc_ir_find_saturated(w);
  roc_free(w->values);
  roc_free(w->vars);
  roc_free(w->stamps);
  roc_free(w->slots);
  roc_free(w->held);
  roc_free(w->of_rounds);
  roc_free(w->wanted);
  roc_vec_deinit(&w->trail);
  roc_vec_deinit(&w->sums);
  roc_vec_deinit(&w->invariants);
  roc_vec_deinit(&w->ignored_checks);
  roc_vec_deinit(&w->origins);
  roc_ir_facts_deinit(&w->f);
  return made ? ROC_OK : roc_fail(err, ROC_OOM, "out of memory");
}

roc_status roc_ir_eliminate_checks(roc_ir_module *module, roc_error *err) {
  roc_ir_check_walk w;
  bool made = open_walk(&w, module);
  w.removes = true;
  return run_walk(&w, made, &roc_ir_limits_any, err);
}

roc_status roc_ir_eliminate_checks_gpu(roc_ir_module *module, roc_error *err) {
  roc_ir_check_walk w;
  bool made = open_walk(&w, module);
  w.removes = true;
  return run_walk(&w, made, &roc_ir_limits_gpu, err);
}

roc_status roc_ir_find_preconditions(const roc_ir_module *module, bool defers,
                                     roc_ir_preconditions *out, roc_error *err) {
  roc_ir_check_walk w;
  bool made = open_walk(&w, (roc_ir_module *)(uintptr_t)module);
  w.preconditions = out;
  w.defers = defers;
  return run_walk(&w, made, &roc_ir_limits_gpu, err);
}

roc_status roc_ir_find_narrow(const roc_ir_module *module, const roc_ir_launch_limits *limits,
                              bool of_indices, uint8_t **out, uint8_t **out_vars, roc_error *err) {
  roc_ir_check_walk w;
  uint8_t *narrow = roc_zalloc(module->insts.count + 1);
  uint8_t *vars = roc_zalloc(module->vars.count + 1);
  bool made = open_walk(&w, (roc_ir_module *)(uintptr_t)module) && narrow && vars;
  w.narrow = narrow;
  w.narrow_vars = vars;
  made = made && roc_ir_open_uses(&w);
  roc_status status = run_walk(&w, made, limits, err);
  if (status == ROC_OK) status = roc_ir_find_motion(module, narrow, err);
  if (status == ROC_OK) status = roc_ir_find_low(module, of_indices, narrow, vars, err);
  if (status != ROC_OK) {
    roc_free(narrow);
    roc_free(vars);
    return status;
  }
  *out = narrow;
  *out_vars = vars;
  return ROC_OK;
}

roc_status roc_ir_find_widths(const roc_ir_module *module, const roc_ir_launch_limits *limits,
                              roc_ir_widths *out, roc_error *err) {
  roc_ir_check_walk w;
  out->insts = roc_zalloc(module->insts.count + 1);
  out->vars = roc_zalloc(module->vars.count + 1);
  out->indices = roc_zalloc((module->insts.count + 1) * sizeof *out->indices);
  bool made = open_walk(&w, (roc_ir_module *)(uintptr_t)module);
  w.widths = out;
  made = made && out->insts && out->vars && out->indices;
  roc_status status = run_walk(&w, made, limits, err);
  return status == ROC_OK ? roc_ir_settle_widths(module, out, err) : status;
}

roc_status roc_ir_find_unproved(const roc_ir_module *module, const uint8_t *ignored,
                                roc_ir_unproved **out, roc_error *err) {
  roc_ir_check_walk w;
  roc_ir_unproved *unproved = roc_zalloc((module->insts.count + 1) * sizeof *unproved);
  bool made = open_walk(&w, (roc_ir_module *)(uintptr_t)module) && unproved;
  w.ignored = ignored;
  w.unproved = unproved;
  roc_status status = run_walk(&w, made, &roc_ir_limits_gpu, err);
  if (status == ROC_OK) {
    *out = unproved;
  } else {
    roc_free(unproved);
  }
  return status;
}

roc_status roc_ir_explain_checks(const roc_ir_module *module, const roc_ir_launch_limits *limits,
                                 roc_ir_check_reasons *out, roc_error *err) {
  roc_ir_check_walk w;
  *out = (roc_ir_check_reasons){0};
  out->begins = roc_alloc(sizeof *out->begins * (module->insts.count + 1));
  bool made = open_walk(&w, (roc_ir_module *)(uintptr_t)module) && out->begins;
  if (out->begins) memset(out->begins, 0xff, sizeof *out->begins * (module->insts.count + 1));
  w.reasons = out;
  return run_walk(&w, made, limits, err);
}

void roc_ir_check_reasons_deinit(roc_ir_check_reasons *reasons) {
  roc_str_deinit(&reasons->text);
  roc_free(reasons->begins);
  *reasons = (roc_ir_check_reasons){0};
}
