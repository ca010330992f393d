/* A kernel's parsed functions and captures; see program.h. */
#include "jit/program.h"

#include <string.h>

#include "base/alloc.h"

roc_jit_chunk *roc_jit_chunk_new(roc_ast_chunk *ast) {
  roc_jit_chunk *chunk = roc_alloc(sizeof *chunk);
  if (!chunk) {
    roc_fe_chunk_free(ast);
    return NULL;
  }
  atomic_init(&chunk->refs, 1);
  chunk->ast = ast;
  return chunk;
}

void roc_jit_chunk_retain(roc_jit_chunk *chunk) {
  atomic_fetch_add(&chunk->refs, 1);
}

void roc_jit_chunk_release(roc_jit_chunk *chunk) {
  if (!chunk || atomic_fetch_sub(&chunk->refs, 1) > 1) return;
  roc_fe_chunk_free(chunk->ast);
  roc_free(chunk);
}

roc_jit_program *roc_jit_program_new(uint32_t nfuncs) {
  roc_jit_program *p = roc_zalloc(sizeof *p);
  if (!p) return NULL;
  roc_arena_init(&p->arena, 0);
  p->funcs = ROC_ARENA_ARRAY(&p->arena, roc_fe_function, nfuncs);
  p->chunks = ROC_ARENA_ARRAY(&p->arena, roc_jit_chunk *, nfuncs);
  p->fe = (roc_fe_program){.funcs = p->funcs, .nfuncs = nfuncs};
  if (p->arena.failed) {
    p->fe.nfuncs = 0;
    roc_jit_program_free(p);
    return NULL;
  }
  return p;
}

void roc_jit_program_free(roc_jit_program *program) {
  if (!program) return;
  for (uint32_t i = 0; i < program->fe.nfuncs; i++) roc_jit_chunk_release(program->chunks[i]);
  roc_arena_deinit(&program->arena);
  roc_free(program);
}

bool roc_jit_program_set(roc_jit_program *program, uint32_t i, roc_jit_chunk *chunk, uint32_t index,
                         const char *name) {
  roc_fe_function *f = &program->funcs[i];
  roc_jit_chunk_retain(chunk);
  program->chunks[i] = chunk;
  f->chunk = chunk->ast;
  f->ast = chunk->ast->funcs[index];
  f->name = roc_arena_strndup(&program->arena, name, strlen(name));
  if (!roc_fe_collect_paths(f->ast, &program->arena, &f->paths)) return false;
  roc_fe_binding *bindings = ROC_ARENA_ARRAY(&program->arena, roc_fe_binding, f->paths.count);
  f->bindings = bindings;
  return !program->arena.failed;
}

uint32_t roc_jit_program_npaths(const roc_jit_program *program, uint32_t i) {
  return program->funcs[i].paths.count;
}

roc_fe_binding *roc_jit_program_binding(roc_jit_program *program, uint32_t i, uint32_t path) {
  return (roc_fe_binding *)&program->funcs[i].bindings[path];
}

void roc_jit_path_text(const roc_fe_path *path, uint32_t nfields, roc_str *out) {
  roc_str_add(out, path->root, path->root_len);
  for (uint32_t i = 0; i < nfields && i < path->nfields; i++) {
    const roc_fe_field *f = &path->fields[i];
    if (f->name) {
      roc_str_putc(out, '.');
      roc_str_add(out, f->name, f->len);
    } else {
      roc_str_printf(out, "[%lld]", (long long)f->integer);
    }
  }
}

const char *roc_jit_program_path_name(roc_jit_program *program, uint32_t i, uint32_t path,
                                      uint32_t nfields) {
  roc_str text = ROC_STR_INIT;
  roc_jit_path_text(&program->funcs[i].paths.items[path], nfields, &text);
  const char *name = roc_arena_strndup(&program->arena, roc_str_text(&text), text.len);
  program->arena.failed |= text.failed;
  roc_str_deinit(&text);
  return name ? name : "";
}

bool roc_jit_program_reserve(roc_jit_program *program, uint32_t nscalars, uint32_t narrays) {
  program->scalars = ROC_ARENA_ARRAY(&program->arena, roc_jit_scalar, nscalars);
  program->arrays = ROC_ARENA_ARRAY(&program->arena, roc_jit_capture, narrays);
  return !program->arena.failed;
}

bool roc_jit_scalar_equal(roc_scalar a, roc_scalar b) {
  if (a.type != b.type) return false;
  switch (a.type) {
    case ROC_VT_BOOL: return a.as.b == b.as.b;
    case ROC_VT_INT: return a.as.i == b.as.i;
    case ROC_VT_F64: /* by bits: -0.0 differs from 0.0, and a NaN equals itself */
      return memcmp(&a.as.f, &b.as.f, sizeof a.as.f) == 0;
    default: return true;
  }
}

static bool was_seen(const roc_jit_scalar *scalar, roc_scalar value) {
  for (uint32_t i = 0; i < scalar->nseen; i++) {
    if (roc_jit_scalar_equal(scalar->seen[i], value)) return true;
  }
  return false;
}

void roc_jit_scalar_note(roc_jit_scalar *scalar, roc_scalar value) {
  scalar->value = value;
  if (scalar->is_hidden || scalar->must_be_constant || value.type == ROC_VT_NONE) return;
  if (was_seen(scalar, value)) return;
  if (scalar->nseen < 2) {
    scalar->seen[scalar->nseen++] = value;
  } else {
    scalar->is_hidden = true;
  }
}
