-- The Game of Life by array expressions: scripts/run.sh examples/arrays/life.lua [generations]
-- A glider on a board whose edges meet; after every four generations it must have moved by one.
local roc = require "roc"

local generations = math.tointeger(tonumber(arg[1] or 40))
assert(generations and generations >= 0, "usage: arrays/life.lua [generations], a whole number")
local SIZE = 24

local GLIDER = roc.array({ { 0, 1, 0 }, { 0, 0, 1 }, { 1, 1, 1 } }, "int8")
local first = roc.zeros({ SIZE, SIZE }, "int8")
first[{ { 2, 4 }, { 2, 4 } }] = GLIDER

local function moved(board, rows, columns)
  return board:roll(rows, { axis = 1 }):roll(columns, { axis = 2 })
end

local board = first
for _ = 1, generations do
  local rows = board + board:roll(1, { axis = 1 }) + board:roll(-1, { axis = 1 })
  local neighbours = rows + rows:roll(1, { axis = 2 }) + rows:roll(-1, { axis = 2 }) - board
  local lives = neighbours:eq(3) | (neighbours:eq(2) & board:eq(1))
  board = roc.where(lives, 1, 0):astype("int8")
end

for i = 1, SIZE do
  local line = {}
  for j = 1, SIZE do line[j] = board[i][j] == 1 and "#" or "." end
  print(table.concat(line))
end
local steps = generations // 4
assert(board:sum() == 5, "a glider has five cells")
if generations % 4 == 0 then assert(roc.array_equal(board, moved(first, steps, steps))) end
print "the glider moved as it should"
