/* The functions a kernel can call: ids, names and classes, from builtin.def.
 *
 * Bindings map Lua values to ids, inference and lowering dispatch on the class.  Invariant: an id
 * is an index into the table; refused functions have ids too, so that their error can name a
 * replacement. */
#ifndef ROC_FRONTEND_TYPES_BUILTIN_H
#define ROC_FRONTEND_TYPES_BUILTIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum roc_builtin {
#define ROC_BUILTIN(ID, path, least, most, CLASS, payload) ROC_BUILTIN_##ID,
#define ROC_REFUSED(ID, path, advice) ROC_BUILTIN_##ID,
#include "frontend/types/builtin.def"
#undef ROC_BUILTIN
#undef ROC_REFUSED
  ROC_BUILTIN_COUNT_
} roc_builtin;

typedef enum roc_builtin_class {
  ROC_BC_REFUSED,       /* known, not in kernels: advice */
  ROC_BC_LAUNCH_DIM,    /* (dimension) -> integer */
  ROC_BC_LAUNCH,        /* () -> integer */
  ROC_BC_GRID,          /* (n constant) -> n integers */
  ROC_BC_SHARED_ARRAY,  /* (constant shape, dtype [, first byte]) -> array */
  ROC_BC_PRIVATE_ARRAY, /* (constant shape, dtype) -> array */
  ROC_BC_CONST_ARRAY,   /* (captured array) -> it */
  ROC_BC_FENCE,         /* ([constant scope]) */
  ROC_BC_WAVE_BARRIER,  /* () */
  ROC_BC_ATOMIC,        /* (array, index, values…) -> old value */
  ROC_BC_WAVE_VOTE,     /* (boolean) -> boolean, or integer for ballot */
  ROC_BC_WAVE_MOVE,     /* (value, integer) -> value */
  ROC_BC_WAVE_REDUCE,   /* (number) -> number */
  ROC_BC_WAVE_DS,       /* (lane, value) -> value */
  ROC_BC_WAVE_ACTIVE,   /* (value, lane, identity, boolean) -> value */
  ROC_BC_NUMBER,        /* (number) -> the same type */
  ROC_BC_MINMAX,        /* (numbers…) -> their join */
  ROC_BC_TO_INTEGER,    /* (number) -> integer, checked */
  ROC_BC_FMOD,          /* (number, number) -> their join */
  ROC_BC_MODF,          /* (number) -> float, float */
  ROC_BC_ULT,           /* (integer, integer) -> boolean */
  ROC_BC_LOG,           /* (number [, base]) -> float */
  ROC_BC_ATAN,          /* (number [, number]) -> float */
  ROC_BC_ANGLE,         /* (number) -> float; payload 0 to degrees, 1 to radians */
  ROC_BC_MATH,          /* floats, as many as the roc_ir_math takes -> float */
  ROC_BC_POW,           /* (number, number) -> float */
  ROC_BC_FCLASS,        /* (number) -> boolean */
  ROC_BC_BITS,          /* (integer) -> integer */
  ROC_BC_PRINT,         /* (strings and values…) */
  ROC_BC_ERROR,         /* (strings and values…), ends the item */
  ROC_BC_ASSERT,        /* (condition, strings and values…) -> condition */
  ROC_BC_COUNT_
} roc_builtin_class;

typedef struct roc_builtin_info {
  const char *path;    /* "roc.get_global_id" */
  uint8_t least, most; /* arguments */
  uint8_t cls;         /* roc_builtin_class */
  uint16_t payload;
  const char *advice; /* REFUSED: what to write instead; else NULL */
} roc_builtin_info;

extern const roc_builtin_info roc_builtin_table[ROC_BUILTIN_COUNT_];

/* Finds a function by its path from the globals ("math.floor"); false when it is not in the
 * table. */
bool roc_fe_builtin_from_name(const char *path, size_t len, roc_builtin *out);

#endif
