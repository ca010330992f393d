-- Runs the specs inside roclua: `roclua spec/run.lua [busted's options] [files or folders]`; all of
-- spec/ by default. The profiles are in .busted; tests tagged gpu or slow run only when asked for
-- (`--run=slow`). The last line of the output reads "N passed, N failed".
require "busted.runner" { standalone = false, output = "spec/support/output.lua" }
