-- The kernel of the row "mandelbrot": the steps that each point takes, in float32.
local roc = require "roc"

return function(check)
  return roc.kernel(function(image)
    local column, row = roc.grid(2)
    local n = image.shape[1]
    local cx, cy = (column - 1) * 3.0 / n - 2.25, (row - 1) * 2.0 / n - 1.0
    local x, y, steps = 0.0, 0.0, 0
    while steps < 500 and x * x + y * y <= 4.0 do
      x, y = x * x - y * y + cx, 2.0 * x * y + cy
      steps = steps + 1
    end
    image[row][column] = steps
  end, { check = check, number = "float32" })
end
