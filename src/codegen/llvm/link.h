/* Linking a relocatable object to the shared object that a GPU runtime loads, in this
 * process, with lld. */
#ifndef ROC_CODEGEN_LLVM_LINK_H
#define ROC_CODEGEN_LLVM_LINK_H

#include <stddef.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Stores the linked bytes, to be freed with roc_free. Any thread that has a share (llvm_lock.h);
 * gives that up while lld runs, which has the lock exclusively. Signal handlers are as before
 * afterwards, and nothing is printed. COMPILE: lld refused (an undefined symbol), the message has
 * its text. OOM. IO: no memory file can be made or filled (descriptors, a limit of file sizes). */
roc_status roc_link_elf(const unsigned char *object, size_t nbytes, unsigned char **out_bytes,
                        size_t *out_nbytes, roc_error *err);

/* Says that lld will never return from the run it is in: every later link fails. */
void roc_link_give_up(void);

#ifdef __cplusplus
}
#endif

#endif
