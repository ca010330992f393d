-- Rows of docs/parity.md that no other conformance spec shows: small things the ancestors had, or
-- got wrong.
local roc = require "roc"
local devices = require "support.devices"
local refuses = require "support.refuses"

devices.each(function(device)
  it("a kernel may have no parameters and an empty body", function()
    local k = devices.kernel("function() end")
    k:forall(100)()
    k[{ { 2, 2 }, { 4, 2 } }]()
    roc.current_device():synchronize()
    assert.is_false((pcall(function() k:forall(1)(1) end)))
  end)

  it("a workgroup over a limit is an error that names it", function()
    local k = devices.kernel("function(x) end")
    local most = roc.current_device().max_workgroup
    local d = devices.zeros(1)
    refuses(tostring(most), function() k[{ 1, most + 1 }](d) end)
    refuses(tostring(most), function() k[{ 1, { 2, most } }](d) end)
    k[{ 1, most }](d)
    roc.current_device():synchronize()
  end)

  it("ids and barriers are for kernels only", function()
    local names = { "get_global_id", "get_local_size", "get_work_dim", "barrier", "lane_id",
      "ds_permute", "ds_bpermute", "activelanepermute_wavewidth" }
    for _, name in ipairs(names) do
      refuses(("'roc.%s' can only be called in a kernel"):format(name), roc[name], 1)
    end
  end)

  it("the rank of a launch is the rank that was given", function()
    local k = devices.kernel [[function(out)
      out[1], out[2] = roc.get_work_dim(), roc.get_global_size(3)
      out[3] = roc.get_global_id(3)
    end]]
    for rank, config in ipairs { { 1, 2 }, { { 1, 1 }, { 2, 2 } }, { { 1, 1, 1 }, { 2, 1, 1 } } } do
      local out = devices.zeros(3, "int64")
      k[config](out)
      assert.same({ rank, 1, 1 }, devices.table(out))
    end
  end)

  it("any number of operations may be pending on a stream", function()
    local s <close> = roc.stream()
    local d, h = devices.zeros(8, "int64"), roc.zeros(8, "int64")
    local k = devices.kernel("function(x) local i = roc.get_global_id(1) x[i] = x[i] + 1 end")
    for _ = 1, 300 do
      k:launch({ grid = 8, workgroup = 8, stream = s }, d)
      d:copy_to_host(h, s)
      d:copy_from_host(h, s)
    end
    for i = 1, 8 do assert.equal(300, h[i]) end
  end)

  it("a kernel is the first work of a fresh stream", function()
    local s <close> = roc.stream()
    local d = devices.zeros(4, "int64")
    local k = devices.kernel("function(x) x[roc.get_global_id(1)] = 7 end")
    k:forall(4, { stream = s })(d)
    s:synchronize()
    k:forall(4, { stream = s })(d)
    assert.same({ 7, 7, 7, 7 }, devices.table(d))
    assert.equal(device.kind, d.device.kind)
  end)

  it("one array given twice is one array", function()
    local h = roc.ones(4, "int64")
    local k = devices.kernel [[function(x, y)
      local i = roc.get_global_id(1)
      x[i] = x[i] + 1
      y[i] = y[i] * 10
    end]]
    k:forall(4)(h, h)
    assert.same({ 20, 20, 20, 20 }, h:totable())
  end)

  it("a host array that is only copied in is copied back by nobody", function()
    local h = roc.ones(4, "int64")
    local k = devices.kernel [[function(x, y)
      local i = roc.get_global_id(1)
      x[i] = x[i] + i
      y[i] = x[i]
    end]]
    local out = roc.zeros(4, "int64")
    k:forall(4)(roc.In(h), out)
    assert.same({ 2, 3, 4, 5 }, out:totable())
    assert.same({ 1, 1, 1, 1 }, h:totable())
    k:forall(4)(h, out)
    assert.same({ 2, 3, 4, 5 }, h:totable())
  end)
end)
