-- Every example runs on the default device and on sim, and says that its own check passed.
local EXAMPLES = require "support.examples"
local files = require "support.files"
local shell = require "support.shell"

describe("the example", function()
  if not shell.interpreter then return pending("the specs do not run in roclua") end

  for name, case in pairs(EXAMPLES) do
    for _, option in ipairs { "", "--device sim" } do
      it(("%s checks itself, and needs no module but roc %s"):format(name, option), function()
        local missing = case.needs_lapack and select(2, require "roc".linalg.library())
        if missing then return pending(missing) end
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

  -- Words in place of numbers, and of files that are not there.
  for name in pairs(EXAMPLES) do
    it(name .. " says what it takes when it is given something else", function()
      local output, status = shell.run(("ROCLUA examples/%s.lua missing missing"):format(name))
      assert.are.equal(1, status, output)
      assert.is_truthy(output:find("usage: " .. name .. ".lua", 1, true)
        or output:find("missing'?: No such file or directory"), output)
    end)
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

  it("list is complete, here and in the documentation", function()
    local contents <close> = assert(io.open("docs/README.md"))
    local documentation = contents:read("a")
    for _, path in ipairs(files.list("examples", "%.lua$")) do
      if not path:find("^examples/embed/") then
        assert.is_not_nil(EXAMPLES[path:match("^examples/(.*)%.lua$")], path)
        assert.is_truthy(documentation:find("`" .. path:match("[^/]+$") .. "`", 1, true), path)
      end
    end
  end)
end)
