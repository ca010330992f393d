/* The part of roc.core about compile targets: which names there are, and facts of each. */
#include <string.h>

#include "base/target.h"
#include "bindings/kernel/kernel_bind.h"
#include "bindings/support/bind.h"
#include "jit/driver.h"

/* core.check_target(name) -> nil, or a sentence that lists the known targets. */
static int check_target(lua_State *L) {
  const char *target = luaL_checkstring(L, 1);
  roc_error err = ROC_ERROR_INIT;
  roc_status status = roc_jit_check_target(target, &err);
  if (status == ROC_OK) return 0;
  if (status != ROC_INVALID) return roc_lua_raise(L, &err);
  lua_pushstring(L, err.message);
  return 1;
}

static bool is_shown(lua_State *L, const roc_target_facts *facts) {
  return lua_isnoneornil(L, 1) || strcmp(luaL_checkstring(L, 1), facts->family) == 0;
}

/* core.targets([family]) -> list of the names of targets, of one family or all. */
static int targets(lua_State *L) {
  const roc_target_facts *facts;
  lua_Integer count = 0;
  lua_settop(L, 1);
  lua_newtable(L);
  for (unsigned f = 0; (facts = roc_target_facts_at(f)); f++) {
    const char *name;
    for (unsigned i = 0; is_shown(L, facts) && (name = facts->name_at(i)); i++) {
      lua_pushstring(L, name);
      lua_rawseti(L, -2, ++count);
    }
  }
  return 1;
}

static void set_labels(lua_State *L, const char *field, const roc_target_label *labels,
                       uint32_t nlabels) {
  lua_createtable(L, (int)nlabels, 0);
  for (uint32_t i = 0; i < nlabels; i++) {
    lua_createtable(L, 0, 2);
    lua_pushstring(L, labels[i].name);
    lua_setfield(L, -2, "name");
    lua_pushstring(L, labels[i].title);
    lua_setfield(L, -2, "title");
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, field);
}

static void set_forms(lua_State *L, const roc_target_facts *facts) {
  lua_createtable(L, (int)facts->nforms, 0);
  for (uint32_t i = 0; i < facts->nforms; i++) {
    lua_createtable(L, 0, 2);
    lua_pushstring(L, facts->forms[i].name);
    lua_setfield(L, -2, "name");
    lua_pushboolean(L, facts->forms[i].is_text);
    lua_setfield(L, -2, "is_text");
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "forms");
}

/* core.target_facts(name) -> {family, is_simt, is_image, object_ending, forms, numbers, limits,
 * occupancy_title}, as in base/target.h; forms is a list of {name, is_text}, numbers and limits of
 * {name, title}. nil: no such target. */
static int target_facts(lua_State *L) {
  const roc_target_facts *facts = roc_target_facts_of(luaL_checkstring(L, 1));
  if (!facts) return 0;
  lua_createtable(L, 0, 8);
  lua_pushstring(L, facts->family);
  lua_setfield(L, -2, "family");
  lua_pushboolean(L, facts->is_simt);
  lua_setfield(L, -2, "is_simt");
  lua_pushboolean(L, facts->is_image);
  lua_setfield(L, -2, "is_image");
  lua_pushstring(L, facts->object_ending);
  lua_setfield(L, -2, "object_ending");
  set_forms(L, facts);
  set_labels(L, "numbers", facts->numbers, facts->nnumbers);
  set_labels(L, "limits", facts->limits, facts->nlimits);
  lua_pushstring(L, facts->occupancy_title);
  lua_setfield(L, -2, "occupancy_title");
  return 1;
}

/* core.convert_code(target, form, bytes) -> bytes of a code object in another form; nil, why not */
static int convert_code(lua_State *L) {
  const char *target = luaL_checkstring(L, 1), *form = luaL_checkstring(L, 2);
  size_t nbytes;
  const char *bytes = luaL_checklstring(L, 3, &nbytes);
  roc_str *out = roc_kernel_push_text(L);
  roc_error err = ROC_ERROR_INIT;
  if (roc_target_convert(target, form, bytes, nbytes, out, &err) != ROC_OK) {
    lua_pushnil(L);
    lua_pushstring(L, err.message);
    return 2;
  }
  lua_pushlstring(L, roc_str_text(out), out->len);
  return 1;
}

static const luaL_Reg functions[] = {{"check_target", check_target},
                                     {"convert_code", convert_code},
                                     {"targets", targets},
                                     {"target_facts", target_facts},
                                     {NULL, NULL}};

void roc_open_target(lua_State *L) {
  luaL_setfuncs(L, functions, 0);
}
