/* The rules of IR, checked. Runs after the front end and the reader; codegen relies on all of it.
 *
 * Most rules are read off the op table (operand kinds and counts, result types) and fields.h
 * (indices of variables, arrays, parameters and sites); the rest is scope: a result is used after
 * its instruction, in the same region or in nested ones, and LEAVE and NEXT name a statement around
 * them. */
#ifndef ROC_IR_VERIFY_H
#define ROC_IR_VERIFY_H

#include "ir/ir.h"

/* ROC_INTERNAL with a message such as "%7 store x: operand 1 is f32, the rule is int (kernel 'k')"
 * when a rule is broken, ROC_OOM when memory is out. */
roc_status roc_ir_verify(const roc_ir_module *module, roc_error *err);

#endif
