-- Heat that spreads over a plate, drawn in the terminal: scripts/run.sh examples/heat.lua [steps]
-- The edges are kept cold. On a terminal each picture takes the place of the one before it; in a
-- file or a pipe there are six of them. At the end the decay is compared with what theory says of
-- the slowest wave.
local roc = require "roc"

local steps = math.tointeger(tonumber(arg[1] or 2400))
assert(steps and steps >= 0, "usage: heat.lua [steps], a whole number")
local is_terminal = os.execute("test -t 1")
local FRAMES, PACE = is_terminal and 80 or 6, 20 -- pictures, and how many a second
local ROWS, COLUMNS, RATE = 48, 96, 0.2
local SHADES = { " ", ".", ":", "-", "=", "+", "*", "#", "%", "@" }

local step = roc.kernel(function(out, t)
  local x, y = roc.grid(2)
  if x > 1 and x < t.shape[2] and y > 1 and y < t.shape[1] then
    local around = t[y][x - 1] + t[y][x + 1] + t[y - 1][x] + t[y + 1][x]
    out[y][x] = t[y][x] + RATE * (around - 4 * t[y][x])
  end
end)

local function draw(number, t)
  local highest = t:max()
  local lines = { ("after %d steps: at most %.2f"):format(number, highest) }
  for row = 1, ROWS, 4 do
    local line = {}
    for column = 1, COLUMNS, 2 do
      local share = math.max(t[row][column], 0) / math.max(highest, 1e-12)
      line[#line + 1] = SHADES[1 + math.floor(9.99 * share)]
    end
    lines[#lines + 1] = table.concat(line)
  end
  print(table.concat(lines, "\n"))
end

local frame, start = 0, roc.time()

-- A picture in the place of the one before it: the cursor goes to the top left corner.
local function redraw(number, t)
  io.write("\27[H\27[K")
  draw(number, t)
  frame = frame + 1
  repeat until roc.time() >= start + frame / PACE
end

-- Two hot spots; and the slowest wave, whose decay in a step is known.
local plate = roc.zeros({ ROWS, COLUMNS })
plate[{ { 10, 16 }, { 16, 28 } }] = 100
plate[{ { 30, 40 }, { 60, 84 } }] = 60
local wave = roc.zeros({ ROWS, COLUMNS })
for y = 1, ROWS do
  local height = math.sin(math.pi * (y - 1) / (ROWS - 1))
  for x = 1, COLUMNS do wave[y][x] = height * math.sin(math.pi * (x - 1) / (COLUMNS - 1)) end
end

-- The temperatures after n steps. on_frame, where given, gets those of some steps on the way.
local function evolve(t, n, on_frame)
  local here, there = roc.to_device(t), roc.to_device(t)
  for i = 1, n do
    step:forall(COLUMNS, ROWS)(there, here)
    here, there = there, here
    if on_frame and i % math.max(1, n // FRAMES) == 0 then on_frame(i, here:copy_to_host()) end
  end
  return here:copy_to_host()
end

if is_terminal then io.write("\27[2J") end
evolve(plate, steps, is_terminal and redraw or draw)

local factor = 1 - 4 * RATE * (math.sin(math.pi / 2 / (ROWS - 1)) ^ 2
  + math.sin(math.pi / 2 / (COLUMNS - 1)) ^ 2)
local decayed = evolve(wave, steps)
assert(roc.allclose(decayed, wave * factor ^ steps, 1e-9, 1e-12), "the wave decays wrongly")
print(("%d steps on %s: the slowest wave has decayed to %.6f, as it should"):format(steps,
  roc.current_device().name, factor ^ steps))
