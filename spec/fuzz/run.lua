-- Long fuzzing runs, by hand:  roclua spec/fuzz/run.lua [count [first seed [device …]]]
-- Compares each device with sim on random kernels; prints and shrinks every difference; exit status 1 when there was one.
package.path = "spec/?.lua;" .. package.path
local fuzz = require "support.fuzz"

local count, first = tonumber(arg[1] or "1000"), tonumber(arg[2] or "1")
local devices = { table.unpack(arg, 3) }
if #devices == 0 then
  devices = { "cpu" }
end

local function describe(case)
  print(("-- check %s, number %s"):format(case.is_checked, case.number))
  for _, l in ipairs(case.launches) do
    print(("-- grid {%s}, workgroup {%s}, n %s, x %s, flag %s"):format(table.concat(l.grid, ", "), table.concat(l.workgroup, ", "), l.n, l.x,
      l.flag))
  end
  local text, arrays = fuzz.text(case)
  for _, a in ipairs(arrays) do
    print(("-- %s: %s, rank %d, %s, %s"):format(a.name, a.dtype, a.rank or 1, a.layout or "dense", table.concat(a.extents or {}, " x ")))
  end
  print(text)
end

local failures, refused = 0, {}
for seed = first, first + count - 1 do
  local case = fuzz.generate(seed)
  local difference, refusal = fuzz.check(case, devices)
  if difference then
    failures = failures + 1
    print(difference)
    fuzz.shrink(case, devices)
    print("smaller: " .. tostring(fuzz.check(case, devices)))
    describe(case)
  elseif refusal then
    refused[#refused + 1] = ("seed %d: %s"):format(seed, refusal)
  end
  if (seed - first + 1) % 1000 == 0 then
    print(("%d kernels, %d differ, %d refused"):format(seed - first + 1, failures, #refused))
  end
end
print(("%d kernels, %d differ, %d refused, %.1f a second"):format(count, failures, #refused, count / os.clock()))
for i = 1, math.min(#refused, 10) do
  print("refused: " .. refused[i])
end
os.exit(failures == 0 and 0 or 1, true)
