-- Views: reshape, transpose, slice, ravel and rows, against a model that keeps a list of elements.
local core = require "roc.core"
local roc = require "roc"

-- ---- the model: a shape, and a function from indices to the number of the element in memory ----

local Model = {}
Model.__index = Model

local function product(shape)
  local n = 1
  for _, extent in ipairs(shape) do n = n * extent end
  return n
end

-- Calls visit(indices) for every element, the last index fastest.
local function each_index(shape, visit)
  local index = {}
  local function walk(dim)
    if dim > #shape then
      visit(index)
      return
    end
    for i = 1, shape[dim] do
      index[dim] = i
      walk(dim + 1)
    end
  end
  walk(1)
end

local function reversed(list)
  local out = {}
  for i = #list, 1, -1 do out[#out + 1] = list[i] end
  return out
end

-- Elements in reading order: C, or F (the first index fastest).
function Model:flatten(order)
  local out = {}
  if order == "F" then
    each_index(reversed(self.shape), function(index) out[#out + 1] = self.at(reversed(index)) end)
  else
    each_index(self.shape, function(index) out[#out + 1] = self.at(index) end)
  end
  return out
end

local function model(shape, at)
  return setmetatable({ shape = shape, at = at }, Model)
end

-- The number (from 0) of the element `index` of a contiguous shape.
local function linear(shape, index)
  local n = 0
  for k = 1, #shape do n = n * shape[k] + index[k] - 1 end
  return n
end

local function contiguous_model(shape)
  return model(shape, function(index) return linear(shape, index) end)
end

function Model:transpose(axes)
  local shape = {}
  for k, axis in ipairs(axes) do shape[k] = self.shape[axis] end
  return model(shape, function(index)
    local source = {}
    for k, axis in ipairs(axes) do source[axis] = index[k] end
    return self.at(source)
  end)
end

function Model:slice(dim, first, last, step)
  local positions = {}
  for i = first, last, step do positions[#positions + 1] = i end
  local shape = { table.unpack(self.shape) }
  shape[dim] = #positions
  return model(shape, function(index)
    local source = { table.unpack(index) }
    source[dim] = positions[index[dim]]
    return self.at(source)
  end)
end

function Model:reshape(shape, order)
  local flat = self:flatten(order)
  return model(shape, function(index)
    local n = order == "F" and linear(reversed(shape), reversed(index)) or linear(shape, index)
    return flat[n + 1]
  end)
end

-- Whether one stride per axis can describe the model: what a view needs.
function Model:is_strided()
  if product(self.shape) == 0 then return true end
  local origin, strides = {}, {}
  for k = 1, #self.shape do origin[k] = 1 end
  local base = self.at(origin)
  for k = 1, #self.shape do
    if self.shape[k] > 1 then
      origin[k] = 2
      strides[k] = self.at(origin) - base
      origin[k] = 1
    else
      strides[k] = 0
    end
  end
  local strided = true
  each_index(self.shape, function(index)
    local at = base
    for k = 1, #index do at = at + (index[k] - 1) * strides[k] end
    strided = strided and at == self.at(index)
  end)
  return strided
end

-- ---- comparing ------------------------------------------------------------------------------

local function assert_same_elements(want, a)
  assert.same(want.shape, a.shape)
  local got = {}
  each_index(want.shape, function(index) got[#got + 1] = a:get(table.unpack(index)) end)
  assert.same(want:flatten("C"), got)
end

local function contiguous_array(shape)
  local a = roc.empty(shape, "int32")
  local n = 0
  each_index(shape, function(index)
    a:set(n, table.unpack(index))
    n = n + 1
  end)
  return a
end

-- ---- random shapes, the same at every run ---------------------------------------------------

local state = 12345
local function random(n)
  state = (state * 1103515245 + 12345) % (1 << 31)
  return (state >> 8) % n + 1
end

local function random_shape()
  local shape = {}
  for k = 1, random(4) do shape[k] = random(5) - (random(12) == 1 and 1 or 0) end
  return shape
end

local function random_axes(n)
  local axes = {}
  for k = 1, n do table.insert(axes, random(k), k) end
  return axes
end

local function random_slice(a, m)
  local dim = random(#m.shape)
  local extent = m.shape[dim]
  if extent == 0 then return a, m end
  local first, last, step = random(extent), random(extent), random(3)
  if first > last then step = -step end
  return a:slice(dim, first, last, step), m:slice(dim, first, last, step)
end

local function random_transpose(a, m)
  local axes = random_axes(#m.shape)
  return a:transpose(axes), m:transpose(axes)
end

-- Splits a size into extents at random.
local function random_factors(size)
  local shape = {}
  for _ = 1, random(3) do
    local divisors = {}
    for d = 1, size do
      if size % d == 0 then divisors[#divisors + 1] = d end
    end
    local d = divisors[random(#divisors)]
    shape[#shape + 1] = d
    size = size // d
  end
  shape[#shape + 1] = size
  return shape
end

local function check_reshape(a, m)
  local size = product(m.shape)
  if size == 0 then return end
  local shape = random_factors(size)
  local order = random(2) == 1 and "C" or "F"
  local want = m:reshape(shape, order)
  local ok, view = pcall(a.reshape, a, shape, { order = order })
  if want:is_strided() then
    assert.is_true(ok, tostring(view))
    assert_same_elements(want, view)
  else
    assert.is_false(ok)
    assert.matches("a copy is needed", view)
  end
end

describe("views against a model", function()
  it("agree for random chains of slices and transposes", function()
    for _ = 1, 300 do
      local shape = random_shape()
      local a, m = contiguous_array(shape), contiguous_model(shape)
      for _ = 1, random(4) do
        if random(2) == 1 then
          a, m = random_slice(a, m)
        else
          a, m = random_transpose(a, m)
        end
      end
      assert_same_elements(m, a)
    end
  end)

  it("reshape to a view exactly when strides can describe it, in both orders", function()
    for _ = 1, 400 do
      local shape = random_shape()
      local a, m = contiguous_array(shape), contiguous_model(shape)
      if random(2) == 1 then a, m = random_transpose(a, m) end
      if random(2) == 1 then a, m = random_slice(a, m) end
      check_reshape(a, m)
    end
  end)

  it("ravel, copy, tobytes, totable and astype read strided arrays in order", function()
    for _ = 1, 150 do
      local shape = random_shape()
      local a, m = contiguous_array(shape), contiguous_model(shape)
      a, m = random_transpose(a, m)
      a, m = random_slice(a, m)
      for _, order in ipairs { "C", "F" } do
        assert.same(m:flatten(order), a:ravel(order):totable())
      end
      local flat = m:flatten("C")
      assert_same_elements(m, a:copy())
      assert_same_elements(m, a:astype("int64"))
      assert.same(flat, roc.frombytes(a:tobytes(), "int32"):totable())
      assert_same_elements(m, roc.array(a))
      if product(m.shape) > 0 then
        assert_same_elements(m, roc.array(a:totable(), "int32"))
      end
    end
  end)

  it("rows index as get does", function()
    local a, m = contiguous_array { 3, 4, 5 }, contiguous_model { 3, 4, 5 }
    a, m = a:transpose(3, 1, 2), m:transpose { 3, 1, 2 }
    each_index(m.shape, function(index)
      assert.equal(m.at(index), a[index[1]][index[2]][index[3]])
    end)
  end)
end)

describe("reshape", function()
  local a = roc.range(1, 12)

  it("takes integers or a table, and works out an extent of -1", function()
    assert.same({ 3, 4 }, a:reshape(3, 4).shape)
    assert.same({ 3, 4 }, a:reshape({ 3, 4 }).shape)
    assert.same({ 3, 4 }, a:reshape(3, -1).shape)
    assert.same({ 2, 3, 2 }, a:reshape({ -1, 3, 2 }).shape)
    assert.same({ 12 }, a:reshape(-1).shape)
    assert.same({ 1, 12, 1 }, a:reshape(1, 12, 1).shape)
  end)

  it("shares memory with what it views", function()
    local b = roc.zeros(6)
    b:reshape(2, 3)[2][1] = 7
    assert.equal(7.0, b[4])
  end)

  it("reads in Fortran order when asked", function()
    assert.same({ { 1, 4, 7, 10 }, { 2, 5, 8, 11 }, { 3, 6, 9, 12 } },
      a:reshape(3, 4, { order = "F" }):totable())
    assert.same({ { 1, 3 }, { 2, 4 } }, roc.range(1, 4):reshape({ 2, 2 },
      { order = "F" }):totable())
  end)

  it("never permutes: it says that a copy is needed", function()
    local t = a:reshape(3, 4):transpose()
    assert.error_matches(function() t:reshape(12) end, "a copy is needed, as a:ravel%(%):reshape")
    assert.same({ 2, 6 }, t:ravel():reshape(2, 6).shape)
    local f = { order = "F" }
    assert.error_matches(function() a:reshape(3, 4):reshape(12, f) end,
      'a copy is needed, as a:ravel%("F"%):reshape')
    assert.same({ { 1, 9, 6, 3, 11, 8 }, { 5, 2, 10, 7, 4, 12 } },
      a:reshape(3, 4):ravel("F"):reshape(2, 6, f):totable())
    assert.same({ 12 }, t:reshape({ 12 }, { order = "F" }).shape)
    assert.same({ 1, 5, 9, 2 }, t:copy():reshape(12):slice(1, 1, 4):totable())
  end)

  it("reshapes empty arrays", function()
    assert.same({ 0, 7 }, roc.zeros({ 3, 0 }):reshape(0, 7).shape)
    assert.same({ 0 }, roc.zeros({ 3, 0 }):reshape(0).shape)
    assert.same({ 5, 0 }, roc.zeros({ 3, 0 }):reshape(5, 0).shape)
  end)
end)

describe("contiguity", function()
  it("ignores axes of extent 1", function()
    local a = roc.zeros { 1, 5, 1 }
    assert.is_true(a:is_c_contiguous())
    assert.is_true(a:is_f_contiguous())
    assert.is_true(roc.zeros({ 3, 4 }):slice(1, 2, 2):is_c_contiguous())
    assert.is_true(roc.zeros({ 3, 4 }):slice(1, 2, 2):is_f_contiguous())
  end)

  it("tells C from F order", function()
    local c, f = roc.zeros { 3, 4 }, roc.zeros({ 3, 4 }, "float64", "F")
    assert.is_true(c:is_c_contiguous())
    assert.is_false(c:is_f_contiguous())
    assert.is_false(f:is_c_contiguous())
    assert.is_true(f:is_f_contiguous())
    assert.is_true(c:transpose():is_f_contiguous())
    assert.is_false(c:slice(2, 1, 2):is_c_contiguous())
    assert.is_false(roc.zeros(4):slice(1, 4, 1, -1):is_c_contiguous())
  end)

  it("holds both ways for empty arrays", function()
    local a = roc.zeros({ 3, 0, 4 }):transpose(3, 1, 2)
    assert.is_true(a:is_c_contiguous())
    assert.is_true(a:is_f_contiguous())
  end)
end)

describe("ravel", function()
  it("is a view where it can be and else a copy", function()
    local a = roc.zeros { 2, 3 }
    a:ravel()[1] = 5
    assert.equal(5.0, a[1][1])
    a:ravel("F")[1] = 6
    assert.equal(5.0, a[1][1])
    a:transpose():ravel("F")[1] = 7
    assert.equal(7.0, a[1][1])
  end)
end)

describe("slice", function()
  it("runs from first to last in steps, as a numeric for", function()
    local a = roc.range(1, 10)
    assert.same({ 2, 5, 8 }, a:slice(1, 2, 9, 3):totable())
    assert.same({ 10, 6, 2 }, a:slice(1, 10, 1, -4):totable())
    assert.same({}, a:slice(1, 5, 4):totable())
    assert.same({}, a:slice(1, 4, 5, -1):totable())
    assert.same({ 3 }, a:slice(1, 3, 3, math.maxinteger):totable())
    assert.same({ 7 }, a:slice(1, 7, 1, math.mininteger):totable())
  end)

  for _, name in ipairs { "cpu", "sim" } do
    it("copies between views that overlap as if through a third array, on " .. name, function()
      local scope <close> = roc.on_device(name)
      local d = roc.to_device(roc.range(1, 6))
      d:slice(1, 1, 5):copy_to_device(d:slice(1, 2, 6))
      assert.same({ 1, 1, 2, 3, 4, 5 }, d:copy_to_host():totable())
      d:copy_to_device(d:slice(1, 6, 1, -1))
      assert.same({ 5, 4, 3, 2, 1, 1 }, d:copy_to_host():totable())
    end)
  end
end)

describe("view_bytes", function()
  it("shows bytes of an array, or of a part of it, as elements of another dtype", function()
    local bytes = roc.range(1, 32, 1, "uint8")
    assert.same({ 0x0c0b0a09, 0x100f0e0d }, core.view_bytes(bytes, 8, 2, "int32"):totable())
    assert.same({ 0x14131211 }, core.view_bytes(bytes:slice(1, 9, 32), 8, 1, "int32"):totable())
    assert.same({}, core.view_bytes(bytes, 32, 0, "float64"):totable())
  end)

  it("refuses what is not aligned, not contiguous, or leaves the array", function()
    local bytes = roc.zeros(32, "uint8")
    for _, args in ipairs {
      { bytes, 2, 1, "int32" }, { bytes:slice(1, 2, 32), 0, 1, "int16" }, { bytes, 28, 2, "int32" },
      { bytes, -4, 1, "int32" }, { bytes, 0, -1, "int32" }, { bytes, math.maxinteger, 1, "int8" },
      { bytes:slice(1, 1, 31, 2), 0, 1, "int8" }, { roc.zeros(32, "int8"), 0, 1, "int8" },
    } do
      assert.is_false(pcall(core.view_bytes, table.unpack(args)))
    end
  end)
end)
