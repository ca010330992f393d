/* What the processing of packets (aql.c, sdma.c) asks of its queue: pauses while it waits for
 * memory, checks of addresses, and errors. */
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>

#include "emulator/thunk/queue.h"

/* How long to sleep between looks, by how many there have been; 0: just let others run. */
static uint64_t choose_nap(unsigned looks) {
  static const struct {
    unsigned looks;
    uint64_t ns;
  } naps[] = {{1024, 0}, {2048, 20000}, {8192, 250000}};
  for (size_t i = 0; i < sizeof naps / sizeof *naps; i++) {
    if (looks < naps[i].looks) return naps[i].ns;
  }
  return 1000000;
}

bool emu_queue_pause(emu_queue *queue, unsigned *nlooks) {
  unsigned looks = *nlooks;
  if (looks < UINT_MAX) *nlooks = looks + 1;
  uint64_t nap = choose_nap(looks);
  if (nap > 0) {
    emu_clock_sleep(nap);
  } else if (looks < EMU_QUEUE_EAGER_LOOKS) {
    emu_queue_relax();
  } else {
    sched_yield();
  }
  return !atomic_load(&queue->halt);
}

static void raise_exception(emu_queue *queue, emu_exception exception) {
  if (!queue->error_reason) return;
  atomic_fetch_or((volatile _Atomic int64_t *)queue->error_reason, (int64_t)1 << (exception - 1));
  emu_event_raise_id(queue->error_event);
}

void emu_queue_fail(emu_queue *queue, emu_exception exception, const char *text) {
  emu_fault_remember(text);
  atomic_store(&queue->halt, true);
  raise_exception(queue, exception);
}

/* ROCR passes over a queue's memory violation, since the event tells more of it; where there is no
 * event, the next best exception ends the queue. */
void emu_queue_fail_memory(emu_queue *queue, uint64_t address, bool is_write, const char *text) {
  char made[160];
  if (!text) {
    snprintf(made, sizeof made,
             "the %s GPU cannot %s address 0x%" PRIx64 ": it has no memory there",
             queue->node->chip->name, is_write ? "write to" : "read from", address);
  }
  emu_fault_remember(text ? text : made);
  atomic_store(&queue->halt, true);
  bool is_mapped = emu_map_page(queue->node->map, address) != 0;
  if (emu_event_raise_memory_fault(queue->node->id, address, is_write, is_mapped)) return;
  fprintf(stderr, "roclua's emulator: %s\n", text ? text : made);
  raise_exception(queue, EMU_EXCEPTION_APERTURE);
}

bool emu_queue_reaches(emu_queue *queue, uint64_t address, uint64_t nbytes, unsigned access) {
  uint64_t bad;
  if (emu_node_allows(queue->node, address, nbytes, access, &bad)) return true;
  emu_queue_fail_memory(queue, bad > address ? bad : address, (access & EMU_PAGE_WRITE) != 0, NULL);
  return false;
}
