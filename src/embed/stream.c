/* Streams of C programs, and the session that they belong to. */
#include <pthread.h>

#include "base/sole.h"
#include "bindings/device/device_bind.h"
#include "embed/fail.h"
#include "embed/handle.h"
#include "include/roclua.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static roc_rt_session *session; /* under the lock */
static void (*print)(void *ud, const char *line, size_t nbytes);
static void *print_ud; /* both under the lock */

roc_status roc_embed_session(roc_rt_session **out_session, roc_error *err) {
  ROC_TRY(roc_sole_claim(err));
  ROC_TRY(roc_rt_check_open(err));
  pthread_mutex_lock(&lock);
  roc_status status = session ? ROC_OK : roc_rt_session_create(&session, &session, err);
  *out_session = session;
  pthread_mutex_unlock(&lock);
  return status;
}

int roclua_set_print(void (*function)(void *ud, const char *line, size_t nbytes), void *ud) {
  roc_error err = ROC_ERROR_INIT;
  if (roc_rt_check_open(&err) != ROC_OK) return roc_embed_code(err.code, &err);
  pthread_mutex_lock(&lock);
  print = function;
  print_ud = ud;
  pthread_mutex_unlock(&lock);
  return ROCLUA_OK;
}

void roc_embed_deliver_prints(void) {
  if (!roc_rt_has_print()) return;
  pthread_mutex_lock(&lock);
  roc_rt_session *own = session;
  void (*function)(void *, const char *, size_t) = print;
  void *ud = print_ud;
  pthread_mutex_unlock(&lock);
  roc_str line = ROC_STR_INIT;
  while (own && roc_rt_take_print(own, &line)) {
    if (function && !line.failed) function(ud, roc_str_text(&line), line.len);
    roc_str_deinit(&line);
  }
}

roc_status roc_embed_device(const char *name, roc_rt_device **out_device, roc_error *err) {
  uint32_t index;
  ROC_TRY(roc_rt_device_find(name, &index, err));
  return roc_rt_device_get(index, out_device, err);
}

static roc_status create(const char *device, roc_rt_stream **out_stream, roc_error *err) {
  roc_rt_session *own;
  roc_rt_device *on;
  ROC_TRY(roc_embed_session(&own, err));
  ROC_TRY(roc_embed_device(device, &on, err));
  return roc_rt_stream_create(own, on, out_stream, err);
}

int roclua_stream_create(const char *device, roclua_stream **out_stream) {
  roc_error err = ROC_ERROR_INIT;
  if (!device || !out_stream) {
    return roc_embed_refuse("roclua_stream_create: %s is NULL", device ? "out_stream" : "device");
  }
  return roc_embed_code(create(device, (roc_rt_stream **)out_stream, &err), &err);
}

static roc_status adopt(const char *device, void *native, roc_rt_stream **out_stream,
                        roc_error *err) {
  roc_rt_session *own;
  roc_rt_device *on;
  ROC_TRY(roc_embed_session(&own, err));
  ROC_TRY(roc_embed_device(device, &on, err));
  return roc_rt_stream_adopt(own, on, native, out_stream, err);
}

int roclua_stream_adopt(const char *device, void *native, roclua_stream **out_stream) {
  roc_error err = ROC_ERROR_INIT;
  if (!device || !out_stream) {
    return roc_embed_refuse("roclua_stream_adopt: %s is NULL", device ? "out_stream" : "device");
  }
  return roc_embed_code(adopt(device, native, (roc_rt_stream **)out_stream, &err), &err);
}

int roclua_stream_get(lua_State *L, int index, roclua_stream **out_stream) {
  if (!L || !out_stream) {
    return roc_embed_refuse("roclua_stream_get: %s is NULL", L ? "out_stream" : "the state");
  }
  if (!lua_checkstack(L, 4)) return roc_embed_refuse("roclua_stream_get: the stack is full");
  const roc_stream_box *box = roc_test_stream(L, index);
  if (!box) {
    return roc_embed_refuse("roclua_stream_get: roc.Stream expected, got %s",
                            luaL_typename(L, index));
  }
  if (!box->stream) return roc_embed_refuse("roclua_stream_get: the stream is closed");
  roc_rt_stream_retain(box->stream);
  *out_stream = (roclua_stream *)box->stream;
  return ROCLUA_OK;
}

int roclua_stream_synchronize(roclua_stream *stream) {
  roc_error err = ROC_ERROR_INIT;
  if (!stream) return roc_embed_refuse("roclua_stream_synchronize: the stream is NULL");
  roc_status status = roc_rt_stream_synchronize(roc_embed_stream_of(stream), &err);
  roc_embed_deliver_prints();
  return roc_embed_code(status, &err);
}

void roclua_stream_release(roclua_stream *stream) {
  roc_rt_stream_release(roc_embed_stream_of(stream));
}
