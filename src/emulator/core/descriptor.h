/* What a kernel descriptor says: registers a wavefront starts with, mode and width.
 *
 * The 64 bytes at the kernel object's address as LLVM's AMDGPU usage guide has them ("Kernel
 * descriptor"), or the 256-byte header before it that ROCR's own copy and fill kernels still have:
 * entry offset, resource words and properties stand at the same places in both. */
#ifndef ROC_EMULATOR_CORE_DESCRIPTOR_H
#define ROC_EMULATOR_CORE_DESCRIPTOR_H

#include "emulator/isa/chip.h"
#include "emulator/isa/wave.h"
#include "emulator/support/map.h"

/* Scalar registers filled at the start, in this order; bits of emu_descriptor.user. */
enum {
  EMU_USER_PRIVATE_BUFFER =
      1,                     /* 4 registers: the resource by which buffer_ reaches private memory */
  EMU_USER_DISPATCH = 2,     /* 2: address of the packet */
  EMU_USER_QUEUE = 4,        /* 2: address of the queue */
  EMU_USER_KERNARG = 8,      /* 2: address of the arguments */
  EMU_USER_DISPATCH_ID = 16, /* 2 */
  EMU_USER_FLAT_SCRATCH = 32, /* 2: what FLAT_SCRATCH is made of */
  EMU_USER_PRIVATE_SIZE = 64  /* 1: bytes a work-item */
};

typedef struct emu_descriptor {
  uint64_t entry; /* address of the first instruction */
  bool is_legacy; /* ROCR's own */
  uint8_t wave_size;
  uint8_t user;       /* EMU_USER_* */
  uint8_t user_sgprs; /* registers they take together */
  bool has_group_id[3], has_group_info, has_wave_offset;
  uint8_t item_ids; /* dimensions whose work-item ids vector registers get: 1 to 3 */
  uint16_t sgprs, vgprs, accumulators; /* registers of each kind, as emu_register_limits has them */
  uint32_t mode;                       /* MODE at the start */
} emu_descriptor;

/* Reads and checks the descriptor at `address`.  False: *fault says what is wrong. */
bool emu_descriptor_read(const emu_chip *chip, const emu_map *map, uint64_t address,
                         emu_descriptor *out, emu_fault *fault);

#endif
