-- The documentation's blocks of code run as they are printed, and print what the page says. A block
-- is marked by its language:
--
-- lua      A program. The word before the next block says what that block is: what the program
--          "prints", or "fails with" (exit status 1). After "prints, with other numbers" numbers
--          may differ. Where a comment after a print begins with a number, that number is printed.
--          A program with a name, as in "-- first.lua", is a file for the blocks after it.
-- console  Commands after "$ ", and what each prints, in a folder of the page's files.
-- prompt   Lines typed after "> " and ">> ", and what the prompt prints.
-- sh       Commands that succeed, in a folder with the page's files, the examples, the build, and
--          a script.lua; or, as NOT_HERE says, that run elsewhere or cannot.
--
-- Other blocks (c, cmake, texts) are not run here: what they show is built and run by
-- spec/c/tasks_spec.lua.
local files = require "support.files"
local lfs = require "lfs"
local pages = require "support.pages"
local programs = require "support.programs"
local support = require "support.shell"

local shell = support.run

local function numbers_of(snippet)
  local expected = {}
  for number in snippet:gmatch("print%([^\n]-%)%s+%-%- (%-?%d[%d.]*)") do
    expected[#expected + 1] = number .. "\n"
  end
  return table.concat(expected)
end

local function write(path, text)
  local file <close> = assert(io.open(path, "w"))
  file:write(text)
end

-- A folder for the files of a page, removed after the test, with the block's predecessors in it.
local function folder_of(page, last)
  local folder = files.run("mktemp -d"):gsub("\n$", "")
  finally(function() files.run("rm -rf " .. folder) end)
  for i = 1, last do
    if page[i].name then write(folder .. "/" .. page[i].name, page[i].text) end
  end
  return folder
end

-- The same, where numbers may differ.
local function loose(text) return (text:gsub("%d[%d.]*", "0")) end

-- A text as a terminal shows it: tabs lead to columns of eight.
local function without_tabs(text)
  local lines = {}
  for line in text:gmatch("[^\n]*\n?") do
    local before, after = line:match("^([^\t]*)\t(.*)$")
    while before do
      line = before .. (" "):rep(8 - utf8.len(before) % 8) .. after
      before, after = line:match("^([^\t]*)\t(.*)$")
    end
    lines[#lines + 1] = line
  end
  return table.concat(lines)
end

local function run(snippet, options)
  local path = os.tmpname()
  finally(function() os.remove(path) end)
  write(path, snippet)
  local output, status = shell(("ROCLUA %s %s"):format(options or "", path))
  assert.are.equal(0, status, output)
  return (output:gsub(path:gsub("%p", "%%%0"), "script.lua"))
end

-- Of the pages whose sh blocks do not run here.
local NOT_HERE = {
  ["README.md"] = ".ci/run runs both commands",
  ["docs/architecture.md"] = "needs builds with sanitizers",
  ["docs/contributing.md"] = ".ci/run builds and tests so; the pack is for another machine",
  ["docs/embedding.md"] = "spec/c/install_spec.lua and spec/c/tasks_spec.lua run them",
  ["docs/guide/containers.md"] = "needs a container and a GPU",
  ["docs/guide/tutorial.md"] = ".ci/run builds so; the blocks after it find the programs",
  ["docs/measuring.md"] = "takes minutes, and its result is a time",
}

local check = {}

local SAYS = { ["prints"] = 0, ["fails with"] = 1 }

-- Asserts that an output is what the page shows, where numbers may differ if the page says so.
local function assert_shown(expected, output, said, command)
  output = without_tabs(output)
  if said:find("with other numbers") then expected, output = loose(expected), loose(output) end
  assert.are.equal(expected, (output:gsub("\n+$", "\n")), command)
end

-- Runs a command in a folder, with the programs under test before others.
local function run_in(folder, command)
  local programs_folder = support.interpreter:match("(%S*)/[^/]*$")
  return shell(("PATH=%s:$PATH; cd %s; %s"):format(programs_folder, folder, command))
end

function check.lua(page, i)
  local block, after = page[i], page[i + 1]
  local said = after and after.language == "" and after.before or ""
  local status_said = SAYS[said:match("^[%l ]+") or ""]
  local name = block.name or "script.lua"
  local folder = folder_of(page, i)
  write(folder .. "/" .. name, block.text)
  local output, status = run_in(folder, "roclua " .. name)
  assert.are.equal(status_said or 0, status, output)
  if status_said then assert_shown(after.text, output, said) end
  local numbers = numbers_of(block.text)
  if numbers ~= "" then assert.are.equal(numbers, output) end
end

-- Each command with the lines that follow it.
local function commands_of(text)
  local commands = {}
  for line in text:gmatch("([^\n]*)\n") do
    local command = line:match("^%$ (.*)")
    if command then
      commands[#commands + 1] = { command = command, expected = "" }
    else
      local last = assert(commands[#commands], "a console block begins with a command")
      last.expected = last.expected .. line .. "\n"
    end
  end
  return commands
end

function check.console(page, i)
  local needs_gpu = page[i].text:find("%-%-emulate") or page[i].text:find("%-%-check")
  if needs_gpu and not programs.find("rocr_test") then return pending("ROCR is not installed") end
  local folder = folder_of(page, i)
  for _, each in ipairs(commands_of(page[i].text)) do
    assert_shown(each.expected, run_in(folder, each.command), page[i].before, each.command)
  end
end

function check.sh(page, i)
  local text = page[i].text:gsub(" +#[^\n]*", "")
  if text:find("%-%-emulate") and not programs.find("rocr_test") then
    return pending("ROCR is not installed")
  end
  local folder, root = folder_of(page, i), lfs.currentdir()
  local build = support.interpreter:match("^(.*)/bin/[^/]*$")
  local made = ("mkdir %s/build && ln -s %s %s/build/release && cd %s && "
    .. "ln -s %s/examples %s/lua . &&"
    .. " cp examples/saxpy.lua script.lua 2>&1"):format(folder, build, folder, folder, root, root)
  assert.are.equal("", files.run(made))
  for command in text:gmatch("[^\n]+") do
    local output, status = run_in(folder, command .. " 2>&1")
    assert.are.equal(0, status, command .. "\n" .. output)
  end
end

function check.prompt(page, i)
  local typed, printed = {}, {}
  for line in page[i].text:gmatch("([^\n]*)\n") do
    local input = line:match("^>>? ?(.*)")
    table.insert(input and typed or printed, input or line)
  end
  local folder = folder_of(page, i)
  write(folder .. "/typed", table.concat(typed, "\n") .. "\n")
  local output = run_in(folder, "roclua -i <typed")
  local got = {}
  for line in output:gsub("^[^\n]*\n", "", 1):gmatch("([^\n]*)\n") do
    local text = line:gsub("^[> ]*> ", "")
    if text ~= "" then got[#got + 1] = text end
  end
  assert.are.same(printed, got)
end

describe("the block of", function()
  if not support.interpreter then return pending("the specs do not run in roclua") end
  local count = 0

  for _, path in ipairs(pages.list()) do
    local page = pages.blocks(path)
    for i, block in ipairs(page) do
      -- Examples belong to the blocks of these pages: names_spec runs both.
      local is_here = block.language ~= "sh" or not NOT_HERE[path]
      if check[block.language] and is_here and not path:find("^docs/reference/") then
        count = count + 1
        it(("%s, line %d, does what the page says"):format(path, block.line), function()
          return check[block.language](page, i)
        end)
      end
    end
  end

  it("every page is found", function() assert.is_true(count >= 5) end)

  it("a page whose commands do not run here has some", function()
    for path in pairs(NOT_HERE) do
      local has_commands = false
      for _, block in ipairs(pages.blocks(path)) do
        has_commands = has_commands or block.language == "sh"
      end
      assert.is_true(has_commands, path)
    end
  end)

  it("emulator.md is counted as it says", function()
    if not programs.find("rocr_test") then return pending("ROCR is not installed") end
    local page = pages.blocks("docs/emulator.md")
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
    for _, block in ipairs(pages.blocks("docs/kernel-language.md")) do
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

describe("the manual page", function()
  if not support.interpreter then return pending("the specs do not run in roclua") end

  for _, name in ipairs { "roclua", "rocluac" } do
    it("of " .. name .. " has the options of --help, and command-line.md has them, too", function()
      local output, status = run_in(".", name .. " --help")
      assert.are.equal(0, status, output)
      local help, page, count = {}, {}, 0
      for line in output:gmatch("\n  (%-[^\n]*)") do
        for option in (" " .. line:gsub("  .*", "")):gmatch("[ %[](%-[%w-]*)") do
          help[option] = true
        end
      end
      local manual = files.read("docs/man/" .. name .. ".1"):gsub("\\%-", "-")
      for line in manual:gmatch("\n%.TP\n%.%u+ ([^\n]*)") do
        for option in (" " .. line):gmatch(" (%-[%w-]*)") do page[option] = true end
      end
      local text = files.read("docs/command-line.md")
      for option in pairs(help) do
        count = count + 1
        assert.is_truthy(text:find("`" .. option, 1, true), option)
      end
      assert.is_true(count > 8)
      assert.are.same(help, page)
    end)
  end
end)
