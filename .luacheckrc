std = "lua54"
max_line_length = 120
self = false
ignore = {
  "431", "432", -- a kernel's parameters may be named like the host's arrays
  "211/scope", -- local scope <close> = ...
}
files["spec"] = { std = "+busted" }
files["lua/roc/meta"] = { ignore = { "121", "122", "131", "211", "212", "241" } } -- declarations only
files["lua/roc/kernels"] = { ignore = { "213" } }
exclude_files = { "build" }
