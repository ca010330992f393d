/* See print.h.  Results and the statements that LEAVE and NEXT can name are numbered in the order
 * of printing, so that the text does not depend on the history of the module. */
#include "ir/print.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ir/fields.h"

typedef struct printer {
  const roc_ir_module *m;
  roc_ir_note note;
  void *ud;
  roc_str *out;
  uint32_t *labels; /* per instruction, once printed */
  uint32_t nlabels;
  uint32_t loc; /* the place stated last */
  uint32_t indent;
} printer;

static bool is_identifier(const char *name) {
  if (isdigit((unsigned char)*name)) return false;
  for (; *name; name++) {
    if (!isalnum((unsigned char)*name) && *name != '_') return false;
  }
  return true;
}

void roc_ir_print_quoted(roc_str *out, const char *text) {
  roc_str_putc(out, '"');
  for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
    if (*p == '"' || *p == '\\') {
      roc_str_printf(out, "\\%c", *p);
    } else if (*p < 32 || *p == 127) {
      roc_str_printf(out, "\\x%02x", *p);
    } else {
      roc_str_putc(out, (char)*p);
    }
  }
  roc_str_putc(out, '"');
}

static void print_name(roc_str *out, const char *name) {
  if (is_identifier(name)) {
    roc_str_puts(out, name);
  } else {
    roc_ir_print_quoted(out, name);
  }
}

static void print_ref(roc_str *out, const char *name, uint32_t index) {
  print_name(out, name ? name : "");
  roc_str_printf(out, ".%u", index);
}

static void print_indent(printer *p) {
  for (uint32_t i = 0; i < p->indent; i++) roc_str_puts(p->out, "  ");
}

static void print_param(printer *p, uint32_t index) {
  static const char *const layouts[] = {"c", "f", "strided"};
  const roc_ir_param *param = &p->m->params.items[index];
  if (index) roc_str_puts(p->out, ", ");
  print_ref(p->out, param->name, index);
  if (!roc_arg_is_array(&param->type)) {
    roc_str_printf(p->out, ": %s", roc_ir_type_word(param->type.value));
  } else {
    roc_str_printf(p->out, ": %s[%u] %s", roc_dtype_name(param->type.dtype), param->type.rank,
                   layouts[param->type.layout]);
    if (param->type.is_host_memory) roc_str_puts(p->out, " host");
    if (param->type.is_alias) roc_str_puts(p->out, " alias");
    if (param->is_read) roc_str_puts(p->out, " read");
    if (param->is_written) roc_str_puts(p->out, " written");
  }
  if (param->type.is_narrow) roc_str_puts(p->out, " narrow");
}

static void print_head(printer *p) {
  const roc_ir_module *m = p->m;
  roc_str_puts(p->out, "kernel ");
  print_name(p->out, m->name);
  roc_str_putc(p->out, '(');
  for (uint32_t i = 0; i < m->params.count; i++) print_param(p, i);
  roc_str_putc(p->out, ')');
  if (m->check) roc_str_puts(p->out, " check");
  if (m->contract) roc_str_puts(p->out, " contract");
  if (m->fastmath) roc_str_puts(p->out, " fastmath");
  if (m->workgroup[0] || m->workgroup[1] || m->workgroup[2]) {
    roc_str_printf(p->out, " workgroup %u %u %u", m->workgroup[0], m->workgroup[1],
                   m->workgroup[2]);
    if (m->is_workgroup_exact) roc_str_puts(p->out, m->is_grid_whole ? " exact whole" : " exact");
  }
  roc_str_putc(p->out, '\n');
}

static void print_data(roc_str *out, const roc_ir_array *array) {
  size_t nbytes = roc_dtype_itemsize(array->dtype);
  for (uint32_t d = 0; d < array->rank; d++) nbytes *= (size_t)array->extents[d];
  roc_str_puts(out, "const \"");
  for (size_t i = 0; i < nbytes; i++) {
    roc_str_printf(out, "%02x", ((const unsigned char *)array->data)[i]);
  }
  roc_str_putc(out, '"');
}

static void print_array(printer *p, uint32_t index) {
  const roc_ir_array *array = &p->m->arrays.items[index];
  roc_str_puts(p->out, "  array ");
  print_ref(p->out, array->name, index);
  if (array->kind == ROC_IR_ARRAY_PARAM) {
    roc_str_puts(p->out, " = param ");
    print_ref(p->out, p->m->params.items[array->param].name, array->param);
  } else if (array->kind == ROC_IR_ARRAY_SHARED_DYNAMIC) {
    roc_str_printf(p->out, ": %s dynamic %" PRId64, roc_dtype_name(array->dtype),
                   array->first_byte);
  } else {
    roc_str_printf(p->out, ": %s[", roc_dtype_name(array->dtype));
    for (uint32_t d = 0; d < array->rank; d++) {
      roc_str_printf(p->out, "%s%" PRId64, d ? "," : "", array->extents[d]);
    }
    roc_str_puts(p->out, "] ");
    if (array->kind == ROC_IR_ARRAY_SHARED) roc_str_puts(p->out, "shared");
    if (array->kind == ROC_IR_ARRAY_PRIVATE) roc_str_puts(p->out, "private");
    if (array->kind == ROC_IR_ARRAY_CONST) print_data(p->out, array);
  }
  roc_str_putc(p->out, '\n');
}

static void print_site(printer *p, uint32_t index) {
  static const char *const kinds[] = {"index", "divide",    "modulo", "no_integer",    "assert",
                                      "error", "divergent", "print",  "divergent_wave"};
  const roc_site *site = &p->m->sites.items[index];
  roc_str_printf(p->out, "  site %u %s ", index, kinds[site->kind]);
  roc_ir_print_quoted(p->out, site->file ? site->file : "");
  roc_str_printf(p->out, " %u %u dim %u values %u", site->line, site->column, site->dim,
                 site->nvalues);
  if (site->name) {
    roc_str_puts(p->out, " name ");
    roc_ir_print_quoted(p->out, site->name);
  }
  if (site->npieces) roc_str_puts(p->out, " :");
  for (uint32_t i = 0; i < site->npieces; i++) {
    roc_str_putc(p->out, ' ');
    if (site->pieces[i].text) {
      roc_ir_print_quoted(p->out, site->pieces[i].text);
    } else {
      roc_value_type type = site->pieces[i].type;
      roc_str_puts(p->out, type == ROC_VT_NONE ? "zero" : roc_ir_type_word(type));
    }
  }
  roc_str_putc(p->out, '\n');
}

static void print_const(roc_str *out, const roc_ir_inst *inst) {
  uint64_t bits;
  if (inst->type == ROC_VT_BOOL) {
    roc_str_puts(out, inst->k.i ? "true" : "false");
  } else if (inst->type == ROC_VT_INT) {
    roc_str_printf(out, "%" PRId64, inst->k.i);
  } else if (isfinite(inst->k.f)) {
    roc_str_printf(out, "%.17g", inst->k.f);
  } else { /* the bits of the double: a NaN keeps sign and payload */
    memcpy(&bits, &inst->k.f, sizeof bits);
    roc_str_printf(out, "0x%016" PRIx64, bits);
  }
}

static void print_field(printer *p, const roc_ir_inst *inst, char field) {
  const roc_ir_module *m = p->m;
  int64_t value = field == 'c' ? 0 : roc_ir_field_get(inst, field);
  roc_str_putc(p->out, ' ');
  switch (field) {
    case 'c': print_const(p->out, inst); break;
    case 'v': print_ref(p->out, m->vars.items[value].name, (uint32_t)value); break;
    case 'p': print_ref(p->out, m->params.items[value].name, (uint32_t)value); break;
    case 'a': print_ref(p->out, m->arrays.items[value].name, (uint32_t)value); break;
    case 's': roc_str_printf(p->out, "#%" PRId64, value); break;
    case 'l': roc_str_printf(p->out, "%%%u", p->labels[value]); break;
    default: {
      const char *word = roc_ir_field_word(field, value);
      if (word) {
        roc_str_puts(p->out, word);
      } else {
        roc_str_printf(p->out, "%" PRId64, value);
      }
    }
  }
}

/* Compares places, not their numbers: one place may have been entered twice. */
static void print_place(printer *p, uint32_t loc) {
  const roc_ir_loc *now = &p->m->locs.items[loc], *before = &p->m->locs.items[p->loc];
  bool is_same_file = !strcmp(now->file, before->file);
  if (is_same_file && now->line == before->line && now->column == before->column) return;
  p->loc = loc;
  roc_str_puts(p->out, " !");
  if (!is_same_file) {
    roc_ir_print_quoted(p->out, now->file);
    roc_str_putc(p->out, ' ');
  }
  roc_str_printf(p->out, "%u:%u", now->line, now->column);
}

static void print_region(printer *p, uint32_t region);

static void print_inst(printer *p, uint32_t id) {
  const roc_ir_inst *inst = &p->m->insts.items[id];
  bool is_target = roc_ir_has_regions(inst) && inst->op != ROC_IR_IF;
  print_indent(p);
  if (inst->type != ROC_VT_NONE || is_target) {
    p->labels[id] = p->nlabels++;
    roc_str_printf(p->out, "%%%u", p->labels[id]);
    if (!is_target) roc_str_printf(p->out, ": %s", roc_ir_type_word(inst->type));
    roc_str_puts(p->out, " = ");
  }
  roc_str_puts(p->out, roc_ir_op_table[inst->op].text);
  if (inst->op == ROC_IR_IF && inst->aux == ROC_IR_IF_VERSIONS) roc_str_puts(p->out, " versions");
  if (inst->op == ROC_IR_IF && inst->aux == ROC_IR_IF_ALL) roc_str_puts(p->out, " all");
  for (const char *f = roc_ir_op_table[inst->op].fields; *f; f++) print_field(p, inst, *f);
  for (uint32_t n = 0; n < inst->nargs; n++) {
    roc_str_printf(p->out, " %%%u", p->labels[roc_ir_arg(p->m, inst, n)]);
  }
  print_place(p, inst->loc);
  const char *note = p->note ? p->note(p->ud, id) : NULL;
  if (note) roc_str_printf(p->out, " ; %s", note);
  roc_str_putc(p->out, '\n');
  if (!roc_ir_has_regions(inst)) return;
  print_region(p, inst->k.region[0]);
  if (inst->op == ROC_IR_IF && p->m->regions.items[inst->k.region[1]].count) {
    print_indent(p);
    roc_str_puts(p->out, "else\n");
    print_region(p, inst->k.region[1]);
  }
  print_indent(p);
  roc_str_puts(p->out, "end\n");
}

static void print_region(printer *p, uint32_t region) {
  const roc_ir_ids *ids = &p->m->regions.items[region];
  p->indent++;
  for (uint32_t i = 0; i < ids->count; i++) print_inst(p, ids->items[i]);
  p->indent--;
}

void roc_ir_print(const roc_ir_module *module, roc_ir_note note, void *ud, roc_str *out) {
  printer p = {.m = module, .note = note, .ud = ud, .out = out};
  p.labels = roc_zalloc(sizeof *p.labels * module->insts.count);
  if (!p.labels) {
    out->failed = true;
    return;
  }
  print_head(&p);
  for (uint32_t i = 0; i < module->arrays.count; i++) print_array(&p, i);
  for (uint32_t i = 0; i < module->vars.count; i++) {
    roc_str_puts(out, "  var ");
    print_ref(out, module->vars.items[i].name, i);
    roc_str_printf(out, ": %s\n", roc_ir_type_word(module->vars.items[i].type));
  }
  for (uint32_t i = 0; i < module->sites.count; i++) print_site(&p, i);
  print_region(&p, 0);
  roc_str_puts(out, "end\n");
  roc_free(p.labels);
}
