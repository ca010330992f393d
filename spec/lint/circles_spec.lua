-- Which layers, folders and files use one another, as the linker sees it: the symbols of the object
-- files.  The layers themselves are in spec/lint/layers.lua.
local calls = require "support.calls"
local layers = require "lint.layers"

-- Circles between folders that are left.  Each is a defect of the structure.
local ACROSS = {}

-- folder -> circles of its files; those with a reason are recursion, because what the files work on
-- is nested in itself; the others are defects of the structure.
local INSIDE = {
  ["codegen/core"] = {
    { "control kernel_versions", "a statement that holds both versions holds statements" },
  },
  ["codegen/cpu"] = {
    { "chunk regions rows", "statements of a row hold statements" },
  },
  ["frontend/syntax"] = {
    { "parse_expr parse_stat", "expressions hold functions" },
  },
  ["frontend/types"] = {
    { "infer infer_call infer_expr infer_index infer_stat",
      "expressions hold calls, whose functions hold statements" },
  },
  ["frontend/lower"] = {
    { "lower_array lower_builtin lower_call lower_expr lower_logic lower_stat",
      "expressions hold calls, whose functions hold statements" },
    { "print_lua print_lua_meet print_lua_stat", "statements hold statements" },
  },
  ["ir"] = {
    { "check_walk loop_rounds", "a loop that is walked round by round holds loops" },
    { "facts_bounds facts_products facts_prove", "products are compared factor by factor" },
  },
}

describe("the object files", function()
  local uses = calls.read()
  if not uses then return pending("no object files: the specs do not run in a built roclua") end

  it("use only the layers that theirs may", function()
    local complaints = {}
    for from, targets in pairs(uses) do
      for to, symbol in pairs(targets) do
        local layer, other = from:match("^%w+"), to:match("^%w+")
        if not layers.may_use(layer, other) then
          complaints[#complaints + 1] = ("%s uses %s of %s"):format(from, symbol, to)
        end
      end
    end
    table.sort(complaints)
    assert.are.equal("", table.concat(complaints, "\n"))
  end)

  it("of different folders do not use one another in a circle", function()
    assert.are.same(ACROSS, calls.circles(calls.by_folder(uses)))
  end)

  it("of one folder do so only where that is declared", function()
    local declared, found = {}, {}
    for folder, circles in pairs(INSIDE) do
      for _, circle in ipairs(circles) do declared[#declared + 1] = folder .. ": " .. circle[1] end
    end
    for _, circle in ipairs(calls.circles(calls.inside_folders(uses))) do
      local folder = circle:match("^(%S*)/")
      local names = circle:gsub("%S*/(%S-)%.%a+", "%1")
      found[#found + 1] = folder .. ": " .. names
    end
    table.sort(declared)
    table.sort(found)
    assert.are.same(declared, found)
  end)
end)
