-- An installation, moved to another folder, used by C programs that are built against it.
local files = require "support.files"
local programs = require "support.programs"

local EXPORTED = "^roclua_[%w_]+$"

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

local SQUARE = [[
  roc = require "roc"
  local k = roc.kernel "function(a) local i = roc.get_global_id(1) a[i] = a[i] * a[i] end"
  local a = roc.range(1, 5)
  k:forall(#a)(a)
  print(roc.current_device().kind, a[5])]]

describe("an installation", function()
  local build, why = programs.installable_build { "cmake", "ninja", "cc", "pkg-config", "nm" }
  if not build then return pending(why) end

  local folder, prefix, libraries, host, static_host

  -- Runs a command line with the installation in the place of {prefix}; its output, or an error.
  local function run(command)
    local line = "cd " .. folder .. " && " .. command:gsub("{prefix}", prefix)
    local succeeded, output = programs.run(line)
    assert(succeeded, output)
    return output
  end

  setup(function()
    folder = files.run("mktemp -d"):gsub("\n$", "")
    assert(programs.run(("cmake --install %s --prefix %s/first"):format(quote(build), folder)))
    prefix = folder .. "/moved"
    assert(os.rename(folder .. "/first", prefix))
    libraries = prefix .. "/lib"
    if not io.open(libraries .. "/libroclua.so.0") then
      libraries = run("dirname $(find {prefix} -name libroclua.so.0)"):gsub("\n$", "")
    end
    local flags = ("PKG_CONFIG_PATH=%s/pkgconfig pkg-config --cflags --libs"):format(libraries)
    local here = files.run("pwd"):gsub("\n$", "")
    host, static_host = folder .. "/host", folder .. "/static_host"
    run(("cc -Wall -Werror %s/spec/c/host.c -o %s $(%s roclua lua5.4) -ldl -Wl,-rpath,%s")
      :format(here, host, flags, libraries))
    run(("cc -Wall -Werror %s/spec/c/host.c -o %s $(%s lua5.4) -I{prefix}/include %s/libroclua.a "
      .. "-lm -ldl -lpthread"):format(here, static_host, flags, libraries))
    for name, library in pairs { plugin = "$(" .. flags .. " roclua)",
      static_plugin = "-I{prefix}/include " .. libraries .. "/libroclua.a -lm -ldl -lpthread" } do
      run(("cc -Wall -Werror -shared -fPIC %s/spec/c/plugin.c -o %s.so $(%s lua5.4) %s "
        .. "-Wl,-rpath,%s"):format(here, name, flags, library, libraries))
    end
  end)

  teardown(function() if folder then files.run("rm -rf " .. folder) end end)

  local function names_of(command)
    local names = {}
    for kind, name in run(command):gmatch("%x+ (%a) ([^\n]+)") do
      names[#names + 1] = name
      assert.are.equal("T", kind, name)
    end
    table.sort(names)
    return names
  end

  it("has the functions of roclua.h in both libraries, and no other name", function()
    local shared = names_of(("nm -D --defined-only %s/libroclua.so.0"):format(libraries))
    local archive = names_of(("nm -g --defined-only %s/libroclua.a"):format(libraries))
    assert.are.same(shared, archive)
    local header, count = files.read(prefix .. "/include/roclua.h"), 0
    for _, name in ipairs(shared) do
      assert.truthy(name:find(EXPORTED) or name == "luaopen_roc_core", name)
      assert.truthy(header:find("ROCLUA_API[^;]-%f[%w_]" .. name .. "%("), name)
    end
    for _ in header:gmatch("\nROCLUA_API") do count = count + 1 end
    assert.are.equal(count, #shared)
  end)

  it("asks the process for Lua, and for no library but the system's", function()
    local undefined = run(("nm -D --undefined-only %s/libroclua.so.0"):format(libraries))
    assert.matches(" U lua_pcallk\n", undefined)
    local dynamic = run(("readelf -d %s/libroclua.so.0"):format(libraries))
    assert.matches("Flags: NODELETE", dynamic)
    for name in dynamic:gmatch("%(NEEDED%)[^\n]-%[([^%]]+)%]") do
      assert.matches("^lib[cm]%.so%.6$", name:gsub("^ld%-linux.*", "libc.so.6")
        :gsub("^libpthread%.so%.0$", "libc.so.6"):gsub("^libdl%.so%.2$", "libc.so.6"))
    end
  end)

  it("holds the compiler and the software GPU in a folder of their own", function()
    local private = run(("PKG_CONFIG_PATH=%s/pkgconfig pkg-config --variable=compilerdir roclua")
      :format(libraries)):gsub("\n$", "")
    assert.is_true(private:find("roclua/0", 1, true) ~= nil)
    assert(io.open(private .. "/libroclua-codegen.so")):close()
    assert(io.open(private .. "/libhsakmt.so.1")):close()
    assert(io.open(private .. "/libdtif.so")):close()
    assert.are.equal("", run(("find {prefix} -name 'libhsakmt*' -not -path '*/roclua/0/*'")))
  end)

  it("runs its programs where it has been moved to", function()
    assert.are.equal("cpu\t25\n", run("{prefix}/bin/roclua --device cpu -e " .. quote(SQUARE)))
    assert.are.equal("hsa\t25\n", run("{prefix}/bin/roclua --emulate gfx90a -e " .. quote(SQUARE)))
  end)

  it("serves a C program that pkg-config links", function()
    assert.are.equal("cpu\t25\n", run("ROCLUA_DEVICE=cpu " .. host .. " -e " .. quote(SQUARE)))
  end)

  it("serves a C program that find_package links", function()
    local here = files.run("pwd"):gsub("\n$", "")
    local source = here .. "/examples/embed/hello"
    run(("cmake -G Ninja -S %s -B hello -DCMAKE_PREFIX_PATH={prefix}"):format(source))
    run("cmake --build hello")
    assert.matches("^on %a+\t4\t25\n$", run("hello/hello"))
  end)

  it("serves a simulation in C with its own memory, on each device", function()
    local here = files.run("pwd"):gsub("\n$", "")
    local source = here .. "/examples/embed/simulation"
    run(("cmake -G Ninja -S %s -B simulation -DCMAKE_PREFIX_PATH={prefix}"):format(source))
    run("cmake --build simulation")
    local texts = {}
    for _, device in ipairs { "cpu", "sim", "hsa ROCLUA_EMULATE=gfx90a" } do
      texts[#texts + 1] = run(("ROCLUA_DEVICE=%s simulation/simulation 10"):format(device))
    end
    assert.matches("step    0: heat 1000%.0, highest 1000%.00\n"
      .. "step   10: heat 1000%.0, highest %d+%.%d%d\n$", texts[1])
    assert.are.same({ texts[1], texts[1], texts[1] }, texts)
  end)

  it("compiles kernels into a program without a Lua state, by roclua_add_kernels", function()
    local here = files.run("pwd"):gsub("\n$", "")
    local source = here .. "/examples/embed/kernels"
    run(("cmake -G Ninja -S %s -B kernels -DCMAKE_PREFIX_PATH={prefix}"):format(source))
    run("cmake --build kernels")
    local on_cpu = run("kernels/kernels")
    assert.matches("^step  20: %+0%.%d+\nstep  40: .-\nstep  60: .-\n"
      .. "every height agrees with a C loop\n$", on_cpu)
    assert.are.equal(on_cpu, run("ROCLUA_EMULATE=gfx90a kernels/kernels hsa"))
    assert.are.equal(on_cpu, run("env -i kernels/kernels")) -- no home, so no cache
  end)

  it("compiles kernels by rocluac and a C compiler", function()
    local here = files.run("pwd"):gsub("\n$", "")
    local source = here .. "/examples/embed/kernels"
    run(("{prefix}/bin/rocluac --emit=c -t cpu:x86-64 -o waves %s/waves.lua"):format(source))
    run(("cc -Wall -Werror %s/kernels.c waves.c -I. -o waves $(PKG_CONFIG_PATH=%s/pkgconfig "
      .. "pkg-config --cflags --libs roclua lua5.4) -Wl,-rpath,%s"):format(source, libraries,
      libraries))
    assert.matches("^step  20: ", run("./waves"))
  end)

  it("serves a program with the archive in it, which names the compiler's folder", function()
    local command = ("ROCLUA_DEVICE=cpu %s -d %s -e %s -d %s"):format(static_host,
      libraries .. "/roclua/0", quote(SQUARE), libraries)
    assert.are.equal("0 \ncpu\t25\n1 the folder of roclua's libraries is set too late: one of them "
      .. "was searched for already\n", run(command))
    assert.matches("^1 '/nowhere' is no folder\n$", run(static_host .. " -d /nowhere"))
    local lost = run(("ROCLUA_CACHE=off ROCLUA_DEVICE=cpu %s -e %s"):format(static_host,
      quote(SQUARE)))
    assert.matches("error: .*cannot open the compiler", lost)
  end)

  it("serves a stock lua5.4, and two modules of a process share it", function()
    local share = prefix .. "/share/lua/5.4"
    local paths = ("LUA_PATH='%s/?.lua;%s/?/init.lua' LUA_CPATH='%s/lua/5.4/?.so'"):format(share,
      share, libraries)
    assert.are.equal("cpu\t25\n",
      run(paths .. " ROCLUA_DEVICE=cpu lua5.4 -e " .. quote(SQUARE)))
    local both = ("ROCLUA_DEVICE=cpu %s -e %s -s %s"):format(host, quote(SQUARE), quote(SQUARE))
    assert.are.equal("cpu\t25\ncpu\t25\n", run(paths .. " " .. both))
  end)

  it("refuses to open a second time in a process", function()
    local stock = ("package.cpath = '%s/lua/5.4/?.so' print(pcall(require, 'roc.core'))"):format(
      libraries)
    local first = ("%s -e %s -s %s"):format(static_host, quote("require 'roc.core' print 'open'"),
      quote(stock))
    assert.matches("^open\nfalse\tanother copy of roclua is open in this process, in the program "
      .. "itself", run(first))
    local second = ("%s -s %s -e %s"):format(static_host, quote(stock), quote("require 'roc.core'"))
    assert.matches("^true\t.*\nerror: another copy of roclua is open in this process, in /.*"
      .. "libroclua.so.0", run(second))
  end)

  for _, name in ipairs { "plugin", "static_plugin" } do
    it(("is loaded a thousand times with work in flight (%s)"):format(name), function()
      local command = ("ROCLUA_DEVICE=cpu ROCLUA_LIBDIR=%s/roclua/0 timeout 100 %s -p ./%s.so 1000")
      assert.are.equal("1000 times\n", run(command:format(libraries, host, name)))
    end)
  end

  -- Names that LLVM has, too; a call of one ends the process.
  local FAKE_LLVM = [[
    #include <stdlib.h>
    #define FAKE(name) void name(void); void name(void) { abort(); }
    FAKE(LLVMContextCreate) FAKE(LLVMInitializeX86Target) FAKE(LLVMInitializeX86TargetInfo)
    FAKE(LLVMInitializeX86TargetMC) FAKE(LLVMModuleCreateWithNameInContext) FAKE(LLVMRunPasses)
    FAKE(LLVMDisposeMessage) FAKE(LLVMCreateTargetMachine) FAKE(_ZN4llvm11LLVMContextC1Ev)
    FAKE(_ZN4llvm11raw_ostream5writeEPKcm) FAKE(roc_codegen_entry) FAKE(roc_fail)
  ]]

  it("does not meet the symbols of another LLVM in the program", function()
    local file <close> = assert(io.open(folder .. "/fake.c", "w"))
    file:write(FAKE_LLVM)
    file:close()
    run("cc -shared -fPIC fake.c -o fake.so")
    local others = { "./fake.so" }
    for path in files.run("ldconfig -p"):gmatch("libLLVM[^\n]-=> (/[^\n]+)") do
      others[#others + 1] = path
    end
    for _, library in ipairs(others) do
      local command = ("ROCLUA_CACHE=off ROCLUA_DEVICE=cpu %s -g %s -e %s"):format(host, library,
        quote(SQUARE))
      assert.are.equal("cpu\t25\n", run(command), library)
    end
  end)
end)
