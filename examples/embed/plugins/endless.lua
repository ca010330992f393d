-- A plug-in that does not return, and catches what is meant to end it.
-- luacheck: globals roc run
function run()
  while true do
    pcall(function()
      while true do end
    end)
  end
end
