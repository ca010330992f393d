/* roc.core.testing, the part about the defects of LLVM that the compiler works around: the rows,
 * and a switch that turns some off.
 *
 * Rows that are options of LLVM are set once a process: they are turned off before the first
 * compile or not at all.  The environment variable ROCLUA_QUIRKS_OFF (names, with commas) does that
 * for the process and those that it starts. */
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "jit/driver.h"
#include "testing/testing.h"

static const roc_cg_quirk *open_rows(lua_State *L, uint32_t *count) {
  const roc_cg_quirk *rows = NULL;
  roc_error err = ROC_ERROR_INIT;
  if (roc_jit_quirks(&rows, count, &err) != ROC_OK) luaL_error(L, "%s", err.message);
  return rows;
}

static void set_text(lua_State *L, const char *key, const char *value) {
  lua_pushstring(L, value);
  lua_setfield(L, -2, key);
}

static void push_row(lua_State *L, const roc_cg_quirk *row) {
  lua_newtable(L);
  set_text(L, "name", row->name);
  set_text(L, "family", row->family);
  set_text(L, "kind", row->kind);
  lua_pushinteger(L, row->number);
  lua_setfield(L, -2, "number");
  set_text(L, "targets", row->targets);
  set_text(L, "versions", row->versions);
  set_text(L, "what", row->what);
  set_text(L, "spec", row->spec);
  set_text(L, "title", row->title);
}

/* quirks() -> list of rows: { name, family (nil: all), kind, number, targets, versions, what, spec,
 * title } */
static int testing_quirks(lua_State *L) {
  uint32_t count;
  const roc_cg_quirk *rows = open_rows(L, &count);
  lua_createtable(L, (int)count, 0);
  for (uint32_t i = 0; i < count; i++) {
    push_row(L, &rows[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static uint64_t bit_of(lua_State *L, const char *name, size_t len) {
  uint32_t count;
  const roc_cg_quirk *rows = open_rows(L, &count);
  for (uint32_t i = 0; i < count; i++) {
    bool is_it = strlen(rows[i].name) == len && memcmp(rows[i].name, name, len) == 0;
    if (is_it) return (uint64_t)1 << i;
  }
  lua_pushlstring(L, name, len);
  luaL_error(L, "no quirk has the name '%s'", lua_tostring(L, -1));
  return 0;
}

/* set_quirks_off(names): the rows of this list are off in later compiles, and no others. */
static int testing_set_quirks_off(lua_State *L) {
  uint64_t bits = 0;
  luaL_checktype(L, 1, LUA_TTABLE);
  for (lua_Integer i = 1, n = luaL_len(L, 1); i <= n; i++) {
    lua_geti(L, 1, i);
    size_t len;
    const char *name = luaL_checklstring(L, -1, &len);
    bits |= bit_of(L, name, len);
    lua_pop(L, 1);
  }
  roc_jit_set_quirks_off(bits);
  return 0;
}

static void obey_environment(lua_State *L) {
  const char *names = getenv("ROCLUA_QUIRKS_OFF");
  uint64_t bits = 0;
  while (names && *names) {
    size_t len = strcspn(names, ",");
    bits |= bit_of(L, names, len);
    names += len + (names[len] == ',');
  }
  if (bits) roc_jit_set_quirks_off(bits);
}

static const luaL_Reg functions[] = {
    {"quirks", testing_quirks}, {"set_quirks_off", testing_set_quirks_off}, {NULL, NULL}};

void roc_testing_add_quirks(lua_State *L) {
  luaL_setfuncs(L, functions, 0);
  obey_environment(L);
}
