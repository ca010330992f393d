-- Runs the C program that compiles in several threads at once, one process a test.
local c_program = require "support.c_program"

local TITLES = {
  same = "makes the code that one thread alone makes, byte for byte",
  at_once = "has several threads inside code generation at the same moment",
  first = "opens the compiler once when several threads are the first",
  cache = "shares the cache on disk between threads",
  memory = "fails where memory runs out, and nowhere else",
  process = "leaves signal handlers, output and open files as they were",
}

describe("compiles of several threads", function()
  c_program.specs("compile_test", TITLES, "")
end)
