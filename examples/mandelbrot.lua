-- The Mandelbrot set as a PNG: scripts/run.sh examples/mandelbrot.lua OUT.png [width] Prints the
-- file's name and size, after reading it back and comparing points with the same Lua function run
-- on the host.
local roc = require "roc"
local zlib = require "zlib"

local path = arg[1] or "mandelbrot.png"
local width = tonumber(arg[2]) or 960
local height = width * 2 // 3
local LIMIT = 500

-- How many steps a point takes to escape; LIMIT: it stays.  The kernel calls it, and so does the
-- check below.
local function steps_to_escape(cx, cy)
  local x, y, steps = 0.0, 0.0, 0
  while steps < LIMIT and x * x + y * y <= 4.0 do
    x, y = x * x - y * y + cx, 2.0 * x * y + cy
    steps = steps + 1
  end
  return steps
end

-- The point of a pixel, both counted from 0: x from -2.25 to 0.75, y from -1 to 1.
local function point(column, row)
  return column * 3.0 / width - 2.25, row * 2.0 / height - 1.0
end

-- The three bytes of a pixel: black inside, else a colour that cycles with the steps.
local function colour(steps)
  if steps == LIMIT then return 0, 0, 0 end
  return steps * 5 % 256, steps * 11 % 256, 64 + steps * 3 % 192
end

-- Rows as PNG wants them: a filter byte (0: none), then three bytes a pixel.
local draw = roc.kernel(function(image)
  local column, row = roc.grid(2)
  if row <= image.shape[1] and column <= width then
    if column == 1 then image[row][1] = 0 end
    local at = 3 * column - 1
    image[row][at], image[row][at + 1], image[row][at + 2] =
      colour(steps_to_escape(point(column - 1, row - 1)))
  end
end, { name = "mandelbrot", contract = false }) -- bit for bit what the host computes

local function chunk(kind, data)
  local crc = math.tointeger(zlib.crc32()(kind .. data))
  return string.pack(">I4", #data) .. kind .. data .. string.pack(">I4", crc)
end

local function encode_png(rows)
  return table.concat {
    "\137PNG\r\n\26\n",
    chunk("IHDR", string.pack(">I4I4BBBBB", width, height, 8, 2, 0, 0, 0)), -- 8 bits, RGB
    chunk("IDAT", (zlib.deflate()(rows, "finish"))),
    chunk("IEND", ""),
  }
end

local image = roc.device_array({ height, 1 + 3 * width }, "uint8")
draw:launch({ grid = { width, height }, workgroup = { 64, 4 } }, image)
local rows = image:copy_to_host():tobytes()

local out = assert(io.open(path, "wb"))
assert(out:write(encode_png(rows)))
assert(out:close())

local file <close> = assert(io.open(path, "rb"))
local png = file:read("a")
local size = string.unpack(">I4", png, 34) -- of IDAT, which begins right behind IHDR
assert(zlib.inflate()(png:sub(42, 41 + size)) == rows, "the file does not hold the image")
for row = 0, height - 1, 16 do
  for column = 0, width - 1, 16 do
    local at = row * (1 + 3 * width) + 3 * column + 2
    local r, g, b = colour(steps_to_escape(point(column, row)))
    local pr, pg, pb = rows:byte(at, at + 2)
    assert(pr == r and pg == g and pb == b,
      ("pixel (%d, %d) differs from the host's"):format(column, row))
  end
end
print(("%s: %d x %d pixels, %d bytes, drawn on %s; read back and compared with the host's "
  .. "points"):format(
  path, width, height, #png, roc.current_device().name))
