-- Specialisations: what makes a new one, how many are kept, and that their memory comes back.
local roc = require "roc"
local devices = require "support.devices"
local testing = require("roc.core").testing

local function compiles(k)
  local _, ever = k:specialisations()
  return ever
end

describe("a specialisation", function()
  devices.use("cpu")

  local function device(shape, dtype)
    return roc.to_device(roc.zeros(shape, dtype))
  end

  it("serves all arguments of the same types", function()
    local k = roc.kernel(function(n, y) y[1] = n end)
    local launch, y = k:forall(1), device(4, "int64")
    for i = 1, 10 do launch(i, y) end
    launch(1000, device(100, "int64"))
    assert.equal(1, compiles(k))
    assert.equal(10, y[1])
  end)

  it("is made anew for another dtype, rank, layout or range", function()
    local k = roc.kernel(function(n, y) if #y > n then return end end)
    local launch, y = k:forall(1), device(4, "int64")
    local expected = 0
    for _, args in ipairs {
      { 1, y }, { 1.5, y }, { -1, y }, { 1, device(4, "float32") }, { 1, device { 2, 2 } },
      { 1, device({ 2, 2 }):transpose() }, { 1, device({ 4, 4 }):slice(2, 1, 2) },
      { 1 << 40, device(4) },
    } do
      launch(args[1], args[2])
      launch(args[1], args[2])
      expected = expected + 1
      assert.equal(expected, compiles(k))
    end
  end)

  it("is not made anew because arrays that are only read overlap", function()
    local k = roc.kernel(function(a, b, y) y[1] = a[1] + b[1] end)
    local launch, a, b, y = k:forall(1), device(4), device(4), device(4)
    launch(a, a, y)
    launch(a, b, y)
    assert.equal(1, compiles(k))
    launch(a, b, a)
    assert.equal(2, compiles(k))
    launch(a, b, b)
    launch(a, b, a)
    assert.equal(3, compiles(k))
  end)

  it("holds two values of a captured number, a third makes it an argument", function()
    local v = 1
    local k = roc.kernel(function(y) y[1] = v end)
    local launch, y = k:forall(1), device(1, "int64")
    for i, expected in ipairs { 1, 2, 3, 3, 3 } do
      v = i
      launch(y)
      assert.equal(i, y[1])
      assert.equal(expected, compiles(k))
    end
    v = 1
    launch(y)
    assert.equal(1, y[1])
    assert.equal(3, compiles(k))
  end)

  it("keeps a number constant where the compiler needs it, and the others not", function()
    local size, v = 1, 1
    local k = roc.kernel(function(y)
      local t = roc.private.array(size, roc.int64)
      t[1] = v
      y[1] = t[1] + #t
    end)
    local launch, y = k:forall(1), device(1, "int64")
    for i = 1, 6 do
      size, v = i, 10 * i
      launch(y)
      assert.equal(11 * i, y[1])
    end
    local before = compiles(k)
    for i = 100, 110 do
      v = i
      launch(y)
      assert.equal(i + 6, y[1])
    end
    assert.equal(before, compiles(k))
  end)

  it("is compiled at once for a signature", function()
    local k = roc.kernel(function(n, y) y[1] = n end, { signature = "(int64, int64[:])" })
    assert.equal(1, compiles(k))
    local y = device(4, "int64")
    k:forall(1)(5, y)
    assert.equal(5, y[1])
    assert.matches("kernel", k:inspect_llvm())
  end)

  it("gets numbers rounded once to the type its signature states", function()
    for _, name in ipairs { "cpu", "sim" } do
      local scope <close> = roc.on_device(name)
      for _, dtype in ipairs { "float16", "bfloat16", "float32", "float64" } do
        local k = roc.kernel("function(n, y) y[1] = n end",
          { signature = ("(%s, float64[:])"):format(dtype) })
        for _, n in ipairs { 0.1, 7, (1 << 54) + (1 << 30) + 1, -1e300 } do
          local y = roc.to_device(roc.zeros(1))
          k:forall(1)(n, y)
          assert.equal(roc[dtype](n), y[1], ("%s of %s on %s"):format(dtype, n, name))
        end
      end
    end
  end)

  it("is compiled for the layout its signature states, and later for others", function()
    local k = roc.kernel(function(x, y) y[1] = x[1][2] end,
      { signature = "(int64[::1,:], int64[:])" })
    assert.matches("x%.0: int64%[2%] f", k:inspect_ir())
    local x = roc.array({ { 1, 2 }, { 3, 4 } }, "int64")
    local f, y = roc.device_array({ 2, 2 }, "int64", "F"), device(1, "int64")
    f:copy_from_host(x)
    k:forall(1)(f, y)
    assert.equal(1, compiles(k))
    k:forall(1)(roc.to_device(x), y)
    assert.equal(2, y[1])
    assert.equal(2, compiles(k))
  end)

  it("tells how long each stage of its compile took", function()
    local k = roc.kernel(function(y) y[1] = 1 end)
    assert.is_nil(k:times())
    k:forall(1)(device(1))
    local times, names = k:times(), {}
    for name, ms in pairs(times) do
      names[#names + 1] = name
      assert.is_true(ms >= 0 and ms < 1e6, name)
    end
    table.sort(names)
    assert.equal("build emit front_end load open optimise passes verify", table.concat(names, " "))
    assert.is_true(times.front_end > 0 and times.load > 0)
    k:inspect_ir()
    assert.same(times, k:times()) -- looking is not compiling
  end)

  it("is one of at most 64", function()
    local size = 1
    local k = roc.kernel(function(y)
      local t = roc.private.array(size, roc.int64)
      t[1] = size
      y[1] = t[1]
    end)
    local launch, y = k:forall(1), device(1, "int64")
    for i = 1, 70 do
      size = i
      launch(y)
    end
    assert.equal(70, y[1])
    local kept, ever = k:specialisations()
    assert.equal(64, kept)
    assert.equal(70, ever)
    size = 70
    launch(y)
    assert.equal(70, compiles(k))
    size = 1 -- long dropped
    launch(y)
    assert.equal(71, compiles(k))
    assert.equal(1, y[1])
  end)

  it("gives its memory back with its kernel", function()
    local y = device(1, "int64")
    local function make(i)
      local k = roc.kernel(("function(y) y[1] = %d end"):format(i))
      k:forall(1)(y)
      roc.current_device():synchronize()
    end
    local function live()
      collectgarbage()
      collectgarbage()
      return testing.live_blocks()
    end
    make(1)
    make(2)
    local before = live()
    for i = 3, 12 do make(i) end
    -- The compiler's thread unloads code soon after the last kernel that used it is gone.
    local patience = os.clock() + 5
    while live() > before + 2 and os.clock() < patience do end
    assert.is_true(live() <= before + 2, "blocks were " .. before .. ", are " .. live())
  end)
end)

describe("the promise of a workgroup, on an AMD GPU,", function()
  if devices.missing then
    it("is looked at where there is one", function() pending(devices.missing) end)
    return
  end
  devices.use("hsa")

  local function sizes_kernel()
    return roc.kernel(function(y)
      local i = roc.get_global_id(1)
      if i <= y.shape[1] then
        y[i][1], y[i][2] = roc.get_local_size(1), roc.get_local_id(1)
        y[i][3], y[i][4] = roc.get_num_groups(1), roc.get_local_size(2) * roc.get_local_size(3)
      end
    end, { workgroup = 128 })
  end

  local function check(k, items, workgroup)
    local y = roc.to_device(roc.zeros({ items, 4 }, "int32"))
    k:launch({ grid = items, workgroup = workgroup }, y)
    for i, row in ipairs(y:copy_to_host():totable()) do
      assert.same({ workgroup, (i - 1) % workgroup + 1, (items + workgroup - 1) // workgroup, 1 },
        row)
    end
  end

  it("makes code for the promised one, and code for smaller ones", function()
    local k = sizes_kernel()
    for _, launch in ipairs { { 300, 128, 1 }, { 300, 64, 2 }, { 129, 128, 2 }, { 300, 96, 2 } } do
      check(k, launch[1], launch[2])
      assert.equal(launch[3], compiles(k))
    end
  end)

  it("makes code for any where the launch leaves it open", function()
    local k = sizes_kernel()
    local y = roc.to_device(roc.zeros({ 300, 4 }, "int32"))
    k:forall(300)(y)
    k:launch({ grid = 300, workgroup = 32 }, y)
    assert.equal(1, compiles(k))
  end)

  it("reads no size of the workgroup in the code for the promised one", function()
    local k = sizes_kernel()
    check(k, 300, 64)
    local general = k:inspect_llvm(roc.current_device().arch)
    check(k, 300, 128)
    local exact = k:inspect_llvm(roc.current_device().arch)
    local size <const> = "and i32 %%[%w_]+, 65535"
    assert.matches(size, general)
    assert.is_nil(exact:find(size))
  end)
end)
