/* Which variables may be read before they are set again, at the places where work-items wait for
 * others that go another way: after a statement, in front of a loop's next iteration, and in front
 * of an IF's second region. */
#ifndef ROC_IR_LIVE_H
#define ROC_IR_LIVE_H

#include "base/arena.h"
#include "ir/ir.h"

typedef struct roc_ir_live {
  uint32_t nwords;          /* of a set of variables; 0: nothing is known, all count as read */
  uint32_t *places;         /* per instruction with regions: which set is its own */
  uint64_t *after, *inside; /* sets, one after the other */
} roc_ir_live;

/* Everything lies in the arena; false when memory is out. */
bool roc_ir_live_make(const roc_ir_module *module, roc_arena *arena, roc_ir_live *out);

bool roc_ir_is_live_after(const roc_ir_live *live, uint32_t statement, uint32_t var);
/* LOOP and FOR: when an iteration begins; IF: when region[1] does. */
bool roc_ir_is_live_inside(const roc_ir_live *live, uint32_t statement, uint32_t var);

#endif
