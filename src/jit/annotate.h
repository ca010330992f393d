/* Annotated assembly: the Lua source line before the instructions generated from it. */
#ifndef ROC_JIT_ANNOTATE_H
#define ROC_JIT_ANNOTATE_H

#include "base/target.h"
#include "jit/program.h"

/* Adds LLVM's assembly text to *out: each line directive becomes a comment, such as
 * "; saxpy.lua:5: text", and directives for debuggers are left out. `facts`: of the text's target, or NULL. */
void roc_jit_annotate(const roc_jit_program *program, const roc_target_facts *facts,
                      const char *text, size_t len, roc_str *out);

#endif
