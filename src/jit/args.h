/* Arguments of a launch: their classes, which decide the specialisation, and their bytes in the
 * kernarg block.
 *
 * A class is all that a specialisation knows of an argument: type or dtype, rank, layout, one bit
 * each for the integer range and for overlap.  It is a few bytes, so that a launch compares classes
 * with memcmp.  Pure functions. */
#ifndef ROC_JIT_ARGS_H
#define ROC_JIT_ARGS_H

#include "base/codeobj.h"
#include "frontend/frontend.h"
#include "runtime/array.h"

/* One argument of a launch, explicit or captured.  `array` is borrowed for the call. */
typedef struct roc_jit_value {
  const roc_array *array; /* NULL: a scalar */
  roc_scalar scalar;
  bool is_host_memory;     /* the array is memory of the host, mapped for the device */
  int64_t shift;           /* from the buffer's address to the one the device knows it by */
  bool is_float32;         /* scalar declared float32 by a signature: not a plain float */
  uint8_t declared_layout; /* roc_ir_layout of an array that only a signature describes: it has no
                              buffer, and counts as small and empty */
  roc_devptr begin, end; /* arrays: the bytes they lie in, set by roc_jit_classify; empty ones have
                            begin == end */
} roc_jit_value;

typedef struct roc_jit_class {
  uint8_t tag;   /* scalars: roc_value_type; arrays: layout; both with the flags below */
  uint8_t dtype; /* arrays: roc_dtype */
  uint8_t rank;  /* arrays; 0: a scalar */
} roc_jit_class;

enum {
  ROC_JIT_TYPE_MASK = 0x07,
  ROC_JIT_NARROW = 0x10,
  ROC_JIT_ALIAS = 0x20,
  ROC_JIT_PLAIN = 0x40,
  ROC_JIT_HOST = 0x80 /* atomics must reach the host's memory */
};

/* The class of a value, without the alias bit; notes where an array lies. */
void roc_jit_classify(roc_jit_value *value, roc_jit_class *out);

/* Sets the alias bit of each array that overlaps another where one of the two is written. `written`
 * has a flag for each. */
void roc_jit_mark_aliases(const roc_jit_value *values, uint32_t count, const uint8_t *written,
                          roc_jit_class *classes);
/* What the front end is told of an argument of that class. */
roc_fe_arg roc_jit_fe_arg(roc_jit_class cls, const char *name);

/* Writes a value where the code object expects it.  Its class is the one the object was compiled
 * for. */
void roc_jit_pack(const roc_arg_slot *slot, const roc_jit_value *value, unsigned char *block);

#endif
