-- AMDGPU assembly that LLVM must not make, and has made.
local M = {}

-- Numbers of the vector registers that an instruction of AMDGPU assembly writes.
local function each_written(line)
  local name, operand = line:match("^%s+([%w_]+)%s+([%w%[%]:]+)")
  if not name or not operand:find("^v[%d%[]") then return function() end end
  if name:find("store") or name:find("^ds_write") or name:find("^v_cmp") then
    return function() end
  end
  local first, last = operand:match("^v%[(%d+):(%d+)%]")
  if not first then
    first = operand:match("^v(%d+)")
    last = first
  end
  local n = tonumber(first) - 1
  return function()
    n = n + 1
    if n <= tonumber(last) then return n end
  end
end

---Reductions run instructions in the whole wavefront, lanes that are not live included. A register
---that such an instruction writes must hold nothing else: in those lanes it would be lost. Returns
---registers written both by the whole wavefront and by live lanes alone, and how many stretches of
---code the former has.
---@param assembly string
---@return string[] names, integer stretches
function M.shared(assembly)
  local inside, outside, saved, stretches = {}, {}, nil, 0
  for line in assembly:gmatch("[^\n]+") do
    local exec = line:match("^%s+s_or_saveexec_b%d+ (s[%w%[%]:]+), %-1")
    local back = line:match("^%s+s_mov_b%d+ exec[_lo]*, (s[%w%[%]:]+)")
    if exec then
      saved, stretches = exec, stretches + 1
    elseif saved and back == saved then
      saved = nil
    end
    for n in each_written(line) do (saved and inside or outside)[n] = true end
  end
  local names = {}
  for n in pairs(inside) do
    if outside[n] then names[#names + 1] = "v" .. n end
  end
  return names, stretches
end

---A literal has 32 bits, which s_mov_b64 extends without a sign. Returns the instructions that were
---given more.
---@param assembly string
---@return string[]
function M.cut(assembly)
  local lines = {}
  for line in assembly:gmatch("s_mov_b64 s[%[%]:%d]+, 0x%x+") do
    if #line:match("0x(%x+)$") > 8 then lines[#lines + 1] = line end
  end
  return lines
end

---What is wrong with the code; nil: nothing.
---@param assembly string
---@return string?
function M.fault(assembly)
  local shared, cut = M.shared(assembly), M.cut(assembly)
  if #shared > 0 then return "the whole wavefront overwrites " .. table.concat(shared, ", ") end
  if #cut > 0 then return "a constant is cut: " .. cut[1] end
end

return M
