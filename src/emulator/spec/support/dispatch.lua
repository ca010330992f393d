-- Runs dispatch packets on the software GPU, without ROCR: kernels are a few lines of assembler.
--
--   local dispatch = require "support.dispatch"
--   local r = dispatch.run("gfx90a", { { code = "…", grid = { 64 }, memory = "\0\0\0\0" } })[1]
--
-- A dispatch has
--   code       lines of assembler; an s_endpgm is added at their end
--   grid local 1 to 3 extents; 64 items each by default
--   dims       of the packet's setup; as many as grid has by default
--   memory     bytes of a buffer; its address is the first argument. `args`: bytes that follow
--   user       what scalar registers are filled at the start, by names as in USER below, in any
--              order; { "kernarg" } by default, so that s[0:1] point to the arguments
--   groups     dimensions whose workgroup ids registers get: "x" by default, "" to "xyz"
--   info wave_offset   more scalar registers, after those
--   items      dimensions whose work-item ids vector registers get; 3 by default
--   vgprs sgprs wave lds private   registers (of gfx9 the scalar ones, too), wavefront width, bytes
--   stop_after milliseconds until the queue's stop flag is set; with memory they begin when the
--              kernel has written to its first byte
--   descriptor a function that changes { rsrc3, rsrc1, rsrc2, properties } before use
-- Options of a run: workers. A result has
--   ended memory executed fault fault_kind ("memory" …) packet_fault ("dimensions" …) events
--   cpu_ns (processor time) packet_address args_address memory_address
-- and result:words(), the memory's 32-bit words
local emulator = require "support.emulator"
local programs = require "support.programs"

local dispatch = {}

local MAGIC = 0x31504453
local FAULTS = { "memory", "aperture", "illegal", "trap", "packet" }
local PACKET_FAULTS = { [0] = "bad", "dimensions", "workgroup", "lds", "registers", "code" }
local USER = { private_buffer = 4, dispatch = 2, queue = 2, kernarg = 2, dispatch_id = 2,
  flat_scratch = 2, private_size = 1 }
local USER_ORDER = { "private_buffer", "dispatch", "queue", "kernarg", "dispatch_id",
  "flat_scratch", "private_size" }

dispatch.program = programs.find("emulator_dispatch_test")

-- Bits of the properties word, and the registers they stand for.
local function user_bits(names)
  local wanted, bits, registers = {}, 0, 0
  for _, name in ipairs(names) do
    assert(USER[name], name)
    wanted[name] = true
  end
  for i, name in ipairs(USER_ORDER) do
    if wanted[name] then bits, registers = bits | 1 << (i - 1), registers + USER[name] end
  end
  return bits, registers
end

local function has(text, letter) return text:find(letter, 1, true) and 1 or 0 end

-- The words of the kernel descriptor, as LLVM's AMDGPU usage guide has them.
local function descriptor_of(case, chip)
  local wave = case.wave or (chip:find("^gfx1") and 32 or 64)
  local granule = chip == "gfx90a" and 8 or wave == 32 and 8 or 4
  local bits, registers = user_bits(case.user or { "kernarg" })
  local groups, vgprs = case.groups or "x", case.vgprs or 32
  local words = {
    vgprs // 4 - 1,
    vgprs // granule - 1 | (case.sgprs or 96) // 8 - 2 << 6 | 0xf << 16 | 1 << 21 | 1 << 23,
    (case.wave_offset and 1 or 0) | registers << 1 | has(groups, "x") << 7
      | has(groups, "y") << 8 | has(groups, "z") << 9 | (case.info and 1 or 0) << 10
      | ((case.items or 3) - 1) << 11,
    bits | (wave == 32 and 1 << 10 or 0),
  }
  if case.descriptor then case.descriptor(words) end
  return string.pack("<I4I4I4I4", table.unpack(words))
end

local function pack_case(case, chip, entry)
  local grid, size = case.grid or { 64 }, case["local"] or { 64 }
  return table.concat {
    string.pack("<I4", entry), descriptor_of(case, chip),
    string.pack("<I4I4I4I4I4I4I4", case.dims or #grid, grid[1], grid[2] or 1, grid[3] or 1,
      size[1], size[2] or 1, size[3] or 1),
    string.pack("<I4I4s4s4I4", case.lds or 0, case.private or 0, case.memory or "",
      case.args or "", case.stop_after or 0),
  }
end

local function talk(input)
  assert(dispatch.program, "emulator_dispatch_test is not built")
  local path = os.tmpname()
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(input))
  file:close()
  local pipe = assert(io.popen(("%s run <%s"):format(dispatch.program, path)))
  local output = pipe:read("a")
  local succeeded, how, status = pipe:close()
  os.remove(path)
  assert(succeeded, ("emulator_dispatch_test ended by %s %s"):format(how, status))
  return output
end

local Result = {}
Result.__index = Result

function Result:words()
  local words = {}
  for at = 1, #self.memory - 3, 4 do words[#words + 1] = string.unpack("<I4", self.memory, at) end
  return words
end

local function unpack_result(output, at)
  local r, ended, kind, packet, events = setmetatable({}, Result)
  ended, r.executed, r.packet_address, r.args_address, r.memory_address, r.cpu_ns, r.memory,
    kind, packet, r.fault, events, at = string.unpack("<I4i8i8i8i8i8s4I4I4s4s4", output, at)
  r.ended, r.fault_kind, r.events = ended == 1, FAULTS[kind], {}
  r.packet_fault = r.fault_kind == "packet" and PACKET_FAULTS[packet] or nil
  if not r.fault_kind then r.fault = nil end
  for i = 1, #events, 4 do r.events[#r.events + 1] = string.unpack("<I4", events, i) end
  return r, at
end

---Runs the dispatches one after the other on one GPU; the results in the same order.
---@param target string "gfx90a", "gfx1030" or "gfx1030:wave64"
---@param cases table[]
---@param options? { workers: integer }
---@return table[]
function dispatch.run(target, cases, options)
  local chip, wave = target:match("^(gfx%w+):wave(%d+)$")
  chip = chip or target
  local code = emulator.assemble(target, cases)
  local out = { string.pack("<I4c32I4s4I4", MAGIC, chip, options and options.workers or 0, code,
    #cases) }
  for i, case in ipairs(cases) do
    case.wave = case.wave or tonumber(wave)
    out[#out + 1] = pack_case(case, chip, (string.unpack("<I4", code, 4 * i - 3)))
  end
  local output, at, results = talk(table.concat(out)), 1, {}
  for i in ipairs(cases) do results[i], at = unpack_result(output, at) end
  return results
end

return dispatch
