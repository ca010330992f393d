-- Loops that look around run in strips on cpu: however often a strip ends, the results are those of
-- the reference, and what LLVM makes vectors of it still does.
local roc = require "roc"

-- Bodies of kernel(z, x, n), z of 3 and x of 64 integers.
local LOOPS = {
  ["for"] = "for k = 1, n do s = s * 31 ~ x[k & 63 | 1] end",
  ["for that counts down"] = "for k = n, 1, -3 do s = s * 31 ~ k end",
  ["for that is left"] = "for k = 1, n do s = s * 31 ~ k if s & 0xfff == 5 then break end end",
  ["for that goes on"] =
    "for k = 1, n do if s & 3 == 1 then s = s + k goto on end s = s ~ k ::on:: end",
  ["for that returns"] =
    "for k = 1, n do s = s * 31 ~ k if s & 0xfff == i then z[i] = k return end end",
  ["for of each item"] = "for k = i, n + i do s = s * 31 ~ k end",
  ["for in a for"] = "for j = 1, n >> 5 do for k = j, j + (n >> 8) do s = s * 31 ~ k end end",
  ["for in a while"] =
    "local j = 1 while j < n do for k = 1, j do s = s * 31 ~ k end j = j * 3 end",
  ["while"] = "local k = 1 while k <= n do s = s * 31 ~ k k = k + 1 end s = s ~ k << 40",
  ["while below"] = "local k = 1 while k < n do s = s * 31 ~ k k = k + 7 end s = s ~ k << 40",
  ["while above"] = "local k = 1 while n >= k do k = k + 1 s = s * 31 ~ k end s = s ~ k << 40",
  ["while to an extent"] = "local k = 1 while k <= #x * 300 do s = s * 31 ~ k k = k + 2 end",
  ["while that advances at its begin"] = "local k = 0 while k < n do k = k + 1 s = s * 31 ~ k end",
  ["while that uses its condition"] = [[
    local k = 1
    while true do
      local goes_on = k <= n
      if goes_on then s = s * 31 ~ k else s = s + 1 end
      if not goes_on then break end
      k = k + 1
    end]],
  ["while that does something first"] = [[
    local k = 1
    while true do s = s * 31 ~ k if k > n then break end k = k + 1 end]],
  ["while that is left elsewhere"] =
    "local k = 1 while k <= n do s = s * 31 ~ k if s & 0xfff == 5 then break end k = k + 1 end",
  ["while that goes on"] = [[
    local k, j = 1, 0
    while k <= n do
      j = j + 1
      if j & 1 == 1 then goto on end
      s = s * 31 ~ k
      k = k + 1
      ::on::
    end]],
  ["while whose bound moves"] = [[
    local k, m = 1, n
    while k <= m do s = s * 31 ~ k k = k + 1 if k & 7 == 0 then m = m - 1 end end]],
  ["while that sets its counter twice"] =
    "local k = 1 while k <= n do k = k + 1 if k & 15 == 3 then k = k + 5 end s = s * 31 ~ k end",
  ["while that wraps"] = [[
    local k, rounds = math.maxinteger - n, 0
    while k <= math.maxinteger do
      k = k + 1
      rounds = rounds + 1
      if rounds > n + 5 then break end
    end
    s = rounds]],
  ["while by bits"] =
    "local k = n * 0x9e3779b97f4a7c15 while k ~= 0 do k = k & (k - 1) s = s + 1 end",
  ["repeat"] = "local k = 0 repeat k = k + 1 s = s * 31 ~ k until k >= n",
  ["repeat that compares what was"] = [[
    local k = 0
    repeat local was = k k = k + 1 s = s * 31 ~ k until was > n]],
  ["repeat that advances at its begin"] =
    "local k = 0 repeat k = k + 3 s = s * 31 ~ k until k > n s = s ~ k << 40",
  ["at barriers"] = "for k = 1, n >> 3 do s = s * 31 ~ k roc.barrier() end",
  ["rows"] = "for k = 1, n do z[i] = z[i] * 31 ~ x[k & 63 | 1] end s = z[i]",
  ["strides"] = "for k = i, n, roc.get_global_size(1) do z[i] = z[i] * 31 ~ k end s = z[i]",
}

local function run(device, kernel, n)
  local scope <close> = roc.on_device(device)
  local z = roc.to_device(roc.zeros(3, "int64"))
  local x = roc.to_device(roc.range(1, 64, 1, "int64"))
  kernel:launch({ grid = 3, workgroup = 3 }, z, x, n)
  return z:copy_to_host():totable()
end

describe("a loop on cpu", function()
  for title, body in pairs(LOOPS) do
    it(title .. " is as on sim, however long it is", function()
      for _, check in ipairs { true, false } do
        local text = "function(z, x, n)\nlocal i, s = roc.get_global_id(1), 1\n" .. body
        text = text .. "\nz[i] = s\nend"
        local kernel = roc.kernel(text, { env = { roc = roc, math = math }, check = check })
        for _, n in ipairs { 0, 1, 5, 30000 } do
          assert.same(run("sim", kernel, n), run("cpu", kernel, n))
        end
      end
    end)
  end
end)
