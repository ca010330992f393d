/* Starting wavefronts, and letting them run in turn.
 *
 * What registers hold at the start is laid down in LLVM's AMDGPU usage guide, "Initial kernel
 * execution state".  Private memory is a block a wavefront: the offset of a wavefront in it, which
 * kernels add to its base, is therefore 0 (access.h says how kernels reach it). */
#include "emulator/core/group.h"

#include <string.h>

#include "base/alloc.h"
#include "emulator/core/interrupt.h"
#include "emulator/exec/mode.h"
#include "emulator/exec/ops.h"
#include "emulator/isa/program.h"
#include "emulator/report/watch.h"

enum {
  LDS_BYTES = 1 << 16,
  PRIVATE_ALIGNMENT = 16,
  /* Instructions a wavefront executes before the next one's turn: wavefronts may wait for each
   * other by looking at memory. */
  TURN = 4096
};

struct emu_group_context {
  emu_group group;
  emu_wave waves[EMU_MAX_WAVES];
  emu_row *rows; /* EMU_VGPRS a wavefront; untouched pages cost nothing */
  uint8_t *lds;
  uint8_t *scratch;
  size_t scratch_bytes;
};

/* ---- the context ------------------------------------------------------------------------------
 */

emu_group_context *emu_group_context_new(void) {
  emu_group_context *context = roc_alloc_aligned(sizeof *context, 64);
  if (!context) return NULL;
  memset(context, 0, sizeof *context);
  context->rows = roc_alloc_aligned(sizeof(emu_row) * EMU_VGPRS * EMU_MAX_WAVES, 64);
  context->lds = roc_alloc_aligned(LDS_BYTES, 64);
  if (context->rows && context->lds) return context;
  emu_group_context_free(context);
  return NULL;
}

void emu_group_context_free(emu_group_context *context) {
  if (!context) return;
  roc_free(context->rows);
  roc_free(context->lds);
  roc_free(context->scratch);
  roc_free(context);
}

static uint32_t private_bytes_of(const emu_launch *launch) {
  return (launch->private_bytes + PRIVATE_ALIGNMENT - 1) & ~(PRIVATE_ALIGNMENT - 1u);
}

/* Wavefronts of a whole workgroup. */
static uint32_t count_waves(const uint32_t local[3], uint32_t width) {
  return (local[0] * local[1] * local[2] + width - 1) / width;
}

bool emu_group_context_prepare(emu_group_context *context, const emu_launch *launch) {
  uint32_t width = launch->descriptor.wave_size;
  size_t lanes = (size_t)count_waves(launch->dispatch.local, width) * width, nbytes;
  if (!roc_mul_size(lanes, private_bytes_of(launch), &nbytes)) return false;
  if (nbytes <= context->scratch_bytes) return true;
  roc_free(context->scratch);
  context->scratch_bytes = 0;
  context->scratch = roc_alloc_aligned(nbytes, 64);
  if (context->scratch) context->scratch_bytes = nbytes;
  return context->scratch != NULL;
}

/* ---- scalar registers ----------------------------------------------------------------------- */

static void put64(uint32_t *at, uint64_t value) {
  at[0] = (uint32_t)value;
  at[1] = (uint32_t)(value >> 32);
}

/* The buffer resource of private memory, with the fields ROCR sets: swizzling, which spreads a
 * lane's bytes over the wavefront's on hardware, and the lane's number added to the index. */
static void put_private_buffer(const emu_wave *wave, uint32_t *at) {
  enum { SWIZZLE = 1u << 31, ADD_LANE = 1 << 23, STRIDE_64 = 3 << 21, STRIDE_32 = 2 << 21 };
  put64(at, (uint64_t)(uintptr_t)wave->scratch);
  at[1] = (at[1] & 0xffff) | SWIZZLE;
  at[2] = wave->scratch_bytes * wave->width;
  at[3] = ADD_LANE | (uint32_t)(wave->width == 64 ? STRIDE_64 : STRIDE_32);
}

static unsigned put_user_registers(emu_wave *wave, const emu_launch *launch) {
  uint8_t user = launch->descriptor.user;
  uint32_t *at = wave->s;
  if (user & EMU_USER_PRIVATE_BUFFER) put_private_buffer(wave, at), at += 4;
  if (user & EMU_USER_DISPATCH) put64(at, launch->dispatch_address), at += 2;
  if (user & EMU_USER_QUEUE) put64(at, launch->queue_address), at += 2;
  if (user & EMU_USER_KERNARG) put64(at, launch->kernarg), at += 2;
  if (user & EMU_USER_DISPATCH_ID) put64(at, launch->dispatch_id), at += 2;
  if (user & EMU_USER_FLAT_SCRATCH) put64(at, (uint64_t)(uintptr_t)wave->scratch), at += 2;
  if (user & EMU_USER_PRIVATE_SIZE) *at++ = launch->private_bytes;
  return launch->descriptor.user_sgprs;
}

static void put_scalar_registers(emu_wave *wave, const emu_launch *launch) {
  const emu_descriptor *descriptor = &launch->descriptor;
  const emu_group *group = wave->group;
  const bool has_trap_ids = launch->dispatch.chip->generation == EMU_GFX12;
  memset(wave->s, 0, sizeof wave->s);
  unsigned n = put_user_registers(wave, launch);
  for (int d = 0; d < 3 && !has_trap_ids; d++) {
    if (descriptor->has_group_id[d]) wave->s[n++] = group->id[d];
  }
  if (has_trap_ids) {
    wave->s[EMU_SGPR_TTMP + 9] = group->id[0];
    wave->s[EMU_SGPR_TTMP + 7] = (group->id[1] & 0xffff) | group->id[2] << 16;
  }
  if (descriptor->has_group_info) {
    wave->s[n++] = (uint32_t)(wave->number == 0) << 31 | group->nwaves;
  }
  if (descriptor->has_wave_offset) wave->s[n++] = 0;
}

/* ---- vector registers ----------------------------------------------------------------------- */

static void put_item_ids(emu_wave *wave, const emu_launch *launch) {
  const uint32_t *local = wave->group->local;
  const bool is_packed = launch->dispatch.chip->has_packed_ids;
  const unsigned nids = launch->descriptor.item_ids;
  uint32_t index = wave->number * wave->width;
  uint32_t x = index % local[0], y = index / local[0] % local[1], z = index / local[0] / local[1];
  for (unsigned lane = 0; lane < wave->width; lane++) {
    wave->v[0].u[lane] = is_packed ? x | y << 10 | z << 20 : x;
    if (!is_packed && nids > 1) wave->v[1].u[lane] = y;
    if (!is_packed && nids > 2) wave->v[2].u[lane] = z;
    if (++x == local[0]) x = 0, y++;
    if (y == local[1]) y = 0, z++;
  }
}

/* Zero, though hardware promises nothing: so a dispatch gives the same result each time. */
static void put_vector_registers(emu_wave *wave, const emu_launch *launch) {
  const emu_descriptor *descriptor = &launch->descriptor;
  memset(wave->v, 0, sizeof(emu_row) * descriptor->vgprs);
  memset(wave->v + EMU_VGPRS / 2, 0, sizeof(emu_row) * descriptor->accumulators);
  wave->nv = descriptor->vgprs;
  wave->nacc = descriptor->accumulators;
  put_item_ids(wave, launch);
}

/* ---- starting ------------------------------------------------------------------------------- */

static uint64_t first_lanes(uint32_t count) {
  return count >= 64 ? ~0ull : (1ull << count) - 1;
}

static void start_wave(emu_group_context *context, emu_launch *launch, uint32_t number) {
  emu_group *group = &context->group;
  emu_wave *wave = &context->waves[number];
  uint32_t width = launch->descriptor.wave_size;
  uint32_t nitems = group->local[0] * group->local[1] * group->local[2] - number * width;
  wave->next = launch->dispatch.program->first;
  wave->state = EMU_RUNNING;
  wave->width = (uint8_t)width;
  wave->scc = wave->has_signalled = wave->may_pass = false;
  wave->v = context->rows + (size_t)number * EMU_VGPRS;
  wave->number = number;
  memset(wave->hw, 0, sizeof wave->hw);
  wave->scratch_bytes = private_bytes_of(launch);
  wave->scratch = context->scratch + (size_t)number * width * wave->scratch_bytes;
  wave->executed = 0;
  wave->watch = launch->dispatch.watch;
  wave->group = group;
  emu_mode_set(&wave->mode, group->dispatch->chip, launch->descriptor.mode);
  put_scalar_registers(wave, launch);
  put_vector_registers(wave, launch);
  emu_set_exec(wave, first_lanes(nitems < width ? nitems : width));
}

/* The last workgroups of a dimension have the items that are left. */
static void start_group(emu_group_context *context, emu_launch *launch, const uint32_t id[3]) {
  emu_group *group = &context->group;
  emu_dispatch *dispatch = &launch->dispatch;
  group->dispatch = dispatch;
  group->lds = context->lds;
  group->lds_bytes = launch->lds_bytes;
  group->waves = context->waves;
  group->nended = group->nsignalled = 0;
  for (int d = 0; d < 3; d++) {
    uint32_t left = dispatch->grid[d] - id[d] * dispatch->local[d];
    group->id[d] = id[d];
    group->local[d] = left < dispatch->local[d] ? left : dispatch->local[d];
  }
  group->nwaves = count_waves(group->local, launch->descriptor.wave_size);
  for (uint32_t i = 0; i < group->nwaves; i++) start_wave(context, launch, i);
  if (dispatch->watch) emu_watch_group(dispatch->watch, group);
}

/* ---- running -------------------------------------------------------------------------------- */

/* Until it ends, waits at a barrier or was stopped, but at most one turn. */
static void run_turn(emu_wave *wave) {
  uint32_t n = 0;
  do {
    const emu_inst *inst = wave->next;
    wave->next = inst + 1;
    inst->run(wave, inst);
    n++;
  } while (wave->state == EMU_RUNNING && n < TURN);
  wave->executed += n;
}

/* The same with the checks that may be on between instructions. */
static void run_careful_turn(emu_wave *wave) {
  uint32_t n = 0;
  do {
    const emu_inst *inst = wave->next;
    if (wave->watch) emu_watch_step(wave, inst);
    if (wave->state != EMU_RUNNING) break;
    wave->next = inst + 1;
    (wave->mode.raw & EMU_MODE_INDEX ? emu_run_indexed : inst->run)(wave, inst);
    n++;
  } while (wave->state == EMU_RUNNING && n < TURN);
  wave->executed += n;
}

/* One turn of each wavefront that can run; false when the dispatch is to end. */
static bool run_round(emu_group *group) {
  emu_dispatch *dispatch = group->dispatch;
  group->nended = 0;
  for (uint32_t i = 0; i < group->nwaves; i++) {
    emu_wave *wave = &group->waves[i];
    bool is_plain = !wave->watch && !(wave->mode.raw & EMU_MODE_INDEX);
    if (wave->state == EMU_PAUSED) wave->state = EMU_RUNNING;
    if (wave->state == EMU_RUNNING) (is_plain ? run_turn : run_careful_turn)(wave);
    group->nended += wave->state == EMU_ENDED;
  }
  return !emu_dispatch_is_over(dispatch);
}

/* Whether a wavefront has come to the barrier, and all that have not ended. */
static bool have_all_come(const emu_group *group) {
  if (!group->nsignalled) return false;
  for (uint32_t i = 0; i < group->nwaves; i++) {
    const emu_wave *wave = &group->waves[i];
    if (wave->state != EMU_ENDED && !wave->has_signalled) return false;
  }
  return true;
}

static void open_barrier(emu_group *group) {
  emu_dispatch *dispatch = group->dispatch;
  if (dispatch->watch) emu_watch_barrier(dispatch->watch, group);
  group->nsignalled = 0;
  for (uint32_t i = 0; i < group->nwaves; i++) {
    emu_wave *wave = &group->waves[i];
    bool is_waiting = wave->state == EMU_AT_BARRIER;
    wave->may_pass = wave->has_signalled && !is_waiting;
    wave->has_signalled = false;
    if (is_waiting) wave->state = EMU_RUNNING;
  }
}

uint64_t emu_group_run(emu_group_context *context, emu_launch *launch, const uint32_t id[3]) {
  emu_group *group = &context->group;
  start_group(context, launch, id);
  while (run_round(group) && group->nended < group->nwaves) {
    if (have_all_come(group)) open_barrier(group);
  }
  emu_watch *watch = launch->dispatch.watch;
  if (watch) emu_watch_group_end(watch, group);
  uint64_t executed = 0;
  for (uint32_t i = 0; i < group->nwaves; i++) executed += group->waves[i].executed;
  return executed;
}
