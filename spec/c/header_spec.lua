-- The public header stands alone, as C11 and as C++.
local function succeeds(command) return os.execute(command .. " >/dev/null 2>&1") == true end

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read("a")
end

describe("roclua.h", function()
  local FLAGS = "-fsyntax-only -Wall -Wextra -Wpedantic -Werror -Isrc/include spec/c/header_test.c"

  for _, case in ipairs {
    { language = "C11", compiler = "cc", flags = "-std=c11 -x c" },
    { language = "C++11", compiler = "c++", flags = "-std=c++11 -x c++" },
    { language = "C++17", compiler = "c++", flags = "-std=c++17 -x c++" },
  } do
    it("compiles as " .. case.language .. " without a warning", function()
      if not succeeds("command -v " .. case.compiler) then
        return pending("no " .. case.compiler)
      end
      assert.is_true(succeeds(("%s %s %s"):format(case.compiler, case.flags, FLAGS)))
    end)
  end

  it("declares no function that the test of it does not name", function()
    local header, test = read("src/include/roclua.h"), read("spec/c/header_test.c")
    local count = 0
    for name in header:gmatch("\nROCLUA_API[^;(]-([%w_]+)%(") do
      count = count + 1
      assert.is_truthy(test:find(")" .. name .. ",", 1, true), name)
    end
    assert.is_true(count > 0)
  end)
end)
