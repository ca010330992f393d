-- Views on arrays, or copies where there is none.
local M = {}

---The elements in C order in another shape: a view where it can be one, else a copy.
---@param array roc.AnyArray
---@param shape integer[]
---@return roc.AnyArray
---@return boolean is_view
function M.reshaped(array, shape)
  local is_view, view = pcall(array.reshape, array, shape)
  if is_view then return view, true end
  return array:ravel():reshape(shape), false
end

return M
