-- Long fuzzing runs, by hand:  roclua spec/fuzz/run.lua [count [first seed [device …]]]
-- Compares each device with sim on random kernels; prints and shrinks every difference; exit status 1 when there was one.
package.path = "spec/support/?.lua;" .. package.path
local fuzz = require "fuzz"

local count, first = tonumber(arg[1] or "1000"), tonumber(arg[2] or "1")
local devices = { table.unpack(arg, 3) }
if #devices == 0 then
  devices = { "cpu" }
end

local failures, refused = 0, {}
for seed = first, first + count - 1 do
  local case = fuzz.generate(seed)
  local difference, refusal = fuzz.check(case, devices)
  if difference then
    failures = failures + 1
    print(difference)
    fuzz.shrink(case, devices)
    print(fuzz.check(case, devices))
    print(("grid %d, workgroup %d, check %s, n %s, x %s"):format(case.grid, case.workgroup, case.check, case.n, case.x))
    print(fuzz.text(case))
  elseif refusal then
    refused[#refused + 1] = refusal
  end
  if (seed - first + 1) % 1000 == 0 then
    print(("%d kernels, %d differ, %d refused"):format(seed - first + 1, failures, #refused))
  end
end
print(("%d kernels, %d differ, %d refused"):format(count, failures, #refused))
if refused[1] then
  print("a refusal: " .. refused[1])
end
os.exit(failures == 0 and 0 or 1, true)
