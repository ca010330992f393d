--- What `roclua --list-devices` prints.
local core = require "roc.core"
local roc = require "roc"

local DETAILS = {
  "kind", "arch", "wavefront_size", "compute_units", "max_workgroup", "shared_bytes",
  "memory_total", "state",
}

local devices = {}

---Prints one line a device, its ordinal first and the default one marked, then one for each kind
---of which there is none, and why; `verbose` adds what devices can do. Where the default one is
---absent none is marked.
---@param verbose boolean
function devices.list(verbose)
  local has_default, default = pcall(roc.current_device)
  for i, device in ipairs(roc.devices()) do
    local mark = has_default and device == default and "*" or " "
    local model = device.model ~= device.name and string.format("  %s", device.model) or ""
    print(string.format("%s %d  %-6s %s%s", mark, i, device.kind, device.name, model))
    if verbose then
      for _, field in ipairs(DETAILS) do
        print(string.format("       %-15s %s", field, device[field]))
      end
    end
  end
  for _, absent in ipairs(core.absent_devices()) do
    local word = absent.kind == "null" and "" or "absent: "
    print(string.format("  -  %-6s %s%s", absent.kind, word, absent.reason))
  end
end

return devices
