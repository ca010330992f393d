/* Makes the run functions and the table of the vector instructions on one kind of floating-point
 * number out of its .def file.
 *
 * Included at the end of valu_float.c, valu_double.c and valu_half.c, after real_ops.h.  They define
 *   EMU_OPS_FILE    the .def file
 *   EMU_OPS_TABLE   the name of the table
 * and before that what the rows mention.  A row stands for one instruction, "v_<name>_<kind>"; `on`
 * are its generations, `flags` those of emu_op:
 *
 *   REAL_n(name, on, flags, expression)    n sources a, b, c of the kind: the kernel <name>_kernel
 *                                          (float.h) and the function run_<name> around it
 *   ACCUMULATE(name, of, on, flags)        <of>_kernel of two sources and the old destination
 *   ALSO(name, of, on, flags)              another name of an instruction with three sources
 *   PREDICATE(name, condition)             v_cmp_<name>, v_cmpx_<name>
 *   OP(text, function, on, flags, (results), (sources))
 *                                          "v_<text>", a function of the class file
 *
 * The file is read twice, so it has nothing but rows and comments. */

/* ---- functions ------------------------------------------------------------------------------ */

#define RUN(n, name)                                             \
  static void run_##name(emu_wave *wave, const emu_inst *inst) { \
    FRAME(emu_run_)(wave, inst, n, name##_kernel());             \
  }
#define REAL_1(name, on, flags, expression) EMU_KERNEL_1(name##_kernel, expression) RUN(1, name)
#define REAL_2(name, on, flags, expression) EMU_KERNEL_2(name##_kernel, expression) RUN(2, name)
#define REAL_3(name, on, flags, expression) EMU_KERNEL_3(name##_kernel, expression) RUN(3, name)
#define ACCUMULATE(name, of, on, flags)                          \
  static void run_##name(emu_wave *wave, const emu_inst *inst) { \
    FRAME(emu_accumulate_)(wave, inst, of##_kernel());           \
  }
#define PREDICATE(name, condition)                                                             \
  EMU_TEST(name##_test, EMU_A_ EMU_B_(void) a; (void)b; out->u[lane] = (condition) ? ~0u : 0;) \
  static void run_cmp_##name(emu_wave *wave, const emu_inst *inst) {                           \
    FRAME(emu_compare_)(wave, inst, name##_test());                                            \
  }
#define ALSO(name, of, on, flags)
#define OP(name, function, on, flags, results, sources)
#include EMU_OPS_FILE
#undef REAL_1
#undef REAL_2
#undef REAL_3
#undef ACCUMULATE
#undef PREDICATE
#undef ALSO
#undef OP

/* ---- the table ------------------------------------------------------------------------------ */

/* clang-format off */
#define ROW(text, function, on, flags, results, sources) \
  {text, function, on, EMU_CLASS_VALU, flags, {EMU_LIST results}, {EMU_LIST sources}},
#define KIND_ROW(name, function, on, flags, sources) \
  ROW("v_" #name "_" EMU_KIND_NAME, function, on, flags, (EMU_KIND_TYPE), sources)
#define THREE (EMU_KIND_TYPE, EMU_KIND_TYPE, EMU_KIND_TYPE)
#define REAL_1(name, on, flags, expression) \
  KIND_ROW(name, run_##name, on, flags, (EMU_KIND_TYPE))
#define REAL_2(name, on, flags, expression) \
  KIND_ROW(name, run_##name, on, flags, (EMU_KIND_TYPE, EMU_KIND_TYPE))
#define REAL_3(name, on, flags, expression) KIND_ROW(name, run_##name, on, flags, THREE)
#define ACCUMULATE(name, of, on, flags) \
  KIND_ROW(name, run_##name, on, flags, (EMU_KIND_TYPE, EMU_KIND_TYPE))
#define ALSO(name, of, on, flags) KIND_ROW(name, run_##of, on, flags, THREE)
#define PREDICATE(name, condition) \
  EMU_COMPARE_ROWS(#name "_" EMU_KIND_NAME, run_cmp_##name, EMU_KIND_TYPE, EMU_KIND_TYPE)
#define OP(name, function, on, flags, results, sources) \
  ROW("v_" #name, function, on, flags, results, sources)

const emu_op EMU_OPS_TABLE[] = {
#include EMU_OPS_FILE
  EMU_COMPARE_ROWS("class_" EMU_KIND_NAME, run_class, EMU_KIND_TYPE, EMU_CLASS_MASK_TYPE)
  {.name = NULL},
};
