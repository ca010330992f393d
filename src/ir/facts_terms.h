/* What facts.c, facts_prove.c and facts_bounds.c share. */
#ifndef ROC_IR_FACTS_TERMS_H
#define ROC_IR_FACTS_TERMS_H

#include "ir/facts.h"

enum {
  ROC_IR_PROOF_DEPTH = 6,      /* relations and operations chained, of a proof or to a bound */
  ROC_IR_PROOF_RELATIONS = 64, /* tried at each step */
  ROC_IR_PROOF_STEPS = 512,    /* of one search */
  ROC_IR_RANGE_DEPTH = 4
};

/* base + offset, without wrapping. */
typedef struct roc_ir_term {
  uint32_t base;
  int64_t offset;
} roc_ir_term;

roc_ir_term roc_ir_facts_term(const roc_ir_facts *f, uint32_t id);

uint32_t roc_ir_facts_constant(roc_ir_facts *f, int64_t k);
/* Of a value and a constant. */
uint32_t roc_ir_facts_operation(roc_ir_facts *f, roc_ir_op op, uint32_t a, int64_t k);

/* Whether `v` is the operation with a constant *k as its second operand. */
bool roc_ir_facts_takes_constant(const roc_ir_facts *f, const roc_ir_value *v, roc_ir_op op,
                                 int64_t *k);

/* A search for a proof. */
typedef struct roc_ir_proof {
  const roc_ir_facts *f;
  int steps; /* left */
} roc_ir_proof;

/* a <= b + k? */
bool roc_ir_prove_le(roc_ir_proof *p, uint32_t a, uint32_t b, int64_t k, int depth);

/* facts_products.c: whether an `a` with products is no more than b + k, such a `b` no less than
 * -k. */
bool roc_ir_prove_below_product(roc_ir_proof *p, uint32_t a, uint32_t b, int64_t k, int depth);
bool roc_ir_prove_above_product(roc_ir_proof *p, uint32_t b, int64_t k, int depth);

/* An extent, or an integer argument. */
bool roc_ir_facts_is_argument(const roc_ir_facts *f, uint32_t id);

/* By the facts in force. */
roc_ir_range roc_ir_facts_range_now(const roc_ir_facts *f, uint32_t id);

/* The first of the relations that searches look at. */
static inline uint32_t roc_ir_facts_oldest(const roc_ir_facts *f) {
  uint32_t count = f->relations.count;
  return count > ROC_IR_PROOF_RELATIONS ? count - ROC_IR_PROOF_RELATIONS : 0;
}

/* Whether no sum or difference of the two wraps, as `v` is. */
bool roc_ir_facts_is_exact(const roc_ir_value *v, roc_ir_range x, roc_ir_range y);

/* States a < b or a <= b of floats, which holds of numbers alone. */
void roc_ir_facts_add_ordered(roc_ir_facts *f, uint32_t a, uint32_t b);

/* As roc_ir_facts_le_by, but what is one of two values is not proved for each. */
bool roc_ir_facts_follows(const roc_ir_facts *f, uint32_t a, uint32_t b, int64_t k);

/* An m with u // n < m, where `v` is u // n or such a shift, as u < n * m is stated or u is a
 * remainder by n * m. */
bool roc_ir_facts_quotient_is_less(const roc_ir_facts *f, const roc_ir_value *v, uint32_t *m);

#endif
