-- The options that put a software GPU under AMD's runtime.
local programs = require "support.programs"
local support = require "support.shell"

local shell = support.run

local function assert_prints(expected, command)
  local output, status = shell(command)
  assert.are.equal(expected, output)
  assert.are.equal(0, status)
end

local NAME = [[-e 'local roc = require "roc"; print(roc.current_device().arch:match("^%w+"))']]

local DOUBLE = [[-e '
local roc = require "roc"
local double = roc.kernel(function(x) local i = roc.get_global_id(1); x[i] = x[i] * 2 end)
local x = roc.range(1, 100)
double:forall(100)(x)
print(x[1], x[100])']]

local RACE = [[-e '
local roc = require "roc"
local race = roc.kernel(function(x) x[1] = roc.get_global_id(1) end)
local x = roc.to_device(roc.zeros(4, "int64"))
race:forall(256)(x)
print(pcall(x.copy_to_host, x))']]

describe("roclua's software GPU", function()
  if not support.interpreter then return pending("the specs do not run in roclua") end
  if not programs.find("rocr_test") then return pending("ROCR is not installed") end

  it("is the default device with --emulate", function()
    assert_prints("gfx90a\n", "ROCLUA --emulate gfx90a " .. NAME)
    assert_prints("gfx1030\n", "ROCLUA --emulate=gfx1030,gfx90a " .. NAME)
    assert_prints("gfx1030\n", "ROCLUA_EMULATE=gfx90a ROCLUA --emulate gfx1030 " .. NAME)
  end)

  it("leaves the choice to --device", function()
    assert_prints("cpu\n", "ROCLUA --emulate gfx90a --device cpu " .. NAME)
    assert_prints("gfx1030\n",
      "ROCLUA --emulate gfx90a,gfx1030 --device hsa:2 " .. NAME)
  end)

  it("comes by the environment, too", function()
    assert_prints("gfx1030\n", "ROCLUA_EMULATE=gfx1030 ROCLUA " .. NAME)
  end)

  it("runs kernels", function()
    assert_prints("2\t200\n", "ROCLUA --emulate gfx90a " .. DOUBLE)
    assert_prints("2\t200\n", "ROCLUA --emulate gfx1030 " .. DOUBLE)
  end)

  it("refuses names it does not know, and tells which it knows", function()
    local output, status = shell("ROCLUA --emulate gfx90a,gfx9999 " .. NAME)
    assert.matches("no GPU 'gfx9999' can be emulated: expected one of gfx90a, gfx1030", output)
    assert.are.equal(1, status)
    for _, nothing in ipairs { "--emulate", "--emulate=", "--emulate ''" } do
      output, status = shell("ROCLUA " .. nothing)
      assert.matches("'%-%-emulate=?' needs argument", output)
      assert.are.equal(1, status)
    end
  end)

  it("refuses them in the environment, too, when a device is used; empty is not set", function()
    for _, names in ipairs { "gfx9999", "gfx90a,", " gfx90a", "GFX90A" } do
      local output, status = shell(("ROCLUA_EMULATE='%s' ROCLUA %s"):format(names, NAME))
      assert.matches("ROCLUA_EMULATE: no GPU '[^']*' can be emulated: expected one of gfx90a",
        output)
      assert.are.equal(1, status)
      output, status = shell(("ROCLUA_EMULATE='%s' ROCLUA -l roc -e \"print(#roc.devices())\"")
        :format(names))
      assert.are.equal("2\n", output)
      assert.are.equal(0, status)
    end
    local output, status = shell("ROCLUA_EMULATE= ROCLUA " .. NAME)
    assert.matches("cpu", output)
    assert.are.equal(0, status)
  end)

  it("prints what kernels did with --stats", function()
    local output, status = shell("ROCLUA --stats " .. DOUBLE)
    assert.are.equal(0, status)
    assert.matches("^2\t200\n", output)
    assert.matches("on gfx90a: 1 launch,", output)
    assert.matches("instructions +%d+", output)
    output = shell("ROCLUA --emulate gfx90a " .. DOUBLE)
    assert.not_matches("instructions", output)
  end)

  it("finds races with --check", function()
    local output = shell("ROCLUA --check " .. RACE)
    assert.matches("race", output)
    assert_prints("2\t200\n", "ROCLUA --check " .. DOUBLE)
  end)
end)
