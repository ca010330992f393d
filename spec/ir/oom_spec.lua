-- Memory that ends in the passes that fit a kernel to a GPU: each allocation of theirs fails once,
-- which is an error, after which all memory is freed and the kernel is what it is without.
local testing = require("roc.core").testing
local compiler = testing.compiler

local HEAD = [[
kernel k(n.0: int, x.1: int32[1] c read written narrow, y.2: int32[1] c read written narrow) check workgroup 128 0 0
  array x.0 = param x.1
  array y.1 = param y.2
  array t.2: int32[128] shared
  var sum.0: int
  var k.1: int
  var s.2: int
  site 0 index "k.lua" 1 1 dim 0 values 2 name "x"
  site 1 index "k.lua" 2 1 dim 0 values 2 name "y"
  site 2 index "k.lua" 3 1 dim 0 values 2 name "t"
  %0: int = local_id 0
  %1: int = global_id 0
  %2: int = const 1
  %3: int = const 2
  %4: int = const 0
  %5: int = const 64
  %6: int = param n.0
]]

-- A name, what the passes make of it, and the kernel after HEAD.
local KERNELS = {
  -- parts between barriers of a loop, whose checks stay (late_exits.c), rounds of which constants
  -- count some (loop_rounds.c)
  { "with barriers in a loop", "block.-if all.-leave", [[
  set s.2 %5
  %10 = loop
    %11: int = get s.2
    %12: bool = le %11 %4
    if %12
      leave %10
    end
    barrier 3
    %13: int = add %0 %6
    check.index t.2 0 #2 %13
    %14: int = load t.2 %13
    check.index x.0 0 #0 %14
    %15: int = load x.0 %14
    check.index t.2 0 #2 %11
    store t.2 %15 %11
    barrier 3
    %16: int = floordiv %11 %3
    set s.2 %16
  end]] },
  -- checks that wait until after the loop (loop_versioning.c), or are one (combined_checks.c)
  { "with a loop over what memory says", "clamp.index.-index.fits", [[
  set sum.0 %4
  %10 = for k.1 %2 %6 %2
    %11: int = get k.1
    check.index x.0 0 #0 %11
    %12: int = load x.0 %11
    check.index y.1 0 #1 %12
    %13: int = load y.1 %12
    %14: int = get sum.0
    %15: int = add %14 %13
    set sum.0 %15
  end
  %16: int = get sum.0
  check.index x.0 0 #0 %6
  %17: int = load x.0 %6
  check.index y.1 0 #1 %17
  store y.1 %16 %17]] },
  -- a loop that is left and goes on (resumed_loops.c), and sums of its rounds (counted_sums.c)
  { "with a loop that stores where memory says", "index.fits.-if all.-= for.-check.index", [[
  set sum.0 %4
  %10 = for k.1 %2 %6 %2
    %11: int = get k.1
    check.index x.0 0 #0 %11
    %12: int = load x.0 %11
    check.index y.1 0 #1 %12
    store y.1 %11 %12
    %15: int = get sum.0
    %16: int = add %15 %2
    set sum.0 %16
  end
  %17: int = get sum.0
  check.index y.1 0 #1 %17
  store y.1 %17 %17]] },
  -- a loop without a count that leaves early (loop_versioning.c)
  { "with a loop without a count that reads alone", "worst.index.-clamp.index.-worst.fits", [[
  set sum.0 %2
  %10 = loop
    %11: int = get sum.0
    %12: bool = lt %11 %2
    if %12
      leave %10
    end
    check.index x.0 0 #0 %11
    %14: int = load x.0 %11
    set sum.0 %14
  end]] },
  -- loops in loops (deferred_nests.c), of bounds out of memory
  { "with a loop in a loop that read alone", "clamp.index.-ult.-= for.-worst.fits", [[
  set sum.0 %4
  %10 = for k.1 %2 %6 %2
    %11: int = get k.1
    check.index x.0 0 #0 %11
    %12: int = load x.0 %11
    check.index y.1 0 #1 %12
    %13: int = load y.1 %12
    %14 = for s.2 %12 %13 %2
      %15: int = get s.2
      check.index x.0 0 #0 %15
      %16: int = load x.0 %15
      %17: int = get sum.0
      %18: int = add %17 %16
      set sum.0 %18
    end
  end
  %19: int = get sum.0
  check.index y.1 0 #1 %1
  store y.1 %19 %1]] },
  { "with a loop without a count that stores", "index.fits.-if all.-= loop.-check.index", [[
  set sum.0 %2
  %10 = loop
    %11: int = get sum.0
    %12: bool = lt %6 %11
    if %12
      leave %10
    end
    check.index x.0 0 #0 %11
    %14: int = load x.0 %11
    store y.1 %14 %11
    set sum.0 %14
  end]] },
  -- short loops in one another (unroll.c), whose sums need their lower halves alone (low_bits.c)
  { "with short loops", "mul.-mul.-mul.-mul.-mul.-mul.-mul.-mul", [[
  set sum.0 %6
  %10 = for k.1 %2 %3 %2
    %11 = for s.2 %2 %3 %2
      %12: int = get k.1
      %13: int = get s.2
      %14: int = mul %12 %13
      %15: int = get sum.0
      %16: int = mul %15 %14
      %17: bool = lt %16 %14
      if %17
        set sum.0 %16
      else
        %18: int = add %16 %6
        set sum.0 %18
      end
    end
  end
  %19: int = get sum.0
  check.index y.1 0 #1 %1
  store y.1 %19 %1]] },
}

local function live()
  collectgarbage()
  collectgarbage()
  return testing.live_blocks()
end

describe("an allocation that fails while a kernel is fitted to a GPU", function()
  for _, row in ipairs(KERNELS) do
    local name, pattern, body = table.unpack(row)
    it("is an error, " .. name, function()
      local text = HEAD .. body .. "\nend\n"
      local expected = compiler.ir_fit(text, "gfx90a")
      assert.matches(pattern, expected)
      local before, n, is_done = live(), 0, false
      while not is_done do
        n = n + 1
        testing.fail_alloc(n)
        local ok, result = pcall(compiler.ir_fit, text, "gfx90a")
        testing.fail_alloc(0)
        is_done = ok
        if ok then
          assert.are.equal(expected, result)
        else
          assert.are.equal("oom", result.code)
        end
        if n % 50 == 0 then assert.are.equal(before, live()) end
      end
      assert.is_true(n > 100)
      assert.are.equal(before, live())
    end)
  end
end)
