-- Neighbouring workgroups that run as one (codegen/cpu/merge.c), and loops by the size of the grid,
-- each iteration of which has a range of a row's items (codegen/cpu/rows.c).
local roc = require "roc"
local testing = require("roc.core").testing

local function make(text, check)
  return roc.kernel(text, { env = { roc = roc }, check = check, name = "k" })
end

local function in_body(body)
  return "function(x, o, n) local i = roc.get_global_id(1) " .. body .. " end"
end

-- Whether the code has the place where the number of groups is chosen.
local function is_merged(body)
  local k = roc.kernel(in_body(body), { env = { roc = roc },
    signature = "(float32[:], float32[:], int64)" })
  return k:inspect_llvm("cpu:x86-64-v3"):find("\nmerge", 1, true) ~= nil
end

describe("neighbouring workgroups are one", function()
  it("where no item can tell", function()
    assert.is_true(is_merged "if i <= #o then o[i] = x[i] end")
    assert.is_true(is_merged "if i > 1 and i < n then o[i] = x[i - 1] + x[i] end")
    assert.is_true(is_merged "for k = i, #o, roc.get_global_size(1) do o[k] = x[k] end")
    assert.is_true(is_merged("if i <= #o then local s = 0.0 for k = 1, 4 do s = s + x[k] end "
      .. "o[i] = s end"))
    assert.is_true(is_merged "if i <= #o then o[i] = x[roc.int64(x[i])] end")
  end)

  it("but not where one can, or keeps something", function()
    assert.is_false(is_merged "if i <= #o then o[i] = roc.get_local_id(1) end")
    assert.is_false(is_merged "if i <= #o then o[i] = roc.get_group_id(1) end")
    assert.is_false(is_merged "if i <= #o then roc.atomic.add(o, 1, x[i]) end")
    assert.is_false(is_merged "if i <= #o then print(i) end")
    assert.is_false(is_merged "o[i] = x[i] roc.barrier() o[i] = o[i % 5 + 1]")
    assert.is_false(is_merged "if i <= #o then o[i] = x[roc.int64(o[i])] end")
    assert.is_false(is_merged "local s = 0.0 for k = 1, n do s = s + x[k] end o[i] = s")
  end)
end)

-- Which of several faults is told of depends on the threads; how many there are does not.
local function strip(message)
  return (tostring(message):gsub("index %-?%d+", "index"):gsub("work%-item {%d+}", "work-item"))
end

local function run(device, kernel, config, ...)
  local scope <close> = roc.on_device(device)
  local o = roc.to_device(roc.zeros(700, "int64"))
  local ok, message = pcall(function(...)
    kernel:launch(config, o, ...)
    roc.current_device():synchronize()
  end, ...)
  return ok and o:copy_to_host():totable() or strip(message)
end

describe("a launch of many workgroups", function()
  local BODIES = {
    "o[i] = i * n",
    "if i <= #o and i > n then o[i] = i end",
    "if i + n > 0 then o[i + n] = i end",
    "if i > 1 and i < #o then o[i - 1] = o[i - 1] + n end",
    "for k = i, #o, roc.get_global_size(1) do o[k] = o[k] + i + n end",
    "for k = i + n, #o, roc.get_global_size(1) do o[k] = o[k] + i end",
    "for k = i, #o - n, 64 do o[k] = k end",
    "for k = i, n, roc.get_global_size(1) do o[k] = i end",
    "for k = n, 3, roc.get_global_size(1) do o[i] = o[i] + k end",
    "local s = 0 for k = i, #o, roc.get_global_size(1) do s = s + k end o[i] = s * n",
  }
  local NUMBERS = { 0, 1, 7, 699, 700, 701, -3, math.maxinteger, math.mininteger }
  local SIZES = { { 700, 16 }, { 699, 64 }, { 37, 5 }, { 800, 256 }, { 1, 256 } }

  for _, body in ipairs(BODIES) do
    it("does what sim does, faults included: " .. body, function()
      local text = "function(o, n) local i = roc.get_global_id(1) " .. body .. " end"
      local kernel = make(text, true)
      for _, size in ipairs(SIZES) do
        local config = { grid = size[1], workgroup = size[2] }
        for _, n in ipairs(NUMBERS) do
          local is_endless = body:find("k = n, 3", 1, true) and n < 0
          if not (is_endless and n < -1000) then
            assert.same(run("sim", kernel, config, n), run("cpu", kernel, config, n),
              ("grid %d, workgroup %d, n = %d"):format(size[1], size[2], n))
          end
        end
      end
    end)
  end

  it("hands over what takes long, and loses nothing", function()
    local scope <close> = roc.on_device("cpu")
    local count = 1 << 21
    local o = roc.to_device(roc.zeros(count, "int64"))
    local kernel = make("function(o) local i = roc.get_global_id(1) o[i] = o[i] + i end")
    for _ = 1, 20 do kernel:launch({ grid = count, workgroup = 64 }, o) end
    local values = o:copy_to_host()
    for i = 1, count, 4093 do assert.equal(20 * i, values[i]) end
    assert.equal(20 * count, values[count])
  end)
end)

describe("workgroups have an order", function()
  local function is_unordered(body)
    local code <close> = roc.kernel(in_body(body), { env = { roc = roc },
      signature = "(int64[:], int64[:], int64)" }):compile("cpu:x86-64-v3")
    return testing.code_is_unordered(code)
  end

  it("where one may wait for another, or prints", function()
    assert.is_false(is_unordered "while roc.atomic.load(x, i) == 0 do end o[i] = n")
    assert.is_false(is_unordered "local ticket = roc.atomic.add(x, 1, 1) o[ticket + 1] = i")
    assert.is_false(is_unordered "if i == n then print(i) end")
  end)

  it("and none elsewhere", function()
    assert.is_true(is_unordered "if i <= #o then o[i] = x[i] end")
    assert.is_true(is_unordered "roc.atomic.add(o, x[i] % 8 + 1, 1)")
    assert.is_true(is_unordered([[local s = roc.shared.array(4, roc.int64)
      o[i] = roc.atomic.add(s, i % 4 + 1, 1)]]))
  end)
end)
