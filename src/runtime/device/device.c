/* Open devices, and the end of the process.
 *
 * The table of devices is made once; an entry is opened by its first use.  Shutdown waits for
 * all work and stops the drivers' threads, but what scripts still hold (arrays of a state that
 * closes later) stays valid: the driver's device is closed when the last of it is gone.  A forked
 * child owns none of the parent's devices: every call there is refused before any lock is taken. */
#include "runtime/device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "device/registry.h"
#include "runtime/core/internal.h"

enum { MAX_DEVICES = 64, EXIT_GRACE_NS = 1000000000 };

typedef struct device_entry {
  const roc_device_ops *ops;
  uint32_t ordinal; /* among its kind */
  roc_rt_device *device;
} device_entry;

static pthread_once_t init_once = PTHREAD_ONCE_INIT;
static device_entry entries[MAX_DEVICES];
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
  for (uint32_t i = 0; i < count && entry_count < MAX_DEVICES; i++) {
    entries[entry_count++] = (device_entry){.ops = ops, .ordinal = i};
  }
}

static void make_table(void) {
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

/* Lock held.  The default stream is made here and not by roc_rt_stream_create, which takes the
 * lock. */
static roc_status open_entry(uint32_t index, roc_error *err) {
  device_entry *entry = &entries[index];
  roc_rt_device *device = roc_zalloc(sizeof *device);
  roc_rt_stream *stream = roc_zalloc(sizeof *stream);
  roc_status status = ROC_OK;
  if (!device || !stream) status = roc_fail(err, ROC_OOM, "out of memory: cannot open a device");
  if (status == ROC_OK) status = entry->ops->open(entry->ordinal, &device->driver, err);
  if (status == ROC_OK) {
    status = entry->ops->stream_create(device->driver, &stream->driver, err);
    if (status != ROC_OK) entry->ops->close(device->driver);
  }
  if (status != ROC_OK) {
    roc_free(device);
    roc_free(stream);
    return status;
  }
  atomic_init(&stream->refs, 1);
  stream->device = device;
  device->index = index;
  device->entry = &entry->device;
  device->live = 1; /* the default stream */
  device->streams = device->default_stream = stream;
  device->pool_limit_bytes = choose_pool_limit(&device->driver->props);
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
  bool found =
      driver ? nth >= 1 && nth <= MAX_DEVICES && find_entry(driver, (uint32_t)nth - 1, out_index)
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

roc_device *roc_rt_device_driver(roc_rt_device *device) {
  return device->driver;
}

bool roc_rt_device_copies_between(roc_rt_device *a, roc_rt_device *b) {
  const roc_device_ops *ops = a->driver->ops;
  return a == b || (ops == b->driver->ops && ops->copies_between);
}

uint32_t roc_rt_device_index(const roc_rt_device *device) {
  return device->index;
}

roc_rt_stream *roc_rt_device_default_stream(roc_rt_device *device) {
  return device->default_stream;
}

void roc_rt_device_trim(roc_rt_device *device) {
  if (roc_rt_check_open(NULL) != ROC_OK) return;
  roc_rt_lock();
  roc_rt_device_poll(device);
  roc_rt_pool_trim(device);
  roc_rt_unlock();
}

size_t roc_rt_trim_all(void) {
  size_t nbytes = 0;
  for (uint32_t i = 0, n = roc_rt_device_count(); i < n; i++) {
    roc_rt_lock();
    roc_rt_device *device = entries[i].device;
    if (device) {
      device->live++;
      nbytes += device->pooled_bytes;
    }
    roc_rt_unlock();
    if (!device) continue;
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

/* ---- shutdown ------------------------------------------------------------ */

/* The work that the stream does now; NULL: none.  Lock held. */
static const roc_rt_pending *find_unfinished(const roc_rt_stream *stream) {
  const roc_device_ops *ops = stream->driver->device->ops;
  for (uint32_t i = 0; i < stream->count; i++) {
    const roc_rt_pending *work = &stream->ring[(stream->first + i) & (stream->capacity - 1)];
    if (!ops->is_done(stream->driver, work->ticket)) return work;
  }
  return NULL;
}

static void describe_work(const roc_rt_pending *work, char *text, size_t size) {
  if (!work->kernel) {
    snprintf(text, size, "a copy or fill");
  } else if (work->file) {
    snprintf(text, size, "kernel '%s' (launched at %s:%u)", work->kernel->name, work->file,
             work->line);
  } else {
    snprintf(text, size, "kernel '%s'", work->kernel->name);
  }
}

bool roc_rt_describe_pending(char *text, size_t size) {
  const roc_rt_pending *work = NULL;
  if (roc_rt_in_child()) return false;
  roc_rt_lock();
  for (uint32_t i = 0; i < entry_count && !work; i++) {
    const roc_rt_device *device = entries[i].device;
    if (!device || device->driver->is_lost) continue;
    for (roc_rt_stream *s = device->streams; s && !work; s = s->next) work = find_unfinished(s);
  }
  if (work) describe_work(work, text, size);
  roc_rt_unlock();
  return work != NULL;
}

/* Its default stream is the last to go: what still holds the device may still name it. */
static void stop_device(roc_rt_device *device) {
  roc_rt_lock();
  device->live++;
  device->is_closing = true;
  roc_rt_pool_trim(device);
  if (device->driver->ops->quiesce) device->driver->ops->quiesce(device->driver);
  roc_rt_stream *transfer_stream = device->transfer_stream;
  device->transfer_stream = NULL;
  roc_rt_unlock();
  roc_rt_stream_release(transfer_stream);
  roc_rt_device_release(device);
}

static bool is_all_idle(roc_rt_device *device) {
  roc_rt_lock();
  bool idle = true;
  for (roc_rt_stream *s = device->streams; s && idle; s = s->next) {
    idle = device->driver->ops->is_done(s->driver, s->last_ticket);
  }
  roc_rt_unlock();
  return idle;
}

/* Ctrl-C while we wait stops kernels where the device can; one that goes on ends with the process,
 * and INTERRUPTED says that the driver's threads cannot be joined. */
static roc_status await_for_exit(roc_rt_device *device, roc_error *err) {
  roc_status status = roc_rt_device_await_all(device, true, err);
  if (status != ROC_INTERRUPTED) return status;
  uint64_t deadline = roc_clock_ns() + EXIT_GRACE_NS;
  while (!is_all_idle(device) && roc_clock_ns() < deadline) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  return is_all_idle(device) ? ROC_OK : status;
}

/* All work is done; the first fault that was not reported comes back. */
static roc_status finish_device(roc_rt_device *device, roc_error *err) {
  bool was_told = device->lost_text[0] != '\0'; /* the call that found it lost failed */
  roc_status status = was_told ? ROC_OK : await_for_exit(device, err);
  return status == ROC_OK ? roc_rt_device_take_fault(device, err) : status;
}

/* Has every tool say its last word; the first failure.  What a tool has found is the program's
 * fault, though its work has gone well. */
static roc_status conclude_tools(roc_error *err) {
  roc_status first = ROC_OK;
  for (uint32_t i = 0; i < entry_count; i++) {
    const roc_device_ops *ops = entries[i].ops;
    if (entries[i].ordinal != 0 || !ops->conclude) continue;
    roc_status status = ops->conclude(first == ROC_OK ? err : NULL);
    if (first == ROC_OK) first = status;
  }
  return first;
}

roc_status roc_rt_shutdown(roc_error *err) {
  if (roc_rt_in_child() || roc_rt_begin_shutdown()) return ROC_OK;
  roc_status first = ROC_OK;
  bool is_over = true;
  for (uint32_t i = 0; i < entry_count; i++) {
    if (!entries[i].device) continue;
    roc_error found = ROC_ERROR_INIT;
    roc_status status = finish_device(entries[i].device, &found);
    if (status == ROC_INTERRUPTED) is_over = false;
    if (first == ROC_OK && status != ROC_OK) {
      first = status;
      if (err) *err = found;
    }
  }
  /* Devices of one driver may wait for each other, so none goes while another still works. */
  for (uint32_t i = 0; is_over && i < entry_count; i++) {
    if (entries[i].device) stop_device(entries[i].device);
  }
  roc_status concluded = conclude_tools(first == ROC_OK ? err : NULL);
  return first == ROC_OK ? concluded : first;
}
