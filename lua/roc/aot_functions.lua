-- Kernels as functions of C: a header whose functions call the code of an object file, on the
-- thread that calls them, and need nothing of roclua.
--
-- The header repeats what src/base/codeobj.h says of code for cpu: how arguments are packed, and
-- what a kernel is told of its launch.
local c = require "roc.aot_c"

local M = {}

-- Types of elements; halves are their bits.
local ELEMENTS = { bool = "bool", float16 = "uint16_t", bfloat16 = "uint16_t", float32 = "float",
  float64 = "double" }

local function element(dtype)
  return ELEMENTS[dtype] or dtype .. "_t"
end

local function put(lines, text, ...)
  lines[#lines + 1] = string.format(text, ...)
end

-- Fields of the struct of arguments, and the lines that pack them.
local function pack(item)
  local fields, lines = {}, {}
  for i, p in ipairs(item.signature) do
    local name, slot = c.field(item.kernel:params()[i]), item.code.slots[i]
    if p.rank > 0 then
      put(fields, "  %s%s *%s;", slot.is_written and "" or "const ", element(p.dtype), name)
      put(fields, "  int64_t %s_extents[%d];", name, p.rank)
      put(lines, "  memcpy(block + %d, &args->%s, 8);", slot.offset, name)
      put(lines, "  memcpy(block + %d, args->%s_extents, %d);", slot.extents, name, 8 * p.rank)
    elseif p.dtype == "bool" then
      put(fields, "  bool %s;", name)
      put(lines, "  block[%d] = args->%s;", slot.offset, name)
    elseif string.find(p.dtype, "^u?int") then
      put(fields, "  %s_t %s;", p.dtype, name)
      put(lines, "  int64_t value_%d = (int64_t)args->%s;", i, name)
      put(lines, "  memcpy(block + %d, &value_%d, 8);", slot.offset, i)
    else
      local type_name = p.dtype == "float64" and "double" or "float"
      put(fields, "  %s %s;", type_name, name)
      put(lines, "  memcpy(block + %d, &args->%s, sizeof args->%s);", slot.offset, name, name)
    end
  end
  return table.concat(fields, "\n"), table.concat(lines, "\n")
end

local FUNCTION = [[
/* ---- $name($types) */

$struct
void $symbol(const void *block, const $prefix_launch *launch, uint64_t first, uint64_t end,
  void *shared, void *frame, $prefix_turn *turn);

/* Runs the kernel over the grid.  NULL; or what the first work-item to fail has failed at, when the
 * others may have stored their results. */
static inline const char *$own($prefix_grid grid$argument) {
  static const char *const checks[] = {$checks};
  unsigned char block[$blockbytes] = {0};
$values
  return $prefix_run($symbol, block, grid, $promise, $shared, $frame, $item, checks, $nchecks);
}
]]

local function declare(item, prefix)
  local code, types = item.code, {}
  if code.has_print then
    error(string.format("kernel '%s' prints, which a function of C cannot", item.name), 0)
  end
  for i, p in ipairs(item.signature) do
    local dims = p.rank > 0 and "[" .. string.rep(":", p.rank, ",") .. "]" or ""
    types[i] = string.format("%s: %s%s", item.kernel:params()[i], p.dtype, dims)
    if code.slots[i].layout == 2 then
      error(string.format("kernel '%s' takes a strided array, which a function of C does not",
        item.name), 0)
    end
  end
  local own = prefix .. "_" .. string.sub(item.symbol, #"roc_" + 1)
  local fields, values = pack(item)
  local checks = {}
  for i, text in ipairs(code.sites) do
    checks[i] = string.format("%q", text)
  end
  local has_args = #item.signature > 0
  return c.fill(FUNCTION, {
    name = item.name, types = table.concat(types, ", "), prefix = prefix, own = own,
    symbol = item.symbol, values = values,
    struct = has_args and string.format("typedef struct %s_args {\n%s\n} %s_args;\n", own, fields,
      own) or "",
    argument = has_args and string.format(", const %s_args *args", own) or "",
    checks = #checks > 0 and table.concat(checks, ",\n    ") or "NULL",
    nchecks = tostring(#checks), blockbytes = tostring(math.max(code.kernarg_bytes, 8)),
    promise = tostring(code.promise[1] * math.max(code.promise[2], 1)
      * math.max(code.promise[3], 1)),
    shared = tostring(code.shared_bytes), frame = tostring(code.frame_bytes),
    item = tostring(code.frame_item_bytes),
  })
end

local HEADER = [[
/* Kernels of $script as functions, written by rocluac; $file.o has their code.  They run on the
 * thread that calls them, several at once.  Link with -lm. */
#ifndef $guard_FUNCTIONS_H
#define $guard_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Work-items in 1 to 3 dimensions, those beyond are 1; and in a workgroup: 0: one is chosen. */
typedef struct $prefix_grid {
  int rank;
  int64_t items[3];
  int32_t workgroup[3];
} $prefix_grid;

typedef struct $prefix_fault {
  uint32_t state, count, site, reserved;
  uint64_t item[3], values[8];
} $prefix_fault;

typedef struct $prefix_launch {
  uint64_t grid[3];
  uint32_t local[3], rank, dynamic_shared_bytes, reserved;
  uint64_t groups[3];
  uint32_t wave_size, batch;
  $prefix_fault *fault;
  void *print;
  uint32_t merge, end;
} $prefix_launch;

typedef struct $prefix_turn {
  uint64_t budget;
  uint64_t (*ask)(struct $prefix_turn *turn, uint64_t next);
} $prefix_turn;

static inline uint64_t $prefix_go_on($prefix_turn *turn, uint64_t next) {
  (void)turn;
  (void)next;
  return UINT64_MAX;
}

/* The promise: the most work-items of a workgroup, 0: any number. */
static inline const char *$prefix_run(
    void (*entry)(const void *, const $prefix_launch *, uint64_t, uint64_t, void *, void *,
                  $prefix_turn *),
    const void *block, $prefix_grid grid, uint32_t promise, size_t shared_bytes, size_t frame_bytes,
    size_t item_bytes, const char *const *checks, uint32_t nchecks) {
  static const int32_t shapes[3][3] = {{256, 1, 1}, {16, 16, 1}, {8, 8, 4}};
  $prefix_fault fault;
  $prefix_launch launch;
  $prefix_turn turn = {0, $prefix_go_on};
  uint64_t ngroups = 1, items = 1;
  int d;
  if (grid.rank < 1 || grid.rank > 3) return "the rank of a grid is 1 to 3";
  memset(&fault, 0, sizeof fault);
  memset(&launch, 0, sizeof launch);
  for (d = 0; d < 3; d++) {
    int64_t count = d < grid.rank ? grid.items[d] : 1;
    int32_t local = d < grid.rank && grid.workgroup[d] ? grid.workgroup[d] : 1;
    if (!grid.workgroup[0]) local = promise ? 1 : shapes[grid.rank - 1][d];
    if (!grid.workgroup[0] && promise && d == 0) local = (int32_t)(promise < 256 ? promise : 256);
    if (count < 0 || local < 1) return "a grid is negative, or a workgroup";
    launch.grid[d] = (uint64_t)count;
    launch.local[d] = (uint32_t)local;
    launch.groups[d] = ((uint64_t)count + (uint32_t)local - 1) / (uint32_t)local;
    ngroups *= launch.groups[d];
    items *= (uint32_t)local;
  }
  if (promise && items > promise) return "the workgroup is larger than the kernel promises";
  if (items > 1024) return "a workgroup has at most 1024 work-items";
  if (ngroups == 0) return NULL;
  launch.rank = (uint32_t)grid.rank;
  launch.wave_size = 64;
  launch.batch = launch.merge = 1;
  launch.fault = &fault;
  shared_bytes = (shared_bytes + 63) / 64 * 64;
  frame_bytes = (frame_bytes + item_bytes * items + 63) / 64 * 64;
  {
    unsigned char *memory = (unsigned char *)malloc(shared_bytes + frame_bytes + 64);
    unsigned char *aligned = memory + (64 - (uintptr_t)memory % 64) % 64;
    if (!memory) return "out of memory";
    entry(block, &launch, 0, ngroups, aligned, aligned + shared_bytes, &turn);
    free(memory);
  }
  if (!fault.state) return NULL;
  return fault.site < nchecks ? checks[fault.site] : "a check failed";
}

$parts
#ifdef __cplusplus
}
#endif

#endif
]]

---The header of the object file.
---@param kernels table[] each {kernel =, name =, symbol =, signature =, code = of kernel_function}
---@param script string the script's file name
---@param file string the name of both files, without folder and ending
---@return string
function M.text(kernels, script, file)
  local prefix, parts = c.prefix(file), {}
  for i, item in ipairs(kernels) do
    parts[i] = declare(item, prefix)
  end
  return c.fill(HEADER, { script = script, file = file, prefix = prefix,
    guard = string.upper(prefix), parts = table.concat(parts, "\n") })
end

return M
