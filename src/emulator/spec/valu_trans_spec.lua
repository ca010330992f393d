-- The emulator's special function unit: within 1 ULP for floats and halves and 2 ULP for doubles;
-- NaNs and zeros exactly as the ISA guides' examples show them.

local asserted = require("support.asserted")
local exact = require("support.exact")
local lanes = require("support.lanes")
local real = require("support.real")

local f16, f32, f64 = exact.f16, exact.f32, exact.f64
local NAN = 0 / 0

local function turns(define)
  return function(x)
    if x - x ~= 0 then return NAN end
    local whole = x - math.floor(x) -- whole turns go first: pi is not exact
    if whole * 4 % 1 == 0 then return math.floor(define(whole * 2 * math.pi) + 0.5) + 0.0 end
    return define(whole * 2 * math.pi)
  end
end

local function log2(x)
  return x == 0 and -math.huge or x < 0 and NAN or math.log(x, 2)
end

local FUNCTIONS = {
  rcp = function(x) return 1 / x end,
  rsq = function(x) return x == 0 and 1 / x or 1 / math.sqrt(x) end,
  sqrt = math.sqrt,
  exp = function(x) return 2.0 ^ x end,
  log = log2,
  sin = turns(math.sin),
  cos = turns(math.cos),
}

-- Whether bits are at most `steps` numbers away from the bits wanted.
local function is_near(fmt, got, want, steps)
  if exact.is_nan(fmt, want) or exact.is_nan(fmt, got) then return got == want end
  return math.abs(real.rank(fmt, got) - real.rank(fmt, want)) <= steps
end

-- Numbers to try: the edges, and a range of ordinary ones.
local function operands(fmt)
  local rows = exact.rows(fmt, 1, 400)
  for i = -400, 400 do
    rows[#rows + 1] = { exact.bits(fmt, i / 16), 0, 0 }
    rows[#rows + 1] = { exact.bits(fmt, i * 0.713), 0, 0 }
  end
  return rows
end

for _, target in ipairs({ "gfx90a", "gfx1030", "gfx1100", "gfx1201" }) do
  describe("the special function unit of " .. target, function()
    local batch = lanes.batch(target)

    local function add(name, fmt, type, flushes, steps, rows)
      local define = FUNCTIONS[name]
      local op = ("v_%s_%s"):format(name, fmt.name)
      it("computes " .. op, batch:each(lanes.text(op, type, type, {}), type, type, rows, {},
        function(got, values)
          local x = values[1]
          if flushes then x = exact.flush(fmt, x) end
          local nan = exact.nan_of(fmt, x)
          local want = nan or exact.bits(fmt, define(exact.number(fmt, x)))
          if exact.is_nan(fmt, want) and not nan then want = fmt.nan | fmt.sign end
          if flushes then want = exact.flush(fmt, want) end
          got = fmt.bits < 64 and got & (2 * fmt.sign - 1) or got
          asserted.check(is_near(fmt, got, want, steps), 1, "%s of 0x%x is 0x%x, not 0x%x", op, x,
            got, want)
        end))
    end

    for _, name in ipairs({ "rcp", "rsq", "sqrt", "exp", "log" }) do
      add(name, f32, "b32", true, 1, operands(f32))
      add(name, f16, "b16", false, 1, operands(f16))
    end
    for _, name in ipairs({ "rcp", "rsq", "sqrt" }) do
      add(name, f64, "b64", false, 2, operands(f64))
    end

    local waves = {}
    for i = -1024, 1024 do
      if i ~= 0 then waves[#waves + 1] = { exact.bits(f32, i / 64), 0, 0 } end
      waves[#waves + 1] = { exact.bits(f32, i * 0.2471), 0, 0 }
    end
    waves[#waves + 1] = { f32.infinity, 0, 0 }
    waves[#waves + 1] = { f32.infinity | f32.sign, 0, 0 }
    waves[#waves + 1] = { f32.infinity | 1, 0, 0 }
    add("sin", f32, "b32", false, 1, waves)
    add("cos", f32, "b32", false, 1, waves)
    local halves = {}
    for i, row in ipairs(waves) do halves[i] = { exact.convert(f32, f16, row[1]), 0, 0 } end
    for _, name in ipairs({ "sin", "cos" }) do add(name, f16, "b16", false, 1, halves) end

    it("keeps the sign of a zero's sine", batch:each("v_sin_f32 v0, v4", "b32", "b32",
      { { 0 }, { 0x80000000 } }, {}, function(got, values) lanes.same(values[1], got) end))

    local FAR = { { exact.bits(f32, 256.25) }, { exact.bits(f32, -1000.25) }, { 0x7f7fffff } }
    for op, beyond in pairs({ v_sin_f32 = 0, v_cos_f32 = 0x3f800000 }) do
      local as = target == "gfx90a" and "as out of range" or "as of others"
      it(("takes %s of more than 256 turns %s"):format(op, as), batch:each(op .. " v0, v4",
        "b32", "b32", FAR, {}, function(got, values)
          local want = beyond
          if target ~= "gfx90a" then
            local define = FUNCTIONS[op:sub(3, 5)]
            want = exact.bits(f32, define(exact.number(f32, values[1])))
          end
          assert(is_near(f32, got, want, 1))
        end))
    end

    it("finds a reciprocal for dividing integers", batch:each("v_rcp_iflag_f32 v0, v4", "b32",
      "b32", { { exact.bits(f32, 3) }, { 0 }, { 1 } }, {}, function(got, values)
        local x = exact.number(f32, exact.flush(f32, values[1]))
        assert(is_near(f32, got, exact.bits(f32, 1 / x), 1))
      end))
  end)
end
