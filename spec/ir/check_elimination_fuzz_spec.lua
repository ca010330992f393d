-- Guard against random kernels: a check it removes never fails when the kernel as written is
-- interpreted. ROCLUA_FUZZ_GUARD=n tries n kernels instead of the suite's few.
local compiler = require("roc.core").testing.compiler

local HEAD = [[
kernel k(n.0: int, w.1: int narrow, y.2: float32[1] c read narrow, z.3: float32[1] c read) check
  array y.0 = param y.2
  array z.1 = param z.3
  array s.2: float32[10] shared
  var a.0: int
  var b.1: int
  var t.2: bool
  var i.3: int
  var j.4: int
]]
local VARS, LOOP_VARS = { "a.0", "b.1" }, { "i.3", "j.4" }
local ARRAYS = { "y.0", "z.1", "s.2" }
local CONSTANTS = { 0, 1, 1, 2, 3, 10, 10, -1, math.maxinteger, math.mininteger,
  math.maxinteger - 1 }

local function pick(list) return list[math.random(#list)] end

-- ---- generating: a tree of nodes, { op =, … }, with numbered results ----------------------------

local Generator = {}
Generator.__index = Generator

function Generator:node(list, node, kind)
  if kind then
    self.nlabels = self.nlabels + 1
    node.label = self.nlabels
    table.insert(self.scope[kind], node.label)
  end
  list[#list + 1] = node
  return node.label
end

function Generator:integer(list)
  local known = self.scope.int
  local choice = math.random(12)
  if choice <= 3 and #known > 0 then return pick(known) end
  if choice == 4 then return self:node(list, { op = "const", value = pick(CONSTANTS) }, "int") end
  if choice == 5 then return self:node(list, { op = "extent", array = pick(ARRAYS) }, "int") end
  if choice == 6 then
    return self:node(list, { op = "param", name = pick { "n.0", "w.1" } }, "int")
  end
  if choice == 7 then return self:node(list, { op = "global_id" }, "int") end
  if choice <= 10 or #known < 2 then
    return self:node(list, { op = "get", var = pick { "a.0", "b.1", "i.3", "j.4" } }, "int")
  end
  return self:node(list, { op = pick { "add", "sub", "add", "sub", "min", "max", "mul", "band" },
    pick(known), pick(known) }, "int")
end

function Generator:condition(list)
  local choice = math.random(8)
  if choice == 1 then return self:node(list, { op = "get", var = "t.2" }, "bool") end
  if choice == 2 then return self:node(list, { op = "not", self:condition(list) }, "bool") end
  if choice == 3 then
    local x, y, z = self:condition(list), self:condition(list), self:condition(list)
    return self:node(list, { op = "select", x, y, z }, "bool")
  end
  local x, y = self:integer(list), self:integer(list)
  return self:node(list, { op = pick { "le", "lt", "le", "lt", "eq", "ne" }, x, y }, "bool")
end

-- A list of statements, with what is in scope put back behind it.
function Generator:region(depth)
  local list, nints, nbools = {}, #self.scope.int, #self.scope.bool
  for _ = 1, math.random(1, 4) do
    if self:statement(list, depth) then break end
  end
  for kind, count in pairs { int = nints, bool = nbools } do
    while #self.scope[kind] > count do table.remove(self.scope[kind]) end
  end
  return list
end

function Generator:constant(list, value)
  return self:node(list, { op = "const", value = value }, "int")
end

-- `a = 32; while a > 0 do …; a = a // 2 end`, and others whose rounds constants count, unless what
-- is in them does more.
function Generator:counted_loop(list, depth)
  local first, compare, last, op, by = table.unpack(pick { { 8, "le", 0, "floordiv", 2 },
    { 1, "lt", 10, "mul", 2 }, { 10, "lt", 1, "sub", 3 }, { 1, "lt", 6, "add", 1 } })
  local var, body = pick(VARS), {}
  self:node(list, { op = "set", var = var, self:constant(list, first) })
  self.nlabels = self.nlabels + 1
  local loop = { op = "loop", label = self.nlabels, is_loop = true, body = body }
  table.insert(self.targets, loop)
  local nints, nbools = #self.scope.int, #self.scope.bool
  local value = self:node(body, { op = "get", var = var }, "int")
  local ends = { value, self:constant(body, last) }
  if compare == "lt" and op ~= "sub" then ends[1], ends[2] = ends[2], ends[1] end
  local test = self:node(body, { op = compare, ends[1], ends[2] }, "bool")
  self:node(body, { op = "if", test, no = {}, yes = { { op = "leave", target = loop.label } } })
  local inner = self:region(depth - 1)
  table.move(inner, 1, #inner, #body + 1, body)
  local last_op = inner[#inner] and inner[#inner].op
  if last_op ~= "leave" and last_op ~= "next" and last_op ~= "return" then
    local now = self:node(body, { op = "get", var = var }, "int")
    local changed = self:node(body, { op = op, now, self:constant(body, by) }, "int")
    self:node(body, { op = "set", var = var, changed })
  end
  for kind, count in pairs { int = nints, bool = nbools } do
    while #self.scope[kind] > count do table.remove(self.scope[kind]) end
  end
  table.remove(self.targets)
  list[#list + 1] = loop
end

-- True when nothing may follow.
function Generator:statement(list, depth)
  local choice = math.random(depth > 0 and 12 or 6)
  if choice <= 3 then
    self.nsites = self.nsites + 1
    local index = self:integer(list)
    self:node(list, { op = "check", array = pick(ARRAYS), index, site = self.nsites - 1 })
  elseif choice == 4 then
    self:node(list, { op = "set", var = pick(VARS), self:integer(list) })
  elseif choice == 5 then
    self:node(list, { op = "set", var = "t.2", self:condition(list) })
  elseif choice == 6 then
    local target = #self.targets > 0 and pick(self.targets)
    local op = target and pick { "leave", target.is_loop and "next" or "leave", "return" }
      or "return"
    if math.random(3) > 1 then return false end
    self:node(list, { op = op, target = op ~= "return" and target.label or nil })
    return true
  elseif choice == 7 then
    self:counted_loop(list, depth)
  elseif choice <= 9 then
    local test = self:condition(list)
    local yes = self:region(depth - 1)
    self:node(list, { op = "if", test, yes = yes,
      no = math.random(2) == 1 and self:region(depth - 1) or {} })
  else
    local var = choice == 10 and not self.loop_var and pick(LOOP_VARS)
    local node = { op = var and "for" or pick { "block", "loop" }, var = var }
    if var then
      node[1], node[2] = self:integer(list), self:integer(list)
      node[3] = self:node(list, { op = "const", value = pick { 1, 1, 2, -1, 3 } }, "int")
      self.loop_var = var
    end
    self.nlabels = self.nlabels + 1
    node.label, node.is_loop = self.nlabels, node.op ~= "block"
    table.insert(self.targets, node)
    node.body = self:region(depth - 1)
    table.remove(self.targets)
    if var then self.loop_var = nil end
    list[#list + 1] = node
  end
  return false
end

local function generate()
  local g = setmetatable({ nlabels = 0, nsites = 0, scope = { int = {}, bool = {} }, targets = {} },
    Generator)
  local list = {}
  for _, var in ipairs { "a.0", "b.1", "i.3", "j.4" } do -- as in kernels, none is read before
    local source = math.random(3) == 1 and { op = "param", name = "n.0" }
      or { op = "const", value = pick(CONSTANTS) }
    local label = g:node(list, source, "int")
    list[#list + 1] = { op = "set", var = var, label }
  end
  for _ = 1, 4 do
    for _, node in ipairs(g:region(0)) do
      if node.op ~= "return" then list[#list + 1] = node end
    end
    g.scope = { int = {}, bool = {} }
    local more = g:region(3)
    table.move(more, 1, #more, #list + 1, list)
    local last = list[#list]
    if last and last.op == "return" then break end
  end
  return list, g.nsites
end

-- ---- printing -----------------------------------------------------------------------------------

local TYPES = { le = "bool", lt = "bool", eq = "bool", ne = "bool", ["not"] = "bool",
  select = "bool" }
local FIELDS = {
  const = function(n) return tostring(n.value) end,
  extent = function(n) return n.array .. " 0" end,
  param = function(n) return n.name end,
  global_id = function() return "0" end,
  get = function(n) return n.var end,
  set = function(n) return n.var end,
  ["for"] = function(n) return n.var end,
  check = function(n) return ("%s 0 #%d"):format(n.array, n.site) end,
  leave = function(n) return "%" .. n.target end,
  next = function(n) return "%" .. n.target end,
}

local function print_list(list, out)
  for _, n in ipairs(list) do
    local words = { n.op == "check" and "check.index" or n.op }
    if FIELDS[n.op] then words[2] = FIELDS[n.op](n) end
    for _, arg in ipairs(n) do words[#words + 1] = "%" .. arg end
    local line = table.concat(words, " ")
    if n.body then
      line = ("%%%d = %s"):format(n.label, line)
    elseif n.label then
      line = ("%%%d: %s = %s"):format(n.label, n.var == "t.2" and "bool" or TYPES[n.op] or "int",
        line)
    end
    out[#out + 1] = line
    if n.body or n.yes then print_list(n.body or n.yes, out) end
    if n.no then
      out[#out + 1] = "else"
      print_list(n.no, out)
    end
    if n.body or n.yes then out[#out + 1] = "end" end
  end
end

local function text_of(list, nsites)
  local out = {}
  for site = 0, nsites - 1 do
    out[#out + 1] = ('site %d index "f" 1 1 dim 0 values 2 name "x"'):format(site)
  end
  print_list(list, out)
  return HEAD .. table.concat(out, "\n") .. "\nend\n"
end

-- ---- interpreting -------------------------------------------------------------------------------

local function pure(op, x, y, z)
  if op == "add" then return x + y end
  if op == "sub" then return x - y end
  if op == "mul" then return x * y end
  if op == "band" then return x & y end
  if op == "floordiv" then return x // y end
  if op == "min" then return math.min(x, y) end
  if op == "max" then return math.max(x, y) end
  if op == "le" then return x <= y end
  if op == "lt" then return x < y end
  if op == "eq" then return x == y end
  if op == "ne" then return x ~= y end
  if op == "not" then return not x end
  if x then return y end
  return z
end

-- Runs a list; returns nothing, or how it ended: "return", "failed", "fuel", or "leave" or "next"
-- with the target.
local run

local function turn(state, node)
  local how, target = run(state, node.body)
  if how and target ~= node.label then return how, target end
  if how == "leave" then return "left" end
end

local function run_loop(state, node)
  local first, last, step = state[node[1]], state[node[2]], state[node[3]]
  if not node.var then first, last, step = 1, math.maxinteger, 1 end
  for value = first, last, step do
    if node.var then state.vars[node.var] = value end
    local how, target = turn(state, node)
    if how == "left" or node.op == "block" and not how then return end
    if how then return how, target end
    state.fuel = state.fuel - 1
    if state.fuel <= 0 then return "fuel" end
  end
end

local function run_check(state, node)
  local index = state[node[1]]
  if index >= 1 and index <= state.extents[node.array] then return end
  state.failed = node.site
  return "failed"
end

function run(state, list)
  for _, n in ipairs(list) do
    local how, target
    if n.op == "const" then state[n.label] = n.value
    elseif n.op == "extent" then state[n.label] = state.extents[n.array]
    elseif n.op == "param" then state[n.label] = state[n.name]
    elseif n.op == "global_id" then state[n.label] = state.id
    elseif n.op == "get" then state[n.label] = state.vars[n.var]
    elseif n.op == "set" then state.vars[n.var] = state[n[1]]
    elseif n.op == "check" then how = run_check(state, n)
    elseif n.op == "leave" or n.op == "next" or n.op == "return" then how, target = n.op, n.target
    elseif n.op == "if" then how, target = run(state, state[n[1]] and n.yes or n.no)
    elseif n.body then how, target = run_loop(state, n)
    else state[n.label] = pure(n.op, state[n[1]], state[n[2]], state[n[3]])
    end
    if how then return how, target end
  end
end

local function new_state()
  local any = { 0, 1, 2, 5, 9, 10, 11, -1, math.maxinteger, math.mininteger, math.random(-20, 20) }
  return {
    ["n.0"] = pick(any), ["w.1"] = pick { 0, 1, 5, 10, 2147483646 }, id = math.random(12),
    fuel = 200,
    vars = { ["a.0"] = pick(any), ["b.1"] = pick(any), ["t.2"] = math.random(2) == 1,
      ["i.3"] = pick(any), ["j.4"] = pick(any) },
    extents = { ["y.0"] = pick { 0, 1, 5, 10, 2147483646 },
      ["z.1"] = pick { 0, 1, 5, 10, math.maxinteger }, ["s.2"] = 10 },
  }
end

-- Tries one kernel; returns the number of checks removed.
local function try()
  local list, nsites = generate()
  local text = text_of(list, nsites)
  local guarded = compiler.ir_eliminate_checks(text)
  local is_left, nleft = {}, 0
  for site in guarded:gmatch("check%.index %S+ 0 #(%d+)") do
    is_left[tonumber(site)], nleft = true, nleft + 1
  end
  for _ = 1, 30 do
    local state = new_state()
    run(state, list)
    if state.failed and not is_left[state.failed] then
      error(("check #%d was removed and fails in\n%s"):format(state.failed, text))
    end
  end
  return nsites - nleft
end

describe("guard", function()
  it("removes no check that fails, in random kernels", function()
    math.randomseed(20)
    local removed = 0
    for _ = 1, tonumber(os.getenv("ROCLUA_FUZZ_GUARD") or 500) do removed = removed + try() end
    assert.is_true(removed > 100) -- else nothing was tested
  end)
end)
