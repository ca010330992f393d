/* Code objects as bytes: "ROCO", format, checksum, then the fields in order.
 *
 * Integers are little-endian, texts and byte strings carry their length. The checksum covers all
 * that follows it, so that a reader believes the whole or nothing; counts are bounded all the same.
 */
#include "base/codeobj.h"

#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/hash.h"

enum { FORMAT = 6, MAGIC_BYTES = 4, HEAD_BYTES = MAGIC_BYTES + 4 + ROC_HASH_BYTES };
static const char magic[MAGIC_BYTES] = {'R', 'O', 'C', 'O'};

/* Every field is written below; one that is added changes a size here, and FORMAT. */
_Static_assert(sizeof(void *) != 8 || sizeof(roc_codeobj) == 96, "a field is not serialised");
_Static_assert(sizeof(void *) != 8 || sizeof(roc_site) == 48, "a field is not serialised");
_Static_assert(sizeof(void *) != 8 || sizeof(roc_site_piece) == 16, "a field is not serialised");
_Static_assert(sizeof(roc_arg_slot) == 24, "a field is not serialised");
_Static_assert(sizeof(roc_arg_type) == 8, "padding would be compared");

/* ---- writing ----------------------------------------------------------------------------- */

static void put_u32(roc_str *out, uint32_t value) {
  char bytes[4];
  for (int i = 0; i < 4; i++) bytes[i] = (char)(value >> (8 * i));
  roc_str_add(out, bytes, sizeof bytes);
}

static void put_bytes(roc_str *out, const void *bytes, size_t nbytes) {
  put_u32(out, (uint32_t)nbytes);
  roc_str_add(out, bytes, nbytes);
}

/* NULL is told from "". */
static void put_text(roc_str *out, const char *text) {
  put_u32(out, text != NULL);
  if (text) put_bytes(out, text, strlen(text));
}

static void put_slot(roc_str *out, const roc_arg_slot *s) {
  const roc_arg_type *t = &s->type;
  const uint32_t fields[] = {t->value,         t->dtype,      t->rank,     t->layout,
                             t->is_narrow,     t->is_plain,   t->is_alias, t->is_host_memory,
                             s->is_read,       s->is_written, s->offset,   s->extents_offset,
                             s->strides_offset};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) put_u32(out, fields[i]);
}

static void put_site(roc_str *out, const roc_site *s) {
  const uint32_t fields[] = {s->kind, s->nvalues, s->dim, s->line, s->column, s->npieces};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) put_u32(out, fields[i]);
  put_text(out, s->file);
  put_text(out, s->name);
  for (uint32_t i = 0; i < s->npieces; i++) {
    put_text(out, s->pieces[i].text);
    put_u32(out, (uint32_t)s->pieces[i].type);
  }
}

void roc_codeobj_write(const roc_codeobj *object, roc_str *out) {
  static const char no_digest[ROC_HASH_BYTES];
  const roc_codeobj *o = object;
  size_t begin = out->len;
  roc_str_add(out, magic, sizeof magic);
  put_u32(out, FORMAT);
  roc_str_add(out, no_digest, sizeof no_digest);
  put_text(out, o->target);
  put_text(out, o->entry);
  const uint32_t fields[] = {
      o->nargs,           o->nsites,           o->kernarg_bytes, o->has_print,
      o->has_fault,       o->has_barrier,      o->has_batches,   o->is_open_ended,
      o->item_steps,      o->items_per_thread, o->shared_bytes,  o->frame_fixed_bytes,
      o->frame_item_bytes};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) put_u32(out, fields[i]);
  for (uint32_t i = 0; i < o->nargs; i++) put_slot(out, &o->args[i]);
  for (uint32_t i = 0; i < o->nsites; i++) put_site(out, &o->sites[i]);
  put_bytes(out, o->bytes, o->nbytes);
  if (o->nbytes > UINT32_MAX) out->failed = true;
  if (out->failed) return;
  roc_hash hash;
  roc_hash_init(&hash);
  roc_hash_add(&hash, out->data + begin + HEAD_BYTES, out->len - begin - HEAD_BYTES);
  roc_hash_finish(&hash, (unsigned char *)out->data + begin + MAGIC_BYTES + 4);
}

/* ---- reading ----------------------------------------------------------------------------- */

typedef struct reader {
  const unsigned char *at;
  size_t left;
  roc_arena *arena;
  bool failed;
} reader;

static const unsigned char *take(reader *r, size_t nbytes) {
  if (r->failed || nbytes > r->left) {
    r->failed = true;
    return NULL;
  }
  const unsigned char *at = r->at;
  r->at += nbytes;
  r->left -= nbytes;
  return at;
}

static uint32_t take_u32(reader *r) {
  const unsigned char *b = take(r, 4);
  return b ? b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24 : 0;
}

/* A count of things that take at least four bytes each. */
static uint32_t take_count(reader *r) {
  uint32_t count = take_u32(r);
  if (count > r->left / 4) r->failed = true;
  return r->failed ? 0 : count;
}

static const char *take_text(reader *r) {
  if (!take_u32(r)) return NULL;
  uint32_t len = take_u32(r);
  const unsigned char *bytes = take(r, len);
  return bytes ? roc_arena_strndup(r->arena, (const char *)bytes, len) : NULL;
}

static void take_slot(reader *r, roc_arg_slot *s) {
  s->type.value = (uint8_t)take_u32(r);
  s->type.dtype = (uint8_t)take_u32(r);
  s->type.rank = (uint8_t)take_u32(r);
  s->type.layout = (uint8_t)take_u32(r);
  s->type.is_narrow = take_u32(r);
  s->type.is_plain = take_u32(r);
  s->type.is_alias = take_u32(r);
  s->type.is_host_memory = take_u32(r);
  s->is_read = take_u32(r);
  s->is_written = take_u32(r);
  s->offset = take_u32(r);
  s->extents_offset = take_u32(r);
  s->strides_offset = take_u32(r);
}

static void take_site(reader *r, roc_site *s) {
  s->kind = (uint8_t)take_u32(r);
  s->nvalues = (uint8_t)take_u32(r);
  s->dim = (uint8_t)take_u32(r);
  s->line = take_u32(r);
  s->column = take_u32(r);
  s->npieces = take_count(r);
  s->file = take_text(r);
  s->name = take_text(r);
  roc_site_piece *pieces = ROC_ARENA_ARRAY(r->arena, roc_site_piece, s->npieces + 1);
  for (uint32_t i = 0; pieces && i < s->npieces; i++) {
    pieces[i].text = take_text(r);
    pieces[i].type = (roc_value_type)take_u32(r);
  }
  s->pieces = pieces;
}

static void take_object(reader *r, roc_codeobj *o) {
  o->target = take_text(r);
  o->entry = take_text(r);
  o->nargs = take_count(r);
  o->nsites = take_count(r);
  o->kernarg_bytes = take_u32(r);
  o->has_print = take_u32(r);
  o->has_fault = take_u32(r);
  o->has_barrier = take_u32(r);
  o->has_batches = take_u32(r);
  o->is_open_ended = take_u32(r);
  o->item_steps = take_u32(r);
  o->items_per_thread = take_u32(r);
  o->shared_bytes = take_u32(r);
  o->frame_fixed_bytes = take_u32(r);
  o->frame_item_bytes = take_u32(r);
  roc_arg_slot *args = ROC_ARENA_ARRAY(r->arena, roc_arg_slot, o->nargs + 1);
  for (uint32_t i = 0; args && i < o->nargs; i++) take_slot(r, &args[i]);
  roc_site *sites = ROC_ARENA_ARRAY(r->arena, roc_site, o->nsites + 1);
  for (uint32_t i = 0; sites && i < o->nsites; i++) take_site(r, &sites[i]);
  o->args = args;
  o->sites = sites;
  o->nbytes = take_u32(r);
  const unsigned char *bytes = take(r, o->nbytes);
  unsigned char *copy = bytes ? ROC_ARENA_ARRAY(r->arena, unsigned char, o->nbytes + 1) : NULL;
  if (copy) memcpy(copy, bytes, o->nbytes);
  o->bytes = copy;
  r->failed |= r->left != 0 || !o->target || !o->entry;
}

static bool is_intact(const unsigned char *bytes, size_t nbytes) {
  static const unsigned char format[4] = {FORMAT};
  if (nbytes < HEAD_BYTES || memcmp(bytes, magic, MAGIC_BYTES) ||
      memcmp(bytes + MAGIC_BYTES, format, sizeof format)) {
    return false;
  }
  unsigned char digest[ROC_HASH_BYTES];
  roc_hash hash;
  roc_hash_init(&hash);
  roc_hash_add(&hash, bytes + HEAD_BYTES, nbytes - HEAD_BYTES);
  roc_hash_finish(&hash, digest);
  return !memcmp(digest, bytes + MAGIC_BYTES + 4, ROC_HASH_BYTES);
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
  if (!is_intact(bytes, nbytes)) {
    return roc_fail(err, ROC_INVALID, "not a whole code object of this version of roclua");
  }
  roc_arena *arena;
  roc_codeobj *object = roc_codeobj_new(&arena);
  if (!object) return roc_fail(err, ROC_OOM, "out of memory for a code object");
  reader r = {(const unsigned char *)bytes + HEAD_BYTES, nbytes - HEAD_BYTES, arena, false};
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
