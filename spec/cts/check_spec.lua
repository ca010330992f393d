-- Checked kernels: what goes wrong is reported once, with place and values, and does no harm.
local roc = require "roc"
local devices = require "support.devices"

local function fault_of(f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok, "an error was expected")
  return tostring(message)
end

local function here(offset)
  return debug.getinfo(2, "l").currentline + offset
end

devices.each(function(device)
  it("reports an index out of range and touches nothing beside the array", function()
    local line = here(3)
    local k = roc.kernel(function(x, y)
      local i = roc.get_global_id(1)
      y[i + 1] = x[i] * 2
    end)
    local whole = devices.zeros(12, "int64")
    local y = whole:slice(1, 3, 10)
    local message = fault_of(devices.run, k, 8,
      { devices.values({ 1, 2, 3, 4, 5, 6, 7, 8 }, "int64"), y }, 4)
    assert.matches(("check_spec.lua:%d: index 9 out of range 1..8 of 'y' (work-item {8})"):format(
      line), message, 1, true)
    assert.same({ 0, 0, 0, 2, 4, 6, 8, 10, 12, 14, 0, 0 }, devices.table(whole))
  end)

  it("counts the other work-items that failed", function()
    local k = roc.kernel(function(x) x[roc.get_global_id(1) + 100] = 1 end)
    local message = fault_of(devices.run, k, 20, { devices.zeros(10, "int32") }, 8)
    assert.matches("out of range 1..10 of 'x'", message, 1, true)
    assert.matches("and 19 more)", message, 1, true)
  end)

  it("tells in which row an item failed that knows of none", function()
    local k = roc.kernel(function(x)
      local i = roc.get_global_id(1)
      x[i] = i
    end)
    local x = devices.zeros(6, "int32")
    local message = fault_of(function()
      k[{ { 2, 2, 1 }, { 4, 2, 2 } }](x)
      roc.current_device():synchronize()
    end)
    assert.matches("index [78] out of range 1%.%.6 of '[^']+' %(work%-item {[78], [1-4], [12]}, "
      .. "and 15 more%)", message)
    assert.same({ 1, 2, 3, 4, 5, 6 }, devices.table(x))
  end)

  it("believes no guard whose sum wraps around", function()
    local k = roc.kernel(function(x, y, base)
      local at = base + roc.get_global_id(1)
      if at + 8 <= #x then y[roc.get_global_id(1)] = x[at + 1] end
    end)
    local x, y = devices.values({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }, "int64"),
      devices.zeros(4, "int64")
    devices.run(k, 4, { x, y, 1 }, 4)
    assert.same({ 3, 4, 5, 0 }, devices.table(y))
    local message = fault_of(devices.run, k, 4, { x, y, math.maxinteger - 8 }, 4)
    assert.matches("out of range 1..12 of 'x'", message, 1, true)
    assert.matches("and 3 more)", message, 1, true)
  end)

  it("counts the work-items that failed in all wavefronts", function()
    local k = roc.kernel(function(x)
      local i = roc.get_global_id(1)
      if i % 3 ~= 0 then x[i + 10] = 1 end
    end)
    local message = fault_of(devices.run, k, 1000, { devices.zeros(10, "int32") }, 250)
    assert.matches("and 666 more)", message, 1, true)
  end)

  if not device.raw then -- else: knows only what kind of array it is
    it("names the local of each new array", function()
      local k = roc.kernel(function(n)
        local a, b, c = 1, roc.private.array(4, "int32"), roc.private.array(4, "int32")
        b[n], c[n + 4] = a, a
      end)
      local high, low = fault_of(devices.run, k, 1, { 1 }), fault_of(devices.run, k, 1, { 0 })
      assert.matches("index 5 out of range 1..4 of 'c'", high, 1, true)
      assert.matches("index 0 out of range 1..4 of 'b'", low, 1, true)
    end)
  end

  if device.raw then -- else: the compiler refuses floats, and math.floor fails before
    it("places a store of what no element can be", function()
      local line = here(1)
      local k = roc.kernel(function(x, y) y[1] = math.floor(x[1]) end)
      assert.matches(
        ("check_spec.lua:%d: cannot assign to an element: number has no integer"):format(line),
        fault_of(devices.run, k, 1, { devices.values { 1e300 }, devices.zeros(1, "int64") }), 1,
        true)
    end)
  end

  if not device.raw then -- else: the untouched function sees the arrays themselves
    it("names captured and constant arrays", function()
      local cfg = { d = devices.zeros({ 2, 3 }, "int32"), large = roc.zeros({ 100, 200 }) }
      local small, t = roc.zeros({ 2, 3 }), { 1, 2 }
      local cases = {
        { roc.kernel(function(n) cfg.d[n][1] = 1 end), "1..2 of 'cfg.d' (dimension 1)" },
        { roc.kernel(function(n) roc.atomic.add(cfg.d, { 1, n }, 1) end),
          "1..3 of 'cfg.d' (dimension 2)" },
        { roc.kernel(function(n) cfg.d[1][1] = roc.int32(cfg.large[n][1]) end),
          "1..100 of 'cfg.large' (dimension 1)" },
        { roc.kernel(function(n) cfg.d[1][1] = roc.int32(small[2][n]) end),
          "1..3 of 'small' (dimension 2)" },
        { roc.kernel(function(n) cfg.d[1][1] = roc.const.array(t, roc.int8)[n] end),
          "1..2 of 't'" },
      }
      for _, case in ipairs(cases) do
        assert.matches("index 500 out of range " .. case[2],
          fault_of(devices.run, case[1], 1, { 500 }), 1, true)
      end
    end)
  end

  it("names the dimension of a matrix index", function()
    local k = roc.kernel(function(m, i, j) m[i][j] = 1 end)
    local m = devices.zeros({ 3, 5 }, "int32")
    assert.matches("index 4 out of range 1..3 of 'm' (dimension 1)",
      fault_of(devices.run, k, 1, { m, 4, 1 }), 1, true)
    assert.matches("index 0 out of range 1..5 of 'm' (dimension 2)",
      fault_of(devices.run, k, 1, { m, 3, 0 }), 1, true)
    devices.run(k, 1, { m, 3, 5 })
    assert.equal(1, m[3][5])
  end)

  it("reports the index of an atomic operation where the kernel calls it", function()
    for _, shape in ipairs { { 3 }, { 2, 3 } } do
      local index = #shape == 1 and "9" or "{ 2, 9 }"
      for _, call in ipairs { "add(x, %s, 1)", "store(x, %s, 1)", "cas(x, %s, 0, 1)" } do
        local k = roc.kernel("function(x)\n roc.atomic." .. call:format(index) .. " end",
          { env = { roc = roc } })
        local message = fault_of(devices.run, k, 1, { devices.zeros(shape, "int32") })
        assert.matches("]:2: index 9 out of range 1..3 of", message, 1, true)
      end
    end
  end)

  it("refuses more shared memory than the device has", function()
    local k = roc.kernel(function(x)
      local s = roc.shared.array(50000000, "int64")
      s[1] = 7
      x[1] = s[1]
    end)
    local message = fault_of(devices.run, k, 1, { devices.zeros(1, "int64") })
    assert.matches("400000000 bytes", message, 1, true)
  end)

  it("reports integer division and modulo by zero", function()
    local k = roc.kernel(function(x, out)
      local i = roc.get_global_id(1)
      out[i] = 100 // x[i]
    end)
    local out = devices.zeros(3, "int64")
    assert.matches("attempt to divide by zero (work-item {2})",
      fault_of(devices.run, k, 3, { devices.values({ 1, 0, 3 }, "int64"), out }), 1, true)
    -- Lua 5.4.4's own names another line.
    local line = device.raw and "" or ("check_spec.lua:%d: "):format(here(3))
    local m = roc.kernel(function(x, out)
      local i = roc.get_global_id(1)
      out[i] = 100 % x[i]
    end)
    assert.matches(line .. "attempt to perform 'n%0'",
      fault_of(devices.run, m, 3, { devices.values({ 1, 0, 3 }, "int64"), out }), 1, true)
    assert.same({ 0, 0, 1 }, devices.table(out))
  end)

  if not device.raw then -- else: Lua's own math.floor gives a float there
    it("reports a floor that is no integer", function()
      local k = roc.kernel(function(x, out) out[1] = math.floor(x[1]) end)
      assert.matches("has no integer representation",
        fault_of(devices.run, k, 1, { devices.values({ 1e300 }, "float64"),
        devices.zeros(1, "int64") }), 1, true)
    end)
  end

  -- What a float of a loop holds is not known: the checks of its floor stay.
  local after_loops = {
    ["out of range 1..4 of 'y'"] = "y[math.floor(sum)] = 7",
    ["attempt to divide by zero"] = "y[i] = 5 // (math.floor(sum) - 8)",
    ["has no integer representation"] = not device.raw and "y[i] = math.floor(sum * 1e19)" or nil,
  }
  for what, statement in pairs(after_loops) do
    it("checks what is made of a float that a loop adds to: " .. what, function()
      local k = roc.kernel(([[function(y, x)
        local i, sum = roc.get_global_id(1), 0.0
        for j = 1, #x do sum = sum + x[j] end
        %s
      end]]):format(statement), { env = { roc = roc, math = math } })
      local whole = devices.zeros(12, "int64")
      assert.matches(what, fault_of(devices.run, k, 4, { whole:slice(1, 1, 4),
        devices.values({ 1, 2, 2, 3 }, "float64") }, 4), 1, true)
      assert.same({ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, devices.table(whole))
    end)
  end

  it("reports assert and error with their messages", function()
    local line = here(3)
    local k = roc.kernel(function(x, out)
      local i = roc.get_global_id(1)
      assert(x[i] < 3, "too large")
      out[i] = x[i]
    end)
    local out = devices.zeros(3, "int64")
    local message = fault_of(devices.run, k, 3, { devices.values({ 1, 2, 3 }, "int64"), out })
    assert.matches(("check_spec.lua:%d: too large (work-item {3})"):format(line), message, 1, true)
    assert.same({ 1, 2, 0 }, devices.table(out))
    local e = roc.kernel(function(x) if x[1] > 0 then error("gave up") end end)
    assert.matches("gave up (work-item {1})",
      fault_of(devices.run, e, 1, { devices.values({ 1 }, "int64") }), 1, true)
    local plain = roc.kernel(function(x) assert(x[1] > 5) end)
    assert.matches("assertion failed!", fault_of(devices.run, plain, 1,
      { devices.values({ 1 }, "int64") }), 1, true)
  end)

  it("shows every byte of a message, and a byte 0 as an escape", function()
    local k = roc.kernel(function(x)
      assert(x[1] > 5, "a\0b\x41\u{20AC}\z
        \065\255%s\tc\0")
    end)
    assert.matches("a\\0bA\xE2\x82\xACA\255%s\tc\\0 (work-item {1})",
      fault_of(devices.run, k, 1, { devices.values({ 1 }, "int64") }), 1, true)
  end)

  it("drops the level of an error, and says where the kernel was launched", function()
    local k = roc.kernel(function() error("gave up", 2) end)
    local line = here(1)
    k:forall(1)()
    local message = fault_of(function() roc.current_device():synchronize() end)
    assert.matches(("gave up (work-item {1}) (launched at %s:%d)"):format(
      debug.getinfo(1, "S").short_src, line), message, 1, true)
  end)

  if not device.raw then -- else: any integer is Lua's level
    it("keeps an integer of the message that is no number written there", function()
      local limit = 17
      local k = roc.kernel(function() error("more than ", limit) end)
      k:forall(1)()
      assert.matches("more than 17 (work-item {1})",
        fault_of(function() roc.current_device():synchronize() end), 1, true)
    end)
  end

  it("reports a fault once, and lets queued and later work run", function()
    local bad = roc.kernel(function(x) x[100] = 1 end)
    local good = roc.kernel(function(x) x[roc.get_global_id(1)] = 5 end)
    local x = devices.zeros(4, "int32")
    bad:launch({ grid = 1, workgroup = 1 }, x)
    good:launch({ grid = 4, workgroup = 4 }, x)
    assert.matches("out of range", fault_of(x.copy_to_host, x), 1, true)
    assert.same({ 5, 5, 5, 5 }, devices.table(x))
    roc.current_device():synchronize()
  end)

  it("leaves host arrays alone when the launch failed", function()
    local k = roc.kernel(function(x)
      local i = roc.get_global_id(1)
      x[i] = 9
      x[i + 2] = 9
    end)
    local x = roc.array({ 1, 2, 3 }, "int32")
    assert.matches("out of range", fault_of(function() k[{ 1, 3 }](x) end), 1, true)
    if not device.raw then
      assert.same({ 1, 2, 3 }, x:totable())
    end
  end)

  it("stops only the failing work-items at barriers", function()
    local k = roc.kernel(function(x, out)
      local lid = roc.get_local_id(1)
      local tile = roc.shared.array(8, "int64")
      tile[lid] = 1
      local v = x[lid]
      roc.barrier()
      out[lid] = tile[9 - lid] + v
    end)
    local out = devices.zeros(8, "int64")
    assert.matches("index 7 out of range 1..6 of 'x' (work-item {7}, and 1 more)",
      fault_of(devices.run, k, 8, { devices.values({ 1, 2, 3, 4, 5, 6 }, "int64"), out }, 8), 1,
        true)
    assert.same({ 2, 3, 4, 5, 6, 7, 0, 0 }, devices.table(out))
  end)

  it("keeps what was written before a check failed, where it would be written once more", function()
    local k = roc.kernel(function(o, x, at)
      local i = roc.get_global_id(1)
      o[i] = 1
      local sum = 0
      for k = 1, 3 do
        sum = sum + x[at[i] + k]
        o[i] = o[i] + sum
      end
      o[i] = -1
    end)
    local o = devices.zeros(6, "int64")
    local x = devices.values({ 1, 2, 3, 4, 5, 6 }, "int64")
    local message = fault_of(devices.run, k, 6,
      { o, x, devices.values({ 0, 5, 2, 9, 4, 3 }, "int32") }, 6)
    assert.matches("and 2 more)", message, 1, true)
    assert.same({ -1, 7, -1, 1, 17, -1 }, devices.table(o))
  end)

  -- Where those that came to the check have failed, and others of the wavefront wait.
  it("does no more for work-items that have failed, whatever they have in common", function()
    local k = roc.kernel(function(o, x, at, far, n)
      local i = roc.get_global_id(1)
      if i <= 4 then
        local s = 0
        for k = 1, n do
          s = s + x[far[1] + k]
          o[i] = s
        end
        local j = far[2]
        while j > 0 do
          s = s + x[at[j]]
          o[i] = s
          j = far[j]
        end
      else
        o[i] = x[i]
      end
    end)
    local o, at = devices.zeros(8, "int64"), devices.values({ 1, 2 }, "int32")
    local x = devices.values({ 1, 2, 3, 4, 5, 6, 7, 8 }, "int64")
    local function run(first, second)
      local far = devices.values({ first, second }, "int32")
      return fault_of(devices.run, k, 8, { o, x, at, far, 2 }, 8)
    end
    assert.matches("of 'x' (work-item {", run(1 << 30, 2), 1, true)
    assert.same({ 0, 0, 0, 0, 5, 6, 7, 8 }, devices.table(o))
    assert.matches("of 'at' (work-item {", run(0, 1 << 30), 1, true)
    assert.same({ 3, 3, 3, 3, 5, 6, 7, 8 }, devices.table(o))
  end)

  it("stops loops in loops at their check while another work-item waits", function()
    local k = roc.kernel(function(x, o, w)
      local i, group = roc.get_local_id(1), roc.get_group_id(1)
      local sum = 0.0
      if i > 1 and i <= w - 1 and group > 1 and group <= 6 then
        for y = 1, 6 do
          for at = 1, w do sum = roc.float64(sum + roc.float64(x[y * w + at - w])) end
        end
      end
      o[roc.get_global_id(1)] = sum
    end)
    local x, o = devices.zeros(333, "float32"), devices.values({ 9, 9, 9, 9, 9, 9 }, "float64")
    local message = fault_of(devices.run, k, 6, { x, o, 1 << 40 }, 3)
    assert.matches("index 334 out of range 1..333 of 'x' (work-item {", message, 1, true)
    assert.same({ 0, 0, 0, 0, 9, 9 }, devices.table(o))
  end)

  -- Loops that would go on for weeks, and stop because every work-item fails soon: kernel(m, n), m
  -- of 20 zeros; the workgroup, by default of 8, and the grid, by default one workgroup.
  local ENDLESS = {
    ["counts"] = { "for k = 1, n do m[i + k] = m[i + k] + 1 end" },
    ["reads its index from memory"] = { "for k = 1, n do m[m[1] + i + k] = m[i] end" },
    ["counts down"] = { "for k = n, 1, -1 do m[m[1] + k] = 1 end" },
    ["begins and ends elsewhere for each"] = { "for k = i, n + i % 3 do m[m[1] + k] = 0 end" },
    ["holds a loop"] = {
      "for _ = 1, n do for k = 1, n do m[m[1] + i + k] = 0 end m[m[1] + i] = 0 end" },
    ["holds a short loop"] = {
      "for j = 1, n do m[m[1] + i + j] = 0 for k = 1, 20 + m[1] do m[i] = m[i] + k - k end end" },
    ["holds a condition"] = {
      "for k = 1, n do if i > 4 then m[m[1] + i + k] = 0 end\n"
      .. "if i <= 4 then m[m[1] + k] = 0 end end" },
    ["holds a condition that alternates"] = {
      "for k = 1, n do if i % 2 == 0 then m[m[1] + i + k] = 0 else m[i + k] = 2 end end" },
    ["follows another"] = {
      "for k = 1, n do if i > 3 then m[m[1] + i + k] = 0 else break end end\n"
      .. "for k = 1, n do m[m[1] + k + 1] = 0 end" },
    ["begins with some that have failed"] = {
      "m[m[1] + i + 13] = 0 for k = 1, n do m[m[1] + i + k] = 0 end" },
    ["begins with some that have returned"] = {
      "if i < 5 then return end for k = 1, n do m[m[1] + i + k] = 0 end" },
    ["stops at barriers"] = { "for k = 1, n do m[m[1] + i + k] = 0 roc.barrier() end" },
    ["stands in one with barriers"] = {
      "for _ = 1, n do for k = 1, n do m[m[1] + i + k] = 0 end roc.barrier() end" },
    ["asks its wavefront"] = { "for k = 1, n do m[i + k] = roc.wave.sum(0) end", 80 },
    ["asserts"] = { "for k = 1, n do assert(k + i < 17) m[i] = 0 end" },
    ["divides by what all share, in several workgroups"] = {
      "local s = 1 while s < n do m[i] = 0 // s roc.barrier() s = s // 2 end", 5, 15 },
    ["divides"] = { "for k = 1, n do m[i] = n // (10 - k) * 0 end" },
    ["repeats"] = { "local k = 0 repeat k = k + 1 m[m[1] + i + k] = 0 until k == n" },
    ["goes on"] = {
      "for k = 1, n do if k % 2 == 1 then goto continue end m[m[1] + i + k] = 0 ::continue:: end" },
    ["is a function's"] = { "run(m, i, n)" },
    ["walks rows"] = { "for k = 1, n do m[m[1] + i + j + k] = 0 end", { 4, 4 } },
    ["walks rows that differ"] = {
      "for k = 1, n do if j == 2 then m[m[1] + i + j + k] = 0\n"
      .. "elseif k > 7 then m[m[1] + k] = 0 end end\n"
      .. "for k = 1, n do m[m[1] + i + j + k] = 0 end", { 4, 4, 2 } },
  }
  local ROUNDS = 1 << 50

  for title, case in pairs(ENDLESS) do
    it("ends when every work-item has failed in a loop that " .. title, function()
      local body, items = case[1], case[2] or 8
      local grid = case[3] or items
      local function run_of(m, i, n) for k = 1, n do m[m[1] + i + k] = 0 end end
      local k = roc.kernel("function(m, n)\nlocal i, j = roc.grid(2)\n" .. body .. "\nend",
        { env = { roc = roc, run = run_of } })
      local ok, message = pcall(function()
        k:launch({ grid = grid, workgroup = items }, roc.to_device(roc.zeros(20, "int64")), ROUNDS)
        roc.current_device():synchronize()
      end)
      assert.is_false(ok)
      assert.matches("(work-item {", tostring(message), 1, true)
    end)
  end

  if not device.raw then -- else: Lua's own text
    it("shows a NaN without its sign, which differs between devices", function()
      local k = roc.kernel(function(x, out) out[1] = math.floor(math.fmod(x[1], 3.0)) end)
      local x, out = devices.values({ math.huge }, "float64"), devices.zeros(1, "int64")
      assert.matches(": number nan has no integer representation", fault_of(devices.run, k, 1,
        { x, out }), 1, true)
    end)
  end

  if not device.raw then -- else: Lua raises
    it("divides by zero to 0 when unchecked", function()
      local k = roc.kernel(function(x, out)
        local i = roc.get_global_id(1)
        out[i] = 100 // x[i] + 7 % x[i]
      end, { check = false })
      local out = devices.zeros(2, "int64")
      devices.run(k, 2, { devices.values({ 0, 7 }, "int64"), out })
      assert.same({ 0, 14 }, devices.table(out))
    end)
  end

  if not device.raw then -- else: prints at once
    it("prints at the next wait, as Lua formats", function()
      local k = roc.kernel(function(x)
        local i = roc.get_global_id(1)
        if i == 2 then
          print("item", i, x[i], x[i] > 1, 1e100, 3 // 2)
        end
      end)
      local lines, real = {}, print
      local x = devices.values({ 0.5, 1.5, 2.0 }, "float32")
      _G.print = function(...) -- luacheck: ignore
        lines[#lines + 1] = table.concat({ ... }, "\t")
      end
      local ok, message = pcall(devices.run, k, 3, { x })
      _G.print = real -- luacheck: ignore
      assert(ok, message)
      assert.same({ "item\t2\t1.5\ttrue\t1e+100\t1" }, lines)
    end)
  end

  it("prints every byte of a literal", function()
    local k = roc.kernel(function()
      print("\0a\0\0b\x41\u{20AC}\z
        \065\255%s\n", "", 1, "\0")
    end)
    local lines, real = {}, print
    _G.print = function(...) -- luacheck: ignore
      lines[#lines + 1] = table.concat({ ... }, "\t")
    end
    local ok, message = pcall(devices.run, k, 1, {})
    _G.print = real -- luacheck: ignore
    assert(ok, message)
    assert.same({ "\0a\0\0bA\xE2\x82\xACA\255%s\n\t\t1\t\0" }, lines)
  end)
end)
