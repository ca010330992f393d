/* Random arrays: roc.random, random_normal, random_integers, seed.
 *
 * The generator is xoshiro256** (Blackman and Vigna), seeded through splitmix64; one per Lua state,
 * so that states on different threads need no lock, and the arrays that follow from a seed do not
 * depend on other states.  Unseeded, it starts from the system's entropy. Elements are drawn in C
 * order. */
#include <math.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "bindings/array/array_bind.h"

typedef struct generator {
  uint64_t s[4];
} generator;

static const char generator_key; /* registry */

static uint64_t rotate_left(uint64_t x, int k) {
  return x << k | x >> (64 - k);
}

static uint64_t draw(generator *g) {
  uint64_t *s = g->s, result = rotate_left(s[1] * 5, 7) * 9, t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotate_left(s[3], 45);
  return result;
}

static void seed_generator(generator *g, uint64_t seed) {
  for (int i = 0; i < 4; i++) {
    uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    g->s[i] = z ^ z >> 31;
  }
}

/* Uniform in [0, 1) with `bits` bits: exact in a float of that precision, so that rounding never
 * makes a 1. */
static double draw_uniform(generator *g, int bits) {
  return ldexp((double)(draw(g) >> (64 - bits)), -bits);
}

/* Two independent normal numbers (Box and Muller); 1 - u is in (0, 1]. */
static void draw_normal_pair(generator *g, double out[2]) {
  double radius = sqrt(-2 * log(1 - draw_uniform(g, 53)));
  double angle = 6.283185307179586477 * draw_uniform(g, 53);
  out[0] = radius * cos(angle);
  out[1] = radius * sin(angle);
}

/* Uniform in 0 … span, unbiased: draws above the last whole multiple of the range are rejected. */
static uint64_t draw_integer(generator *g, uint64_t span) {
  if (span == UINT64_MAX) return draw(g);
  uint64_t range = span + 1, excess = (UINT64_MAX - range + 1) % range, x;
  do {
    x = draw(g);
  } while (x < excess);
  return x % range;
}

/* ---- functions --------------------------------------------------------------------------- */

static generator *get_generator(lua_State *L) {
  return lua_touserdata(L, lua_upvalueindex(1));
}

static int random_seed(lua_State *L) {
  lua_Integer n;
  if (lua_isinteger(L, 1)) {
    n = lua_tointeger(L, 1);
  } else {
    double f = luaL_checknumber(L, 1); /* any number seeds, as in math.randomseed */
    memcpy(&n, &f, sizeof n);
  }
  seed_generator(get_generator(L), (uint64_t)n);
  return 0;
}

/* Significant bits of the float dtypes. */
static int float_precision(roc_dtype dtype) {
  switch (dtype) {
    case ROC_DT_FLOAT64: return 53;
    case ROC_DT_FLOAT32: return 24;
    case ROC_DT_FLOAT16: return 11;
    case ROC_DT_BFLOAT16: return 8;
    default: return 0;
  }
}

/* Pushes the array of shape 1 and float dtype 2. */
static roc_array *new_float_array(lua_State *L) {
  roc_array_plan plan = roc_check_plan(L, 1, ROC_DT_FLOAT64, false);
  if (!float_precision(plan.dtype)) {
    luaL_argerror(L, 2,
                  lua_pushfstring(L, "a float dtype expected, got %s; see random_integers",
                                  roc_dtype_name(plan.dtype)));
  }
  return roc_new_host_array(L, plan.dtype, plan.rank, plan.extents, ROC_ORDER_C, false);
}

static void put(roc_array *a, int64_t i, roc_scalar value) {
  char *element = roc_buffer_host(a->buffer);
  roc_dtype_store(a->dtype, element + (size_t)i * roc_dtype_itemsize(a->dtype), value);
}

static void put_float(roc_array *a, int64_t i, double f) {
  put(a, i, (roc_scalar){ROC_VT_F64, {.f = f}});
}

static int random_uniform(lua_State *L) {
  generator *g = get_generator(L);
  roc_array *a = new_float_array(L);
  int bits = float_precision(a->dtype);
  int64_t size = roc_array_size(a);
  for (int64_t i = 0; i < size; i++) put_float(a, i, draw_uniform(g, bits));
  return 1;
}

static int random_normal(lua_State *L) {
  generator *g = get_generator(L);
  roc_array *a = new_float_array(L);
  int64_t size = roc_array_size(a);
  double pair[2];
  for (int64_t i = 0; i < size; i++) {
    if (i % 2 == 0) draw_normal_pair(g, pair);
    put_float(a, i, pair[i % 2]);
  }
  return 1;
}

/* Raises unless the dtype holds the bound exactly, so that no draw wraps or rounds out of low …
 * high. */
static void check_bound(lua_State *L, int arg, roc_dtype dtype, int64_t bound) {
  roc_scalar value = {ROC_VT_INT, {.i = bound}};
  roc_scalar back = roc_dtype_convert(dtype, value);
  int64_t held = back.as.i;
  bool fits = back.type == ROC_VT_INT ||
              (back.type == ROC_VT_F64 && roc_i64_from_f64_exact(back.as.f, &held));
  if (dtype == ROC_DT_UINT64 && bound < 0) fits = false;
  if (!fits || held != bound) {
    luaL_argerror(
        L, arg,
        lua_pushfstring(L, "%I does not fit %s", (LUAI_UACINT)bound, roc_dtype_name(dtype)));
  }
}

static int random_integers(lua_State *L) {
  generator *g = get_generator(L);
  int64_t low = luaL_checkinteger(L, 1), high = luaL_checkinteger(L, 2);
  luaL_argcheck(L, low <= high, 2, "the interval is empty");
  roc_array_plan plan = roc_check_plan(L, 3, ROC_DT_INT64, false);
  roc_dtype dtype = plan.dtype;
  luaL_argcheck(L, dtype != ROC_DT_BOOL, 4, "a dtype of numbers expected, got bool");
  check_bound(L, 1, dtype, low);
  check_bound(L, 2, dtype, high);
  roc_array *a = roc_new_host_array(L, dtype, plan.rank, plan.extents, ROC_ORDER_C, false);
  int64_t size = roc_array_size(a);
  uint64_t span = (uint64_t)high - (uint64_t)low;
  for (int64_t i = 0; i < size; i++) {
    int64_t value = (int64_t)((uint64_t)low + draw_integer(g, span));
    put(a, i, (roc_scalar){ROC_VT_INT, {.i = value}});
  }
  return 1;
}

static const luaL_Reg random_functions[] = {{"random", random_uniform},
                                            {"random_normal", random_normal},
                                            {"random_integers", random_integers},
                                            {"seed", random_seed},
                                            {NULL, NULL}};

/* Pushes the state's generator; made on the first opening. */
static void push_generator(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &generator_key) == LUA_TUSERDATA) return;
  lua_pop(L, 1);
  generator *g = lua_newuserdatauv(L, sizeof *g, 0);
  uint64_t seed;
  if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed) {
    seed = (uint64_t)time(NULL) ^ (uint64_t)(uintptr_t)g;
  }
  seed_generator(g, seed);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &generator_key);
}

void roc_open_array_random(lua_State *L) {
  push_generator(L);
  luaL_setfuncs(L, random_functions, 1);
}
