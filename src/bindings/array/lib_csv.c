/* roc.load and roc.save of CSV files: tables of columns.
 *
 * Such a table has the names of the columns as a list, t[1], t[2], …, and each column under its
 * name: an array of int64 or float64, or a list of strings.  Without names the list holds the
 * columns. */
#include <string.h>

#include "bindings/array/array_bind.h"
#include "bindings/array/file_bind.h"
#include "runtime/csv.h"

static const char csv_meta_name[] = "roc.CsvFile";

static int csv_mm_gc(lua_State *L) {
  roc_csv_close(luaL_checkudata(L, 1, csv_meta_name));
  return 0;
}

static const luaL_Reg csv_meta[] = {{"__gc", csv_mm_gc}, {NULL, NULL}};

/* ---- options ------------------------------------------------------------------------------ */

static char default_separator(const char *path) {
  return roc_path_ends_with(path, ".tsv") ? '\t' : ',';
}

static void read_option(lua_State *L, int arg, const char *key, roc_csv_options *options) {
  size_t len;
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &len) : NULL;
  if (strcmp(key, "format") == 0) {
    luaL_argcheck(L, text && strcmp(text, "csv") == 0, arg, "format must be \"csv\"");
    options->is_csv = true;
  } else if (strcmp(key, "header") == 0) {
    luaL_argcheck(L, lua_isboolean(L, -1), arg, "header must be a boolean");
    options->has_names = lua_toboolean(L, -1);
  } else if (strcmp(key, "separator") == 0) {
    luaL_argcheck(L, text && len == 1 && !strchr("\"\r\n", text[0]), arg,
                  "separator must be one character, and no quote or line end");
    options->separator = text[0];
  } else if (strcmp(key, "progress") != 0) {
    luaL_argerror(L, arg,
                  lua_pushfstring(L,
                                  "unknown option '%s'; the options are format, header, "
                                  "separator, map and progress",
                                  key));
  }
}

roc_csv_options roc_check_csv_options(lua_State *L, int arg, const char *path) {
  bool is_named = roc_path_ends_with(path, ".csv") || roc_path_ends_with(path, ".tsv");
  roc_csv_options options = {is_named, true, default_separator(path)};
  if (lua_isnil(L, arg)) return options;
  luaL_checktype(L, arg, LUA_TTABLE);
  bool has_own = false;
  for (lua_pushnil(L); lua_next(L, arg) != 0; lua_pop(L, 1)) {
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
    has_own |= strcmp(key, "progress") != 0;
    read_option(L, arg, key, &options);
  }
  luaL_argcheck(L, options.is_csv || !has_own, arg,
                "these are options of CSV files, which are named .csv or "
                ".tsv, or get format = \"csv\"");
  return options;
}

/* ---- reading ------------------------------------------------------------------------------ */

static void push_text(lua_State *L, const roc_csv_text *text) {
  if (!text->is_quoted) {
    lua_pushlstring(L, text->at, text->len);
    return;
  }
  luaL_Buffer b;
  char *to = luaL_buffinitsize(L, &b, text->len);
  luaL_pushresultsize(&b, roc_csv_unquote(text, to));
}

/* The name of column i (from 0): its number where the header has none. */
static void push_name(lua_State *L, const roc_csv_column *column, size_t i) {
  if (column->name.len > 0) {
    push_text(L, &column->name);
  } else {
    lua_pushfstring(L, "%d", (int)i + 1);
  }
}

enum { SPOT_BITS = 9 };

/* A number from the text's length and both of its ends. */
static size_t spot_of(const roc_csv_text *text) {
  uint64_t head = 0, tail = 0;
  uint32_t first, last;
  if (text->len >= sizeof head) {
    memcpy(&head, text->at, sizeof head);
    memcpy(&tail, text->at + text->len - sizeof tail, sizeof tail);
  } else if (text->len >= sizeof first) {
    memcpy(&first, text->at, sizeof first);
    memcpy(&last, text->at + text->len - sizeof last, sizeof last);
    head = first, tail = last;
  } else if (text->len > 0) {
    head = (unsigned char)text->at[0] | (uint64_t)(unsigned char)text->at[text->len / 2] << 8;
    tail = (unsigned char)text->at[text->len - 1];
  }
  uint64_t mixed = (head * UINT64_C(0x9e3779b97f4a7c15) ^ tail) + text->len;
  return (size_t)(mixed * UINT64_C(0xd6e8feb86659fd93) >> (64 - SPOT_BITS));
}

static bool are_same(const roc_csv_text *a, const roc_csv_text *b) {
  return a->len == b->len && a->is_quoted == b->is_quoted && memcmp(a->at, b->at, a->len) == 0;
}

/* Columns of texts repeat a few: what a row before has is taken from there, without Lua looking it
 * up among all strings. */
static void push_texts(lua_State *L, const roc_csv_text *texts, int64_t nrows) {
  int64_t rows[1 << SPOT_BITS] = {0}; /* by spot: the last row, from 1, that had a text of it */
  lua_createtable(L, (int)nrows, 0);
  for (int64_t row = 1; row <= nrows; row++) {
    const roc_csv_text *text = &texts[row - 1];
    int64_t *known = &rows[spot_of(text)];
    if (*known > 0 && are_same(text, &texts[*known - 1])) {
      lua_rawgeti(L, -1, *known);
    } else {
      push_text(L, text);
      *known = row;
    }
    lua_rawseti(L, -2, row);
  }
}

static void push_column(lua_State *L, const roc_csv *csv, const roc_csv_column *column) {
  int64_t nrows = (int64_t)csv->nrows;
  if (column->kind == ROC_CSV_TEXT) {
    push_texts(L, column->values.texts, nrows);
    return;
  }
  roc_dtype dtype = column->kind == ROC_CSV_INT ? ROC_DT_INT64 : ROC_DT_FLOAT64;
  roc_array *a = roc_push_array(L, &roc_host_array_class);
  roc_gc_account(L, roc_buffer_nbytes(column->numbers));
  *a = (roc_array){.dtype = dtype, .rank = 1, .extents = {nrows}, .strides = {1}};
  roc_buffer_retain(column->numbers);
  a->buffer = column->numbers;
}

void roc_load_csv(lua_State *L, const char *path, const roc_csv_options *options, int progress) {
  roc_csv *csv = lua_newuserdatauv(L, sizeof *csv, 0);
  *csv = (roc_csv){0};
  roc_class_new(L, csv_meta_name, csv_meta);
  lua_setmetatable(L, -2);
  roc_error err = ROC_ERROR_INIT;
  roc_file_work work;
  roc_begin_file(L, &work, "load", path, progress);
  roc_status status =
      roc_csv_read(path, options->separator, options->has_names, &work.progress, csv, &err);
  roc_end_file(L, &work, status, &err);
  lua_createtable(L, (int)csv->ncolumns, options->has_names ? (int)csv->ncolumns : 0);
  int result = lua_gettop(L);
  for (size_t i = 0; i < csv->ncolumns; i++) {
    if (options->has_names) {
      push_name(L, &csv->columns[i], i);
      lua_pushvalue(L, -1);
      if (lua_rawget(L, result) != LUA_TNIL) {
        roc_fail(&err, ROC_INVALID, "'%s' has two columns named '%.100s'", path,
                 lua_tostring(L, -2));
        roc_lua_raise(L, &err);
      }
      lua_pop(L, 1);
      lua_pushvalue(L, -1);
      lua_rawseti(L, result, (lua_Integer)i + 1);
      push_column(L, csv, &csv->columns[i]);
      lua_rawset(L, result);
    } else {
      push_column(L, csv, &csv->columns[i]);
      lua_rawseti(L, result, (lua_Integer)i + 1);
    }
  }
  roc_csv_close(csv);
}

/* ---- writing ------------------------------------------------------------------------------ */

typedef struct sheet {
  roc_csv_source *sources; /* userdata on the stack, as are texts and arrays */
  size_t nsources;
  int64_t nrows;
} sheet;

static int fail_column(lua_State *L, const char *name, const char *why) {
  return luaL_argerror(L, 2, lua_pushfstring(L, "column %s: %s", name, why));
}

/* The list of strings on top of the stack as texts, which stay on the stack, in a list of their own:
 * the script may change its list while the file is written, when it is told how far that is. */
static int64_t check_texts(lua_State *L, const char *name, roc_csv_source *source) {
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  int list = lua_gettop(L), own = list + 1;
  lua_createtable(L, (int)n, 0);
  roc_csv_text *texts = lua_newuserdatauv(L, ((size_t)n + 1) * sizeof *texts, 0);
  for (lua_Integer i = 0; i < n; i++) {
    if (lua_rawgeti(L, list, i + 1) != LUA_TSTRING) {
      fail_column(L, name, "an array, or a list of strings, is expected");
    }
    texts[i].at = lua_tolstring(L, -1, &texts[i].len);
    texts[i].is_quoted = false;
    lua_rawseti(L, own, i + 1);
  }
  source->texts = texts;
  return n;
}

/* Adds the column on top of the stack, which stays there. */
static void add_column(lua_State *L, sheet *s, const char *name) {
  roc_csv_source *source = &s->sources[s->nsources];
  int64_t n;
  if (lua_istable(L, -1)) {
    n = check_texts(L, name, source);
  } else {
    const roc_array *a = roc_test_any_array(L, -1);
    if (!a || !a->buffer || a->rank != 1) {
      fail_column(L, name, "an array of one dimension, or a list of strings, is expected");
    }
    source->array = roc_check_saved(L, lua_gettop(L));
    n = source->array->extents[0];
  }
  if (s->nsources > 0 && n != s->nrows) {
    fail_column(L, name,
                lua_pushfstring(L, "it has %I rows, and the first column %I", (LUAI_UACINT)n,
                                (LUAI_UACINT)s->nrows));
  }
  s->nrows = n;
  s->nsources++;
}

/* The columns of a table: the names in its list, or the columns themselves.  True: it has names. */
static bool add_columns(lua_State *L, sheet *s) {
  lua_Integer n = (lua_Integer)lua_rawlen(L, 2);
  luaL_argcheck(L, n >= 1 && n <= 10000, 2,
                "1 to 10000 columns are expected, such as {\"x\", x = a}");
  luaL_checkstack(L, 6 * (int)n + LUA_MINSTACK, "too many columns");
  s->sources = lua_newuserdatauv(L, (size_t)n * sizeof *s->sources, 0);
  memset(s->sources, 0, (size_t)n * sizeof *s->sources);
  bool has_names = false;
  for (lua_Integer i = 1; i <= n; i++) {
    bool is_name = lua_rawgeti(L, 2, i) == LUA_TSTRING;
    luaL_argcheck(L, i == 1 || is_name == has_names, 2,
                  "a list of names, or of columns, is expected");
    has_names = is_name;
    const char *name = is_name ? lua_tostring(L, -1) : lua_pushfstring(L, "%d", (int)i);
    if (is_name) {
      roc_csv_text *text = &s->sources[i - 1].name;
      text->at = lua_tolstring(L, -1, &text->len);
      lua_pushvalue(L, -1);
      lua_rawget(L, 2);
    } else {
      lua_pushvalue(L, -2);
    }
    add_column(L, s, name);
  }
  return has_names;
}

/* The columns of a matrix, or the one column of a 1-D array. */
static void add_matrix(lua_State *L, sheet *s, roc_array *columns) {
  const roc_array *a = roc_check_saved(L, 2);
  s->nsources = a->rank == 1 ? 1 : (size_t)a->extents[1];
  s->nrows = a->extents[0];
  for (size_t i = 0; i < s->nsources; i++) {
    columns[i] = *a;
    if (a->rank == 2) {
      columns[i].rank = 1;
      columns[i].offset += (int64_t)i * a->strides[1];
    }
    s->sources[i] = (roc_csv_source){.array = &columns[i]};
  }
}

void roc_save_csv(lua_State *L, const char *path, int progress) {
  roc_error err = ROC_ERROR_INIT;
  sheet s = {0};
  bool has_names = false;
  const roc_array *a = roc_test_any_array(L, 2);
  if (a) {
    luaL_argcheck(L, a->buffer, 2, "the array is closed");
    luaL_argcheck(L, a->rank <= 2, 2, "a CSV file holds an array of at most two dimensions");
    size_t n = a->rank == 1 ? 1 : (size_t)a->extents[1];
    roc_array *columns = lua_newuserdatauv(L, (n + 1) * sizeof *columns, 0);
    s.sources = lua_newuserdatauv(L, (n + 1) * sizeof *s.sources, 0);
    add_matrix(L, &s, columns);
  } else {
    luaL_checktype(L, 2, LUA_TTABLE);
    has_names = add_columns(L, &s);
  }
  roc_file_work work;
  roc_begin_file(L, &work, "save", path, progress);
  roc_status status = roc_csv_save(path, default_separator(path), has_names, s.sources, s.nsources,
                                   s.nrows, &work.progress, &err);
  roc_end_file(L, &work, status, &err);
}
