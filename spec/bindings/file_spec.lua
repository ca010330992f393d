-- Files that roc writes: what an existing file is (mode, owner, links) stays, and an error leaves
-- its old bytes.
local core = require "roc.core"
local files = require "support.files"
local lfs = require "lfs"
local programs = require "support.programs"
local roc = require "roc"
local shell = require "support.shell"

local array = roc.range(1, 5000, 1, "float64")
local kernel = [[
local k = require("roc").kernel("function(x) x[1] = 1 end", { name = "k", signature = "(int64[:])" })
]]

-- Each writes more than 1 KiB to the path.
local WRITERS = {
  ["roc.save"] = function(path) roc.save(path, array) end,
  ["CodeObject:save"] = function(path)
    roc.kernel("function(x) x[1] = 1 end"):compile("gfx90a", "int64[:]"):save(path)
  end,
  ["the writer of rocluac"] = function(path) core.write_file(path, ("b"):rep(5000)) end,
}

-- The first line that a shell command prints; it has to succeed.
local function line_of(command, ...)
  local output, succeeded = files.run(command:format(...))
  assert.is_true(succeeded, output)
  return (output:gsub("\n.*", ""))
end

local function write(path, text)
  local file <close> = assert(io.open(path, "wb"))
  file:write(text)
end

-- "600 0:0 1": mode, owner, group, names.
local function facts_of(path)
  return line_of("stat -L -c '%%a %%u:%%g %%h' '%s'", path)
end

local function names_in(folder)
  local names = {}
  for name in lfs.dir(folder) do
    if name ~= "." and name ~= ".." then names[#names + 1] = name end
  end
  table.sort(names)
  return table.concat(names, " ")
end

describe("a file that is written", function()
  local folder, path
  before_each(function()
    folder = line_of("mktemp -d")
    path = folder .. "/file"
  end)
  after_each(function() os.execute("rm -rf '" .. folder .. "'") end)

  for name, writer in pairs(WRITERS) do
    describe("by " .. name, function()
      it("has the mode that umask gives, when it is new", function()
        local before = line_of("umask")
        writer(path)
        assert.equal(("%03o 1"):format(0x1b6 & ~tonumber(before, 8)),
          (facts_of(path):gsub(" %S+ ", " ")))
        assert.equal("file", names_in(folder))
      end)

      it("keeps its mode and owner", function()
        for _, mode in ipairs { "600", "640", "4755", "666" } do
          write(path, "old")
          assert(os.execute(("chmod %s '%s'"):format(mode, path)))
          local before = facts_of(path)
          writer(path)
          assert.equal(before, facts_of(path))
          assert.is_true(#files.read(path) > 1024)
        end
        assert.equal("file", names_in(folder))
      end)

      it("keeps another's ownership", function()
        if line_of("id -u") ~= "0" then return pending("only root can make such a file") end
        write(path, "old")
        assert(os.execute(("chown 65534:65534 '%s'; chmod 640 '%s'"):format(path, path)))
        writer(path)
        assert.equal("640 65534:65534 1", facts_of(path))
      end)

      it("is what symbolic links lead to", function()
        assert(os.execute(("cd '%s' && mkdir deep && ln -s deep/real middle && ln -s '%s/middle' "
          .. "file"):format(folder, folder)))
        for _ = 1, 2 do -- at first it is not there yet
          writer(path)
          assert.equal("link", lfs.symlinkattributes(path, "mode"))
          assert.equal("link", lfs.symlinkattributes(folder .. "/middle", "mode"))
          assert.is_true(#files.read(folder .. "/deep/real") > 1024)
        end
        assert.equal("real", names_in(folder .. "/deep"))
        assert.equal("deep file middle", names_in(folder))
      end)

      it("keeps its other names", function()
        write(path, ("o"):rep(1 << 20)) -- longer than what comes, then shorter
        assert(lfs.link(path, folder .. "/other"))
        for _ = 1, 2 do
          writer(path)
          assert.matches(" 2$", facts_of(path))
          assert.is_true(#files.read(path) > 1024 and #files.read(path) < 1 << 20)
          assert.equal(files.read(path), files.read(folder .. "/other"))
          write(path, "short")
        end
        assert.equal("file other", names_in(folder))
      end)

      it("keeps its access control list", function()
        if not files.has_program("setfacl") then return pending("no setfacl") end
        write(path, "old")
        assert(os.execute(("setfacl -m u:65534:rw,g::- '%s'"):format(path)))
        local before = files.run(("getfacl -c '%s'"):format(path))
        writer(path)
        assert.equal(before, (files.run(("getfacl -c '%s'"):format(path))))
      end)

      it("may have a name as long as names can be", function()
        local long = folder .. "/" .. ("n"):rep(255)
        writer(long)
        assert.is_true(#files.read(long) > 1024)
      end)

      it("is refused by name where it cannot be, and leaves nothing", function()
        lfs.mkdir(path)
        lfs.link("circle", folder .. "/circle", true)
        lfs.link("nowhere/file", folder .. "/dangling", true)
        for _, case in ipairs { { "file", "Is a directory" }, { "file/", "Is a directory" },
          { "no/where", "No such file or directory" }, { "dangling", "No such file or directory" },
          { "circle", "Too many levels of symbolic links" }, { "file/../circle/x", "Too many" } } do
          local ok, why = pcall(writer, folder .. "/" .. case[1])
          assert.is_false(ok)
          assert.truthy(tostring(why):find(("cannot write '%s/%s': %s"):format(folder, case[1],
            case[2]), 1, true), tostring(why))
        end
        assert.equal("circle dangling file", names_in(folder))
        assert.equal("", names_in(path))
      end)

      it("may be a device or a pipe", function()
        writer("/dev/null")
        assert.equal("char device", lfs.attributes("/dev/null", "mode"))
        assert(os.execute(("mkfifo '%s'; cat '%s' >'%s.copy' &"):format(path, path, path)))
        writer(path)
        assert.equal("named pipe", lfs.attributes(path, "mode"))
        assert(os.execute(("until [ -s '%s.copy' ]; do sleep 0.1; done"):format(path)))
        local ok, why = pcall(writer, "/dev/full")
        assert.is_false(ok)
        assert.matches("cannot write '/dev/full': No space left on device", tostring(why))
      end)
    end)
  end
end)

describe("a program that writes a file", function()
  if not shell.interpreter then return pending("the specs do not run in roclua") end

  local folder
  before_each(function() folder = line_of("mktemp -d") end)
  after_each(function() os.execute("rm -rf '" .. folder .. "'") end)

  -- Saves to $OUT, and says on stderr how that went. The specs' program needs no library that
  -- another user may not be allowed to read.
  local SAVE = [[ROCLUA_SPEC -e 'roc = require "roc"
    local ok, why = pcall(roc.save, os.getenv "OUT", roc.zeros(1000))
    io.stderr:write(ok and "saved" or tostring(why))']]

  local function save(path, before)
    return (shell.run(("export OUT='%s'; %s%s"):format(path, before or "", SAVE)))
  end

  -- As root nothing is forbidden.
  local as_other = line_of("id -u") == "0" and "setpriv --reuid 65534 --regid 65534 --clear-groups "
    or ""

  it("leaves the old bytes where there is no room for the new ones", function()
    local path = folder .. "/file"
    for _, names in ipairs { 1, 2 } do
      write(path, "old")
      if names == 2 then assert(lfs.link(path, folder .. "/other")) end
      assert.equal(("cannot write '%s': File too large"):format(path),
        save(path, "trap '' XFSZ; ulimit -f 1; ")) -- 512 or 1024 bytes
      assert.equal("old", files.read(path))
    end
    assert.equal("file other", names_in(folder))
  end)

  it("leaves the old bytes where the folder takes no file, and a file that is read-only", function()
    local path = folder .. "/file"
    write(path, "old")
    assert(os.execute(("chmod 666 '%s'; chmod 755 '%s'"):format(path, folder)))
    if as_other ~= "" then
      if not select(2, files.run(as_other .. "true")) then return pending("no setpriv") end
      assert.equal(("cannot write '%s': Permission denied"):format(path), save(path, as_other))
      assert.equal("old", files.read(path))
    end
    assert(os.execute(("chmod 444 '%s'; chmod 777 '%s'"):format(path, folder)))
    assert.equal(("cannot write '%s': Permission denied"):format(path), save(path, as_other))
    assert.equal("old", files.read(path))
    assert.equal("file", names_in(folder))
  end)

  it("writes over a file of another's, whose owner stays", function()
    if as_other == "" then return pending("only root can make such a file") end
    local path = folder .. "/file"
    write(path, "old")
    assert(os.execute(("chmod 646 '%s'; chmod 1777 '%s'"):format(path, folder)))
    assert.equal("saved", save(path, as_other))
    assert.equal("646 0:0 1", facts_of(path))
    assert.is_true(#files.read(path) > 1024)
    assert.equal("file", names_in(folder))
  end)

  it("writes to a descriptor of its own where it is, not over the file", function()
    local path = folder .. "/file"
    for _, name in ipairs { "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1" } do
      shell.run(("export OUT=%s; { echo first; %s 2>/dev/null; echo last; } >'%s'"):format(name,
        SAVE, path))
      assert.matches("^first\n\x93NUMPY.*last\n$", files.read(path))
      assert.equal("file", names_in(folder))
    end
    assert.equal("\x93NUMPY", (shell.run("export OUT=/dev/stdout; " .. SAVE
      .. " 2>/dev/null | head -c 6")))
  end)

  it("is rocluac too", function()
    local rocluac = programs.find("rocluac")
    if not rocluac then return pending("rocluac was not built") end
    local script, path = folder .. "/k.lua", folder .. "/k.hsaco"
    write(script, kernel)
    write(path, "old")
    assert(os.execute(("chmod 600 '%s'; ln -s k.hsaco '%s/link'"):format(path, folder)))
    local output, status = shell.run(("%s -t gfx90a -o %s/link %s"):format(rocluac, folder, script))
    assert.same({ "", 0 }, { output, status })
    assert.matches("^600 ", facts_of(path))
    assert.equal("link", lfs.symlinkattributes(folder .. "/link", "mode"))
    assert.equal("k.hsaco k.lua link", names_in(folder))
    output, status = shell.run(("%s -t gfx90a -o /dev/stdout %s | head -c 4"):format(rocluac,
      script))
    assert.same({ "\127ELF", 0 }, { output, status })
  end)
end)
