/* The rows as a table (quirk_table.h). */
#include "codegen/core/quirk_table.h"

#include <string.h>

#define REWRITE "rewrite"
#define OPTION "option"
#define FEATURE "feature"
#define OTHER "other"

const roc_cg_quirk roc_quirk_table[ROC_QUIRK_COUNT_] = {
#define ROC_QUIRK(NAME, name, kind, number, targets, versions, what, spec, title) \
  {name, ROC_QUIRK_FAMILY, kind, number, targets, versions, what, spec, title},
#include "codegen/core/quirks.def"
#undef ROC_QUIRK
};

_Static_assert(ROC_QUIRK_COUNT_ <= 64, "rows are bits of a uint64_t");

const roc_cg_quirk *roc_quirk_rows(uint32_t *out_count) {
  *out_count = ROC_QUIRK_COUNT_;
  return roc_quirk_table;
}

uint64_t roc_quirk_options(void) {
  uint64_t bits = 0;
  for (unsigned i = 0; i < ROC_QUIRK_COUNT_; i++) {
    if (strcmp(roc_quirk_table[i].kind, OPTION) == 0) bits |= (uint64_t)1 << i;
  }
  return bits;
}

void roc_quirk_list(const char *family, uint64_t off, roc_str *out) {
  for (unsigned i = 0; i < ROC_QUIRK_COUNT_; i++) {
    const roc_cg_quirk *row = &roc_quirk_table[i];
    bool concerns = !row->family || strcmp(row->family, family) == 0;
    if (concerns && roc_quirk_is_on(off, (roc_quirk)i)) roc_str_printf(out, " %s", row->name);
  }
}
