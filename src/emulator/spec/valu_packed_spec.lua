-- Packed instructions of the emulator, those that mix halves with floats, and dot products.

local asserted = require("support.asserted")
local emulator = require("support.emulator")
local exact = require("support.exact")
local lanes = require("support.lanes")
local real = require("support.real")

local f16, f32 = exact.f16, exact.f32

local function s16(x) return lanes.signed(x, 16) end
local function same(x) return x end
local function least(a, b) return math.min(a, b) end
local function greatest(a, b) return math.max(a, b) end

-- Each half of an integer instruction, from signed or unsigned halves; `range` for clamping.
local INTEGERS = {
  add_i16 = { s16, function(a, b) return a + b end, { -32768, 32767 } },
  sub_i16 = { s16, function(a, b) return a - b end, { -32768, 32767 } },
  mad_i16 = { s16, function(a, b, c) return a * b + c end, { -32768, 32767 }, 3 },
  min_i16 = { s16, least },
  max_i16 = { s16, greatest },
  ashrrev_i16 = { s16, function(a, b) return b // (1 << (a & 15)) end },
  add_u16 = { same, function(a, b) return a + b end, { 0, 65535 } },
  sub_u16 = { same, function(a, b) return a - b end, { 0, 65535 } },
  mad_u16 = { same, function(a, b, c) return a * b + c end, { 0, 65535 }, 3 },
  min_u16 = { same, least },
  max_u16 = { same, greatest },
  mul_lo_u16 = { same, function(a, b) return a * b end },
  lshlrev_b16 = { same, function(a, b) return b << (a & 15) end },
  lshrrev_b16 = { same, function(a, b) return b >> (a & 15) end },
}

local HALVES = {
  add = { 2, function(a, b) return exact.add(f16, a, b) end },
  mul = { 2, function(a, b) return exact.mul(f16, a, b) end },
  fma = { 3, function(a, b, c) return exact.fma(f16, a, b, c) end },
}

local FLOATS = {
  add = { 2, function(a, b) return exact.add(f32, a, b) end },
  mul = { 2, function(a, b) return exact.mul(f32, a, b) end },
  fma = { 3, function(a, b, c) return exact.fma(f32, a, b, c) end },
}

-- Modifiers to try: the text, and for each of op_sel, op_sel_hi, neg_lo, neg_hi a bit per source.
local SELECTIONS = {
  { "", 0, 7, 0, 0 },
  { " op_sel:[1,0%s] op_sel_hi:[0,1%s]", 1, 2, 0, 0 },
  { " op_sel:[0,1%s] op_sel_hi:[1,0%s]", 2, 1, 0, 0 },
  { " op_sel_hi:[0,0%s]", 0, 0, 0, 0 },
  { " neg_lo:[1,0%s] neg_hi:[0,1%s]", 0, 7, 1, 2 },
  { " op_sel:[1,1%s] neg_lo:[1,1%s] neg_hi:[1,0%s]", 3, 7, 3, 1 },
}

-- What a selection makes of the sources for the low (0) or high (1) part; parts are `bits` wide.
local function pick(selection, values, part, bits)
  local picked, mask = {}, (1 << bits) - 1
  for n = 1, 3 do
    local upper = selection[2 + part] >> (n - 1) & 1
    local negated = selection[4 + part] >> (n - 1) & 1
    picked[n] = (values[n] >> bits * upper & mask) ~ negated << (bits - 1)
  end
  return table.unpack(picked)
end

local function modifiers_of(selection, nsources)
  return (selection[1]:gsub("%%s", nsources == 3 and ",0" or ""))
end

-- Rows of three words made of two numbers of a format each.
local function packed_rows(fmt)
  local rows, list = exact.rows(fmt, 2, 300), {}
  for i = 1, #rows, 9 do
    local row, other, words = rows[i], rows[(i * 7919) % #rows + 1], {}
    for n = 1, 3 do words[n] = row[n] | other[n] << fmt.bits end
    list[#list + 1] = words
  end
  return list
end

for _, target in ipairs({ "gfx90a", "gfx1030", "gfx1100", "gfx1201" }) do
  describe("packed arithmetic of " .. target, function()
    local batch = lanes.batch(target)

    local function add(op, type, nsources, modifiers, rows, define)
      local types = (type .. " "):rep(nsources)
      local text = lanes.text(op, type, types, { modifiers = modifiers })
      it("computes " .. text, batch:each(text, type, types, rows, {}, function(got, values)
        local want = define(values)
        asserted.check(want == got, 1, "%s of 0x%x, 0x%x, 0x%x is 0x%x, not 0x%x", text, values[1],
          values[2], values[3], got, want)
      end))
    end

    local function add_numbers(stem, fmt, entry, rows)
      for _, selection in ipairs(SELECTIONS) do
        local nsources, define = entry[1], entry[2]
        local type = "b" .. 2 * fmt.bits
        local modifiers = modifiers_of(selection, nsources)
        add(("v_pk_%s_%s"):format(stem, fmt.name), type, nsources, modifiers, rows,
          function(values)
            -- with three sources a shorter op_sel_hi says 0 of the third, as the text does
            local chosen = selection
            if nsources == 3 and selection[1]:find("op_sel_hi") then
              chosen = { "", selection[2], selection[3] & 3, selection[4], selection[5] }
            end
            return define(pick(chosen, values, 0, fmt.bits)) |
              define(pick(chosen, values, 1, fmt.bits)) << fmt.bits
          end)
      end
    end

    local words, generation = packed_rows(f16), emulator.generation(target)
    HALVES.min = { 2, real.least(f16, generation) }
    HALVES.max = { 2, real.greatest(f16, generation) }
    if generation == 12 then
      for stem, define in pairs({ minimum = HALVES.min[2], maximum = HALVES.max[2] }) do
        add_numbers(stem, f16, { 2, function(a, b)
          if exact.is_signaling(f16, b) and not exact.is_signaling(f16, a) then a, b = b, a end
          return exact.nan_of(f16, a, b) or define(a, b)
        end }, words)
      end
    end
    for stem, entry in pairs(HALVES) do add_numbers(stem, f16, entry, words) end
    add("v_pk_fmac_f16", "b32", 2, "", words, function(values)
      local want = 0
      for part = 0, 1 do
        local a, b = values[1] >> 16 * part & 0xffff, values[2] >> 16 * part & 0xffff
        want = want | exact.fma(f16, a, b, real.OLD32 >> 16 * part & 0xffff) << 16 * part
      end
      return want
    end)

    for name, entry in pairs(INTEGERS) do
      local take, define, range, nsources = entry[1], entry[2], entry[3], entry[4] or 2
      local function whole(selection, is_clamped)
        return function(values)
          local word = 0
          for part = 0, 1 do
            local a, b, c = pick(selection, values, part, 16)
            local x = define(take(a), take(b), nsources == 3 and take(c) or nil)
            if is_clamped then x = math.max(range[1], math.min(range[2], x)) end
            word = word | (x & 0xffff) << 16 * part
          end
          return word
        end
      end
      local rows = lanes.combinations(("b32 "):rep(nsources))
      add("v_pk_" .. name, "b32", nsources, "", rows, whole(SELECTIONS[1]))
      local swapped = SELECTIONS[2]
      add("v_pk_" .. name, "b32", nsources, modifiers_of(swapped, nsources), rows, whole(swapped))
      if range then
        add("v_pk_" .. name, "b32", nsources, " clamp", rows, whole(SELECTIONS[1], true))
      end
    end

    if target == "gfx90a" then
      local pairs_of_floats = packed_rows(f32)
      for stem, entry in pairs(FLOATS) do add_numbers(stem, f32, entry, pairs_of_floats) end
      for modifiers, parts in pairs({ [""] = { 0, 0 }, [" op_sel:[1,0]"] = { 32, 0 },
        [" op_sel:[0,1]"] = { 0, 32 }, [" op_sel:[1,1]"] = { 32, 32 } }) do
        add("v_pk_mov_b32", "b64", 2, modifiers, pairs_of_floats, function(values)
          local low, high = values[1] >> parts[1] & 0xffffffff, values[2] >> parts[2] & 0xffffffff
          return low | high << 32
        end)
      end
      local PAIR = { { 0x400000003f800000, 0, 0 }, { 0x3f80000040000000, 0, 0 } }
      it("leaves inactive lanes of pairs alone", batch:each(
        "v_pk_mul_f32 v[4:5], v[4:5], s[12:13] op_sel_hi:[1,0]", "b64", "b64", PAIR,
        { exec = 1, s = { [12] = 0x40400000 } }, function(_, values, state, lane)
          local want = lane == 1 and 0x40c0000040400000 or values[1]
          lanes.same(want, state.v[4][lane] | state.v[5][lane] << 32)
        end))
      it("reads both parts before it writes one", batch:each(
        "v_pk_add_f32 v[4:5], v[4:5], v[4:5] op_sel:[1,1] op_sel_hi:[0,0]", "b64", "b64", PAIR, {},
        function(_, values, state, lane)
          local twice = 0x0080000000800000 -- exponents one more
          local swapped = values[1] >> 32 | (values[1] & 0xffffffff) << 32
          lanes.same(swapped + twice, state.v[4][lane] | state.v[5][lane] << 32)
        end))
    end

    -- op_sel_hi says which sources are halves, op_sel which half
    local function mixed(x, is_half, shift)
      return is_half and exact.convert(f16, f32, x >> shift & 0xffff) or x & 0xffffffff
    end
    local rows = exact.rows(f32, 3)
    for i, word in ipairs(words) do rows[#rows + 1] = { word[1], word[2], rows[i][1] } end
    local function mix(values)
      local a = mixed(values[1], true, 16) ~ 0x80000000
      local b = mixed(values[2], true, 0) & 0x7fffffff
      return exact.fma(f32, a, b, mixed(values[3], false))
    end
    local MIXING = " -v4, |v8|, v12 op_sel:[1,0,0] op_sel_hi:[1,1,0]"
    for op, place in pairs({
      v_fma_mix_f32 = function(x) return x end,
      v_fma_mixlo_f16 = function(x)
        return real.OLD32 & 0xffff0000 | exact.convert(f32, f16, x)
      end,
      v_fma_mixhi_f16 = function(x)
        return exact.convert(f32, f16, x) << 16 | real.OLD32 & 0xffff
      end,
    }) do
      it("mixes halves and floats by " .. op, batch:each(op .. " v0," .. MIXING, "b32",
        "b32 b32 b32", rows, {}, function(got, values)
          lanes.same(place(mix(values)), got)
        end))
      it("takes floats alone by " .. op, batch:each(op .. " v0, v4, v8, v12", "b32", "b32 b32 b32",
        rows, {}, function(got, values)
          lanes.same(place(exact.fma(f32, values[1], values[2], values[3])), got)
        end))
    end

    if generation < 11 then
      add("v_dot4c_i32_i8", "b32", 2, "", lanes.combinations("b32 b32"), function(values)
        local sum = lanes.OLD
        for n = 0, 24, 8 do
          sum = sum + lanes.signed(values[1] >> n, 8) * lanes.signed(values[2] >> n, 8)
        end
        return sum & 0xffffffff
      end)
    end

    for op, entry in pairs({
      v_dot2_i32_i16 = { 16, true }, v_dot2_u32_u16 = { 16, false }, v_dot4_i32_i8 = { 8, true },
      v_dot4_u32_u8 = { 8, false }, v_dot8_i32_i4 = { 4, true }, v_dot8_u32_u4 = { 4, false },
    }) do
      local bits, is_signed = entry[1], entry[2]
      if generation > 10 and (is_signed or bits == 16) then goto continue end -- it has none
      local take = is_signed and lanes.signed or function(x, n) return x & ((1 << n) - 1) end
      for _, modifiers in ipairs({ "", " clamp" }) do
        add(op, "b32", 3, modifiers, lanes.combinations("b32 b32 b32"), function(values)
          local sum = take(values[3], 32)
          for n = 0, 32 // bits - 1 do
            sum = sum + take(values[1] >> bits * n, bits) * take(values[2] >> bits * n, bits)
          end
          if modifiers ~= "" then
            local low, high = is_signed and -0x80000000 or 0, is_signed and 0x7fffffff or 0xffffffff
            sum = math.max(low, math.min(high, sum))
          end
          return sum & 0xffffffff
        end)
      end
      ::continue::
    end
  end)
end
