/* A program with roclua in it, for spec/c/install_spec.lua, which compiles it against an
 * installation.  It does what its arguments say, in their order:
 *
 *   -g LIBRARY   opens the library, its symbols visible to all
 *   -d FOLDER    roclua_set_library_dir; prints its code and message
 *   -p PLUGIN N  opens the library, calls its plugin_run, and closes it, N times
 *   -e TEXT      runs the text in a new state of roclua_openlibs
 *   -s TEXT      runs the text in a new state of luaL_openlibs
 */
#include <dlfcn.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <roclua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void open_global(const char *name) {
  if (dlopen(name, RTLD_NOW | RTLD_GLOBAL)) return;
  fprintf(stderr, "%s\n", dlerror());
  exit(1);
}

static void set_library_dir(const char *folder) {
  int code = roclua_set_library_dir(folder);
  printf("%d %s\n", code, code == ROCLUA_OK ? "" : roclua_error());
}

static void use_plugin(const char *name, int times) {
  for (int i = 0; i < times; i++) {
    void *plugin = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    int (*plugin_run)(void) = NULL;
    if (plugin) *(void **)&plugin_run = dlsym(plugin, "plugin_run");
    if (!plugin_run || plugin_run() != 0) {
      fprintf(stderr, "round %d: %s\n", i, plugin_run ? "plugin_run failed" : dlerror());
      exit(1);
    }
    dlclose(plugin);
  }
  printf("%d times\n", times);
}

static void open_roclua(lua_State *L) {
  if (roclua_openlibs(L) == ROCLUA_OK) return;
  fprintf(stderr, "%s\n", roclua_error());
  exit(1);
}

static void run(void (*open)(lua_State *L), const char *text) {
  lua_State *L = luaL_newstate();
  if (!L) exit(1);
  open(L);
  if (luaL_dostring(L, text) != LUA_OK) printf("error: %s\n", luaL_tolstring(L, -1, NULL));
  lua_close(L);
}

int main(int argc, char **argv) {
  for (int i = 1; i + 1 < argc; i++) {
    const char *option = argv[i], *value = argv[++i];
    switch (option[1]) {
      case 'g': open_global(value); break;
      case 'd': set_library_dir(value); break;
      case 'e': run(open_roclua, value); break;
      case 's': run(luaL_openlibs, value); break;
      case 'p':
        if (i + 1 < argc) use_plugin(value, atoi(argv[++i]));
        break;
      default: return 2;
    }
    fflush(stdout);
  }
  return 0;
}
