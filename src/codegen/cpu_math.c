/* Float functions of the CPU: calls of libm, with the vector variants of libmvec named on the call,
 * so that the loop vectoriser can take them. */
#include <stdio.h>
#include <string.h>

#include "codegen/cpu.h"

/* A vector ABI of x86-64: its letter in _ZGV names, its register bytes, and the feature it
 * needs. */
typedef struct vector_isa {
  char letter;
  unsigned bytes;
  const char *feature;
} vector_isa;

static const vector_isa isas[] = {{'e', 64, "+avx512f"}, {'d', 32, "+avx2"}, {'b', 16, "+sse2"}};

static LLVMTypeRef function_type(LLVMTypeRef type, unsigned arity) {
  LLVMTypeRef params[3] = {type, type, type};
  return LLVMFunctionType(type, params, arity, 0);
}

/* Declares `name`, pure. */
static LLVMValueRef declare(roc_cg *cg, const char *name, LLVMTypeRef type, unsigned arity) {
  LLVMValueRef fn = LLVMGetNamedFunction(cg->mod, name);
  if (fn) return fn;
  fn = LLVMAddFunction(cg->mod, name, function_type(type, arity));
  roc_cg_attr_int(cg, fn, LLVMAttributeFunctionIndex, "memory", 0);
  roc_cg_attr(cg, fn, LLVMAttributeFunctionIndex, "nounwind");
  roc_cg_attr(cg, fn, LLVMAttributeFunctionIndex, "willreturn");
  return fn;
}

/* All functions of ir_math.def, for two types and three instruction sets, are fewer. */
enum { MAX_VARIANTS = 256 };

/* Vector functions are found by name only, so something must keep them in the module. */
static void keep_used(roc_cg *cg, LLVMValueRef *fns, unsigned count) {
  LLVMValueRef old = LLVMGetNamedGlobal(cg->mod, "llvm.compiler.used");
  LLVMValueRef all[MAX_VARIANTS];
  unsigned n = 0;
  if (old) {
    LLVMValueRef list = LLVMGetInitializer(old);
    uint64_t nold = LLVMGetArrayLength2(LLVMTypeOf(list));
    for (; n < nold && n < MAX_VARIANTS; n++) all[n] = LLVMGetAggregateElement(list, n);
    LLVMDeleteGlobal(old);
  }
  for (unsigned i = 0; i < count && n < MAX_VARIANTS; i++) all[n++] = fns[i];
  LLVMValueRef list = LLVMConstArray2(cg->t.ptr, all, n);
  LLVMValueRef global = LLVMAddGlobal(cg->mod, LLVMTypeOf(list), "llvm.compiler.used");
  LLVMSetInitializer(global, list);
  LLVMSetLinkage(global, LLVMAppendingLinkage);
  LLVMSetSection(global, "llvm.metadata");
}

/* Declares the variants of `name` that this machine has and writes the attribute that names
 * them. */
static void declare_variants(roc_cg *cg, const char *name, LLVMTypeRef type, unsigned arity,
                             char *text, size_t size) {
  char *features = LLVMGetTargetMachineFeatureString(cg->tm);
  unsigned element = type == cg->t.f32 ? 4 : 8, count = 0;
  LLVMValueRef fns[3];
  size_t len = 0;
  for (unsigned i = 0; i < 3; i++) {
    if (!strstr(features, isas[i].feature)) continue;
    unsigned lanes = isas[i].bytes / element;
    char symbol[64];
    snprintf(symbol, sizeof symbol, "_ZGV%cN%u%.*s_%s", isas[i].letter, lanes, (int)arity, "vvv",
             name);
    bool is_new = !LLVMGetNamedFunction(cg->mod, symbol);
    LLVMValueRef fn = declare(cg, symbol, LLVMVectorType(type, lanes), arity);
    if (is_new) fns[count++] = fn;
    len += (size_t)snprintf(text + len, size - len, "%s_ZGV_LLVM_N%u%.*s_%s(%s)", len ? "," : "",
                            lanes, (int)arity, "vvv", name, symbol);
  }
  LLVMDisposeMessage(features);
  if (count) keep_used(cg, fns, count);
}

static LLVMValueRef call_libm(roc_cg *cg, const char *base, bool has_vector, LLVMTypeRef type,
                              LLVMValueRef *args, unsigned arity) {
  char name[32], variants[256] = "";
  snprintf(name, sizeof name, "%s%s", base, type == cg->t.f32 ? "f" : "");
  LLVMValueRef fn = declare(cg, name, type, arity);
  if (has_vector) declare_variants(cg, name, type, arity, variants, sizeof variants);
  LLVMValueRef call = LLVMBuildCall2(cg->b, function_type(type, arity), fn, args, arity, "");
  if (*variants) {
    LLVMAttributeRef attr = LLVMCreateStringAttribute(cg->ctx, "vector-function-abi-variant", 27,
                                                      variants, (unsigned)strlen(variants));
    LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex, attr);
  }
  return call;
}

LLVMValueRef cpu_math(roc_cg *cg, roc_ir_math which, roc_value_type type, LLVMValueRef *args) {
  LLVMTypeRef ty = roc_cg_value_type(cg, type);
  if (which == ROC_IR_MATH_COUNT_) return call_libm(cg, "pow", true, ty, args, 2);
  if (which == ROC_IR_MATH_RSQRT) {
    LLVMValueRef root = roc_cg_intrinsic(cg, "llvm.sqrt", &ty, 1, args, 1);
    return LLVMBuildFDiv(cg->b, LLVMConstReal(ty, 1), root, "");
  }
  const roc_ir_math_info *info = &roc_ir_math_table[which];
  return call_libm(cg, info->libm, info->has_vector, ty, args, info->arity);
}
