-- The most frequent words of a text, by sorting: scripts/run.sh examples/arrays/words.lua [file]
-- A word is a number in base 27, its first 13 letters; equal words are neighbours once the numbers
-- are sorted, so that the places where the number changes tell the counts, which must be those of a
-- Lua table.
local roc = require "roc"

local LETTERS = 13
local file <close> = assert(io.open(arg[1] or "LICENSE"))
local text = file:read("a"):lower()

local list, expected = {}, {}
for word in text:gmatch "%l+" do
  word = word:sub(1, LETTERS)
  local number = 0
  for i = 1, LETTERS do number = number * 27 + (word:byte(i) or 96) - 96 end
  list[#list + 1] = number
  expected[word] = (expected[word] or 0) + 1
end
assert(#list > 0, "the file has no words")

local function word_of(number)
  local letters = {}
  for i = LETTERS, 1, -1 do
    letters[i] = number % 27 > 0 and string.char(number % 27 + 96) or ""
    number = number // 27
  end
  return table.concat(letters)
end

local sorted = roc.array(list, "int64"):sort()
local n = #sorted
local changes = sorted[{ { 2, n } }]:ne(sorted[{ { 1, n - 1 } }]):nonzero() + 1
local starts = roc.concat { roc.array({ 1 }, "int64"), changes }
local counts = roc.concat({ starts, roc.array({ n + 1 }, "int64") }):diff()

local places = counts:argsort { descending = true }
for rank = 1, math.min(5, #places) do
  local place = places[rank]
  print(("%6d %s"):format(counts[place], word_of(sorted[starts[place]])))
end
for i = 1, #starts do assert(expected[word_of(sorted[starts[i]])] == counts[i]) end
print(("%d words, %d different; all counts agree with a Lua table"):format(n, #starts))
