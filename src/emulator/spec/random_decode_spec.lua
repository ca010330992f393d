-- Random encodings of each chip: what the emulator decodes is what LLVM's disassembler prints. The
-- text is read here once more, in another way; a decoded instruction has to have every operand and
-- modifier of it, and no other.
local emulator = require "support.emulator"
local files = require "support.files"

if not emulator.program then
  pending("emulator_test is not built")
  return
end

local COUNT = 8000 -- about a quarter of them are instructions

-- ---- encodings ----------------------------------------------------------------------------------

-- First words: the bits that an encoding fixes, and which they are.
local OLDER = {
  { 0x80000000, 0xc0000000 }, { 0xb0000000, 0xf0000000 }, { 0xbe800000, 0xff800000 },
  { 0xbf000000, 0xff800000 }, { 0xbf800000, 0xff800000 }, { 0x00000000, 0x80000000 },
  { 0x7e000000, 0xfe000000 }, { 0x7c000000, 0xfe000000 }, { 0xd8000000, 0xfc000000 },
  { 0xdc000000, 0xfc000000 }, { 0xe0000000, 0xfc000000 },
}
local ENCODINGS = {
  [9] = { { 0xc0000000, 0xfc000000 }, { 0xd0000000, 0xfc000000 }, { 0xd3800000, 0xff800000 } },
  [10] = { { 0xf4000000, 0xfc000000 }, { 0xd4000000, 0xfc000000 }, { 0xcc000000, 0xff800000 } },
  [11] = { { 0xf4000000, 0xfc000000 }, { 0xd4000000, 0xfc000000 }, { 0xcc000000, 0xff800000 },
    { 0xc8000000, 0xfc000000 } },
  [12] = { { 0xf4000000, 0xfc000000 }, { 0xd4000000, 0xfc000000 }, { 0xcc000000, 0xff800000 },
    { 0xc8000000, 0xfc000000 }, { 0xc4000000, 0xff000000 }, { 0xec000000, 0xff000000 },
    { 0xed000000, 0xff000000 }, { 0xee000000, 0xff000000 } },
}

-- The same on every run (splitmix64).
local function new_draw(seed)
  local state = seed
  return function()
    state = state + 0x9e3779b97f4a7c15
    local z = state
    z = (z ~ z >> 30) * 0xbf58476d1ce4e5b9
    z = (z ~ z >> 27) * 0x94d049bb133111eb
    return (z ~ z >> 31) >> 32
  end
end

-- Lines of four words. Sources are mostly vector registers, and bits that are rarely set cleared
-- in half of the words: wholly random ones are seldom instructions.
local function draw_encodings(generation)
  local draw, kinds, lines = new_draw(generation), {}, {}
  for _, list in ipairs { OLDER, ENCODINGS[generation] } do
    table.move(list, 1, #list, #kinds + 1, kinds)
  end
  for i = 1, COUNT do
    local kind = kinds[draw() % #kinds + 1]
    local words = { kind[1] | draw() & ~kind[2] & 0xffffffff, draw(), draw(), draw() }
    if i % 2 == 0 then
      words[2] = words[2] & 0x07ffffff | 0x04020100 -- VOP3: three vector registers
      words[1] = words[1] & ~0x0000fc00
    end
    lines[i] = ("%x %x %x %x"):format(table.unpack(words))
  end
  return table.concat(lines, "\n") .. "\n"
end

-- ---- LLVM's text --------------------------------------------------------------------------------

-- "a, b, c d e" cut at commas and spaces outside of brackets: operands, then modifiers.
local function cut(text)
  local mnemonic, rest = text:match("^%s*(%g+)%s*(.*)$")
  local operands, modifiers, depth, part, is_operand = {}, {}, 0, "", true
  local function finish(separator)
    if part ~= "" then
      local list = is_operand and operands or modifiers
      -- these lie in the first word's bits
      local is_field = part:find("^gpr_idx%(") or part:find("^sendmsg%(")
      if not is_field then list[#list + 1] = part end
      is_operand = separator == ","
    end
    part = ""
  end
  for c in rest:gmatch(".") do
    if c == "[" or c == "(" then depth = depth + 1 end
    if c == "]" or c == ")" then depth = depth - 1 end
    if depth == 0 and (c == "," or c == " ") then finish(c) else part = part .. c end
  end
  finish("")
  return mnemonic, operands, modifiers
end

local SCALARS = { vcc = 106, m0 = 124, null = 125, exec = 126, flat_scratch = 102,
  xnack_mask = 104 }
local SPECIAL = { src_scc = "scc", scc = "scc", src_vccz = "vccz", src_execz = "execz",
  off = "none" }
local APERTURES = { src_shared_base = 1 << 48, src_private_base = 2 << 48,
  src_shared_limit = 1 << 48 | 0xffffffff, src_private_limit = 2 << 48 | 0xffffffff }

-- A register as the emulator numbers it, and how many follow.
local function register_of(text)
  if SCALARS[text] then return "s" .. SCALARS[text] end -- as many as the operand has
  local kind, first, last = text:match("^(%a+)%[(%d+):(%d+)%]$")
  if not kind then
    kind, first = text:match("^(%a+)(%d+)$")
    last = first
  end
  if kind then
    first, last = tonumber(first), tonumber(last)
    local base = ({ v = 0, a = 256, s = 0, ttmp = 108 })[kind]
    if not base then return nil end
    return (kind == "a" and "v" or kind == "ttmp" and "s" or kind) .. base + first,
      last - first + 1
  end
  local name, half = text:match("^(.-)_(%a%a)$")
  if SCALARS[name] and (half == "lo" or half == "hi") then
    return "s" .. SCALARS[name] + (half == "hi" and 1 or 0), 1
  end
end

-- The values that a constant may stand for: what it is depends on the operand's type.
local function values_of(text)
  local number = text:match("^lit%d*%((.-)%)$") or text
  local whole = math.tointeger(tonumber(number))
  if whole and (number:find("0x") or not number:find("[%.e]")) then
    return { whole, whole & 0xffffffff, whole & 0xffff, whole << 32,
      whole & 0xffffffff | (whole >> 31 & 1 == 1 and -1 << 32 or 0) }
  end
  local x = tonumber(number)
  if not x then return nil end
  if math.abs(x - 0.15915494309189532) < 1e-6 then
    return { 0x3fc45f306dc9c882, 0x3e22f983, 0x3118 }
  end
  return { emulator.f64(x), emulator.f32(x), emulator.f16(x) }
end

-- Whether the description of an operand ("v5*2.neg", "0x3f000000") is what the text says, and the
-- half that the text names.
local function is_same(text, described, words)
  local half = text:match("%.([lh])%f[^%w]")
  text = text:gsub("%.[lh]%f[^%w]", "")
  local value, mods = described:match("^([^%.]*)(.*)$")
  local signs = mods:gsub("%.byte_%d", ""):gsub("%.word_%d", "")
  local want = ""
  local inner = text:match("^sext%((.*)%)$")
  if inner then text, want = inner, ".sext" end
  inner = text:match("^neg%((.*)%)$")
  local negated = text:match("^%-([%a|].*)$") or inner
  if negated then text = negated end
  inner = text:match("^|(.*)|$") or text:match("^abs%((.*)%)$")
  if inner then text, want = inner, want .. ".abs" end
  if negated then want = want .. ".neg" end
  if signs ~= want then return false end
  local base, count = value:match("^(.-)%*(%d+)$")
  base, count = base or value, tonumber(count or 1)
  if SPECIAL[text] then return base == SPECIAL[text], half end
  if APERTURES[text] then
    local number = tonumber(base)
    return number == APERTURES[text] or number == APERTURES[text] & 0xffffffff, half
  end
  local name, span = register_of(text)
  if name then return base == name and (not span or span == count), half end
  local number = tonumber(base)
  if number == words[2] or number == words[2] & 0xffff or number == words[3] then
    return true, half -- a literal, which LLVM may print as a stand-in
  end
  for _, candidate in ipairs(values_of(text) or {}) do
    if candidate == number then return true, half end
  end
  return false
end

-- ---- comparing ----------------------------------------------------------------------------------

-- "name encoding dst0=… src0=… key=value … pattern:3 rows=f …" taken apart.
local function read_description(text)
  local d = { name = text:match("^%g+"), encoding = text:match("^%g+ (%g+)"), operands = {},
    ndst = 0, fields = {} }
  for word in text:gmatch("%g+") do
    local key, value = word:match("^([%w_]+)=(.*)$")
    if key and key:find("^[ds][sr][tc]%d$") then
      d.operands[#d.operands + 1] = value
      if key:find("^dst") then d.ndst = d.ndst + 1 end
    elseif key then
      d.fields[key] = tonumber(value, (key == "rows" or key == "banks") and 16 or 10)
    elseif word:find(":") then
      d.pattern = word
    end
  end
  return d
end

local WORDS = { clamp = { "clamp", 1 }, ["mul:2"] = { "omod", 1 }, ["mul:4"] = { "omod", 2 },
  ["div:2"] = { "omod", 3 }, glc = { "glc", 1 }, slc = { "slc", 1 }, dlc = { "dlc", 1 },
  scc = { "scc", 1 }, sc0 = { "glc", 1 }, sc1 = { "scc", 1 }, nt = { "slc", 1 },
  offen = { "offen", 1 }, idxen = { "idxen", 1 } }
local NUMBERS = { offset = "offset", offset0 = "offset", offset1 = "offset1", cbsz = "cbsz",
  abid = "abid", blgp = "blgp", bitop3 = "bitop3", fi = "fi" }
local SELECTIONS = { DWORD = 0, BYTE_0 = 1, BYTE_1 = 2, BYTE_2 = 3, BYTE_3 = 4, WORD_0 = 5,
  WORD_1 = 6 }
local UNUSED = { UNUSED_PAD = 0, UNUSED_SEXT = 1, UNUSED_PRESERVE = 2 }

-- The bits of "[1,0,…]", `width` bits each.
local function list_bits(text, width)
  local bits, n = 0, 0
  for number in text:gmatch("%d+") do
    bits, n = bits | tonumber(number) << width * n, n + 1
  end
  return bits, n
end

-- What the modifiers of the text ask for, as fields of a description.
local function expected_fields(modifiers, nsources, word, name)
  local fields, selections, pattern = {}, {}, nil
  for _, text in ipairs(modifiers) do
    local key, value = text:match("^([%w_]+):(.*)$")
    if WORDS[text] then
      fields[WORDS[text][1]] = WORDS[text][2]
    elseif text:find("^offset:swizzle") then
      fields.offset = word & 0xffff
    elseif key == "op_sel" or key == "op_sel_hi" or key == "neg_lo" or key == "neg_hi" then
      local bits, n = list_bits(value, 1)
      if n == nsources + 1 and nsources < 3 then -- the last one is the result's
        bits = bits & (1 << nsources) - 1 | (bits >> nsources & 1) << 3
      end
      fields[key] = bits
    elseif NUMBERS[key] then
      fields[NUMBERS[key]] = tonumber(value)
    elseif key == "dst_sel" then
      fields.dst_sel = SELECTIONS[value]
    elseif key == "dst_unused" then
      fields.dst_unused = UNUSED[value]
    elseif key == "src0_sel" or key == "src1_sel" then
      selections[key == "src0_sel" and 1 or 2] = value:lower()
    elseif key == "byte_sel" then
      selections[1] = "byte_" .. value
    elseif key == "row_mask" or key == "bank_mask" then
      fields[key == "row_mask" and "rows" or "banks"] = tonumber(value)
    elseif key == "bound_ctrl" then
      fields.bound = 1
    elseif key == "quad_perm" or key == "dpp8" then
      pattern = ("%s:%d"):format(key, (list_bits(value, key == "dpp8" and 3 or 2)))
    elseif key == "row_bcast" then
      pattern = "row_bcast" .. value .. ":0"
    elseif key and key:find("^row_") or key and key:find("^wave_") then
      pattern = ("%s:%d"):format(key == "row_newbcast" and "row_share" or key, tonumber(value))
    elseif text:find("^row_") then
      pattern = text .. ":0"
    elseif text:find("^th:TH_ATOMIC_.*RETURN") then
      fields.glc = 1
    elseif text == "lds" then -- a part of the name
      if not name:find("_lds$") then return nil, "it loads into registers" end
    elseif not text:find("^th:TH_") and not text:find("^scope:SCOPE_") then
      return nil, "the modifier " .. text .. " is not expected"
    end
  end
  return fields, selections, pattern
end

-- Fields that the text leaves out have these values; only packed instructions have op_sel_hi.
local function usual(key, described)
  if key == "rows" or key == "banks" then return 15 end
  return key == "op_sel_hi" and (described == 7 and 7 or 0) or 0
end

-- Compares the operands; gives the halves that they name, as bits of op_sel.
local function compare_operands(operands, d, words)
  local described, halves = d.operands, 0
  local skip = #described == #operands + 1 and described[1] == "none" and 1 or 0
  if skip == 0 and d.name:find("^v_cmpx") and #described == #operands + 1 then skip = 1 end
  for i, text in ipairs(operands) do
    local ours = described[i + skip]
    if not ours then return nil, "operand " .. text .. " is lost" end
    local same, half = is_same(text, ours, words)
    if not same then return nil, ("operand %s is %s"):format(text, ours) end
    local n = i + skip - d.ndst -- a destination's half is bit 3
    if half == "h" then halves = halves | 1 << (n < 1 and 3 or n - 1) end
  end
  if #described - skip > #operands then return nil, "there are operands too many" end
  return halves
end

local function difference(text, description, words)
  local _, operands, modifiers = cut(text)
  local d = read_description(description)
  if #d.operands == 0 and WORDS[operands[1]] then -- "buffer_wbl2 sc0"
    table.move(operands, 1, #operands, #modifiers + 1, modifiers)
    operands = {}
  end
  local is_sopp, is_sopk = words[1] >> 23 == 0x17f,
    words[1] >> 28 == 0xb and (words[1] >> 23 & 31) < 0x1d
  local field = words[1] & 0xffff
  if is_sopp then
    return d.fields.imm ~= (field ~= 0 and field or nil) and "its field is lost" or nil
  end
  if is_sopk then
    field = field >= 0x8000 and field - 0x10000 or field
    if d.fields.imm ~= (field ~= 0 and field or nil) then return "its field is lost" end
    operands = { table.unpack(operands, 1, #d.operands) }
    if text:find("hwreg%(") then return nil end
    d.fields.imm = nil
  end
  local halves, why = compare_operands(operands, d, words)
  if not halves then return why end
  local nsources = #d.operands - d.ndst
  local want, selections, pattern = expected_fields(modifiers, nsources, words[1], d.name)
  if not want then return selections end
  want.op_sel = (want.op_sel or 0) | halves
  if d.name == "s_set_gpr_idx_on" then want.imm = words[1] >> 8 & 255 end
  if d.name:find("^s_sendmsg_rtn_") then want.imm = words[1] & 255 end
  if pattern and d.pattern ~= pattern then return "lanes are " .. tostring(d.pattern) end
  if not pattern and d.pattern then return "there is no pattern of lanes" end
  for n, name in pairs(selections) do
    local ours = d.operands[#d.operands - #operands + n + 1] or ""
    local sel = ours:match("%.(%a+_%d)") or "dword"
    if sel ~= name then return ("selection %s is %s"):format(name, ours) end
  end
  local keys = {}
  for key in pairs(want) do keys[key] = true end
  for key in pairs(d.fields) do keys[key] = true end
  for key in pairs(keys) do
    local ours = d.fields[key] or 0
    local theirs = want[key] or usual(key, ours)
    if ours ~= theirs then return ("%s is %d, wants %d"):format(key, ours, theirs) end
  end
end

-- ---- the tests ----------------------------------------------------------------------------------

local function decode(chip, lines)
  local path <close> = setmetatable({ name = os.tmpname() },
    { __close = function(self) os.remove(self.name) end })
  local file = assert(io.open(path.name, "w"))
  file:write(lines)
  file:close()
  local output, succeeded = files.run(("%s decode %s <%s"):format(emulator.program, chip,
    path.name))
  assert(succeeded, output:sub(-500))
  return output
end

describe("a random encoding", function()
  for _, chip in ipairs { "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201" } do
    it("of " .. chip .. " is decoded as LLVM's disassembler reads it", function()
      local lines = draw_encodings(emulator.generation(chip))
      local next_line, complaints, count, names = lines:gmatch("[^\n]+"), {}, 0, {}
      for row in decode(chip, lines):gmatch("([^\n]*)\n") do
        local words = {}
        for word in next_line():gmatch("%x+") do words[#words + 1] = tonumber(word, 16) end
        local _, text, description, second = row:match("^(%d+)\t([^\t]*)\t?([^\t]*)\t?([^\t]*)")
        if description ~= "" and description:sub(1, 1) ~= "!" and second == "" then
          local why = difference(text, description, words)
          count = count + 1
          names[description:match("^%g+")] = true
          if why then
            complaints[#complaints + 1] = table.concat({ text, description, why }, "\n  ")
          end
        end
      end
      local nnames = 0
      for _ in pairs(names) do nnames = nnames + 1 end
      assert.are.equal("", table.concat(complaints, "\n", 1, math.min(#complaints, 40)))
      assert(count > COUNT // 10 and nnames > 150, ("%d decoded, %d names"):format(count, nnames))
    end)
  end
end)
