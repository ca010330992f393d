/* Arrays as Lua values: what lib_array.c, lib_devarray.c and the launch code share.
 *
 * An array userdata is a roc_array_box: the roc_array by value, with its own reference to the
 * buffer, so that views need nothing of what they were made from.  Three classes have this layout:
 * roc.Array (host memory), roc.SmartArray (host memory with a mirror on a device; accepted wherever
 * a host array is) and roc.DeviceArray.  A closed array has a NULL buffer; every check below
 * refuses it.  Indices are 1-based in Lua and 0-based in roc_array; check functions convert. */
#ifndef ROC_BINDINGS_ARRAY_ARRAY_BIND_H
#define ROC_BINDINGS_ARRAY_ARRAY_BIND_H

#include "bindings/support/bind.h"
#include "runtime/array.h"

#define ROC_META_ARRAY "roc.Array"
#define ROC_META_DEVICE_ARRAY "roc.DeviceArray"
#define ROC_META_SMART_ARRAY "roc.SmartArray"
#define ROC_META_DTYPE "roc.DType"

typedef struct roc_array_class {
  const char *metatable;
} roc_array_class;

/* A class is identified by its address. */
extern const roc_array_class roc_host_array_class, roc_device_array_class, roc_smart_array_class;

typedef struct roc_array_box {
  roc_array array;
  const roc_array_class *cls; /* what makes a userdata of this size an array */
} roc_array_box;

/* Makes the class once, with the methods of array_view.c and its own, which `index` looks up
 * (upvalue 1: the methods), and pushes its metatable and its methods. */
void roc_open_array_class(lua_State *L, const char *name, const luaL_Reg *meta,
                          const luaL_Reg *methods, lua_CFunction index);

/* Pushes an empty (closed) array of the class; fill *result without raising in between.  The
 * class's metatable must have been made. */
roc_array *roc_push_array(lua_State *L, const roc_array_class *cls);

/* NULL when the value is not an array; a closed array is returned too. */
roc_array_box *roc_test_array_box(lua_State *L, int idx);
roc_array *roc_test_array(lua_State *L, int idx);        /* host or smart, else NULL */
roc_array *roc_test_device_array(lua_State *L, int idx); /* device, else NULL */
roc_array *roc_test_any_array(lua_State *L, int idx);

/* Raise an argument error when it is not such an array, or closed. */
roc_array *roc_check_array(lua_State *L, int arg);
roc_array *roc_check_device_array(lua_State *L, int arg);
roc_array *roc_check_any_array(lua_State *L, int arg);
/* The same for what needs shape and dtype alone: the elements may still have to be computed, as the
 * functions above see to. */
roc_array *roc_check_described_array(lua_State *L, int arg);
roc_array *roc_check_described_device_array(lua_State *L, int arg);
/* Computes the elements that are pending (runtime/buffer.h), or, of memory, what is pending and should
 * be computed before the memory is used, and gives whether there was any; raises why it cannot.  Of a device
 * array the work is queued, on the stream if it is one of that device, else where it waits for no
 * unrelated work: what uses the elements comes after it. */
bool roc_array_evaluate(lua_State *L, const roc_array *a, roc_rt_stream *stream);
/* The same of the arrays among `count` values on the stack, from `first` on, which are wanted together:
 * what they share is computed once.  Memory is left as it is; gives whether there was anything. */
bool roc_array_evaluate_all(lua_State *L, int first, int count, roc_rt_stream *stream);
/* What does both; set once a process. */
typedef struct roc_array_evaluator {
  bool (*one)(lua_State *L, const roc_array *a, roc_rt_stream *stream);
  bool (*all)(lua_State *L, int first, int count, roc_rt_stream *stream);
} roc_array_evaluator;
void roc_array_set_evaluator(const roc_array_evaluator *evaluator);
/* Replaces a device array at `arg` by a host array of its contents, once the work that uses it is
 * complete; raises when it is closed.  Other values stay. */
void roc_fetch_device_array(lua_State *L, int arg);
/* The box's class, of a checked array. */
const roc_array_class *roc_array_class_of(lua_State *L, int arg);

/* Waits for queued work that conflicts with a host access; raises the fault of that work. */
void roc_array_sync(lua_State *L, const roc_array *a, bool for_write);

/* Pushes a new host array with contiguous, undefined or zeroed memory; raises for a bad shape, and
 * when memory is still out after one full collection. */
roc_array *roc_new_host_array(lua_State *L, roc_dtype dtype, uint32_t rank, const int64_t *extents,
                              roc_order order, bool zeroed);
/* The same, of the device or (NULL) the host, without memory (runtime/buffer.h), and its memory. */
roc_array *roc_new_later_array(lua_State *L, roc_rt_device *device, roc_dtype dtype, uint32_t rank,
                               const int64_t *extents, roc_order order);
void roc_array_provide(lua_State *L, roc_array *a);
/* The same in memory that is page-locked for `device`. */
roc_array *roc_new_pinned_array(lua_State *L, roc_rt_device *device, roc_dtype dtype, uint32_t rank,
                                const int64_t *extents, roc_order order);
/* Pushes a host array copied from `src` (C order, same dtype); `src` must be host-accessible. */
roc_array *roc_push_host_copy(lua_State *L, const roc_array *src);

/* ---- dtypes ------------------------------------------------------------------------------ */
void roc_push_dtype(lua_State *L, roc_dtype dtype);
/* A dtype object or its name; false (nothing raised) when it is neither. */
bool roc_test_dtype(lua_State *L, int idx, roc_dtype *out);
roc_dtype roc_check_dtype(lua_State *L, int arg);
roc_dtype roc_opt_dtype(lua_State *L, int arg, roc_dtype def); /* nil or none: def */

/* ---- numbers (scalar.c) ------------------------------------------------------------------ */
/* A number or boolean; false for anything else (numeric strings too). */
bool roc_test_scalar(lua_State *L, int idx, roc_scalar *out);
void roc_push_scalar(lua_State *L, roc_scalar value);
/* Stores the value at `arg` into an element of `dtype` or raises why it cannot. */
void roc_store_arg(lua_State *L, int arg, roc_dtype dtype, void *element);
/* The same for `a[i] = v`, whose error names no argument. */
void roc_store_assigned(lua_State *L, int idx, roc_dtype dtype, void *element);
/* Pushes why roc_dtype_store refused the value at `idx` (not relative); returns the text. */
const char *roc_push_refusal(lua_State *L, int idx, roc_dtype dtype);

/* ---- shapes and nested tables (convert.c) ------------------------------------------------ */
/* An integer or a table of integers >= 0 (>= -1 when `wildcard`); returns the rank. */
uint32_t roc_check_shape(lua_State *L, int arg, int64_t extents[ROC_ARRAY_MAX_RANK], bool wildcard);
/* The description of a new array. */
typedef struct roc_array_plan {
  uint32_t rank;
  int64_t extents[ROC_ARRAY_MAX_RANK];
  roc_dtype dtype;
  roc_order order;
} roc_array_plan;
/* Reads the arguments shape [, dtype [, order]] from `arg` on, `with_order` or without; raises for
 * several extents that are no table, and for a shape that is too large. */
roc_array_plan roc_check_plan(lua_State *L, int arg, roc_dtype absent, bool with_order);
/* Raises for a shape that is too large, naming the argument. */
void roc_check_size(lua_State *L, int arg, roc_dtype dtype, uint32_t rank, const int64_t *extents);
/* "C" or "F"; nil or none: C. */
roc_order roc_opt_order(lua_State *L, int arg);
/* "{5, 3}" */
void roc_push_shape_text(lua_State *L, uint32_t rank, const int64_t *extents);
/* The 1-based index at `arg` as 0-based; raises "index 11 out of range 1..10 (dimension 2)". */
int64_t roc_check_index(lua_State *L, int arg, int64_t extent, uint32_t dim, uint32_t rank);
/* Pushes a host array made of the nested table at `arg`. */
roc_array *roc_array_from_table(lua_State *L, int arg, bool has_dtype, roc_dtype dtype);
/* Pushes nested tables holding the elements of a host-accessible array. */
void roc_push_array_table(lua_State *L, const roc_array *a);

/* ---- what all classes have in common (array_view.c) ----------------------------------------- */

/* reshape transpose slice is_c_contiguous is_f_contiguous; views get the class of argument 1. */
extern const luaL_Reg roc_array_view_methods[];
/* Pushes a flat view in the given order of the array at argument 1 and returns true; pushes nothing
 * and returns false when that needs a copy. */
bool roc_array_push_ravel(lua_State *L, roc_order order);
/* Pushes the property `name` (shape dtype ndim size nbytes strides device) and returns true, or
 * pushes nothing and returns false. */
bool roc_array_push_property(lua_State *L, const roc_array *a, const char *name);
/* Pushes a view on row `i` (0-based, in range) of the array at argument 1; rank > 1. */
void roc_array_push_row(lua_State *L, int64_t i);
/* The key of a[i] at stack index 2, 0-based and in range; false, with nothing in *out, where
 * `ipairs` asks for the element after the last one. */
bool roc_check_key(lua_State *L, const roc_array *a, int64_t *out);
/* Raises that the array has no field of the name at stack index 2; `methods` is the index of the
 * table of its methods. */
int roc_array_fail_field(lua_State *L, int methods);
/* __pairs of all arrays: indices and elements, or rows. */
int roc_array_mm_pairs(lua_State *L);
/* Stores the iterator of `ipairs` in the registry; once, when the classes are made. */
void roc_array_note_ipairs(lua_State *L);
/* The same for the element that `a[i] = v` assigns; raises for fields. */
int64_t roc_check_assigned_key(lua_State *L, const roc_array *a);
/* Whether the key at stack index 2 is a table or an array, which selects elements. */
bool roc_array_key_selects(lua_State *L);
/* Whether `a[key] = v` assigns more than an element: to a selection or a row. */
bool roc_array_assigns_many(lua_State *L, const roc_array *a);
/* Pushes what the key at stack index 2 selects: a view, a new array, or an element.  Runs
 * roc/arrays/selection.lua, and so do assignments. */
int roc_array_select(lua_State *L);
/* array_select.c: the same, without Lua code, where it is a usual one; false, and nothing is
 * pushed. */
bool roc_array_select_usual(lua_State *L);
bool roc_array_assign_usual(lua_State *L);
int roc_array_assign(lua_State *L);
/* The indices of get and set, arguments first…, 0-based; as many as the rank. */
void roc_check_indices(lua_State *L, int first, const roc_array *a, int64_t *indices);

/* ---- methods whose usual case is C (lib_reduce.c) -------------------------------------------- */

/* How many threads `cpu` has, on which host arrays are computed; 0: it is not for C to do. */
uint32_t roc_host_threads(lua_State *L);
/* The array at `arg`, where it is a host array in memory that is not empty; one that is pending and
 * has few elements is computed, which may raise an error. */
const roc_array *roc_test_plain_array(lua_State *L, int arg);
/* How many elements are few. */
void roc_set_stored_most(int64_t size);

#endif
