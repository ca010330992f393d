-- Why a check stays, as k:show says it: what the index comes from, what is not known of it; and
-- that the condition which is said to prove it does.
local roc = require "roc"

local ENV = { roc = roc, math = math }

-- In a text the statement with the check stands between << and >>: a condition goes around it.
local KERNELS = {
  { what = "an index out of memory", types = { "float32[:]", "float32[:]", "int32[:]" },
    text = [=[function(y, x, idx)
      local i = roc.get_global_id(1)
      if i <= #y and i <= #idx then <<y[i] = x[idx[i]]>> end
    end]=], check = "index idx[i] of 'x'",
    reason = "idx[i] comes from memory, and nothing says that 1 <= v and v <= #x",
    keeps = "idx[i]" },
  { what = "one that is kept in a local", types = { "float32[:]", "float32[:]", "int32[:]" },
    text = [=[function(y, x, idx)
      local i = roc.get_global_id(1)
      if i <= #y and i <= #idx then local j = idx[i] + 1 <<y[i] = x[j]>> end
    end]=], check = "index j of 'x'",
    reason = "idx[i] comes from memory, and nothing says that 1 <= j and j <= #x" },
  { what = "a loop to an argument", types = { "float32[:]", "float32[:]", "int64" },
    text = [=[function(y, x, n)
      local s = 0.0
      for j = 1, n do <<s = s + x[j]>> end
      if #y >= 1 then y[1] = s end
    end]=], check = "index j of 'x'", launch = true,
    reason = "nothing says that n <= #x: `if n <= #x then`, or `if j <= #x then`" },
  { what = "an item's number without a test", types = { "float32[:]" },
    text = "function(y) local i = roc.get_global_id(1) <<y[i] = 1>> end",
    check = "index i of 'y'", launch = true,
    reason = "i is the item's number (roc.get_global_id(1)), and nothing says that "
      .. "roc.get_global_size(1) <= #y" },
  { what = "a test with another array", types = { "float32[:]", "float32[:]" },
    text = [=[function(y, x)
      local i = roc.get_global_id(1)
      if i <= #y then <<y[i] = x[i]>> end
    end]=], check = "index i of 'x'", launch = true, reason = "nothing says that #y <= #x" },
  { what = "a neighbour at the end", types = { "float32[:]", "float32[:]" },
    text = [=[function(y, x)
      local i = roc.get_global_id(1)
      if i <= #y and i <= #x then <<y[i] = x[i + 1]>> end
    end]=], check = "index i + 1 of 'x'", launch = true,
    reason = "nothing says that #y + 1 <= #x: " },
  { what = "a neighbour at the beginning", types = { "float32[:]", "float32[:]" },
    text = [=[function(y, x)
      local i = roc.get_global_id(1)
      if i <= #y and i <= #x then <<y[i] = x[i - 1]>> end
    end]=], check = "index i - 1 of 'x'",
    reason = "nothing says that 1 <= i - 1: `if 1 <= i - 1 then`" },
  { what = "a variable that a loop changes", types = { "int32[:]", "int64" },
    text = [=[function(y, n)
      local j = 1
      while j < n do
        <<y[j] = 1>>
        j = j * 3 - n
      end
    end]=], check = "index j of 'y'",
    reason = "j changes in the loop of line 3, and nothing says that 1 <= j and j <= #y" },
  { what = "a float made an integer", types = { "float32[:]", "float32[:]", "float64" },
    text = [=[function(y, x, p)
      if -1e9 < p and p < 1e9 and #y >= 1 then <<y[1] = x[math.floor(p * 8)]>> end
    end]=], check = "index math.floor(p * 8) of 'x'",
    reason = "math.floor(p * 8.0) is made of a float, and nothing says that 1 <= " },
  { what = "the old value of an atomic operation", types = { "int32[:]", "float32[:]" },
    text = [=[function(count, x)
      if #count >= 1 then local k = roc.atomic.add(count, 1, 1) <<x[k] = 1>> end
    end]=], check = "index k of 'x'",
    reason = "k comes from an atomic operation, and nothing says that 1 <= k and k <= #x" },
  { what = "a value of several paths", types = { "float32[:]", "bool" },
    text = [=[function(x, c)
      local k = 3
      if c then k = #x else k = 4 end
      <<x[k] = 1>>
    end]=], check = "index k of 'x'", launch = true, reason = "k depends on the path taken" },
  { what = "a product and a sum", types = { "float32[:]", "int64" },
    text = [=[function(m, w)
      local i, j = roc.get_global_id(1), roc.get_global_id(2)
      <<m[(i - 1) * w + j] = 1>>
    end]=], check = "index (i - 1) * w + j of 'm'",
    reason = "w is an argument, " },
  { what = "the second dimension", types = { "float32[:,:]" },
    text = [=[function(m)
      local i, j = roc.get_global_id(2), roc.get_global_id(1)
      if i <= #m then <<m[i][j] = 1>> end
    end]=], check = "index j of 'm' (dimension 2)",
    reason = "nothing says that roc.get_global_size(1) <= m.shape[2]", launch = true },
  { what = "shared memory", types = { "float32[:]" },
    text = [=[function(x)
      local s = roc.shared.array(64, "float32")
      local l = roc.get_local_id(1)
      <<s[l] = 1>>
      roc.barrier()
      if l <= #x then x[l] = l end
    end]=], check = "index l of 's'", launch = true,
    reason = "nothing says that roc.get_local_size(1) <= 64" },
  { what = "a divisor", types = { "int32[:]", "int64" },
    text = "function(y, n) if #y >= 1 then <<y[1] = 10 // n>> end end",
    check = "divisor of '//'", reason = "n is an argument, and nothing says that n ~= 0" },
  { what = "a divisor out of memory", types = { "int32[:]" },
    text = "function(y) if #y >= 2 then <<y[1] = 10 % y[2]>> end end", keeps = "y[2]",
    check = "divisor of '%'", reason = "y[2] comes from memory, and nothing says that v ~= 0" },
  { what = "a float out of memory", types = { "float64[:]", "int64[:]" },
    text = "function(x, y) if #x >= 1 and #y >= 1 then <<y[1] = math.floor(x[1])>> end end",
    keeps = "x[1]", check = "float that becomes an integer",
    reason = "x[1] comes from memory, and nothing says that -1e18 <= v and v <= 1e18" },
}

local function kernel(text)
  return roc.kernel((text:gsub("[<>][<>]", "")), { env = ENV, name = "told" })
end

-- The reason of the check of a description, with one line of spaces less; nil: it is proved.
local function reason_of(text, target, case)
  local shown = kernel(text):show(target, table.unpack(case.types))
  local checks = shown:match "\nchecks that remain\n(.*)" or ""
  local from = select(2, checks:find(": " .. case.check .. "\n", 1, true))
  return from and checks:match("^ +([^\n]*)", from + 1), checks
end

-- The text with the statement inside `if condition then`.
local function inside(case, condition)
  return (case.text:gsub("<<(.-)>>", function(statement)
    local keeps = ""
    if case.keeps then
      keeps = "local v = " .. case.keeps .. " "
      local first, last = statement:find(case.keeps, 1, true)
      statement = statement:sub(1, first - 1) .. "v" .. statement:sub(last + 1)
    end
    return keeps .. "if " .. condition .. " then " .. statement .. " end"
  end))
end

describe("the reason of a check that stays, of", function()
  for _, case in ipairs(KERNELS) do
    for _, target in ipairs { "cpu", "gfx90a", "sm_90" } do
      it(case.what .. ", for " .. target, function()
        local reason, checks = reason_of(case.text, target, case)
        assert.is_string(reason, case.check .. " in\n" .. checks)
        assert.is_truthy(reason:find(case.reason, 1, true), reason)
        assert.are.equal(case.keeps ~= nil, reason:find("keep it in a local v", 1, true) ~= nil)
        local proofs = 0
        for condition in reason:gmatch "`if ([^`]*) then`" do
          proofs = proofs + 1
          assert.is_nil((reason_of(inside(case, condition), target, case)), condition)
        end
        assert.are.equal(case.launch and 2 or 1, proofs)
      end)
    end
  end
end)
