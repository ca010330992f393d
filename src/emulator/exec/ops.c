/* The class files' tables joined into one hash of names, made once. */
#include "emulator/exec/ops.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

static const emu_op *const tables[] = {
    emu_salu_ops,       emu_hwreg_ops,       emu_flow_ops,      emu_smem_ops,
    emu_valu_int_ops,   emu_valu_byte_ops,   emu_valu_cmp_ops,  emu_valu_lane_ops,
    emu_valu_float_ops, emu_valu_double_ops, emu_valu_half_ops, emu_valu_convert_ops,
    emu_valu_trans_ops, emu_valu_packed_ops, emu_lds_ops,       emu_flat_ops,
    emu_buffer_ops,     emu_matrix_ops,
};

enum { SLOTS = 8192, TABLES = sizeof tables / sizeof tables[0] }; /* a power of two, mostly empty */

static const emu_op *slots[SLOTS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint32_t hash_name(const char *name) {
  uint32_t hash = 2166136261u;
  for (; *name; name++) hash = (hash ^ (uint8_t)*name) * 16777619u;
  return hash ^ hash >> 15;
}

/* A name may have several rows, of different generations: they follow each other in the probe. */
static void join_tables(void) {
  uint32_t used = 0;
  for (unsigned t = 0; t < TABLES; t++) {
    for (const emu_op *op = tables[t]; op->name && used < SLOTS - 1; op++, used++) {
      uint32_t slot = hash_name(op->name) % SLOTS;
      while (slots[slot]) slot = (slot + 1) % SLOTS;
      slots[slot] = op;
    }
  }
}

const emu_op *emu_op_find(const char *name, emu_generation generation) {
  pthread_once(&once, join_tables);
  for (uint32_t slot = hash_name(name) % SLOTS; slots[slot]; slot = (slot + 1) % SLOTS) {
    const emu_op *op = slots[slot];
    if ((op->generations & generation) && strcmp(op->name, name) == 0) return op;
  }
  return NULL;
}

const emu_op *emu_op_at(unsigned index) {
  for (unsigned t = 0; t < TABLES; t++) {
    for (const emu_op *op = tables[t]; op->name; op++) {
      if (index-- == 0) return op;
    }
  }
  return NULL;
}
