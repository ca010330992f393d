/* The interpreter as the queues see it: it takes a dispatch packet and returns how the dispatch
 * ended.
 *
 * Any thread may run a dispatch; several at once share the pool of workers, each dispatch running
 * on its caller's thread and on whatever workers are free.  Workgroups start in increasing order.
 * Decoded kernels are kept, and checked against the bytes in memory whenever code may have changed
 * (emu_gpu_code_changed). */
#ifndef ROC_EMULATOR_CORE_GPU_H
#define ROC_EMULATOR_CORE_GPU_H

#include "emulator/isa/chip.h"
#include "emulator/isa/wave.h"
#include "emulator/support/map.h"

typedef struct emu_gpu emu_gpu;

/* nthreads: workers beside the callers' own threads; 0 for none.  NULL when memory is out. */
emu_gpu *emu_gpu_new(const emu_chip *chip, const emu_map *map, unsigned nthreads);
/* No dispatch runs any more. */
void emu_gpu_free(emu_gpu *gpu);

/* Runs the kernel of an hsa_kernel_dispatch_packet_t to its end; blocks.  True when all work-items
 * have ended (or *stop was set); false when something was wrong: *fault says what, and has been
 * remembered for roc_emulator_fault. */
bool emu_gpu_run(emu_gpu *gpu, const emu_queue_view *view, const void *packet, emu_fault *fault);

/* Code was loaded or changed (a cache invalidation packet came). */
void emu_gpu_code_changed(emu_gpu *gpu);

/* Wavefront instructions executed since the GPU was made. */
uint64_t emu_gpu_executed(const emu_gpu *gpu);

#endif
