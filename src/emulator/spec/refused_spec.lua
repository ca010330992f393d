-- The list of refused instructions in docs/emulator.md, and how many are executed, against the
-- names that LLVM's disassembler has for each chip: each name is executed or listed, and not both.
local emulator = require "support.emulator"
local files = require "support.files"

if not emulator.program then
  pending("emulator_test is not built")
  return
end

-- "ds_*_tr_?" as a pattern of Lua.
local function pattern_of(glob)
  return "^" .. glob:gsub("%*", ".*"):gsub("%?", ".") .. "$"
end

-- The rows of the table: { globs, chips }.
local function read_list()
  local rows = {}
  local text = files.read("docs/emulator.md"):match("### Instructions that are refused(.-)\n#")
    or error("docs/emulator.md has no list of refused instructions")
  for names, chips in text:gmatch("\n| (`[^|]*) | ([^|]*) | [^\n]*|") do
    local row = { globs = {}, chips = {} }
    for glob in names:gmatch("`([^`]*)`") do row.globs[#row.globs + 1] = glob end
    for chip in chips:gmatch("%g+") do row.chips[#row.chips + 1] = chip end
    rows[#rows + 1] = row
  end
  return rows
end

-- How many instructions docs/emulator.md says that the chip has, and that are executed.
local function counts_of(chip)
  local row = "\n| (gfx[^|]*) | (%d+) | (%d+) |"
  for names, all, known in files.read("docs/emulator.md"):gmatch(row) do
    for name in names:gmatch("%w+") do
      if name == chip then return { all = tonumber(all), known = tonumber(known) } end
    end
  end
end

-- Whether a row names the chip, or its generation.
local function concerns(row, chip)
  for _, name in ipairs(row.chips) do
    if name == chip or name == "gfx" .. emulator.generation(chip) then return true end
  end
end

-- The names of a chip's instructions: name to "known" or "refused".
local function names_of(chip)
  local output, succeeded = files.run(("%s names %s"):format(emulator.program, chip))
  assert(succeeded, output)
  local names = {}
  for state, name in output:gmatch("(%a+) (%g+)\n") do names[name] = state end
  return names
end

describe("the list of refused instructions", function()
  local rows = read_list()

  for _, chip in ipairs { "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1031",
    "gfx1035", "gfx1100", "gfx1201" } do
    it("is that of " .. chip, function()
      local names, listed, complaints = names_of(chip), {}, {}
      local count = { all = 0, known = 0 }
      for _, row in ipairs(rows) do
        for _, glob in ipairs(concerns(row, chip) and row.globs or {}) do
          local found
          for name, state in pairs(names) do
            if name:find(pattern_of(glob)) then
              found, listed[name] = true, true
              if state == "known" then
                complaints[#complaints + 1] = name .. " is executed, but listed as " .. glob
              end
            end
          end
          if not found then complaints[#complaints + 1] = glob .. " is no instruction of it" end
        end
      end
      for name, state in pairs(names) do
        count.all = count.all + 1
        if state == "known" then count.known = count.known + 1 end
        if state == "refused" and not listed[name] then
          complaints[#complaints + 1] = name .. " is refused, and not listed"
        end
      end
      table.sort(complaints)
      assert.are.equal("", table.concat(complaints, "\n"))
      assert.are.same(count, counts_of(chip))
    end)
  end
end)
