std = "lua54"
max_line_length = 100
self = false
ignore = {
  "431", "432", -- a kernel's parameters may be named like the host's arrays
  "211/scope", -- local scope <close> = ...
}
files["spec"] = {
  std = "+busted",
  max_string_line_length = false, -- lines of IR
  ignore = { "211", "213", "311" }, -- dropped values
}
files["src/emulator/spec"] = files["spec"]
files["lua/roc/meta"] = { -- declarations only
  ignore = { "121", "122", "131", "211", "212", "241" },
}
exclude_files = { "build", "spec/support/corpus", "spec/fails" }
