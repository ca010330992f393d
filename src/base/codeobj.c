/* Code objects as bytes: "ROCO", format, checksum, then the fields in order.
 *
 * Integers are little-endian, texts and byte strings carry their length. The checksum covers all
 * that follows it, so that a reader believes the whole or nothing; counts are bounded all the same.
 */
#include "base/codeobj.h"

#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/pack.h"

enum { FORMAT = 9 };
static const char magic[ROC_PACK_MAGIC_BYTES] = {'R', 'O', 'C', 'O'};

/* Every field is written below; one that is added changes a size here, and FORMAT. */
_Static_assert(sizeof(void *) != 8 || sizeof(roc_codeobj) == 96, "a field is not serialised");
_Static_assert(sizeof(void *) != 8 || sizeof(roc_site) == 48, "a field is not serialised");
_Static_assert(sizeof(void *) != 8 || sizeof(roc_site_piece) == 16, "a field is not serialised");
_Static_assert(sizeof(roc_arg_slot) == 24, "a field is not serialised");
_Static_assert(sizeof(roc_arg_type) == 8, "padding would be compared");

/* ---- writing ----------------------------------------------------------------------------- */

static void put_slot(roc_str *out, const roc_arg_slot *s) {
  const roc_arg_type *t = &s->type;
  const uint32_t fields[] = {t->value,         t->dtype,      t->rank,     t->layout,
                             t->is_narrow,     t->is_plain,   t->is_alias, t->is_host_memory,
                             s->is_read,       s->is_written, s->offset,   s->extents_offset,
                             s->strides_offset};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) roc_pack_u32(out, fields[i]);
}

static void put_site(roc_str *out, const roc_site *s) {
  const uint32_t fields[] = {s->kind, s->nvalues, s->dim, s->line, s->column, s->npieces};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) roc_pack_u32(out, fields[i]);
  roc_pack_text(out, s->file);
  roc_pack_text(out, s->name);
  for (uint32_t i = 0; i < s->npieces; i++) {
    roc_pack_text(out, s->pieces[i].text);
    roc_pack_u32(out, (uint32_t)s->pieces[i].type);
  }
}

void roc_codeobj_write(const roc_codeobj *object, roc_str *out) {
  const roc_codeobj *o = object;
  size_t begin = roc_pack_begin(out, magic, FORMAT);
  roc_pack_text(out, o->target);
  roc_pack_text(out, o->entry);
  const uint32_t fields[] = {o->nargs,
                             o->nsites,
                             o->kernarg_bytes,
                             o->has_print,
                             o->has_fault,
                             o->has_barrier,
                             o->has_batches,
                             o->is_unordered,
                             o->goes_by_rows,
                             o->item_steps,
                             o->items_per_thread,
                             o->shared_bytes,
                             o->frame_fixed_bytes,
                             o->frame_item_bytes};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) roc_pack_u32(out, fields[i]);
  for (uint32_t i = 0; i < o->nargs; i++) put_slot(out, &o->args[i]);
  for (uint32_t i = 0; i < o->nsites; i++) put_site(out, &o->sites[i]);
  roc_pack_bytes(out, o->bytes, o->nbytes);
  roc_pack_end(out, begin);
}

/* ---- reading ----------------------------------------------------------------------------- */

static void take_slot(roc_unpacker *r, roc_arg_slot *s) {
  s->type.value = (uint8_t)roc_unpack_u32(r);
  s->type.dtype = (uint8_t)roc_unpack_u32(r);
  s->type.rank = (uint8_t)roc_unpack_u32(r);
  s->type.layout = (uint8_t)roc_unpack_u32(r);
  s->type.is_narrow = roc_unpack_u32(r);
  s->type.is_plain = roc_unpack_u32(r);
  s->type.is_alias = roc_unpack_u32(r);
  s->type.is_host_memory = roc_unpack_u32(r);
  s->is_read = roc_unpack_u32(r);
  s->is_written = roc_unpack_u32(r);
  s->offset = roc_unpack_u32(r);
  s->extents_offset = roc_unpack_u32(r);
  s->strides_offset = roc_unpack_u32(r);
}

static void take_site(roc_unpacker *r, roc_site *s) {
  s->kind = (uint8_t)roc_unpack_u32(r);
  s->nvalues = (uint8_t)roc_unpack_u32(r);
  s->dim = (uint8_t)roc_unpack_u32(r);
  s->line = roc_unpack_u32(r);
  s->column = roc_unpack_u32(r);
  s->npieces = roc_unpack_count(r);
  s->file = roc_unpack_text(r);
  s->name = roc_unpack_text(r);
  roc_site_piece *pieces = ROC_ARENA_ARRAY(r->arena, roc_site_piece, s->npieces + 1);
  for (uint32_t i = 0; pieces && i < s->npieces; i++) {
    pieces[i].text = roc_unpack_text(r);
    pieces[i].type = (roc_value_type)roc_unpack_u32(r);
  }
  s->pieces = pieces;
}

static void take_object(roc_unpacker *r, roc_codeobj *o) {
  o->target = roc_unpack_text(r);
  o->entry = roc_unpack_text(r);
  o->nargs = roc_unpack_count(r);
  o->nsites = roc_unpack_count(r);
  o->kernarg_bytes = roc_unpack_u32(r);
  o->has_print = roc_unpack_u32(r);
  o->has_fault = roc_unpack_u32(r);
  o->has_barrier = roc_unpack_u32(r);
  o->has_batches = roc_unpack_u32(r);
  o->is_unordered = roc_unpack_u32(r);
  o->goes_by_rows = roc_unpack_u32(r);
  o->item_steps = roc_unpack_u32(r);
  o->items_per_thread = roc_unpack_u32(r);
  o->shared_bytes = roc_unpack_u32(r);
  o->frame_fixed_bytes = roc_unpack_u32(r);
  o->frame_item_bytes = roc_unpack_u32(r);
  roc_arg_slot *args = ROC_ARENA_ARRAY(r->arena, roc_arg_slot, o->nargs + 1);
  for (uint32_t i = 0; args && i < o->nargs; i++) take_slot(r, &args[i]);
  roc_site *sites = ROC_ARENA_ARRAY(r->arena, roc_site, o->nsites + 1);
  for (uint32_t i = 0; sites && i < o->nsites; i++) take_site(r, &sites[i]);
  o->args = args;
  o->sites = sites;
  o->nbytes = roc_unpack_u32(r);
  const unsigned char *bytes = roc_unpack_take(r, o->nbytes);
  unsigned char *copy = bytes ? ROC_ARENA_ARRAY(r->arena, unsigned char, o->nbytes + 1) : NULL;
  if (copy) memcpy(copy, bytes, o->nbytes);
  o->bytes = copy;
  r->failed |= r->left != 0 || !o->target || !o->entry;
}

typedef struct owned_object {
  roc_codeobj object;
  roc_arena arena;
} owned_object;

static void free_object(roc_codeobj *object) {
  owned_object *owned = (owned_object *)object;
  roc_arena_deinit(&owned->arena);
  roc_free(owned);
}

roc_codeobj *roc_codeobj_new(roc_arena **out_arena) {
  owned_object *owned = roc_zalloc(sizeof *owned);
  if (!owned) return NULL;
  roc_arena_init(&owned->arena, 0);
  owned->object.free = free_object;
  *out_arena = &owned->arena;
  return &owned->object;
}

roc_status roc_codeobj_read(const void *bytes, size_t nbytes, roc_codeobj **out, roc_error *err) {
  roc_unpacker r;
  if (!roc_unpack_begin(&r, bytes, nbytes, magic, FORMAT, NULL)) {
    return roc_fail(err, ROC_INVALID, "not a whole code object of this version of roclua");
  }
  roc_codeobj *object = roc_codeobj_new(&r.arena);
  if (!object) return roc_fail(err, ROC_OOM, "out of memory for a code object");
  roc_arena *arena = r.arena;
  take_object(&r, object);
  if (!r.failed && !arena->failed) {
    *out = object;
    return ROC_OK;
  }
  roc_status status = arena->failed ? ROC_OOM : ROC_INVALID;
  object->free(object);
  return roc_fail(err, status,
                  status == ROC_OOM ? "out of memory for a code object" : "damaged code object");
}
