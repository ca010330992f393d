/* The functions ROCR imports: checks, then a call of the thunk proper.  Those of later releases are
 * in exports_later.c.
 *
 * What ROCR 5 never calls on such a GPU is refused as not supported. In a child of fork the threads
 * of the queues do not exist: there, what would give something back does nothing and succeeds (ROCR
 * ends the process otherwise), and everything else fails at once. */
#include <pthread.h>
#include <string.h>

#include "emulator/isa/name.h"
#include "emulator/thunk/exports.h"
#include "emulator/thunk/layout.h"

enum { KFD_MAJOR = 1, KFD_MINOR = 8 };

_Atomic bool emu_is_open, emu_is_child;
static _Atomic int xnack_mode;

/* ---- opening -------------------------------------------------------------------------------- */

static void note_fork(void) {
  atomic_store(&emu_is_child, true);
}

static void watch_forks(void) {
  pthread_atfork(NULL, NULL, note_fork);
}

static void close_parts(bool has_events, bool has_queues) {
  if (has_queues) emu_queues_close();
  if (has_events) emu_events_close();
  emu_memory_close();
  emu_nodes_close();
}

EXPORT hsaKmtOpenKFD(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  REQUIRE(!atomic_load(&emu_is_child), HSAKMT_STATUS_ERROR);
  pthread_once(&once, watch_forks);
  if (atomic_exchange(&emu_is_open, true)) return HSAKMT_STATUS_SUCCESS;
  emu_layout_choose(__builtin_return_address(0));
  emu_nodes_open();
  bool has_events = emu_events_open();
  bool has_queues = has_events && emu_queues_open();
  if (has_queues) return HSAKMT_STATUS_SUCCESS;
  close_parts(has_events, has_queues);
  atomic_store(&emu_is_open, false);
  return HSAKMT_STATUS_NO_MEMORY;
}

EXPORT hsaKmtCloseKFD(void) {
  REQUIRE_OPEN_TO_UNDO();
  close_parts(true, true);
  atomic_store(&emu_is_open, false);
  return HSAKMT_STATUS_SUCCESS;
}

/* rDebug: the loader's list of code objects, from which kernels get their names. */
EXPORT hsaKmtRuntimeEnable(void *rDebug, bool setupTtmp) {
  (void)setupTtmp;
  REQUIRE_OPEN();
  emu_name_set_debug(rDebug);
  return HSAKMT_STATUS_SUCCESS;
}

EXPORT hsaKmtRuntimeDisable(void) {
  REQUIRE_OPEN_TO_UNDO();
  emu_name_set_debug(NULL);
  return HSAKMT_STATUS_SUCCESS;
}

EXPORT hsaKmtGetVersion(HsaVersionInfo *VersionInfo) {
  REQUIRE_OPEN();
  REQUIRE(VersionInfo, HSAKMT_STATUS_INVALID_PARAMETER);
  VersionInfo->KernelInterfaceMajorVersion = KFD_MAJOR;
  VersionInfo->KernelInterfaceMinorVersion = KFD_MINOR;
  return HSAKMT_STATUS_SUCCESS;
}

/* ---- topology ------------------------------------------------------------------------------- */

EXPORT hsaKmtAcquireSystemProperties(HsaSystemProperties *SystemProperties) {
  REQUIRE_OPEN();
  REQUIRE(SystemProperties, HSAKMT_STATUS_INVALID_PARAMETER);
  memset(SystemProperties, 0, sizeof *SystemProperties);
  SystemProperties->NumNodes = emu_nodes_count();
  return HSAKMT_STATUS_SUCCESS;
}

EXPORT hsaKmtReleaseSystemProperties(void) {
  return HSAKMT_STATUS_SUCCESS;
}

EXPORT hsaKmtGetNodeProperties(HSAuint32 NodeId, HsaNodeProperties *NodeProperties) {
  REQUIRE_NODE(NodeId, NodeProperties);
  emu_topology_node(NodeId, NodeProperties);
  return HSAKMT_STATUS_SUCCESS;
}

EXPORT hsaKmtGetNodeMemoryProperties(HSAuint32 NodeId, HSAuint32 NumBanks,
                                     HsaMemoryProperties *MemoryProperties) {
  REQUIRE_NODE(NodeId, MemoryProperties);
  emu_topology_memory(NodeId, NumBanks, MemoryProperties);
  return HSAKMT_STATUS_SUCCESS;
}

EXPORT hsaKmtGetNodeCacheProperties(HSAuint32 NodeId, HSAuint32 ProcessorId, HSAuint32 NumCaches,
                                    HsaCacheProperties *CacheProperties) {
  (void)ProcessorId;
  REQUIRE_NODE(NodeId, CacheProperties);
  emu_topology_caches(NodeId, NumCaches, CacheProperties);
  return HSAKMT_STATUS_SUCCESS;
}

EXPORT hsaKmtGetNodeIoLinkProperties(HSAuint32 NodeId, HSAuint32 NumIoLinks,
                                     HsaIoLinkProperties *IoLinkProperties) {
  REQUIRE_NODE(NodeId, IoLinkProperties);
  emu_topology_links(NodeId, NumIoLinks, IoLinkProperties);
  return HSAKMT_STATUS_SUCCESS;
}

EXPORT hsaKmtGetClockCounters(HSAuint32 NodeId, HsaClockCounters *Counters) {
  REQUIRE_NODE(NodeId, Counters);
  uint64_t now = emu_clock_ns();
  Counters->GPUClockCounter = now / EMU_TICK_NS;
  Counters->CPUClockCounter = now;
  Counters->SystemClockCounter = now;
  Counters->SystemClockFrequencyHz = 1000000000;
  return HSAKMT_STATUS_SUCCESS;
}

/* Image layouts are computed from this: 16 pipes, 256-byte interleave, 4 shader engines. */
EXPORT hsaKmtGetTileConfig(HSAuint32 NodeId, HsaGpuTileConfig *config) {
  REQUIRE_NODE(NodeId, config);
  config->NumTileConfigs = config->NumMacroTileConfigs = 0;
  config->GbAddrConfig = 0x2a114042;
  config->NumBanks = 4;
  config->NumRanks = 1;
  return HSAKMT_STATUS_SUCCESS;
}

EXPORT hsaKmtGetXNACKMode(HSAint32 *enable) {
  REQUIRE_OPEN();
  REQUIRE(enable, HSAKMT_STATUS_INVALID_PARAMETER);
  *enable = atomic_load(&xnack_mode);
  return HSAKMT_STATUS_SUCCESS;
}

EXPORT hsaKmtSetXNACKMode(HSAint32 enable) {
  REQUIRE_OPEN();
  atomic_store(&xnack_mode, enable != 0);
  return HSAKMT_STATUS_SUCCESS;
}

/* ---- memory --------------------------------------------------------------------------------- */

EXPORT hsaKmtAllocMemory(HSAuint32 PreferredNode, HSAuint64 SizeInBytes, HsaMemFlags MemFlags,
                         void **MemoryAddress) {
  REQUIRE_NODE(PreferredNode, MemoryAddress);
  return emu_memory_alloc(PreferredNode, SizeInBytes, 0, MemFlags, MemoryAddress);
}

EXPORT hsaKmtFreeMemory(void *MemoryAddress, HSAuint64 SizeInBytes) {
  (void)SizeInBytes;
  REQUIRE_OPEN_TO_UNDO();
  return emu_memory_free(MemoryAddress);
}

EXPORT hsaKmtRegisterMemory(void *MemoryAddress, HSAuint64 MemorySizeInBytes) {
  REQUIRE_OPEN();
  return emu_memory_register(MemoryAddress, MemorySizeInBytes, (HsaMemFlags){.Value = 0});
}

EXPORT hsaKmtRegisterMemoryToNodes(void *MemoryAddress, HSAuint64 MemorySizeInBytes,
                                   HSAuint64 NumberOfNodes, HSAuint32 *NodeArray) {
  (void)NumberOfNodes, (void)NodeArray; /* mapping names them again */
  return hsaKmtRegisterMemory(MemoryAddress, MemorySizeInBytes);
}

EXPORT hsaKmtRegisterMemoryWithFlags(void *MemoryAddress, HSAuint64 MemorySizeInBytes,
                                     HsaMemFlags MemFlags) {
  REQUIRE_OPEN();
  return emu_memory_register(MemoryAddress, MemorySizeInBytes, MemFlags);
}

EXPORT hsaKmtDeregisterMemory(void *MemoryAddress) {
  REQUIRE_OPEN_TO_UNDO();
  return emu_memory_deregister(MemoryAddress);
}

EXPORT hsaKmtMapMemoryToGPU(void *MemoryAddress, HSAuint64 MemorySizeInBytes,
                            HSAuint64 *AlternateVAGPU) {
  REQUIRE_OPEN();
  if (AlternateVAGPU) *AlternateVAGPU = (uintptr_t)MemoryAddress;
  return emu_memory_map(MemoryAddress, MemorySizeInBytes, NULL, 0);
}

EXPORT hsaKmtMapMemoryToGPUNodes(void *MemoryAddress, HSAuint64 MemorySizeInBytes,
                                 HSAuint64 *AlternateVAGPU, HsaMemMapFlags MemMapFlags,
                                 HSAuint64 NumberOfNodes, HSAuint32 *NodeArray) {
  (void)MemMapFlags;
  REQUIRE_OPEN();
  REQUIRE(NumberOfNodes == 0 || NodeArray, HSAKMT_STATUS_INVALID_PARAMETER);
  if (AlternateVAGPU) *AlternateVAGPU = (uintptr_t)MemoryAddress;
  return emu_memory_map(MemoryAddress, MemorySizeInBytes, NodeArray, NumberOfNodes);
}

EXPORT hsaKmtUnmapMemoryToGPU(void *MemoryAddress) {
  REQUIRE_OPEN_TO_UNDO();
  return emu_memory_unmap(MemoryAddress);
}

EXPORT hsaKmtQueryPointerInfo(const void *Pointer, HsaPointerInfo *PointerInfo) {
  REQUIRE(PointerInfo, HSAKMT_STATUS_INVALID_PARAMETER);
  memset(PointerInfo, 0, sizeof *PointerInfo);
  REQUIRE_OPEN();
  return emu_memory_query(Pointer, PointerInfo);
}

EXPORT hsaKmtSetMemoryUserData(const void *Pointer, void *UserData) {
  REQUIRE_OPEN();
  return emu_memory_set_user_data(Pointer, UserData);
}

/* Coherence is the host's: nothing to choose. */
EXPORT hsaKmtSetMemoryPolicy(HSAuint32 Node, HSAuint32 DefaultPolicy, HSAuint32 AlternatePolicy,
                             void *MemoryAddressAlternate, HSAuint64 MemorySizeInBytes) {
  (void)DefaultPolicy, (void)AlternatePolicy, (void)MemorySizeInBytes;
  (void)MemoryAddressAlternate;
  REQUIRE_OPEN();
  return emu_node_at(Node) ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_NODE_UNIT;
}

/* ---- events --------------------------------------------------------------------------------- */

EXPORT hsaKmtCreateEvent(HsaEventDescriptor *EventDesc, bool ManualReset, bool IsSignaled,
                         HsaEvent **Event) {
  REQUIRE_OPEN();
  REQUIRE(EventDesc && Event, HSAKMT_STATUS_INVALID_PARAMETER);
  return emu_event_new(EventDesc, ManualReset, IsSignaled, Event);
}

EXPORT hsaKmtDestroyEvent(HsaEvent *Event) {
  REQUIRE_OPEN_TO_UNDO();
  return emu_event_free(Event);
}

EXPORT hsaKmtSetEvent(HsaEvent *Event) {
  REQUIRE_OPEN();
  return emu_event_raise(Event);
}

EXPORT hsaKmtResetEvent(HsaEvent *Event) {
  REQUIRE_OPEN();
  return emu_event_reset(Event);
}

EXPORT hsaKmtQueryEventState(HsaEvent *Event) {
  REQUIRE_OPEN();
  return emu_event_query(Event);
}

EXPORT hsaKmtWaitOnMultipleEvents(HsaEvent *Events[], HSAuint32 NumEvents, bool WaitOnAll,
                                  HSAuint32 Milliseconds) {
  REQUIRE_OPEN();
  REQUIRE(Events, HSAKMT_STATUS_INVALID_HANDLE);
  emu_queues_nudge();
  return emu_event_wait(Events, NumEvents, WaitOnAll, Milliseconds);
}

EXPORT hsaKmtWaitOnEvent(HsaEvent *Event, HSAuint32 Milliseconds) {
  return hsaKmtWaitOnMultipleEvents(&Event, 1, false, Milliseconds);
}

/* ---- queues --------------------------------------------------------------------------------- */

EXPORT hsaKmtCreateQueue(HSAuint32 NodeId, HSA_QUEUE_TYPE Type, HSAuint32 QueuePercentage,
                         HSA_QUEUE_PRIORITY Priority, void *QueueAddress,
                         HSAuint64 QueueSizeInBytes, HsaEvent *Event,
                         HsaQueueResource *QueueResource) {
  (void)QueuePercentage, (void)Priority;
  REQUIRE_NODE(NodeId, QueueResource);
  return emu_queue_new(NodeId, Type, QueueAddress, QueueSizeInBytes, Event, QueueResource);
}

EXPORT hsaKmtUpdateQueue(HSA_QUEUEID QueueId, HSAuint32 QueuePercentage,
                         HSA_QUEUE_PRIORITY Priority, void *QueueAddress, HSAuint64 QueueSize,
                         HsaEvent *Event) {
  (void)Priority, (void)QueueSize;
  (void)QueueAddress, (void)Event;
  REQUIRE_OPEN_TO_UNDO();
  return emu_queue_update(QueueId, QueuePercentage);
}

EXPORT hsaKmtDestroyQueue(HSA_QUEUEID QueueId) {
  REQUIRE_OPEN_TO_UNDO();
  return emu_queue_free(QueueId);
}

static HSAKMT_STATUS check_queue(HSA_QUEUEID id) {
  REQUIRE_OPEN();
  return emu_queue_exists(id) ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_HANDLE;
}

/* All compute units are the host's cores: a mask changes nothing. */
EXPORT hsaKmtSetQueueCUMask(HSA_QUEUEID QueueId, HSAuint32 CUMaskCount, HSAuint32 *QueueCUMask) {
  (void)CUMaskCount, (void)QueueCUMask;
  return check_queue(QueueId);
}

EXPORT hsaKmtAllocQueueGWS(HSA_QUEUEID QueueId, HSAuint32 nGWS, HSAuint32 *firstGWS) {
  (void)nGWS;
  if (firstGWS) *firstGWS = 0;
  return check_queue(QueueId);
}

/* Traps are reported to ROCR by the queue's error protocol; its handler's code is not run. */
EXPORT hsaKmtSetTrapHandler(HSAuint32 NodeId, void *TrapHandlerBaseAddress,
                            HSAuint64 TrapHandlerSizeInBytes, void *TrapBufferBaseAddress,
                            HSAuint64 TrapBufferSizeInBytes) {
  (void)TrapHandlerBaseAddress, (void)TrapHandlerSizeInBytes;
  (void)TrapBufferBaseAddress, (void)TrapBufferSizeInBytes;
  REQUIRE_OPEN();
  return emu_node_at(NodeId) ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_NODE_UNIT;
}

/* ---- not on this GPU: other processes, graphics, shared virtual memory ----------------------- */

EXPORT hsaKmtShareMemory(void *MemoryAddress, HSAuint64 SizeInBytes,
                         HsaSharedMemoryHandle *SharedMemoryHandle) {
  (void)MemoryAddress, (void)SizeInBytes, (void)SharedMemoryHandle;
  return HSAKMT_STATUS_NOT_SUPPORTED;
}

EXPORT hsaKmtRegisterSharedHandle(const HsaSharedMemoryHandle *SharedMemoryHandle,
                                  void **MemoryAddress, HSAuint64 *SizeInBytes) {
  (void)SharedMemoryHandle, (void)MemoryAddress, (void)SizeInBytes;
  return HSAKMT_STATUS_NOT_SUPPORTED;
}

EXPORT hsaKmtRegisterSharedHandleToNodes(const HsaSharedMemoryHandle *SharedMemoryHandle,
                                         void **MemoryAddress, HSAuint64 *SizeInBytes,
                                         HSAuint64 NumberOfNodes, HSAuint32 *NodeArray) {
  (void)SharedMemoryHandle, (void)MemoryAddress, (void)SizeInBytes;
  (void)NumberOfNodes, (void)NodeArray;
  return HSAKMT_STATUS_NOT_SUPPORTED;
}

EXPORT hsaKmtRegisterGraphicsHandleToNodes(HSAuint64 GraphicsResourceHandle,
                                           HsaGraphicsResourceInfo *GraphicsResourceInfo,
                                           HSAuint64 NumberOfNodes, HSAuint32 *NodeArray) {
  (void)GraphicsResourceHandle, (void)GraphicsResourceInfo;
  (void)NumberOfNodes, (void)NodeArray;
  return HSAKMT_STATUS_NOT_SUPPORTED;
}

EXPORT hsaKmtSVMSetAttr(void *start_addr, HSAuint64 size, unsigned int nattr,
                        HSA_SVM_ATTRIBUTE *attrs) {
  (void)start_addr, (void)size, (void)nattr, (void)attrs;
  return HSAKMT_STATUS_NOT_SUPPORTED;
}

EXPORT hsaKmtSVMGetAttr(void *start_addr, HSAuint64 size, unsigned int nattr,
                        HSA_SVM_ATTRIBUTE *attrs) {
  (void)start_addr, (void)size, (void)nattr, (void)attrs;
  return HSAKMT_STATUS_NOT_SUPPORTED;
}
