-- Runs each kernel of kernels.lua once on the default device, for bench/amdgpu.lua:
--   roclua --emulate TARGET --stats=FILE bench/amdgpu/run_ours.lua FOLDER MODE [NAME …]
-- MODE is "checked" or "unchecked".  What the arrays hold before and after goes to FOLDER:
-- NAME.ARRAY and NAME.ARRAY.MODE.
package.path = "bench/amdgpu/?.lua;" .. package.path
local roc = require "roc"
local bytes_of = require "inputs"
local rows = require "kernels"

local folder, mode = arg[1], arg[2]
local wanted = {}
for i = 3, #arg do wanted[arg[i]] = true end

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
