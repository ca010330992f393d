-- Sorts, reductions and products of host arrays run in the runtime's own vector code, which a
-- processor has in several versions: each gives the same bytes.
local roc = require "roc"
local programs = require "support.programs"

-- Prints a hash of results for arrays of every length that the vectors treat in their own way.
local program = [==[
local roc = require "roc"
local hash = 0
local function add(result)
  for i = 1, #result, 8 do
    local word = string.unpack("<I8", (result:sub(i, i + 7) .. "\0\0\0\0\0\0\0"):sub(1, 8))
    hash = (hash ~ word) * 0x100000001b3 + (hash >> 29)
  end
end
local function add_all(...)
  for _, result in ipairs { ... } do
    add(type(result) == "userdata" and result:copy():tobytes() or string.pack("n", result))
  end
end
local rng = roc.rng(5)
local dtypes = { "int8", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64" }
local lengths = { 1, 7, 8, 9, 31, 33, 63, 64, 65, 127, 130, 191, 192, 256, 257, 1000, 4097, 30000 }
for _, dtype in ipairs(dtypes) do
  for _, n in ipairs(lengths) do
    for _, range in ipairs { 1, 100, 1 << 62 } do
      local a = rng:integers(-range, range, n):astype(dtype)
      if dtype:find "float" then
        a = a / 7
        if range == 100 then a[rng:integers(1, n, 3)] = 0 / 0 end
      end
      add_all(a:sort(), a:argsort(), a:sort { descending = true })
      add_all(a:sum(), a:prod(), a:mean(), a:dot(a), a:std(), a:norm())
      add_all(a:argmax(), a:argmin())
      if range ~= 100 then add_all(a:max(), a:min()) end
    end
  end
end
for _, dtype in ipairs(dtypes) do
  for _, shape in ipairs { { 3, 8 }, { 70, 9 }, { 200, 130 }, { 65, 1500 }, { 4500, 40 }, { 9000, 70 } } do
    local a = rng:integers(-50, 50, shape):astype(dtype)
    for axis = 1, 2 do
      local line = { axis = axis }
      add_all(a:sum(line), a:prod(line), a:max(line), a:argmin(line), a:var(line), a:mean(line))
    end
  end
end
for _, dtype in ipairs { "float32", "float64" } do
  for _, shape in ipairs { { 4, 4, 4 }, { 13, 5, 33 }, { 7, 300, 70 }, { 110, 257, 9 } } do
    local m, k, n = table.unpack(shape)
    local a, b = rng:normal({ m, k }, dtype), rng:normal({ k, n }, dtype)
    add_all(a:matmul(b), b:transpose():matmul(a:transpose()), a:matmul(b:flip { axis = 2 }))
    add_all(roc.stack { a, a + 1 }:matmul(b))
  end
end
io.write(hash)
]==]

describe("vectors of the runtime", function()
  it("give the same bytes on every level of a processor", function()
    local expected
    for _, level in ipairs { "", "x86-64-v3", "x86-64" } do
      local ok, printed = programs.run(programs.lua(program, "ROCLUA_CPU=" .. level))
      assert.is_true(ok, printed)
      assert.matches("^%-?%d+$", printed)
      expected = expected or printed
      assert.are.equal(expected, printed, level)
    end
  end)

  it("combine columns as lines, however rows lie and threads share them", function()
    for _, shape in ipairs { { 70000, 9 }, { 5000, 130 }, { 4099, 1100 }, { 64, 70000 } } do
      local a = roc.rng(2):normal(shape, "float32")
      local lines = a:transpose():copy()
      for _, op in ipairs { "sum", "var", "prod", "max", "argmin" } do
        local columns = a[op](a, { axis = 1 }):copy()
        assert.are.equal(lines[op](lines, { axis = 2 }):copy():tobytes(), columns:tobytes(),
          ("%s of %d x %d"):format(op, shape[1], shape[2]))
      end
    end
  end)
end)
