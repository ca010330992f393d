-- Kernel texts of any shape end soon: compiled, or refused with a diagnostic.
local roc = require "roc"

local LIMIT_S = 20 -- of processor time; each takes a tenth of that on an idle machine

local HEAD = "function(a) local i = roc.get_global_id(1)\n"

local function lines(n, format)
  local text = {}
  for k = 1, n do text[k] = format:gsub("%%d", k) end
  return table.concat(text, "\n")
end

local function random_bytes(n)
  local seed, bytes = 7, {}
  for k = 1, n do
    seed = (seed * 1103515245 + 12345) & 0x7fffffff
    bytes[k] = string.char(seed >> 16 & 0xff)
  end
  return table.concat(bytes)
end

-- Functions F.f1 … F.fn, each of the one before; then a kernel that calls the last.
local function chain(n, first, step)
  local text = { "local roc = require 'roc' local F = {}", "function F.f0(x) " .. first .. " end" }
  for k = 1,
    n do text[#text + 1] = ("function F.f%d(x) %s end"):format(k,
    (step:gsub("PREVIOUS", "F.f" .. k - 1))) end
  text[#text + 1] =
    ("return function(a) local i = roc.get_global_id(1) a[i] = F.f%d(a[i]) end"):format(n)
  return load(table.concat(text, "\n"))()
end

-- Reads n fields of a table, each once.
local function reader(n)
  local fields = {}
  for k = 1, n do fields["f" .. k] = k end
  return load("local roc, t = require 'roc', ... return " .. HEAD
    .. lines(n, "a[i] = t.f%d") .. " end")(fields)
end

-- says: what the error has; nil: it runs.
local CASES = {
  { "10,000 parentheses", HEAD .. "a[i] = " .. ("("):rep(10000) .. "1" .. (")"):rep(10000)
    .. " end", says = "overflow" },
  { "180 parentheses", HEAD .. "a[i] = " .. ("("):rep(180) .. "a[i]" .. (")"):rep(180) .. " end" },
  { "10,000 nested ifs", HEAD .. ("if a[i] > 0 then "):rep(10000) .. ("end "):rep(10001),
    says = "overflow" },
  { "150 nested ifs", HEAD .. ("if a[i] > 0 then "):rep(150) .. "a[i] = 2 " .. ("end "):rep(151) },
  { "60 nested loops", HEAD .. ("while a[i] > 0 do "):rep(60) .. "a[i] = a[i] - 1 "
    .. ("end "):rep(61) },
  { "30 nested counted loops", HEAD .. ("for k = 1, 1 do "):rep(30) .. "a[i] = 2 "
    .. ("end "):rep(31) },
  { "600 counted loops one after another",
    HEAD .. lines(600, "for k = 1, #a do a[k] = a[k] + %d end") .. " end" },
  { "100,000 locals", HEAD .. lines(100000, "local x%d = %d") .. " end",
    says = "too many local variables" },
  { "190 live locals", HEAD .. lines(190, "local x%d = a[i] + %d") .. "\na[i] = x1 + x190 end" },
  { "4000 early exits", HEAD .. lines(4000, "if a[i] == -%d then return end") .. " a[i] = 2 end" },
  { "300 early exits before a barrier",
    HEAD .. lines(300, "if a[i] == -%d then return end") .. " roc.barrier() a[i] = 2 end" },
  { "4000 breaks", HEAD .. "while true do " .. lines(4000, "if a[i] == -%d then break end")
    .. " break end end" },
  { "4000 gotos",
    HEAD .. "for k = 1, 2 do " .. lines(4000, "if a[i] == -%d then goto continue end")
      .. " ::continue:: end end" },
  { "30,000 labels", HEAD .. lines(30000, "::l%d:: a[i] = 1") .. " end" },
  { "36,000 captured fields", function() return reader(36000) end },
  { "4000 branches of one if", HEAD .. "if i < 0 then "
    .. lines(4000, "elseif i == -%d then a[i] = %d") .. "\nend end",
    says = "nested too deeply" },
  { "10,000 constant terms", HEAD .. "a[i] = 1" .. (" + 1"):rep(10000) .. " end",
    says = "nested too deeply" },
  { "900 terms", HEAD .. "a[i] = a[i]" .. (" + a[i]"):rep(900) .. " end" },
  { "400 conditions", HEAD .. "if a[i] > 0" .. (" and a[i] > 0"):rep(400)
    .. " then a[i] = 2 end end" },
  { "a chain of 2000 products", HEAD .. "local x = a[i]\n" .. ("x = x * 3 + 1\n"):rep(2000)
    .. "a[i] = x end" },
  { "1000 divisions", HEAD .. "local x = i\n" .. ("x = x // 3 + 1\n"):rep(1000)
    .. "a[i] = x + 0.0 end" },
  { "2000 updates of one element", HEAD .. ("a[i] = a[i] + 1\n"):rep(2000) .. " end" },
  { "200 barriers", HEAD .. ("a[i] = a[i] + 1 roc.barrier()\n"):rep(200) .. " end" },
  { "2000 asserts", HEAD .. ("assert(a[i] > 0, 'why')\n"):rep(2000) .. " end" },
  { "a comment of 10 MB", HEAD .. "--[[" .. ("x"):rep(10 << 20) .. "]] a[i] = 2 end" },
  { "a name of 1 MB", HEAD .. ("x"):rep(1 << 20) .. " = 1 end",
    says = "cannot be assigned in a kernel" },
  { "a numeral of 1 MB", HEAD .. "a[i] = " .. ("1"):rep(1 << 20) .. " end" },
  { "10 MB of statements", HEAD .. ("a[i]=1 "):rep(10 << 17) .. " end", says = "too large" },
  { "shared memory beyond any device", HEAD
    .. "local s = roc.shared.array(1 << 20, 'float64') s[1] = 1.0 end",
    says = "shared memory" },
  { "an array of 2^40 elements",
    HEAD .. "local s = roc.private.array(1 << 40, 'float32') a[i] = s[1] end",
    says = "takes extents from 0 to 2147483647, but gets 1099511627776 here" },
  { "random bytes", random_bytes(100000), says = "bad argument #1 to 'kernel'" },
  { "an empty text", "", says = "one function expected" },
  { "a text with a zero byte", HEAD .. "a[i] = 1 \0 end", says = "unexpected symbol" },
  { "calls that double 30 times", function()
    return chain(30, "return x * 2 + 1.0", "return PREVIOUS(x) + PREVIOUS(x)")
  end,
    says = "too large" },
  { "barriers that double 30 times",
    function() return chain(30, "roc.barrier() return x", "return PREVIOUS(x) + PREVIOUS(x)") end,
    says = "too large" },
  { "calls 50 deep",
    function() return chain(50, "return x * 2 + 1.0", "return PREVIOUS(x) + 1") end },
  { "calls 2000 deep", function()
    return chain(2000, "return x * 2 + 1.0", "return PREVIOUS(x) + 1")
  end,
    says = "more than 60 calls deep" },
}

describe("a kernel of odd shape", function()
  for _, case in ipairs(CASES) do
    local name, given = case[1], case[2]
    it(("ends soon: %s"):format(name), function()
      local a = roc.to_device(roc.ones(16))
      local began = os.clock()
      local ok, err = pcall(function()
        local f = type(given) == "function" and given() or given
        roc.kernel(f,
          { name = "odd", env = type(f) == "string" and { roc = roc, assert = assert }
          or nil }):forall(16)(a)
        roc.current_device():synchronize()
      end)
      local message = tostring(err)
      assert.is_true(os.clock() - began < LIMIT_S, name)
      if case.says then
        assert.is_false(ok)
        assert.is_truthy(message:find(case.says, 1, true), message:sub(1, 400))
        assert.is_nil(message:find "internal", message:sub(1, 400))
      else
        assert.is_true(ok, message:sub(1, 400))
      end
    end)
  end
end)
