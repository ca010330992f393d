/* The library of BLAS and LAPACK on the host, opened at the first call that needs it: the file that
 * ROCLUA_LAPACK_LIBRARY names, else OpenBLAS, else any LAPACK with the BLAS below it. */
#ifndef ROC_RUNTIME_LINALG_LIBRARY_H
#define ROC_RUNTIME_LINALG_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* An integer for either kind of library: one of 32-bit integers reads and writes the lower half,
 * which comes first.  So what it writes is 0 before, and read by roc_lapack_value. */
typedef int64_t roc_lapack_int;
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the lower half comes first");

typedef struct roc_lapack_functions {
#define ROC_LAPACK(name, params) void(*name) params;
#include "runtime/linalg/lapack.def"
#undef ROC_LAPACK
} roc_lapack_functions;

typedef struct roc_lapack {
  roc_lapack_functions float32, float64;
  bool has_wide_integers; /* of 64 bits */
  char name[128];         /* "OpenBLAS 0.3.21 Haswell (libopenblas.so.0)" */
} roc_lapack;

/* The library, which stays open.  Any thread.  UNAVAILABLE: there is none; the message says what to
 * install.  INVALID: the file that the variable names is none, or ROCLUA_CPU_THREADS no number. */
roc_status roc_lapack_open(const roc_lapack **out_lapack, roc_error *err);

/* Around all calls for one matrix or stack.  OpenBLAS computes on as many threads as `cpu` has where
 * `is_large`, when no other call runs, else on the calling thread alone, beside others: its threads
 * wait for each other by spinning, which costs more than small matrices do. */
void roc_lapack_enter(bool is_large);
void roc_lapack_leave(bool is_large);

/* The integer at `place` of what the library has written. */
int64_t roc_lapack_value(const roc_lapack *lapack, const roc_lapack_int *written, int64_t place);

#endif
