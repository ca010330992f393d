-- Powers that the type can represent are exact, whatever bases and exponents they have, known early
-- or late; zeros, infinities, NaN and signs are C's.
local roc = require "roc"
local devices = require "support.devices"

local FORMATS = {
  float32 = { digits = 24, least = -149, most = 127, pack = "<f" },
  float64 = { digits = 53, least = -1074, most = 1023, pack = "<d" },
}

-- value 2^n, exact where that can be represented.
local function scale(value, n)
  while n > 0 do
    local step = math.min(n, 1000)
    value, n = value * 2.0 ^ step, n - step
  end
  while n < 0 do
    local step = math.min(-n, 500)
    value, n = value / 2.0 ^ step, n + step
  end
  return value
end

-- A number as an odd integer and an exponent of two.
local function parts(x)
  local odd, power = math.abs(x), 0
  while odd % 1 ~= 0 do odd, power = odd * 2, power - 1 end
  while odd % 2 == 0 do odd, power = odd // 2, power + 1 end
  return odd, power
end

-- x^n by integers; nil where the format cannot represent it.
local function exact_power(x, n, format)
  local odd, power = parts(x)
  if n < 0 and odd ~= 1 then return nil end
  local product, bits = 1.0, 0
  for _ = 1, odd == 1 and 0 or n do
    product = product * odd
    if product > 2.0 ^ format.digits then return nil end
  end
  while product >= 2.0 ^ (bits + 1) do bits = bits + 1 end
  local last = power * n
  if last < format.least or last + bits > format.most then return nil end
  product = scale(product, last)
  return x < 0 and n % 2 == 1 and -product or product
end

local function bases(format)
  local list = {}
  for i = 1, 16 do
    list[#list + 1], list[#list + 2] = 0.0 + i, 0.0 - i
  end
  for _, x in ipairs { 0.5, -0.5, 1.5, -1.75, 0.25, 0.75, 1.25, 4097.0, 65537.0, 3 * 2.0 ^ -9,
    2.0 ^ -10, -2.0 ^ 20, 2.0 ^ -37, 2.0 ^ 100, 2.0 ^ -100, scale(1.0, format.least), 2.0 ^ -64,
    scale(1.0, format.most), scale(3.0, format.most // 2) } do
    list[#list + 1] = x
  end
  return list
end

-- Lists of base, exponent and power: of integer exponents, and of fractions where roots are exact.
local function cases(format)
  local xs, ys, powers = {}, {}, {}
  local function add(x, y, power)
    if x and power then
      xs[#xs + 1], ys[#ys + 1], powers[#powers + 1] = x, y, power
    end
  end
  for _, x in ipairs(bases(format)) do
    for n = -64, 64 do add(x, 0.0 + n, exact_power(x, n, format)) end
  end
  for n = format.least, format.most do add(2.0, 0.0 + n, exact_power(2.0, n, format)) end
  for _, root in ipairs { 2.0, 3.0, 5.0, 7.0, 12.0, 1.5, 2.0 ^ -5, 255.0 } do
    for _, shift in ipairs { 1, 2, 3 } do
      local x = exact_power(root, 1 << shift, format)
      for n = -6, 12 do
        add(x, n / 2.0 ^ shift, exact_power(root, n, format))
      end
    end
  end
  return xs, ys, powers
end

local function check(got, powers, xs, ys)
  for i, power in ipairs(powers) do
    assert(devices.same(power, got[i]), ("%a ^ %s: expected %a, got %a"):format(xs[i], ys[i], power,
      got[i]))
  end
end

local SPECIAL = { 0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 2.5, -2.5, 1e30, -1e30,
  9007199254740993.0, 1 / 0, -1 / 0, 0 / 0 }

devices.each(function(device)
  for dtype, format in pairs(FORMATS) do
    if device.raw and dtype == "float32" then goto continue end

    it(("computes exact powers of %s exactly"):format(dtype), function()
      local xs, ys, powers = cases(format)
      local x, y = devices.values(xs, dtype), devices.values(ys, dtype)
      for _, text in ipairs { "x[i] ^ y[i]", "roc.math.pow(x[i], y[i])" } do
        local out = devices.zeros(#xs, dtype)
        devices.kernel(("function(x, y, out) local i = roc.get_global_id(1) out[i] = %s end")
          :format(text)):forall(#xs)(x, y, out)
        check(devices.table(out), powers, xs, ys)
      end
    end)

    it(("computes exact powers of %s by a constant exponent exactly"):format(dtype), function()
      for _, y in ipairs { 2, 3, 5.0, 11, -1, -3.0, 0.5, 1.5, -0.5, 0.25 } do
        local xs, ys, powers = {}, {}, {}
        local all = { cases(format) }
        for i, exponent in ipairs(all[2]) do
          if exponent == y then
            xs[#xs + 1], ys[#ys + 1], powers[#powers + 1] = all[1][i], y, all[3][i]
          end
        end
        local x, out = devices.values(xs, dtype), devices.zeros(#xs, dtype)
        devices.kernel(("function(x, out) local i = roc.get_global_id(1) out[i] = x[i] ^ %s end")
          :format(y)):forall(#xs)(x, out)
        check(devices.table(out), powers, xs, ys)
      end
    end)

    it(("computes powers of two by exp2 and a constant base in %s"):format(dtype), function()
      local ns, powers, names = {}, {}, {}
      for n = format.least, format.most do
        ns[#ns + 1], powers[#powers + 1], names[#names + 1] = 0.0 + n, scale(1.0, n), 2.0
      end
      local x = devices.values(ns, dtype)
      for _, text in ipairs { "roc.math.exp2(x[i])", "x[i] * 0 + 2 ^ x[i]" } do
        local out = devices.zeros(#ns, dtype)
        devices.kernel(("function(x, out) local i = roc.get_global_id(1) out[i] = %s end")
          :format(text)):forall(#ns)(x, out)
        check(devices.table(out), powers, names, ns)
      end
    end)

    it(("takes zeros, infinities, NaN and signs in powers of %s as C"):format(dtype), function()
      local xs, ys, powers = {}, {}, {}
      for _, x in ipairs(SPECIAL) do
        for _, y in ipairs(SPECIAL) do
          x, y = devices.f32(x), devices.f32(y)
          local power = x ^ y
          if dtype == "float32" then power = devices.f32(power) end
          local is_special = power - power ~= 0 or power == 0 or math.abs(power) == 1
          if is_special then xs[#xs + 1], ys[#ys + 1], powers[#powers + 1] = x, y, power end
        end
      end
      local out = devices.zeros(#xs, dtype)
      local k = devices.kernel(
        "function(x, y, out) local i = roc.get_global_id(1) out[i] = x[i] ^ y[i] end")
      k:forall(#xs)(devices.values(xs, dtype), devices.values(ys, dtype), out)
      check(devices.table(out), powers, xs, ys)
    end)
    ::continue::
  end
end)

describe("x ^ n with a constant n", function()
  it("is products and a root where these are as exact", function()
    for exponent, bound in pairs { ["2"] = 40, ["3"] = 40, ["0.5"] = 60 } do
      local k = devices.kernel(("function(x) local i = roc.get_global_id(1) x[i] = x[i] ^ %s end")
        :format(exponent), { check = false, signature = "(float32[:])" })
      local _, count = k:inspect_asm("gfx90a"):gsub("\n\tv_", "")
      assert(count <= bound, ("%d vector instructions for x ^ %s"):format(count, exponent))
    end
  end)
end)
