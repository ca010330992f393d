/* The open devices, for ROCR's callbacks, which may come while one is closed. */
#include "device/hsa/driver.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static roc_hsa_device *devices; /* open ones */

void roc_hsa_list_device(roc_hsa_device *device, bool is_open) {
  pthread_mutex_lock(&lock);
  roc_hsa_device **link = &devices;
  while (*link && *link != device) link = &(*link)->next;
  if (is_open) {
    device->next = devices;
    devices = device;
  } else if (*link) {
    *link = device->next;
  }
  pthread_mutex_unlock(&lock);
}

roc_hsa_device *roc_hsa_lock_devices(void) {
  pthread_mutex_lock(&lock);
  return devices;
}

void roc_hsa_unlock_devices(void) {
  pthread_mutex_unlock(&lock);
}

roc_status roc_hsa_fail_lost(roc_hsa_device *device, roc_error *err) {
  return roc_fail(err, ROC_LOST, "%s", device->base.lost_why);
}

roc_status roc_hsa_check_agent(hsa_agent_t agent, roc_error *err) {
  roc_status status = ROC_OK;
  pthread_mutex_lock(&lock);
  for (roc_hsa_device *d = devices; d && status == ROC_OK; d = d->next) {
    if (d->agent.handle == agent.handle && d->base.is_lost) status = roc_hsa_fail_lost(d, err);
  }
  pthread_mutex_unlock(&lock);
  return status;
}
