-- The AMDGPU target down to assembly: instructions that must be there, and what must not.
local compiler = require("roc.core").testing.compiler
local roc = require "roc"
local assembly = require "support.assembly"
local asserted = require "support.asserted"

local CHIPS = { "gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201" }

local SAXPY = [[
kernel saxpy(n.0: int, a.1: f32, x.2: float32[1] c read narrow, y.3: float32[1] c read written narrow) check contract
  array x.0 = param x.2
  array y.1 = param y.3
  site 0 index "saxpy.lua" 7 3 dim 0 values 2 name "x"
  %0: int = global_id 0
  %1: int = extent y.1 0
  %2: bool = le %0 %1
  if %2
    check.index x.0 0 #0 %0
    %3: f32 = load x.0 %0
    %4: f32 = param a.1
    %5: f32 = mul %4 %3
    %6: f32 = load y.1 %0
    %7: f32 = add %5 %6
    store y.1 %7 %0
  end
end
]]

local HEAD = [[
kernel k(n.0: int, x.1: float32[1] c read written, d.2: float64[1] c read written, h.3: int32[1] c read written, g.4: int32[1] c host read written, b.5: bool)
  array x.0 = param x.1
  array d.1 = param d.2
  array h.2 = param h.3
  array g.3 = param g.4
  array s.4: float32[256] shared
  array t.5: float64[3] shared
  array dyn.6: int32 dynamic 16
  site 0 print "k.lua" 1 1 dim 0 values 1 : "n " int
  %0: int = global_id 0
  %1: int = local_id 0
  %2: int = const 1
]]

local function asm(text, chip) return compiler.ir_dump(text, chip or "gfx90a", "asm") end

local function body(chip, ...)
  return asm(HEAD .. table.concat({ ... }, "\n") .. "\nend\n", chip)
end

-- Each pattern is found after the one before.
local function check(text, ...)
  local at = 1
  for _, pattern in ipairs { ... } do
    local first, last = text:find(pattern, at)
    asserted.check(first, 2, "no %q in\n%s", pattern, text:sub(at, at + 4000))
    at = last + 1
  end
end

local function check_not(text, pattern)
  local at = text:find(pattern)
  local around = at and text:sub(math.max(at - 400, 1), at + 400)
  asserted.check(not at, 2, "%q in\n%s", pattern, around)
end

describe("the AMDGPU target #amdgpu", function()
  for _, chip in ipairs(CHIPS) do
    it("compiles a checked saxpy for " .. chip .. " without spills or scratch", function()
      local text = asm(SAXPY, chip)
      check(text, "amdgcn%-amd%-amdhsa%-%-" .. chip, "%.protected%s+roc_saxpy", "global_load_",
        "global_store_", "s_endpgm")
      check(text, "v_fma[ck]*_f32")
      check(text, "%.private_segment_fixed_size: 0", "%.sgpr_spill_count: 0",
        "%.vgpr_spill_count: 0")
      check_not(text, "\tflat_")
      check_not(text, "scratch_[ls]")
    end)
  end

  it("fuses no product and sum without contract", function()
    local text = asm((SAXPY:gsub("check contract", "check")))
    check(text, "v_mul_f32")
    check(text, "v_add_f32")
    check_not(text, "v_fma")
  end)

  it("makes code objects of version 5 for runtimes from ROCm 5.2 on", function()
    check(asm(SAXPY), "%.amdhsa_code_object_version 5")
  end)

  it("has arguments where the kernarg block has them, then fault and print", function()
    local offsets = {}
    for offset, size in asm(SAXPY):gmatch("%.offset:%s+(%d+)\n%s+%.size:%s+(%d+)") do
      offsets[#offsets + 1] = offset .. ":" .. size
    end
    assert.are.equal("0:8 8:8 16:8 24:4 28:4 32:4 40:8 48:8", table.concat(offsets, " "))
    check(asm(SAXPY), "%.kernarg_segment_size: 56")
  end)

  it("branches on each condition of a launch, and does not join them", function()
    local k = roc.kernel([[function(x, y, z)
      local i = roc.get_global_id(1)
      if i <= #z then z[i] = x[i] + y[3] end
    end]], { name = "k", env = { roc = roc }, signature = "(float32[:], float32[:], float32[:])" })
    for _, chip in ipairs { "gfx90a", "gfx1030" } do
      local head = k:inspect_asm(chip):match("\nroc_k:.-v_cmp")
      check(head, "s_cbranch_scc", "s_cbranch_scc")
      check_not(head, "s_cselect")
    end
  end)

  it("takes one branch for several checks, of the wavefront as a whole", function()
    local k = roc.kernel([[function(x, p, q)
      local i = roc.get_global_id(1)
      if i <= #x and i <= #p and i <= #q then
        local j, k = p[i], q[i]
        x[j] = 1
        x[k] = 2
        x[j + k] = 3
      end
    end]], { name = "k", env = { roc = roc }, signature = "(int32[:], int32[:], int32[:])" })
    for _, chip in ipairs { "gfx90a", "gfx1030" } do
      local straight = k:inspect_asm(chip):match("global_load.-global_store.-global_store")
      check(straight, "v_cmp", "v_cmp", "s_cbranch_vcc", "global_store")
      check_not(straight, "saveexec")
    end
  end)

  it("reads booleans from one byte", function()
    local text = body(nil, "%3: bool = param b.5", "if %3", "store h.2 %2 %0", "end")
    check(text, "%.offset:%s+72\n%s+%.size:%s+1")
  end)

  it("records a failed check with one atomic addition, and a store without", function()
    check(asm(SAXPY), "global_atomic_add v%d+, .* glc", "global_store_dword")
    check_not(asm(SAXPY), "cmpswap")
    check_not(asm((SAXPY:gsub("    check%.index[^\n]*\n", ""))), "global_atomic")
  end)

  it("adds the failed work-items of a wavefront up before one of them records", function()
    check(asm(SAXPY, "gfx90a"), "v_mbcnt_hi", "s_bcnt1_i32_b64", "global_atomic_add")
    check(asm(SAXPY, "gfx1100"), "v_mbcnt_lo", "s_bcnt1_i32_b32", "global_atomic_add")
  end)

  it("takes sizes from the dispatch packet and asks for no hidden arguments", function()
    local text = body(nil, "%3: int = global_size 0", "%4: int = num_groups 1",
      "%5: int = add %3 %4", "store h.2 %5 %0")
    check(text, "%.amdhsa_user_sgpr_dispatch_ptr 1")
    check_not(text, "hidden_")
  end)

  it("waits for shared memory around a barrier", function()
    local exchange = { "%3: f32 = load x.0 %0", "store s.4 %3 %1", "barrier 1",
      "%4: int = sub %2 %1", "%5: f32 = load s.4 %4", "store x.0 %5 %0" }
    check(body("gfx90a", table.unpack(exchange)), "ds_write_b32",
      "s_waitcnt lgkmcnt%(0%)\n%s+s_barrier", "ds_read_b32")
    check(body("gfx1201", table.unpack(exchange)), "ds_store_b32", "s_barrier_signal",
      "s_barrier_wait", "ds_load_b32")
    check_not(body("gfx1030", table.unpack(exchange)), "buffer_gl0_inv")
    exchange[3] = "barrier 3"
    check(body("gfx1030", table.unpack(exchange)), "s_barrier", "buffer_gl0_inv")
  end)

  it("counts static shared bytes and puts dynamic ones behind them", function()
    local text = body(nil, "%3: f32 = load x.0 %0", "store s.4 %3 %1", "%4: f64 = load d.1 %0",
      "store t.5 %4 %2", "barrier 3",
      "store dyn.6 %0 %1", "%5: int = extent dyn.6 0", "%6: f64 = load t.5 %1", "store d.1 %6 %5",
        "%7: f32 = load s.4 %5", "store x.0 %7 %5")
    check(text, "%.group_segment_fixed_size: 1[01]%d%d")
  end)

  it("uses one instruction for atomics on device memory, a loop on host memory", function()
    check(body(nil, "%3: int = atomic max h.2 %2 %0"), "global_atomic_smax")
    local host = body(nil, "%3: int = atomic max g.3 %2 %0")
    check(host, "global_atomic_cmpswap", "s_cbranch_execnz")
    check_not(host, "global_atomic_smax")
    check(body(nil, "%3: f32 = const 0.5", "%4: f32 = atomic add s.4 %2 %3"), "ds_add_[rtn_]*f32")
    check(body(nil, "%3: f32 = load x.0 %0", "%4: f32 = atomic add x.0 %2 %3"),
      "global_atomic_add_f32")
    check(body("gfx1030", "%3: f32 = load x.0 %0", "%4: f32 = atomic add x.0 %2 %3"),
      "global_atomic_cmpswap")
    for chip, name in pairs { gfx90a = "add_f32", gfx942 = "add_f32", gfx1100 = "add_f32" } do
      local text = body(chip, "%3: f32 = load x.0 %0", "%4: f32 = atomic sub x.0 %2 %3")
      check(text, "global_atomic_" .. name)
      check_not(text, "cmpswap")
    end
    check(body("gfx1030", "%3: f32 = const 0.5", "%4: f32 = atomic sub s.4 %2 %3"),
      "ds_add_[rtn_]*f32")
  end)

  it("has wavefronts of 64 up to gfx9 and of 32 from gfx10 on", function()
    for _, chip in ipairs(CHIPS) do
      check(asm(SAXPY, chip), "%.wavefront_size: " .. (chip:find("gfx9") and 64 or 32))
    end
  end)

  it("has wavefronts of 64 from gfx10 on where the target's name says so", function()
    for _, chip in ipairs(CHIPS) do
      local id = chip .. ":wavefrontsize64"
      if chip:find("gfx9") then
        assert.is_false(pcall(asm, SAXPY, id))
      else
        check(asm(SAXPY, id), "%.amdhsa_wavefront_size32 0", "%.wavefront_size: 64")
        local text = body(id, "%3: bool = lt %2 %1", "%4: int = wave ballot %3",
          "store h.2 %4 %0", "%5: int = wave_size", "store h.2 %5 %0", "%6: int = lane_id",
          "store h.2 %6 %0")
        check(text, "v_mbcnt_hi_u32_b32")
      end
    end
  end)

  it("reaches both halves of a wavefront of 64 from gfx10 on", function()
    local lines = { "%3: int = wave shuffle_xor %0 %2", "store h.2 %3 %0",
      "%4: int = wave permute %1 %3", "store h.2 %4 %1" }
    for _, chip in ipairs { "gfx1030", "gfx1100", "gfx1201" } do
      local text = body(chip .. ":wavefrontsize64", table.unpack(lines))
      check(text, "v_readlane_b32", "s_cbranch", "v_readlane_b32", "s_cbranch")
      check_not(text, "permute_b32")
    end
    check(body("gfx90a", table.unpack(lines)), "ds_bpermute_b32", "ds_permute_b32")
  end)

  it("moves values between lanes without memory", function()
    local text = body(nil, "%3: int = wave shuffle_xor %0 %2", "store h.2 %3 %0",
      "%4: int = wave permute %1 %3", "store h.2 %4 %1")
    check(text, "ds_bpermute_b32", "ds_permute_b32")
    check(body("gfx1030", "%3: int = wave sum %0", "store h.2 %3 %0"), "v_readlane_b32")
    check(body(nil, "%3: bool = lt %2 %1", "%4: int = wave ballot %3", "store h.2 %4 %0"), "v_cmp_")
  end)

  it("reduces by DPP, and across rows of 16 by what the target has", function()
    for chip, across in pairs {
      gfx906 = "row_bcast:31", gfx90a = "row_bcast:31", gfx942 = "row_bcast:31",
      gfx1030 = "v_permlanex16_b32", gfx1100 = "v_permlanex16_b32", gfx1201 = "v_permlanex16_b32",
    } do
      for _, op in ipairs { "sum", "min", "max" } do
        local text = body(chip, "%3: f32 = load x.0 %0", "%4: f32 = wave " .. op .. " %3",
          "store x.0 %4 %0", "%5: int = wave " .. op .. " %1", "store h.2 %5 %0")
        check(text, "row_shr:1 ", "row_shr:2 ", "row_shr:4 ", "row_shr:8 ", across,
          "v_readlane_b32")
        check_not(text, "_permute_b32")
      end
    end
    check(body("gfx1030:wavefrontsize64", "%3: int = wave sum %0", "store h.2 %3 %0"),
      "v_permlanex16", "v_readlane_b32 s%d+, v%d+, 63", "v_readlane_b32 s%d+, v%d+, 31")
  end)

  -- What a reduction writes in lanes that are not live must be nobody's.
  it("reduces in registers that hold nothing else", function()
    for _, chip in ipairs { "gfx90a", "gfx942", "gfx1030", "gfx1201" } do
      for _, dtype in ipairs { "int64", "float64", "float32" } do
        for _, is_checked in ipairs { true, false } do
          local k = roc.kernel([[function(x, y)
            local i = roc.get_global_id(1)
            local j = 1
            for at = i - 1, #y, roc.get_global_size(1) do j = at end
            if j > i then x[i][j] = roc.wave.sum(y[j]) else x[i][1] = roc.wave.max(y[j] + j) end
            x[j][2] = 0
          end]], { name = "reduce", env = { roc = roc }, check = is_checked,
            signature = ("(%s[:,:], %s[:])"):format(dtype, dtype) })
          local shared, stretches = assembly.shared(k:inspect_asm(chip))
          assert.same({}, shared)
          assert.is_true(stretches >= 2)
        end
      end
    end
  end)

  it("keeps all 64 bits of a constant that several variables may have", function()
    for _, chip in ipairs { "gfx90a", "gfx942", "gfx1030", "gfx1201" } do
      for _, constant in ipairs { "math.maxinteger", "-100", "1 << 40" } do
        local k = roc.kernel(([[function(n, x, out)
          local i = roc.get_global_id(1)
          local a, b, c = %s, %s, %s
          if n > 5 then a, b, c = x[i], n, x[i] + 1 end
          out[i][1], out[i][2], out[i][3] = a, b, c
        end]]):format(constant, constant, constant), { name = "several", env = { roc = roc,
          math = math }, signature = "(int64, int64[:], int64[:,:])" })
        local text = k:inspect_asm(chip)
        assert.same({}, assembly.cut(text))
        check(text, "global_store")
      end
    end
  end)

  it("keeps private arrays of 16-bit elements of any length", function()
    for _, n in ipairs { 5, 9, 13, 20 } do
      local k = roc.kernel(([[function(o, x)
        local i = roc.get_global_id(1)
        if i > #x then return end
        local v = roc.private.array(%d, "int16")
        for k = 1, %d do v[k] = x[i][k] end
        for a = 1, %d do
          for b = 1, %d - a do
            if v[b] > v[b + 1] then v[b], v[b - 2] = v[b + 1], v[b] end
          end
        end
        o[i] = v[3]
      end]]):format(n, n, n - 1, n), { name = "halves", env = { roc = roc },
        signature = "(int16[:], int16[:,:] strided)" })
      check(k:inspect_asm "gfx90a", "s_endpgm")
    end
  end)

  it("joins no three operands by a table on gfx950", function()
    local k = roc.kernel([[function(x, y, z, out)
      local i = roc.get_global_id(1)
      local a, b, c = x[i], y[i], z[i]
      local t = ~(a & b)
      local v = c & t
      out[i][1], out[i][2], out[i][3] = v ~ t, v, c & ~b
    end]], { name = "joined", env = { roc = roc },
      signature = "(int32[:], int32[:], int32[:], int32[:,:])" })
    local text = k:inspect_asm("gfx950")
    check(text, "gfx950", "v_and_b32", "global_store")
    check_not(text, "v_bitop3")
  end)

  it("waits for what a fence writes back", function()
    local chips = { gfx90a = false, gfx942 = true, gfx950 = true, gfx1100 = false }
    for chip, is_written in pairs(chips) do
      local text = body(chip, "%3: f64 = const 2.0", "fence 2", "store d.1 %3 %0")
      if is_written then
        check(text, "buffer_wbl2", "s_waitcnt vmcnt%(0%)", "global_store_dwordx2")
      else
        check_not(text, "buffer_wbl2")
      end
    end
  end)

  it("keeps private arrays in scratch only when it must", function()
    local text = SAXPY:gsub("  site 0", "  array p.2: float32[400] private\n  site 0")
      :gsub("store y.1 %%7 %%0", "%%8: int = const 2\n    store p.2 %%7 %%8\n    %%9: f32 = load "
        .. "p.2 %%8\n    store y.1 %%9 %%0")
    check(asm(text), "%.private_segment_fixed_size: 0")
    check(asm((text:gsub("load p.2 %%8", "load p.2 %%0"))), "%.private_segment_fixed_size: %d%d")
  end)

  it("links functions LLVM lacks, leaving nothing undefined", function()
    local lines = { "%3: f32 = load x.0 %0", "%4: f64 = load d.1 %0" }
    for i, name in ipairs { "sin", "tan", "exp", "log", "cbrt", "erf", "gamma", "rsqrt", "tanh" } do
      lines[#lines + 1] = ("%%%d: f32 = math %s %%3"):format(10 * i, name)
      lines[#lines + 1] = ("store x.0 %%%d %%0"):format(10 * i)
      lines[#lines + 1] = ("%%%d: f64 = math %s %%4"):format(10 * i + 1, name)
      lines[#lines + 1] = ("store d.1 %%%d %%0"):format(10 * i + 1)
    end
    local text = body("gfx1100", table.unpack(lines))
    check_not(text, "__ocml")
    check_not(text, "s_swappc")
  end)

  it("prints into the buffer", function()
    check(body(nil, "print #0 %0"), "global_atomic_add", "global_store_dwordx4")
  end)

  it("refuses more shared or private memory than there is", function()
    local function refusal(extent, kind)
      local text = SAXPY:gsub("  site 0",
        "  array big.2: float64[" .. extent .. "] " .. kind .. "\n  site 0")
        :gsub("    store y.1 %%7 %%0", "    store big.2 %%7 %%0\n    barrier 3\n    %%8: f64 = "
          .. "load big.2 %%1\n    %%9: f32 = to.f32 %%8\n"
          .. "    store y.1 %%9 %%0")
      local ok, err = pcall(asm, text)
      assert.is_false(ok)
      return tostring(err)
    end
    assert.are.equal(
      "kernel 'saxpy': its shared arrays take 80000 bytes; a workgroup of gfx90a has 65536",
      refusal(10000, "shared"))
    check(refusal(536870912, "shared"), "take 4294967296 bytes")
    check(refusal(536870912, "private"), "^kernel 'saxpy': a work%-item needs %d+ bytes of private "
      .. "memory .*array 'big' alone 4294967296.* on gfx90a")
  end)

  it("takes target features behind the name", function()
    check(asm(SAXPY, "gfx90a:sramecc+:xnack-"), "amdgcn%-amd%-amdhsa%-%-gfx90a:sramecc%+:xnack%-")
  end)

  it("refuses names it does not know, and lists those it does", function()
    for _, name in ipairs { "gfx90", "gfx9000", "gfx90a:", "gfx90a:xnack", "gfx90a:xnack+:xnack-",
      "gfx1030:xnack+", "GFX90A" } do
      local ok, err = pcall(asm, SAXPY, name)
      assert.is_false(ok)
      check(tostring(err), "gfx900, gfx906", "gfx1201")
    end
  end)
end)

-- Each kernel of the library with types, an instruction its assembly has, and its shared bytes.
local LIBRARY = {
  { "saxpy", "saxpy", "(float64, float32[:], float32[:])", "v_f?ma", 0 },
  { "saxpy", "triad", "(float64, float32[:], float32[:], float32[:])", "v_f?ma", 0 },
  { "gemm", "naive", "(float32[:,:], float32[:,:], float32[:,:])", "v_f?ma", 0 },
  { "gemm", "tiled", "(float32[:,:], float32[:,:], float32[:,:])", "s_barrier", 4096 },
  { "gemm", "blocked", "(float32[:,:], float32[:,:], float32[:,:])", "s_barrier", 16640,
    { 16, 16 } },
  { "gemm", "paired", "(float32[:,:], float32[:,:], float32[:,:])", "s_barrier", 16640,
    { 16, 16 }, spills = "^gfx1" }, -- it takes more than 256 registers
  { "gemm", "spread", "(float32[:,:], float32[:,:], float32[:,:])", "s_barrier", 8192,
    { 16, 16 } },
  { "transpose", "naive", "(float32[:,:], float32[:,:])", "global_store_", 0 },
  { "transpose", "tiled", "(float32[:,:], float32[:,:])", "s_barrier", 1088 },
  { "transpose", "blocked", "(float32[:,:], float32[:,:])", "s_barrier", 4224, { 32, 8 } },
  { "transpose", "wide", "(float32[:,:], float32[:,:])", "s_barrier", 16640, { 64, 4 } },
  { "histogram", "bytes", "(uint8[:], int32[:])", "ds_add_", 1024 },
  { "nbody", "step", "(float32[:,:], float32[:,:], float32[:,:], float64, float64)", "s_barrier",
    2048 },
  { "scan", "blocks", "(float32[:], float32[:], float32[:])", "s_barrier", 1024 },
  { "scan", "raise", "(float32[:], float32[:])", "global_store_", 0 },
  { "reduce", "sum", "(float32[:], float32[:])", "s_barrier", 1024 },
  { "random", "fill", "(float32[:], int64)", "global_store_", 0 },
}

-- For NVIDIA GPUs: on RDNA it has more values than registers.
local NOT_FOR_AMD = { ["gemm.paired"] = true }

-- The kernel anew, typed by its signature; on sim, which compiles nothing for itself.
local function typed(case, check_flag)
  local roc = require "roc"
  local scope <close> = roc.on_device("sim")
  local library = require("roc.kernels." .. case[1])
  local kernel = library[case[2]] or library[case[2] .. "_for"](roc.float32)
  return roc.kernel(kernel:fn(), { name = kernel.name, signature = case[3], check = check_flag,
    workgroup = case[6] })
end

describe("the kernel library on AMDGPU #amdgpu", function()
  it("has all its kernels here", function()
    local roc = require "roc"
    local listed = {}
    for _, case in ipairs(LIBRARY) do listed[case[1] .. "." .. case[2]] = true end
    for _, module in ipairs { "saxpy", "gemm", "transpose", "histogram", "nbody", "scan", "reduce",
      "random" } do
      for name, value in pairs(require("roc.kernels." .. module)) do
        if getmetatable(value) == getmetatable(roc.kernel(function() end)) then
          local full = module .. "." .. name
          assert.is_true(listed[full] or NOT_FOR_AMD[full], full)
        end
      end
    end
  end)

  for _, case in ipairs(LIBRARY) do
    for _, how in ipairs { "checked", "unchecked" } do
      it(("compiles %s.%s %s for CDNA and RDNA without spills or scratch"):format(case[1], case[2],
        how), function()
        local kernel = typed(case, how == "checked")
        check(kernel:inspect_llvm("gfx1030"), "target triple = \"amdgcn%-amd%-amdhsa",
          "define [^\n]*amdgpu_kernel")
        for _, chip in ipairs { "gfx90a", "gfx1030", "gfx1100" } do
          local text = kernel:inspect_asm(chip)
          check(text, case[4])
          check(text, "%.group_segment_fixed_size: " .. case[5])
          if not chip:find(case.spills or "none") then
            check(text, "%.private_segment_fixed_size: 0", "%.sgpr_spill_count: 0",
              "%.vgpr_spill_count: 0")
          end
        end
      end)
    end
  end
end)
