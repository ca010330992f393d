-- Loadable code objects for AMD GPUs: what is in them, as LLVM's own tools see it, and what making
-- them leaves alone.
local roc = require "roc"
local core = require "roc.core"
local files = require "support.files"

local ENV = { roc = roc, math = math }

local function saxpy(options)
  options = options or {}
  options.signature = options.signature or "(float32, float32[:], float32[:])"
  options.name = "saxpy"
  return roc.kernel(function(a, x, y)
    local i = roc.get_global_id(1)
    if i <= #y then
      y[i] = a * x[i] + y[i]
    end
  end, options)
end

-- Saves a code object, runs a tool of LLVM on it, and returns what it says.
local function tool(command, code)
  local path = os.tmpname()
  code:save(path)
  local output, ok = files.run(command .. " " .. path)
  os.remove(path)
  assert.is_true(ok, output)
  return output
end

describe("an AMD GPU code object #amdgpu", function()
  for _, chip in ipairs(core.targets("amdgpu")) do
    it("of " .. chip .. " is a shared object of version 5 with a kernel and its descriptor",
      function()
      local code <close> = saxpy():compile(chip)
      assert.are.equal("roc_saxpy", code.entry)
      assert.are.equal(chip, code.target)
      local head = tool("llvm-readelf-22 -h --notes", code)
      assert.matches("OS/ABI:%s+AMDGPU %- HSA", head)
      assert.matches("ABI Version:%s+3", head)
      assert.matches("Type:%s+DYN", head)
      assert.matches("amdhsa%.target:%s+amdgcn%-amd%-amdhsa%-%-" .. chip .. "\n", head)
      assert.matches("%.symbol:%s+roc_saxpy%.kd", head)
      local symbols = tool("llvm-readelf-22 --dyn-syms", code)
      assert.matches("FUNC%s+GLOBAL PROTECTED%s+%d+ roc_saxpy\n", symbols)
      assert.matches(" 64 OBJECT%s+GLOBAL PROTECTED%s+%d+ roc_saxpy%.kd\n", symbols)
    end)
  end

  it("leaves nothing undefined and nothing to relocate, device library included", function()
    local k = roc.kernel("function(x) x[1] = math.sin(x[1]) + roc.math.gamma(x[2]) + x[1]^x[2] end",
      { signature = "(float64[:])", env = ENV })
    local code <close> = k:compile("gfx90a")
    local text = tool("llvm-readelf-22 --symbols --relocs", code)
    local undefined = 0
    for _ in text:gmatch(" UND [%w_]+") do undefined = undefined + 1 end
    assert.are.equal(0, undefined)
    assert.matches("There are no relocations", text)
  end)

  it("has arguments, then the addresses of fault record and print buffer", function()
    local k = saxpy()
    local code <close> = k:compile("gfx1030")
    assert.are.equal(code.kernarg_bytes + 16, k:resources("gfx1030").kernarg_bytes)
  end)

  it("states features that the target id states, and no others", function()
    local k = saxpy()
    assert.matches("Flags:%s+0x53f, gfx90a, xnack, sramecc\n",
      tool("llvm-readelf-22 -h", k:compile("gfx90a")))
    assert.matches("Flags:%s+0x73f, gfx90a, xnack%+, sramecc\n",
      tool("llvm-readelf-22 -h", k:compile("gfx90a:xnack+")))
    assert.matches("gfx942, xnack%-, sramecc%+\n",
      tool("llvm-readelf-22 -h", k:compile("gfx942:sramecc+:xnack-")))
  end)

  it("knows the lines of the source", function()
    local line = debug.getinfo(saxpy, "S").linedefined + 7
    local text = tool("llvm-objdump-22 -d --line-numbers", saxpy():compile("gfx1100"))
    assert.matches("object_spec%.lua:" .. line, text)
    local asm = saxpy():inspect_asm("gfx90a")
    assert.matches("\n; [^\n]*object_spec%.lua:" .. line .. ": y%[i%] = a %* x%[i%] %+ y%[i%]\n",
      asm)
    assert.not_matches("%.debug_", asm)
  end)

  it("is what its assembly is, when that is assembled", function()
    for _, chip in ipairs { "gfx90a", "gfx1201" } do
      local path = os.tmpname()
      local file = assert(io.open(path, "w"))
      file:write(saxpy():inspect_asm(chip))
      file:close()
      local output, ok =
        files.run(("llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu=%s -filetype=obj %s -o %s.o && "
        .. "llvm-objdump-22 -d --no-show-raw-insn %s.o"):format(chip, path, path, path))
      os.remove(path)
      os.remove(path .. ".o")
      assert.is_true(ok, output)
      local function instructions(text)
        local list = {}
        for name in text:gmatch("\n\t([%w_]+)[^\n]*//") do list[#list + 1] = name end
        return table.concat(list, " ")
      end
      local linked =
        instructions(tool("llvm-objdump-22 -d --no-show-raw-insn", saxpy():compile(chip)))
      assert.is_true(#linked > 100)
      assert.are.equal(linked, instructions(output))
    end
  end)

  it("reports what the kernel takes", function()
    local k = roc.kernel(function(x)
      local tile = roc.shared.array(1000, roc.float32)
      tile[roc.get_local_id(1)] = x[1]
      roc.barrier()
      x[2] = tile[1]
    end, { signature = "(float32[:])" })
    local r = k:resources("gfx90a")
    assert.are.equal(4000, r.shared_bytes)
    assert.are.equal(0, r.private_bytes)
    assert.are.equal(0, r.spills)
    assert.are.equal(64, r.wavefront_size)
    assert.are.equal(1024, r.max_workgroup)
    assert.is_true(r.vgprs > 0 and r.sgprs > 0)
    assert.are.same({ waves = 8, max = 8, workgroup = 256, limit = "waves" }, r.occupancy)
    assert.are.same({ waves = 4, max = 8, workgroup = 64, limit = "shared" },
      k:resources("gfx90a", 64).occupancy)
    local code <close> = k:compile("gfx90a")
    assert.are.same(r, code:resources())
  end)

  it("has a loop without checks beside the one with them", function()
    local k = roc.kernel(function(x, y)
      local i = roc.get_global_id(1)
      for j = 1, #x do y[i] = y[i] + x[j] * y[j] end
    end, { signature = "(float32[:], float32[:])" })
    local function loops(code)
      return select(2, code:gsub("\nfor%d*:", ""))
    end
    assert.are.equal(2, loops(k:inspect_llvm("gfx90a")))
    local unchecked = roc.kernel(k:fn(), { signature = "(float32[:], float32[:])", check = false })
    assert.are.equal(1, loops(unchecked:inspect_llvm("gfx90a")))
  end)

  it("has the workgroup that was promised", function()
    assert.are.equal(64, saxpy({ workgroup = 64 }):resources("gfx1100").max_workgroup)
    local ok, why = pcall(function()
      return saxpy({ workgroup = { 64, 32 } }):compile("gfx1100")
    end)
    assert.is_false(ok)
    assert.are.equal("compile", why.code)
    assert.are.equal(
      "kernel 'saxpy': a workgroup of 64 x 32 x 1 work-items is larger than the 1024 of gfx1100",
      tostring(why))
  end)

  it("has the occupancy of a workgroup only where the kernel takes one that large", function()
    local code <close> = saxpy():compile("gfx90a")
    assert.error_matches(function() saxpy():resources("gfx90a", 1025) end,
      "bad argument #2 to 'resources' %(a workgroup of 1025 work%-items is larger than the 1024 of "
      .. "this kernel on gfx90a%)")
    assert.error_matches(function() code:resources(5000) end,
      "bad argument #1 to 'resources' %(a workgroup of 5000 .* than the 1024 of")
    assert.error_matches(function() saxpy({ workgroup = 64 }):resources("gfx1100", 65) end,
      "a workgroup of 65 work%-items is larger than the 64 of this kernel on gfx1100")
  end)

  it("is refused when a work-item's memory does not hold its private arrays", function()
    local function kernel(count)
      return roc.kernel(([[function(x)
        local small, large = roc.private.array(10, "int8"), roc.private.array(%d, "float64")
        local i = roc.get_local_id(1)
        small[i], large[i], large[7 * i] = 1, x[i], 3
        x[i] = large[1] + large[5] + small[2]
      end]]):format(count), { name = "hoard", env = { roc = roc } })
    end
    for chip, limit in pairs { gfx90a = 131056, gfx1030 = 262112, gfx1201 = 2097144 } do
      local code <close> = kernel(limit // 8 - 100):compile(chip, "float64[:]")
      assert.is_true(code:resources().private_bytes > limit - 1000)
      for _, count in ipairs { limit // 8 + 1, 1000000, 1 << 29, 0x7fffffff } do
        local ok, why = pcall(function() return kernel(count):compile(chip, "float64[:]") end)
        assert.is_false(ok)
        assert.are.equal("compile", why.code)
        assert.matches(("^kernel 'hoard': a work%%-item needs %%d+ bytes of private memory "
          .. "%%(array 'large' alone %d%%) and has %d on %s; use a smaller array, or a part of an "
          .. "array argument$"):format(8 * count, limit, chip), tostring(why))
      end
    end
  end)

  it("is refused when it takes more shared memory than a workgroup has", function()
    local k = roc.kernel(function(x)
      local tile = roc.shared.array(20000, roc.float32)
      tile[roc.get_local_id(1)] = x[1]
      roc.barrier()
      x[2] = tile[1]
    end, { signature = "(float32[:])", name = "large" })
    local ok, why = pcall(k.compile, k, "gfx1030")
    assert.is_false(ok)
    assert.are.equal(
      "kernel 'large': its shared arrays take 80000 bytes; a workgroup of gfx1030 has 65536",
      tostring(why))
    assert.is_true(#k:compile("gfx950").bytes > 0)
  end)
end)

describe("k:compile #amdgpu", function()
  local k = saxpy({ signature = nil })
  local plain = roc.kernel(function(n, x) x[1] = n end, { name = "plain" })

  it("takes types as texts, dtypes or a signature, and needs no launch", function()
    local by_text <close> = plain:compile("gfx90a", "int64", "float32[:]")
    local by_dtype <close> = plain:compile("gfx90a", roc.int64, "float32[:]")
    local by_signature <close> = plain:compile("gfx90a", "(int64, float32[:])")
    assert.are.equal(by_text.bytes, by_dtype.bytes)
    assert.are.equal(by_text.bytes, by_signature.bytes)
    local others <close> = plain:compile("gfx90a", "float64", "float64[:]")
    assert.are_not.equal(by_text.bytes, others.bytes)
  end)

  it("leaves the kernel's own types alone", function()
    local own = k:inspect_ir()
    k:compile("gfx1100", "float64", "float64[:]", "float64[:]"):close()
    assert.are.equal(own, k:inspect_ir())
    assert.has_error(function() plain:compile("gfx90a") end)
  end)

  it("says what is wrong with its arguments", function()
    local function refusal(...)
      local ok, why = pcall(...)
      assert.is_false(ok)
      return tostring(why)
    end
    assert.matches("bad argument #1 to 'compile' %(no such compile target; there are cpu.*gfx1201",
      refusal(function() k:compile("gfx9") end))
    assert.matches("takes 2 arguments, got 1 type", refusal(function()
      plain:compile("gfx90a", "int64")
    end))
    assert.matches("takes 2 arguments, got at least 3 types",
      refusal(function() plain:compile("gfx90a", "int64", "int64", "int64") end))
    assert.matches("bad signature '%(int64, float99%)'", refusal(function()
      plain:compile("gfx90a", "int64", "float99")
    end))
    assert.matches("dtype or a type such as", refusal(function()
      plain:compile("gfx90a", "int64", {})
    end))
    assert.matches("has no types yet", refusal(function() plain:compile("gfx90a") end))
    for _, level in ipairs { 4, -1, 1.5, "1" } do
      assert.matches("#1 to 'compile' %(level: an integer from 0 to 3 expected%)",
        refusal(function() k:compile { target = "gfx90a", level = level } end))
    end
    assert.matches("#1 to 'compile' %(code_object_version: an integer from 4 to 6 expected%)",
      refusal(function() k:compile { target = "gfx90a", code_object_version = 3 } end))
    assert.matches("unknown option 'levl'; known are target, level, check", refusal(function()
      k:compile { target = "gfx90a", levl = 1 }
    end))
    assert.matches("target has a byte 0", refusal(function() k:compile("gfx90a\0") end))
    assert.matches("target 'cpu' has no fixed registers", refusal(function()
      k:resources("cpu")
    end))
  end)

  it("optimises as much as it is told to", function()
    local sizes = {}
    for level = 0, 3 do
      local code <close> = k:compile { target = "gfx90a", level = level }
      sizes[level] = code:resources().code_object_bytes
    end
    assert.is_true(sizes[0] > sizes[2])
    assert.are.equal(sizes[2], sizes[3])
  end)

  it("has the code object version it is told to, 5 unless told", function()
    local byte_of = { [4] = 2, [5] = 3, [6] = 4 } -- e_ident[EI_ABIVERSION]
    for version, byte in pairs(byte_of) do
      local code <close> = k:compile { target = "gfx1030", code_object_version = version }
      assert.are.equal(byte, code.bytes:byte(9))
    end
    local code <close> = k:compile("gfx1030")
    assert.are.equal(byte_of[5], code.bytes:byte(9))
  end)

  it("gives a code object that is closed once, and saved whole or not at all", function()
    local code = k:compile("gfx90a")
    local path = os.tmpname()
    assert.are.equal(code, code:save(path))
    assert.are.equal(code.bytes, files.read(path))
    assert.matches("^roc%.CodeObject: roc_saxpy for gfx90a, %d+ bytes$", tostring(code))
    local ok, why = pcall(code.save, code, "/nonexistent/folder/x.hsaco")
    assert.is_false(ok)
    assert.are.equal("io", why.code)
    assert.matches("cannot write '/nonexistent/folder/x.hsaco': No such file or directory",
      tostring(why))
    code:close()
    code:close()
    assert.are.equal("roc.CodeObject: closed", tostring(code))
    assert.has_error(function() return code.bytes end)
    assert.has_error(function() code:save(path) end)
    os.remove(path)
  end)

  it("compiles for cpu, too", function()
    local code <close> = k:compile("cpu")
    assert.are.equal("\127ELF", code.bytes:sub(1, 4))
  end)

  it("gives its memory back", function()
    local before
    for i = 1, 6 do
      k:compile("gfx90a"):close()
      if i == 2 then before = core.testing.live_blocks() end
    end
    assert.are.equal(before, core.testing.live_blocks())
  end)
end)

describe("a damaged code object #amdgpu", function()
  local code = saxpy():compile("gfx90a").bytes
  local read = core.testing.hsaco_read

  it("is an error, whatever is missing", function()
    assert.is_true(read(code, "roc_saxpy") > 0)
    assert.is_nil(read(code, "other"))
    for len = 0, #code, 7 do
      local ok, why, status = read(code:sub(1, len), "roc_saxpy")
      if not ok then assert.are.equal("invalid", status, why) end
    end
    assert.is_nil(read(code:sub(1, 600), "roc_saxpy"))
  end)

  it("does not lead readers astray, whatever was changed", function()
    math.randomseed(7)
    for _ = 1, 3000 do
      local at = math.random(0x40, 0x520)
      local changed = code:sub(1, at - 1) .. string.char(math.random(0, 255)) .. code:sub(at + 1)
      local read_ok, why, status = read(changed, "roc_saxpy")
      assert.is_true(read_ok ~= nil or status == "invalid", why)
    end
  end)
end)

describe("linking #amdgpu", function()
  -- Handlers of a fresh process before and after it compiles, as the kernel shows them.
  it("leaves signal handlers, stdout and stderr as they were", function()
    if not require("support.shell").interpreter then return pending("needs roclua") end
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write([[
      local roc = require "roc"
      local function caught()
        for line in io.lines("/proc/self/status") do
          local signals = line:match("^SigCgt:.*(%x%x%x%x%x%x%x%x)$") -- those below libc's own
          if signals then return signals end
        end
      end
      local k = roc.kernel(function(x) x[1] = 1 end)
      local before = caught()
      for _, target in ipairs { "gfx90a", "gfx1100" } do k:compile(target, "float32[:]") end
      print(before == caught())
    ]])
    file:close()
    local output = require("support.shell").run("ROCLUA_CACHE=off ROCLUA " .. path)
    os.remove(path)
    assert.are.equal("true\n", output)
  end)

  it("leaves LLVM's options as they were: the cpu's code is the same afterwards", function()
    if not require("support.shell").interpreter then return pending("needs roclua") end
    local path = os.tmpname()
    local file <close> = assert(io.open(path, "w"))
    file:write([[
      local roc = require "roc"
      local k = roc.kernel("function(x, y) local i, s = roc.get_global_id(1), 0.0\
        for j = 1, #x do s = s + x[j] end y[i] = s end",
        { env = { roc = roc }, signature = "(float64[:], float64[:])" })
      local before = k:inspect_asm("cpu")
      k:compile("gfx90a"):close()
      print(#before > 1000, before == k:inspect_asm("cpu"))
    ]])
    file:close()
    local output = require("support.shell").run("ROCLUA_CACHE=off ROCLUA " .. path)
    os.remove(path)
    assert.are.equal("true\ttrue\n", output)
  end)

  it("leaves no temporary files", function()
    local stat <close> = assert(io.open("/proc/self/stat"))
    local names = "roclua-link-" .. stat:read("n") .. "-*"
    saxpy({ fastmath = true }):compile { target = "gfx1035", level = 1 }
    assert.are.equal("", (files.run(("ls -d /dev/shm/%s ${TMPDIR:-/tmp}/%s 2>/dev/null || true")
      :format(names, names))))
  end)
end)

-- A program may have another LLVM, and must not find ours in its place.
describe("the compiler's shared object", function()
  it("shows one function, and needs no LLVM beside it", function()
    saxpy():compile("gfx90a"):close()
    local maps <close> = assert(io.open("/proc/self/maps"))
    local path = maps:read("a"):match("(/%S+/libroclua%-codegen%.so)\n")
    local symbols = files.run("llvm-readelf-22 --dyn-syms " .. path)
    local shown = {}
    for name in symbols:gmatch("GLOBAL DEFAULT +%d+ ([%w_]+)\n") do shown[#shown + 1] = name end
    assert.same({ "roc_codegen_entry" }, shown)
    assert.not_matches("Shared library: %[libLLVM", (files.run("llvm-readelf-22 -d " .. path)))
  end)
end)
