/* SHA-256 as FIPS 180-4 has it. */
#include "base/hash.h"

#include <string.h>

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, unsigned n) {
  return x >> n | x << (32 - n);
}

static uint32_t load_be(const unsigned char *at) {
  return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void extend(uint32_t w[64], const unsigned char *block) {
  for (int i = 0; i < 16; i++) w[i] = load_be(block + 4 * i);
  for (int i = 16; i < 64; i++) {
    uint32_t a = w[i - 15], b = w[i - 2];
    uint32_t s0 = rotate(a, 7) ^ rotate(a, 18) ^ a >> 3;
    uint32_t s1 = rotate(b, 17) ^ rotate(b, 19) ^ b >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
}

static void add_block(uint32_t state[8], const unsigned char *block) {
  uint32_t w[64], s[8];
  extend(w, block);
  memcpy(s, state, sizeof s);
  for (int i = 0; i < 64; i++) {
    uint32_t s1 = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25);
    uint32_t s0 = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22);
    uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    uint32_t t1 = s[7] + s1 + choice + constants[i] + w[i];
    memmove(s + 1, s, 7 * sizeof *s);
    s[4] += t1;
    s[0] = t1 + s0 + majority;
  }
  for (int i = 0; i < 8; i++) state[i] += s[i];
}

void roc_hash_init(roc_hash *hash) {
  static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  *hash = (roc_hash){0};
  memcpy(hash->state, start, sizeof start);
}

void roc_hash_add(roc_hash *hash, const void *bytes, size_t nbytes) {
  const unsigned char *at = bytes;
  while (nbytes > 0) {
    size_t used = hash->nbytes % sizeof hash->block, n = sizeof hash->block - used;
    if (n > nbytes) n = nbytes;
    memcpy(hash->block + used, at, n);
    hash->nbytes += n;
    at += n;
    nbytes -= n;
    if (hash->nbytes % sizeof hash->block == 0) add_block(hash->state, hash->block);
  }
}

void roc_hash_finish(roc_hash *hash, unsigned char out[ROC_HASH_BYTES]) {
  static const unsigned char padding[64] = {0x80};
  uint64_t nbits = hash->nbytes * 8;
  size_t used = hash->nbytes % 64;
  roc_hash_add(hash, padding, used < 56 ? 56 - used : 120 - used);
  unsigned char length[8];
  for (int i = 0; i < 8; i++) length[i] = (unsigned char)(nbits >> (56 - 8 * i));
  roc_hash_add(hash, length, sizeof length);
  for (int i = 0; i < ROC_HASH_BYTES; i++) {
    out[i] = (unsigned char)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
  }
}

void roc_hash_text(const unsigned char digest[ROC_HASH_BYTES], char out[ROC_HASH_TEXT_BYTES]) {
  static const char digits[] = "0123456789abcdef";
  for (int i = 0; i < ROC_HASH_BYTES; i++) {
    out[2 * i] = digits[digest[i] >> 4];
    out[2 * i + 1] = digits[digest[i] & 15];
  }
  out[2 * ROC_HASH_BYTES] = '\0';
}
