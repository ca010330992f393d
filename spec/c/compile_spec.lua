-- Runs the C program that compiles in several threads at once, one process a test.
local programs = require "support.programs"

local TITLES = {
  same = "makes the code that one thread alone makes, byte for byte",
  at_once = "has several threads inside code generation at the same moment",
  first = "opens the compiler once when several threads are the first",
  cache = "shares the cache on disk between threads",
  memory = "fails where memory runs out, and nowhere else",
  process = "leaves signal handlers, output and open files as they were",
}

describe("compiles of several threads", function()
  local path = programs.find("compile_test")
  if not path then return pending("compile_test is not built") end

  local seen = 0
  for name in assert(io.popen(path)):lines() do
    seen = seen + 1
    it(TITLES[name] or name, function()
      local ok, output = programs.run(("timeout 120 %s %s"):format(path, name))
      assert(ok and output:find("ok " .. name, 1, true), output)
    end)
  end
  assert(seen == 6, "compile_test lists its tests")
end)
