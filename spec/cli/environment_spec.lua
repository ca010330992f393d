-- Variables of the environment: one whose value is not understood is an error where it is first
-- needed, never taken for something else.
local files = require "support.files"
local programs = require "support.programs"
local shell = require "support.shell"

local SCRIPT = [[
local roc = require "roc"
local y = roc.zeros(1)
roc.kernel(function(a) a[1] = 1 end):forall(1)(y)
print(y[1], roc.current_device().kind)
]]

-- variable -> device, values that it takes, values that it does not, and what is expected instead
local VARIABLES = {
  ROCLUA_CACHE = { "cpu", { "", "on", "off" }, { "0", "OFF", "nonsense" }, "on or off" },
  ROCLUA_CACHE_MB = { "cpu", { "", "1", "4294967295" },
    { "0", "x", "1x", "-1", "1e3", " 5", "4294967296", "99999999999999999999999" },
    "a number from 1 to 4294967295" },
  ROCLUA_LAZY = { "cpu", { "", "0", "1" }, { "off", "2" }, "0 or 1" },
  ROCLUA_PROFILE = { "cpu", { "", "0" }, { "yes", "2", "nonsense" }, "0 or 1" },
  ROCLUA_SIM_CHECK = { "sim", { "", "0", "1" }, { "yes", "2" }, "0 or 1" },
  ROCLUA_SIM = { "sim", { "", "raw", "typed" }, { "foo", "Raw", "1" }, "raw or typed" },
  ROCLUA_WAVEFRONT = { "sim", { "", "32", "64" }, { "33", "x" }, "32 or 64" },
  ROCLUA_CPU = { "cpu", { "", "x86-64", "x86-64-v2" }, { "nonsense", "i386", "cpu:x86-64", "," },
    "a processor that LLVM knows, such as x86-64-v3" },
  ROCLUA_CPU_THREADS = { "cpu", { "", "1" }, { "0", "-1", "two", "1025" },
    "a number from 1 to 1024" },
  ROCLUA_CPU_PINNED = { "cpu", { "", "0", "1" }, { "yes", "2" }, "0 or 1" },
  ROCLUA_CPU_DEVICES = { "cpu", { "", "2" }, { "0", "17", "+1" }, "a number from 1 to 16" },
  ROCLUA_HSA_QUEUES = { "hsa", { "", "1" }, { "0", "17", "x" }, "a number from 1 to 16" },
  ROCLUA_EMULATE_THREADS = { "hsa", { "", "1" }, { "0", "257", "x" }, "a number from 1 to 256" },
  ROCLUA_EMULATE_MEMORY = { "hsa", { "", "64" }, { "63", "16777217", "1G" },
    "a number from 64 to 16777216" },
  ROCLUA_EMULATE_CHECK = { "hsa", { "", "0", "1" }, { "yes", "2" }, "0 or 1" },
  ROCLUA_EMULATE_WAITCNT = { "hsa", { "", "0", "1" }, { "off" }, "0 or 1" },
  ROCLUA_EMULATE_PCIE_ATOMICS = { "hsa", { "", "0", "1" }, { "none" }, "0 or 1" },
}

describe("A variable of the environment", function()
  if not shell.interpreter then return pending("the specs do not run in roclua") end

  local path = os.tmpname()
  setup(function()
    local file <close> = assert(io.open(path, "w"))
    file:write(SCRIPT)
  end)
  teardown(function() os.remove(path) end)

  local function run(variable, value, device)
    local emulate = device == "hsa" and "ROCLUA_EMULATE=gfx90a" or ""
    return shell.run(("ROCLUA_CACHE= ROCLUA_DEVICE=%s %s %s='%s' ROCLUA %s"):format(device, emulate,
      variable, value, path))
  end

  for variable, case in pairs(VARIABLES) do
    local device, good, bad, expected = table.unpack(case)
    local function check(name, body)
      if device == "hsa" and not programs.find("rocr_test") then
        return pending(name .. ": ROCR is not installed")
      end
      it(name, body)
    end

    check(variable .. " takes what it is documented to take", function()
      for _, value in ipairs(good) do
        assert.same({ "1.0\t" .. device .. "\n", 0 }, { run(variable, value, device) }, value)
      end
    end)

    check(variable .. " refuses anything else by name", function()
      for _, value in ipairs(bad) do
        local output, status = run(variable, value, device)
        local message = ("%s is '%s', expected %s\n"):format(variable, value, expected)
        assert.truthy(output:find(message, 1, true), output)
        assert.equal(1, status)
      end
    end)
  end

  it("is warned of by the software GPU under a program of ROCR's own", function()
    local program = programs.find("rocr_test")
    if not program then return pending("ROCR is not installed") end
    local _, output = programs.run("ROCLUA_EMULATE_CHECK=yes " .. program .. " agents")
    assert.matches("^roclua's emulator: ROCLUA_EMULATE_CHECK is 'yes', expected 0 or 1; "
      .. "the variable is ignored\n", output)
    assert.matches("ok agents\n", output)
  end)

  it("ROCLUA_BITCODE_DIR is named where the device library is not in it", function()
    local output, status = shell.run([[ROCLUA_CACHE=off ROCLUA_BITCODE_DIR=/nowhere ROCLUA -e '
      roc = require "roc"
      local k = roc.kernel("function(x) x[1] = math.sin(x[2]) end", { name = "wave" })
      k:compile("gfx90a", "float64[:]")']])
    assert.matches("kernel 'wave' needs AMD's device library: ROCLUA_BITCODE_DIR is '/nowhere', "
      .. "expected the directory that holds ocml.bc\n", output)
    assert.equal(1, status)
  end)

  it("ROCLUA_LUA_DIR is named where a module is not in it", function()
    local output, status = shell.run("ROCLUA_LUA_DIR=/nowhere ROCLUA -e 'require \"roc\"'")
    assert.matches("no module 'roc' in ROCLUA_LUA_DIR %('/nowhere'%)", output)
    assert.equal(1, status)
  end)

  -- A library that says that it was opened.
  local function make_library(path)
    assert(os.execute("mkdir -p " .. path:match("^.*/")))
    local file <close> = assert(io.open(path .. ".c", "w"))
    file:write('#include <stdio.h>\n__attribute__((constructor)) static void f(void) ',
      '{ fputs("opened", stderr); }\n')
    file:close()
    return select(2, files.run(("gcc -shared -fPIC -o %s %s.c"):format(path, path)))
  end

  local LAUNCH = [[-e 'roc = require "roc"
    local x = roc.to_device(roc.ones(1))
    roc.kernel("function(x) x[1] = math.sin(x[1]) end"):forall(1)(x)
    pcall(roc.linalg.library)
    print(x[1] < 1)']]

  -- variable -> its value, below a folder; the library there; the device that makes roclua open it
  local LOADS_CODE = {
    ROCLUA_LIBDIR = { "", "libroclua-codegen.so", "ROCLUA_DEVICE=cpu" },
    ["ROCLUA_LIBDIR "] = { "", "libhsakmt.so.1", "ROCLUA_EMULATE=gfx90a" },
    ROCLUA_HSA_LIBRARY = { "/hsa.so", "hsa.so", "ROCLUA_EMULATE=gfx90a" },
    ROCM_PATH = { "", "lib/libhsa-runtime64.so.1", "ROCLUA_HSA_LIBRARY= ROCLUA_EMULATE=gfx90a" },
    ROCLUA_CUDA_LIBRARY = { "/cuda.so", "cuda.so", "ROCLUA_DEVICE=cpu" },
    ROCLUA_LAPACK_LIBRARY = { "/lapack.so", "lapack.so", "ROCLUA_DEVICE=cpu" },
    HSA_TOOLS_LIB = { "/tools.so", "tools.so", "ROCLUA_EMULATE=gfx90a" },
  }

  for variable, case in pairs(LOADS_CODE) do
    it(("%s loads code, but under -E (%s)"):format(variable, case[2]), function()
      if not files.has_program("gcc") then return pending("no gcc") end
      local folder = files.run("mktemp -d"):gsub("\n$", "")
      finally(function() files.run("rm -rf " .. folder) end)
      assert.is_true(make_library(folder .. "/" .. case[2]))
      local function try(option)
        return (shell.run(("ROCLUA_CACHE=off %s %s=%s timeout 60 ROCLUA %s %s"):format(case[3],
          variable:gsub(" ", ""), folder .. case[1], option, LAUNCH)))
      end
      assert.matches("opened", try(""))
      assert.are.equal("true\n", try("-E"))
    end)
  end

  it("ROCLUA_BITCODE_DIR and XDG_CACHE_HOME do not count under -E, nor does HOME", function()
    local folder = files.run("mktemp -d"):gsub("\n$", "")
    finally(function() files.run("rm -rf " .. folder) end)
    local settings = ("ROCLUA_DEVICE=null ROCLUA_CACHE=%%s ROCLUA_BITCODE_DIR=%%s HOME=%s "
      .. "XDG_CACHE_HOME=%s/cache ROCLUA %%s -e 'require(\"roc\").kernel(\"function(x) x[1] = "
      .. "math.sin(x[1]) end\"):compile(\"gfx90a\", \"float32[:]\"):close()'"):format(folder,
      folder)
    assert.matches("ROCLUA_BITCODE_DIR is '/nowhere'", (shell.run(settings:format("off", "/nowhere",
      ""))))
    assert.are.same({ "", 0 }, { shell.run(settings:format("off", "/nowhere", "-E")) })
    assert.are.same({ "", 0 }, { shell.run(settings:format("on", "", "-E")) })
    assert.are.same({}, files.list(folder))
    assert.are.same({ "", 0 }, { shell.run(settings:format("on", "", "")) })
    assert.is_true(#files.list(folder) > 0)
  end)

  it("that loads code is not seen by a script under -E, nor by what it starts", function()
    local output = shell.run([[ROCLUA_LIBDIR=/nowhere HSA_TOOLS_LIB=x.so ROCLUA_DEVICE=sim ROCLUA -E -e '
      print(os.getenv "ROCLUA_LIBDIR", os.getenv "ROCLUA_DEVICE")
      os.execute "echo $HSA_TOOLS_LIB:$ROCLUA_DEVICE"']])
    assert.are.equal("nil\tsim\n:sim\n", output)
  end)

  it("is documented, whichever roclua reads", function()
    local docs = files.read("docs/command-line.md") .. files.read("docs/emulator.md")
    local docs_of_specs = docs .. files.read("docs/architecture.md")
    for _, source in ipairs(files.list("src", "%.[ch]p*$")) do
      local pages = source:find("^src/testing/") and docs_of_specs or docs
      for name in files.read(source):gmatch('"(ROCLUA_[A-Z_]+)"') do
        assert.truthy(pages:find("`" .. name, 1, true), name .. " in " .. source)
      end
    end
  end)
end)
