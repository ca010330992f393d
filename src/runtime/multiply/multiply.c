/* See multiply.h.  A thread has a part of the result: some rows, or some columns, of one matrix after
 * the other.  It copies blocks of both factors into the order in which tiles read them, filled up
 * with zeros at the edges; what these give is not stored. */
#include "runtime/multiply.h"

#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "runtime/multiply/tile.h"

enum {
  LEAST = 4,            /* rows and columns, and products of an element: fewer are for kernels */
  DEPTH = 256,          /* products that are added to a tile at a time */
  ROWS = 96,            /* of a block of the left factor: whole tiles of every form */
  COLUMNS = 512,        /* of a block of the right one */
  PART_LEAST = 1 << 23, /* products of a thread: fewer do not pay */
  SPACING = 64          /* bytes */
};

typedef struct job {
  const roc_product *product;
  const tile_form *form;
  int64_t batch, m, n, k;
  uint32_t parts;
  bool has_columns;             /* parts are columns, not rows */
  int64_t depth, rows, columns; /* of blocks */
  char *memory;
  size_t left_bytes, part_bytes;
} job;

/* A matrix of a stack. */
typedef struct matrix {
  char *elements;
  int64_t row, column; /* bytes from one to the next */
} matrix;

static matrix matrix_of(const roc_array *stack, int64_t z) {
  const int64_t origin[ROC_ARRAY_MAX_RANK] = {0};
  int64_t itemsize = (int64_t)roc_dtype_itemsize(stack->dtype);
  char *elements = roc_array_at(stack, origin);
  if (stack->extents[0] > 1) elements += z * stack->strides[0] * itemsize;
  return (matrix){elements, stack->strides[1] * itemsize, stack->strides[2] * itemsize};
}

static char *element_of(const matrix *x, int64_t i, int64_t j) {
  return x->elements + i * x->row + j * x->column;
}

/* Copies `count` elements `step` bytes apart. */
static void gather(char *to, const char *from, int64_t step, size_t count, size_t itemsize) {
  if (step == (int64_t)itemsize) {
    memcpy(to, from, count * itemsize);
  } else if (itemsize == sizeof(float)) {
    for (size_t i = 0; i < count; i++) memcpy(to + i * 4, from + (int64_t)i * step, 4);
  } else {
    for (size_t i = 0; i < count; i++) memcpy(to + i * 8, from + (int64_t)i * step, 8);
  }
}

/* Packs strips of `width` neighbours across `extent`, each with all of `depth`: `across` and `along`
 * are the bytes from one to the next. */
static void pack(char *to, const char *from, int64_t extent, int64_t across, int64_t depth,
                 int64_t along, size_t width, size_t itemsize) {
  for (int64_t first = 0; first < extent; first += (int64_t)width) {
    size_t has = extent - first < (int64_t)width ? (size_t)(extent - first) : width;
    for (int64_t k = 0; k < depth; k++) {
      gather(to, from + first * across + k * along, across, has, itemsize);
      memset(to + has * itemsize, 0, (width - has) * itemsize);
      to += width * itemsize;
    }
  }
}

/* A tile at the edge: the part of it that is there is computed in a whole one. */
static void multiply_edge(const tile_form *f, size_t depth, const void *a, const void *b,
                          const matrix *c, int64_t i, int64_t j, size_t rows, size_t columns,
                          bool goes_on) {
  _Alignas(64) char tile[TILE_ROWS_MOST * TILE_BYTES_MOST] = {0};
  size_t nbytes = f->columns * f->itemsize;
  for (size_t r = 0; goes_on && r < rows; r++) {
    memcpy(tile + r * nbytes, element_of(c, i + (int64_t)r, j), columns * f->itemsize);
  }
  f->multiply(depth, a, b, tile, f->columns, goes_on);
  for (size_t r = 0; r < rows; r++) {
    memcpy(element_of(c, i + (int64_t)r, j), tile + r * nbytes, columns * f->itemsize);
  }
}

/* A range of rows and columns. */
typedef struct block {
  int64_t row, rows, column, columns;
} block;

static int64_t at_most(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* The tiles of a block of the result, of packed factors. */
static void multiply_block(const job *j, const matrix *c, block x, size_t depth, const char *left,
                           const char *right, bool goes_on) {
  const tile_form *f = j->form;
  size_t left_bytes = f->rows * depth * f->itemsize, right_bytes = f->columns * depth * f->itemsize;
  for (int64_t column = 0; column < x.columns; column += (int64_t)f->columns) {
    const char *a = left, *b = right + (size_t)column / f->columns * right_bytes;
    size_t columns = (size_t)at_most(x.columns - column, (int64_t)f->columns);
    for (int64_t row = 0; row < x.rows; row += (int64_t)f->rows, a += left_bytes) {
      size_t rows = (size_t)at_most(x.rows - row, (int64_t)f->rows);
      int64_t at = x.row + row, across = x.column + column;
      if (rows == f->rows && columns == f->columns) {
        f->multiply(depth, a, b, element_of(c, at, across), (size_t)c->row / f->itemsize, goes_on);
      } else {
        multiply_edge(f, depth, a, b, c, at, across, rows, columns, goes_on);
      }
    }
  }
}

static void multiply_matrix(const job *j, int64_t z, block part, char *left, char *right) {
  const tile_form *f = j->form;
  matrix a = matrix_of(j->product->a, z), b = matrix_of(j->product->b, z);
  matrix c = matrix_of(j->product->c, z);
  block x;
  for (x.column = part.column; x.column < part.column + part.columns; x.column += x.columns) {
    x.columns = at_most(part.column + part.columns - x.column, j->columns);
    for (int64_t k = 0; k < j->k; k += j->depth) {
      int64_t depth = at_most(j->k - k, j->depth);
      pack(right, element_of(&b, k, x.column), x.columns, b.column, depth, b.row, f->columns,
           f->itemsize);
      for (x.row = part.row; x.row < part.row + part.rows; x.row += x.rows) {
        x.rows = at_most(part.row + part.rows - x.row, j->rows);
        pack(left, element_of(&a, x.row, k), x.rows, a.row, depth, a.column, f->rows, f->itemsize);
        multiply_block(j, &c, x, (size_t)depth, left, right, k > 0);
      }
    }
  }
}

/* Where part i of n rows or columns begins: on a tile. */
static int64_t begin_of(const job *j, int64_t n, size_t tile, uint32_t i) {
  int64_t tiles = (n + (int64_t)tile - 1) / (int64_t)tile;
  return at_most(tiles * i / j->parts * (int64_t)tile, n);
}

static void multiply_part(void *ud, uint32_t part) {
  const job *j = ud;
  char *left = j->memory + part * j->part_bytes, *right = left + j->left_bytes;
  block own = {0, j->m, 0, j->n};
  if (j->has_columns) {
    own.column = begin_of(j, j->n, j->form->columns, part);
    own.columns = begin_of(j, j->n, j->form->columns, part + 1) - own.column;
  } else {
    own.row = begin_of(j, j->m, j->form->rows, part);
    own.rows = begin_of(j, j->m, j->form->rows, part + 1) - own.row;
  }
  for (int64_t z = 0; z < j->batch && own.rows > 0; z++) multiply_matrix(j, z, own, left, right);
}

static int64_t whole(int64_t n, size_t unit) {
  return (n + (int64_t)unit - 1) / (int64_t)unit * (int64_t)unit;
}

static void plan(job *j, const roc_product *p) {
  *j = (job){.product = p, .form = roc_tile_form_of(p->c->dtype)};
  j->batch = p->c->extents[0];
  j->m = p->c->extents[1];
  j->n = p->c->extents[2];
  j->k = p->a->extents[2];
  double parts = (double)j->batch * (double)j->m * (double)j->n * (double)j->k / PART_LEAST;
  uint32_t most = p->threads < ROC_THREAD_PARTS ? p->threads : ROC_THREAD_PARTS;
  j->parts = parts < 1 ? 1 : parts < most ? (uint32_t)parts : most;
  j->has_columns = j->n > j->m;
  j->depth = at_most(j->k, DEPTH);
  j->rows = at_most(whole(j->m, j->form->rows), ROWS);
  j->columns = at_most(whole(j->n, j->form->columns), COLUMNS);
  j->left_bytes = (size_t)(j->rows * j->depth) * j->form->itemsize;
  size_t right_bytes = (size_t)(j->columns * j->depth) * j->form->itemsize;
  j->left_bytes = (j->left_bytes + SPACING - 1) / SPACING * SPACING;
  j->part_bytes = (j->left_bytes + right_bytes + SPACING - 1) / SPACING * SPACING;
}

bool roc_product_fits(const roc_product *p) {
  const roc_array *a = p->a, *b = p->b, *c = p->c;
  if (a->dtype != c->dtype || b->dtype != c->dtype || !roc_tile_form_of(c->dtype)) return false;
  return c->extents[1] >= LEAST && c->extents[2] >= LEAST && a->extents[2] >= LEAST;
}

roc_status roc_multiply(const roc_product *product, roc_error *err) {
  job j;
  plan(&j, product);
  j.memory = roc_alloc_pages(j.parts * j.part_bytes, SPACING);
  if (!j.memory) return roc_fail(err, ROC_OOM, "out of memory for the blocks of a product");
  roc_thread_each(j.parts, multiply_part, &j);
  roc_free_pages(j.memory);
  return ROC_OK;
}
