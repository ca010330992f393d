/* What goes wrong is a code and a message: in a script, in a call, in a compile, in a kernel. */
#include <string.h>

#include "task.h"

int main(void) {
  float numbers[10] = {0};
  lua_State *L = open_state();
  run(L, scale_kernel);
  if (luaL_dostring(L, "scale:forall(10)(3)") != LUA_OK) {
    printf("script: %s\n", luaL_tolstring(L, -1, NULL));
  }
  roclua_kernel *kernel = kernel_of(L, "scale");
  roclua_array *array = array_of(numbers, 10);
  roclua_stream *stream;
  if (roclua_stream_create("toaster", &stream) == ROCLUA_UNAVAILABLE) {
    printf("call: %s\n", strstr(roclua_error(), "toaster") ? "no such device" : roclua_error());
  }
  check(roclua_stream_create("cpu", &stream));
  check(launch(kernel, stream, 11, array, 2));
  if (roclua_stream_synchronize(stream) == ROCLUA_FAULT) printf("kernel: %s\n", roclua_error());
  run(L, "wrong = roc.kernel(function(a, factor) a.b[1] = factor end)");
  roclua_kernel *wrong = kernel_of(L, "wrong");
  if (launch(wrong, stream, 1, array, 2) == ROCLUA_COMPILE) {
    printf("compile: %s\n", strstr(roclua_error(), "wrong") ? "kernel 'wrong'" : roclua_error());
  }
  roclua_stream_release(stream);
  roclua_array_release(array);
  roclua_kernel_release(kernel);
  roclua_kernel_release(wrong);
  return close_state(L);
}
