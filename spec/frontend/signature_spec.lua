-- Signatures, seen through the parameters of the IR.
local compiler = require("roc.core").testing.compiler

local function params(signature, count)
  local names = {}
  for i = 1, count do
    names[i] = "p" .. i
  end
  local text = ("function kernel(%s) end"):format(table.concat(names, ", "))
  return (compiler.ir(text, "s.lua", signature):match("^kernel kernel%((.-)%) check"))
end

describe("a signature", function()
  it("states scalars by dtype", function()
    assert.equal("p1.0: int, p2.1: f32, p3.2: f64, p4.3: bool",
      params("(int32, float32, float64, bool)", 4))
  end)

  it("states arrays in C order", function()
    assert.equal("p1.0: float32[1] c, p2.1: int8[3] c", params("(float32[:], int8[:,:,:])", 2))
  end)

  it("marks the dense dimension as numba does", function()
    assert.equal("p1.0: float32[2] c, p2.1: float32[2] f",
      params("(float32[:,::1], float32[::1,:])", 2))
  end)

  it("takes words for other properties", function()
    assert.equal("p1.0: int narrow, p2.1: float32[1] strided alias narrow",
      params("( int64 narrow , float32[:] strided narrow alias )", 2))
  end)

  it("may be empty", function()
    assert.equal("", params("()", 0))
  end)

  for text, expected in pairs {
    ["int64"] = "'(' expected at character 1",
    ["(int65)"] = "a dtype such as float32 expected at character 2",
    ["(int64"] = "',' or ')' expected at character 7",
    ["(int64,)"] = "a dtype such as float32 expected at character 8",
    ["(int64[])"] = "':' or '::1' expected at character 8",
    ["(int64[:,::1,:])"] = "'::1' in the first or the last dimension",
    ["(int64[::1,::1])"] = "only one '::1'",
    ["(int64[:,:,:,:,:,:,:,:,:])"] = "at most 8 dimensions",
    ["(int64) x"] = "the end expected at character 9",
  } do
    it("is refused when it reads " .. text, function()
      local ok, err = pcall(params, text, 1)
      assert.is_false(ok)
      assert.truthy(tostring(err):find(expected, 1, true), tostring(err))
    end)
  end
end)
