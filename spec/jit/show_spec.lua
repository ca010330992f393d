-- k:show(): each source line with what became of it, for types and target that are asked for.
local roc = require "roc"
local shell = require "support.shell"

local TEXT = [[
local roc = require "roc"
local function twice(v) return v * 2 end
local scale = roc.kernel(function(y, x, a)
  local i = roc.get_global_id(1)
  if i <= #x then
    y[i] = a * twice(x[i])
  end
end)
return scale]]

-- The rows of a source line: {{"type", "local i: integer"}, …}.
local function rows_of(text, number)
  local rows, is_in = {}, false
  for line in text:gmatch "[^\n]+" do
    local at = line:match "^ *(%d+)  "
    if at then is_in = tonumber(at) == number end
    local label, row = line:match "^       (%l+) +(.*)$"
    if is_in and label then rows[#rows + 1] = { label, row } end
  end
  return rows
end

local function has_row(text, number, label, pattern)
  for _, row in ipairs(rows_of(text, number)) do
    if row[1] == label and row[2]:find(pattern) then return true end
  end
  return false
end

describe("k:show", function()
  local scale
  before_each(function() scale = load(TEXT, "@scale.lua")() end)

  setup(function() roc.source("@scale.lua", TEXT) end)

  local STORES = { cpu = "vmovups.*%(%%r", gfx90a = "global_store_dword ",
    gfx1030 = "global_store_dword ", sm_90 = "st%.global%.b32", ["cpu:x86-64"] = "movups.*%(%%r" }
  for target, store in pairs(STORES) do
    it("puts types, IR and assembly for " .. target .. " under their lines", function()
      local text = scale:show(target, "float32[:]", "float32[:]", "float32")
      assert.matches("^kernel scale for " .. target:gsub("%p", "%%%0") .. "\nscale%.lua\n", text)
      assert.matches("\n    4    local i = roc.get_global_id%(1%)\n", text)
      assert.is_true(has_row(text, 4, "type", "^local i: integer$"))
      assert.is_true(has_row(text, 4, "ir", "global_id 0"))
      assert.is_true(has_row(text, 2, "ir", "mul"))
      assert.is_true(has_row(text, 6, "ir", "check%.index y"))
      assert.is_true(has_row(text, 6, "asm", store), text)
      assert.is_false(has_row(text, 5, "asm", store))
      assert.matches("\nresources\n  %S", text)
    end)
  end

  it("names the checks that remain, by the source's own words", function()
    local text = scale:show("gfx90a", "(float32[:], float32[:], float32)")
    assert.matches("\nchecks that remain\n  scale%.lua:6:5: index i of 'y'\n"
      .. "    decided once for a launch: [^\n]*$", text)
    local proved = roc.kernel([[function(y)
      local i = roc.get_global_id(1)
      if i <= #y then y[i] = 1 end
    end]], { env = { roc = roc } })
    assert.not_matches("checks that remain", proved:show("gfx90a", "float32[:]"))
    local others = roc.kernel("function(y, n) y[1][n] = n // y[2][1] + math.floor(n * 0.5) end")
    text = others:show("cpu", "int64[:,:]", "int64")
    assert.matches("index 1 of 'y' %(dimension 1%)", text)
    assert.matches("index n of 'y' %(dimension 2%)", text)
    assert.matches("divisor of '//'", text)
  end)

  it("has the hints and the occupancy of a GPU", function()
    local k = roc.kernel("function(x) x[1] = x[1] * 0.5 + math.pi end")
    assert.not_matches("hints", k:show("gfx90a", "float64[:]"))
    local text = k:show("gfx90a", "float32[:]")
    assert.matches("vgprs %d+", text)
    assert.matches("occupancy: %d+ of %d+ waves per SIMD in workgroups of 256, limited by", text)
    assert.matches("occupancy: %d+ of %d+ warps", k:show("sm_90", "float32[:]"))
  end)

  it("has a kernel of a string in one file, whatever the target does to its name", function()
    local k = roc.kernel('function(x, text)\n  x[1] = x[2] -- "\\"\nend')
    for _, target in ipairs { "cpu", "gfx90a", "sm_90" } do
      local text = k:show(target, "float32[:]", "int64")
      assert.are.equal(1, select(2, text:gsub("\n%[string [^\n]*%]\n", "")), text)
      assert.matches("\n    2    x%[1%] = x%[2%] ", text)
      assert.is_true(has_row(text, 2, "asm", "%l"), text)
    end
  end)

  it("takes the types of a launch or a signature, and changes neither", function()
    assert.error_matches(function() scale:show() end, "kernel 'scale' has no types yet")
    local y, x = roc.zeros(8, "float64"), roc.ones(8, "float64")
    scale:forall(8)(y, x, 3)
    assert.matches("param y: float64%[1%] array", scale:show())
    assert.matches("param y: float32%[1%] array", scale:show("float32[:]", "float32[:]", "float32"))
    assert.matches("param y: float64%[1%] array", scale:show("gfx90a"))
    assert.equal(1, (scale:specialisations()))
    scale:forall(8)(y, x, 3)
    assert.equal(6.0, y[8])
    local signed = roc.kernel("function(x) x[1] = 1 end", { signature = "(int8[:])" })
    assert.matches("int8%[1%]", signed:show("sm_90"))
  end)

  it("works where a line of another file was called, and without parameters", function()
    local helper = load("return function(v)\n  return v + 1\nend", "@helper.lua")
    roc.source("@helper.lua", "return function(v)\n  return v + 1\nend")
    local env = { roc = roc, plus = helper() }
    local text = roc.kernel("function(x)\n  x[1] = plus(x[1])\nend", { env = env })
      :show("gfx90a", "int32[:]")
    assert.matches("\nhelper%.lua\n    1  return function", text)
    assert.is_true(has_row(text, 2, "ir", "add"))
    local none = roc.kernel("function() end", { name = "none" })
    assert.matches("kernel none for cpu", none:show("cpu"))
  end)

  it("refuses what it does not know, by its own name", function()
    local function refuses(message, ...)
      local args = table.pack(...)
      assert.error_matches(function() scale:show(table.unpack(args)) end, message)
    end
    refuses("bad argument #1 to 'show' %(no such compile target", "gfx1")
    refuses("bad argument #1 to 'show' %(dtype or a type", 3)
    refuses("float31", "cpu", "float31[:]", "float32", "bool")
    refuses("takes 3 arguments, got 1", "cpu", "float32[:]")
    local wrong = roc.kernel("function(x) x[1] = nosuch end")
    assert.error_matches(function() wrong:show("cpu", "float32[:]") end, "'nosuch' is not defined")
    assert.error_matches(function() wrong:show() end, "no types yet")
  end)

  it("is without colours in a script", function()
    if not shell.interpreter then return pending("the specs do not run in roclua") end
    local output = shell.run([[ROCLUA -e 'local roc = require "roc"
      print(roc.kernel("function(x) x[1] = 1 end"):show("cpu", "int8[:]"))']])
    assert.matches("kernel .* for cpu\n", output)
    assert.is_nil(output:find("\27", 1, true))
  end)
end)
