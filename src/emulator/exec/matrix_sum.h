/* In which order and with which roundings the matrix units of CDNA GPUs add products of floats.
 *
 * AMD publishes neither; what is here was found out on MI100, MI200 and MI300 GPUs, by inputs that
 * tell the ways of adding apart (P. Xie and others, "Bit-Accurate Modeling of GPU Matrix
 * Multiply-Accumulate Units", arXiv 2511.10909). Factors are exact as doubles. */
#ifndef ROC_EMULATOR_EXEC_MATRIX_SUM_H
#define ROC_EMULATOR_EXEC_MATRIX_SUM_H

#include <stdbool.h>
#include <stdint.h>

/* Floats of 32 bits: fused products, one after the other. */
float emu_sum_in_order(const double *a, const double *b, unsigned count, float sum);

/* Halves of gfx908 and gfx90a: `group` products, a power of two, are added two and two, and the
 * group's sum then to the sum. Each result is rounded; `flushes`: a denormal one becomes zero. */
enum { EMU_GROUP_MOST = 4 };
float emu_sum_by_groups(const double *a, const double *b, unsigned count, unsigned group,
                        bool flushes, float sum);

/* Narrow floats of gfx942: `group` products are added without rounding, after those below the
 * 24th place of the largest one were cut off, and then to the sum, rounded once. `parts`, 1 or 2:
 * the products that are added apart, every second one, before their sums are. */
typedef struct emu_fused {
  uint8_t group, parts;
  int16_t least_a, least_b; /* exponents of the least normal numbers of A and of B */
} emu_fused;
float emu_sum_fused(const double *a, const double *b, unsigned count, const emu_fused *how,
                    float sum);

#endif
