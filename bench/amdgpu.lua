-- AMD GPU code against clang's for the same kernels in OpenCL C, without a GPU:
-- build/release/bin/roclua bench/amdgpu.lua [target …]
--
-- For each kernel: instructions of the hot code per unit of work (a fused multiply-add, an element
-- loaded or stored, …), checked, unchecked and clang's, ratios to clang's (below 1: ours are
-- fewer), then vector and scalar registers, shared bytes, spills and code bytes, unchecked and
-- clang's.  Hot is the innermost loop that does a unit of work with the fewest instructions (others
-- are remainders of it, or the loop with checks for when one would fail); without a loop, the code
-- up to the first end of the program.  Indices are 32 bits wide in all of them.  Behind the table
-- come the classes of hot instructions.
local roc = require "roc"
local gemm = require "roc.kernels.gemm"
local histogram = require "roc.kernels.histogram"
local reduce = require "roc.kernels.reduce"
local transpose = require "roc.kernels.transpose"

local TARGETS = #arg > 0 and arg or { "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201" }
local CLANG = "clang-22 -x cl -target amdgcn-amd-amdhsa -O3 -cl-std=CL2.0 -nogpulib "
  .. "-cl-fp32-correctly-rounded-divide-sqrt -ffp-contract=fast -mcode-object-version=5 "
  .. "-include bench/peers/amdgpu.h bench/peers/kernels.cl"

-- Instructions that are work, as patterns; of wide ones each element counts.
local LOADS = { "global_load_" }
local STORES = { "global_store_" }
local FMAS = { "v_pk_fma_f32", "v_dual_fmac_f32", "v_dual_fmaak_f32", "v_fma_f32", "v_fmac_f32" }

local benches = {
  { name = "saxpy", work = STORES, types = "(float32[:], float32[:])",
    make = function(check)
      return roc.kernel(function(x, y)
        local i = roc.get_global_id(1)
        if i <= #y then y[i] = 2.5 * x[i] + y[i] end
      end, { name = "saxpy", check = check })
    end },
  { name = "triad", work = STORES, types = "(float32[:], float32[:], float32[:])",
    make = function(check)
      return roc.kernel(function(a, b, c)
        local i = roc.get_global_id(1)
        if i <= #c then c[i] = a[i] + 2.5 * b[i] end
      end, { name = "triad", check = check })
    end },
  { name = "reduction", work = LOADS, types = "(float32[:], float32[:])",
    make = function(check) return reduce.sum_for(roc.float32, check) end },
  { name = "transpose", work = STORES, types = "(float32[:,:], float32[:,:])",
    make = function(check) return transpose.tiled_for(roc.float32, check) end },
  { name = "matmul_naive", work = FMAS, types = "(float32[:,:], float32[:,:], float32[:,:])",
    make = function(check)
      return roc.kernel(function(a, b, c)
        local j, i = roc.grid(2)
        if i <= c.shape[1] and j <= c.shape[2] then
          local sum = 0.0
          for k = 1, a.shape[2] do sum = sum + a[i][k] * b[k][j] end
          c[i][j] = sum
        end
      end, { name = "naive", check = check })
    end },
  { name = "matmul_tiled", work = FMAS, types = "(float32[:,:], float32[:,:], float32[:,:])",
    make = function(check) return gemm.tiled_for(roc.float32, check) end },
  { name = "mandelbrot", work = { "v_cmp[%w_]*_f32" }, types = "(uint8[:,:])",
    make = function(check)
      return roc.kernel(function(image)
        local column, row = roc.grid(2)
        local n = image.shape[1]
        if row <= n and column <= n then
          local cx, cy = (column - 1) * 3.0 / n - 2.25, (row - 1) * 2.0 / n - 1.0
          local x, y, steps = 0.0, 0.0, 0
          while steps < 500 and x * x + y * y <= 4.0 do
            x, y = x * x - y * y + cx, 2.0 * x * y + cy
            steps = steps + 1
          end
          image[row][column] = steps
        end
      end, { name = "mandelbrot", check = check, number = "float32" })
    end },
  { name = "histogram", work = { "ds_add_" }, types = "(uint8[:], int32[:])",
    make = function(check) return histogram.make(check) end },
}

-- code -------------------------------------------------------------------------------------------

local function output_of(command)
  local pipe <close> = assert(io.popen(command))
  local text = pipe:read("a")
  return pipe:close() and text or error("failed: " .. command)
end

-- symbol -> list of instructions {text}, labels as {label}
local function disassemble(path)
  local functions, current = {}, nil
  local text = output_of("llvm-objdump-22 -d --no-show-raw-insn --symbolize-operands "
    .. "--no-leading-addr " .. path)
  for line in text:gmatch("[^\n]+") do
    local label = line:match("^<(.*)>:$")
    if label and label:find("^L%d+$") then
      table.insert(current, { label = label })
    elseif label then
      current = {}
      functions[label] = current
    elseif current and line:find("^\t") then
      table.insert(current, { text = line:match("^\t(.-)%s*//") or line:sub(2) })
    end
  end
  return functions
end

-- Elements that an instruction loads, stores, adds or multiplies.
local function work_of(instruction, patterns)
  local count = 0
  for _, pattern in ipairs(patterns) do
    count = count + select(2, instruction:gsub(pattern, ""))
  end
  if count == 0 then return 0 end
  local width = instruction:match("^[%w_]+dwordx(%d)") or instruction:match("^[%w_]+_b(%d+)")
  width = tonumber(width or 1)
  if instruction:find("^v_pk_fma") then width = 2 end
  return count * (width >= 32 and width // 32 or width)
end

-- First and last instruction of each innermost loop.  Code that is rarely run lies behind the end
-- of the program; its way back is no loop.
local function innermost_loops(code)
  local at, loops, last_end = {}, {}, 0
  for i, item in ipairs(code) do
    if item.label then at[item.label] = i end
    if item.text == "s_endpgm" then last_end = i end
    local target = item.text and item.text:match("^s_c?branch[%w_]* (L%d+)")
    local first = target and at[target]
    if first and first > last_end then loops[#loops + 1] = { first, i } end
  end
  local innermost = {}
  for _, loop in ipairs(loops) do
    local is_innermost = true
    for _, other in ipairs(loops) do
      local is_inside = other[1] >= loop[1] and other[2] <= loop[2]
      if other ~= loop and is_inside and (other[1] > loop[1] or other[2] < loop[2]) then
        is_innermost = false
      end
    end
    if is_innermost then innermost[#innermost + 1] = loop end
  end
  return innermost
end

local function up_to_end(code)
  for i, item in ipairs(code) do
    if item.text == "s_endpgm" then return { 1, i } end
  end
  return { 1, #code }
end

-- Instructions that only steer the front end of the processor are no work of it.
local NOT_EXECUTED = { s_delay_alu = true, s_clause = true, s_nop = true, s_code_end = true }

local CLASSES = { "valu", "salu", "smem", "vmem", "lds", "branch", "wait" }

local function class_of(name)
  if name:find("^v_") then return "valu" end
  if name:find("^ds_") then return "lds" end
  if name:find("^s_load") or name:find("^s_buffer_load") then return "smem" end
  if name:find("^s_wait") or name:find("^s_barrier") then return "wait" end
  if name:find("^s_c?branch") or name == "s_endpgm" then return "branch" end
  if name:find("^s_") then return "salu" end
  return "vmem"
end

local function measure_range(code, range, patterns)
  local m = { count = 0, work = 0, classes = {} }
  for i = range[1], range[2] do
    local text = code[i].text
    local name = text and text:match("^[%w_]+")
    if name and not NOT_EXECUTED[name] then
      local class = class_of(name)
      m.count = m.count + 1
      m.work = m.work + work_of(text, patterns)
      m.classes[class] = (m.classes[class] or 0) + 1
    end
  end
  m.per_work = m.count / m.work
  return m
end

-- What stands behind the end of the program is rarely run: failing checks, and the kernel with
-- checks that is there for launches whose extents do not fit one another.
local function measure(code, patterns)
  local hot
  local straight = up_to_end(code)
  for _, loop in ipairs(innermost_loops(code)) do
    local m = measure_range(code, loop, patterns)
    local is_better = m.work > 0 and (not hot or m.per_work < hot.per_work)
    if is_better and loop[2] < straight[2] then hot = m end
  end
  return hot or measure_range(code, straight, patterns)
end

-- ours and clang's -------------------------------------------------------------------------------

local function code_bytes(path, symbol)
  local symbols = output_of("llvm-readelf-22 --symbols " .. path)
  return tonumber(symbols:match("(%d+) FUNC[^\n]* " .. symbol .. "\n"))
end

local function measure_ours(bench, target, check)
  local path <const> = "build/bench/ours.hsaco"
  local kernel = bench.make(check)
  local code <close> = kernel:compile(target, bench.types):save(path)
  local hot = measure(assert(disassemble(path)[code.entry]), bench.work)
  hot.resources = code:resources()
  hot.code_bytes = code_bytes(path, code.entry)
  return hot
end

local function note_of(notes, symbol)
  for entry in notes:gmatch("%- %.a[gr][^%-].-%.wavefront_size") do
    if entry:find("%.symbol:%s+" .. symbol .. "%.kd") then return entry end
  end
end

local function measure_clang(target)
  local path <const> = "build/bench/clang.hsaco"
  local made = os.execute(("%s -mcpu=%s -o %s 2>/dev/null"):format(CLANG, target, path))
  if not made then return nil end
  local functions, notes = disassemble(path), output_of("llvm-readelf-22 --notes " .. path)
  local measured = {}
  for _, bench in ipairs(benches) do
    local hot = measure(functions[bench.name], bench.work)
    local note = note_of(notes .. "- .a", bench.name) or ""
    local function field(name) return tonumber(note:match("%." .. name .. ":%s+(%d+)")) or 0 end
    hot.resources = { vgprs = field "vgpr_count", sgprs = field "sgpr_count",
      shared_bytes = field "group_segment_fixed_size",
      spills = field "vgpr_spill_count" + field "sgpr_spill_count" }
    hot.code_bytes = code_bytes(path, bench.name)
    measured[bench.name] = hot
  end
  return measured
end

-- the table --------------------------------------------------------------------------------------

local function resources_text(hot)
  local r = hot.resources
  return ("%3d %3d %5d %2d %5d"):format(r.vgprs, r.sgprs, r.shared_bytes, r.spills, hot.code_bytes)
end

local function classes_text(hot)
  local words = {}
  for i, class in ipairs(CLASSES) do
    words[i] = ("%s %.2f"):format(class, (hot.classes[class] or 0) / hot.work)
  end
  return table.concat(words, ", ")
end

local function report(target)
  local clang = measure_clang(target)
  print(("%s (per unit of work: checked, unchecked, clang %s)"):format(target,
    clang and "-O3" or "is not there"))
  print(("%-13s %8s %8s %8s %8s %8s   %-24s %-24s"):format("kernel", "checked", "unchkd", "clang",
    "c/clang", "u/clang", "vgpr sgpr lds spill bytes", "clang's"))
  local classes = {}
  for _, bench in ipairs(benches) do
    local checked, plain = measure_ours(bench, target, true), measure_ours(bench, target, false)
    local peer = clang and clang[bench.name]
    local function ratio(hot) return peer and ("%.2f"):format(hot.per_work / peer.per_work)
      or "-" end
    print(("%-13s %8.2f %8.2f %8s %8s %8s   %-24s %-24s"):format(bench.name, checked.per_work,
      plain.per_work, peer and ("%.2f"):format(peer.per_work) or "-", ratio(checked), ratio(plain),
      resources_text(plain), peer and resources_text(peer) or "-"))
    classes[#classes + 1] = ("  %-13s ours:  %s"):format(bench.name, classes_text(plain))
    if peer then classes[#classes + 1] = ("  %-13s clang: %s"):format("", classes_text(peer)) end
  end
  print(table.concat(classes, "\n"))
end

assert(os.execute("mkdir -p build/bench"))
for _, target in ipairs(TARGETS) do report(target) end
