/* Checks of the packet, as the queue processor does them, and the workgroups, handed out in
 * increasing order by one counter to all threads that take part.
 *
 * In increasing order, because kernels may make a workgroup wait for those before it. */
#include "emulator/core/dispatch.h"

#include <hsa/hsa.h>
#include <stdarg.h>
#include <stdio.h>

#include "emulator/core/interrupt.h"

enum {
  MAX_ITEMS = 1024,              /* of a workgroup */
  MAX_PRIVATE_BYTES = 8191 << 10 /* of a wavefront: a 13-bit number of KiB in the hardware */
};

/* ---- checks --------------------------------------------------------------------------------- */

static bool refuse(emu_fault *fault, emu_packet_fault packet, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static bool refuse(emu_fault *fault, emu_packet_fault packet, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  fault->kind = EMU_FAULT_PACKET;
  fault->packet = packet;
  vsnprintf(fault->text, sizeof fault->text, fmt, args);
  va_end(args);
  return false;
}

/* Dimensions beyond those of the grid must be 1. */
static bool check_shape(const hsa_kernel_dispatch_packet_t *packet, emu_dispatch *out,
                        emu_fault *fault) {
  unsigned ndims = packet->setup & 3;
  const uint32_t grid[3] = {packet->grid_size_x, packet->grid_size_y, packet->grid_size_z};
  const uint32_t local[3] = {packet->workgroup_size_x, packet->workgroup_size_y,
                             packet->workgroup_size_z};
  if (ndims == 0) return refuse(fault, EMU_PACKET_DIMENSIONS, "a dispatch packet of 0 dimensions");
  for (unsigned d = 0; d < 3; d++) {
    bool is_one = grid[d] == 1 && local[d] == 1;
    if (grid[d] == 0 || local[d] == 0 || (d >= ndims && !is_one)) {
      return refuse(fault, EMU_PACKET_DIMENSIONS,
                    "a dispatch packet of %u dimensions has grid size %u and workgroup size %u in "
                    "dimension %u",
                    ndims, grid[d], local[d], d + 1);
    }
    out->grid[d] = grid[d];
    out->local[d] = local[d];
    out->groups[d] = (uint32_t)(((uint64_t)grid[d] + local[d] - 1) / local[d]);
  }
  uint64_t nitems = (uint64_t)local[0] * local[1] * local[2];
  if (nitems <= MAX_ITEMS) return true;
  return refuse(fault, EMU_PACKET_WORKGROUP,
                "a dispatch packet asks for workgroups of %u x %u x %u work-items; at most %d are "
                "possible",
                local[0], local[1], local[2], MAX_ITEMS);
}

/* Workgroups of the dispatch; false when they are more than can be counted. */
static bool count_groups(const emu_dispatch *dispatch, uint64_t *out) {
  uint64_t plane = (uint64_t)dispatch->groups[0] * dispatch->groups[1];
  return !__builtin_mul_overflow(plane, dispatch->groups[2], out) && *out < UINT64_MAX / 2;
}

bool emu_dispatch_check(const emu_chip *chip, const emu_map *map, const emu_queue_view *view,
                        const void *packet_memory, emu_launch *launch, emu_fault *fault) {
  const hsa_kernel_dispatch_packet_t *packet = packet_memory;
  uint64_t ngroups;
  *fault = (emu_fault){0};
  *launch = (emu_launch){.dispatch = {.chip = chip,
                                      .map = map,
                                      .packet = packet,
                                      .view = view,
                                      .stop = view->stop,
                                      .interrupts = emu_interrupts(),
                                      .fault = fault},
                         .kernarg = (uint64_t)(uintptr_t)packet->kernarg_address,
                         .dispatch_address = view->packet_address,
                         .queue_address = view->queue_address,
                         .dispatch_id = view->dispatch_id,
                         .private_bytes = packet->private_segment_size,
                         .lds_bytes = packet->group_segment_size};
  if (!check_shape(packet, &launch->dispatch, fault)) return false;
  if (!count_groups(&launch->dispatch, &ngroups)) {
    return refuse(fault, EMU_PACKET_DIMENSIONS, "a dispatch packet of more than 2^63 workgroups");
  }
  if (launch->lds_bytes > chip->lds_bytes) {
    return refuse(fault, EMU_PACKET_LDS,
                  "a dispatch packet asks for %u bytes of LDS a workgroup; %s has %u",
                  launch->lds_bytes, chip->name, chip->lds_bytes);
  }
  if (!emu_descriptor_read(chip, map, packet->kernel_object, &launch->descriptor, fault)) {
    return false;
  }
  uint32_t most = MAX_PRIVATE_BYTES / launch->descriptor.wave_size;
  if (launch->private_bytes <= most) return true;
  return refuse(
      fault, EMU_PACKET_BAD,
      "a dispatch packet asks for %u bytes of private memory a work-item; %u are possible",
      launch->private_bytes, most);
}

/* ---- workgroups ----------------------------------------------------------------------------- */

typedef struct dispatch_task {
  emu_task task; /* first: the pool hands it back */
  emu_launch *launch;
  const emu_dispatch_ops *ops;
  uint64_t ngroups;
  _Atomic uint64_t next;    /* workgroup to start */
  _Atomic uint32_t threads; /* that had memory to take part */
} dispatch_task;

static uint64_t run_groups(dispatch_task *task, emu_group_context *context) {
  emu_dispatch *dispatch = &task->launch->dispatch;
  const uint32_t *groups = dispatch->groups;
  uint64_t executed = 0;
  while (!emu_dispatch_is_over(dispatch)) {
    uint64_t number = atomic_fetch_add_explicit(&task->next, 1, memory_order_relaxed);
    if (number >= task->ngroups) break;
    uint64_t row = number / groups[0];
    const uint32_t id[3] = {(uint32_t)(number % groups[0]), (uint32_t)(row % groups[1]),
                            (uint32_t)(row / groups[1])};
    executed += emu_group_run(context, task->launch, id);
  }
  return executed;
}

static void take_part(emu_task *base) {
  dispatch_task *task = (dispatch_task *)base;
  emu_group_context *context = task->ops->take_context(task->ops->ud);
  if (!context) return;
  if (emu_group_context_prepare(context, task->launch)) {
    atomic_fetch_add(&task->threads, 1);
    task->ops->count(task->ops->ud, run_groups(task, context));
  }
  task->ops->give_context(task->ops->ud, context);
}

bool emu_dispatch_run(emu_launch *launch, emu_pool *pool, const emu_dispatch_ops *ops) {
  dispatch_task task = {.task = {.run = take_part}, .launch = launch, .ops = ops};
  emu_dispatch *dispatch = &launch->dispatch;
  count_groups(dispatch, &task.ngroups);
  uint64_t helpers = task.ngroups - 1;
  emu_pool_run(pool, &task.task, helpers < UINT32_MAX ? (uint32_t)helpers : UINT32_MAX);
  if (task.threads == 0) {
    return refuse(dispatch->fault, EMU_PACKET_BAD,
                  "no memory on the host for workgroups of %u work-items with %u bytes of private "
                  "memory each",
                  dispatch->local[0] * dispatch->local[1] * dispatch->local[2],
                  launch->private_bytes);
  }
  return !dispatch->has_fault;
}
