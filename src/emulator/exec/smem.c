/* Scalar memory instructions: loads into scalar registers, clocks, and the scalar caches.
 *
 * Addresses are rounded down to dwords (AMD's Vega ISA manual, 7.2).  A load is done at once, so
 * that there is nothing to wait for. */
#include <stdatomic.h>

#include "emulator/exec/ops.h"
#include "emulator/exec/stop.h"
#include "emulator/isa/wave.h"
#include "emulator/report/watch.h"
#include "emulator/support/clock.h"

enum { MAX_DWORDS = 16 };

/* Reports the access to the watch, as one of lane 0. */
static void report_to_watch(emu_wave *wave, const emu_inst *inst, uint64_t address,
                            uint32_t ndwords, const uint32_t *values) {
  uint64_t addresses[EMU_LANES] = {address};
  emu_watch_access(wave, inst, EMU_GLOBAL, values ? EMU_STORE : EMU_LOAD, addresses, 1, 4 * ndwords,
                   values);
}

static bool may_access(emu_wave *wave, const emu_inst *inst, uint64_t address, uint32_t ndwords,
                       unsigned access) {
  if (emu_map_allows(wave->group->dispatch->map, address, 4 * ndwords, access)) return true;
  emu_stop_memory(wave, inst, -1, address, 4 * ndwords, access == EMU_PAGE_WRITE);
  return false;
}

/* The offsets that follow source `n`, the base: a register or number, and the one after
 * "offset:". */
static uint64_t offset_of(const emu_wave *wave, const emu_inst *inst, unsigned n) {
  const emu_operand *operand = &inst->src[n];
  bool is_number = operand->kind == EMU_OPERAND_CONST;
  int64_t offset = is_number ? (int32_t)operand->value : (int64_t)emu_s32(wave, operand);
  return (uint64_t)(offset + inst->mod.offset);
}

static void put_dwords(emu_wave *wave, const emu_inst *inst, const uint32_t *values,
                       uint32_t ndwords) {
  for (uint32_t i = 0; i < ndwords; i++) emu_set_sgpr(wave, inst->dst[0].reg + i, values[i]);
}

static uint32_t load_dword(uint64_t address) {
  return atomic_load_explicit((const _Atomic uint32_t *)address, memory_order_relaxed);
}

/* Loads as many dwords as the text has registers. */
static void run_load(emu_wave *wave, const emu_inst *inst) {
  uint64_t address = (emu_s64(wave, &inst->src[0]) + offset_of(wave, inst, 1)) & ~3ull;
  uint32_t ndwords = inst->dst[0].nregs, values[MAX_DWORDS];
  if (!may_access(wave, inst, address, ndwords, EMU_PAGE_READ)) return;
  if (wave->watch) report_to_watch(wave, inst, address, ndwords, NULL);
  for (uint32_t i = 0; i < ndwords; i++) values[i] = load_dword(address + 4ull * i);
  put_dwords(wave, inst, values, ndwords);
}

/* The fields of a buffer resource that scalar loads use: base, and the number of bytes from there
 * on. */
typedef struct extent {
  uint64_t base, nbytes;
} extent;

static extent extent_of(const emu_wave *wave, const emu_operand *operand) {
  uint32_t word[3];
  for (unsigned i = 0; i < 3; i++) word[i] = emu_sgpr(wave, operand->reg + i);
  uint64_t stride = word[1] >> 16 & 0x3fff;
  return (extent){.base = word[0] | (uint64_t)(word[1] & 0xffff) << 32,
                  .nbytes = stride ? stride * word[2] : word[2]};
}

/* How many of the dwords at `offset` the buffer has; none where a negative offset made a huge
 * one. */
static uint32_t count_valid(const extent *buffer, uint64_t offset, uint32_t ndwords) {
  uint64_t left = offset < buffer->nbytes ? (buffer->nbytes - offset) / 4 : 0;
  return left < ndwords ? (uint32_t)left : ndwords;
}

/* Dwords outside of the buffer read as 0. */
static void run_buffer_load(emu_wave *wave, const emu_inst *inst) {
  extent buffer = extent_of(wave, &inst->src[0]);
  uint64_t offset = offset_of(wave, inst, 1) & ~3ull;
  uint64_t address = (buffer.base & ~3ull) + offset;
  uint32_t ndwords = inst->dst[0].nregs, values[MAX_DWORDS] = {0};
  uint32_t nvalid = count_valid(&buffer, offset, ndwords);
  if (nvalid && !may_access(wave, inst, address, nvalid, EMU_PAGE_READ)) return;
  if (nvalid && wave->watch) report_to_watch(wave, inst, address, nvalid, NULL);
  for (uint32_t i = 0; i < nvalid; i++) values[i] = load_dword(address + 4ull * i);
  put_dwords(wave, inst, values, ndwords);
}

/* ---- bytes and halves of gfx12 --------------------------------------------------------------- */

/* Extended; the address of a byte is not rounded. */
static void load_small(emu_wave *wave, const emu_inst *inst, uint64_t at, uint32_t nbytes,
                       bool is_signed) {
  uint64_t address = nbytes == 2 ? at & ~1ull : at, word_address = address & ~3ull;
  if (!may_access(wave, inst, word_address, 1, EMU_PAGE_READ)) return;
  if (wave->watch) report_to_watch(wave, inst, word_address, 1, NULL);
  uint32_t unused = 32 - 8 * nbytes;
  uint32_t value = load_dword(word_address) >> (address & 3) * 8 << unused;
  value = is_signed ? (uint32_t)((int32_t)value >> unused) : value >> unused;
  put_dwords(wave, inst, &value, 1);
}

/* Outside of the buffer they are 0. */
static void load_small_of_buffer(emu_wave *wave, const emu_inst *inst, uint32_t nbytes,
                                 bool is_signed) {
  extent buffer = extent_of(wave, &inst->src[0]);
  uint64_t offset = offset_of(wave, inst, 1), end = buffer.nbytes - nbytes;
  const uint32_t zero = 0;
  if (buffer.nbytes < nbytes || offset > end) {
    put_dwords(wave, inst, &zero, 1);
  } else {
    load_small(wave, inst, buffer.base + offset, nbytes, is_signed);
  }
}

#define SMALL(type, nbytes, is_signed)                                       \
  static void run_load_##type(emu_wave *wave, const emu_inst *inst) {        \
    uint64_t at = emu_s64(wave, &inst->src[0]) + offset_of(wave, inst, 1);   \
    load_small(wave, inst, at, nbytes, is_signed);                           \
  }                                                                          \
  static void run_buffer_load_##type(emu_wave *wave, const emu_inst *inst) { \
    load_small_of_buffer(wave, inst, nbytes, is_signed);                     \
  }
SMALL(u8, 1, false)
SMALL(i8, 1, true)
SMALL(u16, 2, false)
SMALL(i16, 2, true)

static void run_store(emu_wave *wave, const emu_inst *inst) {
  uint64_t address = (emu_s64(wave, &inst->src[1]) + offset_of(wave, inst, 2)) & ~3ull;
  uint32_t ndwords = inst->src[0].nregs, values[MAX_DWORDS];
  if (!may_access(wave, inst, address, ndwords, EMU_PAGE_WRITE)) return;
  for (uint32_t i = 0; i < ndwords; i++) values[i] = emu_sgpr(wave, inst->src[0].reg + i);
  if (wave->watch) report_to_watch(wave, inst, address, ndwords, values);
  for (uint32_t i = 0; i < ndwords; i++) {
    atomic_store_explicit((_Atomic uint32_t *)(address + 4ull * i), values[i],
                          memory_order_relaxed);
  }
}

/* ---- clocks and caches ---------------------------------------------------------------------- */

/* A cycle is a nanosecond. */
static void run_memtime(emu_wave *wave, const emu_inst *inst) {
  emu_set_s64(wave, &inst->dst[0], emu_clock_ns());
}

static void run_memrealtime(emu_wave *wave, const emu_inst *inst) {
  emu_set_s64(wave, &inst->dst[0], emu_clock_ticks());
}

/* There are no caches. */
static void run_nothing(emu_wave *wave, const emu_inst *inst) {
  (void)wave;
  (void)inst;
}

/* ---- the table ------------------------------------------------------------------------------ */

#define LOAD(name, run, base) \
  EMU_ROW(name, run, EMU_ALL, EMU_CLASS_SMEM, 0, EMU_DATA, base, EMU_B32),
#define NEW(name, run, base) \
  EMU_ROW(name, run, EMU_GFX12, EMU_CLASS_SMEM, 0, EMU_DATA, base, EMU_B32),
#define PREFETCH(name, ...) \
  EMU_ROW(name, run_nothing, EMU_GFX12, EMU_CLASS_NOTHING, 0, EMU_NONE, __VA_ARGS__),
#define STORE(name) \
  EMU_ROW(name, run_store, EMU_GFX9, EMU_CLASS_SMEM, 0, EMU_NONE, EMU_DATA, EMU_B64, EMU_B32),
#define CLOCK(name, run) EMU_ROW(name, run, EMU_ALL, EMU_CLASS_SMEM, 0, EMU_B64, EMU_NONE),
#define CACHE(name, generations) \
  EMU_ROW(name, run_nothing, generations, EMU_CLASS_CACHE, 0, EMU_NONE, EMU_NONE),
#define PROBE(name, base) \
  EMU_ROW(name, run_nothing, EMU_ALL, EMU_CLASS_CACHE, 0, EMU_NONE, EMU_B32, base, EMU_B32),

/* clang-format off */
const emu_op emu_smem_ops[] = {
  LOAD("s_load_dword", run_load, EMU_B64)
  LOAD("s_load_dwordx2", run_load, EMU_B64)
  LOAD("s_load_dwordx4", run_load, EMU_B64)
  LOAD("s_load_dwordx8", run_load, EMU_B64)
  LOAD("s_load_dwordx16", run_load, EMU_B64)
  LOAD("s_buffer_load_dword", run_buffer_load, EMU_B128)
  LOAD("s_buffer_load_dwordx2", run_buffer_load, EMU_B128)
  LOAD("s_buffer_load_dwordx4", run_buffer_load, EMU_B128)
  LOAD("s_buffer_load_dwordx8", run_buffer_load, EMU_B128)
  LOAD("s_buffer_load_dwordx16", run_buffer_load, EMU_B128)
  NEW("s_load_b96", run_load, EMU_B64)
  NEW("s_buffer_load_b96", run_buffer_load, EMU_B128)
  NEW("s_load_u8", run_load_u8, EMU_B64)
  NEW("s_load_i8", run_load_i8, EMU_B64)
  NEW("s_load_u16", run_load_u16, EMU_B64)
  NEW("s_load_i16", run_load_i16, EMU_B64)
  NEW("s_buffer_load_u8", run_buffer_load_u8, EMU_B128)
  NEW("s_buffer_load_i8", run_buffer_load_i8, EMU_B128)
  NEW("s_buffer_load_u16", run_buffer_load_u16, EMU_B128)
  NEW("s_buffer_load_i16", run_buffer_load_i16, EMU_B128)
  PREFETCH("s_prefetch_data", EMU_B64, EMU_B32, EMU_B32, EMU_B32)
  PREFETCH("s_prefetch_inst", EMU_B64, EMU_B32, EMU_B32, EMU_B32)
  PREFETCH("s_prefetch_data_pc_rel", EMU_B32, EMU_B32, EMU_B32)
  PREFETCH("s_prefetch_inst_pc_rel", EMU_B32, EMU_B32, EMU_B32)
  PREFETCH("s_buffer_prefetch_data", EMU_B128, EMU_B32, EMU_B32, EMU_B32)
  STORE("s_store_dword")
  STORE("s_store_dwordx2")
  STORE("s_store_dwordx4")
  CLOCK("s_memtime", run_memtime)
  CLOCK("s_memrealtime", run_memrealtime)
  CACHE("s_dcache_inv", EMU_ALL)
  CACHE("s_dcache_inv_vol", EMU_GFX9)
  CACHE("s_dcache_wb", EMU_ALL)
  CACHE("s_dcache_wb_vol", EMU_GFX9)
  CACHE("s_gl1_inv", EMU_GFX10_ON)
  PROBE("s_atc_probe", EMU_B64)
  PROBE("s_atc_probe_buffer", EMU_B128)
  {.name = NULL},
};
