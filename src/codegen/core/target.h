/* What differs between targets: a table of facts and hooks that each target file fills.
 *
 * The shared code (expr.c type.c memory.c atomic.c math.c control.c check.c) emits the code of one
 * work-item into the current block of cg->b and asks the target for the rest.  Hooks work in the
 * same way: they emit at cg->b and return a value of the kernel language (BOOL as i1, INT i64, F32,
 * F64) unless told otherwise. */
#ifndef ROC_CODEGEN_CORE_TARGET_H
#define ROC_CODEGEN_CORE_TARGET_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "base/codeobj.h"
#include "base/status.h"
#include "base/target.h"
#include "backend/backend.h"
#include "ir/ir.h"

typedef struct roc_cg roc_cg;
typedef struct roc_target roc_target;

struct roc_target {
  const roc_target_facts *facts; /* what the layers above know of it, too */
  /* LLVM address spaces. */
  unsigned global_space, shared_space, const_space, private_space;
  /* LLVM sync scopes of atomics on global and on shared memory, and of what the host reads (fault
   * record, print buffer). */
  const char *device_scope, *group_scope, *system_scope;
  bool splits_stores; /* ROC_QUIRK_SPLIT_ATOMIC_STORE is this target's */
  /* Loops of constant length are unrolled by hints (core/control.c): those that index private
   * arrays, so that these become registers, and a part of long ones. */
  bool unrolls;
  bool has_line_directives_only;   /* of line tables: no sections of debug information */
  bool adds_narrow_offsets;        /* memory instructions take an offset of 32 bits beside a base */
  bool outlines_loops;             /* of large kernels (llvm/outline.h) */
  LLVMCodeGenFileType object_kind; /* what LLVM emits for a code object */

  /* Whether option name `name` is one of this target's. */
  bool (*accepts)(const char *name);
  /* Makes this target known to LLVM; called once, before anything of it is used. */
  void (*initialise)(void);
  /* Whether code for the options can be made.  May be NULL. */
  roc_status (*check_options)(const roc_cg_options *options, roc_error *err);
  /* A new machine for the options, which machine.c keeps; NULL with *err filled. */
  LLVMTargetMachineRef (*machine)(const roc_cg_options *options, roc_error *err);
  /* Makes the kernel's function(s), binds arguments (roc_cg_bind_args), sets cg->fn, cg->entry_b,
   * cg->exit and cg->fault/print, emits region 0 (roc_cg_region(cg, 0) where a function is one
   * work-item) and ends the function. */
  void (*kernel)(roc_cg *cg);
  /* After the kernel, before verification: link device libraries in.  May be NULL. */
  roc_status (*finish)(roc_cg *cg, roc_error *err);
  /* The same value, of which LLVM knows nothing.  May be NULL. */
  LLVMValueRef (*opaque)(roc_cg *cg, LLVMValueRef value);
  /* A float to an integer of 32 bits, beyond which it is their end; NaN gives 0.  NULL where no one
   * instruction does that. */
  LLVMValueRef (*saturate)(roc_cg *cg, LLVMValueRef f);
  /* After the optimiser: puts branches to 32 bits in front of what takes long in 64.  May be NULL. */
  void (*bypass)(roc_cg *cg);
  /* After that: rewrites what this target's instruction selection is known to get wrong.
   * May be NULL. */
  roc_status (*repair)(roc_cg *cg, roc_error *err);
  /* Text of the pass pipeline for LLVMRunPasses. */
  const char *(*passes)(const roc_cg *cg);
  /* Those for kernels too large for that: without the SLP vectoriser (`default<O2>` has it whatever
   * the options say), without any vectoriser, without what reasons about the counters of loops, and
   * with nothing that takes more than linear time. */
  const char *no_slp_passes, *scalar_passes, *no_counter_passes, *quick_passes;
  /* What was emitted to what goes into the code object: NULL keeps it as it is. The
   * target replaces *bytes (roc_alloc; the old block is roc_free'd by it) and *nbytes. */
  roc_status (*link)(const roc_cg_options *options, unsigned char **bytes, size_t *nbytes,
                     roc_error *err);
  /* LLVM has reported errors (`diagnostics`) while it emitted `mod` for the option name `name`:
   * when the target knows a cause that it can state in its own words, fails with them and returns
   * true.  `kernel`: its name, or NULL where the module has several.  May be NULL. */
  bool (*explain_errors)(LLVMModuleRef mod, const char *diagnostics, const char *kernel,
                         const char *name, roc_error *err);
  /* Fills what only the target knows: entry, frame bytes, shared bytes.  Strings live in cg->arena.
   */
  void (*describe)(roc_cg *cg, roc_codeobj *object);

  /* GLOBAL_ID … LANE_ID; dim from 0. */
  LLVMValueRef (*launch_value)(roc_cg *cg, roc_ir_op op, unsigned dim);
  /* From here on LLVM sees no connection between ids, sizes and numbers that the kernel was given
   * and what they were before. NULL: the target has no use for it. */
  void (*opaque_launch)(roc_cg *cg);
  /* Ends the wavefront, for all of its work-items, where they have nothing left to do; LLVM takes
   * it for a call that returns. NULL: the two versions of a kernel are an ordinary IF. */
  void (*end_wave)(roc_cg *cg);
  /* Base pointer (element 0) of a SHARED, SHARED_DYNAMIC or PRIVATE array, in its address space. */
  LLVMValueRef (*array_base)(roc_cg *cg, uint32_t array);
  /* Dynamic shared bytes of the launch, i64. */
  LLVMValueRef (*dynamic_bytes)(roc_cg *cg);
  /* BARRIER, WAVE_BARRIER, FENCE: scope is k.i, 1 local, 2 global, 3 both. */
  void (*barrier)(roc_cg *cg, const roc_ir_inst *inst);
  void (*fence)(roc_cg *cg, int64_t scope);
  /* WAVE. args: the operands. */
  LLVMValueRef (*wave)(roc_cg *cg, const roc_ir_inst *inst, LLVMValueRef *args);
  /* A MATH function that math.c has no intrinsic for: class not EXACT. */
  LLVMValueRef (*math)(roc_cg *cg, roc_ir_math which, roc_value_type type, LLVMValueRef *args);
  /* Whether a FLOOR or CEIL may end at the ends of 32 bits.  May be NULL. */
  bool (*rounds_to_32_bits)(roc_cg *cg, const roc_ir_inst *inst);
  /* Whether a FOR becomes straight code, however large LLVM thinks that is.  May be NULL. */
  bool (*is_straightened)(roc_cg *cg, const roc_ir_inst *loop);
  /* Whether a MUL and the ADD or SUB that it is an operand of, of floats that may be contracted, are
   * emitted as one operation, which all forms of the code then have in common.  NULL: LLVM decides,
   * each time that code is made for them. */
  bool (*fuses)(roc_cg *cg, uint32_t product, uint32_t sum);
  /* Marks an atomic instruction on array `array` with metadata of the target.  May be NULL. */
  void (*mark_atomic)(roc_cg *cg, LLVMValueRef inst, uint32_t array);
  /* The place where an atomic operation is done in its stead, without an instruction for it, where
   * *out_is_apart holds, i1; NULL: there is none.  The hook itself may be NULL. */
  LLVMValueRef (*atomic_place)(roc_cg *cg, const roc_ir_inst *inst, LLVMValueRef *out_is_apart);
  /* Whether a condition holds for all live items of a wavefront, both i1. NULL: an item goes its own
   * way in an IF of kind ROC_IR_IF_ALL. */
  LLVMValueRef (*holds_for_all)(roc_cg *cg, LLVMValueRef condition);
  /* Whether the live items of a wavefront differ in a condition, both i1.  NULL: the target checks
   * by itself that items do not part around a barrier. */
  LLVMValueRef (*wave_diverges)(roc_cg *cg, LLVMValueRef condition);
  /* Whether the wavefronts of a group, all of which come here, differ in a condition that each has
   * in common: at least one that differs finds out. May be NULL, or give it: not checked. */
  LLVMValueRef (*group_parts)(roc_cg *cg, LLVMValueRef condition);
  /* Of the items that come here at the same time, one records a fault for all: whether this is it,
   * i1; *record, the record's address, becomes what that one goes by; *out_count, i32: how many
   * they are. NULL: each for itself. */
  LLVMValueRef (*elect_lane)(roc_cg *cg, LLVMValueRef *record, LLVMValueRef *out_count);
  /* A check failed: records site and values (i64 bits), ends the work-item; must terminate the
   * block. NULL: roc_cg_record_fault, then a branch to cg->exit. */
  void (*fail)(roc_cg *cg, uint32_t site, LLVMValueRef *values, unsigned nvalues);

  /* Results and variables of the IR.  NULL: cg->values and allocas, right where a function is one
   * work-item. */
  LLVMValueRef (*operand)(roc_cg *cg, uint32_t inst);
  void (*define)(roc_cg *cg, uint32_t inst, LLVMValueRef value);
  /* Emits instruction `inst` itself and returns true, or leaves it to the shared code.  May be
   * NULL. */
  bool (*intercept)(roc_cg *cg, uint32_t inst);
};

#endif
