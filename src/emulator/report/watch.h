/* What is reported of a running dispatch: each instruction and each memory access.
 *
 * Only with --stats or --check; a wavefront without a watch (wave->watch NULL) pays one test.
 * Called by the threads that run workgroups, several at once for one watch. */
#ifndef ROC_EMULATOR_REPORT_WATCH_H
#define ROC_EMULATOR_REPORT_WATCH_H

#include "emulator/isa/wave.h"

typedef enum emu_space { EMU_GLOBAL, EMU_LDS, EMU_PRIVATE } emu_space;
typedef enum emu_access_kind { EMU_LOAD, EMU_STORE, EMU_ATOMIC } emu_access_kind;

/* A watch for one dispatch, as the process's settings ask for; NULL when they ask for none or
 * memory is out. */
emu_watch *emu_watch_begin(const emu_dispatch *dispatch);
/* All workgroups have ended. */
void emu_watch_end(emu_watch *watch);

/* `inst` is about to be executed. */
void emu_watch_step(emu_wave *wave, const emu_inst *inst);

/* An access of the lanes in `lanes`, of nbytes each: addresses in global memory, bytes from the
 * start of the workgroup's LDS, or of the lane's private memory. Called before memory changes and
 * after it was found to be mapped; `values`, for stores, are the lanes' words as they will be
 * stored (lane after lane, nbytes each), NULL for others. */
void emu_watch_access(emu_wave *wave, const emu_inst *inst, emu_space space, emu_access_kind kind,
                      const uint64_t addresses[EMU_LANES], uint64_t lanes, uint32_t nbytes,
                      const void *values);

/* A workgroup begins: its LDS and private memory hold nothing yet. */
void emu_watch_group(emu_watch *watch, emu_group *group);
/* It has ended (or was stopped). */
void emu_watch_group_end(emu_watch *watch, emu_group *group);
/* All wavefronts of the group have come to a barrier. */
void emu_watch_barrier(emu_watch *watch, emu_group *group);

/* Memory was written by something other than a kernel (a copy engine): [address, +nbytes). */
void emu_watch_copied(uint64_t address, uint64_t nbytes);
/* Memory was given out with undefined contents, or given back. */
void emu_watch_allocated(uint64_t address, uint64_t nbytes);
void emu_watch_freed(uint64_t address, uint64_t nbytes);

#endif
