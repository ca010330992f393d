/* The caching pool of device memory: freed blocks wait in size classes for the next allocation.
 *
 * Drivers' allocators are slow and some wait for the device; a script makes and drops temporaries
 * all the time.  A buffer's own struct is the list node, so freeing needs no memory.  The pool is
 * bounded and emptied before an allocation is called failed.  Everything here runs under the
 * runtime's lock. */
#include "base/alloc.h"
#include "runtime/core/internal.h"

#include <string.h>

enum {
  MIN_BLOCK_SHIFT = 8,
  CLASSES_PER_DOUBLING = 4,
  LARGE_BLOCK =
      16
      << 20, /* from here a class holds blocks of several sizes, so that rounding wastes little */
  LARGE_STEP = 2 << 20,
};

/* Class c holds blocks of (4 + c % 4) << (c / 4 + 6) bytes: 256, 320, 384, 448, 512, … */
static size_t class_bytes(uint32_t class_index) {
  return (size_t)(CLASSES_PER_DOUBLING + class_index % CLASSES_PER_DOUBLING)
         << (class_index / CLASSES_PER_DOUBLING + MIN_BLOCK_SHIFT - 2);
}

uint32_t roc_rt_pool_class(size_t nbytes) {
  uint32_t class_index = 0;
  if (nbytes > (size_t)1 << MIN_BLOCK_SHIFT) {
    uint32_t log2 = 63 - (uint32_t)__builtin_clzll(nbytes);
    if (log2 >= 47) return ROC_RT_POOL_CLASSES;
    class_index = (log2 - MIN_BLOCK_SHIFT) * CLASSES_PER_DOUBLING;
  }
  while (class_bytes(class_index) < nbytes) class_index++;
  return class_index < ROC_RT_POOL_CLASSES ? class_index : ROC_RT_POOL_CLASSES;
}

static void reset_buffer(roc_buffer *buffer, size_t nbytes) {
  atomic_store_explicit(&buffer->refs, 1, memory_order_relaxed);
  atomic_store_explicit(&buffer->is_shared, false, memory_order_relaxed);
  buffer->nbytes = nbytes;
  buffer->next = NULL;
}

size_t roc_rt_pool_block_bytes(size_t nbytes, uint32_t class_index) {
  if (nbytes < LARGE_BLOCK) return class_bytes(class_index);
  return (nbytes + LARGE_STEP - 1) / LARGE_STEP * LARGE_STEP;
}

static void count_used(const roc_buffer *buffer, bool is_used) {
  buffer->device->used_bytes += is_used ? buffer->block_bytes : 0 - buffer->block_bytes;
  roc_buffer_count_bytes(buffer->block_bytes, is_used);
}

roc_buffer *roc_rt_pool_take(roc_rt_device *device, uint32_t class_index, size_t nbytes) {
  for (roc_buffer **link = &device->pool[class_index]; *link; link = &(*link)->next) {
    roc_buffer *buffer = *link;
    if (buffer->block_bytes < nbytes) continue;
    *link = buffer->next;
    device->pooled_bytes -= buffer->block_bytes;
    count_used(buffer, true);
    reset_buffer(buffer, nbytes);
    return buffer;
  }
  return NULL;
}

void roc_rt_pool_adopt(roc_buffer *buffer, roc_rt_device *device, size_t nbytes,
                       uint32_t class_index) {
  reset_buffer(buffer, nbytes);
  buffer->uses = buffer->inline_uses;
  buffer->use_capacity = ROC_RT_INLINE_USES;
  buffer->device = device;
  buffer->pool_class = class_index;
  buffer->block_bytes = roc_rt_pool_block_bytes(nbytes, class_index);
  device->live++;
  count_used(buffer, true);
}

static void free_block(roc_buffer *buffer) {
  roc_rt_device *device = buffer->device;
  device->driver->ops->free(device->driver, buffer->address);
  roc_free(buffer);
  roc_rt_device_drop(device);
}

void roc_rt_pool_free(roc_buffer *buffer) {
  roc_rt_device *device = buffer->device;
  if (roc_rt_in_child()) return; /* the driver's memory is the parent's */
  count_used(buffer, false);
  bool has_room = device->pooled_bytes + buffer->block_bytes <= device->pool_limit_bytes;
  if (!has_room || device->is_closing || device->driver->is_lost) {
    free_block(buffer);
    return;
  }
  buffer->next = device->pool[buffer->pool_class];
  device->pool[buffer->pool_class] = buffer;
  device->pooled_bytes += buffer->block_bytes;
}

void roc_rt_pool_trim(roc_rt_device *device) {
  for (uint32_t i = 0; i < ROC_RT_POOL_CLASSES; i++) {
    while (device->pool[i]) {
      roc_buffer *buffer = device->pool[i];
      device->pool[i] = buffer->next;
      free_block(buffer);
    }
  }
  device->pooled_bytes = 0;
}
