/* The stages of a compile in order; entry.c offers them to the rest of the program. */
#ifndef ROC_CODEGEN_COMPILE_H
#define ROC_CODEGEN_COMPILE_H

#include "backend/backend.h"

/* As in roc_codegen_api. */
void roc_cg_set_fatal_handler(void (*on_fatal)(void *ud, roc_status status, const char *message),
                              void *ud);
roc_status roc_cg_compile(const roc_ir_module *module, const roc_cg_options *options,
                          roc_codeobj **out_object, roc_cg_times *times, roc_error *err);
roc_status roc_cg_dump(const roc_ir_module *module, const roc_cg_options *options,
                       roc_cg_stage stage, void (*sink)(void *ud, const char *text, size_t len),
                       void *ud, roc_error *err);
roc_status roc_cg_fingerprint(const roc_cg_options *options, char *out, roc_error *err);
void roc_cg_files(char *out);

#endif
