-- Work-items whose check fails between barriers of a loop: they do nothing more, and the others see
-- what they saw before, round after round (ir/late_exits.h).
local roc = require "roc"
local devices = require "support.devices"

local WORKGROUP <const>, GROUPS <const>, ROUNDS <const> = 96, 2, 5

-- Every work-item adds its neighbour's value, `step` places further, to its own.  `moves` makes the
-- neighbour of one of them a wrong one, in one round.
local function neighbours(step, moves, x, seen, rounds)
  local tile = roc.shared.array(96, "int32")
  local item, i = roc.get_local_id(1), roc.get_global_id(1)
  tile[item] = x[i]
  local k, width, sum = 1, step, 0
  while k <= rounds do
    roc.barrier()
    local at = (item + width - 1) % 96 + 1
    if i == moves[1] and k == moves[2] then at = moves[3] end
    sum = tile[at] + k
    seen[(k - 1) * 192 + i] = sum
    roc.barrier()
    tile[item] = tile[item] + sum
    width = width * 2
    k = k + 1
  end
  roc.barrier()
  x[i] = tile[96 - item + 1] + sum
end

-- The same in Lua; a dead item keeps the value that it had in shared memory.
local function expected(step, moves, rounds)
  local n = WORKGROUP * GROUPS
  local x, seen, sums, tile, dead = {}, {}, {}, {}, {}
  for i = 1, n do tile[i], sums[i], x[i] = 3 * i, 0, 3 * i end
  local width = step
  for k = 1, rounds do
    for i = 1, n do
      local base, item = (i - 1) // WORKGROUP * WORKGROUP, (i - 1) % WORKGROUP + 1
      local at = (item + width - 1) % WORKGROUP + 1
      if i == moves[1] and k == moves[2] then at = moves[3] end
      if at < 1 or at > WORKGROUP then dead[i] = true end
      if not dead[i] then sums[i] = tile[base + at] + k end
      seen[(k - 1) * n + i] = dead[i] and 0 or sums[i]
    end
    for i = 1, n do
      if not dead[i] then tile[i] = tile[i] + sums[i] end
    end
    width = width * 2
  end
  for i = 1, n do
    local base, item = (i - 1) // WORKGROUP * WORKGROUP, (i - 1) % WORKGROUP + 1
    if not dead[i] then x[i] = tile[base + WORKGROUP - item + 1] + sums[i] end
  end
  return x, seen, next(dead)
end

devices.each(function()
  local kernel = roc.kernel(neighbours, { workgroup = WORKGROUP })

  local function check(item, round, at)
    local n, moves, step = WORKGROUP * GROUPS, { item, round, at }, 1
    local want, want_seen, dead = expected(step, moves, ROUNDS)
    local values = {}
    for i = 1, n do values[i] = 3 * i end
    local x, seen = devices.values(values, "int32"), devices.zeros(ROUNDS * n, "int32")
    local ok, message = pcall(devices.run, kernel, n, { step, devices.values(moves, "int64"), x,
      seen, ROUNDS }, WORKGROUP)
    assert.equal(not dead, ok)
    if dead then
      assert.matches(("index %d out of range 1..96 of "):format(at),
        tostring(message), 1, true)
      assert.matches(("(work-item {%d})"):format(item), tostring(message), 1, true)
    end
    assert.same(want, devices.table(x))
    assert.same(want_seen, devices.table(seen))
  end

  it("does all rounds where every index is right", function() check(0, 0, 0) end)

  it("goes on without the work-item, and reports it", function()
    for _, item in ipairs { 1, 64, 65, 96, 150 } do check(item, 2, 97) end
    check(40, 1, 0)
    check(40, ROUNDS, -5)
    check(40, 3, 1 << 40)
  end)
end)
