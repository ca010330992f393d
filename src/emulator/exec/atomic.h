/* Atomic operations as functions of bits: what is in memory and the instruction's arguments give
 * what memory holds afterwards.  Pure; memory itself is access.c's. */
#ifndef ROC_EMULATOR_EXEC_ATOMIC_H
#define ROC_EMULATOR_EXEC_ATOMIC_H

#include <stdint.h>

/* `old`: memory's word.  `data`, `other`: the arguments in the order of the instruction's registers
 * (a compare-and-swap of global memory has the new value first, one of LDS the compared one).
 * 32-bit operations get their words zero-extended and use the low half of the result. */
typedef uint64_t emu_combine(uint64_t old, uint64_t data, uint64_t other);

#define EMU_COMBINE_INT(name, type, expression) extern emu_combine emu_##name##_32, emu_##name##_64;
#define EMU_COMBINE_ONE(name, expression) extern emu_combine emu_##name;
#include "emulator/exec/atomic.def"
#undef EMU_COMBINE_INT
#undef EMU_COMBINE_ONE

#endif
