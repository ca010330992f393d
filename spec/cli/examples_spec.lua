-- Every example runs on the default device and on sim, and says that its own check passed.
local files = require "support.files"
local shell = require "support.shell"

-- arguments that keep sim quick, and what the example says in the end; OUT is a file to write
local EXAMPLES = {
  saxpy = { "1000", "all equal to a Lua loop\n$" },
  matmul = { "20", "agree, and with a Lua loop\n$" },
  histogram = { "LICENSE", "all counts agree with a Lua loop\n$" },
  mandelbrot = { "OUT.png 48", "read back and compared with the host's points\n$" },
  vectorize = { "300", "all agree with a Lua loop\n$" },
  streams = { "500 3", "sum agree with the host's\n$" },
  nbody = { "40 2", "momentum by [%d.e-]+\n$" },
  edges = { "- OUT.png", "pixels agree with a Lua loop\n$" },
  option = { "2000", "the two prices agree\n$" },
  heat = { "6", "as it should\n$" },
  life = { "2", "a glider moves as it should\n$" },
  kmeans = { "500", "all centres are near the known ones\n$" },
  spheres = { "OUT.png 24", "pixels agree with the host's\n$" },
  columns = { "", "the sums agree with the formula\n$" },
  network = { "1", "points are on the right side, judged on %l+\n$" },
  devices = { "500", "every element agrees with a Lua loop\n$" },
}

describe("the example", function()
  if not shell.interpreter then return pending("the specs do not run in roclua") end

  for name, case in pairs(EXAMPLES) do
    for _, option in ipairs { "", "--device sim" } do
      it(("%s checks itself, and needs no module but roc %s"):format(name, option), function()
        local out = os.tmpname()
        finally(function()
          os.remove(out)
          os.remove(out .. ".png")
        end)
        local arguments, pattern = case[1]:gsub("OUT", out), case[2]
        local output, status = shell.run(
          ("export LUA_PATH=/nowhere/?.lua LUA_CPATH=/nowhere/?.so\nROCLUA %s examples/%s.lua %s")
          :format(option, name, arguments))
        assert.are.equal(0, status, output)
        assert.matches(pattern, output)
      end)
    end
  end

  it("mandelbrot draws all of the set, its antennas too", function()
    local roc = require "roc"
    local name = os.tmpname()
    local out = name .. ".png"
    finally(function()
      os.remove(name)
      os.remove(out)
    end)
    local output, status = shell.run("ROCLUA examples/mandelbrot.lua " .. out .. " 240")
    assert.are.equal(0, status, output)
    local picture = roc.load(out)
    local height, width = picture.shape[1], picture.shape[2]
    assert.are.equal(240, width)
    local inside = picture:max { axis = 3 }:eq(0)
    local columns, rows = inside:any { axis = 1 }:nonzero(), inside:any { axis = 2 }:nonzero()
    local left, right, top, bottom = columns[1], columns[#columns], rows[1], rows[#rows]
    assert.is_true(left > 1 and right < width and top > 1 and bottom < height,
      ("the set is cut: columns %d to %d of %d, rows %d to %d of %d"):format(left, right, width,
      top, bottom, height))
    -- The left antenna ends at -2, the right edge of the heart lies at about 0.47.
    assert.is_true(math.abs(left - (-2 + 2.55) / 3.6 * width) <= 3, left)
    assert.is_true(math.abs(right - (0.47 + 2.55) / 3.6 * width) <= 4, right)
  end)

  it("list is complete", function()
    for _, path in ipairs(files.list("examples", "^examples/[^/]+%.lua$")) do
      assert.is_not_nil(EXAMPLES[path:match("([^/]+)%.lua$")], path)
    end
  end)
end)
