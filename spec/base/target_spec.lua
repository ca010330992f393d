-- How many wavefronts of a kernel a SIMD keeps, and what limits them; against LLVM's own count
-- where its llc is installed.
local roc = require "roc"
local core = require "roc.core"
local files = require "support.files"

local occupancy = core.testing.occupancy

describe("the occupancy of a kernel #amdgpu", function()
  local function check(expected, ...)
    assert.are.same(expected, { occupancy(...) })
  end

  it("is the most a SIMD holds when it asks for little", function()
    check({ 10, 10, "waves" }, "gfx906", 8, 16, 0, 256)
    check({ 8, 8, "waves" }, "gfx90a", 8, 16, 0, 256)
    check({ 16, 16, "waves" }, "gfx1100", 8, 16, 0, 256)
  end)

  it("falls with vector registers, in steps of the granule", function()
    check({ 10, 10, "waves" }, "gfx906", 24, 16, 0, 256)
    check({ 9, 10, "vgprs" }, "gfx906", 25, 16, 0, 256)
    check({ 1, 10, "vgprs" }, "gfx906", 256, 16, 0, 256)
    check({ 8, 8, "waves" }, "gfx942", 64, 16, 0, 256)
    check({ 7, 8, "vgprs" }, "gfx942", 65, 16, 0, 256)
    check({ 1, 8, "vgprs" }, "gfx90a", 512, 16, 0, 256)
    check({ 9, 16, "vgprs" }, "gfx1030", 97, 16, 0, 256)
    check({ 12, 16, "vgprs" }, "gfx1100", 97, 16, 0, 256)
  end)

  it("falls with scalar registers where wavefronts share them", function()
    check({ 10, 10, "waves" }, "gfx900", 8, 80, 0, 256)
    check({ 8, 10, "sgprs" }, "gfx900", 8, 96, 0, 256)
    check({ 7, 10, "sgprs" }, "gfx900", 8, 97, 0, 256)
    check({ 16, 16, "waves" }, "gfx1201", 8, 106, 0, 256)
  end)

  it("falls with shared memory, by whole workgroups", function()
    check({ 2, 10, "shared" }, "gfx906", 8, 16, 32768, 256)
    check({ 1, 10, "shared" }, "gfx906", 8, 16, 65536, 256)
    check({ 5, 8, "shared" }, "gfx950", 8, 16, 32768, 256)
    check({ 8, 16, "shared" }, "gfx1030", 8, 16, 32768, 256)
    check({ 0, 10, "shared" }, "gfx906", 8, 16, 65537, 256)
  end)

  it("falls when workgroups do not fill the block", function()
    check({ 8, 10, "workgroup" }, "gfx906", 8, 16, 0, 1024)
    check({ 8, 10, "workgroup" }, "gfx906", 8, 16, 0, 128)
    check({ 16, 16, "waves" }, "gfx1100", 8, 16, 0, 32)
    check({ 0, 16, "workgroup" }, "gfx1100", 8, 16, 0, 1025)
  end)

  local function kernel_with(nvalues)
    local text = { "function(x, y) local i = roc.get_global_id(1)" }
    for j = 1, nvalues do text[#text + 1] = ("local v%d = x[i + %d]"):format(j, 7 * j) end
    text[#text + 1] = "roc.barrier()"
    for j = 1, nvalues do text[#text + 1] = ("y[i + %d] = v%d"):format(3 * j, j) end
    text[#text + 1] = "end"
    return roc.kernel(table.concat(text, "\n"),
      { signature = "(float64[:], float64[:])", check = false, env = { roc = roc } })
  end

  local function llvm_occupancy(kernel, chip, path)
    local file = assert(io.open(path, "w"))
    file:write(kernel:inspect_llvm(chip, "opt"))
    file:close()
    local text = files.run(("llc-22 -mcpu=%s %s -o -"):format(chip, path))
    return math.tointeger(tonumber(text:match("; Occupancy: (%d+)")))
  end

  it("is what LLVM counts, for every chip", function()
    if not files.has_program("llc-22") then return pending("needs llc-22") end
    local path, limits = os.tmpname(), {}
    for _, nvalues in ipairs { 4, 24, 60 } do
      local kernel = kernel_with(nvalues)
      for _, chip in ipairs(core.targets("amdgpu")) do
        local ours = kernel:resources(chip, 256).occupancy
        limits[ours.limit] = true
        assert.are.equal(llvm_occupancy(kernel, chip, path), ours.waves, chip)
      end
    end
    os.remove(path)
    assert.is_true(limits.vgprs and limits.waves)
  end)
end)

describe("the workgroup of a launch that names none #amdgpu", function()
  local choose = core.testing.choose_workgroup

  it("has 256 work-items where that loses no wavefronts", function()
    assert.are.equal(256, choose("gfx90a", 32, 24, 0, 1024))
    assert.are.equal(256, choose("gfx1030", 32, 24, 1024, 1024))
    assert.are.equal(256, choose("gfx90a", 512, 24, 0, 1024))
  end)

  it("is larger where shared memory is what runs out", function()
    assert.are.equal(512, choose("gfx90a", 32, 24, 16384, 1024))
    assert.are.equal(1024, choose("gfx90a", 32, 24, 40000, 1024))
    assert.are.equal(1024, choose("gfx1030", 32, 24, 65536, 1024))
  end)

  it("keeps within the promise of the kernel", function()
    assert.are.equal(128, choose("gfx90a", 32, 24, 16384, 255))
    assert.are.equal(48, choose("gfx90a", 32, 24, 0, 48))
  end)

  it("is the best one there is, and the first of those", function()
    for _, chip in ipairs(core.targets("amdgpu")) do
      for _, vgprs in ipairs { 24, 84, 130, 250 } do
        for shared = 0, 65536, 6000 do
          local chosen = choose(chip, vgprs, 40, shared, 1024)
          local waves = occupancy(chip, vgprs, 40, shared, chosen)
          local is_before = true
          for _, items in ipairs { 256, 512, 128, 1024, 64 } do
            if items == chosen then is_before = false end
            local other = occupancy(chip, vgprs, 40, shared, items)
            assert.is_true(other < waves or (other == waves and not is_before)
              or items == chosen, ("%s %d %d: %d"):format(chip, vgprs, shared, items))
          end
        end
      end
    end
  end)
end)
