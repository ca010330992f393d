-- Conway's Game of Life on a torus, drawn in the terminal: scripts/run.sh examples/life.lua [turns]
-- On a terminal each turn takes the place of the one before it; in a file or a pipe there are the
-- first and the last one. A glider comes back to its shape, moved by a cell, after four turns: that
-- is checked on a torus of its own.
local roc = require "roc"

local turns = math.tointeger(tonumber(arg[1] or 100))
assert(turns and turns >= 0, "usage: life.lua [turns], a whole number")
local ROWS, COLUMNS, PACE = 20, 64, 20 -- turns a second
local is_terminal = os.execute("test -t 1")

local turn = roc.kernel(function(out, cells)
  local x, y = roc.grid(2)
  local rows, columns = cells.shape[1], cells.shape[2]
  if x <= columns and y <= rows then
    local up, down = y > 1 and y - 1 or rows, y < rows and y + 1 or 1
    local left, right = x > 1 and x - 1 or columns, x < columns and x + 1 or 1
    local n = cells[up][left] + cells[up][x] + cells[up][right] + cells[y][left] + cells[y][right]
      + cells[down][left] + cells[down][x] + cells[down][right]
    out[y][x] = (n == 3 or n == 2 and cells[y][x] == 1) and 1 or 0
  end
end)

-- The cells after n turns. on_turn, where given, gets those of each turn.
local function play(cells, n, on_turn)
  local here, there = roc.to_device(cells), roc.device_array_like(cells)
  for i = 1, n do
    turn:forall(cells.shape[2], cells.shape[1])(there, here)
    here, there = there, here
    if on_turn then on_turn(i, here:copy_to_host()) end
  end
  return here:copy_to_host()
end

local function draw(number, cells)
  local lines = { ("turn %d: %d cells live"):format(number, cells:sum()) }
  for row = 1, cells.shape[1] do
    local line = {}
    for column = 1, cells.shape[2] do line[column] = cells[row][column] == 1 and "O" or "." end
    lines[row + 1] = table.concat(line)
  end
  print(table.concat(lines, "\n"))
end

local start = roc.time()

-- A turn in the place of the one before it: the cursor goes to the top left corner.
local function redraw(number, cells)
  io.write("\27[H\27[K")
  draw(number, cells)
  repeat until roc.time() >= start + number / PACE
end

roc.seed(2)
local cells = roc.random({ ROWS, COLUMNS }):lt(0.3):astype("int32")
if is_terminal then io.write("\27[2J\27[H") end
draw(0, cells)
local last = play(cells, turns, is_terminal and redraw)
if not is_terminal then draw(turns, last) end

local glider = roc.zeros({ 8, 8 }, "int32")
for _, cell in ipairs { { 2, 3 }, { 3, 4 }, { 4, 2 }, { 4, 3 }, { 4, 4 } } do
  glider[cell[1]][cell[2]] = 1
end
local moved = glider:roll(1, { axis = 1 }):roll(1, { axis = 2 })
assert(roc.array_equal(play(glider, 4), moved), "the glider has not moved by a cell")
assert(roc.array_equal(play(glider, 32), glider), "the glider has not come back")
print(("%d turns on %s; a glider moves as it should"):format(turns, roc.current_device().name))
