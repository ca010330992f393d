-- Linking code for AMD GPUs needs no file system: not a folder that takes files, nor room in one.
local files = require "support.files"
local shell = require "support.shell"

local SCRIPT = [[
local roc = require "roc"
local k = roc.kernel("function(x) x[1] = math.exp(x[1]) + %d end", { env = { math = math } })
local ok, result = pcall(k.compile, k, "gfx90a", "float32[:]")
print(ok, ok and "" or result.code or result)
if ok then k:compile("gfx1030", "float32[:]"):close() end
]]

-- A name space of mounts of one's own, as root or where users may have one.
local function own_mounts()
  for _, options in ipairs { "-m", "-rm" } do
    local command = ("unshare %s sh -c 'mount -t tmpfs none /dev/shm'"):format(options)
    if select(2, files.run(command)) then return "unshare " .. options end
  end
end

describe("linking for an AMD GPU", function()
  local folder, script

  setup(function()
    folder = files.run("mktemp -d -p ."):gsub("\n$", "")
    script = folder .. "/script.lua"
    local file <close> = assert(io.open(script, "w"))
    file:write((SCRIPT:gsub("%%d", "1")))
  end)
  teardown(function() files.run("rm -rf " .. folder) end)

  local function run(before)
    local output, status = shell.run(("export ROCLUA_CACHE=off ROCLUA_DEVICE=null; %s; "
      .. "timeout 60 ROCLUA %s | cat"):format(before, script))
    assert.are.equal(0, status)
    return output
  end

  for name, options in pairs {
    ["are full"] = "size=4k",
    ["have less room than the code takes"] = "size=8k",
    ["cannot be written"] = "ro",
  } do
    it("works where folders for temporary files " .. name, function()
      if not shell.interpreter then return pending("needs roclua") end
      local unshare = own_mounts()
      if not unshare then return pending("needs a name space of mounts") end
      local output, status = shell.run(([[mkdir -p %s/tmp; %s sh -c '
        for f in /dev/shm %s/tmp; do mount -t tmpfs -o %s none $f || exit; done
        export ROCLUA_CACHE=off ROCLUA_DEVICE=null TMPDIR=%s/tmp
        timeout 60 ROCLUA %s; echo $?; ls -A /dev/shm $TMPDIR']]):format(folder, unshare, folder,
        options, folder, script))
      assert.are.equal(0, status)
      assert.are.equal(("true\t\n0\n%s/tmp:\n\n/dev/shm:\n"):format(folder), output)
    end)
  end

  it("fails with an error where a limit of file sizes leaves no room for the object", function()
    if not shell.interpreter then return pending("needs roclua") end
    assert.matches("^false\tio\n$", run("ulimit -f 1"))
    assert.matches("^true\t\n$", run("ulimit -f 1000"))
  end)
end)
