-- What the software GPU counts with --stats, on kernels whose counts can be told beforehand.
local files = require "support.files"
local programs = require "support.programs"
local shell = require "support.shell"
local watched = require "support.watched"

local SAXPY = [[
local saxpy = roc.kernel(function(a, x, y)
  local i = roc.get_global_id(1)
  if i <= #y then
    y[i] = a * x[i] + y[i]
  end
end, { name = "saxpy", check = false })
local x = roc.to_device(roc.ones(1000, "float32"))
local y = roc.to_device(roc.zeros(1000, "float32"))
saxpy[{ 4, 256 }](2, x, y)
print(y:copy_to_host()[1000])
]]

-- One group of 64 items; LDS is written and read through a barrier, so that nothing is kept in
-- registers. %d is the distance of neighbours in it, in elements.
local SHARED = [[
local spread = roc.kernel(function(y)
  local s = roc.shared.array(64 * 33, "float32")
  local i = roc.get_local_id(1)
  s[(i - 1) * %d + 1] = i
  roc.barrier()
  y[i] = s[(64 - i) * %d + 1]
end, { name = "spread", check = false })
local y = roc.device_array(64, "float32")
spread[{ 1, 64 }](y)
print(y:copy_to_host()[1])
]]

describe("The counts of the software GPU", function()
  if not shell.interpreter then return pending("the specs do not run in roclua") end
  if not programs.find("rocr_test") then return pending("ROCR is not installed") end

  for chip, width in pairs { gfx90a = 64, gfx1030 = 32 } do
    local line_bytes = chip == "gfx90a" and 64 or 128

    describe("of " .. chip, function()
      it("are exact for a saxpy", function()
        local k = watched.count(chip, SAXPY).saxpy
        local waves = 1024 // width
        assert.equal(chip, k.chip)
        assert.same({ 1, 4, waves }, { k.launches, k.groups, k.wavefronts })
        assert.equal(2 * waves, k["memory loads"])
        assert.equal(waves, k["memory stores"])
        assert.equal(8000, k["memory read"])
        assert.equal(4000, k["memory written"])
        assert.equal(3 * ((4000 + line_bytes - 1) // line_bytes), k["lines touched"])
        assert.equal(k["lines touched"], k.best)
        assert.equal(1, k.splits) -- the last wavefront, of which 24 lanes have nothing to do
      end)

      it("are given by line of the source", function()
        local k = watched.count(chip, SAXPY).saxpy
        local sum = 0
        for _, line in pairs(k.lines) do sum = sum + line.instructions end
        assert.equal(k.instructions, sum)
        assert.same({ 8000, 4000, 100.0 },
          { k.lines[4].read, k.lines[4].written, k.lines[4].coalesced })
        assert.equal("-", k.lines[3].coalesced)
        assert.equal(1, k.lines[3].splits)
        assert.is_true(k.lines[4].lanes < 100)
      end)

      it("add up over launches", function()
        local once = watched.count(chip, SAXPY).saxpy
        local twice = watched.count(chip, SAXPY:gsub("saxpy%[.-\n", "%0%0")).saxpy
        assert.equal(2, twice.launches)
        assert.equal(2 * once.instructions, twice.instructions)
        assert.equal(16000, twice["memory read"])
      end)

      it("say that an access along columns is not coalesced", function()
        local k = watched.count(chip, [[
          local column = roc.kernel(function(x, y)
            y[roc.get_global_id(1)] = x[roc.get_global_id(1)][1]
          end, { name = "column", check = false })
          local x = roc.to_device(roc.ones({ 64, 64 }, "float32"))
          local y = roc.device_array(64, "float32")
          column[{ 1, 64 }](x, y)
          print(y:copy_to_host()[1])]]).column
        assert.equal(64 + 64 * 4 // line_bytes, k["lines touched"])
        assert.equal(2 * 64 * 4 // line_bytes, k.best)
      end)

      it("share a line that all lanes read", function()
        local k = watched.count(chip, [[
          local broadcast = roc.kernel(function(x, y)
            local i = roc.get_global_id(1)
            y[i] = x[i // 1000 + 1]
          end, { name = "broadcast", check = false })
          local x = roc.to_device(roc.ones(64, "float32"))
          local y = roc.device_array(64, "float32")
          broadcast[{ 1, 64 }](x, y)
          print(y:copy_to_host()[1])]]).broadcast
        assert.equal(256, k["memory read"])
        assert.equal(64 // width + 256 // line_bytes, k["lines touched"])
        assert.equal(k["lines touched"], k.best)
      end)

      it("see the conflicts of a stride of 32 words in LDS, and none with padding", function()
        local k = watched.count(chip, SHARED:format(32, 32)).spread
        assert.equal(512, k.LDS)
        assert.equal(2 * 2 * 31, k["bank conflicts"])
        assert.equal(62, k.lines[4].conflicts)
        assert.equal(62, k.lines[6].conflicts)
        k = watched.count(chip, SHARED:format(33, 33)).spread
        assert.equal(512, k.LDS)
        assert.is_nil(k["bank conflicts"])
        k = watched.count(chip, SHARED:format(2, 1)).spread
        assert.equal(2 * 1, k["bank conflicts"])
      end)

      it("have no conflicts for wide elements side by side", function()
        local wide = SHARED:gsub('"float32"', '"float64"')
        local k = watched.count(chip, wide:format(1, 1)).spread
        assert.equal(1024, k.LDS)
        assert.is_nil(k["bank conflicts"])
      end)

      it("make atomics on one word of LDS wait for each other", function()
        local k = watched.count(chip, [[
          local tally = roc.kernel(function(y)
            local s = roc.shared.array(64, "int32")
            local i = roc.get_local_id(1)
            s[i] = 0
            roc.barrier()
            roc.atomic.max(s, 1 + (i - 1) // 32, i)
            roc.barrier()
            y[i] = s[i]
          end, { name = "tally", check = false })
          local y = roc.device_array(64, "int32")
          tally[{ 1, 64 }](y)
          assert(y:copy_to_host()[2] == 64)]]).tally
        assert.equal(64 // width, k["LDS atomics"])
        assert.equal(62, k["bank conflicts"])
      end)

      it("see that half of the lanes wait in a branch", function()
        local k = watched.count(chip, [[
local half = roc.kernel(function(y, n)
  if roc.get_global_id(1) % 2 == 0 then
    for j = 1, n do
      y[(j - 1) * 64 + roc.get_global_id(1)] = j
    end
  end
end, { name = "half", check = false })
local y = roc.to_device(roc.zeros(6400))
half[{ 1, 64 }](y, 100)
print(y:copy_to_host()[1])]]).half
        assert.equal(64 // width, k.splits)
        assert.equal(64 // width, k.lines[2].splits)
        assert.equal(50, k.lines[4].lanes)
        assert.equal(100 * 64 // width, k["memory stores"])
        assert.equal(100 * 32 * 8, k["memory written"])
      end)

      it("do not take a branch that all lanes take for a split", function()
        local k = watched.count(chip, [[
          local same = roc.kernel(function(y)
            if (roc.get_global_id(1) - 1) // 64 % 2 == 0 then
              y[roc.get_global_id(1)] = 1
            end
          end, { name = "same", check = false })
          local y = roc.to_device(roc.zeros(256))
          same[{ 1, 256 }](y)
          print(y:copy_to_host()[1])]]).same
        assert.is_nil(k.splits)
        assert.equal(128 * 8, k["memory written"])
      end)

      it("tell barriers, and which wavefronts wait at them", function()
        local source = [[
local meet = roc.kernel(function(y, n)
  local s = roc.shared.array(256, "float32")
  local i = roc.get_local_id(1)
  local sum = 0.0
  if i <= 64 then
    for j = 1, n do sum = sum * 0.5 + y[j] end
  end
  s[i] = sum
  roc.barrier()
  y[i] = s[257 - i]
end, { name = "meet", check = false })
local y = roc.to_device(roc.ones(256, "float32"))
meet[{ 3, 256 }](y, %d)
print(y:copy_to_host()[1])]]
        local k = watched.count(chip, source:format(1000)).meet
        local waves, busy = 256 // width, 64 // width
        assert.equal(3, k["workgroup barriers"])
        assert.equal(3 * waves, k.barriers) -- instructions
        assert.is_true(k["barrier waits"] >= 3 * (waves - busy) * 1000)
        assert.equal(k["barrier waits"], k.lines[9].waited)
      end)

      it("know no waits where all wavefronts do the same", function()
        local k = watched.count(chip, (SHARED:format(1, 1):gsub("64", "256"))).spread
        assert.equal(1, k["workgroup barriers"])
        assert.is_nil(k["barrier waits"])
      end)
    end)
  end

  it("put the kernel with the most instructions first, ROCR's own last", function()
    local kernels = watched.count("gfx90a", [[
      local function make(name)
        return roc.kernel(function(y, n)
          for j = 1, n do y[roc.get_global_id(1)] = y[1] * 0.5 + j end
        end, { name = name, check = false })
      end
      local few, many = make("few"), make("many")
      local y = roc.to_device(roc.zeros(64))
      few[{ 1, 64 }](y, 10)
      many[{ 1, 64 }](y, 100)
      y:copy_to_host()]])
    assert.equal("many", kernels[1])
    assert.equal("few", kernels[2])
    assert.matches("ROCR", kernels[3])
  end)

  it("keep specialisations of a kernel and chips apart", function()
    local output = watched.run("gfx90a,gfx1030", "--stats", [[
      local k = roc.kernel(function(y) y[roc.get_global_id(1)] = 1 end, { name = "set" })
      for _, name in ipairs { "hsa:1", "hsa:2" } do
        local scope <close> = roc.on_device(name)
        local a, b = roc.device_array(64, "float32"), roc.device_array(64, "float64")
        k:forall(64)(a)
        k:forall(64)(b)
        roc.current_device():synchronize()
      end]])
    assert.matches("kernel 'set' on gfx90a: 1 launch,", output)
    assert.matches("kernel 'set' %(2%) on gfx90a: 1 launch,", output)
    assert.matches("kernel 'set' on gfx1030: 1 launch,", output)
    assert.matches("kernel 'set' %(2%) on gfx1030: 1 launch,", output)
  end)

  it("are printed on stderr at the end, also after an error", function()
    local output, status = watched.run("gfx90a", "--stats", SAXPY .. "error 'over'")
    assert.equal(1, status)
    assert.matches("^2.0\n", output)
    assert.matches("kernel 'saxpy' on gfx90a", output)
    assert.matches("over", output)
  end)

  it("go to the file that ROCLUA_EMULATE_STATS names", function()
    local path = os.tmpname()
    local output = shell.run(("ROCLUA_EMULATE_STATS=%s ROCLUA --emulate gfx90a -e %q"):format(path,
      'local roc = require "roc" local k = roc.kernel(function(y) y[1] = 1 end) ' ..
      'k:forall(1)(roc.zeros(1))'))
    local report = files.read(path)
    os.remove(path)
    assert.equal("", output)
    assert.matches("^kernel '", report)
  end)

  it("run nothing when the file cannot be written", function()
    local output, status = watched.run("gfx90a", "--stats=/nowhere/x", "print('run')\n" .. SAXPY)
    assert.matches("cannot write '/nowhere/x': No such file or directory", output)
    assert.not_matches("run\n", output)
    assert.equal(1, status)
  end)

  it("say so when the file takes no more, which is the program's failure", function()
    local output, status = watched.run("gfx90a", "--stats=/dev/full", SAXPY)
    assert.matches("cannot write the statistics of kernels to '/dev/full': No space", output)
    assert.equal(1, select(2, output:gsub("No space", "")))
    assert.equal(1, status)
    output, status = watched.run("gfx90a", "--stats=/dev/full", SAXPY .. "os.exit(0)")
    assert.matches("cannot write the statistics of kernels to '/dev/full': No space", output)
    assert.equal(1, status)
  end)

  it("are printed once, and are whole, when a script ends by os.exit", function()
    local output, status = watched.run("gfx90a", "--stats", SAXPY .. "os.exit(0)")
    assert.equal(1, select(2, output:gsub("kernel 'saxpy' on gfx90a", "")))
    assert.equal(0, status)
  end)
end)
