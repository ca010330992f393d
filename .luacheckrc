std = "lua54"
max_line_length = 160 -- 100 is the aim
self = false
ignore = {
  "431", "432", -- a kernel's parameters may be named like the host's arrays
  "211/scope", -- local scope <close> = ...
}
files["spec"] = { std = "+busted", max_line_length = false, ignore = { "211", "213", "311" } } -- tables of cases, dropped values
files["lua/roc/meta"] = { ignore = { "121", "122", "131", "211", "212", "241" } } -- declarations only
exclude_files = { "build", "spec/support/corpus", "spec/fails" }
