/* Signatures: "(float32[:,:], int64)", the types of a kernel's parameters as text.
 *
 *   signature = "(" [ type { "," type } ] ")"
 *   type      = dtype [ "[" dim { "," dim } "]" { word } ] | dtype { word }
 *   dim       = ":" | "::1"
 *   word      = "strided" (any layout) | "alias"
 *             | "narrow" (integers and extents lie in 0 … 2^31-1)
 *
 * Without a word an array is in C order, as arrays normally are; "::1" marks the dense dimension in
 * numba's way: in the last place C order, in the first Fortran order.  float64 is a Lua float: it
 * takes the type of the float32 it meets. */
#ifndef ROC_FRONTEND_TYPES_SIGNATURE_H
#define ROC_FRONTEND_TYPES_SIGNATURE_H

#include "base/arg_type.h"
#include "base/status.h"

/* Parses into `types`, which has room for `room`; *out_count is the number of types.  ROC_INVALID:
 * the message shows the text and the place. */
roc_status roc_fe_parse_signature(const char *text, roc_arg_type *types, uint32_t room,
                                  uint32_t *out_count, roc_error *err);

#endif
