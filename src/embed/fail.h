/* How functions of roclua.h fail: a code is returned, the message is kept for roclua_error. */
#ifndef ROC_EMBED_FAIL_H
#define ROC_EMBED_FAIL_H

#include "base/status.h"

/* Keeps the message of *err for the calling thread unless `status` is ROC_OK; gives the code, which
 * is the status. */
int roc_embed_code(roc_status status, const roc_error *err);

/* Fails with INVALID and such a message. */
int roc_embed_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
