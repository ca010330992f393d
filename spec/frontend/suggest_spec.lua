-- What the compiler says of names that a kernel does not know, and of arrays and functions used
-- otherwise than they are: each message says what to write.
local roc = require "roc"

local matrix, vector = roc.zeros({ 2, 2 }), roc.zeros(4)

-- The diagnostics of "function(x, n) <body> end", called with a vector (or a matrix) and a number.
local function diagnostics(body, x)
  local k = roc.kernel(("function(x, n) %s end"):format(body), { env = { roc = roc, math = math,
    print = print } })
  local ok, why = pcall(k:forall(1), x or vector, 1)
  assert.is_false(ok, "the kernel compiled")
  return tostring(why)
end

local function it_says(title, body, text, x)
  it(title, function()
    local message = diagnostics(body, x)
    assert.is_truthy(message:find(text, 1, true), ("%s does not say: %s"):format(message, text))
  end)
end

describe("an unknown name in a kernel", function()
  local near = {
    ["roc.get_globalid(1)"] = "roc.get_global_id",
    ["roc.get_global_Id(1)"] = "roc.get_global_id",
    ["roc.wave.shufle(n, 1)"] = "roc.wave.shuffle",
    ["roc.atomic.ad(x, 1, n)"] = "roc.atomic.add",
    ["roc.math.expm(n)"] = "roc.math.expm1",
    ["roc.baryer()"] = "roc.barrier",
    ["math.sqr(n)"] = "math.sqrt",
    ["get_global_id(1)"] = "roc.get_global_id",
    ["cuda.grid(1)"] = "roc.grid",
    ["hsa.get_global_id(1)"] = "roc.get_global_id",
    ["cuda.atomic.add(x, 1, n)"] = "roc.atomic.add",
    ["np.sqrt(n)"] = "math.sqrt",
    ["sqrtf(n)"] = "math.sqrt",
    ["barrier()"] = "roc.barrier",
    ["np.float32(n)"] = "roc.float32",
    ["barrier(CLK_LOCAL_MEM_FENCE)"] = "roc.CLK_LOCAL_MEM_FENCE",
    ["pritn(n)"] = "print",
  }
  for text, name in pairs(near) do
    it_says(("%s: did you mean %s"):format(text, name), "local v = " .. text,
      ("is not defined; did you mean '%s'?"):format(name))
  end

  local foreign = {
    ["threadIdx.x"] = "roc.get_local_id(d), with d = 1 for x; ids count from 1",
    ["cuda.threadIdx.y"] = "roc.get_local_id(d), with d = 1 for x; ids count from 1",
    ["blockIdx.x * blockDim.x"] = "roc.get_group_id(d)",
    ["blockDim.z"] = "roc.get_local_size(d)",
    ["gridDim.x"] = "roc.get_num_groups(d)",
    ["hipThreadIdx_x"] = "roc.get_local_id(1)",
    ["cuda.syncthreads()"] = "roc.barrier()",
    ["__syncthreads()"] = "roc.barrier()",
    ["warpSize"] = "roc.wavefront_size()",
    ["cuda.laneid"] = "roc.lane_id()",
    ["__shfl_down_sync(1, n, 2)"] = "roc.wave.shuffle_down(v, distance)",
    ["atomicAdd(x, n)"] = "roc.atomic.add(a, i, v)",
    ["cuda.local.array(4, 'float32')"] = "roc.private.array(shape, dtype)",
    ["fmaxf(n, 1)"] = "math.max(x, y)",
    ["pow(n, 2)"] = "x ^ y",
    ["len(x)"] = "#a",
    ["float(n)"] = "roc.float32(x), or roc.float64(x)",
    ["True"] = "true",
  }
  for text, advice in pairs(foreign) do
    -- `local` is a word of Lua, so that module is reached by a string
    local body = "local v = " .. text:gsub("cuda%.local", "cuda['local']")
    it_says(("%s: write %s"):format(text, advice), body, "is not defined; write " .. advice)
  end

  it_says("that is near a local's names the local", "local index = 1 x[indx] = 1",
    "'indx' is not defined; did you mean 'index'?")
  it_says("that is near no other says no more", "local v = qqqqqqq", "'qqqqqqq' is not defined\n")

  it("roc says how a kernel sees the module", function()
    local k = roc.kernel("function(x) x[roc.get_global_id(1)] = 1 end", { env = {} })
    assert.error_matches(function() k:forall(1)(vector) end,
      "is not defined; write local roc = require \"roc\" before the kernel")
  end)

  it_says("of an array is answered with the near field", "x[1] = x.sizes",
    "arrays have no field 'sizes' in a kernel; did you mean 'size'?")
  it_says("of an array that comes from elsewhere is answered with ours", "x[1] = x.length",
    "arrays have no field 'length' in a kernel; write #a")
  it_says("of an array that only the host has is no advice", "x[1] = x.T",
    "arrays have no field 'T' in a kernel; there are shape, size, ndim and dtype")
end)

describe("a function of the host in a kernel", function()
  it_says("that makes an array says where arrays come from", "local y = roc.zeros(3)",
    "'roc.zeros' is a function of the host; make the array before the launch and pass it, or use "
      .. "roc.private.array or roc.shared.array")
  it_says("written in Lua too", "local y = roc.vectorize(n)",
    "'roc.vectorize' is a function of the host; call it before the launch")
  it("that was built says so", function()
    for _, built in ipairs { roc.vectorize(function(y) return y end),
      roc.reduce(function(y, z) return y + z end), roc.scan(function(y, z) return y + z end),
      roc.guvectorize(function(y, o) o[1] = y[1] end, "(n)->()") } do
      local k = roc.kernel(function(x) x[1] = built(x) end)
      assert.error_matches(function() k:forall(1)(vector) end,
        "'built' is a function of the host; call it before the launch")
    end
  end)
  it_says("that counts says to write a loop", "local y = roc.range(1, 3)", "write a numeric for")
  it_says("that draws says where random numbers come from", "x[1] = roc.random(3)",
    "kernels/random.lua")
end)

describe("an array in a kernel", function()
  it_says("of one dimension has elements, not rows", "x[n][n] = 1",
    "'x' has 1 dimension: write x[i]")
  it_says("is told where it is read", "local v = x[n][n]", "'x' has 1 dimension: write x[i]")
  it_says("of two dimensions has no third", "local v = x[1][2][3]",
    "'x' has 2 dimensions: write x[i][j]", matrix)
  it_says("of two dimensions has no rows that are assigned", "x[n] = 1",
    "'x' has 2 dimensions: write x[i][j] = v, or loop over its elements", matrix)
  it_says("of the group needs a dtype", "local s = roc.shared.array(4)",
    "write roc.shared.array(shape, dtype)")
  it_says("of the item needs a dtype", "local s = roc.private.array(n)",
    "write roc.private.array(shape, dtype)")
  it_says("of the group has a constant shape, or the launch's",
    "local s = roc.shared.array(n, 'int8')",
    "write roc.shared.array(0, dtype) and launch with shared = bytes")
  it_says("takes a dtype that there is", "local s = roc.shared.array(4, 'f32')",
    "'f32' is none; write \"float32\"")
  it_says("takes no other name of one", "local s = roc.private.array(4, 'folat32')",
    "'folat32' is none; did you mean 'float32'?")
end)

describe("a number as a condition", function()
  local function hints(body)
    local k = roc.kernel(("function(x, n) %s end"):format(body), { name = "k" })
    k:forall(1)(roc.zeros(4, "float32"), 2)
    return k:hints()
  end

  for _, device in ipairs { "cpu", "sim" } do
    describe("on " .. device, function()
      local was
      setup(function()
        was = roc.current_device()
        roc.select_device(device)
      end)
      teardown(function() roc.select_device(was) end)

      it("is a hint, with its text", function()
        for body, text in pairs {
          ["if x[1] then x[2] = 1 end"] = "x[1]",
          ["while x[n] do x[2] = 1 break end"] = "x[n]",
          ["repeat x[2] = 1 until n"] = "n",
          ["if not x[1] then x[2] = 1 end"] = "x[1]",
          ["if n > 1 and x[1] then x[2] = 1 end"] = "x[1]",
          ["if (x[1] and n > 1) then x[2] = 1 elseif x[3] then x[1] = 1 end"] = "x[1]",
        } do
          local list = hints(body)
          assert.equal(1, #list, body)
          local expected = ("takes the number %s for a condition here, and every number is true in "
            .. "Lua, 0 too; write %s ~= 0"):format(text, text)
          assert.is_truthy(list[1]:find(expected, 1, true), list[1])
        end
      end)

      it("is none where it is meant", function()
        for _, body in ipairs {
          "if x[1] ~= 0 then x[2] = 1 end",
          "while true do x[2] = 1 break end",
          "while 1 do x[2] = 1 break end",
          "x[1] = n > 1 and x[2] or x[3]",
          "x[1] = (n and 2) or 3",
        } do
          assert.same({}, hints(body), body)
        end
      end)
    end)
  end
end)
