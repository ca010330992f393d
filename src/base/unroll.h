/* ROC_UNROLL before a loop of at most 16 constant rounds writes its rounds out.  Code made for
 * vectors needs it where an array must stay in registers. */
#ifndef ROC_BASE_UNROLL_H
#define ROC_BASE_UNROLL_H

#if defined(__clang__)
#define ROC_UNROLL _Pragma("unroll")
#else
#define ROC_UNROLL _Pragma("GCC unroll 16")
#endif

#endif
