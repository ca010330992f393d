/* The one place where the lanes of a wavefront touch memory.
 *
 * An instruction fills an emu_access with what each lane wants (an address, or bytes from the start
 * of LDS or of the lane's private memory) and names the space by its emu_reach function, which
 * checks every lane, tells the watch, and turns the addresses into host pointers: nothing outside
 * of mapped pages, of the workgroup's LDS or of the lane's private memory is ever read or written.
 * Loads, stores and atomics then work on the pointers alone.
 *
 * Private memory is wave->scratch: scratch_bytes for lane 0, then for lane 1, and so on. Kernels
 * reach byte `o` of it in three ways that mean the same: as flat address EMU_PRIVATE_APERTURE:o, by
 * scratch_ instructions whose operands add up to o, and by buffer instructions through a resource
 * whose base address is wave->scratch (see buffer.c). What kernels compute into FLAT_SCRATCH does
 * not matter.
 *
 * Alignment is as AMD's driver configures the hardware: loads and stores at any address, atomics
 * only at multiples of their size.
 *
 * Workgroups run on several host threads: atomics on global memory are the host's, sequentially
 * consistent; naturally aligned loads and stores of 4 and 8 bytes are single accesses of the host,
 * in program order except that a store may be delayed until after a later load (emu_order_memory
 * prevents that, at a kernel's fences and glc loads). */
#ifndef ROC_EMULATOR_EXEC_ACCESS_H
#define ROC_EMULATOR_EXEC_ACCESS_H

#include <stdatomic.h>

#include "emulator/exec/atomic.h"
#include "emulator/isa/wave.h"
#include "emulator/report/watch.h"

typedef struct emu_access {
  uint8_t kind;       /* emu_access_kind */
  bool is_run;        /* set by emu_reach: all lanes, one after the other from at[0] on */
  bool is_own;        /* set by emu_reach: no other thread sees this memory */
  uint32_t nbytes;    /* a lane */
  uint64_t lanes;     /* those that take part */
  const void *values; /* of a store, for the watch: nbytes a lane; NULL without a watch */
  uint64_t at[EMU_LANES] __attribute__((aligned(64))); /* addresses, then host addresses */
} emu_access;

/* What a lane's bytes in memory mean in its registers.  LOW and HIGH are the halves of a register
 * (d16): loads keep the other one. */
typedef enum emu_form {
  EMU_FORM_U8,
  EMU_FORM_I8,
  EMU_FORM_U16,
  EMU_FORM_I16,
  EMU_FORM_U8_LOW,
  EMU_FORM_I8_LOW,
  EMU_FORM_B16_LOW,
  EMU_FORM_U8_HIGH,
  EMU_FORM_I8_HIGH,
  EMU_FORM_B16_HIGH,
  EMU_FORM_B32,
  EMU_FORM_B64,
  EMU_FORM_B96,
  EMU_FORM_B128
} emu_form;

/* Bytes of a lane in memory. */
uint32_t emu_form_bytes(emu_form form);

/* Checks and translates `access`; false when a lane must not do what it wants: the wavefront is
 * stopped then, nothing was accessed. */
typedef bool emu_reach(emu_wave *wave, const emu_inst *inst, emu_access *access);

emu_reach emu_reach_global;  /* at: GPU addresses */
emu_reach emu_reach_lds;     /* at: bytes from the start of the workgroup's LDS */
emu_reach emu_reach_private; /* at: bytes from the start of the lane's private memory */
emu_reach emu_reach_flat;    /* at: GPU addresses, some perhaps in an aperture */

/* Loads into `rows`, mostly registers; lanes that do not take part keep theirs. */
void emu_load(emu_wave *wave, const emu_inst *inst, emu_reach *reach, emu_access *access,
              emu_form form, emu_row *rows);
/* What a load gives to `lanes` that are out of bounds: zeroes. */
void emu_load_nothing(uint64_t lanes, emu_form form, emu_row *rows);
/* Stores from `rows`. */
void emu_store(emu_wave *wave, const emu_inst *inst, emu_reach *reach, emu_access *access,
               emu_form form, emu_row *rows);
/* The second half of a load from memory into LDS: what `lanes` of the rows hold, a word at least,
 * goes to consecutive places from M0 and the instruction's offset on. */
void emu_store_lds(emu_wave *wave, const emu_inst *inst, uint64_t lanes, emu_form form,
                   emu_row *rows);

/* An atomic operation on access->nbytes, 4 or 8, of each lane in turn. */
typedef struct emu_update {
  emu_combine *combine;
  const emu_row *data, *other; /* its arguments, the high words of 8 bytes in the next row */
  emu_row *result;             /* gets what was in memory before; NULL: not wanted */
} emu_update;
void emu_access_update(emu_wave *wave, const emu_inst *inst, emu_reach *reach, emu_access *access,
                       const emu_update *update);

/* What gfx942, gfx11 and later do instead: they keep denormals. */
static inline emu_combine *emu_combine_of(const emu_wave *wave, emu_combine *combine) {
  const emu_chip *chip = wave->group->dispatch->chip;
  bool keeps = chip->generation != EMU_GFX9 || chip->minor >= 4;
  return keeps && combine == emu_add_f32_flushed ? emu_add_f32 : combine;
}

/* Orders all memory instructions before it before all later ones, for every thread. */
static inline void emu_order_memory(void) {
  atomic_thread_fence(memory_order_seq_cst);
}

/* `body` follows: once for each lane of the mask, in increasing order. */
#define EMU_FOR_ACTIVE(lane, mask)        \
  for (uint64_t rest_ = (mask), lane = 0; \
       rest_ && ((lane = (uint64_t)__builtin_ctzll(rest_)), true); rest_ &= rest_ - 1)

#endif
