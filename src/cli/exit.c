/* The end of a program: waiting for the devices, and telling for what.
 *
 * The wait is the library's, on the main thread.  A thread of its own, which exists only while work
 * is left, speaks on stderr: after a while, or once Ctrl-C was pressed and the wait goes on. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "cli/call.h"
#include "include/roclua.h"

enum {
  PATIENCE_MS = 2000, /* before the first word */
  STOP_MS = 300       /* after Ctrl-C: most kernels have stopped by then */
};

static sem_t wake; /* Ctrl-C, or the end of the wait */
static _Atomic bool is_over;
static volatile sig_atomic_t has_signal;

/* The first Ctrl-C stops what can be stopped, the next one ends the process. */
static void handle_sigint(int number) {
  (void)number;
  cli_set_sigint(SIG_DFL);
  has_signal = 1;
  roclua_interrupt(NULL);
  sem_post(&wake);
}

/* Sleeps until something happens; 0 ms: without end.  False when the wait is over. */
static bool sleep_for(int ms) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += ms / 1000;
  until.tv_nsec += ms % 1000 * 1000000L;
  if (until.tv_nsec >= 1000000000) {
    until.tv_sec++;
    until.tv_nsec -= 1000000000;
  }
  while ((ms ? sem_timedwait(&wake, &until) : sem_wait(&wake)) != 0 && errno == EINTR) {
  }
  return !is_over;
}

static void say(const char *what_to_do) {
  char work[512];
  const char *name = cli_progname();
  if (roclua_pending(work, sizeof work)) {
    fprintf(stderr, "%s: waiting for %s; %s\n", name ? name : "roclua", work, what_to_do);
  }
}

static void *watch(void *unused) {
  (void)unused;
  bool is_second = cli_was_interrupted();
  bool goes_on = sleep_for(is_second ? STOP_MS : PATIENCE_MS);
  if (goes_on && !is_second && !has_signal) {
    say("Ctrl-C ends the wait");
    goes_on = sleep_for(0);
  }
  if (goes_on && has_signal) goes_on = sleep_for(STOP_MS);
  if (goes_on) say("a second Ctrl-C ends the process");
  return NULL;
}

static bool start_watching(pthread_t *thread) {
  char work[1];
  if (!roclua_pending(work, sizeof work) || sem_init(&wake, 0, 0) != 0) return false;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the main thread */
  bool is_started = pthread_create(thread, NULL, watch, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (is_started && !cli_was_interrupted()) cli_set_sigint(handle_sigint);
  return is_started;
}

static void stop_watching(pthread_t thread) {
  cli_set_sigint(SIG_DFL);
  is_over = true;
  sem_post(&wake);
  pthread_join(thread, NULL);
}

static bool tell(int code) {
  if (code != ROCLUA_OK) cli_message(roclua_error());
  return code == ROCLUA_OK;
}

bool cli_finish_devices(lua_State *L) {
  pthread_t thread;
  bool is_watched = start_watching(&thread);
  bool is_ok = tell(roclua_close(L));
  /* A reader of the output does not wait until drivers have given their devices back. */
  is_ok = cli_finish_output() && is_ok;
  int code = roclua_shutdown();
  if (is_ok) is_ok = tell(code);
  if (is_watched) stop_watching(thread);
  return is_ok;
}
