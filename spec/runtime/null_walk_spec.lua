-- Every driver call of whole scenarios fails in turn, and every allocation: nothing leaks, nothing
-- is lost, and the next run works.
local roc = require "roc"
local devices = require "support.devices"
local testing = require("roc.core").testing

local CALLS = { "alloc", "alloc_host", "host_register", "stream_create", "copy", "fill", "scatter",
  "launch", "host_call", "stream_wait", "wait", "module_load" }

-- Kernels do nothing on this device, copies and fills are real.
local double = roc.kernel(function(x)
  local i = roc.get_global_id(1)
  x[i] = x[i] * 2
end)

local scenarios = {
  ["an array, a kernel, a launch, a copy back and a free"] = function()
    local h = roc.range(1, 16, 1, "float64")
    local d = roc.to_device(h)
    double:forall(16)(d)
    d:slice(1, 1, 4):fill(9)
    d[5] = 7
    local back = d:copy_to_host()
    roc.current_device():synchronize()
    d:close()
    return back:totable()
  end,
  ["host arrays as arguments"] = function()
    local h = roc.range(1, 16, 1, "float64")
    double:forall(16)(h)
    double:forall(8)(h:slice(1, 1, 16, 2))
    double:forall(16)(roc.In(h))
    return h:totable()
  end,
  ["a kernel that is compiled and loaded"] = function()
    local k = roc.kernel("function(x) x[1] = x[2] end", { env = {} })
    k:forall(1)(roc.device_array(4))
    roc.current_device():synchronize()
    return k.name
  end,
  ["registrations and page-locked memory"] = function()
    local a, p = roc.range(1, 16, 1, "float64"), roc.pinned_array(16)
    local r <close> = roc.register(a, a, p)
    double:forall(16)(a)
    p:fill(3)
    double:forall(16)(p)
    local d = roc.to_device(a)
    d:copy_to_host(p)
    return p:totable()
  end,
  ["a smart array"] = function()
    local s = roc.smart_array(roc.range(1, 16, 1, "float64"))
    double:forall(16)(s)
    local x = s[3]
    s[3] = x + 1
    double:forall(16)(s)
    local t = s:totable()
    s:get("device"):fill(5)
    s:mark_changed("device")
    t[17] = s[1]
    s:close()
    return t
  end,
  ["strided copies"] = function()
    local m = roc.range(1, 24, 1, "int32"):reshape(4, 6)
    local d = roc.to_device(m:transpose())
    d:slice(1, 1, 6, 2):fill(0)
    d:slice(2, 2, 3):copy_from_host(roc.ones({ 6, 2 }, "int32"))
    local e = roc.device_array_like(d)
    d:transpose():copy_to_device(e:transpose())
    return e:copy_to_host():totable()
  end,
  ["streams and events"] = function()
    local s <close> = roc.stream()
    local e = roc.event()
    local h = roc.range(1, 16, 1, "float64")
    local d = roc.to_device(h, { stream = s })
    double:launch({ grid = 16, workgroup = 16, stream = s }, d)
    e:record(s)
    local back = roc.zeros(16)
    d:copy_to_host(back, s)
    e:synchronize()
    s:synchronize()
    return back:totable()
  end,
}

describe("on the null device", function()
  local device
  devices.use("null")
  setup(function() device = roc.current_device() end)
  after_each(function()
    testing.null_clear()
    testing.fail_alloc(0)
    if device.state == "lost" then device:reset() end
  end)

  -- Ends what a failed run has left in flight, and returns what is still held.
  local function settle()
    testing.null_clear()
    testing.fail_alloc(0)
    if device.state == "lost" then device:reset() end
    pcall(device.synchronize, device)
    collectgarbage()
    collectgarbage()
    roc.trim_memory()
    return { bytes = testing.null_live_bytes(), registered = testing.null_registered(),
      blocks = testing.live_blocks(), live = roc.memory_info().live }
  end

  -- Runs with a planted failure and without; both times all must come back.
  local function check_run(scenario, expected, held, what, code)
    local ok, err = pcall(scenario)
    if ok then
      assert.same(expected, err, what)
    else
      local is_it = type(err) == "table" and err.code == code
        or code == "oom" and tostring(err):find "memory"
      assert(is_it, ("%s: %s"):format(what, tostring(err)))
    end
    assert.same(held, settle(), what)
    assert.same(expected, scenario(), what)
    assert.same(held, settle(), what)
    return ok
  end

  for name, scenario in pairs(scenarios) do
    describe(name, function()
      local expected, held, counts

      setup(function()
        for _ = 1, 2 do -- the first run fills caches
          settle()
          expected = scenario()
          counts = {}
          for _, call in ipairs(CALLS) do counts[call] = testing.null_calls(call) end
        end
        held = settle()
      end)

      for _, code in ipairs { "io", "oom", "lost" } do
        it(("survives '%s' at any driver call"):format(code), function()
          local failures = 0
          for _, call in ipairs(CALLS) do
            for n = 1, counts[call] do
              local what = ("%s %d of %d, %s"):format(call, n, counts[call], code)
              testing.null_clear()
              testing.null_fail(call, n, code)
              if not check_run(scenario, expected, held, what, code) then
                failures = failures + 1
              end
            end
          end
          assert.is_true(failures > 0 or code == "oom", "no planted failure was seen")
        end)
      end

      it("survives the failure of any allocation", function()
        collectgarbage "stop" -- else a failure is answered by a collection and a second try
        local failures, quiet = 0, 0
        for n = 1, 200 do
          testing.null_clear()
          testing.fail_alloc(n)
          if check_run(scenario, expected, held, "allocation " .. n, "oom") then
            quiet = quiet + 1
          else
            failures, quiet = failures + 1, 0
          end
          if quiet > 30 then break end -- all of them have had their turn
        end
        collectgarbage "restart"
        assert.is_true(failures > 0)
      end)
    end)
  end
end)
