/* A script is changed while the program runs, and loaded again: new launches run its new kernel. */
#include "task.h"

static void write_script(const char *operation) {
  FILE *file = fopen("reload.lua", "w");
  if (!file) exit(1);
  fprintf(file,
          "local roc = require 'roc'\n"
          "step = roc.kernel(function(a, x)\n"
          "  local i = roc.get_global_id(1)\n"
          "  a[i] = a[i] %s x\n"
          "end)\n",
          operation);
  fclose(file);
}

int main(void) {
  static const char *const operations[] = {"+", "*", "-"};
  float numbers[4] = {1, 2, 3, 4};
  lua_State *L = open_state();
  roclua_array *array = array_of(numbers, 4);
  roclua_stream *stream;
  check(roclua_stream_create("cpu", &stream));
  for (int i = 0; i < 3; i++) {
    write_script(operations[i]);
    if (luaL_dofile(L, "reload.lua") != LUA_OK) return 1;
    roclua_kernel *kernel = kernel_of(L, "step");
    check(launch(kernel, stream, 4, array, 10));
    check(roclua_stream_synchronize(stream));
    roclua_kernel_release(kernel);
    printf("%g ", numbers[3]);
  }
  printf("\n");
  roclua_stream_release(stream);
  roclua_array_release(array);
  return close_state(L);
}
