/* After the optimiser: gathers whose elements are neighbours, lane by lane.
 *
 * `m[i][1]`, `m[i][2]` … of neighbouring i, or `v[k]` and `v[k + 1]` at k that memory gives, become
 * a gather each.  An instruction that gathers takes its time for each element, so where two or four
 * gathers take neighbours, they are one: of twice as wide elements, or, at equal distances, of
 * loads of four elements, which are then parted by shuffles.  Nothing is read that they did not
 * read. */
#include <string.h>

#include "codegen/core/repair.h"
#include "codegen/cpu/strides.h"

enum { MAX_TERMS = 8, MAX_GATHERS = 64, MOST = 4 };

/* An address, or a number: the sum of values times numbers, and a number. Values are scalars, which
 * all lanes share, or vectors. */
typedef struct sum {
  struct {
    LLVMValueRef value;
    int64_t times;
  } terms[MAX_TERMS];
  unsigned count;
  int64_t number;
} sum;

typedef struct gather {
  cpu_access access;
  sum place;
  bool is_done;
} gather;

/* ---- addresses ----------------------------------------------------------------------------- */

static bool add_term(sum *s, LLVMValueRef value, int64_t times) {
  for (unsigned i = 0; i < s->count; i++) {
    if (s->terms[i].value != value) continue;
    s->terms[i].times = (int64_t)((uint64_t)s->terms[i].times + (uint64_t)times);
    return true;
  }
  if (s->count == MAX_TERMS) return false;
  s->terms[s->count].value = value;
  s->terms[s->count++].times = times;
  return true;
}

/* A number that all lanes are. */
static bool is_number(LLVMValueRef value, int64_t *out) {
  if (!LLVMIsConstant(value)) return false;
  LLVMValueRef one = value;
  if (LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind) {
    one = LLVMGetAggregateElement(value, 0);
    for (unsigned i = 1; i < LLVMGetVectorSize(LLVMTypeOf(value)); i++) {
      if (LLVMGetAggregateElement(value, i) != one) return false;
    }
  }
  if (!one || !LLVMIsAConstantInt(one)) return false;
  *out = LLVMConstIntGetSExtValue(one);
  return true;
}

/* Adds an integer of 64 bits, or a vector of such. */
static bool add_integer(sum *s, LLVMValueRef value, int64_t times, int depth) {
  int64_t number;
  if (is_number(value, &number)) {
    s->number = (int64_t)((uint64_t)s->number + (uint64_t)number * (uint64_t)times);
    return true;
  }
  LLVMValueRef common = cpu_common_of(value);
  if (common) return add_integer(s, common, times, depth);
  if (depth == 0 || !LLVMIsABinaryOperator(value)) return add_term(s, value, times);
  LLVMValueRef a = LLVMGetOperand(value, 0), b = LLVMGetOperand(value, 1);
  switch (LLVMGetInstructionOpcode(value)) {
    case LLVMOr: /* a sum */
      if (!LLVMGetIsDisjoint(value)) return add_term(s, value, times);
      return add_integer(s, a, times, depth - 1) && add_integer(s, b, times, depth - 1);
    case LLVMAdd: return add_integer(s, a, times, depth - 1) && add_integer(s, b, times, depth - 1);
    case LLVMSub:
      return add_integer(s, a, times, depth - 1) &&
             add_integer(s, b, (int64_t)(0 - (uint64_t)times), depth - 1);
    case LLVMMul:
      if (!is_number(b, &number)) return add_term(s, value, times);
      return add_integer(s, a, (int64_t)((uint64_t)times * (uint64_t)number), depth - 1);
    case LLVMShl:
      if (!is_number(b, &number) || number < 0 || number > 63) return add_term(s, value, times);
      return add_integer(s, a, (int64_t)((uint64_t)times << number), depth - 1);
    default: return add_term(s, value, times);
  }
}

static bool has_64_bits(LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) type = LLVMGetElementType(type);
  return LLVMGetIntTypeWidth(type) == 64;
}

static bool add_place(const cpu_rewriter *w, sum *s, LLVMValueRef place, int depth) {
  LLVMValueRef common = cpu_common_of(place);
  if (common) place = common;
  bool is_moved = LLVMIsAGetElementPtrInst(place) && LLVMGetNumOperands(place) == 2;
  if (depth == 0 || !is_moved) return add_term(s, place, 1);
  LLVMValueRef index = LLVMGetOperand(place, 1);
  LLVMTypeRef type = LLVMGetGEPSourceElementType(place);
  if (!has_64_bits(index)) return add_term(s, place, 1);
  int64_t size = (int64_t)LLVMABISizeOfType(LLVMGetModuleDataLayout(w->cg->mod), type);
  return add_place(w, s, LLVMGetOperand(place, 0), depth - 1) &&
         add_integer(s, index, size, CPU_STRIDE_DEPTH);
}

/* By how many bytes `b` lies after `a`, in each lane; false: that is not known. */
static bool distance_of(const sum *a, const sum *b, int64_t *out) {
  sum rest = *b;
  for (unsigned i = 0; i < a->count; i++) {
    if (!add_term(&rest, a->terms[i].value, (int64_t)(0 - (uint64_t)a->terms[i].times)))
      return false;
  }
  for (unsigned i = 0; i < rest.count; i++) {
    if (rest.terms[i].times) return false;
  }
  *out = (int64_t)((uint64_t)b->number - (uint64_t)a->number);
  return true;
}

/* ---- shuffles ------------------------------------------------------------------------------ */

/* A vector of `count` elements of two others: from[k] for the kth of each four or two, the group's
 * own; those of the second are counted from `second` on. */
static LLVMValueRef shuffle(cpu_rewriter *w, LLVMValueRef a, LLVMValueRef b, const unsigned *from,
                            unsigned count) {
  LLVMValueRef lanes[2 * ROC_CG_MOST_LANES];
  for (unsigned i = 0; i < count; i++) lanes[i] = roc_cg_i32(w->cg, (int)from[i]);
  return LLVMBuildShuffleVector(w->b, a, b, LLVMConstVector(lanes, count), "");
}

/* One vector after the other, `count` of `size` elements: all of them in one, in parts[0]. */
static LLVMValueRef concatenate(cpu_rewriter *w, LLVMValueRef *parts, unsigned count,
                                unsigned size) {
  unsigned from[2 * ROC_CG_MOST_LANES];
  for (; count > 1; count /= 2, size *= 2) {
    for (unsigned i = 0; i < 2 * size; i++) from[i] = i;
    for (unsigned i = 0; i < count / 2; i++) {
      parts[i] = shuffle(w, parts[2 * i], parts[2 * i + 1], from, 2 * size);
    }
  }
  return parts[0];
}

/* Of groups of as many elements as 128 bits have, two of `a` and two of `b`, by their places in a
 * group: no element leaves its 128 bits. */
static LLVMValueRef pick(cpu_rewriter *w, LLVMValueRef a, LLVMValueRef b, unsigned count,
                         const unsigned places[4]) {
  unsigned from[ROC_CG_MOST_LANES];
  static const bool is_second[2][4] = {{false, true, false, true}, {false, false, true, true}};
  bool in_turn = places[0] == places[1] && places[2] == places[3];
  for (unsigned i = 0; i < count; i++) {
    from[i] = i / 4 * 4 + places[i % 4] + (is_second[!in_turn][i % 4] ? count : 0);
  }
  return shuffle(w, a, b, from, count);
}

/* Rows of four elements, one a lane: the four columns. */
static void transpose(cpu_rewriter *w, LLVMValueRef *rows, unsigned count, LLVMValueRef out[4]) {
  LLVMValueRef every[4], parts[ROC_CG_MOST_LANES / 4];
  for (unsigned k = 0; k < 4; k++) {
    for (unsigned i = 0; i < count / 4; i++) parts[i] = rows[4 * i + k];
    every[k] = concatenate(w, parts, count / 4, 4);
  }
  static const unsigned low[4] = {0, 0, 1, 1}, high[4] = {2, 2, 3, 3};
  static const unsigned first[4] = {0, 1, 0, 1}, second[4] = {2, 3, 2, 3};
  LLVMValueRef a = pick(w, every[0], every[1], count, low);
  LLVMValueRef b = pick(w, every[2], every[3], count, low);
  LLVMValueRef c = pick(w, every[0], every[1], count, high);
  LLVMValueRef d = pick(w, every[2], every[3], count, high);
  out[0] = pick(w, a, b, count, first);
  out[1] = pick(w, a, b, count, second);
  out[2] = pick(w, c, d, count, first);
  out[3] = pick(w, c, d, count, second);
}

/* ---- joining ------------------------------------------------------------------------------- */

static LLVMValueRef moved(cpu_rewriter *w, LLVMValueRef place, int64_t nbytes) {
  LLVMValueRef by = roc_cg_i64(w->cg, nbytes);
  return nbytes ? LLVMBuildGEP2(w->b, w->cg->t.i8, place, &by, 1, "") : place;
}

/* Four neighbours of a lane by one load: at equal distances. */
static void load_rows(cpu_rewriter *w, const cpu_access *a, cpu_stride by, int64_t offset,
                      LLVMValueRef out[4]) {
  LLVMValueRef first = moved(w, cpu_first_place(w, a->places, a->call), offset);
  LLVMValueRef distance = cpu_distance(w, by), rows[ROC_CG_MOST_LANES];
  LLVMTypeRef type = LLVMVectorType(a->type, 4);
  for (unsigned i = 0; i < a->count; i++) {
    rows[i] = LLVMBuildLoad2(w->b, type, cpu_place_of(w, first, distance, i), "");
    LLVMSetAlignment(rows[i], a->alignment);
  }
  transpose(w, rows, a->count, out);
}

/* Two neighbours of a lane as one number of 64 bits. */
static void gather_pairs(cpu_rewriter *w, const cpu_access *a, int64_t offset,
                         LLVMValueRef out[2]) {
  LLVMBuilderRef b = w->b;
  LLVMPositionBuilderBefore(b, a->call);
  LLVMTypeRef type = LLVMVectorType(LLVMDoubleTypeInContext(w->cg->ctx), a->count);
  LLVMValueRef places = moved(w, a->places, offset);
  LLVMTypeRef overloads[2] = {type, LLVMTypeOf(places)};
  LLVMValueRef args[3] = {places, a->mask, LLVMGetPoison(type)};
  unsigned id = LLVMLookupIntrinsicID("llvm.masked.gather", strlen("llvm.masked.gather"));
  LLVMValueRef fn = LLVMGetIntrinsicDeclaration(w->cg->mod, id, overloads, 2);
  LLVMValueRef both = LLVMBuildCall2(b, LLVMGlobalGetValueType(fn), fn, args, 3, "");
  unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
  LLVMAddCallSiteAttribute(both, 1, LLVMCreateEnumAttribute(w->cg->ctx, kind, a->alignment));
  both = LLVMBuildBitCast(b, both, LLVMVectorType(a->type, 2 * a->count), "");
  for (unsigned k = 0; k < 2; k++) {
    unsigned from[ROC_CG_MOST_LANES];
    for (unsigned i = 0; i < a->count; i++) from[i] = 2 * i + k;
    out[k] = shuffle(w, both, LLVMGetPoison(LLVMTypeOf(both)), from, a->count);
  }
}

/* Puts `columns` in the places of the gathers that lie `at[k]`, and removes these. */
static void put(gather *const joined[], const LLVMValueRef *columns, unsigned count) {
  for (unsigned k = 0; k < count; k++) {
    roc_cg_replace(joined[k]->access.call, columns[k]);
    joined[k]->is_done = true;
  }
}

/* Joins `g`, the first one in the block, with others: by_place[k] lies k - (MOST - 1) elements
 * after it, or is NULL. */
static bool join(cpu_rewriter *w, gather *g, gather *const by_place[]) {
  cpu_access a = g->access;
  int64_t size = (int64_t)LLVMABISizeOfType(LLVMGetModuleDataLayout(w->cg->mod), a.type);
  LLVMValueRef columns[MOST];
  cpu_stride by;
  bool has_rows = a.is_whole && a.count % 4 == 0 &&
                  cpu_stride_of_places(w, a.places, CPU_STRIDE_DEPTH, &by) && by.count != 0;
  for (unsigned first = 0; has_rows && first < MOST; first++) {
    bool is_full = true;
    for (unsigned k = 0; k < MOST; k++) is_full &= by_place[first + k] != NULL;
    if (!is_full) continue;
    load_rows(w, &a, by, ((int64_t)first - (MOST - 1)) * size, columns);
    put(&by_place[first], columns, MOST);
    return true;
  }
  for (unsigned first = MOST - 2; first < MOST; first++) {
    if (!by_place[first] || !by_place[first + 1]) continue;
    gather_pairs(w, &a, ((int64_t)first - (MOST - 1)) * size, columns);
    put(&by_place[first], columns, 2);
    return true;
  }
  return false;
}

/* Whether what an instruction does may change what a load after it reads. */
static bool may_write(LLVMValueRef inst) {
  static const char *const pure[] = {
      "llvm.masked.gather", "llvm.masked.load", "llvm.fma",  "llvm.fmuladd", "llvm.smin",
      "llvm.smax",          "llvm.umin",        "llvm.umax", "llvm.floor",   "llvm.ceil",
      "llvm.fabs",          "llvm.abs",         "llvm.sqrt"};
  switch (LLVMGetInstructionOpcode(inst)) {
    case LLVMStore:
    case LLVMFence:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
    case LLVMInvoke:
    case LLVMCallBr: return true;
    case LLVMLoad:
      return LLVMGetVolatile(inst) || LLVMGetOrdering(inst) != LLVMAtomicOrderingNotAtomic;
    case LLVMCall: break;
    default: return false;
  }
  for (unsigned i = 0; i < sizeof pure / sizeof *pure; i++) {
    if (roc_cg_is_call_of(inst, pure[i])) return false;
  }
  return true;
}

/* The gathers from `inst` on, up to a write, or the end of the block; gives where they end. */
static LLVMValueRef collect(const cpu_rewriter *w, LLVMValueRef inst, gather *out,
                            unsigned *out_count) {
  *out_count = 0;
  for (; inst && !may_write(inst); inst = LLVMGetNextInstruction(inst)) {
    gather *g = &out[*out_count];
    if (*out_count == MAX_GATHERS) return inst;
    if (!cpu_find_access(inst, &g->access)) continue;
    LLVMTypeRef type = g->access.type;
    bool has_32_bits =
        LLVMGetTypeKind(type) == LLVMFloatTypeKind ||
        (LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) == 32);
    LLVMValueRef other = LLVMGetOperand(inst, 2);
    bool is_free = g->access.is_whole || LLVMIsUndef(other);
    g->place = (sum){0};
    g->is_done = false;
    if (!has_32_bits || !is_free) continue;
    *out_count += add_place(w, &g->place, g->access.places, CPU_STRIDE_DEPTH);
  }
  return inst;
}

static bool are_alike(const cpu_access *a, const cpu_access *b) {
  return a->type == b->type && a->count == b->count && a->mask == b->mask;
}

/* Joins `g` with those after it. */
static bool join_with(cpu_rewriter *w, gather *g, gather *others, unsigned count) {
  gather *by_place[2 * MOST - 1] = {NULL};
  by_place[MOST - 1] = g;
  int64_t size = (int64_t)LLVMABISizeOfType(LLVMGetModuleDataLayout(w->cg->mod), g->access.type);
  for (unsigned i = 0; i < count; i++) {
    int64_t after;
    if (others[i].is_done || !are_alike(&g->access, &others[i].access)) continue;
    if (!distance_of(&g->place, &others[i].place, &after) || after % size != 0) continue;
    if (after <= -MOST * size || after >= MOST * size || after == 0) continue;
    by_place[after / size + MOST - 1] = &others[i];
    if (others[i].access.alignment < g->access.alignment) {
      g->access.alignment = others[i].access.alignment;
    }
  }
  return join(w, g, by_place);
}

static bool join_gathers(cpu_rewriter *w, LLVMValueRef fn) {
  gather *gathers = ROC_ARENA_ARRAY(&w->cg->arena, gather, MAX_GATHERS + 1);
  bool is_changed = false;
  if (!gathers) return w->failed = true;
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block;
       block = LLVMGetNextBasicBlock(block)) {
    LLVMValueRef at = LLVMGetFirstInstruction(block);
    while (at) {
      unsigned count;
      LLVMValueRef end = collect(w, at, gathers, &count);
      for (unsigned i = 0; i + 1 < count; i++) {
        if (gathers[i].is_done) continue;
        is_changed |= join_with(w, &gathers[i], gathers + i + 1, count - i - 1);
      }
      at = end && may_write(end) ? LLVMGetNextInstruction(end) : end;
    }
  }
  return is_changed;
}

bool cpu_join_neighbours(roc_cg *cg) {
  return cpu_rewrite_accesses(cg, join_gathers);
}
