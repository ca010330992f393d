/* Runs dispatch packets on the emulator without ROCR, for dispatch_spec.lua
 * (support/dispatch.lua speaks with it).
 *
 *   emulator_dispatch_test run              dispatches on stdin, what became of them on stdout
 *   emulator_dispatch_test names FILE       loads a code object as ROCR would, with a link map, and
 *                                           prints the names and lines of its functions' code
 *
 * Numbers are 32-bit words in the machine's order. Input: magic, chip (32 bytes), workers, bytes of
 * code, the code, number of dispatches, the dispatches. */
#include <elf.h>
#include <hsa/hsa.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "emulator/core/gpu.h"
#include "emulator/isa/name.h"

enum { MAGIC = 0x31504453, PAGE = 4096, CODE_ALIGNMENT = 256, MAX_EVENTS = 64 };

static void fail(const char *what) {
  fprintf(stderr, "emulator_dispatch_test: %s\n", what);
  exit(2);
}

static void read_bytes(void *out, size_t nbytes) {
  if (nbytes && fread(out, 1, nbytes, stdin) != nbytes) fail("the input ends too early");
}

static uint32_t read_word(void) {
  uint32_t word;
  read_bytes(&word, sizeof word);
  return word;
}

static void write_words(const void *words, size_t nbytes) {
  fwrite(words, 1, nbytes, stdout);
}

static void write_word(uint32_t word) {
  write_words(&word, sizeof word);
}

static void write_string(const void *bytes, size_t nbytes) {
  write_word((uint32_t)nbytes);
  write_words(bytes, nbytes);
}

/* Pages of their own that kernels may touch. */
typedef struct pages {
  uint8_t *bytes;
  size_t nbytes;
} pages;

static pages make_pages(emu_map *map, size_t nbytes, unsigned access) {
  pages made = {NULL, (nbytes / PAGE + 1) * PAGE};
  made.bytes = mmap(NULL, made.nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made.bytes == MAP_FAILED) fail("out of memory");
  if (!emu_map_set(map, (uintptr_t)made.bytes, made.nbytes, access)) fail("out of memory");
  return made;
}

static void free_pages(emu_map *map, pages *made) {
  emu_map_set(map, (uintptr_t)made->bytes, made->nbytes, 0);
  munmap(made->bytes, made->nbytes);
}

/* ---- dispatches ---------------------------------------------------------------------------------
 */

typedef struct events {
  uint32_t ids[MAX_EVENTS], count;
} events;

static void raise_event(void *ud, uint32_t id) {
  events *raised = ud;
  if (raised->count < MAX_EVENTS) raised->ids[raised->count++] = id;
}

/* Sets a stop flag after some milliseconds, from a thread of its own; where the dispatch has
 * memory, not before the kernel has written to its first byte. */
typedef struct stopper {
  _Atomic bool stop;
  uint32_t after_ms;
  const _Atomic uint8_t *begun; /* NULL: no memory */
  pthread_t thread;
} stopper;

static void sleep_ms(uint32_t ms) {
  struct timespec pause = {ms / 1000, (long)(ms % 1000) * 1000000};
  nanosleep(&pause, NULL);
}

static void *stop_later(void *ud) {
  stopper *s = ud;
  while (s->begun && !*s->begun && !s->stop) sleep_ms(1);
  sleep_ms(s->after_ms);
  s->stop = true;
  return NULL;
}

/* The code after a descriptor of its own: pages that begin with the descriptor. */
static pages make_kernel(emu_map *map, const uint8_t *code, uint32_t nbytes, uint32_t entry) {
  pages made = make_pages(map, nbytes + 3 * CODE_ALIGNMENT, EMU_PAGE_READ);
  uint32_t shift = 2 * CODE_ALIGNMENT - entry % CODE_ALIGNMENT;
  int64_t offset = (int64_t)shift + entry;
  memcpy(made.bytes + shift, code, nbytes);
  memcpy(made.bytes + 16, &offset, sizeof offset);
  uint32_t words[] = {read_word(), read_word(), read_word(), read_word()};
  memcpy(made.bytes + 44, words, sizeof words);
  return made;
}

/* Grid, workgroup, LDS, private bytes, and the packet's setup word. */
static void read_shape(hsa_kernel_dispatch_packet_t *packet) {
  packet->setup = (uint16_t)read_word();
  packet->grid_size_x = read_word();
  packet->grid_size_y = read_word();
  packet->grid_size_z = read_word();
  packet->workgroup_size_x = (uint16_t)read_word();
  packet->workgroup_size_y = (uint16_t)read_word();
  packet->workgroup_size_z = (uint16_t)read_word();
  packet->group_segment_size = read_word();
  packet->private_segment_size = read_word();
}

/* The processor time this process has used. */
static uint64_t used_ns(void) {
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* Arguments: the address of the memory, then the bytes that follow in the input. */
static void run_dispatch(emu_gpu *gpu, emu_map *map, const uint8_t *code, uint32_t nbytes) {
  hsa_kernel_dispatch_packet_t packet = {0};
  stopper later = {0};
  events raised = {{0}, 0};
  emu_fault fault = {0};
  uint32_t entry = read_word();
  pages kernel = make_kernel(map, code, nbytes, entry);
  read_shape(&packet);
  uint32_t memory_bytes = read_word();
  pages memory = make_pages(map, memory_bytes, EMU_PAGE_READ | EMU_PAGE_WRITE);
  read_bytes(memory.bytes, memory_bytes);
  uint32_t args_bytes = read_word();
  pages args = make_pages(map, args_bytes + 8, EMU_PAGE_READ);
  memcpy(args.bytes, &memory.bytes, 8);
  read_bytes(args.bytes + 8, args_bytes);
  later.after_ms = read_word();
  if (memory_bytes) later.begun = (const _Atomic uint8_t *)memory.bytes;
  packet.kernel_object = (uintptr_t)kernel.bytes;
  packet.kernarg_address = args.bytes;
  emu_queue_view view = {.queue_address = 0x123400001234,
                         .packet_address = (uintptr_t)&packet,
                         .dispatch_id = 0x700000007,
                         .stop = &later.stop,
                         .raise_event = raise_event,
                         .ud = &raised};
  uint64_t before = emu_gpu_executed(gpu);
  emu_gpu_code_changed(gpu);
  if (later.after_ms) pthread_create(&later.thread, NULL, stop_later, &later);
  uint64_t begin = used_ns();
  bool has_ended = emu_gpu_run(gpu, &view, &packet, &fault);
  uint64_t spent = used_ns() - begin;
  later.stop = true; /* it may have ended before it had begun */
  if (later.after_ms) pthread_join(later.thread, NULL);
  const uint64_t numbers[] = {emu_gpu_executed(gpu) - before, (uintptr_t)&packet,
                              (uintptr_t)args.bytes, (uintptr_t)memory.bytes, spent};
  write_word(has_ended);
  write_words(numbers, sizeof numbers);
  write_string(memory.bytes, memory_bytes);
  write_word(fault.kind);
  write_word(fault.packet);
  write_string(fault.text, strlen(fault.text));
  write_string(raised.ids, raised.count * sizeof raised.ids[0]);
  free_pages(map, &kernel);
  free_pages(map, &memory);
  free_pages(map, &args);
}

static int run_dispatches(void) {
  char name[33] = "";
  if (read_word() != MAGIC) fail("this is no input of support/dispatch.lua");
  read_bytes(name, 32);
  const emu_chip *chip = emu_chip_find(name);
  if (!chip) fail("the chip is not known");
  emu_map *map = emu_map_new();
  emu_gpu *gpu = map ? emu_gpu_new(chip, map, read_word()) : NULL;
  if (!gpu) fail("out of memory");
  uint32_t nbytes = read_word();
  uint8_t *code = malloc(nbytes + 1);
  if (!code) fail("out of memory");
  read_bytes(code, nbytes);
  for (uint32_t n = read_word(); n; n--) run_dispatch(gpu, map, code, nbytes);
  emu_gpu_free(gpu);
  emu_map_free(map);
  free(code);
  return 0;
}

/* ---- names --------------------------------------------------------------------------------------
 */

static uint8_t *read_file(const char *path, size_t *nbytes) {
  FILE *file = fopen(path, "rb");
  if (!file) fail(path);
  fseek(file, 0, SEEK_END);
  *nbytes = (size_t)ftell(file);
  rewind(file);
  uint8_t *bytes = malloc(*nbytes + 1);
  if (!bytes || fread(bytes, 1, *nbytes, file) != *nbytes) fail(path);
  fclose(file);
  return bytes;
}

/* The object's segments where a loader would put them; the address that was added. */
static uint8_t *load(const uint8_t *file) {
  const Elf64_Ehdr *head = (const void *)file;
  const Elf64_Phdr *segments = (const void *)(file + head->e_phoff);
  uint8_t *image = mmap(NULL, 1 << 24, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (image == MAP_FAILED) fail("out of memory");
  for (unsigned i = 0; i < head->e_phnum; i++) {
    if (segments[i].p_type != PT_LOAD) continue;
    if (segments[i].p_vaddr + segments[i].p_filesz > 1 << 24) fail("the object is too large");
    memcpy(image + segments[i].p_vaddr, file + segments[i].p_offset, segments[i].p_filesz);
  }
  return image;
}

static void print_line(void *ud, uint64_t begin, uint64_t end, uint32_t line) {
  uint64_t *base = ud;
  if (end <= begin) fail("a line without code");
  printf("  +0x%llx %u\n", (unsigned long long)(begin - *base), line);
}

static void print_names(const uint8_t *file, const uint8_t *image) {
  const Elf64_Ehdr *head = (const void *)file;
  const Elf64_Phdr *segments = (const void *)(file + head->e_phoff);
  for (unsigned i = 0; i < head->e_phnum; i++) {
    if (segments[i].p_type != PT_LOAD || !(segments[i].p_flags & PF_X)) continue;
    uint64_t begin = (uintptr_t)image + segments[i].p_vaddr, end = begin + segments[i].p_filesz;
    char name[256] = "?", path[256] = "?";
    uint32_t line = 0;
    emu_name_find(begin, name, sizeof name);
    emu_name_line(begin, path, sizeof path, &line);
    printf("%s %s:%u\n", name, path, line);
    emu_name_lines(begin, end, print_line, &begin);
  }
}

/* As ROCR has it, then after the object's bytes went, then after its code changed. */
static int show_names(const char *path) {
  size_t nbytes;
  char uri[128];
  uint8_t *file = read_file(path, &nbytes), *image = load(file);
  uint8_t *shown = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (shown == MAP_FAILED) fail("out of memory");
  memcpy(shown, file, nbytes);
  snprintf(uri, sizeof uri, "memory://%d#offset=%p&size=%zu", getpid(), (void *)shown, nbytes);
  struct link_map other = {.l_addr = 16, .l_name = uri + 1};
  struct link_map entry = {.l_addr = (uintptr_t)image, .l_name = uri, .l_next = &other};
  struct r_debug debug = {.r_version = 1, .r_map = &entry};
  printf("nothing listed\n");
  print_names(file, image);
  emu_name_set_debug(&debug);
  printf("listed\n");
  print_names(file, image);
  munmap(shown, nbytes);
  printf("bytes gone\n");
  print_names(file, image);
  const Elf64_Ehdr *head = (const void *)file;
  const Elf64_Phdr *segments = (const void *)(file + head->e_phoff);
  for (unsigned i = 0; i < head->e_phnum; i++) {
    if (segments[i].p_flags & PF_X) image[segments[i].p_vaddr] ^= 1;
  }
  printf("code changed\n");
  print_names(file, image);
  emu_name_set_debug(NULL);
  free(file);
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "run") == 0) return run_dispatches();
  if (argc == 3 && strcmp(argv[1], "names") == 0) return show_names(argv[2]);
  fail("usage: emulator_dispatch_test run | names FILE");
}
