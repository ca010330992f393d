/* Float functions of the CPU. Each has one form, whatever calls it: a vector loop of any width,
 * what is left of its row, a single work-item.
 *
 *   arithmetic  of elementary.c
 *   libmvec     always its functions of the widest vectors that the target has, filled up
 *   wide        float32 by libmvec's function of float64
 *   libm        one by one
 *   angle       by arithmetic where the angle is small, else libm
 *   long        libm's function of the next wider type, one by one
 *
 * libm's and libmvec's functions are called by names of ours, which LLVM neither folds nor makes
 * others of. What they stand for is written after the optimiser has vectorised: the functions that
 * its calls name, vector variants included, each of which calls the same one. */
#include <stdio.h>
#include <string.h>

#include "codegen/cpu/cpu.h"
#include "codegen/core/elementary.h"
#include "codegen/llvm/processor.h"

typedef enum form { FORM_LIBM, FORM_MVEC, FORM_WIDE, FORM_LONG, FORM_ANGLE, FORM_ARITHMETIC } form;

typedef LLVMValueRef arithmetic(roc_cg *cg, roc_value_type type, LLVMValueRef x);

/* By what is measured of glibc's functions (spec/cts/accuracy_spec.lua has the bounds). */
static const struct {
  form narrow, wide; /* of float32, of float64 */
  arithmetic *arithmetic;
} forms[ROC_IR_MATH_COUNT_] = {
    [ROC_IR_MATH_SIN] = {FORM_WIDE, FORM_ANGLE},
    [ROC_IR_MATH_COS] = {FORM_WIDE, FORM_ANGLE},
    [ROC_IR_MATH_TAN] = {FORM_WIDE, FORM_ANGLE},
    [ROC_IR_MATH_ASIN] = {FORM_WIDE, FORM_LIBM},
    [ROC_IR_MATH_ACOS] = {FORM_WIDE, FORM_LIBM},
    [ROC_IR_MATH_ATAN] = {FORM_WIDE, FORM_LIBM},
    [ROC_IR_MATH_ATAN2] = {FORM_WIDE, FORM_MVEC},
    [ROC_IR_MATH_SINH] = {FORM_WIDE, FORM_MVEC},
    [ROC_IR_MATH_COSH] = {FORM_WIDE, FORM_MVEC},
    [ROC_IR_MATH_TANH] = {FORM_ARITHMETIC, FORM_ARITHMETIC, roc_cg_tanh},
    [ROC_IR_MATH_ASINH] = {FORM_WIDE, FORM_LIBM},
    [ROC_IR_MATH_ACOSH] = {FORM_WIDE, FORM_LONG},
    [ROC_IR_MATH_ATANH] = {FORM_WIDE, FORM_LIBM},
    [ROC_IR_MATH_EXP] = {FORM_ARITHMETIC, FORM_ARITHMETIC, roc_cg_exp},
    [ROC_IR_MATH_EXP2] = {FORM_ARITHMETIC, FORM_ARITHMETIC, roc_cg_exp2},
    [ROC_IR_MATH_EXPM1] = {FORM_ARITHMETIC, FORM_ARITHMETIC, roc_cg_expm1},
    [ROC_IR_MATH_LOG] = {FORM_ARITHMETIC, FORM_MVEC, roc_cg_log},
    [ROC_IR_MATH_LOG2] = {FORM_ARITHMETIC, FORM_ARITHMETIC, roc_cg_log2},
    [ROC_IR_MATH_LOG10] = {FORM_ARITHMETIC, FORM_ARITHMETIC, roc_cg_log10},
    [ROC_IR_MATH_LOG1P] = {FORM_WIDE, FORM_MVEC},
    [ROC_IR_MATH_CBRT] = {FORM_WIDE, FORM_MVEC},
    [ROC_IR_MATH_HYPOT] = {FORM_WIDE, FORM_MVEC},
    [ROC_IR_MATH_ERF] = {FORM_WIDE, FORM_MVEC},
    [ROC_IR_MATH_ERFC] = {FORM_WIDE, FORM_MVEC},
    [ROC_IR_MATH_GAMMA] = {FORM_LONG, FORM_LONG},
    [ROC_IR_MATH_LGAMMA] = {FORM_LONG, FORM_LIBM},
};

/* ---- names ------------------------------------------------------------------------------- */

/* "roc.FORM.TYPE.LANES.FUNCTION"; LANES has an m in front where a mask comes last, which is not
 * looked at but for what it spares. */
enum { NAME_BYTES = 64, MOST_LANES = 32 };
static const char *const form_names[] = {"libm", "mvec", "wide", "long"};

static void write_name(char name[NAME_BYTES], form how, bool is_f32, bool is_masked, unsigned lanes,
                       const char *libm) {
  snprintf(name, NAME_BYTES, "roc.%s.%s.%s%u.%s", form_names[how], is_f32 ? "f32" : "f64",
           is_masked ? "m" : "", lanes, libm);
}

static LLVMTypeRef of_lanes(LLVMTypeRef type, unsigned lanes) {
  return lanes == 1 ? type : LLVMVectorType(type, lanes);
}

static LLVMTypeRef function_type(roc_cg *cg, LLVMTypeRef type, unsigned lanes, unsigned arity,
                                 bool is_masked) {
  LLVMTypeRef value = of_lanes(type, lanes), params[4] = {value, value, value, value};
  if (is_masked) params[arity] = of_lanes(LLVMInt1TypeInContext(cg->ctx), lanes);
  return LLVMFunctionType(value, params, arity + is_masked, 0);
}

/* Declares `name`, pure. */
static LLVMValueRef declare(roc_cg *cg, const char *name, LLVMTypeRef type) {
  LLVMValueRef fn = LLVMGetNamedFunction(cg->mod, name);
  if (fn) return fn;
  fn = LLVMAddFunction(cg->mod, name, type);
  roc_cg_attr_int(cg, fn, LLVMAttributeFunctionIndex, "memory", 0);
  roc_cg_attr(cg, fn, LLVMAttributeFunctionIndex, "nounwind");
  roc_cg_attr(cg, fn, LLVMAttributeFunctionIndex, "willreturn");
  return fn;
}

/* ---- calls ------------------------------------------------------------------------------- */

/* Vector functions are found by name only, so something must keep them in the module. */
static void keep_used(roc_cg *cg, LLVMValueRef *fns, unsigned count) {
  enum { MOST = 1024 }; /* more than there are functions and variants */
  LLVMValueRef old = LLVMGetNamedGlobal(cg->mod, "llvm.compiler.used");
  LLVMValueRef all[MOST];
  unsigned n = 0;
  if (old) {
    LLVMValueRef list = LLVMGetInitializer(old);
    uint64_t nold = LLVMGetArrayLength2(LLVMTypeOf(list));
    for (; n < nold && n < MOST; n++) all[n] = LLVMGetAggregateElement(list, n);
    LLVMDeleteGlobal(old);
  }
  for (unsigned i = 0; i < count && n < MOST; i++) all[n++] = fns[i];
  LLVMValueRef list = LLVMConstArray2(cg->t.ptr, all, n);
  LLVMValueRef global = LLVMAddGlobal(cg->mod, LLVMTypeOf(list), "llvm.compiler.used");
  LLVMSetInitializer(global, list);
  LLVMSetLinkage(global, LLVMAppendingLinkage);
  LLVMSetSection(global, "llvm.metadata");
}

/* Declares the variants of scalar function `name` and writes the attribute that names them. */
static void declare_variants(roc_cg *cg, const char *name, form how, const char *libm,
                             LLVMTypeRef type, unsigned arity, char *text, size_t size) {
  LLVMValueRef fns[2 * MOST_LANES];
  unsigned count = 0;
  size_t len = 0;
  for (unsigned lanes = 2; lanes <= MOST_LANES; lanes *= 2) {
    for (unsigned masked = 0; masked < 2; masked++) {
      char symbol[NAME_BYTES];
      write_name(symbol, how, type == cg->t.f32, masked, lanes, libm);
      bool is_new = !LLVMGetNamedFunction(cg->mod, symbol);
      LLVMValueRef fn = declare(cg, symbol, function_type(cg, type, lanes, arity, masked));
      if (is_new) fns[count++] = fn;
      len += (size_t)snprintf(text + len, size - len, "%s_ZGV_LLVM_%c%u%.*s_%s(%s)", len ? "," : "",
                              masked ? 'M' : 'N', lanes, (int)arity, "vvv", name, symbol);
    }
  }
  if (count) keep_used(cg, fns, count);
}

/* Of work-items side by side: the variant itself, for those that have their turn. */
static LLVMValueRef call_lanes(roc_cg *cg, form how, const char *libm, LLVMTypeRef type,
                               LLVMValueRef *args, unsigned arity, LLVMValueRef mask) {
  char name[NAME_BYTES];
  LLVMTypeRef one = LLVMGetElementType(type);
  write_name(name, how, type == cg->t.f32, true, cg->lanes, libm);
  LLVMTypeRef fn_type = function_type(cg, one, cg->lanes, arity, true);
  LLVMValueRef all[4] = {NULL, NULL, NULL, NULL};
  for (unsigned i = 0; i < arity; i++) all[i] = args[i];
  all[arity] = mask;
  return LLVMBuildCall2(cg->b, fn_type, declare(cg, name, fn_type), all, arity + 1, "");
}

/* Functions that take one by one have variants as well: in a loop that is vectorised for its other
 * operations they are called with vectors, and take those apart. */
static LLVMValueRef call(roc_cg *cg, form how, const char *libm, LLVMTypeRef type,
                         LLVMValueRef *args, unsigned arity) {
  char name[NAME_BYTES], variants[2048] = "";
  if (cg->lanes > 1) {
    return call_lanes(cg, how, libm, type, args, arity, cpu_lanes_mask(cpu_of(cg)));
  }
  write_name(name, how, type == cg->t.f32, false, 1, libm);
  LLVMTypeRef fn_type = function_type(cg, type, 1, arity, false);
  LLVMValueRef fn = declare(cg, name, fn_type);
  declare_variants(cg, name, how, libm, type, arity, variants, sizeof variants);
  LLVMValueRef result = LLVMBuildCall2(cg->b, fn_type, fn, args, arity, "");
  LLVMAttributeRef attr = LLVMCreateStringAttribute(cg->ctx, "vector-function-abi-variant", 27,
                                                    variants, (unsigned)strlen(variants));
  LLVMAddCallSiteAttribute(result, LLVMAttributeFunctionIndex, attr);
  return result;
}

/* libmvec's root of a denormal number is further off, so it takes that larger. */
static LLVMValueRef cube_root(roc_cg *cg, form how, LLVMTypeRef type, LLVMValueRef x) {
  LLVMBuilderRef b = cg->b;
  LLVMValueRef size = roc_cg_intrinsic(cg, "llvm.fabs", &type, 1, &x, 1);
  LLVMValueRef is_denormal =
      LLVMBuildFCmp(b, LLVMRealOLT, size, LLVMConstReal(type, 0x1p-1022), "");
  LLVMValueRef larger = LLVMBuildFMul(b, x, LLVMConstReal(type, 0x1p54), "");
  x = LLVMBuildSelect(b, is_denormal, larger, x, "");
  LLVMValueRef root = call(cg, how, "cbrt", type, &x, 1);
  LLVMValueRef smaller = LLVMBuildFMul(b, root, LLVMConstReal(type, 0x1p-18), "");
  return LLVMBuildSelect(b, is_denormal, smaller, root, "");
}

/* The function of an angle: by arithmetic where that is small, else libm's. */
static LLVMValueRef of_angle(roc_cg *cg, roc_ir_math which, LLVMValueRef x) {
  LLVMTypeRef type = cg->t.f64;
  LLVMValueRef usual = which == ROC_IR_MATH_SIN   ? roc_cg_small_sin(cg, x)
                       : which == ROC_IR_MATH_COS ? roc_cg_small_cos(cg, x)
                                                  : roc_cg_small_tan(cg, x);
  LLVMValueRef size = roc_cg_intrinsic(cg, "llvm.fabs", &type, 1, &x, 1);
  LLVMValueRef is_small = LLVMBuildFCmp(cg->b, LLVMRealOLE, size, LLVMConstReal(type, 0x1p20), "");
  const char *libm = roc_ir_math_table[which].libm;
  if (cg->lanes > 1) { /* the function returns at once where no lane asks */
    LLVMValueRef asks = LLVMBuildNot(cg->b, is_small, "");
    asks = LLVMBuildAnd(cg->b, asks, cpu_lanes_mask(cpu_of(cg)), "");
    LLVMValueRef rare = call_lanes(cg, FORM_LIBM, libm, type, &x, 1, asks);
    return LLVMBuildSelect(cg->b, is_small, usual, rare, "");
  }
  LLVMBasicBlockRef blocks[2] = {LLVMGetInsertBlock(cg->b), roc_cg_block(cg, "angle.large")};
  LLVMBasicBlockRef done = roc_cg_block(cg, "angle");
  roc_cg_branch_likely(cg, is_small, done, blocks[1]);
  roc_cg_at(cg, blocks[1]);
  LLVMValueRef values[2] = {usual, call(cg, FORM_LIBM, libm, type, &x, 1)};
  LLVMBuildBr(cg->b, done);
  roc_cg_at(cg, done);
  LLVMValueRef result = LLVMBuildPhi(cg->b, type, "");
  LLVMAddIncoming(result, values, blocks, 2);
  return result;
}

LLVMValueRef cpu_math(roc_cg *cg, roc_ir_math which, roc_value_type type, LLVMValueRef *args) {
  LLVMTypeRef ty = roc_cg_value_type(cg, type);
  if (which == ROC_IR_MATH_RSQRT) {
    LLVMValueRef root = roc_cg_intrinsic(cg, "llvm.sqrt", &ty, 1, args, 1);
    return LLVMBuildFDiv(cg->b, LLVMConstReal(ty, 1), root, "");
  }
  form how = type == ROC_VT_F32 ? forms[which].narrow : forms[which].wide;
  if (how == FORM_ARITHMETIC) return forms[which].arithmetic(cg, type, args[0]);
  if (how == FORM_ANGLE) return of_angle(cg, which, args[0]);
  if (which == ROC_IR_MATH_CBRT && how == FORM_MVEC) return cube_root(cg, how, ty, args[0]);
  const roc_ir_math_info *info = &roc_ir_math_table[which];
  return call(cg, how, info->libm, ty, args, info->arity);
}

/* ---- what the names stand for ------------------------------------------------------------ */

/* A function to be made, as its name says. */
typedef struct made {
  roc_cg *cg;
  form how;
  char libm[16];
  LLVMTypeRef type; /* of one lane */
  unsigned arity, lanes;
  bool is_masked;
  LLVMValueRef fn;
} made;

/* Lanes [first, first + count) of a vector; those that it does not have are copies of its first. */
static LLVMValueRef take_lanes(const made *f, LLVMValueRef value, unsigned first, unsigned count) {
  if (f->lanes == 1) {
    LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(value), 1);
    value = LLVMBuildInsertElement(f->cg->b, LLVMGetPoison(type), value, roc_cg_i32(f->cg, 0), "");
  }
  LLVMValueRef lanes[2 * MOST_LANES];
  for (unsigned i = 0; i < count; i++) {
    lanes[i] = roc_cg_i32(f->cg, first + i < f->lanes ? first + i : 0);
  }
  LLVMValueRef which = LLVMConstVector(lanes, count);
  return LLVMBuildShuffleVector(f->cg->b, value, LLVMGetPoison(LLVMTypeOf(value)), which, "");
}

/* The lanes of all parts, each of `lanes`, as the function gives them. */
static LLVMValueRef join_parts(const made *f, LLVMValueRef *parts, unsigned count, unsigned lanes) {
  LLVMBuilderRef b = f->cg->b;
  for (; count > 1; count /= 2, lanes *= 2) {
    LLVMValueRef which[2 * MOST_LANES];
    for (unsigned i = 0; i < 2 * lanes; i++) which[i] = roc_cg_i32(f->cg, i);
    LLVMValueRef mask = LLVMConstVector(which, 2 * lanes);
    for (unsigned i = 0; i < count / 2; i++) {
      parts[i] = LLVMBuildShuffleVector(b, parts[2 * i], parts[2 * i + 1], mask, "");
    }
  }
  if (f->lanes == 1) return LLVMBuildExtractElement(b, parts[0], roc_cg_i32(f->cg, 0), "");
  if (f->lanes == lanes) return parts[0];
  made whole = *f;
  whole.lanes = lanes;
  return take_lanes(&whole, parts[0], 0, f->lanes);
}

/* The name and the lanes of libmvec's function of float64 or float32 for the target's widest
 * vectors. */
static unsigned name_widest(const made *f, bool is_f32, char name[NAME_BYTES]) {
  bool has_512 = roc_processor_has(f->cg->tm, "avx512f");
  bool has_256 = roc_processor_has(f->cg->tm, "avx2");
  unsigned lanes = (has_512 ? 64 : has_256 ? 32 : 16) / (is_f32 ? 4 : 8);
  snprintf(name, NAME_BYTES, "_ZGV%cN%u%.*s_%s%s",
           has_512   ? 'e'
           : has_256 ? 'd'
                     : 'b',
           lanes, (int)f->arity, "vvv", f->libm, is_f32 ? "f" : "");
  return lanes;
}

static LLVMValueRef call_widest(const made *f, LLVMValueRef *args) {
  roc_cg *cg = f->cg;
  bool is_wide = f->how == FORM_WIDE;
  LLVMTypeRef type = is_wide ? cg->t.f64 : f->type;
  char name[NAME_BYTES];
  unsigned lanes = name_widest(f, type == cg->t.f32, name), count = 0;
  LLVMTypeRef fn_type = function_type(cg, type, lanes, f->arity, false);
  LLVMTypeRef narrow = LLVMVectorType(f->type, lanes), wide = LLVMVectorType(type, lanes);
  LLVMValueRef fn = declare(cg, name, fn_type), parts[MOST_LANES];
  for (unsigned first = 0; first < f->lanes; first += lanes) {
    LLVMValueRef taken[3];
    for (unsigned i = 0; i < f->arity; i++) {
      taken[i] = take_lanes(f, args[i], first, lanes);
      if (is_wide) taken[i] = LLVMBuildFPExt(cg->b, taken[i], wide, "");
    }
    LLVMValueRef part = LLVMBuildCall2(cg->b, fn_type, fn, taken, f->arity, "");
    parts[count++] = is_wide ? LLVMBuildFPTrunc(cg->b, part, narrow, "") : part;
  }
  return join_parts(f, parts, count, lanes);
}

static LLVMValueRef call_one(const made *f, LLVMValueRef *args) {
  roc_cg *cg = f->cg;
  bool is_long = f->how == FORM_LONG;
  LLVMTypeRef next = f->type == cg->t.f32 ? cg->t.f64 : LLVMX86FP80TypeInContext(cg->ctx);
  LLVMTypeRef type = is_long ? next : f->type;
  char name[NAME_BYTES];
  snprintf(name, sizeof name, "%s%s", f->libm,
           type == cg->t.f32   ? "f"
           : type == cg->t.f64 ? ""
                               : "l");
  LLVMTypeRef fn_type = function_type(cg, type, 1, f->arity, false);
  LLVMValueRef fn = declare(cg, name, fn_type), lanes[3];
  for (unsigned i = 0; i < f->arity; i++) {
    lanes[i] = is_long ? LLVMBuildFPExt(cg->b, args[i], type, "") : args[i];
  }
  LLVMValueRef result = LLVMBuildCall2(cg->b, fn_type, fn, lanes, f->arity, "");
  return is_long ? LLVMBuildFPTrunc(cg->b, result, f->type, "") : result;
}

static LLVMValueRef call_each(const made *f, LLVMValueRef *args) {
  if (f->lanes == 1) return call_one(f, args);
  roc_cg *cg = f->cg;
  LLVMValueRef result = LLVMGetPoison(of_lanes(f->type, f->lanes)), lanes[3];
  for (unsigned lane = 0; lane < f->lanes; lane++) {
    LLVMValueRef at = roc_cg_i32(cg, lane);
    for (unsigned i = 0; i < f->arity; i++) {
      lanes[i] = LLVMBuildExtractElement(cg->b, args[i], at, "");
    }
    result = LLVMBuildInsertElement(cg->b, result, call_one(f, lanes), at, "");
  }
  return result;
}

/* Returns at once when no lane is asked for, and gives lanes that are not an argument that takes no
 * way for rare ones. */
static void apply_mask(const made *f, LLVMValueRef *args) {
  roc_cg *cg = f->cg;
  LLVMValueRef mask = LLVMGetParam(f->fn, f->arity), usual[MOST_LANES];
  LLVMTypeRef bits = LLVMIntTypeInContext(cg->ctx, f->lanes);
  LLVMBasicBlockRef none = LLVMAppendBasicBlockInContext(cg->ctx, f->fn, "none");
  LLVMBasicBlockRef some = LLVMAppendBasicBlockInContext(cg->ctx, f->fn, "some");
  LLVMValueRef asked = LLVMBuildBitCast(cg->b, mask, bits, "");
  LLVMBuildCondBr(cg->b, LLVMBuildIsNull(cg->b, asked, ""), none, some);
  LLVMPositionBuilderAtEnd(cg->b, none);
  LLVMBuildRet(cg->b, args[0]);
  LLVMPositionBuilderAtEnd(cg->b, some);
  for (unsigned k = 0; k < f->lanes; k++) usual[k] = LLVMConstReal(f->type, 0.5);
  for (unsigned i = 0; i < f->arity; i++) {
    args[i] = LLVMBuildSelect(cg->b, mask, args[i], LLVMConstVector(usual, f->lanes), "");
  }
}

static void make(const made *f) {
  roc_cg *cg = f->cg;
  LLVMValueRef args[3] = {NULL, NULL, NULL};
  LLVMPositionBuilderAtEnd(cg->b, LLVMAppendBasicBlockInContext(cg->ctx, f->fn, ""));
  LLVMSetLinkage(f->fn, LLVMInternalLinkage);
  cpu_set_attributes(cg, f->fn);
  for (unsigned i = 0; i < f->arity; i++) args[i] = LLVMGetParam(f->fn, i);
  if (f->is_masked) apply_mask(f, args);
  bool is_vector = f->how == FORM_MVEC || f->how == FORM_WIDE;
  LLVMBuildRet(cg->b, is_vector ? call_widest(f, args) : call_each(f, args));
}

/* Reads a name that write_name wrote; false when it is another one. */
static bool read_name(made *f) {
  size_t len;
  const char *name = LLVMGetValueName2(f->fn, &len);
  char how[8], type[4], mask[2] = "";
  bool is_ours =
      sscanf(name, "roc.%7[a-z].%3[f0-9].%1[m]%u.%15[a-z0-9]", how, type, mask, &f->lanes,
             f->libm) == 5 ||
      sscanf(name, "roc.%7[a-z].%3[f0-9].%u.%15[a-z0-9]", how, type, &f->lanes, f->libm) == 4;
  if (!is_ours) return false;
  f->is_masked = *mask != 0;
  f->type = strcmp(type, "f32") == 0 ? f->cg->t.f32 : f->cg->t.f64;
  f->arity = LLVMCountParams(f->fn) - f->is_masked;
  f->how = FORM_LIBM;
  while (strcmp(form_names[f->how], how) != 0) f->how++;
  return true;
}

roc_status cpu_math_define(roc_cg *cg, roc_error *err) {
  (void)err;
  LLVMValueRef used = LLVMGetNamedGlobal(cg->mod, "llvm.compiler.used"), next;
  if (used) LLVMDeleteGlobal(used);
  for (LLVMValueRef fn = LLVMGetFirstFunction(cg->mod); fn; fn = next) {
    next = LLVMGetNextFunction(fn);
    made f = {.cg = cg, .fn = fn};
    if (!LLVMIsDeclaration(fn) || !read_name(&f)) continue;
    if (LLVMGetFirstUse(fn)) {
      make(&f);
    } else {
      LLVMDeleteFunction(fn);
    }
  }
  return ROC_OK;
}
