/* Hints: what is probably unintended in a kernel, found in its IR. */
#ifndef ROC_JIT_HINT_H
#define ROC_JIT_HINT_H

#include "base/str.h"
#include "ir/ir.h"

/* Adds a sentence when the kernel computes in float64 although no array argument has that type. */
void roc_jit_hint_float64(const roc_ir_module *module, roc_str *out);
/* Adds a sentence when the kernel writes and reads a shared array and has no barrier and no wave
 * operation. */
void roc_jit_hint_race(const roc_ir_module *module, roc_str *out);

#endif
