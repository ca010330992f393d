/* Expressions and the memory they read; see expression.h.
 *
 * All that are pending are in one list, under a lock: any thread may write memory that an expression
 * of some state reads.  The list is walked when memory with readers is written, and is as long as
 * the number of pending results. */
#include "bindings/expression/expression.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/small_blocks.h"
#include "bindings/array/array_bind.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* a fork waits for it */
static roc_expression *first;
static _Atomic uint32_t npending, nreductions;
static _Thread_local uint64_t changes;

uint32_t roc_expression_count(void) {
  return atomic_load_explicit(&npending, memory_order_relaxed);
}

uint32_t roc_expression_count_reductions(void) {
  return atomic_load_explicit(&nreductions, memory_order_relaxed);
}

uint64_t roc_expression_changes(void) {
  return changes;
}

/* ---- reading --------------------------------------------------------------------------------- */

bool roc_expression_takes(const roc_array *a) {
  if (roc_buffer_is_shared(a->buffer) || roc_buffer_is_read_only(a->buffer)) return false;
  return roc_buffer_device(a->buffer) || roc_buffer_pending(a->buffer) ||
         !roc_buffer_is_busy(a->buffer, false);
}

roc_expression *roc_expression_of(const roc_array *a) {
  roc_expression *e = roc_buffer_pending(a->buffer);
  if (!e || e->result.dtype != a->dtype || e->result.offset != a->offset) return NULL;
  if (!roc_array_same_shape(&e->result, a)) return NULL;
  bool is_same = memcmp(e->result.strides, a->strides, a->rank * sizeof *a->strides) == 0;
  return is_same ? e : NULL;
}

/* ---- whether an operation waits ------------------------------------------------------------ */

/* Results of fewer elements are computed at once. */
static int64_t least_pending = 4096;

int64_t roc_expression_set_least(int64_t size) {
  int64_t previous = least_pending;
  least_pending = size;
  return previous;
}

int64_t roc_expression_least(void) {
  return least_pending;
}

/* ---- making ---------------------------------------------------------------------------------- */

typedef struct extent {
  uint32_t size, nleaves, nscalars;
  bool may_fail;
} extent;

static bool has_reduction(const roc_operation *op, const roc_expression_operand *operands) {
  bool has = op->is_reduction;
  for (uint32_t i = 0; i < op->noperands; i++) {
    const roc_array *a = &operands[i].array;
    const roc_expression *inner = a->buffer ? roc_expression_of(a) : NULL;
    has |= inner && inner->has_reduction;
  }
  return has;
}

static extent measure(const roc_operation *op, const roc_expression_operand *operands) {
  extent x = {.size = 1};
  for (uint32_t i = 0; i < op->noperands; i++) {
    const roc_array *a = &operands[i].array;
    const roc_expression *inner = a->buffer ? roc_expression_of(a) : NULL;
    x.size += inner ? inner->size : 0;
    x.may_fail |= inner && inner->may_fail;
    x.nleaves += inner ? inner->nleaves : a->buffer != NULL;
    x.nscalars += inner ? inner->nscalars : a->buffer == NULL;
  }
  return x;
}

bool roc_expression_fits(const roc_operation *op, const roc_expression_operand *operands) {
  extent x = measure(op, operands);
  return x.size <= ROC_EXPRESSION_MAX_NODES && x.nleaves <= ROC_EXPRESSION_MAX_LEAVES &&
         x.nscalars <= ROC_EXPRESSION_MAX_SCALARS;
}

static void take_out(roc_expression *e) {
  *e->link = e->next;
  if (e->next) e->next->link = e->link;
  atomic_fetch_sub_explicit(&npending, 1, memory_order_relaxed);
  if (e->op->is_reduction) atomic_fetch_sub_explicit(&nreductions, 1, memory_order_relaxed);
}

static void put_first(roc_expression *e) {
  e->next = first;
  e->link = &first;
  if (first) first->link = &e->next;
  first = e;
  atomic_fetch_add_explicit(&npending, 1, memory_order_relaxed);
  if (e->op->is_reduction) atomic_fetch_add_explicit(&nreductions, 1, memory_order_relaxed);
}

/* With the buffer, or when its memory has been computed. */
static void release(void *pending) {
  roc_expression *e = pending;
  changes++;
  pthread_mutex_lock(&lock);
  take_out(e);
  for (uint32_t i = 0; i < e->noperands; i++) {
    if (e->operands[i].array.buffer) roc_buffer_count_readers(e->operands[i].array.buffer, -1);
  }
  pthread_mutex_unlock(&lock);
  for (uint32_t i = 0; i < e->noperands; i++) roc_array_release(&e->operands[i].array);
  roc_small_free(e, sizeof *e);
}

/* In accesses to memory for an element: to store a result, and to read it again, takes two; to
 * compute it again, its operands' instead of its own, and one for each so many operations on a GPU,
 * which waits for memory.  A processor waits for operations: there the second kernel that needs a
 * result stores it; and so with reductions, which are smaller than what they are computed of. */
enum { STORED_ACCESSES = 2, OPERATIONS = 8 };

static uint32_t count_passes(const roc_operation *op, const roc_array *result, const extent *x) {
  roc_rt_device *device = roc_buffer_device(result->buffer);
  if (op->is_reduction || !device || roc_rt_device_driver(device)->props.host_memory) return 1;
  return 1 + STORED_ACCESSES * OPERATIONS / (OPERATIONS * (x->nleaves - 1) + x->size);
}

bool roc_expression_begin(const roc_expression_call *call, uint32_t device, const roc_array *result,
                          const roc_expression_operand *operands) {
  roc_expression *e = roc_small_alloc(sizeof *e);
  if (!e) return false;
  memset(e, 0, offsetof(roc_expression, result));
  roc_operation *op = call->op;
  e->state = op->state;
  e->session = op->state->session;
  e->op = op;
  e->is_square = call->is_square;
  e->axis = call->axis;
  e->place = call->place;
  e->device = device;
  e->noperands = op->noperands;
  e->result = *result;
  for (uint32_t i = 0; i < op->noperands; i++) e->operands[i] = operands[i];
  extent x = measure(op, operands);
  e->size = x.size;
  e->nleaves = x.nleaves;
  e->nscalars = x.nscalars;
  e->may_fail = x.may_fail || e->place.file;
  e->passes_left = count_passes(op, result, &x);
  e->has_reduction = has_reduction(op, operands);
  pthread_mutex_lock(&lock);
  for (uint32_t i = 0; i < e->noperands; i++) {
    roc_buffer *buffer = e->operands[i].array.buffer;
    if (!buffer) continue;
    roc_buffer_retain(buffer);
    roc_buffer_count_readers(buffer, 1);
  }
  put_first(e);
  pthread_mutex_unlock(&lock);
  roc_buffer_set_pending(result->buffer, e, release);
  return true;
}

void roc_expression_end(roc_expression *e) {
  roc_buffer_set_pending(e->result.buffer, NULL, NULL);
  release(e);
}

/* ---- writes ---------------------------------------------------------------------------------- */

/* A range of a buffer's bytes. */
typedef struct span {
  size_t begin, end;
} span;

static span span_of(const roc_array *a) {
  roc_devptr begin, end, base = roc_buffer_devptr(a->buffer);
  roc_array_range(a, &begin, &end);
  return (span){(size_t)(begin - base), (size_t)(end - base)};
}

enum { COPY_ALIGNMENT = 64 }; /* copies of parts lie in a cache line as the part does */

/* The session of a state that has readers of the buffer, and what all of them read of it, from the
 * begin of a cache line; NULL: none has. */
static roc_rt_session *find_readers(const roc_buffer *buffer, span *out_part) {
  roc_rt_session *session = NULL;
  span part = {SIZE_MAX, 0};
  pthread_mutex_lock(&lock);
  for (const roc_expression *e = first; e; e = e->next) {
    for (uint32_t i = 0; i < e->noperands; i++) {
      if (e->operands[i].array.buffer != buffer) continue;
      span own = span_of(&e->operands[i].array);
      if (own.begin < part.begin) part.begin = own.begin;
      if (own.end > part.end) part.end = own.end;
      if (!session) session = e->session;
    }
  }
  pthread_mutex_unlock(&lock);
  part.begin -= part.begin % COPY_ALIGNMENT;
  *out_part = part;
  return session;
}

/* The operand keeps the bytes as they are: those of the copy of a part. */
static void redirect(roc_expression *e, roc_array *operand, roc_buffer *copy, span part) {
  span own = span_of(operand);
  if (own.begin < part.begin || own.end > part.end) return; /* of a thread that reads since then */
  if (!copy) {
    e->has_failed = true;
    return;
  }
  roc_buffer *old = operand->buffer;
  operand->offset -= (int64_t)(part.begin / roc_dtype_itemsize(operand->dtype));
  roc_buffer_retain(copy);
  roc_buffer_count_readers(copy, 1);
  roc_buffer_count_readers(old, -1);
  operand->buffer = copy;
  roc_buffer_release(old); /* not the last reference: its writer holds one */
}

/* The hook of writes.  Memory that is pending itself is not written but computed. */
static void keep_bytes(void *ud, roc_buffer *buffer, roc_rt_stream *stream) {
  (void)ud;
  if (roc_buffer_readers(buffer) == 0 || roc_buffer_pending(buffer)) return;
  span part;
  roc_rt_session *session = find_readers(buffer, &part);
  if (!session) return;
  changes++;
  roc_buffer *copy = NULL; /* there is no memory for it */
  roc_error err;
  if (roc_buffer_duplicate(buffer, part.begin, part.end - part.begin, stream, session, &copy,
                           &err) != ROC_OK) {
    copy = NULL;
  }
  pthread_mutex_lock(&lock);
  for (roc_expression *e = first; e; e = e->next) {
    for (uint32_t i = 0; i < e->noperands; i++) {
      if (e->operands[i].array.buffer == buffer) redirect(e, &e->operands[i].array, copy, part);
    }
  }
  pthread_mutex_unlock(&lock);
  roc_buffer_release(copy);
}

/* ---- too much -------------------------------------------------------------------------------- */

/* Bytes of operands that nothing but expressions keeps alive, divided among their readers. */
static size_t held_bytes(const roc_expression *e) {
  size_t nbytes = 0;
  for (uint32_t i = 0; i < e->noperands; i++) {
    const roc_buffer *buffer = e->operands[i].array.buffer;
    if (!buffer || roc_buffer_pending(buffer)) continue;
    uint32_t nreaders = roc_buffer_readers(buffer);
    if (roc_buffer_references(buffer) == nreaders) nbytes += roc_buffer_nbytes(buffer) / nreaders;
  }
  return nbytes;
}

roc_buffer *roc_expression_find_surplus(const roc_expression_state *state, uint32_t most,
                                        size_t most_bytes) {
  roc_expression *oldest = NULL, *holder = NULL;
  uint32_t n = 0;
  size_t sum = 0;
  pthread_mutex_lock(&lock);
  for (roc_expression *e = first; e; e = e->next) {
    if (e->state != state || e->is_skipped) continue;
    size_t nbytes = held_bytes(e);
    sum += nbytes;
    n++;
    oldest = e;
    if (nbytes > 0 &&
        (!holder || roc_array_nbytes(&e->result) <= roc_array_nbytes(&holder->result)))
      holder = e;
  }
  roc_expression *found = n > most ? oldest : sum > most_bytes ? holder : NULL;
  if (found) roc_buffer_retain(found->result.buffer); /* only this thread could release it */
  pthread_mutex_unlock(&lock);
  return found ? found->result.buffer : NULL;
}

/* ---- reductions ------------------------------------------------------------------------------ */

static bool reads(const roc_expression *e, const roc_buffer *buffer) {
  for (uint32_t i = 0; i < e->noperands; i++) {
    const roc_array *a = &e->operands[i].array;
    if (!a->buffer) continue;
    const roc_expression *inner = roc_buffer_pending(a->buffer);
    if (a->buffer == buffer || (inner && reads(inner, buffer))) return true;
  }
  return false;
}

roc_buffer *roc_expression_find_reduction_of(const roc_expression_state *state,
                                             const roc_buffer *buffer) {
  const roc_expression *found = NULL;
  pthread_mutex_lock(&lock);
  for (const roc_expression *e = first; e && !found; e = e->next) {
    bool is_own = e->state == state && e->op->is_reduction && !e->is_skipped;
    if (is_own && reads(e, buffer)) found = e;
  }
  if (found) roc_buffer_retain(found->result.buffer); /* only this thread could release it */
  pthread_mutex_unlock(&lock);
  return found ? found->result.buffer : NULL;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void lock_list(void) {
  pthread_mutex_lock(&lock);
}

static void unlock_list(void) {
  pthread_mutex_unlock(&lock);
}

void roc_expression_open(void) {
  pthread_atfork(lock_list, unlock_list, unlock_list);
  roc_buffer_set_write_hook(keep_bytes, NULL);
}
