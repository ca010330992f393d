/* What a launch leaves to the kernel: arguments as its signature declares them, arrays that the
 * device reaches in other places, the workgroup. */
#ifndef ROC_JIT_CONFIGURE_H
#define ROC_JIT_CONFIGURE_H

#include "jit/kernel.h"

/* Makes the value what a parameter of a signature takes: the number rounded or converted.  INVALID:
 * the message says what is expected, and does not name the argument. */
roc_status roc_jit_declare(const roc_arg_type *declared, roc_jit_value *value, roc_error *err);

/* A registered or mirrored host array for kernels of the device: its memory there, in `view`, which
 * must live as long as the value, or where it is mapped.  May copy, and wait for that. */
roc_status roc_jit_place(const roc_array *array, roc_rt_device *device, roc_array *view,
                         roc_jit_value *value, roc_error *err);

/* Whether kernels of the device update ordinary memory of the host atomically in its place. */
bool roc_jit_is_host_memory(roc_rt_device *device);

/* The workgroup of a launch that names none, within the device's limits and the kernel's promise.
 * In one dimension roc_jit_spec_queue replaces it where the target can choose by the compiled
 * code. */
void roc_jit_choose_workgroup(const roc_fe_options *options, roc_rt_device *device,
                              roc_ndrange *range);
/* INVALID: the workgroup is larger than the kernel promises. */
roc_status roc_jit_check_promise(const roc_fe_options *options, const roc_ndrange *range,
                                 roc_error *err);

#endif
