/* Finding and keeping the places of kernels' instructions.
 *
 * A kernel is recognised by its address, name, and a hash of its instructions, once a dispatch. */
#include "emulator/report/source.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "emulator/isa/name.h"
#include "emulator/report/model.h"
#include "emulator/isa/program.h"

enum { ATOMIC_MARK = 1 }; /* as roclua's compiler writes it (codegen/core/debug.c) */

typedef struct file_name {
  struct file_name *next;
  char text[];
} file_name;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static emu_source *sources;
static file_name *files;

/* ---- making -------------------------------------------------------------------------------- */

/* The text, kept for good; NULL when memory is out. */
static const char *keep_file(const char *text) {
  for (file_name *each = files; each; each = each->next) {
    if (!strcmp(each->text, text)) return each->text;
  }
  size_t nbytes = strlen(text) + 1;
  file_name *made = roc_alloc(sizeof *made + nbytes);
  if (!made) return NULL;
  memcpy(made->text, text, nbytes);
  made->next = files;
  files = made;
  return made->text;
}

typedef struct filling {
  emu_source *source;
  const emu_program *program;
} filling;

/* The first instruction at or after `address`; instructions are in the order of addresses. */
static uint32_t find_first(const emu_program *program, uint64_t address) {
  uint32_t low = 0, high = program->ninsts;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (emu_program_address(program, &program->insts[middle]) < address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static void fill_places(void *ud, const emu_name_row *row) {
  const filling *f = ud;
  const char *file = keep_file(row->file);
  uint32_t i = find_first(f->program, row->begin);
  for (; file && i < f->program->ninsts; i++) {
    if (emu_program_address(f->program, &f->program->insts[i]) >= row->end) return;
    emu_place *place = &f->source->places[i];
    place->file = file;
    place->line = row->line;
    place->is_atomic = row->mark == ATOMIC_MARK;
  }
}

static void fill(emu_source *source, const emu_program *program) {
  const emu_model *model = emu_model_find(source->chip);
  if (!program->ninsts) return;
  for (uint32_t i = 0; i < program->ninsts; i++) {
    source->places[i].class = program->insts[i].op->class;
    source->places[i].factor = (uint16_t)emu_model_factor(model, &program->insts[i]);
  }
  const emu_inst *last = &program->insts[program->ninsts - 1];
  filling f = {source, program};
  emu_name_rows(emu_program_address(program, program->insts),
                emu_program_address(program, last) + last->size, fill_places, &f);
}

static uint64_t mix(uint64_t hash, uint64_t value) {
  return (hash ^ value) * UINT64_C(0x100000001b3);
}

static uint64_t fingerprint(const emu_program *program) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (uint32_t i = 0; i < program->ninsts; i++) {
    const emu_inst *inst = &program->insts[i];
    hash = mix(mix(mix(hash, inst->offset), inst->line), (uintptr_t)inst->run);
    hash = mix(mix(hash, inst->dst[0].reg), inst->src[0].reg);
  }
  return hash;
}

/* The symbol of roclua's kernels is "roc_" and their name. */
static void copy_name(emu_source *source, const char *symbol) {
  const char *name = strncmp(symbol, "roc_", 4) ? symbol : symbol + 4;
  snprintf(source->kernel, sizeof source->kernel, "%s", name);
}

static emu_source *make_source(const emu_dispatch *dispatch, uint64_t hash) {
  const emu_program *program = dispatch->program;
  emu_source *source = roc_zalloc(sizeof *source);
  if (!source) return NULL;
  source->places = roc_zalloc(sizeof *source->places * ((size_t)program->ninsts + 1));
  if (!source->places) {
    roc_free(source);
    return NULL;
  }
  source->places[program->ninsts].class = EMU_CLASS_NOTHING;
  source->chip = dispatch->chip->name;
  source->entry = program->entry;
  source->fingerprint = hash;
  source->ninsts = program->ninsts;
  source->is_runtime = dispatch->is_runtime;
  copy_name(source, dispatch->kernel);
  fill(source, program);
  return source;
}

/* ---- finding ------------------------------------------------------------------------------- */

static bool is_of(const emu_source *source, const emu_source *wanted) {
  return source->entry == wanted->entry && source->ninsts == wanted->ninsts &&
         source->fingerprint == wanted->fingerprint && source->chip == wanted->chip &&
         !strcmp(source->kernel, wanted->kernel);
}

static uint32_t count_namesakes(const emu_source *source) {
  uint32_t count = 0;
  for (const emu_source *each = sources; each; each = each->next) {
    count += each->chip == source->chip && !strcmp(each->kernel, source->kernel);
  }
  return count;
}

const emu_source *emu_source_of(const emu_dispatch *dispatch) {
  const emu_program *program = dispatch->program;
  emu_source wanted = {.entry = program->entry,
                       .ninsts = program->ninsts,
                       .chip = dispatch->chip->name,
                       .fingerprint = fingerprint(program)};
  copy_name(&wanted, dispatch->kernel);
  pthread_mutex_lock(&lock);
  emu_source *source = sources;
  while (source && !is_of(source, &wanted)) source = source->next;
  if (!source && (source = make_source(dispatch, wanted.fingerprint)) != NULL) {
    source->ordinal = count_namesakes(source) + 1;
    source->next = sources;
    sources = source;
  }
  pthread_mutex_unlock(&lock);
  return source;
}

void emu_place_format(const emu_place *place, char *out, size_t size) {
  char text[512];
  if (!place->file) {
    snprintf(out, size, "?");
    return;
  }
  int length = snprintf(text, sizeof text, "%s:%u", place->file, place->line);
  size_t have = length < (int)sizeof text ? (size_t)length : sizeof text - 1;
  if (have < size) {
    memcpy(out, text, have + 1);
  } else {
    snprintf(out, size, "...%s", text + have - (size - 4));
  }
}
