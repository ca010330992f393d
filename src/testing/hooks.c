/* roc.core.testing: planted failures and counts, for the specs. In the program roclua-spec alone;
 * no program that is installed has them. */
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "bindings/device/device_bind.h"
#include "bindings/expression/expression.h"
#include "device/null/null.h"
#include "jit/driver.h"
#include "include/roclua.h"
#include "runtime/mirror.h"
#include "testing/testing.h"

/* fail_alloc(n): the n-th allocation of the core from now fails once; 0 disarms. */
static int testing_fail_alloc(lua_State *L) {
  lua_Integer nth = luaL_checkinteger(L, 1);
  luaL_argcheck(L, nth >= 0, 1, "number of an allocation expected");
  roc_alloc_fail_at((uint64_t)nth);
  return 0;
}

/* live_blocks() -> blocks of the core allocated and not yet freed. */
static int testing_live_blocks(lua_State *L) {
  lua_pushinteger(L, roc_alloc_live());
  return 1;
}

/* most_compiles() -> the most threads that ever generated code at the same moment. */
static int testing_most_compiles(lua_State *L) {
  lua_pushinteger(L, roc_jit_most_at_once());
  return 1;
}

static void raise(lua_State *L, roc_status status, const roc_error *err) {
  if (status != ROC_OK) luaL_error(L, "%s", err->message);
}

/* fail_compiler(first [, last]): of the compiler's allocations from now, these fail; 0: none. */
static int testing_fail_compiler(lua_State *L) {
  lua_Integer first = luaL_checkinteger(L, 1), last = luaL_optinteger(L, 2, first);
  luaL_argcheck(L, first >= 0 && last >= first, 2, "numbers of allocations expected");
  roc_error err = ROC_ERROR_INIT;
  raise(L, roc_jit_plant_failures((uint64_t)first, (uint64_t)last, &err), &err);
  return 0;
}

/* compiler_memory() -> table: `allocations` since fail_compiler, calls that lack of memory ended
 * (`left`), blocks that outlived the others (`kept`), bytes of the reserve in use (`reserve`),
 * and at most (`reserve_most`). */
static int testing_compiler_memory(lua_State *L) {
  roc_cg_memory memory;
  roc_error err = ROC_ERROR_INIT;
  raise(L, roc_jit_memory(&memory, &err), &err);
  const struct {
    const char *name;
    uint64_t value;
  } fields[] = {{"allocations", memory.nallocations},
                {"left", memory.nleft},
                {"kept", memory.nkept},
                {"reserve", memory.reserve_bytes},
                {"reserve_most", memory.reserve_most_bytes}};
  lua_newtable(L);
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    lua_pushinteger(L, (lua_Integer)fields[i].value);
    lua_setfield(L, -2, fields[i].name);
  }
  return 1;
}

/* trim([device]): cached blocks of freed arrays go back to the driver. */
static int testing_trim(lua_State *L) {
  roc_rt_device_trim(roc_opt_device(L, 1));
  return 0;
}

/* queued(stream) -> how much has been queued on it, or on what it shares with other streams: the
 * driver's last ticket. */
static int testing_queued(lua_State *L) {
  roc_rt_stream *stream = roc_opt_stream(L, 1, NULL);
  luaL_argexpected(L, stream, 1, "stream");
  lua_pushinteger(L, (lua_Integer)roc_rt_stream_last(stream));
  return 1;
}

/* lazy(size, work) -> what they were: results of fewer elements are computed at once, structures
 * with less work operation by operation; pending arrays of up to 64 times the size are stored before
 * they are reduced. */
static int testing_lazy(lua_State *L) {
  lua_Integer size = luaL_checkinteger(L, 1);
  roc_set_stored_most(size < INT64_MAX / 64 ? 64 * size : INT64_MAX);
  lua_pushinteger(L, roc_expression_set_least(luaL_checkinteger(L, 1)));
  lua_pushinteger(L, roc_expression_set_work(luaL_checkinteger(L, 2)));
  return 2;
}

/* pending() -> the number of expressions that are to be computed */
static int testing_pending(lua_State *L) {
  lua_pushinteger(L, roc_expression_count());
  return 1;
}

typedef struct write_count {
  const roc_buffer *buffer;
  lua_Integer count;
} write_count;

static void count_write(void *ud, roc_buffer *buffer, roc_rt_stream *stream) {
  (void)stream;
  write_count *w = ud;
  w->count += buffer == w->buffer;
}

/* count_writes(array, f) -> how many writes to the array's memory are noted while f runs. */
static int testing_count_writes(lua_State *L) {
  write_count w = {.buffer = roc_check_any_array(L, 1)->buffer};
  lua_settop(L, 2);
  roc_buffer_observe_writes(count_write, &w);
  int status = lua_pcall(L, 0, 0, 0);
  roc_buffer_observe_writes(NULL, NULL);
  if (status != LUA_OK) return lua_error(L);
  lua_pushinteger(L, w.count);
  return 1;
}

/* interrupt(): what the signal handler of Ctrl-C does. */
static int testing_interrupt(lua_State *L) {
  roc_rt_interrupt(roc_rt_session_key(roc_session(L)));
  return 0;
}

/* interrupt_compiler(n): the compiler is told of an interrupt when it asks for the nth time; 0: not.
 */
static int testing_interrupt_compiler(lua_State *L) {
  lua_Integer nth = luaL_checkinteger(L, 1);
  luaL_argcheck(L, nth >= 0, 1, "number of a question expected");
  roc_jit_plant_interrupt((uint64_t)nth);
  return 0;
}

/* check_arrays(d…): what a C function of the module spends before it does anything: one check for
 * each device array.  bench/launch.lua sets launches against it. */
static int testing_check_arrays(lua_State *L) {
  for (int i = 1, n = lua_gettop(L); i <= n; i++) roc_check_device_array(L, i);
  return 0;
}

static roc_null_call check_call(lua_State *L, int arg) {
  const char *name = luaL_checkstring(L, arg);
  for (int i = 0; i < ROC_NULL_CALL_COUNT_; i++) {
    if (strcmp(roc_null_call_name((roc_null_call)i), name) == 0) return (roc_null_call)i;
  }
  luaL_argerror(L, arg, "name of a counted call expected");
  return ROC_NULL_ALLOC;
}

static roc_status check_status(lua_State *L, int arg) {
  const char *name = luaL_checkstring(L, arg);
#define ROC_STATUS(NAME, value, text, next) \
  if (strcmp(name, text) == 0) return ROC_##NAME;
#include "base/status.def"
#undef ROC_STATUS
  luaL_argerror(L, arg, "name of a status expected");
  return ROC_INTERNAL;
}

/* null_calls(name) -> calls since null_clear() */
static int testing_null_calls(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)roc_null_calls(check_call(L, 1)));
  return 1;
}

static int testing_null_clear(lua_State *L) {
  (void)L;
  roc_null_clear();
  return 0;
}

/* null_fail(name, nth, code) */
static int testing_null_fail(lua_State *L) {
  lua_Integer nth = luaL_checkinteger(L, 2);
  luaL_argcheck(L, nth >= 0, 2, "number of a call expected");
  roc_null_fail_at(check_call(L, 1), (uint64_t)nth, check_status(L, 3));
  return 0;
}

/* null_hold(true|false): queued work stays incomplete while held. */
static int testing_null_hold(lua_State *L) {
  roc_null_hold(lua_toboolean(L, 1));
  return 0;
}

static int testing_null_lose(lua_State *L) {
  (void)L;
  roc_null_lose();
  return 0;
}

static int testing_null_registered(lua_State *L) {
  lua_pushinteger(L, roc_null_registered());
  return 1;
}

/* null_limit(nbytes): allocations beyond it fail; 0: none do. */
static int testing_null_limit(lua_State *L) {
  roc_null_limit(luaL_checkinteger(L, 1));
  return 0;
}

static int testing_null_live_bytes(lua_State *L) {
  lua_pushinteger(L, roc_null_live_bytes());
  return 1;
}

/* smart_copies() -> copies that smart arrays have made to devices, and to the host */
static int testing_smart_copies(lua_State *L) {
  roc_mirror_counts counts = roc_mirror_count();
  lua_pushinteger(L, (lua_Integer)counts.to_device);
  lua_pushinteger(L, (lua_Integer)counts.to_host);
  return 2;
}

/* emulate(names) -> true, or false and why not: the software GPUs of these names are devices from
 * now on, after the others; no change where the machine has AMD GPUs.  Only of this process:
 * programs it starts know nothing of it. */
static int testing_emulate(lua_State *L) {
  const char *names = luaL_checkstring(L, 1);
  bool was_set = getenv("ROCLUA_EMULATE") != NULL;
  roc_error err = ROC_ERROR_INIT;
  uint32_t index;
  roc_rt_device_count(); /* the table is made without them */
  if (!was_set) setenv("ROCLUA_EMULATE", names, 1);
  roc_status status = roc_rt_device_find("hsa", &index, &err);
  if (!was_set) unsetenv("ROCLUA_EMULATE");
  lua_pushboolean(L, status == ROC_OK);
  lua_pushstring(L, err.message);
  return status == ROC_OK ? 1 : 2;
}

static const luaL_Reg testing_functions[] = {{"emulate", testing_emulate},
                                             {"smart_copies", testing_smart_copies},
                                             {"fail_alloc", testing_fail_alloc},
                                             {"live_blocks", testing_live_blocks},
                                             {"most_compiles", testing_most_compiles},
                                             {"fail_compiler", testing_fail_compiler},
                                             {"compiler_memory", testing_compiler_memory},
                                             {"trim", testing_trim},
                                             {"queued", testing_queued},
                                             {"count_writes", testing_count_writes},
                                             {"lazy", testing_lazy},
                                             {"pending", testing_pending},
                                             {"interrupt", testing_interrupt},
                                             {"interrupt_compiler", testing_interrupt_compiler},
                                             {"check_arrays", testing_check_arrays},
                                             {"null_calls", testing_null_calls},
                                             {"null_clear", testing_null_clear},
                                             {"null_fail", testing_null_fail},
                                             {"null_hold", testing_null_hold},
                                             {"null_lose", testing_null_lose},
                                             {"null_limit", testing_null_limit},
                                             {"null_registered", testing_null_registered},
                                             {"null_live_bytes", testing_null_live_bytes},
                                             {NULL, NULL}};

/* Table on top of roc.core: its field `compiler`, the stages of a compile as text. */
static void add_compiler(lua_State *L) {
  lua_newtable(L);
  roc_testing_add_stages(L);
  roc_testing_add_ir(L);
  lua_getfield(L, -3, "ast");
  lua_setfield(L, -2, "ast");
  lua_setfield(L, -2, "compiler");
}

/* Loader of roc.core: as in every program, with the hooks in its field `testing`. */
static int open_core(lua_State *L) {
  lua_pushcfunction(L, luaopen_roc_core);
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 1);
  luaL_newlib(L, testing_functions);
  roc_testing_add_code(L);
  roc_testing_add_amdgpu(L);
  roc_testing_add_quirks(L);
  add_compiler(L);
  lua_setfield(L, -2, "testing");
  return 1;
}

void roc_open_libraries(lua_State *L) {
  if (roclua_openlibs(L) != ROCLUA_OK) luaL_error(L, "%s", roclua_error());
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, open_core);
  lua_setfield(L, -2, "roc.core");
  lua_pop(L, 1);
}
