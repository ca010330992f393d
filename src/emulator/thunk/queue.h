/* A queue from its worker's side: a thread of its own that processes packets in order.
 *
 * The worker alone touches what is not marked; ROCR's threads write the ring, the write pointer and
 * `halt`.  What a packet means is told by the step functions (aql.c, sdma.c). */
#ifndef ROC_EMULATOR_THUNK_QUEUE_H
#define ROC_EMULATOR_THUNK_QUEUE_H

#include <pthread.h>

#include "emulator/thunk/thunk.h"

typedef struct emu_queue emu_queue;

/* Of a kind of queue.  Any thread may ask is_pending. */
typedef struct emu_queue_kind {
  bool (*is_pending)(const emu_queue *queue); /* there is a packet */
  void (*step)(emu_queue *queue);             /* processes it */
} emu_queue_kind;

extern const emu_queue_kind emu_aql_kind, emu_sdma_kind;

struct emu_queue {
  const emu_queue_kind *kind;
  emu_node *node;
  emu_gpu *gpu; /* of AQL queues */
  uint32_t id;
  uint8_t *ring;
  uint64_t ring_bytes;
  volatile uint64_t *read_ptr, *write_ptr;
  volatile int64_t *error_reason; /* signal value that takes exceptions, may be NULL */
  uint32_t error_event;
  pthread_t thread;
  _Atomic bool halt; /* process nothing more: stopped by ROCR, or frozen by an error */
  _Atomic bool stop; /* end the thread; halt is set, too */
  /* under the watcher's lock */
  bool is_parked;
  pthread_cond_t wakeup;
  emu_queue *next_parked;
};

/* ---- for the processing of packets (queue_step.c) ------------------------------------------- */

/* A thread that looks for work or for a value yields its core from this number of looks on. */
enum { EMU_QUEUE_EAGER_LOOKS = 64 };

/* Between two looks of a thread that keeps its core. */
static inline void emu_queue_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/* Between two looks at what the queue waits for; *nlooks counts them, from 0.  False when the queue
 * has been halted. */
bool emu_queue_pause(emu_queue *queue, unsigned *nlooks);

/* ROCR's names of what stops a queue; bit n - 1 of the error reason. */
typedef enum emu_exception {
  EMU_EXCEPTION_TRAP = 2,
  EMU_EXCEPTION_ILLEGAL = 4,
  EMU_EXCEPTION_APERTURE = 6,
  EMU_EXCEPTION_DIMENSIONS = 16,
  EMU_EXCEPTION_GROUP_BYTES = 17,
  EMU_EXCEPTION_CODE = 18,
  EMU_EXCEPTION_PACKET = 20,
  EMU_EXCEPTION_GROUP_SIZE = 21,
  EMU_EXCEPTION_REGISTERS = 22,
  EMU_EXCEPTION_VENDOR_PACKET = 23
} emu_exception;

/* Freezes the queue, remembers the text and tells ROCR. */
void emu_queue_fail(emu_queue *queue, emu_exception exception, const char *text);
/* The same for memory that may not be touched; text NULL: one is made. */
void emu_queue_fail_memory(emu_queue *queue, uint64_t address, bool is_write, const char *text);
/* Whether the queue's GPU may access the range; when not, the queue has failed. */
bool emu_queue_reaches(emu_queue *queue, uint64_t address, uint64_t nbytes, unsigned access);

#endif
