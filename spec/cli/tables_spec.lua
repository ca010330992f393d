-- The tables that say what a name of another system is called in roclua: what stands there is code
-- that runs, and every name of roc on any page is there.
local files = require "support.files"
local pages = require "support.pages"
local roc = require "roc"

local PAGE = "docs/guide/from-numpy.md"

-- What the names in the tables stand for. A cell runs with one of these at least: some functions
-- take one dimension alone, some two, some integers, some matrices that are positive definite.
local STAND_INS = {
  function()
    return { a = roc.range(1, 9, 1, "float64"):reshape(3, 3), b = roc.ones({ 3, 3 }),
      x = roc.range(1, 9, 1, "float64"):reshape(3, 3), y = roc.ones({ 3, 3 }), u = 1 }
  end,
  function() return { a = roc.range(1, 9), b = roc.range(1, 9), v = roc.range(4, 4) } end,
  function()
    return { a = roc.ones(9), b = roc.ones(9), x = roc.ones(9), y = roc.ones(9) }
  end,
  function() return { x = roc.to_device(roc.ones(3)) } end,
  function() return { a = roc.array { { 4.0, 1.0 }, { 1.0, 3.0 } }, b = roc.ones(2) } end,
}

local function common()
  return { roc = roc, require = require, rng = roc.rng(7), d = roc.to_device(roc.ones(3)),
    m = roc.array { true, false, true }, w = roc.ones(9), s = ("\0"):rep(16), n = 2,
    dtype = "float64", shape = 3, lo = 2, hi = 5, f = function(x) return x end }
end

-- Whether a cell's code runs with some stand-ins; else what each of them said.
local function runs(code)
  local said = {}
  for _, make in ipairs(STAND_INS) do
    local env = common()
    for name, value in pairs(make()) do env[name] = value end
    local chunk = load("return " .. code, code, "t", env) or load(code, code, "t", env)
    if not chunk then return false, "no Lua" end
    local succeeded, message = pcall(chunk)
    if succeeded then return true end
    said[#said + 1] = tostring(message)
  end
  return false, table.concat(said, "\n")
end

describe("the tables of " .. PAGE, function()
  it("have code of roclua in their last column, which runs", function()
    local text, complaints, count = files.read(PAGE), {}, 0
    local folder = files.run("mktemp -d"):gsub("\n$", "")
    finally(function() files.run("rm -rf " .. folder) end)
    roc.save(folder .. "/a.npy", roc.ones(3))
    roc.save(folder .. "/a.npz", { x = roc.ones(3) })
    roc.save(folder .. "/a.png", roc.ones({ 2, 2 }, "uint8"))
    roc.save(folder .. "/a.csv", { "x", x = roc.ones(3) })
    for row in text:gsub("\n```.-\n```", ""):gmatch "\n(|[^\n]*)" do
      local cell = row:gsub("\\|", "\1"):match "|([^|]*)|$"
      for code in cell:gsub("\1", "|"):gmatch "`([^`]+)`" do
        local is_part = code:find "^%a+ = %a+$" or code:find "^roclua " -- an option; a command
        if not is_part then
          count = count + 1
          -- A machine without GPUs has no device of that kind.
          local placed = code:gsub('"hsa"', '"cpu"'):gsub('"(a%.%l+)"', '"' .. folder .. '/%1"')
          local succeeded, why = runs(placed)
          if not succeeded then complaints[#complaints + 1] = ("`%s`: %s"):format(code, why) end
        end
      end
    end
    assert.are.equal("", table.concat(complaints, "\n\n"))
    assert.is_true(count > 100, count)
  end)
end)

describe("a name of roc on a page", function()
  -- Names that a page gives as an example of what is not there.
  local ABSENT = { ["roc.arange"] = "docs/roc.md" }

  local function is_public(path)
    local value = roc
    for part in path:gmatch "[%w_]+" do
      if type(value) ~= "table" then return false end
      value = rawget(value, part)
    end
    return value ~= nil
  end

  it("is public, or a type or module of that name", function()
    local declared, complaints, count = {}, {}, 0
    for _, path in ipairs(files.list("lua/roc/meta", "%.lua$")) do
      for name in files.read(path):gmatch "\n%-%-%-@%a+ roc%.(%u%w*)" do declared[name] = true end
    end
    for _, page in ipairs(pages.list()) do
      for name in files.read(page):gmatch "%f[%w_.\"/]roc%.([%a_][%w_.]*)" do
        name = name:gsub("%.+$", "")
        count = count + 1
        local is_known = is_public(name) or declared[name] or name:find "^core%f[%W]"
          or name == "md" or pcall(require, "roc." .. name)
        if not is_known and ABSENT["roc." .. name] ~= page then
          complaints[#complaints + 1] = ("%s names roc.%s"):format(page, name)
        end
      end
    end
    assert.are.equal("", table.concat(complaints, "\n"))
    assert.is_true(count > 500, count)
  end)
end)
