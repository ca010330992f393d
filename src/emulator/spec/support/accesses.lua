-- What memory instructions of the emulator should do, in Lua: widths of loads and stores, what
-- atomics leave in memory, and byte images to compare with.
local emulator = require("support.emulator")

local accesses = {}

local M32 = 0xffffffff

---What registers hold before.
accesses.OLD = 0x5555aaaa

-- A loaded value from the bytes at a position, given the register's word before: its words.
local function whole(format, mask)
  return function(bytes, at)
    return { string.unpack(format, bytes, at) & (mask or M32) }
  end
end

local function low(format)
  return function(bytes, at, old)
    return { old & 0xffff0000 | string.unpack(format, bytes, at) & 0xffff }
  end
end

local function high(format)
  return function(bytes, at, old)
    return { old & 0xffff | string.unpack(format, bytes, at) << 16 & 0xffff0000 }
  end
end

local function words(n)
  return function(bytes, at)
    local list = { string.unpack("<" .. ("I4"):rep(n), bytes, at) }
    list[n + 1] = nil
    return list
  end
end

---Loads of flat, global, scratch and buffer instructions, and (`lds`) how ds_read calls them.
accesses.loads = {
  { name = "ubyte", lds = "u8", nbytes = 1, value = whole("<I1") },
  { name = "sbyte", lds = "i8", nbytes = 1, value = whole("<i1") },
  { name = "ushort", lds = "u16", nbytes = 2, value = whole("<I2") },
  { name = "sshort", lds = "i16", nbytes = 2, value = whole("<i2") },
  { name = "ubyte_d16", lds = "u8_d16", nbytes = 1, value = low("<I1") },
  { name = "ubyte_d16_hi", lds = "u8_d16_hi", nbytes = 1, value = high("<I1") },
  { name = "sbyte_d16", lds = "i8_d16", nbytes = 1, value = low("<i1") },
  { name = "sbyte_d16_hi", lds = "i8_d16_hi", nbytes = 1, value = high("<i1") },
  { name = "short_d16", lds = "u16_d16", nbytes = 2, value = low("<I2") },
  { name = "short_d16_hi", lds = "u16_d16_hi", nbytes = 2, value = high("<I2") },
  { name = "dword", lds = "b32", nbytes = 4, value = words(1) },
  { name = "dwordx2", lds = "b64", nbytes = 8, value = words(2) },
  { name = "dwordx3", lds = "b96", nbytes = 12, value = words(3) },
  { name = "dwordx4", lds = "b128", nbytes = 16, value = words(4) },
}

---Stores; `bytes` makes them of a list of words.
accesses.stores = {
  { name = "byte", lds = "b8", nbytes = 1,
    bytes = function(w) return string.pack("<I1", w[1] & 0xff) end },
  { name = "byte_d16_hi", lds = "b8_d16_hi", nbytes = 1,
    bytes = function(w) return string.pack("<I1", w[1] >> 16 & 0xff) end },
  { name = "short", lds = "b16", nbytes = 2,
    bytes = function(w) return string.pack("<I2", w[1] & 0xffff) end },
  { name = "short_d16_hi", lds = "b16_d16_hi", nbytes = 2,
    bytes = function(w) return string.pack("<I2", w[1] >> 16) end },
}
for n, name in ipairs({ "dword", "dwordx2", "dwordx3", "dwordx4" }) do
  table.insert(accesses.stores, { name = name, lds = "b" .. 32 * n, nbytes = 4 * n,
    bytes = function(w) return string.pack("<" .. ("I4"):rep(n), table.unpack(w, 1, n)) end })
end

---`n` bytes without a pattern, the same on every run.
function accesses.noise(n)
  local state, list = 99, {}
  for i = 1, n do
    state = (state * 1103515245 + 12345) & 0x7fffffff
    list[i] = string.char(state >> 16 & 0xff)
  end
  return table.concat(list)
end

---The string with `bytes` put at 0-based `at`.
function accesses.patched(image, at, bytes)
  return image:sub(1, at) .. bytes .. image:sub(at + #bytes + 1)
end

---Registers `first` to the one after nbytes, in the assembler's spelling.
function accesses.registers(first, nbytes)
  local n = math.max(1, nbytes // 4)
  return n == 1 and "v" .. first or ("v[%d:%d]"):format(first, first + n - 1)
end

---Offsets of 64 lanes into memory, by name.
accesses.patterns = {
  consecutive = function(lane, nbytes) return lane * nbytes end,
  backwards = function(lane, nbytes) return (63 - lane) * nbytes end,
  scattered = function(lane, nbytes) return (lane * 37 % 64) * (nbytes + 1) + 1 end,
  ["at one place"] = function() return 20 end,
}

function accesses.row(f)
  local row = {}
  for lane = 0, 63 do
    row[lane + 1] = f(lane)
  end
  return row
end

-- ---- atomics --------------------------------------------------------------------------------

local function f32(bits) return emulator.to_f32(bits) end
local function f64(bits) return emulator.to_f64(bits) end

local function unsigned(bits)
  local mask = bits == 64 and -1 or M32
  return {
    swap = function(_, data) return data end,
    add = function(old, data) return old + data & mask end,
    sub = function(old, data) return old - data & mask end,
    rsub = function(old, data) return data - old & mask end,
    ["and"] = function(old, data) return old & data end,
    ["or"] = function(old, data) return old | data end,
    xor = function(old, data) return old ~ data end,
    umin = function(old, data) return math.ult(data, old) and data or old end,
    umax = function(old, data) return math.ult(old, data) and data or old end,
    inc = function(old, data) return math.ult(old, data) and old + 1 & mask or 0 end,
    dec = function(old, data)
      return (old == 0 or math.ult(data, old)) and data or old - 1
    end,
  }
end

local function signed(bits)
  local shift = 64 - bits
  local function number(x) return x << shift end -- compares as the narrow one does
  return {
    smin = function(old, data) return number(data) < number(old) and data or old end,
    smax = function(old, data) return number(data) > number(old) and data or old end,
  }
end

-- A number beats a NaN, memory's word an equal one.
local function floats(number)
  local function is_nan(x) return x ~= x end
  return {
    fmin = function(old, data)
      return (is_nan(number(old)) or number(data) < number(old)) and data or old
    end,
    fmax = function(old, data)
      return (is_nan(number(old)) or number(data) > number(old)) and data or old
    end,
  }
end

local function merge(...)
  local all = {}
  for _, t in ipairs({ ... }) do
    for name, f in pairs(t) do
      all[name] = f
    end
  end
  return all
end

-- gfx12's: the argument's quieted where both are NaNs; -0 is less than +0.
local function newer_floats(number, sign, quiet)
  local function choose(is_less)
    return function(old, data)
      local x, y = number(data), number(old)
      if x ~= x then return y ~= y and data | quiet or old end
      if y ~= y then return data end
      if x == 0 and y == 0 then return (is_less(1, 2) == (data & sign ~= 0)) and data or old end
      return is_less(x, y) and data or old
    end
  end
  return {
    fmin = choose(function(x, y) return x < y end), fmax = choose(function(x, y) return x > y end),
  }
end

---What memory holds after an atomic of a generation: accesses.atomics_of(9)[32].add(old, data).
function accesses.atomics_of(generation)
  local is_newer = generation == 12
  return {
    [32] = merge(unsigned(32), signed(32),
      is_newer and newer_floats(f32, 1 << 31, 1 << 22) or floats(f32)),
    [64] = merge(unsigned(64), signed(64),
      is_newer and newer_floats(f64, 1 << 63, 1 << 51) or floats(f64)),
  }
end

---Words that atomics stumble over.
accesses.edges = {
  [32] = { 0, 1, 2, 0x7fffffff, 0x80000000, 0xfffffffe, M32, 0x3f800000, 0xbf800000, 0x7f800000,
    0x7fc00000, 0x12345678 },
  [64] = { 0, 1, M32, 1 << 32, math.maxinteger, math.mininteger, -2, -1, 0x3ff0000000000000,
    emulator.f64(-2.5), 0x7ff8000000000000, 0x7ff0000000000000 },
}

---All pairs of edge words, as two lists per wavefront of `width` lanes.
function accesses.pairs_of(bits, width)
  local batches, edges = {}, accesses.edges[bits]
  local n = 0
  for _, old in ipairs(edges) do
    for _, data in ipairs(edges) do
      local batch = batches[n // width + 1] or { old = {}, data = {} }
      batches[n // width + 1] = batch
      table.insert(batch.old, old)
      table.insert(batch.data, data)
      n = n + 1
    end
  end
  local last = batches[#batches]
  while #last.old < width do
    table.insert(last.old, 0)
    table.insert(last.data, 0)
  end
  return batches
end

---A list of words as bytes.
function accesses.image(list, bits)
  local format = bits == 64 and "<i8" or "<I4"
  local parts = {}
  for i, word in ipairs(list) do
    parts[i] = string.pack(format, word)
  end
  return table.concat(parts)
end

---Lanes of a target's wavefront.
function accesses.width_of(target)
  return (select(2, emulator.generation(target)))
end

return accesses
