-- That docs keep up with the code.
local files = require "support.files"

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

  it("declare every function of kernels, which the host has as well", function()
    local declared = require "roc.repl.declared"
    local complaints, count = {}, 0
    for path in files.read("src/frontend/types/builtin.def"):gmatch(
      '\nROC_BUILTIN%([%w_]+,%s*"(roc%.[%w_.]+)"') do
      count = count + 1
      local value = { roc = require "roc" }
      for part in path:gmatch("[%w_]+") do value = value and value[part] end
      if not value then complaints[#complaints + 1] = ("%s is nil"):format(path) end
      if not declared.functions(path) then
        complaints[#complaints + 1] = ("%s is not in lua/roc/meta"):format(path)
      end
    end
    assert.is_true(count > 50)
    assert_none(complaints)
  end)

  it("list every function of roclua.h", function()
    local docs, count, complaints = files.read("docs/embedding.md"), 0, {}
    local list = docs:match("\n## All functions\n(.*)$")
    for line in files.read("src/include/roclua.h"):gmatch("\n([^\n]*)") do
      local is_declared = line:find("^ROCLUA_API") or line:find("^static inline")
      local name = is_declared and line:match("([%w_]+)%(")
      if name then
        count = count + 1
        if not list:find("`" .. name .. "`", 1, true) then complaints[#complaints + 1] = name end
      end
    end
    assert.is_true(count > 40)
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
      local page = path:match("^docs/(.*)$")
      if page ~= "README.md" and not index:find("](" .. page .. ")", 1, true) then
        complaints[#complaints + 1] = path
      end
    end
    assert_none(complaints)
  end)

  it("are a static site, of all pages, by one command", function()
    local complaints, settings = {}, files.read("mkdocs.yml")
    for _, path in ipairs(files.list("docs", "%.md$")) do
      if not settings:find(": " .. path:match("^docs/(.*)$") .. "\n", 1, true) then
        complaints[#complaints + 1] = "mkdocs.yml does not name " .. path
      end
    end
    assert_none(complaints)
    if not files.has_program("mkdocs") then return pending("mkdocs is not installed") end
    local folder = files.run("mktemp -d"):gsub("\n$", "")
    finally(function() files.run("rm -rf " .. folder) end)
    local output, succeeded = files.run("mkdocs build --strict --site-dir " .. folder .. "/site")
    assert.is_true(succeeded, output)
    assert.is_truthy(files.read(folder .. "/site/guide/tutorial.html"):find("work%-item"))
    assert.is_truthy(files.read(folder .. "/site/guide/from-numpy.html")
      :find("<code>a | b</code>", 1, true))
  end)

  -- The anchor of a heading, as GitHub makes it.  The static site has one "-" where GitHub has
  -- several, so links to such headings are refused.
  local function anchor_of(heading)
    return (heading:gsub("%[(.-)%]%b()", "%1"):lower():gsub("[^%w%s_-]", ""):gsub(" ", "-"))
  end

  local function without_code(text)
    return (text:gsub("\n```.-\n```", "\n"):gsub("`[^`\n]*`", ""))
  end

  it("link to pages and headings that are there", function()
    local complaints, count = {}, 0
    for _, path in ipairs { "README.md", table.unpack(files.list("docs", "%.md$")) } do
      local folder = path:match("^(.*/)") or ""
      for target in without_code(files.read(path)):gmatch("%]%(([^)%s]+)%)") do
        local page, anchor = target:match("^([^#]*)#?(.*)$")
        local file = page == "" and path or folder .. page
        file = file:gsub("[^/]+/%.%./", "")
        if not target:find("^%a+:") then
          count = count + 1
          local handle = io.open(file)
          local has_anchor = anchor == ""
          for heading in ("\n" .. (handle and handle:read("a") or "")):gmatch("\n#+ ([^\n]+)") do
            local own = anchor_of(heading)
            has_anchor = has_anchor or own == anchor and not own:find("--", 1, true)
          end
          if not handle or not has_anchor then
            complaints[#complaints + 1] = ("%s links to %s"):format(path, target)
          end
        end
      end
    end
    assert.is_true(count > 100)
    assert_none(complaints)
  end)

  it("have lines of 100 columns, but in tables and blocks of code", function()
    local complaints, count = {}, 0
    for _, path in ipairs { "README.md", table.unpack(files.list("docs", "%.md$")) } do
      local is_code, number = false, 0
      for line in files.read(path):gmatch("([^\n]*)\n") do
        number = number + 1
        if line:find("^```") then is_code = not is_code end
        -- The generated reference does not break code.
        if not is_code and not line:find("^|") and not path:find("^docs/reference/") then
          count = count + 1
          if utf8.len(line) > 100 then complaints[#complaints + 1] = path .. ":" .. number end
        end
      end
    end
    assert.is_true(count > 1000)
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
