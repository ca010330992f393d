-- What no compiler checks: the fences between layers, the size and form of files, and that docs
-- keep up with the code.
local files = require "support.files"

-- layer -> layers it may include (docs/architecture.md); a layer may always include itself.
local ARROWS = {
  base = {},
  ir = { "base" },
  frontend = { "ir", "base" },
  backend = { "ir", "base" },
  codegen = { "backend", "ir", "base" },
  device = { "base" },
  runtime = { "device", "base" },
  jit = { "frontend", "backend", "runtime", "ir", "device", "base" },
  emulator = { "base" },
  bindings = { "jit", "frontend", "backend", "runtime", "ir", "device", "base" },
  embed = { "bindings", "jit", "runtime", "device", "base", "include" },
  cli = { "include" },
  testing = { "bindings", "jit", "runtime", "device", "base", "include" },
  include = {},
}

-- headers of others -> folders and files that may include them
local FENCES = {
  { headers = { "^lua%.h$", "^lauxlib%.h$", "^lualib%.h$" },
    folders = { "bindings", "embed", "cli", "testing" } },
  { headers = { "^llvm", "^lld/", "^clang" }, folders = { "codegen", "emulator/isa/disasm.c" } },
  { headers = { "^hsa" }, folders = { "device/hsa", "emulator" } },
  { headers = { "^elfutils/", "^dwarf%.h$", "^gelf%.h$", "^libelf%.h$" },
    folders = { "emulator" } },
  { headers = { "^cuda", "^nv" }, folders = { "device/cuda" } },
  { headers = { "^histedit%.h$", "^editline/" }, folders = { "cli" } },
}

local MAX_LINES = 900

local function includes_of(path)
  local found = {}
  for line in files.read(path):gmatch("[^\n]+") do
    local quote, name = line:match('^%s*#%s*include%s*([<"])([^>"]+)[>"]')
    if name then found[#found + 1] = { name = name, is_system = quote == "<" } end
  end
  return found
end

local function contains(list, item)
  for _, each in ipairs(list) do
    if each == item then return true end
  end
  return false
end

-- Asserts that a list of complaints is empty, and shows them all when not.
local function assert_none(complaints)
  assert.are.equal("", table.concat(complaints, "\n"))
end

describe("the layers of src/", function()
  local sources = files.list("src", "%.[ch]p*$")

  it("are all known to this spec", function()
    local complaints = {}
    for _, path in ipairs(sources) do
      local layer = path:match("^src/(%w+)/")
      if not ARROWS[layer] then complaints[#complaints + 1] = path end
    end
    assert.is_true(#sources > 0)
    assert_none(complaints)
  end)

  it("include only what their arrows allow", function()
    local complaints = {}
    for _, path in ipairs(sources) do
      local layer = path:match("^src/(%w+)/")
      for _, include in ipairs(includes_of(path)) do
        local target = include.name:match("^(%w+)/")
        local is_ours = not include.is_system and ARROWS[target]
        local allowed = target == layer or contains(ARROWS[layer] or {}, target)
        if is_ours and not allowed then
          complaints[#complaints + 1] = ("%s includes %s"):format(path, include.name)
        end
      end
    end
    assert_none(complaints)
  end)

  it("keep the headers of Lua, LLVM, the drivers and the line editor behind their fences",
    function()
    local complaints = {}
    for _, path in ipairs(sources) do
      for _, include in ipairs(includes_of(path)) do
        for _, fence in ipairs(FENCES) do
          for _, pattern in ipairs(fence.headers) do
            local inside = false
            for _, folder in ipairs(fence.folders) do
              inside = inside or path == "src/" .. folder
                or path:sub(1, #folder + 5) == "src/" .. folder .. "/"
            end
            if include.is_system and include.name:find(pattern) and not inside then
              complaints[#complaints + 1] = ("%s includes %s"):format(path, include.name)
            end
          end
        end
      end
    end
    assert_none(complaints)
  end)
end)

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
      "luacheck -q --no-color lua kernels examples bench spec cmake")
    assert.is_true(succeeded, output:sub(1, 4000))
  end)
end)

describe("the docs", function()
  local function all_text(dir, pattern)
    local texts = {}
    for _, path in ipairs(files.list(dir, pattern)) do texts[#texts + 1] = files.read(path) end
    return table.concat(texts, "\n")
  end

  it("declare and explain every public name of roc", function()
    local meta, docs = all_text("lua/roc/meta", "%.lua$"), all_text("docs", "%.md$")
    local complaints = {}
    for name in pairs(require "roc") do
      if not meta:find("%f[%w_]" .. name .. "%f[^%w_]") then
        complaints[#complaints + 1] = ("roc.%s is not in lua/roc/meta"):format(name)
      end
      if not docs:find("roc%." .. name .. "%f[^%w_]") then
        complaints[#complaints + 1] = ("roc.%s is not in docs/"):format(name)
      end
    end
    table.sort(complaints)
    assert_none(complaints)
  end)

  it("list every diagnostic", function()
    local docs, count, complaints = files.read("docs/diagnostics.md"), 0, {}
    for name in files.read("src/frontend/diag.def"):gmatch('\nROC_DIAG%([%w_]+,%s*"([^"]+)"') do
      count = count + 1
      if not docs:find("| `" .. name .. "` |", 1, true) then complaints[#complaints + 1] = name end
    end
    assert.is_true(count > 0)
    assert_none(complaints)
  end)

  it("claim parity only where a spec shows it", function()
    local complaints, count = {}, 0
    for line in files.read("docs/parity.md"):gmatch("\n(| [^\n]*)") do
      local status, shown = line:match("^| .- | .- | (%l+) |.-|%s*([^|]*)|$")
      local path, title = (shown or ""):match("^`([^`]+)` \"(.*)\" $")
      local is_head = status == "status"
      local is_known = status == "works" or status == "later" or status == "refused"
      if not is_head and not is_known then
        complaints[#complaints + 1] = "no status: " .. line
      elseif status == "works" and not title then
        complaints[#complaints + 1] = "works, and nothing shows it: " .. line
      elseif status == "later" and title then
        complaints[#complaints + 1] = "comes later, and something shows it: " .. line
      elseif title and not (io.open(path) and files.read(path):find('"' .. title, 1, true)) then
        complaints[#complaints + 1] = ("%s has no test '%s'"):format(path, title)
      end
      count = count + (status == "works" and 1 or 0)
    end
    assert.is_true(count > 0)
    assert_none(complaints)
  end)

  it("have an index that leads to every page", function()
    local index, complaints = files.read("docs/README.md"), {}
    for _, path in ipairs(files.list("docs", "%.md$")) do
      local page = path:match("[^/]+$")
      if page ~= "README.md" and not index:find("](" .. page .. ")", 1, true) then
        complaints[#complaints + 1] = path
      end
    end
    assert_none(complaints)
  end)

  it("name only files and commands that are there", function()
    local complaints, count = {}, 0
    for _, path in ipairs { "README.md", table.unpack(files.list("docs", "%.md$")) } do
      for folder, rest in files.read(path):gmatch("%f[%w./](%l+)/([%w_./-]*%w)") do
        local is_ours =
          contains({ "scripts", "examples", "bench", "kernels", "spec", "docs", "src", "lua" },
          folder)
        local name = folder .. "/" .. rest
        if is_ours then
          count = count + 1
          if not io.open(name) then
            complaints[#complaints + 1] = ("%s names %s"):format(path, name)
          end
        end
      end
    end
    assert.is_true(count > 0)
    assert_none(complaints)
  end)
end)
