/* What ROCR is told of the machine: the host as node 0, each emulated GPU at a PCIe link.
 *
 * Facts of a GPU come from its chip's row; what ROCR divides by or asserts on is never 0.
 * Structures are cleared first: ROCR reads fields that mean nothing here.  Each is made as our
 * headers have it and given as ROCR's have it (layout.h). */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "emulator/isa/wave.h"
#include "emulator/support/settings.h"
#include "emulator/thunk/layout.h"
#include "emulator/thunk/thunk.h"

enum {
  VENDOR_AMD = 0x1002,
  LINK_WEIGHT = 20,
  DOORBELL_64BIT = 2, /* Capability.DoorbellType */
  SCRATCH_WAVES_PER_CU = 32,
  GPU_CLOCK_MHZ = 1000,
  HOST_LINE_BYTES = 64
};

static uint64_t host_memory(void) {
  return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void describe_host(HsaNodeProperties *out) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  out->NumCPUCores = cores > 0 ? (HSAuint32)cores : 1;
  out->NumMemoryBanks = 1;
  out->NumCaches = 1;
  const char name[] = "Host of an emulated GPU";
  for (size_t i = 0; name[i]; i++) out->MarketingName[i] = (HSAuint16)name[i];
}

/* The fields of later headers where ours have reserved bytes, which end the structure. */
static void describe_later(const emu_node *node, HsaNodeProperties *out) {
  const struct {
    uint32_t xccs, gpu_id, family;
  } later = {.xccs = 1, .gpu_id = 0x1000 + node->id, .family = node->chip->family};
  _Static_assert(sizeof later == sizeof out->Reserved, "the reserved bytes hold three words");
  memcpy(out->Reserved, &later, sizeof later);
}

static void describe_gpu(const emu_node *node, HsaNodeProperties *out) {
  const emu_chip *chip = node->chip;
  out->NumFComputeCores = chip->compute_units * chip->simds_per_cu;
  out->NumMemoryBanks = 3;
  out->NumCaches = emu_layout_has_long_caches() ? 1 : 2;
  out->FComputeIdLo = 0x80000000u | node->id << 12;
  out->Capability.ui32.DoorbellType = DOORBELL_64BIT;
  out->Capability.ui32.QueueSizePowerOfTwo = 1;
  out->MaxWavesPerSIMD = chip->waves_per_simd;
  out->LDSSizeInKB = chip->lds_bytes >> 10;
  out->WaveFrontSize = chip->wave_size;
  out->NumShaderBanks = 1;
  out->NumArrays = 1;
  out->NumCUPerArray = chip->compute_units;
  out->NumSIMDPerCU = chip->simds_per_cu;
  out->MaxSlotsScratchCU = SCRATCH_WAVES_PER_CU;
  out->EngineId.ui32.uCode = 1;
  out->EngineId.ui32.Major = chip->major;
  out->EngineId.ui32.Minor = chip->minor;
  out->EngineId.ui32.Stepping = chip->stepping;
  out->VendorId = VENDOR_AMD;
  out->DeviceId = (HSAuint16)chip->device_id;
  out->LocationId = node->id << 8;
  out->LocalMemSize = node->vram_bytes;
  out->MaxEngineClockMhzFCompute = GPU_CLOCK_MHZ;
  out->DrmRenderMinor = (HSAint32)(127 + node->id);
  for (size_t i = 0; i < HSA_PUBLIC_NAME_SIZE - 1 && chip->marketing_name[i]; i++) {
    out->MarketingName[i] = (HSAuint16)(unsigned char)chip->marketing_name[i];
  }
  snprintf((char *)out->AMDName, sizeof out->AMDName, "%s", chip->name);
  out->uCodeEngineVersions.uCodeSDMA = 1;
  out->NumSdmaEngines = 2;
  out->NumSdmaQueuesPerEngine = 8;
  out->NumCpQueues = 64;
  out->NumGws = 64;
  out->UniqueID = 0x726f636c75610000u | node->id;
  describe_later(node, out);
}

void emu_topology_node(uint32_t id, HsaNodeProperties *out) {
  HsaNodeProperties properties;
  memset(&properties, 0, sizeof properties);
  properties.NumIOLinks = emu_nodes_count() - 1;
  const emu_node *node = emu_node_at(id);
  if (node) {
    describe_gpu(node, &properties);
  } else {
    describe_host(&properties);
  }
  emu_layout_give(EMU_LAYOUT_NODE, &properties, 0, out);
}

void emu_topology_memory(uint32_t id, uint32_t nbanks, HsaMemoryProperties *out) {
  const emu_node *node = emu_node_at(id);
  HsaMemoryProperties banks[3];
  memset(banks, 0, sizeof banks);
  uint32_t count = 1;
  if (node) {
    count = 3;
    banks[0].HeapType = HSA_HEAPTYPE_FRAME_BUFFER_PUBLIC;
    banks[0].SizeInBytes = node->vram_bytes;
    banks[0].Width = 4096;
    banks[0].MemoryClockMax = GPU_CLOCK_MHZ;
    banks[1].HeapType = HSA_HEAPTYPE_GPU_LDS;
    banks[1].SizeInBytes = node->chip->lds_bytes;
    banks[1].VirtualBaseAddress = (HSAuint64)EMU_SHARED_APERTURE << 32;
    banks[2].HeapType = HSA_HEAPTYPE_GPU_SCRATCH;
    banks[2].SizeInBytes = 1ull << 32;
    banks[2].VirtualBaseAddress = (HSAuint64)EMU_PRIVATE_APERTURE << 32;
  } else {
    banks[0].HeapType = HSA_HEAPTYPE_SYSTEM;
    banks[0].SizeInBytes = host_memory();
    banks[0].Width = 64;
  }
  memcpy(out, banks, (nbanks < count ? nbanks : count) * sizeof *banks);
}

void emu_topology_caches(uint32_t id, uint32_t ncaches, HsaCacheProperties *out) {
  static const struct { uint32_t level, kib, line; } caches[] = {{1, 16, 64}, {2, 4096, 128}};
  const emu_node *node = emu_node_at(id);
  uint32_t count = node ? 2 : 1;
  if (ncaches < count) count = ncaches;
  for (uint32_t i = 0; i < count; i++) {
    HsaCacheProperties *cache = &out[i];
    memset(cache, 0, sizeof *cache);
    cache->CacheLevel = node ? caches[i].level : 2;
    cache->CacheSize = node ? caches[i].kib : 1024;
    cache->CacheLineSize = node ? caches[i].line : HOST_LINE_BYTES;
    cache->CacheLinesPerTag = 1;
    cache->CacheAssociativity = 16;
    cache->CacheType.ui32.Data = 1;
    cache->CacheType.ui32.CPU = !node;
    cache->CacheType.ui32.HSACU = node != NULL;
  }
}

void emu_topology_links(uint32_t id, uint32_t nlinks, HsaIoLinkProperties *out) {
  uint32_t count = 0;
  bool has_none = emu_lacks_atomics(); /* as in a slot or at a bridge that has none */
  for (uint32_t other = 0; other < emu_nodes_count() && count < nlinks; other++) {
    if (other == id) continue;
    HsaIoLinkProperties link;
    memset(&link, 0, sizeof link);
    link.IoLinkType = HSA_IOLINKTYPE_PCIEXPRESS;
    link.NodeFrom = id;
    link.NodeTo = other;
    link.Flags.ui32.Override = has_none; /* ROCR reads the others only with it */
    link.Flags.ui32.NoAtomics32bit = link.Flags.ui32.NoAtomics64bit = has_none;
    /* from GPU to GPU through the host: two links */
    link.Weight = id == EMU_HOST_NODE || other == EMU_HOST_NODE ? LINK_WEIGHT : 2 * LINK_WEIGHT;
    emu_layout_give(EMU_LAYOUT_LINK, &link, count++, out);
  }
}
