/* The structures that grew between releases of ROCm, as the ROCR that opened the thunk has them.
 *
 * The thunk is written with Debian's headers (ROCm 5.2.3; up to 6.2 nothing moved).  Later releases
 * put words between the fields, and do not say how long their structures are; so the functions that
 * ROCR exports tell which words it has. */
#ifndef ROC_EMULATOR_THUNK_LAYOUT_H
#define ROC_EMULATOR_THUNK_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum emu_layout { EMU_LAYOUT_NODE, EMU_LAYOUT_LINK, EMU_LAYOUTS } emu_layout;

/* For the library that has `code`.  Not while others use the functions below. */
void emu_layout_choose(const void *code);
/* Writes what `properties` (HsaNodeProperties, HsaIoLinkProperties of our headers) says to the
 * entry of that index of the caller's array. Words that our headers lack are 0. */
void emu_layout_give(emu_layout layout, const void *properties, uint32_t index, void *array);
/* Whether the caller's caches may be longer than ours, so that only the first can be given. */
bool emu_layout_has_long_caches(void);

#endif
