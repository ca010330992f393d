/* The table of drivers: GPUs come first, so that the first device is the best one. */
#include "device/registry.h"

const roc_driver roc_drivers[] = {
    {&roc_hsa_ops, true}, {&roc_cuda_ops, true},  {&roc_cpu_ops, true},
    {&roc_sim_ops, true}, {&roc_null_ops, false},
};

const uint32_t roc_driver_count = sizeof roc_drivers / sizeof roc_drivers[0];
