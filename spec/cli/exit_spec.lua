-- However a script ends, roclua waits for the devices, delivers what kernels printed, and reports a
-- fault nobody asked for.
local programs = require "support.programs"
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

describe("output that cannot be written", function()
  if not shell.interpreter then return pending("the specs do not run in roclua") end

  local function run(command)
    local output, status = shell.run("{ " .. command .. "; } 2>&1 >/dev/full")
    assert.are.equal(1, select(2, output:gsub(": cannot write to stdout", "")), output)
    assert.are.equal(1, status)
  end

  it("is a failure of the script that prints it", function()
    run("ROCLUA -e 'print(1)'")
    run("ROCLUA -e 'io.write(1)'")
    assert.matches(": No space left on device\n$",
      (shell.run("ROCLUA -e 'io.write(1)' 2>&1 >/dev/full")))
    run("ROCLUA -e 'print(1) os.exit(true)'")
    run("ROCLUA -e 'print(1) os.exit(0, true)'")
    run("echo 'print(1)' | ROCLUA -")
    run("ROCLUA -e 'roc = require [[roc]] roc.kernel([[function() print(1) end]]):forall(1)()'")
  end)

  it("leaves another status alone", function()
    assert.are.equal(7, select(2, shell.run("ROCLUA -e 'print(1) os.exit(7)' 2>&1 >/dev/full")))
    assert.are.same({ "", 0 }, { shell.run("ROCLUA -e 'local x = 1' 2>&1 >/dev/full") })
    assert.are.same({ "", 0 }, { shell.run("ROCLUA -e 'local x = 1' 2>&1 >&-") })
  end)

  it("is one of what the program itself prints", function()
    for _, options in ipairs { "-v", "--help", "--list-devices" } do run("ROCLUA " .. options) end
  end)

  it("is one of rocluac", function()
    local rocluac = programs.find("rocluac")
    if not rocluac then return pending("rocluac was not built") end
    local script = os.tmpname()
    local file <close> = assert(io.open(script, "w"))
    file:write('require("roc").kernel(function(x) x[1] = 1 end, { name = "k", ',
      'signature = "(int64[:])" })')
    file:close()
    for _, options in ipairs { "--list-targets", "--help", "--emit=ir " .. script,
      "-t gfx90a --emit=asm " .. script, "-t gfx90a --resources " .. script } do
      run(rocluac .. " " .. options)
    end
    os.remove(script)
  end)
end)

-- ROCLUA_EXIT_RUNS=1000 asks for that many of each.
describe("a script that ends while kernels run", function()
  if not shell.interpreter then return pending("the specs do not run in roclua") end

  local RUNS = math.tointeger(tonumber(os.getenv "ROCLUA_EXIT_RUNS" or 2))

  -- Long launches, then one of a kernel that was compiled just now.
  local BUSY = [[
roc = require "roc"
local function kernel(text) return roc.kernel(text) end
a = roc.to_device(roc.zeros(4096, "int64"))
k = kernel "function(a, n) local i = roc.get_global_id(1) local x = i for j = 1, n do x = x * 31 + j end a[i] = x end"
for _ = 1, 20 do k:forall(4096)(a, 2000) end
fresh = kernel "function(a) a[roc.get_global_id(1)] = 7 end"
fresh:forall(4096)(a)
]]

  local BUSY_ENDINGS = {
    ["its last line"] = { "", 0 },
    ["os.exit"] = { "os.exit()", 0 },
    ["os.exit that closes the state"] = { "os.exit(3, true)", 3 },
    ["os.exit in a coroutine"] = { "coroutine.wrap(function() os.exit(0, true) end)()", 0 },
    ["an error"] = { "error 'mine'", 1 },
    ["dropping all it had"] = { "a, k, fresh = nil collectgarbage()", 0 },
    ["closing the array in use"] = { "a:close()", 0 },
    ["a launch in a finalizer"] = {
      "setmetatable({}, {__gc = function() fresh:forall(4096)(a) end})", 0,
    },
    ["a new kernel in a finalizer"] = {
      "setmetatable({}, {__gc = function() kernel 'function(a) a[1] = 9 end':forall(1)(a) end})", 0,
      leaks = true,
    },
  }

  -- What is made while a state closes, Lua never finalizes: an address sanitizer that also looks
  -- for leaks would find it.
  local LEAKS = "ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 "

  for name, ending in pairs(BUSY_ENDINGS) do
    it("ends well by " .. name, function()
      for _ = 1, RUNS do
        local command = (ending.leaks and LEAKS or "")
          .. "timeout 60 ROCLUA - 2>&1 <<'END'\n%s%s\nEND\n"
        local output, status = shell.run(command:format(BUSY, ending[1]))
        assert.are.equal(ending[2], status, output)
      end
    end)
  end

  it("ends well in a stock lua5.4", function()
    local core = shell.interpreter:match "^(.*)/bin/[^/]*$" .. "/lib/lua/5.4/?.so"
    local runtime = programs.sanitizer(core:gsub("%?", "roc/core"))
    local command = LEAKS .. ("LD_PRELOAD='%s' "):format(runtime)
      .. "LUA_PATH='lua/?.lua;lua/?/init.lua;;' LUA_CPATH='%s;;' "
      .. "timeout 60 lua5.4 - 2>&1 <<'END'\n%s%s\nEND\n"
    for name, ending in pairs(BUSY_ENDINGS) do
      local output, status = shell.run(command:format(core, BUSY, ending[1]))
      assert.are.equal(ending[2], status, name .. ": " .. output)
    end
  end)
end)

describe("Ctrl-C", function()
  if not shell.interpreter then return pending("the specs do not run in roclua") end

  -- The kernel runs for minutes, in workgroups of an instant.
  local WAITING = [[
roc = require "roc"
local a = roc.to_device(roc.zeros(1000000, "int64"))
local k = roc.kernel "function(a, n) local x = n for j = 1, n do x = x * 31 + j ~ x end a[roc.get_group_id(1)] = x end"
k:launch({ grid = 1000000, workgroup = 1 }, a, 1000000)
print(pcall(function()
  os.execute("(sleep 1; kill -INT " .. arg[1] .. ") &")
  return a[1]
end))
print(1 + 1)
]]

  it("ends a wait with an error, and the script goes on", function()
    local file = os.tmpname()
    local out <close> = assert(io.open(file, "w"))
    out:write(WAITING)
    out:close()
    local output, status = shell.run(("sh -c 'exec ROCLUA %s $$' 2>&1"):format(file))
    os.remove(file)
    assert.matches("^false\t[^\n]*interrupted!\n2\n$", output)
    assert.are.equal(0, status)
  end)
end)
