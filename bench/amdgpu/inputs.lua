-- What the arrays of kernels.lua hold at first: a function that gives the bytes of a row's array,
-- {dtype, shape, values}.  The values: a name, {"integer", bound}, or a function of the element's
-- number and of a function that gives a random number.

-- The same numbers in every run.
local state = 1
local function random()
  state = (state * 6364136223846793005 + 1442695040888963407)
  return state >> 33
end

local function elements(shape)
  local n = 1
  for _, extent in ipairs(type(shape) == "table" and shape or { shape }) do n = n * extent end
  return n
end

local function value(kind, i)
  if type(kind) == "function" then return kind(i, random) end
  if kind == "float" then return (random() & 0xffff) / 65536.0 + 0.01 end
  if kind == "sorted" then return 3 * i end
  if kind == "rising" then return i / 300.0 end
  if kind == "order" then return (i - 1) * 7 % 2000 end
  if kind == "steps" then return i == 1 and 0 or math.min(16000, (i - 1) * 7 + (i * 5) % 8) end
  return type(kind) == "table" and random() % kind[2] or 0
end

local LETTERS = { float32 = "f", int32 = "i4", uint32 = "I4", uint8 = "I1" }

return function(spec)
  local dtype, shape, kind = table.unpack(spec)
  local parts = {}
  for i = 1, elements(shape) do parts[i] = string.pack(LETTERS[dtype], value(kind, i)) end
  return table.concat(parts)
end
