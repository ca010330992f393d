#include "base/site.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/codeobj.h"

_Static_assert(offsetof(roc_fault_record, item) == 16, "fault record layout is ABI");
_Static_assert(offsetof(roc_fault_record, values) == 40, "fault record layout is ABI");
_Static_assert(sizeof(roc_fault_record) == 104, "fault record layout is ABI");
_Static_assert(offsetof(roc_print_buffer, data) == 16, "print buffer layout is ABI");
_Static_assert(offsetof(roc_ndrange, local) == 24, "launch layout is ABI");
_Static_assert(offsetof(roc_ndrange, rank) == 36, "launch layout is ABI");
_Static_assert(offsetof(roc_ndrange, dynamic_shared_bytes) == 40, "launch layout is ABI");
_Static_assert(offsetof(roc_cpu_launch, groups) == 48, "launch layout is ABI");
_Static_assert(offsetof(roc_cpu_launch, wave_size) == 72, "launch layout is ABI");
_Static_assert(offsetof(roc_cpu_launch, batch) == 76, "launch layout is ABI");
_Static_assert(offsetof(roc_cpu_launch, fault) == 80, "launch layout is ABI");
_Static_assert(offsetof(roc_cpu_launch, print) == 88, "launch layout is ABI");
_Static_assert(offsetof(roc_cpu_launch, merge) == 96, "launch layout is ABI");
_Static_assert(offsetof(roc_cpu_turn, ask) == 8, "turn layout is ABI");
_Static_assert(offsetof(roc_cpu_turn, row) == 16, "turn layout is ABI");

static double double_of_bits(uint64_t bits) {
  double f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

/* A float as Lua's tostring prints it: %.14g, and ".0" when that looks like an integer.  A NaN goes
 * without its sign, which is not the same on every device. */
static void add_float(roc_str *out, double f) {
  size_t begin = out->len;
  if (f != f) {
    roc_str_puts(out, "nan");
    return;
  }
  roc_str_printf(out, "%.14g", f);
  if (out->failed) return;
  if (strspn(out->data + begin, "-0123456789") == out->len - begin) roc_str_puts(out, ".0");
}

static void add_value(roc_str *out, roc_value_type type, uint64_t bits) {
  switch (type) {
    case ROC_VT_BOOL: roc_str_puts(out, bits ? "true" : "false"); break;
    case ROC_VT_INT: roc_str_printf(out, "%" PRId64, (int64_t)bits); break;
    default: add_float(out, double_of_bits(bits)); break;
  }
}

/* `zero` is what stands for a byte 0. */
static void add_pieces(const roc_site *site, const uint64_t *values, const char *zero,
                       size_t zero_len, roc_str *out) {
  uint32_t next = 0;
  for (uint32_t i = 0; i < site->npieces; i++) {
    const roc_site_piece *piece = &site->pieces[i];
    if (piece->text) {
      roc_str_puts(out, piece->text);
    } else if (piece->type == ROC_VT_NONE) {
      roc_str_add(out, zero, zero_len);
    } else if (next < site->nvalues) {
      add_value(out, piece->type, values[next++]);
    }
  }
}

void roc_site_format_values(const roc_site *site, const uint64_t *values, roc_str *out) {
  add_pieces(site, values, "", 1, out);
}

/* Errors are C strings on their way to Lua. */
static void add_message(const roc_site *site, const uint64_t *values, roc_str *out) {
  add_pieces(site, values, "\\0", 2, out);
}

static void add_what(const roc_site *site, const uint64_t *values, roc_str *out) {
  switch ((roc_site_kind)site->kind) {
    case ROC_SITE_INDEX:
      roc_str_printf(out, "index %" PRId64 " out of range 1..%" PRId64 " of '%s'",
                     (int64_t)values[0], (int64_t)values[1], site->name);
      if (site->dim) roc_str_printf(out, " (dimension %u)", site->dim);
      break;
    case ROC_SITE_DIVIDE: roc_str_puts(out, "attempt to divide by zero"); break;
    case ROC_SITE_MODULO: roc_str_puts(out, "attempt to perform 'n%0'"); break;
    case ROC_SITE_NO_INTEGER:
      roc_str_puts(out, "number ");
      add_float(out, double_of_bits(values[0]));
      roc_str_puts(out, " has no integer representation");
      break;
    case ROC_SITE_DIVERGENT: roc_str_puts(out, "barrier in divergent control flow"); break;
    case ROC_SITE_DIVERGENT_WAVE:
      roc_str_puts(out, "wave operation in divergent control flow");
      break;
    case ROC_SITE_ASSERT:
      if (site->npieces == 0) roc_str_puts(out, "assertion failed!");
      add_message(site, values, out);
      break;
    case ROC_SITE_ERROR:
    case ROC_SITE_PRINT: add_message(site, values, out); break;
  }
}

void roc_site_format_fault(const roc_site *sites, uint32_t nsites, const roc_fault_record *record,
                           uint32_t rank, roc_str *out) {
  if (record->count == 0) {
    roc_str_puts(
        out,
        "a check in a kernel failed; which one is not known, as the device's link to the host "
        "loses atomic operations (PCIe atomics are missing)");
    return;
  }
  if (record->site >= nsites) {
    roc_str_printf(out, "a kernel left a damaged fault record (site %u of %u)", record->site,
                   nsites);
    return;
  }
  const roc_site *site = &sites[record->site];
  roc_str_printf(out, "%s:%u: ", site->file, site->line);
  add_what(site, record->values, out);
  roc_str_puts(out, " (work-item {");
  for (uint32_t d = 0; d < rank; d++) {
    roc_str_printf(out, "%s%" PRIu64, d ? ", " : "", record->item[d]);
  }
  roc_str_puts(out, "}");
  if (record->count > 1) roc_str_printf(out, ", and %u more", record->count - 1);
  roc_str_puts(out, ")");
}
