/* Launches: a dispatch packet, and its arguments in the ring of kernargs. */
#include <string.h>

#include "device/hsa/driver.h"

enum {
  MAX_PACKETS = 2, /* of one piece of work */
  DISPATCH_HEADER = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                    1 << HSA_PACKET_HEADER_BARRIER |
                    HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                    HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE,
};

/* ---- arguments ----------------------------------------------------------- */

/* The tail moves to where completed work has left it; launches that failed leave no end there. */
static bool is_kernarg_free(roc_hsa_queue *queue, uint64_t end) {
  roc_hsa_kernarg_ring *ring = &queue->kernargs;
  if (roc_hsa_kernarg_is_free(ring, end)) return true;
  roc_ticket done = roc_hsa_queue_refresh(queue);
  bool is_idle = done == atomic_load_explicit(&queue->issued, memory_order_relaxed);
  const roc_hsa_launch_info *last = &queue->launch_infos[done & queue->launch_info_mask];
  roc_hsa_kernarg_release(ring, is_idle ? ring->head : last->kernarg_end);
  return roc_hsa_kernarg_is_free(ring, end);
}

/* nbytes of the ring, at *out; in room that stays the caller's until the next ticket completes. */
static roc_status take_kernargs(roc_hsa_queue *queue, uint32_t nbytes, unsigned char **out,
                                roc_error *err) {
  if (nbytes > ROC_HSA_MAX_KERNARG_BYTES) {
    return roc_fail(err, ROC_INVALID, "a kernel's arguments take %u bytes, over the limit %d",
                    nbytes, ROC_HSA_MAX_KERNARG_BYTES);
  }
  uint64_t end, begin = roc_hsa_kernarg_place(&queue->kernargs, nbytes, &end);
  while (!is_kernarg_free(queue, end)) {
    roc_hsa_queue_await_progress(queue);
    ROC_TRY(roc_hsa_queue_ready(queue, err));
  }
  *out = roc_hsa_kernarg_take(&queue->kernargs, begin, end);
  return ROC_OK;
}

static void copy_kernargs(unsigned char *block, const roc_dev_launch *launch) {
  const void *reports[2] = {launch->fault, launch->print};
  if (launch->kernarg_bytes) memcpy(block, launch->kernarg, launch->kernarg_bytes);
  memcpy(block + launch->kernarg_bytes, reports, sizeof reports);
}

/* Bytes of the ring that a launch takes: its arguments, where its reports go, and what the module
 * wants beyond. */
static uint32_t count_kernargs(const roc_dev_module *module, uint32_t kernarg_bytes) {
  uint32_t nbytes = kernarg_bytes + 2 * (uint32_t)sizeof(void *);
  return nbytes > module->kernarg_bytes ? nbytes : module->kernarg_bytes;
}

/* ---- launches ------------------------------------------------------------ */

static roc_status check_grid(const roc_hsa_queue *queue, const roc_ndrange *range, roc_error *err) {
  for (int d = 0; d < 3; d++) {
    if (range->grid[d] <= UINT32_MAX) continue;
    return roc_fail(
        err, ROC_INVALID, "%llu work-items in dimension %d are over the limit %u of device '%s'",
        (unsigned long long)range->grid[d], d + 1, UINT32_MAX, queue->device->base.props.name);
  }
  return ROC_OK;
}

/* A kernel without dynamic arrays may have private ones that the compiler moved to LDS: more than
 * the launch's dynamic bytes make of it. */
static uint32_t group_bytes(const roc_dev_module *module, uint32_t dynamic_bytes) {
  uint32_t sum = dynamic_bytes ? module->dynamic_begin + dynamic_bytes : 0;
  return sum > module->group_bytes ? sum : module->group_bytes;
}

bool roc_hsa_has_room(roc_dev_stream *base, const roc_dev_module *module, uint32_t kernarg_bytes,
                      roc_ticket *out_ticket) {
  roc_hsa_queue *queue = roc_hsa_stream_of(base)->queue;
  uint32_t nbytes = module ? count_kernargs(module, kernarg_bytes) : 0;
  if (base->device->is_lost || atomic_load(&queue->is_stopped) ||
      nbytes > ROC_HSA_MAX_KERNARG_BYTES) {
    return true; /* for the op to say so, or to start over */
  }
  uint64_t end;
  roc_hsa_kernarg_place(&queue->kernargs, nbytes, &end);
  if (roc_hsa_queue_has_room(queue, MAX_PACKETS) && is_kernarg_free(queue, end)) return true;
  *out_ticket = roc_hsa_queue_find_next(queue);
  return false;
}

roc_status roc_hsa_launch(roc_dev_stream *base, const roc_dev_launch *launch,
                          roc_ticket *out_ticket, roc_error *err) {
  roc_hsa_stream *stream = roc_hsa_stream_of(base);
  roc_hsa_queue *queue = stream->queue;
  const roc_dev_module *module = launch->module;
  const roc_ndrange *range = launch->range;
  ROC_TRY(check_grid(queue, range, err));
  ROC_TRY(roc_hsa_queue_ready(queue, err));
  unsigned char *kernargs = NULL;
  ROC_TRY(take_kernargs(queue, count_kernargs(module, launch->kernarg_bytes), &kernargs, err));
  ROC_TRY(roc_hsa_queue_reserve(queue, 1, err));
  copy_kernargs(kernargs, launch);
  hsa_kernel_dispatch_packet_t *packet = roc_hsa_ring_next(&queue->ring);
  packet->workgroup_size_x = (uint16_t)range->local[0];
  packet->workgroup_size_y = (uint16_t)range->local[1];
  packet->workgroup_size_z = (uint16_t)range->local[2];
  packet->reserved0 = 0;
  packet->grid_size_x = (uint32_t)range->grid[0];
  packet->grid_size_y = (uint32_t)range->grid[1];
  packet->grid_size_z = (uint32_t)range->grid[2];
  packet->private_segment_size = module->private_bytes;
  packet->group_segment_size = group_bytes(module, range->dynamic_shared_bytes);
  packet->kernel_object = module->kernel_object;
  packet->kernarg_address = kernargs;
  packet->reserved2 = 0;
  packet->completion_signal = roc_hsa_queue_counter(queue);
  *out_ticket = stream->last = roc_hsa_queue_issue(queue, launch, NULL);
  roc_hsa_ring_publish(&queue->ring, packet, DISPATCH_HEADER,
                       range->rank << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS);
  return ROC_OK;
}
