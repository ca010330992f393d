/* Queued copies and fills between arrays; see transfer.h.
 *
 * The plain case is one driver copy between two contiguous blocks. Strided arrays: where the host
 * can touch both sides a host call does the walk in stream order; a strided host array is packed
 * into a staging block first. Of strided device memory the host cannot reach, all between the first
 * and the last element comes to the host, where that costs less than a copy for each run, else run
 * comes after run. Into such memory the driver scatters the elements: what lies between them may be
 * written by others meanwhile, so it is never read and written back. Every buffer involved, staging
 * included, is held by the pending work. */
#include "runtime/array/transfer.h"

#include <string.h>

#include "base/alloc.h"
#include "runtime/core/internal.h"
#include "runtime/trace/trace.h"

enum { MAX_ELEMENT = 8 };

/* A copy or fill that a host call performs; lives at the begin of a buffer that the pending work
 * holds. */
typedef struct host_job {
  roc_array dst, src;
  unsigned char element[MAX_ELEMENT];
  void *staging; /* room for the elements where the arrays may overlap; else NULL */
} host_job;

/* What is queued under one lock: a driver call with the buffers it uses. */
typedef struct transfer {
  roc_rt_use uses[3];
  uint32_t nuses;
  roc_status (*queue)(const struct transfer *t, roc_dev_stream *stream, roc_ticket *out_ticket,
                      roc_error *err);
  roc_devptr dst, src;
  size_t nbytes;
  roc_copy_dir dir;
  const void *pattern;
  size_t pattern_bytes;
  host_job *job;
  const roc_dev_scatter *scatter;
  bool is_fill;    /* for a timeline, as nbytes and dir are where the driver needs none */
  bool is_ordered; /* as of a launch */
} transfer;

static roc_status submit(const transfer *t, roc_rt_stream *stream, roc_ticket *out_ticket,
                         roc_error *err) {
  return t->queue(t, stream->driver, out_ticket, err);
}

static const char *describe(const transfer *t) {
  static const char *const copies[] = {
      [ROC_COPY_H2D] = "copy to device", [ROC_COPY_D2H] = "copy to host", [ROC_COPY_D2D] = "copy"};
  return t->is_fill ? "fill" : copies[t->dir];
}

static roc_status submit_traced(const transfer *t, roc_rt_stream *stream, roc_ticket *out_ticket,
                                roc_error *err) {
  roc_rt_trace_kind kind = t->is_fill ? ROC_TRACE_FILL : ROC_TRACE_COPY;
  roc_rt_trace_span *span = roc_rt_trace_begin(stream, kind, describe(t));
  if (span) span->nbytes = t->nbytes;
  roc_status status = submit(t, stream, out_ticket, err);
  roc_rt_trace_end(stream, span, status == ROC_OK);
  return status;
}

static roc_status queue_transfer_locked(roc_rt_stream *stream, const transfer *t, roc_error *err) {
  ROC_TRY(roc_rt_stream_check(stream, err));
  ROC_TRY(roc_rt_stream_await_room(stream, NULL, err));
  for (uint32_t i = 0; i < t->nuses; i++) {
    roc_rt_device *other = t->uses[i].buffer->device;
    if (other && other != stream->device) ROC_TRY(roc_rt_device_check(other, err));
  }
  ROC_TRY(roc_rt_reserve_uses(stream, t->uses, t->nuses, err));
  roc_rt_pending *pending = roc_rt_pending_begin(stream, t->nuses);
  if (!pending) return roc_fail(err, ROC_OOM, "out of memory: a copy cannot be queued");
  roc_ticket ticket;
  roc_status status = (roc_rt_is_traced() ? submit_traced : submit)(t, stream, &ticket, err);
  if (status == ROC_OK) {
    roc_rt_pending_commit(stream, pending, ticket, t->uses, t->nuses);
    if (t->is_ordered) roc_rt_set_ordered(stream, t->uses, t->nuses);
    roc_rt_retire_before(stream, ticket);
    return ROC_OK;
  }
  roc_rt_pending_abort(pending);
  return status == ROC_LOST ? roc_rt_device_set_lost(stream->device, NULL, err) : status;
}

static roc_status queue_transfer(roc_rt_stream *stream, const transfer *t, roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  roc_rt_note_writes(stream, t->uses, t->nuses);
  ROC_TRY(roc_rt_stream_follow(stream, t->uses, t->nuses, t->is_ordered, err));
  roc_rt_lock();
  roc_status status = queue_transfer_locked(stream, t, err);
  roc_rt_unlock();
  return status;
}

static roc_status call_copy(const transfer *t, roc_dev_stream *stream, roc_ticket *out_ticket,
                            roc_error *err) {
  return stream->device->ops->copy(stream, t->dst, t->src, t->nbytes, t->dir, out_ticket, err);
}

static roc_status call_fill(const transfer *t, roc_dev_stream *stream, roc_ticket *out_ticket,
                            roc_error *err) {
  return stream->device->ops->fill(stream, t->dst, t->pattern, t->pattern_bytes, t->nbytes,
                                   out_ticket, err);
}

static roc_status call_scatter(const transfer *t, roc_dev_stream *stream, roc_ticket *out_ticket,
                               roc_error *err) {
  return stream->device->ops->scatter(stream, t->scatter, out_ticket, err);
}

static void run_copy_job(void *ud) {
  host_job *job = ud;
  if (job->staging) {
    roc_array_pack(job->staging, &job->src, ROC_ORDER_C);
    roc_array_unpack(&job->dst, job->staging, ROC_ORDER_C);
    return;
  }
  roc_array_copy_host(&job->dst, &job->src, NULL); /* equal dtypes, disjoint buffers: cannot fail */
}

static void run_fill_job(void *ud) {
  host_job *job = ud;
  roc_array_fill_host(&job->dst, job->element);
}

static roc_status call_copy_job(const transfer *t, roc_dev_stream *stream, roc_ticket *out_ticket,
                                roc_error *err) {
  return stream->device->ops->host_call(stream, run_copy_job, t->job, out_ticket, err);
}

static roc_status call_fill_job(const transfer *t, roc_dev_stream *stream, roc_ticket *out_ticket,
                                roc_error *err) {
  return stream->device->ops->host_call(stream, run_fill_job, t->job, out_ticket, err);
}

/* ---- plain blocks -------------------------------------------------------- */

static roc_devptr first_address(const roc_array *a) {
  return roc_buffer_devptr(a->buffer) +
         (roc_devptr)(a->offset * (int64_t)roc_dtype_itemsize(a->dtype));
}

static roc_copy_dir direction(const roc_array *dst, const roc_array *src) {
  if (!roc_buffer_device(src->buffer)) return ROC_COPY_H2D;
  return roc_buffer_device(dst->buffer) ? ROC_COPY_D2D : ROC_COPY_D2H;
}

static bool is_plain(const roc_array *a) {
  return roc_array_is_c_contiguous(a) || roc_array_is_f_contiguous(a);
}

static roc_status copy_block(roc_rt_stream *stream, const roc_array *dst, const roc_array *src,
                             int64_t dst_element, int64_t src_element, size_t nbytes,
                             roc_error *err) {
  int64_t itemsize = (int64_t)roc_dtype_itemsize(dst->dtype);
  transfer t = {
      .uses = {{dst->buffer, true}, {src->buffer, false}},
      .nuses = 2,
      .queue = call_copy,
      .dst = first_address(dst) + (roc_devptr)(dst_element * itemsize),
      .src = first_address(src) + (roc_devptr)(src_element * itemsize),
      .nbytes = nbytes,
      .dir = direction(dst, src),
  };
  return queue_transfer(stream, &t, err);
}

roc_status roc_rt_transfer_ordered(roc_rt_stream *stream, roc_buffer *dst, roc_buffer *src,
                                   size_t begin, roc_error *err) {
  transfer t = {
      .uses = {{dst, true}, {src, false}},
      .nuses = 2,
      .queue = call_copy,
      .dst = dst->address,
      .src = src->address + begin,
      .nbytes = dst->nbytes,
      .dir = ROC_COPY_D2D,
      .is_ordered = true,
  };
  return queue_transfer(stream, &t, err);
}

static bool have_one_layout(const roc_array *a, const roc_array *b) {
  return (roc_array_is_c_contiguous(a) && roc_array_is_c_contiguous(b)) ||
         (roc_array_is_f_contiguous(a) && roc_array_is_f_contiguous(b));
}

/* ---- strided, run by run ------------------------------------------------- */

/* Elements next to each other in both arrays: those of the last dimension when its strides are 1.
 */
static int64_t run_length(const roc_array *dst, const roc_array *src) {
  uint32_t last = dst->rank - 1;
  return dst->strides[last] == 1 && src->strides[last] == 1 ? dst->extents[last] : 1;
}

/* Steps the indices of all but the run's elements; false after the last. */
static bool next_run(const roc_array *a, int64_t *indices, int64_t run) {
  for (uint32_t d = a->rank; d-- > 0;) {
    indices[d] += d == a->rank - 1 ? run : 1;
    if (indices[d] < a->extents[d]) return true;
    indices[d] = 0;
  }
  return false;
}

static int64_t element_offset(const roc_array *a, const int64_t *indices) {
  int64_t offset = 0;
  for (uint32_t d = 0; d < a->rank; d++) offset += indices[d] * a->strides[d];
  return offset;
}

static roc_status copy_runs(roc_rt_stream *stream, const roc_array *dst, const roc_array *src,
                            roc_error *err) {
  int64_t indices[ROC_ARRAY_MAX_RANK] = {0};
  int64_t run = run_length(dst, src);
  size_t nbytes = (size_t)run * roc_dtype_itemsize(dst->dtype);
  do {
    ROC_TRY(copy_block(stream, dst, src, element_offset(dst, indices), element_offset(src, indices),
                       nbytes, err));
  } while (next_run(dst, indices, run));
  return ROC_OK;
}

/* ---- strided, by the host ------------------------------------------------ */

static bool host_reaches(const roc_array *a) {
  return roc_buffer_host(a->buffer) != NULL;
}

static roc_status create_job(const roc_array *dst, const roc_array *src, roc_buffer **out_buffer,
                             roc_error *err) {
  size_t staging_bytes = src && src->buffer == dst->buffer ? roc_array_nbytes(src) : 0, nbytes;
  if (!roc_add_size(sizeof(host_job), staging_bytes, &nbytes)) nbytes = SIZE_MAX;
  ROC_TRY(roc_buffer_create_host(nbytes, false, out_buffer, err));
  host_job *job = roc_buffer_host(*out_buffer);
  *job = (host_job){.staging = staging_bytes ? job + 1 : NULL};
  job->dst = *dst; /* borrowed: the pending work holds the buffers */
  if (src) job->src = *src;
  return ROC_OK;
}

static roc_status copy_by_host(roc_rt_stream *stream, const roc_array *dst, const roc_array *src,
                               roc_error *err) {
  roc_buffer *holder;
  ROC_TRY(create_job(dst, src, &holder, err));
  transfer t = {
      .uses = {{dst->buffer, true}, {src->buffer, false}, {holder, false}},
      .nuses = 3,
      .queue = call_copy_job,
      .nbytes = roc_array_nbytes(dst),
      .dir = direction(dst, src),
      .job = roc_buffer_host(holder),
  };
  roc_status status = queue_transfer(stream, &t, err);
  roc_buffer_release(holder);
  return status;
}

/* ---- strided, by way of a copy of what lies between ---------------------- */

/* What one queued copy costs, in bytes that travel in the same time: some microseconds on a GPU. */
enum { COPY_COST = 16 * 1024 };

/* Whether to pack a host array is cheaper than a copy for each of its runs. */
static bool has_short_runs(const roc_array *dst, const roc_array *src) {
  int64_t nruns = roc_array_size(src) / run_length(dst, src);
  return nruns > 1 && (int64_t)roc_array_nbytes(src) / COPY_COST < nruns;
}

/* The lowest and the highest element, counted from the begin of the buffer. */
static void find_span(const roc_array *a, int64_t *out_first, int64_t *out_last) {
  *out_first = *out_last = a->offset;
  for (uint32_t d = 0; d < a->rank; d++) {
    int64_t reach = (a->extents[d] - 1) * a->strides[d];
    *(reach < 0 ? out_first : out_last) += reach;
  }
}

/* Whether to bring the array's whole span to the host is cheaper than a copy for each of its runs.
 */
static bool has_short_span(const roc_array *dst, const roc_array *src) {
  if (host_reaches(src)) return false;
  int64_t first, last, nruns = roc_array_size(src) / run_length(dst, src);
  find_span(src, &first, &last);
  int64_t nbytes = (last - first + 1) * (int64_t)roc_dtype_itemsize(src->dtype);
  return nruns > 1 && nbytes / COPY_COST < nruns;
}

/* Queues the copy of the array's span to the host and describes there what the array is here. */
static roc_status copy_span(roc_rt_stream *stream, const roc_array *src, roc_array *out_there,
                            roc_error *err) {
  int64_t first, last;
  find_span(src, &first, &last);
  size_t nbytes = (size_t)(last - first + 1) * roc_dtype_itemsize(src->dtype);
  roc_buffer *buffer;
  ROC_TRY(roc_buffer_create_host(nbytes, false, &buffer, err));
  *out_there = *src;
  out_there->buffer = buffer;
  out_there->offset = 0;
  roc_array from = *src;
  from.offset = first;
  roc_status status = copy_block(stream, out_there, &from, 0, 0, nbytes, err);
  out_there->offset = src->offset - first;
  if (status != ROC_OK) roc_buffer_release(buffer);
  return status;
}

/* ---- into strided device memory ------------------------------------------ */

_Static_assert(ROC_ARRAY_MAX_RANK <= (int)ROC_DEV_MAX_RANK, "drivers take every array");

static roc_dev_scatter describe_scatter(const roc_array *dst) {
  int64_t itemsize = (int64_t)roc_dtype_itemsize(dst->dtype);
  roc_dev_scatter s = {
      .dst = first_address(dst), .element_bytes = (uint32_t)itemsize, .rank = dst->rank};
  for (uint32_t d = 0; d < dst->rank; d++) {
    s.extents[d] = (uint64_t)dst->extents[d];
    s.dst_steps[d] = dst->strides[d] * itemsize;
  }
  return s;
}

/* From an array that the host reaches, in stream order. */
static roc_status scatter_array(roc_rt_stream *stream, const roc_array *dst, const roc_array *src,
                                roc_error *err) {
  int64_t itemsize = (int64_t)roc_dtype_itemsize(src->dtype);
  roc_dev_scatter s = describe_scatter(dst);
  s.src = (const char *)roc_buffer_host(src->buffer) + src->offset * itemsize;
  for (uint32_t d = 0; d < src->rank; d++) s.src_steps[d] = src->strides[d] * itemsize;
  transfer t = {
      .uses = {{dst->buffer, true}, {src->buffer, false}},
      .nuses = 2,
      .queue = call_scatter,
      .nbytes = roc_array_nbytes(dst),
      .dir = direction(dst, src),
      .scatter = &s,
  };
  return queue_transfer(stream, &t, err);
}

static roc_status scatter_element(roc_rt_stream *stream, const roc_array *dst, const void *element,
                                  roc_error *err) {
  roc_dev_scatter s = describe_scatter(dst);
  memcpy(s.element, element, s.element_bytes);
  transfer t = {
      .uses = {{dst->buffer, true}},
      .nuses = 1,
      .queue = call_scatter,
      .nbytes = roc_array_nbytes(dst),
      .scatter = &s,
      .is_fill = true,
  };
  return queue_transfer(stream, &t, err);
}

static roc_status copy_to_strided(roc_rt_stream *stream, const roc_array *dst, const roc_array *src,
                                  roc_error *err) {
  if (host_reaches(src)) return scatter_array(stream, dst, src, err);
  if (!has_short_span(dst, src)) return copy_runs(stream, dst, src, err);
  roc_array there;
  ROC_TRY(copy_span(stream, src, &there, err));
  roc_status status = scatter_array(stream, dst, &there, err);
  roc_buffer_release(there.buffer);
  return status;
}

/* ---- out of strided memory ------------------------------------------------ */

/* From strided device memory: to the host, or packed there and then to contiguous device memory. */
static roc_status copy_from_span(roc_rt_stream *stream, const roc_array *dst, const roc_array *src,
                                 roc_error *err) {
  roc_array there, packed;
  if (host_reaches(dst)) {
    ROC_TRY(copy_span(stream, src, &there, err));
    roc_status status = copy_by_host(stream, dst, &there, err);
    roc_buffer_release(there.buffer);
    return status;
  }
  roc_order order = roc_array_is_f_contiguous(dst) ? ROC_ORDER_F : ROC_ORDER_C;
  ROC_TRY(roc_array_describe(&packed, src->dtype, src->rank, src->extents, order, err));
  ROC_TRY(roc_buffer_create_host(roc_array_nbytes(src), false, &packed.buffer, err));
  roc_status status = copy_span(stream, src, &there, err);
  if (status == ROC_OK) {
    status = copy_by_host(stream, &packed, &there, err);
    roc_buffer_release(there.buffer);
  }
  if (status == ROC_OK) {
    status = copy_block(stream, dst, &packed, 0, 0, roc_array_nbytes(dst), err);
  }
  roc_array_release(&packed);
  return status;
}

/* To contiguous device memory: a packed host copy of a strided host array goes instead of it. */
static roc_status copy_packed(roc_rt_stream *stream, const roc_array *dst, const roc_array *src,
                              roc_error *err) {
  roc_order order = roc_array_is_f_contiguous(dst) ? ROC_ORDER_F : ROC_ORDER_C;
  ROC_TRY(roc_buffer_settle(src->buffer, false, err));
  roc_array packed;
  ROC_TRY(roc_array_describe(&packed, src->dtype, src->rank, src->extents, order, err));
  ROC_TRY(roc_buffer_create_host(roc_array_nbytes(src), false, &packed.buffer, err));
  roc_array_pack(roc_buffer_host(packed.buffer), src, order);
  roc_status status = copy_block(stream, dst, &packed, 0, 0, roc_array_nbytes(dst), err);
  roc_array_release(&packed);
  return status;
}

/* ---- entry points -------------------------------------------------------- */

roc_status roc_rt_transfer(roc_rt_stream *stream, const roc_array *dst, const roc_array *src,
                           roc_error *err) {
  if (roc_array_size(dst) == 0) return ROC_OK;
  if (have_one_layout(dst, src))
    return copy_block(stream, dst, src, 0, 0, roc_array_nbytes(dst), err);
  if (host_reaches(dst) && host_reaches(src)) {
    return copy_by_host(stream, dst, src, err);
  }
  if (!host_reaches(dst) && !is_plain(dst)) return copy_to_strided(stream, dst, src, err);
  bool from_host = !roc_buffer_device(src->buffer);
  if (from_host && has_short_runs(dst, src)) return copy_packed(stream, dst, src, err);
  if (has_short_span(dst, src)) return copy_from_span(stream, dst, src, err);
  return copy_runs(stream, dst, src, err);
}

static roc_status fill_block(roc_rt_stream *stream, const roc_array *dst, const void *element,
                             roc_error *err) {
  transfer t = {
      .uses = {{dst->buffer, true}},
      .nuses = 1,
      .queue = call_fill,
      .dst = first_address(dst),
      .nbytes = roc_array_nbytes(dst),
      .pattern = element,
      .pattern_bytes = roc_dtype_itemsize(dst->dtype),
      .is_fill = true,
  };
  return queue_transfer(stream, &t, err);
}

static roc_status fill_by_host(roc_rt_stream *stream, const roc_array *dst, const void *element,
                               roc_error *err) {
  roc_buffer *holder;
  ROC_TRY(create_job(dst, NULL, &holder, err));
  host_job *job = roc_buffer_host(holder);
  memcpy(job->element, element, roc_dtype_itemsize(dst->dtype));
  transfer t = {
      .uses = {{dst->buffer, true}, {holder, false}},
      .nuses = 2,
      .queue = call_fill_job,
      .nbytes = roc_array_nbytes(dst),
      .job = job,
      .is_fill = true,
  };
  roc_status status = queue_transfer(stream, &t, err);
  roc_buffer_release(holder);
  return status;
}

roc_status roc_rt_fill(roc_rt_stream *stream, const roc_array *dst, const void *element,
                       roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  if (roc_array_size(dst) == 0) return ROC_OK;
  if (is_plain(dst)) return fill_block(stream, dst, element, err);
  if (host_reaches(dst)) return fill_by_host(stream, dst, element, err);
  return scatter_element(stream, dst, element, err);
}

/* ---- at once ------------------------------------------------------------- */

/* Waits for what was queued for the host on a stream of the session, tells what it failed with, and
 * gives the stream back. */
static roc_status finish_transfer(roc_rt_stream *stream, roc_status status, roc_error *err) {
  if (status == ROC_OK) status = roc_rt_stream_synchronize(stream, err);
  roc_rt_stream_release(stream);
  return status;
}

static bool is_small_read(const roc_array *dst, const roc_array *src) {
  size_t nbytes = roc_array_nbytes(dst);
  return !roc_buffer_device(dst->buffer) && nbytes > 0 && nbytes <= ROC_RT_ROOM_BYTES &&
         have_one_layout(dst, src);
}

/* A few bytes for the host, by the stream, and what its wait tells.  Into memory of its own a
 * driver may have to copy by way of another thread; this is memory that the device writes. */
static roc_status read_few(roc_rt_stream *stream, const roc_array *dst, const roc_array *src,
                           roc_status (*wait)(roc_rt_stream *stream, roc_error *err),
                           roc_error *err) {
  void *room;
  roc_rt_device *device = stream->device;
  roc_rt_lock();
  roc_status status = roc_rt_room_take(device, &room, err);
  roc_rt_unlock();
  ROC_TRY(status);
  size_t nbytes = roc_array_nbytes(dst);
  transfer t = {
      .uses = {{src->buffer, false}},
      .nuses = 1,
      .queue = call_copy,
      .dst = (roc_devptr)(uintptr_t)room,
      .src = first_address(src),
      .nbytes = nbytes,
      .dir = ROC_COPY_D2H,
  };
  status = queue_transfer(stream, &t, err);
  bool is_queued = status == ROC_OK;
  if (is_queued) status = wait(stream, err);
  if (is_queued && status != ROC_OK && status != ROC_FAULT) return status; /* it may still come */
  if (is_queued) {
    size_t begin = (size_t)dst->offset * roc_dtype_itemsize(dst->dtype);
    memcpy((char *)roc_buffer_host(dst->buffer) + begin, room, nbytes);
  }
  roc_rt_lock();
  roc_rt_room_give_back(device, room);
  roc_rt_unlock();
  return status;
}

/* The stream, retained, whose last work is all that writes the buffer; NULL: there is none of the
 * session on the buffer's device.  Lock held. */
static roc_rt_stream *find_last_writer(const roc_rt_session *session, const roc_buffer *buffer) {
  roc_rt_stream *found = NULL;
  for (uint32_t i = 0, n = roc_buffer_count_uses(buffer); i < n; i++) {
    const roc_rt_use_entry *use = &buffer->uses[i];
    if (!use->last_write) continue;
    bool is_last = use->stream->last_ticket == use->last_write;
    if (found || !is_last || use->stream->session != session) return NULL;
    if (use->stream->device != buffer->device) return NULL;
    found = use->stream;
  }
  if (found) atomic_fetch_add_explicit(&found->refs, 1, memory_order_relaxed);
  return found;
}

bool roc_rt_transfer_after_writer(roc_rt_session *session, const roc_array *dst,
                                  const roc_array *src, roc_status *out_status, roc_error *err) {
  roc_buffer *buffer = src->buffer;
  if (!buffer->device || host_reaches(src) || !is_small_read(dst, src)) return false;
  if (roc_buffer_count_uses(buffer) == 0) return false;
  roc_rt_lock();
  roc_rt_stream *stream = find_last_writer(session, buffer);
  roc_rt_unlock();
  if (!stream) return false;
  *out_status = read_few(stream, dst, src, roc_rt_stream_await_last, err);
  roc_rt_stream_release(stream);
  if (*out_status == ROC_OK) *out_status = roc_buffer_report(buffer, err);
  return true;
}

/* From so many bytes on, threads of a device that uses the host's memory as it is share the work. */
enum { SHARED_BYTES = 4 << 20 };

static roc_rt_device *sharing_device(const roc_array *dst, const roc_array *src) {
  if (roc_array_nbytes(dst) < SHARED_BYTES) return NULL;
  if (src ? !have_one_layout(dst, src) : !is_plain(dst)) return NULL;
  roc_rt_device *device = roc_buffer_device(dst->buffer);
  if (!device && src) device = roc_buffer_device(src->buffer);
  if (!device) return NULL;
  const roc_device_props *props = &roc_rt_device_driver(device)->props;
  return props->host_memory && props->compute_units > 1 ? device : NULL;
}

/* Other memory that the host reaches is written by the calling thread. */
static roc_status copy_by_caller(const roc_array *dst, const roc_array *src, roc_error *err) {
  uint64_t begin_ns = roc_rt_is_traced() ? roc_clock_ns() : 0;
  roc_status status = roc_array_copy_host(dst, src, err);
  if (begin_ns > 0) roc_rt_trace_host(ROC_TRACE_COPY, "copy", begin_ns, roc_array_nbytes(dst));
  return status;
}

static void fill_by_caller(const roc_array *dst, const void *element) {
  uint64_t begin_ns = roc_rt_is_traced() ? roc_clock_ns() : 0;
  roc_array_fill_host(dst, element);
  if (begin_ns > 0) roc_rt_trace_host(ROC_TRACE_FILL, "fill", begin_ns, roc_array_nbytes(dst));
}

roc_status roc_rt_transfer_now(roc_rt_session *session, const roc_array *dst, const roc_array *src,
                               roc_error *err) {
  roc_rt_device *device = sharing_device(dst, src);
  if (!device && host_reaches(dst) && host_reaches(src)) return copy_by_caller(dst, src, err);
  if (!device) device = roc_buffer_device(dst->buffer);
  if (!device) device = roc_buffer_device(src->buffer);
  roc_rt_stream *stream;
  ROC_TRY(roc_rt_transfer_stream(session, device, &stream, err));
  if (is_small_read(dst, src)) {
    roc_status status = read_few(stream, dst, src, roc_rt_stream_synchronize, err);
    roc_rt_stream_release(stream);
    return status;
  }
  return finish_transfer(stream, roc_rt_transfer(stream, dst, src, err), err);
}

roc_status roc_rt_transfer_fill_now(roc_rt_session *session, const roc_array *dst,
                                    const void *element, roc_error *err) {
  roc_rt_device *device = sharing_device(dst, NULL);
  if (!device && host_reaches(dst)) {
    fill_by_caller(dst, element);
    return ROC_OK;
  }
  if (!device) device = roc_buffer_device(dst->buffer);
  roc_rt_stream *stream;
  ROC_TRY(roc_rt_transfer_stream(session, device, &stream, err));
  return finish_transfer(stream, roc_rt_fill(stream, dst, element, err), err);
}
