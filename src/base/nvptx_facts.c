/* Facts of the family "nvptx", from the table of chips (base/nvptx_target.h) and from what the text
 * of a code object says of its kernel (base/nvptx_ptx.h). */
#include "base/nvptx_abi.h"
#include "base/nvptx_module.h"
#include "base/nvptx_programs.h"
#include "base/nvptx_ptx.h"
#include "base/nvptx_target.h"
#include "base/target.h"

_Static_assert(ROC_NVPTX_MAX_WORKGROUP <= (int)ROC_SIMT_MAX_WORKGROUP, "proofs rely on it");

static bool accepts(const char *name) {
  return roc_nvptx_chip_find(name) != NULL;
}

static const char *name_at(unsigned index) {
  const roc_nvptx_chip *chip = roc_nvptx_chip_at(index);
  return chip ? chip->name : NULL;
}

/* ---- resources --------------------------------------------------------------------------- */

static const roc_target_label numbers[] = {
    {"registers", "registers"}, {"shared_bytes", "shared"},     {"private_bytes", "private"},
    {"spills", "spills"},       {"max_workgroup", "workgroup"}, {"kernarg_bytes", NULL},
    {"wavefront_size", NULL},
};

static const roc_target_label limits[] = {
    [ROC_NVPTX_LIMIT_WAVES] = {"waves", "as many as it holds"},
    [ROC_NVPTX_LIMIT_REGISTERS] = {"registers", "limited by registers"},
    [ROC_NVPTX_LIMIT_SHARED] = {"shared", "limited by shared memory"},
    [ROC_NVPTX_LIMIT_WORKGROUP] = {"workgroup", "limited by the workgroup's size"},
};

static void fill_numbers(const roc_codeobj *object, const roc_ptx_kernel *k, uint64_t *out) {
  const uint64_t values[] = {
      k->registers,   object->shared_bytes, k->private_bytes,
      k->spills,      k->max_workgroup,     object->kernarg_bytes + sizeof(roc_nvptx_hidden),
      ROC_NVPTX_WARP,
  };
  _Static_assert(sizeof values / sizeof *values == sizeof numbers / sizeof *numbers,
                 "a label each");
  _Static_assert(sizeof numbers / sizeof *numbers <= ROC_TARGET_MAX_NUMBERS, "");
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) out[i] = values[i];
}

static roc_status resources(const roc_codeobj *object, uint32_t workgroup,
                            roc_target_resources *out, roc_error *err) {
  enum { DEFAULT_WORKGROUP = 256 };
  const roc_nvptx_chip *chip = roc_nvptx_chip_find(object->target);
  roc_ptx_kernel k;
  ROC_TRY(roc_ptx_read_kernel(object, &k, err));
  roc_ptx_assemble(object, &k);
  uint32_t per_thread = object->items_per_thread > 1 ? object->items_per_thread : 1;
  uint32_t items = workgroup ? workgroup : DEFAULT_WORKGROUP * per_thread;
  if (!workgroup && items > k.max_workgroup) items = k.max_workgroup;
  if (items > k.max_workgroup) {
    return roc_fail(err, ROC_INVALID,
                    "a workgroup of %u work-items is larger than the %u of this kernel on %s",
                    workgroup, k.max_workgroup, object->target);
  }
  const roc_nvptx_use use = {k.is_assembled ? (uint32_t)k.registers : 0, object->shared_bytes,
                             roc_nvptx_threads(object, items)};
  roc_nvptx_occupancy o = roc_nvptx_occupancy_of(chip, &use);
  *out = (roc_target_resources){
      .workgroup = items, .waves = o.warps, .max_waves = chip->sm_warps, .limit = o.limit};
  fill_numbers(object, &k, out->numbers);
  return ROC_OK;
}

/* ---- the workgroup of a launch ----------------------------------------------------------- */

/* Registers are not asked for: an assembler's run for each kernel would cost more than it tells, as
 * a kernel never has more of them than its largest workgroup allows. */
static bool read_footprint(const roc_codeobj *object, roc_target_footprint *out) {
  *out = (roc_target_footprint){.model = roc_nvptx_chip_find(object->target),
                                .shared_bytes = object->shared_bytes,
                                .items_per_thread = object->items_per_thread};
  return true;
}

static uint32_t pick_workgroup(const roc_target_footprint *footprint, uint32_t most) {
  const roc_nvptx_use use = {footprint->vector_registers, footprint->shared_bytes, 0};
  uint32_t items = footprint->items_per_thread;
  if (items == 0 || most / items < ROC_NVPTX_COARSE_THREADS) items = 1;
  return items * roc_nvptx_choose_workgroup(footprint->model, &use, most / items);
}

static const roc_target_form forms[] = {
    {"cubin", false, roc_nvptx_make_cubin},
    {"sass", true, roc_nvptx_make_sass},
};

const roc_target_facts roc_target_facts_nvptx = {
    .family = "nvptx",
    .accepts = accepts,
    .name_at = name_at,
    .name_note = "code for one of them runs on newer ones, too",
    .is_simt = true,
    .is_image = true,
    .object_ending = ".ptx",
    .asm_comment = "//",
    .forms = forms,
    .nforms = sizeof forms / sizeof *forms,
    .numbers = numbers,
    .nnumbers = sizeof numbers / sizeof *numbers,
    .limits = limits,
    .nlimits = sizeof limits / sizeof *limits,
    .occupancy_title = "warps per multiprocessor",
    .resources = resources,
    .read_footprint = read_footprint,
    .read_module = roc_nvptx_read_module,
    .pick_workgroup = pick_workgroup,
};
