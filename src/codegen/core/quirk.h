/* Known defects of LLVM and of the device library, a row for each, and whether the code that works
 * around one is on.
 *
 * A row is ROC_QUIRK(NAME, "name", KIND, number, "targets", "versions", "what", "spec", "title"):
 * KIND is REWRITE (of IR), OPTION (of LLVM, one set for the process), FEATURE (of the target, not
 * used) or OTHER; `number` is that of llvm-project's pull request or issue, 0 when it is not known;
 * `targets` and `versions` are those of LLVM 22 on that have the defect, as far as is known; the
 * case `title` of the file `spec` fails without the row, which spec/codegen/quirks_spec.lua checks.
 * All rows are on, but for those that a spec turns off (roc_cg_options.quirks_off). */
#ifndef ROC_CODEGEN_CORE_QUIRK_H
#define ROC_CODEGEN_CORE_QUIRK_H

#include <stdbool.h>
#include <stdint.h>

typedef enum roc_quirk {
#define ROC_QUIRK(NAME, name, kind, number, targets, versions, what, spec, title) ROC_QUIRK_##NAME,
#include "codegen/core/quirks.def"
#undef ROC_QUIRK
  ROC_QUIRK_COUNT_
} roc_quirk;

/* `off`: bits of the rows that are off, as in the options of a compile. */
static inline bool roc_quirk_is_on(uint64_t off, roc_quirk quirk) {
  return !(off >> quirk & 1);
}

#endif
