/* Memory of the device, page-locked memory of the host, and where an address lies.
 *
 * Device memory comes from a pool of our own, in the order of a stream on which nothing ever waits:
 * so neither allocating nor freeing waits for work.  The pool keeps nothing that the runtime's own
 * pool has given back: the library returns it to the system at the next wait.
 *
 * The library takes some ten milliseconds for the first block of a pool, of which a short program
 * would spend a good part of its time.  Its other allocations may wait for kernels, so it is they
 * that give a few first blocks, as long as there is nothing but copies.  They can only be opened to
 * other GPUs as a whole context is, so where there are such, all comes from the pool. */
#include <string.h>

#include "base/alloc.h"
#include "device/cuda/driver.h"

/* ---- the pool ------------------------------------------------------------ */

roc_status roc_cuda_open_memory(roc_cuda_device *device, roc_error *err) {
  CUmemPoolProps props = {.alloc_type = CU_MEM_ALLOCATION_TYPE_PINNED,
                          .location = {CU_MEM_LOCATION_TYPE_DEVICE, (int)device->base.ordinal}};
  CUresult result = roc_cuda.cuMemPoolCreate(&device->pool, &props);
  if (result == CUDA_SUCCESS) {
    result = roc_cuda.cuStreamCreate(&device->memory_stream, CU_STREAM_NON_BLOCKING);
  }
  if (result == CUDA_SUCCESS) {
    result = roc_cuda.cuEventCreate(&device->alloc_event, CU_EVENT_DISABLE_TIMING);
  }
  if (result == CUDA_SUCCESS) return ROC_OK;
  return roc_cuda_fail(device, result, "the GPU's memory cannot be opened", err);
}

void roc_cuda_close_memory(roc_cuda_device *device) {
  if (device->alloc_event) roc_cuda.cuEventDestroy(device->alloc_event);
  if (device->memory_stream) roc_cuda.cuStreamDestroy(device->memory_stream);
  if (device->pool) roc_cuda.cuMemPoolDestroy(device->pool);
}

/* They are given back when the GPU is idle, so they are small. */
enum { FIRST_BLOCK_BYTES = 8 << 20 };

static bool has_first_block(roc_cuda_device *device, size_t nbytes) {
  if (!device->is_alone || device->may_last || nbytes > FIRST_BLOCK_BYTES) return false;
  pthread_mutex_lock(&device->lock);
  bool has_room = device->first_block_count < ROC_CUDA_FIRST_BLOCKS;
  pthread_mutex_unlock(&device->lock);
  return has_room;
}

static void note_first_block(roc_cuda_device *device, CUdeviceptr ptr) {
  pthread_mutex_lock(&device->lock);
  device->first_blocks[device->first_block_count++] = ptr;
  pthread_mutex_unlock(&device->lock);
}

/* False: it is none of them.  The reaper frees what a stream had, too. */
static bool forget_first_block(roc_cuda_device *device, CUdeviceptr ptr) {
  CUdeviceptr *blocks = device->first_blocks;
  bool is_found = false;
  pthread_mutex_lock(&device->lock);
  for (uint32_t i = 0; i < device->first_block_count && !is_found; i++) {
    is_found = blocks[i] == ptr;
    if (is_found) blocks[i] = blocks[--device->first_block_count];
  }
  pthread_mutex_unlock(&device->lock);
  return is_found;
}

static void give_first_block_back(roc_device *base, void *ptr) {
  if (!base->is_lost) roc_cuda.cuMemFree((CUdeviceptr)(uintptr_t)ptr);
}

CUresult roc_cuda_take_memory(roc_cuda_device *device, size_t nbytes, CUdeviceptr *out_ptr) {
  if (has_first_block(device, nbytes) && roc_cuda.cuMemAlloc(out_ptr, nbytes) == CUDA_SUCCESS) {
    note_first_block(device, *out_ptr);
    return CUDA_SUCCESS;
  }
  CUresult result =
      roc_cuda.cuMemAllocFromPoolAsync(out_ptr, nbytes, device->pool, device->memory_stream);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) { /* what was freed may lie in pieces */
    roc_cuda.cuMemPoolTrimTo(device->pool, 0);
    result = roc_cuda.cuMemAllocFromPoolAsync(out_ptr, nbytes, device->pool, device->memory_stream);
  }
  if (result != CUDA_SUCCESS) return result;
  result = roc_cuda.cuEventRecord(device->alloc_event, device->memory_stream);
  if (result == CUDA_SUCCESS) {
    device->alloc_epoch++;
  } else {
    roc_cuda.cuMemFreeAsync(*out_ptr, device->memory_stream);
  }
  return result;
}

roc_status roc_cuda_alloc(roc_device *base, size_t nbytes, roc_devptr *out_ptr, roc_error *err) {
  roc_cuda_device *device = roc_cuda_device_of(base);
  if (base->is_lost) return roc_cuda_fail_lost(device, err);
  CUdeviceptr block = 0;
  CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
  if (nbytes <= base->props.memory_total) {
    bool entered = roc_cuda_enter(device);
    result = roc_cuda_take_memory(device, nbytes, &block);
    roc_cuda_leave(entered);
  }
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    roc_fail(err, ROC_OOM, "out of memory: device '%s' has no %zu bytes to give", base->props.name,
             nbytes);
    if (err) err->native = (int)result;
    return ROC_OOM;
  }
  if (result != CUDA_SUCCESS) return roc_cuda_fail(device, result, "memory is not given", err);
  *out_ptr = block;
  return ROC_OK;
}

void roc_cuda_free(roc_device *base, roc_devptr ptr) {
  roc_cuda_device *device = roc_cuda_device_of(base);
  if (base->is_lost) return; /* it goes with the context */
  if (forget_first_block(device, ptr)) {
    roc_cuda_reap(device, give_first_block_back, (void *)(uintptr_t)ptr);
    return;
  }
  bool entered = roc_cuda_enter(device);
  roc_cuda.cuMemFreeAsync(ptr, device->memory_stream);
  roc_cuda_leave(entered);
}

/* What the system has, and what the pool holds without using it. */
uint64_t roc_cuda_memory_free(roc_device *base) {
  const roc_cuda_device *device = roc_cuda_device_of(base);
  size_t available = 0, total = 0;
  uint64_t reserved = 0, used = 0;
  if (base->is_lost) return 0;
  bool entered = roc_cuda_enter(device);
  bool is_told = roc_cuda.cuMemGetInfo(&available, &total) == CUDA_SUCCESS;
  bool has_slack =
      roc_cuda.cuMemPoolGetAttribute(device->pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
                                     &reserved) == CUDA_SUCCESS &&
      roc_cuda.cuMemPoolGetAttribute(device->pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used) ==
          CUDA_SUCCESS &&
      used <= reserved;
  roc_cuda_leave(entered);
  return (is_told ? available : 0) + (has_slack ? reserved - used : 0);
}

/* ---- page-locked memory --------------------------------------------------- */

roc_status roc_cuda_alloc_host(roc_device *base, size_t nbytes, void **out_ptr, roc_error *err) {
  roc_cuda_device *device = roc_cuda_device_of(base);
  if (base->is_lost) return roc_cuda_fail_lost(device, err);
  bool entered = roc_cuda_enter(device);
  void *block = NULL;
  CUresult result =
      roc_cuda.cuMemHostAlloc(&block, nbytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  roc_cuda_leave(entered);
  if (result == CUDA_SUCCESS) {
    *out_ptr = block;
    return ROC_OK;
  }
  if (roc_cuda_is_loss(result)) return roc_cuda_fail(device, result, "", err);
  roc_fail(err, ROC_OOM,
           "out of memory: cannot allocate %zu bytes of page-locked host memory (CUDA error %d)",
           nbytes, (int)result);
  if (err) err->native = (int)result;
  return ROC_OOM;
}

static void give_host_back(roc_device *base, void *ptr) {
  if (!base->is_lost) roc_cuda.cuMemFreeHost(ptr); /* else it goes with the context */
}

void roc_cuda_free_host(roc_device *base, void *ptr) {
  roc_cuda_reap(roc_cuda_device_of(base), give_host_back, ptr);
}

/* ---- where an address lies ------------------------------------------------ */

/* Page-locked memory of which only the beginning is in one piece is found piece by piece. */
static size_t bytes_left(CUdeviceptr ptr, CUdeviceptr start, size_t size) {
  return ptr >= start && ptr - start < size ? size - (ptr - start) : 0;
}

CUresult roc_cuda_find_place(roc_devptr ptr, size_t *nbytes, roc_cuda_place *out_place,
                             int *out_ordinal) {
  unsigned type = 0;
  CUdeviceptr start = 0;
  size_t size = 0;
  CUpointer_attribute attributes[] = {
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
      CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  void *values[] = {&type, out_ordinal, &start, &size};
  *out_ordinal = -1;
  CUresult result = roc_cuda.cuPointerGetAttributes(4, attributes, values, ptr);
  size_t left = bytes_left(ptr, start, size);
  *out_place = ROC_CUDA_PAGEABLE; /* what the library does not know has no attributes */
  if (type == CU_MEMORYTYPE_DEVICE) {
    *out_place = ROC_CUDA_DEVICE;
  } else if (type != 0 && left > 0) {
    *out_place = ROC_CUDA_PINNED;
    if (left < *nbytes) *nbytes = left;
  }
  return result;
}
