/* flat_, global_ and scratch_ instructions: address operands to an access (access.h).
 *
 * A flat address is 64 bits and may lead into an aperture. A global one is a vector pair, or a
 * scalar pair plus an unsigned vector word. A scratch one is a sum of words, counted from the start
 * of the lane's private memory. The offset is a signed number of bytes, as the text has it. */
#include "emulator/exec/access.h"
#include "emulator/exec/ops.h"
#include "emulator/exec/stop.h"
#include "emulator/exec/transpose.h"

/* Fills access->at from the vector operand `vaddr` and the scalar one `saddr`, if not off. */
typedef void make_addresses(emu_wave *wave, const emu_inst *inst, const emu_operand *vaddr,
                            const emu_operand *saddr, emu_access *access);

typedef struct memory_segment {
  make_addresses *addresses;
  emu_reach *reach;
} memory_segment;

static void make_global_addresses(emu_wave *wave, const emu_inst *inst, const emu_operand *vaddr,
                                  const emu_operand *saddr, emu_access *access) {
  uint64_t base = (uint64_t)(int64_t)inst->mod.offset;
  if (saddr->kind != EMU_OPERAND_NONE) base += emu_s64(wave, saddr);
  if (vaddr->kind != EMU_OPERAND_VGPR) {
    for (unsigned lane = 0; lane < EMU_LANES; lane++) access->at[lane] = base;
    return;
  }
  const emu_row *low = wave->v + vaddr->reg;
  if (saddr->kind != EMU_OPERAND_NONE) {
    for (unsigned lane = 0; lane < EMU_LANES; lane++) access->at[lane] = base + low->u[lane];
    return;
  }
  const emu_row *high = low + 1;
  for (unsigned lane = 0; lane < EMU_LANES; lane++) {
    access->at[lane] = base + (low->u[lane] | (uint64_t)high->u[lane] << 32);
  }
}

static void make_scratch_addresses(emu_wave *wave, const emu_inst *inst, const emu_operand *vaddr,
                                   const emu_operand *saddr, emu_access *access) {
  uint32_t base = (uint32_t)inst->mod.offset;
  if (saddr->kind != EMU_OPERAND_NONE) base += emu_s32(wave, saddr);
  const emu_row *row = vaddr->kind == EMU_OPERAND_VGPR ? wave->v + vaddr->reg : NULL;
  for (unsigned lane = 0; lane < EMU_LANES; lane++) {
    access->at[lane] = (uint32_t)(base + (row ? row->u[lane] : 0));
  }
}

static const memory_segment segments_flat = {make_global_addresses, emu_reach_flat};
static const memory_segment segments_global = {make_global_addresses, emu_reach_global};
static const memory_segment segments_scratch = {make_scratch_addresses, emu_reach_private};

static void begin_access(emu_wave *wave, const emu_inst *inst, const memory_segment *segment,
                         emu_access_kind kind, uint32_t nbytes, unsigned saddr,
                         emu_access *access) {
  access->kind = (uint8_t)kind;
  access->nbytes = nbytes;
  access->values = NULL;
  access->lanes = emu_exec(wave);
  segment->addresses(wave, inst, &inst->src[0], &inst->src[saddr], access);
}

static void load(emu_wave *wave, const emu_inst *inst, const memory_segment *segment,
                 emu_form form) {
  emu_access access;
  begin_access(wave, inst, segment, EMU_LOAD, emu_form_bytes(form), 1, &access);
  emu_load(wave, inst, segment->reach, &access, form, wave->v + inst->dst[0].reg);
}

/* gfx12's loads that transpose.  AMD's guide does not say which lane gets which element: this is
 * what others have measured on a gfx1201, in wavefronts of 32.  Of halves, 8 lanes read the rows of
 * a matrix of 8 by 8, and each gets a column. */
static unsigned half_element(unsigned lane, unsigned n) {
  return 8 * (lane / 8 * 8 + n) + lane % 8;
}

/* Of bytes, lanes 0 to 3 and 8 to 11 read the left halves of 8 rows of 16, the others the right
 * ones, and each gets a column. */
static unsigned byte_element(unsigned lane, unsigned n) {
  return 8 * (n / 4 * 8 + lane / 8 * 4 + n % 4) + lane % 8;
}

static void load_transposed(emu_wave *wave, const emu_inst *inst, emu_form form,
                            const emu_transposition *how) {
  if (wave->width != 32) {
    emu_stop(wave, inst, EMU_FAULT_ILLEGAL, -1, "%s is known for wavefronts of 32 lanes alone",
             inst->op->name);
    return;
  }
  if (!emu_can_transpose(wave, inst)) return;
  emu_access access;
  emu_row rows[4];
  begin_access(wave, inst, &segments_global, EMU_LOAD, emu_form_bytes(form), 1, &access);
  emu_load(wave, inst, segments_global.reach, &access, form, rows);
  if (wave->state == EMU_RUNNING) emu_transpose(wave, how, rows, wave->v + inst->dst[0].reg);
}

static void run_load_tr_b128(emu_wave *wave, const emu_inst *inst) {
  static const emu_transposition how = {16, 8, half_element};
  load_transposed(wave, inst, EMU_FORM_B128, &how);
}

static void run_load_tr_b64(emu_wave *wave, const emu_inst *inst) {
  static const emu_transposition how = {8, 8, byte_element};
  load_transposed(wave, inst, EMU_FORM_B64, &how);
}

static void load_to_lds(emu_wave *wave, const emu_inst *inst, const memory_segment *segment,
                        emu_form form) {
  emu_access access;
  emu_row rows[4];
  begin_access(wave, inst, segment, EMU_LOAD, emu_form_bytes(form), 1, &access);
  emu_load(wave, inst, segment->reach, &access, form, rows);
  if (wave->state == EMU_RUNNING) emu_store_lds(wave, inst, emu_exec(wave), form, rows);
}

static void store(emu_wave *wave, const emu_inst *inst, const memory_segment *segment,
                  emu_form form) {
  emu_access access;
  begin_access(wave, inst, segment, EMU_STORE, emu_form_bytes(form), 2, &access);
  emu_store(wave, inst, segment->reach, &access, form, wave->v + inst->src[1].reg);
}

static void update(emu_wave *wave, const emu_inst *inst, const memory_segment *segment,
                   uint32_t nbytes, emu_combine *combine, bool pairs) {
  emu_access access;
  begin_access(wave, inst, segment, EMU_ATOMIC, nbytes, 2, &access);
  const emu_row *data = wave->v + inst->src[1].reg;
  bool is_wanted = inst->dst[0].kind == EMU_OPERAND_VGPR;
  emu_update what = {.combine = emu_combine_of(wave, combine),
                     .data = data,
                     .other = pairs ? data + nbytes / 4 : data,
                     .result = is_wanted ? wave->v + inst->dst[0].reg : NULL};
  emu_access_update(wave, inst, segment->reach, &access, &what);
}

/* Lane n's word of an array at a scalar address (RDNA 2). */
static void begin_addtid(emu_wave *wave, const emu_inst *inst, emu_access_kind kind,
                         const emu_operand *saddr, emu_access *access) {
  static const emu_operand off = {.kind = EMU_OPERAND_NONE};
  access->kind = (uint8_t)kind;
  access->nbytes = 4;
  access->values = NULL;
  access->lanes = emu_exec(wave);
  make_global_addresses(wave, inst, &off, saddr, access);
  for (unsigned lane = 0; lane < EMU_LANES; lane++) access->at[lane] += 4 * (uint64_t)lane;
}

static void run_load_addtid(emu_wave *wave, const emu_inst *inst) {
  emu_access access;
  begin_addtid(wave, inst, EMU_LOAD, &inst->src[0], &access);
  emu_load(wave, inst, emu_reach_global, &access, EMU_FORM_B32, wave->v + inst->dst[0].reg);
}

static void run_store_addtid(emu_wave *wave, const emu_inst *inst) {
  emu_access access;
  begin_addtid(wave, inst, EMU_STORE, &inst->src[1], &access);
  emu_store(wave, inst, emu_reach_global, &access, EMU_FORM_B32, wave->v + inst->src[0].reg);
}

/* Of a block of 32 registers those whose bits M0 has set, each at its place in memory (gfx12). */
static void move_block(emu_wave *wave, const emu_inst *inst, const memory_segment *segment,
                       emu_access_kind kind) {
  bool is_load = kind == EMU_LOAD;
  emu_access all;
  begin_access(wave, inst, segment, kind, 4, is_load ? 1 : 2, &all);
  emu_row *rows = wave->v + (is_load ? inst->dst[0].reg : inst->src[1].reg);
  uint64_t wanted = wave->s[EMU_SGPR_M0];
  EMU_FOR_ACTIVE(n, wanted) {
    emu_access one = all;
    for (unsigned lane = 0; lane < EMU_LANES; lane++) one.at[lane] += 4 * n;
    (is_load ? emu_load : emu_store)(wave, inst, segment->reach, &one, EMU_FORM_B32, rows + n);
    if (wave->state != EMU_RUNNING) return;
  }
}

#define DEFINE_BLOCK(prefix)                                                     \
  static void run_##prefix##_load_block(emu_wave *wave, const emu_inst *inst) {  \
    move_block(wave, inst, &segments_##prefix, EMU_LOAD);                        \
  }                                                                              \
  static void run_##prefix##_store_block(emu_wave *wave, const emu_inst *inst) { \
    move_block(wave, inst, &segments_##prefix, EMU_STORE);                       \
  }
DEFINE_BLOCK(global)
DEFINE_BLOCK(scratch)

#define DEFINE_LOAD(prefix, name, form)                                          \
  static void run_##prefix##_load_##name(emu_wave *wave, const emu_inst *inst) { \
    load(wave, inst, &segments_##prefix, EMU_FORM_##form);                       \
  }
#define DEFINE_STORE(prefix, name, form)                                          \
  static void run_##prefix##_store_##name(emu_wave *wave, const emu_inst *inst) { \
    store(wave, inst, &segments_##prefix, EMU_FORM_##form);                       \
  }
#define DEFINE_ATOMIC(prefix, name, nbytes, combine, pairs)                        \
  static void run_##prefix##_atomic_##name(emu_wave *wave, const emu_inst *inst) { \
    update(wave, inst, &segments_##prefix, nbytes, emu_##combine, pairs);          \
  }
#define DEFINE_LOAD_LDS(prefix, name, form)                                          \
  static void run_##prefix##_load_lds_##name(emu_wave *wave, const emu_inst *inst) { \
    load_to_lds(wave, inst, &segments_##prefix, EMU_FORM_##form);                    \
  }
#define EMU_MEMORY_LOAD_LDS(name, nbytes, form) \
  DEFINE_LOAD_LDS(global, name, form) DEFINE_LOAD_LDS(scratch, name, form)
#define EMU_MEMORY_LOAD(name, nbytes, form) \
  DEFINE_LOAD(flat, name, form) DEFINE_LOAD(global, name, form) DEFINE_LOAD(scratch, name, form)
#define EMU_MEMORY_STORE(name, nbytes, form) \
  DEFINE_STORE(flat, name, form) DEFINE_STORE(global, name, form) DEFINE_STORE(scratch, name, form)
#define EMU_MEMORY_ATOMIC(name, generations, nbytes, combine, pairs) \
  DEFINE_ATOMIC(flat, name, nbytes, combine, pairs)                  \
  DEFINE_ATOMIC(global, name, nbytes, combine, pairs)
#include "emulator/exec/memory.def"
#undef EMU_MEMORY_LOAD
#undef EMU_MEMORY_LOAD_LDS
#undef EMU_MEMORY_STORE
#undef EMU_MEMORY_ATOMIC

/* clang-format off */
#define LOAD(prefix, name, ...)                                                                   \
  EMU_ROW(#prefix "_load_" #name, run_##prefix##_load_##name, EMU_ALL, EMU_CLASS_LOAD, 0,         \
          EMU_DATA, __VA_ARGS__),
#define STORE(prefix, name, ...)                                                                  \
  EMU_ROW(#prefix "_store_" #name, run_##prefix##_store_##name, EMU_ALL, EMU_CLASS_STORE, 0,      \
          EMU_NONE, __VA_ARGS__),
#define ATOMIC(prefix, name, generations, ...)                                                    \
  EMU_ROW(#prefix "_atomic_" #name, run_##prefix##_atomic_##name, generations, EMU_CLASS_ATOMIC,  \
          EMU_OPTIONAL_DST, EMU_DATA, __VA_ARGS__),

#define EMU_MEMORY_LOAD(name, nbytes, form)     \
  LOAD(flat, name, EMU_ADDRESS)                 \
  LOAD(global, name, EMU_ADDRESS, EMU_ADDRESS)  \
  LOAD(scratch, name, EMU_ADDRESS, EMU_ADDRESS)
#define LOAD_LDS(prefix, name)                                                                    \
  EMU_ROW(#prefix "_load_lds_" #name, run_##prefix##_load_lds_##name, EMU_GFX9, EMU_CLASS_LOAD,   \
          EMU_READS_M0, EMU_NONE, EMU_ADDRESS, EMU_ADDRESS),
#define EMU_MEMORY_LOAD_LDS(name, nbytes, form) LOAD_LDS(global, name) LOAD_LDS(scratch, name)
#define EMU_MEMORY_STORE(name, nbytes, form)               \
  STORE(flat, name, EMU_ADDRESS, EMU_DATA)                 \
  STORE(global, name, EMU_ADDRESS, EMU_DATA, EMU_ADDRESS)  \
  STORE(scratch, name, EMU_ADDRESS, EMU_DATA, EMU_ADDRESS)
#define EMU_MEMORY_ATOMIC(name, generations, nbytes, combine, pairs)  \
  ATOMIC(flat, name, generations, EMU_ADDRESS, EMU_DATA)              \
  ATOMIC(global, name, generations, EMU_ADDRESS, EMU_DATA, EMU_ADDRESS)

#define BLOCK(prefix)                                                                             \
  EMU_ROW(#prefix "_load_block", run_##prefix##_load_block, EMU_GFX12, EMU_CLASS_LOAD,            \
          EMU_READS_M0, EMU_DATA, EMU_ADDRESS, EMU_ADDRESS),                                      \
  EMU_ROW(#prefix "_store_block", run_##prefix##_store_block, EMU_GFX12, EMU_CLASS_STORE,         \
          EMU_READS_M0, EMU_NONE, EMU_ADDRESS, EMU_DATA, EMU_ADDRESS),

const emu_op emu_flat_ops[] = {
#include "emulator/exec/memory.def"
  BLOCK(global)
  BLOCK(scratch)
  EMU_ROW("global_load_dword_addtid", run_load_addtid, EMU_GFX10_ON, EMU_CLASS_LOAD, 0, EMU_DATA,
          EMU_ADDRESS),
  EMU_ROW("global_load_tr_b128", run_load_tr_b128, EMU_GFX12, EMU_CLASS_LOAD, 0, EMU_DATA,
          EMU_ADDRESS, EMU_ADDRESS),
  EMU_ROW("global_load_tr_b64", run_load_tr_b64, EMU_GFX12, EMU_CLASS_LOAD, 0, EMU_DATA,
          EMU_ADDRESS, EMU_ADDRESS),
  EMU_ROW("global_store_dword_addtid", run_store_addtid, EMU_GFX10_ON, EMU_CLASS_STORE, 0, EMU_NONE,
          EMU_DATA, EMU_ADDRESS),
  {.name = NULL},
};
