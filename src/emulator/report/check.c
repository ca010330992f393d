/* The rules of --check (check.h), applied to each word of each access.
 *
 * One lock around all: what is looked for is order, and the mode is for finding faults, not for
 * speed.  Time is a count of accesses told; all lanes of one access share it. */
#include "emulator/report/check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "emulator/gpu/program.h"
#include "emulator/report/shadow.h"

enum { WORD = 4, MAX_FINDINGS = 1000 };

struct emu_check_group {
  emu_shadow *lds;
  uint32_t epoch; /* barriers passed */
};

typedef enum finding_kind { FINDING_RACE, FINDING_UNDEFINED } finding_kind;

typedef struct finding {
  uint64_t entry; /* of the program */
  uint32_t inst, other;
  finding_kind kind;
} finding;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static emu_shadow *memory; /* of all GPUs: their addresses are the process's */
static uint64_t now;
static finding findings[MAX_FINDINGS];
static unsigned nfindings;
static _Atomic uint64_t dispatches;

/* One access of one lane to (part of) one word. */
typedef struct access {
  const emu_wave *wave;
  const emu_inst *inst;
  emu_space space;
  emu_access_kind kind;
  uint64_t dispatch_number;
  uint64_t address; /* of the word's first byte touched */
  emu_touch touch;
  unsigned lane;
  const uint8_t *value;       /* what is stored at `address`; NULL for others */
  const uint8_t *lane_values; /* all lanes', nbytes each */
  uint32_t nbytes, offset;    /* of the lane's access; this word's begin in it */
} access;

uint64_t emu_check_begin(void) {
  return 1 + atomic_fetch_add_explicit(&dispatches, 1, memory_order_relaxed);
}

emu_check_group *emu_check_group_new(void) {
  emu_check_group *group = roc_zalloc(sizeof *group);
  if (group && (group->lds = emu_shadow_new(true)) != NULL) return group;
  roc_free(group);
  return NULL;
}

void emu_check_group_free(emu_check_group *group) {
  if (!group) return;
  emu_shadow_free(group->lds);
  roc_free(group);
}

void emu_check_barrier(emu_check_group *group) {
  group->epoch++;
}

/* ---- findings ------------------------------------------------------------------------------ */

static bool is_new(const access *a, finding_kind kind, uint32_t other) {
  finding f = {a->wave->group->dispatch->program->entry, a->inst->index, other, kind};
  for (unsigned i = 0; i < nfindings; i++) {
    const finding *g = &findings[i];
    if (g->entry == f.entry && g->inst == f.inst && g->other == other && g->kind == kind) {
      return false;
    }
  }
  if (nfindings == MAX_FINDINGS) return false;
  findings[nfindings++] = f;
  return true;
}

static uint32_t line_of(const access *a, uint32_t inst) {
  const emu_program *program = a->wave->group->dispatch->program;
  return inst < program->ninsts ? program->insts[inst].line : 0;
}

/* "{3, 1}", counted from 1, of the item with that number in that group. */
static void format_item(const emu_dispatch *d, uint32_t group, uint32_t item, char *out,
                        size_t size) {
  uint32_t in_group = item % (d->local[0] * d->local[1] * d->local[2]);
  uint32_t id[3], rank = d->grid[2] > 1 ? 3 : d->grid[1] > 1 ? 2 : 1;
  for (int i = 0; i < 3; i++) {
    id[i] = group % d->groups[i] * d->local[i] + in_group % d->local[i] + 1;
    group /= d->groups[i];
    in_group /= d->local[i];
  }
  static const char *const FORMATS[] = {"{%u}", "{%u, %u}", "{%u, %u, %u}"};
  snprintf(out, size, FORMATS[rank - 1], id[0], id[1], id[2]);
}

static void format_place(const access *a, char *out, size_t size) {
  if (a->space == EMU_LDS) {
    snprintf(out, size, "shared memory (byte %llu)", (unsigned long long)a->address);
  } else {
    snprintf(out, size, "memory at 0x%llx", (unsigned long long)a->address);
  }
}

static const char *verb(emu_access_kind kind) {
  static const char *const VERBS[] = {"reads", "writes", "atomically updates"};
  return VERBS[kind];
}

static void report_race(const access *a, const emu_touch *other, const char *did) {
  if (!is_new(a, FINDING_RACE, other->inst)) return;
  const emu_dispatch *d = a->wave->group->dispatch;
  char item[64], other_item[64], place[64];
  format_item(d, a->touch.group, a->touch.item, item, sizeof item);
  format_item(d, other->group, other->item, other_item, sizeof other_item);
  format_place(a, place, sizeof place);
  fprintf(
      stderr,
      "roclua: check: race in kernel '%s': work-item %s %s %s at line %u; work-item %s %s it at "
      "line %u, and nothing orders the two\n",
      d->kernel, item, verb(a->kind), place, line_of(a, a->inst->index), other_item, did,
      line_of(a, other->inst));
}

static void report_undefined(const access *a) {
  if (!is_new(a, FINDING_UNDEFINED, 0)) return;
  const emu_dispatch *d = a->wave->group->dispatch;
  char item[64], place[64];
  format_item(d, a->touch.group, a->touch.item, item, sizeof item);
  format_place(a, place, sizeof place);
  fprintf(stderr,
          "roclua: check: kernel '%s': work-item %s %s %s at line %u, which nobody has written\n",
          d->kernel, item, verb(a->kind), place, line_of(a, a->inst->index));
}

/* ---- the rules ----------------------------------------------------------------------------- */

static bool stores_what_is_there(const access *a) {
  const uint8_t *there = a->space == EMU_LDS ? a->wave->group->lds + a->address
                                             : (const uint8_t *)(uintptr_t)a->address;
  return !memcmp(there, a->value, (size_t)__builtin_popcount(a->touch.bytes));
}

/* Two lanes of one store: whether they store the same. */
static bool stores_the_same(const access *a, const emu_touch *other) {
  uint32_t lane = other->item - (a->touch.item - a->lane);
  if (lane >= EMU_LANES) return false;
  const uint8_t *values = a->lane_values + (size_t)lane * a->nbytes + a->offset;
  return !memcmp(values, a->value, (size_t)__builtin_popcount(a->touch.bytes));
}

static bool is_ordered(const access *a, const emu_touch *other) {
  if (other->wave == a->touch.wave) return other->time != a->touch.time;
  if (other->group == a->touch.group && other->epoch != a->touch.epoch) return true;
  return a->wave->watched_acquire > other->time;
}

static bool is_race(const access *a, const emu_touch *other, bool both_write) {
  if (!other->time || other->item == a->touch.item) return false;
  if (!(other->bytes & a->touch.bytes) || (other->is_atomic && a->touch.is_atomic)) return false;
  if (is_ordered(a, other)) return false;
  if (!both_write || !a->value) return true;
  return other->time == a->touch.time ? !stores_the_same(a, other) : !stores_what_is_there(a);
}

static void check_read(const access *a, emu_shadow_word *w) {
  if (w->undefined & a->touch.bytes) report_undefined(a);
  if (is_race(a, &w->write, false)) report_race(a, &w->write, "wrote");
  if (w->read.item != a->touch.item) w->other_read = w->read;
  w->read = a->touch;
}

static void check_write(const access *a, emu_shadow_word *w) {
  bool stays = a->value && stores_what_is_there(a);
  if (is_race(a, &w->write, true)) report_race(a, &w->write, "wrote");
  if (!stays && is_race(a, &w->read, false)) report_race(a, &w->read, "read");
  if (!stays && is_race(a, &w->other_read, false)) report_race(a, &w->other_read, "read");
  w->undefined &= (uint8_t)~a->touch.bytes;
  w->write = a->touch;
}

static void check_word(const access *a, emu_shadow *shadow) {
  emu_shadow_word *w = emu_shadow_at(shadow, a->address);
  if (!w) return;
  if (w->dispatch != a->dispatch_number) {
    w->dispatch = a->dispatch_number;
    w->write = w->read = w->other_read = (emu_touch){0};
  }
  if (a->kind != EMU_STORE) check_read(a, w);
  if (a->kind != EMU_LOAD) check_write(a, w);
}

static void check_lane(access *a, uint64_t address, emu_shadow *shadow) {
  for (uint32_t done = 0; done < a->nbytes;) {
    uint64_t at = address + done;
    uint32_t first = (uint32_t)(at % WORD), n = WORD - first;
    if (n > a->nbytes - done) n = a->nbytes - done;
    a->address = at;
    a->offset = done;
    a->touch.bytes = (uint8_t)(((1u << n) - 1) << first);
    if (a->lane_values) a->value = a->lane_values + (size_t)a->lane * a->nbytes + done;
    check_word(a, shadow);
    done += n;
  }
}

static uint32_t group_number(const emu_group *group) {
  const uint32_t *n = group->dispatch->groups;
  return group->id[0] + n[0] * (group->id[1] + n[1] * group->id[2]);
}

void emu_check_acquire(emu_wave *wave) {
  pthread_mutex_lock(&lock);
  wave->watched_acquire = ++now;
  pthread_mutex_unlock(&lock);
}

void emu_check_access(uint64_t dispatch_number, emu_wave *wave, const emu_inst *inst,
                      emu_space space, emu_access_kind kind, const uint64_t addresses[EMU_LANES],
                      uint64_t lanes, uint32_t nbytes, const void *values) {
  const emu_check_group *known = wave->group->watched;
  if (space == EMU_PRIVATE || !known) return;
  const uint32_t *local = wave->group->dispatch->local;
  uint32_t items = local[0] * local[1] * local[2], group = group_number(wave->group);
  uint32_t first = group * items + wave->number * wave->width;
  pthread_mutex_lock(&lock);
  if (!memory) memory = emu_shadow_new(false);
  emu_shadow *shadow = space == EMU_LDS ? known->lds : memory;
  access a = {.wave = wave,
              .inst = inst,
              .space = space,
              .kind = kind,
              .dispatch_number = dispatch_number,
              .nbytes = nbytes,
              .lane_values = values};
  a.touch = (emu_touch){.time = ++now,
                        .wave = group * EMU_MAX_WAVES + wave->number,
                        .group = group,
                        .epoch = known->epoch,
                        .inst = inst->index,
                        .is_atomic = kind == EMU_ATOMIC};
  for (; lanes && shadow; lanes &= lanes - 1) {
    a.lane = (unsigned)__builtin_ctzll(lanes);
    a.touch.item = first + a.lane;
    check_lane(&a, addresses[a.lane], shadow);
  }
  pthread_mutex_unlock(&lock);
}

/* ---- device memory -------------------------------------------------------------------------- */

void emu_check_mark(uint64_t address, uint64_t nbytes, bool is_undefined) {
  uint64_t begin = (address + WORD - 1) / WORD * WORD, end = (address + nbytes) / WORD * WORD;
  if (!is_undefined) { /* a word that was written in part counts as written */
    begin = address / WORD * WORD;
    end = (address + nbytes + WORD - 1) / WORD * WORD;
  }
  pthread_mutex_lock(&lock);
  if (!memory) memory = emu_shadow_new(false);
  if (memory && begin < end) emu_shadow_mark(memory, begin, end - begin, is_undefined);
  pthread_mutex_unlock(&lock);
}

void emu_check_forget(uint64_t address, uint64_t nbytes) {
  pthread_mutex_lock(&lock);
  if (memory) emu_shadow_forget(memory, address, nbytes);
  pthread_mutex_unlock(&lock);
}

unsigned long long emu_check_findings(void) {
  pthread_mutex_lock(&lock);
  unsigned long long count = nfindings;
  pthread_mutex_unlock(&lock);
  return count;
}
