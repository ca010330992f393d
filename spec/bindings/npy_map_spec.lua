-- .npy files that stay where they are: roc.load(path, {map = …}).
local roc = require "roc"
local core = require "roc.core"
local devices = require "support.devices"

local path = os.tmpname()

teardown(function() os.remove(path) end)

local function write_file(bytes)
  local file <close> = assert(io.open(path, "wb"))
  file:write(bytes)
end

-- A file with this header text, padded to end at that byte, and these element bytes.
local function npy(header, at, elements)
  local text = header .. (" "):rep(at - 10 - #header)
  return "\x93NUMPY\1\0" .. ("<s2"):pack(text) .. elements
end

local HEADER = "{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }"

describe("roc.load with map", function()
  it("gives what reading gives, of every dtype and order", function()
    for _, name in ipairs { "bool", "int8", "uint16", "int32", "uint64", "float16", "float32",
      "float64" } do
      local a = roc.rng(1):integers(0, 1, { 3, 5, 7 }):astype(name)
      for _, given in ipairs { a, a:transpose(), a:slice(1, 1, 0) } do
        roc.save(path, given)
        local read = roc.load(path)
        for _, mode in ipairs { "read", "copy", "write" } do
          local mapped = roc.load(path, { map = mode })
          assert.same({ read.shape, read.strides, read.dtype },
            { mapped.shape, mapped.strides, mapped.dtype })
          assert.is_true(roc.array_equal(read, mapped))
        end
      end
    end
  end)

  it("refuses writes of what may only be read", function()
    roc.save(path, roc.range(1, 6):reshape(2, 3))
    local a = roc.load(path, { map = "read" })
    assert.error_matches(function() a[1][2] = 9 end, "read%-only")
    assert.error_matches(function() a:fill(0) end, "read%-only")
    assert.error_matches(function() a[{ {}, 1 }] = 3 end, "read%-only")
    assert.error_matches(function()
      roc.kernel(function(x) x[1][1] = 1 end)[{ 1, 1 }](a)
    end, "read%-only")
    assert.same({ { 1, 2, 3 }, { 4, 5, 6 } }, roc.load(path):totable())
    local b = a:copy()
    b[1][1] = 7
    assert.equal(1, a[1][1])
  end)

  it("keeps what is written in memory, or puts it into the file", function()
    roc.save(path, roc.range(1, 4))
    local own = roc.load(path, { map = "copy" })
    own[2] = -20
    own[own:gt(3)] = 40
    assert.same({ 1, -20, 3, 40 }, own:totable())
    assert.same({ 1, 2, 3, 4 }, roc.load(path):totable())
    local shared = roc.load(path, { map = "write" })
    shared[1] = 10
    roc.kernel(function(x) x[4] = x[1] + 1 end)[{ 1, 1 }](shared)
    assert.same({ 10, 2, 3, 11 }, shared:totable())
    assert.same({ 10, 2, 3, 11 }, roc.load(path):totable())
  end)

  it("outlives the file's name and its replacement", function()
    roc.save(path, roc.range(1, 4))
    local a = roc.load(path, { map = "read" })
    local part = a:slice(1, 2, 3)
    roc.save(path, roc.zeros(4))
    assert.same({ 1, 2, 3, 4 }, a:totable())
    os.remove(path)
    a = nil -- luacheck: ignore 311
    collectgarbage()
    assert.same({ 2, 3 }, part:totable())
  end)

  it("gives its memory back with the last view", function()
    local function mappings()
      local count = 0
      for line in io.lines "/proc/self/maps" do
        if line:find(path, 1, true) then count = count + 1 end
      end
      return count
    end
    roc.save(path, roc.range(1, 4))
    local view = roc.load(path, { map = "read" }):slice(1, 1, 2)
    collectgarbage()
    assert.equal(1, mappings())
    assert.equal(3, view:sum())
    view = nil -- luacheck: ignore 311
    collectgarbage()
    assert.equal(0, mappings())
  end)

  it("says why a file cannot be mapped, and leaves nothing open", function()
    local header = HEADER:format("<f8", 1)
    for pattern, bytes in pairs {
      ["has elements in the other byte order; load it without map"] =
        npy(HEADER:format(">f8", 1), 128, ("\0"):rep(8)),
      ["has elements from byte 123 on, no multiple of their 8 bytes; load it without map"] =
        npy(header, 123, ("\0"):rep(8)),
      ["has booleans that are neither 0 nor 1; load it without map"] =
        npy(HEADER:format("|b1", 3), 128, "\0\1\2"),
      ["is cut short"] = npy(header, 128, "\0"),
      ["is no .npy file"] = "PK\3\4and so on",
    } do
      write_file(bytes)
      for _, mode in ipairs { "read", "copy", "write" } do
        local live = core.testing.live_blocks()
        assert.error_matches(function() roc.load(path, { map = mode }) end, pattern)
        collectgarbage()
        assert.equal(live, core.testing.live_blocks())
      end
    end
    assert.error_matches(function() roc.load("/no/such", { map = "read" }) end,
      "cannot open '/no/such'")
    assert.error_matches(function() roc.load(path, { map = true }) end,
      "map must be \"read\", \"copy\" or \"write\"")
    assert.error_matches(function() roc.load(path, { map = "read", header = false }) end,
      "map goes with no other option")
  end)

  devices.each(function()
    it("is an operand", function()
      local given = roc.rng(2):uniform({ 30, 40 }, "float32")
      roc.save(path, given)
      local a = roc.load(path, { map = "read" })
      assert.is_true(roc.array_equal(given * 2 + given, a * 2 + a))
      assert.equal(given:sum(), a:sum())
      local d = roc.to_device(a)
      assert.is_true(roc.array_equal(given, d:copy_to_host()))
      local out = roc.zeros(30, "float32")
      roc.kernel(function(x, y)
        local i = roc.get_global_id(1)
        if i <= #y then y[i] = x[i][40] end
      end):forall(30)(roc.In(a), out)
      for i = 1, 30 do assert.equal(given[i][40], out[i]) end
    end)
  end)
end)
