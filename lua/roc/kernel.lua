-- roc.kernel: checks the script's arguments, finds the source, and describes the kernel to
-- roc.core.
--
-- Also the launch on `sim`: the only code that connects kernels and the reference device.
local core = require "roc.core"
local capture = require "roc.capture"
local sim = require "roc.sim"
local source = require "roc.source"

local M = {}

-- Set by rocluac: called with each new kernel and where its source is. Signatures are then not
-- compiled at once.
M.on_new = nil

-- Raises with the position of the script: of the first function on the stack outside this file.
local OWN = debug.getinfo(1, "S").source

local function script_level()
  local level = 2
  local info = debug.getinfo(level, "S")
  while info and info.source == OWN do
    level = level + 1
    info = debug.getinfo(level, "S")
  end
  return level - 1, info
end

local function fail(message, ...)
  error(select("#", ...) > 0 and string.format(message, ...) or message, (script_level()))
end

-- "file:line" of the script that calls.
local function script_place()
  local info = debug.getinfo((script_level()), "Sl")
  return info and string.format("%s:%d", info.short_src, info.currentline) or "?"
end

-- Calls a function of another file whose errors have no position yet.
local function call(f, ...)
  local results = table.pack(pcall(f, ...))
  if results[1] then
    return table.unpack(results, 2, results.n)
  end
  local why = results[2]
  if type(why) == "string" and not string.find(why, "^[^\n]-:%d+: ") then
    fail("%s", why)
  end
  error(why, 0)
end

-- options -----------------------------------------------------------------------------------------

local function bad_option(name, expected, value)
  fail("bad argument #2 to 'kernel' (option '%s': %s expected, got %s)", name, expected,
    type(value) == "string" and string.format("%q", value) or type(value))
end

local function boolean(name, value)
  if type(value) ~= "boolean" then
    bad_option(name, "boolean", value)
  end
  return value
end

-- Bounds of a workgroup: an integer, or a table of up to three.
local function workgroup(name, value)
  local given, dims, count = type(value) == "table" and value or { value }, {}, 0
  for _ in pairs(given) do
    count = count + 1
  end
  for i = 1, count do
    dims[i] = given[i]
  end
  if count == 0 or count > 3 or #dims ~= count then -- a gap, or a name
    bad_option(name, "1 to 3 integers", value)
  end
  for _, n in ipairs(dims) do
    if math.type(n) ~= "integer" or n < 1 or n > 0x7fffffff then
      fail("bad argument #2 to 'kernel' "
        .. "(option '%s': integers from 1 to 2147483647 expected, got %s)", name,
        math.type(n) and tostring(n) or type(n))
    end
  end
  return dims
end

local CHECKS = {
  name = function(name, value)
    if type(value) ~= "string" or value == "" then
      bad_option(name, "a name", value)
    end
    return value
  end,
  signature = function(name, value)
    if type(value) ~= "string" then
      bad_option(name, "a string like \"(float32[:,:], int64)\"", value)
    end
    return value
  end,
  check = boolean,
  fastmath = boolean,
  contract = boolean,
  number = function(name, value)
    if value ~= "float32" and value ~= "float64" then
      bad_option(name, "\"float32\" or \"float64\"", value)
    end
    return value
  end,
  workgroup = workgroup,
  env = function(name, value)
    if type(value) ~= "table" then
      bad_option(name, "table", value)
    end
    return value
  end,
}

local OPTION_NAMES = "check, contract, env, fastmath, name, number, signature, workgroup"

local function check_options(opts)
  if opts == nil then
    return {}
  elseif type(opts) ~= "table" then
    fail("bad argument #2 to 'kernel' (table of options expected, got %s)", type(opts))
  end
  local checked = {}
  for name, value in pairs(opts) do
    if not CHECKS[name] then
      fail("bad argument #2 to 'kernel' (unknown option '%s'; known are %s)", tostring(name),
        OPTION_NAMES)
    end
    checked[name] = CHECKS[name](name, value)
  end
  return checked
end

-- making ------------------------------------------------------------------------------------------

-- Whether the text's first word, after space and comments, is `return`.
local function begins_with_return(text)
  local at, before = 1, nil
  while at ~= before do
    before = at
    at = string.match(text, "^%s+()", at) or at
    local _, long_end = string.find(text, "^%-%-%[(=*)%[.-%]%1%]", at)
    local _, line_end = string.find(text, "^%-%-[^\n]*", at)
    at = (long_end or line_end or at - 1) + 1
  end
  return string.find(text, "^return%f[^%w_]", at) ~= nil
end

-- The function a string holds, "function(…) … end" with `return` before it or not; its text, and
-- how many bytes were added before the string.
local function load_text(text, env)
  local code = begins_with_return(text) and text or "return " .. text
  local chunk, why = load(code, text, "t", env)
  if not chunk then
    fail("bad argument #1 to 'kernel' (%s)", why)
  end
  local results = table.pack(pcall(chunk))
  local f = results[2]
  if not results[1] or type(f) ~= "function" or results.n > 2 then
    fail("bad argument #1 to 'kernel' (a string that holds one function expected: \"function(…) "
      .. "… end\")")
  end
  return f, code, #code - #text
end

local function location_name(f)
  local info = debug.getinfo(f, "S")
  return string.format("%s:%d", info.short_src, info.linedefined)
end

---Makes a kernel of a Lua function, or of a string that holds one.
---@param f function|string
---@param opts? roc.KernelOpts
---@param is_own? boolean for a function of roc's own
---@return roc.Kernel
function M.kernel(f, opts, is_own)
  local options = check_options(opts)
  local text, chunkname, index, lead
  if type(f) == "string" then
    f, text, lead = load_text(f, options.env or _G)
    chunkname, index = debug.getinfo(f, "S").short_src, source.index_in(f, text)
  elseif type(f) ~= "function" then
    fail("bad argument #1 to 'kernel' (function or string expected, got %s)", type(f))
  elseif options.env then
    fail("bad argument #2 to 'kernel' (option 'env' goes with a kernel given as a string)")
  else
    text, chunkname, index, lead = call(source.find, f, "the kernel")
  end
  local name = options.name or call(capture.name_of, text, chunkname, index, lead)
    or location_name(f)
  local params = capture.params_of(text, chunkname, index, lead)
  local memory = capture.memory()
  local function collect()
    return call(capture.collect, f, name, memory, text, chunkname, index, lead)
  end
  local kernel = call(core.kernel_new, {
    name = name,
    fn = f,
    program = collect(),
    recollect = collect,
    params = params,
    check = options.check ~= false,
    contract = options.contract ~= false,
    fastmath = options.fastmath == true,
    number_is_f32 = options.number == "float32",
    workgroup = options.workgroup,
    signature = options.signature,
    deferred = M.on_new ~= nil,
  })
  if M.on_new then
    M.on_new(kernel, { text = text, chunkname = chunkname, index = index,
      signature = options.signature, is_own = is_own == true, place = script_place() })
  end
  return kernel
end

-- looking inside ---------------------------------------------------------------------------------

core.set_kernel_describer(function(...)
  return require("roc.show").describe(...)
end)

-- sim ---------------------------------------------------------------------------------------------

-- Whether an argument that is copied back shares memory with this one: then both share one copy on
-- a device, and stores through either are copied back.
local function comes_back(kept, one)
  for _, other in ipairs(kept) do
    if not other.always and core.array_overlap(one.array, other.array) then
      return true
    end
  end
  return false
end

-- A failed launch must not change host arrays, and no launch those in roc.In: makes copies to
-- restore them from. `given` are the script's arguments.
local function keep_copies(given, args)
  local kept = {}
  for i = 1, args.n do
    local array, copies_out, is_read_only = core.kernel_host_argument(given[i])
    if is_read_only then -- what may be written is a copy, and nothing is to be restored
      args[i] = copies_out and array or array:copy()
    elseif array then
      args[i] = array
      kept[#kept + 1] = { array = array, copy = array:copy(), always = not copies_out }
    end
  end
  local changed
  repeat -- an array that is copied back may share memory with another
    changed = false
    for _, k in ipairs(kept) do
      if k.always and comes_back(kept, k) then
        k.always, changed = false, true
      end
    end
  until not changed
  return kept
end

local function put_back(kept, has_failed)
  for _, k in ipairs(kept) do
    if has_failed or k.always then
      core.kernel_restore(k.array, k.copy)
    end
  end
end

-- The compiler knows which arguments the kernel stores to.
local function mark_smart_arrays(kernel, given)
  local writes
  for i = 1, given.n do
    if core.kernel_is_smart(given[i]) then
      writes = writes or kernel:sim_writes()
      if writes[i] then
        core.kernel_sim_mark(given[i])
      end
    end
  end
end

-- As on other devices, before the launch.
local function refuse_read_only(kernel, given)
  local writes
  for i = 1, given.n do
    if core.kernel_is_read_only(given[i]) then
      writes = writes or kernel:sim_writes()
      if writes[i] then
        core.kernel_fail_read_only(kernel.name)
      end
    end
  end
end

core.set_sim_launcher(function(kernel, launch, ...)
  local described = table.pack(kernel:sim_source(...))
  local names, scalars = kernel:sim_names(), kernel:sim_scalars()
  launch.name = kernel.name
  local arrays = table.move(described, 2, described.n, 1, {})
  local params = kernel:params()
  local hidden = {} -- numbered after the explicit ones
  for i, array in ipairs(arrays) do
    hidden[#params + i] = sim.checked(core.kernel_sim_view(array, launch.stream), names[i],
      "global")
  end
  local program = {
    fn = kernel:fn(),
    params = params,
    source = described[1],
    hidden = hidden,
  }
  local given, args = table.pack(...), table.pack(...)
  refuse_read_only(kernel, given)
  local kept = keep_copies(given, args)
  for i = 1, args.n do
    arrays[#arrays + 1] = given[i]
    if scalars[i] ~= nil then
      args[i] = scalars[i]
    else
      args[i] = core.kernel_sim_view(args[i], launch.stream)
    end
  end
  local start = core.time()
  local ok, message, lines = pcall(sim.run, program, launch, table.unpack(args, 1, args.n))
  core.kernel_sim_traced(launch.stream, kernel.name, start)
  put_back(kept, not ok or message ~= nil)
  mark_smart_arrays(kernel, given)
  if not ok then
    error(message, 0)
  end
  if message then
    message = string.format("%s (launched at %s)", message, launch.place)
  end
  core.kernel_sim_done(message, lines, #kept > 0, arrays, launch.stream)
end)

return M
