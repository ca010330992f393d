/* See amdgpu_hsaco.h. A cursor that has failed stays failed and yields zeros, so that readers check
 * once at the end. */
#include "base/amdgpu_hsaco.h"

#include <elf.h>
#include <string.h>

enum { EM_AMDGPU_MACHINE = 224, NT_AMDGPU_METADATA = 32, MAX_DEPTH = 16 };

/* ---- ELF --------------------------------------------------------------------------------- */

typedef struct span {
  const unsigned char *at;
  size_t len;
} span;

static bool slice(span whole, uint64_t offset, uint64_t len, span *out) {
  if (offset > whole.len || len > whole.len - offset) return false;
  *out = (span){whole.at + offset, (size_t)len};
  return true;
}

static size_t align4(size_t n) {
  return (n + 3) & ~(size_t)3;
}

/* The metadata among the notes of one segment. */
static bool find_note(span notes, span *out) {
  Elf64_Nhdr head;
  while (notes.len >= sizeof head) {
    memcpy(&head, notes.at, sizeof head);
    span name, desc, rest = {notes.at + sizeof head, notes.len - sizeof head};
    size_t name_bytes = align4(head.n_namesz);
    if (!slice(rest, 0, head.n_namesz, &name)) return false;
    if (!slice(rest, name_bytes, head.n_descsz, &desc)) return false;
    if (head.n_type == NT_AMDGPU_METADATA && name.len == 7 && !memcmp(name.at, "AMDGPU", 7)) {
      *out = desc;
      return true;
    }
    size_t used = name_bytes + align4(head.n_descsz);
    if (used > rest.len) return false;
    notes = (span){rest.at + used, rest.len - used};
  }
  return false;
}

static bool find_metadata(span object, span *out) {
  Elf64_Ehdr head;
  if (object.len < sizeof head) return false;
  memcpy(&head, object.at, sizeof head);
  if (memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
      head.e_machine != EM_AMDGPU_MACHINE) {
    return false;
  }
  for (uint32_t i = 0; i < head.e_phnum; i++) {
    Elf64_Phdr segment;
    span bytes, notes;
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

typedef struct cursor {
  span rest;
  bool failed;
} cursor;

static uint64_t take_bytes(cursor *c, size_t count) {
  if (c->failed || count > c->rest.len) {
    c->failed = true;
    return 0;
  }
  uint64_t value = 0; /* big endian */
  for (size_t i = 0; i < count; i++) value = value << 8 | c->rest.at[i];
  c->rest = (span){c->rest.at + count, c->rest.len - count};
  return value;
}

static span take_span(cursor *c, uint64_t len) {
  span s = {c->rest.at, 0};
  if (c->failed || !slice(c->rest, 0, len, &s)) {
    c->failed = true;
    return s;
  }
  c->rest = (span){c->rest.at + len, c->rest.len - (size_t)len};
  return s;
}

typedef enum item_kind {
  ITEM_OTHER,
  ITEM_UINT,
  ITEM_BOOL,
  ITEM_TEXT,
  ITEM_ARRAY,
  ITEM_MAP
} item_kind;

typedef struct item {
  item_kind kind;
  uint64_t value; /* UINT, BOOL; TEXT: bytes; ARRAY, MAP: entries */
  span text;
} item;

static item text_item(cursor *c, item_kind kind, uint64_t len) {
  return (item){kind, len, take_span(c, len)};
}

/* The scalar, or the head of the container, at the cursor. */
static item take_item(cursor *c) {
  uint8_t tag = (uint8_t)take_bytes(c, 1);
  if (tag < 0x80) return (item){.kind = ITEM_UINT, .value = tag};
  if (tag < 0x90) return (item){.kind = ITEM_MAP, .value = tag & 0x0fu};
  if (tag < 0xa0) return (item){.kind = ITEM_ARRAY, .value = tag & 0x0fu};
  if (tag < 0xc0) return text_item(c, ITEM_TEXT, tag & 0x1fu);
  if (tag == 0xc2 || tag == 0xc3) return (item){.kind = ITEM_BOOL, .value = tag & 1u};
  if (tag >= 0xc4 && tag <= 0xc6)
    return text_item(c, ITEM_OTHER, take_bytes(c, 1u << (tag - 0xc4)));
  if (tag == 0xca || tag == 0xcb) return text_item(c, ITEM_OTHER, tag == 0xca ? 4 : 8);
  if (tag >= 0xcc && tag <= 0xcf)
    return (item){.kind = ITEM_UINT, .value = take_bytes(c, 1u << (tag - 0xcc))};
  if (tag >= 0xd0 && tag <= 0xd3) return text_item(c, ITEM_OTHER, 1u << (tag - 0xd0));
  if (tag >= 0xd9 && tag <= 0xdb) return text_item(c, ITEM_TEXT, take_bytes(c, 1u << (tag - 0xd9)));
  if (tag == 0xdc || tag == 0xdd)
    return (item){.kind = ITEM_ARRAY, .value = take_bytes(c, tag == 0xdc ? 2 : 4)};
  if (tag == 0xde || tag == 0xdf)
    return (item){.kind = ITEM_MAP, .value = take_bytes(c, tag == 0xde ? 2 : 4)};
  if (tag != 0xc0 && tag < 0xe0) c->failed = true; /* extensions: the note has none */
  return (item){.kind = ITEM_OTHER};
}

/* Goes over what `head` contains. */
static void skip_inside(cursor *c, item head, unsigned depth) {
  uint64_t count = head.kind == ITEM_MAP     ? 2 * head.value
                   : head.kind == ITEM_ARRAY ? head.value
                                             : 0;
  if (count && depth == MAX_DEPTH) c->failed = true;
  for (uint64_t i = 0; i < count && !c->failed; i++) skip_inside(c, take_item(c), depth + 1);
}

static bool is_text(item i, const char *text) {
  return i.kind == ITEM_TEXT && i.text.len == strlen(text) && !memcmp(i.text.at, text, i.text.len);
}

/* ---- kernels ----------------------------------------------------------------------------- */

static const struct {
  const char *key;
  size_t offset;
} fields[] = {
    {".vgpr_count", offsetof(roc_hsaco_kernel, vgprs)},
    {".agpr_count", offsetof(roc_hsaco_kernel, agprs)},
    {".sgpr_count", offsetof(roc_hsaco_kernel, sgprs)},
    {".vgpr_spill_count", offsetof(roc_hsaco_kernel, vgpr_spills)},
    {".sgpr_spill_count", offsetof(roc_hsaco_kernel, sgpr_spills)},
    {".group_segment_fixed_size", offsetof(roc_hsaco_kernel, shared_bytes)},
    {".private_segment_fixed_size", offsetof(roc_hsaco_kernel, private_bytes)},
    {".kernarg_segment_size", offsetof(roc_hsaco_kernel, kernarg_bytes)},
    {".max_flat_workgroup_size", offsetof(roc_hsaco_kernel, max_workgroup)},
    {".wavefront_size", offsetof(roc_hsaco_kernel, wave_size)},
    {".uses_dynamic_stack", offsetof(roc_hsaco_kernel, has_dynamic_stack)},
};

static void note_field(roc_hsaco_kernel *kernel, item key, item value) {
  if (value.kind != ITEM_UINT && value.kind != ITEM_BOOL) return;
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    if (!is_text(key, fields[i].key)) continue;
    uint32_t *field = (uint32_t *)(void *)((char *)kernel + fields[i].offset);
    *field = value.value > UINT32_MAX ? UINT32_MAX : (uint32_t)value.value;
  }
}

/* One kernel's map; true when it is the one with the descriptor `entry`.kd. */
static bool read_kernel(cursor *c, const char *entry, roc_hsaco_kernel *out) {
  *out = (roc_hsaco_kernel){0};
  item map = take_item(c);
  bool is_it = false;
  if (map.kind != ITEM_MAP) c->failed = true;
  for (uint64_t i = 0; i < map.value && !c->failed; i++) {
    item key = take_item(c), value = take_item(c);
    note_field(out, key, value);
    size_t len = strlen(entry);
    is_it |= is_text(key, ".symbol") && value.kind == ITEM_TEXT && value.text.len == len + 3 &&
             !memcmp(value.text.at, entry, len) && !memcmp(value.text.at + len, ".kd", 3);
    skip_inside(c, value, 0);
  }
  return is_it && !c->failed;
}

static bool find_kernel(cursor *c, const char *entry, roc_hsaco_kernel *out) {
  item root = take_item(c);
  if (root.kind != ITEM_MAP) return false;
  for (uint64_t i = 0; i < root.value && !c->failed; i++) {
    item key = take_item(c), value = take_item(c);
    if (!is_text(key, "amdhsa.kernels") || value.kind != ITEM_ARRAY) {
      skip_inside(c, value, 0);
      continue;
    }
    for (uint64_t k = 0; k < value.value && !c->failed; k++) {
      if (read_kernel(c, entry, out)) return true;
    }
  }
  return false;
}

roc_status roc_hsaco_read_kernel(const void *bytes, size_t nbytes, const char *entry,
                                 roc_hsaco_kernel *out, roc_error *err) {
  cursor c = {0};
  if (!find_metadata((span){bytes, nbytes}, &c.rest)) {
    return roc_fail(err, ROC_INVALID, "not an AMD GPU code object with metadata");
  }
  if (!find_kernel(&c, entry, out)) {
    return roc_fail(err, ROC_INVALID, "the code object has no kernel '%s'", entry);
  }
  return ROC_OK;
}
