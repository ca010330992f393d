/* See nvptx_target.h. */
#include "base/nvptx_target.h"

#include <stddef.h>
#include <string.h>

static const roc_nvptx_chip chips[] = {
#define ROC_NVPTX_CHIP(name, shared, sm_shared, warps, blocks, reserved, features) \
  {name, shared, sm_shared, warps, blocks, reserved, features},
#include "base/nvptx_target.def"
#undef ROC_NVPTX_CHIP
};
enum { NCHIPS = sizeof chips / sizeof *chips };

const roc_nvptx_chip *roc_nvptx_chip_at(unsigned index) {
  return index < NCHIPS ? &chips[index] : NULL;
}

const roc_nvptx_chip *roc_nvptx_chip_find(const char *name) {
  for (unsigned i = 0; i < NCHIPS; i++) {
    if (strcmp(chips[i].name, name) == 0) return &chips[i];
  }
  return NULL;
}

/* ---- occupancy --------------------------------------------------------------------------- */

/* The same in all of them. */
enum { SM_REGISTERS = 65536, WARP_GRANULE = 256, SHARED_GRANULE = 128, PARTS = 4 };

static uint32_t round_up(uint32_t n, uint32_t granule) {
  return (n + granule - 1) / granule * granule;
}

static uint32_t warps_of_group(const roc_nvptx_use *use) {
  return round_up(use->workgroup ? use->workgroup : 1, ROC_NVPTX_WARP) / ROC_NVPTX_WARP;
}

/* A warp's registers are those of one of the four parts of a multiprocessor. */
static uint32_t groups_by_registers(const roc_nvptx_chip *chip, const roc_nvptx_use *use) {
  if (!use->registers) return chip->sm_workgroups;
  uint32_t of_warp = round_up(use->registers * ROC_NVPTX_WARP, WARP_GRANULE);
  return ROC_NVPTX_SM_REGISTERS / PARTS / of_warp * PARTS / warps_of_group(use);
}

static uint32_t groups_by_shared(const roc_nvptx_chip *chip, const roc_nvptx_use *use) {
  uint32_t nbytes = round_up(use->shared_bytes + chip->reserved_bytes, SHARED_GRANULE);
  if (use->shared_bytes > chip->max_shared_bytes) return 0;
  return nbytes ? chip->sm_shared_bytes / nbytes : chip->sm_workgroups;
}

static uint32_t groups_by_size(const roc_nvptx_chip *chip, const roc_nvptx_use *use) {
  if (use->workgroup > ROC_NVPTX_MAX_WORKGROUP) return 0;
  uint32_t groups = chip->sm_warps / warps_of_group(use);
  return groups < chip->sm_workgroups ? groups : chip->sm_workgroups;
}

roc_nvptx_occupancy roc_nvptx_occupancy_of(const roc_nvptx_chip *chip, const roc_nvptx_use *use) {
  const struct {
    roc_nvptx_limit limit;
    uint32_t groups;
  } bounds[] = {
      {ROC_NVPTX_LIMIT_REGISTERS, groups_by_registers(chip, use)},
      {ROC_NVPTX_LIMIT_SHARED, groups_by_shared(chip, use)},
      {ROC_NVPTX_LIMIT_WORKGROUP, groups_by_size(chip, use)},
  };
  roc_nvptx_occupancy o = {chip->sm_warps, ROC_NVPTX_LIMIT_WAVES};
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
    uint32_t warps = bounds[i].groups * warps_of_group(use);
    if (warps >= o.warps) continue;
    o.warps = warps;
    o.limit = bounds[i].limit;
  }
  return o;
}

uint32_t roc_nvptx_choose_workgroup(const roc_nvptx_chip *chip, const roc_nvptx_use *use,
                                    uint32_t most) {
  static const uint32_t sizes[] = {256, 512, 128, 1024, 64};
  uint32_t best = 0, warps = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    if (sizes[i] > most) continue;
    roc_nvptx_use sized = *use;
    sized.workgroup = sizes[i];
    uint32_t kept = roc_nvptx_occupancy_of(chip, &sized).warps;
    if (best && kept <= warps) continue;
    best = sizes[i];
    warps = kept;
  }
  return best ? best : most;
}
