/* Between which numbers a float32 lies that LLVM's code computes: of integers of few bits, sums,
 * products and squares.
 *
 * Bounds are computed in double, and moved outwards by a step of float32 after each operation, which
 * is more than what rounding changes. */
#include <math.h>

#include "codegen/core/repair.h"
#include "codegen/llvm/known.h"
#include "codegen/nvptx/nvptx.h"

enum { MOST_VISITS = 400 }; /* of values, for one question: a value is looked at for each use */

typedef roc_nvptx_bounds bounds;

static const bounds unknown = {-INFINITY, INFINITY, false};

static bool is_finite(bounds x) {
  return x.is_number && isfinite(x.low) && isfinite(x.high);
}

/* Of a result that may be rounded to float32. */
static bounds rounded(bounds x) {
  if (x.low != 0) x.low = nextafterf((float)x.low, -INFINITY);
  x.high = nextafterf((float)x.high, INFINITY);
  x.is_number &= isfinite(x.low) && isfinite(x.high);
  return x;
}

static bounds hull(bounds a, bounds b) {
  return (bounds){fmin(a.low, b.low), fmax(a.high, b.high), a.is_number && b.is_number};
}

/* A sum of infinities is no number; what is known of its operands holds for it if it is one. */
static bounds sum_of(bounds a, bounds b) {
  return (bounds){a.low + b.low, a.high + b.high, is_finite(a) && is_finite(b)};
}

static bounds product_of(bounds a, bounds b) {
  if (!is_finite(a) || !is_finite(b)) return unknown;
  double corners[4] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  bounds product = {corners[0], corners[0], true};
  for (int i = 1; i < 4; i++) product = hull(product, (bounds){corners[i], corners[i], true});
  return product;
}

static bounds square_of(bounds a) {
  if (!is_finite(a)) return (bounds){0, INFINITY, false};
  bounds square = product_of(a, a);
  return (bounds){fmax(square.low, 0), square.high, true};
}

static bounds absolute(bounds a) {
  double least = a.low > 0 ? a.low : a.high < 0 ? -a.high : 0;
  return (bounds){least, fmax(-a.low, a.high), a.is_number};
}

static bounds negative(bounds a) {
  return (bounds){-a.high, -a.low, a.is_number};
}

/* ---- of LLVM's values -------------------------------------------------------------------------- */

typedef struct finder {
  roc_cg *cg;
  unsigned visits;
} finder;

static bounds find(finder *f, LLVMValueRef value);

static bounds of_operand(finder *f, LLVMValueRef inst, unsigned n) {
  return find(f, LLVMGetOperand(inst, n));
}

static bounds of_product(finder *f, LLVMValueRef inst) {
  bounds first = of_operand(f, inst, 0);
  if (LLVMGetOperand(inst, 0) == LLVMGetOperand(inst, 1)) return square_of(first);
  return product_of(first, of_operand(f, inst, 1));
}

static bounds of_constant(LLVMValueRef value) {
  LLVMBool is_rounded;
  double x = LLVMConstRealGetDouble(value, &is_rounded);
  return isfinite(x) ? (bounds){x, x, true} : unknown;
}

static bounds of_integer(finder *f, LLVMValueRef from, bool is_signed) {
  bounds range = {.is_number = true};
  roc_known_range(f->cg->mod, from, is_signed, &range.low, &range.high);
  return rounded(range);
}

static bounds of_call(finder *f, LLVMValueRef call) {
  if (roc_cg_is_call_of(call, "llvm.fabs")) return absolute(of_operand(f, call, 0));
  if (!roc_cg_is_call_of(call, "llvm.fma")) return unknown;
  return rounded(sum_of(of_product(f, call), of_operand(f, call, 2)));
}

static bounds of_instruction(finder *f, LLVMValueRef inst) {
  switch (LLVMGetInstructionOpcode(inst)) {
    case LLVMSIToFP: return of_integer(f, LLVMGetOperand(inst, 0), true);
    case LLVMUIToFP: return of_integer(f, LLVMGetOperand(inst, 0), false);
    case LLVMFNeg: return negative(of_operand(f, inst, 0));
    case LLVMFMul: return rounded(of_product(f, inst));
    case LLVMFAdd: return rounded(sum_of(of_operand(f, inst, 0), of_operand(f, inst, 1)));
    case LLVMFSub: return rounded(sum_of(of_operand(f, inst, 0), negative(of_operand(f, inst, 1))));
    case LLVMSelect: return hull(of_operand(f, inst, 1), of_operand(f, inst, 2));
    case LLVMCall: return of_call(f, inst);
    default: return unknown;
  }
}

static bounds find(finder *f, LLVMValueRef value) {
  if (LLVMIsAConstantFP(value)) return of_constant(value);
  if (!LLVMIsAInstruction(value) || f->visits++ >= MOST_VISITS) return unknown;
  return of_instruction(f, value);
}

roc_nvptx_bounds roc_nvptx_find_bounds(roc_cg *cg, LLVMValueRef value) {
  finder f = {.cg = cg};
  return find(&f, value);
}
