/* roc.core.math, .math32 and .bits: the functions of ir_math.def and of BITS for the host and for
 * `sim`.
 *
 * math takes and gives doubles.  math32 rounds its arguments to float32 and calls libm's float
 * function, as a kernel does for float32.  Both are generated from the compiler's own table, so
 * that every function of kernels exists here too. */
#include <math.h>
#include <stdint.h>

#include "bindings/array/array_bind.h"

static double rsqrt(double x) {
  return 1.0 / sqrt(x);
}
static float rsqrtf(float x) {
  return 1.0f / sqrtf(x);
}

/* Calls the metafield `math` of an array among the arguments with the function's name and the
 * arguments, whose results are all of the stack then; false when none is an array. */
static bool push_of_arrays(lua_State *L, const char *name) {
  int array = 1, last = lua_gettop(L);
  while (array <= last && !lua_isuserdata(L, array)) array++;
  if (array > last || !roc_test_array_box(L, array)) return false;
  luaL_getmetafield(L, array, "math");
  lua_insert(L, 1);
  lua_pushstring(L, name);
  lua_insert(L, 2);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return true;
}

#define ARGS_1(T) (T) luaL_checknumber(L, 1)
#define ARGS_2(T) ARGS_1(T), (T)luaL_checknumber(L, 2)
#define ARGS_3(T) ARGS_2(T), (T)luaL_checknumber(L, 3)

#define ROC_IR_MATH(NAME, text, arity, libm, cls)            \
  static int NAME##_f64(lua_State *L) {                      \
    if (push_of_arrays(L, text)) return 1;                   \
    lua_pushnumber(L, libm(ARGS_##arity(double)));           \
    return 1;                                                \
  }                                                          \
  static int NAME##_f32(lua_State *L) {                      \
    lua_pushnumber(L, (double)libm##f(ARGS_##arity(float))); \
    return 1;                                                \
  }
#include "ir/ir_math.def"
#undef ROC_IR_MATH

/* POW is an instruction of its own; x^2 is x * x, as in Lua. */
static int pow_f64(lua_State *L) {
  if (push_of_arrays(L, "pow")) return 1;
  double x = luaL_checknumber(L, 1), y = luaL_checknumber(L, 2);
  lua_pushnumber(L, y == 2 ? x * x : pow(x, y));
  return 1;
}

static int pow_f32(lua_State *L) {
  float x = (float)luaL_checknumber(L, 1), y = (float)luaL_checknumber(L, 2);
  lua_pushnumber(L, (double)(y == 2 ? x * x : powf(x, y)));
  return 1;
}

static const luaL_Reg f64_functions[] = {{"pow", pow_f64},
#define ROC_IR_MATH(NAME, text, arity, libm, cls) {text, NAME##_f64},
#include "ir/ir_math.def"
#undef ROC_IR_MATH
                                         {NULL, NULL}};

static const luaL_Reg f32_functions[] = {{"pow", pow_f32},
#define ROC_IR_MATH(NAME, text, arity, libm, cls) {text, NAME##_f32},
#include "ir/ir_math.def"
#undef ROC_IR_MATH
                                         {NULL, NULL}};

static int bits_popcount(lua_State *L) {
  if (push_of_arrays(L, "popcount")) return 1;
  lua_pushinteger(L, __builtin_popcountll((unsigned long long)luaL_checkinteger(L, 1)));
  return 1;
}

static int bits_clz(lua_State *L) {
  if (push_of_arrays(L, "clz")) return 1;
  lua_Integer i = luaL_checkinteger(L, 1);
  lua_pushinteger(L, i ? __builtin_clzll((unsigned long long)i) : 64);
  return 1;
}

static int bits_ctz(lua_State *L) {
  if (push_of_arrays(L, "ctz")) return 1;
  lua_Integer i = luaL_checkinteger(L, 1);
  lua_pushinteger(L, i ? __builtin_ctzll((unsigned long long)i) : 64);
  return 1;
}

static int bits_bitreverse(lua_State *L) {
  if (push_of_arrays(L, "bitreverse")) return 1;
  uint64_t in = (uint64_t)luaL_checkinteger(L, 1), out = 0;
  for (int bit = 0; bit < 64; bit++, in >>= 1) out = out << 1 | (in & 1);
  lua_pushinteger(L, (lua_Integer)out);
  return 1;
}

static const luaL_Reg bits_functions[] = {{"popcount", bits_popcount},
                                          {"clz", bits_clz},
                                          {"ctz", bits_ctz},
                                          {"bitreverse", bits_bitreverse},
                                          {NULL, NULL}};

/* ---- what takes numbers alone in C ------------------------------------------------------- */

#define TEST(name, text, test)             \
  static int name(lua_State *L) {          \
    if (push_of_arrays(L, text)) return 1; \
    double x = luaL_checknumber(L, 1);     \
    lua_pushboolean(L, test);              \
    return 1;                              \
  }
TEST(test_isnan, "isnan", x != x)
TEST(test_isinf, "isinf", isinf(x))
TEST(test_isfinite, "isfinite", isfinite(x))
#undef TEST

static const luaL_Reg test_functions[] = {
    {"isnan", test_isnan}, {"isinf", test_isinf}, {"isfinite", test_isfinite}, {NULL, NULL}};

/* The functions of Lua's math that take arrays, too, and how many numbers each needs; integers, if
 * so. */
static const struct {
  const char *name;
  int least;
  bool takes_integers;
} library_functions[] = {{"abs", 1}, {"acos", 1}, {"asin", 1}, {"atan", 1},     {"ceil", 1},
                         {"cos", 1}, {"deg", 1},  {"exp", 1},  {"floor", 1},    {"fmod", 2},
                         {"log", 1}, {"max", 1},  {"min", 1},  {"modf", 1},     {"rad", 1},
                         {"sin", 1}, {"sqrt", 1}, {"tan", 1},  {"ult", 2, true}};

/* Upvalues: Lua's own function, and its number above.  Lua's is called directly, so that its errors
 * name the script's line. */
static int of_library(lua_State *L) {
  lua_Integer number = lua_tointeger(L, lua_upvalueindex(2));
  if (push_of_arrays(L, library_functions[number].name)) return lua_gettop(L);
  int last = lua_gettop(L);
  if (last < library_functions[number].least) last = library_functions[number].least;
  for (int arg = 1; arg <= last; arg++) {
    if (library_functions[number].takes_integers) {
      luaL_checkinteger(L, arg);
    } else {
      luaL_checknumber(L, arg);
    }
  }
  return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

static void push_library_functions(lua_State *L) {
  lua_newtable(L);
  roc_push_library(L);
  lua_getfield(L, -1, "math");
  for (size_t i = 0; i < sizeof library_functions / sizeof *library_functions; i++) {
    lua_getfield(L, -1, library_functions[i].name);
    lua_pushinteger(L, (lua_Integer)i);
    lua_pushcclosure(L, of_library, 2);
    lua_setfield(L, -4, library_functions[i].name);
  }
  lua_pop(L, 2);
}

/* core.math, .math32, .bits, .tests; core.library_math: Lua's functions that take arrays, too. */
void roc_open_math(lua_State *L) {
  luaL_newlib(L, f64_functions);
  lua_setfield(L, -2, "math");
  luaL_newlib(L, f32_functions);
  lua_setfield(L, -2, "math32");
  luaL_newlib(L, bits_functions);
  lua_setfield(L, -2, "bits");
  luaL_newlib(L, test_functions);
  lua_setfield(L, -2, "tests");
  push_library_functions(L);
  lua_setfield(L, -2, "library_math");
}
