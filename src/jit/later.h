/* Code that is generated while its caller goes on: each on a thread of its own, a few at a time. */
#ifndef ROC_JIT_LATER_H
#define ROC_JIT_LATER_H

#include "backend/backend.h"
#include "base/codeobj.h"
#include "jit/program.h"

typedef struct roc_jit_later roc_jit_later;

/* Whether there is a thread for more work, as far as that is known. */
bool roc_jit_later_has_room(void);
/* Begins to build the module (jit/cache.h), which it takes over in any case; `options` are copied, and
 * no interrupt ends the work.  NULL: it has not begun, as there is no thread for it. */
roc_jit_later *roc_jit_later_begin(roc_ir_module *module, const roc_cg_options *options);
bool roc_jit_later_is_done(const roc_jit_later *later);
/* The object of work that is done; or why there is none. */
roc_status roc_jit_later_take(roc_jit_later *later, roc_codeobj **out_object, roc_error *err);
/* Never waits.  Takes over the program that the module was made of, in which its names lie: it is
 * freed when the work no longer needs it.  Either may be NULL. */
void roc_jit_later_free(roc_jit_later *later, roc_jit_program *program);

#endif
