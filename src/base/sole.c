/* Each copy of roclua carries an ELF note by which the others find it; see sole.h.
 *
 * The linker shows the loaded objects with their notes, whether they came as a program, a library
 * or part of either, and whatever their symbols' visibility.  Invariant: is_open is first set, and
 * then those of the others are looked at, so of two copies at most one opens. */
#include "base/sole.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define OWNER "roclua"

enum { NOTE_TYPE = 1 }; /* what follows is the distance to is_open, of any version of roclua */

extern _Atomic uint32_t roc_sole_is_open;
_Atomic uint32_t roc_sole_is_open;

__asm__(
    ".pushsection .note.roclua, \"a\", %note\n"
    ".balign 4\n"
    ".long 7, 4, 1\n"
    ".asciz \"roclua\"\n"
    ".balign 4\n"
    ".long roc_sole_is_open - .\n"
    ".popsection\n");

typedef struct search {
  const char *found; /* the file of another copy that is open */
} search;

static bool is_other_and_open(const char *description) {
  int32_t distance;
  memcpy(&distance, description, sizeof distance);
  const _Atomic uint32_t *is_open = (const void *)(description + distance);
  return is_open != &roc_sole_is_open && atomic_load(is_open);
}

static uint64_t padded(uint64_t nbytes) {
  return (nbytes + 3) & ~UINT64_C(3);
}

static bool has_open_copy(const char *notes, uint64_t nbytes) {
  uint64_t at = 0;
  while (nbytes - at >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) head;
    memcpy(&head, notes + at, sizeof head);
    const char *owner = notes + at + sizeof head;
    uint64_t length = sizeof head + padded(head.n_namesz) + padded(head.n_descsz);
    if (length > nbytes - at) return false;
    bool is_ours = head.n_namesz == sizeof OWNER && head.n_type == NOTE_TYPE &&
                   head.n_descsz == sizeof(int32_t) && memcmp(owner, OWNER, sizeof OWNER) == 0;
    if (is_ours && is_other_and_open(owner + padded(head.n_namesz))) return true;
    at += length;
  }
  return false;
}

/* 1: the search is over. */
static int look_at(struct dl_phdr_info *info, size_t size, void *ud) {
  (void)size;
  search *s = ud;
  for (int i = 0; i < info->dlpi_phnum && !s->found; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    if (header->p_type != PT_NOTE || header->p_align > 4) continue;
    const char *notes = (const char *)(uintptr_t)(info->dlpi_addr + header->p_vaddr);
    if (has_open_copy(notes, header->p_memsz)) s->found = info->dlpi_name;
  }
  return s->found != NULL;
}

/* Our threads run in this object. */
static void keep_loaded(void) {
  Dl_info info;
  if (!dladdr((const void *)(uintptr_t)&keep_loaded, &info) || !info.dli_fname) return;
  dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE); /* fails for a program */
}

roc_status roc_sole_claim(roc_error *err) {
  static _Atomic bool is_claimed;
  if (atomic_load_explicit(&is_claimed, memory_order_acquire)) return ROC_OK;
  search s = {NULL};
  atomic_store(&roc_sole_is_open, 1);
  dl_iterate_phdr(look_at, &s);
  if (!s.found) {
    keep_loaded();
    atomic_store_explicit(&is_claimed, true, memory_order_release);
    return ROC_OK;
  }
  atomic_store(&roc_sole_is_open, 0);
  return roc_fail(err, ROC_UNSUPPORTED,
                  "another copy of roclua is open in this process, in %s: link all parts of the "
                  "program with libroclua.so.0, or only the program itself with libroclua.a",
                  s.found[0] ? s.found : "the program itself");
}
