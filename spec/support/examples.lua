-- The examples: arguments that keep sim quick, and what each says in the end. OUT is a file to
-- write.
return {
  saxpy = { "1000", "all equal to a Lua loop\n$" },
  matmul = { "20", "agree, and with a Lua loop\n$" },
  histogram = { "LICENSE", "all counts agree with a Lua loop\n$" },
  mandelbrot = { "OUT.png 48", "read back and compared with the host's points\n$" },
  vectorize = { "300", "all agree with a Lua loop\n$" },
  streams = { "500 3", "sum agree with the host's\n$" },
  nbody = { "40 2", "momentum by [%d.e-]+\n$" },
  edges = { "- OUT.png", "pixels agree with a Lua loop\n$" },
  option = { "2000", "the two prices agree\n$" },
  heat = { "6", "as it should\n$" },
  flock = { "0.2 100", "birds agree with a Lua loop\n$" },
  life = { "2", "a glider moves as it should\n$" },
  kmeans = { "500", "all centres are near the known ones\n$" },
  spheres = { "OUT.png 24", "pixels agree with the host's\n$" },
  columns = { "", "the sums agree with the formula\n$" },
  network = { "1", "points are on the right side, judged on %l+\n$" },
  devices = { "500", "every element agrees with a Lua loop\n$" },
}
