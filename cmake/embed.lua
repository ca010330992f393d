-- Writes the Lua files of roclua as one C file: lua5.4 embed.lua OUT.c LUA_DIR KERNELS_DIR FILE...
-- Each FILE lies below one of the two directories; "roc/sim.lua" becomes module roc.sim, a file of
-- KERNELS_DIR a module of roc.kernels.  The table is sorted by module name, for a binary search.
local out_path, lua_dir, kernels_dir = arg[1], arg[2], arg[3]

local function relative(path, dir)
  if path:sub(1, #dir + 1) == dir .. "/" then return path:sub(#dir + 2) end
end

local function describe(path)
  local file = relative(path, lua_dir)
  if not file then
    file = "roc/kernels/" .. assert(relative(path, kernels_dir),
      path .. " lies below neither directory")
  end
  local module = file:gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", ".")
  local handle <close> = assert(io.open(path, "rb"))
  return { module = module, file = file, text = handle:read("a") }
end

local function bytes_of(text)
  local lines = {}
  for first = 1, #text, 32 do
    lines[#lines + 1] = table.concat({ text:byte(first, first + 31) }, ",") .. ","
  end
  return table.concat(lines, "\n")
end

local entries = {}
for i = 4, #arg do entries[#entries + 1] = describe(arg[i]) end
table.sort(entries, function(a, b) return a.module < b.module end)

local out <close> = assert(io.open(out_path, "w"))
out:write('#include "embed/embed.h"\n\n')
for i, entry in ipairs(entries) do
  out:write(("static const unsigned char text_%d[] = {\n%s\n0};\n"):format(i, bytes_of(entry.text)))
end
out:write("\nconst roc_embedded roc_embedded_files[] = {\n")
for i, entry in ipairs(entries) do
  out:write(('  {"%s", "@%s", text_%d, %d},\n'):format(entry.module, entry.file, i, #entry.text))
end
out:write(("};\n\nconst size_t roc_embedded_count = %d;\n"):format(#entries))
