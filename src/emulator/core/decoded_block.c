/* Decoding: following the control flow from an address, and laying out what was found. */
#include "emulator/core/decoded_block.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "emulator/core/waitcnt.h"
#include "emulator/exec/ops.h"
#include "emulator/exec/stop.h"
#include "emulator/isa/dual.h"
#include "emulator/isa/name.h"
#include "emulator/support/settings.h"

enum { MAX_TEXT = 400 };

/* An instruction that cannot be executed: it has an op of its own, whose name is the message. */
typedef struct emu_stop_text {
  struct emu_stop_text *next;
  emu_op op;
  char text[];
} stop_text;

/* ---- instructions that stop ------------------------------------------------------------------ */

void emu_run_stop(emu_wave *wave, const emu_inst *inst) {
  emu_stop(wave, inst, EMU_FAULT_ILLEGAL, -1, "%s", inst->op->name);
}

/* Code at an address that cannot be read, or that cannot be an address of code. */
static void run_unreadable(emu_wave *wave, const emu_inst *inst) {
  uint64_t address = emu_program_address(wave->group->dispatch->program, inst);
  if (address % 4 == 0) {
    emu_stop_memory(wave, inst, -1, address, 4, false);
  } else {
    emu_stop(wave, inst, EMU_FAULT_ILLEGAL, -1,
             "there is no code at 0x%llx, which is not a multiple of 4",
             (unsigned long long)address);
  }
}

static const emu_op unreadable_op = {.name = "code that cannot be read",
                                     .run = run_unreadable,
                                     .generations = EMU_ALL,
                                     .class = EMU_CLASS_NOTHING};
static const emu_op unreachable_op = {.name = "no branch leads here",
                                      .run = emu_run_stop,
                                      .generations = EMU_ALL,
                                      .class = EMU_CLASS_NOTHING};
static const emu_inst unreachable_inst = {.run = emu_run_stop, .op = &unreachable_op};

/* Makes *inst stop with `text`; false when memory is out. */
static bool make_stop(emu_decoded_block *block, emu_inst *inst, const char *text) {
  size_t length = strlen(text) + 1;
  stop_text *made = roc_zalloc(sizeof *made + length);
  if (!made) return false;
  memcpy(made->text, text, length);
  made->op = (emu_op){
      .name = made->text, .run = emu_run_stop, .generations = EMU_ALL, .class = EMU_CLASS_NOTHING};
  made->next = block->stops;
  block->stops = made;
  inst->op = &made->op;
  inst->run = emu_run_stop;
  return true;
}

/* ---- decoding -------------------------------------------------------------------------------- */

/* An instruction found, before the block is laid out. */
typedef struct found {
  uint64_t address;
  unsigned part;   /* of those at the address: isa/dual.h */
  uint64_t target; /* address; flow says whether there is one */
  emu_inst inst;
  emu_flow flow;
  uint8_t code[EMU_MAX_CODE];
} found;

typedef struct search {
  emu_decoder *decoder;
  const emu_register_limits *limits;
  uint64_t entry; /* of the program */
  emu_decoded_block *block;
  roc_vec(found) found;
  roc_vec(uint64_t) waiting; /* addresses still to be followed */
  uint32_t *slots;           /* hash of addresses: index in found + 1 */
  uint32_t nslots;
  uint64_t readable;    /* page last found to be readable, + 1 */
  uint32_t first_index; /* of the block's instructions */
} search;

static bool can_read_page(search *s, uint64_t address) {
  uint64_t page = address >> EMU_PAGE_SHIFT;
  if (s->readable == page + 1) return true;
  if (!(emu_map_page(s->decoder->map, address) & EMU_PAGE_READ)) return false;
  s->readable = page + 1;
  return true;
}

/* Copies what can be read of the instruction at `address`; how many bytes. */
static unsigned read_code(search *s, uint64_t address, uint8_t code[EMU_MAX_CODE]) {
  if (address % 4 != 0 || !can_read_page(s, address)) return 0;
  uint64_t page_end = ((address >> EMU_PAGE_SHIFT) + 1) << EMU_PAGE_SHIFT;
  unsigned nbytes = EMU_MAX_CODE;
  if (page_end - address < nbytes && !can_read_page(s, page_end)) {
    nbytes = (unsigned)(page_end - address);
  }
  memcpy(code, (const void *)(uintptr_t)address, nbytes);
  return nbytes;
}

static uint32_t *slot_of(search *s, uint64_t address) {
  uint32_t slot = (uint32_t)((address >> 2) * 0x9e3779b97f4a7c15u >> 40) & (s->nslots - 1);
  while (s->slots[slot] && s->found.items[s->slots[slot] - 1].address != address) {
    slot = (slot + 1) & (s->nslots - 1);
  }
  return &s->slots[slot];
}

/* Keeps at least half of the hash empty. */
static bool grow_slots(search *s) {
  if (s->nslots > 2 * (s->found.count + 1)) return true;
  uint32_t nslots = s->nslots ? 2 * s->nslots : 1024;
  uint32_t *slots = roc_zalloc(sizeof *slots * nslots);
  if (!slots) return false;
  roc_free(s->slots);
  s->slots = slots;
  s->nslots = nslots;
  for (uint32_t i = 0; i < s->found.count; i++) *slot_of(s, s->found.items[i].address) = i + 1;
  return true;
}

static emu_disasm *disasm_of(emu_decoder *decoder, unsigned wave_size) {
  emu_disasm **disasm = &decoder->disasms[wave_size == 32];
  if (!*disasm) *disasm = emu_disasm_new(decoder->chip, wave_size);
  return *disasm;
}

void emu_decoder_close(emu_decoder *decoder) {
  for (unsigned i = 0; i < 2; i++) emu_disasm_free(decoder->disasms[i]);
}

static bool is_within_limits(const emu_register_limits *limits, const emu_operand *operand) {
  unsigned end = operand->reg + (operand->nregs ? operand->nregs : 1u);
  if (operand->kind == EMU_OPERAND_SGPR) {
    return operand->reg >= EMU_SGPR_FLAT_SCRATCH || end <= limits->sgprs;
  }
  if (operand->kind != EMU_OPERAND_VGPR) return true;
  if (operand->reg < EMU_VGPRS / 2) return end <= limits->vgprs;
  return end <= EMU_VGPRS / 2 + (unsigned)limits->accumulators;
}

/* Whether the instruction keeps to the kernel's registers; `why`: the one that is not. */
static bool check_registers(const emu_register_limits *limits, const emu_inst *inst,
                            char why[MAX_TEXT]) {
  const emu_operand *wrong = NULL;
  for (unsigned n = 0; n < EMU_MAX_DST; n++) {
    if (!is_within_limits(limits, &inst->dst[n])) wrong = &inst->dst[n];
  }
  for (unsigned n = 0; n < EMU_MAX_SRC; n++) {
    if (!is_within_limits(limits, &inst->src[n])) wrong = &inst->src[n];
  }
  if (!wrong) return true;
  bool is_scalar = wrong->kind == EMU_OPERAND_SGPR;
  bool is_accumulator = !is_scalar && wrong->reg >= EMU_VGPRS / 2;
  unsigned first = wrong->reg - (is_accumulator ? EMU_VGPRS / 2 : 0);
  unsigned count = is_scalar        ? limits->sgprs
                   : is_accumulator ? limits->accumulators
                                    : limits->vgprs;
  snprintf(why, MAX_TEXT,
           "%s names register %c%u, but the kernel's descriptor asks for %u registers of that kind",
           inst->op->name,
           is_scalar        ? 's'
           : is_accumulator ? 'a'
                            : 'v',
           first + (wrong->nregs ? wrong->nregs - 1u : 0), count);
  return false;
}

/* Keeps the instruction that stands for what cannot be executed. */
static bool push_stop(search *s, found *stop, unsigned size, const char *why) {
  stop->inst.size = (uint8_t)size;
  stop->flow = EMU_FLOW_END;
  return make_stop(s->block, &stop->inst, why) && roc_vec_push(&s->found, *stop);
}

/* Adds the instructions of the code at `address` to s->found; false when memory is out. */
static bool decode_one(search *s, uint64_t address) {
  char text[256], why[MAX_TEXT];
  emu_decoder *decoder = s->decoder;
  found next = {.address = address, .flow = EMU_FLOW_END};
  unsigned readable = read_code(s, address, next.code);
  if (readable < 4) {
    next.inst.op = &unreadable_op;
    next.inst.run = run_unreadable;
    return roc_vec_push(&s->found, next);
  }
  unsigned wave_size = s->limits->wave_size;
  unsigned size =
      emu_disasm_text(disasm_of(decoder, wave_size), next.code, readable, text, sizeof text);
  if (size == 0) {
    uint32_t word;
    memcpy(&word, next.code, sizeof word);
    snprintf(why, sizeof why, "there is no instruction of %s with the code 0x%08x",
             decoder->chip->name, word);
    return push_stop(s, &next, 4, why);
  }
  const emu_decode_target target = {.find_op = emu_op_find,
                                    .generation = (emu_generation)decoder->chip->generation,
                                    .wave_size = wave_size};
  emu_decoded parts[EMU_MAX_PARTS];
  unsigned count = emu_decode_parts(&target, text, next.code, size, parts, why, sizeof why);
  if (count == 0) return push_stop(s, &next, size, why);
  for (next.part = 0; next.part < count; next.part++) {
    const emu_decoded *decoded = &parts[next.part];
    if (!check_registers(s->limits, &decoded->inst, why)) {
      return push_stop(s, &next, size, why);
    }
    next.inst = decoded->inst;
    next.flow = decoded->flow;
    next.target = address + (uint64_t)(int64_t)decoded->distance;
    if (!roc_vec_push(&s->found, next)) return false;
  }
  return true;
}

/* Decodes from `address` on until execution cannot fall through, or comes to what is known. */
static bool follow(search *s, uint64_t address) {
  for (;;) {
    if (!grow_slots(s)) return false;
    uint32_t *slot = slot_of(s, address);
    if (*slot) return true;
    bool is_full = s->first_index + s->found.count >= EMU_MAX_INSTRUCTIONS;
    bool has_room = !is_full || s->found.count == 0;
    if (!has_room || !emu_is_near(s->entry, address)) return true; /* laid out as a stop */
    if (!decode_one(s, address)) return false;
    *slot = s->found.count;
    const found *last = &s->found.items[s->found.count - 1];
    if (emu_has_target(last->flow) && !roc_vec_push(&s->waiting, last->target)) return false;
    if (last->flow == EMU_FLOW_BRANCH || last->flow == EMU_FLOW_END) return true;
    address += last->inst.size;
  }
}

static int compare_addresses(const void *a, const void *b) {
  const found *x = a, *y = b;
  if (x->address != y->address) return x->address < y->address ? -1 : 1;
  return (int)x->part - (int)y->part;
}

/* Index of the instruction at `address` in found, which is sorted; count when there is none. */
static uint32_t index_of(const search *s, uint64_t address) {
  uint32_t low = 0, high = s->found.count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (s->found.items[middle].address < address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  bool is_there = low < s->found.count && s->found.items[low].address == address;
  return is_there ? low : s->found.count;
}

/* Whether the instruction that `f` falls through to is the next one in the array. It is not where
 * two decodings of the same bytes overlap, after a block that is too long, and where offsets
 * end. */
static bool is_followed(const search *s, uint32_t i) {
  const found *f = &s->found.items[i];
  if (f->flow == EMU_FLOW_END || f->flow == EMU_FLOW_BRANCH) return true;
  return i + 1 < s->found.count && f[1].address == f->address + f->inst.size;
}

static bool lay_out(search *s, uint8_t *flows) {
  emu_decoded_block *block = s->block;
  uint32_t count = s->found.count, nbytes = 0;
  qsort(s->found.items, count, sizeof *s->found.items, compare_addresses);
  for (uint32_t i = 0; i < count; i++) nbytes += s->found.items[i].inst.size;
  block->insts = roc_alloc(sizeof *block->insts * ((size_t)count + 1));
  block->code = roc_alloc(nbytes);
  if (!block->insts || !block->code) return false;
  uint8_t *code = block->code;
  for (uint32_t i = 0; i < count; i++) {
    const found *f = &s->found.items[i];
    emu_inst *inst = &block->insts[i];
    *inst = f->inst;
    inst->offset = (uint32_t)(f->address - s->entry);
    inst->index = s->first_index + i;
    uint32_t target = emu_has_target(f->flow) ? index_of(s, f->target) : i;
    inst->target = s->first_index + target;
    flows[i] = (uint8_t)f->flow;
    if (target == count || !is_followed(s, i)) {
      if (!make_stop(block, inst,
                     "the code around it cannot be followed: it overlaps, is too long or leads "
                     "more than 2 GiB away from the kernel")) {
        return false;
      }
      flows[i] = EMU_FLOW_END;
      inst->target = inst->index;
    }
    memcpy(code, f->code, inst->size);
    code += inst->size;
  }
  block->insts[count] = unreachable_inst; /* nothing leads there */
  block->ninsts = count;
  return true;
}

/* What the s_waitcnt check found: the instruction, and what is to stand there. */
typedef struct hazard {
  uint32_t at;
  const emu_op *stop;
} hazard;

typedef struct hazards {
  emu_decoded_block *block;
  roc_vec(hazard) list;
} hazards;

static bool note_hazard(void *ud, uint32_t at, const char *text) {
  hazards *h = ud;
  emu_inst made;
  if (!make_stop(h->block, &made, text)) return false;
  return roc_vec_push(&h->list, ((hazard){at, made.op}));
}

/* Makes stops of instructions that use a register before its load was waited for. */
static bool check_waits(search *s, const uint8_t *flows, uint32_t first) {
  emu_decoded_block *block = s->block;
  hazards h = {.block = block};
  if (!emu_wants_wait_check()) return true;
  bool ok = emu_check_waits(block->insts, flows, block->ninsts, first, s->limits->wave_size,
                            note_hazard, &h);
  for (uint32_t i = h.list.count; ok && i > 0; i--) { /* the first of an instruction's stays */
    emu_inst *inst = &block->insts[h.list.items[i - 1].at];
    inst->op = h.list.items[i - 1].stop;
    inst->run = emu_run_stop;
  }
  roc_vec_deinit(&h.list);
  return ok;
}

void emu_decoded_block_free(emu_decoded_block *block) {
  if (!block) return;
  for (stop_text *each = block->stops, *next; each; each = next) {
    next = each->next;
    roc_free(each);
  }
  roc_free(block->insts);
  roc_free(block->code);
  roc_free(block);
}

/* The index of the first instruction at or after the offset. Offsets are ordered as signed numbers
 * are, from the block's lowest address on. */
static uint32_t find_first(const emu_decoded_block *block, uint32_t offset) {
  uint32_t low = 0, high = block->ninsts;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if ((int32_t)block->insts[middle].offset < (int32_t)offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

const emu_inst *emu_decoded_block_find(const emu_decoded_block *block, uint32_t offset) {
  uint32_t at = find_first(block, offset);
  bool is_there = at < block->ninsts && block->insts[at].offset == offset;
  return is_there ? &block->insts[at] : NULL;
}

static uint64_t address_of(uint64_t entry, const emu_inst *inst) {
  return entry + (uint64_t)(int64_t)(int32_t)inst->offset;
}

/* A block that is given its instructions' lines. */
typedef struct lines {
  emu_decoded_block *block;
  uint64_t entry;
} lines;

static void set_lines(void *ud, uint64_t begin, uint64_t end, uint32_t line) {
  const lines *to = ud;
  for (uint32_t i = find_first(to->block, (uint32_t)(begin - to->entry)); i < to->block->ninsts;
       i++) {
    emu_inst *inst = &to->block->insts[i];
    if (address_of(to->entry, inst) >= end) return;
    inst->line = line;
  }
}

static void find_lines(emu_decoded_block *block, uint64_t entry) {
  if (block->ninsts == 0) return;
  const emu_inst *last = &block->insts[block->ninsts - 1];
  lines to = {block, entry};
  emu_name_lines(address_of(entry, block->insts), address_of(entry, last) + last->size, set_lines,
                 &to);
}

emu_decoded_block *emu_decoded_block_decode(emu_decoder *decoder, const emu_register_limits *limits,
                                            uint64_t entry, uint64_t address,
                                            uint32_t first_index) {
  search s = {.decoder = decoder, .limits = limits, .entry = entry, .first_index = first_index};
  if (!disasm_of(decoder, limits->wave_size)) return NULL;
  s.block = roc_zalloc(sizeof *s.block);
  bool ok = s.block && follow(&s, address);
  while (ok && s.waiting.count) ok = follow(&s, roc_vec_pop(&s.waiting));
  uint8_t *flows = ok ? roc_alloc(s.found.count) : NULL;
  ok = flows && lay_out(&s, flows) && check_waits(&s, flows, index_of(&s, address));
  if (ok) find_lines(s.block, entry);
  if (!ok) {
    emu_decoded_block_free(s.block);
    s.block = NULL;
  }
  roc_free(flows);
  roc_vec_deinit(&s.found);
  roc_vec_deinit(&s.waiting);
  roc_free(s.slots);
  return s.block;
}

bool emu_decoded_block_is_current(const emu_decoded_block *block, const emu_map *map,
                                  uint64_t entry) {
  const uint8_t *code = block->code;
  for (uint32_t i = 0; i < block->ninsts; i++) {
    const emu_inst *inst = &block->insts[i];
    uint64_t address = address_of(entry, inst);
    uint32_t nbytes = inst->size ? inst->size : 4;
    bool is_readable = emu_map_allows(map, address, nbytes, EMU_PAGE_READ);
    if (is_readable != (inst->size != 0)) return false;
    if (memcmp(code, (const void *)(uintptr_t)address, inst->size) != 0) return false;
    code += inst->size;
  }
  return true;
}
