-- Random kernels, and the comparison of every device with sim on them.
--
-- A case is a tree of statements and expressions, so that a failing one can be shrunk by deleting and replacing parts; its text is an
-- ordinary kernel.  Each work-item writes elements of its own, so every device must give the same bits (contract=false, no
-- transcendental functions); a NaN equals any NaN.  Cases that fail a check must fail on every device.
local roc = require "roc"

local M = {}

-- random choices --------------------------------------------------------------------------------------------

local random = math.random

local function pick(list)
  return list[random(#list)]
end

local function chance(percent)
  return random(100) <= percent
end

-- expressions -------------------------------------------------------------------------------------------------
-- A node is { type = "I" | "F" | "S" | "B", parts }, parts a list of strings and nodes.

local INTEGERS = {
  "0", "1", "2", "3", "7", "-1", "-5", "63", "64", "255", "65536", "2147483647", "-2147483648", "4294967296",
  "math.maxinteger", "math.mininteger", "9007199254740993", "0x55555555",
}
local FLOATS = {
  "0.0", "-0.0", "1.0", "0.5", "-2.25", "3.1415926535897931", "1e300", "-1e300", "1e-310", "16777217.0", "9007199254740993.0",
  "9.3e18", "-9.3e18", "1e10", "(1/0)", "(-1/0)", "(0/0)",
}

local gen = {}

local function node(type, ...)
  return { type = type, parts = { ... } }
end

local function expression(scope, type, depth)
  return gen[type](scope, depth)
end

-- A visible local or parameter of the type, or nil.
local function variable(scope, type)
  local names = {}
  local s = scope
  while s do
    for _, v in ipairs(s.names) do
      if v.type == type then
        names[#names + 1] = v.name
      end
    end
    s = s.parent
  end
  return #names > 0 and pick(names) or nil
end

-- Any integer made into an index from 1 to the extent of `array`.
local function index(scope, array, depth)
  return node("I", "(", expression(scope, "I", depth), ") % #", array, " + 1")
end

local function leaf(scope, type, constants)
  local name = chance(70) and variable(scope, type)
  return node(type, name or pick(constants))
end

local CONVERSIONS = { "int8", "int16", "int32", "uint8", "uint16", "uint32", "int64" }

local function call_function(scope, type, depth)
  for _, f in ipairs(scope.functions) do
    if f.type == type and chance(50) then
      return node(type, f.name, "(", expression(scope, f.params[1], depth), ", ", expression(scope, f.params[2], depth),
        ", in_i, in_f, in_s, in_b)")
    end
  end
end

function gen.I(scope, depth)
  if depth <= 0 then
    return leaf(scope, "I", INTEGERS)
  end
  local d = depth - 1
  local a = function() return expression(scope, "I", d) end
  local choice = random(17)
  if choice <= 4 then
    return node("I", "(", a(), pick { " + ", " - ", " * " }, a(), ")")
  elseif choice == 5 then
    return node("I", "(", a(), pick { " & ", " | ", " ~ " }, a(), ")")
  elseif choice == 6 then
    return node("I", "(", a(), pick { " << ", " >> " }, a(), ")")
  elseif choice == 7 then
    return node("I", "(", a(), pick { " // ", " % " }, "(", a(), " | 1))")
  elseif choice == 8 then
    return node("I", "(", a(), pick { " // ", " % " }, pick { "3", "-7", "16", "-1", "1000003" }, ")")
  elseif choice == 9 then
    return node("I", pick { "(- ", "(~ " }, a(), ")")
  elseif choice == 10 then
    return node("I", "in_i[", index(scope, "in_i", d), "]")
  elseif choice == 11 then
    return node("I", "roc.", pick(CONVERSIONS), "(", expression(scope, pick { "I", "F", "S" }, d), ")")
  elseif choice == 12 then
    return node("I", pick { "math.min(", "math.max(" }, a(), ", ", a(), ")")
  elseif choice == 13 then
    return node("I", "roc.math.", pick { "popcount(", "clz(", "ctz(", "bitreverse(" }, a(), ")")
  elseif choice == 14 then
    return node("I", "(", expression(scope, "B", d), " and ", a(), " or ", a(), ")")
  elseif choice == 15 then
    return node("I", "math.abs(", a(), ")")
  elseif choice == 16 then
    return call_function(scope, "I", d) or leaf(scope, "I", INTEGERS)
  end
  return node("I", "in_b[", index(scope, "in_b", d), "]")
end

-- Floats of the two widths differ in what they read and convert to.
local function float(type, input, constants)
  return function(scope, depth)
    if depth <= 0 then
      return leaf(scope, type, constants)
    end
    local d = depth - 1
    local a = function() return expression(scope, type, d) end
    local choice = random(15)
    if choice <= 5 then
      return node(type, "(", a(), pick { " + ", " - ", " * ", " / " }, a(), ")")
    elseif choice == 6 then
      return node(type, "(", a(), pick { " // ", " % " }, a(), ")")
    elseif choice == 7 then
      return node(type, "(", expression(scope, "I", d), pick { " + ", " * ", " - " }, a(), ")")
    elseif choice == 8 then
      return node(type, input, "[", index(scope, input, d), "]")
    elseif choice == 9 then
      return node(type, "(- ", a(), ")")
    elseif choice == 10 then
      return node(type, pick { "math.min(", "math.max(" }, a(), ", ", a(), ")")
    elseif choice == 11 then
      return node(type, "(", expression(scope, "B", d), " and ", a(), " or ", a(), ")")
    elseif choice == 12 then
      return node(type, pick { "math.abs(", "math.sqrt(", "roc.math.trunc(", "roc.math.round(" }, a(), ")")
    elseif choice == 13 then
      return node(type, type == "S" and "roc.float32(" or "roc.float64(", expression(scope, pick { "I", "F", "S" }, d), ")")
    elseif choice == 14 then
      return call_function(scope, type, d) or leaf(scope, type, constants)
    end
    return node(type, "(", a(), "^2)")
  end
end

gen.F = float("F", "in_f", FLOATS)
gen.S = float("S", "in_s", { "in_s[1]", "in_s[2]", "in_s[#in_s]" })

function gen.B(scope, depth)
  if depth <= 0 then
    return leaf(scope, "B", { "true", "false" })
  end
  local d = depth - 1
  local choice = random(8)
  if choice <= 4 then
    local types = pick { { "I", "I" }, { "F", "F" }, { "S", "S" }, { "I", "F" }, { "F", "I" }, { "S", "I" }, { "S", "F" } }
    return node("B", "(", expression(scope, types[1], d), pick { " < ", " <= ", " > ", " >= ", " == ", " ~= " },
      expression(scope, types[2], d), ")")
  elseif choice == 5 then
    return node("B", "(", expression(scope, "B", d), pick { " and ", " or " }, expression(scope, "B", d), ")")
  elseif choice == 6 then
    return node("B", "(not ", expression(scope, "B", d), ")")
  elseif choice == 7 then
    return node("B", "math.ult(", expression(scope, "I", d), ", ", expression(scope, "I", d), ")")
  end
  return node("B", "roc.math.", pick { "isnan(", "isinf(", "isfinite(" }, expression(scope, pick { "F", "S" }, d), ")")
end

-- statements ----------------------------------------------------------------------------------------------
-- A statement is { parts = …, declares = name or nil }; a block is { statements = list }.

local function new_scope(parent)
  return {
    parent = parent,
    names = {},
    functions = parent and parent.functions or {},
    counter = parent and parent.counter or { n = 0 },
    loop = parent and parent.loop,
    uniform = parent and parent.uniform,
    all_lanes = parent and parent.all_lanes,
    even_lanes = parent and parent.even_lanes,
    mutable = parent and parent.mutable or {},
  }
end

local function fresh(scope, prefix)
  scope.counter.n = scope.counter.n + 1
  return prefix .. scope.counter.n
end

local block

local statement = {}

statement[1] = function(scope, depth) -- a local; F starts as float64 so that it stays one
  local type = pick { "I", "F", "S", "B" }
  local name = fresh(scope, type:lower())
  local value = expression(scope, type, depth)
  if type == "F" then
    value = node("F", "roc.float64(", value, ")")
  end
  local s = { parts = { "local ", name, " = ", value }, declares = name }
  scope.names[#scope.names + 1] = { name = name, type = type }
  scope.mutable[name] = true
  return s
end

statement[2] = function(scope, depth) -- an assignment
  local type = pick { "I", "F", "S", "B" }
  local name = variable(scope, type)
  if not name or not scope.mutable[name] then
    return statement[1](scope, depth)
  end
  return { parts = { name, " = ", expression(scope, type, depth) } }
end

statement[3] = function(scope, depth)
  local array = pick { { "out_i", "I" }, { "out_f", "F" }, { "out_s", "S" }, { "out_b", "I" }, { "out_f", "I" }, { "out_s", "F" } }
  return { parts = { array[1], "[gid] = ", expression(scope, array[2], depth) } }
end

statement[4] = function(scope, depth)
  local inner = new_scope(scope)
  inner.uniform = false
  local s = { parts = { "if ", expression(scope, "B", depth), " then\n", block(inner, depth - 1) } }
  if chance(50) then
    local other = new_scope(scope)
    other.uniform = false
    table.insert(s.parts, "else\n")
    table.insert(s.parts, block(other, depth - 1))
  end
  table.insert(s.parts, "end")
  return s
end

statement[5] = function(scope, depth) -- a counted loop with few iterations, sometimes with break or continue
  local inner = new_scope(scope)
  local name = fresh(scope, "k")
  inner.names[1] = { name = name, type = "I" }
  inner.loop = true
  inner.uniform = scope.uniform
  local range = pick { "1, 3", "3, 1, -1", "-1, 2", "0, 10, 4", "math.maxinteger - 1, math.maxinteger", "1, 0" }
  if chance(30) then
    inner.uniform = false
    range = node("I", "1, (", expression(scope, "I", depth - 1), ") % 5")
  end
  if chance(30) then
    inner.uniform = false
    local exit = chance(50) and "break" or "goto continue"
    local condition = expression(inner, "B", 1)
    local body = block(inner, depth - 1)
    return {
      parts = { "for ", name, " = ", range, " do\nif ", condition, " then ", exit, " end\ndo\n", body, "end\n::continue::\nend" },
    }
  end
  local body = block(inner, depth - 1)
  return { parts = { "for ", name, " = ", range, " do\n", body, "end" } }
end

statement[6] = function(scope, depth) -- while and repeat with a counter of their own
  local inner = new_scope(scope)
  inner.uniform = false
  local name = fresh(scope, "w")
  local body = block(inner, depth - 1)
  local condition = expression(scope, "B", 1)
  if chance(50) then
    return { parts = { "do\nlocal ", name, " = 0\nwhile ", name, " < 4 and ", condition, " do\n", name, " = ", name, " + 1\n", body, "end\nend" } }
  end
  return { parts = { "do\nlocal ", name, " = 0\nrepeat\n", name, " = ", name, " + 1\n", body, "until ", name, " > 3 or ", condition, "\nend" } }
end

statement[7] = function(scope, depth) -- hand a value to a neighbour through shared memory
  if not scope.uniform then
    return statement[2](scope, depth)
  end
  local kind = pick { { "tile_i", "I" }, { "tile_f", "F" }, { "tile_s", "S" } }
  local name = fresh(scope, kind[2]:lower())
  local shift = pick { "lid % lsz + 1", "lsz - lid + 1", "1" }
  local s = {
    parts = {
      kind[1], "[lid] = ", expression(scope, kind[2], depth), "\nroc.barrier()\nlocal ", name, " = ", kind[1], "[", shift, "]\nroc.barrier()",
    },
    declares = name,
  }
  scope.names[#scope.names + 1] = { name = name, type = kind[2] }
  return s
end

statement[8] = function(scope, depth) -- a wave operation
  if not scope.uniform then
    return statement[3](scope, depth)
  end
  local name = fresh(scope, "i")
  local value = expression(scope, "I", depth)
  local calls = {
    { "roc.wave.sum(", value, ")" }, { "roc.wave.min(", value, ")" }, { "roc.wave.max(", value, ")" },
    { "roc.wave.ballot(", expression(scope, "B", depth), ")" },
  }
  if scope.all_lanes then -- what a lane that is not there gives is unspecified
    calls[5] = { "roc.wave.shuffle_up(", value, ", 2)" }
    calls[6] = { "roc.wave.shuffle(", value, ", 1)" }
    calls[7] = { "roc.wave.broadcast(", value, ", 1)" }
    if scope.even_lanes then
      calls[8] = { "roc.wave.shuffle_xor(", value, ", 1)" }
    end
  end
  local call = pick(calls)
  local s = { parts = { "local ", name, " = " }, declares = name }
  table.move(call, 1, #call, 4, s.parts)
  scope.names[#scope.names + 1] = { name = name, type = "I" }
  return s
end

statement[9] = function(scope, depth) -- a total over all work-items
  return { parts = { expression(scope, "I", depth) }, total = true }
end

statement[10] = function(scope, depth) -- something a check may refuse
  if not chance(15) then
    return statement[2](scope, depth)
  end
  return pick {
    { parts = { "out_i[gid] = in_i[", expression(scope, "I", 1), "]" }, risky = true },
    { parts = { "out_i[gid] = ", expression(scope, "I", 1), " // ", expression(scope, "I", 1) }, risky = true },
    { parts = { "out_i[gid] = math.floor(", expression(scope, "F", depth), ")" }, risky = true },
    { parts = { "assert(", expression(scope, "B", depth), ", \"no\")" }, risky = true },
  }
end

function block(scope, depth)
  local b = { statements = {} }
  if depth <= 0 then
    b.statements[1] = statement[2](scope, 1)
    return b
  end
  for _ = 1, random(1, 4) do
    b.statements[#b.statements + 1] = statement[random(#statement)](scope, depth)
  end
  return b
end

local function device_function(scope, number)
  local type = pick { "I", "F", "S" }
  local params = { pick { "I", "F", "S" }, pick { "I", "S" } }
  local inner = new_scope()
  inner.counter = scope.counter
  inner.functions = {}
  inner.names = { { name = "p", type = params[1] }, { name = "q", type = params[2] } }
  return {
    name = "helper" .. number,
    type = type,
    params = params,
    early = expression(inner, "B", 1),
    first = expression(inner, type, 2),
    second = expression(inner, type, 2),
  }
end

-- A whole case.  `seed` alone decides it.
function M.generate(seed)
  math.randomseed(seed)
  local scope = new_scope()
  scope.names = { { name = "gid", type = "I" }, { name = "lid", type = "I" }, { name = "n", type = "I" }, { name = "x", type = "F" } }
  scope.uniform = true
  local case = { seed = seed, total = pick { "add", "xor", "max" }, functions = {} }
  for i = 1, random(0, 2) do
    case.functions[i] = device_function(scope, i)
  end
  scope.functions = case.functions
  case.early_return = chance(25) and expression(scope, "B", 1) or nil
  case.workgroup = pick { 1, 8, 16, 33, 64, 70 }
  case.grid = pick { 1, 16, 37, 70 }
  scope.all_lanes = not case.early_return
  scope.even_lanes = scope.all_lanes and case.workgroup % 2 == 0 and case.grid % 2 == 0
  case.body = { statements = {} }
  for _ = 1, random(2, 7) do
    table.insert(case.body.statements, statement[random(#statement)](scope, 3))
  end
  case.check = chance(70)
  case.n = pick { 0, 5, -3, 1 << 40 }
  case.x = pick { 0.0, 2.5, -1e200, 1 / 0 }
  return case
end

-- text -----------------------------------------------------------------------------------------------------

local function render(part, out, total)
  if type(part) == "string" then
    out[#out + 1] = part
  elseif part.statements then
    for _, s in ipairs(part.statements) do
      render(s, out, total)
      out[#out + 1] = "\n"
    end
  else
    if part.total then -- one operation a kernel, so that their order does not matter
      out[#out + 1] = "roc.atomic." .. total .. "(total, 1, "
      render(part.parts[1], out, total)
      out[#out + 1] = ")"
      return
    end
    for _, p in ipairs(part.parts) do
      render(p, out, total)
    end
  end
end

local function text_of(part, total)
  local out = {}
  render(part, out, total)
  return table.concat(out)
end

-- Source of a chunk that returns the kernel's function.
function M.text(case)
  local out = {}
  for _, f in ipairs(case.functions) do
    out[#out + 1] = ("local function %s(p, q, in_i, in_f, in_s, in_b)\nif %s then return %s end\nreturn %s\nend\n"):format(
      f.name, text_of(f.early), text_of(f.first), text_of(f.second))
  end
  out[#out + 1] = "return function(n, x, in_i, in_f, in_s, in_b, out_i, out_f, out_s, out_b, total)\n"
  out[#out + 1] = "local tile_i = roc.shared.array(128, \"int64\")\nlocal tile_f = roc.shared.array(128, \"float64\")\n"
  out[#out + 1] = "local tile_s = roc.shared.array(128, \"float32\")\n"
  out[#out + 1] = "local gid, lid = roc.get_global_id(1), roc.get_local_id(1)\n"
  out[#out + 1] = "local lsz = math.min(roc.get_local_size(1), roc.get_global_size(1) - gid + lid)\n" -- items that are there
  out[#out + 1] = "tile_i[lid] = lid\ntile_f[lid] = lid\ntile_s[lid] = lid\nroc.barrier()\n"
  if case.early_return then
    out[#out + 1] = "if " .. text_of(case.early_return) .. " then return end\n"
  end
  out[#out + 1] = text_of(case.body, case.total)
  out[#out + 1] = "end\n"
  return table.concat(out)
end

-- running --------------------------------------------------------------------------------------------------

local INPUTS = {
  in_i = { "int64", { 3, -1, 0, 7, math.maxinteger, math.mininteger, 1 << 33, -12345, 17, 2, 5 } },
  in_f = { "float64", { 0.5, -0.0, 1e300, -3.75, 1 / 0, 0 / 0, 2.0, 1e-320, 123456789.125, -7.0, 0.1 } },
  in_s = { "float32", { 0.5, -0.0, 1e30, -3.75, 1 / 0, 0 / 0, 2.0, 1e-40, 16777216.0, -7.0, 0.1 } },
  in_b = { "uint8", { 0, 1, 255, 7, 100, 200 } },
}
local OUTPUTS = { { "out_i", "int64" }, { "out_f", "float64" }, { "out_s", "float32" }, { "out_b", "uint8" }, { "total", "int64" } }

-- Runs a case on a device: { error = message or nil, refused = compile message or nil, out_i = bytes … }.
function M.run(case, device)
  local result = {}
  local scope <close> = roc.on_device(device)
  local f = assert(load(M.text(case), "=fuzz" .. case.seed, "t", { roc = roc, math = math, assert = assert }))()
  roc.source("=fuzz" .. case.seed, M.text(case))
  local args = { case.n, case.x }
  for _, name in ipairs { "in_i", "in_f", "in_s", "in_b" } do
    args[#args + 1] = roc.to_device(roc.array(INPUTS[name][2], INPUTS[name][1]))
  end
  local outputs = {}
  for _, o in ipairs(OUTPUTS) do
    outputs[o[1]] = roc.to_device(roc.zeros(o[1] == "total" and 1 or case.grid, o[2]))
    args[#args + 1] = outputs[o[1]]
  end
  local ok, message = pcall(function()
    local k = roc.kernel(f, { contract = false, check = case.check, name = "fuzz" })
    k:launch({ grid = case.grid, workgroup = case.workgroup }, table.unpack(args))
    roc.current_device():synchronize()
  end)
  if not ok then
    message = tostring(message)
    if message:find("kernel 'fuzz'", 1, true) then
      result.refused = message
      return result
    end
    result.error = message
  end
  for name, array in pairs(outputs) do
    local read, host = pcall(array.copy_to_host, array)
    if not read then -- the fault, reported by this wait
      result.error = result.error or tostring(host)
      host = array:copy_to_host()
    end
    result[name] = host
  end
  return result
end

local function same_number(a, b)
  if a ~= a or b ~= b then
    return a ~= a and b ~= b
  end
  return a == b and (math.type(a) == "integer" or 1 / a == 1 / b or a ~= 0)
end

-- nil when two results agree, else a sentence.
local function difference(a, b)
  if a.refused or b.refused then
    if (a.refused ~= nil) ~= (b.refused ~= nil) then
      return "refused by one device: " .. tostring(a.refused or b.refused)
    end
    return nil
  end
  if (a.error ~= nil) ~= (b.error ~= nil) then
    return ("one failed: %s / %s"):format(tostring(a.error), tostring(b.error))
  end
  if a.error then
    return nil -- which items had run is open
  end
  for _, o in ipairs(OUTPUTS) do
    local x, y = a[o[1]], b[o[1]]
    for i = 1, #x do
      if not same_number(x[i], y[i]) then
        return ("%s[%d]: %s / %s"):format(o[1], i, tostring(x[i]), tostring(y[i]))
      end
    end
  end
end

-- An unchecked kernel with a failing check is undefined: those run checked.
local function has_risk(part)
  if type(part) ~= "table" then
    return false
  end
  if part.risky then
    return true
  end
  for _, p in ipairs(part.parts or part.statements or {}) do
    if has_risk(p) then
      return true
    end
  end
  return false
end

-- Compares `devices` with sim.  Gives nil, or device name and difference; second: true when the case was refused.
function M.check(case, devices)
  case.check = case.check or has_risk(case.body)
  local reference = M.run(case, "sim")
  for _, device in ipairs(devices) do
    local found = difference(reference, M.run(case, device))
    if found then
      return ("%s: sim / %s: %s"):format("seed " .. case.seed, device, found), false
    end
  end
  return nil, reference.refused
end

-- shrinking ------------------------------------------------------------------------------------------------

local SIMPLE = { I = "1", F = "1.0", S = "in_s[1]", B = "true" }

-- Calls try() after each small simplification of the tree, keeping those for which it answers true.
local function simplify(part, try)
  if type(part) ~= "table" then
    return
  end
  local list = part.statements
  if list then
    for i = #list, 1, -1 do
      local removed = table.remove(list, i)
      if not try() then
        table.insert(list, i, removed)
      end
    end
  end
  if part.type and #part.parts > 1 then
    local saved = part.parts
    part.parts = { SIMPLE[part.type] }
    if try() then
      return
    end
    part.parts = saved
    for _, p in ipairs(saved) do -- an operand in the node's place
      if type(p) == "table" and p.type == part.type then
        part.parts = { p }
        if try() then
          break
        end
        part.parts = saved
      end
    end
  end
  for _, p in ipairs(part.statements or part.parts) do
    simplify(p, try)
  end
end

-- Makes a failing case smaller while it still fails; returns it.
function M.shrink(case, devices)
  local function try()
    local ok, found, refused = pcall(M.check, case, devices)
    return ok and found ~= nil and not refused and not found:find("refused", 1, true)
  end
  for _ = 1, 3 do
    local early = case.early_return
    case.early_return = nil
    if not try() then
      case.early_return = early
    end
    simplify(case.body, try)
  end
  return case
end

return M
