-- The fences between the layers of src/, as the compiler sees them: its #include lines.
local files = require "support.files"
local layers = require "lint.layers"

local function includes_of(path)
  local found = {}
  for line in files.read(path):gmatch("[^\n]+") do
    local quote, name = line:match('^%s*#%s*include%s*([<"])([^>"]+)[>"]')
    if name then found[#found + 1] = { name = name, is_system = quote == "<" } end
  end
  return found
end

-- Whether `path` is one of the folders and files, or lies in one.
local function is_inside(path, folders)
  for _, folder in ipairs(folders) do
    if path == "src/" .. folder or path:sub(1, #folder + 5) == "src/" .. folder .. "/" then
      return true
    end
  end
  return false
end

local function has_header(fence, name)
  for _, pattern in ipairs(fence.headers) do
    if name:find(pattern) then return true end
  end
  return false
end

describe("the layers of src/", function()
  local sources = files.list("src", "%.[ch]p*$")

  it("are all known to this spec", function()
    assert.is_true(#sources > 0)
    for _, path in ipairs(sources) do
      assert.truthy(layers.ARROWS[path:match("^src/(%w+)/")], path)
    end
  end)

  it("include only what their arrows allow", function()
    local complaints = {}
    for _, path in ipairs(sources) do
      local layer = path:match("^src/(%w+)/")
      for _, include in ipairs(includes_of(path)) do
        local target = include.name:match("^(%w+)/")
        local is_ours = not include.is_system and layers.ARROWS[target]
        if is_ours and not layers.may_use(layer, target) then
          complaints[#complaints + 1] = ("%s includes %s"):format(path, include.name)
        end
      end
    end
    assert.are.equal("", table.concat(complaints, "\n"))
  end)

  it("leave the headers of Lua, LLVM, drivers and line editor to the folders with them", function()
    local complaints = {}
    for _, path in ipairs(sources) do
      for _, include in ipairs(includes_of(path)) do
        for _, fence in ipairs(layers.FENCES) do
          if include.is_system and has_header(fence, include.name)
            and not is_inside(path, fence.folders) then
            complaints[#complaints + 1] = ("%s includes %s"):format(path, include.name)
          end
        end
      end
    end
    assert.are.equal("", table.concat(complaints, "\n"))
  end)
end)
