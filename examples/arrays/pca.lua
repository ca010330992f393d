-- Principal components: scripts/run.sh examples/arrays/pca.lua [points]
-- Points in a flat cloud that lies askew; roc.linalg finds its axes by the eigenvectors of the
-- covariance and by singular values, which must agree, with each other and with the axes known.
local roc = require "roc"

local n = math.tointeger(tonumber(arg[1] or 50000))
assert(n and n >= 100, "usage: arrays/pca.lua [points], a whole number from 100 on")
print((assert(roc.linalg.library())))

local rng = roc.rng(3)
local axes = roc.linalg.qr(rng:normal { 3, 3 })
local x = (rng:normal { n, 3 } * roc.array { 3, 1, 0.2 }):matmul(axes:transpose())

local centred = x - x:mean { axis = 1 }
local covariance = centred:transpose():matmul(centred) / (n - 1)
local variances, components = roc.linalg.eigh(covariance)
local s = roc.linalg.svd(centred, { vectors = false })
print("standard deviations", roc.math.sqrt(variances):flip())
assert(roc.allclose(variances:flip(), s * s / (n - 1), 1e-10))

local main = components[{ {}, 3 }] -- of the greatest variance, which comes last
assert(math.abs(main:dot(axes[{ {}, 1 }])) > 0.98)
local plane = centred:matmul(components[{ {}, { 2, 3 } }]) -- the points in two dimensions
assert(math.abs(plane:var { axis = 1, ddof = 1 }:sum() / variances:sum() - 1) < 0.02)
print "the components agree with the axes of the cloud"
