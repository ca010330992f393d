/* Arguments of a launch: their classes, which decide the specialisation, and their bytes in the
 * kernarg block.
 *
 * An argument's class is its type as a specialisation knows it (base/arg_type.h); a launch compares
 * classes with memcmp.  Pure functions. */
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
  int64_t shift;           /* from the buffer's address to its address on the device */
  bool is_float32;         /* scalar declared float32 by a signature: not a plain float */
  uint8_t declared_layout; /* roc_layout of an array that only a signature describes: it has no
                              buffer, and is taken for small and empty */
  roc_devptr begin, end; /* arrays: the bytes they lie in, set by roc_jit_classify; empty ones have
                            begin == end */
} roc_jit_value;

/* The class of a value, without is_alias; notes where an array lies. */
void roc_jit_classify(roc_jit_value *value, roc_arg_type *out);

/* Sets is_alias of each array that overlaps another where one of the two is written. `written`
 * has a flag for each. */
void roc_jit_mark_aliases(const roc_jit_value *values, uint32_t count, const uint8_t *written,
                          roc_arg_type *classes);

/* An array as a launch got it: all that its class and its bytes in the kernarg block depend on, and
 * where it lies. */
typedef struct roc_jit_seen {
  const roc_buffer *buffer; /* compared, never followed: it may be gone, */
  roc_devptr address;       /* and another lie there */
  int64_t offset, shift;
  roc_dtype dtype;
  uint32_t rank; /* 0: no array */
  bool is_host_memory;
  roc_devptr begin, end;
  int64_t extents[ROC_ARRAY_MAX_RANK], strides[ROC_ARRAY_MAX_RANK];
} roc_jit_seen;

/* Of a classified value that has a buffer, or of a scalar. */
void roc_jit_see(const roc_jit_value *value, roc_jit_seen *out);
/* Whether that array comes again, or a scalar of the class: its class is `*cls`, and its place is
 * noted.  False tells nothing. */
bool roc_jit_is_seen(const roc_jit_seen *seen, const roc_arg_type *cls, roc_jit_value *value);

/* Writes a value where the code object expects it.  Its class is the one the object was compiled
 * for. */
void roc_jit_pack(const roc_arg_slot *slot, const roc_jit_value *value, unsigned char *block);

#endif
