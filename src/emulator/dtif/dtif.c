/* libdtif.so, the name by which a ROCR of ROCm 7 opens another driver's library than its own when
 * HSA_ENABLE_DTIF=1 says so.  It looks up AMD's driver functions in it, which are found in
 * libhsakmt.so.1, linked to this library, and those of libdrm that are here: in libhsakmt.so.1 they
 * would stand before libdrm's own. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "emulator/include/emulator.h"
#include "emulator/support/clock.h"

/* The first fields of libdrm's struct amdgpu_gpu_info, which only grows at its end. */
typedef struct gpu_info {
  uint32_t asic_id, chip_rev, chip_external_rev, family_id;
  uint64_t ids_flags, max_engine_clk, max_memory_clk;
  uint32_t units[8];
  uint32_t gpu_counter_freq; /* kHz */
} gpu_info;

ROC_EMULATOR_API void *DtifCreate(const char *client);
ROC_EMULATOR_API void DtifDestroy(void);
ROC_EMULATOR_API int amdgpu_query_gpu_info(void *device, gpu_info *out);
ROC_EMULATOR_API int amdgpu_device_deinitialize(void *device);

/* Anything but NULL: there is nothing to make. */
void *DtifCreate(const char *client) {
  return (void *)(uintptr_t)client;
}

void DtifDestroy(void) {}

int amdgpu_query_gpu_info(void *device, gpu_info *out) {
  if (!device) return -ENODEV;
  memset(out, 0, sizeof *out);
  out->gpu_counter_freq = 1000000 / EMU_TICK_NS;
  return 0;
}

int amdgpu_device_deinitialize(void *device) {
  (void)device;
  return 0;
}

#define REFUSED(name)              \
  ROC_EMULATOR_API int name(void); \
  int name(void) {                 \
    return -EOPNOTSUPP;            \
  }
REFUSED(amdgpu_device_initialize)
REFUSED(amdgpu_bo_cpu_map)
REFUSED(amdgpu_bo_export)
REFUSED(amdgpu_bo_free)
REFUSED(amdgpu_bo_import)
REFUSED(amdgpu_bo_query_info)
REFUSED(amdgpu_bo_set_metadata)
REFUSED(amdgpu_bo_va_op)
REFUSED(drmCommandWriteRead)
