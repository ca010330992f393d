-- A function's result depends on its argument alone: not on where in an array that stands, how many
-- there are, how wide the vectors are that the loop became, nor on whether the compiler knew it.
local roc = require "roc"
local devices = require "support.devices"

local UNARY = {
  "math.sin", "math.cos", "math.tan", "math.asin", "math.acos", "math.atan", "math.exp", "math.log",
  "roc.math.exp2", "roc.math.log2", "roc.math.log10", "roc.math.log1p", "roc.math.expm1",
  "roc.math.sinh", "roc.math.cosh", "roc.math.tanh", "roc.math.asinh", "roc.math.acosh",
  "roc.math.atanh", "roc.math.cbrt", "roc.math.rsqrt", "roc.math.erf", "roc.math.erfc",
  "roc.math.gamma", "roc.math.lgamma",
}
local TEXTS = {} -- of x, and of y where there are two
for i, name in ipairs(UNARY) do TEXTS[i] = name .. "(x)" end
for _, text in ipairs { "x ^ y", "roc.math.pow(x, y)", "math.atan(x, y)", "roc.math.hypot(x, y)",
  "math.log(x, y)", "x ^ 3", "x ^ 0.5", "x ^ -1.5", "2.5 ^ x" } do
  TEXTS[#TEXTS + 1] = text
end

local COUNT <const> = 300 -- of each value several, far apart

local VALUES = {
  0.1, 0.37, 0.5, 0.73, 0.99, 1.0, 1.01, 1.3, 1.7, 2.0, 2.3, 3.1, 5.0, 7.7, 20.3, 88.1, -0.1, -0.37,
  -0.73, -1.3, -2.3, -7.7, -20.3, -87.5, 1e-7, 1e-40, -1e-40, 1e5, 0.0, 1 / 0, -1 / 0,
}

local function exponent(i) return ({ 2.0, 0.5, 3.0, -1.5, 0.3, 7.0, 2.7 })[i % 7 + 1] end

-- Places of an array to numbers of VALUES; `turn` moves them.
local function place(i, turn) return (i * 7 + i // 31 + turn) % #VALUES + 1 end

local function fill(n, turn, dtype)
  local xs, ys = {}, {}
  for i = 1, n do
    local p = place(i, turn)
    xs[i], ys[i] = VALUES[p], exponent(p)
  end
  return devices.values(xs, dtype), devices.values(ys, dtype)
end

-- Compares what stands at the places with what is known of the values; fills in what is not.
local function compare(known, got, n, turn, what)
  for i = 1, n do
    local p = place(i, turn)
    if known[p] == nil then known[p] = got[i] end
    assert(devices.same(known[p], got[i]), ("%s: of %s (and %s): %a, and %a at %d of %d"):format(
      what, VALUES[p], exponent(p), known[p], got[i], i, n))
  end
end

local function launch(k, n, turn, dtype)
  local x, y = fill(n, turn, dtype)
  local out = devices.zeros(n, dtype)
  k:forall(n)(x, y, out)
  return devices.table(out)
end

local ONE = [[function(xs, ys, out)
  local i = roc.get_global_id(1)
  if i <= #xs then
    local x, y = xs[i], ys[i]
    if y == y then out[i] = %s end
  end
end]]

-- In a loop of vectors as wide as bytes allow, under a condition that holds at the second launch.
local OTHER = [[function(xs, ys, out, marks)
  local i = roc.get_global_id(1)
  local x, y = xs[i], ys[i]
  if marks[i] ~= 0 then out[i] = %s end
  marks[i] = marks[i] + 1
end]]

-- The values as numbers in the text.
local function literal(v, dtype)
  local text = v == 1 / 0 and "(1/0)" or v == -1 / 0 and "(-1/0)" or ("(%a)"):format(devices.f32(v))
  if dtype == "float32" then return ("roc.float32(%s)"):format(text) end
  return v - v == 0 and ("(%a)"):format(v) or text
end

local function known_text(text, dtype, step)
  local lines = {}
  for p = 1, #VALUES, step do
    local body = text:gsub("%f[%w][xy]%f[%W]",
      { x = literal(VALUES[p], dtype), y = literal(exponent(p), dtype) })
    lines[#lines + 1] = ("out[%d] = %s"):format(p, body)
  end
  return "function(out)\n" .. table.concat(lines, "\n") .. "\nend"
end

devices.each(function(device)
  if device.raw then return end
  local is_gpu = device.kind == "hsa"
  for _, dtype in ipairs { "float32", "float64" } do
    for _, text in ipairs(TEXTS) do
      it(("gives one value of %s in %s"):format(text, dtype), function()
        local known = {}
        local k = devices.kernel(ONE:format(text))
        compare(known, launch(k, COUNT, 0, dtype), COUNT, 0, "an array")
        for n = 1, is_gpu and 3 or 70 do
          compare(known, launch(k, n, n * 3, dtype), n, n * 3, "a short array")
        end
        if not is_gpu then
          local x, y = fill(COUNT, 2, dtype)
          local marks, out = devices.zeros(COUNT, "int8"), devices.zeros(COUNT, dtype)
          local other = devices.kernel(OTHER:format(text))
          other:forall(COUNT)(x, y, out, marks)
          other:forall(COUNT)(x, y, out, marks)
          compare(known, devices.table(out), COUNT, 2, "beside bytes")
        end
        local numbers = devices.zeros(#VALUES, dtype)
        local step = is_gpu and 5 or 1
        devices.run(devices.kernel(known_text(text, dtype, step)), 1, { numbers })
        local got = devices.table(numbers)
        for p = 1, #VALUES, step do
          assert(devices.same(known[p], got[p]), ("known early: of %s (and %s): %a, and %a"):format(
            VALUES[p], exponent(p), known[p], got[p]))
        end
      end)
    end
  end
end)
