/* The queues' threads: made and ended by ROCR's calls, asleep when there is nothing to do.
 *
 * Submitting a packet is a store to memory and no system call, so queues are polled. A worker polls
 * for about a millisecond after its last packet, then parks. One thread, the watcher, polls all
 * parked queues: less often the longer nothing came, and at once when a thread begins to wait for
 * an event, as that one has probably submitted something. Workers never call ROCR, so joining one
 * cannot wait for a lock that the joining thread holds. */
#include "emulator/thunk/queue.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/alloc.h"
#include "base/thread.h"

enum { MAX_QUEUES = 128, FIRST_ID = 1, SPIN_NS = 1000000, NUDGE_NS = 200000 };

/* Words that the host and kernels write: doorbells, and the pointers of SDMA queues. */
typedef struct emu_queue_words {
  volatile uint64_t doorbell, read_ptr, write_ptr, unused[5];
} emu_queue_words;

static _Alignas(EMU_PAGE_BYTES) emu_queue_words words[MAX_QUEUES];
static emu_queue *table[MAX_QUEUES];
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- the watcher ---------------------------------------------------------------------------- */

static pthread_mutex_t watch_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t watcher_wakeup = PTHREAD_COND_INITIALIZER;
static emu_queue *parked;
static pthread_t watcher;
static bool has_watcher, watcher_ends;
static _Atomic bool watcher_dozes; /* for long enough to be woken */

/* How often to look when the last packet is that long ago. A look costs some 5 to 20 us of the host
 * with the sleep around it. */
static const struct {
  uint64_t idle_ns, period_ns;
} watch_periods[] = {{5000000, 50000},
                     {50000000, 100000},
                     {200000000, 250000},
                     {1000000000, 500000},
                     {UINT64_MAX, 1000000}};

static uint64_t choose_period(uint64_t idle_ns) {
  size_t i = 0;
  while (idle_ns >= watch_periods[i].idle_ns && watch_periods[i].idle_ns != UINT64_MAX) i++;
  return watch_periods[i].period_ns;
}

/* Something for its worker: a packet, or its end. */
static bool has_work(const emu_queue *queue) {
  return atomic_load(&queue->stop) ||
         (!atomic_load(&queue->halt) && queue->kind->is_pending(queue));
}

/* Wakes the parked queues that have work; false when there was none. */
static bool wake_parked(void) {
  bool any = false;
  for (emu_queue **at = &parked; *at;) {
    emu_queue *queue = *at;
    if (!has_work(queue)) {
      at = &queue->next_parked;
      continue;
    }
    *at = queue->next_parked;
    queue->is_parked = false;
    pthread_cond_signal(&queue->wakeup);
    any = true;
  }
  return any;
}

/* With the lock held; a nudge ends it early. */
static void doze(uint64_t ns) {
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  uint64_t nanoseconds = (uint64_t)end.tv_nsec + ns;
  end.tv_sec += (time_t)(nanoseconds / 1000000000);
  end.tv_nsec = (long)(nanoseconds % 1000000000);
  atomic_store(&watcher_dozes, ns > NUDGE_NS);
  pthread_cond_clockwait(&watcher_wakeup, &watch_lock, CLOCK_MONOTONIC, &end);
  atomic_store(&watcher_dozes, false);
}

void emu_queues_nudge(void) {
  if (!atomic_load(&watcher_dozes)) return;
  pthread_mutex_lock(&watch_lock);
  pthread_cond_signal(&watcher_wakeup);
  pthread_mutex_unlock(&watch_lock);
}

static void *watch(void *unused) {
  (void)unused;
  prctl(PR_SET_NAME, "emu-watcher");
  prctl(PR_SET_TIMERSLACK, 1000ul); /* ns; the default doubles the shortest period */
  uint64_t last_work = emu_clock_ns();
  pthread_mutex_lock(&watch_lock);
  while (!watcher_ends) {
    if (!parked) {
      pthread_cond_wait(&watcher_wakeup, &watch_lock);
      last_work = emu_clock_ns(); /* a queue had work until now */
      continue;
    }
    uint64_t now = emu_clock_ns();
    if (wake_parked()) last_work = now;
    doze(choose_period(now - last_work));
  }
  pthread_mutex_unlock(&watch_lock);
  return NULL;
}

static bool start_thread(pthread_t *thread, void *(*body)(void *), void *arg) {
  return roc_thread_start(thread, ROC_THREAD_STACK, body, arg) == 0;
}

static bool ensure_watcher(void) {
  pthread_mutex_lock(&watch_lock);
  if (!has_watcher) {
    watcher_ends = false;
    has_watcher = start_thread(&watcher, watch, NULL);
  }
  bool is_ok = has_watcher;
  pthread_mutex_unlock(&watch_lock);
  return is_ok;
}

static void end_watcher(void) {
  pthread_mutex_lock(&watch_lock);
  bool had_watcher = has_watcher;
  has_watcher = false;
  watcher_ends = true;
  pthread_cond_signal(&watcher_wakeup);
  pthread_mutex_unlock(&watch_lock);
  if (had_watcher) pthread_join(watcher, NULL);
}

/* ---- the worker ----------------------------------------------------------------------------- */

/* True when work came within the time. */
static bool spin_for_work(emu_queue *queue) {
  uint64_t end = emu_clock_ns() + SPIN_NS;
  for (unsigned looks = 1; !has_work(queue); looks++) {
    if (atomic_load(&queue->halt)) return false;
    if (looks % EMU_QUEUE_EAGER_LOOKS != 0) {
      emu_queue_relax();
      continue;
    }
    if (emu_clock_ns() >= end) return false;
    sched_yield();
  }
  return true;
}

static void park(emu_queue *queue) {
  pthread_mutex_lock(&watch_lock);
  if (!has_work(queue)) {
    if (!parked) pthread_cond_signal(&watcher_wakeup);
    queue->is_parked = true;
    queue->next_parked = parked;
    parked = queue;
    while (queue->is_parked) pthread_cond_wait(&queue->wakeup, &watch_lock);
  }
  pthread_mutex_unlock(&watch_lock);
}

#ifdef __SANITIZE_THREAD__
char roc_emulator_asked, roc_emulator_told; /* see order.h */
#endif

static void *work(void *arg) {
  emu_queue *queue = arg;
  char name[16];
  snprintf(name, sizeof name, "emu-queue %" PRIu32, queue->id);
  prctl(PR_SET_NAME, name);
  while (!atomic_load(&queue->stop)) {
    if (!atomic_load(&queue->halt) && queue->kind->is_pending(queue)) {
      emu_order_begin_packet();
      queue->kind->step(queue);
    } else if (!spin_for_work(queue)) {
      park(queue);
    }
  }
  return NULL;
}

/* ---- ROCR's calls --------------------------------------------------------------------------- */

bool emu_queues_open(void) {
  return emu_nodes_map_all(words, sizeof words, true);
}

/* A place in the table for the queue; 0 when all are taken. */
static uint32_t take_id(emu_queue *queue) {
  uint32_t id = FIRST_ID;
  pthread_mutex_lock(&table_lock);
  while (id < MAX_QUEUES && table[id]) id++;
  if (id < MAX_QUEUES) table[id] = queue;
  pthread_mutex_unlock(&table_lock);
  return id < MAX_QUEUES ? id : 0;
}

/* Takes it out of the table; NULL: there is none of that number. */
static emu_queue *take_queue(HSA_QUEUEID id) {
  emu_queue *queue = NULL;
  pthread_mutex_lock(&table_lock);
  if (id < MAX_QUEUES) {
    queue = table[id];
    table[id] = NULL;
  }
  pthread_mutex_unlock(&table_lock);
  return queue;
}

/* Where the two pointers are: ROCR's queue, or for SDMA words of ours. */
static void give_pointers(emu_queue *queue, HsaQueueResource *resource) {
  emu_queue_words *own = &words[queue->id];
  memset((void *)own, 0, sizeof *own);
  if (queue->kind == &emu_sdma_kind) {
    resource->Queue_read_ptr_aql = (HSAuint64 *)&own->read_ptr;
    resource->Queue_write_ptr_aql = (HSAuint64 *)&own->write_ptr;
  }
  queue->read_ptr = resource->Queue_read_ptr_aql;
  queue->write_ptr = resource->Queue_write_ptr_aql;
  resource->Queue_DoorBell_aql = (HSAuint64 *)&own->doorbell;
  resource->QueueId = queue->id;
}

static const emu_queue_kind *find_kind(HSA_QUEUE_TYPE type) {
  switch (type) {
    case HSA_QUEUE_COMPUTE_AQL: return &emu_aql_kind;
    case HSA_QUEUE_SDMA:
    case HSA_QUEUE_SDMA_XGMI: return &emu_sdma_kind;
    default: return NULL;
  }
}

static HSAKMT_STATUS start_queue(emu_queue *queue, HsaQueueResource *resource) {
  if (queue->kind == &emu_aql_kind) {
    queue->gpu = emu_node_gpu(queue->node);
    if (!queue->gpu) return HSAKMT_STATUS_NO_MEMORY;
  }
  queue->id = take_id(queue);
  if (queue->id == 0) return HSAKMT_STATUS_OUT_OF_RESOURCES;
  give_pointers(queue, resource);
  if (pthread_cond_init(&queue->wakeup, NULL) == 0) {
    if (ensure_watcher() && start_thread(&queue->thread, work, queue)) return HSAKMT_STATUS_SUCCESS;
    pthread_cond_destroy(&queue->wakeup);
  }
  take_queue(queue->id);
  return HSAKMT_STATUS_NO_MEMORY;
}

HSAKMT_STATUS emu_queue_new(uint32_t node, HSA_QUEUE_TYPE type, void *ring, uint64_t nbytes,
                            HsaEvent *event, HsaQueueResource *resource) {
  const emu_queue_kind *kind = find_kind(type);
  emu_node *gpu = emu_node_at(node);
  if (!gpu) return HSAKMT_STATUS_INVALID_NODE_UNIT;
  if (!kind) return HSAKMT_STATUS_NOT_SUPPORTED;
  if (!ring || nbytes < 64 || (nbytes & (nbytes - 1)) != 0) return HSAKMT_STATUS_INVALID_PARAMETER;
  emu_queue *queue = roc_zalloc(sizeof *queue);
  if (!queue) return HSAKMT_STATUS_NO_MEMORY;
  queue->kind = kind;
  queue->node = gpu;
  queue->ring = ring;
  queue->ring_bytes = nbytes;
  queue->error_reason = resource->ErrorReason;
  queue->error_event = event ? event->EventId : 0;
  HSAKMT_STATUS status = start_queue(queue, resource);
  if (status != HSAKMT_STATUS_SUCCESS) roc_free(queue);
  return status;
}

HSAKMT_STATUS emu_queue_update(HSA_QUEUEID id, uint32_t percentage) {
  pthread_mutex_lock(&table_lock);
  emu_queue *queue = id < MAX_QUEUES ? table[id] : NULL;
  if (queue && percentage == 0) atomic_store(&queue->halt, true);
  pthread_mutex_unlock(&table_lock);
  return queue ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_HANDLE;
}

static void unpark(emu_queue *queue) {
  pthread_mutex_lock(&watch_lock);
  for (emu_queue **at = &parked; *at; at = &(*at)->next_parked) {
    if (*at != queue) continue;
    *at = queue->next_parked;
    break;
  }
  queue->is_parked = false;
  pthread_cond_signal(&queue->wakeup);
  pthread_mutex_unlock(&watch_lock);
}

HSAKMT_STATUS emu_queue_free(HSA_QUEUEID id) {
  pthread_mutex_lock(&table_lock);
  emu_queue *queue = id < MAX_QUEUES ? table[id] : NULL;
  pthread_mutex_unlock(&table_lock);
  if (!queue) return HSAKMT_STATUS_INVALID_HANDLE;
  atomic_store(&queue->halt, true);
  atomic_store(&queue->stop, true);
  unpark(queue);
  pthread_join(queue->thread, NULL);
  take_queue(id); /* only now may another queue have its words */
  pthread_cond_destroy(&queue->wakeup);
  roc_free(queue);
  return HSAKMT_STATUS_SUCCESS;
}

bool emu_queue_exists(HSA_QUEUEID id) {
  pthread_mutex_lock(&table_lock);
  bool exists = id < MAX_QUEUES && table[id];
  pthread_mutex_unlock(&table_lock);
  return exists;
}

void emu_queues_close(void) {
  for (HSA_QUEUEID id = FIRST_ID; id < MAX_QUEUES; id++) emu_queue_free(id);
  end_watcher();
  emu_nodes_map_all(words, sizeof words, false);
}
