/* Programs: keeping decoded code, and checking it against memory.
 *
 * One lock a GPU guards decoding, the cache and the lists of blocks; wavefronts read instructions
 * without it. */
#include "emulator/core/program.h"

#include <pthread.h>

#include "base/alloc.h"
#include "emulator/core/decoded_block.h"

enum { MAX_PROGRAMS = 1024 /* kept by a GPU; the oldest unused one makes room */ };

typedef struct kept_program kept_program;

struct kept_program {
  emu_program program; /* first: what the users hold */
  emu_register_limits limits;
  emu_programs *owner;
  /* under the owner's lock: */
  emu_decoded_block *blocks; /* the program's own, then those that were reached later */
  uint64_t version;          /* of the owner, at the last check against memory */
  kept_program *next;
  uint32_t references;
};

struct emu_programs {
  emu_decoder decoder;
  pthread_mutex_t lock;
  kept_program *first; /* used last comes first */
  uint32_t count;
  _Atomic uint64_t version;
};

/* In place of code that cannot be executed; their names are the messages. */
static const emu_op no_memory_op = {.name = "no memory is left to decode the code that is reached",
                                    .run = emu_run_stop,
                                    .generations = EMU_ALL,
                                    .class = EMU_CLASS_NOTHING};
static const emu_inst no_memory_inst = {.run = emu_run_stop, .op = &no_memory_op};
static const emu_op far_op = {.name = "a jump leads more than 2 GiB away from the kernel",
                              .run = emu_run_stop,
                              .generations = EMU_ALL,
                              .class = EMU_CLASS_NOTHING};
static const emu_inst far_inst = {.run = emu_run_stop, .op = &far_op};
static const emu_op long_op = {.name = "the kernel computes jumps into ever more code",
                               .run = emu_run_stop,
                               .generations = EMU_ALL,
                               .class = EMU_CLASS_NOTHING};
static const emu_inst long_inst = {.run = emu_run_stop, .op = &long_op};

static void free_program(kept_program *program) {
  for (emu_decoded_block *block = program->blocks, *next; block; block = next) {
    next = block->next;
    emu_decoded_block_free(block);
  }
  roc_free(program);
}

/* emu_program.find */
static const emu_inst *find_inst(const emu_program *program, uint64_t address) {
  kept_program *kept = (kept_program *)program; /* blocks are added under the lock */
  emu_programs *programs = kept->owner;
  uint32_t offset = (uint32_t)(address - program->entry), next_index = 0;
  const emu_inst *inst = NULL;
  if (!emu_is_near(program->entry, address)) return &far_inst;
  pthread_mutex_lock(&programs->lock);
  for (emu_decoded_block *block = kept->blocks; block && !inst; block = block->next) {
    inst = emu_decoded_block_find(block, offset);
    next_index += block->ninsts;
  }
  if (!inst) {
    bool is_full = next_index >= EMU_MAX_INSTRUCTIONS;
    emu_decoded_block *block = is_full
                                   ? NULL
                                   : emu_decoded_block_decode(&programs->decoder, &kept->limits,
                                                              program->entry, address, next_index);
    inst = block ? emu_decoded_block_find(block, offset) : is_full ? &long_inst : &no_memory_inst;
    if (block) {
      block->next = kept->blocks->next; /* after the first, which is the program's own */
      kept->blocks->next = block;
    }
  }
  pthread_mutex_unlock(&programs->lock);
  return inst;
}

static kept_program *decode_program(emu_programs *programs, uint64_t entry,
                                    const emu_register_limits *limits) {
  kept_program *program = roc_zalloc(sizeof *program);
  if (!program) return NULL;
  program->blocks = emu_decoded_block_decode(&programs->decoder, limits, entry, entry, 0);
  if (!program->blocks) {
    roc_free(program);
    return NULL;
  }
  program->program = (emu_program){.entry = entry,
                                   .first = emu_decoded_block_find(program->blocks, 0),
                                   .insts = program->blocks->insts,
                                   .ninsts = program->blocks->ninsts,
                                   .find = find_inst};
  program->limits = *limits;
  program->owner = programs;
  program->references = 1; /* the cache's */
  return program;
}

static bool is_current(const emu_programs *programs, const kept_program *program) {
  for (const emu_decoded_block *block = program->blocks; block; block = block->next) {
    if (!emu_decoded_block_is_current(block, programs->decoder.map, program->program.entry))
      return false;
  }
  return true;
}

static void release_locked(kept_program *program) {
  if (--program->references == 0) free_program(program);
}

/* Takes *link out of the cache. */
static void drop(emu_programs *programs, kept_program **link) {
  kept_program *program = *link;
  *link = program->next;
  programs->count--;
  release_locked(program);
}

static void drop_oldest(emu_programs *programs) {
  kept_program **link = &programs->first;
  while (*link && (*link)->next) link = &(*link)->next;
  if (*link) drop(programs, link);
}

static void put_first(emu_programs *programs, kept_program *program) {
  program->next = programs->first;
  programs->first = program;
}

static bool is_same_limits(const emu_register_limits *a, const emu_register_limits *b) {
  return a->wave_size == b->wave_size && a->sgprs == b->sgprs && a->vgprs == b->vgprs &&
         a->accumulators == b->accumulators;
}

/* The cached program, moved to the front, or NULL; one that memory contradicts is dropped. */
static kept_program *find_program(emu_programs *programs, uint64_t entry,
                                  const emu_register_limits *limits, uint64_t version) {
  kept_program **link = &programs->first;
  while (*link && ((*link)->program.entry != entry || !is_same_limits(&(*link)->limits, limits))) {
    link = &(*link)->next;
  }
  kept_program *program = *link;
  if (!program) return NULL;
  if (program->version != version && !is_current(programs, program)) {
    drop(programs, link);
    return NULL;
  }
  *link = program->next;
  put_first(programs, program);
  program->version = version;
  return program;
}

const emu_program *emu_programs_get(emu_programs *programs, uint64_t entry,
                                    const emu_register_limits *limits) {
  pthread_mutex_lock(&programs->lock);
  uint64_t version = atomic_load(&programs->version);
  kept_program *program = find_program(programs, entry, limits, version);
  if (!program) {
    program = decode_program(programs, entry, limits);
    if (program) {
      if (programs->count == MAX_PROGRAMS) drop_oldest(programs);
      program->version = version;
      put_first(programs, program);
      programs->count++;
    }
  }
  if (program) program->references++;
  pthread_mutex_unlock(&programs->lock);
  return program ? &program->program : NULL;
}

void emu_program_release(const emu_program *program) {
  if (!program) return;
  kept_program *kept = (kept_program *)program;
  emu_programs *programs = kept->owner;
  pthread_mutex_lock(&programs->lock);
  release_locked(kept);
  pthread_mutex_unlock(&programs->lock);
}

emu_programs *emu_programs_new(const emu_chip *chip, const emu_map *map) {
  emu_programs *programs = roc_zalloc(sizeof *programs);
  if (!programs) return NULL;
  programs->decoder = (emu_decoder){.chip = chip, .map = map};
  pthread_mutex_init(&programs->lock, NULL);
  return programs;
}

void emu_programs_free(emu_programs *programs) {
  if (!programs) return;
  while (programs->first) drop(programs, &programs->first);
  emu_decoder_close(&programs->decoder);
  pthread_mutex_destroy(&programs->lock);
  roc_free(programs);
}

void emu_programs_changed(emu_programs *programs) {
  atomic_fetch_add(&programs->version, 1);
}
