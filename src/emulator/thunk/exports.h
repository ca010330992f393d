/* What the files of exported functions share: whether the thunk may be used, and checks that leave
 * the function. */
#ifndef ROC_EMULATOR_THUNK_EXPORTS_H
#define ROC_EMULATOR_THUNK_EXPORTS_H

#include "emulator/include/emulator.h"
#include "emulator/thunk/thunk.h"

extern _Atomic bool emu_is_open, emu_is_child; /* exports.c */

/* Leaves the function unless the thunk may be used. */
#define REQUIRE_OPEN()                                                                 \
  do {                                                                                 \
    if (atomic_load(&emu_is_child)) return HSAKMT_STATUS_ERROR;                        \
    if (!atomic_load(&emu_is_open)) return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED; \
  } while (0)
/* The same for functions that give something back. */
#define REQUIRE_OPEN_TO_UNDO()                                    \
  do {                                                            \
    if (atomic_load(&emu_is_child)) return HSAKMT_STATUS_SUCCESS; \
    REQUIRE_OPEN();                                               \
  } while (0)
#define REQUIRE(condition, status)   \
  do {                               \
    if (!(condition)) return status; \
  } while (0)
#define REQUIRE_NODE(id, out)                                           \
  do {                                                                  \
    REQUIRE_OPEN();                                                     \
    REQUIRE((id) < emu_nodes_count(), HSAKMT_STATUS_INVALID_NODE_UNIT); \
    REQUIRE(out, HSAKMT_STATUS_INVALID_PARAMETER);                      \
  } while (0)

#define EXPORT ROC_EMULATOR_API HSAKMT_STATUS HSAKMTAPI

#endif
