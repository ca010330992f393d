/* Captures: parsed chunks as Lua values, building a kernel's program from what lua/roc/capture.lua
 * found, and reading the captured values again at each launch.
 *
 * Reading uses raw access only and allocates nothing.  The kernel describes its program again when
 * a value has changed its kind (a number is now a table, an array is now closed), when a function
 * or table is another one, and after an error if a name held a value that no kernel can use.  So no
 * launch uses a stale value. */
#include <string.h>

#include "base/alloc.h"
#include "bindings/kernel/kernel_bind.h"
#include "frontend/types/builtin.h"

enum { CONST_ARRAY_MAX_BYTES = 64 << 10 }; /* larger captured arrays are passed, not embedded */

/* ---- chunks ---- */

static roc_jit_chunk **check_chunk(lua_State *L, int arg) {
  roc_jit_chunk **box = luaL_checkudata(L, arg, ROC_META_CHUNK);
  if (!*box) luaL_argerror(L, arg, "closed chunk");
  return box;
}

static roc_status parse(const char *text, size_t len, uint32_t lead, const char *name,
                        roc_jit_chunk **out_chunk, roc_error *err) {
  roc_diags diags;
  roc_diags_init(&diags, NULL);
  roc_ast_chunk *ast = NULL;
  roc_status status = roc_fe_parse_with_prefix(text, len, lead, name, &diags, &ast, err);
  if (status != ROC_OK && diags.count > 0) {
    roc_str rendered = ROC_STR_INIT;
    roc_diags_render(&diags, &rendered);
    roc_fail(err, status, "%s", roc_str_text(&rendered));
    roc_str_deinit(&rendered);
  }
  roc_diags_deinit(&diags);
  if (status != ROC_OK) return status;
  *out_chunk = roc_jit_chunk_new(ast);
  return *out_chunk ? ROC_OK : roc_fail(err, ROC_OOM, "out of memory while parsing %s", name);
}

/* core.kernel_chunk(text, name [, bytes before the user's text]) */
static int chunk_new(lua_State *L) {
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  const char *name = luaL_checkstring(L, 2);
  lua_Integer lead = luaL_optinteger(L, 3, 0);
  luaL_argcheck(L, lead >= 0 && (size_t)lead <= len, 3, "no more than the text expected");
  roc_jit_chunk **box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = NULL;
  luaL_setmetatable(L, ROC_META_CHUNK);
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, parse(text, len, (uint32_t)lead, name, box, &err), &err);
  return 1;
}

static roc_ast_func *check_func(lua_State *L) {
  roc_ast_chunk *ast = (*check_chunk(L, 1))->ast;
  lua_Integer index = luaL_checkinteger(L, 2);
  luaL_argcheck(L, index >= 0 && index < ast->nfuncs, 2, "no such function");
  return ast->funcs[index];
}

static void push_path(lua_State *L, const roc_fe_path *path) {
  lua_createtable(L, (int)path->nfields, 4);
  lua_pushlstring(L, path->root, path->root_len);
  lua_setfield(L, -2, "root");
  lua_pushboolean(L, path->is_global);
  lua_setfield(L, -2, "is_global");
  lua_pushboolean(L, path->is_assigned);
  lua_setfield(L, -2, "is_assigned");
  lua_pushinteger(L, path->span.line);
  lua_setfield(L, -2, "line");
  for (uint32_t i = 0; i < path->nfields; i++) {
    const roc_fe_field *f = &path->fields[i];
    if (f->name) {
      lua_pushlstring(L, f->name, f->len);
    } else {
      lua_pushinteger(L, f->integer);
    }
    lua_rawseti(L, -2, i + 1);
  }
}

/* The arena of the paths is a userdata of its own, so that an error while they are pushed frees it.
 * It is emptied at once after use: a userdata made by a finalizer while a state closes is never
 * collected. */
static int arena_mm_gc(lua_State *L) {
  roc_arena_deinit(lua_touserdata(L, 1));
  return 0;
}

static const luaL_Reg arena_meta[] = {{"__gc", arena_mm_gc}, {NULL, NULL}};

/* chunk:paths(index) -> {{root=, is_global=, is_assigned=, line=, fields…}, …} */
static int chunk_m_paths(lua_State *L) {
  const roc_ast_func *func = check_func(L);
  roc_arena *arena = lua_newuserdatauv(L, sizeof *arena, 0);
  roc_arena_init(arena, 0);
  roc_class_new(L, "roc.Arena", arena_meta);
  lua_setmetatable(L, -2);
  roc_fe_paths paths = {0};
  if (!roc_fe_collect_paths(func, arena, &paths))
    return luaL_error(L, "out of memory: no room for a kernel");
  lua_createtable(L, (int)paths.count, 0);
  for (uint32_t i = 0; i < paths.count; i++) {
    push_path(L, &paths.items[i]);
    lua_rawseti(L, -2, i + 1);
  }
  roc_arena_deinit(arena);
  return 1;
}

/* chunk:params(index) -> names */
static int chunk_m_params(lua_State *L) {
  const roc_ast_func *func = check_func(L);
  lua_createtable(L, (int)func->nparams, 0);
  for (uint32_t i = 0; i < func->nparams; i++) {
    lua_pushlstring(L, func->params[i]->name.data, func->params[i]->name.len);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* chunk:name(index) -> the function's name in the source, or nil */
static int chunk_m_name(lua_State *L) {
  const roc_ast_func *func = check_func(L);
  if (func->name.len == 0) return 0;
  lua_pushlstring(L, func->name.data, func->name.len);
  return 1;
}

static int chunk_mm_gc(lua_State *L) {
  roc_jit_chunk **box = luaL_checkudata(L, 1, ROC_META_CHUNK);
  roc_jit_chunk *chunk = *box;
  *box = NULL;
  roc_jit_chunk_release(chunk);
  return 0;
}

/* ---- describing a program ---- */

typedef enum bind_as {
  AS_CELL,
  AS_BUILTIN,
  AS_DTYPE,
  AS_ARRAY,
  AS_FUNCTION,
  AS_NAMESPACE,
  AS_NIL,
  AS_STRING,
  AS_OTHER
} bind_as;
static const char *const bind_names[] = {"cell",      "builtin", "dtype",  "array", "function",
                                         "namespace", "nil",     "string", "other", NULL};

/* Captures are counted first, to allocate the room, and then filled. */
typedef struct describer {
  roc_kernel_box *box;
  roc_jit_program *program;
  uint32_t nscalars, narrays, ncells;
  int cells;          /* stack index of the table of cells */
  lua_Integer nwords; /* entries of that table */
  lua_Integer last;   /* index of the function added last; 0: none */
} describer;

static void out_of_memory(lua_State *L) {
  luaL_error(L, "out of memory: no room for a kernel");
}

/* Calls `each` with every binding's table on top of the stack. */
static void for_each_binding(lua_State *L, int program, describer *d,
                             void (*each)(lua_State *L, describer *d, uint32_t func,
                                          uint32_t path)) {
  lua_getfield(L, program, "functions");
  for (uint32_t f = 0; f < d->program->fe.nfuncs; f++) {
    lua_rawgeti(L, -1, f + 1);
    lua_getfield(L, -1, "bindings");
    for (uint32_t i = 0; i < roc_jit_program_npaths(d->program, f); i++) {
      lua_rawgeti(L, -1, i + 1);
      each(L, d, f, i);
      lua_pop(L, 1);
    }
    lua_pop(L, 2);
  }
  lua_pop(L, 1);
}

static bind_as binding_kind(lua_State *L) {
  lua_getfield(L, -1, "kind");
  bind_as kind = (bind_as)luaL_checkoption(L, -1, NULL, bind_names);
  lua_pop(L, 1);
  return kind;
}

static bool is_large(const roc_array *a) {
  return roc_array_nbytes(a) > CONST_ARRAY_MAX_BYTES;
}

/* Pushes the extents (a list of cells) of a table that may be a shape; otherwise false, and nothing
 * is pushed. */
static bool push_extents(lua_State *L) {
  if (lua_getfield(L, -1, "extents") == LUA_TTABLE) return true;
  lua_pop(L, 1);
  return false;
}

static void count_binding(lua_State *L, describer *d, uint32_t func, uint32_t path) {
  (void)func, (void)path;
  bind_as kind = binding_kind(L);
  d->box->nnew_unusable += kind == AS_OTHER || kind == AS_NAMESPACE || kind == AS_STRING;
  if (kind == AS_NAMESPACE && push_extents(L)) {
    d->ncells += (uint32_t)lua_rawlen(L, -1);
    d->nscalars += (uint32_t)lua_rawlen(L, -1);
    lua_pop(L, 1);
  }
  if (kind != AS_CELL && kind != AS_ARRAY) return;
  lua_getfield(L, -1, "value");
  const roc_array *a = roc_test_any_array(L, -1);
  lua_pop(L, 1);
  d->ncells += kind == AS_CELL;
  if (kind == AS_CELL) {
    d->nscalars += a == NULL;
    d->narrays += a != NULL;
  } else {
    d->narrays += a && is_large(a);
  }
}

/* Table of a binding or a watch on top: the place of its function in the table of cells. */
static uint32_t add_function(lua_State *L, describer *d) {
  lua_getfield(L, -1, "fn");
  lua_rawgeti(L, d->cells, d->last);
  bool is_last = lua_rawequal(L, -1, -2);
  lua_pop(L, 1);
  if (is_last) {
    lua_pop(L, 1);
  } else {
    d->last = ++d->nwords;
    lua_rawseti(L, d->cells, d->last);
  }
  return (uint32_t)d->last;
}

/* Likewise: appends function and keys to the table of cells. */
static roc_kernel_cell *add_cell(lua_State *L, describer *d) {
  roc_kernel_cell *cell = &d->box->new_cells[d->box->nnew_cells++];
  *cell = (roc_kernel_cell){.function = add_function(L, d)};
  lua_getfield(L, -1, "upvalue");
  cell->upvalue = (uint32_t)lua_tointeger(L, -1);
  lua_pop(L, 1);
  lua_getfield(L, -1, "is_global");
  cell->is_global = lua_toboolean(L, -1);
  lua_pop(L, 1);
  lua_getfield(L, -1, "keys");
  cell->nkeys = (uint32_t)lua_rawlen(L, -1);
  cell->keys = (uint32_t)d->nwords + 1;
  for (uint32_t i = 0; i < cell->nkeys; i++) {
    lua_rawgeti(L, -1, i + 1);
    lua_rawseti(L, d->cells, ++d->nwords);
  }
  lua_pop(L, 1);
  return cell;
}

static uint32_t add_array(describer *d, roc_fe_binding *b, const char *name, const roc_array *a,
                          bool is_constant, bool is_table) {
  uint32_t i = d->program->narrays++;
  d->program->arrays[i] = (roc_jit_capture){.binding = b,
                                            .name = name,
                                            .value = {.array = a},
                                            .is_constant = is_constant,
                                            .is_table = is_table};
  return i;
}

/* The upvalue, or of a global the environment. */
static const void *variable_of(lua_State *L, const describer *d, const roc_kernel_cell *cell) {
  const void *variable = NULL;
  lua_rawgeti(L, d->cells, cell->function);
  if (!cell->is_global) {
    variable = lua_upvalueid(L, -1, (int)cell->upvalue);
  } else if (lua_getupvalue(L, -1, (int)cell->upvalue)) {
    variable = lua_topointer(L, -1);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return variable;
}

static void bind_cell(lua_State *L, describer *d, roc_fe_binding *b, const char *name) {
  roc_kernel_cell *cell = add_cell(L, d);
  lua_getfield(L, -1, "value");
  const roc_array *a = roc_test_any_array(L, -1);
  if (a) {
    cell->kind = CELL_ARRAY;
    cell->index = add_array(d, b, name, a, false, false);
  } else {
    cell->index = d->program->nscalars++;
    d->program->scalars[cell->index] =
        (roc_jit_scalar){.binding = b, .name = name, .variable = variable_of(L, d, cell)};
  }
  lua_pop(L, 1);
}

/* A table that may be a shape: its extents are captured as numbers. */
static void bind_namespace(lua_State *L, describer *d, roc_fe_binding *b, const char *name) {
  b->kind = ROC_BIND_NAMESPACE;
  b->as.shape = NULL;
  if (!push_extents(L)) return;
  roc_fe_shape *shape = ROC_ARENA_NEW(&d->program->arena, roc_fe_shape);
  if (!shape) out_of_memory(L);
  for (uint32_t k = 0; k < lua_rawlen(L, -1) && k <= ROC_MAX_RANK; k++) {
    lua_rawgeti(L, -1, k + 1);
    bind_cell(L, d, &shape->extents[k], name);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  b->as.shape = shape;
}

/* A copy of a host array: C order, packed.  A large one is kept alive by the program's table. */
static void bind_array(lua_State *L, describer *d, roc_fe_binding *b, const char *name,
                       const roc_array *a, bool is_table) {
  if (is_large(a)) {
    add_array(d, b, name, a, true, is_table);
    return;
  }
  roc_fe_const_array *data = ROC_ARENA_NEW(&d->program->arena, roc_fe_const_array);
  if (!data) out_of_memory(L);
  data->dtype = a->dtype;
  data->rank = a->rank;
  data->is_table = is_table;
  memcpy(data->extents, a->extents, a->rank * sizeof *a->extents);
  /* A copy: a frozen kernel outlives the array. */
  size_t nbytes = roc_array_nbytes(a);
  unsigned char *copy = ROC_ARENA_ARRAY(&d->program->arena, unsigned char, nbytes + 1);
  if (!copy) out_of_memory(L);
  if (nbytes > 0) {
    memcpy(copy,
           (const char *)roc_buffer_host(a->buffer) +
               a->offset * (int64_t)roc_dtype_itemsize(a->dtype),
           nbytes);
  }
  data->data = copy;
  b->kind = ROC_BIND_CONST_ARRAY;
  b->as.const_array = data;
}

static uint32_t integer_field(lua_State *L, const char *name) {
  lua_getfield(L, -1, name);
  uint32_t i = (uint32_t)luaL_checkinteger(L, -1);
  lua_pop(L, 1);
  return i;
}

/* Value on top of its binding's table: whether the array is a copy of a Lua table. */
static bool is_table(lua_State *L) {
  lua_getfield(L, -2, "is_table");
  bool is = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return is;
}

static void bind_value(lua_State *L, describer *d, bind_as kind, roc_fe_binding *b,
                       const char *name) {
  lua_getfield(L, -1, "value");
  switch (kind) {
    case AS_BUILTIN:
      b->kind = ROC_BIND_BUILTIN;
      b->as.builtin = (uint32_t)luaL_checkinteger(L, -1) - 1;
      break;
    case AS_FUNCTION:
      b->kind = ROC_BIND_FUNCTION;
      b->as.function = (uint32_t)luaL_checkinteger(L, -1) - 1;
      break;
    case AS_DTYPE:
      b->kind = ROC_BIND_DTYPE;
      if (!roc_test_dtype(L, -1, &b->as.dtype)) luaL_error(L, "'%s' is no dtype", name);
      break;
    case AS_ARRAY:
      if (!roc_test_array(L, -1)) luaL_error(L, "'%s' is no host array", name);
      bind_array(L, d, b, name, roc_test_array(L, -1), is_table(L));
      break;
    case AS_OTHER: {
      const char *type_name = luaL_checkstring(L, -1);
      b->kind = ROC_BIND_OTHER;
      b->as.type_name = roc_arena_strndup(&d->program->arena, type_name, strlen(type_name));
      if (!b->as.type_name) out_of_memory(L);
      break;
    }
    case AS_STRING: {
      const char *text = luaL_checkstring(L, -1);
      b->kind = ROC_BIND_STRING;
      b->as.text = roc_arena_strndup(&d->program->arena, text, strlen(text));
      if (!b->as.text) out_of_memory(L);
      break;
    }
    default: b->kind = ROC_BIND_NIL;
  }
  lua_pop(L, 1);
}

static void fill_binding(lua_State *L, describer *d, uint32_t func, uint32_t path) {
  roc_fe_binding *b = roc_jit_program_binding(d->program, func, path);
  bind_as kind = binding_kind(L);
  b->consumed = integer_field(L, "consumed");
  const char *name = roc_jit_program_path_name(d->program, func, path, b->consumed);
  if (kind == AS_CELL) {
    bind_cell(L, d, b, name);
  } else if (kind == AS_NAMESPACE) {
    bind_namespace(L, d, b, name);
  } else {
    bind_value(L, d, kind, b, name);
  }
}

static void set_functions(lua_State *L, int program, describer *d) {
  lua_getfield(L, program, "functions");
  for (uint32_t f = 0; f < d->program->fe.nfuncs; f++) {
    lua_rawgeti(L, -1, f + 1);
    lua_getfield(L, -1, "chunk");
    roc_jit_chunk **chunk = luaL_testudata(L, -1, ROC_META_CHUNK);
    if (!chunk || !*chunk) luaL_error(L, "a kernel's program holds no chunk");
    lua_pop(L, 1); /* the table keeps it */
    uint32_t index = integer_field(L, "index");
    if (index >= (*chunk)->ast->nfuncs) luaL_error(L, "a chunk has no function %d", (int)index);
    lua_getfield(L, -1, "name");
    if (!roc_jit_program_set(d->program, f, *chunk, index, luaL_checkstring(L, -1)))
      out_of_memory(L);
    lua_pop(L, 2);
  }
  lua_pop(L, 1);
}

/* Pushes the program's list of watches; returns how many. */
static uint32_t push_watches(lua_State *L, int program) {
  lua_getfield(L, program, "watches");
  return (uint32_t)lua_rawlen(L, -1);
}

static void add_watches(lua_State *L, int program, describer *d) {
  uint32_t count = push_watches(L, program);
  for (uint32_t i = 0; i < count; i++) {
    lua_rawgeti(L, -1, i + 1);
    roc_kernel_cell *cell = add_cell(L, d);
    cell->kind = CELL_WATCH;
    lua_getfield(L, -1, "value");
    cell->held = lua_topointer(L, -1);
    lua_rawseti(L, d->cells, ++d->nwords);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

void roc_kernel_describe(lua_State *L, roc_kernel_box *box, int idx) {
  luaL_checkstack(L, 12, NULL);
  idx = lua_absindex(L, idx);
  roc_jit_program_free(box->building); /* of a description that raised */
  lua_getfield(L, idx, "functions");
  uint32_t nfuncs = (uint32_t)lua_rawlen(L, -1);
  lua_pop(L, 1);
  box->building = roc_jit_program_new(nfuncs);
  if (!box->building) out_of_memory(L);
  describer d = {.box = box, .program = box->building};
  set_functions(L, idx, &d);
  box->nnew_unusable = 0;
  for_each_binding(L, idx, &d, count_binding);
  d.ncells += push_watches(L, idx);
  lua_pop(L, 1);
  if (!roc_jit_program_reserve(d.program, d.nscalars, d.narrays)) out_of_memory(L);
  roc_kernel_cell *cells = roc_realloc(box->new_cells, (d.ncells + 1) * sizeof *cells);
  if (!cells) out_of_memory(L);
  box->new_cells = cells;
  box->nnew_cells = 0;
  lua_createtable(L, (int)d.ncells * 2, 0);
  d.cells = lua_gettop(L);
  for_each_binding(L, idx, &d, fill_binding);
  add_watches(L, idx, &d);
  if (d.program->arena.failed) out_of_memory(L);
}

roc_jit_program *roc_kernel_take_program(roc_kernel_box *box) {
  roc_jit_program *program = box->building;
  box->building = NULL;
  return program;
}

void roc_kernel_commit_cells(roc_kernel_box *box) {
  roc_kernel_drop_constants(box);
  roc_free(box->cells);
  box->cells = box->new_cells;
  box->ncells = box->nnew_cells;
  box->nunusable = box->nnew_unusable;
  box->is_refused = false;
  box->new_cells = NULL;
  box->nnew_cells = 0;
  box->generation++;
}

/* ---- reading again ---- */

/* Replaces the table at the top by its field `key` (pushed above it).  A raw access, except that a
 * global may be inherited by its environment. */
static void get_field(lua_State *L, bool may_inherit) {
  lua_pushvalue(L, -1);
  lua_rawget(L, -3);
  if (lua_isnil(L, -1) && may_inherit && luaL_getmetafield(L, -3, "__index") != LUA_TNIL) {
    lua_pop(L, 2);
    lua_gettable(L, -2);
  } else {
    lua_replace(L, -2);
  }
  lua_replace(L, -2);
}

/* Pushes the cell's value as it is now; the table of cells is at index `cells`, the cell's function
 * above it. */
static void push_cell(lua_State *L, int cells, const roc_kernel_cell *cell) {
  if (!lua_getupvalue(L, cells + 1, (int)cell->upvalue)) lua_pushnil(L);
  for (uint32_t i = 0; i < cell->nkeys; i++) {
    if (!lua_istable(L, -1)) {
      lua_pop(L, 1);
      lua_pushnil(L);
      return;
    }
    lua_rawgeti(L, cells, cell->keys + i);
    get_field(L, i == 0 && cell->is_global && cell->kind != CELL_ARRAY);
  }
}

/* Takes the value on top.  False when its kind, or for a watch the value itself, is another than
 * when the program was described. */
static bool take_cell(lua_State *L, roc_jit_program *program, const roc_kernel_cell *cell) {
  if (cell->kind == CELL_WATCH) return lua_topointer(L, -1) == cell->held;
  if (cell->kind == CELL_ARRAY) {
    const roc_array_box *box = roc_test_array_box(L, -1);
    if (!box || box->cls != &roc_device_array_class || !box->array.buffer) return false;
    program->arrays[cell->index].value.array = &box->array; /* its elements may be pending */
    return true;
  }
  roc_scalar value = {.type = ROC_VT_NONE};
  if (!roc_test_scalar(L, -1, &value) && !lua_isnil(L, -1)) return false;
  roc_jit_scalar_note(&program->scalars[cell->index], value);
  return true;
}

/* Reads the cells of arrays, or the others. The others are read first: reading an inherited global
 * may run any Lua code, which could free an array that was already read, or describe this kernel
 * again. Returns the first cell that take_cell did not take, else NULL. */
static const roc_kernel_cell *read_some(lua_State *L, roc_kernel_box *box, int cells, bool arrays) {
  uint32_t generation = box->generation, function = 0;
  for (uint32_t i = 0; i < box->ncells; i++) {
    if ((box->cells[i].kind == CELL_ARRAY) != arrays) continue;
    if (box->cells[i].function != function) {
      function = box->cells[i].function;
      lua_settop(L, cells);
      lua_rawgeti(L, cells, function);
    }
    push_cell(L, cells, &box->cells[i]);
    if (box->generation != generation) {
      luaL_error(L, "kernel '%s' was launched by a metamethod of its own environment",
                 box->kernel->name);
    }
    bool same_kind = take_cell(L, box->kernel->program, &box->cells[i]);
    lua_pop(L, 1);
    if (!same_kind) return &box->cells[i];
  }
  return NULL;
}

static const roc_kernel_cell *read_cells(lua_State *L, roc_kernel_box *box, int idx) {
  if (box->ncells == 0) return NULL;
  lua_getiuservalue(L, idx, KERNEL_UV_CELLS);
  int cells = lua_gettop(L);
  const roc_kernel_cell *other = read_some(L, box, cells, false);
  if (!other && box->kernel->program->narrays > 0) other = read_some(L, box, cells, true);
  lua_settop(L, cells - 1);
  return other;
}

/* The program has just been described, and the value has changed again. */
static void fail_cell(lua_State *L, const roc_jit_kernel *kernel, const roc_kernel_cell *cell) {
  if (cell->kind == CELL_ARRAY) {
    luaL_error(L,
               "kernel '%s': captured array '%s' was closed, or exists only through a metamethod",
               kernel->name, kernel->program->arrays[cell->index].name);
  }
  luaL_error(L, "kernel '%s': a metamethod returns another captured value at each reading",
             kernel->name);
}

void roc_kernel_read_cells(lua_State *L, roc_kernel_box *box, int idx) {
  if (box->is_own && box->has_read) return;
  box->has_read = true;
  if (!box->is_refused && !read_cells(L, box, idx)) return;
  lua_getiuservalue(L, idx, KERNEL_UV_RECOLLECT);
  lua_call(L, 0, 1);
  roc_kernel_describe(L, box, -1);
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_jit_kernel_replace(box->kernel, roc_kernel_take_program(box), &err), &err);
  roc_kernel_commit_cells(box);
  lua_setiuservalue(L, idx, KERNEL_UV_CELLS);
  lua_setiuservalue(L, idx, KERNEL_UV_PROGRAM);
  const roc_kernel_cell *other = read_cells(L, box, idx);
  if (other) fail_cell(L, box->kernel, other);
}

/* Pushes an array userdata that refers to the captured memory. */
static void push_captured(lua_State *L, const roc_kernel_box *box, const roc_jit_capture *capture) {
  const roc_array *a = capture->value.array;
  bool is_on_device = a->buffer && roc_buffer_device(a->buffer);
  roc_array *out =
      roc_push_array(L, is_on_device ? &roc_device_array_class : &roc_host_array_class);
  if (!a->buffer) { /* by a finalizer */
    luaL_error(L, "kernel '%s': captured array '%s' was closed during a launch", box->kernel->name,
               capture->name);
  }
  roc_buffer_retain(a->buffer);
  *out = *a;
}

int roc_kernel_push_captured(lua_State *L, const roc_kernel_box *box) {
  const roc_jit_program *program = box->kernel->program;
  luaL_checkstack(L, (int)program->narrays + 2, "too many captures");
  for (uint32_t i = 0; i < program->narrays; i++) push_captured(L, box, &program->arrays[i]);
  return (int)program->narrays;
}

/* ---- opening ---- */

/* core.kernel_builtins() -> paths in the order of their numbers */
static int kernel_builtins(lua_State *L) {
  lua_createtable(L, ROC_BUILTIN_COUNT_, 0);
  for (int i = 0; i < ROC_BUILTIN_COUNT_; i++) {
    lua_pushstring(L, roc_builtin_table[i].path);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static const luaL_Reg chunk_methods[] = {
    {"paths", chunk_m_paths}, {"params", chunk_m_params}, {"name", chunk_m_name}, {NULL, NULL}};
static const luaL_Reg chunk_meta[] = {{"__gc", chunk_mm_gc}, {NULL, NULL}};
static const luaL_Reg functions[] = {
    {"kernel_chunk", chunk_new}, {"kernel_builtins", kernel_builtins}, {NULL, NULL}};

void roc_open_kernel_capture(lua_State *L) {
  if (roc_class_new(L, ROC_META_CHUNK, chunk_meta)) {
    luaL_newlib(L, chunk_methods);
    lua_setfield(L, -2, "__index");
  }
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
