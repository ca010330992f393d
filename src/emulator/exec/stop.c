#include "emulator/exec/stop.h"

#include <stdarg.h>
#include <stdio.h>

#include "emulator/isa/name.h"
#include "emulator/isa/program.h"

/* A text that grows to the end of its room and is cut there. */
typedef struct line {
  char *at, *end;
} line;

static void add_va(line *out, const char *fmt, va_list args) {
  int n = vsnprintf(out->at, (size_t)(out->end - out->at), fmt, args);
  if (n > 0) out->at = n < out->end - out->at ? out->at + n : out->end - 1;
}

static void add(line *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(line *out, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  add_va(out, fmt, args);
  va_end(args);
}

/* Work-items are counted from 1 over the whole grid, as roclua's kernels count them. */
static void add_place(line *out, const emu_wave *wave, int lane) {
  const emu_group *group = wave->group;
  const uint32_t *local = group->dispatch->local;
  uint32_t id[3] = {1, 1, 1}, index = wave->number * wave->width + (uint32_t)(lane < 0 ? 0 : lane);
  for (int d = 0; d < 3; d++) {
    id[d] += group->id[d] * local[d] + index % group->local[d];
    index /= group->local[d];
  }
  if (lane >= 0) {
    add(out, ", work-item (%u, %u, %u)", id[0], id[1], id[2]);
  } else {
    add(out, ", workgroup (%u, %u, %u), wavefront %u", group->id[0] + 1, group->id[1] + 1,
        group->id[2] + 1, wave->number + 1);
  }
}

static void add_source(line *out, const emu_wave *wave, const emu_inst *inst) {
  char file[256];
  uint32_t number = 0;
  uint64_t address = emu_program_address(wave->group->dispatch->program, inst);
  if (emu_name_line(address, file, sizeof file, &number)) {
    add(out, ", %s:%u", file, number);
  } else if (inst->line) {
    add(out, ", line %u", inst->line);
  }
}

/* The dispatch's fault, to be filled by the first thread that stops it; NULL for all others. */
static emu_fault *claim_fault(emu_dispatch *dispatch) {
  return atomic_exchange(&dispatch->has_fault, true) ? NULL : dispatch->fault;
}

static emu_fault *stop_wave(emu_wave *wave, emu_fault_kind kind) {
  wave->state = EMU_STOPPED;
  emu_fault *fault = claim_fault(wave->group->dispatch);
  if (fault) fault->kind = kind;
  return fault;
}

static void write_fault(emu_fault *fault, const emu_wave *wave, const emu_inst *inst, int lane,
                        const char *fmt, va_list args) {
  line out = {fault->text, fault->text + sizeof fault->text};
  add_va(&out, fmt, args);
  add(&out, ": kernel '%s'", wave->group->dispatch->kernel);
  add_place(&out, wave, lane);
  if (inst) add_source(&out, wave, inst);
}

void emu_stop(emu_wave *wave, const emu_inst *inst, emu_fault_kind kind, int lane, const char *fmt,
              ...) {
  emu_fault *fault = stop_wave(wave, kind);
  if (!fault) return;
  va_list args;
  va_start(args, fmt);
  write_fault(fault, wave, inst, lane, fmt, args);
  va_end(args);
}

static void write_access_fault(emu_fault *fault, const emu_wave *wave, const emu_inst *inst,
                               int lane, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  write_fault(fault, wave, inst, lane, fmt, args);
  va_end(args);
}

/* Why an access to the page fails: `access` is what it has, of EMU_PAGE_*. */
static const char *reason_of(unsigned access, bool is_write) {
  if (access == 0) return "where this GPU has no memory";
  if (is_write && !(access & EMU_PAGE_WRITE)) return "which this GPU may not write";
  if (!is_write && !(access & EMU_PAGE_READ)) return "which this GPU may not read";
  return "at the border of memory this GPU may access so";
}

void emu_stop_memory(emu_wave *wave, const emu_inst *inst, int lane, uint64_t address,
                     uint32_t nbytes, bool is_write) {
  emu_fault *fault = stop_wave(wave, EMU_FAULT_MEMORY);
  if (!fault) return;
  fault->address = address;
  fault->is_write = is_write;
  unsigned access = emu_map_page(wave->group->dispatch->map, address);
  write_access_fault(fault, wave, inst, lane, "%s of %u bytes at 0x%llx, %s",
                     is_write ? "write" : "read", nbytes, (unsigned long long)address,
                     reason_of(access, is_write));
}
