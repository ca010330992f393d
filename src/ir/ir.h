/* The intermediate representation: typed, flat, structured.
 *
 * Sits between frontend (makes it) and codegen (lowers it); analyses and passes work on it. A
 * module is one kernel with everything it calls inlined. Choices:
 *   - Instructions are flat: operands are results of earlier instructions, never nested.
 *   - Control flow is structured: IF, BLOCK, LOOP and FOR own regions (lists of instructions);
 *     LEAVE, NEXT and RETURN leave them.  A CPU needs regions to run a workgroup in loops; GPUs
 *     do not mind.
 *   - Lua locals are numbered variables (GET, SET); LLVM makes SSA of them.  An instruction's
 *     result may be used after it, in its own region and in regions nested there.
 *   - Arrays are not values: memory instructions name an entry of module->arrays.  A row view is
 *     such an entry with leading indices.
 *   - Types are those of the kernel language (BOOL, INT, F32, F64); narrower arithmetic is what
 *     ranges prove.
 * Ids are 32-bit indices, not pointers. A module owns an arena with all that it points to.
 *
 * Text form (print.h), read back by read.h:
 *   kernel saxpy(n.0: int narrow, a.1: f64, x.2: float32[1] c read, y.3: float32[1] c written)
 *       check
 *     var i.0: int
 *     %0: int = global_id 0 !"saxpy.lua" 3:5
 *     set i.0 %0 */
#ifndef ROC_IR_IR_H
#define ROC_IR_IR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/arg_type.h"
#include "base/dtype.h"
#include "base/site.h"
#include "base/status.h"
#include "base/str.h"
#include "base/vec.h"

enum {
  ROC_IR_NONE = UINT32_MAX,
  ROC_IR_MAX_NESTING = 2000 /* regions in each other; the verifier refuses more */
};

typedef enum roc_ir_op {
#define ROC_IR_OP(NAME, text, operands, fields, result, flags) ROC_IR_##NAME,
#include "ir/ir_ops.def"
#undef ROC_IR_OP
  ROC_IR_OP_COUNT_
} roc_ir_op;

enum {
  ROC_IRF_PURE = 1,
  ROC_IRF_READ = 2,
  ROC_IRF_WRITE = 4,
  ROC_IRF_EFFECT = 8,
  ROC_IRF_CUT_WAVE = 16,
  ROC_IRF_CUT_GROUP = 32,
  ROC_IRF_STOP = 64,
  ROC_IRF_CONTROL = 128
};

typedef struct roc_ir_op_info {
  const char *text, *operands, *fields;
  char result; /* 'N' none, 'B' bool, 'I' int, 'S' same as operand 0, 'T' as inst->type says */
  uint16_t flags;
} roc_ir_op_info;
extern const roc_ir_op_info roc_ir_op_table[ROC_IR_OP_COUNT_];

typedef enum roc_ir_math {
#define ROC_IR_MATH(NAME, text, arity, libm, cls) ROC_IR_MATH_##NAME,
#include "ir/ir_math.def"
#undef ROC_IR_MATH
  ROC_IR_MATH_COUNT_
} roc_ir_math;

typedef struct roc_ir_math_info {
  const char *text, *libm;
  uint8_t arity;
  bool is_exact;
} roc_ir_math_info;
extern const roc_ir_math_info roc_ir_math_table[ROC_IR_MATH_COUNT_];

typedef enum roc_ir_fclass { ROC_IR_ISNAN, ROC_IR_ISINF, ROC_IR_ISFINITE } roc_ir_fclass;
typedef enum roc_ir_bits {
  ROC_IR_POPCOUNT,
  ROC_IR_CLZ,
  ROC_IR_CTZ,
  ROC_IR_BITREVERSE
} roc_ir_bits; /* clz(0) = ctz(0) = 64 */

/* Order is used by tables: names are "add", "sub", … */
typedef enum roc_ir_atomic {
  ROC_IR_ATOMIC_ADD,
  ROC_IR_ATOMIC_SUB,
  ROC_IR_ATOMIC_MIN,
  ROC_IR_ATOMIC_MAX,
  ROC_IR_ATOMIC_EXCH,
  ROC_IR_ATOMIC_AND,
  ROC_IR_ATOMIC_OR,
  ROC_IR_ATOMIC_XOR,
  ROC_IR_ATOMIC_CAS, /* expected, desired; compares bits */
  ROC_IR_ATOMIC_INC,
  ROC_IR_ATOMIC_DEC, /* bound, unsigned: inc: old >= b ? 0 : old+1; dec: old == 0 || old > b ? b :
                        old-1 */
  ROC_IR_ATOMIC_LOAD,
  ROC_IR_ATOMIC_STORE,
  ROC_IR_ATOMIC_COUNT_
} roc_ir_atomic;

typedef enum roc_ir_wave {
  ROC_IR_WAVE_BALLOT, /* b -> int, bit 0 is lane 1 */
  ROC_IR_WAVE_ANY,
  ROC_IR_WAVE_ALL,     /* b -> b */
  ROC_IR_WAVE_SHUFFLE, /* v, lane (from 1): out of 1..width gives the own value */
  ROC_IR_WAVE_SHUFFLE_UP,
  ROC_IR_WAVE_SHUFFLE_DOWN, /* v, delta */
  ROC_IR_WAVE_SHUFFLE_XOR,  /* v, mask: lane ((lane_id-1) ~ mask) + 1 */
  ROC_IR_WAVE_BROADCAST,    /* v, lane */
  ROC_IR_WAVE_SUM, /* n -> n; these three: neighbours (lanes 1 and 2, 3 and 4, …), then neighbouring
                      results, … up to the width; lanes that are not live count as 0 (-0.0), or for
                      MIN and MAX as the largest and least integer or infinity */
  ROC_IR_WAVE_MIN,      /* of a pair: upper < lower ? upper : lower */
  ROC_IR_WAVE_MAX,      /* lower < upper ? upper : lower */
  ROC_IR_WAVE_PERMUTE,  /* ds_permute(lane, v): push to lane, modulo the width; highest pushing lane
                           wins; none: 0 */
  ROC_IR_WAVE_BPERMUTE, /* ds_bpermute(lane, v): pull, modulo the width */
  ROC_IR_WAVE_ACTIVE_PERMUTE, /* activelanepermute(src, lane, identity, use_identity) */
  ROC_IR_WAVE_COUNT_
} roc_ir_wave;

/* A kernel parameter.  In the kernarg block:
 *   INT 8 bytes (narrow: 4, unsigned), F64 8, F32 4, BOOL 1;
 *   array: data pointer 8; `rank` extents and, STRIDED only, `rank` strides in elements, each 8
 *   (narrow: 4, unsigned).
 * First all fields of 8 bytes in the order of the parameters (of one: pointer, extents, strides),
 * then those of 4, then those of 1: nothing is padded, and a GPU loads pointers several at a time.
 */
typedef struct roc_ir_param {
  const char *name;
  roc_arg_type type;
  bool is_read,
      is_written; /* set by lowering: the kernel loads from / stores to it (atomics: both) */
} roc_ir_param;

typedef enum roc_ir_array_kind {
  ROC_IR_ARRAY_PARAM,          /* param */
  ROC_IR_ARRAY_SHARED,         /* static block, one per workgroup, undefined at start */
  ROC_IR_ARRAY_SHARED_DYNAMIC, /* the launch's dynamic bytes from first_byte on: rank 1, extent =
                                  bytes left // itemsize */
  ROC_IR_ARRAY_PRIVATE,        /* one per work-item */
  ROC_IR_ARRAY_CONST           /* data, read-only */
} roc_ir_array_kind;

typedef struct roc_ir_array {
  roc_ir_array_kind kind;
  const char *name; /* as in the source, for messages and dumps */
  uint32_t param;   /* PARAM */
  roc_dtype dtype;
  uint8_t rank;
  int64_t extents[ROC_MAX_RANK]; /* SHARED, PRIVATE, CONST: C order */
  int64_t first_byte;            /* SHARED_DYNAMIC, from 0 */
  const void *data;              /* CONST, in the module's arena */
} roc_ir_array;

typedef struct roc_ir_var {
  const char *name; /* may be "" for temporaries */
  roc_value_type type;
} roc_ir_var;

/* What the source calls the result of an instruction that is no variable: a local that is never
 * assigned again.  For messages; the text form has none. */
typedef struct roc_ir_value_name {
  uint32_t inst;
  const char *name;
} roc_ir_value_name;

/* What an IF stands for. */
typedef enum roc_ir_if_kind {
  ROC_IR_IF_PLAIN,
  /* The second region does the same as the first, and is right for every work-item: a wavefront
   * takes it together if the condition of one does not hold (combined_checks.h). */
  ROC_IR_IF_ALL,
  ROC_IR_IF_VERSIONS /* ends the body; the whole launch takes region[0], the kernel without checks, or
                        region[1], the kernel with them (loop_versioning.h) */
} roc_ir_if_kind;

typedef struct roc_ir_inst {
  uint8_t op;   /* roc_ir_op */
  uint8_t type; /* roc_value_type of the result */
  uint16_t nargs;
  uint32_t args;      /* first operand in module->operands */
  uint32_t aux, aux2; /* per op */
  uint32_t loc;       /* index into module->locs */
  union {
    int64_t i;          /* CONST INT and BOOL (0, 1); the k.i of other ops */
    double f;           /* CONST F64, and F32 as the double of its value */
    uint32_t region[2]; /* control */
  } k;
} roc_ir_inst;

typedef struct roc_ir_loc {
  const char *file;
  uint32_t line, column;
} roc_ir_loc;

typedef roc_vec(uint32_t) roc_ir_ids;

/* Work-items of a launch with an exact workgroup, in each dimension: their numbers and what is a
 * little more, as that of a neighbour or of the whole last group, have 31 bits. */
enum { ROC_IR_EXACT_ITEMS = INT32_MAX - UINT16_MAX };

typedef struct roc_ir_module {
  roc_arena arena;
  const char *name; /* kernel name, as the user gave it; symbols are derived */
  const char *hint; /* what the front end found that is probably not meant; NULL: nothing */
  bool check, contract, fastmath;
  uint32_t workgroup[3]; /* promised bound per dimension, 0: none */
  /* Every workgroup is of that size (0: 1), in a grid of at most ROC_IR_EXACT_ITEMS. */
  bool is_workgroup_exact;
  bool is_grid_whole;           /* and each of them has as many work-items */
  roc_vec(roc_ir_param) params; /* kernarg order: explicit, then hidden */
  roc_vec(roc_ir_array) arrays;
  roc_vec(roc_ir_var) vars;
  roc_vec(roc_ir_value_name) value_names; /* in the order of the declarations */
  roc_vec(roc_ir_inst) insts;
  roc_ir_ids operands;         /* instruction ids */
  roc_vec(roc_ir_ids) regions; /* region 0 is the kernel's body */
  roc_vec(roc_ir_loc) locs;
  roc_vec(roc_site) sites;
} roc_ir_module;

/* NULL when memory is out. */
roc_ir_module *roc_ir_module_new(const char *name);
void roc_ir_module_free(roc_ir_module *module);

static inline uint32_t roc_ir_arg(const roc_ir_module *m, const roc_ir_inst *inst, uint32_t n) {
  return m->operands.items[inst->args + n];
}

/* How many regions the instruction owns: k.region[0] and, of an IF alone, k.region[1]. */
static inline uint32_t roc_ir_region_count(const roc_ir_inst *inst) {
  switch (inst->op) {
    case ROC_IR_IF: return 2;
    case ROC_IR_BLOCK:
    case ROC_IR_LOOP:
    case ROC_IR_FOR: return 1;
    default: return 0;
  }
}

static inline bool roc_ir_has_regions(const roc_ir_inst *inst) {
  return roc_ir_region_count(inst) > 0;
}

/* Whether an IF does nothing but leave what its LEAVE names, or go on. */
bool roc_ir_only_leaves(const roc_ir_module *m, const roc_ir_inst *inst);

/* Nothing of its region can run after it. */
static inline bool roc_ir_ends_region(const roc_ir_inst *inst) {
  return inst->op == ROC_IR_LEAVE || inst->op == ROC_IR_NEXT || inst->op == ROC_IR_RETURN ||
         inst->op == ROC_IR_FAIL;
}

#endif
