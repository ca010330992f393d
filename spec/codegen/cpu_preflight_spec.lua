-- Indices that floats become: where one number varies, the CPU target knows their ends for a whole
-- workgroup, as the items would compute them.
local roc = require "roc"

local FORMS = {
  scaled = function(x, o, s)
    local i = roc.get_global_id(1)
    if i > #o then return end
    o[i] = x[math.floor((i - 1) * s) + 1]
  end,
  shifted = function(x, o, s)
    local i = roc.get_global_id(1)
    if i > #o then return end
    o[i] = x[math.ceil(i * s + 0.5)]
  end,
  clamped = function(x, o, s)
    local i = roc.get_global_id(1)
    if i > #o then return end
    local p = math.max(0.0, math.min((i - 0.5) * s - 0.5, #x - 1.0))
    o[i] = x[math.floor(p) + 1]
  end,
  divided = function(x, o, s)
    local i = roc.get_global_id(1)
    if i > #o then return end
    o[i] = x[math.floor(3.0 - i / s)]
  end,
}

describe("indices that floats become", function()
  for name, form in pairs(FORMS) do
    it("are looked at once for a workgroup: " .. name, function()
      local text = roc.kernel(form, { signature = "(float32[:], float32[:], float32)",
        number = "float32" }):inspect_llvm("cpu:x86-64-v3")
      assert.matches("\nclear:", text)
      assert.not_matches("\ninspected:", text)
    end)
  end

  it("are looked at one by one where two numbers vary", function()
    local text = roc.kernel(function(x, o, s)
      local i, j = roc.grid(2)
      o[i] = x[math.floor(i * s + j * s)]
    end, { signature = "(float32[:], float32[:], float32)", number = "float32" })
      :inspect_llvm("cpu:x86-64-v3")
    assert.matches("\ninspected:", text)
  end)
end)

describe("on the cpu indices that floats become", function()
  local SCALES = { 0.5, 1.0, 1.03, 0.1, -0.5, -4.0, 0.0, 1e30, -1e30, 1 / 0, 0 / 0, 1e-40 }

  for name, form in pairs(FORMS) do
    for _, number in ipairs { "float32", "float64" } do
      it("are in range where they are, " .. name .. ", " .. number, function()
        local kernel = roc.kernel(form, { number = number })
        for _, scale in ipairs(SCALES) do
          for _, sizes in ipairs { { 100, 97 }, { 300, 300 }, { 0, 5 } } do
            local function run(device)
              local scope <close> = roc.on_device(device) -- luacheck: ignore
              local x, o = roc.zeros(sizes[1], "float32"), roc.zeros(sizes[2], "float32")
              for i = 1, sizes[1] do x[i] = i end
              o = roc.to_device(o)
              local ok, why = pcall(function()
                kernel:forall(sizes[2])(roc.to_device(x), o, scale)
                roc.current_device():synchronize()
              end)
              return { ok, not ok and tostring(why):match "^[^(]*", o:copy_to_host():totable() }
            end
            assert.same(run "sim", run "cpu")
          end
        end
      end)
    end
  end
end)

-- cpu/divide.c: with AVX2, divisions that indices are made of are products of integers.
describe("divisions by what all items have in common", function()
  local function work(o, x, from, n, w)
    local i = roc.get_global_id(1)
    if i <= n then
      local a = i * 3 + from
      o[i] = x[a % w % 64 + 1] + 100 * x[a // w % 64 + 1] + 10000 * x[(7 - a) % w % 64 + 1]
    end
  end
  local function run(device, from, w)
    local scope <close> = roc.on_device(device)
    local x = roc.zeros(64, "int32")
    for i = 1, 64 do x[i] = i end
    local o = roc.to_device(roc.zeros(300, "int64"))
    roc.kernel(work, { name = "work" }):forall(300)(o, roc.to_device(x), from, 300, w)
    roc.current_device():synchronize()
    return o:copy_to_host():totable()
  end

  for _, w in ipairs { 1, 2, 3, 7, 64, 1000, (1 << 30) - 1, 1 << 30, (1 << 31) + 1 } do
    for _, from in ipairs { 0, -500, -(1 << 30) + 5, (1 << 30) - 905, (1 << 30) - 100, 1 << 40 } do
      it(("gives the same from %d by %d"):format(from, w), function()
        assert.same(run("sim", from, w), run("cpu", from, w))
      end)
    end
  end

  it("is no division of the processor's", function()
    local k = roc.kernel(work, { name = "work", check = false,
      signature = "(int64[:], int32[:], int64, int64, int64)" })
    assert.matches("lshr i128", k:inspect_llvm "cpu:x86-64-v3")
    assert.not_matches("lshr i128", k:inspect_llvm "cpu:x86-64-v4")
  end)
end)
