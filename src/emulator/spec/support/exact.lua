-- Floating-point arithmetic for specs, by integers of any size: results are computed exactly and
-- rounded once, so that they owe nothing to the host's floating point.
--
-- Numbers are bits of a format: exact.f16, exact.f32, exact.f64. Rounding modes as the hardware
-- numbers them: 0 nearest even, 1 up, 2 down, 3 to zero.
local exact = {}

local function format(name, bits, precision)
  local bias = (1 << (bits - precision - 1)) - 1
  return {
    name = name, bits = bits, precision = precision, bias = bias,
    sign = 1 << (bits - 1),
    infinity = (2 * bias + 1) << (precision - 1),
    quiet = 1 << (precision - 2),
    fraction = (1 << (precision - 1)) - 1,
    nan = ((2 * bias + 1) << (precision - 1)) | 1 << (precision - 2),
  }
end

exact.f16 = format("f16", 16, 11)
exact.f32 = format("f32", 32, 24)
exact.f64 = format("f64", 64, 53)

-- ---- naturals: lists of 24-bit limbs, the lowest first ------------------------------------------

local LIMB <const> = 24
local BASE <const> = 1 << LIMB

local function natural(n) -- n: below 2^63
  local limbs = {}
  while n > 0 do
    limbs[#limbs + 1] = n & (BASE - 1)
    n = n >> LIMB
  end
  return limbs
end

local function trim(limbs)
  while limbs[#limbs] == 0 do limbs[#limbs] = nil end
  return limbs
end

local function length(limbs) -- in bits
  if #limbs == 0 then return 0 end
  local bits, top = (#limbs - 1) * LIMB, limbs[#limbs]
  while top > 0 do bits, top = bits + 1, top >> 1 end
  return bits
end

local function compare(a, b)
  if #a ~= #b then return #a < #b and -1 or 1 end
  for i = #a, 1, -1 do
    if a[i] ~= b[i] then return a[i] < b[i] and -1 or 1 end
  end
  return 0
end

local function add(a, b)
  local sum, carry = {}, 0
  for i = 1, math.max(#a, #b) do
    local limb = (a[i] or 0) + (b[i] or 0) + carry
    sum[i], carry = limb & (BASE - 1), limb >> LIMB
  end
  if carry > 0 then sum[#sum + 1] = carry end
  return sum
end

local function subtract(a, b) -- a >= b
  local rest, borrow = {}, 0
  for i = 1, #a do
    local limb = a[i] - (b[i] or 0) - borrow
    borrow = limb < 0 and 1 or 0
    rest[i] = limb + borrow * BASE
  end
  return trim(rest)
end

local function multiply(a, b)
  local product = {}
  for i = 1, #a + #b do product[i] = 0 end
  for i = 1, #a do
    local carry = 0
    for j = 1, #b do
      local limb = product[i + j - 1] + a[i] * b[j] + carry
      product[i + j - 1], carry = limb & (BASE - 1), limb >> LIMB
    end
    product[i + #b] = carry
  end
  return trim(product)
end

local function shift_left(a, bits)
  local out, whole, part, carry = {}, bits // LIMB, bits % LIMB, 0
  for i = 1, whole do out[i] = 0 end
  for i = 1, #a do
    local limb = a[i] << part | carry
    out[whole + i], carry = limb & (BASE - 1), limb >> LIMB
  end
  if carry > 0 then out[#out + 1] = carry end
  return trim(out)
end

-- The integer part of a / 2^bits (below 2^63), and how the rest compares with a half: 0 none,
-- 1 less, 2 the half, 3 more.
local function cut(a, bits)
  local function bit(n) return (a[n // LIMB + 1] or 0) >> n % LIMB & 1 end
  local kept = 0
  for n = length(a) - 1, bits, -1 do kept = kept << 1 | bit(n) end
  local half, below = bits > 0 and bit(bits - 1) or 0, 0
  for n = 0, bits - 2 do
    if bit(n) == 1 then
      below = 1
      break
    end
  end
  return kept, half * 2 + below
end

-- ---- numbers ------------------------------------------------------------------------------------

function exact.is_nan(fmt, x)
  return (x & (fmt.sign - 1)) > fmt.infinity
end

function exact.is_signaling(fmt, x)
  return exact.is_nan(fmt, x) and x & fmt.quiet == 0
end

function exact.is_infinite(fmt, x)
  return (x & (fmt.sign - 1)) == fmt.infinity
end

function exact.is_denormal(fmt, x)
  return x & fmt.infinity == 0 and x & fmt.fraction ~= 0
end

function exact.flush(fmt, x)
  return exact.is_denormal(fmt, x) and x & fmt.sign or x
end

---A finite number as sign (0 or 1), mantissa and the power of two of its last digit.
function exact.parts(fmt, x)
  local field = (x & fmt.infinity) >> (fmt.precision - 1)
  local mantissa = x & fmt.fraction
  if field > 0 then mantissa = mantissa | (fmt.fraction + 1) end
  return x & fmt.sign ~= 0 and 1 or 0, mantissa, math.max(field, 1) - fmt.bias - fmt.precision + 1
end

-- mantissa (a natural) times 2^power, rounded.
local function round(fmt, sign, limbs, power, mode)
  local minus = sign == 1 and fmt.sign or 0
  if #limbs == 0 then return minus end
  local last = math.max(power + length(limbs), 2 - fmt.bias) - fmt.precision
  if last < power then
    limbs, power = shift_left(limbs, power - last), last
  end
  local kept, rest = cut(limbs, last - power)
  local away = mode == 1 and sign == 0 or mode == 2 and sign == 1
  if mode == 0 and (rest == 3 or rest == 2 and kept & 1 == 1) or away and rest > 0 then
    kept = kept + 1
  end
  if kept >> fmt.precision > 0 then kept, last = kept >> 1, last + 1 end
  if kept <= fmt.fraction then return minus | kept end
  local field = last + fmt.precision - 1 + fmt.bias
  if field > 2 * fmt.bias then
    return minus | ((mode == 0 or away) and fmt.infinity or fmt.infinity - 1)
  end
  return minus | field << (fmt.precision - 1) | kept & fmt.fraction
end

-- The sum of two signed naturals with powers.
local function sum(fmt, s1, m1, p1, s2, m2, p2, mode)
  local power = math.min(p1, p2)
  local a, b = shift_left(m1, p1 - power), shift_left(m2, p2 - power)
  if s1 == s2 then return round(fmt, s1, add(a, b), power, mode) end
  local order = compare(a, b)
  if order == 0 then return mode == 2 and fmt.sign or 0 end
  if order > 0 then return round(fmt, s1, subtract(a, b), power, mode) end
  return round(fmt, s2, subtract(b, a), power, mode)
end

---The result when NaNs decide it: the first of them made quiet; else nil.
function exact.nan_of(fmt, ...)
  for _, x in ipairs({ ... }) do
    if exact.is_nan(fmt, x) then return x | fmt.quiet end
  end
end

function exact.fma(fmt, a, b, c, mode)
  local nan = exact.nan_of(fmt, a, b, c)
  if nan then return nan end
  local sign, magnitude = (a ~ b) & fmt.sign, fmt.sign - 1
  if exact.is_infinite(fmt, a) or exact.is_infinite(fmt, b) then
    if a & magnitude == 0 or b & magnitude == 0 then return fmt.nan end
    if exact.is_infinite(fmt, c) and c & fmt.sign ~= sign then return fmt.nan end
    return sign | fmt.infinity
  end
  if exact.is_infinite(fmt, c) then return c end
  local s1, m1, p1 = exact.parts(fmt, a)
  local s2, m2, p2 = exact.parts(fmt, b)
  local s3, m3, p3 = exact.parts(fmt, c)
  return sum(fmt, s1 ~ s2, multiply(natural(m1), natural(m2)), p1 + p2, s3, natural(m3), p3,
    mode or 0)
end

function exact.add(fmt, a, b, mode)
  local nan = exact.nan_of(fmt, a, b)
  if nan then return nan end
  local one = fmt.bias << (fmt.precision - 1)
  return exact.fma(fmt, a, one, b, mode)
end

function exact.mul(fmt, a, b, mode)
  local nan = exact.nan_of(fmt, a, b)
  if nan then return nan end
  return exact.fma(fmt, a, b, (a ~ b) & fmt.sign, mode) -- a zero of the product's sign
end

---x times 2^n.
function exact.scale(fmt, x, n, mode)
  local nan = exact.nan_of(fmt, x)
  if nan or exact.is_infinite(fmt, x) then return nan or x end
  local sign, mantissa, power = exact.parts(fmt, x)
  n = math.max(-5000, math.min(5000, n))
  return round(fmt, sign, natural(mantissa), power + n, mode or 0)
end

---A number of one format in another.
function exact.convert(from, to, x, mode)
  local sign = x & from.sign ~= 0 and to.sign or 0
  if exact.is_nan(from, x) then
    local payload, shift = x & from.fraction, to.precision - from.precision
    payload = shift < 0 and payload >> -shift or payload << shift
    return sign | to.nan | payload
  end
  if exact.is_infinite(from, x) then return sign | to.infinity end
  local minus, mantissa, power = exact.parts(from, x)
  return round(to, minus, natural(mantissa), power, mode or 0)
end

---An integer (below 2^63 in magnitude) divided by 2^down.
function exact.integer(fmt, n, mode, down)
  return round(fmt, n < 0 and 1 or 0, natural(math.abs(n)), -(down or 0), mode or 0)
end

---The bits as a Lua number.
function exact.number(fmt, x)
  local wide = exact.convert(fmt, exact.f64, x)
  return (string.unpack("<d", string.pack("<i8", wide)))
end

---A Lua number's bits.
function exact.bits(fmt, number)
  return exact.convert(exact.f64, fmt, (string.unpack("<i8", string.pack("<d", number))))
end

-- ---- operands -----------------------------------------------------------------------------------

---Numbers that tend to go wrong: zeros, denormals, ends of ranges, neighbours of 1, halves, NaNs.
function exact.edges(fmt)
  local one, least = fmt.bias << (fmt.precision - 1), fmt.fraction + 1
  local list = {
    0, 1, 2, 3, fmt.fraction, least, least + 1, 2 * least - 1, one - 1, one, one + 1,
    one | 1 << (fmt.precision - 2), one + least, one + least * (fmt.precision - 1),
    one + least * (fmt.precision - 1) | 1, one - least, one - least * fmt.precision,
    fmt.infinity - 1, fmt.infinity - least, fmt.infinity, fmt.nan | 5, fmt.infinity | 9,
  }
  for i = 1, #list do list[#list + 1] = list[i] | fmt.sign end
  return list
end

---Rows of n operands: the edges with each other (all pairs of the first two), then random bits.
function exact.rows(fmt, n, count)
  local state = 99
  local function random(limit)
    state = (state * 6364136223846793005 + 1442695040888963407)
    return (state >> 33) % limit
  end
  local edges, rows = exact.edges(fmt), {}
  local function any()
    local bits = (random(1 << 30) << 34 ~ random(1 << 30) << 15 ~ random(1 << 30))
    return fmt.bits == 64 and bits or bits & (2 * fmt.sign - 1)
  end
  for i = 1, #edges do
    for j = n > 1 and 1 or #edges, #edges do
      rows[#rows + 1] = { edges[i], edges[j], edges[random(#edges) + 1] }
    end
  end
  for _ = 1, count or 128 do
    local a = any()
    local near = a ~ random(8) ~ fmt.sign -- sums that cancel
    rows[#rows + 1] = { a, random(3) == 0 and near or any(), random(2) == 0 and any() or near }
  end
  return rows
end

return exact
