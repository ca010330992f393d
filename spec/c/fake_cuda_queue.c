/* The stand-in's streams and events, and the thread that does their work; see fake_cuda.h. */
#include "fake_cuda_state.h"

/* ---- queues -------------------------------------------------------------------------------------- */

bool is_busy(CUcontext owner) {
  for (object *o = state.objects; o; o = o->next) {
    CUstream s = (CUstream)o;
    if (o->kind == FAKE_STREAM && o->owner == owner && (s->first || s->is_running)) return true;
  }
  return false;
}

bool is_running(CUcontext owner) {
  for (object *o = state.objects; o; o = o->next) {
    if (o->kind == FAKE_STREAM && o->owner == owner && ((CUstream)o)->is_running) return true;
  }
  return false;
}

static bool can_run(const op *next) {
  return next->kind != OP_WAIT || next->event->done >= next->serial;
}

static void run_copy(const op *o) {
  for (size_t z = 0; z < o->layers; z++) {
    for (size_t y = 0; y < o->rows; y++) {
      memmove(o->dst + z * o->dst_layer + y * o->dst_pitch,
              o->src + z * o->src_layer + y * o->src_pitch, o->nbytes);
    }
  }
}

static void run_set(const op *o) {
  for (size_t y = 0; y < o->rows; y++) {
    char *row = o->dst + y * o->dst_pitch;
    for (size_t i = 0; i < o->nbytes; i += o->unit) memcpy(row + i, o->pattern, o->unit);
  }
}

/* Without the lock for what is not ours. */
static void run_op(op *o) {
  if (o->kind == OP_COPY) run_copy(o);
  if (o->kind == OP_SET) run_set(o);
  if (o->kind == OP_RECORD && o->serial > o->event->done) {
    o->event->done = o->serial;
    o->event->ms = state.clock_ms += 0.25;
  }
  if (o->kind != OP_HOST && (o->kind != OP_KERNEL || !control.on_kernel)) return;
  pthread_mutex_unlock(&state.lock);
  if (o->kind == OP_HOST) {
    in_host_function = true;
    o->fn(o->ud);
    in_host_function = false;
  } else {
    o->launch.arguments = o->arguments;
    control.on_kernel(&o->launch);
  }
  pthread_mutex_lock(&state.lock);
}

/* A stream whose next work can begin; of a context in error nothing does. */
static CUstream find_ready(void) {
  for (object *o = state.objects; o && !state.is_held; o = o->next) {
    CUstream s = (CUstream)o;
    if (o->kind == FAKE_STREAM && s->first && can_run(s->first) && !o->owner->error) return s;
  }
  return NULL;
}

void drop_stream(CUstream s) {
  while (s->first) {
    op *o = s->first;
    s->first = o->next;
    free(o);
  }
  remove_object(&s->base);
  free(s);
}

static void *run_queues(void *ud) {
  (void)ud;
  pthread_mutex_lock(&state.lock);
  for (;;) {
    CUstream s = find_ready();
    if (!s) {
      pthread_cond_wait(&state.changed, &state.lock);
      continue;
    }
    op *o = s->first;
    s->first = o->next;
    if (!s->first) s->last = &s->first;
    s->is_running = true;
    run_op(o);
    free(o);
    s->is_running = false;
    if (s->is_destroyed && !s->first) drop_stream(s);
    pthread_cond_broadcast(&state.changed);
  }
  return NULL;
}

op *add_op(CUstream stream, op_kind kind) {
  op *o = calloc(1, sizeof *o);
  o->kind = kind;
  *stream->last = o;
  stream->last = &o->next;
  if (!state.has_thread) {
    state.has_thread = pthread_create(&state.thread, NULL, run_queues, NULL) == 0;
  }
  pthread_cond_broadcast(&state.changed);
  return o;
}

bool is_stream(CUstream stream) {
  return stream && stream->base.kind == FAKE_STREAM;
}

/* A stream of the current context. */
bool is_ours(CUstream stream) {
  return is_stream(stream) && stream->base.owner == current();
}

/* ---- streams and events ------------------------------------------------------------------------------------ */

CUresult cuStreamCreate(CUstream *out_stream, unsigned flags) {
  BEGIN_IN_CONTEXT(cuStreamCreate);
  if (flags != CU_STREAM_NON_BLOCKING) violate("a stream that blocks the legacy one");
  CUstream s = calloc(1, sizeof *s);
  s->last = &s->first;
  add_object(&s->base, FAKE_STREAM);
  *out_stream = s;
  return end(CUDA_SUCCESS);
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  BEGIN_IN_CONTEXT(cuStreamDestroy);
  if (!is_ours(stream)) return end(CUDA_ERROR_INVALID_HANDLE);
  if (stream->first || stream->is_running) {
    stream->is_destroyed = true;
  } else {
    drop_stream(stream);
  }
  return end(CUDA_SUCCESS);
}

/* Of any context. */
CUresult cuStreamGetCtx(CUstream stream, CUcontext *out_context) {
  BEGIN_IN_CONTEXT(cuStreamGetCtx);
  if (!is_stream(stream)) return end(CUDA_ERROR_INVALID_HANDLE);
  *out_context = stream->base.owner;
  return end(CUDA_SUCCESS);
}

CUresult cuStreamQuery(CUstream stream) {
  BEGIN_IN_CONTEXT(cuStreamQuery);
  if (!is_stream(stream)) return end(CUDA_ERROR_INVALID_HANDLE);
  return end(stream->first || stream->is_running ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
}

static void join_orders(order *into, const order *other) {
  for (int i = 0; i < MAX_DEVICES; i++) {
    if (other->seen[i] > into->seen[i]) into->seen[i] = other->seen[i];
  }
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  BEGIN_IN_CONTEXT(cuStreamWaitEvent);
  if (!is_ours(stream) || flags) return end(CUDA_ERROR_INVALID_HANDLE);
  join_orders(&stream->order, &event->order);
  if (event->recorded > event->done) {
    op *o = add_op(stream, OP_WAIT);
    o->event = event;
    o->serial = event->recorded;
  }
  return end(CUDA_SUCCESS);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *ud) {
  BEGIN_IN_CONTEXT(cuLaunchHostFunc);
  if (!is_ours(stream)) return end(CUDA_ERROR_INVALID_HANDLE);
  op *o = add_op(stream, OP_HOST);
  o->fn = fn;
  o->ud = ud;
  return end(CUDA_SUCCESS);
}

CUresult cuEventCreate(CUevent *out_event, unsigned flags) {
  BEGIN_IN_CONTEXT(cuEventCreate);
  CUevent e = calloc(1, sizeof *e);
  e->flags = flags;
  add_object(&e->base, FAKE_EVENT);
  *out_event = e;
  return end(CUDA_SUCCESS);
}

/* The library keeps what queued work still needs; here the work is done first. */
CUresult cuEventDestroy_v2(CUevent event) {
  BEGIN_IN_CONTEXT(cuEventDestroy);
  while (!state.is_held && event->recorded > event->done && !event->base.owner->error) {
    pthread_cond_wait(&state.changed, &state.lock);
  }
  remove_object(&event->base);
  if (event->recorded <= event->done) free(event); /* else some queue refers to it */
  return end(CUDA_SUCCESS);
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  BEGIN_IN_CONTEXT(cuEventRecord);
  if (!is_ours(stream)) return end(CUDA_ERROR_INVALID_HANDLE);
  event->recorded = ++state.serial;
  event->order = stream->order;
  op *o = add_op(stream, OP_RECORD);
  o->event = event;
  o->serial = event->recorded;
  return end(CUDA_SUCCESS);
}

CUresult cuEventQuery(CUevent event) {
  BEGIN_IN_CONTEXT(cuEventQuery);
  return end(event->recorded > event->done ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
}

CUresult cuEventElapsedTime(float *out_ms, CUevent first, CUevent last) {
  BEGIN_IN_CONTEXT(cuEventElapsedTime);
  if ((first->flags | last->flags) & CU_EVENT_DISABLE_TIMING) return end(CUDA_ERROR_INVALID_HANDLE);
  if (first->recorded > first->done || last->recorded > last->done) {
    return end(CUDA_ERROR_NOT_READY);
  }
  *out_ms = (float)(last->ms - first->ms);
  return end(CUDA_SUCCESS);
}
