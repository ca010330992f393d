/* How a fault ends a dispatch: the text of the first one is kept, its wavefront stops at once, the
 * others as soon as they look (core/interrupt.h).  Any thread. */
#ifndef ROC_EMULATOR_EXEC_STOP_H
#define ROC_EMULATOR_EXEC_STOP_H

#include "emulator/isa/wave.h"

/* Stops the wavefront and with it the dispatch: `fmt` says what happened; kernel, work-item and
 * line are added. `lane`: the item's lane, or -1 for the whole wavefront. */
void emu_stop(emu_wave *wave, const emu_inst *inst, emu_fault_kind kind, int lane, const char *fmt,
              ...) __attribute__((format(printf, 5, 6)));
/* The same for an access to `address`, where the GPU has no such memory. */
void emu_stop_memory(emu_wave *wave, const emu_inst *inst, int lane, uint64_t address,
                     uint32_t nbytes, bool is_write);

#endif
