-- A compile ends in time that grows with the text: with how deep loops and conditions are nested,
-- and how many follow each other. Where a pass takes time that doubles with each, none of these
-- ends.
local files = require "support.files"
local shell = require "support.shell"

local SCRIPT = [==[
local roc = require "roc"
local target, check, DEPTH = arg[1], arg[2] == "checked", 45

local function nest(head, body, foot)
  local lines = {}
  for i = 1, DEPTH do
    local outer = i > 1 and "i" .. i - 1 or "1"
    lines[#lines + 1] = head:gsub("@", i):gsub("OUTER", outer)
  end
  local names = {}
  for i = 1, DEPTH do names[i] = "i" .. i end
  lines[#lines + 1] = body:gsub("SUM", table.concat(names, "+")):gsub("@", DEPTH)
  for i = DEPTH, 1, -1 do lines[#lines + 1] = foot:gsub("@", i) end
  return table.concat(lines, "\n")
end

local function row(n, text)
  local lines = {}
  for i = 1, n do lines[i] = text:gsub("@", i) end
  return table.concat(lines, "\n")
end

local FOR = "for i@ = 1, m do"
local kernels = {
  nest(FOR, "s = s + i@", "end"), -- its value goes round each loop
  nest("for i@ = 1, 2 do", "x[SUM] = s", "end"),
  nest("for i@ = OUTER, m do", "x[SUM + id] = x[SUM] + 1", "end"),
  nest(FOR, "roc.barrier()", "end"),
  nest("local i@ = 0 while i@ < x[@] do i@ = i@ + 1", "s = s + i@", "end"),
  nest(FOR .. " if x[i@] > s then break end", "s = s + i@", "end"),
  nest(FOR, "s = s + i@", "if x[i@] > s then goto done end end") .. " ::done::",
  nest(FOR .. " s = s + x[i@]", "x[@] = s", "x[i@] = s end"),
  nest("if x[@] > s then s = s + 1", "s = s * 2", "else s = s - @ end"),
  row(100, "for i = 1, m do s = s + x[i + @] end"),
  row(200, "if x[@] > s then s = s + 1 else s = s - 2 end"),
  "local v = roc.private.array(8, 'float32')" .. row(50, "for i = 1, 8 do v[i] = v[i] * x[i] end")
    .. " s = v[m]",
}
for i, body in ipairs(kernels) do
  local text = "function(x, m) local id, s = roc.get_global_id(1), 0.0 " .. body .. " x[id] = s end"
  local k = roc.kernel(text, { env = { roc = roc }, check = check })
  k:compile(target, "float64[:]", "int64"):close()
end
print(#kernels)
]==]

describe("the time of a compile", function()
  local path

  setup(function()
    path = os.tmpname()
    local file <close> = assert(io.open(path, "w"))
    file:write(SCRIPT)
  end)
  teardown(function() files.run("rm -f " .. path) end)

  for _, target in ipairs { "cpu", "gfx90a", "gfx1030", "gfx1201" } do
    for _, check in ipairs { "checked", "unchecked" } do
      it(("grows with the text: %s, %s"):format(target, check), function()
        if not shell.interpreter then return pending("needs roclua") end
        local output = shell.run(("ulimit -t ${ROCLUA_SPEC_SECONDS:-300}; ROCLUA_CACHE=off "
          .. "ROCLUA_DEVICE=null timeout 300 ROCLUA_SPEC %s %s %s"):format(path, target, check))
        assert.are.equal("12\n", output)
      end)
    end
  end
end)
