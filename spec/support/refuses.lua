-- refuses(text, f, ...): the call must raise an error whose message holds the text.
return function(text, f, ...)
  local ok, err = pcall(f, ...)
  local message = tostring(err)
  if ok then error("an error was expected: " .. text, 2) end
  if not message:find(text, 1, true) then
    error(("%q does not contain %q"):format(message, text), 2)
  end
end
