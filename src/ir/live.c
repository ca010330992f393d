/* See live.h.  Walks go from the end of the body to its begin, with the set of variables that are
 * read later on.  What a loop's next iteration reads is only known after its body was walked, so
 * walks are repeated until those sets do not grow any more; each loop around another one takes one
 * walk more. */
#include "ir/live.h"

#include <string.h>

enum { MAX_WALKS = 24, MAX_WORDS = 1 << 20 /* of all sets, twice */ };

typedef struct finder {
  const roc_ir_module *m;
  roc_ir_live *live;
  uint64_t *now; /* what is read after the point of the walk */
  size_t size;   /* of a set, in bytes */
  bool changed;
} finder;

static uint64_t *set_of(const roc_ir_live *live, uint64_t *sets, uint32_t statement) {
  return &sets[(size_t)live->places[statement] * live->nwords];
}

static bool has(const uint64_t *set, uint32_t var) {
  return set[var / 64] >> (var % 64) & 1;
}

static void add(uint64_t *set, uint32_t var) {
  set[var / 64] |= UINT64_C(1) << (var % 64);
}

static void remove_var(uint64_t *set, uint32_t var) {
  set[var / 64] &= ~(UINT64_C(1) << (var % 64));
}

static void unite(const finder *f, uint64_t *set, const uint64_t *more) {
  for (uint32_t w = 0; w < f->live->nwords; w++) set[w] |= more[w];
}

static void walk_region(finder *f, uint32_t region);

static void walk_if(finder *f, const roc_ir_inst *inst, const uint64_t *after, uint64_t *inside) {
  walk_region(f, inst->k.region[1]);
  memcpy(inside, f->now, f->size);
  memcpy(f->now, after, f->size);
  walk_region(f, inst->k.region[0]);
  unite(f, f->now, inside);
}

static void walk_loop(finder *f, const roc_ir_inst *inst, const uint64_t *after, uint64_t *inside) {
  memcpy(f->now, inside, f->size);
  walk_region(f, inst->k.region[0]);
  if (inst->op == ROC_IR_FOR) {
    remove_var(f->now, inst->aux);
    unite(f, f->now, after);
  }
  unite(f, f->now, inside);
  f->changed |= memcmp(inside, f->now, f->size) != 0;
  memcpy(inside, f->now, f->size);
}

static void walk_nested(finder *f, uint32_t id) {
  const roc_ir_inst *inst = &f->m->insts.items[id];
  uint64_t *after = set_of(f->live, f->live->after, id);
  uint64_t *inside = set_of(f->live, f->live->inside, id);
  memcpy(after, f->now, f->size);
  if (inst->op == ROC_IR_IF) {
    walk_if(f, inst, after, inside);
  } else if (inst->op == ROC_IR_BLOCK) {
    walk_region(f, inst->k.region[0]);
  } else {
    walk_loop(f, inst, after, inside);
  }
}

static void walk_region(finder *f, uint32_t region) {
  const roc_ir_ids *ids = &f->m->regions.items[region];
  for (uint32_t i = ids->count; i-- > 0;) {
    const roc_ir_inst *inst = &f->m->insts.items[ids->items[i]];
    switch ((roc_ir_op)inst->op) {
      case ROC_IR_GET: add(f->now, inst->aux); break;
      case ROC_IR_SET: remove_var(f->now, inst->aux); break;
      case ROC_IR_LEAVE: memcpy(f->now, set_of(f->live, f->live->after, inst->aux), f->size); break;
      case ROC_IR_NEXT: memcpy(f->now, set_of(f->live, f->live->inside, inst->aux), f->size); break;
      case ROC_IR_RETURN:
      case ROC_IR_FAIL: memset(f->now, 0, f->size); break;
      default:
        if (roc_ir_has_regions(inst)) walk_nested(f, ids->items[i]);
    }
  }
}

bool roc_ir_live_make(const roc_ir_module *module, roc_arena *arena, roc_ir_live *out) {
  uint32_t ninsts = module->insts.count, nplaces = 0;
  *out = (roc_ir_live){.nwords = module->vars.count / 64 + 1};
  out->places = ROC_ARENA_ARRAY(arena, uint32_t, ninsts + 1);
  if (!out->places) return false;
  for (uint32_t id = 0; id < ninsts; id++) {
    if (roc_ir_has_regions(&module->insts.items[id])) out->places[id] = nplaces++;
  }
  size_t nwords = (size_t)(nplaces + 1) * out->nwords;
  if (nwords > MAX_WORDS) {
    out->nwords = 0;
    return true;
  }
  finder f = {.m = module, .live = out, .size = out->nwords * sizeof(uint64_t), .changed = true};
  out->after = ROC_ARENA_ARRAY(arena, uint64_t, nwords);
  out->inside = ROC_ARENA_ARRAY(arena, uint64_t, nwords);
  f.now = ROC_ARENA_ARRAY(arena, uint64_t, out->nwords);
  if (arena->failed) return false;
  for (int walk = 0; walk < MAX_WALKS && f.changed; walk++) {
    f.changed = false;
    memset(f.now, 0, f.size);
    walk_region(&f, 0);
  }
  if (f.changed) out->nwords = 0;
  return true;
}

bool roc_ir_is_live_after(const roc_ir_live *live, uint32_t statement, uint32_t var) {
  return live->nwords == 0 || has(set_of(live, live->after, statement), var);
}

bool roc_ir_is_live_inside(const roc_ir_live *live, uint32_t statement, uint32_t var) {
  return live->nwords == 0 || has(set_of(live, live->inside, statement), var);
}
