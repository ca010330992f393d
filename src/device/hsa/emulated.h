/* The software GPU under ROCR, when the environment asks for one.
 *
 * ROCLUA_EMULATE=gfx90a,gfx1030 names the GPUs to be.  The emulator is a library that takes the
 * place of ROCR's driver library, which it can only before ROCR is opened. */
#ifndef ROC_DEVICE_HSA_EMULATED_H
#define ROC_DEVICE_HSA_EMULATED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Whether ROCLUA_EMULATE is set.  Any thread. */
bool roc_emulated_is_asked(void);

/* Opens the emulator; before ROCR.  UNAVAILABLE: it is not there, or it cannot be one of the GPUs
 * asked for (the message names those it can be).  Repeated calls are cheap.  Under the caller's
 * lock. */
roc_status roc_emulated_open(roc_error *err);

/* The text of the last fault of a kernel, cut to size - 1 characters; its length.  0 when there was
 * none or no emulator is open.  Any thread. */
size_t roc_emulated_fault_text(char *buf, size_t size);

/* Whether it is to look for races and undefined values (ROCLUA_EMULATE_CHECK).  Any thread. */
bool roc_emulated_is_checked(void);

/* Writes the report that was asked for (ROCLUA_EMULATE_STATS), once all kernels have ended.  IO: it
 * cannot be written.  INVALID: it has found fault with kernels, each time told on stderr; the
 * message counts them.  OK also when no emulator is open.  Any thread. */
roc_status roc_emulated_conclude(roc_error *err);

/* The instructions that software GPUs have executed so far; false where there are none.  Any
 * thread. */
bool roc_emulated_count_executed(uint64_t *out_count);

/* Ends the kernels that software GPUs run now; nothing where there are none.  Any thread. */
void roc_emulated_interrupt(void);

#endif
