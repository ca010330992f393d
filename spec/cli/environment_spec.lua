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
  ROCLUA_SIM = { "sim", { "", "raw", "typed" }, { "foo", "Raw", "1" }, "raw or typed" },
  ROCLUA_WAVEFRONT = { "sim", { "", "32", "64" }, { "33", "x" }, "32 or 64" },
  ROCLUA_CPU = { "cpu", { "", "x86-64", "x86-64-v2" }, { "nonsense", "i386", "cpu:x86-64", "," },
    "a processor that LLVM knows, such as x86-64-v3" },
  ROCLUA_CPU_THREADS = { "cpu", { "", "1" }, { "0", "-1", "two", "1025" },
    "a number from 1 to 1024" },
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
    assert.matches("^roclua's emulator: ROCLUA_EMULATE_CHECK is 'yes', expected 0 or 1; it goes on "
      .. "as if that were not set\n", output)
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

  it("is documented, whichever roclua reads", function()
    local docs = files.read("docs/command-line.md") .. files.read("docs/emulator.md")
    for _, source in ipairs(files.list("src", "%.[ch]p*$")) do
      for name in files.read(source):gmatch('"(ROCLUA_[A-Z_]+)"') do
        assert.truthy(docs:find("`" .. name, 1, true), name .. " in " .. source)
      end
    end
  end)
end)
