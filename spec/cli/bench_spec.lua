-- The programs of bench/ run; what they measure is for people to read.
local files = require "support.files"
local shell = require "support.shell"

describe("the bench", function()
  if not shell.interpreter then return pending("the specs do not run in roclua") end

  it("cpu compares every kernel with its peers", function()
    if not files.has_program("gcc") then return pending("no gcc") end
    local output, status = shell.run("ROCLUA bench/cpu.lua 4096")
    assert.are.equal(0, status, output)
    for _, name in ipairs { "saxpy", "triad", "reduction", "transpose", "matmul_naive", "matmul_tiled", "mandelbrot",
      "histogram" } do
      assert.matches("\n" .. name .. " +%d+ +[%d.]+ +[%d.]+", output)
    end
  end)

  it("launch finds that launches allocate nothing in Lua", function()
    local output, status = shell.run("ROCLUA bench/launch.lua")
    assert.are.equal(0, status, output)
    assert.matches("null +[%d.]+ µs +0%.00 bytes\n", output)
  end)

  it("compile times two kernels", function()
    local output, status = shell.run("ROCLUA bench/compile.lua")
    assert.are.equal(0, status, output)
    assert.matches("^saxpy +first .*\ntiled +first ", output)
  end)
end)
