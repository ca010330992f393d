-- However a script ends, roclua waits for the devices, delivers what kernels printed, and reports a
-- fault nobody asked for.
local shell = require "support.shell"

-- Launches without waiting; the last item writes out of bounds when there are more than four.
local LAUNCH = [[
local roc = require "roc"
local a = roc.to_device(roc.zeros(4, "int64"))
roc.kernel(function(a) local i = roc.get_global_id(1) a[i] = i print("item", i) end):forall(%d)(a)
]]

local FAULT = "index 5 out of range 1..4 of 'a' (work-item {5}) (launched at stdin:3)\n"

local ENDINGS = {
  { name = "its last line", text = "", status = 0 },
  { name = "os.exit", text = "os.exit()", status = 0 },
  { name = "os.exit that closes the state", text = "os.exit(true, true)", status = 0 },
  { name = "os.exit with a status", text = "os.exit(7)", status = 7 },
  { name = "an error", text = "error 'mine'", status = 1 },
}

local function run(items, ending)
  return shell.run(("ROCLUA - 2>&1 <<'END'\n%s%s\nEND\n"):format(LAUNCH:format(items), ending))
end

describe("a script with work in flight", function()
  if not shell.interpreter then return pending("the specs do not run in roclua") end

  for _, ending in ipairs(ENDINGS) do
    it("ends by " .. ending.name .. " with its status and its kernels' output", function()
      local output, status = run(2, ending.text)
      assert.are.equal(ending.status, status)
      assert.matches("item\t1\nitem\t2\n", output)
    end)

    it("ends by " .. ending.name .. " with an unreported fault on stderr", function()
      local output, status = run(5, ending.text)
      assert.are.equal(ending.status == 0 and 1 or ending.status, status)
      assert.is_truthy(output:find(FAULT, 1, true), output)
    end)
  end

  it("does not report a fault again that a wait has reported", function()
    local output, status =
      run(5, "print(pcall(roc.current_device().synchronize, roc.current_device()))")
    assert.are.equal(0, status)
    assert.matches("false\t.*index 5 out of range", output)
    assert.are.equal(1, select(2, output:gsub("out of range", "")))
  end)
end)
