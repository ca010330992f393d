/* The functions of refused.def.  They look at no argument, and so need none of their types: a
 * declaration without them serves every release of the header. */
#include "emulator/include/emulator.h"

enum { NOT_SUPPORTED = 11 /* HSAKMT_STATUS_NOT_SUPPORTED */ };

#define REFUSED(name)               \
  ROC_EMULATOR_API int name(void);  \
  ROC_EMULATOR_API int name(void) { \
    return NOT_SUPPORTED;           \
  }
#include "emulator/thunk/refused.def"
#undef REFUSED
