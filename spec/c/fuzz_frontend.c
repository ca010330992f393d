/* libFuzzer harness for the front end: any bytes are parsed, and what parses is dumped and searched
 * for free names; diagnostics are rendered.  By hand, from the repository's root:
 *
 *   clang -g -O1 -std=c11 -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined
 * -fno-sanitize-recover=all -Isrc \
 *     spec/c/fuzz_frontend.c src/base/?*.c
 * src/frontend/{ast,diag,lexer,names,numeral,parser,scope}.c \
 *     src/frontend/{constant,parse_expr,parse_stat,paths}.c -lm -o build/fuzz_frontend
 *   mkdir -p build/fuzz && build/fuzz_frontend -max_total_time=180 -timeout=5 build/fuzz
 * spec/support/corpus
 *
 * The first byte makes an allocation fail, so that the paths out of memory are walked too. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "frontend/frontend.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void inspect(const roc_ast_chunk *chunk, roc_str *out) {
  roc_arena arena;
  roc_arena_init(&arena, 0);
  for (uint32_t i = 0; i < chunk->nfuncs; i++) {
    roc_fe_paths paths;
    if (chunk->funcs[i]->index != i) abort();
    (void)roc_fe_collect_paths(chunk->funcs[i], &arena, &paths);
  }
  roc_ast_dump(chunk->funcs[0], out);
  roc_arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  int64_t live = roc_alloc_live();
  const char *text = (const char *)data + 1;
  roc_diags diags;
  roc_diags_init(&diags, "fuzz");
  roc_str out = ROC_STR_INIT;
  roc_ast_chunk *chunk = NULL;
  roc_error err;
  /* Most runs have all the memory they want. */
  if (data[0] < 32) roc_alloc_fail_at((uint64_t)data[0] + 1);
  roc_status status = roc_fe_parse(text, size - 1, "fuzz.lua", &diags, &chunk, &err);
  if ((status == ROC_OK) != (chunk != NULL)) abort();
  if (status == ROC_COMPILE && diags.count == 0) abort();
  if (chunk) inspect(chunk, &out);
  roc_alloc_fail_at(0);
  roc_fe_dump_tokens(text, size - 1, "fuzz.lua", &diags, &out);
  roc_diags_render(&diags, &out);
  roc_str_deinit(&out);
  roc_fe_chunk_free(chunk);
  roc_diags_deinit(&diags);
  if (roc_alloc_live() != live) abort();
  return 0;
}
