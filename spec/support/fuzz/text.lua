-- A case's source: a chunk that gives the kernel's function, with only the arrays and declarations
-- that its text uses.
local M = {}

-- Whether `name` occurs as a word.
local function uses(text, name)
  return text:find("%f[%w_]" .. name .. "%f[^%w_]") ~= nil
end

local function render(part, out)
  if type(part) == "string" then
    out[#out + 1] = part
  elseif part.arguments_of then
    for _, name in ipairs(part.arguments_of.passes) do
      out[#out + 1] = ", " .. name
    end
  elseif part.statements then
    for _, s in ipairs(part.statements) do
      render(s, out)
      out[#out + 1] = "\n"
    end
  else
    for _, p in ipairs(part.parts) do
      render(p, out)
    end
  end
end

local function text_of(part)
  local out = {}
  render(part, out)
  return table.concat(out)
end

-- Shared arrays; the last lies over the launch's dynamic bytes, after some that nothing uses.
local TILES = {
  { "tile_i", '256, "int64"' }, { "tile_f", '256, "float64"' }, { "tile_s", '256, "float32"' },
  { "tile_n", '256, "int64"' },
  { "tile_d", '0, "int32", 64' },
}

M.DYNAMIC_BYTES = 64 + 256 * 4

-- The names of a case's arrays, in the order of the kernel's parameters.
local function arrays_of(case)
  local list = {}
  for _, kind in ipairs { "inputs", "outputs", "totals", "shown", "shifted", "strided" } do
    for _, a in ipairs(case[kind]) do
      list[#list + 1] = a
    end
  end
  return list
end

-- Names that functions get from the kernel when they use them: ids, shared and global arrays.
local function passable(case)
  local names = { "gid", "lid", "lsz" }
  for _, tile in ipairs(TILES) do
    names[#names + 1] = tile[1]
  end
  for _, a in ipairs(arrays_of(case)) do
    names[#names + 1] = a.name
  end
  return names
end

local function function_text(case, f)
  local body = text_of(f)
  f.passes = {}
  for _, name in ipairs(passable(case)) do
    if uses(body, name) then
      f.passes[#f.passes + 1] = name
    end
  end
  local params = #f.passes > 0 and ", " .. table.concat(f.passes, ", ") or ""
  return ("local function %s(p, q%s)\n%s\nend\n"):format(f.name, params, body)
end

-- How many items there are.
local SIZES = {
  "local gsz = roc.get_global_size(1)\n",
  "local gsz = roc.get_global_size(1) * roc.get_global_size(2)\n",
  "local sx, sy, sz = roc.gridsize(3)\nlocal gsz = sx * sy * sz\n",
}

local IDS = {
  "local gid, lid, lsz = roc.get_global_id(1), roc.get_local_id(1), roc.get_local_size(1)\n",
  [[
local gid = roc.get_global_id(1) + (roc.get_global_id(2) - 1) * roc.get_global_size(1)
local lid = roc.get_local_id(1) + (roc.get_local_id(2) - 1) * roc.get_local_size(1)
local lsz = roc.get_local_size(1) * roc.get_local_size(2)
]],
  [[
local gx, gy, gz = roc.grid(3)
local gid = gx + roc.get_global_size(1) * (gy - 1 + roc.get_global_size(2) * (gz - 1))
local ly, lz = roc.get_local_id(2) - 1, roc.get_local_id(3) - 1
local lid = roc.get_local_id(1) + roc.get_local_size(1) * (ly + roc.get_local_size(2) * lz)
local lsz = roc.get_local_size(1) * roc.get_local_size(2) * roc.get_local_size(3)
]],
}

-- The first item writes all elements. Behind a `for` that does, groups run nothing side by side.
local FILLS = {
  ["for"] = "if lid == 1 then for k = 1, lsz do %s end end\nroc.barrier()\n",
  ["while"] = "if lid == 1 then\nlocal i = 0\nwhile i < lsz do\nlocal k = i %% 256 + 1\n%s\n"
    .. "i = i + 1\nend\nend\nroc.barrier()\n",
}

-- Shared arrays, and how they begin.
local function tiles_text(case, body)
  local declarations, fills = {}, {}
  for _, tile in ipairs(TILES) do
    if uses(body, tile[1]) then
      declarations[#declarations + 1] = ("local %s = roc.shared.array(%s)\n"):format(tile[1],
        tile[2])
      fills[#fills + 1] = ("%s[k] = k"):format(tile[1])
    end
  end
  if #fills == 0 then
    return ""
  end
  return table.concat(declarations) .. FILLS[case.fill]:format(table.concat(fills, " "))
end

-- The text, and which of the case's arrays the kernel takes, in order after n, x and flag.
function M.of(case)
  local functions = {}
  for i, f in ipairs(case.functions) do
    functions[i] = function_text(case, f)
  end
  local body = text_of(case.body)
  for i, f in ipairs(case.functions) do
    if not uses(body, f.name) then
      functions[i] = ""
    end
  end
  local arrays, params = {}, { "n", "x", "flag" }
  for _, a in ipairs(arrays_of(case)) do
    if uses(body, a.name) then
      arrays[#arrays + 1] = a
      params[#params + 1] = a.name
    end
  end
  local text = table.concat {
    "local UP_I, UP_F, UP_B, TABLE, CONST = 17, -0.75, true, { i = 5 }, roc.const.array({ -7, "
      .. "300, 2, 0, 11 }, \"int16\")\n",
    table.concat(functions), "return function(", table.concat(params, ", "), ")\n", IDS[case.rank],
    uses(body, "gsz") and SIZES[case.rank] or "", tiles_text(case, body), body,
    "end, function(value) UP_I = value end\n",
  }
  return text, arrays
end

return M
