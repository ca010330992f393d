std = "lua54"
max_line_length = 110
files["spec"] = { std = "+busted" }
files["lua/roc/meta"] = { ignore = { "121", "122", "131", "211", "212", "241" } } -- declarations only
files["lua/roc/kernels"] = { ignore = { "213" } }
exclude_files = { "build" }
