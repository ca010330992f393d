-- A plug-in that does its work.
-- luacheck: globals roc run
local brighten = roc.kernel(function(samples, factor)
  local i = roc.get_global_id(1)
  samples[i] = samples[i] * factor
end)

function run(samples)
  brighten:forall(#samples)(samples, 1.5)
end
