-- AMD GPU code against clang's for the same kernels in OpenCL C, without a GPU:
-- build/release/bin/roclua bench/amdgpu.lua [--only=KERNEL,…] [target …]
--
-- The kernels are those of bench/amdgpu/kernels.lua, and in OpenCL C of kernels.cl, which clang
-- compiles for indices of int, uint and ulong.  On a target that the software GPU emulates each is
-- run once, and what wavefronts execute is counted: instructions but waits and no-ops (which have a
-- column each), and their issue cycles, of which a transcendental instruction takes 4 and any other
-- 1.  The peer is the index type with the fewest instructions.  What the kernels compute is
-- compared.  For other targets the instructions up to the first end of the program are counted:
-- what follows is rarely run.
--
-- A row: instructions of clang, ratios of ours to it, checked and unchecked (below 1: ours are
-- fewer), ratios of issue cycles, waits and no-ops of clang, checked, unchecked; vector and scalar
-- registers, spills, occupancy in wavefronts of a SIMD, bytes of the code object's function:
-- checked, unchecked and clang's.  At the end the geometric means.
package.path = "bench/amdgpu/?.lua;" .. package.path

local EMULATED = { gfx90a = true, gfx1030 = true }
local PEER_TYPES = { int = 4, uint = 4, ulong = 8 }
local CLANG = "clang-22 -x cl -target amdgcn-amd-amdhsa -O3 -cl-std=CL2.0 -nogpulib -w "
  .. "-cl-fp32-correctly-rounded-divide-sqrt -ffp-contract=fast -mcode-object-version=5 "
local FOLDER <const> = "build/bench/amdgpu"

local targets, only = {}, {}
for _, word in ipairs(arg) do
  local names = word:match("^%-%-only=(.*)")
  for name in (names or ""):gmatch("[^,]+") do only[#only + 1] = name end
  if not names then targets[#targets + 1] = word end
end
if #targets == 0 then targets = { "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201" } end

local rows = {}
for _, row in ipairs(require "kernels") do
  local is_wanted = #only == 0
  for _, name in ipairs(only) do is_wanted = is_wanted or name == row.name end
  if is_wanted then rows[#rows + 1] = row end
end

local function output_of(command)
  local pipe <close> = assert(io.popen(command))
  local text = pipe:read("a")
  return pipe:close() and text or error("failed: " .. command)
end

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read("a")
end

-- what is executed -------------------------------------------------------------------------------

local NOT_COUNTED = { ["waits for memory"] = "waits", ["no-ops"] = "nops" }
local CYCLES = { ["vector, transcendental"] = 4 }

-- kernel -> counts, of a report of --stats.  It has no names of clang's kernels, which are numbered
-- in the order of their launches.
local function counts_of(path)
  local kernels, current = {}, nil
  for line in io.lines(path) do
    local name = line:match("^kernel '([%w_]+)'")
    if line:find("^kernel '%?'") then
      name = rows[tonumber(line:match("^kernel '%?' %((%d+)%)") or 1)].name
    end
    if line:find("^kernel ") then
      current = name and { count = 0, cycles = 0, waits = 0, nops = 0 }
      if name then kernels[name] = current end
    end
    local class, n = line:match("^    (%a.-)%s%s+(%d+)%s+[%d.]+ %%$")
    if class and current then
      n = tonumber(n)
      local apart = NOT_COUNTED[class]
      if apart then current[apart] = n end
      current.count = current.count + (apart and 0 or n)
      current.cycles = current.cycles + (apart and 0 or n * (CYCLES[class] or 1))
    end
  end
  return kernels
end

local function run_ours(target, mode)
  local stats = ("%s/%s.stats"):format(FOLDER, mode)
  output_of(("build/release/bin/roclua --emulate %s --stats=%s bench/amdgpu/run_ours.lua %s %s %s")
    :format(target, stats, FOLDER, mode, table.concat(only, " ")))
  return counts_of(stats)
end

local function three(sizes) return ("%d %d %d"):format(sizes[1], sizes[2] or 1, sizes[3] or 1) end

-- What run_peer reads.
local function launch_list()
  local lines = {}
  local function say(...) lines[#lines + 1] = string.format(...) end
  for _, row in ipairs(rows) do
    say("kernel %s", row.name)
    say("grid %s", three(row.grid))
    say("workgroup %s", three(row.workgroup))
    for i = 1, #row.arrays do say("buffer %s/%s.%d", FOLDER, row.name, i) end
    for _, x in ipairs(row.first or {}) do say("float %.9g", x) end
    for _, n in ipairs(row.peer) do say("index %d", n) end
    say("run")
  end
  return table.concat(lines, "\n") .. "\n"
end

local function run_peer(target, object, type)
  local stats, list = ("%s/%s.stats"):format(FOLDER, type), FOLDER .. "/list"
  local file <close> = assert(io.open(list, "w"))
  file:write(launch_list())
  file:close()
  output_of(("LD_LIBRARY_PATH=build/release/lib/roclua/0 ROCLUA_EMULATE=%s ROCLUA_EMULATE_STATS=%s "
    .. "build/bench/run_peer %s %d .%s < %s"):format(target, stats, object, PEER_TYPES[type], type,
    list))
  return counts_of(stats)
end

-- Floats of two compilers differ by what they contract.
local function is_same(row, a, b)
  local dtype = row.arrays[row.result][1]
  if dtype ~= "float32" then return a == b end
  for at = 1, #a, 4 do
    local x, y = string.unpack("f", a, at), string.unpack("f", b, at)
    local is_near = math.abs(x - y) <= 1e-4 * math.max(math.abs(x), math.abs(y), 1e-2)
    if not is_near then return false end -- nor is a NaN
  end
  return #a == #b
end

local function check_result(row, suffix)
  local path = ("%s/%s.%d."):format(FOLDER, row.name, row.result)
  if not is_same(row, read(path .. "unchecked"), read(path .. suffix)) then
    error(("'%s': %s computes something else than unchecked"):format(row.name, suffix))
  end
end

-- code -------------------------------------------------------------------------------------------

-- symbol -> what its straight code holds, up to the first end of the program
local function static_counts(path)
  local functions, current = {}, nil
  for line in output_of("llvm-objdump-22 -d --no-show-raw-insn " .. path):gmatch("[^\n]+") do
    local symbol = line:match("^%x+ <(.*)>:$")
    if symbol then
      current = { count = 0, cycles = 0, waits = 0, nops = 0 }
      functions[symbol] = current
    end
    local name = line:match("^\t([%w_]+)")
    if name and current then
      local apart = name:find("^s_wait") and "waits" or (name == "s_nop" or name == "s_delay_alu"
        or name == "s_clause") and "nops"
      local counted = apart or "count"
      current[counted] = current[counted] + 1
      local is_slow = name:find("^v_rcp") or name:find("^v_rsq") or name:find("^v_sqrt")
        or name:find("^v_exp") or name:find("^v_log") or name:find("^v_sin") or name:find("^v_cos")
      if not apart then current.cycles = current.cycles + (is_slow and 4 or 1) end
      if name == "s_endpgm" then current = nil end
    end
  end
  return functions
end

local function code_bytes(path, symbol)
  local symbols = output_of("llvm-readelf-22 --symbols " .. path)
  return tonumber(symbols:match("(%d+) FUNC[^\n]* " .. symbol .. "\n"))
end

local function signature(row)
  local types = {}
  for _ in ipairs(row.first or {}) do types[#types + 1] = "float32" end
  for _, spec in ipairs(row.arrays) do
    local rank = type(spec[2]) == "table" and #spec[2] or 1
    types[#types + 1] = spec[1] .. "[:" .. (",:"):rep(rank - 1) .. "]"
  end
  for _ in ipairs(row.scalars or {}) do types[#types + 1] = "int64" end
  return "(" .. table.concat(types, ", ") .. ")"
end

local function compile_ours(row, target, mode)
  local path <const> = FOLDER .. "/ours.hsaco"
  local code <close> = row.make(mode == "checked"):compile(target, signature(row)):save(path)
  local r = code:resources()
  return { static = static_counts(path)[code.entry], vgprs = r.vgprs + (r.agprs or 0),
    sgprs = r.sgprs, spills = r.spills, bytes = code_bytes(path, code.entry) }
end

local function note_of(notes, symbol)
  for entry in notes:gmatch("%- %.a[gr][^%-].-%.wavefront_size") do
    if entry:find("%.symbol:%s+" .. symbol .. "%.kd") then return entry end
  end
end

-- name -> as compile_ours
local function compile_peer(target, type)
  local path = ("%s/%s.hsaco"):format(FOLDER, type)
  output_of(("%s -mcpu=%s -DINDEX=%s -o %s bench/amdgpu/kernels.cl"):format(CLANG, target, type,
    path))
  local functions, notes = static_counts(path), output_of("llvm-readelf-22 --notes " .. path)
  local kernels = {}
  for _, row in ipairs(rows) do
    local note = note_of(notes .. "- .a", row.name) or ""
    local function field(name) return tonumber(note:match("%." .. name .. ":%s+(%d+)")) or 0 end
    kernels[row.name] = { static = functions[row.name], sgprs = field "sgpr_count",
      vgprs = field "vgpr_count" + field "agpr_count", bytes = code_bytes(path, row.name),
      spills = field "vgpr_spill_count" + field "sgpr_spill_count" }
  end
  return kernels, path
end

-- Wavefronts of a SIMD that the vector registers allow.
local function occupancy(target, k)
  local file, step, most = 512, 8, 8
  if target:find("^gfx1[012]") then
    file, step, most = target == "gfx1030" and 1024 or 1536, target == "gfx1030" and 8 or 24, 16
  end
  return math.min(most, file // (math.max(1, (k.vgprs + step - 1) // step) * step))
end

-- the table --------------------------------------------------------------------------------------

local function code_text(target, k)
  return ("%3d %3d %2d %2d %5d"):format(k.vgprs, k.sgprs, k.spills, occupancy(target, k), k.bytes)
end

local function best_peer(peers, name)
  local best
  for type in pairs(PEER_TYPES) do
    local counts = peers[type].counts[name]
    local is_better = not best or counts.count < best.counts.count
      or (counts.count == best.counts.count and type < best.type)
    if is_better then best = { counts = counts, code = peers[type].code[name], type = type } end
  end
  return best
end

local function static_of(kernels)
  local counts = {}
  for name, k in pairs(kernels) do counts[name] = k.static end
  return counts
end

local function measure_peers(target)
  local peers = {}
  for type in pairs(PEER_TYPES) do
    local code, path = compile_peer(target, type)
    local counts = EMULATED[target] and run_peer(target, path, type) or static_of(code)
    peers[type] = { code = code, counts = counts }
  end
  return peers
end

local function measure_ours(target, mode)
  local code = {}
  for _, row in ipairs(rows) do code[row.name] = compile_ours(row, target, mode) end
  return { code = code, counts = EMULATED[target] and run_ours(target, mode) or static_of(code) }
end

local function geometric(ratios)
  local sum = 0.0
  for _, r in ipairs(ratios) do sum = sum + math.log(r) end
  return math.exp(sum / #ratios)
end

local function report(target)
  local unchecked, checked = measure_ours(target, "unchecked"), measure_ours(target, "checked")
  local peers = measure_peers(target)
  print(("\n%s, %s"):format(target, EMULATED[target] and "executed" or "static"))
  print(("%-14s %7s %-5s %6s %6s %6s %6s  %-20s %-14s  %s"):format("kernel", "clang", "index",
    "chk", "unchk", "chk cy", "un cy", "waits", "no-ops", "vgpr sgpr spills occupancy bytes"))
  local means = { {}, {}, {}, {} }
  for _, row in ipairs(rows) do
    local name, peer = row.name, best_peer(peers, row.name)
    local c, u, p = checked.counts[name], unchecked.counts[name], peer.counts
    local ratios = { c.count / p.count, u.count / p.count, c.cycles / p.cycles,
      u.cycles / p.cycles }
    for i, ratio in ipairs(ratios) do table.insert(means[i], ratio) end
    print(("%-14s %7d %-5s %6.2f %6.2f %6.2f %6.2f  %-20s %-14s  %s | %s | %s"):format(name,
      p.count, peer.type, ratios[1], ratios[2], ratios[3], ratios[4],
      ("%d %d %d"):format(c.waits, u.waits, p.waits),
      ("%d %d %d"):format(c.nops, u.nops, p.nops),
      code_text(target, checked.code[name]), code_text(target, unchecked.code[name]),
      code_text(target, peer.code)))
    if EMULATED[target] then
      for _, suffix in ipairs { "checked", "int", "uint", "ulong" } do check_result(row, suffix) end
    end
  end
  print(("%-14s %7s %-5s %6.2f %6.2f %6.2f %6.2f"):format("mean", "", "", geometric(means[1]),
    geometric(means[2]), geometric(means[3]), geometric(means[4])))
end

assert(os.execute("mkdir -p " .. FOLDER))
assert(os.execute("cc -O2 -o build/bench/run_peer bench/amdgpu/run_peer.c -lhsa-runtime64"))
for _, target in ipairs(targets) do report(target) end
