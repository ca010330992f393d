/* One workgroup from its start to its end, on one thread.
 *
 * A context is the memory a thread needs for that: registers of the wavefronts, LDS, private
 * memory. It is used for one workgroup after the other, so that a dispatch allocates nothing. */
#ifndef ROC_EMULATOR_CORE_GROUP_H
#define ROC_EMULATOR_CORE_GROUP_H

#include "emulator/core/descriptor.h"
#include "emulator/isa/wave.h"

typedef struct emu_group_context emu_group_context;

/* What is the same at the start of all workgroups of a dispatch. */
typedef struct emu_launch {
  emu_dispatch dispatch;
  emu_descriptor descriptor;
  uint64_t kernarg, dispatch_address, queue_address, dispatch_id;
  uint32_t private_bytes, lds_bytes; /* a work-item's, a workgroup's */
} emu_launch;

/* NULL when memory is out. */
emu_group_context *emu_group_context_new(void);
void emu_group_context_free(emu_group_context *context);
/* Makes room for workgroups of this launch; false when memory is out. */
bool emu_group_context_prepare(emu_group_context *context, const emu_launch *launch);

/* Runs workgroup `id` until all its wavefronts have ended, a fault stops the dispatch, or its stop
 * flag is set.  The context has been prepared.  Gives the wavefront instructions executed. */
uint64_t emu_group_run(emu_group_context *context, emu_launch *launch, const uint32_t id[3]);

#endif
