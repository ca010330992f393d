/* Blocks of decoded code: the instructions that can be reached from an address, in the order of
 * their addresses (program.h). A block never changes or moves while its program lives. */
#ifndef ROC_EMULATOR_CORE_DECODED_BLOCK_H
#define ROC_EMULATOR_CORE_DECODED_BLOCK_H

#include "emulator/core/program.h"
#include "emulator/isa/disasm.h"

typedef struct emu_decoded_block emu_decoded_block;

/* Part of a program: the code reachable from its start, or from an address in a register. */
struct emu_decoded_block {
  emu_decoded_block *next;
  emu_inst *insts; /* in the order of addresses */
  uint32_t ninsts;
  uint8_t *code; /* the bytes they were made of, one instruction after the other */
  struct emu_stop_text *stops;
};

/* What decoding needs; one thread at a time may use it. */
typedef struct emu_decoder {
  const emu_chip *chip;
  const emu_map *map;
  emu_disasm *disasms[2]; /* for wavefronts of 64 and of 32 lanes; made when first wanted */
} emu_decoder;

void emu_decoder_close(emu_decoder *decoder);

/* Whether offsets from `entry`, which have 32 bits and a sign, can tell the address. */
static inline bool emu_is_near(uint64_t entry, uint64_t address) {
  return address == entry + (uint64_t)(int64_t)(int32_t)(uint32_t)(address - entry);
}

/* The code reachable from `address`, its indices from first_index on, its offsets counted from
 * `entry`, which is near. In place of code that must not be executed are instructions that stop the
 * wavefront. NULL when memory is out or LLVM does not know the chip. */
emu_decoded_block *emu_decoded_block_decode(emu_decoder *decoder, const emu_register_limits *limits,
                                            uint64_t entry, uint64_t address, uint32_t first_index);
void emu_decoded_block_free(emu_decoded_block *block);
/* The instruction with that offset, or NULL. */
const emu_inst *emu_decoded_block_find(const emu_decoded_block *block, uint32_t offset);
/* Whether memory still holds the bytes that the block was decoded from, and nothing that could not
 * be read then can be read now. */
bool emu_decoded_block_is_current(const emu_decoded_block *block, const emu_map *map,
                                  uint64_t entry);

/* Stops the wavefront; the name of the instruction's op is the message. */
emu_run emu_run_stop;

#endif
