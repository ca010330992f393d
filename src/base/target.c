/* See target.h. */
#include "base/target.h"

#include <stddef.h>

static const roc_target_facts *const families[] = {
#define ROC_TARGET(family, llvm) &roc_target_facts_##family,
#include "base/targets.def"
#undef ROC_TARGET
};
enum { NFAMILIES = sizeof families / sizeof *families };

const roc_target_facts *roc_target_facts_at(unsigned index) {
  return index < NFAMILIES ? families[index] : NULL;
}

const roc_target_facts *roc_target_facts_of(const char *name) {
  for (unsigned i = 0; i < NFAMILIES; i++) {
    if (families[i]->accepts(name)) return families[i];
  }
  return NULL;
}
