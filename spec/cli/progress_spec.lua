-- The line on a terminal that says how far long work is, and Ctrl-C in the reading and writing of
-- files.
local shell = require "support.shell"
local terminal = require "support.terminal"

-- Runs a script on a terminal that can take lines away, in a folder of its own with the file x.npy
-- and the pipe p, beside the shell commands `meanwhile`; `screen` is the file of what it writes.
local function run(script, meanwhile)
  return shell.run(([[
    d=$(mktemp -d)
    cd $d && mkfifo p && touch screen
    ROCLUA -e 'local roc = require "roc" roc.save("x.npy", roc.range(0, 8191))'
    cat >s.lua <<'END'
%s
END
    { %s; } &
    TERM=xterm ROCLUA_CACHE=off timeout -s KILL 100 script -qec 'ROCLUA s.lua' /dev/null >screen
    wait
    cat screen
    rm -r $d]]):format(script, meanwhile))
end

describe("a line of progress", function()
  if not shell.interpreter then return pending("the specs do not run in roclua") end
  if not terminal.available() then return pending("no pseudo-terminal") end

  it("says how much of a file is read, and goes away", function()
    local screen = run([[
      local roc = require "roc"
      collectgarbage "stop"
      assert(not pcall(roc.load, "s.lua")) -- a failure lets go of the line
      print(#roc.load "p")]], [[
      exec 4>p
      i=0
      until grep -q "load p: " screen || [ $i -gt 4000 ]; do
        dd if=x.npy bs=16 count=1 skip=$i 2>/dev/null >&4
        i=$((i + 1))
        sleep 0.02
      done
      tail -c +$((i * 16 + 1)) x.npy >&4]])
    assert.matches("\r\27%[Kload p: 0 MiB.*\r\27%[K8192\r?\n", screen)
  end)

  it("counts the kernels that are compiled one after the other", function()
    local screen = run([[
      local roc = require "roc"
      local a = roc.zeros(2)
      for i = 1, 1000 do
        roc.kernel(("function(a) a[1] = a[2] * %d.5 end"):format(i)):forall(1)(a)
        local file <close> = assert(io.open "screen")
        if file:read "a":find " so far" then break end
      end
      print "all"]], "true")
    assert.matches("\r\27%[Kcompile [^\r]*: %d+ s, %d+ so far\r\27%[Kall\r?\n", screen)
  end)

  it("is not written into a pipe", function()
    local output = shell.run [[
      d=$(mktemp -d)
      cd $d && mkfifo p
      ROCLUA -e 'local roc = require "roc" roc.save("x.npy", roc.range(0, 8191))'
      { head -c 1000 x.npy; sleep 3; tail -c +1001 x.npy; } >p &
      TERM=xterm ROCLUA -e 'print(#require "roc".load "p")' 2>&1 | cat
      rm -r $d]]
    assert.are.equal("8192\n", output)
  end)
end)

describe("Ctrl-C", function()
  if not shell.interpreter then return pending("the specs do not run in roclua") end
  if not terminal.available() then return pending("no pseudo-terminal") end

  -- Ctrl-C when the script has printed "ready"; then what it prints.
  local function press(script)
    local output = shell.run(([[
      d=$(mktemp -d)
      cd $d && mkfifo p && touch screen
      ROCLUA -e 'local roc = require "roc" roc.save("x.npy", roc.range(0, 8191))'
      cat >s.lua <<'END'
        local roc = require "roc"
        local function ready() print "ready" io.stdout:flush() end
%s
END
      {
        tries=5000
        until grep -q ready screen || [ $tries -eq 0 ]; do
          tries=$((tries - 1))
          sleep 0.02
        done
        printf '\003'
      } | TERM=dumb timeout -s KILL 100 script -qec 'ROCLUA s.lua' /dev/null >screen
      cat screen
      rm -r $d]]):format(script))
    return (output:gsub("\r", ""))
  end

  for name, bytes in pairs { ["nothing"] = 0, ["half a header"] = 40, ["some elements"] = 1000 } do
    it("ends roc.load of a pipe that holds " .. name, function()
      local output = press(([[
        local bytes = assert(io.open("x.npy", "rb")):read(%d)
        local pipe <close> = assert(io.open("p", "r+b"))
        pipe:write(bytes or "")
        pipe:flush()
        local ok, why = pcall(function() ready() return roc.load "p" end)
        print(ok, why)
        print(#roc.load "x.npy")]]):format(bytes))
      assert.matches("false\t[^\n]*interrupted!\n8192\n", output)
    end)
  end

  it("ends roc.save to a pipe that nothing reads", function()
    local output = press [[
      local pipe <close> = assert(io.open("p", "r+b"))
      local a = roc.range(1, 100000)
      local ok, why = pcall(function() ready() roc.save("p", a) end)
      print(ok, why)
      roc.save("x.npy", a)
      print(#roc.load "x.npy")]]
    assert.matches("false\t[^\n]*interrupted!\n100000\n", output)
  end)
end)
