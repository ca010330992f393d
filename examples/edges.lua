-- The edges of a picture: scripts/run.sh examples/edges.lua [IN.png] [OUT.png]
-- Without IN it draws a picture of its own. Blurs it, takes Sobel's gradient, and writes its
-- length; prints the sizes, after comparing pixels with a plain Lua loop.
local roc = require "roc"

local from, to = arg[1], arg[2] or "edges.png"
assert(to:find("%.png$"), "usage: edges.lua [IN.png] [OUT.png]; - for IN.png draws a picture")

-- Discs of several greys.
local function drawing(height, width)
  local discs = roc.kernel(function(picture)
    local x, y = roc.grid(2)
    if y <= picture.shape[1] and x <= picture.shape[2] then
      local grey = 40
      for k = 1, 5 do
        local dx, dy = x - k * picture.shape[2] / 6, y - (k % 3 + 1) * picture.shape[1] / 4
        if dx * dx + dy * dy < 100 * k then grey = 40 + 40 * k end
      end
      picture[y][x] = grey
    end
  end)
  local picture = roc.zeros({ height, width }, "uint8")
  discs:forall(width, height)(picture)
  return picture
end

local picture = from and from ~= "-" and roc.load(from) or drawing(120, 160)
assert(picture.dtype == roc.uint8 and (picture.ndim == 2 or picture.ndim == 3),
  "not a picture: " .. tostring(from))

-- One channel of floats, whatever the picture has.
local grey = picture:astype("float32")
if picture.ndim == 3 then
  local colours = picture.shape[3] >= 3 and 3 or 1
  grey = grey[{ {}, {}, { 1, colours } }]:mean { axis = 3 }
end
local height, width = grey.shape[1], grey.shape[2]

local function clamp(i, n) return math.min(math.max(i, 1), n) end

local blur = roc.kernel(function(out, x)
  local column, row = roc.grid(2)
  if row <= x.shape[1] and column <= x.shape[2] then
    local sum = 0.0
    for dy = -1, 1 do
      for dx = -1, 1 do
        local weight = (2 - math.abs(dy)) * (2 - math.abs(dx))
        sum = sum + weight * x[clamp(row + dy, x.shape[1])][clamp(column + dx, x.shape[2])]
      end
    end
    out[row][column] = sum / 16
  end
end)

-- Sobel's gradient at a pixel: the kernel calls it, and so does the check below.
local function edge(x, row, column, rows, columns)
  local up, down = clamp(row - 1, rows), clamp(row + 1, rows)
  local left, right = clamp(column - 1, columns), clamp(column + 1, columns)
  local gx = x[up][right] + 2 * x[row][right] + x[down][right]
    - x[up][left] - 2 * x[row][left] - x[down][left]
  local gy = x[down][left] + 2 * x[down][column] + x[down][right]
    - x[up][left] - 2 * x[up][column] - x[up][right]
  return math.min(math.sqrt(gx * gx + gy * gy), 255.0)
end

local edges = roc.kernel(function(out, x)
  local column, row = roc.grid(2)
  if row <= x.shape[1] and column <= x.shape[2] then
    out[row][column] = math.floor(edge(x, row, column, x.shape[1], x.shape[2]))
  end
end)

local soft = roc.device_array({ height, width }, "float32")
local result = roc.device_array({ height, width }, "uint8")
blur:forall(width, height)(soft, roc.to_device(grey))
edges:forall(width, height)(result, soft)
roc.save(to, result)

local blurred, written = soft:copy_to_host(), roc.load(to)
for row = 1, height, 17 do
  for column = 1, width, 13 do
    local expected = edge(blurred, row, column, height, width)
    assert(math.abs(written[row][column] - expected) <= 1, "a pixel differs from the host's")
  end
end
print(("%s: the edges of %d x %d pixels, on %s; pixels agree with a Lua loop"):format(to, width,
  height, roc.current_device().name))
