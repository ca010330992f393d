/* The functions of libhsakmt that came after ROCm 5.2, whose headers we build with. */
#include <string.h>

#include "emulator/thunk/exports.h"

enum {
  CAN_DUMP_CORE = (int)0x80000000u, /* a capability: then ROCR writes no core file of the GPU */
  SDMA_BY_ENGINE = 6,               /* HSA_QUEUE_SDMA_BY_ENG_ID: the other engines do as well */
  TICKS_PER_S = 1000000000 / EMU_TICK_NS
};

/* Declares a function, for the compiler's warning, and begins its definition. */
#define LATER(name, ...)    \
  EXPORT name(__VA_ARGS__); \
  EXPORT name(__VA_ARGS__)

LATER(hsaKmtGetRuntimeCapabilities, HSAuint32 *caps_mask) {
  REQUIRE_OPEN();
  REQUIRE(caps_mask, HSAKMT_STATUS_INVALID_PARAMETER);
  *caps_mask = (HSAuint32)CAN_DUMP_CORE;
  return HSAKMT_STATUS_SUCCESS;
}

/* AMD's own model of a GPU, which asks ROCR for other paths. */
LATER(hsaKmtModelEnabled, bool *enable) {
  REQUIRE(enable, HSAKMT_STATUS_INVALID_PARAMETER);
  *enable = false;
  return HSAKMT_STATUS_SUCCESS;
}

LATER(hsaKmtGetNodeWallclockFrequency, HSAuint32 NodeId, HSAuint64 *Frequency) {
  REQUIRE_NODE(NodeId, Frequency);
  *Frequency = TICKS_PER_S;
  return HSAKMT_STATUS_SUCCESS;
}

/* For libdtif.so's functions of libdrm alone, which take it as a device. */
LATER(hsaKmtGetAMDGPUDeviceHandle, HSAuint32 NodeId, void **DeviceHandle) {
  REQUIRE_NODE(NodeId, DeviceHandle);
  *DeviceHandle = emu_node_at(NodeId);
  return *DeviceHandle ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_NODE_UNIT;
}

/* ---- memory --------------------------------------------------------------------------------- */

LATER(hsaKmtAllocMemoryAlign, HSAuint32 PreferredNode, HSAuint64 SizeInBytes, HSAuint64 Alignment,
      HsaMemFlags MemFlags, void **MemoryAddress) {
  REQUIRE_NODE(PreferredNode, MemoryAddress);
  return emu_memory_alloc(PreferredNode, SizeInBytes, Alignment, MemFlags, MemoryAddress);
}

LATER(hsaKmtAvailableMemory, HSAuint32 Node, HSAuint64 *AvailableBytes) {
  REQUIRE_NODE(Node, AvailableBytes);
  const emu_node *node = emu_node_at(Node);
  REQUIRE(node, HSAKMT_STATUS_INVALID_NODE_UNIT);
  uint64_t used = atomic_load(&node->vram_used);
  *AvailableBytes = used < node->vram_bytes ? node->vram_bytes - used : 0;
  return HSAKMT_STATUS_SUCCESS;
}

/* ---- events: their ages are for a driver that counts raises; ours needs none ----------------- */

LATER(hsaKmtWaitOnEvent_Ext, HsaEvent *Event, HSAuint32 Milliseconds, uint64_t *event_age) {
  (void)event_age;
  return hsaKmtWaitOnEvent(Event, Milliseconds);
}

LATER(hsaKmtWaitOnMultipleEvents_Ext, HsaEvent *Events[], HSAuint32 NumEvents, bool WaitOnAll,
      HSAuint32 Milliseconds, uint64_t *event_age) {
  (void)event_age;
  return hsaKmtWaitOnMultipleEvents(Events, NumEvents, WaitOnAll, Milliseconds);
}

/* ---- queues --------------------------------------------------------------------------------- */

LATER(hsaKmtCreateQueueExt, HSAuint32 NodeId, HSA_QUEUE_TYPE Type, HSAuint32 QueuePercentage,
      HSA_QUEUE_PRIORITY Priority, HSAuint32 SdmaEngineId, void *QueueAddress,
      HSAuint64 QueueSizeInBytes, HsaEvent *Event, HsaQueueResource *QueueResource) {
  (void)SdmaEngineId;
  bool is_sdma = (int)Type == SDMA_BY_ENGINE;
  return hsaKmtCreateQueue(NodeId, is_sdma ? HSA_QUEUE_SDMA : Type, QueuePercentage, Priority,
                           QueueAddress, QueueSizeInBytes, Event, QueueResource);
}

LATER(hsaKmtCreateQueueV2, HSAuint32 NodeId, HSA_QUEUE_TYPE Type, HSAuint32 QueuePercentage,
      HSA_QUEUE_PRIORITY Priority, HSAuint32 SdmaEngineId, void *QueueAddress,
      HSAuint64 QueueSizeInBytes, HSAuint64 MetaDataPrefetchSizeInBytes, HsaEvent *Event,
      HsaQueueResource *QueueResource) {
  (void)MetaDataPrefetchSizeInBytes;
  return hsaKmtCreateQueueExt(NodeId, Type, QueuePercentage, Priority, SdmaEngineId, QueueAddress,
                              QueueSizeInBytes, Event, QueueResource);
}

/* Queues are polled. */
LATER(hsaKmtQueueRingDoorbell, HSA_QUEUEID QueueId) {
  REQUIRE_OPEN();
  REQUIRE(emu_queue_exists(QueueId), HSAKMT_STATUS_INVALID_HANDLE);
  emu_queues_nudge();
  return HSAKMT_STATUS_SUCCESS;
}
