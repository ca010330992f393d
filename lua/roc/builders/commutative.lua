-- Functions that are known to be commutative, by their code.
local capture = require "roc.capture"
local dump = require "roc.dump"

local M = {}

local CODE = {}
for _, f in ipairs {
  function(a, b) return a + b end, function(a, b) return b + a end,
  function(a, b) return a * b end, function(a, b) return b * a end,
  function(a, b) return a & b end, function(a, b) return b & a end,
  function(a, b) return a | b end, function(a, b) return b | a end,
  function(a, b) return a ~ b end, function(a, b) return b ~ a end,
} do
  CODE[dump.code(f)] = true
end

local BUILTINS = { ["math.max"] = true, ["math.min"] = true }

---Whether the function is known to be commutative: it returns a sum or the like of its arguments,
---or is math.max or math.min.
---@param f function
---@return boolean
function M.is_known(f)
  local path = capture.builtin_path(f)
  if path then return BUILTINS[path] or false end
  return CODE[dump.code(f)] or false
end

return M
