-- The NVPTX target down to PTX: instructions that must be there, and what must not; and what
-- NVIDIA's assembler says, where it is installed.
local core = require "roc.core"
local roc = require "roc"
local files = require "support.files"
local ptxas = require "support.ptxas"

local CHIPS = core.targets("nvptx")

local function kernel(text, signature, options)
  local all = { name = "k", signature = signature, env = { roc = roc, math = math } }
  for name, value in pairs(options or {}) do all[name] = value end
  return roc.kernel(text, all)
end

local function asm(text, signature, options, chip)
  return kernel(text, signature, options):inspect_asm(chip or "sm_90")
end

local function raw(text, signature, options)
  return kernel(text, signature, options):inspect_llvm("sm_90", "raw")
end

-- Each pattern is found after the one before.
local function check(text, ...)
  local at = 1
  for _, pattern in ipairs { ... } do
    local first, last = text:find(pattern, at)
    assert.is_truthy(first, ("no %q in\n%s"):format(pattern, text:sub(at, at + 4000)))
    at = last + 1
  end
end

local function check_not(text, pattern)
  local at = text:find(pattern)
  assert.is_nil(at, at and ("%q in\n%s"):format(pattern, text:sub(math.max(at - 400, 1), at + 400)))
end

local function count(text, pattern) return select(2, text:gsub(pattern, "")) end

local SAXPY = "function(a, x, y) local i = roc.get_global_id(1) "
  .. "if i <= #y then y[i] = a * x[i] + y[i] end end"
local SAXPY_TYPES = "(float32, float32[:], float32[:])"

describe("the NVPTX target", function()
  for _, chip in ipairs(CHIPS) do
    it("compiles a checked saxpy for " .. chip, function()
      local object = kernel(SAXPY, SAXPY_TYPES):compile(chip)
      check(object.bytes, "%.target " .. chip .. "\n", "%.visible %.entry roc_k%(",
        "%.maxntid 1024", "ld%.global", "fma%.rn%.f32", "st%.global")
      check_not(object.bytes, "%.local")
      check_not(object.bytes, "%.ftz")
      check_not(object.bytes, "debug\n")
      if not ptxas.has(chip) then return pending("no ptxas that knows " .. chip) end
      check(ptxas.assemble(object.bytes, chip), "0 bytes spill stores")
    end)
  end

  it("takes every operation of the IR, for the least and the newest", function()
    local text = files.read("spec/golden/every_op.ir")
    for _, chip in ipairs { "sm_70", "sm_75", "sm_90", "sm_120" } do
      local code = core.testing.compiler.ir_dump(text, chip, "asm")
      check(code, "%.visible %.entry roc_every")
      if ptxas.has(chip) then ptxas.assemble(code, chip) end
    end
  end)

  it("has PTX of the lowest version that the code needs", function()
    local versions = { sm_70 = "6.2", sm_75 = "6.3", sm_80 = "7.0", sm_90 = "7.8", sm_100 = "8.6" }
    for chip, version in pairs(versions) do
      check(asm(SAXPY, SAXPY_TYPES, nil, chip), "%.version " .. version:gsub("%.", "%%.") .. "\n")
    end
  end)

  it("names a source that is a string", function()
    local object = kernel(SAXPY, SAXPY_TYPES):compile("sm_90")
    check(object.bytes, '\t%.file\t%d+ "[^"\n]*"\n')
    check(kernel(SAXPY, SAXPY_TYPES):inspect_asm("sm_90"),
      '\n// %[string "function%(a, x, y%)[^\n]*"%]:1: function%(a, x, y%)')
  end)
end)

describe("arithmetic for NVIDIA GPUs", function()
  it("fuses no product and sum without contract", function()
    local text = asm(SAXPY, SAXPY_TYPES, { contract = false })
    check(text, "mul%.rn%.f32", "add%.rn%.f32")
    check_not(text, "fma%.rn%.f32")
    check_not(text, "mul%.f32")
    check_not(text, "add%.f32")
  end)

  it("divides and takes roots correctly rounded, and approximately with fastmath", function()
    local text = "function(x, y) local i = roc.get_global_id(1) x[i] = math.sqrt(x[i]) / y[i] end"
    check(asm(text, "(float64[:], float64[:])"), "sqrt%.rn%.f64", "div%.rn%.f64")
    check(asm(text, "(float32[:], float32[:])"), "rsqrt%.approx%.ftz%.f32", "fma%.rn%.f32",
      "fma%.rn%.f32", "div%.rn%.f32")
    local fast = asm(text, "(float32[:], float32[:])", { fastmath = true })
    check(fast, "sqrt%.approx", "div%.approx")
  end)

  it("takes roots of float32 and their reciprocals without branches", function()
    local text = "function(x, y) local i = roc.get_global_id(1) x[i] = 1 / math.sqrt(y[i]) end"
    local code = asm(text, "(float32[:], float32[:])", { check = false })
    check(code, "rsqrt%.approx%.ftz%.f32", "rcp%.approx%.ftz%.f32")
    check_not(code, "sqrt%.rn")
    check_not(code, "rcp%.rn")
  end)

  it("scales no root of what is known not to be small, and chooses nothing for known numbers",
    function()
      local function root(of)
        return asm("function(x, n) local a = x[1] x[2] = 1 / math.sqrt(" .. of .. ") end",
          "(float32[:], int64[:])", { check = false })
      end
      local scale, choice = "0f5F800000", "setp%.nan"
      check(root "a", scale, choice)
      check(root "a * a", scale, choice)
      check(root "a * x[2] + 1.0", scale, choice)
      check(root "math.abs(a) + 0x1p-101", scale, choice)
      for _, of in ipairs { "a * a + 0.5", "a * a + x[2] * x[2] + 1e-9",
        "math.abs(a) + 0x1p-99" } do
        check(root(of), choice)
        check_not(root(of), scale)
      end
      for _, of in ipairs { "roc.float32(n[1] & 255) + 1.0",
        "roc.float32(n[1] & 255) * -0.5 + 300.0" } do
        check_not(root(of), choice)
        check_not(root(of), scale)
      end
    end)

  it("takes exponentials, logarithms and erf of float32 in few operations", function()
    local most = { ["math.exp"] = 4, ["roc.math.exp2"] = 6, ["math.log"] = 4, ["roc.math.erf"] = 4 }
    for name, sums in pairs(most) do
      local text = ("function(x) x[1] = %s(x[1]) end"):format(name)
      local code = asm(text, "(float32[:])", { check = false })
      check_not(code, "div%.rn")
      check_not(code, "cvt%.rni") -- rounding to a whole number takes as long as eight sums
      assert.is_true(count(code, "add%.rn%.f32") + count(code, "sub%.rn%.f32") <= sums, code)
    end
  end)

  it("lets rounds of a loop of unknown length load together, checked or not", function()
    local text = "function(a, b, c) local j, i = roc.grid(2) "
      .. "if i <= c.shape[1] and j <= c.shape[2] then local sum = 0 "
      .. "for k = 1, a.shape[2] do sum = sum + a[i][k] * b[k][j] end c[i][j] = sum end end"
    local types = "(float32[:,:] narrow, float32[:,:] narrow, float32[:,:] narrow)"
    for _, check_it in ipairs { true, false } do
      local code = asm(text, types, { check = check_it })
      -- eight rounds, one of the rest, and one with checks
      assert.equal(check_it and 20 or 18, count(code, "ld%.global%.nc"))
    end
  end)

  it("takes no choice that zeros decide for a minimum", function()
    for dtype, kind in pairs { float32 = "f32", float64 = "f64" } do
      local types = ("(%s[:])"):format(dtype)
      check_not(asm("function(x) x[1] = math.min(x[1], x[2]) end", types), "min%." .. kind)
      check_not(asm("function(x) x[1] = math.min(0.0, x[1]) end", types), "min%." .. kind)
    end
    check(asm("function(x) x[1] = math.min(2.5, x[1]) end", "(float32[:])"), "min%.f32")
  end)

  it("computes no absolute value that ptxas takes for positive", function()
    check_not(asm("function(x) x[1] = 1 // (math.abs(x[1]) | 1) end", "(int64[:])"), "abs%.s")
    check_not(asm("function(x) x[1] = math.abs(x[1]) end", "(int32[:])"), "abs%.s")
  end)

  it("computes absolute values of several elements at a time", function()
    local text = "function(x, y, z) local i = roc.get_global_id(1) "
      .. "if i <= #z then z[i] = math.abs(x[i]) + math.abs(y[i]) end end"
    for _, dtype in ipairs { "int16", "int32", "int64" } do
      check_not(asm(text, ("(int8[:], %s[:], int8[:])"):format(dtype)), "abs%.s")
    end
  end)

  it("shifts by all bits of the count", function()
    -- with a loop, so that the mask of the count is optimised away
    for _, shift in ipairs { ">>", "<<" } do
      local text = asm(("function(o) local n, k = o[2], 0 local y = 0x55555555 %s math.abs(n) "
        .. "while k < 4 and -1 < n do k = k + 1 end o[1] = y end"):format(shift), "(int64[:])",
        { check = false })
      check(text, "setp%.%a+%.u%d+[^\n]*, 6[34];")
    end
  end)

  it("keeps the sign of what the least of three may be", function()
    for _, name in ipairs { "min", "max" } do
      local text = asm(("function(o, x) o[1] = math.%s(-x[1], x[2], x[3]) end"):format(name),
        "(int64[:], int16[:])", { check = false })
      check(text, name .. "%.s32", name .. "%.s32")
      check_not(text, "neg%.s32")
      check_not(text, "sub%.s32[^\n]*, 0, ")
    end
  end)

  it("chooses a negative zero by its bits", function()
    local function has_zero(body)
      local text = asm("function(x) " .. body .. " end", "(float32[:])")
      check_not(text, "0f80000000")
      check(text, "2147483648")
    end
    has_zero("x[1] = x[1] < x[2] and roc.float32(1) or roc.float32(-0.0)")
    has_zero("x[1] = x[1] < x[2] and roc.float32(-0.0) or roc.float32(-1)")
  end)

  it("compares what has no sign and may be no number", function()
    local function has_number_test(body)
      check(asm("function(x) " .. body .. " end", "(float32[:])"), "setp%.n[ua][mn]%.f32")
    end
    has_number_test("if math.abs(x[1]) >= -1 then x[2] = 1 end")
    has_number_test("if x[1] * x[1] >= 0 then x[2] = 1 end")
    has_number_test("if math.abs(x[1]) + x[2] * x[2] > -2 then x[3] = 1 end")
    check_not(asm("function(x) if x[1] >= 0 then x[2] = 1 end end", "(float32[:])"),
      "setp%.n[ua][mn]")
  end)

  it("computes remainders exactly", function()
    local text = raw("function(x, y) x[1] = math.fmod(x[1], y[1]) end", "(float32[:], float32[:])")
    check(text, "call float @roc%.fmod%.f32")
    check_not(text, "frem")
    check_not(asm("function(x, y) x[1] = x[1] % y[1] end", "(float64[:], float64[:])"), "div%.rn")
  end)

  it("does not know the arguments of functions of libclc", function()
    local text = raw("function(x) x[1] = roc.math.erf(0.75) end", "(float64[:])")
    check(text, 'asm "", "=d,0"', "call double @_Z3erfd")
  end)

  it("keeps the sign of a zero in functions of libclc", function()
    local text = raw("function(x) x[1] = roc.math.erf(x[1]) end", "(float64[:])")
    check(text, "call double @_Z3erfd", "fcmp oeq double %%%d+, 0%.0+e%+00", "select i1")
  end)

  it("has functions of the hardware with fastmath alone", function()
    local text = "function(x) x[1] = math.sin(x[2]) + math.exp(x[3]) + math.log(x[4]) end"
    local fast = asm(text, "(float32[:])", { fastmath = true })
    check(fast, "sin%.approx%.f32")
    check(fast, "ex2%.approx%.f32")
    check(fast, "lg2%.approx%.f32")
    check_not(asm(text, "(float32[:])"), "%.approx")
  end)

  it("finds the tables of functions in the code object", function()
    local text = asm("function(x) x[1] = roc.math.cbrt(x[1]) + math.sin(x[1]) end", "(float64[:])")
    check_not(text, "%.extern")
    check_not(text, "call%.uni")
  end)
end)

describe("memory of NVIDIA GPUs", function()
  local COPY = "function(x, y) local i = roc.get_global_id(1) x[i] = y[i] end"
  local TYPES = "(float32[:], float32[:])"

  it("loads by the cache for what is only read, where none can see a store", function()
    check(asm(COPY, TYPES), "ld%.global%.nc%.b32")
    local fence = COPY:gsub(" end$", " roc.mem_fence() end")
    check_not(asm(fence, TYPES), "%.nc")
    local atomic = "function(x, y, n) local i = roc.get_global_id(1) "
      .. "roc.atomic.add(n, 1, 1) x[i] = y[i] end"
    check_not(asm(atomic, "(float32[:], float32[:], int32[:])"), "%.nc")
    check_not(asm("function(x) x[1] = x[2] end", "(float32[:])"), "%.nc")
  end)

  it("reads again after a barrier what others may have written", function()
    local text = asm("function(x) local l = roc.get_local_id(1) local a = x[1] x[l] = a "
      .. "roc.barrier() x[l + 1] = a + x[1] end", "(int32[:])", { check = false })
    check(text, "ld%.global", "bar%.sync \t0", "ld%.global")
    text = asm("function(x) local t = roc.shared.array(64, 'int32') local l = roc.get_local_id(1) "
      .. "t[l] = x[l] roc.barrier() x[l] = t[65 - l] + t[l] end", "(int32[:])", { check = false })
    check(text, "st%.shared", "bar%.sync \t0", "ld%.shared", "ld%.shared")
  end)

  it("walks along rows and columns by pointers, without a product in the loop", function()
    local text = asm("function(c, a, b) local j, i = roc.grid(2) local s = 0.0 "
      .. "for k = 1, 64 do s = s + a[i][k] * b[k][j] end c[i][j] = s end",
      "(float32[:,:], float32[:,:], float32[:,:])", { check = false })
    local _, last = text:find(".*fma%.rn%.f32")
    local loop = text:sub(text:find("fma%.rn%.f32"), last)
    check(loop, "ld%.global%.nc%.b32")
    check_not(loop, "mul%.lo")
    check_not(loop, "mad%.lo")
  end)

  it("counts from below 0 and compares in 32 bits", function()
    local signature = "(float32[:] narrow, float32[:] narrow)"
    local text = asm([[function(x, y)
      local sum, item = 0.0, roc.get_local_id(1)
      for k = -16, #x - 1, 16 do
        if k + 16 + item <= #x then sum = sum + x[k + 16 + item] end
      end
      y[1] = sum
    end]], signature, { check = false })
    local loop = text:match("^(.-)st%.global") -- what comes after asks which items are in the grid
    check(loop, "ld%.global")
    check_not(loop, "setp%.%w+%.[bsu]64")
  end)

  it("computes offsets in 32 bits where it counts from below 0", function()
    local text = asm([[function(x, y)
      local sum, item = 0.0, roc.get_local_id(1)
      for k = -16, #x - 1, 16 do
        if k + 16 + item <= #x then sum = sum + x[k + 16 + item][item] end
        roc.barrier()
      end
      y[1] = sum
    end]], "(float32[:,:] narrow, float32[:] narrow)", { check = false })
    local loop = text:match("^(.-)st%.global")
    check(loop, "m[ua][ld]%.lo%.s32", "ld%.global")
    check_not(loop, "m[ua][ld]%.lo%.s64")
  end)

  it("has static shared arrays up to 48 KiB, beyond it all are dynamic", function()
    local function shared(n)
      local text = "function(x) local t = roc.shared.array(N, 'int32') "
        .. "local l = roc.get_local_id(1) t[l] = x[l] roc.barrier() x[l] = t[l + 1] end"
      return kernel((text:gsub("N", n)), "(int32[:])"):compile("sm_90")
    end
    local small, large = shared(12288), shared(12352)
    check(small.bytes, "%.shared %.align 64 %.b8 [%w_$]+%[49152%];")
    check(large.bytes, "%.extern %.shared %.align 64 %.b8 roc_dynamic_shared%[%];")
    check_not(large.bytes, "%.b8 [%w_$]+%[%d+%];")
    assert.are.equal(49408, large:resources().shared_bytes)
    assert.error_matches(function() shared(60000) end,
      "its shared arrays take 240000 bytes; a workgroup of sm_90 has 232448")
    for _, object in ipairs { small, large } do
      if ptxas.has("sm_90") then ptxas.assemble(object.bytes, "sm_90") end
    end
  end)

  it("knows the dynamic bytes of the launch", function()
    local text = asm("function(x) local t = roc.shared.array(0, 'int32') x[1] = #t end",
      "(int32[:])")
    check(text, "%%dynamic_smem_size")
  end)

  it("leaves room for as many workgroups as private arrays do", function()
    local text = "function(x) local p = roc.private.array(%d, '%s') local i = roc.get_local_id(1) "
      .. "for k = 1, #p do p[k] = x[k] end roc.barrier(roc.CLK_LOCAL_MEM_FENCE) "
      .. "for k = 1, #p do x[i + k] = p[k] end end"
    for _, case in ipairs { { 16, "float32", 2 }, { 48, "float32", 3 }, { 64, "float32", 2 },
      { 24, "float64", 2 } } do
      local code = asm(text:format(case[1], case[2]), "(float32[:])", { workgroup = 256 })
      check(code, "%.minnctapersm " .. case[3])
    end
  end)

  it("keeps private arrays in registers where their places are known", function()
    local text = "function(x) local p = roc.private.array(4, 'float32') "
      .. "local i = roc.get_global_id(1) for k = 1, 4 do p[k] = x[i] * k end "
      .. "x[i] = p[1] + p[2] + p[3] + p[4] end"
    check_not(asm(text, "(float32[:])", { check = false }), "%.local")
    assert.error_matches(function()
      asm("function(x) local p = roc.private.array(200000, 'int32') "
        .. "p[x[1]] = 1 x[2] = p[x[3]] end", "(int32[:])")
    end, "needs 800000 bytes of private memory %(array 'p' among them%) and has 524288 on sm_90")
  end)

  it("refuses more arguments than a kernel has room for", function()
    local params, types = {}, {}
    for i = 1, 110 do
      params[i], types[i] = "a" .. i, "float32[:,:,:,:,:,:,:,:]"
    end
    local text = ("function(%s) a1[1][1][1][1][1][1][1][1] = 1 end"):format(
      table.concat(params, ", "))
    local k = kernel(text, "(" .. table.concat(types, ", ") .. ")")
    assert.error_matches(function() k:compile("sm_90") end,
      "its arguments take %d+ bytes; a kernel on sm_90 has 4352")
  end)
end)

describe("atomics and fences of NVIDIA GPUs", function()
  local function atomic(call, dtype)
    return asm(("function(x, v) roc.atomic.%s end"):format(call), ("(%s[:], %s)"):format(dtype,
      dtype:find("float") and dtype or "int64"), { check = false })
  end

  it("are single instructions", function()
    local cases = {
      { "add(x, 1, v)", "int32", "atom%.[%w.]*add%.u32" }, { "add(x, 1, v)", "int64", "add%.u64" },
      { "add(x, 1, v)", "float32", "add%.f32" }, { "sub(x, 1, v)", "float64", "add%.f64" },
      { "min(x, 1, v)", "int32", "min%.s32" }, { "max(x, 1, v)", "uint64", "max%.u64" },
      { "exch(x, 1, v)", "int64", "exch%.b64" }, { "and_(x, 1, v)", "int32", "and%.b32" },
      { "or_(x, 1, v)", "int64", "or%.b64" }, { "xor(x, 1, v)", "uint32", "xor%.b32" },
      { "inc(x, 1, v)", "int32", "inc%.u32" }, { "dec(x, 1, v)", "uint32", "dec%.u32" },
      { "cas(x, 1, v, v)", "int64", "cas%.b64" }, { "load(x, 1)", "int32", "ld%.relaxed%.gpu" },
      { "store(x, 1, v)", "int32", "st%.relaxed%.gpu" },
    }
    for _, case in ipairs(cases) do
      local text = atomic(case[1], case[2])
      check(text, case[3])
      assert.are.equal(case[1]:find("cas") and 1 or 0, count(text, "cas%."))
    end
  end)

  it("are loops of exchanges for what there is no instruction", function()
    check(atomic("max(x, 1, v)", "float32"), "cas%.b32", "bra")
    check(atomic("inc(x, 1, v)", "int64"), "cas%.b64", "bra")
  end)

  it("have the scope of the memory", function()
    local text = "function(x) x[1] = 1 roc.mem_fence(S) x[2] = 2 end"
    check(asm((text:gsub("S", "roc.CLK_LOCAL_MEM_FENCE")), "(int32[:])"), "fence%.acq_rel%.cta")
    check(asm((text:gsub("S", "roc.CLK_GLOBAL_MEM_FENCE")), "(int32[:])"), "fence%.acq_rel%.gpu")
  end)

  it("let a kernel that waits for lower groups take its number from a counter", function()
    local waits = asm("function(x) local g = roc.get_group_id(1) "
      .. "while roc.atomic.load(x, 1) < g - 1 do end roc.atomic.store(x, 1, g) end", "(int32[:])")
    check(waits, "atom%.[%w.]*inc%.u32", "st%.shared", "bar%.sync \t0", "ld%.shared", "ld%.relaxed")
    check_not(asm("function(x) roc.atomic.load(x, 1) end", "(int32[:])"), "inc%.u32")
    local full = kernel("function(x) local t = roc.shared.array(12288, 'int32') t[x[2]] = 1 "
      .. "while roc.atomic.load(x, 1) < 1 do end x[3] = t[x[4]] end", "(int32[:])"):compile("sm_90")
    check(full.bytes, "%.extern %.shared")
    assert.are.equal(49216, full:resources().shared_bytes)
    if ptxas.has("sm_90") then ptxas.assemble(full.bytes, "sm_90") end
  end)
end)

describe("items of NVIDIA GPUs that meet", function()
  it("compare the ways they go where these are not known to be one", function()
    local text = "function(x) local i = roc.get_local_id(1) "
      .. "if C then roc.barrier() end x[i] = 1 end"
    local function code(condition, options)
      return asm((text:gsub("C", condition)), "(int32[:])", options)
    end
    check(code("x[i] > 0"), "vote%.sync%.uni%.pred", "%-1;", "bar%.red%.or%.pred", "bar%.sync \t0")
    check_not(code("roc.get_group_id(1) > 1"), "vote%.sync")
    check_not(code("x[i] > 0", { check = false }), "vote%.sync")
  end)

  it("converts and multiplies integers that are known to have 32 bits as such", function()
    local text = [[function(x, z)
      local i = roc.get_global_id(1)
      local a, b = z[i], z[i + 1]
      x[i], z[i] = roc.float32((a * b >> 7 & 0xffffffff) >> 8), ((a ~ b) >> 32) * (b >> 33)
    end]]
    local assembly = asm(text, "(float32[:], int64[:])", { check = false })
    check(assembly, "cvt%.rn%.f32%.u32")
    check_not(assembly, "cvt%.rn%.f32%.[su]64")
    assert.equal(1, count(assembly, "mul%.lo%.s64")) -- of a and b
    local function converts(value, how)
      local conversion = "function(x, z) x[1] = roc.float32(" .. value .. ") end"
      check(asm(conversion, "(float32[:], int64[:])", { check = false }), "cvt%.rn%.f32%." .. how)
    end
    converts("(z[1] & 0xff) - 7", "s32")
    converts("z[1] >> 31", "[su]64")
  end)

  it("gathers lanes before a barrier that they come to apart", function()
    local text = "function(x, n) local i = roc.get_local_id(1) local s = 0 "
      .. "for k = i, n do s = s + BODY end roc.barrier() x[i] = s end"
    local function code(body, options)
      return asm((text:gsub("BODY", (body:gsub("%%", "%%%%")))), "(int64[:], int64)", options)
    end
    check(code("x[k * k % 7 + x[k]]"), "%%lanemask_le",
      "\n%$L[%w_]+:[^:]-bar%.warp%.sync \t%%r%d+;.-bar%.sync \t0")
    -- the version without checks has no way out, but the other one has
    local _, count = code("x[k]"):gsub("bar%.warp%.sync", "")
    assert.are.equal(2, count)
    check_not(code("k * k", { check = false }), "bar%.warp%.sync")
    check_not(code("x[k]", { check = false }), "bar%.warp%.sync")
    local returns = "function(x) local i = roc.get_local_id(1) for k = 1, i do "
      .. "if x[k] < 0 then return end end x[i] = 1 roc.barrier() x[i + 1] = 2 end"
    check(asm(returns, "(int64[:])", { check = false }), "bar%.warp%.sync", "bar%.sync \t0")
    local parts = "function(x, n) local i = roc.get_local_id(1) roc.barrier() "
      .. "if x[i] > n then x[i] = n end roc.barrier() x[i + 1] = 2 end"
    check(asm(parts, "(int64[:], int64)"), "bar%.sync \t0.*bar%.warp%.sync \t%%r%d+;.-bar%.sync")
    check_not(asm(parts, "(int64[:], int64)", { check = false }), "bar%.warp%.sync")
    local later = "function(x, n) local i = roc.get_local_id(1) roc.barrier() "
      .. "for k = i, n do x[k] = x[k] + x[k * k] end x[i] = 2 end"
    check_not(asm(later, "(int64[:], int64)"), "bar%.warp%.sync") -- no barrier follows
    local alone = returns:gsub("roc.barrier%(%)", "")
    check_not(asm(alone, "(int64[:])", { check = false }), "bar%.warp%.sync")
  end)

  it("name all lanes in wave operations", function()
    local ops = {
      { "x[i] = roc.wave.ballot(y[i] > 0)", "vote%.sync%.ballot%.b32" },
      { "x[i] = roc.wave.any(y[i] > 0) and 1 or 2", "vote%.sync%.any%.pred" },
      { "x[i] = roc.wave.all(y[i] > 0) and 1 or 2", "vote%.sync%.all%.pred" },
      { "x[i] = roc.wave.shuffle(x[i], 3)", "shfl%.sync%.idx%.b32" },
      { "y[i] = roc.wave.sum(y[i])", "shfl%.sync%.bfly%.b32" },
      { "y[i] = roc.ds_permute(1, y[i])", "shfl%.sync%.idx%.b32" },
      { "roc.wavebarrier()", "bar%.warp%.sync" },
    }
    for _, op in ipairs(ops) do
      local text = asm(("function(x, y) local i = roc.get_global_id(1) %s end"):format(op[1]),
        "(int32[:], float32[:])", { check = false })
      check(text, op[2])
      for line in text:gmatch("[^\n]*%.sync[^\n]*") do check(line, "%-1;$") end
      check_not(text, "st%.shared")
    end
  end)

  it("ask once which lanes have an item, where none ends early", function()
    local shuffles = "function(y) local i = roc.get_global_id(1) %s local v = y[i] "
      .. "for d = 1, 3 do v = v + roc.wave.shuffle_down(v, d) end y[i] = roc.wave.sum(v) end"
    local text = asm(shuffles:format "", "(float32[:])", { check = false })
    assert.are.equal(1, count(text, "vote%.sync%.ballot"))
    local returns = shuffles:format "if y[i] < 0 then return end"
    assert.is_true(count(asm(returns, "(float32[:])", { check = false }), "vote%.sync%.ballot") > 1)
    local plain = "function(y) local i = roc.get_global_id(1) "
      .. "y[i] = roc.wave.any(y[i] > 0) and 1 or 0 end"
    assert.are.equal(0, count(asm(plain, "(float32[:])", { check = false }), "ballot"))
  end)

  it("have one tree of a reduction for a full wavefront and one for the rest", function()
    local text = asm("function(y) local i = roc.get_global_id(1) y[i] = roc.wave.sum(y[i]) end",
      "(float64[:])", { check = false })
    assert.are.equal(10, count(text, "shfl%.sync%.bfly%.b32")) -- 5 steps of two pieces
    assert.are.equal(10, count(text, "shfl%.sync%.idx%.b32"))
  end)
end)

describe("a launch on NVIDIA GPUs", function()
  it("passes the fields of arguments one by one, at the offsets of the kernarg block", function()
    local object = kernel("function(b, x, n, f) if b then x[1][1] = n + f end end",
      "(bool, float64[:,:], int64, float32)"):compile("sm_90")
    local params = object.bytes:match("%.entry [%w_]+(%b())")
    local types = {}
    for line in params:gmatch("%.param ([^\n]+)") do types[#types + 1] = line:match("^%.(%w+)") end
    local hidden = "u64 u64 u64 u32 u32 u32 u32 u32 u32 u32 u32"
    assert.matches(hidden .. "$", table.concat(types, " "))
    assert.are.equal("u64", types[1])
  end)

  it("asks one flag of a usual launch, and ends items that the grid does not have", function()
    local text = asm("function(x) x[roc.get_global_id(1)] = 1 end", "(int32[:])", { check = false })
    check(text, "setp%.ne%.b32", "st%.global", "ret;", "%%nctaid%.y", "div%.u32", "%%ntid%.z")
  end)

  it("tells failures in the record, without a trap", function()
    local text = asm("function(x) x[5] = 1 end", "(int32[:])")
    check(text, "activemask%.b32", "atom%.[%w.]*add%.u32", "st%.relaxed%.sys")
    check_not(text, "trap;")
    check_not(text, "exit;")
  end)

  it("has resources, those of the assembler where it is there", function()
    local r = kernel(SAXPY, SAXPY_TYPES, { workgroup = 128 }):resources("sm_90")
    assert.are.equal(128, r.max_workgroup)
    assert.are.equal(32, r.wavefront_size)
    assert.are.equal(64, r.occupancy.max)
    if not ptxas.has("sm_90") then
      assert.is_nil(r.registers)
      return pending("ptxas is not there")
    end
    assert.is_true(r.registers >= 8 and r.registers <= 64)
    assert.are.equal(0, r.spills)
  end)
end)

describe("several work-items of a thread on NVIDIA GPUs", function()
  -- Parameters and what follows `local i = …`.
  local ELEMENT_WISE = {
    ["copy"] = { "x, y", "y[i] = x[i]" },
    ["guarded copy"] = { "x, y", "if i <= #y then y[i] = x[i] end" },
    ["saxpy"] = { "a, x, y", "y[i] = a * x[i] + y[i]" },
    ["guarded saxpy"] = { "a, x, y", "if i <= #y then y[i] = a * x[i] + y[i] end" },
    ["triad"] = { "a, x, y, z", "z[i] = x[i] + a * y[i]" },
    ["guarded triad"] = { "a, x, y, z", "if i > #z then return end z[i] = x[i] + a * y[i]" },
    ["twice guarded"] = { "x, y",
      "if i <= #x and 1 <= #y then if i <= #y then y[i] = x[i] end end" },
    ["two-dimensional"] = { "p, q", "local j = roc.get_global_id(2) "
      .. "if i <= q.shape[2] and j <= q.shape[1] then q[j][i] = p[j][i] + 1 end" },
  }
  local WIDE = {
    float64 = "v2%.b64", float32 = "v4%.b32", int32 = "v4%.b32", float16 = "v4%.b32",
    int8 = "v4%.b32", uint8 = "v4%.b32",
  }

  local function source(params, body)
    return ("function(%s) local i = roc.get_global_id(1) %s end"):format(params, body)
  end

  local function types(params, dtype)
    return "(" .. params:gsub("%a", function(name)
      return dtype .. ((name == "a" and "") or (name:find("[pq]") and "[:, :]") or "[:]")
    end) .. ")"
  end

  for name, k in pairs(ELEMENT_WISE) do
    for dtype, wide in pairs(WIDE) do
      it(("are one access of 16 bytes: %s of %s"):format(name, dtype), function()
        for _, is_checked in ipairs { true, false } do
          local text = asm(source(k[1], k[2]), types(k[1], dtype), { check = is_checked })
          check(text, "ld%.global%.nc%." .. wide, "st%.global%." .. wide)
          if ptxas.has("sm_90") then ptxas.assemble(text, "sm_90") end
        end
      end)
    end
  end

  it("are so for each of these chips", function()
    for _, chip in ipairs(CHIPS) do
      local text = asm(SAXPY, SAXPY_TYPES, nil, chip)
      check(text, "st%.global%.v4%.[bf]32")
      if ptxas.has(chip) then ptxas.assemble(text, chip) end
    end
  end)

  it("are as many as the widest element allows", function()
    local text = asm(source("x, y", "y[i] = x[i]"), "(float64[:], float32[:])", { check = false })
    check(text, "ld%.global%.nc%.v2%.b64", "st%.global%.v2%.b32")
  end)

  -- What items could tell, or what gains nothing by it.
  local ONE_BY_ONE = {
    ["that meet"] = "x[i] = 1 roc.barrier() y[i] = x[i]",
    ["of a wavefront"] = "y[i] = roc.wave.sum(x[i])",
    ["that know their lane"] = "y[i] = x[i] + roc.lane_id()",
    ["with an atomic operation"] = "roc.atomic.add(y, i, x[i])",
    ["with a shared array"] = "local s = roc.shared.array(64, \"float32\") s[1] = x[i] y[i] = s[1]",
    ["with a loop"] = "local s = 0.0 for k = 1, 10 do s = s + x[k] end y[i] = s",
    ["that print"] = "print(i) y[i] = x[i]",
    ["of other places"] = "y[i] = x[2 * i]",
    ["that are shifted"] = "y[i] = x[i + 1]",
    ["that decide by an element"] = "if x[i] > 0 then y[i] = x[i] end",
    ["that are some of many"] = "if i % 2 == 0 then y[i] = x[i] end",
    ["with two ways"] = "if i <= 1000 then y[i] = x[i] else y[i] = 0 end",
  }
  for name, body in pairs(ONE_BY_ONE) do
    it("are not items " .. name, function()
      for _, is_checked in ipairs { true, false } do
        local env = { roc = roc, print = print }
        local text = asm(source("x, y", body), "(float32[:], float32[:])",
          { check = is_checked, env = env })
        check(text, "ld%.global")
        check_not(text, "%.global[%.%w]*%.v[24]")
      end
    end)
  end

  it("are not items of arrays that overlap, or have strides", function()
    local ir = [[
kernel k(x.0: float32[1] %s read%s, y.1: float32[1] c written%s) contract
  array x.0 = param x.0
  array y.1 = param y.1
  %%0: int = global_id 0
  %%1: f32 = load x.0 %%0
  store y.1 %%1 %%0
end
]]
    local function dump(layout, alias)
      return core.testing.compiler.ir_dump(ir:format(layout, alias, alias), "sm_90", "asm")
    end
    check(dump("c", ""), "st%.global%.v4")
    check_not(dump("c", " alias"), "%.v4")
    check_not(dump("strided", ""), "%.v4")
  end)
end)

describe("neighbours that an item of the NVPTX target asks for", function()
  local TYPES = "(float32[:], float32[:])"
  local LINE = "function(x, y) local i = (roc.get_global_id(1) - 1) * 4 if i + 4 <= #y then "
    .. "local a, b, c, d = x[i + %d], x[i + %d], x[i + %d], x[i + %d] "
    .. "y[i + 1], y[i + 2], y[i + 3], y[i + 4] = a, b, c, d end end"

  local function line(shift)
    return LINE:format(1 + shift, 2 + shift, 3 + shift, 4 + shift)
  end

  it("are one access where arrays lie at multiples of 16 bytes, and else are not", function()
    for _, is_checked in ipairs { true, false } do
      local text = asm(line(0), TYPES, { check = is_checked })
      check(text, "ld%.global%.nc%.v4%.b32", "st%.global%.v4%.b32", "ld%.global%.nc%.b32")
      assert.is_true(count(text, "st%.global%.b32") >= 4)
      if ptxas.has "sm_90" then ptxas.assemble(text, "sm_90") end
    end
    local text = asm("function(x, y) local i = roc.get_global_id(1) * 2 "
      .. "y[i + 1], y[i + 2] = x[i + 1], x[i + 2] end", "(float64[:], float64[:])",
      { check = false })
    check(text, "ld%.global%.nc%.v2%.b64", "st%.global%.v2%.b64")
  end)

  it("are one access in rows, and in a loop by multiples", function()
    local text = asm("function(x, y) local r = roc.get_global_id(1) "
      .. "for i = 0, x.shape[2] - 4, 4 do "
      .. "y[r] = y[r] + x[r][i + 1] + x[r][i + 2] + x[r][i + 3] + x[r][i + 4] end end",
      "(float32[:,:], float32[:])", { check = false })
    check(text, "ld%.global[%.%w]*%.v4%.[bf]32", "ld%.global[%.%w]*%.[bf]32")
  end)

  it("are not there twice where they begin at other places, overlap or have strides", function()
    local text = asm("function(x, y) local i = roc.get_global_id(1) "
      .. "y[i] = x[i + 1] + x[i + 2] + x[i + 3] + roc.lane_id() end", TYPES, { check = false })
    check_not(text, "global[%.%w]*%.v[24]")
    assert.equal(1, count(text, "st%.global"))
    text = asm(line(0), (TYPES:gsub("%]", "] strided")), { check = false })
    check_not(text, "global[%.%w]*%.v[24]")
    assert.equal(4, count(text, "ld%.global"))
    local ir = [[
kernel k(x.0: float32[1] c written%s) contract
  array x.0 = param x.0
  %%0: int = global_id 0
  %%1: int = const 2
  %%2: int = mul %%0 %%1
  %%3: int = const 1
  %%4: int = add %%2 %%3
  %%5: int = add %%2 %%1
  %%6: f32 = const 7
  store x.0 %%6 %%4
  store x.0 %%6 %%5
end
]]
    local function stores(alias)
      return core.testing.compiler.ir_dump(ir:format(alias), "sm_90", "asm")
    end
    check(stores "", "st%.global%.v2", "st%.global%.b32")
    assert.equal(2, count(stores " alias", "st%.global%.b32"))
    text = asm(line(1), TYPES, { check = false })
    check_not(text, "ld%.global[%.%w]*%.v4")
  end)
end)
