-- A test that runs no assertion fails: only a crash could have failed it. Assertions are those of
-- luassert, its `assert(value)`, and `check` below. `pending` ends a test before this matters.
local luassert = require "luassert"
local namespaces = require "luassert.namespaces"

local asserted = {}

local count = 0

local function counted(f)
  return function(...)
    count = count + 1
    return f(...)
  end
end

---An assertion whose message is made only when it fails, for loops and for functions of their own.
---@param holds any
---@param level integer as that of `error`, seen from the caller
---@param format string
function asserted.check(holds, level, format, ...)
  count = count + 1
  if not holds then error(string.format(format, ...), level == 0 and 0 or level + 1) end
end

---Each pattern is found in the text after the one before.
---@param text string
---@param ... string
function asserted.in_order(text, ...)
  local at = 1
  for _, pattern in ipairs { ... } do
    local _, last = text:find(pattern, at)
    asserted.check(last, 2, "no %q in\n%s", pattern, text)
    at = last + 1
  end
end

---Makes the tests of a run fail that have no assertion; called before they begin.
function asserted.require_all(busted)
  for _, row in pairs(namespaces.assertion) do row.callback = counted(row.callback) end
  local meta = getmetatable(luassert)
  meta.__call = counted(meta.__call)

  busted.subscribe({ "test", "start" }, function(element)
    local run = element.run
    function element.run()
      local before = count
      run()
      if count == before then error("the test has run no assertion", 0) end
    end
    return nil, true
  end)
end

return asserted
