-- Timelines: what is in them, and that they are timelines.
local asserted = require "support.asserted"
local devices = require "support.devices"
local files = require "support.files"
local json = require "support.json"
local roc = require "roc"
local shell = require "support.shell"

local function check(holds, what)
  asserted.check(holds, 2, "%s", what)
end

-- Records what f(…) does; the events, and those that are spans.
local function record(f)
  local path = os.tmpname()
  finally(function() os.remove(path) end)
  local trace = roc.trace(path)
  local ok, why = pcall(f, trace)
  trace:close()
  assert.is_true(ok, why)
  return json.read(files.read(path)).traceEvents
end

local function spans_of(events, category)
  local spans = {}
  for _, event in ipairs(events) do
    if event.ph == "X" and (not category or event.cat == category) then
      spans[#spans + 1] = event
    end
  end
  return spans
end

-- Spans by process and thread, in the order of their beginnings; of two that begin together the
-- longer one first.
local function by_thread(events)
  local threads = {}
  for _, span in ipairs(spans_of(events)) do
    local key = span.pid .. "/" .. span.tid
    threads[key] = threads[key] or { is_stream = span.pid >= 10 }
    table.insert(threads[key], span)
  end
  for _, list in pairs(threads) do
    table.sort(list, function(a, b) return a.ts < b.ts or a.ts == b.ts and a.dur > b.dur end)
  end
  return threads
end

local SLACK = 0.002 -- µs: times are written with three digits

-- Asserts that streams do not overlap themselves, and that spans of a thread nest.
local function assert_is_timeline(events)
  local names = {}
  for _, event in ipairs(events) do
    if event.name == "thread_name" then names[event.pid .. "/" .. event.tid] = event.args.name end
  end
  for key, list in pairs(by_thread(events)) do
    assert.is_string(names[key], key)
    local open = {}
    for _, span in ipairs(list) do
      check(span.ts >= 0 and span.dur >= 0, span.name)
      while open[1] and open[#open] <= span.ts + SLACK do open[#open] = nil end
      check(not open[1] or not list.is_stream, "a stream overlaps itself: " .. span.name)
      check(not open[1] or span.ts + span.dur <= open[#open] + SLACK, "not nested: " .. span.name)
      open[#open + 1] = span.ts + span.dur
    end
  end
end

describe("a timeline", function()
  local has_threads = false
  for _, device in ipairs(roc.devices()) do
    has_threads = has_threads or device.kind == "cpu" and device.compute_units > 1
  end
  if has_threads then
    it("has large fills and copies on cpu as work of a stream, whose threads share it", function()
      local events = record(function()
        local scope <close> = roc.on_device("cpu")
        local large, small = roc.device_array(3 << 20, "float32"), roc.device_array(1000, "float32")
        large:fill(2)
        small:fill(3)
        large:copy_to_device(roc.device_array_like(large))
      end)
      assert_is_timeline(events)
      for _, span in ipairs(spans_of(events)) do
        check((span.pid >= 10) == (span.args.bytes == 12 << 20), span.name)
      end
      assert.are.equal(2, #spans_of(events, "fill"))
      assert.are.equal(1, #spans_of(events, "copy"))
    end)
  end

  it("has no copies of host arrays on cpu, where all checks of a kernel are proved", function()
    local events = record(function()
      local scope <close> = roc.on_device("cpu")
      local k = devices.kernel([[function(a, b)
        local i = roc.get_global_id(1)
        if i <= #a and i <= #b then b[i] = a[i] + 1 end
      end]])
      local a, b = roc.ones(1000), roc.zeros(1000)
      k:forall(1000)(roc.In(a), roc.Out(b))
      assert.are.equal(2000, b:sum())
    end)
    assert.are.same({ 1, 0 }, { #spans_of(events, "kernel"), #spans_of(events, "copy") })
  end)

  devices.each(function(device)
    it("has all work of all streams, each at its time", function()
      local called = false
      local events = record(function()
        local k = devices.kernel("function(a) local i = roc.get_global_id(1) a[i] = a[i] + 1 end",
          { name = "add_one" })
        local first, second, event = roc.stream(), roc.stream(), roc.event()
        local host = roc.ones(1000, "int32")
        local a, b = roc.to_device(host), roc.to_device(host)
        for _ = 1, 5 do
          k:forall(1000, { stream = first })(a)
          k:forall(1000, { stream = second, workgroup = 50 })(b)
        end
        event:record(first)
        second:wait(event)
        k:forall(1000, { stream = second })(a)
        b:fill(7)
        first:callback(function() called = true end)
        first:synchronize()
        second:synchronize()
        assert.are.equal(7, a:copy_to_host()[1])
      end)
      assert.is_true(called)
      assert_is_timeline(events)
      local kernels = spans_of(events, "kernel")
      local streams, count = {}, 0
      for _, span in ipairs(kernels) do
        check(span.name == "add_one", span.name)
        count = count + (streams[span.tid] and 0 or 1)
        streams[span.tid] = true
      end
      assert.are.same({ 11, 2 }, { #kernels, count })
      if device.kind ~= "sim" then
        assert.are.same({ { 1000 }, { 50 } }, { kernels[2].args.items, kernels[2].args.workgroup })
        assert.matches("trace_spec.lua:%d+$", kernels[1].args.at)
        assert.are.equal(device.kind == "sim" and 0 or 1, #spans_of(events, "compile"))
      end
      assert.is_true(#spans_of(events, "copy") >= 3)
      for _, span in ipairs(spans_of(events, "copy")) do
        check(span.args.bytes == 4000, span.args.bytes)
        local rate = 4 / span.dur
        check(span.dur == 0 or math.abs(span.args["GB/s"] - rate) < 0.01 * rate + 0.1, rate)
      end
      assert.are.equal(1, #spans_of(events, "fill"))
      assert.are.equal(1, #spans_of(events, "callback"))
    end)

    it("orders what waits for another stream", function()
      local events = record(function()
        local k = devices.kernel([[function(a, n)
          local s = 0 for i = 1, n do s = s + i % 7 end a[1] = s end]], { name = "long" })
        local last = devices.kernel("function(a) a[2] = a[1] end", { name = "last" })
        local first, second, event = roc.stream(), roc.stream(), roc.event()
        local a = roc.to_device(roc.zeros(2, "int64"))
        k:forall(1, { stream = first })(a, 20000)
        event:record(first)
        second:wait(event)
        last:forall(1, { stream = second })(a)
      end)
      assert_is_timeline(events)
      local kernels = spans_of(events, "kernel")
      assert.are.same({ "long", "last" }, { kernels[1].name, kernels[2].name })
      -- ROCR translates the GPU's times, from clocks that it compares now and then
      local slack = device.kind == "hsa" and 1 or SLACK
      assert.is_true(kernels[2].ts >= kernels[1].ts + kernels[1].dur - slack)
    end)
  end)

  it("has waits of the host, and what was queued before nothing of it", function()
    local k = devices.kernel("function(a, n) for i = 1, n do a[1] = a[1] + i % 3 end end")
    local a = roc.to_device(roc.zeros(1, "int64"))
    local before = roc.stream()
    k:forall(1, { stream = before })(a, 1000)
    before:synchronize()
    local events = record(function()
      for _ = 1, 20 do k:forall(1, { stream = before })(a, 3000000) end
      before:synchronize()
    end)
    assert.are.equal(20, #spans_of(events, "kernel"))
    assert.is_true(#spans_of(events, "wait") >= 1)
    assert_is_timeline(events)
  end)

  it("has a summary, with or without a file", function()
    local trace <close> = roc.trace()
    local k = devices.kernel("function(a) a[1] = 1 end", { name = "summed" })
    for _ = 1, 3 do k:forall(1)(roc.device_array(4)) end
    local text = trace:summary()
    assert.matches("^device +work +name +calls +total ms", text)
    assert.matches("\n%S[^\n]- +kernel +summed +3 +%d+%.%d+ ", text)
  end)

  it("is one at a time, and ends once", function()
    local trace = roc.trace()
    assert.error_matches(function() roc.trace() end, "a timeline is being recorded already")
    trace:close()
    trace:close()
    assert.error_matches(function() trace:summary() end, "the trace is closed")
    assert.error_matches(function() roc.trace({}) end, "string expected")
    roc.trace():close()
  end)

  it("that is collected ends without a file", function()
    roc.trace()
    collectgarbage()
    collectgarbage()
    assert.has_no.errors(function() roc.trace():close() end)
  end)

  it("that cannot be written is an error of close, and the next one goes on", function()
    local trace = roc.trace "/no such folder/x.json"
    assert.error_matches(function() trace:close() end, "/no such folder/x.json")
    assert_is_timeline(record(function() end))
  end)

  it("keeps names that JSON has to quote", function()
    local events = record(function()
      devices.kernel("function(a) a[1] = 1 end", { name = 'a "b"\\c\n' }):forall(1)(
        roc.device_array(1))
    end)
    assert.are.equal('a "b"\\c\n', spans_of(events, "kernel")[1].name)
  end)
end)

describe("the program's timeline", function()
  if not shell.interpreter then return pending("the specs do not run in roclua") end

  local SCRIPT = [[-e 'local roc = require "roc" local k = roc.kernel(function(a) a[1] = 1 end,
    {name = "told"}) k:forall(1)(roc.device_array(1))']]

  it("is written at its end, by --trace, ROCLUA_TRACE and os.exit", function()
    for _, command in ipairs { "ROCLUA --trace %s %s", "ROCLUA --trace=%s %s",
      "ROCLUA_TRACE=%s ROCLUA %s", "ROCLUA --trace %s %s -e 'os.exit(0)'" } do
      local path = os.tmpname()
      local output, status = shell.run(command:format(path, SCRIPT))
      assert.are.same({ "", 0 }, { output, status })
      local events = json.read(files.read(path)).traceEvents
      os.remove(path)
      assert.are.equal("told", spans_of(events, "kernel")[1].name)
      assert_is_timeline(events)
    end
  end)

  it("is a table on stderr with --profile", function()
    local output, status = shell.run("ROCLUA --profile " .. SCRIPT .. " 2>&1 >/dev/null")
    assert.are.equal(0, status)
    assert.matches("^device .*\n%S[^\n]- +kernel +told +1 ", output)
  end)

  it("is refused before the script runs where it cannot be written", function()
    local output, status = shell.run("ROCLUA --trace '/no such folder/x' -e 'print(1)'")
    assert.matches("cannot write '/no such folder/x'", output)
    assert.are.same({ nil, 1 }, { output:match "\n1\n", status })
    assert.matches("'%-%-trace' needs argument", (shell.run "ROCLUA --trace"))
  end)
end)
