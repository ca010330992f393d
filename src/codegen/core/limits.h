/* What a kernel asks for and a GPU has not. */
#ifndef ROC_CODEGEN_CORE_LIMITS_H
#define ROC_CODEGEN_CORE_LIMITS_H

#include "codegen/core/cg.h"

/* COMPILE, with a message that names `chip`: the workgroup that the kernel promises has more than
 * `most` work-items. */
roc_status roc_cg_check_workgroup(const roc_cg *cg, uint32_t most, const char *chip,
                                  roc_error *err);
/* Likewise: its static shared arrays take more than `most` bytes. */
roc_status roc_cg_check_shared(const roc_cg *cg, uint64_t nbytes, uint32_t most, const char *chip,
                               roc_error *err);

#endif
