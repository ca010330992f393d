/* The compiler threads; see workers.h.  One lock, under which nothing else is locked. */
#include "jit/workers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"

enum { FEWEST = 2, MOST = 16 };

/* One piece of work; lives on the stack of the caller, which waits until `done`. */
typedef struct request {
  void (*fn)(void *ud);
  void *ud;
  bool taken, done;
  roc_status death; /* not OK: it will never return */
  char *message;    /* LLVM's fatal error; owned by the request */
  struct request *next;
} request;

typedef enum worker_state {
  NONE,
  RUNNING,
  LEFT /* its function returned: to be joined */
} worker_state;

typedef struct worker {
  pthread_t thread;
  worker_state state;
} worker;

static struct {
  pthread_mutex_t lock; /* guards what follows */
  pthread_cond_t work, finished;
  request *first, *last; /* not taken yet, in order */
  unsigned nrequests;    /* of them */
  roc_jit_background_job *jobs;
  worker workers[MOST];
  unsigned nworkers, nidle; /* RUNNING ones; the idle ones, including those just woken for work */
  bool is_stopping;
  _Atomic pid_t pid; /* of the process that made the first thread; 0: none has */
} crew = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .work = PTHREAD_COND_INITIALIZER,
          .finished = PTHREAD_COND_INITIALIZER};

/* This thread's, when it is a compiler thread. */
static _Thread_local worker *self;
static _Thread_local request *in_hand;

/* ---- the threads: with the lock held, except while work runs ---- */

static void run_background_jobs(void) {
  roc_jit_background_job *list = crew.jobs;
  crew.jobs = NULL;
  pthread_mutex_unlock(&crew.lock);
  while (list) {
    roc_jit_background_job *next = list->next;
    list->run(list);
    list = next;
  }
  pthread_mutex_lock(&crew.lock);
}

static void push(request *r) {
  if (crew.last) crew.last->next = r;
  if (!crew.first) crew.first = r;
  crew.last = r;
  crew.nrequests++;
}

static void take_out(request *r) {
  request *before = NULL;
  for (request *at = crew.first; at != r; at = at->next) before = at;
  if (before) before->next = r->next;
  if (!before) crew.first = r->next;
  if (crew.last == r) crew.last = before;
  crew.nrequests--;
}

static void run_next(void) {
  request *r = crew.first;
  take_out(r);
  r->taken = true;
  in_hand = r;
  pthread_mutex_unlock(&crew.lock);
  r->fn(r->ud);
  pthread_mutex_lock(&crew.lock);
  in_hand = NULL;
  r->done = true;
  pthread_cond_broadcast(&crew.finished);
}

static void *worker_main(void *slot) {
  self = slot;
  pthread_mutex_lock(&crew.lock);
  for (;;) {
    if (crew.jobs) {
      run_background_jobs();
    } else if (crew.first) {
      run_next();
    } else if (crew.is_stopping) {
      break;
    } else {
      crew.nidle++;
      pthread_cond_wait(&crew.work, &crew.lock);
      crew.nidle--;
    }
  }
  self->state = LEFT;
  crew.nworkers--;
  pthread_cond_broadcast(&crew.finished);
  pthread_mutex_unlock(&crew.lock);
  return NULL;
}

void roc_jit_worker_dies(roc_status status, const char *message) {
  pthread_mutex_lock(&crew.lock);
  if (self) {
    pthread_detach(self->thread);
    self->state = NONE;
    crew.nworkers--;
  }
  if (in_hand) {
    in_hand->death = status;
    in_hand->done = true;
    in_hand->message = strdup(message);
  }
  pthread_cond_broadcast(&crew.finished); /* a caller makes another thread if none is left */
  pthread_mutex_unlock(&crew.lock);
}

/* ---- the end of the process ---- */

/* When two threads stop the workers, one of them joins each worker. */
static void join_worker(worker *w) {
  if (w->state == RUNNING && pthread_equal(w->thread, pthread_self())) return;
  while (w->state == RUNNING) pthread_cond_wait(&crew.finished, &crew.lock);
  if (w->state == NONE) return;
  w->state = NONE;
  pthread_mutex_unlock(&crew.lock);
  pthread_join(w->thread, NULL);
  pthread_mutex_lock(&crew.lock);
}

/* No more work, and the threads are gone. Registered twice. After the back end is opened, so as to
 * run before LLVM's destructors; and before it is opened, for an exit that begins on another thread
 * meanwhile: what the opening registers then runs after this. */
static void stop_at_exit(void) {
  if (crew.pid && crew.pid != getpid()) return; /* a child's exit: the threads are the parent's */
  pthread_mutex_lock(&crew.lock);
  crew.is_stopping = true;
  pthread_cond_broadcast(&crew.work);
  for (unsigned i = 0; i < MOST; i++) join_worker(&crew.workers[i]);
  pthread_mutex_unlock(&crew.lock);
}

void roc_jit_stop_before_exit(void) {
  atexit(stop_at_exit);
}

/* LLVM also registers destructors lazily, while it compiles, and those run before stop_at_exit. Of
 * all that exit() runs, the destructors of the calling thread's thread-locals come first: so an
 * exit on the main thread, which is nearly every one, waits there for the compiles in flight. */
extern int __cxa_thread_atexit_impl(void (*destructor)(void *), void *object, void *dso);
extern void *__dso_handle;

static void stop_first(void *unused) {
  (void)unused;
  stop_at_exit();
}

__attribute__((constructor)) static void watch_main_thread(void) {
  if (gettid() == getpid()) __cxa_thread_atexit_impl(stop_first, NULL, &__dso_handle);
}

/* ---- making threads, with the lock held ---- */

static unsigned most_workers(void) {
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n < FEWEST ? FEWEST : n > MOST ? MOST : (unsigned)n;
}

static roc_status add_worker(roc_error *err) {
  worker *w = crew.workers;
  while (w->state != NONE)
    w++; /* there is one: none LEFT before the end, and fewer than MOST run */
  int rc = roc_thread_start(&w->thread, ROC_THREAD_DEEP_STACK, worker_main, w);
  if (rc) return roc_fail(err, ROC_UNAVAILABLE, "cannot start a compiler thread: %s", strerror(rc));
  w->state = RUNNING;
  crew.nworkers++;
  return ROC_OK;
}

/* Makes threads: at least one, and as many as there is work for.  If no more can be made, the
 * existing ones are enough. */
static roc_status ensure_workers(roc_error *err) {
  if (crew.is_stopping)
    return roc_fail(err, ROC_CLOSED, "the process is ending: nothing can be compiled");
  if (!crew.pid) {
    atexit(stop_at_exit);
    crew.pid = getpid();
  }
  if (crew.nworkers == 0) return add_worker(err);
  if (crew.nrequests > crew.nidle && crew.nworkers < most_workers()) add_worker(NULL);
  return ROC_OK;
}

/* ---- callers ---- */

/* Until a request is finished, or for a second. */
static void wait_a_second(void) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec++;
  pthread_cond_timedwait(&crew.finished, &crew.lock, &until);
}

static void say_it_goes_on(roc_rt_progress *work) {
  pthread_mutex_unlock(&crew.lock); /* the terminal may be stopped */
  roc_rt_progress_tick(work);
  pthread_mutex_lock(&crew.lock);
}

static roc_status wait_for(request *r, roc_rt_progress *work, roc_error *err) {
  while (!r->done) {
    roc_status status = r->taken || crew.nworkers ? ROC_OK : ensure_workers(err);
    if (status != ROC_OK) {
      take_out(r);
      return status;
    }
    if (work && work->has_line) {
      say_it_goes_on(work);
      if (!r->done) wait_a_second();
    } else {
      pthread_cond_wait(&crew.finished, &crew.lock);
    }
  }
  return ROC_OK;
}

roc_status roc_jit_run(void (*fn)(void *ud), void *ud, roc_rt_progress *work, roc_error *err) {
  request r = {.fn = fn, .ud = ud};
  if (crew.pid && crew.pid != getpid()) { /* first: the lock may have been copied while held */
    return roc_fail(
        err, ROC_UNAVAILABLE,
        "roclua cannot be used in a process made by fork: use it in one of the two only");
  }
  pthread_mutex_lock(&crew.lock);
  push(&r);
  roc_status status = ensure_workers(err);
  if (status == ROC_OK) {
    pthread_cond_signal(&crew.work);
    status = wait_for(&r, work, err);
  } else {
    take_out(&r);
  }
  pthread_mutex_unlock(&crew.lock);
  if (r.death) {
    status = roc_fail(err, r.death, "LLVM stopped with a fatal error: %s",
                      r.message ? r.message : "(no message: out of memory)");
    free(r.message);
  }
  return status;
}

void roc_jit_run_later(roc_jit_background_job *job) {
  pthread_mutex_lock(&crew.lock);
  job->next = crew.jobs;
  crew.jobs = job;
  pthread_cond_signal(&crew.work);
  pthread_mutex_unlock(&crew.lock);
}
