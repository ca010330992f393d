-- Option prices by the formula of Black and Scholes: scripts/run.sh
-- examples/arrays/blackscholes.lua [options]
-- Prices calls and puts of many options by one expression each. The prices must keep the parity of
-- calls and puts, and a well-known one must come out.
local roc = require "roc"

local n = math.tointeger(tonumber(arg[1] or 1000000))
assert(n and n >= 1, "usage: arrays/blackscholes.lua [options], a whole number from 1 on")
local RATE, VOLATILITY = 0.05, 0.2

-- The standard normal distribution's integral.
local function normal(x) return roc.math.erfc(x * -math.sqrt(0.5)) * 0.5 end

local function prices(spot, strike, years)
  local spread = VOLATILITY * roc.math.sqrt(years)
  local d1 = (roc.math.log(spot / strike) + (RATE + VOLATILITY ^ 2 / 2) * years) / spread
  local d2 = d1 - spread
  local paid = strike * roc.math.exp(-RATE * years)
  return spot * normal(d1) - paid * normal(d2), paid * normal(-d2) - spot * normal(-d1)
end

local rng = roc.rng(1)
local spot, strike, years = rng:uniform(n) * 50 + 75, rng:uniform(n) * 50 + 75,
  rng:uniform(n) * 2 + 0.1
local call, put = prices(spot, strike, years)
print(("%d options: calls %.3f, puts %.3f in the mean"):format(n, call:mean(), put:mean()))
assert(call:ge(-1e-9):all() and put:ge(-1e-9):all())
assert(roc.allclose(call - put, spot - strike * roc.math.exp(-RATE * years), 0, 1e-10))

local known = prices(roc.array { 100 }, 100, roc.array { 1 })
assert(math.abs(known[1] - 10.450583572185565) < 1e-9)
print "calls and puts agree, and with a known price"
