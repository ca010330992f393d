/* The interface of the front end: text -> syntax tree -> typed kernel -> IR.
 *
 *   roc_fe_parse          chunk text to tree (once per chunk)
 *   roc_fe_collect_paths  the free names of a function, so that the bindings can look them up
 *   roc_fe_compile        program + argument types to verified IR (once per specialisation)
 *   roc_fe_print_lua      the same typed kernel back as Lua, float32 rounded after each operation,
 *                         for sim
 *
 * It uses neither Lua's API nor LLVM: the caller passes the binding of each free name.
 * One thread at a time per object; no globals. */
#ifndef ROC_FRONTEND_FRONTEND_H
#define ROC_FRONTEND_FRONTEND_H

#include "base/arg_type.h"
#include "base/dtype.h"
#include "base/status.h"
#include "base/str.h"
#include "frontend/syntax/ast.h"
#include "frontend/diag.h"
#include "ir/ir.h"

/* Parses a whole chunk.  On a syntax error or a limit (depth, size) reports to diags and returns
 * ROC_COMPILE. On success *out_chunk owns its memory: roc_fe_chunk_free.  Text is copied.
 * `chunk_name` is shown in messages. */
roc_status roc_fe_parse(const char *text, size_t len, const char *chunk_name, roc_diags *diags,
                        roc_ast_chunk **out_chunk, roc_error *err);
/* The same for a text whose first `lead` bytes were added before the user's text. */
roc_status roc_fe_parse_with_prefix(const char *text, size_t len, uint32_t lead,
                                    const char *chunk_name, roc_diags *diags,
                                    roc_ast_chunk **out_chunk, roc_error *err);
void roc_fe_chunk_free(roc_ast_chunk *chunk);
/* The `tokens` stage dump, one token a line: "line:column kind text". */
void roc_fe_dump_tokens(const char *text, size_t len, const char *chunk_name, roc_diags *diags,
                        roc_str *out);

/* ---- free names -------------------------------------------------------------------------- */

/* A constant key in a path: a string, or an integer when name is NULL. */
typedef struct roc_fe_field {
  const char *name;
  uint32_t len;
  int64_t integer;
} roc_fe_field;

/* `roc.math.exp2`: root "roc" (a global), fields {"math", "exp2"}.  Only maximal chains of constant
 * keys are listed, each once; a local initialised with a path and never assigned is looked through
 * (`local m = roc.math` … `m.exp2(x)` lists roc.math.exp2). */
typedef struct roc_fe_path {
  const char *root;
  uint32_t root_len;
  bool is_global;   /* reached through _ENV; else an upvalue of that name */
  bool is_assigned; /* the kernel assigns to it or through it: an error unless it is an array */
  const roc_fe_field *fields;
  uint32_t nfields;
  roc_span span; /* of the first use */
} roc_fe_path;

typedef struct roc_fe_paths {
  const roc_fe_path *items;
  uint32_t count;
} roc_fe_paths;

/* Fills *out from `arena`; false when memory is out. */
bool roc_fe_collect_paths(const roc_ast_func *func, roc_arena *arena, roc_fe_paths *out);

/* The binding of a path.  `consumed` fields led to it; the rest of the path is ordinary
 * indexing. */
typedef enum roc_fe_binding_kind {
  ROC_BIND_NIL,      /* undefined: an error at each use */
  ROC_BIND_CONSTANT, /* number or boolean, known: as.scalar */
  ROC_BIND_HIDDEN,   /* number or boolean passed as a hidden argument: as.arg (index into args) */
  ROC_BIND_BUILTIN,  /* a known function (intrinsic or math): as.builtin, a roc_builtin */
  ROC_BIND_DTYPE,    /* roc.float32: as.dtype */
  ROC_BIND_ARRAY,    /* a captured device array: hidden argument as.arg */
  ROC_BIND_CONST_ARRAY, /* captured host array or roc.const.array value: as.const_array */
  ROC_BIND_FUNCTION,    /* a Lua function of the script: as.function, index into program->funcs */
  ROC_BIND_NAMESPACE,   /* a table that is not a value: `roc`, `math`, `cfg` with no constant field
                           used; as.shape when it may be a shape, else NULL */
  ROC_BIND_STRING,      /* a short string: as.text, which may name a dtype */
  ROC_BIND_OTHER /* anything else: as.type_name for the message ("string", "userdata 'FILE*'") */
} roc_fe_binding_kind;

typedef struct roc_fe_const_array {
  roc_dtype dtype;
  uint32_t rank;
  int64_t extents[ROC_MAX_RANK];
  bool is_table;    /* of a Lua table, in a dtype that keeps its values */
  const void *data; /* C order, tightly packed; borrowed until roc_fe_compile returns */
} roc_fe_const_array;

typedef struct roc_fe_shape roc_fe_shape;

typedef struct roc_fe_binding {
  roc_fe_binding_kind kind;
  uint32_t consumed;
  union {
    roc_scalar scalar;
    uint32_t arg;
    uint32_t builtin;
    roc_dtype dtype;
    const roc_fe_const_array *const_array;
    uint32_t function;
    const char *type_name, *text;
    const roc_fe_shape *shape;
  } as;
} roc_fe_binding;

/* A captured table as a shape: each extent is a captured number, NIL after the last. */
struct roc_fe_shape {
  roc_fe_binding extents[ROC_MAX_RANK + 1];
};

typedef struct roc_fe_function {
  const roc_ast_chunk *chunk;
  const roc_ast_func *ast;
  const char *name; /* for messages and symbols */
  roc_fe_paths paths;
  const roc_fe_binding *bindings; /* one per path */
} roc_fe_function;

/* A kernel (function 0) with every Lua function it can reach. */
typedef struct roc_fe_program {
  const roc_fe_function *funcs;
  uint32_t nfuncs;
} roc_fe_program;

/* ---- compiling --------------------------------------------------------------------------- */

/* One argument, explicit ones first (one per parameter), then hidden ones. */
typedef struct roc_fe_arg {
  roc_arg_type type;
  const char *name; /* hidden arguments: the captured path, for messages; else NULL */
  /* hidden arrays: copied on the host when the kernel was made; and of a Lua table, as above */
  bool is_constant, is_table;
} roc_fe_arg;

typedef struct roc_fe_options {
  const char *kernel_name;
  bool check, contract, fastmath;
  bool number_is_f32;    /* opts.number == "float32" */
  uint32_t workgroup[3]; /* the promise of opts.workgroup; 0: none */
} roc_fe_options;

/* Checks, types and lowers.  ROC_COMPILE: see diags.  *out_module is verified
 * (roc_ir_module_free). */
roc_status roc_fe_compile(const roc_fe_program *program, const roc_fe_arg *args, uint32_t nargs,
                          const roc_fe_options *options, roc_diags *diags,
                          roc_ir_module **out_module, roc_error *err);

/* The typed kernel as Lua: a chunk that returns {{name =, chunk =, text =}, …}, the kernel first
 * and then the functions it calls. docs/sim.md lists the functions that the texts call. */
roc_status roc_fe_print_lua(const roc_fe_program *program, const roc_fe_arg *args, uint32_t nargs,
                            const roc_fe_options *options, roc_diags *diags, roc_str *out,
                            roc_error *err);

/* The `types` stage dump and k:inspect_types(): each local with its type, the origin of the type,
 * and each narrowing of a plain float to float32. */
roc_status roc_fe_dump_types(const roc_fe_program *program, const roc_fe_arg *args, uint32_t nargs,
                             const roc_fe_options *options, roc_diags *diags, roc_str *out,
                             roc_error *err);

#endif
