-- Uniformity: which results all items of a wavefront or workgroup agree on.
local compiler = require("roc.core").testing.compiler

local HEAD = [[
kernel k(n.0: int, x.1: float32[1] c read, y.2: float32[1] c read written, z.3: float32[1] c read alias)
  array x.0 = param x.1
  array y.1 = param y.2
  array z.2 = param z.3
  array s.3: float32[64] shared
  array c.4: int16[1] const "0100"
  var i.0: int
  var j.1: int
  var b.2: bool
  %0: int = const 1
  %1: int = local_id 0
  %2: bool = lt %1 %0
  %3: int = param n.0
  %4: bool = lt %3 %0
]]

-- The level of result `label` in a kernel of these lines behind HEAD.
local function level(label, ...)
  local text = compiler.ir_uniform(HEAD .. table.concat({ ... }, "\n") .. "\nend\n")
  local found = text:match("%%" .. label .. ": [^;\n]*; (%a+)")
  return assert(found, text)
end

describe("uniformity", function()
  it("is the group's for sizes, parameters, extents and group ids", function()
    for _, line in ipairs { "group_id 0", "local_size 0", "param n.0", "extent y.1 0", "wave_size",
      "num_groups 2" } do
      assert.are.equal("group", level(5, "%5: int = " .. line))
    end
  end)

  it("is nobody's for ids of items and lanes", function()
    for _, line in ipairs { "global_id 0", "local_id 2", "lane_id" } do
      assert.are.equal("varying", level(5, "%5: int = " .. line))
    end
  end)

  it("goes through arithmetic at the weakest operand", function()
    assert.are.equal("group", level(5, "%5: int = add %3 %0"))
    assert.are.equal("varying", level(5, "%5: int = add %3 %1"))
  end)

  it("holds for loads of what nobody writes, at uniform indices", function()
    assert.are.equal("group", level(5, "%5: f32 = load x.0 %0"))
    assert.are.equal("group", level(5, "%5: int = load c.4 %0"))
    assert.are.equal("varying", level(5, "%5: f32 = load x.0 %1"))
    assert.are.equal("varying", level(5, "%5: f32 = load y.1 %0"))
    assert.are.equal("varying", level(5, "%5: f32 = load z.2 %0"))
    assert.are.equal("varying", level(5, "%5: f32 = load s.3 %0"))
  end)

  it("is the wavefront's for votes and reductions", function()
    assert.are.equal("wave", level(5, "%5: int = wave ballot %2"))
    assert.are.equal("wave", level(5, "%5: int = wave sum %1"))
    assert.are.equal("wave", level(5, "%5: int = wave broadcast %1 %0"))
    assert.are.equal("varying", level(5, "%5: int = wave broadcast %1 %1"))
    -- where there is no such lane each keeps its own
    assert.are.equal("varying", level(5, "%5: int = wave broadcast %1 %3"))
    assert.are.equal("wave", level(5, "%5: int = wave broadcast %0 %3"))
    assert.are.equal("varying", level(5, "%5: int = wave shuffle_xor %0 %0"))
    assert.are.equal("wave", level(6, "%5: int = wave sum %1", "%6: int = add %5 %3"))
  end)

  it("of a variable is that of all that is assigned to it", function()
    assert.are.equal("group", level(5, "set i.0 %3", "%5: int = get i.0"))
    assert.are.equal("varying", level(5, "set i.0 %3", "set i.0 %1", "%5: int = get i.0"))
  end)

  it("is lost by assignments where items part", function()
    assert.are.equal("varying", level(5, "set i.0 %0", "if %2", "set i.0 %3", "end",
      "%5: int = get i.0"))
    assert.are.equal("group", level(5, "set i.0 %0", "if %4", "set i.0 %3", "end",
      "%5: int = get i.0"))
  end)

  it("is lost in a loop that items leave one by one", function()
    local function loop(condition)
      return level(7, "set i.0 %0", "%5 = loop", "%6: int = get i.0", "set i.0 %6",
        "if " .. condition, "leave %5", "end", "end",
        "%7: int = get i.0")
    end
    assert.are.equal("varying", loop("%2"))
    assert.are.equal("group", loop("%4"))
  end)

  it("is lost in a loop inside of what items leave one by one", function()
    local function loop(condition)
      return level(8, "set i.0 %0", "%5 = block", "%6 = loop", "%7: int = get i.0", "set i.0 %7",
        "if " .. condition, "leave %5", "end", "end", "end", "%8: int = get i.0")
    end
    assert.are.equal("varying", loop("%2"))
    assert.are.equal("group", loop("%4"))
    assert.are.equal("varying", level(8, "%5 = loop", "%6 = loop", "%7: int = get i.0",
      "set i.0 %7", "if %2", "next %5", "end", "end", "end", "%8: int = get i.0"))
  end)

  it("is lost behind a divergent leave of a block, up to its end", function()
    assert.are.equal("varying", level(6, "%5 = block", "if %2", "leave %5", "end", "set i.0 %3",
      "end", "%6: int = get i.0"))
    assert.are.equal("group", level(6, "%5 = block", "if %2", "leave %5", "end", "end",
      "set i.0 %3", "%6: int = get i.0"))
  end)

  it("is lost for the rest of the turn behind a divergent next", function()
    local function set_where(before, after)
      return level(6, "%5 = for j.1 %0 %3 %0", before, "if %2", "next %5", "end", after, "end",
        "%6: int = get i.0")
    end
    assert.are.equal("group", set_where("set i.0 %3", "barrier 1"))
    assert.are.equal("varying", set_where("barrier 1", "set i.0 %3"))
  end)

  it("is kept by the items that go on when others return", function()
    assert.are.equal("group", level(5, "if %2", "return", "end", "set i.0 %3", "%5: int = get i.0"))
  end)

  it("is lost by the variable of a loop with varying bounds", function()
    assert.are.equal("group", level(6, "%5 = for i.0 %0 %3 %0", "%6: int = get i.0", "end"))
    assert.are.equal("varying", level(6, "%5 = for i.0 %0 %1 %0", "%6: int = get i.0", "end"))
  end)

  it("follows chains of assignments backwards through a loop", function()
    assert.are.equal("varying", level(6, "set i.0 %0", "set j.1 %0", "%5 = loop",
      "%6: int = get i.0", "%7: int = get j.1",
      "set i.0 %7", "set j.1 %1", "if %4", "leave %5", "end", "end"))
  end)
end)
