/* How the vector instructions of the class files are written: one expression per lane.
 *
 * EMU_LANES_n(function, result, types of the n sources, expression) defines a run function that
 * fetches the sources (named a, b, c), computes the expression for every lane and writes the
 * result:
 *
 *   EMU_LANES_2(run_add_u32, U32, U32, U32, a + b)
 *   EMU_LANES_2(run_lshlrev_b64, U64, U32, U64, b << (a & 63))
 *   EMU_LANES_2(run_cmp_lt_i32, MASK, I32, I32, a < b)
 *   EMU_LANES_3(run_cndmask_b32, U32, U32, U32, MASK, c ? b : a)
 *
 * The views are U16 I16 F16 (the bits of a half) U32 I32 F32 U64 I64 F64, V2 (two halves of a
 * register) and MASK (a source is ~0 or 0; a result is true or false, collected into a lane mask).
 * The expression is computed for inactive lanes, too, so it must be defined for all inputs and free
 * of side effects; it may use `wave`, `inst` and `lane`. The parts (EMU_SOURCE, EMU_TARGET,
 * EMU_FOR_LANES, EMU_PUT) serve functions that need more than that. Loops are over 32 lanes at a
 * time, a constant number, so that they become vector code. */
#ifndef ROC_EMULATOR_EXEC_ROWS_H
#define ROC_EMULATOR_EXEC_ROWS_H

#include "emulator/isa/inst.h"
#include "emulator/isa/wave.h"

/* ---- operands (rows.c) ---------------------------------------------------------------------- */

void emu_make_lanes(emu_wave *wave);

/* ~0 in the lanes to execute. */
static inline const emu_row *emu_lanes(emu_wave *wave) {
  if (wave->lanes_stale) emu_make_lanes(wave);
  return &wave->lanes;
}

/* Source `n` as a row of 32-bit words, with selection, modifiers and (source 0 of a DPP
 * instruction) the lane permutation applied as its type asks; a row of the register file itself
 * where nothing has to be done, else made in *room. Lanes at and beyond width are undefined. */
const emu_row *emu_src32(emu_wave *wave, const emu_inst *inst, unsigned n, emu_row *room);
/* Source `n` joined from two registers, in *room. */
const emu_row64 *emu_src64(emu_wave *wave, const emu_inst *inst, unsigned n, emu_row64 *room);
/* Writes the active lanes of destination `n`; SDWA's and DPP's restrictions on what is written
 * apply. Clamping and output modifiers are the caller's (they depend on the number's kind). */
void emu_put32(emu_wave *wave, const emu_inst *inst, unsigned n, const emu_row *value);
void emu_put64(emu_wave *wave, const emu_inst *inst, unsigned n, const emu_row64 *value);
/* The mask of lanes whose word is not 0, inactive ones cleared: what comparisons and carries
 * write. */
uint64_t emu_ballot(emu_wave *wave, const emu_row *value);
/* Lanes an instruction writes: EXEC, less what DPP leaves out. */
uint64_t emu_written_lanes(emu_wave *wave, const emu_inst *inst);
/* Source `n`, a lane mask, as a row of ~0 and 0. */
const emu_row *emu_src_mask(emu_wave *wave, const emu_inst *inst, unsigned n, emu_row *room);
/* `mask` as a row of ~0 and 0, the lanes at and beyond width included. */
void emu_spread_mask(uint64_t mask, emu_row *row);
/* Makes of a row of bytes what destination 0 is with that byte of it exchanged which op_sel names
 * (EMU_SELECTS_DST). */
void emu_insert_byte(const emu_wave *wave, const emu_inst *inst, emu_row *value);
/* Where to compute destination `n`: its own register row when emu_put32 would copy all of it
 * unchanged, else `room`.  Pass the answer to emu_put32.  The row may be one of the sources': lane
 * by lane, read before writing. */
emu_row *emu_target32(emu_wave *wave, const emu_inst *inst, unsigned n, emu_row *room);
/* Collects `value` as emu_ballot does into destination `n`, a lane mask; an instruction with
 * EMU_WRITES_EXEC sets EXEC as well (or only, without a destination). */
void emu_put_mask(emu_wave *wave, const emu_inst *inst, unsigned n, const emu_row *value);

/* A loop over the lanes of the wavefront; its passes are independent of each other.  (clang finds
 * that out at run time, and warns where its pragma cannot be followed.) */
#ifdef __clang__
#define EMU_INDEPENDENT
#else
#define EMU_INDEPENDENT _Pragma("GCC ivdep")
#endif
#define EMU_FOR_LANES(wave)                                    \
  for (int base_ = 0; base_ < (int)(wave)->width; base_ += 32) \
  EMU_INDEPENDENT for (int lane = base_; lane < base_ + 32; lane++)

/* Stores `value` in the lanes that are ~0 in `lanes`. */
static inline void emu_blend(const emu_wave *wave, emu_row *row, const emu_row *value,
                             const emu_row *lanes) {
  EMU_FOR_LANES(wave) {
    row->u[lane] = (value->u[lane] & lanes->u[lane]) | (row->u[lane] & ~lanes->u[lane]);
  }
}

/* Element n of a lane's, which lie one after the other and may lie across two registers. */
static inline uint32_t emu_bits_at(const emu_row *rows, unsigned bits, unsigned n, unsigned lane) {
  unsigned at = n * bits, left = 32 - at % 32;
  uint64_t pair = rows[at / 32].u[lane];
  if (bits > left) pair |= (uint64_t)rows[at / 32 + 1].u[lane] << 32;
  return (uint32_t)(pair >> at % 32) & (uint32_t)(((uint64_t)1 << bits) - 1);
}

/* Puts element n into words that have only zeroes there. */
static inline void emu_add_bits(uint32_t *words, unsigned bits, unsigned n, uint32_t value) {
  unsigned at = n * bits, left = 32 - at % 32;
  words[at / 32] |= value << at % 32;
  if (bits > left) words[at / 32 + 1] |= value >> left;
}

/* Per view: the type of the operand, the element, the row that holds it, its field, and how it comes
 * and goes. */
#define EMU_TYPE_U16 EMU_B16
#define EMU_TYPE_I16 EMU_B16
#define EMU_TYPE_F16 EMU_F16
#define EMU_TYPE_U32 EMU_B32
#define EMU_TYPE_I32 EMU_B32
#define EMU_TYPE_F32 EMU_F32
#define EMU_TYPE_U64 EMU_B64
#define EMU_TYPE_I64 EMU_I64
#define EMU_TYPE_F64 EMU_F64
#define EMU_TYPE_V2 EMU_V2B16
#define EMU_TYPE_MASK EMU_MASK

#define EMU_ELEMENT_U16 uint16_t
#define EMU_ELEMENT_I16 int16_t
#define EMU_ELEMENT_F16 uint16_t
#define EMU_ELEMENT_U32 uint32_t
#define EMU_ELEMENT_I32 int32_t
#define EMU_ELEMENT_F32 float
#define EMU_ELEMENT_U64 uint64_t
#define EMU_ELEMENT_I64 int64_t
#define EMU_ELEMENT_F64 double
#define EMU_ELEMENT_V2 uint32_t
#define EMU_ELEMENT_MASK uint32_t

#define EMU_ROW_U16 emu_row
#define EMU_ROW_I16 emu_row
#define EMU_ROW_F16 emu_row
#define EMU_ROW_U32 emu_row
#define EMU_ROW_I32 emu_row
#define EMU_ROW_F32 emu_row
#define EMU_ROW_U64 emu_row64
#define EMU_ROW_I64 emu_row64
#define EMU_ROW_F64 emu_row64
#define EMU_ROW_V2 emu_row
#define EMU_ROW_MASK emu_row

#define EMU_FIELD_U16 u
#define EMU_FIELD_I16 u
#define EMU_FIELD_F16 u
#define EMU_FIELD_U32 u
#define EMU_FIELD_I32 i
#define EMU_FIELD_F32 f
#define EMU_FIELD_U64 u
#define EMU_FIELD_I64 i
#define EMU_FIELD_F64 f
#define EMU_FIELD_V2 u
#define EMU_FIELD_MASK u

#define EMU_FETCH_U16 emu_src32
#define EMU_FETCH_I16 emu_src32
#define EMU_FETCH_F16 emu_src32
#define EMU_FETCH_U32 emu_src32
#define EMU_FETCH_I32 emu_src32
#define EMU_FETCH_F32 emu_src32
#define EMU_FETCH_U64 emu_src64
#define EMU_FETCH_I64 emu_src64
#define EMU_FETCH_F64 emu_src64
#define EMU_FETCH_V2 emu_src32
#define EMU_FETCH_MASK emu_src_mask

/* What a row gets for the expression's value. */
#define EMU_STORED_U16(x) ((uint16_t)(x))
#define EMU_STORED_I16(x) ((uint16_t)(x))
#define EMU_STORED_F16(x) ((uint16_t)(x))
#define EMU_STORED_U32(x) ((uint32_t)(x))
#define EMU_STORED_I32(x) ((int32_t)(x))
#define EMU_STORED_F32(x) (x)
#define EMU_STORED_U64(x) ((uint64_t)(x))
#define EMU_STORED_I64(x) ((int64_t)(x))
#define EMU_STORED_F64(x) (x)
#define EMU_STORED_V2(x) ((uint32_t)(x))
#define EMU_STORED_MASK(x) ((x) ? ~0u : 0u)

#define EMU_TARGET_U16 emu_target32(wave, inst, 0, &room)
#define EMU_TARGET_I16 emu_target32(wave, inst, 0, &room)
#define EMU_TARGET_F16 emu_target32(wave, inst, 0, &room)
#define EMU_TARGET_U32 emu_target32(wave, inst, 0, &room)
#define EMU_TARGET_I32 emu_target32(wave, inst, 0, &room)
#define EMU_TARGET_F32 emu_target32(wave, inst, 0, &room)
#define EMU_TARGET_U64 &room
#define EMU_TARGET_I64 &room
#define EMU_TARGET_F64 &room
#define EMU_TARGET_V2 emu_target32(wave, inst, 0, &room)
#define EMU_TARGET_MASK &room

#define EMU_PUT_U16 emu_put32
#define EMU_PUT_I16 emu_put32
#define EMU_PUT_F16 emu_put32
#define EMU_PUT_U32 emu_put32
#define EMU_PUT_I32 emu_put32
#define EMU_PUT_F32 emu_put32
#define EMU_PUT_U64 emu_put64
#define EMU_PUT_I64 emu_put64
#define EMU_PUT_F64 emu_put64
#define EMU_PUT_V2 emu_put32
#define EMU_PUT_MASK emu_put_mask

/* Fetches source `n` into `name`_row, an element of which EMU_ELEMENT(view, name) reads. */
#define EMU_SOURCE(view, name, n) \
  EMU_ROW_##view name##_room;     \
  const EMU_ROW_##view *name##_row = EMU_FETCH_##view(wave, inst, n, &name##_room)
#define EMU_ELEMENT(view, name) \
  const EMU_ELEMENT_##view name = (EMU_ELEMENT_##view)name##_row->EMU_FIELD_##view[lane]
/* Destination 0: EMU_TARGET makes `out`, EMU_STORE fills a lane of it, EMU_PUT writes it. */
#define EMU_TARGET(view) \
  EMU_ROW_##view room;   \
  EMU_ROW_##view *out = EMU_TARGET_##view
#define EMU_STORE(view, value) out->EMU_FIELD_##view[lane] = EMU_STORED_##view(value)
#define EMU_PUT(view) EMU_PUT_##view(wave, inst, 0, out)

#define EMU_LANES_1(function, R, A, expression)                \
  static void function(emu_wave *wave, const emu_inst *inst) { \
    EMU_SOURCE(A, a, 0);                                       \
    EMU_TARGET(R);                                             \
    EMU_FOR_LANES(wave) {                                      \
      EMU_ELEMENT(A, a);                                       \
      EMU_STORE(R, expression);                                \
    }                                                          \
    EMU_PUT(R);                                                \
  }

#define EMU_LANES_2(function, R, A, B, expression)             \
  static void function(emu_wave *wave, const emu_inst *inst) { \
    EMU_SOURCE(A, a, 0);                                       \
    EMU_SOURCE(B, b, 1);                                       \
    EMU_TARGET(R);                                             \
    EMU_FOR_LANES(wave) {                                      \
      EMU_ELEMENT(A, a);                                       \
      EMU_ELEMENT(B, b);                                       \
      EMU_STORE(R, expression);                                \
    }                                                          \
    EMU_PUT(R);                                                \
  }

#define EMU_LANES_3(function, R, A, B, C, expression)          \
  static void function(emu_wave *wave, const emu_inst *inst) { \
    EMU_SOURCE(A, a, 0);                                       \
    EMU_SOURCE(B, b, 1);                                       \
    EMU_SOURCE(C, c, 2);                                       \
    EMU_TARGET(R);                                             \
    EMU_FOR_LANES(wave) {                                      \
      EMU_ELEMENT(A, a);                                       \
      EMU_ELEMENT(B, b);                                       \
      EMU_ELEMENT(C, c);                                       \
      EMU_STORE(R, expression);                                \
    }                                                          \
    EMU_PUT(R);                                                \
  }

#endif
