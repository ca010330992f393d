/* The one file of the emulator that includes LLVM's headers. */
#include "emulator/isa/disasm.h"

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "emulator/isa/inst.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void register_target(void) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUDisassembler();
}

struct emu_disasm {
  LLVMDisasmContextRef context;
  emu_generation generation;
};

emu_disasm *emu_disasm_new(const emu_chip *chip, unsigned wave_size) {
  pthread_once(&once, register_target);
  emu_disasm *disasm = roc_alloc(sizeof *disasm);
  if (!disasm) return NULL;
  disasm->generation = (emu_generation)chip->generation;
  /* the upper halves of registers, which LLVM knows of gfx12 only when it is asked */
  const char *halves = chip->generation & EMU_GFX11_ON ? ",+real-true16" : "";
  char features[64] = "";
  if (chip->generation != EMU_GFX9) {
    snprintf(features, sizeof features, "+wavefrontsize%u%s", wave_size == 64 ? 64 : 32, halves);
  }
  disasm->context =
      LLVMCreateDisasmCPUFeatures("amdgcn-amd-amdhsa", chip->name, features, NULL, 0, NULL, NULL);
  if (disasm->context) return disasm;
  roc_free(disasm);
  return NULL;
}

void emu_disasm_free(emu_disasm *disasm) {
  if (!disasm) return;
  LLVMDisasmDispose(disasm->context);
  roc_free(disasm);
}

/* Typed buffer accesses, which are for graphics alone. */
static bool is_typed_buffer(uint32_t word) {
  return word >> 26 == 0x3a;
}

/* Reserved numbers in a sub-dword encoding: VOP1, VOP2 or VOPC whose first source says that one
 * follows. AMD's Vega ISA manual, 13.3.8 (VOP_SDWA). */
static bool is_wrong_sdwa(uint32_t word, uint32_t next) {
  if (word >> 31 || (word & 0x1ff) != 0xf9) return false;
  bool is_compare = word >> 25 == 0x3e; /* its bits for the result mean something else */
  bool has_wrong_source = (next >> 16 & 7) == 7 || (next >> 24 & 7) == 7;
  bool has_wrong_result = (next >> 8 & 7) == 7 || (next >> 11 & 3) == 3;
  return has_wrong_source || (!is_compare && has_wrong_result);
}

/* A source that says a literal follows (255) where none can: in VOP3 before gfx10, in MUBUF. */
static bool is_wrong_literal(uint32_t word, uint32_t next, bool is_gfx9) {
  if (word >> 26 == 0x38) return next >> 24 == 0xff;
  if (word >> 26 != 0x34 || !is_gfx9) return false;
  return (next & 0x1ff) == 0xff || (next >> 9 & 0x1ff) == 0xff || (next >> 18 & 0x1ff) == 0xff;
}

/* 255 as the scalar register that a VOP3 writes on gfx9: comparisons and v_readlane_b32. */
static bool is_wrong_result(uint32_t word, bool is_gfx9) {
  uint32_t opcode = word >> 16 & 0x3ff;
  bool is_scalar = opcode < 0x100 || opcode == 0x289;
  return is_gfx9 && word >> 26 == 0x34 && is_scalar && (word & 0xff) == 0xff;
}

/* Opcodes (bits 30:25) of the VOP2 instructions whose source 1 is the constant: v_madmk, v_fmamk.
 * In the opcode after each of these, v_madak and v_fmaak, it is source 2. */
static const uint8_t constant_opcodes[2][2] = {{0x17, 0x24}, {0x2c, 0x37}};

unsigned emu_constant_source(uint32_t word, bool is_gfx9) {
  const uint8_t *opcodes = constant_opcodes[is_gfx9 ? 0 : 1];
  uint32_t opcode = word >> 25; /* VOP2 begins with a 0 */
  if (opcode == opcodes[0] || opcode == opcodes[1]) return 1;
  return opcode == opcodes[0] + 1u || opcode == opcodes[1] + 1u ? 2 : 0;
}

/* Whether it is a dual instruction a half of which is v_fmaak_f32 (1) or v_fmamk_f32 (2). RDNA3 ISA
 * manual, VOPD. */
static bool has_dual_constant(uint32_t word, emu_generation generation) {
  if ((generation & EMU_BEFORE_GFX11) || word >> 26 != 0x32) return false;
  uint32_t x = word >> 22 & 15, y = word >> 17 & 31;
  return x == 1 || x == 2 || y == 1 || y == 2;
}

/* LLVM ends the process at some encodings that no compiler emits; they are not passed to it.
 * Neither is code that ends within an instruction: zeros are appended, and the size shows that it
 * was cut. LLVM reads a constant below 512 as the number of a source, and ends the process at 255:
 * it gets another constant. */
unsigned emu_disasm_text(emu_disasm *disasm, const uint8_t *code, size_t nbytes, char *text,
                         size_t size) {
  uint8_t copy[EMU_MAX_CODE] = {0};
  uint32_t words[2];
  bool is_gfx9 = disasm->generation == EMU_GFX9;
  if (nbytes > sizeof copy) nbytes = sizeof copy;
  memcpy(copy, code, nbytes);
  memcpy(words, copy, sizeof words);
  if (is_typed_buffer(words[0]) || is_wrong_sdwa(words[0], words[1]) ||
      is_wrong_literal(words[0], words[1], is_gfx9) || is_wrong_result(words[0], is_gfx9)) {
    return 0;
  }
  const uint32_t harmless = EMU_HARMLESS_CONSTANT;
  if (has_dual_constant(words[0], disasm->generation)) {
    memcpy(copy + EMU_DUAL_BYTES, &harmless, sizeof harmless);
  } else if (emu_constant_source(words[0], is_gfx9)) {
    memcpy(copy + sizeof words[0], &harmless, sizeof harmless);
  }
  size_t used = LLVMDisasmInstruction(disasm->context, copy, sizeof copy, 0, text, size);
  return used <= nbytes ? (unsigned)used : 0;
}
