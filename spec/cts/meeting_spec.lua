-- Barriers and wave operations that not all work-items reach are reported, on every device; what
-- all reach that have not returned runs.
local roc = require "roc"
local asserted = require "support.asserted"
local devices = require "support.devices"

local function pass_barrier(x) roc.barrier() return x + 1 end
local function return_before(x) if x > 10 then return 0 end roc.barrier() return x + 1 end
local function return_after(x) roc.barrier() if x > 10 then return 0 end return 5 end
local function return_between(x)
  for k = 1, 3 do
    roc.barrier()
    if x == k then return k end
  end
  return 9
end
local function sum_of(x) return roc.wave.sum(x) end
local function sum_and_return(x)
  local s = roc.wave.sum(x)
  if x > 10 then return 0 end
  return s
end

local ENV = {
  roc = roc, math = math, error = error,
  pass_barrier = pass_barrier, return_before = return_before, return_after = return_after,
  return_between = return_between, sum_of = sum_of, sum_and_return = sum_and_return,
}

-- Each is the body of a kernel of `o` (an element per item), `m` = {4, 4, 4} and `n` = 4, run by
-- a group of 128. Those marked `structure` take a look at the statements, which raw sim does not.
local BARRIERS = {
  { "if lid <= 10 then roc.barrier() end o[i] = 1" },
  { "if lid <= 64 then roc.barrier() end o[i] = 1" },
  { "if lid <= 64 then roc.barrier() end o[i] = 1 return" },
  { "if lid <= 10 then\nroc.barrier()\nend\no[i] = 1" },
  { "if lid <= 10 then roc.barrier() else roc.barrier() end o[i] = 1" },
  { "if lid <= 64 then roc.barrier() else roc.barrier() end o[i] = 1" },
  { "if m[1] == 4 and lid > 3 then roc.barrier() end o[i] = 1" },
  { "for k = 1, lid do roc.barrier() end o[i] = 1" },
  { "for k = 1, 1 + lid // 65 do roc.barrier() end o[i] = 1" },
  { "for k = 1, 128 do if k ~= lid then roc.barrier() end end o[i] = 1", structure = true },
  { "local k = 0 while k < lid do roc.barrier() k = k + 1 end o[i] = 1" },
  { "local k = 0 repeat roc.barrier() k = k + 1 until k >= lid o[i] = 1" },
  { "for k = 1, 10 do if k == lid then break end roc.barrier() end o[i] = 1" },
  { "for k = 1, 9 do roc.barrier() if k == lid then break end end o[i] = 1" },
  { "for k = 1, 10 do if k == lid then goto c end roc.barrier() ::c:: end o[i] = 1",
    structure = true },
  { "local t = lid < 5 and pass_barrier(2) > 1 o[i] = t and 1 or 0" },
  { "local t = lid < 5 or pass_barrier(2) > 1 o[i] = t and 1 or 0" },
  { "if lid < 9 then o[i] = pass_barrier(1) else o[i] = pass_barrier(2) end" },
  { "o[i] = return_before(lid)" },
  { "o[i] = return_between(lid)" },
  { "for k = 1, 9 do if roc.wave.any(lid == 3) then break end roc.barrier() end o[i] = 1" },
}

local WAVES = {
  { "if lid <= 10 then o[i] = roc.wave.sum(lid) end" },
  { "if lid <= 10 then o[i] = roc.wave.sum(lid) else o[i] = roc.wave.sum(lid) end" },
  { "if lid <= 10 then o[i] = sum_of(lid) end" },
  { "if lid <= 10 and roc.wave.any(lid == 3) then o[i] = 1 end" },
  { "if lid <= 10 or roc.wave.all(lid == 3) then o[i] = 1 end" },
  { "if lid <= 10 then roc.wavebarrier() end o[i] = 1" },
  { "for k = 1, lid do o[i] = roc.wave.sum(k) end" },
  { "for k = 1, lid // 3 do o[i] = roc.wave.ballot(k == 2) end" },
  { "local k = 0 while k < lid do k = k + 1 o[i] = roc.wave.max(k) end" },
  { "local k = 0 while roc.wave.any(k < lid) do k = k + 1 if k == 2 and lid == 3 then break end "
    .. "end" },
  { "if lane % 2 == 0 then o[i] = roc.wave.shuffle_xor(lid, 1) end" },
  { "if lane < 3 then o[i] = roc.wave.broadcast(lid, 1) end" },
  { "if lane < 3 then o[i] = roc.ds_permute(lane, lid) end" },
  { "if lane > 3 then o[i] = roc.ds_bpermute(lane, lid) end" },
  { "if lane > 3 then o[i] = roc.activelanepermute_wavewidth(lid, 2, 0, false) end" },
  { "if lid == 2 then o[i] = roc.wave.min(lid) end", grid = 3 },
  { "if i == 200 then o[i] = roc.wave.min(lid) end", grid = 200 },
}

-- What each gives: a function of an item's local id, the wavefront's width and the group's items.
local function sum(first, last) return (first + last) * (last - first + 1) // 2 end
-- Of the items 1 … last, the sum of the ids in the wavefront of `lid`.
local function wave_sum(lid, w, last)
  local first = (lid - 1) // w * w + 1
  return sum(first, math.min(first + w - 1, last))
end

local LEGAL = {
  { "if lid > 10 then return end roc.barrier() o[i] = roc.wave.sum(lid)",
    function(lid, w) return lid > 10 and 0 or wave_sum(lid, w, 10) end },
  { "if lid > 64 then return end roc.barrier() o[i] = roc.wave.sum(lid)",
    function(lid, w) return lid > 64 and 0 or wave_sum(lid, w, 64) end },
  { "for k = 1, 3 do roc.barrier() if lid == k then o[i] = k return end end o[i] = 7",
    function(lid) return lid <= 3 and lid or 7 end },
  { "for k = 1, 3 do if lid == k then o[i] = k return end roc.barrier() end o[i] = 7",
    function(lid) return lid <= 3 and lid or 7 end },
  { "if lid <= roc.wavefront_size() then o[i] = roc.wave.sum(lid) end",
    function(lid, w) return lid <= w and wave_sum(lid, w, 128) or 0 end },
  { "for k = 1, (lid - 1) // roc.wavefront_size() do o[i] = o[i] + roc.wave.max(k) end",
    function(lid, w) return sum(1, (lid - 1) // w) end },
  { "if n > 3 then roc.barrier() end for k = 1, n do roc.barrier() o[i] = roc.wave.min(k) end",
    function() return 4 end },
  { "if m[1] > 3 then roc.barrier() end for k = 1, m[1] do roc.barrier() m[3] = 4 o[i] = k end",
    function() return 4 end },
  { "o[i] = sum_and_return(lid)",
    function(lid, w) return lid > 10 and 0 or wave_sum(lid, w, 128) end },
  { "o[i] = return_after(lid) + return_after(lid)",
    function(lid) return lid > 10 and 0 or 10 end },
  { "for k = lid, lid + 256, 128 do o[i] = o[i] + k roc.barrier() end",
    function(lid) return 3 * lid + 3 * 128 end },
  { "for k = lid * 10, lid, -lid do roc.barrier() if k == 20 then o[i] = 2 end end",
    function(lid) return 20 % lid == 0 and 20 // lid <= 10 and 20 >= lid and 2 or 0 end },
  { "for k = 1, 3 do roc.barrier() if lid == k then goto c end o[i] = o[i] + k ::c:: end",
    function(lid) return 6 - (lid <= 3 and lid or 0) end },
  { "for k = 1, 3 do if lid == k then goto c end o[i] = o[i] + k ::c:: roc.barrier() end",
    function(lid) return 6 - (lid <= 3 and lid or 0) end },
  { "roc.barrier() roc.barrier() o[i] = roc.wave.sum(lane) - roc.wave.sum(lane)",
    function() return 0 end },
  { "local k = 0 while roc.wave.any(k < lid) do k = k + 1 end o[i] = k",
    function(lid, w) return (lid - 1) // w * w + w end },
  { "for k = 1, 9 do roc.barrier() if k == n then break end o[i] = k end",
    function() return 3 end },
  { "roc.barrier() o[i] = roc.wave.max(lid)", grid = 200,
    function(lid, w, items) return math.min((lid - 1) // w * w + w, items) end },
}

devices.each(function(device)
  local function run(case)
    local k = devices.kernel("function(o, m, n) local lid, lane, i = roc.get_local_id(1), "
      .. "roc.lane_id(), roc.get_global_id(1) " .. case[1] .. " end", { env = ENV })
    local count = case.grid or 128
    local o = devices.zeros(count, "int64")
    devices.run(k, count, { o, devices.values({ 4, 4, 4 }, "int64"), 4 }, 128)
    return devices.table(o)
  end

  local function check_all(cases, expected)
    for _, case in ipairs(cases) do
      if not (device.raw and case.structure) then
        local ok, message = pcall(run, case)
        assert.is_false(ok, case[1])
        if not tostring(message):find(expected, 1, true) then
          assert.equal(expected, tostring(message), case[1])
        end
      end
    end
  end

  it("reports barriers that not all work-items reach", function()
    check_all(BARRIERS, ": barrier in divergent control flow (work-item {")
  end)

  it("reports wave operations that not all of the wavefront reach", function()
    check_all(WAVES, ": wave operation in divergent control flow (work-item {")
  end)

  it("runs what all reach that have not returned", function()
    local width = roc.current_device().wavefront_size
    for _, case in ipairs(LEGAL) do
      for i, got in ipairs(run(case)) do
        local lid, items = (i - 1) % 128 + 1, i > 128 and 72 or 128
        local expected = case[2](lid, width, items)
        asserted.check(expected == got, 1, "item %d of %s: %s, not %s", i, case[1], got, expected)
      end
    end
  end)

  it("runs groups all, some and none of whose items return before a barrier", function()
    local k = roc.kernel(function(o, n, m)
      local t = roc.shared.array({ 4, 8 }, "int32")
      local i, j, x, y = roc.get_global_id(1), roc.get_global_id(2), roc.get_local_id(1),
        roc.get_local_id(2)
      t[y][x] = 10 * j + i
      if i > n then return end
      o[j][i] = -1
      roc.barrier()
      if i <= 2 or j > m then o[j][i] = t[y][x] + 1 return end
      local sum = 0
      for k = 1, 3 do
        sum = sum * 3 + t[y][(x + k) % 8 + 1]
        roc.barrier()
      end
      o[j][i] = sum
    end)
    for _, case in ipairs { { 16, 8 }, { 8, 8 }, { 11, 5 }, { 0, 9 }, { 16, 0 } } do
      local n, m = table.unpack(case)
      local out = roc.to_device(roc.zeros({ 8, 16 }, "int32"))
      k:launch({ grid = { 16, 8 }, workgroup = { 8, 4 } }, out, n, m)
      for j = 1, 8 do
        for i = 1, 16 do
          local want, first = 0, (i - 1) // 8 * 8
          for r = 1, 3 do want = want * 3 + 10 * j + first + (i - first + r) % 8 + 1 end
          if i <= 2 or j > m then want = 10 * j + i + 1 end
          if i > n then want = 0 end
          asserted.check(out[j][i] == want, 1, "row %d, column %d of %d, %d", j, i, n, m)
        end
      end
    end
  end)

  it("counts an item that has failed as returned", function()
    local ok, message = pcall(run, {
      "if lid == 3 then error('third') end roc.barrier() o[i] = roc.wave.sum(lid)",
    })
    assert.is_false(ok)
    assert.matches(": third (work-item {3})", tostring(message), 1, true)
  end)

  it("names the statement, or on a raw device the operation", function()
    local ok, message = pcall(run, { "o[i] = 1\nif lid < 5 then\n  roc.barrier()\nend" })
    assert.is_false(ok)
    local line = device.raw and 3 or 2
    assert.matches((":%d: barrier in divergent"):format(line), tostring(message), 1, true)
  end)

  it("keeps shared memory apart from what groups agree by", function()
    local k = devices.kernel([[function(o, m)
      local fixed = roc.shared.array(128, "int64")
      local dynamic = roc.shared.array(0, "int64")
      local lid = roc.get_local_id(1)
      fixed[lid], dynamic[lid] = lid, 10 * lid
      for k = 1, m[1] do
        if m[2] == 4 then roc.barrier() end
        m[3] = 4
      end
      o[lid] = fixed[129 - lid] + dynamic[129 - lid] + #dynamic
    end]])
    local o = devices.zeros(128, "int64")
    k:launch({ groups = 1, workgroup = 128, shared = 128 * 8 }, o,
      devices.values({ 3, 4, 0 }, "int64"))
    for lid, got in ipairs(devices.table(o)) do
      assert.equal(11 * (129 - lid) + 128, got)
    end
  end)

  it("runs a kernel that takes all shared memory there is", function()
    local bytes = roc.current_device().shared_bytes
    local k = devices.kernel(([[function(o, m)
      local all = roc.shared.array(%d, "int32")
      local lid = roc.get_local_id(1)
      all[lid] = lid
      if m[1] == 3 then roc.barrier() m[2] = 1 end
      o[lid] = all[129 - lid]
    end]]):format(math.min(bytes, 65536) // 4))
    local o = devices.zeros(128, "int64")
    devices.run(k, 128, { o, devices.values({ 3, 4 }, "int64") }, 128)
    assert.equal(127, devices.table(o)[2])
  end)
end)
