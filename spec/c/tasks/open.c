/* Opens roclua in a state, and runs a kernel of a script. */
#include "task.h"

int main(void) {
  lua_State *L = open_state();
  run(L,
      "local roc = require 'roc'\n"
      "local square = roc.kernel(function(a)\n"
      "  local i = roc.get_global_id(1)\n"
      "  a[i] = a[i] * a[i]\n"
      "end)\n"
      "local a = roc.range(1, 5)\n"
      "square:forall(#a)(a)\n"
      "print(a[5])\n");
  return close_state(L);
}
