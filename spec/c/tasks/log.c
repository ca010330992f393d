/* What kernels print goes to the program's log: from a state by its `print`, from C by a function. */
#include "task.h"

static void write_log(void *ud, const char *line, size_t nbytes) {
  fprintf(ud, "[C] %.*s\n", (int)nbytes, line);
}

static int log_line(lua_State *L) {
  printf("[Lua] %s\n", luaL_checkstring(L, 1));
  return 0;
}

int main(void) {
  float number = 7;
  lua_State *L = open_state();
  lua_register(L, "print", log_line);
  run(L,
      "local roc = require 'roc'\n"
      "tell = roc.kernel(function(a, x) print('a is', a[1] * x) end)\n"
      "tell:forall(1)(roc.full(1, 3, 'float32'), 2)\n"
      "roc.current_device():synchronize()\n");
  roclua_kernel *kernel = kernel_of(L, "tell");
  roclua_array *array = array_of(&number, 1);
  roclua_stream *stream;
  check(roclua_set_print(write_log, stdout));
  check(roclua_stream_create("cpu", &stream));
  check(launch(kernel, stream, 1, array, 3));
  check(roclua_stream_synchronize(stream));
  roclua_stream_release(stream);
  roclua_array_release(array);
  roclua_kernel_release(kernel);
  return close_state(L);
}
