-- 32-bit index arithmetic, and kernels without checks beside kernels with them, on the AMDGPU
-- target.
local roc = require "roc"

-- The kernel, typed by its signature; on sim, which compiles nothing for itself.
local function kernel(text, signature, check)
  local scope <close> = roc.on_device("sim")
  return roc.kernel("return " .. text, { name = "k", signature = signature, check = check,
    env = { roc = roc, math = math } })
end

local function typed(from, signature, check, workgroup)
  local scope <close> = roc.on_device("sim")
  return roc.kernel(from:fn(), { name = from.name, signature = signature, check = check,
    workgroup = workgroup })
end

-- Instructions up to the end of the program; what stands behind it is rarely run.
local function hot(k, chip)
  local lines = {}
  local text = k:inspect_asm(chip or "gfx90a"):match("\nroc_[%w_]+:(.-)\n[^\n]*s_endpgm")
  for line in text:gmatch("\n\t([%w_]+[^\n;]*)") do lines[#lines + 1] = line end
  return lines, table.concat(lines, "\n")
end

local SAXPY = [[function(a, x, y)
  local i = roc.get_global_id(1)
  if i <= #y then y[i] = a * x[i] + y[i] end
end]]

describe("index arithmetic on AMDGPU #amdgpu", function()
  for element, names in pairs { uint8 = { "ubyte", "byte" }, int16 = { "ushort", "short" },
    float32 = { "dword", "dword" }, float64 = { "dwordx2", "dwordx2" } } do
    it("takes 32-bit offsets beside a base and a constant for " .. element, function()
      local k = kernel("function(x, y) local i = roc.get_global_id(1) y[i - 1] = x[i + 1] end",
        ("(%s[:], %s[:])"):format(element, element), false)
      local _, text = hot(k)
      assert.matches("global_load_" .. names[1] .. " v[%d%[:%]]+, v%d+, s%[%d+:%d+%] offset:", text)
      assert.matches("global_store_" .. names[2] .. " v%d+, v[%d%[:%]]+, s%[", text)
      assert.not_matches("_co_", text)
    end)
  end

  it("computes indices of flat arrays in 32 bits, neighbours beside one offset", function()
    local lines, text = hot(kernel([[function(a, b, w)
      local x, y = roc.grid(2)
      local i = (y - 1) * w + x
      b[i] = a[i - 1] + a[i + 1] + a[i + w]
    end]], "(float32[:], float32[:] narrow, int64 narrow)", false))
    assert.not_matches("_co_", text)
    assert.not_matches("_b64 v", text)
    local offset = text:match("global_load_dword v%d+, (v%d+), s%[%d+:%d+%] offset:%-8")
    assert.matches("global_load_dword v%d+, " .. offset .. ", s%[%d+:%d+%]$",
      table.concat(lines, "\n"):match("[^\n]*" .. offset .. ", s%[%d+:%d+%]\n"):sub(1, -2))
  end)

  it("adds offsets of 32 bits to bases in blocks after a guard, too", function()
    local _, text = hot(kernel([[function(a, b, c)
      local i = roc.get_global_id(1)
      if i > #c then return end
      local s = i > 1 and a[i - 1] or 0.0
      local t = i > 1 and b[i - 1] or 0.0
      c[i] = s + t
    end]], "(float32[:] narrow, float32[:] narrow, float32[:] narrow)", false))
    assert.not_matches("_co_", text)
  end)

  it("adds an offset once more in another block, beside the base", function()
    local _, text = hot(kernel([=[function(from, to, length, dist)
      local e = roc.get_global_id(1)
      if e > #from then return end
      local d = dist[from[e]]
      if d < 1000 then
        local other = length[e]
        if other < dist[to[e]] then roc.atomic.min(dist, to[e], other) end
      end
    end]=], "(int32[:] narrow, int32[:] narrow, int32[:] narrow, int32[:] narrow)", false))
    assert.not_matches("_co_", text)
    assert.not_matches("_b64 v", text)
  end)

  it("loads what all share by scalar instructions in another block, too", function()
    local _, text = hot(kernel([=[function(a, b, c)
      local i, g = roc.get_global_id(1), roc.get_group_id(1)
      if i > #c then return end
      local s = a[g]
      if s > 1.0 then s = s + b[g] end
      c[i] = s
    end]=], "(float32[:] narrow, float32[:] narrow, float32[:] narrow)", false))
    assert.not_matches("global_load", text)
  end)

  it("adds offsets that are cut out of 64 bits, chosen or carried beside the base", function()
    local _, text = hot(kernel([=[function(bits, c, width)
      local i = roc.get_global_id(1)
      if i > #c then return end
      local at = (i - 1) * width
      c[i] = bits[(at >> 5) + 1]
    end]=], "(uint32[:] narrow, uint32[:] narrow, int64 narrow)", false))
    assert.not_matches("_co_", text)
    _, text = hot(kernel([=[function(next, other, c)
      local i = roc.get_global_id(1)
      if i > #c then return end
      local at = c[i]
      while next[at] ~= 0 do
        if other[at] == 0 then at = next[at] else at = other[at] end
      end
      c[i] = at
    end]=], "(int32[:] narrow, int32[:] narrow, int32[:] narrow)", false))
    assert.not_matches("_co_", text)
  end)

  it("shifts in 32 bits what has 32, by a count that is not negative", function()
    local _, text = hot(kernel([[function(x, s, y)
      local i = roc.get_global_id(1)
      if i <= #y then y[i] = (x[i] << s[i]) ~ (x[i] >> s[i]) end
    end]], "(uint32[:] narrow, uint8[:] narrow, uint32[:] narrow)", false))
    assert.matches("v_lshlrev_b32", text)
    assert.not_matches("v_lsh[lr]+rev_b64", text)
  end)

  it("divides what has 32 bits by what may have more without a branch", function()
    local _, text = hot(kernel([[function(x, y)
      local i = roc.get_global_id(1)
      if i <= #y then y[i] = x[i] % (#x * 32) end
    end]], "(uint32[:] narrow, uint32[:] narrow)", false))
    assert.equal(1, select(2, text:gsub("s_cbranch", "")))
  end)

  it("carries an index that each round checks in 32 bits, and shifts by what rounds add", function()
    local text = select(2, hot(kernel([[function(bytes, offsets, out)
      local i = roc.get_global_id(1)
      if i > #out then return end
      local at, shift, value = offsets[i] + 1, 0, 0
      local byte = bytes[at]
      while byte >= 128 do
        value = value | (byte & 127) << shift
        shift = shift + 7
        at = at + 1
        byte = bytes[at]
      end
      out[i] = value | byte << shift
    end]], "(uint8[:] narrow, int32[:] narrow, int32[:] narrow)")))
    local loop = text:match("^.-s_cbranch_execnz")
    assert.not_matches("_co_", loop)
    assert.not_matches("v_lsh[lr]+rev_b64", loop)
  end)

  it("compares indices out of memory in 32 bits, without the 1 that is added", function()
    local _, text = hot(kernel([[function(from, to, length, dist)
      local e = roc.get_global_id(1)
      if e <= #from then
        local d = dist[from[e] + 1] + length[e]
        if d < dist[to[e] + 1] then roc.atomic.min(dist, to[e] + 1, d) end
      end
    end]], "(int32[:] narrow, int32[:] narrow, int32[:] narrow, int32[:] narrow)"))
    assert.matches("v_cmp_le_u32", text)
    assert.not_matches("v_add_u32_e32 v%d+, %-1, v", text)
    assert.not_matches("offset:%-4", text)
  end)

  it("counts a loop by the size of the grid without a division", function()
    local _, text = hot(kernel([[function(x)
      for i = roc.get_global_id(1), #x, roc.get_global_size(1) do x[i] = x[i] * 2.0 end
    end]], "(float32[:])", false))
    assert.not_matches("v_rcp", text)
    assert.matches("v_add_u32_e64 v%d+, v%d+, s%d+ clamp", text) -- the sum may pass 2^32
  end)

  it("counts loops up and down in 32 bits", function()
    for _, bounds in ipairs { "1, n, 3", "n, 1, -3" } do
      local llvm = kernel(("function(x, n) for i = %s do x[i] = 1.0 end end"):format(bounds),
        "(float32[:], int64 narrow)", false):inspect_llvm("gfx90a")
      assert.matches("phi i32", llvm)
      assert.not_matches("phi i64", llvm)
    end
  end)

  it("counts in 32 bits from below 0, where what comes after the last fits as well", function()
    local function llvm(element, bounds)
      return kernel(("function(x, y) for i = %s do y[i + 9] = 1.0 end end"):format(bounds),
        ("(%s[:] narrow, float32[:] narrow)"):format(element), false):inspect_llvm("gfx90a")
    end
    for _, bounds in ipairs { "-8, #x - 1, 8", "#x, -8, -8" } do
      assert.not_matches("phi i64", llvm("float32", bounds))
      assert.matches("phi i64", llvm("uint8", bounds:gsub("8$", "2147483647")))
    end
  end)

  it("computes low halves where no more is stored", function()
    for result, opcodes in pairs { ["sum >> 8"] = "", ["(sum // 16) & 255"] = "", ["-sum"] = "",
      ["sum // 3"] = "i64", ["sum > 5 and 1 or 0"] = "i64" } do
      local k = kernel(([[function(x, w, y, n)
        local i, sum = roc.get_global_id(1), 0
        for d = 1, n do sum = sum + x[d] * w[d] end
        y[i] = %s
      end]]):format(result), "(uint8[:], int32[:], uint8[:], int64 narrow)", false)
      local finds = opcodes == "i64" and assert.matches or assert.not_matches
      finds("%%sum = alloca i64", k:inspect_llvm("gfx90a"))
    end
  end)

  it("takes negatives in 32 bits to floats, and unrolls what counts few", function()
    local k = kernel([[function(x, y)
      local i = roc.get_global_id(1)
      if i <= 2 or i > #x - 2 or i > #y then return end
      local sum = 0.0
      for a = -2, 2 do
        for b = -2, 2 do sum = sum + math.exp(-(a * a + b * b) * x[i + a] * x[i + b]) end
      end
      y[i] = sum
    end]], "(float32[:], float32[:])", false)
    local _, text = hot(k)
    assert.not_matches("s_flbit", text)
    assert.not_matches("s_cbranch_scc", text)
  end)

  it("adds what a window's loop counts to the offset of the instruction", function()
    local k = kernel([[function(x, y)
      local i = roc.get_global_id(1)
      if i <= 3 or i > #x - 3 or i > #y then return end
      local sum = 0.0
      for d = -3, 3 do sum = sum + x[i + d] * d end
      y[i] = sum
    end]], "(float32[:], float32[:])", false)
    local _, text = hot(k)
    local bases = {}
    for base in text:gmatch("global_load_dword[x%d]* v[%[%]:%d]+, (v%d+), s%[%d+:%d+%]") do
      bases[base] = true
    end
    assert.is_nil(next(bases, next(bases)))
  end)

  it("takes the power of two of exp from the instruction alone", function()
    local _, text = hot(kernel([[function(x)
      local i = roc.get_global_id(1)
      x[i] = math.exp(x[i])
    end]], "(float32[:])", false))
    assert.equal(1, select(2, text:gsub("v_ldexp_f32", "")))
    assert.equal(2, select(2, text:gsub("v_cndmask", "")))
  end)

  it("rotates what it multiplies", function()
    local k = kernel([[function(x)
      local i = roc.get_global_id(1)
      local w = (x[i] * 0x1b873593) & 0xffffffff
      x[i] = ((w << 15) | (w >> 17)) & 0xffffffff
    end]], "(uint32[:])", false)
    local _, text = hot(k)
    assert.matches("v_alignbit_b32", text)
    assert.equal(1, select(2, text:gsub("v_mul_lo_u32", "")))
  end)

  it("counts in 32 bits between bounds out of memory", function()
    for _, bounds in ipairs { "o[i] + 1, o[i + 1]", "o[i + 1], o[i] + 1, -1" } do
      local llvm = kernel(([[function(o, x, y)
        local i = roc.get_global_id(1)
        local sum = 0.0
        for k = %s do
          sum = sum + x[k]
          y[k] = sum
        end
      end]]):format(bounds), "(int32[:], float32[:], float32[:])", false):inspect_llvm("gfx90a")
      assert.matches("phi i32", llvm)
      assert.not_matches("phi i64", llvm)
    end
  end)

  it("carries in 32 bits what only ever holds 32 bits", function()
    local k = kernel([[function(x, n)
      local i = roc.get_global_id(1)
      local a, b = x[i], 1
      for _ = 1, n do
        a, b = b, (((a >> 7) | (a << 25)) + b) & 0xffffffff
      end
      x[i] = a
    end]], "(uint32[:], int64 narrow)", false)
    assert.not_matches("alloca i64", k:inspect_llvm("gfx90a"))
    assert.matches("v_alignbit_b32 v%d+, v%d+, v%d+, 7", k:inspect_asm("gfx90a"))
    local wide = kernel([[function(x, n)
      local a, b = x[1], 1
      for _ = 1, n do a, b = b, a + b end
      x[2] = a > 0 and 1 or 0
    end]], "(uint32[:], int64 narrow)", false)
    assert.matches("%%b = alloca i64", wide:inspect_llvm("gfx90a"))
  end)

  it("carries in 32 bits what counted rounds add up to", function()
    local k = kernel([[function(x, y, n)
      local count, sum, both = 0, 5, 0
      for i = 1, #x do
        if x[i] > 3 then count = count + 1 end
        for _ = 1, 4 do sum = sum + (x[i] & 7) end
        if x[i] > 5 then both = both + 1 else both = both - 1 end
      end
      y[1] = count // n + sum // n + both // n
    end]], "(uint8[:] narrow, int64[:], int64 narrow)")
    local llvm = k:inspect_llvm("gfx90a")
    for name, bits in pairs { count = 32, sum = 64, both = 32 } do -- sum: up to 28 * 2^31
      assert.matches(("%%%%%s = alloca i%d"):format(name, bits), llvm)
    end
    local while_loop = kernel([[function(x, y)
      local count, i = 0, 1
      while x[i] > 3 do
        count, i = count + 1, x[i]
      end
      y[1] = count
    end]], "(int32[:], int64[:])", false)
    assert.matches("%%count = alloca i64", while_loop:inspect_llvm("gfx90a"))
  end)

  it("checks what was loaded as int32 in 32 bits", function()
    for _, from in ipairs { "v[i]", "v[i] + 1", "v[i] + i" } do
      local llvm = kernel(([[function(x, v)
        local i = roc.get_global_id(1)
        if i <= #v then x[%s] = 1 end
      end]]):format(from), "(float32[:] narrow, int32[:] narrow)"):inspect_llvm("gfx90a")
      assert.matches("icmp ult i32", llvm)
      assert.not_matches("icmp ult i64", llvm)
    end
  end)

  it("computes the offset of a matrix's element in two instructions, in 32 bits", function()
    local _, text = hot(typed(require("roc.kernels.transpose").tiled,
      "(float32[:,:], float32[:,:])", false))
    assert.not_matches("_u64_e", text) -- comparisons
    assert.are.equal(2, select(2, text:gsub("v_mul_lo_u32", "")))
    assert.not_matches("_u64", text)
    assert.not_matches("_co_", text)
    assert.are.equal(2, select(2, text:gsub("s_min_u32", "")))
  end)

  it("needs no check behind a guard that holds as a GPU's launches do not wrap", function()
    local text = [[function(x, y)
      local i = (roc.get_global_id(1) - 1) * 4
      if i + 4 <= #x and i + 4 <= #y then
        y[i + 1] = x[i + 1] + 1 y[i + 2] = x[i + 2] + 1
        y[i + 3] = x[i + 3] + 1 y[i + 4] = x[i + 4] + 1
      end
    end]]
    for _, chip in ipairs { "gfx90a", "gfx1030" } do
      local code = kernel(text, "(float32[:], float32[:])", true):inspect_asm(chip)
      assert.not_matches("cmpswap", code)
      assert.matches("global_load_dwordx4", code)
      assert.matches("global_store_dwordx4", code)
    end
  end)

  it("loads the pointers together where their being disjoint tells nothing", function()
    local types = "(float32[:], float32[:])"
    local once = kernel("function(x, y) local i = roc.get_global_id(1) y[i] = x[i] end", types,
      false)
    assert.not_matches("noalias noundef readonly", once:inspect_llvm("gfx90a"))
    assert.matches("s_load_dwordx4", once:inspect_asm("gfx90a"))
    local twice = kernel([[function(x, y)
      local i = roc.get_global_id(1)
      y[i] = 0.0
      y[i + 1] = x[i]
    end]], types, false)
    assert.matches("noalias noundef readonly", twice:inspect_llvm("gfx90a"))
    local again = kernel([[function(x, y)
      for i = 1, #x do y[i] = x[i] end
    end]], types, false)
    assert.matches("noalias noundef readonly", again:inspect_llvm("gfx90a"))
  end)

  it("reads the workgroup's size in every dimension by a scalar load", function()
    for d = 1, 3 do
      local k = kernel("function(y) y[1] = roc.get_local_size(" .. d .. ") end", "(int32[:])",
        false)
      for _, chip in ipairs { "gfx90a", "gfx1030" } do
        assert.not_matches("global_load", k:inspect_asm(chip))
      end
    end
  end)

  it("keeps 64 bits where extents are wide", function()
    local compiler = require("roc.core").testing.compiler
    local text = compiler.ir_dump([[
kernel k(x.0: int32[2] c read written) contract
  array x.0 = param x.0
  %0: int = group_id 0
  %1: int = const 4096
  %2: int = mul %0 %1
  %3: int = local_id 0
  store x.0 %3 %2 %3
end
]], "gfx90a", "llvm")
    assert.matches("mul i64", text)
    assert.matches("mul nsw i64", text)
  end)

  it("divides in 32 bits by what may be 0 but not negative", function()
    local k = kernel([[function(x, y)
      local i = roc.get_global_id(1)
      if i <= #y then y[i] = (i - 1) // x.shape[2] + (i - 1) % x.shape[2] end
    end]], "(float32[:,:], int32[:])", false)
    local lines = hot(k)
    assert.is_true(#lines < 70, #lines .. " instructions")
    local llvm = k:inspect_llvm("gfx90a")
    assert.matches("udiv i32", llvm)
    assert.matches("urem i32", llvm)
    assert.not_matches("div i64", llvm)
  end)

  it("divides in 64 bits what may be negative", function()
    local k = kernel("function(y) local i = roc.get_global_id(1) y[i] = y[i] // i end",
      "(int64[:])", false)
    assert.matches("sdiv i64", k:inspect_llvm("gfx90a"))
  end)

  it("converts by one instruction what is compared and bounded after math.floor", function()
    local signature = "(float32[:], float32[:], float32[:])"
    local function of(use)
      local k = kernel(([[function(x, t, y)
        local i = roc.get_global_id(1)
        local k = math.floor(x[i] * 3.5)
        %s
      end]]):format(use), signature, false)
      local lines, text = hot(k)
      return #lines, text, k:inspect_llvm("gfx90a"), k:inspect_asm("gfx90a")
    end
    local bounded, text, llvm = of("if k >= 1 and k <= #t then y[i] = t[k] end")
    assert.matches("v_cvt_i32_f32", text)
    assert.not_matches('asm "[^"]', llvm) -- what LLVM takes for a vector instruction has its waits
    assert.not_matches("v_cmp_%w+_i64", text)
    assert.is_true(bounded < 40, bounded .. " instructions")
    assert.is_true(of("k = math.max(1, math.min(k, #t)) y[i] = t[k]") < 40)
    local more = kernel([[function(x, t, y)
      local i = roc.get_global_id(1)
      local k = math.floor(x[i] * 3.5) + 1 -- which a float that is an integer leaves room for
      if k >= 1 and k <= #t then y[i] = t[k] end
      y[i] = y[i] + t[math.max(1, math.min(math.ceil(x[i]) + 7, #t))]
    end]], "(float32[:] narrow, float32[:] narrow, float32[:] narrow)")
    local _, sums = hot(more)
    assert.matches("v_add_i32 v%d+, v%d+, 1 clamp", sums)
    assert.not_matches("v_cvt_u32_f32", sums)
    -- what else is made of it, or is compared with it, takes it as it is
    for _, use in ipairs { "y[i] = k", "y[i] = t[k % 8 + 1]",
      "if k <= 2147483647 then y[i] = 1 end" } do
      local _, _, _, exact = of(use)
      assert.matches("v_cvt_u32_f32", exact, 1, true) -- where 32 bits do not hold it
    end
  end)

  it("has a division of 32 bits for operands of 64 bits that have no more", function()
    local text = "function(x, y, n) local i = roc.get_global_id(1) y[i] = x[i] // n end"
    local asm = kernel(text, "(int64[:], int64[:], int64)", false):inspect_asm("gfx90a")
    local decides, narrow, wide = asm:find("s_cbranch", 1, true), 0, 0
    assert.is_truthy(decides)
    for _ in asm:gmatch("v_rcp_iflag_f32") do narrow = narrow + 1 end
    for _ in asm:gmatch("v_trunc_f32") do wide = wide + 1 end
    assert.are.equal(1, narrow)
    assert.are.equal(1, wide) -- of the reciprocal's halves
  end)

  it("divides what was loaded as int32 in 32 bits", function()
    local k = kernel("function(x, y, n) local i = roc.get_global_id(1) "
      .. "y[i] = x[i] // n + x[i] % n end", "(int32[:], int64[:], int64 narrow)", false)
    local llvm = k:inspect_llvm("gfx90a")
    assert.matches("udiv i32", llvm)
    assert.not_matches("div i64", llvm)
  end)

  it("looks whether 32 bits do before it converts 64", function()
    for use, fast in pairs { ["c[i] = math.floor(x[i])"] = "v_cvt_i32_f32",
      ["x[i] = x[i] - math.floor(x[i])"] = "v_floor_f32",
      ["n[i] = math.floor(x[i])"] = "v_cvt_i32_f32", ["x[i] = n[i]"] = "v_cvt_f32_i32" } do
      local k = kernel(("function(x, n, c) local i = roc.get_global_id(1) %s end"):format(use),
        "(float32[:], int64[:], uint8[:])", false)
      local _, text = hot(k)
      assert.matches(fast, text)
      assert.matches("s_cbranch_vccnz", text)
      assert.not_matches("v_cvt_u32_f32", text)
      assert.not_matches("v_ffbh", text)
    end
  end)

  it("counts a loop in 32 bits whose rounds load at its counter", function()
    local function text_of(body)
      local k = kernel(([[function(x, from, y)
        local i = roc.get_global_id(1)
        local sum = 0.0
        for j = from[i] + 1, from[i] + from[i + 1] do %s end
        y[i] = sum
      end]]):format(body), "(float32[:] narrow, int32[:] narrow, float32[:] narrow)", false)
      return k:inspect_llvm("gfx90a")
    end
    assert.matches("%%j = phi i32", text_of("sum = sum + x[j]"))
    assert.matches("%%j = phi i64", text_of("sum = sum + x[j] if sum > 9.0 then break end"))
  end)

  it("adds a radius to an index in 32 bits", function()
    local llvm = kernel([[function(x, y, r)
      local i = roc.get_global_id(1)
      if i > #y then return end
      local sum = 0.0
      for d = -r, r do sum = sum + x[math.max(1, math.min(#x, i + d))] end
      y[i] = sum
    end]], "(float32[:] narrow, float32[:] narrow, int64 narrow)", false):inspect_llvm("gfx90a")
    assert.not_matches("icmp %w+ i64", llvm:match("\nfor.*") or llvm)
  end)

  it("needs no more instructions than the one-dimensional kernel has to", function()
    assert.is_true(#hot(kernel(SAXPY, "(float32, float32[:], float32[:])", false)) <= 26)
    assert.is_true(#hot(kernel(SAXPY, "(float32, float32[:], float32[:])", true)) <= 28)
  end)
end)

describe("kernels without checks beside kernels with them #amdgpu", function()
  for _, chip in ipairs { "gfx90a", "gfx1030", "gfx1201" } do
    it("decide by extents and sizes alone on " .. chip, function()
      local tiled = typed(require("roc.kernels.gemm").tiled,
        "(float32[:,:], float32[:,:], float32[:,:])", true, { 16, 16 })
      local _, text = hot(tiled, chip)
      assert.matches("s_cmp_[lg][te]_u32", text)
      assert.matches("s_cbranch_[sv]cc", text)
      assert.not_matches("global_atomic", text)
      assert.matches("global_atomic", tiled:inspect_asm(chip)) -- behind the end
    end)
  end

  it("leave the straight way with one comparison where a guard bounds the index", function()
    local lines, text = hot(kernel(SAXPY, "(float32, float32[:], float32[:])", true))
    assert.are.equal(1, select(2, text:gsub("s_cmp_", "")))
    assert.are.equal(1, select(2, text:gsub("s_cbranch_scc", "")))
    assert.are.equal(1, select(2, text:gsub("v_cmp_", "")), table.concat(lines, "\n"))
  end)

  for _, chip in ipairs { "gfx90a", "gfx1100" } do
    it("end the wavefront with the last of the work on " .. chip, function()
      local k = kernel(SAXPY, "(float32, float32[:], float32[:])", true)
      local lines, text = hot(k, chip)
      assert.not_matches("s_or_b%d+%s+exec", text)
      assert.not_matches("s_mov_b32 s%d+, [01]$", text)
      assert.matches("global_store_", lines[#lines])
      -- who enters the guard, who does not, and the kernel with checks
      assert.are.equal(3, select(2, k:inspect_asm(chip):gsub("\n[^\n;]*s_endpgm", "")))
    end)
  end

  it("wait for all where a work-item may have left before the last of the work", function()
    local k = kernel([[function(x, y)
      local i = roc.get_global_id(1)
      if i <= #y then
        if x[i] < 0.0 then
          y[i] = 0.0
          return
        end
        y[i] = x[i]
      end
    end]], "(float32[:], float32[:])", true)
    local lines = hot(k)
    assert.matches("s_or_b64%s+exec, exec", lines[#lines])
  end)

  it("are one where the promised workgroup proves what the launch would have to", function()
    local transpose = require("roc.kernels.transpose")
    local types = "(float32[:,:], float32[:,:])"
    for _, chip in ipairs { "gfx90a", "gfx1201" } do
      local checked <close> = transpose.tiled:compile(chip, types)
      local plain <close> = transpose.tiled_for(roc.float32, false):compile(chip, types)
      assert.are.equal(#plain.bytes, #checked.bytes)
    end
  end)

  it("are not made where nothing about the launch would prove a check", function()
    local k = kernel("function(x, y) local i = roc.get_global_id(1) y[i] = x[y[i]] end",
      "(int32[:], int32[:])", true)
    local _, text = hot(k)
    assert.matches("v_cmp_", text)
  end)
end)

-- Checks in the kernel that runs where the launch is in order; nil: there is no such kernel.
local function checks_left(text, signature, promise)
  local compiler = require("roc.core").testing.compiler
  local scope <close> = roc.on_device("sim")
  local k = roc.kernel("return " .. text, { name = "k", signature = signature, check = true,
    env = { roc = roc, math = math }, workgroup = promise })
  local ir = compiler.ir_version_launch(k:inspect_ir())
  local versioned = ir:match("\n  if versions[^\n]*\n(.-)\n  else") or
    (not ir:find("check%.index") and ir)
  return versioned and select(2, versioned:gsub("check%.", "")), ir
end

describe("checks that a launch proves #amdgpu", function()
  local cases = {
    ["constant indices"] = { "(uint8[:,:], uint8[:])", [[function(rgb, y)
      local i = roc.get_global_id(1)
      if i <= #y then y[i] = (rgb[i][1] + rgb[i][2] + rgb[i][3]) // 3 end
    end]] },
    ["an offset that a loop bounds"] = { "(float32[:], float32[:], float32[:])", [[function(x, w, y)
      local i = roc.get_global_id(1)
      if i > 2 and i <= #x - 2 then
        local sum = 0.0
        for d = 1, 5 do sum = sum + x[i + d - 3] * w[d] end
        y[i] = sum
      end
    end]] },
    ["the last value of a loop with a step"] = { "(float32[:], float32[:])", [[function(x, y)
      local part = roc.shared.array(16, "float32")
      local item, sum = roc.get_local_id(1), 0.0
      for k0 = 0, #x - 1, 16 do
        part[item] = x[k0 + item]
        roc.barrier()
        for k = 1, 16 do sum = sum + part[k] end
        roc.barrier()
      end
      y[item] = sum
    end]], { 16 } },
    ["a group's place"] = { "(float32[:], float32[:])", [[function(x, y)
      local first, item = (roc.get_group_id(1) - 1) * 64, roc.get_local_id(1)
      for u = 0, 3 do y[first + item + 16 * u] = x[first + item + 16 * u] end
    end]], { 16 } },
    ["what a loop carries"] = { "(float32[:])", [[function(x)
      local part = roc.shared.array({ 2, 64 }, "float32")
      local item, src, d = roc.get_local_id(1), 1, 1
      part[1][item] = 0.0
      while d < 64 do
        roc.barrier()
        local v = part[src][item]
        if item > d then v = v + part[src][item - d] end
        src = 3 - src
        part[src][item] = v
        d = d * 2
      end
      if item <= #x then x[item] = part[src][item] end
    end]], { 64 } },
    ["values that wrap"] = { "(float32[:], float32[:])", [[function(x, y)
      local i, n = roc.get_global_id(1), #x
      if i <= n then
        local before, after = i - 1, i + 1
        if before < 1 then before = n end
        if after > n then after = 1 end
        y[i] = x[before] + x[after] + x[(i + 5) % n + 1]
      end
    end]] },
    ["a place in two dimensions"] = { "(float32[:,:], int64 narrow, int64 narrow)",
      [[function(x, nx, ny)
      local i = roc.get_global_id(1)
      if nx > 0 and i <= nx * ny then x[(i - 1) // nx + 1][(i - 1) % nx + 1] = 1.0 end
    end]] },
    ["an argument as an index"] = { "(float32[:,:], int64 narrow)", [[function(x, k)
      local i = roc.get_global_id(1)
      if i <= #x then x[i][k] = x[k][1] end
    end]] },
  }
  for name, case in pairs(cases) do
    it("are those of " .. name, function()
      local left, ir = checks_left(case[2], case[1]:gsub("%]", "] narrow"), case[3])
      assert.are.equal(0, left, ir)
    end)
  end

  it("ask for nothing that never holds", function()
    local _, ir = checks_left([[function(x, y)
      local i = roc.get_global_id(1)
      local part = roc.shared.array(16, "float32")
      part[roc.get_local_id(1)] = 0.0
      x[i] = part[1]
      x[i + 1] = y[i]
    end]], "(float32[:] narrow, float32[:] narrow)")
    local condition = ir:match("^(.-)\n  if versions") or ""
    local known = {}
    for label, value in condition:gmatch("(%%%d+): int = (extent [%w. ]+)") do
      known[label] = value
    end
    for label, base in condition:gmatch("(%%%d+): int = add (%%%d+)") do
      known[label] = known[base]
    end
    for a, b in condition:gmatch("le (%%%d+) (%%%d+)") do
      assert.is_false(known[a] ~= nil and known[a] == known[b], ir)
    end
  end)
end)
