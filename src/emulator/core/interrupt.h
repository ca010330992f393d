/* The early end of dispatches: by a fault, by their queue, or by an interrupt, which ends all that
 * run at the time on any GPU.  Any thread. */
#ifndef ROC_EMULATOR_CORE_INTERRUPT_H
#define ROC_EMULATOR_CORE_INTERRUPT_H

#include "emulator/isa/wave.h"

/* Ends the dispatches that run now, of all GPUs; ROCR's own kernels go on. */
void emu_dispatch_interrupt(void);
/* Interrupts so far. */
uint64_t emu_interrupts(void);
/* Whether the dispatch's workgroups are to end early. */
bool emu_dispatch_is_over(const emu_dispatch *dispatch);

#endif
