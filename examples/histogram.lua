-- How often each byte occurs in a file: scripts/run.sh examples/histogram.lua [FILE]
-- Without a file it counts its own bytes. Prints a bar for each group of eight byte values, and
-- that the counts agree with a Lua loop.
local roc = require "roc"
local histogram = require "roc.kernels.histogram"

local path = arg[1] or arg[0]
local file <close> = assert(io.open(path, "rb"))
local text = assert(file:read("a"))

local counts = roc.zeros(histogram.BINS, "int64")
if #text > 0 then
  histogram.bytes[{ 32, 256 }](roc.to_device(roc.frombytes(text, "uint8")), counts)
end

local GROUP, WIDTH = 8, 60
local bars, longest = {}, 1
for first = 0, 255, GROUP do
  local sum = 0
  for value = first, first + GROUP - 1 do sum = sum + counts[value + 1] end
  bars[#bars + 1] = sum
  longest = math.max(longest, sum)
end
for i, sum in ipairs(bars) do
  local first = (i - 1) * GROUP
  local shown = string.char(first):match("%g") or " "
  print(("%02x-%02x %s %9d %s"):format(first, first + GROUP - 1, shown, sum,
    ("#"):rep(sum * WIDTH // longest)))
end

local expected = {}
for value = 0, 255 do expected[value] = 0 end
for i = 1, #text do
  local value = text:byte(i)
  expected[value] = expected[value] + 1
end
for value = 0, 255 do
  assert(counts[value + 1] == expected[value], ("wrong count of byte %d"):format(value))
end
print(("%d bytes of %s on %s: all counts agree with a Lua loop"):format(#text, path,
  roc.current_device().name))
