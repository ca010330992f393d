-- rocluac --emit=functions: kernels as functions of C, linked without roclua.
local files = require "support.files"
local programs = require "support.programs"

local SCRIPT = [[
  local roc = require "roc"
  roc.kernel(function(a, b, x, double)
    local i = roc.get_global_id(1)
    if i <= #a then a[i] = b[i] * 4 + x end
  end, { name = "mix", signature = "(int64[:], int64[:], int64, float64)" })
  roc.kernel(function(out, m, scale, on)
    local i, j = roc.get_global_id(1), roc.get_global_id(2)
    local s, l = roc.shared.array(256, "float32"), roc.get_local_id(1)
    s[l] = m[i][j]
    roc.barrier()
    local there = l < roc.get_local_size(1) and l + 1 or 1
    if on then out[j][i] = s[there] * scale end
  end, { name = "shift", signature = "(float32[:,:], float32[:,:], float32, bool)" })
  roc.kernel(function(a, i) a[i] = math.cos(a[i]) end,
    { name = "at", signature = "(float64[:], int64)" })
  roc.kernel(function(a) a[roc.get_global_id(1)] = roc.get_local_size(1) end,
    { name = "sizes", signature = "(int8[:])", workgroup = 8 })
  roc.kernel(function() end, { name = "nothing", signature = "()" })
]]

local PROGRAM = [[
#include <math.h>
#include <stdio.h>
#include "k.h"
static int64_t a[1000], b[1000];
static float in[20][30], out[30][20];
static signed char sizes[20];
static void tell(const char *why) { puts(why ? why : "ok"); }
int main(void) {
  k_grid grid = {1, {1000}, {0}}, two = {2, {20, 30}, {20, 1}}, one = {1, {1}, {1}};
  k_grid none = {1, {0}, {0}}, five = {5, {1}, {1}}, large = {1, {20}, {9}}, twenty = {1, {20}, {0}};
  for (int i = 0; i < 1000; i++) b[i] = i;
  for (int i = 0; i < 20; i++) for (int j = 0; j < 30; j++) in[i][j] = (float)(100 * i + j);
  k_mix_args mix = {.a = a, .a_extents = {1000}, .b = b, .b_extents = {1000},
                    .x = -((int64_t)1 << 40), .double_ = 1};
  tell(k_mix(grid, &mix));
  printf("%lld\n", (long long)(a[999] + ((int64_t)1 << 40)));
  mix.a = b; /* in place */
  mix.x = 0;
  tell(k_mix(grid, &mix));
  printf("%lld %lld\n", (long long)b[0], (long long)b[999]);
  k_shift_args shift = {.out = &out[0][0], .out_extents = {30, 20}, .m = &in[0][0],
                        .m_extents = {20, 30}, .scale = 2, .on = true};
  tell(k_shift(two, &shift));
  printf("%g %g\n", out[29][18], out[29][19]);
  double d[3] = {1, 2, 3};
  k_at_args at = {.a = d, .a_extents = {3}, .i = 2};
  tell(k_at(one, &at));
  printf("%d\n", fabs(d[1] - cos(2)) < 1e-15);
  at.i = 4;
  tell(k_at(one, &at));
  tell(k_at(none, &at));
  tell(k_at(five, &at));
  k_sizes_args s = {.a = sizes, .a_extents = {20}};
  tell(k_sizes(twenty, &s));
  printf("%d %d\n", sizes[0], sizes[19]);
  tell(k_sizes(large, &s));
  tell(k_nothing(one));
  return 0;
}
]]

local EXPECTED = [[
ok
3996
ok
0 3996
ok
3858 58
ok
1
k.lua:14: index out of range of 'a'
ok
the rank of a grid is 1 to 3
ok
8 8
the workgroup is larger than the kernel promises
ok
]]

describe("rocluac --emit=functions", function()
  local rocluac = programs.find("rocluac")
  if not rocluac then return pending("rocluac is not built") end
  for _, tool in ipairs { "cc", "c++" } do
    if not files.has_program(tool) then return pending("no " .. tool) end
  end

  local folder
  local function write(name, text)
    local file <close> = assert(io.open(folder .. "/" .. name, "w"))
    file:write(text)
  end
  local function run(command)
    return programs.run(("cd %s && %s"):format(folder,
      (command:gsub("^rocluac", rocluac:find("^/") and rocluac or "$OLDPWD/" .. rocluac))))
  end
  setup(function()
    folder = files.run("mktemp -d"):gsub("\n$", "")
    write("k.lua", SCRIPT)
    write("t.c", PROGRAM)
  end)
  teardown(function() files.run("rm -rf " .. folder) end)

  for _, level in ipairs { 0, 2 } do
    it(("makes functions that a program calls without roclua (level %d)"):format(level), function()
      assert(run(("rocluac --emit=functions -O%d -t cpu:x86-64 k.lua"):format(level)))
      local ok, output = run("cc -std=c11 -Wall -Wextra -Wpedantic -Werror t.c k.o -lm -o t && ./t")
      assert.is_true(ok, output)
      assert.are.equal(EXPECTED, output)
    end)
  end

  it("writes a header that is C++, too", function()
    assert(run("rocluac --emit=functions -t cpu:x86-64 -o k.o k.lua"))
    local ok, output = run("c++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only -x c++ -include k.h "
      .. "/dev/null")
    assert(ok, output)
  end)

  for what, case in pairs {
    ["a GPU"] = { "-t gfx90a", "", "functions of C are for one target that is no GPU" },
    ["two targets"] = { "-t cpu:x86-64 -t cpu", "", "functions of C are for one target" },
    ["a kernel that prints"] = { "-t cpu:x86-64", "function(n) print(n) end, "
      .. '{ name = "say", signature = "(int64)" }', "kernel 'say' prints" },
    ["a strided array"] = { "-t cpu:x86-64", "function(a) a[1] = 1 end, "
      .. '{ name = "s", signature = "(int64[:] strided)" }', "kernel 's' takes a strided array" },
  } do
    it("refuses " .. what, function()
      write("bad.lua", ("require('roc').kernel(%s)"):format(case[2] ~= "" and case[2]
        or "function() end, { signature = '()' }"))
      local ok, output = run(("rocluac --emit=functions %s bad.lua"):format(case[1]))
      assert.is_false(ok)
      assert(output:find(case[3], 1, true), output)
      assert.is_nil(io.open(folder .. "/bad.h"))
    end)
  end
end)
