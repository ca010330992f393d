-- Finalizers that close what is in use: the collector may run one wherever a call allocates, so
-- between an argument's check and its use. The call works or says that the thing is closed.
local programs = require "support.programs"

-- A collector that works at each allocation, and garbage of changing amount before each call, put
-- the finalizer at every place where it can be.
local PRELUDE = [[
local roc = require "roc"
local h, d = roc.zeros(100), roc.device_array(100)
local k = roc.kernel("function(y) y[1] = 1 end", { env = { roc = roc } })
local function try(make, call)
  collectgarbage("incremental", 10, 400, 20)
  for i = 1, 300 do
    local victim = make()
    setmetatable({}, { __gc = function() victim:close() end })
    for _ = 1, i % 150 do local _ = {} end
    local ok, err = pcall(call, victim)
    assert(ok or tostring(err):find("closed", 1, true), err)
  end
end
local function smart() return roc.smart_array(roc.zeros { 40, 50 }) end
]]

local STREAMS = {
  { "a copy to a new host array", "d:copy_to_host(nil, s)" },
  { "a copy to a given array", "d:copy_to_host(h, s) d:copy_from_host(h, s)" },
  { "roc.to_device", "roc.to_device(h, { stream = s })" },
  { "a launch", "k[{ 1, 1, s }](d)" },
  { "a launch on sim", "k[{ 1, 1, s }](d)", "sim" },
  { "a callback", "s:callback(print, s)" },
  { "a scope", "local scope <close> = s:auto_synchronize()" },
  { "an event", "roc.event():record(s)" },
}

local ARRAYS = { "a:totable()", "a:tobytes()", "a:copy()", "a:astype('int8')", "a:ravel('F')",
  "a:transpose():slice(1, 2, 3)", "roc.array(a, 'int8')", "tostring(a)", "a:get('host')" }

local function run(code, device)
  local ok, output = programs.run("timeout 100 env " ..
    programs.lua(PRELUDE .. code, "ROCLUA_DEVICE=" .. (device or "cpu")))
  assert.is_true(ok, output)
end

describe("a finalizer", function()
  for _, case in ipairs(STREAMS) do
    it(("may close the stream of %s"):format(case[1]), function()
      run(("try(roc.stream, function(s) %s end)"):format(case[2]), case[3])
    end)
  end

  for _, call in ipairs(ARRAYS) do
    it("may close the array in " .. call, function()
      run(("try(smart, function(a) return %s end)"):format(call))
    end)
  end

  it("may close a stream that only the proxy of an options table gave", function()
    run [[
      local options = setmetatable({}, { __index = function(_, name)
        if name == "stream" then return roc.stream() end
      end })
      collectgarbage("incremental", 10, 400, 20)
      for i = 1, 300 do
        for _ = 1, i % 150 do local _ = {} end
        roc.to_device(h, options)
      end
    ]]
  end)

  it("may close a captured array", function()
    run([[
      local captured
      local reads = roc.kernel("function(y) y[1] = #captured end",
        { env = setmetatable({}, { __index = function() return captured end }) })
      try(function() captured = roc.device_array(8) return captured end, function() reads[{ 1, 1 }](d) end)
    ]], "sim")
  end)

  it("has its like in a metamethod that runs when a launch reads what its kernel captures",
    function()
    run [[
      local s
      local env = setmetatable({}, { __index = function()
        if s then s:close() end
        return 5
      end })
      local reads = roc.kernel("function(y) y[1] = global end", { env = env })
      s = roc.stream()
      local ok, err = pcall(reads[{ 1, 1, s }], d)
      assert(not ok and tostring(err):find("the stream is closed", 1, true), err)
    ]]
  end)
end)
