/* Events with the kernel driver's rule: raising one wakes all threads that wait at that moment, and
 * it stays raised only if there were none (or if it is of the kind that is reset by a call).
 *
 * ROCR lets many signals share one event, so a wakeup that one waiter swallows would be missed by
 * another. There remains the moment between a thread's look at the value and its wait: each event
 * keeps the number of its last raise, each thread how many raises there had been when its last wait
 * ended; an event raised since then ends the new wait at once, and the thread looks again.
 *
 * One lock for all of it: the sections are a few instructions, and a waiting thread sleeps on a
 * condition of its own. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "emulator/thunk/thunk.h"

enum { MAX_EVENTS = 4096, FOREVER_MS = (int)0xFFFFFFFEu, FEW = 32 };

typedef struct emu_event emu_event;
typedef struct emu_waiter emu_waiter;

/* One event of a wait. */
typedef struct emu_link {
  struct emu_link *next, **back; /* in the event's list; back NULL: in none */
  emu_waiter *waiter;
  bool is_raised;
} emu_link;

struct emu_waiter {
  pthread_cond_t wakeup;
  uint32_t nraised, nneeded; /* of its events */
};

struct emu_event {
  HsaEvent face; /* first: what ROCR holds */
  bool is_manual, is_set;
  uint64_t last_raise;
  emu_link *waiting;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static emu_event *table[MAX_EVENTS]; /* by id; 0 is none */
static uint32_t next_id = 1;
static uint64_t raises;
static _Thread_local uint64_t raises_seen;

/* One word per event, by id: queues and kernels write the id into it when they complete a
 * signal. */
static _Alignas(EMU_PAGE_BYTES) _Atomic uint64_t mailboxes[MAX_EVENTS];

bool emu_events_open(void) {
  return emu_nodes_map_all(mailboxes, sizeof mailboxes, true);
}

static void wake_all(emu_event *event) {
  for (emu_link *link = event->waiting; link; link = link->next) {
    if (link->is_raised) continue;
    link->is_raised = true;
    emu_waiter *waiter = link->waiter;
    if (++waiter->nraised >= waiter->nneeded) pthread_cond_signal(&waiter->wakeup);
  }
}

static void raise_locked(emu_event *event) {
  event->last_raise = ++raises;
  event->is_set = event->is_manual || !event->waiting;
  wake_all(event);
}

/* Takes it out of the table and lets its waiters go. */
static void remove_locked(emu_event *event) {
  table[event->face.EventId] = NULL;
  wake_all(event);
  while (event->waiting) {
    emu_link *link = event->waiting;
    event->waiting = link->next;
    link->back = NULL;
  }
}

void emu_events_close(void) {
  pthread_mutex_lock(&lock);
  for (uint32_t id = 1; id < MAX_EVENTS; id++) {
    emu_event *event = table[id];
    if (!event) continue;
    remove_locked(event);
    roc_free(event);
  }
  pthread_mutex_unlock(&lock);
  emu_nodes_map_all(mailboxes, sizeof mailboxes, false);
}

/* An id that is not in use and was not freed just now; 0 when there is none. */
static uint32_t find_id(void) {
  for (uint32_t i = 0; i < MAX_EVENTS; i++) {
    uint32_t id = (next_id + i) % MAX_EVENTS;
    if (id == 0 || table[id]) continue;
    next_id = id + 1;
    return id;
  }
  return 0;
}

HSAKMT_STATUS emu_event_new(const HsaEventDescriptor *descriptor, bool is_manual, bool is_set,
                            HsaEvent **out) {
  emu_event *event = roc_zalloc(sizeof *event);
  if (!event) return HSAKMT_STATUS_NO_MEMORY;
  pthread_mutex_lock(&lock);
  uint32_t id = find_id();
  if (id == 0) {
    pthread_mutex_unlock(&lock);
    roc_free(event);
    return HSAKMT_STATUS_OUT_OF_RESOURCES;
  }
  event->is_manual = is_manual;
  event->is_set = is_set;
  event->face.EventId = id;
  event->face.EventData.EventType = descriptor->EventType;
  event->face.EventData.EventData.SyncVar = descriptor->SyncVar;
  event->face.EventData.HWData1 = id;
  event->face.EventData.HWData2 = (uintptr_t)&mailboxes[id];
  event->face.EventData.HWData3 = id;
  table[id] = event;
  pthread_mutex_unlock(&lock);
  *out = &event->face;
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS emu_event_free(HsaEvent *face) {
  if (!face) return HSAKMT_STATUS_INVALID_HANDLE;
  emu_event *event = (emu_event *)face;
  pthread_mutex_lock(&lock);
  remove_locked(event);
  pthread_mutex_unlock(&lock);
  roc_free(event);
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS emu_event_raise(HsaEvent *face) {
  if (!face) return HSAKMT_STATUS_INVALID_HANDLE;
  pthread_mutex_lock(&lock);
  raise_locked((emu_event *)face);
  pthread_mutex_unlock(&lock);
  return HSAKMT_STATUS_SUCCESS;
}

void emu_event_raise_id(uint32_t id) {
  pthread_mutex_lock(&lock);
  if (id < MAX_EVENTS && table[id]) raise_locked(table[id]);
  pthread_mutex_unlock(&lock);
}

HSAKMT_STATUS emu_event_reset(HsaEvent *face) {
  if (!face) return HSAKMT_STATUS_INVALID_HANDLE;
  pthread_mutex_lock(&lock);
  ((emu_event *)face)->is_set = false;
  pthread_mutex_unlock(&lock);
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS emu_event_query(HsaEvent *face) {
  if (!face) return HSAKMT_STATUS_INVALID_HANDLE;
  pthread_mutex_lock(&lock);
  bool is_set = ((emu_event *)face)->is_set;
  pthread_mutex_unlock(&lock);
  return is_set ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_WAIT_TIMEOUT;
}

/* Each event of that kind: a process may have more than ROCR's. */
bool emu_event_raise_memory_fault(uint32_t node, uint64_t address, bool is_write, bool is_mapped) {
  HsaMemoryAccessFault fault = {
      .NodeId = node,
      .VirtualAddress = address & ~(uint64_t)(EMU_PAGE_BYTES - 1),
      .Failure = {.NotPresent = !is_mapped, .ReadOnly = is_mapped && is_write},
      .Flags = HSA_EVENTID_MEMORY_FATAL_PROCESS,
  };
  bool is_raised = false;
  pthread_mutex_lock(&lock);
  for (uint32_t id = 1; id < MAX_EVENTS; id++) {
    emu_event *event = table[id];
    if (!event || event->face.EventData.EventType != HSA_EVENTTYPE_MEMORY) continue;
    event->face.EventData.EventData.MemoryAccessFault = fault;
    raise_locked(event);
    is_raised = true;
  }
  pthread_mutex_unlock(&lock);
  return is_raised;
}

/* ---- waiting -------------------------------------------------------------------------------- */

static void attach(emu_link *link, emu_event *event, emu_waiter *waiter) {
  link->waiter = waiter;
  link->is_raised = event->is_set || event->last_raise > raises_seen;
  if (link->is_raised) waiter->nraised++;
  if (!event->is_manual) event->is_set = false;
  link->next = event->waiting;
  link->back = &event->waiting;
  if (link->next) link->next->back = &link->next;
  event->waiting = link;
}

static void detach(emu_link *link) {
  if (!link->back) return; /* the event is gone */
  *link->back = link->next;
  if (link->next) link->next->back = link->back;
}

static struct timespec deadline_in(uint32_t milliseconds) {
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += milliseconds / 1000;
  end.tv_nsec += (long)(milliseconds % 1000) * 1000000;
  if (end.tv_nsec >= 1000000000) {
    end.tv_nsec -= 1000000000;
    end.tv_sec++;
  }
  return end;
}

/* With the lock held; false when time is up. */
static bool sleep_until_raised(emu_waiter *waiter, uint32_t milliseconds) {
  bool is_endless = milliseconds >= (uint32_t)FOREVER_MS;
  struct timespec end = {0};
  if (!is_endless && waiter->nraised < waiter->nneeded) end = deadline_in(milliseconds);
  while (waiter->nraised < waiter->nneeded) {
    if (is_endless) {
      pthread_cond_wait(&waiter->wakeup, &lock);
    } else if (pthread_cond_timedwait(&waiter->wakeup, &lock, &end) == ETIMEDOUT) {
      return waiter->nraised >= waiter->nneeded;
    }
  }
  return true;
}

static bool init_wakeup(pthread_cond_t *wakeup) {
  pthread_condattr_t attributes;
  if (pthread_condattr_init(&attributes) != 0) return false;
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  bool is_ok = pthread_cond_init(wakeup, &attributes) == 0;
  pthread_condattr_destroy(&attributes);
  return is_ok;
}

static HSAKMT_STATUS wait_with(emu_link *links, HsaEvent *const events[], uint32_t nevents,
                               uint32_t nneeded, uint32_t milliseconds) {
  emu_waiter waiter = {.nneeded = nneeded};
  if (!init_wakeup(&waiter.wakeup)) return HSAKMT_STATUS_NO_MEMORY;
  pthread_mutex_lock(&lock);
  for (uint32_t i = 0; i < nevents; i++) attach(&links[i], (emu_event *)events[i], &waiter);
  bool is_raised = sleep_until_raised(&waiter, milliseconds);
  for (uint32_t i = 0; i < nevents; i++) detach(&links[i]);
  raises_seen = raises;
  pthread_mutex_unlock(&lock);
  pthread_cond_destroy(&waiter.wakeup);
  return is_raised ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_WAIT_TIMEOUT;
}

HSAKMT_STATUS emu_event_wait(HsaEvent *const events[], uint32_t nevents, bool for_all,
                             uint32_t milliseconds) {
  if (nevents == 0) return HSAKMT_STATUS_INVALID_PARAMETER;
  for (uint32_t i = 0; i < nevents; i++) {
    if (!events[i]) return HSAKMT_STATUS_INVALID_HANDLE;
  }
  emu_link few[FEW];
  emu_link *links = nevents <= FEW ? few : roc_alloc(nevents * sizeof *links);
  if (!links) return HSAKMT_STATUS_NO_MEMORY;
  HSAKMT_STATUS status = wait_with(links, events, nevents, for_all ? nevents : 1, milliseconds);
  if (links != few) roc_free(links);
  return status;
}
