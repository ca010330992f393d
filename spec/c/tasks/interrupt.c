/* Another thread ends a kernel that does not. */
#include <pthread.h>
#include <time.h>

#include "task.h"

static void *interrupt(void *L) {
  char text[200];
  while (!roclua_pending(text, sizeof text)) { /* until the kernel runs */
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  check(roclua_interrupt(L));
  return NULL;
}

int main(void) {
  pthread_t thread;
  lua_State *L = open_state();
  run(L,
      "roc = require 'roc'\n"
      "a = roc.to_device(roc.zeros(2))\n"
      "spin = roc.kernel(function(a) while a[1] == 0 do a[2] = a[2] + 1 end end)\n");
  pthread_create(&thread, NULL, interrupt, L);
  if (luaL_dostring(L, "spin:forall(1)(a) roc.current_device():synchronize()") != LUA_OK) {
    printf("%s\n", luaL_tolstring(L, -1, NULL));
  }
  pthread_join(thread, NULL);
  run(L, "a = roc.to_device(roc.full(2, 5)) print(a[2])"); /* the device goes on */
  roclua_close(L);
  lua_close(L);
  check(roclua_shutdown());
  return 0;
}
