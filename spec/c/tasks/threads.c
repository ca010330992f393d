/* Two threads launch one kernel, each on a stream of its own. */
#include <pthread.h>

#include "task.h"

static roclua_kernel *kernel;
static float numbers[2][1000];

static void *work(void *ud) {
  float *own = ud;
  roclua_array *array = array_of(own, 1000);
  roclua_stream *stream;
  check(roclua_stream_create("cpu", &stream));
  for (int n = 0; n < 20; n++) check(launch(kernel, stream, 1000, array, 2));
  check(roclua_stream_synchronize(stream));
  roclua_stream_release(stream);
  roclua_array_release(array);
  return NULL;
}

int main(void) {
  lua_State *L = open_state();
  run(L, scale_kernel);
  kernel = kernel_of(L, "scale");
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) {
    numbers[i][999] = (float)(i + 1);
    pthread_create(&threads[i], NULL, work, numbers[i]);
  }
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  printf("%.0f %.0f\n", numbers[0][999], numbers[1][999]);
  roclua_kernel_release(kernel);
  return close_state(L);
}
