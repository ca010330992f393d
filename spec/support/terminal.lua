-- A program on a pseudo-terminal, and what is typed there: each text only after the screen shows
-- what it answers, so that a loaded machine changes no result.
local files = require "support.files"
local shell = require "support.shell"

local LIMIT = 60 -- seconds for the screen to show a text, before the specs give up waiting for it

local terminal = {}

---Whether script(1) is there and has a pseudo-terminal.
---@return boolean
function terminal.available()
  return (select(2, files.run "script -qec true /dev/null"))
end

---Runs a program on a terminal without colours, with a folder of its own for its history.
---@param command string in which ROCLUA stands for the interpreter
---@param ... string[] {what the screen ends with, as an extended regular expression with \r left
---out; what is typed then}
---@return string screen all that was written to it
---@return string history of the prompt
function terminal.run(command, ...)
  local typed = {}
  for _, step in ipairs { ... } do
    local shown = step[1]:gsub("\n", "[[:space:]]") -- a newline would separate two expressions
    typed[#typed + 1] = ("shows '%s' && printf '%s'"):format(shown, step[2])
  end
  local output = shell.run(([[
    d=$(mktemp -d)
    touch $d/screen
    shows() {
      tries=%d
      until tr -d '\r' <$d/screen | tail -c 2000 | grep -qzE -e "$1\$"; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || return 1
        sleep 0.02
      done
    }
    { %s; } | TERM=dumb XDG_STATE_HOME=$d timeout -s KILL 100 script -qec '%s' /dev/null >$d/screen
    cat $d/screen
    echo '[history]'
    cat $d/roclua/history
    rm -r $d]]):format(LIMIT * 50, table.concat(typed, "\n"), command))
  return output:match "^(.*)%[history%]\n(.*)$"
end

return terminal
