-- Fills and copies of blocks that no cache holds (base/bulk.c): whole lines past the caches, and
-- what stands before and after them.
local roc = require "roc"

local SIZE = (17 << 20) + 5 -- elements of one byte

-- Elements near the ends, where shares meet, and here and there.
local function some_of(n)
  local at = {}
  for i = 1, 70 do at[#at + 1], at[#at + 2] = i, n - i + 1 end
  for i = 1 << 20, n - 2, 1 << 20 do
    for k = -1, 2 do at[#at + 1] = i + k end
  end
  for i = 1, n, 65537 do at[#at + 1] = i end
  return at
end

describe("a large block", function()
  local FILLS = { uint8 = 7, int16 = -2, float32 = 1.25, int64 = 0x0102030405060708,
    float64 = -0.1, bool = true }
  for dtype, value in pairs(FILLS) do
    local first = 3 -- not at the begin of a line
    it("is filled with one " .. dtype .. ", and nothing beside it", function()
      local n = SIZE // roc[dtype].itemsize + first + 1
      local make = { function(k) return roc.zeros(k, dtype) end,
        function(k) return roc.to_device(roc.zeros(k, dtype)) end }
      for _, new in ipairs(make) do
        local whole = new(n)
        whole:slice(1, first, n - 1):fill(value)
        local host = whole.device and whole:copy_to_host() or whole
        local zero = 0
        if dtype == "bool" then zero = false end
        assert.equal(zero, host[first - 1])
        assert.equal(zero, host[n])
        for _, i in ipairs(some_of(n - first)) do
          assert.equal(roc.array({ value }, dtype)[1], host[i + first - 1])
        end
      end
    end)
  end

  it("is copied on the host, a part by each thread", function()
    local range = roc.range(1, SIZE):astype("int32")
    local copy = range:slice(1, 4, SIZE):copy()
    for _, i in ipairs(some_of(SIZE - 3)) do assert.equal(i + 3, copy[i]) end
  end)

  it("is filled and copied by a stream, as by one thread", function()
    local stream <close> = roc.stream()
    local n = SIZE // 4
    local a = roc.to_device(roc.range(1, n):astype("int32"))
    local b = roc.to_device(roc.zeros(n, "int32"))
    b:fill(9, stream)
    b:slice(1, 4, n):copy_from_host(a:copy_to_host():slice(1, 1, n - 3), stream)
    stream:synchronize()
    local host = b:copy_to_host()
    for i = 1, 3 do assert.equal(9, host[i]) end
    for _, i in ipairs(some_of(n - 3)) do assert.equal(i, host[i + 3]) end
  end)
end)
