/* How many cores' worth of time Linux lets the process have. */
#ifndef ROC_DEVICE_CPU_QUOTA_H
#define ROC_DEVICE_CPU_QUOTA_H

#include <stdint.h>

/* The least quota of the process's control group and those above it, in cores, rounded up;
 * UINT32_MAX: there is none.  `groups` is where the process's groups are listed
 * ("/proc/self/cgroup"), `root` where they are mounted ("/sys/fs/cgroup"), of version 1 or 2. */
uint32_t roc_cpu_quota(const char *groups, const char *root);

#endif
