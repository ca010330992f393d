-- Uses roc from a script that has spoilt Lua's libraries, one name at a time: roc must not notice.
--
-- clobbered.lua WAY WHEN: WAY is how a name is spoilt ("nil", "text" or "function"); WHEN is
-- "before" (roc is required again after each, and only global names are spoilt), "after",
-- "all-before" or "all-after". Prints the names under which the results were others than with whole
-- libraries, and "done". A plain program for roclua and a stock lua5.4; it keeps to locals, so that
-- it works itself.
local way, when = ...

-- Lua's names as locals of this file.
local error, getmetatable, ipairs, pairs, pcall, print, rawget, rawset, require =
  error, getmetatable, ipairs, pairs, pcall, print, rawget, rawset, require
local select, tostring, type = select, tostring, type
local format, gmatch, gsub, match = string.format, string.gmatch, string.gsub, string.match
local remove, tmpname = os.remove, os.tmpname
local concat, floor, max, sqrt = table.concat, math.floor, math.max, math.sqrt
local loaded, exit = package.loaded, os.exit

-- what is done with roc ---------------------------------------------------------------------------

local function step(x) return floor(x * 1.5) end

local function arrays(roc, add)
  add(tostring(roc.array { { 1, 2 }, { 3, 4 } }))
  add(tostring(roc.linspace(0, 1e9, 7)), tostring(roc.array { true, false }))
  add(tostring(roc.full(2000, -1, "uint64")), tostring(roc.array { 1e-5, 0 / 0, 2.5 }))
  add(tostring(roc.array { 1.5, 0.25 }:reshape(2, 1):transpose()), tostring(roc.float32))
  local path = tmpname()
  roc.save(path, roc.range(1, 3))
  add(tostring(roc.load(path)), roc.allclose(roc.ones(2), roc.ones(2)))
  remove(path)
end

local function kernels(roc, add)
  local lines = roc.kernel(function(x, y, n, count)
    local part = roc.shared.array(4, roc.int32)
    local i, l = roc.get_global_id(1), roc.get_local_id(1)
    part[l] = i
    roc.barrier()
    local s = roc.wave.sum(part[l])
    if i <= #x then y[i] = step(x[i]) + part[1] + roc.math.round(0.6) + 7 // n + s * 0 end
    roc.atomic.add(count, 1, 1)
  end)
  local x, y = roc.to_device(roc.range(1, 8, 1, "float32")), roc.to_device(roc.zeros(8))
  local count = roc.to_device(roc.zeros(1, "int32"))
  lines[{ 2, 4 }](x, y, 2, count)
  add(tostring(y))
  local host = roc.zeros(8)
  lines[{ 2, 4 }](x, roc.InOut(host), 3, count)
  add(tostring(host), count[1])
  local text = roc.kernel("function(a) a[roc.get_global_id(1)] = 3 end", { env = { roc = roc } })
  text:forall(8)(y)
  add(tostring(y), text:inspect_types(y))
  local failed = roc.kernel(function(a, n) a[n] = 1 end, { name = "beyond" })
  failed:forall(1)(y, 100)
  add(pcall(y.copy_to_host, y))
end

local function builders(roc, add)
  local a = roc.array { 1.0, 2.0, 3.0 }
  add(tostring(roc.vectorize(function(p, q) return p * 2 + q end)(a, 1)))
  add(tostring(roc.vectorize(sqrt)(a)))
  add(roc.reduce(function(p, q) return p + q end, 0)(a))
  add(roc.reduce(max)(roc.to_device(a)))
  add(tostring(roc.scan(function(p, q) return p + q end)(roc.range(1, 700))))
  local product = roc.guvectorize(function(p, q, r)
    for i = 1, #p do r[i] = p[i] * q[i] end
  end, "(n),(n)->(n)")
  add(pcall(product, a, a))
  add(pcall(roc.vectorize, 3))
  add(pcall(roc.vectorize(function(p) return p + 1 end), a, a))
end

local function library(roc, add)
  for _, name in ipairs { "gemm", "histogram", "nbody", "random", "reduce", "saxpy", "scan",
    "transpose" } do
    add(type(require("roc.kernels." .. name)))
  end
  if roc.current_device().kind == "sim" then return end -- which takes its time
  local a = roc.to_device(roc.ones({ 16, 16 }, "float32"))
  local b = roc.device_array({ 16, 16 }, "float32")
  require("roc.kernels.gemm").tiled[{ { 1, 1 }, { 16, 16 } }](a, a, b)
  add(b[3][4], require("roc.kernels.reduce").total(b:ravel()))
  add(tostring(require("roc.kernels.scan").inclusive(a:ravel())))
  local bodies, velocity = roc.to_device(roc.ones({ 2, 4 }, "float32")),
    roc.to_device(roc.zeros({ 2, 3 }, "float32"))
  local moved = roc.device_array({ 2, 4 }, "float32")
  require("roc.kernels.nbody").step[{ 1, 128 }](bodies, velocity, moved, 0.5, 1)
  add(tostring(moved))
end

local function errors(roc, add)
  add(pcall(roc.zeros, -1))
  add(pcall(roc.kernel, function(a) a[1] = {} end, { signature = "(float32[:])" }))
  add(pcall(roc.kernel, "function(", {}))
  add(pcall(roc.kernel, step, { oops = 1 }))
  add(pcall(roc.kernel, tostring))
  add(pcall(roc.get_global_id, 1), pcall(roc.source, 1))
  add(pcall(roc.const.array, { {}, 1 }))
  add(pcall(function() return roc.nothing.at_all end))
end

local PARTS = { arrays, kernels, builders, library, errors }

-- All results as one text; an error of a part is one of them.
local function results()
  local list = {}
  local function add(...)
    for i = 1, select("#", ...) do
      -- Lua finds a C function's name in package.loaded, where several may name it.
      list[#list + 1] = gsub(tostring((select(i, ...))), "#(%d) to '[^']*'", "#%1")
    end
  end
  local is_there, roc = pcall(require, "roc")
  if not is_there then return tostring(roc) end
  for _, device in ipairs { "cpu", "sim" } do
    for _, part in ipairs(PARTS) do
      local ok, why = pcall(function()
        local scope <close> = roc.on_device(device)
        part(roc, add)
      end)
      if not ok then add("FAILED " .. tostring(why)) end
    end
  end
  return concat(list, "\n")
end

-- spoiling ----------------------------------------------------------------------------------------

local SPOILT = {
  ["nil"] = nil,
  text = "spoilt",
  ["function"] = function() error("spoilt", 0) end,
}

local function unload()
  for name in pairs(loaded) do
    if match(name, "^roc") then loaded[name] = nil end
  end
end

-- Every name of Lua: {table, key}, those of libraries too when roc is there already. Those of
-- package are not: without them `require` itself fails.
local function names()
  local list, globals = {}, _G
  for name, value in pairs(globals) do
    list[#list + 1] = { globals, name, name }
    if type(value) == "table" and value ~= globals and loaded[name] == value then
      for key in pairs(value) do
        if name ~= "package" and when ~= "before" then
          list[#list + 1] = { value, key, name .. "." .. key }
        end
      end
    end
  end
  list[#list + 1] = { getmetatable(""), "__index", "methods of strings" }
  return list
end

local function spoil(list, i, j)
  local kept = {}
  for at = i, j do
    local place = list[at]
    kept[at] = rawget(place[1], place[2])
    rawset(place[1], place[2], SPOILT[way])
  end
  return function()
    for at = i, j do rawset(list[at][1], list[at][2], kept[at]) end
  end
end

-- The first line of a result that is another than wanted.
local function difference(got, expected)
  local next_line = gmatch(expected, "[^\n]*")
  for line in gmatch(got, "[^\n]*") do
    local other = next_line()
    if line ~= other then return format("%s, expected %s", line, tostring(other)) end
  end
  return "lines are missing"
end

local wanted = results()
local failed = match(wanted, "FAILED[^\n]*")
if failed then
  print(failed)
  exit(1)
end
local list = names()
local step_of = match(when, "^all") and #list or 1
if match(when, "before$") then unload() end
for i = 1, #list, step_of do
  local restore = spoil(list, i, i + step_of - 1)
  local got = results()
  restore()
  if got ~= wanted then
    print(step_of == 1 and list[i][3] or "all", difference(got, wanted))
  end
  if match(when, "before$") then unload() end
end
print("done")
