/* Giving back what the library takes back only when the GPU is idle.
 *
 * cuModuleUnload and cuMemFreeHost wait for all work of the context, and they come on threads that
 * must not wait, such as a collection's; and a stream that is closed may still wait for another one.
 * So a thread keeps them until the device's streams have nothing to do.  Started by the first of
 * them. */
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "device/cuda/driver.h"

enum { FIRST_LOOK_NS = 1000 * 1000, LAST_LOOK_NS = 50 * 1000 * 1000 };

void roc_cuda_reaper_init(roc_cuda_reaper *reaper) {
  pthread_mutex_init(&reaper->lock, NULL);
  pthread_cond_init(&reaper->changed, NULL);
}

static void give_back(roc_cuda_device *device, void (*give)(roc_device *, void *), void *what) {
  bool entered = !device->base.is_lost && roc_cuda_enter(device);
  give(&device->base, what);
  roc_cuda_leave(entered);
}

static void give_back_all(roc_cuda_device *device, roc_cuda_leftover *list) {
  while (list) {
    roc_cuda_leftover *leftover = list;
    list = leftover->next;
    give_back(device, leftover->give_back, leftover->what);
    roc_free(leftover);
  }
}

/* A failure is reported by the wait for that stream. */
static bool is_idle(roc_cuda_device *device) {
  bool idle = true;
  if (device->base.is_lost) return true;
  pthread_mutex_lock(&device->lock);
  for (roc_cuda_stream *s = device->streams; s && idle; s = s->next) {
    idle = roc_cuda_look(s, atomic_load(&s->issued)) == CUDA_SUCCESS;
  }
  pthread_mutex_unlock(&device->lock);
  return idle;
}

/* Until something changes, or for so long.  Lock held. */
static void await_change(roc_cuda_reaper *reaper, uint64_t ns) {
  uint64_t end_ns = roc_clock_ns() + ns;
  struct timespec end = {.tv_sec = (time_t)(end_ns / 1000000000),
                         .tv_nsec = (long)(end_ns % 1000000000)};
  pthread_cond_clockwait(&reaper->changed, &reaper->lock, CLOCK_MONOTONIC, &end);
}

/* The leftovers once the device is idle, or is to be closed; NULL: the thread is to end. */
static roc_cuda_leftover *next_leftovers(roc_cuda_device *device) {
  roc_cuda_reaper *reaper = &device->reaper;
  uint64_t pause = FIRST_LOOK_NS;
  pthread_mutex_lock(&reaper->lock);
  while (!reaper->is_stopping) {
    if (!reaper->first) {
      pthread_cond_wait(&reaper->changed, &reaper->lock);
      continue;
    }
    pthread_mutex_unlock(&reaper->lock);
    bool idle = is_idle(device);
    pthread_mutex_lock(&reaper->lock);
    if (idle) break;
    await_change(reaper, pause);
    pause = pause * 2 < LAST_LOOK_NS ? pause * 2 : LAST_LOOK_NS;
  }
  roc_cuda_leftover *list = reaper->first;
  reaper->first = NULL;
  pthread_mutex_unlock(&reaper->lock);
  return list;
}

static void *reaper_main(void *ud) {
  roc_cuda_device *device = ud;
  roc_cuda_leftover *list;
  while ((list = next_leftovers(device))) give_back_all(device, list);
  return NULL;
}

/* Lock held. */
static bool has_reaper(roc_cuda_device *device) {
  roc_cuda_reaper *reaper = &device->reaper;
  if (!reaper->has_thread && !reaper->is_stopping) {
    reaper->has_thread =
        roc_thread_start(&reaper->thread, ROC_THREAD_STACK, reaper_main, device) == 0;
  }
  return reaper->has_thread;
}

void roc_cuda_reap(roc_cuda_device *device, void (*give)(roc_device *device, void *what),
                   void *what) {
  roc_cuda_reaper *reaper = &device->reaper;
  roc_cuda_leftover *leftover = device->base.is_lost ? NULL : roc_alloc(sizeof *leftover);
  pthread_mutex_lock(&reaper->lock);
  bool is_kept = leftover && has_reaper(device);
  if (is_kept) {
    *leftover = (roc_cuda_leftover){reaper->first, give, what};
    reaper->first = leftover;
    pthread_cond_signal(&reaper->changed);
  }
  pthread_mutex_unlock(&reaper->lock);
  if (is_kept) return;
  roc_free(leftover);
  give_back(device, give, what); /* now, or never: this may wait, a leak does not end */
}

void roc_cuda_reaper_stop(roc_cuda_device *device) {
  roc_cuda_reaper *reaper = &device->reaper;
  pthread_mutex_lock(&reaper->lock);
  bool has_thread = reaper->has_thread;
  reaper->is_stopping = true;
  pthread_cond_signal(&reaper->changed);
  pthread_mutex_unlock(&reaper->lock);
  if (!has_thread) return;
  pthread_join(reaper->thread, NULL);
  pthread_mutex_lock(&reaper->lock);
  reaper->has_thread = false;
  roc_cuda_leftover *list = reaper->first;
  reaper->first = NULL;
  pthread_mutex_unlock(&reaper->lock);
  give_back_all(device, list);
}

void roc_cuda_reaper_deinit(roc_cuda_reaper *reaper) {
  pthread_cond_destroy(&reaper->changed);
  pthread_mutex_destroy(&reaper->lock);
}
