/* See target.h. */
#include "base/target.h"

#include <stddef.h>
#include <string.h>

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

static const roc_target_form *find_form(const roc_target_facts *facts, const char *name) {
  for (uint32_t i = 0; facts && i < facts->nforms; i++) {
    if (strcmp(facts->forms[i].name, name) == 0) return &facts->forms[i];
  }
  return NULL;
}

static roc_status fail_form(const roc_target_facts *facts, const char *target, const char *form,
                            roc_error *err) {
  roc_str known = ROC_STR_INIT;
  for (uint32_t i = 0; facts && i < facts->nforms; i++) {
    roc_str_printf(&known, "%s'%s'", i ? ", " : "", facts->forms[i].name);
  }
  roc_fail(err, ROC_INVALID, "code for '%s' has no form '%s' (it has %s)", target, form,
           known.len ? roc_str_text(&known) : "no other than its own");
  roc_str_deinit(&known);
  return ROC_INVALID;
}

roc_status roc_target_convert(const char *target, const char *form, const void *bytes,
                              size_t nbytes, roc_str *out, roc_error *err) {
  const roc_target_facts *facts = roc_target_facts_of(target);
  const roc_target_form *found = find_form(facts, form);
  if (!found) return fail_form(facts, target, form, err);
  return found->make(target, bytes, nbytes, out, err);
}
