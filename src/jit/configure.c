/* See configure.h. */
#include "jit/configure.h"

#include <string.h>

#include "runtime/mirror.h"
#include "runtime/registration.h"

enum { DEFAULT_ITEMS = 256 }; /* of a workgroup that neither launch nor kernel names */

/* ---- arguments of a signature ---- */

static roc_status declare_array(const roc_arg_type *p, const roc_array *a, roc_error *err) {
  const char *want = roc_dtype_name((roc_dtype)p->dtype);
  if (!roc_arg_is_array(p)) return roc_fail(err, ROC_INVALID, "%s expected, got an array", want);
  if (p->dtype != a->dtype) {
    return roc_fail(err, ROC_INVALID, "array of %s expected, got %s", want,
                    roc_dtype_name(a->dtype));
  }
  if (p->rank != a->rank) {
    return roc_fail(err, ROC_INVALID, "array of rank %u expected, got rank %u", p->rank, a->rank);
  }
  return ROC_OK;
}

static roc_status declare_integer(const roc_arg_type *p, roc_jit_value *v, roc_error *err) {
  const char *want = roc_dtype_name((roc_dtype)p->dtype);
  int64_t i = v->scalar.as.i;
  if (v->scalar.type == ROC_VT_F64 && !roc_i64_from_f64_exact(v->scalar.as.f, &i)) {
    return roc_fail(err, ROC_INVALID,
                    "%s expected, got %.14g: number has no integer representation", want,
                    v->scalar.as.f);
  }
  roc_scalar whole = {.type = ROC_VT_INT, .as.i = i};
  if (roc_dtype_convert(p->dtype, whole).as.i != i) {
    return roc_fail(err, ROC_INVALID, "%lld is out of the range of %s", (long long)i, want);
  }
  v->scalar = whole;
  return ROC_OK;
}

roc_status roc_jit_declare(const roc_arg_type *p, roc_jit_value *v, roc_error *err) {
  if (v->array) return declare_array(p, v->array, err);
  const char *want = roc_dtype_name((roc_dtype)p->dtype);
  if (roc_arg_is_array(p)) {
    return roc_fail(err, ROC_INVALID, "array of %s expected, got a scalar", want);
  }
  bool wants_bool = p->dtype == ROC_DT_BOOL;
  if (wants_bool != (v->scalar.type == ROC_VT_BOOL)) {
    return roc_fail(err, ROC_INVALID, "%s expected, got %s", want,
                    wants_bool ? "number" : "boolean");
  }
  if (wants_bool) return ROC_OK;
  if (roc_dtype_table[p->dtype].value_type == ROC_VT_INT) return declare_integer(p, v, err);
  v->scalar = roc_dtype_convert(p->dtype, v->scalar); /* one rounding, from the value's own type */
  v->is_float32 = p->dtype != ROC_DT_FLOAT64;
  return ROC_OK;
}

/* ---- registered and mirrored arrays ---- */

/* The kernel gets the device's side, which has the host's layout. */
static roc_status place_mirrored(const roc_array *a, roc_rt_device *device, roc_array *view,
                                 roc_jit_value *v, roc_error *err) {
  roc_buffer *buffer;
  ROC_TRY(roc_mirror_fetch(a->buffer, device, &buffer, err));
  *view = *a;
  view->buffer = buffer;
  v->array = view;
  return ROC_OK;
}

static roc_status place_mapped(const roc_array *a, roc_rt_device *device, roc_jit_value *v,
                               roc_error *err) {
  roc_devptr address;
  ROC_TRY(roc_buffer_map(a->buffer, device, &address, err));
  v->shift = (int64_t)(address - roc_buffer_devptr(a->buffer));
  const roc_device_props *props = &roc_rt_device_driver(device)->props;
  v->is_host_memory = props->has_own_atomics || !props->host_memory;
  return ROC_OK;
}

roc_status roc_jit_place(const roc_array *array, roc_rt_device *device, roc_array *view,
                         roc_jit_value *value, roc_error *err) {
  if (roc_buffer_is_mirrored(array->buffer)) {
    return place_mirrored(array, device, view, value, err);
  }
  return place_mapped(array, device, value, err);
}

bool roc_jit_is_host_memory(roc_rt_device *device) {
  const roc_device_props *props = &roc_rt_device_driver(device)->props;
  return props->host_memory && props->has_own_atomics;
}

/* ---- workgroups ---- */

void roc_jit_choose_workgroup(const roc_fe_options *options, roc_rt_device *device,
                              roc_ndrange *range) {
  static const uint32_t shapes[3][3] = {{DEFAULT_ITEMS, 1, 1}, {16, 16, 1}, {8, 8, 4}};
  const roc_device_props *props = &roc_rt_device_driver(device)->props;
  const uint32_t *promise = options->workgroup;
  for (uint32_t d = 0; d < 3; d++) {
    range->local[d] = shapes[range->rank - 1][d];
    if (promise[0] && range->local[d] > (promise[d] ? promise[d] : 1))
      range->local[d] = promise[d] ? promise[d] : 1;
  }
  while (props->max_workgroup &&
         range->local[0] * range->local[1] * range->local[2] > props->max_workgroup &&
         range->local[0] > 1) {
    range->local[0] /= 2;
  }
}

roc_status roc_jit_check_promise(const roc_fe_options *options, const roc_ndrange *range,
                                 roc_error *err) {
  const uint32_t *promise = options->workgroup;
  for (uint32_t d = 0; d < 3 && promise[0]; d++) {
    uint32_t bound = promise[d] ? promise[d] : 1;
    if (range->local[d] <= bound) continue;
    return roc_fail(err, ROC_INVALID,
                    "bad workgroup (kernel '%s' promises at most %u in dimension %u, got %u)",
                    options->kernel_name, bound, d + 1, range->local[d]);
  }
  return ROC_OK;
}
