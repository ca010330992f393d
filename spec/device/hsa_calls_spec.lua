-- Runs the C tests of what the hsa driver asks of ROCR, one process each, on the software GPU.
local roc = require "roc"
local devices = require "support.devices"
local programs = require "support.programs"

describe("the hsa driver", function()
  local program = programs.find("hsa_calls_test")
  if not program then return pending("hsa_calls_test is not built") end
  if devices.missing then return pending(devices.missing) end
  local path, symbol = os.tmpname(), nil

  setup(function()
    local k = roc.kernel("function() end", { name = "nothing", signature = "()" })
    local object = k:compile("gfx90a")
    symbol = object.entry
    local file <close> = assert(io.open(path, "wb"))
    file:write(object.bytes)
  end)
  teardown(function() os.remove(path) end)

  local titles = {
    scatter = "stores elements at strided places, and touches nothing between them",
    rows = "does so where the copy engines have no rectangular copies",
    few = "does so with a few copies, however many elements there are",
    failures = "survives the failure of any call of ROCR",
    long = "makes small copies at once, but not behind a long one",
    isas = "compiles for the first of a GPU's ISAs that it knows, or says that it knows none",
    apu = "allocates where the host reaches when GPU and host share their memory",
    pools = "does without a pool for arguments, or memory of the GPU's own",
    peers = "copies between GPUs, which keep the access to each other's memory",
    absent = "says why there is no GPU and what to do: module, container, permissions, ROCR",
  }
  local gpus = { peers = "gfx90a,gfx90a,gfx1030" }
  for name in assert(io.popen(program)):lines() do
    it(assert(titles[name], name), function()
      -- The limit ends what hangs: a ROCR that polls takes a processor from each test beside it.
      local command = "ROCLUA_EMULATE=%s timeout 600 %s %s %s %s"
      local ok, output = programs.run(command:format(gpus[name] or "gfx90a", program, name, path,
        symbol))
      assert(ok and output:find("ok " .. name, 1, true), output)
    end)
  end
end)
