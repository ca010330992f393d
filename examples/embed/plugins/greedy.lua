-- A plug-in that takes more memory than it has.
-- luacheck: globals roc run
function run()
  local texts = {}
  while true do texts[#texts + 1] = string.rep("x", 100000) .. #texts end
end
