/* The walk that check_elimination.c is made of, and what its parts share.  One walk in execution
 * order keeps, for each variable, the number of the value it holds, and the facts in force
 * (facts.h).  Where paths meet, variables they disagree on get new numbers and facts of one path
 * are dropped. */
#ifndef ROC_IR_CHECK_WALK_H
#define ROC_IR_CHECK_WALK_H

#include "ir/check_elimination.h"
#include "ir/facts.h"
#include "ir/value_widths.h"

typedef struct roc_ir_var_change {
  uint32_t var, before;
} roc_ir_var_change;

/* What a part of the walk did to a variable. */
typedef struct roc_ir_outcome {
  uint32_t var, before, after;
} roc_ir_outcome;

typedef roc_vec(roc_ir_outcome) roc_ir_outcomes;

/* What holds whenever a round of a loop begins, of integers that the loop assigns: a + less <= b,
 * where either is what the variable holds, or held in front of the loop; or b is a value of there. */
typedef struct roc_ir_invariant {
  uint32_t loop;  /* its instruction */
  uint32_t a, b;  /* variables */
  uint32_t value; /* b's instruction; NONE: it is a variable's */
  int64_t less;
  bool is_a_before, is_b_before;
  bool holds;                  /* not found wrong, so far */
  bool holds_after;            /* where the loop has been left, too */
  uint32_t before_a, before_b; /* numbers of what they held in front, of this walk */
} roc_ir_invariant;

/* Where a value comes from that its number does not tell: an instruction, of a variable the control
 * instruction after or in which nothing is known of it; and the variable.  ROC_IR_NONE: unknown. */
typedef struct roc_ir_origin {
  uint32_t inst, var;
} roc_ir_origin;

/* What may be added to a variable in all (counted_sums.c). */
typedef struct roc_ir_sum {
  uint32_t var;
  int64_t low, high; /* low <= 0 <= high */
} roc_ir_sum;

/* A loop whose rounds are walked one by one (loop_rounds.c). */
typedef struct roc_ir_rounds {
  uint32_t loop;
  uint32_t nundecided;          /* paths around the loop that may not be taken */
  bool ends;                    /* the round ends here for all that came to its begin */
  bool is_left;                 /* and the loop, too */
  bool is_left_before;          /* some may have left it elsewhere */
  bool is_uncounted;            /* some may have gone on elsewhere */
  bool decides;                 /* constants have decided a path in this round */
  struct roc_ir_rounds *around; /* NULL: none */
} roc_ir_rounds;

/* A check of which nothing is believed. */
typedef struct roc_ir_ignored_check {
  uint32_t check, index; /* the number of what it checks */
  uint32_t mark;         /* a number of its own, no more than `index` where the check is in force */
} roc_ir_ignored_check;

typedef struct roc_ir_check_walk {
  roc_ir_module *m;
  roc_ir_facts f;
  uint32_t *values;                 /* per instruction: number of its result */
  uint32_t *vars;                   /* per variable: number of what it holds */
  roc_vec(roc_ir_var_change) trail; /* assignments since the beginning, to take back */
  uint32_t *stamps;                 /* per variable: the last tick that met it */
  uint32_t *slots;                  /* per variable: where, as that tick says */
  uint32_t tick;
  uint32_t one;             /* number of the integer 1 */
  roc_ir_range *held;       /* per variable: what it holds, wherever control comes from */
  roc_ir_range *assigned;   /* per variable, while `held` is found: what it is set to */
  roc_vec(roc_ir_sum) sums; /* while `held` is found: in the walk so far */
  int64_t times;            /* at most, that a work-item comes here; 0: that is not known */
  uint32_t counter;         /* an index whose checks bound it and the rounds; NONE: there is none */
  roc_vec(roc_ir_invariant) invariants;
  bool finds_invariants; /* what is found wrong is marked */
  uint32_t nwrong;       /* that were marked in this walk */
  /* What the last walk does, each if it is not NULL or false. */
  bool is_last;
  bool removes;                        /* proved checks */
  roc_ir_preconditions *preconditions; /* what roc_ir_find_preconditions wants */
  bool defers;                         /* as it says */
  uint8_t *narrow, *narrow_vars;       /* what roc_ir_find_narrow wants */
  const roc_ir_widths *widths;         /* what roc_ir_find_widths wants */
  uint8_t *wanted;                     /* per instruction, for that: what uses want (saturated.c) */
  roc_ir_unproved *unproved;           /* what roc_ir_find_unproved wants */
  roc_vec(roc_ir_ignored_check) ignored_checks; /* for that: those that the last walk has met */
  roc_ir_check_reasons *reasons;                /* what roc_ir_explain_checks wants */
  roc_vec(roc_ir_origin) origins;               /* per value, for `reasons` */
  roc_ir_rounds *rounds;  /* of the innermost loop that is walked so; NULL: none */
  uint8_t *of_rounds;     /* per instruction: what such walks found of a check */
  uint32_t nundecided;    /* paths around this point that may not be taken, in such a walk */
  uint32_t nsteps;        /* left for such walks */
  bool is_dead;           /* control does not come here, in such a walk */
  bool gives_up;          /* no steps are left */
  const uint8_t *ignored; /* its index checks of which nothing is believed, in all walks */
  bool failed;
} roc_ir_check_walk;

/* The number of the value of operand `n`. */
static inline uint32_t roc_ir_check_walk_operand(const roc_ir_check_walk *w,
                                                 const roc_ir_inst *inst, uint32_t n) {
  return w->values[roc_ir_arg(w->m, inst, n)];
}

/* check_walk.c: walks the module once, by what `held` says; false: memory is out. */
bool roc_ir_check_walk_run(roc_ir_check_walk *w, const roc_ir_launch_limits *limits);
/* Walks a region; one instruction, true when it is to go; assigns to a variable; gives every
 * variable that the control instruction's region assigns a new number; and takes assignments back
 * to what there was when the trail was `begin` long, and tells what they came to. */
void roc_ir_check_walk_region(roc_ir_check_walk *w, uint32_t region);
bool roc_ir_check_walk_inst(roc_ir_check_walk *w, uint32_t id);
void roc_ir_check_walk_assign(roc_ir_check_walk *w, uint32_t var, uint32_t value);
void roc_ir_check_walk_forget(roc_ir_check_walk *w, uint32_t id);
void roc_ir_check_walk_take_back(roc_ir_check_walk *w, uint32_t begin, roc_ir_outcomes *out);

/* loop_rounds.c: walks the loop `id` round by round, if constants count its rounds, and takes that
 * back; *left: what variables hold after it, where that is constant. */
void roc_ir_walk_outermost_rounds(roc_ir_check_walk *w, uint32_t id, roc_ir_outcomes *left);
/* The same of a loop in such a round, which stays walked; false: it is not counted so. */
bool roc_ir_walk_inner_rounds(roc_ir_check_walk *w, uint32_t id);
/* A region in such a round. */
void roc_ir_walk_in_rounds(roc_ir_check_walk *w, uint32_t region);
/* Whether each round proves the check. */
bool roc_ir_is_proved_in_rounds(const roc_ir_check_walk *w, uint32_t id);

/* preconditions.c: adds what would prove 1 <= index, true, or false where nothing would; and index
 * <= extent of the check `inst`. */
bool roc_ir_precondition_lower(roc_ir_check_walk *w, uint32_t index);
void roc_ir_precondition_upper(roc_ir_check_walk *w, const roc_ir_inst *inst, uint32_t index);
/* Of a division by the value: adds that it is at least 1, where the launch decides that. */
void roc_ir_precondition_nonzero(roc_ir_check_walk *w, uint32_t value);
/* Of `x & (#table - 1)`: adds that the table is not empty, without which the mask says nothing. */
void roc_ir_precondition_mask(roc_ir_check_walk *w, const roc_ir_inst *inst);

/* check_reasons.c: what the last walk tells it, where `reasons` are wanted: a value was made; a check
 * of the index, the divisor or the float that is the operand of the instruction `id` is not
 * proved, the index's 1 <= index is or is not. */
void roc_ir_note_origin(roc_ir_check_walk *w, uint32_t value, uint32_t inst, uint32_t var);
void roc_ir_explain_index(roc_ir_check_walk *w, uint32_t id, bool is_low);
void roc_ir_explain_nonzero(roc_ir_check_walk *w, uint32_t id);
void roc_ir_explain_int(roc_ir_check_walk *w, uint32_t id);

/* narrow_values.c: the set of roc_ir_narrow of an instruction with the number `value`, of a FOR, and of
 * a variable. */
uint8_t roc_ir_narrow_of(roc_ir_check_walk *w, const roc_ir_inst *inst, uint32_t value);
uint8_t roc_ir_narrow_of_for(roc_ir_check_walk *w, const roc_ir_inst *inst);
uint8_t roc_ir_narrow_of_var(roc_ir_range held);

/* value_widths.c: the widths of an instruction and of a variable, by their ranges alone; and those
 * become what roc_ir_find_widths says. */
uint8_t roc_ir_width_of(roc_ir_check_walk *w, const roc_ir_inst *inst, uint32_t value);
uint8_t roc_ir_width_of_var(roc_ir_range held);
roc_status roc_ir_settle_widths(const roc_ir_module *module, const roc_ir_widths *widths,
                                roc_error *err);

/* saturated.c: begins to look at the uses of integers, is told of the instruction `id` before it is
 * walked, and adds ROC_IR_SATURATES to `narrow`; false: memory is out. */
bool roc_ir_open_uses(roc_ir_check_walk *w);
void roc_ir_note_uses(roc_ir_check_walk *w, uint32_t id);
bool roc_ir_find_saturated(roc_ir_check_walk *w);

/* loop_invariants.c.  What the walk tells it: a loop begins, its body begins, it goes on to its next
 * round or is left here, it has been left. */
void roc_ir_invariants_enter(roc_ir_check_walk *w, uint32_t loop);
void roc_ir_invariants_assume(roc_ir_check_walk *w, uint32_t loop);
void roc_ir_invariants_round(roc_ir_check_walk *w, uint32_t loop);
void roc_ir_invariants_leave(roc_ir_check_walk *w, uint32_t loop);
void roc_ir_invariants_assume_after(roc_ir_check_walk *w, uint32_t loop);
/* Fills `invariants` with some that might hold; how many. */
bool roc_ir_invariants_guess(roc_ir_check_walk *w);

/* counted_sums.c, while `held` is found: a loop is entered, result: `times` in front of it, to be set
 * again after it; true when what the SET assigns was noted as a sum; of two paths one has been
 * taken, whose sums begin at `begin` and `middle`; at the end adds all to `assigned`. */
int64_t roc_ir_sums_enter(roc_ir_check_walk *w, uint32_t loop);
bool roc_ir_sums_note(roc_ir_check_walk *w, const roc_ir_inst *set);
void roc_ir_sums_join(roc_ir_check_walk *w, uint32_t begin, uint32_t middle);
void roc_ir_sums_close(roc_ir_check_walk *w);

/* held_values.c: finds the invariants that hold, and then what it says of variables; false: memory
 * is out. */
bool roc_ir_find_invariants(roc_ir_check_walk *w, const roc_ir_launch_limits *limits);

/* held_values.c: fills `held`; false: memory is out. */
bool roc_ir_find_held(roc_ir_check_walk *w, const roc_ir_launch_limits *limits);

#endif
