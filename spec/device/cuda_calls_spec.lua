-- Runs the C tests of what the cuda driver asks of NVIDIA's driver library, one process each, on a
-- stand-in for it that runs no kernel (spec/c/fake_cuda.h).
local programs = require "support.programs"

local titles = {
  properties = "says what a GPU is, and refuses what it does not have",
  copies = "copies every kind of memory, without waiting for what is queued",
  overlap = "copies what overlaps, and host memory, in the stream's order",
  fills = "fills with elements of all sizes, aligned or not",
  scatter = "stores elements at strided places, and touches nothing between them",
  peers = "copies between GPUs, and loses one of them alone",
  far_memory = "copies between the host and the memory of the other GPU, opened to it or not",
  registration = "page-locks arrays that share pages, and releases each page with its last",
  partly_registered = "page-locks no array of which another library has page-locked a part alone",
  launches = "passes arguments, shape and shared memory as the code expects them",
  coarse_launches = "gives threads several work-items where their elements are one access",
  reports = "brings faults and prints to where the runtime looks for them",
  lazy = "queues by one call, records events for waits and queries alone, sleeps in long waits",
  idle = "unloads and frees page-locked memory when the GPU is idle, on a thread of its own",
  contexts = "leaves every thread's context as it was",
  launch_context = "makes its context current for launches where the library wants it",
  adopted = "queues on another library's stream, in one order, and leaves it open",
  times = "gives the times of events on one scale",
  failures = "survives any result of any function of the library",
  memory = "survives the failure of any allocation of its own",
  loss = "names the kernels that may have lost the device, and ends all waits",
}

describe("the cuda driver", function()
  for _, test in ipairs { "cuda_calls_test", "cuda_failures_test" } do
    local program = programs.find(test)
    if not program then return pending(test .. " is not built") end
    local library = program:gsub("bin/[^/]*$", "lib/libfake_cuda.so")
    for name in assert(io.popen(program)):lines() do
      it(assert(titles[name], name), function()
        local command = ("ROCLUA_CUDA_LIBRARY=%s %s %s"):format(library, program, name)
        local ok, output = programs.run(command)
        assert(ok and output:find("ok " .. name, 1, true), output)
      end)
    end
  end
end)
