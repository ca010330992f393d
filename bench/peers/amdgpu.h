// What bench/amdgpu.lua puts in front of kernels.cl: the functions of OpenCL C that the kernels
// use, in clang's builtins, as AMD's device library has them.
//
// Indices and counts are 32 bits wide, as roclua's are where extents fit.
#define size_t uint
#define long int

#define get_local_id(d) \
  ((d) == 0 ? __builtin_amdgcn_workitem_id_x() : __builtin_amdgcn_workitem_id_y())
#define get_group_id(d) \
  ((d) == 0 ? __builtin_amdgcn_workgroup_id_x() : __builtin_amdgcn_workgroup_id_y())
#define get_local_size(d) \
  ((d) == 0 ? __builtin_amdgcn_workgroup_size_x() : __builtin_amdgcn_workgroup_size_y())
#define get_global_id(d) (get_group_id(d) * get_local_size(d) + get_local_id(d))
#define get_global_size(d) \
  ((d) == 0 ? __builtin_amdgcn_grid_size_x() : __builtin_amdgcn_grid_size_y())

#define barrier(flags)                                              \
  do {                                                              \
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local"); \
    __builtin_amdgcn_s_barrier();                                   \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local"); \
  } while (0)
#define atomic_add(p, v) __scoped_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define atomic_inc(p) __scoped_atomic_fetch_add(p, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP)
