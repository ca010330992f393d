/* Work that failed: that of a queue which ROCR stopped, and jobs of the host.  A failure is kept as
 * long as a stream may ask for work that it ended. */
#include <stdio.h>

#include "base/alloc.h"
#include "device/hsa/driver.h"

bool roc_hsa_queue_describe_running(roc_hsa_queue *queue, char *out, size_t size) {
  roc_ticket next = roc_hsa_queue_read_done(queue) + 1;
  if (!queue->launch_infos || next > atomic_load(&queue->issued)) return false;
  const roc_hsa_launch_info *info = &queue->launch_infos[next & queue->launch_info_mask];
  if (!info->name) return false;
  if (info->file) {
    snprintf(out, size, "kernel '%.80s' launched at %.120s:%u", info->name, info->file, info->line);
  } else {
    snprintf(out, size, "kernel '%.80s'", info->name);
  }
  return true;
}

/* Without memory for one, the spare one tells of it, and then the last one does as well: work that
 * failed is never taken for done. */
static roc_hsa_failure *new_failure(roc_hsa_queue *queue) {
  roc_hsa_failure *failure = roc_alloc(sizeof *failure);
  if (failure || queue->has_spare_failure) return failure;
  queue->has_spare_failure = true;
  return &queue->spare_failure;
}

/* The lock is held.  `work` and `how`: "" or the text before the cause. */
static void add_failure(roc_hsa_queue *queue, roc_ticket first, roc_ticket last, const char *work,
                        const char *how, const char *cause) {
  roc_hsa_failure *failure = new_failure(queue);
  if (failure) {
    *failure = (roc_hsa_failure){.number = ++queue->failures_ever, .first = first, .last = last};
    snprintf(failure->text, sizeof failure->text, "%s%s%.*s", work, how, *how ? 300 : 500, cause);
    *queue->last_failure = failure;
    queue->last_failure = &failure->next;
  } else {
    for (failure = queue->failures; failure->next;) failure = failure->next;
    if (first < failure->first) failure->first = first;
    if (last > failure->last) failure->last = last;
  }
  atomic_store_explicit(&queue->has_failures, true, memory_order_release);
}

static void free_failure(roc_hsa_queue *queue, roc_hsa_failure *failure) {
  if (failure == &queue->spare_failure) {
    queue->has_spare_failure = false;
  } else {
    roc_free(failure);
  }
}

void roc_hsa_drop_failures(roc_hsa_queue *queue) {
  while (queue->failures) {
    roc_hsa_failure *failure = queue->failures;
    queue->failures = failure->next;
    free_failure(queue, failure);
  }
}

/* Whether a stream may still ask for work that it ended, or queues such work. */
static bool is_failure_needed(const roc_hsa_queue *queue, const roc_hsa_failure *failure) {
  if (failure->last == UINT64_MAX) return true;
  for (const roc_hsa_stream *s = queue->streams; s; s = s->next) {
    if (failure->first <= s->last && failure->last > s->asked) return true;
  }
  return false;
}

/* The lock is held. */
static void forget_failures(roc_hsa_queue *queue) {
  roc_hsa_failure **link = &queue->failures;
  while (*link) {
    roc_hsa_failure *failure = *link;
    if (is_failure_needed(queue, failure)) {
      link = &failure->next;
    } else {
      *link = failure->next;
      free_failure(queue, failure);
    }
  }
  queue->last_failure = link;
  atomic_store_explicit(&queue->has_failures, queue->failures != NULL, memory_order_relaxed);
}

void roc_hsa_end_failures(roc_hsa_queue *queue) {
  for (roc_hsa_failure *failure = queue->failures; failure; failure = failure->next) {
    if (failure->last == UINT64_MAX) failure->last = atomic_load(&queue->issued);
  }
}

void roc_hsa_queue_stop(roc_hsa_queue *queue, const char *cause) {
  char kernel[256] = "";
  pthread_mutex_lock(&queue->lock);
  bool is_first = !atomic_load(&queue->is_stopped);
  if (is_first) {
    /* Of a lost device the runtime frees kernels at once; lost_by names those that ran. */
    bool is_kernel = !queue->device->base.is_lost &&
                     roc_hsa_queue_describe_running(queue, kernel, sizeof kernel);
    add_failure(queue, roc_hsa_queue_read_done(queue) + 1, UINT64_MAX, is_kernel ? kernel : "",
                is_kernel ? " was stopped by the device: " : "a stream was stopped: ", cause);
    atomic_store_explicit(&queue->is_stopped, true, memory_order_release);
  }
  pthread_mutex_unlock(&queue->lock);
  if (is_first) roc_hsa_queue_give_up(queue);
}

void roc_hsa_queue_note_failure(roc_hsa_queue *queue, roc_ticket ticket, const char *text) {
  pthread_mutex_lock(&queue->lock);
  add_failure(queue, ticket, ticket, "", "", text);
  pthread_mutex_unlock(&queue->lock);
}

bool roc_hsa_find_failure(roc_dev_stream *base, roc_ticket ticket, uint64_t *out_failure,
                          roc_error *err) {
  roc_hsa_stream *stream = roc_hsa_stream_of(base);
  roc_hsa_queue *queue = stream->queue;
  if (ticket > stream->asked) stream->asked = ticket;
  if (!atomic_load_explicit(&queue->has_failures, memory_order_acquire)) return false;
  pthread_mutex_lock(&queue->lock);
  roc_hsa_failure *failure = queue->failures;
  while (failure && !(failure->first <= ticket && ticket <= failure->last)) {
    failure = failure->next;
  }
  bool is_found = failure != NULL;
  if (is_found) {
    *out_failure = failure->number;
    roc_fail(err, ROC_FAULT, "%s", failure->text);
  }
  forget_failures(queue);
  pthread_mutex_unlock(&queue->lock);
  return is_found;
}
