-- Linear algebra by libraries: residuals, shapes, and what is refused.
local roc = require "roc"
local shell = require "support.shell"

local linalg = roc.linalg
local absent = select(2, linalg.library())

local EPSILON = { float32 = 0x1p-23, float64 = 0x1p-52 }

local function identity(n, dtype)
  return roc.where(roc.range(1, n):eq(roc.range(1, n):reshape(n, 1)), 1, 0):astype(dtype)
end

local function swapped(a)
  local axes = {}
  for k = 1, a.ndim do axes[k] = k end
  axes[#axes - 1], axes[#axes] = axes[#axes], axes[#axes - 1]
  return a:transpose(axes)
end

local function greatest(a) return a.size == 0 and 0 or roc.math.abs(a):max() end

-- |residual| within some ulp of what was added up.
local function check_small(residual, scale, n, dtype)
  local bound = 40 * n * EPSILON[dtype] * math.max(scale, 1)
  assert.is_true(greatest(residual) <= bound, ("%g > %g"):format(greatest(residual), bound))
end

local function unscaled(dtype, shape) return roc.rng(7):normal(shape, dtype) end

local function symmetric(dtype, n)
  local a = unscaled(dtype, { 2, n, n })
  return a:matmul(swapped(a)) + identity(n, dtype)
end

-- Runs a test in the forms that an operand may have: as it is, transposed in memory, reversed;
-- `moved` copies it.
local function copy(a) return a:copy() end
local LAYOUTS = {
  plain = function(a, moved) return (moved or copy)(a) end,
  fortran = function(a, moved) return swapped((moved or copy)(swapped(a))) end,
  reversed = function(a, moved)
    return (moved or copy)(a:flip { axis = a.ndim }):flip { axis = a.ndim }
  end,
}

local function each(f, ...)
  local values = table.pack(...)
  for i = 1, values.n do
    if type(values[i]) == "userdata" then values[i] = f(values[i]) end
  end
  return table.unpack(values, 1, values.n)
end

-- roc.linalg on copies on a device.
local function linalg_on(device)
  return setmetatable({}, { __index = function(_, name)
    return function(...)
      local scope <close> = roc.on_device(device) -- luacheck: ignore 211
      local function back(a) return a:copy_to_host() end
      return each(back, linalg[name](each(roc.to_device, ...)))
    end
  end })
end

-- The host, and the GPUs whose vendor's library is there.
local PLACES = { { "the host", linalg } }
for _, device in ipairs(roc.devices()) do
  local is_gpu = device.kind == "cuda" or device.kind == "hsa"
  if is_gpu and linalg.library(device, "solve") then
    PLACES[#PLACES + 1] = { device.name, linalg_on(device) }
  end
end

local function each_place(define)
  for _, place in ipairs(PLACES) do
    describe("on " .. place[1], function() define(place[2]) end)
  end
end

describe("roc.linalg", function()
  if absent then
    it("has a library", function() pending(absent) end)
    return
  end

  it("names its library", function()
    assert.matches("^%S+ %d+%.%d+[%w.]* ?%w* %(lib.*%.so", linalg.library())
    assert.equal(linalg.library(), linalg.library "cpu")
  end)

  each_place(function(linalg) -- luacheck: ignore 431
    for dtype in pairs(EPSILON) do
      for layout, laid in pairs(LAYOUTS) do
        it(("has small residuals (%s, %s)"):format(dtype, layout), function()
          for _, n in ipairs { 1, 2, 7, 33 } do
            local a, b = laid(unscaled(dtype, { 2, n, n })), unscaled(dtype, { n, 3 })
            local s, tall = laid(symmetric(dtype, n)), laid(unscaled(dtype, { 2, n + 3, n }))
            local x = linalg.solve(a, b)
            check_small(a:matmul(x) - b, greatest(x), n, dtype)
            local inverse = linalg.inverse(a)
            check_small(a:matmul(inverse) - identity(n, dtype), greatest(inverse), n, dtype)
            local l = linalg.cholesky(s)
            check_small(l:matmul(swapped(l)) - s, greatest(s), n, dtype)
            local w, v = linalg.eigh(s)
            check_small(s:matmul(v) - v * w:reshape(2, 1, n), greatest(s), n, dtype)
            check_small(w - linalg.eigh(s, { vectors = false }), greatest(s), n, dtype)
            assert.is_true(w:diff { axis = 2 }:ge(0):all())
            for _, m in ipairs { tall, laid(swapped(tall):copy()) } do
              for _, full in ipairs { false, true } do
                local q, r = linalg.qr(m, { full = full })
                check_small(q:matmul(r) - m, 4, n, dtype)
                check_small(swapped(q):matmul(q) - identity(q.shape[3], dtype), 1, n, dtype)
                local u, values, vt = linalg.svd(m, { full = full })
                local k = values.shape[2]
                local scaled = u[{ {}, {}, { 1, k } }] * values:reshape(2, 1, k)
                check_small(scaled:matmul(vt[{ {}, { 1, k } }]) - m, 4, n, dtype)
                check_small(vt:matmul(swapped(vt)) - identity(vt.shape[2], dtype), 1, n, dtype)
                check_small(values - linalg.svd(m, { vectors = false }), 4, n, dtype)
              end
            end
            local right = unscaled(dtype, n + 3)
            local y, rank = linalg.lstsq(tall, right)
            local rest = tall:matmul(y:reshape(2, n, 1)) - right:reshape(n + 3, 1)
            check_small(swapped(tall):matmul(rest), 8 * greatest(y), n, dtype)
            assert.are.same({ n, n }, rank:totable())
            check_small(linalg.matmul(a, b) - a:matmul(b), 4, n, dtype)
          end
        end)
      end
    end

    it("computes determinants", function()
      assert.equal(-2.0, linalg.det(roc.array { { 1, 2 }, { 3, 4 } }))
      assert.equal(0.0, linalg.det(roc.array { { 1, 2 }, { 2, 4 } }))
      assert.equal(1.0, linalg.det(roc.zeros { 0, 0 }))
      local swap = roc.array({ { { 0, 1 }, { 1, 0 } }, { { 2, 0 }, { 0, 3 } } }, "int8")
      assert.are.same({ -1, 6 }, linalg.det(swap):totable())
      assert.equal("float64", linalg.det(swap).dtype.name)
    end)

    it("finds the least solution where the rank is deficient", function()
      local x, rank, s = linalg.lstsq(roc.ones { 3, 2 }, roc.array { 1, 2, 3 })
      assert.is_true(roc.allclose(x, roc.ones(2), 0, 1e-14))
      assert.equal(1, rank)
      assert.is_true(s[2] < 1e-15)
      x, rank = linalg.lstsq(roc.array { { 1, 0 }, { 0, 0.1 } }, roc.ones(2), { rcond = 0.5 })
      assert.is_true(roc.allclose(x, roc.array { 1, 0 }))
      assert.equal(1, rank)
    end)
  end)

  it("takes dtypes and shapes as they join", function()
    local eye = identity(2, "float16")
    assert.equal("float32", linalg.inverse(eye).dtype.name)
    assert.equal("float64", linalg.solve(eye, roc.ones(2, "float64")).dtype.name)
    assert.equal("float32", linalg.solve(eye, roc.ones(2, "int32")).dtype.name)
    assert.equal("int64", linalg.matmul(identity(2, "int8"), roc.ones(2, "int8")).dtype.name)
    assert.are.same({ 5, 4, 2, 3 },
      linalg.solve(identity(2, "float64"):reshape(1, 2, 2), roc.ones { 5, 4, 2, 3 }).shape)
    assert.equal(14.0, linalg.matmul(roc.range(1, 3), roc.range(1, 3)))
  end)

  each_place(function(linalg) -- luacheck: ignore 431
    it("takes empty matrices and no matrices", function()
      local function shapes(...)
        local list = {}
        for i, a in ipairs { ... } do
          list[i] = type(a) == "number" and "number" or table.concat(a.shape, "x")
        end
        return table.concat(list, " ")
      end
      local none, flat, high = roc.zeros { 0, 3, 3 }, roc.zeros { 0, 3 }, roc.zeros { 2, 3, 0 }
      assert.equal("0x3x3", shapes(linalg.inverse(none)))
      assert.equal("0x3 0x3x3", shapes(linalg.eigh(none)))
      assert.equal("0", shapes(linalg.det(none)))
      assert.equal("0x0 0 0x3", shapes(linalg.svd(flat)))
      assert.equal("3x2 number 0", shapes(linalg.lstsq(flat, roc.zeros { 0, 2 })))
      assert.equal("0x2", shapes(linalg.matmul(flat, roc.ones { 3, 2 })))
      assert.equal("2x3x3", shapes(linalg.matmul(high, swapped(high))))
      local q = linalg.qr(high, { full = true })
      assert.is_true(roc.array_equal(q[2], identity(3, "float64")))
      local u, _, v = linalg.svd(flat, { full = true })
      assert.equal("0x0", shapes(u))
      assert.is_true(roc.array_equal(v, identity(3, "float64")))
    end)
  end)

  for _, kind in ipairs { "cpu", "sim" } do
    it("computes on the memory of " .. kind, function()
      local scope <close> = roc.on_device(kind) -- luacheck: ignore 211
      local a, b = roc.array { { 2, 1 }, { 1, 3 } }, roc.array { 3, 5 }
      local x = linalg.solve(roc.to_device(a), roc.to_device(b))
      assert.equal(kind, x.device.kind)
      assert.is_true(roc.array_equal(x:copy_to_host(), linalg.solve(a, b)))
      assert.equal(5.0, linalg.det(roc.to_device(a)))
      assert.error_matches(function() linalg.solve(roc.to_device(a), b) end, "roc%.to_device")
    end)
  end

  it("waits for queued work on its operands, and keeps them", function()
    if not linalg.library(roc.current_device()) then return pending("no library here") end
    local d = roc.to_device(roc.zeros { 2, 2 })
    roc.kernel(function(a)
      local i, j = roc.grid(2)
      a[i][j] = i + 2 * j
    end):forall(2, 2)(d)
    local before = roc.array { { 3, 5 }, { 4, 6 } }
    local product = linalg.matmul(d, d)
    assert.is_true(roc.array_equal(before, d:copy_to_host()))
    assert.is_true(roc.allclose(product:copy_to_host(), before:matmul(before)))
  end)

  it("multiplies on GPUs that have a library with small residuals", function()
    local is_found
    for _, device in ipairs(roc.devices()) do
      local is_gpu = device.kind == "cuda" or device.kind == "hsa"
      if is_gpu and linalg.library(device) then
        local scope <close> = roc.on_device(device) -- luacheck: ignore 211
        is_found = true
        for _, dtype in ipairs { "float32", "float64", "float16", "bfloat16" } do
          for _, laid in pairs(LAYOUTS) do
            local a, b = unscaled("float32", { 3, 33, 65 }):astype(dtype),
              unscaled("float32", { 65, 19 }):astype(dtype)
            local product = linalg.matmul(laid(a, roc.to_device), laid(b, roc.to_device))
            local wanted = a:astype("float64"):matmul(b:astype("float64"))
            local accumulated = dtype == "float64" and dtype or "float32"
            assert.equal(accumulated, product.dtype.name)
            check_small(product:copy_to_host() - wanted, 4, 65, accumulated)
          end
        end
      end
    end
    if not is_found then pending("no GPU with a library") end
  end)

  describe("refuses", function()
    local two = roc.array { { 1, 2 }, { 2, 4 } }
    local nan = roc.array { { { 1, 0 }, { 0, 1 } }, { { 1, 0 / 0 }, { 2, 3 } } }
    local cases = {
      { "a singular matrix", function() linalg.solve(two, roc.ones(2)) end,
        "bad argument #1 to 'roc.linalg.solve' (the matrix is singular: pivot 2 is 0" },
      { "NaN, with its place", function() linalg.inverse(nan) end,
        "bad argument #1 to 'roc.linalg.inverse' (the matrix at {2} has nan at {1, 2})" },
      { "an infinity on the right", function()
        linalg.solve(identity(2, "float32"), roc.array { { 1, 2 }, { -math.huge, 3 } })
      end, "bad argument #2 to 'roc.linalg.solve' (the right side has -inf at {2, 1})" },
      { "what is not positive definite", function() linalg.cholesky(two - 3) end,
        "(the matrix is not positive definite: the leading 1 x 1 has no positive pivot 1)" },
      { "NaN in a triangle", function() linalg.eigh(swapped(nan)) end,
        "(the matrix at {2} has nan at {2, 1})" },
      { "what is not square", function() linalg.det(roc.ones { 2, 3 }) end,
        "(shape {…, n, n} expected, got {2, 3})" },
      { "a vector", function() linalg.svd(roc.ones(3)) end, "(shape {…, m, n} expected, got {3})" },
      { "another length", function() linalg.lstsq(roc.ones { 3, 2 }, roc.ones(2)) end,
        "bad argument #2 to 'roc.linalg.lstsq' (shape {3} or {…, 3, k} expected" },
      { "bool", function() linalg.inverse(two:gt(1)) end, "takes numbers, got bool" },
      { "a table", function() linalg.solve(two, { 1, 2 }) end, "make an array of it" },
      { "options", function() linalg.qr(two, { complete = true }) end,
        "unknown option 'complete'; known is full" },
      { "a bound", function() linalg.lstsq(two, roc.ones(2), { rcond = 2 }) end,
        "bad option 'rcond' of 'roc.linalg.lstsq' (a number from 0 to below 1 expected, got 2)" },
      { "factors", function() linalg.matmul(two, roc.ones(3)) end, "'roc.linalg.matmul' takes a" },
    }
    for _, case in ipairs(cases) do
      it(case[1], function()
        local is_fine, message = pcall(case[2])
        assert.is_false(is_fine)
        message = tostring(message)
        assert.is_truthy(message:find(case[3], 1, true), message)
        assert.matches("linalg_spec%.lua:%d+: ", message)
      end)
    end
  end)

  it("reads a triangle alone", function()
    local a = roc.array { { 4, 0 / 0 }, { 2, 5 } }
    assert.are.same({ { 2, 0 }, { 1, 2 } }, linalg.cholesky(a):totable())
    local whole = roc.array { { 4, 2 }, { 2, 5 } }
    assert.is_true(roc.array_equal((linalg.eigh(a)), (linalg.eigh(whole))))
  end)
end)

describe("roc.linalg without a library", function()
  local SCRIPT = [[-e 'roc = require "roc" local a = roc.ones({ 2, 2 })
    print(pcall(roc.linalg.%s, a, a))']]

  it("says that the one which was named is none", function()
    local output = shell.run("ROCLUA_LAPACK_LIBRARY=/nowhere ROCLUA " .. SCRIPT:format("solve"))
    assert.matches("ROCLUA_LAPACK_LIBRARY is '/nowhere', which cannot be opened", output)
  end)

  it("says what that one lacks", function()
    local output = shell.run("ROCLUA_LAPACK_LIBRARY=libm.so.6 ROCLUA " .. SCRIPT:format("solve"))
    assert.matches("roc.linalg cannot use libm.so.6, which has no function 'sgemm_'", output)
  end)
end)
