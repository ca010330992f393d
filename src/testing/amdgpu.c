/* roc.core.testing, the part about AMD GPUs: reading their code objects, and the occupancy of their
 * chips. */
#include "base/amdgpu_hsaco.h"
#include "base/amdgpu_target.h"
#include "base/module.h"
#include "bindings/support/bind.h"
#include "testing/testing.h"

/* hsaco_read(bytes, entry) -> vector registers of the kernel; nil, message, code */
static int testing_hsaco_read(lua_State *L) {
  size_t nbytes;
  const char *bytes = luaL_checklstring(L, 1, &nbytes);
  roc_hsaco_kernel kernel;
  roc_error err = ROC_ERROR_INIT;
  if (roc_hsaco_read_kernel(bytes, nbytes, luaL_checkstring(L, 2), &kernel, &err) != ROC_OK) {
    return roc_testing_push_failure(L, &err);
  }
  lua_pushinteger(L, kernel.vgprs);
  return 1;
}

/* read_module(target, bytes) -> names of the kernels; nil, message, code */
static int testing_read_module(lua_State *L) {
  size_t nbytes;
  const char *bytes = luaL_checklstring(L, 2, &nbytes);
  roc_module *module = NULL;
  roc_error err = ROC_ERROR_INIT;
  if (roc_module_read(luaL_checkstring(L, 1), bytes, nbytes, &module, &err) != ROC_OK) {
    return roc_testing_push_failure(L, &err);
  }
  lua_newtable(L);
  for (uint32_t i = 0; i < module->nkernels; i++) {
    lua_pushstring(L, module->kernels[i].name);
    lua_rawseti(L, -2, i + 1);
  }
  roc_module_release(module);
  return 1;
}

/* occupancy(target, vgprs, sgprs, shared_bytes, workgroup) -> waves per SIMD, most, what limits */
static int testing_occupancy(lua_State *L) {
  const roc_gpu_chip *chip = roc_gpu_chip_find(luaL_checkstring(L, 1), NULL);
  luaL_argcheck(L, chip, 1, "an AMD GPU expected");
  const roc_gpu_use use = {(uint32_t)luaL_checkinteger(L, 2), (uint32_t)luaL_checkinteger(L, 3),
                           (uint32_t)luaL_checkinteger(L, 4), (uint32_t)luaL_checkinteger(L, 5)};
  roc_gpu_occupancy o = roc_gpu_occupancy_of(chip, &use);
  lua_pushinteger(L, o.waves);
  lua_pushinteger(L, o.max);
  lua_pushstring(L, roc_gpu_limit_name(o.limit));
  return 3;
}

/* choose_workgroup(target, vgprs, sgprs, shared_bytes, most) -> work-items */
static int testing_choose_workgroup(lua_State *L) {
  const roc_gpu_chip *chip = roc_gpu_chip_find(luaL_checkstring(L, 1), NULL);
  luaL_argcheck(L, chip, 1, "an AMD GPU expected");
  roc_gpu_use use = {(uint32_t)luaL_checkinteger(L, 2), (uint32_t)luaL_checkinteger(L, 3),
                     (uint32_t)luaL_checkinteger(L, 4), 0};
  lua_pushinteger(L, roc_gpu_choose_workgroup(chip, &use, (uint32_t)luaL_checkinteger(L, 5)));
  return 1;
}

static const luaL_Reg functions[] = {{"hsaco_read", testing_hsaco_read},
                                     {"read_module", testing_read_module},
                                     {"occupancy", testing_occupancy},
                                     {"choose_workgroup", testing_choose_workgroup},
                                     {NULL, NULL}};

void roc_testing_add_amdgpu(lua_State *L) {
  luaL_setfuncs(L, functions, 0);
}
