/* Makes IR: appends instructions to a module, region by region.
 *
 * Used by the front end, the text reader and specs. A builder that ran out of memory stays
 * `failed`; everything then returns ROC_IR_NONE and does nothing, so that callers check once, at
 * the end (roc_ir_builder_finish). Code after a LEAVE, NEXT, RETURN or FAIL of the same region is
 * dead: it gets an id, so that callers need not care, but is in no region. Result types are taken
 * from the op table; `type` arguments count only for ops whose result is INST.
 *
 *   roc_ir_builder b;
 *   roc_ir_builder_init(&b, module);
 *   uint32_t i = roc_ir_query(&b, ROC_IR_GLOBAL_ID, 0);
 *   uint32_t n = roc_ir_param_value(&b, 0);
 *   uint32_t test = roc_ir_begin_if(&b, roc_ir_binary(&b, ROC_IR_LE, i, n));
 *   roc_ir_store(&b, 1, roc_ir_const_f64(&b, 0.5), &i, 1);
 *   roc_ir_end(&b, test);
 *   return roc_ir_builder_finish(&b, err); */
#ifndef ROC_IR_BUILD_H
#define ROC_IR_BUILD_H

#include "ir/ir.h"

typedef struct roc_ir_open_region {
  uint32_t inst, parent; /* the control instruction, the region it stands in */
} roc_ir_open_region;

typedef struct roc_ir_builder {
  roc_ir_module *module;
  uint32_t region; /* where instructions go */
  uint32_t loc;    /* the place they get */
  bool failed;     /* out of memory, sticky */
  bool
      keeps_dead; /* dead code goes into its region too; for the reader, whose text verify judges */
  roc_vec(roc_ir_open_region) open; /* control instructions being filled, innermost last */
  roc_vec(const char *) files;      /* file names interned so far */
} roc_ir_builder;

void roc_ir_builder_init(roc_ir_builder *b, roc_ir_module *module);
/* Frees what the builder itself holds (never the module).  ROC_OOM when it failed. */
roc_status roc_ir_builder_finish(roc_ir_builder *b, roc_error *err);

/* The place of the instructions that follow.  `file` is copied once per name. */
void roc_ir_set_place(roc_ir_builder *b, const char *file, uint32_t line, uint32_t column);

/* Entries of the module's tables; names and data are copied into the module's arena.  Each returns
 * the index. PARAM arrays take dtype and rank from their parameter. `data` of a CONST array holds
 * all of its elements. */
uint32_t roc_ir_add_param(roc_ir_builder *b, const roc_ir_param *param);
uint32_t roc_ir_add_array(roc_ir_builder *b, const roc_ir_array *array);
uint32_t roc_ir_add_var(roc_ir_builder *b, const char *name, roc_value_type type);
/* What the source calls the result of `inst`, which is made already; copied. */
void roc_ir_name_value(roc_ir_builder *b, uint32_t inst, const char *name);
uint32_t roc_ir_add_site(roc_ir_builder *b, const roc_site *site);

/* Any instruction without regions.  `args` may be NULL when nargs is 0. */
uint32_t roc_ir_emit(roc_ir_builder *b, roc_ir_op op, roc_value_type type, uint32_t aux,
                     uint32_t aux2, int64_t k, const uint32_t *args, uint32_t nargs);

/* Appends an instruction as it is, but for `args` and `loc`, which are filled here. */
uint32_t roc_ir_append(roc_ir_builder *b, roc_ir_inst inst, const uint32_t *args);

/* Shorthands. */
uint32_t roc_ir_const_int(roc_ir_builder *b, int64_t value);
uint32_t roc_ir_const_bool(roc_ir_builder *b, bool value);
uint32_t roc_ir_const_f64(roc_ir_builder *b, double value);
uint32_t roc_ir_const_f32(roc_ir_builder *b, double value); /* rounds to float32 */
uint32_t roc_ir_unary(roc_ir_builder *b, roc_ir_op op, uint32_t x);
uint32_t roc_ir_binary(roc_ir_builder *b, roc_ir_op op, uint32_t x, uint32_t y);
uint32_t roc_ir_select(roc_ir_builder *b, uint32_t test, uint32_t yes, uint32_t no);
uint32_t roc_ir_to_float(roc_ir_builder *b, roc_value_type type,
                         uint32_t x); /* F32, F64; x itself when it is one */
uint32_t roc_ir_convert(roc_ir_builder *b, roc_dtype dtype, uint32_t x);
uint32_t roc_ir_call_math(roc_ir_builder *b, roc_ir_math fn, const uint32_t *args, uint32_t nargs);
uint32_t roc_ir_query(roc_ir_builder *b, roc_ir_op op,
                      uint32_t dim); /* ids and sizes; dim from 0 */
uint32_t roc_ir_get(roc_ir_builder *b, uint32_t var);
uint32_t roc_ir_set(roc_ir_builder *b, uint32_t var, uint32_t value);
uint32_t roc_ir_param_value(roc_ir_builder *b, uint32_t param);
uint32_t roc_ir_extent(roc_ir_builder *b, uint32_t array, uint32_t dim); /* dim from 0 */
uint32_t roc_ir_load(roc_ir_builder *b, uint32_t array, const uint32_t *index, uint32_t rank);
uint32_t roc_ir_store(roc_ir_builder *b, uint32_t array, uint32_t value, const uint32_t *index,
                      uint32_t rank);
uint32_t roc_ir_check_index(roc_ir_builder *b, uint32_t array, uint32_t dim, uint32_t site,
                            uint32_t index);
/* CHECK_NONZERO, CHECK_INT, CHECK, FAIL and PRINT. */
uint32_t roc_ir_report(roc_ir_builder *b, roc_ir_op op, uint32_t site, const uint32_t *args,
                       uint32_t nargs);

/* Control. begin opens the instruction's first region, roc_ir_else an IF's second; roc_ir_end
 * closes the innermost and goes on after it. `inst` is what begin returned; passing another than
 * the innermost open one is a bug of the caller (asserted). */
uint32_t roc_ir_begin(roc_ir_builder *b, roc_ir_op op, uint32_t aux, const uint32_t *args,
                      uint32_t nargs);
uint32_t roc_ir_begin_if(roc_ir_builder *b, uint32_t test);
uint32_t roc_ir_begin_block(roc_ir_builder *b);
uint32_t roc_ir_begin_loop(roc_ir_builder *b);
uint32_t roc_ir_begin_for(roc_ir_builder *b, uint32_t var, uint32_t first, uint32_t last,
                          uint32_t step);
void roc_ir_else(roc_ir_builder *b, uint32_t inst);
void roc_ir_end(roc_ir_builder *b, uint32_t inst);
/* Ends IF `inst`, of which only the first region was filled, as if it had not been begun: what is
 * in it stands where the IF stood.  False, and nothing has changed, when that are more than `most`
 * instructions, or one has an effect, may stop, reads memory, or takes long. */
bool roc_ir_dissolve_if(roc_ir_builder *b, uint32_t inst, uint32_t most);
/* Takes an instruction without a result out of the region that is being filled. */
void roc_ir_drop(roc_ir_builder *b, uint32_t inst);
uint32_t roc_ir_leave(roc_ir_builder *b, uint32_t target);
uint32_t roc_ir_next(roc_ir_builder *b, uint32_t target);
uint32_t roc_ir_return(roc_ir_builder *b);

/* True when code put here can never run: the region already ends in LEAVE, NEXT, RETURN or FAIL. */
bool roc_ir_is_dead(const roc_ir_builder *b);
/* The type of an instruction's result. */
roc_value_type roc_ir_type_of(const roc_ir_builder *b, uint32_t inst);

#endif
