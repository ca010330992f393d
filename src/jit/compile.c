/* The front end's part of a compile; see compile.h. */
#include "jit/compile.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "ir/optimize.h"
#include "jit/workers.h"

/* One run of the front end, on a compiler thread: its recursion needs that stack. */
typedef struct front_end_run {
  roc_jit_kernel *kernel;
  roc_fe_arg *args;
  uint32_t nargs;
  roc_jit_text_fn *text; /* NULL: make IR */
  roc_str *out;
  roc_ir_module *module;
  roc_diags diags;
  roc_status status;
  roc_error *err;
} front_end_run;

/* What the code generators get has no checks that are proved, and no dead code. */
static void optimise(front_end_run *r) {
  r->status = roc_ir_optimize(r->module, r->err);
  if (r->status == ROC_OK) return;
  roc_ir_module_free(r->module);
  r->module = NULL;
}

static void run_front_end(void *ud) {
  front_end_run *r = ud;
  const roc_fe_program *program = &r->kernel->program->fe;
  const roc_fe_options *options = &r->kernel->options;
  if (r->text) {
    r->status = r->text(program, r->args, r->nargs, options, &r->diags, r->out, r->err);
    return;
  }
  roc_jit_times *times = &r->kernel->times;
  uint64_t mark = roc_clock_ns();
  r->status = roc_fe_compile(program, r->args, r->nargs, options, &r->diags, &r->module, r->err);
  roc_clock_lap(&times->front_end_ms, &mark);
  if (r->status == ROC_OK) optimise(r);
  roc_clock_lap(&times->passes_ms, &mark);
}

static bool is_argument(const roc_jit_scalar *s) {
  return s->is_hidden && s->value.type != ROC_VT_NONE;
}

/* A captured scalar is a constant, a hidden argument, or nil. */
static void bind_scalar(roc_jit_scalar *s, bool as_argument, uint32_t arg) {
  roc_fe_binding *b = s->binding;
  if (s->value.type == ROC_VT_NONE) {
    b->kind = ROC_BIND_NIL;
  } else if (as_argument) {
    b->kind = ROC_BIND_HIDDEN;
    b->as.arg = arg;
  } else {
    b->kind = ROC_BIND_CONSTANT;
    b->as.scalar = s->value;
  }
}

/* The arguments as the front end sees them: explicit, captured arrays, hidden scalars.  Text is
 * made for the current values (sim compiles nothing), so there all scalars are constants. */
static uint32_t list_args(roc_jit_kernel *k, bool is_text, roc_fe_arg *args) {
  roc_jit_program *p = k->program;
  uint32_t n = 0;
  for (uint32_t i = 0; i < k->nparams; i++) args[n++] = (roc_fe_arg){.type = k->classes[i]};
  for (uint32_t i = 0; i < p->narrays; i++) {
    p->arrays[i].binding->kind = ROC_BIND_ARRAY;
    p->arrays[i].binding->as.arg = n;
    args[n] = (roc_fe_arg){.type = k->classes[n],
                           .name = p->arrays[i].name,
                           .is_constant = p->arrays[i].is_constant,
                           .is_table = p->arrays[i].is_table};
    n++;
  }
  for (uint32_t i = 0; i < p->nscalars; i++) {
    roc_jit_scalar *s = &p->scalars[i];
    bool as_argument = !is_text && is_argument(s);
    bind_scalar(s, as_argument, n);
    if (!as_argument) continue;
    roc_jit_value value = {.scalar = s->value};
    args[n] = (roc_fe_arg){.name = s->name};
    roc_jit_classify(&value, &args[n++].type);
  }
  return n;
}

static roc_status report(roc_jit_kernel *k, front_end_run *r) {
  roc_str_clear(&k->diagnostics);
  if (r->diags.count == 0) return r->status;
  roc_diags_render(&r->diags, &k->diagnostics);
  return roc_fail(r->err, r->status, "%s", roc_str_text(&k->diagnostics));
}

static roc_status front_end(roc_jit_kernel *k, roc_jit_text_fn *text, roc_str *out,
                            roc_ir_module **out_module, roc_error *err) {
  uint32_t most = k->nparams + k->program->narrays + k->program->nscalars;
  front_end_run r = {.kernel = k, .text = text, .out = out, .err = err};
  r.args = roc_zalloc((most + 1) * sizeof *r.args);
  if (!r.args) return roc_fail(err, ROC_OOM, "out of memory while compiling kernel '%s'", k->name);
  r.nargs = list_args(k, text != NULL, r.args);
  roc_diags_init(&r.diags, k->name);
  roc_status status = roc_jit_run(run_front_end, &r, NULL, err);
  if (status == ROC_OK) status = r.status == ROC_OK ? ROC_OK : report(k, &r);
  if (status == ROC_OK && out_module) *out_module = r.module;
  roc_diags_deinit(&r.diags);
  roc_free(r.args);
  return status;
}

roc_status roc_jit_front_end_text(roc_jit_kernel *kernel, roc_jit_text_fn *fn, roc_str *out,
                                  roc_error *err) {
  ROC_TRY(front_end(kernel, fn, out, NULL, err));
  if (out->failed)
    return roc_fail(err, ROC_OOM, "out of memory while printing kernel '%s'", kernel->name);
  return ROC_OK;
}

/* ---- which hidden scalars must be constants ---- */

static bool compiles(roc_jit_kernel *k) {
  roc_ir_module *module = NULL;
  if (front_end(k, NULL, NULL, &module, NULL) != ROC_OK) return false;
  roc_ir_module_free(module);
  return true;
}

/* A kernel that compiles with constants and not with hidden arguments needs some of them constant
 * (a shape of a shared array). Each is tried alone, so that the others stay arguments.  False:
 * it does not compile with constants either. */
static bool settle_constants(roc_jit_kernel *k) {
  roc_jit_program *p = k->program;
  uint32_t nhidden = 0;
  for (uint32_t i = 0; i < p->nscalars; i++) {
    roc_jit_scalar *s = &p->scalars[i];
    s->must_be_constant |= s->is_hidden;
    nhidden += s->is_hidden;
    s->is_hidden = false;
  }
  if (nhidden == 0) return false;
  bool helps = compiles(k);
  for (uint32_t i = 0; i < p->nscalars; i++) {
    roc_jit_scalar *s = &p->scalars[i];
    if (!s->must_be_constant) continue;
    s->is_hidden = true;
    s->must_be_constant = helps && !compiles(k);
    s->is_hidden = !s->must_be_constant;
  }
  return helps;
}

/* ---- which overlaps matter ---- */

/* Adds the arrays that this module writes to those known to be written, and checks overlaps again;
 * true when this changes a class. */
static bool settle_aliases(roc_jit_kernel *k, const roc_ir_module *m) {
  uint32_t n = k->nparams + k->program->narrays;
  for (uint32_t i = 0; i < n && i < m->params.count; i++) {
    uint8_t writes = m->params.items[i].is_written;
    k->written[i] = k->knows_written ? k->written[i] | writes : writes;
    k->old_aliases[i] = k->classes[i].is_alias;
    k->classes[i].is_alias = false;
  }
  k->knows_written = true;
  roc_jit_mark_aliases(k->values, n, k->written, k->classes);
  for (uint32_t i = 0; i < n; i++) {
    if (k->classes[i].is_alias != k->old_aliases[i]) return true;
  }
  return false;
}

roc_status roc_jit_lower(roc_jit_kernel *kernel, roc_ir_module **out_module, roc_error *err) {
  roc_jit_times kept = kernel->times; /* inspecting a kernel is not compiling it */
  roc_status status = front_end(kernel, NULL, NULL, out_module, err);
  kernel->times = kept;
  return status;
}

roc_status roc_jit_compile_ir(roc_jit_kernel *k, roc_ir_module **out_module, roc_error *err) {
  roc_ir_module *module = NULL;
  bool changed;
  k->has_seen = false;
  do { /* each round after the second can only add writes, so this ends */
    roc_ir_module_free(module);
    module = NULL;
    roc_status status = front_end(k, NULL, NULL, &module, err);
    if (status == ROC_COMPILE && settle_constants(k))
      status = front_end(k, NULL, NULL, &module, err);
    ROC_TRY(status);
    changed = settle_aliases(k, module);
  } while (changed);
  *out_module = module;
  return ROC_OK;
}
