/* The stand-in's memory: allocation, page-locking, copies and fills; see fake_cuda.h. */
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "fake_cuda_state.h"

/* ---- memory ------------------------------------------------------------------------------------ */

/* The block of the kind that has the address; NULL: none. */
static block *find_block(uintptr_t address, fake_cuda_kind kind) {
  for (object *o = state.objects; o; o = o->next) {
    block *b = (block *)o;
    if (o->kind == kind && address >= b->address && address - b->address < b->nbytes) return b;
  }
  return NULL;
}

/* Where the stand-in reaches an address, for nbytes; NULL: they are not all of one block. */
char *reach(CUdeviceptr ptr, size_t nbytes, bool *out_is_device) {
  block *b = find_block(ptr, FAKE_MEMORY);
  *out_is_device = b != NULL;
  if (!b) return (char *)(uintptr_t)ptr;
  return nbytes <= b->nbytes - (ptr - b->address) ? b->shadow + (ptr - b->address) : NULL;
}

static bool is_pinned(const char *ptr, size_t nbytes) {
  block *b = find_block((uintptr_t)ptr, FAKE_HOST_MEMORY);
  if (!b) b = find_block((uintptr_t)ptr, FAKE_REGISTERED);
  return b && nbytes <= b->nbytes - ((uintptr_t)ptr - b->address);
}

/* Device memory that is not accessible to the host at the address that is given out. */
static bool map_block(block *b, size_t nbytes) {
  size_t whole = (nbytes + PAGE - 1) / PAGE * PAGE;
  int fd = memfd_create("fake_cuda", 0);
  if (fd < 0 || ftruncate(fd, (off_t)whole) != 0) return false;
  void *given = mmap(NULL, whole, PROT_NONE, MAP_SHARED, fd, 0);
  void *shadow = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (given == MAP_FAILED || shadow == MAP_FAILED) return false;
  b->address = (uintptr_t)given;
  b->nbytes = nbytes;
  b->shadow = shadow;
  memset(shadow, 0xa5, nbytes);
  return true;
}

void free_block(block *b) {
  size_t whole = (b->nbytes + PAGE - 1) / PAGE * PAGE;
  remove_object(&b->base);
  if (b->base.kind == FAKE_MEMORY) {
    munmap((void *)b->address, whole);
    munmap(b->shadow, whole);
  } else if (b->base.kind == FAKE_HOST_MEMORY) {
    free((void *)b->address);
  }
  free(b);
}

/* ---- allocation ---------------------------------------------------------------------------------------------- */

CUresult cuMemPoolCreate(CUmemoryPool *out_pool, const CUmemPoolProps *props) {
  BEGIN_IN_CONTEXT(cuMemPoolCreate);
  if (props->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return end(CUDA_ERROR_INVALID_VALUE);
  CUmemoryPool pool = calloc(1, sizeof *pool);
  add_object(&pool->base, FAKE_POOL);
  pool->device = props->location.id;
  *out_pool = pool;
  return end(CUDA_SUCCESS);
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  BEGIN_IN_CONTEXT(cuMemPoolDestroy);
  remove_object(&pool->base);
  free(pool);
  return end(CUDA_SUCCESS);
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep_bytes) {
  BEGIN_IN_CONTEXT(cuMemPoolTrimTo);
  (void)pool, (void)keep_bytes;
  return end(CUDA_SUCCESS);
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count) {
  BEGIN_IN_CONTEXT(cuMemPoolSetAccess);
  int peer = access->location.id;
  if (count != 1 || peer == pool->device) return end(CUDA_ERROR_INVALID_VALUE);
  pool->is_open_to[peer] = true;
  return end(CUDA_SUCCESS);
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *out_value) {
  BEGIN_IN_CONTEXT(cuMemPoolGetAttribute);
  (void)pool;
  *(uint64_t *)out_value = attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ? 4096 : 0;
  return end(CUDA_SUCCESS);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out_ptr, size_t nbytes, CUmemoryPool pool,
                                 CUstream stream) {
  BEGIN_IN_CONTEXT(cuMemAllocFromPoolAsync);
  if (!is_ours(stream) || nbytes == 0) return end(CUDA_ERROR_INVALID_VALUE);
  block *b = calloc(1, sizeof *b);
  if (nbytes >= (size_t)1 << 30 || !map_block(b, nbytes)) {
    free(b);
    return end(CUDA_ERROR_OUT_OF_MEMORY);
  }
  b->device = current()->device;
  b->pool = pool;
  b->serial = ++state.serial;
  b->stream = stream;
  stream->order.seen[b->device] = b->serial;
  add_object(&b->base, FAKE_MEMORY);
  *out_ptr = b->address;
  return end(CUDA_SUCCESS);
}

CUresult cuMemAlloc_v2(CUdeviceptr *out_ptr, size_t nbytes) {
  BEGIN_IN_CONTEXT(cuMemAlloc);
  if (is_busy(current())) state.waits++;
  block *b = calloc(1, sizeof *b);
  if (nbytes == 0 || nbytes >= (size_t)1 << 30 || !map_block(b, nbytes)) {
    free(b);
    return end(CUDA_ERROR_OUT_OF_MEMORY);
  }
  b->device = current()->device;
  add_object(&b->base, FAKE_MEMORY);
  *out_ptr = b->address;
  return end(CUDA_SUCCESS);
}

CUresult cuMemFree_v2(CUdeviceptr ptr) {
  BEGIN_IN_CONTEXT(cuMemFree);
  block *b = find_block(ptr, FAKE_MEMORY);
  if (is_busy(current())) state.waits++;
  if (!b || b->address != ptr || b->pool) return end(CUDA_ERROR_INVALID_VALUE);
  free_block(b);
  return end(CUDA_SUCCESS);
}

CUresult cuMemFreeAsync(CUdeviceptr ptr, CUstream stream) {
  BEGIN_IN_CONTEXT(cuMemFreeAsync);
  block *b = find_block(ptr, FAKE_MEMORY);
  if (!b || b->address != ptr || !b->pool || !is_ours(stream)) {
    return end(CUDA_ERROR_INVALID_VALUE);
  }
  while (!state.is_held && (stream->first || stream->is_running)) {
    pthread_cond_wait(&state.changed, &state.lock); /* its turn */
  }
  free_block(b);
  return end(CUDA_SUCCESS);
}

CUresult cuMemGetInfo_v2(size_t *out_free, size_t *out_total) {
  BEGIN_IN_CONTEXT(cuMemGetInfo);
  *out_free = (size_t)1 << 29;
  *out_total = (size_t)1 << 30;
  return end(CUDA_SUCCESS);
}

CUresult cuMemHostAlloc(void **out_ptr, size_t nbytes, unsigned flags) {
  BEGIN_IN_CONTEXT(cuMemHostAlloc);
  block *b = calloc(1, sizeof *b);
  size_t whole = (nbytes + PAGE - 1) / PAGE * PAGE;
  b->address = (uintptr_t)aligned_alloc(PAGE, whole ? whole : PAGE);
  b->nbytes = nbytes;
  if (!(flags & CU_MEMHOSTALLOC_PORTABLE)) violate("page-locked memory of one context alone");
  add_object(&b->base, FAKE_HOST_MEMORY);
  *out_ptr = (void *)b->address;
  return end(CUDA_SUCCESS);
}

CUresult cuMemFreeHost(void *ptr) {
  BEGIN_IN_CONTEXT(cuMemFreeHost);
  if (is_busy(current())) state.waits++;
  block *b = find_block((uintptr_t)ptr, FAKE_HOST_MEMORY);
  if (!b) return end(CUDA_ERROR_INVALID_VALUE);
  free_block(b);
  return end(CUDA_SUCCESS);
}

CUresult cuMemHostRegister_v2(void *ptr, size_t nbytes, unsigned flags) {
  BEGIN_IN_CONTEXT(cuMemHostRegister);
  uintptr_t first = (uintptr_t)ptr / PAGE * PAGE, last = (uintptr_t)ptr + nbytes;
  (void)flags;
  for (object *o = state.objects; o; o = o->next) {
    block *b = (block *)o;
    if (o->kind == FAKE_REGISTERED && b->address < last && first < b->address + b->nbytes) {
      return end(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    }
  }
  block *b = calloc(1, sizeof *b);
  b->address = (uintptr_t)ptr;
  b->nbytes = nbytes;
  add_object(&b->base, FAKE_REGISTERED);
  return end(CUDA_SUCCESS);
}

CUresult cuMemHostUnregister(void *ptr) {
  BEGIN_IN_CONTEXT(cuMemHostUnregister);
  block *b = find_block((uintptr_t)ptr, FAKE_REGISTERED);
  if (!b || b->address != (uintptr_t)ptr) return end(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  if (is_busy(current())) state.waits++;
  free_block(b);
  return end(CUDA_SUCCESS);
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **out_values,
                                CUdeviceptr ptr) {
  BEGIN_IN_CONTEXT(cuPointerGetAttributes);
  block *b = find_block(ptr, FAKE_MEMORY);
  unsigned type = b ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  if (!b) b = find_block(ptr, FAKE_HOST_MEMORY);
  if (!b) b = find_block(ptr, FAKE_REGISTERED);
  for (unsigned i = 0; i < count; i++) {
    if (attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
      *(unsigned *)out_values[i] = b ? type : 0;
    if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) {
      *(int *)out_values[i] = b ? b->device : -2;
    }
    if (attributes[i] == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) {
      *(CUdeviceptr *)out_values[i] = b ? b->address : 0;
    }
    if (attributes[i] == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
      *(size_t *)out_values[i] = b ? b->nbytes : 0;
  }
  return end(CUDA_SUCCESS);
}

/* ---- copies and fills ------------------------------------------------------------------------------------------- */

/* Device memory that the stream's work may use already. */
static void check_order(CUstream stream, CUdeviceptr ptr) {
  const block *b = find_block(ptr, FAKE_MEMORY);
  if (b && b->stream != stream && stream->order.seen[b->device] < b->serial) {
    violate("memory is used before its allocation");
  }
}

/* Waits for an allocation are over in no time. */
static bool drains_at_once(CUstream stream) {
  struct timespec end;
  int rc = 0;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec++;
  while ((stream->first || stream->is_running) && !state.is_held && rc == 0) {
    rc = pthread_cond_timedwait(&state.changed, &state.lock, &end);
  }
  return !stream->first && !stream->is_running;
}

/* Memory of another GPU than the one that works, of a pool that is not open to it. */
static bool is_closed(CUdeviceptr ptr) {
  const block *b = find_block(ptr, FAKE_MEMORY);
  int own = current()->device;
  return b && b->device != own && !(b->pool && b->pool->is_open_to[own]);
}

static CUresult queue_copy(CUstream stream, CUdeviceptr dst, CUdeviceptr src, op shape) {
  bool to_device, from_device;
  size_t dst_bytes =
      shape.nbytes + (shape.rows - 1) * shape.dst_pitch + (shape.layers - 1) * shape.dst_layer;
  size_t src_bytes =
      shape.nbytes + (shape.rows - 1) * shape.src_pitch + (shape.layers - 1) * shape.src_layer;
  char *to = reach(dst, dst_bytes, &to_device);
  const char *from = reach(src, src_bytes, &from_device);
  if (!is_ours(stream) || !to || !from) return CUDA_ERROR_INVALID_VALUE;
  if (to_device && from_device && dst < src + src_bytes && src < dst + dst_bytes) {
    violate("a copy whose ends overlap");
  }
  check_order(stream, dst);
  check_order(stream, src);
  bool is_pageable =
      (!to_device && !is_pinned(to, dst_bytes)) || (!from_device && !is_pinned(from, src_bytes));
  if (is_pageable && !drains_at_once(stream)) {
    violate("a copy of pageable memory on a busy stream, which would wait");
  }
  op *o = add_op(stream, OP_COPY);
  op *next = o->next;
  *o = shape;
  o->next = next;
  o->kind = OP_COPY;
  o->dst = to;
  o->src = from;
  while (is_pageable && (stream->first || stream->is_running) && !state.is_held) {
    pthread_cond_wait(&state.changed, &state.lock);
  }
  return CUDA_SUCCESS;
}

static op flat(size_t nbytes) {
  return (op){.nbytes = nbytes, .rows = 1, .layers = 1};
}

/* By one GPU alone. */
static CUresult queue_own_copy(CUstream stream, CUdeviceptr dst, CUdeviceptr src, op shape) {
  if (is_closed(dst) || is_closed(src)) return CUDA_ERROR_INVALID_VALUE;
  return queue_copy(stream, dst, src, shape);
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t nbytes, CUstream stream) {
  BEGIN_IN_CONTEXT(cuMemcpyAsync);
  return end(queue_own_copy(stream, dst, src, flat(nbytes)));
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
                           CUcontext src_context, size_t nbytes, CUstream stream) {
  BEGIN_IN_CONTEXT(cuMemcpyPeerAsync);
  const block *to = find_block(dst, FAKE_MEMORY), *from = find_block(src, FAKE_MEMORY);
  if (!to || !from || to->device != dst_context->device || from->device != src_context->device) {
    return end(CUDA_ERROR_INVALID_VALUE);
  }
  return end(queue_copy(stream, dst, src, flat(nbytes)));
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream) {
  BEGIN_IN_CONTEXT(cuMemcpy2DAsync);
  if (copy->dst_pitch < copy->width_bytes || copy->src_pitch < copy->width_bytes) {
    return end(CUDA_ERROR_INVALID_VALUE);
  }
  op shape = flat(copy->width_bytes);
  shape.rows = copy->height;
  shape.dst_pitch = copy->dst_pitch;
  shape.src_pitch = copy->src_pitch;
  return end(
      queue_own_copy(stream, copy->dst_device, (CUdeviceptr)(uintptr_t)copy->src_host, shape));
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream) {
  BEGIN_IN_CONTEXT(cuMemcpy3DAsync);
  if (copy->dst_pitch < copy->width_bytes || copy->src_pitch < copy->width_bytes ||
      copy->dst_height < copy->height || copy->src_height < copy->height) {
    return end(CUDA_ERROR_INVALID_VALUE);
  }
  op shape = flat(copy->width_bytes);
  shape.rows = copy->height;
  shape.layers = copy->depth;
  shape.dst_pitch = copy->dst_pitch;
  shape.src_pitch = copy->src_pitch;
  shape.dst_layer = copy->dst_pitch * copy->dst_height;
  shape.src_layer = copy->src_pitch * copy->src_height;
  return end(
      queue_own_copy(stream, copy->dst_device, (CUdeviceptr)(uintptr_t)copy->src_host, shape));
}

static CUresult queue_set(CUstream stream, CUdeviceptr dst, const void *pattern, size_t unit,
                          size_t pitch, size_t width, size_t height) {
  bool is_device;
  char *to = reach(dst, (height - 1) * pitch + width * unit, &is_device);
  if (!is_ours(stream) || !to || !is_device || dst % unit) return CUDA_ERROR_INVALID_VALUE;
  check_order(stream, dst);
  op *o = add_op(stream, OP_SET);
  o->dst = to;
  o->unit = unit;
  o->nbytes = width * unit;
  o->rows = height;
  o->dst_pitch = pitch;
  memcpy(o->pattern, pattern, unit);
  return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t count, CUstream stream) {
  BEGIN_IN_CONTEXT(cuMemsetD8Async);
  return end(queue_set(stream, dst, &value, 1, 0, count, 1));
}

CUresult cuMemsetD16Async(CUdeviceptr dst, unsigned short value, size_t count, CUstream stream) {
  BEGIN_IN_CONTEXT(cuMemsetD16Async);
  return end(queue_set(stream, dst, &value, 2, 0, count, 1));
}

CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned value, size_t count, CUstream stream) {
  BEGIN_IN_CONTEXT(cuMemsetD32Async);
  return end(queue_set(stream, dst, &value, 4, 0, count, 1));
}

CUresult cuMemsetD2D32Async(CUdeviceptr dst, size_t pitch, unsigned value, size_t width,
                            size_t height, CUstream stream) {
  BEGIN_IN_CONTEXT(cuMemsetD2D32Async);
  return end(queue_set(stream, dst, &value, 4, pitch, width, height));
}
