/* The rules of --check (check.h), applied to each word of each access.
 *
 * One lock around all: what is looked for is order, and the mode is for finding faults, not for
 * speed. Time is the number of accesses so far; all lanes of one access share it. */
#include "emulator/report/check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "emulator/report/shadow.h"

enum {
  WORD = 4,
  ALL_BYTES = 15 /* of a word */,
  MAX_FINDINGS = 1000,
  LDS_BUCKETS = 16,
  MEMORY_BUCKETS = 1 << 14
};

struct emu_check_group {
  emu_shadow *lds;
  uint32_t epoch; /* barriers passed */
};

typedef enum finding_kind { FINDING_RACE, FINDING_UNDEFINED } finding_kind;

/* One of a pair of lines, or of instructions where lines are unknown; specialisations of a kernel
 * are one. */
typedef struct finding {
  uint64_t kernel; /* hash of its name */
  uint64_t first, second;
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
  const emu_source *source;
  emu_wave *wave;
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
  if (group && (group->lds = emu_shadow_new(true, LDS_BUCKETS)) != NULL) return group;
  roc_free(group);
  return NULL;
}

void emu_check_group_free(emu_check_group *group) {
  if (!group) return;
  emu_shadow_free(group->lds);
  roc_free(group);
}

/* What one wavefront has acquired, all have that met it. */
void emu_check_barrier(emu_group *group) {
  emu_check_group *known = group->watched;
  uint64_t acquired = 0;
  known->epoch++;
  for (uint32_t i = 0; i < group->nwaves; i++) {
    if (group->waves[i].watched_acquire > acquired) acquired = group->waves[i].watched_acquire;
  }
  for (uint32_t i = 0; i < group->nwaves; i++) group->waves[i].watched_acquire = acquired;
}

/* ---- findings ------------------------------------------------------------------------------ */

static uint64_t hash_name(const char *name) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (; *name; name++) hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
  return hash;
}

/* A number for the line, or for the instruction of which it is not known. */
static uint64_t place_key(const access *a, uint32_t inst) {
  const emu_place *place = emu_source_place(a->source, inst);
  if (!place->file) return (uint64_t)1 << 63 | inst;
  return (hash_name(place->file) << 24 ^ place->line) & ~((uint64_t)1 << 63);
}

static bool is_new(const access *a, finding_kind kind, uint32_t other) {
  uint64_t here = place_key(a, a->inst->index), there = place_key(a, other);
  finding f = {hash_name(a->source->kernel), here < there ? here : there,
               here < there ? there : here, kind};
  for (unsigned i = 0; i < nfindings; i++) {
    const finding *g = &findings[i];
    if (g->kernel == f.kernel && g->first == f.first && g->second == f.second && g->kind == kind) {
      return false;
    }
  }
  if (nfindings == MAX_FINDINGS) return false;
  findings[nfindings++] = f;
  return true;
}

/* "{3, 1}", counted from 1, of the item with that number in that group. */
static void format_item(const emu_dispatch *d, uint32_t group, uint32_t item, char *out,
                        size_t size) {
  uint32_t in_group = item % (d->local[0] * d->local[1] * d->local[2]);
  uint32_t id[3], rank = d->grid[2] > 1 ? 3 : d->grid[1] > 1 ? 2 : 1;
  for (int i = 0; i < 3; i++) {
    uint32_t before = group % d->groups[i] * d->local[i], left = d->grid[i] - before;
    uint32_t local = left < d->local[i] ? left : d->local[i]; /* fewer at the end of the grid */
    id[i] = before + in_group % local + 1;
    group /= d->groups[i];
    in_group /= local;
  }
  static const char *const formats[] = {"{%u}", "{%u, %u}", "{%u, %u, %u}"};
  snprintf(out, size, formats[rank - 1], id[0], id[1], id[2]);
}

/* " (byte 12)" of LDS is what can be found again; an address is not. */
static void format_memory(const access *a, char *out, size_t size) {
  if (a->space == EMU_LDS) {
    snprintf(out, size, "shared memory (byte %llu)", (unsigned long long)a->address);
  } else {
    snprintf(out, size, "memory at 0x%llx", (unsigned long long)a->address);
  }
}

static void format_place(const access *a, uint32_t inst, char *out, size_t size) {
  emu_place_format(emu_source_place(a->source, inst), out, size);
}

static const char *verb(emu_access_kind kind) {
  static const char *const verbs[] = {"reads", "writes", "atomically updates"};
  return verbs[kind];
}

static void report_race(const access *a, const emu_touch *other, const char *did) {
  if (!is_new(a, FINDING_RACE, other->inst)) return;
  const emu_dispatch *d = a->wave->group->dispatch;
  char item[64], other_item[64], memory_text[64], place[160], other_place[160];
  format_item(d, a->touch.group, a->touch.item, item, sizeof item);
  format_item(d, other->group, other->item, other_item, sizeof other_item);
  format_memory(a, memory_text, sizeof memory_text);
  format_place(a, a->inst->index, place, sizeof place);
  format_place(a, other->inst, other_place, sizeof other_place);
  fprintf(stderr,
          "roclua: check: race in kernel '%s': work-item %s %s %s at %s, and work-item %s %s it at "
          "%s; nothing orders the two\n",
          a->source->kernel, item, verb(a->kind), memory_text, place, other_item, did, other_place);
}

static void report_undefined(const access *a) {
  if (a->source->is_runtime || !is_new(a, FINDING_UNDEFINED, a->inst->index)) return;
  char item[64], memory_text[64], place[160];
  format_item(a->wave->group->dispatch, a->touch.group, a->touch.item, item, sizeof item);
  format_memory(a, memory_text, sizeof memory_text);
  format_place(a, a->inst->index, place, sizeof place);
  fprintf(stderr,
          "roclua: check: undefined value in kernel '%s': work-item %s %s %s at %s, which was "
          "never written\n",
          a->source->kernel, item, verb(a->kind), memory_text, place);
}

/* ---- the rules ----------------------------------------------------------------------------- */

static size_t bytes_of(const access *a) {
  return (size_t)__builtin_popcount(a->touch.bytes);
}

/* The word in memory that holds the address; other workgroups may be writing it. */
static uint32_t read_memory(const access *a) {
  uintptr_t at = a->space == EMU_LDS ? (uintptr_t)a->wave->group->lds + a->address : a->address;
  return atomic_load_explicit((const _Atomic uint32_t *)(at - a->address % WORD),
                              memory_order_relaxed);
}

/* The watch hears of a write before it is done, and may hear of other accesses in between. So a
 * word holds what the last write stores; memory is read only where that is unknown. */
static bool stores_what_is_there(const access *a, const emu_shadow_word *w) {
  const uint8_t *there = w->value;
  uint32_t word;
  if (a->touch.bytes & ~w->known) {
    word = read_memory(a);
    there = (const uint8_t *)&word;
  }
  return !memcmp(there + a->address % WORD, a->value, bytes_of(a));
}

/* Two lanes of one store: whether they store the same. */
static bool stores_the_same(const access *a, const emu_touch *other) {
  uint32_t lane = other->item - (a->touch.item - a->lane);
  if (lane >= EMU_LANES) return false;
  const uint8_t *values = a->lane_values + (size_t)lane * a->nbytes + a->offset;
  return !memcmp(values, a->value, bytes_of(a));
}

static bool is_ordered(const access *a, const emu_touch *other) {
  if (other->wave == a->touch.wave) return other->time != a->touch.time;
  if (other->group == a->touch.group && other->epoch != a->touch.epoch) return true;
  return a->wave->watched_acquire > other->time;
}

static bool is_race(const access *a, const emu_shadow_word *w, const emu_touch *other) {
  if (!other->time || other->item == a->touch.item) return false;
  if (!(other->bytes & a->touch.bytes) || (other->is_atomic && a->touch.is_atomic)) return false;
  uint8_t both = other->bytes & a->touch.bytes;
  bool is_scalar = other->is_scalar || a->touch.is_scalar;
  if (is_ordered(a, other) || (is_scalar && both != ALL_BYTES)) return false;
  if (other != &w->write || !a->value) return true; /* one reads, or a value is unknown */
  return other->time == a->touch.time ? !stores_the_same(a, other) : !stores_what_is_there(a, w);
}

/* A wavefront that sees, by an atomic operation, what another one has written there comes after
 * it. */
static void acquire_by_atomic(const access *a, const emu_touch *write) {
  bool is_seen = a->kind == EMU_LOAD || a->inst->dst[0].kind == EMU_OPERAND_VGPR;
  if (a->space != EMU_LDS || !is_seen || !a->touch.is_atomic) return;
  if (write->time && write->is_atomic && write->wave != a->touch.wave) {
    a->wave->watched_acquire = now;
  }
}

static void check_read(const access *a, emu_shadow_word *w) {
  if (is_race(a, w, &w->write)) report_race(a, &w->write, "wrote");
  acquire_by_atomic(a, &w->write);
  if (w->read.item != a->touch.item) w->other_read = w->read;
  w->read = a->touch;
}

static void remember_write(const access *a, emu_shadow_word *w) {
  w->write = a->touch;
  w->known = a->value ? a->touch.bytes : 0;
  if (a->value) memcpy(w->value + a->address % WORD, a->value, bytes_of(a));
}

/* A write that changes nothing is not remembered, as it has no effect. */
static void check_write(const access *a, emu_shadow_word *w) {
  bool stays = a->value && stores_what_is_there(a, w) && !(w->undefined & a->touch.bytes);
  if (is_race(a, w, &w->write)) report_race(a, &w->write, "wrote");
  if (!stays && is_race(a, w, &w->read)) report_race(a, &w->read, "read");
  if (!stays && is_race(a, w, &w->other_read)) report_race(a, &w->other_read, "read");
  w->undefined &= (uint8_t)~a->touch.bytes;
  if (!stays) remember_write(a, w);
}

/* Of other dispatches. */
static void forget_others(const access *a, emu_shadow_word *w) {
  if (w->dispatch == a->dispatch_number) return;
  w->dispatch = a->dispatch_number;
  w->write = w->read = w->other_read = (emu_touch){0};
  w->known = 0;
}

static void check_word(const access *a, emu_shadow *shadow) {
  emu_shadow_word *w = emu_shadow_at(shadow, a->address);
  if (!w) return;
  forget_others(a, w);
  if (a->kind != EMU_STORE && (w->undefined & a->touch.bytes)) report_undefined(a);
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

/* A scalar load of 3 words may be made one of 4, of 5 to 7 one of 8, and one of a byte or two one
 * of a word. So it is undefined only where nothing of it is defined. */
static void check_scalar(access *a, uint64_t address, emu_shadow *shadow) {
  uint32_t nwords = a->nbytes / WORD, nsure = nwords <= 2 ? nwords : nwords / 2 + 1;
  bool is_undefined = true;
  a->touch.bytes = ALL_BYTES;
  for (uint32_t i = 0; i < nwords; i++) {
    emu_shadow_word *w = emu_shadow_at(shadow, address + i * WORD);
    if (!w || w->undefined != ALL_BYTES) is_undefined = false;
    if (!w || i >= nsure) continue;
    a->address = address + i * WORD;
    forget_others(a, w);
    check_read(a, w);
  }
  a->address = address;
  if (is_undefined) report_undefined(a);
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

/* Compilers emit atomic loads as plain ones that bypass the caches. */
static bool is_atomic(const emu_source *source, const emu_inst *inst, emu_access_kind kind) {
  if (kind == EMU_ATOMIC || emu_source_place(source, inst->index)->is_atomic) return true;
  return kind == EMU_LOAD && inst->mod.glc;
}

void emu_check_access(const emu_source *source, uint64_t dispatch_number, emu_wave *wave,
                      const emu_inst *inst, emu_space space, emu_access_kind kind,
                      const uint64_t addresses[EMU_LANES], uint64_t lanes, uint32_t nbytes,
                      const void *values) {
  const emu_check_group *known = wave->group->watched;
  if (space == EMU_PRIVATE || !known) return;
  const uint32_t *local = wave->group->dispatch->local;
  uint32_t items = local[0] * local[1] * local[2], group = group_number(wave->group);
  uint32_t first = group * items + wave->number * wave->width;
  pthread_mutex_lock(&lock);
  if (!memory) memory = emu_shadow_new(false, MEMORY_BUCKETS);
  emu_shadow *shadow = space == EMU_LDS ? known->lds : memory;
  access a = {.source = source,
              .wave = wave,
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
                        .is_atomic = is_atomic(source, inst, kind)};
  bool is_scalar = inst->op->class == EMU_CLASS_SMEM && kind == EMU_LOAD;
  a.touch.is_scalar = is_scalar;
  for (; lanes && shadow; lanes &= lanes - 1) {
    a.lane = (unsigned)__builtin_ctzll(lanes);
    a.touch.item = first + a.lane;
    (is_scalar ? check_scalar : check_lane)(&a, addresses[a.lane], shadow);
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
  if (!memory) memory = emu_shadow_new(false, MEMORY_BUCKETS);
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
