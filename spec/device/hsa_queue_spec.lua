-- Runs the C tests of the hsa driver on the software GPU, one process each.
local roc = require "roc"
local devices = require "support.devices"
local programs = require "support.programs"

describe("the hsa driver's queues", function()
  local program = programs.find("hsa_test")
  if not program then return pending("hsa_test is not built") end
  if devices.missing then return pending(devices.missing) end
  local good, bad, symbol = os.tmpname(), os.tmpname(), nil

  setup(function()
    local k = roc.kernel("function() end", { name = "nothing", signature = "()" })
    local object = k:compile("gfx90a")
    symbol = object.entry
    local END, TRAP = "\0\0\x81\xbf", "\x02\0\x92\xbf" -- s_endpgm, s_trap 2
    for path, bytes in pairs { [good] = object.bytes, [bad] = object.bytes:gsub(END, TRAP) } do
      local file <close> = assert(io.open(path, "wb"))
      file:write(bytes)
    end
  end)
  teardown(function()
    os.remove(good)
    os.remove(bad)
  end)

  local titles = {
    order = "give tickets that grow, and complete in order",
    stop = "stop at a kernel that traps: what is behind it fails with it, other streams go on",
    full = "take more than they hold, while another waits for the host",
    shared = "stop waiting for others when another stream's kernel stops them",
    idle = "take no processor time when there is nothing to do",
    shape = "refuse a grid that a packet cannot hold",
    overhead = "take a launch in no time",
    registers = "fail a kernel for which there are not enough registers, and go on",
    scratch = "fail a kernel for which there is no private memory, and go on",
  }
  for name in assert(io.popen(program)):lines() do
    it(titles[name] or name, function()
      local command = "ROCLUA_EMULATE=gfx90a timeout 100 %s %s %s %s %s"
      local ok, output = programs.run(command:format(program, name, good, bad, symbol))
      assert(ok and output:find("ok " .. name, 1, true), output)
    end)
  end
end)
