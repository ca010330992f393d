-- Elements beside each other that a work-item asks for together: on NVIDIA GPUs they are one access
-- where arrays begin, and have rows, at multiples of 16 bytes. Elsewhere they are not, with the
-- same results.
local roc = require "roc"
local check = require("support.asserted").check
local devices = require "support.devices"

local SOURCES = {
  [1] = [[function(x, y)
    local i = (roc.get_global_id(1) - 1) * 4
    if i + 4 <= #y then
      local a, b, c, d = x[i + 1], x[i + 2], x[i + 3], x[i + 4]
      y[i + 1], y[i + 2], y[i + 3], y[i + 4] = d, c, b, a
    end
  end]],
  [2] = [[function(x, y)
    local i = (roc.get_global_id(1) - 1) * 4
    for r = 1, y.shape[1] do
      if i + 4 <= y.shape[2] then
        local a, b, c, d = x[r][i + 1], x[r][i + 2], x[r][i + 3], x[r][i + 4]
        y[r][i + 1], y[r][i + 2], y[r][i + 3], y[r][i + 4] = d, c, b, a
      end
    end
  end]],
}

-- Elements first … first + count - 1 of a new device array, in that shape, whose others are -1.
local function part(first, shape, dtype)
  local count = 1
  for _, extent in ipairs(shape) do count = count * extent end
  local whole = roc.to_device(roc.full(count + 8, -1, dtype))
  return whole, whole:slice(1, first, first + count - 1):reshape(table.unpack(shape))
end

-- 1 … 99, 0, 1 …
local function numbers(shape, count, dtype)
  local values = {}
  for i = 1, count do values[i] = i % 100 end
  return roc.array(values, dtype):reshape(table.unpack(shape))
end

-- What then stands at a place of the result, whose rows have so many columns.
local function expected(index, columns)
  local row, column = (index - 1) // columns, (index - 1) % columns
  if column >= columns // 4 * 4 then return -1 end
  return (row * columns + column // 4 * 4 + 3 - column % 4 + 1) % 100
end

devices.each(function(device)
  local rows = device.kind == "sim" and { { 36 }, { 3, 8 }, { 3, 9 } }
    or { { 256 }, { 259 }, { 5, 32 }, { 5, 33 }, { 5, 34 }, { 5, 36 } }
  for _, dtype in ipairs { "float32", "float64", "int8", "float16", "int64" } do
    for _, checked in ipairs { true, false } do
      it(("elements of %s are moved four at a time, %s"):format(dtype,
        checked and "checked" or "unchecked"), function()
        for _, shape in ipairs(rows) do
          local kernel = devices.kernel(SOURCES[#shape], { check = checked })
          local columns, count = shape[#shape], #shape == 2 and shape[1] * shape[2] or shape[1]
          for first = 1, 5 do
            local _, x = part(first, shape, dtype)
            local whole, y = part(6 - first, shape, dtype)
            x:copy_from_host(numbers(shape, count, dtype))
            devices.run(kernel, columns // 4 + 3, { x, y })
            local got = devices.table(whole)
            for i = 1, count + 8 do
              local at = i - (6 - first) + 1
              local value = at >= 1 and at <= count and expected(at, columns) or -1
              check(value == got[i], 1, "%s, first %d, element %d: %s, not %s",
                table.concat(shape, "x"), first, at, got[i], value)
            end
          end
        end
      end)
    end
  end
end)
