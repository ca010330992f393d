-- The C side of kernels that rocluac compiles: a header with a struct of arguments and launchers
-- for each kernel, and a C file with the bytes of the file of kernels.
local M = {}

-- What is no name in C or C++, and may be one in Lua.
local RESERVED = {}
for word in string.gmatch([[
  alignas alignof asm auto bool case catch char class concept const consteval constexpr constinit
  continue decltype default delete double enum explicit export extern float friend inline int long
  mutable namespace new noexcept nullptr operator private protected public register reinterpret_cast
  requires restrict short signed sizeof static static_assert struct switch template this
  thread_local throw try typedef typeid typename union unsigned using virtual void volatile wchar_t
]], "%S+") do
  RESERVED[word] = true
end

-- The type of a scalar in C, and the function of roclua.h that makes a value of it.
local function scalar(dtype)
  if dtype == "bool" then
    return "bool ", "roclua_boolean(args->%s)"
  elseif string.find(dtype, "^u?int") then
    return dtype .. "_t ", "roclua_integer((int64_t)args->%s)"
  elseif dtype == "float64" then
    return "double ", "roclua_number(args->%s)"
  end
  return "float ", "roclua_number(args->%s)" -- halves, too, which C has no type for
end

---The name of a parameter in C.
---@param name string
---@return string
function M.field(name)
  return RESERVED[name] and name .. "_" or name
end

---What the names of a file's declarations begin with.
---@param file string
---@return string
function M.prefix(file)
  return (string.gsub(string.gsub(file, "[^%w_]", "_"), "^%d", "_%0"))
end

---Replaces each $word.
---@param text string
---@param words table<string, string>
---@return string
function M.fill(text, words)
  return (string.gsub(text, "%$(%a+)", words))
end

-- A list of {name, type as in C, maker of the value, type as in the signature}.
local function parameters(item)
  local list, names = {}, item.kernel:params()
  for i, p in ipairs(item.signature) do
    local name = M.field(names[i])
    if p.rank > 0 then
      local dims = string.rep(":", p.rank, ",")
      list[i] = { name, "roclua_array *", "roclua_of_array(args->%s)",
        string.format("%s[%s]", p.dtype, dims) }
    else
      local type_name, maker = scalar(p.dtype)
      list[i] = { name, type_name, maker, p.dtype }
    end
  end
  return list
end

local LOAD = [[
/* The kernel, for as many launches as it takes: roclua_kernel_release ends it.  As
 * roclua_kernel_read. */
static inline int $own_load(roclua_kernel **out_kernel) {
  return roclua_kernel_read($prefix_kernels, $prefix_kernels_size, "$name", out_kernel);
}
]]

local LAUNCH = [[
/* As roclua_kernel_launch, and as roclua_kernel_prepare. */
static inline int $own_launch(roclua_kernel *kernel, roclua_stream *stream,
                              const roclua_launch *launch, const $own_args *args) {
  roclua_value values[$count];
$values
  return roclua_kernel_launch(kernel, stream, launch, values, $count);
}

static inline int $own_prepare(roclua_kernel *kernel, roclua_stream *stream,
                               const $own_args *args) {
  roclua_value values[$count];
$values
  return roclua_kernel_prepare(kernel, stream, values, $count);
}
]]

-- Of a kernel without arguments, for which C has no struct.
local LAUNCH_NOTHING = [[
/* As roclua_kernel_launch, and as roclua_kernel_prepare. */
static inline int $own_launch(roclua_kernel *kernel, roclua_stream *stream,
                              const roclua_launch *launch) {
  return roclua_kernel_launch(kernel, stream, launch, NULL, 0);
}

static inline int $own_prepare(roclua_kernel *kernel, roclua_stream *stream) {
  return roclua_kernel_prepare(kernel, stream, NULL, 0);
}
]]

local fill = M.fill

-- The header's part for a kernel, whose names begin with PREFIX_NAME.
local function declare(item, prefix)
  local list, fields, values, types = parameters(item), {}, {}, {}
  for i, p in ipairs(list) do
    fields[i] = string.format("  %s%s;", p[2], p[1])
    values[i] = string.format("  values[%d] = %s;", i - 1, string.format(p[3], p[1]))
    types[i] = string.format("%s: %s", p[1], p[4])
  end
  -- The symbol is the name with roc_ before it, unique and an identifier.
  local words = { own = prefix .. "_" .. string.sub(item.symbol, #"roc_" + 1), prefix = prefix,
    name = item.name, count = tostring(#list), values = table.concat(values, "\n"),
    fields = table.concat(fields, "\n") }
  local text = { string.format("/* ---- %s(%s) */\n", item.name, table.concat(types, ", ")) }
  if #list > 0 then
    text[2] = fill("typedef struct $own_args {\n$fields\n} $own_args;\n", words)
  end
  text[#text + 1] = fill(LOAD, words)
  text[#text + 1] = fill(#list > 0 and LAUNCH or LAUNCH_NOTHING, words)
  return table.concat(text, "\n")
end

local HEADER = [[
/* Kernels of $script, written by rocluac; $file.c has their code. */
#ifndef $guard_KERNELS_H
#define $guard_KERNELS_H

#include <roclua.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const unsigned char $prefix_kernels[];
extern const size_t $prefix_kernels_size;

$parts
#ifdef __cplusplus
}
#endif

#endif
]]

local SOURCE = [[
/* Kernels of $script, compiled by rocluac. */
#include "$file.h"

const unsigned char $prefix_kernels[] = {
$bytes
};
const size_t $prefix_kernels_size = sizeof $prefix_kernels;
]]

local function bytes_as_text(bytes)
  local lines = {}
  for first = 1, #bytes, 20 do
    lines[#lines + 1] = table.concat({ string.byte(bytes, first, first + 19) }, ",")
  end
  return table.concat(lines, ",\n")
end

---The header and the C file of kernels.
---@param kernels table[] each {kernel =, name =, symbol =, signature = {{dtype =, rank =}, ...}}
---@param bytes string the file of kernels
---@param script string the script's file name
---@param file string the name of both files, without folder and ending
---@return string header, string source
function M.texts(kernels, bytes, script, file)
  local prefix, parts = M.prefix(file), {}
  for i, item in ipairs(kernels) do
    parts[i] = declare(item, prefix)
  end
  local words = { script = script, file = file, prefix = prefix, guard = string.upper(prefix),
    parts = table.concat(parts, "\n"), bytes = bytes_as_text(bytes) }
  return fill(HEADER, words), fill(SOURCE, words)
end

return M
