-- The collector of the interpreter: garbage with finalizers does not pile up.
local shell = require "support.shell"

local SCRIPT = [[
local roc = require "roc"
local big, most = roc.zeros(100000), 0
local function slices(j)
  return big:slice(1, j * 100, j * 100 + 2000)
end
local function registrations(j)
  return roc.register(slices(j))
end
for _, make in ipairs { slices, registrations } do
  for _ = 1, 6 do
    collectgarbage()
    collectgarbage()
    for i = 1, 3000 do
      local t = {}
      for j = 1, 32 do t[j] = make(j) end
      if make == registrations then
        for j = 1, 32 do t[j]:close() end
      end
      if i % 10 == 0 then most = math.max(most, collectgarbage("count")) end
    end
  end
end
print(most < 3000 and "bounded" or most)
]]

describe("the interpreter's collector", function()
  if not shell.interpreter then return pending("not run by roclua") end

  it("keeps the garbage of views and registrations at a few times what is alive", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(SCRIPT)
    file:close()
    local output, status = shell.run("timeout 200 ROCLUA --device null " .. path)
    os.remove(path)
    assert.equal("bounded\n", output)
    assert.equal(0, status)
  end)
end)
