-- What floats, doubles and halves of the emulator have in common: tests of their instructions in
-- all rounding modes, with denormals kept and flushed, with and without clamping.
--
--   local check = real.checker(it, "gfx90a", exact.f32, "b32")
--   check("v_add_f32", 2, function(a, b, mode) return exact.add(exact.f32, a, b, mode) end)
--
-- makes tests of an instruction of two sources against a function from bits and rounding mode to
-- bits. Options: `text`, the whole instruction; `modes`, false to test in the plain mode alone;
-- `types` and `rows`, of the sources; `result`, the width of the result.
local asserted = require("support.asserted")
local emulator = require("support.emulator")
local exact = require("support.exact")
local lanes = require("support.lanes")

local real = {}

---What the destination holds before, as a register and as a pair of them.
real.OLD32 = lanes.OLD
real.OLD64 = lanes.OLD << 32 | lanes.OLD

local IEEE, DX10_CLAMP = 0x200, 0x100

-- MODE with one rounding for all kinds, and denormals kept (3) or flushed (0) for all kinds.
local function mode_of(rounding, denormals, flags)
  return rounding | rounding << 2 | denormals << 4 | denormals << 6 | flags
end

function real.negate(fmt, x)
  return x ~ fmt.sign
end

---Compares a result's bits, with operands and mode in the message.
local function compare(text, target, mode, values, want, got)
  asserted.check(want == got, 1, "%s on %s in mode 0x%x of 0x%x, 0x%x, 0x%x is 0x%x, not 0x%x",
    text, target, mode, values[1], values[2] or 0, values[3] or 0, got, want)
end

-- Every `step`th row.
local function thin(rows, step)
  local some = {}
  for i = 1, #rows, step do some[#some + 1] = rows[i] end
  return some
end

---`it` is busted's, which modules do not see.
function real.checker(it, target, fmt, type)
  local batch, generation = lanes.batch(target), emulator.generation(target)
  local check = { it = it, batch = batch, fmt = fmt, target = target, type = type,
    name = fmt.name, generation = generation, is_gfx9 = generation == 9,
    has_ieee_mode = generation < 12 }
  check.flags = check.has_ieee_mode and IEEE | DX10_CLAMP or DX10_CLAMP

  ---A test in one mode; `expect` gets the sources and the rounding.
  function check.at(title, text, types, result, rows, mode, expect)
    local bits = tonumber(result:match("%d+"))
    local mask = bits == 64 and -1 or (1 << bits) - 1
    it(title, batch:each(text, result, types, rows, { mode = mode }, function(got, values)
      compare(text, target, mode, values, expect(values) & mask, got & mask)
    end))
  end

  return setmetatable(check, { __call = function(_, op, n, expect, options)
    options = options or {}
    local types = options.types or (type .. " "):rep(n)
    local text = options.text or lanes.text(op, options.result or type, types, {})
    -- other chips run the same functions as the first
    local rows = options.rows or thin(exact.rows(fmt, n), target == "gfx90a" and 1 or 5)
    local result = options.result or type
    local function in_mode(rounding)
      return function(values)
        if n == 1 then return expect(values[1], rounding) end
        if n == 2 then return expect(values[1], values[2], rounding) end
        return expect(values[1], values[2], values[3], rounding)
      end
    end
    check.at(("computes %s"):format(op), text, types, result, rows, mode_of(0, 3, check.flags),
      in_mode(0))
    if options.modes == false then return end
    local some = thin(rows, #rows > 300 and 5 or 1)
    for rounding = 1, 3 do
      check.at(("rounds %s in mode %d"):format(op, rounding), text, types, result, some,
        mode_of(rounding, 3, check.flags), in_mode(rounding))
    end
    if options.flushes == false then return end
    check.at(("flushes denormals of %s"):format(op), text, types, result, some,
      mode_of(0, 0, check.flags),
      function(values)
        local flushed = {}
        for i = 1, 3 do flushed[i] = exact.flush(fmt, values[i]) end
        return exact.flush(fmt, in_mode(0)(flushed))
      end)
  end })
end

-- ---- arithmetic ---------------------------------------------------------------------------------

function real.arithmetic(check)
  local fmt, name = check.fmt, check.name
  local function suffixed(stem) return ("v_%s_%s"):format(stem, name) end
  check(suffixed("add"), 2, function(a, b, mode) return exact.add(fmt, a, b, mode) end)
  check(suffixed("mul"), 2, function(a, b, mode) return exact.mul(fmt, a, b, mode) end)
  check(suffixed("fma"), 3, function(a, b, c, mode) return exact.fma(fmt, a, b, c, mode) end)
  check(suffixed("min"), 2, real.least(fmt, check.generation))
  check(suffixed("max"), 2, real.greatest(fmt, check.generation))

  -- clamping and the output modifier
  local types = (check.type .. " "):rep(2)
  local text = lanes.text(suffixed("add"), check.type, types, { modifiers = " clamp" })
  if name ~= "f64" then text = text:gsub("^v_add_f%d+", "%0_e64") end
  local one = fmt.bias << (fmt.precision - 1)
  for _, dx10 in ipairs(check.has_ieee_mode and { DX10_CLAMP, 0 } or { DX10_CLAMP }) do
    check.at(("clamps %s to 0 … 1 %s"):format(suffixed("add"), dx10 == 0 and "and keeps NaNs" or
      "and NaNs to 0"), text, types, check.type, exact.rows(fmt, 2),
      mode_of(0, 3, dx10 | check.flags & IEEE),
      function(values)
        local sum = exact.add(fmt, values[1], values[2])
        if exact.is_nan(fmt, sum) then return dx10 ~= 0 and 0 or sum end
        if sum & fmt.sign ~= 0 then return 0 end
        return math.min(sum, one)
      end)
  end
  local modifiers = { [" mul:2"] = 1, [" mul:4"] = 2, [" div:2"] = -1 }
  for modifier, power in pairs(modifiers) do
    text = lanes.text(suffixed("mul"), check.type, types, { modifiers = modifier })
    for _, flags in ipairs(check.has_ieee_mode and { 0, IEEE } or { 0 }) do
      local denormals = flags == 0 and 0 or 3
      check.at(("%s%s of %s"):format(flags == 0 and "applies" or "ignores in IEEE mode", modifier,
        suffixed("mul")), text, types, check.type, exact.rows(fmt, 2),
        mode_of(0, denormals, flags | DX10_CLAMP), function(values)
          local a, b = values[1], values[2]
          if flags ~= 0 then return exact.mul(fmt, a, b) end
          local product = exact.mul(fmt, exact.flush(fmt, a), exact.flush(fmt, b))
          product = exact.flush(fmt, exact.scale(fmt, product, power))
          return product == fmt.sign and 0 or product
        end)
    end
  end
end

-- V_MIN and V_MAX as the ISA guides have them in IEEE mode; V_MIN_NUM and V_MAX_NUM of gfx12, which
-- has no such mode. Of two NaNs gfx11 and gfx12 give the first.
local function choose(fmt, generation, is_first)
  local is_ieee = generation < 12
  return function(a, b)
    if is_ieee and exact.is_signaling(fmt, a) then return a | fmt.quiet end
    if is_ieee and exact.is_signaling(fmt, b) then return b | fmt.quiet end
    if exact.is_nan(fmt, a) and exact.is_nan(fmt, b) then
      return (generation < 11 and b or a) | fmt.quiet
    end
    if exact.is_nan(fmt, a) then return b end
    if exact.is_nan(fmt, b) then return a end
    return is_first(real.rank(fmt, a), real.rank(fmt, b)) and a or b
  end
end

---An integer that orders numbers, -0 below +0.
function real.rank(fmt, x)
  local magnitude = x & (fmt.sign - 1)
  return x & fmt.sign ~= 0 and -magnitude - 1 or magnitude
end

function real.least(fmt, generation)
  return choose(fmt, generation, function(x, y) return x < y end)
end

function real.greatest(fmt, generation)
  return choose(fmt, generation, function(x, y) return x > y end)
end

---sub and subrev.
function real.differences(check)
  local fmt, name = check.fmt, check.name
  local function subtract(a, b, mode) return exact.add(fmt, a, real.negate(fmt, b), mode) end
  check("v_sub_" .. name, 2, function(a, b, mode)
    return exact.nan_of(fmt, a, b) or subtract(a, b, mode)
  end)
  check("v_subrev_" .. name, 2, function(a, b, mode)
    return exact.nan_of(fmt, a, b) or subtract(b, a, mode)
  end)
end

---min3, max3 and med3, whose pseudo code takes -0 for +0.
function real.three(check)
  local fmt, name = check.fmt, check.name
  local least = real.least(fmt, check.generation)
  local greatest = real.greatest(fmt, check.generation)
  local function min3(a, b, c) return least(least(a, b), c) end
  check("v_min3_" .. name, 3, min3)
  check("v_max3_" .. name, 3, function(a, b, c) return greatest(greatest(a, b), c) end)
  check("v_med3_" .. name, 3, function(a, b, c)
    for _, x in ipairs({ a, b, c }) do
      if exact.is_nan(fmt, x) then return min3(a, b, c) end
    end
    local most, number = greatest(greatest(a, b), c), function(x) return exact.number(fmt, x) end
    if number(most) == number(a) then return greatest(b, c) end
    if number(most) == number(b) then return greatest(a, c) end
    return greatest(a, b)
  end)
end

-- ---- whole and fractional parts, exponents ------------------------------------------------------

-- The number as units of its last digit, cut to whole ones by `pick`(whole, rest is more than
-- nothing, compared with a half: -1, 0, 1, sign).
local function rounded(fmt, x, pick)
  local nan = exact.nan_of(fmt, x)
  if nan or exact.is_infinite(fmt, x) or x & (fmt.sign - 1) == 0 then return nan or x end
  local sign, mantissa, power = exact.parts(fmt, x)
  if power >= 0 then return x end
  local shift = math.min(-power, 62)
  local whole, rest, half = mantissa >> shift, mantissa & ((1 << shift) - 1), 1 << (shift - 1)
  whole = whole + pick(whole, rest, half, sign == 1)
  return x & fmt.sign | exact.integer(fmt, whole)
end

local ROUNDINGS = {
  trunc = function() return 0 end,
  floor = function(_, rest, _, is_negative) return is_negative and rest > 0 and 1 or 0 end,
  ceil = function(_, rest, _, is_negative) return not is_negative and rest > 0 and 1 or 0 end,
  rndne = function(whole, rest, half)
    return (rest > half or rest == half and whole & 1 == 1) and 1 or 0
  end,
}

---x rounded to a whole number: "trunc", "floor", "ceil" or "rndne".
function real.whole(fmt, x, how)
  return rounded(fmt, x, ROUNDINGS[how])
end

function real.rounding(check)
  local fmt, name = check.fmt, check.name
  for how in pairs(ROUNDINGS) do
    check(("v_%s_%s"):format(how, name), 1, function(a) return real.whole(fmt, a, how) end)
  end
  local below_one = (fmt.bias << (fmt.precision - 1)) - 1
  check("v_fract_" .. name, 1, function(a, mode)
    local floor = real.whole(fmt, a, "floor")
    local fraction = exact.add(fmt, a, real.negate(fmt, floor), mode)
    if exact.is_nan(fmt, fraction) then return fraction end
    return fraction & fmt.sign == 0 and math.min(fraction, below_one) or fraction
  end)
end

local function frexp(fmt, x)
  if exact.is_nan(fmt, x) or exact.is_infinite(fmt, x) or x & (fmt.sign - 1) == 0 then
    return nil
  end
  local _, mantissa, power = exact.parts(fmt, x)
  local bits = 0
  while mantissa >> bits > 0 do bits = bits + 1 end
  return power + bits, x & fmt.sign | exact.integer(fmt, mantissa, 0, bits)
end

function real.exponents(check)
  local fmt, name = check.fmt, check.name
  check("v_frexp_mant_" .. name, 1, function(a)
    local _, mantissa = frexp(fmt, a)
    return mantissa or exact.nan_of(fmt, a) or a
  end, { modes = false })
  local integer = name == "f16" and 16 or 32
  check(("v_frexp_exp_i%d_%s"):format(integer, name), 1, function(a)
    return (frexp(fmt, a)) or 0
  end, { modes = false, result = "b" .. integer })

  local rows = {}
  local powers = { 0, 1, -1, 10, -10, 24, -24, 100, -149, 150, 1000, -1074, 2100, -2200, 0x7fff,
    -0x8000 }
  if integer == 32 then
    powers[#powers + 1] = 0x7fffffff
    powers[#powers + 1] = -0x80000000
  end
  for _, x in ipairs(exact.edges(fmt)) do
    for _, power in ipairs(powers) do
      rows[#rows + 1] = { x, power & ((1 << integer) - 1), 0 }
    end
  end
  check("v_ldexp_" .. name, 2, function(a, n, mode)
    return exact.scale(fmt, a, lanes.signed(n, integer), mode)
  end, { rows = rows, types = check.type .. " b" .. integer, flushes = false })
end

-- ---- comparisons --------------------------------------------------------------------------------

local function at_least(a, b) return a >= b end
local function above(a, b) return a > b end

local PREDICATES = {
  f = function() return false end,
  lt = function(a, b) return a < b end,
  eq = function(a, b) return a == b end,
  le = function(a, b) return a <= b end,
  gt = function(a, b) return a > b end,
  lg = function(a, b) return a < b or a > b end,
  ge = function(a, b) return a >= b end,
  o = function(a, b) return a == a and b == b end,
  u = function(a, b) return not (a == a and b == b) end,
  nge = function(a, b) return not at_least(a, b) end,
  nlg = function(a, b) return not (a < b or a > b) end,
  ngt = function(a, b) return not above(a, b) end,
  nle = function(a, b) return not at_least(b, a) end,
  neq = function(a, b) return a ~= b end,
  nlt = function(a, b) return not above(b, a) end,
  tru = function() return true end,
}

local CLASSES = { "snan", "qnan", "-inf", "-norm", "-den", "-0", "+0", "+den", "+norm", "+inf" }

-- The number of x's class, from 0.
local function class_of(fmt, x)
  if exact.is_nan(fmt, x) then return exact.is_signaling(fmt, x) and 0 or 1 end
  local kind = x & (fmt.sign - 1) == 0 and "0" or exact.is_infinite(fmt, x) and "inf" or
    exact.is_denormal(fmt, x) and "den" or "norm"
  local name = (x & fmt.sign ~= 0 and "-" or "+") .. kind
  for i, class in ipairs(CLASSES) do
    if class == name then return i - 1 end
  end
end

function real.comparisons(check)
  local fmt, name, batch = check.fmt, check.name, check.batch
  local wave, is_gfx9 = batch.wave, check.is_gfx9
  local out = lanes.mask_register(10, wave)
  local FULL = { [10] = 0xffffffff, [11] = 0xffffffff }
  local function add(predicate, types, rows, define)
    local list = {}
    for i, bits in ipairs({ types:match("%a(%d+) %a(%d+)") }) do
      list[i] = bits == "64" and ("v[%d:%d]"):format(4 * i, 4 * i + 1) or "v" .. 4 * i
    end
    local sources = table.concat(list, ", ")
    check.it(("computes v_cmp_%s_%s"):format(predicate, name),
      batch:each(("v_cmp_%s_%s_e64 %s, %s"):format(predicate, name, out, sources), "b32", types,
        rows, { s = FULL }, function(_, values, state, lane)
          local got = lanes.bit(state.s, 10, lane)
          compare("v_cmp_" .. predicate, check.target, 0, values, define(values) and 1 or 0, got)
        end))
    local dst = is_gfx9 and out .. ", " or ""
    check.it(("sets EXEC by v_cmpx_%s_%s"):format(predicate, name),
      batch:each(("v_cmpx_%s_%s_e64 %s%s"):format(predicate, name, dst, sources), "b32", types,
        rows, { s = FULL }, function(_, values, state, lane)
          local got = lanes.bit(state.s, 126, lane)
          compare("v_cmpx_" .. predicate, check.target, 0, values, define(values) and 1 or 0, got)
        end))
  end
  local pair = check.type .. " " .. check.type
  for predicate, define in pairs(PREDICATES) do
    if check.generation == 12 and (predicate == "f" or predicate == "tru") then goto continue end
    add(predicate, pair, exact.rows(fmt, 2), function(values)
      return define(exact.number(fmt, values[1]), exact.number(fmt, values[2]))
    end)
    ::continue::
  end
  local rows = {}
  for _, x in ipairs(exact.edges(fmt)) do
    for bit = 0, 9 do rows[#rows + 1] = { x, 1 << bit, 0 } end
    rows[#rows + 1] = { x, 0x260, 0 }
  end
  add("class", check.type .. (name == "f16" and " b16" or " b32"), rows, function(values)
    return values[2] >> class_of(fmt, values[1]) & 1 == 1
  end)
end

-- ---- division -----------------------------------------------------------------------------------

-- As LLVM expands n / d; n in v4 (and v5), d in v8, the quotient in v0.
local DIVISIONS = {
  f32 = [[
    v_div_scale_f32 v12, %s, v8, v8, v4
    v_rcp_f32_e32 v13, v12
    v_fma_f32 v14, -v12, v13, 1.0
    v_fmac_f32_e32 v13, v14, v13
    v_div_scale_f32 v14, %s, v4, v8, v4
    v_mul_f32_e32 v15, v14, v13
    v_fma_f32 v16, -v12, v15, v14
    v_fmac_f32_e32 v15, v16, v13
    v_fma_f32 v12, -v12, v15, v14
    v_div_fmas_f32 v12, v12, v13, v15
    v_div_fixup_f32 v0, v12, v8, v4]],
  f64 = [[
    v_div_scale_f64 v[14:15], %s, v[8:9], v[8:9], v[4:5]
    v_rcp_f64_e32 v[16:17], v[14:15]
    v_fma_f64 v[18:19], -v[14:15], v[16:17], 1.0
    v_fma_f64 v[16:17], v[16:17], v[18:19], v[16:17]
    v_fma_f64 v[18:19], -v[14:15], v[16:17], 1.0
    v_fma_f64 v[16:17], v[16:17], v[18:19], v[16:17]
    v_div_scale_f64 v[18:19], %s, v[4:5], v[8:9], v[4:5]
    v_mul_f64 v[20:21], v[18:19], v[16:17]
    v_fma_f64 v[14:15], -v[14:15], v[20:21], v[18:19]
    s_nop 1
    v_div_fmas_f64 v[14:15], v[14:15], v[16:17], v[20:21]
    v_div_fixup_f64 v[0:1], v[14:15], v[8:9], v[4:5] ]],
}

-- As LLVM expands the square root of v4 (and v5) into v0; _ADD_ differs between the
-- generations.
local ROOTS = {
  f32 = [[
    v_mul_f32_e32 v5, 0x4f800000, v4
    v_mov_b32_e32 v6, 0xf800000
    v_cmp_gt_f32_e64 s[16:17], v6, v4
    v_cndmask_b32_e64 v4, v4, v5, s[16:17]
    v_sqrt_f32_e32 v5, v4
    v_add_ADD_u32 v6, -1, v5
    v_fma_f32 v7, -v6, v5, v4
    v_cmp_ge_f32_e64 s[18:19], 0, v7
    v_add_ADD_u32 v7, 1, v5
    v_cndmask_b32_e64 v6, v5, v6, s[18:19]
    v_fma_f32 v5, -v7, v5, v4
    v_cmp_lt_f32_e64 s[18:19], 0, v5
    v_cndmask_b32_e64 v5, v6, v7, s[18:19]
    v_mul_f32_e32 v6, 0x37800000, v5
    v_cndmask_b32_e64 v5, v5, v6, s[16:17]
    v_mov_b32_e32 v6, 0x260
    v_cmp_class_f32_e64 s[16:17], v4, v6
    v_cndmask_b32_e64 v0, v5, v4, s[16:17] ]],
  f64 = [[
    s_mov_b32 s22, 0
    s_mov_b32 s23, 0x10000000
    v_mov_b32_e32 v6, 0x100
    v_cmp_gt_f64_e64 s[16:17], s[22:23], v[4:5]
    v_cndmask_b32_e64 v6, 0, v6, s[16:17]
    v_ldexp_f64 v[4:5], v[4:5], v6
    v_rsq_f64_e32 v[8:9], v[4:5]
    v_mul_f64 v[10:11], v[4:5], v[8:9]
    v_mul_f64 v[8:9], v[8:9], 0.5
    v_fma_f64 v[12:13], -v[8:9], v[10:11], 0.5
    v_fma_f64 v[10:11], v[10:11], v[12:13], v[10:11]
    v_fma_f64 v[14:15], -v[10:11], v[10:11], v[4:5]
    v_fma_f64 v[8:9], v[8:9], v[12:13], v[8:9]
    v_fma_f64 v[10:11], v[14:15], v[8:9], v[10:11]
    v_fma_f64 v[12:13], -v[10:11], v[10:11], v[4:5]
    v_fma_f64 v[10:11], v[12:13], v[8:9], v[10:11]
    v_mov_b32_e32 v6, 0xffffff80
    v_cndmask_b32_e64 v6, 0, v6, s[16:17]
    v_ldexp_f64 v[8:9], v[10:11], v6
    v_mov_b32_e32 v6, 0x260
    v_cmp_class_f64_e64 s[16:17], v[4:5], v6
    v_cndmask_b32_e64 v0, v8, v4, s[16:17]
    v_cndmask_b32_e64 v1, v9, v5, s[16:17] ]],
}

function real.roots(check)
  local fmt, text = check.fmt, ROOTS[check.name]
  if check.is_gfx9 then
    text = text:gsub("_ADD_", "_")
  else
    text = text:gsub("_ADD_", "_nc_"):gsub("s%[(%d+):%d+%]", function(n)
      return n ~= "22" and "s" .. n or nil
    end)
  end
  check.at("takes square roots as IEEE 754 says", text, check.type, check.type,
    exact.rows(fmt, 1, 3000), mode_of(0, 3, check.flags), function(values)
      local x = exact.number(fmt, values[1])
      local nan = exact.nan_of(fmt, values[1])
      if nan then return nan end
      return x < 0 and fmt.nan | fmt.sign or exact.bits(fmt, math.sqrt(x))
    end)
end

function real.division(check)
  local fmt, name = check.fmt, check.name
  local is_gfx9 = check.is_gfx9
  local text = DIVISIONS[name]:format(is_gfx9 and "s[20:21]" or "null",
    is_gfx9 and "vcc" or "vcc_lo")
  local rows = exact.rows(fmt, 2, 4000)
  -- quotients that lie half way between two denormals, and next to that
  for _, n in ipairs({ fmt.fraction, fmt.fraction - 2, 3, 5, 0x1001 }) do
    for step = -2, 2 do
      local one = fmt.bias << (fmt.precision - 1)
      rows[#rows + 1] = { n, one + step, 0 }
      rows[#rows + 1] = { n, one + fmt.fraction + 1 + step, 0 }
      rows[#rows + 1] = { n | fmt.sign, one + fmt.fraction + 1 + step, 0 }
    end
  end
  check.at("divides as IEEE 754 says", text, check.type .. " " .. check.type, check.type, rows,
    mode_of(0, 3, check.flags), function(values)
      local n, d = exact.number(fmt, values[1]), exact.number(fmt, values[2])
      local nan = exact.nan_of(fmt, values[1], values[2])
      if nan then return nan end
      if d == 0 and n == 0 or d - d ~= 0 and n - n ~= 0 then return fmt.nan | fmt.sign end
      return exact.bits(fmt, n / d)
    end)
end

return real
