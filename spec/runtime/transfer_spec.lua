-- Device arrays, sentence by sentence of docs/roc.md: how they are made, where from, what a copy
-- waits for, and that what does not fit is refused before a byte moves.
local roc = require "roc"
local refuses = require "support.refuses"
local devices = require "support.devices"
local testing = require("roc.core").testing

for _, kind in ipairs { "cpu", "sim", "null" } do
  describe("a transfer on " .. kind, function()
    devices.use(kind)

    local function layouts()
      local m = roc.range(1, 24, 1, "int32"):reshape(4, 6)
      return {
        m, m:transpose(), m:slice(1, 1, 4, 2), m:slice(2, 2, 6, 2), m:slice(1, 4, 1, -1),
        m:slice(2, 6, 1, -2),
        m[2], m:transpose()[3], m:slice(1, 3, 3), m:slice(2, 3, 2),
        m:reshape(2, 2, 6):transpose(2, 3, 1),
      }
    end

    it("to_device and device_array_like always make contiguous arrays", function()
      for _, h in ipairs(layouts()) do
        for _, d in ipairs { roc.to_device(h), roc.device_array_like(h),
          roc.device_array_like(roc.to_device(h)) } do
          assert.is_true(d:is_c_contiguous() or d:is_f_contiguous())
          assert.same(h.shape, d.shape)
          assert.equal(h.dtype, d.dtype)
        end
        assert.equal(h:is_f_contiguous() and not h:is_c_contiguous(),
          not roc.to_device(h):is_c_contiguous())
        assert.same(h:totable(), roc.to_device(h):copy_to_host():totable())
      end
    end)

    it("goes between all layouts, with a stream and without", function()
      local s <close> = roc.stream()
      for _, h in ipairs(layouts()) do
        for _, stream in ipairs { s, false } do
          local d = roc.device_array_like(h):copy_from_host(h, stream or nil)
          local back = roc.zeros(h.shape, h.dtype, "F")
          d:copy_to_host(back, stream or nil)
          assert.same(h:totable(), back:totable())
          local e = roc.device_array(h.shape, h.dtype, "F")
          d:copy_to_device(e, stream or nil)
          assert.same(h:totable(), e:copy_to_host(nil, stream or nil):totable())
        end
      end
    end)

    it("to_device takes a stream, a target, a device, and may only allocate", function()
      local s <close> = roc.stream()
      local h = roc.array({ 1, 2, 3 }, "int16")
      local d = roc.device_array(3, "int16"):fill(9)
      assert.equal(d, roc.to_device(h, { to = d, stream = s }))
      assert.same({ 1, 2, 3 }, d:copy_to_host():totable())
      d:fill(9)
      assert.equal(d, roc.to_device(h, { to = d, copy = false }))
      assert.same({ 9, 9, 9 }, d:copy_to_host():totable())
      assert.equal("sim", roc.to_device(h, { device = "sim", copy = true }).device.kind)
      assert.equal(kind, roc.to_device(h, { stream = s }).device.kind)
    end)

    it("is refused whole when shapes, dtypes, devices or options do not fit", function()
      local d = roc.to_device(roc.array({ { 1, 2, 3 }, { 4, 5, 6 } }, "int32"))
      local other = kind == "sim" and "cpu" or "sim"
      local stranger <close> = roc.stream(other)
      local h = roc.zeros({ 2, 3 }, "int32")
      for _, bad in ipairs { roc.zeros({ 3, 2 }, "int32"), roc.zeros(6, "int32"),
        roc.zeros({ 2, 3, 1 }, "int32"), roc.zeros({ 1, 2, 3 }, "int32"),
        roc.zeros({ 2, 3 }, "uint32"), roc.zeros({ 2, 3 }, "float32"),
          roc.zeros({ 2, 3 }, "int64") } do
        local bad_d = roc.to_device(bad)
        local before = bad:totable()
        for _, f in ipairs {
          function() d:copy_from_host(bad) end, function() d:copy_to_host(bad) end, function()
            d:copy_to_device(bad_d)
          end,
          function() bad_d:copy_to_device(d) end, function() roc.to_device(bad, { to = d }) end,
          function() roc.to_device(bad_d, { to = d }) end,
        } do
          refuses("expected, got", f)
        end
        assert.same(before, bad:totable())
        assert.same(before, bad_d:copy_to_host():totable())
      end
      refuses("of another device", function() d:copy_to_host(h, stranger) end)
      refuses("of another device", function() d:copy_from_host(h, stranger) end)
      refuses("of another device", function() roc.to_device(h, { to = d, stream = stranger }) end)
      refuses("on another device", function() roc.to_device(h, { to = d, device = other }) end)
      refuses("unknown option 'steam'; known are copy, device, stream, to", function()
        roc.to_device(h, { steam = 1 })
      end)
      refuses("bad option 'copy'", function() roc.to_device(h, { copy = 1 }) end)
      refuses("bad option 'device' of 'to_device' (there is no device 99", function()
        roc.to_device(h, { device = 99 })
      end)
      refuses("bad option 'to' of 'to_device' (the array is closed", function()
        local closed = roc.device_array_like(h)
        closed:close()
        roc.to_device(h, { to = closed })
      end)
      refuses("table expected", function() roc.to_device(h, 5) end)
      assert.same({ { 1, 2, 3 }, { 4, 5, 6 } }, d:copy_to_host():totable())
      assert.same({ { 0, 0, 0 }, { 0, 0, 0 } }, h:totable())
    end)

    it("reshape and ravel never permute", function()
      local c = roc.to_device(roc.range(1, 6, 1, "int32"):reshape(2, 3))
      local f = roc.to_device(roc.range(1, 6, 1, "int32"):reshape(2, 3):transpose())
      assert.same({ 1, 2, 3, 4, 5, 6 }, c:reshape(6):copy_to_host():totable())
      assert.same({ { 1, 2 }, { 3, 4 }, { 5, 6 } }, c:reshape(-1, 2):copy_to_host():totable())
      refuses("reshape", function() f:reshape(6) end)
      assert.same({ 1, 4, 2, 5, 3, 6 }, f:ravel():copy_to_host():totable())
      assert.same({ 1, 2, 3, 4, 5, 6 }, f:ravel("F"):copy_to_host():totable())
      assert.same({ 1, 2, 3, 4, 5, 6 }, f:reshape(6, { order = "F" }):copy_to_host():totable())
      refuses("reshape", function() c:reshape(6, { order = "F" }) end)
      assert.same({ 1, 4, 2, 5, 3, 6 }, c:ravel("F"):copy_to_host():totable())
    end)

    it("of empty arrays succeeds and does nothing", function()
      local s <close> = roc.stream()
      for _, shape in ipairs { 0, { 0, 3 }, { 3, 0 } } do
        local h = roc.zeros(shape, "int8")
        local d = roc.to_device(h, { stream = s })
        assert.is_true(d:is_c_contiguous() and d:is_f_contiguous())
        d:copy_to_host(h, s)
        d:copy_from_host(h)
        d:copy_to_device(roc.device_array_like(d))
        assert.equal(0, d:ravel().size)
        assert.equal("[]", tostring(d))
      end
    end)
  end)
end

describe("a copy on a stream", function()
  local stream
  devices.use("null")
  before_each(function()
    testing.null_clear()
    stream = roc.stream()
  end)
  after_each(function()
    testing.null_clear()
    stream:close()
  end)

  -- The work that is queued does not end before `f` has.
  local function while_held(f)
    testing.null_hold(true)
    f()
    testing.null_hold(false)
  end

  for _, name in ipairs { "plain", "registered", "page-locked" } do
    it("of " .. name .. " memory returns at once; the host waits for it, and only for it",
      function()
      local a, b = name == "page-locked" and roc.pinned_array(4) or roc.zeros(4), roc.zeros(4)
      if name == "registered" then roc.register(a) end
      local d = roc.device_array(4):fill(3)
      while_held(function()
        assert.equal(a, d:copy_to_host(a, stream))
        d:copy_from_host(b, stream)
        assert.equal(0.0, b[2]) -- the copy only reads it
      end)
      assert.equal(3.0, a[1])
      b[1] = 1
    end)
  end

  it("keeps its arrays alive", function()
    local d = roc.device_array(4):fill(3)
    while_held(function()
      local a = roc.zeros(4)
      d:copy_to_host(a, stream)
      d:close()
      a = nil
      collectgarbage()
      collectgarbage()
      assert.is_nil(a)
    end)
    stream:synchronize()
  end)
end)
