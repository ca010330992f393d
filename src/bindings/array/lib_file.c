/* roc.save and roc.load: host arrays in files.  A file is read as what its first byte says it is,
 * or as CSV, which has no such byte, when its name or the options say so; it is written as the
 * ending of its name says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "bindings/array/array_bind.h"
#include "bindings/array/file_bind.h"
#include "runtime/npy.h"
#include "runtime/npz.h"
#include "runtime/png_file.h"

static const char reader_meta_name[] = "roc.FileReader";

/* A path argument: a string without zero bytes, since C would end it there. */
static const char *check_path(lua_State *L, int arg) {
  size_t len;
  const char *path = luaL_checklstring(L, arg, &len);
  luaL_argcheck(L, strlen(path) == len, arg, "a path must not contain a zero byte");
  return path;
}

static lua_Integer count_fields(lua_State *L, int idx) {
  lua_Integer n = 0;
  for (lua_pushnil(L); lua_next(L, idx) != 0; lua_pop(L, 1)) n++;
  return n;
}

/* ---- reading ------------------------------------------------------------------------------ */

/* What is open while arrays are made, which may raise: a userdata. */
typedef struct reader {
  roc_file_work work;
  roc_npy npy;
  roc_npz *npz;
  roc_png *png;
} reader;

static void close_reader(reader *r) {
  roc_npy_close(&r->npy); /* before its archive */
  roc_npz_close(r->npz);
  roc_png_close(r->png);
  roc_rt_progress_end(&r->work.progress);
  *r = (reader){0};
}

static int reader_mm_gc(lua_State *L) {
  close_reader(luaL_checkudata(L, 1, reader_meta_name));
  return 0;
}

static const luaL_Reg reader_meta[] = {
    {"__gc", reader_mm_gc}, {"__close", reader_mm_gc}, {NULL, NULL}};

/* Pushes the array whose header was read. */
static void push_npy(lua_State *L, reader *r) {
  roc_error err = ROC_ERROR_INIT;
  roc_npy *npy = &r->npy;
  roc_array *a = roc_new_host_array(L, npy->shape.dtype, npy->shape.rank, npy->shape.extents,
                                    ROC_ORDER_C, false);
  memcpy(a->strides, npy->shape.strides, sizeof a->strides); /* the file's order */
  roc_status status = roc_npy_read(npy, roc_buffer_host(a->buffer), &err);
  roc_npy_close(npy);
  roc_check_file(L, &r->work, status, &err);
  roc_array_normalize_bools(a);
}

/* Pushes the array whose header was read, over the file itself. */
static void push_mapped(lua_State *L, const roc_npy *npy, roc_npy_access access) {
  roc_error err = ROC_ERROR_INIT;
  roc_array *a = roc_push_array(L, &roc_host_array_class);
  roc_buffer *buffer = NULL;
  ROC_LUA_TRY(L, roc_npy_map(npy, access, &buffer, &err), &err);
  *a = npy->shape;
  a->buffer = buffer;
}

static void load_npy(lua_State *L, const char *path, reader *r) {
  roc_error err = ROC_ERROR_INIT;
  roc_check_file(L, &r->work, roc_npy_open(path, &r->work.progress, &r->npy, &err), &err);
  push_npy(L, r);
}

/* A table of the arrays by name. */
static void load_npz(lua_State *L, const char *path, reader *r) {
  roc_error err = ROC_ERROR_INIT;
  roc_check_file(L, &r->work, roc_npz_open(path, &r->work.progress, &r->npz, &err), &err);
  lua_newtable(L);
  for (;;) {
    const char *name;
    roc_check_file(L, &r->work, roc_npz_next(r->npz, &name, &r->npy, &err), &err);
    if (!name) return;
    push_npy(L, r);
    lua_setfield(L, -2, name);
  }
}

static void load_png(lua_State *L, const char *path, reader *r) {
  roc_error err = ROC_ERROR_INIT;
  roc_array shape;
  roc_check_file(L, &r->work, roc_png_open(path, &r->work.progress, &r->png, &shape, &err), &err);
  roc_array *a = roc_new_host_array(L, shape.dtype, shape.rank, shape.extents, ROC_ORDER_C, false);
  roc_check_file(L, &r->work, roc_png_read(r->png, roc_buffer_host(a->buffer), &err), &err);
}

static const struct {
  int first_byte;
  void (*load)(lua_State *L, const char *path, reader *r);
} formats[] = {{0x93, load_npy}, {'P', load_npz}, {0x89, load_png}};

/* The first byte of a regular file; EOF where there is none, or of a pipe. */
static int first_byte_of(const char *path) {
  FILE *file = roc_file_is_regular(path) ? fopen(path, "rbe") : NULL;
  int byte = file ? getc(file) : EOF;
  if (file) fclose(file);
  return byte;
}

static void load_by_content(lua_State *L, const char *path, reader *r) {
  int byte = first_byte_of(path);
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    if (formats[i].first_byte == byte) {
      formats[i].load(L, path, r);
      return;
    }
  }
  if (byte == EOF) { /* a pipe; or load_npy says what is wrong */
    load_npy(L, path, r);
    return;
  }
  roc_error err = ROC_ERROR_INIT;
  roc_fail(&err, ROC_INVALID, "'%s' is no .npy, .npz or PNG file; CSV is named .csv, or %s", path,
           "{format = \"csv\"}");
  roc_lua_raise(L, &err);
}

/* Whether the options at 2 ask for a mapping, and which. */
static bool check_map(lua_State *L, roc_npy_access *out_access) {
  static const char *const modes[] = {
      [ROC_NPY_READ] = "read", [ROC_NPY_COPY] = "copy", [ROC_NPY_WRITE] = "write"};
  if (!lua_istable(L, 2)) return false;
  lua_pushliteral(L, "map");
  lua_rawget(L, 2);
  if (lua_isnil(L, -1)) return false;
  const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  size_t i = 0, count = sizeof modes / sizeof *modes;
  while (i < count && strcmp(modes[i], name) != 0) i++;
  luaL_argcheck(L, i < count, 2, "map must be \"read\", \"copy\" or \"write\"");
  luaL_argcheck(L, count_fields(L, 2) == 1, 2, "map goes with no other option");
  *out_access = (roc_npy_access)i;
  return true;
}

static void load_mapped(lua_State *L, const char *path, reader *r, roc_npy_access access) {
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_npy_open(path, NULL, &r->npy, &err), &err);
  push_mapped(L, &r->npy, access);
}

static int file_load(lua_State *L) {
  const char *path = check_path(L, 1);
  lua_settop(L, 2);
  roc_npy_access access = ROC_NPY_READ;
  bool is_mapped = check_map(L, &access);
  lua_settop(L, 2);
  roc_csv_options options = {0};
  if (!is_mapped) options = roc_check_csv_options(L, 2, path);
  int progress = roc_check_file_progress(L, 2);
  if (options.is_csv) {
    roc_load_csv(L, path, &options, progress);
    return 1;
  }
  reader *r = lua_newuserdatauv(L, sizeof *r, 0);
  *r = (reader){0};
  roc_class_new(L, reader_meta_name, reader_meta);
  lua_setmetatable(L, -2);
  lua_toclose(L, -1); /* after an error, too: the line of progress goes away with it */
  roc_begin_file(L, &r->work, "load", path, progress);
  if (is_mapped) {
    load_mapped(L, path, r, access);
  } else {
    load_by_content(L, path, r);
  }
  close_reader(r);
  return 1;
}

/* ---- writing ------------------------------------------------------------------------------ */

static void save_npy(lua_State *L, const char *path, int progress) {
  roc_error err = ROC_ERROR_INIT;
  const roc_array *a = roc_check_saved(L, 2);
  roc_file_work work;
  roc_begin_file(L, &work, "save", path, progress);
  roc_end_file(L, &work, roc_npy_save(path, a, &work.progress, &err), &err);
}

static void save_png(lua_State *L, const char *path, int progress) {
  roc_error err = ROC_ERROR_INIT;
  const roc_array *a = roc_check_saved(L, 2);
  roc_file_work work;
  roc_begin_file(L, &work, "save", path, progress);
  roc_end_file(L, &work, roc_png_save(path, a, &work.progress, &err), &err);
}

static int compare_names(const void *a, const void *b) {
  const roc_npz_entry *x = a, *y = b;
  return strcmp(x->name, y->name);
}

/* The arrays and their names stay on the stack until the file is written: what is told how far that
 * is may change the table. */
static void save_npz(lua_State *L, const char *path, int progress) {
  if (roc_test_any_array(L, 2) || !lua_istable(L, 2)) {
    luaL_argerror(L, 2, "a .npz file holds a table of arrays by name, such as {x = a}");
  }
  lua_Integer n = count_fields(L, 2);
  luaL_argcheck(L, n >= 1, 2, "a .npz file holds at least one array");
  luaL_argcheck(L, n <= 100000, 2, "a .npz file holds at most 100000 arrays");
  luaL_checkstack(L, 2 * (int)n + LUA_MINSTACK, "too many arrays");
  roc_npz_entry *entries = lua_newuserdatauv(L, ((size_t)n + 1) * sizeof *entries, 0);
  size_t count = 0;
  for (lua_pushnil(L); lua_next(L, 2) != 0;) {
    int value = lua_gettop(L), key = value - 1;
    const roc_array *a = roc_test_any_array(L, value);
    if (lua_type(L, key) != LUA_TSTRING || !a || !a->buffer) {
      const char *why = a && !a->buffer ? "the array is closed"
                                        : "a .npz file holds arrays by name, such as {x = a}";
      lua_pushfstring(L, "%s: %s", luaL_tolstring(L, key, NULL), why);
      luaL_argerror(L, 2, lua_tostring(L, -1));
    }
    size_t len;
    const char *name = lua_tolstring(L, key, &len);
    luaL_argcheck(L, strlen(name) == len, 2, "a name must not contain a zero byte");
    entries[count++] = (roc_npz_entry){name, roc_check_saved(L, value)};
    lua_pushvalue(L, key);
    lua_rotate(L, key, 2); /* keeps the array and the name below the key */
  }
  qsort(entries, count, sizeof *entries, compare_names);
  roc_error err = ROC_ERROR_INIT;
  roc_file_work work;
  roc_begin_file(L, &work, "save", path, progress);
  roc_end_file(L, &work, roc_npz_save(path, entries, count, &work.progress, &err), &err);
}

static const struct {
  const char *ending;
  void (*save)(lua_State *L, const char *path, int progress);
} endings[] = {
    {".npz", save_npz}, {".png", save_png}, {".csv", roc_save_csv}, {".tsv", roc_save_csv}};

/* The options of roc.save at 3. */
static void check_save_options(lua_State *L) {
  if (lua_isnil(L, 3)) return;
  luaL_checktype(L, 3, LUA_TTABLE);
  for (lua_pushnil(L); lua_next(L, 3) != 0; lua_pop(L, 1)) {
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
    if (strcmp(key, "progress") == 0) continue;
    luaL_argerror(L, 3,
                  lua_pushfstring(L, "unknown option '%s'; the only option is progress", key));
  }
}

static int file_save(lua_State *L) {
  const char *path = check_path(L, 1);
  lua_settop(L, 3);
  check_save_options(L);
  int progress = roc_check_file_progress(L, 3);
  void (*save)(lua_State *, const char *, int) = save_npy;
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    if (roc_path_ends_with(path, endings[i].ending)) save = endings[i].save;
  }
  save(L, path, progress);
  return 0;
}

static const luaL_Reg file_functions[] = {{"save", file_save}, {"load", file_load}, {NULL, NULL}};

void roc_open_file(lua_State *L) {
  luaL_setfuncs(L, file_functions, 0);
}
