/* The remainder of floats, exact: a function of the module, "roc.fmod.f32" or "roc.fmod.f64".
 *
 * With x = a 2^i and y = b 2^j, whole numbers, it is (a 2^(i - j) mod b) 2^j. The power is taken in
 * steps of as many bits as 64 bits have room for above b. */
#include <math.h>

#include "codegen/nvptx/nvptx.h"

/* What the code for a type is made of. */
typedef struct layout {
  LLVMTypeRef type, bits;
  unsigned digits; /* of the significand that are stored */
  unsigned step;   /* bits a step takes */
  uint64_t most;   /* the exponent field of infinity */
} layout;

static layout layout_of(const roc_cg *cg, LLVMTypeRef type) {
  if (type == cg->t.f32) return (layout){type, cg->t.i32, 23, 40, 255};
  return (layout){type, cg->t.i64, 52, 11, 2047};
}

/* A number's size as a whole number of 64 bits times 2^(exponent - 1) of the smallest. */
typedef struct parts {
  LLVMValueRef digits, exponent;
} parts;

static parts split(roc_cg *cg, const layout *l, LLVMValueRef bits) {
  LLVMBuilderRef b = cg->b;
  uint64_t hidden = (uint64_t)1 << l->digits;
  LLVMValueRef field = LLVMBuildLShr(b, bits, roc_cg_i64(cg, l->digits), "");
  LLVMValueRef low = LLVMBuildAnd(b, bits, roc_cg_i64(cg, (int64_t)(hidden - 1)), "");
  LLVMValueRef whole = LLVMBuildOr(b, low, roc_cg_i64(cg, (int64_t)hidden), "");
  LLVMValueRef is_denormal = LLVMBuildICmp(b, LLVMIntEQ, field, roc_cg_i64(cg, 0), "");
  return (parts){LLVMBuildSelect(b, is_denormal, low, whole, ""),
                 LLVMBuildSelect(b, is_denormal, roc_cg_i64(cg, 1), field, "")};
}

/* The bits of the number's size, as i64. */
static LLVMValueRef size_bits(roc_cg *cg, const layout *l, LLVMValueRef value) {
  LLVMTypeRef type = l->type;
  LLVMValueRef size = roc_cg_intrinsic(cg, "llvm.fabs", &type, 1, &value, 1);
  return LLVMBuildZExt(cg->b, LLVMBuildBitCast(cg->b, size, l->bits, ""), cg->t.i64, "");
}

/* The loop: a 2^left mod b, a < b. */
static LLVMValueRef reduce(roc_cg *cg, const layout *l, LLVMValueRef fn, LLVMValueRef a,
                           LLVMValueRef divisor, LLVMValueRef left) {
  LLVMBuilderRef b = cg->b;
  LLVMBasicBlockRef before = LLVMGetInsertBlock(b);
  LLVMBasicBlockRef loop = LLVMAppendBasicBlockInContext(cg->ctx, fn, "step");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(cg->ctx, fn, "done");
  LLVMValueRef zero = roc_cg_i64(cg, 0), step = roc_cg_i64(cg, l->step);
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSGT, left, zero, ""), loop, done);
  LLVMPositionBuilderAtEnd(b, loop);
  LLVMValueRef rest = LLVMBuildPhi(b, cg->t.i64, ""), more = LLVMBuildPhi(b, cg->t.i64, "");
  LLVMValueRef is_last = LLVMBuildICmp(b, LLVMIntSLT, more, step, "");
  LLVMValueRef shift = LLVMBuildSelect(b, is_last, more, step, "");
  LLVMValueRef next = LLVMBuildURem(b, LLVMBuildShl(b, rest, shift, ""), divisor, "");
  LLVMValueRef less = LLVMBuildSub(b, more, shift, "");
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSGT, less, zero, ""), loop, done);
  LLVMAddIncoming(rest, (LLVMValueRef[2]){a, next}, (LLVMBasicBlockRef[2]){before, loop}, 2);
  LLVMAddIncoming(more, (LLVMValueRef[2]){left, less}, (LLVMBasicBlockRef[2]){before, loop}, 2);
  LLVMPositionBuilderAtEnd(b, done);
  LLVMValueRef result = LLVMBuildPhi(b, cg->t.i64, "");
  LLVMAddIncoming(result, (LLVMValueRef[2]){a, next}, (LLVMBasicBlockRef[2]){before, loop}, 2);
  return result;
}

/* 2^k, k from 0 to the largest exponent. */
static LLVMValueRef power_of_two(roc_cg *cg, const layout *l, LLVMValueRef k) {
  LLVMValueRef field = LLVMBuildAdd(cg->b, k, roc_cg_i64(cg, (int64_t)(l->most / 2)), "");
  LLVMValueRef bits = LLVMBuildShl(cg->b, field, roc_cg_i64(cg, l->digits), "");
  return LLVMBuildBitCast(cg->b, LLVMBuildTrunc(cg->b, bits, l->bits, ""), l->type, "");
}

/* `digits` times 2^(exponent - 1) of the smallest number, of which it is a multiple: products with
 * powers of two are exact. */
static LLVMValueRef join(roc_cg *cg, const layout *l, LLVMValueRef digits, LLVMValueRef exponent) {
  LLVMBuilderRef b = cg->b;
  LLVMValueRef smallest = LLVMBuildBitCast(b, LLVMBuildTrunc(b, digits, l->bits, ""), l->type, "");
  LLVMValueRef k = LLVMBuildSub(b, exponent, roc_cg_i64(cg, 1), "");
  LLVMValueRef half = LLVMBuildLShr(b, k, roc_cg_i64(cg, 1), "");
  LLVMValueRef first = LLVMBuildFMul(b, smallest, power_of_two(cg, l, half), "");
  LLVMValueRef other = power_of_two(cg, l, LLVMBuildSub(b, k, half, ""));
  return LLVMBuildFMul(b, first, other, "");
}

static void make_function(roc_cg *cg, const layout *l, LLVMValueRef fn) {
  LLVMBuilderRef kept = cg->b, b = cg->b = LLVMCreateBuilderInContext(cg->ctx);
  LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(cg->ctx, fn, ""));
  LLVMTypeRef type = l->type;
  LLVMValueRef x = LLVMGetParam(fn, 0), y = LLVMGetParam(fn, 1);
  LLVMValueRef size_x = size_bits(cg, l, x), size_y = size_bits(cg, l, y);
  LLVMValueRef infinite = roc_cg_i64(cg, (int64_t)(l->most << l->digits));
  LLVMValueRef has_y = LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntNE, size_y, roc_cg_i64(cg, 0), ""),
                                    LLVMBuildICmp(b, LLVMIntULE, size_y, infinite, ""), "");
  LLVMValueRef is_defined =
      LLVMBuildAnd(b, has_y, LLVMBuildICmp(b, LLVMIntULT, size_x, infinite, ""), "");
  LLVMValueRef is_less = LLVMBuildICmp(b, LLVMIntULT, size_x, size_y, "");
  parts a = split(cg, l, size_x), divisor = split(cg, l, size_y);
  LLVMValueRef takes = LLVMBuildAnd(b, is_defined, LLVMBuildNot(b, is_less, ""), "");
  LLVMValueRef one = roc_cg_i64(cg, 1);
  LLVMValueRef by = LLVMBuildSelect(b, takes, divisor.digits, one, "");
  LLVMValueRef left = LLVMBuildSub(b, a.exponent, divisor.exponent, "");
  left = LLVMBuildSelect(b, takes, left, roc_cg_i64(cg, 0), "");
  LLVMValueRef rest = reduce(cg, l, fn, LLVMBuildURem(b, a.digits, by, ""), by, left);
  LLVMValueRef value = join(cg, l, rest, divisor.exponent);
  value = roc_cg_intrinsic(cg, "llvm.copysign", &type, 1, (LLVMValueRef[2]){value, x}, 2);
  value = LLVMBuildSelect(b, is_less, x, value, "");
  LLVMBuildRet(b, LLVMBuildSelect(b, is_defined, value, LLVMConstReal(l->type, NAN), ""));
  LLVMDisposeBuilder(b);
  cg->b = kept;
}

LLVMValueRef roc_nvptx_remainder(roc_cg *cg, LLVMValueRef x, LLVMValueRef y) {
  LLVMTypeRef type = LLVMTypeOf(x);
  layout l = layout_of(cg, type);
  const char *name = type == cg->t.f32 ? "roc.fmod.f32" : "roc.fmod.f64";
  LLVMTypeRef fn_type = LLVMFunctionType(type, (LLVMTypeRef[2]){type, type}, 2, 0);
  LLVMValueRef fn = LLVMGetNamedFunction(cg->mod, name);
  if (!fn) {
    fn = LLVMAddFunction(cg->mod, name, fn_type);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    roc_cg_attr(cg, fn, LLVMAttributeFunctionIndex, "nounwind");
    make_function(cg, &l, fn);
  }
  return LLVMBuildCall2(cg->b, fn_type, fn, (LLVMValueRef[2]){x, y}, 2, "");
}
