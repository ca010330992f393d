/* Memory pools, page-locking, and where an address lies.
 *
 * Pools are chosen by their flags when a device is opened.  Host memory given out or registered
 * here is mapped for every GPU, so that arrays can be shared between them. */
#include <string.h>

#include "device/hsa/driver.h"

enum {                                   /* of newer headers */
       AGENT_INFO_MEMORY_AVAIL = 0xA015, /* bytes of the GPU's memory that are free */
       POINTER_RESERVED_ADDR = 5         /* addresses of hsa_amd_vmem_*, without memory so far */
};

/* The engines of newer ROCR are chosen by the owner of host memory: a NUMA node, where there are
 * several. */
static hsa_agent_t find_host_owner(hsa_agent_t owner) {
  for (uint32_t i = 0; i < roc_hsa_sys.ncpus; i++) {
    if (owner.handle == roc_hsa_sys.cpus[i].handle) return owner;
  }
  return roc_hsa_sys.cpu;
}

roc_status roc_hsa_find_pointer_info(const void *ptr, size_t nbytes,
                                     roc_hsa_pointer_info *out_place, roc_error *err) {
  roc_hsa_pointer_info *place = out_place;
  *place = (roc_hsa_pointer_info){.agent = roc_hsa_sys.cpu, .address = (char *)(uintptr_t)ptr};
  hsa_amd_pointer_info_t info = {.size = sizeof info};
  hsa_status_t status = roc_hsa.hsa_amd_pointer_info(ptr, &info, NULL, NULL, NULL);
  if (status != HSA_STATUS_SUCCESS) return roc_hsa_fail(err, status, "an address cannot be placed");
  if (info.type == HSA_EXT_POINTER_TYPE_UNKNOWN) return ROC_OK;
  if ((int)info.type == POINTER_RESERVED_ADDR) {
    return roc_fail(err, ROC_INVALID, "the address %p is reserved, and has no memory", ptr);
  }
  if (info.type == HSA_EXT_POINTER_TYPE_LOCKED) {
    size_t offset = (size_t)((uintptr_t)ptr - (uintptr_t)info.hostBaseAddress);
    if (offset > info.sizeInBytes || nbytes > info.sizeInBytes - offset) return ROC_OK;
    place->kind = ROC_HSA_PINNED;
    place->is_locked = true;
    place->agent = find_host_owner(info.agentOwner);
    place->address = (char *)info.agentBaseAddress + offset;
    return ROC_OK;
  }
  place->kind = ROC_HSA_PINNED;
  place->agent = find_host_owner(info.agentOwner);
  for (uint32_t i = 0; i < roc_hsa_sys.ngpus; i++) {
    if (info.agentOwner.handle != roc_hsa_sys.gpus[i].handle) continue;
    place->kind = ROC_HSA_DEVICE;
    place->agent = info.agentOwner;
  }
  return ROC_OK;
}

static bool can_reach(hsa_agent_t agent, hsa_amd_memory_pool_t pool) {
  hsa_amd_memory_pool_access_t access = HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
  hsa_status_t status = roc_hsa.hsa_amd_agent_memory_pool_get_info(
      agent, pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &access);
  return status == HSA_STATUS_SUCCESS && access != HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
}

/* A list given to ROCR replaces the one before, which copies under way may need: so it is always
 * the longest one. */
bool roc_hsa_open_to_peers(const roc_hsa_pointer_info *place, hsa_agent_t agent) {
  hsa_agent_t peers[ROC_HSA_MAX_GPUS];
  hsa_amd_memory_pool_t pool;
  uint32_t count = 0;
  bool is_peer = false;
  if (!roc_hsa_find_gpu_pool(place->agent, &pool)) return false;
  for (uint32_t i = 0; i < roc_hsa_sys.ngpus; i++) {
    if (!can_reach(roc_hsa_sys.gpus[i], pool)) continue;
    is_peer = is_peer || roc_hsa_sys.gpus[i].handle == agent.handle;
    peers[count++] = roc_hsa_sys.gpus[i];
  }
  return is_peer && roc_hsa.hsa_amd_agents_allow_access(count, peers, NULL, place->address) ==
                        HSA_STATUS_SUCCESS;
}

/* What ROCR took for the block, which is more than was asked for; asked both when it is given out
 * and when it comes back, so that the count returns to where it was. */
static uint64_t size_of_block(void *block) {
  hsa_amd_pointer_info_t info = {.size = sizeof info};
  hsa_status_t status = roc_hsa.hsa_amd_pointer_info(block, &info, NULL, NULL, NULL);
  return status == HSA_STATUS_SUCCESS ? info.sizeInBytes : 0;
}

/* Host memory, mapped for all GPUs; *out_ptr is set by success alone. */
static hsa_status_t take_host_memory(hsa_amd_memory_pool_t pool, size_t nbytes, void **out_ptr) {
  void *block;
  hsa_status_t status = roc_hsa.hsa_amd_memory_pool_allocate(pool, nbytes, 0, &block);
  if (status != HSA_STATUS_SUCCESS) return status;
  status = roc_hsa.hsa_amd_agents_allow_access(roc_hsa_sys.ngpus, roc_hsa_sys.gpus, NULL, block);
  if (status == HSA_STATUS_SUCCESS) {
    *out_ptr = block;
  } else {
    roc_hsa.hsa_amd_memory_pool_free(block);
  }
  return status;
}

static roc_status alloc_for_all(hsa_amd_memory_pool_t pool, size_t nbytes, void **out_ptr,
                                roc_error *err) {
  hsa_status_t status = take_host_memory(pool, nbytes, out_ptr);
  if (status == HSA_STATUS_SUCCESS) return ROC_OK;
  roc_fail(err, ROC_OOM,
           "out of memory: cannot allocate %zu bytes of page-locked host memory (HSA status 0x%x)",
           nbytes, (unsigned)status);
  if (err) err->native = (int)status;
  return ROC_OOM;
}

static hsa_status_t take_device_memory(const roc_hsa_device *device, size_t nbytes,
                                       void **out_ptr) {
  if (nbytes > device->base.props.memory_total) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  if (device->has_host_pool) return take_host_memory(device->pool, nbytes, out_ptr);
  return roc_hsa.hsa_amd_memory_pool_allocate(device->pool, nbytes, 0, out_ptr);
}

roc_status roc_hsa_alloc(roc_device *base, size_t nbytes, roc_devptr *out_ptr, roc_error *err) {
  roc_hsa_device *device = roc_hsa_device_of(base);
  if (base->is_lost) return roc_hsa_fail_lost(device, err);
  void *block = NULL;
  hsa_status_t status = take_device_memory(device, nbytes, &block);
  if (status != HSA_STATUS_SUCCESS) {
    roc_fail(err, ROC_OOM, "out of memory: device '%s' has no %zu bytes to give (HSA status 0x%x)",
             base->props.name, nbytes, (unsigned)status);
    if (err) err->native = (int)status;
    return ROC_OOM;
  }
  atomic_fetch_add_explicit(&device->allocated, size_of_block(block), memory_order_relaxed);
  *out_ptr = (roc_devptr)(uintptr_t)block;
  return ROC_OK;
}

void roc_hsa_free(roc_device *base, roc_devptr ptr) {
  roc_hsa_device *device = roc_hsa_device_of(base);
  if (base->is_lost) return; /* the GPU may still use it */
  void *block = (void *)(uintptr_t)ptr;
  atomic_fetch_sub_explicit(&device->allocated, size_of_block(block), memory_order_relaxed);
  roc_hsa.hsa_amd_memory_pool_free(block);
}

roc_status roc_hsa_alloc_host(roc_device *device, size_t nbytes, void **out_ptr, roc_error *err) {
  if (device->is_lost) return roc_hsa_fail_lost(roc_hsa_device_of(device), err);
  return alloc_for_all(roc_hsa_sys.host_pool, nbytes, out_ptr, err);
}

void roc_hsa_free_host(roc_device *device, void *ptr) {
  if (!device->is_lost) roc_hsa.hsa_amd_memory_pool_free(ptr);
}

roc_status roc_hsa_alloc_kernargs(roc_hsa_device *device, size_t nbytes, void **out_ptr,
                                  roc_error *err) {
  (void)device;
  return alloc_for_all(roc_hsa_sys.kernarg_pool, nbytes, out_ptr, err);
}

roc_status roc_hsa_register(roc_device *device, void *ptr, size_t nbytes, roc_devptr *out_ptr,
                            roc_error *err) {
  if (device->is_lost) return roc_hsa_fail_lost(roc_hsa_device_of(device), err);
  roc_hsa_pointer_info place;
  ROC_TRY(roc_hsa_find_pointer_info(ptr, nbytes, &place, err));
  *out_ptr = (roc_devptr)(uintptr_t)ptr;
  if (place.kind != ROC_HSA_PAGEABLE && !place.is_locked) return ROC_OK; /* born page-locked */
  void *address;
  hsa_status_t status =
      roc_hsa.hsa_amd_memory_lock(ptr, nbytes, roc_hsa_sys.gpus, (int)roc_hsa_sys.ngpus, &address);
  if (status != HSA_STATUS_SUCCESS) {
    roc_fail(err, ROC_OOM,
             "%zu bytes cannot be page-locked (HSA status 0x%x): see the limit that `ulimit -l` "
             "shows; memory that is a mapped file cannot be, ever",
             nbytes, (unsigned)status);
    if (err) err->native = (int)status;
    return ROC_OOM;
  }
  *out_ptr = (roc_devptr)(uintptr_t)address;
  return ROC_OK;
}

void roc_hsa_unregister(roc_device *device, void *ptr) {
  if (device->is_lost) return;
  roc_hsa_pointer_info place;
  roc_status status = roc_hsa_find_pointer_info(ptr, 1, &place, NULL);
  if (status != ROC_OK || place.is_locked) roc_hsa.hsa_amd_memory_unlock(ptr);
}

uint64_t roc_hsa_memory_free(roc_device *base) {
  roc_hsa_device *device = roc_hsa_device_of(base);
  uint64_t available = 0;
  hsa_status_t status = roc_hsa.hsa_agent_get_info(
      device->agent, (hsa_agent_info_t)AGENT_INFO_MEMORY_AVAIL, &available);
  if (status == HSA_STATUS_SUCCESS) return available;
  uint64_t used = atomic_load_explicit(&device->allocated, memory_order_relaxed);
  return used < base->props.memory_total ? base->props.memory_total - used : 0;
}
