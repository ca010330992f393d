#include "emulator/exec/transpose.h"

#include "emulator/exec/rows.h"
#include "emulator/exec/stop.h"

enum { GROUP = 16 /* lanes that read together */ };

bool emu_can_transpose(emu_wave *wave, const emu_inst *inst) {
  if (emu_exec(wave) == emu_all_lanes(wave)) return true;
  emu_stop(wave, inst, EMU_FAULT_ILLEGAL, -1, "%s needs all lanes, and some are switched off",
           inst->op->name);
  return false;
}

void emu_transpose(const emu_wave *wave, const emu_transposition *how, const emu_row *from,
                   emu_row *to) {
  enum { MAX_WORDS = 4 };
  unsigned nwords = how->bits * how->elements / 32u;
  for (unsigned lane = 0; lane < wave->width; lane++) {
    unsigned first = lane - lane % GROUP;
    uint32_t words[MAX_WORDS] = {0};
    for (unsigned n = 0; n < how->elements; n++) {
      unsigned at = how->origin(lane % GROUP, n), source = first + at / how->elements;
      emu_add_bits(words, how->bits, n, emu_bits_at(from, how->bits, at % how->elements, source));
    }
    for (unsigned i = 0; i < nwords; i++) to[i].u[lane] = words[i];
  }
}
