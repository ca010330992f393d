-- Every write to the memory of arrays passes one function of the runtime, which calls a hook.
local roc = require "roc"
local core = require "roc.core"
local devices = require "support.devices"
local files = require "support.files"

local count_writes = core.testing.count_writes

local double = roc.kernel(function(a)
  local i = roc.get_global_id(1)
  if i <= #a then a[i] = a[i] * 2 end
end)

local add_to = roc.kernel(function(a, b)
  local i = roc.get_global_id(1)
  if i <= #a and i <= #b then b[i] = b[i] + a[i] end
end)

local function plus_one(x) return x + 1 end

-- Lines of what writes `a`, a host array of 8 float32, on the current device.
local HOST = {
  ["an element"] = function(a) a[1] = 5 end,
  ["set"] = function(a) a:set(5, 1) end,
  ["fill"] = function(a) a:fill(3) end,
  ["fill of a view"] = function(a) a:slice(1, 1, 8, 2):fill(3) end,
  ["an element of a view"] = function(a) a:reshape(2, 4)[2][1] = 3 end,
  ["an assigned number"] = function(a) a[{ { 2, 5 } }] = 1 end,
  ["an assigned array"] = function(a) a[{ { 2, 5 } }] = roc.ones(4, "float32") end,
  ["an assigned row"] = function(a) a:reshape(2, 4)[2] = 7 end,
  ["a mask"] = function(a) a[a:gt(0)] = 1 end,
  ["places"] = function(a) a[roc.array({ 3, 1 }, "int64")] = 1 end,
  ["a kernel"] = function(a) double:forall(8)(a) end,
  ["a kernel on a strided view"] = function(a) double:forall(4)(a:slice(1, 1, 8, 2)) end,
  ["a kernel on roc.InOut"] = function(a) double:forall(8)(roc.InOut(a)) end,
  ["vectorize with out"] = function(a)
    roc.vectorize(plus_one)(roc.ones(8, "float32"), { out = a })
  end,
  ["a copy from a device"] = function(a) roc.to_device(roc.ones(8, "float32")):copy_to_host(a) end,
  ["a copy on a stream"] = function(a)
    local stream <close> = roc.stream()
    roc.to_device(roc.ones(8, "float32")):copy_to_host(a, stream)
    stream:synchronize()
  end,
  ["a registration"] = function(a) roc.register(a):close() end,
  ["a smart array"] = function(a) roc.smart_array(a) end,
  ["mark_changed"] = function(a)
    local s = roc.smart_array(a)
    s:get "device"
    assert.is_true(count_writes(a, function() s:mark_changed "device" end) > 0)
  end,
  ["a kernel on a smart array"] = function(a)
    local s = roc.smart_array(a)
    assert.is_true(count_writes(a, function() double:forall(8)(s) end) > 0)
  end,
  ["a kernel on a registered array"] = function(a)
    local registration <close> = roc.register(a)
    assert.is_true(count_writes(a, function() double:forall(8)(a) end) > 0)
    assert(registration)
    roc.current_device():synchronize()
  end,
  ["its address"] = function(a) return a.pointer end,
}

-- The same for a device array.
local DEVICE = {
  ["an element"] = function(d) d[1] = 5 end,
  ["set"] = function(d) d:set(5, 1) end,
  ["fill"] = function(d) d:fill(3) end,
  ["fill on a stream"] = function(d)
    local stream <close> = roc.stream()
    d:fill(3, stream)
    stream:synchronize()
  end,
  ["fill of a view"] = function(d) d:slice(1, 1, 8, 2):fill(3) end,
  ["an assigned number"] = function(d) d[{ { 2, 5 } }] = 1 end,
  ["an assigned array"] = function(d) d[{ { 2, 5 } }] = d:slice(1, 1, 4) end,
  ["places"] = function(d) d[roc.to_device(roc.array({ 3, 1 }, "int64"))] = 1 end,
  ["a kernel"] = function(d) double:forall(8)(d) end,
  ["a kernel on a stream"] = function(d)
    local stream <close> = roc.stream()
    double:forall(8, { stream = stream })(d)
    stream:synchronize()
  end,
  ["a kernel that captures it"] = function(d)
    local k = roc.kernel(function(n)
      local i = roc.get_global_id(1)
      if i <= n and i <= #d then d[i] = 1 end
    end)
    k:forall(8)(8)
  end,
  ["vectorize with out"] = function(d)
    roc.vectorize(plus_one)(roc.to_device(roc.ones(8, "float32")),
      { out = d })
  end,
  ["copy_from_host"] = function(d) d:copy_from_host(roc.ones(8, "float32")) end,
  ["to_device"] = function(d) roc.to_device(roc.ones(8, "float32"), { to = d }) end,
  ["copy_to_device"] = function(d) roc.to_device(roc.ones(8, "float32")):copy_to_device(d) end,
  ["a strided copy"] = function(d)
    d:slice(1, 1, 8, 2):copy_from_host(roc.ones(8, "float32"):slice(1, 1, 8, 2))
  end,
  ["its address"] = function(d) return d.pointer end,
}

-- What only reads.
local READS = {
  ["an element"] = function(a) return a[1] end,
  ["text"] = function(a) return tostring(a) end,
  ["properties"] = function(a) return a.shape, a.dtype, a.strides, a.device, a.nbytes end,
  ["views"] = function(a) return a:reshape(2, 4):transpose(), a:slice(1, 2, 3), a[{ { 1, 3 } }] end,
  ["operations"] = function(a) return (a + a):sum(), a:gt(1):any(), roc.where(a:gt(1), a, 0) end,
  ["gathering"] = function(a) return a[a:gt(0)], a:sort() end,
  ["a kernel"] = function(a)
    local result = a.device and roc.to_device(roc.ones(8, "float32")) or roc.ones(8, "float32")
    add_to:forall(8)(a.device and a or roc.In(a), result)
  end,
  ["being copied"] = function(a)
    if a.device then return a:copy_to_host() end
    return roc.to_device(a), a:copy(), a:totable()
  end,
}

local function specs(of, writes)
  for name, write in pairs(writes) do
    it(string.format("notes what %s does", name), function()
      local a = of(roc.array({ 1, 2, 3, 4, 5, 6, 7, 8 }, "float32"))
      assert.is_true(count_writes(a, function() write(a) end) > 0)
      roc.current_device():synchronize()
    end)
  end
  for name, read in pairs(READS) do
    it(string.format("notes nothing where it is read: %s", name), function()
      local a = of(roc.array({ 1, 2, 3, 4, 5, 6, 7, 8 }, "float32"))
      local count = count_writes(a, function() read(a) end)
      -- What a simulated kernel writes is not known before it runs.
      assert.is_true(count == 0 or roc.current_device().kind == "sim")
      roc.current_device():synchronize()
    end)
  end
end

describe("the hook of writes", function()
  devices.each(function()
    describe("to a host array", function() specs(function(a) return a end, HOST) end)
    describe("to a device array", function() specs(roc.to_device, DEVICE) end)
  end)
end)

-- Functions that change elements without queueing work, and the files that may call them: there the
-- write is noted first, or the memory is new.
local WRITERS = {
  roc_array_fill_host = { "bindings/array/array_create.c", "bindings/array/array_select.c",
    "bindings/array/lib_array.c" },
  roc_array_copy_host = { "bindings/array/array_create.c", "bindings/array/array_select.c" },
  roc_array_convert_host = { "bindings/array/lib_array.c", "bindings/array/lib_sort.c" },
  roc_array_unpack = { "bindings/kernel/kernel_sim.c" },
}

describe("files outside the runtime's arrays", function()
  it("change elements where the write is noted", function()
    if #files.list("src", "%.c$") == 0 then return pending("needs the sources") end
    local found = {}
    local list = assert(io.popen(
      "grep -rlE 'roc_array_(fill_host|copy_host|convert_host|unpack)\\(' src --include=*.c"))
    for file in list:lines() do
      local source = assert(io.open(file)):read "a"
      for name in pairs(WRITERS) do
        if source:find(name .. "(", 1, true) and not file:find("^src/runtime/array/") then
          found[name] = found[name] or {}
          table.insert(found[name], (file:gsub("^src/", "")))
        end
      end
    end
    list:close()
    for name, callers in pairs(WRITERS) do
      table.sort(found[name] or {})
      assert.same(callers, found[name], name)
    end
  end)
end)
