#include "emulator/core/interrupt.h"

static _Atomic uint64_t interrupts;

void emu_dispatch_interrupt(void) {
  atomic_fetch_add(&interrupts, 1);
}

uint64_t emu_interrupts(void) {
  return atomic_load(&interrupts);
}

bool emu_dispatch_is_over(const emu_dispatch *dispatch) {
  if (atomic_load_explicit(&dispatch->has_fault, memory_order_relaxed)) return true;
  if (dispatch->stop && atomic_load_explicit(dispatch->stop, memory_order_relaxed)) return true;
  return atomic_load_explicit(&interrupts, memory_order_relaxed) != dispatch->interrupts &&
         !dispatch->is_runtime;
}
