/* A model of the time a kernel would take: what --stats counted, against the rates of a real GPU.
 *
 * The time is that of the unit that is busiest: vector issue, scalar issue, LDS, caches, memory,
 * atomics on one word, or the wavefronts' own way through the kernel, as many of them at
 * once as fit on the GPU.  It orders kernels that differ in one of these; it is no measurement. */
#ifndef ROC_EMULATOR_REPORT_MODEL_H
#define ROC_EMULATOR_REPORT_MODEL_H

#include "emulator/isa/inst.h"
#include "emulator/isa/wave.h"

typedef struct emu_model {
  const char *name;
  uint32_t units, simds, mhz;
  uint32_t memory_gbytes, l2_gbytes; /* a second */
  uint32_t lanes;                    /* of a SIMD */
  uint32_t trans, f64, wide;
  uint32_t mf64, mf32, mf16, mi8;
  uint32_t l1_bytes;
  uint32_t l1_latency, l2_latency, memory_latency, lds_latency, scalar_latency;
  uint32_t width, vgprs;
} emu_model;

/* That of the chip; each has one. */
const emu_model *emu_model_find(const char *chip);
/* How many times as long as a plain vector instruction the instruction occupies its SIMD; 0: it is
 * none. */
uint32_t emu_model_factor(const emu_model *model, const emu_inst *inst);
/* Wavefronts that a SIMD can hold of a workgroup such as this one. */
uint32_t emu_model_resident(const emu_model *model, const emu_group *group);

/* What a kernel's launches did, all together. */
typedef struct emu_work {
  uint64_t launches, groups, wavefronts;
  uint32_t resident; /* emu_model_resident */
  uint64_t vector;   /* lanes that vector instructions had or left idle, times their factors */
  uint64_t scalar;   /* scalar instructions, branches, waits */
  uint64_t lds_bytes, lds_conflicts; /* conflicts in cycles */
  uint64_t accesses, lines, line_bytes;
  uint64_t misses;   /* lines that a workgroup's first cache did not have */
  uint64_t distinct; /* bytes of the lines that were touched at all, in one launch */
  uint64_t turns;    /* atomics that found another lane's on their word */
  uint64_t stalls;   /* cycles that wavefronts waited for loads */
} emu_work;

typedef enum emu_bound {
  EMU_BOUND_VECTOR,
  EMU_BOUND_SCALAR,
  EMU_BOUND_LDS,
  EMU_BOUND_L1,
  EMU_BOUND_L2,
  EMU_BOUND_MEMORY,
  EMU_BOUND_ATOMICS,
  EMU_BOUND_LATENCY,
  EMU_BOUNDS
} emu_bound;

extern const char *const emu_bound_names[EMU_BOUNDS];

/* Microseconds that each bound takes; the greatest is the estimate. */
void emu_model_time(const emu_model *model, const emu_work *work, double times[EMU_BOUNDS]);

#endif
