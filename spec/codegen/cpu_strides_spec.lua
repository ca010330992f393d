-- Elements at equal distances on the CPU: loads and stores one by one in place of gathers and
-- scatters (codegen/cpu/strides.c).
local roc = require "roc"

local function transposed(a, b)
  local t = roc.shared.array({ 16, 17 }, "float32")
  local x, y = roc.get_local_id(1), roc.get_local_id(2)
  local column, row = (roc.get_group_id(1) - 1) * 16, (roc.get_group_id(2) - 1) * 16
  if column + x <= a.shape[2] and row + y <= a.shape[1] then t[y][x] = a[row + y][column + x] end
  roc.barrier()
  if row + x <= b.shape[2] and column + y <= b.shape[1] then b[column + y][row + x] = t[x][y] end
end

local function asm_of(f, signature)
  return roc.kernel(f, { check = false, number = "float32", signature = signature })
    :inspect_asm "cpu:x86-64-v4"
end

describe("elements at equal distances", function()
  it("are not gathered", function()
    local asm = asm_of(transposed, "(float32[:,:], float32[:,:])")
    assert.not_matches("vgather", asm)
    assert.matches("vinsert", asm)
  end)

  it("are not scattered", function()
    local asm = asm_of(function(x, o)
      local i = roc.get_global_id(1)
      local v = x[i] * x[i] + 1
      v = v * v + x[i]
      v = v * v + x[i]
      o[9 * i] = v * v + x[i]
    end, "(float32[:], float32[:])")
    assert.not_matches("vscatter", asm)
    assert.matches("ps\t", asm)
  end)

  it("are no vectors where little is done with them", function()
    local asm = asm_of(function(x, o)
      local t = roc.shared.array(512, "float32")
      local i, l = roc.get_global_id(1), roc.get_local_id(1)
      t[l] = x[i]
      local s = 1
      while s < 256 do
        roc.barrier()
        if l * s <= 256 then t[2 * s * l] = t[2 * s * l] + t[s * (2 * l - 1)] end
        s = 2 * s
      end
      o[i] = t[l]
    end, "(float32[:], float32[:])")
    assert.not_matches("vgather", asm)
    assert.not_matches("vscatter", asm)
  end)

  local FORMS = {
    "o[i] = x[9 * i] + x[9 * i - 5] * 2",
    "o[i] = x[600 - 7 * i] * x[i] + 1",
    "o[i] = x[n * i] * x[i] + x[n * i + 1]",
    "o[i] = x[300 - n * i + 2 * i] * x[i] + x[i]",
    "o[9 * i] = x[i] * x[i] + x[i]",
    "o[600 - 9 * i] = x[i] * x[i] + x[i]",
    "o[n * i + 1] = x[i] * x[i] + x[i]",
    "for k = 1, 40 do o[i] = o[i] + x[8 * i + k] * x[k] end",
    "for k = 1, n do o[i] = o[i] + x[(i - 1) * 9 + k] * x[n * i - k + 1] end",
  }
  for _, body in ipairs(FORMS) do
    for _, dtype in ipairs { "float32", "int32", "float64" } do
      it(("are right: %s of %s"):format(body, dtype), function()
        local text = ("function(x, o, n) local i = roc.get_global_id(1) %s end"):format(body)
        local kernel = roc.kernel(text, { env = { roc = roc }, check = false })
        local function run(device)
          local scope <close> = roc.on_device(device) -- luacheck: ignore
          local x, o = roc.zeros(700, dtype), roc.zeros(700, dtype)
          for i = 1, 700 do x[i] = i % 13 - 6 end
          kernel:launch({ grid = 63, workgroup = 63 }, x, o, 6)
          roc.current_device():synchronize()
          return o:totable()
        end
        assert.same(run "sim", run "cpu")
      end)
    end
  end

  it("are right in tiles whose groups are not whole", function()
    local kernel = roc.kernel(transposed, { check = false, number = "float32" })
    local a = roc.zeros({ 37, 50 }, "float32")
    for i = 1, 37 do
      for j = 1, 50 do a[i][j] = 100 * i + j end
    end
    local b = roc.zeros({ 50, 37 }, "float32")
    kernel:launch({ grid = { 64, 48 }, workgroup = { 16, 16 } }, a, b)
    roc.current_device():synchronize()
    for i = 1, 37 do
      for j = 1, 50 do assert.equal(a[i][j], b[j][i]) end
    end
  end)
end)

-- codegen/cpu/neighbours.c
describe("gathers of neighbours", function()
  local function count(asm, what)
    return select(2, asm:gsub(what, ""))
  end

  it("are loads of four elements at equal distances", function()
    local asm = asm_of(function(o, m, v)
      local i = roc.get_global_id(1)
      if i <= #o then
        local s = 0.0
        for c = 1, 8 do s = s + m[i][3][c] * v[i] + m[i][3][c] * m[i][3][c] end
        o[i] = s
      end
    end, "(float32[:], float32[:,:,:], float32[:])")
    assert.equal(0, count(asm, "vgather"))
    assert.is_true(count(asm, "vunpcklps.-zmm") >= 4)
  end)

  it("are as many of 64 bits as there are pairs", function()
    local asm = asm_of(function(o, x, y)
      local i = roc.get_global_id(1)
      if i <= #o then
        local k = math.floor(x[i])
        o[i] = y[k] + y[k + 1] * x[i]
      end
    end, "(float32[:], float32[:], float32[:])")
    assert.equal(0, count(asm, "vgather%wps"))
    assert.is_true(count(asm, "vgather%wpd") > 0)
  end)

  for _, dtype in ipairs { "float32", "int32" } do
    it("give the same numbers, of " .. dtype, function()
      local function work(o, m, p, n)
        local i = roc.get_global_id(1)
        if i <= n then
          local k = p[i]
          local a = m[i][2][4] - m[i][2][1] * 3 + m[i][2][3] * 5 + m[i][2][2] * 7
          local b = m[i][1][7] * 2 + m[i][1][6] - m[i][1][8] * m[i][1][7]
          m[i][2][5] = a
          local c = m[k][1][2] - m[k][1][1] + m[k][1][3] * 4
          o[i] = a + b * 2 + c + m[i][2][6] * m[i][2][5] + m[i][3][1]
        end
      end
      local results = {}
      for _, device in ipairs { "sim", "cpu" } do
        local scope <close> = roc.on_device(device)
        local m, p = roc.zeros({ 100, 3, 9 }, dtype), roc.zeros(100, "int32")
        for i = 1, 100 do
          p[i] = i * 37 % 100 + 1
          for j = 1, 3 do
            for c = 1, 9 do m[i][j][c] = (i * 31 + j * 17 + c * 7) % 64 end
          end
        end
        local o, n = roc.to_device(roc.zeros(100, dtype)), 100
        local k = roc.kernel(work, { number = "float32", name = "work" })
        k:forall(n)(o, roc.to_device(m), roc.to_device(p), n)
        roc.current_device():synchronize()
        results[device] = o:copy_to_host():totable()
      end
      assert.same(results.sim, results.cpu)
    end)
  end
end)
