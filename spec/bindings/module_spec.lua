-- Kernels of code objects that other compilers made, beside ours on the same arrays.
local clang = require "support.clang"
local devices = require "support.devices"
local roc = require "roc"
local testing = require("roc.core").testing

local CL = [[
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
struct mixed { int a; float b; long c; };

kernel void scale(global float *x, global const float *y, float f, uint n) {
  size_t i = get_global_id(0);
  if (i < n) x[i] = x[i] * f + y[i];
}

kernel void shape(global int *out) {
  size_t i = get_global_id(0), j = get_global_id(1);
  if (i == get_global_size(0) - 1 && j == get_global_size(1) - 1) {
    out[0] = get_num_groups(0); out[1] = get_num_groups(1);
    out[2] = get_local_size(0); out[3] = get_local_size(1); out[4] = get_enqueued_local_size(0);
    out[5] = get_global_size(0); out[6] = get_global_size(1); out[7] = get_work_dim();
    out[8] = get_global_offset(0); out[9] = get_group_id(0); out[10] = get_local_id(1);
  }
}

kernel void turn(global int *out, local char *pad, local int *a, local double *b) {
  size_t l = get_local_id(0), n = get_local_size(0);
  pad[0] = 1;
  a[l] = get_global_id(0);
  b[l] = 0.5 * l;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = a[n - 1 - l] * 100 + (int)(2 * b[n - 1 - l]);
}

kernel void values(global double *o, struct mixed v, float4 q, char c, half h, ulong u) {
  o[0] = v.a + v.b + v.c; o[1] = q.w; o[2] = c; o[3] = h; o[4] = u;
}

kernel void null(global int *o, global int *p) { o[0] = p == 0; }

__attribute__((reqd_work_group_size(8, 4, 1))) kernel void exact(global int *o) { o[0] = 7; }

kernel void prints(global int *o) { printf("%d\n", o[0]); }

kernel void samples(read_only image2d_t picture, global float4 *o) {
  o[0] = read_imagef(picture, (int2)(0, 0));
}
]]

local HIP = [[
__device__ int counter;
__device__ int item() {
  return __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x()
    + __builtin_amdgcn_workitem_id_x();
}
extern "C" __global__ void count(int *out, int n, float f) {
  int i = item();
  if (i < n) {
    out[i] = i * f;
    __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
  }
}
extern "C" __global__ void counted(int *out) { out[0] = counter; }
extern "C" __global__ void turn(float *out, const float *in, int n) {
  extern __shared__ float t[];
  int l = __builtin_amdgcn_workitem_id_x();
  t[l] = in[l];
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup");
  __builtin_amdgcn_s_barrier();
  out[l] = t[n - 1 - l];
}
]]

-- A product of 16 x 64 and 64 x 16 floats by matrix instructions on halves, for one wavefront.
local PRODUCT = [[
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float4 __attribute__((ext_vector_type(4)));
extern "C" __global__ void product(const float *a, const float *b, float *c) {
  int lane = __builtin_amdgcn_workitem_id_x(), column = lane % 16, row = lane / 16 * 4;
  float4 sum = {0, 0, 0, 0};
  for (int k = row; k < 64; k += 16) {
    half4 x, y;
    for (int e = 0; e < 4; e++) {
      x[e] = (_Float16)a[column * 64 + k + e];
      y[e] = (_Float16)b[(k + e) * 16 + column];
    }
    sum = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, sum, 0, 0, 0);
  }
  for (int e = 0; e < 4; e++) c[(row + e) * 16 + column] = sum[e];
}
]]

local function refuses(text, call, ...)
  local ok, message = pcall(call, ...)
  assert.is_false(ok)
  assert.is_truthy(tostring(message):find(text, 1, true), tostring(message))
end

describe("roc.module", function()
  if clang.missing then return pending(clang.missing) end
  if devices.missing then return pending(devices.missing) end

  devices.each(function(device)
    if device.kind ~= "hsa" then return end
    local arch, cl, hip, x, y

    setup(function()
      arch = roc.current_device().arch
      cl = roc.module(clang.compile("cl", CL, arch))
      hip = roc.module(clang.compile("hip", HIP, arch))
    end)

    before_each(function()
      x = roc.to_device(roc.range(1, 1000):astype("float32"))
      y = roc.to_device(roc.full(1000, 0.5, "float32"))
    end)

    if device.label:find("gfx90a", 1, true) then
      it("multiplies by matrix instructions", function()
        local product = roc.module(clang.compile("hip", PRODUCT, arch)):kernel("product")
        local a, b = roc.zeros({ 16, 64 }, "float32"), roc.zeros({ 64, 16 }, "float32")
        for i = 1, 16 do
          for k = 1, 64 do a[i][k], b[k][i] = i * k % 9 - 4, (i + 3 * k) % 11 - 5 end
        end
        local c = roc.device_array({ 16, 16 }, "float32")
        product:launch({ grid = 64, workgroup = 64 }, roc.to_device(a), roc.to_device(b), c)
        local got = c:copy_to_host()
        for i = 1, 16 do
          for j = 1, 16 do
            local sum = 0
            for k = 1, 64 do sum = sum + a[i][k] * b[k][j] end
            assert.are.equal(sum, got[i][j])
          end
        end
      end)
    end

    it("tells its kernels, and their arguments", function()
      local names = table.concat(cl.kernels, " ")
      assert.are.equal("scale shape turn values null exact prints samples", names)
      assert.are.equal(roc.current_device(), cl.device)
      local k = cl:kernel("scale")
      assert.are.equal("scale", k.name)
      assert.are.same({
        { kind = "pointer", size = 8, is_written = true },
        { kind = "pointer", size = 8, is_written = false },
        { kind = "value", size = 4, dtype = roc.float32 },
        { kind = "value", size = 4, dtype = roc.uint32 },
      }, k.arguments)
      assert.are.same({ kind = "shared", size = 4 }, cl:kernel("turn").arguments[2])
      assert.matches("^roc.Module: 8 kernels for gfx", tostring(cl))
    end)

    it("runs OpenCL C beside a kernel of roclua on the same arrays", function()
      local scale = cl:kernel("scale")
      local add = roc.kernel(function(a) local i = roc.get_global_id(1) a[i] = a[i] + 1 end)
      scale:forall(1000)(x, y, 2, 1000)
      add:forall(1000)(x)
      scale[{ 8, 128 }](x, y, 0.5, 999)
      assert.are.equal(1000.25, x[999])
      assert.are.equal(2001.5, x[1000])
      local part = x:slice(1, 101, 200)
      scale:launch({ grid = 100, workgroup = 64 }, part, y, 0, 100)
      assert.are.same({ 101.25, 0.5, 0.5, 202.25 }, { x[100], x[101], x[200], x[201] })
    end)

    it("takes smart and registered arrays, and streams", function()
      local scale = cl:kernel("scale")
      local smart = roc.smart_array(roc.range(1, 1000):astype("float32"))
      scale:forall(1000)(smart, y, 2, 1000)
      assert.are.equal(2000.5, smart[1000])
      local host = roc.range(1, 1000):astype("float32")
      local registration <close> = roc.register(host)
      local stream <close> = roc.stream()
      scale:launch({ grid = 1000, stream = stream }, host, y, 2, 1000)
      scale[{ 4, 250, stream }](host, y, 2, 1000)
      assert.are.equal(4001.5, host[1000]) -- waits for what is queued
      assert.is_not_nil(registration)
    end)

    it("tells a kernel what it asks of the launch", function()
      local out = roc.device_array(11, "int32")
      cl:kernel("shape"):launch({ grid = { 10, 7 }, workgroup = { 4, 3 } }, out)
      assert.are.same({ 3, 3, 2, 1, 4, 10, 7, 2, 0, 2, 0 }, out:copy_to_host():totable())
    end)

    it("lays out the shared memory that arguments ask for", function()
      local out = roc.device_array(8, "int32")
      cl:kernel("turn")[{ 2, 4 }](out, 3, 16, 32)
      assert.are.same({ 303, 202, 101, 0, 703, 602, 501, 400 }, out:copy_to_host():totable())
    end)

    it("passes values as C has them", function()
      local out = roc.device_array(5)
      cl:kernel("values")[{ 1, 1 }](out, string.pack("i4fi8", 1, 2.5, 3),
        string.pack("ffff", 1, 2, 3, 4), -3, 0.1, 7)
      assert.are.same({ 6.5, 4.0, -3.0, 0.0999755859375, 7.0 }, out:copy_to_host():totable())
      local flag = roc.device_array(1, "int32")
      cl:kernel("null")[{ 1, 1 }](flag, nil)
      assert.are.equal(1, flag[1])
    end)

    it("runs HIP, whose kernels share global variables", function()
      local out = roc.device_array(100, "int32")
      out:fill(-1)
      local count, counted = hip:kernel("count"), hip:kernel("counted", { "out" })
      count[{ 2, 64 }](out, 100, 0.5)
      count[{ 1, 64 }](out, 50, 2.0)
      assert.are.same({ 98, 49 }, { out[50], out[100] })
      counted[{ 1, 1 }](out)
      assert.are.equal(150, out[1])
      local other = roc.module(clang.compile("hip", HIP, arch)):kernel("counted")
      other[{ 1, 1 }](out)
      assert.are.equal(0, out[1])
      local turned = roc.device_array(64, "float32")
      hip:kernel("turn"):launch({ groups = 1, workgroup = 64, shared = 256 }, turned, x, 64)
      assert.are.same({ 64.0, 1.0 }, { turned[1], turned[64] })
    end)

    it("runs what roclua has compiled ahead of time", function()
      local k = roc.kernel(function(a, n)
        local i = roc.get_global_id(1)
        a[i] = a[i] * n
      end, { signature = "(float32[:], float32)", check = false })
      local code = k:compile({ target = arch, check = false })
      local module = roc.module(code.bytes)
      local loaded = module:kernel(module.kernels[1])
      local kinds = {}
      for i, a in ipairs(loaded.arguments) do kinds[i] = a.kind .. a.size end
      assert.are.equal("pointer8 value4 value4 pointer8 pointer8", table.concat(kinds, " "))
      loaded[{ 4, 250 }](x, 1000, 3.0, nil, nil) -- no record of faults, no buffer for print
      assert.are.equal(3000.0, x[1000])
    end)

    it("is taken from a file, and from a bundle", function()
      local path = os.tmpname()
      local file = assert(io.open(path, "wb"))
      local bytes = clang.compile("hip", HIP, arch)
      local function entry(id, offset, size) return string.pack("<I8I8s8", offset, size, id) end
      local name = "hipv4-amdgcn-amd-amdhsa--" .. arch:match("^[^:]+")
      local head = "__CLANG_OFFLOAD_BUNDLE__" .. string.pack("<I8", 3)
        .. entry("host-x86_64-unknown-linux--", 4096, 0)
        .. entry("hipv4-amdgcn-amd-amdhsa--gfx700", 4096, 8) .. entry(name, 8192, #bytes)
      local bundle = head .. ("\0"):rep(8192 - #head) .. bytes
      file:write(bundle)
      file:close()
      assert.are.equal("count counted turn", table.concat(roc.module(path).kernels, " "))
      os.remove(path)
      refuses("the bundle has no code object for", roc.module, (bundle:gsub(name:gsub("%p", "%%%0"),
        "hipv4-amdgcn-amd-amdhsa--gfx7" .. ("0"):rep(#name - 29))))
      refuses("compressed", roc.module, "CCOB" .. bundle)
      refuses(path, roc.module, path)
    end)

    it("keeps its kernels when it is closed, and they their launchers", function()
      local module = roc.module(clang.compile("hip", HIP, arch))
      local launcher = module:kernel("count")[{ 1, 64 }]
      module:close()
      module = nil -- luacheck: ignore
      collectgarbage()
      collectgarbage()
      local out = roc.device_array(64, "int32")
      launcher(out, 64, 3.0)
      assert.are.equal(189, out[64])
    end)

    it("counts what is declared as only read as not written", function()
      local function copies_after(access)
        local smart = roc.smart_array(roc.full(1000, 0.5, "float32"))
        local turn = hip:kernel("turn", { "out", access })
        turn:launch({ groups = 1, workgroup = 64, shared = 256 }, x, smart, 64)
        local before = select(2, testing.smart_copies())
        assert.are.equal(0.5, smart[7])
        return select(2, testing.smart_copies()) - before
      end
      assert.are.same({ 0, 1, 1 }, { copies_after("in"), copies_after("inout"), copies_after() })
    end)

    it("refuses what it cannot serve, by name", function()
      refuses("kernel 'prints' needs what roclua does not have: hostcall (printf, assert)",
        cl.kernel, cl, "prints")
      refuses("kernel 'samples' needs what roclua does not have: an image", cl.kernel, cl,
        "samples")
      refuses("no kernel 'scal'; did you mean 'scale'?", cl.kernel, cl, "scal")
      local wrong = arch:find("gfx90a", 1, true) and "gfx1030" or "gfx90a"
      refuses(("for 'amdgcn-amd-amdhsa--%s"):format(wrong), roc.module,
        clang.compile("hip", HIP, wrong))
      refuses("AMD GPU", roc.module, "\127ELF and nothing more")
      refuses("the device's target is 'cpu", roc.module, clang.compile("hip", HIP, arch), "cpu")
      refuses("/nowhere/there.hsaco", roc.module, "/nowhere/there.hsaco")
    end)

    it("refuses arguments and launches that do not fit", function()
      local scale, count = cl:kernel("scale"), hip:kernel("count")
      local k = scale:forall(10)
      refuses("takes 4 arguments, got 3", k, x, y, 2)
      refuses("#4 to kernel 'scale' (out of the range of uint32)", k, x, y, 2, -1)
      refuses("out of the range of uint32", k, x, y, 2, 1 << 40)
      refuses("uint32 expected", k, x, y, 2, 1.5)
      refuses("does not reach this host array", k, roc.zeros(10), y, 2, 1)
      refuses("array or nil expected, got number", k, x, 3, 2, 1)
      refuses("a string of 4 bytes expected, got 2", k, x, y, "ab", 1)
      refuses("does not fit in 4 bytes", count[{ 1, 64 }], x, 1 << 40, 2.0)
      refuses("the array is closed", function()
        local z = roc.device_array(10)
        z:close()
        k(z, y, 2, 1)
      end)
      refuses("a string of 16 bytes (string.pack)", cl:kernel("values")[{ 1, 1 }], x, 1, 2, 3, 4, 5)
      refuses("bytes of shared memory expected", cl:kernel("turn")[{ 1, 1 }], x, -1, 2, 3)
      refuses("takes at most 256 work-items, got 512", scale[{ 1, 512 }], x, y, 2, 1)
      refuses("takes {8, 4, 1} alone", cl:kernel("exact")[{ 1, { 4, 8 } }], x)
      refuses("100 work-items are not a multiple of 64", count.launch, count,
        { grid = 100, workgroup = 64 }, x, 1, 1.0)
      refuses("without a launch configuration", scale, x, y, 2, 1)
      refuses("has no field 'nmae'; did you mean 'name'?", function() return scale.nmae end)
      refuses("has no argument 5", cl.kernel, cl, "scale", { [5] = "in" })
      refuses("entry 1: a pointer", cl.kernel, cl, "scale", { "float32" })
      refuses("float64 takes 8 bytes, the argument 4", cl.kernel, cl, "scale",
        { [3] = "float64" })
      cl:kernel("exact"):launch({ grid = { 8, 4 } }, x)
      scale:forall(0)(x, y, 2, 1)
    end)

    it("reads damaged bytes without harm", function()
      local bytes = clang.compile("cl", CL, arch)
      local target, count = roc.current_device().arch, 0
      assert.are.equal(8, #testing.read_module(target, bytes))
      for cut = 0, #bytes, 97 do testing.read_module(target, bytes:sub(1, cut)) end
      local note = bytes:find("amdhsa.kernels", 1, true)
      local seed = 12345
      for _ = 1, 3000 do
        seed = (seed * 1103515245 + 12345) & 0x7fffffff
        local at = note + seed % 5000
        local byte = string.char((seed >> 16) & 255)
        local ok = testing.read_module(target, bytes:sub(1, at - 1) .. byte .. bytes:sub(at + 1))
        count = count + (ok and 1 or 0)
      end
      assert.is_true(count > 0 and count < 3000)
    end)
  end)
end)
