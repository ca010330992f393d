/* One dispatch packet from check to end. */
#ifndef ROC_EMULATOR_CORE_DISPATCH_H
#define ROC_EMULATOR_CORE_DISPATCH_H

#include "emulator/core/gpu.h"
#include "emulator/core/group.h"
#include "emulator/core/pool.h"

/* What a dispatch takes from its GPU. */
typedef struct emu_dispatch_ops {
  /* A context for the thread that asks, to be given back; NULL when memory is out. */
  emu_group_context *(*take_context)(void *ud);
  void (*give_context)(void *ud, emu_group_context *context);
  /* Adds to the instructions executed. */
  void (*count)(void *ud, uint64_t executed);
  void *ud;
} emu_dispatch_ops;

/* Fills *launch from the packet, with all checks; dispatch.program, .kernel and .watch remain.
 * False: *fault says what is wrong. */
bool emu_dispatch_check(const emu_chip *chip, const emu_map *map, const emu_queue_view *view,
                        const void *packet, emu_launch *launch, emu_fault *fault);
/* Runs all workgroups; blocks.  False when a fault stopped it: *launch->dispatch.fault. */
bool emu_dispatch_run(emu_launch *launch, emu_pool *pool, const emu_dispatch_ops *ops);

#endif
