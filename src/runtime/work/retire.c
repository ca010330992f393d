/* Retiring finished work: references go back, fault records and print buffers are read.
 *
 * The second half of every launch and copy.  Work is retired in order along its stream, by whoever
 * passes by: a wait, the next launch, an allocation in need.  All of it under the runtime's lock,
 * none of it waits. */
#include <string.h>

#include "base/alloc.h"
#include "base/site.h"
#include "runtime/core/internal.h"

enum { FIRST_RING = 16, RECORDS_PER_BLOCK = 64, RECORD_BYTES = 128 };

/* Device-visible memory; the list itself lives on the heap, where no kernel writes. */
struct roc_rt_record_block {
  roc_rt_record_block *next;
  void *memory;
};

struct roc_rt_print_slot {
  roc_rt_print_slot *next;
  roc_print_buffer *buffer;
};

/* Lines for the Lua thread, oldest first. */
typedef struct print_line {
  struct print_line *next;
  roc_str text;
} print_line;

static print_line *first_line, **last_line = &first_line;
static _Atomic uint32_t line_count;

/* ---- fault records and print buffers ------------------------------------- */

static roc_status add_record_block(roc_rt_device *device, roc_error *err) {
  roc_device *driver = device->driver;
  roc_rt_record_block *block = roc_alloc(sizeof *block);
  if (!block) return roc_fail(err, ROC_OOM, "out of memory: no room for fault records");
  size_t nbytes = (size_t)RECORDS_PER_BLOCK * RECORD_BYTES;
  roc_status status = driver->ops->alloc_host(driver, nbytes, &block->memory, err);
  if (status != ROC_OK) {
    roc_free(block);
    return status;
  }
  memset(block->memory, 0, nbytes);
  block->next = device->record_blocks;
  device->record_blocks = block;
  for (uint32_t i = 0; i < RECORDS_PER_BLOCK; i++) {
    void *record = (char *)block->memory + (size_t)i * RECORD_BYTES;
    memcpy(record, &device->free_records, sizeof(void *));
    device->free_records = record;
  }
  return ROC_OK;
}

static roc_status take_record(roc_rt_device *device, roc_fault_record **out_record,
                              roc_error *err) {
  if (!device->free_records) ROC_TRY(add_record_block(device, err));
  roc_fault_record *record = device->free_records;
  memcpy(&device->free_records, record, sizeof(void *));
  *record = (roc_fault_record){0};
  *out_record = record;
  return ROC_OK;
}

static void give_back_record(roc_rt_device *device, roc_fault_record *record) {
  if (record->state || record->count) memset(record, 0, sizeof *record);
  memcpy(record, &device->free_records, sizeof(void *));
  device->free_records = record;
}

static roc_status take_print(roc_rt_device *device, roc_print_buffer **out_print, roc_error *err) {
  roc_rt_print_slot *slot = device->free_prints;
  if (slot) {
    device->free_prints = slot->next;
    *out_print = slot->buffer;
    roc_free(slot);
    return ROC_OK;
  }
  void *memory = NULL;
  size_t nbytes = sizeof(roc_print_buffer) + ROC_PRINT_CAPACITY;
  ROC_TRY(device->driver->ops->alloc_host(device->driver, nbytes, &memory, err));
  *out_print = memory;
  **out_print = (roc_print_buffer){.capacity = ROC_PRINT_CAPACITY};
  return ROC_OK;
}

static void give_back_print(roc_rt_device *device, roc_print_buffer *print) {
  roc_rt_print_slot *slot = roc_alloc(sizeof *slot);
  if (!slot) {
    device->driver->ops->free_host(device->driver, print);
    return;
  }
  print->used = print->lost = 0;
  *slot = (roc_rt_print_slot){device->free_prints, print};
  device->free_prints = slot;
}

roc_status roc_rt_records_take(roc_rt_device *device, const roc_codeobj *object,
                               roc_rt_pending *pending, roc_error *err) {
  if (object->has_fault) ROC_TRY(take_record(device, &pending->record, err));
  if (!object->has_print) return ROC_OK;
  roc_status status = take_print(device, &pending->print, err);
  if (status != ROC_OK) roc_rt_records_give_back(device, pending);
  return status;
}

void roc_rt_records_give_back(roc_rt_device *device, roc_rt_pending *pending) {
  if (pending->record) give_back_record(device, pending->record);
  if (pending->print) give_back_print(device, pending->print);
  pending->record = NULL;
  pending->print = NULL;
}

void roc_rt_records_deinit(roc_rt_device *device) {
  const roc_device_ops *ops = device->driver->ops;
  while (device->record_blocks) {
    roc_rt_record_block *block = device->record_blocks;
    device->record_blocks = block->next;
    ops->free_host(device->driver, block->memory);
    roc_free(block);
  }
  while (device->free_prints) {
    roc_rt_print_slot *slot = device->free_prints;
    device->free_prints = slot->next;
    ops->free_host(device->driver, slot->buffer);
    roc_free(slot);
  }
  device->free_records = NULL;
}

/* ---- prints -------------------------------------------------------------- */

static void append_line(roc_str text) {
  print_line *line = text.failed ? NULL : roc_alloc(sizeof *line);
  if (!line) {
    roc_str_deinit(&text);
    return;
  }
  *line = (print_line){NULL, text};
  *last_line = line;
  last_line = &line->next;
  atomic_fetch_add_explicit(&line_count, 1, memory_order_relaxed);
}

static void append_lost(uint32_t count) {
  if (!count) return;
  roc_str text = ROC_STR_INIT;
  roc_str_printf(&text, "roclua: %u more lines of a kernel's output are lost (1 MiB a launch)",
                 count);
  append_line(text);
}

static void read_prints(const roc_codeobj *object, const roc_print_buffer *print) {
  uint32_t end = print->used < print->capacity ? print->used : print->capacity;
  uint32_t at = 0;
  while (end - at >= 8) {
    uint32_t head[2];
    uint64_t values[ROC_SITE_MAX_VALUES];
    memcpy(head, print->data + at, sizeof head);
    if (head[0] >= object->nsites || head[1] > ROC_SITE_MAX_VALUES) break;
    uint32_t nbytes = 8 + 8 * head[1];
    if (nbytes > end - at) break;
    memcpy(values, print->data + at + 8, nbytes - 8);
    roc_str text = ROC_STR_INIT;
    roc_site_format_values(&object->sites[head[0]], values, &text);
    append_line(text);
    at += nbytes;
  }
  append_lost(print->lost);
}

bool roc_rt_has_print(void) {
  return atomic_load_explicit(&line_count, memory_order_relaxed) > 0;
}

bool roc_rt_take_print(roc_str *out_line) {
  if (roc_rt_in_child()) return false;
  roc_rt_lock();
  print_line *line = first_line;
  if (line) {
    first_line = line->next;
    if (!first_line) last_line = &first_line;
    atomic_fetch_sub_explicit(&line_count, 1, memory_order_relaxed);
  }
  roc_rt_unlock();
  if (!line) return false;
  *out_line = line->text;
  roc_free(line);
  return true;
}

/* ---- faults -------------------------------------------------------------- */

void roc_rt_fault_release(roc_rt_fault *fault) {
  if (--fault->refs == 0) roc_free(fault);
}

static roc_rt_fault *new_fault(roc_status code, roc_ticket ticket, const char *text) {
  size_t len = strlen(text);
  roc_rt_fault *fault = roc_alloc(sizeof *fault + len + 1);
  if (!fault) return NULL;
  *fault = (roc_rt_fault){.refs = 1, .code = code, .first = ticket, .last = ticket};
  memcpy(fault->text, text, len + 1);
  return fault;
}

static roc_rt_fault *make_fault(const roc_rt_pending *pending) {
  const roc_codeobj *object = pending->kernel->object;
  roc_str text = ROC_STR_INIT;
  roc_site_format_fault(object->sites, object->nsites, pending->record, pending->rank, &text);
  if (pending->file) roc_str_printf(&text, " (launched at %s:%u)", pending->file, pending->line);
  const char *shown = text.failed ? "a kernel failed a check (no memory to say which)" : text.data;
  roc_rt_fault *fault = new_fault(ROC_FAULT, pending->ticket, shown);
  roc_str_deinit(&text);
  return fault;
}

/* The newest always fits: a waiter that asks about its own launch must find it. */
static void add_stream_fault(roc_rt_stream *stream, roc_rt_fault *fault) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < stream->nfaults; i++) {
    if (stream->faults[i]->is_reported) {
      roc_rt_fault_release(stream->faults[i]);
    } else {
      stream->faults[kept++] = stream->faults[i];
    }
  }
  if (kept == ROC_RT_MAX_FAULTS) roc_rt_fault_release(stream->faults[--kept]);
  stream->faults[kept++] = fault;
  stream->nfaults = kept;
}

void roc_rt_post_print(const char *text, size_t len) {
  if (roc_rt_in_child()) return;
  roc_str line = ROC_STR_INIT;
  roc_str_add(&line, text, len);
  roc_rt_lock();
  append_line(line);
  roc_rt_unlock();
}

void roc_rt_post_lost_prints(uint32_t count) {
  if (roc_rt_in_child()) return;
  roc_rt_lock();
  append_lost(count);
  roc_rt_unlock();
}

void roc_rt_post_fault(roc_rt_stream *stream, const char *text, roc_buffer *const *buffers,
                       uint32_t nbuffers) {
  if (roc_rt_in_child()) return;
  roc_rt_lock();
  roc_rt_fault *fault = new_fault(ROC_FAULT, stream->last_ticket, text);
  for (uint32_t i = 0; fault && i < nbuffers; i++) roc_buffer_set_fault(buffers[i], fault);
  if (fault) add_stream_fault(stream, fault);
  roc_rt_unlock();
}

/* ---- pending work -------------------------------------------------------- */

static roc_buffer **pending_buffers(roc_rt_pending *pending) {
  return pending->more_buffers ? pending->more_buffers : pending->inline_buffers;
}

static bool grow_ring(roc_rt_stream *stream) {
  uint32_t capacity = stream->capacity ? stream->capacity * 2 : FIRST_RING;
  roc_rt_pending *ring = roc_alloc(sizeof *ring * capacity);
  if (!ring) return false;
  for (uint32_t i = 0; i < stream->count; i++) {
    ring[i] = stream->ring[(stream->first + i) & (stream->capacity - 1)];
  }
  roc_free(stream->ring);
  stream->ring = ring;
  stream->first = 0;
  stream->capacity = capacity;
  return true;
}

roc_rt_pending *roc_rt_pending_begin(roc_rt_stream *stream, uint32_t nbuffers) {
  if (stream->count == stream->capacity && !grow_ring(stream)) return NULL;
  roc_rt_pending *pending = &stream->ring[(stream->first + stream->count) & (stream->capacity - 1)];
  pending->kernel = NULL;
  pending->record = NULL;
  pending->print = NULL;
  pending->file = NULL;
  pending->line = pending->rank = 0;
  pending->nbuffers = nbuffers;
  pending->more_buffers = NULL;
  if (nbuffers > ROC_RT_INLINE_BUFFERS) {
    pending->more_buffers = roc_alloc(sizeof(roc_buffer *) * nbuffers);
    if (!pending->more_buffers) return NULL;
  }
  return pending;
}

void roc_rt_pending_abort(roc_rt_pending *pending) {
  roc_free(pending->more_buffers);
}

void roc_rt_pending_commit(roc_rt_stream *stream, roc_rt_pending *pending, roc_ticket ticket,
                           const roc_rt_use *uses, uint32_t nuses) {
  roc_buffer **buffers = pending_buffers(pending);
  pending->ticket = ticket;
  for (uint32_t i = 0; i < nuses; i++) {
    buffers[i] = uses[i].buffer;
    roc_buffer_set_use(uses[i].buffer, stream, ticket, uses[i].writes);
  }
  if (pending->kernel) pending->kernel->refs++;
  stream->last_ticket = ticket;
  stream->count++;
}

static void read_records(roc_rt_stream *stream, roc_rt_pending *pending) {
  if (pending->print) read_prints(pending->kernel->object, pending->print);
  if (!pending->record) return;
  if (__atomic_load_n(&pending->record->state, __ATOMIC_ACQUIRE) == 0) return;
  roc_rt_fault *fault = make_fault(pending);
  if (!fault) return;
  roc_buffer **buffers = pending_buffers(pending);
  for (uint32_t i = 0; i < pending->nbuffers; i++) roc_buffer_set_fault(buffers[i], fault);
  add_stream_fault(stream, fault);
}

/* The stream's fault of that failure, when work before it failed by it, too. */
static roc_rt_fault *find_same_fault(roc_rt_stream *stream, uint64_t failure) {
  for (uint32_t i = 0; i < stream->nfaults; i++) {
    if (stream->faults[i]->failure == failure) return stream->faults[i];
  }
  return NULL;
}

/* Work that the driver gave up, with all that was behind it: one fault for all of it. */
static bool read_failure(roc_rt_stream *stream, roc_rt_pending *pending) {
  const roc_device_ops *ops = stream->driver->device->ops;
  roc_error why;
  uint64_t failure;
  if (!ops->find_failure || !ops->find_failure(stream->driver, pending->ticket, &failure, &why)) {
    return false;
  }
  roc_rt_fault *fault = find_same_fault(stream, failure);
  if (!fault) {
    fault = new_fault(ROC_FAULT, pending->ticket, why.message);
    if (!fault) return true;
    fault->failure = failure;
    add_stream_fault(stream, fault);
  }
  fault->last = pending->ticket;
  roc_buffer **buffers = pending_buffers(pending);
  for (uint32_t i = 0; i < pending->nbuffers; i++) roc_buffer_set_fault(buffers[i], fault);
  return true;
}

static void retire_first(roc_rt_stream *stream, bool with_records) {
  roc_rt_pending *pending = &stream->ring[stream->first];
  if (with_records && !read_failure(stream, pending)) read_records(stream, pending);
  if (pending->record || pending->print) roc_rt_records_give_back(stream->device, pending);
  roc_buffer **buffers = pending_buffers(pending);
  /* A buffer may be there twice, so none is released before all have been looked at. */
  for (uint32_t i = 0; i < pending->nbuffers; i++) {
    if (!roc_buffer_clear_use(buffers[i], stream, pending->ticket)) buffers[i] = NULL;
  }
  for (uint32_t i = 0; i < pending->nbuffers; i++) roc_buffer_release_locked(buffers[i]);
  if (pending->kernel) roc_rt_kernel_release_locked(pending->kernel);
  roc_free(pending->more_buffers);
  stream->first = (stream->first + 1) & (stream->capacity - 1);
  stream->count--;
}

void roc_rt_retire_before(roc_rt_stream *stream, roc_ticket ticket) {
  const roc_device_ops *ops = stream->driver->device->ops;
  while (stream->count > 0) {
    roc_ticket first = stream->ring[stream->first].ticket;
    if (first >= ticket || !ops->is_done(stream->driver, first)) break;
    retire_first(stream, true);
  }
}

void roc_rt_retire(roc_rt_stream *stream) {
  roc_rt_retire_before(stream, UINT64_MAX);
}

void roc_rt_retire_lost(roc_rt_stream *stream, const char *text) {
  roc_rt_fault *fault = stream->count > 0 ? new_fault(ROC_LOST, 0, text) : NULL;
  while (stream->count > 0) {
    roc_rt_pending *pending = &stream->ring[stream->first];
    roc_buffer **buffers = pending_buffers(pending);
    for (uint32_t i = 0; fault && i < pending->nbuffers; i++) {
      if (!buffers[i]->device) roc_buffer_set_fault(buffers[i], fault);
    }
    retire_first(stream, false);
  }
  if (fault) roc_rt_fault_release(fault);
}

/* An orphan's unreported faults go to the default stream, where the next wait or the exit finds
 * them. */
static void bequeath_faults(roc_rt_stream *orphan) {
  roc_rt_stream *heir = orphan->device->default_stream;
  if (orphan->device->is_closing) return; /* shutdown has reported what it could */
  for (uint32_t i = 0; i < orphan->nfaults; i++) {
    orphan->faults[i]->first = ROC_RT_NO_TICKET; /* the heir counts its own, */
    orphan->faults[i]->failure = 0;              /* and its queue numbers its own */
    add_stream_fault(heir, orphan->faults[i]);
  }
  orphan->nfaults = 0;
}

void roc_rt_device_poll(roc_rt_device *device) {
  device->live++; /* the last stream to go would take the device along */
  for (roc_rt_stream **link = &device->streams; *link;) {
    roc_rt_stream *stream = *link;
    roc_rt_retire(stream);
    bool is_over = stream->count == 0 && atomic_load(&stream->refs) == 0;
    if (!is_over) {
      link = &stream->next;
      continue;
    }
    *link = stream->next;
    bequeath_faults(stream);
    roc_rt_stream_destroy(stream);
  }
  roc_rt_device_drop(device);
}
