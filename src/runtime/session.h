/* Sessions: what belongs to one user of the runtime, such as a Lua state.
 *
 * Devices, their memory and the compiler are the process's.  Streams belong to a session, and with
 * them the work queued there: what it prints, the faults it leaves, the interrupt that ends a wait
 * for it.  Each session has a default stream on each device, so that sessions do not wait for each
 * other.  Counted: the user holds one reference, each stream and each mirror another; its work goes
 * on when the user lets go.  Sessions are used by several threads at once; what is said of one user
 * below is that of the session. */
#ifndef ROC_RUNTIME_SESSION_H
#define ROC_RUNTIME_SESSION_H

#include "base/status.h"
#include "base/str.h"
#include "runtime/device.h"

/* `key` identifies the user to roc_rt_interrupt.  OOM, CLOSED. */
roc_status roc_rt_session_create(const void *key, roc_rt_session **out_session, roc_error *err);
/* The user lets go: what its work prints from now on is dropped, and its faults are.  Never
 * waits. */
void roc_rt_session_release(roc_rt_session *session);
/* Waits for all that the session has queued, on all devices that are open; looks for none.  FAULT: the
 * first fault that no wait has reported, one a call; INTERRUPTED; LOST, once for each device; CLOSED. */
roc_status roc_rt_session_synchronize(roc_rt_session *session, roc_error *err);
/* The same, but reports no fault: it stays for the next wait. */
roc_status roc_rt_session_settle(roc_rt_session *session, roc_error *err);
/* Takes no more work, and waits for what is queued.  FAULT: the first fault that no wait has
 * reported.  INTERRUPTED: some kernel goes on, a second after the interrupt.  CLOSED: in a forked
 * child.  ROC_OK, and nothing is done, the second time. */
roc_status roc_rt_session_finish(roc_rt_session *session, roc_error *err);

/* The session's default stream on the device, made on first use; borrowed, it lives as long as the
 * user holds the session.  OOM, LOST, CLOSED. */
roc_status roc_rt_session_stream(roc_rt_session *session, roc_rt_device *device,
                                 roc_rt_stream **out_stream, roc_error *err);
/* The same stream; NULL when it has not been made yet. */
roc_rt_stream *roc_rt_session_peek_stream(const roc_rt_session *session,
                                          const roc_rt_device *device);

/* Makes the wait that is in progress in the session with that key, or its next one, return
 * INTERRUPTED; NULL: in all sessions.  False: there is none.  Signal-safe, any thread. */
bool roc_rt_interrupt(const void *key);
/* NULL once the user has let go. */
const void *roc_rt_session_key(const roc_rt_session *session);
/* Notes what the session's user runs on the calling thread (NULL: nothing), for a signal handler on
 * it; gives what was noted before. */
void *roc_rt_session_run(roc_rt_session *session, void *item);
/* That of the session with that key, or, NULL, of any, on the calling thread; NULL: none.
 * Signal-safe. */
void *roc_rt_running_here(const void *key);
/* Whether there is an interrupt that nothing has taken.  Signal-safe, any thread. */
bool roc_rt_is_interrupted(const roc_rt_session *session);
/* Takes back an interrupt that no wait has seen; true if there was one.  Signal-safe. */
bool roc_rt_take_interrupt(roc_rt_session *session);
/* The same by the key. */
bool roc_rt_take_interrupt_of(const void *key);

/* Lines printed by kernels of the session whose waits have passed, oldest first.  False when there
 * is none.  One line without newline. */
bool roc_rt_take_print(roc_rt_session *session, roc_str *out_line);
bool roc_rt_has_print(void); /* in any session, not in a forked child; no lock: atomic loads */

/* For kernels the host has run itself (sim): a line it printed, how many it printed beyond what a
 * launch keeps.  Given out by the next waits like those of queued work. */
void roc_rt_post_print(roc_rt_session *session, const char *text, size_t len);
void roc_rt_post_lost_prints(roc_rt_session *session, uint32_t count);

#endif
