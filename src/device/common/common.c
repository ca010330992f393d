/* Limits of launches, and host memory as device memory; see common.h. */
#include "device/common/common.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "base/alloc.h"
#include "base/env.h"

enum { ALLOC_ALIGNMENT = 256 };

static roc_status check_dimension(const roc_device_props *props, const roc_ndrange *range,
                                  uint32_t d, roc_error *err) {
  uint64_t items = range->grid[d];
  uint32_t local = range->local[d];
  if (local == 0) {
    return roc_fail(err, ROC_INVALID, "workgroup size of dimension %" PRIu32 " is 0", d + 1);
  }
  if (local > props->max_workgroup_dim[d]) {
    return roc_fail(err, ROC_INVALID,
                    "workgroup size %" PRIu32 " of dimension %" PRIu32 " is over the limit %" PRIu32
                    " of device '%s'",
                    local, d + 1, props->max_workgroup_dim[d], props->name);
  }
  if (items <= props->max_groups[d]) return ROC_OK; /* so are its groups, without a division */
  uint64_t groups = roc_ndrange_groups(range, (int)d);
  if (groups > props->max_groups[d]) {
    return roc_fail(err, ROC_INVALID,
                    "%" PRIu64 " groups in dimension %" PRIu32 " are over the limit %" PRIu64
                    " of device '%s'",
                    groups, d + 1, props->max_groups[d], props->name);
  }
  return ROC_OK;
}

static roc_status check_totals(const roc_device_props *props, const roc_ndrange *range,
                               roc_error *err) {
  const uint64_t *grid = range->grid;
  const uint32_t *local = range->local;
  uint64_t items = roc_ndrange_local_items(range); /* dimensions are small by now */
  if (items > props->max_workgroup) {
    return roc_fail(err, ROC_INVALID,
                    "a workgroup of %" PRIu32 " x %" PRIu32 " x %" PRIu32 " = %" PRIu64
                    " work-items is over the limit %" PRIu32 " of device '%s'",
                    local[0], local[1], local[2], items, props->max_workgroup, props->name);
  }
  uint64_t plane, volume;
  if (__builtin_mul_overflow(grid[0], grid[1], &plane) ||
      __builtin_mul_overflow(plane, grid[2], &volume) || volume > INT64_MAX) {
    return roc_fail(err, ROC_INVALID, "the grid has more than 2^63 - 1 work-items");
  }
  return ROC_OK;
}

roc_status roc_device_check_range(const roc_device_props *props, const roc_ndrange *range,
                                  uint32_t static_shared_bytes, roc_error *err) {
  if (range->rank < 1 || range->rank > 3) {
    return roc_fail(err, ROC_INVALID, "a launch has 1 to 3 dimensions, not %" PRIu32, range->rank);
  }
  for (uint32_t d = 0; d < range->rank; d++) ROC_TRY(check_dimension(props, range, d, err));
  ROC_TRY(check_totals(props, range, err));
  uint32_t dynamic_bytes = range->dynamic_shared_bytes;
  uint64_t shared = ((uint64_t)static_shared_bytes + 63) / 64 * 64 + dynamic_bytes;
  if (dynamic_bytes == 0) shared = static_shared_bytes;
  if (shared > props->shared_bytes) {
    return roc_fail(err, ROC_INVALID,
                    "%" PRIu64 " bytes of shared memory are over the limit %" PRIu64
                    " of device '%s'",
                    shared, props->shared_bytes, props->name);
  }
  return ROC_OK;
}

enum { HOST_MAX_WORKGROUP = 1024, HOST_SHARED_BYTES = 65536 };

void roc_host_describe(roc_device_props *props, const char *name, const char *arch,
                       uint32_t wavefront) {
  snprintf(props->name, sizeof props->name, "%s", name);
  snprintf(props->arch, sizeof props->arch, "%s", arch);
  props->wavefront_size = wavefront;
  props->compute_units = 1;
  props->max_workgroup = HOST_MAX_WORKGROUP;
  for (int d = 0; d < 3; d++) {
    props->max_workgroup_dim[d] = HOST_MAX_WORKGROUP;
    props->max_groups[d] = INT64_MAX;
  }
  props->shared_bytes = HOST_SHARED_BYTES;
  props->memory_total = roc_host_memory_total();
  props->host_memory = true;
}

uint64_t roc_host_memory_total(void) {
  struct sysinfo info;
  if (sysinfo(&info) != 0) return (uint64_t)1 << 30;
  return (uint64_t)info.totalram * info.mem_unit;
}

/* What the system could still hand out: free pages and those it can drop. */
uint64_t roc_host_memory_free(roc_device *device) {
  (void)device;
  uint64_t kibibytes = 0;
  FILE *file = fopen("/proc/meminfo", "r");
  if (file) {
    char line[128];
    while (fgets(line, sizeof line, file)) {
      if (sscanf(line, "MemAvailable: %" SCNu64, &kibibytes) == 1) break;
    }
    fclose(file);
  }
  return kibibytes * 1024;
}

roc_status roc_host_alloc(roc_device *device, size_t nbytes, roc_devptr *out_ptr, roc_error *err) {
  void *block = nbytes > device->props.memory_total
                    ? NULL /* the system would promise it and kill us on use */
                    : roc_alloc_pages(nbytes, ALLOC_ALIGNMENT);
  if (!block) {
    return roc_fail(err, ROC_OOM, "out of memory: device '%s' has no %zu bytes to give",
                    device->props.name, nbytes);
  }
  *out_ptr = (roc_devptr)(uintptr_t)block;
  return ROC_OK;
}

void roc_host_free(roc_device *device, roc_devptr ptr) {
  (void)device;
  roc_free((void *)(uintptr_t)ptr);
}

roc_status roc_host_alloc_host(roc_device *device, size_t nbytes, void **out_ptr, roc_error *err) {
  *out_ptr = roc_alloc_aligned(nbytes, ALLOC_ALIGNMENT);
  if (*out_ptr) return ROC_OK;
  return roc_fail(err, ROC_OOM,
                  "out of memory: device '%s' has no %zu bytes of host memory to give",
                  device->props.name, nbytes);
}

void roc_host_free_host(roc_device *device, void *ptr) {
  (void)device;
  roc_free(ptr);
}

bool roc_dev_next_position(uint32_t rank, const uint64_t *extents, uint64_t *positions) {
  for (uint32_t d = rank; d-- > 0;) {
    if (++positions[d] < extents[d]) return true;
    positions[d] = 0;
  }
  return false;
}

static int64_t offset_of(uint32_t rank, const uint64_t *positions, const int64_t *steps) {
  int64_t offset = 0;
  for (uint32_t d = 0; d < rank; d++) offset += (int64_t)positions[d] * steps[d];
  return offset;
}

void roc_host_scatter(const roc_dev_scatter *s) {
  uint64_t at[ROC_DEV_MAX_RANK] = {0};
  char *dst = (char *)(uintptr_t)s->dst;
  do {
    const void *from = s->src ? (const char *)s->src + offset_of(s->rank, at, s->src_steps)
                              : (const void *)s->element;
    memcpy(dst + offset_of(s->rank, at, s->dst_steps), from, s->element_bytes);
  } while (roc_dev_next_position(s->rank, s->extents, at));
}

roc_status roc_host_wavefront(uint32_t *out_size, roc_error *err) {
  static const char *const sizes[] = {"32", "64", NULL};
  unsigned choice = 1;
  roc_status status = roc_env_choice("ROCLUA_WAVEFRONT", sizes, &choice, err);
  *out_size = choice == 0 ? 32 : 64;
  return status;
}
