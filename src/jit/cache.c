/* See cache.h.  An entry is the digest it is named after, then the code object as base/codeobj.h
 * writes it. */
#include "jit/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/vec.h"
#include "ir/print.h"
#include "jit/driver.h"
#include "jit/versions.h"

enum {
  DEFAULT_MB = 256,
  STORES_A_SWEEP = 32,     /* the folder is scanned at a process's first store, then every 32nd */
  ABANDONED_SECONDS = 3600 /* a temporary file of this age has no writer any more */
};

static struct { _Atomic uint64_t hits, misses, stores, evictions; } stats;

roc_jit_cache_stats roc_jit_cache_get_stats(void) {
  return (roc_jit_cache_stats){stats.hits, stats.misses, stats.stores, stats.evictions};
}

/* ---- the folder ------------------------------------------------------------------------- */

typedef struct settings {
  bool is_off;
  uint64_t limit_mb;
} settings;

/* ROCLUA_CACHE and ROCLUA_CACHE_MB.  INVALID. */
static roc_status read_settings(settings *out, roc_error *err) {
  static const char *const choices[] = {"on", "off", NULL};
  unsigned choice = 0;
  out->limit_mb = DEFAULT_MB;
  ROC_TRY(roc_env_choice("ROCLUA_CACHE", choices, &choice, err));
  out->is_off = choice == 1;
  return roc_env_number("ROCLUA_CACHE_MB", 1, UINT32_MAX, &out->limit_mb, err);
}

/* Makes the folders above the last component, and that one. */
static bool make_folders(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    bool is_made = mkdir(path, 0700) == 0 || errno == EEXIST;
    *slash = '/';
    if (!is_made) return false;
  }
  return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* Code that another user could have stored there is not run. */
static bool is_ours(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
         !(info.st_mode & (S_IWGRP | S_IWOTH));
}

/* $HOME, or the home of the user's entry where the environment must not be trusted.  NULL: none. */
static const char *find_home(char *buffer, size_t size) {
  struct passwd entry, *found = NULL;
  if (!roc_env_ignores_code()) return getenv("HOME");
  return getpwuid_r(geteuid(), &entry, buffer, size, &found) == 0 && found ? found->pw_dir : NULL;
}

/* By the XDG base directory rules; false: there is no cache. */
static bool find_folder(char folder[PATH_MAX]) {
  char buffer[2048];
  const char *cache = getenv("XDG_CACHE_HOME"), *home = find_home(buffer, sizeof buffer);
  int len = -1;
  if (cache && cache[0] == '/') {
    len = snprintf(folder, PATH_MAX, "%s/roclua", cache);
  } else if (home && home[0] == '/') {
    len = snprintf(folder, PATH_MAX, "%s/.cache/roclua", home);
  }
  return len > 0 && len < PATH_MAX && make_folders(folder) && is_ours(folder);
}

/* ---- keys -------------------------------------------------------------------------------- */

typedef struct entry {
  unsigned char digest[ROC_HASH_BYTES];
  char fingerprint[ROC_CG_FINGERPRINT_BYTES];
  char folder[PATH_MAX];
  char path[PATH_MAX];
} entry;

/* Hashes the length of each part too, which separates the parts. */
static void add_part(roc_hash *hash, const char *text, size_t len) {
  uint64_t length = len;
  roc_hash_add(hash, &length, sizeof length);
  roc_hash_add(hash, text, len);
}

static bool digest_of(const roc_ir_module *module, const roc_cg_options *options,
                      const char *fingerprint, unsigned char digest[ROC_HASH_BYTES]) {
  char chosen[80];
  roc_str text = ROC_STR_INIT;
  roc_ir_print(module, NULL, NULL, &text);
  snprintf(chosen, sizeof chosen, "wave %u level %d object %u lanes %u%s", options->wave_size,
           options->opt_level, options->object_version, options->lanes,
           options->is_watched ? " watched" : "");
  roc_hash hash;
  roc_hash_init(&hash);
  add_part(&hash, fingerprint, strlen(fingerprint));
  add_part(&hash, options->target, strlen(options->target));
  add_part(&hash, chosen, strlen(chosen));
  add_part(&hash, roc_str_text(&text), text.len);
  roc_hash_finish(&hash, digest);
  bool is_whole = !text.failed;
  roc_str_deinit(&text);
  return is_whole;
}

static bool name_entry(const roc_ir_module *module, const roc_cg_options *options, entry *e) {
  char name[ROC_HASH_TEXT_BYTES];
  if (!digest_of(module, options, e->fingerprint, e->digest)) return false;
  roc_hash_text(e->digest, name);
  int len = snprintf(e->path, sizeof e->path, "%s/%s", e->folder, name);
  return len > 0 && (size_t)len < sizeof e->path;
}

/* The entry, by the noted fingerprint of the compiler. */
static bool recall_entry(const roc_ir_module *module, const roc_cg_options *options, entry *e) {
  return !roc_jit_is_open() && roc_jit_versions_recall(e->folder, options, e->fingerprint) &&
         name_entry(module, options, e);
}

/* Once the compiler is open, its own fingerprint is used, even if its file has changed since. */
static void note_versions(const roc_cg_options *options, const entry *e) {
  char noted[ROC_CG_FINGERPRINT_BYTES], files[ROC_CG_FILES_BYTES];
  if (roc_jit_versions_recall(e->folder, options, noted) && !strcmp(noted, e->fingerprint)) return;
  roc_jit_compiler_files(files);
  roc_jit_versions_keep(e->folder, options, files, e->fingerprint);
}

static bool find_entry(const roc_ir_module *module, const roc_cg_options *options, entry *e) {
  if (roc_jit_fingerprint(options, e->fingerprint, NULL) != ROC_OK) return false;
  note_versions(options, e);
  return name_entry(module, options, e);
}

/* ---- reading and writing ----------------------------------------------------------------- */

/* An entry is no larger than the whole cache may be. */
/* An entry that another user stored, while the folder was writable by others, is not run. */
static bool is_own_file(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && info.st_uid == geteuid();
}

static bool load(const entry *e, const roc_cg_options *options, uint64_t limit, roc_codeobj **out) {
  unsigned char *bytes;
  size_t nbytes;
  if (!is_own_file(e->path)) return false;
  if (roc_file_read(e->path, limit, &bytes, &nbytes, NULL) != ROC_OK) return false;
  roc_codeobj *object = NULL;
  bool is_it = nbytes > ROC_HASH_BYTES && !memcmp(bytes, e->digest, ROC_HASH_BYTES) &&
               !roc_codeobj_read(bytes + ROC_HASH_BYTES, nbytes - ROC_HASH_BYTES, &object, NULL);
  roc_free(bytes);
  if (!is_it || strcmp(object->target, options->target) != 0) {
    if (object) object->free(object);
    return false;
  }
  utimensat(AT_FDCWD, e->path, NULL, 0); /* for the least recently used */
  *out = object;
  return true;
}

/* ---- the size of the cache --------------------------------------------------------------- */

typedef struct aged {
  struct timespec time;
  uint64_t nbytes;
  char name[ROC_HASH_TEXT_BYTES];
} aged;

typedef roc_vec(aged) aged_list;

static int compare_age(const void *a, const void *b) {
  const struct timespec *x = &((const aged *)a)->time, *y = &((const aged *)b)->time;
  if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
  return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Lists the entries; abandoned temporary files are deleted. */
static uint64_t list_entries(DIR *dir, aged_list *list) {
  uint64_t total = 0;
  struct dirent *item;
  struct stat info;
  while ((item = readdir(dir))) {
    if (fstatat(dirfd(dir), item->d_name, &info, AT_SYMLINK_NOFOLLOW) || !S_ISREG(info.st_mode))
      continue;
    aged a = {.time = info.st_mtim, .nbytes = (uint64_t)info.st_size};
    if (!strncmp(item->d_name, ROC_JIT_VERSIONS_PREFIX, sizeof ROC_JIT_VERSIONS_PREFIX - 1))
      continue;
    if (strlen(item->d_name) + 1 != sizeof a.name) {
      if (info.st_mtim.tv_sec + ABANDONED_SECONDS < time(NULL))
        unlinkat(dirfd(dir), item->d_name, 0);
      continue;
    }
    memcpy(a.name, item->d_name, sizeof a.name);
    total += a.nbytes;
    if (!roc_vec_push(list, a)) break;
  }
  return total;
}

/* Shrinks the cache to three quarters, so that a full one is not swept at each store. */
static void sweep(const char *folder, uint64_t limit) {
  DIR *dir = opendir(folder);
  if (!dir) return;
  aged_list list = {0};
  uint64_t total = list_entries(dir, &list);
  if (total > limit) {
    qsort(list.items, list.count, sizeof *list.items, compare_age);
    for (uint32_t i = 0; i < list.count && total > limit / 4 * 3; i++) {
      total -= list.items[i].nbytes;
      if (unlinkat(dirfd(dir), list.items[i].name, 0) == 0) stats.evictions++;
    }
  }
  roc_vec_deinit(&list);
  closedir(dir);
}

static void store(const entry *e, const roc_codeobj *object, uint64_t limit) {
  roc_str text = ROC_STR_INIT;
  roc_str_add(&text, (const char *)e->digest, sizeof e->digest);
  roc_codeobj_write(object, &text);
  bool is_stored =
      !text.failed && roc_file_replace(e->path, roc_str_text(&text), text.len, NULL) == ROC_OK;
  roc_str_deinit(&text);
  if (is_stored && stats.stores++ % STORES_A_SWEEP == 0) sweep(e->folder, limit);
}

roc_status roc_jit_build(const roc_ir_module *module, const roc_cg_options *options,
                         roc_codeobj **out_object, roc_cg_times *times, roc_error *err) {
  settings chosen;
  ROC_TRY(read_settings(&chosen, err));
  uint64_t limit = chosen.limit_mb << 20;
  entry *e = chosen.is_off ? NULL : roc_alloc(sizeof *e);
  bool has_folder = e && find_folder(e->folder);
  roc_status status = ROC_OK;
  *times = (roc_cg_times){0};
  bool is_hit =
      has_folder && recall_entry(module, options, e) && load(e, options, limit, out_object);
  bool has_entry = !is_hit && has_folder && find_entry(module, options, e);
  if (is_hit || (has_entry && load(e, options, limit, out_object))) {
    stats.hits++;
  } else {
    status = roc_jit_compile(module, options, out_object, times, err);
    if (has_entry && status == ROC_OK) {
      stats.misses++;
      store(e, *out_object, limit);
    }
  }
  roc_free(e);
  return status;
}

/* ---- texts ------------------------------------------------------------------------------- */

/* A text's file: the digest of the key, the digest of the text, the text. */
static bool find_text(const char *key, size_t nkey, entry *e, uint64_t *out_limit) {
  static const char kind[] = "text";
  char name[ROC_HASH_TEXT_BYTES];
  settings chosen;
  roc_hash hash;
  if (read_settings(&chosen, NULL) != ROC_OK || chosen.is_off || !find_folder(e->folder)) {
    return false;
  }
  roc_hash_init(&hash);
  add_part(&hash, kind, sizeof kind);
  add_part(&hash, key, nkey);
  roc_hash_finish(&hash, e->digest);
  roc_hash_text(e->digest, name);
  *out_limit = chosen.limit_mb << 20;
  int len = snprintf(e->path, sizeof e->path, "%s/%s", e->folder, name);
  return len > 0 && (size_t)len < sizeof e->path;
}

static void digest_text(const char *text, size_t len, unsigned char digest[ROC_HASH_BYTES]) {
  roc_hash hash;
  roc_hash_init(&hash);
  add_part(&hash, text, len);
  roc_hash_finish(&hash, digest);
}

bool roc_jit_cache_recall(const char *key, size_t nkey, roc_str *out) {
  enum { HEAD = 2 * ROC_HASH_BYTES };
  unsigned char *bytes, digest[ROC_HASH_BYTES];
  size_t nbytes;
  uint64_t limit;
  entry *e = roc_alloc(sizeof *e);
  bool is_it = e && find_text(key, nkey, e, &limit) && is_own_file(e->path) &&
               roc_file_read(e->path, limit, &bytes, &nbytes, NULL) == ROC_OK;
  if (is_it) {
    const char *text = (const char *)bytes + HEAD;
    is_it = nbytes >= HEAD && memcmp(bytes, e->digest, ROC_HASH_BYTES) == 0;
    if (is_it) digest_text(text, nbytes - HEAD, digest);
    is_it = is_it && memcmp(bytes + ROC_HASH_BYTES, digest, ROC_HASH_BYTES) == 0;
    if (is_it) roc_str_add(out, text, nbytes - HEAD);
    if (is_it) utimensat(AT_FDCWD, e->path, NULL, 0);
    roc_free(bytes);
  }
  roc_free(e);
  return is_it && !out->failed;
}

void roc_jit_cache_keep(const char *key, size_t nkey, const char *text, size_t len) {
  unsigned char digest[ROC_HASH_BYTES];
  uint64_t limit;
  roc_str whole = ROC_STR_INIT;
  entry *e = roc_alloc(sizeof *e);
  if (e && find_text(key, nkey, e, &limit)) {
    digest_text(text, len, digest);
    roc_str_add(&whole, (const char *)e->digest, sizeof e->digest);
    roc_str_add(&whole, (const char *)digest, sizeof digest);
    roc_str_add(&whole, text, len);
    bool is_stored =
        !whole.failed && roc_file_replace(e->path, roc_str_text(&whole), whole.len, NULL) == ROC_OK;
    if (is_stored && stats.stores++ % STORES_A_SWEEP == 0) sweep(e->folder, limit);
  }
  roc_str_deinit(&whole);
  roc_free(e);
}
