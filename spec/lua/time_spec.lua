-- roc.time: the host's clock for scripts that measure.
local files = require "support.files"
local roc = require "roc"

describe("roc.time", function()
  it("is a float that never goes back", function()
    local before = roc.time()
    assert.are.equal("float", math.type(before))
    for _ = 1, 1000 do
      local now = roc.time()
      assert.is_true(now >= before)
      before = now
    end
  end)

  it("counts seconds that pass, those of a wait too", function()
    local start = roc.time()
    os.execute("sleep 0.2")
    local passed = roc.time() - start
    assert.is_true(passed >= 0.19 and passed < 60, passed)
  end)

  it("is finer than a millisecond", function()
    local start, ended = roc.time(), nil
    repeat ended = roc.time() until ended > start
    assert.is_true(ended - start < 1e-3 or roc.time() - ended < 1e-3)
  end)
end)

describe("examples and benches", function()
  it("require nothing but roc, and files in a folder of their own", function()
    local paths = files.list("examples", "%.lua$")
    table.move(files.list("bench", "%.lua$"), 1, 1e3, #paths + 1, paths)
    paths[#paths + 1] = "bench/startup.sh"
    local count = 0
    for _, path in ipairs(paths) do
      for module in files.read(path):gmatch("require[ (]*[\"']([^\"']+)") do
        count = count + 1
        local own = io.open(("%s/%s.lua"):format((path:gsub("%.lua$", "")), module))
          or io.open(("%s/%s.lua"):format(path:match "^(.*)/", module))
        assert.is_truthy(module == "roc" or module:find("^roc%.") or own,
          path .. " requires " .. module)
        if own then own:close() end
      end
    end
    assert.is_true(count > #paths)
  end)
end)
