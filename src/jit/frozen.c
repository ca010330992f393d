/* See frozen.h.
 *
 * Launches and the threads that replace something meet in two atomics: a launch counts itself in
 * `readers` before it loads a pointer; what has been replaced is freed only after `readers` was
 * seen at 0, so by then no launch has the old pointer.  A launch that has to take the lock holds no
 * such pointer, and is not counted then. */
#include "jit/frozen.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "jit/configure.h"
#include "runtime/mirror.h"
#include "runtime/registration.h"

/* What launches read of the captured scalars, and of what is known of the kernel. */
typedef struct snapshot {
  uint32_t nhidden, key_bytes;
  const roc_jit_value *hidden;
  const unsigned char *key;  /* the scalars' part of a specialisation's */
  const uint8_t *is_written; /* of parameters and captured arrays: by some specialisation */
} snapshot;

/* The captured arrays on one device. */
typedef struct placement {
  struct placement *next; /* append-only */
  roc_rt_device *device;
  roc_array arrays[]; /* copies of constants; a zeroed one: the captured array itself */
} placement;

typedef struct retired {
  struct retired *next;
  snapshot *old;
  roc_jit_spec *spec;
} retired;

struct roc_jit_frozen {
  _Atomic uint32_t refs;
  const char *name;
  roc_fe_options options;          /* the name and the promise, where the kernel is of a file */
  uint32_t nparams, narrays, most; /* most: values of a launch */
  roc_arg_type *signature;         /* or NULL */
  roc_array *captured;             /* owned */
  _Atomic uint32_t readers;
  _Atomic(snapshot *) now;
  _Atomic(roc_jit_spec *) specs[ROC_JIT_MAX_SPECS], last;
  _Atomic(placement *) placements;
  pthread_mutex_t lock;   /* guards the rest, and every change of the above */
  roc_jit_kernel *kernel; /* NULL: the code is that of `ahead` */
  roc_jit_ahead *ahead;
  uint32_t next_spec; /* where the next one goes: the oldest makes room */
  retired *retired;
};

/* ---- making and freeing ---- */

static roc_status fail_memory(const roc_jit_frozen *f, roc_error *err) {
  return roc_fail(err, ROC_OOM, "out of memory in a launch of kernel '%s'", f->name);
}

/* Of code that is there: what some of it writes. */
static void note_written(const roc_jit_ahead *a, uint8_t *is_written) {
  memset(is_written, 0, a->nparams);
  for (uint32_t i = 0; i < a->nentries; i++) {
    for (uint32_t p = 0; p < a->nparams; p++) is_written[p] |= a->entries[i].args[p].is_written;
  }
}

static snapshot *take_snapshot(const roc_jit_frozen *f) {
  uint32_t nscalars = f->most - f->nparams - f->narrays, narrays = f->nparams + f->narrays;
  size_t values_bytes = nscalars * sizeof(roc_jit_value);
  snapshot *made = roc_alloc(sizeof *made + values_bytes + narrays + 9 * (size_t)nscalars);
  if (!made) return NULL;
  roc_jit_value *hidden = (roc_jit_value *)(made + 1);
  uint8_t *is_written = (uint8_t *)(hidden + nscalars);
  unsigned char *key = is_written + narrays;
  *made = (snapshot){.hidden = hidden, .key = key, .is_written = is_written};
  if (f->ahead) {
    note_written(f->ahead, is_written);
    return made;
  }
  memcpy(is_written, f->kernel->written, narrays);
  made->nhidden = roc_jit_kernel_hidden(f->kernel, hidden);
  made->key_bytes = roc_jit_kernel_scalar_key(f->kernel, key);
  return made;
}

static void free_retired(roc_jit_frozen *f) {
  while (f->retired) {
    retired *r = f->retired;
    f->retired = r->next;
    roc_free(r->old);
    roc_jit_spec_free(r->spec);
    roc_free(r);
  }
}

static void free_frozen(roc_jit_frozen *f) {
  free_retired(f);
  roc_free(atomic_load(&f->now));
  for (uint32_t i = 0; i < ROC_JIT_MAX_SPECS; i++) roc_jit_spec_free(atomic_load(&f->specs[i]));
  for (placement *p = atomic_load(&f->placements), *next; p; p = next) {
    next = p->next;
    for (uint32_t i = 0; i < f->narrays; i++) roc_array_release(&p->arrays[i]);
    roc_free(p);
  }
  for (uint32_t i = 0; f->captured && i < f->narrays; i++) roc_array_release(&f->captured[i]);
  roc_jit_kernel_free(f->kernel);
  roc_jit_ahead_free(f->ahead);
  roc_free(f->captured);
  roc_free(f->signature);
  pthread_mutex_destroy(&f->lock);
  roc_free(f);
}

static bool keep_signature(roc_jit_frozen *f, const roc_arg_type *signature) {
  if (!signature) return true;
  size_t nbytes = f->nparams * sizeof *signature;
  f->signature = roc_alloc(nbytes + 1);
  if (f->signature) memcpy(f->signature, signature, nbytes);
  return f->signature != NULL;
}

static bool keep_captured(roc_jit_frozen *f) {
  roc_jit_program *p = f->kernel->program;
  f->captured = roc_zalloc((f->narrays + 1) * sizeof *f->captured);
  if (!f->captured) return false;
  for (uint32_t i = 0; i < f->narrays; i++) {
    f->captured[i] = *p->arrays[i].value.array;
    roc_buffer_retain(f->captured[i].buffer);
    roc_buffer_share(f->captured[i].buffer); /* any thread may launch it */
    p->arrays[i].value.array = &f->captured[i];
  }
  return true;
}

roc_jit_frozen *roc_jit_freeze(roc_jit_kernel *kernel, const roc_arg_type *signature) {
  roc_jit_frozen *f = roc_zalloc(sizeof *f);
  if (!f) {
    roc_jit_kernel_free(kernel);
    return NULL;
  }
  atomic_init(&f->refs, 1);
  pthread_mutex_init(&f->lock, NULL);
  f->kernel = kernel;
  f->name = kernel->name;
  f->options = kernel->options;
  f->nparams = kernel->nparams;
  f->narrays = kernel->program->narrays;
  f->most = f->nparams + f->narrays + kernel->program->nscalars;
  if (keep_signature(f, signature) && keep_captured(f)) atomic_init(&f->now, take_snapshot(f));
  if (atomic_load(&f->now)) return f;
  free_frozen(f);
  return NULL;
}

roc_jit_frozen *roc_jit_freeze_ahead(roc_jit_ahead *ahead) {
  roc_jit_frozen *f = roc_zalloc(sizeof *f);
  if (!f) {
    roc_jit_ahead_free(ahead);
    return NULL;
  }
  atomic_init(&f->refs, 1);
  pthread_mutex_init(&f->lock, NULL);
  f->ahead = ahead;
  f->name = f->options.kernel_name = ahead->name;
  memcpy(f->options.workgroup, ahead->workgroup, sizeof f->options.workgroup);
  f->nparams = f->most = ahead->nparams;
  if (keep_signature(f, ahead->signature)) atomic_init(&f->now, take_snapshot(f));
  if (atomic_load(&f->now)) return f;
  free_frozen(f);
  return NULL;
}

void roc_jit_frozen_retain(roc_jit_frozen *frozen) {
  atomic_fetch_add(&frozen->refs, 1);
}

void roc_jit_frozen_release(roc_jit_frozen *frozen) {
  if (atomic_fetch_sub(&frozen->refs, 1) == 1) free_frozen(frozen);
}

const char *roc_jit_frozen_name(const roc_jit_frozen *frozen) {
  return frozen->name;
}

uint32_t roc_jit_frozen_nparams(const roc_jit_frozen *frozen) {
  return frozen->nparams;
}

/* ---- replacing what launches read: lock held ---- */

static void free_unread(roc_jit_frozen *f) {
  if (atomic_load(&f->readers) == 0) free_retired(f);
}

/* `note` was allocated before anything changed. */
static void retire(roc_jit_frozen *f, retired *note, snapshot *old, roc_jit_spec *spec) {
  *note = (retired){.next = f->retired, .old = old, .spec = spec};
  f->retired = note;
  free_unread(f);
}

static roc_status publish_scalars(roc_jit_frozen *f, roc_error *err) {
  retired *note = roc_alloc(sizeof *note);
  snapshot *made = note ? take_snapshot(f) : NULL;
  if (!made) {
    roc_free(note);
    return fail_memory(f, err);
  }
  retire(f, note, atomic_exchange(&f->now, made), NULL);
  return ROC_OK;
}

static bool has_same_key(const roc_jit_spec *a, const roc_jit_spec *b) {
  return a->key_bytes > 0 && a->key_bytes == b->key_bytes &&
         memcmp(a->key, b->key, a->key_bytes) == 0;
}

/* Takes over the specialisation, also on failure. */
static roc_status publish_spec(roc_jit_frozen *f, roc_jit_spec *spec, roc_error *err) {
  for (uint32_t i = 0; i < ROC_JIT_MAX_SPECS; i++) {
    const roc_jit_spec *other = atomic_load(&f->specs[i]);
    if (!other || !has_same_key(other, spec)) continue;
    roc_jit_spec_free(spec);
    return ROC_OK;
  }
  retired *note = roc_alloc(sizeof *note);
  if (!note) {
    roc_jit_spec_free(spec);
    return fail_memory(f, err);
  }
  roc_jit_spec *old = atomic_exchange(&f->specs[f->next_spec], spec);
  f->next_spec = (f->next_spec + 1) % ROC_JIT_MAX_SPECS;
  roc_jit_spec *expected = old;
  if (old) atomic_compare_exchange_strong(&f->last, &expected, NULL);
  retire(f, note, NULL, old);
  return ROC_OK;
}

static bool is_named(const roc_jit_scalar *s, const char *name) {
  return strcmp(s->name, name) == 0;
}

static roc_status set_scalars(roc_jit_frozen *f, const char *name, roc_scalar value,
                              roc_error *err) {
  roc_jit_program *p = f->kernel ? f->kernel->program : NULL;
  const roc_jit_scalar *first = NULL;
  for (uint32_t i = 0; p && i < p->nscalars; i++) {
    const roc_jit_scalar *s = &p->scalars[i];
    if (!is_named(s, name)) continue;
    if (first && first->variable != s->variable) {
      return roc_fail(err, ROC_INVALID, "kernel '%s' captures two variables called '%s'", f->name,
                      name);
    }
    first = s;
  }
  if (!first) {
    return roc_fail(err, ROC_INVALID, "kernel '%s' captures no number or boolean '%s'", f->name,
                    name);
  }
  for (uint32_t i = 0; i < p->nscalars; i++) {
    if (is_named(&p->scalars[i], name)) roc_jit_scalar_note(&p->scalars[i], value);
  }
  return publish_scalars(f, err);
}

roc_status roc_jit_frozen_set(roc_jit_frozen *frozen, const char *name, roc_scalar value,
                              roc_error *err) {
  ROC_TRY(roc_rt_check_open(err));
  pthread_mutex_lock(&frozen->lock);
  roc_status status = set_scalars(frozen, name, value, err);
  pthread_mutex_unlock(&frozen->lock);
  return status;
}

/* ---- captured arrays ---- */

static placement *find_placement(const roc_jit_frozen *f, const roc_rt_device *device) {
  placement *p = atomic_load(&f->placements);
  while (p && p->device != device) p = p->next;
  return p;
}

/* Complete for all streams, without waiting for work that is queued. */
static roc_status copy_constant(const roc_array *from, roc_rt_stream *stream, roc_array *out,
                                roc_error *err) {
  roc_array copy = *from; /* C order, packed: it is a copy itself */
  copy.offset = 0;
  copy.buffer = NULL;
  ROC_TRY(roc_buffer_create_device(roc_rt_stream_device(stream), roc_array_nbytes(from),
                                   &copy.buffer, err));
  roc_status status = roc_rt_copy_now(roc_rt_stream_session(stream), &copy, from, err);
  if (status == ROC_OK) {
    *out = copy;
  } else {
    roc_array_release(&copy);
  }
  return status;
}

static roc_status check_captured(const roc_jit_frozen *f, uint32_t i, roc_rt_device *device,
                                 roc_error *err) {
  roc_rt_device *owner = roc_buffer_device(f->captured[i].buffer);
  if (!owner || owner == device) return ROC_OK;
  return roc_fail(err, ROC_INVALID,
                  "kernel '%s' captures '%s', which is on device '%s', and is launched on another",
                  f->name, f->kernel->program->arrays[i].name, roc_rt_device_label(owner));
}

/* Lock held. */
static roc_status add_placement(roc_jit_frozen *f, roc_rt_stream *stream, roc_error *err) {
  roc_rt_device *device = roc_rt_stream_device(stream);
  if (find_placement(f, device)) return ROC_OK;
  bool in_place = roc_rt_device_driver(device)->props.host_memory;
  placement *made = roc_zalloc(sizeof *made + f->narrays * sizeof *made->arrays);
  if (!made) return fail_memory(f, err);
  made->device = device;
  roc_status status = ROC_OK;
  for (uint32_t i = 0; i < f->narrays && status == ROC_OK; i++) {
    status = check_captured(f, i, device, err);
    bool is_constant = f->kernel->program->arrays[i].is_constant;
    if (status != ROC_OK || !is_constant || in_place) continue;
    status = copy_constant(&f->captured[i], stream, &made->arrays[i], err);
  }
  if (status != ROC_OK) {
    for (uint32_t i = 0; i < f->narrays; i++) roc_array_release(&made->arrays[i]);
    roc_free(made);
    return status;
  }
  made->next = atomic_load(&f->placements);
  atomic_store(&f->placements, made);
  return ROC_OK;
}

static const roc_array *placed_array(const roc_jit_frozen *f, const placement *p, uint32_t i) {
  return p->arrays[i].buffer ? &p->arrays[i] : &f->captured[i];
}

/* ---- the values of a launch ---- */

roc_status roc_jit_call_begin(roc_jit_frozen *frozen, roc_jit_call *call, roc_error *err) {
  call->frozen = frozen;
  call->heap = NULL;
  call->values = call->own_values;
  call->views = call->own_views;
  call->classes = call->own_classes;
  call->uses = call->own_uses;
  call->mirrored = call->own_mirrored;
  call->has_mirrored = false;
  uint32_t n = frozen->most;
  if (n > ROC_JIT_CALL_VALUES) {
    roc_array *views =
        roc_alloc(n * (sizeof(roc_array) + sizeof(roc_jit_value) + sizeof(roc_rt_use) +
                       sizeof(roc_buffer *) + sizeof(roc_arg_type)));
    if (!views) return fail_memory(frozen, err);
    call->heap = call->views = views;
    call->values = (roc_jit_value *)(views + n);
    call->uses = (roc_rt_use *)(call->values + n);
    call->mirrored = (roc_buffer **)(call->uses + n);
    call->classes = (roc_arg_type *)(call->mirrored + n);
  }
  memset(call->values, 0, frozen->nparams * sizeof *call->values);
  return ROC_OK;
}

void roc_jit_call_end(roc_jit_call *call) {
  roc_free(call->heap);
}

static roc_status fail_argument(const roc_jit_frozen *f, uint32_t i, const char *what,
                                roc_error *err) {
  return roc_fail(err, ROC_INVALID, "bad argument #%u to kernel '%s' (%s)", i + 1, f->name, what);
}

static roc_status take_array(roc_jit_call *call, uint32_t i, roc_rt_device *device,
                             roc_error *err) {
  roc_jit_value *v = &call->values[i];
  const roc_array *a = v->array;
  roc_rt_device *owner = roc_buffer_device(a->buffer);
  const roc_device_props *props = &roc_rt_device_driver(device)->props;
  if (owner == device) return ROC_OK;
  if (owner) {
    return roc_fail(err, ROC_INVALID,
                    "bad argument #%u to kernel '%s' (the array is on device '%s', the launch on "
                    "'%s')",
                    i + 1, call->frozen->name, roc_rt_device_label(owner),
                    roc_rt_device_label(device));
  }
  if (roc_buffer_is_mirrored(a->buffer) || roc_buffer_is_mapped(a->buffer)) {
    call->mirrored[i] = roc_buffer_is_mirrored(a->buffer) ? a->buffer : NULL;
    call->has_mirrored |= call->mirrored[i] != NULL;
    ROC_TRY(roc_jit_place(a, device, &call->views[i], v, err));
    if (!call->frozen->ahead || !v->is_host_memory || !props->lacks_host_atomics) return ROC_OK;
    return fail_argument(call->frozen, i,
                         "the array is in host memory, to which the device's link carries no "
                         "atomics; copy it to the device",
                         err);
  }
  if (!props->host_memory) {
    return fail_argument(call->frozen, i,
                         "the array is in host memory, which the device does not reach: make one "
                         "there by roclua_array_create",
                         err);
  }
  v->is_host_memory = roc_jit_is_host_memory(device);
  return ROC_OK;
}

static roc_status declare(const roc_jit_frozen *f, uint32_t i, roc_jit_value *v, roc_error *err) {
  roc_error why = ROC_ERROR_INIT;
  if (roc_jit_declare(&f->signature[i], v, &why) == ROC_OK) return ROC_OK;
  return fail_argument(f, i, why.message, err);
}

static roc_status take_arguments(roc_jit_call *call, roc_rt_device *device, roc_error *err) {
  const roc_jit_frozen *f = call->frozen;
  for (uint32_t i = 0; i < f->nparams; i++) {
    roc_jit_value *v = &call->values[i];
    call->mirrored[i] = NULL;
    if (f->signature) ROC_TRY(declare(f, i, v, err));
    if (v->array) ROC_TRY(take_array(call, i, device, err));
  }
  return ROC_OK;
}

/* ---- specialisations ---- */

/* Its code knows no workgroup. */
static bool has_key(const roc_jit_spec *spec, uint32_t device, const roc_jit_call *call,
                    const snapshot *now) {
  size_t nclasses = (call->frozen->nparams + call->frozen->narrays) * sizeof *call->classes;
  const roc_jit_key_head head = {.device = device};
  const unsigned char *key = spec->key;
  return spec->key_bytes == sizeof head + nclasses + now->key_bytes &&
         memcmp(key, &head, sizeof head) == 0 &&
         memcmp(key + sizeof head, call->classes, nclasses) == 0 &&
         memcmp(key + sizeof head + nclasses, now->key, now->key_bytes) == 0;
}

/* Code of a file: the first that takes them. */
static const roc_jit_spec *find_ahead(const roc_jit_call *call, const roc_rt_device *device) {
  const roc_jit_frozen *f = call->frozen;
  for (uint32_t i = 0; i < ROC_JIT_MAX_SPECS; i++) {
    const roc_jit_spec *spec = atomic_load(&f->specs[i]);
    if (!spec) break;
    if (spec->device != device) continue;
    if (roc_jit_ahead_fits(spec->object->args, call->classes, f->nparams)) return spec;
  }
  return NULL;
}

/* Classifies the arguments as they are now; NULL: there is no specialisation for them yet. */
static const roc_jit_spec *find_spec(roc_jit_call *call, const snapshot *now, roc_rt_device *on) {
  roc_jit_frozen *f = call->frozen;
  uint32_t n = f->nparams + f->narrays;
  for (uint32_t i = 0; i < n; i++) roc_jit_classify(&call->values[i], &call->classes[i]);
  roc_jit_mark_aliases(call->values, n, now->is_written, call->classes);
  if (f->ahead) return find_ahead(call, on);
  uint32_t device = roc_rt_device_index(on);
  roc_jit_spec *last = atomic_load(&f->last);
  if (last && has_key(last, device, call, now)) return last;
  for (uint32_t i = 0; i < ROC_JIT_MAX_SPECS; i++) {
    roc_jit_spec *spec = atomic_load(&f->specs[i]);
    if (!spec) break;
    if (!has_key(spec, device, call, now)) continue;
    atomic_store(&f->last, spec);
    return spec;
  }
  return NULL;
}

/* Lock held.  Another thread may have made it since: then the compiler's cache has it. */
static roc_status make_spec(roc_jit_call *call, roc_rt_stream *stream, roc_error *err) {
  roc_jit_frozen *f = call->frozen;
  roc_jit_kernel *k = f->kernel;
  roc_jit_spec *spec;
  roc_rt_device *device = roc_rt_stream_device(stream);
  if (f->narrays > 0) ROC_TRY(add_placement(f, stream, err));
  const placement *p = find_placement(f, device);
  for (uint32_t i = 0; i < f->narrays; i++) {
    k->program->arrays[i].value = (roc_jit_value){.array = placed_array(f, p, i)};
  }
  memcpy(k->values, call->values, f->nparams * sizeof *k->values);
  roc_status status = roc_jit_kernel_select(k, device, NULL, &spec, err);
  if (status == ROC_OK) {
    roc_jit_kernel_give_up(k, spec);
    status = publish_spec(f, spec, err);
  }
  if (status == ROC_OK) status = publish_scalars(f, err);
  return status;
}

static bool has_loaded(const roc_jit_frozen *f, const roc_rt_device *device) {
  for (uint32_t i = 0; i < ROC_JIT_MAX_SPECS; i++) {
    const roc_jit_spec *spec = atomic_load(&f->specs[i]);
    if (spec && spec->device == device) return true;
  }
  return false;
}

static roc_status fail_target(const roc_jit_frozen *f, roc_rt_device *device, roc_error *err) {
  roc_str targets = ROC_STR_INIT;
  for (uint32_t i = 0; i < f->ahead->nentries; i++) {
    const char *target = f->ahead->entries[i].target;
    if (i > 0 && strcmp(target, f->ahead->entries[i - 1].target) == 0) continue;
    roc_str_printf(&targets, "%s%s", i ? ", " : "", target);
  }
  roc_fail(err, ROC_UNSUPPORTED,
           "kernel '%s' was compiled for %s, and device '%s' takes none of them: it is '%s'",
           f->name, roc_str_text(&targets), roc_rt_device_driver(device)->props.name,
           roc_rt_device_driver(device)->props.arch);
  roc_str_deinit(&targets);
  return ROC_UNSUPPORTED;
}

/* Lock held.  All code of the first target that the device takes. */
static roc_status load_ahead(roc_jit_frozen *f, roc_rt_device *device, roc_error *err) {
  const char *taken = NULL;
  roc_status status = fail_target(f, device, err);
  for (uint32_t i = 0; i < f->ahead->nentries; i++) {
    const roc_jit_ahead_entry *entry = &f->ahead->entries[i];
    roc_jit_spec *spec;
    bool is_meant = taken ? strcmp(entry->target, taken) == 0 : roc_jit_ahead_serves(entry, device);
    if (!is_meant) continue;
    status = roc_jit_ahead_load(f->ahead, entry, device, &spec, err);
    if (status == ROC_OK) status = publish_spec(f, spec, err);
    if (status == ROC_UNSUPPORTED && !taken) continue;
    ROC_TRY(status);
    taken = entry->target;
  }
  return taken ? ROC_OK : status;
}

static bool needs_spec(roc_jit_call *call, roc_rt_stream *stream);

/* Lock held. */
static roc_status add_spec(roc_jit_call *call, roc_rt_stream *stream, roc_error *err) {
  roc_jit_frozen *f = call->frozen;
  roc_rt_device *device = roc_rt_stream_device(stream);
  if (!needs_spec(call, stream)) return ROC_OK;
  if (!f->ahead) return make_spec(call, stream, err);
  if (!has_loaded(f, device)) return load_ahead(f, device, err);
  return roc_fail(err, ROC_INTERNAL, "kernel '%s' has no code for these arguments", f->name);
}

static roc_status need_spec(roc_jit_call *call, roc_rt_stream *stream, roc_error *err) {
  roc_jit_frozen *f = call->frozen;
  ROC_TRY(roc_rt_check_open(err));
  pthread_mutex_lock(&f->lock);
  roc_status status = add_spec(call, stream, err);
  pthread_mutex_unlock(&f->lock);
  return status;
}

/* ---- launching ---- */

/* Adds the captured arrays.  False: they are not yet on the device. */
static bool add_captured(roc_jit_call *call, roc_rt_device *device) {
  const roc_jit_frozen *f = call->frozen;
  if (f->narrays == 0) return true;
  const placement *p = find_placement(f, device);
  for (uint32_t i = 0; p && i < f->narrays; i++) {
    call->values[f->nparams + i] = (roc_jit_value){.array = placed_array(f, p, i)};
  }
  return p != NULL;
}

/* Counted in f->readers.  NULL: it is not made yet. */
static const roc_jit_spec *look_up(roc_jit_call *call, roc_rt_stream *stream,
                                   const snapshot **out_now) {
  roc_rt_device *device = roc_rt_stream_device(stream);
  if (!add_captured(call, device)) return NULL;
  *out_now = atomic_load(&call->frozen->now);
  return find_spec(call, *out_now, device);
}

/* Lock held: nothing is freed meanwhile. */
static bool needs_spec(roc_jit_call *call, roc_rt_stream *stream) {
  const snapshot *now;
  return look_up(call, stream, &now) == NULL;
}

/* After the launch is queued: where it writes, the host's side is stale. */
static void mark_mirrors(const roc_jit_call *call, const roc_jit_spec *spec) {
  for (uint32_t i = 0; i < call->frozen->nparams; i++) {
    if (!call->mirrored[i] || !roc_jit_spec_writes(spec, i)) continue;
    roc_mirror_mark(call->mirrored[i], ROC_SIDE_DEVICE, NULL); /* fails only without that side */
  }
}

static roc_status queue(roc_jit_call *call, const roc_jit_spec *spec, const snapshot *now,
                        roc_rt_stream *stream, const roc_jit_launch *launch, roc_error *err) {
  const roc_jit_frozen *f = call->frozen;
  uint32_t narrays = f->nparams + f->narrays, nbytes = spec->object->kernarg_bytes;
  memcpy(call->values + narrays, now->hidden, now->nhidden * sizeof *now->hidden);
  void *heap = nbytes > ROC_JIT_CALL_BLOCK_BYTES ? roc_alloc(nbytes) : NULL;
  if (nbytes > ROC_JIT_CALL_BLOCK_BYTES && !heap) return fail_memory(f, err);
  roc_jit_values values = {.name = f->name,
                           .items = call->values,
                           .narrays = narrays,
                           .count = narrays + now->nhidden,
                           .block = heap ? heap : call->own_block,
                           .uses = call->uses};
  roc_ticket ticket;
  roc_status status = roc_jit_spec_queue(spec, &values, stream, launch, &ticket, err);
  roc_free(heap);
  if (status == ROC_OK && call->has_mirrored) mark_mirrors(call, spec);
  return status;
}

/* A launch leaves the workgroup to the kernel, and is within its promise. */
static roc_status complete_range(const roc_jit_frozen *f, roc_rt_stream *stream,
                                 roc_jit_launch *launch, roc_error *err) {
  const roc_fe_options *options = &f->options;
  launch->is_local_free = launch->range.local[0] == 0;
  if (launch->is_local_free) {
    roc_jit_choose_workgroup(options, roc_rt_stream_device(stream), &launch->range);
  }
  return roc_jit_check_promise(options, &launch->range, err);
}

static roc_status run(roc_jit_call *call, roc_rt_stream *stream, const roc_jit_launch *launch,
                      roc_error *err) {
  enum { MAX_ROUNDS = 100 }; /* other threads may evict what this one has made */
  roc_jit_frozen *f = call->frozen;
  for (int round = 0; round < MAX_ROUNDS; round++) {
    const snapshot *now;
    atomic_fetch_add(&f->readers, 1);
    const roc_jit_spec *spec = look_up(call, stream, &now);
    roc_status status = spec && launch ? queue(call, spec, now, stream, launch, err) : ROC_OK;
    atomic_fetch_sub(&f->readers, 1);
    if (spec) return status;
    ROC_TRY(need_spec(call, stream, err));
  }
  return roc_fail(err, ROC_INTERNAL, "kernel '%s' is specialised again and again", f->name);
}

roc_status roc_jit_call_run(roc_jit_call *call, roc_rt_stream *stream, const roc_jit_launch *launch,
                            roc_error *err) {
  roc_jit_frozen *f = call->frozen;
  roc_rt_device *device = roc_rt_stream_device(stream);
  ROC_TRY(roc_rt_check_open(err));
  if (roc_rt_device_driver(device)->props.runs_in_lua) {
    return roc_fail(err, ROC_UNSUPPORTED,
                    "kernel '%s' is launched from C on device '%s', where kernels run in Lua",
                    f->name, roc_rt_device_driver(device)->props.name);
  }
  ROC_TRY(take_arguments(call, device, err));
  if (!launch) return run(call, stream, NULL, err);
  if (roc_ndrange_is_empty(&launch->range)) return ROC_OK;
  roc_jit_launch complete = *launch;
  ROC_TRY(complete_range(f, stream, &complete, err));
  return run(call, stream, &complete, err);
}
