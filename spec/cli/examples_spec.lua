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
      it(("%s checks itself, and needs no module but roc %s"):format(name, option), function()
        local out = os.tmpname()
        finally(function() os.remove(out) end)
        local arguments, pattern = case[1]:gsub("OUT", out), case[2]
        local output, status = shell.run(
          ("export LUA_PATH=/nowhere/?.lua LUA_CPATH=/nowhere/?.so\nROCLUA %s examples/%s.lua %s")
          :format(option, name, arguments))
        assert.are.equal(0, status, output)
        assert.matches(pattern, output)
      end)
    end
  end

  -- The bytes of mandelbrot's picture, rows of a filter byte and three bytes a pixel.
  local function read_picture(path)
    local zlib = require "zlib"
    local bytes = files.read(path)
    local width, height = string.unpack(">I4I4", bytes, 17)
    local size = string.unpack(">I4", bytes, 34)
    assert.are.equal((string.unpack(">I4", bytes, 42 + size)),
      math.tointeger(zlib.crc32()(bytes:sub(38, 41 + size))))
    return zlib.inflate()(bytes:sub(42, 41 + size)), width, height
  end

  it("mandelbrot draws a picture that others can read, with all of the set in it", function()
    local out = os.tmpname()
    finally(function() os.remove(out) end)
    local output, status = shell.run("ROCLUA examples/mandelbrot.lua " .. out .. " 240")
    assert.are.equal(0, status, output)
    local rows, width, height = read_picture(out)
    assert.are.equal(240, width)
    assert.are.equal(height * (1 + 3 * width), #rows)
    local left, right, top, bottom = width, -1, height, -1
    for row = 0, height - 1 do
      for column = 0, width - 1 do
        local at = row * (1 + 3 * width) + 3 * column + 2
        if rows:sub(at, at + 2) == "\0\0\0" then
          left, right = math.min(left, column), math.max(right, column)
          top, bottom = math.min(top, row), math.max(bottom, row)
        end
      end
    end
    assert.is_true(left > 0 and right < width - 1 and top > 0 and bottom < height - 1,
      ("the set is cut: columns %d to %d of %d, rows %d to %d of %d"):format(left, right, width,
      top, bottom, height))
    assert.is_true(right - left > width // 2 and bottom - top > height // 2)
  end)

  it("list is complete", function()
    for _, path in ipairs(files.list("examples", "^examples/[^/]+%.lua$")) do
      assert.is_not_nil(EXAMPLES[path:match("([^/]+)%.lua$")], path)
    end
  end)
end)
