/* Open devices, and the end of sessions and of the process.
 *
 * The table of devices is made once; an entry is opened by its first use.  The shutdown waits for
 * all work and stops the drivers' threads, but what scripts still hold (arrays of a state that
 * closes later) stays valid: the driver's device is closed when the last of it is gone.  A forked
 * child owns none of the parent's devices: every call there is refused before any lock is taken. */
#include "runtime/device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/block_cache.h"
#include "base/small_blocks.h"
#include "device/registry.h"
#include "runtime/core/internal.h"
#include "runtime/trace.h"

typedef struct device_entry {
  const roc_device_ops *ops;
  uint32_t ordinal; /* among its kind */
  roc_rt_device *device;
} device_entry;

static pthread_once_t init_once = PTHREAD_ONCE_INIT;
static device_entry entries[ROC_RT_MAX_DEVICES];
static uint32_t entry_count;

/* ---- exit ---------------------------------------------------------------- */

static void shut_down_at_exit(void) {
  roc_rt_shutdown(NULL);
}

void roc_rt_register_exit(void) {
  static _Atomic bool again;
  if (!atomic_exchange(&again, true)) atexit(shut_down_at_exit);
}

/* ---- the table ----------------------------------------------------------- */

static void add_driver(const roc_device_ops *ops) {
  uint32_t count = 0;
  if (ops->probe(&count, NULL) != ROC_OK) return;
  for (uint32_t i = 0; i < count && entry_count < ROC_RT_MAX_DEVICES; i++) {
    entries[entry_count++] = (device_entry){.ops = ops, .ordinal = i};
  }
}

static void make_table(void) {
  roc_rt_trace_open();
  for (uint32_t i = 0; i < roc_driver_count; i++) {
    if (roc_drivers[i].is_listed) add_driver(roc_drivers[i].ops);
  }
  roc_rt_guard_forks();
  atexit(shut_down_at_exit);
}

uint32_t roc_rt_device_count(void) {
  pthread_once(&init_once, make_table);
  roc_rt_lock();
  uint32_t count = entry_count;
  roc_rt_unlock();
  return count;
}

/* ---- opening and closing ------------------------------------------------- */

static size_t choose_pool_limit(const roc_device_props *props) {
  uint64_t limit = props->is_checked ? 0 : props->memory_total / 8;
  return limit < SIZE_MAX / 2 ? (size_t)limit : SIZE_MAX / 2;
}

/* Lock held. */
static void write_label(const device_entry *entry, roc_rt_device *device) {
  const char *name = device->driver->props.name;
  char numbered[32];
  uint32_t alike = 0;
  for (uint32_t i = 0; i < entry_count; i++) alike += entries[i].ops == entry->ops;
  snprintf(numbered, sizeof numbered, "%s:%u", entry->ops->kind, entry->ordinal + 1);
  if (alike > 1 && strcmp(name, numbered) != 0) {
    snprintf(device->label, sizeof device->label, "%s (%s)", name, numbered);
  } else {
    snprintf(device->label, sizeof device->label, "%s", name);
  }
}

/* Lock held. */
static roc_status open_entry(uint32_t index, roc_error *err) {
  ROC_TRY(roc_rt_trace_check_environment(err));
  device_entry *entry = &entries[index];
  roc_rt_device *device = roc_zalloc(sizeof *device);
  if (!device) return roc_fail(err, ROC_OOM, "out of memory: cannot open a device");
  roc_status status = entry->ops->open(entry->ordinal, &device->driver, err);
  if (status != ROC_OK) {
    roc_free(device);
    return status;
  }
  device->index = index;
  device->entry = &entry->device;
  device->live = 1; /* the table */
  device->pool_limit_bytes = choose_pool_limit(&device->driver->props);
  write_label(entry, device);
  entry->device = device;
  return ROC_OK;
}

roc_status roc_rt_device_get(uint32_t index, roc_rt_device **out_device, roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  pthread_once(&init_once, make_table);
  roc_status status = ROC_OK;
  roc_rt_lock();
  if (index >= entry_count) {
    status =
        roc_fail(err, ROC_INVALID, "there is no device %u, only 1 to %u", index + 1, entry_count);
  } else if (!entries[index].device) {
    status = open_entry(index, err);
  }
  if (status == ROC_OK) *out_device = entries[index].device;
  roc_rt_unlock();
  return status;
}

/* The open device of that place in the table, retained; NULL: it is not open.  False: the table has
 * no such place. */
static bool table_at(uint32_t index, roc_rt_device **out_device) {
  roc_rt_lock();
  bool is_in = index < entry_count;
  *out_device = is_in ? entries[index].device : NULL;
  if (*out_device) (*out_device)->live++;
  roc_rt_unlock();
  return is_in;
}

/* ---- names --------------------------------------------------------------- */

static const roc_driver *find_driver(const char *kind, size_t len) {
  for (uint32_t i = 0; i < roc_driver_count; i++) {
    const char *name = roc_drivers[i].ops->kind;
    if (strlen(name) == len && memcmp(name, kind, len) == 0) return &roc_drivers[i];
  }
  return NULL;
}

/* Lock held. */
static bool is_in_table(const roc_driver *driver) {
  for (uint32_t i = 0; i < entry_count; i++) {
    if (entries[i].ops == driver->ops) return true;
  }
  return false;
}

/* Lock held.  Lists the driver's devices when they are not yet, as with "null". */
static bool find_entry(const roc_driver *driver, uint32_t ordinal, uint32_t *out_index) {
  if (!is_in_table(driver)) add_driver(driver->ops);
  for (uint32_t i = 0; i < entry_count; i++) {
    if (entries[i].ops != driver->ops || entries[i].ordinal != ordinal) continue;
    *out_index = i;
    return true;
  }
  return false;
}

static bool find_open_by_name(const char *name, uint32_t *out_index) {
  for (uint32_t i = 0; i < entry_count; i++) {
    const roc_rt_device *device = entries[i].device;
    if (!device || strcmp(device->driver->props.name, name) != 0) continue;
    *out_index = i;
    return true;
  }
  return false;
}

static roc_status fail_absent(const char *name, const roc_driver *driver, roc_error *err) {
  uint32_t count = 0;
  if (driver) {
    ROC_TRY(driver->ops->probe(&count, err));
    return roc_fail(err, ROC_UNAVAILABLE,
                    "there is no device '%s': those of that kind are numbered 1 to %u", name,
                    count);
  }
  roc_str kinds = ROC_STR_INIT;
  for (uint32_t i = 0; i < roc_driver_count; i++) {
    roc_str_printf(&kinds, "%s%s", i ? ", " : "", roc_drivers[i].ops->kind);
  }
  roc_fail(err, ROC_UNAVAILABLE,
           "there is no device '%s'; expected one of %s, or a kind and a number as in 'cpu:1'",
           name, roc_str_text(&kinds));
  roc_str_deinit(&kinds);
  return ROC_UNAVAILABLE;
}

roc_status roc_rt_device_find(const char *name, uint32_t *out_index, roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  pthread_once(&init_once, make_table);
  const char *colon = strrchr(name, ':');
  size_t kind_len = colon ? (size_t)(colon - name) : strlen(name);
  char *end = NULL;
  unsigned long nth = colon ? strtoul(colon + 1, &end, 10) : 1;
  bool is_number = !colon || (end != colon + 1 && *end == '\0');
  const roc_driver *driver = is_number ? find_driver(name, kind_len) : NULL;
  roc_rt_lock();
  bool found = driver ? nth >= 1 && nth <= ROC_RT_MAX_DEVICES &&
                            find_entry(driver, (uint32_t)nth - 1, out_index)
                      : find_open_by_name(name, out_index);
  roc_rt_unlock();
  return found ? ROC_OK : fail_absent(name, driver, err);
}

const char *roc_rt_absent_kind(uint32_t index, roc_error *err) {
  pthread_once(&init_once, make_table);
  for (uint32_t i = 0; i < roc_driver_count; i++) {
    uint32_t count = 0;
    const roc_driver *driver = &roc_drivers[i];
    roc_rt_lock();
    bool is_there = is_in_table(driver);
    roc_rt_unlock();
    if (is_there) continue;
    if (driver->ops->probe(&count, err) == ROC_OK) {
      roc_fail(err, ROC_UNAVAILABLE, "not used unless it is asked for by name");
    }
    if (index-- == 0) return driver->ops->kind;
  }
  return NULL;
}

bool roc_rt_describe_driver(uint32_t index, char *text, size_t size) {
  pthread_once(&init_once, make_table);
  for (uint32_t i = 0; i < roc_driver_count; i++) {
    const roc_device_ops *ops = roc_drivers[i].ops;
    if (!ops->describe || index-- > 0) continue;
    roc_error err = ROC_ERROR_INIT;
    roc_rt_lock();
    roc_status status = ops->describe(text, size, &err);
    roc_rt_unlock();
    if (status != ROC_OK) snprintf(text, size, "%s absent: %s", ops->kind, err.message);
    return true;
  }
  return false;
}

roc_device *roc_rt_device_driver(roc_rt_device *device) {
  return device->driver;
}

const char *roc_rt_device_label(const roc_rt_device *device) {
  return device->label;
}

bool roc_rt_device_copies_between(roc_rt_device *a, roc_rt_device *b) {
  const roc_device_ops *ops = a->driver->ops;
  return a == b || (ops == b->driver->ops && ops->copies_between);
}

uint32_t roc_rt_device_index(const roc_rt_device *device) {
  return device->index;
}

void roc_rt_device_trim(roc_rt_device *device) {
  if (roc_rt_check_open(NULL) != ROC_OK) return;
  roc_rt_lock();
  roc_rt_device_poll(device);
  roc_rt_pool_trim(device);
  roc_rt_unlock();
}

size_t roc_rt_trim_all(void) {
  roc_small_trim();
  size_t nbytes = roc_block_cache_trim();
  roc_rt_device *device;
  for (uint32_t i = 0; table_at(i, &device); i++) {
    if (!device) continue;
    roc_rt_lock();
    nbytes += device->pooled_bytes;
    roc_rt_unlock();
    roc_rt_device_trim(device);
    roc_rt_device_release(device);
  }
  return nbytes;
}

void roc_rt_device_memory(roc_rt_device *device, roc_rt_memory *out_memory) {
  roc_device *driver = device->driver;
  roc_rt_lock();
  *out_memory = (roc_rt_memory){.used = device->used_bytes,
                                .cached = device->pooled_bytes,
                                .free = driver->ops->memory_free(driver),
                                .total = driver->props.memory_total};
  roc_rt_unlock();
}

static roc_status await_devices(roc_rt_session *session, bool takes_faults, roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  roc_status status = ROC_OK;
  roc_rt_device *device;
  for (uint32_t i = 0; status == ROC_OK && table_at(i, &device); i++) {
    bool was_told = device && device->lost_text[0] != '\0'; /* the call that found it lost failed */
    if (device && !was_told) {
      status = takes_faults ? roc_rt_device_synchronize(device, session, err)
                            : roc_rt_device_await_all(device, session, session, err);
    }
    roc_rt_device_release(device);
  }
  return status;
}

roc_status roc_rt_session_synchronize(roc_rt_session *session, roc_error *err) {
  return await_devices(session, true, err);
}

roc_status roc_rt_session_settle(roc_rt_session *session, roc_error *err) {
  return await_devices(session, false, err);
}

/* ---- the end ------------------------------------------------------------- */

bool roc_rt_describe_pending(char *text, size_t size) {
  if (roc_rt_in_child()) return false;
  roc_rt_device *device;
  bool found = false;
  for (uint32_t i = 0; !found && table_at(i, &device); i++) {
    if (device) found = roc_rt_device_describe_pending(device, text, size);
    roc_rt_device_release(device);
  }
  return found;
}

/* *out_is_over: no work goes on. */
static roc_status finish_devices(roc_rt_session *session, bool *out_is_over, roc_error *err) {
  roc_status first = ROC_OK;
  roc_rt_device *device;
  *out_is_over = true;
  for (uint32_t i = 0; table_at(i, &device); i++) {
    if (!device) continue;
    roc_error found = ROC_ERROR_INIT;
    roc_status status = roc_rt_device_finish(device, session, &found);
    if (status == ROC_INTERRUPTED) *out_is_over = false;
    if (first == ROC_OK && status != ROC_OK) {
      first = status;
      if (err) *err = found;
    }
    roc_rt_device_release(device);
  }
  return first;
}

roc_status roc_rt_session_finish(roc_rt_session *session, roc_error *err) {
  if (roc_rt_in_child()) return roc_rt_check_open(err);
  if (!roc_rt_session_begin_end(session)) return ROC_OK;
  bool is_over;
  roc_status status = finish_devices(session, &is_over, err);
  if (!is_over) roc_rt_session_leave(session);
  return status;
}

static _Atomic uint64_t nfindings; /* of tools of the host */

void roc_rt_note_finding(void) {
  nfindings++;
}

/* Has every tool of a driver say its last word; the first failure.  What a tool has found is the
 * program's fault, though its work has gone well. */
static roc_status conclude_tools(roc_error *err) {
  roc_status first = ROC_OK;
  for (uint32_t i = 0; i < entry_count; i++) {
    const roc_device_ops *ops = entries[i].ops;
    if (entries[i].ordinal != 0 || !ops->conclude) continue;
    roc_status status = ops->conclude(first == ROC_OK ? err : NULL);
    if (first == ROC_OK) first = status;
  }
  unsigned long long count = nfindings;
  if (count == 0 || first != ROC_OK) return first;
  return roc_fail(err, ROC_INVALID, "%llu fault%s found in kernels, told above", count,
                  count == 1 ? "" : "s");
}

roc_status roc_rt_shutdown(roc_error *err) {
  if (roc_rt_in_child() || roc_rt_begin_shutdown()) return ROC_OK;
  bool is_over;
  roc_status first = finish_devices(NULL, &is_over, err);
  roc_rt_device *device;
  /* Devices of one driver may wait for each other, so none goes while another still works. */
  for (uint32_t i = 0; is_over && table_at(i, &device); i++) {
    if (!device) continue;
    roc_rt_device_stop(device);
    roc_rt_device_release(device);
  }
  roc_status concluded = conclude_tools(first == ROC_OK ? err : NULL);
  if (first == ROC_OK) first = concluded;
  roc_status traced = roc_rt_trace_conclude(first == ROC_OK ? err : NULL);
  roc_small_trim();
  roc_block_cache_trim();
  return first == ROC_OK ? traced : first;
}
