-- What arrays hold and give back: the pool, the pace of the collector, running out, and the order
-- in which things end.
local roc = require "roc"
local devices = require "support.devices"
local programs = require "support.programs"
local testing = require("roc.core").testing

local MIB <const> = 1 << 20

local function collect()
  collectgarbage()
  collectgarbage()
end

for _, kind in ipairs { "cpu", "sim", "null" } do
  describe("the memory of " .. kind, function()
    devices.use(kind)
    before_each(function()
      testing.null_clear()
      collect()
      roc.trim_memory()
    end)

    it("is counted while arrays use it, kept when they end, and given back on demand", function()
      local before = roc.memory_info()
      local d = roc.device_array(1 << 16, "uint8")
      local during = roc.memory_info()
      assert.equal(before.used + (1 << 16), during.used)
      assert.equal(before.live + (1 << 16), during.live)
      assert.equal(0, during.cached)
      assert.is_true(during.total >= during.free)
      local view = d:slice(1, 1, 10)
      d:close()
      assert.equal(during.used, roc.memory_info(kind).used)
      view:close()
      assert.same({ before.used, 1 << 16 }, { roc.memory_info().used, roc.memory_info().cached })
      roc.trim_memory(roc.current_device())
      assert.same({ before.used, 0 }, { roc.memory_info().used, roc.memory_info().cached })
      assert.equal(before.live, roc.memory_info().live)
    end)

    it("counts host arrays and page-locked ones as alive", function()
      local before = roc.memory_info().live
      local a, p = roc.empty(1000, "uint8"), roc.pinned_array(500, "uint8")
      assert.equal(before + 1500, roc.memory_info().live)
      a, p = nil, nil
      collect()
      assert.equal(before, roc.memory_info().live)
      assert.is_nil(a or p)
    end)

    -- What the collector's pace follows: arrays and Lua's own heap.
    local function alive()
      return roc.memory_info().live + collectgarbage "count" * 1024
    end

    -- The most that was alive while `make` made `count` temporaries beside arrays that stay, over
    -- what was alive before.
    local function peak_of(make, count)
      local kept = {}
      for i = 1, 8 do kept[i] = roc.empty(4 * MIB, "uint8") end
      collect()
      local live, peak = alive(), 0
      for _ = 1, count do
        make()
        peak = math.max(peak, alive())
      end
      assert.equal(8, #kept)
      return peak / live
    end

    for _, mode in ipairs { "incremental", "generational" } do
      it(("stays within a few times the live size in a loop of temporaries (%s)"):format(mode),
        function()
        local was = collectgarbage(mode)
        local host = peak_of(function() return roc.empty(MIB, "uint8") end, 200)
        local device = peak_of(function() return roc.device_array(MIB, "uint8") end, 200)
        local pinned = peak_of(function() return roc.pinned_array(MIB, "uint8") end, 200)
        local chained = peak_of((function()
          local last
          return function() last = { roc.device_array(MIB, "uint8"), last and last[1] } end
        end)(), 200)
        collectgarbage(was)
        for name, times in pairs { host = host, device = device, pinned = pinned,
          chained = chained } do
          assert(times < 4, ("%s: %.1f times the live size"):format(name, times))
        end
      end)
    end

    it("is not collected by us while the script has stopped the collector", function()
      collectgarbage "stop"
      local before = roc.memory_info().live
      for _ = 1, 40 do roc.empty(MIB, "uint8") end
      local grown = roc.memory_info().live - before
      collectgarbage "restart"
      assert.equal(40 * MIB, grown)
    end)
  end)
end

describe("the memory of host arrays", function()
  local function resident()
    local file <close> = assert(io.open "/proc/self/statm")
    return select(2, file:read("n", "n")) * 4096
  end

  it("is kept for the next array, and given back on demand", function()
    local program = require("support.shell").interpreter
    if program and programs.sanitizer(program) ~= "" then
      return pending("a sanitizer keeps freed blocks to itself")
    end
    local n = 40 * MIB -- malloc has mapped it, and unmaps it
    local pointers, count = {}, 0
    for _ = 1, 20 do
      collect()
      local pointer = roc.ones(n, "uint8").pointer
      if not pointers[pointer] then count = count + 1 end
      pointers[pointer] = true
    end
    assert.is_true(count <= 2)
    collect()
    local before = resident()
    roc.trim_memory()
    assert.is_true(before - resident() >= n // 2)
    assert.equal(0, roc.zeros(n, "uint8"):max())
  end)

  it("of many small arrays is used again, and is what was asked for", function()
    local function check()
      local arrays = {}
      for i = 1, 300 do arrays[i] = roc.full(i % 40, 3, "float64") end
      for i = 1, 300 do
        assert.equal(i % 40, arrays[i]:eq(3):count())
        if i % 10 == 0 then assert.equal(0, arrays[i].pointer % 64) end
      end
      arrays = nil
      collect()
      assert.is_nil(arrays)
      for i = 1, 300 do assert.equal(i % 40, roc.zeros(i % 40):eq(0):count()) end
      collect()
      return testing.live_blocks()
    end
    check() -- makes kernels
    local live = check()
    assert.equal(live, check())
    roc.trim_memory()
    assert.equal(live, check())
  end)
end)

describe("memory that runs out", function()
  local device
  devices.use("null")
  setup(function() device = roc.current_device() end)
  before_each(function()
    testing.null_clear()
    collect()
    roc.trim_memory()
  end)
  after_each(function() testing.null_clear() end)

  local function fails_with_oom(f)
    local ok, err = pcall(f)
    assert.is_false(ok)
    assert.equal("oom", err.code)
  end

  it("is had by collecting dropped arrays", function()
    testing.null_limit(64 * MIB)
    collectgarbage "stop" -- drop them unnoticed …
    for _ = 1, 6 do roc.device_array(10 * MIB, "uint8") end
    collectgarbage "restart" -- … and let the seventh find out
    assert.equal(10 * MIB, roc.device_array(10 * MIB, "uint8").size)
  end)

  it("is had from the pool, of another size class too, when the collector is stopped", function()
    testing.null_limit(64 * MIB)
    for _ = 1, 3 do roc.device_array(20 * MIB, "uint8"):close() end
    collectgarbage "stop"
    assert.equal(60 * MIB, roc.device_array(60 * MIB, "uint8").size)
    fails_with_oom(function() roc.device_array(10 * MIB, "uint8") end)
    collectgarbage "restart"
    assert.equal(10 * MIB, roc.device_array(10 * MIB, "uint8").size)
  end)

  it("raises when all of it is in use, and is there again when arrays are closed", function()
    testing.null_limit(64 * MIB)
    local kept = roc.device_array(50 * MIB, "uint8")
    fails_with_oom(function() roc.device_array(20 * MIB, "uint8") end)
    fails_with_oom(function() roc.smart_array(roc.zeros(20 * MIB, "uint8")):get("device") end)
    local k = roc.kernel(function(x) x[1] = 1 end)
    fails_with_oom(function() k:forall(1)(roc.zeros(20 * MIB, "uint8")) end)
    kept:close()
    assert.equal(20 * MIB, roc.device_array(20 * MIB, "uint8").size)
    k:forall(1)(roc.zeros(20 * MIB, "uint8"))
    device:synchronize()
  end)

  it("is had for launches and smart arrays by collecting, too", function()
    local k = roc.kernel(function(x) x[1] = 1 end)
    for _, use in ipairs {
      function() k:forall(1)(roc.zeros(20 * MIB, "uint8")) end,
      function() roc.smart_array(roc.zeros(20 * MIB, "uint8")):get("device") end,
      function() k:forall(1)(roc.smart_array(roc.zeros(20 * MIB, "uint8"))) end,
      function() roc.to_device(roc.zeros(20 * MIB, "uint8")) end,
      function() roc.device_array(20 * MIB, "uint8"):reshape(4, -1):transpose():ravel() end,
    } do
      collect()
      roc.trim_memory()
      testing.null_limit(64 * MIB)
      collectgarbage "stop"
      for _ = 1, 6 do roc.device_array(10 * MIB, "uint8") end
      collectgarbage "restart"
      assert.has_no_error(use)
    end
  end)
end)

describe("the end of a state", function()
  for _, kind in ipairs { "cpu", "sim", "null" } do
    it("takes arrays, registrations, kernels in flight, in any order on " .. kind, function()
      local code = [[
        local roc = require "roc"
        roc.select_device(KIND)
        local k = roc.kernel("function(x) local i = roc.get_global_id(1) x[i] = x[i] + 1 end", { env = { roc = roc } })
        kept = {}
        for i = 1, 30 do
          local a = roc.zeros(5000)
          local r, s, d = roc.register(a), roc.smart_array(roc.zeros(5000)), roc.to_device(a)
          local p = roc.pinned_array(5000)
          k:forall(5000)(a) k:forall(5000)(s) k:forall(5000)(d) k:forall(5000)(p)
          for j, v in ipairs { a, r, s, d, p, a:reshape(50, 100)[3], d:slice(1, 2, 9), s:slice(1, 5, 6), k:forall(7) } do
            if (i * 7 + j * 3) % 4 ~= 0 then kept[#kept + 1] = v end
          end
          if i % 5 == 0 then r:close() end
          if i % 6 == 0 then d:close() end
          if i % 9 == 0 then s:close() end
        end
        setmetatable(kept, { __gc = function(t)
          for i = #t, 1, -1 do if t[i].close then pcall(t[i].close, t[i]) end pcall(tostring, t[i]) end
        end })
        print "reached the end"
      ]]
      local ok, output = programs.run(programs.lua((code:gsub("KIND", ("%q"):format(kind)))))
      assert.is_true(ok, output)
      assert.equal("reached the end\n", output)
    end)
  end
end)
