-- Kernels whose text is generated: each is made once, and sees what the library gives it, not a
-- script's globals.
local core = require "roc.core"
local intrinsics = require "roc.intrinsics"
local kernels = require "roc.kernel"

local M = {}

local visible = {}
for name, value in pairs(intrinsics) do visible[name] = value end
for name, dtype in pairs(core.dtypes) do visible[name] = dtype end

local made = {}

---A new kernel of a text, which is not kept here.  Its launches come after the queued work that
---they conflict with, on any stream, and later work comes after them: a script knows of no launch.
---@param text string
---@param name string for messages
---@param workgroup? integer | integer[] that the launches use
---@param is_guarded? boolean the text itself keeps all indices in range: it needs no checks
---@return roc.Kernel
function M.fresh(text, name, workgroup, is_guarded)
  local kernel = kernels.kernel(text, { name = name, contract = false, workgroup = workgroup,
    check = not is_guarded, env = { roc = visible, math = math, error = error } }, true)
  core.order_launches(kernel, true)
  return kernel
end

---The kernel of a text.
---@param text string
---@param key string what else tells kernels of the same text apart, as their name and options do
---@param name string for messages
---@param workgroup? integer | integer[] that the launches use
---@param is_guarded? boolean as above
---@return roc.Kernel
function M.kernel(text, key, name, workgroup, is_guarded)
  key = key .. "\n" .. text
  local kernel = made[key]
  if not kernel then
    kernel = M.fresh(text, name, workgroup, is_guarded)
    made[key] = kernel
  end
  return kernel
end

local kept = {}

---The kernel of a key, which `make` gives at the first call: later ones cost no text.
---@param key string names the operation and all that its text depends on
---@param make fun(): roc.Kernel
---@return roc.Kernel
function M.kept(key, make)
  local kernel = kept[key]
  if not kernel then
    kernel = make()
    kept[key] = kernel
  end
  return kernel
end

return M
