-- Every public function and method of roc with every odd value in every place.
--
-- A call may succeed or raise. What it raises must speak to the one who called: it names the
-- function, tells nothing of roc's own files, and is no failed assertion. Afterwards arrays and
-- kernels still work. ROCLUA_HOSTILE sets how many random argument lists each function gets beside
-- the systematic ones.
local core = require "roc.core"
local roc = require "roc"

local RANDOM_CALLS = math.tointeger(os.getenv "ROCLUA_HOSTILE") or 60
local HUGE = 1 << 45

-- Made anew for each call, since a call may change or close them.
local function raising(name)
  return setmetatable({}, { [name] = function() error("mine", 0) end })
end

-- The maker of what another one makes, closed.
local function closed(make)
  return function()
    local object = make()
    object:close()
    return object
  end
end

local function device_array() return roc.device_array(3) end
local function stream() return roc.stream() end
local function smart_array() return roc.smart_array(roc.ones(3)) end
local function registration() return roc.register(roc.ones(3)) end

local function self_containing()
  local t = {}
  t[1] = t
  return t
end

local function doubling()
  return roc.kernel("function(a) local i = roc.get_global_id(1) a[i] = a[i] * 2 end",
    { env = { roc = roc } })
end

local kernel = doubling()

local VALUES = {
  { "nil", function() return nil end },
  { "true", function() return true end },
  { "false", function() return false end },
  { "0", function() return 0 end },
  { "1", function() return 1 end },
  { "-1", function() return -1 end },
  { "2.5", function() return 2.5 end },
  { "3.0", function() return 3.0 end },
  { "nan", function() return 0 / 0 end },
  { "inf", function() return math.huge end },
  { "-inf", function() return -math.huge end },
  { "1e300", function() return 1e300 end },
  { "2^63", function() return 2.0 ^ 63 end },
  { "huge", function() return HUGE end },
  { "maxinteger", function() return math.maxinteger end },
  { "mininteger", function() return math.mininteger end },
  { "''", function() return "" end },
  { "'x'", function() return "x" end },
  { "'3'", function() return "3" end },
  { "'\\0'", function() return "a\0b" end },
  { "'float32'", function() return "float32" end },
  { "'F'", function() return "F" end },
  { "long string", function() return ("%s%n"):rep(1000) end },
  { "{}", function() return {} end },
  { "{1, 2}", function() return { 1, 2 } end },
  { "{-1}", function() return { -1 } end },
  { "{huge, huge}", function() return { HUGE, HUGE } end },
  { "{0, huge}", function() return { 0, HUGE } end },
  { "{nan}", function() return { 0 / 0 } end },
  { "{{1}, 2}", function() return { { 1 }, 2 } end },
  { "{9 ones}", function() return { 1, 1, 1, 1, 1, 1, 1, 1, 1 } end },
  { "options", function() return { order = 1, workgroup = 1, stream = 1, to = 1, [1] = 1 } end },
  { "self", self_containing },
  { "raising __index", function() return raising "__index" end },
  { "raising __len", function() return raising "__len" end },
  { "raising __tostring", function() return raising "__tostring" end },
  { "raising __eq", function() return raising "__eq" end },
  { "function", function() return function() end end },
  { "C function", function() return print end },
  { "raising function", function() return function() error("mine", 0) end end },
  { "coroutine", function() return coroutine.create(print) end },
  { "file", function() return io.stdout end },
  { "dtype", function() return roc.float32 end },
  { "bool dtype", function() return roc.bool end },
  { "array", function() return roc.ones(3) end },
  { "matrix", function() return roc.ones({ 2, 3 }, "int32") end },
  { "empty array", function() return roc.zeros { 0, 3 } end },
  { "strided view", function() return roc.ones { 4, 4 }:transpose():slice(1, 4, 1, -2) end },
  { "bools", function() return roc.zeros(3, "bool") end },
  { "device array", function() return roc.to_device(roc.ones(3)) end },
  { "closed array", closed(device_array) },
  { "stream", stream },
  { "closed stream", closed(stream) },
  { "event", function() return roc.event() end },
  { "smart array", smart_array },
  { "closed smart array", closed(smart_array) },
  { "closed registration", closed(registration) },
  { "kernel", function() return kernel end },
  { "launcher", function() return kernel:forall(1) end },
  { "device", function() return roc.current_device() end },
  { "In", function() return roc.In(roc.ones(3)) end },
}

-- ---- what is called -------------------------------------------------------------------------

-- Calls that would do something to the machine the specs run on, or not end.
local SKIP = { ["roc.save"] = true, ["roc.CodeObject:save"] = true }

local subjects = {}

-- A caller that leaves the name in the error: Lua finds it in the calling code.
local function method_caller(name)
  return load(
    ("local o, n, t = ... local r = table.pack(o:%s(table.unpack(t, 1, n))) return r.n"):format(
    name), "=caller")
end

local function add_function(name, f)
  if not SKIP[name] and type(f) == "function" then
    local call =
      load(
      ("local roc, n, t = ... local r = table.pack(%s(table.unpack(t, 1, n))) return r.n"):format(
      name),
      "=caller")
    subjects[#subjects + 1] = { name = name, call = function(n, t) return call(roc, n, t) end }
  end
end

-- Classes whose __index is a function that keeps its methods to itself.
local HIDDEN = { ["roc.Stream"] = { "synchronize", "query", "wait", "auto_synchronize", "close" } }

local function method_names(class)
  local meta = debug.getregistry()[class]
  if HIDDEN[class] then
    return HIDDEN[class]
  end
  local names = {}
  for name in pairs(meta.methods or meta.__index) do
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

local function add_methods(class, make, state)
  for _, name in ipairs(method_names(class)) do
    local full, caller = class .. ":" .. name, method_caller(name)
    if not SKIP[full] then
      subjects[#subjects + 1] = {
        name = (state or "") .. full, call = function(n, t) return caller(make(), n, t) end,
      }
    end
  end
end

-- Operators and calls on an object.
local function add_operators(class, make)
  local OPERATORS = {
    index = function(o, _, t) return o[t[1]] end,
    newindex = function(o, _, t) o[t[1]] = t[2] end,
    len = function(o) return #o end,
    call = function(o, n, t) return o(table.unpack(t, 1, n)) end,
    equals = function(o, _, t) return o == t[1] end,
    tostring = function(o) return tostring(o) end,
    concat = function(o, _, t) return o .. t[1] end,
    close = function(o) local scope <close> = o end, -- luacheck: ignore 211
  }
  for name, operator in pairs(OPERATORS) do
    subjects[#subjects + 1] = {
      name = class .. " " .. name, is_operator = true,
      call = function(n, t) return operator(make(), n, t) end,
    }
  end
end

for name, value in pairs(roc) do
  add_function("roc." .. name, value)
  if type(value) == "table" then
    for field, f in pairs(value) do
      add_function(("roc.%s.%s"):format(name, field), f)
    end
  end
end

local OBJECTS = {
  ["roc.Array"] = function() return roc.ones { 2, 3 } end,
  ["roc.DeviceArray"] = function() return roc.to_device(roc.ones(3)) end,
  ["roc.Kernel"] = function() return kernel end,
  ["roc.Stream"] = stream,
  ["roc.Event"] = function() return roc.event() end,
  ["roc.SmartArray"] = smart_array,
  ["roc.Registration"] = registration,
  ["roc.CodeObject"] = function() return kernel:compile("gfx90a", "float64[:]") end,
}

for class, make in pairs(OBJECTS) do
  add_methods(class, make)
  add_operators(class, make)
end
for _, class in ipairs { "DeviceArray", "Stream", "SmartArray", "Registration", "CodeObject" } do
  local make = closed(OBJECTS["roc." .. class])
  add_methods("roc." .. class, make, "closed ")
  add_operators("closed roc." .. class, make)
end
add_operators("roc.Launcher", function() return kernel:forall(1) end)
add_operators("roc.Device", function() return roc.current_device() end)
add_operators("roc.DType", function() return roc.int8 end)

for _, name in ipairs { "memory_free", "synchronize", "reset" } do
  local call = method_caller(name)
  subjects[#subjects + 1] = { name = "roc.Device:" .. name, call = function(n, t)
    return call(roc.current_device(), n, t)
  end }
end

-- Shapes of launches: the values in every place of a configuration. Nothing is launched: one extent
-- is 0.
local CONFIGURATIONS = {
  ["k[{v, 1}]"] = function(_, t) return kernel[{ t[1], 1 }] end,
  ["k[{1, v}]"] = function(_, t) return kernel[{ 1, t[1] }] end,
  ["k[{v, w, x, y}]"] = function(_, t) return kernel[{ t[1], t[2], t[3], t[4] }] end,
  ["k[{1, 1, v, w}]"] = function(_, t) return kernel[{ 1, 1, t[1], t[2] }] end,
  ["k:launch{grid = {v, 0}}"] = function(_, t)
    kernel:launch({ grid = { t[1], 0 } }, roc.ones(3))
  end,
  ["k:launch{groups = {v, 0}}"] = function(_, t)
    kernel:launch({ groups = { t[1], 0 }, workgroup = { t[2], t[3] } }, roc.ones(3))
  end,
  ["k:launch{grid = 0, …}"] = function(_, t)
    kernel:launch({ grid = 0, workgroup = t[1], stream = t[2], shared = t[3] }, roc.ones(3))
  end,
  ["k:launch{workgroup = v}"] = function(_, t)
    kernel:launch({ grid = 3, workgroup = t[1] }, roc.ones(3))
  end,
  ["k:launch{shared = v}"] = function(_, t)
    kernel:launch({ grid = 3, shared = t[1] }, roc.ones(3))
  end,
  ["k:launch{stream = v}"] = function(_, t)
    kernel:launch({ grid = 3, stream = t[1] }, roc.ones(3))
  end,
  ["k:launch{[v] = w}"] = function(_, t)
    local key = t[1]
    kernel:launch({ grid = 3, [key == nil and "nil" or key ~= key and "nan" or key] = t[2] },
      roc.ones(3))
  end,
  ["k:forall(3, {…})"] = function(_, t)
    kernel:forall(3, { workgroup = t[1], stream = t[2], shared = t[3] })(roc.ones(3))
  end,
  ["k:forall(3)(…)"] = function(n, t) kernel:forall(3)(table.unpack(t, 1, n)) end,
}

for name, call in pairs(CONFIGURATIONS) do
  subjects[#subjects + 1] = { name = name, call = call }
end

-- Options of a kernel, and what it may find in its environment.
local TEXT = "function(a) a[1] = captured end"
for _, option in ipairs { "name", "signature", "check", "fastmath", "contract", "number",
  "workgroup", "env" } do
  subjects[#subjects + 1] = { name = "roc.kernel option " .. option, call = function(_, t)
    return roc.kernel("function(a) a[1] = 1 end", { [option] = t[1] })
  end }
end

subjects[#subjects + 1] = { name = "roc.kernel capture", call = function(_, t)
  roc.kernel(TEXT, { env = { captured = t[1] } }):forall(1)(roc.ones(3))
end }

subjects[#subjects + 1] = { name = "roc.kernel captured table", call = function(_, t)
  local text = "function(a) a[1] = captured.x.y end"
  roc.kernel(text, { env = { captured = { x = t[1] } } }):forall(1)(roc.ones(3))
end }

table.sort(subjects, function(a, b) return a.name < b.name end)

-- ---- what is said ---------------------------------------------------------------------------

local FORBIDDEN = {
  "INTERNAL", "[Aa]ssertion", "roc/%w+%.lua", "attempt to", "%(null%)", "invalid LLVM",
  "stack overflow", "'%?'", "C stack",
  "not enough memory", "internal error", "malformed IR", "table: 0x", "function: 0x",
}

-- Lua's own words for what Lua itself refuses, before roc is asked.
local LUAS_OWN = {
  "attempt to concatenate a", "attempt to call a", "attempt to get length of a",
  "attempt to index a roc%.%a+ value",
  "variable 'scope' got a non%-closable",
}

local function complaint(subject, err)
  if type(err) ~= "string" and not (type(err) == "table" and rawget(err, "message")) then
    return ("raised a %s"):format(type(err))
  end
  local text = tostring(err)
  if type(err) == "table" and err.code == "internal" then
    return "raised an internal error: " .. text
  end
  if subject.is_operator then
    for _, words in ipairs(LUAS_OWN) do
      if text:find(words) then
        return nil
      end
    end
  end
  for _, word in ipairs(FORBIDDEN) do
    if text:find(word) then
      return ("said %q"):format(text:sub(1, 300))
    end
  end
  return nil
end

local function describe_arguments(picked)
  local names = {}
  for i, value in ipairs(picked) do names[i] = value[1] end
  return table.concat(names, ", ")
end

local function try(subject, picked)
  local arguments = {}
  for i, value in ipairs(picked) do arguments[i] = value[2]() end
  local ok, err = pcall(subject.call, #picked, arguments)
  local why = not ok and complaint(subject, err)
  if why then
    error(("%s(%s) %s"):format(subject.name, describe_arguments(picked), why), 0)
  end
end

-- A repeatable choice that leaves math.random to the script.
local function chooser(seed)
  return function(n)
    seed = (seed * 6364136223846793005 + 1442695040888963407)
    return (seed >> 33) % n + 1
  end
end

local function attack(subject)
  local choose = chooser(#subject.name)
  try(subject, {})
  for _, value in ipairs(VALUES) do
    try(subject, { value })
  end
  for _ = 1, RANDOM_CALLS do
    local picked = {}
    for i = 1, choose(5) + 1 do picked[i] = VALUES[choose(#VALUES)] end
    try(subject, picked)
  end
end

local function still_works()
  local a = roc.to_device(roc.ones(1000))
  doubling():forall(1000)(a)
  assert.equal(2000.0, a:copy_to_host():reshape(1000)[1] * 1000)
end

describe("odd arguments", function()
  local was, print_was

  before_each(function()
    was, print_was = roc.current_device(), print
    print = function() end -- luacheck: ignore 121
  end)

  after_each(function()
    print = print_was -- luacheck: ignore 121
    roc.select_device(was.kind)
  end)

  for _, subject in ipairs(subjects) do
    it("are harmless to " .. subject.name, function()
      attack(subject)
      roc.select_device(was.kind)
      pcall(roc.current_device().synchronize, roc.current_device()) -- a fault of ours, asked for
      still_works()
    end)
  end

  it("are harmless to roc.save", function()
    for _, value in ipairs(VALUES) do
      local path = os.tmpname()
      local ok, err = pcall(function() roc.save(path, value[2]()) end)
      os.remove(path)
      assert(ok or not complaint({}, err), tostring(err))
      if type(value[2]()) ~= "string" and type(value[2]()) ~= "number" then
        ok, err = pcall(function() roc.save(value[2](), roc.ones(3)) end)
        assert(not ok and not complaint({}, err), tostring(err))
      end
    end
  end)

  it("are harmless to objects of another class", function()
    for class, make in pairs(OBJECTS) do
      for _, name in ipairs(method_names(class)) do
        local method = make()[name]
        for _, value in ipairs(VALUES) do
          local self = value[2]()
          local own = type(self) == "userdata" and (debug.getmetatable(self) or {}).__name
          if own ~= class then
            local ok, err = pcall(method, self, 1)
            assert(not ok or own, ("%s:%s took %s"):format(class, name, value[1]))
            assert(ok or not complaint({ is_operator = true },
              tostring(err):gsub("'%?'", "'method'")), tostring(err))
          end
        end
      end
    end
  end)

  it("leave nothing allocated behind", function()
    local function settle()
      for _ = 1, 3 do collectgarbage() end
      roc.current_device():synchronize()
      core.testing.trim()
      return core.testing.live_blocks()
    end
    for _, subject in ipairs(subjects) do
      pcall(subject.call, 0, {})
    end
    local before = settle()
    for _, subject in ipairs(subjects) do
      for i = 1, #VALUES, 7 do
        pcall(subject.call, 2, { VALUES[i][2](), VALUES[#VALUES - i + 1][2]() })
      end
      pcall(roc.select_device, was.kind)
    end
    pcall(roc.current_device().synchronize, roc.current_device())
    local after = settle()
    assert.is_true(after - before < 400, ("%d blocks more"):format(after - before))
  end)
end)
