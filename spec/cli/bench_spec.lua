-- The programs of bench/ run; what they measure is for people to read.
local files = require "support.files"
local shell = require "support.shell"

describe("the bench", function()
  if not shell.interpreter then return pending("the specs do not run in roclua") end

  it("cpu compares every kernel with its peers", function()
    if not files.has_program("gcc") then return pending("no gcc") end
    local output, status = shell.run("ROCLUA_CPU=x86-64-v3 ROCLUA bench/cpu.lua 4096 3")
    assert.are.equal(0, status, output)
    for _, name in ipairs { "saxpy", "triad", "reduction", "transpose", "matmul_naive",
      "matmul_tiled", "mandelbrot",
      "histogram" } do
      assert.matches("\n" .. name .. " +%d+ +[%d.]+ +[%d.]+", output)
    end
  end)

  it("guards compares every kernel with its peers, at the levels that this machine has", function()
    if not files.has_program("gcc") then return pending("no gcc") end
    local output, status = shell.run("ROCLUA bench/guards.lua 1 500")
    assert.are.equal(0, status, output)
    for _, name in ipairs { "sum", "return", "grid_stride", "stencil", "stencil_2d", "two_ways",
      "fill", "copy", "reduce", "scan", "histogram" } do
      assert.matches("\n" .. name .. " +500 +[%d.]+ +[%d.]+ +[%d.]+", output)
    end
  end)

  it("arrays measures every row, with its peers where they are", function()
    local output, status = shell.run("ROCLUA bench/arrays.lua 16384 1 /nowhere")
    assert.are.equal(0, status, output)
    local rows = 0
    for _ in output:gmatch("\n[%w_.]+ +%d+ +[%d.]+ +%-") do rows = rows + 1 end
    assert.equal(17, rows, output)
  end)

  it("groups compares checked and unchecked kernels", function()
    local output, status = shell.run("ROCLUA bench/groups.lua 64 1")
    assert.are.equal(0, status, output)
    for _, name in ipairs { "product", "tiled", "register_tile", "n_body", "n_body_while",
      "n_body_order" } do
      assert.matches("\n" .. name .. (" +[%d.]+"):rep(4) .. "\n", output)
    end
  end)

  it("launch finds that launches allocate nothing in Lua", function()
    local output, status = shell.run("ROCLUA_SPEC bench/launch.lua")
    assert.are.equal(0, status, output)
    local rows = 0
    for bytes in output:gmatch("\n%a+ [^\n]- ns +([%d.]+) bytes") do
      rows = rows + 1
      assert.equal("0.00", bytes, output)
    end
    assert.equal(8, rows, output) -- by Lua and by C, with arguments and without, on two devices
  end)

  it("amdgpu compares what every kernel executes with clang's #amdgpu", function()
    if not files.has_program("clang-22") then return pending("no clang-22") end
    local kernels = { "axpy", "gray", "scan", "floyd" }
    local output, status = shell.run("ROCLUA bench/amdgpu.lua --only=" .. table.concat(kernels, ",")
      .. " gfx1030 gfx1100")
    assert.are.equal(0, status, output)
    local executed, static = output:match("\ngfx1030, executed\n(.-)\ngfx1100, static\n(.*)")
    assert.is_string(executed, output)
    kernels[#kernels + 1] = "mean"
    for _, name in ipairs(kernels) do
      for _, part in ipairs { executed, static } do
        assert.matches("\n" .. name .. "[%s%a%d]-" .. ("%s+%d+%.%d%d"):rep(4), part)
      end
    end
    assert.not_matches(" nan | inf ", output)
  end)

  it("compile times the stages of two kernels", function()
    local output, status = shell.run("ROCLUA_CACHE=off ROCLUA bench/compile.lua")
    assert.are.equal(0, status, output)
    local numbers = ("%s+%d+%.%d%d"):rep(10)
    for _, name in ipairs { "saxpy, first", "saxpy, warm", "tiled, first", "tiled, warm" } do
      assert.matches("\n" .. name .. numbers .. "\n", output)
    end
  end)
end)
