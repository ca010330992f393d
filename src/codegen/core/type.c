/* Element types and conversions: how a value of the kernel language becomes an element and back.
 *
 * Mirrors base/dtype.c bit for bit: one rounding to nearest even from the value's own type,
 * integers wrap, floats saturate in conversion calls. */
#include "codegen/core/cg.h"

LLVMTypeRef roc_cg_storage_type(const roc_cg *cg, roc_dtype dtype) {
  switch (dtype) {
    case ROC_DT_FLOAT16: return cg->t.f16;
    case ROC_DT_FLOAT32: return cg->t.f32;
    case ROC_DT_FLOAT64: return cg->t.f64;
    default: break;
  }
  switch (roc_dtype_itemsize(dtype)) {
    case 1: return cg->t.i8;
    case 2: return cg->t.i16;
    case 4: return cg->t.i32;
    default: return cg->t.i64;
  }
}

/* bfloat16 is the upper half of a float32. */
static LLVMValueRef from_bfloat(roc_cg *cg, LLVMValueRef bits) {
  LLVMValueRef wide = LLVMBuildZExt(cg->b, bits, cg->t.i32, "");
  LLVMValueRef shifted = LLVMBuildShl(cg->b, wide, roc_cg_i32(cg, 16), "");
  return LLVMBuildBitCast(cg->b, shifted, cg->t.f32, "");
}

/* float32 to bfloat16 bits, nearest even; a NaN becomes the quiet one of its sign. */
static LLVMValueRef round_bfloat(roc_cg *cg, LLVMValueRef f) {
  LLVMBuilderRef b = cg->b;
  LLVMValueRef bits = LLVMBuildBitCast(b, f, cg->t.i32, "");
  LLVMValueRef upper = LLVMBuildLShr(b, bits, roc_cg_i32(cg, 16), "");
  LLVMValueRef odd = LLVMBuildAnd(b, upper, roc_cg_i32(cg, 1), "");
  LLVMValueRef bias = LLVMBuildAdd(b, odd, roc_cg_i32(cg, 0x7fff), "");
  LLVMValueRef rounded = LLVMBuildLShr(b, LLVMBuildAdd(b, bits, bias, ""), roc_cg_i32(cg, 16), "");
  LLVMValueRef sign = LLVMBuildAnd(b, upper, roc_cg_i32(cg, 0x8000), "");
  LLVMValueRef quiet = LLVMBuildOr(b, sign, roc_cg_i32(cg, 0x7fc0), "");
  LLVMValueRef is_nan = LLVMBuildFCmp(b, LLVMRealUNO, f, f, "");
  LLVMValueRef word = LLVMBuildSelect(b, is_nan, quiet, rounded, "");
  return LLVMBuildTrunc(b, word, cg->t.i16, "");
}

/* float64 to float32 rounded to odd, so that a second rounding to fewer bits is the only one that
 * counts. */
static LLVMValueRef to_f32_odd(roc_cg *cg, LLVMValueRef d) {
  LLVMBuilderRef b = cg->b;
  LLVMValueRef f = LLVMBuildFPTrunc(b, d, cg->t.f32, "");
  LLVMValueRef back = LLVMBuildFPExt(b, f, cg->t.f64, "");
  LLVMValueRef bits = LLVMBuildBitCast(b, f, cg->t.i32, "");
  LLVMValueRef abs_d = roc_cg_intrinsic(cg, "llvm.fabs", &cg->t.f64, 1, &d, 1);
  LLVMValueRef abs_back = roc_cg_intrinsic(cg, "llvm.fabs", &cg->t.f64, 1, &back, 1);
  LLVMValueRef above = LLVMBuildFCmp(b, LLVMRealOGT, abs_back, abs_d, "");
  LLVMValueRef down = LLVMBuildSub(b, bits, LLVMBuildZExt(b, above, cg->t.i32, ""), "");
  LLVMValueRef odd = LLVMBuildOr(b, down, roc_cg_i32(cg, 1), "");
  LLVMValueRef inexact = LLVMBuildFCmp(b, LLVMRealONE, back, d, "");
  LLVMValueRef word = LLVMBuildSelect(b, inexact, odd, bits, "");
  return LLVMBuildBitCast(b, word, cg->t.f32, "");
}

/* An integer with at most 53 significant bits that rounds to fewer than 52 bits like `i` does: bits
 * that float64 could not hold become one sticky bit. */
static LLVMValueRef sticky_int(roc_cg *cg, LLVMValueRef i) {
  LLVMBuilderRef b = cg->b;
  LLVMValueRef low = LLVMBuildAnd(b, i, roc_cg_i64(cg, 0x7ff), "");
  LLVMValueRef high = LLVMBuildAnd(b, i, roc_cg_i64(cg, ~(int64_t)0x7ff), "");
  LLVMValueRef lost = LLVMBuildICmp(b, LLVMIntNE, low, roc_cg_i64(cg, 0), "");
  LLVMValueRef bit = LLVMBuildSelect(b, lost, roc_cg_i64(cg, 0x400), roc_cg_i64(cg, 0), "");
  LLVMValueRef sticky = LLVMBuildOr(b, high, bit, "");
  LLVMValueRef shifted = LLVMBuildAdd(b, i, roc_cg_i64(cg, (int64_t)1 << 53), "");
  LLVMValueRef small = LLVMBuildICmp(b, LLVMIntULE, shifted, roc_cg_i64(cg, (int64_t)1 << 54), "");
  return LLVMBuildSelect(b, small, i, sticky, "");
}

static LLVMValueRef to_bfloat(roc_cg *cg, roc_value_type type, LLVMValueRef value) {
  if (type == ROC_VT_F32) return round_bfloat(cg, value);
  if (type == ROC_VT_INT) {
    value = LLVMBuildSIToFP(cg->b, sticky_int(cg, value), cg->t.f64, "");
  }
  return round_bfloat(cg, to_f32_odd(cg, value));
}

/* An integer beyond 2^24 overflows float16 whatever float32 makes of it, so the step through
 * float32 rounds nothing. */
static LLVMValueRef to_half(roc_cg *cg, roc_value_type type, LLVMValueRef value) {
  if (type == ROC_VT_INT) value = LLVMBuildSIToFP(cg->b, value, cg->t.f32, "");
  return LLVMBuildFPTrunc(cg->b, value, cg->t.f16, "");
}

LLVMValueRef roc_cg_to_float(roc_cg *cg, roc_value_type to, roc_value_type from,
                             LLVMValueRef value) {
  LLVMTypeRef type = roc_cg_value_type(cg, to);
  if (from == to) return value;
  if (from == ROC_VT_INT) return LLVMBuildSIToFP(cg->b, value, type, "");
  if (from == ROC_VT_BOOL) return LLVMBuildUIToFP(cg->b, value, type, "");
  return to == ROC_VT_F32 ? LLVMBuildFPTrunc(cg->b, value, type, "")
                          : LLVMBuildFPExt(cg->b, value, type, "");
}

LLVMValueRef roc_cg_from_element(roc_cg *cg, roc_dtype dtype, LLVMValueRef element) {
  const roc_dtype_info *info = &roc_dtype_table[dtype];
  switch (info->kind) {
    case 'b': return LLVMBuildICmp(cg->b, LLVMIntNE, element, LLVMConstNull(cg->t.i8), "");
    case 'i': return LLVMBuildSExt(cg->b, element, cg->t.i64, "");
    case 'u': return LLVMBuildZExt(cg->b, element, cg->t.i64, "");
    default: break;
  }
  if (dtype == ROC_DT_BFLOAT16) return from_bfloat(cg, element);
  return dtype == ROC_DT_FLOAT16 ? LLVMBuildFPExt(cg->b, element, cg->t.f32, "") : element;
}

LLVMValueRef roc_cg_to_element(roc_cg *cg, roc_dtype dtype, roc_value_type type,
                               LLVMValueRef value) {
  const roc_dtype_info *info = &roc_dtype_table[dtype];
  LLVMTypeRef storage = roc_cg_storage_type(cg, dtype);
  if (info->kind == 'b') return LLVMBuildZExt(cg->b, value, storage, "");
  if (info->kind != 'f') return LLVMBuildIntCast2(cg->b, value, storage, 1, "");
  if (type == ROC_VT_BOOL) {
    value = LLVMBuildZExt(cg->b, value, cg->t.i64, "");
    type = ROC_VT_INT;
  }
  if (dtype == ROC_DT_BFLOAT16) return to_bfloat(cg, type, value);
  if (dtype == ROC_DT_FLOAT16) return to_half(cg, type, value);
  return roc_cg_to_float(cg, info->value_type, type, value);
}

static LLVMValueRef saturate(roc_cg *cg, roc_dtype dtype, LLVMValueRef value) {
  const char *name = roc_dtype_table[dtype].kind == 'i' ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
  LLVMTypeRef types[2] = {roc_cg_storage_type(cg, dtype), LLVMTypeOf(value)};
  return roc_cg_intrinsic(cg, name, types, 2, &value, 1);
}

static LLVMValueRef is_true(roc_cg *cg, roc_value_type type, LLVMValueRef value) {
  if (type == ROC_VT_BOOL) return value;
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(value));
  if (type == ROC_VT_INT) return LLVMBuildICmp(cg->b, LLVMIntNE, value, zero, "");
  return LLVMBuildFCmp(cg->b, LLVMRealUNE, value, zero, "");
}

LLVMValueRef roc_cg_convert(roc_cg *cg, roc_dtype dtype, roc_value_type type, LLVMValueRef value) {
  char kind = roc_dtype_table[dtype].kind;
  if (kind == 'b') return is_true(cg, type, value);
  bool from_float = type == ROC_VT_F32 || type == ROC_VT_F64;
  if (type == ROC_VT_BOOL) {
    value = LLVMBuildZExt(cg->b, value, cg->t.i64, "");
    type = ROC_VT_INT;
  }
  LLVMValueRef element = kind != 'f' && from_float ? saturate(cg, dtype, value)
                                                   : roc_cg_to_element(cg, dtype, type, value);
  return roc_cg_from_element(cg, dtype, element);
}

LLVMValueRef roc_cg_record_bits(roc_cg *cg, roc_value_type type, LLVMValueRef value) {
  switch (type) {
    case ROC_VT_BOOL: return LLVMBuildZExt(cg->b, value, cg->t.i64, "");
    case ROC_VT_F32: value = LLVMBuildFPExt(cg->b, value, cg->t.f64, ""); /* fall through */
    case ROC_VT_F64: return LLVMBuildBitCast(cg->b, value, cg->t.i64, "");
    default: return value;
  }
}
