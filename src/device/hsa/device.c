/* Starting ROCR, finding the GPUs, opening one; and the driver's table of ops. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/amdgpu_target.h"
#include "device/common/common.h"
#include "device/hsa/absent.h"
#include "device/hsa/emulated.h"
#include "device/hsa/driver.h"

enum {
  DEFAULT_QUEUES = 8, /* GPUs run at least as many side by side */
  QUEUE_PACKETS = 16384,
  AGENT_INFO_MEMORY_PROPERTIES = 0xA114, /* of newer headers: bits, the first is APU */
};

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_started;
static uint32_t open_count;
static bool was_lost; /* ROCR is not shut down over a GPU that hangs */

/* ---- GPUs we compile for ------------------------------------------------- */

/* What an agent's ISA names come to; newer ROCR lists several, the GPU's own first. */
typedef struct isa_choice {
  const roc_gpu_chip *chip; /* NULL: our compiler knows none of them */
  char target[64];          /* its target id, or the first one's */
} isa_choice;

/* The target id our compiler takes: the one given, or without features it does not know. */
static void consider_target(isa_choice *choice, const char *id) {
  char target[sizeof choice->target];
  snprintf(target, sizeof target, "%s", id);
  const roc_gpu_chip *chip = roc_gpu_chip_find(target, NULL);
  char *features = strchr(target, ':');
  if (!chip && features) {
    *features = '\0';
    chip = roc_gpu_chip_find(target, NULL);
  }
  if (chip || !choice->target[0]) snprintf(choice->target, sizeof choice->target, "%s", target);
  choice->chip = chip;
}

/* "amdgcn-amd-amdhsa--gfx90a:sramecc-:xnack-" holds the target id after two dashes. */
static hsa_status_t take_isa(hsa_isa_t isa, void *ud) {
  char name[256] = "";
  isa_choice *choice = ud;
  uint32_t length = 0;
  if (choice->chip ||
      roc_hsa.hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME_LENGTH, &length) != HSA_STATUS_SUCCESS ||
      length >= sizeof name ||
      roc_hsa.hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, name) != HSA_STATUS_SUCCESS) {
    return HSA_STATUS_SUCCESS;
  }
  const char *id = strstr(name, "--");
  if (id) consider_target(choice, id + 2);
  return HSA_STATUS_SUCCESS;
}

/* The agents found, and the last GPU that was passed over. */
typedef struct survey {
  uint32_t passed_over;
  char refused[64];
} survey;

static void add_gpu(survey *found, hsa_agent_t agent) {
  isa_choice choice = {0};
  roc_hsa.hsa_agent_iterate_isas(agent, take_isa, &choice);
  if (!choice.chip) {
    found->passed_over++;
    snprintf(found->refused, sizeof found->refused, "%s",
             choice.target[0] ? choice.target : "a GPU of unknown kind");
    return;
  }
  uint32_t i = roc_hsa_sys.ngpus++;
  roc_hsa_sys.gpus[i] = agent;
  roc_hsa_sys.chips[i] = choice.chip;
  memcpy(roc_hsa_sys.targets[i], choice.target, sizeof choice.target);
}

static hsa_status_t look_at_agent(hsa_agent_t agent, void *ud) {
  survey *found = ud;
  hsa_device_type_t type;
  if (roc_hsa.hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type) != HSA_STATUS_SUCCESS) {
    return HSA_STATUS_SUCCESS;
  }
  if (type == HSA_DEVICE_TYPE_CPU && roc_hsa_sys.ncpus < ROC_HSA_MAX_CPUS) {
    roc_hsa_sys.cpus[roc_hsa_sys.ncpus++] = agent;
    roc_hsa_sys.cpu = roc_hsa_sys.cpus[0];
  }
  if (type == HSA_DEVICE_TYPE_GPU && roc_hsa_sys.ngpus < ROC_HSA_MAX_GPUS) add_gpu(found, agent);
  return HSA_STATUS_SUCCESS;
}

/* ---- pools --------------------------------------------------------------- */

static roc_status find_host_pools(roc_error *err) {
  bool has_host = roc_hsa_find_pool(roc_hsa_sys.cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED,
                                    &roc_hsa_sys.host_pool);
  if (!has_host) {
    return roc_fail(err, ROC_UNAVAILABLE, "ROCR offers no host memory that a GPU can share");
  }
  if (!roc_hsa_find_pool(roc_hsa_sys.cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT,
                         &roc_hsa_sys.kernarg_pool)) {
    roc_hsa_sys.kernarg_pool = roc_hsa_sys.host_pool;
  }
  return ROC_OK;
}

/* ---- start and end ------------------------------------------------------- */

/* ROCLUA_HSA_COPY_TIMEOUT: seconds after which a copy is given up; see stall.c. */
static roc_status read_copy_timeout(uint64_t *out_ns, roc_error *err) {
  uint64_t seconds = 60;
  ROC_TRY(roc_env_number("ROCLUA_HSA_COPY_TIMEOUT", 0, 1000000, &seconds, err));
  *out_ns = seconds * 1000000000;
  return ROC_OK;
}

static roc_status survey_machine(roc_error *err) {
  survey found = {0};
  roc_hsa_sys = (roc_hsa_system){.tick_hz = 1000000000};
  ROC_TRY(read_copy_timeout(&roc_hsa_sys.copy_timeout_ns, err));
  roc_hsa.hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &roc_hsa_sys.tick_hz);
  hsa_status_t status = roc_hsa.hsa_iterate_agents(look_at_agent, &found);
  if (status != HSA_STATUS_SUCCESS) return roc_hsa_fail_init(status, err);
  if (roc_hsa_sys.ngpus == 0) {
    bool has_none = found.passed_over == 0 && !roc_emulated_is_asked();
    if (has_none) ROC_TRY(roc_hsa_check_render_nodes("", err));
    return roc_hsa_fail_no_gpu(found.passed_over, found.refused, err);
  }
  ROC_TRY(find_host_pools(err));
  return roc_hsa_watch_faults(err);
}

/* When a kernel fails, newer ROCR writes all memory of the GPU to a file in the working directory
 * unless it is told not to. Its threads inherit the signal mask: Ctrl-C must reach the thread that
 * waits. */
static hsa_status_t init_rocr(void) {
  sigset_t all, old;
  setenv("HSA_DISABLE_COREDUMP_ON_EXCEPTION", "1", 0);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  hsa_status_t status = roc_hsa.hsa_init();
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return status;
}

/* start_lock held. */
static roc_status start(roc_error *err) {
  if (is_started) return ROC_OK;
  ROC_TRY(roc_hsa_load(err));
  hsa_status_t initialised = init_rocr();
  if (initialised != HSA_STATUS_SUCCESS) return roc_hsa_fail_init(initialised, err);
  roc_status status = survey_machine(err);
  if (status != ROC_OK) {
    roc_hsa.hsa_shut_down();
    return status;
  }
  roc_hsa_watch_open(roc_hsa_on_memory_fault);
  is_started = true;
  return ROC_OK;
}

static roc_status hsa_probe(uint32_t *out_count, roc_error *err) {
  pthread_mutex_lock(&start_lock);
  roc_status status = start(err);
  *out_count = status == ROC_OK ? roc_hsa_sys.ngpus : 0;
  pthread_mutex_unlock(&start_lock);
  return status;
}

/* ---- properties ---------------------------------------------------------- */

/* Whether an atomic operation of the GPU may go astray on the way to the host's memory: over PCIe,
 * the slot, the bridges and the processor must all carry them.  As ROCR is told by the driver. */
static bool lacks_host_atomics(hsa_agent_t agent) {
  enum { MAX_HOPS = 8 };
  hsa_amd_memory_pool_link_info_t links[MAX_HOPS] = {0};
  uint32_t hops = 0;
  bool is_told = roc_hsa.hsa_amd_agent_memory_pool_get_info(
                     agent, roc_hsa_sys.host_pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS,
                     &hops) == HSA_STATUS_SUCCESS &&
                 hops <= MAX_HOPS &&
                 roc_hsa.hsa_amd_agent_memory_pool_get_info(
                     agent, roc_hsa_sys.host_pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO,
                     links) == HSA_STATUS_SUCCESS;
  for (uint32_t i = 0; is_told && i < hops; i++) {
    if (!links[i].atomic_support_32bit || !links[i].atomic_support_64bit) return true;
  }
  return false;
}

/* Old APUs share all memory with the host.  Newer ones do where page faults of the GPU are resolved
 * (XNACK); on a GPU with memory of its own that would work too, and be slow. */
static bool shares_host_memory(hsa_agent_t agent) {
  hsa_profile_t profile = HSA_PROFILE_BASE;
  roc_hsa.hsa_agent_get_info(agent, HSA_AGENT_INFO_PROFILE, &profile);
  if (profile == HSA_PROFILE_FULL) return true;
  uint8_t properties[8] = {0};
  bool is_accessible = false;
  hsa_status_t status =
      roc_hsa.hsa_agent_get_info(agent, (hsa_agent_info_t)AGENT_INFO_MEMORY_PROPERTIES, properties);
  if (status != HSA_STATUS_SUCCESS || !(properties[0] & 1)) return false;
  status =
      roc_hsa.hsa_system_get_info(HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT, &is_accessible);
  return status == HSA_STATUS_SUCCESS && is_accessible;
}

static void read_name(hsa_agent_t agent, const roc_gpu_chip *chip, roc_device_props *props) {
  char name[64] = "";
  roc_hsa.hsa_agent_get_info(agent, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_PRODUCT_NAME, name);
  name[sizeof name - 1] = '\0';
  if (name[0]) {
    snprintf(props->name, sizeof props->name, "%s", name);
  } else {
    snprintf(props->name, sizeof props->name, "AMD %s", chip->name);
  }
}

static void read_workgroup_limits(hsa_agent_t agent, roc_device_props *props) {
  uint32_t most = ROC_GPU_MAX_WORKGROUP;
  uint16_t dims[3] = {ROC_GPU_MAX_WORKGROUP, ROC_GPU_MAX_WORKGROUP, ROC_GPU_MAX_WORKGROUP};
  roc_hsa.hsa_agent_get_info(agent, HSA_AGENT_INFO_WORKGROUP_MAX_SIZE, &most);
  roc_hsa.hsa_agent_get_info(agent, HSA_AGENT_INFO_WORKGROUP_MAX_DIM, dims);
  props->max_workgroup = most < ROC_GPU_MAX_WORKGROUP ? most : ROC_GPU_MAX_WORKGROUP;
  for (int d = 0; d < 3; d++) {
    props->max_workgroup_dim[d] = dims[d] < props->max_workgroup ? dims[d] : props->max_workgroup;
    props->max_groups[d] = UINT32_MAX; /* and fewer than 2^32 work-items: see roc_hsa_launch */
  }
}

/* Kernels for wavefronts of 64 on a chip that has 32 by default, by its target id's feature. */
static const roc_gpu_chip *widen(const roc_gpu_chip *chip, uint32_t wavefront, char *arch) {
  char wide[sizeof(roc_device_props){0}.arch];
  if (wavefront <= chip->wave_size) return chip;
  int len = snprintf(wide, sizeof wide, "%s:wavefrontsize%u", chip->name, wavefront);
  const roc_gpu_chip *found = len < (int)sizeof wide ? roc_gpu_chip_find(wide, NULL) : NULL;
  if (!found) return chip;
  memcpy(arch, wide, (size_t)len + 1);
  return found;
}

static void describe(roc_hsa_device *device, uint32_t ordinal, uint32_t wavefront) {
  hsa_agent_t agent = device->agent;
  roc_device *base = &device->base;
  roc_device_props *props = &base->props;
  base->ops = &roc_hsa_ops;
  base->kind = roc_hsa_ops.kind;
  base->ordinal = ordinal;
  memcpy(props->arch, roc_hsa_sys.targets[ordinal], sizeof roc_hsa_sys.targets[ordinal]);
  const roc_gpu_chip *chip = widen(roc_hsa_sys.chips[ordinal], wavefront, props->arch);
  read_name(agent, chip, props);
  read_workgroup_limits(agent, props);
  props->wavefront_size = chip->wave_size;
  props->shared_bytes = chip->max_shared_bytes;
  roc_hsa.hsa_agent_get_info(agent, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT,
                             &props->compute_units);
  size_t nbytes = 0;
  roc_hsa.hsa_amd_memory_pool_get_info(device->pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, &nbytes);
  props->memory_total = nbytes;
  props->has_own_atomics = true;
  props->lacks_host_atomics = lacks_host_atomics(agent);
  props->is_checked = roc_emulated_is_checked();
  device->queue_packets = QUEUE_PACKETS;
  roc_hsa.hsa_agent_get_info(agent, HSA_AGENT_INFO_QUEUE_MAX_SIZE, &device->queue_packets);
  if (device->queue_packets > QUEUE_PACKETS) device->queue_packets = QUEUE_PACKETS;
}

/* ROCLUA_HSA_QUEUES: queues of a device that its streams share. */
static roc_status read_queue_limit(uint32_t *out_count, roc_error *err) {
  uint64_t count = DEFAULT_QUEUES;
  roc_status status = roc_env_number("ROCLUA_HSA_QUEUES", 1, ROC_HSA_MAX_QUEUES, &count, err);
  *out_count = (uint32_t)count;
  return status;
}

/* ---- opening ------------------------------------------------------------- */

/* Where the GPU's memory is the host's, the host must reach what is allocated. */
static void choose_pool(roc_hsa_device *device) {
  enum { COARSE = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED };
  device->base.props.host_memory = shares_host_memory(device->agent);
  device->has_host_pool =
      device->base.props.host_memory || !roc_hsa_find_pool(device->agent, COARSE, &device->pool);
  if (!device->has_host_pool || roc_hsa_find_pool(roc_hsa_sys.cpu, COARSE, &device->pool)) return;
  device->pool = roc_hsa_sys.host_pool;
}

/* What ROCLUA_WAVEFRONT asks for; 0: nothing, each chip has its own. */
static roc_status read_wavefront(uint32_t *out_size, roc_error *err) {
  *out_size = 0;
  return roc_env_text("ROCLUA_WAVEFRONT") ? roc_host_wavefront(out_size, err) : ROC_OK;
}

/* start_lock held. */
static roc_status open_locked(uint32_t ordinal, roc_hsa_device **out_device, roc_error *err) {
  ROC_TRY(start(err));
  if (ordinal >= roc_hsa_sys.ngpus) {
    return roc_fail(err, ROC_UNAVAILABLE, "there are only %u AMD GPUs any more", roc_hsa_sys.ngpus);
  }
  uint32_t wavefront;
  ROC_TRY(read_wavefront(&wavefront, err));
  roc_hsa_device *device = roc_zalloc(sizeof *device);
  if (!device) return roc_fail(err, ROC_OOM, "out of memory: cannot open an AMD GPU");
  roc_status status = read_queue_limit(&device->max_queues, err);
  if (status != ROC_OK) {
    roc_free(device);
    return status;
  }
  device->agent = roc_hsa_sys.gpus[ordinal];
  choose_pool(device);
  roc_hsa_signals_init(&device->signals);
  describe(device, ordinal, wavefront);
  if (device->base.props.memory_total == 0) {
    roc_hsa_signals_deinit(&device->signals);
    roc_free(device);
    return roc_fail(err, ROC_UNAVAILABLE, "ROCR does not say how much memory the AMD GPU has");
  }
  open_count++;
  *out_device = device;
  return ROC_OK;
}

static void hsa_watch(const roc_device *base) {
  const roc_hsa_device *device = (const roc_hsa_device *)base;
  if (base->is_lost) return;
  roc_hsa_watch_look();
  for (uint32_t i = 0; i < atomic_load(&device->nqueues) && !base->is_lost; i++) {
    roc_hsa_queue_check_stall(device->queues[i]);
  }
}

static roc_status hsa_open(uint32_t ordinal, roc_device **out_device, roc_error *err) {
  roc_hsa_device *device = NULL;
  pthread_mutex_lock(&start_lock);
  roc_status status = open_locked(ordinal, &device, err);
  pthread_mutex_unlock(&start_lock);
  ROC_TRY(status);
  roc_hsa_list_device(device, true);
  *out_device = &device->base;
  return ROC_OK;
}

/* False: some thread of a lost device has been given up. */
static bool stop_workers(roc_hsa_device *device) {
  bool have_left = true;
  for (uint32_t i = 0; i < device->nqueues; i++) {
    have_left = roc_hsa_worker_stop(device->queues[i]) && have_left;
  }
  for (roc_hsa_queue *q = device->foreign; q; q = q->next_foreign) {
    have_left = roc_hsa_worker_stop(q) && have_left;
  }
  return have_left;
}

static void hsa_quiesce(roc_device *base) {
  stop_workers(roc_hsa_device_of(base));
}

static void free_device(roc_hsa_device *device) {
  for (uint32_t i = 0; i < device->nqueues; i++) roc_hsa_queue_destroy(device->queues[i]);
  while (device->foreign) {
    roc_hsa_queue *queue = device->foreign;
    device->foreign = queue->next_foreign;
    roc_hsa_queue_destroy(queue);
  }
  if (device->staging) roc_hsa_free_host(&device->base, device->staging);
  roc_hsa_signals_deinit(&device->signals);
  roc_free(device);
}

static void hsa_close(roc_device *base) {
  roc_hsa_device *device = roc_hsa_device_of(base);
  roc_hsa_list_device(device, false);
  bool is_lost = base->is_lost;
  /* The worker of one queue may look at another; for one that was given up all of it is kept. */
  if (stop_workers(device)) free_device(device);
  pthread_mutex_lock(&start_lock);
  was_lost = was_lost || is_lost;
  if (--open_count == 0 && !was_lost) {
    roc_hsa_watch_close();
    roc_hsa.hsa_shut_down();
    is_started = false;
  }
  pthread_mutex_unlock(&start_lock);
}

/* A healthy device has nothing to reset: a queue that stopped is replaced by its next use. */
static roc_status hsa_reset(roc_device *base, roc_error *err) {
  if (!base->is_lost) return ROC_OK;
  return roc_fail(err, ROC_UNSUPPORTED, "device '%s' is lost (%s): only a new process helps",
                  base->props.name, base->lost_why);
}

/* ---- streams ------------------------------------------------------------- */

/* What is pending counts most, for it may be waiting for something; then the streams. */
static uint64_t load_of(roc_hsa_queue *queue) {
  enum { PENDING_WEIGHT = 1 << 20 };
  roc_ticket issued = atomic_load(&queue->issued);
  if (roc_hsa_queue_has_done(queue, issued)) return queue->nstreams;
  return (issued - atomic_load(&queue->completed)) * PENDING_WEIGHT + queue->nstreams;
}

static roc_hsa_queue *find_least_used(const roc_hsa_device *device) {
  roc_hsa_queue *least = NULL;
  uint64_t load = 0;
  for (uint32_t i = 0; i < device->nqueues; i++) {
    uint64_t other = load_of(device->queues[i]);
    if (least && other >= load) continue;
    least = device->queues[i];
    load = other;
  }
  return least;
}

/* A queue of its own while there are some; then the one least used. */
static roc_status choose_queue(roc_hsa_device *device, roc_hsa_queue **out_queue, roc_error *err) {
  *out_queue = find_least_used(device);
  bool is_free = *out_queue && load_of(*out_queue) == 0;
  if (is_free || device->nqueues == device->max_queues) return ROC_OK;
  roc_hsa_queue *made;
  roc_status status = roc_hsa_queue_create(device, &made, *out_queue ? NULL : err);
  if (status != ROC_OK) return *out_queue ? ROC_OK : status; /* the machine has no more */
  device->queues[device->nqueues] = made;
  atomic_fetch_add(&device->nqueues, 1);
  *out_queue = made;
  return ROC_OK;
}

static void add_stream(roc_hsa_stream *stream, roc_device *base, roc_dev_stream **out_stream) {
  stream->base.device = base;
  stream->last = 1; /* complete in every queue */
  stream->next = stream->queue->streams;
  stream->queue->streams = stream;
  stream->queue->nstreams++;
  *out_stream = &stream->base;
}

static roc_status hsa_stream_create(roc_device *base, roc_dev_stream **out_stream, roc_error *err) {
  roc_hsa_device *device = roc_hsa_device_of(base);
  if (base->is_lost) return roc_hsa_fail_lost(device, err);
  roc_hsa_stream *stream = roc_zalloc(sizeof *stream);
  if (!stream) return roc_fail(err, ROC_OOM, "out of memory: no room for a stream");
  roc_status status = choose_queue(device, &stream->queue, err);
  if (status != ROC_OK) {
    roc_free(stream);
    return status;
  }
  add_stream(stream, base, out_stream);
  return ROC_OK;
}

/* One that has served another foreign queue of that size, or a new one. */
static roc_status choose_foreign(roc_hsa_device *device, hsa_queue_t *native,
                                 roc_hsa_queue **out_queue, roc_error *err) {
  for (roc_hsa_queue *q = device->foreign; q; q = q->next_foreign) {
    if (q->nstreams > 0 || q->ring.mask + 1 != native->size) continue;
    *out_queue = q;
    roc_hsa_queue_move_to(q, native);
    return ROC_OK;
  }
  ROC_TRY(roc_hsa_queue_create_on(device, native, out_queue, err));
  (*out_queue)->next_foreign = device->foreign;
  device->foreign = *out_queue;
  return ROC_OK;
}

static roc_status hsa_stream_adopt(roc_device *base, void *native, roc_dev_stream **out_stream,
                                   roc_error *err) {
  roc_hsa_device *device = roc_hsa_device_of(base);
  if (base->is_lost) return roc_hsa_fail_lost(device, err);
  ROC_TRY(roc_hsa_ring_check(native, err));
  roc_hsa_stream *stream = roc_zalloc(sizeof *stream);
  if (!stream) return roc_fail(err, ROC_OOM, "out of memory: no room for a stream");
  roc_status status = choose_foreign(device, native, &stream->queue, err);
  if (status != ROC_OK) {
    roc_free(stream);
    return status;
  }
  add_stream(stream, base, out_stream);
  return ROC_OK;
}

static void hsa_stream_destroy(roc_dev_stream *base) {
  roc_hsa_stream *stream = roc_hsa_stream_of(base), **link = &stream->queue->streams;
  while (*link != stream) link = &(*link)->next;
  *link = stream->next;
  stream->queue->nstreams--;
  if (stream->queue->ring.is_foreign) roc_hsa_ring_close(&stream->queue->ring);
  roc_free(stream);
}

/* A real GPU's kernels go on: nothing ends them but the end of the process.  Software GPUs end all
 * that they run, other streams' kernels too: streams share their queues. */
static void interrupt_kernels(roc_dev_stream *stream) {
  (void)stream;
  roc_emulated_interrupt();
}

const roc_device_ops roc_hsa_ops = {
    .kind = "hsa",
    .copies_between = true,
    .probe = hsa_probe,
    .open = hsa_open,
    .close = hsa_close,
    .quiesce = hsa_quiesce,
    .reset = hsa_reset,
    .memory_free = roc_hsa_memory_free,
    .alloc = roc_hsa_alloc,
    .free = roc_hsa_free,
    .alloc_host = roc_hsa_alloc_host,
    .free_host = roc_hsa_free_host,
    .host_register = roc_hsa_register,
    .host_unregister = roc_hsa_unregister,
    .stream_create = hsa_stream_create,
    .stream_adopt = hsa_stream_adopt,
    .stream_destroy = hsa_stream_destroy,
    .has_room = roc_hsa_has_room,
    .copy = roc_hsa_copy,
    .fill = roc_hsa_fill,
    .scatter = roc_hsa_scatter,
    .launch = roc_hsa_launch,
    .host_call = roc_hsa_host_call,
    .stream_wait = roc_hsa_stream_wait,
    .stamp = roc_hsa_stamp_time,
    .is_done = roc_hsa_is_done,
    .wait = roc_hsa_wait,
    .watch = hsa_watch,
    .find_failure = roc_hsa_find_failure,
    .conclude = roc_emulated_conclude,
    .count_executed = roc_emulated_count_executed,
    .describe = roc_hsa_describe,
    .interrupt = interrupt_kernels,
    .module_load = roc_hsa_module_load,
    .module_unload = roc_hsa_module_unload,
    .module_load_beside = roc_hsa_module_load_beside,
};
