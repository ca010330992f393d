/* Affinity of the pool's threads; see pinning.h. */
#include "device/cpu/pinning.h"

#include <sched.h>

#include "base/env.h"

roc_status roc_cpu_is_pinned(bool *out, roc_error *err) {
  *out = false;
  return roc_env_switch("ROCLUA_CPU_PINNED", out, err);
}

void roc_cpu_pin(pthread_t thread, uint32_t n) {
  cpu_set_t usable, one;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return;
  int count = CPU_COUNT(&usable);
  if (count < 2) return;
  int core = -1;
  for (int left = (int)(n % (uint32_t)count); left >= 0; left -= CPU_ISSET(core, &usable) != 0) {
    core++;
  }
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  pthread_setaffinity_np(thread, sizeof one, &one);
}
