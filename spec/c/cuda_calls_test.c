/* The cuda driver between its ops and the driver library: what it asks of it, in which order, and
 * what becomes of it when any call fails.
 *
 * The library is the stand-in of fake_cuda.h, which runs no kernel; ROCLUA_CUDA_LIBRARY names it.
 * Usage: cuda_calls_test TEST; exit status 0 and "ok TEST", or a message and 1.  Without arguments
 * lists the tests. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bulk.h"
#include "base/nvptx_abi.h"
#include "device/common/common.h"
#include "cuda_fixture.h"
#include "scatter_views.h"

/* ---- properties ----------------------------------------------------------------------------- */

static void test_properties(void) {
  open_device();
  const roc_device_props *p = &device->props;
  CHECK(strcmp(p->name, "stand-in 0") == 0 && strcmp(p->arch, "sm_90") == 0);
  CHECK(p->wavefront_size == 32 && p->compute_units == 4 && p->max_workgroup == 1024);
  CHECK(p->max_workgroup_dim[0] == 1024 && p->max_workgroup_dim[2] == 64);
  CHECK(p->shared_bytes == 227 << 10 && p->memory_total == (uint64_t)1 << 30 && !p->host_memory);
  CHECK(ops->memory_free(device) == ((uint64_t)1 << 29) + 4096);
  roc_devptr block;
  CHECK(ops->alloc(device, (size_t)2 << 30, &block, &err) == ROC_OOM);
  CHECK(strstr(err.message, "device 'stand-in 0' has no 2147483648 bytes to give"));
  roc_device *other;
  CHECK(ops->open(2, &other, &err) == ROC_UNAVAILABLE);
  close_device();
}

/* ---- copies ---------------------------------------------------------------------------------- */

enum { BIG = 9 << 20 };

/* Host memory of each kind that there is. */
typedef struct host_block {
  unsigned char *memory;
  void *pinned, *registered;
} host_block;

static host_block new_host_block(int kind, size_t nbytes) {
  host_block b = {NULL, NULL, NULL};
  roc_devptr mapped;
  if (kind == 1) {
    OK(ops->alloc_host(device, nbytes, &b.pinned, &err));
    b.memory = b.pinned;
    return b;
  }
  b.memory = malloc(nbytes);
  CHECK(b.memory);
  if (kind == 2) {
    b.registered = b.memory;
    OK(ops->host_register(device, b.memory, nbytes, &mapped, &err));
    CHECK(mapped == address_of(b.memory));
  }
  return b;
}

static void delete_host_block(host_block *b) {
  if (b->registered) ops->host_unregister(device, b->registered);
  if (b->pinned) {
    ops->free_host(device, b->pinned);
  } else {
    free(b->memory);
  }
}

/* To the device and back by way of a second block, all queued at once. */
static void copy_around(roc_dev_stream *stream, int kind, size_t nbytes, size_t offset) {
  host_block from = new_host_block(kind, nbytes + offset + 1);
  host_block to = new_host_block(kind, nbytes + offset + 1);
  roc_devptr a, b;
  roc_ticket ticket;
  OK(ops->alloc(device, nbytes + offset + 1, &a, &err));
  OK(ops->alloc(device, nbytes + offset + 1, &b, &err));
  for (size_t i = 0; i < nbytes; i++) from.memory[offset + i] = (unsigned char)roc_draw(256);
  memset(to.memory, 0, nbytes + offset);
  OK(ops->copy(stream, a + offset, address_of(from.memory + offset), nbytes, ROC_COPY_H2D, &ticket,
               &err));
  OK(ops->copy(stream, b + offset, a + offset, nbytes, ROC_COPY_D2D, &ticket, &err));
  OK(ops->copy(stream, address_of(to.memory + offset), b + offset, nbytes, ROC_COPY_D2H, &ticket,
               &err));
  await(stream, ticket);
  CHECK(memcmp(to.memory + offset, from.memory + offset, nbytes) == 0);
  ops->free(device, a);
  ops->free(device, b);
  delete_host_block(&from);
  delete_host_block(&to);
}

/* A little pageable memory, after work that does not end: the call returns, and takes the memory as
 * it is when its turn comes. */
static void copy_while_busy(roc_dev_stream *stream) {
  char there[100], back[100] = "";
  roc_devptr block;
  roc_ticket ticket;
  OK(ops->alloc(device, 100, &block, &err));
  fake->hold(true);
  OK(ops->fill(stream, block, "a", 1, 100, &ticket, &err));
  OK(ops->copy(stream, block, address_of(there), 100, ROC_COPY_H2D, &ticket, &err));
  OK(ops->copy(stream, address_of(back), block, 100, ROC_COPY_D2H, &ticket, &err));
  memset(there, 'b', 100);
  fake->hold(false);
  await(stream, ticket);
  CHECK(memcmp(there, back, 100) == 0);
  ops->free(device, block);
}

static void test_copies(void) {
  static const size_t sizes[] = {0, 1, 255, 4096, 65536, 65537, 100000, 1 << 20, BIG};
  open_device();
  roc_dev_stream *stream = new_stream();
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    for (int kind = 0; kind < 3; kind++) {
      copy_around(stream, kind, sizes[i], 0);
      copy_around(stream, kind, sizes[i], 3);
    }
  }
  copy_while_busy(stream);
  ops->stream_destroy(stream);
  close_device();
}

/* What overlaps comes out as if it had not; host to host is the host's, in the stream's order. */
static void test_overlap(void) {
  enum { N = 100000 };
  open_device();
  roc_dev_stream *stream = new_stream();
  unsigned char *there = malloc(N), *back = malloc(N);
  CHECK(there && back);
  for (size_t i = 0; i < N; i++) there[i] = (unsigned char)roc_draw(256);
  roc_devptr block;
  roc_ticket ticket;
  OK(ops->alloc(device, N, &block, &err));
  for (int way = 0; way < 2; way++) {
    roc_devptr dst = block + (way ? 7 : 0), src = block + (way ? 0 : 7);
    OK(ops->copy(stream, block, address_of(there), N, ROC_COPY_H2D, &ticket, &err));
    OK(ops->copy(stream, dst, src, N - 7, ROC_COPY_D2D, &ticket, &err));
    OK(ops->copy(stream, address_of(back), block, N, ROC_COPY_D2H, &ticket, &err));
    OK(ops->copy(stream, address_of(back) + 10, address_of(back), 1000, ROC_COPY_H2D, &ticket,
                 &err));
    await(stream, ticket);
    memmove(there + (dst - block), there + (src - block), N - 7);
    memmove(there + 10, there, 1000);
    CHECK(memcmp(there, back, N) == 0);
  }
  free(there);
  free(back);
  ops->free(device, block);
  ops->stream_destroy(stream);
  close_device();
}

static void test_fills(void) {
  static const size_t sizes[] = {8, 64, 4096, 65536 + 8, 300008};
  static const char *const patterns[] = {"aaaaaaaa", "abababab", "abcdabcd", "abcdefgh"};
  open_device();
  roc_dev_stream *stream = new_stream();
  unsigned char *expected = malloc(400000), *seen = malloc(400000);
  CHECK(expected && seen);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    for (size_t p = 0; p < 4; p++) {
      for (size_t bytes = 1; bytes <= 8; bytes *= 2) {
        for (size_t offset = 0; offset < 24; offset += 8 - (roc_draw(2) ? 5 : 0)) {
          roc_devptr block;
          roc_ticket ticket;
          OK(ops->alloc(device, 400000, &block, &err));
          OK(ops->fill(stream, block, "z", 1, 400000, &ticket, &err));
          OK(ops->fill(stream, block + offset, patterns[p], bytes, sizes[i], &ticket, &err));
          OK(ops->copy(stream, address_of(seen), block, 400000, ROC_COPY_D2H, &ticket, &err));
          await(stream, ticket);
          memset(expected, 'z', 400000);
          roc_fill(expected + offset, patterns[p], bytes, sizes[i]);
          CHECK(memcmp(expected, seen, 400000) == 0);
          OK(ops->fill(stream, address_of(seen), patterns[p], bytes, sizes[i], &ticket, &err));
          await(stream, ticket);
          CHECK(memcmp(seen, expected + offset, sizes[i]) == 0);
          ops->free(device, block);
        }
      }
    }
  }
  free(expected);
  free(seen);
  ops->stream_destroy(stream);
  close_device();
}

/* What a scatter does to a block of zeros, by the driver and by the host. */
static void try_scatter(roc_dev_stream *stream, roc_devptr block, size_t nbytes,
                        roc_dev_scatter s) {
  unsigned char *expected = calloc(1, nbytes), *seen = malloc(nbytes);
  CHECK(expected && seen);
  size_t offset = (size_t)s.dst;
  roc_ticket ticket;
  OK(ops->fill(stream, block, "", 1, nbytes, &ticket, &err));
  s.dst = block + offset;
  OK(ops->scatter(stream, &s, &ticket, &err));
  OK(ops->copy(stream, address_of(seen), block, nbytes, ROC_COPY_D2H, &ticket, &err));
  await(stream, ticket);
  s.dst = address_of(expected) + offset;
  roc_host_scatter(&s);
  CHECK(memcmp(seen, expected, nbytes) == 0);
  free(expected);
  free(seen);
}

static void test_scatter(void) {
  enum { NBYTES = 40 * 7 * 7 * 7 * 7 * 8 };
  open_device();
  roc_dev_stream *stream = new_stream();
  roc_devptr block;
  unsigned char *source = malloc(NBYTES);
  CHECK(source);
  for (size_t i = 0; i < NBYTES; i++) source[i] = (unsigned char)roc_draw(256);
  OK(ops->alloc(device, NBYTES, &block, &err));
  for (int round = 0; round < 200; round++) {
    roc_dev_scatter s = roc_draw_view();
    if (roc_draw(3)) {
      s.src = source;
    } else {
      for (uint32_t i = 0; i < s.element_bytes; i++)
        s.element[i] = (unsigned char)(1 + roc_draw(255));
    }
    try_scatter(stream, block, NBYTES, s);
  }
  roc_dev_scatter long_rows = {.element_bytes = 8,
                               .rank = 2,
                               .extents = {3, 10000},
                               .element = "abcdefg",
                               .dst_steps = {100000, 8}};
  try_scatter(stream, block, NBYTES, long_rows);
  long_rows.src = source;
  long_rows.src_steps[0] = 80000;
  long_rows.src_steps[1] = 8;
  try_scatter(stream, block, NBYTES, long_rows);
  free(source);
  ops->free(device, block);
  ops->stream_destroy(stream);
  close_device();
}

/* From GPU to GPU, on a stream of either. */
static void test_peers(void) {
  enum { N = 70000 };
  open_device();
  roc_device *gpus[2] = {device, NULL};
  OK(ops->open(1, &gpus[1], &err));
  roc_dev_stream *streams[2];
  roc_devptr blocks[2];
  unsigned char *there = malloc(N), *back = malloc(N);
  CHECK(there && back);
  for (int i = 0; i < 2; i++) {
    OK(ops->stream_create(gpus[i], &streams[i], &err));
    OK(ops->alloc(gpus[i], N, &blocks[i], &err));
  }
  for (int i = 0; i < 2; i++) {
    roc_ticket ticket, waiting;
    for (size_t j = 0; j < N; j++) there[j] = (unsigned char)roc_draw(256);
    OK(ops->copy(streams[0], blocks[0], address_of(there), N, ROC_COPY_H2D, &ticket, &err));
    if (i == 1) {
      OK(ops->stream_wait(streams[1], streams[0], ticket, &waiting, &err));
      CHECK(waiting);
    }
    OK(ops->copy(streams[i], blocks[1], blocks[0], N, ROC_COPY_D2D, &ticket, &err));
    OK(ops->copy(streams[i], address_of(back), blocks[1], N, ROC_COPY_D2H, &ticket, &err));
    await(streams[i], ticket);
    CHECK(memcmp(there, back, N) == 0);
  }
  CHECK(fake->calls(FAKE_cuMemPoolSetAccess) == 2);
  fake->lose(0, CUDA_ERROR_ILLEGAL_ADDRESS);
  roc_ticket ticket;
  CHECK(ops->copy(streams[0], blocks[0], address_of(there), N, ROC_COPY_H2D, &ticket, &err) ==
        ROC_LOST);
  CHECK(gpus[0]->is_lost && !gpus[1]->is_lost);
  OK(ops->fill(streams[1], blocks[1], "a", 1, N, &ticket, &err));
  await(streams[1], ticket);
  free(there);
  free(back);
  for (int i = 0; i < 2; i++) {
    ops->free(gpus[i], blocks[i]);
    ops->stream_destroy(streams[i]);
    ops->quiesce(gpus[i]);
    ops->close(gpus[i]);
  }
  check_balance();
}

/* Between the host and the other GPU's memory, before anything went from GPU to GPU. */
static void test_abroad(bool is_reached) {
  enum { N = 70000, MIDDLE = 35000 };
  roc_device *other;
  roc_dev_stream *stream;
  roc_devptr block;
  roc_ticket ticket;
  unsigned char *there = malloc(N), *back = malloc(N);
  CHECK(there && back);
  open_device();
  OK(ops->open(1, &other, &err));
  OK(ops->stream_create(device, &stream, &err));
  OK(ops->alloc(other, N, &block, &err));
  if (!is_reached) fake->fail(FAKE_cuDeviceCanAccessPeer, 1, CUDA_ERROR_INVALID_DEVICE);
  for (size_t j = 0; j < N; j++) there[j] = (unsigned char)roc_draw(256);
  OK(ops->copy(stream, block, address_of(there), N, ROC_COPY_H2D, &ticket, &err));
  OK(ops->copy(stream, address_of(back), block, N, ROC_COPY_D2H, &ticket, &err));
  await(stream, ticket);
  CHECK(memcmp(there, back, N) == 0);
  roc_dev_scatter s = {.dst = block + MIDDLE,
                       .element_bytes = 1,
                       .rank = 1,
                       .extents = {100},
                       .element = "a",
                       .dst_steps = {2}};
  roc_status status = ops->scatter(stream, &s, &ticket, &err);
  if (is_reached) {
    OK(status);
    for (int i = 0; i < 100; i++) there[MIDDLE + 2 * i] = 'a';
  } else {
    CHECK(status == ROC_UNSUPPORTED &&
          strstr(err.message, "cuda:1 does not reach the memory of cuda:2"));
  }
  OK(ops->copy(stream, address_of(back), block, N, ROC_COPY_D2H, &ticket, &err));
  await(stream, ticket);
  CHECK(memcmp(there, back, N) == 0);
  free(there);
  free(back);
  ops->free(other, block);
  ops->stream_destroy(stream);
  ops->quiesce(other);
  ops->close(other);
  close_device();
}

static void test_far_memory(void) {
  test_abroad(true);
  test_abroad(false);
}

/* ---- registration -------------------------------------------------------------------------------- */

static void test_registration(void) {
  enum { SMALL = 100, N = 64 };
  open_device();
  unsigned char *page = aligned_alloc(4096, 16384);
  CHECK(page);
  roc_devptr mapped;
  for (int round = 0; round < 3; round++) { /* arrays that share pages, in any order */
    for (int i = 0; i < N; i++) {
      OK(ops->host_register(device, page + i * SMALL, SMALL, &mapped, &err));
    }
    OK(ops->host_register(device, page, 16384, &mapped, &err));
    OK(ops->host_register(device, page + 5000, 9000, &mapped, &err));
    for (int i = 0; i < N; i++) {
      int which = round == 1 ? N - 1 - i : i * 7 % N;
      ops->host_unregister(device, page + which * SMALL);
      if (round == 0 && i == N / 2) ops->host_unregister(device, page + 5000);
    }
    if (round > 0) ops->host_unregister(device, page + 5000);
    CHECK(fake->live(FAKE_REGISTERED) > 0);
    if (round == 2) { /* a copy of what is page-locked in several runs */
      roc_dev_stream *stream = new_stream();
      roc_ticket ticket;
      roc_devptr block;
      unsigned char back[16384];
      OK(ops->alloc(device, 16384, &block, &err));
      for (int i = 0; i < 16384; i++) page[i] = (unsigned char)roc_draw(256);
      OK(ops->fill(stream, block, "a", 1, 16384, &ticket, &err));
      OK(ops->copy(stream, block, address_of(page), 16384, ROC_COPY_H2D, &ticket, &err));
      OK(ops->copy(stream, address_of(back), block, 16384, ROC_COPY_D2H, &ticket, &err));
      await(stream, ticket);
      CHECK(memcmp(page, back, sizeof back) == 0);
      ops->free(device, block);
      ops->stream_destroy(stream);
    }
    ops->host_unregister(device, page);
    CHECK(fake->live(FAKE_REGISTERED) == 0);
  }
  free(page);
  close_device();
}

/* Memory of which another library has page-locked a part, or all. */
static void test_partly_registered(void) {
  open_device();
  CUcontext context;
  roc_devptr mapped;
  CHECK(roc_cuda.cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
  roc_cuda.cuCtxPushCurrent(context);
  char *page = aligned_alloc(4096, 5 * 4096);
  CHECK(page);
  CHECK(roc_cuda.cuMemHostRegister(page + 4096, 4096, 0) == CUDA_SUCCESS);
  CHECK(ops->host_register(device, page, 5 * 4096, &mapped, &err) == ROC_INVALID);
  CHECK(strstr(err.message, "another library has page-locked a part of them"));
  CHECK(fake->live(FAKE_REGISTERED) == 1);
  OK(ops->host_register(device, page + 4096 + 100, 8, &mapped, &err));
  ops->host_unregister(device, page + 4096 + 100);
  CHECK(roc_cuda.cuMemHostUnregister(page + 4096) == CUDA_SUCCESS);
  /* all that an array has in common with the pages, which the other's two ranges have */
  CHECK(roc_cuda.cuMemHostRegister(page + 200, 4096 - 200, 0) == CUDA_SUCCESS);
  CHECK(roc_cuda.cuMemHostRegister(page + 4096, 4 * 4096 - 300, 0) == CUDA_SUCCESS);
  OK(ops->host_register(device, page, 5 * 4096, &mapped, &err));
  ops->host_unregister(device, page);
  CHECK(fake->live(FAKE_REGISTERED) == 2);
  CHECK(roc_cuda.cuMemHostUnregister(page + 200) == CUDA_SUCCESS);
  CHECK(roc_cuda.cuMemHostUnregister(page + 4096) == CUDA_SUCCESS);
  CUcontext popped;
  roc_cuda.cuCtxPopCurrent(&popped);
  roc_cuda.cuDevicePrimaryCtxRelease(0);
  free(page);
  close_device();
}

/* ---- launches -------------------------------------------------------------------------------------- */

static const unsigned char bad_ptx[] = "this is not ptx";

static fake_cuda_launch seen;
static roc_nvptx_hidden hidden;
static int64_t first_argument;
static unsigned fault_at, launch_count;

/* In the place of a kernel: every `fault_at`th leaves a fault, and all print. */
static void note_launch(const fake_cuda_launch *launch) {
  seen = *launch;
  launch_count++;
  memcpy(&first_argument, launch->arguments, sizeof first_argument);
  memcpy(&hidden, launch->arguments + launch->argument_bytes - sizeof hidden, sizeof hidden);
  if (hidden.fault && fault_at && launch_count % fault_at == 0) {
    roc_fault_record *record = fake->look(hidden.fault);
    record->state = record->count = 1;
    record->site = launch_count;
  }
  if (hidden.print) {
    roc_print_buffer *print = fake->look(hidden.print);
    memcpy(print->data + print->used, &launch_count, sizeof launch_count);
    print->used += 4;
  }
}

/* A copy of matrices of float32 in a kernel whose threads can run four work-items. */
typedef struct matrices {
  uint64_t from, to;
  uint32_t from_extents[2], to_extents[2];
} matrices;

static uint32_t coarse_threads(roc_dev_stream *stream, roc_dev_module *module,
                               const matrices *arguments, const roc_ndrange *range) {
  roc_dev_launch work = {.module = module,
                         .kernarg = arguments,
                         .kernarg_bytes = sizeof *arguments,
                         .range = range,
                         .name = "good",
                         .file = "a.lua"};
  roc_ticket ticket;
  OK(ops->launch(stream, &work, &ticket, &err));
  await(stream, ticket);
  CHECK(!(hidden.flags & ROC_NVPTX_COARSE) == (seen.block[0] == range->local[0]));
  CHECK(seen.grid[0] == roc_ndrange_groups(range, 0) && seen.block[1] == range->local[1]);
  return seen.block[0];
}

static void test_coarse_launches(void) {
  open_device();
  fake->on_kernel = note_launch;
  roc_dev_stream *stream = new_stream();
  roc_dev_module *module;
  roc_arg_slot slots[2] = {
      {.type = {.dtype = ROC_DT_FLOAT32, .rank = 2, .layout = ROC_LAYOUT_C, .is_narrow = true},
       .offset = offsetof(matrices, from),
       .extents_offset = offsetof(matrices, from_extents)}};
  slots[1] = slots[0];
  slots[1].offset = offsetof(matrices, to);
  slots[1].extents_offset = offsetof(matrices, to_extents);
  roc_codeobj coarse = object;
  coarse.args = slots;
  coarse.nargs = 2;
  coarse.kernarg_bytes = sizeof(matrices);
  coarse.items_per_thread = 4;
  OK(ops->module_load(device, &coarse, &module, &err));
  const matrices even = {4096, 8192, {10, 1000}, {10, 1000}};
  const roc_ndrange flat = {.grid = {1000, 10, 1}, .local = {256, 1, 1}, .rank = 2};
  CHECK(coarse_threads(stream, module, &even, &flat) == 64);
  CHECK(hidden.flags == (ROC_NVPTX_COARSE | ROC_NVPTX_PARTIAL) && hidden.grid[0] == 1000);
  matrices other = even;
  other.to += 4; /* a view that begins between two accesses */
  CHECK(coarse_threads(stream, module, &other, &flat) == 256);
  other = even;
  other.from_extents[1] = 1001; /* as do its rows */
  CHECK(coarse_threads(stream, module, &other, &flat) == 256);
  other = even;
  other.from_extents[0] = 11;
  CHECK(coarse_threads(stream, module, &other, &flat) == 64);
  slots[0].type.layout = ROC_LAYOUT_F; /* its first dimension is the inner one */
  CHECK(coarse_threads(stream, module, &even, &flat) == 256);
  other.from_extents[0] = 12;
  CHECK(coarse_threads(stream, module, &other, &flat) == 64);
  slots[0].type.layout = ROC_LAYOUT_STRIDED; /* accessed as it was */
  other.from += 4;
  CHECK(coarse_threads(stream, module, &other, &flat) == 64);
  roc_ndrange odd = flat; /* groups that are no multiple of four, or would be few threads */
  odd.local[0] = 250;
  CHECK(coarse_threads(stream, module, &even, &odd) == 250);
  odd.local[0] = 128;
  CHECK(coarse_threads(stream, module, &even, &odd) == 128);
  odd.local[1] = 2;
  CHECK(coarse_threads(stream, module, &even, &odd) == 32);
  coarse.items_per_thread = 1;
  CHECK(coarse_threads(stream, module, &even, &flat) == 256);
  ops->module_unload(device, module);
  ops->stream_destroy(stream);
  close_device();
}

static void test_launches(void) {
  open_device();
  fake->on_kernel = note_launch;
  roc_dev_stream *stream = new_stream();
  roc_dev_module *module;
  roc_ticket ticket;
  OK(ops->module_load(device, &object, &module, &err));
  OK(launch_on(stream, module, &line, 42, NULL, NULL, &ticket));
  await(stream, ticket);
  CHECK(seen.grid[0] == 16 && seen.block[0] == 64 && seen.shared_bytes == 0);
  CHECK(first_argument == 42 && seen.argument_bytes == 8 + sizeof hidden);
  CHECK(hidden.flags == ROC_NVPTX_PARTIAL && hidden.groups[0] == 16 && hidden.fault == 0);
  CHECK(hidden.counter && *(uint32_t *)fake->look(hidden.counter) == 0);
  roc_ndrange high = {.grid = {2, 100000, 3}, .local = {1, 1, 1}, .rank = 3};
  OK(launch_on(stream, module, &high, 1, NULL, NULL, &ticket));
  await(stream, ticket);
  CHECK(hidden.flags == ROC_NVPTX_FOLDED && seen.grid[0] == 2 && seen.grid[1] == 65535 &&
        seen.grid[2] == 5);
  roc_ndrange shared = line;
  shared.dynamic_shared_bytes = 200 << 10;
  OK(launch_on(stream, module, &shared, 1, NULL, NULL, &ticket));
  OK(launch_on(stream, module, &shared, 1, NULL, NULL, &ticket));
  await(stream, ticket);
  CHECK(seen.shared_bytes == 200 << 10 && fake->calls(FAKE_cuFuncSetAttribute) == 1);
  ops->module_unload(device, module);
  /* Too many work-items for its registers. */
  roc_codeobj large = object;
  large.entry = "large";
  OK(ops->module_load(device, &large, &module, &err));
  roc_ndrange wide = {.grid = {512, 1, 1}, .local = {512, 1, 1}, .rank = 1};
  CHECK(launch_on(stream, module, &wide, 1, NULL, NULL, &ticket) == ROC_INVALID);
  CHECK(strstr(err.message, "takes 255 registers each, so 256 are the most"));
  ops->module_unload(device, module);
  /* Code that the driver refuses. */
  roc_codeobj bad = object;
  bad.bytes = bad_ptx;
  bad.nbytes = sizeof bad_ptx;
  CHECK(ops->module_load(device, &bad, &module, &err) == ROC_INTERNAL);
  CHECK(strstr(err.message,
               "PTX that the driver's compiler refuses (CUDA error 218): line 3: syntax"));
  ops->stream_destroy(stream);
  close_device();
}

/* Faults and prints are where the runtime looks for them when a ticket is complete, and only those
 * of the launches that left them. */
static void test_reports(void) {
  enum { LAUNCHES = 2000 };
  open_device();
  fake->on_kernel = note_launch;
  fault_at = 7;
  roc_dev_stream *stream = new_stream();
  roc_dev_module *module;
  roc_ticket ticket, room;
  roc_fault_record *records = calloc(LAUNCHES, sizeof *records);
  CHECK(records);
  OK(ops->module_load(device, &object, &module, &err));
  for (unsigned i = 0; i < LAUNCHES; i++) {
    while (!ops->has_room(stream, module, 8, &room)) await(stream, room);
    OK(launch_on(stream, module, &line, i, i % 3 ? &records[i] : NULL, NULL, &ticket));
    if (roc_draw(50) == 0) await(stream, ticket - roc_draw(3));
  }
  await(stream, ticket);
  for (unsigned i = 0; i < LAUNCHES; i++) {
    bool failed = i % 3 && (i + 1) % fault_at == 0;
    CHECK(records[i].state == failed && (!failed || records[i].site == i + 1));
  }
  free(records);
  fault_at = 0;
  void *memory;
  OK(ops->alloc_host(device, sizeof(roc_print_buffer) + ROC_PRINT_CAPACITY, &memory, &err));
  roc_print_buffer *print = memory;
  for (int i = 0; i < 3; i++) {
    *print = (roc_print_buffer){.capacity = ROC_PRINT_CAPACITY};
    OK(launch_on(stream, module, &line, i, NULL, print, &ticket));
    await(stream, ticket);
    CHECK(print->used == 4 && memcmp(print->data, &launch_count, 4) == 0);
  }
  /* A launch whose output cannot be fetched has failed, and writes no record. */
  roc_fault_record record = {0};
  fault_at = 1;
  fake->fail(FAKE_cuMemcpyAsync, 2, CUDA_ERROR_INVALID_VALUE);
  CHECK(launch_on(stream, module, &line, 0, &record, print, &ticket) != ROC_OK);
  fake->fail(FAKE_cuMemcpyAsync, 0, CUDA_SUCCESS);
  OK(launch_on(stream, module, &line, 0, NULL, NULL, &ticket));
  await(stream, ticket);
  CHECK(record.state == 0);
  fault_at = 0;
  ops->free_host(device, memory);
  ops->module_unload(device, module);
  ops->stream_destroy(stream);
  close_device();
}

/* A launch is one call, without an event or an allocation; an event comes with a wait or query, and once
 * in 64 launches. */
static void test_lazy(void) {
  enum { LAUNCHES = 640, SLICE_NS = 20 * 1000 * 1000 };
  open_device();
  roc_dev_stream *stream = new_stream();
  roc_dev_module *module;
  roc_ticket ticket, known;
  OK(ops->module_load(device, &object, &module, &err));
  OK(launch_on(stream, module, &line, 1, NULL, NULL, &ticket));
  await(stream, ticket);
  uint64_t events = fake->calls(FAKE_cuEventRecord), all = 0;
  int64_t held = roc_alloc_live();
  for (int i = 0; i < 60; i++) OK(launch_on(stream, module, &line, i, NULL, NULL, &ticket));
  CHECK(fake->calls(FAKE_cuEventRecord) == events && roc_alloc_live() == held);
  known = ops->known_done(stream);
  CHECK(known == 1 && fake->calls(FAKE_cuEventRecord) == events);
  await(stream, ticket);
  CHECK(fake->calls(FAKE_cuEventRecord) == events + 1 && ops->known_done(stream) == ticket);
  for (int i = 0; i < FAKE_CALLS; i++) all += fake->calls((fake_cuda_call)i);
  OK(launch_on(stream, module, &line, 1, NULL, NULL, &ticket));
  for (int i = 0; i < FAKE_CALLS; i++) all -= fake->calls((fake_cuda_call)i);
  CHECK(0 - all == 1); /* the launch: its stream says of which context it is */
  events = fake->calls(FAKE_cuEventRecord);
  fake->hold(true);
  for (int i = 0; i < LAUNCHES; i++) {
    if (!ops->has_room(stream, module, 8, &known)) break;
    OK(launch_on(stream, module, &line, i, NULL, NULL, &ticket));
  }
  CHECK(ticket - ops->known_done(stream) == 511 && known < ticket);
  CHECK(fake->calls(FAKE_cuEventRecord) - events <= 511 / 64 + 1);
  bool is_done = true;
  OK(ops->wait(stream, ticket, 3000000, &is_done, &err));
  CHECK(!is_done && !ops->is_done(stream, ticket));
  /* A wait sleeps the longer the more it has waited, in however many slices: from 40 ms on it looks
   * each half millisecond. */
  for (int i = 0; i < 2; i++) OK(ops->wait(stream, ticket, SLICE_NS, &is_done, &err));
  uint64_t looks = fake->calls(FAKE_cuEventQuery);
  OK(ops->wait(stream, ticket, SLICE_NS, &is_done, &err));
  CHECK(!is_done && fake->calls(FAKE_cuEventQuery) - looks <= 42);
  fake->hold(false);
  await(stream, ticket);
  ops->module_unload(device, module);
  ops->stream_destroy(stream);
  close_device();
}

/* What would wait for the device waits on a thread of its own. */
static void test_idle(void) {
  open_device();
  roc_dev_stream *stream = new_stream();
  roc_dev_module *module, *other;
  roc_ticket ticket;
  void *pinned;
  OK(ops->alloc_host(device, 100, &pinned, &err));
  OK(ops->module_load(device, &object, &module, &err));
  OK(ops->module_load(device, &object, &other, &err));
  fake->hold(true);
  OK(launch_on(stream, module, &line, 1, NULL, NULL, &ticket));
  ops->module_unload(device, other);
  ops->free_host(device, pinned);
  roc_devptr block;
  OK(ops->alloc(device, 100, &block, &err));
  ops->free(device, block);
  nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  CHECK(fake->live(FAKE_MODULE) == 2 && fake->live(FAKE_HOST_MEMORY) == 1);
  fake->hold(false);
  await(stream, ticket);
  for (int i = 0; i < 1000 && fake->live(FAKE_MODULE) == 2; i++) {
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
  }
  CHECK(fake->live(FAKE_MODULE) == 1 && fake->live(FAKE_HOST_MEMORY) == 0 && fake->waits() == 0);
  ops->module_unload(device, module);
  ops->stream_destroy(stream);
  close_device();
}

/* ---- contexts ------------------------------------------------------------------------------------------ */

static void *use_on_thread(void *ud) {
  roc_dev_stream *stream = ud;
  CUcontext context = (CUcontext)&context;
  roc_ticket ticket;
  OK(ops->host_call(stream, (void (*)(void *))free, NULL, &ticket, &err));
  await(stream, ticket);
  CHECK(roc_cuda.cuCtxGetCurrent(&context) == CUDA_SUCCESS && !context);
  return NULL;
}

/* Every op leaves the thread's context as it was: none, another one, or the device's own. */
static void test_contexts(void) {
  open_device();
  CUcontext context, ours, theirs;
  CHECK(roc_cuda.cuCtxGetCurrent(&context) == CUDA_SUCCESS && !context);
  CHECK(roc_cuda.cuDevicePrimaryCtxRetain(&ours, 0) == CUDA_SUCCESS);
  CHECK(roc_cuda.cuDevicePrimaryCtxRetain(&theirs, 1) == CUDA_SUCCESS);
  CUcontext each[] = {NULL, theirs, ours};
  for (int i = 0; i < 3; i++) {
    if (each[i]) roc_cuda.cuCtxPushCurrent(each[i]);
    uint64_t pushes = fake->calls(FAKE_cuCtxPushCurrent);
    roc_dev_stream *stream = new_stream();
    roc_dev_module *module;
    roc_devptr block;
    roc_ticket ticket;
    uint64_t time;
    OK(ops->alloc(device, 1000, &block, &err));
    OK(ops->fill(stream, block, "abcdefgh", 8, 1000, &ticket, &err));
    OK(ops->module_load(device, &object, &module, &err));
    OK(launch_on(stream, module, &line, 1, NULL, NULL, &ticket));
    OK(ops->stamp(stream, &time, &ticket, &err));
    await(stream, ticket);
    ops->module_unload(device, module);
    ops->free(device, block);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, use_on_thread, stream) == 0);
    pthread_join(thread, NULL);
    ops->stream_destroy(stream);
    CHECK(roc_cuda.cuCtxGetCurrent(&context) == CUDA_SUCCESS && context == each[i]);
    CHECK((fake->calls(FAKE_cuCtxPushCurrent) == pushes) == false);
  }
  roc_cuda.cuCtxPopCurrent(&context);
  roc_cuda.cuCtxPopCurrent(&context);
  roc_cuda.cuDevicePrimaryCtxRelease(1);
  ops->quiesce(device);
  ops->close(device);
  CHECK(fake->live(FAKE_CONTEXT) == 1 && fake->live(FAKE_STREAM) == 0); /* ours is still held */
  roc_cuda.cuDevicePrimaryCtxRelease(0);
  check_balance();
}

/* ---- streams of other libraries ---- */

static char turns[8];

static void note_turn(void *turn) {
  strncat(turns, turn, 1);
}

/* A stream of another library: the work of both runs in its order, and it stays that library's. */
static void test_adopted(void) {
  open_device();
  CUcontext ours, theirs, popped;
  CUstream native, foreign;
  roc_dev_stream *stream, *wrong = NULL;
  roc_ticket ticket;
  CHECK(roc_cuda.cuDevicePrimaryCtxRetain(&ours, 0) == CUDA_SUCCESS);
  CHECK(roc_cuda.cuDevicePrimaryCtxRetain(&theirs, 1) == CUDA_SUCCESS);
  roc_cuda.cuCtxPushCurrent(theirs);
  CHECK(roc_cuda.cuStreamCreate(&foreign, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  roc_cuda.cuCtxPopCurrent(&popped);
  CHECK(ops->stream_adopt(device, foreign, &wrong, &err) == ROC_INVALID && !wrong);
  CHECK(strstr(err.message, "CUstream of the device's primary context"));
  static const uintptr_t no_streams[] = {8, 4096, 1ull << 46, UINTPTR_MAX};
  for (size_t i = 0; i < sizeof no_streams / sizeof *no_streams; i++) {
    CHECK(ops->stream_adopt(device, (void *)no_streams[i], &wrong, &err) == ROC_INVALID && !wrong);
  }
  roc_cuda.cuCtxPushCurrent(ours);
  CHECK(roc_cuda.cuStreamCreate(&native, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  fake->hold(true);
  CHECK(roc_cuda.cuLaunchHostFunc(native, note_turn, "a") == CUDA_SUCCESS);
  OK(ops->stream_adopt(device, native, &stream, &err));
  OK(ops->host_call(stream, note_turn, "b", &ticket, &err));
  CHECK(roc_cuda.cuLaunchHostFunc(native, note_turn, "c") == CUDA_SUCCESS);
  CHECK(!ops->is_done(stream, ticket) && turns[0] == 0);
  fake->hold(false);
  await(stream, ticket);
  OK(ops->host_call(stream, note_turn, "d", &ticket, &err));
  await(stream, ticket);
  CHECK(strcmp(turns, "abcd") == 0);
  ops->stream_destroy(stream);
  CHECK(roc_cuda.cuStreamQuery(native) == CUDA_SUCCESS);
  CHECK(roc_cuda.cuStreamDestroy(native) == CUDA_SUCCESS);
  roc_cuda.cuCtxPopCurrent(&popped);
  roc_cuda.cuCtxPushCurrent(theirs);
  CHECK(roc_cuda.cuStreamDestroy(foreign) == CUDA_SUCCESS);
  roc_cuda.cuCtxPopCurrent(&popped);
  roc_cuda.cuDevicePrimaryCtxRelease(1);
  roc_cuda.cuDevicePrimaryCtxRelease(0);
  close_device();
}

/* ---- time ------------------------------------------------------------------------------------------------ */

static void test_times(void) {
  open_device();
  roc_dev_stream *streams[2] = {new_stream(), new_stream()};
  uint64_t times[400];
  roc_ticket ticket;
  for (int i = 0; i < 400; i++) {
    OK(ops->stamp(streams[i % 2], &times[i], &ticket, &err));
    await(streams[i % 2], ticket);
  }
  for (int i = 1; i < 400; i++) { /* the stand-in's clock goes on by 0.25 ms an event */
    uint64_t d = times[i] - times[i - 1];
    CHECK(d >= 250000 && d <= 500100);
  }
  for (int i = 0; i < 2; i++) ops->stream_destroy(streams[i]);
  close_device();
}

/* ---- losses ---- */

/* A loss: the kernels that may have done it are named, waits end, and every op says the same. */
static void test_loss(void) {
  open_device();
  roc_dev_stream *a = new_stream(), *b = new_stream();
  roc_dev_module *module;
  roc_ticket ticket, last;
  roc_devptr block;
  bool is_done;
  OK(ops->module_load(device, &object, &module, &err));
  OK(launch_on(a, module, &line, 1, NULL, NULL, &ticket));
  await(a, ticket);
  fake->hold(true);
  for (int i = 0; i < 3; i++) OK(launch_on(a, module, &line, 7, NULL, NULL, &ticket));
  OK(launch_on(b, module, &line, 9, NULL, NULL, &last));
  fake->lose(0, CUDA_ERROR_ILLEGAL_ADDRESS);
  fake->hold(false);
  CHECK(ops->wait(a, ticket, -1, &is_done, &err) == ROC_LOST);
  CHECK(strstr(err.message, "an illegal access to memory (CUDA error 700)"));
  const char *by = device->lost_by;
  CHECK(strstr(by, "kernel 'good' launched at a.lua:7") && strstr(by, "launched at a.lua:9"));
  CHECK(!strstr(by, "a.lua:1 ") && strstr(by, " or ") && strlen(by) < 90);
  CHECK(ops->wait(b, last, -1, &is_done, &err) == ROC_LOST);
  CHECK(ops->alloc(device, 100, &block, &err) == ROC_LOST);
  CHECK(launch_on(a, module, &line, 1, NULL, NULL, &ticket) == ROC_LOST);
  CHECK(ops->stream_create(device, &a, &err) == ROC_LOST);
  CHECK(ops->reset(device, &err) == ROC_UNSUPPORTED);
  ops->module_unload(device, module);
  ops->stream_destroy(a);
  ops->stream_destroy(b);
  close_device();
}

/* ---- the tests --------------------------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  void (*run)(void);
} tests[] = {
    {"properties", test_properties},
    {"copies", test_copies},
    {"overlap", test_overlap},
    {"fills", test_fills},
    {"scatter", test_scatter},
    {"peers", test_peers},
    {"far_memory", test_far_memory},
    {"registration", test_registration},
    {"partly_registered", test_partly_registered},
    {"launches", test_launches},
    {"coarse_launches", test_coarse_launches},
    {"reports", test_reports},
    {"lazy", test_lazy},
    {"idle", test_idle},
    {"contexts", test_contexts},
    {"adopted", test_adopted},
    {"times", test_times},

    {"loss", test_loss},
};

int main(int argc, char **argv) {
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
    if (argc < 2) {
      puts(tests[i].name);
    } else if (strcmp(argv[1], tests[i].name) == 0) {
      find_fake();
      tests[i].run();
      printf("ok %s\n", tests[i].name);
      return EXIT_SUCCESS;
    }
  }
  return argc < 2 ? EXIT_SUCCESS : EXIT_FAILURE;
}
