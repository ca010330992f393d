-- rocluac as a user meets it: options, outputs and their names, errors and the exit status.
local files = require "support.files"
local programs = require "support.programs"

local rocluac = programs.find("rocluac")

local SCRIPT = [[
local roc = require "roc"
local function axpy(a, x, y)
  local i = roc.get_global_id(1)
  if i <= #y then
    y[i] = a * x[i] + y[i]
  end
end
roc.kernel(axpy, { name = "single", signature = "(float32, float32[:], float32[:])" })
roc.kernel(axpy, { name = "double", signature = "(float64, float64[:], float64[:])" })
roc.kernel(axpy) -- no signature: left alone
print("arguments", arg[0]:match("[^/]*$"), ...)
os.exit(true)
]]

local ONE = [[
local roc = require "roc"
roc.kernel(function(x)
  x[roc.get_global_id(1)] = 1
end, { name = "one", signature = "(int32[:])" })
]]

local ALIKE = [[
local roc = require "roc"
for _, name in ipairs { "a", "a-2", "a" } do
  roc.kernel("function(x) x[1] = 1 end", { name = name, signature = "(int32[:])" })
end
]]

local LARGE = [[
local roc = require "roc"
roc.kernel(function(x)
  local tile = roc.shared.array(30000, roc.float32)
  tile[roc.get_local_id(1)] = x[1]
  roc.barrier()
  x[2] = tile[1]
end, { name = "large", signature = "(float32[:])" })
]]

local HOARD = ONE .. [[
roc.kernel(function(x)
  local t, i = roc.private.array(100000, "float64"), roc.get_local_id(1)
  t[i], t[7 * i] = x[i], 3
  x[i] = t[1] + t[5]
end, { name = "hoard", signature = "(float64[:])" })
]]

-- Two kernels of one name with shared memory, one that calls the device library; the first alone.
local FIRST = [[
local roc = require "roc"
local function sum(x, y)
  local tile = roc.shared.array(64, roc.float32)
  local l = roc.get_local_id(1)
  tile[l] = x[roc.get_global_id(1)]
  roc.barrier()
  if l == 1 then
    y[roc.get_group_id(1)] = tile[1] + tile[64]
  end
end
roc.kernel(sum, { name = "sum", signature = "(float32[:], float32[:])" })
]]
local MANY = FIRST .. [[
roc.kernel(sum, { name = "sum", signature = "(int32[:], float32[:])" })
roc.kernel(function(x) x[1] = math.sin(x[2]) * roc.get_local_size(1) end,
  { name = "scale", signature = "(float64[:])" })
]]

-- Kernels that have only the names of variables; with all that needs local symbols.
local NAMED = [[
local roc = require "roc"
local kernel, M, table = roc.kernel, {}, roc.array({ 1, 2, 3 }, "float64")
local saxpy <const> = roc.kernel(function(a, x, y)
  local i = roc.get_global_id(1)
  if i <= #y then y[i] = a * x[i] + y[i] end
end, { signature = "(float32, float32[:], float32[:])" })
M.sum = kernel(function(x)
  local tile, l = roc.shared.array(64, "float64"), roc.get_local_id(1)
  local weights = roc.const.array(table)
  tile[l] = math.sin(x[l]) * weights[l % 3 + 1]
  roc.barrier()
  assert(tile[1] > 0, "negative")
  x[l] = tile[65 - l] ^ 0.3
  print(x[l])
end, { signature = "(float64[:])" })
return { "", kernel(function(x) x[1] = 1 end, { signature = "(int32[:])", name = "k" }),
  sum = kernel(function(x) x[1] = x[2] ^ 0.3 + math.sin(x[1]) end, { signature = "(float32[:])" }),
  [1] = M.missing or (kernel(function(x) x[1] = 2 end)), vector = roc.vectorize(math.sqrt) }
]]

local WIDE = [[
require("roc").kernel(function(x) x[1] = 1 end, { name = "wide", signature = "(int32[:])",
  workgroup = 2048 })
]]

describe("rocluac #amdgpu", function()
  local folder

  local function write(name, text)
    local file = assert(io.open(folder .. "/" .. name, "w"))
    file:write(text)
    file:close()
  end

  setup(function()
    folder = files.run("mktemp -d"):gsub("\n$", "")
    write("two.lua", SCRIPT)
    write("one.lua", ONE)
    write("alike.lua", ALIKE)
    write("first.lua", FIRST)
    write("many.lua", MANY)
    write("large.lua", LARGE)
    write("hoard.lua", HOARD)
    write("wide.lua", WIDE)
    write("named.lua", NAMED)
  end)
  teardown(function() files.run("rm -rf " .. folder) end)

  -- Output and exit status; run in the folder, where there is an empty folder `out` each time.
  local function run(args)
    local text =
      files.run(("cd %s && rm -rf out && mkdir out && { %s %s; echo \"[$?]\"; }"):format(folder,
      rocluac, args))
    local output, status = text:match("^(.*)%[(%d+)%]\n$")
    return output, tonumber(status)
  end

  local function outputs()
    local names = files.list(folder .. "/out")
    for i, path in ipairs(names) do names[i] = path:match("[^/]*$") end
    return table.concat(names, " ")
  end

  local function check(title, f)
    it(title, function()
      if not rocluac then return pending("needs rocluac") end
      f()
    end)
  end

  check("writes the code object it is told to", function()
    local output, status = run("-t gfx90a -o out/x.hsaco one.lua")
    assert.are.equal("", output)
    assert.are.equal(0, status)
    assert.are.equal("x.hsaco", outputs())
    local note = files.run(("llvm-readelf-22 --notes %s/out/x.hsaco"):format(folder))
    assert.matches("%.symbol:%s+roc_one%.kd", note)
    assert.matches("amdhsa%-%-gfx90a", note)
  end)

  check("adds kernels and targets to the name where there are several", function()
    local output, status = run("-t gfx90a --target=gfx1100 -o out/x.hsaco two.lua 7 eight")
    assert.are.equal("arguments\ttwo.lua\t7\teight\n"
      .. "two.lua:10: kernel 'axpy' has no signature: it is not compiled\n", output)
    assert.are.equal(0, status)
    assert.are.equal("x-gfx1100.hsaco x-gfx90a.hsaco", outputs())
    run("-t gfx90a --target=gfx1100 -o out/x.s --emit=asm two.lua")
    assert.are.equal("x-double-gfx1100.s x-double-gfx90a.s x-single-gfx1100.s x-single-gfx90a.s",
      outputs())
    run("-t gfx90a --emit=obj -o out/y two.lua")
    assert.are.equal("y-double y-single", outputs())
    run("-tgfx90a:xnack+ -t gfx90a:xnack+ -t gfx942 -o out/x.hsaco one.lua")
    assert.are.equal("x-gfx90a_xnack+.hsaco x-gfx942.hsaco", outputs())
  end)

  check("calls a kernel as the variable, or the field, that holds it", function()
    local output, status = run("-t gfx90a -t cpu -o out/x --emit=obj named.lua")
    assert.are.equal("named.lua:18: kernel 'named.lua:18' has no signature: it is not compiled\n",
      output)
    assert.are.equal(0, status)
    assert.are.equal("x-k-cpu x-k-gfx90a x-saxpy-cpu x-saxpy-gfx90a x-sum-2-cpu x-sum-2-gfx90a "
      .. "x-sum-cpu x-sum-gfx90a", outputs())
    assert.matches("\nsaxpy +gfx90a .*\nsum +gfx90a .*\nk +gfx90a .*\nsum%-2 +gfx90a ",
      (run("-t gfx90a --resources named.lua")))
  end)

  -- The names that a program can link to, sorted.
  local function symbols(path)
    local names = {}
    for name in files.run(("nm -D --defined-only %s/%s"):format(folder, path))
      :gmatch(" [TR] ([^\n]+)") do
      names[#names + 1] = name
    end
    table.sort(names)
    return table.concat(names, " ")
  end

  check("makes objects that link together", function()
    local linker = files.has_program("ld.lld-22") and "ld.lld-22" or "ld.lld"
    if not files.has_program(linker) then return pending("no lld") end
    run("-t gfx90a --emit=obj -o out/x named.lua")
    local output, succeeded =
      files.run(("cd %s/out && %s -shared -o all x-*"):format(folder, linker))
    assert.is_true(succeeded, output)
    local expected = "roc_k roc_k.kd roc_saxpy roc_saxpy.kd roc_sum roc_sum.kd roc_sum_2 "
      .. "roc_sum_2.kd"
    assert.are.equal(expected, symbols("out/all"))
    run("-t gfx90a -o out/all named.lua")
    assert.are.equal(expected, symbols("out/all"))
  end)

  check("makes one object of several kernels for the cpu, and objects that link", function()
    if not files.has_program("gcc") then return pending("no gcc") end
    local expected = "roc_k roc_saxpy roc_sum roc_sum_2"
    local output, status = run("-t cpu named.lua && mv named-cpu.o out && "
      .. "gcc -shared -o out/all out/named-cpu.o -lm")
    assert.are.same({ "named.lua:18: kernel 'named.lua:18' has no signature: it is not compiled\n",
      0 }, { output, status })
    assert.are.equal(expected, symbols("out/all"))
    run("-t cpu --emit=obj -o out/x.o named.lua && gcc -shared -o out/all out/x-*.o -lm")
    assert.are.equal(expected, symbols("out/all"))
    run("-t cpu --emit=asm -o out/x.s named.lua && gcc -shared -o out/all out/x-*.s -lm")
    assert.are.equal(expected, symbols("out/all"))
    run("-t cpu -o out/one.o one.lua && gcc -shared -o out/all out/one.o")
    assert.are.equal("roc_one", symbols("out/all"))
  end)

  check("gives each kernel a file, however they are called", function()
    run("-t gfx90a --emit=ast -o out/x.ast alike.lua")
    assert.are.equal("x-a-2.ast x-a-3.ast x-a.ast", outputs())
  end)

  -- The instructions of a kernel, without addresses and without what fills up to the next one.
  local function code_of(path, symbol)
    local text = files.run(("llvm-objdump-22 -d --no-leading-addr --no-show-raw-insn "
      .. "--disassemble-symbols=%s %s"):format(symbol, path))
    return text:match("<" .. symbol .. ">:\n(.*s_endpgm)"):gsub("//[^\n]*", "")
  end

  check("puts all kernels for a target into one code object, as each is alone", function()
    run("-t gfx90a -o out/all.hsaco many.lua")
    local all = folder .. "/out/all.hsaco"
    local notes = files.run("llvm-readelf-22 --notes " .. all)
    local _, count = notes:gsub("%.symbol:", "")
    assert.are.equal(3, count)
    files.run(("cd %s && mv out/all.hsaco . && %s -t gfx90a -o out/one.hsaco first.lua"):format(
      folder, rocluac))
    all = folder .. "/all.hsaco"
    local alone = code_of(folder .. "/out/one.hsaco", "roc_sum")
    assert.matches("ds_", alone)
    assert.are.equal(alone, code_of(all, "roc_sum"))
    for _, symbol in ipairs { "roc_sum", "roc_sum_2", "roc_scale" } do
      assert.matches("%.symbol:%s+" .. symbol .. "%.kd", notes)
      assert.matches("s_endpgm", code_of(all, symbol))
    end
    assert.not_matches("UND roc", (files.run("llvm-readelf-22 -s " .. all)))
  end)

  check("names files after script or kernel and target when it is not told", function()
    files.run(("mkdir -p %s/sub"):format(folder))
    files.run(
      ("cd %s/sub && %s -t gfx1030 ../one.lua && %s -t gfx1030 --emit=obj ../one.lua"):format(
      folder, rocluac, rocluac))
    local names = files.list(folder .. "/sub")
    assert.are.equal(2, #names)
    assert.matches("one%-gfx1030%.hsaco$", names[1])
    assert.matches("one%-gfx1030%.o$", names[2])
    assert.matches("REL %(Relocatable", (files.run("llvm-readelf-22 -h " .. names[2])))
  end)

  check("prints each stage, and writes it where it is told to", function()
    local patterns = {
      ast = "function 1 ", ir = "^kernel one%(x%.0: int32%[1%]",
      llvm = "define protected amdgpu_kernel void @roc_one",
      ["llvm-opt"] = "define protected amdgpu_kernel void @roc_one",
      asm = "\n; one%.lua:3: x%[roc%.get_global_id%(1%)%] = 1\n",
    }
    for kind, pattern in pairs(patterns) do
      local output, status = run(("-t gfx1201 --emit=%s one.lua"):format(kind))
      assert.are.equal(0, status, output)
      assert.matches(pattern, output)
      run(("-t gfx1201 --emit %s -o out/text one.lua"):format(kind))
      assert.are.equal(output, files.read(folder .. "/out/text"))
    end
    assert.matches("^kernel one", (run("--emit=ir one.lua"))) -- no target is needed
  end)

  check("keeps what the script prints out of what it prints itself", function()
    local output = run("-t gfx90a --emit=ir two.lua 2>/dev/null")
    assert.not_matches("arguments", output)
    assert.matches("^; single for any\nkernel single", output)
  end)

  check("makes code objects of the version it is told to", function()
    for version = 4, 6 do
      local option = "-t gfx90a --code-object-version=" .. version
      assert.matches("%.amdhsa_code_object_version " .. version,
        (run(option .. " --emit=asm one.lua")))
      run(option .. " -o out/x.hsaco one.lua")
      assert.are.equal(version - 2, files.read(folder .. "/out/x.hsaco"):byte(9))
    end
    local output, status = run("-t gfx90a --code-object-version=7 one.lua")
    assert.matches("code object version '7' is not 4, 5 or 6", output)
    assert.are.equal(1, status)
  end)

  check("optimises as told", function()
    local none, full = run("-t gfx90a -O0 --emit=asm one.lua"),
      run("-t gfx90a -O3 --emit=asm one.lua")
    assert.is_true(#none > #full)
  end)

  check("reports resources, and then writes nothing unless told to", function()
    local output, status = run("-t gfx90a -t gfx1100 --resources two.lua 2>/dev/null")
    assert.are.equal(0, status)
    local rows = {}
    for line in output:gmatch("[^\n]+") do rows[#rows + 1] = line end
    assert.are.equal(5, #rows)
    assert.matches("^kernel%s+target%s+VGPRs%s+AGPRs%s+SGPRs%s+shared%s+private%s+spills%s+"
      .. "workgroup%s+waves per SIMD$", rows[1])
    assert.matches("^single%s+gfx90a%s+%d+%s+0%s+%d+%s+0%s+0%s+0%s+1024%s+8 of 8 in workgroups "
      .. "of 256, as many as it holds$", rows[2])
    assert.matches("^double%s+gfx1100%s.*16 of 16", rows[5])
    assert.are.equal("", outputs())
    run("-t gfx90a --resources -o out/x one.lua")
    assert.are.equal("x", outputs())
  end)

  check("names the kernel whose private memory is too large", function()
    local output, status = run("-t gfx90a -o out/x hoard.lua")
    assert.matches("kernel 'hoard': a work%-item needs %d+ bytes of private memory %(array 't' "
      .. "alone 800000%) and has 131056 on gfx90a;", output)
    assert.are.equal(1, status)
    assert.are.equal("", outputs())
  end)

  check("answers what it is asked about itself", function()
    assert.matches("^usage: rocluac", (run("--help")))
    assert.matches("^rocluac %d+%.%d+%.%d+ ", (run("--version")))
    local targets, status = run("--list-targets")
    assert.matches("gfx900\n.*gfx1201\n.*sm_90\n.*\ncpu\n.*cpu:x86%-64%-v3\n", targets)
    assert.are.equal(0, status)
  end)

  check("ends with status 1, a message and no file when something is wrong", function()
    local cases = {
      { "-t gfx42 -o out/x one.lua",
        "unknown target 'gfx42': there are cpu, .*cpu:NAME .*gfx900, .*gfx1201" },
      { "-t gfx1100:xnack+ -o out/x one.lua", "unknown target 'gfx1100:xnack%+'" },
      { "-o out/x one.lua", "no target given" },
      { "-t gfx90a", "no script given" },
      { "-t gfx90a missing.lua", "cannot open missing%.lua" },
      { "-t", "'%-t' needs a value" },
      { "-t gfx90a --emit=exe one.lua",
        "unknown kind of output .exe. %(known are ast, .*, hsaco, ptx, cubin, sass, kernels, c, "
          .. "functions%)" },
      { "-t gfx90a -O7 one.lua", "unrecognized option '%-O7'" },
      { "-t gfx90a -o out/none/x one.lua", "cannot write 'out/none/x': No such file or directory" },
      { "-t gfx90a -o out one.lua", "cannot write 'out': Is a directory" },
      { "-t gfx90a -o out/x large.lua",
        "kernel 'large': its shared arrays take 120000 bytes; a workgroup of gfx90a has 65536" },
      { "-t gfx90a -o out/x wide.lua", "kernel 'wide': a workgroup of 2048 x 1 x 1 work%-items "
        .. "is larger than the 1024 of gfx90a" },
      { "-t gfx90a /dev/null", "/dev/null makes no kernel with a signature" },
    }
    for _, case in ipairs(cases) do
      local output, status = run(case[1])
      assert.are.equal(1, status, case[1])
      assert.matches(case[2], output)
      assert.matches("rocluac: ", output)
      assert.are.equal("", outputs(), case[1])
    end
  end)

  check("writes nothing when one of several targets has no room", function()
    local _, status = run("-t gfx950 -t gfx90a -o out/x.hsaco large.lua")
    assert.are.equal(1, status)
    assert.are.equal("", outputs())
    _, status = run("-t gfx950 -o out/x.hsaco large.lua")
    assert.are.equal(0, status)
    assert.are.equal("x.hsaco", outputs())
  end)

  check("shows a script's error with its place, a kernel's with its source", function()
    write("bad.lua", 'local x = nil + 1\n')
    local output, status = run("-t gfx90a bad.lua")
    assert.are.equal(1, status)
    assert.matches("bad%.lua:1: attempt to perform arithmetic", output)
    assert.matches("stack traceback", output)
    write("bad.lua", 'require("roc").kernel(function(x) x[1] = "s" end, '
      .. '{ signature = "(int32[:])", name = "bad" })\n')
    output, status = run("-t gfx90a bad.lua")
    assert.are.equal(1, status)
    assert.matches("bad%.lua:1:%d+: kernel 'bad': ", output)
    assert.matches("\n +%^", output)
    write("bad.lua", ONE .. "os.exit(3)")
    output, status = run("-t gfx90a -o out/x bad.lua")
    assert.are.equal(1, status)
    assert.matches("ended with a status of failure", output)
    assert.are.equal("", outputs())
  end)
end)
