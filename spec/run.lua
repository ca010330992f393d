-- Runs the specs inside roclua-spec, which is roclua with the hooks that they need:
-- `build/release/bin/roclua-spec spec/run.lua [busted's options] [files or folders]`; all of spec/
-- by default. The profiles are in .busted; tests tagged gpu or slow run only when asked for
-- (`--run=slow`). The last line of the output reads "N passed, N failed, N skipped".
if not require("roc.core").testing then
  io.stderr:write("the specs need the hooks of roclua-spec, which is built beside roclua: ",
    (arg[-1] or "roclua"):gsub("roclua$", "roclua-spec"), " ", table.concat(arg, " ", 0), "\n")
  os.exit(2)
end
require "busted.runner" { standalone = false, output = "spec/support/output.lua" }
