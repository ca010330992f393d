-- docs/names.md: each public name has an example, and each example gives what the page says.
local files = require "support.files"
local programs = require "support.programs"
local shell = require "support.shell"

-- Runs the examples of a section in one process, each after the section's beginning.
local DRIVER = [==[
local roc = require "roc"
local beginning, codes = ...
for _, code in ipairs(codes) do
  local text = beginning .. "return " .. code
  text = load(text) and text or beginning .. code
  roc.source("=example", text)
  local results = table.pack(assert(load(text, "=example"))())
  for i = 1, results.n do results[i] = tostring(results[i]) end
  print((table.concat(results, ", "):gsub("\n%s*", " ")))
end
]==]

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read("a")
end

-- The sections: { title =, beginning =, options = of roclua, rows = { { name =, code =, gives = },
-- … } }.
local function sections()
  local list, section, is_code = {}, nil, false
  for line in read("docs/names.md"):gmatch("([^\n]*)\n") do
    local title = line:match("^## (.*)")
    local name, code, gives = line:match("^| `(.-)` | `(.-)` | `?(.-)`? |$")
    if title then
      section = { title = title, beginning = "", rows = {} }
      list[#list + 1] = section
    elseif line:find("^```") then
      is_code = line == "```lua"
    elseif is_code then
      section.beginning = section.beginning .. line .. "\n"
    elseif name then
      section.rows[#section.rows + 1] = { name = name, code = code, gives = gives }
    elseif section then
      section.options = line:match("^With `roclua (.*)`%.$") or section.options
      assert(not line:find("^| `"), "not a row of three cells: " .. line)
    end
  end
  return list
end

-- Names in lua/roc/meta: functions, methods after a colon, and fields that are functions.
local function declared_names()
  local names, class = {}, nil
  for _, path in ipairs(files.list("lua/roc/meta", "%.lua$")) do
    for line in read(path):gmatch("[^\n]+") do
      class = line:match("^%-%-%-@class (roc%.%l+)$") or class
      local field = line:match("^%-%-%-@field ([%w_]+) fun%(")
      names[#names + 1] = line:match("^function (roc%.[%w_.]+)%(")
        or line:match("^function %u%w+(:[%w_]+)%(") or field and class .. "." .. field or nil
    end
  end
  return names
end

describe("docs/names.md", function()
  for _, section in ipairs(sections()) do
    it("says what the examples of '" .. section.title .. "' give", function()
      if section.options and not programs.find("rocr_test") then
        return pending("ROCR is not installed")
      end
      local codes, expected = {}, {}
      for i, row in ipairs(section.rows) do
        codes[i] = ("%q"):format(row.code)
        expected[i] = row.name .. " gives " .. row.gives
      end
      local folder = files.run("mktemp -d"):gsub("\n$", "")
      finally(function() files.run("rm -rf " .. folder) end)
      local script <close> = assert(io.open(folder .. "/script.lua", "w"))
      script:write(("local function run(...) %s end run(%q, { %s })"):format(DRIVER,
        section.beginning, table.concat(codes, ", ")))
      script:flush()
      local output, status = shell.run(("cd %s; ROCLUA %s script.lua"):format(folder,
        section.options or "--device cpu"))
      assert.are.equal(0, status, output)
      local i = 0
      for line in output:gmatch("([^\n]*)\n") do
        i = i + 1
        assert.is_not_nil(section.rows[i], output)
        assert.are.equal(expected[i], section.rows[i].name .. " gives " .. line)
      end
      assert.are.equal(#codes, i)
    end)
  end

  it("has an example of each name that is declared", function()
    local page, missing = read("docs/names.md"), {}
    for _, name in ipairs(declared_names()) do
      local start = name:find("^:") and "\n| `%l" .. name or "\n| `" .. name:gsub("%.", "%%.")
      if not page:find(start .. "[%([]") then missing[#missing + 1] = name end
    end
    assert.are.same({}, missing)
  end)
end)
