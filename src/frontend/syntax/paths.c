/* The free names of one function: which globals and upvalues it uses, through which constant keys.
 *
 * Walks the function's own statements (not those of functions in it, which kernels cannot have).
 * Invariant: items stand in the order of first use and no two are equal; a chain of more than
 * MAX_FIELDS keys counts as indexing of its shorter part, as it does in inference. */
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "base/vec.h"
#include "frontend/frontend.h"

enum { MAX_FIELDS = 32 };

typedef struct collector {
  roc_arena *arena;
  roc_vec(roc_fe_path) paths;
  uint32_t *table;     /* open addressing: index + 1 of a path, 0 free */
  uint32_t table_size; /* a power of two, at least twice the number of paths */
  bool failed;
} collector;

/* A chain as found: keys from the last to the first. */
typedef struct chain {
  const roc_ast_node *root; /* FREE_NAME */
  const roc_ast_node *keys[MAX_FIELDS];
  uint32_t nkeys;
} chain;

/* ---- recognizing ------------------------------------------------------------------------- */

static bool is_constant_key(const roc_ast_node *key) {
  return key->kind == ROC_AST_STRING || key->kind == ROC_AST_INTEGER;
}

/* The value of a local that is never assigned again, or NULL. */
static const roc_ast_node *only_value(const roc_ast_symbol *symbol) {
  const roc_ast_node *decl = symbol->decl;
  if (!decl || decl->kind != ROC_AST_LOCAL || symbol->assignments) return NULL;
  for (uint32_t i = 0; i < decl->list.count && i < decl->values.count; i++)
    if (decl->list.items[i]->sym == symbol) return decl->values.items[i];
  return NULL;
}

/* Follows constant keys and such locals down to a free name; false when the node is no path. */
static bool find_chain(const roc_ast_node *node, chain *out) {
  out->nkeys = 0;
  while (node && node->kind != ROC_AST_FREE_NAME) {
    switch (node->kind) {
      case ROC_AST_PAREN: node = node->a; break;
      case ROC_AST_LOCAL_NAME: node = only_value(node->sym); break;
      case ROC_AST_INDEX:
        if (!is_constant_key(node->b) || out->nkeys == MAX_FIELDS) return false;
        out->keys[out->nkeys++] = node->b;
        node = node->a;
        break;
      default: return false;
    }
  }
  out->root = node;
  return node != NULL;
}

/* ---- the set ----------------------------------------------------------------------------- */

static uint64_t hash_more(uint64_t h, const void *bytes, size_t len) {
  const unsigned char *p = bytes;
  for (size_t i = 0; i < len; i++) h = (h ^ p[i]) * 0x100000001B3u;
  return h ^ (h >> 31);
}

static uint64_t hash_path(const roc_fe_path *path) {
  uint64_t h = hash_more(0xCBF29CE484222325u, path->root, path->root_len);
  for (uint32_t i = 0; i < path->nfields; i++) {
    const roc_fe_field *field = &path->fields[i];
    h = field->name ? hash_more(h + 1, field->name, field->len)
                    : hash_more(h + 2, &field->integer, sizeof field->integer);
  }
  return h;
}

static bool equal_fields(const roc_fe_field *a, const roc_fe_field *b) {
  if (!a->name || !b->name) return !a->name && !b->name && a->integer == b->integer;
  return a->len == b->len && memcmp(a->name, b->name, a->len) == 0;
}

static bool equal_paths(const roc_fe_path *a, const roc_fe_path *b) {
  if (a->root_len != b->root_len || a->is_global != b->is_global || a->nfields != b->nfields ||
      memcmp(a->root, b->root, a->root_len) != 0)
    return false;
  for (uint32_t i = 0; i < a->nfields; i++)
    if (!equal_fields(&a->fields[i], &b->fields[i])) return false;
  return true;
}

/* Where the path stands in the table, or would. */
static uint32_t *find_slot(const collector *c, const roc_fe_path *path) {
  for (uint64_t at = hash_path(path);; at++) {
    uint32_t *slot = &c->table[at & (c->table_size - 1)];
    if (!*slot || equal_paths(&c->paths.items[*slot - 1], path)) return slot;
  }
}

static bool grow_table(collector *c) {
  uint32_t size = c->table_size ? c->table_size * 2 : 64;
  uint32_t *table = roc_zalloc(sizeof *table * size);
  if (!table) return false;
  roc_free(c->table);
  c->table = table;
  c->table_size = size;
  for (uint32_t i = 0; i < c->paths.count; i++) *find_slot(c, &c->paths.items[i]) = i + 1;
  return true;
}

static void add_path(collector *c, const chain *found, roc_span span, bool is_assigned) {
  roc_fe_field fields[MAX_FIELDS];
  for (uint32_t i = 0; i < found->nkeys; i++) {
    const roc_ast_node *key = found->keys[found->nkeys - 1 - i];
    fields[i] = key->kind == ROC_AST_INTEGER
                    ? (roc_fe_field){.integer = key->as.i}
                    : (roc_fe_field){.name = key->as.s.data, .len = key->as.s.len};
  }
  roc_fe_path path = {.root = found->root->as.s.data,
                      .root_len = found->root->as.s.len,
                      .is_global = found->root->is_global,
                      .is_assigned = is_assigned,
                      .fields = fields,
                      .nfields = found->nkeys,
                      .span = span};
  if (c->failed || (c->paths.count * 2 >= c->table_size && !grow_table(c))) {
    c->failed = true;
    return;
  }
  uint32_t *slot = find_slot(c, &path);
  if (*slot) {
    c->paths.items[*slot - 1].is_assigned |= is_assigned;
    return;
  }
  roc_fe_field *kept = ROC_ARENA_ARRAY(c->arena, roc_fe_field, path.nfields);
  if (kept) memcpy(kept, fields, sizeof *kept * path.nfields);
  path.fields = kept;
  c->failed = !kept || !roc_vec_push(&c->paths, path);
  if (!c->failed) *slot = c->paths.count;
}

/* ---- walking ----------------------------------------------------------------------------- */

static void walk(collector *c, const roc_ast_node *node);

static void walk_list(collector *c, roc_ast_list list) {
  for (uint32_t i = 0; i < list.count; i++) walk(c, list.items[i]);
}

static void walk(collector *c, const roc_ast_node *node) {
  chain found;
  if (find_chain(node, &found)) {
    add_path(c, &found, node->span, false);
    return;
  }
  if (node->a && node->kind != ROC_AST_GOTO) walk(c, node->a);
  if (node->b) walk(c, node->b);
  if (node->c) walk(c, node->c);
  walk_list(c, node->list);
  walk_list(c, node->values);
  walk_list(c, node->body);
  walk_list(c, node->orelse);
}

/* Marks the path that a target is, or the longest one that it indexes. */
static void mark_target(collector *c, const roc_ast_node *target) {
  chain found;
  if (target->kind == ROC_AST_LOCAL_NAME) return;
  while (!find_chain(target, &found)) {
    if (target->kind != ROC_AST_INDEX) return;
    target = target->a;
  }
  add_path(c, &found, target->span, true);
}

static void mark_targets(collector *c, roc_ast_list block);

static void mark_statement(collector *c, const roc_ast_node *node) {
  if (node->kind == ROC_AST_FUNCTION_STAT) mark_target(c, node->a);
  if (node->kind == ROC_AST_ASSIGN)
    for (uint32_t i = 0; i < node->list.count; i++) mark_target(c, node->list.items[i]);
  mark_targets(c, node->body);
  mark_targets(c, node->orelse);
}

static void mark_targets(collector *c, roc_ast_list block) {
  for (uint32_t i = 0; i < block.count; i++) mark_statement(c, block.items[i]);
}

/* A collector and the body that it walks. */
typedef struct tour {
  collector *collector;
  roc_ast_list body;
} tour;

static void *walk_all(void *ud) {
  tour *t = ud;
  walk_list(t->collector, t->body);
  mark_targets(t->collector, t->body);
  return NULL;
}

bool roc_fe_collect_paths(const roc_ast_func *func, roc_arena *arena, roc_fe_paths *out) {
  collector c = {.arena = arena};
  tour all = {&c, func->body};
  *out = (roc_fe_paths){0};
  if (!func->is_deep) {
    walk_all(&all);
  } else if (roc_thread_call(ROC_THREAD_DEEP_STACK, walk_all, &all) != 0) {
    c.failed = true;
  }
  roc_fe_path *items = c.failed ? NULL : ROC_ARENA_ARRAY(arena, roc_fe_path, c.paths.count);
  if (items) {
    if (c.paths.count) memcpy(items, c.paths.items, sizeof *items * c.paths.count);
    *out = (roc_fe_paths){items, c.paths.count};
  }
  roc_vec_deinit(&c.paths);
  roc_free(c.table);
  return items != NULL;
}
