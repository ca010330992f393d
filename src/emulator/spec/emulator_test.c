/* Runs instructions on the emulator, one wavefront a case, for the files of this folder
 * (support/emulator.lua speaks with it).
 *
 *   emulator_test run              cases on stdin, results on stdout: see read_case, write_result
 *   emulator_test describe         the same input; prints each case's instructions as decoded
 *   emulator_test costs            the same input; prints what each costs by the model of time
 *   emulator_test known CHIP FILE… decodes code objects, and prints what is not understood
 *   emulator_test tables           prints the names that stand in the tables twice
 *   emulator_test decode CHIP      four words (hexadecimal) a line on stdin, each line an encoding;
 *                                  prints bytes, the disassembler's text and, by tabs, what is
 *                                  decoded, or "!" and why not
 *   emulator_test names CHIP       prints the names of the chip's instructions: "known v_add_f32"
 *   emulator_test programs         tests the cache of decoded code; prints "ok"
 *
 * Numbers are 32-bit words in the machine's order. Input: magic, wavefront width, chip (32 bytes),
 * bytes of code, the code, number of cases, the cases. */
#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "emulator/isa/chip.h"
#include "emulator/isa/dual.h"
#include "emulator/isa/disasm.h"
#include "emulator/exec/mode.h"
#include "emulator/exec/ops.h"
#include "emulator/core/program.h"
#include "emulator/report/model.h"
#include "emulator/isa/wave.h"
#include "emulator/support/map.h"

enum { MAGIC = 0x31554d45, MAX_STEPS = 1 << 22, PAGE = 4096, NO_REGISTER = 0xffffffff };

static void fail(const char *what) {
  fprintf(stderr, "emulator_test: %s\n", what);
  exit(2);
}

static void expect(bool is_so, const char *what) {
  if (!is_so) fail(what);
}

static void read_bytes(void *out, size_t nbytes) {
  if (nbytes && fread(out, 1, nbytes, stdin) != nbytes) fail("the input ends too early");
}

static uint32_t read_word(void) {
  uint32_t word;
  read_bytes(&word, sizeof word);
  return word;
}

static void write_word(uint32_t word) {
  fwrite(&word, sizeof word, 1, stdout);
}

static void write_bytes(const void *bytes, uint32_t nbytes) {
  write_word(nbytes);
  if (nbytes) fwrite(bytes, 1, nbytes, stdout);
}

/* Pages of their own that a kernel may touch, between pages it may not. */
typedef struct pages {
  uint8_t *bytes;
  size_t nbytes;
} pages;

static pages make_pages(emu_map *map, size_t nbytes, unsigned access) {
  pages made = {NULL, (nbytes + PAGE - 1) / PAGE * PAGE};
  if (made.nbytes == 0) made.nbytes = PAGE;
  made.bytes = mmap(NULL, made.nbytes + 2 * PAGE, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made.bytes == MAP_FAILED) fail("out of memory");
  made.bytes += PAGE;
  if (!emu_map_set(map, (uintptr_t)made.bytes, made.nbytes, access)) fail("out of memory");
  return made;
}

static void free_pages(emu_map *map, pages *made) {
  emu_map_set(map, (uintptr_t)made->bytes, made->nbytes, 0);
  munmap(made->bytes - PAGE, made->nbytes + 2 * PAGE);
}

typedef struct test {
  const emu_chip *chip;
  emu_map *map;
  emu_programs *programs;
  pages code;
  uint32_t width, ncases;
  emu_row *rows, *rows_before; /* EMU_VGPRS each */
} test;

static test read_test(void) {
  test t = {0};
  char name[33] = "";
  if (read_word() != MAGIC) fail("this is no input of support/emulator.lua");
  t.width = read_word();
  read_bytes(name, 32);
  t.chip = emu_chip_find(name);
  if (!t.chip) fail("the chip is not known");
  t.map = emu_map_new();
  t.programs = t.map ? emu_programs_new(t.chip, t.map) : NULL;
  if (!t.programs) fail("out of memory");
  uint32_t nbytes = read_word();
  t.code = make_pages(t.map, nbytes, EMU_PAGE_READ);
  read_bytes(t.code.bytes, nbytes);
  t.ncases = read_word();
  t.rows = aligned_alloc(64, sizeof(emu_row) * EMU_VGPRS);
  t.rows_before = aligned_alloc(64, sizeof(emu_row) * EMU_VGPRS);
  if (!t.rows || !t.rows_before) fail("out of memory");
  return t;
}

/* All registers that there are. */
static emu_register_limits allow_all(uint32_t width) {
  return (emu_register_limits){.wave_size = (uint16_t)width,
                               .sgprs = EMU_SGPR_VCC,
                               .vgprs = EMU_VGPRS / 2,
                               .accumulators = EMU_VGPRS / 2};
}

/* One wavefront with everything around it. */
typedef struct machine {
  emu_wave wave;
  emu_group group;
  emu_dispatch dispatch;
  emu_fault fault;
  _Atomic bool stop;
  uint8_t packet[64];
  pages memory;
  uint32_t memory_bytes;
} machine;

static void *zeroed(size_t nbytes) {
  size_t rounded = (nbytes / 64 + 1) * 64;
  void *block = aligned_alloc(64, rounded);
  if (!block) fail("out of memory");
  return memset(block, 0, rounded);
}

/* What follows the entry of a case: pairs (SGPR, value); VGPRs with 64 words each; VCC, EXEC,
 * SCC, M0, MODE; LDS; global memory, which register pair gets its address, and whether it may be
 * written; private bytes a lane, which four registers get their buffer resource. */
static void read_registers(test *t, machine *m) {
  emu_wave *wave = &m->wave;
  wave->width = (uint8_t)t->width;
  wave->v = t->rows;
  wave->nv = wave->nacc = EMU_VGPRS / 2;
  memset(t->rows, 0, sizeof(emu_row) * EMU_VGPRS);
  for (uint32_t n = read_word(); n; n--) {
    uint32_t reg = read_word();
    wave->s[reg % EMU_SGPRS] = read_word();
  }
  for (uint32_t n = read_word(); n; n--) {
    uint32_t reg = read_word();
    read_bytes(&t->rows[reg % EMU_VGPRS], sizeof(emu_row));
  }
  wave->s[EMU_SGPR_VCC] = read_word();
  wave->s[EMU_SGPR_VCC + 1] = read_word();
  uint64_t exec = read_word();
  emu_set_exec(wave, exec | (uint64_t)read_word() << 32);
  wave->scc = read_word();
  wave->s[EMU_SGPR_M0] = read_word();
  emu_mode_set(&wave->mode, t->chip, read_word());
  memcpy(t->rows_before, t->rows, sizeof(emu_row) * EMU_VGPRS);
}

/* As a kernel finds it: swizzled, the lane's number added to the index. */
static void put_private_buffer(const emu_wave *wave, uint32_t *at) {
  uint64_t base = (uintptr_t)wave->scratch;
  at[0] = (uint32_t)base;
  at[1] = (uint32_t)(base >> 32) | 1u << 31;
  at[2] = wave->scratch_bytes * wave->width;
  at[3] = 1u << 23 | (wave->width == 64 ? 3u : 2u) << 21;
}

static void read_case(test *t, machine *m) {
  memset(m, 0, sizeof *m);
  m->wave.group = &m->group;
  m->group.dispatch = &m->dispatch;
  m->dispatch =
      (emu_dispatch){.chip = t->chip, .map = t->map, .packet = m->packet, .kernel = "test"};
  m->dispatch.stop = &m->stop;
  m->dispatch.fault = &m->fault;
  m->dispatch.grid[0] = m->dispatch.local[0] = t->width;
  m->dispatch.groups[0] = 1;
  for (int i = 1; i < 3; i++) {
    m->dispatch.grid[i] = m->dispatch.local[i] = m->dispatch.groups[i] = 1;
  }
  memcpy(m->group.local, m->dispatch.local, sizeof m->group.local);
  uint64_t entry = (uintptr_t)t->code.bytes + read_word();
  const emu_register_limits limits = allow_all(t->width);
  m->dispatch.program = emu_programs_get(t->programs, entry, &limits);
  if (!m->dispatch.program) fail("out of memory, or LLVM does not know the chip");
  m->wave.next = m->dispatch.program->first;
  read_registers(t, m);
  m->group.lds_bytes = read_word();
  m->group.lds = zeroed(m->group.lds_bytes);
  read_bytes(m->group.lds, m->group.lds_bytes);
  m->group.nwaves = 1;
  m->group.waves = &m->wave;
  m->memory_bytes = read_word();
  uint32_t address_in = read_word(), is_constant = read_word();
  m->memory = make_pages(t->map, m->memory_bytes,
                         is_constant ? EMU_PAGE_READ : EMU_PAGE_READ | EMU_PAGE_WRITE);
  read_bytes(m->memory.bytes, m->memory_bytes);
  if (address_in != NO_REGISTER) {
    m->wave.s[address_in] = (uint32_t)(uintptr_t)m->memory.bytes;
    m->wave.s[address_in + 1] = (uint32_t)((uintptr_t)m->memory.bytes >> 32);
  }
  m->wave.scratch_bytes = read_word();
  m->wave.scratch = zeroed((size_t)m->wave.scratch_bytes * EMU_LANES);
  uint32_t private_in = read_word();
  if (private_in != NO_REGISTER) put_private_buffer(&m->wave, &m->wave.s[private_in]);
}

static void run_case(machine *m) {
  emu_wave *wave = &m->wave;
  for (uint32_t step = 0; wave->state != EMU_ENDED && wave->state != EMU_STOPPED; step++) {
    if (step == MAX_STEPS) fail("a case does not end");
    const emu_inst *inst = wave->next;
    wave->next = inst + 1;
    (wave->mode.raw & EMU_MODE_INDEX ? emu_run_indexed : inst->run)(wave, inst);
    bool waits = wave->state == EMU_AT_BARRIER || wave->state == EMU_PAUSED;
    if (waits) wave->state = EMU_RUNNING; /* it is alone */
  }
}

/* SGPRs, SCC, MODE; the VGPRs that changed; LDS; memory and its address; private memory; kind,
 * address, direction and text of the fault. */
static void write_result(const test *t, const machine *m) {
  uint32_t nchanged = 0;
  fwrite(m->wave.s, sizeof(uint32_t), EMU_SGPRS, stdout);
  write_word(m->wave.scc);
  write_word(m->wave.mode.raw);
  for (uint32_t i = 0; i < EMU_VGPRS; i++) {
    nchanged += memcmp(&t->rows[i], &t->rows_before[i], sizeof(emu_row)) != 0;
  }
  write_word(nchanged);
  for (uint32_t i = 0; i < EMU_VGPRS; i++) {
    if (memcmp(&t->rows[i], &t->rows_before[i], sizeof(emu_row)) == 0) continue;
    write_word(i);
    fwrite(&t->rows[i], sizeof(emu_row), 1, stdout);
  }
  write_bytes(m->group.lds, m->group.lds_bytes);
  write_bytes(m->memory.bytes, m->memory_bytes);
  uint64_t address = (uintptr_t)m->memory.bytes;
  fwrite(&address, sizeof address, 1, stdout);
  write_bytes(m->wave.scratch, m->wave.scratch_bytes * EMU_LANES);
  write_word(m->fault.kind);
  fwrite(&m->fault.address, sizeof m->fault.address, 1, stdout);
  write_word(m->fault.is_write);
  write_bytes(m->fault.text, (uint32_t)strlen(m->fault.text));
}

/* ---- describing -------------------------------------------------------------------------------
 */

static const char *const sel_names[] = {"dword",  "byte_0", "byte_1", "byte_2",
                                        "byte_3", "word_0", "word_1"};
static const char *const encoding_names[] = {"plain", "e64", "sdwa", "dpp", "dpp8"};
static const char *const dpp_names[] = {
    "quad_perm",  "row_shl",         "row_shr",   "row_ror",     "wave_shl",
    "wave_rol",   "wave_shr",        "wave_ror",  "row_bcast15", "row_bcast31",
    "row_mirror", "row_half_mirror", "row_share", "row_xmask",   "dpp8"};

static void describe_operand(const char *name, const emu_operand *operand) {
  printf(" %s=", name);
  switch (operand->kind) {
    case EMU_OPERAND_NONE: printf("none"); break;
    case EMU_OPERAND_VGPR: printf("v%u", operand->reg); break;
    case EMU_OPERAND_SGPR: printf("s%u", operand->reg); break;
    case EMU_OPERAND_CONST: printf("0x%llx", (unsigned long long)operand->value); break;
    case EMU_OPERAND_SCC: printf("scc"); break;
    case EMU_OPERAND_VCCZ: printf("vccz"); break;
    default: printf("execz"); break;
  }
  if (operand->nregs > 1) printf("*%u", operand->nregs);
  if (operand->mods & EMU_SEXT) printf(".sext");
  if (operand->mods & EMU_ABS) printf(".abs");
  if (operand->mods & EMU_NEG) printf(".neg");
  if (operand->sel) printf(".%s", sel_names[operand->sel]);
}

static void describe_modifiers(const emu_inst *inst) {
  const emu_modifiers *mod = &inst->mod;
  const struct {
    const char *name;
    long value, usual;
  } fields[] = {
      {"clamp", mod->clamp, 0},
      {"glc", mod->glc, 0},
      {"slc", mod->slc, 0},
      {"dlc", mod->dlc, 0},
      {"offen", mod->offen, 0},
      {"idxen", mod->idxen, 0},
      {"scc", mod->scc, 0},
      {"omod", mod->omod, 0},
      {"op_sel", mod->op_sel, 0},
      {"op_sel_hi", mod->op_sel_hi, 0},
      {"neg_lo", mod->neg_lo, 0},
      {"neg_hi", mod->neg_hi, 0},
      {"dst_sel", mod->dst_sel, 0},
      {"dst_unused", mod->dst_unused, 0},
      {"offset", mod->offset, 0},
      {"offset1", mod->offset1, 0},
      {"scc", mod->scc, 0},
      {"cbsz", mod->cbsz, 0},
      {"abid", mod->abid, 0},
      {"blgp", mod->blgp, 0},
      {"bitop3", mod->truth_table, 0},
      {"imm", inst->imm, 0},
  };
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    if (fields[i].value != fields[i].usual) printf(" %s=%ld", fields[i].name, fields[i].value);
  }
  if (inst->encoding != EMU_ENC_DPP && inst->encoding != EMU_ENC_DPP8) return;
  printf(" %s:%u rows=%x banks=%x bound=%d fi=%d", dpp_names[inst->dpp.kind], inst->dpp.arg,
         inst->dpp.row_mask, inst->dpp.bank_mask, inst->dpp.bound_ctrl, inst->dpp.fi);
}

/* "name encoding dst0=… src0=… …" */
static void describe_inst(const emu_inst *inst) {
  char name[] = "dst0";
  printf("%s %s", inst->op->name, encoding_names[inst->encoding]);
  for (int k = 0; k < EMU_MAX_DST && inst->op->dst[k]; k++) {
    name[3] = (char)('0' + k);
    describe_operand(name, &inst->dst[k]);
  }
  memcpy(name, "src", 3);
  for (int k = 0; k < EMU_MAX_SRC && inst->op->src[k]; k++) {
    name[3] = (char)('0' + k);
    describe_operand(name, &inst->src[k]);
  }
  describe_modifiers(inst);
}

/* One line an instruction of the program: "#index +offset name …". */
static void describe_program(const emu_chip *chip, const emu_program *program) {
  (void)chip;
  for (uint32_t i = 0; i < program->ninsts; i++) {
    const emu_inst *inst = &program->insts[i];
    printf("#%u +%d ", inst->index, (int)inst->offset);
    describe_inst(inst);
    if (inst->target != inst->index) printf(" -> #%u", inst->target);
    printf("\n");
  }
}

static void print_costs(const emu_chip *chip, const emu_program *program) {
  const emu_model *model = emu_model_find(chip->name);
  for (uint32_t i = 0; i < program->ninsts; i++) {
    printf("%u\n", emu_model_factor(model, &program->insts[i]));
  }
}

/* Without `print` runs them. */
static int run_cases(void (*print)(const emu_chip *chip, const emu_program *program)) {
  test t = read_test();
  static machine m;
  for (uint32_t i = 0; i < t.ncases; i++) {
    read_case(&t, &m);
    if (print) {
      printf("case\n");
      print(m.dispatch.chip, m.dispatch.program);
    } else {
      run_case(&m);
      write_result(&t, &m);
    }
    emu_program_release(m.dispatch.program);
    free_pages(t.map, &m.memory);
    free(m.group.lds);
    free(m.wave.scratch);
  }
  free_pages(t.map, &t.code);
  emu_programs_free(t.programs);
  emu_map_free(t.map);
  free(t.rows);
  free(t.rows_before);
  return 0;
}

/* ---- what is known ------------------------------------------------------------------------------
 */

/* Disassembles `nbytes` and prints each instruction that cannot be decoded. */
static size_t check_text(emu_disasm *disasm, const emu_chip *chip, unsigned width,
                         const uint8_t *code, size_t nbytes) {
  char text[256], why[400];
  const emu_decode_target target = {emu_op_find, (emu_generation)chip->generation, width};
  size_t count = 0;
  for (size_t at = 0; at + 4 <= nbytes;) {
    unsigned size = emu_disasm_text(disasm, code + at, nbytes - at, text, sizeof text);
    emu_decoded parts[EMU_MAX_PARTS];
    bool is_known =
        size && emu_decode_parts(&target, text, code + at, size, parts, why, sizeof why) > 0;
    if (size && !is_known) printf("%s\n", why);
    if (!size && memcmp(code + at, "\0\0\0\0", 4) != 0) {
      printf("no instruction at +0x%zx\n", at);
    }
    at += size ? size : 4;
    count++;
  }
  return count;
}

/* Prints why execution would stop at instructions of the program; whether it would at all is left
 * open.  The names of what stops are whole sentences. */
static void check_program(const emu_program *program) {
  for (uint32_t i = 0; i < program->ninsts; i++) {
    const char *name = program->insts[i].op->name;
    if (strchr(name, ' ')) printf("%s\n", name);
  }
}

/* Decodes the program of each function of the object. */
static void check_functions(test *t, const uint8_t *file, const Elf64_Shdr *sections,
                            const Elf64_Shdr *symbols) {
  const Elf64_Sym *each = (const void *)(file + symbols->sh_offset);
  for (size_t n = symbols->sh_size / sizeof *each; n; n--, each++) {
    if (ELF64_ST_TYPE(each->st_info) != STT_FUNC) continue;
    const Elf64_Shdr *text = &sections[each->st_shndx];
    pages code = make_pages(t->map, text->sh_size, EMU_PAGE_READ);
    memcpy(code.bytes, file + text->sh_offset, text->sh_size);
    uint64_t entry = (uintptr_t)code.bytes + each->st_value - text->sh_addr;
    const emu_register_limits limits = allow_all(t->width);
    const emu_program *program = emu_programs_get(t->programs, entry, &limits);
    expect(program, "there is memory");
    check_program(program);
    emu_program_release(program);
    free_pages(t->map, &code);
    emu_programs_changed(t->programs);
  }
}

static size_t check_object(test *t, emu_disasm *disasm, const uint8_t *file, size_t nbytes) {
  const Elf64_Ehdr *head = (const void *)file;
  size_t count = 0;
  if (nbytes < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) fail("no ELF file");
  const Elf64_Shdr *sections = (const void *)(file + head->e_shoff);
  for (unsigned i = 0; i < head->e_shnum; i++) {
    bool is_code = sections[i].sh_type == SHT_PROGBITS && (sections[i].sh_flags & SHF_EXECINSTR);
    if (is_code) {
      count +=
          check_text(disasm, t->chip, t->width, file + sections[i].sh_offset, sections[i].sh_size);
    }
    if (sections[i].sh_type == SHT_DYNSYM) check_functions(t, file, sections, &sections[i]);
  }
  return count;
}

static int check_known(int nfiles, char **files) {
  test t = {.chip = nfiles ? emu_chip_find(files[0]) : NULL, .map = emu_map_new()};
  if (!t.chip || !t.map) fail("known: the chip is not known");
  t.width = t.chip->wave_size;
  t.programs = emu_programs_new(t.chip, t.map);
  emu_disasm *disasm = emu_disasm_new(t.chip, t.width);
  if (!disasm || !t.programs) fail("known: LLVM does not know the chip");
  size_t count = 0;
  clock_t begin = clock();
  for (int i = 1; i < nfiles; i++) {
    FILE *file = fopen(files[i], "rb");
    if (!file) fail(files[i]);
    fseek(file, 0, SEEK_END);
    size_t nbytes = (size_t)ftell(file);
    uint8_t *bytes = zeroed(nbytes);
    rewind(file);
    if (fread(bytes, 1, nbytes, file) != nbytes) fail(files[i]);
    fclose(file);
    count += check_object(&t, disasm, bytes, nbytes);
    free(bytes);
  }
  double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
  fprintf(stderr, "%zu instructions, %.2f us each\n", count, seconds * 1e6 / (double)count);
  emu_disasm_free(disasm);
  emu_programs_free(t.programs);
  emu_map_free(t.map);
  return 0;
}

/* Prints the rows that another one of the same name and generation stands before. */
static int check_tables(void) {
  const emu_op *op;
  for (unsigned i = 0; (op = emu_op_at(i)); i++) {
    for (int generation = EMU_GFX9; generation <= EMU_GFX12; generation <<= 1) {
      bool is_hidden =
          (op->generations & generation) && emu_op_find(op->name, (emu_generation)generation) != op;
      if (is_hidden) printf("%s\n", op->name);
    }
  }
  return 0;
}

/* ---- single encodings --------------------------------------------------------------------------
 */

static int decode_words(const char *chip_name) {
  const emu_chip *chip = emu_chip_find(chip_name);
  emu_disasm *disasm = chip ? emu_disasm_new(chip, chip->wave_size) : NULL;
  if (!disasm) fail("decode: the chip is not known");
  const emu_decode_target target = {emu_op_find, (emu_generation)chip->generation, chip->wave_size};
  uint32_t words[4];
  while (scanf("%x %x %x %x", &words[0], &words[1], &words[2], &words[3]) == 4) {
    char text[256] = "", why[400];
    emu_decoded parts[EMU_MAX_PARTS];
    const uint8_t *code = (const uint8_t *)words;
    unsigned size = emu_disasm_text(disasm, code, sizeof words, text, sizeof text);
    for (char *c = text; *c; c++) *c = *c == '\t' ? ' ' : *c;
    printf("%u\t%s", size, text);
    unsigned nparts =
        size ? emu_decode_parts(&target, text, code, size, parts, why, sizeof why) : 0;
    if (size && nparts == 0) printf("\t!%s", why);
    for (unsigned i = 0; i < nparts; i++) {
      printf("\t");
      describe_inst(&parts[i].inst);
    }
    printf("\n");
  }
  emu_disasm_free(disasm);
  return 0;
}

/* ---- names -------------------------------------------------------------------------------------
 */

enum { NAME_SLOTS = 1 << 14 };
static char *seen_names[NAME_SLOTS];

/* Prints the name when it comes for the first time. */
static void add_name(const emu_chip *chip, const char *name, size_t length) {
  uint32_t slot = 2166136261u;
  for (size_t i = 0; i < length; i++) slot = (slot ^ (uint8_t)name[i]) * 16777619u;
  for (slot %= NAME_SLOTS; seen_names[slot]; slot = (slot + 1) % NAME_SLOTS) {
    bool is_it = strncmp(seen_names[slot], name, length) == 0 && !seen_names[slot][length];
    if (is_it) return;
  }
  char *kept = seen_names[slot] = zeroed(length + 1);
  memcpy(kept, name, length);
  char plain[256]; /* a half of a dual instruction is executed as the instruction by itself */
  bool is_half = strncmp(kept, "v_dual_", 7) == 0;
  snprintf(plain, sizeof plain, "%s%s", is_half ? "v_" : "", kept + (is_half ? 7 : 0));
  bool is_known = emu_op_find(plain, (emu_generation)chip->generation) != NULL;
  printf("%s %s\n", is_known ? "known" : "refused", kept);
}

/* The mnemonic without what says its encoding. */
static void add_mnemonic(const emu_chip *chip, const char *text) {
  static const char *const suffixes[] = {"_e32", "_e64", "_dpp", "_sdwa"};
  while (*text == '\t' || *text == ' ') text++;
  size_t length = strcspn(text, " \t");
  for (size_t i = 0; i < 2 * sizeof suffixes / sizeof suffixes[0]; i++) { /* "_e64_dpp": twice */
    const char *suffix = suffixes[i % 4];
    size_t n = strlen(suffix);
    if (length > n && strncmp(text + length - n, suffix, n) == 0) length -= n;
  }
  add_name(chip, text, length);
}

/* The low halves of first words that are tried with each high one: in some encodings they have the
 * opcode. */
static unsigned low_halves(uint32_t high, uint32_t lows[256]) {
  static const uint16_t usual[] = {0,      2,      0x0202, 0x2000, 0x4000, 0x6000,
                                   0x8000, 0xa000, 0xc000, 0xe000, 0x0101};
  bool is_vop1 = high >> 9 == 0x3f, is_sop1 = high >> 7 == 0x17d;
  unsigned n = 0;
  if (is_vop1 ? (high & 0x1fe) > 4 : is_sop1 ? (high & 0x7f) > 2 : false) return 0;
  if (!is_vop1 && high < 0x8000 && (high & 0x1ff) > 4) return 0; /* other registers */
  if (is_vop1 || is_sop1) {
    for (; n < 256; n++) lows[n] = is_vop1 ? (n << 9 & 0xfe00) | 0x102 : n << 8 | 2;
    return n;
  }
  for (; n < sizeof usual / sizeof usual[0]; n++) lows[n] = usual[n];
  return n;
}

static int print_names(const char *chip_name) {
  static const uint32_t seconds[] = {0x040e0501, 0x1c622108, 0x02020202, 0x00020501, 0x04040404, 0};
  const emu_chip *chip = emu_chip_find(chip_name);
  emu_disasm *disasm = chip ? emu_disasm_new(chip, chip->wave_size) : NULL;
  if (!disasm) fail("names: the chip is not known");
  for (uint32_t high = 0; high < 0x10000; high++) {
    uint32_t lows[256];
    unsigned nlows = low_halves(high, lows);
    unsigned nseconds = high >= 0xc000 ? sizeof seconds / sizeof seconds[0] : 1;
    for (unsigned i = 0; i < nlows * nseconds; i++) {
      char text[256];
      const uint32_t words[] = {high << 16 | lows[i / nseconds], seconds[i % nseconds], 0x01010000};
      if (words[0] >> 31 == 0 && (words[0] & 0x1ff) == 0xf9) continue; /* another encoding */
      if (!emu_disasm_text(disasm, (const uint8_t *)words, sizeof words, text, sizeof text))
        continue;
      add_mnemonic(chip, text);
      const char *second = strstr(text, " :: ");
      if (second) add_mnemonic(chip, second + strlen(" :: "));
    }
  }
  for (unsigned i = 0; i < NAME_SLOTS; i++) free(seen_names[i]);
  emu_disasm_free(disasm);
  return 0;
}

/* ---- the cache of programs
 * ----------------------------------------------------------------------- */

/* Codes that both generations share. */
#define S_ENDPGM 0xbf810000u
#define S_BRANCH 0xbf820000u

static uint32_t move_to_s0(uint32_t small) { /* s_mov_b32 s0, small on gfx9 */
  return 0xbe800080u + small;
}

/* What the program moves to s0 first. */
static uint64_t moved(const emu_program *program) {
  return program->first->src[0].value;
}

static const emu_program *get_program(emu_programs *programs, uint64_t entry) {
  const emu_register_limits limits = allow_all(64);
  return emu_programs_get(programs, entry, &limits);
}

static const emu_program *get_and_release(emu_programs *programs, const void *code) {
  const emu_program *program = get_program(programs, (uintptr_t)code);
  expect(program, "there is a program");
  emu_program_release(program);
  return program;
}

static void test_changes(emu_map *map, emu_programs *programs) {
  pages code = make_pages(map, PAGE, EMU_PAGE_READ);
  uint32_t *words = (uint32_t *)code.bytes;
  words[0] = move_to_s0(1);
  words[1] = S_ENDPGM;
  words[2] = move_to_s0(9); /* cannot be reached */
  const emu_program *first = get_program(programs, (uintptr_t)words);
  expect(first && moved(first) == 1 && first->ninsts == 2, "what can be reached is decoded");
  expect(get_and_release(programs, words) == first, "code is decoded once");
  words[2] = move_to_s0(8);
  emu_programs_changed(programs);
  expect(get_and_release(programs, words) == first, "a change elsewhere changes nothing");
  words[0] = move_to_s0(2);
  emu_programs_changed(programs);
  const emu_program *second = get_program(programs, (uintptr_t)words);
  expect(second != first && moved(second) == 2, "changed code is decoded again");
  expect(moved(first) == 1, "a program in use stays as it is");
  emu_program_release(first);
  const emu_inst *later = second->find(second, (uintptr_t)&words[2]);
  expect(later->src[0].value == 8 && later->index == 2, "code met later is decoded then");
  expect(second->find(second, (uintptr_t)&words[2]) == later, "and only then");
  words[2] = move_to_s0(7);
  emu_programs_changed(programs);
  expect(get_and_release(programs, words) != second, "code met later is looked at, too");
  emu_program_release(second);
  free_pages(map, &code);
}

static void test_unmapped(emu_map *map, emu_programs *programs) {
  pages code = make_pages(map, PAGE, EMU_PAGE_READ);
  uint32_t *last = (uint32_t *)(code.bytes + PAGE) - 1;
  *last = move_to_s0(3); /* and runs off the end */
  const emu_program *program = get_program(programs, (uintptr_t)last);
  expect(program->ninsts == 2 && program->insts[1].size == 0, "the end of memory is a stop");
  emu_program_release(program);
  emu_map_set(map, (uintptr_t)code.bytes, PAGE, 0);
  emu_programs_changed(programs);
  program = get_program(programs, (uintptr_t)last);
  expect(program->first->size == 0, "code that is no longer mapped is forgotten");
  emu_program_release(program);
  emu_map_set(map, (uintptr_t)code.bytes, PAGE, EMU_PAGE_READ);
  emu_programs_changed(programs);
  program = get_program(programs, (uintptr_t)last);
  expect(program->first->size == 4, "and found again");
  emu_program_release(program);
  program = get_program(programs, (uintptr_t)last + 2);
  expect(program->first->size == 0, "code begins at multiples of 4");
  emu_program_release(program);
  free_pages(map, &code);
}

typedef struct user {
  emu_programs *programs;
  uint32_t *words;
  unsigned seed;
} user;

enum { NENTRIES = 64 };

static void *use_programs(void *arg) {
  user *u = arg;
  for (int i = 0; i < 2000; i++) {
    unsigned entry = (unsigned)rand_r(&u->seed) % NENTRIES;
    unsigned other = (unsigned)rand_r(&u->seed) % NENTRIES;
    const emu_program *program = get_program(u->programs, (uintptr_t)&u->words[2 * entry]);
    const emu_inst *inst = program->find(program, (uintptr_t)&u->words[2 * other]);
    if (moved(program) != entry || inst->src[0].value != other) return NULL;
    if (i % 100 == 0) emu_programs_changed(u->programs);
    emu_program_release(program);
  }
  return u;
}

static void test_threads(emu_map *map, emu_programs *programs) {
  pages code = make_pages(map, PAGE, EMU_PAGE_READ);
  uint32_t *words = (uint32_t *)code.bytes;
  pthread_t threads[4];
  user users[4];
  for (unsigned i = 0; i < NENTRIES; i++) {
    words[2 * i] = move_to_s0(i);
    words[2 * i + 1] = S_ENDPGM;
  }
  for (unsigned i = 0; i < 4; i++) {
    users[i] = (user){programs, words, i};
    expect(!pthread_create(&threads[i], NULL, use_programs, &users[i]), "threads start");
  }
  for (unsigned i = 0; i < 4; i++) {
    void *result;
    pthread_join(threads[i], &result);
    expect(result, "threads share programs");
  }
  free_pages(map, &code);
}

/* More programs than are kept, and branches far and into the middle of an instruction. */
static void test_shapes(emu_map *map, emu_programs *programs) {
  enum { COUNT = 3000 };
  pages code = make_pages(map, 8 * COUNT + 200000, EMU_PAGE_READ);
  uint32_t *words = (uint32_t *)code.bytes;
  for (unsigned i = 0; i < COUNT; i++) {
    words[2 * i] = move_to_s0(i % 64);
    words[2 * i + 1] = S_ENDPGM;
  }
  for (unsigned i = 0; i < COUNT; i++) get_and_release(programs, &words[2 * i]);
  words[0] = S_BRANCH | 0x7fff;      /* far ahead */
  words[0x8000] = S_BRANCH | 0x8000; /* and back to the second */
  words[1] = move_to_s0(0x7f);       /* a literal follows, */
  words[2] = move_to_s0(5);          /* that is code as well */
  words[3] = 0xbf85fffe;             /* s_cbranch_scc1 to it */
  words[4] = S_ENDPGM;
  emu_programs_changed(programs);
  const emu_program *program = get_program(programs, (uintptr_t)words);
  const emu_inst *far = emu_target(program->first), *back = emu_target(far);
  expect(emu_program_address(program, far) == (uintptr_t)&words[0x8000], "branches reach far");
  expect(emu_program_address(program, back) == (uintptr_t)&words[1], "and back");
  expect(back->op->generations == EMU_ALL && back->op->src[0] == EMU_NONE,
         "readings that overlap are a stop");
  emu_program_release(program);
  free_pages(map, &code);
}

/* Code on both sides of where offsets from its entry end, 2 GiB after it. */
static void test_border(emu_map *map, emu_programs *programs) {
  enum { NWORDS = PAGE / 4 };
  const size_t reach = 1ull << 31, nbytes = reach + PAGE;
  uint8_t *bytes = mmap(NULL, nbytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  expect(bytes != MAP_FAILED, "there is memory");
  uint32_t *words = (uint32_t *)(bytes + reach) - 2;
  words[0] = move_to_s0(1);
  for (unsigned i = 1; i < NWORDS; i++) words[i] = move_to_s0(2);
  *(uint32_t *)bytes = S_ENDPGM;
  emu_map_set(map, (uintptr_t)bytes, PAGE, EMU_PAGE_READ);
  emu_map_set(map, (uintptr_t)bytes + reach - PAGE, 2 * PAGE, EMU_PAGE_READ);
  const emu_program *program = get_program(programs, (uintptr_t)bytes);
  const emu_inst *inst = program->find(program, (uintptr_t)words);
  expect(inst->op->src[0] != EMU_NONE && inst->src[0].value == 1, "code is decoded up to 2 GiB");
  expect(strstr(inst[1].op->name, "2 GiB"), "and there is a stop");
  emu_program_release(program);
  emu_map_set(map, (uintptr_t)bytes, PAGE, 0);
  emu_map_set(map, (uintptr_t)bytes + reach - PAGE, 2 * PAGE, 0);
  munmap(bytes, nbytes);
  emu_programs_changed(programs);
}

static int test_programs(void) {
  emu_map *map = emu_map_new();
  emu_programs *programs = map ? emu_programs_new(emu_chip_find("gfx90a"), map) : NULL;
  expect(programs, "there is memory");
  test_changes(map, programs);
  test_unmapped(map, programs);
  test_threads(map, programs);
  test_shapes(map, programs);
  test_border(map, programs);
  emu_programs_free(programs);
  emu_map_free(map);
  puts("ok");
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "run") == 0) return run_cases(NULL);
  if (argc == 2 && strcmp(argv[1], "describe") == 0) return run_cases(describe_program);
  if (argc == 2 && strcmp(argv[1], "costs") == 0) return run_cases(print_costs);
  if (argc >= 3 && strcmp(argv[1], "known") == 0) return check_known(argc - 2, argv + 2);
  if (argc == 2 && strcmp(argv[1], "tables") == 0) return check_tables();
  if (argc == 3 && strcmp(argv[1], "decode") == 0) return decode_words(argv[2]);
  if (argc == 3 && strcmp(argv[1], "names") == 0) return print_names(argv[2]);
  if (argc == 2 && strcmp(argv[1], "programs") == 0) return test_programs();
  fail(
      "usage: emulator_test run | describe | costs | known CHIP FILE... | tables | decode CHIP | "
      "names CHIP | programs");
  return 2;
}
