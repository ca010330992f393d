-- Fills of strided device views, copies into them, out of them and between them: what lies between
-- the elements stays as it is, and each takes a few pieces of queued work however many elements
-- there are.
local roc = require "roc"
local devices = require "support.devices"
local testing = require("roc.core").testing

local DTYPES = { "bool", "int16", "float32", "float64" }

-- Views of a 40 x 30 array, or of its transposed; and the same of an array on the host.
local VIEWS = {
  ["every other row"] = function(a) return a:slice(1, 1, 40, 2) end,
  ["every third column"] = function(a) return a:slice(2, 2, 30, 3) end,
  ["one column"] = function(a) return a:transpose()[7] end,
  ["a box"] = function(a) return a:slice(1, 3, 30):slice(2, 5, 20) end,
  ["a box, backwards"] = function(a) return a:slice(1, 30, 3, -1):slice(2, 20, 5, -3) end,
  ["a sparse box, turned"] = function(a)
    return a:slice(1, 1, 40, 3):slice(2, 1, 30, 7):transpose()
  end,
  ["three dimensions"] = function(a)
    return a:reshape(40, 5, 6):slice(1, 2, 40, 4):slice(2, 1, 4):slice(3, 1, 6, 5)
  end,
}

local function numbers(dtype)
  local a = roc.zeros({ 40, 30 }, dtype)
  for i = 1, 40 do
    for k = 1, 30 do
      local n = i * 30 + k
      a[i][k] = dtype == "bool" and n % 3 == 0 or dtype ~= "bool" and n or false
    end
  end
  return a
end

-- Element by element, on the host.
local function assign(to, from)
  for i = 1, #to do
    if to.ndim > 1 then
      assign(to[i], from[i])
    else
      to[i] = from[i]
    end
  end
end

local function value(dtype)
  return dtype == "bool" or 77
end

devices.each(function()
  for name, view in pairs(VIEWS) do
    for _, dtype in ipairs(DTYPES) do
      describe(("a view of %s, %s,"):format(dtype, name), function()
        local host, device, stream

        before_each(function()
          host = numbers(dtype)
          device = roc.to_device(host)
          stream = roc.stream()
        end)
        after_each(function() stream:close() end)

        -- What f queues, which is to be at most this.
        local function queues_at_most(most, f)
          roc.event():record(stream):synchronize() -- a ticket to begin with
          local before = testing.queued(stream)
          f()
          local queued = testing.queued(stream) - before
          stream:synchronize()
          assert.is_true(queued <= most, queued .. " pieces of work")
        end

        local function check()
          assert.is_true(roc.array_equal(host, device:copy_to_host()))
        end

        it("is filled, and nothing between its elements", function()
          queues_at_most(1, function() view(device):fill(value(dtype), stream) end)
          view(host):fill(value(dtype))
          check()
          view(device):fill(dtype ~= "bool" and 3)
          view(host):fill(dtype ~= "bool" and 3)
          check()
        end)

        it("takes what is copied from the host, strided there or not", function()
          local there = view(numbers(dtype):transpose():copy():reshape(40, 30))
          queues_at_most(1, function() view(device):copy_from_host(there, stream) end)
          assign(view(host), there)
          check()
          local packed = there:copy()
          packed:fill(value(dtype))
          queues_at_most(1, function() view(device):copy_from_host(packed, stream) end)
          view(host):fill(value(dtype))
          check()
        end)

        it("comes to the host, strided there or not", function()
          local there = roc.zeros({ 40, 30 }, dtype)
          queues_at_most(2, function() view(device):copy_to_host(view(there), stream) end)
          assert.is_true(roc.array_equal(view(host), view(there)))
          local packed = roc.zeros(view(host).shape, dtype)
          queues_at_most(2, function() view(device):copy_to_host(packed, stream) end)
          assert.is_true(roc.array_equal(view(host), packed))
        end)

        it("is copied to a view, and from and to what is whole", function()
          local other = roc.to_device(roc.zeros({ 40, 30 }, dtype))
          queues_at_most(2, function() view(device):copy_to_device(view(other), stream) end)
          local expected = roc.zeros({ 40, 30 }, dtype)
          assign(view(expected), view(host))
          assert.is_true(roc.array_equal(expected, other:copy_to_host()))
          local whole = roc.device_array(view(host).shape, dtype)
          queues_at_most(3, function() view(device):copy_to_device(whole, stream) end)
          assert.is_true(roc.array_equal(view(host), whole:copy_to_host()))
          whole:fill(value(dtype))
          queues_at_most(2, function() whole:copy_to_device(view(device), stream) end)
          view(host):fill(value(dtype))
          check()
        end)
      end)
    end
  end

  it("goes between devices", function()
    local host = numbers "float32"
    for _, other in ipairs(devices.list()) do
      local there = roc.to_device(host, { device = other.name })
      local here = roc.device_array({ 40, 30 }, "float32"):fill(0)
      local expected = roc.zeros({ 40, 30 }, "float32")
      for _, view in pairs(VIEWS) do
        view(there):copy_to_device(view(here))
        assign(view(expected), view(host))
        assert.is_true(roc.array_equal(expected, here:copy_to_host()))
      end
    end
  end)

  it("takes a few pieces of work however long it is", function()
    local stream <close> = roc.stream()
    local a = roc.to_device(roc.zeros({ 3, 200000 }, "int16"))
    local view = a:slice(2, 2, 200000, 3)
    local host = roc.random_integers(-9, 9, view.shape, "int16")
    roc.event():record(stream):synchronize()
    local before = testing.queued(stream)
    view:copy_from_host(host, stream)
    view:slice(1, 2, 2):fill(7, stream)
    assert.is_true(testing.queued(stream) - before <= 2)
    stream:synchronize()
    local back = a:copy_to_host()
    assert.is_true(roc.array_equal(host[1], back:slice(2, 2, 200000, 3)[1]))
    assert.is_true(roc.array_equal(roc.full(#host[2], 7, "int16"), back:slice(2, 2, 200000, 3)[2]))
    assert.is_true(roc.array_equal(roc.zeros({ 3, 66667 }, "int16"), back:slice(2, 1, 200000, 3)))
  end)
end)
