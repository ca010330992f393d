-- The functions of the software GPU's driver, called directly: memory, events, queues and copies.
local programs = require "support.programs"

local TITLES = {
  overlaps = "keeps what one of several overlapping ranges still needs",
  vram = "bounds the memory of a GPU",
  events = "gives each event a number and a mailbox of its own, until there are no more",
  raising = "latches an event that no thread waits for",
  queues = "gives each queue a number and a doorbell of its own, until there are no more",
  packets = "copies, waits, counts and tells as ROCR's packets say",
  refusals = "stops a copy queue at a packet that it does not know in full",
  clocks = "has the system's time, which ROCR compares with its own",
  cut = "stops a copy queue at a packet that is not there in full",
}

describe("the emulated driver", function()
  local program = programs.find("emulator_thunk_test")
  if not program then return pending("emulator_thunk_test is not built") end
  local pipe <close> = assert(io.popen(program))
  for name in pipe:lines() do
    it(TITLES[name] or name, function()
      local ok, output = programs.run(("timeout 300 %s %s 2>&1"):format(program, name))
      assert(ok and output:match("ok\n$"), output)
    end)
  end
end)
