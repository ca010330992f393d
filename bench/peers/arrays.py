"""Operations on whole arrays by NumPy, numexpr and numba: arrays.py ROW N REPEATS

Prints the least seconds of each, "-" where the module is not there or has no such row.
"""
import sys
import time

import numpy as np

try:
    import numexpr as ne
except ImportError:
    ne = None
try:
    import numba as nb
except ImportError:
    nb = None

row, n, repeats = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(1)
side = int(n**0.5)


def floats(shape=n):
    return rng.random(shape, dtype=np.float32)


def evaluate(text, **operands):
    return ne.evaluate(text, local_dict=operands)


def compiled(function):
    return nb.njit(parallel=True)(function)


def expression():
    x, y = floats(), floats()
    out = np.empty_like(x)
    half = np.float32(0.5)
    yield lambda: np.sqrt(x * x + y * y) * half + np.exp(-x)
    if ne:
        yield lambda: evaluate("sqrt(x*x+y*y)*half+exp(-x)", x=x, y=y, half=half)
    else:
        yield None
    if nb:

        @compiled
        def run(x, y, out):
            for i in nb.prange(x.size):
                out[i] = np.sqrt(x[i] * x[i] + y[i] * y[i]) * np.float32(0.5) + np.exp(-x[i])

        yield lambda: run(x, y, out)


def product_sum():
    x, y = floats(), floats()
    yield lambda: np.dot(x, y)
    yield (lambda: evaluate("sum(x*y)", x=x, y=y)) if ne else None
    if nb:

        @compiled
        def run(x, y):
            total = np.float32(0)
            for i in nb.prange(x.size):
                total += x[i] * y[i]
            return total

        yield lambda: run(x, y)


def of_matrix(axis):
    def rows():
        x = floats((side, side))
        yield lambda: x.sum(axis=axis)
        yield (lambda: evaluate(f"sum(x, axis={axis})", x=x)) if ne else None

    return rows


def softmax():
    x = floats((side, side))

    def by_numpy():
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    yield by_numpy
    yield None
    if nb:

        @compiled
        def run(x):
            out = np.empty_like(x)
            for i in nb.prange(x.shape[0]):
                most, total = x[i].max(), np.float32(0)
                for j in range(x.shape[1]):
                    out[i, j] = np.exp(x[i, j] - most)
                    total += out[i, j]
                for j in range(x.shape[1]):
                    out[i, j] /= total
            return out

        yield lambda: run(x)


def alone(make):
    def rows():
        yield make()

    return rows


def sorting(dtype, method):
    def make():
        x = (floats() * 1e9).astype(dtype)
        return lambda: getattr(np, method)(x, kind="stable" if method == "argsort" else None)

    return alone(make)


def mask():
    x = floats()
    return lambda: x[x > 0.5]


def bincount():
    x = rng.integers(0, 1024, n, dtype=np.int32)
    return lambda: np.bincount(x, minlength=1024)


def matmul():
    a = floats((side, side))
    return lambda: a @ a


def solve():
    a, b = rng.random((side, side)), rng.random(side)
    return lambda: np.linalg.solve(a, b)


def argmax():
    x = floats()
    return lambda: x.argmax()


def cumsum():
    x = floats()
    return lambda: x.cumsum()


ROWS = {
    "expression": expression,
    "product_sum": product_sum,
    "sum_rows": of_matrix(1),
    "sum_columns": of_matrix(0),
    "softmax": softmax,
    "argmax": alone(argmax),
    "cumsum": alone(cumsum),
    "mask": alone(mask),
    "bincount": alone(bincount),
    "sort_int32": sorting(np.int32, "sort"),
    "sort_float32": sorting(np.float32, "sort"),
    "argsort": sorting(np.float32, "argsort"),
    "uniform": alone(lambda: lambda: rng.random(n, dtype=np.float32)),
    "normal": alone(lambda: lambda: rng.standard_normal(n, dtype=np.float32)),
    "matmul": alone(matmul),
    "solve": alone(solve),
}


def least_time(run):
    if run is None:
        return "-"
    run()
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return repr(best)


times = [least_time(run) for run in ROWS[row]()]
print(*(times + ["-", "-"])[:3])
