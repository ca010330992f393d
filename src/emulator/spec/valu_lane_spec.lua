-- Instructions of the emulator that read and write single lanes, permute lanes of a row, and find
-- registers through M0.

local lanes = require("support.lanes")

local function numbered(base)
  local row = {}
  for lane = 1, 64 do
    row[lane] = base + lane - 1
  end
  return row
end

local function each_lane(wave, visit)
  for lane = 1, wave do
    visit(lane)
  end
end

for _, target in ipairs({ "gfx90a", "gfx1030", "gfx1030:wave64", "gfx1100", "gfx1201" }) do
  local batch = lanes.batch(target)
  local wave = batch.wave

  -- A test of one case: `look` gets its result.
  local function case(options, look)
    local result = batch:add(options)
    return function()
      local state = result()
      assert(not state.fault, state.fault)
      look(state)
    end
  end

  describe("a lane instruction of " .. target, function()
    for _, lane in ipairs({ 0, 1, 31, 32, 63, 64, 97, 0xffffffff }) do
      local seen = lane % wave
      it("reads lane " .. lane .. " whatever EXEC is", case({
        code = "v_readlane_b32 s10, v1, s20", s = { [20] = lane }, v = { numbered(100) }, exec = 0,
      }, function(state)
        lanes.same(100 + seen, state.s[10])
      end))
      it("writes lane " .. lane .. " whatever EXEC is", case({
        code = "v_writelane_b32 v1, 7, s20", s = { [20] = lane }, v = { numbered(100) }, exec = 0,
      }, function(state)
        each_lane(wave, function(n)
          lanes.same(n == seen + 1 and 7 or 99 + n, state.v[1][n])
        end)
      end))
      it("takes lane " .. lane .. " from M0", case({
        code = "v_readlane_b32 vcc_lo, v1, m0", m0 = lane, v = { numbered(100) },
      }, function(state)
        lanes.same(100 + seen, state.s[106])
      end))
    end

    it("takes a constant lane and a scalar value", case({
      code = "v_readlane_b32 s10, v1, 5\nv_writelane_b32 v1, s21, 6",
      s = { [21] = 77 },
      v = { numbered(100) },
    }, function(state)
      lanes.same(105, state.s[10])
      lanes.same(77, state.v[1][7])
    end))

    local FIRST = { [-1] = 0, [0x80] = 7, [0x80000000] = 31, [0] = 0, [-1 << 19] = 19 }
    for exec, first in pairs(FIRST) do
      it(("finds the first active lane of %x"):format(exec), case({
        code = "v_readfirstlane_b32 s10, v1", v = { numbered(100) }, exec = exec,
      }, function(state)
        lanes.same(100 + first, state.s[10])
      end))
    end

    if target ~= "gfx90a" then
      local low, high = 0x76543210 ~ 0x3, 0x0fedcba9
      local function selected(lane)
        return (low | high << 32) >> 4 * ((lane - 1) % 16) & 15
      end
      local EXEC = 0xfffefffdfff7ffff & 0xffff0fffffffffff
      for name, across in pairs({ v_permlane16_b32 = 0, v_permlanex16_b32 = 16 }) do
        for modifiers, inactive in pairs({
          [""] = "old",
          [" op_sel:[1,0]"] = "read",
          [" op_sel:[0,1]"] = 0,
          [" op_sel:[1,1]"] = "read",
        }) do
          it(("selects lanes of a row by %s%s"):format(name, modifiers), case({
            code = name .. " v0, v1, s10, s11" .. modifiers, exec = EXEC,
            s = { [10] = low, [11] = high }, v = { [0] = 5, numbered(100) },
          }, function(state)
            each_lane(wave, function(lane)
              local from = ((lane - 1) // 16 * 16 ~ across) + selected(lane)
              local want = 100 + from
              if not lanes.is_set(EXEC, from + 1) and inactive ~= "read" then
                want = inactive == "old" and 5 or inactive
              end
              if not lanes.is_set(EXEC, lane) then
                want = 5
              end
              lanes.same(want, state.v[0][lane])
            end)
          end))
        end
      end

      local ROWS = { [0] = 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 }
      -- What changes of the registers, each of which begins as 10 more than its number.
      for _, row in ipairs({
        { "v_movreld_b32 v1, v2", 3, { [4] = 12 } },
        { "v_movreld_b32 v1, 77", 3, { [4] = 77 } },
        { "v_movrels_b32 v1, v2", 3, { [1] = 15 } },
        { "v_movrelsd_b32 v1, v2", 3, { [4] = 15 } },
        { "v_movrelsd_2_b32 v1, v2", 0x50002, { [6] = 14 } },
        { "v_swaprel_b32 v1, v2", 0x50002, { [6] = 14, [4] = 16 } },
      }) do
        local code, m0, change = row[1], row[2], row[3]
        it(("finds registers through M0: %s, 0x%x"):format(code, m0), case({
          code = code, m0 = m0, v = ROWS, exec = 0xff,
        }, function(state)
          for reg, old in pairs(ROWS) do
            each_lane(wave, function(lane)
              local want = lane <= 8 and change[reg] or old
              lanes.same(want, state.v[reg][lane])
            end)
          end
        end))
      end
    end

    if target == "gfx90a" then
      local ROWS = { [0] = 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 }
      local OFF = "\ns_set_gpr_idx_off\nv_mov_b32 v9, v1"
      -- The registers that change, v9 beside them: it is v1 once the mode is off.
      for code, change in pairs({
        ["s_set_gpr_idx_on s20, gpr_idx(SRC0)\nv_mov_b32 v1, v2"] = { [1] = 15, [9] = 15 },
        ["s_set_gpr_idx_on s20, gpr_idx(DST)\nv_mov_b32 v1, v2"] = { [4] = 12, [9] = 11 },
        ["s_set_gpr_idx_on s20, gpr_idx(SRC0,SRC1,DST)\nv_add_u32 v1, v2, v3"] =
          { [4] = 15 + 16, [9] = 11 },
        ["s_set_gpr_idx_on 2, gpr_idx(SRC1)\ns_set_gpr_idx_idx s20\nv_add_u32 v1, v2, v3"] =
          { [1] = 12 + 16, [9] = 12 + 16 },
        ["s_set_gpr_idx_on s20, gpr_idx(SRC1)\ns_set_gpr_idx_mode gpr_idx(DST)\nv_mov_b32 v1, 7"] =
          { [4] = 7, [9] = 11 },
      }) do
        it("indexes registers in gfx9's mode: " .. code:gsub("\n", "; "), case({
          code = code .. OFF, s = { [20] = 3 }, v = ROWS, exec = 0xff,
        }, function(state)
          for reg, old in pairs(ROWS) do
            each_lane(wave, function(lane)
              lanes.same(lane <= 8 and change[reg] or old, state.v[reg][lane])
            end)
          end
        end))
      end
    end
  end)
end
