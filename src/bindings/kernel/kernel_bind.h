/* Kernels as Lua values: what lib_kernel.c, kernel_capture.c, kernel_args.c and kernel_launch.c
 * share.
 *
 * A kernel is a roc_kernel_box: the compiled side (roc_jit_kernel) and the places from which the
 * captured values are read again at each launch.  Invariant: while a launch holds core resources
 * (temporary device copies), no Lua call that can raise is made; the box owns them, so that its
 * __gc frees them in any case. */
#ifndef ROC_BINDINGS_KERNEL_KERNEL_BIND_H
#define ROC_BINDINGS_KERNEL_KERNEL_BIND_H

#include "bindings/array/array_bind.h"
#include "bindings/kernel/place.h"
#include "jit/frozen.h"
#include "jit/kernel.h"

#define ROC_META_KERNEL "roc.Kernel"
#define ROC_META_LAUNCHER "roc.Launcher"
#define ROC_META_CHUNK "roc.Chunk"
#define ROC_META_ARG "roc.KernelArgument" /* roc.In(a), roc.Out(a), roc.InOut(a) */

/* Uservalues of a kernel. */
enum {
  KERNEL_UV_FUNCTION = 1, /* the Lua function, for sim */
  KERNEL_UV_PROGRAM,      /* what capture.lua found: keeps captured arrays and functions alive */
  KERNEL_UV_CELLS,        /* array: functions, and the keys of cells, with what a watch holds */
  KERNEL_UV_RECOLLECT,    /* function: describes the program again */
  KERNEL_UV_PARAMS,       /* array of parameter names */
  KERNEL_UV_COUNT = KERNEL_UV_PARAMS
};

/* Launches that copy a plain host array before the hint is given. */
enum { KERNEL_HINT_COPIES = 3 };

/* Why a cell is read. */
typedef enum roc_kernel_cell_kind {
  CELL_SCALAR, /* a number, boolean or nil: its value */
  CELL_ARRAY,  /* an array on a device */
  CELL_WATCH   /* a function, table, …: whether it is the one that the program was made of */
} roc_kernel_cell_kind;

/* A captured value that is read again at each launch. */
typedef struct roc_kernel_cell {
  roc_kernel_cell_kind kind;
  uint32_t function; /* index in KERNEL_UV_CELLS; often that of the cell before */
  uint32_t upvalue;  /* of that function */
  /* Index of the first key; the value that a watch holds follows the last one, which keeps it
   * alive. */
  uint32_t keys, nkeys;
  uint32_t index;   /* into the program's arrays or scalars */
  const void *held; /* of a watch: the address of the value */
  bool is_global;   /* the upvalue is an environment, which may inherit the first key */
} roc_kernel_cell;

/* roc.In(a), roc.Out(a), roc.InOut(a), core.New(a): a userdata of class ROC_META_ARG whose uservalue
 * is the array. */
typedef struct roc_kernel_mode {
  bool copies_in, copies_out;
  bool is_new; /* written as a whole, and used by nothing where the launch fails */
} roc_kernel_mode;

/* How a host array argument is copied. */
typedef struct roc_kernel_stage {
  /* A registered or mirrored host array, which is not copied here: of the other fields only `view`
   * is used. */
  const roc_array *direct;
  const roc_array *host; /* NULL: not a host array that is copied */
  roc_array view;        /* what the kernel gets */
  roc_buffer *temporary; /* owned: the device block, of the leader of arrays that share memory */
  uint32_t leader;       /* index of the argument that owns the block: itself, or an earlier one */
  bool copies_in, copies_out, is_plain;
  bool is_new;    /* as of a roc_kernel_mode */
  bool is_shared; /* shares memory with another argument */
} roc_kernel_stage;

/* A captured host array too large to be embedded, on the device that used it last. */
typedef struct roc_kernel_constant {
  const roc_array *host;
  roc_rt_device *device; /* of the copy; NULL: none yet */
  roc_array copy;
} roc_kernel_constant;

typedef struct roc_kernel_box {
  roc_jit_kernel *kernel;
  struct roc_current *current; /* of the state; the registry keeps it */
  roc_kernel_cell *cells;
  uint32_t ncells;
  roc_jit_program *building; /* while a program is being described, with its cells */
  roc_kernel_cell *new_cells;
  uint32_t nnew_cells;
  roc_kernel_constant *constants; /* one for each captured array; those on a device have no host */
  uint32_t nconstants;
  uint32_t generation; /* of the cells: counted up by each new description */
  uint32_t nunusable;  /* names whose value no kernel can use; of the new program */
  uint32_t nnew_unusable;
  bool is_refused; /* perhaps because of one of them: describe again before the next launch */
  bool is_own;     /* roclua's, whose captured values never change: they are read once */
  bool has_read;   /* its captured values */
  bool is_ordered; /* those without a stream of the script are ordered work (runtime/launch.h) */
  roc_arg_type *signature;  /* NULL: none; else one for each parameter */
  roc_kernel_stage *stages; /* one for each parameter */
  uint32_t nhosts;          /* stages with a `host` */
  uint32_t ndirect;         /* with a `direct` */
  uint64_t plain_copies;    /* launches that copied a plain host array, for hints */
} roc_kernel_box;

/* kernel_box.c */
roc_kernel_box *roc_check_kernel(lua_State *L, int arg);
/* Raises a failed compile with all of its diagnostics, any other failure as it is. */
int roc_kernel_raise(lua_State *L, roc_kernel_box *box, const roc_error *err);
/* Pushes an empty text that is freed when it is collected. */
roc_str *roc_kernel_push_text(lua_State *L);

/* The compile target at `arg`, else that of the current device; for a device that runs kernels in
 * Lua it is cpu. */
const char *roc_kernel_check_target(lua_State *L, int arg);

/* kernel_capture.c: makes the program described by the table at `idx` (of lua/roc/capture.lua) and
 * pushes the table of its cells; box->kernel keeps its old program until the caller takes the new
 * one and commits the cells.  Raises. */
void roc_kernel_describe(lua_State *L, roc_kernel_box *box, int idx);
roc_jit_program *roc_kernel_take_program(roc_kernel_box *box);
void roc_kernel_commit_cells(roc_kernel_box *box);
/* Reads every cell of the kernel at stack index `idx` into its program; describes the program again
 * when the kind of a value has changed, or a watched value is another. Raises. */
void roc_kernel_read_cells(lua_State *L, roc_kernel_box *box, int idx);
/* Pushes the captured arrays in the order of their hidden arguments; returns how
 * many. */
int roc_kernel_push_captured(lua_State *L, const roc_kernel_box *box);
/* Adds chunks and the list of builtins to the module on top. */
void roc_open_kernel_capture(lua_State *L);

/* kernel_args.c: reads `count` arguments from stack index `first` on into kernel->values and
 * box->stages.  Device arrays must be of `device` (NULL: of any).  False: an array had to be
 * computed first, which may have run Lua code, so that nothing read before it counts: read again.
 * Raises; holds nothing. */
bool roc_kernel_read_args(lua_State *L, roc_kernel_box *box, int first, int count,
                          roc_rt_device *device, roc_rt_stream *stream);
/* Computes an array that is pending, on the stream, which may run Lua code; false: it is not. */
bool roc_kernel_evaluate(lua_State *L, const roc_array *a, roc_rt_stream *stream);
/* An argument of a launch that roclua makes itself, in place of Lua's. */
typedef struct roc_kernel_operand {
  const roc_array *source; /* in a userdata on the stack; NULL: `scalar` is passed */
  roc_array view;          /* of its memory, what the kernel gets; has no buffer of its own */
  roc_scalar scalar;
  bool is_result; /* new, and written as a whole; the others are read */
} roc_kernel_operand;
/* The same for operands, whose views get their buffers. */
void roc_kernel_take_operands(lua_State *L, roc_kernel_box *box, roc_kernel_operand *operands,
                              uint32_t count);
/* Fills kernel->values from the signature, with arrays that have no memory in `arrays` (one per
 * parameter). */
void roc_kernel_signature_values(roc_kernel_box *box, roc_array *arrays);
void roc_open_kernel_args(lua_State *L); /* roc.In, Out, InOut */

/* lib_kernel.c: the kernel at stack index `idx` for any thread, with its captures as they are now;
 * one reference, with no Lua call after it.  Raises. */
roc_jit_frozen *roc_kernel_freeze(lua_State *L, int idx);

/* kernel_stage.c */
/* Selects, copies in, queues, and for host arrays waits and copies back.  Never raises; frees all
 * temporaries.  `out_is_later`, unless NULL: code that has to be generated is so while the caller goes
 * on, and whether that is why nothing was queued. */
roc_status roc_kernel_run(roc_kernel_box *box, roc_rt_stream *stream, const roc_jit_launch *launch,
                          bool *out_is_later, roc_error *err);
void roc_kernel_drop_temporaries(roc_kernel_box *box);
/* Frees the device copies of captured host arrays. */
void roc_kernel_drop_constants(roc_kernel_box *box);

void roc_open_kernel_sim(lua_State *L); /* kernel_sim.c */

/* kernel_object.c */
int roc_kernel_m_compile(lua_State *L);
int roc_kernel_m_resources(lua_State *L);
/* Pushes the kernel's code object in another form of its target (base/target.h).  Raises. */
int roc_kernel_push_form(lua_State *L, roc_kernel_box *box, const char *target, const char *form);
/* Describes arguments of the types at the arguments from `first` on in kernel->values.  Raises. */
void roc_kernel_take_types(lua_State *L, roc_kernel_box *box, int first);
void roc_open_kernel_object(lua_State *L);
/* Pushes a closed roc.CodeObject; fill in its object.  And takes an open one. */
roc_codeobj **roc_push_code_object(lua_State *L);
const roc_codeobj *roc_check_code_object(lua_State *L, int arg);

void roc_open_kernel_ahead(lua_State *L); /* kernel_ahead.c */

/* kernel_show.c */
int roc_kernel_m_show(lua_State *L);
void roc_open_kernel_show(lua_State *L);

void roc_open_tune(lua_State *L); /* lib_tune.c */

/* kernel_launch.c */
int roc_kernel_index_config(lua_State *L); /* k[{…}]: kernel, table -> launcher */
int roc_kernel_m_launch(lua_State *L);
int roc_kernel_m_forall(lua_State *L);
/* Launches the kernel at stack index `kernel` on the stream, or (NULL) the device's default one; the
 * device is none that runs kernels in Lua.  `place`: of the launch; without a file, where it is
 * called.  False, where it `may_be_later`: the kernel's code is not there yet, and nothing was
 * launched. */
bool roc_kernel_launch_operands(lua_State *L, int kernel, roc_rt_device *device,
                                roc_rt_stream *stream, const roc_ndrange *range, roc_place place,
                                roc_kernel_operand *operands, uint32_t count, bool may_be_later);
/* Pushes the hint about plain host arrays. */
void roc_kernel_push_copy_hint(lua_State *L, const roc_kernel_box *box);
void roc_open_kernel_launch(lua_State *L);

#endif
