-- The CPU target on emitted code: what vectorises, what may be fused, what is known to be disjoint.
local compiler = require("roc.core").testing.compiler
local roc = require "roc"

-- The processors whose code is looked at, whatever this machine's is.
local PROCESSORS = { "cpu:x86-64-v3", "cpu:x86-64-v4" } -- AVX2, AVX-512

local function dump(text, stage, target)
  return compiler.ir_dump(text, target or "cpu:x86-64-v3", stage)
end

-- y[i] = a * x[i] + y[i], one check an array; `flags` follow the parameter list.
local function saxpy(flags, y_flags)
  return ([[
kernel saxpy(a.0: f32, x.1: float32[1] c read narrow, y.2: float32[1] c read written narrow %s) %s
  array x.0 = param x.1
  array y.1 = param y.2
  site 0 index "saxpy.lua" 7 3 dim 0 values 2 name "x"
  site 1 index "saxpy.lua" 7 9 dim 0 values 2 name "y"
  %%0: int = global_id 0
  %s
  %%3: f32 = load x.0 %%0
  %%4: f32 = param a.0
  %%5: f32 = mul %%4 %%3
  %%6: f32 = load y.1 %%0
  %%7: f32 = add %%5 %%6
  store y.1 %%7 %%0
end
]]):format(y_flags or "", flags,
    flags:find("check") and "check.index x.0 0 #0 %0\n  check.index y.1 0 #1 %0" or "")
end

local GATHER = [[
kernel gather(x.0: float32[1] c read narrow, y.1: float32[1] c written narrow, p.2: int32[1] c read narrow) check
  array x.0 = param x.0
  array y.1 = param y.1
  array p.2 = param p.2
  site 0 index "g.lua" 3 3 dim 0 values 2 name "x"
  site 1 index "g.lua" 3 9 dim 0 values 2 name "y"
  site 2 index "g.lua" 3 9 dim 0 values 2 name "p"
  %0: int = global_id 0
  check.index p.2 0 #2 %0
  %1: int = load p.2 %0
  check.index x.0 0 #0 %1
  %2: f32 = load x.0 %1
  check.index y.1 0 #1 %0
  store y.1 %2 %0
end
]]

local SINE = [[
kernel sine(x.0: float32[1] c read written narrow)
  array x.0 = param x.0
  %0: int = global_id 0
  %1: f32 = load x.0 %0
  %2: f32 = math sin %1
  store x.0 %2 %0
end
]]

-- Neighbours swap through shared memory; the value read before the barrier is used behind it.
local EXCHANGE = [[
kernel exchange(x.0: float32[1] c read written narrow)
  array x.0 = param x.0
  array s.1: float32[256] shared
  %0: int = global_id 0
  %1: int = local_id 0
  %2: f32 = load x.0 %0
  store s.1 %2 %1
  barrier 1
  %3: int = const 257
  %4: int = sub %3 %1
  %5: f32 = load s.1 %4
  %6: f32 = add %5 %2
  store x.0 %6 %0
end
]]

for _, target in ipairs(PROCESSORS) do
  describe(target, function()
    local lanes = target:find("v4") and 16 or 8
    local register = target:find("v4") and "zmm" or "ymm"

    it("makes valid IR and vectorises a plain loop over work-items", function()
      local text = dump(saxpy "contract", "llvm.opt", target)
      assert.truthy(text:find(("<%d x float>"):format(lanes), 1, true), text)
    end)

    it("vectorises a checked loop too", function()
      local text = dump(saxpy "check contract", "llvm.opt", target)
      assert.truthy(text:find(("masked.store.v%df32"):format(lanes))
        or text:find(("store <%d x float>"):format(lanes)), text)
    end)

    it("fuses a product and a sum only where contraction is allowed", function()
      assert.truthy(dump(saxpy "contract", "asm", target):find("vfmadd%d+ps[^\n]*%%" .. register))
      local exact = dump(saxpy "", "asm", target)
      assert.falsy(exact:find("vfmadd"))
      assert.truthy(exact:find("vmulps[^\n]*%%" .. register))
    end)

    it("calls libmvec with its widest vectors, from loops and from single items alike", function()
      local asm = dump(SINE, "asm", target)
      local called = {}
      for name in asm:gmatch("_ZGV%w+_%w+") do called[name] = true end
      local wide = target:find("v4") and "_ZGVeN8v_sin" or "_ZGVdN4v_sin"
      assert.same({ [wide] = true }, called)
    end)

    it("has no call that LLVM folds or takes for another", function()
      assert.falsy(dump(SINE, "llvm.opt", target):find("@sinf?[^%w.]"))
    end)
  end)
end

describe("the CPU target", function()
  it("vectorises a checked gather, whose index nothing proves, where processors gather", function()
    local text = dump(GATHER, "llvm.opt", "cpu:x86-64-v4")
    assert.truthy(text:find("masked.gather.v%d+f32"), text)
  end)

  it("says noalias of disjoint arrays only", function()
    local function body(text) return text:match("define internal void @body%b()") end
    local disjoint, overlapping = body(dump(saxpy "", "llvm")),
      body(dump(saxpy("", "alias"), "llvm"))
    assert.truthy(disjoint:find("noalias[%w ]*%%y"), disjoint)
    assert.falsy(overlapping:find("noalias[%w ]*%%y"), overlapping)
  end)

  it("runs the two sides of a barrier as loops of their own that both vectorise", function()
    local text = dump(EXCHANGE, "llvm")
    local _, loops = text:gsub("= distinct !{!%d+, !%d+, !%d+, !%d+}", "") -- those of items
    assert.equal(2, loops)
    local _, vectors = dump(EXCHANGE, "llvm.opt"):gsub("vector%.body%d*:", "")
    assert.is_true(vectors >= 2)
  end)

  it("walks all rows alike in one loop where nobody asks for his row", function()
    local _, rows = dump(saxpy "", "llvm"):gsub("\n[xyz]%d*:", "")
    assert.equal(1, rows)
    _, rows = dump(EXCHANGE, "llvm"):gsub("\n[xyz]%d*:", "")
    assert.equal(6, rows)
  end)

  it("divides for the place of a group without trying a shorter division", function()
    assert.falsy(dump(saxpy "", "asm"):find("divl"))
  end)

  it("counts work-items, and nothing else, where kernels are element-wise", function()
    local function counts_down(body)
      local asm = roc.kernel("function(x, o) local i = roc.get_global_id(1) " .. body .. " end", {
        env = { roc = roc }, check = false, signature = "(float32[:,:], float32[:])",
      }):inspect_asm "cpu:x86-64-v4"
      assert.matches("zmm", asm)
      return asm:find "addq%s+%$%-32, %%" ~= nil -- a counter that strength reduction has made
    end
    assert.is_true(counts_down "if i <= #o then o[i] = x[i][3] end") -- rows are a stride apart
    for _, body in ipairs {
      "if i <= #o then o[i] = o[i] * 2.5 + 1 end",
      "if i > 1 and i < #o then o[i] = x[2][i - 1] + x[1][i + 1] end",
      "if i <= #o then o[i] = x[roc.get_global_id(2)][1 + i] end",
    } do
      assert.is_false(counts_down(body), body)
    end
  end)

  it("begins loops over work-items at multiples of 32 bytes", function()
    assert.truthy(dump(saxpy "check", "asm"):find("\n%s*%.p2align%s+5\n"))
  end)

  it("asks for the lines of a chunk of items ahead without a loop", function()
    local kernel = roc.kernel([[function(x, o)
      local part = roc.shared.array(256, roc.float32)
      local item, first = roc.get_local_id(1), roc.get_global_id(1)
      if first <= #x then
        local s = x[first]
        for i = first + roc.get_global_size(1), #x, roc.get_global_size(1) do s = s + x[i] end
        part[item] = s
      end
      roc.barrier()
      if item == 1 then o[roc.get_group_id(1)] = part[1] end
    end]], { signature = "(float32[:], float32[:])", env = { roc = roc } })
    local four = ("prefetcht0[^\n]*\n%s*"):rep(4)
    assert.matches(four, kernel:inspect_asm("cpu:x86-64-v4"))
  end)

  it("does not write out rows that are set at once", function()
    local kernel = roc.kernel([[function(a, b, n)
      local i, s = roc.get_global_id(1), 0.0
      for j = 1, n do s = s + a[j] * b[(i + j) % n + 1] end
      a[i] = s
    end]], { signature = "(float32[:], float32[:], int64)", env = { roc = roc } })
    local text = kernel:inspect_llvm("cpu:x86-64-v3", "opt")
    assert.matches("llvm.memset", text, 1, true)
    assert.is_nil(text:find(".epil", 1, true))
  end)

  -- Another thread must not see one half of it.
  it("stores atomically what two parts were put together to", function()
    local k = roc.kernel(function(out, x, a)
      local f, bits = roc.shared.array(0, "float32", 0), roc.shared.array(0, "int32", 0)
      for j = 1, #x do
        f[1] = x[j]
        roc.atomic.store(out, 1, (bits[1] & 0xffffffff) << 32 | (a[j] & 0xffffffff))
      end
    end, { signature = "(int64[:], float32[:], int32[:])" })
    local asm = k:inspect_asm("cpu:x86-64-v3")
    assert.truthy(asm:find("\n\tmovq\t%%%w+, %(%%%w+%)"), asm)
    assert.falsy(asm:find("\n\tmovl\t%%%w+, %(%%%w+%)"), asm)
  end)

  it("compiles for a processor that is named, and refuses names that are none", function()
    local k = roc.kernel(function(x)
      local i = roc.get_global_id(1)
      if i <= #x then x[i] = x[i] + 1 end
    end, { signature = "(float32[:])" })
    for target, register in pairs { ["cpu:x86-64"] = "xmm", ["cpu:x86-64-v3"] = "ymm",
      ["cpu:znver3"] = "ymm", ["cpu:x86-64-v4"] = "zmm" } do
      local asm = k:inspect_asm(target)
      assert.truthy(asm:find(register, 1, true), target)
      assert.equal(register == "zmm", asm:find("zmm", 1, true) ~= nil)
      assert.is_true(register ~= "xmm" or not asm:find("ymm", 1, true))
      local code <close> = k:compile(target)
      assert.equal(target, code.target)
      assert.equal("\127ELF", code.bytes:sub(1, 4))
    end
    for _, target in ipairs { "cpu:", "cpu:z80", "cpu:i386", "cpu:X86-64", "cpu:x86-64-v3 ", "cpux",
      "cpu:cpu", "cpu:+avx2", "cpu:gfx90a" } do
      for _, method in ipairs { "inspect_asm", "inspect_llvm", "compile" } do
        local ok, message = pcall(k[method], k, target)
        assert.is_false(ok)
        assert.matches("no such compile target; there are cpu, cpu:x86%-64, .*cpu:NAME.*znver3",
          message)
      end
    end
  end)

  it("refuses private memory that no machine has", function()
    local ok, message = pcall(dump, [[
kernel big(x.0: float32[1] c read written narrow)
  array x.0 = param x.0
  array p.1: float64[1099511627776] private
  %0: int = global_id 0
  %1: f32 = load x.0 %0
  %2: f64 = to.f64 %1
  store p.1 %2 %0
end
]], "llvm")
    assert.is_false(ok)
    assert.truthy(tostring(message):find("per work%-item", 1), tostring(message))
  end)
end)

describe("a division of integers by what all items have in common", function()
  for _, processor in ipairs(PROCESSORS) do
    it("is done in vectors on " .. processor, function()
      for _, check in ipairs { true, false } do
        local kernel = roc.kernel(function(x, out, width)
          local i = roc.get_global_id(1)
          if i > #out then return end
          local row, column = (i - 1) // width, (i - 1) % width
          if row > 0 and column > 0 then out[i] = x[i] + x[i - 1] else out[i] = 0.0 end
        end, { check = check, signature = "(float32[:], float32[:], int64)" })
        assert.matches("fmul <%d+ x double>", kernel:inspect_llvm(processor, "opt"))
      end
    end)
  end
end)

describe("a large kernel", function()
  local loops = {}
  for j = 1, 24 do loops[j] = ("for j = 1, n do s = s + x[j + %d] * %d end"):format(j, j % 5) end
  local text = "function(x, y, n) local i, s = roc.get_global_id(1), 0.0 if i <= #y then "
    .. table.concat(loops, " ") .. " y[i] = s + i end end"

  -- The time that registers take grows with the square of a function's size.
  it("has its loops in functions of their own, with the same results", function()
    local kernel = roc.kernel(text,
      { env = { roc = roc }, signature = "(float32[:], float32[:], int64)" })
    local asm = kernel:inspect_asm("cpu")
    assert.is_true(select(2, asm:gsub("\nbody%.[^:\n]*:", "")) >= 48) -- of chunks, and the rest
    local x = roc.zeros(40, "float32")
    for i = 1, 40 do x[i] = i end
    for _, n in ipairs { 0, 3, 16 } do
      local results = {}
      for _, device in ipairs { "cpu", "sim" } do
        results[device] = roc.zeros(150, "float32")
        local scope <close> = roc.on_device(device)
        kernel[{ 2, 100 }](x, results[device], n)
      end
      assert.same(results.sim:totable(), results.cpu:totable())
    end
    assert.error_matches(function() kernel[{ 2, 100 }](x, roc.zeros(150, "float32"), 17) end,
      "index 41 out of range 1..40 of 'x'")
  end)
end)
