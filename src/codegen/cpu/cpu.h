/* The CPU back end's own state.  A workgroup runs on one thread, as loops over its work-items:
 *
 *   target   (cpu/target.c)     entry, body, hooks; cpu/machine.c: the processor
 *   groups   (cpu/groups.c)     the loop over workgroups, versions of the body
 *   plan     (cpu/plan.c)       cuts the structured body into runs; what lives across runs
 *   once     (cpu/once.c)       variables and jumps of the group, not of each item
 *   regions  (cpu/regions.c)    emits lists of statements for the whole group or a wavefront
 *   rows     (cpu/wide.c, cpu/rows.c, cpu/prefetch.c)  loops that stand around the items of a row
 *   chunk    (cpu/chunk.c)      such loops around as many items as registers hold
 *   parts    (cpu/parts.c)      or for some of what the items keep, and then for the rest
 *   batch    (cpu/batch.c, cpu/members.c)  workgroups that run such a loop side by side
 *   merge    (cpu/merge.c)      workgroups that are one, as none of their items can tell
 *   preflight (cpu/preflight.c) checks answered for a whole group, which then runs without them
 *   inspector (cpu/inspector.c) checks of what memory holds, by a run of the group for that alone
 *   whole    (cpu/whole.c)      groups of which no item returns early
 *   elements (cpu/elements.c)   kernels whose items have one element each, and no loop
 *   tuples   (cpu/tuples.c)     groups whose arrays have rows as short as the kernel's constants say
 *   tallies  (cpu/tallies.c, cpu/tally_code.c)  atomics whose old values are not used, in memory of
 *            each call's own
 *   divide   (cpu/divide.c)     division of integers that are small, in vectors
 *   look     (cpu/look.c)       loops that ask from time to time whether they are to go on
 *   items    (cpu/items.c, cpu/item_loops.c)  emits one run as a loop over work-items
 *   shape    (cpu/shape.c)      how values differ between items that run side by side
 *   lanes    (cpu/lanes.c, cpu/lanes_{values,memory,hoist,choose}.c)  emits one run in vectors with
 *            masks, where its items go different ways
 *   vectors  (cpu/vector_forms.c, cpu/vector_masks.c)  what the optimiser made of vectors, for
 *            processors without registers for bits
 *   strides  (cpu/strides.c, cpu/neighbours.c)  gathers of elements at equal distances, and of
 *            neighbours
 *   spans    (cpu/spans.c)      checks of a loop's counter, decided before the loop
 *   fails    (cpu/fails.c)      checks that fail in a run
 *   split    (cpu/split.c)      guards that hold for a range of a row's items
 *   pieces   (cpu/pieces.c)     runs whose guards hold for other items, as several loops
 *   exits    (cpu/exits.c)      ways out of a list of statements
 *   wave     (cpu/wave.c)       wave operations as loops over lanes
 *   values   (cpu/values.c, cpu/frame.c)  results and variables, the memory of those that last
 *   math     (cpu/math.c)       functions of floats: own arithmetic, libm and libmvec
 *
 * A run is a maximal list of instructions without a cut in which work-items execute one after the
 * other (or side by side, vectorised).  Its number is the home of every instruction in it. Per-item
 * memory is an array in the frame indexed by the linear local index, so that item loops touch it
 * with unit stride. */
#ifndef ROC_CODEGEN_CPU_CPU_H
#define ROC_CODEGEN_CPU_CPU_H

#include "codegen/core/cg.h"
#include "ir/uniform.h"

/* The entry's symbol: jit_load writes a number over the zeros. */
#define ROC_CPU_ENTRY_PREFIX "roc_cpu_kernel_"
#define ROC_CPU_ENTRY_FIELD ROC_CPU_ENTRY_PREFIX "0000000000000000"

/* ---- plan -------------------------------------------------------------------------------- */

enum { ROC_CPU_NO_RUN = 0 };
/* In cpu_plan.cuts, beside ROC_IRF_CUT_*: executed by the items of a row together. */
enum { CPU_CUT_ROW = 0x80 };
/* Likewise: executed once for the group, as cpu/once.c says. */
enum { CPU_CUT_ONCE = 0x40 };

typedef struct cpu_plan {
  uint8_t *cuts;     /* per instruction: ROC_IRF_CUT_*, nested ones included */
  bool *stops;       /* per instruction: a work-item may end in it */
  uint32_t *home;    /* per instruction: its run */
  bool *is_stable;   /* per instruction, remat ones: without loop counters */
  bool *is_remat;    /* per instruction: pure over ids, constants, arguments: recomputed where it is
                       used */
  bool *is_uniform;  /* per instruction, remat ones: the same for all items of the group */
  bool *counts_rows; /* per instruction, remat ones: from the counter of a loop around rows */
  bool *is_slotted;  /* per instruction: used in another run, kept per item */
  uint32_t *set_once; /* per variable: the only SET, when its operand is remat; else ROC_IR_NONE */
  bool *is_counter;   /* per variable: of a FOR that the group (or wavefront) runs */
  bool *is_itemwise;  /* per instruction: a FOR with a cut whose items may count different values */
  uint32_t *for_of;   /* per variable: the FOR that counts with it and alone sets it; or NONE */
  bool *is_along;     /* per instruction: a FOR that an item goes through by itself, in vectors of
                         its rounds */
  uint32_t *wide_for; /* per variable: the FOR marked CPU_CUT_ROW that counts with it, or NONE */
  bool *var_slotted;  /* per variable */
  bool *array_slotted; /* per array: PRIVATE, kept in the frame */
  bool *is_group_var;  /* per variable: kept once for the group */
  bool has_group_vars; /* some */
  uint32_t nruns;
  bool has_rows; /* asks for ids of dimension 2 or 3 */
  bool has_loops;
  bool divides;    /* integers */
  bool knows_rows; /* has_rows, or asks for lanes, or has a cut: an item's row may matter */
} cpu_plan;

/* How a stretch of a statement list is executed. */
typedef enum cpu_segment_kind {
  CPU_SEGMENT_RUN,
  CPU_SEGMENT_WAVES,
  CPU_SEGMENT_ROWS,
  CPU_SEGMENT_CUT
} cpu_segment_kind;
typedef enum cpu_level_kind { CPU_LEVEL_GROUP, CPU_LEVEL_WAVE, CPU_LEVEL_ROW } cpu_level_kind;

/* The segment that begins at ids[0]: its kind, and in *out_count how many instructions it has. */
cpu_segment_kind cpu_plan_segment(const cpu_plan *plan, cpu_level_kind level, const uint32_t *ids,
                                  uint32_t count, uint32_t *out_count);
/* Whether a work-item may end in one of the instructions. */
bool cpu_plan_stops(const cpu_plan *plan, const uint32_t *ids, uint32_t count);
/* False when memory is out.  `has_lanes`: cpu_has_lanes. */
bool cpu_plan_make(const roc_ir_module *ir, roc_arena *arena, bool has_lanes, cpu_plan *plan);

/* cpu/once.c */
/* What a plan should have the group execute once: `insts`, with SETs of `vars`. */
typedef struct cpu_once {
  const roc_ir_module *ir;
  roc_ir_uniform uniform;
  const uint8_t *cuts; /* of a plan without all this */
  bool *vars, *insts;
  bool *given_up; /* per IF: the group cannot compute its condition */
} cpu_once;
/* From a plan without: false when memory is out; to be given back with cpu_once_deinit. */
bool cpu_once_init(cpu_once *once, const roc_ir_module *ir, roc_arena *arena, const cpu_plan *plan);
void cpu_once_deinit(cpu_once *once);
/* Fills in once->insts; whether there are any. */
bool cpu_once_mark(cpu_once *once);
/* Whether the group can compute, by a plan that was made with the marks, all that takes; otherwise
 * gives something up, and the marks are to be made again. */
bool cpu_once_holds(cpu_once *once, const cpu_plan *plan);

/* cpu/wide.c: marks plan->cuts, plan->wide_for and plan->is_along.  False when memory is out. */
bool cpu_wide_mark(const roc_ir_module *ir, roc_arena *arena, bool has_lanes, cpu_plan *plan);
/* Whether a FOR has so few iterations, known beforehand, that LLVM unrolls it. */
bool cpu_is_short_for(const roc_ir_module *ir, const roc_ir_inst *inst);
/* How many; 1: they are not few. */
uint32_t cpu_short_rounds(const roc_ir_module *ir, const roc_ir_inst *inst);

/* cpu/shape.c */
/* In place of a stride: the lanes differ in any way; nothing is known yet, while shapes are found. */
enum { CPU_VARYING = INT32_MIN, CPU_UNKNOWN = INT32_MAX };
/* Which lanes keep what they have when a variable is set: none that will read it again; those of an
 * IF's other branch; all that are not in the mask. */
typedef enum cpu_blend { CPU_BLEND_NONE, CPU_BLEND_BRANCH, CPU_BLEND_MASK } cpu_blend;

typedef struct cpu_shapes {
  int32_t *insts, *vars; /* by how much the value grows from lane to lane */
  bool *parts; /* per statement: an IF whose condition varies; others: some lanes leave it, or begin
                   its next iteration, before others do */
  uint8_t *blends;               /* per SET: cpu_blend */
  bool *is_carried;              /* per variable: an iteration reads what one before it has set */
  uint8_t *narrow, *narrow_vars; /* per instruction and variable: what 32 bits hold, in lanes that
                                    come there (ir/check_elimination.h) */
} cpu_shapes;

/* False when memory is out. */
bool cpu_shapes_make(const roc_ir_module *ir, const cpu_plan *plan, roc_arena *arena,
                     cpu_shapes *shapes);

/* ---- emission ---------------------------------------------------------------------------- */

/* What a list of statements is emitted for: the group, one wavefront of it, or items of one row. */
typedef struct cpu_level {
  cpu_level_kind kind;
  LLVMValueRef live_count; /* alloca i64: work-items that have not ended */
  LLVMBasicBlockRef end;   /* where to go when there is none left */
  LLVMBasicBlockRef group_end;
  LLVMValueRef present;     /* GROUP, ROW: work-items at the start, i64 */
  LLVMValueRef base, limit; /* WAVE: linear local indices of the lanes, [base, limit) */
  LLVMValueRef y, z, row;   /* ROW: local ids from 0, linear local index of its first item */
  LLVMValueRef x, count;    /* ROW: the items [x, x + count) */
  LLVMValueRef stride;      /* ROW: not NULL: every so manyth of them */
  unsigned rows;            /* ROW: those of so many rows, from y on; 0: of one */
  bool is_single;           /* ROW: it is one item */
  struct cpu_level *outer;
} cpu_level;

/* A counted loop around items. */
typedef struct cpu_loop {
  LLVMValueRef index; /* i64 phi, from 0 */
  LLVMValueRef count;
  LLVMBasicBlockRef head, done;
} cpu_loop;

/* A loop around the members of a batch; meanwhile the state's group is the member, and what it was
 * before is kept here. */
typedef struct cpu_members {
  cpu_loop loop;
  LLVMValueRef group, first, count, slot_first, shared;
} cpu_members;

enum { CPU_MAX_GUARDS = 16 };
enum { CPU_DIVIDES_FLOATS = 1, CPU_DIVIDES_INTEGERS };

/* An IF that goes one way for a range of the items of a row. */
typedef struct cpu_guard {
  uint32_t id;
  bool truth;   /* of its condition, there */
  bool is_idle; /* the other items do nothing; such guards come first */
} cpu_guard;

typedef struct cpu_split {
  roc_vec(cpu_guard) guards;
  bool has_rest;       /* the others have something to do: there are guards that are not idle, */
  bool is_fallible;    /* or ones of which it is asked at run time whether a range says anything */
  LLVMValueRef leaves; /* alloca i1: some row has others; NULL: there are none */
  bool is_single;      /* they hold for one item of a row, at most */
  bool is_exact;       /* there is one guard that makes a rest, and it does not hold in that */
  uint32_t period;     /* a condition on the way in, `value % m == rest`; or NONE */
} cpu_split;

/* The first item of a row, or of a part of it: local ids from 0. */
typedef struct cpu_place {
  LLVMValueRef x, y, z;
} cpu_place;

/* Items [low, end) of a row, counted from its first; low <= end.  All others are idle but those
 * from `first` to `last`. */
typedef struct cpu_range {
  LLVMValueRef low, end;
  LLVMValueRef step;        /* not NULL: every so manyth of them, from `low` on; unsigned */
  LLVMValueRef first, last; /* first <= low, end <= last */
} cpu_range;

/* A check that can fail in a run. */
typedef struct cpu_fail {
  uint32_t site;
  unsigned nvalues;
  LLVMValueRef invariant[ROC_SITE_MAX_VALUES]; /* NULL: kept per item */
} cpu_fail;

/* The item loop being emitted: loops over rows of items, the last one over the items of a row. */
typedef struct cpu_run {
  cpu_loop loops[4];
  unsigned nloops;
  LLVMBuilderRef header_b; /* at the end of the block that all of the item's code follows */
  LLVMBasicBlockRef body, latch;
  LLVMBasicBlockRef dead;    /* an item that returns or fails goes there; NULL: not needed */
  LLVMValueRef x, y, z, lin; /* i64: local ids from 0, linear local index */
  LLVMValueRef turning_x;    /* x, where it is a phi that begins anew in each row; else NULL */
  LLVMValueRef left;         /* with lanes: items of the row from x on */
  LLVMValueRef segment;      /* WAVE: index of the item after the row */
  LLVMValueRef is_live;      /* i1, NULL: always */
  LLVMValueRef code;         /* alloca i32: which check failed, 0 none; NULL: there is none */
  LLVMBasicBlockRef fault;   /* cold version: an item that failed goes there; `code` is its site */
  LLVMValueRef values[ROC_SITE_MAX_VALUES]; /* allocas i64 */
  LLVMValueRef died;                        /* alloca i8; NULL: not needed */
  roc_vec(cpu_fail) fails;
  bool is_parallel;
  bool is_scalar;      /* vectors would not pay */
  bool has_loop;       /* that is not written out: the items are no vectors */
  bool has_masked_end; /* what is left of a row is a vector, too */
  bool is_written_out; /* a few items, one after the other without a loop */
} cpu_run;

/* A way out of the run to a statement around it: the items that take it are counted. */
typedef struct cpu_run_exit {
  uint32_t target;
  bool is_next;
  LLVMValueRef count; /* alloca i64 */
  roc_cg_exits saved;
} cpu_run_exit;

typedef struct cpu_slot {
  LLVMValueRef base; /* in the entry block */
  LLVMTypeRef type;  /* of one element */
  bool is_of_chunk;  /* has the items of the chunk alone */
} cpu_slot;

/* Items for which a loop around them is emitted: from `x` on, a vector's lanes times `vectors`, of
 * `rows` rows from `y` on. */
typedef struct cpu_chunk {
  unsigned count, lanes, vectors, rows; /* count: of a row; 0: none is being emitted */
  LLVMValueRef x, y;
  bool is_done; /* what chunks have left of a row is being emitted */
} cpu_chunk;

/* An element of a vector, in whose lanes everything is counted that items keep in registers. */
enum { CPU_LANE_BYTES = 4, CPU_MAX_PARTS = 8 };

typedef struct cpu_lanes cpu_lanes;
typedef struct cpu_inspection cpu_inspection;

/* What is kept of an array's elements, as cpu/tallies.c says. */
typedef struct cpu_tally {
  roc_ir_atomic kind;
  bool is_used,
      is_barred; /* by an access at all; by one that is no such atomic, or of another kind */
  bool is_kept;
  LLVMValueRef is_on; /* i1: by this call */
  LLVMValueRef count; /* of elements; 0 unless is_on */
  LLVMValueRef base;
} cpu_tally;

typedef struct cpu_state {
  roc_cg *cg;
  cpu_plan plan;
  LLVMValueRef kernarg, launch, first, end, shared, frame, turn; /* arguments of the body */
  LLVMValueRef *array_params;                                    /* data pointers, per parameter */
  /* entry block, i64 */
  LLVMValueRef grid[3], groups[3], local[3], items, rank, dynamic;
  /* How many groups run side by side at most; items of so many; bytes from one's shared memory to
   * the next one's. */
  LLVMValueRef batch, slots, shared_stride;
  LLVMMetadataRef parallel; /* the access group */
  /* frame */
  LLVMValueRef frame_end;           /* pointer past the last slot so far */
  uint64_t frame_fixed, frame_item; /* bytes; per group and per item */
  cpu_slot *value_slots, *var_slots, *array_slots;
  cpu_chunk chunk;
  uint32_t chunk_insts; /* of the loops that were emitted so, so far */
  const bool *left_out; /* per instruction: not in the part of a loop that is emitted; or NULL */
  cpu_slot live, code, fail_values[ROC_SITE_MAX_VALUES], wave;
  /* group */
  LLVMValueRef group[3], group_first[3], count[3]; /* index, first global id - 1, items present */
  LLVMValueRef slot_first;                         /* in slots, of its items; NULL: 0 */
  uint32_t batch_at;       /* statement of the body that groups may run side by side, or NONE */
  bool has_batches;        /* code was emitted that does so */
  LLVMValueRef taken;      /* alloca i64: groups that this turn of the group loop deals with */
  LLVMValueRef *read_once; /* per GET of a variable of the group: what it read; alloca */
  bool *is_settled;        /* per instruction: a check that the preflight answers for the group */
  uint8_t *divides_small; /* per instruction: a division whose numbers the preflight can find small,
                             and how it is made then, CPU_DIVIDES_*; 0: none */
  bool has_small_numbers; /* the version is emitted for groups in which they are */
  bool is_unordered;      /* no workgroup can wait for another */
  bool goes_by_rows;      /* a workgroup is a row (base/codeobj.h) */
  bool is_merging; /* neighbours in the first dimension are one group; `count` says how large */
  bool is_clear;   /* the version is emitted in which those checks hold: they are left out */
  bool *is_exit;   /* per instruction: an early return, or a part of it, as cpu/whole.c says */
  bool is_whole;   /* the version is emitted in which no item takes them: they are left out */
  const uint8_t *rounded; /* per FLOOR and CEIL: what 32 bits tell of it (ir/check_elimination.h);
                             NULL: there is none */
  LLVMValueRef *tally_cells; /* per instruction: in the loop that is emitted; NULL: none */
  cpu_tally *tallies;        /* per array */
  bool *is_promised;         /* per instruction: a check that holds in the loop that is emitted, */
  uint32_t spanned;          /* which is this one, or NONE: cpu/spans.c */
  LLVMValueRef *tuple_lengths; /* per array: as cpu/tuples.c says; NULL: none */
  bool is_cold;                /* the version for the other groups: scalar, small */
  bool is_inspecting;          /* the inspector is emitted: nothing else has an effect */
  LLVMBasicBlockRef lost;      /* where the inspector goes when the group needs the cold version */
  cpu_inspection *inspection;  /* NULL: there is nothing for it to do, and these are NULL */
  const bool *is_inspected, *inspector_needs; /* per instruction: a check of it; a part of it */
  bool may_be_dead; /* an item may have ended before the code now emitted */
  bool needs_live;
  bool all_alive; /* the version of a run is emitted that runs when no item of the group ended */
  roc_cg_exits *exits; /* per instruction: of the group's or wavefront's control flow */
  cpu_level *level;
  uint8_t *looks;      /* per instruction, of loops: how it looks around; 0: not at all */
  uint32_t *steps;     /* per instruction, of loops: of an iteration, without loops that look */
  uint32_t item_steps; /* likewise of a work-item */
  LLVMValueRef budget; /* alloca i64: steps until the kernel asks */
  LLVMValueRef asking; /* function; NULL: not made yet */
  LLVMBasicBlockRef stopped;             /* where it ends when it is told to */
  bool is_in_strip;                      /* the body of a loop that pays at its end is emitted */
  uint32_t strip_compare, strip_operand; /* a comparison, and its operand that is strip_bound now */
  LLVMValueRef strip_bound;              /* NULL: there is none */
  cpu_shapes *shapes;                    /* NULL until they are needed */
  unsigned nlanes;               /* the loop over a row takes so many items a turn; 0: one */
  cpu_lanes *lanes, *lanes_kept; /* items are emitted in lanes; what is kept of them */
  uint8_t mask_bits[ROC_CG_MOST_LANES + 1]; /* of an element of masks of so many lanes; 0: none */
  LLVMValueRef (*operand)(struct cpu_state *s, uint32_t id); /* meanwhile: of cg->lanes lanes */
  cpu_run *run;                                              /* NULL between item loops */
  const cpu_split *split; /* item loops run over the range of their rows that it gives, */
  bool is_rest;           /* or over the others; NULL: over all */
  unsigned split_dim;     /* the dimension along which items are a range: 0, in a row; 1, rows */
  uint8_t *ways;          /* per instruction: a guard that goes one way: its region + 1; else 0 */
  uint32_t *epochs;       /* per instruction: the run loop that cg->values[] belongs to */
  uint32_t epoch;
  LLVMValueRef
      *advances; /* per variable: of a wide FOR, alloca i64: how far it is past its first */
  uint64_t *shared_offsets, shared_bytes;
  const char *entry;
} cpu_state;

static inline cpu_state *cpu_of(roc_cg *cg) {
  return cg->state;
}

/* Whether an instruction is left out of the version that is emitted: nothing would come of it. */
static inline bool cpu_is_settled(const cpu_state *s, uint32_t id) {
  return (s->is_clear && s->is_settled[id]) || (s->is_whole && s->is_exit[id]) ||
         s->is_promised[id];
}

/* cpu/frame.c */
/* A new array in the frame, `count` elements of `type` per item. */
cpu_slot cpu_slot_new(cpu_state *s, LLVMTypeRef type, uint64_t count);
/* The element of the group's item `lin`; that of the run's item. */
LLVMValueRef cpu_slot_at(cpu_state *s, const cpu_slot *slot, LLVMValueRef lin);
LLVMValueRef cpu_slot_item(cpu_state *s, const cpu_slot *slot);
/* The slots of a slotted result and variable, made on first use. */
cpu_slot *cpu_value_slot(cpu_state *s, uint32_t id);
cpu_slot *cpu_var_slot(cpu_state *s, uint32_t var);

/* Memory of the frame that all groups of a call have in common. */
LLVMValueRef cpu_frame_reserve(cpu_state *s, uint64_t nbytes);

/* cpu/machine.c: hooks of the target */
bool cpu_accepts(const char *name);
void cpu_initialise(void);
roc_status cpu_check_options(const roc_cg_options *options, roc_error *err);
LLVMTargetMachineRef cpu_machine(const roc_cg_options *options, roc_error *err);
/* The processor that the code is for, on a function. */
void cpu_set_attributes(roc_cg *cg, LLVMValueRef fn);

/* cpu/groups.c */
void cpu_load_launch(cpu_state *s); /* in the entry block */
void cpu_emit_groups(cpu_state *s);

/* cpu/batch.c */
/* Which statement of the body is a loop that groups should run side by side, or ROC_IR_NONE. */
uint32_t cpu_batch_find(const cpu_state *s);
/* Whether they may: no item ends up to there, by plan.stops. */
bool cpu_batch_may_run(const cpu_state *s, uint32_t at);
/* How many groups from `g` on, where the builder stands, can form a batch. */
LLVMValueRef cpu_batch_limit(cpu_state *s, LLVMValueRef g);
/* How many of `count` members, from the first, pass the preflight (all, when it has no checks). */
LLVMValueRef cpu_batch_preflight(cpu_state *s, LLVMValueRef count, bool *out_has_checks);
/* The body for `count` > 0 groups, side by side in statement `at`; goes to `end`. */
void cpu_emit_batch(cpu_state *s, uint32_t at, LLVMValueRef count, LLVMBasicBlockRef end);

/* cpu/merge.c */
/* Whether neighbouring workgroups may run as one. */
bool cpu_merge_may(const cpu_state *s);

/* cpu/elements.c */
/* Whether the loops over items count nothing but their own numbers. */
bool cpu_is_elementwise(const cpu_state *s);

/* cpu/members.c */
/* Opens a loop over members, each made the state's group in turn; closes it. */
void cpu_members_begin(cpu_state *s, cpu_members *m, LLVMValueRef count);
void cpu_members_end(cpu_state *s, cpu_members *m);

/* cpu/regions.c */
void cpu_emit_list(cpu_state *s, const uint32_t *ids, uint32_t count);
/* The group's body from statement `from` on, up to `end`. */
void cpu_emit_body(cpu_state *s, uint32_t from, LLVMBasicBlockRef end);

/* cpu/once.c */
/* Executes the GETs of the group's variables in the statements, which are items' next. */
void cpu_once_read(cpu_state *s, const uint32_t *ids, uint32_t count);
/* A statement marked CPU_CUT_ONCE. */
void cpu_once_emit(cpu_state *s, uint32_t id);

/* cpu/exits.c */
/* True when LEAVE or NEXT in `ids`, nested ones included, go to a statement outside of them; calls
 * `found` for each. */
typedef void cpu_exit_found(cpu_state *s, uint32_t target, bool is_next, void *ud);
void cpu_find_exits(cpu_state *s, const uint32_t *ids, uint32_t count, cpu_exit_found *found,
                    void *ud);
/* Whether a LEAVE or NEXT to `target` goes to what follows the statements that end at `end`: they
 * are the last of its region. */
bool cpu_leads_behind(const cpu_state *s, uint32_t target, bool is_next, const uint32_t *end);
/* Records a divergent barrier or wave operation at instruction `id` and ends the group. */
void cpu_diverge(cpu_state *s, uint32_t id);
/* Goes to the level's end when no work-item is left. */
void cpu_end_if_all_dead(cpu_state *s);

/* cpu/preflight.c */
/* Whether all checks that can be answered for the group at once hold, i1; marks them in
 * s->is_settled.  NULL: there are none. */
LLVMValueRef cpu_preflight(cpu_state *s);
/* Whether it will answer all that can fail. */
bool cpu_preflight_settles_all(cpu_state *s);
/* As plan.stops, without what is settled. */
bool *cpu_preflight_stops(cpu_state *s);
/* Whether the kernel has one; whether that knows the interval of value `id`; whether it answers
 * check `id`, unless there are too many before. */
bool cpu_preflight_may(const cpu_state *s);
bool cpu_preflight_computes(const cpu_state *s, uint32_t id);
bool cpu_preflight_settles(const cpu_state *s, uint32_t id);
/* Whether it could answer check `id` only, or better, where the run with it begins: when variables
 * and counters of the group have the values that they have there. */
bool cpu_preflight_is_late(const cpu_state *s, uint32_t id);
/* There: whether the checks in `these` hold, i1. */
LLVMValueRef cpu_preflight_late(cpu_state *s, const bool *these);

/* Whether all divisions of which it can tell are ones for cpu_divide_common, i1; marks them in
 * s->divides_small.  NULL: there are none, or a further version of the body is not worth it. */
LLVMValueRef cpu_preflight_divisions(cpu_state *s);

/* cpu/whole.c */
/* Whether a condition is `truth` for all items of the group, i1: one that the group can compute, or
 * of which cpu_is_range says that it can be asked row by row. */
LLVMValueRef cpu_holds_for_group(cpu_state *s, uint32_t cond, bool truth);
/* Whether all items of the group come past all early returns, i1; marks these in s->is_exit.  NULL:
 * there is none of which that can be told. */
LLVMValueRef cpu_is_group_whole(cpu_state *s);

/* cpu/tuples.c */
/* Whether rows are as long as the constants that the kernel takes their elements by, i1; NULL: it
 * has none for which a further version of the body pays. */
LLVMValueRef cpu_tuples_fit(cpu_state *s);
/* Before that version and after it: the lengths of rows and these constants change places. */
void cpu_tuples_swap(cpu_state *s);

/* cpu/tallies.c */
/* Finds the arrays; false when memory is out. */
bool cpu_tallies_plan(cpu_state *s);
/* Whether an instruction is an atomic on one of them. */
bool cpu_tallies_keep(const cpu_state *s, const roc_ir_inst *inst);

/* cpu/tally_code.c */
/* Before the first group, and after the last. */
void cpu_tallies_begin(cpu_state *s);
void cpu_tallies_end(cpu_state *s);
/* Before the loop of a run, and after it. */
void cpu_tally_cells_begin(cpu_state *s, const uint32_t *ids, uint32_t count);
void cpu_tally_cells_end(cpu_state *s, const uint32_t *ids, uint32_t count);
/* In it: the variable, alloca, that an atomic changes in place of the element; NULL: there is none.
 */
LLVMValueRef cpu_tally_cell(const cpu_state *s, const roc_ir_inst *inst);
/* atomic_place of core/target.h */
LLVMValueRef cpu_tally_place(roc_cg *cg, const roc_ir_inst *inst, LLVMValueRef *out_is_on);

/* cpu/divide.c */
/* Whether an instruction is a division of integers, FLOORDIV or MOD, that is no shift. */
bool cpu_divides(const cpu_state *s, const roc_ir_inst *inst);
/* Of numbers, or vectors of them, that are below this, of either sign; by 0 gives 0. */
#define CPU_SMALL ((int64_t)1 << 51)
LLVMValueRef cpu_divide_small(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b);
/* Of numbers below this; b is positive, and the same for all items. */
#define CPU_SMALLER ((int64_t)1 << 48)
LLVMValueRef cpu_divide_common(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b);
/* Likewise, of numbers below this, where no vector is made. */
#define CPU_SMALLEST ((int64_t)1 << 30)
LLVMValueRef cpu_divide_by_product(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b);

/* cpu/inspector.c */
/* Whether nothing in the launch changes an array. */
bool cpu_is_never_written(const cpu_state *s, uint32_t array);
/* Finds what an inspector can check: s->inspection.  False when memory is out. */
bool cpu_inspect_plan(cpu_state *s);
/* Forgets it. */
void cpu_inspect_never(cpu_state *s);
/* Whether all that it checks holds whatever memory holds, by the extents alone; NULL: that is not
 * known. */
LLVMValueRef cpu_inspect_is_needless(cpu_state *s);
/* Around the code of the body that becomes the inspector, up to the block that the first gives back;
 * for a group on which the preflight's checks hold.  Goes to `clear` where its own hold, too, and to
 * `cold` otherwise.  Marks them in s->is_settled. */
LLVMBasicBlockRef cpu_inspect_begin(cpu_state *s);
void cpu_inspect_end(cpu_state *s, LLVMBasicBlockRef clear, LLVMBasicBlockRef cold);
/* While it is emitted: a check, or error(…), of an item; false for other instructions. */
bool cpu_inspect_inst(cpu_state *s, uint32_t id);
/* Makes the checks in the statements, which are items' next, that it can make for all of them. */
void cpu_inspect_run(cpu_state *s, const uint32_t *ids, uint32_t count);
/* Ends it where that is decided. */
void cpu_inspect_look(cpu_state *s);

/* cpu/prefetch.c */
/* In an iteration of FOR `id` by the level's row: asks for what a later one will read.  `count`:
 * how many rows that follow each other in memory have their turn; NULL: one. */
void cpu_prefetch(cpu_state *s, uint32_t id, LLVMValueRef step, LLVMValueRef count);
/* Whether FOR `id` reads an array as the items of a row stand, elsewhere in each iteration. */
bool cpu_is_striding_loop(const cpu_state *s, uint32_t id);

/* cpu/rows.c */
/* A statement marked CPU_CUT_ROW: for all rows of the group, or for the level's. */
void cpu_emit_rows(cpu_state *s, uint32_t id);
/* FOR `id` for `count` members of a batch, iteration by iteration. */
void cpu_emit_batch_rows(cpu_state *s, uint32_t id, LLVMValueRef count);
void cpu_emit_row_statement(cpu_state *s, uint32_t id);
/* Makes `part` the level, items of the one it is a copy of: `alive` (NULL: all) of `present`; goes
 * on where the part's items have all had their turn. */
void cpu_part_begin(cpu_state *s, cpu_level *part, LLVMValueRef present, LLVMValueRef alive);
void cpu_part_end(cpu_state *s, cpu_level *part);

/* cpu/chunk.c */
/* Whether FOR `id` is to be emitted chunk by chunk, for the level's row; does so. */
bool cpu_chunk_may(cpu_state *s, uint32_t id);
void cpu_emit_chunks(cpu_state *s, uint32_t id);
/* Whether it is to be emitted for several rows of the group at once; does so.  Of the first
 * *out_rows rows, the first *out_items items are then done. */
bool cpu_chunk_may_tile(cpu_state *s, uint32_t id);
void cpu_emit_tiles(cpu_state *s, uint32_t id, LLVMValueRef *out_rows, LLVMValueRef *out_items);

/* cpu/parts.c */
/* What a variable or value takes of an item's registers. */
uint32_t cpu_kept_bytes(roc_value_type type);
/* In how many parts FOR `id` is executed, one after the other, where a vector of what its items
 * keep takes too many of the registers; in out[n], which instructions the part leaves out.  0: as
 * a whole. */
unsigned cpu_parts_find(cpu_state *s, uint32_t id, unsigned nregisters,
                        const bool *out[CPU_MAX_PARTS]);

/* cpu/item_loops.c */
/* A counted loop: the builder is in its body, then after it. cpu_loop_end gives the branch back.
 */
void cpu_loop_begin(cpu_state *s, cpu_loop *loop, LLVMValueRef count, const char *name);
LLVMValueRef cpu_loop_end(cpu_state *s, cpu_loop *loop);
/* How many of `count` items there are at every `step`th, the first one included. */
LLVMValueRef cpu_count_steps(roc_cg *cg, LLVMValueRef count, LLVMValueRef step);
/* Opens a loop over the work-items of the level; the builder is in the item's body, guarded by the
 * live mask. */
void cpu_items_begin(cpu_state *s, cpu_run *run, bool is_parallel);
/* Closes it; the builder is after it. */
void cpu_items_end(cpu_state *s);
/* The local ids y and z of the run's item, from the number of its row. */
void cpu_place_row(cpu_state *s, cpu_run *run, LLVMValueRef row);

/* cpu/values.c */
LLVMValueRef cpu_operand(roc_cg *cg, uint32_t id);
void cpu_define(roc_cg *cg, uint32_t id, LLVMValueRef value);
bool cpu_fuses(roc_cg *cg, uint32_t product, uint32_t sum);
/* What GET `id` of a variable of the group has read. */
LLVMValueRef cpu_value_read_once(cpu_state *s, uint32_t id);
/* A division of the run's item that is marked in s->divides_small, in the version for these; NULL:
 * it is none. */
LLVMValueRef cpu_value_divided(cpu_state *s, uint32_t id);
/* A remat, uniform value outside of item loops. */
LLVMValueRef cpu_group_value(cpu_state *s, uint32_t id);
/* What a slotted variable of the run's item holds becomes `value`. */
void cpu_var_put(cpu_state *s, uint32_t var, LLVMValueRef value);
LLVMValueRef cpu_var_take(cpu_state *s, uint32_t var);
/* Between the slot of the run's item and the variable's alloca: at the begin of the item's code,
 * and at its end. */
void cpu_var_copy_in(cpu_state *s, uint32_t var);
void cpu_var_copy_out(cpu_state *s, uint32_t var);

/* cpu/items.c */
void cpu_emit_run(cpu_state *s, const uint32_t *ids, uint32_t count);
bool cpu_intercept(roc_cg *cg, uint32_t id);

/* cpu/fails.c */
/* A variable of the item's code, alloca, which begins as `initial`. */
LLVMValueRef cpu_new_item_cell(cpu_state *s, LLVMTypeRef type, LLVMValueRef initial);
void cpu_fail_hook(roc_cg *cg, uint32_t site, LLVMValueRef *values, unsigned nvalues);
/* The block where items of the cold version that failed arrive. */
void cpu_finish_fault(cpu_state *s, cpu_run *run);
/* At the latch: what the item keeps for the walk; sets bits of the i32 at `any`. */
void cpu_keep_fail(cpu_state *s, cpu_run *run, LLVMValueRef any);
/* After a run in which a check failed, as slots and the i32 at `any` tell: a second, cold walk. */
void cpu_walk_fails(cpu_state *s, const cpu_run *failed, LLVMValueRef any);

/* cpu/lanes_choose.c, cpu/lanes.c */
/* How many lanes a run gets, and whether most of what it does is 32 bits wide; 1: it is emitted as
 * a loop over items. */
unsigned cpu_lanes_choose(cpu_state *s, const uint32_t *ids, uint32_t count, bool *out_is_narrow);
/* Whether items that go different ways may be lanes of vectors, by the processor and the options. */
bool cpu_has_lanes(const roc_cg *cg);
typedef struct cpu_lanes_run {
  const uint32_t *ids;
  uint32_t count;
  unsigned nlanes;
  bool is_narrow;
  const uint32_t *vars; /* that live across runs, and are in this one */
  uint32_t nvars;
  const cpu_run_exit *exits;
  uint32_t nexits;
  LLVMValueRef any;   /* as for cpu_keep_fail */
  LLVMValueRef ndied; /* alloca i64: gets the items that end are added; NULL: need not be known */
} cpu_lanes_run;
/* Emits the run; *run is as after cpu_items_end. */
void cpu_emit_lanes(cpu_state *s, const cpu_lanes_run *r, cpu_run *run);
/* While one is emitted: the lanes that are at the builder's place, bits. */
LLVMValueRef cpu_lanes_mask(cpu_state *s);

/* cpu/split.c */
/* The guards of a run, if it has some for which it should be split; to be given back with
 * cpu_split_deinit. */
bool cpu_split_find(cpu_state *s, const uint32_t *ids, uint32_t count, cpu_split *split);
void cpu_split_deinit(cpu_split *split);
/* The range for which all of the guards hold, of `count` items from `at` on; emitted where the
 * builder stands. */
cpu_range cpu_split_range(cpu_state *s, const cpu_split *split, const cpu_place *at,
                          LLVMValueRef count);

/* Whether guards outside of which nothing happens hold for whole rows; the rows for which they do,
 * of those at z. */
bool cpu_split_has_rows(cpu_state *s, const cpu_split *split);
cpu_range cpu_split_rows(cpu_state *s, const cpu_split *split, LLVMValueRef z);

/* Whether the items of a row for which a condition holds are a range. */
bool cpu_is_range(const cpu_state *s, uint32_t cond, bool truth);
/* Whether they are every so manyth of a range, or all of it. */
bool cpu_is_regular(const cpu_state *s, uint32_t cond);
/* The range, also of such a condition. */
cpu_range cpu_range_of(cpu_state *s, uint32_t cond, bool truth, const cpu_place *at,
                       LLVMValueRef count);

/* cpu/pieces.c */
enum { CPU_MAX_PIECES = 12 };
/* In how many pieces a run is to be emitted, one after the other; in out[n], which instructions the
 * nth leaves out.  0: as a whole. */
unsigned cpu_pieces_find(cpu_state *s, const uint32_t *ids, uint32_t count,
                         const bool *out[CPU_MAX_PIECES]);

/* cpu/split.c */
/* By how much a value grows from an item of a row to the next; false: that is not known. */
bool cpu_slope(const cpu_state *s, uint32_t id, int64_t *slope);
/* Whether it is one more for each next item, and does not wrap around; is positive. */
bool cpu_grows_by_one(const cpu_state *s, uint32_t id);
bool cpu_is_positive(const cpu_state *s, uint32_t id);
/* A remat value as the item at `at` has it, outside of item loops. */
LLVMValueRef cpu_value_at(cpu_state *s, uint32_t id, const cpu_place *at);

/* cpu/look.c */
/* Weighs the kernel.  False when memory is out. */
bool cpu_look_plan(cpu_state *s);
/* At the end of an iteration of loop `id`, by `items` work-items (NULL: one): charges it. */
void cpu_look(cpu_state *s, uint32_t id, LLVMValueRef items);
/* After `taken` workgroups, before `next`. */
void cpu_look_between(cpu_state *s, LLVMValueRef next, LLVMValueRef taken);
/* The comparison that ends a loop which runs in strips; false: it is none. */
bool cpu_emit_strip_end(cpu_state *s, uint32_t id);
/* A FOR or LOOP of an item; false: it is none that looks, and nothing was emitted. */
bool cpu_emit_looked_loop(cpu_state *s, uint32_t id);

/* cpu/spans.c */
/* A FOR of an item, without checks that its bounds answer where they do; false: there are none, and
 * nothing was emitted. */
bool cpu_emit_spanned_loop(cpu_state *s, uint32_t id);

/* cpu/wave.c */
void cpu_emit_wave(cpu_state *s, uint32_t id);

/* cpu/vector_forms.c, cpu/vector_masks.c: of the optimised module */
void cpu_rewrite_vectors(roc_cg *cg);
void cpu_widen_masks(roc_cg *cg);

/* cpu/neighbours.c, cpu/strides.c: likewise.  False when memory is out. */
bool cpu_join_neighbours(roc_cg *cg);
bool cpu_part_strided(roc_cg *cg);

/* cpu/math.c */
LLVMValueRef cpu_math(roc_cg *cg, roc_ir_math which, roc_value_type type, LLVMValueRef *args);
/* After the optimiser: the functions that cpu_math's calls name. */
roc_status cpu_math_define(roc_cg *cg, roc_error *err);

#endif
