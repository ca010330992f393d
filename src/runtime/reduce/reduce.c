/* See reduce.h.  Threads take lines; where there are fewer lines than threads, they take the chunks
 * of each line.  Lines that lie side by side, as the columns of a matrix do, are combined row by
 * row, as many as fit ROW_BYTES at a time; where these are fewer than threads, they take chunks. */
#include "runtime/reduce.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "runtime/mask.h"
#include "runtime/reduce/fold.h"

enum {
  PART_LEAST = 1 << 18,    /* elements of a thread: fewer do not pay */
  ROW_BYTES = 4096,        /* of neighbouring lines that are combined together, at most */
  NARROW_BYTES = 256,      /* likewise, in the order of memory */
  EXTREMES_BYTES = 512,    /* of neighbouring lines whose extremes are found together, at most */
  BLOCK_BYTES = 32 << 10,  /* of rows that lie one after the other and are combined as one */
  CACHED_BYTES = 4 << 20,  /* of memory that stays in the caches near a processor */
  PIECE = 512,             /* elements of a block that are loaded together */
  ROW_LEAST = 256,         /* bytes of neighbouring lines that are left to a thread */
  ROWS_AHEAD = 8,          /* of the one that is combined */
  COLUMNS_LEAST = 8,       /* neighbouring lines: fewer are combined one by one */
  BLOCKS_MOST = 1024,      /* of chunks of one line, whose results are kept */
  COLUMN_BLOCKS_MOST = 64, /* likewise of lines side by side */
  LEVELS = 48,             /* of chunks */
  LANE_LEVELS = 7,
  TREE_BYTES = 32 << 10, /* of rows that wait for their neighbours, and of what is combined now */
  MAX_LOOPS = ROC_ARRAY_MAX_RANK
};

/* What an op does. */
typedef struct op_facts {
  bool is_product, is_square, is_dot, is_extreme, is_max, is_place, is_of_bool;
  bool is_mean;     /* over the length of a line, for VAR less ddof */
  bool is_centered; /* of the distances from the mean, which takes a pass of its own */
  bool is_root;
} op_facts;

static const op_facts facts_of[ROC_REDUCE_OP_COUNT_] = {
    [ROC_REDUCE_PROD] = {.is_product = true},
    [ROC_REDUCE_MEAN] = {.is_mean = true},
    [ROC_REDUCE_SQUARES] = {.is_square = true},
    [ROC_REDUCE_NORM] = {.is_square = true, .is_root = true},
    [ROC_REDUCE_VAR] = {.is_square = true, .is_mean = true, .is_centered = true},
    [ROC_REDUCE_STD] = {.is_square = true, .is_mean = true, .is_centered = true, .is_root = true},
    [ROC_REDUCE_DOT] = {.is_dot = true},
    [ROC_REDUCE_MIN] = {.is_extreme = true},
    [ROC_REDUCE_MAX] = {.is_extreme = true, .is_max = true},
    [ROC_REDUCE_ARGMIN] = {.is_extreme = true, .is_place = true},
    [ROC_REDUCE_ARGMAX] = {.is_extreme = true, .is_max = true, .is_place = true},
    [ROC_REDUCE_ANY] = {.is_of_bool = true},
    [ROC_REDUCE_ALL] = {.is_of_bool = true},
    [ROC_REDUCE_COUNT] = {.is_of_bool = true},
};

/* A dimension of the lines. */
typedef struct loop {
  int64_t extent, stride;
  int64_t out; /* results between two steps */
} loop;

typedef struct job {
  const roc_reduction *reduction;
  op_facts op;
  roc_dtype cls;
  const fold_functions *fold;
  roc_fold_convert convert;
  bool is_direct; /* elements are of the class already */
  size_t itemsize, class_bytes, result_bytes;
  const char *elements; /* the first one */
  loop line;
  loop loops[MAX_LOOPS]; /* of the lines, those of `columns` not among them */
  uint32_t nloops;
  int64_t count; /* of the loops */
  loop columns;  /* lines side by side; extent 1: there are none */
  uint32_t parts;
  int64_t line_at;  /* the line whose chunks the threads take */
  const void *mean; /* of that line, in the second pass; NULL: there is none yet */
  int64_t blocks, block_chunks;
  char *block_rows; /* of lines side by side: the results of blocks */
  uint64_t block_values[BLOCKS_MOST];
  int64_t block_places[ROC_THREAD_PARTS];
} job;

/* ---- dtypes -------------------------------------------------------------------------------- */

bool roc_reduction_dtype(roc_reduction_op op, roc_dtype dtype, roc_dtype *out) {
  const op_facts *facts = &facts_of[op];
  char kind = roc_dtype_table[dtype].kind;
  if (facts->is_of_bool != (kind == 'b')) return false;
  roc_dtype float_sum = dtype == ROC_DT_FLOAT64 ? ROC_DT_FLOAT64 : ROC_DT_FLOAT32;
  if (facts->is_of_bool) {
    *out = op == ROC_REDUCE_COUNT ? ROC_DT_INT64 : ROC_DT_BOOL;
  } else if (facts->is_extreme) {
    *out = facts->is_place ? ROC_DT_INT64 : dtype;
  } else if (kind == 'f') {
    *out = float_sum;
  } else if (facts->is_square || facts->is_mean) {
    *out = ROC_DT_FLOAT64;
  } else {
    *out = dtype == ROC_DT_UINT64 ? ROC_DT_UINT64 : ROC_DT_INT64;
  }
  return true;
}

/* The class whose functions combine: integers of sums wrap. */
static roc_dtype class_of(const op_facts *op, roc_dtype dtype) {
  if (roc_dtype_table[dtype].kind == 'f') {
    return dtype == ROC_DT_FLOAT64 ? ROC_DT_FLOAT64 : ROC_DT_FLOAT32;
  }
  if (op->is_square) return ROC_DT_FLOAT64;
  return op->is_extreme && dtype != ROC_DT_UINT64 ? ROC_DT_INT64 : ROC_DT_UINT64;
}

/* ---- elements and results ------------------------------------------------------------------ */

/* n elements of the class, `stride` apart; in `buffer` where they are not so in memory. */
static const void *load(const job *j, const char *from, int64_t stride, size_t n, void *buffer) {
  if (j->is_direct && stride == 1) return from;
  j->convert(from, stride, n, buffer);
  return buffer;
}

/* Where lines have their means, in the second pass of an op that takes one; NULL: none. */
typedef struct center {
  const void *values; /* of the class */
  bool is_row;        /* one for each of the lines side by side */
} center;

/* What is combined of n elements: their squares, or those of their distances from the mean, where the
 * op says so. */
static const void *terms_of(const job *j, const void *x, center c, size_t n, void *buffer) {
  if (c.values) {
    j->fold->distance(x, c.values, c.is_row, n, buffer);
  } else if (j->op.is_square && !j->op.is_centered) {
    j->fold->product(x, x, n, buffer);
  } else {
    return x;
  }
  return buffer;
}

static const char *element_at(const job *j, const char *line, int64_t k) {
  return line + k * j->line.stride * (int64_t)j->itemsize;
}

/* Where line `index` of the loops begins, and its result. */
static const char *find_line(const job *j, int64_t index, int64_t *out_result) {
  int64_t at = 0, result = 0;
  for (uint32_t k = j->nloops; k-- > 0;) {
    const loop *l = &j->loops[k];
    at += index % l->extent * l->stride;
    result += index % l->extent * l->out;
    index /= l->extent;
  }
  *out_result = result;
  return j->elements + at * (int64_t)j->itemsize;
}

/* A sum of the class over a count, which a mean of integers has as float64. */
static void divide(const job *j, const void *sum, int64_t count, void *to) {
  float single;
  double wide;
  uint64_t whole;
  switch (j->cls) {
    case ROC_DT_FLOAT32:
      memcpy(&single, sum, sizeof single);
      single /= (float)count;
      memcpy(to, &single, sizeof single);
      return;
    case ROC_DT_FLOAT64: memcpy(&wide, sum, sizeof wide); break;
    default:
      memcpy(&whole, sum, sizeof whole);
      bool is_unsigned = j->reduction->array->dtype == ROC_DT_UINT64;
      wide = is_unsigned ? (double)whole : (double)(int64_t)whole;
      break;
  }
  wide /= (double)count;
  memcpy(to, &wide, sizeof wide);
}

static void take_root(const job *j, void *value) {
  float single;
  double wide;
  if (j->cls == ROC_DT_FLOAT32) {
    memcpy(&single, value, sizeof single);
    single = sqrtf(single);
    memcpy(value, &single, sizeof single);
  } else {
    memcpy(&wide, value, sizeof wide);
    wide = sqrt(wide);
    memcpy(value, &wide, sizeof wide);
  }
}

/* What is left of a sum: a mean, or a root. */
static void store_sum(const job *j, const void *sum, char *to) {
  int64_t count = j->line.extent - j->reduction->ddof;
  if (j->op.is_mean) {
    divide(j, sum, count > 0 ? count : 0, to);
  } else {
    memcpy(to, sum, j->result_bytes);
  }
  if (j->op.is_root) take_root(j, to);
}

/* Whether an extreme is stored as what the class's functions give, and its place is not needed. */
static bool is_value(const job *j) {
  return j->op.is_extreme && !j->op.is_place && j->is_direct;
}

/* `value`: of the class, or NULL, for an extreme whose place, from 0, is known. */
static void store(const job *j, int64_t result, const char *line, const void *value,
                  int64_t place) {
  char *to = (char *)j->reduction->results + result * (int64_t)j->result_bytes;
  int64_t count;
  switch (j->reduction->op) {
    case ROC_REDUCE_ARGMIN:
    case ROC_REDUCE_ARGMAX:
      place++;
      memcpy(to, &place, sizeof place);
      break;
    case ROC_REDUCE_MIN:
    case ROC_REDUCE_MAX:
      memcpy(to, value && is_value(j) ? value : element_at(j, line, place), j->itemsize);
      break;
    case ROC_REDUCE_ANY:
    case ROC_REDUCE_ALL:
      memcpy(&count, value, sizeof count);
      *to = j->reduction->op == ROC_REDUCE_ANY ? count > 0 : count == j->line.extent;
      break;
    default: store_sum(j, value, to); break;
  }
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* Rows of results of 1, 2, 4 … lanes or chunks, which wait for their neighbours. */
typedef struct tree {
  const job *job;
  size_t width, nbytes; /* of a row */
  uint64_t count;
  char *levels;
} tree;

static tree begin_tree(const job *j, size_t width, void *levels) {
  return (tree){.job = j, .width = width, .nbytes = width * j->class_bytes, .levels = levels};
}

/* row = the row that waits on the level with row */
static void combine_level(tree *t, uint32_t level, char *row) {
  char *waiting = t->levels + level * t->nbytes;
  t->job->fold->row(waiting, row, t->width, t->job->op.is_product);
  memcpy(row, waiting, t->nbytes);
}

/* Adds the next row, which is overwritten. */
static void add_row(tree *t, void *row) {
  uint32_t level = 0;
  for (; t->count >> level & 1; level++) combine_level(t, level, row);
  memcpy(t->levels + level * t->nbytes, row, t->nbytes);
  t->count++;
}

static void end_tree(tree *t, char *row) {
  uint32_t level = 0;
  while (!(t->count >> level & 1)) level++;
  memcpy(row, t->levels + level * t->nbytes, t->nbytes);
  for (level++; t->count >> level; level++) {
    if (t->count >> level & 1) combine_level(t, level, row);
  }
}

/* ---- one line ------------------------------------------------------------------------------ */

static int64_t chunks_of(const job *j) {
  return (j->line.extent + FOLD_CHUNK - 1) / FOLD_CHUNK;
}

static size_t chunk_size(const job *j, int64_t chunk) {
  int64_t rest = j->line.extent - chunk * FOLD_CHUNK;
  return (size_t)(rest < FOLD_CHUNK ? rest : FOLD_CHUNK);
}

/* The elements of the other array that a chunk is multiplied with. */
static const void *load_other(const job *j, int64_t chunk, size_t n, void *buffer) {
  int64_t origin[ROC_ARRAY_MAX_RANK] = {chunk * FOLD_CHUNK};
  const roc_array *other = j->reduction->other;
  return load(j, roc_array_at(other, origin), other->strides[0], n, buffer);
}

static void fold_chunk(const job *j, const char *line, center c, int64_t chunk, void *out) {
  uint64_t buffer[FOLD_CHUNK];
  size_t n = chunk_size(j, chunk);
  const char *from = element_at(j, line, chunk * FOLD_CHUNK);
  if (j->op.is_of_bool && j->line.stride == 1) {
    uint64_t count = roc_mask_count((const unsigned char *)from, n);
    memcpy(out, &count, sizeof count);
  } else {
    const void *x = load(j, from, j->line.stride, n, buffer);
    if (j->op.is_dot) {
      uint64_t others[FOLD_CHUNK];
      j->fold->dot(x, load_other(j, chunk, n, others), n, out);
    } else {
      j->fold->chunk(terms_of(j, x, c, n, buffer), n, j->op.is_product, out);
    }
  }
}

/* The sum of chunks `first` to before `last`. */
static void fold_line(const job *j, const char *line, center c, int64_t first, int64_t last,
                      void *out) {
  if (last - first == 1) {
    fold_chunk(j, line, c, first, out);
    return;
  }
  uint64_t levels[LEVELS];
  tree t = begin_tree(j, 1, levels);
  for (int64_t chunk = first; chunk < last; chunk++) {
    uint64_t value;
    fold_chunk(j, line, c, chunk, &value);
    add_row(&t, &value);
  }
  end_tree(&t, out);
}

/* The place of the extreme of chunks `first` to before `last`, which has its value in *best. */
static int64_t find_extreme(const job *j, const char *line, int64_t first, int64_t last,
                            void *best) {
  uint64_t buffer[FOLD_CHUNK];
  int64_t place = 0, *at_best = is_value(j) ? NULL : &place;
  for (int64_t chunk = first; chunk < last; chunk++) {
    int64_t before = chunk * FOLD_CHUNK;
    size_t n = chunk_size(j, chunk);
    const void *x = load(j, element_at(j, line, before), j->line.stride, n, buffer);
    j->fold->extreme_chunk(x, n, j->op.is_max, chunk == first, before, best, at_best);
  }
  return place;
}

/* The sum of a whole line. */
static void sum_line(const job *j, const char *line, void *out) {
  const center none = {0};
  uint64_t mean;
  fold_line(j, line, none, 0, chunks_of(j), out);
  if (!j->op.is_centered) return;
  divide(j, out, j->line.extent, &mean);
  fold_line(j, line, (center){&mean, false}, 0, chunks_of(j), out);
}

static int64_t begin_of(int64_t n, uint32_t parts, uint32_t i) {
  return n / parts * i + n % parts * i / parts;
}

static void reduce_lines(void *ud, uint32_t part) {
  const job *j = ud;
  int64_t end = begin_of(j->count, j->parts, part + 1), result;
  for (int64_t i = begin_of(j->count, j->parts, part); i < end; i++) {
    const char *line = find_line(j, i, &result);
    uint64_t value = 0;
    int64_t place = 0;
    if (j->op.is_extreme) {
      place = find_extreme(j, line, 0, chunks_of(j), &value);
    } else {
      sum_line(j, line, &value);
    }
    store(j, result, line, &value, place);
  }
}

/* ---- a line in parts ------------------------------------------------------------------------- */

static int64_t end_of_block(const job *j, int64_t block) {
  int64_t end = (block + 1) * j->block_chunks, chunks = chunks_of(j);
  return end < chunks ? end : chunks;
}

static void reduce_part(void *ud, uint32_t part) {
  job *j = ud;
  int64_t result;
  const char *line = find_line(j, j->line_at, &result);
  int64_t first = begin_of(j->blocks, j->parts, part);
  int64_t last = begin_of(j->blocks, j->parts, part + 1);
  if (j->op.is_extreme) {
    int64_t end = end_of_block(j, last - 1);
    j->block_places[part] =
        find_extreme(j, line, first * j->block_chunks, end, &j->block_values[part]);
    return;
  }
  for (int64_t block = first; block < last; block++) {
    fold_line(j, line, (center){j->mean, false}, block * j->block_chunks, end_of_block(j, block),
              &j->block_values[block]);
  }
}

static void sum_in_parts(job *j, void *out) {
  uint64_t levels[LEVELS];
  roc_thread_each(j->parts, reduce_part, j);
  tree t = begin_tree(j, 1, levels);
  for (int64_t block = 0; block < j->blocks; block++) add_row(&t, &j->block_values[block]);
  end_tree(&t, out);
}

static void reduce_in_parts(job *j) {
  int64_t result, place = 0;
  uint64_t value = 0, mean;
  const char *line = find_line(j, j->line_at, &result);
  j->mean = NULL;
  if (j->op.is_extreme) {
    roc_thread_each(j->parts, reduce_part, j);
    for (uint32_t i = 0; i < j->parts; i++) {
      j->fold->extreme_chunk(&j->block_values[i], 1, j->op.is_max, i == 0, j->block_places[i],
                             &value, &place);
    }
  } else {
    sum_in_parts(j, &value);
    if (j->op.is_centered) {
      divide(j, &value, j->line.extent, &mean);
      j->mean = &mean;
      sum_in_parts(j, &value);
    }
  }
  store(j, result, line, &value, place);
}

/* Blocks of a power of two of chunks, so that the tree above them is the tree of all. */
static void choose_blocks(job *j, int64_t most) {
  int64_t chunks = chunks_of(j);
  j->block_chunks = 1;
  while ((chunks + j->block_chunks - 1) / j->block_chunks > most) j->block_chunks *= 2;
  j->blocks = (chunks + j->block_chunks - 1) / j->block_chunks;
  if (j->blocks < j->parts) j->parts = (uint32_t)j->blocks;
}

/* ---- lines side by side ---------------------------------------------------------------------- */

typedef struct columns {
  const char *line; /* the first of them */
  int64_t result;
  size_t width;
} columns;

/* Asks for memory that is needed soon: rows may be pages apart, which the hardware does not
 * foresee. */
static void ask_for(const char *memory, size_t nbytes) {
  for (size_t at = 0; at < nbytes; at += 64) __builtin_prefetch(memory + at);
}

/* Row k of the columns, of the class. */
static const void *load_row(const job *j, const columns *c, int64_t k, int64_t ahead,
                            void *buffer) {
  if (k + ahead < j->line.extent) {
    ask_for(element_at(j, c->line, k + ahead), c->width * j->itemsize);
  }
  return load(j, element_at(j, c->line, k), 1, c->width, buffer);
}

/* How the rows of a chunk are combined. */
typedef enum order {
  BY_BLOCKS, /* they lie one after the other: those of all lanes as one row */
  BY_LANES,  /* one lane after the other, of wide rows: what a lane has stays in the first cache */
  IN_ORDER /* of narrow parts of rows: what all lanes have stays there, and memory is read in order */
} order;

static order order_of(const job *j) {
  size_t nbytes = (size_t)j->columns.extent * j->class_bytes;
  if (j->line.stride == j->columns.extent && nbytes <= BLOCK_BYTES / FOLD_LANES) return BY_BLOCKS;
  size_t memory = (size_t)(j->line.extent * j->columns.extent) * j->itemsize;
  return memory <= CACHED_BYTES ? BY_LANES : IN_ORDER;
}

/* Each gives the results of elements `first` to before `first` + n of each column, at most a chunk.
 * `means`: a row of them, or nothing.  `levels`: room for those of lanes. */
typedef void fold_rows(const job *j, const columns *c, center means, int64_t first, size_t n,
                       char *row, char *levels);

static void fold_by_blocks(const job *j, const columns *c, center means, int64_t first, size_t n,
                           char *row, char *levels) {
  (void)levels;
  _Alignas(64) char acc[BLOCK_BYTES], centers[BLOCK_BYTES / FOLD_LANES + PIECE * sizeof(uint64_t)];
  uint64_t buffer[PIECE];
  size_t width = c->width, size = n * width, step = FOLD_LANES * width,
         count = PIECE / width * width;
  for (size_t i = 0; means.values && i < count; i += width) {
    memcpy(centers + i * j->class_bytes, means.values, width * j->class_bytes);
  }
  const center all = {means.values ? centers : NULL, true};
  for (size_t at = 0; at < size; at += step) {
    const char *block = element_at(j, c->line, first) + at * j->itemsize;
    size_t in_block = size - at < step ? size - at : step;
    for (size_t i = 0; i < in_block; i += count) {
      size_t piece = in_block - i < count ? in_block - i : count;
      const void *x = load(j, block + i * j->itemsize, 1, piece, buffer);
      x = terms_of(j, x, all, piece, buffer);
      char *to = acc + i * j->class_bytes;
      if (at == 0) {
        memcpy(to, x, piece * j->class_bytes);
      } else {
        j->fold->row(to, x, piece, j->op.is_product);
      }
    }
  }
  j->fold->rows(acc, n < FOLD_LANES ? n : FOLD_LANES, width, j->op.is_product);
  memcpy(row, acc, width * j->class_bytes);
}

static void fold_by_lanes(const job *j, const columns *c, center means, int64_t first, size_t n,
                          char *row, char *levels) {
  uint64_t buffer[ROW_BYTES / sizeof(uint64_t)];
  tree t = begin_tree(j, c->width, levels);
  for (size_t lane = 0; lane < FOLD_LANES && lane < n; lane++) {
    for (size_t k = lane; k < n; k += FOLD_LANES) {
      const void *x = load_row(j, c, first + (int64_t)k, FOLD_LANES, buffer);
      x = terms_of(j, x, means, c->width, buffer);
      if (k == lane) {
        memcpy(row, x, c->width * j->class_bytes);
      } else {
        j->fold->row(row, x, c->width, j->op.is_product);
      }
    }
    add_row(&t, row);
  }
  end_tree(&t, row);
}

static void fold_in_order(const job *j, const columns *c, center means, int64_t first, size_t n,
                          char *row, char *levels) {
  (void)levels;
  _Alignas(64) char acc[FOLD_LANES * NARROW_BYTES];
  uint64_t buffer[NARROW_BYTES / sizeof(uint64_t)];
  size_t nbytes = c->width * j->class_bytes;
  for (size_t k = 0; k < n; k++) {
    const void *x = load_row(j, c, first + (int64_t)k, ROWS_AHEAD, buffer);
    x = terms_of(j, x, means, c->width, buffer);
    char *lane = acc + k % FOLD_LANES * nbytes;
    if (k < FOLD_LANES) {
      memcpy(lane, x, nbytes);
    } else {
      j->fold->row(lane, x, c->width, j->op.is_product);
    }
  }
  j->fold->rows(acc, n < FOLD_LANES ? n : FOLD_LANES, c->width, j->op.is_product);
  memcpy(row, acc, nbytes);
}

/* Results of chunks that wait for their neighbours, at most. */
static int64_t levels_of(int64_t chunks) {
  int64_t levels = 0;
  for (; chunks > 0; chunks /= 2) levels++;
  return levels;
}

/* The sums of chunks `first` to before `last` of the columns; `means`: theirs, or NULL. */
static void sum_columns(const job *j, const columns *c, const void *means, int64_t first,
                        int64_t last, char *row) {
  static fold_rows *const folds[] = {fold_by_blocks, fold_by_lanes, fold_in_order};
  _Alignas(64) char levels[TREE_BYTES];
  const center known = {means, true};
  tree t = begin_tree(j, c->width, levels + LANE_LEVELS * c->width * j->class_bytes);
  for (int64_t chunk = first; chunk < last; chunk++) {
    folds[order_of(j)](j, c, known, chunk * FOLD_CHUNK, chunk_size(j, chunk), row, levels);
    if (last - first > 1) add_row(&t, row);
  }
  if (last - first > 1) end_tree(&t, row);
}

/* Their means, of their sums. */
static void find_means(const job *j, const columns *c, const char *sums, char *means) {
  for (size_t i = 0; i < c->width; i++) {
    divide(j, sums + i * j->class_bytes, j->line.extent, means + i * j->class_bytes);
  }
}

static void store_row(const job *j, const columns *c, const char *row) {
  for (size_t i = 0; i < c->width; i++) {
    store(j, c->result + (int64_t)i * j->columns.out, c->line + i * j->itemsize,
          row + i * j->class_bytes, 0);
  }
}

static void fold_columns(const job *j, const columns *c) {
  _Alignas(64) char row[ROW_BYTES], means[ROW_BYTES];
  sum_columns(j, c, NULL, 0, chunks_of(j), row);
  if (j->op.is_centered) {
    find_means(j, c, row, means);
    sum_columns(j, c, means, 0, chunks_of(j), row);
  }
  store_row(j, c, row);
}

static void find_extremes(const job *j, const columns *c) {
  uint64_t buffer[EXTREMES_BYTES / sizeof(uint64_t)], best[EXTREMES_BYTES / sizeof(uint64_t)];
  union {
    uint32_t narrow[EXTREMES_BYTES / sizeof(uint32_t)];
    uint64_t wide[EXTREMES_BYTES / sizeof(uint64_t)];
  } places;
  void *at_best = is_value(j) ? NULL : &places;
  memcpy(best, load_row(j, c, 0, ROWS_AHEAD, buffer), c->width * j->class_bytes);
  if (at_best) memset(&places, 0, c->width * j->class_bytes);
  for (int64_t k = 1; k < j->line.extent; k++) {
    const void *x = load_row(j, c, k, ROWS_AHEAD, buffer);
    j->fold->extreme_row(best, at_best, x, c->width, j->op.is_max, (uint64_t)k);
  }
  if (!at_best) {
    store_row(j, c, (const char *)best);
    return;
  }
  for (size_t i = 0; i < c->width; i++) {
    uint64_t place = j->class_bytes == sizeof(uint32_t) ? places.narrow[i] : places.wide[i];
    store(j, c->result + (int64_t)i * j->columns.out, c->line + i * j->itemsize, NULL,
          (int64_t)place);
  }
}

/* The bytes of the columns that are combined together, at most. */
static int64_t most_bytes(const job *j) {
  int64_t rows = LANE_LEVELS + levels_of(chunks_of(j)), most = TREE_BYTES / rows / 64 * 64;
  if (j->op.is_extreme && j->columns.extent * (int64_t)j->class_bytes <= EXTREMES_BYTES) {
    return EXTREMES_BYTES;
  }
  if (j->op.is_extreme || order_of(j) == IN_ORDER) return NARROW_BYTES;
  return most < ROW_BYTES ? most : ROW_BYTES;
}

/* How many groups the columns are cut into, so that threads have equal shares. */
static int64_t count_groups(const job *j) {
  int64_t most = most_bytes(j), nbytes = j->columns.extent * (int64_t)j->class_bytes;
  int64_t least = (nbytes + most - 1) / most, shares = (j->parts + j->count - 1) / j->count;
  int64_t groups = (least + shares - 1) / shares * shares;
  return nbytes / groups < ROW_LEAST ? least : groups;
}

static columns columns_at(const job *j, int64_t task, int64_t groups) {
  columns c;
  int64_t group = task % groups, first = j->columns.extent * group / groups;
  c.line = find_line(j, task / groups, &c.result) + first * (int64_t)j->itemsize;
  c.result += first * j->columns.out;
  c.width = (size_t)(j->columns.extent * (group + 1) / groups - first);
  return c;
}

static void reduce_columns(void *ud, uint32_t part) {
  const job *j = ud;
  int64_t groups = count_groups(j), tasks = j->count * groups;
  int64_t end = begin_of(tasks, j->parts, part + 1);
  for (int64_t i = begin_of(tasks, j->parts, part); i < end; i++) {
    columns c = columns_at(j, i, groups);
    (j->op.is_extreme ? find_extremes : fold_columns)(j, &c);
  }
}

/* ---- few lines side by side, in parts -------------------------------------------------------- */

static void sum_block_rows(void *ud, uint32_t part) {
  const job *j = ud;
  columns c = columns_at(j, j->line_at, 1);
  int64_t last = begin_of(j->blocks, j->parts, part + 1);
  for (int64_t block = begin_of(j->blocks, j->parts, part); block < last; block++) {
    sum_columns(j, &c, j->mean, block * j->block_chunks, end_of_block(j, block),
                j->block_rows + block * ROW_BYTES);
  }
}

static void sum_columns_in_parts(job *j, const columns *c, char *row) {
  _Alignas(64) char levels[TREE_BYTES];
  tree t = begin_tree(j, c->width, levels);
  roc_thread_each(j->parts, sum_block_rows, j);
  for (int64_t block = 0; block < j->blocks; block++)
    add_row(&t, j->block_rows + block * ROW_BYTES);
  end_tree(&t, row);
}

static void reduce_columns_in_parts(job *j) {
  _Alignas(64) char row[ROW_BYTES], means[ROW_BYTES];
  columns c = columns_at(j, j->line_at, 1);
  j->mean = NULL;
  sum_columns_in_parts(j, &c, row);
  if (j->op.is_centered) {
    find_means(j, &c, row, means);
    j->mean = means;
    sum_columns_in_parts(j, &c, row);
  }
  store_row(j, &c, row);
}

/* Where there are fewer groups of columns than threads, and many chunks, threads take these.  False:
 * nothing has happened. */
static bool reduce_tall_columns(job *j) {
  if (j->op.is_extreme || j->count * count_groups(j) >= j->parts || count_groups(j) > 1)
    return false;
  if (chunks_of(j) < 2) return false;
  choose_blocks(j, COLUMN_BLOCKS_MOST);
  j->block_rows = roc_alloc_pages((size_t)j->blocks * ROW_BYTES, 64);
  if (!j->block_rows) return false;
  for (j->line_at = 0; j->line_at < j->count; j->line_at++) reduce_columns_in_parts(j);
  roc_free_pages(j->block_rows);
  return true;
}

/* ---- loops --------------------------------------------------------------------------------- */

bool roc_reduction_fits(const roc_array *a) {
  for (uint32_t k = 0; k + 1 < a->rank; k++) {
    if (a->strides[k] != a->strides[k + 1] * a->extents[k + 1]) return false;
  }
  return true;
}

/* Adds a dimension of the lines, joined with the one before where it goes on. */
static void add_loop(job *j, loop next) {
  loop *last = j->nloops > 0 ? &j->loops[j->nloops - 1] : NULL;
  if (last && last->stride == next.stride * next.extent && last->out == next.out * next.extent) {
    *last = (loop){last->extent * next.extent, next.stride, next.out};
  } else if (next.extent > 1) {
    j->loops[j->nloops++] = next;
  }
}

static void plan_loops(job *j, const roc_array *a, uint32_t axis) {
  if (axis >= a->rank) {
    j->line = (loop){roc_array_size(a), a->strides[a->rank - 1], 0};
    return;
  }
  j->line = (loop){a->extents[axis], a->strides[axis], 0};
  int64_t out = roc_array_size(a) / a->extents[axis];
  for (uint32_t k = 0; k < a->rank; k++) {
    if (k == axis) continue;
    out /= a->extents[k];
    add_loop(j, (loop){a->extents[k], a->strides[k], out});
  }
}

/* Takes out of the loops the one of lines side by side. */
static void choose_columns(job *j) {
  j->columns = (loop){1, 0, 0};
  if (j->line.stride == 1 || j->line.extent > UINT32_MAX) return; /* places have 32 bits */
  for (uint32_t k = 0; k < j->nloops; k++) {
    if (j->loops[k].stride != 1 || j->loops[k].extent < COLUMNS_LEAST) continue;
    j->columns = j->loops[k];
    j->nloops--;
    memmove(&j->loops[k], &j->loops[k + 1], (j->nloops - k) * sizeof(loop));
    return;
  }
}

static uint32_t choose_parts(const roc_reduction *r) {
  int64_t most = roc_array_size(r->array) / PART_LEAST;
  if (most > (int64_t)r->threads) most = r->threads;
  return most < 1 ? 1 : most > ROC_THREAD_PARTS ? ROC_THREAD_PARTS : (uint32_t)most;
}

static void plan(job *j, const roc_reduction *r) {
  const roc_array *a = r->array;
  const int64_t origin[ROC_ARRAY_MAX_RANK] = {0};
  roc_dtype result = ROC_DT_INT64;
  roc_reduction_dtype(r->op, a->dtype, &result);
  j->reduction = r;
  j->op = facts_of[r->op];
  roc_dtype cls = class_of(&j->op, a->dtype);
  j->cls = cls;
  j->fold = roc_fold_functions_of(cls);
  j->convert = roc_fold_convert_of(a->dtype, cls);
  j->is_direct = a->dtype == cls || (a->dtype == ROC_DT_INT64 && cls == ROC_DT_UINT64);
  j->itemsize = roc_dtype_itemsize(a->dtype);
  j->class_bytes = roc_dtype_itemsize(cls);
  j->result_bytes = roc_dtype_itemsize(result);
  j->elements = roc_array_at(a, origin);
  j->nloops = 0;
  plan_loops(j, a, r->axis);
  choose_columns(j);
  j->count = 1;
  for (uint32_t k = 0; k < j->nloops; k++) j->count *= j->loops[k].extent;
  j->parts = choose_parts(r);
}

void roc_reduce(const roc_reduction *reduction) {
  job j;
  plan(&j, reduction);
  if (j.columns.extent > 1) {
    if (!reduce_tall_columns(&j)) roc_thread_each(j.parts, reduce_columns, &j);
  } else if (j.count >= j.parts) {
    roc_thread_each(j.parts, reduce_lines, &j);
  } else {
    choose_blocks(&j, BLOCKS_MOST);
    for (j.line_at = 0; j.line_at < j.count; j.line_at++) reduce_in_parts(&j);
  }
}
