-- Products by cuBLAS: which library serves, what it is given, in which order, and what becomes of
-- its errors.  Driver and library are stand-ins (spec/c/fake_cuda.h, fake_cublas.c), in processes
-- of their own; spec/arrays/linalg_spec.lua looks at residuals where there is an NVIDIA GPU.
local programs = require "support.programs"
local shell = require "support.shell"

local program = programs.find("cuda_calls_test")
local folder = program and program:gsub("bin/[^/]*$", "lib/")

local function has(output, text)
  assert.is_truthy(output:find(text, 1, true), output)
end

describe("roc.linalg on a cuda device", function()
  if not shell.interpreter then return pending("not run by roclua") end
  if not folder then return pending("cuda_calls_test is not built") end

  -- Output of a script, and what the stand-in of the driver counted, by name.
  local function run(script, environment)
    local path, report = os.tmpname(), os.tmpname()
    local file <close> = assert(io.open(path, "w"))
    file:write("roc = require 'roc'\n", script):flush()
    local output = shell.run(("ROCLUA_CUDA_LIBRARY=%slibfake_cuda.so FAKE_CUDA_REPORT=%s "
      .. "ROCLUA_CUBLAS_LIBRARY=%slibfake_cublas.so "
      .. "ROCLUA_CUSOLVER_LIBRARY=%slibfake_cusolver.so ROCLUA_DEVICE=cuda %s timeout 60 "
      .. "ROCLUA_SPEC %s"):format(folder, report, folder, folder, environment or "", path))
    local counts = {}
    for line in io.lines(report) do
      local name, count = line:match("^(.*) (%-?%d+)$")
      counts[name] = tonumber(count)
    end
    os.remove(path)
    os.remove(report)
    return output:gsub(path:gsub("%p", "%%%0"), "script"), counts
  end

  it("names cuBLAS and cuSOLVER, each for its functions", function()
    local output = run [[
      print(roc.linalg.library(roc.current_device()))
      print(roc.linalg.library(roc.current_device(), "svd"))
      print(pcall(roc.linalg.library, nil, "sort"))]]
    has(output, "cuBLAS 13.0.2 (libfake_cublas.so)\ncuSOLVER 12.0.4 (libfake_cusolver.so)\n")
    has(output, "bad argument #2 to 'roc.linalg.library' (a name such as \"solve\" expected)")
  end)

  -- The stand-in's functions are LAPACK's; it runs no kernel, so they are called one by one.
  local STEPS = [[
    local core = require "roc.core"
    local rng = roc.rng(5)
    local function host(a) return a:copy_to_host() end
    local function T(a) return a:transpose(1, 3, 2):copy() end
    local function product(a, b) return a:matmul(b) end
    for _, dtype in ipairs { "float32", "float64" } do
      local function empty(...) return roc.device_array({ ... }, dtype) end
      local function step(name, m, n, k, option, a, ...)
        local given = { ... }
        for i = 1, 3 do given[i] = given[i] or false end
        local size = core.linalg.factoring_size(name, m, n, k, option, a)
        local work, info = empty(math.max(size, 1)), roc.device_array({ #a }, "int32")
        core.linalg.factor(name, m, n, k, option, a, given[1], given[2], given[3], work, info)
        assert(host(info):max() == 0 and host(info):min() == 0)
      end
      local function close(a, b) assert(roc.allclose(a, b, 1e-3, 1e-3)) end
      local n = 6
      local a, b = rng:normal({ 3, n, n }, dtype), rng:normal({ 3, 2, n }, dtype)
      for option = 0, 1 do -- a row of the stack is a column there
        local factors, x = roc.to_device(a), roc.to_device(b)
        local pivots = roc.device_array({ 3, n }, "int32")
        step("getrf", n, n, 0, 0, factors, pivots)
        step("getrs", n, n, 2, option, factors, pivots, x)
        close(product(option == 1 and a or T(a), T(host(x))), T(b))
      end
      local square = product(a, T(a))
      local root = roc.to_device(square)
      step("potrf", n, n, 0, 0, root)
      local lower = host(root)
      for i = 1, n - 1 do lower[{ {}, i, { i + 1, n } }] = 0 end
      close(product(lower, T(lower)), square)
      local w, v = empty(3, n), roc.to_device(square)
      step("syevd", n, n, 0, 1, v, w)
      close(product(host(v), square), host(w):reshape(3, n, 1) * host(v))
      local tall = rng:normal({ 3, 4, n }, dtype) -- n × 4 there
      local q, tau = roc.to_device(tall), empty(3, 4)
      step("geqrf", n, 4, 0, 0, q, tau)
      step("orgqr", n, 4, 4, 0, q, tau)
      local ones = product(host(q), T(host(q)))
      for i = 1, 4 do close(ones[{ {}, i, i }], roc.ones(3, dtype)) end
      local d, s, u, vt = roc.to_device(tall), empty(3, 4), empty(3, 4, n), empty(3, 4, 4)
      step("gesvd", n, 4, 0, ("S"):byte(), d, s, u, vt)
      close(product(host(vt), host(s):reshape(3, 4, 1) * host(u)), tall)
    end
    print "done"]]

  it("factors stacks by cuSOLVER's functions, in the order of the work", function()
    local output, counts = run(STEPS)
    assert.equal("done\n", output)
    for _, name in ipairs { "streams", "events", "pools", "memory", "violations" } do
      assert.equal(0, counts[name], name)
    end
  end)

  it("gives cuSOLVER's errors", function()
    has(run(STEPS, "FAKE_CUSOLVER_FAIL=2"), "cuSOLVER cannot factor: out of memory on the GPU")
    has(run(STEPS, "FAKE_CUSOLVER_FAIL=77"), "an error that has no text (cuSOLVER error 77)")
    has(run(STEPS, "FAKE_CUSOLVER_CREATE=1"), "cuSOLVER cannot be used: it does not start here")
    local INVERSE = "print(pcall(roc.linalg.inverse, roc.to_device(roc.ones { 2, 2 })))"
    has(run(INVERSE, "ROCLUA_CUSOLVER_LIBRARY=libm.so.6"), "'roc.linalg.inverse': roc.linalg cannot"
      .. " use libm.so.6, which has no function 'cusolverGetProperty': cuSOLVER 10 or later")
  end)

  it("multiplies views, stacks, vectors and halves as the host does", function()
    local output, counts = run [[
      local rng = roc.rng(3)
      local function check(a, b, view_a, view_b)
        local da, db = view_a(roc.to_device(a)), view_b(roc.to_device(b))
        local product = roc.linalg.matmul(da, db)
        local wanted = view_a(a):matmul(view_b(b))
        if type(product) == "number" then
          assert(math.abs(product - wanted) < 1e-4 * math.abs(wanted) + 1e-5)
          return
        end
        product = product:copy_to_host()
        assert(product.dtype == wanted.dtype)
        assert(table.concat(product.shape, "x") == table.concat(wanted.shape, "x"))
        assert(roc.allclose(product, wanted, 1e-4, 1e-5))
      end
      local views = {
        function(x) return x end,
        function(x) return x:transpose() end,
        function(x) return x:slice(1, 2, 4):slice(2, 1, 3) end,
        function(x) return x:transpose():slice(1, 3, 5):slice(2, 2, 4) end,
      }
      for _, dtype in ipairs { "float32", "float64", "float16", "bfloat16" } do
        local function make(...) return rng:normal({ ... }):astype(dtype) end
        local square = make(5, 5)
        for _, view_a in ipairs(views) do
          for _, view_b in ipairs(views) do
            if view_a(square).shape[2] == view_b(square).shape[1] then
              check(square, make(5, 5), view_a, view_b)
            end
          end
        end
        local same = views[1]
        check(make(3, 2, 4), make(3, 4, 5), same, same)
        check(make(2, 4), make(3, 4, 5), same, same)
        check(make(3, 2, 4), make(4, 5), same, same)
        check(make(3, 2, 4), make(1, 4), same, function(x) return x:transpose() end)
        check(make(4), make(4, 5), same, same)
        check(make(2, 4), make(4), same, same)
        check(make(4), make(4), same, same)
        check(make(1, 1), make(1, 7), same, same)
      end
      print "done"]]
    assert.equal("done\n", output)
    assert.equal(0, counts.cuLaunchKernel)
    for _, name in ipairs { "streams", "events", "pools", "memory", "violations" } do
      assert.equal(0, counts[name], name)
    end
  end)

  it("comes after what writes its operands, and before what writes them later", function()
    local output, counts = run [[
      local n = 24
      local ones, twos = roc.ones({ n, n }), roc.full({ n, n }, 2)
      local a, b, s = roc.device_array({ n, n }), roc.device_array({ n, n }), roc.stream()
      local host = roc.pinned_array({ n, n })
      for i = 1, 20 do
        a:copy_from_host(ones, s)
        b:copy_from_host(twos)
        local product = roc.linalg.matmul(a, b)
        a:copy_from_host(twos)
        b:copy_from_host(ones, s)
        product:copy_to_host(host, s)
        s:synchronize()
        assert(host:min() == 2 * n and host:max() == 2 * n)
        roc.linalg.matmul(a, b) -- garbage at once
      end
      print "done"]]
    assert.equal("done\n", output)
    assert.equal(0, counts.violations)
  end)

  local MATMUL = [[
    local a = roc.to_device(roc.ones { 40, 40 })
    print(roc.linalg.library(roc.current_device()))
    print(pcall(roc.linalg.matmul, a, a))]]

  it("says which library is missing, or is another one", function()
    has(run(MATMUL, "ROCLUA_CUBLAS_LIBRARY=/nowhere"),
      "ROCLUA_CUBLAS_LIBRARY is '/nowhere', which cannot be opened")
    has(run(MATMUL, "ROCLUA_CUBLAS_LIBRARY=libm.so.6"),
      "roc.linalg cannot use libm.so.6, which has no function 'cublasGetProperty': cuBLAS 11")
  end)

  it("goes by kernels where cuBLAS does not start, or has no such product", function()
    local output, counts = run(MATMUL, "FAKE_CUBLAS_CREATE=1")
    has(output, "nil\tcuBLAS cannot be used: it does not start here (cuBLAS error 1)")
    assert.equal(1, counts.cuLaunchKernel)
    output, counts = run(MATMUL, "FAKE_CUBLAS_FAIL=15")
    has(output, "cuBLAS 13.0.2")
    assert.equal(1, counts.cuLaunchKernel)
  end)

  it("gives the library's errors", function()
    has(run(MATMUL, "FAKE_CUBLAS_FAIL=3"), "cuBLAS cannot multiply: out of memory on the GPU")
    has(run(MATMUL, "FAKE_CUBLAS_FAIL=14"), "an error of its own (cuBLAS error 14)")
    has(run(MATMUL, "FAKE_CUBLAS_FAIL=77"), "an error that has no text (cuBLAS error 77)")
    has(run(MATMUL, "FAKE_CUDA_FAIL=cuStreamWaitEvent:1:999"), "cannot wait for an allocation")
  end)
end)
