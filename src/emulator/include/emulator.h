/* The software AMD GPU as roclua's own programs see it.
 *
 * The library is a libhsakmt.so.1: loaded before ROCR it takes the driver's place, and ROCR calls
 * its hsaKmt functions. The functions below are exported besides those; all of them work before and
 * after ROCR is in use. Any thread. */
#ifndef ROC_EMULATOR_INCLUDE_EMULATOR_H
#define ROC_EMULATOR_INCLUDE_EMULATOR_H

#include <stdbool.h>
#include <stddef.h>

#if defined(__GNUC__)
#define ROC_EMULATOR_API __attribute__((visibility("default")))
#else
#define ROC_EMULATOR_API
#endif

/* Environment it reads when ROCR opens it:
 *   ROCLUA_EMULATE=gfx90a,gfx1030   the GPUs; default gfx90a
 *   ROCLUA_EMULATE_THREADS=n        threads that run workgroups; default the host's cores
 *   ROCLUA_EMULATE_MEMORY=n         MiB of memory of each GPU; default half the host's, 1 to 64 GiB
 *   ROCLUA_EMULATE_STATS=1          count what kernels do; printed on stderr when the process ends
 *   ROCLUA_EMULATE_STATS=file       the same, into that file
 *   ROCLUA_EMULATE_CHECK=1          look for races and for reads of memory never written
 *   ROCLUA_EMULATE_WAITCNT=0        do not stop at registers used before s_waitcnt
 *   ROCLUA_EMULATE_PCIE_ATOMICS=0   links to the host that say they carry no atomics
 * What it does not understand it names on stderr, and goes on as if that were not set. */

/* The text of the last fault (kernel, work-item, line, address), or "" when there was none; at most
 * size - 1 characters and a terminating 0.  Gives its length. */
ROC_EMULATOR_API size_t roc_emulator_fault(char *out, size_t size);
/* Forgets it. */
ROC_EMULATOR_API void roc_emulator_clear_fault(void);
/* Writes what ROCLUA_EMULATE_STATS asks for to where it says, now and not when the process ends;
 * does nothing when that is nothing, or was done.  False when it cannot be written: `why` gets a
 * sentence, cut to size - 1 characters.  To be called once all kernels have ended. */
ROC_EMULATOR_API bool roc_emulator_conclude(char *why, size_t size);
/* False when a variable above has a value that is not understood, and then counts as not set: `why`
 * gets a sentence with its name, its value and what was expected, cut to size - 1 characters. */
ROC_EMULATOR_API bool roc_emulator_understands(char *why, size_t size);
/* Places in kernels that ROCLUA_EMULATE_CHECK has found fault with, each told on stderr. */
ROC_EMULATOR_API unsigned long long roc_emulator_findings(void);
/* Ends the kernels that all GPUs run now, wherever they are, as if their work-items had ended;
 * those that are queued run. */
ROC_EMULATOR_API void roc_emulator_interrupt(void);
/* Ways in which hardware fails silently. */
typedef enum roc_emulator_failure {
  ROC_EMULATOR_LOST_COPY,     /* a copy engine does not count its signal down */
  ROC_EMULATOR_LOST_QUEUE,    /* a queue stops before a packet */
  ROC_EMULATOR_WRONG_TIME,    /* the times of a packet lie in the future, */
  ROC_EMULATOR_NO_TIME,       /* are never written, */
  ROC_EMULATOR_BACKWARD_TIME, /* or have it end before it begins */
  ROC_EMULATOR_NO_REGISTERS,  /* a kernel's packet is refused: it wants too many */
  ROC_EMULATOR_NO_SCRATCH,    /* a kernel waits for private memory that ROCR cannot give it */
  ROC_EMULATOR_FAILURES
} roc_emulator_failure;
/* Lets the GPUs fail so the next `count` times, for tests of what is above them. */
ROC_EMULATOR_API void roc_emulator_inject(roc_emulator_failure failure, unsigned count);
/* Wavefront instructions executed by all GPUs so far. */
ROC_EMULATOR_API unsigned long long roc_emulator_executed(void);
/* Name of a GPU it can be, in a fixed order; NULL after the last. */
ROC_EMULATOR_API const char *roc_emulator_chip(unsigned index);
/* Allocations and locked ranges that ROCR holds: 0 after its shutdown. */
ROC_EMULATOR_API unsigned long long roc_emulator_live(void);

#endif
