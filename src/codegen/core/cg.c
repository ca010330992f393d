/* The state of one compile: context, module, cached types, and the small helpers every emitter
 * uses. */
#include "codegen/core/cg.h"

#include <string.h>

#include "base/alloc.h"
#include "codegen/llvm/machine.h"

/* LLVM reports some failures only here and then returns an object all the same, so errors are
 * counted. */
static void on_diagnostic(LLVMDiagnosticInfoRef info, void *ud) {
  roc_cg *cg = ud;
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError) return;
  char *text = LLVMGetDiagInfoDescription(info);
  if (cg->nerrors++ < 4) roc_str_printf(&cg->diagnostics, "%s\n", text);
  LLVMDisposeMessage(text);
}

static void make_types(roc_cg *cg) {
  cg->t = (roc_cg_types){
      .none = LLVMVoidTypeInContext(cg->ctx),
      .i1 = LLVMInt1TypeInContext(cg->ctx),
      .i8 = LLVMInt8TypeInContext(cg->ctx),
      .i16 = LLVMInt16TypeInContext(cg->ctx),
      .i32 = LLVMInt32TypeInContext(cg->ctx),
      .i64 = LLVMInt64TypeInContext(cg->ctx),
      .f16 = LLVMHalfTypeInContext(cg->ctx),
      .f32 = LLVMFloatTypeInContext(cg->ctx),
      .f64 = LLVMDoubleTypeInContext(cg->ctx),
      .ptr = LLVMPointerTypeInContext(cg->ctx, 0),
  };
}

void roc_cg_set_lanes(roc_cg *cg, unsigned lanes) {
  if (cg->lanes == lanes) return;
  make_types(cg);
  cg->lanes = lanes;
  if (lanes == 1) return;
  roc_cg_types *t = &cg->t;
  LLVMTypeRef *const types[] = {&t->i1,  &t->i8,  &t->i16, &t->i32,
                                &t->i64, &t->f16, &t->f32, &t->f64};
  for (unsigned i = 0; i < sizeof types / sizeof *types; i++) {
    *types[i] = LLVMVectorType(*types[i], lanes);
  }
}

static bool make_tables(roc_cg *cg) {
  const roc_ir_module *ir = cg->ir;
  cg->values = ROC_ARENA_ARRAY(&cg->arena, LLVMValueRef, ir->insts.count + 1);
  cg->exits = ROC_ARENA_ARRAY(&cg->arena, roc_cg_exits, ir->insts.count + 1);
  cg->vars = ROC_ARENA_ARRAY(&cg->arena, LLVMValueRef, ir->vars.count + 1);
  cg->scalars = ROC_ARENA_ARRAY(&cg->arena, LLVMValueRef, ir->params.count + 1);
  cg->arrays = ROC_ARENA_ARRAY(&cg->arena, roc_cg_array, ir->arrays.count + 1);
  cg->bases = ROC_ARENA_ARRAY(&cg->arena, LLVMValueRef, ir->arrays.count + 1);
  return !cg->arena.failed;
}

static void make_module(roc_cg *cg) {
  cg->ctx = LLVMContextCreate();
  LLVMContextSetDiagnosticHandler(cg->ctx, on_diagnostic, cg);
  cg->mod = LLVMModuleCreateWithNameInContext(cg->ir->name, cg->ctx);
  char *triple = LLVMGetTargetMachineTriple(cg->tm);
  LLVMSetTarget(cg->mod, triple);
  LLVMDisposeMessage(triple);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(cg->tm);
  LLVMSetModuleDataLayout(cg->mod, layout);
  LLVMDisposeTargetData(layout);
  cg->b = LLVMCreateBuilderInContext(cg->ctx);
  cg->entry_b = LLVMCreateBuilderInContext(cg->ctx);
  roc_cg_set_lanes(cg, 1);
}

roc_status roc_cg_open(const roc_ir_module *ir, const roc_cg_options *options,
                       const roc_target *target, struct roc_machine *machine, roc_cg **out,
                       roc_error *err) {
  roc_cg *cg = roc_zalloc(sizeof *cg);
  if (!cg) return roc_fail(err, ROC_OOM, "out of memory while compiling '%s'", ir->name);
  cg->ir = ir;
  cg->options = options;
  cg->target = target;
  cg->machine = machine;
  cg->tm = machine->tm;
  roc_arena_init(&cg->arena, 0);
  make_module(cg);
  if (!make_tables(cg)) {
    roc_cg_close(cg);
    return roc_fail(err, ROC_OOM, "out of memory while compiling '%s'", ir->name);
  }
  *out = cg;
  return ROC_OK;
}

void roc_cg_close(roc_cg *cg) {
  LLVMDisposeBuilder(cg->b);
  LLVMDisposeBuilder(cg->entry_b);
  LLVMDisposeModule(cg->mod);
  LLVMContextDispose(cg->ctx);
  roc_free(cg->narrow);
  roc_free(cg->narrow_vars);
  roc_ir_widths_deinit(&cg->widths);
  roc_str_deinit(&cg->diagnostics);
  roc_vec_deinit(&cg->sites);
  roc_arena_deinit(&cg->arena);
  roc_free(cg);
}

uint32_t roc_cg_add_site(roc_cg *cg, const roc_site *site) {
  if (!roc_vec_push(&cg->sites, *site)) cg->arena.failed = true;
  return cg->ir->sites.count + cg->sites.count - 1;
}

LLVMTypeRef roc_cg_value_type(const roc_cg *cg, roc_value_type type) {
  switch (type) {
    case ROC_VT_BOOL: return cg->t.i1;
    case ROC_VT_INT: return cg->t.i64;
    case ROC_VT_F32: return cg->t.f32;
    case ROC_VT_F64: return cg->t.f64;
    default: return cg->t.none;
  }
}

enum { MOST_LANES = 64 };

static LLVMValueRef splat_constant(LLVMValueRef one, unsigned lanes) {
  LLVMValueRef all[MOST_LANES];
  for (unsigned i = 0; i < lanes; i++) all[i] = one;
  return LLVMConstVector(all, lanes);
}

LLVMValueRef roc_cg_int(LLVMTypeRef type, int64_t value) {
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return LLVMConstInt(type, (uint64_t)value, 1);
  LLVMValueRef one = LLVMConstInt(LLVMGetElementType(type), (uint64_t)value, 1);
  return splat_constant(one, LLVMGetVectorSize(type));
}

LLVMValueRef roc_cg_flag(const roc_cg *cg, bool value) {
  return LLVMConstInt(LLVMInt1TypeInContext(cg->ctx), value, 0);
}

LLVMValueRef roc_cg_immediate(const roc_cg *cg, uint32_t value) {
  return LLVMConstInt(LLVMInt32TypeInContext(cg->ctx), value, 0);
}

LLVMValueRef roc_cg_i64(const roc_cg *cg, int64_t value) {
  return roc_cg_int(cg->t.i64, value);
}

LLVMValueRef roc_cg_i32(const roc_cg *cg, uint32_t value) {
  return roc_cg_int(cg->t.i32, (int64_t)value);
}

LLVMValueRef roc_cg_constant(LLVMValueRef value) {
  if (LLVMGetTypeKind(LLVMTypeOf(value)) != LLVMVectorTypeKind) {
    return LLVMIsAConstantInt(value) || LLVMIsAConstantFP(value) ? value : NULL;
  }
  if (!LLVMIsConstant(value) || LLVMIsUndef(value)) return NULL;
  LLVMValueRef first = LLVMGetAggregateElement(value, 0);
  for (unsigned i = 1; i < LLVMGetVectorSize(LLVMTypeOf(value)); i++) {
    if (LLVMGetAggregateElement(value, i) != first) return NULL;
  }
  return first ? roc_cg_constant(first) : NULL;
}

LLVMValueRef roc_cg_spread(roc_cg *cg, LLVMValueRef value) {
  if (cg->lanes == 1 || LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind) return value;
  if (LLVMIsConstant(value)) return splat_constant(value, cg->lanes);
  LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(value), cg->lanes);
  LLVMValueRef none = LLVMGetPoison(type);
  LLVMValueRef first = LLVMBuildInsertElement(cg->b, none, value, roc_cg_immediate(cg, 0), "");
  LLVMValueRef zeros = LLVMConstNull(LLVMVectorType(LLVMInt32TypeInContext(cg->ctx), cg->lanes));
  return LLVMBuildShuffleVector(cg->b, first, none, zeros, "");
}

LLVMBasicBlockRef roc_cg_block(roc_cg *cg, const char *name) {
  return LLVMAppendBasicBlockInContext(cg->ctx, cg->fn, name);
}

bool roc_cg_is_open(const roc_cg *cg) {
  return LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(cg->b)) == NULL;
}

void roc_cg_goto(roc_cg *cg, LLVMBasicBlockRef to) {
  if (roc_cg_is_open(cg)) LLVMBuildBr(cg->b, to);
}

void roc_cg_at(roc_cg *cg, LLVMBasicBlockRef block) {
  LLVMPositionBuilderAtEnd(cg->b, block);
}

LLVMValueRef roc_cg_alloca(roc_cg *cg, LLVMTypeRef type, const char *name) {
  return LLVMBuildAlloca(cg->entry_b, type, name);
}

static LLVMValueRef tag_access(roc_cg *cg, LLVMValueRef inst) {
  if (cg->access_group) {
    unsigned kind = LLVMGetMDKindIDInContext(cg->ctx, "llvm.access.group", 17);
    LLVMSetMetadata(inst, kind, LLVMMetadataAsValue(cg->ctx, cg->access_group));
  }
  return inst;
}

LLVMValueRef roc_cg_load(roc_cg *cg, LLVMTypeRef type, LLVMValueRef ptr) {
  return tag_access(cg, LLVMBuildLoad2(cg->b, type, ptr, ""));
}

LLVMValueRef roc_cg_store(roc_cg *cg, LLVMValueRef value, LLVMValueRef ptr) {
  return tag_access(cg, LLVMBuildStore(cg->b, value, ptr));
}

LLVMValueRef roc_cg_byte_offset(roc_cg *cg, LLVMValueRef ptr, LLVMValueRef bytes) {
  return LLVMBuildInBoundsGEP2(cg->b, cg->t.i8, ptr, &bytes, 1, "");
}

LLVMValueRef roc_cg_intrinsic(roc_cg *cg, const char *name, LLVMTypeRef *overloads,
                              unsigned noverloads, LLVMValueRef *args, unsigned nargs) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  LLVMValueRef fn = LLVMGetIntrinsicDeclaration(cg->mod, id, overloads, noverloads);
  return LLVMBuildCall2(cg->b, LLVMGlobalGetValueType(fn), fn, args, nargs, "");
}

void roc_cg_attr_int(roc_cg *cg, LLVMValueRef fn, LLVMAttributeIndex at, const char *name,
                     uint64_t value) {
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMAddAttributeAtIndex(fn, at, LLVMCreateEnumAttribute(cg->ctx, kind, value));
}

void roc_cg_attr(roc_cg *cg, LLVMValueRef fn, LLVMAttributeIndex at, const char *name) {
  roc_cg_attr_int(cg, fn, at, name, 0);
}

void roc_cg_attr_text(roc_cg *cg, LLVMValueRef fn, const char *key, const char *value) {
  LLVMAttributeRef attr = LLVMCreateStringAttribute(cg->ctx, key, (unsigned)strlen(key), value,
                                                    (unsigned)strlen(value));
  LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex, attr);
}

void roc_cg_branch_likely(roc_cg *cg, LLVMValueRef cond, LLVMBasicBlockRef likely,
                          LLVMBasicBlockRef rare) {
  LLVMValueRef branch = LLVMBuildCondBr(cg->b, cond, likely, rare);
  LLVMMetadataRef weights[3] = {
      LLVMMDStringInContext2(cg->ctx, "branch_weights", 14),
      LLVMValueAsMetadata(roc_cg_i32(cg, 1u << 20)),
      LLVMValueAsMetadata(roc_cg_i32(cg, 1)),
  };
  LLVMMetadataRef node = LLVMMDNodeInContext2(cg->ctx, weights, 3);
  LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(cg->ctx, "prof", 4),
                  LLVMMetadataAsValue(cg->ctx, node));
}
