/* See amdgpu_hsaco.h. */
#include "base/amdgpu_hsaco.h"

#include <string.h>

#include "base/amdgpu_note.h"

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

static void note_field(roc_hsaco_kernel *kernel, roc_note_item key, roc_note_item value) {
  if (value.kind != ROC_NOTE_UINT && value.kind != ROC_NOTE_BOOL) return;
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    if (!roc_note_is_text(key, fields[i].key)) continue;
    uint32_t *field = (uint32_t *)(void *)((char *)kernel + fields[i].offset);
    *field = value.value > UINT32_MAX ? UINT32_MAX : (uint32_t)value.value;
  }
}

/* One kernel's map; true when it is the one with the descriptor `entry`.kd. */
static bool read_kernel(roc_note_cursor *c, const char *entry, roc_hsaco_kernel *out) {
  *out = (roc_hsaco_kernel){0};
  roc_note_item map = roc_note_take(c);
  bool is_it = false;
  if (map.kind != ROC_NOTE_MAP) c->failed = true;
  for (uint64_t i = 0; i < map.value && !c->failed; i++) {
    roc_note_item key = roc_note_take(c), value = roc_note_take(c);
    note_field(out, key, value);
    size_t len = strlen(entry);
    is_it |= roc_note_is_text(key, ".symbol") && value.kind == ROC_NOTE_TEXT &&
             value.text.len == len + 3 && !memcmp(value.text.at, entry, len) &&
             !memcmp(value.text.at + len, ".kd", 3);
    roc_note_skip(c, value);
  }
  return is_it && !c->failed;
}

static bool find_kernel(roc_note_cursor *c, const char *entry, roc_hsaco_kernel *out) {
  roc_note_item root = roc_note_take(c);
  if (root.kind != ROC_NOTE_MAP) return false;
  for (uint64_t i = 0; i < root.value && !c->failed; i++) {
    roc_note_item key = roc_note_take(c), value = roc_note_take(c);
    if (!roc_note_is_text(key, "amdhsa.kernels") || value.kind != ROC_NOTE_ARRAY) {
      roc_note_skip(c, value);
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
  roc_note_cursor c = {0};
  if (!roc_note_find((roc_note_span){bytes, nbytes}, &c.rest)) {
    return roc_fail(err, ROC_INVALID, "not an AMD GPU code object with metadata");
  }
  if (!find_kernel(&c, entry, out)) {
    return roc_fail(err, ROC_INVALID, "the code object has no kernel '%s'", entry);
  }
  return ROC_OK;
}
