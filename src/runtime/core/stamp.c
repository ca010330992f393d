/* Time stamps in a stream's order. */
#include "base/clock.h"
#include "runtime/core/internal.h"

static void stamp_now(void *ud) {
  *(uint64_t *)ud = roc_clock_ns();
}

roc_status roc_rt_queue_stamp(roc_dev_stream *stream, uint64_t *out_ns, roc_ticket *out_ticket,
                              roc_error *err) {
  const roc_device_ops *ops = stream->device->ops;
  if (ops->stamp) return ops->stamp(stream, out_ns, out_ticket, err);
  return ops->host_call(stream, stamp_now, out_ns, out_ticket, err);
}
