/* Facts of the family "cpu": the processor of this process, and processors of its kind by LLVM's
 * names. */
#include <stddef.h>
#include <string.h>

#include "base/target.h"

static const char *const names[] = {ROC_TARGET_HOST, "cpu:x86-64", "cpu:x86-64-v2", "cpu:x86-64-v3",
                                    "cpu:x86-64-v4"};

static bool accepts(const char *name) {
  size_t len = strlen(ROC_TARGET_HOST);
  return strncmp(name, ROC_TARGET_HOST, len) == 0 && (name[len] == '\0' || name[len] == ':');
}

/* Loading the code compares it with the processor. */
static bool serves(const char *target, const char *arch) {
  return target[strlen(ROC_TARGET_HOST)] == ':' && strcmp(arch, ROC_TARGET_HOST) == 0;
}

static const char *name_at(unsigned index) {
  return index < sizeof names / sizeof *names ? names[index] : NULL;
}

const roc_target_facts roc_target_facts_cpu = {
    .family = "cpu",
    .accepts = accepts,
    .serves = serves,
    .name_at = name_at,
    .name_note =
        "and cpu:NAME of another processor that LLVM knows, such as znver3 or skylake-avx512",
    .has_open_names = true,
    .default_wavefront = 64,
    .loops_over_items = true,
    .object_ending = ".o",
    .is_loaded_by_compiler = true,
    .asm_comment = "#",
};
