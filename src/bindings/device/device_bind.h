/* Devices, streams and waits for Lua: declarations shared by the files of devices, the arrays and
 * the launch code.
 *
 * The current device is kept here, per Lua state; the core has none.  Every function that takes a
 * device or stream from a script goes through these checks.  A stream that they return is borrowed
 * from its userdata, which a finalizer may close whenever Lua allocates: fetch it just before use,
 * and again after anything that may run a finalizer. */
#ifndef ROC_BINDINGS_DEVICE_DEVICE_BIND_H
#define ROC_BINDINGS_DEVICE_DEVICE_BIND_H

#include "bindings/array/array_bind.h"
#include "bindings/support/bind.h"
#include "runtime/device.h"
#include "runtime/event.h"
#include "runtime/session.h"
#include "runtime/stream.h"

#define ROC_META_DEVICE "roc.Device"
#define ROC_META_STREAM "roc.Stream"
#define ROC_META_STREAM_SCOPE "roc.StreamScope"
#define ROC_META_EVENT "roc.Event"

typedef struct roc_device_box {
  uint32_t index;
  roc_rt_device *device; /* NULL: not opened through this value */
} roc_device_box;

typedef struct roc_stream_box {
  roc_rt_stream *stream; /* NULL once closed */
} roc_stream_box;

/* device_arg.c */
/* The state's current device: the one selected last, else $ROCLUA_DEVICE's, else the first.  Opens
 * it; raises when that fails. */
roc_rt_device *roc_current_device(lua_State *L);
/* The same without a look into the registry: the record that holds it lives as long as the
 * state. */
typedef struct roc_current roc_current;
roc_current *roc_get_current(lua_State *L);
roc_rt_device *roc_current_device_of(lua_State *L, roc_current *current);
/* The device at `arg` (a device, its ordinal from 1, or its name); nil or none: the current one. */
roc_rt_device *roc_opt_device(lua_State *L, int arg);
/* The same for a field of options, fetched to `idx`. */
roc_rt_device *roc_opt_device_field(lua_State *L, int idx);
/* Get and set the current device's index, from 0, without opening it. */
uint32_t roc_current_device_index(lua_State *L);
void roc_set_current_device(lua_State *L, uint32_t index);
/* The index, from 0, of the device at `arg`. */
uint32_t roc_check_device_index(lua_State *L, int arg);
/* Opens the device with that index; raises when that fails. */
roc_rt_device *roc_open_device_at(lua_State *L, uint32_t index);
/* Pushes the device with that index (from 0). */
void roc_push_device(lua_State *L, uint32_t index);
/* The stream at `arg`, which must be of `device` (NULL: any); NULL for nil or none. */
roc_rt_stream *roc_opt_stream(lua_State *L, int arg, roc_rt_device *device);
/* The same for a field of options or of a launch configuration, fetched to `idx`. */
roc_rt_stream *roc_opt_stream_field(lua_State *L, int idx, roc_rt_device *device);
/* Raises "bad option 'stream' of 'to_device' (...)" unless it is nil or such a stream. */
void roc_check_stream_option(lua_State *L, int idx, const roc_rt_device *device, const char *func);
/* The box of a stream, or of a scope of one (stream:auto_synchronize()), at `idx`; NULL:
 * neither. */
const roc_stream_box *roc_test_stream(lua_State *L, int idx);
/* Pushes a new userdata for the stream at `idx`, or, when that is nil, for `fallback`, which must
 * be a device's default stream. Closing one of the two leaves the other open. */
void roc_push_stream(lua_State *L, int idx, roc_rt_stream *fallback);
/* The open event at `arg`; in the userdata. */
const roc_rt_event *roc_check_event(lua_State *L, int arg);

/* The state's session, made on first use; its key is the state's main thread.  Raises on lack of
 * memory, and while the state closes, when the session has ended. */
roc_rt_session *roc_session(lua_State *L);
/* The same; NULL: there is none. */
roc_rt_session *roc_get_session(lua_State *L);
/* The state's default stream on the device; raises why there is none. */
roc_rt_stream *roc_default_stream(lua_State *L, roc_rt_device *device);
roc_rt_stream *roc_default_stream_of(lua_State *L, roc_current *current, roc_rt_device *device);

/* Pushes a new, uninitialised device array. */
roc_array *roc_new_device_array(lua_State *L, roc_rt_device *device, roc_dtype dtype, uint32_t rank,
                                const int64_t *extents, roc_order order);

/* kernel_sim.c: interrupts the kernel that runs in the Lua VM on the calling thread, if there is one,
 * in the session with that key (NULL: in any).  Signal-safe. */
void roc_interrupt_sim(const void *key);

/* Hands the lines kernels have printed to the global `print`, oldest first. */
void roc_deliver_prints(lua_State *L);
/* callback.c: adds the function at index 2, with the arguments after it, which is called when the
 * work queued so far on the stream at index 1 is complete; and calls the callbacks that are due. */
void roc_add_callback(lua_State *L);
void roc_deliver_callbacks(lua_State *L);
/* The end of every wait and query: delivers prints, raises unless `status` is ROC_OK, and runs
 * callbacks (last, since they may raise, which must not hide a fault). */
void roc_bind_after_wait(lua_State *L, roc_status status, const roc_error *err);

#endif
