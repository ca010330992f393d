-- The size and form of every file.
local files = require "support.files"

local MAX_LINES = 900

-- Asserts that a list of complaints is empty, and shows them all when not.
local function assert_none(complaints)
  assert.are.equal("", table.concat(complaints, "\n"))
end

describe("every file", function()
  local texts = files.list(".", "%.[ch]p*$")
  for _, pattern in ipairs { "%.def$", "%.lua$", "%.md$", "%.sh$", "CMakeLists%.txt$" } do
    table.move(files.list(".", pattern), 1, 1e4, #texts + 1, texts)
  end

  it(("has at most %d lines"):format(MAX_LINES), function()
    local complaints = {}
    for _, path in ipairs(texts) do
      local _, count = files.read(path):gsub("\n", "")
      if count > MAX_LINES then
        complaints[#complaints + 1] = ("%s: %d lines"):format(path, count)
      end
    end
    assert_none(complaints)
  end)

  it("ends with a newline and has no tab, no carriage return and no space at a line's end",
    function()
    local complaints = {}
    for _, path in ipairs(texts) do
      local text = files.read(path)
      if not text:find("\n$") or text:find("[\t\r]") or text:find(" \n") then
        complaints[#complaints + 1] = path
      end
    end
    assert_none(complaints)
  end)

  it("is finished", function()
    local complaints = {}
    for _, path in ipairs(texts) do
      for _, mark in ipairs { "TO" .. "DO", "FIX" .. "ME", "X" .. "XX" } do
        if files.read(path):find("%f[%w]" .. mark .. "%f[%W]") then
          complaints[#complaints + 1] = ("%s: %s"):format(path, mark)
        end
      end
    end
    assert_none(complaints)
  end)

  it("begins, or its header does, with a comment that says what it is", function()
    local complaints = {}
    for _, path in ipairs(texts) do
      local text = files.read(path)
      local has_header = path:find("%.c$") and io.open((path:gsub("%.c$", ".h")))
      local is_c = path:find("^src/.*%.[ch]p*$") and not has_header or path:find("%.def$")
      local is_lua = path:find("%.lua$")
      if is_c and not text:find("^/%*") or is_lua and not text:find("^%-%-")
        and not text:find("^#!") then
        complaints[#complaints + 1] = path
      end
    end
    assert_none(complaints)
  end)
end)

describe("the form of the code", function()
  it("is clang-format's", function()
    if not files.has_program("clang-format") then return pending("no clang-format") end
    local list = table.concat(files.list("src", "%.[ch]p*$"), " ")
    local output, succeeded = files.run("clang-format --dry-run -Werror " .. list)
    assert.is_true(succeeded, output:sub(1, 2000))
  end)

  it("gives luacheck nothing to say", function()
    if not files.has_program("luacheck") then return pending("no luacheck") end
    local output, succeeded = files.run(
      "luacheck -q --no-color lua kernels examples bench spec cmake src/emulator/spec")
    assert.is_true(succeeded, output:sub(1, 4000))
  end)
end)
