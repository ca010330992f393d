/* The three spellings of a launch, and its configuration.
 *
 * All of them make a roc_ndrange; k[cfg] and k:forall(n) keep it in a launcher, a userdata
 * that holds its kernel (and stream) by uservalue.  Calling a launcher allocates no Lua memory. */
#include "bindings/device/device_bind.h"
#include "bindings/kernel/kernel_bind.h"
#include "bindings/kernel/launch_config.h"
#include "jit/configure.h"

/* Its address is the registry key of the function that launches on sim. */
static const char sim_key;

enum { LAUNCHER_UV_KERNEL = 1, LAUNCHER_UV_STREAM, LAUNCHER_UV_COUNT = LAUNCHER_UV_STREAM };

typedef struct launcher {
  const void *mark;    /* &launcher_mark: identifies launchers without a look-up */
  roc_kernel_box *box; /* of the kernel in the uservalue */
  bool has_stream;     /* in the other uservalue */
  roc_ndrange range;   /* local[0] 0: chosen for the device, at each launch */
} launcher;

static const char launcher_mark;

/* ---- configurations ---- */

/* Pushes a launcher for the kernel at index 1 with the stream, or nil, at the top of the stack. */
static int push_launcher(lua_State *L, roc_kernel_box *box, const roc_ndrange *range) {
  int stream = lua_gettop(L);
  launcher *l = lua_newuserdatauv(L, sizeof *l, LAUNCHER_UV_COUNT);
  *l = (launcher){.mark = &launcher_mark, .box = box, .range = *range};
  l->has_stream = !lua_isnil(L, stream);
  lua_pushvalue(L, stream);
  lua_setiuservalue(L, -2, LAUNCHER_UV_STREAM);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, LAUNCHER_UV_KERNEL);
  luaL_setmetatable(L, ROC_META_LAUNCHER);
  return 1;
}

int roc_kernel_index_config(lua_State *L) {
  roc_kernel_box *box = roc_check_kernel(L, 1);
  roc_ndrange range;
  roc_config_read_index(L, &range);
  return push_launcher(L, box, &range);
}

/* k:forall(n [, m [, l]] [, {workgroup=, stream=, shared=}]) */
int roc_kernel_m_forall(lua_State *L) {
  roc_kernel_box *box = roc_check_kernel(L, 1);
  roc_ndrange range;
  roc_config_read_forall(L, &range);
  return push_launcher(L, box, &range);
}

/* ---- launching ---- */

void roc_kernel_push_copy_hint(lua_State *L, const roc_kernel_box *box) {
  lua_pushfstring(
      L,
      "kernel '%s' copied a plain host array for the third time; keep it on the device with "
      "roc.to_device, or say which copies are needed with roc.In or roc.Out",
      box->kernel->name);
}

static bool has_plain_host_array(const roc_kernel_box *box) {
  for (uint32_t i = 0; i < box->kernel->nparams; i++) {
    if (box->stages[i].host && box->stages[i].is_plain) return true;
  }
  return false;
}

/* Gives each hint once, as a Lua warning. */
static void warn(lua_State *L, roc_kernel_box *box) {
  if (box->nhosts > 0 && has_plain_host_array(box) && ++box->plain_copies == KERNEL_HINT_COPIES) {
    roc_kernel_push_copy_hint(L, box);
    lua_warning(L, lua_tostring(L, -1), 0);
    lua_pop(L, 1);
  }
  for (int i = 0; i < ROC_JIT_HINTS; i++) {
    if (!box->kernel->is_hint_new[i]) continue;
    box->kernel->is_hint_new[i] = false;
    lua_warning(L, roc_str_text(&box->kernel->hints[i]), 0);
  }
}

/* One launch as Lua gives it: stack indices, and the kernel with its configuration. */
typedef struct request {
  int kernel, stream; /* stream: nil, or 0, for the default one */
  int first, count;   /* arguments */
  roc_kernel_box *box;
  const roc_ndrange *range;
  roc_rt_device *device;        /* NULL: the current one */
  roc_rt_stream *own;           /* of the device, in place of `stream`; NULL: none */
  roc_kernel_operand *operands; /* in place of arguments; NULL: none */
  roc_place place;              /* in place of that of the call */
  bool may_be_later;            /* than the code, which is not there yet */
} request;

typedef struct target {
  roc_rt_stream *stream;
  bool is_named; /* by the script */
  roc_rt_device *device;
  const roc_device *driver;
} target;

/* Calls the function lua/roc/kernel.lua registered: (kernel, config, arguments…). */
static int launch_on_sim(lua_State *L, const request *r, const target *t,
                         const roc_jit_launch *work) {
  const roc_ndrange *range = &work->range;
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_rt_launch_check(t->device, range, &err), &err);
  luaL_checkstack(L, r->count + 10, "too many arguments");
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &sim_key) != LUA_TFUNCTION) {
    return luaL_error(L, "the sim device is not loaded: require \"roc\" loads it");
  }
  lua_pushvalue(L, r->kernel);
  lua_createtable(L, 0, 7);
  static const char *const names[] = {"grid", "groups", "workgroup"};
  for (int table = 0; table < 3; table++) {
    lua_createtable(L, 3, 0);
    for (int d = 0; d < 3; d++) {
      uint64_t values[] = {range->grid[d], roc_ndrange_groups(range, d), range->local[d]};
      lua_pushinteger(L, (lua_Integer)values[table]);
      lua_rawseti(L, -2, d + 1);
    }
    lua_setfield(L, -2, names[table]);
  }
  lua_pushinteger(L, range->rank);
  lua_setfield(L, -2, "rank");
  lua_pushinteger(L, range->dynamic_shared_bytes);
  lua_setfield(L, -2, "shared");
  if (r->stream) {
    lua_pushvalue(L, r->stream);
  } else {
    lua_pushnil(L);
  }
  roc_push_stream(L, -1, roc_default_stream(L, t->device));
  lua_setfield(L, -3, "stream");
  lua_pop(L, 1);
  lua_pushfstring(L, "%s:%d", work->file, (int)work->line);
  lua_setfield(L, -2, "place");
  for (int i = 0; i < r->count; i++) lua_pushvalue(L, r->first + i);
  lua_call(L, r->count + 2, 0);
  return 0;
}

/* The stream is borrowed, only until Lua code may run again. */
static target find_target(lua_State *L, const request *r) {
  target t = {.stream = r->stream ? roc_opt_stream_field(L, r->stream, NULL) : r->own};
  t.is_named = r->stream && t.stream;
  t.device = r->device  ? r->device
             : t.stream ? roc_rt_stream_device(t.stream)
                        : roc_current_device_of(L, r->box->current);
  if (!t.stream) t.stream = roc_default_stream_of(L, r->box->current, t.device);
  t.driver = roc_rt_device_driver(t.device);
  return t;
}

static void check_promise(lua_State *L, const roc_fe_options *options, const roc_ndrange *range) {
  roc_error err = ROC_ERROR_INIT;
  if (roc_jit_check_promise(options, range, &err) != ROC_OK) luaL_error(L, "%s", err.message);
}

static roc_jit_launch describe_launch(lua_State *L, const request *r, const target *t) {
  roc_jit_launch work = {.range = *r->range,
                         .is_local_free = r->range->local[0] == 0,
                         .is_ordered = r->box->is_ordered && !t->is_named,
                         .uses_all = r->box->is_ordered};
  const roc_fe_options *options = &r->box->kernel->options;
  if (work.is_local_free) roc_jit_choose_workgroup(options, t->device, &work.range);
  if (options->workgroup[0]) check_promise(L, options, &work.range);
  if (r->place.file) {
    work.file = r->place.file;
    work.line = r->place.line;
  } else {
    work.file = roc_launch_place(L, &work.line);
  }
  return work;
}

/* Arguments are checked where they are read; captured arrays are read before the device is
 * known. */
static void check_captured(lua_State *L, const roc_kernel_box *box, const roc_rt_device *device) {
  const roc_jit_program *program = box->kernel->program;
  for (uint32_t i = 0; i < program->narrays; i++) {
    const roc_jit_capture *capture = &program->arrays[i];
    roc_buffer *buffer = capture->is_constant ? NULL : capture->value.array->buffer;
    roc_rt_device *owner = buffer ? roc_buffer_device(buffer) : NULL;
    if (!owner || owner == device) continue;
    luaL_error(L, "kernel '%s' captures '%s', which is on device '%s', and is launched on another",
               box->kernel->name, capture->name, roc_rt_device_label(owner));
  }
}

static bool evaluate_captured(lua_State *L, const roc_kernel_box *box, roc_rt_stream *stream) {
  const roc_jit_program *program = box->kernel->program;
  for (uint32_t i = 0; i < program->narrays; i++) {
    const roc_jit_capture *capture = &program->arrays[i];
    const roc_array *a = capture->is_constant ? NULL : capture->value.array;
    if (a && a->buffer && roc_kernel_evaluate(L, a, stream)) return true;
  }
  return false;
}

/* False: Lua code may have run meanwhile, so all of the launch is to be read again. */
static bool read_values(lua_State *L, const request *r, const target *t) {
  if (evaluate_captured(L, r->box, t->stream)) return false;
  if (!r->operands) {
    return roc_kernel_read_args(L, r->box, r->first, r->count, t->device, t->stream);
  }
  roc_kernel_take_operands(L, r->box, r->operands, (uint32_t)r->count);
  return true;
}

/* False: the launch may be later than the code, which is not there yet. */
static bool launch(lua_State *L, const request *r) {
  roc_kernel_box *box = r->box;
  bool is_later = false;
  roc_error err; /* filled on failure; zeroing it here would cost more than the rest */
  roc_status status = ROC_OK;
  for (bool has_reclaimed = false;;) {
    if (!box->kernel) luaL_error(L, "the kernel is closed");
    roc_kernel_read_cells(L, box, r->kernel); /* may run Lua code, so it is first */
    target t = find_target(L, r);
    roc_jit_launch work = describe_launch(L, r, &t);
    if (!read_values(L, r, &t)) continue;
    check_captured(L, box, t.device);
    if (roc_ndrange_is_empty(&work.range)) return true;
    if (t.driver->props.runs_in_lua) {
      launch_on_sim(L, r, &t, &work);
      return true;
    }
    status = roc_kernel_run(box, t.stream, &work, r->may_be_later ? &is_later : NULL, &err);
    if (status != ROC_OOM || has_reclaimed || !roc_gc_reclaim(L)) break;
    has_reclaimed = true;
  }
  warn(L, box);
  if (box->nhosts > 0 && !is_later) roc_deliver_prints(L); /* the launch has waited */
  if (status != ROC_OK) roc_kernel_raise(L, box, &err);
  return !is_later;
}

/* A light userdata has length 0. */
static const launcher *check_launcher(lua_State *L) {
  const launcher *l = lua_touserdata(L, 1);
  if (!l || lua_rawlen(L, 1) != sizeof *l || l->mark != &launcher_mark)
    luaL_typeerror(L, 1, ROC_META_LAUNCHER);
  return l;
}

/* On the path of every launch: each call of Lua's API adds to its cost. */
static int launcher_mm_call(lua_State *L) {
  const launcher *l = check_launcher(L);
  int count = lua_gettop(L) - 1;
  request r = {.kernel = count + 2, .first = 2, .count = count, .box = l->box, .range = &l->range};
  lua_getiuservalue(L, 1, LAUNCHER_UV_KERNEL);
  if (l->has_stream) {
    lua_getiuservalue(L, 1, LAUNCHER_UV_STREAM);
    r.stream = count + 3;
  }
  launch(L, &r);
  return 0;
}

static int launcher_mm_tostring(lua_State *L) {
  const launcher *l = luaL_checkudata(L, 1, ROC_META_LAUNCHER);
  lua_pushfstring(L, "roc.Launcher: %s, %I x %I x %I work-items",
                  l->box->kernel ? l->box->kernel->name : "closed", (LUAI_UACINT)l->range.grid[0],
                  (LUAI_UACINT)l->range.grid[1], (LUAI_UACINT)l->range.grid[2]);
  return 1;
}

/* k:launch({…}, args…) */
int roc_kernel_m_launch(lua_State *L) {
  roc_kernel_box *box = roc_check_kernel(L, 1);
  roc_ndrange range;
  int count = lua_gettop(L) - 2;
  roc_config_read_launch(L, 2, &range);
  request r = {.kernel = 1,
               .stream = lua_gettop(L),
               .first = 3,
               .count = count,
               .box = box,
               .range = &range};
  launch(L, &r);
  return 0;
}

bool roc_kernel_launch_operands(lua_State *L, int kernel, roc_rt_device *device,
                                roc_rt_stream *stream, const roc_ndrange *range, roc_place place,
                                roc_kernel_operand *operands, uint32_t count, bool may_be_later) {
  request r = {.kernel = kernel,
               .count = (int)count,
               .box = roc_check_kernel(L, kernel),
               .range = range,
               .device = device,
               .own = stream,
               .operands = operands,
               .place = place,
               .may_be_later = may_be_later};
  return launch(L, &r);
}

static int set_sim_launcher(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &sim_key);
  return 0;
}

/* core.hide_launches(short_src): the chunk belongs to roclua; see place.h */
static int hide_launches(lua_State *L) {
  roc_place_hide(luaL_checkstring(L, 1));
  return 0;
}

/* core.order_launches(kernel [, is_own]): those that name no stream are ordered work, and a look at
 * any of their arrays tells what failed; and what the kernel captures never changes */
static int order_launches(lua_State *L) {
  roc_kernel_box *box = roc_check_kernel(L, 1);
  box->is_ordered = true;
  box->is_own = lua_toboolean(L, 2);
  return 0;
}

static const luaL_Reg launcher_meta[] = {
    {"__call", launcher_mm_call}, {"__tostring", launcher_mm_tostring}, {NULL, NULL}};
static const luaL_Reg functions[] = {{"set_sim_launcher", set_sim_launcher},
                                     {"hide_launches", hide_launches},
                                     {"order_launches", order_launches},
                                     {NULL, NULL}};

void roc_open_kernel_launch(lua_State *L) {
  roc_class_new(L, ROC_META_LAUNCHER, launcher_meta);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
