/* Reads the text form of IR (print.h) back.  For specs and bug reports; any text at all is safe to
 * give. */
#ifndef ROC_IR_READ_H
#define ROC_IR_READ_H

#include "ir/ir.h"

/* On success stores a module that the caller frees; it is well-formed text only, verify it before
 * use. ROC_INVALID: the message begins "line N: "; ROC_OOM. */
roc_status roc_ir_read(const char *text, size_t len, roc_ir_module **out_module, roc_error *err);

#endif
