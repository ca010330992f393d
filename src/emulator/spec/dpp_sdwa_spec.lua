-- What encodings of the emulator add to an operation: DPP's permutations of lanes, SDWA's parts of
-- registers, sign modifiers.

local emulator = require("support.emulator")
local lanes = require("support.lanes")

local M = 0xffffffff

-- The lane (from 0) that each pattern reads, or nil where there is none.
local function in_row(shift)
  return function(lane)
    local column = lane % 16 + shift
    return column >= 0 and column < 16 and lane + shift or nil
  end
end

local EVERYWHERE = {
  ["quad_perm:[3,1,0,2]"] = function(lane)
    return lane - lane % 4 + ({ 3, 1, 0, 2 })[lane % 4 + 1]
  end,
  ["quad_perm:[2,2,2,2]"] = function(lane) return lane // 4 * 4 + 2 end,
  ["row_shl:1"] = in_row(1),
  ["row_shl:15"] = in_row(15),
  ["row_shr:1"] = in_row(-1),
  ["row_shr:4"] = in_row(-4),
  ["row_ror:3"] = function(lane) return lane // 16 * 16 + (lane % 16 + 13) % 16 end,
  ["row_mirror"] = function(lane) return lane // 16 * 16 + 15 - lane % 16 end,
  ["row_half_mirror"] = function(lane) return lane // 8 * 8 + 7 - lane % 8 end,
}

local PATTERNS = {
  gfx9 = {
    ["wave_shl:1"] = function(lane) return lane < 63 and lane + 1 or nil end,
    ["wave_rol:1"] = function(lane) return (lane + 1) % 64 end,
    ["wave_shr:1"] = function(lane) return lane > 0 and lane - 1 or nil end,
    ["wave_ror:1"] = function(lane) return (lane + 63) % 64 end,
    ["row_bcast:15"] = function(lane) return lane >= 16 and lane // 16 * 16 - 1 or nil end,
    ["row_bcast:31"] = function(lane) return lane >= 32 and 31 or nil end,
    ["row_newbcast:6"] = function(lane) return lane // 16 * 16 + 6 end,
  },
  later = {
    ["row_share:6"] = function(lane) return lane // 16 * 16 + 6 end,
    ["row_xmask:5"] = function(lane) return lane // 16 * 16 + (lane % 16 ~ 5) end,
  },
}

local EXECS = { -1, 0x7bfffffeffff7ff3 }

local function numbered(base)
  local row = {}
  for lane = 1, 64 do
    row[lane] = base + lane - 1
  end
  return row
end

-- A test of one instruction whose v0 is v4 (its lanes numbered from 1000) moved or combined.
local function test_lanes(batch, code, exec, want)
  local result = batch:add({
    code = code, exec = exec, v = { [0] = lanes.OLD, [4] = numbered(1000), [8] = numbered(5) },
  })
  return function()
    local state = result()
    assert(not state.fault, state.fault)
    for lane = 0, batch.wave - 1 do
      local expected = lanes.is_set(exec, lane + 1) and want(lane) or lanes.OLD
      lanes.same(expected, state.v[0][lane + 1])
    end
  end
end

for _, target in ipairs({ "gfx90a", "gfx1030", "gfx1030:wave64", "gfx1100", "gfx1201" }) do
  local batch, generation = lanes.batch(target), emulator.generation(target)
  local is_gfx9 = generation == 9
  local add = is_gfx9 and "v_add_u32" or "v_add_nc_u32"

  describe("DPP on " .. target, function()
    local function add_pattern(pattern, from)
      for _, exec in ipairs(EXECS) do
        -- Inactive lanes are no sources.
        local function source(lane)
          local n = from(lane)
          return n and lanes.is_set(exec, n + 1) and n or nil
        end
        local where = (" where EXEC is %x"):format(exec)
        it("keeps lanes without a source: " .. pattern .. where,
          test_lanes(batch, "v_mov_b32_dpp v0, v4 " .. pattern .. " row_mask:0xf bank_mask:0xf",
            exec, function(lane)
              return source(lane) and 1000 + source(lane) or lanes.OLD
            end))
        it("reads 0 without a source under bound_ctrl: " .. pattern .. where,
          test_lanes(batch,
            "v_mov_b32_dpp v0, v4 " .. pattern .. " row_mask:0xf bank_mask:0xf bound_ctrl:1", exec,
            function(lane)
              return source(lane) and 1000 + source(lane) or 0
            end))
        it("writes only rows and banks of the masks: " .. pattern .. where,
          test_lanes(batch,
            add .. "_dpp v0, v4, v8 " .. pattern .. " row_mask:0xa bank_mask:0x6 bound_ctrl:1",
            exec, function(lane)
              local row, bank = lane // 16, lane % 16 // 4
              local is_written = (row == 1 or row == 3) and (bank == 1 or bank == 2)
              return is_written and (source(lane) and 1000 + source(lane) or 0) + 5 + lane
                or lanes.OLD
            end))
      end
    end
    for pattern, from in pairs(EVERYWHERE) do
      add_pattern(pattern, from)
    end
    for pattern, from in pairs(is_gfx9 and PATTERNS.gfx9 or PATTERNS.later) do
      add_pattern(pattern, from)
    end

    if not is_gfx9 then
      local exec = EXECS[2]
      it("reads inactive lanes under fi",
        test_lanes(batch, "v_mov_b32_dpp v0, v4 row_shr:1 row_mask:0xf bank_mask:0xf fi:1", exec,
          function(lane)
            return lane % 16 > 0 and 999 + lane or lanes.OLD
          end))
      local choice = { 7, 0, 6, 1, 5, 2, 4, 3 }
      for suffix, zeroes in pairs({ [""] = true, [" fi:1"] = false }) do
        it("chooses among eight lanes by dpp8" .. suffix,
          test_lanes(batch, "v_mov_b32_dpp v0, v4 dpp8:[7,0,6,1,5,2,4,3]" .. suffix, exec,
            function(lane)
              local from = lane // 8 * 8 + choice[lane % 8 + 1]
              return zeroes and not lanes.is_set(exec, from + 1) and 0 or 1000 + from
            end))
      end
    end

    local vcc = batch.wave == 64 and "vcc" or "vcc_lo"
    local carrying = is_gfx9 and "v_addc_co_u32" or "v_add_co_ci_u32"
    local result = batch:add({
      code = ("%s_dpp v0, %s, v4, v8, %s row_shr:1 row_mask:0xf bank_mask:0xf"):format(carrying,
        vcc, vcc),
      vcc = -1,
      v = { [0] = lanes.OLD, [4] = M, [8] = 0 },
    })
    it("has no carry in a lane it does not write", function()
      local state = result()
      for lane = 0, batch.wave - 1 do
        local is_written = lane % 16 > 0
        lanes.same(is_written and 1 or 0, lanes.bit(state.s, 106, lane + 1))
        lanes.same(is_written and 0 or lanes.OLD, state.v[0][lane + 1])
      end
    end)
  end)

  local SHIFT = { BYTE_0 = 0, BYTE_1 = 8, BYTE_2 = 16, BYTE_3 = 24, WORD_0 = 0, WORD_1 = 16 }
  SHIFT.DWORD = 0
  local SELECTIONS = { "DWORD", "BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1" }

  local function width_of(selection)
    return selection == "DWORD" and 32 or selection:find("BYTE") and 8 or 16
  end

  local function part(x, selection, is_signed)
    local bits = width_of(selection)
    x = x >> SHIFT[selection] & ((1 << bits) - 1)
    return is_signed and lanes.signed(x, bits) or x
  end

  -- What a register that held `old` holds after `result` was put into a part of it.
  local function inserted(result, old, selection, unused)
    local bits, shift = width_of(selection), SHIFT[selection]
    local inside = (1 << bits) - 1 << shift
    local placed = result << shift & inside
    if unused == "UNUSED_PRESERVE" then
      return placed | old & ~inside & M
    elseif unused == "UNUSED_SEXT" then
      return lanes.signed(result, bits) << shift & M
    end
    return placed
  end

  describe("SDWA on " .. target, function()
    if generation > 10 then return end -- gone
    local types = "b32 b32"
    local rows = lanes.combinations(types)
    for i, selection in ipairs(SELECTIONS) do
      local other = SELECTIONS[(i + 2) % #SELECTIONS + 1]
      for _, is_signed in ipairs({ false, true }) do
        local first = is_signed and "sext(v4)" or "v4"
        local text = ("%s_sdwa v0, %s, v8 dst_sel:DWORD dst_unused:UNUSED_PAD"):format(add, first)
          .. (" src0_sel:%s src1_sel:%s"):format(selection, other)
        it(("reads %s, signed: %s, and %s"):format(selection, is_signed, other),
          batch:each(text, "b32", types, rows, {}, function(got, values)
            local want = part(values[1], selection, is_signed) + part(values[2], other)
            lanes.same(want & M, got)
          end))
      end
      for _, unused in ipairs({ "UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE" }) do
        local text = ("v_xor_b32_sdwa v0, v4, v8 dst_sel:%s dst_unused:%s"):format(selection,
          unused)
          .. " src0_sel:DWORD src1_sel:DWORD"
        for _, exec in ipairs(EXECS) do
          it(("writes %s with %s where EXEC is %x"):format(selection, unused, exec),
            batch:each(text, "b32", types, rows, { exec = exec }, function(got, values, _, lane)
              local want = inserted(values[1] ~ values[2], lanes.OLD, selection, unused)
              lanes.same(lanes.is_set(exec, lane) and want or lanes.OLD, got)
            end))
        end
      end
    end

    it("compares parts of registers",
      batch:each(("v_cmp_lt_i32_sdwa %s, sext(v4), v8 src0_sel:BYTE_2 src1_sel:WORD_1"):format(
        lanes.mask_register(10, batch.wave)), "b32", types, rows, {},
        function(_, values, state, lane)
          local want = part(values[1], "BYTE_2", true) < part(values[2], "WORD_1")
          lanes.same(want and 1 or 0, lanes.bit(state.s, 10, lane))
        end))

    if is_gfx9 then
      it("puts a 16-bit result into a half, or clears the upper one",
        batch:each("v_add_u16_sdwa v0, v4, v8 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE" ..
          " src0_sel:WORD_1 src1_sel:WORD_0\n" ..
          "v_add_u16_sdwa v1, v4, v8 dst_sel:DWORD dst_unused:UNUSED_PAD" ..
          " src0_sel:BYTE_3 src1_sel:WORD_1", "b32", types, rows, {},
          function(got, values, state, lane)
            local a, b = values[1], values[2]
            lanes.same(((a >> 16) + b & 0xffff) << 16 | lanes.OLD & 0xffff, got)
            lanes.same((a >> 24) + (b >> 16) & 0xffff, state.v[1][lane])
          end))
    end
  end)

  describe("a sign modifier on " .. target, function()
    local into = lanes.mask_register(12, batch.wave)
    for modifier, define in pairs({
      ["-v4"] = function(x) return x ~ 0x80000000 end,
      ["|v4|"] = function(x) return x & 0x7fffffff end,
      ["-|v4|"] = function(x) return x | 0x80000000 end,
    }) do
      it("changes the top bit of 32: " .. modifier,
        batch:each(("v_cndmask_b32_e64 v0, %s, v8, %s"):format(modifier, into), "b32", "b32",
          lanes.combinations("b32"), { s = { [12] = 0, [13] = 0 } }, function(got, values)
            lanes.same(define(values[1]), got)
          end))
    end
  end)
end
