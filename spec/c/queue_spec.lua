-- Runs the C tests of the runtime and the cpu device's queue, one process each.
local c_program = require "support.c_program"

local TITLES = {
  order = "keeps the order of each of many streams",
  baton = "starts workgroups in increasing order, so that one may wait for lower ones",
  parts = "has threads begin at parts of their own where workgroups have no order",
  fault = "reports a fault once, to whom it concerns, and runs the work queued after it",
  print = "delivers what kernels print in order and counts what is lost",
  memory = "gives kernels aligned frames and shared memory of the right size",
  lifetime = "keeps kernels and buffers alive while work uses them",
  interrupt = "stops an interrupted kernel at its next workgroup",
  hand_over = "leaves a kernel that takes long in the middle, for another thread",
  help = "lets a thread that waits run what it waits for, and go when its time is over",
  modes = "rounds to nearest, whatever the program has set",
  quota = "counts no more cores than control groups have time for",
  shares = "lets streams share a thread, however long a launch takes",
  wait_for = "orders streams by each other's tickets",
  blocked = "runs streams at the same time, and lets one that waits hold up no other",
  event =
    "knows what an event is that was never recorded, is of another device, or of a lost one",
  devices = "orders the streams of several devices by events, at shutdown too",
  threads = "serves several host threads",
  shutdown = "waits for queued work at shutdown and reports its fault",
  endless = "lets an interrupted process with an endless kernel end",
  exit = "waits for queued work when the program returns",
  fork = "refuses every call in a forked child",
  lost = "raises one error for a lost device, and recovers by a reset",
  given_up = "takes no work for done that a lost device has given up",
  reclaim = "gives memory back when the work that uses it is done, not before",
  overhead = "queues a launch in no time",
}

describe("the runtime over the cpu device", function()
  c_program.specs("queue_test", TITLES, "")
end)
