-- What people do with the library first, each done from an installation and by what
-- docs/embedding.md says: a small program of spec/c/tasks, or one of examples/embed.
--
-- ROCLUA_SPEC_PREFIX names the installation, as scripts/packages.sh does for that of the packages;
-- without it this build makes one.
local files = require "support.files"
local programs = require "support.programs"

local KERNELS = [[
local roc = require "roc"
scale = roc.kernel(function(a, factor)
  local i = roc.get_global_id(1)
  a[i] = a[i] * factor
end, { name = "scale", signature = "(float32[:], float64)" })
]]

local CMAKE = [[
cmake_minimum_required(VERSION 3.16)
project(open LANGUAGES C)
find_package(roclua 0.1 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(LUA REQUIRED IMPORTED_TARGET lua5.4)
add_executable(open TASKS/open.c)
target_link_libraries(open PRIVATE roclua::roclua PkgConfig::LUA)
add_executable(open_static TASKS/open.c)
target_link_libraries(open_static PRIVATE roclua::static PkgConfig::LUA)
set_target_properties(open_static PROPERTIES RUNTIME_OUTPUT_DIRECTORY PREFIX/bin)
]]

-- Around the docs' example of a kernel as a function.
local PROGRAM = [[
#include <stdio.h>
#include "waves.h"
static float next[101 * 101], now[101 * 101], before[101 * 101];
int main(void) {
  %s
  puts(next[5000] == 0 ? "no wave" : "a wave");
  return why != NULL;
}
]]

-- Around the other examples of the docs, which use each other's names.
local BLOCK = [[
#include <lauxlib.h>
#include <lua.h>
#include <roclua.h>
#include <stdio.h>
#include <stdlib.h>
extern lua_State *L;
extern roclua_array *array;
extern roclua_stream *stream;
extern roclua_kernel *kernel;
%s
void block(void) {
  %s
}
]]

-- A program and what it prints.
local TASKS = {
  { "open", "opens roclua in a state", "25\n" },
  { "wrap", "wraps floats and a strided matrix", "10 50, 11 34 0\ngiven back 1 time\n" },
  { "launch", "launches a kernel from C, without its state", "1001 1199\n" },
  { "threads", "launches one kernel from two threads", "1048576 2097152\n" },
  { "errors", "reads errors", "script: .-kernel 'scale' takes 2 arguments, got 1\n"
    .. "call: no such device\nkernel: .-index 11 out of range 1%.%.10 of 'a'.-\n"
    .. "compile: kernel 'wrong'\n" },
  { "log", "prints to a log", "%[Lua%] a is\t6%.0\n%[C%] a is\t21%.0\n" },
  { "interrupt", "ends a kernel by an interrupt", ".-interrupted!\n5%.0\n" },
  { "reload", "reloads a script", "14 140 130 \n" },
}

describe("from an installation and the docs, a program", function()
  local prefix = os.getenv "ROCLUA_SPEC_PREFIX"
  local build, why
  if not prefix then
    build, why = programs.installable_build { "cmake", "ninja", "cc", "c++", "pkg-config" }
    if not build then return pending(why) end
  end

  local folder, tasks, examples, flags

  -- Runs a command line in a folder of this spec's own; its output, or an error.
  local function run(command, ...)
    local succeeded, output = programs.run(("cd %s && %s"):format(folder, command:format(...)))
    assert(succeeded, output)
    return output
  end

  local function write(name, text)
    local file <close> = assert(io.open(folder .. "/" .. name, "w"))
    file:write(text)
  end

  setup(function()
    folder = files.run("mktemp -d"):gsub("\n$", "")
    local here = files.run("pwd"):gsub("\n$", "")
    tasks, examples = here .. "/spec/c/tasks", here .. "/examples/embed"
    if build then
      prefix = folder .. "/prefix"
      run("cmake --install '%s' --prefix %s", build, prefix)
    end
    local libraries = run("dirname $(find %s/lib -name libroclua.so.0)", prefix):gsub("\n$", "")
    if prefix == "/usr" then -- of the system: nothing needs to be said of its place
      flags = "$(pkg-config --cflags --libs roclua lua5.4) -lpthread"
    else
      flags = ("$(PKG_CONFIG_PATH=%s/pkgconfig pkg-config --cflags --libs roclua lua5.4) "
        .. "-lpthread -Wl,-rpath,%s"):format(libraries, libraries)
    end
  end)

  teardown(function() if folder then files.run("rm -rf " .. folder) end end)

  for _, task in ipairs(TASKS) do
    local name, title, expected = table.unpack(task)
    it(title, function()
      run("cc -Wall -Werror %s/%s.c -o %s %s", tasks, name, name, flags)
      assert.matches("^" .. expected .. "$", run("ROCLUA_DEVICE=cpu timeout 100 ./%s", name))
    end)
  end

  it("is linked by CMake, and statically", function()
    write("CMakeLists.txt", (CMAKE:gsub("TASKS", tasks):gsub("PREFIX", prefix)))
    run("cmake -G Ninja -S . -B by_cmake -DCMAKE_PREFIX_PATH=%s", prefix)
    run("cmake --build by_cmake")
    assert.are.equal("25\n", run("ROCLUA_DEVICE=cpu by_cmake/open"))
    local open_static = prefix .. "/bin/open_static"
    assert.are.equal("25\n", run("ROCLUA_DEVICE=cpu %s", open_static))
    assert.is_nil(run("ldd %s", open_static):find("libroclua", 1, true))
    os.remove(open_static)
  end)

  it("may have each block of C in the docs", function()
    local count = 0
    for block in files.read("docs/embedding.md"):gmatch "```c\n(.-)```" do
      if not block:find("waves_", 1, true) then -- those are in examples/embed/kernels and below
        local functions = block:match "^(static [^\n]*\n)" or ""
        write("block.c", BLOCK:format(functions, block:sub(#functions + 1)))
        run("cc -fsyntax-only -Wall -Werror -Wno-unused block.c %s", flags)
        count = count + 1
      end
    end
    assert.is_true(count > 5)
  end)

  it("begins as the docs show, with the script of hello.c", function()
    local program, count = files.read("examples/embed/hello/hello.c"), 0
    local block = files.read("docs/embedding.md"):match "```c\n(lua_State %*L = luaL_newstate.-)```"
    for line in block:gmatch '\n    (".-\\n")' do
      count = count + 1
      assert.is_truthy(program:find(line, 1, true), line)
    end
    assert.are.equal(8, count)
  end)

  it("is described to CMake by the lines of the docs", function()
    local text, count = "", 0
    for _, name in ipairs { "hello", "kernels" } do -- which spec/c/install_spec.lua builds
      text = text .. "\n" .. files.read(("examples/embed/%s/CMakeLists.txt"):format(name))
    end
    for block in files.read("docs/embedding.md"):gmatch "```cmake\n(.-)```" do
      for line in block:gmatch "[^\n]+" do
        count = count + 1
        assert.is_truthy(text:find("\n" .. line .. "\n", 1, true), line)
      end
    end
    assert.are.equal(6, count)
  end)

  it("is built by each command line of the docs", function()
    local text = files.read("docs/embedding.md")
    local own = folder .. "/by_docs"
    run("mkdir %s && for f in %s/*/*.*; do cp $f %s; done", own, examples, own)
    write("by_docs/program.c", PROGRAM:format(text:match "```c\n(waves_grid grid.-)```"))
    local libraries = run("dirname $(find %s/lib -name libroclua.so.0)", prefix):gsub("\n$", "")
    local settings = ("PATH=%s/bin:$PATH; export PKG_CONFIG_PATH=%s/pkgconfig"):format(prefix,
      libraries)
    local count = 0
    for block in text:gmatch "```sh\n(.-)```" do
      for line in block:gsub("\\\n", ""):gmatch "[^\n]+" do
        if line:find "^cc " or line:find "^c%+%+ " or line:find "^rocluac " then
          run("cd by_docs && %s && %s", settings, line)
          count = count + 1
        end
      end
    end
    assert.is_true(count > 8)
    for _, program in ipairs { "hello", "kernels" } do
      run("cd by_docs && LD_LIBRARY_PATH=%s ROCLUA_DEVICE=cpu ROCLUA_LIBDIR=%s/roclua/0 ./%s",
        libraries, libraries, program)
    end
    assert.are.equal("no wave\n", run("by_docs/program"))
  end)

  it("ships kernels that were compiled ahead of time", function()
    write("scale.lua", KERNELS)
    run("cc -Wall -Werror %s/ahead.c -o ahead %s", tasks, flags)
    run("%s/bin/rocluac --emit=kernels -t cpu -o scale.kernels scale.lua", prefix)
    assert.are.equal("297\n", run("./ahead scale.kernels cpu"))
  end)

  it("is in C++, with owners", function()
    run("c++ -std=c++17 -Wall -Werror %s/raii/raii.cpp -o raii %s", examples, flags)
    assert.matches("^100 numbers, 10 and 3\nas expected: .-index 101 out of range.-\n$",
      run("ROCLUA_DEVICE=cpu ./raii"))
  end)

  it("runs plug-ins with limits", function()
    run("cc -Wall -Werror %s/plugins/plugins.c -o plugins %s", examples, flags)
    local function plugins(options, ...)
      local names = {}
      for i, name in ipairs { ... } do names[i] = ("%s/plugins/%s.lua"):format(examples, name) end
      return run("ROCLUA_DEVICE=cpu timeout 100 ./plugins %s %s", options,
        table.concat(names, " "))
    end
    assert.matches("brighten%.lua: done, the samples are 0 to 1498%.5\n"
      .. ".-greedy%.lua: stopped: not enough memory\n$",
      plugins("-t 60000", "brighten", "greedy"))
    assert.matches("endless%.lua: stopped: .-its time is over\n.-stuck%.lua: stopped: .-\n$",
      plugins("-t 300", "endless", "stuck"))
  end)
end)
