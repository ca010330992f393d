-- How exact the functions of math and roc.math are on cpu and GPUs, in units in the last place
-- (ULP): edge values, random bit patterns and random arguments of the ranges that matter, against
-- libm's long double (spec/c/math_reference.c). The bounds are those of docs/kernel-language.md.
local roc = require "roc"
local devices = require "support.devices"
local files = require "support.files"
local programs = require "support.programs"

local reference = programs.find("math_reference")

local COUNT = 500 -- random arguments of a range

-- name, how it is written, ULP of float32, of float64, ranges of each argument
local FUNCTIONS = {
  { "sqrt", "math.sqrt(x)", 0.5, 0.5, { { 0, 10 } } },
  { "trunc", "roc.math.trunc(x)", 0, 0, { { -10, 10 } } },
  { "round", "roc.math.round(x)", 0, 0, { { -10, 10 } } },
  { "sin", "math.sin(x)", 2, 2, { { -10, 10 }, { -1e5, 1e5 } } },
  { "cos", "math.cos(x)", 2, 2, { { -10, 10 }, { -1e5, 1e5 } } },
  { "tan", "math.tan(x)", 2, 2, { { -10, 10 }, { -1e5, 1e5 } } },
  { "asin", "math.asin(x)", 3, 2, { { -1, 1 }, { -1e-3, 1e-3 } } },
  { "acos", "math.acos(x)", 3, 2, { { -1, 1 }, { -1e-3, 1e-3 } } },
  { "atan", "math.atan(x)", 2, 2, { { -2, 2 }, { -100, 100 } } },
  { "sinh", "roc.math.sinh(x)", 2, 2, { { -1, 1 }, { -90, 90 } } },
  { "cosh", "roc.math.cosh(x)", 2, 2, { { -1, 1 }, { -90, 90 } } },
  { "tanh", "roc.math.tanh(x)", 2, 2, { { -1, 1 }, { -20, 20 } } },
  { "asinh", "roc.math.asinh(x)", 2, 2, { { -1, 1 }, { -100, 100 } } },
  { "acosh", "roc.math.acosh(x)", 2, 2, { { 1, 2 }, { 1, 100 } } },
  { "atanh", "roc.math.atanh(x)", 2, 2, { { -1, 1 }, { -0.1, 0.1 } } },
  { "exp", "math.exp(x)", 2, 2, { { -1, 1 }, { -104, 90 }, { -746, 710 } } },
  { "exp2", "roc.math.exp2(x)", 2, 2, { { -1, 1 }, { -150, 129 }, { -1075, 1025 } } },
  { "expm1", "roc.math.expm1(x)", 2, 2, { { -1, 1 }, { -50, 90 } } },
  { "log", "math.log(x)", 2, 2, { { 0.5, 2 }, { 0, 1e4 } } },
  { "log2", "roc.math.log2(x)", 2, 2, { { 0.5, 2 }, { 0, 1e4 } } },
  { "log10", "roc.math.log10(x)", 2, 2, { { 0.5, 2 }, { 0, 1e4 } } },
  { "log1p", "roc.math.log1p(x)", 2, 2, { { -1, 1 }, { -1e-3, 1e-3 }, { 0, 1e4 } } },
  { "cbrt", "roc.math.cbrt(x)", 2, 2, { { -10, 10 } } },
  { "rsqrt", "roc.math.rsqrt(x)", 2, 2, { { 0, 10 } } },
  { "erf", "roc.math.erf(x)", 4, 4, { { -1, 1 }, { -6, 6 } } },
  { "erfc", "roc.math.erfc(x)", 4, 4, { { -1, 1 }, { -6, 28 }, { 0, 11 } } },
  { "gamma", "roc.math.gamma(x)", 1, 8, { { 0, 3 }, { -10, 35 }, { -180, 172 } } },
  { "lgamma", "roc.math.lgamma(x)", 4, 4, { { 0, 4 }, { -50, 0 }, { 0, 1e4 } } },
  { "deg", "math.deg(x)", 2, 2, { { -10, 10 } } },
  { "rad", "math.rad(x)", 2, 2, { { -10, 10 } } },
  { "atan2", "math.atan(x, y)", 3, 3, { { -10, 10 }, { -1e-3, 1e-3 } } },
  { "pow", "x ^ y", 2, 2, { { 0, 10 }, { -30, 30 }, { 0.99, 1.01 } } },
  { "pow", "roc.math.pow(x, y)", 2, 2, { { 0, 10 } } },
  { "log_to_base", "math.log(x, y)", 4, 4, { { 0, 10 }, { 0.99, 1.01 } } },
  { "divide", "x / y", 0.5, 0.5, { { -10, 10 } } },
  { "hypot", "roc.math.hypot(x, y)", 2, 2, { { -10, 10 }, { -1e-3, 1e-3 } } },
  { "fmod", "math.fmod(x, y)", 0, 0, { { -10, 10 }, { -1e5, 1e5 } } },
  { "copysign", "roc.math.copysign(x, y)", 0, 0, { { -10, 10 } } },
  { "fma", "roc.math.fma(x, y, z)", 0.5, 0.5, { { -10, 10 }, { -1e-3, 1e-3 } } },
}

-- Of both types: a value that float32 does not have is rounded.
local EDGES = {
  0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1.5, -1.5, 2.5, -2.5, 1 / 0, -1 / 0, 0 / 0,
  math.pi, -math.pi, math.pi / 2, math.pi / 4, 3 * math.pi / 4, 1e5, 16777216.0, 1e30, -1e30,
  1 - 2.0 ^ -24, 1 + 2.0 ^ -23, -1 + 2.0 ^ -24, 1 - 2.0 ^ -53, 1 + 2.0 ^ -52, 0.49999997,
  2.0 ^ -149, -2.0 ^ -149, 2.0 ^ -126, -2.0 ^ -126, 2.0 ^ -126 - 2.0 ^ -149, 2.0 ^ -64,
  2.0 ^ 127 * (2 - 2.0 ^ -23), -2.0 ^ 127 * (2 - 2.0 ^ -23), 88.72283, -87.33655, -103.97208,
  5e-324, -5e-324, 2.0 ^ -1022, 2.0 ^ -1022 - 5e-324, 2.0 ^ -500, 2.0 ^ 600, -1e300,
  1.7976931348623157e308, 709.782712893384, -708.3964185322641, -745.1332191019412,
  171.62437695630272,
}

local FORMATS = {
  float32 = { bits = 32, column = 3, pack = "<f" },
  float64 = { bits = 64, column = 4, pack = "<d" },
}

local seed = 1
-- A generator of its own, so that a failure can be seen again: xorshift*.
local function random_bits()
  seed = seed ~ (seed >> 12)
  seed = seed ~ (seed << 25)
  seed = seed ~ (seed >> 27)
  return seed * 0x2545f4914f6cdd1d
end

local function random_in(range)
  return range[1] + (range[2] - range[1]) * ((random_bits() >> 11) * 2.0 ^ -53)
end

-- `n` lists of arguments: edges (of two arguments, each with each), any bits, and each range.
local function arguments(n, ranges, format)
  local lists = {}
  for a = 1, n do lists[a] = {} end
  local function add(generate)
    for a = 1, n do table.insert(lists[a], generate(a)) end
  end
  for i, x in ipairs(EDGES) do
    for j = 1, n == 1 and 1 or #EDGES do
      add(function(a) return a == 1 and x or EDGES[a == 2 and j or (i + j) % #EDGES + 1] end)
    end
  end
  for _ = 1, 2 * COUNT do
    add(function()
      return (string.unpack(format.pack,
        string.pack("<I8", random_bits() >> 1 << 1 | random_bits() >> 63)))
    end)
  end
  for _, range in ipairs(ranges) do
    for _ = 1, COUNT do
      add(function() return random_in(range) end)
    end
  end
  return lists
end

-- The arguments in float64, then the results.
local function evaluate(text, lists, dtype)
  local names = { "x", "y", "z" }
  local reads, inputs, doubles = {}, {}, {}
  for a, list in ipairs(lists) do
    local host = roc.array(list, dtype)
    inputs[a], doubles[a] = roc.to_device(host), host:astype("float64"):tobytes()
    reads[a] = ("local %s = %s_[i]"):format(names[a], names[a])
  end
  local k = devices.kernel(("function(%s_, out) local i = roc.get_global_id(1) %s out[i] = %s end")
    :format(table.concat(names, "_, ", 1, #lists), table.concat(reads, " "), text))
  local out = devices.zeros(#lists[1], dtype)
  inputs[#inputs + 1] = out
  k:forall(#lists[1])(table.unpack(inputs))
  doubles[#doubles + 1] = out:copy_to_host():astype("float64"):tobytes()
  return table.concat(doubles)
end

-- The greatest error, and the line that tells where it is.
local function measure(name, format, count, n, doubles)
  local path = os.tmpname()
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(("%s %d %d %d\n"):format(name, format.bits, n, count), doubles))
  file:close()
  local line, succeeded = files.run(("%s < %s"):format(reference, path))
  os.remove(path)
  assert(succeeded, "math_reference: " .. line)
  local worst = line:match("^%S+")
  return worst == "inf" and math.huge or tonumber(worst), line
end

devices.each(function(device)
  if device.kind == "sim" then return end
  for _, dtype in ipairs { "float32", "float64" } do
    local format = FORMATS[dtype]
    for _, f in ipairs(FUNCTIONS) do
      local name, text, bound = f[1], f[2], f[format.column]
      it(("%s is within %s ULP of %s"):format(text, bound, dtype), function()
        if not reference then return pending("math_reference is not built") end
        local _, n = text:gsub("%f[%w][xyz]%f[%W]", "")
        local lists = arguments(n, f[5], format)
        local worst, line = measure(name, format, #lists[1], n, evaluate(text, lists, dtype))
        if os.getenv("ROCLUA_SHOW_ULP") then print(dtype, name, line) end
        assert(worst <= bound, ("%s ULP from the truth: arguments, result, truth: %s"):format(worst,
          line))
      end)
    end
  end
end)
