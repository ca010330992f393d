"""The peers of bench/cuda.lua in Python: the same work as their users write it.

    cuda_python.py PEER TURN     PEER: cupy, torch, triton, numba

Not "cuda.py": CuPy and numba-cuda import a package of that name, and would find this file.

Imports what it needs, waits for the lock of the file TURN, and prints a line a measurement: name,
n, milliseconds; nothing for what the peer cannot do.
A time is the median of SAMPLES samples; a sample is so many launches between two events that it
takes a millisecond, divided by their number.
"""

import fcntl
import statistics
import sys
import time

SAMPLES = 15
BITS = (20, 24, 28)


def await_turn():
    """Until the process ends, the GPU is this peer's."""
    await_turn.file = open(sys.argv[2])
    fcntl.flock(await_turn.file, fcntl.LOCK_EX)


def report(name, n, milliseconds):
    print(name, n, f"{milliseconds:.6f}", flush=True)


class Clock:
    """What measures with the events of one library: `event()` makes one, `elapsed(a, b)` gives
    milliseconds, `synchronize()` waits for the device."""

    def __init__(self, event, record, elapsed, synchronize):
        self.event, self.record, self.elapsed = event, record, elapsed
        self.synchronize = synchronize

    def sample(self, launch, count):
        first, last = self.event(), self.event()
        self.record(first)
        for _ in range(count):
            launch()
        self.record(last)
        self.synchronize()
        return self.elapsed(first, last) / count

    def measure(self, name, n, launch):
        launch()
        self.synchronize()
        count = max(1, min(1000, int(1.0 / max(1e-3, self.sample(launch, 3)))))
        report(name, n, statistics.median(self.sample(launch, count) for _ in range(SAMPLES)))

    def measure_launch(self, launch):
        launch()
        times = []
        for _ in range(5 * SAMPLES):
            start = time.perf_counter()
            for _ in range(200):
                launch()
            times.append((time.perf_counter() - start) * 1e3 / 200)
            self.synchronize()
        report("launch", 1, statistics.median(times))


def run_cupy():
    import cupy

    await_turn()
    clock = Clock(
        cupy.cuda.Event,
        lambda e: e.record(),
        cupy.cuda.get_elapsed_time,
        cupy.cuda.Device().synchronize,
    )
    empty = cupy.RawKernel('extern "C" __global__ void f(float*, float*, float*) {}', "f")
    one = cupy.zeros(1, "float32")
    clock.measure_launch(lambda: empty((1,), (256,), (one, one, one)))
    axpy = cupy.ElementwiseKernel("float32 a, float32 x", "float32 y", "y = a * x + y", "axpy")
    triad = cupy.ElementwiseKernel(
        "float32 s, float32 a, float32 b", "float32 c", "c = a + s * b", "triad"
    )
    for bits in BITS:
        n = 1 << bits
        a, b, c = (cupy.ones(n, "float32") for _ in range(3))
        clock.measure("copy", n, lambda: cupy.copyto(b, a))
        clock.measure("saxpy", n, lambda: axpy(2.5, a, b))
        clock.measure("triad", n, lambda: triad(2.5, a, b, c))
    n = 1 << 26
    x, i = cupy.ones(n, "float32"), cupy.ones(n, "int32")
    clock.measure("sum", n, lambda: x.sum())
    clock.measure("scan", n, lambda: cupy.cumsum(i, dtype="int32"))
    bins, data = cupy.arange(257), cupy.ones(n, "uint8")
    clock.measure("histogram", n, lambda: cupy.histogram(data, bins))
    n = 1 << 24
    options = cupy.ElementwiseKernel(
        "float32 s, float32 k, float32 t",
        "float32 call, float32 put",
        """
        const float r = 0.02f, v = 0.3f;
        float root = sqrtf(t);
        float d1 = (logf(s / k) + (r + 0.5f * v * v) * t) / (v * root), d2 = d1 - v * root;
        float n1 = 0.5f * (1 + erff(d1 * 0.70710678f)), n2 = 0.5f * (1 + erff(d2 * 0.70710678f));
        float discounted = k * expf(-r * t);
        call = s * n1 - discounted * n2;
        put = discounted * (1 - n2) - s * (1 - n1);
        """,
        "options",
    )
    s, k, t, call, put = (cupy.ones(n, "float32") for _ in range(5))
    clock.measure("black_scholes", n, lambda: options(s, k, t, call, put))
    a, b = (cupy.ones((8192, 8192), "float32") for _ in range(2))
    clock.measure("transpose", 8192, lambda: cupy.copyto(b, a.T))
    a, b, c = (cupy.ones((4096, 4096), "float32") for _ in range(3))
    clock.measure("matmul_library", 4096, lambda: cupy.matmul(a, b, out=c))
    n = 1 << 28
    host, device = cupy.cuda.alloc_pinned_memory(n), cupy.ones(n, "uint8")
    stream = cupy.cuda.Stream.null
    clock.measure("to_device", n, lambda: device.data.copy_from_host_async(host.ptr, n, stream))
    clock.measure("to_host", n, lambda: device.data.copy_to_host_async(host.ptr, n, stream))


def run_torch():
    import torch

    await_turn()
    clock = Clock(
        lambda: torch.cuda.Event(enable_timing=True),
        lambda e: e.record(),
        lambda a, b: a.elapsed_time(b),
        torch.cuda.synchronize,
    )
    one = torch.zeros(1, device="cuda")
    clock.measure_launch(lambda: one.add_(1.0))
    for bits in BITS:
        n = 1 << bits
        a, b, c = (torch.ones(n, device="cuda") for _ in range(3))
        clock.measure("copy", n, lambda: b.copy_(a))
        clock.measure("saxpy", n, lambda: b.add_(a, alpha=2.5))
        clock.measure("triad", n, lambda: torch.add(a, b, alpha=2.5, out=c))
    n = 1 << 26
    x, i = torch.ones(n, device="cuda"), torch.ones(n, dtype=torch.int32, device="cuda")
    clock.measure("sum", n, lambda: x.sum())
    clock.measure("scan", n, lambda: torch.cumsum(i, 0, dtype=torch.int32))
    data = torch.ones(n, dtype=torch.uint8, device="cuda")
    clock.measure("histogram", n, lambda: torch.bincount(data, minlength=256))
    a = torch.ones(4096, 4096, device="cuda")
    b, c = torch.ones_like(a), torch.empty_like(a)
    torch.backends.cuda.matmul.allow_tf32 = False
    clock.measure("matmul_library", 4096, lambda: torch.matmul(a, b, out=c))
    a, b = (torch.ones(8192, 8192, device="cuda") for _ in range(2))
    clock.measure("transpose", 8192, lambda: b.copy_(a.T))
    n = 1 << 28
    host = torch.ones(n, dtype=torch.uint8, pin_memory=True)
    device = torch.ones(n, dtype=torch.uint8, device="cuda")
    clock.measure("to_device", n, lambda: device.copy_(host, non_blocking=True))
    clock.measure("to_host", n, lambda: host.copy_(device, non_blocking=True))


def run_triton():
    import torch
    import triton
    import triton.language as tl

    await_turn()

    @triton.jit
    def empty(a, b, c):
        pass

    @triton.jit
    def copy(o, x, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(o + i, tl.load(x + i, mask=i < n), mask=i < n)

    @triton.jit
    def saxpy(s, x, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = i < n
        tl.store(y + i, s * tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)

    @triton.jit
    def triad(s, a, b, c, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = i < n
        tl.store(c + i, tl.load(a + i, mask=mask) + s * tl.load(b + i, mask=mask), mask=mask)

    clock = Clock(
        lambda: torch.cuda.Event(enable_timing=True),
        lambda e: e.record(),
        lambda a, b: a.elapsed_time(b),
        torch.cuda.synchronize,
    )
    one = torch.zeros(1, device="cuda")
    clock.measure_launch(lambda: empty[(1,)](one, one, one))
    for bits in BITS:
        n = 1 << bits
        a, b, c = (torch.ones(n, device="cuda") for _ in range(3))
        grid = (triton.cdiv(n, 1024),)
        clock.measure("copy", n, lambda: copy[grid](b, a, n, BLOCK=1024))
        clock.measure("saxpy", n, lambda: saxpy[grid](2.5, a, b, n, BLOCK=1024))
        clock.measure("triad", n, lambda: triad[grid](2.5, a, b, c, n, BLOCK=1024))


def run_numba():
    import numpy

    if not hasattr(numpy, "row_stack"):  # gone from NumPy, named by numba-cuda
        numpy.row_stack = numpy.vstack
    from numba import cuda, float32, int32

    await_turn()
    clock = Clock(
        lambda: cuda.event(timing=True),
        lambda e: e.record(),
        cuda.event_elapsed_time,
        cuda.synchronize,
    )

    @cuda.jit
    def empty(a, b, c):
        pass

    @cuda.jit
    def copy(o, x):
        i = cuda.grid(1)
        if i < o.size:
            o[i] = x[i]

    @cuda.jit
    def saxpy(s, x, y):
        i = cuda.grid(1)
        if i < y.size:
            y[i] = s * x[i] + y[i]

    @cuda.jit
    def triad(s, a, b, c):
        i = cuda.grid(1)
        if i < c.size:
            c[i] = a[i] + s * b[i]

    @cuda.jit
    def naive(a, b, c):
        j, i = cuda.grid(2)
        if i < c.shape[0] and j < c.shape[1]:
            total = float32(0)
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total

    def tiled(tile):
        @cuda.jit
        def kernel(a, b, c):
            block_a = cuda.shared.array((tile, tile), float32)
            block_b = cuda.shared.array((tile, tile), float32)
            x, y = cuda.threadIdx.x, cuda.threadIdx.y
            j, i = cuda.grid(2)
            total = float32(0)
            for first in range(int32(0), int32(a.shape[1]), int32(tile)):
                block_a[y, x] = a[i, first + x]
                block_b[y, x] = b[first + y, j]
                cuda.syncthreads()
                for k in range(tile):
                    total += block_a[y, k] * block_b[k, x]
                cuda.syncthreads()
            c[i, j] = total

        return kernel

    def floats(shape):
        return cuda.to_device(numpy.ones(shape, "float32"))

    one = floats(1)
    clock.measure_launch(lambda: empty[1, 256](one, one, one))
    for bits in BITS:
        n = 1 << bits
        a, b, c = floats(n), floats(n), floats(n)
        blocks, s = (n + 255) // 256, numpy.float32(2.5)
        clock.measure("copy", n, lambda: copy[blocks, 256](b, a))
        clock.measure("saxpy", n, lambda: saxpy[blocks, 256](s, a, b))
        clock.measure("triad", n, lambda: triad[blocks, 256](s, a, b, c))
    n = 4096
    a, b, c = floats((n, n)), floats((n, n)), floats((n, n))
    clock.measure("matmul_naive", n, lambda: naive[(n // 16, n // 16), (16, 16)](a, b, c))
    for tile in (16, 32):
        kernel, groups = tiled(tile), (n // tile, n // tile)
        clock.measure(f"matmul_{tile}", n, lambda: kernel[groups, (tile, tile)](a, b, c))


if __name__ == "__main__":
    {"cupy": run_cupy, "torch": run_torch, "triton": run_triton, "numba": run_numba}[sys.argv[1]]()
