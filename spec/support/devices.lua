-- The devices that conformance specs run on: every one this machine has, sim in both its ways, and
-- software AMD GPUs of two generations where it has no AMD GPU: those of ROCLUA_SPEC_GPUS, which
-- ROCR must know.  ROCLUA_SPEC_DEVICES names the kinds that count, as in "cuda,sim"; otherwise all
-- do.
local busted = require "busted"
local core = require "roc.core"
local roc = require "roc"
local sim = require "roc.sim"

local M = {}

-- Why there is no software GPU; nil when there are some, or real ones.
if not core.testing then error("this needs the hooks of the specs: call it by roclua-spec", 0) end
local _, missing = core.testing.emulate(os.getenv("ROCLUA_SPEC_GPUS") or "gfx90a,gfx1030")
M.missing = missing

-- Not null, which runs nothing and is listed once a spec has asked for it, and no cuda device of a
-- library that was named: that is the stand-in of spec/c/fake_cuda.h, which runs no kernel.
local function counts(kind)
  local only = os.getenv("ROCLUA_SPEC_DEVICES")
  if kind == "null" or kind == "cuda" and os.getenv("ROCLUA_CUDA_LIBRARY") then return false end
  return not only or only == "" or ("," .. only .. ","):find("," .. kind .. ",", 1, true) ~= nil
end

-- { label =, name = (for roc.select_device), kind =, raw = }
-- GPUs are told apart by what they are, and chosen by kind and number: two may have one name.
function M.list()
  local list, count = {}, {}
  local function add(kind, label, name, raw)
    if counts(kind) then
      list[#list + 1] = { label = label, name = name, kind = kind, raw = raw or false }
    end
  end
  for _, device in ipairs(roc.devices()) do
    local kind = device.kind
    count[kind] = (count[kind] or 0) + 1
    if kind == "hsa" or kind == "cuda" then
      add(kind, ("%s (%s)"):format(kind, device.arch:match("^[^:]+")),
        ("%s:%d"):format(kind, count[kind]))
    else
      add(kind, device.name, device.name)
    end
    if kind == "sim" then add(kind, device.name .. " (raw)", "sim", true) end
  end
  return list
end

-- Calls define(device) inside a describe block per device; that device is the current one while its
-- tests run.
function M.each(define)
  for _, device in ipairs(M.list()) do
    busted.describe("on " .. device.label, function()
      local was
      busted.setup(function()
        was = roc.current_device()
        roc.select_device(device.name)
        sim.is_raw = device.raw
      end)
      busted.teardown(function()
        sim.is_raw = false
        roc.select_device(was)
      end)
      define(device)
    end)
  end
end

-- Makes the device the current one while the tests of the describe block run that calls this.
function M.use(name)
  local was
  busted.setup(function()
    was = roc.current_device()
    roc.select_device(name)
  end)
  busted.teardown(function() roc.select_device(was) end)
end

-- Runs a kernel over `count` work-items (groups of `workgroup`, 16 unless told otherwise) and
-- waits.
function M.run(kernel, count, args, workgroup)
  kernel:launch({ grid = count, workgroup = workgroup or 16 },
    table.unpack(args, 1, args.n or #args))
  roc.current_device():synchronize()
end

-- A kernel of a string, which sees roc and math.
function M.kernel(text, opts)
  opts = opts or {}
  opts.env = opts.env or { roc = roc, math = math, print = print, assert = assert, error = error }
  return roc.kernel(text, opts)
end

-- A new device array of zeros, and one of a table's values.
function M.zeros(shape, dtype)
  return roc.to_device(roc.zeros(shape, dtype))
end
function M.values(t, dtype)
  return roc.to_device(roc.array(t, dtype))
end
function M.table(array)
  return array:copy_to_host():totable()
end

-- Equal as bits are, but that a NaN equals any NaN.
function M.same(a, b)
  if a ~= a or b ~= b then
    return a ~= a and b ~= b
  end
  return a == b and math.type(a) == math.type(b)
    and (a ~= 0 or math.type(a) == "integer" or 1 / a == 1 / b)
end

-- x rounded to float32.
function M.f32(x)
  return string.unpack("<f", string.pack("<f", x))
end

return M
