-- A whole random case: arrays, device functions, a kernel body and the launches it is run with. The
-- seed alone decides it.
local checks = require "support.fuzz.checks"
local choice = require "support.fuzz.choice"
local expressions = require "support.fuzz.expressions"
local places = require "support.fuzz.places"
local scopes = require "support.fuzz.scope"
local statements = require "support.fuzz.statements"

local random, pick, chance = choice.random, choice.pick, choice.chance

local M = {}

-- Element type and size of each dtype.
local DTYPES = {
  int8 = { "I", 1 }, int16 = { "I", 2 }, int32 = { "I", 4 }, int64 = { "I", 8 }, uint8 = { "I", 1 },
  uint16 = { "I", 2 },
  uint32 = { "I", 4 }, uint64 = { "I", 8 }, float16 = { "S", 2 }, bfloat16 = { "S", 2 },
  float32 = { "S", 4 }, float64 = { "F", 8 },
  bool = { "B", 1 },
}
local INTEGER_DTYPES = { "int64", "int64", "int32", "uint8", "int8", "int16", "uint16", "uint32",
  "uint64" }
local OTHER_DTYPES = { "float64", "float64", "bool" }
local NARROW_DTYPES = { "float32", "float32", "float16", "bfloat16" }

-- How an array lies in memory; rank 1 and 2.
local LAYOUTS = { { "dense", "dense", "stepped", "reversed" },
  { "C", "C", "F", "transposed", "stepped" } }

local function new_array(name, dtype, is_output)
  local rank = chance(30) and 2 or 1
  return {
    name = name,
    dtype = dtype,
    element = DTYPES[dtype][1],
    itemsize = DTYPES[dtype][2],
    rank = rank,
    layout = pick(LAYOUTS[rank]),
    extents = is_output and {} or pick { { 11, 5 }, { 4, 3 }, { 1, 1 }, { 64, 2 } },
    is_output = is_output,
  }
end

local function add_arrays(case, list, prefix, is_output)
  local dtypes = { pick(INTEGER_DTYPES), "float64" }
  if case.has_float32 then
    dtypes[3] = pick(NARROW_DTYPES)
  end
  for _ = 1, random(0, 2) do
    dtypes[#dtypes + 1] =
      pick(choice.weighted { { 2, INTEGER_DTYPES }, { 2, OTHER_DTYPES },
      { case.has_float32 and 2 or 0, NARROW_DTYPES } })
  end
  for i, dtype in ipairs(dtypes) do
    list[i] = new_array(prefix .. i, dtype, is_output)
  end
  if is_output and chance(15) then -- one array by two names
    local twin = {}
    for k, v in pairs(list[1]) do
      twin[k] = v
    end
    twin.name, twin.same_as = prefix .. #list + 1, list[1].name
    list[#list + 1] = twin
  end
end

local function add_constants(scope)
  scope:add("CONST", "array", { element = "I", extent = "5", is_given = true, is_uniform = true })
end

-- A function that computes; its statements know nothing of the kernel's locals.
local function device_function(case, number)
  local scope = scopes.new(case)
  scope.in_function, scope.is_uniform = true, false
  local params = { expressions.number_type(scope), expressions.number_type(scope) }
  add_constants(scope)
  scope:add("p", params[1], { is_mutable = params[1] ~= "P" })
  scope:add("q", params[2])
  local results = { pick(case.has_float32 and { "I", "F", "S" } or { "I", "F" }) }
  if chance(40) then
    results[2] = pick { "I", "F", "B" }
  end
  local function values(depth)
    local parts = { "return " }
    for i, type in ipairs(results) do
      parts[#parts + 1] = i > 1 and ", " or ""
      parts[#parts + 1] = places.settled(scope, type, depth)
    end
    return { parts = parts }
  end
  local f = { name = "helper" .. number, params = params, results = results, parts = {} }
  if chance(60) then
    local condition = expressions.expression(scope, "B", 1)
    f.parts = { "if ", condition, " then ", values(1), " end\n" }
  end
  if chance(50) then -- its names stay in sight of what is returned
    local body = { statements = {} }
    for i = 1, random(2) do
      body.statements[i] = statements.statement(scope, 2)
    end
    f.parts[#f.parts + 1] = body
  end
  f.parts[#f.parts + 1] = values(2)
  return f
end

-- A function with barriers inside: gives two other items' values.
local function group_function()
  return {
    name = "meet", params = { "I", "I" }, results = { "I", "I" }, is_group = true,
    parts = {
      "tile_n[lid] = p\nroc.barrier()\nlocal other = tile_n[lid % lsz + 1]\nroc.barrier()\n",
      chance(50) and "for k = 1, 2 do\ntile_n[lid] = tile_n[lid] + q\nroc.barrier()\n"
        .. "other = other ~ tile_n[lsz - lid + 1]\nroc.barrier()\nend\n" or "",
      "local first = tile_n[1]\nroc.barrier()\nreturn other, first\n",
    },
  }
end

-- Launches: groups that fill the grid and such that do not, in one to three dimensions.
local WORKGROUPS = {
  { { 1 }, { 8 }, { 16 }, { 33 }, { 64 }, { 70 }, { 256 } },
  { { 4, 4 }, { 8, 2 }, { 3, 5 }, { 33, 2 }, { 1, 7 }, { 16, 4 }, { 17, 9 } },
  { { 2, 3, 4 }, { 4, 2, 2 }, { 1, 1, 8 }, { 9, 5, 2 } },
}
local GRIDS = {
  { { 1 }, { 16 }, { 37 }, { 70 }, { 100 }, { 300 } },
  { { 4, 4 }, { 7, 5 }, { 10, 3 }, { 1, 1 }, { 16, 4 }, { 40, 11 } },
  { { 5, 3, 4 }, { 4, 4, 2 }, { 2, 3, 4 }, { 1, 2, 9 }, { 18, 9, 3 } },
}

local function product(t)
  local n = 1
  for _, extent in ipairs(t) do
    n = n * extent
  end
  return n
end

M.product = product

local function new_launch(rank, ns)
  return {
    workgroup = pick(WORKGROUPS[rank]),
    grid = pick(GRIDS[rank]),
    n = pick(ns),
    x = pick { 0.0, 2.5, -1e200, 1 / 0, -0.0, 3.0 },
    flag = chance(50),
  }
end

-- Whether groups are full, or of one dimension, so that a wavefront has no gaps.
local function is_dense(launch)
  local result = true
  for d, extent in ipairs(launch.grid) do
    result = result and extent % launch.workgroup[d] == 0
  end
  return result or #launch.grid == 1
end

local function add_launches(case)
  case.rank = choice.weighted { { 7, 1 }, { 2, 2 }, { 1, 3 } }
  local ns = pick { { 0, 5, 3, 100, 2147483647 }, { -3, 1 << 40, math.mininteger, 2147483648 } }
  case.launches = {}
  case.has_all_lanes = not case.may_return and not case.may_fail
  case.has_full_groups = true
  local changes = chance(8) -- a third value of an upvalue makes it an argument
  for i = 1, changes and 3 or 2 do
    local tries = case.strided_at and 4 or 1 -- groups that may run side by side
    repeat
      case.launches[i], tries = new_launch(case.rank, ns), tries - 1
    until tries == 0 or case.launches[i].grid[1] > case.launches[i].workgroup[1]
    case.launches[i].upvalue = changes and 17 - 9 * i or 17
    case.has_full_groups = case.has_full_groups and is_dense(case.launches[i])
  end
end

local TOTAL_DTYPES = { "int64", "int32", "uint32", "uint64" }

local function add_totals(case)
  case.totals = {}
  for i = 1, 2 do
    case.totals[i] = { name = "total" .. i, at = tostring(random(3)),
      op = pick(places.REDUCTIONS), dtype = pick(TOTAL_DTYPES) }
  end
end

-- An array that each item touches at an index of its own, which may not be there.
local function add_shifted(case)
  local dtype = pick { "int64", "float64", "int32", "uint8" }
  local a = new_array("shifted", dtype, true)
  a.rank, a.layout = 1, pick(LAYOUTS[1])
  a.index = pick(checks.INJECTIVE)
  case.shifted = { a }
end

-- What loops over the whole grid go through: longer than the grid, or shorter.
local function add_strided(case)
  local lengths = { 1, 64, 100, 333, 700 }
  local kinds = { { 4, INTEGER_DTYPES }, { 3, { "float64" } },
    { case.has_float32 and 4 or 0, NARROW_DTYPES } }
  case.strided = {}
  for i, name in ipairs { "line", "span" } do
    local a = new_array(name, pick(choice.weighted(kinds)), i == 2)
    a.rank, a.layout = 1, pick(LAYOUTS[1])
    a.extents = { pick(lengths), 1 }
    case.strided[i] = a
  end
end

-- Ends the body by writing what the kernel's own locals hold, each to a column of its own.
local function show_locals(case, scope)
  case.shown = {
    { name = "shown_i", dtype = "int64", rank = 2, layout = "C", is_output = true, columns = 1 },
    { name = "shown_f", dtype = "float64", rank = 2, layout = "C", is_output = true, columns = 1 },
  }
  for _, entry in ipairs(scope.names) do
    if entry.type ~= "array" and not entry.is_given then
      local a = case.shown[(entry.type == "I" or entry.type == "B") and 1 or 2]
      local value = entry.type == "B" and entry.name .. " and 1 or 0" or entry.name
      table.insert(case.body.statements,
        { parts = { ("%s[gid][%d] = %s"):format(a.name, a.columns, value) } })
      a.columns = a.columns + 1
    end
  end
end

-- Exact cases have no float32 and plain numbers as Lua's, so that the untouched function computes
-- the same in the Lua VM. Divergent ones are small, and their items go different ways.
function M.generate(seed, is_divergent)
  math.randomseed(seed)
  local case = { seed = seed, nnames = 0, inputs = {}, outputs = {}, functions = {},
    is_divergent = is_divergent }
  case.is_exact = chance(40)
  case.has_float32 = not case.is_exact and chance(85)
  case.number = not case.is_exact and chance(20) and "float32" or "float64"
  case.number_types = case.has_float32 and { "I", "I", "F", "S", "S", "P" }
    or { "I", "I", "F", "P" }
  case.may_return, case.may_fail = chance(30), chance(45)
  case.strided_at = not is_divergent and chance(25) and choice.weighted { { 4, 1 }, { 1, 2 } }
  add_launches(case)
  add_totals(case)
  add_shifted(case)
  add_strided(case)
  case.fill = choice.weighted { { 3, "while" }, { 1, "for" } }
  add_arrays(case, case.inputs, "a", false)
  add_arrays(case, case.outputs, "o", true)
  if not is_divergent and chance(15) then
    case.functions[1] = group_function()
  end
  for _ = 1, random(0, is_divergent and 1 or 2) do
    table.insert(case.functions, device_function(case, #case.functions + 1))
  end
  local scope = scopes.new(case)
  add_constants(scope)
  scope:add("gid", "I", { is_given = true })
  scope:add("lid", "I", { is_given = true })
  scope:add("n", "I", { is_given = true, is_uniform = true })
  scope:add("x", "P", { is_given = true, is_uniform = true })
  scope:add("flag", "B", { is_given = true, is_uniform = true })
  -- compiling takes the time, and most of it for the few big ones
  local most = choice.weighted { { 6, 3 }, { 3, 5 }, { 1, 8 } }
  case.body = { statements = is_divergent and statements.divergent(scope) or {} }
  for i = 1, is_divergent and random(0, 1) or random(2, most) do
    for _ = 1, i == case.strided_at and choice.weighted { { 3, 1 }, { 1, 2 } } or 0 do
      table.insert(case.body.statements, statements.strided(scope, 2))
    end
    table.insert(case.body.statements, statements.statement(scope, random(most > 3 and 2 or 3)))
  end
  show_locals(case, scope)
  case.is_checked = case.may_fail or chance(60)
  return case
end

return M
