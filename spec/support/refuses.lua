-- refuses(text, f, ...): the call must raise an error whose message holds the text.
local check = require("support.asserted").check

return function(text, f, ...)
  local ok, err = pcall(f, ...)
  local message = tostring(err)
  check(not ok, 2, "an error was expected: %s", text)
  check(message:find(text, 1, true), 2, "%q does not contain %q", message, text)
end
