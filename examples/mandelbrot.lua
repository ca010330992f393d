-- The Mandelbrot set as a PNG: scripts/run.sh examples/mandelbrot.lua OUT.png [width] Prints the
-- file's name and size, after reading it back and comparing points with the same Lua function run
-- on the host.
local roc = require "roc"

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

-- The point of a pixel, both counted from 0: x from -2.55 to 1.05, y from -1.2 to 1.2. The set lies
-- in -2 … 0.47 and -1.13 … 1.13.
local function point(column, row)
  return column * 3.6 / width - 2.55, row * 2.4 / height - 1.2
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

-- PNG's checksum, CRC-32.
local crc_of_byte = {}
for byte = 0, 255 do
  local crc = byte
  for _ = 1, 8 do crc = crc >> 1 ~ (crc & 1) * 0xedb88320 end
  crc_of_byte[byte] = crc
end

local function crc32(data)
  local crc = 0xffffffff
  for i = 1, #data do crc = crc >> 8 ~ crc_of_byte[(crc ~ data:byte(i)) & 0xff] end
  return crc ~ 0xffffffff
end

-- zlib's checksum of the bytes in a compressed text.
local function adler32(data)
  local a, b = 1, 0
  for i = 1, #data do
    a = (a + data:byte(i)) % 65521
    b = (b + a) % 65521
  end
  return b << 16 | a
end

local BLOCK = 65535 -- bytes at most

-- zlib's format, in blocks that are stored as they are: a PNG without a compressor.
local function store(data)
  local parts = { "\x78\x01" }
  for first = 1, #data, BLOCK do
    local block = data:sub(first, first + BLOCK - 1)
    local is_last = first + BLOCK > #data
    parts[#parts + 1] = string.pack("<BI2I2", is_last and 1 or 0, #block, ~#block & 0xffff)
    parts[#parts + 1] = block
  end
  parts[#parts + 1] = string.pack(">I4", adler32(data))
  return table.concat(parts)
end

-- The bytes that store was given.
local function unstore(stored)
  local parts, at = {}, 3
  repeat
    local is_last, size, first = string.unpack("<BI2xx", stored, at)
    at = first + size
    parts[#parts + 1] = stored:sub(first, at - 1)
  until is_last == 1
  return table.concat(parts)
end

local function chunk(kind, data)
  return string.pack(">I4", #data) .. kind .. data .. string.pack(">I4", crc32(kind .. data))
end

local function encode_png(rows)
  return table.concat {
    "\137PNG\r\n\26\n",
    chunk("IHDR", string.pack(">I4I4BBBBB", width, height, 8, 2, 0, 0, 0)), -- 8 bits, RGB
    chunk("IDAT", store(rows)),
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
assert(unstore(png:sub(42, 41 + size)) == rows, "the file does not hold the image")
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
