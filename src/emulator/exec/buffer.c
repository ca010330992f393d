/* buffer_ instructions: a resource of four scalar registers, an index, offsets.
 *
 * The address of a lane (AMD's Vega ISA manual, 8.1; RDNA 2, 8.1): with buffer offset = vector
 * offset + immediate, index = vector index + the lane's number where the resource adds it,
 *   linear:   base + scalar offset + index * stride + buffer offset
 *   swizzled: elements, words of 4 bytes or more, of `index_stride` neighbouring indices lie side
 *   by side.
 * What the resource's bounds leave out reads zero and is not written; words of a wide access are
 * checked one by one.
 *
 * A resource whose base is wave->scratch is the wavefront's private memory, in which compilers
 * count two ways: vector and immediate offsets are bytes of the lane, the scalar one (the stack
 * pointer) is bytes of all lanes together. */
#include "emulator/exec/access.h"
#include "emulator/exec/ops.h"
#include "emulator/exec/stop.h"

typedef struct buffer_resource {
  uint64_t base;
  uint32_t stride, records, index_stride, bounds;
  uint32_t element; /* bytes that swizzling keeps together; 0: it is not swizzled */
  bool adds_lane, is_private;
} buffer_resource;

/* What of an instruction all its words share. */
typedef struct buffer_request {
  buffer_resource resource;
  emu_access_kind kind;
  uint32_t scalar; /* offset */
  bool is_indexed;
  uint32_t size; /* of what is in bounds or out of it as a whole */
  uint32_t index[EMU_LANES];
  uint64_t offset[EMU_LANES];
} buffer_request;

/* Words of resources that we need: all but the number formats. */
static void read_resource(const emu_wave *wave, const emu_inst *inst, unsigned reg,
                          buffer_resource *out) {
  const uint32_t *word = wave->s + reg;
  out->base = word[0] | (uint64_t)(word[1] & 0xffff) << 32;
  out->stride = word[1] >> 16 & 0x3fff;
  uint32_t swizzle = word[1] >> 30; /* gfx11 on: 4, 8 or 16 bytes; before, one bit */
  if (inst->chip & EMU_BEFORE_GFX11) swizzle >>= 1;
  out->element = swizzle ? 2u << swizzle : 0;
  out->records = word[2];
  out->index_stride = 8u << (word[3] >> 21 & 3);
  out->adds_lane = word[3] >> 23 & 1;
  out->bounds = word[3] >> 28 & 3; /* gfx10 on */
  if (inst->chip == EMU_GFX9 && out->adds_lane) out->stride |= (word[3] >> 15 & 15) << 14;
  out->is_private = wave->scratch_bytes && out->base == (uint64_t)(uintptr_t)wave->scratch;
}

/* `first`: operand number of the address; resource and scalar offset follow it. */
static void read_request(emu_wave *wave, const emu_inst *inst, emu_access_kind kind,
                         uint32_t nbytes, unsigned first, buffer_request *out) {
  const emu_operand *vaddr = &inst->src[first], *rsrc = vaddr + 1, *scalar = vaddr + 2;
  read_resource(wave, inst, rsrc->reg, &out->resource);
  out->kind = kind;
  out->scalar = emu_s32(wave, scalar);
  out->is_indexed = inst->mod.idxen;
  out->size = kind == EMU_ATOMIC || nbytes < 4 ? nbytes : 4;
  const emu_row *index = inst->mod.idxen ? wave->v + vaddr->reg : NULL;
  const emu_row *offset = inst->mod.offen ? wave->v + vaddr->reg + inst->mod.idxen : NULL;
  for (unsigned lane = 0; lane < EMU_LANES; lane++) {
    out->index[lane] = (index ? index->u[lane] : 0) + (out->resource.adds_lane ? lane : 0);
    out->offset[lane] = (offset ? offset->u[lane] : 0) + (uint64_t)(uint32_t)inst->mod.offset;
  }
}

/* Whether `offset` and size of this lane are within the resource's bounds. */
static bool is_in_bounds(const buffer_request *request, uint8_t chip, uint32_t index,
                         uint64_t offset) {
  enum { INDEX_AND_OFFSET, INDEX_ONLY, NOT_EMPTY, RAW };
  const buffer_resource *resource = &request->resource;
  uint32_t bounds = resource->bounds;
  if (chip == EMU_GFX9) bounds = request->is_indexed && resource->stride ? INDEX_ONLY : RAW;
  switch (bounds) {
    case INDEX_AND_OFFSET:
      return index < resource->records &&
             (!resource->stride || offset + request->size <= resource->stride);
    case INDEX_ONLY: return index < resource->records;
    case NOT_EMPTY: return resource->records != 0;
    default: return offset + request->scalar + request->size <= resource->records;
  }
}

static uint64_t address_of(const buffer_request *request, uint32_t index, uint64_t offset) {
  const buffer_resource *resource = &request->resource;
  uint64_t base = resource->base + request->scalar, stride = resource->stride;
  if (!resource->element) return base + index * stride + offset;
  uint64_t group = index / resource->index_stride, member = index % resource->index_stride;
  uint64_t within = offset % resource->element;
  return base + (group * stride + offset - within) * resource->index_stride +
         member * resource->element + within;
}

/* The bytes of private memory that the lanes access; the scalar offset moves the start of the
 * block. */
static bool begin_private(emu_wave *wave, const emu_inst *inst, const buffer_request *request,
                          uint32_t skip, emu_access *access) {
  if (request->is_indexed) {
    emu_stop(wave, inst, EMU_FAULT_ILLEGAL, -1, "private memory is addressed by an index in %s",
             inst->op->name);
    return false;
  }
  if (request->scalar % (4u * wave->width)) {
    emu_stop(wave, inst, EMU_FAULT_APERTURE, -1,
             "private memory at scalar offset %u, which is not a multiple of a word of %u lanes",
             request->scalar, wave->width);
    return false;
  }
  uint32_t frame = request->scalar / wave->width + skip;
  for (unsigned lane = 0; lane < EMU_LANES; lane++) {
    access->at[lane] = (uint32_t)(request->offset[lane] + frame);
  }
  return true;
}

/* Where the lanes' words lie, `skip` bytes after the start, and how to reach them; NULL when the
 * wavefront is stopped. Lanes out of bounds do not take part. */
static emu_reach *begin_access(emu_wave *wave, const emu_inst *inst, const buffer_request *request,
                               uint32_t skip, emu_access *access) {
  access->kind = (uint8_t)request->kind;
  access->nbytes = request->size;
  access->values = NULL;
  access->lanes = emu_exec(wave);
  if (request->resource.is_private) {
    return begin_private(wave, inst, request, skip, access) ? emu_reach_private : NULL;
  }
  uint64_t within = 0;
  for (unsigned lane = 0; lane < wave->width; lane++) {
    uint64_t offset = request->offset[lane] + skip;
    uint32_t index = request->index[lane];
    access->at[lane] = address_of(request, index, offset);
    within |= (uint64_t)is_in_bounds(request, inst->chip, index, offset) << lane;
  }
  access->lanes &= within;
  return emu_reach_global;
}

static void load_rows(emu_wave *wave, const emu_inst *inst, uint32_t nbytes, emu_form form,
                      emu_row *rows) {
  buffer_request request;
  emu_access access;
  read_request(wave, inst, EMU_LOAD, nbytes, 0, &request);
  emu_form part = form < EMU_FORM_B32 ? form : EMU_FORM_B32;
  for (uint32_t skip = 0; skip < nbytes && wave->state == EMU_RUNNING; skip += 4, rows++) {
    emu_reach *reach = begin_access(wave, inst, &request, skip, &access);
    if (!reach) return;
    emu_load_nothing(emu_exec(wave) & ~access.lanes, part, rows);
    emu_load(wave, inst, reach, &access, part, rows);
  }
}

static void load(emu_wave *wave, const emu_inst *inst, uint32_t nbytes, emu_form form) {
  load_rows(wave, inst, nbytes, form, wave->v + inst->dst[0].reg);
}

static void load_to_lds(emu_wave *wave, const emu_inst *inst, uint32_t nbytes, emu_form form) {
  emu_row rows[4];
  load_rows(wave, inst, nbytes, form, rows);
  if (wave->state == EMU_RUNNING) emu_store_lds(wave, inst, emu_exec(wave), form, rows);
}

static void store(emu_wave *wave, const emu_inst *inst, uint32_t nbytes, emu_form form) {
  buffer_request request;
  emu_access access;
  read_request(wave, inst, EMU_STORE, nbytes, 1, &request);
  emu_form part = form < EMU_FORM_B32 ? form : EMU_FORM_B32;
  emu_row *rows = wave->v + inst->src[0].reg;
  for (uint32_t skip = 0; skip < nbytes && wave->state == EMU_RUNNING; skip += 4, rows++) {
    emu_reach *reach = begin_access(wave, inst, &request, skip, &access);
    if (!reach) return;
    emu_store(wave, inst, reach, &access, part, rows);
  }
}

/* With glc the data registers get what was in memory. */
static void update(emu_wave *wave, const emu_inst *inst, uint32_t nbytes, emu_combine *combine,
                   bool pairs) {
  buffer_request request;
  emu_access access;
  read_request(wave, inst, EMU_ATOMIC, nbytes, 1, &request);
  emu_reach *reach = begin_access(wave, inst, &request, 0, &access);
  if (!reach) return;
  unsigned data = inst->src[0].reg;
  emu_row *rows = wave->v + data;
  emu_update what = {.combine = emu_combine_of(wave, combine),
                     .data = rows,
                     .other = pairs ? rows + nbytes / 4 : rows,
                     .result = inst->mod.glc ? rows : NULL};
  if (inst->mod.glc) {
    emu_form form = nbytes == 4 ? EMU_FORM_B32 : EMU_FORM_B64;
    emu_load_nothing(emu_exec(wave) & ~access.lanes, form, rows);
  }
  emu_access_update(wave, inst, reach, &access, &what);
}

/* Invalidations and write-backs: there are no caches, but what they order stays ordered. */
static void run_cache(emu_wave *wave, const emu_inst *inst) {
  (void)wave, (void)inst;
  emu_order_memory();
}

#define EMU_MEMORY_LOAD(name, nbytes, form)                           \
  static void run_load_##name(emu_wave *wave, const emu_inst *inst) { \
    load(wave, inst, nbytes, EMU_FORM_##form);                        \
  }
#define EMU_MEMORY_LOAD_LDS(name, nbytes, form)                             \
  static void run_load_##name##_lds(emu_wave *wave, const emu_inst *inst) { \
    load_to_lds(wave, inst, nbytes, EMU_FORM_##form);                       \
  }
#define EMU_MEMORY_STORE(name, nbytes, form)                           \
  static void run_store_##name(emu_wave *wave, const emu_inst *inst) { \
    store(wave, inst, nbytes, EMU_FORM_##form);                        \
  }
#define EMU_MEMORY_ATOMIC(name, generations, nbytes, combine, pairs)    \
  static void run_atomic_##name(emu_wave *wave, const emu_inst *inst) { \
    update(wave, inst, nbytes, emu_##combine, pairs);                   \
  }
#include "emulator/exec/memory.def"
#undef EMU_MEMORY_LOAD
#undef EMU_MEMORY_LOAD_LDS
#undef EMU_MEMORY_STORE
#undef EMU_MEMORY_ATOMIC

/* clang-format off */
#define EMU_MEMORY_LOAD(name, nbytes, form)                                                 \
  EMU_ROW("buffer_load_" #name, run_load_##name, EMU_ALL, EMU_CLASS_LOAD, 0, EMU_DATA,      \
          EMU_ADDRESS, EMU_B128, EMU_B32),
#define EMU_MEMORY_LOAD_LDS(name, nbytes, form)                                             \
  EMU_ROW("buffer_load_" #name EMU_TO_LDS, run_load_##name##_lds, EMU_BEFORE_GFX11,         \
          EMU_CLASS_LOAD, EMU_READS_M0, EMU_NONE, EMU_ADDRESS, EMU_B128, EMU_B32),
#define EMU_MEMORY_STORE(name, nbytes, form)                                                \
  EMU_ROW("buffer_store_" #name, run_store_##name, EMU_ALL, EMU_CLASS_STORE, 0, EMU_NONE,   \
          EMU_DATA, EMU_ADDRESS, EMU_B128, EMU_B32),
#define EMU_MEMORY_ATOMIC(name, generations, nbytes, combine, pairs)                        \
  EMU_ROW("buffer_atomic_" #name, run_atomic_##name, generations, EMU_CLASS_ATOMIC, 0,      \
          EMU_NONE, EMU_DATA, EMU_ADDRESS, EMU_B128, EMU_B32),
#define CACHE(name, generations) \
  EMU_ROW(name, run_cache, generations, EMU_CLASS_CACHE, 0, EMU_NONE, EMU_NONE),

const emu_op emu_buffer_ops[] = {
#include "emulator/exec/memory.def"
  CACHE("buffer_wbinvl1", EMU_GFX9)
  CACHE("buffer_wbinvl1_vol", EMU_GFX9)
  CACHE("buffer_wbl2", EMU_GFX9)
  CACHE("buffer_inv", EMU_GFX9)
  CACHE("buffer_invl2", EMU_GFX9)
  CACHE("global_inv", EMU_GFX12)
  CACHE("global_wb", EMU_GFX12)
  CACHE("global_wbinv", EMU_GFX12)
  CACHE("buffer_gl0_inv", EMU_GFX10_ON)
  CACHE("buffer_gl1_inv", EMU_GFX10_ON)
  {.name = NULL},
};
