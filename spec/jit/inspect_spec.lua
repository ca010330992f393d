-- k:inspect_types with arguments: the types of a launch that does not happen.
local roc = require "roc"

describe("k:inspect_types", function()
  local k = roc.kernel(function(x, a, y)
    local sum = x[1] + a
    y[1] = sum
  end, { name = "add" })

  it("tells the types for the arguments that it is given", function()
    local y = roc.zeros(1)
    assert.matches("local sum: float32", k:inspect_types(roc.ones(1, "float32"), 1, y))
    assert.matches("local sum: integer",
      k:inspect_types(roc.ones(1, "int8"), 1, roc.zeros(1, "int64")))
    assert.matches("local sum: float64", k:inspect_types(roc.to_device(roc.ones(1)), 2.5, y))
    assert.same({ 0.0 }, y:totable())
    assert.are.equal(0, select(2, k:specialisations()))
  end)

  it("checks them as a launch does", function()
    assert.error_matches(function() k:inspect_types(1) end, "kernel 'add' takes 3 arguments, got 1")
    assert.error_matches(function() k:inspect_types("x", 1, 2) end,
      "bad argument #1 to kernel 'add'")
  end)
end)
