"""The rows of bench/gpu_arrays.lua by torch or CuPy: gpu_arrays.py PEER SHIFT [ROW...]

Prints "name milliseconds" a row: the median of samples by the wall clock, as the Lua side does.
"""
import statistics
import sys
import time

PEER, SHIFT, WANTED = sys.argv[1], int(sys.argv[2]), sys.argv[3:]

if PEER == "torch":
    import torch as lib

    def floats(*shape):
        return lib.rand(shape, device="cuda")

    def integers(n, last):
        return lib.randint(0, last, (n,), device="cuda", dtype=lib.int32)

    wait = lib.cuda.synchronize
    ROWS = {
        "product_sum": (28, lambda x, y: lib.dot(x, y).item(), 2),
        "mask": (26, lambda x: x[x > 0.5], 1),
        "uniform": (28, lambda n: lib.rand(n, device="cuda"), 0),
        "normal": (28, lambda n: lib.randn(n, device="cuda"), 0),
        "softmax": (28, lambda x: lib.softmax(x, 1), "square"),
        "sum_columns": (28, lambda x: x.sum(0), "square"),
        "sum_rows": (28, lambda x: x.sum(1), "square"),
        "argmax": (28, lambda x: x.argmax(1), "square"),
        "sort_int32": (26, lambda x: lib.sort(x), 10**9),
        "sort_float32": (26, lambda x: lib.sort(x), 1),
        "argsort": (26, lambda x: lib.argsort(x), 1),
        "sort_lines": (24, lambda x: lib.sort(x), "square"),
        "sort_small": (12, lambda x: lib.sort(x), 1),
        "bincount": (26, lambda x: lib.bincount(x, minlength=1024), 1024),
        "unique": (26, lambda x: lib.unique(x), 10**6),
        "cumsum": (26, lambda x: lib.cumsum(x, 0), 100),
    }
else:
    import cupy as lib

    def floats(*shape):
        return lib.random.random(shape, dtype=lib.float32)

    def integers(n, last):
        return lib.random.randint(0, last, n, dtype=lib.int32)

    wait = lib.cuda.runtime.deviceSynchronize
    ROWS = {
        "mask": (26, lambda x: x[x > 0.5], 1),
        "sum_columns": (28, lambda x: x.sum(0), "square"),
        "sum_rows": (28, lambda x: x.sum(1), "square"),
        "argmax": (28, lambda x: x.argmax(1), "square"),
        "sort_int32": (26, lambda x: lib.sort(x), 10**9),
        "sort_float32": (26, lambda x: lib.sort(x), 1),
        "argsort": (26, lambda x: lib.argsort(x), 1),
        "sort_lines": (24, lambda x: lib.sort(x), "square"),
        "sort_small": (12, lambda x: lib.sort(x), 1),
        "bincount": (26, lambda x: lib.bincount(x, minlength=1024), 1024),
        "cumsum": (26, lambda x: lib.cumsum(x), 100),
    }


def operands(bits, kind):
    n = 1 << bits >> SHIFT
    if kind == "square":
        side = int(n**0.5)
        return [floats(side, side)]
    if kind == 0:
        return [n]
    if kind > 2:
        return [integers(n, kind)]
    return [floats(n) for _ in range(kind)]


def measure(run, args, count):
    wait()
    start = time.perf_counter()
    for _ in range(count):
        run(*args)
    wait()
    return (time.perf_counter() - start) / count


for name, (bits, run, kind) in ROWS.items():
    if WANTED and name not in WANTED:
        continue
    args = operands(bits, kind)
    for _ in range(3):
        measure(run, args, 1)
    count = max(1, min(100, int(5e-3 / measure(run, args, 1))))
    print(name, f"{statistics.median(measure(run, args, count) for _ in range(9)) * 1e3:.4f}",
          flush=True)
