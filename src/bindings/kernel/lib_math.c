/* roc.core.math, .math32 and .bits: the functions of ir_math.def and of BITS for the host and for
 * `sim`.
 *
 * math takes and gives doubles.  math32 rounds its arguments to float32 and calls libm's float
 * function, as a kernel does for float32.  Both are generated from the compiler's own table, so
 * that every function of kernels exists here too. */
#include <math.h>
#include <stdint.h>

#include "bindings/support/bind.h"

static double rsqrt(double x) {
  return 1.0 / sqrt(x);
}
static float rsqrtf(float x) {
  return 1.0f / sqrtf(x);
}

#define ARGS_1(T) (T) luaL_checknumber(L, 1)
#define ARGS_2(T) ARGS_1(T), (T)luaL_checknumber(L, 2)
#define ARGS_3(T) ARGS_2(T), (T)luaL_checknumber(L, 3)

#define ROC_IR_MATH(NAME, text, arity, libm, cls)            \
  static int NAME##_f64(lua_State *L) {                      \
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
  lua_pushinteger(L, __builtin_popcountll((unsigned long long)luaL_checkinteger(L, 1)));
  return 1;
}

static int bits_clz(lua_State *L) {
  lua_Integer i = luaL_checkinteger(L, 1);
  lua_pushinteger(L, i ? __builtin_clzll((unsigned long long)i) : 64);
  return 1;
}

static int bits_ctz(lua_State *L) {
  lua_Integer i = luaL_checkinteger(L, 1);
  lua_pushinteger(L, i ? __builtin_ctzll((unsigned long long)i) : 64);
  return 1;
}

static int bits_bitreverse(lua_State *L) {
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

void roc_open_math(lua_State *L) {
  luaL_newlib(L, f64_functions);
  lua_setfield(L, -2, "math");
  luaL_newlib(L, f32_functions);
  lua_setfield(L, -2, "math32");
  luaL_newlib(L, bits_functions);
  lua_setfield(L, -2, "bits");
}
