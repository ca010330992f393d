/* The allocator of this object; see memory.h. */
#include "codegen/llvm/memory.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "codegen/llvm/reserve.h"

/* The linker gives calls of NAME in this object to __wrap_NAME; __real_NAME is the system's. */
void *__real_malloc(size_t nbytes);
void *__real_calloc(size_t n, size_t nbytes);
void *__real_realloc(void *block, size_t nbytes);
void __real_free(void *block);
char *__real_realpath(const char *path, char *resolved);

/* In front of every block; a circle, by itself for a block that is not listed.  Only the run's
 * own thread frees blocks on its list. */
typedef struct header {
  struct header *next; /* NULL: an aligned place inside of the block `previous` */
  struct header *previous;
} header;

typedef struct run {
  header blocks;
  unsigned nheld; /* at its begin */
  const roc_cg_options *options;
  jmp_buf end;
  roc_status reason; /* of the jump there */
} run;

static _Thread_local struct {
  run *run;
  unsigned nheld; /* locks and the like */
} here;

/* ---- failures that specs plant, and counts ------------------------------------------------- */

static struct {
  _Atomic bool is_on;
  _Atomic uint64_t count, first, last;
  _Atomic uint64_t nleft, nkept;
} planted;

void roc_memory_plant(uint64_t first, uint64_t last) {
  planted.count = 0;
  planted.first = first;
  planted.last = last;
  planted.is_on = last > 0;
}

static bool is_planted(void) {
  if (!atomic_load_explicit(&planted.is_on, memory_order_relaxed)) return false;
  uint64_t n = ++planted.count;
  return n >= planted.first && n <= planted.last;
}

roc_cg_memory roc_memory_stats(void) {
  roc_cg_memory stats = {
      .nallocations = planted.count, .nleft = planted.nleft, .nkept = planted.nkept};
  roc_reserve_stats(&stats.reserve_bytes, &stats.reserve_most_bytes);
  return stats;
}

/* ---- runs ---------------------------------------------------------------------------------- */

static void link_alone(header *h) {
  h->next = h->previous = h;
}

static void link_listed(header *h, header *list) {
  h->next = list->next;
  h->previous = list;
  list->next->previous = h;
  list->next = h;
}

static void unlink_header(header *h) {
  h->next->previous = h->previous;
  h->previous->next = h->next;
}

/* The block of the header has moved with it. */
static void relink(header *h) {
  h->next->previous = h;
  h->previous->next = h;
}

static void free_header(header *h) {
  if (roc_reserve_owns(h)) {
    roc_reserve_give(h);
  } else {
    __real_free(h);
  }
}

static bool may_leave(void) {
  return here.run && here.nheld == here.run->nheld;
}

static void leave(roc_status reason) {
  here.run->reason = reason;
  _longjmp(here.run->end, 1);
}

static bool is_unwanted(void) {
  const roc_cg_options *options = here.run->options;
  return options && options->wants_end && options->wants_end(options->session);
}

roc_status roc_memory_run(void (*work)(void *ud), void *ud, const roc_cg_options *options) {
  run r = {.nheld = here.nheld, .options = options};
  link_alone(&r.blocks);
  const void *volatile notes = roc_memory_crash_notes();
  bool is_whole = _setjmp(r.end) == 0;
  if (is_whole) {
    here.run = &r;
    work(ud);
  }
  here.run = NULL;
  uint64_t count = 0;
  for (header *h = r.blocks.next, *next; h != &r.blocks; h = next) {
    next = h->next;
    if (is_whole) {
      link_alone(h);
    } else {
      free_header(h);
    }
    count += is_whole;
  }
  planted.nkept += count;
  planted.nleft += !is_whole;
  if (!is_whole) roc_memory_restore_crash_notes(notes);
  return is_whole ? ROC_OK : r.reason;
}

void roc_memory_hold(void) {
  here.nheld++;
}
void roc_memory_release(void) {
  here.nheld--;
}

bool roc_memory_has(size_t nbytes) {
  if (is_planted()) return false;
  void *place = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) return false;
  munmap(place, nbytes);
  return true;
}

/* ---- blocks -------------------------------------------------------------------------------- */

static void *take(size_t nbytes, bool is_zero) {
  bool is_listed = may_leave();
  if (is_listed && is_unwanted()) leave(ROC_INTERRUPTED);
  size_t whole;
  bool is_size = !__builtin_add_overflow(nbytes, sizeof(header), &whole);
  header *h = NULL;
  if (is_size && !is_planted()) h = is_zero ? __real_calloc(1, whole) : __real_malloc(whole);
  if (!h && is_listed) leave(ROC_OOM);
  if (!h && is_size) {
    h = roc_reserve_take(whole);
    if (h && is_zero) memset(h, 0, whole);
  }
  if (!h) return NULL;
  if (is_listed) {
    link_listed(h, &here.run->blocks);
  } else {
    link_alone(h);
  }
  return h + 1;
}

static header *header_of(void *block) {
  header *h = (header *)block - 1;
  return h->next ? h : h->previous;
}

static size_t usable_bytes(void *block) {
  header *h = header_of(block);
  char *end = roc_reserve_owns(h) ? roc_reserve_end(h) : (char *)h + malloc_usable_size(h);
  return (size_t)(end - (char *)block);
}

void *__wrap_malloc(size_t nbytes);
void *__wrap_malloc(size_t nbytes) {
  return take(nbytes, false);
}

void __wrap_free(void *block);
void __wrap_free(void *block) {
  if (!block) return;
  header *h = header_of(block);
  unlink_header(h);
  free_header(h);
}

void *__wrap_calloc(size_t n, size_t nbytes);
void *__wrap_calloc(size_t n, size_t nbytes) {
  size_t all;
  if (__builtin_mul_overflow(n, nbytes, &all)) all = SIZE_MAX;
  return take(all, true);
}

static void *move(void *block, size_t nbytes) {
  void *copy = take(nbytes, false);
  if (!copy) return NULL;
  size_t old = usable_bytes(block);
  memcpy(copy, block, old < nbytes ? old : nbytes);
  __wrap_free(block);
  return copy;
}

void *__wrap_realloc(void *block, size_t nbytes);
void *__wrap_realloc(void *block, size_t nbytes) {
  size_t whole;
  if (!block) return take(nbytes, false);
  header *h = (header *)block - 1;
  bool is_systems = h->next && !roc_reserve_owns(h);
  if (!is_systems || __builtin_add_overflow(nbytes, sizeof(header), &whole)) {
    return move(block, nbytes);
  }
  bool is_alone = h->next == h;
  h = is_planted() ? NULL : __real_realloc(h, whole);
  if (!h) return move(block, nbytes);
  if (is_alone) {
    link_alone(h);
  } else {
    relink(h);
  }
  return h + 1;
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t nbytes);
int __wrap_posix_memalign(void **out, size_t alignment, size_t nbytes) {
  size_t all;
  if (__builtin_add_overflow(nbytes, alignment + sizeof(header), &all)) all = SIZE_MAX;
  char *block = take(all, false);
  if (!block) return ENOMEM;
  uintptr_t place = ((uintptr_t)block + sizeof(header) + alignment - 1) & -alignment;
  header *h = (header *)place - 1;
  *h = (header){NULL, (header *)block - 1};
  *out = (void *)place;
  return 0;
}

char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = take(size, false);
  return copy ? memcpy(copy, text, size) : NULL;
}

char *__wrap_realpath(const char *path, char *resolved);
char *__wrap_realpath(const char *path, char *resolved) {
  char buffer[PATH_MAX];
  if (resolved) return __real_realpath(path, resolved);
  return __real_realpath(path, buffer) ? __wrap_strdup(buffer) : NULL;
}

void roc_memory_adopt(void *block) {
  if (may_leave()) link_listed(header_of(block), &here.run->blocks);
}

/* ---- locks --------------------------------------------------------------------------------- */

#define LOCK(name, type)       \
  int __real_##name(type *);   \
  int __wrap_##name(type *);   \
  int __wrap_##name(type *l) { \
    int rc = __real_##name(l); \
    here.nheld += rc == 0;     \
    return rc;                 \
  }
#define UNLOCK(name, type)     \
  int __real_##name(type *);   \
  int __wrap_##name(type *);   \
  int __wrap_##name(type *l) { \
    here.nheld--;              \
    return __real_##name(l);   \
  }

/* clang-format off */
LOCK(pthread_mutex_lock, pthread_mutex_t)
LOCK(pthread_mutex_trylock, pthread_mutex_t)
UNLOCK(pthread_mutex_unlock, pthread_mutex_t)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)
UNLOCK(pthread_rwlock_unlock, pthread_rwlock_t)
/* clang-format on */

int __real_pthread_once(pthread_once_t *once, void (*routine)(void));
int __wrap_pthread_once(pthread_once_t *once, void (*routine)(void));
int __wrap_pthread_once(pthread_once_t *once, void (*routine)(void)) {
  here.nheld++;
  int rc = __real_pthread_once(once, routine);
  here.nheld--;
  return rc;
}

/* Of a variable that is static in a function of C++: 1, and then the caller makes it. */
int __real___cxa_guard_acquire(int64_t *guard);
int __wrap___cxa_guard_acquire(int64_t *guard);
int __wrap___cxa_guard_acquire(int64_t *guard) {
  int is_first = __real___cxa_guard_acquire(guard);
  here.nheld += is_first != 0;
  return is_first;
}

void __real___cxa_guard_release(int64_t *guard);
void __wrap___cxa_guard_release(int64_t *guard);
void __wrap___cxa_guard_release(int64_t *guard) {
  here.nheld--;
  __real___cxa_guard_release(guard);
}
