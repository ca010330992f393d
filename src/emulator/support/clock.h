/* The one steady clock: what ROCR calls system time, and the counters of GPUs, which kernels read
 * and which stamp signals.
 *
 * All come from the same source, so that ROCR's translation of one into the other is exact: the
 * clock that Linux's driver calls system time, which newer ROCRs read by themselves. */
#ifndef ROC_EMULATOR_SUPPORT_CLOCK_H
#define ROC_EMULATOR_SUPPORT_CLOCK_H

#include <stdint.h>

enum { EMU_TICK_NS = 10 }; /* the GPUs' counter: 100 MHz */
uint64_t emu_clock_ns(void);
uint64_t emu_clock_ticks(void);
/* Sleeps about that long. */
void emu_clock_sleep(uint64_t ns);

#endif
