/* Kernels and their specialisations; see kernel.h.
 *
 * The key of a specialisation is device, whether its workgroups are just as the kernel promises,
 * classes, and the captured scalars: type and value of a
 * constant, type alone of a hidden argument.  Invariant: a specialisation's aliases cover every
 * overlap that matters to what it writes. */
#include "jit/kernel.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "ir/print.h"
#include "jit/annotate.h"
#include "jit/cache.h"
#include "jit/compile.h"
#include "jit/driver.h"
#include "jit/fit.h"
#include "jit/hint.h"
#include "runtime/trace.h"

/* ---- making and freeing ---- */

static uint32_t count_values(const roc_jit_kernel *k, const roc_jit_program *p) {
  return k->nparams + p->narrays + p->nscalars;
}

/* Device, workgroup, classes, and a byte with eight more for each scalar. */
static size_t key_capacity(const roc_jit_kernel *k, const roc_jit_program *p) {
  return sizeof(roc_jit_key_head) + sizeof(roc_arg_type) * (k->nparams + p->narrays) +
         9 * (size_t)p->nscalars;
}

/* The arrays whose sizes depend on the program; all or none. */
static bool allocate_state(roc_jit_kernel *k, roc_jit_program *p) {
  uint32_t n = count_values(k, p) + 1;
  roc_jit_value *values = roc_zalloc(n * sizeof *values);
  roc_arg_type *classes = roc_zalloc(n * sizeof *classes);
  uint8_t *written = roc_zalloc(n);
  bool *old_aliases = roc_zalloc(n * sizeof *old_aliases);
  roc_jit_seen *seen = roc_zalloc(n * sizeof *seen);
  roc_rt_use *uses = roc_zalloc(n * sizeof *uses);
  unsigned char *key = roc_alloc(key_capacity(k, p));
  if (!values || !classes || !written || !old_aliases || !seen || !uses || !key) {
    void *blocks[] = {values, classes, written, old_aliases, seen, uses, key};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) roc_free(blocks[i]);
    return false;
  }
  memset(written, 1, n);
  k->values = values;
  k->classes = classes;
  k->written = written;
  k->old_aliases = old_aliases;
  k->seen = seen;
  k->uses = uses;
  k->key = key;
  k->knows_written = k->has_classes = k->has_seen = k->has_packed = false;
  k->program = p;
  return true;
}

void roc_jit_spec_free(roc_jit_spec *spec) {
  if (!spec) return;
  roc_rt_kernel_release(spec->loaded);
  roc_free(spec);
}

static void free_state(roc_jit_kernel *k) {
  for (uint32_t i = 0; i < k->nspecs; i++) roc_jit_spec_free(k->specs[i]);
  k->nspecs = 0;
  k->last = NULL;
  roc_jit_later_free(k->later, k->program);
  void *blocks[] = {k->values, k->classes, k->written, k->old_aliases,
                    k->seen,   k->uses,    k->key,     k->later_key};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) roc_free(blocks[i]);
}

roc_jit_kernel *roc_jit_kernel_new(const roc_fe_options *options, roc_jit_program *program) {
  roc_jit_kernel *k = roc_zalloc(sizeof *k);
  size_t len = strlen(options->kernel_name) + 1;
  char *name = roc_alloc(len);
  if (k && name) {
    memcpy(name, options->kernel_name, len);
    k->name = name;
    k->options = *options;
    k->options.kernel_name = name;
    k->nparams = program->funcs[0].ast->nparams;
    if (allocate_state(k, program)) return k;
  }
  roc_free(name);
  roc_free(k);
  roc_jit_program_free(program);
  return NULL;
}

void roc_jit_kernel_free(roc_jit_kernel *kernel) {
  if (!kernel) return;
  free_state(kernel);
  roc_str_deinit(&kernel->diagnostics);
  for (int i = 0; i < ROC_JIT_HINTS; i++) roc_str_deinit(&kernel->hints[i]);
  roc_free(kernel->block);
  roc_free(kernel->name);
  roc_free(kernel);
}

roc_status roc_jit_kernel_replace(roc_jit_kernel *kernel, roc_jit_program *program,
                                  roc_error *err) {
  roc_jit_kernel old = *kernel;
  if (!allocate_state(kernel, program)) {
    roc_jit_program_free(program);
    return roc_fail(err, ROC_OOM, "out of memory while reading the captures of kernel '%s'",
                    kernel->name);
  }
  memset(kernel->specs, 0, sizeof kernel->specs);
  kernel->later = NULL;
  kernel->later_key = NULL;
  kernel->nspecs = kernel->nsizes = 0;
  kernel->never_meets = false;
  kernel->last = NULL;
  kernel->ndropped++;
  free_state(&old);
  return ROC_OK;
}

/* ---- keys ---- */

static void copy_captured_arrays(roc_jit_kernel *k) {
  for (uint32_t i = 0; i < k->program->narrays; i++) {
    k->values[k->nparams + i] = k->program->arrays[i].value;
  }
}

void roc_jit_kernel_classify(roc_jit_kernel *k) {
  uint32_t n = k->nparams + k->program->narrays;
  copy_captured_arrays(k);
  for (uint32_t i = 0; i < n; i++) roc_jit_classify(&k->values[i], &k->classes[i]);
  roc_jit_mark_aliases(k->values, n, k->written, k->classes);
  k->has_classes = true;
  k->has_seen = false;
}

static unsigned char *put_scalar(unsigned char *at, const roc_jit_scalar *s) {
  enum { HIDDEN = 0x80 };
  if (!s->is_hidden || s->value.type == ROC_VT_NONE) {
    *at++ = (unsigned char)s->value.type;
    uint64_t bits = 0;
    if (s->value.type == ROC_VT_BOOL) {
      bits = s->value.as.b;
    } else {
      memcpy(&bits, &s->value.as, sizeof bits);
    }
    memcpy(at, &bits, sizeof bits);
    return at + sizeof bits;
  }
  roc_jit_value value = {.scalar = s->value};
  roc_arg_type cls;
  roc_jit_classify(&value, &cls);
  *at++ = HIDDEN;
  memcpy(at, &cls, sizeof cls);
  return at + sizeof cls;
}

uint32_t roc_jit_kernel_scalar_key(const roc_jit_kernel *k, unsigned char *out) {
  unsigned char *at = out;
  for (uint32_t i = 0; i < k->program->nscalars; i++) at = put_scalar(at, &k->program->scalars[i]);
  return (uint32_t)(at - out);
}

/* Code for AMD GPUs reads a workgroup's size from memory, and multiplies by it: not where it is the
 * promised one, as it nearly always is, and the grid is not huge. A size that the launch leaves open
 * is not known yet. */
static bool has_promised_workgroup(const roc_jit_kernel *k, const roc_jit_launch *launch) {
  const uint32_t *promise = k->options.workgroup;
  if (!promise[0] || (launch->is_local_free && launch->range.rank == 1)) return false;
  for (uint32_t d = 0; d < 3; d++) {
    if (launch->range.local[d] != (promise[d] ? promise[d] : 1)) return false;
    if (launch->range.grid[d] > ROC_IR_EXACT_ITEMS) return false;
  }
  return true;
}

/* Whether there is code for workgroups of that size, or room for it. */
static bool takes_size(roc_jit_kernel *k, const uint32_t size[3]) {
  for (uint32_t i = 0; i < k->nsizes; i++) {
    if (memcmp(k->sizes[i], size, sizeof k->sizes[i]) == 0) return true;
  }
  if (k->nsizes == ROC_JIT_MAX_SIZES) return false;
  memcpy(k->sizes[k->nsizes++], size, sizeof k->sizes[0]);
  return true;
}

/* Loops over items that meet have constant lengths, where no workgroup is smaller than the
 * others. */
static bool has_counted_workgroup(roc_jit_kernel *k, const roc_jit_launch *launch) {
  if (k->never_meets) return false;
  for (uint32_t d = 0; d < 3; d++) {
    uint64_t grid = launch->range.grid[d], local = launch->range.local[d];
    if (!local || !grid || grid % local != 0 || grid > ROC_IR_EXACT_ITEMS) return false;
  }
  return takes_size(k, launch->range.local);
}

static void note_workgroup(roc_jit_kernel *k, const roc_rt_device *device,
                           const roc_jit_launch *launch) {
  if (k->asked != device) {
    k->asked_facts = roc_target_facts_of(roc_rt_device_driver((roc_rt_device *)device)->props.arch);
    k->asked = device;
  }
  const roc_target_facts *facts = k->asked_facts;
  memset(k->exact, 0, sizeof k->exact);
  k->is_exact = false;
  if (!launch || !facts) return;
  if (facts->reads_workgroup_size) k->is_exact = has_promised_workgroup(k, launch);
  if (!facts->loops_over_items || !has_counted_workgroup(k, launch)) return;
  k->is_exact = true;
  memcpy(k->exact, launch->range.local, sizeof k->exact);
}

static bool has_barriers(const roc_ir_module *module) {
  for (uint32_t id = 0; id < module->insts.count; id++) {
    if (roc_ir_op_table[module->insts.items[id].op].flags & ROC_IRF_CUT_GROUP) return true;
  }
  return false;
}

/* Tells the module what of its launch's workgroup code for a target may know. */
static void set_workgroup(const roc_jit_kernel *k, const roc_target_facts *facts,
                          roc_ir_module *module) {
  if (!k->is_exact || !facts) return;
  if (!k->exact[0]) {
    module->is_workgroup_exact = facts->reads_workgroup_size;
  } else if (facts->loops_over_items) {
    memcpy(module->workgroup, k->exact, sizeof module->workgroup);
    module->is_workgroup_exact = module->is_grid_whole = true;
  }
}

/* After the IR has been made, which tells whether work-items meet. */
static void settle_workgroup(roc_jit_kernel *k, roc_ir_module *module) {
  k->never_meets = !has_barriers(module);
  if (k->never_meets && k->exact[0]) {
    memset(k->exact, 0, sizeof k->exact);
    k->is_exact = false;
  }
  set_workgroup(k, k->asked_facts, module);
}

enum { EXACT_WORKGROUP = 1u << 31 }; /* beside the device's index */

static roc_jit_key_head key_head(const roc_jit_kernel *k, const roc_rt_device *device) {
  roc_jit_key_head head = {roc_rt_device_index(device) | (k->is_exact ? EXACT_WORKGROUP : 0), {0}};
  memcpy(head.workgroup, k->exact, sizeof head.workgroup);
  return head;
}

static void make_key(roc_jit_kernel *k, const roc_rt_device *device) {
  unsigned char *at = k->key;
  roc_jit_key_head head = key_head(k, device);
  memcpy(at, &head, sizeof head);
  at += sizeof head;
  size_t nbytes = (k->nparams + k->program->narrays) * sizeof *k->classes;
  memcpy(at, k->classes, nbytes);
  at += nbytes;
  k->key_bytes = (uint32_t)(at - k->key) + roc_jit_kernel_scalar_key(k, at);
}

static uint64_t hash_of(const unsigned char *key, uint32_t nbytes) { /* FNV-1a */
  uint64_t h = 0xcbf29ce484222325u;
  for (uint32_t i = 0; i < nbytes; i++) h = (h ^ key[i]) * 0x100000001b3u;
  return h;
}

static bool has_key(const roc_jit_spec *spec, const roc_jit_kernel *k) {
  return spec->key_bytes == k->key_bytes && memcmp(spec->key, k->key, k->key_bytes) == 0;
}

static roc_jit_spec *find_spec(roc_jit_kernel *k) {
  if (k->last && has_key(k->last, k)) return k->last;
  uint64_t hash = hash_of(k->key, k->key_bytes);
  for (uint32_t i = 0; i < k->nspecs; i++) {
    if (k->specs[i]->hash == hash && has_key(k->specs[i], k)) return k->specs[i];
  }
  return NULL;
}

/* ---- the values of the last launch ---- */

static bool has_scalars_of(roc_jit_kernel *k, const roc_jit_spec *spec) {
  if (k->program->nscalars == 0) return true;
  size_t narrays = k->nparams + k->program->narrays;
  size_t before = sizeof(roc_jit_key_head) + narrays * sizeof *k->classes;
  uint32_t nbytes = roc_jit_kernel_scalar_key(k, k->key + before);
  return spec->key_bytes == before + nbytes &&
         memcmp(spec->key + before, k->key + before, nbytes) == 0;
}

/* Whether the values have the key of the last launch, seen without classifying them. */
static bool is_as_last(roc_jit_kernel *k, const roc_rt_device *device) {
  const roc_jit_spec *spec = k->last;
  if (!spec || !k->has_seen) return false;
  uint32_t n = k->nparams + k->program->narrays;
  roc_jit_key_head head = key_head(k, device);
  if (memcmp(spec->key, &head, sizeof head) != 0) return false;
  copy_captured_arrays(k);
  for (uint32_t i = 0; i < n; i++) {
    if (!roc_jit_is_seen(&k->seen[i], &k->classes[i], &k->values[i])) return false;
  }
  return has_scalars_of(k, spec);
}

static void see_values(roc_jit_kernel *k) {
  uint32_t n = k->nparams + k->program->narrays;
  k->has_scalars = k->program->nscalars > 0;
  for (uint32_t i = 0; i < n; i++) {
    roc_jit_see(&k->values[i], &k->seen[i]);
    k->has_scalars |= !k->values[i].array;
  }
  k->has_seen = true;
  k->has_packed = false;
}

/* ---- making a specialisation ---- */

/* The index for a new specialisation: a free one, or that of the least recently used. */
static uint32_t make_room(roc_jit_kernel *k) {
  if (k->nspecs < ROC_JIT_MAX_SPECS) return k->nspecs++;
  uint32_t oldest = 0;
  for (uint32_t i = 1; i < k->nspecs; i++) {
    if (k->specs[i]->last_use < k->specs[oldest]->last_use) oldest = i;
  }
  if (k->last == k->specs[oldest]) k->last = NULL;
  k->ndropped++;
  roc_jit_spec_free(k->specs[oldest]);
  return oldest;
}

static roc_cg_options codegen_options(roc_rt_device *device) {
  const roc_device_props *props = &roc_rt_device_driver(device)->props;
  roc_cg_options options = roc_jit_options_for(props->arch, -1);
  if (options.wave_size) options.wave_size = props->wavefront_size;
  options.is_watched = props->is_checked;
  return options;
}

/* Reads the registers and memory that the code takes, where the target tells. */
static void note_resources(uint32_t promise, roc_jit_spec *spec) {
  const roc_codeobj *object = spec->object;
  const roc_target_facts *facts = roc_target_facts_of(object->target);
  if (!facts || !facts->read_footprint) return;
  if (!facts->read_footprint(object, &spec->footprint)) return;
  spec->facts = facts;
  spec->max_workgroup = roc_rt_device_driver(spec->device)->props.max_workgroup;
  if (promise && promise < spec->max_workgroup) spec->max_workgroup = promise;
  spec->workgroup = facts->pick_workgroup(&spec->footprint, spec->max_workgroup);
}

roc_status roc_jit_spec_load(roc_rt_device *device, roc_codeobj *object, const char *name,
                             uint32_t promise, const unsigned char *key, uint32_t key_bytes,
                             roc_jit_spec **out_spec, roc_error *err) {
  roc_jit_spec *spec = roc_zalloc(sizeof *spec + key_bytes);
  if (!spec) return roc_fail(err, ROC_OOM, "out of memory while loading kernel '%s'", name);
  roc_status status = roc_rt_kernel_load(device, object, name, &spec->loaded, err);
  if (status != ROC_OK) {
    roc_free(spec);
    return status;
  }
  spec->object = object;
  spec->device = device;
  note_resources(promise, spec);
  spec->key_bytes = key_bytes;
  if (key_bytes > 0) memcpy(spec->key, key, key_bytes);
  *out_spec = spec;
  return ROC_OK;
}

roc_status roc_jit_kernel_name_error(const roc_jit_kernel *k, roc_error *err) {
  if (err && err->code == ROC_COMPILE && !strstr(err->message, k->name)) {
    roc_error copy = *err;
    roc_fail(err, copy.code, "kernel '%s': %s", k->name, copy.message);
  }
  return err ? err->code : ROC_COMPILE;
}

static void note_hints(roc_jit_kernel *k, const roc_ir_module *module) {
  bool had[ROC_JIT_HINTS];
  for (int i = 0; i < ROC_JIT_HINTS; i++) had[i] = k->hints[i].len > 0;
  if (!had[ROC_JIT_HINT_FLOAT64]) {
    roc_jit_hint_float64(module, &k->hints[ROC_JIT_HINT_FLOAT64]);
  }
  if (!had[ROC_JIT_HINT_RACE]) roc_jit_hint_race(module, &k->hints[ROC_JIT_HINT_RACE]);
  if (!had[ROC_JIT_HINT_FRONT_END] && module->hint) {
    roc_str_puts(&k->hints[ROC_JIT_HINT_FRONT_END], module->hint);
  }
  for (int i = 0; i < ROC_JIT_HINTS; i++) {
    if (!had[i]) k->is_hint_new[i] = k->hints[i].len > 0;
  }
}

/* Where the link to the host carries no atomics, updates would be lost silently, and lines of print
 * would overwrite each other. */
static roc_status refuse_host_atomics(const roc_jit_kernel *k, const roc_ir_module *module,
                                      roc_rt_device *device, roc_error *err) {
  const roc_device_props *props = &roc_rt_device_driver(device)->props;
  if (!props->lacks_host_atomics) return ROC_OK;
  for (uint32_t i = 0; i < module->insts.count; i++) {
    const roc_ir_inst *inst = &module->insts.items[i];
    if (inst->op == ROC_IR_PRINT) {
      return roc_fail(
          err, ROC_UNSUPPORTED,
          "kernel '%s' calls print, which takes atomic operations on the host's memory: "
          "the link of device '%s' to it carries none (PCIe atomics are missing)",
          k->name, props->name);
    }
    if (inst->op != ROC_IR_ATOMIC) continue;
    const roc_ir_array *array = &module->arrays.items[inst->aux];
    if (array->kind != ROC_IR_ARRAY_PARAM) continue;
    const roc_ir_param *param = &module->params.items[array->param];
    if (!param->type.is_host_memory) continue;
    return roc_fail(err, ROC_UNSUPPORTED,
                    "kernel '%s' updates array '%s' atomically, which lies in the host's memory: "
                    "the link of device '%s' to it carries no atomics (PCIe atomics are missing); "
                    "copy the array with roc.to_device",
                    k->name, param->name, props->name);
  }
  return ROC_OK;
}

/* Loads the object, which it owns on success. */
static roc_status add_spec(roc_jit_kernel *k, roc_rt_device *device, roc_codeobj *object,
                           const unsigned char *key, uint32_t key_bytes, roc_jit_spec **out_spec,
                           roc_error *err) {
  k->ncompiles++;
  uint64_t mark = roc_clock_ns();
  roc_status status = roc_jit_spec_load(device, object, k->name, k->options.workgroup[0], key,
                                        key_bytes, out_spec, err);
  roc_clock_lap(&k->times.load_ms, &mark);
  if (status != ROC_OK) {
    object->free(object);
    return status;
  }
  (*out_spec)->hash = hash_of(key, key_bytes);
  k->specs[make_room(k)] = *out_spec;
  return ROC_OK;
}

static roc_status check_module(const roc_jit_kernel *k, roc_ir_module *module,
                               roc_rt_device *device, const roc_cg_options *options,
                               roc_error *err) {
  ROC_TRY(refuse_host_atomics(k, module, device, err));
  return roc_jit_fit_target(module, options->target, err);
}

/* Making the IR may have changed classes, so the key is computed and looked up again. */
static roc_status compile_spec(roc_jit_kernel *k, roc_rt_device *device, roc_jit_spec **out_spec,
                               roc_error *err) {
  roc_ir_module *module = NULL;
  k->times = (roc_jit_times){0};
  ROC_TRY(roc_jit_compile_ir(k, &module, err));
  settle_workgroup(k, module);
  make_key(k, device);
  *out_spec = find_spec(k);
  roc_codeobj *object = NULL;
  roc_status status = ROC_OK;
  uint64_t mark = roc_clock_ns();
  if (!*out_spec) {
    roc_cg_options options = codegen_options(device);
    roc_jit_let_interrupt(&options, k->session);
    status = check_module(k, module, device, &options, err);
    if (status == ROC_OK) status = roc_jit_build(module, &options, &object, &k->times.codegen, err);
  }
  roc_clock_lap(&k->times.back_end_ms, &mark);
  note_hints(k, module);
  roc_ir_module_free(module);
  if (*out_spec) return ROC_OK;
  if (status != ROC_OK) return status == ROC_COMPILE ? roc_jit_kernel_name_error(k, err) : status;
  return add_spec(k, device, object, k->key, k->key_bytes, out_spec, err);
}

static roc_status make_spec(roc_jit_kernel *k, roc_rt_device *device, roc_jit_spec **out_spec,
                            roc_error *err) {
  uint64_t begin_ns = roc_rt_is_traced() ? roc_clock_ns() : 0;
  roc_status status = compile_spec(k, device, out_spec, err);
  if (begin_ns > 0) roc_rt_trace_host(ROC_TRACE_COMPILE, k->name, begin_ns, 0);
  return status;
}

static roc_status classify_and_select(roc_jit_kernel *k, roc_rt_device *device, roc_error *err) {
  roc_jit_kernel_classify(k);
  make_key(k, device);
  roc_jit_spec *spec = find_spec(k);
  roc_str_clear(&k->diagnostics);
  if (!spec) ROC_TRY(make_spec(k, device, &spec, err));
  k->last = spec;
  see_values(k);
  return ROC_OK;
}

roc_status roc_jit_kernel_select(roc_jit_kernel *kernel, roc_rt_device *device,
                                 const roc_jit_launch *launch, roc_jit_spec **out_spec,
                                 roc_error *err) {
  note_workgroup(kernel, device, launch);
  if (!is_as_last(kernel, device)) ROC_TRY(classify_and_select(kernel, device, err));
  kernel->last->last_use = ++kernel->clock;
  *out_spec = kernel->last;
  return ROC_OK;
}

/* As soon as there is a thread for it.  False: what select finds is to be made there, which says what
 * is wrong. */
static bool begin_later(roc_jit_kernel *k, roc_rt_device *device) {
  roc_ir_module *module = NULL;
  if (!roc_jit_later_has_room()) return true;
  if (roc_jit_compile_ir(k, &module, NULL) != ROC_OK) return false;
  settle_workgroup(k, module);
  make_key(k, device); /* which making the IR may have changed */
  roc_cg_options options = codegen_options(device);
  if (!k->later_key) k->later_key = roc_alloc(key_capacity(k, k->program));
  if (find_spec(k) || !k->later_key || check_module(k, module, device, &options, NULL) != ROC_OK) {
    roc_ir_module_free(module);
    return false;
  }
  note_hints(k, module);
  memcpy(k->later_key, k->key, k->key_bytes);
  k->later_key_bytes = k->key_bytes;
  k->later = roc_jit_later_begin(module, &options);
  return true;
}

/* Adds the specialisation that is done, if it is one of the device. */
static bool end_later(roc_jit_kernel *k, roc_rt_device *device) {
  roc_codeobj *object = NULL;
  roc_jit_spec *spec;
  bool is_own = memcmp(k->later_key, k->key, sizeof(uint32_t)) == 0; /* the device's index */
  roc_status status = roc_jit_later_take(k->later, &object, NULL);
  roc_jit_later_free(k->later, NULL);
  k->later = NULL;
  if (status == ROC_OK && !is_own) object->free(object);
  if (status != ROC_OK || !is_own) return status == ROC_OK;
  return add_spec(k, device, object, k->later_key, k->later_key_bytes, &spec, NULL) == ROC_OK;
}

bool roc_jit_kernel_is_ready(roc_jit_kernel *kernel, roc_rt_device *device,
                             const roc_jit_launch *launch) {
  note_workgroup(kernel, device, launch);
  if (is_as_last(kernel, device)) return true;
  roc_jit_kernel_classify(kernel);
  make_key(kernel, device);
  if (find_spec(kernel)) return true;
  if (kernel->later && !roc_jit_later_is_done(kernel->later)) return false;
  if (kernel->later && (!end_later(kernel, device) || find_spec(kernel))) return true;
  return !begin_later(kernel, device);
}

void roc_jit_kernel_give_up(roc_jit_kernel *kernel, const roc_jit_spec *spec) {
  for (uint32_t i = 0; i < kernel->nspecs; i++) {
    if (kernel->specs[i] != spec) continue;
    kernel->specs[i] = kernel->specs[--kernel->nspecs];
    if (kernel->last == spec) kernel->last = NULL;
    kernel->ndropped++;
    return;
  }
}

/* ---- launching ---- */

static bool reserve_block(roc_jit_kernel *k, uint32_t nbytes) {
  if (nbytes <= k->block_capacity) return true;
  unsigned char *block = roc_realloc(k->block, nbytes);
  if (!block) return false;
  k->block = block;
  k->block_capacity = nbytes;
  return true;
}

uint32_t roc_jit_kernel_hidden(const roc_jit_kernel *k, roc_jit_value *values) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < k->program->nscalars; i++) {
    const roc_jit_scalar *s = &k->program->scalars[i];
    if (!s->is_hidden || s->value.type == ROC_VT_NONE) continue;
    values[n++] = (roc_jit_value){.scalar = s->value};
  }
  return n;
}

static uint32_t list_uses(const roc_jit_values *v, const roc_codeobj *object, bool uses_all) {
  uint32_t nuses = 0;
  for (uint32_t i = 0; i < v->narrays; i++) {
    const roc_arg_slot *slot = &object->args[i];
    if (!v->items[i].array || !(uses_all || slot->is_read || slot->is_written)) continue;
    v->uses[nuses++] = (roc_rt_use){v->items[i].array->buffer, slot->is_written};
  }
  return nuses;
}

/* The workgroup with the best occupancy, where the launch names none. */
static uint32_t choose_items(const roc_jit_spec *spec, const roc_jit_launch *launch) {
  const roc_ndrange *range = &launch->range;
  if (!launch->is_local_free || range->rank != 1 || !spec->facts) return range->local[0];
  if (range->dynamic_shared_bytes == 0) return spec->workgroup;
  roc_target_footprint footprint = spec->footprint;
  footprint.shared_bytes += range->dynamic_shared_bytes;
  return spec->facts->pick_workgroup(&footprint, spec->max_workgroup);
}

/* `values` are in their block and listed as uses. */
static roc_status queue(const roc_jit_spec *spec, const roc_jit_values *values, uint32_t nuses,
                        roc_rt_stream *stream, const roc_jit_launch *launch, roc_ticket *out_ticket,
                        roc_error *err) {
  roc_ndrange range = launch->range;
  range.local[0] = choose_items(spec, launch);
  roc_rt_launch work = {.kernel = spec->loaded,
                        .kernarg = values->block,
                        .kernarg_bytes = spec->object->kernarg_bytes,
                        .range = &range,
                        .uses = values->uses,
                        .nuses = nuses,
                        .is_ordered = launch->is_ordered,
                        .file = launch->file,
                        .line = launch->line};
  return roc_rt_launch_queue(stream, &work, out_ticket, err);
}

static roc_status check_count(const roc_jit_spec *spec, const roc_jit_values *values,
                              roc_error *err) {
  if (values->count == spec->object->nargs) return ROC_OK;
  return roc_fail(err, ROC_INTERNAL, "kernel '%s' was compiled for %u arguments and gets %u",
                  values->name, spec->object->nargs, values->count);
}

/* All, or the scalars alone. */
static void pack(const roc_jit_spec *spec, const roc_jit_values *values, bool has_arrays) {
  for (uint32_t i = 0; i < values->count; i++) {
    if (has_arrays && values->items[i].array) continue;
    roc_jit_pack(&spec->object->args[i], &values->items[i], values->block);
  }
}

roc_status roc_jit_spec_queue(const roc_jit_spec *spec, const roc_jit_values *values,
                              roc_rt_stream *stream, const roc_jit_launch *launch,
                              roc_ticket *out_ticket, roc_error *err) {
  ROC_TRY(check_count(spec, values, err));
  pack(spec, values, false);
  uint32_t nuses = list_uses(values, spec->object, launch->uses_all);
  return queue(spec, values, nuses, stream, launch, out_ticket, err);
}

bool roc_jit_spec_run_at_once(const roc_jit_spec *spec, const roc_jit_value *values, uint32_t count,
                              const roc_ndrange *range) {
  const roc_codeobj *object = spec->object;
  _Alignas(8) unsigned char block[ROC_JIT_AT_ONCE_BYTES];
  if (object->nargs != count || object->kernarg_bytes > sizeof block) return false;
  for (uint32_t i = 0; i < count; i++) roc_jit_pack(&object->args[i], &values[i], block);
  return roc_rt_launch_at_once(spec->loaded, block, range);
}

roc_status roc_jit_kernel_launch(roc_jit_kernel *kernel, const roc_jit_spec *spec,
                                 roc_rt_stream *stream, const roc_jit_launch *launch,
                                 roc_ticket *out_ticket, roc_error *err) {
  if (!reserve_block(kernel, spec->object->kernarg_bytes)) {
    return roc_fail(err, ROC_OOM, "out of memory for the arguments of kernel '%s'", kernel->name);
  }
  uint32_t narrays = kernel->nparams + kernel->program->narrays;
  roc_jit_values values = {
      .name = kernel->name,
      .items = kernel->values,
      .narrays = narrays,
      .count = narrays + roc_jit_kernel_hidden(kernel, kernel->values + narrays),
      .block = kernel->block,
      .uses = kernel->uses};
  ROC_TRY(check_count(spec, &values, err));
  bool has_arrays = kernel->has_packed && !launch->has_moved;
  if (!has_arrays || kernel->has_scalars) pack(spec, &values, has_arrays);
  if (!has_arrays) kernel->nuses = list_uses(&values, spec->object, launch->uses_all);
  kernel->has_packed = !launch->has_moved;
  return queue(spec, &values, kernel->nuses, stream, launch, out_ticket, err);
}

/* ---- inspecting ---- */

roc_status roc_jit_kernel_check_classes(const roc_jit_kernel *k, roc_error *err) {
  if (k->has_classes) return ROC_OK;
  return roc_fail(err, ROC_INVALID,
                  "kernel '%s' has no types yet: launch it once, or give roc.kernel a signature",
                  k->name);
}

void roc_jit_kernel_look_for_hints(roc_jit_kernel *kernel) {
  roc_ir_module *module = NULL;
  if (kernel->ncompiles > 0 || !kernel->has_classes) return;
  if (roc_jit_lower(kernel, &module, NULL) == ROC_OK) note_hints(kernel, module);
  roc_ir_module_free(module);
}

roc_status roc_jit_kernel_dump_types(roc_jit_kernel *kernel, roc_str *out, roc_error *err) {
  ROC_TRY(roc_jit_kernel_check_classes(kernel, err));
  return roc_jit_front_end_text(kernel, roc_fe_dump_types, out, err);
}

roc_status roc_jit_kernel_print_lua(roc_jit_kernel *kernel, roc_str *out, roc_error *err) {
  ROC_TRY(roc_jit_kernel_check_classes(kernel, err));
  return roc_jit_front_end_text(kernel, roc_fe_print_lua, out, err);
}

roc_status roc_jit_kernel_writes(roc_jit_kernel *kernel, bool *out_writes, roc_error *err) {
  ROC_TRY(roc_jit_kernel_check_classes(kernel, err));
  roc_ir_module *module = NULL;
  ROC_TRY(roc_jit_lower(kernel, &module, err));
  for (uint32_t i = 0; i < kernel->nparams; i++) out_writes[i] = module->params.items[i].is_written;
  roc_ir_module_free(module);
  return ROC_OK;
}

roc_status roc_jit_kernel_dump_ir(roc_jit_kernel *kernel, roc_str *out, roc_error *err) {
  ROC_TRY(roc_jit_kernel_check_classes(kernel, err));
  roc_ir_module *module = NULL;
  ROC_TRY(roc_jit_lower(kernel, &module, err));
  roc_ir_print(module, NULL, NULL, out);
  roc_ir_module_free(module);
  if (out->failed)
    return roc_fail(err, ROC_OOM, "out of memory while printing kernel '%s'", kernel->name);
  return ROC_OK;
}

roc_status roc_jit_kernel_dump(roc_jit_kernel *kernel, const roc_cg_options *options,
                               roc_cg_stage stage, roc_str *out, roc_error *err) {
  ROC_TRY(roc_jit_kernel_check_classes(kernel, err));
  roc_ir_module *module = NULL;
  ROC_TRY(roc_jit_lower(kernel, &module, err));
  roc_str text = ROC_STR_INIT;
  roc_cg_options own = *options;
  roc_jit_let_interrupt(&own, kernel->session);
  const roc_target_facts *facts = roc_target_facts_of(options->target);
  set_workgroup(kernel, facts, module);
  roc_status status = roc_jit_fit_target(module, options->target, err);
  if (status == ROC_OK) status = roc_jit_dump(module, &own, stage, &text, err);
  roc_ir_module_free(module);
  if (status == ROC_OK && stage == ROC_CG_ASM) {
    roc_jit_annotate(kernel->program, facts, roc_str_text(&text), text.len, out);
  } else {
    roc_str_add(out, roc_str_text(&text), text.len);
  }
  roc_str_deinit(&text);
  if (status == ROC_OK && out->failed)
    return roc_fail(err, ROC_OOM, "out of memory while printing kernel '%s'", kernel->name);
  return status;
}
