/* The list of sessions, and what each of them has; see session.h.
 *
 * The list is read in signal handlers, so a session stays in it for good, and serves another user
 * when the last reference has gone. */
#include "runtime/session.h"

#include "base/alloc.h"
#include "runtime/core/internal.h"

static _Atomic(roc_rt_session *) sessions; /* linked under the lock, read without */

/* Lock held. */
static roc_rt_session *find_unused(void) {
  for (roc_rt_session *s = atomic_load(&sessions); s; s = s->next) {
    if (s->refs == 0) return s;
  }
  return NULL;
}

/* Lock held. */
static roc_rt_session *add_session(void) {
  roc_rt_session *made = roc_zalloc(sizeof *made);
  if (!made) return NULL;
  made->last_print = &made->first_print;
  made->next = atomic_load(&sessions);
  atomic_store(&sessions, made);
  return made;
}

roc_status roc_rt_session_create(const void *key, roc_rt_session **out_session, roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  roc_rt_lock();
  roc_rt_session *session = find_unused();
  if (!session) session = add_session();
  if (session) {
    session->refs = 1;
    session->has_user = true;
    session->is_closed = session->is_left = session->shows_progress = false;
    atomic_store(&session->progress, NULL);
    atomic_store(&session->is_interrupted, false);
    atomic_store(&session->key, key);
  }
  roc_rt_unlock();
  if (!session) return roc_fail(err, ROC_OOM, "out of memory: no room for a session");
  *out_session = session;
  return ROC_OK;
}

roc_status roc_rt_session_check(const roc_rt_session *session, roc_error *err) {
  if (!session->is_closed) return ROC_OK;
  return roc_fail(err, ROC_CLOSED, "roclua was closed in this Lua state");
}

bool roc_rt_session_begin_end(roc_rt_session *session) {
  return !atomic_exchange(&session->is_closed, true);
}

void roc_rt_session_leave(roc_rt_session *session) {
  roc_rt_lock();
  session->is_left = true;
  roc_rt_unlock();
}

/* ---- interrupts: without the lock ---------------------------------------- */

bool roc_rt_interrupt(const void *key) {
  bool found = false;
  for (roc_rt_session *s = atomic_load(&sessions); s; s = s->next) {
    const void *own = atomic_load(&s->key);
    if (!own || (key && own != key)) continue;
    atomic_store(&s->is_interrupted, true);
    found = true;
  }
  return found;
}

const void *roc_rt_session_key(const roc_rt_session *session) {
  return atomic_load(&session->key);
}

bool roc_rt_is_interrupted(const roc_rt_session *session) {
  return atomic_load_explicit(&session->is_interrupted, memory_order_relaxed);
}

bool roc_rt_take_interrupt(roc_rt_session *session) {
  return atomic_exchange(&session->is_interrupted, false);
}

bool roc_rt_take_interrupt_of(const void *key) {
  bool was_interrupted = false;
  for (roc_rt_session *s = atomic_load(&sessions); s && key; s = s->next) {
    if (atomic_load(&s->key) == key && roc_rt_take_interrupt(s)) was_interrupted = true;
  }
  return was_interrupted;
}

void *roc_rt_session_run(roc_rt_session *session, void *item) {
  atomic_store(&session->running_on, pthread_self());
  return atomic_exchange(&session->running, item);
}

void *roc_rt_running_here(const void *key) {
  for (roc_rt_session *s = atomic_load(&sessions); s; s = s->next) {
    const void *own = atomic_load(&s->key);
    void *item = atomic_load(&s->running);
    bool is_meant = own && (!key || own == key);
    if (item && is_meant && pthread_equal(atomic_load(&s->running_on), pthread_self())) return item;
  }
  return NULL;
}
