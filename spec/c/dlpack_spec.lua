-- Runs the C program that exchanges arrays by DLPack, one process a test, on each kind of device.
local c_program = require "support.c_program"

local TITLES = {
  import = "a kernel works on a producer's memory, whose deleter is called once",
  shapes = "strides, offsets, no strides, no dimensions, no elements",
  dtypes = "every dtype goes out and comes in as it was",
  export = "a tensor shares the array's memory, and outlives array and state",
  waits = "the export waits for the work on host memory; a smart array is refused",
  device = "memory of a device is exchanged in the order of a stream",
  read_only = "memory that may not be written is not, and says so when it is passed on",
  refused = "a tensor that makes no array is refused and stays its owner's",
  no_memory = "failing allocations neither lose a deleter's call nor add one",
  threads = "threads without a state exchange one array",
}

describe("DLPack:", function()
  c_program.specs("dlpack_test", TITLES, c_program.ON_DEVICES)
end)
