-- Vector instructions of the emulator on lists of operands, a wavefront of them at a time, every
-- lane compared with what a Lua function says.  Values are unsigned integers of 32 bits or less, or
-- 64-bit ones, as registers have them; wide ones lie in several registers.
--
-- A batch gathers what a file wants to know of one target while busted reads it, and runs all of
-- that at once when the first test asks:
--   local batch = lanes.batch("gfx90a")
--   it("adds", batch:check("v_add_u32", "b32", "b32 b32", function(a, b) return a + b end))
-- Sources lie in v4, v8, v12, the result in v0, which begins as lanes.OLD.

local asserted = require("support.asserted")
local emulator = require("support.emulator")

local lanes = {}

---Integers that tend to go wrong: ends of ranges, single bits, shifts at and beyond the width.
lanes.edges32 = {
  0, 1, 2, 5, 15, 16, 31, 32, 33, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffff,
  0x800000, 0xffffff, 0x1000000, 0x12345678, 0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001,
  0xfffffffe, 0xffffffff, 0xdeadbeef, 0x00ff00ff, 0x0c0d0b08,
}
lanes.edges64 = {
  0, 1, 2, 31, 32, 63, 64, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x123456789abcdef0,
  math.maxinteger, math.mininteger, math.mininteger + 1, -2, -1, -0x80000000,
}
lanes.edges16 = {
  0, 1, 2, 7, 15, 16, 17, 0x7f, 0xff, 0x100, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff,
}

---What the registers of the result hold before.
lanes.OLD = 0x5555aaaa

function lanes.signed(x, bits)
  x = x & ((1 << bits) - 1)
  return x >= 1 << (bits - 1) and x - (1 << bits) or x
end

---"b32 b64 …" as a list of widths.
local function widths_of(types)
  local list = {}
  for bits in types:gmatch("%a(%d+)") do
    list[#list + 1] = tonumber(bits)
  end
  return list
end

-- Draws from a list, the same on every run.
local function new_draw()
  local state = 12345
  return function(list)
    state = (state * 1103515245 + 12345) & 0x7fffffff
    return list[(state >> 8) % #list + 1]
  end
end

---All pairs of edge values; of three operands one is drawn at random.  An operand wider than 64
---bits has zeros above.
function lanes.combinations(types)
  local widths, rows, draw = widths_of(types), {}, new_draw()
  local function edges(n)
    return lanes["edges" .. math.min(widths[n], 64)]
  end
  for _, a in ipairs(edges(1)) do
    for _, b in ipairs(widths[2] and edges(2) or { 0 }) do
      rows[#rows + 1] = { a, b, widths[3] and draw(edges(3)) or 0 }
    end
  end
  for _, a in ipairs(widths[3] and edges(1) or {}) do
    for _, c in ipairs(edges(3)) do
      rows[#rows + 1] = { a, draw(edges(2)), c }
    end
  end
  return rows
end

local function registers(n, bits)
  return bits <= 32 and "v" .. n or ("v[%d:%d]"):format(n, n + bits // 32 - 1)
end

---The text of `op` on the registers of a batch; `extra` may name a mask that is written (`carry`),
---one that is read (`mask`), and `modifiers`.
function lanes.text(op, result, types, extra)
  local parts = { registers(0, widths_of(result)[1]) }
  parts[#parts + 1] = extra.carry
  for i, bits in ipairs(widths_of(types)) do
    parts[#parts + 1] = registers(4 * i, bits)
  end
  parts[#parts + 1] = extra.mask
  return op .. " " .. table.concat(parts, ", ") .. (extra.modifiers or "")
end

---A scalar register, or pair, that holds a mask of `wave` lanes.
function lanes.mask_register(n, wave)
  return wave == 64 and ("s[%d:%d]"):format(n, n + 1) or "s" .. n
end

---What scalar registers `s` have of lane `lane` (from 1) in the mask that begins at n: 0 or 1.
function lanes.bit(s, n, lane)
  return s[n + (lane - 1) // 32] >> (lane - 1) % 32 & 1
end

---Whether lane `lane` (from 1) is set in a 64-bit mask.
function lanes.is_set(mask, lane)
  return mask >> (lane - 1) & 1 == 1
end

---What luassert says at greater cost: there are many lanes.
function lanes.same(want, got)
  asserted.check(want == got, 2, "expected 0x%x, got 0x%x", want, got)
end

local Batch = {}
Batch.__index = Batch

---@param target string as of emulator.run
function lanes.batch(target)
  return setmetatable({
    target = target,
    wave = select(2, emulator.generation(target)),
    cases = {},
    results = {},
  }, Batch)
end

-- The rows of one source for the lanes after `from`.
local function fill(v, reg, bits, rows, from, wave, n)
  for part = 0, (bits - 1) // 32 do
    local row = {}
    for lane = 1, wave do
      local value = (rows[from + lane] or rows[1])[n]
      row[lane] = part < 2 and value >> 32 * part & 0xffffffff or 0
    end
    v[reg + part] = row
  end
end

-- Runs the cases added since the last time: busted reads a file one `describe` after the other.
-- What goes wrong for all of them is found out once.
function Batch:run()
  local first = #self.results + 1
  local cases = table.move(self.cases, first, #self.cases, 1, {})
  local succeeded, results = pcall(emulator.run, self.target, cases)
  self.failure = not succeeded and results or nil
  table.move(succeeded and results or {}, 1, #cases, first, self.results)
end

---Adds a case of emulator.run; the function that is returned gives its result.
function Batch:add(case)
  local index = #self.cases + 1
  self.cases[index] = case
  return function()
    if not emulator.program then
      pending("this build has no emulator") -- luacheck: ignore
    end
    if index > #self.results and not self.failure then
      self:run()
    end
    assert(not self.failure, self.failure)
    return self.results[index]
  end
end

---A test that calls visit(result, values, state, lane) for every row of values: what v0 (or
---v[0:1], as `result` says) holds, the values of the sources, and the result of the whole case.
---`options`: `s`, scalar registers; `exec`, the mask of lanes; `v`, further rows; `mode` and `vcc`.
function Batch:each(text, result, types, rows, options, visit)
  local widths, wide, wave = widths_of(types), widths_of(result)[1], self.wave
  local parts = {}
  for from = 0, #rows - 1, wave do
    local v = { [0] = lanes.OLD, lanes.OLD }
    for reg, row in pairs(options.v or {}) do
      v[reg] = row
    end
    for n, bits in ipairs(widths) do
      fill(v, 4 * n, bits, rows, from, wave, n)
    end
    parts[#parts + 1] = self:add({
      code = text,
      v = v,
      s = options.s,
      vcc = options.vcc,
      exec = options.exec,
      mode = options.mode,
    })
  end
  return function()
    for i, part in ipairs(parts) do
      local state, from = part(), (i - 1) * wave
      assert(not state.fault, state.fault)
      for lane = 1, math.min(wave, #rows - from) do
        local got = state.v[0][lane] | (wide == 64 and state.v[1][lane] << 32 or 0)
        visit(got, rows[from + lane], state, lane)
      end
    end
  end
end

local function show(values)
  return ("0x%x, 0x%x, 0x%x"):format(values[1], values[2], values[3])
end

---A test of instruction `op` against `expect(a, b, c)` on all combinations.  Types such as
---"b32 b64" give the widths; `modifiers` follow the operands.
function Batch:check(op, result, types, expect, modifiers)
  local bits, nsources = widths_of(result)[1], #widths_of(types)
  local mask = bits == 64 and -1 or (1 << bits) - 1
  local text = lanes.text(op, result, types, { modifiers = modifiers })
  return self:each(text, result, types, lanes.combinations(types), {}, function(got, values)
    local want = expect(table.unpack(values, 1, nsources)) & mask
    local same = got & mask == want
    asserted.check(same, 1, "%s on %s of %s is 0x%x, not 0x%x", text, self.target,
      same and "" or show(values), got & mask, want)
  end)
end

return lanes
