-- Work-items together: ids, shared memory, barriers, wave operations.
local roc = require "roc"
local devices = require "support.devices"

local function count(list)
  local n = 0
  for _, v in ipairs(list) do
    n = n + (v ~= 0 and 1 or 0)
  end
  return n
end

devices.each(function(device)
  it("numbers work-items and groups from 1, in a partial last group too", function()
    local k = roc.kernel(function(out)
      local i = roc.get_global_id(1)
      out[i][1], out[i][2], out[i][3] = roc.get_local_id(1), roc.get_group_id(1),
        roc.get_local_size(1)
      out[i][4], out[i][5], out[i][6] = roc.get_global_size(1), roc.get_num_groups(1),
        roc.get_work_dim()
      out[i][7], out[i][8], out[i][9] = roc.get_global_id(2), roc.get_global_size(3),
        roc.get_local_id(3)
    end)
    local out = devices.zeros({ 37, 9 }, "int32")
    devices.run(k, 37, { out }, 16)
    local got = devices.table(out)
    for i = 1, 37 do
      assert.same({ (i - 1) % 16 + 1, (i - 1) // 16 + 1, 16, 37, 3, 1, 1, 1, 1 }, got[i])
    end
  end)

  it("covers three-dimensional grids", function()
    local k = roc.kernel(function(out)
      local x, y, z = roc.grid(3)
      local nx, ny, nz = roc.gridsize(3)
      out[((z - 1) * ny + y - 1) * nx + x] = x + 10 * y + 100 * z + 1000 * nz
    end)
    local out = devices.zeros(5 * 3 * 2, "int64")
    k:launch({ grid = { 5, 3, 2 }, workgroup = { 4, 2, 1 } }, out)
    local got = devices.table(out)
    local n = 0
    for z = 1, 2 do
      for y = 1, 3 do
        for x = 1, 5 do
          n = n + 1
          assert.equal(x + 10 * y + 100 * z + 2000, got[n])
        end
      end
    end
  end)

  it("takes a dimension that is not a constant", function()
    local k = roc.kernel(function(d, out) out[roc.get_global_id(1)] = roc.get_global_size(d) end)
    for d, expected in ipairs { 6, 1, 1, 1 } do
      local out = devices.zeros(6, "int64")
      devices.run(k, 6, { d, out })
      assert.equal(expected, out[1])
    end
  end)

  it("counts dimensions from 1", function()
    local function size(d, out) out[1] = roc.get_global_size(d) end
    for d = -1, 0 do
      local out = devices.zeros(1, "int64")
      local ok, why = pcall(devices.run, roc.kernel(size), 1, { d, out })
      assert.is_false(ok)
      assert.matches(
        "group_spec.lua:%d+: 'roc.get_global_size' counts dimensions from 1 %(work%-item {1}%)",
        tostring(why))
      if not device.raw then
        devices.run(roc.kernel(size, { check = false }), 3, { d, out })
        assert.equal(1, out[1])
      end
    end
  end)

  it("exchanges values through shared memory", function()
    local k = roc.kernel(function(x, out)
      local tile = roc.shared.array(16, "float32")
      local lid, n = roc.get_local_id(1), roc.get_local_size(1)
      local i = roc.get_global_id(1)
      tile[lid] = x[i]
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
      out[i] = tile[n - lid + 1]
    end)
    local x = roc.range(1, 48, 1, "float32")
    local out = devices.zeros(48, "float32")
    devices.run(k, 48, { roc.to_device(x), out }, 16)
    for i = 1, 48 do
      local group, lid = (i - 1) // 16, (i - 1) % 16
      assert.equal(group * 16 + 16 - lid, out[i])
    end
  end)

  it("reduces by a tree with a barrier in a loop", function()
    local k = roc.kernel(function(x, out)
      local part = roc.shared.array(64, "int64")
      local lid = roc.get_local_id(1)
      part[lid] = x[roc.get_global_id(1)]
      roc.barrier()
      local half = roc.get_local_size(1) // 2
      while half > 0 do
        if lid <= half then
          part[lid] = part[lid] + part[lid + half]
        end
        roc.barrier()
        half = half // 2
      end
      if lid == 1 then
        out[roc.get_group_id(1)] = part[1]
      end
    end)
    local x = roc.range(1, 256)
    local out = devices.zeros(4, "int64")
    devices.run(k, 256, { roc.to_device(x), out }, 64)
    local total = 0
    for g = 1, 4 do
      total = total + out[g]
    end
    assert.equal(256 * 257 // 2, total)
  end)

  it("keeps values alive across barriers, and lets returned items be missing", function()
    local k = roc.kernel(function(out, limit)
      local i, lid = roc.get_global_id(1), roc.get_local_id(1)
      local tile = roc.shared.array(16, "int64")
      tile[lid] = 0
      local mine = i * i
      roc.barrier()
      if lid > limit then
        return
      end
      tile[lid] = mine
      roc.barrier()
      local sum = 0
      for j = 1, roc.get_local_size(1) do
        sum = sum + tile[j]
      end
      roc.barrier()
      out[i] = sum + mine
    end)
    local out = devices.zeros(32, "int64")
    devices.run(k, 32, { out, 10 }, 16)
    for i = 1, 32 do
      local group, lid = (i - 1) // 16, (i - 1) % 16 + 1
      local sum = 0
      for j = 1, 10 do
        sum = sum + (group * 16 + j) ^ 2
      end
      assert.equal(lid <= 10 and sum + i * i or 0, out[i])
    end
  end)

  it("meets at barriers inside functions, branches and nested loops", function()
    local function rotate(tile, lid, n, by)
      local v = tile[(lid - 1 + by) % n + 1]
      roc.barrier()
      tile[lid] = v
      roc.barrier()
      return v
    end
    local k = roc.kernel(function(out, times, deep)
      local tile = roc.shared.array(8, "int64")
      local lid, n = roc.get_local_id(1), roc.get_local_size(1)
      tile[lid] = lid
      roc.barrier()
      local v = 0
      for a = 1, times do
        if deep then
          for b = 1, 2 do
            v = v + rotate(tile, lid, n, b)
          end
        else
          v = v + rotate(tile, lid, n, 1)
        end
      end
      out[roc.get_global_id(1)] = v
    end)
    for _, deep in ipairs { false, true } do
      local tile, expected = {}, {}
      for i = 1, 8 do tile[i], expected[i] = i, 0 end
      for _ = 1, 3 do
        for b = 1, deep and 2 or 1 do
          local moved = {}
          for i = 1, 8 do moved[i] = tile[(i - 1 + b) % 8 + 1] end
          tile = moved
          for i = 1, 8 do expected[i] = expected[i] + tile[i] end
        end
      end
      local out = devices.zeros(8, "int64")
      devices.run(k, 8, { out, 3, deep }, 8)
      assert.same(expected, devices.table(out))
    end
  end)

  it("reports a barrier that not all work-items reach", function()
    local k = roc.kernel(function(out)
      local lid = roc.get_local_id(1)
      if lid < 3 then
        roc.barrier()
      else
        out[lid] = 1
        roc.barrier()
      end
    end)
    local out = devices.zeros(8, "int64")
    local ok, message = pcall(devices.run, k, 8, { out }, 8)
    assert.is_false(ok)
    assert.matches("barrier in divergent control flow", tostring(message), 1, true)
  end)

  it("views dynamic shared bytes as typed arrays", function()
    local k = roc.kernel(function(out)
      local a = roc.shared.array(0, "int32")
      local b = roc.shared.array(0, "float64", 64)
      local lid = roc.get_local_id(1)
      a[lid] = lid
      b[lid] = lid * 0.5
      roc.barrier()
      out[lid] = a[9 - lid] + b[9 - lid]
      out[lid + 8] = #b
    end)
    local out = devices.zeros(16, "float64")
    k:launch({ groups = 1, workgroup = 8, shared = 64 + 8 * 8 }, out)
    local got = devices.table(out)
    for lid = 1, 8 do
      assert.equal((9 - lid) * 1.5, got[lid])
      assert.equal(8.0, got[lid + 8])
    end
  end)

  it("gives each work-item private memory", function()
    local k = roc.kernel(function(out)
      local mine = roc.private.array({ 2, 4 }, "int32")
      local i = roc.get_global_id(1)
      for a = 1, 2 do
        for b = 1, 4 do
          mine[a][b] = i * 100 + a * 10 + b
        end
      end
      roc.barrier()
      local sum = 0
      for b = 1, 4 do
        sum = sum + mine[2][b]
      end
      out[i] = sum
    end)
    local out = devices.zeros(20, "int64")
    devices.run(k, 20, { out }, 16)
    for i = 1, 20 do
      assert.equal(4 * (i * 100 + 20) + 10, out[i])
    end
  end)

  it("gives each work-item private memory beside dynamic bytes that nobody uses", function()
    local k = roc.kernel(function(n, out)
      local i = roc.get_global_id(1)
      local mine = roc.private.array(8, "int16")
      for j = 1, 8 do
        mine[j] = n - j
      end
      mine[i * 7 % 8 + 1] = i
      out[i] = mine[i % 8 + 1] * 1000 + mine[i * 7 % 8 + 1]
    end)
    local out = devices.zeros(70, "int64")
    k:launch({ grid = 70, workgroup = 256, shared = 1088 }, 50, out)
    local got = devices.table(out)
    for i = 1, 70 do
      local first = i % 8 == i * 7 % 8 and i or 50 - i % 8 - 1
      assert.equal(first * 1000 + i, got[i])
    end
  end)

  it("reduces a ballot as one of the items there are", function()
    local k = devices.kernel("function(out) local all = roc.wave.ballot(true) "
      .. "out[roc.get_global_id(1)] = roc.wave.max(all) end")
    local out = devices.zeros(24, "int64")
    devices.run(k, 24, { out }, 24)
    for _, most in ipairs(devices.table(out)) do assert.equal(0xffffff, most) end
  end)

  it("counts no NaN in a ballot of what is less or greater", function()
    local k = roc.kernel(function(x, out)
      local v, i = x[roc.get_local_id(1)], roc.get_local_id(1)
      out[i] = roc.wave.ballot(v < 2.0 or v > 2.0)
    end, { name = "ballot" })
    local out = devices.zeros(4, "int64")
    devices.run(k, 4, { devices.values({ 1.0, 0 / 0, 2.0, 3.0 }, "float64"), out })
    assert.same({ 9, 9, 9, 9 }, devices.table(out))
  end)

  it("gives an item his own value where a wavefront has no such lane", function()
    local k = roc.kernel(function(out)
      local i = roc.get_global_id(1)
      out[i][1] = roc.wave.shuffle(i * 10, 20)
      out[i][2] = roc.wave.broadcast(i * 10, 20)
      out[i][3] = roc.wave.shuffle_down(i * 10, 3)
      out[i][4] = roc.wave.shuffle_up(i * 10, 3)
      out[i][5] = roc.wave.shuffle_xor(i * 10, 4)
      out[i][6] = roc.ds_bpermute(i + 3, i * 10)
      out[i][7] = roc.wave.shuffle(i * 10, math.mininteger)
      if roc.wave.broadcast(i, 20) > 3 then out[i][8] = 1 end
    end, { name = "moves" })
    for _, workgroup in ipairs { 5, 8, 70 } do
      local out = devices.zeros({ 5, 8 }, "int64")
      devices.run(k, 5, { out }, workgroup)
      assert.same({
        { 10, 10, 40, 10, 50, 40, 10, 0 }, { 20, 20, 50, 20, 20, 50, 20, 0 },
        { 30, 30, 30, 30, 30, 30, 30, 0 }, { 40, 40, 40, 10, 40, 40, 40, 1 },
        { 50, 50, 50, 20, 10, 50, 50, 1 },
      }, devices.table(out))
    end
  end)

  -- Lanes that have failed keep the index in a register until the record is written.
  it("tells the index that failed before others reduced", function()
    local k = devices.kernel([[function(out, more, line)
      local i = roc.get_global_id(1)
      local found = 1
      for at = i - 1, #line, roc.get_global_size(1) do found = line[at] end
      out[i][found % 3 + 1] = roc.get_local_id(1)
      more[i] = 1
      out[i][2] = roc.wave.sum(out[i][i % 3 + 1])
    end]])
    local args = { devices.zeros({ 37, 3 }, "int64"), devices.zeros(37, "float64"),
      devices.zeros(100, "int64") }
    local ok, err = pcall(devices.run, k, 37, args, 33)
    assert.is_false(ok)
    assert.matches("index 0 out of range 1..100 of 'line' (work-item {1})", tostring(err), 1, true)
  end)

  -- Item 1 may leave the loop for the record that he then writes behind the barrier.
  it("tells the extent of the array that failed after a loop", function()
    local k = devices.kernel([[function(x, out, more)
      local id, lid, size = roc.get_global_id(1), roc.get_local_id(1), roc.get_local_size(1)
      local block = roc.shared.array(0, "int32", 64)
      if lid == 1 then
        local i = 0
        while i < size do
          local k = i % 256 + 1
          block[k] = k
          i = i + 1
        end
      end
      roc.barrier()
      out[id] = x[lid - lid]
      if id <= #x then more[id] = more[id] + x[lid] end
    end]])
    local args = { devices.zeros(1, "int16"), devices.zeros(1, "int16"), devices.zeros(1, "int16") }
    local ok, err = pcall(function()
      k:launch({ grid = 1, workgroup = 70, shared = 4096 }, table.unpack(args))
      roc.current_device():synchronize()
    end)
    assert.is_false(ok)
    assert.matches("index 0 out of range 1..1 of 'x' (work-item {1})", tostring(err), 1, true)
  end)

  if device.kind == "sim" then
    it("shows on sim a read of dynamic shared memory that was never written", function()
      local k = roc.kernel(function(out) out[1] = roc.shared.array(0, roc.int32)[2] end)
      local out = devices.zeros(1, "int32")
      k:launch({ grid = 1, workgroup = 1, shared = 8 }, out)
      assert.equal(0x5a5a5a5a, out[1])
    end)
  end

  it("gives a lane that nobody pushes to nothing of the value's type", function()
    local k = roc.kernel(function(out, x)
      local i = roc.get_global_id(1)
      local pushed, number = roc.ds_permute(1, i > 0), roc.ds_permute(1, x[i])
      out[i] = pushed and number or number - 1
    end)
    local out = devices.zeros(3, "float32")
    devices.run(k, 3, { out, devices.values({ 5, 6, 7 }, "float32") })
    assert.same({ 7.0, -1.0, -1.0 }, devices.table(out))
  end)

  it("adds up what one lane gets when all push a constant to it", function()
    local k = roc.kernel(function(out)
      local lane = roc.get_local_id(1)
      local sum = roc.shared.array(1, "int64")
      local pushed = roc.ds_permute(3, 1)
      if lane == 1 then sum[1] = 0 end
      roc.barrier()
      roc.atomic.add(sum, 1, pushed)
      roc.barrier()
      out[lane] = sum[1] * 10 + pushed
    end)
    local out = devices.zeros(9, "int64")
    devices.run(k, 9, { out }, 9)
    assert.same({ 10, 10, 11, 10, 10, 10, 10, 10, 10 }, devices.table(out))
  end)

  it("votes, shuffles and reduces over a wavefront", function()
    local k = roc.kernel(function(out)
      local i, lane = roc.get_global_id(1), roc.lane_id()
      out[i][1] = roc.wave.sum(i)
      out[i][2] = roc.wave.min(100 - i)
      out[i][3] = roc.wave.max(i)
      out[i][4] = roc.wave.ballot(i % 3 == 0)
      out[i][5] = roc.wave.any(i == 5) and 1 or 0
      out[i][6] = roc.wave.all(i < 1000) and 1 or 0
      out[i][7] = roc.wave.shuffle(i * 2, 3)
      out[i][8] = roc.wave.shuffle_up(i, 1)
      out[i][9] = roc.wave.shuffle_down(i, 2)
      out[i][10] = roc.wave.shuffle_xor(i, 1)
      out[i][11] = roc.wave.broadcast(i, 4)
      out[i][12] = lane
      out[i][13] = roc.ds_bpermute(lane + 1, i)
      out[i][14] = roc.ds_permute(lane + 1, i)
    end)
    local n = 32 -- one wavefront on every device, whatever its width
    local out = devices.zeros({ n, 14 }, "int64")
    devices.run(k, n, { out }, n)
    local got = devices.table(out)
    local ballot = 0
    for i = 3, n, 3 do
      ballot = ballot | 1 << (i - 1)
    end
    for i = 1, n do
      local below = i + 2
      if below > n then -- beyond the wavefront it is its own; else a lane that no item has: any
        below = roc.current_device().wavefront_size == n and i or got[i][9]
      end
      assert.same({
        n * (n + 1) // 2, 100 - n, n, ballot, 1, 1, 6, i == 1 and 1 or i - 1,
        below, ((i - 1) ~ 1) + 1, 4, i,
      }, table.move(got[i], 1, 12, 1, {}))
      if i < n then
        assert.equal(i + 1, got[i][13])
      end
      if i > 1 then
        assert.equal(i - 1, got[i][14])
      end
    end
  end)

  -- The reductions of a wavefront, in the order that the kernel language states; nil: has returned.
  local function reduced(values, width, combine, nothing)
    local level = {}
    for lane = 1, width do level[lane] = values[lane] or nothing end
    while #level > 1 do
      local pairs_of_lanes = {}
      for i = 1, #level, 2 do
        pairs_of_lanes[#pairs_of_lanes + 1] = combine(level[i], level[i + 1])
      end
      level = pairs_of_lanes
    end
    return level[1]
  end

  for _, name in ipairs { "float32", "float64", "int64" } do
    if not (device.raw and name == "float32") then -- else: rounds nothing to float32
      it(("reduces %s over neighbours first, after returns, too"):format(name), function()
        local dtype = roc[name]
        local k = roc.kernel(function(x, out, skipped)
          local i = roc.get_global_id(1)
          if i % skipped == 0 then return end
          out[i][1] = roc.wave.sum(x[i])
          out[i][2] = roc.wave.min(x[i])
          out[i][3] = roc.wave.max(x[i])
        end, { contract = false })
        local is_int, n = name == "int64", 150
        local x = devices.zeros(n, name)
        for i = 1, n do
          local value = math.sin(i * 12.9898) * 43758.5453 * 10.0 ^ (i % 7 - 3)
          x[i] = is_int and math.floor(value) << (i % 40) or dtype(value)
        end
        local width = roc.current_device().wavefront_size
        local kinds = {
          { function(a, b) return dtype(a + b) end, is_int and 0 or -0.0 },
          { function(a, b) return b < a and b or a end, is_int and math.maxinteger or math.huge },
          { function(a, b) return a < b and b or a end, is_int and math.mininteger or -math.huge },
        }
        for _, skipped in ipairs { 1000, 2, 3, 17 } do
          local out = devices.zeros({ n, 3 }, name)
          devices.run(k, n, { x, out, skipped }, 128)
          local got = devices.table(out)
          for first = 1, n, width do
            local lanes, last = {}, math.min(first + width - 1, n)
            for i = first, last do
              if i % skipped ~= 0 then lanes[i - first + 1] = x[i] end
            end
            for column, kind in ipairs(kinds) do
              local expected = reduced(lanes, width, kind[1], kind[2])
              for i = first, last do
                assert.equal(i % skipped ~= 0 and expected or 0, got[i][column])
              end
            end
          end
        end
      end)
    end
  end

  it("lets wavefronts take different ways around a wave operation", function()
    local k = roc.kernel(function(out)
      local lid = roc.get_local_id(1)
      local wave = (lid - 1) // roc.wavefront_size()
      if wave == 0 then
        out[lid] = roc.wave.sum(1)
      else
        out[lid] = -1
      end
    end)
    local out = devices.zeros(128, "int64")
    devices.run(k, 128, { out }, 128)
    local width = roc.current_device().wavefront_size
    for i = 1, 128 do
      assert.equal(i <= width and width or -1, out[i])
    end
  end)

  -- Each value is the same for all items of a group, and differs from group to group.
  it("has variables that change between barriers", function()
    local k = roc.kernel(function(x, out)
      local t = roc.shared.array(64, "int64")
      local i, l, g = roc.get_global_id(1), roc.get_local_id(1), roc.get_group_id(1)
      local from, to, s, turns = g, g + 10, 32, 0
      local sum = 0
      for k = i, #x, roc.get_global_size(1) do sum = sum + x[k] end
      if g == 3 then return end
      if l == 64 and g == 2 then return end
      while true do
        local before = from
        t[l] = sum + from
        roc.barrier()
        from, to = to, from
        if s == 0 then break end
        local other = t[65 - l - (g == 2 and l < 64 and 1 or 0)]
        roc.barrier()
        if s % 8 == 0 then s = s // 2 elseif g > 1 then s = s - s // 2 - (s == 1 and 1 or 0) else
          s = s // 4
        end
        sum = sum + other * before + to
        turns = turns + 1
        if turns > 4 and g == 4 then return end
      end
      out[i] = sum * 1000 + from * 100 + turns * 10 + s
    end)
    local x = devices.zeros(1000, "int64")
    for i = 1, 1000 do x[i] = i * 7 % 13 end
    local out = devices.zeros(256, "int64")
    devices.run(k, 256, { x, out }, 64)
    for g = 1, 4 do
      local sum, from, to, s, turns = {}, g, g + 10, 32, 0
      local nitems = g == 2 and 63 or 64
      for l = 1, 64 do
        sum[l] = 0
        for i = (g - 1) * 64 + l, 1000, 256 do sum[l] = sum[l] + i * 7 % 13 end
      end
      while g < 3 do
        local t, before = {}, from
        for l = 1, nitems do t[l] = sum[l] + from end
        from, to = to, from
        if s == 0 then break end
        if s % 8 == 0 then s = s // 2 elseif g > 1 then s = s - s // 2 - (s == 1 and 1 or 0) else
          s = s // 4
        end
        for l = 1, nitems do sum[l] = sum[l] + t[nitems + 1 - l] * before + to end
        turns = turns + 1
      end
      for l = 1, 64 do
        local expected = g < 3 and l <= nitems and sum[l] * 1000 + from * 100 + turns * 10 + s or 0
        assert.equal(expected, out[(g - 1) * 64 + l])
      end
    end
  end)

  it("loads the border of a tile by single items", function()
    local k = roc.kernel(function(x, out)
      local t = roc.shared.array({ 6, 10 }, "int32")
      local c, r = roc.get_local_id(1) + 1, roc.get_local_id(2) + 1
      local j, i = roc.grid(2)
      local m, n = x.shape[1], x.shape[2]
      local own = 0
      if i <= m and j <= n then
        t[r][c] = x[i][j]
        if c == 2 then t[r][1] = j > 1 and x[i][j - 1] or 0 end
        if c == 9 then t[r][10] = j < n and x[i][j + 1] or 0 end
        if r == 2 then t[1][c] = i > 1 and x[i - 1][j] or 0 end
        if c == 4 and r == 3 then own = 1000 end
        if r == 5 then t[6][c] = i < m and x[i + 1][j] or 0 end
        own = own + t[r][c] * 10
      end
      roc.barrier()
      if i <= m and j <= n then
        out[i][j] = own + t[r - 1][c] + t[r + 1][c] + t[r][c - 1] + t[r][c + 1]
      end
    end)
    local m, n = 8, 24
    local x, out = devices.zeros({ m, n }, "int32"), devices.zeros({ m, n }, "int32")
    local function value(i, j)
      return i >= 1 and i <= m and j >= 1 and j <= n and (i * 31 + j * 7) % 100 or 0
    end
    for i = 1, m do for j = 1, n do x[i][j] = value(i, j) end end
    k:launch({ grid = { n, m }, workgroup = { 8, 4 } }, x, out)
    for i = 1, m do
      for j = 1, n do
        local own = j % 8 == 3 and i % 4 == 2 and 1000 or 0
        assert.equal(own + value(i, j) * 10 + value(i - 1, j) + value(i + 1, j) + value(i, j - 1)
          + value(i, j + 1), out[i][j])
      end
    end
  end)

  it("runs every group of a large grid exactly once", function()
    local k = roc.kernel(function(out)
      local i = roc.get_global_id(1)
      out[i] = out[i] + 1
    end)
    local n = device.kind == "sim" and 300 or 100000
    local out = devices.zeros(n, "int32")
    devices.run(k, n, { out }, 64)
    assert.equal(n, count(devices.table(out)))
  end)
end)
