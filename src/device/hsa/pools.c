/* Finding the memory pools of an agent, by their flags. */
#include "device/hsa/driver.h"

typedef struct pool_query {
  uint32_t flags; /* all of them */
  bool is_found;
  hsa_amd_memory_pool_t pool;
} pool_query;

static bool is_allocatable(hsa_amd_memory_pool_t pool) {
  hsa_amd_segment_t segment = HSA_AMD_SEGMENT_GROUP;
  bool can_allocate = false;
  roc_hsa.hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
  roc_hsa.hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED,
                                       &can_allocate);
  return segment == HSA_AMD_SEGMENT_GLOBAL && can_allocate;
}

static hsa_status_t look_at_pool(hsa_amd_memory_pool_t pool, void *ud) {
  pool_query *query = ud;
  uint32_t flags = 0;
  if (query->is_found || !is_allocatable(pool)) return HSA_STATUS_SUCCESS;
  roc_hsa.hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
  if ((flags & query->flags) != query->flags) return HSA_STATUS_SUCCESS;
  query->is_found = true;
  query->pool = pool;
  return HSA_STATUS_SUCCESS;
}

bool roc_hsa_find_pool(hsa_agent_t agent, uint32_t flags, hsa_amd_memory_pool_t *out_pool) {
  pool_query query = {.flags = flags};
  roc_hsa.hsa_amd_agent_iterate_memory_pools(agent, look_at_pool, &query);
  if (query.is_found) *out_pool = query.pool;
  return query.is_found;
}

bool roc_hsa_find_gpu_pool(hsa_agent_t agent, hsa_amd_memory_pool_t *out_pool) {
  return roc_hsa_find_pool(agent, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED, out_pool);
}
