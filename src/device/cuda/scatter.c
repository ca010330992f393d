/* Elements into strided device memory, as one piece of a stream's work.
 *
 * The host packs them, in the stream's order, into its page-locked block, and the library copies
 * them from there: rows of one length a pitch apart, which leave alone what lies between them. */
#include <string.h>

#include "base/bulk.h"
#include "device/common/common.h"
#include "device/common/strided.h"
#include "device/cuda/driver.h"

enum { LONG_ROW = 64 * 1024 /* bytes that a fill sets on the device itself */ };

/* Where the elements come from, and where they are packed. */
typedef struct scatter {
  roc_cuda_stream *stream;
  const roc_dev_scatter *what;
  roc_strided_layout layout;
  char *staging;
  size_t staging_bytes;
} scatter;

/* Part of the layout that is in staging: rows `pitch` bytes apart, layers one after the other. */
typedef struct tile {
  CUdeviceptr dst;
  uint64_t width, rows, layers, pitch; /* width and pitch in bytes */
  int64_t row_step, layer_step;        /* in dst */
} tile;

/* ---- copies ---------------------------------------------------------------- */

static CUresult copy_rows(const scatter *s, const tile *t, uint64_t layer) {
  CUdeviceptr dst = t->dst + layer * (uint64_t)t->layer_step;
  const char *src = s->staging + layer * t->rows * t->pitch;
  CUstream stream = s->stream->handle;
  if (t->rows == 1) {
    return roc_cuda.cuMemcpyAsync(dst, (CUdeviceptr)(uintptr_t)src, t->width, stream);
  }
  if ((uint64_t)t->row_step <= roc_cuda_owner(s->stream)->max_pitch) {
    CUDA_MEMCPY2D copy = {.src_type = CU_MEMORYTYPE_HOST,
                          .src_host = src,
                          .src_pitch = t->pitch,
                          .dst_type = CU_MEMORYTYPE_DEVICE,
                          .dst_device = dst,
                          .dst_pitch = (size_t)t->row_step,
                          .width_bytes = t->width,
                          .height = t->rows};
    return roc_cuda.cuMemcpy2DAsync(&copy, stream);
  }
  for (uint64_t row = 0; row < t->rows; row++) {
    CUresult result =
        roc_cuda.cuMemcpyAsync(dst + row * (uint64_t)t->row_step,
                               (CUdeviceptr)(uintptr_t)(src + row * t->pitch), t->width, stream);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

/* Layers that are whole rows apart and do not reach into each other. */
static bool is_box(const scatter *s, const tile *t) {
  return t->layers > 1 && t->rows > 1 && t->layer_step % t->row_step == 0 &&
         t->layer_step / t->row_step >= (int64_t)t->rows &&
         (uint64_t)t->row_step <= roc_cuda_owner(s->stream)->max_pitch;
}

static CUresult copy_tile(const scatter *s, const tile *t) {
  if (is_box(s, t)) {
    CUDA_MEMCPY3D copy = {.src_type = CU_MEMORYTYPE_HOST,
                          .src_host = s->staging,
                          .src_pitch = t->pitch,
                          .src_height = t->rows,
                          .dst_type = CU_MEMORYTYPE_DEVICE,
                          .dst_device = t->dst,
                          .dst_pitch = (size_t)t->row_step,
                          .dst_height = (size_t)(t->layer_step / t->row_step),
                          .width_bytes = t->width,
                          .height = t->rows,
                          .depth = t->layers};
    return roc_cuda.cuMemcpy3DAsync(&copy, s->stream->handle);
  }
  for (uint64_t layer = 0; layer < t->layers; layer++) {
    CUresult result = copy_rows(s, t, layer);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

/* ---- packing ----------------------------------------------------------------- */

static void run_pack(roc_cuda_job *job) {
  roc_strided_layout layout = {.element_bytes = job->as.tile.element_bytes,
                               .run.src_step = job->as.tile.run_step,
                               .rows.src_step = job->as.tile.row_step,
                               .layers.src_step = job->as.tile.layer_step};
  roc_strided_pack(&layout, job->as.tile.staging, job->as.tile.src, job->as.tile.layers,
                   job->as.tile.rows, job->as.tile.width, job->as.tile.pitch);
}

static roc_status queue_pack(const scatter *s, const tile *t, const char *src, roc_error *err) {
  const roc_strided_layout *l = &s->layout;
  roc_cuda_job job = {.run = run_pack,
                      .as.tile = {.staging = s->staging,
                                  .src = src,
                                  .width = t->width,
                                  .rows = t->rows,
                                  .layers = t->layers,
                                  .pitch = t->pitch,
                                  .run_step = l->run.src_step,
                                  .row_step = l->rows.src_step,
                                  .layer_step = l->layers.src_step,
                                  .element_bytes = l->element_bytes}};
  return roc_cuda_queue_job(s->stream, &job, err);
}

static roc_status send_tile(const scatter *s, const tile *t, const char *src, roc_error *err) {
  if (s->what->src) ROC_TRY(queue_pack(s, t, src, err));
  CUresult result = copy_tile(s, t);
  if (result == CUDA_SUCCESS) return ROC_OK;
  return roc_cuda_fail(roc_cuda_owner(s->stream), result, "a copy is not queued", err);
}

static uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

/* The layers, rows and runs at one place of the outer axes, in tiles that fit into staging. */
static roc_status send_block(const scatter *s, int64_t dst_offset, int64_t src_offset,
                             roc_error *err) {
  const roc_strided_layout *l = &s->layout;
  uint64_t most_run = least(l->run.extent, s->staging_bytes / l->element_bytes);
  uint64_t pitch = most_run * l->element_bytes;
  uint64_t most_rows = least(l->rows.extent, s->staging_bytes / pitch);
  uint64_t most_layers = least(l->layers.extent, s->staging_bytes / (pitch * most_rows));
  for (uint64_t z = 0; z < l->layers.extent; z += most_layers) {
    for (uint64_t y = 0; y < l->rows.extent; y += most_rows) {
      for (uint64_t x = 0; x < l->run.extent; x += most_run) {
        int64_t to = (int64_t)z * l->layers.dst_step + (int64_t)y * l->rows.dst_step +
                     (int64_t)(x * l->element_bytes);
        int64_t from = (int64_t)z * l->layers.src_step + (int64_t)y * l->rows.src_step +
                       (int64_t)x * l->run.src_step;
        tile t = {.dst = (CUdeviceptr)(uintptr_t)(l->dst + dst_offset + to),
                  .width = least(most_run, l->run.extent - x) * l->element_bytes,
                  .rows = least(most_rows, l->rows.extent - y),
                  .layers = least(most_layers, l->layers.extent - z),
                  .pitch = pitch,
                  .row_step = l->rows.dst_step,
                  .layer_step = l->layers.dst_step};
        ROC_TRY(send_tile(s, &t, l->src + src_offset + from, err));
      }
    }
  }
  return ROC_OK;
}

/* ---- fills --------------------------------------------------------------------- */

/* Long rows are set by the device. */
static roc_status fill_rows(const scatter *s, int64_t offset, roc_error *err) {
  const roc_strided_layout *l = &s->layout;
  for (uint64_t z = 0; z < l->layers.extent; z++) {
    for (uint64_t y = 0; y < l->rows.extent; y++) {
      char *row = l->dst + offset + (int64_t)z * l->layers.dst_step + (int64_t)y * l->rows.dst_step;
      ROC_TRY(roc_cuda_fill_block(s->stream, (CUdeviceptr)(uintptr_t)row, s->what->element,
                                  l->element_bytes, l->run.extent * l->element_bytes, err));
    }
  }
  return ROC_OK;
}

static void run_fill_staging(roc_cuda_job *job) {
  roc_fill(job->as.fill.dst, job->as.fill.pattern, job->as.fill.pattern_bytes, job->as.fill.nbytes);
}

/* The block holds the element again and again, for all tiles. */
static roc_status queue_seed(const scatter *s, roc_error *err) {
  const roc_strided_layout *l = &s->layout;
  uint64_t nbytes = s->staging_bytes, count = l->element_bytes;
  const uint64_t extents[] = {l->run.extent, l->rows.extent, l->layers.extent};
  for (int i = 0; i < 3; i++) count = extents[i] > nbytes / count ? nbytes : count * extents[i];
  roc_cuda_job job = {
      .run = run_fill_staging,
      .as.fill = {
          .dst = s->staging, .pattern_bytes = l->element_bytes, .nbytes = least(count, nbytes)}};
  memcpy(job.as.fill.pattern, s->what->element, l->element_bytes);
  return roc_cuda_queue_job(s->stream, &job, err);
}

/* ---- the op ----------------------------------------------------------------------- */

static roc_status send_all(const scatter *s, roc_error *err) {
  const roc_strided_layout *l = &s->layout;
  bool is_fill = !s->what->src, is_long = is_fill && l->run.extent * l->element_bytes >= LONG_ROW;
  uint64_t at[ROC_DEV_MAX_RANK] = {0};
  if (is_fill && !is_long) ROC_TRY(queue_seed(s, err));
  do {
    int64_t to = 0, from = 0;
    for (uint32_t d = 0; d < l->nouter; d++) {
      to += (int64_t)at[d] * l->outer[d].dst_step;
      from += (int64_t)at[d] * l->outer[d].src_step;
    }
    ROC_TRY(is_long ? fill_rows(s, to, err) : send_block(s, to, from, err));
  } while (roc_dev_next_position(l->nouter, l->extents, at));
  return ROC_OK;
}

static void run_host_scatter(roc_cuda_job *job) {
  roc_host_scatter(&job->as.scatter);
}

/* The elements are for another GPU than the stream's. */
static roc_status reach(roc_cuda_stream *stream, int ordinal, roc_error *err) {
  roc_cuda_device *owner = roc_cuda_find_device(ordinal);
  bool reaches = false;
  if (!owner) return roc_fail(err, ROC_INVALID, "a copy to the memory of a GPU that is not open");
  CUresult result = roc_cuda_reach(stream, owner, &reaches);
  if (result != CUDA_SUCCESS) {
    return roc_cuda_fail(roc_cuda_owner(stream), result, "a copy is not queued", err);
  }
  if (reaches) return ROC_OK;
  return roc_fail(err, ROC_UNSUPPORTED,
                  "cuda:%u does not reach the memory of cuda:%d, where a strided array is; use a "
                  "stream of cuda:%d",
                  roc_cuda_owner(stream)->base.ordinal + 1, ordinal + 1, ordinal + 1);
}

static roc_status scatter_current(roc_cuda_stream *stream, const roc_dev_scatter *what,
                                  roc_error *err) {
  roc_cuda_place place;
  int ordinal;
  size_t nbytes = what->element_bytes;
  CUresult result = roc_cuda_find_place(what->dst, &nbytes, &place, &ordinal);
  if (result != CUDA_SUCCESS) {
    return roc_cuda_fail(roc_cuda_owner(stream), result, "a copy is not queued", err);
  }
  if (place != ROC_CUDA_DEVICE) {
    roc_cuda_job job = {.run = run_host_scatter, .as.scatter = *what};
    return roc_cuda_queue_job(stream, &job, err);
  }
  if (roc_cuda_is_abroad(stream, place, ordinal)) ROC_TRY(reach(stream, ordinal, err));
  scatter s = {.stream = stream, .what = what};
  ROC_TRY(roc_cuda_get_staging(stream, 0, &s.staging, &s.staging_bytes, err));
  roc_strided_plan(&s.layout, what);
  return send_all(&s, err);
}

roc_status roc_cuda_scatter(roc_dev_stream *base, const roc_dev_scatter *what,
                            roc_ticket *out_ticket, roc_error *err) {
  roc_cuda_stream *stream = roc_cuda_stream_of(base);
  bool entered = roc_cuda_enter(roc_cuda_owner(stream));
  roc_status status = roc_cuda_stream_ready(stream, err);
  if (status == ROC_OK) {
    status = scatter_current(stream, what, err);
    *out_ticket = roc_cuda_issue(stream, NULL);
  }
  roc_cuda_leave(entered);
  return status;
}
