-- The passes that make machine code are kept from one compile to the next: what was compiled
-- before changes no byte of a code object.
local files = require "support.files"
local shell = require "support.shell"

-- Compiles kernels of all kinds several times, each time in the opposite order; one of them shares
-- too much for AMD GPUs. Prints how many there are, how many compiles were refused, and which
-- kernels differ.
local SCRIPT = [==[
local roc = require "roc"
local scope <close> = roc.on_device "sim" -- which compiles nothing for itself
local target = arg[1]
local kernels = {
  { "empty", "function(x, n) end" },
  { "saxpy", "function(x, n) local i = roc.get_global_id(1)"
    .. " if i <= #x then x[i] = n * x[i] + 1 end end" },
  { "math", "function(x, n) x[n] = math.exp(x[n]) + math.sin(x[n]) ^ 0.3 end" },
  { "print", "function(x, n) if x[n] > 1 then print('x', n, x[n]) end end" },
  { "atomic", "function(x, n) roc.atomic.add(x, n, 1.5) end" },
  { "tile", "function(x, n) local t = roc.shared.array(64, 'float64')"
    .. " local l = roc.get_local_id(1) t[l] = x[l] roc.barrier()"
    .. " for k = 1, 64 do x[l] = x[l] + t[k] * n end end" },
  { "private", "function(x, n) local p = roc.private.array(8, 'int64')"
    .. " for k = 1, 8 do p[k] = k * n end for k = 1, n do x[k] = p[k % 8 + 1] end end" },
  { "large", "function(x, n) local t = roc.shared.array(9000, 'float64')"
    .. " t[n] = x[n] roc.barrier() x[n] = t[n + 1] end" },
  { "divide", "function(x, n) for i = 1, #x do x[i] = x[i] // n + i % n end end" },
  { "break", "function(x, n) for i = 1, #x do if x[i] == n then break end x[i] = i end end" },
  { "sort", "function(x, n) for i = 1, n do for j = i + 1, n do if x[j] < x[i] then"
    .. " x[i], x[j] = x[j], x[i] end end end end" },
}

local function compile(kernel, check)
  local k = roc.kernel(kernel[2], { env = { roc = roc, math = math, print = print },
    name = kernel[1], check = check })
  local ok, code = pcall(k.compile, k, target, "float64[:]", "int64")
  if not ok then return "refused: " .. tostring(code) end
  local bytes = code.bytes
  code:close()
  return bytes
end

local seen, differ, refused = {}, {}, 0
for round = 1, tonumber(arg[2]) do
  for n = 1, #kernels do
    local kernel = kernels[round % 2 == 1 and n or #kernels + 1 - n]
    for _, check in ipairs { true, false } do
      local name = kernel[1] .. (check and " checked" or "")
      local bytes = compile(kernel, check)
      if round > 1 and seen[name] ~= bytes then differ[#differ + 1] = name end
      if bytes:find "^refused" then refused = refused + 1 end
      seen[name] = bytes
    end
  end
end
print(#kernels, refused, table.concat(differ, ", "))
]==]

describe("passes that are kept", function()
  local path

  setup(function()
    path = os.tmpname()
    local file <close> = assert(io.open(path, "w"))
    file:write(SCRIPT)
  end)
  teardown(function() files.run("rm -f " .. path) end)

  for _, target in ipairs { "cpu", "gfx90a", "gfx1030", "gfx1201", "sm_90" } do
    it("make the same code after other kernels: " .. target, function()
      if not shell.interpreter then return pending("needs roclua") end
      -- LLVM's printer of PTX remembered functions by their addresses, which come again
      local rounds = target == "sm_90" and 20 or 2
      local output = shell.run(("ROCLUA_CACHE=off ROCLUA_SPEC %s %s %d"):format(path, target,
        rounds))
      local refused = target:find "^gfx" and 4 or 0
      assert.are.equal(("11\t%d\t\n"):format(refused), output)
    end)
  end
end)
