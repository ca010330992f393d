/* roclua: the interpreter of Lua 5.4 with the module roc built in.
 *
 * Takes lua's options and behaves as it does; adds --device, --list-devices, --emulate, --trace, --profile and --help.
 * At its end, however it comes, it waits for all devices; a kernel's fault that nobody asked for,
 * and output that cannot be written, make the exit status 1. */
#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/call.h"
#include "cli/libraries.h"
#include "cli/repl.h"
#include "include/roclua.h"

typedef struct cli_options {
  bool is_interactive; /* -i */
  bool shows_version;  /* -v, -i */
  bool shows_parts;    /* --version */
  bool ignores_env;    /* -E */
  bool runs_text;      /* -e */
  bool lists_devices;
  bool is_verbose;
  bool shows_help;
  bool names_device;
  bool emulates;          /* --emulate, --stats, --check */
  bool checks;            /* --check */
  const char *stats_path; /* of --stats=FILE, or NULL */
  const char *trace_path; /* of --trace, or NULL */
  int script;             /* index in argv; argc: none */
} cli_options;

static const char usage[] =
    "usage: %s [options] [script [args]]\n"
    "Available options are:\n"
    "  -e stat   execute string 'stat'\n"
    "  -i        enter interactive mode after executing 'script'\n"
    "  -l mod    require library 'mod' into global 'mod'\n"
    "  -l g=mod  require library 'mod' into global 'g'\n"
    "  -v        show version information\n"
    "  --version show version information, also of the libraries that roclua uses\n"
    "  -E        ignore environment variables\n"
    "  -W        turn warnings on\n"
    "  --device NAME             run kernels on this device by default (cpu, sim, ...)\n"
    "  --list-devices [--verbose]  say which devices there are\n"
    "  --emulate NAME[,NAME]     run kernels on software GPUs (gfx90a, gfx1030, ...)\n"
    "  --stats[=FILE]            count what kernels do on the software GPU; print it at the end\n"
    "  --check   have the software GPU, or sim, look for races and unwritten memory\n"
    "  --trace FILE  write a timeline of launches, copies, compiles, waits (for Perfetto)\n"
    "  --profile print at the end what took how long\n"
    "  --help    print this text\n"
    "  --        stop handling options\n"
    "  -         stop handling options and execute stdin\n";

static void print_usage(FILE *out) {
  fprintf(out, usage, cli_progname());
}

static bool refuse_option(const char *option, const char *reason) {
  fprintf(stderr, "%s: '%s' %s\n", cli_progname(), option, reason);
  print_usage(stderr);
  return false;
}

/* If argv[*index] is `--name=value` or `--name value`, the value; *index moves to the last argument
 * used. */
static const char *option_value(char **argv, int *index, const char *name) {
  const char *option = argv[*index];
  size_t length = strlen(name);
  if (strncmp(option, name, length) != 0) return NULL;
  if (option[length] == '=') return option + length + 1;
  if (option[length] != '\0' || !argv[*index + 1]) return NULL;
  return argv[++*index];
}

/* The software GPU and its tools: they are told by the environment, before any device is looked
 * for.  False when the option is none of these. */
static bool parse_emulator_option(char **argv, int *index, cli_options *options) {
  const char *option = argv[*index];
  const char *names = option_value(argv, index, "--emulate");
  if (names) {
    if (names[0] == '\0') return false;
    setenv("ROCLUA_EMULATE", names, 1);
  } else if (strcmp(option, "--stats") == 0) {
    setenv("ROCLUA_EMULATE_STATS", "1", 1);
  } else if (strncmp(option, "--stats=", 8) == 0 && option[8] != '\0') {
    options->stats_path = option + 8;
    setenv("ROCLUA_EMULATE_STATS", options->stats_path, 1);
  } else if (strcmp(option, "--check") == 0) {
    options->checks = true;
    return true;
  } else {
    return false;
  }
  setenv("ROCLUA_EMULATE", "gfx90a", 0);
  options->emulates = true;
  return true;
}

static bool lacks_value(const char *option) {
  static const char *const options[] = {
      "--device", "--device=", "--emulate", "--emulate=", "--stats=", "--trace", "--trace="};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    if (strcmp(option, options[i]) == 0) return true;
  }
  return false;
}

static bool parse_long_option(char **argv, int *index, cli_options *options) {
  const char *option = argv[*index];
  const char *device = option_value(argv, index, "--device"), *trace;
  if (device && device[0] != '\0') {
    setenv("ROCLUA_DEVICE", device, 1); /* before any device is looked for */
    options->names_device = true;
  } else if (parse_emulator_option(argv, index, options)) {
    return true;
  } else if ((trace = option_value(argv, index, "--trace")) && trace[0] != '\0') {
    options->trace_path = trace;
    setenv("ROCLUA_TRACE", trace, 1);
  } else if (strcmp(option, "--profile") == 0) {
    setenv("ROCLUA_PROFILE", "1", 1);
  } else if (strcmp(option, "--list-devices") == 0) {
    options->lists_devices = true;
  } else if (strcmp(option, "--verbose") == 0) {
    options->is_verbose = true;
  } else if (strcmp(option, "--help") == 0) {
    options->shows_help = true;
  } else if (strcmp(option, "--version") == 0) {
    options->shows_version = options->shows_parts = true;
  } else {
    return refuse_option(option, lacks_value(option) ? "needs argument" : "unrecognized option");
  }
  return true;
}

static bool parse_short_option(char **argv, int *index, cli_options *options) {
  const char *option = argv[*index];
  bool takes_value = option[1] == 'e' || option[1] == 'l';
  if (!takes_value && option[2] != '\0') return refuse_option(option, "unrecognized option");
  switch (option[1]) {
    case 'E': options->ignores_env = true; break;
    case 'i': options->is_interactive = options->shows_version = true; break;
    case 'v': options->shows_version = true; break;
    case 'W': break; /* in its turn, by run_options */
    case 'e': options->runs_text = true; break;
    case 'l': break;
    default: return refuse_option(option, "unrecognized option");
  }
  if (takes_value && option[2] == '\0') {
    const char *value = argv[++*index];
    if (!value || value[0] == '-') return refuse_option(option, "needs argument");
  }
  return true;
}

/* --check is of the software GPU, unless kernels run on sim. */
static void choose_check(cli_options *options) {
  const char *device = getenv("ROCLUA_DEVICE");
  if (!options->checks) return;
  setenv("ROCLUA_SIM_CHECK", "1", 1);
  setenv("ROCLUA_EMULATE_CHECK", "1", 1);
  if (device && strcmp(device, "sim") == 0) return;
  setenv("ROCLUA_EMULATE", "gfx90a", 0);
  options->emulates = true;
}

static bool parse_options(char **argv, cli_options *options) {
  int i = 1;
  for (; argv[i] && argv[i][0] == '-' && argv[i][1] != '\0'; i++) {
    if (strcmp(argv[i], "--") == 0) {
      i++;
      break;
    }
    bool is_long = argv[i][1] == '-';
    if (!(is_long ? parse_long_option : parse_short_option)(argv, &i, options)) return false;
  }
  options->script = i;
  choose_check(options);
  return true;
}

static void print_version(void) {
  printf("roclua %s  (%s)\n", roclua_version(), LUA_RELEASE);
  fflush(stdout);
}

/* What it stands on, a line each. */
static void print_components(void) {
  char text[4096];
  fputs(roclua_components(text, sizeof text) == ROCLUA_OK ? text : roclua_error(), stdout);
  fflush(stdout);
}

/* The global table `arg`: the script at 0, its arguments above, program and options below. */
static void make_arg_table(lua_State *L, char **argv, int argc, int script) {
  int zero = script == argc ? 0 : script;
  lua_createtable(L, argc - zero, zero + 1);
  for (int i = 0; i < argc; i++) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i - zero);
  }
  lua_setglobal(L, "arg");
}

static bool run_loaded(lua_State *L, int load_status, int nargs) {
  if (load_status == LUA_OK) load_status = cli_call(L, nargs, 0);
  return cli_report(L, load_status);
}

/* Runs a text that no file holds, after telling roc of it. */
static bool run_text(lua_State *L, const char *text, size_t nbytes, const char *chunkname,
                     int nargs) {
  int status = luaL_loadbuffer(L, text, nbytes, chunkname);
  if (status == LUA_OK) {
    roclua_source(L, chunkname, text, nbytes);
    lua_insert(L, -nargs - 1);
  }
  return run_loaded(L, status, nargs);
}

static bool run_file(lua_State *L, const char *file, int nargs) {
  int status = luaL_loadfile(L, file);
  if (status == LUA_OK) lua_insert(L, -nargs - 1);
  return run_loaded(L, status, nargs);
}

static bool run_stdin(lua_State *L, int nargs) {
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  size_t nbytes;
  do {
    char *chunk = luaL_prepbuffer(&text);
    nbytes = fread(chunk, 1, LUAL_BUFFERSIZE, stdin);
    luaL_addsize(&text, nbytes);
  } while (nbytes > 0);
  luaL_pushresult(&text);
  lua_insert(L, -nargs - 1); /* below the arguments: it stays until the script ends */
  const char *bytes = lua_tolstring(L, -nargs - 1, &nbytes);
  if (nbytes > 0 && bytes[0] == '#') { /* like luaL_loadfile, but for the newline: lines count */
    const char *newline = memchr(bytes, '\n', nbytes);
    const char *rest = newline ? newline : bytes + nbytes;
    nbytes -= (size_t)(rest - bytes);
    bytes = rest;
  }
  return run_text(L, bytes, nbytes, "=stdin", nargs);
}

/* LUA_INIT, or LUA_INIT_5_4 when there is one: a text, or @file. */
static bool run_init(lua_State *L) {
  const char *name = "=LUA_INIT" LUA_VERSUFFIX;
  const char *init = getenv(name + 1);
  if (!init) {
    name = "=LUA_INIT";
    init = getenv(name + 1);
  }
  if (!init) return true;
  if (init[0] == '@') return run_file(L, init + 1, 0);
  return run_text(L, init, strlen(init), name, 0);
}

/* -l mod, -l g=mod: global = require(mod). */
static bool run_require(lua_State *L, const char *spec) {
  const char *equals = strchr(spec, '=');
  const char *module = equals ? equals + 1 : spec;
  lua_getglobal(L, "require");
  lua_pushstring(L, module);
  bool is_ok = cli_report(L, cli_call(L, 1, 1));
  if (is_ok) {
    const char *global = lua_pushlstring(L, spec, equals ? (size_t)(equals - spec) : strlen(spec));
    lua_insert(L, -2);
    lua_setglobal(L, global);
    lua_pop(L, 1);
  }
  return is_ok;
}

/* Does -e, -l and -W in the order in which they were given. */
static bool run_options(lua_State *L, char **argv, int script) {
  int ntexts = 0;
  for (int i = 1; i < script; i++) {
    const char *option = argv[i];
    if (strcmp(option, "--device") == 0 || strcmp(option, "--emulate") == 0 ||
        strcmp(option, "--trace") == 0) {
      i++;
      continue;
    }
    if (option[1] == 'W') {
      lua_warning(L, "@on", 0);
      continue;
    }
    if (option[1] != 'e' && option[1] != 'l') continue;
    const char *value = option[2] != '\0' ? option + 2 : argv[++i];
    bool is_ok;
    if (option[1] == 'l') {
      is_ok = run_require(L, value);
    } else {
      char chunkname[40] = "=(command line)";
      if (++ntexts > 1) { /* names tell the texts apart where kernels look for their source */
        snprintf(chunkname, sizeof chunkname, "=(command line %d)", ntexts);
      }
      is_ok = run_text(L, value, strlen(value), chunkname, 0);
    }
    if (!is_ok) return false;
  }
  return true;
}

/* Pushes arg[1], arg[2], ...; returns how many. */
static int push_script_args(lua_State *L) {
  if (lua_getglobal(L, "arg") != LUA_TTABLE) luaL_error(L, "'arg' is not a table");
  int count = (int)luaL_len(L, -1);
  luaL_checkstack(L, count + 3, "too many arguments to script");
  for (int i = 1; i <= count; i++) {
    lua_rawgeti(L, -i, i);
  }
  lua_remove(L, -count - 1);
  return count;
}

static bool run_script(lua_State *L, char **argv, int script) {
  int nargs = push_script_args(L);
  const char *name = argv[script];
  if (strcmp(name, "-") == 0 && strcmp(argv[script - 1], "--") != 0) return run_stdin(L, nargs);
  return run_file(L, name, nargs);
}

static bool list_devices(lua_State *L, bool is_verbose) {
  cli_push_require(L);
  lua_pushliteral(L, "roc.repl.devices");
  if (!cli_report(L, cli_call(L, 1, 1))) return false;
  lua_getfield(L, -1, "list");
  lua_pushboolean(L, is_verbose);
  return cli_report(L, cli_call(L, 1, 0));
}

/* Now, not when the script has run for an hour. */
static bool can_write(const char *path) {
  FILE *file = fopen(path, "a");
  if (!file) {
    char message[512];
    snprintf(message, sizeof message, "cannot write '%s': %s", path, strerror(errno));
    cli_message(message);
    return false;
  }
  fclose(file);
  return true;
}

/* Makes the software GPU the default device; when there is none, that is the program's error. */
static bool select_emulated(lua_State *L) {
  cli_push_require(L);
  lua_pushliteral(L, "roc");
  if (!cli_report(L, cli_call(L, 1, 1))) return false;
  lua_getfield(L, -1, "select_device");
  lua_remove(L, -2);
  lua_pushliteral(L, "hsa");
  return cli_report(L, cli_call(L, 1, 0));
}

/* os.exit of scripts: the original (first upvalue) after the devices have finished, which a status
 * that it would refuse must not do. */
static int exit_after_devices(lua_State *L) {
  bool succeeds = lua_isboolean(L, 1) ? lua_toboolean(L, 1)
                                      : luaL_optinteger(L, 1, EXIT_SUCCESS) == EXIT_SUCCESS;
  bool is_ok = cli_finish_devices(L);
  is_ok = cli_finish_output() && is_ok;
  if (!is_ok && succeeds) {
    lua_settop(L, 2);
    lua_pushinteger(L, EXIT_FAILURE);
    lua_replace(L, 1);
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 0);
  return 0;
}

static void replace_os_exit(lua_State *L) {
  lua_getglobal(L, "os");
  lua_getfield(L, -1, "exit");
  lua_pushcclosure(L, exit_after_devices, 1);
  lua_setfield(L, -2, "exit");
  lua_pop(L, 1);
}

/* A major collection at half as much again as is alive, where Lua's own choice is twice as much.
 * What has finalizers, as views and registrations have, outlives the collection that finds it dead;
 * at twice as much, Lua then collects later and later, up to some 80 times what is alive. */
enum { MAJOR_GROWTH = 50 };

static void open_libraries(lua_State *L, bool ignores_env) {
  if (ignores_env) {
    roclua_ignore_environment();
    lua_pushboolean(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
  }
  luaL_checkversion(L);
  lua_gc(L, LUA_GCSTOP); /* nothing to collect while the libraries are made */
  roc_open_libraries(L);
  lua_gc(L, LUA_GCRESTART);
  lua_gc(L, LUA_GCGEN, 0, MAJOR_GROWTH);
  replace_os_exit(L);
  cli_keep_require(L);
  cli_track_coroutines(L);
}

/* All that follows the options: scripts, then the prompt or stdin where nothing else was asked. */
static bool run_all(lua_State *L, char **argv, int argc, const cli_options *options) {
  if (options->stats_path && !can_write(options->stats_path)) return false;
  if (options->trace_path && !can_write(options->trace_path)) return false;
  if (options->emulates && !options->names_device && !select_emulated(L)) return false;
  if (!options->ignores_env && !run_init(L)) return false;
  if (!run_options(L, argv, options->script)) return false;
  if (options->lists_devices) return list_devices(L, options->is_verbose);
  bool has_script = options->script < argc;
  if (has_script && !run_script(L, argv, options->script)) return false;
  if (options->is_interactive) {
    repl_run(L);
  } else if (!has_script && !options->runs_text && !options->shows_version) {
    if (!isatty(STDIN_FILENO)) return run_stdin(L, 0);
    print_version();
    repl_run(L);
  }
  return true;
}

/* Runs in protected mode, so that lack of memory is an error message; (argc, argv) -> success. */
static int protected_main(lua_State *L) {
  int argc = (int)lua_tointeger(L, 1);
  char **argv = lua_touserdata(L, 2);
  cli_options options = {0};
  lua_settop(L, 0);
  if (!parse_options(argv, &options)) return 0;
  if (options.shows_help) {
    print_usage(stdout);
    lua_pushboolean(L, 1);
    return 1;
  }
  if (options.shows_version) print_version();
  open_libraries(L, options.ignores_env);
  if (options.shows_parts) print_components();
  make_arg_table(L, argv, argc, options.script);
  bool is_ok = run_all(L, argv, argc, &options);
  is_ok = cli_finish_devices(L) && is_ok;
  lua_pushboolean(L, is_ok);
  return 1;
}

int main(int argc, char **argv) {
  if (argc > 0 && argv[0][0] != '\0') cli_set_progname(argv[0]);
  return cli_main(argc, argv, protected_main);
}
