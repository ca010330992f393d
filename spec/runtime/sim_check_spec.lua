-- Races and undefined values that `sim` finds, each with its two places; and what is none.
local roc = require "roc"
local shell = require "support.shell"

-- What --check says of a kernel, whose text stands on line 3 and below, and the status.
local function check(text, launch, options)
  local path = os.tmpname()
  finally(function() os.remove(path) end)
  local file <close> = assert(io.open(path, "w"))
  file:write('local roc = require "roc"\nlocal x = roc.to_device(roc.zeros(64, "int64"))\n', text,
    "\nlocal ok, why = pcall(function() ", launch, " roc.current_device():synchronize() end)\n",
    "if not ok then print(why) end")
  file:close()
  local output, status = shell.run(("ROCLUA %s %s 2>&1"):format(
    options or "--device sim --check", path))
  return output:gsub(path:gsub("%p", "%%%0"), "s"):gsub("roclua: check: ", ""), status
end

local TILE = [[
local k = roc.kernel(function(x)
  local t = roc.shared.array(64, "int64")
  local l = roc.get_local_id(1)
  %s
end, {name = "k"})]]

local ONE_GROUP, TWO_GROUPS = "k[{1, 64}](x)", "k[{2, 32}](x)"

local RACES = {
  ["a shared array without a barrier"] = { "t[l] = l\n  x[l] = t[65 - l]", ONE_GROUP,
    "work%-item {33} reads t%[32%] at s:7, and work%-item {32} wrote it at s:6; "
      .. "nothing orders the two, as no barrier lies between them" },
  ["a write after a read of others"] = {
    "t[l] = l\n  roc.barrier()\n  x[l] = t[65 - l]\n  t[l] = 0", ONE_GROUP,
    "work%-item {33} reads t%[32%] at s:8, and work%-item {32} wrote it at s:9" },
  ["a barrier for the other memory"] = {
    "t[l] = l\n  roc.barrier(roc.CLK_GLOBAL_MEM_FENCE)\n  x[l] = t[65 - l]", ONE_GROUP,
    "reads t%[%d+%] at s:8" },
  ["an argument in one workgroup"] = { "x[1] = l", ONE_GROUP,
    "work%-item {2} writes x%[1%] at s:6, and work%-item {1} wrote it at s:6" },
  ["workgroups with a barrier"] = {
    "roc.barrier()\n  if l == 1 then x[1] = roc.get_group_id(1) end\n  roc.barrier()", TWO_GROUPS,
    "work%-item {33} writes x%[1%] at s:7, and work%-item {1} wrote it at s:7; "
      .. "nothing orders the two\n" },
  ["an atomic operation and a plain access"] = {
    "roc.atomic.add(x, 1, 1)\n  if l == 64 then x[2] = x[1] end", ONE_GROUP,
    "work%-item {%d+} [%l ]+ x%[1%] at s:[67], and work%-item {%d+} %l+ it at s:[67]" },
  ["items of a wavefront"] = { "t[l] = l\n  x[l] = t[(l ~ 1) % 64 + 1]", ONE_GROUP, "reads t%[" },
}

local NO_RACES = {
  ["a barrier"] = { "t[l] = l\n  roc.barrier()\n  x[l] = t[65 - l]", ONE_GROUP },
  ["a barrier for that memory"] = {
    "t[l] = l\n  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)\n  x[l] = t[65 - l]", ONE_GROUP },
  ["a wave operation"] = { "t[l] = l\n  roc.wavebarrier()\n  x[l] = t[65 - l]", ONE_GROUP },
  ["atomic operations"] = { "roc.atomic.add(x, 1, 1)\n  roc.atomic.max(x, 1, l)", TWO_GROUPS },
  ["own elements"] = {
    "local i = roc.get_global_id(1)\n  x[i] = i\n  x[i] = x[i] + 1", TWO_GROUPS },
  ["the same value"] = { "x[1] = 0", TWO_GROUPS },
  ["reads alone"] = { "local s = x[1] + x[2]\n  assert(s == 0)", TWO_GROUPS },
  ["fences and a flag"] = { [[if roc.get_group_id(1) == 1 then
    if l == 1 then x[5] = 7 roc.mem_fence() roc.atomic.store(x, 1, 1) end
  elseif l == 1 then
    while roc.atomic.load(x, 1) == 0 do end
    roc.mem_fence()
    x[6] = x[5]
  end]], TWO_GROUPS },
  ["the last group, which a counter tells"] = { [[x[l + 1] = l
  roc.mem_fence()
  roc.barrier()
  local n = roc.shared.array(1, "int64")
  if l == 1 then n[1] = roc.atomic.add(x, 1, 1) end
  roc.barrier()
  if n[1] == 1 then roc.mem_fence() x[l + 1] = x[l + 1] + 1 end]], TWO_GROUPS },
}

describe("the check of sim", function()
  if not shell.interpreter then return pending("the specs do not run in roclua") end

  for name, case in pairs(RACES) do
    it("finds a race: " .. name, function()
      local output, status = check(TILE:format(case[1]), case[2])
      assert.matches("race in kernel 'k': [^\n]*" .. case[3], output)
      assert.matches("faults? found in kernels, told above\n$", output)
      assert.equal(1, status)
    end)
  end

  for name, case in pairs(NO_RACES) do
    it("finds none: " .. name, function()
      assert.same({ "", 0 }, { check(TILE:format(case[1]), case[2]) })
    end)
  end

  it("tells each pair of lines once", function()
    local output = check(TILE:format("t[l] = l\n  x[l] = t[65 - l] + t[l % 64 + 1]"),
      "k[{1, 64}](x) k[{1, 64}](x)")
    local _, count = output:gsub("race in kernel", "")
    assert.equal(1, count)
  end)

  it("finds elements that nothing has written", function()
    local output, status = check(TILE:format("t[l] = 1\n  roc.barrier()\n  if l < 4 then\n"
      .. "  local p = roc.private.array(2, 'int32')\n  p[1] = 1\n  x[l] = p[2] end"), ONE_GROUP)
    assert.matches("undefined value in kernel 'k': work%-item {1} reads p%[2%] at s:11, "
      .. "which was never written", output)
    assert.equal(1, status)
    output = check(TILE:format("if l > 1 then t[l] = 1 end\n  roc.barrier()\n  x[l] = t[1]"),
      ONE_GROUP)
    assert.matches("reads t%[1%] at s:8, which was never written", output)
  end)

  it("names elements of two dimensions, also of rows", function()
    local output = check([[local k = roc.kernel(function(m)
      local l = roc.get_local_id(1)
      local row = m[2]
      row[3] = l
    end, {name = "k"})
    local m = roc.to_device(roc.zeros({ 2, 3 }, "int64"))]], "k[{1, 4}](m)")
    assert.matches("writes m%[2%]%[3%] at s:6", output)
  end)

  it("sees arguments that share memory, and captured arrays", function()
    local output = check([[local k = roc.kernel(function(a, b)
      local l = roc.get_local_id(1)
      a[l] = l
      if l < 8 then b[l] = 0 end
    end, {name = "k"})]], "k[{1, 8}](x:slice(1, 1, 8), x:slice(1, 2, 9))")
    assert.matches("writes [ab]%[%d%] at s:", output)
    output = check("local k = roc.kernel(function() x[1] = roc.get_local_id(1) end, {name = 'k'})",
      "k[{1, 8}]()")
    assert.matches("writes x%[1%] at s:3, and", output)
  end)

  it("looks at the untouched function, too", function()
    local output = check(TILE:format("t[l] = l\n  x[l] = t[65 - l]"),
      ONE_GROUP, "--device sim --check -e 'require(\"roc.sim\").is_raw = true'")
    assert.matches("race in kernel 'k': [^\n]* at s:7, and [^\n]* at s:6", output)
  end)

  it("changes no result, and is off unless it is asked for", function()
    local text = TILE:format("t[l] = l\n  x[l] = t[65 - l]\n  if l == 1 then print(x[1]) end")
    local output, status = check(text, ONE_GROUP, "--device sim")
    assert.same({ 0, nil }, { status, output:match("race") })
    assert.equal(output, (check(text, ONE_GROUP):gsub("[^\n]*kernel[^\n]*\n", "")))
  end)

  it("comes by the environment", function()
    local output = shell.run([[ROCLUA_SIM_CHECK=1 ROCLUA --device sim -e 'local roc = require "roc"
      roc.kernel(function(x) x[1] = roc.get_local_id(1) end)[{1, 4}](roc.zeros(1))' 2>&1]])
    assert.matches("check: race in kernel", output)
  end)
end)

describe("a kernel with a shared array and no barrier", function()
  it("has a hint that a wrong result may be a race", function()
    local function hints(text)
      return table.concat(roc.kernel(text, { env = { roc = roc },
        signature = "(int64[:])" }):hints(), "\n")
    end
    local WRITES = [[function(x) local t = roc.shared.array(64, "int64")
      local l = roc.get_local_id(1) t[l] = l %s x[l] = t[65 - l] end]]
    assert.matches("shared array 't' without a barrier: a wrong result may be a race, which roclua "
      .. "%-%-device sim %-%-check finds", hints(WRITES:format ""))
    assert.equal("", hints(WRITES:format "roc.barrier()"))
    assert.equal("", hints(WRITES:format "roc.wavebarrier()"))
  end)
end)
