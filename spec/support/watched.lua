-- Runs scripts on the software GPU with --stats or --check, and reads what it reports.
--
--   local output, status = watched.run("gfx90a", "--check", source)
--   local kernels = watched.count("gfx90a", source)
--   kernels.saxpy["memory read"]         a total, by its label
--   kernels.saxpy.lines[5].read          a column of the table, by line of the script
-- Scripts see `roc` as a local of their first line.
local files = require "support.files"
local shell = require "support.shell"

local watched = {}

-- Columns of the table of lines, after the place.
local COLUMNS = { "instructions", "percent", "lanes", "splits", "read", "written", "coalesced",
  "conflicts", "waited" }

-- Calls `use` with the path of a file that holds the script, and then removes it.
local function with_script(source, use)
  local path = os.tmpname()
  local file <close> = assert(io.open(path, "w"))
  file:write('local roc = require "roc"; ', source)
  file:close()
  local results = table.pack(pcall(use, path))
  os.remove(path)
  assert(results[1], results[2])
  return table.unpack(results, 2, results.n)
end

---@param chip string
---@param options string
---@param source string
---@return string output of stdout and stderr; the script is called "script.lua" in it
---@return integer status
function watched.run(chip, options, source)
  return with_script(source, function(path)
    local command = ("ROCLUA --emulate %s %s %s"):format(chip, options, path)
    local output, status = shell.run(command)
    return (output:gsub(path:gsub("%p", "%%%0"), "script.lua")), status
  end)
end

local function read_line(kernel, line)
  local number, columns = line:match("^  %S+:(%d+) +(.+)$")
  if not number then return end
  local row, i = {}, 0
  for value in columns:gmatch("%S+") do
    i = i + 1
    row[COLUMNS[i]] = tonumber(value) or value
  end
  kernel.lines[math.tointeger(number)] = row
end

---The report as a table.
---@param report string
---@return table kernels by name
function watched.parse(report)
  local kernels, kernel = {}, nil
  for line in report:gmatch("[^\n]+") do
    local name, chip, launches, groups, wavefronts = line:match(
      "^kernel '(.-)' on (%w+): (%d+) launche?s?, (%d+) workgroups?, (%d+) wavefronts?$")
    if name then
      kernel = { chip = chip, launches = tonumber(launches), groups = tonumber(groups),
        wavefronts = tonumber(wavefronts), lines = {} }
      kernels[#kernels + 1], kernels[name] = name, kernel
    elseif kernel then
      local label, value, rest = line:match("^ +(%a[%a, ]-)  +([%d.]+) ?(.*)$")
      if label then
        kernel[label] = tonumber(value)
        kernel.best = label == "lines touched" and tonumber(rest:match("(%d+) at best"))
          or kernel.best
      else
        read_line(kernel, line)
      end
    end
  end
  return kernels
end

---What kernels of the script did.
---@param chip string
---@param source string
---@return table kernels
function watched.count(chip, source)
  local path = os.tmpname()
  local output, status = watched.run(chip, "--stats=" .. path, source)
  local report = files.read(path)
  os.remove(path)
  assert(status == 0, output)
  return watched.parse(report)
end

return watched
