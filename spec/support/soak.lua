-- Random calls of the host API from a fixed seed, checked against a model in Lua: each thing is an
-- array that is known by its plain handle and perhaps by a smart one, may be registered, and has a
-- table of the values it must hold.
local roc = require "roc"

local M = {}

local SIZE <const> = 24
local THINGS <const> = 6

local scale = roc.kernel("function(x, f) local i = roc.get_global_id(1) x[i] = x[i] * f + 1 end",
  { env = { roc = roc } })
local add = roc.kernel("function(x, y) local i = roc.get_global_id(1) y[i] = x[i] + y[i] end",
  { env = { roc = roc } })

local rnd -- the run's own generator, so that nothing else disturbs it

local function generator(seed)
  local state = seed * 2 + 1
  return function(low, high)
    state = state * 6364136223846793005 + 1442695040888963407
    local bits = state >> 33
    return high and low + bits % (high - low + 1) or 1 + bits % low
  end
end

local function new_thing()
  local t = { model = {}, registrations = {}, stream = rnd(3) == 1 and roc.stream() or nil }
  t.array = rnd(5) == 1 and roc.pinned_array(SIZE, "int64") or roc.zeros(SIZE, "int64")
  t.smart = rnd(2) == 1 and roc.smart_array(t.array) or nil
  for i = 1, SIZE do
    t.model[i] = rnd(9)
    t.array[i] = t.model[i]
  end
  return t
end

-- One of the handles of the thing's array.
local function handle(t)
  return t.smart and rnd(2) == 1 and t.smart or t.array
end

-- On the thing's stream, if it has one and that is of the current device.
local function launch(t, kernel, n, ...)
  local is_here = t.stream and t.stream.device == roc.current_device()
  kernel:forall(n, { stream = is_here and t.stream or nil })(...)
end

local function scale_model(t, f, first, last, step)
  for i = first, last, step do t.model[i] = t.model[i] * f + 1 end
end

local ops = {
  function(t)
    local f = rnd(-2, 3)
    launch(t, scale, SIZE, handle(t), f)
    scale_model(t, f, 1, SIZE, 1)
  end,
  function(t)
    launch(t, scale, 8, handle(t):slice(1, 1, 16, 2), 3)
    scale_model(t, 3, 1, 15, 2)
  end,
  function(t, other)
    if other == t then return end
    roc.current_device():synchronize() -- the two may be on different streams
    add:forall(SIZE)(handle(other), handle(t))
    roc.current_device():synchronize()
    for i = 1, SIZE do t.model[i] = other.model[i] + t.model[i] end
  end,
  function(t)
    local i = rnd(SIZE)
    handle(t)[i] = i
    t.model[i] = i
  end,
  function(t)
    local i = rnd(SIZE)
    assert(handle(t)[i] == t.model[i], "an element is wrong")
  end,
  function(t)
    handle(t):slice(1, 5, 12):fill(77)
    for i = 5, 12 do t.model[i] = 77 end
  end,
  function(t) t.registrations[#t.registrations + 1] = roc.register(handle(t)) end,
  function(t)
    if #t.registrations > 0 then table.remove(t.registrations, rnd(#t.registrations)):close() end
  end,
  function(t)
    if #t.registrations > 0 then pcall(roc.deregister, t.array) end
  end,
  function(t) t.smart = t.smart or roc.smart_array(t.array) end,
  function(t)
    if t.smart and rnd(3) == 1 then t.smart:close() end
    t.smart = nil
  end,
  function(t)
    local d = roc.to_device(handle(t))
    scale:forall(SIZE)(d, 2)
    d:copy_to_host(handle(t))
    scale_model(t, 2, 1, SIZE, 1)
    if rnd(2) == 1 then d:close() end
  end,
  function(t)
    local s = t.smart and t.smart:get("device") or roc.to_device(t.array)
    assert(s[3] == t.model[3], "an element on the device is wrong")
  end,
  function(_, _, devices)
    roc.current_device():synchronize() -- no thing is used on two devices at a time
    roc.select_device(devices[rnd(#devices)])
  end,
  function(t, _, _, things)
    for i, thing in ipairs(things) do
      if thing == t and rnd(4) == 1 then things[i] = new_thing() end
    end
  end,
  function() if rnd(8) == 1 then collectgarbage() end end,
  function() if rnd(4) == 1 then roc.trim_memory() end end,
}

---Makes calls until `is_over(count)`; raises when an array does not hold what it must.
---@param seed integer
---@param devices string[]
---@param is_over fun(count: integer): boolean
function M.run(seed, devices, is_over)
  rnd = generator(seed)
  local was = roc.current_device()
  local things, count = {}, 0
  for i = 1, THINGS do things[i] = new_thing() end
  while not is_over(count) do
    count = count + 1
    local t, other = things[rnd(THINGS)], things[rnd(THINGS)]
    ops[rnd(#ops)](t, other, devices, things)
    if rnd(10) == 1 then
      for i, x in ipairs(handle(t):totable()) do
        assert(x == t.model[i], ("element %d is wrong after %d calls"):format(i, count))
      end
    end
  end
  roc.select_device(was)
end

return M
