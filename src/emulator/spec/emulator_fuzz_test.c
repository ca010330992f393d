/* Hands the emulator kernels that no compiler made, for fuzz_spec.lua: whatever the
 * bytes of code, descriptor and packet are, the dispatch ends, by a fault or by its stop flag.
 *
 *   emulator_fuzz_test CHIP SEED COUNT [FILE…]
 *
 * Each of COUNT kernels is made from a seed of its own, SEED and the numbers after it: random
 * words, words that look like instructions, or the code of one of the files (code objects) with
 * some of its words changed. Prints how the dispatches ended. Best run under sanitizers; a crash
 * names its seed, and COUNT 1 repeats it. */
#include <elf.h>
#include <hsa/hsa.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "emulator/core/gpu.h"

enum {
  PAGE = 4096,
  CODE_OFFSET = 256,
  CODE_BYTES = 4 * PAGE,
  MEMORY_BYTES = 16 * PAGE,
  LIMIT_MS = 20, /* until a dispatch is told to stop */
  MAX_FILES = 512
};

static uint64_t seed; /* of the kernel at work */

static void fail(const char *what) {
  fprintf(stderr, "emulator_fuzz_test: %s\n", what);
  exit(2);
}

/* ---- numbers -------------------------------------------------------------------------------- */

static uint64_t state;

/* splitmix64 */
static uint64_t draw(void) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

static uint32_t below(uint32_t limit) {
  return (uint32_t)(draw() >> 32) % limit;
}

static bool one_in(uint32_t n) {
  return below(n) == 0;
}

/* ---- pages ---------------------------------------------------------------------------------- */

/* Pages that kernels may touch, between pages that they may not. */
static uint8_t *make_pages(emu_map *map, size_t nbytes, unsigned access) {
  uint8_t *bytes = mmap(NULL, nbytes + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED || mprotect(bytes + PAGE, nbytes, PROT_READ | PROT_WRITE) != 0) {
    fail("out of memory");
  }
  bytes += PAGE;
  if (!emu_map_set(map, (uintptr_t)bytes, nbytes, access)) fail("out of memory");
  return bytes;
}

/* ---- kernels -------------------------------------------------------------------------------- */

/* The words of code of one file. */
typedef struct sample {
  uint32_t *words;
  size_t count;
} sample;

static sample samples[MAX_FILES];
static unsigned nsamples;

static void add_sample(const char *path) {
  FILE *file = fopen(path, "rb");
  Elf64_Ehdr head;
  if (nsamples == MAX_FILES) return;
  if (!file || fread(&head, sizeof head, 1, file) != 1) fail(path);
  for (unsigned i = 0; i < head.e_shnum && nsamples < MAX_FILES; i++) {
    Elf64_Shdr section;
    fseek(file, (long)(head.e_shoff + i * sizeof section), SEEK_SET);
    if (fread(&section, sizeof section, 1, file) != 1) fail(path);
    if (section.sh_type != SHT_PROGBITS || !(section.sh_flags & SHF_EXECINSTR)) continue;
    sample *made = &samples[nsamples];
    made->count = section.sh_size / 4;
    made->words = malloc(section.sh_size + 4);
    fseek(file, (long)section.sh_offset, SEEK_SET);
    if (!made->words || fread(made->words, 4, made->count, file) != made->count) fail(path);
    nsamples += made->count > 0;
  }
  fclose(file);
}

/* First words of the encodings: SOP2, SOPK, SOP1, SOPC, SOPP, SMEM, VOP2, VOP1, VOPC, VOP3 of both
 * generations, VOP3P, LDS, FLAT and buffers. */
static uint32_t draw_instruction(void) {
  static const struct {
    uint32_t value, mask; /* bits that the encoding fixes */
  } encodings[] = {{0x80000000, 0xc0000000}, {0xb0000000, 0xf0000000}, {0xbe800000, 0xff800000},
                   {0xbf000000, 0xff800000}, {0xbf800000, 0xff800000}, {0xc0000000, 0xfc000000},
                   {0xf4000000, 0xfc000000}, {0x00000000, 0x80000000}, {0x7e000000, 0xfe000000},
                   {0x7c000000, 0xfe000000}, {0xd0000000, 0xfc000000}, {0xd4000000, 0xfc000000},
                   {0xd3800000, 0xff800000}, {0xcc000000, 0xff000000}, {0xd8000000, 0xfc000000},
                   {0xdc000000, 0xfc000000}, {0xe0000000, 0xfc000000}};
  uint32_t n = below(sizeof encodings / sizeof encodings[0]);
  return encodings[n].value | ((uint32_t)draw() & ~encodings[n].mask);
}

static void mutate(uint32_t *words, size_t count) {
  for (uint32_t n = 1 + below(8); n; n--) {
    uint32_t at = below((uint32_t)count);
    switch (below(5)) {
      case 0: words[at] ^= 1u << below(32); break;
      case 1: words[at] = (uint32_t)draw(); break;
      case 2: words[at] = draw_instruction(); break;
      case 3: words[at] = words[below((uint32_t)count)]; break;
      default: ((uint8_t *)&words[at])[below(4)] = (uint8_t)draw(); break;
    }
  }
}

/* Fills the page's room for code; the place where execution begins is its start. */
static void make_code(uint32_t *words, size_t count) {
  const sample *from = nsamples ? &samples[below(nsamples)] : NULL;
  unsigned kind = from ? below(12) : below(2);
  memset(words, 0, count * 4);
  if (kind >= 2) {
    uint32_t first = one_in(4) ? below((uint32_t)from->count) : 0;
    size_t left = from->count - first, n = left < count ? left : count;
    memcpy(words, from->words + first, n * 4);
    mutate(words, n);
    return;
  }
  size_t n = one_in(16) ? count : 1 + below(256);
  for (size_t i = 0; i < n; i++) words[i] = kind ? (uint32_t)draw() : draw_instruction();
  if (n < count) words[n] = 0xbf810000; /* s_endpgm */
}

/* Friendly: one that lets a kernel go on for a while. */
static uint64_t draw_address(const uint8_t *code, const uint8_t *memory, bool is_friendly) {
  switch (is_friendly ? UINT32_MAX : below(8)) {
    case 0: return 0;
    case 1: return draw();
    case 2: return (uintptr_t)code + below(CODE_BYTES);
    case 3: return UINT64_MAX - below(256);
    case 4: return (uint64_t)EMU_PRIVATE_APERTURE << 32 | draw() >> 32;
    default: return (uintptr_t)memory + (below(MEMORY_BYTES) & ~15u);
  }
}

/* The words of LLVM's AMDGPU usage guide, "Kernel descriptor": mostly ones that make sense. */
static void make_descriptor(const emu_chip *chip, uint8_t *descriptor) {
  uint32_t user = (uint32_t)draw() & 0x7f, rsrc1 = (uint32_t)draw(), rsrc2,
           rsrc3 = (uint32_t)draw();
  int64_t entry = CODE_OFFSET;
  if (one_in(2)) user &= 0x0a, user |= 0x08;
  rsrc2 = ((uint32_t)draw() & ~0x3eu) | 16 << 1;
  bool is_narrow = chip->wave_size == 32 && !one_in(4);
  uint16_t properties = (uint16_t)(user | (is_narrow ? 1u << 10 : 0));
  if (!one_in(8)) rsrc1 |= 0x3f | 0xf << 6, rsrc3 |= 0x1f;
  if (!one_in(16)) rsrc1 &= ~(1u << 26), rsrc2 &= ~(0x7fu << 24); /* FP16_OVFL, exceptions */
  if (one_in(32)) rsrc2 = (uint32_t)draw(), properties = (uint16_t)draw(), entry = (int64_t)draw();
  memset(descriptor, 0, 64);
  memcpy(descriptor + 16, &entry, 8);
  memcpy(descriptor + 44, &rsrc3, 4);
  memcpy(descriptor + 48, &rsrc1, 4);
  memcpy(descriptor + 52, &rsrc2, 4);
  memcpy(descriptor + 56, &properties, 2);
}

static uint32_t draw_size(uint32_t usual) {
  static const uint32_t odd[] = {0, 1, 3, 0x7fffffff, 0x80000000, 0xfffffff1, 0xffffffff};
  return one_in(40) ? odd[below(sizeof odd / sizeof odd[0])] : below(usual);
}

static void make_packet(hsa_kernel_dispatch_packet_t *packet, uint64_t kernel, uint64_t args) {
  uint32_t x = one_in(2) ? 64 : 1 + below(200);
  *packet = (hsa_kernel_dispatch_packet_t){.setup = (uint16_t)(one_in(50) ? below(4) : 1)};
  packet->workgroup_size_x = (uint16_t)x;
  packet->workgroup_size_y = packet->workgroup_size_z = 1;
  packet->grid_size_x = one_in(40) ? draw_size(1) : 1 + below(2 * x);
  packet->grid_size_y = packet->grid_size_z = 1;
  if (one_in(8)) {
    packet->setup = 3;
    packet->workgroup_size_y = (uint16_t)(1 + below(4));
    packet->grid_size_y = 1 + below(8);
    packet->workgroup_size_z = (uint16_t)(1 + below(2));
    packet->grid_size_z = draw_size(3);
  }
  packet->group_segment_size = draw_size(65537);
  packet->private_segment_size = draw_size(4096);
  packet->kernel_object = one_in(60) ? kernel + below(128) : kernel;
  packet->kernarg_address = (void *)(uintptr_t)args;  // NOLINT
}

/* ---- running -------------------------------------------------------------------------------- */

/* A thread that sets the flag of a dispatch that takes too long. */
typedef struct stopper {
  pthread_mutex_t lock;
  pthread_cond_t change;
  bool is_running, ends;
  unsigned run; /* counts dispatches: one may begin before the thread has seen the end of another */
  _Atomic bool stop;
} stopper;

static void *watch(void *ud) {
  stopper *s = ud;
  pthread_mutex_lock(&s->lock);
  while (!s->ends) {
    struct timespec end;
    if (!s->is_running) {
      pthread_cond_wait(&s->change, &s->lock);
      continue;
    }
    clock_gettime(CLOCK_REALTIME, &end);
    uint64_t nanoseconds = (uint64_t)end.tv_nsec + LIMIT_MS * 1000000ull;
    end.tv_sec += (time_t)(nanoseconds / 1000000000);
    end.tv_nsec = (long)(nanoseconds % 1000000000);
    unsigned run = s->run;
    bool is_late = false;
    while (s->is_running && s->run == run && !is_late) {
      is_late = pthread_cond_timedwait(&s->change, &s->lock, &end) != 0;
    }
    if (s->is_running && s->run == run) s->stop = true;
    while (s->is_running && s->run == run) pthread_cond_wait(&s->change, &s->lock);
  }
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

static void set_watch(stopper *s, bool is_running, bool ends) {
  pthread_mutex_lock(&s->lock);
  s->is_running = is_running;
  s->ends = ends;
  if (is_running) {
    s->stop = false;
    s->run++;
  }
  pthread_cond_signal(&s->change);
  pthread_mutex_unlock(&s->lock);
}

static void raise_event(void *ud, uint32_t id) {
  (void)ud;
  (void)id;
}

/* The parent process knows the signal's number, but not the seed. */
static void print_seed(int signal_number) {
  char text[64];
  int n = snprintf(text, sizeof text, "emulator_fuzz_test: signal with seed %llu\n",
                   (unsigned long long)seed);
  if (write(2, text, (size_t)n) == n) signal(signal_number, SIG_DFL);
  raise(signal_number);
}

/* Random words, or small ones and (in the arguments) addresses. */
static void fill(uint8_t *args, const uint8_t *kernel, uint8_t *memory, bool is_friendly) {
  for (size_t i = 0; i < MEMORY_BYTES; i += 4) {
    uint32_t word = is_friendly ? below(256) : (uint32_t)draw();
    memcpy(memory + i, &word, 4);
  }
  for (size_t i = 0; i < PAGE; i += 8) {
    bool is_number = one_in(is_friendly ? 6 : 3);
    uint64_t number = is_friendly ? below(256) : draw();
    uint64_t word = is_number ? number : draw_address(kernel, memory, is_friendly);
    memcpy(args + i, &word, 8);
  }
}

int main(int argc, char **argv) {
  enum { ENDED, STOPPED, FAULTS };
  static const char *const names[] = {"ended",   "stopped", "memory", "aperture",
                                      "illegal", "trap",    "packet"};
  unsigned counts[sizeof names / sizeof names[0]] = {0};
  if (argc < 4) fail("usage: emulator_fuzz_test CHIP SEED COUNT [FILE...]");
  const emu_chip *chip = emu_chip_find(argv[1]);
  emu_map *map = emu_map_new();
  emu_gpu *gpu = chip && map ? emu_gpu_new(chip, map, 1) : NULL;
  if (!gpu) fail("the chip is not known, or memory is out");
  for (int i = 4; i < argc; i++) add_sample(argv[i]);
  uint8_t *kernel = make_pages(map, CODE_OFFSET + CODE_BYTES, EMU_PAGE_READ);
  uint8_t *memory = make_pages(map, MEMORY_BYTES, EMU_PAGE_READ | EMU_PAGE_WRITE);
  uint8_t *args = make_pages(map, PAGE, EMU_PAGE_READ);
  stopper s = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};
  pthread_t thread;
  if (pthread_create(&thread, NULL, watch, &s) != 0) fail("no thread");
  signal(SIGSEGV, print_seed);
  signal(SIGBUS, print_seed);
  signal(SIGABRT, print_seed);
  uint64_t first = strtoull(argv[2], NULL, 0), count = strtoull(argv[3], NULL, 0);
  for (seed = first; seed - first < count; seed++) {
    hsa_kernel_dispatch_packet_t packet;
    emu_fault fault = {0};
    state = seed * 0x9e3779b97f4a7c15;
    make_code((uint32_t *)(kernel + CODE_OFFSET), CODE_BYTES / 4);
    make_descriptor(chip, kernel);
    fill(args, kernel, memory, !one_in(4));
    make_packet(&packet, (uintptr_t)kernel, one_in(50) ? 0 : (uintptr_t)args);
    emu_queue_view view = {.stop = &s.stop,
                           .packet_address = (uintptr_t)args,
                           .queue_address = (uintptr_t)memory,
                           .raise_event = raise_event};
    emu_gpu_code_changed(gpu);
    set_watch(&s, true, false);
    bool has_ended = emu_gpu_run(gpu, &view, &packet, &fault);
    set_watch(&s, false, false);
    unsigned how = !has_ended ? STOPPED + (unsigned)fault.kind : s.stop ? STOPPED : ENDED;
    if (!has_ended && (fault.kind == EMU_FAULT_NONE || fault.text[0] == 0))
      fail("a nameless fault");
    counts[how]++;
    if (count == 1) printf("%s %s\n", names[how], fault.text);
  }
  set_watch(&s, false, true);
  pthread_join(thread, NULL);
  for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
    printf("%s %u\n", names[i], counts[i]);
  emu_gpu_free(gpu);
  emu_map_free(map);
  for (unsigned i = 0; i < nsamples; i++) free(samples[i].words);
  return 0;
}
