-- Writes the Lua files of roclua as one C file:
-- lua5.4 embed.lua OUT.c LUA_DIR KERNELS_DIR DOCS_DIR FILE...
-- Each FILE lies below one of the directories; "roc/sim.lua" becomes module roc.sim, a file of
-- KERNELS_DIR a module of roc.kernels.  What the prompt explains names by becomes a module that is
-- a text: a page of DOCS_DIR roc.docs.PAGE, and "roc/meta/core.lua" roc.docs.meta.core; roc.docs is
-- the list of pages.  The table is sorted by module name, for a binary search.
local out_path, lua_dir, kernels_dir, docs_dir = arg[1], arg[2], arg[3], arg[4]

local function relative(path, dir)
  if path:sub(1, #dir + 1) == dir .. "/" then return path:sub(#dir + 2) end
end

-- A Lua chunk that returns a text.
local function returning(text)
  local level = ""
  while text:find("]" .. level .. "]", 1, true) do level = level .. "=" end
  return ("return [%s[\n%s]%s]\n"):format(level, text, level)
end

local function describe(path)
  local handle <close> = assert(io.open(path, "rb"))
  local text = handle:read("a")
  local page, file = relative(path, docs_dir), relative(path, lua_dir)
  if page or file and file:find "^roc/meta/" then
    file = page and "roc/docs/" .. page or file:gsub("^roc/", "roc/docs/")
    text = returning(text)
  end
  if not file then
    file = "roc/kernels/" .. assert(relative(path, kernels_dir),
      path .. " lies below none of the directories")
  end
  local module = file:gsub("%.%a+$", ""):gsub("/init$", ""):gsub("/", ".")
  return { module = module, file = file, text = text }
end

local function bytes_of(text)
  local lines = {}
  for first = 1, #text, 32 do
    lines[#lines + 1] = table.concat({ text:byte(first, first + 31) }, ",") .. ","
  end
  return table.concat(lines, "\n")
end

local entries, pages = {}, {}
for i = 5, #arg do
  entries[#entries + 1] = describe(arg[i])
  local page = entries[#entries].module:match "^roc%.docs%.([%w-]+)$"
  pages[#pages + 1] = page and ("%q"):format(page)
end
entries[#entries + 1] = { module = "roc.docs", file = "roc/docs",
  text = "return {" .. table.concat(pages, ",") .. "}\n" }
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
