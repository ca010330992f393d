-- Every example runs on the default device and on sim, and says that its own check passed.
local files = require "support.files"
local shell = require "support.shell"

-- arguments that keep sim quick, and what the example says in the end; OUT is a file to write
local EXAMPLES = {
  saxpy = { "1000", "all equal to a Lua loop\n$" },
  matmul = { "20", "agree, and with a Lua loop\n$" },
  histogram = { "LICENSE", "all counts agree with a Lua loop\n$" },
  mandelbrot = { "OUT 48", "read back and compared with the host's points\n$" },
  vectorize = { "300", "all agree with a Lua loop\n$" },
  streams = { "500 3", "sum agree with the host's\n$" },
  nbody = { "40 2", "momentum by [%d.e-]+\n$" },
}

describe("the example", function()
  if not shell.interpreter then return pending("the specs do not run in roclua") end

  for name, case in pairs(EXAMPLES) do
    for _, option in ipairs { "", "--device sim" } do
      it(("%s checks itself %s"):format(name, option), function()
        local out = os.tmpname()
        finally(function() os.remove(out) end)
        local arguments, pattern = case[1]:gsub("OUT", out), case[2]
        local output, status = shell.run(
          ("ROCLUA %s examples/%s.lua %s"):format(option, name, arguments))
        assert.are.equal(0, status, output)
        assert.matches(pattern, output)
      end)
    end
  end

  it("list is complete", function()
    for _, path in ipairs(files.list("examples", "^examples/[^/]+%.lua$")) do
      assert.is_not_nil(EXAMPLES[path:match("([^/]+)%.lua$")], path)
    end
  end)
end)
