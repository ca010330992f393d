/* A kernel that rocluac has compiled runs without a Lua state. */
#include "task.h"

int main(int argc, char **argv) {
  float numbers[100];
  roclua_kernel *kernel;
  roclua_stream *stream;
  if (argc != 3) return 2;
  for (int i = 0; i < 100; i++) numbers[i] = (float)i;
  check(roclua_kernel_load(argv[1], "scale", &kernel));
  check(roclua_stream_create(argv[2], &stream));
  roclua_array *array = array_of(numbers, 100);
  check(launch(kernel, stream, 100, array, 3));
  check(roclua_stream_synchronize(stream));
  printf("%g\n", numbers[99]);
  roclua_stream_release(stream);
  roclua_array_release(array);
  roclua_kernel_release(kernel);
  check(roclua_shutdown());
  return 0;
}
