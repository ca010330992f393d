/* The text form of IR, for dumps, golden specs and bug reports; read.h reads it back without loss
 * (but for instructions in no region).  One statement a line:
 *
 *   kernel saxpy(n.0: int narrow, x.1: float32[1] c read, y.2: float32[1] c read written) check
 *     array x.0 = param x.1
 *     array tile.1: float32[16,16] shared
 *     var i.0: int
 *     site 0 index "saxpy.lua" 3 5 dim 0 values 2 name "x"
 *     %0: int = global_id 0 !"saxpy.lua" 3:5
 *     set i.0 %0
 *     if %3
 *       check.index x.0 0 #0 %0
 *     else
 *     end
 *     %7 = loop
 *       leave %7
 *     end
 *   end
 *
 * A reference is a name (an identifier, a quoted string or nothing), a dot and the number that
 * counts.  `!` states the place of an instruction where the one printed before had another.
 * Comments run from `;` to the end of the line. */
#ifndef ROC_IR_PRINT_H
#define ROC_IR_PRINT_H

#include "ir/ir.h"

/* A word to put after an instruction as a comment, or NULL; for analyses that show their
 * results. */
typedef const char *(*roc_ir_note)(void *ud, uint32_t inst);

/* Adds the text of a verified module to *out, whose `failed` tells of memory that ran out.  `note`
 * may be NULL. */
void roc_ir_print(const roc_ir_module *module, roc_ir_note note, void *ud, roc_str *out);

/* Adds `text` in quotes, with escapes. */
void roc_ir_print_quoted(roc_str *out, const char *text);

#endif
