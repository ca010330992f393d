/* What the files of the thunk share: the nodes, the queues' and events' life, and how memory that
 * others write at the same time is read.
 *
 * The thunk stands where libhsakmt does, between ROCR and the driver: exports.c has the exported
 * functions, each a few lines over what is declared here. Node 0 is the host, node n the n-th GPU.
 * Everything is made by hsaKmtOpenKFD and gone after hsaKmtCloseKFD; ROCR may open again. Unless
 * said otherwise any thread may call, while the thunk is open. */
#ifndef ROC_EMULATOR_THUNK_THUNK_H
#define ROC_EMULATOR_THUNK_THUNK_H

#include <hsakmt.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emulator/core/gpu.h"
#include "emulator/include/emulator.h"
#include "emulator/isa/chip.h"
#include "emulator/support/clock.h"
#include "emulator/support/map.h"
#include "emulator/thunk/order.h"

enum { EMU_MAX_NODES = 9, EMU_HOST_NODE = 0, EMU_PAGE_BYTES = 1 << EMU_PAGE_SHIFT };

/* ---- nodes (node.c, topology.c) ------------------------------------------------------------- */

typedef struct emu_node {
  uint32_t id;
  const emu_chip *chip;
  emu_map *map;
  _Atomic(emu_gpu *) gpu; /* made by the first queue; see emu_node_gpu */
  uint64_t vram_bytes;
  _Atomic uint64_t vram_used;
} emu_node;

/* Makes the nodes that ROCLUA_EMULATE names.  Only the host when one of the names is unknown (which
 * is told on stderr) or memory is out. */
void emu_nodes_open(void);
/* No queue is left.  Adds what the GPUs executed to emu_nodes_executed. */
void emu_nodes_close(void);
/* Host and GPUs. */
uint32_t emu_nodes_count(void);
/* The GPU of that number; NULL for the host and beyond. */
emu_node *emu_node_at(uint32_t id);
/* Its interpreter, made on first use; NULL when memory is out. */
emu_gpu *emu_node_gpu(emu_node *node);
/* Lets all GPUs read and write a range, as emu_map_set; false when memory is out. */
bool emu_nodes_map_all(const void *address, uint64_t nbytes, bool allows);
/* Wavefront instructions since the library was loaded. */
uint64_t emu_nodes_executed(void);

/* ROCR's questions; the node's id has been checked.  Nodes and links are written as the caller has
 * them (layout.h). */
void emu_topology_node(uint32_t id, HsaNodeProperties *out);
void emu_topology_memory(uint32_t id, uint32_t nbanks, HsaMemoryProperties *out);
void emu_topology_caches(uint32_t id, uint32_t ncaches, HsaCacheProperties *out);
void emu_topology_links(uint32_t id, uint32_t nlinks, HsaIoLinkProperties *out);

/* ---- events (events.c) ---------------------------------------------------------------------- */

bool emu_events_open(void);
void emu_events_close(void);
HSAKMT_STATUS emu_event_new(const HsaEventDescriptor *descriptor, bool is_manual, bool is_set,
                            HsaEvent **out);
HSAKMT_STATUS emu_event_free(HsaEvent *event);
HSAKMT_STATUS emu_event_raise(HsaEvent *event);
/* The same by number; an unknown one raises nothing. */
void emu_event_raise_id(uint32_t id);
HSAKMT_STATUS emu_event_reset(HsaEvent *event);
HSAKMT_STATUS emu_event_query(HsaEvent *event);
/* Waits until one (or all) of the events are raised. May return early though none was: the caller
 * looks again at the value that it waits for. */
HSAKMT_STATUS emu_event_wait(HsaEvent *const events[], uint32_t nevents, bool for_all,
                             uint32_t milliseconds);
/* Tells ROCR that kernels of that GPU touched memory they may not.  False when it has no event for
 * it: without interrupts (HSA_ENABLE_INTERRUPT=0, and always below libdtif.so) it makes none. */
bool emu_event_raise_memory_fault(uint32_t node, uint64_t address, bool is_write, bool is_mapped);

/* ---- memory (memory.c) ---------------------------------------------------------------------- */

/* Gives back what ROCR left. */
void emu_memory_close(void);
/* alignment: 0 for a page, or a power of two. */
HSAKMT_STATUS emu_memory_alloc(uint32_t node, uint64_t nbytes, uint64_t alignment,
                               HsaMemFlags flags, void **address);
HSAKMT_STATUS emu_memory_free(void *address);
HSAKMT_STATUS emu_memory_register(void *address, uint64_t nbytes, HsaMemFlags flags);
HSAKMT_STATUS emu_memory_deregister(void *address);
/* nnodes 0: every GPU. */
HSAKMT_STATUS emu_memory_map(void *address, uint64_t nbytes, const uint32_t *nodes,
                             uint64_t nnodes);
HSAKMT_STATUS emu_memory_unmap(void *address);
HSAKMT_STATUS emu_memory_query(const void *address, HsaPointerInfo *out);
HSAKMT_STATUS emu_memory_set_user_data(const void *address, void *data);
/* Allocations and registrations that ROCR holds. */
uint64_t emu_memory_live(void);

/* ---- queues (queue.c) ----------------------------------------------------------------------- */

bool emu_queues_open(void);
/* Ends the queues ROCR left, and the thread that watches over idle ones. */
void emu_queues_close(void);
HSAKMT_STATUS emu_queue_new(uint32_t node, HSA_QUEUE_TYPE type, void *ring, uint64_t nbytes,
                            HsaEvent *event, HsaQueueResource *resource);
/* percentage 0 stops it for good. */
HSAKMT_STATUS emu_queue_update(HSA_QUEUEID id, uint32_t percentage);
/* Ends what it runs and joins its thread. */
HSAKMT_STATUS emu_queue_free(HSA_QUEUEID id);
bool emu_queue_exists(HSA_QUEUEID id);
/* A thread begins to wait: the queues are polled soon. */
void emu_queues_nudge(void);

/* ---- injected failures (inject.c) ----------------------------------------------------------- */

/* Whether one is planned, which is then used up. */
bool emu_fails(roc_emulator_failure failure);

/* ---- faults (api.c) ------------------------------------------------------------------------- */

/* The text roc_emulator_fault gives. */
void emu_fault_remember(const char *text);

/* ---- memory shared with the host and with kernels ------------------------------------------- */

static inline uint64_t emu_load64(const volatile void *address) {
  return atomic_load_explicit((const volatile _Atomic uint64_t *)address, memory_order_acquire);
}
static inline uint32_t emu_load32(const volatile void *address) {
  return atomic_load_explicit((const volatile _Atomic uint32_t *)address, memory_order_acquire);
}
static inline void emu_store64(volatile void *address, uint64_t value) {
  atomic_store_explicit((volatile _Atomic uint64_t *)address, value, memory_order_release);
}
static inline void emu_store32(volatile void *address, uint32_t value) {
  atomic_store_explicit((volatile _Atomic uint32_t *)address, value, memory_order_release);
}
/* Writes a signal's value, and raises its event. */
static inline void emu_add64(volatile void *address, uint64_t value) {
  emu_order_tell();
  atomic_fetch_add_explicit((volatile _Atomic uint64_t *)address, value, memory_order_acq_rel);
}

/* Whether the GPU may access all of [address, address + nbytes) so; the first byte that it may not
 * access goes to *bad. */
bool emu_node_allows(const emu_node *node, uint64_t address, uint64_t nbytes, unsigned access,
                     uint64_t *bad);

#endif
