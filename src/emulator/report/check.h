/* Looking for races between work-items, and for reads of memory that was never written (--check).
 *
 * A race: two work-items of one dispatch touch a byte, one of them writes it, not both by atomics,
 * and nothing orders them. What orders two accesses:
 *   - they are of one wavefront, and not one instruction (a wavefront's lanes go in step);
 *   - they are of one workgroup, and a barrier stands between them;
 *   - the later one's wavefront, or one that it met at a barrier since, has executed a device-wide
 *     acquire (an invalidation of its cache) after the earlier one;
 *   - the later one's wavefront has seen, by an atomic operation on LDS, what another wavefront
 *     wrote there after the earlier one (fences of a workgroup are no instructions).
 * Writing the value that is there already is no race. Compilers may make scalar loads wider than
 * what the program reads; of these only the words count that the program surely reads. Memory that
 * was never written: LDS at the start of a workgroup, and device memory since it was allocated;
 * ROCR's own kernels may copy it. Each pair of lines of a kernel is reported once, on stderr, when
 * it is met. */
#ifndef ROC_EMULATOR_REPORT_CHECK_H
#define ROC_EMULATOR_REPORT_CHECK_H

#include "emulator/report/source.h"
#include "emulator/report/watch.h"

typedef struct emu_check_group emu_check_group; /* what is known of a workgroup's LDS */

/* A number for a dispatch, distinct from all before. */
uint64_t emu_check_begin(void);

/* NULL when memory is out: the group then goes unchecked. */
emu_check_group *emu_check_group_new(void);
void emu_check_group_free(emu_check_group *group);
/* All wavefronts of the group, which is checked, have come to a barrier. */
void emu_check_barrier(emu_group *group);

void emu_check_acquire(emu_wave *wave);
void emu_check_access(const emu_source *source, uint64_t dispatch_number, emu_wave *wave,
                      const emu_inst *inst, emu_space space, emu_access_kind kind,
                      const uint64_t addresses[EMU_LANES], uint64_t lanes, uint32_t nbytes,
                      const void *values);

/* Device memory: defined by a copy, undefined when given out, forgotten when given back. */
void emu_check_mark(uint64_t address, uint64_t nbytes, bool is_undefined);
void emu_check_forget(uint64_t address, uint64_t nbytes);

/* Places found so far. */
unsigned long long emu_check_findings(void);

#endif
