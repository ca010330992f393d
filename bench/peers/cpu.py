"""The peers of bench/cpu.lua in numba: cpu.py NAME N REPEATS

Prints the median time of a run in seconds.  N is a number of elements, or the side of a square
matrix, a multiple of TILE.
"""
import sys
import time

import numba as nb
import numpy as np

TILE, BINS, MAX_STEPS = 16, 256, 500

name, n, repeats = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
is_square = name in ("transpose", "matmul_naive", "matmul_tiled", "mandelbrot")
shape = (n, n) if is_square else n
rng = np.random.default_rng(1)


def compiled(function):
    return nb.njit(parallel=True, fastmath=False)(function)


@compiled
def saxpy(a, b, c, data):
    for i in nb.prange(b.size):
        b[i] = np.float32(2.5) * a[i] + b[i]


@compiled
def triad(a, b, c, data):
    for i in nb.prange(c.size):
        c[i] = a[i] + np.float32(2.5) * b[i]


@compiled
def reduction(a, b, c, data):
    total = np.float32(0)
    for i in nb.prange(a.size):
        total += a[i]
    return total


@compiled
def transpose(a, b, c, data):
    side = a.shape[0]
    for block in nb.prange(side // TILE):
        for j0 in range(0, side, TILE):
            for i in range(block * TILE, block * TILE + TILE):
                for j in range(j0, j0 + TILE):
                    b[j, i] = a[i, j]


@compiled
def matmul_naive(a, b, c, data):
    side = a.shape[0]
    for i in nb.prange(side):
        for j in range(side):
            total = np.float32(0)
            for k in range(side):
                total += a[i, k] * b[k, j]
            c[i, j] = total


@compiled
def matmul_tiled(a, b, c, data):
    side = a.shape[0]
    for block in nb.prange(side // TILE):
        total = np.empty((TILE, TILE), np.float32)
        i0 = block * TILE
        for j0 in range(0, side, TILE):
            total[:] = 0
            for k in range(side):
                for y in range(TILE):
                    for x in range(TILE):
                        total[y, x] += a[i0 + y, k] * b[k, j0 + x]
            c[i0 : i0 + TILE, j0 : j0 + TILE] = total


@compiled
def mandelbrot(a, b, c, data):
    side = a.shape[0]
    for row in nb.prange(side):
        for column in range(side):
            cx = np.float32(column) * np.float32(3) / np.float32(side) - np.float32(2.25)
            cy = np.float32(row) * np.float32(2) / np.float32(side) - np.float32(1)
            x = y = np.float32(0)
            steps = 0
            while steps < MAX_STEPS and x * x + y * y <= np.float32(4):
                x, y = x * x - y * y + cx, np.float32(2) * x * y + cy
                steps += 1
            data[row * side + column] = steps


@compiled
def histogram(a, b, c, data):
    parts = nb.get_num_threads()
    mine = np.zeros((parts, BINS), np.int64)
    share = (data.size + parts - 1) // parts
    for part in nb.prange(parts):
        for i in range(part * share, min(data.size, part * share + share)):
            mine[part, data[i]] += 1
    return mine.sum(axis=0)


arrays = [rng.random(shape, dtype=np.float32) for _ in range(3)]
arrays.append(rng.integers(0, BINS, n * n if is_square else n, dtype=np.uint8))
run = globals()[name]
run(*arrays)
times = []
for _ in range(repeats):
    start = time.perf_counter()
    run(*arrays)
    times.append(time.perf_counter() - start)
print(sorted(times)[repeats // 2])
