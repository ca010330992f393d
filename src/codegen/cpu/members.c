/* The loop over the members of a batch (cpu/batch.c): in its body the member is the state's group,
 * with its own slots and its own shared memory. */
#include "codegen/cpu/cpu.h"

void cpu_members_begin(cpu_state *s, cpu_members *m, LLVMValueRef count) {
  roc_cg *cg = s->cg;
  *m = (cpu_members){.group = s->group[0],
                     .first = s->group_first[0],
                     .count = s->count[0],
                     .slot_first = s->slot_first,
                     .shared = s->shared};
  cpu_loop_begin(s, &m->loop, count, "member");
  LLVMValueRef i = m->loop.index;
  s->group[0] = LLVMBuildNUWAdd(cg->b, m->group, i, "");
  LLVMValueRef items = LLVMBuildNUWMul(cg->b, i, s->local[0], "");
  s->group_first[0] = LLVMBuildNUWAdd(cg->b, m->first, items, "");
  LLVMValueRef args[2] = {LLVMBuildNUWSub(cg->b, s->grid[0], s->group_first[0], ""), s->local[0]};
  s->count[0] = roc_cg_intrinsic(cg, "llvm.umin", &cg->t.i64, 1, args, 2);
  s->slot_first = LLVMBuildNUWMul(cg->b, i, s->items, "");
  s->shared = roc_cg_byte_offset(cg, m->shared, LLVMBuildNUWMul(cg->b, i, s->shared_stride, ""));
}

void cpu_members_end(cpu_state *s, cpu_members *m) {
  cpu_loop_end(s, &m->loop);
  s->group[0] = m->group;
  s->group_first[0] = m->first;
  s->count[0] = m->count;
  s->slot_first = m->slot_first;
  s->shared = m->shared;
}
