/* "ROCK", format, checksum, then for each kernel its name, signature and code objects; see ahead.h. */
#include "jit/ahead.h"

#include <string.h>

#include "base/alloc.h"
#include "base/pack.h"
#include "jit/driver.h"
#include "jit/fit.h"

enum { FORMAT = 1 };
static const char magic[ROC_PACK_MAGIC_BYTES] = {'R', 'O', 'C', 'K'};

/* ---- writing ---- */

size_t roc_jit_ahead_begin(roc_str *out, uint32_t nkernels) {
  size_t begin = roc_pack_begin(out, magic, FORMAT);
  roc_pack_u32(out, nkernels);
  return begin;
}

void roc_jit_ahead_add(roc_str *out, const char *name, const roc_jit_kernel *kernel,
                       const roc_arg_type *signature, const roc_jit_ahead_object *objects,
                       uint32_t nobjects) {
  roc_pack_text(out, name);
  roc_pack_u32(out, kernel->nparams);
  for (uint32_t i = 0; i < kernel->nparams; i++) {
    const roc_arg_type *t = &signature[i];
    const uint32_t fields[] = {t->value, t->dtype, t->rank, t->layout};
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) roc_pack_u32(out, fields[f]);
  }
  for (int d = 0; d < 3; d++) roc_pack_u32(out, kernel->options.workgroup[d]);
  roc_pack_u32(out, nobjects);
  roc_str bytes = ROC_STR_INIT;
  for (uint32_t i = 0; i < nobjects; i++) {
    roc_str_clear(&bytes);
    roc_codeobj_write(objects[i].object, &bytes);
    out->failed |= bytes.failed;
    roc_pack_text(out, objects[i].object->target);
    roc_pack_text(out, objects[i].host);
    roc_pack_bytes(out, roc_str_text(&bytes), bytes.len);
  }
  roc_str_deinit(&bytes);
}

void roc_jit_ahead_end(roc_str *out, size_t begin) {
  roc_pack_end(out, begin);
}

/* ---- reading ---- */

typedef struct reader {
  roc_unpacker in;
  roc_jit_ahead *ahead; /* its memory, and what is read */
} reader;

static const roc_arg_type *take_signature(reader *r, uint32_t count) {
  roc_arg_type *types = ROC_ARENA_ARRAY(r->in.arena, roc_arg_type, count + 1);
  for (uint32_t i = 0; types && i < count; i++) {
    types[i].value = (uint8_t)roc_unpack_u32(&r->in);
    types[i].dtype = (uint8_t)roc_unpack_u32(&r->in);
    types[i].rank = (uint8_t)roc_unpack_u32(&r->in);
    types[i].layout = (uint8_t)roc_unpack_u32(&r->in);
    if (types[i].dtype >= ROC_DT_COUNT_ || types[i].rank > ROC_MAX_RANK) r->in.failed = true;
  }
  return types;
}

static void take_entry(reader *r, roc_jit_ahead_entry *entry) {
  entry->target = roc_unpack_text(&r->in);
  entry->host = roc_unpack_text(&r->in);
  entry->bytes = roc_unpack_bytes(&r->in, &entry->nbytes);
  r->in.failed |= !entry->target;
}

static void take_kernel(reader *r) {
  roc_jit_ahead *a = r->ahead;
  a->name = roc_unpack_text(&r->in);
  a->nparams = roc_unpack_count(&r->in);
  a->signature = take_signature(r, a->nparams);
  for (int d = 0; d < 3; d++) a->workgroup[d] = roc_unpack_u32(&r->in);
  a->nentries = roc_unpack_count(&r->in);
  roc_jit_ahead_entry *entries = ROC_ARENA_ARRAY(r->in.arena, roc_jit_ahead_entry, a->nentries + 1);
  for (uint32_t i = 0; entries && i < a->nentries; i++) take_entry(r, &entries[i]);
  a->entries = entries;
  r->in.failed |= !a->name;
}

/* The types of the parameters, of which the code tells. */
static roc_status take_slots(roc_jit_ahead *a, roc_jit_ahead_entry *entry, roc_error *err) {
  roc_codeobj *object;
  ROC_TRY(roc_codeobj_read(entry->bytes, entry->nbytes, &object, err));
  bool is_right = object->nargs == a->nparams;
  roc_arg_slot *slots = ROC_ARENA_ARRAY(&a->arena, roc_arg_slot, a->nparams + 1);
  if (is_right && slots) memcpy(slots, object->args, a->nparams * sizeof *slots);
  object->free(object);
  entry->args = slots;
  if (!is_right) return roc_fail(err, ROC_INVALID, "damaged code object");
  return slots ? ROC_OK : roc_fail(err, ROC_OOM, "out of memory for a kernel");
}

static roc_status fail_name(const char *name, const roc_str *names, uint32_t count,
                            roc_error *err) {
  if (!name) {
    return roc_fail(err, ROC_INVALID, "the file has %u kernels, name one of them: %s", count,
                    roc_str_text(names));
  }
  return roc_fail(err, ROC_INVALID, "the file has no kernel '%s'; it has %s", name,
                  count ? roc_str_text(names) : "none");
}

/* Reads kernel after kernel until the one that is meant. */
static roc_status find(reader *r, const char *name, roc_error *err) {
  roc_str names = ROC_STR_INIT;
  bool is_found = false;
  uint32_t count = roc_unpack_count(&r->in);
  for (uint32_t i = 0; i < count && !r->in.failed && !is_found; i++) {
    take_kernel(r);
    if (r->in.failed || r->in.arena->failed) break;
    is_found = name ? strcmp(r->ahead->name, name) == 0 : count == 1;
    roc_str_printf(&names, "%s'%s'", i ? ", " : "", r->ahead->name);
  }
  roc_status status = ROC_OK;
  if (r->in.arena->failed) {
    status = roc_fail(err, ROC_OOM, "out of memory for a kernel");
  } else if (r->in.failed) {
    status = roc_fail(err, ROC_INVALID, "damaged file of kernels");
  } else if (!is_found) {
    status = fail_name(name, &names, count, err);
  }
  roc_str_deinit(&names);
  for (uint32_t i = 0; status == ROC_OK && i < r->ahead->nentries; i++) {
    status = take_slots(r->ahead, (roc_jit_ahead_entry *)&r->ahead->entries[i], err);
  }
  return status;
}

static roc_status read_copy(roc_jit_ahead *a, size_t nbytes, const char *name, roc_error *err) {
  reader r = {.ahead = a};
  if (!roc_unpack_begin(&r.in, a->file, nbytes, magic, FORMAT, &a->arena)) {
    return roc_fail(err, ROC_INVALID, "not a whole file of kernels of this version of roclua");
  }
  return find(&r, name, err);
}

roc_status roc_jit_ahead_read(const void *bytes, size_t nbytes, const char *name,
                              roc_jit_ahead **out, roc_error *err) {
  roc_jit_ahead *a = roc_zalloc(sizeof *a);
  unsigned char *copy = roc_alloc(nbytes + 1);
  if (!a || !copy) {
    roc_free(a);
    roc_free(copy);
    return roc_fail(err, ROC_OOM, "out of memory for a kernel");
  }
  memcpy(copy, bytes, nbytes);
  a->file = copy;
  roc_arena_init(&a->arena, 0);
  roc_status status = read_copy(a, nbytes, name, err);
  if (status == ROC_OK) {
    *out = a;
  } else {
    roc_jit_ahead_free(a);
  }
  return status;
}

void roc_jit_ahead_free(roc_jit_ahead *ahead) {
  if (!ahead) return;
  roc_arena_deinit(&ahead->arena);
  roc_free(ahead->file);
  roc_free(ahead);
}

/* ---- using ---- */

/* Of a scalar, the type that inference has decided on: a plain number may have become a float32. */
static bool fits_scalar(const roc_arg_type *own, const roc_arg_type *cls) {
  return own->value == cls->value || (cls->is_plain && own->value == ROC_VT_F32);
}

static bool fits(const roc_arg_type *own, const roc_arg_type *cls) {
  if (own->rank != cls->rank) return false;
  if (own->is_narrow && !cls->is_narrow) return false;
  if (own->rank == 0) return fits_scalar(own, cls);
  return own->dtype == cls->dtype &&
         (own->layout == ROC_LAYOUT_STRIDED || own->layout == cls->layout) &&
         own->is_alias >= cls->is_alias && own->is_host_memory >= cls->is_host_memory;
}

bool roc_jit_ahead_fits(const roc_arg_slot *args, const roc_arg_type *classes, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (!fits(&args[i].type, &classes[i])) return false;
  }
  return true;
}

bool roc_jit_ahead_serves(const roc_jit_ahead_entry *entry, roc_rt_device *device) {
  const char *arch = roc_rt_device_driver(device)->props.arch;
  if (strcmp(entry->target, arch) == 0) return true;
  const roc_target_facts *facts = roc_target_facts_of(entry->target);
  return facts && facts->serves && facts == roc_target_facts_of(arch) &&
         facts->serves(entry->target, arch);
}

/* Code for the processor of the machine that compiled it. */
static roc_status check_host(const roc_jit_ahead *a, const roc_jit_ahead_entry *entry,
                             roc_error *err) {
  roc_cg_options options = roc_jit_options_for(entry->target, -1);
  char own[ROC_CG_FINGERPRINT_BYTES];
  ROC_TRY(roc_jit_fingerprint(&options, own, err));
  if (strcmp(own, entry->host) == 0) return ROC_OK;
  return roc_fail(err, ROC_UNSUPPORTED,
                  "kernel '%s' was compiled for '%s' on another machine, or by another build of "
                  "roclua: compile it for a named processor, such as cpu:x86-64-v3",
                  a->name, entry->target);
}

static roc_status check_prints(const roc_jit_ahead *a, const roc_codeobj *object,
                               roc_rt_device *device, roc_error *err) {
  const roc_device_props *props = &roc_rt_device_driver(device)->props;
  if (!object->has_print || !props->lacks_host_atomics) return ROC_OK;
  return roc_fail(err, ROC_UNSUPPORTED,
                  "kernel '%s' calls print, which takes atomic operations on the host's memory: "
                  "the link of device '%s' to it carries none (PCIe atomics are missing)",
                  a->name, props->name);
}

roc_status roc_jit_ahead_load(const roc_jit_ahead *ahead, const roc_jit_ahead_entry *entry,
                              roc_rt_device *device, roc_jit_spec **out_spec, roc_error *err) {
  const roc_target_facts *facts = roc_target_facts_of(entry->target);
  if (facts && facts->is_loaded_by_compiler) ROC_TRY(roc_jit_open(err));
  if (entry->host) ROC_TRY(check_host(ahead, entry, err));
  roc_codeobj *object;
  ROC_TRY(roc_codeobj_read(entry->bytes, entry->nbytes, &object, err));
  roc_status status = check_prints(ahead, object, device, err);
  if (status == ROC_OK) {
    status =
        roc_jit_spec_load(device, object, ahead->name, ahead->workgroup[0], NULL, 0, out_spec, err);
  }
  if (status != ROC_OK) object->free(object);
  return status;
}
