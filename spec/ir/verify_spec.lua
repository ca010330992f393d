-- The rules of IR: one broken rule per test, named in the message.
local compiler = require("roc.core").testing.compiler

local HEAD = [[
kernel k(n.0: int, x.1: float32[2] c read, y.2: bool[1] c written) check
  array x.0 = param x.1
  array y.1 = param y.2
  array c.2: int16[1] const "0100"
  array u.3: uint8[4] shared
  var i.0: int
  var f.1: f64
  site 0 index "k.lua" 1 1 dim 0 values 2 name "x"
  site 1 assert "k.lua" 1 1 dim 0 values 1 : int
  %0: int = const 1
  %1: f64 = const 1.5
  %2: bool = const true
  %3: f32 = const 0.5
]]

-- What the verifier says of these lines behind HEAD.
local function complaint(...)
  local ok, err = pcall(compiler.ir_roundtrip, HEAD .. table.concat({ ... }, "\n") .. "\nend\n")
  assert.is_false(ok)
  return (tostring(err):gsub("^invalid IR in kernel 'k': ", ""))
end

local function refuses(title, message, ...)
  local lines = { ... }
  it(title, function()
    assert.are.equal(message,
      (complaint(table.unpack(lines)):gsub("^(%%%d+ [%w._]+) %([^)]*%)", "%1")))
  end)
end

describe("the verifier", function()
  it("takes what is right", function() assert.is_truthy(compiler.ir_roundtrip(HEAD .. "end\n")) end)

  refuses("wants the versions of a kernel at its end",
    "%4 if: versions of the kernel do not end its body", "if versions %2", "end", "barrier 1")
  refuses("wants one version of a kernel for the whole launch",
    "%6 if: work-items may differ in the version of the kernel", "%4: int = global_id 0",
    "%5: bool = le %4 %0", "if versions %5", "end")
  refuses("counts operands", "%4 add: 1 operands, the rule is 2", "%4: int = add %0")
  refuses("knows the kind of each operand", "%4 band: operand 2 is f64, the rule is int",
    "%4: int = band %0 %1")
  refuses("asks for numbers where numbers go",
    "%4 lt: operand 1 is bool, the rule is int, f32 or f64", "%4: bool = lt %2 %2")
  refuses("keeps the types of operands alike", "%4 add: operands 1 and 2 are of different types",
    "%4: int = add %0 %1")
  refuses("knows the result's type", "%4 add: the result is bool, the rule is int",
    "%4: bool = add %0 %0")
  refuses("knows the result of a comparison", "%4 eq: the result is int, the rule is bool",
    "%4: int = eq %0 %0")
  refuses("wants a constant typed", "%4 const: 0.10000000000000001 is no float32",
    "%4: f32 = const 0.1")
  refuses("wants get to have the variable's type",
    "%4 get: the result is f64, the rule here is int", "%4: f64 = get i.0")
  refuses("wants set to have the variable's type", "%4 set: the variable is int, the value f64",
    "set i.0 %1")
  refuses("takes no array for a scalar parameter", "%4 param: there is no scalar parameter 1",
    "%4: int = param x.1")
  refuses("wants select's result to be its values'",
    "%4 select: the result is int, the rule here is f64", "%4: int = select %2 %1 %1")
  refuses("wants conversions to convert", "%4 to.f64: the operand is f64 already",
    "%4: f64 = to.f64 %1")
  refuses("knows what a dtype loads as", "%4 convert: the result is int, the rule here is f32",
    "%4: int = convert float16 %0")
  refuses("knows the arity of functions", "%4 math: 1 operands, atan2 takes 2",
    "%4: f64 = math atan2 %1")
  refuses("wants a function's operands alike", "%4 math: operands 1 and 2 are of different types",
    "%4: f64 = math atan2 %1 %3")
  refuses("counts indices", "%4 load: 1 operands, the rule is 2: the array has 2 dimensions",
    "%4: f32 = load x.0 %0")
  refuses("wants integer indices", "%4 load: operand 2 is f64, an index is int",
    "%4: f32 = load x.0 %0 %1")
  refuses("knows the type of an element", "%4 load: the result is f64, the rule here is f32",
    "%4: f64 = load x.0 %0 %0")
  refuses("stores booleans in bool arrays alone",
    "%4 store: bool is not stored in an array of float32", "store x.0 %2 %0 %0")
  refuses("stores nothing else in bool arrays", "%4 store: int is not stored in an array of bool",
    "store y.1 %0 %0")
  refuses("stores no float in an integer array", "%4 store: f64 is not stored in an array of uint8",
    "store u.3 %1 %0")
  refuses("writes no const array", "%4 store: a const array is not written", "store c.2 %0 %0")
  refuses("knows the dimensions of an array", "%4 extent: the array has no dimension 2",
    "%4: int = extent x.0 2")
  refuses("knows the dimensions of a launch", "%4 global_id: dimension 3 is not 0, 1 or 2",
    "%4: int = global_id 3")
  refuses("knows the memories of a barrier", "%4 barrier: memory 0 is not 1, 2 or 3", "barrier 0")
  refuses("has no atomics on narrow elements", "%4 atomic: no atomic add on uint8",
    "%4: int = atomic add u.3 %0 %0")
  refuses("has no bitwise atomics on floats", "%4 atomic: no atomic xor on float32",
    "%4: f32 = atomic xor x.0 %0 %0 %3")
  refuses("has no atomics on const arrays", "%4 atomic: atomics work on global and shared arrays",
    "%4: int = atomic add c.2 %0 %0")
  refuses("wants atomic values of the element's type",
    "%4 atomic: operand 3 is not of the array's type f32", "%4: f32 = atomic add x.0 %0 %0 %1")
  refuses("knows the operands of wave operations", "%4 wave: operand 1 is int, the rule is bool",
    "%4: int = wave ballot %0")
  refuses("knows the result of wave operations",
    "%4 wave: the result is int, the rule here is bool", "%4: int = wave any %2")
  refuses("wants the sites that are named", "%4 check.nonzero: there is no site 9",
    "check.nonzero #9 %0")
  refuses("wants the values a site records", "%4 check: 0 values, its site records 1",
    "check #1 %2")

  refuses("lets no result out of its region",
    "%6 neg: operand 1, %5, is not defined before it in a region around it",
    "if %2", "%5: int = neg %0", "end", "%6: int = neg %5")
  refuses("lets no result from one branch into the other",
    "%6 neg: operand 1, %5, is not defined before it in a region around it",
    "if %2", "%5: int = neg %0", "else", "%6: int = neg %5", "end")
  refuses("lets nothing follow a return", "%4 return: instructions follow it in its region",
    "return", "barrier 1")
  refuses("lets nothing follow a leave", "%6 leave: instructions follow it in its region",
    "%4 = block", "if %2", "leave %4", "barrier 1", "end", "end")
  refuses("leaves only what is around", "%5 leave: %4 is not around it", "%4 = block", "end",
    "leave %4")
  refuses("has no next of a block", "%5 next: %4 is no statement it can name", "%4 = block",
    "next %4", "end")
  refuses("counts with integer variables", "%4 for: the variable of a for is int",
    "%4 = for f.1 %0 %0 %0", "end")
  refuses("leaves a loop's variable alone", "%5 set: the variable of a for is not set in its body",
    "%4 = for i.0 %0 %0 %0", "set i.0 %0", "end")
  refuses("nests no loop in another of the same variable",
    "%5 for: the variable of a for is not used by another inside it",
    "%4 = for i.0 %0 %0 %0", "%5 = for i.0 %0 %0 %0", "end", "end")
  refuses("passes no value that is none", "%5 neg: operand 1, %4, has no value", "%4 = block",
    "end", "%5: int = neg %4")

  it("names place and instruction", function()
    assert.are.equal("%4 add (k.lua:7): 1 operands, the rule is 2",
      complaint('%4: int = add %0 !"k.lua" 7:9'))
  end)

  it("refuses arrays of impossible size", function()
    local text = "kernel k()\n  array a.0: int64[2147483648,2147483648,4] shared\nend"
    local ok, err = pcall(compiler.ir_roundtrip, text)
    assert.is_false(ok)
    assert.are.equal("invalid IR in kernel 'k': array 0 'a' has a negative extent, or is too large",
      tostring(err))
  end)
end)
