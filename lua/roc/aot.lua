-- rocluac: runs a script and compiles every kernel with a signature that it makes.
--
-- Everything is compiled before anything is written, and each file is written atomically. A
-- code object holds all kernels for one target, every other output one kernel; see
-- docs/command-line.md for how files are named.
local core = require "roc.core"
local c_texts = require("roc.aot_c").texts
local functions_text = require("roc.aot_functions").text
local kernels = require "roc.kernel"


-- The script's `os`, whose `exit` is replaced while the script runs.
local script_os = _G.os
local stdout, stderr = _G.io.stdout, _G.io.stderr

local M = {}

local USAGE = [[
usage: rocluac [options] script.lua [args]
Runs the script and compiles every kernel with a signature that it makes.
Available options are:
  -t, --target NAME   compile for this target: gfx90a, gfx1100, sm_90, cpu, cpu:x86-64-v3, ... (may
                      be given several times)
  -o, --output FILE   where to write; with several targets, or several kernels but in code objects,
                      their names are added
  --emit=KIND         ast, ir, llvm, llvm-opt, asm (printed unless -o is given), obj (one a kernel)
                      or hsaco, ptx (the default: the target's loadable code object with all
                      kernels; for cpu an object file), cubin, sass (machine code of an NVIDIA GPU
                      with all kernels, and its text, by programs of the CUDA toolkit), or kernels
                      (one file with all kernels for all targets, for roclua_kernel_load), c (the
                      same as a C file, and a header with launchers), or functions (for a cpu: an
                      object file and a header with functions of C, which need no roclua)
  -O0 ... -O3         level of optimisation
  --code-object-version=N  4, 5 (the default) or 6
  --resources         print registers, memory and occupancy of each kernel
  --list-targets      print the names of targets
  --version           print the version
  --help              print this text
  --                  stop handling options
]]

-- kind -> ending of file names, whether it is text, the compiler's name of the stage
local KINDS = {
  ast = { ending = ".ast", is_text = true, stage = "ast" },
  ir = { ending = ".ir", is_text = true, stage = "ir" },
  llvm = { ending = ".ll", is_text = true, stage = "llvm" },
  ["llvm-opt"] = { ending = ".ll", is_text = true, stage = "llvm.opt" },
  asm = { ending = ".s", is_text = true, stage = "asm" },
  obj = { ending = ".o", stage = "obj" },
  kernels = { ending = ".kernels", is_for_all = true },
  c = { is_for_all = true },
  functions = { is_for_all = true },
}
local KIND_NAMES = "ast, ir, llvm, llvm-opt, asm, obj"

local function add_kind(name, kind)
  if not KINDS[name] then
    KINDS[name] = kind
    KIND_NAMES = KIND_NAMES .. ", " .. name
  end
end

-- The kind of output that a GPU's runtime loads, one code object with all kernels, has the name of
-- its file ending; the first such kind is the default. Programs of a vendor make other forms of it.
local DEFAULT_KIND
for _, name in ipairs(core.targets()) do
  local facts = core.target_facts(name)
  local kind = string.sub(facts.object_ending, 2)
  if facts.is_image then
    add_kind(kind, { is_code_object = true })
    DEFAULT_KIND = DEFAULT_KIND or kind
  end
  for _, form in ipairs(facts.forms) do
    add_kind(form.name, {
      is_code_object = true, form = form.name, is_text = form.is_text, ending = "." .. form.name,
    })
  end
end

KIND_NAMES = KIND_NAMES .. ", kernels, c, functions"

-- Ends the run with a message; caught by M.main.
local function stop(message, ...)
  error({ stop = string.format(message, ...) })
end

-- options -----------------------------------------------------------------------------------------

local function add_target(options, name)
  local complaint = core.check_target(name)
  if complaint then
    stop("unknown target '%s': %s", name, (string.gsub(complaint, "^no such compile target; ", "")))
  end
  for _, target in ipairs(options.targets) do
    if target == name then
      return
    end
  end
  table.insert(options.targets, name)
end

local function set_kind(options, name)
  if not KINDS[name] then
    stop("unknown kind of output '%s' (known are %s)", name, KIND_NAMES)
  end
  options.kind = name
end

local function set_object_version(options, name)
  if not string.find(name, "^[456]$") then
    stop("code object version '%s' is not 4, 5 or 6", name)
  end
  options.object_version = math.tointeger(name)
end

local function set_output(options, name)
  if name == "" then
    stop("'-o' needs a file name")
  end
  options.output = name
end

-- Options with a value, in all their spellings.
local VALUED = {
  ["-t"] = add_target, ["--target"] = add_target,
  ["-o"] = set_output, ["--output"] = set_output,
  ["--emit"] = set_kind,
  ["--code-object-version"] = set_object_version,
}

local FLAGS = {
  ["--resources"] = "shows_resources",
  ["--list-targets"] = "lists_targets",
  ["--version"] = "shows_version",
  ["--help"] = "shows_help", ["-h"] = "shows_help",
}

-- `-t NAME`, `-tNAME`, `--target NAME`, `--target=NAME`: handler, value, arguments used.
local function valued_option(args, i)
  local arg = args[i]
  if VALUED[arg] then
    if not args[i + 1] then
      stop("'%s' needs a value; rocluac --help lists the options", arg)
    end
    return VALUED[arg], args[i + 1], 2
  end
  local name, value = string.match(arg, "^(%-%-[^=]+)=(.*)$")
  if not name then
    name, value = string.match(arg, "^(%-[to])(.+)$")
  end
  return VALUED[name], value, 1
end

local function parse(args)
  local options = { targets = {} }
  local i = 1
  while args[i] and string.find(args[i], "^%-.") do
    local arg = args[i]
    if arg == "--" then
      i = i + 1
      break
    end
    local handler, value, used = valued_option(args, i)
    if handler then
      handler(options, value)
    elseif FLAGS[arg] then
      options[FLAGS[arg]] = true
    elseif string.find(arg, "^%-O[0-3]$") then
      options.level = math.tointeger(string.sub(arg, 3))
    else
      stop("unrecognized option '%s'; rocluac --help lists the options", arg)
    end
    i = i + (used or 1)
  end
  options.script = args[i]
  options.script_index = i
  return options
end

-- running the script ------------------------------------------------------------------------------

-- The name, with a number after it where another kernel of the script has the same name.
local function make_unique(name, separator, taken)
  local unique, n = name, 1
  while taken[unique] do
    n = n + 1
    unique = name .. separator .. n
  end
  taken[unique] = true
  return unique
end

-- The kernels with a signature, each {kernel, name, symbol, text, chunkname, index}, names and
-- symbols made unique; and the names of those without, except for kernels that roc itself makes.
local function watch()
  local made, left, names, symbols = {}, {}, {}, {}
  kernels.on_new = function(kernel, where)
    if not where.signature then
      if not where.is_own then
        left[#left + 1] = string.format("%s: kernel '%s'", where.place, kernel.name)
      end
      return
    end
    where.kernel = kernel
    where.name = make_unique(string.gsub(kernel.name, "[^%w_.-]", "_"), "-", names)
    where.symbol = make_unique("roc_" .. string.gsub(kernel.name, "%W", "_"), "_", symbols)
    made[#made + 1] = where
  end
  return made, left
end

local function print_to_stderr(...)
  local words = table.pack(...)
  for i = 1, words.n do
    words[i] = tostring(words[i])
  end
  stderr:write(table.concat(words, "\t"), "\n")
end

-- os.exit of the script ends the script, not the compiler; the script's output is kept apart from
-- the compiler's.
local function run_script(options, args)
  local chunk, why = loadfile(options.script)
  if not chunk then
    stop("%s", why)
  end
  local shifted = {}
  for i = 0, #args do
    shifted[i - options.script_index] = args[i]
  end
  _G.arg = shifted
  local exit, print_before, ended = script_os.exit, _G.print, {}
  _G.print = print_to_stderr
  io.output(stderr)
  script_os.exit = function(code)
    ended.failed = code ~= nil and code ~= true and code ~= 0
    error(ended)
  end
  local ok, message = xpcall(chunk, function(why_not)
    if why_not == ended or type(why_not) ~= "string" then
      return why_not
    end
    return debug.traceback(why_not, 2)
  end, table.unpack(shifted, 1, #shifted))
  script_os.exit, _G.print = exit, print_before
  io.output(stdout)
  if not ok and message ~= ended then
    stop("%s", tostring(message))
  elseif ended.failed then
    stop("%s ended with a status of failure", options.script)
  end
end

-- compiling ---------------------------------------------------------------------------------------

local function compile(item, target, options)
  return item.kernel:compile {
    target = target, level = options.level, code_object_version = options.object_version,
  }
end

local function stage_text(item, target, options)
  local stage = KINDS[options.kind].stage
  if stage == "ast" then
    return core.ast(item.text, item.chunkname, item.index)
  elseif stage == "ir" then
    return item.kernel:inspect_ir()
  end
  return item.kernel:dump(target, stage, options.level, options.object_version, item.symbol)
end

-- Returns the results of f; an error ends the run.
local function try(f, ...)
  local ok, result = pcall(f, ...)
  if not ok then
    stop("%s", tostring(result))
  end
  return result
end

-- The code object of all kernels for one target; for cpu an object file.
local function join(made, target, options)
  if #made == 1 and core.target_facts(target).is_image then
    return compile(made[1], target, options).bytes
  end
  local parts = {}
  local line <close> = core.progress "compile"
  for i, item in ipairs(made) do
    line:step(i - 1, #made, item.name .. " for " .. target)
    local bitcode = item.kernel:dump(target, "bitcode", options.level, options.object_version,
      item.symbol)
    parts[i] = { bitcode = bitcode, symbol = item.symbol }
  end
  return core.join_code(target, options.level, parts)
end

-- The same, in the form that is asked for.
local function link(made, target, options)
  local bytes, form = join(made, target, options), KINDS[options.kind].form
  if not form then
    return bytes
  end
  local converted, why_not = core.convert_code(target, form, bytes)
  return converted or error(why_not, 0)
end

-- One file with the code of all kernels for all targets, each for common arguments first and then
-- for all that the signature allows.
local function make_file(made, options)
  local list = {}
  local line <close> = core.progress "compile"
  for i, item in ipairs(made) do
    local objects = {}
    for t, target in ipairs(options.targets) do
      line:step((i - 1) * #options.targets + t - 1, #made * #options.targets,
        item.name .. " for " .. target)
      for _, is_general in ipairs { false, true } do
        objects[#objects + 1] = core.kernel_ahead(item.kernel, target, options.level, is_general)
      end
    end
    list[i] = { kernel = item.kernel, name = item.name, objects = objects }
  end
  return core.kernel_file(list)
end

local function script_name(options)
  return (string.gsub(string.match(options.script, "[^/]*$"), "%.lua$", ""))
end

-- A header and an object file of functions, named likewise.
local function make_functions(made, options)
  local target = options.targets[1]
  if #options.targets > 1 or core.target_facts(target).is_simt then
    error("functions of C are for one target that is no GPU, such as -t cpu:x86-64-v2", 0)
  end
  local path = string.gsub(options.output or script_name(options), "%.[oh]$", "")
  local line <close> = core.progress "compile"
  for i, item in ipairs(made) do
    line:step(i - 1, #made, item.name .. " for " .. target)
    item.signature = core.kernel_signature(item.kernel)
    item.code = core.kernel_function(item.kernel, target, options.level, item.symbol)
  end
  local parts = {}
  for i, item in ipairs(made) do
    parts[i] = item.code
  end
  return {
    { path = path .. ".h", bytes = functions_text(made, string.match(options.script, "[^/]*$"),
      string.match(path, "[^/]*$")) },
    { path = path .. ".o", bytes = core.join_code(target, options.level, parts) },
  }
end

-- A header and a C file: `-o FILE` is the name of both, with either's ending or without.
local function make_c(made, options)
  local path = string.gsub(options.output or script_name(options), "%.[ch]$", "")
  for _, item in ipairs(made) do
    item.signature = core.kernel_signature(item.kernel)
  end
  local header, source = c_texts(made, make_file(made, options),
    string.match(options.script, "[^/]*$"), string.match(path, "[^/]*$"))
  return { { path = path .. ".h", bytes = header }, { path = path .. ".c", bytes = source } }
end

-- Everything that is written or printed: {target, bytes, item}, where a code object has no item.
local function make_all(made, options)
  local outputs = {}
  if options.kind == "c" then
    return try(make_c, made, options)
  elseif options.kind == "functions" then
    return try(make_functions, made, options)
  elseif KINDS[options.kind].is_for_all then
    return { { bytes = try(make_file, made, options) } }
  end
  local is_for_all = options.kind == "ast" or options.kind == "ir"
  for _, target in ipairs(is_for_all and { "any" } or options.targets) do
    if KINDS[options.kind].is_code_object then
      outputs[#outputs + 1] = { target = target, bytes = try(link, made, target, options) }
    else
      for _, item in ipairs(made) do
        local bytes = try(stage_text, item, target, options)
        outputs[#outputs + 1] = { target = target, item = item, bytes = bytes }
      end
    end
  end
  return outputs
end

-- writing -----------------------------------------------------------------------------------------

-- FILE, with -KERNEL and -TARGET before its ending where there are several.
local function path_of(output, options, nkernels, ntargets)
  local kind = KINDS[options.kind]
  local script = script_name(options)
  if kind.is_for_all then
    return output.path or options.output or script .. kind.ending
  end
  local ending = kind.ending or core.target_facts(output.target).object_ending
  local target = string.gsub(output.target, ":", "_")
  if not options.output then
    return string.format("%s-%s%s", output.item and output.item.name or script, target, ending)
  end
  local folder, file = string.match(options.output, "^(.-)([^/]*)$")
  local stem, own_ending = string.match(file, "^(.+)(%.[^.]*)$")
  stem, own_ending = stem or file, own_ending or ""
  if output.item and nkernels > 1 then
    stem = stem .. "-" .. output.item.name
  end
  if ntargets > 1 then
    stem = stem .. "-" .. target
  end
  return folder .. stem .. own_ending
end

local function write_all(outputs, options, nkernels)
  for _, output in ipairs(outputs) do
    local path = path_of(output, options, nkernels, #outputs // (output.item and nkernels or 1))
    try(core.write_file, path, output.bytes)
  end
end

local function print_all(outputs)
  for _, output in ipairs(outputs) do
    if #outputs > 1 then
      io.write(string.format("; %s for %s\n", output.item and output.item.name or "all",
        output.target))
    end
    io.write(output.bytes)
  end
end

-- The columns of all targets' families, each number once.
local function columns_of(targets)
  local columns, seen = {}, {}
  for _, target in ipairs(targets) do
    for _, number in ipairs(core.target_facts(target).numbers) do
      if number.title and not seen[number.name] then
        seen[number.name] = true
        columns[#columns + 1] = number
      end
    end
  end
  return columns
end

local function title_of(limits, name)
  for _, limit in ipairs(limits) do
    if limit.name == name then
      return limit.title
    end
  end
end

local function print_row(width, columns, item, target, resources)
  local row = { string.format("%-" .. width .. "s  %-8s", item.name, target) }
  for _, column in ipairs(columns) do
    row[#row + 1] = string.format("%10s", resources[column.name] or "-")
  end
  local o = resources.occupancy
  print(string.format("%s  %d of %d in workgroups of %d, %s", table.concat(row), o.waves, o.max,
    o.workgroup, title_of(core.target_facts(target).limits, o.limit)))
end

local function print_resources(made, options)
  local width, columns = #"kernel", columns_of(options.targets)
  for _, item in ipairs(made) do
    width = math.max(width, #item.name)
  end
  local head = { string.format("%-" .. width .. "s  %-8s", "kernel", "target") }
  for _, column in ipairs(columns) do
    head[#head + 1] = string.format("%10s", column.title)
  end
  local rows = {} -- complete before anything is printed
  for _, item in ipairs(made) do
    for _, target in ipairs(options.targets) do
      local object = try(compile, item, target, options)
      rows[#rows + 1] = { item, target, try(object.resources, object) }
    end
  end
  print(table.concat(head) .. "  " .. core.target_facts(options.targets[1]).occupancy_title)
  for _, row in ipairs(rows) do
    print_row(width, columns, table.unpack(row))
  end
end

-- the program -------------------------------------------------------------------------------------

local function print_targets()
  for _, is_gpu in ipairs { true, false } do
    for _, name in ipairs(core.targets()) do
      if core.target_facts(name).is_simt == is_gpu then
        print(name)
      end
    end
  end
end

local function check(options)
  if not options.script then
    stop("no script given; rocluac --help lists the options")
  end
  if #options.targets == 0 and options.kind ~= "ast" and options.kind ~= "ir" then
    stop("no target given (-t gfx90a, …; rocluac --list-targets names them)")
  end
  -- With --resources alone no files are written.
  options.only_asks = options.shows_resources and not options.kind and not options.output
  options.kind = options.kind or DEFAULT_KIND
end

local function run(args, version)
  local options = parse(args)
  if options.shows_help then
    io.write(USAGE)
  elseif options.shows_version then
    print(version)
  elseif options.lists_targets then
    print_targets()
  else
    check(options)
    local made, left = watch()
    run_script(options, args)
    if #made == 0 then
      stop(
        "%s makes no kernel with a signature: roc.kernel(f, {signature = \"(float32[:], int64)\"})",
        options.script)
    end
    for _, kernel in ipairs(left) do
      stderr:write(string.format("%s has no signature: it is not compiled\n", kernel))
    end
    if options.shows_resources then
      print_resources(made, options)
    end
    if not options.only_asks then
      local outputs = make_all(made, options)
      if KINDS[options.kind].is_text and not options.output then
        print_all(outputs)
      else
        write_all(outputs, options, #made)
      end
    end
  end
end

---The program: its arguments (from 1) to success, or nil and a message.
---@param args string[]
---@param version string
---@return boolean?, string?
function M.main(args, version)
  local ok, why = pcall(run, args, version)
  kernels.on_new = nil
  if ok then
    return true
  end
  return nil, type(why) == "table" and why.stop or tostring(why)
end

return M
