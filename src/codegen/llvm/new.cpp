/* C++'s new and delete for LLVM: they come to memory.c.  The object's version script hides them
 * from other libraries, and libstdc++ is linked into the object, so that it uses them, too. */
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/PrettyStackTrace.h>

#include <cstdlib>
#include <new>

#include "codegen/llvm/memory.h"

using std::align_val_t;
using std::nothrow_t;
using std::size_t;

namespace {

void (*stop_thread)(void);

void stop_llvm(void *, const char *, bool) {
  stop_thread();
}

void *take(size_t nbytes, align_val_t alignment = align_val_t(1)) {
  void *block = nullptr;
  if (static_cast<size_t>(alignment) <= alignof(std::max_align_t)) {
    block = malloc(nbytes);
  } else if (posix_memalign(&block, static_cast<size_t>(alignment), nbytes)) {
    block = nullptr;
  }
  while (!block) stop_thread ? stop_thread() : abort();
  return block;
}

}  // namespace

void *operator new(size_t n) {
  return take(n);
}
void *operator new[](size_t n) {
  return take(n);
}
void *operator new(size_t n, const nothrow_t &) noexcept {
  return take(n);
}
void *operator new[](size_t n, const nothrow_t &) noexcept {
  return take(n);
}
void *operator new(size_t n, align_val_t a) {
  return take(n, a);
}
void *operator new[](size_t n, align_val_t a) {
  return take(n, a);
}
void *operator new(size_t n, align_val_t a, const nothrow_t &) noexcept {
  return take(n, a);
}
void *operator new[](size_t n, align_val_t a, const nothrow_t &) noexcept {
  return take(n, a);
}

void operator delete(void *p) noexcept {
  free(p);
}
void operator delete[](void *p) noexcept {
  free(p);
}
void operator delete(void *p, size_t) noexcept {
  free(p);
}
void operator delete[](void *p, size_t) noexcept {
  free(p);
}
void operator delete(void *p, const nothrow_t &) noexcept {
  free(p);
}
void operator delete[](void *p, const nothrow_t &) noexcept {
  free(p);
}
void operator delete(void *p, align_val_t) noexcept {
  free(p);
}
void operator delete[](void *p, align_val_t) noexcept {
  free(p);
}
void operator delete(void *p, size_t, align_val_t) noexcept {
  free(p);
}
void operator delete[](void *p, size_t, align_val_t) noexcept {
  free(p);
}
void operator delete(void *p, align_val_t, const nothrow_t &) noexcept {
  free(p);
}
void operator delete[](void *p, align_val_t, const nothrow_t &) noexcept {
  free(p);
}

/* LLVM calls malloc too, and its handler when that gives nothing. */
void roc_memory_on_exhaustion(void (*stop)(void)) {
  bool is_first = !stop_thread;
  stop_thread = stop;
  if (is_first) llvm::install_bad_alloc_error_handler(stop_llvm);
}

const void *roc_memory_crash_notes(void) {
  return llvm::SavePrettyStackState();
}
void roc_memory_restore_crash_notes(const void *notes) {
  llvm::RestorePrettyStackState(notes);
}
