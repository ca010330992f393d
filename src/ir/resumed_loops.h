/* Loops whose checks can be neither decided in front nor deferred, because the loop stores or has
 * no count, for targets where a check costs a branch of its own and each exit of a loop masks of
 * lanes.
 *
 * Checks that stand in front of all that a round does are made by the wavefront as a whole, also
 * those that its first condition guards.  Where one does not hold for some item, all its items leave
 * out the rest of the round, and the loop as it was goes on from that round: it makes each check,
 * and reports in the order of the text.  A variable notes it, and whether an item has left between
 * checks, and the loop ends by one branch, at the end of a round: of each exit LLVM would note in
 * every round which items took it.  Where all items make the same rounds and leave together an exit
 * is a mere branch, and stays where it is. */
#ifndef ROC_IR_RESUMED_LOOPS_H
#define ROC_IR_RESUMED_LOOPS_H

#include "ir/ir.h"

/* Changes innermost loops of the region of a verified module, and of those nested in it, that are
 * `op`, FOR or LOOP, but for those in `left`, to which it adds the loops as they were. OOM leaves
 * it unusable. */
roc_status roc_ir_resume_loops(roc_ir_module *module, uint32_t region, roc_ir_op op,
                               roc_ir_ids *left, roc_error *err);

#endif
