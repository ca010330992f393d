/* Memory of one GPU for the work of another. */
#include "device/cuda/driver.h"

/* What is allocated from a pool is its GPU's alone until the pool is opened to others, which the
 * hardware may not be able to do. */
static roc_cuda_access open_to(roc_cuda_device *owner, const roc_cuda_device *peer) {
  int can = 0;
  roc_cuda_access *access = &owner->access[peer->base.ordinal];
  if (*access != ROC_CUDA_UNASKED) return *access;
  CUmemAccessDesc rights = {{CU_MEM_LOCATION_TYPE_DEVICE, (int)peer->base.ordinal},
                            CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  bool is_open =
      roc_cuda.cuDeviceCanAccessPeer(&can, peer->handle, owner->handle) == CUDA_SUCCESS && can &&
      roc_cuda.cuMemPoolSetAccess(owner->pool, &rights, 1) == CUDA_SUCCESS;
  *access = is_open ? ROC_CUDA_OPEN : ROC_CUDA_CLOSED;
  return *access;
}

bool roc_cuda_is_abroad(roc_cuda_stream *stream, roc_cuda_place place, int ordinal) {
  return place == ROC_CUDA_DEVICE && ordinal != (int)roc_cuda_owner(stream)->base.ordinal;
}

CUresult roc_cuda_reach(roc_cuda_stream *stream, roc_cuda_device *owner, bool *out_reaches) {
  roc_cuda_device *own = roc_cuda_owner(stream);
  *out_reaches = open_to(owner, own) == ROC_CUDA_OPEN;
  open_to(own, owner);
  if (owner->alloc_epoch == 0) return CUDA_SUCCESS;
  return roc_cuda.cuStreamWaitEvent(stream->handle, owner->alloc_event, 0);
}
