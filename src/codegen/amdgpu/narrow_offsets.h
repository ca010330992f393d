/* Offsets of accesses that have 64 bits but are known to fit 32. */
#ifndef ROC_CODEGEN_AMDGPU_NARROW_OFFSETS_H
#define ROC_CODEGEN_AMDGPU_NARROW_OFFSETS_H

#include "codegen/amdgpu/amdgpu.h"
#include "codegen/amdgpu/value_facts.h"

/* Makes them of 32 bits, where work-items do not share them; whether there were any. */
bool roc_amdgpu_narrow_offsets(roc_cg *cg, roc_value_facts *facts);

#endif
