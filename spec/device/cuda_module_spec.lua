-- roc.module of PTX: what its parameter lists say, what a launch hands to the driver for it, and
-- what is refused.  The driver library is the stand-in of spec/c/fake_cuda.h, in processes of their
-- own: it runs no kernel, but writes down each launch.
local clang = require "support.clang"
local files = require "support.files"
local programs = require "support.programs"
local shell = require "support.shell"
local testing = require("roc.core").testing

-- As nvcc writes it: a pointer is a word of 64 bits, an int has no sign.
local PTX = [[
// .entry comment(
.version 7.8
.target sm_80, debug
.address_size 64
/* .entry other( */
.file 1 "a.entry b(.cu"
.visible .global .align 4 .u32 counter;
.visible .entry mix(
  .param .u64 mix_param_0,
  .param .f32 mix_param_1,
  .param .u8 mix_param_2,
  .param .u32 mix_param_3,
  .param .align 8 .b8 mix_param_4[24],
  .param .u64 mix_param_5
)
.maxntid 128, 1, 1
.minnctapersm 2
{
  .reg .pred %p<2>;
  ret;
}
.visible .entry exact(.param .u64 .ptr .global .align 4 exact_param_0, .param .f64 exact_param_1)
.reqntid 32, 2
{ ret; }
.visible .entry none() { ret; }
.visible .entry bare { ret; }
.visible .entry textured(.param .texref picture, .param .u32 n) { ret; }
.visible .entry offset(.param .u64 .ptr .shared .align 8 memory) { ret; }
]]

local CL = [[
struct mixed { int a; float b; long c; };
kernel void values(global double *o, struct mixed v, float4 q, char c, global half *h, ulong u) {
  o[0] = v.a + v.b + v.c + q.w + c + u + (h == 0);
}
]]

local program = programs.find("cuda_calls_test")
local library = program and program:gsub("bin/[^/]*$", "lib/libfake_cuda.so")

describe("roc.module of PTX", function()
  if not shell.interpreter then return pending("not run by roclua") end
  if not library then return pending("cuda_calls_test is not built") end

  -- Output of a script that has the PTX in `ptx` and `refuses(call, …)`, which prints the
  -- message; the launches, each {what, arguments}; and what the stand-in counted.
  local function run(ptx, script)
    local path, report, launches = os.tmpname(), os.tmpname(), os.tmpname()
    local file <close> = assert(io.open(path, "w"))
    file:write(("local roc, ptx = require 'roc', %q\n"):format(ptx),
      "local function refuses(...) print(select(2, pcall(...))) end\n", script):flush()
    local output, status = shell.run(("ROCLUA_CUDA_LIBRARY=%s FAKE_CUDA_REPORT=%s "
      .. "FAKE_CUDA_LAUNCHES=%s ROCLUA_DEVICE=cuda timeout 100 ROCLUA_SPEC %s"):format(library,
      report, launches, path))
    assert.are.equal(0, status, output)
    local launched, counts = {}, {}
    for line in io.lines(launches) do
      local what, digits = line:match("^(.*) (%x*)$")
      launched[#launched + 1] = { what,
        (digits:gsub("%x%x", function(x) return string.char(tonumber(x, 16)) end)) }
    end
    for line in io.lines(report) do
      local name, count = line:match("^(.*) (%-?%d+)$")
      counts[name] = tonumber(count)
    end
    for _, each in ipairs { path, report, launches } do os.remove(each) end
    return output, launched, counts
  end

  local function has(output, ...)
    for _, text in ipairs { ... } do assert.is_truthy(output:find(text, 1, true), output) end
  end

  it("tells kernels and arguments", function()
    local output = run(PTX, [[
      local m = roc.module(ptx)
      print(table.concat(m.kernels, " "))
      for _, name in ipairs { "mix", "exact", "none", "bare" } do
        local kinds = {}
        for i, a in ipairs(m:kernel(name).arguments) do
          kinds[i] = a.kind .. " " .. a.size .. (a.dtype and " " .. tostring(a.dtype) or "")
        end
        print(name .. ": " .. table.concat(kinds, ", "))
      end
      local declared = m:kernel("mix", { "in", [6] = "int64" }).arguments
      print(declared[1].kind, declared[1].is_written, declared[6].kind)]])
    has(output, "mix exact none bare textured offset\n",
      "mix: pointer or value 8, value 4 float32, value 1, value 4, value 24, pointer or value 8\n",
      "exact: pointer 8, value 8 float64\nnone: \nbare: \n", "pointer\tfalse\tvalue\n")
  end)

  it("hands over the arguments alone, each at its place", function()
    local output, launches, counts = run(PTX, [[
      local m = roc.module(ptx)
      local mix, exact = m:kernel "mix", m:kernel "exact"
      local x, y = roc.device_array(1000, "float32"), roc.device_array(1000, "float32")
      local s = string.pack("<i8i8i8", 1, 2, 3)
      print(("%d %d"):format(x.pointer, y.pointer))
      mix[{ 4, 64 }](x, 2.5, 7, -3, s, y)
      mix[{ { 2, 3 }, { 16, 4 }, nil, 4096 }](x:slice(1, 11, 20), 1, true, 4.0, s, -5)
      mix[{ 1, 1 }](nil, 0, 0, 0xffffffff, s, 0)
      exact:launch({ grid = { 64, 4 } }, y, 1)
      local none = m:kernel "none"
      m:close()
      none:launch({ groups = 3, workgroup = 32 })]])
    local x, y = output:match("^(%d+) (%d+)\n$")
    assert.is_truthy(y, output)
    local MIX = "<I8fBxxxI4xxxxi8i8i8i8"
    assert.are.same({
      { "mix 4 1 1 64 1 1 0", MIX:pack(x, 2.5, 7, 2^32 - 3 | 0, 1, 2, 3, y) },
      { "mix 2 3 1 16 4 1 4096", MIX:pack(x + 40, 1, 1, 4, 1, 2, 3, -5) },
      { "mix 1 1 1 1 1 1 0", MIX:pack(0, 0, 0, 0xffffffff, 1, 2, 3, 0) },
      { "exact 2 2 1 32 2 1 0", ("<I8d"):pack(y, 1) },
      { "none 3 1 1 32 1 1 0", "" },
    }, launches)
    assert.are.equal(1, counts.cuModuleLoadDataEx) -- so kernels share its variables
    for _, name in ipairs { "modules", "memory", "streams", "violations" } do
      assert.are.equal(0, counts[name], name)
    end
  end)

  it("refuses what does not fit, and what it cannot serve, by name", function()
    local output, launches = run(PTX, [[
      local m = roc.module(ptx)
      local mix, exact = m:kernel "mix", m:kernel "exact"
      local x, s = roc.device_array(100, "float32"), ("x"):rep(24)
      refuses(m.kernel, m, "textured")
      refuses(m.kernel, m, "offset")
      refuses(m.kernel, m, "mix", { "float32" })
      refuses(mix[{ 1, 1 }], x, 1, 1, 1, s)
      refuses(mix[{ 1, 1 }], x, 1, 1, 1.5, s, x)
      refuses(mix[{ 1, 1 }], x, 1, 300, 1, s, x)
      refuses(mix[{ 1, 1 }], x, 1, 1, 1, "short", x)
      refuses(mix[{ 1, 1 }], x, x, 1, 1, s, x)
      refuses(mix[{ 1, 1 }], roc.zeros(3), 1, 1, 1, s, x)
      refuses(exact[{ 1, { 32, 2 } }], 17, 1)
      refuses(mix[{ 1, 256 }], x, 1, 1, 1, s, x)
      refuses(exact[{ 1, 64 }], x, 1)
      refuses(mix.launch, mix, { grid = 100, workgroup = 64 }, x, 1, 1, 1, s, x)
      refuses(mix[{ { 1, 70000 }, { 1, 1 } }], x, 1, 1, 1, s, x)
      refuses(roc.module, (ptx:gsub("sm_80", "sm_100")))
      refuses(roc.module, (ptx:gsub("sm_80", "sm_80a")))
      refuses(roc.module, (ptx:gsub("size 64", "size 32")))
      refuses(roc.module, (ptx:gsub("%.entry", ".func")))
      refuses(roc.module, "// nothing\n")
      refuses(roc.module, (ptx:gsub("%.param %.f32", ".param .f31")))
      refuses(roc.module, "\127ELF and so on")
      refuses(roc.module, "\x50\xed\x55\xba\0")
      refuses(roc.module, ptx .. "not ptx")
      refuses(roc.module, ptx, "cpu")
      refuses(roc.module, ptx, "sim")]])
    has(output, "kernel 'textured' needs what roclua does not have: a texture\n",
      "a pointer to shared memory as an argument\n", "float32 takes 4 bytes, the argument 8",
      "takes 6 arguments, got 5", "#4 to kernel 'mix' (an integer expected)",
      "#3 to kernel 'mix' (300 does not fit in 1 bytes)", "a string of 24 bytes expected, got 5",
      "#2 to kernel 'mix' (a number, a boolean or a string of 4 bytes expected, got",
      "#1 to kernel 'mix' (a kernel of a module does not reach this host array",
      "#1 to kernel 'exact' (array or nil expected, got number)",
      "takes at most 128 work-items, got 256", "takes {32, 2, 1} alone",
      "100 work-items are not a multiple of 64", "70000 workgroups in dimension 2 or 3 are over",
      "the PTX is for 'sm_100', the device is 'sm_90'", "the PTX is for 'sm_80a'",
      "addresses of 32 bits: 64 expected", "the PTX has no kernels", "no PTX: it has no .version",
      "the head of kernel 'mix' is no PTX",
      "a cubin, a fatbin or code for another GPU: for 'sm_90' PTX is taken",
      "line 3: syntax error (of the stand-in)", "the device's target is 'cpu", "'sim'")
    assert.are.same({}, launches)
  end)

  it("takes what clang makes of OpenCL C", function()
    if clang.missing then return pending(clang.missing) end
    local output, launches = run(clang.compile_ptx(CL, "sm_80"), [[
      local values = roc.module(ptx):kernel "values"
      local o = roc.device_array(5)
      print(("%d"):format(o.pointer))
      values[{ 1, 32 }](o, string.pack("<i4fi8", 1, 2.5, 3), string.pack("<ffff", 1, 2, 3, 4), -3,
        nil, 7)]])
    local o = assert(output:match("^(%d+)\n$"), output)
    local arguments = ("<I8i4fi8xxxxxxxxffffbxxxxxxxI8I8"):pack(o, 1, 2.5, 3, 1, 2, 3, 4, -3, 0, 7)
    assert.are.same({ { "values 1 1 1 32 1 1 0", arguments } }, launches)
  end)

  it("takes what rocluac has written", function()
    local folder = files.run("mktemp -d"):gsub("\n$", "")
    local file <close> = assert(io.open(folder .. "/k.lua", "w"))
    file:write("scale = require 'roc'.kernel(function(a, n) a[1] = a[1] * n end, "
      .. "{ check = false, signature = '(float32[:], float32)' })"):flush()
    local text, status = shell.run(("cd %s && ROCLUAC -t sm_90 --emit=asm -o k.ptx k.lua && "
      .. "cat k.ptx"):format(folder):gsub("ROCLUAC", (programs.find "rocluac")))
    assert.are.equal(0, status, text)
    files.run("rm -rf " .. folder)
    has(run(text, "print(roc.module(ptx).kernels[1])"), "roc_scale\n")
  end)

  it("reads damaged text without harm", function()
    assert.are.equal(6, #testing.read_module("sm_90", PTX))
    for cut = 0, #PTX do testing.read_module("sm_90", PTX:sub(1, cut)) end
    local seed, count = 12345, 0
    for _ = 1, 5000 do
      seed = (seed * 1103515245 + 12345) & 0x7fffffff
      local at = 1 + seed % #PTX
      local byte = string.char(32 + (seed >> 16) % 95)
      local ok = testing.read_module("sm_90", PTX:sub(1, at - 1) .. byte .. PTX:sub(at + 1))
      count = count + (ok and 1 or 0)
    end
    assert.is_true(count > 0 and count < 5000)
  end)
end)
