/* Gathers and scatters of the optimised module: what cpu/strides.c and cpu/neighbours.c share. */
#ifndef ROC_CODEGEN_CPU_STRIDES_H
#define ROC_CODEGEN_CPU_STRIDES_H

#include "codegen/cpu/cpu.h"

enum { CPU_STRIDE_DEPTH = 12 };

/* A lane's number differs from the one before by count times the factors. */
typedef struct cpu_stride {
  int64_t count;
  LLVMValueRef factors[3];
  unsigned nfactors;
} cpu_stride;

/* A vector that a loop counts with, and what its first lane is. */
typedef struct cpu_counter {
  LLVMValueRef phi, first;
} cpu_counter;

typedef struct cpu_rewriter {
  roc_cg *cg;
  LLVMBuilderRef b;
  roc_vec(cpu_counter) counters; /* of the function */
  bool failed;
} cpu_rewriter;

typedef struct cpu_access {
  LLVMValueRef call, places, mask;
  LLVMTypeRef type; /* of an element */
  unsigned count, alignment;
  bool is_whole; /* of all lanes */
} cpu_access;

/* Whether an instruction gathers or scatters. */
bool cpu_find_access(LLVMValueRef inst, cpu_access *a);
/* What all lanes are; NULL: it is no such vector. */
LLVMValueRef cpu_common_of(LLVMValueRef value);
/* Of addresses, in bytes; false: they have none. */
bool cpu_stride_of_places(cpu_rewriter *w, LLVMValueRef places, int depth, cpu_stride *out);
/* The address of the first lane, where `before` stands; of another lane. */
LLVMValueRef cpu_first_place(cpu_rewriter *w, LLVMValueRef places, LLVMValueRef before);
LLVMValueRef cpu_place_of(cpu_rewriter *w, LLVMValueRef first, LLVMValueRef distance,
                          unsigned lane);
/* By how many bytes. */
LLVMValueRef cpu_distance(cpu_rewriter *w, cpu_stride by);
/* Has each function of the module rewritten, and drops what addresses no longer take;
 * `rewrite_function` gives whether something has changed.  False when memory is out. */
bool cpu_rewrite_accesses(roc_cg *cg, bool (*rewrite_function)(cpu_rewriter *w, LLVMValueRef fn));

#endif
