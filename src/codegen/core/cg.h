/* The state of one compile, and what the files of the code generator offer each other.
 *
 * A roc_cg is made per compile and freed with its LLVM context.  `b` is the builder all emitters
 * use; `entry_b` stays at the end of the function's entry block, which is left open until the body
 * is done, so that allocas and loop-invariant values can be added at any time.  Emitters never
 * fail: what can go wrong is found by the IR verifier before, or by the LLVM verifier and the
 * diagnostic handler after. */
#ifndef ROC_CODEGEN_CORE_CG_H
#define ROC_CODEGEN_CORE_CG_H

#include "codegen/core/quirk.h"
#include "codegen/core/target.h"
#include "codegen/llvm/emission.h"
#include "ir/value_widths.h"

typedef struct roc_cg_types {
  LLVMTypeRef none, i1, i8, i16, i32, i64, f16, f32, f64, ptr; /* ptr: address space 0 */
} roc_cg_types;

/* Where LEAVE and NEXT of a control instruction go; NULL outside of it. */
typedef struct roc_cg_exits {
  LLVMBasicBlockRef leave, next;
} roc_cg_exits;

/* An array of the module as the code sees it. */
typedef struct roc_cg_array {
  LLVMValueRef base; /* PARAM: the data pointer; CONST: the global */
  LLVMValueRef extents[ROC_MAX_RANK], strides[ROC_MAX_RANK]; /* i64; strides only of STRIDED */
  LLVMValueRef lengths[ROC_MAX_RANK]; /* extents, as factors of indices; NULL: the same */
  LLVMValueRef scale;                 /* not NULL: elements are this many elements apart (i64) */
  bool
      is_one_for_all; /* work-items use one memory one after the other: accesses are not parallel */
} roc_cg_array;

/* How hard LLVM works on the kernel: which of the target's pipelines it goes through.  From most to
 * least; opt_tier.c says on which. */
typedef enum roc_cg_opt_tier {
  ROC_CG_FULL,
  ROC_CG_NO_SLP,
  ROC_CG_SCALAR,      /* without vectors, but where the target insists; its loops are outlined */
  ROC_CG_NO_COUNTERS, /* without the passes that reason about the counters of loops */
  ROC_CG_LINEAR,      /* with a machine that does not optimise either */
} roc_cg_opt_tier;

/* Where failing checks go that share one piece of code; only those with as many values or fewer. */
enum { ROC_CG_SHARED_VALUES = 2 };
typedef struct roc_cg_shared_fault {
  LLVMBasicBlockRef block;
  LLVMValueRef site, values[ROC_CG_SHARED_VALUES]; /* phis */
} roc_cg_shared_fault;

typedef struct roc_cg_divergence roc_cg_divergence;

/* Of a kernel in two versions (kernel_versions.c), the one whose code is being made, or what
 * the slow one's failing checks share. */
typedef enum roc_cg_version {
  ROC_CG_WHOLE,
  ROC_CG_VERSIONED,
  ROC_CG_FALLBACK,
  ROC_CG_FALLBACK_FAULTS
} roc_cg_version;

enum { ROC_CG_FINAL_CHOICES = 6 };

struct roc_cg {
  const roc_ir_module *ir;
  const roc_target *target;
  const roc_cg_options *options;
  roc_arena arena;
  LLVMContextRef ctx;
  LLVMModuleRef mod;
  LLVMBuilderRef b, entry_b;
  struct roc_machine *machine; /* llvm/machine.h has it, and is given it back after the compile */
  LLVMTargetMachineRef tm;     /* the machine's */
  roc_cg_opt_tier opt_tier;
  roc_counters counters; /* of the loops that the target makes */
  roc_cg_types t;        /* while `lanes` is not 1: vectors of so many, but for none and ptr */
  unsigned lanes; /* work-items that a value is of: 1, or, in vectors of cpu/lanes.c, several */
  bool in_narrow_loop; /* whose counter is carried in 32 bits, though addresses are wide */
  bool is_speculative; /* what is computed is so for work-items, too, that do not come there */

  LLVMValueRef fn;        /* the function that holds the body */
  LLVMBasicBlockRef exit; /* where a work-item that returns goes */
  LLVMValueRef *values;   /* per instruction */
  LLVMValueRef *vars;     /* per variable: an alloca, made on first use */
  roc_cg_exits *exits;    /* per instruction */
  roc_cg_version version;
  uint32_t nsome;       /* second regions of IFs of kind ROC_IR_IF_ALL around */
  uint32_t last_region; /* kernel_versions.c: with its end the kernel's work is done; 0: none */
  uint32_t final_choices[ROC_CG_FINAL_CHOICES], nfinal; /* kernel_versions.c */
  LLVMValueRef *scalars;         /* per parameter: value of the kernel language */
  roc_cg_array *arrays;          /* per array */
  LLVMValueRef *bases;           /* per array: its base, while kernel_versions.c has hidden it */
  roc_cg_divergence *divergence; /* of divergence_check.c; NULL until it is needed */
  roc_cg_shared_fault *shared_fault; /* NULL: each check records its fault on the spot */
  LLVMValueRef fault, print; /* pointers to the launch's record and buffer, or NULL when the kernel
                                has no use for them */
  bool has_fault;            /* what was emitted may write the launch's record */
  uint32_t element_align;    /* of the element that is accessed now; 0: as its dtype has it */
  LLVMMetadataRef access_group; /* not NULL: loads and stores carry it (parallel loops) */
  uint8_t *
      narrow; /* per instruction (ir/check_elimination.h), or NULL: integers are computed in 64 bits */
  uint8_t *narrow_vars;  /* per variable, or NULL: what 32 bits hold */
  roc_ir_widths widths;  /* of integers that are computed in fewer bits, one work-item at a time;
                           NULLs: there are none */
  bool is_listing;       /* the result is assembly to be read */
  LLVMDIBuilderRef di;   /* NULL: no line tables are made */
  LLVMMetadataRef scope; /* the kernel, for line tables */
  const char *scope_file;
  LLVMMetadataRef *places; /* two per loc of the module, made when needed: debug.c */
  void *state;             /* the target's own, in the arena */
  roc_vec(roc_site) sites; /* the target's own, numbered after the module's */

  uint32_t nerrors; /* error diagnostics LLVM reported */
  roc_str diagnostics;
};

/* cg.c */
/* A context and a module for `ir`; `machine` stays the caller's. On failure *out is untouched. */
roc_status roc_cg_open(const roc_ir_module *ir, const roc_cg_options *options,
                       const roc_target *target, struct roc_machine *machine, roc_cg **out,
                       roc_error *err);
void roc_cg_close(roc_cg *cg);
/* Adds a site to the code object; returns its index. Its strings live as long as the module. */
uint32_t roc_cg_add_site(roc_cg *cg, const roc_site *site);
/* The LLVM type of a value of the kernel language; BOOL is i1. */
LLVMTypeRef roc_cg_value_type(const roc_cg *cg, roc_value_type type);
/* Sets cg->lanes, and with it cg->t.  The emitters of expressions then take and give vectors. */
void roc_cg_set_lanes(roc_cg *cg, unsigned lanes);
/* The value in all lanes, unless it is a vector already. */
LLVMValueRef roc_cg_spread(roc_cg *cg, LLVMValueRef value);
/* The constant that a value is, of one lane; NULL: none, or not the same in all lanes. */
LLVMValueRef roc_cg_constant(LLVMValueRef value);
/* A constant of an integer type, or of vectors of one; of an operand that must be one i1 or i32. */
LLVMValueRef roc_cg_int(LLVMTypeRef type, int64_t value);
LLVMValueRef roc_cg_flag(const roc_cg *cg, bool value);
LLVMValueRef roc_cg_immediate(const roc_cg *cg, uint32_t value);
LLVMValueRef roc_cg_i64(const roc_cg *cg, int64_t value);
LLVMValueRef roc_cg_i32(const roc_cg *cg, uint32_t value);
LLVMBasicBlockRef roc_cg_block(roc_cg *cg, const char *name); /* appended to cg->fn */
bool roc_cg_is_open(const roc_cg *cg); /* the current block has no terminator */
/* Branches to `to` unless the current block is ended already, and goes on there when
 * `then_there`. */
void roc_cg_goto(roc_cg *cg, LLVMBasicBlockRef to);
void roc_cg_at(roc_cg *cg, LLVMBasicBlockRef block);
LLVMValueRef roc_cg_alloca(roc_cg *cg, LLVMTypeRef type, const char *name); /* in the entry block */
LLVMValueRef roc_cg_load(roc_cg *cg, LLVMTypeRef type,
                         LLVMValueRef ptr); /* tagged with the access group */
LLVMValueRef roc_cg_store(roc_cg *cg, LLVMValueRef value, LLVMValueRef ptr);
LLVMValueRef roc_cg_byte_offset(roc_cg *cg, LLVMValueRef ptr, LLVMValueRef bytes); /* i64 */
/* Calls the overloaded intrinsic `name` ("llvm.sqrt") at the given overload types. */
LLVMValueRef roc_cg_intrinsic(roc_cg *cg, const char *name, LLVMTypeRef *overloads,
                              unsigned noverloads, LLVMValueRef *args, unsigned nargs);
void roc_cg_attr(roc_cg *cg, LLVMValueRef fn, LLVMAttributeIndex at,
                 const char *name); /* enum attribute, value 0 */
void roc_cg_attr_int(roc_cg *cg, LLVMValueRef fn, LLVMAttributeIndex at, const char *name,
                     uint64_t value);
void roc_cg_attr_text(roc_cg *cg, LLVMValueRef fn, const char *key, const char *value);
/* A conditional branch whose first way is the likely one. */
void roc_cg_branch_likely(roc_cg *cg, LLVMValueRef cond, LLVMBasicBlockRef likely,
                          LLVMBasicBlockRef rare);

/* args.c */
/* Yields the raw value at byte `offset` of the kernarg block as `type`; param: the parameter it
 * belongs to. */
typedef LLVMValueRef roc_cg_field(roc_cg *cg, uint32_t param, LLVMTypeRef type, uint32_t offset);
/* Fills cg->scalars and the PARAM, SHARED, PRIVATE and CONST entries of cg->arrays, asking `field`
 * for each value in kernarg order. */
void roc_cg_bind_args(roc_cg *cg, roc_cg_field *field);

/* value.c */
LLVMValueRef roc_cg_operand(roc_cg *cg, const roc_ir_inst *inst, uint32_t n);
LLVMValueRef roc_cg_var(roc_cg *cg, uint32_t var); /* pointer */
LLVMValueRef roc_cg_get_var(roc_cg *cg, uint32_t var);
void roc_cg_set_var(roc_cg *cg, uint32_t var, LLVMValueRef value);
void roc_cg_define(roc_cg *cg, uint32_t inst, LLVMValueRef value);

/* control.c: one work-item's code */
void roc_cg_region(roc_cg *cg, uint32_t region);
void roc_cg_insts(roc_cg *cg, const uint32_t *ids, uint32_t count);
void roc_cg_inst(roc_cg *cg, uint32_t id);
/* i64 iterations of the integer loop first, last, step. */
LLVMValueRef roc_cg_for_count(roc_cg *cg, LLVMValueRef first, LLVMValueRef last, LLVMValueRef step);

/* A loop whose branch back this is will not be unrolled. */
void roc_cg_keep_rolled(roc_cg *cg, LLVMValueRef branch);
/* Of one that becomes vectors, one vector after the other goes through a round. */
void roc_cg_keep_single(roc_cg *cg, LLVMValueRef branch);
/* One of few rounds, of known number, will be unrolled. */
void roc_cg_unroll_whole(roc_cg *cg, LLVMValueRef branch);

/* kernel_versions.c: an IF that chooses between two kernels for the whole launch. */
bool roc_cg_is_versioned_kernel(const roc_cg *cg, uint32_t id);
void roc_cg_kernel_versions(roc_cg *cg, uint32_t id);
void roc_cg_end_region(roc_cg *cg); /* at the end of cg->last_region */
/* IFs of kind ROC_IR_IF_ALL whose regions do the last work of `region`, after which the kernel has
 * none: finds them, one in the other, until the next call; and emits one. */
void roc_cg_find_final_choices(roc_cg *cg, uint32_t region);
bool roc_cg_is_final_choice(const roc_cg *cg, uint32_t inst);
void roc_cg_final_choice(roc_cg *cg, uint32_t inst);

/* expr.c: NULL when the operation is not an expression. */
LLVMValueRef roc_cg_expr(roc_cg *cg, uint32_t id);
/* Whether the index is in range, as the CHECK_INDEX or INDEX_FITS asks. */
LLVMValueRef roc_cg_index_fits(roc_cg *cg, const roc_ir_inst *inst, LLVMValueRef index);

/* narrow.c: NULL when the integer operation on `a` and `b` needs 64 bits. */
LLVMValueRef roc_cg_narrow_expr(roc_cg *cg, uint32_t id, LLVMValueRef a, LLVMValueRef b);
/* x of x + k or x - k, and k or -k; the value itself and 0 when it is no such sum. */
LLVMValueRef roc_cg_narrow_split(LLVMValueRef value, int64_t *k);
/* a + b and a - b of i32 that, like the result, count as unsigned and do not wrap.  is_small: the
 * sum is less than 2^31. */
LLVMValueRef roc_cg_narrow_add(roc_cg *cg, LLVMValueRef a, LLVMValueRef b, bool is_small);
LLVMValueRef roc_cg_narrow_sub(roc_cg *cg, LLVMValueRef a, LLVMValueRef b);
/* The low 32 bits of an i64; and back, `is_signed`: below 2^31. */
LLVMValueRef roc_cg_take_low(roc_cg *cg, LLVMValueRef wide);
LLVMValueRef roc_cg_extend(roc_cg *cg, LLVMValueRef narrow, bool is_signed);
/* What an i32 of a variable holds, by its facts. */
LLVMValueRef roc_cg_extend_var(roc_cg *cg, LLVMValueRef held, uint8_t facts);
/* Whether the value changes from iteration to iteration; only known where cg->narrow is. */
bool roc_cg_is_loop_variant(const roc_cg *cg, uint32_t inst);

/* width_expr.c: the operation in the bits that cg->widths says; NULL: in 64. */
LLVMValueRef roc_cg_width_expr(roc_cg *cg, uint32_t id);
/* width.c: the type of so many bits; what a value of that width is in 64, or in vectors; and back. */
LLVMTypeRef roc_cg_width_type(const roc_cg *cg, uint8_t width);
LLVMValueRef roc_cg_width_extend(roc_cg *cg, LLVMValueRef held, uint8_t width);
LLVMValueRef roc_cg_width_take(roc_cg *cg, LLVMValueRef value, uint8_t width);
/* Of a variable, of a result: 0 where it has 64 bits. */
uint8_t roc_cg_width_of_var(const roc_cg *cg, uint32_t var);
uint8_t roc_cg_width_of(const roc_cg *cg, uint32_t id);

/* type.c */
LLVMTypeRef roc_cg_storage_type(const roc_cg *cg, roc_dtype dtype);
LLVMValueRef roc_cg_from_element(roc_cg *cg, roc_dtype dtype, LLVMValueRef element);
LLVMValueRef roc_cg_to_element(roc_cg *cg, roc_dtype dtype, roc_value_type type,
                               LLVMValueRef value);
LLVMValueRef roc_cg_convert(roc_cg *cg, roc_dtype dtype, roc_value_type type, LLVMValueRef value);
LLVMValueRef roc_cg_to_float(roc_cg *cg, roc_value_type to, roc_value_type from,
                             LLVMValueRef value);
/* The 64 bits a fault or print record keeps of a value. */
LLVMValueRef roc_cg_record_bits(roc_cg *cg, roc_value_type type, LLVMValueRef value);

/* memory.c */
LLVMValueRef roc_cg_address(roc_cg *cg, uint32_t array, const roc_ir_inst *inst,
                            uint32_t first_index);
/* Elements from the array's begin, i64, from the indices that begin at operand `first_index`. */
LLVMValueRef roc_cg_element_index(roc_cg *cg, uint32_t array, const roc_ir_inst *inst,
                                  uint32_t first_index);
LLVMValueRef roc_cg_extent(roc_cg *cg, uint32_t array, uint32_t dim);
LLVMValueRef roc_cg_load_inst(roc_cg *cg, const roc_ir_inst *inst);
void roc_cg_store_inst(roc_cg *cg, const roc_ir_inst *inst);
bool roc_cg_is_shared(const roc_cg *cg, uint32_t array);

/* atomic.c */
LLVMValueRef roc_cg_atomic(roc_cg *cg, const roc_ir_inst *inst);
/* On the element at `ptr` of an array, with a value of its type; the old value is of no use. */
void roc_cg_atomic_update(roc_cg *cg, roc_ir_atomic kind, uint32_t array, LLVMValueRef ptr,
                          LLVMValueRef value);

/* math.c */
LLVMValueRef roc_cg_math(roc_cg *cg, const roc_ir_inst *inst);
/* Sets contract and fast-math flags as the module asks. */
LLVMValueRef roc_cg_float_flags(roc_cg *cg, LLVMValueRef inst);
LLVMValueRef roc_cg_float_binary(roc_cg *cg, roc_ir_op op, LLVMValueRef a, LLVMValueRef b,
                                 roc_value_type type);

/* check.c */
void roc_cg_check(roc_cg *cg, uint32_t id);                  /* CHECK_*, FAIL */
void roc_cg_note_fault(roc_cg *cg, const roc_ir_inst *inst); /* FAULT */
void roc_cg_print(roc_cg *cg, const roc_ir_inst *inst);
/* Whether the check holds, and, where it does not, what its fault record keeps: how many values. */
LLVMValueRef roc_cg_check_holds(roc_cg *cg, const roc_ir_inst *inst);
unsigned roc_cg_check_values(roc_cg *cg, const roc_ir_inst *inst,
                             LLVMValueRef values[ROC_SITE_MAX_VALUES]);
/* Leaves the work-item, by the target's own way or recording the fault; ends the block. */
void roc_cg_fail(roc_cg *cg, uint32_t site, LLVMValueRef *values, unsigned nvalues);
/* Counts a failing item and, when it is the first, fills the record.  ids: three i64 from 1. */
void roc_cg_record_fault(roc_cg *cg, LLVMValueRef site, LLVMValueRef ids[3], LLVMValueRef *values,
                         unsigned nvalues);

/* A block for failing checks to share, from here to its end: after it they record on the spot
 * again. */
void roc_cg_share_faults(roc_cg *cg, roc_cg_shared_fault *shared);
void roc_cg_end_shared_faults(roc_cg *cg);

/* divergence_check.c: fails the work-items that differ in the i1 by which statement `inst` decides
 * over a barrier or a wave operation; emits nothing where they cannot differ or need not be
 * checked. */
void roc_cg_check_divergence(roc_cg *cg, uint32_t inst, LLVMValueRef condition);
/* Whether the kernel will ask target->group_parts. */
bool roc_cg_agrees_in_group(roc_cg *cg);
/* The site of items that part at `inst`, and miss a barrier or else a wave operation. */
uint32_t roc_cg_divergent_site(roc_cg *cg, uint32_t inst, bool is_barrier);

/* debug.c: line tables for cg->fn, from begin to end; places of the instructions in between. */
void roc_cg_debug_begin(roc_cg *cg);
void roc_cg_debug_place(roc_cg *cg, uint32_t inst);
void roc_cg_debug_end(roc_cg *cg);

/* opt_tier.c: sets cg->opt_tier, and another machine for the least of it. */
roc_status roc_cg_choose_opt_tier(roc_cg *cg, roc_error *err);

/* opt.c, emit.c */
roc_status roc_cg_verify(roc_cg *cg, roc_error *err);
roc_status roc_cg_optimise(roc_cg *cg, roc_error *err);
roc_status roc_cg_emit(roc_cg *cg, LLVMCodeGenFileType kind, LLVMMemoryBufferRef *out,
                       roc_error *err);
roc_status roc_cg_object(roc_cg *cg, roc_codeobj **out, roc_error *err);

#endif
