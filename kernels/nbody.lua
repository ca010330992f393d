--- Gravity among n bodies, all pairs, one body a work-item. A body is a row {x, y, z, mass}, its
--- velocity a row {x, y, z}; all float32; the gravitational constant is 1.
local roc = require "roc"

local min = math.min

local BLOCK = 128 -- items of a workgroup, bodies of a block in shared memory

local nbody = { BLOCK = BLOCK }

---The acceleration that a body at distance (dx, dy, dz) with this mass causes, softened by `eps2`,
---which must be positive, as a body meets itself too. An ordinary Lua function: kernels call it,
---and the host may.
function nbody.pull(dx, dy, dz, mass, eps2)
  local inverse = roc.math.rsqrt(dx * dx + dy * dy + dz * dz + eps2)
  local strength = mass * inverse * inverse * inverse
  return dx * strength, dy * strength, dz * strength
end

local pull = nbody.pull

--- One step, first of the velocities, then of the places: velocities in place, positions from
--- `bodies` to `moved`.  The group loads the bodies block by block into shared memory and every
--- item adds up the block's pull.  Launch it in whole groups of BLOCK:
--- `step[{ ceil(n / BLOCK), BLOCK }](bodies, velocity, moved, dt, eps2)`.
nbody.step = roc.kernel(function(bodies, velocity, moved, dt, eps2)
  local block = roc.shared.array({ BLOCK, 4 }, roc.float32)
  local item, i = roc.get_local_id(1), roc.get_global_id(1)
  local n = #bodies
  local x, y, z = 0.0, 0.0, 0.0
  if i <= n then x, y, z = bodies[i][1], bodies[i][2], bodies[i][3] end
  local ax, ay, az = 0.0, 0.0, 0.0
  for first = 0, n - 1, BLOCK do
    if first + item <= n then
      for k = 1, 4 do block[item][k] = bodies[first + item][k] end
    end
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    for j = 1, min(BLOCK, n - first) do
      local fx, fy, fz = pull(block[j][1] - x, block[j][2] - y, block[j][3] - z, block[j][4], eps2)
      ax, ay, az = ax + fx, ay + fy, az + fz
    end
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  end
  if i <= n then
    local vx = velocity[i][1] + ax * dt
    local vy = velocity[i][2] + ay * dt
    local vz = velocity[i][3] + az * dt
    velocity[i][1], velocity[i][2], velocity[i][3] = vx, vy, vz
    moved[i][1], moved[i][2], moved[i][3] = x + vx * dt, y + vy * dt, z + vz * dt
    moved[i][4] = bodies[i][4]
  end
end, { name = "nbody_step" })

return nbody
