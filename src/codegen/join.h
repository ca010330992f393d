/* Several kernels for one target in one code object. */
#ifndef ROC_CODEGEN_JOIN_H
#define ROC_CODEGEN_JOIN_H

#include "backend/backend.h"

/* As in roc_codegen_api. */
roc_status roc_cg_join(const roc_cg_part *parts, uint32_t nparts, const roc_cg_options *options,
                       void (*sink)(void *ud, const char *bytes, size_t len), void *ud,
                       roc_error *err);

#endif
