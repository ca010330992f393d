/* roclua.h: the C interface of roclua, all of it.
 *
 * It compiles as C11 and as C++ and names no type of LLVM, HSA or CUDA.  Of Lua it needs the state
 * alone, which it declares itself, so that a program that never includes lua.h can pass one along.
 * Functions that fail return a code and raise no Lua error, but for luaopen_roc_core, which Lua
 * calls. */
#ifndef ROCLUA_H
#define ROCLUA_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ROCLUA_API __attribute__((visibility("default")))
#else
#define ROCLUA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct lua_State;

#define ROCLUA_VERSION "0.1.0"

/* What the functions that return a code return.  Negative numbers are not used; later versions may
 * add codes.  The comment of each function names the codes that belong to it; INTERNAL may come
 * from each, and UNSUPPORTED, when another copy of roclua is open in the process, from the first
 * that needs a device, an array or a kernel. */
typedef enum roclua_code {
  ROCLUA_OK = 0,
  ROCLUA_INVALID = 1,     /* a wrong argument, which the message names */
  ROCLUA_OOM = 2,         /* memory is lacking, of the host or of the device */
  ROCLUA_UNAVAILABLE = 3, /* there is no such device, or a library, of it or the compiler's, is
                             missing */
  ROCLUA_CLOSED = 4,  /* the object is closed, roclua has shut down, or this is a forked child */
  ROCLUA_COMPILE = 5, /* a kernel has errors; the message is its diagnostics */
  ROCLUA_FAULT = 6,   /* a kernel failed a check; the device stays usable */
  ROCLUA_LOST = 7,    /* the device is lost: reset it, or start a new process */
  ROCLUA_INTERRUPTED = 8,  /* roclua_interrupt ended the wait or compile */
  ROCLUA_IO = 9,           /* a file, which the message names */
  ROCLUA_UNSUPPORTED = 10, /* this device or program cannot do that; the message says what can */
  ROCLUA_INTERNAL = 11,    /* an error of roclua itself: report it */
  ROCLUA_LUA = 64          /* a Lua function that was called back has raised the message */
} roclua_code;

/* The message of the last function of this header that returned a code other than ROCLUA_OK on the
 * calling thread; "" when none did.  Valid until the next such failure on this thread.  Any
 * thread; never fails. */
ROCLUA_API const char *roclua_error(void);

/* The version of the library that was linked, as ROCLUA_VERSION spells it.  Static string.  Any
 * thread. */
ROCLUA_API const char *roclua_version(void);

/* Writes what roclua stands on to `text`, a line each, at most `size` bytes with the NUL: the
 * version of LLVM, and the file of each driver's library, or why there is none.  What has no room
 * is cut off.  Any thread; looks for devices, else does not block.  INVALID: NULL, or a size of 0;
 * CLOSED. */
ROCLUA_API int roclua_components(char *text, size_t size);

/* Names the folder with the compiler and the software GPU, lib/roclua/0 of an installation
 * (`pkg-config --variable=compilerdir roclua`).  Needed only by a program with libroclua.a that is
 * not in the folder bin of that installation: libroclua.so finds it from its own place.  `folder`
 * is copied.  To be called before the first device is used.  Any thread; does not block.
 * INVALID: NULL, no folder, or too late. */
ROCLUA_API int roclua_set_library_dir(const char *folder);

/* Opens the private C module `roc.core`: a lua_CFunction for package.preload.  Scripts use it
 * through `require "roc"`. May be called again in one state.  On the thread that runs the state;
 * does not block.  Raises on lack of memory, when Lua is not 5.4, when another copy of roclua is
 * open in the process, in a forked child and after the shutdown. */
ROCLUA_API int luaopen_roc_core(struct lua_State *L);

/* As the option -E: the variables that load code (docs/trust.md) do not count, and are taken out of
 * the environment, so that libraries which are opened later do not see them.  To be called before
 * anything else of this header, while no other thread runs. */
ROCLUA_API void roclua_ignore_environment(void);

/* Opens Lua's standard libraries and makes `require "roc"` work from what is built into the
 * library: nothing of roc is loaded before a script requires it.  The directory named by
 * ROCLUA_LUA_DIR, if set, stands in for the built-in Lua files (not when the registry's LUA_NOENV
 * is true).  On the thread that runs the state; does not block; raises nothing.  LUA: that failed,
 * as with a Lua that is not 5.4, in a forked child or after the shutdown; OOM; INVALID: NULL. */
ROCLUA_API int roclua_openlibs(struct lua_State *L);

/* Tells roc the text of a chunk that it could not find through its name, such as a line typed at a
 * prompt, so that kernels in it can be compiled.  `chunkname` is the one given to lua_load, with
 * its '=' or '@'.  Both texts are copied.  Does not load roc.  On the thread that runs the state;
 * does not block; raises nothing.  OOM; LUA: roc refuses the text; INVALID: NULL. */
ROCLUA_API int roclua_source(struct lua_State *L, const char *chunkname, const char *text,
                             size_t nbytes);

/* Makes the wait for a device or the compile that is in progress in the state, or its next one,
 * raise `interrupted!`; a wait also ends the kernels that the state has launched there, where the
 * device can (cpu; software GPUs, which end those of other states, too).  A kernel on sim, which
 * runs in the launch, raises it there: at once when the call comes on its own thread, as in a
 * signal handler, otherwise before the next work-item.  `L` is the state as it was made, not a
 * coroutine, and stays open until the call returns; NULL: every state, what the program does
 * without one, whose next wait returns INTERRUPTED, and the wait of roclua_shutdown.  Any thread;
 * does not block; safe in a signal handler, so it leaves no message.  INVALID: roclua was not
 * opened in that state, or, with NULL, not used at all. */
ROCLUA_API int roclua_interrupt(struct lua_State *L);

/* Takes back an interrupt of the state that no wait has seen yet.  Returns 1 if there was one, else
 * 0, as for NULL.  `L` as above.  Any thread; does not block; safe in a signal handler. */
ROCLUA_API int roclua_take_interrupt(struct lua_State *L);

/* Writes what devices still work on, for any state, to `text`, such as "kernel 'saxpy' (launched at
 * a.lua:3)", at most `size` bytes with the NUL. Returns 1; or 0 when all is done, when `text` is
 * NULL or `size` is 0, and in a forked child, and then writes nothing. Waits for no device. Any
 * thread. */
ROCLUA_API int roclua_pending(char *text, size_t size);

/* Ends the state's use of devices, before lua_close: refuses further work of it (elements that the
 * host reaches can still be read), waits for what is queued, hands what its kernels printed to its
 * global `print` (Lua's own where that is nil), and calls what stream:callback has left.  Other
 * states go on.  Without this call lua_close does not wait: work that is queued is done, and what
 * it prints is lost.  On the thread that runs the state, in a coroutine of it, too; raises nothing.
 * FAULT: a kernel failed, and no wait has reported it, one fault a call.  INTERRUPTED:
 * roclua_interrupt was called, and a kernel goes on a second later; no later call waits for it.
 * LUA: `print` or a callback raised the message.  LOST, OOM; CLOSED in a forked child; INVALID:
 * NULL.  OK when roclua was not opened there, and the second time. */
ROCLUA_API int roclua_close(struct lua_State *L);

/* To be called once before the process ends, when no state launches any more: waits for the work of
 * all states, and gives the devices back once what uses them is closed.  Later use of a device
 * fails with CLOSED.  Without this call a handler of exit() does so.  Any thread.  FAULT,
 * INTERRUPTED, LOST as above; INVALID: a tool (--check) has found faults in kernels; IO: a report
 * of a tool cannot be written.  OK, and nothing happens, the second time and in a forked child. */
ROCLUA_API int roclua_shutdown(void);

/* ---- streams --------------------------------------------------------------------------------- */

/* An ordered queue of work on one device.  Counted: each function that gives one out gives a
 * reference. */
typedef struct roclua_stream roclua_stream;

/* A new stream on the device of that name ("cpu", "hsa:2", as --device takes it), which belongs to
 * the program and to no state.  Any thread; opens the device, else does not block.  INVALID: NULL;
 * UNAVAILABLE: no such device; OOM, LOST, CLOSED. */
ROCLUA_API int roclua_stream_create(const char *device, roclua_stream **out_stream);

/* A stream on a queue of another library, which goes on using it: what both queue there runs in one
 * order.  `native` is a CUstream on "cuda" (NULL: the legacy default stream), an hsa_queue_t * on
 * "hsa".  It stays that library's, and open until the stream is released and its work done; what
 * stops such an hsa queue is told to its creator alone.  As roc.stream_from.  Any thread.
 * INVALID: `native` is none; UNSUPPORTED: other devices; otherwise as roclua_stream_create. */
ROCLUA_API int roclua_stream_adopt(const char *device, void *native, roclua_stream **out_stream);

/* The stream at that index of the state's stack, another reference to it; it stays the state's.  On
 * the thread that runs the state; raises nothing.  INVALID: NULL, no roc.Stream, or closed. */
ROCLUA_API int roclua_stream_get(struct lua_State *L, int index, roclua_stream **out_stream);

/* Waits for all that was queued so far, and hands on what it printed (of a state's stream, the next
 * wait of that state does).  Any thread.  FAULT: some of it failed, and no wait has reported it;
 * INTERRUPTED, LOST, OOM, CLOSED; INVALID: NULL. */
ROCLUA_API int roclua_stream_synchronize(roclua_stream *stream);

/* Where lines go that kernels print on streams of the program: `print(ud, line, nbytes)` is called
 * for each, which ends in a byte 0 that is not counted, by the waits of this header, on the thread
 * that waits, with no lock held.  Several threads may be in it at once.  NULL, as at first: the
 * lines are dropped.  Any thread; does not block.  CLOSED. */
ROCLUA_API int roclua_set_print(void (*print)(void *ud, const char *line, size_t nbytes), void *ud);

/* Drops a reference; NULL is fine.  Any thread; does not block: queued work is done. */
ROCLUA_API void roclua_stream_release(roclua_stream *stream);

/* ---- arrays ---------------------------------------------------------------------------------- */

/* An array of roc, in the host's memory or a device's.  Counted: each function that gives one out
 * gives a reference.  It is independent of states, and outlives them. */
typedef struct roclua_array roclua_array;

#define ROCLUA_MAX_RANK 8

/* Memory of the program, for roclua_array_wrap. */
typedef struct roclua_memory {
  size_t size;               /* sizeof (roclua_memory) */
  const char *dtype;         /* "float32", ...; a bool is a byte that is 0 or 1 */
  int rank;                  /* 1 to ROCLUA_MAX_RANK */
  const int64_t *shape;      /* extents, from 0 on */
  const int64_t *strides;    /* in elements, may be negative; NULL: C order.  From the smallest on,
                                each steps over all that those before it span, so that no two
                                elements share memory */
  void *data;                /* the element with the lowest indices, aligned for the dtype; not read
                               where an extent is 0 */
  const char *device;        /* NULL: host memory; else the device that has the memory */
  void (*release)(void *ud); /* or NULL */
  void *ud;
  int read_only; /* not 0: what would write it, a kernel, copy, map or script, fails */
} roclua_memory;

/* Makes an array in the memory of the device, of any contents; NULL: in the host's, zeroed.  C
 * order.  Any thread; opens the device, else does not block.  INVALID: NULL, no such dtype, a wrong
 * shape; UNAVAILABLE, OOM, LOST, CLOSED. */
ROCLUA_API int roclua_array_create(const char *device, const char *dtype, int rank,
                                   const int64_t *shape, roclua_array **out_array);

/* Makes an array of memory that stays the program's.  What `memory` points to but the elements is
 * copied.  Until `release(ud)` is called, the memory must stay, and may be touched by the program
 * only while it is mapped.  It is called exactly once, when the last reference in C and Lua has
 * gone and no queued work uses it, on the thread that finds that (in a wait, a launch, an
 * allocation, a close, a collection), with no lock held: it must not call Lua, and not wait for a
 * device.  Memory that was in use when its device was lost is given back when the device is reset,
 * or else never. When the call fails, `release` is not called.  Any thread; does not block.
 * INVALID: what the message names; UNAVAILABLE, OOM, CLOSED. */
ROCLUA_API int roclua_array_wrap(const roclua_memory *memory, roclua_array **out_array);

/* Pushes the array as a value of roc (roc.Array, roc.SmartArray or roc.DeviceArray), with a
 * reference of its own; on failure pushes nothing.  On the thread that runs the state; raises
 * nothing; does not block, but loads roc there when it is not yet loaded.  LUA: that failed, as
 * where roclua was not opened; INVALID: NULL; OOM, CLOSED. */
ROCLUA_API int roclua_array_push(struct lua_State *L, roclua_array *array);

/* The array at that index of the state's stack; it stays valid when Lua closes its own.  Computes
 * its elements when operations on arrays have not been computed yet, and waits for that.  On the
 * thread that runs the state; raises nothing.  INVALID: NULL, no array, or closed; OOM; LUA: its
 * elements cannot be computed; CLOSED: likewise, after a fork or the shutdown. */
ROCLUA_API int roclua_array_get(struct lua_State *L, int index, roclua_array **out_array);

/* One reference more, one less; NULL is fine.  Any thread; does not block. */
ROCLUA_API void roclua_array_retain(roclua_array *array);
ROCLUA_API void roclua_array_release(roclua_array *array);

/* Elements in C. */
typedef struct roclua_view {
  size_t size;       /* sizeof (roclua_view), set by the caller; the rest is filled in */
  void *data;        /* the element with the lowest indices; NULL where an extent is 0 */
  const char *dtype; /* static */
  int rank;
  int64_t shape[ROCLUA_MAX_RANK];
  int64_t strides[ROCLUA_MAX_RANK]; /* in elements, may be negative */
  void *hidden;                     /* the library's */
} roclua_view;

/* Fills the view with what it says of the array but its elements: data is NULL, strides are those
 * of the array.  Any thread; does not block.  INVALID: NULL, or a wrong size. */
ROCLUA_API int roclua_array_describe(roclua_array *array, roclua_view *view);

#define ROCLUA_READ 1
#define ROCLUA_WRITE 2 /* alone: all elements will be written, their values so far do not matter */

/* Gives C the elements until roclua_array_unmap: the array's own memory where the host reaches it
 * (after the work that uses it, and up to date where it is a smart array), else a copy in C order.
 * A copy from the device is queued on `stream`, if that is not NULL, after its own work alone;
 * else it waits for the work that writes the array alone.  Until the unmap no work that uses the
 * array may be queued, unless both only read.  The view holds a reference to the array.  When the
 * call fails nothing is mapped.  Any thread; waits.  FAULT: work that should have written the array
 * failed; INTERRUPTED, LOST, OOM, CLOSED; INVALID: NULL, a wrong size or access, or a read-only
 * array that would be written. */
ROCLUA_API int roclua_array_map(roclua_array *array, int access, roclua_stream *stream,
                                roclua_view *view);

/* Ends the map, also when it fails: what was written becomes the array's, by a copy that is queued
 * on the map's stream, or, without one, is done on return.  Any thread; waits for that copy alone.
 * INVALID: NULL, or not mapped; otherwise as roclua_array_map. */
ROCLUA_API int roclua_array_unmap(roclua_view *view);

/* ---- DLPack ---------------------------------------------------------------------------------- */

/* The exchange of arrays with other libraries (NumPy, PyTorch, CuPy, ...), by dlpack.h of version 1
 * and, for libraries without it, by the struct before that.  Memory of `hsa` is DLPack's ROCM, of
 * `cuda` CUDA; that of every other device is CPU.  Strides are in elements. */
struct DLManagedTensorVersioned;
struct DLManagedTensor;

/* Makes a tensor of the array's memory, with a reference to the array that the tensor's deleter
 * drops; the caller owns the tensor, and calls the deleter once, on any thread.  From then on both
 * sides may write, and the exchange orders no work by itself:
 * memory that the host reaches: the call waits for all work that uses the array.
 * memory of a GPU: `stream`, which is of its device, is given: what is queued on it from now on, by
 * others too, comes after that work; NULL: the call waits.
 * A tensor of a read-only array says so, which only the versioned struct can.  Any thread.
 * INVALID: NULL, or a stream of another device; UNSUPPORTED: a smart array, a read-only one by the
 * old struct; otherwise as roclua_array_map. */
ROCLUA_API int roclua_array_to_dlpack(roclua_array *array, roclua_stream *stream,
                                      struct DLManagedTensorVersioned **out_tensor);
ROCLUA_API int roclua_array_to_dlpack_unversioned(roclua_array *array, roclua_stream *stream,
                                                  struct DLManagedTensor **out_tensor);

/* Makes an array of a tensor's memory, and takes the tensor over: its deleter is called exactly
 * once, as `release` of roclua_memory is.  When the call fails the tensor stays the caller's.  What
 * the producer has queued to write the memory must be done, unless `stream` is given: then it is
 * what was queued there so far, by others too.  A tensor without dimensions becomes an array of one
 * element.  The array of a read-only tensor is read-only.  Any thread; does not block.  INVALID:
 * NULL, a stream of another device, or what roclua_array_wrap refuses; UNSUPPORTED: a dtype, a
 * device or a version of the struct that roclua has not; UNAVAILABLE: no such device; OOM,
 * CLOSED. */
ROCLUA_API int roclua_array_from_dlpack(struct DLManagedTensorVersioned *tensor,
                                        roclua_stream *stream, roclua_array **out_array);
ROCLUA_API int roclua_array_from_dlpack_unversioned(struct DLManagedTensor *tensor,
                                                    roclua_stream *stream,
                                                    roclua_array **out_array);

/* ---- kernels --------------------------------------------------------------------------------- */

/* A kernel out of a state, with the values that it captured there: numbers and booleans, which
 * roclua_kernel_set changes, and arrays, which it holds.  It has its own compiled code, needs no
 * state any more, and may be used by several threads at once.  Counted. */
typedef struct roclua_kernel roclua_kernel;

/* The kernel (roc.Kernel) at that index of the state's stack, as it is now: captured values are
 * read once.  On the thread that runs the state; raises nothing; waits for the work that writes a
 * host array which it captures.  LUA: the message of what was raised; INVALID: NULL, no kernel;
 * OOM, CLOSED. */
ROCLUA_API int roclua_kernel_get(struct lua_State *L, int index, roclua_kernel **out_kernel);

/* A kernel of a file that `rocluac --emit=kernels` has written, or of its bytes, which are copied;
 * needs no state.  `name`: the kernel's; NULL: that of the only one.  The code is that of the
 * targets named to rocluac: of those that a device takes, the first in the file is used there.  Any
 * thread; opens no device; reads the file, else does not block.  INVALID: NULL, not such a file of
 * this version of roclua, or no such kernel; IO, OOM, CLOSED. */
ROCLUA_API int roclua_kernel_load(const char *path, const char *name, roclua_kernel **out_kernel);
ROCLUA_API int roclua_kernel_read(const void *bytes, size_t nbytes, const char *name,
                                  roclua_kernel **out_kernel);

/* One reference more, one less; NULL is fine.  Any thread; does not block: queued work is done. */
ROCLUA_API void roclua_kernel_retain(roclua_kernel *kernel);
ROCLUA_API void roclua_kernel_release(roclua_kernel *kernel);

/* The name, which is the kernel's and lives as long, and the number of arguments; "" and -1 for
 * NULL.  Any thread; do not block. */
ROCLUA_API const char *roclua_kernel_name(const roclua_kernel *kernel);
ROCLUA_API int roclua_kernel_nargs(const roclua_kernel *kernel);

/* An argument or a captured value. */
typedef enum roclua_kind {
  ROCLUA_INTEGER = 1,
  ROCLUA_NUMBER = 2, /* a float of Lua */
  ROCLUA_BOOLEAN = 3,
  ROCLUA_ARRAY = 4
} roclua_kind;

typedef struct roclua_value {
  int kind; /* roclua_kind */
  union {
    int64_t integer;
    double number;
    int boolean; /* 0 or another */
    roclua_array *array;
  } as;
} roclua_value;

static inline roclua_value roclua_integer(int64_t integer) {
  roclua_value value;
  value.kind = ROCLUA_INTEGER;
  value.as.integer = integer;
  return value;
}

static inline roclua_value roclua_number(double number) {
  roclua_value value;
  value.kind = ROCLUA_NUMBER;
  value.as.number = number;
  return value;
}

static inline roclua_value roclua_boolean(int boolean) {
  roclua_value value;
  value.kind = ROCLUA_BOOLEAN;
  value.as.boolean = boolean;
  return value;
}

static inline roclua_value roclua_of_array(roclua_array *array) {
  roclua_value value;
  value.kind = ROCLUA_ARRAY;
  value.as.array = array;
  return value;
}

/* Makes the value that of the captured variable in launches from now on: "n", or "cfg.scale" for a
 * field.  The first two values of a variable are compiled into the code, where that is faster; from
 * the third on it is an argument, unless the kernel needs it as a constant.  Any thread; does not
 * block.  INVALID: NULL, an array, no such variable, or two of that name; OOM, CLOSED. */
ROCLUA_API int roclua_kernel_set(roclua_kernel *kernel, const char *name, roclua_value value);

/* The shape of a launch.  What is 0 need not be set, but size, rank and grid. */
typedef struct roclua_launch {
  size_t size;           /* sizeof (roclua_launch) */
  int rank;              /* dimensions, 1 to 3 */
  int64_t grid[3];       /* work-items in each; 0: nothing runs */
  int32_t workgroup[3];  /* work-items of a workgroup; 0 in all: chosen for the device */
  uint32_t shared_bytes; /* of dynamic shared memory, for a workgroup */
  const char *file;      /* of the launch, for messages: NULL, or a string that stays until the
                            process ends, such as __FILE__ */
  int line;
} roclua_launch;

/* Queues the kernel on the stream, a program's or a state's, and returns; it waits where a queue of
 * the device is full.  Compiles it first when it has not run with arguments of such types on that
 * device.  The arguments are copied.  An array is on the device of the
 * stream, or smart, or registered, or, where the device reaches it (cpu), in the host's memory,
 * which is used in place; it is held until the kernel has run.  Elements of an array that a failed
 * kernel wrote stay written.  Any thread, several at once.  INVALID: what the message names;
 * COMPILE: the message is the diagnostics; UNSUPPORTED: on sim, where kernels run in Lua, or a file
 * of kernels has no code for the device; UNAVAILABLE: the compiler is missing; INTERRUPTED: of the
 * compile, or the wait for room; OOM, LOST, CLOSED.  FAULT comes from the wait. */
ROCLUA_API int roclua_kernel_launch(roclua_kernel *kernel, roclua_stream *stream,
                                    const roclua_launch *launch, const roclua_value *args,
                                    int nargs);

/* Compiles what such a launch would run, unless that is done, and queues nothing.  Any thread;
 * waits for the compiler.  As roclua_kernel_launch. */
ROCLUA_API int roclua_kernel_prepare(roclua_kernel *kernel, roclua_stream *stream,
                                     const roclua_value *args, int nargs);

#ifdef __cplusplus
}
#endif

#endif
