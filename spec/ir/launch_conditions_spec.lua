-- Conditions that choose the version of a kernel without checks hold in the launches that the
-- kernel is written for: one that never does is a version that never runs.
package.path = "bench/amdgpu/?.lua;" .. package.path
local roc = require "roc"
local compiler = require("roc.core").testing.compiler

-- What the operations of a condition are, of a launch: `l.args` by number, `l.extents[number]`,
-- `l.grid` and `l.workgroup` by dimension.
local OPERATIONS = {
  const = function(_, k) return k == "true" or k ~= "false" and math.tointeger(k) end,
  param = function(l, name) return l.args[l.params[name]] end,
  extent = function(l, name, dim) return l.extents[l.params[name]][tonumber(dim) + 1] end,
  global_size = function(l, dim) return l.grid[tonumber(dim) + 1] or 1 end,
  local_size = function(l, dim) return l.workgroup[tonumber(dim) + 1] or 1 end,
  num_groups = function(l, dim)
    local d = tonumber(dim) + 1
    return ((l.grid[d] or 1) + (l.workgroup[d] or 1) - 1) // (l.workgroup[d] or 1)
  end,
  add = function(_, a, b) return a + b end,
  mul = function(_, a, b) return a * b end,
  floordiv = function(_, a, b) return a // b end,
  min = function(_, a, b) return math.min(a, b) end,
  le = function(_, a, b) return a <= b end,
  select = function(_, c, a, b) if c then return a end return b end,
}

-- Whether the condition of the versions holds; nil: there are none.
local function holds(text, launch)
  local head, test = text:match("^(.-)\n  if versions (%%%d+)")
  if not head then return nil end
  local values = {}
  launch.params = {}
  for name, n in head:match("%((.-)%) "):gmatch("([%w_]*%.(%d+)): ") do
    launch.params[name] = tonumber(n) + 1
  end
  for array, param in head:gmatch("\n  array ([%w_]*%.%d+) = param ([%w_]*%.%d+)") do
    launch.params[array] = launch.params[param]
  end
  for value, op, operands in head:gmatch("\n  (%%%d+): %a+ = ([%w_]+) ?([^\n!]*)") do
    local args = {}
    for arg in operands:gmatch("%S+") do
      local known = values[arg]
      if known == nil then known = arg end
      args[#args + 1] = known
    end
    values[value] = OPERATIONS[op](launch, table.unpack(args))
  end
  return values[test]
end

local function text_of(make, signature, defers)
  local scope <close> = roc.on_device "sim"
  local kernel = roc.kernel
  local restore <close> = setmetatable({}, { __close = function() roc.kernel = kernel end })
  roc.kernel = function(fn, options)
    options.signature = signature
    return kernel(fn, options)
  end
  return compiler.ir_version_launch(make(true):inspect_ir(), defers)
end

local function launch_of(row)
  local launch = { args = {}, extents = {}, grid = row.grid, workgroup = row.workgroup }
  local types = {}
  local function add(type, value, extents)
    types[#types + 1] = type
    launch.args[#types], launch.extents[#types] = value, extents
  end
  for _, x in ipairs(row.first or {}) do add("float32", x) end
  for _, spec in ipairs(row.arrays) do
    local shape = type(spec[2]) == "table" and spec[2] or { spec[2] }
    add(("%s[:%s] narrow"):format(spec[1], (",:"):rep(#shape - 1)), nil, shape)
  end
  for _, n in ipairs(row.scalars or {}) do add("int64 narrow", n) end
  return launch, "(" .. table.concat(types, ", ") .. ")"
end

-- `defers`: as for targets that make checks of loops after them.
local function condition(row, defers)
  local launch, signature = launch_of(row)
  return holds(text_of(row.make, signature, defers), launch)
end

-- A row as those of the bench.
local function row(arrays, grid, workgroup, fn, scalars)
  return { arrays = arrays, grid = grid, workgroup = workgroup, scalars = scalars,
    make = function(check)
      return roc.kernel(fn, { name = "k", check = check, workgroup = workgroup })
    end }
end

describe("the condition for versions of a kernel", function()
  it("holds in the launches of the bench", function()
    local count = 0
    for _, r in ipairs(require "kernels") do
      local result = condition(r)
      assert.are_not.equal(false, result, r.name)
      if result then count = count + 1 end
    end
    assert.is_true(count >= 20, count)
  end)

  it("does not hold where it asks for what the launch does not have", function()
    local function shift(x, y)
      local i = roc.get_global_id(1)
      if i <= #y then y[i] = x[i + 2] end
    end
    local y = { "float32", 100 }
    assert.is_true(condition(row({ { "float32", 102 }, y }, { 128 }, { 64 }, shift)))
    assert.is_false(condition(row({ { "float32", 101 }, y }, { 128 }, { 64 }, shift)))
  end)

  it("adds extents where an index is the sum of what they bound", function()
    local function convolve(x, w, y)
      local i, sum = roc.get_global_id(1), 0.0
      if i > #y then return end
      for k = 1, #w do sum = sum + x[i + k - 1] * w[k] end
      y[i] = sum
    end
    local w, y = { "float32", 5 }, { "float32", 96 }
    assert.is_true(condition(row({ { "float32", 100 }, w, y }, { 128 }, { 64 }, convolve)))
    assert.is_false(condition(row({ { "float32", 99 }, w, y }, { 128 }, { 64 }, convolve)))
  end)

  it("holds for a grid whose edges meet", function()
    local r = row({ { "uint32", { 90, 40 } }, { "uint32", { 90, 40 } } }, { 48, 96 }, { 16, 16 },
      function(now, next)
        local x, y = roc.grid(2)
        local h, w = now.shape[1], now.shape[2]
        if x > w or y > h then return end
        local left, right, down = x - 1, x + 1, y + 1
        if x == 1 then left = w end
        if x == w then right = 1 end
        if y == h then down = 1 end
        next[y][x] = now[y][left] ~ now[y][right] ~ now[down][x]
      end)
    assert.is_true(condition(r))
  end)

  it("holds where a value that is never an index is kept beside indices", function()
    local r = row({ { "uint32", 1000 }, { "int32", { 4, 16 } } }, { 1024 }, { 256 },
      function(keys, starts)
        local i, g, digit = roc.get_global_id(1), roc.get_group_id(1), 99
        if i <= #keys then digit = keys[i] & 15 end
        roc.barrier()
        if i <= #keys then roc.atomic.add(starts, { g, digit + 1 }, 1) end
      end)
    assert.is_true(condition(r))
  end)

  -- The text of the version without checks.
  local function fast(r)
    local _, signature = launch_of(r)
    local text = text_of(r.make, signature)
    return text:match("\n  if versions (.-)\n  else") or text
  end

  local function flat(length, fn)
    local x = { "float32", length }
    return row({ x, x }, { 16, 16 }, { 16, 4 }, fn, { 12, 10 })
  end

  local function stencil(a, b, w, h)
    local x, y = roc.grid(2)
    if x <= 1 or x >= w or y <= 1 or y >= h then return end
    local i = (y - 1) * w + x
    b[i] = a[i - w] + a[i - 1] + a[i] + a[i + 1] + a[i + w] + a[y * w - x + 1]
  end

  it("asks for rows times their length of flat arrays", function()
    assert.is_true(condition(flat(120, stencil)))
    assert.is_false(condition(flat(119, stencil)))
    assert.not_matches("check%.index", fast(flat(120, stencil)))
  end)

  it("asks for planes times rows times their length", function()
    local function heat(a, b, w, h, d)
      local x, y, z = roc.grid(3)
      if x <= 1 or x >= w or y <= 1 or y >= h or z <= 1 or z >= d then return end
      local i, plane = ((z - 1) * h + y - 1) * w + x, w * h
      b[i] = a[i - plane] + a[i + plane] + a[i - w] + a[i + w]
    end
    local function of(length, w)
      local x = { "float32", length }
      return row({ x, x }, { 16, 16, 4 }, { 16, 4, 1 }, heat, { w, 10, 3 })
    end
    assert.is_true(condition(of(360, 12)))
    assert.is_false(condition(of(359, 12)))
    assert.is_false(condition(of(360, 1 << 29))) -- 10 << 29 is over 2^31
    assert.not_matches("check%.index", fast(of(360, 12)))
  end)

  it("keeps the checks of what a row is too short for", function()
    local text = fast(flat(1000, function(a, b, w, h)
      local x, y = roc.grid(2)
      if x > w or y > h then return end
      b[(y - 1) * w + x] = a[y * w + x] + a[(y - 1) * w + x - 1]
    end))
    assert.are.equal(2, select(2, text:gsub("check%.index", "")))
  end)

  it("takes a guard of a multiple for one of what is multiplied", function()
    local function pairs_of(first, y)
      local i = roc.get_global_id(1)
      if 2 * i + 1 > #y then return end
      y[2 * i] = first[i + 1]
    end
    local function of(length)
      return row({ { "int32", length }, { "int32", 101 } }, { 128 }, { 64 }, pairs_of)
    end
    assert.is_true(condition(of(51)))
    assert.is_false(condition(of(50)))
    assert.not_matches("check%.index", fast(of(51)))
  end)

  it("knows slots of a hash table, masked or divided, that loops carry on", function()
    for _, step in ipairs { function(slot, n) return slot + 1 & n - 1 end,
      function(slot, n) return (slot + 1) % n end } do
      local r = row({ { "int32", 64 }, { "int32", 64 } }, { 64 }, { 64 }, function(keys, out)
        local i = roc.get_global_id(1)
        if i > #out then return end
        local slot = step(i * 40503 >> 3, #keys)
        for _ = 1, 8 do
          if keys[slot + 1] == i then break end
          slot = step(slot, #keys)
        end
        out[i] = slot
      end)
      assert.are_not.equal(false, condition(r))
      assert.not_matches("check%.index keys", fast(r))
    end
  end)

  it("does not ask for an entry of each byte in a loop that reads alone", function()
    local r = row({ { "uint8", { 64, 24 } }, { "uint32", 26 }, { "uint32", 64 } }, { 64 }, { 64 },
      function(text, masks, out)
        local i = roc.get_global_id(1)
        if i > #out then return end
        local v = 0
        for k = 1, text.shape[2] do v = v ~ masks[text[i][k] + 1] end
        out[i] = v
      end)
    assert.is_true(condition(r, true))
    assert.is_false(condition(r, false))
  end)

  it("decides divisors, and places in words and bits of what a remainder is taken by", function()
    local function of(nwords)
      return row({ { "uint32", 64 }, { "uint32", nwords } }, { 64 }, { 64 }, function(keys, bits)
        local i = roc.get_global_id(1)
        if i > #keys then return end
        local bit, byte = keys[i] % (#bits * 32), keys[i] % (#bits * 4)
        roc.atomic.or_(bits, (bit >> 5) + 1, 1 << (bit & 31))
        roc.atomic.or_(bits, byte // 4 + 1, 1)
      end)
    end
    assert.is_true(condition(of(8)))
    assert.is_false(condition(of(0)))
    assert.not_matches("check%.", fast(of(8)))
  end)
end)
