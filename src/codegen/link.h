/* Linking a relocatable AMDGPU object to the shared object that a GPU runtime loads, in this
 * process, with lld. */
#ifndef ROC_CODEGEN_LINK_H
#define ROC_CODEGEN_LINK_H

#include <stddef.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Stores the linked bytes, to be freed with roc_free.  Any thread; links run one after the other.
 * Signal handlers are as before afterwards, and nothing is printed.
 * COMPILE: lld refused (an undefined symbol), the message has its text.  IO: no temporary file can
 * be made, in /dev/shm, $TMPDIR or /tmp. */
roc_status roc_link_elf(const unsigned char *object, size_t nbytes, unsigned char **out_bytes,
                        size_t *out_nbytes, roc_error *err);

/* Sets LLVM's global options as our code needs them.  Linking resets all of them, and then sets
 * these again. */
void roc_cg_set_llvm_options(void);

#ifdef __cplusplus
}
#endif

#endif
