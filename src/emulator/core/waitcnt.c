/* The s_waitcnt check: a forward dataflow over the program's blocks.
 *
 * State: the loads that may be in flight, each with the register it fills, its kind, and the least
 * number of younger operations that must be complete after it. Vector memory returns in order, LDS
 * in order among itself, scalar loads in any order (AMD's Vega ISA manual, 4.4): a load of the
 * first two is complete when its counter is down to its number of younger operations, a scalar load
 * at 0. A flat load counts in both counters; either may prove it complete here, since its address
 * says which memory it went to and the compiler may know. Where paths meet the smaller number
 * holds. What an unknown caller left in flight, or a callee leaves, is not looked for. */
#include "emulator/core/waitcnt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "emulator/isa/decode.h"

typedef enum kind { NOT_COUNTED, VECTOR, FLAT, LDS, SCALAR } kind;

enum {
  SCALARS = EMU_SGPRS, /* keys of vector registers follow */
  KEYS = SCALARS + 512,
  MAX_YOUNGER = 64 /* more than any counter counts */
};

typedef struct load {
  uint16_t key; /* register */
  uint8_t kind, younger;
  uint32_t inst;
} load;

typedef struct state {
  roc_vec(load) loads; /* at the start of a block, sorted by key and kind */
} state;

typedef struct check {
  const emu_inst *insts;
  const uint8_t *flows;
  uint32_t ninsts;
  unsigned wave_size;
  uint32_t *block_of; /* of the instruction that begins it; else NO_BLOCK */
  state *begins;      /* of the blocks */
  uint32_t *starts;   /* their first instructions */
  uint8_t *reached, *waiting;
  uint32_t nblocks;
  state now;
  uint64_t in_flight[KEYS / 64]; /* keys in `now` */
  emu_hazard_found *found;       /* NULL while the states are still made */
  void *ud;
  bool failed;
} check;

enum { NO_BLOCK = 0xffffffff };

/* ---- what instructions are ---------------------------------------------------------------------
 */

static kind kind_of(const emu_inst *inst) {
  switch (inst->op->class) {
    case EMU_CLASS_SMEM: return SCALAR;
    case EMU_CLASS_LDS_LOAD:
    case EMU_CLASS_LDS_STORE:
    case EMU_CLASS_LDS_ATOMIC: return LDS;
    case EMU_CLASS_CROSS: return emu_starts_with(inst->op->name, "ds_") ? LDS : NOT_COUNTED;
    case EMU_CLASS_LOAD:
    case EMU_CLASS_STORE:
    case EMU_CLASS_ATOMIC: return emu_starts_with(inst->op->name, "flat_") ? FLAT : VECTOR;
    default: return NOT_COUNTED;
  }
}

/* The registers a memory operation fills; NULL for none. A buffer atomic has one operand for its
 * argument and its result. */
static const emu_operand *result_of(const emu_inst *inst, kind own) {
  if (own == NOT_COUNTED) return NULL;
  if (inst->op->dst[0] != EMU_NONE) {
    return inst->dst[0].kind == EMU_OPERAND_NONE ? NULL : &inst->dst[0];
  }
  bool returns = inst->op->class == EMU_CLASS_ATOMIC && inst->mod.glc;
  return returns ? &inst->src[0] : NULL;
}

/* Whether it counts in VM_CNT or LGKM_CNT: gfx10 has a counter of its own for what returns nothing.
 */
static bool is_counted(const emu_inst *inst, kind own) {
  if (own != VECTOR && own != FLAT) return own != NOT_COUNTED;
  return inst->chip == EMU_GFX9 || inst->op->class == EMU_CLASS_LOAD || result_of(inst, own);
}

/* First key and number of keys of an operand; 0 when it is no register. */
static unsigned keys_of(const emu_operand *operand, unsigned *first) {
  if (operand->kind == EMU_OPERAND_VGPR) {
    *first = SCALARS + operand->reg;
  } else if (operand->kind == EMU_OPERAND_SGPR && operand->reg != EMU_SGPR_NULL) {
    *first = operand->reg;
  } else {
    return 0;
  }
  return *first + operand->nregs <= KEYS ? operand->nregs : 0;
}

static void name_register(unsigned key, char *out, size_t size) {
  if (key >= SCALARS + 256) {
    snprintf(out, size, "a%u", key - SCALARS - 256);
  } else if (key >= SCALARS) {
    snprintf(out, size, "v%u", key - SCALARS);
  } else if (key == EMU_SGPR_VCC || key == EMU_SGPR_VCC + 1) {
    snprintf(out, size, "%s", key == EMU_SGPR_VCC ? "vcc_lo" : "vcc_hi");
  } else {
    snprintf(out, size, "s%u", key);
  }
}

/* ---- the loads in flight -----------------------------------------------------------------------
 */

static bool is_in_flight(const check *c, unsigned key) {
  return c->in_flight[key / 64] >> (key % 64) & 1;
}

/* Drops the loads for which `is_done` holds, and computes in_flight again. */
static void drop_loads(check *c, bool (*is_done)(const load *, unsigned), unsigned arg) {
  uint32_t kept = 0;
  memset(c->in_flight, 0, sizeof c->in_flight);
  for (uint32_t i = 0; i < c->now.loads.count; i++) {
    const load *each = &c->now.loads.items[i];
    if (is_done(each, arg)) continue;
    c->in_flight[each->key / 64] |= 1ull << (each->key % 64);
    c->now.loads.items[kept++] = *each;
  }
  c->now.loads.count = kept;
}

static bool is_done_vector(const load *each, unsigned counter) {
  return (each->kind == VECTOR || each->kind == FLAT) && each->younger >= counter;
}

static bool is_done_lgkm(const load *each, unsigned counter) {
  if (each->kind == LDS) return each->younger >= counter;
  return counter == 0 && (each->kind == SCALAR || each->kind == FLAT);
}

static bool is_of_key(const load *each, unsigned key) {
  return each->key == key;
}

static bool is_done_lds(const load *each, unsigned counter) {
  return (each->kind == LDS && each->younger >= counter) || (each->kind == FLAT && counter == 0);
}

static bool is_done_scalar(const load *each, unsigned counter) {
  return each->kind == SCALAR && counter == 0;
}

/* gfx12's counters, and where the field of the instruction has each. */
static const struct counter {
  const char *name;
  uint8_t shift;
  bool (*is_done)(const load *, unsigned);
} counters[] = {
    {"s_wait_loadcnt", 0, is_done_vector},    {"s_wait_dscnt", 0, is_done_lds},
    {"s_wait_kmcnt", 0, is_done_scalar},      {"s_wait_loadcnt_dscnt", 8, is_done_vector},
    {"s_wait_loadcnt_dscnt", 0, is_done_lds}, {"s_wait_storecnt_dscnt", 0, is_done_lds},
};

/* Fields: AMD's Vega and RDNA 2 to 4 ISA manuals, S_WAITCNT and S_WAIT_*.  ROCR's own kernels for
 * gfx12 still have S_WAITCNT, as gfx11 has it. */
static void wait(check *c, const emu_inst *inst) {
  unsigned field = (unsigned)inst->imm & 0xffff;
  const char *name = inst->op->name;
  for (size_t i = 0; inst->chip == EMU_GFX12 && i < sizeof counters / sizeof counters[0]; i++) {
    const struct counter *counter = &counters[i];
    if (strcmp(name, counter->name) != 0) continue;
    drop_loads(c, counter->is_done, field >> counter->shift & 63);
  }
  if (strcmp(name, "s_waitcnt") == 0 && !(inst->chip & EMU_BEFORE_GFX11)) {
    drop_loads(c, is_done_vector, field >> 10 & 63);
    drop_loads(c, is_done_lgkm, field >> 4 & 63);
  } else if (strcmp(name, "s_waitcnt") == 0) {
    drop_loads(c, is_done_vector, (field & 15) | (field >> 14 & 3) << 4);
    drop_loads(c, is_done_lgkm, field >> 8 & (inst->chip == EMU_GFX9 ? 15 : 63));
  } else if (strcmp(name, "s_waitcnt_vmcnt") == 0) {
    drop_loads(c, is_done_vector, field & 63);
  } else if (strcmp(name, "s_waitcnt_lgkmcnt") == 0) {
    drop_loads(c, is_done_lgkm, field & 63);
  }
}

/* The instruction that waits for the load, up to its number. */
static const char *wait_of(const emu_inst *inst, const load *missed) {
  bool is_vector = missed->kind == VECTOR || missed->kind == FLAT;
  if (inst->chip != EMU_GFX12) return is_vector ? "s_waitcnt vmcnt(" : "s_waitcnt lgkmcnt(";
  return is_vector ? "s_wait_loadcnt " : missed->kind == LDS ? "s_wait_dscnt " : "s_wait_kmcnt ";
}

static void report(check *c, uint32_t at, const load *missed, bool is_write) {
  char text[320], reg[16];
  const emu_inst *inst = &c->insts[at], *loading = &c->insts[missed->inst];
  name_register(missed->key, reg, sizeof reg);
  snprintf(text, sizeof text,
           "'%s' at offset 0x%x %s %s, which '%s' at offset 0x%x may not have filled yet: "
           "%s%u%s is missing between them",
           inst->op->name, inst->offset, is_write ? "overwrites" : "reads", reg, loading->op->name,
           loading->offset, wait_of(inst, missed), missed->kind == SCALAR ? 0 : missed->younger,
           inst->chip == EMU_GFX12 ? "" : ")");
  if (!c->found(c->ud, at, text)) c->failed = true;
}

/* A register is used by the instruction, whose own memory operation is of `own` kind. */
static void use(check *c, uint32_t at, unsigned key, bool is_write, kind own) {
  if (!is_in_flight(c, key)) return;
  bool is_ordered = is_write && (own == VECTOR || own == LDS); /* fills it after the other did */
  const load *missed = NULL;
  for (uint32_t i = 0; i < c->now.loads.count; i++) {
    const load *each = &c->now.loads.items[i];
    if (each->key == key && !(is_ordered && each->kind == own)) missed = each;
  }
  if (missed && c->found) report(c, at, missed, is_write);
  drop_loads(c, is_of_key, key);
}

static void use_operand(check *c, uint32_t at, const emu_operand *operand, bool is_write,
                        kind own) {
  unsigned first, count = keys_of(operand, &first);
  for (unsigned k = 0; k < count; k++) use(c, at, first + k, is_write, own);
}

static void use_operands(check *c, uint32_t at, kind own) {
  const emu_inst *inst = &c->insts[at];
  const emu_op *op = inst->op;
  for (unsigned n = 0; n < EMU_MAX_SRC && op->src[n] != EMU_NONE; n++) {
    use_operand(c, at, &inst->src[n], false, NOT_COUNTED);
  }
  for (unsigned n = 0; n < EMU_MAX_DST && op->dst[n] != EMU_NONE; n++) {
    use_operand(c, at, &inst->dst[n], true, own);
  }
  if (op->flags & EMU_READS_VCC) {
    for (unsigned k = 0; k < c->wave_size / 32; k++) {
      use(c, at, EMU_SGPR_VCC + k, false, NOT_COUNTED);
    }
  }
  if (op->flags & EMU_READS_M0) use(c, at, EMU_SGPR_M0, false, NOT_COUNTED);
}

/* Counts the operation against the older ones of its order, and adds what it loads. */
static void begin_operation(check *c, uint32_t at, kind own) {
  const emu_inst *inst = &c->insts[at];
  for (uint32_t i = 0; is_counted(inst, own) && i < c->now.loads.count; i++) {
    load *each = &c->now.loads.items[i];
    bool is_vector = own == VECTOR || own == FLAT;
    bool is_same_order =
        is_vector ? each->kind == VECTOR || each->kind == FLAT : own == LDS && each->kind == LDS;
    if (is_same_order && each->younger < MAX_YOUNGER) each->younger++;
  }
  const emu_operand *result = result_of(inst, own);
  unsigned first = 0, count = result ? keys_of(result, &first) : 0;
  for (unsigned k = first; k < first + count; k++) {
    load added = {.key = (uint16_t)k, .kind = (uint8_t)own, .younger = 0, .inst = at};
    if (!roc_vec_push(&c->now.loads, added)) {
      c->failed = true;
      return;
    }
    c->in_flight[k / 64] |= 1ull << (k % 64);
  }
}

static void step(check *c, uint32_t at) {
  const emu_inst *inst = &c->insts[at];
  kind own = kind_of(inst);
  if (c->now.loads.count) {
    use_operands(c, at, own);
    if (inst->op->class == EMU_CLASS_WAIT) wait(c, inst);
  }
  if (own != NOT_COUNTED) begin_operation(c, at, own);
}

/* ---- blocks ------------------------------------------------------------------------------------
 */

static int compare_loads(const void *a, const void *b) {
  const load *x = a, *y = b;
  return x->key != y->key ? (int)x->key - y->key : (int)x->kind - y->kind;
}

/* Joins `now`, which is sorted, into the state at the block's start. True when that has changed. */
static bool join(check *c, state *begin) {
  state joined = {0};
  uint32_t i = 0, k = 0;
  bool has_changed = false;
  const load *ours = begin->loads.items, *theirs = c->now.loads.items;
  while (i < begin->loads.count || k < c->now.loads.count) {
    int order = i == begin->loads.count   ? 1
                : k == c->now.loads.count ? -1
                                          : compare_loads(&ours[i], &theirs[k]);
    load next = order <= 0 ? ours[i] : theirs[k];
    if (order == 0 && theirs[k].younger < next.younger) {
      next = theirs[k];
      has_changed = true;
    }
    has_changed = has_changed || order > 0;
    i += order <= 0;
    k += order >= 0;
    if (!roc_vec_push(&joined.loads, next)) {
      roc_vec_deinit(&joined.loads);
      c->failed = true;
      return false;
    }
  }
  if (!has_changed) {
    roc_vec_deinit(&joined.loads);
    return false;
  }
  roc_vec_deinit(&begin->loads);
  *begin = joined;
  return true;
}

/* Execution may go to the instruction with what is now in flight. */
static void go_to(check *c, uint32_t at) {
  uint32_t block = c->block_of[at];
  bool is_new = !c->reached[block];
  c->reached[block] = 1;
  if (join(c, &c->begins[block]) || is_new) c->waiting[block] = 1;
}

static uint32_t target_of(const check *c, uint32_t at) {
  return c->insts[at].target - c->insts[0].index;
}

static bool is_call(const emu_inst *inst) {
  return emu_starts_with(inst->op->name, "s_call") || emu_starts_with(inst->op->name, "s_swappc");
}

/* Takes the state at the block's start as `now`, and follows the block's instructions. */
static uint32_t run_block(check *c, uint32_t block) {
  const state *begin = &c->begins[block];
  roc_vec_clear(&c->now.loads);
  memset(c->in_flight, 0, sizeof c->in_flight);
  for (uint32_t i = 0; i < begin->loads.count && !c->failed; i++) {
    const load *each = &begin->loads.items[i];
    c->failed = !roc_vec_push(&c->now.loads, *each);
    c->in_flight[each->key / 64] |= 1ull << (each->key % 64);
  }
  uint32_t at = c->starts[block];
  while (!c->failed) {
    step(c, at);
    bool is_last =
        c->flows[at] != EMU_FLOW_NEXT || is_call(&c->insts[at]) || c->block_of[at + 1] != NO_BLOCK;
    if (is_last) break;
    at++;
  }
  return at;
}

static void follow_block(check *c, uint32_t block) {
  uint32_t last = run_block(c, block);
  if (c->failed) return;
  uint8_t flow = c->flows[last];
  if (is_call(&c->insts[last])) roc_vec_clear(&c->now.loads);
  if (c->now.loads.count > 1) {
    qsort(c->now.loads.items, c->now.loads.count, sizeof(load), compare_loads);
  }
  if (emu_has_target(flow)) go_to(c, target_of(c, last));
  if (flow == EMU_FLOW_NEXT || flow == EMU_FLOW_CONDITIONAL) go_to(c, last + 1);
}

static bool begins_block(const check *c, uint32_t at) {
  return at == 0 || c->flows[at - 1] != EMU_FLOW_NEXT || is_call(&c->insts[at - 1]);
}

/* Numbers the blocks in the order of their addresses. */
static bool find_blocks(check *c, uint32_t first) {
  c->block_of = roc_alloc(sizeof *c->block_of * ((size_t)c->ninsts + 1));
  if (!c->block_of) return false;
  for (uint32_t i = 0; i <= c->ninsts; i++) c->block_of[i] = NO_BLOCK;
  for (uint32_t i = 0; i < c->ninsts; i++) {
    if (begins_block(c, i)) c->block_of[i] = 0;
    if (emu_has_target(c->flows[i])) c->block_of[target_of(c, i)] = 0;
  }
  c->block_of[first] = 0;
  for (uint32_t i = 0; i < c->ninsts; i++) {
    if (c->block_of[i] != NO_BLOCK) c->block_of[i] = c->nblocks++;
  }
  c->begins = roc_zalloc(sizeof *c->begins * c->nblocks);
  c->starts = roc_zalloc(sizeof *c->starts * c->nblocks);
  c->reached = roc_zalloc(c->nblocks);
  c->waiting = roc_zalloc(c->nblocks);
  if (!c->begins || !c->starts || !c->reached || !c->waiting) return false;
  for (uint32_t i = 0; i < c->ninsts; i++) {
    if (c->block_of[i] != NO_BLOCK) c->starts[c->block_of[i]] = i;
  }
  return true;
}

static void release(check *c) {
  for (uint32_t i = 0; c->begins && i < c->nblocks; i++) roc_vec_deinit(&c->begins[i].loads);
  roc_vec_deinit(&c->now.loads);
  roc_free(c->block_of);
  roc_free(c->begins);
  roc_free(c->starts);
  roc_free(c->reached);
  roc_free(c->waiting);
}

/* Until no state changes; a state can only grow, and its numbers only shrink, so this ends. */
static void solve(check *c) {
  for (bool is_busy = true; is_busy && !c->failed;) {
    is_busy = false;
    for (uint32_t block = 0; block < c->nblocks && !c->failed; block++) {
      if (!c->waiting[block]) continue;
      c->waiting[block] = 0;
      is_busy = true;
      follow_block(c, block);
    }
  }
}

static bool has_loads(const emu_inst *insts, uint32_t ninsts) {
  for (uint32_t i = 0; i < ninsts; i++) {
    if (result_of(&insts[i], kind_of(&insts[i]))) return true;
  }
  return false;
}

bool emu_check_waits(const emu_inst *insts, const uint8_t *flows, uint32_t ninsts, uint32_t first,
                     unsigned wave_size, emu_hazard_found *found, void *ud) {
  if (!has_loads(insts, ninsts)) return true;
  check c = {.insts = insts, .flows = flows, .ninsts = ninsts, .wave_size = wave_size, .ud = ud};
  c.failed = !find_blocks(&c, first);
  if (!c.failed) {
    c.waiting[c.block_of[first]] = c.reached[c.block_of[first]] = 1;
    solve(&c);
  }
  c.found = found;
  for (uint32_t block = 0; block < c.nblocks && !c.failed; block++) {
    if (c.reached[block]) run_block(&c, block);
  }
  release(&c);
  return !c.failed;
}
