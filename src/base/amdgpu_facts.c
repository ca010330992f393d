/* Facts of the family "amdgpu", from the table of chips (base/amdgpu_target.h) and from what a code
 * object says of its kernels (base/amdgpu_hsaco.h). */
#include <string.h>

#include "base/amdgpu_hsaco.h"
#include "base/amdgpu_module.h"
#include "base/amdgpu_target.h"
#include "base/target.h"

_Static_assert(ROC_GPU_MAX_WORKGROUP <= (int)ROC_SIMT_MAX_WORKGROUP, "proofs rely on it");

static bool accepts(const char *name) {
  return roc_gpu_chip_find(name, NULL) != NULL;
}

/* A feature that the target names is the device's; one that it leaves out may be either. */
static bool serves(const char *target, const char *arch) {
  size_t len = strcspn(target, ":");
  if (strncmp(target, arch, len) != 0 || (arch[len] != ':' && arch[len] != '\0')) return false;
  for (const char *at = target + len; *at == ':';) {
    size_t feature = 1 + strcspn(at + 1, ":");
    const char *found = arch + len;
    while (*found && (strncmp(found, at, feature) || (found[feature] && found[feature] != ':'))) {
      found += 1 + strcspn(found + 1, ":");
    }
    if (!*found) return false;
    at += feature;
  }
  return true;
}

static const char *name_at(unsigned index) {
  const roc_gpu_chip *chip = roc_gpu_chip_at(index);
  return chip ? chip->name : NULL;
}

/* ---- resources --------------------------------------------------------------------------- */

static const roc_target_label numbers[] = {
    {"vgprs", "VGPRs"},
    {"agprs", "AGPRs"},
    {"sgprs", "SGPRs"},
    {"shared_bytes", "shared"},
    {"private_bytes", "private"},
    {"spills", "spills"},
    {"max_workgroup", "workgroup"},
    {"vgpr_spills", NULL},
    {"sgpr_spills", NULL},
    {"kernarg_bytes", NULL},
    {"wavefront_size", NULL},
};

static const roc_target_label limits[] = {
    [ROC_GPU_LIMIT_WAVES] = {"waves", "as many as it holds"},
    [ROC_GPU_LIMIT_VGPRS] = {"vgprs", "limited by VGPRs"},
    [ROC_GPU_LIMIT_SGPRS] = {"sgprs", "limited by SGPRs"},
    [ROC_GPU_LIMIT_SHARED] = {"shared", "limited by shared memory"},
    [ROC_GPU_LIMIT_WORKGROUP] = {"workgroup", "limited by the workgroup's size"},
};

static void fill_numbers(const roc_hsaco_kernel *k, uint64_t *out) {
  const uint64_t values[] = {
      k->vgprs,         k->agprs,         k->sgprs,
      k->shared_bytes,  k->private_bytes, (uint64_t)k->vgpr_spills + k->sgpr_spills,
      k->max_workgroup, k->vgpr_spills,   k->sgpr_spills,
      k->kernarg_bytes, k->wave_size,
  };
  _Static_assert(sizeof values / sizeof *values == sizeof numbers / sizeof *numbers,
                 "a label each");
  _Static_assert(sizeof numbers / sizeof *numbers <= ROC_TARGET_MAX_NUMBERS, "");
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) out[i] = values[i];
}

static roc_status resources(const roc_codeobj *object, uint32_t workgroup,
                            roc_target_resources *out, roc_error *err) {
  enum { DEFAULT_WORKGROUP = 256 };
  roc_hsaco_kernel k;
  ROC_TRY(roc_hsaco_read_kernel(object->bytes, object->nbytes, object->entry, &k, err));
  uint32_t items = workgroup ? workgroup : DEFAULT_WORKGROUP;
  if (!workgroup && items > k.max_workgroup) items = k.max_workgroup;
  if (items > k.max_workgroup) {
    return roc_fail(err, ROC_INVALID,
                    "a workgroup of %u work-items is larger than the %u of this kernel on %s",
                    workgroup, k.max_workgroup, object->target);
  }
  const roc_gpu_use use = {k.vgprs, k.sgprs, k.shared_bytes, items};
  roc_gpu_occupancy o = roc_gpu_occupancy_of(roc_gpu_chip_find(object->target, NULL), &use);
  *out = (roc_target_resources){
      .workgroup = items, .waves = o.waves, .max_waves = o.max, .limit = o.limit};
  fill_numbers(&k, out->numbers);
  return ROC_OK;
}

/* ---- the workgroup of a launch ----------------------------------------------------------- */

static bool read_footprint(const roc_codeobj *object, roc_target_footprint *out) {
  roc_hsaco_kernel k;
  if (roc_hsaco_read_kernel(object->bytes, object->nbytes, object->entry, &k, NULL)) return false;
  *out = (roc_target_footprint){.model = roc_gpu_chip_find(object->target, NULL),
                                .vector_registers = k.vgprs,
                                .scalar_registers = k.sgprs,
                                .shared_bytes = k.shared_bytes};
  return true;
}

static uint32_t pick_workgroup(const roc_target_footprint *footprint, uint32_t most) {
  const roc_gpu_use use = {footprint->vector_registers, footprint->scalar_registers,
                           footprint->shared_bytes, 0};
  return roc_gpu_choose_workgroup(footprint->model, &use, most);
}

static const char *const section_directives[] = {"\t.amdgpu_metadata", "\t.amdgcn_target", NULL};

const roc_target_facts roc_target_facts_amdgpu = {
    .family = "amdgpu",
    .accepts = accepts,
    .serves = serves,
    .name_at = name_at,
    .name_note =
        "those of gfx9 also with :xnack+, :sramecc- and the like after the name, the others with "
        ":wavefrontsize64",
    .is_simt = true,
    .defers_checks = true,
    .combines_checks = true,
    .unrolls_loops = true,
    .reads_workgroup_size = true,
    .is_image = true,
    .object_ending = ".hsaco",
    .section_directives = section_directives,
    .numbers = numbers,
    .nnumbers = sizeof numbers / sizeof *numbers,
    .limits = limits,
    .nlimits = sizeof limits / sizeof *limits,
    .occupancy_title = "waves per SIMD",
    .resources = resources,
    .read_footprint = read_footprint,
    .pick_workgroup = pick_workgroup,
    .read_module = roc_amdgpu_read_module,
};
