/* The hardware registers that scalar instructions read and write: MODE and its neighbours.
 *
 * AMD's Vega and RDNA2 ISA manuals, "Hardware registers". What is not known stops the wavefront. */
#include "emulator/exec/mode.h"
#include "emulator/exec/ops.h"
#include "emulator/exec/stop.h"
#include "emulator/isa/wave.h"
#include "emulator/support/clock.h"

enum {
  HWREG_MODE = 1,
  HWREG_STATUS = 2,
  HWREG_TRAPSTS = 3,
  HWREG_HW_ID = 4, /* gfx9; 0: everything is the first of its kind */
  HWREG_SH_MEM_BASES = 15,
  HWREG_XCC_ID = 20,      /* gfx942 on: which of its dies; 0, there is one */
  HWREG_FLAT_SCR_LO = 20, /* gfx10 from here */
  HWREG_FLAT_SCR_HI = 21,
  HWREG_XNACK_MASK = 22,
  HWREG_HW_ID1 = 23,
  HWREG_HW_ID2 = 24,
  HWREG_SHADER_CYCLES = 29,
  HWREG_SHADER_CYCLES_HI = 30, /* gfx12 */
  HWREGS = sizeof((emu_wave *)0)->hw / sizeof((emu_wave *)0)->hw[0]
};

/* By generation, which may be written, and which only be read: the others tell of hardware, or
 * steer it in ways that have no meaning here. */
static const uint32_t writable_registers[] = {
    [EMU_GFX9] = 1u << HWREG_MODE | 1u << HWREG_TRAPSTS,
    [EMU_GFX10] = 1u << HWREG_MODE | 1u << HWREG_TRAPSTS | 1u << HWREG_FLAT_SCR_LO |
                  1u << HWREG_FLAT_SCR_HI | 1u << HWREG_XNACK_MASK,
    [EMU_GFX11] = 1u << HWREG_MODE | 1u << HWREG_TRAPSTS,
    [EMU_GFX12] = 1u << HWREG_MODE,
};
static const uint32_t constant_registers[] = {
    [EMU_GFX9] = 1u << HWREG_STATUS | 1u << HWREG_HW_ID | 1u << HWREG_SH_MEM_BASES,
    [EMU_GFX10] = 1u << HWREG_STATUS | 1u << HWREG_SH_MEM_BASES | 1u << HWREG_HW_ID1 |
                  1u << HWREG_HW_ID2 | 1u << HWREG_SHADER_CYCLES,
    [EMU_GFX11] = 1u << HWREG_STATUS | 1u << HWREG_SH_MEM_BASES | 1u << HWREG_HW_ID1 |
                  1u << HWREG_HW_ID2 | 1u << HWREG_SHADER_CYCLES,
    [EMU_GFX12] = 1u << HWREG_HW_ID1 | 1u << HWREG_HW_ID2 | 1u << HWREG_SHADER_CYCLES |
                  1u << HWREG_SHADER_CYCLES_HI,
};

/* The immediate of s_getreg and s_setreg: number, first bit and width of the field. */
typedef struct field {
  uint32_t reg, shift, mask;
} field;

static field field_of(const emu_inst *inst) {
  uint32_t imm = (uint16_t)inst->imm, width = (imm >> 11) + 1;
  return (field){.reg = imm & 0x3f, .shift = imm >> 6 & 31, .mask = UINT32_MAX >> (32 - width)};
}

static uint32_t read_status(const emu_wave *wave) {
  uint32_t execz = emu_exec(wave) == 0, vccz = emu_vcc(wave) == 0;
  return wave->scc | execz << 9 | vccz << 10;
}

static uint32_t read_register(const emu_wave *wave, const emu_inst *inst, uint32_t reg) {
  bool is_whole = inst->chip == EMU_GFX12; /* the count of cycles has 64 bits */
  switch (reg) {
    case HWREG_MODE: return wave->mode.raw;
    case HWREG_STATUS: return read_status(wave);
    case HWREG_SH_MEM_BASES: return EMU_SHARED_APERTURE | EMU_PRIVATE_APERTURE >> 16;
    case HWREG_SHADER_CYCLES: return (uint32_t)emu_clock_ns() & (is_whole ? UINT32_MAX : 0xfffff);
    case HWREG_SHADER_CYCLES_HI: return is_whole ? (uint32_t)(emu_clock_ns() >> 32) : wave->hw[reg];
    default: return wave->hw[reg];
  }
}

static void write_register(emu_wave *wave, uint32_t reg, uint32_t value) {
  if (reg == HWREG_MODE) {
    if ((wave->mode.raw ^ value) & EMU_MODE_INDEX) wave->state = EMU_PAUSED;
    emu_mode_set(&wave->mode, wave->group->dispatch->chip, value);
  } else {
    wave->hw[reg] = value;
  }
}

static bool is_readable(const emu_wave *wave, const emu_inst *inst, uint32_t reg) {
  uint32_t readable = writable_registers[inst->chip] | constant_registers[inst->chip];
  bool has_dies = inst->chip == EMU_GFX9 && wave->group->dispatch->chip->minor >= 4;
  if (has_dies) readable |= 1u << HWREG_XCC_ID;
  return reg < HWREGS && (readable >> reg & 1);
}

static void run_getreg_b32(emu_wave *wave, const emu_inst *inst) {
  const field part = field_of(inst);
  if (!is_readable(wave, inst, part.reg)) {
    emu_stop(wave, inst, EMU_FAULT_ILLEGAL, -1,
             "s_getreg_b32 reads hardware register %u, which the emulated GPU does not have",
             part.reg);
    return;
  }
  emu_set_s32(wave, &inst->dst[0], read_register(wave, inst, part.reg) >> part.shift & part.mask);
}

static void set_field(emu_wave *wave, const emu_inst *inst, uint32_t value) {
  const field part = field_of(inst);
  if (part.reg >= HWREGS || !(writable_registers[inst->chip] >> part.reg & 1)) {
    emu_stop(
        wave, inst, EMU_FAULT_ILLEGAL, -1,
        "%s writes hardware register %u; kernels may write MODE, TRAPSTS, and on gfx10 FLAT_SCR "
        "and XNACK_MASK",
        inst->op->name, part.reg);
    return;
  }
  uint32_t mask = part.mask << part.shift;
  uint32_t made = (read_register(wave, inst, part.reg) & ~mask) | (value << part.shift & mask);
  uint32_t unknown = part.reg == HWREG_MODE ? made & EMU_MODE_UNKNOWN : 0;
  if (!unknown) {
    write_register(wave, part.reg, made);
    return;
  }
  emu_stop(wave, inst, EMU_FAULT_ILLEGAL, -1,
           "%s sets bits 0x%x of MODE: exceptions, saturating halves and skipped instructions are "
           "not emulated",
           inst->op->name, unknown);
}

static void run_setreg_b32(emu_wave *wave, const emu_inst *inst) {
  set_field(wave, inst, emu_s32(wave, &inst->src[0]));
}

static void run_round_mode(emu_wave *wave, const emu_inst *inst) {
  emu_mode_set(&wave->mode, wave->group->dispatch->chip,
               (wave->mode.raw & ~0x0fu) | (inst->imm & 0x0f));
}

static void run_denorm_mode(emu_wave *wave, const emu_inst *inst) {
  emu_mode_set(&wave->mode, wave->group->dispatch->chip,
               (wave->mode.raw & ~0xf0u) | (inst->imm & 0x0f) << 4);
}

/* ---- the table ------------------------------------------------------------------------------ */

/* Columns: name, function, generations, types of the destination and of the source. */
#define OP(name, run, generations, to, from) \
  EMU_ROW(name, run, generations, EMU_CLASS_SALU, 0, to, from),

/* clang-format off */
const emu_op emu_hwreg_ops[] = {
  OP("s_getreg_b32", run_getreg_b32, EMU_ALL, EMU_B32, EMU_NONE)
  OP("s_setreg_b32", run_setreg_b32, EMU_ALL, EMU_NONE, EMU_B32)
  OP("s_setreg_imm32_b32", run_setreg_b32, EMU_ALL, EMU_NONE, EMU_B32)
  OP("s_round_mode", run_round_mode, EMU_GFX10_ON, EMU_NONE, EMU_NONE)
  OP("s_denorm_mode", run_denorm_mode, EMU_GFX10_ON, EMU_NONE, EMU_NONE)
  {.name = NULL},
};
