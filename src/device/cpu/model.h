/* What the processor is, for people. */
#ifndef ROC_DEVICE_CPU_MODEL_H
#define ROC_DEVICE_CPU_MODEL_H

#include <stddef.h>

/* "AMD EPYC 9354 (AVX2, FMA, AVX-512)": the name that the processor gives itself, and of its vector
 * instructions those that the machine lets programs use. */
void roc_cpu_describe_model(char *out, size_t size);

#endif
