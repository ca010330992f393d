/* Line tables: which place of the Lua source an instruction comes from.
 *
 * For targets whose code is looked at with tools of others: assembly then names files and lines,
 * and disassemblers and debuggers of a code object show the source. Places are those the IR keeps;
 * nothing of it changes the code. Atomic operations are marked by a discriminator: loads and stores
 * among them are plain instructions, and tools that look for races must tell them. */
#include <llvm-c/DebugInfo.h>
#include <string.h>

#include "codegen/core/cg.h"

enum { DWARF_VERSION = 5, ATOMIC_MARK = 1 /* a discriminator */ };

/* DICompileUnit::DebugDirectivesOnly, which the C interface leaves out. */
static const LLVMDWARFEmissionKind DIRECTIVES_ONLY = (LLVMDWARFEmissionKind)3;

static void add_flag(roc_cg *cg, const char *name, uint32_t value) {
  LLVMAddModuleFlag(cg->mod, LLVMModuleFlagBehaviorWarning, name, strlen(name),
                    LLVMValueAsMetadata(roc_cg_i32(cg, value)));
}

/* For ROC_QUIRK_FILE_QUOTES. */
static const char *without_quotes(roc_cg *cg, const char *name) {
  char *copy = roc_arena_strndup(&cg->arena, name, strlen(name));
  for (char *c = copy; c && *c; c++) {
    if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ') *c = '\'';
  }
  return copy ? copy : "?";
}

static LLVMMetadataRef make_file(roc_cg *cg, const char *name) {
  bool writes_quotes = cg->target->has_line_directives_only &&
                       roc_quirk_is_on(cg->options->quirks_off, ROC_QUIRK_FILE_QUOTES);
  if (writes_quotes) name = without_quotes(cg, name);
  return LLVMDIBuilderCreateFile(cg->di, name, strlen(name), "", 0);
}

static LLVMMetadataRef make_unit(roc_cg *cg, LLVMMetadataRef file) {
  LLVMDWARFEmissionKind kind =
      cg->target->has_line_directives_only ? DIRECTIVES_ONLY : LLVMDWARFEmissionLineTablesOnly;
  return LLVMDIBuilderCreateCompileUnit(cg->di, LLVMDWARFSourceLanguageC99, file, "roclua", 6, 1,
                                        "", 0, 0, "", 0, kind, 0, 0, 0, "", 0, "", 0);
}

static const roc_ir_loc *first_place(const roc_ir_module *ir) {
  for (uint32_t i = 0; i < ir->locs.count; i++) {
    if (ir->locs.items[i].line > 0 && *ir->locs.items[i].file) return &ir->locs.items[i];
  }
  return NULL;
}

void roc_cg_debug_begin(roc_cg *cg) {
  const roc_ir_loc *place = first_place(cg->ir);
  if (!place) return;
  cg->places = ROC_ARENA_ARRAY(&cg->arena, LLVMMetadataRef, 2 * (size_t)cg->ir->locs.count + 1);
  if (!cg->places) return;
  add_flag(cg, "Debug Info Version", LLVMDebugMetadataVersion());
  add_flag(cg, "Dwarf Version", DWARF_VERSION);
  cg->di = LLVMCreateDIBuilder(cg->mod);
  cg->scope_file = place->file;
  LLVMMetadataRef file = make_file(cg, place->file);
  make_unit(cg, file);
  LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(cg->di, file, NULL, 0, LLVMDIFlagZero);
  cg->scope =
      LLVMDIBuilderCreateFunction(cg->di, file, cg->ir->name, strlen(cg->ir->name), "", 0, file,
                                  place->line, type, 0, 1, place->line, LLVMDIFlagZero, 1);
  LLVMSetSubprogram(cg->fn, cg->scope);
}

/* A function of another file was inlined by the front end: its places lie in a block of that
 * file. */
static LLVMMetadataRef scope_of(roc_cg *cg, const roc_ir_loc *place, bool is_marked) {
  bool is_own = !strcmp(place->file, cg->scope_file);
  if (is_own && !is_marked) return cg->scope;
  return LLVMDIBuilderCreateLexicalBlockFile(cg->di, cg->scope, make_file(cg, place->file),
                                             is_marked ? ATOMIC_MARK : 0);
}

void roc_cg_debug_place(roc_cg *cg, uint32_t inst) {
  const roc_ir_inst *of = &cg->ir->insts.items[inst];
  if (of->loc >= cg->ir->locs.count) return;
  const roc_ir_loc *place = &cg->ir->locs.items[of->loc];
  if (place->line == 0 || !*place->file) return;
  bool is_marked = of->op == ROC_IR_ATOMIC;
  LLVMMetadataRef *made = &cg->places[2 * (size_t)of->loc + is_marked];
  if (!*made) {
    *made = LLVMDIBuilderCreateDebugLocation(cg->ctx, place->line, place->column,
                                             scope_of(cg, place, is_marked), NULL);
  }
  LLVMSetCurrentDebugLocation2(cg->b, *made);
}

void roc_cg_debug_end(roc_cg *cg) {
  if (!cg->di) return;
  LLVMSetCurrentDebugLocation2(cg->b, NULL);
  LLVMDIBuilderFinalize(cg->di);
  LLVMDisposeDIBuilder(cg->di);
  cg->di = NULL;
}
