-- roc.tune: which of several ways to run a kernel is the quickest, found by running them, and kept
-- on disk.
local core = require "roc.core"

local M = {}

local WARMUPS, FEWEST, MOST = 1, 3, 30
local BUDGET_S = 0.1 -- for a choice, once the fewest runs are done

local function fail(message, ...)
  error(string.format(message, ...), 4) -- the script
end

-- A key of what is in a value: the same text for the same value in each run of a script.
local function describe(value, depth)
  local kind = type(value)
  if kind == "table" and depth < 8 then
    local parts = {}
    for key, v in next, value do
      local key_text, value_text = describe(key, depth + 1), describe(v, depth + 1)
      if not key_text or not value_text then
        return nil
      end
      parts[#parts + 1] = key_text .. "=" .. value_text
    end
    table.sort(parts)
    return "{" .. table.concat(parts, ",") .. "}"
  elseif kind == "number" then
    return math.type(value) == "integer" and tostring(value) or string.format("%a", value)
  elseif kind == "string" then
    return string.format("%q", value)
  elseif kind == "boolean" or core.is_dtype(value) then
    return tostring(value)
  end
end

-- Of an argument: dtype, shape and strides of an array, the value of an integer or a boolean.
local function describe_argument(value)
  local ok, shape = pcall(function() return value.shape end)
  if type(value) == "userdata" and ok and shape then
    return string.format("%s[%s] by %s", value.dtype.name, table.concat(shape, ","),
      table.concat(value.strides, ","))
  elseif math.type(value) == "float" then
    return "float"
  end
  return type(value) .. " " .. (describe(value, 0) or "")
end

local function key_of(make, choices, args, device, name)
  local parts = { "tune 1", name or "", string.dump(make, true), device.kind, device.arch,
    device.name, tostring(core.count_executed(device) ~= nil) }
  for i, choice in ipairs(choices) do
    local text = describe(choice, 0)
    if not text then
      fail("bad argument #2 to 'tune' (choice %d: numbers, strings, booleans, dtypes and tables of "
        .. "them expected)", i)
    end
    parts[#parts + 1] = text
  end
  for i = 1, args.n or #args do
    parts[#parts + 1] = describe_argument(args[i])
  end
  return table.concat(parts, "\0")
end

local function is_interrupt(why)
  return string.find(tostring(why), "interrupted!$") ~= nil
end

-- Seconds of the quickest of some runs, twice: as what is compared, and as what is told.  Of an
-- emulated device the instructions of one run are compared: its time is not the hardware's, and
-- they are the same each time.
local function measure(run, args)
  local n = args.n or #args
  local function once()
    local start = core.time()
    run(table.unpack(args, 1, n))
    core.synchronize()
    return core.time() - start
  end
  for _ = 1, WARMUPS do once() end
  local before = core.count_executed(core.current_device())
  if before then
    local seconds = once()
    return core.count_executed(core.current_device()) - before, seconds
  end
  local best, spent, count = math.huge, 0, 0
  while count < FEWEST or spent < BUDGET_S and count < MOST do
    local seconds = once()
    best, spent, count = math.min(best, seconds), spent + seconds, count + 1
  end
  return best, best
end

-- What `make` gives for a choice; nil and why, where it gives nothing.
local function build(make, choice)
  local ok, run = pcall(make, choice)
  if not ok and is_interrupt(run) then
    error(run, 0)
  elseif not ok then
    return nil, run
  elseif run ~= nil and not core.is_callable(run) then
    error(string.format("'roc.tune': what its first argument gives must be called with the "
      .. "arguments (function or launcher expected, got %s)", type(run)), 0)
  end
  return run
end

local function try(make, choice, args)
  local run, why = build(make, choice)
  if not run then
    return nil, why
  end
  local ok, cost, seconds = pcall(measure, run, args)
  if not ok and is_interrupt(cost) then
    error(cost, 0)
  end
  return ok and run, cost, seconds
end

-- The quickest; raises why the first one failed when all have.
local function find(make, choices, args)
  local line <close> = core.progress "tune"
  local best, best_i, best_cost, best_seconds, first_why
  for i, choice in ipairs(choices) do
    line:step(i - 1, #choices, type(choice) == "number" and tostring(choice) or describe(choice, 0))
    local run, result, seconds = try(make, choice, args)
    if run and (not best or result < best_cost) then
      best, best_i, best_cost, best_seconds = run, i, result, seconds
    elseif not run then
      first_why = first_why or result
    end
  end
  if not best then
    error(first_why or "'roc.tune': no choice can be run", 0)
  end
  return best, best_i, best_seconds
end

-- The choice that an earlier run has kept.
local function recall(key, make, choices)
  local i = math.tointeger(tonumber(core.cache_recall(key) or nil))
  if not i or choices[i] == nil then
    return nil
  end
  return build(make, choices[i]), i
end

local OPTIONS = { name = "string", again = "boolean" }

local function check(make, choices, args, opts)
  if type(make) ~= "function" or not pcall(string.dump, make) then
    fail("bad argument #1 to 'tune' (Lua function expected, got %s)", type(make))
  elseif type(choices) ~= "table" or choices[1] == nil then
    fail("bad argument #2 to 'tune' (list of choices expected, got %s)",
      type(choices) == "table" and "an empty one" or type(choices))
  elseif type(args) ~= "table" then
    fail("bad argument #3 to 'tune' (table of arguments expected, got %s)", type(args))
  elseif opts ~= nil and type(opts) ~= "table" then
    fail("bad argument #4 to 'tune' (table of options expected, got %s)", type(opts))
  end
  for name, value in pairs(opts or {}) do
    if not OPTIONS[name] then
      fail("bad argument #4 to 'tune' (unknown option '%s'; known are again and name)",
        tostring(name))
    elseif type(value) ~= OPTIONS[name] then
      fail("bad argument #4 to 'tune' (option '%s': %s expected, got %s)", name, OPTIONS[name],
        type(value))
    end
  end
end

---See lua/roc/meta/builders.lua.
function M.tune(make, choices, args, opts)
  check(make, choices, args, opts)
  opts = opts or {}
  local key = key_of(make, choices, args, core.current_device(), opts.name)
  local run, i, seconds
  if not opts.again then
    run, i = recall(key, make, choices)
  end
  if not run then
    run, i, seconds = find(make, choices, args)
    core.cache_keep(key, tostring(i))
  end
  return run, choices[i], seconds
end

return M
