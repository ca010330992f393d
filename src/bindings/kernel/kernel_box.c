/* The box of a kernel, as every file of kernels takes it from the stack; compile targets, texts and
 * failed compiles. */
#include <string.h>

#include "bindings/device/device_bind.h"
#include "bindings/kernel/kernel_bind.h"
#include "jit/driver.h"

roc_kernel_box *roc_check_kernel(lua_State *L, int arg) {
  roc_kernel_box *box = luaL_checkudata(L, arg, ROC_META_KERNEL);
  if (!box->kernel) luaL_argerror(L, arg, "closed kernel");
  return box;
}

/* The core's record holds 2 KiB of a message; diagnostics may have more. */
int roc_kernel_raise(lua_State *L, roc_kernel_box *box, const roc_error *err) {
  const roc_str *whole = &box->kernel->diagnostics;
  box->is_refused |= err->code == ROC_COMPILE && box->nunusable > 0;
  if (err->code == ROC_COMPILE && whole->len > strlen(err->message)) {
    return roc_lua_raise_text(L, err, roc_str_text(whole));
  }
  return roc_lua_raise(L, err);
}

/* Text that Lua frees even when memory runs out while it is pushed: a userdata owns the builder. */
static int text_mm_gc(lua_State *L) {
  roc_str_deinit(lua_touserdata(L, 1));
  return 0;
}

static const luaL_Reg text_meta[] = {{"__gc", text_mm_gc}, {NULL, NULL}};

roc_str *roc_kernel_push_text(lua_State *L) {
  roc_str *text = lua_newuserdatauv(L, sizeof *text, 0);
  *text = (roc_str)ROC_STR_INIT;
  roc_class_new(L, "roc.Text", text_meta);
  lua_setmetatable(L, -2);
  return text;
}

const char *roc_kernel_check_target(lua_State *L, int arg) {
  roc_error err = ROC_ERROR_INIT;
  if (lua_isnoneornil(L, arg)) {
    const roc_device_props *props = &roc_rt_device_driver(roc_current_device(L))->props;
    return props->runs_in_lua ? ROC_TARGET_HOST : props->arch;
  }
  size_t len;
  const char *target = luaL_checklstring(L, arg, &len);
  luaL_argcheck(L, strlen(target) == len, arg, "target has a byte 0");
  roc_status status = roc_jit_check_target(target, &err);
  if (status == ROC_INVALID) luaL_argerror(L, arg, err.message);
  if (status != ROC_OK) roc_lua_raise(L, &err);
  return target;
}
