/* The machine as ROCR describes it, and the unit of ROCR's clock. */
#include "device/hsa/driver.h"

roc_hsa_system roc_hsa_sys;

uint64_t roc_hsa_ns_to_ticks(uint64_t ns) {
  return (uint64_t)((double)ns * ((double)roc_hsa_sys.tick_hz / 1e9));
}

uint64_t roc_hsa_ticks_to_ns(uint64_t ticks) {
  if (roc_hsa_sys.tick_hz == 1000000000) return ticks;
  return (uint64_t)((double)ticks * (1e9 / (double)roc_hsa_sys.tick_hz));
}
