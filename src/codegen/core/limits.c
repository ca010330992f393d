/* See limits.h. */
#include "codegen/core/limits.h"

#include <inttypes.h>

roc_status roc_cg_check_workgroup(const roc_cg *cg, uint32_t most, const char *chip,
                                  roc_error *err) {
  const uint32_t *size = cg->ir->workgroup;
  uint64_t items = 1;
  for (int d = 0; d < 3; d++) {
    if (size[d]) items = items * size[d] > UINT32_MAX ? UINT32_MAX : items * size[d];
  }
  if (items <= most) return ROC_OK;
  return roc_fail(err, ROC_COMPILE,
                  "kernel '%s': a workgroup of %u x %u x %u work-items is larger than the %u of %s",
                  cg->ir->name, size[0], size[1] ? size[1] : 1, size[2] ? size[2] : 1, most, chip);
}

roc_status roc_cg_check_shared(const roc_cg *cg, uint64_t nbytes, uint32_t most, const char *chip,
                               roc_error *err) {
  if (nbytes <= most) return ROC_OK;
  return roc_fail(err, ROC_COMPILE,
                  "kernel '%s': its shared arrays take %" PRIu64 " bytes; a workgroup of %s has %u",
                  cg->ir->name, nbytes, chip, most);
}
