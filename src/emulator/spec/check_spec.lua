-- What the software GPU finds with --check: planted faults, and nothing in kernels that are right.
local programs = require "support.programs"
local shell = require "support.shell"
local watched = require "support.watched"

-- Neighbours across a barrier, or without one when %s is empty.
local REVERSE = [[
local reverse = roc.kernel(function(y)
  local s = roc.shared.array(256, "float32")
  local i = roc.get_local_id(1)
  s[i] = i
  %s
  y[i] = s[257 - i]
end, { name = "reverse" })
local y = roc.device_array(256, "float32")
reverse[{ 1, 256 }](y)
print(y:copy_to_host()[1])
]]

-- Each group adds to the result of the one before: the store of the flag is an atomic one, which is
-- a plain store to the GPU.  %s stands before the flag is seen, and after it.
local CHAIN = [[
local chain = roc.kernel(function(flags, out)
  local g = roc.get_group_id(1)
  if roc.get_local_id(1) == 1 then
    local previous = 0
    if g > 1 then
      while roc.atomic.load(flags, g - 1) == 0 do end
      %s
      previous = out[g - 1]
    end
    out[g] = previous + g
    roc.mem_fence()
    %s
  end
end, { name = "chain" })
local flags = roc.to_device(roc.zeros(50, "int32"))
local out = roc.to_device(roc.zeros(50, "int64"))
chain:launch({ groups = 50, workgroup = 64 }, flags, out)
print(out[50])
]]
local SET = "roc.atomic.store(flags, g, 1)"

describe("The checks of the software GPU", function()
  if not shell.interpreter then return pending("the specs do not run in roclua") end
  if not programs.find("rocr_test") then return pending("ROCR is not installed") end

  for _, chip in ipairs { "gfx90a", "gfx1030" } do
    describe("on " .. chip, function()
      local function finds(patterns, source)
        local output, status = watched.run(chip, "--check", source)
        for _, pattern in ipairs(patterns) do assert.matches(pattern, output) end
        local _, count = output:gsub("roclua: check:", "")
        assert.equal(#patterns, count, output)
        assert.matches("(%d+) faults? found in kernels, told above\n$", output)
        assert.equal(#patterns, tonumber(output:match("(%d+) faults? found in kernels")))
        assert.equal(1, status)
      end

      local function passes(source)
        local output, status = watched.run(chip, "--check", source)
        assert.not_matches("roclua:", output)
        assert.equal(0, status)
      end

      it("find a barrier that is missing between wavefronts", function()
        local output, status = watched.run(chip, "--check", REVERSE:format(""))
        assert.matches("race in kernel 'reverse': work%-item {%d+} %a+ shared memory " ..
          "%(byte %d+%) at script.lua:[46], and work%-item {%d+} %a+ it at script.lua:[46]; " ..
          "nothing orders the two", output)
        assert.equal(1, status)
        passes(REVERSE:format("roc.barrier()"))
      end)

      it("find two workgroups that write one element", function()
        finds({ "race in kernel 'last': work%-item {%d+} writes memory at 0x%x+ at " ..
          "script.lua:2, and work%-item {%d+} wrote it at script.lua:2" }, [[
local last = roc.kernel(function(y)
  y[1] = roc.get_group_id(1)
end, { name = "last" })
local y = roc.to_device(roc.zeros(4, "int64"))
last[{ 8, 1 }](y)
y:copy_to_host()]])
      end)

      it("find lanes of one store that write different values", function()
        finds({ "race in kernel 'lanes': work%-item {2} writes memory .- script.lua:2, and " ..
          "work%-item {1} wrote it at script.lua:2" }, [[
local lanes = roc.kernel(function(y)
  y[1] = roc.get_global_id(1)
end, { name = "lanes" })
local y = roc.to_device(roc.zeros(4, "int64"))
lanes[{ 1, 32 }](y)
y:copy_to_host()]])
      end)

      it("do not mind that all write the same", function()
        passes [[
local same = roc.kernel(function(y)
  y[1] = 7
end, { name = "same" })
local y = roc.to_device(roc.zeros(4))
same[{ 8, 64 }](y)
y:copy_to_host()]]
      end)

      it("do not mind that groups on several threads write the same at once", function()
        passes [[
local same = roc.kernel(function(y)
  y[1] = 7
end, { name = "same" })
for i = 1, 40 do
  local dtypes = { "uint8", "int16", "int32", "float64" }
  local y = roc.to_device(roc.zeros(4, dtypes[i % 4 + 1]))
  same[{ 64, 64 }](y)
  y:copy_to_host()
end]]
      end)

      it("find a read of what another group writes, naming items of two dimensions", function()
        finds({ "race in kernel 'shift': work%-item {%d+, %d+} %a+ memory at .-script.lua:3, " ..
          "and work%-item {%d+, %d+} %a+ it at script.lua:3" }, [[
local shift = roc.kernel(function(y, n)
  local i, j = roc.grid(2)
  if i < n then y[j][i] = y[j][i + 1] + 1 end
end, { name = "shift" })
local y = roc.to_device(roc.ones({ 4, 256 }, "float32"))
shift:launch({ grid = { 256, 4 }, workgroup = { 64, 2 } }, y, 256)
y:copy_to_host()]])
      end)

      it("find a read of shared memory that was never written", function()
        finds({ "undefined value in kernel 'tail': work%-item {3[23]} reads shared memory " ..
          "%(byte 128%) at script.lua:6, which was never written" }, [[
local tail = roc.kernel(function(y)
  local s = roc.shared.array(64, "float32")
  local i = roc.get_local_id(1)
  if i <= 32 then s[i] = i end
  roc.barrier()
  y[i] = s[i % 64 + 1]
end, { name = "tail" })
local y = roc.device_array(64, "float32")
tail[{ 1, 64 }](y)
y:copy_to_host()]])
      end)

      it("take shared memory for undefined at the start of each workgroup", function()
        finds({ "undefined value in kernel 'again': work%-item {65} reads shared memory " }, [[
local again = roc.kernel(function(y)
  local s = roc.shared.array(64, "float32")
  local i = roc.get_local_id(1)
  if roc.get_group_id(1) == 1 then s[i] = i end
  roc.barrier()
  y[roc.get_global_id(1)] = s[65 - i]
end, { name = "again" })
local y = roc.device_array(128, "float32")
again[{ 2, 64 }](y)
y:copy_to_host()]])
      end)

      it("find a read of a fresh device array, also where one has been freed", function()
        finds({ "undefined value in kernel 'copy': work%-item {1} reads memory at 0x%x+ at " ..
          "script.lua:3" }, [[
local copy = roc.kernel(function(x, y)
  local i = roc.get_global_id(1)
  y[i] = x[i]
end, { name = "copy" })
do
  local old <close> = roc.to_device(roc.ones(64))
end
local x, y = roc.device_array(64), roc.device_array(64)
copy:forall(64)(x, y)
y:copy_to_host()]])
      end)

      it("know what copies, fills and kernels have written", function()
        passes [[
local copy = roc.kernel(function(x, y)
  local i = roc.get_global_id(1)
  y[i] = x[i]
end, { name = "copy" })
local x, y, z = roc.device_array(1000), roc.device_array(1000), roc.device_array(1000)
x:fill(3)
copy:forall(1000)(x, y)
y:copy_to_device(z)
copy:forall(1000)(z, x)
copy:forall(1000)(roc.to_device(roc.ones(1000)), x)
local part = roc.device_array(1000)
part:slice(1, 1, 10):copy_from_host(roc.ones(10))
copy:forall(10)(part, x)
print(x:copy_to_host()[1])]]
      end)

      it("find a missing fence after an atomic load, and a flag that is not atomic", function()
        passes(CHAIN:format("roc.mem_fence()", SET))
        finds({ "race in kernel 'chain': work%-item {%d+} reads memory .- script.lua:8, " ..
          "and work%-item {%d+} wrote it at script.lua:10" }, CHAIN:format("", SET))
        finds({ "race in kernel 'chain': work%-item {%d+} %a+ memory .- script.lua:%d+, " ..
          "and work%-item {%d+} %a+ it at script.lua:%d+" },
          CHAIN:format("roc.mem_fence()", "flags[g] = 1"))
      end)

      it("find an atomic and a plain update of one element", function()
        finds({ "race in kernel 'mixed': .- memory .- script.lua:[35], .- script.lua:[35]" }, [[
local mixed = roc.kernel(function(y)
  if roc.get_group_id(1) == 1 then
    y[1] = 77
  else
    roc.atomic.add(y, 1, 1)
  end
end, { name = "mixed" })
local y = roc.to_device(roc.zeros(1, "int32"))
mixed[{ 2, 1 }](y)
y:copy_to_host()]])
      end)

      it("let wavefronts of a group meet by atomics in shared memory", function()
        passes [[
local hand = roc.kernel(function(y)
  local s = roc.shared.array(2, "int32")
  local i = roc.get_local_id(1)
  if i == 1 then s[1] = 0 end
  roc.barrier()
  if i == 1 then
    s[2] = 42
    roc.mem_fence(1)
    roc.atomic.store(s, 1, 1)
  end
  if i == 65 then
    while roc.atomic.load(s, 1) == 0 do end
    roc.mem_fence(1)
    y[1] = s[2]
  end
end, { name = "hand" })
local y = roc.device_array(1, "int32")
hand[{ 1, 128 }](y)
assert(y:copy_to_host()[1] == 42)]]
      end)

      it("find nothing in a tiled matrix product", function()
        passes [[
local T = 8
local matmul = roc.kernel(function(a, b, c, n)
  local ta, tb = roc.shared.array({ T, T }, "float32"), roc.shared.array({ T, T }, "float32")
  local x, y = roc.get_local_id(1), roc.get_local_id(2)
  local i, j = roc.get_global_id(2), roc.get_global_id(1)
  local sum = roc.float32(0)
  for k = 0, n // T - 1 do
    ta[y][x] = a[i][k * T + x]
    tb[y][x] = b[k * T + y][j]
    roc.barrier()
    for l = 1, T do sum = sum + ta[y][l] * tb[l][x] end
    roc.barrier()
  end
  c[i][j] = sum
end, { name = "matmul" })
local n = 32
local a, b = roc.to_device(roc.random({ n, n }, "float32")),
  roc.to_device(roc.random({ n, n }, "float32"))
local c = roc.device_array({ n, n }, "float32")
matmul:launch({ grid = { n, n }, workgroup = { T, T } }, a, b, c, n)
c:copy_to_host()]]
      end)

      it("find nothing in an element that one work-item reads, and rewrites after the barriers",
        function()
          passes [[
local tree = roc.kernel(function(x, sums)
  local part = roc.shared.array(256, "float32")
  local item, total = roc.get_local_id(1), 0.0
  for t = 0, 2 do
    part[item] = math.exp(x[t * 256 + item])
    for level = 0, 7 do
      roc.barrier()
      local half, from = 128 >> level, 1 << level
      if item <= half then
        part[(item - 1) * 2 * from + 1] = part[(item - 1) * 2 * from + 1]
          + part[(item - 1) * 2 * from + 1 + from]
      end
    end
    roc.barrier()
    if item == 1 then total = total + part[1] end
  end
  if item == 1 then sums[1] = total end
end, { workgroup = 256 })
local sums = roc.device_array(1, "float32")
tree:launch({ grid = 256 }, roc.to_device(roc.zeros(768, "float32")), sums)
assert(sums:copy_to_host()[1] == 768)]]
        end)

      it("find nothing in reductions, scans and histograms of the library", function()
        passes [[
local x = roc.to_device(roc.random(5000, "float32"))
local sum = roc.reduce(function(a, b) return a + b end)
local prefix = roc.scan(function(a, b) return a + b end)
print(sum(x), prefix(x):copy_to_host()[1])
local histogram = roc.kernel(function(v, h)
  local s = roc.shared.array(16, "int32")
  local i = roc.get_local_id(1)
  if i <= 16 then s[i] = 0 end
  roc.barrier()
  if roc.get_global_id(1) <= #v then
    roc.atomic.add(s, math.floor(v[roc.get_global_id(1)] * 16) + 1, 1)
  end
  roc.barrier()
  if i <= 16 then roc.atomic.add(h, i, s[i]) end
end, { name = "histogram" })
local h = roc.to_device(roc.zeros(16, "int32"))
histogram[{ 20, 256 }](x, h)
h:copy_to_host()]]
      end)
    end)
  end

  it("report a pair of lines once, whatever the items", function()
    local output = watched.run("gfx90a", "--check", [[
      local last = roc.kernel(function(y) y[1] = roc.get_group_id(1) end)
      local y = roc.to_device(roc.zeros(4, "int64"))
      for _ = 1, 3 do last[{ 8, 1 }](y) end
      y:copy_to_host()]])
    local _, count = output:gsub("race", "")
    assert.equal(1, count)
  end)

  it("leave the status of a script that fails or exits otherwise", function()
    local _, status = watched.run("gfx90a", "--check", "os.exit(3)")
    assert.equal(3, status)
    local output
    output, status = watched.run("gfx90a", "--check", REVERSE:format("") .. "os.exit(true)")
    assert.equal(1, status)
    assert.matches("found in kernels", output)
  end)

  it("are off by default", function()
    local output, status = watched.run("gfx90a", "", REVERSE:format(""))
    assert.not_matches("race", output)
    assert.equal(0, status)
  end)
end)
