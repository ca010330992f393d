-- Long fuzzing runs, by hand:
--   roclua-spec spec/fuzz/run.lua [count [first seed [device …]]]
--     compares each device (cpu) with sim on random kernels
--   roclua-spec spec/fuzz/run.lua --divergent [count [first seed [device …]]]
--     likewise on small kernels whose items go different ways; ROCLUA_CPU_LANES=8 runs all of them
--     in vectors
--   roclua-spec spec/fuzz/run.lua --target [count [first seed [target …]]]
--     compiles them for targets (gfx90a, gfx1030)
--   roclua-spec spec/fuzz/run.lua --arrays [count [first seed [device]]]
--     compares programs of array expressions whose operations are computed at once, when they are
--     needed one by one, in one kernel, and (every eighth seed) in one as soon as its code is
--     there: with arrays of a device, or host arrays, on cpu.  512 seeds, from a multiple of 512
--     on, share what their programs are made of, and with it most kernels
-- Prints and shrinks every failure; exit status 1 when there was one. ROCLUA_WAVEFRONT=32 for the
-- other wavefront; ROCLUA_CACHE=off keeps thousands of kernels out of the disk cache. Array
-- programs want a cache, which their processes share (XDG_CACHE_HOME of its own,
-- ROCLUA_CACHE_MB=4000): kernels of single operations are the same in many programs.
package.path = "spec/?.lua;" .. package.path
local fuzz = require "support.fuzz"

io.stdout:setvbuf("line")

local options = { table.unpack(arg) }
if options[1] == "--arrays" then
  local arrays = require "support.fuzz.arrays"
  local count, first, failures = tonumber(options[2] or "1000"), tonumber(options[3] or "1"), 0
  local device, steps = options[4], 60
  local scope <close> = require "roc".on_device(device or "cpu") -- luacheck: ignore
  for seed = first, first + count - 1 do
    local works = { 0, math.maxinteger, seed % 8 == 0 and 1 or nil } -- 1: code comes later
    local ok, why, work = arrays.compare(seed, steps, works, device ~= nil)
    if not ok then
      failures = failures + 1
      print(why)
      print(arrays.shrink(seed, steps, work, device ~= nil))
    end
    if (seed - first + 1) % 1000 == 0 then
      print(("%d programs, %d differ"):format(seed - first + 1, failures))
    end
  end
  print(("%d programs, %d differ, %.1f a second"):format(count, failures, count / os.clock()))
  os.exit(failures == 0, true)
end
local only_compiles, is_divergent = options[1] == "--target", options[1] == "--divergent"
if only_compiles or is_divergent then
  table.remove(options, 1)
end
local count, first = tonumber(options[1] or "1000"), tonumber(options[2] or "1")
local names = { table.unpack(options, 3) }
if #names == 0 then
  names = only_compiles and { "gfx90a", "gfx1030" } or { "cpu" }
end
local check = only_compiles and fuzz.compile or fuzz.check
local shrink = only_compiles and fuzz.shrink_compile or fuzz.shrink

local function describe(case)
  print(("-- check %s, number %s"):format(case.is_checked, case.number))
  for _, l in ipairs(case.launches) do
    print(("-- grid {%s}, workgroup {%s}, n %s, x %s, flag %s"):format(table.concat(l.grid, ", "),
      table.concat(l.workgroup, ", "), l.n, l.x,
      l.flag))
  end
  local text, arrays = fuzz.text(case)
  for _, a in ipairs(arrays) do
    print(("-- %s: %s, rank %d, %s, %s"):format(a.name, a.dtype, a.rank or 1, a.layout or "dense",
      table.concat(a.extents or {}, " x ")))
  end
  print(text)
end

local failures, refused = 0, {}
for seed = first, first + count - 1 do
  local case = fuzz.generate(seed, is_divergent)
  local failure, refusal = check(case, names)
  if failure then
    failures = failures + 1
    print(failure)
    shrink(case, names)
    print("smaller: " .. tostring(check(case, names)))
    describe(case)
  elseif refusal then
    refused[#refused + 1] = ("seed %d: %s"):format(seed, refusal)
  end
  if (seed - first + 1) % 1000 == 0 then
    print(("%d kernels, %d fail, %d refused"):format(seed - first + 1, failures, #refused))
  end
end
print(("%d kernels, %d fail, %d refused, %.1f a second"):format(count, failures, #refused,
  count / os.clock()))
for i = 1, math.min(#refused, 10) do
  print("refused: " .. refused[i])
end
os.exit(failures == 0 and 0 or 1, true)
