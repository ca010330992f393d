/* Work-items whose check fails inside a loop with barriers, for targets where a loop that a part of
 * the wavefront leaves early costs masks in every round.
 *
 * Such an item goes on with the rounds, but does nothing in them: what lies between two barriers
 * becomes a BLOCK that it leaves at once, and after the loop it ends.  What steers the loop and its
 * barriers stays outside of these blocks, and has to be the same for the whole workgroup; so the item
 * takes the same way as the others, which see what they saw before: it writes nothing more.  What is
 * reported stays, too.  A wavefront whose items have all failed ends with its next round.
 *
 *   dead = 0
 *   loop
 *     if dead ~= 0 in all of the wavefront then return
 *     …
 *     barrier
 *     block  if dead ~= 0 then leave it; …; if not 0 < i <= n then fault, dead = …, leave it; …
 *   if dead ~= 0 then return */
#ifndef ROC_IR_LATE_EXITS_H
#define ROC_IR_LATE_EXITS_H

#include "base/vec.h"
#include "ir/ir.h"

typedef struct roc_ir_late_block {
  uint32_t block, dead; /* the BLOCK, and the variable of its loop */
} roc_ir_late_block;

typedef roc_vec(roc_ir_late_block) roc_ir_late_blocks;

/* Makes the blocks in the outermost loops with barriers of a region, and appends them to *out; their
 * checks stay as they are, and may be combined (combined_checks.h). Changes a verified module; OOM
 * leaves it unusable. */
roc_status roc_ir_delay_exits(roc_ir_module *module, uint32_t region, roc_ir_late_blocks *out,
                              roc_error *err);
/* Then the checks in these blocks become what is said above. */
roc_status roc_ir_lower_late_checks(roc_ir_module *module, const roc_ir_late_blocks *blocks,
                                    roc_error *err);

#endif
