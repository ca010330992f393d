-- A plug-in whose kernel does not end.
-- luacheck: globals roc run
local spin = roc.kernel(function(samples)
  while samples[1] >= 0 do samples[2] = samples[2] + 1 end
end)

function run(samples)
  spin:forall(1)(samples)
end
