/* For ThreadSanitizer alone: the order that ROCR gives the host and a queue, where no word shows
 * it.
 *
 * ROCR is not instrumented, so that a sanitizer sees only what our own atomic operations order.
 * spec/rocr_order.c, in front of ROCR, tells it of the signals and indices that the program names.
 * The program does not name the signals and pointers of ROCR's own copies and fills; two words
 * stand for those. What the host did before it asked for a copy comes before each packet that
 * begins later, and what a queue did before it completed a signal comes before the end of a call
 * that has waited for it. */
#ifndef ROC_EMULATOR_THUNK_ORDER_H
#define ROC_EMULATOR_THUNK_ORDER_H

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>

#include "emulator/include/emulator.h"

/* The host releases the first and acquires the second. */
ROC_EMULATOR_API extern char roc_emulator_asked, roc_emulator_told;

static inline void emu_order_begin_packet(void) {
  __tsan_acquire(&roc_emulator_asked);
}
static inline void emu_order_tell(void) {
  __tsan_release(&roc_emulator_told);
}
#else
static inline void emu_order_begin_packet(void) {}
static inline void emu_order_tell(void) {}
#endif

#endif
