/* The drivers this build has, in the order in which their devices are offered. */
#ifndef ROC_DEVICE_REGISTRY_H
#define ROC_DEVICE_REGISTRY_H

#include "device/device.h"

typedef struct roc_driver {
  const roc_device_ops *ops;
  bool is_listed; /* false: only when asked for by name */
} roc_driver;

extern const roc_driver roc_drivers[];
extern const uint32_t roc_driver_count;

#endif
