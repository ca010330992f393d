/* The immediate fields of each op as a table: which there are, where they are kept, how their
 * values are called.
 *
 * What printer, reader and verifier have in common, so that an op is described once.  The letters
 * of an op, in the order in which the text form has them: c payload of CONST   v variable      p
 * scalar parameter   a array        s site    l control instruction left D dimension 0 … 2    d
 * dimension of the array   m memory of a fence 1 … 3 t dtype   M math function   f float class   b
 * bit operation   o atomic operation   w wave operation */
#ifndef ROC_IR_FIELDS_H
#define ROC_IR_FIELDS_H

#include "ir/ir.h"

extern const char *const roc_ir_fields[ROC_IR_OP_COUNT_];

/* Not for 'c', whose place is the whole payload. */
int64_t roc_ir_field_get(const roc_ir_inst *inst, char field);
void roc_ir_field_set(roc_ir_inst *inst, char field, int64_t value);

/* The word for a value of a field that has words (t M f b o w); NULL beyond the last, and for other
 * fields. */
const char *roc_ir_field_word(char field, int64_t value);

/* Operands and result of a wave operation: letters of ir_ops.def, then ':' and the result's. */
extern const char *const roc_ir_wave_types[ROC_IR_WAVE_COUNT_];

/* How many values an atomic operation takes behind its indices. */
static inline uint32_t roc_ir_atomic_values(roc_ir_atomic op) {
  return op == ROC_IR_ATOMIC_LOAD ? 0 : op == ROC_IR_ATOMIC_CAS ? 2 : 1;
}

/* "bool", "int", "f32", "f64", for the text form. */
const char *roc_ir_type_word(roc_value_type type);

#endif
