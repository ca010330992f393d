/* The hsa driver between its ops and ROCR: which of ROCR's functions it calls, how often, and what
 * becomes of it when one of them fails.
 *
 * The driver's table of ROCR's functions is filled once; here each that can fail is replaced by one
 * that counts, and fails when its time has come.  Usage: hsa_calls_test TEST GOOD SYMBOL, with a
 * code object for gfx90a; exit status 0 and "ok TEST", or a message and 1.  Without arguments lists
 * the tests.  The GPU is the one of ROCLUA_EMULATE. */
#include <grp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "device/common/common.h"
#include "device/hsa/absent.h"
#include "hsa_fixture.h"
#include "scatter_views.h"

static roc_codeobj object;

/* ---- ROCR with a counter ------------------------------------------------- */

/* NAME, parameters, arguments: what returns a status. */
#define CALLS(X)                                                                                  \
  X(hsa_init, (void), ())                                                                         \
  X(hsa_system_get_info, (hsa_system_info_t a, void *b), (a, b))                                  \
  X(hsa_iterate_agents, (hsa_status_t(*a)(hsa_agent_t, void *), void *b), (a, b))                 \
  X(hsa_agent_get_info, (hsa_agent_t a, hsa_agent_info_t b, void *c), (a, b, c))                  \
  X(hsa_agent_iterate_isas, (hsa_agent_t a, hsa_status_t(*b)(hsa_isa_t, void *), void *c),        \
    (a, b, c))                                                                                    \
  X(hsa_isa_get_info_alt, (hsa_isa_t a, hsa_isa_info_t b, void *c), (a, b, c))                    \
  X(hsa_queue_create,                                                                             \
    (hsa_agent_t a, uint32_t b, hsa_queue_type32_t c,                                             \
     void (*d)(hsa_status_t, hsa_queue_t *, void *), void *e, uint32_t f, uint32_t g,             \
     hsa_queue_t **h),                                                                            \
    (a, b, c, d, e, f, g, h))                                                                     \
  X(hsa_signal_create, (hsa_signal_value_t a, uint32_t b, const hsa_agent_t *c, hsa_signal_t *d), \
    (a, b, c, d))                                                                                 \
  X(hsa_code_object_reader_create_from_memory,                                                    \
    (const void *a, size_t b, hsa_code_object_reader_t *c), (a, b, c))                            \
  X(hsa_executable_create_alt,                                                                    \
    (hsa_profile_t a, hsa_default_float_rounding_mode_t b, const char *c, hsa_executable_t *d),   \
    (a, b, c, d))                                                                                 \
  X(hsa_executable_load_agent_code_object,                                                        \
    (hsa_executable_t a, hsa_agent_t b, hsa_code_object_reader_t c, const char *d,                \
     hsa_loaded_code_object_t *e),                                                                \
    (a, b, c, d, e))                                                                              \
  X(hsa_executable_freeze, (hsa_executable_t a, const char *b), (a, b))                           \
  X(hsa_executable_get_symbol_by_name,                                                            \
    (hsa_executable_t a, const char *b, const hsa_agent_t *c, hsa_executable_symbol_t *d),        \
    (a, b, c, d))                                                                                 \
  X(hsa_executable_symbol_get_info,                                                               \
    (hsa_executable_symbol_t a, hsa_executable_symbol_info_t b, void *c), (a, b, c))              \
  X(hsa_amd_agent_iterate_memory_pools,                                                           \
    (hsa_agent_t a, hsa_status_t(*b)(hsa_amd_memory_pool_t, void *), void *c), (a, b, c))         \
  X(hsa_amd_memory_pool_get_info,                                                                 \
    (hsa_amd_memory_pool_t a, hsa_amd_memory_pool_info_t b, void *c), (a, b, c))                  \
  X(hsa_amd_memory_pool_allocate, (hsa_amd_memory_pool_t a, size_t b, uint32_t c, void **d),      \
    (a, b, c, d))                                                                                 \
  X(hsa_amd_agent_memory_pool_get_info,                                                           \
    (hsa_agent_t a, hsa_amd_memory_pool_t b, hsa_amd_agent_memory_pool_info_t c, void *d),        \
    (a, b, c, d))                                                                                 \
  X(hsa_amd_agents_allow_access,                                                                  \
    (uint32_t a, const hsa_agent_t *b, const uint32_t *c, const void *d), (a, b, c, d))           \
  X(hsa_amd_memory_lock, (void *a, size_t b, hsa_agent_t *c, int d, void **e), (a, b, c, d, e))   \
  X(hsa_amd_memory_async_copy,                                                                    \
    (void *a, hsa_agent_t b, const void *c, hsa_agent_t d, size_t e, uint32_t f,                  \
     const hsa_signal_t *g, hsa_signal_t h),                                                      \
    (a, b, c, d, e, f, g, h))                                                                     \
  X(hsa_amd_memory_async_copy_rect,                                                               \
    (const hsa_pitched_ptr_t *a, const hsa_dim3_t *b, const hsa_pitched_ptr_t *c,                 \
     const hsa_dim3_t *d, const hsa_dim3_t *e, hsa_agent_t f, hsa_amd_copy_direction_t g,         \
     uint32_t h, const hsa_signal_t *i, hsa_signal_t j),                                          \
    (a, b, c, d, e, f, g, h, i, j))                                                               \
  X(hsa_amd_memory_fill, (void *a, uint32_t b, size_t c), (a, b, c))                              \
  X(hsa_amd_pointer_info,                                                                         \
    (const void *a, hsa_amd_pointer_info_t *b, void *(*c)(size_t), uint32_t *d, hsa_agent_t **e), \
    (a, b, c, d, e))                                                                              \
  X(hsa_amd_profiling_set_profiler_enabled, (hsa_queue_t * a, int b), (a, b))                     \
  X(hsa_amd_profiling_get_dispatch_time,                                                          \
    (hsa_agent_t a, hsa_signal_t b, hsa_amd_profiling_dispatch_time_t * c), (a, b, c))            \
  X(hsa_amd_register_system_event_handler, (hsa_amd_system_event_callback_t a, void *b), (a, b))

typedef enum call {
#define ENUM(name, params, args) CALL_##name,
  CALLS(ENUM)
#undef ENUM
      CALL_COUNT
} call;

static const char *const names[] = {
#define NAME(name, params, args) #name,
    CALLS(NAME)
#undef NAME
};

static _Atomic uint64_t counts[CALL_COUNT];
static struct {
  call which;
  _Atomic int64_t fail_in; /* 0: not armed; negative: from now on always */
  hsa_status_t status;
} plan;

static bool is_due(call which) {
  atomic_fetch_add(&counts[which], 1);
  if (plan.which != which || plan.fail_in == 0) return false;
  return plan.fail_in < 0 || atomic_fetch_sub(&plan.fail_in, 1) == 1;
}

#define WRAP(name, params, args)                 \
  static hsa_status_t count_##name params {      \
    if (is_due(CALL_##name)) return plan.status; \
    return real.name args;                       \
  }
CALLS(WRAP)
#undef WRAP

static void wrap_calls(void) {
  load_rocr();
#define REPLACE(name, params, args) roc_hsa.name = count_##name;
  CALLS(REPLACE)
#undef REPLACE
}

static void clear_counts(void) {
  for (int i = 0; i < CALL_COUNT; i++) atomic_store(&counts[i], 0);
}

static uint64_t copies(void) {
  return counts[CALL_hsa_amd_memory_async_copy] + counts[CALL_hsa_amd_memory_async_copy_rect];
}

/* ---- scatters ------------------------------------------------------------ */

/* A block of the device, and what it is to hold. */
typedef struct board {
  roc_dev_stream *stream;
  roc_devptr block;
  unsigned char *expected, *seen, *source;
  size_t nbytes;
} board;

static board new_board(size_t nbytes) {
  board b = {.nbytes = nbytes};
  OK(ops->stream_create(device, &b.stream, &err));
  OK(ops->alloc(device, nbytes, &b.block, &err));
  b.expected = malloc(nbytes);
  b.seen = malloc(nbytes);
  b.source = malloc(nbytes);
  CHECK(b.expected && b.seen && b.source);
  for (size_t i = 0; i < nbytes; i++) b.source[i] = (unsigned char)roc_draw(256);
  return b;
}

static void delete_board(board *b) {
  ops->free(device, b->block);
  ops->stream_destroy(b->stream);
  free(b->expected);
  free(b->seen);
  free(b->source);
}

/* What `s` (whose dst is an offset) does to a block of zeros, by the driver and by the host; the
 * number of tickets it took. */
static uint64_t try_scatter(board *b, roc_dev_scatter s) {
  roc_ticket zeroed, done, back;
  unsigned char zero = 0;
  size_t offset = (size_t)s.dst;
  OK(ops->fill(b->stream, b->block, &zero, 1, b->nbytes, &zeroed, &err));
  await(b->stream, zeroed);
  clear_counts();
  s.dst = b->block + offset;
  OK(ops->scatter(b->stream, &s, &done, &err));
  await(b->stream, done);
  CHECK(!has_failed(b->stream, done));
  uint64_t ncopies = copies();
  OK(ops->copy(b->stream, (roc_devptr)(uintptr_t)b->seen, b->block, b->nbytes, ROC_COPY_D2H, &back,
               &err));
  await(b->stream, back);
  memset(b->expected, 0, b->nbytes);
  s.dst = (roc_devptr)(uintptr_t)b->expected + offset;
  roc_host_scatter(&s);
  CHECK(memcmp(b->seen, b->expected, b->nbytes) == 0);
  CHECK(done == zeroed + 1);
  return ncopies;
}

static void try_views(board *b, int rounds) {
  for (int round = 0; round < rounds; round++) {
    roc_dev_scatter s = roc_draw_view();
    if (roc_draw(3)) {
      s.src = b->source;
      if (roc_draw(3) == 0) { /* another layout than C's */
        s.src = b->source + (s.extents[0] - 1) * (uint64_t)s.src_steps[0];
        s.src_steps[0] = -s.src_steps[0];
      }
    } else {
      for (uint32_t i = 0; i < s.element_bytes; i++)
        s.element[i] = (unsigned char)(1 + roc_draw(255));
    }
    try_scatter(b, s);
  }
}

/* Stores all elements of any view, and touches nothing between them. */
static void test_scatter(void) {
  open_device();
  board b = new_board((size_t)40 * 7 * 7 * 7 * 7 * 8);
  try_views(&b, 200);
  delete_board(&b);
  close_device();
}

/* The same where the copy engines have no rectangles. */
static void test_rows(void) {
  open_device();
  board b = new_board((size_t)40 * 7 * 7 * 7 * 7 * 8);
  plan.which = CALL_hsa_amd_memory_async_copy_rect;
  plan.status = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  plan.fail_in = -1;
  try_views(&b, 40);
  delete_board(&b);
  close_device();
}

/* How many copies a scatter takes. */
static void test_few(void) {
  static const struct {
    uint32_t element_bytes, rank;
    uint64_t extents[3];
    int64_t steps[3];
    uint64_t most;
  } cases[] = {
      {8, 1, {100000}, {24}, 1},                        /* every third of a vector */
      {4, 1, {100000}, {-8}, 1},                        /* from its end */
      {2, 1, {100000}, {6}, 2},                         /* halves, pitches of no whole words */
      {1, 1, {100000}, {3}, 4},                         /* bytes */
      {8, 1, {400000}, {16}, 4},                        /* more than fits into staging */
      {4, 2, {300, 200}, {4, 4 * 300}, 1},              /* a transposed matrix is one block */
      {4, 2, {300, 100}, {4, 8 * 300}, 1},              /* every second column of one */
      {4, 2, {300, 200}, {4 * 256, 4}, 1},              /* a part of its rows */
      {4, 3, {20, 30, 40}, {4 * 8192, 4 * 100, 8}, 20}, /* layers whose rows are not whole */
      {4, 3, {20, 30, 40}, {4 * 8192, 4 * 100, 4}, 1},  /* a box */
  };
  open_device();
  board b = new_board(8 << 20);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    roc_dev_scatter s = {
        .src = b.source, .element_bytes = cases[i].element_bytes, .rank = cases[i].rank};
    int64_t packed = s.element_bytes;
    for (uint32_t d = s.rank; d-- > 0;) {
      s.extents[d] = cases[i].extents[d];
      s.dst_steps[d] = cases[i].steps[d];
      if (s.dst_steps[d] < 0) s.dst += (s.extents[d] - 1) * (roc_devptr)-s.dst_steps[d];
      s.src_steps[d] = packed;
      packed *= (int64_t)s.extents[d];
    }
    uint64_t scattered = try_scatter(&b, s);
    s.src = NULL;
    memcpy(s.element, "abcdefgh", sizeof s.element);
    uint64_t filled = try_scatter(&b, s);
    printf("case %zu: %llu and %llu copies\n", i, (unsigned long long)scattered,
           (unsigned long long)filled);
    CHECK(scattered <= cases[i].most && filled <= cases[i].most);
  }
  delete_board(&b);
  close_device();
}

/* ---- failures ------------------------------------------------------------ */

static void add_one(void *ud) {
  ++*(int *)ud;
}

/* What is noted of an op: it worked, or says why not. */
static bool went_well(roc_status status) {
  CHECK(status == ROC_OK || err.message[0]);
  return status == ROC_OK;
}

/* Waits for what has been queued; whether it was, and ran to its end. */
static bool ended_well(roc_dev_stream *stream, roc_status status, const roc_ticket *ticket) {
  if (!went_well(status)) return false;
  await(stream, *ticket);
  return !has_failed(stream, *ticket);
}

static bool copy_and_compare(roc_dev_stream *stream, roc_devptr block, size_t nbytes) {
  unsigned char *there = malloc(nbytes), *back = calloc(1, nbytes);
  CHECK(there && back);
  for (size_t i = 0; i < nbytes; i++) there[i] = (unsigned char)(i * 7);
  roc_ticket ticket = 0;
  bool ok = ended_well(
      stream,
      ops->copy(stream, block, (roc_devptr)(uintptr_t)there, nbytes, ROC_COPY_H2D, &ticket, &err),
      &ticket);
  ok = ended_well(stream,
                  ops->copy(stream, (roc_devptr)(uintptr_t)back, block, nbytes, ROC_COPY_D2H,
                            &ticket, &err),
                  &ticket) &&
       ok;
  if (ok) CHECK(memcmp(there, back, nbytes) == 0);
  free(there);
  free(back);
  return ok;
}

static bool use_block(roc_dev_stream *stream, roc_devptr block, size_t nbytes) {
  static const unsigned char words[] = "abcdabcd", other[] = "abcdefgh";
  roc_ticket ticket = 0;
  bool ok = copy_and_compare(stream, block, 4096);
  ok = copy_and_compare(stream, block, nbytes) && ok;
  ok = ended_well(stream, ops->fill(stream, block, words, 4, nbytes, &ticket, &err), &ticket) && ok;
  ok = ended_well(stream, ops->fill(stream, block, other, 8, nbytes, &ticket, &err), &ticket) && ok;
  roc_dev_scatter s = {
      .dst = block, .element_bytes = 8, .rank = 1, .extents = {1000}, .dst_steps = {16}};
  return ended_well(stream, ops->scatter(stream, &s, &ticket, &err), &ticket) && ok;
}

static bool use_host_memory(roc_dev_stream *stream, roc_devptr block) {
  void *pinned = NULL;
  char *own = calloc(1, 100000);
  CHECK(own);
  roc_ticket ticket = 0;
  roc_devptr mapped;
  bool ok = went_well(ops->alloc_host(device, 100000, &pinned, &err));
  if (ok) {
    ok = ended_well(stream,
                    ops->copy(stream, block, (roc_devptr)(uintptr_t)pinned, 100000, ROC_COPY_H2D,
                              &ticket, &err),
                    &ticket);
    ops->free_host(device, pinned);
  }
  bool is_registered = went_well(ops->host_register(device, own, 100000, &mapped, &err));
  if (is_registered) {
    ok = ended_well(stream, ops->copy(stream, block, mapped, 100000, ROC_COPY_H2D, &ticket, &err),
                    &ticket) &&
         ok;
    ops->host_unregister(device, own);
  }
  free(own);
  return ok && is_registered;
}

static bool use_kernel(roc_dev_stream *stream, roc_dev_stream *other) {
  roc_dev_module *module;
  if (!went_well(ops->module_load(device, &object, &module, &err))) return false;
  roc_ndrange range = {.grid = {64, 1, 1}, .local = {64, 1, 1}, .rank = 1};
  roc_dev_launch work = {.module = module, .range = &range, .name = "good"};
  roc_ticket ticket = 0, stamp = 0, waiting = 0;
  uint64_t time = 0;
  int calls = 0;
  bool ok = ended_well(stream, ops->launch(stream, &work, &ticket, &err), &ticket);
  bool is_stamped = went_well(ops->stamp(stream, &time, &stamp, &err));
  if (is_stamped) {
    bool waits = went_well(ops->stream_wait(other, stream, stamp, &waiting, &err));
    if (waits && waiting) await(other, waiting);
    await(stream, stamp);
    CHECK(time > 0);
    ok = waits && ok;
  }
  roc_status status = ops->host_call(other, add_one, &calls, &ticket, &err);
  ok = ended_well(other, status, &ticket) && ok && is_stamped;
  CHECK(calls == (status == ROC_OK));
  ops->module_unload(device, module);
  return ok;
}

/* All that a device is used for, from its opening to its end; whether all of it worked. */
static bool use_device(void) {
  enum { NBYTES = 3 << 20 };
  uint32_t count;
  if (!went_well(ops->probe(&count, &err))) return false;
  if (!went_well(ops->open(0, &device, &err))) return false;
  roc_dev_stream *streams[2] = {NULL, NULL};
  bool ok = true;
  for (int i = 0; i < 2; i++) ok = went_well(ops->stream_create(device, &streams[i], &err)) && ok;
  roc_devptr block;
  if (ok && went_well(ops->alloc(device, NBYTES, &block, &err))) {
    ok = use_block(streams[0], block, NBYTES) && ok;
    ok = use_host_memory(streams[1], block) && ok;
    ops->free(device, block);
  } else {
    ok = false;
  }
  if (streams[0] && streams[1]) ok = use_kernel(streams[0], streams[1]) && ok;
  for (int i = 0; i < 2; i++) {
    if (streams[i]) ops->stream_destroy(streams[i]);
  }
  CHECK(!device->is_lost);
  close_device();
  return ok;
}

/* A few of many: the first ones, and the last. */
static uint64_t next_of(uint64_t nth, uint64_t most) {
  return nth < 4 || nth + 1 >= most ? nth + 1 : nth * 2 < most ? nth * 2 : most;
}

/* Whatever of ROCR's functions fails, at whichever call: each op works or says why it does not, all
 * waits end, nothing leaks, and the next use of a device works. */
static void test_failures(void) {
  static const hsa_status_t statuses[] = {HSA_STATUS_ERROR_OUT_OF_RESOURCES, HSA_STATUS_ERROR};
  uint64_t most[CALL_COUNT];
  CHECK(use_device());
  int64_t held = roc_alloc_live();
  clear_counts();
  CHECK(use_device());
  for (int i = 0; i < CALL_COUNT; i++) most[i] = counts[i];
  for (int i = 0; i < CALL_COUNT; i++) {
    unsigned failed = 0, tried = 0;
    for (uint64_t nth = 1; nth <= most[i]; nth = next_of(nth, most[i])) {
      for (size_t s = 0; s < sizeof statuses / sizeof *statuses; s++) {
        plan.which = (call)i;
        plan.status = statuses[s];
        plan.fail_in = (int64_t)nth;
        tried++;
        failed += !use_device();
        plan.fail_in = 0;
        if (roc_alloc_live() != held) {
          printf("%s, call %llu of %llu: ", names[i], (unsigned long long)nth,
                 (unsigned long long)most[i]);
        }
        CHECK(roc_alloc_live() == held);
      }
    }
    printf("%-44s %5llu calls, %u of %u failures seen\n", names[i], (unsigned long long)most[i],
           failed, tried);
  }
  CHECK(use_device());
}

/* ---- long copies --------------------------------------------------------- */

static hsa_signal_t held_copy;

static hsa_status_t hold_copy(void *dst, hsa_agent_t dst_agent, const void *src,
                              hsa_agent_t src_agent, size_t nbytes, uint32_t ndeps,
                              const hsa_signal_t *deps, hsa_signal_t done) {
  (void)dst, (void)dst_agent, (void)src, (void)src_agent, (void)nbytes, (void)ndeps, (void)deps;
  held_copy = done;
  return HSA_STATUS_SUCCESS;
}

/* A small copy is over when the call returns, unless a long one keeps the engine: then it is
 * queued, for the caller has others waiting. */
static void test_long(void) {
  enum { LONG = 8 << 20, SHORT = 100 };
  open_device();
  roc_dev_stream *copying, *other;
  void *pinned;
  char own[SHORT] = "";
  roc_devptr block;
  roc_ticket kept, before, behind, after;
  OK(ops->stream_create(device, &copying, &err));
  OK(ops->stream_create(device, &other, &err));
  OK(ops->alloc_host(device, LONG, &pinned, &err));
  OK(ops->alloc(device, LONG, &block, &err));
  OK(ops->copy(other, block, (roc_devptr)(uintptr_t)own, SHORT, ROC_COPY_H2D, &before, &err));
  roc_hsa.hsa_amd_memory_async_copy = hold_copy;
  OK(ops->copy(copying, block, (roc_devptr)(uintptr_t)pinned, LONG, ROC_COPY_H2D, &kept, &err));
  roc_hsa.hsa_amd_memory_async_copy = count_hsa_amd_memory_async_copy;
  OK(ops->copy(other, block, (roc_devptr)(uintptr_t)own, SHORT, ROC_COPY_H2D, &behind, &err));
  CHECK(!ops->is_done(copying, kept) && behind > before);
  await(other, behind);
  roc_hsa.hsa_signal_store_screlease(held_copy, 0);
  await(copying, kept);
  OK(ops->copy(other, block, (roc_devptr)(uintptr_t)own, SHORT, ROC_COPY_H2D, &after, &err));
  CHECK(after == behind);
  ops->free(device, block);
  ops->free_host(device, pinned);
  ops->stream_destroy(copying);
  ops->stream_destroy(other);
  close_device();
}

/* ---- other machines ------------------------------------------------------ */

/* The names that the ISAs of every GPU have. */
static const char *isas[3];

static hsa_status_t list_isas(hsa_agent_t agent, hsa_status_t (*take)(hsa_isa_t, void *),
                              void *ud) {
  (void)agent;
  for (uint64_t i = 0; isas[i]; i++) {
    hsa_status_t status = take((hsa_isa_t){i}, ud);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t describe_isa(hsa_isa_t isa, hsa_isa_info_t what, void *out) {
  size_t length = strlen(isas[isa.handle]) + 1;
  if (what == HSA_ISA_INFO_NAME_LENGTH) {
    *(uint32_t *)out = (uint32_t)length;
  } else {
    memcpy(out, isas[isa.handle], length);
  }
  return HSA_STATUS_SUCCESS;
}

static roc_status probe_isas(const char *first, const char *second, uint32_t *out_count) {
  isas[0] = first;
  isas[1] = second;
  roc_hsa.hsa_agent_iterate_isas = list_isas;
  roc_hsa.hsa_isa_get_info_alt = describe_isa;
  return ops->probe(out_count, &err);
}

/* The first name that our compiler knows is the one it compiles for. */
static void test_isas(void) {
  uint32_t count;
  CHECK(probe_isas("amdgcn-amd-amdhsa--gfx4242:sramecc+", NULL, &count) == ROC_UNAVAILABLE);
  CHECK(strstr(err.message, "roclua does not compile for the GPU that ROCR finds: gfx4242; "));
  CHECK(probe_isas(NULL, NULL, &count) == ROC_UNAVAILABLE);
  CHECK(strstr(err.message, "a GPU of unknown kind"));
  OK(probe_isas("amdgcn-amd-amdhsa--gfx4242", "amdgcn-amd-amdhsa--gfx90a:sramecc+:warp-", &count));
  OK(ops->open(0, &device, &err));
  CHECK(count == 1 && strcmp(device->props.arch, "gfx90a") == 0);
  close_device();
}

static hsa_status_t describe_apu(hsa_agent_t agent, hsa_agent_info_t what, void *out) {
  hsa_status_t status = real.hsa_agent_get_info(agent, what, out);
  if (what == HSA_AGENT_INFO_PROFILE) *(hsa_profile_t *)out = HSA_PROFILE_FULL;
  return status;
}

/* Memory that host and GPU share comes from the host's pools, mapped for the GPU. */
static void test_apu(void) {
  roc_hsa.hsa_agent_get_info = describe_apu;
  open_device();
  CHECK(device->props.host_memory);
  roc_devptr block;
  clear_counts();
  OK(ops->alloc(device, 10000, &block, &err));
  CHECK(counts[CALL_hsa_amd_agents_allow_access] == 1);
  hsa_amd_pointer_info_t info = {.size = sizeof info};
  hsa_device_type_t type = HSA_DEVICE_TYPE_GPU;
  real.hsa_amd_pointer_info((void *)(uintptr_t)block, &info, NULL, NULL, NULL);
  real.hsa_agent_get_info(info.agentOwner, HSA_AGENT_INFO_DEVICE, &type);
  CHECK(type == HSA_DEVICE_TYPE_CPU);
  roc_dev_stream *stream;
  OK(ops->stream_create(device, &stream, &err));
  CHECK(copy_and_compare(stream, block, 10000));
  ops->free(device, block);
  ops->stream_destroy(stream);
  close_device();
}

static uint32_t hidden_flags;

static hsa_status_t hide_flags(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t what,
                               void *out) {
  hsa_status_t status = count_hsa_amd_memory_pool_get_info(pool, what, out);
  if (what == HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS) *(uint32_t *)out &= ~hidden_flags;
  return status;
}

/* Pools that not every machine has: one for arguments of kernels, and memory of the GPU's own. */
static void test_pools(void) {
  static const uint32_t flags[] = {HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT,
                                   HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED};
  roc_hsa.hsa_amd_memory_pool_get_info = hide_flags;
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    hidden_flags = flags[i];
    CHECK(use_device());
  }
  hidden_flags = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
  CHECK(!use_device());
  CHECK(strstr(err.message, "ROCR offers no host memory that a GPU can share"));
}

/* From GPU to GPU in a ring. */
static void copy_around(void) {
  unsigned char *there = malloc(PEER_BYTES), *back = malloc(PEER_BYTES);
  CHECK(there && back);
  roc_ticket ticket = 0;
  for (size_t i = 0; i < PEER_BYTES; i++) there[i] = (unsigned char)(i * 11);
  OK(ops->copy(gpu_streams[0], gpu_blocks[0], (roc_devptr)(uintptr_t)there, PEER_BYTES,
               ROC_COPY_H2D, &ticket, &err));
  await(gpu_streams[0], ticket);
  for (int i = 0; i < GPUS; i++) {
    int next = (i + 1) % GPUS;
    OK(ops->copy(gpu_streams[next], gpu_blocks[next], gpu_blocks[i], PEER_BYTES, ROC_COPY_D2D,
                 &ticket, &err));
    await(gpu_streams[next], ticket);
    CHECK(!has_failed(gpu_streams[next], ticket) && !gpus[next]->is_lost);
  }
  OK(ops->copy(gpu_streams[0], (roc_devptr)(uintptr_t)back, gpu_blocks[0], PEER_BYTES, ROC_COPY_D2H,
               &ticket, &err));
  await(gpu_streams[0], ticket);
  CHECK(memcmp(there, back, PEER_BYTES) == 0);
  free(there);
  free(back);
}

static uint32_t fewest_peers;

static hsa_status_t note_peers(uint32_t count, const hsa_agent_t *agents, const uint32_t *flags,
                               const void *ptr) {
  if (count < fewest_peers) fewest_peers = count;
  return count_hsa_amd_agents_allow_access(count, agents, flags, ptr);
}

/* Between GPUs that reach each other's memory the engines copy; who has been given access to a
 * block keeps it.  Others go by way of the host. */
static void test_peers(void) {
  open_devices();
  roc_hsa.hsa_amd_agents_allow_access = note_peers;
  fewest_peers = UINT32_MAX;
  copy_around();
  uint64_t direct = copies();
  printf("%llu copies, access for %u GPUs\n", (unsigned long long)direct, fewest_peers);
  CHECK(fewest_peers == GPUS);
  plan.which = CALL_hsa_amd_agent_memory_pool_get_info;
  plan.status = HSA_STATUS_ERROR;
  plan.fail_in = -1;
  clear_counts();
  copy_around();
  printf("%llu copies by way of the host\n", (unsigned long long)copies());
  CHECK(copies() > direct);
  for (uint32_t i = 0; i < GPUS; i++) {
    ops->free(gpus[i], gpu_blocks[i]);
    ops->stream_destroy(gpu_streams[i]);
  }
  for (uint32_t i = 0; i < GPUS; i++) ops->quiesce(gpus[i]);
  for (uint32_t i = 0; i < GPUS; i++) ops->close(gpus[i]);
}

/* ---- absence ------------------------------------------------------------- */

static char root[] = P_tmpdir "/hsa_calls_test_XXXXXX";

static void make_folder(const char *path) {
  char whole[300];
  snprintf(whole, sizeof whole, "%s%s", root, path);
  CHECK(mkdir(whole, 0755) == 0);
}

static void make_file(const char *path, mode_t mode, gid_t group) {
  char whole[300];
  snprintf(whole, sizeof whole, "%s%s", root, path);
  FILE *file = fopen(whole, "w");
  CHECK(file);
  fclose(file);
  CHECK(chown(whole, (uid_t)-1, group) == 0 && chmod(whole, mode) == 0);
}

static void expect(roc_status status, const char *text) {
  CHECK(status == ROC_UNAVAILABLE);
  if (!strstr(err.message, text)) printf("expected: %s\n", text);
  CHECK(strstr(err.message, text));
}

/* As a user without rights where this runs as root: so run what asks for permissions. */
static void as_nobody(void (*ask)(const char *), const char *text) {
  fflush(stdout);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    if (geteuid() == 0) CHECK(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
    ask(text);
    fflush(stdout);
    _Exit(EXIT_SUCCESS);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void ask_kfd(const char *text) {
  expect(roc_hsa_check_kfd(root, &err), text);
}

static void ask_nodes(const char *text) {
  expect(roc_hsa_check_render_nodes(root, &err), text);
}

static void test_absent(void) {
  CHECK(mkdtemp(root) && chmod(root, 0755) == 0);
  expect(roc_hsa_check_kfd(root, &err), "the kernel module 'amdgpu' is not loaded (modprobe amd");
  make_folder("/sys");
  make_folder("/sys/module");
  make_folder("/sys/module/amdgpu");
  expect(roc_hsa_check_kfd(root, &err), "(--device=/dev/kfd --device=/dev/dri)");
  make_folder("/dev");
  bool is_root = geteuid() == 0;
  make_file("/dev/kfd", 0600, (gid_t)-1);
  as_nobody(is_root ? ask_kfd : ask_nodes,
            is_root ? "is for root alone: have udev" : "no /dev/dri");
  if (is_root) {
    struct group *group = getgrnam("video");
    char text[100];
    make_file("/dev/kfd", 0660, group ? group->gr_gid : 44);
    snprintf(text, sizeof text,
             group ? "add this user to the group '%s' (usermod -aG %s <user>)"
                   : "which has no name here",
             "video", "video");
    as_nobody(ask_kfd, text);
    make_file("/dev/kfd", 0660, 54321);
    as_nobody(ask_kfd, "the number 54321, which has no name here");
  }
  make_file("/dev/kfd", 0666, (gid_t)-1);
  OK(roc_hsa_check_kfd(root, &err));
  expect(roc_hsa_check_render_nodes(root, &err), "there is /dev/kfd but no /dev/dri/renderD*");
  make_folder("/dev/dri");
  make_file("/dev/dri/renderD128", 0600, (gid_t)-1);
  if (is_root) as_nobody(ask_nodes, "no permission to read and write /dev/dri/renderD128");
  make_file("/dev/dri/renderD129", 0666, (gid_t)-1);
  OK(roc_hsa_check_render_nodes(root, &err));
  expect(roc_hsa_fail_no_gpu(0, "", &err), "ROCR knows of no GPU");
  uint32_t count;
  plan.which = CALL_hsa_init;
  plan.status = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  plan.fail_in = 1;
  expect(ops->probe(&count, &err), "AMD's runtime ROCR does not start: ");
  CHECK(strstr(err.message, "see that this ROCR takes a software GPU: ")); /* which is asked for */
  char command[100];
  snprintf(command, sizeof command, "rm -r %s", root);
  CHECK(system(command) == 0);
}

static const struct {
  const char *name;
  void (*run)(void);
} tests[] = {{"scatter", test_scatter},   {"rows", test_rows},   {"few", test_few},
             {"failures", test_failures}, {"long", test_long},   {"isas", test_isas},
             {"apu", test_apu},           {"pools", test_pools}, {"peers", test_peers},
             {"absent", test_absent}};

static void read_object(const char *path, const char *symbol) {
  FILE *file = fopen(path, "rb");
  CHECK(file);
  enum { MOST = 1 << 20 };
  unsigned char *bytes = malloc(MOST);
  CHECK(bytes);
  size_t nbytes = fread(bytes, 1, MOST, file);
  fclose(file);
  object = (roc_codeobj){.target = "gfx90a", .entry = symbol, .bytes = bytes, .nbytes = nbytes};
}

int main(int argc, char **argv) {
  if (argc == 1) {
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) puts(tests[i].name);
    return EXIT_SUCCESS;
  }
  CHECK(argc == 4);
  read_object(argv[2], argv[3]);
  wrap_calls();
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
    if (strcmp(tests[i].name, argv[1]) == 0) tests[i].run();
  }
  free((void *)(uintptr_t)object.bytes);
  printf("ok %s\n", argv[1]);
  return EXIT_SUCCESS;
}
