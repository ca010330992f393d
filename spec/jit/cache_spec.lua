-- The disk cache of code objects: what is found again, what is not, and that nothing in its folder
-- can hurt.
local asserted = require "support.asserted"
local files = require "support.files"
local lfs = require "lfs"
local shell = require "support.shell"
local testing = require("roc.core").testing

-- A script that launches one kernel and prints its result and what it had of the cache.
local SCRIPT = [[
local roc = require "roc"
local n, text = tonumber(arg[1] or 1), arg[2]
local k = roc.kernel(text or "function(x) x[1] = x[1] + %d end", { env = { roc = roc,
  math = math }, check = arg[3] ~= "unchecked" })
local x = roc.to_device(roc.zeros(4, "int64"))
k:forall(1)(x)
io.write(x[1], " ", table.concat({ require("roc.core").testing.cache_stats() }, " "), "\n")
]]

describe("the disk cache", function()
  local folder, script

  setup(function()
    folder = files.run("mktemp -d"):gsub("\n$", "")
    script = folder .. "/script.lua"
    local file = assert(io.open(script, "w"))
    file:write((SCRIPT:gsub("%%d", "1")))
    file:close()
  end)
  teardown(function() files.run("rm -rf " .. folder) end)

  before_each(function() files.run("rm -rf " .. folder .. "/cache") end)

  local function run(args, environment)
    local command = "ROCLUA_CACHE= XDG_CACHE_HOME=%s/cache ROCLUA_DEVICE=cpu %s ROCLUA_SPEC %s %s"
    return (shell.run(command:format(folder, environment or "", script, args or "")))
  end

  local function entries()
    local list = files.list(folder .. "/cache/roclua")
    return list
  end

  local function when_roclua(title, f)
    it(title, function()
      if not shell.interpreter then return pending("needs roclua") end
      f()
    end)
  end

  when_roclua("makes a second run compile nothing", function()
    assert.are.equal("1 0 1 1 0\n", run())
    assert.are.equal(1, #entries())
    assert.are.equal("1 1 0 0 0\n", run())
    assert.are.equal(1, #entries())
  end)

  when_roclua("tells kernels, options, wavefronts and targets apart", function()
    run()
    for _, other in ipairs {
      { "1 'function(x) x[1] = x[1] + 2 end'" },
      { "1 'function(x) x[1] = x[1] + 1 end' unchecked" },
      { "", "ROCLUA_WAVEFRONT=32" },
    } do
      assert.matches("^%d 0 1 1 0\n$", run(table.unpack(other)))
    end
    assert.are.equal(4, #entries())
  end)

  when_roclua("is off when asked", function()
    run()
    assert.are.equal("1 0 0 0 0\n", run("", "ROCLUA_CACHE=off"))
  end)

  when_roclua("compiles anew what was truncated or changed, and repairs it", function()
    run()
    local path = entries()[1]
    local whole = files.read(path)
    for _, damaged in ipairs {
      "", whole:sub(1, 1), whole:sub(1, 32), whole:sub(1, 40), whole:sub(1, 200),
      whole:sub(1, #whole - 1), whole .. "x",
      whole:sub(1, 100) .. string.char(whole:byte(101) ~ 1) .. whole:sub(102), ("\0"):rep(#whole),
      "x" .. whole:sub(2),
    } do
      local file = assert(io.open(path, "wb"))
      file:write(damaged)
      file:close()
      assert.are.equal("1 0 1 1 0\n", run())
      assert.are.equal(whole:sub(1, 32), files.read(path):sub(1, 32))
      assert.are.equal(#whole, #files.read(path))
    end
    assert.are.equal("1 1 0 0 0\n", run())
  end)

  when_roclua("does not take one kernel's code for another's", function()
    run("1 'function(x) x[1] = x[1] + 2 end'")
    local other = files.read(entries()[1])
    run()
    for _, path in ipairs(entries()) do
      local file = assert(io.open(path, "wb"))
      file:write(other)
      file:close()
    end
    assert.are.equal("1 0 1 1 0\n", run())
  end)

  when_roclua("is shared by processes that start at once", function()
    local command = {}
    for i = 1, 6 do command[i] = ("ROCLUA_SPEC %s 1 > %s/out%d &"):format(script, folder, i) end
    local settings = "export ROCLUA_CACHE= XDG_CACHE_HOME=%s/cache ROCLUA_DEVICE=cpu; "
    shell.run(settings:format(folder) .. table.concat(command, " ") .. " wait")
    for i = 1, 6 do assert.matches("^1 [01] [01] [01] 0\n$", files.read(folder .. "/out" .. i)) end
    assert.are.equal(1, #entries())
    assert.are.equal("1 1 0 0 0\n", run())
  end)

  when_roclua("keeps its size, and drops first what was used longest ago", function()
    run()
    local kept = entries()[1]
    files.run(("cd %s/cache/roclua && for i in 1 2 3; do head -c 400000 /dev/zero > $(printf "
      .. "'%%064d' $i); done && touch -d '2 days ago' 0000*")
      :format(folder))
    local output = run("1 'function(x) x[1] = x[1] + 3 end'", "ROCLUA_CACHE_MB=1")
    assert.are.equal("3 0 1 1 2\n", output) -- down to three quarters
    assert.are.equal(3, #entries())
    assert.is_true(#files.read(kept) > 0)
  end)

  when_roclua("removes temporary files whose writer is gone, and leaves the others", function()
    run()
    files.run(
      ("cd %s/cache/roclua && touch -d '2 hours ago' old.1-1.tmp && touch new.1-2.tmp"):format(
      folder))
    run("1 'function(x) x[1] = x[1] + 4 end'")
    local names = table.concat(entries(), "\n")
    assert.not_matches("old%.1", names)
    assert.matches("new%.1", names)
  end)

  when_roclua("does without a folder that cannot be made, or that others can write", function()
    files.run(("mkdir -p %s/cache && touch %s/cache/roclua"):format(folder, folder))
    assert.are.equal("1 0 0 0 0\n", run())
    files.run(("rm %s/cache/roclua && mkdir -m 777 %s/cache/roclua"):format(folder, folder))
    assert.are.equal("1 0 0 0 0\n", run())
    assert.are.equal("1 0 0 0 0\n", run("", "XDG_CACHE_HOME=relative HOME=/proc/nonexistent"))
  end)

  when_roclua("is private, and runs no entry that another user has put there", function()
    run()
    assert.are.equal("rwx------", lfs.attributes(folder .. "/cache/roclua", "permissions"))
    if files.run("id -u") ~= "0\n" then return pending("only root can make such a file") end
    files.run("chown 65534 " .. entries()[1])
    assert.are.equal("1 0 1 1 0\n", run())
    files.run(("chown 65534 %s/cache/roclua"):format(folder))
    assert.are.equal("1 0 0 0 0\n", run())
  end)
end)

-- Compiles for an AMD GPU; prints hits and misses, and whether LLVM was opened for it.
local AHEAD = [[
local roc = require "roc"
local k = roc.kernel("function(x, y) y[1] = math.exp(x[1]) end", { env = { math = math } })
k:compile(arg[1] or "gfx90a", "float32[:]", "float32[:]"):close()
local maps <close> = io.open("/proc/self/maps")
local hits, misses = require("roc.core").testing.cache_stats()
print(hits, misses, maps:read("a"):find("roclua-codegen", 1, true) ~= nil)
]]

describe("what the cache has for a GPU", function()
  local folder

  setup(function()
    folder = files.run("mktemp -d"):gsub("\n$", "")
    local file <close> = assert(io.open(folder .. "/ahead.lua", "w"))
    file:write(AHEAD)
  end)
  teardown(function() files.run("rm -rf " .. folder) end)
  before_each(function() files.run("rm -rf " .. folder .. "/cache") end)

  local function run(settings, target)
    return (shell.run(("ROCLUA_CACHE= XDG_CACHE_HOME=%s/cache ROCLUA_DEVICE=null %s ROCLUA_SPEC "
      .. "%s/ahead.lua %s"):format(folder, settings or "", folder, target or "")))
  end

  local function note()
    return folder .. "/cache/roclua/versions-gfx90a"
  end

  local function when_roclua(title, f)
    it(title, function()
      if not shell.interpreter then return pending("needs roclua") end
      f()
    end)
  end

  when_roclua("is found without opening the compiler", function()
    assert.are.equal("0\t1\ttrue\n", run())
    assert.are.equal("1\t0\tfalse\n", run())
    assert.are.equal("0\t1\ttrue\n", run("", "gfx1030"))
    assert.are.equal("1\t0\tfalse\n", run("", "gfx1030"))
  end)

  when_roclua("is not taken for that of another compiler or device library", function()
    local library = require("support.programs").find("../lib/roclua/0/libroclua-codegen.so")
    if not library then return pending("the compiler is not beside the program") end
    files.run(("mkdir %s/lib && cp %s %s/lib/"):format(folder, library, folder))
    local settings = ("ROCLUA_LIBDIR=%s/lib"):format(folder)
    run()
    assert.are.equal("0\t1\ttrue\n", run(settings))
    assert.are.equal("1\t0\tfalse\n", run(settings))
    files.run(("touch %s/lib/libroclua-codegen.so"):format(folder))
    assert.are.equal("0\t1\ttrue\n", run(settings))
    local bitcode = files.read(note()):match(" (/[^\n]*ocml%.bc)\n")
    files.run(("mkdir %s/bitcode && cp %s %s/bitcode"):format(folder, bitcode, folder))
    settings = ("ROCLUA_BITCODE_DIR=%s/bitcode"):format(folder)
    assert.are.equal("0\t1\ttrue\n", run(settings))
    assert.are.equal("1\t0\tfalse\n", run(settings))
    files.run(("touch %s/bitcode/ocml.bc"):format(folder))
    assert.are.equal("0\t1\ttrue\n", run(settings))
  end)

  when_roclua("is found through the compiler when the note of it is damaged", function()
    run()
    local whole = files.read(note())
    for _, damaged in ipairs {
      "", "\n", whole:sub(1, 64), whole:sub(1, -2), whole .. "x", whole:sub(1, 80) .. "!"
        .. whole:sub(82), "\0" .. whole:sub(2), ("\n"):rep(300),
    } do
      local file <close> = assert(io.open(note(), "wb"))
      file:write(damaged)
      file:close()
      assert.are.equal("1\t0\ttrue\n", run())
      assert.are.equal(whole, files.read(note()))
    end
  end)
end)

describe("a serialised code object", function()
  local shown

  setup(function()
    local folder = files.run("mktemp -d"):gsub("\n$", "")
    local file = assert(io.open(folder .. "/k.lua", "w"))
    file:write [[
      local roc = require "roc"
      roc.kernel(function(n, x)
        assert(n > 0, "no ", n)
        print("n is", n, x[1])
        x[roc.get_global_id(1)] = n
      end):compile("gfx90a", "int64", "int64[:]"):close()
    ]]
    file:close()
    shell.run(("ROCLUA_CACHE= XDG_CACHE_HOME=%s ROCLUA %s/k.lua"):format(folder, folder))
    local path = files.list(folder .. "/roclua")[1]
    shown = path and files.read(path):sub(33)
    files.run("rm -rf " .. folder)
  end)

  it("is the same after reading and writing", function()
    if not shell.interpreter then return pending("needs roclua") end
    assert.are.equal(shown, testing.code_rewrite(shown))
  end)

  it("is refused at every shorter length, and a byte longer", function()
    if not shell.interpreter then return pending("needs roclua") end
    for len = 0, #shown - 1 do
      local object, _, code = testing.code_rewrite(shown:sub(1, len))
      asserted.check(object == nil and code == "invalid", 1, "length %d was taken", len)
    end
    assert.is_nil(testing.code_rewrite(shown .. "\0"))
  end)

  it("is refused when any byte differs", function()
    if not shell.interpreter then return pending("needs roclua") end
    for at = 1, #shown, 3 do
      local changed = shown:sub(1, at - 1) .. string.char(shown:byte(at) ~ 0x10)
        .. shown:sub(at + 1)
      asserted.check(not testing.code_rewrite(changed), 1, "byte %d is not checked", at)
    end
  end)

  it("gives its memory back, and survives running out of it", function()
    if not shell.interpreter then return pending("needs roclua") end
    local before = testing.live_blocks()
    for n = 1, 40 do
      testing.fail_alloc(n)
      local _, _, code = testing.code_rewrite(shown)
      testing.fail_alloc(0)
      assert.is_true(code == nil or code == "oom")
    end
    assert.are.equal(before, testing.live_blocks())
  end)
end)
