/* A kernel's program: every Lua function it can reach, parsed, and what each of their free names
 * is.
 *
 * The bindings fill it when roc.kernel is called; it is immutable afterwards but for the state of
 * captured scalars, which follows the values seen at launches: the first two distinct ones are
 * constants, after that the capture becomes a hidden argument, unless the front end needs it
 * constant. */
#ifndef ROC_JIT_PROGRAM_H
#define ROC_JIT_PROGRAM_H

#include <stdatomic.h>

#include "frontend/frontend.h"
#include "jit/args.h"

/* A parsed chunk, shared by the kernels of one text, on any threads: it does not change.  Counted. */
typedef struct roc_jit_chunk {
  _Atomic uint32_t refs;
  roc_ast_chunk *ast;
} roc_jit_chunk;

/* Takes over `ast`; one reference.  NULL (and `ast` freed) when memory is out. */
roc_jit_chunk *roc_jit_chunk_new(roc_ast_chunk *ast);
void roc_jit_chunk_retain(roc_jit_chunk *chunk);
void roc_jit_chunk_release(roc_jit_chunk *chunk); /* NULL is fine */

typedef struct roc_jit_scalar {
  roc_fe_binding *binding;
  const char *name; /* "cfg.scale" */
  roc_scalar value; /* as read for this launch; type NONE: nil */
  roc_scalar seen[2];
  uint32_t nseen;
  bool is_hidden, must_be_constant;
  const void *variable; /* identifies it: two of one name can be two variables */
} roc_jit_scalar;

typedef struct roc_jit_capture {
  roc_fe_binding *binding;
  const char *name;
  roc_jit_value value; /* the array, for this launch */
  bool is_constant;    /* a host array, copied once: the kernel may not write it */
  bool is_table;       /* that of a Lua table's values */
} roc_jit_capture;

typedef struct roc_jit_program {
  roc_arena arena;
  roc_fe_program fe;
  roc_fe_function *funcs; /* fe.funcs */
  roc_jit_chunk **chunks; /* one reference each, per function */
  roc_jit_scalar *scalars;
  roc_jit_capture *arrays;
  uint32_t nscalars, narrays;
} roc_jit_program;

/* Room for `nfuncs` functions; NULL when memory is out. */
roc_jit_program *roc_jit_program_new(uint32_t nfuncs);
void roc_jit_program_free(roc_jit_program *program); /* NULL is fine */

/* Function `i` is function `index` of the chunk (retained).  Its bindings are all NIL at first.
 * False when memory is out. */
bool roc_jit_program_set(roc_jit_program *program, uint32_t i, roc_jit_chunk *chunk, uint32_t index,
                         const char *name);
uint32_t roc_jit_program_npaths(const roc_jit_program *program, uint32_t i);
roc_fe_binding *roc_jit_program_binding(roc_jit_program *program, uint32_t i, uint32_t path);
/* "cfg.scale": the path's root and first `nfields` fields as in the source, in the program's
 * memory; "" when memory is out: then the program's arena has failed. */
const char *roc_jit_program_path_name(roc_jit_program *program, uint32_t i, uint32_t path,
                                      uint32_t nfields);
/* Room for the captures, once, before they are filled in. */
bool roc_jit_program_reserve(roc_jit_program *program, uint32_t nscalars, uint32_t narrays);

/* The text of a path's root and first `nfields` fields. */
void roc_jit_path_text(const roc_fe_path *path, uint32_t nfields, roc_str *out);

/* Notes a scalar's value for this launch; may turn it into a hidden argument. */
void roc_jit_scalar_note(roc_jit_scalar *scalar, roc_scalar value);
bool roc_jit_scalar_equal(roc_scalar a, roc_scalar b);

#endif
