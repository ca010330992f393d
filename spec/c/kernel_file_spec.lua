-- Files of kernels: rocluac writes them, a C program without a Lua state launches what they hold.
local devices = require "support.devices"
local files = require "support.files"
local programs = require "support.programs"

local SCRIPT = [[
  local roc = require "roc"
  local n, weights = 3, roc.array({ 1, 2, 4 }, "int64")
  local mix = roc.kernel(function(a, b, x)
    local i = roc.get_global_id(1)
    if i <= #a then a[i] = b[i] * weights[n] + x end
  end, { signature = "(int64[:], int64[:], int64)" })
  local say = roc.kernel(function(x, is)
    if is then print("x is", x) end
  end, { signature = "(float32, bool)" })
  local fail = roc.kernel(function(a, i) a[i] = 1 end, { signature = "(int64[:], int64)" })
]]

local TITLES = {
  arguments = "arguments of all sizes, in place too, and wrong ones",
  strides = "strided host memory is taken where the device reaches it",
  prints_and_faults = "prints and faults, with the launch's place",
  threads = "four threads launch one kernel",
  names = "names and paths that are wrong",
  no_memory = "each failing allocation is a code, and the next try works",
  damage = "files that are cut or changed anywhere are refused",
}

describe("a file of kernels:", function()
  local path, rocluac = programs.find("kernel_file_test"), programs.find("rocluac")
  if not path or not rocluac then return pending("kernel_file_test is not built") end

  local folder

  -- A file with the script's kernels for these targets.
  local function write(name, targets, script)
    local source = folder .. "/" .. name .. ".lua"
    local file <close> = assert(io.open(source, "w"))
    file:write(script or SCRIPT)
    file:close()
    local output = folder .. "/" .. name .. ".kernels"
    local ok, text = programs.run(("%s --emit=kernels %s -o %s %s"):format(rocluac, targets, output,
      source))
    return ok, ok and output or text
  end

  setup(function()
    folder = files.run("mktemp -d"):gsub("\n$", "")
    assert(write("all", "-t gfx90a -t cpu:x86-64-v2"))
  end)
  teardown(function() files.run("rm -rf " .. folder) end)

  local function run(settings, name, output)
    return programs.run(("%s timeout 100 %s %s %s"):format(settings, path, name, output))
  end

  local SETTINGS = { cpu = "ROCLUA_DEVICE=cpu", hsa = "ROCLUA_DEVICE=hsa ROCLUA_EMULATE=gfx90a" }
  for kind, settings in pairs(SETTINGS) do
    for name, title in pairs(TITLES) do
      it(("%s (%s)"):format(title, kind), function()
        if kind == "hsa" and devices.missing then return pending(devices.missing) end
        local ok, output = run(settings, name, folder .. "/all.kernels")
        assert(ok and output:find("ok " .. name, 1, true), output)
      end)
    end
  end

  it("needs no compiler for a GPU", function()
    if devices.missing then return pending(devices.missing) end
    local library = path:match("^(.*)/bin/") .. "/lib/roclua/0"
    files.run(("mkdir %s/bare && cd %s && ln -s $PWD/libhsakmt* $PWD/libdtif* %s/bare"):format(
      folder, library, folder))
    local ok, output = run(SETTINGS.hsa .. " ROCLUA_LIBDIR=" .. folder .. "/bare", "arguments",
      folder .. "/all.kernels")
    assert(ok, output)
  end)

  it("is refused by a device that has none of its targets", function()
    local _, output = write("other", "-t gfx1100 -t sm_90")
    local ok, text = run(SETTINGS.cpu, "unsupported", output)
    assert(ok, text)
    assert.matches("kernel 'mix' was compiled for gfx1100, sm_90, and device '.-' takes none of "
      .. "them: it is 'cpu'", text)
  end)

  it("for plain cpu is of the machine that wrote it", function()
    local _, output = write("host", "-t cpu")
    local ok, text = run(SETTINGS.cpu, "arguments", output)
    assert(ok, text)
    ok, text = run(SETTINGS.cpu .. " ROCLUA_CPU=x86-64", "unsupported", output)
    assert(ok, text)
    assert.matches("was compiled for 'cpu' on another machine", text)
  end)

  it("gives a device the first of its targets that it takes", function()
    local _, output = write("several", "-t cpu:diamondrapids -t cpu:x86-64")
    local ok, text = run(SETTINGS.cpu, "arguments", output)
    assert(ok, text)
    _, output = write("new", "-t cpu:diamondrapids")
    ok, text = run(SETTINGS.cpu, "unsupported", output)
    assert(ok and text:find("uses what this processor lacks", 1, true), text)
  end)

  it("holds no captured array of a device", function()
    local ok, text = write("captured", "-t cpu", [[
      local roc = require "roc"
      local held = roc.to_device(roc.zeros(3))
      local k = roc.kernel(function(a) a[1] = held[1] end, { name = "k", signature = "(float64[:])" })
    ]])
    assert.is_false(ok)
    assert.matches("kernel 'k' captures the array 'held', which no file holds", text)
  end)

  it("is named by the script", function()
    write("own", "-t cpu")
    local ok, text = programs.run(("cd %s && %s --emit=kernels -t cpu own.lua && ls own.kernels")
      :format(folder, rocluac:find("^/") and rocluac or "$OLDPWD/" .. rocluac))
    assert(ok, text)
    assert.matches("own%.kernels\n$", text)
  end)
end)
