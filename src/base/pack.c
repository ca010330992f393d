/* See pack.h. */
#include "base/pack.h"

#include <string.h>

void roc_pack_u32(roc_str *out, uint32_t value) {
  char bytes[4];
  for (int i = 0; i < 4; i++) bytes[i] = (char)(value >> (8 * i));
  roc_str_add(out, bytes, sizeof bytes);
}

void roc_pack_bytes(roc_str *out, const void *bytes, size_t nbytes) {
  if (nbytes > UINT32_MAX) out->failed = true;
  roc_pack_u32(out, (uint32_t)nbytes);
  roc_str_add(out, bytes, nbytes);
}

void roc_pack_text(roc_str *out, const char *text) {
  roc_pack_u32(out, text != NULL);
  if (text) roc_pack_bytes(out, text, strlen(text));
}

size_t roc_pack_begin(roc_str *out, const char magic[ROC_PACK_MAGIC_BYTES], uint32_t format) {
  static const char no_digest[ROC_HASH_BYTES];
  size_t begin = out->len;
  roc_str_add(out, magic, ROC_PACK_MAGIC_BYTES);
  roc_pack_u32(out, format);
  roc_str_add(out, no_digest, sizeof no_digest);
  return begin;
}

void roc_pack_end(roc_str *out, size_t begin) {
  if (out->failed) return;
  roc_hash hash;
  roc_hash_init(&hash);
  roc_hash_add(&hash, out->data + begin + ROC_PACK_HEAD_BYTES,
               out->len - begin - ROC_PACK_HEAD_BYTES);
  roc_hash_finish(&hash, (unsigned char *)out->data + begin + ROC_PACK_MAGIC_BYTES + 4);
}

bool roc_unpack_begin(roc_unpacker *r, const void *bytes, size_t nbytes,
                      const char magic[ROC_PACK_MAGIC_BYTES], uint32_t format, roc_arena *arena) {
  *r = (roc_unpacker){.at = bytes, .left = nbytes, .arena = arena};
  const unsigned char *own_magic = roc_unpack_take(r, ROC_PACK_MAGIC_BYTES);
  uint32_t own_format = roc_unpack_u32(r);
  const unsigned char *digest = roc_unpack_take(r, ROC_HASH_BYTES);
  if (r->failed || memcmp(own_magic, magic, ROC_PACK_MAGIC_BYTES) || own_format != format) {
    return false;
  }
  unsigned char computed[ROC_HASH_BYTES];
  roc_hash hash;
  roc_hash_init(&hash);
  roc_hash_add(&hash, r->at, r->left);
  roc_hash_finish(&hash, computed);
  return memcmp(computed, digest, ROC_HASH_BYTES) == 0;
}

const unsigned char *roc_unpack_take(roc_unpacker *r, size_t nbytes) {
  if (r->failed || nbytes > r->left) {
    r->failed = true;
    return NULL;
  }
  const unsigned char *at = r->at;
  r->at += nbytes;
  r->left -= nbytes;
  return at;
}

uint32_t roc_unpack_u32(roc_unpacker *r) {
  const unsigned char *b = roc_unpack_take(r, 4);
  return b ? b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24 : 0;
}

uint32_t roc_unpack_count(roc_unpacker *r) {
  uint32_t count = roc_unpack_u32(r);
  if (count > r->left / 4) r->failed = true;
  return r->failed ? 0 : count;
}

const char *roc_unpack_text(roc_unpacker *r) {
  if (!roc_unpack_u32(r)) return NULL;
  size_t len;
  const unsigned char *bytes = roc_unpack_bytes(r, &len);
  return bytes ? roc_arena_strndup(r->arena, (const char *)bytes, len) : NULL;
}

const unsigned char *roc_unpack_bytes(roc_unpacker *r, size_t *out_nbytes) {
  *out_nbytes = roc_unpack_u32(r);
  return roc_unpack_take(r, *out_nbytes);
}
