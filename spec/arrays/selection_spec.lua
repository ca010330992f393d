-- Selections: a[{…}] and a[array], read and assigned.
local roc = require "roc"
local devices = require "support.devices"

local function host(array)
  return array.device and array:copy_to_host() or array
end

local function specs(make)
  local function int(t) return make(roc.array(t, "int64")) end

  local function holds(expected, array)
    assert.same(expected, host(array):totable())
  end

  it("take an entry a dimension: an integer drops it, a range keeps it", function()
    local m = make(roc.range(1, 24):reshape(2, 3, 4))
    holds({ 5, 6, 7, 8 }, m[{ 1, 2 }])
    assert.are.equal(7, m[{ 1, 2, 3 }])
    holds({ { 5, 6, 7, 8 }, { 17, 18, 19, 20 } }, m[{ {}, 2 }])
    holds({ { 2, 4 }, { 14, 16 } }, m[{ {}, 1, { 2, 4, 2 } }])
    holds({ { 1, 5, 9 }, { 13, 17, 21 } }, m[{ [3] = 1 }])
    holds({ 24, 23 }, m[{ 2, 3, { 4, 3, -1 } }])
    assert.same({ 0, 4 }, m[{ 2, { 4, 3 } }].shape)
    m[{ 1, 1 }][4] = 0
    assert.are.equal(0, m[{ 1, 1, 4 }]) -- a view
  end)

  it("gather by an array of integers, and by a mask", function()
    local v = make(roc.range(10, 60, 10))
    holds({ 40, 50, 60 }, v[v:gt(30)])
    holds({ 30, 10, 10 }, v[int { 3, 1, 1 }])
    holds({ { 10, 20 }, { 30, 40 } }, v[int { { 1, 2 }, { 3, 4 } }])
    holds({}, v[v:gt(100)])
    local m = make(roc.range(1, 6):reshape(2, 3))
    holds({ 4, 5, 6 }, m[m:gt(3)])
    holds({ { 4, 5, 6 }, { 4, 5, 6 } }, m[int { 2, 2 }])
    holds({ { 3, 1 }, { 6, 4 } }, m[{ {}, int { 3, 1 } }])
    holds({ 2, 3 }, m[{ 1, make(roc.array { false, true, true }) }])
    holds({ { 1, 4 }, { 3, 6 } }, m:transpose()[int { 1, 3 }])
  end)

  it("take what a mask says in several workgroups", function()
    for n, share in pairs { [63] = 0.5, [4096] = 1, [4097] = 0.01, [9000] = 0.5 } do
      local x = roc.rng(n):uniform(n)
      local a, elements, places_of = make(x), {}, {}
      for i, v in ipairs(x:totable()) do
        if v < share then elements[#elements + 1], places_of[#places_of + 1] = v, i end
      end
      holds(elements, a[a:lt(share)])
      holds(places_of, (a:lt(share):nonzero()))
    end
  end)

  it("assign numbers and arrays, which broadcast", function()
    local a = make(roc.zeros({ 3, 4 }, "int32"))
    a[2] = 9
    a[{ {}, 1 }] = 5
    a[{ 3 }] = make(roc.array({ 1, 2, 3, 4 }, "int32"))
    a[{ 1, 4 }] = 7
    holds({ { 5, 0, 0, 7 }, { 5, 9, 9, 9 }, { 1, 2, 3, 4 } }, a)
    a[{ { 1, 2 }, { 2, 3 } }] = make(roc.array({ { 1 }, { 2 } }, "int32"))
    holds({ { 5, 1, 1, 7 }, { 5, 2, 2, 9 }, { 1, 2, 3, 4 } }, a)
    a[a:gt(4)] = 0
    holds({ { 0, 1, 1, 0 }, { 0, 2, 2, 0 }, { 1, 2, 3, 4 } }, a)
  end)

  it("read a right side that overlaps first", function()
    local v = make(roc.range(1, 6))
    v[{ { 2, 6 } }] = v[{ { 1, 5 } }]
    holds({ 1, 1, 2, 3, 4, 5 }, v)
    v[{ { 6, 1, -1 } }] = v
    holds({ 5, 4, 3, 2, 1, 1 }, v)
  end)

  it("scatter, where the last of several wins", function()
    local h = make(roc.zeros(4))
    h[int { 1, 1, 3 }] = make(roc.array { 10, 20, 30 })
    holds({ 20, 0, 30, 0 }, h)
    h[make(roc.array { true, false, false, true })] = make(roc.array { 7, 8 })
    holds({ 7, 0, 30, 8 }, h)
    local m = make(roc.zeros { 2, 3 })
    m[{ {}, int { 3, 1 } }] = make(roc.array { { 1, 2 }, { 3, 4 } })
    holds({ { 2, 0, 1 }, { 4, 0, 3 } }, m)
    m[m:eq(0)] = make(roc.array { -1, -2 })
    holds({ { 2, -1, 1 }, { 4, -2, 3 } }, m)
    m:transpose()[int { 2 }] = 9
    holds({ { 2, 9, 1 }, { 4, 9, 3 } }, m)
  end)
end

describe("selections of host arrays", function()
  specs(function(array) return array end)

  it("take what a mask says, of any length, size of elements and layout", function()
    local rng = roc.rng(3)
    for _, n in ipairs { 0, 1, 7, 8, 9, 2039, 2040, 2049, 5000 } do
      for _, dtype in ipairs { "int8", "int16", "float32", "int64" } do
        local wide, mask = rng:integers(-100, 100, 2 * n):astype(dtype), rng:uniform(n):lt(0.3)
        for _, x in ipairs { wide[{ { 1, n } }], wide[{ { 1, 2 * n - 1, 2 } }] } do
          local elements, places = {}, {}
          for i = 1, n do
            if mask[i] then
              elements[#elements + 1], places[#places + 1] = x[i], i
            end
          end
          assert.same(elements, x[mask]:totable())
          assert.same(places, (mask:nonzero()):totable())
          assert.same(#places, mask:count())
        end
      end
    end
    local turned = roc.range(1, 6):reshape(2, 3):transpose()
    assert.same({ 4, 2, 5, 6 }, turned[turned:gt(3) | turned:eq(2)]:totable())
    assert.same({ 2, 3 }, (roc.range(1, 3):lt(3):flip({ axis = 1 }):nonzero()):totable())
    local smart = roc.smart_array(roc.zeros(4, "bool"))
    smart:get("device"):fill(true)
    smart:mark_changed "device"
    assert.same({ 1, 2, 3, 4 }, roc.range(1, 4)[smart]:totable())
  end)

  it("refuse other keys and values, at the script's line", function()
    local m, v = roc.range(1, 6):reshape(2, 3), roc.range(1, 5)
    local a = roc.zeros({ 2, 3 }, "int32")
    for pattern, f in pairs {
      ["index 3 out of range 1..2 of dimension 1"] = function() return (m[{ 3 }]) end,
      ["takes as many entries, got one for %[3%]; a range is a table in the table"] =
        function() return (m[{ 1, 2, 3 }]) end,
      ["index 0 out of range 1..5"] = function() return (v[{ { 0, 3 } }]) end,
      ["bad selection of dimension 1 %({}, {first, last}"] = function() return (v[{ { 1 } }]) end,
      ["an integer, a range such as {2, 5}, or an array expected, got string"] =
        function() return (v[{ "x" }]) end,
      ["array of bool or of integers expected, got float64"] =
        function() return (v[roc.array { 1.5 }]) end,
      ["index 6 out of range 1..5 of 'array'"] =
        function() return (v[roc.array({ 6 }, "int64")]) end,
      ["a mask of 5 elements expected, got shape {1}"] =
        function() v[roc.array { true }] = 1 end,
      ["value %(shape {3} does not broadcast to the selection's {2}"] =
        function() m[{ {}, 1 }] = roc.zeros(3, "int64") end,
      ["value %(an array of float64, which one of int32 does not hold; write value:astype"] =
        function() a[1] = roc.zeros(3) end,
      ["value %(array, number or boolean expected, got table; make an array of it"] =
        function() a[1] = { 1, 2, 3 } end,
      ["value %(number has no integer representation"] = function() a[1] = 1.5 end,
      ["dimension 1 is gathered by an array already"] = function()
        return (m[{ roc.array({ 1 }, "int64"), roc.array({ 1 }, "int64") }])
      end,
    } do
      local ok, why = pcall(f)
      assert.is_false(ok, pattern)
      assert.matches(pattern, tostring(why))
      assert.matches("selection_spec.lua:%d+", tostring(why))
    end
    assert.same({ { 0, 0, 0 }, { 0, 0, 0 } }, a:totable())
  end)
end)

describe("selections of device arrays", function()
  devices.each(function() specs(roc.to_device) end)
end)

describe("assigning by an array of places, on the host", function()
  it("leaves the last of several values, in every layout and dimension", function()
    local rng = roc.rng(4)
    local function pick(n) return rng:integers(1, n, 1)[1] end
    for _, dtype in ipairs { "int8", "float16", "float32", "int64", "bool" } do
      for _ = 1, 20 do
        local base = rng:integers(0, 9, { pick(5), pick(5), pick(5) }):astype(dtype)
        local views = { base, base:transpose(), base:flip { axis = 1 }, base:transpose(2, 1, 3),
          base:slice(3, 1, base.shape[3], 2) }
        local view, d, count = views[pick(#views)], pick(3), pick(7)
        local places = rng:integers(1, view.shape[d], count)
        if pick(2) == 1 then places = places:astype "int8" end
        local shape, expected, key = view.shape, view:copy(), { {}, {}, {} }
        shape[d], key[d] = count, places
        local values = rng:integers(0, 9, shape):astype(dtype)
        for i = 1, shape[1] do
          for j = 1, shape[2] do
            for k = 1, shape[3] do
              local at = { i, j, k }
              at[d] = places[at[d]]
              expected:set(values:get(i, j, k), table.unpack(at))
            end
          end
        end
        view[key] = values
        assert.is_true(roc.array_equal(expected, view:copy()))
      end
    end
  end)

  it("writes nothing where one place is wrong", function()
    local a, expected = roc.range(1, 5), roc.range(1, 5)
    local sevens = roc.full(2, 7, "int64")
    assert.error_matches(function() a[roc.array({ 1, 6 }, "int64")] = sevens end,
      "index 6 out of range 1..5 of dimension 1", 1, true)
    assert.error_matches(function() a[roc.array({ 1, 0 }, "int64")] = 7 end, "index 0 out of range")
    assert.is_true(roc.array_equal(expected, a))
    a[roc.array({}, "int64")] = 7
    assert.is_true(roc.array_equal(expected, a))
  end)
end)

describe("Selections in their usual forms", function()
  -- What the code for all forms gives.
  local function general(a, key) return getmetatable(a).select(a, key) end

  local function text_of(why) return (tostring(why):gsub("_spec%.lua:%d+", "")) end

  local function check(a, key)
    local is_fine, expected = pcall(general, a, key)
    local is_same, result = pcall(function() return a[key] end)
    assert.equal(is_fine, is_same)
    if not is_fine then
      assert.equal(text_of(expected), text_of(result))
    elseif type(expected) ~= "userdata" then
      assert.equal(expected, result)
    else
      assert.same({ expected.shape, expected.dtype }, { result.shape, result.dtype })
      assert.is_true(roc.array_equal(expected, result))
      if type(key) == "table" then assert.same(expected.strides, result.strides) end
    end
  end

  it("are views as they are by all forms", function()
    local a = roc.range(1, 60):reshape(3, 4, 5)
    local entries = { 1, 3, -1, 4, {}, { 1, 3 }, { 3, 1, -1 }, { 2, 3, 2 }, { 4, 3 }, { 1, 3, 0 },
      { 2 }, { 1, 2, 1, 1 }, { 1.0, 2 }, { first = 1 }, { 2, 9 }, { 1, 3, 1 << 62 }, "x", 2.5 }
    local rng = roc.rng(6)
    for _ = 1, 400 do
      local key = {}
      for d = 1, 3 do
        local at = rng:integers(1, #entries + 6, 1)[1]
        key[d] = entries[at]
      end
      check(a, key)
      check(a:transpose(), key)
    end
    for _, key in ipairs { {}, { 2 }, { nil, 2 }, { 1, 2, 3 }, { 1, 2, 3, 4 }, { x = 1 },
      setmetatable({ 2 }, {}), { nil, nil, nil, { 1, 2 } }, { [2] = { 2, 3 } } } do
      check(a, key)
    end
  end)

  it("are elements as they are by all forms", function()
    for _, dtype in ipairs { "int8", "float16", "float32", "int64", "bool" } do
      local a = roc.rng(8):integers(0, 1, 20):astype(dtype):eval()
      for _, from in ipairs { a, a:slice(1, 20, 1, -1), a:slice(1, 1, 20, 3) } do
        local n = #from
        for _, of in ipairs { "int64", "int32", "int8", "uint64", "float32" } do
          check(from, roc.array({ 1, n, 3, 3, 2 }, of))
          check(from, roc.array({ 1, n + 1 }, of))
          check(from, roc.array({ 0, 1 }, of))
        end
        check(from, roc.array({}, "int64"))
        check(from, roc.array({ { 1, 2 }, { 3, 1 } }, "int64"))
        check(from, roc.range(1, n):slice(1, n, 1, -2))
        check(from, roc.range(1, n):gt(n // 2))
        check(from, roc.range(1, n):lt(0))
        check(from, roc.ones(n + 1, "bool"))
      end
    end
    local pending = roc.ones(8192, "float32") * 3
    assert.equal(3, pending[roc.array({ 8192 }, "int64")][1])
    assert.equal(8192, #(pending + 1)[pending:eq(3)])
  end)

  it("are assigned as they are by all forms", function()
    local rng = roc.rng(9)
    local function pick(list) return list[rng:integers(1, #list, 1)[1]] end
    local entries = { 1, 2, -1, {}, { 1, 2 }, { 2, 1, -1 }, { 3, 2 }, { 2, 9 } }
    local function assign(assigns, make, key, value)
      local a = make()
      local is_fine, why = pcall(assigns, a, key, value)
      return is_fine and a:copy():totable() or text_of(why)
    end
    local function check_assigned(make, key, value)
      assert.same(assign(function(a, ...) getmetatable(a).assign(a, ...) end, make, key, value),
        assign(function(a, k, v) a[k] = v end, make, key, value))
    end
    for _, dtype in ipairs { "int8", "float32", "int64", "bool" } do
      local values = { 1, 0, -1, 300, 2.5, true, false, "x", roc.array({ 1, 2 }, "float32"),
        roc.rng(2):integers(0, 1, 2):astype(dtype),
        roc.rng(2):integers(0, 1, { 2, 3 }):astype(dtype),
        roc.rng(2):integers(0, 1, { 2, 2, 2 }):astype(dtype), roc.to_device(roc.ones(2, dtype)) }
      local function cube() return roc.rng(1):integers(0, 1, { 2, 2, 3 }):astype(dtype):eval() end
      local function turned() return cube():transpose() end
      for _ = 1, 60 do
        local key = { pick(entries), pick(entries), pick(entries) }
        check_assigned(pick { cube, turned }, pick { key, { key[1] }, 1, 2, 3 }, pick(values))
      end
      local function line() return roc.rng(3):integers(0, 1, 6):astype(dtype):eval() end
      local function apart() return roc.rng(3):integers(0, 1, 18):astype(dtype):eval()
        :slice(1, 18, 1, -3) end
      local keys = { roc.array({ 2, 6 }, "int64"), roc.array({ 6, 6 }, "int32"),
        roc.array({ 1, 7 }, "int64"), roc.array({ 0, 1 }, "int8"), roc.range(1, 6):gt(3),
        roc.range(1, 6):gt(9), roc.ones(7, "bool"), { { 2, 3 } }, { { 6, 1, -5 } } }
      for _ = 1, 80 do check_assigned(pick { line, apart }, pick(keys), pick(values)) end
    end
  end)

  it("are assigned from memory that they share", function()
    local a = roc.range(1, 6)
    a[{ { 2, 6 } }] = a[{ { 1, 5 } }]
    assert.same({ 1, 1, 2, 3, 4, 5 }, a:totable())
    a[a] = 7
    assert.same({ 7, 7, 7, 7, 7, 5 + 2 }, { a[1], a[2], a[3], a[4], a[5], 7 })
    local m = roc.array({ true, false, true }, "bool")
    m[m] = false
    assert.same({ false, false, false }, m:totable())
  end)

  it("keep what pending results have read", function()
    local a = roc.ones(8192, "float32")
    local b = a + 1
    a[{ { 1, 3 } }] = 5
    a[roc.array({ 4 }, "int64")] = 6
    local c = a * 2
    a[3] = 9
    assert.equal(2 * 8192, b:sum())
    assert.same({ 10, 10, 10, 12, 2 }, c[{ { 1, 5 } }]:totable())
  end)

  it("write through the views", function()
    local a = roc.zeros({ 3, 4 }, "int32")
    a[{ 2, { 2, 3 } }][1] = 5
    a[{ { 3, 1, -1 }, 1 }][1] = 7
    assert.same({ { 0, 0, 0, 0 }, { 0, 5, 0, 0 }, { 7, 0, 0, 0 } }, a:totable())
    local kept = a[{ 2 }]
    a = nil
    collectgarbage()
    assert.equal(5, kept[2])
    assert.is_nil(a)
  end)
end)
