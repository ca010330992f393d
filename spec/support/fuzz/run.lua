-- Running a case on devices, and comparing what came out.
--
-- Each work-item writes only elements of its own, and what items exchange lies between barriers, so
-- every device must give the same bits (contract=false, no transcendental functions); a NaN equals
-- any NaN. This holds for the elements of all items when some fail a check too, and as many items
-- must fail.
local roc = require "roc"
local sim = require "roc.sim"
local assembly = require "support.assembly"
local case_of = require "support.fuzz.case"
local text = require "support.fuzz.text"

local M = {}

local INTEGERS = { 3, -1, 0, 7, math.maxinteger, math.mininteger, 1 << 33, -12345, 17, 2, 5, 255,
  65535, -32768 }
local FLOATS = {
  0.5, -0.0, 1e300, -3.75, 1 / 0, 0 / 0, 2.0, 1e-320, 123456789.125, -7.0, 0.1, 65504.0, 1e-40,
  16777217.0, -1 / 0, 3.0000001,
}

-- The value of an input at a running index.
local function value(a, i)
  if a.element == "I" then
    return INTEGERS[i % #INTEGERS + 1]
  elseif a.element == "B" then
    return i % 3 ~= 0
  end
  return FLOATS[i % #FLOATS + 1]
end

-- A view, of the asked layout, of a new device array; and that array, which is what is compared.
local function lay_out(a, extents)
  if a.rank == 1 then
    local step = a.layout == "dense" and 1 or a.layout == "stepped" and 2 or -1
    local n = extents[1]
    local whole = roc.to_device(roc.zeros(n * math.abs(step), a.dtype))
    if step == 2 then
      return whole:slice(1, 2, 2 * n, 2), whole
    end
    return step == 1 and whole or whole:slice(1, n, 1, -1), whole
  end
  local rows, columns = extents[1], extents[2]
  if a.layout == "transposed" then
    local whole = roc.to_device(roc.zeros({ columns, rows }, a.dtype))
    return whole:transpose(), whole
  elseif a.layout == "stepped" then
    local whole = roc.to_device(roc.zeros({ rows * 2, columns }, a.dtype))
    return whole:slice(1, 1, 2 * rows, 2), whole
  end
  local whole = roc.to_device(roc.zeros({ rows, columns }, a.dtype, a.layout))
  return whole, whole
end

-- Inputs are only read: each is made once a device.
local made_inputs = {}

local function input(a, device)
  local key = ("%s %s %d %s %d %d"):format(device, a.dtype, a.rank, a.layout, a.extents[1],
    a.extents[2])
  local view = made_inputs[key]
  if not view then
    local host = roc.empty(a.rank == 1 and a.extents[1] or a.extents, a.dtype)
    local i = 0
    for r = 1, a.extents[1] do
      for c = 1, a.rank == 2 and a.extents[2] or 1 do
        i = i + 1
        host:set(value(a, i), table.unpack({ r, c }, 1, a.rank))
      end
    end
    view = lay_out(a, a.extents)
    view:copy_from_host(host)
    made_inputs[key] = view
  end
  return view
end

local function arguments(arrays, launch, device)
  local args, written, views = { launch.n, launch.x, launch.flag }, {}, {}
  for _, a in ipairs(arrays) do
    local view, whole
    if a.same_as and views[a.same_as] then
      view = views[a.same_as]
    elseif a.is_output then
      local is_fixed = a.extents and a.extents[1]
      view, whole = lay_out(a,
        is_fixed and a.extents or { case_of.product(launch.grid), a.columns or 3 })
    elseif a.op then
      view = roc.to_device(roc.zeros(3, a.dtype))
      whole = view
    else
      view = input(a, device)
    end
    args[#args + 1] = view
    views[a.name] = view
    if whole then
      written[#written + 1] = { name = a.name, whole = whole }
    end
  end
  return args, written
end

-- Reads an array; a fault that this wait reports comes second.
local function read(array)
  local ok, host = pcall(array.copy_to_host, array)
  if ok then
    return host
  end
  return array:copy_to_host(), tostring(host)
end

local function launch_once(k, launch, arrays, device, source)
  local args, written = arguments(arrays, launch, device)
  local result = {
    arrays = {}, lines = {}, is_raw = device == "raw",
    has_atomics = source:find("roc.atomic.", 1, true) ~= nil,
  }
  local was = print
  print = function(line) -- luacheck: ignore
    result.lines[#result.lines + 1] = (line:gsub("%-nan", "nan"))
  end
  local ok, message = pcall(function()
    k:launch({ grid = launch.grid, workgroup = launch.workgroup, shared = text.DYNAMIC_BYTES },
      table.unpack(args))
    roc.current_device():synchronize()
  end)
  if not ok then
    result.error = tostring(message)
  end
  for i, w in ipairs(written) do
    local host, fault = read(w.whole)
    result.error = result.error or fault
    result.arrays[i] = { name = w.name, host = host, bytes = host:tobytes() }
  end
  print = was -- luacheck: ignore
  table.sort(result.lines)
  if result.error and result.error:find("kernel 'fuzz'", 1, true) then
    result.refused = result.error
  end
  return result
end

-- In every other case the least that the workgroups of its launches keep: code for a workgroup that
-- is just as promised is another than that for smaller ones.
local function promise_of(case)
  local promise = { 1, 1, 1 }
  for _, launch in ipairs(case.launches) do
    for d, items in ipairs(launch.workgroup) do promise[d] = math.max(promise[d], items) end
  end
  return case.seed % 2 == 0 and promise or nil
end

-- The kernel, and the function that changes its upvalue.
local function load_kernel(case, source)
  local name = "=fuzz" .. case.seed
  local f, change =
    assert(
    load(source, name, "t", { roc = roc, math = math, assert = assert, error = error,
    print = print }))()
  roc.source(name, source)
  return roc.kernel(f, { contract = false, check = case.is_checked, number = case.number,
    name = "fuzz", workgroup = promise_of(case) }), change
end

-- Runs a case's launches on "cpu", "sim", "raw" (sim with the untouched function), …; gives a
-- result a launch, or one refusal.
function M.run(case, device)
  local source, arrays = text.of(case)
  local scope <close> = roc.on_device(device == "raw" and "sim" or device)
  sim.is_raw = device == "raw"
  local results = {}
  local k, change = load_kernel(case, source)
  for i, launch in ipairs(case.launches) do
    change(launch.upvalue)
    results[i] = launch_once(k, launch, arrays, device, source)
    if results[i].refused then
      results.refused = results[i].refused
      break
    end
  end
  sim.is_raw = false
  return results
end

-- Compiles a case for targets without running it there; nil or what went wrong.
function M.compile(case, targets)
  local source, arrays = text.of(case)
  local scope <close> = roc.on_device("sim")
  local k = load_kernel(case, source)
  -- which also says the types to compile for
  if launch_once(k, case.launches[1], arrays, "sim", source).refused then
    return nil
  end
  for _, target in ipairs(targets) do
    local ok, message = pcall(k.inspect_asm, k, target)
    if not ok then
      return ("seed %d: %s: %s"):format(case.seed, target, message)
    end
    local fault = assembly.fault(message)
    if fault then return ("seed %d: %s: %s"):format(case.seed, target, fault) end
  end
end

-- comparing ---------------------------------------------------------------------------------------

local function same(a, b)
  if type(a) == "boolean" or math.type(a) == "integer" then
    return a == b
  elseif a ~= a or b ~= b then
    return a ~= a and b ~= b
  end
  return a == b and (a ~= 0 or 1 / a == 1 / b)
end

local function elements(host)
  local flat = host:ravel()
  local i = 0
  return function()
    i = i + 1
    if i <= flat.size then
      return i, flat[i]
    end
  end, flat
end

-- Atomics of some GPUs take a denormal float32 for 0 (docs/kernel-language.md); what they give may
-- be shown as float64.
local function is_flushed(dtype, a, b)
  return (dtype == "float32" or dtype == "float64") and b == 0 and math.abs(a) < 0x1p-126
end

local function array_difference(a, b, has_atomics)
  if a.bytes == b.bytes then
    return nil
  end
  local other = b.host:ravel()
  for i, x in elements(a.host) do
    if not same(x, other[i])
      and not (has_atomics and is_flushed(a.host.dtype.name, x, other[i])) then
      return ("%s, element %d: %s / %s"):format(a.name, i, tostring(x), tostring(other[i]))
    end
  end
end

-- What a fault says, without the launch that it names.
local function detail(message)
  return message:match("(fuzz%d+:%d+: .-%(work%-item.-%))") or message
end

-- How many items a message speaks of.
local function failures(message)
  if not message then
    return 0
  end
  return 1 + (tonumber(message:match("and (%d+) more")) or 0)
end

-- Takes the line that tells of lost ones from the others; gives how many are lost.
local function take_lost(lines)
  for i, line in ipairs(lines) do
    local lost = line:match("^roclua: (%d+) more lines of a kernel's output are lost")
    if lost then
      table.remove(lines, i)
      return tonumber(lost)
    end
  end
  return 0
end

-- Whether the sorted lines are those of the other list, but for as many as were lost. Which ones
-- that are depends on the order of the items: where both lost some, the counts alone are compared.
local function are_among(lines, others, lost, others_lost)
  if others_lost > 0 then return #lines + lost == #others + others_lost end
  local at = 1
  for _, line in ipairs(lines) do
    while others[at] and others[at] ~= line do at = at + 1 end
    if not others[at] then return false end
    at = at + 1
  end
  return #lines + lost == #others
end

local function launch_difference(a, b)
  if failures(a.error) ~= failures(b.error) then
    return ("%d and %d items fail: %s / %s"):format(failures(a.error), failures(b.error),
      tostring(a.error), tostring(b.error))
  end
  -- Of several, any one is reported; and Lua 5.4.4 names wrong lines for arithmetic.
  if failures(a.error) == 1 and not b.is_raw and detail(a.error) ~= detail(b.error) then
    return ("%s / %s"):format(detail(a.error), detail(b.error))
  end
  if not are_among(b.lines, a.lines, take_lost(b.lines), take_lost(a.lines)) then
    return ("printed: %s / %s"):format(table.concat(a.lines, "|"), table.concat(b.lines, "|"))
  end
  for i, array in ipairs(a.arrays) do
    local found = array_difference(array, b.arrays[i], a.has_atomics)
    if found then
      return found
    end
  end
end

-- nil when two results agree, else a sentence.
local function difference(a, b)
  if a.refused or b.refused then
    if (a.refused ~= nil) ~= (b.refused ~= nil) then
      return "refused by one: " .. tostring(a.refused or b.refused)
    end
    return nil
  end
  for i, result in ipairs(a) do
    local found = launch_difference(result, b[i])
    if found then
      return ("launch %d: %s"):format(i, found)
    end
  end
end

-- Compares `devices` with sim, and sim with the untouched function where that must agree.
-- Gives nil or the difference, then the refusal when the case is none that compiles.
function M.check(case, devices)
  local reference = M.run(case, "sim")
  local against = { table.unpack(devices) }
  if case.is_exact and not case.has_print and not reference.refused then
    against[#against + 1] = "raw"
  end
  for _, device in ipairs(against) do
    local found = difference(reference, M.run(case, device))
    if found then
      return ("seed %d: sim / %s: %s"):format(case.seed, device, found)
    end
  end
  return nil, reference.refused
end

return M
