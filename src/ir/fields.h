/* The immediate fields of an instruction: where each is kept, and the words for its values.
 *
 * What printer, reader and verifier have in common.  Which fields an operation has is stated in
 * ir_ops.def, by letters; an operation is described there alone. */
#ifndef ROC_IR_FIELDS_H
#define ROC_IR_FIELDS_H

#include "ir/ir.h"

/* Not for 'c', whose place is the whole payload. */
int64_t roc_ir_field_get(const roc_ir_inst *inst, char field);
void roc_ir_field_set(roc_ir_inst *inst, char field, int64_t value);

/* The word for a value of a field that has words (t M f b o w); NULL beyond the last, and for other
 * fields. */
const char *roc_ir_field_word(char field, int64_t value);

/* Operands and result of a wave operation: letters of ir_ops.def, then ':' and the result's. */
extern const char *const roc_ir_wave_types[ROC_IR_WAVE_COUNT_];

/* How many values an atomic operation takes after its indices. */
static inline uint32_t roc_ir_atomic_values(roc_ir_atomic op) {
  return op == ROC_IR_ATOMIC_LOAD ? 0 : op == ROC_IR_ATOMIC_CAS ? 2 : 1;
}

/* "bool", "int", "f32", "f64", for the text form. */
const char *roc_ir_type_word(roc_value_type type);

#endif
