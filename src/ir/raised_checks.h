/* Checks of what a variable has just been set to, made in front of that: so the variable only ever
 * holds what the check lets through, as far as the loop around it is concerned. */
#ifndef ROC_IR_RAISED_CHECKS_H
#define ROC_IR_RAISED_CHECKS_H

#include "ir/ir.h"

/* `set at = v; check.index bytes (get at)` becomes `check.index bytes v; set at = v`, where nothing
 * stands between them that can be seen. */
void roc_ir_raise_checks(roc_ir_module *module);

#endif
