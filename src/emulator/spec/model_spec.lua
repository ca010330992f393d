-- The model of time of --stats: of ten pairs of kernels that do the same, it has the one that real
-- GPUs are known to run faster take less time.
local emulator = require "support.emulator"
local files = require "support.files"
local programs = require "support.programs"
local shell = require "support.shell"
local watched = require "support.watched"

-- Each pair is <name>_slow and <name>_fast.
local PAIRS = [==[
local T, N = 32, 128
local x, y = roc.to_device(roc.ones(524288, "float32")), roc.device_array(524288, "float32")

local function run(name, body, shape, ...)
  roc.kernel(body, { name = name, check = false }):launch(shape, ...)
end
local GRID = { grid = 16384, workgroup = 256 }

-- Columns of a tile in LDS: 32 words apart they lie in one bank, 33 apart in all of them.
for name, width in pairs { conflicts_slow = 32, conflicts_fast = 33 } do
  local a, b = roc.to_device(roc.ones({ N, N }, "float32")), roc.device_array({ N, N }, "float32")
  run(name, function(a, b)
    local tile = roc.shared.array({ T, width }, "float32")
    local x, y = roc.get_local_id(1), roc.get_local_id(2)
    local gx, gy = roc.get_group_id(1) - 1, roc.get_group_id(2) - 1
    for k = y, T, 8 do tile[k][x] = a[gy * T + k][gx * T + x] end
    roc.barrier()
    local s = 0.0
    for k = 1, T do s = s + tile[x][(y + k) % T + 1] end
    b[gy * T + y][gx * T + x] = s
  end, { grid = { N, N / T * 8 }, workgroup = { T, 8 } }, a, b)
end

-- One word out of each line, or all of them.
local ALL = { grid = 524288, workgroup = 256 }
run("strides_slow", function(x, y)
  local i = roc.get_global_id(1)
  y[i] = x[(i - 1) * 64 % 524288 + (i - 1) // 8192 + 1]
end, ALL, x, y)
run("strides_fast", function(x, y)
  local i = roc.get_global_id(1)
  y[i] = x[i]
end, ALL, x, y)

-- A product of matrices from memory, or by tiles in LDS; of as many workgroups as fill the GPU.
local M = 256
local a, b = roc.to_device(roc.ones({ M, M }, "float32")), roc.to_device(roc.ones({ M, M }, "float32"))
local c, SQUARE = roc.device_array({ M, M }, "float32"), { grid = { M, M }, workgroup = { 16, 16 } }
run("tiles_slow", function(a, b, c)
  local j, i = roc.get_global_id(1), roc.get_global_id(2)
  local s = 0.0
  for k = 1, M do s = s + a[i][k] * b[k][j] end
  c[i][j] = s
end, SQUARE, a, b, c)
run("tiles_fast", function(a, b, c)
  local p, q = roc.shared.array({ 16, 16 }, "float32"), roc.shared.array({ 16, 16 }, "float32")
  local j, i = roc.get_global_id(1), roc.get_global_id(2)
  local x, y = roc.get_local_id(1), roc.get_local_id(2)
  local s = 0.0
  for t = 0, M - 1, 16 do
    p[y][x], q[y][x] = a[i][t + x], b[t + y][j]
    roc.barrier()
    for k = 1, 16 do s = s + p[y][k] * q[k][x] end
    roc.barrier()
  end
  c[i][j] = s
end, SQUARE, a, b, c)

-- 64 bits at a time, or 32.
for name, dtype in pairs { doubles_slow = "float64", doubles_fast = "float32" } do
  run(name, function(v)
    local i = roc.get_global_id(1)
    local s = v[i]
    for k = 1, 100 do s = s * s + v[1] end
    v[i] = s
  end, GRID, roc.to_device(roc.ones(16384, dtype)))
end

-- A sine, or a product.
run("functions_slow", function(x, y)
  local i = roc.get_global_id(1)
  local s = x[i]
  for k = 1, 50 do s = math.sin(s) end
  y[i] = s
end, GRID, x, y)
run("functions_fast", function(x, y)
  local i = roc.get_global_id(1)
  local s = x[i]
  for k = 1, 50 do s = s * s end
  y[i] = s
end, GRID, x, y)

-- A division, or a shift.
local q = roc.to_device(roc.ones(16384, "int32"))
run("divisions_slow", function(q, d)
  local i = roc.get_global_id(1)
  local s = q[i] + i
  for k = 1, 20 do s = s // d + k end
  q[i] = s
end, GRID, q, 3)
run("divisions_fast", function(q, d)
  local i = roc.get_global_id(1)
  local s = q[i] + i
  for k = 1, 20 do s = (s >> d) + k end
  q[i] = s
end, GRID, q, 3)

-- Neighbours go different ways, or whole wavefronts.
for name, by in pairs { branches_slow = 1, branches_fast = 64 } do
  run(name, function(x, y)
    local i = roc.get_global_id(1)
    local s = x[i]
    if (i - 1) // by % 2 == 0 then
      for k = 1, 100 do s = s * 0.5 + x[k] end
    else
      for k = 1, 100 do s = (s - x[k]) * 0.25 end
    end
    y[i] = s
  end, GRID, x, y)
end

-- All items count on one word, or each on its own.
local counts = roc.to_device(roc.zeros(16384, "int32"))
for name, step in pairs { atomics_slow = 0, atomics_fast = 1 } do
  local keys = roc.zeros(16384, "int32")
  for i = 1, 16384 do keys[i] = 1 + (i - 1) * step end
  run(name, function(keys, counts)
    roc.atomic.add(counts, keys[roc.get_global_id(1)], 1)
  end, GRID, roc.to_device(keys), counts)
end

-- A chain of loads in few wavefronts at once, or in many: shared memory is the limit.
local links = roc.to_device(roc.range(1, 131072, 1, "int32"))
for name, size in pairs { occupancy_slow = 8192, occupancy_fast = 64 } do
  run(name, function(links, y)
    local s = roc.shared.array(size, "float32")
    local l, at = roc.get_local_id(1), roc.get_global_id(1)
    s[l] = 1.0
    roc.barrier()
    for k = 1, 20 do at = links[at] end
    y[roc.get_global_id(1)] = at + s[(l + at) % 64 + 1]
  end, { grid = 131072, workgroup = 64 }, links, y)
end

-- One workgroup does all, or 64.
for name, groups in pairs { groups_slow = 1, groups_fast = 64 } do
  local n, step = 65536 // (groups * 256), groups * 256
  run(name, function(x, y)
    local i, s = roc.get_global_id(1), 0.0
    for k = 0, n - 1 do s = s + x[i + k * step] end
    y[i] = s
  end, { grid = step, workgroup = 256 }, x, y)
end
roc.current_device():synchronize()
]==]

local NAMES = { "conflicts", "strides", "tiles", "doubles", "functions", "divisions", "branches",
  "atomics", "occupancy", "groups" }

describe("The model of time", function()
  it("knows every chip", function()
    local function names(path, row)
      local list = {}
      for name in files.read(path):gmatch(row .. '%("(gfx%w+)"') do list[#list + 1] = name end
      table.sort(list)
      return list
    end
    assert.same(names("src/emulator/isa/chips.def", "CHIP"),
      names("src/emulator/report/model.def", "MODEL"))
  end)

  -- The cycles that AMD's calculator of matrix instructions gives, of an instruction that is issued
  -- every four cycles on gfx9, and every one on RDNA.
  it("takes the cycles for products of matrices that AMD's calculator does", function()
    if not emulator.program then return pending("emulator_test is not built") end
    local cycles = {
      gfx90a = {
        ["v_mfma_f32_32x32x8f16 v[0:15], v[16:17], v[18:19], v[0:15]"] = 64,
        ["v_mfma_f32_32x32x2f32 v[0:15], v16, v18, v[0:15]"] = 64,
        ["v_mfma_f64_16x16x4f64 v[0:7], v[16:17], v[18:19], v[0:7]"] = 32,
      },
      gfx942 = {
        ["v_mfma_f32_16x16x16_f16 v[0:3], v[16:17], v[18:19], v[0:3]"] = 16,
        ["v_mfma_f32_16x16x8_xf32 v[0:3], v[16:17], v[18:19], v[0:3]"] = 16,
        ["v_mfma_f32_32x32x16_fp8_bf8 v[0:15], v[16:17], v[18:19], v[0:15]"] = 32,
        ["v_smfmac_f32_16x16x32_f16 v[0:3], v[16:17], v[20:23], v18"] = 16,
        ["v_smfmac_i32_16x16x64_i8 v[0:3], v[16:17], v[20:23], v18"] = 16,
      },
      gfx1201 = {
        ["v_wmma_f32_16x16x16_f16 v[0:7], v[16:19], v[20:23], v[0:7]"] = 16,
        ["v_wmma_f32_16x16x16_fp8_fp8 v[0:7], v[16:17], v[20:21], v[0:7]"] = 8,
        ["v_swmmac_f32_16x16x32_f16 v[0:7], v[16:19], v[20:27], v28"] = 16,
      },
    }
    for chip, list in pairs(cycles) do
      for instruction, count in pairs(list) do
        local issue = emulator.generation(chip) == 9 and 4 or 1
        assert.are.equal(count // issue, emulator.costs(chip, { instruction })[1], instruction)
      end
    end
  end)

  if not shell.interpreter then return pending("the specs do not run in roclua") end
  if not programs.find("rocr_test") then return pending("ROCR is not installed") end

  for _, chip in ipairs { "gfx90a", "gfx1030" } do
    local kernels
    local function times(name)
      kernels = kernels or watched.count(chip, PAIRS)
      return kernels[name .. "_slow"].time, kernels[name .. "_fast"].time
    end

    for _, name in ipairs(NAMES) do
      -- an MI210 is as fast with doubles
      local has_same = chip == "gfx90a" and name == "doubles"
      it(("orders %s on %s"):format(name, chip), function()
        local slow, fast = times(name)
        if has_same then
          assert.is_true(math.abs(slow / fast - 1) < 0.1, slow .. " and " .. fast)
        else
          assert.is_true(slow > 1.15 * fast, slow .. " and " .. fast)
        end
      end)
    end

    it("gives a copy on " .. chip .. " the bandwidth of memory", function()
      local _, copy = times "strides"
      local gbytes = chip == "gfx90a" and 1638 or 512
      assert.is_true(math.abs(copy - 2 * 4 * 524288 / gbytes / 1e3) < 0.02 * copy, copy)
    end)
  end
end)
