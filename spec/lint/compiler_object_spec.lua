-- The compiler's shared object, as the linker sees it: what it shows, and that nothing in it
-- allocates or locks without codegen/llvm/memory.c.
local programs = require "support.programs"

-- Called by memory.c, and by the wrappers there alone; fallocate allocates no memory.
local KNOWN = {}
for name in ([[calloc fallocate free malloc malloc_usable_size realloc realpath pthread_mutex_lock
  pthread_mutex_trylock pthread_mutex_unlock pthread_once pthread_rwlock_rdlock
  pthread_rwlock_unlock pthread_rwlock_wrlock]]):gmatch("%S+") do
  KNOWN[name] = true
end

-- What gives a block that is to be freed, what frees one, what others wait for.
local SUSPECT = { "alloc", "align", "^free$", "dup$", "dup_", "getline", "getdelim", "printf_alloc",
  "asprintf", "scandir", "realpath", "canonicalize", "get_current_dir", "memstream", "tempnam",
  "mutex", "rwlock", "spin", "once$", "^sem_", "guard", "^_Zn", "^_Zd[la]" }

-- Of descriptors and of C++'s locales; and what gives memory back that holds no block.
local OTHERS = { dup = true, dup2 = true, __duplocale = true, malloc_trim = true }

local function symbols(path, which)
  local found = {}
  local pipe <close> = assert(io.popen(("nm -D -P %s '%s'"):format(which, path)))
  for line in pipe:lines() do
    found[#found + 1] = line:match("^[^@%s]+")
  end
  return found
end

local function is_suspect(name)
  if KNOWN[name] or OTHERS[name] then return false end
  for _, pattern in ipairs(SUSPECT) do
    if name:find(pattern) then return true end
  end
  return false
end

describe("the compiler's object", function()
  local path = programs.find("../lib/roclua/0/libroclua-codegen.so")
  if not path then return pending("no build folder") end
  if programs.sanitizer(path) ~= "" then return pending("a sanitizer allocates by itself") end

  it("shows one function", function()
    assert.are.same({ "roc_codegen_entry" }, symbols(path, "--defined-only"))
  end)

  it("allocates and locks by functions that are wrapped", function()
    local complaints = {}
    for _, name in ipairs(symbols(path, "--undefined-only")) do
      if is_suspect(name) then complaints[#complaints + 1] = name end
    end
    assert.are.same({}, complaints)
  end)
end)
