/* The kernels of a code object of another compiler, from its metadata note; see amdgpu_module.h. */
#include "base/amdgpu_module.h"

#include <stdio.h>
#include <string.h>

#include "base/amdgpu_hsaco.h"
#include "base/amdgpu_note.h"

static const struct {
  const char *name;
  roc_module_kind kind;
  uint32_t dim;
} kinds[] = {
#define MODULE_ARG(name, kind, dim) {name, ROC_MODULE_##kind, dim},
#define MODULE_LACKS(name, what)
#define MODULE_TYPE(name, dtype)
#include "base/amdgpu_module.def"
#undef MODULE_ARG
#undef MODULE_LACKS
#undef MODULE_TYPE
};

static const struct {
  const char *name, *what;
} lacks[] = {
#define MODULE_ARG(name, kind, dim)
#define MODULE_LACKS(name, what) {name, what},
#define MODULE_TYPE(name, dtype)
#include "base/amdgpu_module.def"
#undef MODULE_ARG
#undef MODULE_LACKS
#undef MODULE_TYPE
};

static const struct {
  const char *name;
  roc_dtype dtype;
} types[] = {
#define MODULE_ARG(name, kind, dim)
#define MODULE_LACKS(name, what)
#define MODULE_TYPE(name, dtype) {name, ROC_DT_##dtype},
#include "base/amdgpu_module.def"
#undef MODULE_ARG
#undef MODULE_LACKS
#undef MODULE_TYPE
};

enum {
  COUNT_OF_KINDS = sizeof kinds / sizeof *kinds,
  COUNT_OF_LACKS = sizeof lacks / sizeof *lacks
};

typedef struct reader {
  roc_note_cursor c;
  roc_arena *arena;
  roc_module_kernel *kernels;
} reader;

static const char *copy_text(reader *r, roc_note_item i) {
  return i.kind == ROC_NOTE_TEXT ? roc_arena_strndup(r->arena, (const char *)i.text.at, i.text.len)
                                 : NULL;
}

/* ---- arguments ----------------------------------------------------------- */

/* What is read of an argument before its kind is known. */
typedef struct raw_arg {
  roc_module_arg arg;
  roc_note_item kind, type;
  bool is_hidden;
} raw_arg;

static uint32_t to_u32(roc_note_item i) {
  return i.value > UINT32_MAX ? UINT32_MAX : (uint32_t)i.value;
}

static void read_arg_field(reader *r, raw_arg *raw, roc_note_item key, roc_note_item value) {
  bool is_text = value.kind == ROC_NOTE_TEXT;
  if (roc_note_is_text(key, ".value_kind")) raw->kind = value;
  if (roc_note_is_text(key, ".type_name") && is_text) raw->type = value;
  if (roc_note_is_text(key, ".name")) raw->arg.name = copy_text(r, value);
  if (roc_note_is_text(key, ".offset")) raw->arg.offset = to_u32(value);
  if (roc_note_is_text(key, ".size")) raw->arg.size = to_u32(value);
  if (roc_note_is_text(key, ".pointee_align")) raw->arg.align = to_u32(value);
  if (roc_note_is_text(key, ".is_const")) raw->arg.is_const |= value.value != 0;
  if (roc_note_is_text(key, ".access") || roc_note_is_text(key, ".actual_access")) {
    raw->arg.is_const |= is_text && roc_note_is_text(value, "read_only");
  }
}

static void note_type(raw_arg *raw) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    if (!roc_note_is_text(raw->type, types[i].name)) continue;
    raw->arg.dtype = types[i].dtype;
    raw->arg.has_dtype = raw->arg.size == roc_dtype_itemsize(types[i].dtype);
  }
}

static raw_arg read_arg(reader *r) {
  raw_arg raw = {.arg = {.align = 1}};
  roc_note_item map = roc_note_take(&r->c);
  if (map.kind != ROC_NOTE_MAP) r->c.failed = true;
  for (uint64_t i = 0; i < map.value && !r->c.failed; i++) {
    roc_note_item key = roc_note_take(&r->c), value = roc_note_take(&r->c);
    read_arg_field(r, &raw, key, value);
    roc_note_skip(&r->c, value);
  }
  static const char hidden[] = "hidden_";
  raw.is_hidden = raw.kind.text.len >= sizeof hidden - 1 &&
                  memcmp(raw.kind.text.at, hidden, sizeof hidden - 1) == 0;
  note_type(&raw);
  return raw;
}

/* Adds the text to what the kernel lacks, unless it is there. */
static void add_lack(reader *r, roc_module_kernel *k, const char *what) {
  if (!what) return;
  if (!k->refused) {
    k->refused = what;
  } else if (!strstr(k->refused, what)) {
    const char *more = roc_arena_printf(r->arena, "%s, %s", k->refused, what);
    if (more) k->refused = more;
  }
}

/* The kind of the argument; false: one that no launch can pass. */
static bool find_kind(reader *r, const raw_arg *raw, roc_module_kernel *k, roc_module_arg *out) {
  *out = raw->arg;
  for (int i = 0; i < COUNT_OF_KINDS; i++) {
    if (!roc_note_is_text(raw->kind, kinds[i].name)) continue;
    out->kind = kinds[i].kind;
    out->dim = kinds[i].dim;
    return true;
  }
  for (int i = 0; i < COUNT_OF_LACKS; i++) {
    if (!roc_note_is_text(raw->kind, lacks[i].name)) continue;
    add_lack(r, k, lacks[i].what);
    return false;
  }
  const char *name = copy_text(r, raw->kind);
  add_lack(r, k,
           name ? roc_arena_printf(r->arena, "an argument of kind '%s'", name)
                : "an argument without kind");
  return false;
}

/* Hidden arguments come after the others.  The count is bounded by the bytes that are left. */
static void read_args(reader *r, roc_module_kernel *k, roc_note_item list) {
  if (list.kind != ROC_NOTE_ARRAY || list.value > r->c.rest.len) {
    r->c.failed = true;
    return;
  }
  roc_module_arg *args = ROC_ARENA_ARRAY(r->arena, roc_module_arg, list.value + 1);
  for (uint64_t i = 0; args && i < list.value && !r->c.failed; i++) {
    raw_arg raw = read_arg(r);
    if (r->c.failed || !find_kind(r, &raw, k, &args[k->nargs + k->nhidden])) continue;
    if (raw.is_hidden) {
      k->nhidden++;
    } else {
      if (k->nhidden > 0) r->c.failed = true;
      k->nargs++;
    }
  }
  k->args = args;
}

/* ---- kernels ------------------------------------------------------------- */

static void read_exact_workgroup(reader *r, roc_module_kernel *k, roc_note_item list) {
  for (uint64_t d = 0; d < list.value && !r->c.failed; d++) {
    roc_note_item size = roc_note_take(&r->c);
    if (d < 3) k->exact_workgroup[d] = to_u32(size);
    roc_note_skip(&r->c, size);
  }
}

static void read_kernel(reader *r, roc_module_kernel *k) {
  const char *symbol = NULL;
  roc_note_item map = roc_note_take(&r->c);
  if (map.kind != ROC_NOTE_MAP) r->c.failed = true;
  for (uint64_t i = 0; i < map.value && !r->c.failed; i++) {
    roc_note_item key = roc_note_take(&r->c), value = roc_note_take(&r->c);
    if (roc_note_is_text(key, ".args")) {
      read_args(r, k, value);
      continue;
    }
    if (roc_note_is_text(key, ".reqd_workgroup_size") && value.kind == ROC_NOTE_ARRAY) {
      read_exact_workgroup(r, k, value);
      continue;
    }
    if (roc_note_is_text(key, ".name")) k->name = copy_text(r, value);
    if (roc_note_is_text(key, ".symbol")) symbol = copy_text(r, value);
    if (roc_note_is_text(key, ".uniform_work_group_size")) k->takes_whole_groups = value.value != 0;
    roc_note_skip(&r->c, value);
  }
  size_t len = symbol ? strlen(symbol) : 0;
  if (len < 4 || strcmp(symbol + len - 3, ".kd") != 0) {
    r->c.failed = true;
    return;
  }
  k->entry = roc_arena_strndup(r->arena, symbol, len - 3);
  if (!k->name) k->name = k->entry;
}

/* Whether every argument lies in the block. */
static bool has_sound_args(const roc_module_kernel *k) {
  for (uint32_t i = 0; i < k->nargs + k->nhidden; i++) {
    const roc_module_arg *a = &k->args[i];
    if (a->offset > k->kernarg_bytes || a->size > k->kernarg_bytes - a->offset) return false;
    if (a->kind == ROC_MODULE_POINTER && a->size != 8) return false;
    if (a->kind == ROC_MODULE_SHARED &&
        (a->size != 4 || !a->align || (a->align & (a->align - 1)))) {
      return false;
    }
    if (a->kind > ROC_MODULE_SHARED && a->size > 8) return false;
  }
  return true;
}

static roc_status read_numbers(reader *r, const roc_module *module, roc_module_kernel *k,
                               roc_error *err) {
  roc_hsaco_kernel numbers;
  ROC_TRY(roc_hsaco_read_kernel(module->bytes, module->nbytes, k->entry, &numbers, err));
  k->kernarg_bytes = numbers.kernarg_bytes;
  k->shared_bytes = numbers.shared_bytes;
  k->max_workgroup = numbers.max_workgroup;
  if (numbers.has_dynamic_stack) add_lack(r, k, "a stack of unknown size (recursion)");
  if (has_sound_args(k)) return ROC_OK;
  return roc_fail(err, ROC_INVALID, "the metadata of kernel '%s' is damaged", k->name);
}

static void read_list(reader *r, roc_module *module, roc_note_item list) {
  if (list.kind != ROC_NOTE_ARRAY || list.value > r->c.rest.len) {
    r->c.failed = true;
    return;
  }
  roc_module_kernel *kernels = ROC_ARENA_ARRAY(r->arena, roc_module_kernel, list.value + 1);
  for (uint64_t i = 0; kernels && i < list.value && !r->c.failed; i++) read_kernel(r, &kernels[i]);
  module->kernels = r->kernels = kernels;
  module->nkernels = kernels ? (uint32_t)list.value : 0;
}

/* ---- files --------------------------------------------------------------- */

/* The processor in "amdgcn-amd-amdhsa--gfx90a:xnack+" or "gfx90a:xnack+"; its length comes out. */
static const char *find_processor(const char *target, size_t *out_len) {
  const char *at = strstr(target, "--");
  at = at ? at + 2 : target;
  *out_len = strcspn(at, ":");
  return at;
}

static bool is_for(const char *target, const char *device) {
  size_t len, device_len;
  const char *processor = find_processor(target, &len);
  device = find_processor(device, &device_len);
  bool is_generic = len > 8 && memcmp(processor + len - 8, "-generic", 8) == 0;
  return is_generic || (len == device_len && memcmp(processor, device, len) == 0);
}

static roc_status read_object(roc_module *module, roc_error *err) {
  reader r = {.arena = &module->arena};
  const char *target = NULL;
  if (!roc_note_find((roc_note_span){module->bytes, module->nbytes}, &r.c.rest)) {
    return roc_fail(err, ROC_INVALID, "not an AMD GPU code object with metadata");
  }
  roc_note_item root = roc_note_take(&r.c);
  if (root.kind != ROC_NOTE_MAP) r.c.failed = true;
  for (uint64_t i = 0; i < root.value && !r.c.failed; i++) {
    roc_note_item key = roc_note_take(&r.c), value = roc_note_take(&r.c);
    if (roc_note_is_text(key, "amdhsa.kernels")) {
      read_list(&r, module, value);
      continue;
    }
    if (roc_note_is_text(key, "amdhsa.target")) target = copy_text(&r, value);
    roc_note_skip(&r.c, value);
  }
  if (module->arena.failed) return ROC_OK; /* the caller tells */
  if (r.c.failed) return roc_fail(err, ROC_INVALID, "the code object's metadata is damaged");
  if (target && !is_for(target, module->target)) {
    return roc_fail(err, ROC_INVALID, "the code object is for '%s', the device is '%s'", target,
                    module->target);
  }
  if (module->nkernels == 0) return roc_fail(err, ROC_INVALID, "the code object has no kernels");
  for (uint32_t i = 0; i < module->nkernels; i++) {
    ROC_TRY(read_numbers(&r, module, &r.kernels[i], err));
  }
  return ROC_OK;
}

static const char bundle_magic[] = "__CLANG_OFFLOAD_BUNDLE__";

static bool begins_with(const roc_module *module, const char *magic) {
  size_t len = strlen(magic);
  return module->nbytes >= len && memcmp(module->bytes, magic, len) == 0;
}

/* The next number of a bundle's head; false: the file is too short. */
static bool take_u64(const roc_module *module, size_t *at, uint64_t *out) {
  if (module->nbytes - *at < sizeof *out) return false;
  memcpy(out, module->bytes + *at, sizeof *out);
  *at += sizeof *out;
  return true;
}

/* Makes the bundle's part for the device the module's bytes. */
static roc_status unbundle(roc_module *module, roc_error *err) {
  size_t at = sizeof bundle_magic - 1;
  uint64_t count, offset, nbytes, len;
  char names[512] = "";
  if (!take_u64(module, &at, &count)) count = 0;
  for (uint64_t i = 0; i < count; i++) {
    bool is_whole = take_u64(module, &at, &offset) && take_u64(module, &at, &nbytes) &&
                    take_u64(module, &at, &len) && len <= module->nbytes - at &&
                    offset <= module->nbytes && nbytes <= module->nbytes - offset;
    if (!is_whole) return roc_fail(err, ROC_INVALID, "the bundle of code objects is damaged");
    const char *id = roc_arena_strndup(&module->arena, (const char *)module->bytes + at, len);
    at += len;
    if (id && nbytes > 0 && is_for(id, module->target)) {
      module->bytes += offset;
      module->nbytes = nbytes;
      return ROC_OK;
    }
    size_t used = strlen(names);
    if (id && nbytes > 0) snprintf(names + used, sizeof names - used, used ? ", %s" : "%s", id);
  }
  return roc_fail(err, ROC_INVALID, "the bundle has no code object for '%s'; it has: %s",
                  module->target, names);
}

roc_status roc_amdgpu_read_module(roc_module *module, roc_error *err) {
  if (begins_with(module, "CCOB")) {
    return roc_fail(err, ROC_UNSUPPORTED,
                    "the bundle of code objects is compressed: make it with "
                    "--no-offload-compress");
  }
  if (begins_with(module, bundle_magic)) ROC_TRY(unbundle(module, err));
  return read_object(module, err);
}
