-- Runs each kernel of kernels.lua once on the default device, for bench/amdgpu.lua:
--   roclua --emulate TARGET --stats=FILE bench/amdgpu/run_ours.lua FOLDER MODE [NAME …]
-- MODE is "checked" or "unchecked".  What the arrays hold before and after goes to FOLDER:
-- NAME.ARRAY and NAME.ARRAY.MODE.
package.path = "bench/amdgpu/?.lua;" .. package.path
local roc = require "roc"
local rows = require "kernels"

local folder, mode = arg[1], arg[2]
local wanted = {}
for i = 3, #arg do wanted[arg[i]] = true end

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
  if kind == "float" then return (random() & 0xffff) / 65536.0 + 0.01 end
  if kind == "sorted" then return 3 * i end
  if kind == "rising" then return i / 300.0 end
  if kind == "order" then return (i - 1) * 7 % 2000 end
  if kind == "steps" then return i == 1 and 0 or math.min(16000, (i - 1) * 7 + (i * 5) % 8) end
  return type(kind) == "table" and random() % kind[2] or 0
end

local LETTERS = { float32 = "f", int32 = "i4", uint32 = "I4", uint8 = "I1" }

local function bytes_of(spec)
  local dtype, shape, kind = table.unpack(spec)
  local parts = {}
  for i = 1, elements(shape) do parts[i] = string.pack(LETTERS[dtype], value(kind, i)) end
  return table.concat(parts)
end

local function write(path, bytes)
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(bytes))
end

for _, row in ipairs(rows) do
  local args, arrays = { table.unpack(row.first or {}) }, {}
  for i, spec in ipairs(row.arrays) do
    local bytes = bytes_of(spec)
    arrays[i] = roc.to_device(roc.frombytes(bytes, spec[1], spec[2]))
    args[#args + 1] = arrays[i]
    write(("%s/%s.%d"):format(folder, row.name, i), bytes)
  end
  for _, scalar in ipairs(row.scalars or {}) do args[#args + 1] = scalar end
  if not next(wanted) or wanted[row.name] then
    row.make(mode == "checked"):launch({ grid = row.grid, workgroup = row.workgroup },
      table.unpack(args))
    write(("%s/%s.%d.%s"):format(folder, row.name, row.result, mode),
      arrays[row.result]:copy_to_host():tobytes())
  end
end
