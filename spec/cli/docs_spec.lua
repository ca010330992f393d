-- The documentation's Lua snippets run as they are printed, and print what stands behind them.
--
-- A snippet is a block marked "lua". It prints the block that follows the word "prints"; and
-- where a comment behind a print begins with a number, that number.
local files = require "support.files"
local programs = require "support.programs"
local support = require "support.shell"

local shell = support.run

-- Blocks of a page: { line =, language =, text =, before = the last line of text before it }.
local function blocks(page)
  local found, current, before, line = {}, nil, "", 0
  for text in (page .. "\n"):gmatch("(.-)\n") do
    line = line + 1
    local fence = text:match("^```(.*)")
    if fence and current then
      found[#found + 1], current = current, nil
    elseif fence then
      current = { line = line, language = fence, text = "", before = before }
    elseif current then
      current.text = current.text .. text .. "\n"
    elseif text ~= "" then
      before = text
    end
  end
  return found
end

local function numbers_of(snippet)
  local expected = {}
  for number in snippet:gmatch("print%([^\n]-%)%s+%-%- (%-?%d[%d.]*)") do
    expected[#expected + 1] = number .. "\n"
  end
  return table.concat(expected)
end

local function run(snippet, options)
  local path = os.tmpname()
  finally(function() os.remove(path) end)
  local file <close> = assert(io.open(path, "w"))
  file:write(snippet)
  file:close()
  local output, status = shell(("ROCLUA %s %s"):format(options or "", path))
  assert.are.equal(0, status, output)
  return (output:gsub(path:gsub("%p", "%%%0"), "script.lua"))
end

describe("the snippet of", function()
  if not support.interpreter then return pending("the specs do not run in roclua") end
  local count = 0

  for _, path in ipairs { "README.md", table.unpack(files.list("docs", "%.md$")) } do
    local page = blocks(files.read(path))
    for i, block in ipairs(page) do
      if block.language == "lua" then
        count = count + 1
        it(("%s, line %d, runs as it is printed"):format(path, block.line), function()
          local after = page[i + 1]
          local expected = after and after.before == "prints" and after.text
          local output = run(block.text)
          if expected then assert.are.equal(expected, output) end
          local numbers = numbers_of(block.text)
          if numbers ~= "" then assert.are.equal(numbers, output) end
        end)
      end
    end
  end

  it("the docs is found", function() assert.is_true(count >= 5) end)

  it("emulator.md is counted as it says", function()
    if not programs.find("rocr_test") then return pending("ROCR is not installed") end
    local page = blocks(files.read("docs/emulator.md"))
    local script, table_of_counts
    for i, block in ipairs(page) do
      if block.language == "lua" then script, table_of_counts = block.text, page[i + 1].text end
    end
    local output = run(script, "--emulate gfx90a --stats"):gsub("script%.lua", "transpose.lua")
    local own = output:match("(kernel 'transpose'.-)\nkernel ") or output
    -- The compiler's choice of instructions may move a little, and each line's count with it.
    local counts, ncounts = {}, 0
    local function each_count(text, visit)
      for line in text:gmatch("[^\n]+") do
        local name, count = line:match("^ +(%S.-)  +(%d+)")
        if name then visit(name, tonumber(count)) end
      end
    end
    each_count(own, function(name, count) counts[name] = count end)
    each_count(table_of_counts, function(name, count)
      local found = counts[name] or 0
      assert.is_true(math.abs(found - count) <= 0.1 * count, ("%s is %d in the docs and %d in\n%s")
        :format(name, count, found, own))
      ncounts = ncounts + 1
    end)
    assert.is_true(ncounts > 20)
    -- What it does not change.
    local compared = 0
    for line in table_of_counts:gmatch("[^\n]+") do
      local name = line:match("^  (%a[%a ]-)  ")
      if name and (name:find("^memory [rw]%l+n?$") or name == "lines touched" or name == "LDS"
        or name == "bank conflicts" or name == "workgroup barriers") then
        compared = compared + 1
        assert.is_truthy(output:find(line, 1, true), line .. "\nis not in\n" .. output)
      end
    end
    assert.are.equal(6, compared)
  end)

  it("kernel-language.md about a refusal is what the compiler says", function()
    for _, block in ipairs(blocks(files.read("docs/kernel-language.md"))) do
      local line, column = block.text:match("^demo%.lua:(%d+):(%d+): kernel 'demo'")
      if line then
        local source = block.text:match("\n([^\n]+)\n")
        local script = ("\n"):rep(line - 4) .. [[
local roc = require "roc"
local demo = roc.kernel(function(x)
  local i = roc.get_global_id(1)
]] .. source .. '\nend, { name = "demo" })\nprint(pcall(demo:forall(1), roc.zeros(3)))\n'
        local output = run(script)
        assert.are.equal(tostring(source:find('"')), column)
        assert.is_truthy(output:find((block.text:gsub("^demo", "script")), 1, true), output)
        return
      end
    end
    error("there is no such block")
  end)
end)
