/* Fibers; see fiber.h.
 *
 * On x86-64 a switch is ours: swapcontext asks the kernel for the signal mask, which takes longer
 * than many a launch that runs in a fiber. */
#include "base/fiber.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"

#if defined(__has_feature)
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_THREAD__) || HAS_FEATURE(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define TSAN(...) __VA_ARGS__
#else
#define TSAN(...)
#endif

#if defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer)
#include <sanitizer/common_interface_defs.h>
#define ASAN(...) __VA_ARGS__
#else
#define ASAN(...)
#endif

#if defined(__x86_64__)
typedef void *context; /* the stack pointer, with the kept registers above */
#else
#include <ucontext.h>
typedef ucontext_t context;
#endif

struct roc_fiber {
  context own, thread; /* what is not running of the two */
  void (*body)(void *ud);
  void *ud;
  bool has_returned;
  char *stack; /* its first page is a guard */
  size_t stack_bytes;
  TSAN(void *tsan_own; void *tsan_thread;)
  ASAN(const void *thread_stack; size_t thread_stack_bytes;)
};

static void run(roc_fiber *fiber);

/* ---- switching --------------------------------------------------------------------------- */

#if defined(__x86_64__)

/* Keeps what a function has to keep, the modes of arithmetic included. */
void roc_fiber_switch(context *from, context to);
void roc_fiber_first(void);
__asm__(
    ".text\n"
    ".p2align 4\n"
    ".hidden roc_fiber_switch\n"
    ".globl roc_fiber_switch\n"
    ".type roc_fiber_switch, @function\n"
    "roc_fiber_switch:\n"
    "  pushq %rbp\n"
    "  pushq %rbx\n"
    "  pushq %r12\n"
    "  pushq %r13\n"
    "  pushq %r14\n"
    "  pushq %r15\n"
    "  subq $8, %rsp\n"
    "  stmxcsr (%rsp)\n"
    "  fnstcw 4(%rsp)\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  ldmxcsr (%rsp)\n"
    "  fldcw 4(%rsp)\n"
    "  addq $8, %rsp\n"
    "  popq %r15\n"
    "  popq %r14\n"
    "  popq %r13\n"
    "  popq %r12\n"
    "  popq %rbx\n"
    "  popq %rbp\n"
    "  ret\n"
    ".size roc_fiber_switch, . - roc_fiber_switch\n"
    /* Where a fiber begins: the fiber is in r12, its function in r13. */
    ".p2align 4\n"
    ".hidden roc_fiber_first\n"
    ".globl roc_fiber_first\n"
    ".type roc_fiber_first, @function\n"
    "roc_fiber_first:\n"
    "  movq %r12, %rdi\n"
    "  call *%r13\n"
    "  ud2\n"
    ".size roc_fiber_first, . - roc_fiber_first\n");

static void swap(context *from, context *to) {
  roc_fiber_switch(from, *to);
}

/* What the first switch pops.  A fiber has the modes of arithmetic that a program begins with,
 * whatever the thread has set: to nearest, with subnormal numbers and without traps. */
static bool prepare(roc_fiber *fiber) {
  enum { MODES, R15, R14, R13, R12, RBX, RBP, RETURN, ABOVE, NWORDS = 10 };
  const uintptr_t mxcsr = 0x1f80, x87 = 0x037f;
  uintptr_t *words = (uintptr_t *)(fiber->stack + fiber->stack_bytes) - NWORDS;
  words[MODES] = mxcsr | x87 << 32;
  words[R13] = (uintptr_t)run;
  words[R12] = (uintptr_t)fiber;
  words[RETURN] = (uintptr_t)roc_fiber_first;
  fiber->own = words;
  return true;
}

static void adopt_signals(roc_fiber *fiber) {
  (void)fiber;
}

#else

static void swap(context *from, context *to) {
  swapcontext(from, to);
}

static void run_halves(unsigned high, unsigned low) {
  run((roc_fiber *)((uintptr_t)high << 16 << 16 | low));
}

static bool prepare(roc_fiber *fiber) {
  if (getcontext(&fiber->own) != 0) return false;
  fiber->own.uc_stack.ss_sp = fiber->stack;
  fiber->own.uc_stack.ss_size = fiber->stack_bytes;
  fiber->own.uc_link = NULL;
  uintptr_t bits = (uintptr_t)fiber;
  makecontext(&fiber->own, (void (*)(void))run_halves, 2, (unsigned)(bits >> 16 >> 16),
              (unsigned)bits);
  return true;
}

/* The fiber may come from another thread; it takes the signals that this one takes. */
static void adopt_signals(roc_fiber *fiber) {
  pthread_sigmask(SIG_SETMASK, NULL, &fiber->own.uc_sigmask);
}

#endif

/* ---- fibers ------------------------------------------------------------------------------ */

/* From the fiber to the thread; returns on the thread that comes back. */
static void leave(roc_fiber *fiber) {
  TSAN(__tsan_switch_to_fiber(fiber->tsan_thread, 0);)
  ASAN(void *fake;
       __sanitizer_start_switch_fiber(&fake, fiber->thread_stack, fiber->thread_stack_bytes);)
  swap(&fiber->own, &fiber->thread);
  ASAN(__sanitizer_finish_switch_fiber(fake, &fiber->thread_stack, &fiber->thread_stack_bytes);)
}

/* From the thread to the fiber; returns when the fiber leaves. */
static bool enter(roc_fiber *fiber) {
  TSAN(fiber->tsan_thread = __tsan_get_current_fiber();)
  TSAN(__tsan_switch_to_fiber(fiber->tsan_own, 0);)
  ASAN(void *fake; __sanitizer_start_switch_fiber(&fake, fiber->stack, fiber->stack_bytes);)
  adopt_signals(fiber);
  swap(&fiber->thread, &fiber->own);
  ASAN(__sanitizer_finish_switch_fiber(fake, NULL, NULL);)
  return fiber->has_returned;
}

/* One function after the other. */
static void run(roc_fiber *fiber) {
  ASAN(__sanitizer_finish_switch_fiber(NULL, &fiber->thread_stack, &fiber->thread_stack_bytes);)
  for (;;) {
    fiber->body(fiber->ud);
    fiber->has_returned = true;
    leave(fiber);
  }
}

roc_fiber *roc_fiber_create(size_t stack_bytes) {
  roc_fiber *fiber = roc_zalloc(sizeof *fiber);
  if (!fiber) return NULL;
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  fiber->stack_bytes = (stack_bytes + page - 1) / page * page + page;
  fiber->stack = mmap(NULL, fiber->stack_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (fiber->stack == MAP_FAILED) {
    roc_free(fiber);
    return NULL;
  }
  if (mprotect(fiber->stack, page, PROT_NONE) != 0 || !prepare(fiber)) {
    munmap(fiber->stack, fiber->stack_bytes);
    roc_free(fiber);
    return NULL;
  }
  TSAN(fiber->tsan_own = __tsan_create_fiber(0);)
  return fiber;
}

void roc_fiber_destroy(roc_fiber *fiber) {
  if (!fiber) return;
  TSAN(__tsan_destroy_fiber(fiber->tsan_own);)
  munmap(fiber->stack, fiber->stack_bytes);
  roc_free(fiber);
}

bool roc_fiber_call(roc_fiber *fiber, void (*body)(void *ud), void *ud) {
  fiber->body = body;
  fiber->ud = ud;
  fiber->has_returned = false;
  return enter(fiber);
}

bool roc_fiber_resume(roc_fiber *fiber) {
  return enter(fiber);
}

void roc_fiber_suspend(roc_fiber *fiber) {
  leave(fiber);
}
