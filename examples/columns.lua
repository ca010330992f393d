-- Sums of the columns of a CSV file: scripts/run.sh examples/columns.lua [FILE.csv]
-- Without a file it writes one of its own, and checks the sums against the formula. Prints a line
-- for each column: its type, and sum, mean, least and greatest of numbers.
local roc = require "roc"

local path, N = arg[1], 1000
local is_own = not path or path == "-"
if is_own then
  path = os.tmpname() .. ".csv"
  local file <close> = assert(io.open(path, "w"))
  file:write("number,half,name\n")
  for i = 1, N do file:write(("%d,%.1f,item %d\n"):format(i, i / 2, i)) end
end

local columns = roc.load(path, { format = "csv" })
print(("%-16s %-8s %12s %12s %12s %12s"):format("column", "type", "sum", "mean", "least",
  "greatest"))
for _, name in ipairs(columns) do
  local column = columns[name]
  if type(column) == "table" then
    print(("%-16s %-8s"):format(name, "text"))
  else
    local d = roc.to_device(column)
    print(("%-16s %-8s %12.6g %12.6g %12.6g %12.6g"):format(name, column.dtype.name, d:sum(),
      d:mean(), d:min(), d:max()))
  end
end

if is_own then
  assert(columns.number:sum() == N * (N + 1) // 2, "the sum of the numbers is wrong")
  assert(columns.half:sum() == N * (N + 1) / 4, "the sum of the halves is wrong")
  assert(columns.name[N] == "item " .. N, "the last name is wrong")
  os.remove(path)
  print("the sums agree with the formula")
end
