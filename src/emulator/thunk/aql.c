/* Packets of AQL queues, processed strictly in order: the barrier bit and the fences need nothing.
 *
 * A slot holds a packet when the write index is beyond it and its header is not INVALID; the
 * doorbell's value is not looked at, since several producers may ring it out of order. When a
 * packet is done its slot becomes INVALID, then the read index advances, then its signal is
 * decremented: a thread that sees a later change sees the earlier ones. */
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "emulator/thunk/queue.h"

enum {
  PACKET_BYTES = 64,
  VENDOR_PM4 = 1, /* AmdFormat of a packet that holds PM4 */
  TEXT_BYTES = 256
};

typedef union emu_packet {
  uint16_t header;
  hsa_amd_vendor_packet_header_t vendor;
  hsa_kernel_dispatch_packet_t dispatch;
  hsa_barrier_and_packet_t barrier; /* barrier-OR packets look the same */
  hsa_amd_barrier_value_packet_t barrier_value;
  uint64_t words[8];
} emu_packet;

_Static_assert(sizeof(emu_packet) == PACKET_BYTES, "AQL packets have 64 bytes");

/* Processes one; false when the queue was halted or has failed and the packet is not done. */
typedef bool packet_handler(emu_queue *queue, emu_packet *packet);

static emu_packet *packet_at(const emu_queue *queue, uint64_t index) {
  uint64_t npackets = queue->ring_bytes / PACKET_BYTES;
  return (emu_packet *)(queue->ring + (index & (npackets - 1)) * PACKET_BYTES);
}

static unsigned packet_type(const emu_packet *packet) {
  uint16_t header =
      atomic_load_explicit((const _Atomic uint16_t *)&packet->header, memory_order_acquire);
  return header >> HSA_PACKET_HEADER_TYPE & ((1u << HSA_PACKET_HEADER_WIDTH_TYPE) - 1);
}

static bool is_aql_pending(const emu_queue *queue) {
  uint64_t read = emu_load64(queue->read_ptr);
  return read < emu_load64(queue->write_ptr) &&
         packet_type(packet_at(queue, read)) != HSA_PACKET_TYPE_INVALID;
}

static amd_queue_t *rocr_queue(const emu_queue *queue) {
  return (amd_queue_t *)((uintptr_t)queue->read_ptr - offsetof(amd_queue_t, read_dispatch_id));
}

/* ---- signals -------------------------------------------------------------------------------- */

/* NULL when the GPU cannot reach it: then the queue has failed. */
static amd_signal_t *reach_signal(emu_queue *queue, hsa_signal_t signal) {
  if (!emu_queue_reaches(queue, signal.handle, sizeof(amd_signal_t),
                         EMU_PAGE_READ | EMU_PAGE_WRITE)) {
    return NULL;
  }
  return (amd_signal_t *)(uintptr_t)signal.handle;
}

static bool is_profiled(const emu_queue *queue) {
  return (emu_load32(&rocr_queue(queue)->queue_properties) &
          AMD_QUEUE_PROPERTIES_ENABLE_PROFILING) != 0;
}

static void write_times(amd_signal_t *signal, uint64_t start_ticks) {
  enum { LATER = 1000000 };
  uint64_t error = emu_fails(ROC_EMULATOR_WRONG_TIME) ? 1ull << 40 : 0;
  uint64_t start = start_ticks + error, end = emu_clock_ticks() + error;
  if (emu_fails(ROC_EMULATOR_NO_TIME)) start = end = 0;
  if (emu_fails(ROC_EMULATOR_BACKWARD_TIME)) start = end + LATER;
  emu_store64(&signal->start_ts, start);
  emu_store64(&signal->end_ts, end);
}

/* The signal may be destroyed as soon as its value is decremented.  Kernels can write to it: its
 * mailbox is believed only where the GPU has memory. */
static void complete_signal(emu_queue *queue, hsa_signal_t handle, uint64_t start_ticks) {
  if (handle.handle == 0) return;
  amd_signal_t *signal = reach_signal(queue, handle);
  if (!signal) return;
  if (is_profiled(queue)) write_times(signal, start_ticks);
  uint64_t mailbox = signal->event_mailbox_ptr;
  if (mailbox && !emu_queue_reaches(queue, mailbox, sizeof mailbox, EMU_PAGE_WRITE)) return;
  uint32_t event = signal->event_id;
  emu_add64(&signal->value, (uint64_t)-1);
  if (mailbox == 0) return;
  emu_store64((void *)(uintptr_t)mailbox, event);
  emu_event_raise_id(event);
}

/* ---- kernel dispatch ------------------------------------------------------------------------ */

static bool fail(emu_queue *queue, emu_exception exception, const char *text) {
  emu_queue_fail(queue, exception, text);
  return false;
}

static emu_exception exception_of(const emu_fault *fault) {
  static const emu_exception packets[] = {
      [EMU_PACKET_BAD] = EMU_EXCEPTION_PACKET,
      [EMU_PACKET_DIMENSIONS] = EMU_EXCEPTION_DIMENSIONS,
      [EMU_PACKET_WORKGROUP] = EMU_EXCEPTION_GROUP_SIZE,
      [EMU_PACKET_LDS] = EMU_EXCEPTION_GROUP_BYTES,
      [EMU_PACKET_REGISTERS] = EMU_EXCEPTION_REGISTERS,
      [EMU_PACKET_CODE] = EMU_EXCEPTION_CODE,
  };
  switch (fault->kind) {
    case EMU_FAULT_APERTURE: return EMU_EXCEPTION_APERTURE;
    case EMU_FAULT_ILLEGAL: return EMU_EXCEPTION_ILLEGAL;
    case EMU_FAULT_PACKET: return packets[fault->packet];
    default: return EMU_EXCEPTION_TRAP;
  }
}

static void fail_kernel(emu_queue *queue, const emu_fault *fault) {
  if (fault->kind == EMU_FAULT_MEMORY) {
    emu_queue_fail_memory(queue, fault->address, fault->is_write, fault->text);
  } else {
    emu_queue_fail(queue, exception_of(fault), fault->text);
  }
}

static void raise_for_kernel(void *unused, uint32_t event_id) {
  (void)unused;
  emu_event_raise_id(event_id);
}

/* As the firmware asks ROCR for private memory: more than there is. It then waits for an answer,
 * and the packet's signal is never counted down. */
static bool ask_for_scratch(emu_queue *queue, emu_packet *packet) {
  enum { WANTED = 1, TOO_MUCH = 1 << 30 /* for a lane */ };
  packet->dispatch.private_segment_size = TOO_MUCH;
  amd_signal_t *signal = reach_signal(queue, rocr_queue(queue)->queue_inactive_signal);
  if (!signal) return false;
  atomic_store(&queue->halt, true);
  emu_store64((void *)(uintptr_t)&signal->value, WANTED);
  if (signal->event_mailbox_ptr) emu_event_raise_id(signal->event_id);
  return false;
}

static bool run_dispatch(emu_queue *queue, emu_packet *packet) {
  emu_queue_view view = {
      .queue_address = (uintptr_t)rocr_queue(queue),
      .packet_address = (uintptr_t)packet,
      .dispatch_id = emu_load64(queue->read_ptr),
      .stop = &queue->halt,
      .raise_event = raise_for_kernel,
  };
  emu_fault fault = {.kind = EMU_FAULT_NONE};
  if (emu_fails(ROC_EMULATOR_NO_REGISTERS)) {
    return fail(queue, EMU_EXCEPTION_REGISTERS, "a kernel wants more registers than there are");
  }
  if (emu_fails(ROC_EMULATOR_NO_SCRATCH)) return ask_for_scratch(queue, packet);
  if (!emu_gpu_run(queue->gpu, &view, &packet->dispatch, &fault)) {
    fail_kernel(queue, &fault);
    return false;
  }
  return !atomic_load(&queue->halt);
}

/* ---- barriers ------------------------------------------------------------------------------- */

enum { NDEPENDENCIES = 5 };

/* The dependencies that are there; -1 when one cannot be reached. */
static int reach_dependencies(emu_queue *queue, const emu_packet *packet,
                              amd_signal_t *signals[NDEPENDENCIES]) {
  int count = 0;
  for (int i = 0; i < NDEPENDENCIES; i++) {
    if (packet->barrier.dep_signal[i].handle == 0) continue;
    signals[count] = reach_signal(queue, packet->barrier.dep_signal[i]);
    if (!signals[count++]) return -1;
  }
  return count;
}

static bool wait_for_dependencies(emu_queue *queue, emu_packet *packet, bool for_all) {
  amd_signal_t *signals[NDEPENDENCIES];
  int count = reach_dependencies(queue, packet, signals);
  for (unsigned looks = 0; count > 0;) {
    int nzero = 0;
    for (int i = 0; i < count; i++) nzero += emu_load64(&signals[i]->value) == 0;
    if (nzero == count || (nzero > 0 && !for_all)) return true;
    if (!emu_queue_pause(queue, &looks)) return false;
  }
  return count == 0;
}

static bool wait_for_all(emu_queue *queue, emu_packet *packet) {
  return wait_for_dependencies(queue, packet, true);
}

static bool wait_for_any(emu_queue *queue, emu_packet *packet) {
  return wait_for_dependencies(queue, packet, false);
}

static bool holds(int64_t value, hsa_signal_condition32_t condition, int64_t other) {
  switch (condition) {
    case HSA_SIGNAL_CONDITION_EQ: return value == other;
    case HSA_SIGNAL_CONDITION_NE: return value != other;
    case HSA_SIGNAL_CONDITION_LT: return value < other;
    default: return value >= other;
  }
}

static bool wait_for_value(emu_queue *queue, emu_packet *packet) {
  const hsa_amd_barrier_value_packet_t *wanted = &packet->barrier_value;
  if (wanted->signal.handle == 0) return true;
  const amd_signal_t *signal = reach_signal(queue, wanted->signal);
  if (!signal) return false;
  for (unsigned looks = 0;;) {
    int64_t value = (int64_t)emu_load64(&signal->value) & wanted->mask;
    if (holds(value, wanted->cond, wanted->value)) return true;
    if (!emu_queue_pause(queue, &looks)) return false;
  }
}

/* ---- all of them ---------------------------------------------------------------------------- */

/* PM4 comes from ROCR alone, after it loaded code: an order to forget what caches hold. */
static bool run_vendor(emu_queue *queue, emu_packet *packet) {
  if (packet->vendor.AmdFormat == HSA_AMD_PACKET_TYPE_BARRIER_VALUE) {
    return wait_for_value(queue, packet);
  }
  if (packet->vendor.AmdFormat == VENDOR_PM4) {
    emu_gpu_code_changed(queue->gpu);
    return true;
  }
  char text[TEXT_BYTES];
  snprintf(text, sizeof text, "a vendor-specific packet has the format %u: expected 1 or 2",
           packet->vendor.AmdFormat);
  return fail(queue, EMU_EXCEPTION_VENDOR_PACKET, text);
}

static bool refuse_packet(emu_queue *queue, emu_packet *packet) {
  char text[TEXT_BYTES];
  snprintf(text, sizeof text, "a packet of type %u: the GPU has no such packet",
           packet_type(packet));
  return fail(queue, EMU_EXCEPTION_PACKET, text);
}

static void step_aql(emu_queue *queue) {
  static packet_handler *const handlers[] = {
      [HSA_PACKET_TYPE_VENDOR_SPECIFIC] = run_vendor,
      [HSA_PACKET_TYPE_INVALID] = refuse_packet,
      [HSA_PACKET_TYPE_KERNEL_DISPATCH] = run_dispatch,
      [HSA_PACKET_TYPE_BARRIER_AND] = wait_for_all,
      [HSA_PACKET_TYPE_AGENT_DISPATCH] = refuse_packet,
      [HSA_PACKET_TYPE_BARRIER_OR] = wait_for_any,
  };
  uint64_t read = emu_load64(queue->read_ptr);
  emu_packet *packet = packet_at(queue, read);
  uint64_t start_ticks = emu_clock_ticks();
  unsigned type = packet_type(packet);
  packet_handler *handle =
      type < sizeof handlers / sizeof *handlers ? handlers[type] : refuse_packet;
  if (emu_fails(ROC_EMULATOR_LOST_QUEUE)) {
    atomic_store(&queue->halt, true);
    return;
  }
  if (!handle(queue, packet)) return;
  hsa_signal_t completion = packet->dispatch.completion_signal;
  atomic_store_explicit((_Atomic uint16_t *)&packet->header, HSA_PACKET_TYPE_INVALID,
                        memory_order_release);
  emu_store64(queue->read_ptr, read + 1);
  complete_signal(queue, completion, start_ticks);
}

const emu_queue_kind emu_aql_kind = {is_aql_pending, step_aql};
