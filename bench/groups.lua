-- Kernels whose items go through long loops together, with barriers and without, on one thread,
-- with AVX-512 and with AVX2: build/release/bin/roclua bench/groups.lua [n [repeats]]
-- `n` is the side of a matrix, a multiple of 64, and a 16th of the number of bodies. Prints the
-- least time of `repeats` runs, checked and unchecked, which take turns, their ratio, and 10^9
-- operations on floats a second, checked.
--   bench/groups.lua --level N REPEATS: the rows of the level that ROCLUA_CPU names
local roc = require "roc"

local rows = {
  { name = "product", function(a, b, c)
    local column, row = roc.grid(2)
    local sum = 0.0
    for k = 1, a.shape[2] do sum = sum + a[row][k] * b[k][column] end
    c[row][column] = sum
  end },
  { name = "tiled", function(a, b, c)
    local as, bs = roc.shared.array({ 16, 16 }, "float32"), roc.shared.array({ 16, 16 }, "float32")
    local column, row = roc.grid(2)
    local x, y = roc.get_local_id(1), roc.get_local_id(2)
    local sum = 0.0
    for t = 0, a.shape[2] - 1, 16 do
      as[y][x], bs[y][x] = a[row][t + x], b[t + y][column]
      roc.barrier()
      for k = 1, 16 do sum = sum + as[y][k] * bs[k][x] end
      roc.barrier()
    end
    c[row][column] = sum
  end },
  { name = "register_tile", items = 4, function(a, b, c)
    local as, bs = roc.shared.array({ 64, 16 }, "float32"), roc.shared.array({ 16, 64 }, "float32")
    local acc = roc.private.array({ 4, 4 }, "float32")
    local x, y = roc.get_local_id(1), roc.get_local_id(2)
    local row, column = (roc.get_group_id(2) - 1) * 64, (roc.get_group_id(1) - 1) * 64
    for p = 1, 4 do for q = 1, 4 do acc[p][q] = 0.0 end end
    for t = 0, a.shape[2] - 1, 16 do
      for p = 0, 3 do
        as[y + p * 16][x] = a[row + y + p * 16][t + x]
        bs[y][x + p * 16] = b[t + y][column + x + p * 16]
      end
      roc.barrier()
      for k = 1, 16 do
        for p = 1, 4 do
          local one = as[y + (p - 1) * 16][k]
          for q = 1, 4 do acc[p][q] = acc[p][q] + one * bs[k][x + (q - 1) * 16] end
        end
      end
      roc.barrier()
    end
    for p = 1, 4 do
      for q = 1, 4 do c[row + y + (p - 1) * 16][column + x + (q - 1) * 16] = acc[p][q] end
    end
  end },
  { name = "n_body", function(x, m, f)
    local sx, sm = roc.shared.array(256, "float32"), roc.shared.array(256, "float32")
    local i, l, width = roc.get_global_id(1), roc.get_local_id(1), roc.get_local_size(1)
    local own, sum = x[i], 0.0
    for t = 1, #x, width do
      sx[l], sm[l] = x[t + l - 1], m[t + l - 1]
      roc.barrier()
      for j = 1, width do
        local d = sx[j] - own
        sum = sum + sm[j] * d / (d * d + 0.01)
      end
      roc.barrier()
    end
    f[i] = sum
  end },
  { name = "n_body_while", function(x, m, f)
    local sx, sm = roc.shared.array(256, "float32"), roc.shared.array(256, "float32")
    local i, l, width = roc.get_global_id(1), roc.get_local_id(1), roc.get_local_size(1)
    local own, sum, t = x[i], 0.0, 1
    while t <= #x do
      sx[l], sm[l] = x[t + l - 1], m[t + l - 1]
      roc.barrier()
      local j = 1
      while j <= width do
        local d = sx[j] - own
        sum = sum + sm[j] * d / (d * d + 0.01)
        j = j + 1
      end
      roc.barrier()
      t = t + width
    end
    f[i] = sum
  end },
  { name = "n_body_order", function(x, m, f, order) -- what `order` gives is checked in any case
    local sx, sm = roc.shared.array(256, "float32"), roc.shared.array(256, "float32")
    local i, l, width = roc.get_global_id(1), roc.get_local_id(1), roc.get_local_size(1)
    local own, sum = x[i], 0.0
    for t = 1, #x, width do
      local k = order[t + l - 1]
      sx[l], sm[l] = x[k], m[k]
      roc.barrier()
      for j = 1, width do
        local d = sx[j] - own
        sum = sum + sm[j] * d / (d * d + 0.01)
      end
      roc.barrier()
    end
    f[i] = sum
  end },
}

local function floats(...) return roc.to_device(roc.random({ ... }, "float32")) end

-- A row's arguments, launch, and operations.
local function inputs_of(row, n)
  if not row.name:find("n_body", 1, true) then
    local side = n // (row.items or 1)
    return { floats(n, n), floats(n, n), floats(n, n) },
      { grid = { side, side }, workgroup = { 16, 16 } }, 2 * n ^ 3
  end
  local count = n * 16
  local args = { floats(count), floats(count), floats(count) }
  if row.name == "n_body_order" then args[4] = roc.to_device(roc.range(1, count)) end
  return args, { grid = count, workgroup = 256 }, 6 * count ^ 2
end

local function measure(row, n, repeats)
  local args, config, operations = inputs_of(row, n)
  local kernels, best = {}, { math.huge, math.huge }
  for i, check in ipairs { true, false } do
    kernels[i] = roc.kernel(row[1], { check = check, number = "float32" })
  end
  for _ = 0, repeats do
    for i, kernel in ipairs(kernels) do
      local start = roc.time()
      kernel:launch(config, table.unpack(args))
      roc.current_device():synchronize()
      best[i] = math.min(best[i], roc.time() - start)
    end
  end
  return best[1], best[2], operations
end

if arg[1] == "--level" then
  print(("%-14s %10s %10s %10s %10s"):format("milliseconds", "checked", "unchecked", "ratio",
    "10^9/s"))
  for _, row in ipairs(rows) do
    local checked, unchecked, operations = measure(row, tonumber(arg[2]), tonumber(arg[3]))
    print(("%-14s %10.3f %10.3f %10.2f %10.1f"):format(row.name, checked * 1e3, unchecked * 1e3,
      checked / unchecked, operations / checked * 1e-9))
  end
  return
end

for _, level in ipairs { "x86-64-v4", "x86-64-v3" } do
  local command = ("ROCLUA_CPU=%s ROCLUA_CPU_THREADS=1 '%s' --device cpu bench/groups.lua"):format(
    level, arg[-1]) .. (" --level %s %s 2>/dev/null"):format(arg[1] or 256, arg[2] or 20)
  local pipe <close> = assert(io.popen(command))
  local text = pipe:read("a")
  if text ~= "" then print(level .. "\n" .. text) end -- the machine has the level
end
