/* The shadow's storage: a hash table of pages, and beside it the ranges that are wholly undefined.
 *
 * A record is larger by far than the byte it tells of, so memory that was given out but not touched
 * has none: its pages are kept as a range, and a page made later takes its state from there. */
#include "emulator/report/shadow.h"

#include "base/alloc.h"

enum { WORD = 4, PAGE_SHIFT = 12, PAGE_WORDS = (1 << PAGE_SHIFT) / WORD, ALL_BYTES = 15 };

typedef struct page {
  struct page *next;
  uint64_t number;
  emu_shadow_word words[PAGE_WORDS];
} page;

typedef struct range {
  struct range *next;
  uint64_t begin, end;
} range;

struct emu_shadow {
  range *undefined;
  bool is_undefined; /* all of it, at first */
  uint32_t nbuckets;
  page *buckets[];
};

emu_shadow *emu_shadow_new(bool is_undefined, uint32_t nbuckets) {
  emu_shadow *shadow = roc_zalloc(sizeof(emu_shadow) + nbuckets * sizeof(page *));
  if (!shadow) return NULL;
  shadow->is_undefined = is_undefined;
  shadow->nbuckets = nbuckets;
  return shadow;
}

void emu_shadow_free(emu_shadow *shadow) {
  if (!shadow) return;
  for (unsigned i = 0; i < shadow->nbuckets; i++) {
    for (page *p = shadow->buckets[i], *next; p; p = next) {
      next = p->next;
      roc_free(p);
    }
  }
  for (range *r = shadow->undefined, *next; r; r = next) {
    next = r->next;
    roc_free(r);
  }
  roc_free(shadow);
}

static page **find_link(emu_shadow *shadow, uint64_t number) {
  uint64_t hash = number * UINT64_C(0x9e3779b97f4a7c15) >> 40;
  page **link = &shadow->buckets[hash & (shadow->nbuckets - 1)];
  while (*link && (*link)->number != number) link = &(*link)->next;
  return link;
}

static bool begins_undefined(const emu_shadow *shadow, uint64_t address) {
  if (shadow->is_undefined) return true;
  for (const range *r = shadow->undefined; r; r = r->next) {
    if (address >= r->begin && address < r->end) return true;
  }
  return false;
}

static page *make_page(const emu_shadow *shadow, uint64_t number) {
  page *p = roc_zalloc(sizeof *p);
  if (!p) return NULL;
  p->number = number;
  for (unsigned i = 0; i < PAGE_WORDS; i++) {
    bool undefined = begins_undefined(shadow, (number << PAGE_SHIFT) + i * WORD);
    p->words[i].undefined = undefined ? ALL_BYTES : 0;
  }
  return p;
}

static emu_shadow_word *word_of(page *p, uint64_t address) {
  return &p->words[address / WORD % PAGE_WORDS];
}

emu_shadow_word *emu_shadow_at(emu_shadow *shadow, uint64_t address) {
  page **link = find_link(shadow, address >> PAGE_SHIFT);
  if (!*link) *link = make_page(shadow, address >> PAGE_SHIFT);
  return *link ? word_of(*link, address) : NULL;
}

/* Cuts [begin, end) out of the undefined ranges. */
static bool cut(emu_shadow *shadow, uint64_t begin, uint64_t end) {
  for (range **link = &shadow->undefined; *link;) {
    range *r = *link;
    if (end <= r->begin || begin >= r->end) {
      link = &r->next;
    } else if (begin > r->begin && end < r->end) {
      range *tail = roc_alloc(sizeof *tail);
      if (!tail) return false;
      *tail = (range){r->next, end, r->end};
      r->end = begin;
      r->next = tail;
      return true;
    } else if (begin <= r->begin && end >= r->end) {
      *link = r->next;
      roc_free(r);
    } else if (begin <= r->begin) {
      r->begin = end;
    } else {
      r->end = begin;
    }
  }
  return true;
}

static void mark_pages(emu_shadow *shadow, uint64_t begin, uint64_t end, bool undefined) {
  for (uint64_t at = begin; at < end;) {
    uint64_t page_end = ((at >> PAGE_SHIFT) + 1) << PAGE_SHIFT;
    if (page_end > end) page_end = end;
    page *p = *find_link(shadow, at >> PAGE_SHIFT);
    for (; p && at < page_end; at += WORD) word_of(p, at)->undefined = undefined ? ALL_BYTES : 0;
    at = page_end;
  }
}

bool emu_shadow_mark(emu_shadow *shadow, uint64_t address, uint64_t nbytes, bool undefined) {
  if (!cut(shadow, address, address + nbytes)) return false;
  if (undefined) {
    range *r = roc_alloc(sizeof *r);
    if (!r) return false;
    *r = (range){shadow->undefined, address, address + nbytes};
    shadow->undefined = r;
  }
  mark_pages(shadow, address, address + nbytes, undefined);
  return true;
}

void emu_shadow_forget(emu_shadow *shadow, uint64_t address, uint64_t nbytes) {
  cut(shadow, address, address + nbytes); /* out of memory: a range stays undefined, no more */
  uint64_t end = address + nbytes;
  for (unsigned i = 0; i < shadow->nbuckets; i++) {
    for (page **link = &shadow->buckets[i]; *link;) {
      page *p = *link;
      uint64_t begin = p->number << PAGE_SHIFT;
      if (begin >= address && begin + (UINT64_C(1) << PAGE_SHIFT) <= end) {
        *link = p->next;
        roc_free(p);
      } else {
        link = &p->next;
      }
    }
  }
  mark_pages(shadow, address, end, false);
}
