/* Kernels of C programs; see their part of roclua.h.  A handle is a frozen kernel of jit. */
#include <lauxlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/sole.h"
#include "bindings/kernel/kernel_bind.h"
#include "embed/fail.h"
#include "embed/handle.h"
#include "include/roclua.h"

static roc_jit_frozen *frozen_of(const roclua_kernel *kernel) {
  return (roc_jit_frozen *)kernel;
}

/* ---- handles ------------------------------------------------------------- */

/* (light userdata: where the kernel goes, roc.Kernel) */
static int take(lua_State *L) {
  roc_jit_frozen **out = lua_touserdata(L, 1);
  *out = roc_kernel_freeze(L, 2);
  return 0;
}

static bool is_kernel(lua_State *L, int index) {
  if (!lua_getmetatable(L, index)) return false;
  luaL_getmetatable(L, ROC_META_KERNEL);
  bool is = lua_istable(L, -1) && lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return is;
}

int roclua_kernel_get(lua_State *L, int index, roclua_kernel **out_kernel) {
  roc_error err = ROC_ERROR_INIT;
  if (!L || !out_kernel) {
    return roc_embed_refuse("roclua_kernel_get: %s is NULL", L ? "out_kernel" : "the state");
  }
  if (!lua_checkstack(L, 4)) return roc_embed_refuse("roclua_kernel_get: the stack is full");
  if (roc_rt_check_open(&err) != ROC_OK) return roc_embed_code(err.code, &err);
  if (lua_isnone(L, index) || !is_kernel(L, index)) {
    return roc_embed_refuse("roclua_kernel_get: roc.Kernel expected, got %s",
                            luaL_typename(L, index));
  }
  roc_jit_frozen *taken = NULL;
  int code = roc_embed_call_with(L, take, &taken, index, 0);
  if (code == ROCLUA_OK) *out_kernel = (roclua_kernel *)taken;
  return code;
}

static roc_status read_file(const void *bytes, size_t nbytes, const char *name,
                            roclua_kernel **out_kernel, roc_error *err) {
  roc_jit_ahead *ahead;
  ROC_TRY(roc_jit_ahead_read(bytes, nbytes, name, &ahead, err));
  roc_jit_frozen *frozen = roc_jit_freeze_ahead(ahead);
  if (!frozen) return roc_fail(err, ROC_OOM, "out of memory for a kernel");
  *out_kernel = (roclua_kernel *)frozen;
  return ROC_OK;
}

int roclua_kernel_read(const void *bytes, size_t nbytes, const char *name,
                       roclua_kernel **out_kernel) {
  roc_error err = ROC_ERROR_INIT;
  if (!bytes || !out_kernel) {
    return roc_embed_refuse("roclua_kernel_read: %s is NULL", bytes ? "out_kernel" : "bytes");
  }
  roc_status status = roc_sole_claim(&err);
  if (status == ROC_OK) status = roc_rt_check_open(&err);
  if (status == ROC_OK) status = read_file(bytes, nbytes, name, out_kernel, &err);
  return roc_embed_code(status, &err);
}

int roclua_kernel_load(const char *path, const char *name, roclua_kernel **out_kernel) {
  enum { MOST_BYTES = 1 << 30 };
  roc_error err = ROC_ERROR_INIT;
  unsigned char *bytes = NULL;
  size_t nbytes = 0;
  if (!path || !out_kernel) {
    return roc_embed_refuse("roclua_kernel_load: %s is NULL", path ? "out_kernel" : "path");
  }
  roc_status status = roc_sole_claim(&err);
  if (status == ROC_OK) status = roc_rt_check_open(&err);
  if (status == ROC_OK) status = roc_file_read(path, MOST_BYTES, &bytes, &nbytes, &err);
  if (status == ROC_OK) {
    status = read_file(bytes, nbytes, name, out_kernel, &err);
    roc_error why = err;
    if (status == ROC_INVALID) roc_fail(&err, status, "'%s': %s", path, why.message);
  }
  roc_free(bytes);
  return roc_embed_code(status, &err);
}

void roclua_kernel_retain(roclua_kernel *kernel) {
  if (kernel) roc_jit_frozen_retain(frozen_of(kernel));
}

void roclua_kernel_release(roclua_kernel *kernel) {
  if (kernel) roc_jit_frozen_release(frozen_of(kernel));
}

const char *roclua_kernel_name(const roclua_kernel *kernel) {
  return kernel ? roc_jit_frozen_name(frozen_of(kernel)) : "";
}

int roclua_kernel_nargs(const roclua_kernel *kernel) {
  return kernel ? (int)roc_jit_frozen_nparams(frozen_of(kernel)) : -1;
}

/* ---- values -------------------------------------------------------------- */

/* False: it is an array, or none of the kinds. */
static bool read_scalar(const roclua_value *value, roc_scalar *out) {
  switch (value->kind) {
    case ROCLUA_INTEGER:
      *out = (roc_scalar){.type = ROC_VT_INT, .as.i = value->as.integer};
      return true;
    case ROCLUA_NUMBER:
      *out = (roc_scalar){.type = ROC_VT_F64, .as.f = value->as.number};
      return true;
    case ROCLUA_BOOLEAN:
      *out = (roc_scalar){.type = ROC_VT_BOOL, .as.b = value->as.boolean != 0};
      return true;
    default: return false;
  }
}

int roclua_kernel_set(roclua_kernel *kernel, const char *name, roclua_value value) {
  roc_error err = ROC_ERROR_INIT;
  roc_scalar scalar;
  if (!kernel || !name) {
    return roc_embed_refuse("roclua_kernel_set: %s is NULL", kernel ? "name" : "the kernel");
  }
  if (!read_scalar(&value, &scalar)) {
    return roc_embed_refuse("roclua_kernel_set: an integer, number or boolean expected for '%s'",
                            name);
  }
  return roc_embed_code(roc_jit_frozen_set(frozen_of(kernel), name, scalar, &err), &err);
}

static roc_status read_values(const roclua_value *args, int nargs, roc_jit_value *values,
                              const char *name, roc_error *err) {
  for (int i = 0; i < nargs; i++) {
    if (read_scalar(&args[i], &values[i].scalar)) continue;
    roclua_array *array = args[i].kind == ROCLUA_ARRAY ? args[i].as.array : NULL;
    if (!array) {
      return roc_fail(err, ROC_INVALID, "bad argument #%d to kernel '%s' (%s)", i + 1, name,
                      args[i].kind == ROCLUA_ARRAY ? "the array is NULL" : "no roclua_kind");
    }
    values[i].array = roc_embed_array_of(array);
  }
  return ROC_OK;
}

/* ---- launching ----------------------------------------------------------- */

static roc_status fail_launch(roc_error *err, const char *what) {
  return roc_fail(err, ROC_INVALID, "roclua_kernel_launch: %s", what);
}

/* The product of groups and workgroup is the launch's own; here the grid is in work-items. */
static roc_status read_launch(const roclua_launch *from, roc_jit_launch *out, roc_error *err) {
  if (from->size < sizeof *from) {
    return roc_fail(err, ROC_INVALID,
                    "roclua_kernel_launch: launch->size is %zu, expected sizeof (roclua_launch), "
                    "%zu",
                    from->size, sizeof *from);
  }
  if (from->rank < 1 || from->rank > 3) return fail_launch(err, "a rank of 1 to 3 expected");
  bool is_free = from->workgroup[0] == 0;
  *out = (roc_jit_launch){.range = {.grid = {1, 1, 1},
                                    .local = {is_free ? 0 : 1, 1, 1},
                                    .rank = (uint32_t)from->rank,
                                    .dynamic_shared_bytes = from->shared_bytes},
                          .file = from->file ? from->file : "?",
                          .line = from->file ? (uint32_t)from->line : 0};
  for (int d = 0; d < from->rank; d++) {
    if (from->grid[d] < 0) return fail_launch(err, "the grid is negative");
    out->range.grid[d] = (uint64_t)from->grid[d];
    if (is_free ? from->workgroup[d] != 0 : from->workgroup[d] < 1) {
      return fail_launch(err,
                         "a workgroup of 1 and more expected in each dimension, or of 0 in all");
    }
    if (!is_free) out->range.local[d] = (uint32_t)from->workgroup[d];
  }
  if (from->shared_bytes > INT32_MAX) return fail_launch(err, "shared_bytes is too large");
  return ROC_OK;
}

/* `launch` NULL: only prepares. */
static roc_status run(roc_jit_frozen *kernel, roc_rt_stream *stream, const roclua_launch *launch,
                      const roclua_value *args, int nargs, roc_error *err) {
  roc_jit_launch work;
  roc_jit_call call;
  if (launch) ROC_TRY(read_launch(launch, &work, err));
  if (nargs < 0 || (uint32_t)nargs != roc_jit_frozen_nparams(kernel)) {
    return roc_fail(err, ROC_INVALID, "kernel '%s' takes %u arguments, got %d",
                    roc_jit_frozen_name(kernel), roc_jit_frozen_nparams(kernel), nargs);
  }
  ROC_TRY(roc_jit_call_begin(kernel, &call, err));
  roc_status status = read_values(args, nargs, call.values, roc_jit_frozen_name(kernel), err);
  if (status == ROC_OK) status = roc_jit_call_run(&call, stream, launch ? &work : NULL, err);
  roc_jit_call_end(&call);
  return status;
}

int roclua_kernel_launch(roclua_kernel *kernel, roclua_stream *stream, const roclua_launch *launch,
                         const roclua_value *args, int nargs) {
  if (!kernel || !stream || !launch || (!args && nargs > 0)) {
    return roc_embed_refuse("roclua_kernel_launch: %s is NULL", !kernel   ? "the kernel"
                                                                : !stream ? "the stream"
                                                                : !launch ? "launch"
                                                                          : "args");
  }
  roc_error err; /* filled on failure; zeroing it would cost more than much of the rest */
  roc_status status =
      run(frozen_of(kernel), roc_embed_stream_of(stream), launch, args, nargs, &err);
  return status == ROC_OK ? ROCLUA_OK : roc_embed_code(status, &err);
}

int roclua_kernel_prepare(roclua_kernel *kernel, roclua_stream *stream, const roclua_value *args,
                          int nargs) {
  roc_error err = ROC_ERROR_INIT;
  if (!kernel || !stream || (!args && nargs > 0)) {
    return roc_embed_refuse("roclua_kernel_prepare: %s is NULL", !kernel   ? "the kernel"
                                                                 : !stream ? "the stream"
                                                                           : "args");
  }
  roc_status status = run(frozen_of(kernel), roc_embed_stream_of(stream), NULL, args, nargs, &err);
  return roc_embed_code(status, &err);
}
