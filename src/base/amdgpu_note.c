/* See amdgpu_note.h. */
#include "base/amdgpu_note.h"

#include <elf.h>
#include <string.h>

enum { EM_AMDGPU_MACHINE = 224, NT_AMDGPU_METADATA = 32, MAX_DEPTH = 16 };

/* ---- ELF --------------------------------------------------------------------------------- */

static bool slice(roc_note_span whole, uint64_t offset, uint64_t len, roc_note_span *out) {
  if (offset > whole.len || len > whole.len - offset) return false;
  *out = (roc_note_span){whole.at + offset, (size_t)len};
  return true;
}

static size_t align4(size_t n) {
  return (n + 3) & ~(size_t)3;
}

/* The metadata among the notes of one segment. */
static bool find_note(roc_note_span notes, roc_note_span *out) {
  Elf64_Nhdr head;
  while (notes.len >= sizeof head) {
    memcpy(&head, notes.at, sizeof head);
    roc_note_span name, desc, rest = {notes.at + sizeof head, notes.len - sizeof head};
    size_t name_bytes = align4(head.n_namesz);
    if (!slice(rest, 0, head.n_namesz, &name)) return false;
    if (!slice(rest, name_bytes, head.n_descsz, &desc)) return false;
    if (head.n_type == NT_AMDGPU_METADATA && name.len == 7 && !memcmp(name.at, "AMDGPU", 7)) {
      *out = desc;
      return true;
    }
    size_t used = name_bytes + align4(head.n_descsz);
    if (used > rest.len) return false;
    notes = (roc_note_span){rest.at + used, rest.len - used};
  }
  return false;
}

bool roc_note_find(roc_note_span object, roc_note_span *out) {
  Elf64_Ehdr head;
  if (object.len < sizeof head) return false;
  memcpy(&head, object.at, sizeof head);
  if (memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
      head.e_machine != EM_AMDGPU_MACHINE) {
    return false;
  }
  for (uint32_t i = 0; i < head.e_phnum; i++) {
    Elf64_Phdr segment;
    roc_note_span bytes, notes;
    if (!slice(object, head.e_phoff, 0, &bytes)) return false;
    if (!slice(object, head.e_phoff + (uint64_t)i * sizeof segment, sizeof segment, &bytes))
      return false;
    memcpy(&segment, bytes.at, sizeof segment);
    if (segment.p_type != PT_NOTE) continue;
    if (slice(object, segment.p_offset, segment.p_filesz, &notes) && find_note(notes, out))
      return true;
  }
  return false;
}

/* ---- MessagePack ------------------------------------------------------------------------- */

static uint64_t take_bytes(roc_note_cursor *c, size_t count) {
  if (c->failed || count > c->rest.len) {
    c->failed = true;
    return 0;
  }
  uint64_t value = 0; /* big endian */
  for (size_t i = 0; i < count; i++) value = value << 8 | c->rest.at[i];
  c->rest = (roc_note_span){c->rest.at + count, c->rest.len - count};
  return value;
}

static roc_note_span take_span(roc_note_cursor *c, uint64_t len) {
  roc_note_span s = {c->rest.at, 0};
  if (c->failed || !slice(c->rest, 0, len, &s)) {
    c->failed = true;
    return s;
  }
  c->rest = (roc_note_span){c->rest.at + len, c->rest.len - (size_t)len};
  return s;
}

static roc_note_item text_item(roc_note_cursor *c, roc_note_kind kind, uint64_t len) {
  return (roc_note_item){kind, len, take_span(c, len)};
}

/* The scalar, or the head of the container, at the cursor. */
roc_note_item roc_note_take(roc_note_cursor *c) {
  uint8_t tag = (uint8_t)take_bytes(c, 1);
  if (tag < 0x80) return (roc_note_item){.kind = ROC_NOTE_UINT, .value = tag};
  if (tag < 0x90) return (roc_note_item){.kind = ROC_NOTE_MAP, .value = tag & 0x0fu};
  if (tag < 0xa0) return (roc_note_item){.kind = ROC_NOTE_ARRAY, .value = tag & 0x0fu};
  if (tag < 0xc0) return text_item(c, ROC_NOTE_TEXT, tag & 0x1fu);
  if (tag == 0xc2 || tag == 0xc3) return (roc_note_item){.kind = ROC_NOTE_BOOL, .value = tag & 1u};
  if (tag >= 0xc4 && tag <= 0xc6)
    return text_item(c, ROC_NOTE_OTHER, take_bytes(c, 1u << (tag - 0xc4)));
  if (tag == 0xca || tag == 0xcb) return text_item(c, ROC_NOTE_OTHER, tag == 0xca ? 4 : 8);
  if (tag >= 0xcc && tag <= 0xcf)
    return (roc_note_item){.kind = ROC_NOTE_UINT, .value = take_bytes(c, 1u << (tag - 0xcc))};
  if (tag >= 0xd0 && tag <= 0xd3) return text_item(c, ROC_NOTE_OTHER, 1u << (tag - 0xd0));
  if (tag >= 0xd9 && tag <= 0xdb)
    return text_item(c, ROC_NOTE_TEXT, take_bytes(c, 1u << (tag - 0xd9)));
  if (tag == 0xdc || tag == 0xdd)
    return (roc_note_item){.kind = ROC_NOTE_ARRAY, .value = take_bytes(c, tag == 0xdc ? 2 : 4)};
  if (tag == 0xde || tag == 0xdf)
    return (roc_note_item){.kind = ROC_NOTE_MAP, .value = take_bytes(c, tag == 0xde ? 2 : 4)};
  if (tag != 0xc0 && tag < 0xe0) c->failed = true; /* extensions: the note has none */
  return (roc_note_item){.kind = ROC_NOTE_OTHER};
}

/* Goes over what `head` contains. */
static void skip_inside(roc_note_cursor *c, roc_note_item head, unsigned depth) {
  uint64_t count = head.kind == ROC_NOTE_MAP     ? 2 * head.value
                   : head.kind == ROC_NOTE_ARRAY ? head.value
                                                 : 0;
  if (count && depth == MAX_DEPTH) c->failed = true;
  for (uint64_t i = 0; i < count && !c->failed; i++) skip_inside(c, roc_note_take(c), depth + 1);
}

void roc_note_skip(roc_note_cursor *c, roc_note_item head) {
  skip_inside(c, head, 0);
}

bool roc_note_is_text(roc_note_item i, const char *text) {
  return i.kind == ROC_NOTE_TEXT && i.text.len == strlen(text) &&
         !memcmp(i.text.at, text, i.text.len);
}
