/* A wavefront at work: registers, mode, and the workgroup and dispatch around it.
 *
 * One thread runs the wavefronts of one workgroup in turn, so nothing here is shared but the
 * dispatch, whose fields are constant while it runs unless marked.  Vector registers are rows of 64
 * words, one a lane, so that an instruction is a loop over a row that the compiler vectorises. */
#ifndef ROC_EMULATOR_ISA_WAVE_H
#define ROC_EMULATOR_ISA_WAVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emulator/isa/chip.h"
#include "emulator/isa/inst.h"
#include "emulator/support/map.h"

enum { EMU_LANES = 64, EMU_VGPRS = 512, EMU_MAX_WAVES = 32 /* of a workgroup */ };

/* Upper halves of the addresses by which flat instructions reach LDS and private memory; the thunk
 * gives the same to ROCR. */
enum { EMU_SHARED_APERTURE = 0x10000, EMU_PRIVATE_APERTURE = 0x20000 };

typedef union emu_row {
  uint32_t u[EMU_LANES];
  int32_t i[EMU_LANES];
  float f[EMU_LANES];
} __attribute__((aligned(64))) emu_row;

/* Two rows, low words first, joined: what 64-bit operations compute on. */
typedef union emu_row64 {
  uint64_t u[EMU_LANES];
  int64_t i[EMU_LANES];
  double f[EMU_LANES];
} __attribute__((aligned(64))) emu_row64;

typedef struct emu_group emu_group;
typedef struct emu_dispatch emu_dispatch;
typedef struct emu_program emu_program;
typedef struct emu_watch emu_watch; /* report/watch.h */

typedef enum emu_state {
  EMU_RUNNING,
  EMU_PAUSED, /* its turn is over, in the next one it is running */
  EMU_AT_BARRIER,
  EMU_ENDED,
  EMU_STOPPED /* by a fault: the dispatch has the message */
} emu_state;

/* The MODE register, taken apart.  Rounding: 0 nearest even, 1 up, 2 down, 3 to zero.  Denormals:
 * bit 0 sources are kept, bit 1 results are kept. */
/* Minima and maxima: a signaling NaN is the result; of two NaNs it is the first. */
enum { EMU_NANS_SIGNAL = 1, EMU_NANS_FIRST = 2 };

typedef struct emu_mode {
  uint32_t raw;                                 /* as s_getreg reads it */
  uint8_t round32, round64, denorm32, denorm64; /* …64: also of halves */
  bool dx10_clamp, ieee;
  uint8_t nans;  /* EMU_NANS_…: what minima and maxima make of NaNs */
  bool is_plain; /* all nearest even, all denormals kept: what compilers set, and the fast path */
} emu_mode;

/* Kinds of loads, which have counters of their own to wait for. */
typedef enum emu_load_kind {
  EMU_LOAD_MEMORY,
  EMU_LOAD_LDS,
  EMU_LOAD_SCALAR,
  EMU_LOAD_KINDS
} emu_load_kind;

/* A wavefront's own time, as --stats models it, in cycles; of each kind when the first and the last
 * load is there that was not waited for, 0 for none. */
typedef struct emu_modelled {
  uint64_t now, first[EMU_LOAD_KINDS], last[EMU_LOAD_KINDS];
} emu_modelled;

struct emu_wave {
  const emu_inst *next;
  uint8_t state; /* emu_state */
  uint8_t width; /* 32 or 64 lanes */
  bool scc;
  bool has_signalled;    /* that it has come to the barrier, which is not open yet */
  bool may_pass;         /* the barrier it has signalled is open */
  bool lanes_stale;      /* EXEC was written since `lanes` was made */
  uint32_t s[EMU_SGPRS]; /* VCC, M0 and EXEC included; written through emu_set_s32/64 */
  emu_mode mode;
  emu_row lanes;     /* ~0 where the EXEC bit is set, 0 elsewhere; by emu_lanes */
  emu_row *v;        /* EMU_VGPRS rows, those of accumulation registers from EMU_VGPRS / 2 on */
  uint32_t nv, nacc; /* registers of each kind that the kernel was granted */
  uint32_t number;   /* in its group, from 0 */
  uint32_t hw[32];   /* other hardware registers, by hwreg number */
  uint8_t *scratch;  /* private memory: private_bytes a lane, lane after lane */
  uint32_t scratch_bytes; /* a lane */
  uint64_t executed;      /* instructions; the loop adds its share when it leaves */
  emu_watch *watch;       /* NULL unless --stats or --check */
  uint64_t watched_steps, watched_acquire, watched_exec; /* the watch's own */
  uint32_t watched_last;
  emu_modelled modelled;
  emu_group *group;
};

struct emu_group {
  emu_dispatch *dispatch;
  uint32_t id[3];
  uint32_t local[3];  /* items it has: fewer than the dispatch's local at the end of the grid */
  uint8_t *lds;       /* 64-byte aligned */
  uint32_t lds_bytes; /* of the packet */
  uint32_t nwaves, nended;
  uint32_t
      nsignalled; /* wavefronts that have come to the barrier, those that ended meanwhile too */
  emu_wave *waves;
  void *watched; /* the watch's own; emu_watch_group makes it, emu_watch_group_end frees it */
};

/* Says why the dispatch ends; a code of the queue's error protocol. */
typedef enum emu_fault_kind {
  EMU_FAULT_NONE,
  EMU_FAULT_MEMORY,   /* an address no memory is mapped at, or not for this access */
  EMU_FAULT_APERTURE, /* LDS or private memory out of its range */
  EMU_FAULT_ILLEGAL,  /* an instruction unknown to us or to the chip */
  EMU_FAULT_TRAP,     /* s_trap, and what --check found */
  EMU_FAULT_PACKET    /* the dispatch packet or the descriptor makes no sense */
} emu_fault_kind;

/* What of it, as the queue's error protocol tells them apart. */
typedef enum emu_packet_fault {
  EMU_PACKET_BAD, /* a combination of fields that is not allowed */
  EMU_PACKET_DIMENSIONS,
  EMU_PACKET_WORKGROUP, /* too large */
  EMU_PACKET_LDS,       /* more than there is */
  EMU_PACKET_REGISTERS,
  EMU_PACKET_CODE /* no kernel at the address, or one for another GPU */
} emu_packet_fault;

typedef struct emu_fault {
  emu_fault_kind kind;
  emu_packet_fault packet; /* PACKET */
  uint64_t address;        /* MEMORY */
  bool is_write;
  char text[512]; /* what, address, kernel, work-item, line: one line without a newline */
} emu_fault;

/* What a dispatch needs of its queue. */
typedef struct emu_queue_view {
  uint64_t queue_address;  /* hsa_queue_t / amd_queue_t, for kernels that ask for it */
  uint64_t packet_address; /* of the packet in the ring: the dispatch pointer of kernels */
  uint64_t dispatch_id;
  _Atomic bool *stop;                               /* ends a running dispatch soon */
  void (*raise_event)(void *ud, uint32_t event_id); /* s_sendmsg of an interrupt */
  void *ud;
} emu_queue_view;

struct emu_dispatch {
  const emu_chip *chip;
  const emu_map *map;
  const emu_program *program;
  const void *packet; /* hsa_kernel_dispatch_packet_t */
  const emu_queue_view *view;
  const char *kernel; /* its name, or "?" */
  uint32_t grid[3], local[3], groups[3];
  _Atomic bool *stop;  /* set by any thread: end soon, without a fault */
  uint64_t interrupts; /* emu_interrupts() when it began: one more ends it in the same way */
  emu_fault *fault;    /* of the first to set has_fault; whole when the dispatch has ended */
  _Atomic bool has_fault;
  emu_watch *watch;
  bool is_runtime; /* one of ROCR's own kernels, which copy and fill */
};

/* As many bits as the wavefront has lanes. */
static inline uint64_t emu_all_lanes(const emu_wave *wave) {
  return wave->width == 64 ? UINT64_MAX : UINT32_MAX;
}

/* ---- scalar operands ------------------------------------------------------------------------ */

static inline uint64_t emu_exec(const emu_wave *wave) {
  uint64_t high = wave->width == 64 ? wave->s[EMU_SGPR_EXEC + 1] : 0;
  return wave->s[EMU_SGPR_EXEC] | high << 32;
}

static inline void emu_set_exec(emu_wave *wave, uint64_t mask) {
  wave->s[EMU_SGPR_EXEC] = (uint32_t)mask;
  if (wave->width == 64) wave->s[EMU_SGPR_EXEC + 1] = (uint32_t)(mask >> 32);
  wave->lanes_stale = true;
}

static inline uint64_t emu_vcc(const emu_wave *wave) {
  uint64_t high = wave->width == 64 ? wave->s[EMU_SGPR_VCC + 1] : 0;
  return wave->s[EMU_SGPR_VCC] | high << 32;
}

static inline uint32_t emu_sgpr(const emu_wave *wave, uint32_t reg) {
  return wave->s[reg]; /* NULL's word is kept 0 */
}

static inline void emu_set_sgpr(emu_wave *wave, uint32_t reg, uint32_t value) {
  if (reg == EMU_SGPR_NULL) return;
  wave->s[reg] = value;
  if (reg >= EMU_SGPR_EXEC) wave->lanes_stale = true;
}

/* A scalar source of up to 32 bits. */
static inline uint32_t emu_s32(const emu_wave *wave, const emu_operand *operand) {
  switch (operand->kind) {
    case EMU_OPERAND_SGPR: return emu_sgpr(wave, operand->reg);
    case EMU_OPERAND_CONST: return (uint32_t)operand->value;
    case EMU_OPERAND_SCC: return wave->scc;
    case EMU_OPERAND_VCCZ: return emu_vcc(wave) == 0;
    case EMU_OPERAND_EXECZ: return emu_exec(wave) == 0;
    default: return 0;
  }
}

static inline uint64_t emu_s64(const emu_wave *wave, const emu_operand *operand) {
  if (operand->kind == EMU_OPERAND_SGPR) {
    if (operand->reg == EMU_SGPR_NULL) return 0;
    return emu_sgpr(wave, operand->reg) | (uint64_t)emu_sgpr(wave, operand->reg + 1u) << 32;
  }
  return operand->kind == EMU_OPERAND_CONST ? operand->value : emu_s32(wave, operand);
}

static inline void emu_set_s32(emu_wave *wave, const emu_operand *operand, uint32_t value) {
  emu_set_sgpr(wave, operand->reg, value);
}

static inline void emu_set_s64(emu_wave *wave, const emu_operand *operand, uint64_t value) {
  if (operand->reg == EMU_SGPR_NULL) return;
  emu_set_sgpr(wave, operand->reg, (uint32_t)value);
  emu_set_sgpr(wave, operand->reg + 1u, (uint32_t)(value >> 32));
}

/* A lane mask: 64 bits, or in wave32 one register. */
static inline uint64_t emu_mask(const emu_wave *wave, const emu_operand *operand) {
  return wave->width == 64 ? emu_s64(wave, operand) : emu_s32(wave, operand);
}

static inline void emu_set_mask(emu_wave *wave, const emu_operand *operand, uint64_t mask) {
  if (wave->width == 64) {
    emu_set_s64(wave, operand, mask);
  } else {
    emu_set_s32(wave, operand, (uint32_t)mask);
  }
}

#endif
