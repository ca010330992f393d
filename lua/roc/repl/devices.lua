--- What `roclua --list-devices` prints.
local core = require "roc.core"
local roc = require "roc"

local DETAILS = {
  "kind", "arch", "wavefront_size", "compute_units", "max_workgroup", "shared_bytes",
  "memory_total", "state",
}

local devices = {}

---Prints one line a device, its ordinal first and the default one marked; `verbose` adds what it
---can do, and why there is no device of a kind that there could be. Where the default one is absent
---none is marked.
---@param verbose boolean
function devices.list(verbose)
  local has_default, default = pcall(roc.current_device)
  for i, device in ipairs(roc.devices()) do
    local mark = has_default and device == default and "*" or " "
    print(("%s %d  %-6s %s"):format(mark, i, device.kind, device.name))
    if verbose then
      for _, field in ipairs(DETAILS) do print(("       %-15s %s"):format(field, device[field])) end
    end
  end
  if not verbose then return end
  for _, absent in ipairs(core.absent_devices()) do
    print(("  -  %-6s absent: %s"):format(absent.kind, absent.reason))
  end
end

return devices
