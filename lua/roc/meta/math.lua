---@meta
-- # Mathematics
--
-- Functions of numbers, on the host and in kernels, and of arrays, element by element. Those that
-- Lua's `math` has are Lua's own for numbers. In a kernel a function of a float32 computes in
-- float32; of an array a float dtype stays, and integers give float64 unless the entry says
-- otherwise. An ulp is a unit in the last place of the result's type; the bounds hold on `cpu` and
-- GPUs ([the table](../kernel-language.md#functions)).
--
-- ```lua
-- local roc = require "roc"
-- ```

---@class roc
local roc = {}

roc.math = {}

-- ## Of Lua's math

---The absolute value, in the dtype of x.
---
---Example: `roc.math.abs(roc.array { -1, 2 })` gives `[1. 2.]`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.abs(x) end

---The arc cosine, in radians. To 3 ulp of float32, 2 of float64.
---
---Example: `roc.math.acos(1)` gives `0.0`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.acos(x) end

---The arc sine, in radians. To 3 ulp of float32, 2 of float64.
---
---Example: `roc.math.asin(0)` gives `0.0`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.asin(x) end

---The arc tangent of y / x, in radians, in the quadrant of both; x is 1 unless given. To 2 ulp.
---With x to 3.
---
---Example: `roc.math.atan(1, 1)` gives `0.78539816339745`.
---@param y roc.Operand
---@param x? roc.Operand
---@return number | roc.AnyArray
function roc.math.atan(y, x) end

---The least integer value that is not below x. Of a number an integer; of an array in its dtype.
---
---Example: `roc.math.ceil(1.2)` gives `2`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.ceil(x) end

---The cosine of an angle in radians. To 2 ulp.
---
---Example: `roc.math.cos(0)` gives `1.0`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.cos(x) end

---Radians in degrees. To 2 ulp.
---
---Example: `roc.math.deg(math.pi)` gives `180.0`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.deg(x) end

---e to the power x. To 2 ulp.
---
---Example: `roc.math.exp(1)` gives `2.718281828459`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.exp(x) end

---The greatest integer value that is not above x. Of a number an integer; of an array in its dtype.
---
---Example: `roc.math.floor(-1.2)` gives `-2`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.floor(x) end

---The remainder of x / y, with the sign of x. Exact.
---
---Example: `roc.math.fmod(-7, 3)` gives `-1`.
---@param x roc.Operand
---@param y roc.Operand
---@return number | roc.AnyArray
function roc.math.fmod(x, y) end

---The logarithm to the base; the natural one without a base. To 2 ulp, with a base to 4.
---
---Example: `roc.math.log(8, 2)` gives `3.0`.
---@param x roc.Operand
---@param base? roc.Operand
---@return number | roc.AnyArray
function roc.math.log(x, base) end

---The greatest argument. Of arrays element by element, where NaN wins.
---
---Example: `roc.math.max(roc.array { 1, 5 }, 3)` gives `[3. 5.]`.
---@param x roc.Operand
---@param ... roc.Operand
---@return number | roc.AnyArray
function roc.math.max(x, ...) end

---The least argument. Of arrays element by element, where NaN wins.
---
---Example: `roc.math.min(2, 3)` gives `2`.
---@param x roc.Operand
---@param ... roc.Operand
---@return number | roc.AnyArray
function roc.math.min(x, ...) end

---The part of x before the point, and the part after it, with the sign of x. Of an array the first
---in its dtype. Exact.
---
---Example: `roc.math.modf(-2.5)` gives `-2, -0.5`.
---@param x roc.Operand
---@return number | roc.AnyArray whole
---@return number | roc.AnyArray fraction
function roc.math.modf(x) end

---Degrees in radians. To 2 ulp.
---
---Example: `roc.math.rad(180)` gives `3.1415926535898`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.rad(x) end

---The sine of an angle in radians. To 2 ulp.
---
---Example: `roc.math.sin(roc.zeros(2))` gives `[0. 0.]`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.sin(x) end

---The square root, correctly rounded.
---
---Example: `roc.math.sqrt(roc.array { 4, 9 })` gives `[2. 3.]`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.sqrt(x) end

---The tangent of an angle in radians. To 2 ulp.
---
---Example: `roc.math.tan(0)` gives `0.0`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.tan(x) end

---Whether the integer x is less than y where both are unsigned. Of arrays an array of bool.
---
---Example: `roc.math.ult(1, -1)` gives `true`.
---@param x integer | roc.AnyArray
---@param y integer | roc.AnyArray
---@return boolean | roc.AnyArray
function roc.math.ult(x, y) end

-- ## Exponentials and roots

---2 to the power x; of a whole number exact. To 2 ulp.
---
---Example: `roc.math.exp2(3)` gives `8.0`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.exp2(x) end

---The logarithm to the base 2. To 2 ulp.
---
---Example: `roc.math.log2(8)` gives `3.0`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.log2(x) end

---The logarithm to the base 10. To 2 ulp.
---
---Example: `roc.math.log10(1000)` gives `3.0`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.log10(x) end

---log(1 + x), exact near 0 as well. To 2 ulp.
---
---Example: `roc.math.log1p(0)` gives `0.0`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.log1p(x) end

---exp(x) - 1, exact near 0 as well. To 2 ulp.
---
---Example: `roc.math.expm1(0)` gives `0.0`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.expm1(x) end

---x to the power y; exact where the type can represent it. To 2 ulp.
---
---Example: `roc.math.pow(2, 10)` gives `1024.0`.
---@param x roc.Operand
---@param y roc.Operand
---@return number | roc.AnyArray
function roc.math.pow(x, y) end

---The cube root. To 2 ulp.
---
---Example: `roc.math.cbrt(27)` gives `3.0`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.cbrt(x) end

---The square root of x² + y², without overflow on the way. To 2 ulp.
---
---Example: `roc.math.hypot(3, 4)` gives `5.0`.
---@param x roc.Operand
---@param y roc.Operand
---@return number | roc.AnyArray
function roc.math.hypot(x, y) end

---1 / sqrt(x). To 2 ulp.
---
---Example: `roc.math.rsqrt(4)` gives `0.5`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.rsqrt(x) end

---x · y + z, rounded once.
---
---Example: `roc.math.fma(2, 3, 4)` gives `10.0`.
---@param x roc.Operand
---@param y roc.Operand
---@param z roc.Operand
---@return number | roc.AnyArray
function roc.math.fma(x, y, z) end

-- ## Hyperbolic and special functions

---The hyperbolic sine. To 2 ulp.
---
---Example: `roc.math.sinh(0)` gives `0.0`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.sinh(x) end

---The hyperbolic cosine. To 2 ulp.
---
---Example: `roc.math.cosh(0)` gives `1.0`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.cosh(x) end

---The hyperbolic tangent. To 2 ulp.
---
---Example: `roc.math.tanh(0.5)` gives `0.46211715726001`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.tanh(x) end

---The inverse of `roc.math.sinh`. To 2 ulp.
---
---Example: `roc.math.asinh(1)` gives `0.88137358701954`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.asinh(x) end

---The inverse of `roc.math.cosh`. To 2 ulp.
---
---Example: `roc.math.acosh(2)` gives `1.3169578969248`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.acosh(x) end

---The inverse of `roc.math.tanh`. To 2 ulp.
---
---Example: `roc.math.atanh(0.5)` gives `0.54930614433405`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.atanh(x) end

---The error function. To 4 ulp.
---
---Example: `roc.math.erf(1)` gives `0.84270079294971`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.erf(x) end

---1 - erf(x), the complement of the error function. To 4 ulp.
---
---Example: `roc.math.erfc(1)` gives `0.15729920705029`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.erfc(x) end

---The gamma function. To 1 ulp of float32, 8 of float64.
---
---Example: `roc.math.gamma(5)` gives `24.0`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.gamma(x) end

---The logarithm of the absolute value of the gamma function. To 4 ulp.
---
---Example: `roc.math.lgamma(10)` gives `12.801827480081`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.lgamma(x) end

-- ## Floats

---x without its fraction, a float.
---
---Example: `roc.math.trunc(-1.5)` gives `-1.0`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.trunc(x) end

---The nearest integer value, a float; halves away from zero.
---
---Example: `roc.math.round(2.5)` gives `3.0`.
---@param x roc.Operand
---@return number | roc.AnyArray
function roc.math.round(x) end

---The absolute value of x with the sign of y.
---
---Example: `roc.math.copysign(3, -0.0)` gives `-3.0`.
---@param x roc.Operand
---@param y roc.Operand
---@return number | roc.AnyArray
function roc.math.copysign(x, y) end

---Whether x is NaN.
---
---Example: `roc.math.isnan(0 / 0)` gives `true`.
---@param x roc.Operand
---@return boolean | roc.AnyArray
function roc.math.isnan(x) end

---Whether x is an infinity.
---
---Example: `roc.math.isinf(1 / 0)` gives `true`.
---@param x roc.Operand
---@return boolean | roc.AnyArray
function roc.math.isinf(x) end

---Whether x is neither NaN nor an infinity.
---
---Example: `roc.math.isfinite(1 / 0)` gives `false`.
---@param x roc.Operand
---@return boolean | roc.AnyArray
function roc.math.isfinite(x) end

-- ## Bits
--
-- Of integers of 64 bits. An element of an array counts as one; the result wraps in its dtype.

---How many bits are 1.
---
---Example: `roc.math.popcount(255)` gives `8`.
---@param n roc.AnyArray | integer
---@return integer | roc.AnyArray
function roc.math.popcount(n) end

---How many bits are 0 before the highest 1; all of them for 0.
---
---Example: `roc.math.clz(1)` gives `63`.
---@param n roc.AnyArray | integer
---@return integer | roc.AnyArray
function roc.math.clz(n) end

---How many bits are 0 after the lowest 1; all of them for 0.
---
---Example: `roc.math.ctz(8)` gives `3`.
---@param n roc.AnyArray | integer
---@return integer | roc.AnyArray
function roc.math.ctz(n) end

---The bits in reverse order.
---
---Example: `roc.math.bitreverse(1)` gives `-9223372036854775808`.
---@param n roc.AnyArray | integer
---@return integer | roc.AnyArray
function roc.math.bitreverse(n) end
