/* The descriptor's words taken apart, and refused where they ask for what the chip lacks. */
#include "emulator/core/descriptor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "emulator/exec/mode.h"

/* LLVM's AMDGPU usage guide, "Kernel descriptor for GFX6-GFX12". */
typedef struct layout {
  uint32_t group_bytes, private_bytes, kernarg_bytes, reserved0;
  int64_t entry_offset;
  uint8_t reserved1[20];
  uint32_t rsrc3, rsrc1, rsrc2;
  uint16_t properties, kernarg_preload;
  uint32_t reserved2;
} layout;

_Static_assert(sizeof(layout) == 64, "the kernel descriptor has 64 bytes");

enum { LEGACY_ENTRY = 256, CODE_ALIGNMENT = 256, WAVE32 = 1 << 10, MAX_USER_SGPRS = 16 };

static bool refuse(emu_fault *fault, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool refuse(emu_fault *fault, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  fault->kind = EMU_FAULT_PACKET;
  fault->packet = EMU_PACKET_CODE;
  vsnprintf(fault->text, sizeof fault->text, fmt, args);
  va_end(args);
  return false;
}

/* Registers that each bit of the properties stands for. */
static const uint8_t user_registers[] = {4, 2, 2, 2, 2, 2, 1};

static uint8_t count_user_registers(uint8_t user) {
  uint8_t n = 0;
  for (unsigned i = 0; i < sizeof user_registers; i++) n += user >> i & 1 ? user_registers[i] : 0;
  return n;
}

static bool is_legacy(const layout *d) {
  return d->entry_offset == LEGACY_ENTRY && !d->group_bytes && !d->private_bytes &&
         !d->kernarg_bytes && !d->reserved0;
}

static uint16_t at_most(uint32_t count, uint32_t most) {
  return (uint16_t)(count < most ? count : most);
}

/* On chips whose accumulation registers are in the same file, rsrc3 says where they begin; MI100
 * has a second file of them, as large as the first. gfx11 and later have none, but dual instructions
 * use one (isa/dual.h). */
static void count_vector_registers(const emu_chip *chip, const layout *d, emu_descriptor *out) {
  uint32_t granule = chip->vgpr_granule[out->wave_size == 32];
  uint32_t all = ((d->rsrc1 & 0x3f) + 1) * granule;
  uint32_t border = chip->has_accumulation ? ((d->rsrc3 & 0x3f) + 1) * 4 : all;
  bool is_mi100 = chip->major == 9 && chip->minor == 0 && chip->stepping == 8;
  if (out->is_legacy || border > all) border = all;
  out->vgprs = at_most(border, EMU_VGPRS / 2);
  out->accumulators = at_most(is_mi100 ? all : all - border, EMU_VGPRS / 2);
  if (!(chip->generation & EMU_BEFORE_GFX11)) out->accumulators = 1;
}

/* gfx9 hands scalar registers out by sixteens; on gfx10 a wavefront always has all of them. */
static uint16_t count_scalar_registers(const emu_chip *chip, const layout *d) {
  uint32_t all = chip->generation == EMU_GFX9 ? ((d->rsrc1 >> 6 & 0xf) / 2 + 1) * 16 : EMU_SGPRS;
  return at_most(all, EMU_SGPR_VCC);
}

/* FP16_OVFL of rsrc1, and the exceptions of rsrc2 that trap. */
enum { HALVES_SATURATE = 1 << 26, TRAPPING = 0x7f << 24 };

/* MODE's float bits are rsrc1's 12 to 19, DX10_CLAMP and IEEE its 21 and 23. */
static uint32_t mode_of(const emu_chip *chip, uint32_t rsrc1) {
  if (chip->generation == EMU_GFX12) return rsrc1 >> 12 & 0xff;
  return (rsrc1 >> 12 & 0xff) | (rsrc1 >> 21 & 1) << 8 | (rsrc1 >> 23 & 1) << 9;
}

static void take_apart(const emu_chip *chip, const layout *d, emu_descriptor *out) {
  out->is_legacy = is_legacy(d);
  out->wave_size = chip->generation != EMU_GFX9 && (d->properties & WAVE32) ? 32 : 64;
  out->user = d->properties & 0x7f;
  out->user_sgprs = count_user_registers(out->user);
  for (int i = 0; i < 3; i++) out->has_group_id[i] = d->rsrc2 >> (7 + i) & 1;
  out->has_group_info = d->rsrc2 >> 10 & 1;
  /* gfx11 has private memory of its own accord: no register is filled for it */
  out->has_wave_offset = (chip->generation & EMU_BEFORE_GFX11) && (d->rsrc2 & 1);
  uint32_t last_id = d->rsrc2 >> 11 & 3; /* dimension; 3 means the same as 2 */
  out->item_ids = (uint8_t)(last_id < 2 ? last_id + 1 : 3);
  out->mode = mode_of(chip, d->rsrc1);
  out->sgprs = count_scalar_registers(chip, d);
  count_vector_registers(chip, d, out);
}

bool emu_descriptor_read(const emu_chip *chip, const emu_map *map, uint64_t address,
                         emu_descriptor *out, emu_fault *fault) {
  unsigned long long at = address;
  layout d;
  *out = (emu_descriptor){0};
  if (address % sizeof d || !emu_map_allows(map, address, sizeof d, EMU_PAGE_READ)) {
    return refuse(fault,
                  "the dispatch packet's kernel object, 0x%llx, is no kernel descriptor in "
                  "this GPU's memory",
                  at);
  }
  memcpy(&d, (const void *)address, sizeof d);
  take_apart(chip, &d, out);
  out->entry = address + (uint64_t)d.entry_offset;
  if (out->entry % CODE_ALIGNMENT || !emu_map_allows(map, out->entry, 4, EMU_PAGE_READ)) {
    return refuse(fault, "the kernel descriptor at 0x%llx leads to 0x%llx, where no code can begin",
                  at, (unsigned long long)out->entry);
  }
  uint32_t counted = d.rsrc2 >> 1 & 0x1f;
  if (out->user_sgprs > MAX_USER_SGPRS || counted < out->user_sgprs) {
    return refuse(fault, "the kernel descriptor at 0x%llx fills %u scalar registers, but counts %u",
                  at, out->user_sgprs, counted);
  }
  if (!out->is_legacy && d.kernarg_preload) {
    return refuse(fault,
                  "the kernel descriptor at 0x%llx asks for preloaded arguments, which the "
                  "emulated %s does not have",
                  at, chip->name);
  }
  if ((d.rsrc1 & HALVES_SATURATE) || (d.rsrc2 & TRAPPING)) {
    return refuse(fault,
                  "the kernel descriptor at 0x%llx asks for saturating halves or for exceptions, "
                  "which are not emulated",
                  at);
  }
  if (chip->generation == EMU_GFX9 && (d.properties & WAVE32) && !out->is_legacy) {
    return refuse(fault,
                  "the kernel descriptor at 0x%llx is for wavefronts of 32, which %s does "
                  "not have",
                  at, chip->name);
  }
  out->user_sgprs = (uint8_t)counted;
  return true;
}
