/* See fields.h. */
#include "ir/fields.h"

const char *const roc_ir_wave_types[ROC_IR_WAVE_COUNT_] = {
    [ROC_IR_WAVE_BALLOT] = "b:i",       [ROC_IR_WAVE_ANY] = "b:b",
    [ROC_IR_WAVE_ALL] = "b:b",          [ROC_IR_WAVE_SHUFFLE] = "vi:v",
    [ROC_IR_WAVE_SHUFFLE_UP] = "vi:v",  [ROC_IR_WAVE_SHUFFLE_DOWN] = "vi:v",
    [ROC_IR_WAVE_SHUFFLE_XOR] = "vi:v", [ROC_IR_WAVE_BROADCAST] = "vi:v",
    [ROC_IR_WAVE_SUM] = "n:n",          [ROC_IR_WAVE_MIN] = "n:n",
    [ROC_IR_WAVE_MAX] = "n:n",          [ROC_IR_WAVE_PERMUTE] = "iv:v",
    [ROC_IR_WAVE_BPERMUTE] = "iv:v",    [ROC_IR_WAVE_ACTIVE_PERMUTE] = "vivb:v",
};

static const char *const fclass_words[] = {"isnan", "isinf", "isfinite"};
static const char *const bits_words[] = {"popcount", "clz", "ctz", "bitreverse"};
static const char *const atomic_words[ROC_IR_ATOMIC_COUNT_] = {
    "add", "sub", "min", "max", "exch", "and", "or", "xor", "cas", "inc", "dec", "load", "store"};
static const char *const wave_words[ROC_IR_WAVE_COUNT_] = {
    "ballot",    "any", "all", "shuffle", "shuffle_up", "shuffle_down", "shuffle_xor",
    "broadcast", "sum", "min", "max",     "permute",    "bpermute",     "active_permute"};
static const char *const type_words[ROC_VT_COUNT_] = {[ROC_VT_NONE] = "none",
                                                      [ROC_VT_BOOL] = "bool",
                                                      [ROC_VT_INT] = "int",
                                                      [ROC_VT_F32] = "f32",
                                                      [ROC_VT_F64] = "f64"};

#define COUNT(table) ((int64_t)(sizeof(table) / sizeof *(table)))

const char *roc_ir_field_word(char field, int64_t value) {
  if (value < 0) return NULL;
  switch (field) {
    case 't': return value < ROC_DT_COUNT_ ? roc_dtype_table[value].name : NULL;
    case 'M': return value < ROC_IR_MATH_COUNT_ ? roc_ir_math_table[value].text : NULL;
    case 'f': return value < COUNT(fclass_words) ? fclass_words[value] : NULL;
    case 'b': return value < COUNT(bits_words) ? bits_words[value] : NULL;
    case 'o': return value < COUNT(atomic_words) ? atomic_words[value] : NULL;
    case 'w': return value < COUNT(wave_words) ? wave_words[value] : NULL;
    default: return NULL;
  }
}

const char *roc_ir_type_word(roc_value_type type) {
  return type < ROC_VT_COUNT_ ? type_words[type] : "?";
}

/* Fields kept in k.i; sites are in aux2, all others in aux. */
static bool is_in_k(char field) {
  return field == 'd' || field == 'm' || field == 'o' || field == 'w';
}

int64_t roc_ir_field_get(const roc_ir_inst *inst, char field) {
  return is_in_k(field) ? inst->k.i : field == 's' ? inst->aux2 : inst->aux;
}

void roc_ir_field_set(roc_ir_inst *inst, char field, int64_t value) {
  if (is_in_k(field)) {
    inst->k.i = value;
  } else if (field == 's') {
    inst->aux2 = (uint32_t)value;
  } else {
    inst->aux = (uint32_t)value;
  }
}
