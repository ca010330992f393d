-- Integer comparisons of the emulator: v_cmp and v_cmpx of every type and relation.

local emulator = require("support.emulator")
local lanes = require("support.lanes")

local RELATIONS = {
  lt = function(a, b) return a < b end,
  eq = function(a, b) return a == b end,
  le = function(a, b) return a <= b end,
  gt = function(a, b) return a > b end,
  ne = function(a, b) return a ~= b end,
  ge = function(a, b) return a >= b end,
}

-- Lua compares 64-bit integers as signed ones: flipping the top bit makes that unsigned.
local function as_compared(x, sign, bits)
  if bits == 64 then
    return sign == "u" and x ~ math.mininteger or x
  end
  return sign == "i" and lanes.signed(x, bits) or x
end

local VCC, EXEC = 106, 126
local PARTIAL = 0x0fffdeadbee70001
local FULL = { [10] = 0xffffffff, [11] = 0xffffffff }

for _, target in ipairs({ "gfx90a", "gfx1030", "gfx1030:wave64", "gfx1100", "gfx1201" }) do
  local batch, generation = lanes.batch(target), emulator.generation(target)
  local wave, is_gfx9 = batch.wave, generation == 9
  local out = lanes.mask_register(10, wave)
  local all = wave == 64 and -1 or 0xffffffff

  describe("an integer comparison of " .. target, function()
    local function add(name, bits, define)
      local types = ("b%d b%d"):format(bits, bits)
      local rows = lanes.combinations(types)
      local sources = bits == 64 and "v[4:5], v[8:9]" or "v4, v8"
      for _, exec in ipairs({ -1, PARTIAL, 0 }) do
        local function want(values, lane)
          return lanes.is_set(exec & all, lane) and define(values[1], values[2]) and 1 or 0
        end
        it(("computes v_cmp_%s where EXEC is %x"):format(name, exec),
          batch:each(("v_cmp_%s_e64 %s, %s"):format(name, out, sources), "b32", types, rows,
            { exec = exec, s = FULL }, function(_, values, state, lane)
              lanes.same(want(values, lane), lanes.bit(state.s, 10, lane))
              lanes.same(exec & all, state.exec & all)
            end))
        local dst = is_gfx9 and out .. ", " or ""
        it(("sets EXEC by v_cmpx_%s where it was %x"):format(name, exec),
          batch:each(("v_cmpx_%s_e64 %s%s"):format(name, dst, sources), "b32", types, rows,
            { exec = exec, s = FULL }, function(_, values, state, lane)
              lanes.same(want(values, lane), lanes.bit(state.s, EXEC, lane))
              lanes.same(is_gfx9 and want(values, lane) or 1, lanes.bit(state.s, 10, lane))
            end))
      end
      it(("puts v_cmp_%s into VCC"):format(name),
        batch:each(("v_cmp_%s_e32 vcc%s, %s"):format(name, wave == 32 and "_lo" or "", sources),
          "b32", types, rows, {}, function(_, values, state, lane)
            lanes.same(define(values[1], values[2]) and 1 or 0, lanes.bit(state.s, VCC, lane))
          end))
    end

    for _, bits in ipairs({ 16, 32, 64 }) do
      for _, sign in ipairs({ "i", "u" }) do
        for _, relation in ipairs({ "lt", "eq", "le", "gt", "ne", "ge" }) do
          add(("%s_%s%d"):format(relation, sign, bits), bits, function(a, b)
            return RELATIONS[relation](as_compared(a, sign, bits), as_compared(b, sign, bits))
          end)
        end
        if is_gfx9 or bits > 16 and generation < 12 then
          add(("f_%s%d"):format(sign, bits), bits, function() return false end)
          add(("t_%s%d"):format(sign, bits), bits, function() return true end)
        end
      end
    end
  end)
end
