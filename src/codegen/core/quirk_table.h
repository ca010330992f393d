/* The rows of quirk.h as a table. */
#ifndef ROC_CODEGEN_CORE_QUIRK_TABLE_H
#define ROC_CODEGEN_CORE_QUIRK_TABLE_H

#include "backend/backend.h"
#include "base/str.h"
#include "codegen/core/quirk.h"

/* By roc_quirk. */
extern const roc_cg_quirk roc_quirk_table[ROC_QUIRK_COUNT_];

/* As in roc_codegen_api. */
const roc_cg_quirk *roc_quirk_rows(uint32_t *out_count);

/* Bits of the rows that are options of LLVM, which a process sets once. */
uint64_t roc_quirk_options(void);

/* Adds to the text what code for a target of the family depends on: the rows that concern it and
 * are on, as " name name …". */
void roc_quirk_list(const char *family, uint64_t off, roc_str *out);

#endif
