/* The program's floats, and a matrix of which every row has a stride, become arrays of Lua. */
#include "task.h"

static void give_back(void *ud) {
  *(int *)ud += 1;
}

int main(void) {
  float numbers[5] = {1, 2, 3, 4, 5}, table[3][8] = {{0}};
  int given_back = 0;
  int64_t shape[] = {3, 4}, strides[] = {8, 1};
  roclua_memory memory = {.size = sizeof memory,
                          .dtype = "float32",
                          .rank = 2,
                          .shape = shape,
                          .strides = strides,
                          .data = &table[0][2],
                          .release = give_back,
                          .ud = &given_back};
  roclua_array *matrix, *vector = array_of(numbers, 5);
  check(roclua_array_wrap(&memory, &matrix));
  lua_State *L = open_state();
  check(roclua_array_push(L, vector));
  lua_setglobal(L, "numbers");
  check(roclua_array_push(L, matrix));
  lua_setglobal(L, "matrix");
  roclua_array_release(vector);
  roclua_array_release(matrix);
  run(L, scale_kernel);
  run(L,
      "scale:forall(#numbers)(numbers, 10)\n"
      "number = roc.kernel(function(m)\n"
      "  local i, j = roc.get_global_id(1), roc.get_global_id(2)\n"
      "  m[i][j] = 10 * i + j\n"
      "end)\n"
      "number:launch({grid = matrix.shape}, matrix)\n"
      "roc.current_device():synchronize() numbers, matrix = nil, nil\n"
      "collectgarbage() collectgarbage()\n");
  printf("%g %g, %g %g %g\n", numbers[0], numbers[4], table[0][2], table[2][5], table[2][6]);
  printf("given back %d time\n", given_back);
  return close_state(L);
}
