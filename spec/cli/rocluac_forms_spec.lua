-- Machine code of NVIDIA GPUs out of rocluac and k:inspect_asm: what NVIDIA's programs are asked,
-- and what becomes of what they give, by stand-ins of these programs on the PATH; and the real
-- ptxas, where it is installed.
local files = require "support.files"
local programs = require "support.programs"
local ptxas = require "support.ptxas"

local rocluac = programs.find("rocluac")

local SCRIPT = [[
local roc = require "roc"
for _, name in ipairs { "twice", "thrice" } do
  roc.kernel("function(x) x[1] = 2 * x[1] end", { name = name, signature = "(float32[:])" })
end
]]

-- Its output is what it was asked, and the entries of the PTX.
local PTXAS = [[
#!/bin/sh
while [ $# -gt 1 ]; do
  case $1 in -o) shift; out=$1 ;; *) asked="$asked $1" ;; esac
  shift
done
{ echo "asked$asked"; grep -o '\.entry [a-z_]*' "$1"; } >"$out"
]]

local REFUSING = "#!/bin/sh\necho 'it is refused' >&2\nexit 1\n"

local NVDISASM = "#!/bin/sh\necho complaint >&2\necho \"text $1 of:\"\ncat \"$2\"\n"

describe("machine code of NVIDIA GPUs #nvptx", function()
  local folder

  local function write(name, text)
    local file = assert(io.open(folder .. "/" .. name, "w"))
    file:write(text)
    file:close()
    files.run("chmod +x " .. folder .. "/" .. name)
  end

  before_each(function()
    folder = files.run("mktemp -d"):gsub("\n$", "")
    files.run("mkdir " .. folder .. "/out")
    write("script.lua", SCRIPT)
  end)
  after_each(function() files.run("rm -rf " .. folder) end)

  local function run(args)
    return (files.run(("cd %s && { PATH=%s:$PATH %s %s; } 2>&1"):format(
      folder, folder, rocluac, args)))
  end

  local function check(title, f)
    it(title, function()
      if not rocluac then return pending("needs rocluac") end
      f()
    end)
  end

  local MADE = "asked -v -arch=sm_90\n.entry roc_twice\n.entry roc_thrice\n"

  check("is written as ptxas makes it, all kernels in one file", function()
    write("ptxas", PTXAS)
    assert.are.equal("", run("-t sm_90 --emit=cubin script.lua"))
    assert.are.equal(MADE, files.read(folder .. "/script-sm_90.cubin"))
    run("-t sm_90 -t sm_100 --emit=cubin -o out/x.cubin script.lua")
    local names = files.list(folder .. "/out")
    assert.are.equal(2, #names)
    assert.matches("x%-sm_100%.cubin$", names[1])
    assert.matches("^asked %-v %-arch=sm_100\n", files.read(names[1]))
  end)

  check("is printed as nvdisasm writes it", function()
    write("ptxas", PTXAS)
    write("nvdisasm", NVDISASM)
    assert.are.equal("text -c of:\n" .. MADE, run("-t sm_90 --emit=sass script.lua"))
    local both = run("-t sm_90 -t sm_80 --emit=sass script.lua")
    assert.matches("^; all for sm_90\ntext .*\n; all for sm_80\ntext ", both)
    run("-t sm_90 --emit=sass -o out/x script.lua")
    assert.are.equal("text -c of:\n" .. MADE, files.read(folder .. "/out/x"))
  end)

  check("is an error of one line where a program refuses, and then no file", function()
    write("ptxas", REFUSING)
    local output = run("-t sm_90 --emit=cubin -o out/x script.lua; echo $?")
    assert.matches("^[^\n]*rocluac: 'ptxas' failed for 'sm_90': it is refused\n1\n$", output)
    write("ptxas", PTXAS)
    write("nvdisasm", "#!/bin/sh\nexit 3\n")
    output = run("-t sm_90 --emit=sass -o out/x script.lua; echo $?")
    assert.matches("'nvdisasm' failed for 'sm_90': it said nothing\n1\n$", output)
    assert.are.same({}, files.list(folder .. "/out"))
  end)

  check("is of NVIDIA's targets alone", function()
    for _, target in ipairs { "gfx90a", "cpu" } do
      local output = run(("-t %s --emit=cubin script.lua"):format(target))
      assert.matches(("code for '%s' has no form 'cubin' %%(it has no other than"):format(target),
        output)
    end
  end)

  it("is had from a kernel, too", function()
    local roc = require "roc"
    local k = roc.kernel("function(x) x[1] = 2 end", { name = "k", signature = "(float32[:])" })
    local function refusal(target, form)
      return tostring(select(2, pcall(k.inspect_asm, k, target, form)))
    end
    assert.matches("code for 'sm_90' has no form 'sas' %(it has 'cubin', 'sass'%)",
      refusal("sm_90", "sas"))
    assert.matches("code for 'gfx90a' has no form 'sass'", refusal("gfx90a", "sass"))
    assert.matches("string expected, got table", refusal("sm_90", {}))
    if not ptxas.has("sm_90") then return pending("no ptxas that knows sm_90") end
    local cubin = k:inspect_asm("sm_90", "cubin")
    assert.are.equal("\127ELF", cubin:sub(1, 4))
    assert.is_truthy(cubin:find("roc_k", 1, true))
  end)
end)
