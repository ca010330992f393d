-- roc goes by Lua's libraries as Lua made them, not as a script left them:
-- spec/support/clobbered.lua spoils their names and compares what roc does.
local files = require "support.files"
local programs = require "support.programs"
local shell = require "support.shell"

local METHODS = { "format", "find", "match", "gmatch", "gsub", "sub", "rep", "byte", "upper",
  "lower", "len", "reverse", "pack", "unpack" }

local LIMIT = "timeout 300 " -- seconds: against a hang, not a measure

describe("a script that spoils Lua's libraries", function()
  if not shell.interpreter then return pending("the specs do not run in roclua") end

  local STOCK = "LUA_PATH='lua/?.lua;lua/?/init.lua;;' LUA_CPATH='%s;;' " .. LIMIT .. "lua5.4"

  local function check(interpreter, way, when)
    local output, status = shell.run(("%s spec/support/clobbered.lua %s %s"):format(interpreter,
      way, when))
    assert.are.equal("done\n", output)
    assert.are.equal(0, status)
  end

  for _, when in ipairs { "before", "after" } do
    it("one name after the other changes nothing in roc, required " .. when, function()
      check(LIMIT .. "ROCLUA", "nil", when)
    end)

    for _, way in ipairs { "nil", "text", "function" } do
      it(("all at once (%s) changes nothing in roc, required %s"):format(way, when), function()
        check(LIMIT .. "ROCLUA", way, "all-" .. when)
      end)
    end

    it(("changes nothing in a stock lua5.4 that required roc %s"):format(when), function()
      local core = shell.interpreter:match "^(.*)/bin/[^/]*$"
      if not core or programs.sanitizer(core .. "/lib/lua/5.4/roc/core.so") ~= "" then
        return pending("the module was built with a sanitizer")
      end
      local stock = STOCK:format(core .. "/lib/lua/5.4/?.so")
      check(stock, "nil", "all-after")
      if when == "before" then check(stock, "nil", "all-before") end
    end)
  end

  local function assert_prints(expected, script)
    local output, status = shell.run(LIMIT .. "ROCLUA - 2>&1 <<'END'\n" .. script .. "\nEND\n")
    assert.are.equal(expected, output)
    assert.are.equal(0, status)
  end

  it("loads parts of roc without the global require and without package's fields", function()
    assert_prints("6.0\n1.0\n", [[
      local roc, require, print = require "roc", require, print
      local fields = package
      for key in pairs(fields) do
        if key ~= "searchers" then fields[key] = nil end
      end
      _G.require, package = nil, nil
      local gemm = require "roc.kernels.gemm"
      fields.searchers = nil
      print(roc.reduce(function(a, b) return a + b end)(roc.array { 1, 2, 3 }))
      local a, b = roc.ones({ 16, 16 }, "float32"), roc.ones({ 16, 16 }, "float32")
      gemm.naive:launch({ grid = { 16, 16 }, workgroup = { 16, 16 } }, a, b, b)
      print(a[1][1])]])
  end)

  it("still sees what kernels print, by its own print or Lua's", function()
    assert_prints("mine: 1\n2\n3\n", [[
      local roc = require "roc"
      local write = io.write
      local k = roc.kernel(function(n) print(n) end)
      function print(line) write("mine: ", line, "\n") end
      k:forall(1)(1)
      roc.current_device():synchronize()
      print = nil
      k:forall(1)(2)
      roc.current_device():synchronize()
      k:forall(1)(3)]])
  end)

  it("gives kernels its own math, and keeps that of built functions", function()
    assert_prints("[42. 42. 42.]\n[7. 7. 7.]\n3.0\n", [[
      local roc, print = require "roc", print
      local x = roc.ones(3)
      math = { floor = function(v) return v * 0 + 42 end }
      local k = roc.kernel(function(a) a[roc.get_global_id(1)] = math.floor(2.5) end)
      k:forall(3)(x)
      print(x)
      math.floor = function(v) return v * 0 + 7 end
      k:forall(3)(x)
      print(x)
      math = nil
      print(roc.reduce(function(a, b) return a + b end)(roc.ones(3)))]])
  end)

  it("may forbid globals that it did not declare", function()
    assert_prints("[1. 1.]\n3.0\n", [[
      local print = print
      setmetatable(_G, { __index = function(_, name) error("undeclared " .. name) end,
        __newindex = function(_, name) error("undeclared " .. name) end })
      local roc = require "roc"
      print(roc.ones(2))
      print(roc.reduce(function(a, b) return a + b end)(roc.ones(3)))]])
  end)

  it("does not keep the program from listing the devices", function()
    assert_prints("true\n", [[
      local spoil = "for k in pairs(_G) do if k ~= '_G' then _G[k] = nil end end"
      local pipe = io.popen(arg[-1] .. ' -e "' .. spoil .. '" --list-devices')
      local list = pipe:read("a")
      print(pipe:close() and list:find("cpu") ~= nil)]])
  end)
end)

describe("roclua's own Lua files", function()
  it("call no method of strings, which a script can replace", function()
    local complaints = {}
    local paths = files.list("lua/roc", "%.lua$")
    table.move(files.list("kernels", "%.lua$"), 1, 1e3, #paths + 1, paths)
    assert.is_true(#paths > 20)
    for _, path in ipairs(paths) do
      local number = 0
      for line in files.read(path):gmatch("([^\n]*)\n") do
        number = number + 1
        for _, method in ipairs(METHODS) do
          local call = "[%w_%)%]\"']:" .. method .. "[%s%({\"'%[]"
          if not line:find("^%s*%-%-") and line:find(call) then
            complaints[#complaints + 1] = ("%s:%d: write string.%s(…)"):format(path, number, method)
          end
        end
      end
    end
    assert.are.equal("", table.concat(complaints, "\n"))
  end)
end)
