/* Chunks: as many items of a row as a vector has lanes, for which a loop around the row
 * (cpu/wide.c) runs to its end before the next ones begin.
 *
 * What items keep from one iteration to the next lies in the frame, so that each iteration of such
 * a loop reads and writes it.  A chunk has it in arrays of its own, which LLVM keeps in vector
 * registers: the loop over a chunk's items has a constant count, becomes one vector or a few, and
 * is gone.  What the statement finds in the frame is copied there before the loop, and what it
 * changes is copied back after it.  Chunks of fewer items follow; those that are left at the end of
 * a row run as before.  In workgroups of more than one dimension, whose rows are short, a chunk has
 * several rows.
 *
 * Invariant: all items of a chunk are alive when it begins. */
#include <string.h>

#include "codegen/cpu/cpu.h"
#include "codegen/llvm/processor.h"
#include "ir/walk.h"

enum {
  MAX_INSTS = 1000, /* of all such loops, each of which is emitted twice */
  MAX_HALVED = 200, /* of one that is emitted for half a vector, too */
  MAX_VECTORS = 4   /* side by side, of a row, or of so many rows */
};

/* What a statement keeps per item. */
typedef struct usage {
  const cpu_state *s;
  bool *is_inside;                     /* per instruction: of the statement */
  bool *takes_var, *sets_var, *values; /* per variable; per instruction: made before it */
  uint32_t bytes, ninsts;              /* kept, for an item */
  bool sets_any;
} usage;

static void use_var(usage *u, uint32_t var, bool sets) {
  if (!u->s->plan.var_slotted[var]) return;
  if (!u->takes_var[var]) u->bytes += cpu_kept_bytes(u->s->cg->ir->vars.items[var].type);
  u->takes_var[var] = true;
  u->sets_var[var] |= sets;
  u->sets_any |= sets;
}

static void use_value(usage *u, uint32_t id) {
  const cpu_plan *plan = &u->s->plan;
  if (u->is_inside[id] || u->values[id] || !plan->is_slotted[id]) return;
  u->values[id] = true;
  u->bytes += cpu_kept_bytes((roc_value_type)u->s->cg->ir->insts.items[id].type);
}

static bool find_usage(cpu_state *s, uint32_t id, usage *u) {
  const roc_ir_module *ir = s->cg->ir;
  roc_arena *arena = &s->cg->arena;
  *u = (usage){.s = s};
  u->is_inside = ROC_ARENA_ARRAY(arena, bool, ir->insts.count + 1);
  u->values = ROC_ARENA_ARRAY(arena, bool, ir->insts.count + 1);
  u->takes_var = ROC_ARENA_ARRAY(arena, bool, ir->vars.count + 1);
  u->sets_var = ROC_ARENA_ARRAY(arena, bool, ir->vars.count + 1);
  if (arena->failed) return false;
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, ir, &id, 1);
  while (roc_ir_walk_next(&w)) {
    if (s->left_out && s->left_out[w.id]) continue;
    u->is_inside[w.id] = true;
    u->ninsts++;
    bool sets = w.inst->op == ROC_IR_SET || w.inst->op == ROC_IR_FOR;
    bool gets = w.inst->op == ROC_IR_GET && !s->plan.is_remat[w.id];
    bool is_counter = (sets || gets) && s->plan.is_counter[w.inst->aux];
    if ((sets || gets) && !is_counter) use_var(u, w.inst->aux, sets);
    if (s->plan.is_remat[w.id]) continue;
    for (uint32_t n = 0; n < w.inst->nargs; n++) use_value(u, roc_ir_arg(ir, w.inst, n));
  }
  return true;
}

static unsigned count_registers(unsigned vector_bytes) {
  return vector_bytes == 64 ? 32 : 16;
}

static unsigned vector_bytes(const cpu_state *s) {
  if (roc_processor_has(s->cg->tm, "avx512f")) return 64;
  return roc_processor_has(s->cg->tm, "avx2") ? 32 : 16;
}

/* Half of the registers are for what items keep, or more where one vector of each takes more. */
static unsigned count_vectors(const usage *u, unsigned nbytes) {
  unsigned nregisters = count_registers(nbytes), most = MAX_VECTORS;
  if (u->s->plan.has_rows) return 1; /* rows are short */
  while (most > 1 && most * u->bytes > nregisters / 2 * CPU_LANE_BYTES) most /= 2;
  return most;
}

/* The frame's slots, while a chunk has others. */
typedef struct slots {
  cpu_slot *values, *vars;
} slots;

static void copy_slot(cpu_state *s, const cpu_slot *of_chunk, const cpu_slot *of_frame,
                      bool is_back) {
  roc_cg *cg = s->cg;
  LLVMValueRef first = LLVMBuildNUWAdd(cg->b, s->level->row, s->chunk.x, "");
  uint64_t size = LLVMABISizeOfType(LLVMGetModuleDataLayout(cg->mod), of_frame->type);
  int64_t nbytes = (int64_t)(size * s->chunk.count);
  for (unsigned row = 0; row < s->chunk.rows; row++) {
    LLVMValueRef there = cpu_slot_at(s, of_frame, first);
    LLVMValueRef here = roc_cg_byte_offset(cg, of_chunk->base, roc_cg_i64(cg, row * nbytes));
    LLVMBuildMemCpy(cg->b, is_back ? there : here, (unsigned)size, is_back ? here : there,
                    (unsigned)size, roc_cg_i64(cg, nbytes));
    first = LLVMBuildNUWAdd(cg->b, first, s->local[0], "");
  }
}

/* Between the frame and the chunk: all that is used, or back, what was set. */
static void copy_slots(cpu_state *s, const usage *u, const slots *frame, bool is_back) {
  const roc_ir_module *ir = s->cg->ir;
  const bool *vars = is_back ? u->sets_var : u->takes_var;
  for (uint32_t v = 0; v < ir->vars.count; v++) {
    if (vars[v]) copy_slot(s, cpu_var_slot(s, v), &frame->vars[v], is_back);
  }
  for (uint32_t i = 0; i < ir->insts.count && !is_back; i++) {
    if (u->values[i]) copy_slot(s, cpu_value_slot(s, i), &frame->values[i], false);
  }
}

/* Slots of the frame that the statement uses exist before they are hidden. */
static void make_frame_slots(cpu_state *s, const usage *u) {
  for (uint32_t v = 0; v < s->cg->ir->vars.count; v++) {
    if (u->takes_var[v]) cpu_var_slot(s, v);
  }
  for (uint32_t i = 0; i < s->cg->ir->insts.count; i++) {
    if (u->values[i]) cpu_value_slot(s, i);
  }
}

/* The statement, or those parts of it that are not left out. */
static void emit_part(cpu_state *s, uint32_t id, const usage *u, LLVMValueRef x) {
  roc_cg *cg = s->cg;
  const roc_ir_module *ir = cg->ir;
  slots frame = {s->value_slots, s->var_slots};
  cpu_level part = *s->level;
  s->chunk.x = part.x = x;
  s->chunk.y = part.y;
  part.count = roc_cg_i64(cg, s->chunk.count);
  part.rows = s->chunk.rows;
  s->value_slots = ROC_ARENA_ARRAY(&cg->arena, cpu_slot, ir->insts.count + 1);
  s->var_slots = ROC_ARENA_ARRAY(&cg->arena, cpu_slot, ir->vars.count + 1);
  if (cg->arena.failed) return;
  cpu_part_begin(s, &part, part.count, NULL);
  copy_slots(s, u, &frame, false);
  cpu_emit_row_statement(s, id);
  copy_slots(s, u, &frame, true);
  cpu_part_end(s, &part);
  s->value_slots = frame.values;
  s->var_slots = frame.vars;
}

static void emit_chunk(cpu_state *s, uint32_t id, const usage *u, LLVMValueRef x) {
  const bool *left_out[CPU_MAX_PARTS];
  unsigned nregisters = count_registers(vector_bytes(s));
  unsigned nparts = cpu_parts_find(s, id, nregisters, left_out);
  if (!nparts) emit_part(s, id, u, x);
  for (unsigned n = 0; n < nparts; n++) {
    usage part;
    s->left_out = left_out[n];
    if (find_usage(s, id, &part)) emit_part(s, id, &part, x);
    s->left_out = NULL;
  }
}

bool cpu_chunk_may(cpu_state *s, uint32_t id) {
  const cpu_level *level = s->level;
  if (s->is_inspecting || s->chunk.count || s->chunk.is_done || level->is_single || level->stride)
    return false;
  usage u;
  return find_usage(s, id, &u) && u.sets_any && u.ninsts + s->chunk_insts <= MAX_INSTS;
}

/* Items of the smallest chunks, after those of `nvectors` vectors: of the long rows of one dimension
 * LLVM's vectors do for what is left, short rows are often of eight items. */
static unsigned least_items(const usage *u, unsigned nvectors) {
  unsigned nbytes = vector_bytes(u->s), lanes = nbytes / CPU_LANE_BYTES;
  if (!u->s->plan.has_rows) return nvectors * lanes;
  return nbytes == 64 && u->ninsts <= MAX_HALVED ? lanes / 2 : lanes;
}

/* How many of the level's items live; NULL: all. */
static LLVMValueRef count_live(cpu_state *s) {
  if (!s->needs_live || !s->may_be_dead) return NULL;
  return LLVMBuildLoad2(s->cg->b, s->cg->t.i64, s->level->live_count, "");
}

/* The items from the `done`th on. */
static void emit_rest(cpu_state *s, uint32_t id, LLVMValueRef done, LLVMValueRef is_whole,
                      LLVMValueRef live) {
  roc_cg *cg = s->cg;
  cpu_level rest = *s->level;
  LLVMBasicBlockRef some = roc_cg_block(cg, "chunk.rest"), end = roc_cg_block(cg, "chunk.end");
  rest.x = LLVMBuildNUWAdd(cg->b, rest.x, done, "");
  rest.count = LLVMBuildNUWSub(cg->b, rest.count, done, "");
  LLVMValueRef is_some = LLVMBuildICmp(cg->b, LLVMIntNE, rest.count, roc_cg_i64(cg, 0), "");
  LLVMBuildCondBr(cg->b, is_some, some, end);
  roc_cg_at(cg, some);
  LLVMValueRef alive = is_whole ? LLVMBuildSelect(cg->b, is_whole, rest.count, live, "") : NULL;
  s->chunk.is_done = true;
  cpu_part_begin(s, &rest, rest.count, alive);
  cpu_emit_row_statement(s, id);
  cpu_part_end(s, &rest);
  s->chunk.is_done = false;
  LLVMBuildBr(cg->b, end);
  roc_cg_at(cg, end);
}

/* As many chunks as the level's items from `done` on have room for; gives the items that are done
 * then. */
static LLVMValueRef emit_along(cpu_state *s, uint32_t id, const usage *u, LLVMValueRef is_whole,
                               LLVMValueRef done) {
  roc_cg *cg = s->cg;
  s->chunk_insts += u->ninsts;
  LLVMValueRef size = roc_cg_i64(cg, s->chunk.count);
  LLVMValueRef left = LLVMBuildNUWSub(cg->b, s->level->count, done, "");
  LLVMValueRef nchunks = LLVMBuildUDiv(cg->b, left, size, "");
  if (is_whole) nchunks = LLVMBuildSelect(cg->b, is_whole, nchunks, roc_cg_i64(cg, 0), "");
  cpu_loop loop;
  cpu_loop_begin(s, &loop, nchunks, "chunk");
  LLVMValueRef x = LLVMBuildNUWAdd(cg->b, s->level->x, done, "");
  x = LLVMBuildNUWAdd(cg->b, x, LLVMBuildNUWMul(cg->b, loop.index, size, ""), "");
  emit_chunk(s, id, u, x);
  cpu_loop_end(s, &loop);
  return LLVMBuildNUWAdd(cg->b, done, LLVMBuildNUWMul(cg->b, nchunks, size, ""), "");
}

/* Chunks of `nvectors` vectors, then smaller ones.  Gives the items that are done. */
static LLVMValueRef emit_widths(cpu_state *s, uint32_t id, const usage *u, unsigned nvectors,
                                LLVMValueRef is_whole) {
  unsigned lanes = vector_bytes(s) / CPU_LANE_BYTES, least = least_items(u, nvectors);
  LLVMValueRef done = roc_cg_i64(s->cg, 0);
  for (unsigned count = nvectors * lanes; count >= least; count /= 2) {
    s->chunk.count = count;
    s->chunk.lanes = count < lanes ? count : lanes;
    s->chunk.vectors = count / s->chunk.lanes;
    done = emit_along(s, id, u, is_whole, done);
  }
  return done;
}

void cpu_emit_chunks(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  usage u;
  if (!find_usage(s, id, &u)) return;
  make_frame_slots(s, &u);
  LLVMValueRef live = count_live(s), is_whole = NULL;
  if (live) is_whole = LLVMBuildICmp(cg->b, LLVMIntEQ, live, s->level->count, "");
  s->chunk = (cpu_chunk){.rows = 1};
  LLVMValueRef done = emit_widths(s, id, &u, count_vectors(&u, vector_bytes(s)), is_whole);
  s->chunk = (cpu_chunk){0};
  emit_rest(s, id, done, is_whole, live);
}

/* ---- tiles --------------------------------------------------------------------------------- */

/* Where rows are short, those of several go through the loop at once: one row's additions then need
 * not wait for each other. */
static unsigned count_rows(const usage *u, unsigned nbytes) {
  unsigned nregisters = count_registers(nbytes), most = MAX_VECTORS;
  while (most > 1 && most * u->bytes > nregisters / 2 * CPU_LANE_BYTES) most /= 2;
  return most;
}

/* Whether each of the rows has two vectors side by side, which what is the same for a row is then
 * loaded once for; they read whole lines of the cache where there were halves. */
static bool has_room_for_two(const usage *u, unsigned nbytes, unsigned nrows) {
  return 2 * nrows * u->bytes <= count_registers(nbytes) / 2 * CPU_LANE_BYTES;
}

/* All items count the same, in this loop and in those in it, and none goes another way. */
static ROC_IR_WALKS bool is_straight(const cpu_state *s, uint32_t id) {
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, s->cg->ir, &id, 1);
  while (roc_ir_walk_next(&w)) {
    if (!(s->plan.cuts[w.id] & CPU_CUT_ROW)) continue;
    if (w.inst->op != ROC_IR_FOR) return false;
    for (uint32_t n = 0; n < 3; n++) {
      if (!s->plan.is_uniform[roc_ir_arg(s->cg->ir, w.inst, n)]) return false;
    }
  }
  return true;
}

bool cpu_chunk_may_tile(cpu_state *s, uint32_t id) {
  if (s->is_cold || s->is_inspecting || s->needs_live) return false;
  if (s->chunk.is_done || !s->plan.has_rows) return false;
  usage u;
  return is_straight(s, id) && find_usage(s, id, &u) && u.sets_any &&
         u.ninsts + s->chunk_insts <= MAX_INSTS && count_rows(&u, vector_bytes(s)) > 1;
}

void cpu_emit_tiles(cpu_state *s, uint32_t id, LLVMValueRef *out_rows, LLVMValueRef *out_items) {
  roc_cg *cg = s->cg;
  usage u;
  *out_rows = *out_items = roc_cg_i64(cg, 0);
  if (!find_usage(s, id, &u)) return;
  make_frame_slots(s, &u);
  unsigned nbytes = vector_bytes(s), nrows = count_rows(&u, nbytes);
  s->chunk = (cpu_chunk){.rows = nrows};
  LLVMValueRef height = roc_cg_i64(cg, nrows);
  LLVMValueRef down = LLVMBuildUDiv(cg->b, s->count[1], height, "");
  cpu_level level = *s->level, *outer = s->level;
  cpu_loop z, y;
  cpu_loop_begin(s, &z, s->count[2], "tile.z");
  cpu_loop_begin(s, &y, down, "tile.y");
  level.kind = CPU_LEVEL_ROW;
  level.z = z.index;
  level.y = LLVMBuildNUWMul(cg->b, y.index, height, "");
  LLVMValueRef row = LLVMBuildNUWMul(cg->b, z.index, s->local[1], "");
  row = LLVMBuildNUWAdd(cg->b, row, level.y, "");
  level.row = LLVMBuildNUWMul(cg->b, row, s->local[0], "");
  level.x = roc_cg_i64(cg, 0);
  level.count = s->count[0];
  s->level = &level;
  unsigned nvectors = has_room_for_two(&u, nbytes, nrows) ? 2 : 1;
  emit_widths(s, id, &u, nvectors, NULL);
  s->level = outer;
  cpu_loop_end(s, &y);
  cpu_loop_end(s, &z);
  s->chunk = (cpu_chunk){0};
  *out_rows = LLVMBuildNUWMul(cg->b, down, height, "");
  LLVMValueRef lanes = roc_cg_i64(cg, least_items(&u, nvectors));
  LLVMValueRef across = LLVMBuildUDiv(cg->b, s->count[0], lanes, "");
  *out_items = LLVMBuildNUWMul(cg->b, across, lanes, "");
}
