-- roc.pinned_array and roc.mapped_array: host arrays that are born page-locked.
local roc = require "roc"
local devices = require "support.devices"
local testing = require("roc.core").testing

for _, kind in ipairs { "cpu", "sim", "null" } do
  for _, name in ipairs { "pinned_array", "mapped_array" } do
    describe(("roc.%s on %s"):format(name, kind), function()
      devices.use(kind)

      it("makes a host array of a shape, a dtype and an order", function()
        local a = roc[name]({ 2, 3 }, "int16", "F")
        assert.same({ 2, 3 }, a.shape)
        assert.equal(roc.int16, a.dtype)
        assert.is_true(a:is_f_contiguous())
        a:fill(7)
        assert.same({ { 7, 7, 7 }, { 7, 7, 7 } }, a:totable())
        assert.equal(roc.float64, roc[name](4).dtype)
        assert.equal(0, roc[name](0).size)
      end)

      it("makes arrays that copy like others", function()
        local a = roc[name](3, "int32")
        for i = 1, 3 do a[i] = i end
        local d = roc.to_device(a)
        a:fill(0)
        d:copy_to_host(a)
        assert.same({ 1, 2, 3 }, a:totable())
      end)

      it("makes arrays that were never registered and can be", function()
        local a = roc[name](3)
        local ok, err = pcall(roc.deregister, a)
        assert.is_false(ok)
        assert.is_truthy(tostring(err):find("not registered", 1, true))
        roc.register(a):close()
        a[1] = 5
        assert.equal(5.0, a[1])
      end)

      it("explains misuse", function()
        for _, bad in ipairs { { "x" }, { 3, "float7" }, { 3, "int8", "D" }, { -1 } } do
          assert.is_false((pcall(roc[name], table.unpack(bad))))
        end
      end)
    end)
  end
end

describe("page-locked memory", function()
  it("comes from the driver and goes back with the last view", function()
    local was <const> = roc.current_device()
    roc.select_device("null")
    collectgarbage()
    testing.null_clear()
    local view = roc.pinned_array({ 10, 10 })[3]
    assert.equal(1, testing.null_calls("alloc_host"))
    collectgarbage()
    collectgarbage()
    assert.equal(0, testing.null_calls("free_host"))
    view:fill(1)
    view = nil
    collectgarbage()
    collectgarbage()
    assert.equal(1, testing.null_calls("free_host"))
    assert.is_nil(view)
    testing.null_fail("alloc_host", 1, "oom")
    assert.equal(5, roc.pinned_array(5).size) -- collects and tries again
    testing.null_fail("alloc_host", 1, "unsupported")
    assert.is_false((pcall(roc.pinned_array, 5)))
    testing.null_clear()
    roc.select_device(was)
  end)
end)
