-- The limits of the kernel language hold on every device: what is nested 180 deep runs, and of what
-- a launch prints 1 MiB is kept.
local roc = require "roc"
local devices = require "support.devices"

local DEPTH, CHAIN = 180, 900

-- Texts of a kernel of `o`, float64, that stores to o[1].
local DEEP = {
  ["parentheses"] = "o[1] = " .. ("("):rep(DEPTH) .. "o[1] + 1.0" .. (")"):rep(DEPTH),
  ["sums"] = "o[1] = " .. ("(o[2] + "):rep(DEPTH // 2) .. "o[1]" .. (")"):rep(DEPTH // 2),
  ["calls"] = "o[1] = " .. ("math.abs("):rep(DEPTH) .. "o[1] - 7.5" .. (")"):rep(DEPTH),
  ["conversions"] = "o[1] = " .. ("roc.float32("):rep(DEPTH) .. "o[1] + 0.1" .. (")"):rep(DEPTH),
  ["signs"] = "o[1] = " .. ("- "):rep(DEPTH) .. "o[1]",
  ["negations"] = "if " .. ("not "):rep(DEPTH) .. "(o[1] > 0) then o[1] = 9 end",
  ["conditions"] = "if " .. ("(o[1] > 0 and "):rep(DEPTH // 2) .. "o[2] > 1" ..
    (")"):rep(DEPTH // 2) .. " then o[1] = 9 end",
  ["blocks"] = ("do "):rep(DEPTH) .. "o[1] = (o[1] + 1.0) * 2.0 " .. ("end "):rep(DEPTH),
  ["branches"] = ("if o[1] < 5 then "):rep(DEPTH) .. "o[1] = o[1] + 1.0 " .. ("end "):rep(DEPTH),
  ["blocks with an expression in them"] = ("do "):rep(DEPTH // 2) .. "local x = o[2] o[1] = "
    .. ("(x + "):rep(DEPTH // 5) .. "o[1]" .. (")"):rep(DEPTH // 5) .. ("end "):rep(DEPTH // 2),
  ["a chain of sums"] = "o[1] = " .. ("o[2] + "):rep(CHAIN) .. "o[1]",
  ["a chain of elseifs"] = "if o[1] > 99 then o[1] = 1.0 "
    .. ("elseif o[1] > 5 then o[1] = 2.0 "):rep(CHAIN) .. "else o[1] = 3.0 end",
}

devices.each(function(device)
  for name, body in pairs(DEEP) do
    it("runs deeply nested " .. name, function()
      local text = ("function(o) %s end"):format(body)
      local expected = { 1.0, 2.0 }
      assert(load("return " .. text, "=reference", "t", {
        math = math, roc = { float32 = devices.f32 },
      }))()(expected)
      local o = devices.values({ 1.0, 2.0 }, "float64")
      devices.run(devices.kernel(text), 1, { o }, 1)
      assert.same(expected[1], devices.table(o)[1])
    end)
  end

  it("names the line of a fault in a deep expression", function()
    local text = "function(o, i)\no[1] = " .. ("(o[2] + "):rep(60) .. "o[i]" .. (")"):rep(60)
      .. "\nend"
    local o = devices.values({ 1.0, 2.0 }, "float64")
    local ok, message = pcall(devices.run, devices.kernel(text), 1, { o, 3 }, 1)
    assert.is_false(ok)
    assert.matches(":2: index 3 out of range 1..2 of 'o'", tostring(message), 1, true)
  end)

  if not device.raw then -- else: prints at once
    it("keeps 1 MiB of a launch's printed lines and tells how many are lost", function()
      local k = devices.kernel [[function(x)
        local i = roc.get_global_id(1)
        print(i, "of", x[1], x[2], i + 1, i + 2, i + 3, i + 4, "")
      end]]
      local lines, real = {}, print
      local function keep(...) lines[#lines + 1] = table.concat({ ... }, "\t") end
      _G.print = keep -- luacheck: ignore
      local ok, why = pcall(devices.run, k, 20000, { devices.values({ 1, 2 }, "int64") }, 64)
      _G.print = real -- luacheck: ignore
      assert(ok, why)
      local fit = (1 << 20) // (8 + 8 * 7)
      assert.equal(fit + 1, #lines)
      assert.equal(("roclua: %d more lines of a kernel's output are lost (1 MiB a launch)"):format(
        20000 - fit), lines[#lines])
    end)
  end
end)
