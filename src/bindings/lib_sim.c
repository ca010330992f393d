/* The C functions of sim.lua: typed views of one block of bytes, for the dynamic shared memory of a
 * workgroup; loading generated chunks; the path of calls. */
#include <inttypes.h>
#include <stdio.h>

#include "base/site.h"
#include "bindings/array/array_bind.h"

/* core.view_bytes(bytes, first, count, dtype): `count` elements of a contiguous uint8 array's
 * memory from its byte `first` (from 0) on. */
static int view_bytes(lua_State *L) {
  const roc_array *bytes = roc_check_array(L, 1);
  int64_t first = luaL_checkinteger(L, 2), count = luaL_checkinteger(L, 3);
  roc_dtype dtype = roc_check_dtype(L, 4);
  int64_t itemsize = (int64_t)roc_dtype_itemsize(dtype);
  bool is_block = bytes->dtype == ROC_DT_UINT8 && bytes->rank == 1 && bytes->strides[0] == 1;
  luaL_argcheck(L, is_block, 1, "contiguous 1-D uint8 array expected");
  luaL_argcheck(L, first >= 0 && (bytes->offset + first) % itemsize == 0, 2,
                "multiple of the element size expected");
  luaL_argcheck(L, count >= 0 && (count == 0 || count <= (bytes->extents[0] - first) / itemsize), 3,
                "fewer elements expected");
  roc_array *out = roc_push_array(L, &roc_host_array_class);
  roc_array view = {.buffer = roc_check_array(L, 1)->buffer,
                    .dtype = dtype,
                    .rank = 1,
                    .extents = {count},
                    .strides = {1},
                    .offset = (bytes->offset + first) / itemsize};
  roc_buffer_retain(view.buffer);
  *out = view;
  return 1;
}

/* core.load_deep(text, chunkname): as load, with all of Lua's 200 levels of nesting for the text:
 * for load itself the C calls around it count too. The chunk's globals are Lua's own. */
static int load_deep(lua_State *L) {
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len), *name = luaL_checkstring(L, 2);
  lua_State *fresh = lua_newthread(L);
  int status = luaL_loadbufferx(fresh, text, len, name, "t");
  lua_xmove(fresh, L, 1);
  if (status == LUA_OK) {
    roc_push_library(L);
    lua_setupvalue(L, -2, 1);
    return 1;
  }
  luaL_pushfail(L);
  lua_insert(L, -2);
  return 2;
}

/* The head of Lua 5.4's CallInfo (lstate.h), the same in 5.4.0 to 5.4.8. */
typedef struct call_head {
  void *func, *top;
  struct call_head *previous, *next;
  const void *next_instruction; /* of a Lua function */
} call_head;

/* core.call_path(): for each Lua function on the stack, from the outermost, 16 hexadecimal digits
 * for the position of the call in it. Where two paths first differ, the smaller one is earlier in
 * the text. Lua's debug information has only the line, which may have several calls; so this reads
 * the saved instruction of Lua's CallInfo. sim.lua checks that it distinguishes calls. */
static int call_path(lua_State *L) {
  lua_Debug ar;
  luaL_Buffer path;
  int level = 0;
  while (lua_getstack(L, level, &ar)) level++;
  luaL_buffinit(L, &path);
  while (level-- > 0) {
    char digits[24];
    if (!lua_getstack(L, level, &ar) || !lua_getinfo(L, "S", &ar) || *ar.what == 'C') continue;
    const call_head *call = (const call_head *)(const void *)ar.i_ci;
    snprintf(digits, sizeof digits, "%016" PRIxPTR, (uintptr_t)call->next_instruction);
    luaL_addlstring(&path, digits, 16);
  }
  luaL_pushresult(&path);
  return 1;
}

void roc_open_sim(lua_State *L) {
  lua_pushcfunction(L, call_path);
  lua_setfield(L, -2, "call_path");
  lua_pushcfunction(L, load_deep);
  lua_setfield(L, -2, "load_deep");
  lua_pushcfunction(L, view_bytes);
  lua_setfield(L, -2, "view_bytes");
  lua_pushinteger(L, ROC_PRINT_CAPACITY);
  lua_setfield(L, -2, "print_bytes");
}
