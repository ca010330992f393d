-- Random calls of the host API end with the right values everywhere and all memory returned.
local roc = require "roc"
local soak = require "support.soak"
local testing = require("roc.core").testing

-- What is held once garbage is collected and the pools are empty.
local function held()
  for _, name in ipairs { "cpu", "sim" } do
    local _ <close> = roc.on_device(name)
    roc.current_device():synchronize()
  end
  collectgarbage()
  collectgarbage()
  roc.trim_memory()
  return { blocks = testing.live_blocks(), bytes = roc.memory_info().live }
end

describe("random calls", function()
  it("leave right values, and nothing behind", function()
    soak.run(1, { "cpu", "sim" }, function(count) return count == 3000 end) -- fills caches
    local before = held()
    for seed = 2, 4 do
      soak.run(seed, { "cpu", "sim" }, function(count) return count == 3000 end)
    end
    assert.same(before.bytes, held().bytes)
    assert.is_true(held().blocks <= before.blocks + 64, "caches grow")
  end)

  it("do so for ten minutes #slow", function()
    soak.run(1, { "cpu", "sim" }, function(count) return count == 3000 end)
    local before, start = held(), os.time()
    soak.run(2026, { "cpu", "sim" }, function(count)
      return count % 100 == 0 and os.difftime(os.time(), start) > 600
    end)
    assert.same(before.bytes, held().bytes)
    assert.is_true(held().blocks <= before.blocks + 64, "caches grow")
  end)
end)
