-- docs/reference: each public name has an example, and each example gives what its entry says. The
-- entries are those of lua/roc/meta, out of which the pages are written (spec/lint/reference_spec).
local declared = require "roc.repl.declared"
local entries = require "roc.repl.entries"
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

-- Calls visit(page, section) for each section with an example.
local function each_section(visit)
  for _, page in ipairs(declared.pages()) do
    for _, section in ipairs(page.sections) do
      for _, item in ipairs(section.items) do
        if entries.example(item) then
          visit(page, section)
          break
        end
      end
    end
  end
end

-- The examples of a section: { name =, code =, gives = } each.
local function examples_of(section)
  local list = {}
  for _, item in ipairs(section.items) do
    local code, gives = entries.example(item)
    if code then list[#list + 1] = { name = item.path, code = code, gives = gives or "" } end
  end
  return list
end

-- The options that a page says its examples run with.
local function options_of(page)
  return table.concat(page.sections[1].text, "\n"):match("run with `roclua (.-)`")
end

describe("the reference", function()
  each_section(function(page, section)
    local title = page.title .. (section.title and ", " .. section.title or "")
    it("says what the examples of '" .. title .. "' give", function()
      local options, rows = options_of(page), examples_of(section)
      if options and not programs.find("rocr_test") then return pending("ROCR is not installed") end
      local codes, expected = {}, {}
      for i, row in ipairs(rows) do
        codes[i] = ("%q"):format(row.code)
        expected[i] = row.name .. " gives " .. row.gives
      end
      local folder = files.run("mktemp -d"):gsub("\n$", "")
      finally(function() files.run("rm -rf " .. folder) end)
      local script <close> = assert(io.open(folder .. "/script.lua", "w"))
      script:write(("local function run(...) %s end run(%q, { %s })"):format(DRIVER,
        declared.beginning(section), table.concat(codes, ", ")))
      script:flush()
      local output, status = shell.run(("cd %s; ROCLUA %s script.lua"):format(folder,
        options or "--device cpu"))
      assert.are.equal(0, status, output)
      local i = 0
      for line in output:gmatch("([^\n]*)\n") do
        i = i + 1
        assert.is_not_nil(rows[i], output)
        assert.are.equal(expected[i], rows[i].name .. " gives " .. line)
      end
      assert.are.equal(#codes, i)
    end)
  end)

  it("has an example of each function, method and constant", function()
    local missing, count = {}, 0
    for _, page in ipairs(declared.pages()) do
      for _, section in ipairs(page.sections) do
        for _, item in ipairs(section.items) do
          if not (item.list or item.alias) then
            count = count + 1
            if not entries.example(item) then missing[#missing + 1] = item.path end
          end
        end
      end
    end
    assert.are.same({}, missing)
    assert.is_true(count > 200)
  end)

  it("explains each type that an entry names", function()
    local missing, count = {}, 0
    for _, page in ipairs(declared.pages()) do
      for _, section in ipairs(page.sections) do
        for _, item in ipairs(section.items) do
          for name in entries.body(item):gmatch("roc%.%u%l%w*") do
            count = count + 1
            local is_known = declared.item(name) or name:find("Opts$") -- whose fields are listed
            if not is_known then missing[#missing + 1] = item.path .. ": " .. name end
          end
        end
      end
    end
    assert.are.same({}, missing)
    assert.is_true(count > 200)
  end)
end)
