/* Integers, texts and byte strings as bytes, for files: little-endian, each with its length.
 *
 * A reader goes on after a failure, giving zeros and NULL, so that its user checks once. */
#ifndef ROC_BASE_PACK_H
#define ROC_BASE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/str.h"

void roc_pack_u32(roc_str *out, uint32_t value);
void roc_pack_bytes(roc_str *out, const void *bytes, size_t nbytes);
void roc_pack_text(roc_str *out, const char *text); /* NULL is told from "" */

/* A head of magic, format and the checksum of all that follows it. */
enum { ROC_PACK_MAGIC_BYTES = 4, ROC_PACK_HEAD_BYTES = ROC_PACK_MAGIC_BYTES + 4 + ROC_HASH_BYTES };
/* Adds a head without a checksum; returns where it begins, for roc_pack_end. */
size_t roc_pack_begin(roc_str *out, const char magic[ROC_PACK_MAGIC_BYTES], uint32_t format);
void roc_pack_end(roc_str *out, size_t begin);

typedef struct roc_unpacker {
  const unsigned char *at;
  size_t left;
  roc_arena *arena; /* of texts */
  bool failed;
} roc_unpacker;

/* False: not of this magic and format, or bytes are missing or were changed. */
bool roc_unpack_begin(roc_unpacker *r, const void *bytes, size_t nbytes,
                      const char magic[ROC_PACK_MAGIC_BYTES], uint32_t format, roc_arena *arena);
const unsigned char *roc_unpack_take(roc_unpacker *r, size_t nbytes);
uint32_t roc_unpack_u32(roc_unpacker *r);
uint32_t roc_unpack_count(roc_unpacker *r); /* of things that take at least four bytes each */
const char *roc_unpack_text(roc_unpacker *r);
/* In place: borrowed of the bytes that are read. */
const unsigned char *roc_unpack_bytes(roc_unpacker *r, size_t *out_nbytes);

#endif
