/* What an unknown name was meant to be: the nearest of the known ones, or the counterpart of a name
 * of CUDA, OpenCL, Numba and the like (foreign.def).  Only for messages: nothing here is quick. */
#ifndef ROC_BASE_NEAR_H
#define ROC_BASE_NEAR_H

#include <stddef.h>
#include <stdint.h>

typedef enum roc_foreign_where {
  ROC_FOREIGN_DTYPE,  /* in place of a dtype */
  ROC_FOREIGN_ARRAY,  /* a field of an array */
  ROC_FOREIGN_ROC,    /* a field of the module */
  ROC_FOREIGN_RNG,    /* a field of a generator of random numbers */
  ROC_FOREIGN_KERNEL, /* a free name in a kernel */
  ROC_FOREIGN_HOST    /* a function of the host in a kernel, with its path */
} roc_foreign_where;

/* What to write for a foreign name; NULL: it is none. */
const char *roc_foreign_advice(roc_foreign_where where, const char *name, size_t len);
/* The same for a dotted name, of which a part may be the foreign one: `cuda.threadIdx.x`. */
const char *roc_foreign_path_advice(roc_foreign_where where, const char *path);

/* A search for the nearest name.  Letter case and underscores do not count. */
typedef struct roc_near {
  const char *name;
  size_t len;
  const char *best;  /* the nearest so far; NULL: none is near enough */
  uint32_t distance; /* of it; at first one more than is near enough */
} roc_near;

roc_near roc_near_to(const char *name, size_t len);
/* Compares with `key`, and takes `shown` for best when that is nearer. */
void roc_near_offer(roc_near *near, const char *key, const char *shown);

#endif
