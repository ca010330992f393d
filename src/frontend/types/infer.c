/* Type inference: instances, symbols, and the walk to the fixed point.
 *
 * Between parser and lowering.  Types rise on the lattice INT < PLAIN < F32 < F64 only, so the
 * walks end: each but the last raises a symbol or a result. */
#include "frontend/types/infer.h"

#include "base/alloc.h"

static void note_depth(roc_infer *inf, uint32_t calls, uint32_t depth) {
  if (calls > inf->deepest_call) inf->deepest_call = calls;
  if (depth > inf->deepest) inf->deepest = depth;
}

bool roc_infer_enter(roc_infer *inf, roc_span where) {
  if (inf->depth >= ROC_INFER_MAX_DEPTH) {
    ROC_INFER_REPORT(inf, where, ROC_DIAG_TOO_LARGE, inf->inst->fn->name);
    return false;
  }
  inf->depth++;
  note_depth(inf, inf->call_depth, inf->depth);
  return true;
}

bool roc_infer_merge(roc_infer *inf, roc_ty *into, roc_ty t) {
  roc_ty joined = *into;
  if (t.kind <= ROC_TY_ERROR) return true;
  if (into->kind <= ROC_TY_ERROR) {
    joined = t;
  } else if (roc_ty_is_number(*into) && roc_ty_is_number(t)) {
    joined = roc_ty_join(*into, t);
  } else if (!roc_ty_equal(*into, t)) {
    return false;
  }
  if (!roc_ty_equal(joined, *into)) {
    *into = joined;
    inf->changed = true;
  }
  return true;
}

/* An array or function held by a local: only by one that is never assigned again. */
static void assign_static(roc_infer *inf, const roc_ast_symbol *sym, roc_ty t, roc_span where) {
  char name[64];
  bool is_text = t.kind == ROC_TY_STRING && t.dtype == 0; /* the name of a dtype may be held */
  bool may_hold = !is_text && t.kind != ROC_TY_NIL && t.kind != ROC_TY_SHAPE;
  if (!may_hold) {
    ROC_INFER_REPORT(inf, where, ROC_DIAG_CANNOT_HOLD, sym->name.data,
                     roc_ty_phrase(t, name, sizeof name));
  } else if (sym->assignments > 0) {
    ROC_INFER_REPORT(inf, where, ROC_DIAG_STATIC_REASSIGNED, sym->name.data,
                     roc_ty_phrase(t, name, sizeof name));
  }
  roc_fe_sym_info *info = &inf->inst->syms[sym->id];
  if (!roc_ty_equal(info->type, t)) {
    info->type = info->first_type = t;
    inf->changed = true;
  }
}

static void report_mismatch(roc_infer *inf, const roc_ast_symbol *sym, roc_ty t, roc_span where) {
  const roc_fe_sym_info *info = &inf->inst->syms[sym->id];
  char had[64], got[64];
  roc_diag *diag = ROC_INFER_REPORT(inf, where, ROC_DIAG_LOCAL_TYPE, sym->name.data,
                                    roc_ty_phrase(info->type, had, sizeof had),
                                    roc_ty_phrase(t, got, sizeof got));
  if (diag) {
    roc_diag_note(inf->diags, diag, inf->inst->fn->chunk,
                  info->typed_by ? info->typed_by->span : sym->span, "it is a %s here", had);
  }
}

/* An integer that is no constant goes into a float local: Lua would keep it an integer. */
static void report_mixed(roc_infer *inf, const roc_ast_symbol *sym, roc_span where) {
  const roc_fe_sym_info *info = &inf->inst->syms[sym->id];
  roc_diag *diag = ROC_INFER_REPORT(inf, where, ROC_DIAG_MIXED_LOCAL, sym->name.data);
  if (diag) {
    roc_diag_note(inf->diags, diag, inf->inst->fn->chunk,
                  info->typed_by ? info->typed_by->span : sym->span, "'%s' is a float here",
                  sym->name.data);
  }
}

static bool is_integer_param(const roc_infer *inf, const roc_ast_symbol *sym) {
  return sym->id < inf->inst->fn->ast->nparams && inf->inst->params[sym->id].kind == ROC_TY_INT;
}

/* An argument is an integer, and Lua would keep it one until here. */
static void report_mixed_param(roc_infer *inf, const roc_ast_symbol *sym, roc_span where) {
  roc_diag *diag = ROC_INFER_REPORT(inf, where, ROC_DIAG_MIXED_PARAM, sym->name.data);
  if (diag) {
    roc_diag_note(inf->diags, diag, inf->inst->fn->chunk, sym->span, "'%s' is an integer here",
                  sym->name.data);
  }
}

void roc_infer_assign(roc_infer *inf, const roc_ast_symbol *sym, roc_ty t, const roc_ast_node *node,
                      roc_span where) {
  roc_fe_sym_info *info = &inf->inst->syms[sym->id];
  if (t.kind <= ROC_TY_ERROR) return;
  if (t.maybe_false) {
    ROC_INFER_REPORT(inf, where, ROC_DIAG_MAYBE_FALSE);
    return;
  }
  if (roc_ty_is_static(t)) {
    assign_static(inf, sym, t, where);
    return;
  }
  roc_ty before = info->type;
  if (!roc_infer_merge(inf, &info->type, t)) {
    report_mismatch(inf, sym, t, where);
    return;
  }
  if (before.kind == ROC_TY_NONE) info->first_type = t;
  if (before.kind != info->type.kind) {
    info->typed_by = node;
    bool narrowed = before.kind == ROC_TY_PLAIN && info->type.kind == ROC_TY_F32;
    if (narrowed) info->narrowed_by = node;
  }
  bool is_constant = node && roc_infer_info(inf, node)->is_const;
  if (roc_ty_is_float(info->type) && t.kind == ROC_TY_INT && !is_constant) {
    report_mixed(inf, sym, where);
  } else if (roc_ty_is_float(t) && is_integer_param(inf, sym)) {
    report_mixed_param(inf, sym, where);
  }
}

/* ---- instances --------------------------------------------------------------------------- */

static roc_fe_instance *create_instance(roc_infer *inf, uint32_t function, const roc_ty *params) {
  roc_arena *arena = &inf->typed->arena;
  const roc_fe_function *fn = &inf->typed->program->funcs[function];
  roc_fe_instance *inst = ROC_ARENA_NEW(arena, roc_fe_instance);
  roc_ty *types = ROC_ARENA_ARRAY(arena, roc_ty, fn->ast->nparams);
  roc_fe_node_info *nodes = ROC_ARENA_ARRAY(arena, roc_fe_node_info, fn->ast->nnodes);
  roc_fe_sym_info *syms = ROC_ARENA_ARRAY(arena, roc_fe_sym_info, fn->ast->nsymbols);
  roc_ty *results = ROC_ARENA_ARRAY(arena, roc_ty, ROC_INFER_MAX_RESULTS);
  if (!inst || !types || !nodes || !syms || !results) {
    inf->oom = true;
    return NULL;
  }
  for (uint32_t i = 0; i < fn->ast->nparams; i++) {
    types[i] = params[i];
    syms[fn->ast->params[i]->id].type = syms[fn->ast->params[i]->id].first_type = params[i];
  }
  *inst = (roc_fe_instance){.fn = fn,
                            .function = function,
                            .params = types,
                            .nodes = nodes,
                            .syms = syms,
                            .results = results};
  if (inf->typed->last) {
    inf->typed->last->next = inst;
  } else {
    inf->typed->first = inst;
  }
  inf->typed->last = inst;
  inf->typed->ninstances++;
  return inst;
}

static roc_fe_instance *find_instance(roc_infer *inf, uint32_t function, const roc_ty *params) {
  for (roc_fe_instance *inst = inf->typed->first; inst; inst = inst->next) {
    if (inst->function != function) continue;
    uint32_t i = 0;
    while (i < inst->fn->ast->nparams && roc_ty_equal(inst->params[i], params[i])) i++;
    if (i == inst->fn->ast->nparams) return inst;
  }
  return NULL;
}

static uint32_t max_passes(const roc_fe_instance *inst) {
  uint32_t passes = ROC_INFER_MAX_VISITS / (inst->fn->ast->nnodes + 1);
  return passes < ROC_INFER_MIN_PASSES ? ROC_INFER_MIN_PASSES : passes;
}

/* Walks until nothing changes.  False when it does not settle within the limit. */
static bool settle(roc_infer *inf, roc_fe_instance *inst) {
  roc_infer outer = *inf;
  bool is_settled = false;
  inst->caller = inf->inst;
  inst->is_active = true;
  inf->inst = inst;
  inf->report = false;
  inf->deepest_call = ++inf->call_depth;
  inf->deepest = inf->depth;
  for (uint32_t pass = 0; pass < max_passes(inst) && !is_settled && !inf->oom; pass++) {
    inf->changed = false;
    roc_infer_block(inf, &inst->fn->ast->body);
    is_settled = !inf->changed;
  }
  inst->is_active = false;
  inst->call_height = inf->deepest_call - outer.call_depth;
  inst->height = inf->deepest - outer.depth;
  note_depth(&outer, inf->deepest_call, inf->deepest);
  outer.oom = inf->oom;
  *inf = outer;
  return is_settled;
}

/* The walk that tells. */
static void check(roc_infer *inf, roc_fe_instance *inst) {
  roc_infer outer = *inf;
  inst->is_checked = true;
  inst->is_active = true;
  inst->caller = inf->inst;
  inf->inst = inst;
  inf->report = true;
  inf->call_depth++;
  roc_infer_restrict(inf);
  roc_infer_block(inf, &inst->fn->ast->body);
  roc_infer_flow(inf);
  inst->is_active = false;
  outer.oom = inf->oom;
  *inf = outer;
}

static bool is_recursive(const roc_infer *inf, uint32_t function) {
  for (const roc_fe_instance *i = inf->inst; i; i = i->caller) {
    if (i->function == function) return true;
  }
  return false;
}

/* What stands against walking into a function at all. */
static bool refuse_function(roc_infer *inf, uint32_t function, const roc_ast_node *call) {
  const roc_fe_function *fn = &inf->typed->program->funcs[function];
  if (is_recursive(inf, function)) {
    ROC_INFER_REPORT(inf, call->span, ROC_DIAG_RECURSION, fn->name);
  } else if (inf->call_depth >= ROC_INFER_MAX_CALL_DEPTH) {
    ROC_INFER_REPORT(inf, call->span, ROC_DIAG_CALL_DEPTH, fn->name,
                     (unsigned)ROC_INFER_MAX_CALL_DEPTH);
  } else if (fn->ast->nnodes > ROC_INFER_MAX_NODES || fn->ast->nparams > ROC_INFER_MAX_PARAMS ||
             inf->typed->ninstances >= ROC_INFER_MAX_INSTANCES) {
    ROC_INFER_REPORT(inf, call->span, ROC_DIAG_TOO_LARGE, fn->name);
  } else {
    return false;
  }
  return true;
}

/* The same for an instance settled where calls were fewer: it is compiled in here once more. */
static bool refuse_depth(roc_infer *inf, const roc_fe_instance *inst, const roc_ast_node *call) {
  uint32_t calls = inf->call_depth + inst->call_height, depth = inf->depth + inst->height;
  if (calls > ROC_INFER_MAX_CALL_DEPTH) {
    ROC_INFER_REPORT(inf, call->span, ROC_DIAG_CALL_DEPTH, inst->fn->name,
                     (unsigned)ROC_INFER_MAX_CALL_DEPTH);
  } else if (depth > ROC_INFER_MAX_DEPTH) {
    ROC_INFER_REPORT(inf, call->span, ROC_DIAG_TOO_LARGE, inst->fn->name);
  } else {
    note_depth(inf, calls, depth);
    return false;
  }
  return true;
}

roc_fe_instance *roc_infer_instance(roc_infer *inf, uint32_t function, const roc_ty *params,
                                    const roc_ast_node *call) {
  roc_fe_instance *inst = find_instance(inf, function, params);
  if (inst && !inst->is_active) {
    if (refuse_depth(inf, inst, call)) return NULL;
  } else {
    if (refuse_function(inf, function, call)) return NULL;
    inst = create_instance(inf, function, params);
    if (!inst) return NULL;
    if (!settle(inf, inst)) {
      ROC_INFER_REPORT(inf, call->span, ROC_DIAG_TOO_LARGE, inst->fn->name);
      return NULL;
    }
  }
  if (inf->report && !inst->is_checked) check(inf, inst);
  return inst;
}

/* ---- the kernel -------------------------------------------------------------------------- */

static void infer_kernel(roc_infer *inf) {
  const roc_ast_func *ast = inf->typed->program->funcs[0].ast;
  roc_ty params[ROC_INFER_MAX_PARAMS];
  for (uint32_t i = 0; i < ast->nparams; i++) params[i] = roc_ty_of_arg(&inf->typed->args[i]);
  roc_fe_instance *kernel = create_instance(inf, 0, params);
  if (!kernel) return;
  inf->typed->kernel = kernel;
  if (settle(inf, kernel)) {
    check(inf, kernel);
  } else if (!inf->oom) {
    roc_diag_report(inf->diags, kernel->fn->chunk, ast->span, ROC_DIAG_TOO_LARGE, kernel->fn->name);
  }
}

/* Mistakes that leave nothing to walk. */
static roc_status refuse_kernel(const roc_fe_program *program, uint32_t nargs, roc_diags *diags,
                                roc_error *err) {
  const roc_fe_function *fn = &program->funcs[0];
  if (fn->ast->nnodes > ROC_INFER_MAX_NODES || fn->ast->nparams > ROC_INFER_MAX_PARAMS) {
    roc_diag_report(diags, fn->chunk, fn->ast->span, ROC_DIAG_TOO_LARGE, fn->name);
    return roc_fail(err, ROC_COMPILE, "kernel '%s' is too large", fn->name);
  }
  if (nargs < fn->ast->nparams) {
    return roc_fail(err, ROC_INVALID, "kernel '%s' has %u parameters, got %u argument types",
                    fn->name, fn->ast->nparams, nargs);
  }
  return ROC_OK;
}

roc_status roc_fe_infer(const roc_fe_program *program, const roc_fe_arg *args, uint32_t nargs,
                        const roc_fe_options *options, roc_diags *diags, roc_fe_typed **out_typed,
                        roc_error *err) {
  ROC_TRY(refuse_kernel(program, nargs, diags, err));
  roc_fe_typed *typed = roc_zalloc(sizeof *typed);
  if (!typed) return roc_fail(err, ROC_OOM, "out of memory while typing a kernel");
  roc_arena_init(&typed->arena, (size_t)1 << 30);
  typed->program = program;
  typed->args = args;
  typed->nargs = nargs;
  typed->options = options;
  roc_infer inf = {.typed = typed, .diags = diags};
  infer_kernel(&inf);
  if (inf.oom || typed->arena.failed || diags->total > 0) {
    bool is_oom = inf.oom || typed->arena.failed;
    roc_fe_typed_free(typed);
    if (is_oom) return roc_fail(err, ROC_OOM, "out of memory while typing a kernel");
    return roc_fail(err, ROC_COMPILE, "kernel '%s' has errors", options->kernel_name);
  }
  *out_typed = typed;
  return ROC_OK;
}

void roc_fe_typed_free(roc_fe_typed *typed) {
  if (!typed) return;
  roc_arena_deinit(&typed->arena);
  roc_free(typed);
}
