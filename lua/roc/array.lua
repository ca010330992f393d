-- How arrays print: as NumPy prints them, with elision.
--
-- First the elements to be shown are taken from the array, then one formatter is made for all of
-- them, so that columns are aligned, then the lines are made. Works on host arrays; only
-- the elements shown are read.
local M = {}

local THRESHOLD = 1000 -- above this many elements the middle is elided
local EDGE = 3         -- elements kept at each end of a dimension then
local LINE_WIDTH = 75
local PRECISION = 8    -- decimals of a float at most

local ELISION = {}     -- stands for the elements left out

-- ---- selecting elements ----------------------------------------------------------------------

-- Nested lists of the shown elements, ELISION where some are left out; every element also goes into
-- `flat`.
local function pick(a, ndim, is_long, flat)
  local items, n = {}, #a
  local elide = is_long and n > 2 * EDGE
  local i = 1
  while i <= n do
    if elide and i == EDGE + 1 then
      items[#items + 1] = ELISION
      i = n - EDGE + 1
    end
    local item = a[i]
    if ndim > 1 then
      item = pick(item, ndim - 1, is_long, flat)
    else
      flat[#flat + 1] = item
    end
    items[#items + 1] = item
    i = i + 1
  end
  return items
end

-- ---- floats ----------------------------------------------------------------------------------

local function is_finite(x)
  return x - x == 0
end

local function special_text(x)
  if x ~= x then return "nan" end
  return x > 0 and "inf" or "-inf"
end

-- "d.ddde+XX" with the fewest digits that read back as `x` in its own dtype, so that 0.1 in float32
-- prints as 0.1.
local function shortest(x, dtype)
  for digits = 0, 16 do
    local text = string.format("%." .. digits .. "e", x)
    if dtype(tonumber(text)) == x then
      return text
    end
  end
end

-- Digits after the point of the shortest form, and its exponent.
local function measure_shortest(x, dtype)
  if x == 0 then return 0, 0 end
  local fraction, exponent = string.match(shortest(x, dtype), "^-?%d%.?(%d*)e([-+]%d+)$")
  return #fraction, math.tointeger(tonumber(exponent))
end

-- "1.", "0.25": no trailing zeros, but always a point.
local function positional_text(x, dtype)
  local fraction, exponent = measure_shortest(x, dtype)
  local decimals = math.max(0, math.min(PRECISION, fraction - exponent))
  if decimals == 0 then
    return string.format("%.0f.", x)
  end
  return (string.gsub(string.format("%." .. decimals .. "f", x), "0+$", ""))
end

local function positional_formatter(values, dtype)
  local left, right = 0, 0
  for _, x in ipairs(values) do
    local before, after = string.match(positional_text(x, dtype), "^(.*)%.(.*)$")
    left, right = math.max(left, #before), math.max(right, #after)
  end
  return left + 1 + right, function(x)
    local text = positional_text(x, dtype)
    local after = #string.match(text, "%.(.*)$")
    return text .. string.rep(" ", right - after)
  end
end

-- All with the number of decimals, and of exponent digits, of the longest shortest form.
local function scientific_formatter(values, dtype)
  local decimals, exponent_digits, width = 0, 2, 0
  for _, x in ipairs(values) do
    local fraction, exponent = measure_shortest(x, dtype)
    decimals = math.max(decimals, math.min(PRECISION, fraction))
    exponent_digits = math.max(exponent_digits, #tostring(math.abs(exponent)))
  end
  local function text_of(x)
    local text = string.format("%." .. decimals .. "e", x)
    local mantissa, sign, exponent = string.match(text, "^(.*)e([-+])(%d+)$")
    local point = decimals == 0 and "." or ""
    local zeros = string.rep("0", exponent_digits - #exponent)
    return mantissa .. point .. "e" .. sign .. zeros .. exponent
  end
  for _, x in ipairs(values) do
    width = math.max(width, #text_of(x))
  end
  return width, text_of
end

-- Magnitudes too large, too small or too different to be aligned at their points.
local function needs_exponent(values, dtype)
  local largest, smallest = 0, math.huge
  for _, x in ipairs(values) do
    if x ~= 0 then
      largest, smallest = math.max(largest, math.abs(x)), math.min(smallest, math.abs(x))
    end
  end
  return largest > 0 and (largest >= 1e8 or smallest < dtype(1e-4) or largest / smallest > 1000)
end

local function float_formatter(flat, dtype)
  local finite, width = {}, 0
  for _, x in ipairs(flat) do
    if is_finite(x) then
      finite[#finite + 1] = x
    else
      width = math.max(width, #special_text(x))
    end
  end
  local make = needs_exponent(finite, dtype) and scientific_formatter or positional_formatter
  local finite_width, text_of = make(finite, dtype)
  if #finite > 0 then width = math.max(width, finite_width) end
  return function(x)
    local text = is_finite(x) and text_of(x) or special_text(x)
    return string.rep(" ", width - #text) .. text
  end
end

-- ---- integers and booleans -------------------------------------------------------------------

-- An unsigned 64-bit integer from 2^63 on is a negative Lua integer.
local function unsigned_text(x)
  if x >= 0 then return tostring(x) end
  local tens = (x >> 1) // 5
  return string.format("%d%d", tens, x - tens * 10)
end

local function plain_formatter(flat, dtype)
  local text_of = dtype.kind == "u" and unsigned_text or tostring
  local width = dtype.kind == "b" and #"false" or 0
  for _, x in ipairs(flat) do
    width = math.max(width, #text_of(x))
  end
  return function(x)
    local text = text_of(x)
    return string.rep(" ", width - #text) .. text
  end
end

-- ---- layout ----------------------------------------------------------------------------------

-- One bracketed row of elements, wrapped at `width`; `indent` precedes every line but the first.
local function layout_row(items, format, indent, width)
  local lines, line = {}, indent
  for _, item in ipairs(items) do
    local word = item == ELISION and "..." or format(item)
    if #line > #indent and #line + #word > width - 1 then
      lines[#lines + 1] = (string.gsub(line, " +$", ""))
      line = indent
    end
    line = line .. word .. " "
  end
  lines[#lines + 1] = string.sub(line, 1, -2)
  return "[" .. string.sub(table.concat(lines, "\n"), #indent + 1) .. "]"
end

local function layout(items, ndim, format, indent, width)
  if ndim == 1 then
    return layout_row(items, format, indent, width)
  end
  local parts = {}
  for _, item in ipairs(items) do
    parts[#parts + 1] = item == ELISION and "..."
      or layout(item, ndim - 1, format, indent .. " ", width - 1)
  end
  return "[" .. table.concat(parts, string.rep("\n", ndim - 1) .. indent) .. "]"
end

---The array as text, as `tostring(a)` gives it.
---@param a roc.Array
---@return string
function M.format(a)
  if a.size == 0 then return "[]" end
  local flat = {}
  local items = pick(a, a.ndim, a.size > THRESHOLD, flat)
  local formatter = a.dtype.kind == "f" and float_formatter or plain_formatter
  return layout(items, a.ndim, formatter(flat, a.dtype), " ", LINE_WIDTH)
end

---Adds the methods written in Lua to the class of host arrays.
---@param metatable table
---@param methods table
function M.install(metatable, methods)
  local function text_of(a)
    if type(a) ~= "userdata" or debug.getmetatable(a) ~= metatable then
      error(string.format("bad argument #1 to 'tostring' (roc.Array expected, got %s)", type(a)), 2)
    end
    return M.format(a)
  end
  metatable.__tostring = text_of
  methods.tostring = text_of
end

return M
