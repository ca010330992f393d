/* See walk.h.  A frame is a region that the walk is in; the verifier bounds how many there can be. */
#include "ir/walk.h"

#include <assert.h>

static void push(roc_ir_walk *w, uint32_t owner, uint32_t region) {
  assert(w->depth < sizeof w->frames / sizeof w->frames[0]);
  w->frames[w->depth].owner = owner;
  w->frames[w->depth].region = region;
  w->frames[w->depth++].next = 0;
}

static bool meet(roc_ir_walk *w, uint32_t id, bool is_end) {
  w->id = id;
  w->inst = &w->module->insts.items[id];
  w->is_end = is_end;
  w->is_skipped = false;
  return true;
}

void roc_ir_walk_begin_list(roc_ir_walk *walk, const roc_ir_module *module, const uint32_t *ids,
                            uint32_t count) {
  walk->module = module;
  walk->ids = ids;
  walk->count = count;
  walk->depth = 0;
  walk->inst = NULL;
  push(walk, ROC_IR_NONE, ROC_IR_NONE);
}

void roc_ir_walk_begin(roc_ir_walk *walk, const roc_ir_module *module, uint32_t region) {
  const roc_ir_ids *ids = &module->regions.items[region];
  roc_ir_walk_begin_list(walk, module, ids->items, ids->count);
}

/* The next instruction of the current region; false: it is done. */
static bool next_of_region(roc_ir_walk *w) {
  uint32_t region = w->frames[w->depth - 1].region, *next = &w->frames[w->depth - 1].next;
  const roc_ir_ids *ids = region == ROC_IR_NONE ? NULL : &w->module->regions.items[region];
  if (*next == (ids ? ids->count : w->count)) return false;
  return meet(w, (ids ? ids->items : w->ids)[(*next)++], false);
}

bool roc_ir_walk_step(roc_ir_walk *walk) {
  bool enters = walk->inst && !walk->is_end && !walk->is_skipped;
  if (enters && roc_ir_has_regions(walk->inst)) push(walk, walk->id, walk->inst->k.region[0]);
  while (!next_of_region(walk)) {
    uint32_t id = roc_ir_walk_around(walk), done = walk->frames[walk->depth - 1].region;
    if (id == ROC_IR_NONE) return false;
    const roc_ir_inst *owner = &walk->module->insts.items[id];
    walk->depth--;
    bool is_last = roc_ir_region_count(owner) == 1 || done == owner->k.region[1];
    if (is_last) return meet(walk, id, true);
    push(walk, id, owner->k.region[1]);
  }
  return true;
}

bool roc_ir_walk_next(roc_ir_walk *walk) {
  while (roc_ir_walk_step(walk)) {
    if (!walk->is_end) return true;
  }
  return false;
}

bool roc_ir_walk_next_inner_first(roc_ir_walk *walk) {
  while (roc_ir_walk_step(walk)) {
    if (walk->is_end || !roc_ir_has_regions(walk->inst)) return true;
  }
  return false;
}

bool roc_ir_walk_is_inside(const roc_ir_walk *walk, uint32_t control) {
  for (uint32_t i = 0; i < walk->depth; i++) {
    if (walk->frames[i].owner == control) return true;
  }
  return false;
}
