-- rocluac --emit=c: a header and a C file for C programs.
local files = require "support.files"
local programs = require "support.programs"

local SCRIPT = [[
  local roc = require "roc"
  roc.kernel(function(class, register, x, is, n, half)
    if is then class[1] = x + n + register[1] + half end
  end, { name = "a-b", signature = "(float64[:], float32[:], float32, bool, uint64, float16)" })
  roc.kernel(function() end, { name = "a_b", signature = "()" })
]]

describe("rocluac --emit=c", function()
  local rocluac = programs.find("rocluac")
  if not rocluac then return pending("rocluac is not built") end
  for _, tool in ipairs { "cc", "c++" } do
    if not files.has_program(tool) then return pending("no " .. tool) end
  end

  local folder
  setup(function()
    folder = files.run("mktemp -d"):gsub("\n$", "")
    local file <close> = assert(io.open(folder .. "/my-kernels.lua", "w"))
    file:write(SCRIPT)
  end)
  teardown(function() files.run("rm -rf " .. folder) end)

  local function compile(options)
    assert(programs.run(("%s --emit=c -t cpu:x86-64 -t sm_90 %s %s/my-kernels.lua"):format(rocluac,
      options, folder)))
  end

  it("names what it declares after the file and the kernels", function()
    compile("-o " .. folder .. "/2d")
    local header = files.read(folder .. "/2d.h")
    for _, text in ipairs {
      "/* Kernels of my-kernels.lua, written by rocluac; 2d.c has their code. */",
      "extern const unsigned char _2d_kernels[];",
      "  roclua_array *class_;\n  roclua_array *register_;\n  float x;\n  bool is;\n  uint64_t n;\n"
        .. "  float half;\n} _2d_a_b_args;",
      "static inline int _2d_a_b_launch(roclua_kernel *kernel, roclua_stream *stream,",
      'roclua_kernel_read(_2d_kernels, _2d_kernels_size, "a-b", out_kernel)',
      "/* ---- a_b() */",
      "static inline int _2d_a_b_2_prepare(roclua_kernel *kernel, roclua_stream *stream) {",
    } do
      assert(header:find(text, 1, true), text)
    end
    assert.is_nil(header:find(folder, 1, true))
  end)

  it("is C11 and C++ without a warning", function()
    compile("-o " .. folder .. "/k.h") -- the same as -o k
    local command = "%s -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Isrc/include %s/k.c"
    for _, compiler in ipairs { "cc -std=c11", "c++ -std=c++11 -x c++" } do
      local ok, output = programs.run(command:format(compiler, folder))
      assert(ok, output)
    end
  end)
end)
