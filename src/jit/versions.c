/* Notes of what the compiler is; see versions.h.  A note is the hash of the rest in hexadecimal, a
 * line that names the place (environment and compiler), a line "IDENTITY PATH" for each file, an
 * empty line, and the fingerprint. */
#include "jit/versions.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/target.h"
#include "jit/library.h"

enum { MAX_NOTE_BYTES = 1 << 20 }; /* usually a few hundred, and the environment's paths */

/* A note is useless where the compiler is opened in any case.  A note is found by the target
 * alone, so it is kept for compiles with all quirks on. */
static bool is_noted(const roc_cg_options *options) {
  const roc_target_facts *facts = roc_target_facts_of(options->target);
  if (options->quirks_off) return false;
  return !facts || !facts->is_loaded_by_compiler;
}

static bool path_of(const char *folder, const roc_cg_options *options, char path[PATH_MAX]) {
  int len = snprintf(path, PATH_MAX, "%s/" ROC_JIT_VERSIONS_PREFIX "%s", folder, options->target);
  return len > 0 && len < PATH_MAX;
}

/* Everything that decides which files are opened; false: there is no compiler. */
static bool add_place(roc_str *text) {
  static const char *const variables[] = {"LD_LIBRARY_PATH", "LD_PRELOAD", "ROCLUA_BITCODE_DIR"};
  char library[PATH_MAX];
  if (!roc_jit_find_library(library)) return false;
  roc_str_printf(text, "%s", library);
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    const char *value = getenv(variables[i]);
    roc_str_printf(text, "; %s%s%s", variables[i], value ? "=" : "", value ? value : "");
  }
  roc_str_add(text, "\n", 1);
  return true;
}

static void add_file(roc_str *text, const char *path, size_t len) {
  char name[PATH_MAX], identity[ROC_FILE_IDENTITY_BYTES];
  if (len >= sizeof name) return;
  memcpy(name, path, len);
  name[len] = '\0';
  roc_file_identity(name, identity);
  roc_str_printf(text, "%s %s\n", identity, name);
}

static void hash_text(const char *text, size_t len, char out[ROC_HASH_TEXT_BYTES]) {
  unsigned char digest[ROC_HASH_BYTES];
  roc_hash hash;
  roc_hash_init(&hash);
  roc_hash_add(&hash, text, len);
  roc_hash_finish(&hash, digest);
  roc_hash_text(digest, out);
}

/* True when the note's environment and files are the current ones; *rest is the text after them. */
static bool is_current(const char *note, const char **rest) {
  roc_str now = ROC_STR_INIT;
  bool has_place = add_place(&now);
  const char *line = strchr(note, '\n');
  while (has_place && line && line[1] != '\n') {
    const char *path = strchr(line + 1, ' '), *end = path ? strchr(path, '\n') : NULL;
    if (!end) break;
    add_file(&now, path + 1, (size_t)(end - path - 1));
    line = end;
  }
  bool is_same = has_place && line && line[1] == '\n' && !now.failed &&
                 (size_t)(line + 1 - note) == now.len && !memcmp(note, roc_str_text(&now), now.len);
  if (is_same) *rest = line + 2;
  roc_str_deinit(&now);
  return is_same;
}

/* `note` ends in a NUL. */
static bool read_note(const char *note, size_t len, char *out) {
  enum { HASH_LEN = ROC_HASH_TEXT_BYTES - 1 };
  char hash[ROC_HASH_TEXT_BYTES];
  const char *fingerprint;
  if (len < HASH_LEN || strlen(note) != len) return false;
  hash_text(note + HASH_LEN, len - HASH_LEN, hash);
  if (memcmp(note, hash, HASH_LEN) != 0 || !is_current(note + HASH_LEN, &fingerprint)) return false;
  int written = snprintf(out, ROC_CG_FINGERPRINT_BYTES, "%s", fingerprint);
  return written > 0 && written < ROC_CG_FINGERPRINT_BYTES;
}

bool roc_jit_versions_recall(const char *folder, const roc_cg_options *options, char *out) {
  char path[PATH_MAX];
  unsigned char *bytes;
  size_t nbytes;
  if (!is_noted(options) || !path_of(folder, options, path)) return false;
  if (roc_file_read(path, MAX_NOTE_BYTES, &bytes, &nbytes, NULL) != ROC_OK) return false;
  roc_str note = ROC_STR_INIT;
  roc_str_add(&note, (const char *)bytes, nbytes);
  roc_free(bytes);
  bool is_read = !note.failed && read_note(roc_str_text(&note), note.len, out);
  roc_str_deinit(&note);
  return is_read;
}

void roc_jit_versions_keep(const char *folder, const roc_cg_options *options, const char *files,
                           const char *fingerprint) {
  char path[PATH_MAX], hash[ROC_HASH_TEXT_BYTES];
  if (!is_noted(options) || !path_of(folder, options, path)) return;
  roc_str body = ROC_STR_INIT, note = ROC_STR_INIT;
  bool has_place = add_place(&body);
  roc_str_printf(&body, "%s\n%s", files, fingerprint);
  if (has_place && !body.failed) {
    hash_text(roc_str_text(&body), body.len, hash);
    roc_str_printf(&note, "%s%s", hash, roc_str_text(&body));
    if (!note.failed) roc_file_replace(path, roc_str_text(&note), note.len, NULL);
  }
  roc_str_deinit(&body);
  roc_str_deinit(&note);
}
