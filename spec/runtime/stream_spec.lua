-- Streams that are at work: what runs at the same time, and what never waits for work it has
-- nothing to do with.
--
-- A stream is blocked by a kernel that spins until another kernel, on another stream, sets a flag;
-- so what happens meanwhile needs no clock to be seen.
local roc = require "roc"
local programs = require "support.programs"
local testing = require("roc.core").testing

-- Runs code in a fresh process whose cpu device has three threads, on any machine.
local PRELUDE = [[
local roc = require "roc"
local env = { roc = roc }
local function kernel(text) return roc.kernel(text, { env = env }) end
local spin = kernel "function(flag) while roc.atomic.load(flag, 1) == 0 do end end"
local set = kernel "function(flag) roc.atomic.store(flag, 1, 1) end"
local count = kernel "function(y) local i = roc.get_global_id(1) y[i] = y[i] + 1 end"
local function new_flag() return roc.to_device(roc.zeros(1, "int32")) end
local a, b, c = roc.stream(), roc.stream(), roc.stream()
local flag, x, y = new_flag(), roc.to_device(roc.zeros(100)), roc.to_device(roc.zeros(100))
]]

local function command(code, threads)
  local variables = "ROCLUA_DEVICE=cpu ROCLUA_CPU_DEVICES= ROCLUA_CPU_THREADS=" .. (threads or 3)
  return "timeout 60 env " .. programs.lua(PRELUDE .. code, variables)
end

local function run(code, threads)
  local ok, output = programs.run(command(code, threads))
  assert.is_true(ok, output)
  return output
end

describe("streams of the cpu device", function()
  it("run kernels at the same time", function()
    run [[
      spin[{ 1, 1, a }](flag) -- ends when the next one runs beside it
      set[{ 1, 1, b }](flag)
      a:synchronize()
    ]]
  end)

  it("run kernels beside those of the default stream", function()
    run [[
      spin[{ 1, 1 }](flag)
      set[{ 1, 1, b }](flag)
      roc.current_device():synchronize()
      flag:fill(0)
      spin[{ 1, 1, b }](flag)
      set[{ 1, 1 }](flag)
      roc.current_device():synchronize()
    ]]
  end)

  it("run a kernel whose time is known to be short in the background too", function()
    run [[
      set[{ 1, 1, a }](flag)
      spin[{ 1, 1, a }](flag)
      a:synchronize()
      for _ = 1, 100 do
        local flag = new_flag()
        spin[{ 1, 1, a }](flag)
        set[{ 1, 1, b }](flag)
      end
      a:synchronize()
    ]]
  end)

  it("copy beside a kernel", function()
    run [[
      local h = roc.zeros(1000000)
      spin[{ 1, 1, a }](flag)
      local d = roc.to_device(roc.ones(1000000), { stream = b })
      d:copy_to_host(h, b)
      b:synchronize()
      assert(h[1000000] == 1 and not a:query())
      set[{ 1, 1, b }](flag)
      a:synchronize()
    ]]
  end)

  it("wait for another's event without holding up a third", function()
    run [[
      spin[{ 1, 1, a }](flag)
      local e = roc.event():record(a)
      b:wait(e)
      count:forall(100, { stream = b })(x)
      count:forall(100, { stream = c })(y)
      c:synchronize()
      assert(y[100] == 1 and not e:query() and not a:query() and not b:query())
      set[{ 1, 1, c }](flag)
      assert(x[100] == 1 and e:query())
    ]]
  end)

  it("are waited for by host access only as far as they use the array", function()
    run [[
      count:forall(100, { stream = a })(x)
      spin[{ 1, 1, a }](flag)
      assert(x[100] == 1) -- the kernel before the blocked one
      y:fill(3)
      assert(y[100] == 3 and y:copy_to_host()[1] == 3 and not a:query())
      local h = roc.ones(100)
      count:forall(100)(h) -- the default stream goes there and back
      assert(h[100] == 2 and not a:query())
      local big = roc.zeros(500000)
      big:copy() big:fill(1)
      set[{ 1, 1, b }](flag)
    ]]
  end)

  it("are waited for by a launch on a host array that they use", function()
    run [[
      local h = roc.zeros(100)
      x:fill(4)
      a:wait(roc.event():record(c))
      spin[{ 1, 1, a }](flag)
      x:copy_to_host(h, a)
      set[{ 1, 1, b }](flag)
      count:forall(100, { stream = c })(h)
      assert(h[1] == 5 and h[100] == 5 and x[1] == 4)
    ]]
  end)

  it("may be dropped with everything that uses them, in any order", function()
    run [[
      for i = 1, 300 do
        local s, t = roc.stream(), roc.stream()
        local d, e = roc.to_device(roc.zeros(50), { stream = s }), roc.event()
        local all = { s, t, d, e, kernel "function(y) y[1] = 1 end", s:auto_synchronize() }
        all[#all + 1] = all[5][{ 1, 1, t }]
        e:record(s)
        t:wait(e)
        all[7](d)
        s:callback(function() return all end, all)
        table.move(all, i % 7 + 1, 7, 1)
        if i % 40 == 0 then collectgarbage() end
        if i % 25 == 0 then setmetatable({}, { __gc = function() all[1] = nil end }) end
      end
      left = { a, b, c, flag, x, y } -- to the closing of the state
    ]]
  end)

  it("are not waited for by allocating, freeing, launching, compiling and collecting", function()
    run [[
      count:forall(100, { stream = a })(x)
      spin[{ 1, 1, a }](flag)
      count:forall(100, { stream = a })(x)
      x:close() -- in use
      for i = 1, 200 do
        local d <close> = roc.device_array(1000 * i)
        local s <close> = roc.stream()
        local e <close> = roc.event():record(a)
        count:forall(100, { stream = s })(y)
        b:wait(roc.event():record(s))
        if i % 50 == 0 then collectgarbage() end
      end
      local k = kernel "function(y) y[roc.get_global_id(1)] = 5 end"
      k:forall(100, { stream = b })(y)
      assert(y[1] == 5)
      assert(not a:query())
      set[{ 1, 1, b }](flag)
    ]]
  end)

  it("call back when they get there, whatever the others do", function()
    run [[
      local seen = {}
      local function note(name) seen[#seen + 1] = name end
      spin[{ 1, 1, a }](flag)
      a:callback(note, "a")
      b:callback(note, "b")
      b:synchronize()
      assert(table.concat(seen) == "b")
      set[{ 1, 1, b }](flag)
      b:callback(note, "c")
      a:synchronize() b:synchronize()
      assert(#seen == 3)
    ]]
  end)

  it("are waited for when the state closes, and when the program ends with an error", function()
    for _, ending in ipairs { "", "os.exit(0, true)", "a:close() b:close() flag:close()" } do
      run("spin[{ 1, 1, a }](flag) b:wait(roc.event():record(c)) set[{ 1, 1, b }](flag) " .. ending)
    end
    local ok, output =
      programs.run(command "spin[{ 1, 1, a }](flag) set[{ 1, 1, b }](flag) error('mine')")
    assert.is_false(ok)
    assert.is_truthy(output:find("mine", 1, true), output)
  end)

  it("take turns where there is one thread", function()
    run([[
      local e = roc.event()
      for n = 1, 50 do
        count:forall(100, { stream = a })(x)
        b:wait(e:record(a))
        count:forall(100, { stream = b })(x)
        a:wait(e:record(b))
      end
      assert(x[100] == 100)
    ]], 1)
  end)
end)

describe("a wait", function()
  local slow = roc.kernel([[function(y, n)
    local i, s = roc.get_global_id(1), 0
    for j = 1, n do s = (s * 31 + j) % 1000003 end
    y[i] = s
  end]], { env = { roc = roc } })

  it("for a stream or an event is ended by an interrupt, and can be begun again", function()
    local _ <close> = roc.on_device("cpu")
    local s, y = roc.stream(), roc.device_array(1 << 20, "int64")
    for _, wait in ipairs {
      function() s:synchronize() end,
      function() roc.event():record(s):synchronize() end,
      function() local scope <close> = s:auto_synchronize() end,
    } do
      slow[{ 1 << 14, 64, s }](y, 100000)
      testing.interrupt()
      local ok, err = pcall(wait)
      assert.is_false(ok)
      assert.equal("interrupted!", tostring(err))
      s:synchronize()
    end
  end)

  it("of a scope that an error leaves is ended by an interrupt, and the error goes on", function()
    local _ <close> = roc.on_device("cpu")
    local s, y = roc.stream(), roc.device_array(1 << 20, "int64")
    local ok, err = pcall(function()
      local scope <close> = s:auto_synchronize()
      slow[{ 1 << 14, 64, s }](y, 100000)
      testing.interrupt()
      error("mine", 0)
    end)
    assert.is_false(ok)
    assert.equal("mine", err)
    s:synchronize()
  end)
end)

describe("while the null device holds its work back", function()
  local device, scope, set
  setup(function()
    scope = roc.on_device("null")
    device = roc.current_device()
    set = roc.kernel("function(y) y[roc.get_global_id(1)] = 1 end", { env = { roc = roc } })
    set:forall(10)(roc.device_array(10))
    device:synchronize()
  end)
  teardown(function() scope:close() end)
  before_each(testing.null_clear)
  after_each(testing.null_clear)

  it("queueing, allocating and freeing wait for nothing", function()
    local s, t = roc.stream(), roc.stream()
    local x, h = roc.device_array(1000), roc.zeros(1000)
    local constant = roc.const.array { 1, 2, 3 }
    testing.null_hold(true)
    set:forall(1000, { stream = s })(x)
    testing.null_clear() -- counts from here on; also lets go
    testing.null_hold(true)
    for i = 1, 20 do
      local y <close> = roc.to_device(h, { stream = s })
      y:fill(i, s)
      y:copy_to_host(h, t)
      y:copy_to_device(x, t)
      local e <close> = roc.event():record(s)
      t:wait(e)
      set[{ 10, 100, t }](y)
      assert.is_false(e:query())
      assert.is_false(t:query())
    end
    assert.equal(3, #constant)
    collectgarbage()
    testing.trim(device)
    s:close()
    t:close()
    assert.equal(0, testing.null_calls("wait"))
    testing.null_hold(false)
    device:synchronize()
  end)

  it("a stream that could not be made, or an event that could not be recorded, changes nothing",
    function()
    local s, e = roc.stream(), roc.event()
    e:record(s)
    for _, case in ipairs {
      { "stream_create", roc.stream }, { "host_call", function() e:record(s) end },
    } do
      testing.null_fail(case[1], 1, "io")
      local ok, err = pcall(case[2])
      assert.is_false(ok)
      assert.equal("io", err.code)
    end
    local other = roc.stream()
    testing.null_fail("stream_wait", 1, "io")
    local ok, err = pcall(other.wait, other, e)
    assert.is_false(ok)
    assert.equal("io", err.code)
    e:synchronize()
    other:wait(e)
    other:synchronize()
  end)

  it("the failure of any allocation of the core leaves streams, events and callbacks usable",
    function()
    local x = roc.device_array(100)
    local function work()
      local s <close> = roc.stream()
      local t <close> = roc.stream()
      local e <close> = roc.event():record(s)
      t:wait(e)
      x:fill(2, t)
      e:record(t)
      x:slice(1, 1, 99, 2):fill(3, t)
      t:callback(function() end)
      t:synchronize()
      return x[1]
    end
    local function settled_blocks()
      assert.equal(3.0, work())
      collectgarbage()
      device:synchronize()
      testing.trim(device)
      return testing.live_blocks()
    end
    settled_blocks()
    local live, failures = settled_blocks(), 0
    collectgarbage("stop") -- else a failure is answered by a collection and a second try
    for n = 1, 40 do
      testing.fail_alloc(n)
      local ok, result = pcall(work)
      testing.fail_alloc(0)
      if ok then
        assert.equal(3.0, result)
      else
        failures = failures + 1
        assert.equal("oom", result.code)
      end
      device:synchronize()
    end
    collectgarbage("restart")
    collectgarbage()
    assert.is_true(failures >= 3, failures .. " failures")
    assert.is_true(settled_blocks() <= live, "blocks are lost") -- less when older garbage is gone
  end)
end)
