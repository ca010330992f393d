/* ds_ instructions: the workgroup's LDS, and data exchanged between lanes by the LDS hardware.
 *
 * A lane's address is its address register plus the offset, modulo 2^32; the two-address forms
 * count their offsets in elements, or 64 of them (st64).  Two arguments stand in the order of the
 * manuals: a compare-and-swap has the compared value first, other than in global memory; gfx11 has
 * it second here, too. */
#include "emulator/exec/access.h"
#include "emulator/exec/ops.h"
#include "emulator/exec/transpose.h"

static void begin_access(const emu_wave *wave, emu_access_kind kind, uint32_t nbytes,
                         emu_access *access) {
  access->kind = (uint8_t)kind;
  access->nbytes = nbytes;
  access->values = NULL;
  access->lanes = emu_exec(wave);
}

/* Addresses from register operand `n` plus `offset`. */
static void make_addresses(emu_wave *wave, const emu_inst *inst, unsigned n, uint32_t offset,
                           emu_access *access) {
  const emu_row *row = wave->v + inst->src[n].reg;
  for (unsigned lane = 0; lane < EMU_LANES; lane++) {
    access->at[lane] = (uint32_t)(row->u[lane] + offset);
  }
}

/* ---- loads and stores ----------------------------------------------------------------------- */

static void read_one(emu_wave *wave, const emu_inst *inst, emu_form form) {
  emu_access access;
  begin_access(wave, EMU_LOAD, emu_form_bytes(form), &access);
  make_addresses(wave, inst, 0, (uint32_t)inst->mod.offset, &access);
  emu_load(wave, inst, emu_reach_lds, &access, form, wave->v + inst->dst[0].reg);
}

/* What 16 lanes read, one after the other, is a matrix with 16 columns: lane n gets column n. */
static unsigned column_element(unsigned lane, unsigned n) {
  return 16 * n + lane;
}

static void read_transposed(emu_wave *wave, const emu_inst *inst, emu_form form, unsigned bits) {
  if (!emu_can_transpose(wave, inst)) return;
  emu_access access;
  emu_row rows[3];
  uint32_t nbytes = emu_form_bytes(form);
  begin_access(wave, EMU_LOAD, nbytes, &access);
  make_addresses(wave, inst, 0, (uint32_t)inst->mod.offset, &access);
  emu_load(wave, inst, emu_reach_lds, &access, form, rows);
  emu_transposition how = {(uint8_t)bits, (uint8_t)(8 * nbytes / bits), column_element};
  if (wave->state == EMU_RUNNING) emu_transpose(wave, &how, rows, wave->v + inst->dst[0].reg);
}

static void write_one(emu_wave *wave, const emu_inst *inst, emu_form form) {
  emu_access access;
  begin_access(wave, EMU_STORE, emu_form_bytes(form), &access);
  make_addresses(wave, inst, 0, (uint32_t)inst->mod.offset, &access);
  emu_store(wave, inst, emu_reach_lds, &access, form, wave->v + inst->src[1].reg);
}

static void read_two(emu_wave *wave, const emu_inst *inst, emu_form form, uint32_t unit) {
  emu_access first, second;
  uint32_t nbytes = emu_form_bytes(form);
  begin_access(wave, EMU_LOAD, nbytes, &first);
  second = first;
  make_addresses(wave, inst, 0, (uint32_t)inst->mod.offset * unit, &first);
  make_addresses(wave, inst, 0, (uint32_t)inst->mod.offset1 * unit, &second);
  unsigned reg = inst->dst[0].reg;
  emu_load(wave, inst, emu_reach_lds, &first, form, wave->v + reg);
  if (wave->state != EMU_RUNNING) return;
  emu_load(wave, inst, emu_reach_lds, &second, form, wave->v + reg + nbytes / 4);
}

static void write_two(emu_wave *wave, const emu_inst *inst, emu_form form, uint32_t unit) {
  emu_access access;
  uint32_t offsets[] = {(uint32_t)inst->mod.offset, (uint32_t)inst->mod.offset1};
  for (unsigned i = 0; i < 2 && wave->state == EMU_RUNNING; i++) {
    begin_access(wave, EMU_STORE, emu_form_bytes(form), &access);
    make_addresses(wave, inst, 0, offsets[i] * unit, &access);
    emu_store(wave, inst, emu_reach_lds, &access, form, wave->v + inst->src[1 + i].reg);
  }
}

/* Lane n's word of an array that begins at M0 plus the offset. */
static void make_addtid(emu_wave *wave, const emu_inst *inst, emu_access *access) {
  uint32_t base = (wave->s[EMU_SGPR_M0] & 0xffff) + (uint32_t)inst->mod.offset;
  for (unsigned lane = 0; lane < EMU_LANES; lane++) access->at[lane] = base + 4 * (uint64_t)lane;
}

static void run_read_addtid_b32(emu_wave *wave, const emu_inst *inst) {
  emu_access access;
  begin_access(wave, EMU_LOAD, 4, &access);
  make_addtid(wave, inst, &access);
  emu_load(wave, inst, emu_reach_lds, &access, EMU_FORM_B32, wave->v + inst->dst[0].reg);
}

static void run_write_addtid_b32(emu_wave *wave, const emu_inst *inst) {
  emu_access access;
  begin_access(wave, EMU_STORE, 4, &access);
  make_addtid(wave, inst, &access);
  emu_store(wave, inst, emu_reach_lds, &access, EMU_FORM_B32, wave->v + inst->src[0].reg);
}

/* ---- atomics -------------------------------------------------------------------------------- */

static void update(emu_wave *wave, const emu_inst *inst, uint32_t nbytes, emu_combine *combine) {
  emu_access access;
  begin_access(wave, EMU_ATOMIC, nbytes, &access);
  make_addresses(wave, inst, 0, (uint32_t)inst->mod.offset, &access);
  bool has_other = inst->src[2].kind == EMU_OPERAND_VGPR;
  bool is_wanted = inst->dst[0].kind == EMU_OPERAND_VGPR;
  emu_update what = {.combine = combine,
                     .data = wave->v + inst->src[1].reg,
                     .other = wave->v + inst->src[has_other ? 2 : 1].reg,
                     .result = is_wanted ? wave->v + inst->dst[0].reg : NULL};
  emu_access_update(wave, inst, emu_reach_lds, &access, &what);
}

/* The mode says whether denormals count. */
static void run_add_f32(emu_wave *wave, const emu_inst *inst) {
  update(wave, inst, 4, wave->mode.denorm32 == 3 ? emu_add_f32 : emu_add_f32_flushed);
}

/* Results of the first exchange may fall on what the second one needs: that is set aside. */
static void exchange_two(emu_wave *wave, const emu_inst *inst, uint32_t nbytes, uint32_t unit) {
  emu_access first, second;
  begin_access(wave, EMU_ATOMIC, nbytes, &first);
  second = first;
  make_addresses(wave, inst, 0, (uint32_t)inst->mod.offset * unit, &first);
  make_addresses(wave, inst, 0, (uint32_t)inst->mod.offset1 * unit, &second);
  unsigned nwords = nbytes / 4;
  emu_row aside[2];
  for (unsigned i = 0; i < nwords; i++) aside[i] = wave->v[inst->src[2].reg + i];
  emu_row *result = wave->v + inst->dst[0].reg;
  emu_update what = {.combine = nbytes == 4 ? emu_swap_32 : emu_swap_64,
                     .data = wave->v + inst->src[1].reg,
                     .other = wave->v + inst->src[1].reg,
                     .result = result};
  emu_access_update(wave, inst, emu_reach_lds, &first, &what);
  if (wave->state != EMU_RUNNING) return;
  what.data = what.other = aside;
  what.result = result + nwords;
  emu_access_update(wave, inst, emu_reach_lds, &second, &what);
}

/* Adds the number of active lanes to the word at M0 plus the offset, or takes it away; every lane
 * gets what was there. */
static void count_lanes(emu_wave *wave, const emu_inst *inst, emu_combine *combine) {
  emu_access access;
  uint64_t active = emu_exec(wave);
  if (!active) return;
  begin_access(wave, EMU_ATOMIC, 4, &access);
  unsigned leader = (unsigned)__builtin_ctzll(active);
  emu_row count, old;
  access.lanes = (uint64_t)1 << leader;
  access.at[leader] = (wave->s[EMU_SGPR_M0] & 0xffff) + (uint64_t)(uint32_t)inst->mod.offset;
  count.u[leader] = (uint32_t)__builtin_popcountll(active);
  emu_update what = {.combine = combine, .data = &count, .other = &count, .result = &old};
  emu_access_update(wave, inst, emu_reach_lds, &access, &what);
  if (wave->state != EMU_RUNNING) return;
  emu_row *out = wave->v + inst->dst[0].reg;
  EMU_FOR_ACTIVE(lane, active) out->u[lane] = old.u[leader];
}

static void run_append(emu_wave *wave, const emu_inst *inst) {
  count_lanes(wave, inst, emu_add_32);
}

static void run_consume(emu_wave *wave, const emu_inst *inst) {
  count_lanes(wave, inst, emu_sub_32);
}

/* ---- between lanes -------------------------------------------------------------------------- */

/* Lane numbers wrap within 64 lanes on gfx9, within 32 on gfx10, where a wavefront of 64 lanes is
 * two halves. */
static inline unsigned lane_meant(const emu_inst *inst, unsigned lane, uint32_t address) {
  uint32_t number = address / 4;
  return inst->chip == EMU_GFX9 ? number % 64 : number % 32 + (lane & 32);
}

/* Each lane fetches from the lane it names; one that is not in `readable` gives 0. */
static void fetch_from_lanes(emu_wave *wave, const emu_inst *inst, uint64_t readable) {
  uint64_t active = emu_exec(wave);
  const emu_row *address = wave->v + inst->src[0].reg;
  const emu_row data = wave->v[inst->src[1].reg];
  emu_row out;
  EMU_FOR_ACTIVE(lane, active) {
    unsigned from = lane_meant(inst, (unsigned)lane, address->u[lane] + (uint32_t)inst->mod.offset);
    out.u[lane] = readable >> from & 1 ? data.u[from] : 0;
  }
  emu_row *result = wave->v + inst->dst[0].reg;
  EMU_FOR_ACTIVE(lane, active) result->u[lane] = out.u[lane];
}

static void run_bpermute_b32(emu_wave *wave, const emu_inst *inst) {
  fetch_from_lanes(wave, inst, emu_exec(wave));
}

static void run_bpermute_fi_b32(emu_wave *wave, const emu_inst *inst) {
  fetch_from_lanes(wave, inst, emu_all_lanes(wave));
}

/* Each lane sends to the lane it names; if several send to one lane, the last one wins; a lane that
 * gets nothing has 0. */
static void run_permute_b32(emu_wave *wave, const emu_inst *inst) {
  uint64_t active = emu_exec(wave);
  const emu_row *address = wave->v + inst->src[0].reg, *data = wave->v + inst->src[1].reg;
  emu_row out = {.u = {0}};
  EMU_FOR_ACTIVE(lane, active) {
    unsigned to = lane_meant(inst, (unsigned)lane, address->u[lane] + (uint32_t)inst->mod.offset);
    out.u[to] = data->u[lane];
  }
  emu_row *result = wave->v + inst->dst[0].reg;
  EMU_FOR_ACTIVE(lane, active) result->u[lane] = out.u[lane];
}

static unsigned reverse5(unsigned bits) {
  return (bits & 1) << 4 | (bits & 2) << 2 | (bits & 4) | (bits & 8) >> 2 | (bits & 16) >> 4;
}

/* The lane of its half that lane `lane` (0 … 31) reads, by the pattern in the offset (Vega ISA
 * manual, DS_SWIZZLE_B32). */
static unsigned swizzled_lane(uint32_t pattern, unsigned lane) {
  unsigned low = pattern & 31, middle = pattern >> 5 & 31, high = pattern >> 10 & 31;
  if (pattern >= 0xe000) {
    unsigned shift = (unsigned)__builtin_popcount(low);
    return (reverse5(lane) >> shift) | (lane & low);
  }
  if (pattern >= 0xc000) {
    unsigned moved = high & 1 ? lane - middle : lane + middle;
    return (lane & low) | (moved & ~low & 31);
  }
  if (pattern & 0x8000) return (lane & ~3u) | (pattern >> 2 * (lane & 3) & 3);
  return ((lane & low) | middle) ^ high;
}

static void run_swizzle_b32(emu_wave *wave, const emu_inst *inst) {
  uint64_t active = emu_exec(wave);
  const emu_row data = wave->v[inst->src[0].reg];
  emu_row *out = wave->v + inst->dst[0].reg;
  EMU_FOR_ACTIVE(lane, active) {
    unsigned from =
        swizzled_lane((uint32_t)inst->mod.offset & 0xffff, (unsigned)lane & 31) | (lane & 32);
    out->u[lane] = active >> from & 1 ? data.u[from] : 0;
  }
}

static void run_nop(emu_wave *wave, const emu_inst *inst) {
  (void)wave, (void)inst;
}

/* ---- functions ------------------------------------------------------------------------------ */

#define DEFINE(function, call)                                 \
  static void function(emu_wave *wave, const emu_inst *inst) { \
    call;                                                      \
  }
#define READ(name, form) DEFINE(run_##name, read_one(wave, inst, EMU_FORM_##form))
#define WRITE(name, form) DEFINE(run_##name, write_one(wave, inst, EMU_FORM_##form))
#define READ_TRANSPOSED(name, form, bits) \
  DEFINE(run_##name, read_transposed(wave, inst, EMU_FORM_##form, bits))
#define READ_TWO(name, form, unit) DEFINE(run_##name, read_two(wave, inst, EMU_FORM_##form, unit))
#define WRITE_TWO(name, form, unit) DEFINE(run_##name, write_two(wave, inst, EMU_FORM_##form, unit))
#define EXCHANGE_TWO(name, nbytes, unit) DEFINE(run_##name, exchange_two(wave, inst, nbytes, unit))
#define ONE(name, type, on, nbytes, combine) \
  DEFINE(run_##name##_##type, update(wave, inst, nbytes, emu_##combine))
#define TWO(name, type, on, nbytes, combine) ONE(name, type, on, nbytes, combine)
#define RTN(name, type, nbytes, combine, args) ONE(name, type, EMU_ALL, nbytes, combine)
#define CROSS(name, ...)
#define OP(name, class, ...)
#define ATOMIC_OP(name, type)
#include "emulator/exec/lds.def"
#undef READ
#undef WRITE
#undef READ_TRANSPOSED
#undef READ_TWO
#undef WRITE_TWO
#undef EXCHANGE_TWO
#undef ONE
#undef TWO
#undef RTN
#undef CROSS
#undef OP
#undef ATOMIC_OP

/* ---- the table ------------------------------------------------------------------------------ */

/* clang-format off */
#define ROW(text, function, on, class, ...) \
  EMU_ROW("ds_" text, function, on, class, 0, __VA_ARGS__),
#define OP(name, class, ...) ROW(#name, run_##name, EMU_ALL, class, __VA_ARGS__)
#define CROSS(name, ...) OP(name, EMU_CLASS_CROSS, EMU_DATA, __VA_ARGS__)
#define READ(name, form) OP(name, EMU_CLASS_LDS_LOAD, EMU_DATA, EMU_B32)
#define WRITE(name, form) OP(name, EMU_CLASS_LDS_STORE, EMU_NONE, ONE_ARGUMENT)
#define READ_TRANSPOSED(name, form, bits) READ(name, form)
#define READ_TWO(name, form, unit) READ(name, form)
#define WRITE_TWO(name, form, unit) OP(name, EMU_CLASS_LDS_STORE, EMU_NONE, TWO_ARGUMENTS)
#define EXCHANGE_TWO(name, nbytes, unit) OP(name, EMU_CLASS_LDS_ATOMIC, EMU_DATA, TWO_ARGUMENTS)
#define ONE_ARGUMENT EMU_B32, EMU_DATA /* after the address */
#define TWO_ARGUMENTS EMU_B32, EMU_DATA, EMU_DATA
#define UPDATE(text, function, on, ...) ROW(text, function, on, EMU_CLASS_LDS_ATOMIC, __VA_ARGS__)
#define BOTH(name, type, on, args)                                              \
  UPDATE(#name "_" #type, run_##name##_##type, on, EMU_NONE, args)              \
  UPDATE(#name "_rtn_" #type, run_##name##_##type, on, EMU_DATA, args)
#define ONE(name, type, on, nbytes, combine) BOTH(name, type, on, ONE_ARGUMENT)
#define TWO(name, type, on, nbytes, combine) BOTH(name, type, on, TWO_ARGUMENTS)
#define ATOMIC_OP(name, type) BOTH(name, type, EMU_ALL, ONE_ARGUMENT)
#define RTN(name, type, nbytes, combine, args) \
  UPDATE(#name "_rtn_" #type, run_##name##_##type, EMU_ALL, EMU_DATA, args)

const emu_op emu_lds_ops[] = {
#include "emulator/exec/lds.def"
  {.name = NULL},
};
