-- What lies where a file of roclua's is looked for: a pipe without a writer, a device without an
-- end, a folder, a link, or a file of any size never makes it wait or take all memory.
local files = require "support.files"
local shell = require "support.shell"

local SCRIPT = [[
local roc = require "roc"
local k = roc.kernel("function(x) x[1] = math.sin(x[1]) end", { env = { math = math } })
print(pcall(k.compile, k, arg[1], "float32[:]"))
local hits, misses = require("roc.core").testing.cache_stats()
print(hits, misses)
]]

local LAUNCH = [[
local roc = require "roc"
local x = roc.zeros(1, "int64")
print(pcall(function() roc.kernel(function(x) x[1] = 5 end):forall(1)(x) end))
]]

-- Shell commands that put something in the place $P.
local ODD = {
  pipe = "mkfifo $P",
  ["a link to a pipe"] = "mkfifo $P.pipe && ln -s $P.pipe $P",
  device = "ln -s /dev/zero $P",
  ["a file of 8 TiB"] = "truncate -s 8T $P",
  ["a link to nothing"] = "ln -s /nonexistent/file $P",
}

local function write(path, text)
  local file <close> = assert(io.open(path, "w"))
  file:write(text)
end

describe("in place of", function()
  local folder, script

  before_each(function()
    folder = files.run("mktemp -d"):gsub("\n$", "")
    script = folder .. "/script.lua "
    write(folder .. "/script.lua", SCRIPT)
    write(folder .. "/launch.lua", LAUNCH)
  end)
  after_each(function() files.run("rm -rf " .. folder) end)

  local function run(settings, args)
    local output, status = shell.run(("XDG_CACHE_HOME=%s ROCLUA_CACHE= ROCLUA_DEVICE=null %s "
      .. "timeout 60 ROCLUA_SPEC %s"):format(folder, settings, args))
    assert.are_not.equal(124, status)
    return output
  end

  local function put(what, path)
    local output, is_done = files.run(("P='%s' && rm -rf $P && %s"):format(path, what))
    assert.is_true(is_done, output)
  end

  local function when_roclua(title, f)
    it(title, function()
      if not shell.interpreter then return pending("needs roclua") end
      f()
    end)
  end

  for name, what in pairs(ODD) do
    for _, target in ipairs { "cpu", "gfx90a" } do
      when_roclua(("an entry of the cache for %s: %s"):format(target, name), function()
        assert.matches("0\t1\n$", run("", script .. target))
        assert.matches("1\t0\n$", run("", script .. target))
        local paths = files.list(folder .. "/roclua")
        assert.is_true(#paths > 0)
        for _, path in ipairs(paths) do put(what, path) end
        assert.matches("^true.*\n0\t1\n$", run("", script .. target))
        assert.matches("^true.*\n1\t0\n$", run("", script .. target))
        for _, path in ipairs(paths) do assert.is_true(#files.read(path) < 1 << 20) end
      end)
    end

    when_roclua("the device library: " .. name, function()
      put(what, folder .. "/ocml.bc")
      assert.matches("^false.*ROCLUA_BITCODE_DIR", run("ROCLUA_BITCODE_DIR=" .. folder,
        script .. "gfx90a"))
    end)
  end

  when_roclua("an entry of the cache: a folder", function()
    run("", script .. "cpu")
    for _, path in ipairs(files.list(folder .. "/roclua")) do put("mkdir $P", path) end
    assert.matches("^true", run("", script .. "cpu"))
    assert.are.same({}, files.list(folder .. "/roclua"))
  end)

  for _, name in ipairs { "pipe", "a link to a pipe", "device" } do
    when_roclua("the compiler: " .. name, function()
      put(ODD[name], folder .. "/libroclua-codegen.so")
      assert.matches("^false.*cannot open the compiler", run("ROCLUA_LIBDIR=" .. folder,
        script .. "cpu"))
    end)

    when_roclua("AMD's runtime: " .. name, function()
      local library = folder .. "/libhsa-runtime64.so.1"
      put(ODD[name], library)
      local output = run("ROCLUA_EMULATE=gfx90a ROCLUA_HSA_LIBRARY=" .. library,
        [[-e 'print(pcall(require("roc").select_device, "hsa"))']])
      assert.matches("^false.*is not a regular file", output)
    end)

    when_roclua("the software GPU: " .. name, function()
      put(ODD[name], folder .. "/libhsakmt.so.1")
      local output = run(("ROCLUA_EMULATE=gfx90a ROCLUA_LIBDIR=%s"):format(folder),
        [[-e 'print(pcall(require("roc").select_device, "hsa"))']])
      assert.matches("^false.*cannot be opened", output)
    end)
  end

  when_roclua("a script, once it was read: a pipe", function()
    local output, status = shell.run(("mkfifo %s/pipe && { timeout 60 cat %s/launch.lua > %s/pipe "
      .. "& } && ROCLUA_DEVICE=cpu timeout 60 ROCLUA_SPEC %s/pipe"):gsub("%%s", folder))
    assert.are.equal(0, status)
    assert.matches("^false.*/pipe': it is not a regular file; pass the kernel as a string", output)
  end)

  when_roclua("a script, once it was read: a folder", function()
    local path = folder .. "/moved.lua"
    local move = ("\nos.execute('rm %s; mkdir %s')\n"):format(path, path)
    write(path, (LAUNCH:gsub("\n", move, 1)))
    assert.matches("^false.*Is a directory", run("", path))
  end)
end)
