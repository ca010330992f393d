/* The rates of model.def applied: see model.h.
 *
 * Work is spread evenly over as many compute units as a launch has workgroups for, and over their
 * SIMDs.  The first cache serves one workgroup and forgets; the second one has all that a launch
 * has touched before, however much lies between. */
#include "emulator/report/model.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const emu_model models[] = {
#define MODEL(...) {__VA_ARGS__},
#include "emulator/report/model.def"
#undef MODEL
};

const char *const emu_bound_names[EMU_BOUNDS] = {
    [EMU_BOUND_VECTOR] = "vector issue",
    [EMU_BOUND_SCALAR] = "scalar issue",
    [EMU_BOUND_LDS] = "LDS",
    [EMU_BOUND_L1] = "first cache",
    [EMU_BOUND_L2] = "second cache",
    [EMU_BOUND_MEMORY] = "memory",
    [EMU_BOUND_ATOMICS] = "atomics on one word",
    [EMU_BOUND_LATENCY] = "latency",
};

enum { LDS_BYTES = 128 /* a cycle */, LDS_SIZE = 65536, LANES = 64 };

const emu_model *emu_model_find(const char *chip) {
  const emu_model *model = models;
  while (strcmp(model->name, chip)) model++;
  return model;
}

/* ---- instructions -------------------------------------------------------------------------- */

static bool has_type(const emu_op *op, uint8_t type) {
  bool found = op->dst[0] == type;
  for (unsigned n = 0; n < EMU_MAX_SRC; n++) found |= op->src[n] == type;
  return found;
}

/* Operations a cycle of a matrix instruction, by the element that its name ends with; those on a
 * sparse matrix take as long as on what is given of it, half as large. */
static uint32_t matrix_rate(const emu_model *model, const char *name) {
  uint32_t sparse = strstr(name, "mfmac") || strstr(name, "swmmac") ? 2 : 1;
  if (strstr(name, "f64")) return model->mf64;
  if (strstr(name, "xf32")) return model->mf16 / 2;
  if (strstr(name, "f16")) return sparse * model->mf16; /* bf16, too */
  if (strstr(name, "i8") || strstr(name, "iu") || strstr(name, "f8")) return sparse * model->mi8;
  return strstr(name, "fp8") ? sparse * model->mi8 : model->mf32;
}

/* Its "16x16x4". */
static const char *size_in(const char *name) {
  const char *at = strchr(name, '_');
  while (at && !isdigit((unsigned char)at[1])) at = strchr(at + 1, '_');
  return at ? at + 1 : "";
}

/* D has 32 bits for each of its m x n elements, 64 when they are doubles. */
static uint32_t matrix_factor(const emu_model *model, const emu_inst *inst) {
  const char *name = inst->op->name;
  unsigned m, n, k;
  uint32_t rate = matrix_rate(model, name);
  if (sscanf(size_in(name), "%ux%ux%u", &m, &n, &k) != 3 || !rate) return 1;
  bool is_wave = strstr(name, "wmma") != NULL;
  uint64_t results = is_wave ? (uint64_t)m * n : (uint64_t)inst->dst[0].nregs * LANES;
  if (strstr(name, "f64")) results /= 2;
  uint64_t cycles = 2 * results * k / rate, plain = model->width / model->lanes;
  return (uint32_t)(cycles / plain ? cycles / plain : 1);
}

uint32_t emu_model_factor(const emu_model *model, const emu_inst *inst) {
  const emu_op *op = inst->op;
  if (op->class == EMU_CLASS_TRANS) return model->trans * (has_type(op, EMU_F64) ? 2 : 1);
  if (op->class != EMU_CLASS_VALU && op->class != EMU_CLASS_CROSS) return 0;
  if (strstr(op->name, "mfma") || strstr(op->name, "mfmac") || strstr(op->name, "wmma")) {
    return matrix_factor(model, inst);
  }
  if (has_type(op, EMU_F64)) return model->f64;
  bool is_product = strstr(op->name, "v_mul_lo_u32") || strstr(op->name, "v_mul_hi_") ||
                    strstr(op->name, "v_mad_u64") || strstr(op->name, "v_mad_i64");
  return is_product || has_type(op, EMU_B64) || has_type(op, EMU_I64) ? model->wide : 1;
}

/* ---- occupancy ----------------------------------------------------------------------------- */

static uint32_t at_least_one(uint64_t n) {
  return n ? (uint32_t)n : 1;
}

uint32_t emu_model_resident(const emu_model *model, const emu_group *group) {
  const emu_wave *wave = &group->waves[0];
  const emu_chip *chip = group->dispatch->chip;
  uint32_t registers = wave->nv + (chip->has_accumulation ? wave->nacc : 0);
  uint32_t file = model->vgprs * model->width / wave->width;
  uint32_t by_registers = file / at_least_one(registers);
  uint32_t lds = chip->lds_bytes > LDS_SIZE ? chip->lds_bytes : LDS_SIZE;
  uint64_t groups = group->lds_bytes ? lds / group->lds_bytes : UINT32_MAX;
  uint64_t by_lds = at_least_one(groups) * (uint64_t)group->nwaves / model->simds;
  uint64_t most = chip->waves_per_simd;
  if (by_registers < most) most = by_registers;
  if (by_lds < most) most = by_lds;
  return at_least_one(most);
}

/* ---- time ---------------------------------------------------------------------------------- */

static double lesser(double a, double b) {
  return a < b ? a : b;
}

static double greater(double a, double b) {
  return a > b ? a : b;
}

void emu_model_time(const emu_model *model, const emu_work *work, double times[EMU_BOUNDS]) {
  double launches = (double)at_least_one(work->launches);
  double units = lesser(model->units, (double)work->groups / launches);
  double waves = (double)work->wavefronts / launches;
  if (units < 1) units = 1;
  double simds = lesser(units * model->simds, waves < 1 ? 1 : waves);
  double at_once = lesser(simds * work->resident, waves < 1 ? 1 : waves);
  double per_us = model->mhz;
  double issue = (double)model->width / model->lanes; /* cycles between instructions of a wave */
  double vector = (double)work->vector / model->lanes;
  double scalar = (double)work->scalar * issue;
  double lds = (double)work->lds_bytes / LDS_BYTES + (double)work->lds_conflicts;
  double lines = (double)work->lines * (double)work->line_bytes / model->l1_bytes;
  times[EMU_BOUND_VECTOR] = vector / simds / per_us;
  times[EMU_BOUND_SCALAR] = scalar / simds / per_us;
  times[EMU_BOUND_LDS] = lds / units / per_us;
  times[EMU_BOUND_L1] = greater(lines, (double)work->accesses * issue) / units / per_us;
  times[EMU_BOUND_L2] = (double)(work->misses * work->line_bytes) / model->l2_gbytes / 1e3;
  times[EMU_BOUND_MEMORY] = (double)work->distinct * launches / model->memory_gbytes / 1e3;
  times[EMU_BOUND_ATOMICS] = (double)work->turns / per_us;
  times[EMU_BOUND_LATENCY] =
      ((double)work->stalls + vector + scalar + (double)work->lds_conflicts) / at_once / per_us;
}
