-- The price of a call option by Monte Carlo: scripts/run.sh examples/option.lua [paths]
-- Each work-item follows paths of the share's price; prints the mean with its error, and the price
-- by the formula of Black and Scholes, which must lie within four errors.
local roc = require "roc"
local random = require "roc.kernels.random"

local paths = math.tointeger(tonumber(arg[1] or 1 << 20))
assert(paths and paths >= 1000, "usage: option.lua [paths], a whole number from 1000 on")
local STEPS, ITEMS = 16, 4096
local spot, strike, rate, volatility, years = 100.0, 105.0, 0.03, 0.2, 1.0

local uniform = random.uniform

-- A normally distributed number of two uniform ones, by Box and Muller.
local function normal(seed, counter)
  local u, v = 1.0 - uniform(seed, 2 * counter), uniform(seed, 2 * counter + 1)
  return math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * v)
end

local simulate = roc.kernel(function(sums, squares, npaths, seed)
  local item = roc.get_global_id(1)
  local drift = (rate - 0.5 * volatility * volatility) * years / STEPS
  local spread = volatility * math.sqrt(years / STEPS)
  local sum, square = 0.0, 0.0
  for path = item, npaths, roc.get_global_size(1) do
    local log_price = 0.0
    for step = 1, STEPS do
      log_price = log_price + drift + spread * normal(seed, (path - 1) * STEPS + step)
    end
    local payoff = math.max(spot * math.exp(log_price) - strike, 0.0)
    sum, square = sum + payoff, square + payoff * payoff
  end
  sums[item], squares[item] = sum, square
end, { name = "simulate" })

local sums, squares = roc.device_array(ITEMS), roc.device_array(ITEMS)
simulate:forall(ITEMS)(sums, squares, paths, 42)
local discount = math.exp(-rate * years)
local mean = sums:sum() / paths
local deviation = math.sqrt(squares:sum() / paths - mean * mean)
local price, err = discount * mean, discount * deviation / math.sqrt(paths)

local function cumulative(x) return 0.5 * roc.math.erfc(-x / math.sqrt(2)) end
local d1 = (math.log(spot / strike) + (rate + 0.5 * volatility ^ 2) * years)
  / (volatility * math.sqrt(years))
local d2 = d1 - volatility * math.sqrt(years)
local exact = spot * cumulative(d1) - strike * discount * cumulative(d2)

print(("%d paths on %s: %.4f +- %.4f; by the formula %.4f"):format(paths,
  roc.current_device().name, price, err, exact))
assert(math.abs(price - exact) < 4 * err, "the price is wrong")
print("the two prices agree")
