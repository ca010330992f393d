-- Arrays with short rows whose elements a kernel takes by constants: what the CPU target makes of
-- them, and results for rows of that length and of others.
local roc = require "roc"
local devices = require "support.devices"

local function turned(p, o)
  local i = roc.get_global_id(1)
  if i > p.shape[1] then return end
  o[i][1], o[i][2], o[i][3] = p[i][3], p[i][1] + o[i][2], p[i][2]
end

local function in_columns(p, o)
  local i = roc.get_global_id(1)
  if i > p.shape[2] then return end
  for k = 1, 3 do o[4 - k][i] = p[k][i] + o[4 - k][i] end
end

local function nearest(p, c, o)
  local i = roc.get_global_id(1)
  if i > p.shape[1] then return end
  local best, at = math.huge, 0
  for k = 1, 16 do
    local x, y, z = p[i][1] - c[k][1], p[i][2] - c[k][2], p[i][3] - c[k][3]
    local d = x * x + y * y + z * z
    if d < best then best, at = d, k end
  end
  o[i] = at
end

local function llvm_of(f, signature, target)
  local k = roc.kernel(f, { signature = signature, check = false, number = "float32" })
  return k:inspect_llvm(target, "opt")
end

describe("arrays with short rows", function()
  for target, lanes in pairs { ["cpu:x86-64-v3"] = 8, ["cpu:x86-64-v4"] = 16 } do
    it("are read and written as they lie: " .. target, function()
      local llvm = llvm_of(turned, "(float32[:,:], float32[:,:])", target)
      local row = ("<%d x float>"):format(3 * lanes)
      assert.matches("load " .. row, llvm, 1, true)
      assert.matches("store " .. row, llvm, 1, true)
    end)

    it("become vectors though a loop stands around them: " .. target, function()
      local llvm = llvm_of(nearest, "(float32[:,:], float32[:,:], int32[:])", target)
      assert.matches(("fcmp olt <%d x float>"):format(lanes), llvm, 1, true)
    end)
  end

  devices.each(function(device)
    it("have the results of others on " .. device.label, function()
      local n = 70
      local function fill(a)
        for i = 1, a.shape[1] do
          for j = 1, a.shape[2] do a[i][j] = 10 * i + j end
        end
        return a
      end
      for _, case in ipairs { { 3, 3 }, { 4, 3 }, { 3, 5 }, { 7, 7 } } do
        local p = fill(roc.zeros({ n, case[1] }, "float32"))
        local o = fill(roc.zeros({ n, case[2] }, "float32"))
        roc.kernel(turned, { number = "float32" }):forall(n)(p, o)
        roc.current_device():synchronize()
        for i = 1, n do
          local row = { 10 * i + 3, 20 * i + 3, 10 * i + 2 }
          for j = 4, case[2] do row[j] = 10 * i + j end
          for j = 1, case[2] do assert.equal(row[j], o[i][j]) end
        end
      end
      for _, order in ipairs { "C", "F" } do
        local p = fill(roc.zeros({ 3, n }, "float32", order))
        local o = fill(roc.zeros({ 3, n }, "float32", order))
        roc.kernel(in_columns, { number = "float32" }):forall(n)(p, o)
        roc.current_device():synchronize()
        for i = 1, n do
          for k = 1, 3 do assert.equal(40 + 2 * i, o[k][i]) end
        end
      end
    end)

    it("report the element that is missing on " .. device.label, function()
      local p, o = roc.zeros({ 40, 2 }, "float32"), roc.zeros({ 40, 3 }, "float32")
      assert.error_matches(function()
        roc.kernel(turned, { number = "float32" }):forall(40)(p, o)
        roc.current_device():synchronize()
      end, "index 3 out of range 1..2 of 'p'")
    end)
  end)
end)
