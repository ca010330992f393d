#include "ir/copy.h"

#include "base/alloc.h"
#include "ir/walk.h"

uint32_t *roc_ir_new_copies(uint32_t count) {
  uint32_t *copies = roc_alloc((count + 1) * sizeof *copies);
  for (uint32_t i = 0; copies && i < count; i++) copies[i] = i;
  return copies;
}

static uint32_t copy_of(const roc_ir_copier *c, uint32_t id) {
  return id < c->count ? c->copies[id] : id;
}

static void note(roc_ir_copier *c, uint32_t id, uint32_t copy) {
  if (id < c->count) c->copies[id] = copy;
}

void roc_ir_copy(roc_ir_copier *c, uint32_t id) {
  const roc_ir_module *m = c->b->module;
  roc_ir_inst inst = m->insts.items[id];
  uint32_t args[ROC_IR_COPY_MAX_ARGS];
  if (c->b->failed) return;
  for (uint32_t n = 0; n < inst.nargs; n++) args[n] = copy_of(c, roc_ir_arg(m, &inst, n));
  if (inst.op == ROC_IR_LEAVE || inst.op == ROC_IR_NEXT) inst.aux = copy_of(c, inst.aux);
  c->b->loc = inst.loc;
  if (c->replace && c->replace(c->ud, id, &inst, args)) return;
  if (!roc_ir_has_regions(&inst)) {
    note(c, id, roc_ir_append(c->b, inst, args));
    return;
  }
  uint32_t copy = roc_ir_begin(c->b, (roc_ir_op)inst.op, inst.aux, args, inst.nargs);
  note(c, id, copy); /* jumps in its regions name it */
  roc_ir_copy_region(c, inst.k.region[0]);
  if (inst.op == ROC_IR_IF) {
    roc_ir_else(c->b, copy);
    roc_ir_copy_region(c, inst.k.region[1]);
  }
  roc_ir_end(c->b, copy);
}

void roc_ir_copy_region(roc_ir_copier *c, uint32_t region) {
  const roc_ir_module *m = c->b->module;
  for (uint32_t i = 0; i < m->regions.items[region].count; i++) {
    roc_ir_copy(c, m->regions.items[region].items[i]);
  }
}

ROC_IR_WALKS void roc_ir_forget_copies(roc_ir_copier *c, const uint32_t *ids, uint32_t count) {
  roc_ir_walk w;
  for (roc_ir_walk_begin_list(&w, c->b->module, ids, count); roc_ir_walk_next(&w);) {
    note(c, w.id, w.id);
  }
}
