/* Checked access to memory; see access.h.
 *
 * Wavefronts mostly touch consecutive words, or words of one page: both are recognised by a pass
 * over the lanes that becomes vector code, and cost one look at the page table. */
#include "emulator/exec/access.h"

#include <string.h>

#include "emulator/exec/stop.h"

/* ---- reaching memory ------------------------------------------------------------------------ */

/* Gives lanes that do not take part the address of one that does, so that passes over all lanes
 * need no mask. */
static void park_idle_lanes(const emu_wave *wave, emu_access *access) {
  uint64_t wish = access->at[__builtin_ctzll(access->lanes)];
  EMU_FOR_ACTIVE(lane, emu_all_lanes(wave) & ~access->lanes) access->at[lane] = wish;
}

/* Whether all lanes take part, each directly after the one before. */
static bool is_consecutive(const emu_wave *wave, const emu_access *access) {
  if (access->lanes != emu_all_lanes(wave)) return false;
  uint64_t first = access->at[0], wrong = access->at[1] ^ (first + access->nbytes);
  if (wrong) return false;
  uint32_t nbytes = access->nbytes;
  for (uint32_t base = 0; base < wave->width; base += 32) {
    for (uint32_t lane = base; lane < base + 32; lane++) {
      wrong |= access->at[lane] ^ (first + (uint64_t)lane * nbytes);
    }
  }
  return wrong == 0;
}

/* Whether all lanes access the page of the first one. */
static bool is_one_page(const emu_wave *wave, const emu_access *access) {
  uint64_t first = access->at[0], differ = 0;
  uint32_t last = access->nbytes - 1;
  for (uint32_t base = 0; base < wave->width; base += 32) {
    for (uint32_t lane = base; lane < base + 32; lane++) {
      differ |= (access->at[lane] ^ first) | ((access->at[lane] + last) ^ first);
    }
  }
  return differ >> EMU_PAGE_SHIFT == 0;
}

/* Whether all addresses, 33 bits at most, end at or before `size`. */
static bool is_within(const emu_wave *wave, const emu_access *access, uint32_t size) {
  uint64_t limit = (uint64_t)size - access->nbytes, beyond = limit; /* negative: the sign is set */
  for (uint32_t base = 0; base < wave->width; base += 32) {
    for (uint32_t lane = base; lane < base + 32; lane++) beyond |= limit - access->at[lane];
  }
  return beyond >> 63 == 0;
}

/* Bits that any of the addresses has. */
static uint64_t join_addresses(const emu_wave *wave, const emu_access *access) {
  uint64_t bits = 0;
  for (uint32_t base = 0; base < wave->width; base += 32) {
    for (uint32_t lane = base; lane < base + 32; lane++) bits |= access->at[lane];
  }
  return bits;
}

static void report_to_watch(emu_wave *wave, const emu_inst *inst, emu_space space,
                            const emu_access *access) {
  emu_watch_access(wave, inst, space, (emu_access_kind)access->kind, access->at, access->lanes,
                   access->nbytes, access->values);
}

/* Atomics want a multiple of their size. */
static bool are_aligned(emu_wave *wave, const emu_inst *inst, const emu_access *access,
                        emu_fault_kind fault, const char *where) {
  uint64_t odd = access->nbytes - 1;
  if (access->kind != EMU_ATOMIC || !(join_addresses(wave, access) & odd)) return true;
  EMU_FOR_ACTIVE(lane, access->lanes) {
    uint64_t at = access->at[lane];
    if (!(at & odd)) continue;
    emu_stop(wave, inst, fault, (int)lane,
             "atomic operation on %u bytes of %s at 0x%llx, which is not a multiple of %u",
             access->nbytes, where, (unsigned long long)at, access->nbytes);
    return false;
  }
  return true;
}

static bool check_lanes(emu_wave *wave, const emu_inst *inst, const emu_access *access,
                        unsigned need) {
  const emu_map *map = wave->group->dispatch->map;
  uint64_t allowed = UINT64_MAX; /* a page known to be fine */
  uint32_t last = access->nbytes - 1;
  EMU_FOR_ACTIVE(lane, access->lanes) {
    uint64_t at = access->at[lane];
    if (at >> EMU_PAGE_SHIFT == allowed && (at + last) >> EMU_PAGE_SHIFT == allowed) continue;
    if (!emu_map_allows(map, at, access->nbytes, need)) {
      emu_stop_memory(wave, inst, (int)lane, at, access->nbytes, access->kind != EMU_LOAD);
      return false;
    }
    allowed = at >> EMU_PAGE_SHIFT;
  }
  return true;
}

/* A run of memory that threads share is moved at once: the host's vector moves tear no aligned
 * word, which is all that a program may count on. ThreadSanitizer takes only words to be whole. */
#ifdef __SANITIZE_THREAD__
enum { MOVES_SHARED_RUNS = 0 };
#else
enum { MOVES_SHARED_RUNS = 1 };
#endif

bool emu_reach_global(emu_wave *wave, const emu_inst *inst, emu_access *access) {
  static const uint8_t needs[] = {
      [EMU_LOAD] = EMU_PAGE_READ,
      [EMU_STORE] = EMU_PAGE_WRITE,
      [EMU_ATOMIC] = EMU_PAGE_READ | EMU_PAGE_WRITE,
  };
  const emu_map *map = wave->group->dispatch->map;
  unsigned need = needs[access->kind];
  park_idle_lanes(wave, access);
  access->is_own = false;
  access->is_run = MOVES_SHARED_RUNS && is_consecutive(wave, access) &&
                   emu_map_allows(map, access->at[0], wave->width * access->nbytes, need);
  if (!access->is_run) {
    bool allowed =
        is_one_page(wave, access) && emu_map_allows(map, access->at[0], access->nbytes, need);
    if (!allowed && !check_lanes(wave, inst, access, need)) return false;
  }
  if (!are_aligned(wave, inst, access, EMU_FAULT_MEMORY, "global memory")) return false;
  if (wave->watch) report_to_watch(wave, inst, EMU_GLOBAL, access);
  return true;
}

/* Whether each lane's bytes end at or before `size`. */
static bool check_size(emu_wave *wave, const emu_inst *inst, const emu_access *access,
                       uint32_t size, const char *where) {
  static const char *const verbs[] = {
      [EMU_LOAD] = "read of", [EMU_STORE] = "write of", [EMU_ATOMIC] = "atomic operation on"};
  EMU_FOR_ACTIVE(lane, is_within(wave, access, size) ? 0 : access->lanes) {
    uint64_t at = access->at[lane];
    if (at <= size && size - at >= access->nbytes) continue;
    emu_stop(wave, inst, EMU_FAULT_APERTURE, (int)lane,
             "%s %u bytes of %s at byte %llu, beyond its end: it has %u bytes", verbs[access->kind],
             access->nbytes, where, (unsigned long long)at, size);
    return false;
  }
  return are_aligned(wave, inst, access, EMU_FAULT_APERTURE, where);
}

bool emu_reach_lds(emu_wave *wave, const emu_inst *inst, emu_access *access) {
  emu_group *group = wave->group;
  park_idle_lanes(wave, access);
  access->is_own = true;
  access->is_run = is_consecutive(wave, access);
  if (!check_size(wave, inst, access, group->lds_bytes, "the workgroup's shared memory")) {
    return false;
  }
  if (wave->watch) report_to_watch(wave, inst, EMU_LDS, access);
  for (unsigned lane = 0; lane < EMU_LANES; lane++) {
    access->at[lane] += (uint64_t)(uintptr_t)group->lds;
  }
  return true;
}

bool emu_reach_private(emu_wave *wave, const emu_inst *inst, emu_access *access) {
  park_idle_lanes(wave, access);
  access->is_own = true;
  access->is_run = false;
  if (!check_size(wave, inst, access, wave->scratch_bytes, "the work-item's private memory")) {
    return false;
  }
  if (wave->watch) report_to_watch(wave, inst, EMU_PRIVATE, access);
  uint64_t base = (uint64_t)(uintptr_t)wave->scratch;
  for (unsigned lane = 0; lane < EMU_LANES; lane++) {
    access->at[lane] += base + (uint64_t)lane * wave->scratch_bytes;
  }
  return true;
}

/* The lanes that reach into the aperture. */
static uint64_t lanes_in(const emu_access *access, uint32_t aperture) {
  uint64_t mask = 0;
  EMU_FOR_ACTIVE(lane, access->lanes) {
    mask |= (uint64_t)(access->at[lane] >> 32 == aperture) << lane;
  }
  return mask;
}

/* Reaches for some of the lanes and takes over what was found. */
static bool reach_some(emu_wave *wave, const emu_inst *inst, emu_access *access, uint64_t lanes,
                       emu_reach *reach) {
  if (!lanes) return true;
  emu_access part = *access;
  part.lanes = lanes;
  if (reach != emu_reach_global) {
    EMU_FOR_ACTIVE(lane, lanes) part.at[lane] &= UINT32_MAX;
  }
  if (!reach(wave, inst, &part)) return false;
  EMU_FOR_ACTIVE(lane, lanes) access->at[lane] = part.at[lane];
  return true;
}

bool emu_reach_flat(emu_wave *wave, const emu_inst *inst, emu_access *access) {
  uint64_t shared = lanes_in(access, EMU_SHARED_APERTURE);
  uint64_t private = lanes_in(access, EMU_PRIVATE_APERTURE);
  if (!(shared | private)) return emu_reach_global(wave, inst, access);
  uint64_t global = access->lanes & ~(shared | private);
  access->is_run = false;
  access->is_own = !global;
  return reach_some(wave, inst, access, shared, emu_reach_lds) &&
         reach_some(wave, inst, access, private, emu_reach_private) &&
         reach_some(wave, inst, access, global, emu_reach_global);
}

static inline uint8_t *pointer_of(const emu_access *access, uint64_t lane) {
  return (uint8_t *)(uintptr_t)access->at[lane]; /* GPU addresses are the process's own */
}

/* ---- loads ---------------------------------------------------------------------------------- */

uint32_t emu_form_bytes(emu_form form) {
  static const uint8_t bytes[] = {
      [EMU_FORM_U8] = 1,       [EMU_FORM_I8] = 1,      [EMU_FORM_U16] = 2,
      [EMU_FORM_I16] = 2,      [EMU_FORM_U8_LOW] = 1,  [EMU_FORM_I8_LOW] = 1,
      [EMU_FORM_B16_LOW] = 2,  [EMU_FORM_U8_HIGH] = 1, [EMU_FORM_I8_HIGH] = 1,
      [EMU_FORM_B16_HIGH] = 2, [EMU_FORM_B32] = 4,     [EMU_FORM_B64] = 8,
      [EMU_FORM_B96] = 12,     [EMU_FORM_B128] = 16,
  };
  return bytes[form];
}

/* Threads share the memory, and the program alone orders what they do to a word: what is aligned is
 * read and written whole. */
#define DEFINE_WHOLE(name, type)                                                                   \
  static inline type read_##name(const uint8_t *from) {                                            \
    type value;                                                                                    \
    if ((uintptr_t)from % sizeof value == 0) {                                                     \
      return atomic_load_explicit((const _Atomic type *)(const void *)from, memory_order_relaxed); \
    }                                                                                              \
    memcpy(&value, from, sizeof value);                                                            \
    return value;                                                                                  \
  }                                                                                                \
  static inline void write_##name(uint8_t *to, type value) {                                       \
    if ((uintptr_t)to % sizeof value == 0) {                                                       \
      atomic_store_explicit((_Atomic type *)(void *)to, value, memory_order_relaxed);              \
    } else {                                                                                       \
      memcpy(to, &value, sizeof value);                                                            \
    }                                                                                              \
  }
DEFINE_WHOLE(byte, uint8_t)
DEFINE_WHOLE(half, uint16_t)
DEFINE_WHOLE(word, uint32_t)
DEFINE_WHOLE(pair, uint64_t)

static inline uint32_t keep_high(uint32_t old, uint32_t low) {
  return (old & 0xffff0000) | (low & 0xffff);
}

static inline uint32_t keep_low(uint32_t old, uint32_t high) {
  return (old & 0xffff) | high << 16;
}

/* A register after less than a word was loaded into it. */
static inline uint32_t narrow_word(emu_form form, const uint8_t *from, uint32_t old) {
  switch (form) {
    case EMU_FORM_U8: return read_byte(from);
    case EMU_FORM_I8: return (uint32_t)(int8_t)read_byte(from);
    case EMU_FORM_U16: return read_half(from);
    case EMU_FORM_I16: return (uint32_t)(int16_t)read_half(from);
    case EMU_FORM_U8_LOW: return keep_high(old, read_byte(from));
    case EMU_FORM_I8_LOW: return keep_high(old, (uint32_t)(int8_t)read_byte(from));
    case EMU_FORM_B16_LOW: return keep_high(old, read_half(from));
    case EMU_FORM_U8_HIGH: return keep_low(old, read_byte(from));
    case EMU_FORM_I8_HIGH: return keep_low(old, (uint32_t)(int8_t)read_byte(from));
    default: return keep_low(old, read_half(from));
  }
}

/* A run of `n` words a lane into n rows, or (is_load false) back.  Inlined with n constant. */
static inline void move_run(emu_row *rows, uint8_t *memory, unsigned n, unsigned width,
                            bool is_load) {
  for (unsigned lane = 0; lane < width; lane++) {
    for (unsigned i = 0; i < n; i++) {
      uint8_t *word = memory + 4 * ((size_t)lane * n + i);
      if (is_load) {
        memcpy(&rows[i].u[lane], word, 4);
      } else {
        memcpy(word, &rows[i].u[lane], 4);
      }
    }
  }
}

/* Pairs go as one: 64-bit atomic loads and stores are plain 64-bit instructions. */
static void move_run_pairs(emu_row *rows, uint8_t *memory, unsigned width, bool is_load) {
  for (unsigned lane = 0; lane < width; lane++) {
    uint64_t pair;
    if (is_load) {
      memcpy(&pair, memory + 8 * (size_t)lane, 8);
      rows[0].u[lane] = (uint32_t)pair;
      rows[1].u[lane] = (uint32_t)(pair >> 32);
    } else {
      pair = rows[0].u[lane] | (uint64_t)rows[1].u[lane] << 32;
      memcpy(memory + 8 * (size_t)lane, &pair, 8);
    }
  }
}

static void load_run(emu_row *rows, uint8_t *memory, unsigned nwords, unsigned width) {
  switch (nwords) {
    case 1: memcpy(rows[0].u, memory, 4 * (size_t)width); break;
    case 2: move_run_pairs(rows, memory, width, true); break;
    case 3: move_run(rows, memory, 3, width, true); break;
    default: move_run(rows, memory, 4, width, true); break;
  }
}

static void store_run(emu_row *rows, uint8_t *memory, unsigned nwords, unsigned width) {
  switch (nwords) {
    case 1: memcpy(memory, rows[0].u, 4 * (size_t)width); break;
    case 2: move_run_pairs(rows, memory, width, false); break;
    case 3: move_run(rows, memory, 3, width, false); break;
    default: move_run(rows, memory, 4, width, false); break;
  }
}

static void load_words(emu_row *rows, const emu_access *access, unsigned nwords) {
  EMU_FOR_ACTIVE(lane, access->lanes) {
    const uint8_t *from = pointer_of(access, lane);
    if (nwords == 1) {
      rows[0].u[lane] = read_word(from);
      continue;
    }
    uint64_t pair = read_pair(from);
    rows[0].u[lane] = (uint32_t)pair;
    rows[1].u[lane] = (uint32_t)(pair >> 32);
    for (unsigned i = 2; i < nwords; i++) rows[i].u[lane] = read_word(from + 4 * (size_t)i);
  }
}

static void load_narrow(emu_row *row, const emu_access *access, emu_form form) {
  EMU_FOR_ACTIVE(lane, access->lanes) {
    row->u[lane] = narrow_word(form, pointer_of(access, lane), row->u[lane]);
  }
}

void emu_load(emu_wave *wave, const emu_inst *inst, emu_reach *reach, emu_access *access,
              emu_form form, emu_row *rows) {
  if (!access->lanes || !reach(wave, inst, access)) return;
  if (inst->mod.glc) emu_order_memory(); /* a seq_cst load comes after all stores before it */
  if (form < EMU_FORM_B32) {
    load_narrow(rows, access, form);
  } else if (access->is_run) {
    load_run(rows, pointer_of(access, 0), access->nbytes / 4, wave->width);
  } else {
    load_words(rows, access, access->nbytes / 4);
  }
  atomic_thread_fence(memory_order_acquire);
}

void emu_load_nothing(uint64_t lanes, emu_form form, emu_row *rows) {
  static const uint8_t zero[2];
  unsigned nwords = form < EMU_FORM_B32 ? 1 : emu_form_bytes(form) / 4;
  EMU_FOR_ACTIVE(lane, lanes) {
    for (unsigned i = 0; i < nwords; i++) {
      uint32_t *word = &rows[i].u[lane];
      *word = form < EMU_FORM_B32 ? narrow_word(form, zero, *word) : 0;
    }
  }
}

/* ---- stores --------------------------------------------------------------------------------- */

/* Puts what lane `lane` stores at `to`. */
static inline void store_lane(const emu_row *rows, uint64_t lane, emu_form form, uint8_t *to) {
  uint32_t word = rows->u[lane];
  switch (form) {
    case EMU_FORM_U8: write_byte(to, (uint8_t)word); break;
    case EMU_FORM_U8_HIGH: write_byte(to, (uint8_t)(word >> 16)); break;
    case EMU_FORM_U16: write_half(to, (uint16_t)word); break;
    case EMU_FORM_B16_HIGH: write_half(to, (uint16_t)(word >> 16)); break;
    case EMU_FORM_B32: write_word(to, word); break;
    default: {
      uint64_t pair = word | (uint64_t)rows[1].u[lane] << 32;
      write_pair(to, pair);
      if (form >= EMU_FORM_B96) write_word(to + 8, rows[2].u[lane]);
      if (form == EMU_FORM_B128) write_word(to + 12, rows[3].u[lane]);
    }
  }
}

void emu_store(emu_wave *wave, const emu_inst *inst, emu_reach *reach, emu_access *access,
               emu_form form, emu_row *rows) {
  uint8_t values[EMU_LANES * 16];
  if (!access->lanes) return;
  if (wave->watch) {
    EMU_FOR_ACTIVE(lane, access->lanes) {
      store_lane(rows, lane, form, values + lane * access->nbytes);
    }
    access->values = values;
  }
  if (!reach(wave, inst, access)) return;
  atomic_thread_fence(memory_order_release);
  if (access->is_run && form >= EMU_FORM_B32) {
    store_run(rows, pointer_of(access, 0), access->nbytes / 4, wave->width);
    return;
  }
  EMU_FOR_ACTIVE(lane, access->lanes) store_lane(rows, lane, form, pointer_of(access, lane));
}

/* ISA manual of CDNA 3, "Memory buffer load to LDS".  M0 counts in bytes, as many as LDS can have. */
void emu_store_lds(emu_wave *wave, const emu_inst *inst, uint64_t lanes, emu_form form,
                   emu_row *rows) {
  emu_form words = form < EMU_FORM_B32 ? EMU_FORM_B32 : form;
  emu_access access = {.kind = EMU_STORE, .nbytes = emu_form_bytes(words), .lanes = lanes};
  uint32_t first = (wave->s[EMU_SGPR_M0] & 0x3ffff) + (uint32_t)inst->mod.offset;
  for (unsigned lane = 0; lane < EMU_LANES; lane++) {
    access.at[lane] = (uint32_t)(first + lane * access.nbytes);
  }
  emu_store(wave, inst, emu_reach_lds, &access, words, rows);
}

/* ---- atomics -------------------------------------------------------------------------------- */

/* Applies `combine` to the word at `at`; gives what was there. */
static uint64_t update_own32(uint8_t *at, emu_combine *combine, uint64_t data, uint64_t other) {
  uint32_t old, now;
  memcpy(&old, at, sizeof old);
  now = (uint32_t)combine(old, data, other);
  memcpy(at, &now, sizeof now);
  return old;
}

static uint64_t update_own64(uint8_t *at, emu_combine *combine, uint64_t data, uint64_t other) {
  uint64_t old, now;
  memcpy(&old, at, sizeof old);
  now = combine(old, data, other);
  memcpy(at, &now, sizeof now);
  return old;
}

/* The same among other threads. */
static uint64_t update_shared32(uint8_t *at, emu_combine *combine, uint64_t data, uint64_t other) {
  _Atomic uint32_t *word = (_Atomic uint32_t *)(void *)at;
  uint32_t old = atomic_load_explicit(word, memory_order_relaxed);
  while (!atomic_compare_exchange_weak(word, &old, (uint32_t)combine(old, data, other))) continue;
  return old;
}

static uint64_t update_shared64(uint8_t *at, emu_combine *combine, uint64_t data, uint64_t other) {
  _Atomic uint64_t *word = (_Atomic uint64_t *)(void *)at;
  uint64_t old = atomic_load_explicit(word, memory_order_relaxed);
  while (!atomic_compare_exchange_weak(word, &old, combine(old, data, other))) continue;
  return old;
}

typedef uint64_t update_word(uint8_t *at, emu_combine *combine, uint64_t data, uint64_t other);

static inline uint64_t read_argument(const emu_row *rows, uint64_t lane, uint32_t nbytes) {
  return nbytes == 4 ? rows[0].u[lane] : rows[0].u[lane] | (uint64_t)rows[1].u[lane] << 32;
}

void emu_access_update(emu_wave *wave, const emu_inst *inst, emu_reach *reach, emu_access *access,
                       const emu_update *update) {
  uint32_t nbytes = access->nbytes;
  emu_row *result = update->result;
  static update_word *const words[2][2] = {{update_shared32, update_shared64},
                                           {update_own32, update_own64}};
  if (!access->lanes || !reach(wave, inst, access)) return;
  update_word *word = words[access->is_own][nbytes == 8];
  EMU_FOR_ACTIVE(lane, access->lanes) {
    uint64_t data = read_argument(update->data, lane, nbytes);
    uint64_t other = read_argument(update->other, lane, nbytes);
    uint64_t old = word(pointer_of(access, lane), update->combine, data, other);
    if (!result) continue;
    result[0].u[lane] = (uint32_t)old;
    if (nbytes == 8) result[1].u[lane] = (uint32_t)(old >> 32);
  }
}
