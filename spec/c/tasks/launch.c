/* A kernel of a script is launched from C, when the state is gone, with another captured value. */
#include "task.h"

int main(void) {
  float numbers[100];
  lua_State *L = open_state();
  run(L,
      "local roc = require 'roc'\n"
      "local offset = 1\n"
      "scale = roc.kernel(function(a, factor)\n"
      "  local i = roc.get_global_id(1)\n"
      "  a[i] = a[i] * factor + offset\n"
      "end)\n");
  roclua_kernel *kernel = kernel_of(L, "scale");
  check(roclua_close(L));
  lua_close(L);
  for (int i = 0; i < 100; i++) numbers[i] = (float)i;
  roclua_array *array = array_of(numbers, 100);
  roclua_stream *stream;
  check(roclua_stream_create("cpu", &stream));
  check(launch(kernel, stream, 100, array, 2));
  check(roclua_kernel_set(kernel, "offset", roclua_integer(1000)));
  check(launch(kernel, stream, 100, array, 1));
  check(roclua_stream_synchronize(stream));
  printf("%g %g\n", numbers[0], numbers[99]);
  roclua_stream_release(stream);
  roclua_array_release(array);
  roclua_kernel_release(kernel);
  check(roclua_shutdown());
  return 0;
}
