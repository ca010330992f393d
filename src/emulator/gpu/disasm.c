/* The one file of the emulator that includes LLVM's headers. */
#include "emulator/gpu/disasm.h"

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <string.h>

#include "emulator/gpu/inst.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void register_target(void) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUDisassembler();
}

/* The handle is LLVM's own context. */
emu_disasm *emu_disasm_new(const emu_chip *chip, unsigned wave_size) {
  pthread_once(&once, register_target);
  const char *features = "";
  if (chip->generation == EMU_GFX10) {
    features = wave_size == 64 ? "+wavefrontsize64" : "+wavefrontsize32";
  }
  return LLVMCreateDisasmCPUFeatures("amdgcn-amd-amdhsa", chip->name, features, NULL, 0, NULL,
                                     NULL);
}

void emu_disasm_free(emu_disasm *disasm) {
  if (disasm) LLVMDisasmDispose(disasm);
}

unsigned emu_disasm_text(emu_disasm *disasm, const uint8_t *code, size_t nbytes, char *text,
                         size_t size) {
  uint8_t copy[EMU_MAX_CODE]; /* LLVM's parameter is not const */
  if (nbytes > sizeof copy) nbytes = sizeof copy;
  memcpy(copy, code, nbytes);
  return (unsigned)LLVMDisasmInstruction(disasm, copy, nbytes, 0, text, size);
}
