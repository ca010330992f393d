/* Elements into strided device memory: a job of a queue's worker.
 *
 * The elements are packed into page-locked staging and go from there by rectangular copies: rows of
 * one length, a pitch apart, which leave alone what lies between them.  Where the copy engine has
 * none, or cannot do that one (it wants pitches in whole words, and rows that do not interleave),
 * each row is a copy. Of both there are at most MAX_FLIGHT on their way. */
#include <string.h>

#include "base/alloc.h"
#include "base/bulk.h"
#include "device/common/common.h"
#include "device/common/strided.h"
#include "device/hsa/driver.h"

enum {
  MAX_FLIGHT = 32,
  WORD = 4,             /* of the copy engines */
  LONG_ROW = 64 * 1024, /* bytes that a fill sets on the device itself */
  MAX_PITCH = 1 << 19,  /* units of a rectangular copy, of at least a word */
};

/* Copies that are on their way, each with a signal of its own: the engines of machines without PCIe
 * atomics store a value that was right when the copy was queued. */
typedef struct flight {
  roc_hsa_queue *queue;
  roc_hsa_signal *signals[MAX_FLIGHT];
  uint64_t started, ended;
  uint64_t stage_used[ROC_HSA_STAGINGS]; /* `started` after the last copy out of it */
} flight;

/* ---- copies on their way ------------------------------------------------- */

/* Until `count` of them have ended.  LOST: what is on its way is given up. */
static roc_status await_flight(flight *f, uint64_t count, roc_error *err) {
  while (f->ended < count) {
    roc_hsa_signal *signal = f->signals[f->ended % MAX_FLIGHT];
    ROC_TRY(roc_hsa_finish_copy(f->queue->device, signal, err));
    roc_hsa_signal_release(&f->queue->device->signals, signal);
    f->ended++;
  }
  return ROC_OK;
}

static roc_status begin_flight(flight *f, roc_hsa_signal **out_signal, roc_error *err) {
  if (f->started - f->ended == MAX_FLIGHT) ROC_TRY(await_flight(f, f->ended + 1, err));
  return roc_hsa_signal_take(&f->queue->device->signals, out_signal, err);
}

static void end_begin(flight *f, roc_hsa_signal *signal, bool has_started) {
  if (has_started) {
    f->signals[f->started++ % MAX_FLIGHT] = signal;
  } else {
    roc_hsa_signal_release(&f->queue->device->signals, signal);
  }
}

/* ---- tiles --------------------------------------------------------------- */

/* Part of the layout that is in staging: rows `pitch` bytes apart, layers one after the other. */
typedef struct tile {
  char *dst;
  hsa_agent_t agent;
  char *staging;
  uint64_t width, rows, layers, pitch; /* width and pitch in bytes */
  int64_t row_step, layer_step;        /* in dst */
} tile;

static uint64_t round_to_word(uint64_t nbytes) {
  return (nbytes + WORD - 1) / WORD * WORD;
}

static roc_status copy_row(flight *f, const tile *t, uint64_t layer, uint64_t row, roc_error *err) {
  char *dst = t->dst + (int64_t)layer * t->layer_step + (int64_t)row * t->row_step;
  const char *src = t->staging + (layer * t->rows + row) * t->pitch;
  roc_hsa_signal *signal;
  ROC_TRY(begin_flight(f, &signal, err));
  roc_status status =
      roc_hsa_start_copy(dst, t->agent, src, roc_hsa_sys.cpu, t->width, signal, err);
  end_begin(f, signal, status == ROC_OK);
  return status;
}

/* Every `phases`-th row of some layers, by one rectangular copy.  *out_is_able false: the engine
 * refuses it, and nothing was started. */
static roc_status copy_rectangle(flight *f, const tile *t, uint64_t layer, uint64_t nlayers,
                                 uint64_t phase, uint64_t phases, bool *out_is_able,
                                 roc_error *err) {
  char *dst = t->dst + (int64_t)layer * t->layer_step + (int64_t)phase * t->row_step;
  uint32_t odd = (uint32_t)((uintptr_t)dst % WORD);
  uint64_t rows = (t->rows - phase + phases - 1) / phases;
  uint64_t pitch = phases * (uint64_t)t->row_step;
  *out_is_able = odd + t->width <= pitch && pitch / WORD <= MAX_PITCH;
  if (!*out_is_able) return ROC_OK;
  hsa_pitched_ptr_t to = {dst - odd, pitch, nlayers > 1 ? (size_t)t->layer_step : 0};
  hsa_pitched_ptr_t from = {t->staging + (layer * t->rows + phase) * t->pitch, phases * t->pitch,
                            nlayers > 1 ? t->rows * t->pitch : 0};
  hsa_dim3_t to_offset = {odd, 0, 0}, from_offset = {0, 0, 0};
  hsa_dim3_t range = {(uint32_t)t->width, (uint32_t)rows, (uint32_t)nlayers};
  roc_hsa_signal *signal;
  ROC_TRY(begin_flight(f, &signal, err));
  signal->ends[0] = t->agent;
  signal->ends[1] = roc_hsa_sys.cpu;
  roc_hsa_signal_expect(signal, t->width * rows * nlayers);
  hsa_status_t status =
      roc_hsa.hsa_amd_memory_async_copy_rect(&to, &to_offset, &from, &from_offset, &range, t->agent,
                                             hsaHostToDevice, 0, NULL, signal->hsa);
  end_begin(f, signal, status == HSA_STATUS_SUCCESS);
  *out_is_able = status == HSA_STATUS_SUCCESS;
  return ROC_OK;
}

/* In how many parts rows have to be copied so that the pitch of each is whole words. */
static uint64_t count_phases(const tile *t) {
  if (t->row_step % WORD == 0) return 1;
  return t->row_step % 2 == 0 ? 2 : 4;
}

/* Rows of one layer. */
static roc_status copy_layer(flight *f, const tile *t, uint64_t layer, roc_error *err) {
  uint64_t phases = count_phases(t);
  for (uint64_t phase = 0; phase < phases && phase < t->rows; phase++) {
    bool is_able = false;
    if (t->rows > phases) {
      ROC_TRY(copy_rectangle(f, t, layer, 1, phase, phases, &is_able, err));
    }
    for (uint64_t row = phase; !is_able && row < t->rows; row += phases) {
      ROC_TRY(copy_row(f, t, layer, row, err));
    }
  }
  return ROC_OK;
}

static roc_status copy_tile(flight *f, const tile *t, roc_error *err) {
  bool is_able = t->layers > 1 && count_phases(t) == 1 && t->layer_step % WORD == 0 &&
                 t->layer_step >= (int64_t)t->rows * t->row_step;
  if (is_able) ROC_TRY(copy_rectangle(f, t, 0, t->layers, 0, 1, &is_able, err));
  for (uint64_t layer = 0; !is_able && layer < t->layers; layer++) {
    ROC_TRY(copy_layer(f, t, layer, err));
  }
  return ROC_OK;
}

/* ---- staging ------------------------------------------------------------- */

/* Whichever staging has been left first; a fill's stays as it is. */
static roc_status send_tile(flight *f, const roc_strided_layout *l, tile *t, const char *src,
                            bool is_fill, roc_error *err) {
  int which = !is_fill && f->stage_used[1] < f->stage_used[0] ? 1 : 0;
  t->staging = f->queue->worker.staging[which];
  if (!is_fill) {
    ROC_TRY(await_flight(f, f->stage_used[which], err));
    roc_strided_pack(l, t->staging, src, t->layers, t->rows, t->width, t->pitch);
  }
  roc_status status = copy_tile(f, t, err);
  f->stage_used[which] = f->started;
  return status;
}

static uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

/* The layers, rows and runs at one place of the outer axes, in tiles that fit into staging. */
static roc_status send_block(flight *f, const roc_strided_layout *l, hsa_agent_t agent,
                             int64_t dst_offset, int64_t src_offset, bool is_fill, roc_error *err) {
  uint64_t most_run = least(l->run.extent, ROC_HSA_STAGING_BYTES / l->element_bytes);
  uint64_t pitch = round_to_word(most_run * l->element_bytes);
  uint64_t most_rows = least(l->rows.extent, ROC_HSA_STAGING_BYTES / pitch);
  uint64_t most_layers = least(l->layers.extent, ROC_HSA_STAGING_BYTES / (pitch * most_rows));
  for (uint64_t z = 0; z < l->layers.extent; z += most_layers) {
    for (uint64_t y = 0; y < l->rows.extent; y += most_rows) {
      for (uint64_t x = 0; x < l->run.extent; x += most_run) {
        int64_t to = (int64_t)z * l->layers.dst_step + (int64_t)y * l->rows.dst_step +
                     (int64_t)(x * l->element_bytes);
        int64_t from = (int64_t)z * l->layers.src_step + (int64_t)y * l->rows.src_step +
                       (int64_t)x * l->run.src_step;
        tile t = {.dst = l->dst + dst_offset + to,
                  .agent = agent,
                  .width = least(most_run, l->run.extent - x) * l->element_bytes,
                  .rows = least(most_rows, l->rows.extent - y),
                  .layers = least(most_layers, l->layers.extent - z),
                  .pitch = pitch,
                  .row_step = l->rows.dst_step,
                  .layer_step = l->layers.dst_step};
        ROC_TRY(send_tile(f, l, &t, l->src + src_offset + from, is_fill, err));
      }
    }
  }
  return ROC_OK;
}

/* ---- the job ------------------------------------------------------------- */

/* Long rows are set by the device. */
static roc_status fill_rows(roc_hsa_queue *queue, const roc_strided_layout *l,
                            const roc_hsa_pointer_info *place, int64_t offset,
                            const roc_dev_scatter *s, roc_error *err) {
  roc_hsa_pointer_info row = *place;
  for (uint64_t z = 0; z < l->layers.extent; z++) {
    for (uint64_t y = 0; y < l->rows.extent; y++) {
      row.address =
          l->dst + offset + (int64_t)z * l->layers.dst_step + (int64_t)y * l->rows.dst_step;
      ROC_TRY(roc_hsa_fill_block(queue, &row, s->element, s->element_bytes,
                                 l->run.extent * l->element_bytes, err));
    }
  }
  return ROC_OK;
}

static roc_status send_all(flight *f, const roc_strided_layout *l,
                           const roc_hsa_pointer_info *place, const roc_dev_scatter *s,
                           roc_error *err) {
  bool is_fill = !s->src, is_long = is_fill && l->run.extent * l->element_bytes >= LONG_ROW;
  uint64_t at[ROC_DEV_MAX_RANK] = {0};
  do {
    int64_t to = 0, from = 0;
    for (uint32_t d = 0; d < l->nouter; d++) {
      to += (int64_t)at[d] * l->outer[d].dst_step;
      from += (int64_t)at[d] * l->outer[d].src_step;
    }
    ROC_TRY(is_long ? fill_rows(f->queue, l, place, to, s, err)
                    : send_block(f, l, place->agent, to, from, is_fill, err));
  } while (roc_dev_next_position(l->nouter, l->extents, at));
  return ROC_OK;
}

static roc_status run_scatter(roc_hsa_queue *queue, roc_hsa_job *job, bool *out_opens,
                              roc_error *err) {
  (void)out_opens;
  const roc_dev_scatter *s = &job->as.scatter;
  char *dst = (char *)(uintptr_t)s->dst;
  roc_hsa_pointer_info place;
  ROC_TRY(roc_hsa_find_pointer_info(dst, s->element_bytes, &place, err));
  if (place.kind != ROC_HSA_DEVICE) {
    roc_host_scatter(s);
    return ROC_OK;
  }
  ROC_TRY(roc_hsa_get_stagings(queue, err));
  if (!s->src) {
    roc_fill(queue->worker.staging[0], s->element, s->element_bytes, ROC_HSA_STAGING_BYTES);
  }
  roc_strided_layout l;
  roc_strided_plan(&l, s);
  flight f = {.queue = queue};
  roc_status status = send_all(&f, &l, &place, s, err);
  roc_status ended = await_flight(&f, f.started, status == ROC_OK ? err : NULL);
  return status == ROC_OK ? ended : status;
}

roc_status roc_hsa_scatter(roc_dev_stream *stream, const roc_dev_scatter *scatter,
                           roc_ticket *out_ticket, roc_error *err) {
  roc_hsa_job job = {.run = run_scatter, .as.scatter = *scatter};
  return roc_hsa_queue_job(roc_hsa_stream_of(stream), &job, out_ticket, err);
}
