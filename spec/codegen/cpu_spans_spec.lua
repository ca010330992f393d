-- Checks of a loop's counter whose bounds are known where the loop begins alone: the CPU target
-- decides them there, and reports what each device does.
local roc = require "roc"
local devices = require "support.devices"

local function rows(ptr, col, val, x, o)
  local i = roc.get_global_id(1)
  if i > #o then return end
  local s = 0.0
  for j = ptr[i], ptr[i + 1] - 1 do s = s + val[j] * x[col[j]] end
  o[i] = s
end

-- Up to a place that lies outside, and down to one.
local function marks(first, last, a, o)
  local i = roc.get_global_id(1)
  if i > #first then return end
  for j = first[i], last[i] do
    o[i] = j
    if a[j + 1] == 7 then break end
    a[j] = i
  end
end

local function marks_down(first, last, a, o)
  local i = roc.get_global_id(1)
  if i > #first then return end
  for j = last[i], first[i], -2 do
    o[i] = j
    if a[j - 1] == 7 then break end
    a[j] = i
  end
end

describe("loops of an item on the cpu", function()
  for _, target in ipairs { "cpu:x86-64-v3", "cpu:x86-64-v4" } do
    it("have a version without checks of their counter: " .. target, function()
      local signature = "(int32[:], int32[:], float32[:], float32[:], float32[:])"
      local text = roc.kernel(rows, { signature = signature, number = "float32" })
        :inspect_asm(target)
      -- The loop without these checks, the loop with them, and that of groups that go slow.
      assert.equal(3, select(2, text:gsub("vfmadd231ss", "")))
    end)

    it("keep the values of a check only where it fails: " .. target, function()
      local signature = "(int32[:], int32[:], float32[:], float32[:], float32[:])"
      local text = roc.kernel(rows, { signature = signature }):inspect_llvm(target)
      assert.not_matches("store i64 poison", text, 1, true)
    end)
  end
end)

devices.each(function()
  local CASES = {
    { { 1, 5, 9 }, { 4, 8, 12 } },
    { { 3, 1, 9 }, { 2, 0, 8 } },
    { { 1, 5, 9 }, { 4, 8, 13 } },
    { { 0, 5, 9 }, { 4, 8, 12 } },
    { { 1, 5, 100 }, { 3, 20, 101 } },
    { { -3, math.mininteger, 9 }, { -4, math.mininteger + 1, 10 } },
    { { 9, math.maxinteger - 1, 2 }, { 12, math.maxinteger, 3 } },
  }

  for name, f in pairs { up = marks, down = marks_down } do
    it("end where an index is wrong, " .. name, function()
      local kernel = roc.kernel(f)
      for _, case in ipairs(CASES) do
        local function run()
          local first = roc.to_device(roc.array(case[1], "int64"))
          local last = roc.to_device(roc.array(case[2], "int64"))
          local a = roc.to_device(roc.zeros(13, "int32"))
          local o = roc.to_device(roc.zeros(3, "int64"))
          local ok, why = pcall(function()
            kernel:forall(3)(first, last, a, o)
            roc.current_device():synchronize()
          end)
          return { ok, not ok and tostring(why):match("index .*'a'"), a:copy_to_host():totable(),
            o:copy_to_host():totable() }
        end
        local got = run()
        local scope <close> = roc.on_device "sim" -- luacheck: ignore
        assert.same(run(), got)
      end
    end)
  end
end)
