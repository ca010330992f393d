/* The vectors that code of roclua itself, which was compiled with it, may use on this processor. */
#ifndef ROC_BASE_CPU_LEVEL_H
#define ROC_BASE_CPU_LEVEL_H

typedef enum roc_cpu_vectors { ROC_CPU_PLAIN, ROC_CPU_AVX2, ROC_CPU_AVX512 } roc_cpu_vectors;

/* What the processor has, but no more than the level that ROCLUA_CPU names: x86-64, x86-64-v2 or
 * x86-64-v3.  Other names leave it as it is.  The variable is read once.  Any thread. */
roc_cpu_vectors roc_cpu_level(void);

#endif
