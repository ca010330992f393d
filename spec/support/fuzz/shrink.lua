-- Makes a failing case smaller while it still fails.
local M = {}

local SIMPLE = { I = "1", F = "1.0", P = "1.0", S = "roc.float32(1.0)", B = "true" }

-- Calls try() after each small simplification of the tree, keeping those for which it answers true.
local function simplify(part, try)
  if type(part) ~= "table" or part.arguments_of then
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
    for i = 1, #list do -- what a compound statement holds, in its place
      local whole = list[i]
      for _, inner in ipairs(whole.parts or {}) do
        if type(inner) == "table" and inner.statements then
          list[i] = inner
          if try() then
            break
          end
          list[i] = whole
        end
      end
    end
  elseif part.type and #part.parts > 1 and SIMPLE[part.type] then
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

-- Replaces case[key] or one of its launches' fields by something simpler.
local function replace(t, key, simpler, try)
  local saved = t[key]
  if saved == simpler then
    return
  end
  t[key] = simpler
  if not try() then
    t[key] = saved
  end
end

local function simplify_arrays(case, try)
  for _, list in ipairs { case.inputs, case.outputs, case.strided } do
    for _, a in ipairs(list) do
      replace(a, "layout", a.rank == 1 and "dense" or "C", try)
    end
  end
end

---`fails(case)` says whether a case still shows what is looked for.
function M.shrink(case, fails)
  local function try()
    local ok, answer = pcall(fails, case)
    return ok and answer
  end
  local launches = case.launches
  for i = #launches, 1, -1 do
    case.launches = { launches[i] }
    if try() then
      break
    end
    case.launches = launches
  end
  for _ = 1, 2 do
    simplify(case.body, try)
    for _, f in ipairs(case.functions) do
      simplify(f, try)
    end
  end
  simplify_arrays(case, try)
  for _, launch in ipairs(case.launches) do
    if case.rank == 1 then
      replace(launch, "grid", { 1 }, try)
      replace(launch, "workgroup", { 1 }, try)
    end
  end
  return case
end

return M
