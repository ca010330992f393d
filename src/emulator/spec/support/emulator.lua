-- Runs instructions on the software GPU: each case is one wavefront that executes a few lines of
-- assembler and is then looked at.
--
--   local emulator = require "support.emulator"
--   local results = emulator.run("gfx90a", {
--     { code = "v_add_f32 v2, v0, v1",
--       v = { [0] = { emulator.f32(1.5) }, [1] = emulator.f32(2) } },
--   })
--   assert.are.equal(3.5, results[1]:f32(2)[1])
--
-- The target is a chip, or a chip with the width of its wavefronts: "gfx90a", "gfx1030" (wave32),
-- "gfx1030:wave64". All cases of one run are assembled and run by one process each, so put many
-- into one table. A case has
--   code     lines of assembler; labels are its own; an s_endpgm is added at its end. Older names
--            of instructions, "glc", a buffer's scalar offset 0 and s_waitcnt serve gfx12 as well
--   s        { [register] = word }
--   v        { [register] = word for all lanes, or { word of lane 0, word of lane 1, … } } (the
--            rest 0); accumulation registers follow from 256
--   s64 v64  the same in 64-bit words, for pairs of registers
--   vcc exec 64-bit masks; exec is all lanes by default
--   scc m0 mode   mode is 0x3f0 by default: nearest even, denormals kept, DX10_CLAMP and IEEE set;
--            0x1f0 on gfx12, which has no IEEE mode
--   lds      its bytes, as a string
--   memory   bytes of a buffer in global memory, as a string; `address_in` names the first of the
--            two SGPRs that get its address (default 2; false: none); `constant` makes it
--            read-only. The pages around it are not mapped.
--   private  bytes of private memory a lane; `private_in` names the first of the four SGPRs that
--            get its buffer resource
-- and a result has
--   s[n] v[n] (a table of the lanes' words, lane 0 at index 1) vcc exec scc m0 mode lds memory
--   private  (lane after lane)
--   address  of the buffer
--   fault    nil, or the text; fault_kind ("memory", "aperture", "illegal", "trap", "packet"),
--            fault_address, fault_is_write
--   result:s64(n) result:v64(n) result:f32(n) result:f64(n) result:f16(n)   registers from n on
--            as numbers; all but the first a table of the lanes
-- Bits and numbers: emulator.f16/f32/f64(number) -> bits, emulator.to_f16/to_f32/to_f64(bits).
local files = require "support.files"
local programs = require "support.programs"

local emulator = {}

local MAGIC, NO_REGISTER, ALL = 0x31554d45, 0xffffffff, 0xffffffff
local FAULTS = { "memory", "aperture", "illegal", "trap", "packet" }
local VCC, M0, EXEC = 106, 124, 126

---Whether this build has the emulator; specs are pending without it.
emulator.program = programs.find("emulator_test")

-- ---- numbers ------------------------------------------------------------------------------------

---@param number number
---@return integer bits
function emulator.f32(number)
  return (string.unpack("<I4", string.pack("<f", number)))
end

---@param bits integer
---@return number
function emulator.to_f32(bits)
  return (string.unpack("<f", string.pack("<I4", bits & ALL)))
end

---@param number number
---@return integer bits
function emulator.f64(number)
  return (string.unpack("<i8", string.pack("<d", number)))
end

---@param bits integer
---@return number
function emulator.to_f64(bits)
  return (string.unpack("<d", string.pack("<i8", bits)))
end

---@param bits integer the low 16 count
---@return number
function emulator.to_f16(bits)
  local sign, exponent, fraction = bits >> 15 & 1, bits >> 10 & 31, bits & 1023
  local size
  if exponent == 31 then
    size = fraction == 0 and math.huge or 0 / 0
  elseif exponent == 0 then
    size = fraction * 2.0 ^ -24
  else
    size = (1024 + fraction) * 2.0 ^ (exponent - 25)
  end
  return sign == 1 and -size or size
end

---@param number number rounded to nearest even
---@return integer bits
function emulator.f16(number)
  if number ~= number then return 0x7e00 end
  local sign = (number < 0 or 1 / number < 0) and 0x8000 or 0
  local size = math.abs(number)
  if size >= 65520 then return sign | 0x7c00 end
  local exponent = -14
  while exponent < 15 and size >= 2.0 ^ (exponent + 1) do exponent = exponent + 1 end
  local units = size / 2.0 ^ (exponent - 10) -- 1024 … 2047, or less for denormals
  local whole = math.floor(units)
  local rest = units - whole
  if rest > 0.5 or rest == 0.5 and whole % 2 == 1 then whole = whole + 1 end
  return sign | ((exponent + 14) * 1024 + whole) -- a denormal has exponent field 0
end

-- ---- targets ------------------------------------------------------------------------------------

---@param target string
---@return integer generation 9 to 12
---@return integer wave lanes of a wavefront
function emulator.generation(target)
  local digits, width = target:match("^gfx(%w+)"), target:match(":wave(%d+)$")
  local generation = tonumber(digits:sub(1, -3))
  return generation, tonumber(width) or generation == 9 and 64 or 32
end

-- ---- assembling ---------------------------------------------------------------------------------

local llvm_mc

local function find_llvm_mc()
  if not llvm_mc then
    local output, succeeded = files.run("llvm-config-22 --bindir")
    llvm_mc = succeeded and output:gsub("%s+$", "") .. "/llvm-mc" or "llvm-mc-22"
  end
  return llvm_mc
end

-- Bytes of the section .text of a 64-bit ELF file.
local function text_of(elf)
  local table_at, entry_size, count, names = string.unpack("<I8", elf, 0x29), string.unpack(
    "<I2I2I2", elf, 0x3b)
  local function section(index)
    local name, _, _, _, offset, size =
      string.unpack("<I4I4I8I8I8I8", elf, table_at + index * entry_size + 1)
    return name, offset, size
  end
  local _, names_at = section(names)
  for i = 0, count - 1 do
    local name, offset, size = section(i)
    if string.unpack("z", elf, names_at + name + 1) == ".text" then
      return elf:sub(offset + 1, offset + size)
    end
  end
  error("the assembler wrote no .text")
end

-- What LLVM has no older spelling for on gfx12.
local WAITS = { vmcnt = "s_wait_loadcnt 0", lgkmcnt = "s_wait_dscnt 0\ns_wait_kmcnt 0" }
local function spell_for_gfx12(code)
  code = code:gsub(" glc", " th:TH_ATOMIC_RETURN"):gsub("(buffer_[^\n]*%], )0%f[^%w]", "%1null")
  return (code:gsub("s_waitcnt ([^\n]*)", function(counters)
    local lines = {}
    for name in counters:gmatch("(%a+)%(0%)") do lines[#lines + 1] = WAITS[name] end
    return table.concat(lines, "\n")
  end))
end

-- Gives the labels of a case's code names of their own.
local function own_labels(code, index)
  for label in code:gmatch("%f[^\n\0]%s*([%a_][%w_]*):") do
    code = code:gsub("%f[%w_]" .. label .. "%f[^%w_]", label .. "__" .. index)
  end
  return code
end

local function assemble(target, cases)
  local chip, width = target:match("^(gfx%w+):wave(%d+)$")
  local is_gfx12 = emulator.generation(target) == 12
  local lines = { ".text", "begin:" }
  for i in ipairs(cases) do lines[#lines + 1] = (".long case_%d-begin"):format(i) end
  for i, case in ipairs(cases) do
    lines[#lines + 1] = (".p2align 3\ncase_%d:"):format(i)
    local code = is_gfx12 and spell_for_gfx12(case.code) or case.code
    lines[#lines + 1] = own_labels("\n" .. code, i)
    lines[#lines + 1] = "s_endpgm"
  end
  local source, object = os.tmpname(), os.tmpname()
  local file <close> = assert(io.open(source, "w"))
  assert(file:write(table.concat(lines, "\n"), "\n"))
  file:close()
  local features = width and (" -mattr=+wavefrontsize" .. width) or ""
  local output, succeeded = files.run(
    ("%s -triple=amdgcn-amd-amdhsa -mcpu=%s%s -filetype=obj -o %s %s"):format(find_llvm_mc(),
      chip or target, features, object, source))
  local elf = succeeded and files.read(object)
  os.remove(source)
  os.remove(object)
  if not elf then error("the assembler refuses the cases:\n" .. output, 0) end
  return text_of(elf)
end

-- ---- speaking with the program ------------------------------------------------------------------

local function sorted_keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

local function pack_scalars(case, out)
  local words = {}
  for reg, value in pairs(case.s or {}) do words[reg] = value & ALL end
  for reg, value in pairs(case.s64 or {}) do
    words[reg], words[reg + 1] = value & ALL, value >> 32
  end
  local regs = sorted_keys(words)
  out[#out + 1] = string.pack("<I4", #regs)
  for _, reg in ipairs(regs) do out[#out + 1] = string.pack("<I4I4", reg, words[reg]) end
end

-- The words of 64 lanes, each moved right by `shift` bits.
local function pack_row(value, shift)
  local words = {}
  for lane = 1, 64 do
    local word = value
    if type(value) == "table" then word = value[lane] or 0 end
    words[lane] = (word >> shift) & ALL
  end
  return string.pack("<" .. ("I4"):rep(64), table.unpack(words))
end

local function pack_vectors(case, out)
  local rows = {}
  for reg, value in pairs(case.v or {}) do rows[reg] = pack_row(value, 0) end
  for reg, value in pairs(case.v64 or {}) do
    rows[reg], rows[reg + 1] = pack_row(value, 0), pack_row(value, 32)
  end
  local regs = sorted_keys(rows)
  out[#out + 1] = string.pack("<I4", #regs)
  for _, reg in ipairs(regs) do out[#out + 1] = string.pack("<I4", reg) .. rows[reg] end
  return rows
end

-- The case as the program reads it, and the rows it begins with.
local function pack_case(case, entry, usual_mode, out)
  out[#out + 1] = string.pack("<I4", entry)
  pack_scalars(case, out)
  local rows = pack_vectors(case, out)
  local vcc, exec = case.vcc or 0, case.exec or -1
  local address_in = case.address_in == nil and 2 or case.address_in or NO_REGISTER
  if not case.memory then address_in = NO_REGISTER end
  out[#out + 1] = string.pack("<I4I4I4I4I4I4I4", vcc & ALL, vcc >> 32, exec & ALL, exec >> 32,
    (case.scc == true or case.scc == 1) and 1 or 0, (case.m0 or 0) & ALL,
    case.mode or usual_mode)
  out[#out + 1] = string.pack("<s4", case.lds or "")
  local memory = case.memory or ""
  out[#out + 1] = string.pack("<I4I4I4", #memory, address_in, case.constant and 1 or 0) .. memory
  out[#out + 1] = string.pack("<I4I4", case.private or 0, case.private_in or NO_REGISTER)
  return rows
end

local function pack_input(target, cases, code)
  local chip = target:match("^gfx%w+")
  local generation, width = emulator.generation(target)
  local out = { string.pack("<I4I4c32s4I4", MAGIC, width, chip, code, #cases) }
  local rows = {}
  for i, case in ipairs(cases) do
    rows[i] = pack_case(case, string.unpack("<I4", code, 4 * i - 3),
      generation == 12 and 0x1f0 or 0x3f0, out)
  end
  return table.concat(out), rows
end

local function talk(command, input)
  assert(emulator.program, "emulator_test is not built")
  local path = os.tmpname()
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(input))
  file:close()
  local pipe = assert(io.popen(("%s %s <%s"):format(emulator.program, command, path)))
  local output = pipe:read("a")
  local succeeded, how, status = pipe:close()
  os.remove(path)
  assert(succeeded, ("emulator_test ended by %s %s"):format(how, status))
  return output
end

-- ---- results ------------------------------------------------------------------------------------

local Result = {}
Result.__index = Result

function Result:s64(reg)
  return self.s[reg] | self.s[reg + 1] << 32
end

function Result:v64(reg)
  local joined, low, high = {}, self.v[reg], self.v[reg + 1]
  for lane = 1, 64 do joined[lane] = low[lane] | high[lane] << 32 end
  return joined
end

local function converted(words, convert)
  local numbers = {}
  for lane = 1, 64 do numbers[lane] = convert(words[lane]) end
  return numbers
end

function Result:f16(reg)
  return converted(self.v[reg], emulator.to_f16)
end

function Result:f32(reg)
  return converted(self.v[reg], emulator.to_f32)
end

function Result:f64(reg)
  return converted(self:v64(reg), emulator.to_f64)
end

-- Rows are taken apart when they are looked at; registers that are not named hold 0.
local function make_vectors(rows)
  return setmetatable({}, { __index = function(vectors, reg)
    local row
    if rows[reg] then
      row = { string.unpack("<" .. ("I4"):rep(64), rows[reg]) }
      row[65] = nil
    else
      row = {}
      for lane = 1, 64 do row[lane] = 0 end
    end
    vectors[reg] = row
    return row
  end })
end

local function unpack_result(output, at, rows)
  local r, count, kind, fault = setmetatable({ s = {} }, Result)
  local words = { string.unpack("<" .. ("I4"):rep(128), output, at) }
  for reg = 0, 127 do r.s[reg] = words[reg + 1] end
  r.scc, r.mode, count, at = string.unpack("<I4I4I4", output, words[129])
  for _ = 1, count do
    local reg = string.unpack("<I4", output, at)
    rows[reg] = output:sub(at + 4, at + 259)
    at = at + 260
  end
  r.v = make_vectors(rows)
  r.lds, r.memory, r.address, r.private, at = string.unpack("<s4s4i8s4", output, at)
  kind, r.fault_address, r.fault_is_write, fault, at = string.unpack("<I4i8I4s4", output, at)
  r.scc, r.fault_is_write = r.scc == 1, r.fault_is_write == 1
  r.vcc, r.exec, r.m0 = r:s64(VCC), r:s64(EXEC), r.s[M0]
  if kind ~= 0 then r.fault, r.fault_kind = fault, FAULTS[kind] end
  return r, at
end

---Runs each case; the results in the same order.
---@param target string
---@param cases table[]
---@return table[]
function emulator.run(target, cases)
  local input, rows = pack_input(target, cases, assemble(target, cases))
  local output, at, results = talk("run", input), 1, {}
  for i in ipairs(cases) do results[i], at = unpack_result(output, at, rows[i]) end
  return results
end

-- What the program's `command` prints for each case, a list of lines.
local function lines_of(command, target, codes)
  local cases, lists = {}, {}
  for i, code in ipairs(codes) do cases[i] = { code = code } end
  local output = talk(command, (pack_input(target, cases, assemble(target, cases))))
  for line in output:gmatch("[^\n]+") do
    if line == "case" then
      lists[#lists + 1] = {}
    else
      table.insert(lists[#lists], line)
    end
  end
  return lists
end

---How each line of the code is decoded: for each case a list of lines such as
---"#0 +0 v_add_f32 plain dst0=v2 src0=v0 src1=v1".
---@param target string
---@param codes string[]
---@return string[][]
function emulator.describe(target, codes)
  return lines_of("describe", target, codes)
end

---How many times as long as a plain vector instruction the model of time says that each of the
---instructions occupies its SIMD.
---@param target string
---@param instructions string[]
---@return integer[]
function emulator.costs(target, instructions)
  local list = {}
  for i, lines in ipairs(lines_of("costs", target, instructions)) do
    list[i] = math.tointeger(lines[1])
  end
  return list
end

---The code of all cases, after a table of their entries: 32-bit offsets from its start.
---@param target string
---@param cases table[]
---@return string
function emulator.assemble(target, cases)
  return assemble(target, cases)
end

return emulator
