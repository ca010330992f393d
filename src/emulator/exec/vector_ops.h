/* Makes the run functions and the table of a class of vector instructions out of its .def file.
 *
 * Included at the end of a class file (valu_int.c, …), which defines
 *   EMU_OPS_FILE    the .def file
 *   EMU_OPS_TABLE   the name of the table
 * and before that what the rows mention: helpers that compute one lane, and the functions of OP
 * rows.  A row stands for one instruction, "v_<name>"; `on` are its generations, `flags` those of
 * emu_op, R the view (rows.h) of its result, A, B and C those of its sources:
 *
 *   LANES_1(name, on, flags, R, A, expression)          one expression per lane, as EMU_LANES_n
 *   LANES_2, LANES_3                                    of rows.h has them; it defines run_<name>
 *   SATURATING_2(name, on, flags, R, A, B, plain, saturated)
 *   SATURATING_3                                        with `clamp` the second expression
 *   CARRYING_2(name, on, sum, carry, limit)             valu_int.c explains these
 *   CARRYING_3, MAD_64(name, on, E, product_type, carry, limit)
 *   FROM_BITS(name, expression)                         valu_convert.c explains it
 *   OP(name, function, on, class, flags, (results), (sources))
 *                                                       a function of the class file, or of another
 *                                                       row: types are those of emu_type
 *
 * The file is read twice, so it has nothing but rows and comments. */

/* ---- functions ------------------------------------------------------------------------------ */

#define LANES_1(name, on, flags, R, A, expression) EMU_LANES_1(run_##name, R, A, expression)
#define LANES_2(name, on, flags, R, A, B, expression) EMU_LANES_2(run_##name, R, A, B, expression)
#define LANES_3(name, on, flags, R, A, B, C, expression) \
  EMU_LANES_3(run_##name, R, A, B, C, expression)
#define SATURATING_2(name, on, flags, R, A, B, plain, saturated) \
  EMU_SATURATING_2(run_##name, R, A, B, plain, saturated)
#define SATURATING_3(name, on, flags, R, A, B, C, plain, saturated) \
  EMU_SATURATING_3(run_##name, R, A, B, C, plain, saturated)
#define CARRYING_2(name, on, ...) EMU_CARRYING_2(run_##name, __VA_ARGS__)
#define CARRYING_3(name, on, ...) EMU_CARRYING_3(run_##name, __VA_ARGS__)
#define MAD_64(name, on, ...) EMU_MAD_64(run_##name, __VA_ARGS__)
#define FROM_BITS(name, expression) EMU_FROM_BITS(run_##name, expression)
#define OP(name, function, on, class, flags, results, sources)
#include EMU_OPS_FILE
#undef LANES_1
#undef LANES_2
#undef LANES_3
#undef SATURATING_2
#undef SATURATING_3
#undef CARRYING_2
#undef CARRYING_3
#undef MAD_64
#undef FROM_BITS
#undef OP

/* ---- the table ------------------------------------------------------------------------------ */

/* clang-format off */
#define OP(name, function, on, class, flags, results, sources) \
  {"v_" #name, function, on, class, flags, {EMU_LIST results}, {EMU_LIST sources}},
#define ROW(name, on, flags, results, sources) \
  OP(name, run_##name, on, EMU_CLASS_VALU, flags, results, sources)
#define LANES_1(name, on, flags, R, A, expression) \
  ROW(name, on, flags, (EMU_TYPE_##R), (EMU_TYPE_##A))
#define LANES_2(name, on, flags, R, A, B, expression) \
  ROW(name, on, flags, (EMU_TYPE_##R), (EMU_TYPE_##A, EMU_TYPE_##B))
#define LANES_3(name, on, flags, R, A, B, C, expression) \
  ROW(name, on, flags, (EMU_TYPE_##R), (EMU_TYPE_##A, EMU_TYPE_##B, EMU_TYPE_##C))
#define SATURATING_2(name, on, flags, R, A, B, plain, saturated) \
  LANES_2(name, on, EMU_CLAMPS | (flags), R, A, B, plain)
#define SATURATING_3(name, on, flags, R, A, B, C, plain, saturated) \
  LANES_3(name, on, EMU_CLAMPS | (flags), R, A, B, C, plain)
#define CARRYING_2(name, on, ...) \
  ROW(name, on, EMU_CLAMPS, (EMU_B32, EMU_MASK), (EMU_B32, EMU_B32))
#define CARRYING_3(name, on, ...) \
  ROW(name, on, EMU_CLAMPS, (EMU_B32, EMU_MASK), (EMU_B32, EMU_B32, EMU_MASK))
#define MAD_64(name, on, E, product_type, carry, limit) \
  ROW(name, on, EMU_CLAMPS, (EMU_MAD_TYPE_##E, EMU_MASK), (EMU_B32, EMU_B32, EMU_MAD_TYPE_##E))
#define FROM_BITS(name, expression) ROW(name, EMU_ALL, 0, (EMU_F32), (EMU_B32))
#define EMU_MAD_TYPE_U32 EMU_B64
#define EMU_MAD_TYPE_I32 EMU_I64

const emu_op EMU_OPS_TABLE[] = {
#include EMU_OPS_FILE
  {.name = NULL},
};
