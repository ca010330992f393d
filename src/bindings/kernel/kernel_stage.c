/* Staging: the copies that give the device of a launch access to its arrays, and the copies back.
 *
 * A plain host array is copied to the device and, after a launch without a fault, back.  Arrays
 * that share memory share one block.  Where kernels can use host memory (cpu), an array is used in
 * place when that makes no difference: it is contiguous and not written, or the kernel cannot fail.
 * Registered arrays are used in place and smart ones on their device's side; both are brought up to
 * date before the kernel is selected, which needs their addresses.  Nothing here raises. */
#include "base/alloc.h"
#include "bindings/kernel/kernel_bind.h"
#include "jit/configure.h"
#include "runtime/mirror.h"

typedef struct run {
  roc_kernel_box *box;
  roc_rt_stream *stream;
  roc_jit_spec *spec;
  roc_error *err;
} run;

void roc_kernel_drop_temporaries(roc_kernel_box *box) {
  for (uint32_t i = 0; box->kernel && i < box->kernel->nparams; i++) {
    roc_buffer_release(box->stages[i].temporary);
    box->stages[i].temporary = NULL;
  }
}

/* What the kernel does to the arrays of a group. */
typedef struct group_stores {
  bool any;     /* stores to some of them */
  bool copies;  /* and has to copy them back to the host */
  bool scratch; /* stores to one that must not change on the host */
} group_stores;

static group_stores stores_of(const run *r, uint32_t leader) {
  group_stores g = {0};
  for (uint32_t i = leader; i < r->box->kernel->nparams; i++) {
    const roc_kernel_stage *s = &r->box->stages[i];
    if (!s->host || s->leader != leader || !roc_jit_spec_writes(r->spec, i)) continue;
    g.any = true;
    g.copies |= s->copies_out;
    g.scratch |= !s->copies_out;
  }
  return g;
}

/* The array can be used instead of a copy: it has the layout of one, and no store would have to be
 * undone where the launch fails. */
static bool can_use_in_place(const run *r, uint32_t leader) {
  const roc_kernel_stage *s = &r->box->stages[leader];
  if (!roc_rt_device_driver(r->spec->device)->props.host_memory) return false;
  if (!s->is_shared && !roc_array_is_c_contiguous(s->host) && !roc_array_is_f_contiguous(s->host))
    return false;
  if (s->is_new && !s->is_shared) return true;
  group_stores g = stores_of(r, leader);
  return !g.any || (!g.scratch && !r->spec->object->has_fault);
}

/* The bytes [*begin, *end) of the whole group, as host addresses. */
static void group_range(const run *r, uint32_t leader, roc_devptr *begin, roc_devptr *end) {
  roc_array_range(r->box->stages[leader].host, begin, end);
  for (uint32_t i = leader + 1; i < r->box->kernel->nparams; i++) {
    const roc_kernel_stage *s = &r->box->stages[i];
    if (!s->host || s->leader != leader) continue;
    roc_devptr b, e;
    roc_array_range(s->host, &b, &e);
    if (b < *begin) *begin = b;
    if (e > *end) *end = e;
  }
}

/* The block's bytes are aligned like the host's, so that elements stay aligned. */
enum { BLOCK_ALIGNMENT = 64 };

/* The group's bytes as arrays of uint8: on the host and in its block. */
static void group_bytes(const run *r, uint32_t leader, roc_array *host, roc_array *block) {
  const roc_kernel_stage *s = &r->box->stages[leader];
  roc_devptr begin, end;
  group_range(r, leader, &begin, &end);
  *host = (roc_array){.buffer = s->host->buffer, .dtype = ROC_DT_UINT8, .rank = 1, .strides = {1}};
  host->extents[0] = (int64_t)(end - begin);
  host->offset = (int64_t)(begin - roc_buffer_devptr(host->buffer));
  *block = *host;
  block->buffer = s->temporary;
  block->offset = (int64_t)(begin % BLOCK_ALIGNMENT);
}

static roc_status move_view(run *r, uint32_t i, const roc_array *block, roc_devptr block_begin) {
  roc_kernel_stage *s = &r->box->stages[i];
  int64_t itemsize = (int64_t)roc_dtype_itemsize(s->view.dtype);
  int64_t first =
      (int64_t)(roc_buffer_devptr(s->host->buffer) - block_begin) + s->host->offset * itemsize;
  if (first % itemsize != 0) {
    return roc_fail(r->err, ROC_INVALID,
                    "argument #%u of kernel '%s' shares memory with another and is not aligned to "
                    "its elements; "
                    "pass a copy",
                    i + 1, r->box->kernel->name);
  }
  s->view.buffer = block->buffer;
  s->view.offset = first / itemsize;
  return ROC_OK;
}

static roc_status stage_shared(run *r, uint32_t leader) {
  roc_kernel_box *box = r->box;
  roc_array host, block;
  group_bytes(r, leader, &host, &block);
  size_t nbytes = (size_t)host.extents[0] + BLOCK_ALIGNMENT;
  ROC_TRY(
      roc_buffer_create_device(r->spec->device, nbytes, &box->stages[leader].temporary, r->err));
  block.buffer = box->stages[leader].temporary;
  roc_devptr block_begin = roc_buffer_devptr(host.buffer) + (uint64_t)(host.offset - block.offset);
  for (uint32_t i = leader; i < box->kernel->nparams; i++) {
    if (!box->stages[i].host || box->stages[i].leader != leader) continue;
    ROC_TRY(move_view(r, i, &block, block_begin));
  }
  return roc_rt_copy(r->stream, &block, &host, r->err);
}

static roc_status stage_single(run *r, uint32_t i) {
  roc_kernel_stage *s = &r->box->stages[i];
  ROC_TRY(
      roc_buffer_create_device(r->spec->device, roc_array_nbytes(s->host), &s->temporary, r->err));
  s->view.buffer = s->temporary;
  s->view.offset = 0;
  return s->copies_in ? roc_rt_copy(r->stream, &s->view, s->host, r->err) : ROC_OK;
}

static roc_status stage_in(run *r) {
  for (uint32_t i = 0; i < r->box->kernel->nparams; i++) {
    roc_kernel_stage *s = &r->box->stages[i];
    if (!s->host || s->leader != i) continue;
    if (can_use_in_place(r, i)) {
      if (!s->is_shared) s->view = *s->host;
    } else {
      ROC_TRY(s->is_shared ? stage_shared(r, i) : stage_single(r, i));
    }
  }
  return ROC_OK;
}

/* `reports`: also raises the failures of other work of the stream. */
static roc_status stage_out(run *r, bool reports) {
  bool queued = false;
  for (uint32_t i = 0; i < r->box->kernel->nparams; i++) {
    roc_kernel_stage *s = &r->box->stages[i];
    if (!s->temporary || !stores_of(r, i).copies) continue;
    roc_array host = *s->host, block = s->view;
    if (s->is_shared) group_bytes(r, i, &host, &block);
    ROC_TRY(roc_rt_copy(r->stream, &host, &block, r->err));
    queued = true;
  }
  if (!queued) return ROC_OK;
  return reports ? roc_rt_stream_synchronize(r->stream, r->err)
                 : roc_rt_stream_settle(r->stream, NULL);
}

/* After the launch is queued: where it writes, the host's side is stale. */
static void mark_mirrors(const run *r) {
  for (uint32_t i = 0; i < r->box->kernel->nparams; i++) {
    const roc_array *a = r->box->stages[i].direct;
    if (!a || !roc_buffer_is_mirrored(a->buffer) || !roc_jit_spec_writes(r->spec, i)) continue;
    roc_mirror_mark(a->buffer, ROC_SIDE_DEVICE, NULL); /* fails only without a device's side */
  }
}

/* Plain host arrays are copied by the host: it first waits for the work of other streams that uses
 * them. */
static roc_status await_hosts(run *r) {
  for (uint32_t i = 0; i < r->box->kernel->nparams; i++) {
    const roc_kernel_stage *s = &r->box->stages[i];
    if (!s->host) continue;
    bool writes = s->copies_out && roc_jit_spec_writes(r->spec, i);
    if (writes && roc_buffer_is_read_only(s->host->buffer)) {
      return roc_rt_fail_read_only_use(r->box->kernel->name, r->err);
    }
    if (!roc_buffer_is_busy(s->host->buffer, writes)) continue;
    ROC_TRY(roc_buffer_wait(s->host->buffer, writes, r->err));
  }
  return ROC_OK;
}

static roc_status run_with_hosts(run *r, const roc_jit_launch *launch) {
  roc_ticket ticket = 0;
  roc_jit_launch staged = *launch;
  staged.has_moved = true;
  ROC_TRY(await_hosts(r));
  ROC_TRY(stage_in(r));
  ROC_TRY(roc_jit_kernel_launch(r->box->kernel, r->spec, r->stream, &staged, &ticket, r->err));
  if (r->box->ndirect > 0) mark_mirrors(r);
  bool failed = false;
  roc_status status = roc_rt_stream_wait_launch(r->stream, ticket, &failed, r->err);
  if (failed) return status;
  if (status == ROC_OK) return stage_out(r, true);
  /* Another launch's fault is reported; this launch had none. */
  r->err = NULL;
  stage_out(r, false);
  return status;
}

/* ---- captured host arrays ---- */

void roc_kernel_drop_constants(roc_kernel_box *box) {
  for (uint32_t i = 0; i < box->nconstants; i++) roc_array_release(&box->constants[i].copy);
  roc_free(box->constants);
  box->constants = NULL;
  box->nconstants = 0;
}

static roc_status copy_constant(roc_kernel_constant *c, roc_rt_stream *stream, roc_error *err) {
  roc_rt_device *device = roc_rt_stream_device(stream);
  roc_array_release(&c->copy);
  c->device = NULL;
  c->copy = *c->host; /* C order, packed: it is a copy itself */
  c->copy.offset = 0;
  c->copy.buffer = NULL;
  ROC_TRY(roc_buffer_create_device(device, roc_array_nbytes(c->host), &c->copy.buffer, err));
  /* Complete for all streams, without waiting for the work queued on this one. */
  ROC_TRY(roc_rt_copy_now(roc_rt_stream_session(stream), &c->copy, c->host, err));
  c->device = device;
  return ROC_OK;
}

static roc_status list_constants(roc_kernel_box *box, roc_error *err) {
  const roc_jit_program *p = box->kernel->program;
  if (box->constants) return ROC_OK;
  box->constants = roc_zalloc(p->narrays * sizeof *box->constants);
  if (!box->constants)
    return roc_fail(err, ROC_OOM, "out of memory in a launch of kernel '%s'", box->kernel->name);
  box->nconstants = p->narrays;
  for (uint32_t i = 0; i < p->narrays; i++) {
    if (p->arrays[i].is_constant) box->constants[i].host = p->arrays[i].value.array;
  }
  return ROC_OK;
}

/* Chooses what the device uses for the captured host arrays: their own memory, or copies made
 * once. */
static roc_status place_constants(roc_kernel_box *box, roc_rt_stream *stream, roc_error *err) {
  roc_jit_program *p = box->kernel->program;
  if (p->narrays == 0) return ROC_OK;
  ROC_TRY(list_constants(box, err));
  roc_rt_device *device = roc_rt_stream_device(stream);
  bool in_place = roc_rt_device_driver(device)->props.host_memory;
  for (uint32_t i = 0; i < box->nconstants; i++) {
    roc_kernel_constant *c = &box->constants[i];
    if (!c->host) continue;
    if (!in_place && c->device != device) ROC_TRY(copy_constant(c, stream, err));
    p->arrays[i].value.array = in_place ? c->host : &c->copy;
  }
  return ROC_OK;
}

/* ---- registered and mirrored arrays ---- */

/* Plain host arrays may be used in place, which is decided when the kernel is known. */
static void mark_hosts(roc_kernel_box *box, roc_rt_device *device) {
  bool is_host_memory = roc_jit_is_host_memory(device);
  for (uint32_t i = 0; i < box->kernel->nparams; i++) {
    if (box->stages[i].host) box->kernel->values[i].is_host_memory = is_host_memory;
  }
}

static roc_status place_direct(roc_kernel_box *box, roc_rt_device *device, roc_error *err) {
  for (uint32_t i = 0; i < box->kernel->nparams; i++) {
    roc_kernel_stage *s = &box->stages[i];
    if (!s->direct) continue;
    ROC_TRY(roc_jit_place(s->direct, device, &s->view, &box->kernel->values[i], err));
  }
  return ROC_OK;
}

static roc_status launch_without_hosts(run *r, const roc_jit_launch *launch) {
  roc_ticket ticket;
  ROC_TRY(roc_jit_kernel_launch(r->box->kernel, r->spec, r->stream, launch, &ticket, r->err));
  if (r->box->ndirect > 0) mark_mirrors(r);
  return ROC_OK;
}

roc_status roc_kernel_run(roc_kernel_box *box, roc_rt_stream *stream, const roc_jit_launch *launch,
                          bool *out_is_later, roc_error *err) {
  run r = {.box = box, .stream = stream, .err = err};
  ROC_TRY(place_constants(box, stream, err));
  if (box->ndirect > 0) ROC_TRY(place_direct(box, roc_rt_stream_device(stream), err));
  if (box->nhosts > 0) mark_hosts(box, roc_rt_stream_device(stream));
  if (out_is_later) {
    *out_is_later = !roc_jit_kernel_is_ready(box->kernel, roc_rt_stream_device(stream), launch);
    if (*out_is_later) return ROC_OK;
  }
  ROC_TRY(roc_jit_kernel_select(box->kernel, roc_rt_stream_device(stream), launch, &r.spec, err));
  if (box->nhosts == 0) return launch_without_hosts(&r, launch);
  roc_status status = run_with_hosts(&r, launch);
  roc_kernel_drop_temporaries(box);
  return status;
}
