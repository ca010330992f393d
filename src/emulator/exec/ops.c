/* The class files' tables joined into one hash of names, made once. */
#include "emulator/exec/ops.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

static const emu_op *const tables[] = {
    emu_salu_ops,        emu_hwreg_ops,       emu_flow_ops,        emu_smem_ops,
    emu_valu_int_ops,    emu_valu_byte_ops,   emu_valu_cmp_ops,    emu_valu_lane_ops,
    emu_valu_float_ops,  emu_valu_double_ops, emu_valu_half_ops,   emu_valu_convert_ops,
    emu_valu_trans_ops,  emu_valu_packed_ops, emu_lds_ops,         emu_flat_ops,
    emu_buffer_ops,      emu_matrix_ops,      emu_wave_matrix_ops, emu_salu_float_ops,
    emu_valu_scaled_ops,
};

/* Names of gfx11 and later beside those that the tables have. */
static const struct rename {
  const char *name, *old;
} renames[] = {
#define RENAMED(name, old) {name, old},
#define ATOMIC(name, old)                              \
  RENAMED("flat_atomic_" name, "flat_atomic_" old)     \
  RENAMED("global_atomic_" name, "global_atomic_" old) \
  RENAMED("buffer_atomic_" name, "buffer_atomic_" old)
#define PRIVATE(name, old)               \
  RENAMED("flat_" name, "flat_" old)     \
  RENAMED("global_" name, "global_" old) \
  RENAMED("buffer_" name, "buffer_" old) \
  RENAMED("scratch_" name, "scratch_" old)
#include "emulator/exec/renamed.def"
#undef RENAMED
#undef ATOMIC
#undef PRIVATE
};

enum {
  SLOTS = 8192, /* a power of two, mostly empty */
  TABLES = sizeof tables / sizeof tables[0],
  RENAMES = sizeof renames / sizeof renames[0]
};

static emu_op renamed[RENAMES]; /* rows of the tables with the newer name */

static const emu_op *slots[SLOTS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint32_t hash_name(const char *name) {
  uint32_t hash = 2166136261u;
  for (; *name; name++) hash = (hash ^ (uint8_t)*name) * 16777619u;
  return hash ^ hash >> 15;
}

/* A name may have several rows, of different generations: they follow each other in the probe. */
static void add_row(const emu_op *op) {
  uint32_t slot = hash_name(op->name) % SLOTS;
  while (slots[slot]) slot = (slot + 1) % SLOTS;
  slots[slot] = op;
}

/* The first row of one of the generations. */
static const emu_op *find_row(const char *name, unsigned generation) {
  for (uint32_t slot = hash_name(name) % SLOTS; slots[slot]; slot = (slot + 1) % SLOTS) {
    const emu_op *op = slots[slot];
    if ((op->generations & generation) && strcmp(op->name, name) == 0) return op;
  }
  return NULL;
}

static void join_tables(void) {
  for (unsigned t = 0; t < TABLES; t++) {
    for (const emu_op *op = tables[t]; op->name; op++) add_row(op);
  }
  for (unsigned i = 0; i < RENAMES; i++) {
    renamed[i] = *find_row(renames[i].old, EMU_GFX10 | EMU_GFX11);
    renamed[i].name = renames[i].name;
    renamed[i].generations = EMU_ALL & ~EMU_BEFORE_GFX11;
    add_row(&renamed[i]);
  }
  for (unsigned i = 0; i < EMU_VECTOR_OPS; i++) {
    emu_vector_ops[i] = find_row(emu_vector_names[i], EMU_GFX12);
  }
}

const emu_op *emu_op_find(const char *name, emu_generation generation) {
  pthread_once(&once, join_tables);
  return find_row(name, generation);
}

const emu_op *emu_op_at(unsigned index) {
  pthread_once(&once, join_tables);
  for (unsigned t = 0; t < TABLES; t++) {
    for (const emu_op *op = tables[t]; op->name; op++) {
      if (index-- == 0) return op;
    }
  }
  return index < RENAMES ? &renamed[index] : NULL;
}
