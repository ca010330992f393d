/* What the files of the stand-in share; see fake_cuda.h.  All of it under state.lock. */
#ifndef SPEC_C_FAKE_CUDA_STATE_H
#define SPEC_C_FAKE_CUDA_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"

#define API __attribute__((visibility("default")))

enum {
  MAX_DEVICES = 8,
  MAX_BLOCK = 1024,
  SHARED = 48 << 10,
  SHARED_OPTIN = 227 << 10,
  PAGE = 4096
};

#define ROC_CUDA_FUNCTION(field, symbol, parameters) API CUresult symbol parameters;
#include "device/cuda/cuda_api.def"
#undef ROC_CUDA_FUNCTION

typedef struct CUctx_st {
  int device;
  unsigned refs;
  CUresult error; /* sticky */
} context;

typedef struct object {
  struct object *next;
  fake_cuda_kind kind;
  CUcontext owner;
} object;

/* Up to which allocation of each device what comes now is ordered. */
typedef struct order {
  uint64_t seen[MAX_DEVICES];
} order;

struct CUevent_st {
  object base;
  unsigned flags;
  uint64_t recorded, done; /* serials; done >= recorded: complete */
  double ms;
  order order;
};

typedef enum op_kind { OP_COPY, OP_SET, OP_HOST, OP_RECORD, OP_WAIT, OP_KERNEL } op_kind;
typedef struct op {
  struct op *next;
  op_kind kind;
  char *dst;
  const char *src;
  size_t nbytes, rows, layers, dst_pitch, src_pitch, dst_layer, src_layer, unit;
  unsigned char pattern[4];
  CUhostFn fn;
  void *ud;
  CUevent event;
  uint64_t serial;
  fake_cuda_launch launch;
  unsigned char arguments[4608];
} op;

struct CUstream_st {
  object base;
  op *first, **last;
  bool is_running, is_destroyed;
  order order;
};
struct CUmod_st {
  object base;
  char *image;
};
struct CUfunc_st {
  struct CUfunc_st *next;
  CUmodule module;
  char name[256];
  int dynamic_bytes;
};
struct CUmemPoolHandle_st {
  object base;
  int device;
  bool is_open_to[MAX_DEVICES];
};
typedef struct block {
  object base; /* MEMORY, HOST_MEMORY, REGISTERED */
  uintptr_t address;
  size_t nbytes;
  char *shadow; /* MEMORY: where the stand-in reaches it */
  int device;
  CUmemoryPool pool;
  uint64_t serial; /* of the allocation */
  CUstream stream;
} block;

typedef struct fake_state {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  pthread_t thread;
  bool has_thread, is_started, is_held;
  context contexts[MAX_DEVICES];
  object *objects;
  struct CUfunc_st *functions;
  uint64_t calls[FAKE_CALLS];
  int64_t live[FAKE_KINDS];
  uint64_t serial, waits;
  double clock_ms;
  fake_cuda_call plan;
  uint64_t plan_nth; /* UINT64_MAX: each */
  CUresult plan_result;
} fake_state;

extern fake_state state;
extern fake_cuda control;
extern _Thread_local bool in_host_function;

#define BEGIN(call)                                                \
  do {                                                             \
    CUresult begin_result_ = begin(FAKE_##call);                   \
    if (begin_result_ != CUDA_SUCCESS) return end(begin_result_);  \
    if (!state.is_started) return end(CUDA_ERROR_NOT_INITIALIZED); \
  } while (0)
#define BEGIN_IN_CONTEXT(call)                                    \
  do {                                                            \
    CUresult begin_result_ = begin_in_context(FAKE_##call);       \
    if (begin_result_ != CUDA_SUCCESS) return end(begin_result_); \
  } while (0)

/* fake_cuda.c */
void violate(const char *what);
CUcontext current(void);
void add_object(object *o, fake_cuda_kind kind);
void remove_object(object *o);
/* Counts the call, and gives the planned failure when it is due.  The lock is held from now on. */
CUresult begin(fake_cuda_call call);
/* The same for what needs a context that is well. */
CUresult begin_in_context(fake_cuda_call call);
CUresult end(CUresult result);

/* fake_cuda_memory.c */
/* Where the stand-in reaches an address, for nbytes; NULL: they are not all of one block. */
char *reach(CUdeviceptr ptr, size_t nbytes, bool *out_is_device);
void free_block(block *b);

/* fake_cuda_queue.c */
bool is_busy(CUcontext owner);
bool is_running(CUcontext owner);
void drop_stream(CUstream s);
op *add_op(CUstream stream, op_kind kind);
/* A stream of the current context. */
bool is_stream(CUstream stream);
bool is_ours(CUstream stream);

#endif
