/* The three spellings of a launch, and its configuration.
 *
 * All of them make a roc_ndrange; k[cfg] and k:forall(n) keep it in a launcher, a userdata
 * that holds its kernel (and stream) by uservalue.  Calling a launcher allocates no Lua memory. */
#include <limits.h>
#include <string.h>

#include "bindings/device/device_bind.h"
#include "bindings/kernel/kernel_bind.h"
#include "bindings/kernel/place.h"
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

/* Reads an integer or a table of up to three at the top of the stack, and pops it; returns how
 * many. */
static uint32_t read_dims(lua_State *L, const char *what, int64_t least, int64_t dims[3]) {
  bool is_table = lua_istable(L, -1);
  lua_Unsigned count = is_table ? lua_rawlen(L, -1) : 1;
  if (count < 1 || count > 3) {
    luaL_error(L, "bad %s (1 to 3 integers expected, got %d)", what, (int)count);
  }
  for (uint32_t d = 0; d < count; d++) {
    if (is_table) {
      lua_rawgeti(L, -1, d + 1);
    } else {
      lua_pushvalue(L, -1);
    }
    int is_integer;
    dims[d] = lua_tointegerx(L, -1, &is_integer);
    if (!is_integer || lua_type(L, -1) != LUA_TNUMBER) {
      luaL_error(L, "bad %s (integer expected, got %s)", what,
                 lua_type(L, -1) == LUA_TNUMBER ? "a float" : luaL_typename(L, -1));
    }
    if (dims[d] < least)
      luaL_error(L, "bad %s (%I is less than %I)", what, (LUAI_UACINT)dims[d], (LUAI_UACINT)least);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return (uint32_t)count;
}

static void init_range(roc_ndrange *range) {
  *range = (roc_ndrange){.grid = {1, 1, 1}, .local = {0, 1, 1}, .rank = 1};
}

static void set_workgroup(lua_State *L, roc_ndrange *range, const int64_t *dims, uint32_t n) {
  for (uint32_t d = 0; d < n; d++) {
    if (dims[d] > INT32_MAX) luaL_error(L, "bad workgroup (%I is too large)", (LUAI_UACINT)dims[d]);
    range->local[d] = (uint32_t)dims[d];
  }
  if (n > range->rank) range->rank = n;
}

static void set_grid(roc_ndrange *range, const int64_t *dims, uint32_t n) {
  for (uint32_t d = 0; d < n; d++) range->grid[d] = (uint64_t)dims[d];
  if (n > range->rank) range->rank = n;
}

static void multiply_grid(lua_State *L, roc_ndrange *range) {
  for (uint32_t d = 0; d < 3; d++) {
    if (__builtin_mul_overflow(range->grid[d], (uint64_t)range->local[d], &range->grid[d]) ||
        range->grid[d] > INT64_MAX) {
      luaL_error(L, "bad groups (groups times workgroup is too large in dimension %d)", (int)d + 1);
    }
  }
}

/* The shared bytes at the top of the stack (nil: none), popped. */
static void read_shared(lua_State *L, roc_ndrange *range) {
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    return;
  }
  int is_integer;
  lua_Integer nbytes = lua_tointegerx(L, -1, &is_integer);
  if (!is_integer || lua_type(L, -1) != LUA_TNUMBER || nbytes < 0 || nbytes > INT32_MAX) {
    luaL_error(L, "bad shared (bytes from 0 to %d expected, got %s)", INT32_MAX,
               roc_push_shown(L, lua_gettop(L)));
  }
  range->dynamic_shared_bytes = (uint32_t)nbytes;
  lua_pop(L, 1);
}

/* Checks the stream at the top of the stack (nil: the default one) and leaves it there. */
static void check_stream(lua_State *L) {
  roc_opt_stream_field(L, -1, NULL);
}

/* Pushes a launcher for the kernel at index 1 without a stream. */
static launcher *push_launcher(lua_State *L, roc_kernel_box *box) {
  launcher *l = lua_newuserdatauv(L, sizeof *l, LAUNCHER_UV_COUNT);
  *l = (launcher){.mark = &launcher_mark, .box = box};
  init_range(&l->range);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, LAUNCHER_UV_KERNEL);
  luaL_setmetatable(L, ROC_META_LAUNCHER);
  return l;
}

/* Pops a checked stream (or nil) into the launcher below it. */
static void keep_stream(lua_State *L, launcher *l) {
  l->has_stream = !lua_isnil(L, -1);
  lua_setiuservalue(L, -2, LAUNCHER_UV_STREAM);
}

/* A configuration is a list of at most four entries; any other entry is an error. */
static void check_entries(lua_State *L) {
  lua_pushnil(L);
  while (lua_next(L, 2)) {
    lua_pop(L, 1);
    lua_Integer i = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : 0;
    if (i >= 1 && i <= 4) continue;
    bool is_name = lua_type(L, -1) == LUA_TSTRING;
    luaL_error(L,
               "bad launch configuration (k[{groups, workgroup [, stream [, shared]]}] expected, "
               "got an entry %s%s)",
               roc_push_shown(L, -1),
               is_name ? ": k:launch({grid =, workgroup =}, ...) takes names" : "");
  }
}

int roc_kernel_index_config(lua_State *L) {
  roc_kernel_box *box = roc_check_kernel(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  check_entries(L);
  launcher *l = push_launcher(L, box);
  int64_t dims[3];
  lua_geti(L, 2, 1);
  if (lua_isnil(L, -1))
    luaL_error(L,
               "bad launch configuration (k[{groups, workgroup [, stream [, shared]]}] expected)");
  uint32_t n = read_dims(L, "groups", 0, dims);
  set_grid(&l->range, dims, n);
  lua_geti(L, 2, 2);
  if (lua_isnil(L, -1))
    luaL_error(L, "bad launch configuration (no workgroup: k[{groups, workgroup}] expected)");
  n = read_dims(L, "workgroup", 1, dims);
  set_workgroup(L, &l->range, dims, n);
  multiply_grid(L, &l->range);
  lua_geti(L, 2, 3);
  check_stream(L);
  keep_stream(L, l);
  lua_geti(L, 2, 4);
  read_shared(L, &l->range);
  return 1;
}

static const char *const option_names[] = {"grid", "groups", "workgroup", "stream", "shared", NULL};

static void check_options(lua_State *L, int arg, const char *func, const char *const *known,
                          const char *list) {
  luaL_checktype(L, arg, LUA_TTABLE);
  lua_pushnil(L);
  while (lua_next(L, arg)) {
    lua_pop(L, 1);
    bool found = false;
    for (uint32_t i = 0; known[i] && lua_type(L, -1) == LUA_TSTRING; i++) {
      found |= strcmp(known[i], lua_tostring(L, -1)) == 0;
    }
    if (found) continue;
    luaL_error(L, "bad argument #%d to '%s' (unknown option '%s'; known are %s)", arg - 1, func,
               roc_push_shown(L, -1), list);
  }
}

/* Reads workgroup, stream and shared of the table at `arg`; leaves the stream on the stack. */
static void read_common(lua_State *L, int arg, roc_ndrange *range) {
  int64_t dims[3];
  if (lua_getfield(L, arg, "workgroup") != LUA_TNIL) {
    uint32_t n = read_dims(L, "workgroup", 1, dims);
    set_workgroup(L, range, dims, n);
  } else {
    lua_pop(L, 1);
  }
  lua_getfield(L, arg, "shared");
  read_shared(L, range);
  lua_getfield(L, arg, "stream");
  check_stream(L);
}

/* Leaves the stream on the stack. */
static void read_launch_options(lua_State *L, int arg, roc_ndrange *range) {
  check_options(L, arg, "launch", option_names, "grid, groups, workgroup, stream, shared");
  init_range(range);
  int64_t dims[3];
  bool has_grid = lua_getfield(L, arg, "grid") != LUA_TNIL;
  lua_pop(L, 1);
  bool has_groups = lua_getfield(L, arg, "groups") != LUA_TNIL;
  lua_pop(L, 1);
  if (has_grid == has_groups)
    luaL_error(L, "bad argument #1 to 'launch' (one of grid and groups expected)");
  read_common(L, arg, range);
  lua_getfield(L, arg, has_grid ? "grid" : "groups");
  uint32_t n = read_dims(L, has_grid ? "grid" : "groups", 0, dims);
  set_grid(range, dims, n);
  if (has_grid) return;
  if (range->local[0] == 0) luaL_error(L, "bad argument #1 to 'launch' (groups needs a workgroup)");
  multiply_grid(L, range);
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
} request;

typedef struct target {
  roc_rt_stream *stream;
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
  target t = {.stream = r->stream ? roc_opt_stream_field(L, r->stream, NULL) : NULL};
  t.device = t.stream ? roc_rt_stream_device(t.stream) : roc_current_device_of(L, r->box->current);
  if (!t.stream) t.stream = roc_default_stream_of(L, r->box->current, t.device);
  t.driver = roc_rt_device_driver(t.device);
  return t;
}

static void check_promise(lua_State *L, const roc_fe_options *options, const roc_ndrange *range) {
  roc_error err = ROC_ERROR_INIT;
  if (roc_jit_check_promise(options, range, &err) != ROC_OK) luaL_error(L, "%s", err.message);
}

static roc_jit_launch describe_launch(lua_State *L, const request *r, const target *t) {
  roc_jit_launch work = {.range = *r->range, .is_local_free = r->range->local[0] == 0};
  const roc_fe_options *options = &r->box->kernel->options;
  if (work.is_local_free) roc_jit_choose_workgroup(options, t->device, &work.range);
  if (options->workgroup[0]) check_promise(L, options, &work.range);
  work.file = roc_launch_place(L, &work.line);
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
               box->kernel->name, capture->name, roc_rt_device_driver(owner)->props.name);
  }
}

static int launch(lua_State *L, const request *r) {
  roc_kernel_box *box = r->box;
  if (!box->kernel) return luaL_error(L, "the kernel is closed");
  roc_error err; /* filled on failure; zeroing it here would cost more than the rest */
  roc_status status = ROC_OK;
  for (int attempt = 0; attempt < 2; attempt++) {
    roc_kernel_read_cells(L, box, r->kernel); /* may run Lua code, so it is first */
    target t = find_target(L, r);
    roc_jit_launch work = describe_launch(L, r, &t);
    roc_kernel_read_args(L, box, r->first, r->count, t.device);
    check_captured(L, box, t.device);
    if (roc_ndrange_is_empty(&work.range)) return 0;
    if (t.driver->props.runs_in_lua) return launch_on_sim(L, r, &t, &work);
    status = roc_kernel_run(box, t.stream, &work, &err);
    if (status != ROC_OOM || attempt > 0 || !roc_gc_reclaim(L)) break;
  }
  warn(L, box);
  if (box->nhosts > 0) roc_deliver_prints(L); /* the launch has waited */
  if (status != ROC_OK) return roc_kernel_raise(L, box, &err);
  return 0;
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
  return launch(L, &r);
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
  read_launch_options(L, 2, &range);
  request r = {.kernel = 1,
               .stream = lua_gettop(L),
               .first = 3,
               .count = count,
               .box = box,
               .range = &range};
  return launch(L, &r);
}

/* The extents of forall, one to three integers or a table of them, at index 2; returns the index
 * after them. */
static int read_extents(lua_State *L, int64_t dims[3], uint32_t *count) {
  int arg = 2;
  *count = 0;
  if (lua_istable(L, arg)) {
    for (; *count < 3 && lua_rawgeti(L, arg, *count + 1) != LUA_TNIL; ++*count) {
      int is_integer;
      dims[*count] = lua_tointegerx(L, -1, &is_integer);
      is_integer = is_integer && lua_type(L, -1) == LUA_TNUMBER;
      luaL_argcheck(L, is_integer, arg, "a table of 1 to 3 integers expected");
      lua_pop(L, 1);
    }
    luaL_argcheck(L, *count > 0 && lua_rawlen(L, arg) == *count, arg,
                  "a table of 1 to 3 integers expected");
    arg++;
  } else {
    do {
      dims[(*count)++] = luaL_checkinteger(L, arg++);
    } while (*count < 3 && lua_type(L, arg) == LUA_TNUMBER);
    luaL_argcheck(L, lua_type(L, arg) != LUA_TNUMBER, arg, "a launch has at most 3 dimensions");
  }
  for (uint32_t d = 0; d < *count; d++) {
    luaL_argcheck(L, dims[d] >= 0, lua_istable(L, 2) ? 2 : 2 + (int)d,
                  "count of work-items is negative");
  }
  return arg;
}

/* k:forall(n [, m [, l]] [, {workgroup=, stream=, shared=}]) */
int roc_kernel_m_forall(lua_State *L) {
  roc_kernel_box *box = roc_check_kernel(L, 1);
  int64_t dims[3];
  uint32_t count;
  int options = read_extents(L, dims, &count);
  lua_settop(L, options);
  launcher *l = push_launcher(L, box);
  set_grid(&l->range, dims, count);
  if (!lua_isnil(L, options)) {
    check_options(L, options, "forall", option_names + 2, "workgroup, stream, shared");
    read_common(L, options, &l->range);
    keep_stream(L, l);
    if (l->range.rank > count) {
      luaL_error(L, "bad argument #%d to 'forall' (a workgroup of %s expected)", options - 1,
                 count == 1 ? "one dimension" : "two dimensions");
    }
  }
  return 1;
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

static const luaL_Reg launcher_meta[] = {
    {"__call", launcher_mm_call}, {"__tostring", launcher_mm_tostring}, {NULL, NULL}};
static const luaL_Reg functions[] = {
    {"set_sim_launcher", set_sim_launcher}, {"hide_launches", hide_launches}, {NULL, NULL}};

void roc_open_kernel_launch(lua_State *L) {
  roc_class_new(L, ROC_META_LAUNCHER, launcher_meta);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
