-- Loops that store and whose checks are not proved: an item whose check fails does nothing after
-- it, the other items of its wavefront finish, and what was done before it stays
-- (ir/resumed_loops.h).
local roc = require "roc"
local devices = require "support.devices"

local ITEMS <const> = 70

local KERNELS = {
  ["is left between its checks"] = { [[function(first, step, y, n)
    local i = roc.get_global_id(1)
    local v, k = first[i], 0
    while step[v] ~= 0 do
      y[i] = y[i] + 100 * step[v] + k
      v, k = v + step[v] + n - n, k + 1
    end
    y[i] = y[i] + v
  end]], function(i, wrong)
    return i == wrong and 190 or i % 7 + 1, (i % 9 == 0 or i > 60) and 0 or i % 3 + 1
  end },
  ["is left at its end"] = { [[function(first, step, y, n)
    local i = roc.get_global_id(1)
    local k = 0
    repeat
      if k % 3 == i % 3 then y[first[i] + k] = y[first[i] + k] + i + k end
      k = k + 1
    until k > step[i] + n
  end]], function(i, wrong) return i == wrong and 563 or 8 * i - 7, i % 5 end },
  ["is broken off"] = { [[function(first, step, y, n)
    local i = roc.get_global_id(1)
    local at, tries = first[i], 0
    for k = 1, step[i] + n do
      if roc.atomic.cas(y, at, 0, i) == 0 and k > i % 4 then break end
      at, tries = at + 1, tries + k
    end
    y[first[i] + 7] = tries
  end]], function(i, wrong) return i == wrong and 565 or 8 * i - 7, i % 4 end },
  ["begins both branches with one check"] = { [[function(first, step, y, n)
    local i = roc.get_global_id(1)
    local o, k = first[i], 1
    while k <= n do
      if step[k] > i % 3 then y[o] = i + k else y[o] = -i end
      o, k = o + 1, k + 1
    end
  end]], function(i, wrong) return i == wrong and 566 or 8 * i - 7, i % 5 end },
  ["counts the same rounds for all"] = { [[function(first, step, y, n)
    local i = roc.get_global_id(1)
    for k = 1, n do
      local at = first[i] + k - 1
      y[at] = y[at] + step[i] * k
      if k == 2 then y[at] = y[at] + 7 end
    end
  end]], function(i, wrong) return i == wrong and -1 or 8 * i - 7, i % 5 end },
}

devices.each(function(device)
  for name, case in pairs(KERNELS) do
    local kernel = devices.kernel(case[1])

    -- what y holds afterwards, and the message
    local function run(wrong)
      local first, step = {}, {}
      for i = 1, ITEMS do first[i], step[i] = case[2](i, wrong) end
      local y = devices.zeros(8 * ITEMS + 7, "int32")
      local ok, message = pcall(devices.run, kernel, ITEMS, { devices.values(first, "int32"),
        devices.values(step, "int32"), y, 3 }, 64)
      return devices.table(y), not ok and tostring(message)
    end

    it("a loop that " .. name, function()
      for _, wrong in ipairs { 0, 1, 37, 64, 70 } do
        local y, message = run(wrong)
        roc.select_device("sim")
        local expected, expected_message = run(wrong)
        roc.select_device(device.name)
        assert.are.equal(expected_message, message, wrong)
        assert.are.same(expected, y, wrong)
      end
    end)
  end
end)
