-- The Mandelbrot set as a PNG: scripts/run.sh examples/mandelbrot.lua [OUT.png] [width]
-- Prints the file's name and size, after reading it back and comparing points with the same Lua
-- function run on the host.
local roc = require "roc"

local path = arg[1] or "mandelbrot.png"
local width = math.tointeger(tonumber(arg[2] or 960))
assert(path:find("%.png$") and width and width >= 2,
  "usage: mandelbrot.lua [OUT.png] [width], a whole number from 2 on")
local height = width * 2 // 3
local LIMIT, FAR2 = 500, 1e6
local PIXEL = 3.6 / width

-- How many steps the point c takes to get far away; LIMIT: it stays, or it is so near to the set
-- that the set reaches into its pixel. Without the second rule the antennas, which are thinner than
-- any pixel, would be missing. (dx, dy) is the derivative of (x, y) by c; the distance to the set
-- is about |z| log |z| / |dz|. The kernel calls this function, and so does the check below.
local function steps_to_escape(cx, cy)
  local x, y, dx, dy, steps = 0.0, 0.0, 0.0, 0.0, 0
  while steps < LIMIT and x * x + y * y <= FAR2 do
    dx, dy = 2.0 * (x * dx - y * dy) + 1.0, 2.0 * (x * dy + y * dx)
    x, y = x * x - y * y + cx, 2.0 * x * y + cy
    steps = steps + 1
  end
  local is_near = (x * x + y * y) * 50.0 < (dx * dx + dy * dy) * (0.25 * PIXEL * PIXEL)
  return is_near and LIMIT or steps
end

-- The point of a pixel, both counted from 0: x from -2.55 to 1.05, y from -1.2 to 1.2. The set lies
-- in -2 … 0.47 and -1.13 … 1.13.
local function point(column, row)
  return column * 3.6 / width - 2.55, row * 2.4 / height - 1.2
end

-- Red, green and blue: black inside, else a colour that cycles with the steps.
local function colour(steps)
  if steps == LIMIT then return 0, 0, 0 end
  return steps * 5 % 256, steps * 11 % 256, 64 + steps * 3 % 192
end

local draw = roc.kernel(function(image)
  local column, row = roc.grid(2)
  if row <= image.shape[1] and column <= image.shape[2] then
    local pixel = image[row][column]
    pixel[1], pixel[2], pixel[3] = colour(steps_to_escape(point(column - 1, row - 1)))
  end
end, { name = "mandelbrot", contract = false }) -- bit for bit what the host computes

local image = roc.device_array({ height, width, 3 }, "uint8")
draw:launch({ grid = { width, height }, workgroup = { 64, 4 } }, image)
roc.save(path, image)

local read = roc.load(path)
assert(roc.array_equal(read, image:copy_to_host()), "the file does not hold the image")
for row = 0, height - 1, 16 do
  for column = 0, width - 1, 16 do
    local r, g, b = colour(steps_to_escape(point(column, row)))
    local pixel = read[row + 1][column + 1]
    assert(pixel[1] == r and pixel[2] == g and pixel[3] == b,
      ("pixel (%d, %d) differs from the host's"):format(column, row))
  end
end
print(("%s: %d x %d pixels, drawn on %s; read back and compared with the host's points"):format(
  path, width, height, roc.current_device().name))
