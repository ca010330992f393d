/* See amdgpu_target.h. */
#include "base/amdgpu_target.h"

#include <stdio.h>
#include <string.h>

/* From gfx10 on a workgroup runs in a WGP: two CUs with four SIMDs and 128 KiB together, of which
 * one workgroup gets half.  gfx90a and its successors hold vector and accumulation registers in one
 * file.  gfx1100, gfx1101, gfx1151 and gfx12 have half as many registers again. */
static const roc_gpu_chip chips[] = {
#define ROC_GPU_CHIP(name, version, wave, xnack, sramecc, lds, block_lds, simds, groups, waves, \
                     vgprs, granule, sgprs)                                                     \
  {name,  version, wave,  xnack, sramecc, lds,  block_lds,                                      \
   simds, groups,  waves, vgprs, granule, sgprs},
#include "base/amdgpu_target.def"
#undef ROC_GPU_CHIP
};
enum { NCHIPS = sizeof chips / sizeof *chips };

/* The same with wavefronts of 64 where those of 32 are the rule: such a wavefront takes the
 * registers of two.  Chips that have 64 anyway are not looked up here. */
static const roc_gpu_chip wide_chips[] = {
#define ROC_GPU_CHIP(name, version, wave, xnack, sramecc, lds, block_lds, simds, groups, waves, \
                     vgprs, granule, sgprs)                                                     \
  {name,  version, 64,    xnack,     sramecc,     lds,  block_lds,                              \
   simds, groups,  waves, vgprs / 2, granule / 2, sgprs},
#include "base/amdgpu_target.def"
#undef ROC_GPU_CHIP
};

const roc_gpu_chip *roc_gpu_chip_at(unsigned index) {
  return index < NCHIPS ? &chips[index] : NULL;
}

/* ---- target ids -------------------------------------------------------------------------- */

/* One of ":xnack+", ":sramecc-" … at *rest, which is moved past it; appends "+xnack" to
 * `features`. */
static bool take_feature(const roc_gpu_chip *chip, const char **rest, char *features) {
  static const char *const names[] = {":xnack", ":sramecc"};
  for (int i = 0; i < 2; i++) {
    size_t len = strlen(names[i]);
    bool is_known = i == 0 ? chip->has_xnack : chip->has_sramecc;
    char sign = strncmp(*rest, names[i], len) ? '\0' : (*rest)[len];
    if (!is_known || (sign != '+' && sign != '-') || strstr(features, names[i] + 1)) continue;
    size_t used = strlen(features);
    snprintf(features + used, ROC_GPU_FEATURES_BYTES - used, "%s%c%s", used ? "," : "", sign,
             names[i] + 1);
    *rest += len + 1;
    return true;
  }
  return false;
}

static const char WIDE[] = ":wavefrontsize64";

const roc_gpu_chip *roc_gpu_chip_find(const char *target_id, char *features) {
  char unused[ROC_GPU_FEATURES_BYTES];
  if (!features) features = unused;
  features[0] = '\0';
  size_t len = strcspn(target_id, ":");
  for (int i = 0; i < NCHIPS; i++) {
    if (strlen(chips[i].name) != len || strncmp(chips[i].name, target_id, len)) continue;
    const char *rest = target_id + len;
    if (chips[i].wave_size == 32 && strcmp(rest, WIDE) == 0) {
      snprintf(features, ROC_GPU_FEATURES_BYTES, "+%s", WIDE + 1);
      return &wide_chips[i];
    }
    while (*rest && take_feature(&chips[i], &rest, features)) continue;
    return *rest ? NULL : &chips[i];
  }
  return NULL;
}

/* ---- occupancy --------------------------------------------------------------------------- */

static uint32_t round_up(uint32_t n, uint32_t granule) {
  return (n + granule - 1) / granule * granule;
}

static uint32_t waves_by_vgprs(const roc_gpu_chip *chip, uint32_t vgprs) {
  return chip->simd_vgprs / round_up(vgprs ? vgprs : 1, chip->vgpr_granule);
}

static uint32_t waves_by_sgprs(const roc_gpu_chip *chip, uint32_t sgprs) {
  enum { SGPR_GRANULE = 16 };
  if (!chip->simd_sgprs) return chip->simd_waves;
  return chip->simd_sgprs / round_up(sgprs ? sgprs : 1, SGPR_GRANULE);
}

static uint32_t waves_of_group(const roc_gpu_chip *chip, const roc_gpu_use *use) {
  uint32_t items = use->workgroup ? use->workgroup : 1;
  return (items + chip->wave_size - 1) / chip->wave_size;
}

/* Wavefronts per SIMD when the block keeps `groups` workgroups; the fullest SIMD counts. */
static uint32_t waves_by_groups(const roc_gpu_chip *chip, const roc_gpu_use *use, uint32_t groups) {
  return (groups * waves_of_group(chip, use) + chip->block_simds - 1) / chip->block_simds;
}

static uint32_t waves_by_shared(const roc_gpu_chip *chip, const roc_gpu_use *use) {
  if (use->shared_bytes > chip->max_shared_bytes) return 0;
  if (!use->shared_bytes) return chip->simd_waves;
  return waves_by_groups(chip, use, chip->block_shared_bytes / use->shared_bytes);
}

/* Whole workgroups only: the wavefronts that are left over stay empty. */
static uint32_t waves_by_workgroup(const roc_gpu_chip *chip, const roc_gpu_use *use) {
  if (use->workgroup > ROC_GPU_MAX_WORKGROUP) return 0;
  uint32_t waves = waves_of_group(chip, use);
  uint32_t groups = (uint32_t)chip->simd_waves * chip->block_simds / waves;
  if (waves > 1 && groups > chip->block_workgroups) groups = chip->block_workgroups;
  return waves_by_groups(chip, use, groups);
}

roc_gpu_occupancy roc_gpu_occupancy_of(const roc_gpu_chip *chip, const roc_gpu_use *use) {
  const struct {
    roc_gpu_limit limit;
    uint32_t waves;
  } bounds[] = {
      {ROC_GPU_LIMIT_VGPRS, waves_by_vgprs(chip, use->vgprs)},
      {ROC_GPU_LIMIT_SGPRS, waves_by_sgprs(chip, use->sgprs)},
      {ROC_GPU_LIMIT_SHARED, waves_by_shared(chip, use)},
      {ROC_GPU_LIMIT_WORKGROUP, waves_by_workgroup(chip, use)},
  };
  roc_gpu_occupancy o = {chip->simd_waves, chip->simd_waves, ROC_GPU_LIMIT_WAVES};
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
    if (bounds[i].waves >= o.waves) continue;
    o.waves = bounds[i].waves;
    o.limit = bounds[i].limit;
  }
  return o;
}

uint32_t roc_gpu_choose_workgroup(const roc_gpu_chip *chip, const roc_gpu_use *use, uint32_t most) {
  static const uint32_t sizes[] = {256, 512, 128, 1024, 64};
  uint32_t best = 0, waves = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    if (sizes[i] > most) continue;
    roc_gpu_use sized = *use;
    sized.workgroup = sizes[i];
    uint32_t kept = roc_gpu_occupancy_of(chip, &sized).waves;
    if (best && kept <= waves) continue;
    best = sizes[i];
    waves = kept;
  }
  return best ? best : most;
}

const char *roc_gpu_limit_name(roc_gpu_limit limit) {
  static const char *const names[] = {"waves", "vgprs", "sgprs", "shared", "workgroup"};
  return names[limit];
}
