-- The text form of IR: what is printed is read back without loss, and bad text is refused by line.
local compiler = require("roc.core").testing.compiler
local files = require "support.files"

local GOLDEN = files.read("spec/golden/every_op.ir")

local function refusal(text)
  local ok, err = pcall(compiler.ir_roundtrip, text)
  assert.is_false(ok)
  return tostring(err)
end

-- A kernel of the given lines, which begin on line 2.
local function kernel(...)
  return "kernel k(x.0: float32[1] c read)\n" .. table.concat({ ... }, "\n") .. "\nend\n"
end

describe("the text form of IR", function()
  it("comes back as it was, with every instruction in it", function()
    assert.are.equal(GOLDEN, compiler.ir_roundtrip(GOLDEN))
    for text in files.read("src/ir/ir_ops.def"):gmatch('\nROC_IR_OP%([%w_]+,%s*"([^"]+)"') do
      assert.is_truthy(GOLDEN:find("[ =]" .. text:gsub("%.", "%%.") .. "[ \n]"), text)
    end
  end)

  it("numbers results anew and drops comments and blank lines", function()
    local text = kernel("; a comment", "", "  %7: int = const 1 ; one", "  %3: int = add %7 %7")
    assert.is_truthy(compiler.ir_roundtrip(text):find("%0: int = const 1\n  %1: int = add %0 %0\n",
      1, true))
  end)

  it("keeps places across instructions that state none", function()
    local text = kernel('  %0: int = const 1 !"a.lua" 1:2', "  %1: int = const 2",
      '  %2: int = const 3 !"b.lua" 1:2')
    assert.is_truthy(compiler.ir_roundtrip(text):find(text:match("%%0.*%%2[^\n]*"), 1, true))
  end)

  it("keeps the bits of floats that are not finite", function()
    local text =
      compiler.ir_roundtrip(kernel("  %0: f64 = const inf", "  %1: f64 = const -nan",
      "  %2: f64 = const 0xfff8000000000123"))
    assert.is_truthy(text:find("0x7ff0000000000000", 1, true))
    assert.is_truthy(text:find("0xfff8000000000123", 1, true))
  end)

  for text, message in pairs {
    [""] = "line 1: 'kernel' expected",
    ["kernel k(x.0: int32[9] c)\nend"] = "line 1: '9' is no integer that can stand here",
    ["kernel k(x.0: int32[1] d)\nend"] = "line 1: a layout expected: c, f or strided",
    ["kernel k(x.1: int)\nend"] = "line 1: number 0 expected here, not 1",
    ["kernel k()\n  %0: int = const 1\n"] = "line 3: an instruction expected",
    ["kernel k()\n  frobnicate\nend"] = "line 2: there is no instruction 'frobnicate'",
    ["kernel k()\n  %0: int = const 9223372036854775808\nend"] =
      "line 2: '9223372036854775808' is no integer that can stand here",
    ["kernel k()\n  %0: i32 = const 1\nend"] = "line 2: 'i32' is no type: bool, int, f32 or f64",
    ["kernel k()\n  %0: int = add %1 %1\nend"] = "line 2: %1 is not defined above",
    ["kernel k()\n  %0: int = const 1\n  %0: int = const 2\nend"] = "line 3: %0 is defined twice",
    ["kernel k()\n  set x.0 %0\nend"] = "line 2: there is no variable 0",
    ["kernel k()\n  array a.0: int8[2] const \"01\"\nend"] =
      "line 2: the extents of the array do not agree with its bytes",
    ["kernel k()\n  array a.0: int8[1] const \"zz\"\nend"] =
      "line 2: the array's bytes are not in hexadecimal",
    ["kernel k()\n  array a.0: int64[4611686018427387904,4] const \"\"\nend"] =
      "line 2: the extents of the array do not agree with its bytes",
    ["kernel k()\n  site 0 index \"f\" 1 1\nend"] = "line 2: an index site has a name and 2 values",
    ["kernel k()\n  site 0 print \"f 1 1\nend"] =
      "line 2: a quoted string does not end on its line",
    ["kernel k()\n  %0: f64 = math frob\nend"] = "line 2: 'frob' names no such operation",
    ["kernel k()\nend\nend"] = "line 3: nothing more expected",
  } do
    it("is refused: " .. message, function() assert.are.equal(message, refusal(text)) end)
  end

  it("is refused when regions nest too deeply", function()
    local deep = "kernel k()\n  %0: bool = const true\n" .. ("if %0\n"):rep(3000)
      .. ("end\n"):rep(3001)
    assert.is_truthy(refusal(deep):find("regions nest too deeply", 1, true))
  end)

  it("survives any cut and any changed byte", function()
    local seed = 7
    for step = 1, 600 do
      seed = (seed * 1103515245 + 12345) & 0x7fffffff
      local at = seed % #GOLDEN + 1
      local text = step % 2 == 0 and GOLDEN:sub(1, at)
        or GOLDEN:sub(1, at - 1) .. string.char(seed >> 8 & 255) .. GOLDEN:sub(at + 1)
      local ok, err = pcall(compiler.ir_roundtrip, text)
      assert.is_true(ok or tostring(err) ~= "")
    end
  end)
end)
