/* See nvptx_ptx.h. */
#include "base/nvptx_ptx.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/nvptx_programs.h"
#include "base/nvptx_target.h"
#include "base/target.h"

roc_status roc_ptx_read_kernel(const roc_codeobj *object, roc_ptx_kernel *out, roc_error *err) {
  *out = (roc_ptx_kernel){.max_workgroup = ROC_NVPTX_MAX_WORKGROUP,
                          .registers = ROC_TARGET_UNKNOWN,
                          .private_bytes = ROC_TARGET_UNKNOWN,
                          .spills = ROC_TARGET_UNKNOWN};
  const char *text = (const char *)object->bytes;
  size_t len = strlen(object->entry);
  const char *entry = strstr(text, ".entry ");
  while (entry && (strncmp(entry + 7, object->entry, len) || entry[7 + len] != '(')) {
    entry = strstr(entry + 1, ".entry ");
  }
  if (!entry) return roc_fail(err, ROC_INVALID, "no kernel '%s' in the code object", object->entry);
  const char *body = strchr(entry, '{'), *bound = strstr(entry, ".maxntid ");
  unsigned items;
  bool is_bound = bound && body && bound < body && sscanf(bound, ".maxntid %u", &items) == 1;
  if (is_bound) out->max_workgroup = items;
  return ROC_OK;
}

/* ---- the assembler ----------------------------------------------------------------------- */

/* "ptxas info : Compiling entry function 'roc_k' for 'sm_90'", then lines on that one. */
static void read_said(const char *said, const char *entry, roc_ptx_kernel *kernel) {
  char head[256];
  snprintf(head, sizeof head, "entry function '%s'", entry);
  const char *at = strstr(said, head);
  const char *frame = at ? strstr(at, "bytes stack frame") : NULL;
  const char *used = at ? strstr(at, "Used ") : NULL;
  while (frame && frame > at && frame[-1] != '\n') frame--;
  uint64_t registers, stack, stores;
  if (!frame || !used || sscanf(used, "Used %" SCNu64, &registers) != 1) return;
  if (sscanf(frame, "%" SCNu64 " bytes stack frame, %" SCNu64, &stack, &stores) != 2) return;
  kernel->is_assembled = true;
  kernel->registers = registers;
  kernel->private_bytes = stack;
  kernel->spills = stores;
}

void roc_ptx_assemble(const roc_codeobj *object, roc_ptx_kernel *kernel) {
  char said[ROC_NVPTX_SAID_BYTES];
  if (roc_nvptx_describe(object->target, object->bytes, object->nbytes, said)) {
    read_said(said, object->entry, kernel);
  }
}
