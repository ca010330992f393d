-- Device arrays as a script sees them, on memory the host can reach and memory it cannot.
local roc = require "roc"
local devices = require "support.devices"

local function message(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  return tostring(err)
end

local function refuses(pattern, f, ...)
  local text = message(f, ...)
  assert(text:find(pattern, 1, true), ("%q does not contain %q"):format(text, pattern))
end

-- null's memory is out of the host's reach, as a GPU's is; cpu's and sim's is not.
for _, kind in ipairs { "cpu", "sim", "null" } do
  describe("a device array on " .. kind, function()
    devices.use(kind)

    it("is made with a shape, a dtype and an order", function()
      local d = roc.device_array({ 2, 3 }, "int16", "F")
      assert.same({ 2, 3 }, d.shape)
      assert.equal(roc.int16, d.dtype)
      assert.same({ 1, 2 }, d.strides)
      assert.equal(2, d.ndim)
      assert.equal(6, d.size)
      assert.equal(12, d.nbytes)
      assert.equal(2, #d)
      assert.is_true(d:is_f_contiguous())
      assert.is_false(d:is_c_contiguous())
      assert.equal(kind, d.device.kind)
      assert.equal(roc.float64, roc.device_array(4).dtype)
      assert.error_matches(function() return d.nothing end,
        "roc.DeviceArray has no field 'nothing'")
    end)

    it("may be empty", function()
      local d = roc.device_array({ 0, 3 })
      assert.equal(0, d.size)
      d:fill(1)
      assert.same({}, d:copy_to_host():totable())
      assert.equal(0, roc.to_device(roc.empty(0)):copy_to_host().size)
    end)

    it("is made like another array", function()
      local d = roc.device_array_like(roc.zeros({ 3, 4 }, "float32", "F"))
      assert.same({ 3, 4 }, d.shape)
      assert.equal(roc.float32, d.dtype)
      assert.is_true(d:is_f_contiguous())
      assert.same({ 3, 4 }, roc.device_array_like(d).shape)
    end)

    it("takes every dtype there and back", function()
      for _, name in ipairs { "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
        "uint64",
        "float16", "bfloat16", "float32", "float64" } do
        local h = roc.array({ 1, 2, 3 }, name)
        assert.same(h:totable(), roc.to_device(h):copy_to_host():totable())
      end
      assert.same({ true, false },
        roc.to_device(roc.array { true, false }):copy_to_host():totable())
    end)

    it("is a packed copy of a strided host array", function()
      local h = roc.range(1, 24, 1, "int32"):reshape(4, 6)
      local cases = { h:transpose(), h:slice(2, 1, 6, 2), h:slice(1, 4, 1, -1), h:slice(2, 2, 3) }
      for _, view in ipairs(cases) do
        local d = roc.to_device(view)
        assert.is_true(d:is_c_contiguous() or d:is_f_contiguous())
        assert.same(view:totable(), d:copy_to_host():totable())
      end
    end)

    it("is copied into a given array, or only made", function()
      local h, d = roc.array { 1, 2, 3 }, roc.device_array(3)
      assert.equal(d, roc.to_device(h, { to = d }))
      assert.same({ 1.0, 2.0, 3.0 }, d:copy_to_host():totable())
      assert.same({ 3 }, roc.to_device(h, { copy = false }).shape)
      assert.equal("sim", roc.to_device(h, { device = "sim" }).device.kind)
      assert.same({ 1.0, 2.0, 3.0 }, roc.to_device(d):copy_to_host():totable())
    end)

    it("is copied to, from and between arrays", function()
      local d, e, h = roc.device_array({ 2, 2 }), roc.device_array({ 2, 2 }),
        roc.array { { 1, 2 }, { 3, 4 } }
      assert.equal(d, d:copy_from_host(h))
      assert.equal(e, d:copy_to_device(e))
      local back = roc.zeros { 2, 2 }
      assert.equal(back, e:copy_to_host(back))
      assert.same(h:totable(), back:totable())
    end)

    it("is copied from and into views", function()
      local d = roc.to_device(roc.range(1, 12, 1, "int64"):reshape(3, 4))
      assert.same({ { 1, 3 }, { 5, 7 }, { 9, 11 } }, d:slice(2, 1, 4, 2):copy_to_host():totable())
      assert.same({ { 1, 5, 9 }, { 2, 6, 10 }, { 3, 7, 11 }, { 4, 8, 12 } },
        d:transpose():copy_to_host():totable())
      d:slice(2, 1, 4, 2):copy_from_host(
        roc.array({ { -1, -3 }, { -5, -7 }, { -9, -11 } }, "int64"))
      assert.same({ { -1, 2, -3, 4 }, { -5, 6, -7, 8 }, { -9, 10, -11, 12 } },
        d:copy_to_host():totable())
      d:slice(1, 1, 2):copy_to_device(d:slice(1, 2, 3))
      assert.same({ -1, 2, -3, 4 }, d[2]:copy_to_host():totable())
      assert.same({ -5, 6, -7, 8 }, d[3]:copy_to_host():totable())
      local h = roc.zeros({ 4, 3 }, "int64")
      d:copy_to_host(h:transpose())
      assert.same(d:copy_to_host():totable(), h:transpose():totable())
    end)

    it("is copied to another device", function()
      local d = roc.to_device(roc.array { 1, 2, 3 })
      for _, other in ipairs { "cpu", "sim", "null" } do
        local e = roc.to_device(roc.zeros(3), { device = other })
        d:copy_to_device(e)
        assert.same({ 1.0, 2.0, 3.0 }, e:copy_to_host():totable())
        assert.equal(other, e.device.kind)
        assert.same({ 1.0, 2.0, 3.0 }, roc.to_device(d,
          { device = other }):copy_to_host():totable())
      end
    end)

    it("reads and writes elements from the host", function()
      local d = roc.to_device(roc.array({ 10, 20, 30 }, "int32"))
      assert.equal(20, d[2])
      d[2] = 21
      assert.same({ 10, 21, 30 }, d:copy_to_host():totable())
      local m = roc.to_device(roc.array { { 1, 2 }, { 3, 4 } })
      assert.equal(3.0, m[2][1])
      m[2][1] = 5
      assert.equal(5.0, m:get(2, 1))
      m:set(6, 1, 2)
      assert.same({ { 1.0, 6.0 }, { 5.0, 4.0 } }, m:copy_to_host():totable())
    end)

    it("is filled, whole or by views", function()
      local d = roc.device_array({ 3, 3 }, "int32")
      assert.equal(d, d:fill(7))
      d:slice(2, 2, 2):fill(1)
      d[3]:fill(0)
      assert.same({ { 7, 1, 7 }, { 7, 1, 7 }, { 0, 0, 0 } }, d:copy_to_host():totable())
      local odd = roc.device_array(1000, "float64"):fill(1.5)
      assert.same({ 1.5, 1.5 }, { odd[1], odd[1000] })
    end)

    it("prints as the host array does", function()
      local h = roc.array { { 1, 2 }, { 3, 4 } }
      assert.equal(tostring(h), tostring(roc.to_device(h)))
    end)

    it("is raveled and reshaped", function()
      local d = roc.to_device(roc.range(1, 6, 1, "int32"))
      local m = d:reshape(2, 3)
      assert.same({ { 1, 2, 3 }, { 4, 5, 6 } }, m:copy_to_host():totable())
      m[1][1] = 100
      assert.equal(100, d[1])
      assert.same({ 100, 2, 3, 4, 5, 6 }, m:ravel():copy_to_host():totable())
      assert.same({ 100, 4, 2, 5, 3, 6 }, m:ravel("F"):copy_to_host():totable())
      refuses("reshape", d.reshape, d, 4, 2)
    end)

    it("keeps its memory while a view looks at it", function()
      local d = roc.to_device(roc.range(1, 6, 1, "int32"):reshape(2, 3))
      local row = d[2]
      d:close()
      assert.same({ 4, 5, 6 }, row:copy_to_host():totable())
    end)

    it("refuses every use after close, and closes twice", function()
      local d = roc.to_device(roc.array { 1, 2, 3 })
      do local closing <close> = d end
      d:close()
      assert.equal("roc.DeviceArray (closed)", tostring(d))
      for _, use in ipairs {
        function() return d[1] end, function() d[1] = 2 end, function() return #d end, function()
          return d.shape
        end,
        function() d:fill(1) end, function() d:copy_to_host() end, function()
          d:copy_from_host(roc.zeros(3))
        end,
        function() d:copy_to_device(roc.device_array(3)) end, function() roc.to_device(d) end,
        function() d:reshape(3) end,
        function() roc.device_array_like(d) end, function()
          roc.to_device(roc.zeros(3), { to = d })
        end,
      } do
        refuses("closed", use)
      end
    end)

    it("explains misuse and copies nothing then", function()
      local d = roc.to_device(roc.array({ 1, 2, 3 }, "int32"))
      refuses("int32 array expected, got float64", d.copy_from_host, d, roc.zeros(3))
      refuses("array of shape {3} expected, got {4}", d.copy_from_host, d, roc.zeros(4, "int32"))
      refuses("roc.Array expected, got table", d.copy_from_host, d, { 1, 2, 3 })
      refuses("roc.Array expected, got roc.DeviceArray", d.copy_to_host, d, d)
      refuses("roc.DeviceArray expected", d.copy_to_device, d, roc.zeros(3, "int32"))
      refuses("bad option 'to'", roc.to_device, roc.zeros(3), { to = roc.zeros(3) })
      refuses("bad option 'stream' of 'to_device' (roc.Stream expected, got string)",
        roc.to_device, roc.zeros(3), { stream = "s" })
      refuses("roc.Array or roc.DeviceArray expected", roc.to_device, { 1, 2 })
      refuses("out of range 1..3", function() return d[4] end)
      refuses("out of range 1..3", function() d[0] = 1 end)
      refuses("no integer representation", function() d[1] = 1.5 end)
      refuses("cannot set field 'x'", function() d.x = 1 end)
      assert.same({ 1, 2, 3 }, d:copy_to_host():totable())
    end)

    it("that cannot be allocated raises and leaves the process usable", function()
      refuses("out of memory", roc.device_array, 1 << 46)
      refuses("", roc.device_array, { 1 << 40, 1 << 40 })
      assert.equal(3, roc.device_array(3).size)
    end)

    it("is collected in any order with its views and devices", function()
      collectgarbage()
      local used = roc.memory_info().used
      for _ = 1, 50 do
        local d = roc.device_array({ 4, 4 })
        local things = { d, d[1], d:transpose(), d.device, d:slice(1, 2, 3), d[2] }
        for i = #things, 2, -1 do
          local j = math.random(i)
          things[i], things[j] = things[j], things[i]
        end
        while #things > 0 do
          table.remove(things)
          collectgarbage("step", 100)
        end
      end
      collectgarbage()
      assert.equal(used, roc.memory_info().used)
    end)
  end)
end
