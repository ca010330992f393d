/* One copy of roclua in a process.
 *
 * A program may come to contain the library twice: libroclua.a in it, and libroclua.so.0 by a
 * module that it loads.  Two runtimes would each open the devices, so only one may open. */
#ifndef ROC_BASE_SOLE_H
#define ROC_BASE_SOLE_H

#include "base/status.h"

/* Makes this copy the one that is open; it is not unloaded from then on.  Any thread, again and
 * again.  UNSUPPORTED: another copy is open, whose file the message names. */
roc_status roc_sole_claim(roc_error *err);

#endif
