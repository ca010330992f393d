-- The dtypes of results: how the dtypes of operands join, and in what a kernel computes.
--
-- A kernel computes in one of four classes: "integer" (64 bits), "float32", "float64" and "bool".
-- Halves are computed in float32 and rounded once, when they are stored.
local core = require "roc.core"

local dtypes = core.dtypes

local M = {}

local CLASS_OF_FLOAT = { float16 = "float32", bfloat16 = "float32", float32 = "float32",
  float64 = "float64" }

---@param dtype roc.DType
---@return "integer" | "float32" | "float64" | "bool"
function M.class(dtype)
  return dtype.kind == "b" and "bool" or CLASS_OF_FLOAT[dtype.name] or "integer"
end

---@param dtype roc.DType
function M.is_integer(dtype)
  return dtype.kind == "i" or dtype.kind == "u"
end

-- The wider of a float dtype and the one of another class; two different halves give float32.
local function join_with_float(float, other)
  if other.kind ~= "f" then
    return M.class(float) == "float32" and dtypes.float32 or float
  end
  return (float == dtypes.float64 or other == dtypes.float64) and dtypes.float64 or dtypes.float32
end

---The dtype of the result of arithmetic on arrays of two dtypes; nil for bool with a number.
---@param a roc.DType
---@param b roc.DType
---@return roc.DType?
function M.join(a, b)
  if a == b then return a end
  if a.kind == "b" or b.kind == "b" then return nil end
  if a.kind == "f" then return join_with_float(a, b) end
  if b.kind == "f" then return join_with_float(b, a) end
  return dtypes.int64
end

---The same with a plain number, which does not widen: only a float makes integers float64.
---@param a roc.DType
---@param kind "integer" | "float" | "boolean"
---@return roc.DType?
function M.join_number(a, kind)
  if (kind == "boolean") ~= (a.kind == "b") then return nil end
  return kind == "float" and M.is_integer(a) and dtypes.float64 or a
end

local OF_NUMBER = { integer = "int64", float = "float64", boolean = "bool" }

---The dtype that holds plain numbers.
---@param kind "integer" | "float" | "boolean"
---@return roc.DType
function M.of_number(kind)
  return dtypes[OF_NUMBER[kind]]
end

---The dtype of all the kinds, dtypes and kinds of plain numbers; nil when they do not join.
---@param kinds (roc.DType | string)[]
---@return roc.DType?
function M.join_all(kinds)
  local joined
  for _, kind in ipairs(kinds) do
    if type(kind) ~= "string" then
      joined = joined == nil and kind or joined and M.join(joined, kind)
      if not joined then return nil end
    end
  end
  if joined then
    for _, kind in ipairs(kinds) do
      joined = type(kind) ~= "string" and joined or M.join_number(joined, kind)
      if not joined then return nil end
    end
    return joined
  end
  local is_float = false
  for _, kind in ipairs(kinds) do
    if (kind == "boolean") ~= (kinds[1] == "boolean") then return nil end
    is_float = is_float or kind == "float"
  end
  return M.of_number(is_float and "float" or kinds[1])
end

-- A uint64 from 2^63 on is a negative integer: its half, rounded to odd, is converted and doubled.
local UNSIGNED = "(%s >= 0 and roc.%s(%s) or roc.%s(%s >> 1 | %s & 1) * 2)"

---In what sums and products of a dtype accumulate, which is what they give.
---@param dtype roc.DType
---@return roc.DType
function M.accumulator(dtype)
  if dtype.kind == "f" then return dtype == dtypes.float64 and dtype or dtypes.float32 end
  return dtype == dtypes.uint64 and dtype or dtypes.int64
end

---Text that converts an element or number to a class.
---@param text string a name
---@param kind roc.DType | string
---@param class string
---@return string
function M.convert(text, kind, class)
  local is_dtype = type(kind) ~= "string"
  if class == "integer" or class == "bool" or not is_dtype or M.class(kind) == class then
    return text
  elseif kind == dtypes.uint64 then
    return string.format(UNSIGNED, text, class, text, class, text, text)
  end
  return string.format("roc.%s(%s)", class, text)
end

return M
