/* A GPU: its programs, its workers, the contexts of the threads that run workgroups, and the names
 * of kernels it has run. */
#include "emulator/core/gpu.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "emulator/core/dispatch.h"
#include "emulator/core/program.h"
#include "emulator/isa/name.h"
#include "emulator/report/watch.h"

enum { MAX_CONTEXTS = 64, MAX_NAME = 256, NAMES = 256 /* a power of two */ };

/* What the kernel that begins at `entry` is called. */
typedef struct kernel_name {
  uint64_t entry, version;
  char text[MAX_NAME];
} kernel_name;

struct emu_gpu {
  const emu_chip *chip;
  const emu_map *map;
  emu_programs *programs;
  emu_pool *pool;
  _Atomic uint64_t executed;
  pthread_mutex_t lock;                      /* of what follows */
  emu_group_context *contexts[MAX_CONTEXTS]; /* idle ones */
  unsigned ncontexts;
  uint64_t version; /* of the code, from 1 */
  kernel_name names[NAMES];
};

emu_gpu *emu_gpu_new(const emu_chip *chip, const emu_map *map, unsigned nthreads) {
  emu_gpu *gpu = roc_zalloc(sizeof *gpu);
  if (!gpu) return NULL;
  gpu->chip = chip;
  gpu->map = map;
  gpu->version = 1;
  pthread_mutex_init(&gpu->lock, NULL);
  gpu->programs = emu_programs_new(chip, map);
  gpu->pool = emu_pool_new(nthreads);
  if (gpu->programs && gpu->pool) return gpu;
  emu_gpu_free(gpu);
  return NULL;
}

void emu_gpu_free(emu_gpu *gpu) {
  if (!gpu) return;
  emu_pool_free(gpu->pool);
  if (gpu->programs) emu_programs_free(gpu->programs);
  for (unsigned i = 0; i < gpu->ncontexts; i++) emu_group_context_free(gpu->contexts[i]);
  pthread_mutex_destroy(&gpu->lock);
  roc_free(gpu);
}

/* ---- contexts -------------------------------------------------------------------------------- */

static emu_group_context *take_context(void *ud) {
  emu_gpu *gpu = ud;
  pthread_mutex_lock(&gpu->lock);
  emu_group_context *context = gpu->ncontexts ? gpu->contexts[--gpu->ncontexts] : NULL;
  pthread_mutex_unlock(&gpu->lock);
  return context ? context : emu_group_context_new();
}

static void give_context(void *ud, emu_group_context *context) {
  emu_gpu *gpu = ud;
  pthread_mutex_lock(&gpu->lock);
  bool is_kept = gpu->ncontexts < MAX_CONTEXTS;
  if (is_kept) gpu->contexts[gpu->ncontexts++] = context;
  pthread_mutex_unlock(&gpu->lock);
  if (!is_kept) emu_group_context_free(context);
}

static void count(void *ud, uint64_t executed) {
  emu_gpu *gpu = ud;
  atomic_fetch_add_explicit(&gpu->executed, executed, memory_order_relaxed);
}

/* ---- names ---------------------------------------------------------------------------------- */

static void make_name(const emu_descriptor *descriptor, char *out) {
  if (emu_name_find(descriptor->entry, out, MAX_NAME)) return;
  snprintf(out, MAX_NAME, "%s", descriptor->is_legacy ? "(a copy or fill of ROCR)" : "?");
}

/* Copies the kernel's name to `out`, MAX_NAME bytes. */
static void find_name(emu_gpu *gpu, const emu_descriptor *descriptor, char *out) {
  kernel_name *kept = &gpu->names[descriptor->entry / 256 % NAMES];
  pthread_mutex_lock(&gpu->lock);
  uint64_t version = gpu->version;
  bool is_known = kept->entry == descriptor->entry && kept->version == version;
  if (is_known) memcpy(out, kept->text, MAX_NAME);
  pthread_mutex_unlock(&gpu->lock);
  if (is_known) return;
  make_name(descriptor, out);
  pthread_mutex_lock(&gpu->lock);
  kept->entry = descriptor->entry;
  kept->version = version;
  memcpy(kept->text, out, MAX_NAME);
  pthread_mutex_unlock(&gpu->lock);
}

/* ---- running -------------------------------------------------------------------------------- */

static bool run_watched(emu_gpu *gpu, emu_launch *launch) {
  const emu_dispatch_ops ops = {take_context, give_context, count, gpu};
  emu_dispatch *dispatch = &launch->dispatch;
  dispatch->watch = emu_watch_begin(dispatch);
  bool has_ended = emu_dispatch_run(launch, gpu->pool, &ops);
  if (dispatch->watch) emu_watch_end(dispatch->watch);
  return has_ended;
}

bool emu_gpu_run(emu_gpu *gpu, const emu_queue_view *view, const void *packet, emu_fault *fault) {
  emu_launch launch;
  char name[MAX_NAME] = "";
  if (!emu_dispatch_check(gpu->chip, gpu->map, view, packet, &launch, fault)) return false;
  const emu_descriptor *descriptor = &launch.descriptor;
  const emu_register_limits limits = {.wave_size = descriptor->wave_size,
                                      .sgprs = descriptor->sgprs,
                                      .vgprs = descriptor->vgprs,
                                      .accumulators = descriptor->accumulators};
  const emu_program *program = emu_programs_get(gpu->programs, descriptor->entry, &limits);
  if (!program) {
    fault->kind = EMU_FAULT_PACKET;
    fault->packet = EMU_PACKET_CODE;
    snprintf(
        fault->text, sizeof fault->text,
        "no memory on the host to decode the kernel at 0x%llx, or an LLVM that does not know %s",
        (unsigned long long)descriptor->entry, gpu->chip->name);
    return false;
  }
  find_name(gpu, descriptor, name);
  launch.dispatch.program = program;
  launch.dispatch.kernel = name;
  launch.dispatch.is_runtime = launch.descriptor.is_legacy;
  bool has_ended = run_watched(gpu, &launch);
  emu_program_release(program);
  return has_ended;
}

void emu_gpu_code_changed(emu_gpu *gpu) {
  emu_programs_changed(gpu->programs);
  pthread_mutex_lock(&gpu->lock);
  gpu->version++;
  pthread_mutex_unlock(&gpu->lock);
}

uint64_t emu_gpu_executed(const emu_gpu *gpu) {
  return atomic_load_explicit(&((emu_gpu *)gpu)->executed, memory_order_relaxed);
}
