/* The position of a launch in the script; see place.h. */
#include "bindings/kernel/place.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"

typedef struct place {
  struct place *next;
  bool is_library;
  char name[];
} place;

enum { BUCKETS = 64, RECENT = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static place *buckets[BUCKETS];
/* By where the text of a chunk's name lies.  Another may lie there now, so names are compared. */
static _Thread_local const place *recent[RECENT];

/* NULL when memory is out. */
static place *intern(const char *name) {
  uint32_t hash = 5381;
  for (const char *c = name; *c; c++) hash = hash * 33 + (unsigned char)*c;
  place **bucket = &buckets[hash % BUCKETS], *found;
  pthread_mutex_lock(&lock);
  for (found = *bucket; found && strcmp(found->name, name) != 0;) found = found->next;
  size_t len = strlen(name) + 1;
  if (!found && (found = roc_alloc(sizeof *found + len))) {
    found->is_library = false;
    memcpy(found->name, name, len);
    found->next = *bucket;
    *bucket = found;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

/* The same, of a chunk: launches of a loop come by the same few. */
static const place *find(const lua_Debug *ar) {
  const place **seen =
      &recent[((uintptr_t)ar->source / 16 ^ (uintptr_t)ar->source / 4096) % RECENT];
  if (!*seen || strcmp((*seen)->name, ar->short_src) != 0) *seen = intern(ar->short_src);
  return *seen;
}

enum { MAX_LEVELS = 16 }; /* functions of C and of roclua between a launch and the script */

const char *roc_launch_place(lua_State *L, uint32_t *out_line) {
  lua_Debug ar;
  *out_line = 0;
  for (int level = 1; level <= MAX_LEVELS && lua_getstack(L, level, &ar); level++) {
    if (!lua_getinfo(L, "Sl", &ar) || *ar.what == 'C') continue;
    const place *here = find(&ar);
    if ((here && here->is_library) || ar.currentline < 0) continue;
    *out_line = (uint32_t)ar.currentline;
    return here ? here->name : "?";
  }
  return "?";
}

void roc_place_hide(const char *name) {
  place *here = intern(name);
  pthread_mutex_lock(&lock);
  if (here) here->is_library = true;
  pthread_mutex_unlock(&lock);
}
