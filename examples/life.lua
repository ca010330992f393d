-- Conway's Game of Life on a torus, drawn in the terminal: scripts/run.sh examples/life.lua [turns]
-- A glider comes back to its shape, moved by a cell, after four turns: that is checked on a torus
-- of its own.
local roc = require "roc"

local turns = tonumber(arg[1]) or 60
local ROWS, COLUMNS = 20, 64

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

local function play(cells, n)
  local here, there = roc.to_device(cells), roc.device_array_like(cells)
  for _ = 1, n do
    turn:forall(cells.shape[2], cells.shape[1])(there, here)
    here, there = there, here
  end
  return here:copy_to_host()
end

local function draw(cells)
  for row = 1, cells.shape[1] do
    local line = {}
    for column = 1, cells.shape[2] do line[column] = cells[row][column] == 1 and "O" or "." end
    print(table.concat(line))
  end
end

roc.seed(2)
local cells = roc.random({ ROWS, COLUMNS }):lt(0.3):astype("int32")
for frame = 0, 2 do
  print(("turn %d: %d cells live"):format(frame * turns // 2, cells:sum()))
  draw(cells)
  if frame < 2 then cells = play(cells, turns // 2) end
end

local glider = roc.zeros({ 8, 8 }, "int32")
for _, cell in ipairs { { 2, 3 }, { 3, 4 }, { 4, 2 }, { 4, 3 }, { 4, 4 } } do
  glider[cell[1]][cell[2]] = 1
end
local moved = glider:roll(1, { axis = 1 }):roll(1, { axis = 2 })
assert(roc.array_equal(play(glider, 4), moved), "the glider has not moved by a cell")
assert(roc.array_equal(play(glider, 32), glider), "the glider has not come back")
print(("%d turns on %s; a glider moves as it should"):format(turns, roc.current_device().name))
