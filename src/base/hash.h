/* Content hash: SHA-256, for cache keys and checksums.  Not for secrets. */
#ifndef ROC_BASE_HASH_H
#define ROC_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { ROC_HASH_BYTES = 32, ROC_HASH_TEXT_BYTES = 2 * ROC_HASH_BYTES + 1 };

typedef struct roc_hash {
  uint32_t state[8];
  uint64_t nbytes;
  unsigned char block[64];
} roc_hash;

void roc_hash_init(roc_hash *hash);
void roc_hash_add(roc_hash *hash, const void *bytes, size_t nbytes);
void roc_hash_finish(roc_hash *hash, unsigned char out[ROC_HASH_BYTES]);

/* Lower-case hexadecimal with a NUL. */
void roc_hash_text(const unsigned char digest[ROC_HASH_BYTES], char out[ROC_HASH_TEXT_BYTES]);

#endif
