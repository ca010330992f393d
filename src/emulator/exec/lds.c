/* ds_ instructions: the workgroup's LDS, and data exchanged between lanes by the LDS hardware.
 *
 * A lane's address is its address register plus the offset, modulo 2^32; the two-address forms
 * count their offsets in elements, or 64 of them (st64).  Two arguments stand in the order of the
 * manuals: a compare-and-swap has the compared value first, other than in global memory. */
#include "emulator/exec/access.h"
#include "emulator/exec/ops.h"

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
  emu_load(wave, inst, emu_reach_lds, &access, form, inst->dst[0].reg);
}

static void write_one(emu_wave *wave, const emu_inst *inst, emu_form form) {
  emu_access access;
  begin_access(wave, EMU_STORE, emu_form_bytes(form), &access);
  make_addresses(wave, inst, 0, (uint32_t)inst->mod.offset, &access);
  emu_store(wave, inst, emu_reach_lds, &access, form, inst->src[1].reg);
}

static void read_two(emu_wave *wave, const emu_inst *inst, emu_form form, uint32_t unit) {
  emu_access first, second;
  uint32_t nbytes = emu_form_bytes(form);
  begin_access(wave, EMU_LOAD, nbytes, &first);
  second = first;
  make_addresses(wave, inst, 0, (uint32_t)inst->mod.offset * unit, &first);
  make_addresses(wave, inst, 0, (uint32_t)inst->mod.offset1 * unit, &second);
  unsigned reg = inst->dst[0].reg;
  emu_load(wave, inst, emu_reach_lds, &first, form, reg);
  if (wave->state != EMU_RUNNING) return;
  emu_load(wave, inst, emu_reach_lds, &second, form, reg + nbytes / 4);
}

static void write_two(emu_wave *wave, const emu_inst *inst, emu_form form, uint32_t unit) {
  emu_access access;
  uint32_t offsets[] = {(uint32_t)inst->mod.offset, (uint32_t)inst->mod.offset1};
  for (unsigned i = 0; i < 2 && wave->state == EMU_RUNNING; i++) {
    begin_access(wave, EMU_STORE, emu_form_bytes(form), &access);
    make_addresses(wave, inst, 0, offsets[i] * unit, &access);
    emu_store(wave, inst, emu_reach_lds, &access, form, inst->src[1 + i].reg);
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
  emu_load(wave, inst, emu_reach_lds, &access, EMU_FORM_B32, inst->dst[0].reg);
}

static void run_write_addtid_b32(emu_wave *wave, const emu_inst *inst) {
  emu_access access;
  begin_access(wave, EMU_STORE, 4, &access);
  make_addtid(wave, inst, &access);
  emu_store(wave, inst, emu_reach_lds, &access, EMU_FORM_B32, inst->src[0].reg);
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

/* Each lane fetches from the lane it names; an inactive one gives 0. */
static void run_bpermute(emu_wave *wave, const emu_inst *inst) {
  uint64_t active = emu_exec(wave);
  const emu_row *address = wave->v + inst->src[0].reg;
  const emu_row data = wave->v[inst->src[1].reg];
  emu_row out;
  EMU_FOR_ACTIVE(lane, active) {
    unsigned from = lane_meant(inst, (unsigned)lane, address->u[lane] + (uint32_t)inst->mod.offset);
    out.u[lane] = active >> from & 1 ? data.u[from] : 0;
  }
  emu_row *result = wave->v + inst->dst[0].reg;
  EMU_FOR_ACTIVE(lane, active) result->u[lane] = out.u[lane];
}

/* Each lane sends to the lane it names; of several the last one wins, who gets nothing has 0. */
static void run_permute(emu_wave *wave, const emu_inst *inst) {
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

static void run_swizzle(emu_wave *wave, const emu_inst *inst) {
  uint64_t active = emu_exec(wave);
  const emu_row data = wave->v[inst->src[0].reg];
  emu_row *out = wave->v + inst->dst[0].reg;
  EMU_FOR_ACTIVE(lane, active) {
    unsigned from =
        swizzled_lane((uint32_t)inst->mod.offset & 0xffff, (unsigned)lane & 31) | (lane & 32);
    out->u[lane] = active >> from & 1 ? data.u[from] : 0;
  }
}

static void run_nothing(emu_wave *wave, const emu_inst *inst) {
  (void)wave, (void)inst;
}

/* ---- the table ------------------------------------------------------------------------------ */

/* Each row: the name behind "ds_" and the form, or for exchanges the bytes a lane; of two-address
 * forms also the unit of their offsets in bytes. */
#define LDS_ACCESSES(READ, WRITE, READ_TWO, WRITE_TWO, EXCHANGE_TWO) \
  READ(read_b32, B32)                                                \
  READ(read_b64, B64)                                                \
  READ(read_b96, B96)                                                \
  READ(read_b128, B128)                                              \
  READ(read_u8, U8)                                                  \
  READ(read_i8, I8)                                                  \
  READ(read_u16, U16)                                                \
  READ(read_i16, I16)                                                \
  READ(read_u8_d16, U8_LOW)                                          \
  READ(read_u8_d16_hi, U8_HIGH)                                      \
  READ(read_i8_d16, I8_LOW)                                          \
  READ(read_i8_d16_hi, I8_HIGH)                                      \
  READ(read_u16_d16, B16_LOW)                                        \
  READ(read_u16_d16_hi, B16_HIGH)                                    \
  WRITE(write_b32, B32)                                              \
  WRITE(write_b64, B64)                                              \
  WRITE(write_b96, B96)                                              \
  WRITE(write_b128, B128)                                            \
  WRITE(write_b8, U8)                                                \
  WRITE(write_b16, U16)                                              \
  WRITE(write_b8_d16_hi, U8_HIGH)                                    \
  WRITE(write_b16_d16_hi, B16_HIGH)                                  \
  READ_TWO(read2_b32, B32, 4)                                        \
  READ_TWO(read2_b64, B64, 8)                                        \
  READ_TWO(read2st64_b32, B32, 4 * 64)                               \
  READ_TWO(read2st64_b64, B64, 8 * 64)                               \
  WRITE_TWO(write2_b32, B32, 4)                                      \
  WRITE_TWO(write2_b64, B64, 8)                                      \
  WRITE_TWO(write2st64_b32, B32, 4 * 64)                             \
  WRITE_TWO(write2st64_b64, B64, 8 * 64)                             \
  EXCHANGE_TWO(wrxchg2_rtn_b32, 4, 4)                                \
  EXCHANGE_TWO(wrxchg2_rtn_b64, 8, 8)                                \
  EXCHANGE_TWO(wrxchg2st64_rtn_b32, 4, 4 * 64)                       \
  EXCHANGE_TWO(wrxchg2st64_rtn_b64, 8, 8 * 64)

/* ONE and TWO arguments: name and type, between which "_rtn" may stand, where it exists, bytes,
 * combine function of atomic.def. */
#define LDS_ATOMICS(ONE, TWO)            \
  ONE(add, u32, EMU_ALL, 4, add_32)      \
  ONE(sub, u32, EMU_ALL, 4, sub_32)      \
  ONE(rsub, u32, EMU_ALL, 4, rsub_32)    \
  ONE(inc, u32, EMU_ALL, 4, inc_32)      \
  ONE(dec, u32, EMU_ALL, 4, dec_32)      \
  ONE(min, i32, EMU_ALL, 4, smin_32)     \
  ONE(max, i32, EMU_ALL, 4, smax_32)     \
  ONE(min, u32, EMU_ALL, 4, umin_32)     \
  ONE(max, u32, EMU_ALL, 4, umax_32)     \
  ONE(and, b32, EMU_ALL, 4, and_32)      \
  ONE(or, b32, EMU_ALL, 4, or_32)        \
  ONE(xor, b32, EMU_ALL, 4, xor_32)      \
  ONE(min, f32, EMU_ALL, 4, fmin_32)     \
  ONE(max, f32, EMU_ALL, 4, fmax_32)     \
  TWO(mskor, b32, EMU_ALL, 4, mskor_32)  \
  TWO(cmpst, b32, EMU_ALL, 4, cmpst_32)  \
  TWO(cmpst, f32, EMU_ALL, 4, cmpst_f32) \
  ONE(add, u64, EMU_ALL, 8, add_64)      \
  ONE(sub, u64, EMU_ALL, 8, sub_64)      \
  ONE(rsub, u64, EMU_ALL, 8, rsub_64)    \
  ONE(inc, u64, EMU_ALL, 8, inc_64)      \
  ONE(dec, u64, EMU_ALL, 8, dec_64)      \
  ONE(min, i64, EMU_ALL, 8, smin_64)     \
  ONE(max, i64, EMU_ALL, 8, smax_64)     \
  ONE(min, u64, EMU_ALL, 8, umin_64)     \
  ONE(max, u64, EMU_ALL, 8, umax_64)     \
  ONE(and, b64, EMU_ALL, 8, and_64)      \
  ONE(or, b64, EMU_ALL, 8, or_64)        \
  ONE(xor, b64, EMU_ALL, 8, xor_64)      \
  ONE(min, f64, EMU_ALL, 8, fmin_64)     \
  ONE(max, f64, EMU_ALL, 8, fmax_64)     \
  ONE(add, f64, EMU_GFX9, 8, add_f64)    \
  TWO(mskor, b64, EMU_ALL, 8, mskor_64)  \
  TWO(cmpst, b64, EMU_ALL, 8, cmpst_64)  \
  TWO(cmpst, f64, EMU_ALL, 8, cmpst_f64)

#define DEFINE(function, call)                                 \
  static void function(emu_wave *wave, const emu_inst *inst) { \
    call;                                                      \
  }
#define READ(name, form) DEFINE(run_##name, read_one(wave, inst, EMU_FORM_##form))
#define WRITE(name, form) DEFINE(run_##name, write_one(wave, inst, EMU_FORM_##form))
#define READ_TWO(name, form, unit) DEFINE(run_##name, read_two(wave, inst, EMU_FORM_##form, unit))
#define WRITE_TWO(name, form, unit) DEFINE(run_##name, write_two(wave, inst, EMU_FORM_##form, unit))
#define EXCHANGE_TWO(name, nbytes, unit) DEFINE(run_##name, exchange_two(wave, inst, nbytes, unit))
#define ATOMIC(name, type, generations, nbytes, combine) \
  DEFINE(run_##name##_##type, update(wave, inst, nbytes, emu_##combine))
LDS_ACCESSES(READ, WRITE, READ_TWO, WRITE_TWO, EXCHANGE_TWO)
LDS_ATOMICS(ATOMIC, ATOMIC)
DEFINE(run_wrxchg_b32, update(wave, inst, 4, emu_swap_32))
DEFINE(run_wrxchg_b64, update(wave, inst, 8, emu_swap_64))
DEFINE(run_wrap_b32, update(wave, inst, 4, emu_wrap))
#undef READ
#undef WRITE
#undef READ_TWO
#undef WRITE_TWO
#undef EXCHANGE_TWO

/* clang-format off */
#define ROW(text, function, generations, class, ...) \
  EMU_ROW(text, function, generations, class, 0, __VA_ARGS__),
#define LOAD(name, ...) \
  ROW("ds_" #name, run_##name, EMU_ALL, EMU_CLASS_LDS_LOAD, EMU_DATA, __VA_ARGS__)
#define STORE(name, ...) \
  ROW("ds_" #name, run_##name, EMU_ALL, EMU_CLASS_LDS_STORE, EMU_NONE, __VA_ARGS__)
#define UPDATE(text, function, generations, dst, ...) \
  ROW("ds_" text, function, generations, EMU_CLASS_LDS_ATOMIC, dst, __VA_ARGS__)
#define CROSS(name, ...) \
  ROW("ds_" #name "_b32", run_##name, EMU_ALL, EMU_CLASS_CROSS, EMU_DATA, __VA_ARGS__)
#define READ(name, form) LOAD(name, EMU_B32)
#define WRITE(name, form) STORE(name, EMU_B32, EMU_DATA)
#define READ_TWO(name, form, unit) LOAD(name, EMU_B32)
#define WRITE_TWO(name, form, unit) STORE(name, EMU_B32, EMU_DATA, EMU_DATA)
#define EXCHANGE_TWO(name, nbytes, unit) \
  UPDATE(#name, run_##name, EMU_ALL, EMU_DATA, EMU_B32, EMU_DATA, EMU_DATA)
#define BOTH(name, type, function, generations, ...)                          \
  UPDATE(#name "_" #type, function, generations, EMU_NONE, __VA_ARGS__)       \
  UPDATE(#name "_rtn_" #type, function, generations, EMU_DATA, __VA_ARGS__)
#define ONE(name, type, generations, nbytes, combine) \
  BOTH(name, type, run_##name##_##type, generations, EMU_B32, EMU_DATA)
#define TWO(name, type, generations, nbytes, combine) \
  BOTH(name, type, run_##name##_##type, generations, EMU_B32, EMU_DATA, EMU_DATA)

const emu_op emu_lds_ops[] = {
  LDS_ACCESSES(READ, WRITE, READ_TWO, WRITE_TWO, EXCHANGE_TWO)
  LDS_ATOMICS(ONE, TWO)
  BOTH(add, f32, run_add_f32, EMU_ALL, EMU_B32, EMU_DATA)
  UPDATE("wrxchg_rtn_b32", run_wrxchg_b32, EMU_ALL, EMU_DATA, EMU_B32, EMU_DATA)
  UPDATE("wrxchg_rtn_b64", run_wrxchg_b64, EMU_ALL, EMU_DATA, EMU_B32, EMU_DATA)
  UPDATE("wrap_rtn_b32", run_wrap_b32, EMU_ALL, EMU_DATA, EMU_B32, EMU_DATA, EMU_DATA)
  UPDATE("append", run_append, EMU_ALL, EMU_DATA, EMU_NONE)
  UPDATE("consume", run_consume, EMU_ALL, EMU_DATA, EMU_NONE)
  LOAD(read_addtid_b32, EMU_NONE)
  STORE(write_addtid_b32, EMU_DATA)
  CROSS(bpermute, EMU_B32, EMU_B32)
  CROSS(permute, EMU_B32, EMU_B32)
  CROSS(swizzle, EMU_B32)
  ROW("ds_nop", run_nothing, EMU_ALL, EMU_CLASS_NOTHING, EMU_NONE, EMU_NONE)
  {.name = NULL},
};
