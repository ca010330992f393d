/* The name table: chained hashing, doubled when full.  See names.h. */
#include "frontend/syntax/names.h"

#include <string.h>

#include "base/alloc.h"
#include "frontend/syntax/lexer.h"

static uint64_t hash_bytes(const char *text, uint32_t len) {
  uint64_t h = 0xCBF29CE484222325u;
  for (uint32_t i = 0; i < len; i++) h = (h ^ (unsigned char)text[i]) * 0x100000001B3u;
  return h ^ (h >> 29);
}

static bool grow(roc_names *names) {
  uint32_t nbuckets = names->nbuckets ? names->nbuckets * 2 : 128;
  roc_name **buckets = roc_zalloc(sizeof *buckets * nbuckets);
  if (!buckets) return false;
  for (uint32_t i = 0; i < names->nbuckets; i++) {
    for (roc_name *name = names->buckets[i], *next; name; name = next) {
      next = name->next;
      roc_name **bucket = &buckets[name->hash & (nbuckets - 1)];
      name->next = *bucket;
      *bucket = name;
    }
  }
  roc_free(names->buckets);
  names->buckets = buckets;
  names->nbuckets = nbuckets;
  return true;
}

static bool add_keyword(roc_names *names, const char *text, uint8_t token) {
  roc_name *name = roc_names_intern(names, text, (uint32_t)strlen(text));
  if (name) name->token = token;
  return name != NULL;
}

bool roc_names_init(roc_names *names, roc_arena *arena) {
  *names = (roc_names){.arena = arena};
  bool ok = grow(names);
#define ROC_KEYWORD(NAME, text) ok = ok && add_keyword(names, text, ROC_TK_##NAME);
#define ROC_TOKEN(NAME, text)
#include "frontend/syntax/token.def"
#undef ROC_KEYWORD
#undef ROC_TOKEN
  return ok;
}

void roc_names_deinit(roc_names *names) {
  roc_free(names->buckets);
  *names = (roc_names){0};
}

roc_name *roc_names_intern(roc_names *names, const char *text, uint32_t len) {
  uint64_t hash = hash_bytes(text, len);
  for (roc_name *n = names->buckets[hash & (names->nbuckets - 1)]; n; n = n->next)
    if (n->hash == hash && n->text.len == len && memcmp(n->text.data, text, len) == 0) return n;
  /* A table that cannot grow still works, only slower. */
  if (names->count >= names->nbuckets && names->nbuckets < 1u << 24) (void)grow(names);
  roc_name *name = ROC_ARENA_NEW(names->arena, roc_name);
  char *copy = name ? roc_arena_strndup(names->arena, text, len) : NULL;
  if (!copy) return NULL;
  roc_name **bucket = &names->buckets[hash & (names->nbuckets - 1)];
  *name = (roc_name){.text = {copy, len}, .hash = hash, .next = *bucket, .token = ROC_TK_NAME};
  *bucket = name;
  names->count++;
  return name;
}
