/* See annotate.h.  Works line by line: LLVM writes each directive in one form. */
#include "jit/annotate.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILES = 64 };

typedef struct line {
  const char *at;
  size_t len;
} line;

typedef struct annotator {
  const roc_jit_program *program;
  const roc_target_facts *facts;
  roc_str *out;
  line files[MAX_FILES];      /* by the number of their directive */
  unsigned long file, number; /* shown last */
  bool in_debug_section;
} annotator;

static bool starts_with(line l, const char *prefix) {
  return l.len >= strlen(prefix) && !memcmp(l.at, prefix, strlen(prefix));
}

/* LLVM puts a backslash before a quote and a backslash in a name. */
static const char *end_of_quoted(const char *at, const char *end) {
  for (; at < end && *at != '"'; at++) at += *at == '\\';
  return at < end ? at : NULL;
}

static void unquote(line quoted, roc_str *out) {
  for (size_t i = 0; i < quoted.len; i++) {
    if (quoted.at[i] == '\\') i++;
    if (i < quoted.len) roc_str_putc(out, quoted.at[i]);
  }
}

/* "\t.file\t0 \"saxpy.lua\"" */
static void note_file(annotator *a, line l) {
  if (!starts_with(l, "\t.file\t")) return;
  const char *open = memchr(l.at, '"', l.len);
  const char *close = open ? end_of_quoted(open + 1, l.at + l.len) : NULL;
  unsigned long number = strtoul(l.at + strlen("\t.file"), NULL, 10);
  if (close && number < MAX_FILES) {
    a->files[number] = (line){open + 1, (size_t)(close - open - 1)};
  }
}

static line find_line(const char *text, unsigned long number) {
  for (unsigned long n = 1; n < number && *text; n++) {
    text += strcspn(text, "\n");
    if (*text) text++;
  }
  return (line){text, strcspn(text, "\n")};
}

/* PTX knows no escapes: a file's name has an apostrophe there for what would need one. */
static bool is_name_of(const char *chunk, const char *file) {
  for (; *chunk && *file; chunk++, file++) {
    bool needs_escape = *chunk == '"' || *chunk == '\\' || (unsigned char)*chunk < ' ';
    if (*chunk != *file && !(needs_escape && *file == '\'')) return false;
  }
  return *chunk == *file;
}

/* NULL: none of the program's. */
static const roc_ast_chunk *find_chunk(const annotator *a, const roc_str *file) {
  for (uint32_t i = 0; i < a->program->fe.nfuncs; i++) {
    const roc_ast_chunk *chunk = a->program->chunks[i]->ast;
    if (is_name_of(chunk->name, roc_str_text(file))) return chunk;
  }
  return NULL;
}

static line source_of(const roc_ast_chunk *chunk, unsigned long number) {
  if (!chunk) return (line){"", 0};
  line l = find_line(chunk->text + chunk->lead, number);
  while (l.len && isspace((unsigned char)*l.at)) l.at++, l.len--;
  return l;
}

/* "\t.loc\t0 5 12 is_stmt 0"; line 0: no position. */
static void show_place(annotator *a, line l) {
  char *end;
  unsigned long file = strtoul(l.at + strlen("\t.loc"), &end, 10), number = strtoul(end, NULL, 10);
  if (number == 0 || file >= MAX_FILES || (file == a->file && number == a->number)) return;
  a->file = file;
  a->number = number;
  roc_str name = ROC_STR_INIT;
  unquote(a->files[file], &name);
  const roc_ast_chunk *chunk = find_chunk(a, &name);
  line text = source_of(chunk, number);
  const char *comment = a->facts && a->facts->asm_comment ? a->facts->asm_comment : ";";
  roc_str_printf(a->out, "%s %s:%lu:%s%.*s\n", comment, chunk ? chunk->name : roc_str_text(&name),
                 number, text.len ? " " : "", (int)text.len, text.at);
  a->out->failed = a->out->failed || name.failed;
  roc_str_deinit(&name);
}

static bool is_for_debuggers(line l) {
  static const char *const prefixes[] = {"\t.cfi_", ".Lfunc_begin", ".Ltmp", "$L__func_",
                                         "$L__tmp"};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    if (starts_with(l, prefixes[i])) return true;
  }
  return false;
}

static bool begins_with_one(line l, const char *const *prefixes) {
  while (prefixes && *prefixes && !starts_with(l, *prefixes)) prefixes++;
  return prefixes && *prefixes;
}

static bool begins_section(const annotator *a, line l) {
  return starts_with(l, "\t.section") || starts_with(l, "\t.text") || starts_with(l, "\t.data") ||
         begins_with_one(l, a->facts ? a->facts->section_directives : NULL);
}

static void add_line(annotator *a, line l) {
  if (begins_section(a, l)) a->in_debug_section = starts_with(l, "\t.section\t.debug_");
  if (starts_with(l, "\t.file\t")) return;
  if (starts_with(l, "\t.loc\t")) {
    show_place(a, l);
  } else if (!a->in_debug_section && !is_for_debuggers(l)) {
    roc_str_add(a->out, l.at, l.len);
    roc_str_putc(a->out, '\n');
  }
}

static void each_line(annotator *a, const char *text, size_t len,
                      void (*visit)(annotator *a, line l)) {
  while (len > 0) {
    const char *newline = memchr(text, '\n', len);
    size_t n = newline ? (size_t)(newline - text) : len;
    visit(a, (line){text, n});
    if (newline) n++;
    text += n;
    len -= n;
  }
}

/* Files first: some targets name them after the code. */
void roc_jit_annotate(const roc_jit_program *program, const roc_target_facts *facts,
                      const char *text, size_t len, roc_str *out) {
  annotator a = {.program = program, .facts = facts, .out = out};
  each_line(&a, text, len, note_file);
  each_line(&a, text, len, add_line);
}
