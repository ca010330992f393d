/* Host memory that is page-locked for the GPUs.
 *
 * The library page-locks whole pages and refuses memory of which a part is page-locked already; two
 * arrays may share a page.  So pages are counted here, in runs that the library knows, for all GPUs
 * at once: a run is released with its last registration.  The pages at both ends of an array, which
 * it may share, are runs of their own: the others must not stay page-locked longer than the array,
 * or the GPU would see their old contents when the address is used again.  The list is short: at
 * most three runs for each array that is registered. */
#include <inttypes.h>
#include <unistd.h>

#include "base/alloc.h"
#include "device/cuda/driver.h"

typedef struct run {
  struct run *next;
  uintptr_t begin, end; /* whole pages */
  uint32_t uses;        /* 0: it is about to end */
  bool is_ours;         /* else another part of the program has page-locked it */
  bool is_ending;       /* some thread is at it */
} run;

typedef struct registration {
  struct registration *next;
  void *ptr;
  uintptr_t cuts[4];
} registration;

static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  run *runs;
  registration *registrations;
} pages = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* ---- runs: lock held, context current -------------------------------------- */

static uintptr_t page_bytes(void) {
  static uintptr_t size;
  if (!size) size = (uintptr_t)sysconf(_SC_PAGESIZE);
  return size;
}

static bool overlaps(const run *r, uintptr_t begin, uintptr_t end) {
  return r->begin < end && begin < r->end;
}

/* The lowest run that is used and overlaps the range; NULL: none. */
static run *find_next(uintptr_t begin, uintptr_t end) {
  run *lowest = NULL;
  for (run *r = pages.runs; r; r = r->next) {
    bool is_found = r->uses > 0 && overlaps(r, begin, end);
    if (is_found && (!lowest || r->begin < lowest->begin)) lowest = r;
  }
  return lowest;
}

static run *find_ending(uintptr_t begin, uintptr_t end) {
  run *r = pages.runs;
  while (r && !(r->uses == 0 && overlaps(r, begin, end))) r = r->next;
  return r;
}

/* Drops the use of all runs in the range. */
static void drop_runs(uintptr_t begin, uintptr_t end) {
  while (begin < end) {
    run *r = find_next(begin, end);
    if (!r) return;
    r->uses--;
    begin = r->end;
  }
}

static void remove_run(run *r) {
  run **link = &pages.runs;
  while (*link != r) link = &(*link)->next;
  *link = r->next;
  roc_free(r);
}

/* Ends the runs that are not used any more.  The library waits for the device, so the lock is given
 * up meanwhile: others register other pages. */
static void end_unused(bool is_lost) {
  for (run *r = pages.runs; r;) {
    if (r->uses > 0 || r->is_ending) {
      r = r->next;
      continue;
    }
    r->is_ending = true;
    pthread_mutex_unlock(&pages.lock);
    if (r->is_ours && !is_lost) roc_cuda.cuMemHostUnregister((void *)r->begin);
    pthread_mutex_lock(&pages.lock);
    remove_run(r);
    pthread_cond_broadcast(&pages.changed);
    r = pages.runs;
  }
}

/* Whether another part of the program has page-locked all of the pages.  Its memory may begin or
 * end in the middle of one. */
static bool is_locked(uintptr_t begin, uintptr_t end) {
  uintptr_t page = page_bytes();
  if (end - begin == page) return true; /* as the library said of some of it */
  for (uintptr_t at = begin; at < end;) {
    size_t nfound = end - at;
    roc_cuda_place place;
    int ordinal;
    CUresult result = roc_cuda_find_place(at, &nfound, &place, &ordinal);
    if (result == CUDA_SUCCESS && place == ROC_CUDA_PAGEABLE) {
      nfound = 1;
      result = roc_cuda_find_place(at + page - 1, &nfound, &place, &ordinal);
    }
    if (result != CUDA_SUCCESS || place != ROC_CUDA_PINNED) return false;
    at = (at + nfound + page - 1) & ~(page - 1);
  }
  return true;
}

static CUresult add_run(uintptr_t begin, uintptr_t end) {
  run *r = roc_alloc(sizeof *r);
  if (!r) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult result = roc_cuda.cuMemHostRegister(
      (void *)begin, end - begin, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  bool is_ours = result == CUDA_SUCCESS;
  bool is_theirs = result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED && is_locked(begin, end);
  if (!is_ours && !is_theirs) {
    roc_free(r);
    return result;
  }
  *r = (run){.next = pages.runs, .begin = begin, .end = end, .uses = 1, .is_ours = is_ours};
  pages.runs = r;
  return CUDA_SUCCESS;
}

/* Uses the runs that exist and page-locks what lies between.  On failure nothing has changed. */
static CUresult add_runs(uintptr_t begin, uintptr_t end) {
  for (uintptr_t at = begin; at < end;) {
    run *r = find_next(at, end);
    uintptr_t gap_end = r ? r->begin : end;
    CUresult result = gap_end > at ? add_run(at, gap_end) : CUDA_SUCCESS;
    if (result != CUDA_SUCCESS) {
      drop_runs(begin, at);
      return result;
    }
    at = gap_end > at ? gap_end : at;
    if (r) {
      r->uses++;
      at = r->end;
    }
  }
  return CUDA_SUCCESS;
}

enum { PARTS = 3 };

/* An array's pages in parts: those at its ends apart, unless they are all its own.  A part may be
 * empty. */
static void cut(uintptr_t address, size_t nbytes, uintptr_t cuts[PARTS + 1]) {
  uintptr_t page = page_bytes(), mask = page - 1;
  uintptr_t begin = address & ~mask, end = (address + nbytes + mask) & ~mask;
  cuts[0] = begin;
  cuts[1] = address & mask ? begin + page : begin;
  cuts[2] = (address + nbytes) & mask ? end - page : end;
  cuts[3] = end;
  if (cuts[2] < cuts[1]) cuts[2] = cuts[1]; /* one page, or two without one between */
}

static void drop_parts(const uintptr_t cuts[PARTS + 1], int count) {
  for (int i = 0; i < count; i++) drop_runs(cuts[i], cuts[i + 1]);
}

/* On failure nothing has changed, but that runs may have to end. */
static CUresult add_parts(const uintptr_t cuts[PARTS + 1]) {
  while (find_ending(cuts[0], cuts[PARTS])) pthread_cond_wait(&pages.changed, &pages.lock);
  for (int i = 0; i < PARTS; i++) {
    CUresult result = add_runs(cuts[i], cuts[i + 1]);
    if (result == CUDA_SUCCESS) continue;
    drop_parts(cuts, i);
    return result;
  }
  return CUDA_SUCCESS;
}

/* ---- ops ------------------------------------------------------------------- */

static CUresult register_locked(void *ptr, size_t nbytes, roc_devptr *out_ptr) {
  registration *made = roc_alloc(sizeof *made);
  if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
  made->ptr = ptr;
  made->next = pages.registrations;
  cut((uintptr_t)ptr, nbytes, made->cuts);
  CUresult result = add_parts(made->cuts);
  if (result != CUDA_SUCCESS) {
    end_unused(false);
    roc_free(made);
    return result;
  }
  pages.registrations = made;
  *out_ptr = (roc_devptr)(uintptr_t)ptr; /* device.c has seen to it that this is the address */
  return CUDA_SUCCESS;
}

/* Whether it was page-locked by another GPU's alloc_host, or by the program. */
static CUresult find_born(void *ptr, size_t nbytes, bool *out_is_born) {
  uintptr_t address = (uintptr_t)ptr;
  roc_cuda_place place;
  int ordinal;
  size_t nfound = nbytes;
  if (find_next(address, address + nbytes)) return CUDA_SUCCESS;
  CUresult result = roc_cuda_find_place(address, &nfound, &place, &ordinal);
  *out_is_born = place == ROC_CUDA_PINNED && nfound == nbytes;
  return result;
}

static roc_status fail_register(roc_cuda_device *device, CUresult result, size_t nbytes,
                                roc_error *err) {
  if (roc_cuda_is_loss(result)) return roc_cuda_fail(device, result, "", err);
  if (result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) {
    return roc_fail(err, ROC_INVALID,
                    "%zu bytes cannot be page-locked: another library has page-locked a part of "
                    "them; have it page-lock all of the memory, or none",
                    nbytes);
  }
  roc_fail(err, ROC_OOM,
           "%zu bytes cannot be page-locked: %s (CUDA error %d); see the limit that `ulimit -l` "
           "shows; memory that is a read-only mapped file cannot be, ever",
           nbytes, roc_cuda_text(result), (int)result);
  if (err) err->native = (int)result;
  return ROC_OOM;
}

roc_status roc_cuda_register(roc_device *base, void *ptr, size_t nbytes, roc_devptr *out_ptr,
                             roc_error *err) {
  roc_cuda_device *device = roc_cuda_device_of(base);
  if (base->is_lost) return roc_cuda_fail_lost(device, err);
  bool entered = roc_cuda_enter(device);
  pthread_mutex_lock(&pages.lock);
  bool is_born = false;
  CUresult result = find_born(ptr, nbytes, &is_born);
  if (result == CUDA_SUCCESS && is_born) {
    *out_ptr = (roc_devptr)(uintptr_t)ptr;
  } else if (result == CUDA_SUCCESS) {
    result = register_locked(ptr, nbytes, out_ptr);
  }
  pthread_mutex_unlock(&pages.lock);
  roc_cuda_leave(entered);
  return result == CUDA_SUCCESS ? ROC_OK : fail_register(device, result, nbytes, err);
}

void roc_cuda_unregister(roc_device *base, void *ptr) {
  bool entered = !base->is_lost && roc_cuda_enter(roc_cuda_device_of(base));
  pthread_mutex_lock(&pages.lock);
  registration **link = &pages.registrations;
  while (*link && (*link)->ptr != ptr) link = &(*link)->next;
  registration *r = *link;
  if (r) {
    *link = r->next;
    drop_parts(r->cuts, PARTS);
    end_unused(base->is_lost);
    roc_free(r);
  }
  pthread_mutex_unlock(&pages.lock);
  roc_cuda_leave(entered);
}
