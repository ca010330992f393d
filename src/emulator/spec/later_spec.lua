-- The software GPU's driver as ROCRs of ROCm 6 and 7 open it.
local programs = require "support.programs"

local TITLES = {
  layouts = "writes each release's structures as long as that release has them",
  names = "has every function that a ROCR looks up, and libdrm's in libdtif.so alone",
  answers = "answers what later releases ask",
  large_copy = "copies more than 4 MiB by one packet",
}

describe("the emulated driver of later releases", function()
  local program = programs.find("emulator_later_test")
  if not program then return pending("emulator_later_test is not built") end
  local libraries = program:match("^(.*)/bin/") .. "/lib/roclua/0"
  local pipe <close> = assert(io.popen(program))
  for name in pipe:lines() do
    it(assert(TITLES[name], name), function()
      local command = ("timeout 300 %s %s %s"):format(program, name, libraries)
      local ok, output = programs.run(command)
      assert(ok and output:match("ok\n$"), output)
    end)
  end
end)
