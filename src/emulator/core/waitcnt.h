/* Looks, once per program, for registers that are used before the load into them was waited for.
 *
 * The interpreter's loads are done at once, so a missing s_waitcnt would go unnoticed; on a GPU it
 * is a race.  The check is static: over all paths, the least number of younger operations that each
 * load in flight may have. */
#ifndef ROC_EMULATOR_CORE_WAITCNT_H
#define ROC_EMULATOR_CORE_WAITCNT_H

#include <stdbool.h>
#include <stdint.h>

#include "emulator/isa/inst.h"

/* Called for an instruction that uses a register too early, perhaps several times; `text` says
 * which register and what to wait for. The instructions must not change until the check is over.
 * False ends it. */
typedef bool emu_hazard_found(void *ud, uint32_t inst, const char *text);

/* Checks insts[0 … ninsts - 1], of which flows (emu_flow) says how they go on; indices of targets
 * count from insts[0].index. Execution begins at `first`, with nothing in flight. False when memory
 * is out or `found` gave false. Any thread. */
bool emu_check_waits(const emu_inst *insts, const uint8_t *flows, uint32_t ninsts, uint32_t first,
                     unsigned wave_size, emu_hazard_found *found, void *ud);

#endif
